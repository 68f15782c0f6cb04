"""A paper's name, and the composition of policy, stream and sources behind it. Naming a method needs no torch."""

from rota.deprecation import renamed_names
from rota.methods._autosem import ratio_found
from rota.methods._inner import InnerRuns
from rota.methods._method import Method, Recipe, RunContext, Stage
from rota.methods._option_rows import OptionRow, default_told, option_rows
from rota.methods._options import Options, checked, options_of
from rota.methods._ratio import find_ratio
from rota.methods._table import METHODS

__all__ = [
    "METHODS",
    "InnerRuns",
    "Method",
    "OptionRow",
    "Options",
    "Recipe",
    "RunContext",
    "Stage",
    "checked",
    "default_told",
    "find_ratio",
    "option_rows",
    "options_of",
    "ratio_found",
]

__getattr__ = renamed_names(
    __name__,
    {
        "Adaptation": "rota.comparisons.Adaptation",
        "Adapting": "rota.comparisons.Adapting",
        "BASELINES": "rota.comparisons.BASELINES",
        "COMPARISON": "rota.comparisons.COMPARISON",
        "Cell": "rota.comparisons.Cell",
        "Comparison": "rota.comparisons.Comparison",
        "Ensemble": "rota.inference.Ensemble",
        "Event": "rota.comparisons.Event",
        "FLOOR": "rota.search.FLOOR",
        "Given": "rota.methods.RunContext",
        "Plan": "rota.plans.Plan",
        "SINGLE": "rota.comparisons.SINGLE",
        "Selection": "rota.search.Selection",
        "Trained": "rota.inference.Trained",
        "candidates_of": "rota.plans.candidates_of",
        "equal_cost": "rota.comparisons.equal_cost",
        "make_comparison": "rota.comparisons.make_comparison",
        "make_plan": "rota.plans.make_plan",
        "merge_fields": "rota.plans.merge_fields",
        "run_comparison": "rota.comparisons.run_comparison",
        "run_plan": "rota.runs.run_plan",
        "select_from": "rota.search.select_from",
        "steps_done": "rota.comparisons.steps_done",
        "tasks_alike": "rota.plans.tasks_alike",
        "tasks_of": "rota.plans.tasks_of",
    },
)
