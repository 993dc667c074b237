"""Faults that begin late are seen in a run of the user's own problem; changes that break no proof are no violations."""

import inspect
import json
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

from accountant import Accountant, Budget
from algorithms import CUCBBatch
from algorithms.catalogue.named_run import NamedLearner, begin_named_run
from algorithms.estimates.level_free import level_free_upper
from algorithms.problems import LinearContexts, build_problem
from algorithms.theory.regret import BOUNDS
from algorithms.theory.regret_bound import Instance
from verify import regret
from verify.commands.command_group import cli
from verify.regret_claims import proof
from verify.regret_claims.phase_checks import PhaseRun
from verify.regret_claims.proof import check_run, linear_check_problem
from verify.regret_claims.saved_run import check_saved_run
from verify.verification.resolve import every_learner


def plant(name, *methods):
    """Return the learner's class with methods in front of its own."""
    made = every_learner[name].make
    return type("Planted", (*methods, made), {"__signature__": inspect.signature(made)})


def instance(name, problem=None, horizon=4000, epsilon=1.0, **settings):
    family = every_learner[name].family
    if family == "contextual":
        played = LinearContexts(np.array([0.6, -0.3]), 4)
    elif family == "linear":
        played = linear_check_problem(horizon, {}, dimension=3 if name.startswith("published/") else 2)
    else:
        own = {"bandit": "arms", "matroid": "linear-matroid", "cascade": "cascade", "experts": "experts"}
        played = build_problem(problem or own.get(family, "top-k"), {})
    return Instance(played, epsilon, horizon, settings=settings)


def checked(name, *methods, **given):
    """Return the verdict on a planted learner by one run of a problem, and what was seen."""
    played = instance(name, **given)
    bound = BOUNDS[name].bound_for(played)
    found = check_run(plant(name, *methods), bound, played, problem="the problem", seed=3, error=1e-5)
    words = [check.description for check in found if check.violated or check.differs]
    if any(check.violated for check in found):
        return "violated", words
    return ("another learner" if any(check.differs for check in found) else "as the theorem says"), words


class Late:
    """A fault that begins after some rounds.

    Attributes
    ----------
    after
        How many.
    """

    after = 400
    seen = 0

    def observe(self, feedback, *rest, **more):
        rounds = rest[0] if rest else more.get("rounds")
        super().observe(feedback, *rest, **more)
        self.seen += 1 if rounds is None else int(np.max(rounds))

    @property
    def late(self):
        return self.seen >= self.after


class LateExponent(Late):
    """Indices of next to no exponent."""

    def observe(self, *args, **keywords):
        if self.late:
            self.uncounted = 1e3
        super().observe(*args, **keywords)


class LearnsNoMore(Late):
    """Nothing is learned from feedback."""

    after = 600

    def hear(self, *args, **keywords):
        if not self.late:
            super().hear(*args, **keywords)


class NoReleases(Late):
    """Nothing is released any more."""

    after = 500

    def learn(self, action, feedback, rounds=None):
        if not self.late:
            super().learn(action, feedback, rounds)


class FrozenAboveACount:
    """The index of an arm stays as it is from 100 values on."""

    def learn(self, *args, **keywords):
        index, size = self.index.copy(), self.batches.size.copy()
        super().learn(*args, **keywords)
        self.index = np.where(size > 100, index, self.index)


class RandomArm(Late):
    """Batches of arms that are not those of largest index."""

    after = 2000

    def choose(self, *args, **keywords):
        action = super().choose(*args, **keywords)
        if self.late:
            weights = np.random.default_rng(self.seen).random((self.gate.lanes, self.structure.arms))
            action = self.structure.solve(weights)
        return action


class RandomOnPaths:
    """Right on sets; every third round a random path."""

    acts = 0

    def choose(self, *args, **keywords):
        action = super().choose(*args, **keywords)
        self.acts += 1
        if self.acts % 3 == 0 and type(self.structure).__name__ == "ShortestPath":
            weights = np.random.default_rng(self.acts).random((self.gate.lanes, self.structure.arms))
            action = self.structure.solve(weights)
        return action


