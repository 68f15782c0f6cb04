"""How fast are runs of a text encoder that train side by side on a GPU, and do they have the numbers of runs alone?

    python benchmarks/stacked.py --data DIR [--encoder minilm] [--base] [--seats 8,32]
        [--only speed,trainer,streams,evaluation,compile,profile,float,resume,company]

Six GLUE tasks, batches of 32 rows, bf16. Updates per second of one run alone (`--engine graph`), of all runs in a stack
together, of transformers.Trainer and of several runs on streams, with peak memory and the share of padding; whether
runs on streams have the bytes of runs alone; how long evaluations take; when it pays to compile; then runs in a stack
beside runs alone in single precision, a stack that is stopped and goes on, and a run in company beside the same run
alone. A section that fails prints where, and the next one begins.
"""

from __future__ import annotations

import argparse
import copy
import gc
import shutil
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from datapath import TASKS, data_folder, versions
from torch.profiler import ProfilerActivity, profile
from training import Case, Clock, order_of, train_trainer

from rota.data import Reading, load_tasks
from rota.engine import StepPlan
from rota.models import MultiTaskModel, Pretrained, pretrained
from rota.policies import Exp3S, Policy, uniform
from rota.runlog import LOG, Run
from rota.runs import take_turns
from rota.settings import Settings
from rota.streams import TaskStream
from rota.tasks import Task
from rota.training import COMPILED_FROM, fit

BATCH, RATE = 32, 5e-5
LIMIT = 400.0  # seconds for everything


@dataclass
class Watch:
    """When steps begin."""

    before: int
    timed: int
    begun: list[float] = field(default_factory=list)
    ended: list[float] = field(default_factory=list)
    on_begin: Callable[[], None] = lambda: None
    on_end: Callable[[], None] = lambda: None

    def tick(self, step: int) -> None:
        if step == self.before:
            torch.cuda.synchronize()
            self.on_begin()
            self.begun.append(time.perf_counter())
        if step == self.before + self.timed:
            torch.cuda.synchronize()
            self.ended.append(time.perf_counter())
            self.on_end()

    @property
    def speed(self) -> float:
        """Updates of all together per second, while all were under way."""
        return len(self.begun) * self.timed / (max(self.ended) - min(self.begun))


@dataclass
class Bench:
    tasks: list[Task]
    model: MultiTaskModel
    folder: Path
    began: float = field(default_factory=time.perf_counter)

    def train(self, folder: Path, seed: int, watch: Watch | None = None, **changes: Any) -> Run:
        """One run."""
        policy: Policy = uniform(list(TASKS)) if changes.pop("static", True) else Exp3S(TASKS, seed=seed)

        class Timed(TaskStream):
            def next(self, step: int) -> StepPlan:
                if watch is not None:
                    watch.tick(step)
                return super().next(step)

        Timed.__name__ = TaskStream.__name__
        steps = changes.pop("steps", None) or (watch.before + watch.timed + 1 if watch else 20)
        resume = changes.pop("resume", False)
        fields = {"steps": steps, "batch_size": BATCH, "lr": RATE, "seed": seed, "eval_every": steps, "eval_rows": 1}
        settings = Settings(**{**fields, "best": "last", "keep": "logs", **changes})
        torch.manual_seed(seed)
        model = copy.deepcopy(self.model)
        for head in model.heads.values():
            for parameter in head.parameters():
                torch.nn.init.normal_(parameter, std=0.02)
        return fit(model, self.tasks, policy, folder, settings, stream=Timed, resume=resume, progress=False)

    def together(self, folder: Path, seeds: Sequence[int], **fields: Any) -> tuple[list[Run], list[Any]]:
        """Runs side by side, and the stacks that they sat in."""

        def work(seed: int) -> Run:
            own = {**fields, "static": fields.get("static", True) or seed % 2 == 0}
            return self.train(folder / str(seed), seed, **{"engine": "stack", **own})

        turns = take_turns(work, fields.get("engine") == "graph")
        runs = [event[2] for event in turns.work_through(list(seeds), len(seeds)) if event[0] == "done"]
        return runs, list(turns.shared.values())


@contextmanager
def section(name: str, bench: Bench) -> Iterator[None]:
    """A failure is told, and the next section begins."""
    began = time.perf_counter()
    gc.collect()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    print(f"\n== {name}", flush=True)
    try:
        yield
    except Exception:
        print(f"FAILED: {name}\n{traceback.format_exc()}", flush=True)
    print(f"   ({time.perf_counter() - began:.1f} s; {time.perf_counter() - bench.began:.0f} s in all)", flush=True)


