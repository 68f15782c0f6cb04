"""Pretrained encoders: pooling, architectures, saving and loading. The encoders are tiny and random."""

from __future__ import annotations

import copy
import json

import pytest
import torch
import transformers

from rota.errors import RotaError
from rota.models import (
    Head,
    HeadStyle,
    MultiTaskModel,
    Pretrained,
    build_model,
    encoder_for,
    load_model,
    pretrained,
    save_model,
    tokenizer_name,
)
from rota.models.core._features import Features
from rota.tasks import Classification, Pictures, SpanClassification, Tagging, Task, Texts

# The DeBERTa of transformers still uses torch.jit.
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")

SMALL = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24}
FAMILY = {
    "bert": transformers.BertConfig(vocab_size=50, max_position_embeddings=40, **SMALL),
    "roberta": transformers.RobertaConfig(vocab_size=50, max_position_embeddings=40, type_vocab_size=1, **SMALL),
    "electra": transformers.ElectraConfig(vocab_size=50, max_position_embeddings=40, embedding_size=16, **SMALL),
    "deberta": transformers.DebertaV2Config(
        vocab_size=50, max_position_embeddings=40, type_vocab_size=0, relative_attention=True, **SMALL
    ),
    "modernbert": transformers.ModernBertConfig(vocab_size=50, max_position_embeddings=40, pad_token_id=0, **SMALL),
}


def made(name="bert", pooling="mean", **kwargs):
    torch.manual_seed(0)
    return Pretrained(transformers.AutoModel.from_config(FAMILY[name]), pooling, **kwargs).eval()


def inputs(lengths=(7, 4), width=None, second=3):
    width = width or max(lengths)
    tokens = torch.randint(5, 50, (len(lengths), width), generator=torch.Generator().manual_seed(1))
    mask = torch.arange(width) < torch.tensor(lengths)[:, None]
    types = ((torch.arange(width) >= second) & mask).long()
    return {"tokens": torch.where(mask, tokens, 0), "mask": mask, "types": types}


@pytest.mark.parametrize("name", FAMILY)
def test_padding_changes_nothing_whatever_the_architecture(name):
    encoder, batch = made(name), inputs()
    with torch.no_grad():
        found = encoder(batch)
        alone = encoder({key: value[1:, :4] for key, value in batch.items()})
    assert found.rows.shape == (2, 16)
    assert found.tokens.shape == (2, 7, 16)
    torch.testing.assert_close(found.rows[1], alone.rows[0], atol=1e-5, rtol=1e-4)


def test_pooling_is_the_mean_the_first_token_or_the_pooler():
    batch = inputs()
    with torch.no_grad():
        for pooling in ("mean", "first", "pooled"):
            encoder = made(pooling=pooling)
            whole = encoder.transformer(batch["tokens"], batch["mask"].long(), batch["types"])
            expected = {
                "mean": torch.stack([whole.last_hidden_state[k, :n].mean(0) for k, n in enumerate((7, 4))]),
                "first": whole.last_hidden_state[:, 0],
                "pooled": whole.pooler_output,
            }[pooling]
            torch.testing.assert_close(encoder(batch).rows, expected)


def test_types_reach_only_encoders_that_know_them():
    one, other = inputs(second=3), inputs(second=2)
    with torch.no_grad():
        assert not made("bert")(one).rows.allclose(made("bert")(other).rows)
        assert made("roberta")(one).rows.equal(made("roberta")(other).rows)


def test_a_missing_pooler_is_refused_with_a_sentence():
    with pytest.raises(RotaError, match=r"expects an encoder with a pooler\. Found ElectraModel.* Use Plan\(pooling="):
        made("electra", pooling="pooled")


@pytest.fixture
def folder(tmp_path):
    torch.manual_seed(0)
    transformers.AutoModel.from_config(copy.deepcopy(FAMILY["bert"])).half().save_pretrained(tmp_path / "encoder")
    return tmp_path / "encoder"


def test_an_encoder_is_loaded_in_full_precision_without_what_nobody_trains(folder):
    encoder = pretrained(str(folder))
    assert encoder.pooling == "first"
    assert {parameter.dtype for parameter in encoder.parameters()} == {torch.float32}
    assert not any("pooler" in name for name, _ in encoder.named_parameters())
    assert any("pooler" in name for name, _ in pretrained(str(folder), "pooled").named_parameters())


def test_a_sentence_encoder_says_how_it_is_pooled(folder):
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_mean_tokens": True}))
    assert pretrained(str(folder)).pooling == "mean"
    assert pretrained(str(folder), "first").pooling == "first"


