"""True learners pass the checks of their proofs; planted faults, each hidden in a copy of a learner, do not."""

import copy
import inspect
from dataclasses import replace

import numpy as np
import pytest

from algorithms.catalogue import learner_builder
from algorithms.catalogue.structured_entries import learners
from algorithms.epochs import epoch_end
from algorithms.estimates.level_free import level_free_upper
from algorithms.lanes import gather
from algorithms.learner import Confidence
from algorithms.problems import Arms, Cascade, DisjointPaths, SemiBandit, TopK, UniformMatroid
from algorithms.theory.confidence_theorem import ConfidenceTheorem
from algorithms.theory.regret import BOUNDS
from algorithms.theory.regret_bound import Instance
from mechanisms import Laplace
from verify.regret_claims.mean_checks import MeanRun
from verify.regret_claims.proof_run import check_laws

MEANS = (0.3, 0.45, 0.6, 0.9)  # near 1/2, where estimates vary most, and off it, where a wrong gain shows
CHECKED = [
    name
    for name, bound in BOUNDS.items()
    if isinstance(bound.confidence, ConfidenceTheorem)
    and bound.confidence.index not in ("evidence", "divergence")
]
EPSILON, HORIZON, LANES = 2.0, 128, 64
LARGER = {
    "cucb-ldp-gaussian": 20.0,
    "cucb-ldp-bit": 20.0,
    "published/cucb-dp": 2000.0,
    "published/cucb-dp-least": 2000.0,
}  # else all indices stay at 1, and whatever is played answers them


def instance(family, epsilon=EPSILON, horizon=HORIZON):
    if family == "cascade":
        return Instance(Cascade(4, 2, (0.1, 0.25, 0.4, 0.7)), epsilon, horizon)
    if family == "bandit":
        return Instance(SemiBandit(Arms(4), MEANS), epsilon, horizon)
    structure = UniformMatroid(4, 2) if family == "matroid" else TopK(4, 2)
    return Instance(SemiBandit(structure, MEANS), epsilon, horizon)


def checks(name, make=None, *, seed=7, error=1e-4, lanes=LANES, **changed):
    played = instance(learners[name].family, **({"epsilon": LARGER.get(name, EPSILON)} | changed))
    build = learner_builder(
        make or learners[name].make, played.problem, epsilon=played.epsilon, horizon=played.horizon
    )
    return check_laws(MeanRun, build, BOUNDS[name], played, lanes=lanes, seed=seed, error=error)


def violated(name, make):
    """Return which checks fail, or that it is another learner than the theorem's."""
    found = checks(name, make)
    names = [check.name for check in found if check.violated]
    return names or ["another learner" for check in found if check.differs]


@pytest.mark.slow_cells("dp-bandit")
@pytest.mark.few(2)
@pytest.mark.parametrize("name", CHECKED)
def test_true_learners_pass(name):
    found = checks(name)
    assert [check.name for check in found if check.violated] == []
    # A lemma, or a bound, that holds in expectation only is not checked.
    assert len(found) == 8 - (BOUNDS[name].confidence.index == "level-free")


@pytest.mark.slow
def test_true_learners_pass_that_feed_several_arms():
    """cucb-batch feeds ceil(epsilon / 4) of two arms."""
    found = checks("cucb-batch", epsilon=6.0)
    assert [check.name for check in found if check.violated] == []


def checks_on_paths(make, epsilon):
    """Check cucb-batch on two disjoint paths, where it feeds ceil(epsilon T^(2/5) / 36) of a path's two arms."""
    played = Instance(SemiBandit(DisjointPaths(2, 2), MEANS), epsilon, HORIZON)
    bound = BOUNDS["cucb-batch"].bound_for(played)
    assert int(bound.value_of(bound.confidence.few, played)) == (2 if epsilon > 6 else 1)
    build = learner_builder(make, played.problem, epsilon=epsilon, horizon=HORIZON)
    return check_laws(MeanRun, build, bound, played, lanes=LANES, seed=7, error=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [5.0, 7.0])
