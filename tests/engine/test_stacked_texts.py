"""Text encoders in one pass have the numbers of text encoders alone."""

from __future__ import annotations

import gc
import json
from dataclasses import replace

import numpy as np
import pytest
import safetensors.torch
import torch
from accelerate import Accelerator
from transformers import (
    BertConfig,
    BertModel,
    DistilBertConfig,
    DistilBertModel,
    ElectraConfig,
    ElectraModel,
    RobertaConfig,
    RobertaModel,
    XLMRobertaConfig,
    XLMRobertaModel,
)

from rota.engine import Passes, make_engine, probe
from rota.engine._text_buffers import TextBuffers
from rota.engine._text_pass import TextPass
from rota.engine._text_seats import NO_SEAT
from rota.engine._text_stack import TextStack
from rota.models import MultiTaskModel, Pretrained, StackedLayers, StackedTexts, evaluating, packing, stacked
from rota.policies import Exp3S, Tracking, uniform
from rota.runlog import LOG
from rota.runs import take_turns
from rota.settings import Settings
from rota.signals import mc_dropout
from rota.sources import Survey
from rota.streams import JointStream, TaskStream
from rota.tasks import Classification, Regression, Task, TensorRows
from rota.training import fit

NAMES = ["two", "three", "number"]
KINDS = [Classification(2), Classification(3), Regression()]
SETTINGS = Settings(
    steps=20, batch_size=8, lr=1e-3, engine="stack", device="cpu", eval_every=10, eval_rows=8, checkpoint_every=10
)
ENGINES = "stack", "eager"
POLICIES = {
    "uniform": lambda seed: uniform(NAMES),
    "exp3s": lambda seed: Exp3S(NAMES, seed=seed),
    "tracking": lambda seed: Tracking(NAMES),
}
MEMBERS = [(seed, policy) for seed, policy in enumerate(["uniform", "exp3s"] * 4)]


