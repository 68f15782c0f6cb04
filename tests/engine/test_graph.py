"""The engine that captures: what it captures, when, and that its numbers are those of the eager one."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch
from fit_tools import NAMES, QUICK, make_model, make_tasks
from run_tools import assert_same_run
from torch import nn
from transformers import BertConfig, BertModel

from rota import Fixed
from rota.data import load_tasks
from rota.engine import Passes, StepPlan, TaskBatch, Trainer, make_engine
from rota.models import MultiTaskModel, Pretrained, SmallConv, encoder_for
from rota.policies import Exp3S, uniform
from rota.settings import Settings
from rota.signals import prediction_gain, visit_gain
from rota.streams import JointStream, TaskStream
from rota.tasks import Classification, Task, TensorRows, adjust_tasks
from rota.training import evaluate, fit
from rota.training._checkpoint import Checkpoints
from rota.training._distributed import DistributedContext
from rota.training._resolve import COMPILED_FROM, resolve_engine, resolve_precision

GRAPH = QUICK.model_copy(update={"engine": "graph"})


class Crash(Exception):  # noqa: N818
    """The process dies."""


def train(folder, policy=None, settings=GRAPH, tasks=None, model=None, dropout=0.0, crash=None, **options):
    """Train; die before step `crash`."""
    tasks = tasks or make_tasks()

    class Dying(options.pop("stream", TaskStream)):
        def next(self, step):
            if step == crash:
                raise Crash
            return super().next(step)

    Dying.__name__ = Dying.__base__.__name__
    model = model or make_model(tasks, dropout)
    names = [task.name for task in tasks]
    return fit(model, tasks, policy or uniform(names), folder, settings, stream=Dying, progress=False, **options)


def numbers(run):
    """Losses and values of all steps, with whose they are."""
    found = []
    for line in run.lines("step"):
        parts = line["tasks"] if line["task"] is None else {line["task"]: line}
        found += [
            (line["step"], task, run.row_ids(task, part), part["loss"], part["value"]) for task, part in parts.items()
        ]
    return found


def assert_alike(one, other, tolerance=1e-6):
    """Assert that two runs trained on the same rows, with the same losses but for rounding."""
    ours, theirs = numbers(one), numbers(other)
    assert [entry[:3] for entry in ours] == [entry[:3] for entry in theirs]
    for (*_, loss, value), (*_, twin, heard) in zip(ours, theirs, strict=True):
        assert loss == pytest.approx(twin, rel=tolerance)
        assert value == pytest.approx(heard, abs=tolerance)
    for mine, his in zip(one.lines("eval"), other.lines("eval"), strict=True):
        for task, result in mine["tasks"].items():
            assert result["loss"] == pytest.approx(his["tasks"][task]["loss"], rel=tolerance)
    assert one.summary["cost"] == other.summary["cost"]


CASES = {
    "uniform": ({}, {}),
    "exp3s": ({"policy": lambda: Exp3S(NAMES, eta=0.5), "listen": prediction_gain}, {}),
    "visits": ({"policy": lambda: Exp3S(NAMES, eta=0.5), "listen": visit_gain}, {}),
    "joint": ({"stream": JointStream}, {}),
    "joint, a task left out": ({"stream": JointStream, "policy": lambda: Fixed({"a": 1, "b": 2, "aux": 0})}, {}),
    "joint, heard": ({"stream": JointStream, "policy": lambda: Exp3S(NAMES), "listen": prediction_gain}, {"delay": 2}),
    "sgd": ({}, {"optimizer": "sgd", "weight_decay": 0.1}),
    "sgd without momentum": ({}, {"optimizer": "sgd", "momentum": 0.0}),
    "adam, no clipping": ({}, {"optimizer": "adam", "clip": None, "delay": 3}),
    "joint, sgd": ({"stream": JointStream}, {"optimizer": "sgd"}),
}


@pytest.mark.parametrize("case", CASES)
def test_captured_and_eager_steps_are_alike(tmp_path, captured, case):
    """Partial batches, heads of absent tasks, loss weights, evaluations: all of it."""
    options, changes = CASES[case]
    tasks = adjust_tasks(make_tasks(), {"b": {"loss_weight": 3.0, "batch_size": 5}})
    policy = options.get("policy", lambda: uniform(NAMES))
    rest = {name: value for name, value in options.items() if name != "policy"}
    runs = [
        train(tmp_path / engine, policy(), GRAPH.model_copy(update={"engine": engine, **changes}), tasks, **rest)
        for engine in ("eager", "graph")
    ]
    assert runs[1].summary["engine"]["captures"] > 3
    assert runs[1].summary["engine"]["fallback"] is None
    assert_alike(*runs)


@pytest.mark.parametrize("room", [2**24, 0], ids=["resident", "staged"])
@pytest.mark.parametrize("stream", [TaskStream, JointStream])
def test_texts_of_all_lengths_and_kinds_are_alike(tmp_path, captured, monkeypatch, room, stream):
    """Classes, pairs, numbers, tags, spans; and choices, except in steps with several tasks."""
    monkeypatch.setattr("rota.engine._graph.room_on", lambda device: room)
    tasks = [task for task in load_tasks(["toytext"]) if stream is TaskStream or task.kind.sees != "choices"]
    settings = GRAPH.model_copy(update={"steps": 30, "eval_every": 30, "eval_rows": 40, "lr": 1e-3})
    runs = []
    for engine in ("eager", "graph"):
        torch.manual_seed(0)
        model = MultiTaskModel(encoder_for(tasks, dropout=0.0), tasks)
        own = settings.model_copy(update={"engine": engine})
        runs.append(train(tmp_path / engine, None, own, tasks, model, stream=stream))
    assert runs[1].summary["engine"]["captures"] > 3
    assert runs[1].summary["engine"]["fallback"] is None
    assert_alike(*runs, tolerance=1e-5)


def test_a_staged_task_that_is_absent_from_the_first_step_is_there_later(captured, monkeypatch):
    monkeypatch.setattr("rota.engine._graph.room_on", lambda device: 0)
    tasks = make_tasks()
    model = make_model(tasks, dropout=0.0)
    engine = engine_for(tasks, model)
    eager = engine_for(tasks, make_model(tasks, dropout=0.0), engine="eager")
    for step, shares in enumerate([[("a", [0]), ("b", [1, 2])], [("a", [4]), ("aux", [6, 7])]]):
        own = plan(step, *shares, tasks=tasks)
        found, expected = engine.update(own).numbers.tolist(), eager.update(own).numbers.tolist()
        assert found == pytest.approx(expected, rel=1e-5)
    assert engine.captures == 1


@pytest.mark.parametrize("case", ["uniform", "exp3s", "visits", "joint, heard"])
def test_stopped_and_resumed_is_never_stopped_although_it_captures_at_other_steps(tmp_path, captured, case):
    """With dropout: a rehearsal that used up random numbers, or an update too many, would show."""
    options, changes = CASES[case]
    policy = options.get("policy", lambda: uniform(NAMES))
    rest = {name: value for name, value in options.items() if name != "policy"}
    settings = GRAPH.model_copy(update=changes)
    train(tmp_path / "whole", policy(), settings, dropout=0.3, **rest)
    resume = False
    for step in (5, 18, 31):
        with pytest.raises(Crash):
            train(tmp_path / "cut", policy(), settings, dropout=0.3, crash=step, resume=resume, **rest)
        resume = True
    train(tmp_path / "cut", policy(), settings, dropout=0.3, resume=True, **rest)
    assert_same_run(tmp_path / "whole", tmp_path / "cut")


def test_late_reading_changes_no_decision_of_policies_that_do_not_listen(tmp_path, captured):
    for delay in (0, 4):
        train(tmp_path / str(delay), None, GRAPH.model_copy(update={"delay": delay}), dropout=0.3)
    assert_same_run(tmp_path / "0", tmp_path / "4")


# What is captured


def engine_for(tasks, model=None, **changes):
    settings = GRAPH.model_copy(update={"precision": "no", "delay": 0, "batch_size": 4, **changes})
    accelerator = DistributedContext(settings).accelerator
    return make_engine(model or make_model(tasks, dropout=0.3), tasks, settings, accelerator)


def plan(step, *shares, tasks):
    """A step with some rows of some tasks."""
    rows = {task.name: task.splits["train"] for task in tasks}
    parts = [
        TaskBatch(name, np.array(ids), len(ids), lambda name=name, ids=ids: rows[name].batch(np.array(ids)))
        for name, ids in shares
    ]
    return StepPlan(step, tuple(parts))


def text_tasks(lengths=(3, 16, 17, 40)):
    """Two tasks whose row k has the k-th length."""
    tokens = torch.arange(4 * 40).view(4, 40) % 7 + 1
    for row, length in enumerate(lengths):
        tokens[row, length:] = 0
    rows = TensorRows({"tokens": tokens}, torch.arange(4) % 2, torch.tensor(lengths))
    return [Task(name, Classification(2), {"train": rows, "dev": rows}) for name in ("p", "q")]


class Bag(nn.Module):
    """A mean of embeddings, and a head per task."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(8, 4, padding_idx=0)
        self.heads = nn.ModuleDict({name: nn.Linear(4, 2) for name in ("p", "q")})

    def forward(self, task, inputs):
        tokens = inputs["tokens"]
        return self.heads[task](self.words(tokens).sum(1) / (tokens != 0).sum(1, keepdim=True))


