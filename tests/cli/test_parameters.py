"""`rota parameters`: the released code beside the defaults, and the model of a run."""

from __future__ import annotations

import json

import pytest
from test_errors import assert_refused
from test_texts import QUICK, write_rte


def cells(out, name):
    """What a row of the table says."""
    row = next(line for line in out.splitlines() if line.startswith(f"│ {name} "))
    return [cell.strip() for cell in row.split("│")[2:-1]]


@pytest.mark.parametrize(
    ("size", "rows"),
    [
        (
            "base",
            {
                "plain encoder": ["108,310,272", "50,205,696", "108,310,272", "43,117,824"],
                "layer norms": ["15,355,392", "15,355,392", "14,174,208", "14,174,208"],
                "bottleneck": ["2,166,016"] * 4,
                "alignment": ["1,181,184"] * 4,
                "attention": ["439,824", "270,644", "439,824", "439,824"],
                "of the plain one": ["1.18 ×", "64.4 %", "1.17 ×", "56.9 %"],
                "for each task": ["", "7.2 %", "", "6.3 %"],
            },
        ),
        (
            "large",
            {
                "bottleneck": ["92,364,792"] * 4,
                "layer norms": ["50,380,800"] * 4,
                "of the plain one": ["1.44 ×", "89.5 %", "1.44 ×", "89.6 %"],
                "for each task": ["", "9.9 %", "", "10.0 %"],
            },
        ),
    ],
)
def test_the_released_code_stands_beside_the_defaults(rota_main, size, rows):
    code, out, err = rota_main("parameters", size)
    assert code == 0, err
    assert f"BERT {size}, cased: parameters, 9 tasks" in out
    for name, expected in rows.items():
        assert cells(out, name) == expected
    assert "The paper prints 1.12 × for both sizes, and 5.6 % trained for each task" in out


def test_other_numbers_of_tasks(rota_main):
    code, out, err = rota_main("parameters", "--tasks", 18)
    assert code == 0, err
    assert "BERT base, cased: parameters, 18 tasks" in out
    assert cells(out, "for each task")[1] == "3.6 %"


def test_json_has_the_same_numbers(rota_main):
    code, out, err = rota_main("parameters", "base", "--json")
    assert code == 0, err
    found = json.loads(out)
    assert found["released"]["added"] == 19_739_920
    assert found["released"]["growth"] == pytest.approx(1.18, abs=0.005)
    assert found["defaults"]["parts"]["attention"] == {"parameters": 439_824, "trained": 439_824}


@pytest.fixture
def run(rota_main, tmp_path):
    flags = ["--tasks", "left,right", "--rows", "left=40,right=40", "--steps", 2, "--eval-every", 2, "-q"]
    assert rota_main("train", *flags, "--out", tmp_path / "run")[0] == 0
    return tmp_path / "run"


def test_the_model_of_a_run(rota_main, run):
    code, out, err = rota_main("parameters", run)
    assert code == 0, err
    assert "parameters, 2 tasks" in out
    assert "The paper" not in out
    count, trained = cells(out, "plain encoder")
    assert count == trained
    assert cells(out, "of the plain one") == ["1.00 ×", "100.0 %"]
    assert cells(out, "for each task") == ["", "50.0 %"]
    found = json.loads(rota_main("parameters", run, "--json")[1])["run"]
    assert f"{found['total']:,}" == cells(out, "total")[0]
    assert f"{found['heads']['parameters']:,}" == cells(out, "heads, beside the total")[0]


def test_the_parts_of_a_conditioned_run(rota_main, tmp_path, tiny_bert, monkeypatch):
    monkeypatch.setenv("ROTA_CACHE", str(tmp_path / "cache"))
    write_rte(tmp_path / "data")
    flags = ["--data", tmp_path / "data", "--tasks", "rte", "--model", f"camtl:{tiny_bert}", "-q"]
    assert rota_main("train", *QUICK, *flags, "--out", tmp_path / "run")[0] == 0
    code, out, err = rota_main("parameters", tmp_path / "run")
    assert code == 0, err
    assert "parameters, 1 task" in " ".join(out.split())
    assert cells(out, "alignment") == [f"{16 * 32 + 32:,}"] * 2  # γ and β for a width of 16
    count, trained = (int(cell.replace(",", "")) for cell in cells(out, "plain encoder"))
    assert 0 < trained < count


def test_wrong_names_are_refused_with_a_sentence(rota_main, run, tmp_path):
    assert_refused(
        rota_main("parameters", "lagre"), "Expected base, large, an encoder or a run folder", "Did you mean 'large'?"
    )
    assert_refused(rota_main("parameters", tmp_path / "none"), "Found", "none")
    assert_refused(rota_main("parameters", tmp_path), "Expected a run folder")
    assert_refused(
        rota_main("parameters", run, "--tasks", 3), "--tasks expects base, large or an encoder", "its own tasks"
    )
    assert_refused(rota_main("parameters", "--tasks", 0), "Invalid value for '--tasks'")


