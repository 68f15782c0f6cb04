"""Figure 1 of Glover & Hokamp 2019: how policies learn in environments of the MTL bandit."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rota.analysis import median_curves
from rota.report._document import document, write_file
from rota.report._palette import AGGREGATE, method_styles
from rota.report._panels import curves_figure
from rota.report._pieces import Panel, legend_buttons
from rota.report._plots import figure_html
from rota.report._templates import render
from rota.simulation import Study


def write_simulation(studies: Mapping[int, Study], title: str, page: Path) -> None:
    """Write one self-contained HTML page with a panel per environment.

    Args:
        studies: By the number of the environment.
        title: Of the page.
        page: The file to write; one that exists is replaced.

    >>> import tempfile
    >>> import numpy as np
    >>> from rota.simulation import Study
    >>> study = Study(np.array([0, 10]), {"uniform": np.array([[0.0, 0.5], [0.0, 0.7]])})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_simulation({0: study}, "one environment", Path(folder) / "simulation.html")
    ...     (Path(folder) / "simulation.html").is_file()
    True
    """
    names = list(next(iter(studies.values())).curves)
    styles = {**method_styles(name for name in names if name != "oracle"), "oracle": AGGREGATE}
    panels = [
        Panel(
            f"environment {number}: {_finals(study)}",
            figure_html(curves_figure(median_curves(study), styles), f"environment-{number}"),
        )
        for number, study in studies.items()
    ]
    body = render("simulation.html", buttons=legend_buttons(styles), panels=panels)
    write_file(page, document(f"MTL bandit: {title}", [("Learning curves", body)]))


def _finals(study: Study) -> str:
    return ", ".join(f"{name} {study.finals(name).mean():.3f}" for name in study.curves)
