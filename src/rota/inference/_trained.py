"""A trained run, ready to answer."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal

import torch
from torch import nn

from rota.data import Reading, Unlabelled
from rota.engine import captured_probes, probe
from rota.errors import RotaError, unknown_name
from rota.evaluation import collect_row_stats, evaluate, evaluation_tasks, spoken, usual_rows
from rota.models import Conditional, LanguageModel, MultiTaskModel, Pretrained, build_any, save_model
from rota.plans import Plan, make_plan, reading_of, tasks_of
from rota.runlog import Run, new_folder
from rota.tasks import Task, kind_from
from rota.training import Checkpoints

CARD = "README.md"

MANY = 200
"""Batches from which capturing pays: a capture takes as long as several eager batches, and there are dozens of them."""


class Answering(ABC):
    """What a run and an ensemble of runs can do: score the rows of their tasks, answer new ones.

    `run` and `plan` say which tasks there are, where their rows are, on which device and in which precision.

    >>> import tempfile
    >>> from rota.runs import run_plan
    >>> plan = make_plan({"tasks": ["digits"], "only": ["left", "right"], "steps": 2, "device": "cpu"})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     answering: Answering = Trained(run_plan(plan, Path(folder) / "run", progress=False).folder)
    ...     answering.evaluate("dev", tasks=["left"], rows=20)["tasks"]["left"]["n"]
    20
    """

    run: Run
    plan: Plan

    @property
    @abstractmethod
    def model(self) -> nn.Module:
        """What answers `model(task, inputs)`."""

    def evaluate(
        self,
        split: str = "dev",
        data: Path | None = None,
        tasks: Sequence[str] = (),
        rows: int | None = None,
        engine: Literal["auto", "eager", "graph"] = "auto",
    ) -> dict[str, Any]:
        """Loss, metrics and score of each task, as `rota.evaluate` returns them.

        Args:
            split: Which rows.
            data: The data folder, where it is not the one of the run.
            tasks: Only these.
            rows: At most so many rows of each task.
            engine: How rows go through the model: one operation after the other, or captured as CUDA graphs. By default
                captured where there are so many batches that it pays.
        """
        plan = self.plan if data is None else self.plan.model_copy(update={"data": str(data)})
        names = tasks or list(self.run.info["tasks"])  # a method may have left out tasks of the plan
        self.check(names)
        wanted = [task for task in tasks_of(plan) if task.name in names]
        if not any(task.size(split) for task in wanted):
            raise RotaError(f"Expected rows in split '{split}'. Found none in {', '.join(t.name for t in wanted)}.")
        chosen = evaluation_tasks(wanted, rows)
        size = self.plan.eval_batch_size
        found = [task.splits[split] for task in chosen if task.size(split)]
        batches = sum(math.ceil(len(own) / (size or usual_rows(self.model, own))) for own in found)
        speaks = isinstance(self.model, LanguageModel)
        captured = engine == "graph" or (engine == "auto" and self._on_gpu and batches >= MANY and not speaks)
        if captured and speaks:
            raise RotaError(
                "The engine 'graph' expects a model with heads. Found a language model. Use engine='eager'."
            )
        if captured and not self._on_gpu:
            raise RotaError("The engine 'graph' expects a CUDA device. Found none. Use engine='eager'.")

        def score(model: nn.Module) -> dict[str, Any]:
            probe = captured_probes(model, self._half) if captured else None
            return evaluate(model, chosen, split, size, probe=probe)

        with self._precision():
            return self._scores(score)

    def predict(self, task: str, path: Path, tokens: int = 64) -> Iterator[dict[str, Any]]:
        """What the model says to each example of a file; `Unlabelled` says which files are read. A file that cannot
        be meant is refused at once, not when the first answer is asked for.

        Args:
            task: Whose answers.
            path: The file.
            tokens: Most tokens that a language model says.
        """
        self.check([task])
        self.unlabelled = Unlabelled(task, self.run.info["tasks"][task]["notes"], path, self._reading)
        if self.unlabelled.spoken:
            return self._spoken(self.unlabelled, tokens)
        return self._answers(task, self.unlabelled)

    def check(self, tasks: Sequence[str]) -> None:
        """Refuse tasks that it cannot answer."""
        known = self.run.info["tasks"]
        for name in tasks:
            if name not in known:
                raise unknown_name("task of the run", name, known)

    def _scores(self, score: Callable[[nn.Module], dict[str, Any]]) -> dict[str, Any]:
        return score(self.model)

    def _answers(self, task: str, unlabelled: Unlabelled) -> Iterator[dict[str, Any]]:
        kind = kind_from(self.run.info["model"]["kinds"][task])
        for rows in unlabelled.chunks():
            subject = Task(task, kind, {"rows": rows})
            with self._precision():
                row_stats = collect_row_stats(
                    partial(probe, self.model), subject, rows, self.plan.eval_batch_size or usual_rows(self.model, rows)
                )
            yield from kind.answers(row_stats, rows)

    def _spoken(self, unlabelled: Unlabelled, most: int) -> Iterator[dict[str, Any]]:
        """A text for each prompt; long ones first, so that a batch has prompts of similar length."""
        model, at_once = self.model, 32 if self._on_gpu else 8
        if not isinstance(model, LanguageModel):
            raise RotaError("Texts that go on expect one language model. Found several runs. Ask one of them.")
        for prompts in unlabelled.prompts(most):
            order = sorted(range(len(prompts)), key=lambda k: -len(prompts[k]))
            answers: dict[int, str] = {}
            for start in range(0, len(order), at_once):
                chunk = order[start : start + at_once]
                with self._precision():
                    said = spoken(model, [prompts[k] for k in chunk], self._reading.tokenizer, most)
                answers |= dict(zip(chunk, said, strict=True))
            yield from ({"answer": answers[k]} for k in range(len(prompts)))

    @property
    def _on_gpu(self) -> bool:
        return next(self.model.parameters()).is_cuda

    @property
    def _half(self) -> bool:
        """Whether the model answers in bf16, as it was trained; never on a CPU, which is slow at that."""
        return self.plan.precision == "bf16" and self._on_gpu

    def _precision(self) -> AbstractContextManager[None]:
        return torch.autocast("cuda", torch.bfloat16) if self._half else nullcontext()

    @property
    def _reading(self) -> Reading:
        return reading_of(self.plan)


class Trained(Answering):
    """The best model of a run.

    Args:
        folder: The run folder; the run need not be finished.
        task: Where given, and where the run kept the best model of each task (`best="each"`): the one of this task.

    >>> import tempfile
    >>> from rota.runs import run_plan
    >>> plan = make_plan({"tasks": ["digits"], "only": ["left", "right"], "steps": 2, "device": "cpu"})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     trained = Trained(run_plan(plan, Path(folder) / "run", progress=False).folder)
    ...     list(trained.model.heads), sorted(trained.evaluate("dev", rows=20)["tasks"]["left"])
    (['left', 'right'], ['loss', 'metrics', 'n', 'score'])
    """

    def __init__(self, folder: Path | str, task: str | None = None) -> None:
        self.run, self._task = Run(folder), task
        if self.run.info.get("model") is None:
            raise RotaError(
                f"{folder} was trained by a program with a model of its own. Load its weights there, from "
                f"{Path(folder) / 'best'}."
            )
        self.plan: Plan = make_plan(self.run.plan, source=str(folder))

    @cached_property
    def model(self) -> MultiTaskModel | LanguageModel:
        """The best model, on the accelerator if there is one."""
        checkpoints = Checkpoints(self.run.folder, self.run.info["id"])
        steps = checkpoints.best_steps()
        if not steps and self.run.finished:
            raise RotaError(
                f"Expected a model in {self.run.folder}. Found a run that kept its logs alone, as runs of comparisons "
                f"do. Train it with Plan(keep='best')."
            )
        if not steps:
            raise RotaError(f"Expected a model in {self.run.folder}. Found none yet: the run was not evaluated so far.")
        best: dict[str, Any] = self.run.summary["best"] if self.run.finished else {"step": steps[-1]}
        step = best.get("each", {}).get(self._task, best)["step"]
        model = build_any(self.run.info["model"])
        model.load_state_dict(checkpoints.load_best(step))
        gpu = self.plan.device == "auto" and torch.accelerator.is_available()
        return model.to(torch.accelerator.current_accelerator() if gpu else "cpu").eval()

    @property
    def with_heads(self) -> MultiTaskModel:
        """The model, where it has an encoder and heads; a language model is refused."""
        if isinstance(self.model, LanguageModel):
            raise RotaError(
                f"Expected a model with a head for each task. Found the language model of {self.run.folder}."
            )
        return self.model

    def export(self, folder: Path, card: str | None = None) -> None:
        """Write the model as JSON and safetensors, its tokenizer, and its encoder for `transformers.AutoModel`; all of
        it, or nothing.

        Args:
            folder: A new one.
            card: What its README.md says.
        """
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            found = "which is not empty" if folder.is_dir() else "which is a file"
            raise RotaError(f"Expected a new folder. Found {folder}, {found}. Choose another one.")
        try:
            with new_folder(folder) as place:
                if isinstance(self.model, LanguageModel):
                    self.model.export(place)
                    self._reading.tokenizer.save(place / "language_model")
                else:
                    self._export_encoder(self.model, place)
                if card is not None:
                    (place / CARD).write_text(card, encoding="utf-8")
        except OSError as error:
            raise RotaError(f"Expected a folder that can be written at {folder}. Found: {error.strerror}.") from error

    def _export_encoder(self, model: MultiTaskModel, place: Path) -> None:
        save_model(model, place)
        encoder = model.encoder
        if isinstance(encoder, Pretrained) and not isinstance(encoder, Conditional):  # others have no such parts
            encoder.export(place / "encoder")
            self._reading.tokenizer.save(place / "encoder")
