"""Encoders that are built otherwise than BERT: each is trained, frozen, saved, exported and resumed like any other."""

from __future__ import annotations

import copy

import pytest
import torch
import transformers
from encoder_tools import LAYERS, LONGEST, ZOO, config_of, tokenizer_of, write_encoder, write_texts
from run_tools import assert_same_run

from rota.callbacks import Callback
from rota.data._tokenizer import Tokenizer
from rota.errors import RotaError
from rota.inference import Trained
from rota.models import CAMTL, MultiTaskModel, Pretrained, load_model, save_model
from rota.models.camtl import count_parameters
from rota.models.core import outline
from rota.plans import make_plan
from rota.runlog import RUN
from rota.runs import run_plan
from rota.tasks import Classification

# The DeBERTa of transformers still uses torch.jit.
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")

LIKE_BERT = {"bert", "electra", "roberta", "xlm-roberta", "camembert"}
WITH_POOLER = {*LIKE_BERT, "mpnet", "albert", "mobilebert"} - {"electra"}
SHARED = {"albert"}


class CutShortError(Exception):
    pass


class Interrupt(Callback):
    """Ends a run without warning."""

    def on_step(self, done):
        if done == 15:
            raise CutShortError


@pytest.fixture(scope="module")
def encoders(tmp_path_factory):
    place, known = tmp_path_factory.mktemp("zoo"), {}

    def folder(name):
        if name not in known:
            known[name] = write_encoder(place / name, name)
        return known[name]

    return folder


@pytest.fixture
def texts(tmp_path, monkeypatch):
    monkeypatch.setenv("ROTA_CACHE", str(tmp_path / "cache"))
    return [str(path) for path in write_texts(tmp_path / "data")]


def made(name, **options):
    torch.manual_seed(0)
    transformer = transformers.AutoModel.from_config(config_of(name, len(tokenizer_of(ZOO[name][0]))))
    return Pretrained(transformer, **options).eval()


def batch(lengths=(9, 5), padding=0):
    width = max(lengths)
    tokens = torch.randint(5, 40, (len(lengths), width), generator=torch.Generator().manual_seed(1))
    mask = torch.arange(width) < torch.tensor(lengths)[:, None]
    types = ((torch.arange(width) >= 3) & mask).long()
    return {"tokens": torch.where(mask, tokens, padding), "mask": mask, "types": types}


def of(name, lengths=(9, 5)):
    return batch(lengths, int(config_of(name, 50).pad_token_id or 0))


@pytest.mark.parametrize("name", ZOO)
def test_it_is_trained_resumed_saved_and_exported(name, encoders, texts, tmp_path):
    plan = make_plan(
        {
            **{"tasks": texts, "model": str(encoders(name)), "freeze": 0 if name in SHARED else 1, "longest": 64},
            **{"steps": 20, "eval_every": 20, "checkpoint_every": 10, "threads": 1, "batch_size": 4, "device": "cpu"},
        }
    )
    whole = run_plan(plan, tmp_path / "whole", progress=False)
    with pytest.raises(CutShortError):
        run_plan(plan, tmp_path / "cut", progress=False, callbacks=[Interrupt()])
    assert (tmp_path / "cut" / RUN).is_file()
    run_plan(plan, tmp_path / "cut", resume=True, progress=False)
    assert_same_run(tmp_path / "whole", tmp_path / "cut")

    trained = Trained(whole.folder)
    trained.export(tmp_path / "model")
    model, rows = load_model(tmp_path / "model"), of(name)
    plain = transformers.AutoModel.from_pretrained(tmp_path / "model" / "encoder", **without_pooler(trained)).eval()
    types = {"token_type_ids": rows["types"]} if model.encoder._typed else {}
    with torch.no_grad():
        assert model("pair", rows).equal(trained.model("pair", rows))
        found = plain(input_ids=rows["tokens"], attention_mask=rows["mask"].long(), **types).last_hidden_state
        real = rows["mask"]
        torch.testing.assert_close(found[real], model.encoder(rows).tokens[real], atol=1e-5, rtol=1e-5)


def without_pooler(trained):
    """Where nobody looked at the pooler it is not in the files."""
    has = getattr(trained.model.encoder.transformer, "pooler", "none") is None
    return {"add_pooling_layer": False} if has else {}


@pytest.mark.parametrize("name", sorted({*ZOO} - SHARED))
def test_frozen_layers_stay_as_they_are_and_never_drop_anything(name):
    encoder = made(name, frozen=1)
    layers = encoder.stack.layers
    before = copy.deepcopy(encoder.state_dict())
    encoder.train()
    model = MultiTaskModel(encoder, {"pair": Classification(2)})
    model("pair", of(name)).sum().backward()
    optimizer = torch.optim.SGD([own for own in model.parameters() if own.requires_grad], lr=1.0)
    optimizer.step()
    changed = {key for key, own in encoder.state_dict().items() if not own.equal(before[key])}
    above = {id(own) for own in layers[1].parameters()}
    after = getattr(encoder.transformer, "final_norm", None)
    after = set() if after is None else {id(own) for own in after.parameters()}
    named = dict(encoder.named_parameters())
    assert changed
    assert all(id(named[key]) in above | after for key in changed)
    assert not any(module.training for part in encoder.frozen_parts() for module in part.modules())
    assert layers[1].training


