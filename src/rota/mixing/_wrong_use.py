"""What a mix says where it is used in a wrong way."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from rota.errors import RotaError, unknown_name
from rota.mixing._dealing import Dealing
from rota.mixing._open_decisions import MixBatch
from rota.policies import Policy


def check_numbers(**numbers: int | None) -> None:
    """Refuse what is no whole number of one or more; `lag` may be zero, and comes with one added."""
    for name, value in numbers.items():
        if value is not None and (not isinstance(value, int) or value < 1):
            least = 0 if name == "lag" else 1
            shown = value - 1 if name == "lag" and isinstance(value, int) else value
            raise RotaError(f"A mix expects {name} of {least} or more. Found {shown!r}.")


def check_names(policy: Policy, tasks: Iterable[str]) -> None:
    """Refuse what is no policy, and a policy over other names."""
    if not isinstance(policy, Policy):
        names = ", ".join(f'"{task}"' for task in tasks)
        raise RotaError(f"A mix expects a policy such as rota.Exp3S([{names}]). Found {policy!r}.")
    if set(policy.tasks) != set(tasks):
        raise RotaError(
            f"A mix expects a policy over its own data sets {', '.join(sorted(tasks))}. Found one over "
            f"{', '.join(sorted(policy.tasks))}."
        )


def check_batch_sizes(batch_size: int | Mapping[str, int], tasks: Iterable[str]) -> dict[str, int]:
    """One for each task."""
    tasks = list(tasks)
    sizes = dict(batch_size) if isinstance(batch_size, Mapping) else dict.fromkeys(tasks, batch_size)
    if set(sizes) != set(tasks):
        raise RotaError(f"A mix expects a batch size for each of {', '.join(tasks)}. Found {', '.join(sizes)}.")
    for task, size in sizes.items():
        if not isinstance(size, int) or size < 1:
            raise RotaError(f"A mix expects a batch size of one or more. Found {size!r} for '{task}'.")
    return sizes


def check_state(state: Mapping[str, Any], version: int, identity: Mapping[str, Any], shape: Sequence[int]) -> None:
    """Refuse the state of another mix."""
    if state.get("version") != version:
        raise RotaError(f"A mix expects the state of a mix, version {version}. Found {state.get('version')!r}.")
    then = state["identity"]
    if then["rows"].keys() != identity["rows"].keys():
        raise RotaError(
            f"A mix expects a state over its own sources {', '.join(sorted(identity['rows']))}. Found one over "
            f"{', '.join(sorted(then['rows']))}. Load it into a mix of those; change the sources after that."
        )
    for name in [*identity, *(name for name in then if name not in identity)]:
        value = identity.get(name)
        if then.get(name) != value:
            raise RotaError(f"A mix expects the {name} that its state has, {then.get(name)}. Found {value}.")
    if any(decision["told"] for decision in state["open"]["decisions"]) and state["shape"] != list(shape):
        raise RotaError(
            f"A mix that was saved between two batches of an update expects as many batches and processes as then, "
            f"{state['shape']}. Found {list(shape)}. Save it between updates."
        )


def check_left(state: Mapping[str, Any], present: Collection[str], left: Mapping[str, int | None]) -> None:
    """Refuse a state with updates under way of sources whose rows are not at hand."""
    under_way = {part[0] for decision in state["open"]["decisions"] for part in decision["parts"]} - set(present)
    sizes = {task: own[0] for task, own in state.get("left", {}).items()}
    for task in sorted(under_way):
        if task not in left or left[task] != sizes[task]:
            found = f"other rows, {left[task]}" if task in left else "none"
            raise RotaError(
                f"A mix whose state has updates under way of '{task}', which has left, expects its {sizes[task]} rows. "
                f"Found {found}. Build the mix with '{task}', call mix.remove('{task}', policy), and load the state "
                f"then; or save it once these updates are told of."
            )


def check_removed(names: Collection[str], known: Collection[str]) -> None:
    """Refuse names of others, and all of them."""
    for name in names:
        if name not in known:
            raise unknown_name("source", name, known)
    if len(names) == len(known) or not names:
        raise RotaError(f"mix.remove expects some of {', '.join(known)}. Found {'all' if names else 'none'} of them.")


def check_back(added: Collection[str], in_use: Collection[str]) -> None:
    """Refuse a source that comes back before all about it was heard."""
    early = [name for name in added if name in in_use]
    if early:
        raise RotaError(
            f"mix.add expects sources of which nothing is under way. Found {', '.join(early)}, which has left and has "
            f"updates that were drawn before. Add it some updates later, or under another name."
        )


def check_host(who: str, accumulation: int, world: int, own: Dealing) -> None:
    """Refuse a host whose updates have other batches, or other processes."""
    if accumulation != own.accumulation:
        raise RotaError(
            f"{who} accumulates {accumulation} batches. Expected Mix(…, accumulation={accumulation}), so that an "
            f"update has rows of one source. Found {own.accumulation}."
        )
    if world != own.world:
        raise RotaError(
            f"{who} has {world} processes. Found a mix for {own.world}: make it where they are known, or say "
            f"Mix(…, rank=…, world={world})."
        )


def check_losses(value: Any, blend: bool, tasks: Collection[str]) -> None:
    """Refuse one loss where several are meant, several where one is, and those of tasks without rows."""
    if blend != isinstance(value, Mapping):
        wanted = "the loss of each task, tell({task: loss})" if blend else "one number"
        raise RotaError(f"mix.tell expects {wanted}. Found {value!r}.")
    for task in value if blend else ():
        if task not in tasks:
            raise RotaError(f"mix.tell expects losses of {', '.join(tasks)}. Found one of '{task}'.")


def check_observed(values: Mapping[str, float], tasks: Collection[str]) -> None:
    """Refuse what was measured of unknown tasks, and what is no number."""
    for task, value in values.items():
        if task not in tasks:
            raise unknown_name("task", task, tasks)
        if not math.isfinite(value):
            raise RotaError(f"mix.observe expects numbers. Found {value} for task '{task}'. Leave it out.")


def not_told(batch: MixBatch, update: int, until: int, lag: int, least: int) -> RotaError:
    whose = f"task '{batch.task}'" if batch.task else "rows of several tasks"
    return RotaError(
        f"Update {update} expects to have heard of update {until - 1}, with lag {lag}. Found that batch {batch.number} "
        f"({whose}) was not told of. Call mix.tell(loss) for every batch, or mix.skip(). If the loader reads ahead, it "
        f"needs Mix(…, lag={least})."
    )


def reads_too_far(who: str, batches: int, least: int, lag: int) -> RotaError:
    return RotaError(f"{who} reads {batches} batches ahead. Expected Mix(…, lag={least}) or more. Found lag={lag}.")


def never_heard(policy: Policy, updates: int) -> RotaError:
    return RotaError(
        f"{type(policy).__name__} hears {' and '.join(policy.hears or ())}. Found no feedback in {updates} "
        f"updates. Give it some with mix.observe({{task: value}}), or turn feedback off: Mix(…, listen=())."
    )
