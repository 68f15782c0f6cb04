"""Dropout while a model only answers: what is on, what stays as it was, and what is computed once."""

from __future__ import annotations

import pytest
import torch
import transformers
from torch import nn

from rota.engine import Passes
from rota.engine._probe import in_passes
from rota.errors import RotaError
from rota.models import HeadStyle, MultiTaskModel, Pretrained, SmallConv
from rota.signals import ensemble_outputs, mc_dropout, refuse_without_dropout
from rota.signals._dropout import _drops
from rota.tasks import Classification, MultipleChoice, Span, SpanClassification, Tagging

# The DeBERTa of transformers still uses torch.jit.
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")

SIZES = {"hidden_size": 16, "num_hidden_layers": 3, "num_attention_heads": 2, "intermediate_size": 24}
CONFIGS = {
    "bert": transformers.BertConfig(vocab_size=50, max_position_embeddings=40, **SIZES),
    "roberta": transformers.RobertaConfig(vocab_size=50, max_position_embeddings=40, type_vocab_size=1, **SIZES),
    "electra": transformers.ElectraConfig(vocab_size=50, max_position_embeddings=40, embedding_size=16, **SIZES),
    "deberta": transformers.DebertaV2Config(
        vocab_size=50, max_position_embeddings=40, type_vocab_size=0, relative_attention=True, **SIZES
    ),
    "modernbert": transformers.ModernBertConfig(
        vocab_size=50,
        max_position_embeddings=40,
        pad_token_id=0,
        attention_dropout=0.1,
        mlp_dropout=0.1,
        embedding_dropout=0.1,
        classifier_dropout=0.1,
        **SIZES,
    ),
}
KINDS = {
    "one": Classification(3),
    "words": Tagging(4),
    "where": Span(),
    "places": SpanClassification(2),
    "choices": MultipleChoice(2),
}


def made(name="bert"):
    torch.manual_seed(0)
    return MultiTaskModel(Pretrained(transformers.AutoModel.from_config(CONFIGS[name]), "mean"), KINDS)


def inputs(rows=4, choices=None):
    generator = torch.Generator().manual_seed(1)
    shape = (rows, 9) if choices is None else (rows, choices, 9)
    mask = torch.arange(9).expand(shape) < torch.randint(4, 10, (*shape[:-1], 1), generator=generator)
    tokens = torch.randint(5, 50, shape, generator=generator) * mask
    spans = torch.tensor([[[0, 1], [1, 2]]]).expand(rows, -1, -1)
    found = {"tokens": tokens, "mask": mask, "types": torch.zeros_like(tokens)}
    return found if choices else {**found, "spans": spans}


def calls(module):
    """Counts how many rows go through a module."""
    seen = []
    module.register_forward_hook(
        lambda _, args, kwargs, out: seen.append(len([*args, *kwargs.values()][0])), with_kwargs=True
    )
    return seen


@torch.no_grad()
def answers(model, task, given, passes, scope="all", seed=0):
    with mc_dropout(model, scope, seed):
        return in_passes(model, task, given, passes)


@pytest.mark.parametrize("name", CONFIGS)
def test_passes_differ_by_dropout_alone_and_modes_and_generators_come_back(name):
    model = made(name)
    model.heads.train()
    model.encoder.eval()
    model.encoder.transformer.train()
    modes = [module.training for module in model.modules()]
    state = torch.random.get_rng_state()
    found = answers(model, "one", inputs(), Passes(5))
    assert found.shape == (5, 4, 3)
    assert (found.var(0) > 0).all()
    assert [module.training for module in model.modules()] == modes
    assert torch.random.get_rng_state().equal(state)
    assert answers(model, "one", inputs(), Passes(5)).equal(found)
    assert not answers(model, "one", inputs(), Passes(5), seed=1).equal(found)


def test_attention_drops_too():
    """It asks its own mode, not that of its dropout."""
    model = made("bert")
    for module in model.modules():
        if (
            isinstance(module, nn.Dropout)
            and module is not model.encoder.transformer.encoder.layer[0].attention.self.dropout
        ):
            module.p = 0.0
    assert (answers(model, "one", inputs(), Passes(3)).var(0) > 0).all()


