"""Next tokens: losses are means over tokens, wherever they are split."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from run_tools import assert_same_run
from torch import nn

from rota.callbacks import Callback
from rota.errors import RotaError
from rota.evaluation import evaluate
from rota.policies import uniform
from rota.settings import Settings
from rota.tasks import IGNORED, Causal, Task, TensorRows, kind_from
from rota.training import fit

WORDS = 11


class Bigrams(nn.Module):
    """The next token from the last one alone."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.table = nn.Embedding(WORDS, WORDS)

    def forward(self, task, inputs):
        return self.table(inputs["tokens"])


def rows_of(lengths, seed=0):
    """Texts whose last tokens, so many in each, have a loss."""
    generator = torch.Generator().manual_seed(seed)
    tokens = torch.randint(WORDS, (len(lengths), max(lengths) + 2), generator=generator)
    labels = torch.full_like(tokens, IGNORED)
    for row, count in enumerate(lengths):
        labels[row, :count] = tokens[row, 1 : count + 1]
    return TensorRows({"tokens": tokens}, labels, side={"tokens": np.array(lengths)})


def task_of(lengths, name="a"):
    return Task(name, Causal(WORDS), {"train": rows_of(lengths), "dev": rows_of(lengths, seed=1)})


def mean_over_tokens(model, rows):
    """By hand: all tokens in one line."""
    batch = rows.batch(np.arange(len(rows)))
    real = batch.labels != IGNORED
    return F.cross_entropy(model("a", batch.inputs)[real], batch.labels[real])


def test_a_kind_is_what_it_was_after_json():
    kind = Causal(50, ("likelihood", "token_accuracy"))
    assert kind_from(json.loads(json.dumps(kind.describe()))) == kind


def test_loss_and_score_of_a_split_are_means_over_its_tokens_in_batches_of_any_size():
    model, task = Bigrams(), task_of([1, 7, 2, 5, 3])
    wanted = mean_over_tokens(model, task.splits["dev"]).item()
    for size in (1, 2, 5):
        found = evaluate(model, [task], batch_size=size)["tasks"]["a"]
        assert found["loss"] == pytest.approx(wanted, abs=1e-6)
        assert found["metrics"]["likelihood"] == pytest.approx(math.exp(-wanted), abs=1e-6)
        assert (found["n"], found["tokens"]) == (5, 18)


def test_an_update_follows_the_mean_over_the_tokens_of_its_rows(tmp_path):
    settings = Settings(steps=1, batch_size=5, lr=0.5, warmup=0, optimizer="sgd", momentum=0, weight_decay=0, clip=None)
    model, task = Bigrams(), task_of([1, 7, 2, 5, 3])
    run = fit(model, [task], uniform(["a"]), tmp_path / "run", settings, progress=False)
    plain = Bigrams()
    loss = mean_over_tokens(plain, task.splits["train"])
    loss.backward()
    (line,) = run.lines("step")
    assert line["loss"] == pytest.approx(loss.item(), abs=1e-6)
    assert line["tokens"] == run.summary["cost"]["tokens"] == 18
    torch.testing.assert_close(model.table.weight, plain.table.weight - 0.5 * plain.table.weight.grad)


def test_splitting_a_batch_into_passes_changes_nothing(tmp_path):
    found = []
    for rows, passes in ((6, 1), (3, 2), (2, 3)):
        settings = Settings(steps=6, batch_size=rows, accumulate=passes, lr=0.1, clip=None)
        model, task = Bigrams(), task_of([1, 7, 2, 5, 3, 9, 4])  # the second batch of a pass has one row
        run = fit(model, [task], uniform(["a"]), tmp_path / str(passes), settings, progress=False)
        found.append([*model.table.weight.flatten().tolist(), *(line["loss"] for line in run.lines("step"))])
    np.testing.assert_allclose(found[1], found[0], atol=1e-5)
    np.testing.assert_allclose(found[2], found[0], atol=1e-5)


def test_tokens_in_the_log_are_those_of_the_rows(tmp_path):
    lengths = [1, 7, 2, 5, 3, 9, 4]
    settings = Settings(steps=9, batch_size=2, log_rows=True)
    run = fit(Bigrams(), [task_of(lengths)], uniform(["a"]), tmp_path / "run", settings, progress=False)
    lines = run.lines("step")
    assert [line["tokens"] for line in lines] == [sum(lengths[k] for k in line["ids"]) for line in lines]
    assert sum(line["tokens"] for line in lines) == run.summary["cost"]["tokens"]


class Stop(Callback):
    """The process dies after five updates."""

    def on_step(self, done):
        if done == 5:
            raise KeyboardInterrupt


def test_a_run_that_goes_on_counts_on(tmp_path):
    settings = Settings(steps=8, batch_size=2, checkpoint_every=2, eval_every=4)

    def train(name, **options):
        tasks = [task_of([3, 5, 2])]
        return fit(Bigrams(), tasks, uniform(["a"]), tmp_path / name, settings, progress=False, **options)

    whole = train("whole")
    with pytest.raises(KeyboardInterrupt):
        train("cut", callbacks=[Stop()])
    again = train("cut", resume=True)
    assert_same_run(whole.folder, again.folder)
    assert again.summary["cost"] == whole.summary["cost"]
    assert again.summary["cost"]["tokens"] > 0


def test_rows_without_completions_and_foreign_tokens_are_refused():
    empty = TensorRows({"tokens": torch.zeros(2, 3).long()}, torch.full((2, 3), IGNORED))
    with pytest.raises(RotaError, match="expects completions"):
        Task("a", Causal(WORDS), {"train": empty, "dev": empty}).check()
    with pytest.raises(RotaError, match="tokens from 0 to 4, the vocabulary of its model"):
        Task("a", Causal(5), {"train": rows_of([9]), "dev": rows_of([9])}).check()


def test_uncertainty_of_a_guess_is_one_and_of_a_sure_model_zero():
    kind, labels = Causal(4), torch.tensor([[1, 2, IGNORED]])
    even = torch.zeros(3, 1, 3, 4)
    sure = torch.full((3, 1, 3, 4), -50.0)
    sure[..., 0] = 50.0
    assert kind.uncertainty(even, labels).tolist() == pytest.approx([1.0])
    assert kind.uncertainty(sure, labels).tolist() == pytest.approx([0.0], abs=1e-6)
