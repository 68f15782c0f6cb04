"""Bad inputs by name: what is asked of the command line, in a folder that was prepared for it.

Each case is a name, what makes the files that it needs and returns the arguments, and how it has to end. All are made
from the fields that there are, so a new field brings its bad values with it.
"""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from rota.data._own import OwnTask
from rota.plans import Plan

REFUSED, NAMED, EITHER = "refused", "named", "either"
"""One sentence and 2; a damaged run that is named beside a good one, and 0; or, where what was changed may be something
that the verb does not look at, one of the two."""


@dataclass(frozen=True)
class Case:
    """One bad input."""

    name: str
    make: Callable[[Path, Path], list[Any]]
    """From the folder of the case and the folder with a good run and good data to the arguments."""
    ends: str = REFUSED


def _typed(*kinds: type) -> list[str]:
    """Fields of a plan whose annotation names one of these types and nothing of text."""
    wanted = {kind.__name__ for kind in kinds}
    found = []
    for name, field in Plan.model_fields.items():
        told = str(field.annotation)
        if any(kind in told for kind in wanted) and not any(other in told for other in ("str", "dict", "Literal")):
            found.append(name)
    return found


NUMBERS = _typed(int, float)
QUICK = ["--tasks", "digits", "--steps", "2", "-q", "--out", "out"]


def flags() -> Iterator[Case]:
    """Numbers that are none, or are out of range."""
    for field in NUMBERS:
        flag = f"--{field.replace('_', '-')}"
        for value in ("nan", "inf", "-inf", "many", "1e999", "-7", "", "0x10", "[]", "\x00", "🙈", "9" * 400):
            if "bool" in str(Plan.model_fields[field].annotation):
                continue
            yield Case(f"flag-{field}-{value[:6]!r}", lambda case, good, f=flag, v=value: ["train", *QUICK, f"{f}={v}"])


def plans() -> Iterator[Case]:
    """YAML plans with fields of the wrong type."""
    wrong = {"true": True, "list": ["p"], "map": {"a": 1}, "text": "x", "nan": float("nan"), "inf": float("inf")}
    for field in NUMBERS:
        yes = "bool" in str(Plan.model_fields[field].annotation)
        for name, value in wrong.items():
            if not (yes and name == "true"):
                yield _plan(f"plan-{field}-{name}", {field: value})
    for field in ("tasks", "only", "method", "model", "target", "data", "start", "embedding"):
        for name, value in {"number": 3, "map": {"a": 1}, "zero": ["\x00"], "none": [None]}.items():
            yield _plan(f"plan-{field}-{name}", {field: value})
    for field in ("options", "parts", "rows", "per_task"):
        for name, value in {"number": 3, "text": "x", "list": ["p"], "nested": {"left": {"left": []}}}.items():
            yield _plan(f"plan-{field}-{name}", {field: value})
    texts = {
        "syntax": "steps: [1",
        "tabs": "steps:\t- 1\n\t- 2",
        "tag": "steps: !!python/object/apply:os.system ['touch out-escaped']",
        "tag-name": "steps: !!python/name:os.system",
        "deep": "[" * 20_000,
        "laughs": "a: &a [x,x,x,x,x,x,x,x,x]\n"
        + "".join(f"{y}: &{y} [{','.join([f'*{x}'] * 9)}]\n" for x, y in zip("abcdefgh", "bcdefghi", strict=True))
        + "steps: *i\n",
        "scalar": "7",
        "list": "- 1\n- 2",
        "binary": "\x00\x01\x02",
        "twice": "steps: 1\n---\nsteps: 2",
        "merge": "<<: 3\nsteps: 1",
        "key": "{1: 2}",
        "key-list": "? [a]\n: 1",
    }
    for name, text in texts.items():
        for verb in ("train", "compare"):
            yield Case(
                f"yaml-{verb}-{name}", lambda case, good, v=verb, t=text: [v, _file(case, "p.yaml", t), "--out", "out"]
            )


