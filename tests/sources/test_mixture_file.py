"""A mixture file that is replaced while a run goes on."""

import json

import numpy as np
import pytest
from fit_tools import QUICK, crash_at, train
from run_tools import assert_same_run

from rota.callbacks import Callback
from rota.errors import RotaError
from rota.feedback import Feedback
from rota.mixing import Mix
from rota.offpolicy import as_log
from rota.policies import Steered, uniform
from rota.runlog import Run, read_mixture
from rota.sources import MixtureFile

NAMES = ["a", "b", "aux"]


def write(path, **weights):
    path.write_text(json.dumps(weights))


class Replacing(Callback):
    """A callback that puts another file in its place after some steps."""

    def __init__(self, path, **contents):
        self.path, self.contents = path, {int(step.removeprefix("at")): own for step, own in contents.items()}

    def on_step(self, done):
        if done in self.contents:
            self.path.write_text(self.contents[done])


def steered(folder, path, resume=False, every=None, cut=None, **contents):
    go = train if cut is None else lambda *a, **k: crash_at(cut, *a, **k)
    replacing = [Replacing(path, **contents)]
    listen = MixtureFile(str(path), every=every)
    return go(folder, Steered(NAMES), resume=resume, listen=listen, callbacks=replacing)


def test_a_replaced_file_is_heard_at_the_next_evaluation_and_logged(tmp_path):
    path = tmp_path / "mixture.json"
    write(path, a=1, b=1, aux=2)
    run = steered(tmp_path / "r", path, at13='{"a": 3, "b": 1, "aux": 0}')
    lines = run.lines("mixture")
    assert [(own["step"], own["weights"]) for own in lines] == [
        (0, {"a": 1, "b": 1, "aux": 2}),
        (20, {"a": 3, "b": 1, "aux": 0}),
    ]
    assert lines[1]["mixture"] == {"a": 0.75, "b": 0.25, "aux": 0}
    by_step = [(own["task"], own["probability"]) for own in run.lines("step")]
    assert set(by_step[:20]) <= {("a", 0.25), ("b", 0.25), ("aux", 0.5)}
    assert set(by_step[20:]) == {("a", 0.75), ("b", 0.25)}
    assert [own["mixture"]["a"] for own in run.lines("eval")] == [0.25, 0.25, 0.75, 0.75, 0.75]
    assert len(as_log(run.folder)) > 30  # every decision has its own probability


def test_a_file_is_looked_at_as_often_as_asked(tmp_path):
    path = tmp_path / "mixture.json"
    write(path, a=1, b=1, aux=2)
    run = steered(tmp_path / "r", path, every=7, at13='{"a": 0, "b": 1, "aux": 0}')
    assert [own["step"] for own in run.lines("mixture")] == [0, 14]
    assert {own["task"] for own in run.lines("step")[14:]} == {"b"}


def test_a_file_that_cannot_be_used_changes_nothing(tmp_path):
    path = tmp_path / "mixture.json"
    write(path, a=1, b=1, aux=2)
    run = steered(
        tmp_path / "r", path, every=5, at4='{"a": 1, "b"', at8='{"a": 1, "b": 2}', at14='{"a": 1, "b": 2, "aux": 1}'
    )
    lines = run.lines("mixture")
    assert [own["step"] for own in lines] == [0, 5, 10, 15]
    assert "Found none" in lines[1]["reason"]
    assert "Found no 'aux'" in lines[2]["reason"]
    assert lines[1]["mixture"] == lines[2]["mixture"] == lines[0]["mixture"] == {"a": 0.25, "b": 0.25, "aux": 0.5}
    assert lines[3]["mixture"] == {"a": 0.25, "b": 0.5, "aux": 0.25}


@pytest.mark.parametrize("cut", [5, 11, 25])
def test_resumed_is_never_stopped(tmp_path, cut):
    path, changed = tmp_path / "mixture.json", {"at6": '{"a": 3, "b": 1, "aux": 1}'}
    write(path, a=1, b=1, aux=2)
    steered(tmp_path / "whole", path, **changed)
    write(path, a=1, b=1, aux=2)
    steered(tmp_path / "cut", path, cut=cut, **changed)
    steered(tmp_path / "cut", path, resume=True, **changed)
    assert_same_run(tmp_path / "whole", tmp_path / "cut")
    assert len(Run(tmp_path / "cut").lines("mixture")) == 2


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "Found none"),
        ("[1, 2]", "Found none"),
        ("[" * 100_000, "Found none"),
        ('{"a": 1, "b": 1}', "Found no 'aux'"),
        ('{"a": 1, "b": 1, "aux": 1, "c": 1}', "an unknown 'c'"),
        ('{"a": -1, "b": 1, "aux": 1}', "Found a=-1"),
        ('{"a": NaN, "b": 1, "aux": 1}', "Found a=nan"),
        ('{"a": 0, "b": 0, "aux": 0}', "at least one weight above zero"),
    ],
)
def test_a_run_does_not_begin_with_a_wrong_file(tmp_path, content, said):
    path = tmp_path / "mixture.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(RotaError, match=said):
        steered(tmp_path / "r", path)
    assert not (tmp_path / "r").exists()


def test_a_policy_that_hears_no_weights_is_refused(tmp_path):
    write(tmp_path / "m.json", a=1, b=1, aux=1)
    with pytest.raises(RotaError, match="hears 'weight', for which there is no usual source"):
        train(tmp_path / "r", Steered(NAMES))
    run = train(tmp_path / "r", uniform(NAMES), QUICK, listen=MixtureFile(str(tmp_path / "m.json")))
    assert len(run.lines("mixture")) == 1  # logged, and told nobody


def test_weights_in_a_mix():
    mix = Mix({"a": range(40), "b": range(40)}, Steered(["a", "b"]), batch_size=4, lag=0)
    mix.observe({"a": 0.0, "b": 5.0}, about="weight")
    next(iter(mix))
    assert mix.shares() == {"a": 0.0, "b": 1.0}


def test_huge_and_no_weights():
    policy = Steered(["a", "b"])
    for weights, expected in (((1e308, 1e308), (0.5, 0.5)), ((0, -2), (0.5, 0.5)), ((1e-300, 3e-300), (0.25, 0.75))):
        for task, weight in zip("ab", weights, strict=True):
            policy.observe(Feedback(task, weight))
        assert policy.probabilities(0) == pytest.approx(expected, abs=1e-15)


def test_newcomers_have_the_mean_weight():
    old, new = Steered(["a", "b"]), Steered(["c", "b", "a"])
    for task, weight in (("a", 1.0), ("b", 3.0)):
        old.observe(Feedback(task, weight))
    new.take_over(old)
    assert np.allclose(new.probabilities(0), [2 / 6, 3 / 6, 1 / 6])


def test_the_command_line_reads_the_file(rota_main, tmp_path):
    write(tmp_path / "m.json", left=1, noise=3)
    flags = ["--tasks", "digits", "--only", "left,noise", "--steps", 20, "--device", "cpu", "--method", "steered"]
    assert rota_main("train", *flags, "--option", f"file={tmp_path / 'm.json'}", "-q", "--out", tmp_path / "r")[0] == 0
    assert {own["probability"] for own in Run(tmp_path / "r").lines("step")} == {0.25, 0.75}
    code, _, said = rota_main("train", *flags, "-q", "--out", tmp_path / "s")
    assert (code, "file" in said) == (2, True)
    assert read_mixture(tmp_path / "m.json") == {"left": 1.0, "noise": 3.0}
