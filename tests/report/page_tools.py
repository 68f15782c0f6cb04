"""What several tests read out of a page."""

from __future__ import annotations

import json
import re

from rota.analysis import group_runs
from rota.report import ReportPage


def cells(html):
    """The rows of its tables, as plain text."""
    return [
        [" ".join(re.sub(r"<[^>]+>", " ", cell).split()) for cell in re.findall(r"<t[hd].*?</t[hd]>", row)]
        for row in re.findall(r"<tr[^>]*>(.*?)</tr>", html)
    ]


def figure(html, name):
    """The traces of a figure, with what is said under the pointer, and its layout."""
    content = json.JSONDecoder().raw_decode(html[re.search(rf'id="{name}".*?<script[^>]*>', html).end() :])[0]
    for trace in content["data"]:
        if "low" in trace.get("meta", {}):  # page.js does the same
            low, high, runs = (trace["meta"][key] for key in ("low", "high", "runs"))
            runs = runs if isinstance(runs, list) else [runs] * len(low)
            trace["customdata"] = [list(point) for point in zip(low, high, runs, strict=True)]
    return content["data"], content["layout"]


def page_of(*runs, histories=None):
    """What sections read; with histories that were written by hand."""
    page = ReportPage(runs, tuple(group_runs(runs)))
    if histories is not None:
        vars(page)["histories"] = histories  # in place of what the logs say
    return page


def shown(section, *runs, **page):
    """What a section shows; nothing where it is left out."""
    return section(page_of(*runs, **page)) or ""