def _plan(name: str, fields: dict[str, Any]) -> Case:
    def make(case: Path, good: Path) -> list[Any]:
        content = {"tasks": ["digits"], "steps": 2, **fields}
        return ["train", _file(case, "plan.yaml", yaml.safe_dump(content)), "--out", "out", "-q"]

    return Case(name, make)


MAYBE = ("labels", "metrics", "choices")  # some kinds of tasks look at them


def own_data() -> Iterator[Case]:
    """Descriptions of own tasks with wrong fields, and files that are not what they are said to be."""
    values: dict[str, Any] = {
        "true": True, "number": -3, "inf": float("inf"), "nan": float("nan"), "empty": [], "map": {"a": {"b": 1}},
        "nested": [["p"]], "zero": "\x00", "path": "../../x", "long": "x" * 400,
    }  # fmt: skip
    fine = {("auxiliary", "true"), ("labels", "nested"), *(("choices", name) for name in ("zero", "path", "long"))}
    for field in OwnTask.model_fields:
        if field == "folder":
            continue
        for name, value in values.items():
            if (field, name) not in fine:
                yield _own(f"own-{field}-{name}", {field: value}, EITHER if field in MAYBE else REFUSED)
    rows = {
        "empty": b"", "binary": bytes(range(256)), "not-json": b"text\n", "list": b"[1]\n",
        "no-field": b'{"a": 1}\n' * 4,
        "label-list": b'{"text": "a", "label": ["p"]}\n' * 4, "label-map": b'{"text": "a", "label": {"p": 1}}\n' * 4,
        "text-number": b'{"text": 3, "label": 1}\n' * 4, "text-null": b'{"text": null, "label": 1}\n' * 4,
        "deep": b"[" * 100_000, "nan": b'{"text": "a", "label": NaN}\n' * 4,
        "one-class": b'{"text": "a", "label": 1}\n' * 4, "half": b'{"text": "a", "label": 1}\n{"text": "a", "lab',
        "latin-1": '{"text": "é", "label": 1}\n'.encode("latin-1"),
    }  # fmt: skip
    for name, content in rows.items():
        yield _own(f"rows-{name}", {}, REFUSED, content)


def _own(name: str, fields: dict[str, Any], ends: str, rows: bytes | None = None) -> Case:
    def make(case: Path, good: Path) -> list[Any]:
        lines = [json.dumps({"text": f"some words {k}", "label": k % 2}) for k in range(8)]
        (case / "rows.jsonl").write_bytes(("\n".join(lines) + "\n").encode() if rows is None else rows)
        about = {"name": "own", "kind": "classification", "text": "text", "label": "label"}
        about |= {"train": "rows.jsonl", "dev": "rows.jsonl", **fields}
        return ["train", "--tasks", _file(case, "own.yaml", yaml.safe_dump(about)), "--steps", 1, "--out", "out", "-q"]

    return Case(name, make, ends)


ESCAPES = {
    "parent": "../escaped", "absolute": "/tmp/rota-escaped", "dots": "..", "dot": ".", "inside": "a/b",
    "zero": "a\x00b",
    "line": "a\nb", "long": "x" * 300, "empty": "", "blank": "  ", "back": "a\\b", "escape": "\x1b[31mred",
}  # fmt: skip


def names() -> Iterator[Case]:
    """Names that would become other paths."""
    for name, text in ESCAPES.items():
        content = {"common": {"tasks": ["digits"], "steps": 2}, "variants": {text: {"method": "uniform"}}}
        yield Case(
            f"variant-{name}",
            lambda case, good, c=content: ["compare", _file(case, "c.yaml", yaml.safe_dump(c)), "--out", "out"],
        )
        yield _own(f"task-{name}", {"name": text}, REFUSED)
        flagged = ("--method", "--target", "--only", "--model", "--data", "--start", "--tracker", "--mixture")
        for flag in flagged if "\x00" not in text else ():
            if (flag, name) == ("--data", "dots") or (
                flag in ("--only", "--start", "--mixture", "--data") and not text.strip()
            ):
                continue
            ends = EITHER if flag == "--data" else REFUSED
            yield Case(f"name{flag}-{name}", lambda case, good, f=flag, t=text: ["train", *QUICK, f, t], ends)
        for verb in ("select", "search", "autosem"):
            yield Case(
                f"{verb}-target-{name}", lambda case, good, v=verb, t=text: [v, "--tasks", "digits", f"--target={t}"]
            )
        yield Case(f"adapt-task-{name}", lambda case, good, t=text: ["adapt", good / "run", f"--task={t}"])
        yield Case(
            f"predict-task-{name}", lambda case, good, t=text: ["predict", good / "run", f"--task={t}", "--input", "x"]
        )
        if not text:
            continue
        yield Case(
            f"checkpoint-{name}",
            lambda case, good, t=text: ["train", "--resume", _unfinished(case, good), f"--checkpoint={t}", "-q"],
        )


