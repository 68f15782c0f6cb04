"""Batches of several tasks, and which candidates get into them."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from rota import Fixed
from rota.errors import RotaError
from rota.policies import Union, uniform
from rota.streams import MixedStream, MostTogether, MTUncertainty, PoolStream, Top
from rota.tasks import Classification, Regression, Task, TensorRows


def literal_picks(logits, size, score):
    """Algorithm 1 of CA-MTL, and what the released code makes of it, one candidate after the other."""
    ratios = {}
    for task, rows in logits.items():
        ratios[task] = []
        for row in rows:
            total = sum(math.exp(x - max(row)) for x in row)
            p = [math.exp(x - max(row)) / total for x in row]
            ratios[task].append(-sum(x * math.log(x) for x in p if x > 0) / math.log(len(row)))
    means = {task: sum(own) / len(own) for task, own in ratios.items()}
    scored = []
    for task, own in ratios.items():
        for place, e in enumerate(own):
            factor = means[task] / max(means.values()) if score == "code" else 1 / max(means.values())
            scored.append((e * factor, task, place))
    scored.sort(key=lambda entry: -entry[0])  # stable: the first task, then the first row
    return [(task, place) for _, task, place in scored[:size]]


def facts_of(select, logits):
    return {
        task: select.measure(Classification(rows.shape[1]), rows, torch.zeros(len(rows), dtype=torch.long))
        for task, rows in logits.items()
    }


def test_the_prior_score_compares_with_the_shares_of_the_classes():
    def labelled(name, labels):
        rows = TensorRows({"x": torch.zeros(len(labels), 2)}, torch.tensor(labels))
        return Task(name, Classification(2), {"train": rows})

    skewed, even = labelled("skewed", [0, 0, 0, 1]), labelled("even", [0, 1, 0, 1])
    single = labelled("single", [0, 0, 0, 0])
    select, tasks = MTUncertainty("prior"), [skewed, even, single]
    select.prepare(tasks)
    found = {task.name: {"uncertainty": torch.full((3,), 0.8)} for task in tasks}
    scores = select.scores(found, np.random.default_rng(0))
    share = -(0.25 * math.log2(0.25) + 0.75 * math.log2(0.75))  # of one bit
    assert scores["skewed"] == pytest.approx(0.8 / share)
    assert scores["even"] == pytest.approx(0.8)
    assert scores["single"] == pytest.approx(0.8)  # one class is no measure
    assert select.pick(found, 3, np.random.default_rng(0)) == [("skewed", place) for place in range(3)]


def test_a_pool_prepares_its_selector():
    tasks = [make_task("a", Classification(2), 30), make_task("b", Classification(2), 10)]
    select = MTUncertainty("prior")
    PoolStream(tasks, uniform(["a", "b"]), 8, select=select)
    assert set(select._prior) == {"a", "b"}


@pytest.mark.parametrize("score", ["code", "paper"])
@given(seed=st.integers(0, 10_000), size=st.integers(1, 40))
def test_picks_are_those_of_the_algorithm(score, seed, size):
    rng = torch.Generator().manual_seed(seed)
    classes = {"two": 2, "three": 3, "hundred": 100}
    logits = {
        t: 3 * torch.rand(1, generator=rng) * torch.randn(12, c, generator=rng).double() for t, c in classes.items()
    }
    select = MTUncertainty(score)
    picked = select.pick(facts_of(select, logits), size, np.random.default_rng(0))
    assert picked == literal_picks({task: rows.tolist() for task, rows in logits.items()}, size, score)
    assert len(picked) == len(set(picked)) == min(size, 36)


def test_equal_scores_take_the_first_task_and_the_first_row():
    select = MTUncertainty()
    same = {task: {"uncertainty": torch.full((3,), 0.5)} for task in ("b", "a")}
    assert select.pick(same, 4, np.random.default_rng(0)) == [("b", 0), ("b", 1), ("b", 2), ("a", 0)]


@given(seed=st.integers(0, 1000), factor=st.floats(0.1, 10))
def test_order_of_tasks_and_a_common_factor_change_nothing(seed, factor):
    rng = np.random.default_rng(seed)
    found = {task: {"uncertainty": torch.from_numpy(rng.random(6))} for task in "abc"}
    select = MTUncertainty()
    picked = set(select.pick(found, 7, rng))
    turned = {task: found[task] for task in "cab"}
    scaled = {task: {"uncertainty": factor * row_stats["uncertainty"]} for task, row_stats in found.items()}
    assert set(select.pick(turned, 7, rng)) == set(select.pick(scaled, 7, rng)) == picked


def test_a_cap_leaves_room_for_the_others_and_still_fills_the_batch():
    found = {"loud": {"uncertainty": torch.linspace(0.9, 1, 32)}, "calm": {"uncertainty": torch.linspace(0, 0.1, 32)}}
    for cap, most in ((1, 4), (1.5, 6), (2, 8), (None, 8)):
        picked = MTUncertainty(cap=cap).pick(found, 8, np.random.default_rng(0))
        assert sum(task == "loud" for task, _ in picked) == most
        assert len(set(picked)) == 8
    few = {"loud": {"uncertainty": torch.ones(8)}, "calm": {"uncertainty": torch.zeros(1)}}
    assert len(MTUncertainty(cap=1).pick(few, 8, np.random.default_rng(0))) == 8


def number_facts(select, n=400):
    outputs = torch.randn(8, n, 1) if select.regression == "variance" else torch.randn(n, 1)
    return select.measure(Regression(), outputs, torch.linspace(-1, 1, n))


@pytest.mark.parametrize("rule", ["quantile", "variance", "loss"])
def test_numbers_get_the_scores_of_the_others_and_about_their_share(rule):
    torch.manual_seed(0)
    select = MTUncertainty(regression=rule)
    found = {"number": number_facts(select), "classes": {"uncertainty": torch.rand(400)}}
    scores = select.scores(found, np.random.default_rng(0))
    assert np.median(scores["number"]) == pytest.approx(np.median(scores["classes"]), abs=0.1)
    picked = select.pick(found, 200, np.random.default_rng(0))
    assert sum(task == "number" for task, _ in picked) == pytest.approx(100, abs=25)
    if rule != "quantile":
        order = found["number"]["order"]
        assert (np.argsort(scores["number"], kind="stable") == order.double().argsort(stable=True).numpy()).all()


def test_a_proxy_lends_its_scores_one_by_one():
    select = MTUncertainty("paper", "proxy:mrpc")
    found = {"stsb": {"order": torch.zeros(4)}, "mrpc": {"uncertainty": torch.tensor([0.3, 0.9, 0.5])}}
    assert select.scores(found, np.random.default_rng(0))["stsb"].tolist() == pytest.approx([0.3, 0.9, 0.5, 0.0])


def make_task(name, kind, rows=40, length=None):
    labels = torch.arange(rows) % 2
    labels = labels.float() if isinstance(kind, Regression) else labels
    split = TensorRows({"x": torch.arange(rows)}, labels)
    return Task(name, kind, {"train": split, "dev": split})


@pytest.mark.parametrize(
    ("select", "kinds", "sentence"),
    [
        (
            MTUncertainty(),
            {"one": Classification(1), "two": Classification(2)},
            "two classes or more. Found 1 in 'one'",
        ),
        (MTUncertainty(), {"number": Regression()}, "a task with classes beside"),
        (MTUncertainty("code", "proxy:mrp"), {"mrpc": Classification(2), "number": Regression()}, "mrpc"),
        (MostTogether(), {"number": Regression(), "two": Classification(2)}, "one decision"),
    ],
)
def test_tasks_without_a_rule_are_refused_with_a_sentence(select, kinds, sentence):
    tasks = [make_task(name, kind) for name, kind in kinds.items()]
    with pytest.raises(RotaError, match=sentence):
        PoolStream(tasks, uniform(list(kinds)), 4, select=select)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: MTUncertainty(regression="median"), "quantile"),
        (lambda: MTUncertainty(cap=0.5), "1 \\(an even share\\) or more"),
        (lambda: Top("batchbald"), "score of single rows"),
    ],
)
def test_wrong_options_are_refused(make, sentence):
    with pytest.raises(RotaError, match=sentence):
        make()


def asking(answers):
    """Says to each row what `answers` has for it, and remembers the questions."""
    asked = []

    def ask(question):
        asked.append(question)
        return {task: {"uncertainty": answers[task][ids].double()} for task, ids in question.candidates.items()}

    return asked, ask


def make_pool(rows=(40, 25), size=8, **options):
    names = [f"t{k}" for k in range(len(rows))]
    tasks = [make_task(name, Classification(2), n) for name, n in zip(names, rows, strict=True)]
    stream = PoolStream(tasks, options.pop("policy", uniform(names)), size, seed=3, select=MTUncertainty(), **options)
    torch.manual_seed(0)
    asked, stream._ask = asking({name: torch.rand(n) for name, n in zip(names, rows, strict=True)})
    return stream, asked


def rows_of(plan):
    return [(part.task, int(row)) for part in plan.parts for row in part.ids]


def test_a_pool_has_candidates_of_every_task_without_replacement_and_gives_whole_batches():
    stream, asked = make_pool()
    seen = {task: [] for task in ("t0", "t1")}
    for step in range(5):
        plan = stream.next(step)
        assert len(rows_of(plan)) == len(set(rows_of(plan))) == 8
        for task, ids in asked[-1].candidates.items():
            seen[task] += ids.tolist()
        assert sum(own["picked"] for own in plan.pool.values()) == 8
        assert sum(part.weight for part in plan.parts) == pytest.approx(1)
    assert sorted(seen["t0"]) == list(range(40))  # one pass
    assert [len(question.candidates["t1"]) for question in asked[:4]] == [8, 8, 8, 1]  # no pool straddles two passes


def test_picks_are_the_highest_of_their_pool():
    stream, asked = make_pool()
    plan = stream.next(0)
    row_stats = stream._ask(asked[0])
    scores = stream.select.scores(row_stats, np.random.default_rng(0))
    best = sorted(itertools.chain(*[own.tolist() for own in scores.values()]), reverse=True)[:8]
    found = []
    for part in plan.parts:
        ids = asked[0].candidates[part.task].tolist()
        found += [scores[part.task][ids.index(row)] for row in part.ids.tolist()]
    assert sorted(found, reverse=True) == pytest.approx(best)


def test_candidates_that_are_given_back_come_again_in_the_same_pass():
    stream, asked = make_pool((40, 40), returned=True)
    trained = {row for step in range(5) for task, row in rows_of(stream.next(step)) if task == "t0"}
    stream.next(5)
    assert sorted(row for question in asked[:5] for row in question.candidates["t0"].tolist()) == list(range(40))
    assert trained.isdisjoint(asked[5].candidates["t0"].tolist()), "those that were picked do not come again"
    assert all(len(set(ids.tolist())) == len(ids) for question in asked for ids in question.candidates.values())


def test_rows_that_nobody_picks_do_not_keep_a_pass_from_ending():
    stream, asked = make_pool((20, 40), returned=True)
    stream.ask = lambda question: {
        task: {"uncertainty": torch.full((len(ids),), 1.0 if task == "t1" else 0.0)}
        for task, ids in (asked.append(question) or question.candidates).items()
    }
    for step in range(40):
        stream.next(step)
    assert len({int(row) for question in asked[-10:] for row in question.candidates["t0"]}) == 20


def test_the_end_of_a_pass_makes_no_empty_batch():
    stream, _ = make_pool((33, 33), size=8, candidates=16, every=4)
    assert all(rows_of(stream.next(step)) for step in range(40))


def test_one_pool_gives_the_rows_of_several_batches():
    stream, asked = make_pool(every=2)
    turns = [stream.next(step) for step in range(4)]
    assert len(asked) == 2
    assert [plan.pool is not None for plan in turns] == [True, False, True, False]
    first = rows_of(turns[0]) + rows_of(turns[1])
    assert len(set(first)) == 16
    with pytest.raises(RotaError, match="at least as many candidates"):
        make_pool(every=3)


def test_the_mixture_says_how_the_pool_is_made_up():
    stream, asked = make_pool(policy=Fixed({"t0": 3, "t1": 1}), candidates=10)
    stream.next(0)
    assert {task: len(ids) for task, ids in asked[0].candidates.items()} == {"t0": 15, "t1": 5}


@pytest.mark.parametrize("options", [{}, {"returned": True}, {"every": 2}, {"candidates": 5}], ids=str)
def test_stopped_and_resumed_is_never_stopped(options):
    whole, _ = make_pool(**options)
    expected = [rows_of(whole.next(step)) for step in range(12)]
    for cut in (1, 5, 8):
        first, _ = make_pool(**options)
        found = [rows_of(first.next(step)) for step in range(cut)]
        second, _ = make_pool(**options)
        second.load_state_dict(first.state_dict())
        assert found + [rows_of(second.next(step)) for step in range(cut, 12)] == expected


def make_mixed(size=8, policy=None, **options):
    tasks = [make_task("a", Classification(2), 30), make_task("b", Classification(2), 10)]
    return MixedStream(tasks, policy or Fixed({"a": 3, "b": 1}), size, seed=1, **options)


def test_rows_of_mixed_batches_are_drawn_by_the_mixture_without_replacement():
    stream = make_mixed()
    rows = [row for step in range(400) for row in rows_of(stream.next(step))]
    share = sum(task == "a" for task, _ in rows) / len(rows)
    assert share == pytest.approx(0.75, abs=4 * math.sqrt(0.75 * 0.25 / len(rows)))
    own = [row for task, row in rows if task == "a"]
    assert all(sorted(own[start : start + 30]) == list(range(30)) for start in range(0, len(own) - 30, 30))


@pytest.mark.parametrize("reduction", ["task", "row"])
def test_reductions_weigh_tasks_or_rows(reduction):
    plan = make_mixed(reduction=reduction).next(0)
    sizes = {part.task: len(part.ids) for part in plan.parts}
    assert len(sizes) == 2
    for part in plan.parts:
        assert part.weight == pytest.approx(0.5 if reduction == "task" else sizes[part.task] / 8)


def test_policies_that_count_their_draws_and_sizes_that_differ_are_refused():
    with pytest.raises(RotaError, match="does not count its own draws"):
        make_mixed(policy=Union({"a": 2, "b": 1}))
    tasks = [make_task("a", Classification(2)), make_task("b", Classification(2))]
    with pytest.raises(RotaError, match=r"one batch size\. Found a 4, b 8"):
        MixedStream(tasks, uniform(["a", "b"]), {"a": 4, "b": 8})


def test_a_pool_without_anybody_to_ask_is_refused():
    stream, _ = make_pool()
    stream._ask = None
    with pytest.raises(RotaError, match="connected to a run"):
        stream.next(0)


def test_top_takes_the_highest_score_and_batchbald_what_it_picks_in_the_whole_pool():
    from rota.signals import bald, batchbald

    torch.manual_seed(0)
    outputs = {"a": 2 * torch.randn(6, 5, 3), "b": 2 * torch.randn(6, 4, 2)}
    labels = {task: torch.zeros(own.shape[1], dtype=torch.long) for task, own in outputs.items()}
    kinds = {"a": Classification(3), "b": Classification(2)}
    select = Top("bald", passes=6)
    found = {task: select.measure(kinds[task], outputs[task], labels[task]) for task in outputs}
    p = torch.cat(
        [torch.nn.functional.pad(o.softmax(-1), (0, 3 - o.shape[-1])).transpose(0, 1) for o in outputs.values()]
    )
    places = [("a", k) for k in range(5)] + [("b", k) for k in range(4)]
    best = [places[k] for k in bald(p.double()).argsort(descending=True)[:3]]
    assert select.pick(found, 3, np.random.default_rng(0)) == best
    joint = MostTogether(passes=6)
    found = {task: joint.measure(kinds[task], outputs[task], labels[task]) for task in outputs}
    expected = [places[int(k)] for k in batchbald(p.double(), 3).indices]
    assert joint.pick(found, 3, np.random.default_rng(0)) == expected
