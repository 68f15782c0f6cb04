"""The task-conditioned transformer of CA-MTL and frozen layers. The encoders are tiny and random."""

from __future__ import annotations

import copy
import functools
import itertools
import math

import pytest
import torch
import torch.nn.functional as F
import transformers
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from rota.errors import RotaError
from rota.models import (
    CAMTL,
    MultiTaskModel,
    Parts,
    Pretrained,
    Whose,
    camtl,
    load_model,
    make_parts,
    parts_for,
    save_model,
)
from rota.models.camtl._attention import BlockBias
from rota.models.camtl._film import FiLM, modulated, of_tokens
from rota.models.camtl._norm import ConditionalNorm
from rota.signals import mc_dropout
from rota.tasks import Classification, Tagging

WIDTH, LONGEST, LAYERS = 48, 16, 4  # three blocks of the attention's bias, of sides 6, 6 and 4
SMALL = {"vocab_size": 100, "hidden_size": WIDTH, "num_hidden_layers": LAYERS, "num_attention_heads": 4}
MORE = {"intermediate_size": 64, "max_position_embeddings": 40, "initializer_range": 0.1}
FAMILY = {
    "bert": transformers.BertConfig(**SMALL, **MORE),
    "roberta": transformers.RobertaConfig(type_vocab_size=1, pad_token_id=1, **SMALL, **MORE),
}
TASKS = ("rte", "cola", "tags")
KINDS = {"rte": Classification(2), "cola": Classification(3), "tags": Tagging(4)}
DEFAULT = Parts(longest=LONGEST)
CONDITIONAL = (".bias.matrix", ".film.", ".bottleneck.", "alignment.", "embeddings.vectors", "embeddings.shared")