class LoudNoiseLate(Late):
    """Five times the noise."""

    after = 2000

    def learn(self, *args, **keywords):
        if self.late and not hasattr(self, "right"):
            self.right = self.batches._mechanism
            self.batches._mechanism = replace(self.right, scale=5 * self.right.scale)
        super().learn(*args, **keywords)


class KeptFromPhaseEight:
    """No action is eliminated from phase 8 on."""

    def _eliminate(self, phase, *args, **keywords):
        before = self.active
        super()._eliminate(phase, *args, **keywords)
        if phase.number >= 8:
            self.active = before


class WorstListLate(Late):
    """The items of least index are shown."""

    def choose(self, *args, **keywords):
        shown = super().choose(*args, **keywords)
        if self.late:
            shown = self.list = self.structure.solve(-self.estimates.index)
        return shown


class SmallLevelLate(Late):
    """A quarter of the exponent, of lists."""

    def observe(self, *args, **keywords):
        super().observe(*args, **keywords)
        if self.late and not hasattr(self, "changed"):
            self.changed = True
            self.exponent /= 4


class NobodyRemoved:
    """From phase 6 on no arm is removed."""

    def _end_phase(self, lanes):
        left = self.left.copy()
        super()._end_phase(lanes)
        if self.phase.max() > 6:
            self.left = left
            self.recommendation[:] = -1


# Legal changes.


class RunningMinimum:
    """The least index so far, which is valid, too."""

    def hear(self, *args, **keywords):
        index = self.estimates.index.copy()
        super().hear(*args, **keywords)
        self.estimates.index = np.minimum(index, self.estimates.index)


class HalfTheError:
    """Radii for half the error."""

    def __init__(self, *args, **keywords):
        super().__init__(*args, **keywords)
        if hasattr(self.estimates, "_root"):
            self.estimates._root *= 1.02
        elif hasattr(self.estimates, "bound"):
            self.estimates.bound = replace(
                self.estimates.bound, exponent=self.estimates.bound.exponent + np.log(2)
            )
        else:
            self.exponent += np.log(2)


class Clipped:
    """Indices are clipped to [0, 1]."""

    def confidence(self):
        found = super().confidence()
        return replace(
            found, index=np.clip(found.index, 0.0, 1.0) + np.where(np.isinf(found.index), np.inf, 0)
        )


class HighestId:
    """Of equal indices the highest id."""

    def choose(self, *args, **keywords):
        action = super().choose(*args, **keywords)
        index = np.minimum(self.confidence().index, 1e6)
        worst = self.structure.solve(index + 1e-13 * np.arange(index.shape[1]))
        return worst if worst.shape == action.shape else action


class Reversed:
    """The arms of an action in another order."""

    def choose(self, *args, **keywords):
        return super().choose(*args, **keywords)[:, ::-1].copy()


class Plain:
    """``H(v) = v``."""

    uncounted = 0.0


class AHairAbove:
    """Indices are a millionth larger."""

    def learn(self, *args, **keywords):
        super().learn(*args, **keywords)
        known = self.batches.releases > 0
        self.index[known] = np.minimum(self.index[known] * (1 + 1e-6), 1.0)


class LongerFirstBatch:
    """First batches of one more."""

    def __init__(self, *args, **keywords):
        super().__init__(*args, **keywords)
        self.batches._next_size += 1


class FasterGrowth:
    """Batches grow twice as fast."""

    growth = 0.2
    falling = 3.0


class AlwaysAnew:
    """All indices are computed anew in every round."""

    def learn(self, action, feedback, rounds):
        super().learn(action, feedback, rounds)
        known = self.batches.releases > 0
        if known.any():
            batches = (self.batches.size[known], self.batches.releases[known], self.batches.total[known])
            clock = np.full(known.sum(), self.rounds.observed + float(rounds.max()))
            self.index[known] = level_free_upper(*batches, clock, noise=self.noise)


class WiderWidth:
    """A tenth wider."""

    def widths(self, *args, **keywords):
        return 1.1 * super().widths(*args, **keywords)


