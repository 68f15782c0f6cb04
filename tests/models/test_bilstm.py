"""The pair encoder of AutoSeM: what it computes, what never leaks, what stays frozen."""

from __future__ import annotations

import pytest
import torch

from rota.models import Embeddings, FrozenLayers, MultiTaskModel, PairBiLSTM, load_model, save_model
from rota.models.core._vectors import Vectors
from rota.tasks import Classification, Tagging, Task

CLS, SEP, HIDDEN = 1, 2, 5
PAIRS = [([7, 8, 9], [5]), ([6], [4, 3, 9, 8, 7]), ([5, 5], []), ([9, 3, 4, 6], [9, 3])]
SINGLES = [([7, 8, 9], None), ([6], None), ([3, 4, 5, 6, 7], None)]


def packed(pairs, length=None, filler=0):
    """Rows `[CLS] a [SEP] b [SEP]`, padded to `length` with `filler` tokens."""
    rows = [[CLS, *a, SEP] + ([] if b is None else [*b, SEP]) for a, b in pairs]
    length = length or max(map(len, rows))
    tokens = torch.full((len(rows), length), filler)
    types = torch.zeros(len(rows), length, dtype=torch.int64)
    mask = torch.zeros(len(rows), length, dtype=torch.bool)
    for k, (row, (a, _)) in enumerate(zip(rows, pairs, strict=True)):
        tokens[k, : len(row)] = torch.tensor(row)
        types[k, len(a) + 2 : len(row)] = 1
        mask[k, : len(row)] = True
    return {"tokens": tokens, "mask": mask, "types": types}


def bert():
    transformers = pytest.importorskip("transformers", reason="a frozen encoder needs transformers")
    torch.manual_seed(1)
    config = transformers.BertConfig(
        vocab_size=12,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=24,
    )
    return transformers.BertModel(config, add_pooling_layer=False)


def make(source, **options):
    torch.manual_seed(0)
    vectors = Embeddings(12, 6) if source == "embeddings" else FrozenLayers(bert())
    torch.manual_seed(2)
    return PairBiLSTM(vectors, width=HIDDEN, **options).eval()


SOURCES = pytest.mark.parametrize("source", ["embeddings", "frozen"])


