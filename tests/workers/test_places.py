"""`--on` and `--cell`: what is refused before anything is done, and what one cell of an array does."""

from __future__ import annotations

import json
import socket
import subprocess
import sys

import pytest
import yaml

from rota.comparisons import make_comparison, run_comparison
from rota.runlog import LOG
from rota.workers import Assignment, _packed, _ray_cluster, attempts_at, mark_end, mark_start, read_place

PLAIN = ["proportional", "union", "temperature"]
CONTENT = {
    "common": {"tasks": ["digits"], "steps": 6, "device": "cpu"},
    "methods": ["uniform", "exp3s"],
    "without": PLAIN,
    "seeds": [0, 1],
}


@pytest.fixture
def file(tmp_path):
    (tmp_path / "table.yaml").write_text(yaml.safe_dump(CONTENT))
    return tmp_path / "table.yaml"


@pytest.mark.parametrize(
    ("on", "sentence"),
    [
        ("rya", "Unknown place for --on 'rya'. Did you mean 'ray'? Known: here, ray, slurm."),
        ("", "Unknown place for --on ''."),
        ("here:cpus=2", "--on here expects nothing else. Found 'here:cpus=2'."),
        ("ray://", "--on ray:// expects an address, such as ray://HOST:10001. Found none."),
        ("ray:cpu=2", "--on ray: 1 wrong field: unknown field 'cpu' (did you mean 'cpus'?)."),
        ("ray:cpus", "--on ray expects arguments such as cpus=2. Found 'cpus'."),
        ("ray:cpus=0", "--on ray: 1 wrong field: 'cpus' expects greater than 0"),
        ("slurm", "--on slurm: 1 wrong field: 'time' is missing."),
        ("slurm:time=soon", "--on slurm: 1 wrong field: 'time' expects integer"),
        ("slurm://head:1,time=5", "--on slurm expects no address"),
        ("slurm:time=5", "--on slurm expects the command sbatch, as login nodes have it. Found none."),
        ("ray://127.0.0.1", "--on ray expects a cluster at ray://127.0.0.1. Found none"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_done(rota_main, file, monkeypatch, on, sentence):
    pytest.importorskip("submitit", reason="submitit is not installed")
    pytest.importorskip("ray", reason="Ray is not installed")
    monkeypatch.setattr(_ray_cluster, "ANSWER", 3.0)
    monkeypatch.setenv("PATH", "/nowhere")
    code, _, err = rota_main("compare", file, "--out", file.parent / "runs", "--on", on)
    assert code == 2
    assert sentence in " ".join(err.split())
    assert not (file.parent / "runs").exists()


def test_who_answers_and_says_nothing_is_not_waited_for(rota_main, file, monkeypatch):
    pytest.importorskip("ray", reason="Ray is not installed")
    monkeypatch.setattr(_ray_cluster, "ANSWER", 3.0)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        monkeypatch.setenv("RAY_ADDRESS", f"127.0.0.1:{silent.getsockname()[1]}")
        code, _, err = rota_main("compare", file, "--out", file.parent / "runs", "--on", "ray")
    assert code == 2
    assert "no answer within 3 s" in err


@pytest.mark.parametrize(("on", "package"), [("ray", "ray"), ("slurm:time=5", "submitit")])
def test_what_is_not_installed_is_named(rota_main, file, monkeypatch, on, package):
    monkeypatch.setitem(sys.modules, package, None)
    code, _, err = rota_main("compare", file, "--out", file.parent / "runs", "--on", on)
    assert code == 2
    assert f"needs the package {package}. Install it: pip install 'rota[cluster]'." in err


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (("--on", "ray"), "expects --jobs"),
        (("--on", "ray:results=sent", "--jobs", 2), "expects workers that share its folder"),
        (("--on", "slurm:time=5,wait=no", "--jobs", 2), "waits for its trials"),
    ],
)
def test_a_search_needs_a_shared_folder_and_a_number_of_workers(rota_main, tmp_path, flags, sentence):
    code, _, err = rota_main("search", "--target", "left", "--tasks", "digits", "--out", tmp_path / "found", *flags)
    assert code == 2
    assert sentence in err


def test_each_cell_of_an_array_is_one_run_of_the_comparison(rota_main, file):
    out = file.parent / "runs"
    for number in (0, 3, 0):
        code, _, err = rota_main("compare", file, "--out", out, "--cell", number)
        assert code == 0, err
    assert "uniform-0 is finished" in err
    assert {path.parent.name for path in out.glob(f"*/{LOG}")} == {"uniform-0", "exp3s-1"}
    assert attempts_at(out / "uniform-0") == (1, 1)
    list(run_comparison(make_comparison(CONTENT, {}), file.parent / "here"))
    for name in ("uniform-0", "exp3s-1"):
        assert (out / name / LOG).read_bytes() == (file.parent / "here" / name / LOG).read_bytes()
    code, said, err = rota_main("compare", file, "--out", out)
    assert (code, said.count("kept")) == (0, 2)


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (("--cell", 4), "A number of a run expects 0 to 3, since there are 4. Found 4."),
        (("--cell", -1), "A number of a run expects 0 to 3, since there are 4. Found -1."),
        (("--cell", 0, "--on", "ray"), "--cell expects to be trained by the process that is asked."),
        (("--cell", 0, "--budget", "forwards"), "--cell expects an equal number of updates."),
    ],
)
def test_a_cell_that_cannot_be_is_refused(rota_main, file, flags, sentence):
    code, _, err = rota_main("compare", file, "--out", file.parent / "runs", *flags)
    assert code == 2
    assert sentence in " ".join(err.split())


