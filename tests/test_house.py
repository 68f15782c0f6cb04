"""The house stands: imports go downward, the ground floor is light, what is exported is what is there."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import subprocess
import sys
from collections import Counter, defaultdict
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import rota
from rota.schedules import annealed_power, as_schedule, constant, cosine, linear, warmup_linear

SOURCE = Path(rota.__file__).parent
DESIGN = SOURCE.parent.parent / "docs" / "design.md"

# Each room may import the rooms before it.
ROOMS = [
    *(
        "errors",
        "names",
        "arrays",
        "averages",
        "limits",
        "budgets",
        "deprecation",
        "notebooks",
        "plugins",
        "interrupts",
        "turns",
        "feedback",
        "seeds",
        "schedules",
        "settings",
        "hub",
        "guarded",
        "packaged",
        "pretrained",
        "pretraining",
    ),
    *("curves", "surfaces", "policies", "draws", "runlog", "offpolicy", "search", "simulation"),
    *("tasks", "callbacks", "data"),
    *("models/core", "models/camtl", "models/adapters", "models/language", "models", "signals"),
    *("engine", "evaluation", "streams", "trials", "sources", "mixing", "training"),
    *("plans", "inference", "methods", "runs", "workers", "comparisons"),
    *("integrations", "analysis", "report", "testing", "cli"),
]
GROUND = set(ROOMS[: ROOMS.index("tasks")])
WITHOUT_PYDANTIC = GROUND - {"settings", "runlog"}  # settings are asked for, records are read back
STRANGERS = {("policies", "signals"), ("signals", "policies"), ("models", "data"), ("data", "models")}
READS_LOGS = GROUND - {"pretrained", "hub", "feedback", "seeds"}
"""What the analysis of logs, and so the report, may know."""
SAME_FILES = {"_auto.py", "_exp3s.py", "_thompson.py", "_autosem.py", "_search.py"}
"""File names that occur in two rooms: a method is called like its policy, a verb like what it does."""


def room_of(path: Path) -> str:
    """The innermost room of a file; a file of the package itself is a room."""
    parts = path.relative_to(SOURCE).parts
    return "/".join(parts[:-1]) or parts[0].removesuffix(".py")


def room_of_module(name: str) -> str | None:
    """The room of a module's name; None where it is not of the house."""
    parts = name.split(".")
    if parts[0] != "rota" or len(parts) == 1:
        return None
    return next((room for k in (3, 2) if (room := "/".join(parts[1:k])) in ROOMS), None)


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
        package, other = name.split(".")[0], room_of_module(name)
        if room in GROUND:
            assert package not in ("torch", "rich", "typer"), f"{name} on the ground floor"
        if room in WITHOUT_PYDANTIC:
            assert package != "pydantic", f"{name} where NumPy and the standard library are enough"
        if room == "analysis":
            assert package not in ("torch", "plotly", "jinja2"), f"{name} where numbers are worked out"
        if other is None or other == room:
            continue
        assert ROOMS.index(other) < ROOMS.index(room), f"{room} imports {other}"
        assert (room, other) not in STRANGERS, f"{room} and {other} meet in the loop, not here"
        if room in ("analysis", "report"):
            known = READS_LOGS | ({"analysis", "pretrained"} if room == "report" else set())
            assert other in known, f"{room} reads logs, games and searches; it does not need {other}"


def test_every_room_is_known_and_described():
    rooms = {room_of(path) for path in modules()}
    assert rooms <= set(ROOMS)
    page = DESIGN.read_text()
    missing = [room for room in sorted(rooms) if f"`{room}`" not in page and f"`{room}/`" not in page]
    assert not missing, f"docs/design.md says nothing about {missing}"


def cycle_in(edges):
    try:
        list(TopologicalSorter(edges).static_order())
    except CycleError as error:
        return error.args[1]
    return None


def test_rooms_import_each_other_in_one_direction():
    edges = defaultdict(set)
    for path in modules():
        edges[room_of(path)] |= {other for name in imports(path) if (other := room_of_module(name))} - {room_of(path)}
    assert cycle_in(edges) is None
    assert cycle_in({"training": {"training/engine"}, "training/engine": {"training"}})  # it would be seen


def test_modules_import_each_other_in_one_direction():
    edges = defaultdict(set)
    for path in modules():
        own = ".".join(("rota", *path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__")
        for node in ast.parse(path.read_text()).body:  # not what is imported late
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("rota."):
                edges[own].add(node.module)
    assert cycle_in(edges) is None


def test_private_modules_are_imported_only_inside_their_room():
    for path in modules():
        for name in imports(path):
            parts = name.split(".")
            private = [k for k, part in enumerate(parts) if part.startswith("_") and not part.startswith("__")]
            if parts[0] == "rota" and private:
                assert "/".join(parts[1 : private[0]]) == room_of(path), f"{path} reaches into {name}"


def test_one_name_means_one_thing():
    classes, files = defaultdict(set), defaultdict(set)
    for path in modules():
        if path.name != "__init__.py":
            files[path.name].add(room_of(path))
        for node in ast.parse(path.read_text()).body:
            names = [node.name] if isinstance(node, ast.ClassDef) else []
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):  # an alias of a type
                names = [name for name in [node.targets[0].id] if name[0].isupper() and not name.isupper()]
            for name in names:
                classes[name].add(room_of(path))
    assert {name: rooms for name, rooms in classes.items() if len(rooms) > 1} == {}
    assert {name for name, rooms in files.items() if len(rooms) > 1} == SAME_FILES


PACKAGES = ["rota", *(module.name for module in pkgutil.walk_packages([str(SOURCE)], "rota.") if module.ispkg)]


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


def test_no_two_test_files_share_a_name():
    # pytest imports test files by their bare names: of two alike only one is collected, and the run ends in an error.
    names = [
        path.name
        for path in Path(__file__).parent.rglob("*.py")
        if path.name != "conftest.py" and "plugin" not in path.parts
    ]
    assert not [name for name, count in Counter(names).items() if count > 1]


def run_python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    "names",
    [
        "rota",
        "rota.policies, rota.simulation, rota.curves, rota.offpolicy, rota.runlog, rota.schedules, rota.draws",
        "rota.analysis, rota.report, rota.search",
        "rota.sources, rota.plans, rota.methods, rota.runs, rota.comparisons, rota.testing",
        "rota.cli",
    ],
)
def test_light_imports_do_not_load_torch(names):
    heavy = "{'torch', 'accelerate', 'sklearn', 'optuna', 'plotly', 'jinja2', 'transformers'}"
    assert run_python(f"import sys, {names}; print({heavy} & set(sys.modules))").strip() == "set()"


def test_wrong_names_in_the_package_are_attribute_errors():
    for name in ("rota", "rota.methods", "rota.plans", "rota.testing"):
        with pytest.raises(AttributeError, match=f"module '{name}' has no attribute 'nonsense'"):
            _ = importlib.import_module(name).nonsense


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
