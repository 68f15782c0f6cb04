"""Parameters of CA-MTL: the figures that the released code has, and those of any encoder or model."""

from __future__ import annotations

import pytest
import torch
import transformers

from rota.errors import RotaError
from rota.models import CAMTL, MultiTaskModel, Parts, Pretrained, SmallConv, camtl
from rota.models.camtl import Amount, Counted, count_parameters, default_counts, released_counts
from rota.tasks import Classification

MILLION = 1e6

# Millions of parameters around BERT, cased, for 9 tasks and rows of 128 tokens.
RELEASED = {
    "base": {
        **{"base": 108.31, "added": 19.74, "growth": 1.18, "trained": 69.78, "meant": 69.95},
        **{"layer norms": 15.36, "bottleneck": 2.17, "alignment": 1.18, "attention": 0.44},
    },
    "large": {
        **{"base": 333.58, "added": 146.74, "growth": 1.44, "trained": 298.55, "meant": 298.94},
        **{"layer norms": 50.38, "bottleneck": 92.36, "alignment": 2.10, "attention": 0.84},
    },
}
MEANT_SHARES = {"base": (64.6, 7.2), "large": (89.6, 10.0)}  # percent of BERT, and of BERT for each task


@pytest.fixture(scope="module", params=RELEASED)
def size(request):
    return request.param


@pytest.fixture(scope="module")
def released(size):
    return released_counts(size)


def test_the_released_code_has_so_many_parameters(size, released):
    found = {
        "base": released.base.parameters / MILLION,
        "added": released.added / MILLION,
        "growth": released.growth,
        "trained": released.trained / MILLION,
        "meant": meant(released) / MILLION,
        **{name: part.parameters / MILLION for name, part in released.parts.items()},
    }
    assert {name: round(found[name], 2) for name in RELEASED[size]} == RELEASED[size]


def meant(counted):
    """What is trained where γ and β of the attention's bias are trained in frozen layers, too."""
    attention = counted.parts["attention"]
    return counted.trained + attention.parameters - attention.trained


def test_what_the_released_code_meant_to_train_as_shares_of_bert(size, released):
    share = 100 * meant(released) / released.base.parameters
    assert (round(share, 1), round(share / 9, 1)) == MEANT_SHARES[size]


@pytest.mark.parametrize(
    ("size", "growth", "trained", "per_task"), [("base", 1.17, 61_676_560, 6.3), ("large", 1.44, 298_944_248, 10.0)]
)
def test_the_defaults_have_so_many_parameters(size, growth, trained, per_task):
    counted = default_counts(size)
    assert counted.trained == trained
    assert (round(counted.growth, 2), round(100 * counted.per_task, 1)) == (growth, per_task)
    assert all(part.parameters == part.trained for part in counted.parts.values())


def test_a_task_more_is_a_vector_more():
    nine, ten = default_counts("base"), default_counts("base", tasks=10)
    assert ten.total - nine.total == 768
    assert ten.per_task == pytest.approx(nine.per_task * 9 / 10, rel=1e-3)


@pytest.mark.parametrize(
    ("size", "tasks", "said"), [("huge", 9, "base or large. Found 'huge'"), ("base", 0, "Found 0")]
)
def test_other_sizes_are_refused_with_a_sentence(size, tasks, said):
    with pytest.raises(RotaError, match=said):
        released_counts(size, tasks)


def bert():
    sizes = {"hidden_size": 24, "num_hidden_layers": 4, "num_attention_heads": 2, "intermediate_size": 32}
    config = transformers.BertConfig(vocab_size=50, max_position_embeddings=20, **sizes)
    return transformers.BertModel(config, add_pooling_layer=False)


def size_of(module):
    return sum(parameter.numel() for parameter in module.parameters())


@pytest.mark.parametrize("frozen", [0, "half"])
@pytest.mark.parametrize("alignment", ["film", "matrix", "per-task", "off"])
@pytest.mark.parametrize("bottleneck", ["top", "stream", "released-top", "off"])
def test_parts_and_the_plain_encoder_make_the_whole(frozen, alignment, bottleneck):
    parts = Parts(longest=8, alignment=alignment, bottleneck=bottleneck)
    encoder = CAMTL(bert(), ["a", "b"], parts=parts, frozen=frozen)
    counted = count_parameters(encoder)
    assert counted.base.parameters == size_of(bert())
    assert counted.total == size_of(encoder)
    assert counted.trained == sum(own.numel() for own in encoder.parameters() if own.requires_grad)
    assert (
        counted.parts["alignment"].parameters == {"film": 1200, "matrix": 1776, "per-task": 1152, "off": 0}[alignment]
    )
    assert counted.tasks == 2


def test_a_plain_encoder_has_no_parts():
    counted = count_parameters(Pretrained(bert(), frozen=2), tasks=4)
    assert (counted.parts, counted.growth, counted.heads) == ({}, 1, Amount(0, 0))
    assert counted.per_task == counted.trained / (4 * size_of(bert()))
    assert count_parameters(SmallConv(12)).trained_share == 1


def test_heads_are_counted_beside_the_encoder():
    kinds = {"a": Classification(2), "b": Classification(3)}
    plain, conditional = MultiTaskModel(Pretrained(bert()), kinds), camtl(Pretrained(bert()), kinds, Parts(longest=8))
    for model in (plain, conditional):
        counted = count_parameters(model)
        assert counted.heads == Amount(5 * 25, 5 * 25)
        assert counted.tasks == 2
        assert counted.total + 125 == size_of(model)


def test_counting_takes_neither_memory_nor_random_numbers():
    torch.manual_seed(0)
    before = torch.get_rng_state()
    released_counts("base")
    assert torch.get_rng_state().equal(before)


def test_counts_are_plain_json():
    counted = Counted(Amount(100, 60), {"attention": Amount(20, 10)}, tasks=5)
    assert counted.describe() == {
        "base": {"parameters": 100, "trained": 60},
        "parts": {"attention": {"parameters": 20, "trained": 10}},
        "heads": {"parameters": 0, "trained": 0},
        **{"tasks": 5, "added": 20, "total": 120, "growth": 1.2, "trained": 70},
        **{"trained_share": 0.7, "per_task": pytest.approx(0.14)},
    }