def test_an_encoder_needs_no_weights(rota_main, tmp_path, tiny_bert):
    (tmp_path / "config.json").write_text((tiny_bert / "config.json").read_text())
    code, out, err = rota_main("parameters", tmp_path, "--tasks", 2)
    assert code == 0, err
    plain, trained, conditional, _ = cells(out, "plain encoder")
    assert plain == trained == conditional
    assert cells(out, "alignment") == ["", "", *[f"{16 * 32 + 32:,}"] * 2]
    assert cells(out, "for each task")[1] == "50.0 %"
    assert cells(rota_main("parameters", f"camtl:{tmp_path}", "--tasks", 2)[1], "total") == cells(out, "total")


def test_an_encoder_that_takes_no_conditional_parts_is_counted_plainly(rota_main, tmp_path):
    config = {"model_type": "albert", "vocab_size": 50, "embedding_size": 8, "hidden_size": 16}
    config |= {"num_hidden_layers": 12, "num_attention_heads": 2, "intermediate_size": 32}
    (tmp_path / "config.json").write_text(json.dumps(config))
    code, out, err = rota_main("parameters", tmp_path, "--json")
    assert code == 0, err
    # Tokens, 512 positions and two types of width 8; a layer norm; the projection to 16; one layer, shared by twelve.
    layer = 4 * (16 * 16 + 16) + (16 * 32 + 32) + (32 * 16 + 16) + 2 * 2 * 16
    expected = (50 + 512 + 2) * 8 + 2 * 8 + (8 * 16 + 16) + layer
    assert json.loads(out)["plain"]["total"] == expected
    assert list(json.loads(out)) == ["plain"]
    assert_refused(rota_main("parameters", f"camtl:{tmp_path}"), "CA-MTL expects an encoder that is built like BERT")


@pytest.mark.parametrize(("name", "width"), [("bilstm", 512), ("bilstm-1024", 1024), ("bilstm-embeddings", 512)])
def test_a_bilstm_is_counted_on_what_it_reads(rota_main, tiny_bert, name, width):
    code, out, err = rota_main("parameters", f"{name}:{tiny_bert}", "--tasks", 3, "--json")
    assert code == 0, err
    counted = json.loads(out)[name]
    config = json.loads((tiny_bert / "config.json").read_text())
    own = name == "bilstm-embeddings"
    reads = 300 if own else config["hidden_size"]
    # Two directions with four gates each: weights for what is read and for the state, and two biases.
    lstm = sum(2 * 4 * width * (read + width + 2) for read in (reads, 2 * width))
    assert counted["parts"]["BiLSTM"] == {"parameters": lstm, "trained": lstm}
    if own:
        assert counted["base"] == dict.fromkeys(("parameters", "trained"), 300 * config["vocab_size"])
    else:
        mix = config["num_hidden_layers"] + 1 + 1  # a scalar for each layer and the embeddings, and γ
        assert counted["parts"]["mix of the layers"] == {"parameters": mix, "trained": mix}
        assert counted["base"]["trained"] == 0
    assert_refused(
        rota_main("parameters", f"{name}:{tiny_bert}", "--adapter", "pals"), f"Found {name}, which takes none"
    )


def test_adapters_stand_beside_the_other_counts(rota_main, tiny_bert):
    flags = ["--adapter", "houlsby:size=64", "--adapter", "pals"]
    code, out, err = rota_main("parameters", "base", "--tasks", 8, *flags, "--json")
    assert code == 0, err
    found = json.loads(out)
    assert list(found) == ["released", "defaults", "houlsby:size=64", "pals"]
    assert found["pals"]["growth"] == pytest.approx(1.13, abs=0.005)
    assert found["houlsby:size=64"]["base"]["trained"] == 0
    code, out, err = rota_main("parameters", tiny_bert, "--tasks", 2, "--adapter", "lora:r=3")
    assert code == 0, err
    assert cells(out, "low rank changes")[-2:] == [f"{2 * 2 * 2 * 3 * (16 + 16):,}"] * 2
    assert_refused(rota_main("parameters", "base", "--adapter", "lara"), "Unknown adapter 'lara'", "'lora'")


def test_parts_stand_beside_the_other_counts(rota_main, tiny_bert):
    code, out, err = rota_main("parameters", tiny_bert, "--parts", "released", "--parts", "norm=off", "--json")
    assert code == 0, err
    found = json.loads(out)
    assert list(found) == ["plain", "camtl", "parts released", "norm=off"]
    # The top layer of two has a third layer norm, and γ and β of the bias of the frozen one are not trained.
    own, released = (found[name]["parts"] for name in ("camtl", "parts released"))
    assert released["layer norms"]["parameters"] == 1.5 * own["layer norms"]["parameters"]
    assert own["attention"]["trained"] > released["attention"]["trained"]
    assert found["norm=off"]["parts"].get("layer norms", {"parameters": 0})["parameters"] == 0
    assert_refused(rota_main("parameters", "base", "--parts", "relaesed"), "or the word released", "'relaesed'")
    assert_refused(rota_main("parameters", "base", "--parts", "nrom=off"), "unknown field 'nrom'")


def test_parts_of_a_run_are_its_own(rota_main, run):
    assert_refused(rota_main("parameters", run, "--parts", "released"), "--parts expects base, large or an encoder")


def test_adapters_of_a_run_are_its_own(rota_main, run):
    assert_refused(rota_main("parameters", run, "--adapter", "lora"), "--adapter expects base, large or an encoder")
