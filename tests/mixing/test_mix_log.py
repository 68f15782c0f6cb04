"""The log of a mix is read by everybody who reads the log of a run."""

from __future__ import annotations

import pytest
from mix_tools import NAMES, bandit, make, saved, trained

import rota
from rota.errors import RotaError
from rota.offpolicy import value
from rota.runlog import Run


def test_every_update_is_logged_with_its_propensity(tmp_path):
    mix = make(log=tmp_path / "r", lag=3)
    seen = trained(mix, 30)
    mix.close()
    lines = Run(tmp_path / "r").lines("step")
    assert [line["step"] for line in lines] == list(range(30))
    assert [line["task"] for line in lines] == [task for task, _ in seen]
    policy = bandit()
    assert lines[0]["probability"] == policy.shares(0)[lines[0]["task"]]
    for line, (task, rows) in zip(lines, seen, strict=True):
        assert [row - 1000 * NAMES.index(task) for row in rows] == Run(tmp_path / "r").row_ids(task, line)
    assert value(tmp_path / "r", dict.fromkeys(NAMES, 1 / 3)).effective_sample_size > 10


def test_a_log_that_is_gone_on_with_has_the_bytes_of_one_that_never_stopped(tmp_path):
    whole = make(log=tmp_path / "whole")
    trained(whole, 40)
    whole.close()
    first = make(log=tmp_path / "cut")
    trained(first, 13)
    state = saved(first)
    trained(first, 5)  # and then it dies
    first.log.sync()
    second = make(log=tmp_path / "cut")
    second.load_state_dict(state)
    trained(second, 27)
    second.close()
    assert (tmp_path / "whole" / "log.jsonl").read_bytes() == (tmp_path / "cut" / "log.jsonl").read_bytes()


def test_old_logs_are_not_overwritten(tmp_path):
    mix = make(log=tmp_path / "r")
    trained(mix, 12)
    mix.close()
    again = make(log=tmp_path / "r", lag=4)
    with pytest.raises(RotaError, match="holds the log of another training"):
        trained(again, 12)
    with pytest.raises(RotaError, match=r"or that of the same mix\. Found .*, where mix differs"):
        make(log=tmp_path / "r", lag=5)


def test_reports_and_mixtures_are_made_of_it(tmp_path, rota_main):
    for name, policy in (("bandit", bandit()), ("uniform", rota.uniform(NAMES))):
        mix = make(policy, log=tmp_path / name, lag=2)
        for k in range(12):
            trained(mix, 10)
            mix.observe(dict.fromkeys(NAMES, 0.1 + 0.01 * k), about="score")
        mix.close()
    code, _, errors = rota_main("report", tmp_path, "-o", tmp_path / "page.html")
    assert code == 0, errors
    page = (tmp_path / "page.html").read_text()
    assert "<h2>Shares</h2>" in page
    assert "120 updates" in page
    assert "nfinished" not in page
    assert Run(tmp_path / "bandit").summary["best"]["dev"]["average"] == pytest.approx(0.21)
    assert sum(Run(tmp_path / "bandit").summary["updates"].values()) == 120
    code, out, errors = rota_main("improve", tmp_path / "uniform", "-o", tmp_path / "mixture.json")
    assert code == 0, errors
    assert "estimated reward" in out


def test_a_blend_is_logged_by_task(tmp_path):
    mix = make(rota.uniform(NAMES), blend=True, batch_size=16, log=tmp_path / "r", lag=0, epoch=3)
    for _ in mix:
        mix.tell(dict.fromkeys(NAMES, 0.5))
    mix.close()
    lines = Run(tmp_path / "r").lines("step")
    assert all(line["probability"] is None for line in lines)
    assert {own["loss"] for line in lines for own in line["tasks"].values()} == {0.5}
    assert [sum(own["n"] for own in line["tasks"].values()) for line in lines] == [16, 16, 16]


def test_what_is_observed_is_checked_at_once():
    mix = make()
    with pytest.raises(RotaError, match="Unknown task 'd'"):
        mix.observe({"d": 1.0})
    with pytest.raises(RotaError, match=r"expects numbers\. Found nan for task 'a'"):
        mix.observe({"a": float("nan")})
