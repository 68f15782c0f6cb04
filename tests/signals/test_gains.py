"""Signals: by hand, and in a run what the log says."""

from __future__ import annotations

import json
import math

import pytest
import torch

from rota.offpolicy import Visit, improving
from rota.policies import uniform
from rota.settings import Settings
from rota.signals import View, improving_loss, prediction_gain, training_loss, visit_gain


def view(loss, previous=None, after=0.25, unit=1.0):
    last = None if previous is None else torch.tensor(previous)
    return View("rte", 3, torch.tensor(loss), lambda: torch.tensor(after), last, unit)


def test_gains_by_hand():
    assert training_loss(view(1.0, previous=1.5)).item() == 1.0
    assert prediction_gain(view(1.0)).item() == 0.75
    assert visit_gain(view(1.0)).item() == 0.0
    assert visit_gain(view(1.0, previous=1.5)).item() == 0.5
    assert visit_gain(view(1.0, previous=0.5)).item() == -0.5


def test_an_improving_loss_by_hand():
    assert improving_loss(view(1.0)).item() == 0.0
    assert improving_loss(view(1.0, previous=1.0)).item() == 0.0
    assert improving_loss(view(1.0, previous=0.9)).item() == 0.0
    assert improving_loss(view(1.0, previous=1.1)).item() == pytest.approx(1 - math.exp(-1.0))
    assert improving_loss(view(1.0, previous=1.1, unit=2.0)).item() == pytest.approx(1 - math.exp(-0.5))


@pytest.mark.parametrize("signal", [visit_gain, improving_loss])
def test_in_a_run_they_are_what_the_log_says(tmp_path, signal):
    """Also for a regression."""
    from rota.models import MultiTaskModel, SmallConv
    from rota.tasks import Classification, Regression, Task, TensorRows
    from rota.training import fit

    torch.manual_seed(0)
    images = torch.rand(24, 1, 4, 4)
    labels = {"a": torch.arange(24) % 2, "b": torch.rand(24)}
    kinds = {"a": Classification(2), "b": Regression(scale=0.3)}
    rows = {name: TensorRows({"image": images}, own) for name, own in labels.items()}
    tasks = [Task(name, kinds[name], {"train": own, "dev": own}) for name, own in rows.items()]
    settings = Settings(steps=30, batch_size=8, eval_every=30, lr=0.01)
    model = MultiTaskModel(SmallConv(4, 4), tasks)
    fit(model, tasks, uniform(["a", "b"]), tmp_path, settings, listen=signal, progress=False)
    last = {}
    for line in map(json.loads, (tmp_path / "log.jsonl").read_text().splitlines()):
        if line["kind"] == "step":
            task, unit = line["task"], kinds[line["task"]].unit
            before = last.get(task)
            if signal is visit_gain:
                expected = 0.0 if before is None else before - line["loss"]
            else:
                expected = improving(Visit(line["loss"] / unit, None, None if before is None else before / unit)) or 0.0
            assert line["value"] == pytest.approx(expected, abs=1e-6)
            last[task] = line["loss"]
