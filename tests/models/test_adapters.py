"""Adapters of each task: where they begin, what they compute, how many parameters they have, and that they last."""

from __future__ import annotations

import copy
import math

import pytest
import torch
import transformers
from encoder_tools import ZOO, config_of, tokenizer_of, write_encoder, write_texts
from run_tools import assert_same_run
from torch.testing import assert_close

from rota.callbacks import Callback
from rota.errors import RotaError
from rota.inference import Trained
from rota.models import Adapted, MultiTaskModel, Pretrained, Whose, load_model, make_adapter, save_model
from rota.models.adapters import adapted_counts
from rota.models.camtl import bert_outline, count_parameters
from rota.models.core import outline
from rota.plans import make_plan
from rota.runs import run_plan
from rota.signals import mc_dropout
from rota.tasks import Classification

# The DeBERTa of transformers still uses torch.jit.
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")

TASKS = ("a", "b", "c")
KINDS = {"a": Classification(2), "b": Classification(3), "c": Classification(2)}
ADAPTERS = ("houlsby:size=4", "houlsby:size=4,norms=shared", "pals:size=6,heads=2", "lora:r=2,alpha=4")
SIZES = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24}
BUILDS = ("bert", "electra", "deberta-v2", "modernbert", "distilbert", "mpnet", "albert")


def transformer(name="bert"):
    torch.manual_seed(0)
    return transformers.AutoModel.from_config(config_of(name, len(tokenizer_of(ZOO[name][0]))))


def made(adapter, name="bert", tasks=TASKS, moved=True, **options):
    """An encoder, in which training has moved all parts of tasks away from where they began."""
    if adapter.startswith("lora") and name == "modernbert":
        adapter += ",on=Wqkv+Wo"
    encoder = Adapted(transformer(name), tasks, make_adapter(adapter), **options)
    if moved:
        torch.manual_seed(1)
        with torch.no_grad():
            for own in encoder.tasks.parameters():
                own.add_(torch.randn_like(own) * 0.3)
    return encoder.eval()


def batch(lengths=(9, 5, 7, 9, 4), padding=0):
    width = max(lengths)
    tokens = torch.randint(5, 40, (len(lengths), width), generator=torch.Generator().manual_seed(1))
    mask = torch.arange(width) < torch.tensor(lengths)[:, None]
    types = ((torch.arange(width) >= 3) & mask).long()
    return {"tokens": torch.where(mask, tokens, padding), "mask": mask, "types": types}


def of(name):
    return batch(padding=int(config_of(name, 50).pad_token_id or 0))


MIXED = Whose(TASKS, torch.tensor([2, 0, 1, 0, 2]))


@pytest.mark.parametrize("name", BUILDS)
@pytest.mark.parametrize("adapter", ADAPTERS)
def test_every_task_begins_with_the_plain_encoder_to_the_bit(adapter, name):
    encoder, rows = made(adapter, name, moved=False), of(name)
    with torch.no_grad():
        plain = Pretrained(transformer(name)).eval()(rows)
        assert encoder(rows, Whose(("b",))).tokens.equal(plain.tokens)
        assert encoder(rows, MIXED).tokens.equal(plain.tokens)


@pytest.mark.parametrize("name", BUILDS)
@pytest.mark.parametrize("adapter", ADAPTERS)
def test_rows_of_several_tasks_get_what_they_get_alone(adapter, name):
    encoder, rows = made(adapter, name), of(name)
    with torch.no_grad():
        together = encoder(rows, MIXED)
        for number, task in enumerate(TASKS):
            own = torch.nonzero(MIXED.rows == number)[:, 0]
            alone = encoder({key: value[own] for key, value in rows.items()}, Whose((task,)))
            assert_close(together.rows[own], alone.rows, atol=1e-6, rtol=0)
            real = rows["mask"][own]
            assert_close(together.tokens[own][real], alone.tokens[real], atol=1e-6, rtol=0)
        assert not encoder(rows, Whose(("a",))).rows.allclose(encoder(rows, Whose(("b",))).rows, atol=1e-2)


def test_lora_is_a_change_of_the_matrices():
    encoder, rows, merged = made("lora:r=2,alpha=6,on=query+value+dense"), batch(), transformer()
    modules = dict(merged.encoder.named_modules())
    names = [name for name in modules if name.rpartition(".")[2] in ("query", "value", "dense")]
    assert len(names) == 2 * 5
    with torch.no_grad():
        for name, change in zip(names, encoder.tasks["b"]["low_rank_changes"], strict=True):
            modules[name].weight += 6 / 2 * change.b.weight @ change.a.weight
        assert_close(encoder(rows, Whose(("b",))).tokens, Pretrained(merged).eval()(rows).tokens)


