"""Surveys: what is measured, what a policy hears of it, what it costs, and who is refused."""

from __future__ import annotations

import dataclasses
import math
import multiprocessing
import resource
from concurrent.futures import ProcessPoolExecutor
from typing import get_args

import numpy as np
import pytest
import torch
from fit_tools import NAMES, make_model, make_tasks, train

from rota.errors import RotaError
from rota.evaluation import rows_within
from rota.models import MultiTaskModel, SmallConv
from rota.policies import Tracking, WithFloor
from rota.settings import Settings
from rota.signals import (
    SCORES,
    bald,
    batchbald,
    ensemble_outputs,
    entropy,
    expected_entropy,
    joint_mutual_information,
    released_batchbald,
)
from rota.sources import Moment, ScoreName, Survey
from rota.streams import JointStream
from rota.tasks import Classification, Regression, Span, Tagging, Task, TensorRows
from rota.testing import access_to

SETTINGS = Settings(steps=20, batch_size=8, eval_every=20, lr=0.01)


def surveyor(survey, model, tasks, batch_size=250):
    return survey.open(access_to(model, tasks, eval_batch_size=batch_size))


def made(survey, model, tasks, step=5, **options):
    """One survey of a model."""
    said = surveyor(dataclasses.replace(survey, every=1), model, tasks, **options).at_step_end(Moment(step))
    assert [(own.task, own.value, own.probability, own.about) for own in said.feedback] == [
        (task, found["value"], None, "uncertainty") for task, found in said.line["tasks"].items()
    ]
    return said.line["tasks"]


def outputs_of(kind, passes=6, rows=9, seed=0):
    """Outputs of passes as a head of this kind makes them, and labels."""
    generator = torch.Generator().manual_seed(seed)
    shape = {Classification: (4,), Regression: (1,), Tagging: (5, 3), Span: (7, 2)}[type(kind)]
    outputs = torch.randn(passes, rows, *shape, generator=generator, dtype=torch.float64)
    if isinstance(kind, Tagging):
        return outputs, torch.randint(-1, 3, (rows, 5), generator=generator).where(torch.arange(5) != 2, -100).clamp(
            -100
        )
    if isinstance(kind, Span):
        return outputs, torch.randint(0, 7, (rows, 2), generator=generator)
    return outputs, torch.zeros(rows) if isinstance(kind, Regression) else torch.zeros(rows, dtype=torch.long)


def scored(name, kind, outputs, labels):
    return SCORES[name].reduce(SCORES[name].measure(kind, outputs, labels))


def test_scores_of_classes_are_the_functions_of_the_papers():
    kind = Classification(4)
    outputs, labels = outputs_of(kind, rows=150)
    p = outputs.softmax(-1).transpose(0, 1)
    expected = {
        "share": entropy(p.mean(1)).mean() / math.log(4),
        "entropy": entropy(p.mean(1)).mean(),
        "expected-entropy": expected_entropy(p).mean(),
        "bald": bald(p).mean(),
        "batchbald": torch.stack([batchbald(own, 10, 1000).scores[-1] for own in p.split(128)]).mean(),
        "joint": torch.stack([joint_mutual_information(own, 1000) for own in p.split(128)]).mean(),
        "released": torch.cat([released_batchbald(own, 10) for own in p.split(128)]).mean(),
    }
    assert expected.keys() == SCORES.keys()
    for name, value in expected.items():
        assert scored(name, kind, outputs, labels) == pytest.approx(value.item(), rel=1e-9), name


def test_scores_of_words_and_ends_are_means_over_the_decisions():
    tags, ends = Tagging(3), Span()
    outputs, labels = outputs_of(tags)
    labels = labels.clamp(min=0).where(torch.arange(5) != 2, -100)
    p = outputs.softmax(-1).permute(1, 2, 0, 3)  # N D K C
    kept = p[:, [0, 1, 3, 4]].flatten(0, 1)
    for name in ("bald", "batchbald"):
        assert scored(name, tags, outputs, labels) == pytest.approx(bald(kept).mean().item(), rel=1e-9)
    assert scored("entropy", tags, outputs, labels) == pytest.approx(entropy(kept.mean(1)).mean().item(), rel=1e-9)
    outputs, labels = outputs_of(ends)
    p = outputs.softmax(-2).permute(1, 3, 0, 2).flatten(0, 1)
    assert scored("bald", ends, outputs, labels) == pytest.approx(bald(p).mean().item(), rel=1e-9)


