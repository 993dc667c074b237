"""Histories of Opacus' accountants, whose framework is not installed: the same as the release file that says it."""

import itertools
import json
import math
from collections import Counter

import pytest
from damaged import damaged, refusal
from hypothesis import given, settings
from hypothesis import strategies as st

from accountant import compose
from accountant.audit import ReleaseFileError, from_opacus, read_releases
from mechanisms import GaussianProfile, Neighbouring
from mechanisms.amplification.random_allocation import RandomAllocationProfile
from mechanisms.composition.enclosure import Bound
from mechanisms.profiles.fixed_size import FixedSizeProfile
from mechanisms.profiles.related_profile import restate

AS_OPACUS = {"batches": "poisson", "mean": "public size"}
HISTORY = [(1.0, 0.01, 500), (1.5, 0.02, 30), (1.0, 0.01, 20), (20.0, 1.0, 3)]
TABLES = """
neighbours = "{relation}"

[[release]]
mechanism = "gaussian"
sigma = 1.0
sampling_rate = 0.01
count = 520

[[release]]
mechanism = "gaussian"
sigma = 1.5
sampling_rate = 0.02
count = 30

[[release]]
mechanism = "gaussian"
sigma = 20.0
sensitivity = {moved}
count = 3
"""


class PRVAccountant:
    """As far as Opacus 1.5 puts it into its state: the class method itself, not what it returns."""

    @classmethod
    def mechanism(cls):
        return "prv"


def counted(releases):
    (group,) = releases.groups
    return releases.profile_counts(group)


@pytest.mark.parametrize(
    ("relation", "moved"), [("add or remove one", 1), ("zero out", 1), ("replace one", 2)]
)
def test_a_history_is_the_release_file_that_says_the_same(relation, moved, file):
    written = counted(read_releases(file(TABLES.format(relation=relation, moved=moved))))
    saved = file(json.dumps({"history": HISTORY, "mechanism": "rdp", **AS_OPACUS}), "opacus.json")
    state = {"history": HISTORY, "mechanism": PRVAccountant.mechanism}
    for read in (
        from_opacus(HISTORY, relation, **AS_OPACUS),
        from_opacus(state, relation, **AS_OPACUS),
        read_releases(saved, relation),
    ):
        assert counted(read) == written
    with pytest.raises(ReleaseFileError, match="does not say when two data sets are neighbours"):
        read_releases(saved)


@pytest.mark.parametrize(
    ("relation", "expected"), [("add or remove one", 1.5803318997), ("replace one", 2.2382069821)]
)
def test_the_golden_history(relation, expected):
    found = compose(counted(from_opacus([(1.0, 0.01, 500)], relation, **AS_OPACUS))).epsilon(1e-6)
    assert found.lower - 5e-11 <= expected <= found.upper + 5e-11
    assert found.width < 1e-8


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ([], r"history = '\[\]': must be a list of at least one step"),
        ({"mechanism": "rdp"}, "history = 'None'"),
        ({"history": HISTORY, "mechanism": "exact"}, "mechanism = 'exact': must be one of rdp, prv, gdp"),
        ({"history": HISTORY, "steps": 3}, "unknown key 'steps'"),
        ([(1.0, 0.01, 5), (1.0, 0.01)], r"history\[1\] = '\(1.0, 0.01\)': must be \(noise_multiplier"),
        ([(-1.0, 0.01, 5)], r"history\[0\]: noise_multiplier = -1.0: must not be negative"),
        ([(1.0, 0.0, 5)], r"history\[0\]: sample_rate = 0.0: must lie in \(0, 1\]"),
        ([(1.0, 0.5, 0)], r"history\[0\]: steps = 0"),
        ([(1.0, 0.5, True)], r"history\[0\]: steps = True"),
    ],
)
def test_what_is_refused_and_why(state, words):
    with pytest.raises(ReleaseFileError, match=words):
        from_opacus(state, "replace one", **AS_OPACUS)


@settings(max_examples=30, deadline=None)
@given(content=damaged({"history": [list(step) for step in HISTORY], "mechanism": "gdp"}))
def test_a_damaged_state_is_read_or_refused_in_one_line(content):
    assert len(refusal(lambda: from_opacus(content, "add or remove one", **AS_OPACUS)).splitlines()) <= 1


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({}, "batches = None: the history does not say how batches were made: give one of 'poisson', 'fixed"),
        ({"batches": "shuffled"}, "batches = 'shuffled'"),
        ({"batches": "poisson"}, "mean = None: the history does not say what sums were divided by"),
        (
            {"batches": "poisson", "mean": "own size"},
            r"the size of a batch depends on who is in it \(poisson\)",
        ),
        ({"batches": "random allocation", "mean": "own size"}, r"who is in it \(random allocation\)"),
        ({"batches": "shuffled batches", "mean": "own size"}, "all others change their places"),
        ({"batches": "fixed size", "mean": "own size"}, "a pair for 'replace one' only"),
    ],
)
def test_how_batches_were_made_must_be_said(said, words, file):
    """Until now all of these had a Poisson figure."""
    saved = file(json.dumps({"history": HISTORY, "mechanism": "rdp", **said}), "opacus.json")
    with pytest.raises(ReleaseFileError, match=words):
        read_releases(saved, "add or remove one")


