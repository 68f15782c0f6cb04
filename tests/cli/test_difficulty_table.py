"""`rota tasks --difficulty`: what is printed, and what is refused."""

from __future__ import annotations

from glue_tools import write_cola, write_pairs
from test_errors import assert_refused

from rota.data import difficulty

ROWS = [("Red cat, red dog.", 0), ("The red bird's!", 1), ("cat", 0)]


def test_the_hardest_comes_first(rota_main, tmp_path):
    write_cola(tmp_path, ROWS, "dev")
    write_pairs(tmp_path, [("red cat", "a dog", "entailment"), ("blue bird", "", "not_entailment")])
    code, out, err = rota_main("tasks", "--difficulty", "--data", tmp_path)
    assert code == 0, err
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in out.splitlines() if line.startswith("│")]
    cola = difficulty([text for text, _ in ROWS], [label for _, label in ROWS])
    rte = difficulty(["red cat a dog", "blue bird"], [0, 1])
    assert cola.total > rte.total
    assert rows == [
        ["cola", "3", *(f"{value:.3f}" for value in (cola.total, *cola))],
        ["rte", "2", *(f"{value:.3f}" for value in (rte.total, *rte))],
    ]
    assert "Without training rows, so measured on others: cola (dev)" in out
    assert max(map(len, out.split("EDM is the sum")[0].splitlines())) <= 80


def test_tasks_by_name_and_those_without_classes(rota_main, tmp_path):
    write_cola(tmp_path, ROWS)
    write_pairs(tmp_path, [("red cat", "a dog", "entailment"), ("blue bird", "", "not_entailment")])
    (tmp_path / "mine.csv").write_text("text,label\na b,0.5\nc,1.5\n")
    mine = tmp_path / "mine.yaml"
    mine.write_text("{name: mine, kind: regression, train: mine.csv, dev: mine.csv}")
    code, out, err = rota_main("tasks", "--difficulty", "--data", tmp_path, "--tasks", f"rte,{mine}")
    assert code == 0, err
    assert "rte" in out
    assert "cola" not in out
    assert "Not defined without classes: mine (regression)" in out
    assert_refused(rota_main("tasks", "--difficulty", "--tasks", mine), "EDM is not defined. Found mine (regression)")


def test_wrong_input(rota_main, tmp_path, monkeypatch):
    monkeypatch.delenv("ROTA_DATA", raising=False)
    assert_refused(rota_main("tasks", "--difficulty"), "Found no folder")
    assert_refused(rota_main("tasks", "--difficulty", "--data", tmp_path), f"Found none in {tmp_path}")
    assert_refused(rota_main("tasks", "--tasks", "rte"), "--tasks expects --difficulty")
    assert_refused(rota_main("tasks", "--difficulty", "--tasks", "rtee"), "Did you mean 'rte'?")
    assert_refused(rota_main("tasks", "--difficulty", "--tasks", "left"), "Found 'left' of the suite 'digits'")