LIST = {"index": "confidence"}
PHASES = {"horizon": 140_000, "epsilon": 5.0}
LATE = [
    ("cucb-ldp-bit", LateExponent, {}),
    ("cucb-ldp-bit", LearnsNoMore, {}),
    ("cucb-batch", NoReleases, {}),
    ("cucb-batch", FrozenAboveACount, {}),
    ("dp-bandit", RandomArm, {}),
    ("cucb-batch", RandomOnPaths, {"problem": "shortest-path"}),
    ("dp-dpe-central", KeptFromPhaseEight, PHASES),
    ("cascade-ucb-batch", WorstListLate, LIST),
    ("cascade-ucb-batch", SmallLevelLate, LIST),
    ("cascade-ucb-rr", WorstListLate, {}),
    ("dp-best-arm", NobodyRemoved, {"horizon": 10**6}),
    ("cucb-batch", NoReleases, {"horizon": 10**6}),
    ("cucb-batch", FrozenAboveACount, {"horizon": 10**6, "problem": "shortest-path"}),
    ("dp-bandit", RandomArm, {"horizon": 10**6}),
    ("dp-bandit", LoudNoiseLate, {"horizon": 10**6}),
    ("cascade-ucb-batch", WorstListLate, {"horizon": 10**6, **LIST}),
]


@pytest.mark.few(6)
@pytest.mark.parametrize(("name", "fault", "given"), LATE, ids=lambda value: getattr(value, "__name__", ""))
def test_faults_that_begin_late_are_violations(name, fault, given):
    verdict, words = checked(name, fault, **given)
    assert verdict == "violated", words


LEGAL = [
    ("cucb-ldp-gaussian", RunningMinimum, {"epsilon": 20.0}),
    ("cucb-ldp-gaussian", HalfTheError, {"epsilon": 20.0}),
    ("cascade-ucb-rr", HalfTheError, {}),
    ("cascade-ucb-batch", HalfTheError, LIST),
    ("omm", Clipped, {}),
    ("cucb-ldp-bit", HighestId, {}),
    ("cucb-batch", HighestId, {}),
    ("cucb-batch", Reversed, {"problem": "shortest-path"}),
    ("cucb-batch", Plain, {}),
    ("dp-bandit", Plain, {}),
    ("dp-bandit", AHairAbove, {}),
    ("dp-bandit", LongerFirstBatch, {}),
    ("cucb-batch", LongerFirstBatch, {}),
    ("cucb-batch", FasterGrowth, {}),
    ("dp-bandit", AlwaysAnew, {}),
    ("dp-dpe-central", WiderWidth, PHASES),
]
SAME = {RunningMinimum, Clipped, HighestId, Reversed, AHairAbove}


@pytest.mark.few(6)
@pytest.mark.parametrize(("name", "change", "given"), LEGAL, ids=lambda value: getattr(value, "__name__", ""))
def test_changes_that_break_no_proof_are_no_violations(name, change, given):
    verdict, words = checked(name, change, **{"horizon": 700, **given})
    assert verdict == ("as the theorem says" if change in SAME else "another learner"), words


@pytest.mark.slow
def test_a_true_learner_is_looked_at_to_the_end_of_a_million_rounds():
    assert checked("cucb-batch", horizon=10**6) == ("as the theorem says", [])


TRUE = [name for name, bound in BOUNDS.items() if bound.confidence is not None]


@pytest.mark.few(3)
@pytest.mark.parametrize("name", TRUE)
def test_true_learners_do_as_the_theorem_says(name):
    for epsilon in (1.0, 8.0):
        given = LIST if name.startswith("cascade-ucb-batch") else {}
        assert checked(name, horizon=300, epsilon=epsilon, **given) == ("as the theorem says", [])


@pytest.fixture
def many_lanes(monkeypatch):
    """Check ten times as many runs of a proof, and 64 of the problem: they cost little beside the rest of a report.

    Linear learners are run one after the other: five times as many, and 8.
    """
    one = proof._run_class

    def run_class(make, theorem):
        kind = one(make, theorem)
        own, times = (8, 5) if kind is PhaseRun else (64, 10)

        def make_run(bound, played, lanes, **more):
            return kind(bound, played, own if lanes == 1 else times * lanes, **more)

        return make_run

    monkeypatch.setattr(proof, "_run_class", run_class)


