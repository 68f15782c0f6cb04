"""Small files in the layout of GLUE."""

from __future__ import annotations


def write_cola(folder, rows, split="train"):
    place = folder / "glue" / "CoLA"
    place.mkdir(parents=True, exist_ok=True)
    (place / f"{split}.tsv").write_text("".join(f"x\t{label}\t\t{text}\n" for text, label in rows))


def write_pairs(folder, rows):
    place = folder / "glue" / "RTE"
    place.mkdir(parents=True)
    lines = [f"{k}\t{one}\t{other}\t{label}\n" for k, (one, other, label) in enumerate(rows)]
    (place / "train.tsv").write_text("index\tsentence1\tsentence2\tlabel\n" + "".join(lines))
