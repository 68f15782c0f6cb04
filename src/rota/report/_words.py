"""What ran and what it shows, in sentences that claim no more than the runs do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

import numpy as np

from rota.report._groups import Group, tasks_of
from rota.report._paired import Difference
from rota.report._results import all_costs
from rota.report._scores import Ranking, rank, scores

FEW = 10  # seeds below which an interval without zero is weak evidence
MANY = 4  # methods from which on the best one is likely to be a lucky one, too
LISTED = 12  # names in a sentence
UNEQUAL = 1.1  # how much dearer a method must be for the costs to be called unequal


def what_ran(groups: Sequence[Group]) -> str:
    """One paragraph: tasks, updates, methods, seeds."""
    runs = [run for group in groups for run in group.runs]
    tasks = tasks_of(runs)
    counted = [task for task, auxiliary in tasks.items() if not auxiliary]
    helpers = [task for task, auxiliary in tasks.items() if auxiliary]
    seeds = {len({run.plan.get("seed") for run in group.runs}) for group in groups}
    told = f"{count(len(runs), 'run')}: {count(len(groups), 'method')} ({names(group.name for group in groups)}) "
    told += f"with {between(seeds)} {'seed' if seeds == {1} else 'seeds'}{' each' if len(groups) > 1 else ''}, "
    told += f"{between({run.plan['steps'] for run in runs})} updates a run. "
    told += f"The average is over {count(len(counted), 'task')}: {names(counted)}. " if counted else ""
    if helpers:
        told += f"Trained as well, but not counted in it ({count(len(helpers), 'auxiliary task')}): {names(helpers)}."
    return f"<p>{told.strip()}</p>"


def what_it_shows(groups: Sequence[Group], baseline: str | None = None) -> str:
    """Which method is ahead, and whether that is more than noise."""
    ranking = rank(groups, baseline)
    if ranking.best is None:
        if not ranking.comparable:
            return "<p>The averages are over different tasks, so they cannot be compared with each other.</p>"
        return "<p>No run is finished with a score, so there is nothing to compare yet.</p>"
    top = scores(ranking.best, ranking.split)
    told = (
        f"<strong>{escape(ranking.best.name)}</strong> has the highest average {ranking.split} score: "
        if ranking.other
        else f"The average {ranking.split} score of {escape(ranking.best.name)} is "
    )
    told += percent(top.mean)
    told += f" ± {percent(top.std)} (mean ± standard deviation over {top.n} runs). " if top.n > 1 else " (one run). "
    return f"<p>{told}{_noise(ranking)}{_compared(ranking)}{_picked(ranking)}{_costs(groups)}</p>"


def unfinished(names_of_runs: Sequence[str]) -> str:
    """Runs without a summary, by name."""
    if not names_of_runs:
        return ""
    told = ", ".join(f"<code>{escape(name)}</code>" for name in names_of_runs)
    return (
        f'<p class="note">Unfinished, so without a score here (their curves are drawn as far as they go): {told}. '
        f"Continue them with <code>rota train --resume FOLDER</code>.</p>"
    )


def _noise(ranking: Ranking) -> str:
    if np.isnan(ranking.noise):
        return "No method ran with two seeds, so how much scores differ by chance is unknown. "
    return (
        f"Between seeds of one method, scores spread by about {percent(ranking.noise)} points (standard deviation): "
        f"take smaller differences for noise. "
    )


def _compared(ranking: Ranking) -> str:
    best, other = ranking.best, ranking.other
    if best is None or other is None:
        return ""
    difference = ranking.difference(best, other)
    if difference.n == 0:
        return f"It shares no seed with {escape(other.name)}: these runs cannot tell which of the two is better. "
    told = f"On {count(difference.n, 'shared seed')} it is {percent(difference.mean, 2, signed=True)} "
    told += f"points against {escape(other.name)}"
    told += f" (95 % interval {interval(difference, 2)}): " if difference.n > 1 else ": "
    if difference.n < 3:
        return told + "with fewer than three seeds, these runs cannot tell which of the two is better. "
    if not difference.tells:
        needed = difference.seeds_needed
        more = f" To find a difference of this size and spread takes about {needed} seeds." if needed else ""
        return told + f"zero is in the interval, so these runs cannot tell which of the two is better.{more} "
    if abs(difference.mean) < ranking.noise:
        return told + "more than nothing, but less than the spread between seeds: a hint, not a result. "
    caution = f", though {difference.n} seeds are weak evidence" if difference.n < FEW else ""
    return told + f"more than chance alone would usually give{caution}. "


def _picked(ranking: Ranking) -> str:
    """A reminder that a highest of many is partly lucky."""
    if ranking.other is None or len(ranking.ranked) < MANY:
        return ""
    return f"It was picked as the highest of {len(ranking.ranked)}, which flatters it. "


def _costs(groups: Sequence[Group]) -> str:
    """A reminder where the methods did not cost the same."""
    ratio = max((cost.relative for cost in all_costs(groups)), default=1.0)
    if not ratio >= UNEQUAL:
        return ""
    return f"The methods did not cost the same: the dearest took {ratio:.2f} times the cheapest (see Cost)."


def interval(difference: Difference, digits: int = 1) -> str:
    """Where a difference may lie, in percent."""
    return f"[{percent(difference.low, digits)}, {percent(difference.high, digits)}]"


def count(number: int, noun: str) -> str:
    """
    >>> count(1, "run"), count(3, "run")
    ('1 run', '3 runs')
    """
    return f"{number} {noun}{'' if number == 1 else 's'}"


def between(numbers: Iterable[int]) -> str:
    """
    >>> between({600}), between({300, 600})
    ('600', '300–600')
    """
    found = sorted(set(numbers))
    return str(found[0]) if len(found) == 1 else f"{found[0]}–{found[-1]}"


def names(listed: Iterable[str]) -> str:
    """Names for a sentence, escaped; the first ones if there are many."""
    found = list(listed)
    more = f" and {len(found) - LISTED} more" if len(found) > LISTED else ""
    return ", ".join(map(escape, found[:LISTED])) + more


def percent(value: float, digits: int = 1, signed: bool = False) -> str:
    """A score in percent, or a dash.

    >>> percent(0.8235), percent(-0.0042, 2, signed=True), percent(float("nan"))
    ('82.3', '−0.42', '–')
    """
    if np.isnan(value):
        return "–"
    return f"{100 * value:{'+' if signed else ''}.{digits}f}".replace("-", "−")
