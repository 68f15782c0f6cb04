"""Who is listened to: every policy hears what it learns from, or somebody has said that it shall not."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch
from fit_tools import NAMES, QUICK, crash_at, make_model, make_tasks, train
from run_tools import assert_same_run

from rota.data import load_tasks
from rota.errors import RotaError
from rota.feedback import Choice, Feedback
from rota.models import MultiTaskModel, encoder_for
from rota.policies import Auto, AutoDev, Exp3S, Fixed, Hold, Policy, Thompson, Tracking, WithEnds, WithFloor, uniform
from rota.seeds import generator
from rota.settings import Settings
from rota.signals import prediction_gain, training_loss
from rota.sources import USUAL, DevScores, EachStep, Feed, Moment, RoundSuccess, Said, Source, Survey, source_from
from rota.streams import JointStream
from rota.training import fit

DIGITS = ["left", "right", "larger", "parity", "noise"]
SIZES = {"left": 1200, "right": 400, "larger": 800, "parity": 300, "noise": 600}
LONG = Settings(steps=600, eval_every=60, checkpoint_every=600, threads=1, eval_rows=100)
POLICIES = {
    "Auto": lambda: Auto(DIGITS, horizon=600, sizes=SIZES),
    "AutoDev": lambda: AutoDev(DIGITS, horizon=600, sizes=SIZES),
    "Exp3S": lambda: Exp3S(DIGITS, eta=0.1),
    "Tracking": lambda: Tracking(DIGITS),
    "Thompson": lambda: Hold(Thompson(DIGITS, primary="left"), steps=10),
}


def trained_on_digits(folder, policy, **options):
    tasks = load_tasks(DIGITS)
    if isinstance(policy, Hold):  # a bandit for one target
        tasks = [dataclasses.replace(task, auxiliary=task.name != "left") for task in tasks]
    torch.manual_seed(0)
    model = MultiTaskModel(encoder_for(tasks, "auto"), tasks)
    return fit(model, tasks, policy, folder, LONG, progress=False, **options)


def replayed(policy, run):
    """The mixtures of a loop by hand that draws with the same generator, and feeds the policy what the log says."""
    rng, last, mixtures = generator(LONG.seed, "choice"), {}, []
    said: dict[int, list[dict]] = {}
    for line in run.lines("eval", "survey", "arm"):
        said.setdefault(line["step"], []).append(line)
    words = policy.hears
    if "score" in words:
        tell_scores(policy, said[0])
    for line in run.lines("step"):
        mixtures.append(policy.probabilities(line["step"]))
        choice = policy.choose(line["step"], rng)
        assert (choice.task, choice.probability) == (line["task"], line["probability"])
        loss = line["loss"]
        if "loss" in words:
            policy.observe(choice.scored(loss, about="loss"))
        if "gain" in words:  # losses are logged as they are, but subtracted in single precision
            value = np.float32(last[choice.task]) - np.float32(loss) if choice.task in last else 0.0
            policy.observe(choice.scored(float(value)))
        last[choice.task] = loss
        after = said.get(line["step"] + 1, [])
        if "score" in words:
            tell_scores(policy, after)
        for own in (own for own in after if own["kind"] == "survey" and "uncertainty" in words):
            for task, found in own["tasks"].items():
                policy.observe(Feedback(task, found["value"]))
        for own in (own for own in after if own["kind"] == "arm" and "success" in words):
            policy.observe(Choice(own["task"], own["probability"], line["step"], own["round"]).scored(own["value"]))
    return np.array(mixtures)


def tell_scores(policy, lines):
    for line in (line for line in lines if line["kind"] == "eval"):
        for task in policy.tasks:
            policy.observe(Feedback(task, line["tasks"][task]["score"], about="score"))


@pytest.mark.parametrize("name", POLICIES)
def test_a_policy_given_to_fit_learns_as_in_a_loop_by_hand(tmp_path, name):
    policy, mixtures = POLICIES[name](), {}
    asked = policy.probabilities

    def probabilities(step):
        mixtures[step] = np.array(asked(step))  # the last time at each step it is asked for the draw
        return mixtures[step]

    policy.probabilities = probabilities
    run = trained_on_digits(tmp_path / "r", policy)
    by_hand = replayed(POLICIES[name](), run)
    np.testing.assert_allclose([mixtures[step] for step in range(600)], by_hand, atol=1e-12, rtol=0)
    inner = [line["mixture"] for line in run.lines("eval")]  # of a held bandit that of its child
    moved = max(0.5 * sum(abs(own[task] - inner[0][task]) for task in DIGITS) for own in inner)
    assert moved >= 0.05, f"it moved by {moved:.3f} in total variation"


def test_nobody_is_deaf_but_by_request(tmp_path):
    run = trained_on_digits(tmp_path / "r", POLICIES["Auto"](), listen=())
    assert run.info["listen"] == []
    assert len({tuple(line["mixture"].values()) for line in run.lines("eval")}) == 1
    assert all(line["value"] is None for line in run.lines("step"))


def test_the_usual_sources_stand_in_the_run(tmp_path):
    run = train(tmp_path / "r", AutoDev(NAMES))
    assert run.info["listen"] == [USUAL["loss"].describe(), USUAL["score"].describe()]
    assert [source_from(own) for own in run.info["listen"]] == [USUAL["loss"], USUAL["score"]]
    survey = train(tmp_path / "s", WithFloor(Tracking(NAMES), 0.1)).info["listen"][0]
    assert (survey["source"], survey["every"]) == ("survey", 2)  # a twentieth of forty
    assert not train(tmp_path / "u").info["listen"]


class Mood(Policy):
    hears = ("mood",)

    def probabilities(self, step):
        return np.full(len(self.tasks), 1 / len(self.tasks))

    def learn(self, k, feedback):
        assert feedback.about == "mood"


class Silent(Mood):
    hears = None

    def learn(self, k, feedback):
        pass


REFUSED = {
    "no usual source": (Mood(NAMES), None, r"Mood hears 'mood', for which there is no usual source.*Name one"),
    "does not say": (Silent(NAMES), None, r"Silent learns and does not say from what\. Declare it"),
    "another word": (
        Exp3S(NAMES),
        DevScores(),
        r"Exp3S hears gain\. Found nobody in `listen` who says 'gain', but score",
    ),
    "one of two words": (AutoDev(NAMES), "training_loss", r"AutoDev hears loss and score\. Found nobody.*'score'"),
    "not held": (
        Thompson(NAMES, primary="a"),
        None,
        r"Thompson hears after each round.*Hold\(Thompson\(…\), steps=10\)",
    ),
    "not held, with a floor": (WithFloor(Thompson(NAMES), 0.1), None, r"Give it rounds: Hold"),
    "other rounds": (
        Hold(Thompson(NAMES), 10),
        RoundSuccess(every=7),
        r"rounds of its policy, 10 updates\. Found every=7",
    ),
    "rounds that are too long": (
        Hold(Thompson(NAMES), 50),
        None,
        r"one whole round of 50 updates\. Found Settings\(steps=40\)",
    ),
    "too rare": (Tracking(NAMES), Survey(every=40), r"before the run ends\. Found every=40 and Settings\(steps=40\)"),
    "two at every step": (
        Exp3S(NAMES),
        ["visit_gain", training_loss],
        r"one source that speaks after every step\. Found 2",
    ),
    "one word twice": (Exp3S(NAMES), [EachStep("visit_gain"), DevScores(says="gain")], r"Found 2 that say 'gain'"),
    "no source at all": (Exp3S(NAMES), [7], r"`listen` expects sources or functions of a View\. Found 7"),
    "no such name": (Exp3S(NAMES), "visit-gain", r"Unknown measure of a step 'visit-gain'\. Did you mean 'visit_gain'"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_who_would_not_hear_is_refused_before_anything_is_made(tmp_path, case):
    policy, listen, sentence = REFUSED[case]
    with pytest.raises(RotaError, match=sentence):
        train(tmp_path / "r", policy, listen=listen)
    assert not (tmp_path / "r").exists()


def test_what_nobody_hears_is_measured_and_logged(tmp_path):
    run = train(tmp_path / "r", uniform(NAMES), listen=[Survey(every=10, passes=2), prediction_gain])
    assert [line["step"] for line in run.lines("survey")] == [10, 20, 30]
    assert all(line["value"] is not None for line in run.lines("step"))
    plain = train(tmp_path / "plain", uniform(NAMES), listen=Survey(every=10, passes=2))
    assert [line["loss"] for line in plain.lines("step")][:1] == [line["loss"] for line in run.lines("step")][:1]


def test_one_word_can_be_given_for_another(tmp_path):
    scores = train(tmp_path / "r", Tracking(NAMES), listen=DevScores(says="uncertainty"))
    last = scores.lines("eval")[-1]
    assert len({line["probability"] for line in scores.lines("step")}) > 1
    assert sum(last["mixture"].values()) == pytest.approx(1)


def test_auto_dev_in_joint_training_takes_losses_for_losses(tmp_path):
    policy = AutoDev(NAMES, horizon=40)
    train(tmp_path / "r", policy, stream=JointStream)
    assert policy.losses.visits.tolist() == [40, 40, 40]
    assert policy.scores.visits.tolist() == [5, 5, 5]  # at 0, 10, 20, 30 and 40


def test_a_function_of_ones_own_says_the_only_word_of_the_policy(tmp_path):
    class Heard(Exp3S):
        words: set = set()  # noqa: RUF012

        def learn(self, k, feedback):
            self.words.add(feedback.about)
            super().learn(k, feedback)

    run = train(tmp_path / "r", Heard(NAMES), listen=lambda view: 2 * view.loss)
    assert Heard.words == {"gain"}
    lines = run.lines("step")
    assert [line["value"] for line in lines] == pytest.approx([2 * line["loss"] for line in lines])
    crash_at(20, tmp_path / "two", Heard(NAMES), listen=lambda view: 2 * view.loss)
    with pytest.raises(RotaError, match="listen"):  # another lambda is another run
        train(tmp_path / "two", Heard(NAMES), listen=lambda view: 3 * view.loss, resume=True)


@dataclasses.dataclass(frozen=True)
class Weather(Source):
    """A source of somebody's own: says every ten steps how often it has been asked."""

    name = "weather"
    says: str = "mood"

    def open(self, run):
        return WeatherFeed(run.policy.tasks, self.says)