def test_one_capture_per_task_and_padded_length_when_it_is_first_needed(captured):
    tasks = text_tasks()
    engine = engine_for(tasks, Bag())
    seen = []
    for step, (name, ids) in enumerate(
        [("p", [0]), ("p", [0, 1]), ("p", [2]), ("q", [1]), ("p", [3, 0]), ("q", [0, 1, 0, 1]), ("p", [2, 0, 1])]
    ):
        engine.update(plan(step, (name, ids), tasks=tasks))
        seen.append(engine.captures)
    assert seen == [1, 1, 2, 3, 4, 4, 4]  # p16, p16, p32, q16, p40 (the longest row), q16, p32
    shapes = [key[0] for key in engine._capturer.kept]
    assert [(shape.tasks, shape.rows, shape.width) for shape in shapes] == [
        (("p",), 4, 16),
        (("p",), 4, 32),
        (("q",), 4, 16),
        (("p",), 4, 40),
    ]


def test_the_forward_pass_after_the_update_is_captured_only_for_those_who_ask(captured):
    tasks = make_tasks()
    engine = engine_for(tasks)
    engine.update(plan(0, ("a", [0, 1]), tasks=tasks))
    assert engine.captures == 1
    engine.update(plan(1, ("a", [2, 3]), tasks=tasks), prediction_gain)
    engine.update(plan(2, ("a", [4]), tasks=tasks), prediction_gain)
    assert engine.captures == 2
    assert engine.learner.ledger.scored == 3