@pytest.mark.slow
@pytest.mark.usefixtures("many_lanes")
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("name", TRUE)
def test_no_report_of_a_true_learner_is_a_violation(name, seed):
    """At four epsilons, on its easiest problem and on its usual one; where only a paper claims it it may be refuted."""
    problem = every_learner[name].default_problem if seed >= 4 else None
    epsilon = (0.5, 1.0, 5.0, 20.0)[seed % 4]
    settings = LIST if name.startswith("cascade-ucb-batch") else {}
    report = regret(
        name, problem=problem, settings=settings, epsilon=epsilon, horizon=600, runs=160, seed=seed
    )
    assert not report.theorem.covered or report.verdict not in ("violated", "another learner"), report.reasons


def test_a_subclass_has_its_parents_theorem_until_it_says_otherwise():
    class Fiftieth(CUCBBatch):
        """A radius divided by 50."""

        uncounted = 1e4

    class Silent(CUCBBatch):
        regret_bound = None

    report = regret(Fiftieth, epsilon=1.0, horizon=400, runs=2)
    assert report.theorem.source == BOUNDS["cucb-batch"].source
    assert report.verdict == "violated"
    assert regret(Silent, epsilon=1.0, horizon=100, runs=2).verdict == "out of regime"


@pytest.mark.slow
def test_a_report_says_which_rounds_of_which_problem_were_looked_at():
    class Longer(LongerFirstBatch, CUCBBatch):
        __init__ = LongerFirstBatch.__init__
        __signature__ = inspect.signature(CUCBBatch)

    report = regret(Longer, problem="top-k", epsilon=1.0, horizon=1200, runs=2)
    assert (report.verdict, report.exit_code) == ("another learner", 3)
    assert "another learner than the theorem's" in report.reasons[0].text
    (looked,) = (check for check in report.proof if check.name == "your problem")
    assert looked.description.startswith("looked at: 1,000 rounds one by one and ")
    assert looked.description.endswith(" of 1,200 rounds of top-k")


@pytest.fixture
def run(tmp_path):
    """A run of K arms in production, 60 users on."""
    named = NamedLearner("dp-bandit", "arms", 1.0, 1000)
    noise = np.random.default_rng(1)
    with begin_named_run(tmp_path / "run", named, Accountant(Budget(epsilon=1.0), noise=noise)) as run:
        for user in range(60):
            (arm,) = run.learner.act()[0]
            click = run.accountant.private(
                [float(user % 3 < arm % 3)], run.learner.feedback_domain, record=user
            )
            run.learner.observe(click)
        run.save()
        yield tmp_path / "run", run


def test_a_run_in_production_is_checked_from_its_folder(run):
    folder, production = run
    shown = CliRunner().invoke(cli, ["regret", str(folder)])
    assert shown.exit_code == 0, shown.output
    assert shown.output.startswith("CONSISTENT  the state of dp-bandit, ε = 1, after 60 rounds of arms")
    right = production.learner.index.copy()
    for index, verdict in ((0.8 * right, "violated"), (1.2 * right, "another learner")):
        production.learner.index = index
        production.save()
        assert check_saved_run(folder).verdict == verdict
    shown = CliRunner().invoke(cli, ["regret", str(folder), "--json"])
    assert (shown.exit_code, json.loads(shown.output)["verdict"]) == (3, "another learner")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["--horizon", "5"], "--horizon: a run has its own learner"),
        (["--test", "growth"], "--test: a run has its own learner"),
    ],
)
def test_a_run_has_its_own_numbers(run, given, words):
    refused = CliRunner().invoke(cli, ["regret", str(run[0]), *given])
    assert isinstance(refused.exception, ValueError)
    assert words in str(refused.exception)


def test_a_folder_without_a_run_is_refused(tmp_path):
    refused = CliRunner().invoke(cli, ["regret", str(tmp_path)])
    assert isinstance(refused.exception, ValueError)
    assert "holds no saved run" in str(refused.exception)
