"""The house stands: imports go downward, the ground floor is light, what is exported is what is there."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import rota
from rota.schedules import annealed_power, as_schedule, constant, cosine, linear, warmup_linear

SOURCE = Path(rota.__file__).parent

# Each room may import the rooms before it.
ROOMS = [
    *("errors", "feedback", "seeds", "schedules", "settings", "pretrained"),
    *("curves", "policies", "runlog", "offpolicy", "search", "simulation"),
    *("tasks", "data", "models", "signals"),
    *("streams", "trials", "training", "methods"),
    *("integrations", "report", "testing", "cli"),
]
GROUND = {
    "errors",
    "pretrained",
    "feedback",
    "seeds",
    "schedules",
    "policies",
    "curves",
    "offpolicy",
    "search",
    "simulation",
    "runlog",
}
STRANGERS = {("policies", "signals"), ("signals", "policies"), ("models", "data"), ("data", "models")}
ALLOWED_IN_REPORT = GROUND - {"pretrained", "feedback", "seeds"} | {"settings"}


def room_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imports(path: Path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""
            if node.module == "rota":
                yield from (f"rota.{alias.name}" for alias in node.names)


def modules():
    return [path for path in SOURCE.rglob("*.py") if room_of(path) not in ("__init__", "__main__")]


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_go_downward_only(path):
    room = room_of(path)
    for name in imports(path):
        parts = name.split(".")
        if parts[0] != "rota" or len(parts) == 1:
            if room in GROUND:
                assert parts[0] not in ("torch", "pydantic", "rich", "typer"), f"{name} on the ground floor"
            continue
        other = parts[1]
        if other == room or other not in ROOMS:
            continue
        assert ROOMS.index(other) < ROOMS.index(room), f"{room} imports {other}"
        assert (room, other) not in STRANGERS, f"{room} and {other} meet in the loop, not here"
        if room == "report":
            assert other in ALLOWED_IN_REPORT, f"the report reads logs, games and searches; it does not need {other}"


def test_every_room_is_known():
    assert {room_of(path) for path in modules()} <= set(ROOMS)


def test_private_modules_are_imported_only_inside_their_room():
    for path in modules():
        for name in imports(path):
            parts = name.split(".")
            private = [k for k, part in enumerate(parts) if part.startswith("_") and not part.startswith("__")]
            if parts[0] == "rota" and private:
                assert parts[1] == room_of(path), f"{path} reaches into {name}"


PACKAGES = ["rota", *(f"rota.{module.name}" for module in pkgutil.iter_modules([str(SOURCE)]) if module.ispkg)]


@pytest.mark.parametrize("name", PACKAGES)
def test_what_is_exported_is_there(name):
    module = importlib.import_module(name)
    if name == "rota.cli":
        return
    assert list(module.__all__) == sorted(module.__all__, key=lambda n: (n.upper() != n, n[0].islower(), n))
    for exported in module.__all__:
        value = getattr(module, exported)
        if inspect.isclass(value) or inspect.isfunction(value):
            assert value.__doc__, f"{name}.{exported} has no docstring"


def run_python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    "names",
    [
        "rota",
        "rota.policies, rota.simulation, rota.curves, rota.offpolicy, rota.report, rota.runlog, rota.schedules",
        "rota.search",
        "rota.cli, rota.methods",
    ],
)
def test_light_imports_do_not_load_torch(names):
    heavy = "{'torch', 'accelerate', 'sklearn', 'optuna', 'plotly', 'transformers'}"
    assert run_python(f"import sys, {names}; print({heavy} & set(sys.modules))").strip() == "set()"


def test_wrong_names_in_the_package_are_attribute_errors():
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = rota.nonsense
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = importlib.import_module("rota.methods").nonsense


def test_schedules_at_their_ends():
    assert constant(0.3)(10**9) == 0.3
    assert [linear(2, 4, 10)(step) for step in (-5, 0, 5, 10, 99)] == [2, 2, 3, 4, 4]
    assert linear(2, 4, 0)(0) == 4
    assert cosine(2, 4, 0)(0) == pytest.approx(4)
    assert annealed_power(epochs=1, steps_per_epoch=5)(100) == 1.0
    assert warmup_linear(0, 4)(0) == 1.0
    assert warmup_linear(0, 4)(4) == 0.0
    assert as_schedule(2)(5) == 2.0
    schedule = linear(0, 1, 2)
    assert as_schedule(schedule) is schedule