@pytest.mark.parametrize("task", KINDS)
@pytest.mark.parametrize("name", CONFIGS)
def test_only_the_last_layers_drop_and_what_comes_before_is_computed_once(name, task):
    model = made(name)
    given = inputs(choices=2) if task == "choices" else inputs()
    body = getattr(model.encoder.transformer, "encoder", model.encoder.transformer)
    layers = getattr(body, "layer", None) or body.layers
    rows = 8 if task == "choices" else 4
    seen = [calls(layer) for layer in layers]
    found = answers(model, task, given, Passes(5, 0), "head")
    assert [own[-1] for own in seen] == [rows] * 3
    later = answers(model, task, given, Passes(5, 2), 2)
    assert [own[-1] for own in seen] == [rows, 5 * rows, 5 * rows]
    real = found[0].abs() < 1e8  # places where an answer cannot be are the same in all passes
    for outputs in (found, later):
        assert (outputs.var(0)[real] > 0).all()
    # Without dropout every copy is the plain answer.
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    model.eval()
    with torch.no_grad():
        plain = model(task, given)
        for layers_on in (0, 1, 3):
            copies = in_passes(model, task, given, Passes(3, layers_on))
            torch.testing.assert_close(copies, plain.expand_as(copies), atol=1e-5, rtol=1e-5)


def test_batch_norms_stay_as_in_an_evaluation():
    class WithNorm(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm, self.drop, self.out = nn.BatchNorm1d(3), nn.Dropout(0.5), nn.Linear(3, 2)

        def forward(self, task, given):
            return self.out(self.drop(self.norm(given["x"])))

    model = WithNorm()
    before = model.norm.running_mean.clone()
    found = answers(model, "any", {"x": torch.randn(6, 3)}, Passes(4))
    assert found.shape == (4, 6, 2)
    assert model.norm.running_mean.equal(before)
    with pytest.raises(RotaError, match="a model that says what"):
        refuse_without_dropout(model, "head")


def test_models_without_dropout_are_refused():
    kinds = {"a": Classification(2)}
    with pytest.raises(RotaError, match=r"a model with dropout\. Found none in MultiTaskModel"):
        refuse_without_dropout(MultiTaskModel(SmallConv(4, 8, dropout=0.0), kinds))
    with pytest.raises(RotaError, match="with dropout in its head"):
        refuse_without_dropout(MultiTaskModel(SmallConv(4, 8), kinds), "head")
    refuse_without_dropout(MultiTaskModel(SmallConv(4, 8), kinds, HeadStyle(dropout=0.1)), "head")
    with pytest.raises(RotaError, match="layers that can be counted"):
        refuse_without_dropout(MultiTaskModel(SmallConv(4, 8), kinds), 2)
    with pytest.raises(RotaError, match=r"1 to 3 of them\. Found 7"):
        refuse_without_dropout(made(), 7)


def test_a_layer_drops_where_its_dropout_is_above_zero():
    """Layers of attention keep a number, or a module of which they read the number."""
    layer = nn.Linear(2, 2)
    assert not _drops(layer)
    for dropout, drops in (
        (0.1, True),
        (0.0, False),
        ("none", False),
        (nn.Dropout(0.1), True),
        (nn.Dropout(0.0), False),
    ):
        layer.dropout = dropout
        assert _drops(layer) == drops
    assert _drops(nn.Dropout(0.1))
    assert not _drops(nn.Dropout(0.0))


def test_an_ensemble_stands_where_passes_would():
    models = [MultiTaskModel(SmallConv(4, 8, dropout=0.0), {"a": Classification(2)}) for _ in range(3)]
    given = {"image": torch.rand(5, 1, 4, 4)}
    found = ensemble_outputs(models, "a", given)
    assert found.shape == (3, 5, 2)
    assert found[1].equal(models[1]("a", given))
    with pytest.raises(RotaError, match="at least one model"):
        ensemble_outputs([], "a", given)
