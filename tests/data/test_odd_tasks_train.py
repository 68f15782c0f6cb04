"""Odd but allowed: such tasks train, are evaluated, answer, and tell what was cut."""

from __future__ import annotations

import json

import pytest
from text_tools import jsonl, write

LONG = "the cat sat on the mat and " * 30
FLAGS = ["--steps", 14, "--eval-every", 14, "--batch-size", 64, "--device", "cpu", "-q"]
TASKS = {
    "long": ({"kind": "classification"}, [{"text": LONG, "label": k % 2} for k in range(4)]),
    "empty": (
        {"kind": "classification", "text": ["one", "two"]},
        [{"one": "the cat", "two": ["", "it sat"][k % 2], "label": k % 2} for k in range(6)],
    ),
    "hundred": ({"kind": "classification"}, [{"text": f"the cat {k}", "label": k % 100} for k in range(200)]),
    "score": ({"kind": "regression"}, [{"text": f"the cat {k}", "label": k / 2} for k in range(3)]),
    "choice": (
        {"kind": "choice", "choices": "of"},
        [{"text": LONG, "of": ["it sat", "it ran", LONG], "label": k % 3} for k in range(3)],
    ),
    "tags": ({"kind": "tagging"}, [{"text": ["cat"] * 90, "label": ["O", "B-pet", "I-pet"] * 30} for _ in range(3)]),
    "answer": (
        {"kind": "answer"},
        [{"question": "who?", "context": LONG, "answers": [{"text": "cat", "start": 4}]} for _ in range(3)],
    ),
}


@pytest.mark.parametrize("encoder", ["tiny_bert", "tiny_roberta"])
def test_odd_tasks_train_together(rota_main, tmp_path, request, monkeypatch, encoder):
    """Texts beyond the encoder's limit, empty second texts, 100 classes, one row to evaluate, a batch of all rows."""
    monkeypatch.setenv("ROTA_CACHE", str(tmp_path / "cache"))
    described = []
    for name, (fields, rows) in TASKS.items():
        described.append({"name": name, "train": f"{name}.jsonl", "dev": f"{name}-dev.jsonl"} | fields)
        write(tmp_path, {f"{name}.jsonl": jsonl(*rows), f"{name}-dev.jsonl": jsonl(rows[0])})
    write(tmp_path, {"own.yaml": json.dumps(described)})
    own, model = tmp_path / "own.yaml", request.getfixturevalue(encoder)
    code, _, err = rota_main("train", "--tasks", own, "--model", model, *FLAGS, "--out", tmp_path / "run")
    assert code == 0, err
    info = json.loads((tmp_path / "run" / "run.json").read_text())["tasks"]
    assert info["long"]["notes"]["counted"] == {"train": {"truncated": 4}, "dev": {"truncated": 1}}
    assert info["tags"]["notes"]["counted"]["train"] == {"truncated": 3}
    assert info["answer"]["notes"]["counted"]["dev"] == {"read in several windows": 1}
    for name, (_, rows) in TASKS.items():
        new = write(tmp_path, {"new.jsonl": jsonl(*rows[:2])}) / "new.jsonl"
        code, out, err = rota_main("predict", tmp_path / "run", "--task", name, "--input", new)
        assert code == 0, err
        answers = [json.loads(line) for line in out.splitlines()]
        assert len(answers) == 2
        if name == "tags":  # one for each word, none for those that were cut off
            assert [len(answer["tags"]) for answer in answers] == [90, 90]
            assert answers[0]["tags"][-1] is None
            assert answers[0]["tags"][0] in ("O", "B-pet", "I-pet")
        assert name not in ("long", "choice", "tags") or f"{name}: 2 × truncated" in err
