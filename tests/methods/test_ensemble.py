"""Several runs answer as one: with the mean of their probabilities, or of their numbers."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest
import torch
from sklearn.metrics import accuracy_score, log_loss

from rota.errors import RotaError
from rota.inference import Ensemble, Trained
from rota.inference._ensemble import mean_outputs
from rota.plans import make_plan, tasks_of
from rota.runs import run_plan
from rota.tasks import MASKED, Answer, Classification, MultipleChoice, Regression, Span, Tagging

PROBABILITIES = [
    (Classification(3), (5, 3), -1),
    (MultipleChoice(4), (5, 4), -1),
    (Tagging(3), (5, 7, 3), -1),
    (Span(), (5, 7, 2), -2),  # the places are the classes
    (Answer(), (5, 7, 2), -2),
]


@pytest.mark.parametrize(("kind", "shape", "options"), PROBABILITIES, ids=lambda value: type(value).__name__)
def test_the_softmax_of_the_mean_is_the_mean_of_the_softmaxes(kind, shape, options):
    outputs = 3 * torch.randn(4, *shape, generator=torch.Generator().manual_seed(0))
    if options == -2:
        outputs[:, 2, 4:] = MASKED  # padding
    mean = mean_outputs(kind, outputs)
    torch.testing.assert_close(mean.softmax(options), outputs.softmax(options + outputs[0].dim() + 1).mean(0))
    if options == -2:
        assert (mean[2, 4:] < MASKED / 2).all()


def test_the_mean_of_numbers_is_their_mean():
    assert mean_outputs(Regression(), torch.tensor([[[1.0], [5.0]], [[2.0], [-5.0]]])).tolist() == [[1.5], [0.0]]


@pytest.mark.parametrize("copies", [1, 2, 5])
@pytest.mark.parametrize(
    "case", [*PROBABILITIES, (Regression(), (5, 1), None)], ids=lambda case: type(case[0]).__name__
)
def test_the_mean_of_equal_outputs_is_these_outputs(case, copies):
    kind, shape, _ = case
    outputs = 3 * torch.randn(shape, generator=torch.Generator().manual_seed(1))  # levels that windows compare included
    assert mean_outputs(kind, torch.stack([outputs] * copies)).equal(outputs)


def test_a_sure_run_outvotes_two_that_waver():
    """Averages of logits or votes would say otherwise: the mean of the probabilities of class 0 is 0.6."""
    p = torch.tensor([[[0.98, 0.02]], [[0.41, 0.59]], [[0.41, 0.59]]])
    mean = mean_outputs(Classification(2), p.log()).softmax(-1)
    torch.testing.assert_close(mean, torch.tensor([[0.6, 0.4]]))


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two seeds of one plan, with a task of each kind, and a run of other tasks."""
    folder = tmp_path_factory.mktemp("runs")
    plan = {"tasks": ["toytext"], "steps": 12, "eval_every": 6, "threads": 1, "device": "cpu"}
    for seed in (0, 1):
        run_plan(make_plan({**plan, "seed": seed}), folder / str(seed), progress=False)
    run_plan(make_plan({**plan, "tasks": ["mood", "where"]}), folder / "two", progress=False)
    return [folder / "0", folder / "1", folder / "two"]


def by_hand(members, task):
    """The outputs of each run to all test rows, and the labels."""
    rows = task.splits["test"]
    batch = rows.batch(np.arange(len(rows)))
    with torch.no_grad():
        return [member.model(task.name, batch.inputs) for member in members], batch.labels


def test_scores_are_those_of_the_mean_computed_by_hand(runs):
    members = [Trained(folder) for folder in runs[:2]]
    told = Ensemble(members).evaluate("test")["tasks"]
    tasks = {task.name: task for task in tasks_of(members[0].plan)}
    for name in ("mood", "follows", "where"):
        (one, two), labels = by_hand(members, tasks[name])
        p = (one.double().softmax(-1) + two.double().softmax(-1)) / 2
        assert told[name]["metrics"]["accuracy"] == accuracy_score(labels, p.argmax(-1))
        assert told[name]["loss"] == pytest.approx(log_loss(labels, p, labels=range(p.shape[1])), abs=1e-6)
    (one, two), labels = by_hand(members, tasks["howmany"])
    value = (one + two).squeeze(-1).double() / 2
    assert told["howmany"]["loss"] == pytest.approx(((value - labels) ** 2).mean().item(), abs=1e-6)
    assert told["howmany"]["metrics"]["pearson"] == pytest.approx(np.corrcoef(value, labels)[0, 1], abs=1e-6)
    (one, two), labels = by_hand(members, tasks["roles"])
    tags = (one.softmax(-1) + two.softmax(-1)).argmax(-1)
    tagged = labels >= 0
    assert told["roles"]["metrics"]["tag_accuracy"] == pytest.approx((tags == labels)[tagged].double().mean().item())
    (one, two), labels = by_hand(members, tasks["who"])
    places = (one.softmax(1) + two.softmax(1)).argmax(1)
    assert told["who"]["metrics"]["exact_match"] == (places == labels).all(1).double().mean().item()