def direction(x, lstm, suffix):
    """One direction of one layer by the equations of an LSTM."""
    w, r, b, c = (getattr(lstm, f"{name}_{suffix}") for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"))
    hidden, cell = torch.zeros(HIDDEN), torch.zeros(HIDDEN)
    states = []
    for vector in x:
        i, f, g, o = (w @ vector + b + r @ hidden + c).split(HIDDEN)
        cell = f.sigmoid() * cell + i.sigmoid() * g.tanh()
        hidden = o.sigmoid() * cell.tanh()
        states.append(hidden)
    return torch.stack(states)


def states_by_hand(model, sentence):
    """States of one sentence that is not padded, one after the other."""
    tokens = torch.tensor([sentence])
    x = model.vectors(tokens, torch.ones_like(tokens, dtype=torch.bool))[0]
    for layer in range(model.lstm.num_layers):
        forward = direction(x, model.lstm, f"l{layer}")
        backward = direction(x.flip(0), model.lstm, f"l{layer}_reverse").flip(0)
        x = torch.cat([forward, backward], -1)
    return x


@SOURCES
@pytest.mark.parametrize("layers", [1, 2])
def test_pairs_equal_sentences_read_one_by_one_by_hand(source, layers):
    model = make(source, layers=layers)
    inputs = packed(PAIRS)
    features = model(inputs)
    assert features.rows.shape == (4, 8 * HIDDEN)
    assert features.tokens.shape == (4, inputs["tokens"].shape[1], 8 * HIDDEN)
    assert features.mask.equal(inputs["mask"])
    for k, (a, b) in enumerate(PAIRS):
        first, second = states_by_hand(model, [CLS, *a, SEP]), states_by_hand(model, [CLS, *b, SEP])
        u, v = first.amax(0), second.amax(0)
        expected = torch.cat([u, v, u * v, (u - v).abs()])
        torch.testing.assert_close(features.rows[k], expected, atol=1e-6, rtol=0)
        own = torch.cat([first, second[1:]])  # the second sentence's own opening has no place in the row
        torch.testing.assert_close(features.tokens[k, : len(own), : 2 * HIDDEN], own, atol=1e-6, rtol=0)
        assert not features.tokens[k, len(own) :].any()
    assert not features.tokens[..., 2 * HIDDEN :].any()


@SOURCES
def test_single_sentences_are_u_and_zeros(source):
    model = make(source)
    features = model(packed(SINGLES))
    for k, (a, _) in enumerate(SINGLES):
        own = states_by_hand(model, [CLS, *a, SEP])
        torch.testing.assert_close(features.rows[k, : 2 * HIDDEN], own.amax(0), atol=1e-6, rtol=0)
        torch.testing.assert_close(features.tokens[k, : len(own), : 2 * HIDDEN], own, atol=1e-6, rtol=0)
        assert not features.tokens[k, len(own) :].any()
    assert not features.rows[:, 2 * HIDDEN :].any()


def test_an_empty_second_sentence_is_not_a_missing_one():
    model = make("embeddings")
    empty, missing = model(packed([([5, 6], [])])).rows[0], model(packed([([5, 6], None)])).rows[0]
    torch.testing.assert_close(empty[: 2 * HIDDEN], missing[: 2 * HIDDEN], atol=1e-6, rtol=0)
    v = states_by_hand(model, [CLS, SEP]).amax(0)
    torch.testing.assert_close(empty[2 * HIDDEN : 4 * HIDDEN], v, atol=1e-6, rtol=0)


def test_rows_keep_their_form_in_a_mixed_batch():
    model = make("embeddings")
    together = model(packed([*PAIRS, *SINGLES]))
    for part, rows in ((slice(0, 4), PAIRS), (slice(4, 7), SINGLES)):
        alone = model(packed(rows, length=together.tokens.shape[1]))
        torch.testing.assert_close(together.rows[part], alone.rows, atol=1e-6, rtol=0)
        torch.testing.assert_close(together.tokens[part], alone.tokens, atol=1e-6, rtol=0)


@SOURCES
@pytest.mark.parametrize("rows", [PAIRS, SINGLES], ids=["pairs", "singles"])
def test_padding_changes_nothing(source, rows):
    model = make(source)
    together = model(packed(rows))
    longer = packed(rows, length=20, filler=11)
    longer["types"][~longer["mask"]] = 1  # what stands in the padding is nobody's business
    padded = model(longer)
    length = together.tokens.shape[1]
    torch.testing.assert_close(padded.rows, together.rows, atol=1e-6, rtol=0)
    torch.testing.assert_close(padded.tokens[:, :length], together.tokens, atol=1e-6, rtol=0)
    assert not padded.tokens[:, length:].any()
    for k, row in enumerate(rows):
        alone = model(packed([row]))
        torch.testing.assert_close(alone.rows[0], together.rows[k], atol=1e-6, rtol=0)
        torch.testing.assert_close(alone.tokens[0], together.tokens[k, : alone.tokens.shape[1]], atol=1e-6, rtol=0)


@SOURCES
def test_neither_sentence_sees_the_other(source):
    model = make(source)
    one, other = model(packed([([7, 8], [3, 4])])), model(packed([([7, 8], [9, 9])]))
    torch.testing.assert_close(one.rows[:, : 2 * HIDDEN], other.rows[:, : 2 * HIDDEN], atol=1e-6, rtol=0)
    torch.testing.assert_close(one.tokens[:, :4], other.tokens[:, :4], atol=1e-6, rtol=0)
    assert not torch.allclose(one.rows[:, 2 * HIDDEN : 4 * HIDDEN], other.rows[:, 2 * HIDDEN : 4 * HIDDEN], atol=1e-3)


def test_a_linear_head_on_a_single_sentence_equals_one_on_u():
    model = make("embeddings")
    rows = model(packed(SINGLES)).rows
    head = torch.nn.Linear(model.width, 3)
    u_only = rows[:, : 2 * HIDDEN] @ head.weight[:, : 2 * HIDDEN].T + head.bias
    torch.testing.assert_close(head(rows), u_only)
    head(rows).sum().backward()
    assert not head.weight.grad[:, 2 * HIDDEN :].any()


def test_a_row_without_a_real_token_breaks_nothing():
    model = make("frozen")
    inputs = packed(PAIRS)
    inputs["mask"][2] = False
    features = model(inputs)
    assert torch.isfinite(features.rows).all()
    assert not features.tokens[2].any()
    others = torch.tensor([0, 1, 3])
    torch.testing.assert_close(features.rows[others], model(packed(PAIRS)).rows[others], atol=1e-6, rtol=0)


def test_the_defaults_have_the_sizes_of_the_paper():
    model = PairBiLSTM(Embeddings(10, 384))
    first, second = 2 * 4 * 512 * (384 + 512 + 2), 2 * 4 * 512 * (1024 + 512 + 2)
    assert sum(parameter.numel() for parameter in model.lstm.parameters()) == first + second
    assert model.width == 4096


def test_dropout_acts_in_training_only():
    model = make("embeddings", dropout=0.5)
    assert model(packed(PAIRS)).rows.equal(model(packed(PAIRS)).rows)
    model.train()
    assert not model(packed(PAIRS)).rows.equal(model(packed(PAIRS)).rows)


def test_heads_for_rows_and_tokens_fit():
    tasks = [Task("pair", Classification(3), {}), Task("tags", Tagging(3), {})]
    model = MultiTaskModel(make("embeddings"), tasks)
    assert model("pair", packed(PAIRS)).shape == (4, 3)
    assert model("tags", packed(PAIRS, length=13)).shape == (4, 13, 3)


@SOURCES
def test_a_saved_model_answers_as_before(source, tmp_path):
    model = MultiTaskModel(make(source, layers=1, dropout=0.3), {"pair": Classification(3)})
    save_model(model, tmp_path)
    again = load_model(tmp_path)
    assert again("pair", packed(PAIRS)).equal(model("pair", packed(PAIRS)))
    assert again.encoder.dropout.p == 0.3
    assert [parameter.requires_grad for parameter in again.parameters()] == [
        parameter.requires_grad for parameter in model.parameters()
    ]


def test_a_frozen_encoder_stays_frozen_and_quiet():
    model = make("frozen", dropout=0.0).train()
    encoder = model.vectors.encoder
    assert model.vectors.training
    assert not any(module.training for module in encoder.modules())
    before = {name: value.clone() for name, value in encoder.state_dict().items()}
    assert model(packed(PAIRS)).rows.equal(model(packed(PAIRS)).rows)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model(packed(PAIRS)).rows.square().sum().backward()
    optimizer.step()
    assert all(parameter.grad is None and not parameter.requires_grad for parameter in encoder.parameters())
    assert all(value.equal(before[name]) for name, value in encoder.state_dict().items())


def test_gradients_reach_the_mix_and_the_lstm():
    model = make("frozen")
    model(packed(PAIRS)).rows.square().sum().backward()
    trained = {name: value for name, value in model.named_parameters() if value.requires_grad}
    assert {"vectors.scalars", "vectors.factor"} < set(trained)
    assert all(value.grad is not None and value.grad.abs().sum() > 0 for value in trained.values())
    assert (model.vectors.scalars.grad != 0).all()


def test_gradients_reach_embeddings_of_real_tokens_only():
    model = make("embeddings")
    model(packed(PAIRS, filler=11)).rows.sum().backward()
    moved = model.vectors.words.weight.grad.abs().sum(1) > 0
    assert moved.tolist() == [False, *[True] * 9, False, False]


def test_the_mix_is_a_weighted_sum_of_all_layers():
    vectors = FrozenLayers(bert())
    assert vectors.width == 16
    assert vectors.scalars.shape == (3,)
    with torch.no_grad():
        vectors.scalars.copy_(torch.tensor([0.5, -1.0, 2.0]))
        vectors.factor.fill_(3.0)
    inputs = packed(SINGLES)
    found = vectors(inputs["tokens"], inputs["mask"])
    layers = vectors.encoder(inputs["tokens"], attention_mask=inputs["mask"], output_hidden_states=True).hidden_states
    torch.testing.assert_close(found, 1.5 * layers[0] - 3 * layers[1] + 6 * layers[2])


def test_the_mix_begins_as_a_truncated_normal_of_torchs_generator():
    encoder = bert()
    torch.manual_seed(5)
    draws = torch.stack([FrozenLayers(encoder).scalars.detach() for _ in range(400)])
    torch.manual_seed(5)
    assert FrozenLayers(encoder).scalars.equal(draws[0])
    assert draws.abs().max() <= 2 * 3**-0.5
    # A normal cut off at two deviations keeps 0.8796 of its deviation.
    assert draws.std().item() == pytest.approx(0.8796 * 3**-0.5, rel=0.06)
    assert abs(draws.mean().item()) < 0.06  # four standard errors: versions of torch draw different numbers


def test_a_source_without_a_forward_pass_says_so():
    with pytest.raises(TypeError, match="without a forward pass"):
        Vectors()(torch.zeros(1, 1), torch.ones(1, 1))
    with pytest.raises(TypeError, match="cannot be described"):
        Vectors().describe()
