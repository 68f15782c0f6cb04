"""`rota compare` and `rota claims`."""

from __future__ import annotations

import json
import re

import pytest
import yaml

from rota.methods import METHODS

TINY = ("--tasks", "digits", "--steps", 6, "--eval-every", 3, "--eval-rows", 20)


@pytest.fixture(scope="module")
def compared(tmp_path_factory, request):
    """A comparison of two methods with three seeds, with claims."""
    folder = tmp_path_factory.mktemp("compare")
    claims = [
        {
            "says": "Exp3.S is higher",
            "paper": "by far",
            "printed": 99,
            "of": "exp3s",
            "than": "uniform",
            "split": "test",
        },
        {
            "says": "Both get the same share",
            "measure": "share:left",
            "of": "exp3s",
            "than": 20,
            "is": "alike",
            "within": 99,
        },
        {"says": "It is above nothing", "of": "exp3s", "than": 0},
        {"says": "It is below nothing", "of": "exp3s", "than": 0, "is": "lower"},
        {"says": "Its updates are late", "measure": "minimum:left", "of": "exp3s", "than": 99, "is": "higher"},
    ]
    content = {
        "about": "two methods",
        "common": {"tasks": ["digits"], "steps": 6, "eval_every": 3, "eval_rows": 20},
        "methods": ["exp3s"],
        "without": ["proportional", "union", "temperature"],
        "claims": claims,
    }
    (folder / "two.yaml").write_text(yaml.safe_dump(content))
    return folder


def test_a_file_is_compared_and_its_claims_are_judged(rota_main, compared):
    code, out, err = rota_main("compare", compared / "two.yaml", "--out", compared / "runs")
    assert code == 0, err
    assert "two methods (test, percent)" in out
    assert re.search(r"exp3s +\d+\.\d ± \d+\.\d +[+−]\d+\.\d \[[−\d.]+, [−\d.]+\]", out)
    assert f"rota claims {compared / 'runs'}" in out
    page = (compared / "runs" / "report.html").read_text()
    assert "exp3s" in page
    assert json.loads((compared / "runs" / "comparison.json").read_text())["baseline"] == "uniform"
    code, out, err = rota_main("claims", compared / "runs", "--markdown")
    assert code == 0, err
    rows = [line.split(" | ") for line in out.splitlines() if line.startswith("| ") and "(n = 3)" in line]
    verdicts = {row[0].removeprefix("| "): row[-1].removesuffix(" |") for row in rows}
    assert verdicts["Both get the same share"] == "holds"
    assert verdicts["It is above nothing"] == "holds"
    assert verdicts["It is below nothing"] == "does not hold"
    assert verdicts["Its updates are late"] == "does not hold"
    assert "| Exp3.S is higher | +99, by far |" in out
    assert verdicts["Exp3.S is higher"] == "an effect of the printed size is excluded"
    assert "corrected for 5 claims (Holm)" in out
    assert "None of them was registered" in out
    code, out, _ = rota_main("claims", compared / "runs")
    assert (code, "verdict" in out) == (0, True)