def test_true_learners_pass_on_paths(epsilon):
    found = checks_on_paths(learners["cucb-batch"].make, epsilon)
    assert [check.name for check in found if check.violated] == []
    assert {"gap lemma", "good event"} <= {check.name for check in found}


def plant(name, *methods):
    """Return the learner's class with methods in front of its own."""
    made = learners[name].make
    return type("Planted", (*methods, made), {"__signature__": inspect.signature(made)})


class TiesToTheWorst:
    """Legal: of equal indices the highest id, which the oracle is asked for by infinitesimal advantages."""

    def choose(self):
        action = super().choose()
        index = self.confidence().index
        worst = self.structure.solve(np.minimum(index, 1e6) + 1e-13 * np.arange(index.shape[1]))
        return worst if worst.shape == action.shape else action


class HalfRadius:
    """Half the radius, in what the learner does and shows."""

    def __init__(self, *args, **keywords):
        super().__init__(*args, **keywords)
        if hasattr(getattr(self, "estimates", None), "ones"):
            self.estimates._exponent /= 4
        elif hasattr(self, "estimates"):
            self.estimates._root /= 2
        elif hasattr(self, "uncounted"):
            self.uncounted = 2.0
        else:
            self.exponent /= 4


class OwnIndexOnly:
    """Only the index of what was released is computed anew."""

    def learn(self, *args, **keywords):
        index, releases = self.index.copy(), self.batches.releases.copy()
        super().learn(*args, **keywords)
        self.index = np.where(self.batches.releases > releases, self.index, index)


class StuckIndexClock:
    """The clock of the indices stays at round 30."""

    def learn(self, *args, **keywords):
        right, self.rounds = self.rounds, copy.copy(self.rounds)
        self.rounds.observed = min(right.observed, 29)
        super().learn(*args, **keywords)
        self.rounds = right


class AlwaysAnew:
    """All indices are computed anew in every round, with its clock."""

    def learn(self, *args, **keywords):
        super().learn(*args, **keywords)
        known = self.batches.releases > 0
        batches = (self.batches.size[known], self.batches.releases[known], self.batches.total[known])
        clock = np.full(known.sum(), self.rounds.observed + 1.0)
        self.index[known] = level_free_upper(*batches, clock, noise=self.noise)


class NoLogarithm:
    """The exponent without T."""

    def __init__(self, *args, **keywords):
        super().__init__(*args, **keywords)
        if hasattr(self, "uncounted"):
            self.uncounted = 1e3
            return
        right, self.exponent = self.exponent, np.log(2 * self.structure.arms)
        if hasattr(getattr(self, "estimates", None), "ones"):
            self.estimates._exponent = 0.0
        elif hasattr(self, "estimates"):
            self.estimates._root *= np.sqrt(self.exponent / right)


class CountForgotten:
    """Every second feed of an arm is not counted."""

    def observe(self, feedback, *rest):
        before = self._counted().copy()
        super().observe(feedback, *rest)
        self.calls = getattr(self, "calls", 0) + 1
        if self.calls % 2 == 0:
            self._counted()[:] = before

    def _counted(self):
        return self.estimates.count if hasattr(self, "estimates") else self.batches.size


class LoudNoise:
    """Twice the noise that the radius knows."""

    def __init__(self, structure, gate, **keywords):
        super().__init__(structure, gate, **keywords)
        holders = (self, "randomizer"), (getattr(self, "bits", None), "randomizer")
        for holder, name in (*holders, (getattr(self, "batches", None), "_mechanism")):
            if getattr(holder, name, None) is not None:  # batches of what is public have none
                setattr(holder, name, self._louder(getattr(holder, name)))

    @staticmethod
    def _louder(mechanism):
        from mechanisms import Gaussian, Laplace, RandomizedResponse

        if isinstance(mechanism, Laplace):
            return Laplace(scale=2 * mechanism.scale, sensitivity=mechanism.sensitivity)
        if isinstance(mechanism, Gaussian):
            return Gaussian(
                sigma=2 * mechanism.sigma, sensitivity=mechanism.sensitivity, delta=mechanism.delta
            )
        return RandomizedResponse(size=mechanism.size, epsilon=mechanism.epsilon / 6)


