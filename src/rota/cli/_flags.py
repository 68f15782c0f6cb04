"""What the library says in Python, in the words of the command line."""

from __future__ import annotations

import re

FIELD = re.compile(r"(?:Settings|Plan|Adapting)\((\w+)=([^()]*)\)")
OF_TASK = re.compile(r"Task\((\w+)=[^()]*\)")
RESUME = re.compile(r"fit\(…, '([^']*)', resume=(True|'[^']*')(, elastic=True)?\)")


def in_flags(sentence: str) -> str:
    """The sentence with flags where it has fields of settings and plans.

    >>> in_flags("Lower Settings(lr=…), or say Settings(on_nan='skip').")
    'Lower --lr, or say --on-nan skip.'
    >>> in_flags("Leave Task(stop_after=…) out. Continue with fit(…, 'runs/a', resume='step-00000200').")
    'Leave --per-task TASK.stop_after out. Continue with `rota train --resume runs/a --checkpoint step-00000200`.'
    >>> in_flags("Go on with fit(…, 'runs/a', resume=True, elastic=True).")
    'Go on with `rota train --resume runs/a --elastic`.'
    """
    sentence = RESUME.sub(_resume, sentence)
    sentence = OF_TASK.sub(r"--per-task TASK.\1", sentence)
    return FIELD.sub(_flag, sentence)


def _flag(found: re.Match[str]) -> str:
    name, value = found.groups()
    told = "" if value in ("…", "True") else f" {value.strip(chr(39))}"
    return f"--{name.replace('_', '-')}{told}"


def _resume(found: re.Match[str]) -> str:
    folder, checkpoint, elastic = found.groups()
    which = "" if checkpoint == "True" else f" --checkpoint {checkpoint.strip(chr(39))}"
    return f"`rota train --resume {folder}{which}{' --elastic' if elastic else ''}`"