def test_layer_norms_of_a_task_are_layer_norms():
    encoder, rows, folded = made("houlsby:size=4"), batch(), transformer()
    with torch.no_grad():
        for narrow in encoder.tasks["b"]["adapters"]:
            narrow.up.weight.zero_()
            narrow.up.bias.zero_()
        norms = [module for module in folded.modules() if isinstance(module, torch.nn.LayerNorm)]
        for norm, own in zip(norms, encoder.tasks["b"]["layer_norms"], strict=True):
            norm.weight *= own.scale
            norm.bias.copy_(norm.bias * own.scale + own.shift)
        assert_close(encoder(rows, Whose(("b",))).tokens, Pretrained(folded).eval()(rows).tokens)


class Narrowed(torch.nn.Module):
    """Houlsby's adapter as its paper draws it."""

    def __init__(self, own):
        super().__init__()
        self.inside = torch.nn.Sequential(own.down, torch.nn.GELU(), own.up)

    def forward(self, x):
        return self.inside(x) + x


def test_adapters_stand_where_the_halves_of_a_layer_end():
    encoder, rows, other = made("houlsby:size=4,norms=frozen"), batch(), transformer()
    own = encoder.tasks["c"]["adapters"]
    for number, layer in enumerate(other.encoder.layer):
        layer.attention.output.dropout = Narrowed(own[number])
        layer.output.dropout = Narrowed(own[2 + number])
    with torch.no_grad():
        assert_close(encoder(rows, Whose(("c",))).tokens, Pretrained(other).eval()(rows).tokens)


def test_pals_are_attention_beside_the_layer():
    encoder, rows = made("pals:size=6,heads=2"), batch()
    plain, own = transformer().eval(), encoder.tasks["a"]
    with torch.no_grad():
        hidden = plain.embeddings(rows["tokens"], rows["types"])
        hiding = torch.where(rows["mask"], 0.0, -1e30)[:, None, None, :]
        for layer, small in zip(plain.encoder.layer, own["small_attentions"], strict=True):
            x = hidden @ own["projections"].encode.weight.T
            seen = []
            for head in (slice(0, 3), slice(3, 6)):
                q, k, v = (x @ one.weight.T[:, head] for one in (small.query, small.key, small.value))
                scores = q @ k.transpose(1, 2) / math.sqrt(3) + hiding[:, 0]
                seen.append(scores.softmax(-1) @ v)
            beside = torch.cat(seen, -1) @ own["projections"].decode.weight.T
            attended = layer.attention(hidden, hiding)[0]
            hidden = layer.output.LayerNorm(layer.output.dense(layer.intermediate(attended)) + attended + beside)
        real = rows["mask"]
        assert_close(encoder(rows, Whose(("a",))).tokens[real], hidden[real], atol=1e-5, rtol=1e-5)


N, D = 12, 768  # of BERT base
BASE, LARGE = 108_310_272, 333_579_264


@pytest.mark.parametrize(
    ("adapter", "each", "trains"),
    [
        ("houlsby:size=64", 2 * N * (2 * D * 64 + D + 64) + (2 * N + 1) * 2 * D, 0),
        ("houlsby:size=8,norms=shared", 2 * N * (2 * D * 8 + D + 8), (2 * N + 1) * 2 * D),
        ("houlsby:size=8,norms=frozen", 2 * N * (2 * D * 8 + D + 8), 0),
        ("pals", 2 * D * 204 + 3 * N * 204**2, BASE),
        ("lora", N * 2 * 8 * (D + D), 0),
        ("lora:r=4,on=query+key+value", N * 3 * 4 * (D + D), 0),
    ],
)
def test_parameters_are_as_many_as_the_formulas_say(adapter, each, trains):
    counted = adapted_counts(bert_outline("base"), make_adapter(adapter), tasks=8)
    assert counted.base == (BASE, trains)
    assert counted.added == 8 * each
    assert counted.trained == trains + 8 * each
    assert counted.heads.parameters == 0


def test_pals_have_as_many_parameters_as_the_paper_prints():
    assert round(adapted_counts(bert_outline("base"), make_adapter("pals"), tasks=8).growth, 2) == 1.13


