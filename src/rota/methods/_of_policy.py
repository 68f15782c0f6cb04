"""A policy of another package as a method: its arguments are options, what it hears comes from the usual sources."""

from __future__ import annotations

import inspect
from typing import Any

from rota.errors import RotaError
from rota.methods._method import Method, Need, Recipe, RunContext
from rota.methods._options import Options, options_of
from rota.policies import Policy


def method_of_policy(name: str, policy: Any) -> Method:
    """The method that trains with a policy.

    Its constructor gets what it calls `tasks`, `sizes`, `batches`, `horizon`, `steps`, `seed` or `target` from the run;
    everything else is an option.

    Args:
        name: Of the method.
        policy: A class of policies, or a function that makes one.
    """
    if not callable(policy) or (inspect.isclass(policy) and not issubclass(policy, Policy)):
        raise RotaError(f"expected a policy, found {policy!r}")
    wanted = inspect.signature(policy).parameters
    known = {"tasks", "sizes", "batches", "horizon", "steps", "seed", "target"} & wanted.keys()
    declared: Any = options_of(policy, but=known)

    def recipe(options: Options, context: RunContext) -> Recipe:
        said = {**vars_of(context), "horizon": context.steps}
        return Recipe(policy(**{name: said[name] for name in known}, **options.of(policy)))

    recipe.__annotations__["options"] = declared
    summary = (inspect.getdoc(policy) or "a policy").split("\n\n")[0].replace("\n", " ").rstrip(".")
    needs: tuple[Need, ...] = ("target",) if "target" in known else ()
    return Method(name, summary, recipe, policy.__module__.partition(".")[0], needs)


def vars_of(context: RunContext) -> dict[str, Any]:
    """What a policy may know of a run, by name."""
    return {name: getattr(context, name) for name in ("tasks", "sizes", "batches", "steps", "seed", "target")}
