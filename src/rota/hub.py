"""Whether the Hugging Face hub can be reached: asked once and briefly, before its libraries try five times."""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
import socket
import sys
import threading
import urllib.request
from collections.abc import Iterator
from urllib.parse import urlsplit

TIMEOUT = 1.5  # seconds for one connection
YES = {"1", "true", "yes", "on"}
LIBRARIES = ("huggingface_hub.constants", "datasets.config")
"""Modules that remember whether they are offline."""


def offline() -> str | None:
    """Why the hub cannot be asked; None if it can be."""
    for name in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TRANSFORMERS_OFFLINE"):
        if os.environ.get(name, "").lower() in YES:
            return f"${name} is set"
    address = os.environ.get("HF_ENDPOINT") or "https://huggingface.co"
    proxy = urllib.request.getproxies().get(urlsplit(address).scheme)
    found = urlsplit(proxy if proxy and "://" in proxy else address)
    host, port = found.hostname or "", found.port or (80 if found.scheme == "http" else 443)
    return None if _answers(host, port) else f"{host} does not answer"


@contextlib.contextmanager
def asked_briefly() -> Iterator[None]:
    """Inside, where the hub is offline, its libraries look at what they have downloaded before and ask nobody."""
    if offline() is None:
        yield
        return
    places = [(importlib.import_module(name), "HF_HUB_OFFLINE") for name in LIBRARIES if name in sys.modules]
    before = [getattr(*place) for place in places]
    for place in places:
        setattr(*place, True)
    try:
        yield
    finally:
        for place, value in zip(places, before, strict=True):
            setattr(*place, value)


@functools.cache
def _answers(host: str, port: int) -> bool:
    """Whether the hub answers. In a thread, since looking up a name may take longer than any limit."""
    answered = threading.Event()

    def knock() -> None:
        try:
            with socket.create_connection((host, port), timeout=TIMEOUT):
                answered.set()
        except OSError:
            return

    knocking = threading.Thread(target=knock, daemon=True)
    knocking.start()
    knocking.join(TIMEOUT)
    return answered.is_set()
