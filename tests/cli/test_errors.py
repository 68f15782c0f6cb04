"""Wrong input: one sentence that says expected, found and what to do; exit code 2; no traceback."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest
from run_tools import command, rota

from rota.runlog import LOG

TINY = ["--steps", 4, "--eval-every", 2, "-q"]


def assert_refused(result, *parts):
    code, out, err = result
    assert code == 2, (code, out, err)
    assert "Traceback" not in err + out
    lines = [line for line in err.splitlines() if line.strip()]
    assert [line for line in lines if line.startswith("rota: ")] == lines[-1:], err
    assert all(": reading " in line for line in lines[:-1]), err  # how far it came
    for part in parts:
        assert part in lines[-1], err


@pytest.mark.parametrize(
    ("flags", "parts"),
    [
        (["--method", "exp3"], ["Unknown method 'exp3'", "Did you mean 'exp3s'?"]),
        (["--tasks", "left,rihgt"], ["Unknown task 'rihgt'", "Did you mean 'right'?"]),
        (["--tasks", ","], ["'tasks' expects", "at least 1"]),
        (["--tasks", "left,mood"], ["expect equal inputs", "Train them in separate runs"]),
        (["--tasks", "noise,parity"], ["at least one task that counts", "noise, parity"]),
        (["--option", "floor"], ["--option expects name=value", "Found 'floor'"]),
        (["--steps", "many"], ["'steps' expects integer, found 'many'"]),
        (["--steps", "0", "--lr", "-1", "--best", "luck"], ["3 wrong fields", "'steps'", "'lr'", "'best'"]),
        (["--rows", "left=0"], ["Task 'left' expects at least one train row. Found none"]),
        (["--rows", "left=1"], ["Task 'left' expects training rows of two classes or more", "in 1 rows"]),
        (["--rows", "leeft=10"], ["Unknown task 'leeft'", "Did you mean 'left'?"]),
        (["--rows", "left"], ["--rows expects name=value pairs", "Found 'left'"]),
        (["--method", "fixed"], ["Options of method 'fixed'", "'weights' is missing"]),
        (["--method", "exp3s", "--option", "etta=1"], ["unknown field 'etta'", "did you mean 'eta'?"]),
        (["--method", "exp3s", "--option", "eta=big"], ["'eta' expects number", "found 'big'"]),
        (["--method", "exp3s", "--option", "eta=-1"], ["'eta' expects greater than 0, found -1"]),
        (["--method", "uniform", "--option", "eta=1"], ["unknown field 'eta'"]),
        (["--lr", "inf"], ["'lr' expects a finite number"]),
        (["--threads", "99999999999"], ["'threads' expects less than or equal to 1024"]),
        (["--batch-size", "9" * 30], ["'batch_size' expects less than or equal to"]),
        (["--seed", "-1"], ["'seed' expects greater than or equal to 0"]),
        (["--on-nan", "skip", "--delay", "2"], ["on_nan 'skip' with delay 0"]),
        (["--precision", "fp16"], ["fp16 expects a GPU. Found none"]),
        (["--method", "temperature", "--option", "power=.nan"], ["'power' expects a finite number"]),
        (["--method", "annealed", "--option", "epochs=0"], ["'epochs' expects greater than or equal to 1"]),
        (["--method", "exp3s", "--option", "eta=[1"], ["--option eta: expected YAML"]),
        (["--rows", "left={"], ["--rows left: expected YAML"]),
        (["--method", "uniform", "--option", "weights=left=1"], ["unknown field 'weights'", "known: none"]),
        (["--method", "a\nb"], ["Unknown method 'a b'"]),
        (["--stpes", "3"], ["No such option", "--stpes", "See `rota train --help`"]),
        (["--checkpoint", "step-1"], ["--checkpoint expects --resume FOLDER"]),
    ],
)
def test_wrong_flags(rota_main, tmp_path, flags, parts):
    assert_refused(rota_main("train", *TINY[2:], *flags, "--out", tmp_path / "r"), *parts)
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize("method", ["fixed", "joint", "cycle"])
@pytest.mark.parametrize(
    ("weights", "part"),
    [
        ("left=1,right=-2", "zero or more. Found right=-2"),
        ("left=0,right=0", "Found all zero"),
        ("left=1,right=1,top=1", "Unknown task in the weights 'top'"),
        ("left=1", "Missing: right"),
        ("left=one,right=1", "'weights.left' expects"),
    ],
)
def test_wrong_weights(rota_main, tmp_path, method, weights, part):
    flags = ["--tasks", "left,right", "--method", method, "--option", f"weights={weights}"]
    assert_refused(rota_main("train", *flags, *TINY, "--out", tmp_path / "r"), part)


def test_a_single_weight_of_zero_is_allowed(rota_main, tmp_path):
    flags = ["--tasks", "left,right", "--method", "fixed", "--option", "weights=left=0,right=1"]
    assert rota_main("train", *flags, *TINY, "--out", tmp_path / "r")[0] == 0


def test_a_file_with_several_wrong_fields_reports_all_of_them(rota_main, tmp_path):
    file = tmp_path / "plan.yaml"
    file.write_text("stepps: 10\nlr: fast\nbatch_size: 0\nmethod: [a]\nclip: 1\n")
    parts = ["plan.yaml: 4 wrong fields", "'stepps' (did you mean 'steps'?)", "'lr'", "'batch_size'", "'method'"]
    assert_refused(rota_main("train", file, "--out", tmp_path / "r"), *parts)


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (b"a: [1", "plan.yaml: expected YAML. Found in line 1: expected ',' or ']', but got '<stream end>'."),
        (b"\xff\xfe\x00", "expected YAML"),
        (b"- 1\n- 2\n", "Found a list. If it describes tasks, say --tasks "),
        (b"seed: 2020-13-45", "expected YAML"),
        (b"[" * 5000, "expected YAML"),
    ],
)
def test_files_that_are_no_plan(rota_main, tmp_path, content, part):
    file = tmp_path / "plan.yaml"
    file.write_bytes(content)
    assert_refused(rota_main("train", file), part)
    assert_refused(rota_main("train", tmp_path / "absent.yaml"), "Expected a YAML file at", "No such file")
    assert_refused(rota_main("train", "digits"), "Expected a YAML file at digits.", "say --tasks digits.")


def test_folders_that_cannot_be(rota_main, tmp_path):
    (tmp_path / "file").write_text("")
    assert_refused(rota_main("train", *TINY, "--out", tmp_path / "file"), "which is a file")
    assert_refused(rota_main("train", *TINY, "--out", tmp_path / "file" / "below"), "Found: Not a directory")
    assert_refused(rota_main("train", *TINY, "--out", tmp_path / ("x" * 300)), "File name too long")
    code, out, _ = rota_main("train", *TINY[:-1], "--out", tmp_path / "[b]odd[/i]")  # not markup
    assert code == 0
    assert "[b]odd[/i]" in out


def test_a_run_folder_is_never_overwritten(rota_main, tmp_path):
    assert rota_main("train", *TINY, "--out", tmp_path / "r")[0] == 0
    before = (tmp_path / "r" / LOG).read_bytes()
    assert_refused(
        rota_main("train", *TINY, "--out", tmp_path / "r"), "which is not empty", f"--resume {tmp_path / 'r'}"
    )
    assert (tmp_path / "r" / LOG).read_bytes() == before


def test_wrong_resumes(rota_main, tmp_path):
    assert_refused(rota_main("train", "--resume", tmp_path), "Expected a run folder")
    (tmp_path / "own").mkdir()
    described = {"schema": 1, "id": "x", "plan": {"steps": 4}, "tasks": {}}
    (tmp_path / "own" / "run.json").write_text(json.dumps(described))
    assert_refused(rota_main("train", "--resume", tmp_path / "own"), "was started by a program", "fit(…, resume=True)")
    assert rota_main("train", *TINY, "--out", tmp_path / "r")[0] == 0
    assert_refused(
        rota_main("train", "--resume", tmp_path / "r", "--lr", 1), "Found --lr", "start a new run with --out"
    )
    assert_refused(rota_main("train", "--resume", tmp_path / "r", "--out", tmp_path / "x"), "Found --out")
    code, out, _ = rota_main("train", "--resume", tmp_path / "r", "--steps", 4)  # as it was
    assert code == 0
    assert "is finished already" in out


def test_a_damaged_checkpoint_names_the_good_one(rota_main, tmp_path):
    assert rota_main("train", *TINY, "--out", tmp_path / "r")[0] == 0
    (tmp_path / "r" / "summary.json").unlink()  # as if it had been killed just before the end
    latest = tmp_path / "r" / "checkpoints" / "step-00000004"
    (latest / "model.safetensors").write_bytes(b"garbage")
    result = rota_main("train", "--resume", tmp_path / "r")
    assert_refused(result, "Found model.safetensors damaged", "--checkpoint step-00000002")
    assert rota_main("train", "--resume", tmp_path / "r", "--checkpoint", "step-00000002", "-q")[0] == 0


def test_wrong_places_for_a_report(rota_main, tmp_path):
    assert_refused(rota_main("report", tmp_path / "nowhere"), "Found nothing there")
    assert_refused(rota_main("report", tmp_path), "at least one run folder")


def test_wrong_simulations(rota_main):
    assert_refused(rota_main("simulate", "--methods", "unifrm"), "Did you mean 'uniform'?")
    assert_refused(rota_main("simulate", "--methods", "union"), "needs no data, weights or surveys. Found 'union'")
    assert_refused(rota_main("simulate", "--signal", "luck"), "Unknown signal 'luck'")
    assert_refused(rota_main("simulate", "--methods", "joint"), "chooses one task at a time", "Found 'joint'")
    assert_refused(rota_main("simulate", "--steps", 10**15), "Invalid value for '--steps'")
    assert_refused(rota_main("demo", "--methods", ","), "at least one name")
    assert_refused(rota_main("demo", "--seeds", 0), "Invalid value for '--seeds'")
    assert_refused(rota_main("report"), "Missing argument")
    assert_refused(rota_main("demo", "--methods", "exp4"), "Unknown method 'exp4'")


def test_a_typo_in_a_verb_names_the_nearest_one(rota_main):
    said = rota_main("trian", "--steps", 3)
    assert_refused(said, "rota: Unknown command 'trian'. Did you mean 'train'? Known: ", "train")
    assert "--help" not in said[2]
    assert_refused(rota_main("zzz"), "Unknown command 'zzz'. Known: adapt, autosem, ")
    assert_refused(rota_main("--stpes"), "No such option", "--stpes", "See `rota --help`")


def test_errors_of_a_real_process_have_no_traceback(tmp_path):
    done = rota("train", "--method", "exp3")
    assert_refused((done.returncode, done.stdout, done.stderr), "Did you mean 'exp3s'?")


def test_a_loss_that_is_no_number_names_task_and_step(rota_main, tmp_path):
    flags = ["--optimizer", "sgd", "--lr", 1e30, "--clip", "none", "--steps", 20, "--warmup", 0, "-q"]
    assert_refused(
        rota_main("train", *flags, "--out", tmp_path / "r"), "Found none for task '", "at step ", "--on-nan skip"
    )


def test_a_disk_that_is_full(tmp_path):
    """A real one: a file system of one megabyte in memory."""
    place = tmp_path / "small"
    place.mkdir()
    if (
        shutil.which("mount") is None
        or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", place], capture_output=True).returncode
    ):
        pytest.skip("mounting a small file system needs root")
    try:
        flags = ["train", "--steps", 400, "--eval-every", 400, "--checkpoint-every", 20, "-q"]
        filled = place / "filler"
        filled.write_bytes(b"x" * 200_000)
        done = subprocess.run(command(*flags, "--out", place / "r"), capture_output=True, text=True)
        assert_refused((done.returncode, done.stdout, done.stderr), "Found it full. Everything up to step", "--resume")
        filled.unlink()
        step = int(done.stderr.split("up to step ")[1].split()[0])
        assert (place / "r" / "checkpoints" / f"step-{step:08d}").is_dir()
    finally:
        subprocess.run(["umount", place], check=True)