def test_scores_of_numbers_do_not_depend_on_their_unit():
    outputs, labels = outputs_of(Regression())
    for name in ("share", "bald", "batchbald"):
        one = scored(name, Regression(scale=1.0), outputs, labels)
        other = scored(name, Regression(scale=100.0), 100 * outputs, labels)
        assert one == pytest.approx(other, rel=1e-9)
        assert one > 0
    v = outputs.squeeze(-1).var(0, correction=0)
    assert scored("bald", Regression(), outputs, labels) == pytest.approx((torch.log1p(v) / 2).mean().item())
    assert math.isnan(scored("entropy", Regression(), outputs, labels))


def seen_by(feed):
    """The outputs [passes, rows, classes] of which a survey makes its score."""
    seen, score = [], feed._score

    def measure(kind, outputs, labels):
        seen.append(outputs)
        return score.measure(kind, outputs, labels)

    feed._score = dataclasses.replace(score, measure=measure)
    feed.at_step_end(Moment(1))
    [outputs] = seen
    return outputs


def test_a_joint_score_asks_one_sample_of_the_parameters_about_all_rows():
    """Twelve times the same row: a pass then says the same of all of them."""
    tasks = make_tasks()
    model = make_model(tasks)
    row = tasks[0].splits["dev"].batch(np.zeros(12, dtype=np.int64))
    alike = TensorRows(row.inputs, row.labels)
    task = dataclasses.replace(tasks[0], splits={**tasks[0].splits, "dev": alike})
    for name, joint in (("joint", True), ("batchbald", True), ("bald", False)):
        feed = surveyor(Survey(name, every=1, passes=6, rows=12), model, [task])
        outputs = seen_by(feed)
        assert outputs.shape[:2] == (6, 12)
        same = (outputs - outputs[:, :1]).abs().amax() < 1e-5
        assert bool(same) == joint, name
        assert outputs.var(0).max() > 1e-4


def test_a_survey_measures_every_task_with_dropout_and_repeats():
    tasks = make_tasks()
    model = make_model(tasks)
    found = made(Survey("bald", passes=5, capped=False), model, tasks)
    assert list(found) == list(NAMES)
    assert all(own["value"] == own["uncertainty"] > 0 for own in found.values())
    assert made(Survey("bald", passes=5, capped=False), model, tasks) == found
    assert made(Survey("bald", passes=5, capped=False), model, tasks, step=6) != found
    # However many rows fit into a pass: the same answers up to the dropout's luck, and one pass says nothing.
    small = made(Survey("bald", passes=400), model, tasks, batch_size=3)
    large = made(Survey("bald", passes=400), model, tasks)
    for name in NAMES:
        assert small[name]["value"] == pytest.approx(large[name]["value"], rel=0.15)
        assert made(Survey("bald", passes=1), model, tasks)[name]["value"] == 0.0


def test_a_task_without_such_an_uncertainty_counts_like_the_others():
    rows = TensorRows({"image": torch.rand(20, 1, 4, 4)}, torch.rand(20))
    tasks = [*make_tasks(), Task("number", Regression(), {"train": rows, "dev": rows})]
    found = made(Survey("entropy"), make_model(tasks), tasks)
    assert found["number"]["uncertainty"] is None
    assert found["number"]["value"] == pytest.approx(np.mean([found[name]["value"] for name in NAMES]))


def test_the_cap_holds_tasks_without_progress_at_the_mean_of_the_others():
    tasks = make_tasks()
    own = surveyor(Survey(capped=True), make_model(tasks), tasks)

    def heard(**measured):
        found = {name: {"uncertainty": u, "loss": loss} for name, (u, loss) in measured.items()}
        own._add_values(found)
        return {name: each["value"] for name, each in found.items()}

    assert heard(a=(0.2, 1.0), b=(0.4, 1.0), aux=(0.9, 1.0)) == {"a": 0.2, "b": 0.4, "aux": 0.9}  # the first survey
    assert heard(a=(0.2, 0.9), b=(0.4, 0.8), aux=(0.9, 1.0)) == pytest.approx({"a": 0.2, "b": 0.4, "aux": 0.3})
    assert heard(a=(0.2, 0.95), b=(0.4, 0.7), aux=(0.9, 0.9)) == pytest.approx({"a": 0.2, "b": 0.4, "aux": 0.9})
    # Nobody makes progress: nobody is capped.
    assert heard(a=(0.2, 2.0), b=(0.4, 2.0), aux=(0.9, None)) == {"a": 0.2, "b": 0.4, "aux": 0.9}
    own._survey = Survey(capped=False)
    assert heard(a=(0.2, 0.1), b=(0.4, 2.0), aux=(0.9, 2.0)) == {"a": 0.2, "b": 0.4, "aux": 0.9}