@pytest.mark.parametrize("name", ["modernbert", "mpnet", "deberta-v3", "distilbert", "albert"])
def test_what_it_says_is_what_transformers_says_frozen_or_not(name):
    rows = of(name)
    with torch.no_grad():
        expected = made(name)(rows)
        found = made(name, frozen=LAYERS)(rows)
        alone = made(name)({key: value[1:, :5] for key, value in rows.items()})
    assert found.rows.equal(expected.rows)
    torch.testing.assert_close(expected.rows[1], alone.rows[0], atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("name", sorted(WITH_POOLER))
def test_poolers_of_any_form_are_those_of_transformers(name):
    encoder, rows = made(name, pooling="pooled"), of(name)
    types = {"token_type_ids": rows["types"]} if encoder._typed else {}
    with torch.no_grad():
        whole = encoder.transformer(input_ids=rows["tokens"], attention_mask=rows["mask"].long(), **types)
        assert encoder(rows).rows.equal(whole.pooler_output)


def test_layers_that_share_their_weights_are_frozen_together():
    for frozen in (1, "half"):
        with pytest.raises(RotaError, match=r"expect 0 or 2, all of them, .* Found 1\. Use Plan\(freeze=2\), or leave"):
            made("albert", frozen=frozen)
    encoder = made("albert", frozen=LAYERS)
    assert {name for name, own in encoder.named_parameters() if own.requires_grad} == {
        "transformer.pooler.weight",
        "transformer.pooler.bias",
    }
    with pytest.raises(RotaError, match="layers that can be counted"):
        encoder.last_layers(1)


@pytest.mark.parametrize("name", sorted({*ZOO} - LIKE_BERT))
def test_what_takes_layers_of_bert_apart_refuses_others_by_how_they_are_built(name):
    encoder = made(name)
    assert not encoder.stack.like_bert
    with pytest.raises(RotaError, match=r"CA-MTL expects an encoder that is built like BERT: .*name this one without"):
        CAMTL(encoder.transformer, ["a", "b"])
    with (
        pytest.raises(RotaError, match=r"A guess from an early layer expects .* score with all layers"),
        encoder.early(1),
    ):
        pass


@pytest.mark.parametrize("name", sorted(LIKE_BERT))
def test_lookalikes_that_are_built_like_bert_take_all_parts(name):
    assert made(name).stack.like_bert
    encoder = CAMTL(made(name).transformer, ["a", "b"])
    assert encoder.frozen == 1


@pytest.mark.parametrize("name", ZOO)
def test_a_text_may_be_as_long_as_there_are_positions(name, encoders):
    tokenizer = Tokenizer(str(encoders(name)))
    assert tokenizer.limit == LONGEST
    encoder, longest = made(name), of(name, (LONGEST,))
    assert encoder(longest).tokens.shape == (1, LONGEST, 16)
    if getattr(getattr(encoder.transformer, "embeddings", None), "position_embeddings", None) is not None:
        with pytest.raises((IndexError, RuntimeError)):
            encoder(of(name, (LONGEST + 1,)))


@pytest.mark.parametrize("name", ZOO)
def test_parameters_are_counted_from_the_config_alone(name, encoders, tmp_path):
    folder = encoders(name)
    (tmp_path / "config.json").write_text((folder / "config.json").read_text())
    counted = count_parameters(outline(str(tmp_path)), tasks=2)
    transformer = transformers.AutoModel.from_pretrained(
        folder, **({"add_pooling_layer": False} if name in WITH_POOLER else {})
    )
    assert counted.base.parameters == sum(own.numel() for own in transformer.parameters())
    assert counted.per_task == 0.5


def test_the_dropout_of_heads_is_that_of_the_encoder_whatever_it_is_called():
    assert made("distilbert").style.dropout == 0.1
    config = config_of("distilbert", 50)
    config.dropout = 0.3
    assert Pretrained(transformers.AutoModel.from_config(config)).style.dropout == 0.3


SMALL = {"vocab_size": 50}


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (
            transformers.T5Config(d_model=16, num_layers=1, num_heads=2, d_ff=8, **SMALL),
            "without a decoder. Found T5Model",
        ),
        (
            transformers.ViTConfig(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8),
            "Expected an encoder of texts: .* Found ViTModel. Use",
        ),
        (
            transformers.GPT2Config(n_embd=16, n_layer=1, n_head=2, bos_token_id=1, eos_token_id=1, **SMALL),
            "Pooling 'first' expects an encoder whose first token sees the others. Found GPT2Model, .*pooling='mean'",
        ),
    ],
    ids=["a decoder", "pictures", "one direction"],
)
def test_models_that_read_no_texts_or_cannot_pool_are_refused_with_a_sentence(config, said):
    with torch.device("meta"):
        transformer = transformers.AutoModel.from_config(config)
    with pytest.raises(RotaError, match=said):
        Pretrained(transformer)


def test_a_model_whose_tokens_see_those_before_them_may_be_pooled_by_the_mean():
    config = transformers.GPT2Config(n_embd=16, n_layer=1, n_head=2, bos_token_id=1, eos_token_id=1, **SMALL)
    encoder = Pretrained(transformers.AutoModel.from_config(config), "mean")
    assert encoder(batch()).rows.shape == (2, 16)


def test_a_saved_shared_layer_is_shared_again(tmp_path):
    model = MultiTaskModel(made("albert"), {"pair": Classification(2)}).eval()
    save_model(model, tmp_path)
    again = load_model(tmp_path)
    assert len(again.encoder.stack.layers) == 1
    assert sum(own.numel() for own in again.parameters()) == sum(own.numel() for own in model.parameters())
    with torch.no_grad():
        assert again("pair", batch()).equal(model("pair", batch()))
