"""One picture of a comparison."""

from __future__ import annotations

from functools import partial
from xml.etree import ElementTree

import pytest
from log_tools import step_line, write_run

from rota.errors import RotaError
from rota.report import write_picture

SVG = "{http://www.w3.org/2000/svg}"


def test_a_picture_has_a_line_for_each_method_and_task_and_the_scores_in_their_order(tmp_path):
    make_run = partial(write_run, tmp_path)
    turns = [step_line(step, "left" if step % 4 else "right") for step in range(80)]
    plain = [make_run(f"u{seed}", seed=seed, average=0.5, lines=turns) for seed in range(3)]
    better = [make_run(f"b{seed}", "<better>", seed, average=0.6 + seed / 100, lines=turns) for seed in range(3)]
    write_picture([*plain, *better], tmp_path / "picture.svg")
    root = ElementTree.parse(tmp_path / "picture.svg").getroot()  # well formed: names are escaped
    texts = [text.text for text in root.iter(f"{SVG}text")]
    assert {"left", "right", "uniform", "<better>", "50.0", "61.0"} <= set(texts)
    assert len(list(root.iter(f"{SVG}polyline"))) == 6  # two methods, three tasks
    places = {row.get("cx"): float(row.get("cx")) for row in root.iter(f"{SVG}circle")}
    assert sorted(places.values()) == list(places.values())  # the better one is further right


def test_runs_without_scores_are_no_picture(tmp_path):
    with pytest.raises(RotaError, match="finished runs"):
        write_picture([write_run(tmp_path, "u", average=None)], tmp_path / "picture.svg")
