"""Chromium without a window: what it makes of a page, and what it complains about."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from html import unescape

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
BROWSER = os.environ.get("ROTA_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--disable-extensions", "--disable-dev-shm-usage"),
    *("--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",),  # nothing outside can be reached
    *("--enable-logging=stderr", "--v=0", "--virtual-time-budget=60000", "--dump-dom"),
)
OPENINGS = 6
needs_browser = pytest.mark.skipif(BROWSER is None, reason="expects chromium in PATH or in ROTA_CHROMIUM; found none")


def opened(address, profile, *flags):
    """The document after its scripts have run, and what the browser complained about.

    The browser's clock runs ahead where nothing seems to happen, so on a busy machine it may close a page before its
    scripts have told anything: then the page is opened again."""
    command = [BROWSER, *FLAGS, *flags, f"--user-data-dir={profile}", address]
    for _ in range(OPENINGS):
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        if '<pre id="told"></pre>' not in done.stdout:
            break
    return done.stdout, [line for line in done.stderr.splitlines() if ":CONSOLE" in line]


def told(document):
    """What a script of a test wrote into the document, as JSON in <pre id="told">."""
    return json.loads(unescape(re.search(r'<pre id="told">(.*?)</pre>', document, re.DOTALL)[1]))


TELEPHONE = """<body><iframe src="{}" style="width:390px;height:800px;border:0"></iframe><script>
const frame = document.querySelector("iframe");
const again = setInterval(() => {{
  const inside = frame.contentDocument?.getElementById("told");
  if (inside?.textContent) {{ clearInterval(again); document.body.append(inside.cloneNode(true)); }}
}}, 200);
</script></body>"""
"""A window is at least 500 pixels wide, so a telephone is a frame of 390 in a page around it, which copies what the
page inside tells."""
