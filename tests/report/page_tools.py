"""What several tests read out of a page."""

from __future__ import annotations

import json
import re


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
