"""What the first layer reads, against the parts of the encoder called one by one."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from rota.errors import RotaError
from rota.models import MultiTaskModel, Parts, Pretrained, SmallConv, camtl, pretrained
from rota.signals import first_inputs
from rota.tasks import Classification, MultipleChoice, TensorRows

TEXTS = [[11, 12], [7, 8, 9, 10], [13]]
TASKS = {"rte": Classification(2), "mnli": Classification(3)}


def rows_of(texts, choices=None):
    tokens = torch.zeros(len(texts), 4, dtype=torch.long)
    for row, text in zip(tokens, texts, strict=True):
        row[: len(text)] = torch.tensor(text)
    inputs = {"tokens": tokens, "types": tokens * 0, "mask": tokens > 0}
    if choices:
        inputs = {name: tensor.unflatten(0, (-1, choices)) for name, tensor in inputs.items()}
    lengths = None if choices else torch.tensor([len(text) for text in texts])
    return TensorRows(inputs, torch.zeros(len(inputs["mask"]), dtype=torch.long), lengths)


def embedded(encoder, texts):
    """Row by row, without any padding."""
    embeddings = encoder.transformer.embeddings
    return torch.stack([embeddings(input_ids=torch.tensor([text]))[0].mean(0) for text in texts])


def conditional(tiny_bert, alignment):
    torch.manual_seed(0)
    model = camtl(pretrained(str(tiny_bert)), TASKS, Parts(alignment=alignment)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return model


@torch.no_grad()
def test_alignment_is_what_stands_between(tiny_bert):
    model = conditional(tiny_bert, "film")
    expected = embedded(model.encoder, TEXTS)
    for task in TASKS:
        found = first_inputs(model, task, rows_of(TEXTS), batch_size=2)
        assert_close(found.before, expected)
        film = model.encoder.alignment.film
        gamma, beta = film(model.encoder.embeddings.vectors[task][None])
        assert_close(found.after, (1 + gamma) * expected + beta, rtol=1e-4, atol=1e-5)


@torch.no_grad()
def test_matrices_of_tasks_are_applied_too(tiny_bert):
    model = conditional(tiny_bert, "per-task")
    found = first_inputs(model, "mnli", rows_of(TEXTS))
    assert_close(found.after, found.before @ model.encoder.alignment.matrices["mnli"])


@torch.no_grad()
def test_without_alignment_there_is_nothing_after_it(tiny_bert):
    model = conditional(tiny_bert, "off")
    assert first_inputs(model, "rte", rows_of(TEXTS)).after is None
    plain = MultiTaskModel(pretrained(str(tiny_bert)), TASKS).eval()
    found = first_inputs(plain, "rte", rows_of(TEXTS))
    assert found.after is None
    assert_close(found.before, embedded(plain.encoder, TEXTS))


@torch.no_grad()
def test_encoders_of_another_build_are_read_as_well():
    from transformers import DistilBertConfig, DistilBertModel

    torch.manual_seed(0)
    sizes = {"dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 32, "vocab_size": 50}
    model = MultiTaskModel(Pretrained(DistilBertModel(DistilBertConfig(**sizes))), TASKS)
    before = first_inputs(model, "rte", rows_of(TEXTS)).before
    assert_close(before, embedded(model.eval().encoder, TEXTS))


@torch.no_grad()
def test_each_choice_is_a_text(tiny_bert):
    texts = [*TEXTS, [14, 15, 16]]
    model = MultiTaskModel(pretrained(str(tiny_bert)), {"copa": MultipleChoice(2)}).eval()
    assert_close(first_inputs(model, "copa", rows_of(texts, choices=2)).before, embedded(model.encoder, texts))


def test_the_model_is_left_as_it_was(tiny_bert):
    model = conditional(tiny_bert, "film").train()
    first = first_inputs(model, "rte", rows_of(TEXTS))
    assert model.training
    assert_close(first, first_inputs(model, "rte", rows_of(TEXTS)))  # without dropout
    assert model("rte", rows_of(TEXTS).batch(np.arange(3)).inputs).shape == (3, 2)  # no hook is left


def test_pictures_have_no_such_inputs():
    model = MultiTaskModel(SmallConv(side=8), TASKS)
    with pytest.raises(RotaError, match=r"Expected a transformer.*Found SmallConv"):
        first_inputs(model, "rte", rows_of(TEXTS))