def told(run: Run) -> str:
    engine = run.summary["engine"]
    return ", ".join(f"{name}: {value}" for name, value in engine.items())


def lone_speed(bench: Bench) -> float:
    watch = Watch(before=400, timed=600)
    run = bench.train(bench.folder / "alone", 0, watch, engine="graph")
    peak = torch.cuda.max_memory_allocated() / 2**30
    print(f"one run, graph: {watch.speed:.1f} updates/s; {peak:.2f} GiB; {told(run)}", flush=True)
    return watch.speed


def stack_speed(bench: Bench, seats: int, lone: float, static: bool = True) -> None:
    watch = Watch(before=120, timed=150 if seats <= 8 else 60)
    folder = bench.folder / f"stack-{seats}-{static}"
    runs, stacks = bench.together(folder, range(seats), watch=watch, static=static)
    peak = torch.cuda.max_memory_allocated() / 2**30
    kind = "static policies" if static else "every other policy learns from the loss after each update"
    print(f"{seats} runs, stack, {kind}: {watch.speed:.1f} updates/s = {watch.speed / lone:.2f} x; {peak:.2f} GiB")
    for stack in stacks:
        print(
            f"  padding {1 - stack.tokens / max(stack.slots, 1):.1%}; {stack.captures} captures in "
            f"{stack.seconds:.1f} s; reason: {stack.reason}; unfused: {stack.unfused}"
        )
    print(f"  {told(runs[0])}", flush=True)


def trainer_speed(bench: Bench, lone: float) -> None:
    """The same model on the same tasks with transformers.Trainer."""
    case = Case(bench.tasks, bench.model, updates=100, precision="bf16", device="cuda", before=150)
    clock = Clock(case, seed=0)
    train_trainer(case, 0, order_of(case, seed=0), clock)
    speed = case.updates / sum(clock.seconds)
    print(f"transformers.Trainer: {speed:.1f} updates/s; one run alone has {lone / speed:.1f} x of it", flush=True)


def compiled(bench: Bench, steps: int = 4000) -> None:
    """Whole runs with compiled layers and without, and from how many updates on they take less time."""
    start, each = {}, {}
    for engine in ("graph", "compile"):
        watch = Watch(before=1000, timed=steps - 1001)
        began = time.perf_counter()
        bench.train(bench.folder / engine, 0, watch, engine=engine)
        took = time.perf_counter() - began
        each[engine] = 1 / watch.speed
        start[engine] = took - steps * each[engine]
        said = f"{start[engine]:.1f} s + {1e3 * each[engine]:.2f} ms an update"
        print(f"  {engine}: {steps:,} updates in {took:.1f} s, so {said}", flush=True)
    pays = (start["compile"] - start["graph"]) / (each["graph"] - each["compile"])
    print(f"  compiled layers are {each['graph'] / each['compile']:.2f} x as fast and pay from {pays:,.0f} updates on")
    for number in (2_000, 10_000, 50_000):
        chosen = "compile" if number >= COMPILED_FROM else "graph"
        whole = {engine: start[engine] + number * own for engine, own in each.items()}
        share = whole[chosen] / whole["graph"]
        print(f"  {number:,} updates: {chosen}, {whole[chosen]:.0f} s for {whole['graph']:.0f} of graph, {share:.2f}")


def stream_speed(bench: Bench, count: int, lone: float) -> None:
    """Runs that are captured one by one, on streams."""
    watch = Watch(before=400, timed=600)  # as alone: fewer have captures among what is timed
    bench.together(bench.folder / f"streams-{count}", range(count), watch=watch, engine="graph")
    peak = torch.cuda.max_memory_allocated() / 2**30
    print(
        f"{count} runs on streams: {watch.speed:.1f} updates/s = {watch.speed / lone:.2f} x; {peak:.2f} GiB", flush=True
    )


def streams_and_alone(bench: Bench, count: int) -> None:
    """With dropout, evaluations and policies that learn: the same bytes, the last weights included?"""
    fields = {"engine": "graph", "steps": 120, "eval_every": 40, "eval_rows": 200, "keep": "all", "static": False}
    bench.together(bench.folder / "streams", range(count), **fields)
    same = 0
    for seed in range(count):
        bench.train(bench.folder / "one by one" / str(seed), seed, **{**fields, "static": seed % 2 == 0})
        one, other = bench.folder / "streams" / str(seed), bench.folder / "one by one" / str(seed)
        found, expected = weights_of(one), weights_of(other)
        weights = all(torch.equal(own, expected[name]) for name, own in found.items())
        same += weights and (one / LOG).read_bytes() == (other / LOG).read_bytes()
    print(f"  {same} of {count} runs on streams have log and weights of runs alone, to the byte", flush=True)


