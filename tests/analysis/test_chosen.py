"""Claims may name the best of a grid on dev rows; what it scores on test rows has no part in the choice."""

from __future__ import annotations

import json

import pytest
import yaml

from rota.comparisons import COMPARISON, make_comparison
from rota.errors import RotaError
from rota.runlog import write_json
from rota.testing import written_run

CONTENT = {
    "variants": {"plain": {}, "few": {"lr": 0.1}, "many": {"lr": 0.2}},
    "without": ["proportional", "union", "temperature"],
    "chosen": {"tuned": ["few", "many"]},
    "claims": [{"says": "Tuned is ahead", "of": "tuned", "than": "plain", "differ": ["lr"]}],
}


@pytest.fixture
def compared(tmp_path):
    """Dev scores of three seeds: `many` has the better mean, though not the better seed."""
    made = make_comparison(CONTENT, {"tasks": ["rte"]}, seeds=[0, 1, 2])
    scores = {"plain": [0.50, 0.52, 0.51], "few": [0.90, 0.40, 0.41], "many": [0.70, 0.72, 0.71]}
    write_json(tmp_path / COMPARISON, made.described())
    for cell in made.cells:
        plan = json.loads(cell.plan.model_dump_json())
        folder = tmp_path / cell.name
        written_run({"rte": [scores[cell.variant][cell.seed]]}, cell.variant, cell.seed, folder=folder, plan=plan)
    return tmp_path


def test_a_claim_about_a_grid_is_about_its_best_on_dev(compared, rota_main):
    code, out, err = rota_main("claims", compared)
    assert code == 0, err
    assert "tuned is many, the best on dev of few, many" in out
    assert "+20.0" in out
    assert "holds" in out


def test_a_choice_is_between_variants_that_there_are():
    with pytest.raises(RotaError, match=r"Unknown variant to choose tuned from 'lots'"):
        make_comparison({**CONTENT, "chosen": {"tuned": ["few", "lots"]}}, {})
    with pytest.raises(RotaError, match=r"`chosen` expects a new name.*Found plain: few"):
        make_comparison({**CONTENT, "chosen": {"plain": ["few"]}}, {})
    assert yaml.safe_load(yaml.safe_dump(make_comparison(CONTENT, {}).described()))["chosen"] == CONTENT["chosen"]