def test_adapters_in_minilm_and_in_the_large_model():
    n, d = 6, 384
    counted = adapted_counts(outline("minilm"), make_adapter("houlsby:size=32"), tasks=3)
    assert counted.added == 3 * (2 * n * (2 * d * 32 + d + 32) + (2 * n + 1) * 2 * d)
    n, d = 24, 1024
    for size in (64, 256):
        counted = adapted_counts(bert_outline("large"), make_adapter(f"houlsby:size={size}"), tasks=9)
        each = 2 * n * (2 * d * size + d + size) + (2 * n + 1) * 2 * d
        assert counted.per_task == pytest.approx(each / LARGE)


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_what_the_paper_freezes_stays_as_it_is_and_only_tasks_with_rows_learn(adapter):
    model = MultiTaskModel(made(adapter), KINDS).train()
    before = copy.deepcopy(model.state_dict())
    optimizer = torch.optim.SGD([own for own in model.parameters() if own.requires_grad], lr=0.1)
    model.several(("a", "b"), batch(), torch.tensor([0, 1, 1, 0, 1]))["b"].sum().backward()
    assert all(own.grad is None for own in model.only_for("c"))
    optimizer.step()
    changed = {name for name, own in model.state_dict().items() if not own.equal(before[name])}
    base = {name for name in changed if name.startswith("encoder.transformer")}
    assert any(name.startswith("encoder.tasks.b") for name in changed)
    assert not any(name.startswith("encoder.tasks.c") for name in changed)
    if adapter.startswith("pals"):
        assert len(base) > 30
    elif "shared" in adapter:
        assert base
        assert all("LayerNorm" in name for name in base)
    else:
        assert not base


@pytest.mark.parametrize("adapter", ["houlsby:size=8", "pals:size=6,heads=2", "lora:r=4,on=query+value+dense"])
def test_tasks_learn_different_things_of_the_same_rows(adapter):
    encoder, rows = made(adapter, moved=False, tasks=("a", "b")), batch()
    with torch.no_grad():
        first = encoder(rows, Whose(("a",))).rows
    torch.manual_seed(2)
    wanted = {task: first + torch.randn(16) for task in "ab"}  # one direction for each task
    optimizer = torch.optim.Adam(list(encoder.tasks.parameters()), lr=0.02)
    losses = []
    for _ in range(60):
        loss = sum((encoder(rows, Whose((task,))).rows - wanted[task]).square().mean() for task in "ab")
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0]


@pytest.mark.parametrize("frozen", [0, 1, "half"])
def test_how_much_is_frozen_can_be_asked_for(frozen):
    encoder = made("lora:r=2", frozen=frozen)
    trained = {name for name, own in encoder.named_parameters() if own.requires_grad}
    lowest = {name for name in trained if "embeddings" in name or "encoder.layer.0" in name}
    assert bool(lowest) == (frozen == 0)
    assert any("encoder.layer.1" in name for name in trained)
    assert {name for name, _ in encoder.named_parameters() if name.startswith("tasks.")} <= trained
    assert not encoder.separable
    assert encoder.describe()["frozen"] == (0 if frozen == 0 else 1)


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_a_saved_model_answers_and_is_trained_as_before(adapter, tmp_path):
    model = MultiTaskModel(made(adapter), KINDS).eval()
    save_model(model, tmp_path)
    again = load_model(tmp_path)
    with torch.no_grad():
        for task in TASKS:
            assert again(task, batch()).equal(model(task, batch()))
    assert count_parameters(again) == count_parameters(model)


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_a_copy_has_parts_of_its_own(adapter):
    model = MultiTaskModel(made(adapter), KINDS).eval()
    other = copy.deepcopy(model)
    with torch.no_grad():
        expected = model("a", batch())
        for own in other.encoder.tasks.parameters():
            own.add_(1.0)
        assert model("a", batch()).equal(expected)
        assert not other("a", batch()).allclose(expected, atol=1e-3)


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_copies_of_rows_without_dropout_are_repeats(adapter):
    model, rows = MultiTaskModel(made(adapter), KINDS).eval(), batch()
    with torch.no_grad():
        assert_close(model.copied("b", rows, copies=3, layers=1), model("b", rows).repeat(3, 1))
        features = model.encoder.copied(rows, 3, 1, MIXED)
        assert_close(features.rows, model.encoder(rows, MIXED).rows.repeat(3, 1), atol=1e-6, rtol=1e-5)
        with mc_dropout(model, 1):
            one, two, _ = model.copied("b", rows, copies=3, layers=1).chunk(3)
        assert not one.allclose(two, atol=1e-4)


def test_a_guess_from_an_early_layer_has_the_adapters_of_that_layer():
    encoder, rows = made("houlsby:size=4,norms=frozen"), batch()
    above = [narrow for number, narrow in enumerate(encoder.tasks["a"]["adapters"]) if number % 2]
    with torch.no_grad():
        with encoder.early(1):
            early = encoder(rows, Whose(("a",))).rows
        for narrow in above:
            narrow.up.weight.add_(1.0)
        with encoder.early(1):
            assert encoder(rows, Whose(("a",))).rows.equal(early)
    assert not encoder(rows, Whose(("a",))).rows.allclose(early, atol=1e-2)


