"""Tab, in a real shell."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys

import pytest

from rota.cli import app
from rota.methods import METHODS
from rota.plans import Plan

BASH = """
source <(rota --show-completion)
COMP_WORDS=({words} {last}); COMP_CWORD={place}
_rota_completion rota
printf '%s\\n' "${{COMPREPLY[@]}}"
"""

ZSH = """
compdef() {{ }}
_arguments() {{ print -rl -- "$@"; }}
_describe() {{ print -rl -- "$@"; }}
_files() {{ print files; }}
eval "$(SHELL=/bin/zsh _ROTA_COMPLETE=source_zsh rota)"
words=({words}); CURRENT=$#words
_rota_completion
"""
"""zsh with the functions that show proposals replaced by ones that print them."""


@pytest.fixture
def home(tmp_path):
    """The surroundings of somebody who has installed `rota`, with a home of his own."""
    program = tmp_path / "bin" / "rota"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m rota "$@"\n')
    program.chmod(0o755)
    return {**os.environ, "HOME": str(tmp_path), "PATH": f"{program.parent}:{os.environ['PATH']}"}


def in_shell(shell, script, home):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    done = subprocess.run([shell, "-c", script], capture_output=True, text=True, env=home)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


def proposed(home, *words):
    """What bash proposes for the last of the words."""
    script = BASH.format(words=shlex.join(words[:-1]), last=shlex.quote(words[-1]), place=len(words) - 1)
    return in_shell("bash", script, home)


def test_bash_completes_verbs(home):
    assert {command.callback.__name__ for command in app.registered_commands} <= set(proposed(home, "rota", ""))
    assert proposed(home, "rota", "tr") == ["train", "transfer"]


def test_bash_completes_all_flags_also_those_that_the_short_help_leaves_out(home):
    flags = set(proposed(home, "rota", "train", "--"))
    fields = {f"--{'option' if name == 'options' else name.replace('_', '-')}" for name in Plan.model_fields}
    assert {*fields, "--out", "--resume", "--mixture", "--help-all"} <= flags
    assert proposed(home, "rota", "train", "--weight") == ["--weight-decay"]


def test_bash_completes_names_of_methods_and_of_their_options(home):
    assert proposed(home, "rota", "train", "--method", "") == list(METHODS)
    assert proposed(home, "rota", "train", "--steps", "3", "--method", "exp3s") == [
        *("exp3s", "exp3s@paper", "exp3s-visits")
    ]
    assert proposed(home, "rota", "methods", "unim") == ["unimax"]
    assert proposed(home, "rota", "compare", "--methods", "uniform,unim") == ["uniform,unimax"]
    assert proposed(home, "rota", "train", "--method", "exp3s", "--option", "e") == ["eta=", "epsilon=", "eta_steps="]
    assert proposed(home, "rota", "train", "--optimizer", "adam") == ["adamw", "adam", "adamax"]


def test_bash_is_told_of_it_by_one_command(home, tmp_path):
    said = in_shell("bash", "rota --install-completion; true", home)
    assert f"bash completion installed in {tmp_path / '.bash_completions' / 'rota.sh'}" in said
    words = "COMP_WORDS=(rota train --weight); COMP_CWORD=2; _rota_completion rota; echo $COMPREPLY"
    assert in_shell("bash", f"source ~/.bashrc; {words}", home) == ["--weight-decay"]


def zsh_proposes(home, words):
    """What zsh's own completion proposes: the function that `rota --show-completion` prints, asked as zsh asks it."""
    return " ".join(in_shell("zsh", ZSH.format(words=words), home))


def test_zsh_completes_verbs_methods_and_all_flags(home):
    assert "train" in zsh_proposes(home, "rota tr")
    assert "unimax" in zsh_proposes(home, "rota train --method unim")
    assert "--weight-decay" in zsh_proposes(home, "rota train --weight")  # the short help leaves it out
    assert "uniform,unimax" in zsh_proposes(home, "rota compare --methods uniform,unim")


def test_completing_loads_nothing_that_is_slow(home):
    code = "import sys; from rota.cli._completion import method_lists; method_lists(''); print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=home)
    assert done.stdout == "False\n"
