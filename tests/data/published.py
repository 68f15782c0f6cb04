"""Published tasks of classes and numbers: their kinds, small files in their own layouts, and the rows in these."""

from __future__ import annotations

from text_tools import jsonl, tsv

from rota.tasks import Classification, Regression

A, B, C, D = "the cat sat", "a cat", "the dog ran", "it ran"
QQP = ["id", "qid1", "qid2", "question1", "question2", "is_duplicate"]
STSB = ["index", "genre", "filename", "year", "old_index", "source1", "source2", "sentence1", "sentence2", "score"]
MNLI = [
    *("index", "promptID", "pairID", "genre", "sentence1_binary_parse", "sentence2_binary_parse", "sentence1_parse"),
    *("sentence2_parse", "sentence1", "sentence2", "label1"),
]
SNLI = {"annotator_labels": ["neutral"], "captionID": "c", "pairID": "p", "sentence1_parse": "(ROOT)"}


def stsb_row(number, one, two, score):
    return [number, "main-captions", "MSRvid", "2012test", "0001", "none", "none", one, two, score]


def mnli_row(number, one, two, label, more=0):
    return [number, "p", "q", "fiction", "( a )", "( b )", "(ROOT)", "(ROOT)", one, two, *["x"] * (1 + more), label]


def mnli(more, *rows):
    extra = [f"label{k + 2}" for k in range(more)]
    return tsv([*MNLI, *extra, "gold_label"], *(mnli_row(k, *row, more=more) for k, row in enumerate(rows)))


def snli_line(one, two, label):
    return {**SNLI, "sentence1": one, "sentence2": two, "gold_label": label}


def glue_pairs(folder, one, two, zero, other):
    return {
        f"glue/{folder}/train.tsv": tsv(["index", one, two, "label"], [0, A, B, zero], [1, C, D, other]),
        f"glue/{folder}/dev.tsv": tsv(["index", one, two, "label"], [0, A, D, other]),
    }


def superglue_pairs(folder, one, two, zero, other):
    rows = [{one: x, two: y, "label": label, "idx": 0} for x, y, label in [(A, B, zero), (C, D, other), (A, D, other)]]
    return {
        f"superglue/{folder}/train.jsonl": jsonl(*rows[:2]),
        f"superglue/{folder}/val.jsonl": jsonl(rows[2]),
    }


