"""Whoever wants numbers pays for nothing that draws."""

from __future__ import annotations

import subprocess
import sys

import pytest
from log_tools import write_run

HEAVY = "{'torch', 'plotly', 'jinja2', 'markupsafe', 'rota.report'}"


@pytest.mark.parametrize("code", ["", "all_scores(groups); all_costs(groups); headline(groups); overview(groups)"])
def test_analysis_loads_neither_torch_nor_what_draws(code, tmp_path):
    folder = write_run(tmp_path, "a", average=0.5).folder
    lines = [
        "import sys",
        "from rota.analysis import all_costs, all_scores, group_runs, headline, overview",
        "from rota.runlog import Run",
        f"groups = group_runs([Run({str(folder)!r})])",
        code,
        f"print({HEAVY} & set(sys.modules))",
    ]
    done = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