@pytest.fixture(scope="module", autouse=True)
def _one_thread():
    """For networks as small as these a second thread only costs."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def part(**fields):
    return make_parts({"longest": LONGEST, **fields})


@functools.cache
def first_transformer(name):
    torch.manual_seed(0)
    return transformers.AutoModel.from_config(FAMILY[name], add_pooling_layer=False).eval()


def transformer(name="bert"):
    return copy.deepcopy(first_transformer(name))


def made(parts=DEFAULT, name="bert", frozen="half", pooling="mean"):
    return CAMTL(transformer(name), TASKS, pooling, parts=parts, frozen=frozen).eval()


def model_of(parts=DEFAULT, frozen="half"):
    """A model whose tasks differ visibly."""
    return shaken(camtl(Pretrained(transformer(), "mean"), KINDS, parts, frozen).eval())


def shaken(module, deviation=0.1):
    """Other weights wherever a task has a say."""
    torch.manual_seed(1)
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            if any(part in f".{name}" for part in CONDITIONAL):
                parameter.add_(deviation * torch.randn_like(parameter))
    return module


def rows(*lengths, name="bert"):
    """Rows with so many tokens, padded to the longest."""
    tokens = torch.randint(5, 100, (len(lengths), max(lengths)), generator=torch.Generator().manual_seed(2))
    mask = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    types = ((torch.arange(max(lengths)) >= 3) & mask).long()
    return {"tokens": torch.where(mask, tokens, FAMILY[name].pad_token_id), "mask": mask, "types": types}


def assert_close(one, other):
    torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-5)


# What a task adds to a pretrained encoder, and what it leaves alone


@pytest.mark.parametrize("name", FAMILY)
@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"entries": "full", "first_bias": "normal"},
        {"blocks": 1, "alignment": "matrix", "norm": "full"},
        {"alignment": "per-task", "bottleneck": "stream"},
        {"bottleneck": "stream", "norm": "full", "relu": True, "attention": "trainable"},
        {"attention": False, "alignment": False, "norm": False, "bottleneck": False},
    ],
    ids=str,
)
def test_with_zero_modulation_it_is_the_plain_encoder(name, fields):
    plain, encoder = Pretrained(transformer(name), "mean"), made(part(**fields), name)
    with torch.no_grad():
        for path, parameter in encoder.named_parameters():
            if any(part in path for part in ("film", "bias.matrix", "bottleneck")):
                parameter.zero_()
        for lengths in ((5, 5, 5), (5, 3, 1), (16, 16, 9), (23, 17, 16)):  # below, at and beyond the longest
            batch = rows(*lengths, name=name)
            expected = plain(batch)
            for whose in (Whose(("cola",)), Whose(TASKS, torch.tensor([0, 2, 1]))):
                found = encoder(batch, whose)
                assert_close(found.rows, expected.rows)
                assert_close(found.tokens[batch["mask"]], expected.tokens[batch["mask"]])


@pytest.mark.parametrize("form", ["top", "stream", "released-top", "released-stream"])
@pytest.mark.parametrize("norm", ["code", "full"])
def test_it_is_what_the_formulas_say(form, norm):
    encoder, batch = shaken(made(part(bottleneck=form, norm=norm))).double(), rows(19, 11)
    with torch.no_grad():
        for task in TASKS:
            found = encoder(batch, Whose((task,))).tokens[batch["mask"]]
            assert_close(found, literal(encoder, batch, task)[batch["mask"]])


def test_the_released_top_layer_is_new_and_the_others_are_not():
    plain, released = transformer(), made(Parts.released(LAYERS))
    layers = zip(plain.encoder.layer, released.stack.layers, strict=True)
    same = [old.output.dense.weight.equal(new.base.output.dense.weight) for old, new in layers]
    assert same == [True, True, True, False]
    assert (released.parts.bottleneck, Parts.released(24).bottleneck) == ("released-top", "released-stream")


def test_the_word_released_stands_for_the_parts_of_any_depth():
    assert parts_for("released", LONGEST)(LAYERS) == Parts.released(LAYERS, LONGEST)
    assert parts_for("released")(24).bottleneck == "released-stream"
    assert parts_for({"norm": "off"}, LONGEST)(24) == part(norm="off")
    with pytest.raises(RotaError, match="fields such as norm=off, or the word released"):
        parts_for("relaesed")


def literal(encoder, batch, task):
    """Every formula of the method once, in the order in which a row meets them."""
    z = encoder.embeddings.vectors[task]
    seen, own = encoder.embeddings.shared(z), encoder.transformer
    stream, (count, length) = 0, batch["mask"].shape

    def film(module, x, vector):
        gamma, beta = module.linear(vector).chunk(2)
        return (1 + gamma) * x + beta

    def norm(x, plain, module):
        x = (x - x.mean(-1, keepdim=True)) / (x.var(-1, unbiased=False, keepdim=True) + plain.eps).sqrt()
        if module is None:
            return x * plain.weight + plain.bias
        gamma, beta = module.film.linear(seen).chunk(2)
        if module.form == "code":
            return x * ((1 + gamma) * plain.weight + beta) + plain.bias
        return x * (1 + gamma) * plain.weight + plain.bias + beta

    def narrow(module, x):
        return module.up(module.down(film(module.film, x, module.task(seen))))

    hidden = film(encoder.alignment.film, own.embeddings(batch["tokens"], batch["types"]), z)
    for layer in own.encoder.layer:
        base, attention = layer.base, layer.base.attention
        names = (attention.self.query, attention.self.key, attention.self.value)
        q, k, v = (linear(hidden).view(count, length, 4, -1).transpose(1, 2) for linear in names)
        scores = q @ k.mT / math.sqrt(WIDTH / 4) + literal_bias(layer.bias, seen, length)
        weights = scores.masked_fill(~batch["mask"][:, None, None], -math.inf).softmax(-1)
        mixed = attention.output.dense((weights @ v).transpose(1, 2).flatten(2))
        attended = norm(mixed + hidden, attention.output.LayerNorm, layer.attention_norm)
        fed = base.output.dense(F.gelu(base.intermediate.dense(attended)))
        if layer.bottleneck is not None and layer.form == "top":
            fed = fed + narrow(layer.bottleneck, fed)
        hidden = norm(fed + attended, base.output.LayerNorm, layer.output_norm)
        if layer.bottleneck is not None and layer.form == "released-top":
            hidden = norm(narrow(layer.bottleneck, hidden) + attended, base.output.LayerNorm, layer.last_norm)
        if "stream" in layer.form:
            stream = narrow(layer.bottleneck, hidden + stream)
    return stream if layer.form == "released-stream" else hidden + stream


def literal_bias(bias, z, length):
    """A block-diagonal matrix, entry by entry."""
    longest, side = bias.matrix.shape
    gamma, beta = (values.view(-1, side).expand(side, side) for values in bias.film.linear(z).chunk(2))
    found = bias.matrix.new_zeros(length, length)
    for i, j in itertools.product(range(min(length, longest)), repeat=2):
        if i // side == j // side:
            a, b = i % side, j % side
            found[i, j] = (1 + gamma[a, b]) * bias.matrix[i, b] + beta[a, b]
    return found


# M(z)


@pytest.mark.parametrize("entries", ["column", "full"])
@pytest.mark.parametrize("length", [3, 13, 16, 21])
def test_the_bias_is_block_diagonal_as_a_loop_finds_it(entries, length):
    bias, z_T = shaken(BlockBias(8, LONGEST, 3, entries, "normal"), 1), torch.randn(2, 8)
    nn.init.normal_(bias.matrix)
    with torch.no_grad():
        assert_close(bias(z_T, length), torch.stack([literal_bias(bias, z, length) for z in z_T]))


@pytest.mark.parametrize(
    ("width", "sides"), [(768, [22, 22, 22, 22, 22, 18]), (1024, [16] * 8)], ids=["BERT base", "BERT large"]
)
def test_the_blocks_have_the_sides_of_the_released_code(width, sides):
    bias = BlockBias(width, 128, Parts().blocks_for(width))
    assert (bias.blocks, bias.side) == (len(sides), sides[0])
    nn.init.ones_(bias.matrix)
    nn.init.zeros_(bias.film.linear.weight)
    with torch.no_grad():
        assert bias(torch.randn(1, width), 128)[0].equal(torch.block_diag(*(torch.ones(side, side) for side in sides)))


@given(st.integers(1, 24), st.integers(1, 26), st.integers(1, 40))
def test_the_bias_is_zero_outside_its_blocks_whatever_the_sizes(longest, blocks, length):
    bias, z_T = BlockBias(2, longest, blocks), torch.ones(2, 2)
    nn.init.ones_(bias.film.linear.bias)  # nothing inside is zero
    nn.init.zeros_(bias.film.linear.weight)
    with torch.no_grad():
        found, whole = bias(z_T, length), bias(z_T, longest)
    place = torch.arange(length)
    inside = (place[:, None] // bias.side == place // bias.side) & (torch.maximum(place[:, None], place) < longest)
    assert found.shape == (2, length, length)
    assert found.equal(inside.float().expand(2, -1, -1))
    shared = min(length, longest)
    assert found[:, :shared, :shared].equal(whole[:, :shared, :shared])


def test_the_bias_begins_at_zero():
    bias = BlockBias(WIDTH, LONGEST, 3)
    assert not bias.matrix.any()
    assert not bias(torch.zeros(1, WIDTH), LONGEST).any()


# Modulation of features


def test_modulation_with_zero_weights_changes_nothing():
    x, z_T, choice = torch.randn(3, 5, 6), torch.randn(2, 4), torch.tensor([0, 1, 1])
    film, norm = FiLM(4, 6), nn.LayerNorm(6)
    nn.init.normal_(norm.weight)
    nn.init.normal_(norm.bias)
    nn.init.zeros_(film.linear.weight)
    assert modulated(x, of_tokens(film(z_T), choice)).equal(x)
    for form in ("code", "full"):
        conditional = ConditionalNorm(4, 6, form)
        nn.init.zeros_(conditional.film.linear.weight)
        assert_close(conditional(x, norm, z_T, choice), norm(x))
        assert_close(conditional(x, norm, z_T[:1], None), norm(x))


@pytest.mark.parametrize("form", ["top", "stream"])
@pytest.mark.parametrize("alignment", ["film", "matrix", "per-task"])
@pytest.mark.parametrize("norm", ["code", "full"])
def test_rows_of_one_task_are_rows_that_all_belong_to_it(form, alignment, norm):
    encoder, batch = shaken(made(part(bottleneck=form, alignment=alignment, norm=norm))), rows(18, 7)
    with torch.no_grad():
        alone = encoder(batch, Whose(("cola",)))
        assert_close(encoder(batch, Whose(("cola",), torch.zeros(2, dtype=torch.long))).rows, alone.rows)
        assert not encoder(batch, Whose(("rte",))).rows.allclose(alone.rows, atol=1e-2)


def test_alignment_by_a_matrix_scales_its_columns():
    alignment = shaken(made(part(alignment="matrix"))).alignment
    E, z = torch.randn(2, 5, WIDTH), torch.randn(WIDTH)
    gamma, beta = alignment.film.linear(z).chunk(2)
    expected = E @ (alignment.matrix * (1 + gamma)) + beta
    torch.testing.assert_close(alignment(E, z[None], ("rte",), None), expected, atol=1e-4, rtol=1e-4)


# Several tasks


@pytest.mark.parametrize("alignment", ["film", "matrix", "per-task"])
@pytest.mark.parametrize("form", ["top", "stream", "released-top", "released-stream"])
def test_in_a_mixed_batch_each_row_is_answered_as_among_its_own(form, alignment):
    model, batch = model_of(part(bottleneck=form, alignment=alignment)), rows(18, 7, 16, 3, 9)
    owners = torch.tensor([0, 2, 1, 0, 2])
    with torch.no_grad():
        together = model.several(TASKS, batch, owners)
        for number, task in enumerate(TASKS):
            own = owners == number
            alone = model(task, {name: values[own] for name, values in batch.items()})
            assert_close(together[task][own], alone)


def test_a_task_without_rows_has_no_gradient():
    model = model_of(part(alignment="per-task"))
    model("cola", rows(9, 4)).sum().backward()
    for task in TASKS:
        vector, matrix = model.encoder.only_for(task)
        assert (vector.grad is None, matrix.grad is None) == (task != "cola", task != "cola")


def test_an_encoder_is_told_whose_rows_it_reads():
    encoder = made()
    with pytest.raises(TypeError, match="whose rows"):
        encoder(rows(4))
    with pytest.raises(RotaError, match=r"Unknown task 'rtee'\. Did you mean 'rte'"):
        encoder(rows(4), Whose(("rtee",)))


@pytest.mark.parametrize("alignment", ["film", "per-task"])
def test_a_new_task_changes_no_other_and_is_saved_with_them(tmp_path, alignment):
    model, batch = model_of(part(alignment=alignment, bottleneck="stream", freeze_bias=True)), rows(18, 7)
    with torch.no_grad():
        before = {task: model(task, batch) for task in TASKS}
        model.add_task("mnli", Classification(3), "cola")
        save_model(model, tmp_path)
        again = load_model(tmp_path)
        for task in (*TASKS, "mnli"):
            assert again(task, batch).equal(before.get(task, model("mnli", batch)))
    assert again.encoder.parts == model.encoder.parts
    assert trained(again) == trained(model)


def trained(model):
    return {name for name, parameter in model.named_parameters() if parameter.requires_grad}


def test_the_vector_of_a_new_task_begins_as_one_asks():
    model = model_of()
    vectors = model.encoder.embeddings.vectors
    for name in ("cola", "average", "random", "xavier"):
        model.add_task(f"like {name}", Classification(2), name)
    known = torch.stack([vectors[task] for task in TASKS])
    assert vectors["like cola"].equal(vectors["cola"])
    assert vectors["like cola"] is not vectors["cola"]
    expected = torch.stack([*known, vectors["like cola"]]).mean(0)
    assert_close(vectors["like average"], expected)
    for name, deviation in (("random", 0.02), ("xavier", math.sqrt(2 / (1 + WIDTH)))):
        drawn = torch.stack([model.encoder.embeddings.beginning(name) for _ in range(100)])
        assert drawn.std().item() == pytest.approx(deviation, rel=0.05)
    assert all(vectors[f"like {name}"].requires_grad for name in ("cola", "average", "random", "xavier"))


def test_a_wrong_beginning_and_a_known_task_are_refused_with_a_sentence():
    model = model_of()
    choices = ", ".join([*KINDS, "average", "random", "xavier"])
    with pytest.raises(RotaError, match=f"Found 'coal'. Choose one of {choices}."):
        model.add_task("mnli", Classification(3), "coal")
    assert "mnli" not in model.heads
    for known in (lambda: model.add_task("rte", Classification(2)), lambda: model.encoder.add_task("rte", "average")):
        with pytest.raises(RotaError, match=r"Expected a task that .* does not know yet\. Found 'rte'"):
            known()


@pytest.mark.parametrize("name", ["a.b", "keys", "get"])
def test_names_that_torch_cannot_hold_are_refused_with_a_sentence(name):
    with pytest.raises(RotaError, match=f"Found '{name}'"):
        camtl(Pretrained(transformer()), {name: Classification(2)}, DEFAULT)


# Freezing


def train(model, steps=3):
    """A few steps in which all tasks have rows; returns the parameters as they were before."""
    before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    model.train()
    for _ in range(steps):
        optimizer.zero_grad()
        sum(model(task, rows(18, 7)).square().mean() for task in KINDS).backward()
        optimizer.step()
    return before


@pytest.mark.parametrize("form", ["top", "stream"])
@pytest.mark.parametrize("alignment", ["film", "matrix", "per-task"])
def test_what_is_frozen_stays_and_every_conditional_parameter_is_trained(form, alignment):
    model = camtl(Pretrained(transformer(), "mean"), KINDS, part(bottleneck=form, alignment=alignment))
    before = train(model)
    bottom = tuple(
        f"encoder.transformer.{p}" for p in ("embeddings.", "encoder.layer.0.base.", "encoder.layer.1.base.")
    )
    for name, parameter in model.named_parameters():
        if name.startswith(bottom):
            assert parameter.equal(before[name]), name
            assert parameter.grad is None, name
        elif not name.endswith("attention.self.key.bias"):  # softmax does not see it
            assert parameter.grad is not None, name
            assert not parameter.equal(before[name]), name


def test_the_released_code_leaves_the_modulation_of_frozen_attention_alone():
    model = camtl(Pretrained(transformer(), "mean"), KINDS, part(freeze_bias=True), frozen=3)
    before = train(model)
    for number, layer in enumerate(model.encoder.stack.layers):
        path = f"encoder.transformer.encoder.layer.{number}.bias."
        assert not layer.bias.matrix.equal(before[f"{path}matrix"])
        assert layer.bias.film.linear.weight.equal(before[f"{path}film.linear.weight"]) == (number < 3)


def test_freezing_again_leaves_the_modulation_of_frozen_attention_alone_too():
    encoder = made(part(freeze_bias=True))
    encoder.freeze(3)
    trains = [layer.bias.film.linear.weight.requires_grad for layer in encoder.stack.layers]
    assert trains == [False, False, False, True]


@pytest.mark.parametrize("make", [made, lambda frozen="half": Pretrained(transformer(), frozen=frozen)])
def test_frozen_layers_never_drop_anything_and_can_be_trained_again(make):
    encoder = make(frozen=3)
    encoder.train()
    assert not any(module.training for part in encoder.frozen_layers for module in part.modules())
    assert not any(module.training for module in encoder.transformer.embeddings.modules())
    assert encoder.stack.layers[3].training
    encoder.freeze(0)
    encoder.train()
    assert all(module.training for module in encoder.modules())
    assert all(parameter.requires_grad for parameter in encoder.parameters())


@pytest.mark.parametrize("frozen", [5, -1])
def test_freezing_more_than_there_is_is_refused(frozen):
    with pytest.raises(RotaError, match=rf"expect 0 to 4 of them, or half\. Found {frozen}"):
        Pretrained(transformer(), frozen=frozen)


@pytest.mark.parametrize("name", FAMILY)
@pytest.mark.parametrize("pooling", ["mean", "first"])
@pytest.mark.parametrize("frozen", [1, "half", 4])
def test_a_frozen_encoder_says_what_the_plain_one_says(name, pooling, frozen):
    plain, encoder = (Pretrained(transformer(name), pooling, frozen=count).eval() for count in (0, frozen))
    batch = rows(18, 7, name=name)
    with torch.no_grad():
        expected, found = plain(batch), encoder(batch)
        assert_close(found.rows, expected.rows)
        assert_close(found.tokens[batch["mask"]], expected.tokens[batch["mask"]])
        known = encoder({"hidden": encoder.lower(batch), "mask": batch["mask"]})
        assert known.rows.equal(found.rows)
    assert (plain.separable, encoder.separable) == (False, True)


SEPARABLE = part(attention="trainable", alignment="off", bottleneck="top")


@pytest.mark.parametrize(
    ("parts", "separable"),
    [
        (DEFAULT, False),
        (SEPARABLE, True),
        (part(attention="trainable", alignment="off", bottleneck="stream"), False),
        (part(attention="trainable"), False),
        (part(alignment="off"), False),
    ],
    ids=["all", "none below", "stream", "alignment", "attention"],
)
def test_what_frozen_layers_say_is_fixed_where_no_task_has_a_say_in_them(parts, separable):
    assert made(parts).separable == separable
    assert not made(parts, frozen=0).separable


def test_what_frozen_layers_said_need_not_be_said_again():
    encoder, batch, whose = shaken(made(SEPARABLE)), rows(18, 7), Whose(TASKS, torch.tensor([2, 1]))
    with torch.no_grad():
        known = {"hidden": encoder.lower(batch), "mask": batch["mask"]}
        assert_close(encoder(known, whose).rows, encoder(batch, whose).rows)


@pytest.mark.parametrize("parts", [None, SEPARABLE, part(bottleneck="stream")], ids=["plain", "top", "stream"])
def test_heads_can_look_at_an_early_layer(parts):
    encoder = Pretrained(transformer(), frozen=1).eval() if parts is None else shaken(made(parts, frozen=1))
    whose, batch = () if parts is None else (Whose(("rte",)),), rows(18, 7)
    with torch.no_grad():
        last = encoder(batch, *whose).rows
        with encoder.early(LAYERS):
            assert encoder(batch, *whose).rows.equal(last)
        with encoder.early(2):
            early = encoder(batch, *whose).rows
        with pytest.raises(RuntimeError), encoder.early(2):
            raise RuntimeError
        assert encoder(batch, *whose).rows.equal(last)
    assert not early.allclose(last, atol=1e-2)
    with pytest.raises(RotaError, match=r"from 1 to 4\. Found 5"), encoder.early(5):
        pass


def test_an_early_layer_is_what_the_encoder_says_of_it():
    encoder, batch = Pretrained(transformer(), "first", frozen=1).eval(), rows(9, 9)
    with torch.no_grad(), encoder.early(2):
        states = encoder.transformer(batch["tokens"], batch["mask"].long(), batch["types"], output_hidden_states=True)
        assert_close(encoder(batch).tokens, states.hidden_states[2])


# Everything else


def test_an_encoder_of_another_build_is_refused_with_a_sentence():
    config = transformers.DistilBertConfig(vocab_size=100, dim=WIDTH, n_layers=2, n_heads=4, hidden_dim=64)
    other = transformers.DistilBertModel(config)
    for frozen in ("half", 0):
        with pytest.raises(
            RotaError, match=r"expects an encoder that is built like BERT.* Found DistilBertModel\. Use"
        ):
            CAMTL(other, TASKS, frozen=frozen)


@pytest.mark.parametrize("form", ["top", "stream", "released-top", "released-stream"])
@pytest.mark.parametrize("norm", ["code", "full"])
@pytest.mark.parametrize("lengths", [(18, 7), (9,)], ids=["two rows", "one row"])
@pytest.mark.parametrize("layers", [1, 3])
def test_copies_without_dropout_are_repeats(form, norm, lengths, layers):
    model, batch = model_of(part(bottleneck=form, norm=norm)), rows(*lengths)
    with torch.no_grad():
        assert_close(model.copied("cola", batch, copies=3, layers=layers), model("cola", batch).repeat(3, 1))


def test_copies_with_dropout_differ():
    model, batch = model_of(), rows(18, 7)
    with torch.no_grad(), mc_dropout(model, 1):
        one, two, three = model.copied("cola", batch, copies=3, layers=1).chunk(3)
    assert not one.allclose(two, atol=1e-4)
    assert not two.allclose(three, atol=1e-4)


@pytest.mark.parametrize("scope", ["all", LAYERS])
def test_the_dropout_of_frozen_layers_does_not_act_in_uncertainty_either(scope):
    model, batch = MultiTaskModel(Pretrained(transformer(), frozen="half"), KINDS).eval(), rows(18, 7)
    expected = model.encoder.lower(batch)
    with mc_dropout(model, scope):
        assert model.encoder.lower(batch).equal(expected)


def test_wrong_parts_are_refused_all_at_once():
    with pytest.raises(RotaError, match=r"Parts of CA-MTL: 2 wrong fields: 'norm' expects .*; unknown field 'blokcs'"):
        make_parts({"norm": "other", "blokcs": 2})
    assert make_parts({"attention": False, "relu": False}) == Parts(attention="off")


def test_a_plain_encoder_takes_no_notice_of_tasks():
    model, batch = MultiTaskModel(Pretrained(transformer(), "mean"), KINDS).eval(), rows(9, 4)
    model.add_task("mnli", Classification(3))
    with torch.no_grad():
        assert_close(model.several(("rte", "mnli"), batch, torch.tensor([0, 1]))["rte"], model("rte", batch))