def test_help_loads_nothing_of_a_cluster():
    program = "import sys, atexit; sys.argv = ['rota', 'compare', '--help']; from rota.cli import main\n"
    program += "atexit.register(lambda: print({'ray', 'submitit', 'fsspec', 'torch'} & set(sys.modules)))\nmain()"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "set()"


def test_marks_of_attempts_survive_a_torn_line(tmp_path):
    mark_start(tmp_path / "one", "node 1")
    with (tmp_path / "attempts" / "one.jsonl").open("a") as out:
        out.write('{"mark": "sta\n')
    mark_start(tmp_path / "one", "node 2")
    mark_end(tmp_path / "one", "done")
    assert attempts_at(tmp_path / "one") == (2, 1)
    last = json.loads((tmp_path / "attempts" / "one.jsonl").read_text().splitlines()[-1])
    assert (last["attempt"], last["how"]) == (2, "done")


def test_a_packed_run_comes_out_as_it_went_in_and_nowhere_else(tmp_path):
    (tmp_path / "a" / "checkpoints").mkdir(parents=True)
    (tmp_path / "a" / "checkpoints" / "x").write_bytes(b"\0\1")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "old").touch()
    _packed.unpack(_packed.pack(tmp_path / "a"), tmp_path / "b")
    assert [str(path.relative_to(tmp_path / "b")) for path in (tmp_path / "b").rglob("*")] == [
        "checkpoints",
        "checkpoints/x",
    ]
    assert (tmp_path / "b" / "checkpoints" / "x").read_bytes() == b"\0\1"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]
    assert _packed.pack(tmp_path / "nothing") == b""


def write_and_count(assignment):
    from pathlib import Path

    folder = Path(assignment.folder)
    begun = folder.is_dir()
    folder.mkdir(exist_ok=True)
    (folder / "result").write_text("again" if begun else "first")
    return "done", ""


def test_a_result_that_is_kept_elsewhere_is_begun_with_by_the_next_attempt(tmp_path):
    pytest.importorskip("fsspec", reason="fsspec is not installed")
    url = f"file://{tmp_path / 'kept'}"
    errand = _packed.Errand(Assignment("one", "/elsewhere/one", {}), b"", url)
    for said in ("first", "again"):
        assert errand.work(write_and_count) == (("done", ""), b"")
        _packed.unpack(_packed.kept_at(url, "one"), tmp_path / "runs" / "one")
        assert (tmp_path / "runs" / "one" / "result").read_text() == said
    assert not (tmp_path / "elsewhere").exists()
    assert _packed.kept_at(url, "two") == b""


def test_arguments_after_an_address_follow_a_comma():
    place = read_place("ray://head:10001,cpus=2,gpus=0.5")
    assert place.address == "ray://head:10001"
    assert (place.arguments.cpus, place.arguments.gpus, place.shared) == (2, 0.5, True)