def make_tasks(longest=12):
    tasks = []
    for number, (name, kind) in enumerate(zip(NAMES, KINDS, strict=True)):
        generator = np.random.default_rng(number)
        lengths = generator.integers(2, longest - 4 * (number == 0), size=60)
        tokens = generator.integers(5, 50, size=(60, longest))
        real = np.arange(longest) < lengths[:, None]
        tokens[~real] = 0
        inputs = {
            "tokens": torch.from_numpy(tokens),
            "mask": torch.from_numpy(real),
            "types": torch.from_numpy((real & (np.arange(longest) > lengths[:, None] // 2)).astype(np.int64)),
        }
        labels = torch.from_numpy(tokens[:, 0] % kind.width if kind.width > 1 else tokens[:, 0] / 50)
        labels = labels.float() if kind.width == 1 else labels
        rows = TensorRows(inputs, labels, torch.from_numpy(lengths))
        tasks.append(Task(name, kind, {"train": rows, "dev": rows.take(np.arange(16))}))
    return tasks


def make_model(tasks, seed, dropout=0.0, hidden=None, pooling="mean"):
    torch.manual_seed(seed)
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    dropouts = {"hidden_dropout_prob": dropout, "attention_probs_dropout_prob": dropout}
    bert = BertModel(BertConfig(vocab_size=50, max_position_embeddings=16, **sizes, **dropouts))
    return MultiTaskModel(Pretrained(bert, pooling, hidden), tasks)


def train(folder, member, dropout=0.0, resume=False, model=None, stream=TaskStream, **changes):
    seed, policy = member
    tasks = make_tasks()
    listen = [Survey("entropy", every=5, passes=4)] if policy == "tracking" else None
    policy = POLICIES[policy](seed)
    settings = SETTINGS.model_copy(update={"seed": seed, **changes})
    model = model or make_model(tasks, seed, dropout)
    return fit(model, tasks, policy, folder, settings, stream=stream, listen=listen, resume=resume, progress=False)


def train_together(folder, members, each=None, **fields):
    def work(member):
        return train(folder / str(member[0]), member, **{**fields, **(each or {}).get(member[0], {})})

    return [event[2] for event in take_turns(work).work_through(members, len(members)) if event[0] == "done"]


def lines(folder):
    return [json.loads(line) for line in (folder / LOG).read_text().splitlines()]


def weights(folder):
    latest = sorted((folder / "checkpoints").iterdir())[-1]
    return safetensors.torch.load_file(latest / "model.safetensors")


def distance(one, other):
    """Of all weights but the biases of keys, whose true gradient is zero: rounding alone moves them."""
    found, expected = weights(one), weights(other)
    return max(float((own - expected[key]).abs().max()) for key, own in found.items() if "key.bias" not in key)


def assert_same_bytes(one, other):
    assert (one / LOG).read_bytes() == (other / LOG).read_bytes()
    found, expected = weights(one), weights(other)
    assert all(torch.equal(own, expected[key]) for key, own in found.items())


@pytest.mark.parametrize(("steps", "tolerance"), [(20, 1e-5), (100, 1e-4)])
def test_members_equal_runs_that_train_eagerly(tmp_path, steps, tolerance):
    for run in train_together(tmp_path / "stack", MEMBERS, steps=steps):
        assert run.plan["engine"] == "stack"
        assert run.summary["engine"].get("fallback") is None
    for member in MEMBERS:
        train(tmp_path / "eager" / str(member[0]), member, steps=steps, engine="eager")
        one, other = tmp_path / "stack" / str(member[0]), tmp_path / "eager" / str(member[0])
        for line, same in zip(lines(one), lines(other), strict=True):
            if line["kind"] == "step":
                assert (line["task"], line["rows"]) == (same["task"], same["rows"])
            if line["kind"] == "eval":
                for task in NAMES:
                    assert line["tasks"][task]["loss"] == pytest.approx(same["tasks"][task]["loss"], abs=1e-4)
                    assert line["tasks"][task]["n"] == same["tasks"][task]["n"]
        assert distance(one, other) < tolerance


def test_company_changes_no_bit(tmp_path):
    train_together(tmp_path / "five", MEMBERS[:5], dropout=0.2)
    train_together(tmp_path / "two", MEMBERS[1:3], dropout=0.2)
    train(tmp_path / "alone" / "1", MEMBERS[1], dropout=0.2)
    for other in ("two", "alone"):
        assert_same_bytes(tmp_path / "five" / "1", tmp_path / other / "1")
    assert_same_bytes(tmp_path / "five" / "2", tmp_path / "two" / "2")


def test_one_that_ends_early_does_not_touch_the_others(tmp_path):
    train_together(tmp_path / "all", MEMBERS[:3], each={1: {"steps": 7}}, dropout=0.2)
    train(tmp_path / "alone", MEMBERS[0], dropout=0.2)
    assert len([line for line in lines(tmp_path / "all" / "1") if line["kind"] == "step"]) == 7
    assert_same_bytes(tmp_path / "all" / "0", tmp_path / "alone")


def test_one_that_diverges_does_not_touch_the_others(tmp_path):
    def work(member):
        changes = {"lr": 1e30, "clip": None} if member[0] == 0 else {}
        try:
            return train(tmp_path / str(member[0]), member, dropout=0.2, **changes)
        except Exception as error:
            return str(error)

    found = [event[2] for event in take_turns(work).work_through(MEMBERS[:3], 3) if event[0] == "done"]
    assert sum("Expected a loss that is a number" in own for own in found if isinstance(own, str)) == 1
    train(tmp_path / "alone", MEMBERS[1], dropout=0.2)
    assert_same_bytes(tmp_path / "1", tmp_path / "alone")


def test_stopped_and_resumed_in_other_company_is_never_stopped(tmp_path):
    train_together(tmp_path / "whole", MEMBERS[:3], dropout=0.2)
    train_together(tmp_path / "half", MEMBERS[:3], dropout=0.2)
    for seed in (1, 2):
        (tmp_path / "half" / str(seed) / "summary.json").unlink()
    train_together(tmp_path / "half", MEMBERS[1:3], dropout=0.2, resume="step-00000010")
    for seed in (1, 2):
        assert_same_bytes(tmp_path / "whole" / str(seed), tmp_path / "half" / str(seed))


def test_members_are_asked_in_one_pass(tmp_path, monkeypatch):
    asked = []
    answers = TextStack.answers

    def counted(self, items):
        asked.append((len(items), items[0].copies, items[0].drops))
        return answers(self, items)

    monkeypatch.setattr(TextStack, "answers", counted)
    train_together(tmp_path, [(seed, "tracking") for seed in range(3)], dropout=0.2)
    assert {members for members, _, _ in asked} == {3}
    assert {(copies, drops) for _, copies, drops in asked} == {(1, False), (4, True)}


def test_company_changes_no_bit_of_a_survey(tmp_path):
    members = [(seed, "tracking") for seed in range(3)]
    train_together(tmp_path / "three", members, dropout=0.2)
    train(tmp_path / "alone", members[1], dropout=0.2)
    assert_same_bytes(tmp_path / "three" / "1", tmp_path / "alone")


def looks(rows, task="two", passes=None, dropout=0.0, most=9, hidden=None):
    """What a stack of one says of some rows, and what its model says."""
    tasks = make_tasks()
    model = make_model(tasks, 0, dropout, hidden=hidden)
    settings = SETTINGS.model_copy(update={"precision": "no", "delay": 0})
    engine = make_engine(model, tasks, settings, Accelerator(cpu=True))
    task = next(own for own in tasks if own.name == task)

    def measure(kind, outputs, labels):
        return {"outputs": outputs if outputs.dim() == 2 else outputs.transpose(0, 1), "labels": labels}

    with evaluating(model) if passes is None else mc_dropout(model, seed=3):
        found = engine.probe(task, task.splits["train"], np.asarray(rows), most, measure, passes)
    with evaluating(model):
        expected = probe(model, task, task.splits["train"], np.asarray(rows), most, measure)
    engine.close()
    return found, expected


@pytest.mark.parametrize("task", NAMES)
def test_what_a_stack_says_of_rows_is_what_the_model_says(task):
    found, expected = looks([3, 50, 7, 8, 1], task)
    torch.testing.assert_close(found["outputs"], expected["outputs"], rtol=0, atol=1e-6)
    assert torch.equal(found["labels"], expected["labels"])
    assert found["labels"].dtype == expected["labels"].dtype


@pytest.mark.parametrize("at_once", [None, 3])
def test_passes_with_dropout_differ_around_what_the_model_says(at_once):
    found, expected = looks(range(9), passes=Passes(400, at_once=at_once), dropout=0.1)
    outputs = found["outputs"]
    assert outputs.shape == (9, 400, 2)
    spread = outputs.std(1)
    assert float(spread.min()) > 0.01
    # The mean of an answer with dropout is not the answer without, but near to it.
    assert float((outputs.mean(1) - expected["outputs"]).abs().max()) < 0.5 * float(spread.max())
    # Passes are independent: neighbours are as far apart as any two.
    near = (outputs[:, 1:] - outputs[:, :-1]).square().mean()
    far = (outputs[:, 100:] - outputs[:, :-100]).square().mean()
    assert float(near / far) == pytest.approx(1, abs=0.15)


def test_masks_that_rows_share_are_the_models_own(tmp_path):
    tasks = make_tasks()
    model = make_model(tasks, 0, 0.2)
    settings = SETTINGS.model_copy(update={"precision": "no", "delay": 0})
    engine = make_engine(model, tasks, settings, Accelerator(cpu=True))
    rows = tasks[0].splits["dev"]
    same = np.asarray([4] * 6)

    def measure(kind, outputs, labels):
        return {"outputs": outputs.transpose(0, 1)}

    with mc_dropout(model, seed=1, consistent=True) as masks:
        found = engine.probe(tasks[0], rows, same, 6, measure, Passes(3, masks=masks))["outputs"]
    engine.close()
    assert float(found.std(0).max()) < 1e-6
    assert float(found.std(1).min()) > 1e-3


@pytest.fixture
def captured(monkeypatch):
    """Stacks capture here, as they do on a GPU."""
    from rerun import Rerun

    monkeypatch.setattr("rota.engine._text_stack.graphs_on", Rerun)
    monkeypatch.setattr("rota.engine._text_stack.room_for_weights", lambda device: 2**24)


def test_captured_passes_have_the_numbers_of_runs_alone(tmp_path, captured):
    runs = train_together(tmp_path / "stack", MEMBERS[:5])
    assert runs[0].summary["engine"].get("fallback") is None
    assert runs[0].summary["engine"]["captures"] > 2
    for member in MEMBERS[:5]:
        train(tmp_path / "eager" / str(member[0]), member, engine="eager")
        assert distance(tmp_path / "stack" / str(member[0]), tmp_path / "eager" / str(member[0])) < 1e-5


def test_a_captured_stack_that_is_resumed_is_never_stopped(tmp_path, captured):
    train_together(tmp_path / "whole", MEMBERS[:3], dropout=0.2)
    train_together(tmp_path / "half", MEMBERS[:3], dropout=0.2)
    for seed in range(3):
        (tmp_path / "half" / str(seed) / "summary.json").unlink()
    train_together(tmp_path / "half", MEMBERS[:3], dropout=0.2, resume="step-00000010")
    for seed in range(3):
        assert_same_bytes(tmp_path / "whole" / str(seed), tmp_path / "half" / str(seed))


def test_a_stack_that_says_something_else_is_not_trusted(tmp_path, monkeypatch):
    parts = TextBuffers.parts

    def swapped(self, dense):  # values and keys of the first layer stand for each other
        found = parts(self, dense)
        name = "transformer.encoder.layer.0.attention.self.query.weight"
        queries, keys, values = found[name].chunk(3, dim=1)
        return {**found, name: torch.cat([queries, values, keys], 1)}

    monkeypatch.setattr(TextBuffers, "parts", swapped)
    run = train(tmp_path / "stack", MEMBERS[0])
    assert "in a stack the gradient of" in run.summary["engine"]["fallback"]
    train(tmp_path / "eager", MEMBERS[0], engine="eager")
    assert_same_bytes(tmp_path / "stack", tmp_path / "eager")


def test_a_member_in_the_seat_of_another_is_not_trusted(tmp_path, monkeypatch):
    load = TextPass.load

    def beside(self, items, counts=True):
        load(self, [replace(item, seat=0) for item in items], counts)

    monkeypatch.setattr(TextPass, "load", beside)
    runs = train_together(tmp_path, MEMBERS[:2])
    reasons = {run.plan["seed"]: run.summary["engine"]["fallback"] for run in runs}
    assert reasons[0] is None
    assert "in a stack the gradient of" in reasons[1]


def test_a_member_without_a_seat_trains_by_itself_and_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr("rota.engine._text_seats.places", lambda: 2)  # as if the memory had room for no more
    runs = train_together(tmp_path / "stack", MEMBERS[:3])
    assert sorted(run.summary["engine"].get("fallback") or "" for run in runs) == ["", "", NO_SEAT]
    for member in MEMBERS[:3]:
        train(tmp_path / "alone" / str(member[0]), member)
        assert distance(tmp_path / "stack" / str(member[0]), tmp_path / "alone" / str(member[0])) < 1e-5


def test_a_stack_that_everybody_has_left_makes_room_for_another(tmp_path):
    alive = []

    def work(member):
        for number, batch_size in enumerate((4, 8)):
            train(tmp_path / f"{member[0]}-{number}", member, batch_size=batch_size)
        gc.collect()
        alive.append(sum(type(own) is TextStack for own in gc.get_objects()))

    list(take_turns(work).work_through(MEMBERS[:1], 1))
    assert alive == [1]


def test_steps_with_several_tasks_are_the_members_own(tmp_path):
    train(tmp_path / "stack", MEMBERS[0], stream=JointStream)
    train(tmp_path / "eager", MEMBERS[0], stream=JointStream, engine="eager")
    found, expected = ([own for own in lines(tmp_path / engine) if own["kind"] == "step"] for engine in ENGINES)
    assert found == expected
    assert len(found) == SETTINGS.steps
    found, expected = (weights(tmp_path / engine) for engine in ENGINES)
    assert all(torch.equal(own, expected[name]) for name, own in found.items())


@pytest.mark.parametrize(
    ("pooling", "hidden", "changes"),
    [("first", None, {"clip": None}), ("pooled", 12, {"weight_decay": 0.1, "decay_all": True, "betas": (0.8, 0.99)})],
)
def test_other_heads_poolings_and_numbers_of_adamw(tmp_path, pooling, hidden, changes):
    for engine in ENGINES:
        model = make_model(make_tasks(), 1, hidden=hidden, pooling=pooling)
        run = train(tmp_path / engine, MEMBERS[1], model=model, engine=engine, **changes)
        assert run.plan["engine"] == engine
        assert run.summary["engine"]["fallback"] is None
    assert distance(tmp_path / "stack", tmp_path / "eager") < 1e-5


def test_runs_that_a_stack_cannot_train_say_why(tmp_path):
    sgd = train(tmp_path / "sgd", MEMBERS[0], optimizer="sgd")
    assert sgd.plan["engine"] == "eager"
    frozen = Pretrained(make_model(make_tasks(), 0).encoder.transformer, "mean", frozen=1)
    assert stacked(frozen) == "some of its layers are frozen"
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    other = DistilBertModel(DistilBertConfig(vocab_size=50, dim=12, n_layers=1))
    assert stacked(Pretrained(other, "mean")) == "DistilBertModel has other embeddings than BERT"
    relu = BertModel(BertConfig(vocab_size=50, hidden_act="relu", **sizes))
    assert stacked(Pretrained(relu, "mean")) == "the activation of BertModel is not GELU"
    electra = ElectraModel(ElectraConfig(vocab_size=50, embedding_size=8, **sizes))
    assert "has other parameters than BERT" in stacked(Pretrained(electra, "mean"))


@pytest.mark.parametrize(
    ("model", "config", "pooling"),
    [
        (BertModel, BertConfig(type_vocab_size=3), "mean"),
        (BertModel, BertConfig(), "pooled"),
        (RobertaModel, RobertaConfig(), "first"),
        (XLMRobertaModel, XLMRobertaConfig(pad_token_id=1), "mean"),
        (ElectraModel, ElectraConfig(embedding_size=32), "first"),
    ],
)
def test_the_forward_pass_of_a_stack_and_its_gradients(model, config, pooling):
    torch.manual_seed(0)
    for name, size in {
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 64,
        "vocab_size": 50,
        "max_position_embeddings": 20,
    }.items():
        setattr(config, name, size)
    encoders = [Pretrained(model(config), pooling).eval() for _ in range(3)]
    texts = stacked(encoders[0])
    assert isinstance(texts, StackedTexts)
    lengths = torch.tensor([[12, 3, 7], [1, 2, 12], [5, 5, 5]])
    mask = torch.arange(12) < lengths[..., None]
    tokens = torch.where(mask, torch.randint(5, 50, mask.shape), config.pad_token_id or 0)
    types = torch.where(mask, torch.randint(0, config.type_vocab_size, mask.shape), 0)
    where = packing(lengths, tokens=25, width=12)
    line, kinds = (
        torch.where(where.real, own.flatten()[where.place].view(where.real.shape), 0) for own in (tokens, types)
    )
    names = [name for name, _ in encoders[0].named_parameters()]
    weights = {name: torch.stack([own.get_parameter(name).detach() for own in encoders]) for name in names}
    for own in weights.values():
        own.requires_grad_()
    joined = weights | {own[0]: torch.cat([weights[name] for name in own], 1) for own in texts.joined}
    words = weights[texts.words].flatten(0, 1)[line + 50 * torch.arange(3)[:, None]]
    found = texts(joined, words, kinds, StackedLayers(where))
    probe = torch.randn_like(found)
    gradients = torch.autograd.grad((found * probe).sum(), list(weights.values()), allow_unused=True)
    for k, encoder in enumerate(encoders):
        inputs = {"tokens": tokens[k], "mask": mask[k], "types": types[k] * (config.type_vocab_size > 1)}
        expected = encoder(inputs).rows
        torch.testing.assert_close(found[k], expected, rtol=0, atol=1e-5)
        own = torch.autograd.grad((expected * probe[k]).sum(), list(encoder.parameters()), allow_unused=True)
        for name, gradient, reference in zip(names, gradients, own, strict=True):
            if reference is None:
                assert gradient is None, name  # a pooler that is not asked
            elif "key.bias" not in name:  # whose true gradient is zero
                assert float((gradient[k] - reference).norm()) <= 1e-5 * float(reference.norm()) + 1e-7, name


def test_one_kernel_updates_as_adamw_does(monkeypatch):
    from kernel_tools import run_in_python

    from rota.engine import _fused_adamw

    run_in_python(monkeypatch, _fused_adamw, ["adamw"])
    seats, size, matrices, steps = 3, 2500, 1000, torch.tensor([4.0, 1.0, 9.0])
    torch.manual_seed(0)
    weights, gradients, first, second = (torch.randn(seats, size) for _ in range(4))
    second = second.abs()
    rates, divisors, idle = torch.tensor([1e-2, 1e-3, 1e-2]), torch.tensor([2.0, 1.0, 1.0]), torch.tensor([0.0, 0, 1])
    expected = weights.clone()
    for seat in range(2):
        for part, decay in ((slice(0, matrices), 0.1), (slice(matrices, None), 0.0)):
            parameter = torch.nn.Parameter(expected[seat, part].clone())
            parameter.grad = gradients[seat, part] / divisors[seat]
            optimizer = torch.optim.AdamW([parameter], lr=float(rates[seat]), weight_decay=decay)
            optimizer.state[parameter] = {
                "step": steps[seat] - 1,
                "exp_avg": first[seat, part].clone(),
                "exp_avg_sq": second[seat, part].clone(),
            }
            optimizer.step()
            expected[seat, part] = parameter.detach()
    corrections = torch.stack([1 - 0.9**steps, (1 - 0.999**steps).sqrt()], 1)
    numbers = size, matrices, 0.1, 0.0, 0.9, 0.999, 1e-8
    stored = weights, gradients, first, second, rates, divisors, idle, corrections
    _fused_adamw.adamw[3, seats](*stored, *numbers, BLOCK=1024)
    torch.testing.assert_close(weights, expected)