def test_a_new_task_begins_as_it_is_told():
    model = MultiTaskModel(made("lora:r=2"), KINDS).eval()
    for task, init in (("d", "a"), ("e", "average"), ("f", "random")):
        model.add_task(task, Classification(2), init)
    with torch.no_grad():
        found = {task: model.encoder(batch(), Whose((task,))).rows for task in "adf"}
        assert found["d"].equal(found["a"])
        assert found["f"].equal(Pretrained(transformer()).eval()(batch()).rows)
    mean = torch.stack([next(model.encoder.tasks[task].parameters()) for task in (*TASKS, "d")]).mean(0)
    assert_close(next(model.encoder.tasks["e"].parameters()), mean)
    with pytest.raises(RotaError, match="Unknown beginning of a new task 'avrage'"):
        model.add_task("g", Classification(2), "avrage")
    with pytest.raises(RotaError, match=r"does not know yet\. Found 'a'"):
        model.encoder.add_task("a", "random")


def test_wrong_adapters_are_refused_with_a_sentence():
    for text, said in (
        ("houlsbi", "Unknown adapter 'houlsbi'. Did you mean 'houlsby'"),
        ("houlsby:64", "The adapter houlsby expects options such as size=64. Found '64'"),
        ("houlsby:size=0,norm=task", "adapter houlsby: 2 wrong fields: 'size' expects .*unknown field 'norm'"),
        ("pals:size=10,heads=3", "a size that heads divide evenly. Found size=10 and heads=3"),
        ("lora:alpha=-1", "adapter lora: 1 wrong field"),
    ):
        with pytest.raises(RotaError, match=said):
            make_adapter(text)
    with pytest.raises(RotaError, match=r"Found on=query for ModernBertModel\. Choose from Wqkv, Wo, Wi"):
        Adapted(transformer("modernbert"), TASKS, make_adapter("lora"))
    for text in ("houlsby", "pals"):
        with pytest.raises(RotaError, match=r"Found MobileBertLayer\. .* Plan\(adapter='lora'\)"):
            Adapted(transformer("mobilebert"), TASKS, make_adapter(text))
    with pytest.raises(RotaError, match="Unknown task 'd'"):
        made("lora")(batch(), Whose(("d",)))
    with pytest.raises(TypeError, match="whose rows"):
        made("lora")(batch())


# Whole runs


class CutShortError(Exception):
    pass


class CutShort(Callback):
    def on_step(self, done):
        if done == 5:
            raise CutShortError


@pytest.fixture
def fields(tmp_path, monkeypatch):
    monkeypatch.setenv("ROTA_CACHE", str(tmp_path / "cache"))
    tasks = [str(path) for path in write_texts(tmp_path / "data")]
    return {
        **{"tasks": tasks, "model": str(write_encoder(tmp_path / "bert", "bert")), "device": "cpu", "threads": 1},
        **{"steps": 8, "eval_every": 4, "checkpoint_every": 4, "batch_size": 4},
    }


@pytest.mark.parametrize(
    ("adapter", "method"),
    [("houlsby:size=4", "mixed"), ("pals:size=6,heads=2", "annealed"), ("lora:r=2", "mt-uncertainty")],
)
def test_a_run_is_resumed_to_the_bit_and_answers(fields, tmp_path, adapter, method):
    plan = make_plan({**fields, "adapter": adapter, "method": method})
    run_plan(plan, tmp_path / "whole", progress=False)
    with pytest.raises(CutShortError):
        run_plan(plan, tmp_path / "cut", progress=False, callbacks=[CutShort()])
    run_plan(plan, tmp_path / "cut", resume=True, progress=False)
    assert_same_run(tmp_path / "whole", tmp_path / "cut")
    trained = Trained(tmp_path / "whole")
    trained.export(tmp_path / "model")
    with torch.no_grad():
        assert load_model(tmp_path / "model")("pair", batch()).equal(trained.model("pair", batch()))


def test_a_run_may_start_from_one_with_adapters(fields, tmp_path):
    first = {**fields, "adapter": "lora:r=2", "only": ["single"]}
    run_plan(make_plan(first), tmp_path / "first", progress=False)
    later = {**fields, "start": str(tmp_path / "first"), "model": "auto", "embedding": "single"}
    run_plan(make_plan(later), tmp_path / "later", progress=False)
    assert list(Trained(tmp_path / "later").model.encoder.tasks) == ["single", "pair"]
    with pytest.raises(RotaError, match=r"Found Plan\(adapter=…\)\. Leave it out"):
        run_plan(make_plan({**later, "adapter": "lora"}), tmp_path / "other", progress=False)


def test_other_models_take_no_adapters(fields, tmp_path):
    for model in (f"camtl:{fields['model']}", f"bilstm:{fields['model']}"):
        plan = make_plan({**fields, "model": model, "adapter": "lora"})
        with pytest.raises(RotaError, match=r"Plan\(adapter=…\) expects a plain pretrained encoder"):
            run_plan(plan, tmp_path / "run", progress=False)