class WrongGain:
    """What is learned is a fifth too large."""

    def observe(self, feedback, *rest):
        state = self.estimates if hasattr(self, "estimates") else self.batches
        before = state.mean.copy()
        super().observe(feedback, *rest)
        new = state.mean != before
        state.mean[new] *= 1.2


class StaleBatch:
    """The first batch's released sum is used for all later ones."""

    def __init__(self, *args, **keywords):
        super().__init__(*args, **keywords)
        first, learn = np.full(self.batches.size.shape, np.nan), self.batches._learn

        def stale(full, sums, sizes):
            first[full] = np.where(np.isnan(first[full]), sums, first[full])
            learn(full, first[full], sizes)

        self.batches._learn = stale


class RandomAction:
    """Every twentieth round plays what the oracle would not."""

    def choose(self):
        action = super().choose()
        self.acts = getattr(self, "acts", 0) + 1
        if self.acts % 20 == 0:
            action = self.structure.solve(-np.minimum(self.confidence().index, 1e6))
        return action


class NeverAgain:
    """Arm 0 is never played after round 10."""

    def choose(self):
        action = super().choose()
        self.acts = getattr(self, "acts", 0) + 1
        if self.acts > 10:
            index = np.minimum(self.confidence().index, 1e6)
            index[:, 0] = -1e6
            action = self.structure.solve(index)
        return action


def test_ties_to_the_worst_are_legal():
    for name in ("cucb-ldp-bit", "cucb-batch"):
        assert violated(name, plant(name, TiesToTheWorst)) == []


class Twice:
    """An attribute that an instance has, scaled."""

    attribute, factor = "", 2.0

    def __init__(self, *args, **keywords):
        super().__init__(*args, **keywords)
        *path, last = self.attribute.split(".")
        holder = self
        for name in path:
            holder = getattr(holder, name)
        object.__setattr__(holder, last, self.factor * getattr(holder, last))


def twice(attribute, factor=2.0):
    return type("Twice", (Twice,), {"attribute": attribute, "factor": factor})


class LoudNodes:
    """Nodes of a tree with twice the noise."""

    def __init__(self, *args, **keywords):
        super().__init__(*args, **keywords)
        right = self.tree.mechanism
        object.__setattr__(
            self.tree, "mechanism", Laplace(scale=2 * right.scale, sensitivity=right.sensitivity)
        )


class NarrowTree:
    """Half the width of the noise."""

    def __init__(self, *args, **keywords):
        super().__init__(*args, **keywords)
        self.noise_width /= 2


class ForgottenRound:
    """Every second round is not counted."""

    def observe(self, feedback):
        state = getattr(self, "means", self)
        before = state.count.copy()
        super().observe(feedback)
        self.calls = getattr(self, "calls", 0) + 1
        if self.calls % 2 == 0:
            state.count[:] = before


class StuckClock:
    """The logarithm stays at that of round 9."""

    def confidence(self):
        now, self.round = self.round, min(self.round, 9)
        found = super().confidence()
        self.round = now
        return found


class OffByAFifth:
    """What is learned is a fifth too large."""

    def observe(self, feedback):
        name = "total" if hasattr(self, "total") else "mean"
        before = getattr(self, name).copy()
        super().observe(feedback)
        now = getattr(self, name)
        now[now != before] *= 1.2


class HiddenStart:
    """The first value of every arm is learned as half of it."""

    def observe_initial(self, outcomes):
        super().observe_initial(outcomes)
        self.total *= 0.5


class WorstList:
    """Every twentieth round plays what has the least indices."""

    def choose(self):
        action = super().choose()
        self.acts = getattr(self, "acts", 0) + 1
        if self.acts % 20 == 0:
            action = self.structure.solve(-np.minimum(self.confidence().index, 1e6))
        return action


