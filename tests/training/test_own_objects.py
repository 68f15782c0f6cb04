"""Data sets, models, optimizers and accelerators of somebody's own."""

from __future__ import annotations

import datasets
import numpy as np
import pytest
import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState
from run_tools import assert_same_run
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset

import rota
from rota.callbacks import Callback
from rota.errors import RotaError
from rota.runlog import Run
from rota.settings import Settings
from rota.tasks import Classification, Regression, Task, TensorRows

QUICK = Settings(steps=30, batch_size=8, eval_every=10, checkpoint_every=10, threads=1)
SHORT = Settings(steps=6, batch_size=4, eval_every=3, threads=1)


class Pictures(Dataset):
    """As one of torchvision: pairs of a picture and a number."""

    def __init__(self, rows=60, classes=3):
        generator = torch.Generator().manual_seed(classes)
        self.classes, self.pictures = classes, torch.randn(rows, 1, 6, 6, generator=generator)

    def __len__(self):
        return len(self.pictures)

    def __getitem__(self, row):
        return self.pictures[row], row % self.classes


class TwoHeads(nn.Module):
    """A model as people write it: it does not know of tasks by name."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.body = nn.Sequential(nn.Flatten(), nn.Linear(36, 8), nn.ReLU(), nn.Dropout(0.1))
        self.heads = nn.ModuleList([nn.Linear(8, 3), nn.Linear(8, 2)])

    def forward(self, pictures, head):
        return self.heads[head](self.body(pictures))


def ask(model, task, inputs):
    return model(inputs["x"], ["three", "two"].index(task))


DATA = {"three": Pictures(60, 3), "two": Pictures(40, 2)}


def trained(folder, data=DATA, model=None, settings=QUICK, policy=None, **options):
    policy = policy or rota.Exp3S(list(data), eta=0.1)
    options = {"forward": ask, "progress": False, **options}
    return rota.fit(model or TwoHeads(), data, policy, folder, settings, **options)


def test_a_plain_dict_of_data_sets_and_a_model_of_ones_own(tmp_path, capsys):
    model = TwoHeads()
    run = trained(tmp_path / "r", model=model)
    assert run.info["tasks"]["three"]["rows"] == {"train": 54, "dev": 6}
    assert "6 of 60 rows held out for dev" in run.info["tasks"]["three"]["notes"]["made"]
    saved = rota.training.Checkpoints(tmp_path / "r", run.info["id"]).load_best(run.summary["best"]["step"])
    assert saved.keys() == model.state_dict().keys()  # under the names of the model itself
    assert all(torch.equal(saved[name], tensor) for name, tensor in model.state_dict().items())


def test_kinds_are_said_aloud(tmp_path):
    heard = []

    class Listener(Callback):
        def on_notice(self, sentence):
            heard.append(sentence)

    trained(tmp_path / "r", callbacks=[Listener()], settings=SHORT)
    assert any(line.startswith("three: classification") and "as its labels look" in line for line in heard)


class Stop(Callback):
    def on_step(self, done):
        if done == 17:
            raise KeyboardInterrupt


def with_own_optimizer(folder, **options):
    model = TwoHeads()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 30)
    trained(folder, model=model, trainer=rota.Trainer(optimizer=optimizer, scheduler=scheduler), **options)
    return scheduler


def test_an_optimizer_and_a_scheduler_of_ones_own_go_on_after_a_crash(tmp_path):
    assert with_own_optimizer(tmp_path / "whole").last_epoch == 30
    with pytest.raises(KeyboardInterrupt):
        with_own_optimizer(tmp_path / "cut", callbacks=[Stop()])
    assert with_own_optimizer(tmp_path / "cut", resume=True).last_epoch == 30
    assert_same_run(tmp_path / "whole", tmp_path / "cut")


def test_an_optimizer_of_ones_own_is_stepped_as_in_a_loop_by_hand(tmp_path):
    rows = TensorRows({"x": torch.randn(8, 1, 6, 6)}, torch.arange(8) % 3)
    task = Task("three", Classification(3), {"train": rows, "dev": rows})
    settings = Settings(steps=5, batch_size=8, eval_every=5, threads=1, clip=None)
    models = [TwoHeads().eval() for _ in range(2)]
    for model in models:
        model.body[3].p = 0.0
    theirs = torch.optim.SGD(models[0].parameters(), 0.1)
    steps = torch.optim.lr_scheduler.StepLR(theirs, 2, 0.5)
    trained(
        tmp_path / "r", [task], models[0], settings, rota.uniform(["three"]), trainer=rota.Trainer(None, theirs, steps)
    )
    optimizer = torch.optim.SGD(models[1].parameters(), 0.1)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)
    losses = []
    for _ in range(5):
        loss = nn.functional.cross_entropy(models[1](rows._inputs["x"], 0), rows._labels)
        losses.append(loss.item())
        loss.backward()
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
    np.testing.assert_allclose([line["loss"] for line in Run(tmp_path / "r").lines("step")], losses, rtol=1e-5)


def test_an_accelerator_is_left_as_it_was(tmp_path):
    AcceleratorState._reset_state(reset_partial_state=True)
    mine = Accelerator(cpu=True, mixed_precision="bf16")
    trained(tmp_path / "r", settings=SHORT)  # an own one, of another precision
    assert mine.mixed_precision == "bf16"
    run = trained(tmp_path / "s", settings=SHORT, trainer=rota.Trainer(accelerator=mine))
    assert run.plan["precision"] == "bf16"
    assert mine.mixed_precision == "bf16"
    with pytest.raises(RotaError, match=r"expects its own precision, bf16\. Found Settings\(precision='no'\)"):
        trained(tmp_path / "t", settings=Settings(precision="no"), trainer=rota.Trainer(accelerator=mine))
    AcceleratorState._reset_state(reset_partial_state=True)


class Base(nn.Module):
    """A large frozen base under a small adapter."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.base = nn.Linear(36, 2000)
        self.adapter = nn.Linear(2000, 4)
        for parameter in self.base.parameters():
            parameter.requires_grad = False

    def forward(self, task, inputs):
        return self.adapter(self.base(inputs["x"].flatten(1)))[:, : 3 if task == "three" else 2]