def test_capturing_leaves_no_trace(captured):
    """Neither in weights and buffers, nor in the optimizer, nor in the generator."""
    tasks = make_tasks()
    model = make_model(tasks, dropout=0.3)
    model.encoder.layers.append(nn.BatchNorm1d(8))
    engine = engine_for(tasks, model)
    engine.update(plan(0, ("a", [0, 1, 2, 3]), tasks=tasks))
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    states = [(state, {k: v.clone() for k, v in state.items()}) for state in engine.learner.optimizer.state.values()]
    generator = torch.get_rng_state()
    engine._step(plan(1, ("b", [0, 1, 2, 3]), tasks=tasks))
    assert engine.captures == 2
    assert all(tensor.equal(before[name]) for name, tensor in model.state_dict().items())
    assert all(state[k].equal(v) for state, copy in states for k, v in copy.items())
    assert torch.get_rng_state().equal(generator)
    assert all(parameter.grad is None for parameter in model.parameters())
    made = [engine.learner.optimizer.state[parameter] for parameter in model.heads["b"].parameters()]
    assert all(not value.any() for state in made for value in state.values())  # as an update would find them


def test_heads_of_absent_tasks_are_left_alone_in_mixed_steps(captured):
    """One captured step serves every mixture; the device decides who is there."""
    tasks = make_tasks()
    model = make_model(tasks, dropout=0.0)
    engine = engine_for(tasks, model, weight_decay=0.5, warmup=0.0)
    for step, shares in enumerate(
        [[("a", [0]), ("b", [1, 2, 3])], [("a", [4, 5]), ("b", [6])], [("b", [0]), ("aux", [1])]]
    ):
        before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
        engine.update(plan(step, *shares, tasks=tasks))
        moved = {name for name, tensor in model.state_dict().items() if not tensor.equal(before[name])}
        for task in NAMES:
            present = task in dict(shares)
            assert (f"heads.{task}.linear.weight" in moved) == (f"heads.{task}.linear.bias" in moved) == present
        assert "encoder.layers.0.weight" in moved
    assert engine.captures == 1
    steps = {task: int(engine.learner.optimizer.state[model.heads[task].linear.weight]["step"]) for task in NAMES}
    assert steps == {"a": 2, "b": 3, "aux": 1}