@pytest.mark.parametrize("stream", [None, JointStream])
def test_in_a_run_the_mixture_follows_the_surveys(tmp_path, stream):
    survey = Survey("share", every=7, passes=3, capped=False)
    options = {"stream": stream} if stream else {}
    run = train(tmp_path / "r", WithFloor(Tracking(NAMES, gamma=0.0), 0.25), SETTINGS, listen=survey, **options)
    surveys = run.lines("survey")
    assert [line["step"] for line in surveys] == [7, 14]
    for line in surveys:
        values = np.array([line["tasks"][name]["value"] for name in NAMES])
        expected = 0.75 * values / values.sum() + 0.25 / 3
        assert [line["mixture"][name] for name in NAMES] == pytest.approx(expected.tolist())
    steps = run.lines("step")
    if stream is None:
        assert all(line["probability"] == pytest.approx(1 / 3) for line in steps[:7])
        for line in steps[7:14]:
            assert line["probability"] == pytest.approx(surveys[0]["mixture"][line["task"]])
    else:
        assert steps[8]["tasks"]["a"]["weight"] == pytest.approx(surveys[0]["mixture"]["a"])
    dev_rows = sum(task.size("dev") for task in make_tasks())
    assert run.summary["cost"]["scored"] == 2 * 3 * dev_rows
    assert 0 < run.summary["listening"] < run.summary["seconds"]
    assert run.info["listen"] == [survey.describe()]


def test_the_names_of_scores_are_those_that_there_are():
    assert set(get_args(ScoreName)) == set(SCORES)


def test_surveys_leave_training_alone(tmp_path):
    """A policy that does not listen trains the same model with and without surveys."""
    from run_tools import final_weights

    from rota.policies import uniform

    train(tmp_path / "without", uniform(NAMES), SETTINGS)
    train(tmp_path / "with", uniform(NAMES), SETTINGS, listen=Survey(every=3))
    assert final_weights(tmp_path / "without") == final_weights(tmp_path / "with")


def test_rows_are_capped_and_memory_is_kept():
    tasks = make_tasks()
    model = make_model(tasks)
    own = surveyor(Survey(rows=5, passes=2), model, tasks)
    assert [len(rows) for _, rows in own._tasks.values()] == [5, 5, 5]
    plenty = rows_within(2**30, model, tasks[0], tasks[0].splits["dev"])
    half = rows_within(2**29, model, tasks[0], tasks[0].splits["dev"])
    assert plenty == pytest.approx(2 * half, abs=1)
    assert rows_within(1, model, tasks[0], tasks[0].splits["dev"]) == 1
    # Where not even the copies of one row fit, they go through the model in turn.
    most = []
    model.register_forward_hook(lambda *given: most.append(len(given[2])))
    found = made(Survey("bald", passes=7, rows=3, memory=1, capped=False), model, tasks)
    assert max(most) == 1
    assert all(own["value"] > 0 for own in found.values())


def peak_of_many_passes(cap):
    """How many bytes K = 100 passes over 4,000 rows take beyond two of them; their layers would take 2.6 GB at once."""
    images = torch.rand(4000, 1, 16, 16)
    rows = TensorRows({"image": images}, torch.arange(4000) % 2)
    task = Task("big", Classification(2), {"train": rows, "dev": rows})
    model = MultiTaskModel(SmallConv(16, width=64), [task])
    made(Survey("bald", passes=2, memory=cap), model, [task], batch_size=4000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    made(Survey("bald", passes=100, memory=cap), model, [task], batch_size=4000)
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024


def test_many_passes_stay_within_their_memory():
    cap = 100 * 2**20
    # In a process of its own, and with room: pieces of a heap that lie idle count, too, and differ from run to run.
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as alone:
        assert alone.submit(peak_of_many_passes, cap).result() < 3 * cap


def test_who_cannot_be_surveyed_is_refused():
    tasks = make_tasks()
    with pytest.raises(RotaError, match="a model with dropout"):
        surveyor(Survey(), make_model(tasks, dropout=0.0), tasks)
    blind = [*tasks, Task("blind", Classification(2), {"train": tasks[0].splits["train"]})]
    with pytest.raises(RotaError, match="Found none of 'blind'"):
        surveyor(Survey(), make_model(blind), blind)
    with pytest.raises(RotaError, match="Did you mean 'bald'"):
        Survey("blad")
    with pytest.raises(RotaError, match="passes of at least 1"):
        Survey(passes=0)


def test_an_ensemble_is_scored_like_passes():
    tasks = make_tasks()
    members = []
    for seed in range(3):
        members.append(make_model(tasks, dropout=0.0))
        torch.manual_seed(seed)
        for parameter in members[-1].parameters():
            parameter.data += 0.3 * torch.randn_like(parameter)
    batch = tasks[0].splits["dev"].batch(np.arange(10))
    outputs = ensemble_outputs(members, "a", batch.inputs)
    assert scored("bald", tasks[0].kind, outputs, batch.labels) > 0
