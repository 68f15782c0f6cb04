"""Flags from the fields of a plan: one list of settings, for YAML files and the command line alike."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import typer
import yaml
from pydantic.fields import FieldInfo

from rota.cli._completion import completed
from rota.cli._help import HELP_ALL, shown_first
from rota.errors import RotaError, unknown_name, yaml_fault
from rota.methods import METHODS, Options, default_told
from rota.plans import Plan
from rota.settings import BEST, BY_METRIC, Settings

Verb = Callable[..., None]


USUAL = frozenset({"tasks", "data", "method", "options", "model", "steps", "batch_size", "lr", "seed"})
"""Fields of a plan whose flags a newcomer needs."""
GROUPS = {
    "Tasks and rows": ("only", "target", "rows", "halve_dev", "cut_dev", "per_task"),
    "The model": (
        *("parts", "adapter", "freeze", "frozen_cache", "start", "embedding"),
        *("pooling", "head_hidden", "dropout", "longest"),
    ),
    "Updates": (
        *(
            "budget",
            "accumulate",
            "optimizer",
            "optimizer_per_task",
            "weight_decay",
            "decay_all",
            "momentum",
            "betas",
            "eps",
        ),
        *("warmup", "schedule", "clip", "decay_by", "decay_after", "clip_each", "on_nan", "park_after"),
    ),
    "Evaluation and checkpoints": (
        *("eval_every", "eval_rows", "eval_batch_size", "checkpoint_every", "best", "patience"),
    ),
    "The machine": ("device", "precision", "engine", "shard", "threads", "num_workers", "group_lengths", "delay"),
}
"""The other fields of a plan, as `--help-all` shows their flags."""

SHAPES = {"best": f"{'|'.join(BEST)}|{BY_METRIC}NAME", "budget": "updates|WORD:N"}
"""What stands for the value of a flag whose type does not say it."""


def with_plan_flags(rare: Iterable[str] = (), decided: Iterable[str] = ()) -> Callable[[Verb], Verb]:
    """Give a verb a flag for every field of `Plan` that it does not declare itself.

    The flags that were used arrive in its keyword argument `fields`, as plain values. They are checked with
    the plan, where all mistakes are reported together, not one by one by the parser.

    `--help` shows the usual ones of them and the verb's own; `--help-all` shows everything.

    Args:
        rare: Flags of its own that are not for newcomers.
        decided: Fields that the verb decides itself: it refuses their flags.
    """

    def give(verb: Verb) -> Verb:
        declared = set(inspect.signature(verb).parameters)
        flags = {name: field for name, field in Plan.model_fields.items() if name not in declared}
        flags = dict(sorted(flags.items(), key=lambda item: item[0] in Settings.model_fields))  # what before how
        given = _with_flags(verb, "fields", flags, HELP_ALL)
        shown_first(given, frozenset({*declared, "help_all", *(USUAL - set(decided))} - set(rare)))
        return given

    return give


def with_option_flags(options: type[Options], *names: str) -> Callable[[Verb], Verb]:
    """Give a verb flags for some options of a method, in its keyword argument `options`."""
    flags = {name: options.model_fields[name] for name in names}
    return lambda verb: _with_flags(verb, "options", flags)


def _with_flags(verb: Verb, argument: str, flags: Mapping[str, FieldInfo], *more: inspect.Parameter) -> Verb:
    """The verb with these flags, and with more that say something at once and are not for it to hear."""
    signature = inspect.signature(verb, eval_str=True)
    own = [*(parameter for name, parameter in signature.parameters.items() if name != argument), *more]
    parameters = [_flag(name, field, _group(name) if argument == "fields" else None) for name, field in flags.items()]

    def wrapped(**values: Any) -> None:
        for parameter in more:
            values.pop(parameter.name, None)
        used = {name: values.pop(name) for name in flags}
        verb(**values, **{argument: {name: _parse(name, value) for name, value in used.items() if value is not None}})

    wrapped.__name__, wrapped.__doc__ = verb.__name__, verb.__doc__
    in_order = sorted([*own, *parameters], key=lambda parameter: parameter.kind)
    wrapped.__signature__ = signature.replace(parameters=in_order)  # type: ignore[attr-defined]
    wrapped.__annotations__ = {p.name: p.annotation for p in [*own, *parameters]}
    return wrapped


def _flag(name: str, field: FieldInfo, panel: str | None) -> inspect.Parameter:
    flag = f"--{name.removesuffix('s') if name == 'options' else name}".replace("_", "-")
    option = typer.Option(
        None,
        flag,
        help=f"{_lowered(field.description or '')}{_shown(field)}",
        metavar=SHAPES.get(name) or _metavar(field.annotation),
        rich_help_panel=panel,
        autocompletion=completed(name, field.annotation),
    )
    kind: Any = bool | None if field.annotation is bool else str | None
    annotation = list[str] | None if name == "options" else kind
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=option, annotation=annotation)


def _group(name: str) -> str:
    return next((group for group, names in GROUPS.items() if name in names), "The run")


def _lowered(sentence: str) -> str:
    """As the help of a flag is written: without a capital at the beginning and a stop at the end.

    >>> _lowered("Ratios to try."), _lowered("CPU threads")
    ('ratios to try', 'CPU threads')
    """
    begin = sentence[:1] if sentence[:2].isupper() else sentence[:1].lower()
    return begin + sentence[1:].removesuffix(".")


def pairs(text: str, flag: str) -> dict[str, Any]:
    """`left=2,right=1` as a mapping."""
    found = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = part.partition("=")
        if not equals:
            raise RotaError(f"--{flag} expects name=value pairs such as left=2,right=1. Found '{part}'.")
        found[name.strip()] = parsed(value, f"--{flag} {name.strip()}")
    return found


def parsed(text: str, where: str) -> Any:
    """A value in YAML; one sentence where it is none."""
    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise RotaError(f"{where}: expected YAML. Found {yaml_fault(error)}.") from error


def read_fields(file: Path, such_as: str) -> dict[str, Any]:
    """The fields of a YAML file; one sentence where it has none, with an example of what was expected."""
    try:
        text = file.read_bytes().decode(errors="replace")
    except OSError as error:
        hint = "" if file.suffix else f" If it names tasks, say --tasks {file}."
        raise RotaError(
            f"Expected a YAML file at {file}. Found none that can be read ({error.strerror}).{hint}"
        ) from error
    content = parsed(text, str(file)) or {}
    if not isinstance(content, dict):
        hint = f" If it describes tasks, say --tasks {file}." if isinstance(content, list) else ""
        raise RotaError(f"{file}: expected fields such as `{such_as}`. Found a {type(content).__name__}.{hint}")
    return content


def listed(text: str) -> list[str]:
    """
    >>> listed("left, right,")
    ['left', 'right']
    """
    return [name for name in map(str.strip, text.split(",")) if name]


def chosen_methods(text: str) -> list[str]:
    """Names of methods from a list with commas; refuse none and unknown ones."""
    names = listed(text)
    for name in names:
        if name not in METHODS:
            raise unknown_name("method", name, METHODS)
    if not names:
        raise RotaError("--methods expects at least one name, such as uniform,exp3s. Found none.")
    return names


def refuse_decided(verb: str, decided: Iterable[str], fields: Mapping[str, Any]) -> None:
    """Refuse flags for what the verb decides itself."""
    for name in sorted(set(decided) & fields.keys()):
        raise RotaError(f"`rota {verb}` decides --{name.replace('_', '-')} itself. Found it given. Leave it out.")


def numbers(text: str, flag: str) -> list[int]:
    """`0,1,2` as whole numbers."""
    try:
        return [int(part) for part in text.split(",") if part.strip()]
    except ValueError as error:
        raise RotaError(f"--{flag} expects whole numbers such as 0,1,2. Found '{text}'.") from error


def _parse(name: str, value: str | list[str] | bool) -> Any:
    if isinstance(value, bool):
        return value
    if name == "options":
        bare = next((item for item in value if "=" not in item), None)
        if bare is not None:
            raise RotaError(f"--option expects name=value, such as eta=0.01. Found '{bare}'.")
        return {key: parsed(text, f"--option {key}") for key, _, text in (item.partition("=") for item in value)}
    assert isinstance(value, str)
    if name in ("tasks", "only", "betas"):
        return listed(value)
    if name == "parts" and "=" not in value:
        return value
    if name in ("rows", "parts"):
        return pairs(value, name)
    if name == "per_task":
        return _per_task(value)
    if name == "observe":
        return _observe(value)
    return None if value.lower() in ("none", "null") else value


def _per_task(text: str) -> dict[str, dict[str, Any]]:
    """`rte.batch_size=16,rte.loss_weight=2` as changes of tasks; metrics may be several: `rte.metrics=auc,f1`.

    >>> _per_task("rte.metrics=auc,f1,mrpc.batch_size=8")
    {'rte': {'metrics': ['auc', 'f1']}, 'mrpc': {'batch_size': 8}}
    """
    found: dict[str, dict[str, Any]] = {}
    several: list[str] | None = None  # names that go on behind a comma
    for part in listed(text):
        if several is not None and "=" not in part:
            several.append(part)
            continue
        [(name, value)] = pairs(part, "per-task").items()
        task, dot, field = name.rpartition(".")
        if not dot:
            raise RotaError(f"--per-task expects task.field=value such as rte.batch_size=16. Found '{name}={value}'.")
        several = ([] if value is None else [str(value)]) if field == "metrics" else None
        found.setdefault(task, {})[field] = value if several is None else several
    return found


def _observe(text: str) -> dict[str, dict[str, Any]]:
    """
    >>> _observe("uncertainty, uncertainty.every=50")
    {'uncertainty': {'every': 50}}
    """
    found: dict[str, dict[str, Any]] = {}
    for part in listed(text):
        word, dot, option = part.partition(".")
        found.setdefault(word, {}).update(pairs(option, "observe") if dot else {})
    return found


def _metavar(annotation: Any) -> str | None:
    if annotation is bool:
        return None
    origin = typing.get_origin(annotation)
    if origin is typing.Literal:
        return "|".join(map(str, typing.get_args(annotation)))
    if origin in (types.UnionType, typing.Union, typing.Annotated):
        return _metavar(typing.get_args(annotation)[0])
    if origin is tuple:
        return "A,B,…"
    if origin is dict:
        return "NAME" if typing.get_origin(typing.get_args(annotation)[1]) is dict else "NAME=VALUE"
    return {int: "N", float: "X"}.get(annotation, "NAME")


def _shown(field: FieldInfo) -> str:
    """The default, unless the description says it."""
    if "default" in (field.description or "") or field.default in (None, {}, (), False):
        return ""
    return f" [dim]({default_told(field)})[/dim]"