def test_checkpoints_hold_what_is_trained(tmp_path):
    model = Base()
    run = trained(tmp_path / "r", model=model, forward=None)
    adapter = sum(own.numel() * 4 for own in model.adapter.parameters())
    for path in (tmp_path / "r").rglob("model.safetensors"):
        assert path.stat().st_size <= 1.3 * adapter
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    again = Base()
    trained(tmp_path / "r", model=again, forward=None, resume=True)
    assert run.finished
    assert all(torch.equal(before[name], tensor) for name, tensor in again.state_dict().items())


def test_an_adapter_of_peft_is_kept_alone(tmp_path):
    peft = pytest.importorskip("peft")

    class Module(nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.first, self.head = nn.Linear(36, 500), nn.Linear(500, 3)

        def forward(self, x):
            return self.head(self.first(x.flatten(1)))

    model = peft.get_peft_model(Module(), peft.LoraConfig(r=2, target_modules=["first"], modules_to_save=["head"]))
    data = {"three": DATA["three"]}
    run = trained(tmp_path / "r", data, model, SHORT, forward=lambda model, task, inputs: model(inputs["x"]))
    small = sum(own.numel() * 4 for own in model.parameters() if own.requires_grad)
    best = next((tmp_path / "r" / "best").rglob("model.safetensors"))
    assert best.stat().st_size <= 1.3 * small
    assert run.finished


# Data sets


NUMBERS = np.linspace(0, 1, 50, dtype=np.float32)
FORMS = {
    "torch": (lambda: Pictures(50, 3), "x", (1, 6, 6)),
    "tensors": (lambda: (torch.randn(50, 4), torch.arange(50) % 3), "x", (4,)),
    "arrays": (lambda: (np.random.default_rng(0).normal(size=(50, 4)), np.arange(50) % 3), "x", (4,)),
    "TensorDataset": (lambda: TensorDataset(torch.randn(50, 4), torch.arange(50) % 3), "x", (4,)),
    "rows": (lambda: [{"size": torch.tensor([float(k)]), "label": k % 3} for k in range(50)], "size", (1,)),
    "words": (lambda: [{"size": torch.tensor([float(k)]), "label": "xyz"[k % 3]} for k in range(50)], "size", (1,)),
    "hub": (
        lambda: datasets.Dataset.from_dict({"size": NUMBERS, "label": [k % 3 for k in range(50)]}),
        "size",
        (),
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_data_sets_of_every_form(form):
    make, name, shape = FORMS[form]
    task = Task.from_dataset("t", make())
    assert task.kind.classes == 3
    assert (task.size(), task.size("dev")) == (45, 5)
    batch = task.splits["train"].batch(np.array([0, 7, 44]))
    assert batch.inputs[name].shape == (3, *shape)
    assert batch.labels.tolist() == task.splits["train"].labels()[[0, 7, 44]].tolist()
    assert torch.is_floating_point(batch.inputs[name])


def test_numbers_are_regression_and_words_have_names():
    task = Task.from_dataset("t", (NUMBERS[:, None], NUMBERS))
    assert isinstance(task.kind, Regression)
    named = Task.from_dataset("t", [{"x": 1.0, "label": word} for word in ("no", "yes", "no", "maybe")])
    assert named.kind.names == ("maybe", "no", "yes")
    splits = {"train": (NUMBERS[:, None], NUMBERS), "validation": (NUMBERS[:9, None], NUMBERS[:9])}
    assert rota.tasks.tasks_from({"t": splits})[0].size("dev") == 9


def test_a_collator_of_ones_own():
    rows = [{"tokens": list(range(k % 4 + 1)), "label": k % 2} for k in range(20)]

    def collate(batch):
        width = max(len(row["tokens"]) for row in batch)
        tokens = torch.tensor([row["tokens"] + [0] * (width - len(row["tokens"])) for row in batch])
        return {"tokens": tokens, "labels": torch.tensor([row["label"] for row in batch])}

    task = Task.from_dataset("t", rows, collate=collate)
    assert task.splits["train"].batch(np.arange(4)).inputs["tokens"].shape[1] <= 4


def loader():
    return DataLoader(Pictures())


WRONG_DATA = {
    "a loader": (loader, r"Found a DataLoader\. A DataLoader has a data set inside"),
    "empty": (lambda: [], r"a data set with rows\. Found none"),
    "no label": (lambda: [{"x": 1.0}] * 4, r"a label 'label' in each row\. Found x"),
    "no column": (lambda: datasets.Dataset.from_dict({"x": [1.0]}), r"a column 'label' with the labels\. Found x"),
    "no pairs": (lambda: [1.0, 2.0], r"pairs of input and label\. Found float"),
    "odd numbers": (lambda: (np.zeros((3, 1)), np.array([7, 90, 1000])), r"whole numbers from 7 to 1000"),
    "several labels": (lambda: (np.zeros((3, 1)), np.zeros((3, 2))), r"one label for each row"),
}


@pytest.mark.parametrize("case", WRONG_DATA)
def test_wrong_data_sets_are_one_sentence(case):
    make, sentence = WRONG_DATA[case]
    with pytest.raises(RotaError, match=sentence):
        Task.from_dataset("t", make())


# The first batch


WRONG_MODELS = {
    "called otherwise": (
        None,
        r"asked as model\(task, inputs\) for task 'three', with inputs x \(2, 1, 6, 6\)\. Found",
    ),
    "another size": (lambda m, t, i: m(i["x"], 1), r"Task 'three' .* expects 3 numbers for each of 2 rows"),
    "no tensor": (lambda m, t, i: (m(i["x"], 0),), r"answer with a tensor for task 'three'\. Found tuple"),
    "raises": (lambda m, t, i: i["pixels"], r"Found KeyError: 'pixels'.*Say how it is called"),
}


@pytest.mark.parametrize("case", WRONG_MODELS)
def test_the_first_batch_is_tried_before_anything_is_made(case, tmp_path):
    forward, sentence = WRONG_MODELS[case]
    model = TwoHeads().train()
    with pytest.raises(RotaError, match=sentence):
        trained(tmp_path / "r", {"three": DATA["three"]}, model, forward=forward)
    assert not (tmp_path / "r").exists()
    assert model.training


def test_wrong_trainers_are_one_sentence(tmp_path):
    model = TwoHeads()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with pytest.raises(RotaError, match=r"expects its optimizer beside it"):
        rota.Trainer(scheduler=torch.optim.lr_scheduler.ConstantLR(optimizer))
    with pytest.raises(RotaError, match=r"Found ReduceLROnPlateau"):
        rota.Trainer(None, optimizer, torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer))
    with pytest.raises(RotaError, match=r"Found Settings\(lr=…\) beside it"):
        trained(tmp_path / "r", model=model, settings=Settings(lr=0.1), trainer=rota.Trainer(optimizer=optimizer))
    with pytest.raises(RotaError, match=r"parameters of the model\. Found \d+ that are not its"):
        trained(tmp_path / "r", trainer=rota.Trainer(optimizer=optimizer))
    with pytest.raises(RotaError, match=r"Found gradient_accumulation_steps=2"):
        rota.Trainer(accelerator=Accelerator(cpu=True, gradient_accumulation_steps=2))


# Learning rates


@pytest.mark.parametrize("shape", ["linear", "constant", "cosine", "inverse_sqrt"])
def test_learning_rates_are_those_of_torch(shape):
    warmup, steps = 5, 40
    parameter = nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([parameter], 1.0)
    lr = torch.optim.lr_scheduler
    rising = lr.LinearLR(optimizer, 1 / warmup, 1.0, warmup - 1)
    after = {
        "linear": lambda: lr.LinearLR(optimizer, 1.0, 0.0, steps - warmup),
        "constant": lambda: lr.ConstantLR(optimizer, 1.0, 1),
        "cosine": lambda: lr.CosineAnnealingLR(optimizer, steps - warmup),
        "inverse_sqrt": lambda: lr.LambdaLR(optimizer, lambda step: (warmup / (warmup + step + 1)) ** 0.5),
    }[shape]()
    theirs = lr.SequentialLR(optimizer, [rising, after], [warmup])
    ours = rota.schedules.learning_rate(shape, warmup, steps)
    for step in range(steps):
        assert optimizer.param_groups[0]["lr"] == pytest.approx(ours(step), abs=1e-6), step
        optimizer.step()
        theirs.step()


def test_arguments_of_the_optimizer_reach_it():
    from rota.engine import make_optimizer

    found = make_optimizer(TwoHeads(), Settings(betas=(0.8, 0.9), eps=1e-5, decay_all=True, weight_decay=0.1))
    assert all(group["betas"] == (0.8, 0.9) and group["eps"] == 1e-5 for group in found.param_groups)
    assert [group["weight_decay"] for group in found.param_groups] == [0.1, 0.1]
    with pytest.raises(RotaError, match="betas and eps with adamw"):
        Settings(optimizer="sgd", eps=1e-5)
    with pytest.raises(RotaError, match="betas of zero or more, below one"):
        Settings(betas=(0.8, 1.0))
