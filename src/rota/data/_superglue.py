"""SuperGLUE: eight tasks as JSON lines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rota.data._examples import Form
from rota.data._files import Read, read_jsonl
from rota.data._forms import Choices, Classified, Grouped, TwoPlaces
from rota.data._glue import ENTAILMENT
from rota.data._hub import Hub
from rota.data._labels import Labels
from rota.data._layouts import (
    multirc_from_hub,
    read_multirc,
    read_record,
    read_wsc,
    record_from_hub,
    wsc_places,
)
from rota.data._named import Files, NamedTask

TRUTH = Labels(("false", "true"))


def _task(
    name: str,
    folder: str,
    form: Form,
    read: Read = read_jsonl,
    hub: str | None = None,
    rename: Mapping[str, str] | None = None,
    prepare: Any = None,
    same_as: str | None = None,
) -> NamedTask:
    return NamedTask(
        name,
        form,
        tuple(f"{root}{folder}" for root in ("superglue/", "", "SuperGLUE/", "super_glue/")),
        {"train": (Files(("train.jsonl",), read),), "dev": (Files(("val.jsonl",), read),)},
        Hub("aps/super_glue", hub or name, rename=rename or {}, prepare=prepare),
        same_as,
    )


SUPERGLUE = [
    _task("boolq", "BoolQ", Classified(("question", "passage"), TRUTH)),
    _task(
        "cb",
        "CB",
        Classified(
            ("premise", "hypothesis"),
            Labels(("entailment", "contradiction", "neutral")),
            measured=("accuracy", "macro_f1"),
        ),
    ),
    _task(
        "copa",
        "COPA",
        Choices(
            "premise",
            ("choice1", "choice2"),
            2,
            ask=("question", (("cause", "What was the cause?"), ("effect", "What happened as a result?"))),
        ),
    ),
    _task("multirc", "MultiRC", Grouped("paragraph", ("question", "answer")), read_multirc, prepare=multirc_from_hub),
    _task("record", "ReCoRD", Grouped("passage", ("query",), cloze=True), read_record, prepare=record_from_hub),
    _task(
        "superglue-rte",
        "RTE",
        Classified(("premise", "hypothesis"), ENTAILMENT),
        hub="rte",
        same_as="rte",
    ),
    _task(
        "wic",
        "WiC",
        TwoPlaces(("sentence1", "sentence2"), TRUTH, ((0, "start1", "end1"), (1, "start2", "end2"))),
    ),
    _task(
        "wsc",
        "WSC",
        TwoPlaces(("text",), TRUTH, ((0, "span1_start", "span1_end"), (0, "span2_start", "span2_end"))),
        read_wsc,
        hub="wsc.fixed",
        prepare=wsc_places,
    ),
]