def places() -> Iterator[Case]:
    """Folders and files that are not there, or not what they should be."""
    verbs = {
        "report": ["report"], "evaluate": ["evaluate"], "export": ["export", "-o", "out"], "improve": ["improve"],
        "resume": ["train", "--resume"], "adapt": ["adapt", "--task", "x"], "search": ["search"], "claims": ["claims"],
        "predict": ["predict", "--task", "left", "--input", "x"],
    }  # fmt: skip
    for verb, arguments in verbs.items():
        for name in ("missing", "file", "empty", "loop", "folder-run", "zero", "long"):
            yield Case(f"place-{verb}-{name}", lambda case, good, a=arguments, n=name: [*a, _place(case, n)])
    for verb in ("train", "simulate", "methods", "tasks", "report", "compare", "demo", "trian", "--nonsense"):
        for extra in ("--nonsense", "--steps", "--out"):
            yield Case(f"flag-{verb}{extra}", lambda case, good, v=verb, e=extra: [v, e])


def _place(case: Path, kind: str) -> Path | str:
    place = case / "place"
    match kind:
        case "file":
            place.write_text("x")
        case "empty":
            place.mkdir()
        case "loop":
            place.mkdir()
            (place / "run.json").symlink_to(place / "run.json")
        case "folder-run":
            (place / "run.json").mkdir(parents=True)
        case "zero":
            return "a\x00b"
        case "long":
            return "x" * 300
    return place


def damaged_runs() -> Iterator[Case]:
    """Run folders in which something was changed: read alone, and beside a good one."""
    changes = {"null": None, "true": True, "list": ["p"], "map": {"a": {}}, "text": "x", "minus": -1, "gone": ...}
    fields = {
        "run.json": ["schema", "id", "plan", "tasks", "tasks.left", "tasks.left.rows", "tasks.left.kind"],
        "summary.json": ["steps", "best", "best.dev", "best.dev.tasks", "best.dev.average", "best.dev.tasks.left.score",
                         "updates", "cost", "cost.train", "seconds"],
        "log.jsonl": ["kind", "step", "task", "tasks", "average"],
    }  # fmt: skip
    allowed = {
        *((path, name) for path in ("best.dev.average", "best.dev.tasks.left.score") for name in ("null", "minus")),
        *(("task", name) for name in ("null", "gone")),
        *(("average", name) for name in ("null", "minus")),
        ("kind", "text"),
    }
    unused = {("tasks.left", "map"), ("tasks.left.rows", "gone"), ("tasks.left.kind", "gone"), ("cost.train", "gone")}
    for file, paths in fields.items():
        for path in paths:
            for name, value in changes.items():
                if (path, name) in allowed or _fits(path, value):
                    continue
                change = _changed(file, path, value)
                if (path, name) in unused:
                    yield _damaged(f"{file}-{path}-{name}", change, ["report"], EITHER)
                    continue
                yield _damaged(f"{file}-{path}-{name}", change, ["report"], REFUSED)
                yield _damaged(f"{file}-{path}-{name}-beside", change, ["report"], NAMED)
    contents = {"empty": b"", "binary": bytes(range(256)), "deep": b"[" * 100_000, "nan": b'{"a": NaN}', "list": b"[]",
                "number": b"7", "null": b"null", "folder": None}  # fmt: skip
    for file in ("run.json", "summary.json", "log.jsonl"):
        for name, content in contents.items():
            if (file, name) in (("log.jsonl", "empty"), ("run.json", "folder"), ("summary.json", "folder")):
                continue
            if file == "log.jsonl" and content is not None:
                content += b"\n"
            yield _damaged(f"{file}-is-{name}", _written(file, content), ["report"], REFUSED)
            yield _damaged(f"{file}-is-{name}-beside", _written(file, content), ["report"], NAMED)
    for verb in (["train", "-q", "--resume"], ["evaluate"], ["export", "-o", "out"], ["improve"]):
        for file in ("run.json", "summary.json"):
            for name in ("empty", "binary", "deep", "list", "null"):
                ends = EITHER if file == "summary.json" else REFUSED
                yield _damaged(f"{verb[0]}-{file}-is-{name}", _written(file, contents[name]), verb, ends)
        for path in fields["run.json"]:
            yield _damaged(f"{verb[0]}-{path}-list", _changed("run.json", path, ["p"]), verb, REFUSED)