def test_each_run_is_scored_beside_them(runs):
    members = [Trained(folder) for folder in runs[:2]]
    result = Ensemble(members).evaluate("test", tasks=["mood", "who"])
    assert [own.pop("run") for own in result["runs"]] == [str(folder) for folder in runs[:2]]
    assert result["runs"] == [member.evaluate("test", tasks=["mood", "who"]) for member in members]
    assert result["runs"][0] != result["runs"][1]


@pytest.mark.parametrize("copies", [1, 2])
def test_a_run_alone_or_twice_scores_as_itself(runs, copies):
    result = Ensemble([Trained(runs[0]) for _ in range(copies)]).evaluate("test")
    assert len(result.pop("runs")) == copies
    assert result == Trained(runs[0]).evaluate("test")


def test_runs_of_other_tasks_join_for_the_tasks_that_they_share(runs):
    ensemble = Ensemble([Trained(folder) for folder in (runs[2], runs[0])])
    assert set(ensemble.evaluate("test")["tasks"]) == {"mood", "where"}
    turned = Ensemble([Trained(folder) for folder in (runs[0], runs[2])])
    with pytest.raises(RotaError, match=r"'follows' in every run. Found only mood, where in .*two.*: mood, where"):
        turned.evaluate("test")
    with pytest.raises(RotaError, match=r"Unknown task of the runs 'moot'. Did you mean 'mood'\?"):
        turned.evaluate("test", tasks=["moot"])
    with pytest.raises(RotaError, match="at least one run"):
        Ensemble([])


# Answers to new texts

CHANGES = {
    "labels": (
        {"labels": ["no", "yes", "maybe"]},
        "same answers to task 'own'. Found .*: no, yes in .* no, yes, maybe",
    ),
    "order": ({"labels": ["yes", "no"]}, "Found .*: no, yes in .*: yes, no in"),
    "kind": (
        {"kind": "regression", "label": "size"},
        r"Found classification \(2 classes\): no, yes in .* and regression",
    ),
    "columns": (
        {"text": ["second", "first"]},
        "same columns for task 'own'. Found first, second in .* second, first in",
    ),
}


@pytest.fixture
def trained(tmp_path, monkeypatch, tiny_bert):
    """Train on a small task of one's own, with changes to the task and the plan; the rows are in rows.jsonl."""
    monkeypatch.setenv("ROTA_CACHE", str(tmp_path / "cache"))
    rng = random.Random(0)
    rows = [
        {"first": rng.choice(["cat", "dog"]), "second": rng.choice(["sat", "ran"]), "label": "yes" if k % 3 else "no"}
        for k in range(20)
    ]
    lines = [json.dumps({**row, "size": k}) + "\n" for k, row in enumerate(rows)]
    (tmp_path / "rows.jsonl").write_text("".join(lines))

    def train(name, seed=0, task=None, **fields):
        own = {"name": "own", "kind": "classification", "train": "rows.jsonl", "dev": 0.3, "text": ["first", "second"]}
        (tmp_path / f"{name}.yaml").write_text(json.dumps({**own, "labels": ["no", "yes"], **(task or {})}))
        plan = {"tasks": [str(tmp_path / f"{name}.yaml")], "model": str(tiny_bert), "steps": 4, "batch_size": 4}
        plan = {**plan, "longest": 32, "seed": seed, "lr": 0.01, "device": "cpu", **fields}
        run_plan(make_plan(plan), tmp_path / name, progress=False)
        return Trained(tmp_path / name)

    return train, tmp_path / "rows.jsonl"


def test_answers_are_the_mean_and_its_largest(trained):
    train, rows = trained
    members = [train("one", 0), train("two", 1)]
    one, two = (list(member.predict("own", rows)) for member in members)
    both = list(Ensemble(members).predict("own", rows))
    assert len(both) == 20
    assert one != two
    for a, b, mean in zip(one, two, both, strict=True):
        expected = {name: (p + b["probabilities"][name]) / 2 for name, p in a["probabilities"].items()}
        assert mean["probabilities"] == pytest.approx(expected, abs=2e-6)
        assert mean["label"] == max(mean["probabilities"], key=mean["probabilities"].get)
    assert list(Ensemble(members[:1]).predict("own", rows)) == one
    assert list(Ensemble([members[1], train("again", 1)]).predict("own", rows)) == two


@pytest.mark.parametrize("change", CHANGES)
def test_runs_that_mean_something_else_are_refused_with_a_sentence(trained, change):
    train, rows = trained
    task, sentence = CHANGES[change]
    ensemble = Ensemble([train("one"), train("two", task=task)])
    with pytest.raises(RotaError, match=sentence):
        ensemble.predict("own", rows)


def test_runs_that_cut_texts_differently_are_refused_with_a_sentence(trained, tiny_roberta):
    train, rows = trained
    first = train("one")
    for name, fields in {"short": {"longest": 16}, "other": {"model": str(tiny_roberta)}}.items():
        with pytest.raises(RotaError, match=r"same tokens for task 'own'. Found those of .*, at most 32 in .*one and"):
            Ensemble([first, train(name, **fields)]).predict("own", rows)
    # Other metrics and another learning rate make no difference to what the answers mean.
    other = train("alike", task={"metrics": ["f1"]}, lr=0.001)
    assert len(list(Ensemble([first, other]).predict("own", rows))) == 20
