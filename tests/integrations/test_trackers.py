"""Trackers of `fit`, by name, and the card of a model."""

from __future__ import annotations

import pytest
from fit_tools import NAMES, QUICK, train
from huggingface_hub import ModelCard
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from rota.errors import RotaError
from rota.integrations.trackers import TrackerCallback
from rota.policies import Exp3S
from rota.report import model_card
from rota.runlog import Run

pytestmark = [pytest.mark.filterwarnings(f"ignore::{kind}") for kind in ("DeprecationWarning", "FutureWarning")]


def test_tensorboard_reads_what_was_sent(tmp_path):
    run = train(tmp_path / "r", Exp3S(NAMES, eta=0.3), callbacks=[TrackerCallback("tensorboard")])
    found = EventAccumulator(str(tmp_path / "r" / "tracker" / "rota"))
    found.Reload()
    tags = set(found.Tags()["scalars"])
    assert {f"{what}/{task}" for what in ("score", "share", "loss") for task in NAMES} <= tags
    evaluations = run.lines("eval")
    scores = found.Scalars("score/average")
    assert [event.step for event in scores] == [line["step"] for line in evaluations]
    assert [event.value for event in scores] == pytest.approx([line["average"] for line in evaluations])
    losses = [line["loss"] for line in run.lines("step") if line["task"] == NAMES[0] and line["step"] < 20]
    assert found.Scalars(f"loss/{NAMES[0]}")[0].value == pytest.approx(sum(losses) / len(losses))
    assert QUICK.steps == found.Scalars("share/" + NAMES[0])[-1].step


def test_unknown_and_absent_trackers_are_one_sentence(tmp_path):
    with pytest.raises(RotaError, match=r"Unknown tracker 'tensorbord'\. Did you mean 'tensorboard'"):
        TrackerCallback("tensorbord")
    with pytest.raises(RotaError, match=r"The tracker 'swanlab' needs a package that is not installed"):
        train(tmp_path / "r", callbacks=[TrackerCallback("swanlab")])


TINY = ["--tasks", "left,right", "--rows", "left=60,right=60", "--steps", 12, "--eval-every", 6, "-q"]


def test_a_card_is_pushed_and_read_by_the_hubs_own_parser(tmp_path, rota_main):
    for seed in (0, 1, 2):
        assert rota_main("train", *TINY, "--seed", seed, "--out", tmp_path / f"r{seed}")[0] == 0
    seeds = ["--seeds", tmp_path / "r1", "--seeds", tmp_path / "r2"]
    code, out, errors = rota_main(
        "export", tmp_path / "r0", "-o", tmp_path / "model", "--card", *seeds, "--push", tmp_path / "hub"
    )
    assert code == 0, errors
    assert "It was sent to" in out
    card = ModelCard.load(tmp_path / "hub" / "README.md")
    assert card.data.library_name == "rota"
    results = {result.dataset_name: result.metric_value for result in card.data.eval_results}
    summary = Run(tmp_path / "r0").summary["best"]["test"]["tasks"]
    assert results == {task: pytest.approx(own["score"], abs=1e-4) for task, own in summary.items()}
    assert "the mean over 3 seeds" in card.text
    assert "rota train --tasks left,right" in card.text
    assert (tmp_path / "hub" / "model.safetensors").is_file()


def test_one_run_has_the_interval_of_its_rows(tmp_path, rota_main):
    """Wilson's, against statsmodels' formula by hand: 30 of 120 right."""
    from rota.report._card import _interval

    assert _interval([{"score": 0.25, "metrics": {"accuracy": 0.25}, "n": 120}]) == "25.0 [18.1, 33.4]"
    assert _interval([{"score": 0.25, "metrics": {"f1": 0.25}, "n": 120}]) == "25.0"


def test_wrong_exports_are_one_sentence(tmp_path, rota_main):
    rota_main("train", *TINY, "--out", tmp_path / "r")
    (tmp_path / "there").mkdir()
    cases = {
        "--seeds expects --card": ["--seeds", tmp_path / "r"],
        "expects a new folder": ["--push", tmp_path / "there"],
        "the name of a repository, such as me/model": ["--push", "me/model/part"],
    }
    for sentence, words in cases.items():
        code, _, errors = rota_main("export", tmp_path / "r", "-o", tmp_path / "model", *words)
        assert code == 2
        assert sentence in errors
        assert not (tmp_path / "model").exists()
    (tmp_path / "r" / "summary.json").unlink()
    with pytest.raises(RotaError, match="expects a finished run"):
        model_card(Run(tmp_path / "r"))