def test_shuffled_batches_have_an_upper_end_of_their_own():
    """A Gaussian a pass, five of them; Poisson batches would have 1.58."""
    said = {"batches": "shuffled batches", "mean": "own size"}
    for relation, sigma in (("zero out", 1.0), ("replace one", 0.5)):
        found = compose(counted(from_opacus([(1.0, 0.01, 450)], relation, **said))).epsilon(1e-6)
        assert isinstance(found, Bound)
        assert found.upper == pytest.approx(GaussianProfile(math.sqrt(5) / sigma).epsilon(1e-6), rel=1e-9)


@pytest.mark.parametrize(
    ("history", "expected"),
    [
        (
            [(100.0, 0.5, 1), (1.0, 0.5, 2)],
            {100.0: 1, 1.0: 2},
        ),  # the second entry ends one pass and begins another
        ([(100.0, 0.5, 2), (1.0, 0.5, 2)], {100.0: 1, 1.0: 1}),
        ([(1.0, 0.1, 5), (1.0, 0.1, 5)], {1.0: 1}),
        ([(2.0, 0.1, 25), (1.0, 0.1, 5), (4.0, 0.1, 1)], {2.0: 3, 1.0: 1, 4.0: 1}),
        ([(2.0, 0.1, 5), (1.0, 0.2, 5), (4.0, 0.1, 2)], {2.0: 1, 1.0: 1, 4.0: 2}),  # does its pass go on?
        ([(2.0, 0.1, 10), (1.0, 0.2, 5), (4.0, 0.1, 2)], {2.0: 1, 1.0: 1, 4.0: 1}),
        ([(2.0, 0.3, 3), (1.0, 0.3, 2)], {2.0: 1, 1.0: 2}),  # passes of 3 or of 4 batches
    ],
)
def test_noise_that_changes_within_a_pass(history, expected):
    """A batch of each of two passes may hold the record, wherever an entry begins."""
    found = counted(from_opacus(history, "replace one", batches="shuffled batches", mean="public size"))
    assert {2 / profile.profile.mu: count for profile, count in found} == pytest.approx(expected)


@given(
    st.lists(st.tuples(st.sampled_from([1.0, 2.0, 3.0]), st.integers(1, 9)), min_size=1, max_size=6),
    st.integers(1, 5),
)
def test_passes_of_each_noise_are_counted_by_walking_through_the_steps(entries, batches):
    history = [(noise, 1 / batches, steps) for noise, steps in entries]
    walked, step = Counter(), 0
    for noise, same in itertools.groupby(entries, lambda entry: entry[0]):
        steps = sum(count for _, count in same)
        walked[noise] += len({(step + i) // batches for i in range(steps)})
        step += steps
    found = counted(from_opacus(history, "replace one", batches="shuffled batches", mean="public size"))
    assert sorted(count for _, count in found) == sorted(walked.values())


def test_epochs_of_random_allocation():
    """Whole epochs, as what a broken-off one loses at least is not known; shuffled batches never have their figure."""
    said = {"batches": "random allocation", "mean": "public size"}
    found = counted(from_opacus([(1.0, 0.01, 250), (1.0, 0.01, 250)], "zero out", **said))
    assert found == ((RandomAllocationProfile(restate(GaussianProfile(1.0), Neighbouring.ZERO_OUT), 100), 5),)
    allocated = compose(found).epsilon(1e-6)
    assert allocated.lower <= 1.435070
    assert allocated.upper >= 1.435030
    shuffled = from_opacus([(1.0, 0.01, 500)], "zero out", batches="shuffled batches", mean="public size")
    assert compose(counted(shuffled)).epsilon(1e-6).upper > 10.0
    for history in ([(2.0, 0.01, 250), (1.0, 0.01, 200)], [(1.0, 0.01, 101)], [(1.0, 0.013, 100)]):
        with pytest.raises(ReleaseFileError, match=r"of whole epochs, here of 100 steps|it must be 1/t"):
            from_opacus(history, "zero out", **said)


def test_samples_of_fixed_size():
    said = {"batches": "fixed size", "mean": "own size"}
    ((profile, count),) = counted(from_opacus([(1.0, 0.01, 500)], "replace one", **said))
    assert (profile, count) == (FixedSizeProfile(GaussianProfile(2.0), 0.01), 500)