def test_missing_rows_count_nothing(captured):
    """A batch of two rows in a place for four: the loss is theirs, and the update as well."""
    tasks = make_tasks()
    models = [make_model(tasks, dropout=0.0) for _ in range(2)]
    engines = [engine_for(tasks, models[0]), engine_for(tasks, models[1], engine="eager")]
    losses = [engine.update(plan(0, ("a", [7, 9]), tasks=tasks)).numbers.tolist() for engine in engines]
    assert losses[0] == pytest.approx(losses[1], rel=1e-6)
    for one, other in zip(models[0].parameters(), models[1].parameters(), strict=True):
        torch.testing.assert_close(one, other)


def test_a_batch_norm_never_sees_rows_that_fill_a_batch_up(tmp_path, captured):
    runs = []
    for engine in ("eager", "graph"):
        tasks = make_tasks()
        model = make_model(tasks, dropout=0.0)
        model.encoder.layers.append(nn.BatchNorm1d(8))
        settings = GRAPH.model_copy(update={"engine": engine, "batch_size": 7, "optimizer": "sgd"})
        policy = Fixed({"b": 1, "aux": 1, "a": 0})
        runs.append(train(tmp_path / engine, policy, settings, tasks, model))
    assert {len(ids) for _, _, ids, *_ in numbers(runs[1])} == {7, 2}
    assert runs[1].summary["engine"]["captures"] > 3
    assert_alike(*runs, tolerance=1e-5)


class Own:
    """Rows of somebody's own, that only make batches; the shape of a batch depends on its rows."""

    def __init__(self, rows, widths=(16,)):
        self._rows, self._widths, self.side = rows, widths, {}

    def __len__(self):
        return len(self._rows)

    def batch(self, ids):
        batch = self._rows.batch(ids)
        width = self._widths[int(ids[0]) % len(self._widths)]
        return dataclasses.replace(batch, inputs={"x": batch.inputs["image"].flatten(1)[:, :width]})

    def labels(self):
        return self._rows.labels()

    def lengths(self):
        return None