class WeatherFeed(Feed):
    def __init__(self, tasks, says):
        self._tasks, self._says, self._asked = tasks, says, 0

    def at_step_end(self, moment):
        self._asked += 1
        if moment.done % 10:
            return None
        line = {"kind": "weather", "step": moment.done, "asked": self._asked}
        return Said([Feedback(task, self._asked, None, moment.done, about=self._says) for task in self._tasks], line)

    def state_dict(self):
        return {"asked": self._asked}

    def load_state_dict(self, state):
        self._asked = state["asked"]


def test_a_source_of_ones_own_speaks_is_logged_and_is_resumed(tmp_path):
    train(tmp_path / "whole", Mood(NAMES), listen=Weather())
    crash_at(23, tmp_path / "cut", Mood(NAMES), listen=Weather())
    run = train(tmp_path / "cut", Mood(NAMES), listen=Weather(), resume=True)
    assert_same_run(tmp_path / "whole", tmp_path / "cut")
    assert [(line["step"], line["asked"]) for line in run.lines("weather")] == [(10, 10), (20, 20), (30, 30), (40, 40)]
    assert run.info["listen"] == [{"source": "weather", "says": "mood"}]


def test_descriptions_make_the_source_again():
    for source in (*USUAL.values(), EachStep("prediction_gain", says="reward"), Survey("bald", every=3, rows=9)):
        assert source_from(source.describe()) == source
    assert source_from("prediction_gain") == EachStep(prediction_gain)
    with pytest.raises(RotaError, match="Unknown source 'weather'"):
        source_from({"source": "weather"})