def test_claims_are_registered_before_the_runs_and_judged_as_they_were(rota_main, compared, tmp_path):
    (tmp_path / "experiments").mkdir()
    file = tmp_path / "experiments" / "two.yaml"
    file.write_text((compared / "two.yaml").read_text())
    place = tmp_path / "two.registered.json"
    flags = ("--seeds", "0,1", "--steps", 5)
    code, out, err = rota_main("claims", "--register", file, "--out", place, *flags)
    assert code == 0, err
    written = json.loads(place.read_text())
    assert written["hash"] in out
    assert (written["seeds"], written["plans"]["exp3s"]["steps"], len(written["claims"])) == ([0, 1], 5, 5)
    code, _, err = rota_main("claims", "--register", file, "--out", place, *flags)
    assert (code, "which is not replaced" in " ".join(err.split())) == (2, True)

    content = yaml.safe_load(file.read_text())
    content["claims"] = [{"says": "A later idea", "of": "uniform", "than": "exp3s"}, *content["claims"][1:]]
    file.write_text(yaml.safe_dump(content))
    code, _, err = rota_main("compare", file, "--seeds", "0,1,2", "--steps", 4, "--out", tmp_path / "two")
    assert code == 0, err
    code, out, err = rota_main("claims", tmp_path / "two", "--markdown")
    assert code == 0, err
    rows = {cells[0].strip("| "): cells for line in out.splitlines() if len(cells := line.split(" | ")) > 3}
    assert rows["Exp3.S is higher"][-2] == "before the runs"  # although the file has dropped it
    assert rows["A later idea"][-2] == "no"
    assert "The plan has changed since: the seeds 2 were added" in out
    assert "exp3s: steps 5 → 4" in out

    code, out, err = rota_main("claims", "--register", file, "--out", tmp_path / "late.json", *flags)
    assert code == 0, err
    began = json.loads((tmp_path / "two" / "uniform-0" / "run.json").read_text())["created"]
    late = json.loads((tmp_path / "late.json").read_text())
    (tmp_path / "late.json").write_text(json.dumps({**late, "registered": began[:-5] + "-0100"}))  # an hour after
    code, out, err = rota_main("claims", tmp_path / "two", "--registered", tmp_path / "late.json", "--markdown")
    assert code == 0, err
    assert out.count("| after they began |") == 5
    code, _, err = rota_main("claims", "--register", file, "--out", tmp_path / "two.registered.json")
    assert (code, "before the runs. Found 6 runs" in " ".join(err.split())) == (2, True)

    place.write_text(json.dumps({**written, "seeds": [0, 1, 2]}))
    code, _, err = rota_main("claims", tmp_path / "two")
    assert (code, "was changed after it was written" in " ".join(err.split())) == (2, True)


@pytest.mark.parametrize(
    ("claim", "sentence"),
    [
        ({"than": "nobody"}, "Unknown variant of a claim 'nobody'"),
        ({"of": "slow"}, "Found lr, too. Add them to `differ`"),
        ({"of": "slow", "differ": ["bach_size"]}, "may differ 'bach_size'. Did you mean 'batch_size'?"),
        ({"printed": -1}, "claim 1: 1 wrong field"),
    ],
)
@pytest.mark.parametrize("verb", ["compare", "claims"])
def test_claims_that_no_run_could_bear_out_are_found_before_there_is_one(rota_main, tmp_path, verb, claim, sentence):
    variants = {"slow": {"lr": 1e-4}, "other": {"method": "union"}}
    claims = [{"says": "x", "of": "other", "than": "uniform", **claim}]
    file = tmp_path / "file.yaml"
    file.write_text(yaml.safe_dump({"common": {"tasks": ["digits"]}, "variants": variants, "claims": claims}))
    flags = ("--dry-run",) if verb == "compare" else ("--out", tmp_path / "registered.json", "--register")
    code, _, err = rota_main(verb, *flags, file)
    assert (code, sentence in " ".join(err.split())) == (0 if verb == "compare" else 2, True), err
    assert [path.name for path in tmp_path.iterdir()] == ["file.yaml"]


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        ((), "or --register with an experiment file. Found neither"),
        (("runs", "--steps", 5), "--steps goes with --register"),
        (("runs", "--seeds", "1"), "--seeds goes with --register"),
    ],
)
def test_flags_of_a_registration_need_one(rota_main, flags, sentence):
    code, _, err = rota_main("claims", *flags)
    assert (code, sentence in " ".join(err.split())) == (2, True)


def test_a_comparison_from_flags_goes_on_where_it_stopped(rota_main, tmp_path):
    flags = ("--methods", "exp3s", "--without", "union,temperature", "--seeds", "0,1", "--singles", "left")
    code, out, err = rota_main("compare", *flags, *TINY, "--out", tmp_path / "runs", "--jobs", 2)
    assert code == 0, err
    assert "tasks ≥" in out
    assert "single-left" in out
    code, out, err = rota_main("compare", *flags, *TINY, "--out", tmp_path / "runs")
    assert (code, out.count("kept")) == (0, 8)


def test_all_methods_are_those_that_need_nothing_else(rota_main, tmp_path):
    flags = ("--methods", "all", "--seeds", "0", *TINY, "--out", tmp_path, "--baseline", "nobody")
    code, _, err = rota_main("compare", *flags)
    assert code == 2
    for name in ("exp3s", "joint", "mt-uncertainty"):
        assert name in err
    assert "autosem" not in err
    _, _, err = rota_main("compare", *flags, "--target", "left")
    assert "autosem" in err
    assert "target" in METHODS["autosem"].needs