# Name: (kind, files, rows of each split as texts and label)
CASES = {
    "cola": (
        Classification(2, ("matthews",), ("unacceptable", "acceptable")),
        {
            "glue/CoLA/train.tsv": tsv(["gj04", 1, "", A], ["gj04", 0, "*", '"cat the']),
            "glue/CoLA/dev.tsv": tsv(["c", 1, "", C]),
        },
        {"train": [(A, "", 1), ('"cat the', "", 0)], "dev": [(C, "", 1)]},
    ),
    "sst2": (
        Classification(2, ("accuracy",), ("negative", "positive")),
        {
            "SST-2/train.tsv": tsv(["sentence", "label"], [f"{A} ", 0], [C, 1]),
            "SST-2/dev.tsv": tsv(["sentence", "label"], [B, 1]),
            "SST-2/test-labelled.tsv": tsv([D, 0]),
        },
        {"train": [(A, "", 0), (C, "", 1)], "dev": [(B, "", 1)], "test": [(D, "", 0)]},
    ),
    "mrpc": (
        Classification(2, ("accuracy", "f1"), ("different", "same")),
        {
            f"GLUE/MRPC/{name}": mark
            + tsv(["Quality", "#1 ID", "#2 ID", "#1 String", "#2 String"], [1, 7, 8, A, B], [0, 7, 8, f'" {C}', D])
            for name, mark in {"train.tsv": "", "dev.tsv": "", "msr_paraphrase_test.txt": "\ufeff"}.items()
        },
        {split: [(A, B, 1), (f'" {C}', D, 0)] for split in ("train", "dev", "test")},
    ),
    "stsb": (
        Regression(),
        {
            "glue_data/STS-B/train.tsv": tsv(STSB, stsb_row(0, A, B, "5.000"), stsb_row(1, C, D, "0.4")),
            "glue_data/STS-B/dev.tsv": tsv(STSB, stsb_row(0, A, D, "0")),
            "glue_data/STS-B/sts-test-labelled.tsv": tsv(
                ["main", "MSRvid", "2012", "24", "2.5", A, B], ["main", "MSRvid", "2012", "24", "3", C, D, "http", "x"]
            ),
        },
        {"train": [(A, B, 5), (C, D, 0.4)], "dev": [(A, D, 0)], "test": [(A, B, 2.5), (C, D, 3)]},
    ),
    "qqp": (
        Classification(2, ("accuracy", "f1"), ("different", "same")),
        {
            "glue/QQP/train.tsv": tsv(
                QQP,
                [1, 2, 3, A, B, 0],
                [4, 5, 6, "cut off"],
                ['"', "cut off as well", 0],
                [7, 8, 9, C, "", 1],
            ),
            "glue/QQP/dev.tsv": tsv(
                ["id", "qid1", "qid2", "question1", "question2", "is_duplicate"], [1, 2, 3, C, D, 1]
            ),
        },
        {"train": [(A, B, 0), (C, "", 1)], "dev": [(C, D, 1)]},
    ),
    "mnli": (
        Classification(3, ("accuracy",), ("entailment", "neutral", "contradiction"), ("matched", "mismatched")),
        {
            "glue/MNLI/train.tsv": mnli(0, (A, B, "entailment"), (C, D, "neutral"), (C, B, "contradiction")),
            "glue/MNLI/dev_matched.tsv": mnli(4, (A, B, "neutral"), (A, D, "-")),
            "glue/MNLI/dev_mismatched.tsv": mnli(4, (A, B, "neutral"), (C, D, "contradiction")),
        },
        {"train": [(A, B, 0), (C, D, 1), (C, B, 2)], "dev": [(A, B, 1), (A, B, 1), (C, D, 2)]},
    ),
    "qnli": (
        Classification(2, ("accuracy",), ("entailment", "not_entailment")),
        glue_pairs("QNLI", "question", "sentence", "entailment", "not_entailment"),
        {"train": [(A, B, 0), (C, D, 1)], "dev": [(A, D, 1)]},
    ),
    "rte": (
        Classification(2, ("accuracy",), ("entailment", "not_entailment")),
        glue_pairs("RTE", "sentence1", "sentence2", "entailment", "not_entailment"),
        {"train": [(A, B, 0), (C, D, 1)], "dev": [(A, D, 1)]},
    ),
    "wnli": (
        Classification(2, ("accuracy",), ("not_entailment", "entailment")),
        glue_pairs("WNLI", "sentence1", "sentence2", "0", "1"),
        {"train": [(A, B, 0), (C, D, 1)], "dev": [(A, D, 1)]},
    ),
    "boolq": (
        Classification(2, ("accuracy",), ("false", "true")),
        superglue_pairs("BoolQ", "question", "passage", False, True),
        {"train": [(A, B, 0), (C, D, 1)], "dev": [(A, D, 1)]},
    ),
    "cb": (
        Classification(3, ("accuracy", "macro_f1"), ("entailment", "contradiction", "neutral")),
        superglue_pairs("CB", "premise", "hypothesis", "entailment", "contradiction"),
        {"train": [(A, B, 0), (C, D, 1)], "dev": [(A, D, 1)]},
    ),
    "superglue-rte": (
        Classification(2, ("accuracy",), ("entailment", "not_entailment")),
        superglue_pairs("RTE", "premise", "hypothesis", "entailment", "not_entailment"),
        {"train": [(A, B, 0), (C, D, 1)], "dev": [(A, D, 1)]},
    ),
    "snli": (
        Classification(3, ("accuracy",), ("entailment", "neutral", "contradiction")),
        {
            "snli_1.0/snli_1.0_train.jsonl": jsonl(snli_line(A, B, "neutral"), snli_line(C, D, "-")),
            "snli_1.0/snli_1.0_dev.jsonl": jsonl(snli_line(C, D, "contradiction")),
            "snli_1.0/snli_1.0_test.jsonl": jsonl(snli_line(C, B, "entailment")),
        },
        {"train": [(A, B, 1)], "dev": [(C, D, 2)], "test": [(C, B, 0)]},
    ),
    "scitail": (
        Classification(2, ("accuracy",), ("entailment", "not_entailment")),
        {
            f"SciTailV1.1/tsv_format/scitail_1.0_{split}.tsv": tsv([A, B, "entails"], [f'"{C}', D, "neutral"])
            for split in ("train", "dev", "test")
        },
        {split: [(A, B, 0), (f'"{C}', D, 1)] for split in ("train", "dev", "test")},
    ),
}
