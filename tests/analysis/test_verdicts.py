"""Claims about runs: what they may say, which runs they compare, what is told."""

from __future__ import annotations

import pytest

from rota.analysis import Claim, judge, other_fields, read_claims
from rota.errors import RotaError
from rota.testing import written_run

UNIFORM = [0.50, 0.52, 0.54, 0.51]


def written(folder, scores, plans=None, **more):
    """Runs of variants: their scores by seed; the names of their folders."""
    found = {}
    for variant, own in scores.items():
        found[variant] = [f"{variant}-{seed}" for seed in range(len(own))]
        for seed, score in enumerate(own):
            plan = {"lr": 0.1, **(plans or {}).get(variant, {})}
            written_run({"rte": [score]}, variant, seed, folder=folder / f"{variant}-{seed}", plan=plan, **more)
    return found


def claim(**own):
    return Claim(**{"says": "it is above uniform", "of": "exp3s", "than": "uniform", **own})


def verdict(folder, claims, variants, **more):
    return [(found.verdict, found.told) for found in judge(claims, folder, variants, **more)]


def test_variants_may_differ_in_what_is_named_and_in_nothing_else(tmp_path):
    scores = {"uniform": UNIFORM, "exp3s": [0.60, 0.61, 0.66, 0.62]}
    plans = {"exp3s": {"lr": 0.2, "options": {"eta": 0.1}, "batch_size": 64, "device": "cpu"}}
    variants = written(tmp_path, scores, plans)
    unfair = ("not comparable", "not comparable: they also differ in batch_size, lr")
    half = ("not comparable", "not comparable: they also differ in batch_size")
    assert verdict(tmp_path, [claim()], variants) == [unfair]
    assert verdict(tmp_path, [claim(differ=["method", "options", "lr"])], variants) == [half]
    assert verdict(tmp_path, [claim(differ=["method", "options.eta", "lr", "batch_size"])], variants)[0][0] == "holds"
    assert verdict(tmp_path, [claim()], variants, may_differ=["lr", "batch_size"])[0][0] == "holds"
    assert verdict(tmp_path, [claim(than=50.0)], variants)[0][0] == "holds"  # a number has no plan
    with pytest.raises(RotaError, match=r"Unknown field in which variants may differ 'batchsize'.*'batch_size'"):
        judge([claim(differ=["batchsize"])], tmp_path, variants)


def test_a_claim_about_the_pace_of_a_task_expects_that_it_is_learned(tmp_path):
    variants = written(tmp_path, {"uniform": UNIFORM, "exp3s": [0.60, 0.61, 0.66, 0.62]})
    about = {"measure": "minimum:rte", "is": "lower"}
    found = verdict(tmp_path, [claim(**about, above_chance={"rte": 52.0})], variants)
    assert found == [
        ("not testable here", "not testable here: rte of uniform is at 51.8 [49.0, 54.5], chance at 52")  # scipy's t
    ]
    assert verdict(tmp_path, [claim(**about, above_chance={"rte": 48.9})], variants)[0][0] == "cannot tell"
    [found] = verdict(tmp_path, [claim(**about, above_chance={"wnli": 50})], variants)
    assert found[0] == "not testable here"


def test_what_cannot_be_told_says_how_many_seeds_find_the_printed_effect(tmp_path):
    variants = written(tmp_path, {"uniform": UNIFORM, "exp3s": [0.51, 0.51, 0.57, 0.50]})
    # Differences 1, −1, 3, −1: their standard deviation is 1.915. For 2.5 / 1.915, simulated t tests of SciPy find 73 %
    # with 6 seeds and 82 % with 7.
    [found] = judge([claim(printed=2.5)], tmp_path, variants)
    assert (found.told, found.ours) == ("cannot tell (7 seeds would)", "+0.5 [−2.5, 3.5] (n = 4)")
    [found] = judge([claim(matters=2.5)], tmp_path, variants)
    assert found.told == "cannot tell (7 seeds would)"
    [found] = judge([claim()], tmp_path, variants)
    assert (found.told, found.power) == ("cannot tell", None)
    one, two = judge([claim(printed=2.5), claim(printed=2.5, says="again")], tmp_path, variants)
    assert (one.tested, one.told) == (2, two.told)
    assert one.seeds_needed > 7  # for each of two, more is asked


def test_claims_that_cannot_be_tested_do_not_make_the_others_harder(tmp_path):
    variants = written(tmp_path, {"uniform": UNIFORM, "exp3s": [0.53, 0.56, 0.57, 0.53], "auto": []})
    missing = [claim(of="auto", says=f"{k}") for k in range(9)]
    found = judge([claim(), *missing], tmp_path, variants)
    assert [own.verdict for own in found] == ["holds", *["not measured"] * 9]
    assert {own.tested for own in found} == {1}
    many = [claim(says=f"{k}", split="dev") for k in range(40)]
    assert {own.verdict for own in judge(many, tmp_path, variants)} == {"cannot tell"}  # p = 0.005 of one is 0.2 of 40


def test_a_verdict_says_where_an_effect_is_smaller_than_printed(tmp_path):
    variants = written(tmp_path, {"uniform": UNIFORM, "exp3s": [0.53, 0.54, 0.57, 0.54]})
    told = [judge([claim(printed=own, matters=m)], tmp_path, variants)[0].told for own, m in ((9, None), (9, 8))]
    assert told == [
        "holds: the effect is smaller than printed",
        "holds: the effect is smaller than what matters",
    ]


@pytest.mark.parametrize(
    ("own", "sentence"),
    [
        ({"printed": -1.0}, "is above zero"),
        ({"printed": 1.0, "is": "lower"}, "is below zero"),
        ({"printed": 1.0, "matters": 2.0}, "no larger than `printed`"),
        ({"matters": 0.0}, "matters"),
        ({"printed": 2.0, "is": "alike", "within": 1}, "within the margin"),
        ({"matters": 1.0, "is": "alike", "within": 1}, "for alike it is `within`"),
        ({"printd": 1.0}, r"unknown field 'printd' \(did you mean 'printed'\?\)"),
        ({"above_chance": {"rte": "half"}}, "above_chance"),
    ],
)
def test_claims_that_make_no_sense_are_refused(own, sentence):
    with pytest.raises(RotaError, match=sentence):
        read_claims([{"says": "x", "of": "a", "than": "b", **own}], "claims.yaml")


def test_a_field_that_another_version_did_not_have_is_no_difference():
    old, new = {"method": "uniform", "lr": 0.1}, {"method": "exp3s", "lr": 0.1, "patience": 3}
    assert other_fields(old, new, ["method"]) == []
    assert other_fields({**old, "rows": {}}, {**new, "rows": {"rte": 5}}, ["method"]) == ["rows.rte"]
    assert other_fields({**old, "seed": 0, "device": "cpu"}, {**new, "seed": 1, "device": "auto"}, ["method"]) == []
