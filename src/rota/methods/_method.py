"""A method: a paper's name for one composition of policy, stream and sources."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, get_type_hints

from rota.errors import RotaError
from rota.methods._options import Options, checked
from rota.policies import Policy

if TYPE_CHECKING:
    from rota.methods._inner import InnerRuns
    from rota.tasks import Task

Need = Literal["target", "sizes"]


@dataclass(frozen=True)
class RunContext:
    """What a method may know before the first step.

    Args:
        sizes: Training rows of each task, in the order of the tasks.
        batches: Batches of each task in one pass over its rows.
        steps: Length of the run.
        seed: Of the run.
        target: The one task that counts, if there is one.
        inner: Trains inner runs; None without a run folder.
        trained: The tasks themselves, where there are any.

    >>> RunContext({"rte": 100, "mrpc": 300}, {"rte": 4, "mrpc": 10}, steps=50, seed=0).tasks
    ['rte', 'mrpc']
    """

    sizes: Mapping[str, int]
    batches: Mapping[str, int]
    steps: int
    seed: int
    target: str | None = None
    inner: InnerRuns | None = None
    trained: Sequence[Task] = ()

    @property
    def tasks(self) -> list[str]:
        return list(self.sizes)

    @property
    def trainer(self) -> InnerRuns:
        """Who trains inner runs; refuse where there is nobody."""
        if self.inner is None:
            raise RotaError("Expected a run, in whose folder inner runs can be trained. Found a policy alone.")
        return self.inner


@dataclass(frozen=True)
class Recipe:
    """What a method comes to. Streams and sources are named in plain JSON, so that nothing here loads torch.

    Args:
        policy: Chooses the next task.
        stream: "task": one task per step; "joint": all tasks, weighted; "mixed": rows of any tasks; "pool": rows that
            are picked from candidates; "rounds": branches. Or a mapping with its options beside the name.
        listen: Who tells the policy what it hears, as `rota.sources` describes it; None: the usual sources.
        settings: Fields of the plan, where neither it nor a target says otherwise.
        tasks: The tasks that take part; None: those of the policy, and those that are only evaluated.

    >>> from rota.methods import METHODS
    >>> context = RunContext({"rte": 100, "mrpc": 300}, {"rte": 4, "mrpc": 10}, steps=50, seed=0)
    >>> METHODS["proportional"].make({}, context).policy.mixture
    {'rte': 0.25, 'mrpc': 0.75}
    """

    policy: Policy
    stream: str | Mapping[str, Any] = "task"
    listen: Sequence[str | Mapping[str, Any]] | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    tasks: Sequence[str] | None = None


@dataclass(frozen=True)
class Stage:
    """Trainings that a method makes before its own run.

    Args:
        name: What they are called.
        changes: Fields of the run's plan that are others in theirs.
        runs: How many of them, at most.

    >>> stage = Stage("the search of a ratio", {"method": "cycle", "steps": 300}, runs=20)
    >>> stage.runs * stage.changes["steps"]  # updates before the run itself
    6000
    """

    name: str
    changes: Mapping[str, Any]
    runs: int = 1


@dataclass(frozen=True)
class Method:
    """A row in the table of methods.

    Args:
        name: How the command line calls it.
        summary: What it does, in one line.
        recipe: Makes it from its options and from what is known of the run. The class of its first argument, called
            `options`, declares the options.
        source: Where it comes from.
        needs: What it cannot do without: a target, or the sizes of data sets, which a simulation does not have.
        outlook: For a method that trains other runs first: what these are, and a recipe that costs as much as the one
            that they will lead to. Nothing is trained for it.

    >>> from rota.methods import METHODS
    >>> METHODS["exp3s"].summary
    'a bandit that prefers tasks with the largest loss reduction per batch'
    """

    name: str
    summary: str
    recipe: Callable[[Any, RunContext], Recipe]
    source: str = ""
    needs: tuple[Need, ...] = ()
    outlook: Callable[[Any, RunContext], tuple[Sequence[Stage], Recipe]] | None = None

    @property
    def options(self) -> type[Options]:
        """The class that declares its options."""
        found: type[Options] = get_type_hints(getattr(self.recipe, "func", self.recipe))["options"]
        return found

    def checked(self, options: Mapping[str, Any]) -> Any:
        """All of its options; report every wrong one at once."""
        return checked(self.options, options, f"Options of method '{self.name}'")

    def make(self, options: Mapping[str, Any], context: RunContext) -> Recipe:
        """Its recipe for a run."""
        return self.recipe(self._ready(options, context), context)

    def foresee(self, options: Mapping[str, Any], context: RunContext) -> tuple[Sequence[Stage], Recipe]:
        """What it would train before a run, and a recipe that costs as much as that of the run."""
        own = self._ready(options, context)
        return ((), self.recipe(own, context)) if self.outlook is None else self.outlook(own, context)

    def _ready(self, options: Mapping[str, Any], context: RunContext) -> Any:
        found = self.checked(options)
        if "target" in self.needs and context.target is None:
            raise RotaError(
                f"Method '{self.name}' expects a target. Choose one of {', '.join(context.tasks)}: Plan(target=…)."
            )
        return found