def test_a_source_is_used_in_many_runs(tmp_path):
    source = Survey(every=10, passes=2)
    for name in ("one", "two"):
        train(tmp_path / name, Tracking(NAMES), listen=source)
    assert_same_run(tmp_path / "one", tmp_path / "two")


def test_ends_and_floors_hear_through(tmp_path):
    policy = WithEnds(WithFloor(Exp3S(NAMES, eta=0.5), 0.1), {"aux": 5})
    run = train(tmp_path / "r", policy)
    assert policy.policy.policy.updates == 40
    assert run.summary["updates"]["aux"] == 5


def test_moments_at_evaluations_come_before_their_line(tmp_path):
    seen = []

    class Nosy(Source):
        name, says = "nosy", "nothing"

        def open(self, run):
            class Asked(Feed):
                def at_evaluation(self, moment):
                    seen.append((moment.done, moment.evaluation["average"], moment.last))

            return Asked()

        def describe(self):
            return {"source": self.name}

    run = train(tmp_path / "r", Fixed(dict.fromkeys(NAMES, 1)), listen=[Nosy()], settings=QUICK)
    assert [(done, average) for done, average, _ in seen] == [
        (line["step"], line["average"]) for line in run.lines("eval")
    ]
    assert [last for *_, last in seen] == [False, False, False, False, True]
    assert Moment(3).choice is None


def test_the_model_is_not_touched_by_a_refusal(tmp_path):
    tasks = make_tasks()
    model = make_model(tasks)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    with pytest.raises(RotaError, match="no usual source"):
        fit(model, tasks, Mood(NAMES), tmp_path / "r", QUICK, progress=False)
    assert all(tensor.equal(before[name]) for name, tensor in model.state_dict().items())
