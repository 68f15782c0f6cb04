"""GLUE: nine tasks in the layout that the benchmark's own download script makes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rota.data._examples import Form
from rota.data._files import read_tsv
from rota.data._forms import Classified, Scored
from rota.data._hub import Hub
from rota.data._labels import Labels
from rota.data._named import Files, NamedTask

ENTAILMENT = Labels(("entailment", "not_entailment"))
THREE_WAY = Labels(("entailment", "neutral", "contradiction"), unlabelled=("-", "-1"))
PARAPHRASE = Labels(("different", "same"), aliases=(("0", "different"), ("1", "same")))
FOLLOWS = Labels(("not_entailment", "entailment"), aliases=(("0", "not_entailment"), ("1", "entailment")))

MRPC_COLUMNS = {"Quality": "label", "#1 String": "sentence1", "#2 String": "sentence2"}
PAIR = ("sentence1", "sentence2")


def _task(
    name: str,
    folder: str,
    form: Form,
    files: Mapping[str, Files],
    hub: str | None = None,
    rename: Mapping[str, str] | None = None,
    dev: tuple[str, ...] = ("validation",),
) -> NamedTask:
    return NamedTask(
        name,
        form,
        tuple(f"{root}{folder}" for root in ("glue/", "", "GLUE/", "glue_data/")),
        {split: (own,) for split, own in files.items()},
        Hub("nyu-mll/glue", hub or name, {"train": ("train",), "dev": dev}, rename or {}),
    )


def _tables(**kwargs: Any) -> dict[str, Files]:
    return {split: Files((f"{split}.tsv",), read_tsv(**kwargs)) for split in ("train", "dev")}


GLUE = [
    _task(
        "cola",
        "CoLA",
        Classified(
            ("sentence",),
            Labels(("unacceptable", "acceptable"), (("0", "unacceptable"), ("1", "acceptable"))),
            measured=("matthews",),
        ),
        _tables(columns=("", "label", "", "sentence")),
    ),
    _task(
        "sst2",
        "SST-2",
        Classified(("sentence",), Labels(("negative", "positive"), (("0", "negative"), ("1", "positive")))),
        {**_tables(), "test": Files(("test-labelled.tsv",), read_tsv(columns=("sentence", "label")))},
    ),
    _task(
        "mrpc",
        "MRPC",
        Classified(PAIR, PARAPHRASE, measured=("accuracy", "f1")),
        {
            **_tables(rename=MRPC_COLUMNS),
            "test": Files(("msr_paraphrase_test.txt",), read_tsv(rename=MRPC_COLUMNS)),
        },
    ),
    _task(
        "stsb",
        "STS-B",
        Scored(PAIR, "score", low=0, high=5),
        {
            **_tables(),
            "test": Files(("sts-test-labelled.tsv",), read_tsv(columns=("", "", "", "", "score", *PAIR), ragged=True)),
        },
        rename={"label": "score"},
    ),
    _task(
        "qqp",
        "QQP",
        Classified(("question1", "question2"), PARAPHRASE, "is_duplicate", ("accuracy", "f1")),
        _tables(broken="broken lines"),  # the published file has a few
        rename={"label": "is_duplicate"},
    ),
    _task(
        "mnli",
        "MNLI",
        Classified(PAIR, THREE_WAY, "gold_label", parts=("matched", "mismatched")),
        {
            "train": Files(("train.tsv",), read_tsv()),
            "dev": Files(("dev_matched.tsv", "dev_mismatched.tsv"), read_tsv()),
        },
        rename={"premise": "sentence1", "hypothesis": "sentence2", "label": "gold_label"},
        dev=("validation_matched", "validation_mismatched"),
    ),
    _task("qnli", "QNLI", Classified(("question", "sentence"), ENTAILMENT), _tables()),
    _task("rte", "RTE", Classified(PAIR, ENTAILMENT), _tables()),
    _task("wnli", "WNLI", Classified(PAIR, FOLLOWS), _tables()),
]
