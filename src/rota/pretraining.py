"""What pretrained encoders were trained on before, and which tasks that touches.

A score on a task whose rows, or much like them, an encoder has seen is higher than it would be of one that has not: the
table of a paper that used another encoder is then not beaten by the method. This is the one place that knows it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from rota.pretrained import tokenizer_name


@dataclass(frozen=True)
class Pretraining:
    """What an encoder was trained on.

    Args:
        about: The encoder, and its data in a few words.
        seen: Tasks of which rows were among its labelled data, each with the data set that has them.
        near: Tasks that are much like such data, each with what they are like.

    >>> known_pretraining("minilm").seen["mnli"]
    'AllNLI'
    """

    about: str
    seen: Mapping[str, str] = field(default_factory=dict)
    near: Mapping[str, str] = field(default_factory=dict)


_SENTENCES = Pretraining(
    "all-MiniLM-L6-v2 was trained on a billion pairs of texts, among them AllNLI (SNLI and MultiNLI), Quora duplicates "
    "and pairs of questions and passages",
    seen={
        **{"snli": "AllNLI", "mnli": "AllNLI", "qqp": "Quora duplicates", "squad": "SQuAD"},
        **{"triviaqa": "TriviaQA", "searchqa": "SearchQA", "naturalquestions": "Natural Questions"},
    },
    near={
        **dict.fromkeys(("rte", "superglue-rte", "cb", "scitail", "wnli"), "inference, like AllNLI"),
        "mrpc": "paraphrases, like Quora duplicates",
        "stsb": "similarity of sentences, which is what it was trained for",
        **dict.fromkeys(("qnli", "newsqa", "hotpotqa"), "questions with passages, like SQuAD"),
    },
)
_BOOKS = "was trained on books and the English Wikipedia without labels"
KNOWN: Mapping[str, Pretraining] = {
    "minilm": _SENTENCES,
    "all-minilm-l6-v2": _SENTENCES,
    **{
        f"bert-{size}-{case}": Pretraining(f"BERT {size} {_BOOKS}")
        for size in ("base", "large")
        for case in ("cased", "uncased")
    },
    **{
        f"roberta-{size}": Pretraining(
            f"RoBERTa {size} was trained on books, Wikipedia, news and web pages without labels"
        )
        for size in ("base", "large")
    },
}
"""By the last part of an encoder's name, in small letters."""


def known_pretraining(encoder: str) -> Pretraining | None:
    """What is known of an encoder; None where nothing is.

    >>> known_pretraining("sentence-transformers/all-MiniLM-L6-v2") == known_pretraining("minilm")
    True
    >>> known_pretraining("my/encoder") is None
    True
    """
    return KNOWN.get(encoder.rstrip("/").rpartition("/")[2].lower())


def contamination(model: str, tasks: Iterable[str]) -> str | None:
    """Which of the tasks the encoder of a model has met before, in a sentence or two.

    Args:
        model: As in a plan: auto, camtl:ENCODER, an encoder, …
        tasks: By name.

    Returns:
        None where nothing is known about the encoder; and for models that may be no pretrained encoder, such as `auto`
        for pictures, where none of the tasks is touched.

    >>> contamination("minilm", ["cola", "mnli", "rte"]).partition(": ")[2]
    'it has seen rows of mnli (AllNLI); near to what it has seen: rte (inference, like AllNLI).'
    """
    known, tasks = known_pretraining(tokenizer_name(model)), list(tasks)
    if known is None or model.startswith("bilstm-embeddings"):  # which has vectors of its own
        return None
    seen = [f"{task} ({known.seen[task]})" for task in tasks if task in known.seen]
    near = [f"{task} ({known.near[task]})" for task in tasks if task in known.near]
    parts = [f"it has seen rows of {', '.join(seen)}"] if seen else []
    parts += [f"near to what it has seen: {', '.join(near)}"] if near else []
    if not parts and model in ("auto", "lenet"):
        return None
    return f"{known.about}: {'; '.join(parts) or 'none of these tasks is known to be among it'}."