def test_equal_cost_is_measured_before(rota_main, tmp_path):
    flags = (
        "--methods",
        "exp3s",
        "--without",
        "proportional,union,temperature",
        "--seeds",
        "0",
        "--budget",
        "forwards",
    )
    code, out, err = rota_main("compare", *flags, *TINY, "--steps", 40, "--out", tmp_path / "runs")
    assert code == 0, err
    assert "Updates at equal cost: uniform 40, exp3s 30" in out
    code, out, err = rota_main("report", tmp_path / "runs", "--format", "csv", "-o", "-")
    assert code == 0, err
    assert {line.split(",")[0] for line in out.splitlines()[1:]} == {"uniform", "exp3s"}  # without the pilots


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        ((), "expected methods or variants to compare"),
        (("--methods", "exp3s", "--method", "union"), "expects --methods"),
        (("--methods", "exp3s", "--seed", 1), "expects --seeds"),
        (("--methods", "exp4"), "Unknown method 'exp4'"),
        (("--methods", "exp3s", "--without", "exp3s"), "Unknown plain baseline to do without 'exp3s'"),
        (("--methods", "exp3s", "--full"), "expected a section `full`"),
    ],
)
def test_wrong_flags_are_refused_with_a_sentence(rota_main, tmp_path, flags, sentence):
    flags = flags or ("--without", "uniform,proportional,union,temperature")
    code, _, err = rota_main("compare", *flags, "--out", tmp_path)
    assert code == 2
    assert sentence in " ".join(err.split())


@pytest.mark.parametrize(
    ("claim", "sentence"),
    [
        ({"of": "exp3s", "than": "uniform"}, "says"),
        ({"says": "x", "of": "nobody", "than": "uniform"}, "Unknown variant of a claim 'nobody'"),
        ({"says": "x", "of": "exp3s", "than": "uniform", "measure": "luck"}, "Unknown measure 'luck'"),
        ({"says": "x", "of": "exp3s", "than": "uniform", "measure": "score"}, "expects the form score:NAME"),
        ({"says": "x", "of": "exp3s", "than": "uniform", "is": "alike"}, "`within` goes with `is: alike`"),
    ],
)
def test_wrong_claims_are_refused_with_a_sentence(rota_main, tmp_path, claim, sentence):
    (tmp_path / "comparison.json").write_text(
        json.dumps({"about": "", "claims": [claim], "variants": {"exp3s": [], "uniform": []}})
    )
    code, _, err = rota_main("claims", tmp_path)
    assert code == 2
    assert sentence in " ".join(err.split())


def test_claims_need_a_comparison(rota_main, tmp_path):
    code, _, err = rota_main("claims", tmp_path)
    assert code == 2
    assert "Expected the folder of a comparison" in " ".join(err.split())


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"registered": "yesterday"}, "expects a time. Found 'yesterday'"),
        ({"claims": []}, "'claims' expects"),
        ({"plans": ["uniform"]}, "'plans' expects"),
        ({"hash": "0" * 64}, "it was changed after it was written"),
        ({"seeds": [0, 1, 2, 3]}, "it was changed after it was written"),
        (None, "expected JSON"),
    ],
)
def test_a_damaged_registration_is_refused_with_a_sentence(rota_main, tmp_path, change, sentence):
    file, place = tmp_path / "file.yaml", tmp_path / "runs.registered.json"
    claims = [{"says": "x", "of": "exp3s", "than": "uniform"}]
    file.write_text(yaml.safe_dump({"common": {"tasks": ["digits"]}, "methods": ["exp3s"], "claims": claims}))
    code, _, err = rota_main("claims", "--register", file, "--out", place)
    assert code == 0, err
    place.write_text("[" if change is None else json.dumps({**json.loads(place.read_text()), **change}))
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "comparison.json").write_text(json.dumps({"variants": {"exp3s": [], "uniform": []}}))
    code, _, err = rota_main("claims", tmp_path / "runs")
    assert (code, sentence in " ".join(err.split())) == (2, True), err
