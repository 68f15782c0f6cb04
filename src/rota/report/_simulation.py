"""Figure 1 of paper 001: how policies learn in environments of the MTL bandit."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from pathlib import Path

import numpy as np

from rota.report._curves import panel
from rota.report._numbers import Curve
from rota.report._page import legend, section, whole_page, write_page
from rota.report._palette import AGGREGATE, Look, method_looks
from rota.report._plots import plotly_script, to_html
from rota.simulation import Study

NOTE = (
    '<p class="note">Mean score over the arms against the steps: lines are medians over seeds, bands reach from the '
    "smallest to the largest seed. The oracle samples from the mixture with which every arm would just reach its best "
    "if nothing were forgotten; the best static mixture is found by somebody who knows the environment.</p>"
)


def write_simulation(studies: Mapping[int, Study], title: str, page: Path) -> None:
    """Write one self-contained HTML page with a panel per environment.

    Args:
        studies: By the number of the environment.
        title: Of the page.
        page: The file to write; one that exists is replaced.
    """
    names = list(next(iter(studies.values())).curves)
    looks: dict[str, Look] = method_looks(name for name in names if name != "oracle")
    looks["oracle"] = AGGREGATE
    panels = [
        f'<figure class="panel"><figcaption>environment {number}: {escape(_finals(study))}</figcaption>'
        f"{to_html(panel(_curves(study), looks, 1.0), f'environment-{number}')}</figure>"
        for number, study in studies.items()
    ]
    buttons = legend(looks, {name: name for name in looks})
    body = section("Learning curves", NOTE, buttons, f'<div class="panels">{"".join(panels)}</div>')
    write_page(page, whole_page(f"MTL bandit: {title}", body, plotly_script()))


def _curves(study: Study) -> dict[str, Curve]:
    """Medians over the seeds."""
    return {
        name: Curve(
            study.steps.astype(int),
            np.median(scores, axis=0),
            scores.min(axis=0),
            scores.max(axis=0),
            np.full(scores.shape[1], len(scores)),
        )
        for name, scores in study.curves.items()
    }


def _finals(study: Study) -> str:
    return ", ".join(f"{name} {study.finals(name).mean():.3f}" for name in study.curves)