def _fits(path: str, value: Any) -> bool:
    """Whether the wrong value is one of the right type."""
    if path == "id" or path.endswith("kind"):
        return isinstance(value, str)
    if path in ("plan", "tasks") and isinstance(value, dict):
        return True
    return path in ("step", "task") and value == "x" and path == "task"


def _damaged(name: str, change: Callable[[Path], None], verb: list[Any], ends: str) -> Case:
    def make(case: Path, good: Path) -> list[Any]:
        broken = _copied(case, good)
        change(broken)
        if verb[0] != "report":
            return [*verb, broken]
        others = [shutil.copytree(good / "run", case / "runs" / "good")] if ends == NAMED else []
        return ["report", broken, *others, "-o", case / "out.html"]

    return Case(f"run-{name}", make, ends)


def _copied(case: Path, good: Path) -> Path:
    return shutil.copytree(good / "run", case / "runs" / "broken")


def _unfinished(case: Path, good: Path) -> Path:
    folder = _copied(case, good)
    (folder / "summary.json").unlink()
    return folder


def _changed(file: str, path: str, value: Any) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        place = folder / file
        if file.endswith(".jsonl"):
            lines = [json.loads(line) for line in place.read_text().splitlines()]
            kind = "eval" if path in ("average", "tasks") else "step"
            chosen = next(k for k, line in enumerate(lines) if line["kind"] == kind)
            _set(lines[chosen], path, value)
            place.write_text("".join(json.dumps(line) + "\n" for line in lines))
            return
        content = json.loads(place.read_text())
        _set(content, path, value)
        place.write_text(json.dumps(content))

    return change


def _set(content: dict[str, Any], path: str, value: Any) -> None:
    *before, last = path.split(".")
    for part in before:
        content = content[part]
    if value is ...:
        del content[last]
    else:
        content[last] = value


def _written(file: str, content: bytes | None) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        if content is None:
            (folder / file).unlink()
            (folder / file).mkdir()
        else:
            (folder / file).write_bytes(content)

    return change


def _file(case: Path, name: str, text: str) -> Path:
    (case / name).write_text(text)
    return case / name


def noise() -> Iterator[Case]:
    """Run folders in which bytes were changed at random; some of it may be harmless."""
    rng = random.Random(0)
    for number in range(60):
        file = rng.choice(["run.json", "summary.json", "log.jsonl"])
        where, byte = rng.random(), rng.randrange(256)

        def change(folder: Path, file: str = file, where: float = where, byte: int = byte) -> None:
            data = bytearray((folder / file).read_bytes())
            data[int(where * len(data))] = byte
            (folder / file).write_bytes(bytes(data))

        yield _damaged(f"byte-{number}-{file}", change, ["report"], EITHER)


def all_cases() -> list[Case]:
    found = [*flags(), *plans(), *own_data(), *names(), *places(), *damaged_runs(), *noise()]
    assert len({case.name for case in found}) == len(found), "each has a name of its own"
    return found