class MostCounted:
    """Of the arms played those are fed that have the most data."""

    @property
    def fed_arms(self):
        count = np.where(self.action >= 0, gather(self.batches.size, self.action), -1.0)
        return gather(self.action, count.argsort(axis=1)[:, -self.few :])


class AllFedAlike:
    """A batch more for an arm of each super arm than the noise is for."""

    def __init__(self, *args, **keywords):
        super().__init__(*args, **keywords)
        self.few += 1


@pytest.mark.parametrize(("fault", "check"), [(MostCounted, "bookkeeping"), (HalfRadius, "radius")])
def test_faults_of_few_arms_are_seen_on_paths(fault, check):
    found = checks_on_paths(plant("cucb-batch", fault), 5.0)
    assert [each.name for each in found if each.violated] == [check]


@pytest.mark.slow_cells("cucb-batch-StaleBatch-noise")
@pytest.mark.few(12)
@pytest.mark.parametrize(
    ("name", "fault", "check"),
    [
        ("cucb-batch", MostCounted, "bookkeeping"),
        ("cucb-batch", AllFedAlike, "another learner"),
        ("cucb-batch", StaleBatch, "noise"),
        ("cucb-batch", HalfRadius, "radius"),
        ("cucb-batch", twice("batches.falling"), "another learner"),
        ("cucb-batch", OwnIndexOnly, "radius"),
        ("cucb-batch", StuckIndexClock, "radius"),
        ("cucb-batch", AlwaysAnew, "another learner"),
        ("dp-bandit", OwnIndexOnly, "radius"),
        ("dp-bandit", StuckIndexClock, "radius"),
        ("dp-bandit", RandomAction, "oracle"),
        ("dp-bandit", LoudNoise, "noise"),
        ("dp-bandit-gaussian", NeverAgain, "oracle"),
        ("published/cucb-dp-least", ForgottenRound, "another learner"),
        ("published/cucb-dp-least", LoudNodes, "noise"),
        ("published/cucb-dp", NarrowTree, "radius"),
        ("published/cucb-dp", LoudNodes, "noise"),
        ("cucb", StuckClock, "radius"),
        ("cucb", ForgottenRound, "noise"),
        ("cucb", OffByAFifth, "noise"),
        ("cucb", WorstList, "oracle"),
        ("omm", StuckClock, "radius"),
        ("omm", WorstList, "oracle"),
        ("cascade-ucb1", StuckClock, "radius"),
        ("cascade-ucb1", ForgottenRound, "estimates"),
        ("cascade-ucb1", WorstList, "oracle"),
        ("published/cucb-ldp-gaussian", StuckClock, "radius"),
        ("published/cucb-ldp-gaussian", twice("sigma", 0.5), "radius"),
        ("published/cascade-ucb-ldp-laplace", OffByAFifth, "noise"),
        ("published/cascade-ucb-ldp-gaussian", WorstList, "oracle"),
        ("published/dpucb-mat", StuckClock, "radius"),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_faults_of_trees_and_averages_are_seen(name, fault, check):
    assert violated(name, plant(name, fault))[0] == check


FAMILIES = ["cucb-ldp-bit", "cucb-batch"]
FAULTS = (HalfRadius, NoLogarithm, CountForgotten, LoudNoise, WrongGain, RandomAction, NeverAgain)
PLANTED = [
    *((fault, name) for fault in FAULTS for name in FAMILIES),
    (StaleBatch, "cucb-batch"),
    *(pytest.param(fault, "cucb-ldp-gaussian", marks=pytest.mark.slow) for fault in FAULTS),
]
SEEN_AS = {
    HalfRadius: {"radius"},
    NoLogarithm: {"radius"},
    CountForgotten: {"bookkeeping", "radius"},
    LoudNoise: {"noise"},
    WrongGain: {"noise", "radius", "bookkeeping"},
    RandomAction: {"oracle"},
    NeverAgain: {"oracle"},
    StaleBatch: {"noise"},
}


@pytest.mark.few(2)
@pytest.mark.parametrize(("fault", "name"), PLANTED, ids=lambda value: getattr(value, "__name__", value))
def test_planted_faults_are_seen(fault, name):
    found = violated(name, plant(name, fault))
    assert set(found) & SEEN_AS[fault]


def test_raw_first_values_are_learned_as_they_are():
    assert "noise" in violated("cascade-ucb1", plant("cascade-ucb1", HiddenStart))


def test_a_report_says_that_no_radius_was_small_enough_to_be_seen():
    radius = checks("published/cucb-dp", epsilon=1.0)[1]
    assert (radius.name, radius.violated) == ("radius", False)
    assert "all indices were 1" in radius.description


@pytest.mark.parametrize(
    ("action", "index", "on_sets", "on_paths"),
    [
        ((2, 3), (1.0, 1.0, 0.55, -0.3), 0.0, 0.9),
        ((1, 3), (1.0, 1.0, 0.55, -0.3), 0.05, 0.9),
        ((0, 1), (1.0, 1.0, 0.55, -0.3), 0.95, 0.9),
        ((0, 1), (0.1, 0.2, 0.7, 0.8), 0.1, 0.1),
        ((0, 1), (0.1, 0.2, 0.7, 0.95), 0.0, 0.0),
    ],
)
def test_indices_below_the_means_of_best_arms_add_to_a_gap(action, index, on_sets, on_paths):
    """Arms 2 and 3 are the best set, and path; an index below 0 counts as 0. B_inf of a path of two arms is 2."""
    nothing = np.zeros((1, 4))
    shown = Confidence(nothing, nothing, nothing, np.array([index]))
    for structure, expected in ((TopK(4, 2), on_sets), (DisjointPaths(2, 2), 2 * on_paths)):
        played = Instance(SemiBandit(structure, MEANS), EPSILON, HORIZON)
        run = MeanRun(BOUNDS["cucb-batch"].bound_for(played), played, 1)
        assert run._shortfall(shown, np.array([action])) == pytest.approx([expected])


def test_a_printed_radius_beyond_its_regime_leaves_the_good_event():
    """cucb-ldp2 at epsilon 20: no term for sampling. Its regret is far below the bound all the same."""
    found = {check.name: check for check in checks("cucb-ldp2", epsilon=20.0, horizon=512)}
    assert found["good event"].violated
    assert not found["noise"].violated


def test_what_cannot_be_checked_is_refused():
    played = instance("semi-bandit")
    with pytest.raises(ValueError, match="bound"):
        check_laws(MeanRun, None, BOUNDS["cascade-ucb-rr"], played, lanes=64, seed=0, error=0.1)
    with pytest.raises(ValueError, match="cascade"):
        check_laws(MeanRun, None, BOUNDS["cascade-ucb1"], played, lanes=64, seed=0, error=0.1)


class NeverRenewed:
    """Indices keep the first epoch's confidence level."""

    def renew(self, lanes):
        pass


class LevelOfAShortRun:
    """Levels no longer grow with the epochs: a logarithm less."""

    def exponent_for(self, horizon):
        return super().exponent_for(min(int(horizon), 4000))


@pytest.mark.slow
@pytest.mark.parametrize("fault", [None, NeverRenewed, LevelOfAShortRun])
def test_faults_of_epochs_are_seen(fault):
    """Of a learner that is not told the horizon, into its third epoch."""
    made = learners["cucb-ldp-gaussian"].make
    make = (
        made if fault is None else type("Planted", (fault, made), {"__signature__": inspect.signature(made)})
    )
    played = replace(
        instance("semi-bandit", horizon=int(epoch_end(1)) + 64), epsilon=20.0, settings={"anytime": "yes"}
    )
    build = learner_builder(
        make, played.problem, epsilon=20.0, horizon=played.horizon, settings=played.settings
    )
    found = check_laws(MeanRun, build, BOUNDS["cucb-ldp-gaussian"], played, lanes=64, seed=1, error=1e-4)
    assert [check.name for check in found if check.violated] == ([] if fault is None else ["radius"])
