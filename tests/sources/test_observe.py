"""What is measured for nobody: it changes nothing, it is logged, it is paid for."""

from __future__ import annotations

import pytest

from rota.errors import RotaError
from rota.plans import make_plan
from rota.runlog import Run
from rota.runs import run_plan

TINY = {"tasks": ["left", "right"], "steps": 12, "eval_every": 6, "rows": {"left": 40, "right": 40}, "seed": 3}
SURVEY = {"every": 4, "rows": 20, "passes": 2, "score": "bald"}


def run(folder, **fields):
    return run_plan(make_plan({**TINY, **fields}), folder, progress=False)


def rest(run):
    """All lines but those of surveys."""
    return [line for line in run.lines() if line["kind"] != "survey"]


@pytest.mark.parametrize("method", ["uniform", "union", "exp3s", "joint"])
def test_surveys_under_any_method_are_logged_and_paid_for_and_told_to_nobody(tmp_path, method):
    plain = run(tmp_path / "plain", method=method)
    seen = run(tmp_path / "seen", method=method, observe={"uncertainty": SURVEY})
    surveys = list(seen.lines("survey"))
    assert [line["step"] for line in surveys] == [4, 8]
    assert all(own["uncertainty"] > 0 for line in surveys for own in line["tasks"].values())
    assert rest(seen) == rest(plain)  # losses, scores and choices: nobody has heard a thing
    # Twice, of twenty rows of two tasks, two passes.
    assert seen.summary["cost"]["scored"] == plain.summary["cost"]["scored"] + 2 * 2 * 20 * 2
    assert [own["source"] for own in seen.info["listen"]].count("survey") == 1


def test_what_is_measured_is_what_a_policy_that_listens_would_have_heard(tmp_path):
    """Until the first survey both train alike."""
    options = {"every": 6, "rows": 20, "passes": 2, "score": "entropy"}
    listens = run(tmp_path / "active", method="active", options={**options, "floor": 0})
    seen = run(tmp_path / "seen", method="uniform", observe={"uncertainty": options})
    first, other = (own.lines("survey")[0]["tasks"] for own in (listens, seen))
    assert first == other


def test_a_word_that_is_heard_anyhow_is_not_measured_twice(tmp_path):
    options = {"every": 6, "rows": 20, "passes": 2}
    plain = run(tmp_path / "plain", method="active", options=options)
    seen = run(tmp_path / "seen", method="active", options=options, observe=["uncertainty"])
    assert list(seen.lines()) == list(plain.lines())


def test_only_the_run_itself_is_observed_and_not_those_before_it(tmp_path):
    done = run(tmp_path / "c", method="counterfactual", observe={"uncertainty": SURVEY})
    assert len(list(done.lines("survey"))) == 2
    assert not list(Run(tmp_path / "c" / "runs" / "log").lines("survey"))


def test_a_command_line_and_a_file_say_it_in_short(rota_main, tmp_path):
    flags = ("--tasks", "left", "--steps", 8, "--method", "uniform", "--rows", "left=40", "--out", tmp_path / "r", "-q")
    code, _, err = rota_main("train", *flags, "--observe", "uncertainty,uncertainty.every=3,uncertainty.rows=10")
    assert code == 0, err
    assert [line["step"] for line in Run(tmp_path / "r").lines("survey")] == [3, 6]
    assert make_plan({"observe": ["uncertainty", "gain"]}).observe == {"uncertainty": {}, "gain": {}}
    assert make_plan({"observe": "uncertainty"}).observe == {"uncertainty": {}}
    assert make_plan({}).observe is None


@pytest.mark.parametrize(
    ("observe", "sentence"),
    [
        ({"certainty": {}}, "Unknown word to observe 'certainty'. Did you mean 'uncertainty'"),
        ({"uncertainty": {"evry": 3}}, r"Plan\(observe=uncertainty\): 1 wrong field: unknown field 'evry'"),
        ({"gain": {"measure": "visit_gain"}}, r"Plan\(observe=gain\) expects no options\. Found measure"),
        ({"uncertainty": {"every": 0}}, "'every' expects greater than or equal to 1"),
    ],
)
def test_wrong_words_and_options_are_refused_before_anything_is_trained(tmp_path, observe, sentence):
    with pytest.raises(RotaError, match=sentence):
        run(tmp_path / "r", method="counterfactual", observe=observe)
    assert not (tmp_path / "r").exists()


def test_an_observer_that_would_speak_beside_another_after_every_step_is_refused(tmp_path):
    with pytest.raises(RotaError, match="one source that speaks after every step"):
        run(tmp_path / "r", method="auto", observe=["gain"])
