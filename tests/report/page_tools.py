"""What several tests read out of a page."""

from __future__ import annotations

import json
import re


def cells(html):
    """The rows of its tables, as plain text."""
    return [
        [" ".join(re.sub(r"<[^>]+>", " ", cell).split()) for cell in re.findall(r"<t[hd].*?</t[hd]>", row)]
        for row in re.findall(r"<tr>(.*?)</tr>", html)
    ]


def figure(html, name):
    """The traces of a figure, and its layout."""
    decoder = json.JSONDecoder()
    rest = html[re.search(rf'Plotly\.newPlot\(\s*"{name}",\s*', html).end() :]
    traces, end = decoder.raw_decode(rest)
    return traces, decoder.raw_decode(rest[end:].lstrip(", \n"))[0]
