"""What encoders have met before: said wherever results are shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from rota.data import SUITES
from rota.pretraining import KNOWN, contamination, known_pretraining
from rota.report import report_text
from rota.report._card import model_card
from rota.testing import written_run

ROOT = Path(__file__).parent.parent
TASKS = {name for suite in SUITES.values() for name in suite.tasks}


def test_tasks_that_encoders_have_met_are_tasks_that_there_are():
    named = {task for known in KNOWN.values() for task in (*known.seen, *known.near)}
    assert named
    assert named <= TASKS
    assert all(not known.seen.keys() & known.near.keys() for known in KNOWN.values())


def test_minilm_has_met_inference_and_paraphrases_and_says_so():
    told = contamination("minilm", ["cola", "snli", "rte", "mrpc", "qqp"])
    assert told.startswith("all-MiniLM-L6-v2 was trained on a billion pairs of texts, among them AllNLI")
    assert "it has seen rows of snli (AllNLI), qqp (Quora duplicates)" in told
    assert "near to what it has seen: rte (inference, like AllNLI), mrpc (paraphrases" in told
    assert "cola" not in told


@pytest.mark.parametrize("model", ["auto", "camtl", "bilstm", "camtl:minilm", "sentence-transformers/all-MiniLM-L6-v2"])
def test_models_around_it_are_the_same(model):
    assert contamination(model, ["rte"]) == contamination("minilm", ["rte"])


RESULTS = {
    "000": ["sst2", "mrpc", "rte"],
    "001": ["cola", "sst2", "mrpc", "stsb", "rte"],
    "002": ["cola", "sst2", "mrpc", "stsb", "rte", "snli", "scitail"],
    "003": ["cb", "copa", "mrpc", "rte", "wnli"],
    "004": ["rte", "mrpc", "cola", "sst2", "wnli"],
    "auto": ["cola", "sst2", "mrpc", "stsb", "rte", "wnli", "cb", "copa", "wic", "wsc", "multirc"],
}


@pytest.mark.parametrize("page", RESULTS)
def test_every_page_of_results_says_what_the_encoder_has_met(page):
    text = " ".join((ROOT / "docs" / "results" / f"{page}.md").read_text().split())
    assert f"Met before: {contamination('minilm', RESULTS[page])}" in text
    without_encoder = {"README", "headroom"}
    assert RESULTS.keys() == {path.stem for path in (ROOT / "docs" / "results").glob("*.md")} - without_encoder


def test_others_are_not_blamed():
    assert contamination("bert-base-uncased", ["rte"]).endswith("none of these tasks is known to be among it.")
    assert contamination("FacebookAI/roberta-base", ["rte"]).startswith("RoBERTa base")
    for model in ("bilstm-embeddings", "my/own-encoder", "bilstm-embeddings:minilm"):
        assert contamination(model, ["rte"]) is None
    for model in ("auto", "lenet"):  # networks for pictures, which were trained on nothing
        assert contamination(model, ["left", "right"]) is None
    assert known_pretraining("nobody/knows") is None


def test_the_report_and_the_card_say_it_once_for_each_encoder():
    plan = {"model": "minilm"}
    runs = [written_run({"rte": [0.5, 0.6], "cola": [0.2, 0.3]}, seed=seed, plan=plan, versions={}) for seed in (0, 1)]
    for form in ("html", "md"):
        page = report_text(runs, form)
        assert page.count("near to what it has seen: rte (inference, like AllNLI)") == 1
        assert "Met before: all-MiniLM-L6-v2" in page
    assert "The encoder before: all-MiniLM-L6-v2" in model_card(
        written_run({"rte": [0.5]}, plan=plan, policy="Fixed", versions={})
    )
    pictures = written_run({"left": [0.5]}, plan={"model": "auto"})
    assert "Met before" not in report_text([pictures])
