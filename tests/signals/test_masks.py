"""Dropout with one mask for all rows of a pass: what it makes of joint information, and what it leaves as it is."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F
import transformers
from scipy import stats
from torch import nn

from rota.engine import Passes
from rota.engine._probe import in_passes
from rota.errors import RotaError
from rota.models import MultiTaskModel, PairBiLSTM, Pretrained, SmallConv
from rota.models.core import Embeddings
from rota.signals import SharedMasks, bald, joint_mutual_information, mc_dropout, refuse_without_dropout
from rota.signals._masks import _uniform
from rota.tasks import Classification

KINDS = {"one": Classification(2)}
SIZES = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24, "vocab_size": 50}
MASKED = {"pad_token_id": 0, "attention_dropout": 0.1, "mlp_dropout": 0.1, "embedding_dropout": 0.1}


def made(name):
    torch.manual_seed(0)
    if name == "images":
        return MultiTaskModel(SmallConv(4, width=8, dropout=0.5), KINDS)
    config = (
        transformers.ModernBertConfig(max_position_embeddings=40, **MASKED, **SIZES)
        if name == "modernbert"
        else transformers.BertConfig(max_position_embeddings=40, **SIZES)
    )
    attention = {"bert": "sdpa", "bert, eager": "eager", "modernbert": "sdpa"}[name]
    return MultiTaskModel(
        Pretrained(transformers.AutoModel.from_config(config, attn_implementation=attention), "mean"), KINDS
    )


def given(name, rows=6):
    generator = torch.Generator().manual_seed(1)
    if name == "images":
        return {"image": torch.rand(rows, 1, 4, 4, generator=generator)}
    mask = torch.arange(9) < torch.randint(4, 10, (rows, 1), generator=generator)
    tokens = torch.randint(5, 50, (rows, 9), generator=generator) * mask
    return {"tokens": tokens, "mask": mask, "types": torch.zeros_like(tokens)}


@torch.no_grad()
def answers(model, inputs, count, consistent=True, scope="all", layers=None, at_once=None, seed=3):
    with mc_dropout(model, scope, seed, consistent) as masks:
        return in_passes(model, "one", inputs, Passes(count, layers, at_once, masks))


@pytest.mark.parametrize("name", ["images", "bert", "bert, eager", "modernbert"])
def test_a_pass_says_the_same_of_a_row_whatever_is_beside_it(name):
    model, inputs = made(name), given(name)
    together = answers(model, inputs, 4)
    assert (together.var(0) > 1e-7).all()  # passes differ
    alone = [answers(model, {key: own[k : k + 1] for key, own in inputs.items()}, 4) for k in range(6)]
    torch.testing.assert_close(torch.cat(alone, 1), together, atol=1e-5, rtol=1e-5)
    if name != "images":  # a shorter batch drops the same of what it has
        short = {key: own[:, : int(inputs["mask"][:1].sum())][:1] for key, own in inputs.items()}
        torch.testing.assert_close(answers(model, short, 4), together[:, :1], atol=1e-5, rtol=1e-5)
    for at_once in (1, 3):  # however many passes go through the model at once
        torch.testing.assert_close(answers(model, inputs, 4, at_once=at_once), together, atol=1e-5, rtol=1e-5)
    assert not torch.allclose(answers(model, inputs, 4, seed=4), together, atol=1e-3)


def test_only_the_last_layers_drop_and_copies_of_what_comes_before_have_masks_of_their_own():
    model, inputs = made("bert"), given("bert")
    found = answers(model, inputs, 4, scope=1, layers=1)
    assert (found.var(0) > 1e-7).all()
    torch.testing.assert_close(answers(model, inputs, 4, scope=1, layers=1, at_once=1), found, atol=1e-5, rtol=1e-5)


class Block(nn.Module):
    """A layer as the compiler meets them: with a forward of its own."""

    def __init__(self):
        super().__init__()
        self.inner, self.drop, self.outer = nn.Linear(3, 8), nn.Dropout(0.5), nn.Linear(8, 2)

    def forward(self, x):
        return self.outer(self.drop(self.inner(x)))


def test_compiled_layers_share_masks_and_are_not_compiled_again_for_them():
    torch.manual_seed(0)
    block, rows, compiled = Block(), torch.randn(4, 3), []

    @torch.no_grad()
    def passes():
        with mc_dropout(block, seed=1, consistent=True) as masks:
            for k in range(6):
                masks.passes = [k]
                yield block(rows)

    plain = list(passes())
    block.compile(backend=lambda graph, _: compiled.append(graph) or graph.forward)
    block(rows)
    before = len(compiled)
    assert before > 0
    for found, expected in zip(passes(), plain, strict=True):
        torch.testing.assert_close(found, expected)
    assert len(compiled) == before


def copies_of_one_row(sharpness, consistent, passes=2000):
    """What 2,000 passes say of ten copies of one row."""
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 64), nn.ReLU(), nn.Dropout(0.5), nn.Linear(64, 2, bias=False))
    row = torch.randn(1, 3).expand(10, 3)
    outputs = []
    with torch.no_grad(), mc_dropout(net, seed=0, consistent=consistent) as masks:
        for k in range(passes):
            if masks is not None:
                masks.passes = [k]
            outputs.append(net(row))
    logits = torch.stack(outputs, 1).double()
    return (sharpness * (logits - logits.mean((0, 1)))).softmax(-1)


def test_the_joint_information_of_copies_is_that_of_one_row_where_a_pass_is_sure_of_it():
    """A pass that is sure gives all copies the same label, and the others tell nothing that the first does not."""
    shared, own = (copies_of_one_row(1e6, consistent) for consistent in (True, False))
    assert joint_mutual_information(shared).item() == pytest.approx(bald(shared)[0].item(), abs=1e-9)
    # With masks of their own, ten rows are ten coins: ten times the information.
    assert joint_mutual_information(own).item() > 5 * bald(own).mean().item()


def test_the_joint_information_of_copies_is_that_of_its_definition():
    """By enumeration: the number of ones among ten labels says all that they say."""
    shared, own = (copies_of_one_row(3.0, consistent) for consistent in (True, False))
    p_K = shared[0, :, 1].numpy()
    binomial = stats.binom(10, p_K[:, None]).pmf(np.arange(11))
    joint = stats.entropy(binomial.mean(0)) - stats.entropy(binomial, axis=1).mean()
    assert joint_mutual_information(shared).item() == pytest.approx(joint, rel=1e-6)
    assert joint_mutual_information(own).item() > 1.2 * joint


def test_information_row_by_row_is_the_same_either_way():
    """Ten copies with masks of their own are ten samples of it; one of them is a sample with shared masks."""
    shared, own = (bald(copies_of_one_row(3.0, consistent)) for consistent in (True, False))
    assert shared[0].item() == pytest.approx(own.mean().item(), abs=4 * own.std().item())
    assert own.std() < 0.1 * own.mean()


def test_masks_drop_as_often_as_they_should_and_independently():
    counts = torch.arange(200_000)
    assert stats.kstest(_uniform(counts * 7919).numpy(), "uniform").pvalue > 1e-3
    module = nn.Dropout(0.3)
    masks = SharedMasks([module], seed=5)
    masks.passes = range(40)
    with masks.on():
        found = module(torch.ones(40, 8, 9, 11)) == 0
    assert found.double().mean().item() == pytest.approx(0.3, abs=4 * (0.21 / found.numel()) ** 0.5)
    flat = found.flatten(1).double()
    correlations = torch.corrcoef(flat) - torch.eye(40)
    assert correlations.abs().max() < 5 / flat.shape[1] ** 0.5  # between passes
    assert torch.corrcoef(flat.t()[:60]).fill_diagonal_(0).abs().max() < 0.9  # between places


def test_dropout_of_channels_drops_whole_ones():
    module = nn.Dropout2d(0.5)
    masks = SharedMasks([module], seed=0)
    with masks.on():
        found = module(torch.ones(3, 16, 4, 4))
    assert found.flatten(2).var(-1).max() == 0
    assert set(found.unique().tolist()) == {0.0, 2.0}
    assert found[0].equal(found[2])


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("masked", [None, "bool", "float"])
def test_attention_without_luck_is_that_of_torch(masked, causal):
    if causal and masked:
        return  # torch refuses both
    torch.manual_seed(0)
    q, k, v = (torch.randn(4, heads, 5, 8) for heads in (4, 2, 2))
    mask = torch.rand(4, 1, 5, 5) > 0.3
    mask[..., 0] = True
    own = {None: None, "bool": mask, "float": torch.randn(4, 1, 5, 5)}[masked]
    wanted = F.scaled_dot_product_attention(q, k, v, own, is_causal=causal, enable_gqa=True)
    with SharedMasks([], seed=0).on():
        found = F.scaled_dot_product_attention(q, k, v, own, dropout_p=1e-15, is_causal=causal, enable_gqa=True)
    torch.testing.assert_close(found, wanted)


def test_an_lstm_drops_nothing_between_its_layers_and_what_cannot_share_masks_is_refused():
    encoder = PairBiLSTM(Embeddings(vocabulary=50, width=8), layers=2, width=4, dropout=0.5)
    model, inputs = MultiTaskModel(encoder, KINDS), given("bert")
    found = answers(model, inputs, 5)
    alone = answers(model, {key: own[:1] for key, own in inputs.items()}, 5)
    torch.testing.assert_close(found[:, :1], alone, atol=1e-5, rtol=1e-5)
    assert (found.var(0) > 1e-7).all()
    with pytest.raises(RotaError, match=r"a model with dropout\. Found none in LSTM"):
        refuse_without_dropout(nn.LSTM(3, 4, num_layers=2, dropout=0.5), consistent=True)
    masks = SharedMasks([], seed=0)
    with masks.on(), pytest.raises(RotaError, match=r"dropout that puts zeros\. Found alpha_dropout"):
        nn.AlphaDropout(0.5)(torch.ones(3, 2))
    masks.passes = range(2)
    with masks.on(), pytest.raises(RotaError, match=r"2 copies of them\. Found 3"):
        nn.Dropout(0.5)(torch.ones(3, 2))
