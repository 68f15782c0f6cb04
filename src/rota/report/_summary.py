"""What ran and what it shows, in sentences that claim no more than the runs do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rota.analysis import Headline, headline, overview, run_names
from rota.pretraining import contamination
from rota.report._page import ReportPage
from rota.report._pieces import Text, strong
from rota.report._templates import render
from rota.report._words import between, counted, interval, listed, percent

if TYPE_CHECKING:
    from markupsafe import Markup


def summary(page: ReportPage) -> Markup:
    """What stands before the first section: two paragraphs, and the runs that are not finished."""
    unfinished = [name for run, name in zip(page.runs, run_names(page.runs), strict=True) if not run.finished]
    return render(
        "summary.html",
        ran=what_ran(page),
        shown=what_it_shows(page),
        met_before=met_before(page),
        unfinished=unfinished,
    )


def what_ran(page: ReportPage) -> str:
    """Tasks, updates, methods, seeds."""
    found = overview(page.groups)
    if len(page.runs) == 1:
        told = f"One run of {found.methods[0]}, {between(found.steps)} updates. "
    else:
        methods = f"{counted(len(found.methods), 'method')} ({listed(found.methods)})"
        told = f"{counted(found.runs, 'run')}: {methods} with {between(found.seeds)} "
        told += f"{'seed' if found.seeds == [1] else 'seeds'}{' each' if len(found.methods) > 1 else ''}, "
        told += f"{between(found.steps)} updates a run. "
    if found.counted:
        told += f"The average is over {counted(len(found.counted), 'task')}: {listed(found.counted)}. "
    if found.auxiliary:
        auxiliary = counted(len(found.auxiliary), "auxiliary task")
        told += f"Trained as well, but not counted in it ({auxiliary}): {listed(found.auxiliary)}."
    return told.strip()


def met_before(page: ReportPage) -> list[str]:
    """What the encoders had been trained on before, of each model once, and which tasks that touches."""
    models = dict.fromkeys(str(run.plan["model"]) for run in page.runs if run.plan.get("model"))
    found = (contamination(model, page.tasks) for model in models)
    return list(dict.fromkeys(told for told in found if told))


def what_it_shows(page: ReportPage) -> Text:
    """Which method is ahead, and what its lead is worth; of one method alone, what it reached."""
    found = headline(page.groups, page.baseline)
    ranking, top = found.ranking, found.top
    if ranking.best is None:
        if not ranking.comparable:
            return "The averages are over different tasks, so they cannot be compared with each other."
        if len(page.runs) == 1:
            return "It has no score yet." if not page.runs[0].finished else "Nobody told it a score."
        return "No run is finished with a score, so there is nothing to compare yet."
    name, split = ranking.best.name, ranking.split
    over = f" ± {percent(top.std)} (mean ± standard deviation over {top.n} runs). " if top.n > 1 else ". "
    if ranking.other is None:
        return (
            f"Its average {split} score is " if len(page.runs) == 1 else f"The average {split} score of {name} is ",
            percent(top.mean),
            over,
        )
    ahead: Text = (strong(name), f" has the highest average {split} score: ", percent(top.mean), over)
    return (ahead, _seeds(ranking.noise), _compared(found), _reminders(found))


def _seeds(spread: float) -> str:
    """How far one method's scores are apart. What that says about a difference, the difference's interval says."""
    if np.isnan(spread):
        return "No method ran with two seeds, so how much scores vary between seeds is unknown. "
    return f"Scores of one method spread by about {percent(spread)} points (standard deviation) from seed to seed. "


def _compared(found: Headline) -> str:
    other, difference = found.ranking.other, found.difference
    if other is None or difference is None:
        return ""
    if found.evidence == "no shared seed":
        return f"It shares no seed with {other.name}: these runs cannot tell which of the two is better. "
    told = f"On {counted(difference.n, 'shared seed')} it is {percent(difference.mean, 2, signed=True)} "
    told += f"points against {other.name}"
    told += f" (95 % interval {interval(difference, 2)}): " if difference.n > 1 else ": "
    if found.evidence == "too few seeds":
        return told + "with fewer than three seeds, these runs cannot tell which of the two is better. "
    if found.evidence == "unclear":
        needed = difference.seeds_needed
        more = f" To find a difference of this size and spread takes about {needed} seeds." if needed else ""
        return told + f"zero is in the interval, so these runs cannot tell which of the two is better.{more} "
    caution = f", though {difference.n} seeds are weak evidence" if found.evidence == "weak" else ""
    return told + f"zero is not in the interval, so it is more than chance alone would usually give{caution}. "


def _reminders(found: Headline) -> str:
    """That a highest of many is partly lucky, and that methods did not cost the same."""
    told = ""
    if found.picked_from is not None:
        told += f"It was picked as the highest of {found.picked_from}, which flatters it. "
    if found.dearest is not None:
        told += (
            f"The methods did not cost the same: the dearest took {found.dearest:.2f} times the cheapest (see Cost)."
        )
    return told