def test_dropout_is_that_of_the_encoder_unless_somebody_asks(folder):
    assert pretrained(str(folder)).style.dropout == 0.1
    other = pretrained(str(folder), dropout=0.3)
    rates = {module.p for module in other.modules() if isinstance(module, torch.nn.Dropout)}
    assert rates == {0.3}
    assert other.style.dropout == 0.3


def test_heads_begin_small_with_biases_at_zero_and_may_have_a_hidden_layer(folder):
    kinds = {"rte": Classification(2), "wnut2017": Tagging(5)}
    model = MultiTaskModel(pretrained(str(folder), hidden=256), kinds)
    assert [type(module).__name__ for module in model.heads["rte"].linear] == ["Linear", "ReLU", "Linear"]
    assert model.heads["rte"].linear[0].weight.std().item() == pytest.approx(0.02, rel=0.1)
    assert not model.heads["rte"].linear[2].bias.any()
    assert model.heads["rte"].dropout.p == 0.1


@pytest.mark.parametrize("wrong", ["no/such-encoder", "folder-without-config"])
def test_what_is_no_encoder_is_refused_with_a_sentence(tmp_path, wrong, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    if wrong == "folder-without-config":
        (tmp_path / wrong).mkdir()
        wrong = str(tmp_path / wrong)
    with pytest.raises(RotaError, match=r"Expected (an|the) encoder"):
        pretrained(wrong)


@pytest.mark.parametrize("name", FAMILY)
def test_a_saved_model_answers_as_before(tmp_path, name):
    torch.manual_seed(0)
    model = MultiTaskModel(made(name), {"rte": Classification(2, names=("yes", "no")), "tags": Tagging(3)}).eval()
    save_model(model, tmp_path / "saved")
    again = load_model(tmp_path / "saved")
    assert again.heads["rte"].kind == model.heads["rte"].kind
    for task in ("rte", "tags"):
        with torch.no_grad():
            assert again(task, inputs()).equal(model(task, inputs()))
    assert {path.name for path in (tmp_path / "saved").iterdir()} == {"model.json", "model.safetensors"}


def test_a_damaged_model_is_refused_with_a_sentence(tmp_path):
    with pytest.raises(RotaError, match=r"Expected model\.json and model\.safetensors in"):
        load_model(tmp_path)
    with pytest.raises(RotaError, match="Expected an encoder of this library"):
        build_model({"encoder": {"type": "Other"}, "kinds": {}, "style": {}})


def test_an_exported_encoder_is_one_for_transformers(tmp_path):
    encoder, batch = made(pooling="first"), inputs()
    encoder.export(tmp_path / "encoder")
    again = transformers.AutoModel.from_pretrained(tmp_path / "encoder").eval()
    with torch.no_grad():
        found = again(batch["tokens"], batch["mask"].long(), batch["types"]).last_hidden_state
        torch.testing.assert_close(found, encoder(batch).tokens)


def test_a_head_on_spans_sees_the_row_and_the_mean_of_each_span():
    torch.manual_seed(0)
    head = Head(SpanClassification(2), 4, HeadStyle())
    tokens = torch.randn(2, 6, 4)
    spans = torch.tensor([[[1, 3], [5, 5]], [[0, 0], [2, 4]]])
    seen = torch.stack(
        [
            torch.cat([tokens[0].mean(0), tokens[0, 1:4].mean(0), tokens[0, 5]]),
            torch.cat([tokens[1].mean(0), tokens[1, 0], tokens[1, 2:5].mean(0)]),
        ]
    )
    found = head(Features(tokens.mean(1), tokens, torch.ones(2, 6, dtype=torch.bool)), spans)
    torch.testing.assert_close(found, head.linear(seen))


def test_a_model_must_fit_the_inputs():
    picture, text = (Task(name, Classification(2), {}, inputs) for name, inputs in (("p", Pictures(12)), ("t", TEXTS)))
    for tasks, model in (([picture], "minilm"), ([text], "lenet")):
        with pytest.raises(RotaError, match=r"Expected a model for .* Found '(minilm|lenet)'\. Use auto"):
            encoder_for(tasks, model)
    with pytest.raises(RotaError, match="expect equal inputs"):
        encoder_for([picture, text])


TEXTS = Texts("minilm", 128)


@pytest.mark.parametrize(("model", "name"), [("bilstm-embeddings", "minilm"), ("bilstm:some/encoder", "some/encoder")])
def test_the_tokenizer_is_that_of_the_encoder(model, name):
    assert tokenizer_name(model) == name