def evaluations(bench: Bench, seats: int) -> None:
    """All dev rows of six tasks, in a stack and alone."""
    for name, runs, fields in (("alone", [0], {"engine": "graph"}), ("in a stack", range(seats), {})):
        took = {}
        for every in (30, 60):  # three evaluations, and two
            began = time.perf_counter()
            bench.together(
                bench.folder / f"eval-{name}-{every}", runs, steps=60, eval_every=every, eval_rows=None, **fields
            )
            took[every] = time.perf_counter() - began
        each = (took[30] - took[60]) / len(runs)
        peak = torch.cuda.max_memory_allocated() / 2**30
        print(f"  {name}: {each:.3f} s for an evaluation; {took[60]:.1f} s in all; {peak:.1f} GiB", flush=True)


def profiled(bench: Bench, seats: int, timed: int = 12) -> None:
    """Where the time of a joint step goes."""
    kept: list[Any] = []

    def begin() -> None:
        if not kept:
            kept.append(profile(activities=[ProfilerActivity.CUDA]))
            kept[0].__enter__()
            kept.append(time.perf_counter())
            kept.append(threading.get_ident())  # who begins also ends

    def end() -> None:
        if len(kept) == 3 and kept[2] == threading.get_ident():
            kept.append(time.perf_counter())
            kept[0].__exit__(None, None, None)

    watch = Watch(before=100, timed=timed, on_begin=begin, on_end=end)
    bench.together(bench.folder / "profile", range(seats), watch=watch)
    rows = [row for row in kept[0].key_averages() if row.self_device_time_total > 0]
    rows.sort(key=lambda row: -row.self_device_time_total)
    total = sum(row.self_device_time_total for row in rows) / timed / 1e3
    wall = (kept[3] - kept[1]) / timed * 1e3
    calls = sum(row.count for row in rows) / timed
    print(f"{seats} runs: {wall:.2f} ms per joint step, {total:.2f} ms of kernels, {calls:.0f} kernels")
    for row in rows[:32]:
        own = row.self_device_time_total / timed / 1e3
        print(f"  {own:8.3f} ms {own / total:6.1%} x{row.count / timed:6.1f}  {row.key[:110]}")


def weights_of(folder: Path) -> dict[str, torch.Tensor]:
    from safetensors.torch import load_file

    return load_file(sorted((folder / "checkpoints").iterdir())[-1] / "model.safetensors")


def difference(one: Path, other: Path) -> tuple[float, float]:
    """Of weights, but for the biases of keys, whose true gradient is zero; and of losses."""
    found, expected = weights_of(one), weights_of(other)
    apart = max(float((own - expected[name]).abs().max()) for name, own in found.items() if "key.bias" not in name)
    losses = [[line["loss"] for line in Run(folder).lines("step")] for folder in (one, other)]
    return apart, max(abs(a - b) for a, b in zip(*losses, strict=True))


def in_float(bench: Bench) -> None:
    """Members beside runs alone in single precision."""
    fields = {"precision": "no", "keep": "all", "steps": 20}
    model = bench.model
    bench.model = without_dropout(model)
    try:
        runs, _ = bench.together(bench.folder / "float", range(4), **fields)
        print(told(runs[0]), flush=True)
        for seed in range(4):
            bench.train(bench.folder / "float-alone" / str(seed), seed, engine="graph", **fields)
            apart, losses = difference(bench.folder / "float" / str(seed), bench.folder / "float-alone" / str(seed))
            print(
                f"  seed {seed}, 20 updates: weights differ by {apart:.1e} at most, losses by {losses:.1e}", flush=True
            )
    finally:
        bench.model = model


def of_base_size() -> Pretrained:
    from transformers import BertConfig, BertModel

    return Pretrained(BertModel(BertConfig(), add_pooling_layer=False), "mean")


def without_dropout(model: MultiTaskModel) -> MultiTaskModel:
    found = copy.deepcopy(model)
    for module in found.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    config = found.encoder.transformer.config  # type: ignore[union-attr]
    config.hidden_dropout_prob = config.attention_probs_dropout_prob = 0.0
    return found


