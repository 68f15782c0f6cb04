"""`rota train --resume RUN --add-task … --drop-task …`."""

import shutil

import pytest
from run_tools import assert_same_run

from rota.runlog import Run
from rota.training._checkpointer import Checkpointer

TEXTS = ["--tasks", "toytext", "--only", "mood,where,roles", "--method", "exp3s", "--device", "cpu", "--steps", 60]
OFTEN = ["--batch-size", 4, "--eval-every", 20, "--checkpoint-every", 20, "-q"]


@pytest.fixture
def die_behind(monkeypatch):
    """The process ends behind the checkpoint of a step."""
    save = Checkpointer.save

    def at(step):
        def saved(self, done):
            save(self, done)
            if done == step:
                raise KeyboardInterrupt

        monkeypatch.setattr(Checkpointer, "save", saved)

    return at


def test_tasks_come_and_go(rota_main, die_behind, tmp_path):
    die_behind(20)
    assert rota_main("train", *TEXTS, *OFTEN, "--out", tmp_path / "r")[0] == 130
    resume = ["train", "--resume", tmp_path / "r", "-q"]
    die_behind(40)
    assert rota_main(*resume, "--add-task", "who,howmany", "--drop-task", "mood")[0] == 130
    shutil.copytree(tmp_path / "r", tmp_path / "same")
    die_behind(None)
    assert rota_main("train", "--resume", tmp_path / "same", "-q")[0] == 0  # it knows its tasks by now
    assert rota_main(*resume, "--drop-task", "who")[0] == 0
    run = Run(tmp_path / "r")
    assert [(own["step"], own["added"], own["dropped"]) for own in run.task_changes] == [
        (20, ["howmany", "who"], ["mood"]),
        (40, [], ["who"]),
    ]
    assert set(run.summary["best"]["dev"]["tasks"]) == {"where", "roles", "howmany"}
    assert set(Run(tmp_path / "same").summary["best"]["dev"]["tasks"]) == {"where", "roles", "who", "howmany"}
    code, page, _ = rota_main("report", tmp_path / "r", "-o", tmp_path / "page.html")
    assert (code, "1 run" in page) == (0, True)
    assert "who" in (tmp_path / "page.html").read_text()


def test_the_same_command_again_changes_nothing_again(rota_main, die_behind, tmp_path):
    die_behind(20)
    rota_main("train", *TEXTS, *OFTEN, "--out", tmp_path / "r")
    shutil.copytree(tmp_path / "r", tmp_path / "whole")
    command = ["--add-task", "who", "--drop-task", "mood"]
    die_behind(None)
    assert rota_main("train", "--resume", tmp_path / "whole", "-q", *command)[0] == 0
    die_behind(40)
    assert rota_main("train", "--resume", tmp_path / "r", "-q", *command)[0] == 130
    die_behind(None)
    code, _, said = rota_main("train", "--resume", tmp_path / "r", "-q", *command)
    assert (code, said) == (2, "rota: Unknown task 'mood'. Known: roles, where, who.\n")
    assert rota_main("train", "--resume", tmp_path / "r", "-q")[0] == 0
    assert_same_run(tmp_path / "whole", tmp_path / "r")


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--add-task", "mood"], "Found 'mood', which is one of them already"),
        (["--add-task", "modo"], "Unknown task 'modo'. Did you mean 'mood'?"),
        (["--add-task", "none.yaml"], "Expected a YAML file with tasks at none.yaml"),
        (["--drop-task", "modo"], "Unknown task 'modo'. Did you mean 'mood'?"),
        (["--drop-task", "mood,where,roles"], "at least one task that stays"),
        (["--drop-task", "mood", "--elastic"], "Expected other tasks or other hardware"),
        (["--drop-task", "mood", "--lr", "1"], "Found --lr"),
        (["--add-task", "digits"], "Tasks of one model expect equal inputs"),
    ],
)
def test_wrong_changes(rota_main, die_behind, tmp_path, flags, said):
    die_behind(20)
    rota_main("train", *TEXTS, *OFTEN, "--out", tmp_path / "r")
    before = (tmp_path / "r" / "log.jsonl").read_bytes()
    code, _, told = rota_main("train", "--resume", tmp_path / "r", *flags)
    assert code == 2
    assert said in told
    assert (tmp_path / "r" / "log.jsonl").read_bytes() == before


def test_tasks_come_and_go_on_a_resume_only(rota_main, tmp_path):
    code, _, said = rota_main("train", *TEXTS, "--drop-task", "mood", "--out", tmp_path / "r")
    assert (code, "--drop-task expects --resume FOLDER beside it" in said) == (2, True)
    assert not (tmp_path / "r").exists()
