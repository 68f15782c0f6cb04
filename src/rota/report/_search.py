"""Which ratios of tasks a search tried, what it found, and what it believes about others: stage 2 of paper 004."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from rota.report._page import legend
from rota.report._palette import GREY, Look, method_looks
from rota.report._plots import dress, label, plain, plotly_objects, to_html
from rota.report._tables import table
from rota.report._words import count, percent
from rota.runlog import INNER, SEARCH, STAGE_2, Run, best_trial

LISTED = 12  # ratios in a table, at most
FEW, MANY = 8, 24  # batches and trials up to which each number has its tick
TALL, LOW = 250, 190  # heights in pixels
MARGIN = {"l": 42, "r": 14, "t": 6, "b": 30}
ESTIMATE = "random, estimated"
ESTIMATED = Look(GREY, "dot")
GUESS = f" <small>{ESTIMATED.swatch()} of a random search, as the model estimates it</small>"
STATES = {"done": "done", "pruned": "stopped early", "reused": "known before"}
DRAWN = (
    '<p class="note">Each trial is a whole training with one ratio of batches. Its score is the dev score of the '
    "target, in percent; with several seeds, their mean. Lines are the best score so far, dots are the trials. An open "
    "dot is a trial that was stopped early, at the last score that it reported; an open triangle at the lower edge is "
    "one that was stopped below it. Searches of the same tasks with trainings of the same length share a panel. "
)
GUESSED = (
    f"<em>{ESTIMATE}</em>: no search was run for this line. It is the best score so far that random ratios would be "
    "expected to have, according to the Gaussian process that was fitted to the trials of the search; after few trials "
    "it is a weak guess. "
)
CAUTION = (
    "A ratio that was chosen for its dev score is flattered by it: the highest of many scores is partly luck, the more "
    "so the more were tried. Judge it by test scores.</p>"
)
SLICES = (
    '<p class="note">What the Gaussian process believes about other ratios: the score (mean, band of ± one deviation) '
    "with another number of batches of one task in a cycle, or another share of it, and the rest as in the best ratio. "
    "The mark is the best ratio with the score that it had.</p>"
)


@dataclass(frozen=True)
class Search:
    """What a `search.json` says.

    Args:
        name: Of the folder that it belongs to.
        sampler: Who proposed the ratios.
        tasks: The target first.
        steps: Updates of each training.
        planned: How many trials there are to be.
        tried: The trials so far, in their order.
        best: The one with the highest score; None as long as none is finished.
        slices: By task: numbers of it, their shares, means and deviations.
        random: The best score that is expected after each of so many random ratios.
    """

    name: str
    sampler: str
    tasks: tuple[str, ...]
    steps: int
    planned: int
    tried: list[dict[str, Any]]
    best: dict[str, Any] | None
    slices: dict[str, dict[str, list[float]]]
    random: list[float]

    @property
    def best_so_far(self) -> dict[int, float]:
        """The highest score after each trial, from the first finished one on. Trials count from 1."""
        found: dict[int, float] = {}
        for trial in self.tried:
            finished = [trial["value"]] if _finished(trial) else []
            if scores := [*list(found.values())[-1:], *finished]:
                found[trial["number"] + 1] = max(scores)
        return found


def search(runs: Sequence[Run]) -> str:
    """For each set of tasks the course of its searches; for each search what it believes, and its ratios.

    Args:
        runs: All runs on the page: of method autosem, which have a search inside of them, or trainings of a search.
    """
    found = read_searches(runs)
    if not found:
        return ""
    looks = method_looks(one.name for one in found)
    families: dict[tuple[str, frozenset[str], int], list[Search]] = {}
    for one in found:
        families.setdefault((one.tasks[0], frozenset(one.tasks), one.steps), []).append(one)
    told = ""
    for number, own in enumerate(families.values()):
        aim = f"target: {escape(own[0].tasks[0])}, trainings of {count(own[0].steps, 'update')}"
        told += f"<h3>{escape(' : '.join(own[0].tasks))} <small>{aim}</small></h3>"
        if any(trial["value"] is not None for one in own for trial in one.tried):
            guess = GUESS if any(one.random for one in own) else ""
            drawn = to_html(_course(own, looks), f"search-{number}")
            told += f'<figure class="panel"><figcaption>best score so far{guess}</figcaption>{drawn}</figure>'
        for place, one in enumerate(own):
            stand = f"{escape(one.sampler)}, {len(one.tried)} of {count(one.planned, 'trial')}"
            told += f"<h4>{looks[one.name].swatch()} {escape(one.name)} <small>{stand}</small></h4>"
            told += _slices(one, looks[one.name], f"search-{number}-{place}") + _table(one)
    guessed = any(one.random for one in found)
    buttons = {**looks, ESTIMATE: ESTIMATED} if guessed else looks
    note = DRAWN + (GUESSED if guessed else "") + CAUTION + (SLICES if any(one.slices for one in found) else "")
    return note + legend(buttons, {name: name for name in buttons}, {one.name: one.sampler for one in found}) + told


def read_searches(runs: Iterable[Run]) -> list[Search]:
    """The searches inside of these runs and those that these runs are trainings of, each once."""
    places: dict[Path, None] = {}
    for run in runs:
        folder = run.folder.resolve()
        around = [folder.parent.parent] if folder.parent.name == INNER else []
        places |= dict.fromkeys(place for place in (folder / INNER / STAGE_2, *around) if (place / SEARCH).is_file())
    homes = [place.parent.parent if place.parent.name == INNER else place for place in places]
    names = [home.name for home in homes]
    return [
        _read(place, home.name if names.count(home.name) == 1 else f"{home.parent.name}/{home.name}")
        for place, home in zip(places, homes, strict=True)
    ]


def _read(folder: Path, name: str) -> Search:
    told: dict[str, Any] = json.loads((folder / SEARCH).read_text(encoding="utf-8"))
    tried = sorted(told["tried"], key=lambda trial: int(trial["number"]))
    tasks = tuple(told["tasks"])
    believed = told["slices"], told["random"]
    return Search(name, told["sampler"], tasks, told["steps"], told["trials"], tried, best_trial(folder), *believed)


def _finished(trial: Mapping[str, Any]) -> bool:
    return trial["state"] != "pruned" and trial["value"] is not None


def _course(searches: Sequence[Search], looks: Mapping[str, Look]) -> Any:
    """Best scores so far, all trials, and what random ratios are expected to reach."""
    go = plotly_objects()
    figure = go.Figure()
    low, high = _range(searches)
    floor = low + 0.04 * (high - low)
    for one in (own for own in searches if own.random):
        said = f"random, as the model of {label(one.name)} estimates it: %{{y:.1f}}<extra></extra>"
        common = {"legendgroup": ESTIMATE, "name": ESTIMATE, "hovertemplate": said}
        figure.add_trace(_line(range(1, len(one.random) + 1), one.random, ESTIMATED, **common))
    for one in searches:
        look, best = looks[one.name], one.best_so_far
        common = {"legendgroup": one.name, "name": label(one.name)}
        said = f"{label(one.name)}: best %{{y:.1f}} after trial %{{x}}<extra></extra>"
        figure.add_trace(_line(best, best.values(), look, line_shape="hv", hovertemplate=said, **common))
        scored = [trial for trial in one.tried if trial["value"] is not None]
        figure.add_trace(
            go.Scatter(
                **common,
                x=[trial["number"] + 1 for trial in scored],
                y=plain([max(100 * trial["value"], floor) for trial in scored]),
                mode="markers",
                marker={"color": look.colour, "size": 8, "symbol": [_symbol(trial, floor) for trial in scored]},
                cliponaxis=False,
                customdata=[f"trial {t['number'] + 1}, {_ratio(t)}: {_score(t)}, {_state(t)}" for t in scored],
                hovertemplate=f"{label(one.name)}: %{{customdata}}<extra></extra>",
            )
        )
    longest = max(number for one in searches for number in (one.planned, *(t["number"] + 1 for t in one.tried)))
    dress(figure, TALL, margin={**MARGIN, "b": 42}, hovermode="closest")
    figure.update_xaxes(range=[0.5, longest + 0.5], title={"text": "trial", "standoff": 4}, nticks=12)
    if longest <= MANY:
        figure.update_xaxes(dtick=1)
    figure.update_yaxes(range=[low, high], nticks=6)
    return figure


def _line(x: Iterable[float], scores: Iterable[float], look: Look, **options: Any) -> Any:
    """Scores in percent."""
    line = {"color": look.colour, "dash": look.dash, "width": look.width}
    y = plain([100 * score for score in scores])
    return plotly_objects().Scatter(x=plain(x), y=y, mode="lines", line=line, **options)


def _range(searches: Sequence[Search]) -> tuple[float, float]:
    """Room for what is finished or expected; what was stopped at its beginning would press that flat."""
    scores = [score for one in searches for score in one.random]
    scores += [trial["value"] for one in searches for trial in one.tried if _finished(trial)]
    scores = scores or [trial["value"] for one in searches for trial in one.tried if trial["value"] is not None]
    room = 0.08 * (max(scores) - min(scores)) or 0.01
    return 100 * (min(scores) - room), 100 * (max(scores) + room)


def _symbol(trial: Mapping[str, Any], floor: float) -> str:
    if trial["state"] != "pruned":
        return "circle"
    return "circle-open" if 100 * trial["value"] >= floor else "triangle-down-open"


def _slices(search: Search, look: Look, name: str) -> str:
    """A panel for each task, all with the same scores on the side, so that they can be compared."""
    if not search.slices or search.best is None:
        return ""
    means, deviations = (np.concatenate([own[of] for own in search.slices.values()]) for of in ("mean", "deviation"))
    low = min([search.best["value"], *(means - deviations)])
    high = max([search.best["value"], *(means + deviations)])
    room = 0.06 * (high - low) or 0.01
    told = ""
    for number, task in enumerate(search.tasks):
        figure = _slice(search.slices[task], search.best["ratio"][task], search.best["value"], look)
        figure.update_yaxes(range=[100 * (low - room), 100 * (high + room)])
        drawn = to_html(figure, f"{name}-{number}")
        told += f'<figure class="panel"><figcaption>more or less of {escape(task)}</figcaption>{drawn}</figure>'
    return f'<div class="panels">{told}</div>'


def _slice(told: Mapping[str, Sequence[float]], number: float, score: float, look: Look) -> Any:
    go = plotly_objects()
    at, share, mean, deviation = (np.array(told[key], dtype=float) for key in ("at", "share", "mean", "deviation"))
    figure = go.Figure()
    figure.add_trace(
        go.Scatter(
            x=plain([*at, *at[::-1]]),
            y=plain(100 * np.concatenate([mean + deviation, (mean - deviation)[::-1]])),
            fill="toself",
            fillcolor=look.shade(0.15),
            mode="lines",
            line={"width": 0},
            hoverinfo="skip",
        )
    )
    said = "%{x:.3g} (%{customdata[0]:.0f} % of all): %{y:.1f} ± %{customdata[1]:.1f}<extra></extra>"
    about = list(zip(plain(100 * share), plain(100 * deviation), strict=True))
    figure.add_trace(_line(at, mean, look, customdata=about, hovertemplate=said))
    figure.add_trace(
        go.Scatter(
            x=[number],
            y=plain([100 * score]),
            mode="markers",
            marker={"color": look.colour, "size": 11, "symbol": "diamond"},
            cliponaxis=False,
            hovertemplate="best ratio: %{x:.3g}, score %{y:.1f}<extra></extra>",
        )
    )
    dress(figure, LOW, margin=MARGIN, hovermode="closest")
    if FEW >= at.max() - at.min() > 1:
        figure.update_xaxes(dtick=1)
    figure.update_yaxes(nticks=5)
    return figure


def _table(search: Search) -> str:
    """The best ratios, the best of all in bold; those that were stopped come last."""
    ranked = sorted(search.tried, key=_rank)
    seeds = any(len(trial["values"]) > 1 for trial in search.tried)
    header = ["ratio", "trial", *(f"{escape(task)}<small>% of batches</small>" for task in search.tasks), "score"]
    header += [*(["score<small>of each seed</small>"] if seeds else []), "proposed by", "state"]
    rows = []
    for trial in ranked[:LISTED]:
        ratio, score = _ratio(trial), _score(trial)
        if search.best is not None and trial["number"] == search.best["number"]:
            ratio, score = f"<strong>{ratio}</strong>", f"<strong>{score}</strong>"
        total = sum(trial["ratio"].values())
        row = [f'<th scope="row">{ratio}</th>', f"{trial['number'] + 1}"]
        row += [percent(trial["ratio"][task] / total if total else np.nan) for task in search.tasks]
        row += [score if _finished(trial) else f'<td class="dim">{score}</td>']
        row += [", ".join("–" if own is None else percent(own) for own in trial["values"]) or "–"] if seeds else []
        rows.append([*row, escape(_proposer(trial, search.sampler)), escape(_state(trial))])
    more = len(ranked) - len(rows)
    left_out = f'<p class="note">The best {LISTED}; {count(more, "more ratio")} left out.</p>' if more else ""
    return table(header, rows) + left_out


def _rank(trial: Mapping[str, Any]) -> tuple[bool, float]:
    """Finished ones come first, then higher scores."""
    return not _finished(trial), np.inf if trial["value"] is None else -trial["value"]


def _ratio(trial: Mapping[str, Any]) -> str:
    return ":".join(f"{part:g}" for part in trial["ratio"].values())


def _score(trial: Mapping[str, Any]) -> str:
    return "–" if trial["value"] is None else percent(trial["value"])


def _state(trial: Mapping[str, Any]) -> str:
    return STATES.get(trial["state"], trial["state"])


def _proposer(trial: Mapping[str, Any], sampler: str) -> str:
    return trial["acquisition"] or (sampler if sampler == "grid" else "random")