def resumed(bench: Bench) -> None:
    """A stack that is stopped and goes on writes what one writes that was never stopped."""
    fields = {"steps": 24, "checkpoint_every": 12, "keep": "all"}
    bench.together(bench.folder / "whole", range(3), **fields)
    shutil.copytree(bench.folder / "whole", bench.folder / "half")
    for seed in range(3):
        (bench.folder / "half" / str(seed) / "summary.json").unlink()
    bench.together(bench.folder / "half", range(3), **fields, resume="step-00000012")
    for seed in range(3):
        one, other = bench.folder / "whole" / str(seed), bench.folder / "half" / str(seed)
        logs = (one / LOG).read_bytes() == (other / LOG).read_bytes()
        found, expected = weights_of(one), weights_of(other)
        same = all(torch.equal(own, expected[name]) for name, own in found.items())
        print(f"  seed {seed}: log {'same' if logs else 'DIFFERS'}, weights {'same' if same else 'DIFFER'}", flush=True)


def company(bench: Bench) -> None:
    """The same run alone and among eight, with dropout."""
    fields = {"steps": 20, "keep": "all"}
    bench.together(bench.folder / "eight", range(8), **fields)
    bench.together(bench.folder / "lone", [3], **fields)
    apart, losses = difference(bench.folder / "eight" / "3", bench.folder / "lone" / "3")
    moved = 20 * RATE
    print(f"  20 updates in bf16: weights, moved by up to {moved:.0e}, differ by {apart:.1e}, losses by {losses:.1e}")


def numbers(text: str) -> list[int]:
    return [int(own) for own in text.split(",")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=data_folder(), help="folder with glue/; default $ROTA_DATA")
    parser.add_argument("--encoder", default="minilm", help="minilm, or a folder with it")
    parser.add_argument("--base", action="store_true", help="a model of the size of BERT base in place of the encoder")
    parser.add_argument("--only", default="speed,trainer,streams,evaluation,compile,profile,float,resume,company")
    parser.add_argument("--seats", type=numbers, default="8,32", help="of stacks")
    parser.add_argument("--streams", type=numbers, default="2,4,8")
    asked = parser.parse_args()
    if asked.data is None or not (asked.data / "glue").is_dir() or not torch.cuda.is_available():
        print("skipped: this needs a GPU and a folder with glue/ (--data, or $ROTA_DATA)")
        return
    print(f"{versions()}; {torch.cuda.get_device_name()}", flush=True)
    tasks = load_tasks(TASKS, Reading(asked.data, asked.encoder))
    torch.manual_seed(0)
    only, seats = asked.only.split(","), asked.seats
    with tempfile.TemporaryDirectory() as place:
        encoder = of_base_size() if asked.base else pretrained(asked.encoder, "mean")
        bench = Bench(tasks, MultiTaskModel(encoder, tasks), Path(place))
        sections: list[tuple[str, str, Callable[[], Any]]] = []
        lone = [1.0]
        sections.append(("speed", "one run alone", lambda: lone.__setitem__(0, lone_speed(bench))))
        sections += [
            ("speed", f"{own} runs in a stack", lambda own=own: stack_speed(bench, own, lone[0])) for own in seats
        ]
        sections.append(("trainer", "transformers.Trainer", lambda: trainer_speed(bench, lone[0])))
        sections += [
            ("streams", f"{own} runs on streams", lambda own=own: stream_speed(bench, own, lone[0]))
            for own in asked.streams
        ]
        sections.append(("streams", "streams and alone", lambda: streams_and_alone(bench, 6)))
        sections.append(("evaluation", "evaluations", lambda: evaluations(bench, seats[-1])))
        sections.append(("compile", "compiled layers", lambda: compiled(bench)))
        sections.append(("profile", "profile", lambda: profiled(bench, seats[0])))
        sections.append(("float", "single precision", lambda: in_float(bench)))
        sections.append(("resume", "stopped and resumed", lambda: resumed(bench)))
        sections.append(("company", "alone and in company", lambda: company(bench)))
        sections.append(
            ("speed", f"{seats[0]} runs, half of them adaptive", lambda: stack_speed(bench, seats[0], lone[0], False))
        )
        for kind, name, work in sections:
            if kind not in only:
                continue
            if time.perf_counter() - bench.began > LIMIT:
                print(f"left out, for want of time: {name}")
                continue
            with section(name, bench):
                work()


if __name__ == "__main__":
    main()
