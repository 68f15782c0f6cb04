"""MRQA's six sets of questions, WNUT 2017, SNLI and SciTail."""

from __future__ import annotations

from rota.data._files import read_jsonl, read_tsv
from rota.data._forms import Classified
from rota.data._forms_inside import Answered, Tagged
from rota.data._glue import THREE_WAY
from rota.data._hub import Hub
from rota.data._labels import Labels
from rota.data._layouts import mrqa_from_hub, read_conll, read_mrqa, read_squad, renamed
from rota.data._named import Files, NamedTask

MRQA_SETS = {
    "squad": "SQuAD",
    "newsqa": "NewsQA",
    "triviaqa": "TriviaQA-web",
    "searchqa": "SearchQA",
    "hotpotqa": "HotpotQA",
    "naturalquestions": "NaturalQuestionsShort",
}
SQUAD_FILES = {"train": ("train-v1.1.json", "train-part-v1.1.json"), "dev": ("dev-v1.1.json", "dev-xquad-en.json")}


def _questions(name: str, published: str) -> NamedTask:
    files = {
        split: [Files((f"{split}/{published}.jsonl{end}",), read_mrqa) for end in (".gz", "")]
        for split in ("train", "dev")
    }
    if name == "squad":
        files = {
            split: [*own, *(Files((file,), read_squad) for file in SQUAD_FILES[split])] for split, own in files.items()
        }
    hub = Hub("mrqa-workshop/mrqa", None, only=("subset", published), prepare=mrqa_from_hub)
    return NamedTask(name, Answered(), ("mrqa", "MRQA", name, ""), files, hub)


MRQA = [_questions(name, published) for name, published in MRQA_SETS.items()]

WNUT_TYPES = ("corporation", "creative-work", "group", "location", "person", "product")
WNUT = NamedTask(
    "wnut2017",
    Tagged(("O", *(f"{prefix}-{name}" for name in WNUT_TYPES for prefix in "BI"))),
    ("wnut2017", "wnut17", ""),
    {
        "train": [Files(("wnut17train.conll",), read_conll)],
        "dev": [Files(("emerging.dev.conll",), read_conll)],
        "test": [Files(("emerging.test.annotated",), read_conll)],
    },
    Hub(
        "leondz/wnut_17",
        None,
        {"train": ("train",), "dev": ("validation",), "test": ("test",)},
        {"tokens": "words", "ner_tags": "tags"},
    ),
)

_SNLI_COLUMNS = {"sentence1": "premise", "sentence2": "hypothesis", "gold_label": "label"}
_snli_json = renamed(read_jsonl, _SNLI_COLUMNS)
_snli_numbers = read_tsv(columns=("label", "", "premise", "hypothesis"))
SNLI = NamedTask(
    "snli",
    Classified(
        ("premise", "hypothesis"),
        Labels(
            THREE_WAY.names,
            aliases=(("1", "neutral"), ("2", "contradiction"), ("3", "entailment")),
            unlabelled=THREE_WAY.unlabelled,
        ),
    ),
    ("snli", "snli_1.0"),
    {
        "train": [Files(("snli_1.0_train.jsonl",), _snli_json), Files(("train-18k.tsv",), _snli_numbers)],
        "dev": [Files(("snli_1.0_dev.jsonl",), _snli_json), Files(("dev.jsonl",), read_jsonl)],
        "test": [Files(("snli_1.0_test.jsonl",), _snli_json), Files(("test-2k.tsv",), _snli_numbers)],
    },
    Hub("stanfordnlp/snli", None, {"train": ("train",), "dev": ("validation",), "test": ("test",)}),
)

_scitail_table = read_tsv(columns=("premise", "hypothesis", "label"))
SCITAIL = NamedTask(
    "scitail",
    Classified(
        ("premise", "hypothesis"),
        Labels(("entailment", "not_entailment"), aliases=(("entails", "entailment"), ("neutral", "not_entailment"))),
    ),
    ("scitail", "SciTailV1.1"),
    {
        split: [
            Files((f"tsv_format/scitail_1.0_{split}.tsv",), _scitail_table),
            Files((f"scitail_1.0_{split}.tsv",), _scitail_table),
            Files((f"{split}.jsonl",), read_jsonl),
        ]
        for split in ("train", "dev", "test")
    },
    Hub(
        "allenai/scitail",
        "snli_format",  # its tsv_format was read with quotes and has lost 499 training rows
        {"train": ("train",), "dev": ("validation",), "test": ("test",)},
        _SNLI_COLUMNS,
    ),
)