class Sums(nn.Module):
    """Looks at the sum of its inputs."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(1, 2)

    def forward(self, task, inputs):
        return self.linear(inputs["x"].sum(1, keepdim=True))


@pytest.mark.parametrize("widths", [(16,), (16, 8, 4)])
def test_rows_of_somebodys_own_are_copied_and_captured_by_their_shapes(tmp_path, captured, widths):
    runs = []
    for engine in ("eager", "graph"):
        tasks = make_tasks()
        own = [dataclasses.replace(t, splits={s: Own(r, widths) for s, r in t.splits.items()}) for t in tasks]
        torch.manual_seed(0)
        settings = GRAPH.model_copy(update={"engine": engine, "num_workers": 1 if len(widths) > 1 else 0, "steps": 20})
        runs.append(train(tmp_path / engine, None, settings, own, Sums()))
    assert_alike(*runs)
    shapes = {(task, ids[0] % len(widths)) for _, task, ids, *_ in numbers(runs[1])}
    assert runs[1].summary["engine"]["captures"] == len(shapes)  # evaluations are eager


# Forward passes


def test_looks_are_captured_and_alike(captured):
    tasks = make_tasks()
    model = make_model(tasks, dropout=0.3)
    engine = engine_for(tasks, model)
    ours, theirs = evaluate(model, tasks, "dev", 7, probe=engine.probe), evaluate(model, tasks, "dev", 7)
    assert engine.captures == 3
    assert evaluate(model, tasks, "dev", 7, probe=engine.probe) == ours
    assert engine.captures == 3
    for task in NAMES:
        assert ours["tasks"][task]["score"] == theirs["tasks"][task]["score"]
        assert ours["tasks"][task]["loss"] == pytest.approx(theirs["tasks"][task]["loss"], rel=1e-6)


def spread(kind, outputs, labels):
    return {"spread": outputs.var(0).sum(-1), "unsure": kind.uncertainty(outputs, labels)}


def test_several_passes_differ_by_dropout_alone_and_are_captured_once(captured):
    tasks = make_tasks()
    model = make_model(tasks, dropout=0.5)
    engine = engine_for(tasks, model)
    rows = tasks[0].splits["dev"]
    model.train()
    torch.manual_seed(3)
    found = {k: v.clone() for k, v in engine.probe(tasks[0], rows, np.arange(6), 8, spread, passes=Passes(5)).items()}
    again = engine.probe(tasks[0], rows, np.arange(6), 8, spread, passes=Passes(5))
    assert engine.captures == 1
    assert found["spread"].shape == (6,)
    assert (found["spread"] > 0).all()
    assert not again["spread"].equal(found["spread"])
    model.eval()
    still = engine.probe(tasks[0], rows, np.arange(6), 8, lambda *given: spread(*given), passes=Passes(5))
    assert not still["spread"].any()


def test_eager_passes_differ_by_dropout_alone():
    tasks = make_tasks()
    model = make_model(tasks, dropout=0.5)
    engine = engine_for(tasks, model, engine="eager")
    found = engine.probe(tasks[0], tasks[0].splits["dev"], np.arange(6), 8, spread, passes=Passes(5))
    assert (found["spread"] > 0).all()


# What cannot be captured


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (torch.OutOfMemoryError("CUDA out of memory. Tried to allocate a lot"), "the GPU has too little memory"),
        (RuntimeError("operation not permitted when stream is capturing\nand more"), "operation not permitted when st"),
    ],
)
@pytest.mark.parametrize(("number", "optimizer"), [(0, "adamw"), (5, "adamw"), (5, "sgd")])
def test_a_failed_capture_goes_on_eagerly(tmp_path, captured, monkeypatch, capsys, error, sentence, number, optimizer):
    from rerun import Rerun

    def fails(device):
        graphs = Rerun(device)
        graphs.fails_at = {number: error}
        return graphs

    monkeypatch.setattr("rota.engine._capturer.CudaGraphs", fails)
    tasks = make_tasks()
    settings = GRAPH.model_copy(update={"checkpoint_every": 5, "optimizer": optimizer})
    run = fit(make_model(tasks, 0.0), tasks, uniform(NAMES), tmp_path / "cut", settings)
    assert sentence in run.summary["engine"]["fallback"]
    assert capsys.readouterr().err.count(sentence) == 1  # one printed reason
    eager = train(tmp_path / "eager", settings=settings.model_copy(update={"engine": "eager"}))
    assert_alike(eager, run)
    state = Checkpoints(tmp_path / "cut", run.info["id"]).load()[0]
    assert sentence in state["engine"]["gave_up"]


def test_a_resumed_run_that_gave_up_does_not_try_again(captured):
    tasks = make_tasks()
    engine = engine_for(tasks)
    engine.load_state_dict({**engine.state_dict(), "gave_up": "steps are not captured: too little memory"})
    engine.update(plan(0, ("a", [0]), tasks=tasks))
    assert engine.captures == 0


def test_ever_new_shapes_end_somewhere(captured, monkeypatch):
    monkeypatch.setattr("rota.engine._capturer.MOST", 2)
    tasks = text_tasks()
    engine = engine_for(tasks, Bag())
    for step, row in enumerate((0, 2, 3)):
        engine.update(plan(step, ("p", [row]), tasks=tasks))
    assert "more than 2 shapes" in engine.fallback


def test_steps_with_several_tasks_need_a_model_that_answers_for_several(captured):
    tasks = text_tasks()
    engine = engine_for(tasks, Bag())
    engine.update(plan(0, ("p", [0]), ("q", [1]), tasks=tasks))
    assert engine.captures == 0
    assert "MultiTaskModel" in engine.fallback
    engine.update(plan(1, ("p", [0]), tasks=tasks))
    assert engine.captures == 1


@pytest.mark.parametrize("engine", ["eager", "graph"])
def test_a_gradient_that_is_no_number_is_a_loss_that_is_none(captured, engine):
    """It is read late, when the weights are already gone: the run has to stop."""

    class Roots(Sums):
        def forward(self, task, inputs):
            return super().forward(task, inputs) + torch.sqrt(self.linear.bias.abs() * 0)

    tasks = make_tasks()
    own = [dataclasses.replace(t, splits={s: Own(r) for s, r in t.splits.items()}) for t in tasks]
    outcome = engine_for(own, Roots(), engine=engine, delay=2).update(plan(0, ("a", [0, 1]), tasks=own))
    assert np.isnan(outcome.numbers.tolist()).all()


def test_settings_decide_where_nothing_can_be_captured(monkeypatch):
    def settled(settings, listens, own=Trainer()):  # noqa: B008 - immutable
        return resolve_engine(resolve_precision(settings, own), listens, own, torch.nn.Linear(1, 1))

    nobody_asked = Settings(precision="no", engine="eager", delay=0)
    assert settled(Settings(), listens=False) == (nobody_asked, None)
    assert settled(Settings(engine="graph"), listens=False)[1] == "there is no CUDA device"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda: True)
    for changes, engine, reason, delay in [
        ({}, "graph", None, 4),
        ({"engine": "compile"}, "compile", None, 4),
        ({"engine": "eager"}, "eager", None, 4),
        ({"device": "cpu"}, "eager", None, 0),
        ({"accumulate": 2}, "eager", "gradients are accumulated", 4),
        ({"precision": "fp16"}, "eager", "fp16 scales its gradients", 4),
        ({"optimizer": "adamax"}, "eager", "adamax cannot be captured", 4),
        ({"on_nan": "skip"}, "eager", "a step is skipped when its loss is not a number", 0),
        ({"delay": 9}, "graph", None, 9),
    ]:
        found, why = settled(Settings(**changes), listens=False)
        assert (found.engine, why, found.delay) == (engine, reason, delay)
        assert found.precision == changes.get("precision", "no" if "device" in changes else "bf16")
    assert settled(Settings(), listens=True)[0].delay == 0
    own = Trainer(optimizer=torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))]))
    assert settled(Settings(), False, own)[1] == "accelerator or optimizer are your own"
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert settled(Settings(), listens=False)[1] == "several processes train together"


def test_layers_of_long_runs_are_compiled(monkeypatch):
    def engine(model, steps, **changes):
        return resolve_engine(Settings(steps=steps, precision="no", **changes), False, Trainer(), model)[0].engine

    sizes = {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16}
    bert = Pretrained(BertModel(BertConfig(vocab_size=20, **sizes)), "mean")
    model, pictures = (MultiTaskModel(own, {"a": Classification(2)}) for own in (bert, SmallConv(side=8)))
    assert engine(model, 10**6) == "eager"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: name == "triton" or None)
    monkeypatch.setattr("shutil.which", lambda name: name if name == "gcc" else None)
    assert [engine(model, steps) for steps in (COMPILED_FROM - 1, COMPILED_FROM)] == ["graph", "compile"]
    assert engine(model, COMPILED_FROM, engine="graph") == "graph"
    assert engine(pictures, COMPILED_FROM) == "graph"  # without layers that repeat
    assert engine(bert, COMPILED_FROM) == "graph"  # somebody's own module
    monkeypatch.setattr("shutil.which", lambda name: None)
    assert engine(model, COMPILED_FROM) == "graph"
