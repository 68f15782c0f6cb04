"""A design of mixtures: trained as a comparison is, gone on with, and told plainly."""

from __future__ import annotations

import json

import numpy as np
import pytest

from rota.analysis import read_mixtures
from rota.comparisons import headroom_comparison
from rota.errors import RotaError
from rota.runlog import Run, read_mixture
from rota.surfaces import plain_mixtures, read_swarm
from rota.testing import written_run

SIZES = {"left": 1200, "right": 400}
COMMAND = ("headroom", "--tasks", "digits", "--only", "left,right", "--steps", 8, "--mixtures", 8, "--seeds", "0,1")


def test_a_part_of_the_budget_for_all_and_the_whole_for_six():
    made = headroom_comparison(SIZES, {"steps": 100}, [0, 1], mixtures=12, fraction=0.25)
    steps = {cell.variant: cell.plan.steps for cell in made.cells}
    assert sum(own == 25 for own in steps.values()) == 12
    assert [name for name, own in steps.items() if own == 100][:3] == [f"full {name}" for name in plain_mixtures(SIZES)]
    assert sum(own == 100 for own in steps.values()) == 6
    assert {(cell.plan.best, cell.plan.keep, cell.plan.method) for cell in made.cells} == {("last", "logs", "fixed")}
    assert not any(name.startswith("full") for name in headroom_comparison(SIZES, {}, [0]).variants)


@pytest.mark.parametrize(
    ("fields", "fraction", "said"),
    [({"method": "auto"}, 1.0, "decides method itself"), ({}, 0.0, "above 0"), ({}, 1.5, "at most 1")],
)
def test_what_is_no_design_is_refused(fields, fraction, said):
    with pytest.raises(RotaError, match=said):
        headroom_comparison(SIZES, fields, [0], fraction=fraction)


def run_of(share, seed, score):
    options = {"weights": {"rte": share, "mnli": 1 - share}}
    return written_run({"rte": [score], "mnli": [0.5]}, "fixed", seed, plan={"options": options, "steps": 9})


def test_a_mixture_that_lacks_a_lucky_seed_has_no_disadvantage():
    runs = [run_of(share, seed, score + 0.1 * seed) for share, score in ((0.5, 0.5), (0.8, 0.6)) for seed in (0, 1)]
    runs.append(run_of(0.2, 0, 0.4))  # not with the seed that is 0.1 better for all
    table = read_mixtures(runs)[9]
    np.testing.assert_allclose(np.diff(table.scores["rte"]), [0.1, -0.2], atol=1e-9)
    assert table.noise == pytest.approx(0, abs=1e-9)
    assert table.seeds == 2
    losses = read_mixtures(runs, "loss")[9]
    assert all((own <= 0).all() for own in losses.scores.values())


def test_noise_is_what_runs_differ_by_beyond_mixture_and_seed():
    rng = np.random.default_rng(0)
    runs = [run_of(share, seed, 0.5 + rng.normal(0, 0.04)) for share in np.linspace(0.1, 0.9, 9) for seed in range(8)]
    assert read_mixtures(runs)[9].noise == pytest.approx(0.02, rel=0.3)  # the mean of two tasks, one of them constant


def test_the_verb_trains_tells_and_goes_on_where_it_was(rota_main, tmp_path):
    folder = tmp_path / "h"
    code, printed, err = rota_main(*COMMAND, "--device", "cpu", "--out", folder)
    assert code == 0, err
    assert "Share of the updates" in printed
    assert "Held-out mixtures: rank correlation" in printed
    mixture = read_mixture(folder / "mixture.json")
    assert sum(mixture.values()) == pytest.approx(1, abs=1e-3)
    runs = [Run(own) for own in folder.iterdir() if own.is_dir()]
    assert len(runs) == 16
    (table,) = read_mixtures(runs).values()
    swarm = read_swarm(folder)
    by_shares = {tuple(own): value for own, value in zip(table.shares.tolist(), table.scores["left"], strict=True)}
    assert {tuple(own): pytest.approx(1 - value) for own, value in by_shares.items()} == {
        tuple(own): value for own, value in zip(swarm.shares.tolist(), swarm.metrics["left"].tolist(), strict=True)
    }
    assert (folder / "headroom.html").read_text().count("plotly-graph-div") >= 1
    before = json.loads((folder / "mixture.json").read_text())
    _, again, _ = rota_main(*COMMAND, "--device", "cpu", "--out", folder)
    assert again.count("kept") == 16
    assert json.loads((folder / "mixture.json").read_text()) == before
    code, _, err = rota_main(
        *("train", "--tasks", "digits", "--only", "left,right", "--steps", 4, "--device", "cpu"),
        *("--mixture", folder / "mixture.json", "--out", tmp_path / "run"),
    )
    assert code == 0, err
    assert Run(tmp_path / "run").plan["options"]["weights"] == pytest.approx(mixture)
    _, table_told, _ = rota_main(
        *("headroom", "--table", folder, "--sizes", "left=1200,right=400", "--out", tmp_path / "t")
    )
    assert "Share of the updates" in table_told
    told = json.loads((tmp_path / "t" / "mixture.json").read_text())
    assert told["mixture"] == pytest.approx(before["mixture"], abs=2e-3)  # an error for a score


def test_a_dry_run_trains_nothing(rota_main, tmp_path):
    code, printed, err = rota_main(*COMMAND, "--device", "cpu", "--dry-run", "--out", tmp_path / "h")
    assert code == 0, err
    assert "16 runs" in printed
    assert not (tmp_path / "h").exists()


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--tasks", "digits", "--method", "auto"), "decides --method itself"),
        (("--tasks", "digits", "--mixtures", 4), "at least 6 mixtures"),
        (("--tasks", "digits", "--only", "left"), "at least two tasks"),
        (("--tasks", "digits", "--fraction", 2), "at most 1"),
        (("--tasks", "digits", "--higher"), "--higher expects --table"),
        (("--table", "nowhere"), "Expected a table at nowhere/ratios.csv"),
        (("--table", "nowhere", "--steps", 5), "--table expects no training. Found --steps"),
        (("--on", "mars"), "mars"),
    ],
)
def test_wrong_flags_are_one_sentence(rota_main, tmp_path, flags, said):
    code, _, err = rota_main("headroom", "--out", tmp_path / "h", *flags)
    assert code == 2
    assert said in err
    assert not (tmp_path / "h").exists()
