"""Laws of all answers: no lower end is above what any theorem proves, and none proves less than the answer says."""

import math
import random
from contextlib import suppress
from fractions import Fraction

import numpy as np
import pytest
from kinds_of_curves import KINDS, A, R
from syrupy.assertion import SnapshotAssertion

from mechanisms import (
    ApproximateProfile,
    AtomicProfile,
    BoundedRangeProfile,
    DiscreteLaplaceProfile,
    GaussianProfile,
    LaplaceProfile,
    ParameterError,
    PrivacyProfile,
    PureProfile,
    Sampling,
    sampled,
)
from mechanisms.composition.composed_loss import _WIDE, ComposedLoss, compose
from mechanisms.composition.enclosure import Enclosure, lower_end
from mechanisms.composition.running_loss import RunningLoss
from mechanisms.composition.theorems import EXACT
from mechanisms.domains.neighbouring import Neighbouring
from mechanisms.profiles.related_profile import RelatedProfile, restate
from mechanisms.profiles.subsampled import SubsampledProfile

ASKED = [
    ("delta", 1e-3),
    ("delta", 1e-6),
    ("delta", 1e-10),
    ("epsilon", 0.0),
    ("epsilon", 0.5),
    ("epsilon", 2.0),
]
FAST = {
    *(
        "Laplace",
        "Gaussian",
        "discrete Laplace",
        "response",
        "16-ary response",
        "atoms",
        "pure",
        "approximate",
    ),
    *("bounded range", "composed", "nothing", "no privacy", "zCDP"),
}
"""Kinds that take milliseconds, most of them together."""
HEAVY = {"skewed binomial", "sampled skewed binomial", "several binomials", "group on a sample, Laplace"}
"""Kinds that take seconds, beside others: grids of curves without a law."""


def check(loss: ComposedLoss, asked: str, at: float) -> list[str]:
    """Hold one answer to every row of its table, up to the width that it promises; return all, a line each."""
    given = {asked: at}
    answer = loss.epsilon(at) if asked == "delta" else loss.delta(at)
    least = lower_end(answer) or 0.0
    sides = [side for own in loss.directions for side in own.profiles]
    attained = any(side.attained() for side in sides) or not sides
    assert answer.upper == 0.0 or isinstance(answer, Enclosure) == attained, (given, answer)
    lines = [f"{asked} {at:g}: {answer.upper:.9g}, at least {least:.6g}, by {answer.by}"]
    for name, row in loss.theorems(**given).items():
        lines.append(f"  {name} {row.upper:.6g}")
        assert least <= row.upper, (loss.releases, given, name, answer, row)
        width = _WIDE * 1e-9 * row.upper  # where a product is narrower no theorem is asked beside it
        width += 1e-9 if asked == "delta" else 0.0
        assert answer.upper <= row.upper + width, (loss.releases, given, name, answer, row)
        assert (lower_end(row) or 0.0) <= answer.upper, (loss.releases, given, name, answer, row)
    return lines


def random_composition(seed: int, *, fast: bool) -> list[tuple[PrivacyProfile, int]]:
    draw = random.Random(seed)
    relation, kinds = draw.choice([A, R]), 3
    known = [
        name
        for name in KINDS[relation]
        if (name in FAST and name != "zCDP" if fast else name not in HEAVY or draw.random() < 0.01)
    ]
    names = [draw.choice(known) for _ in range(draw.randint(1, kinds))]
    return [(KINDS[relation][name](draw), draw.choice([1, 1, 3, 40, draw.randint(1, 300)])) for name in names]


@pytest.mark.slow_cells(
    "add or remove one-zCDP-2", "add or remove one-Gaussian-2", "replace one-zCDP-2", "replace one-composed-1"
)
@pytest.mark.parametrize("count", [1, 2, pytest.param(40, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("relation", "name"),
    [
        pytest.param(relation, name, marks=() if name in FAST else pytest.mark.slow)
        for relation in (A, R)
        for name in KINDS[relation]
    ],
)
def test_every_kind_alone(
    relation: Neighbouring, name: str, count: int, snapshot: SnapshotAssertion, request: pytest.FixtureRequest
) -> None:
    """In the default tier answers and tables are as recorded, with ``--snapshot-update`` if a change is meant."""
    profile, lines = KINDS[relation][name](random.Random(1)), []
    for asked, at in (("delta", 1e-5), ("epsilon", 0.25), ("epsilon", 0.0)):
        lines += check(compose([(profile, count)]), asked, at)
    if request.node.get_closest_marker("slow") is None:
        assert "\n".join(lines) == snapshot


@pytest.mark.slow
@pytest.mark.parametrize(
    ("relation", "one", "other"),
    [
        (relation, one, other)
        for relation in (A, R)
        for i, one in enumerate(KINDS[relation])
        for other in list(KINDS[relation])[:i]
        if {one, other}.isdisjoint(HEAVY)
    ],
)
def test_every_pair_of_kinds(relation: Neighbouring, one: str, other: str) -> None:
    draw = random.Random(f"{one} {other}")
    releases = [(KINDS[relation][name](draw), draw.choice([1, 3, 40])) for name in (one, other)]
    for asked, at in (("delta", 1e-5), ("epsilon", 0.25)):
        check(compose(releases), asked, at)


@pytest.mark.parametrize("first", [0, *(pytest.param(i, marks=pytest.mark.slow) for i in range(1, 100))])
def test_random_compositions_of_all_kinds(first: int, snapshot: SnapshotAssertion) -> None:
    """10,000 of them; in the default suite 8, of the fast kinds alone, as recorded."""
    lines = []
    for seed in range(first * 100, first * 100 + (100 if first else 8)):
        asked, at = random.Random(seed).choice(ASKED if first or seed % 10 == 0 else ASKED[:3])
        lines += check(compose(random_composition(seed, fast=not first)), asked, at)
    if not first:
        assert "\n".join(lines) == snapshot


@pytest.mark.slow_cells("3", "2")
@pytest.mark.parametrize("seed", range(5))
def test_streams_say_what_compositions_do(seed: int) -> None:
    releases = random_composition(1_000_000 + seed, fast=True)
    running = RunningLoss()
    for profile, count in releases:
        running.add(profile, count)
    found, whole = running.epsilon(1e-6), compose(releases).epsilon(1e-6)
    assert type(found) is type(whole)
    assert found.upper == pytest.approx(whole.upper, rel=1e-6, abs=1e-9)
    assert (lower_end(found) or 0.0) <= whole.upper
    budget = whole.upper * 1.5 + 0.1
    room = (
        running.remaining_releases(releases[0][0], epsilon=budget, delta=1e-6) if math.isfinite(budget) else 0
    )
    if 0 < room < math.inf:
        more = compose([*releases, (releases[0][0], int(room))]).epsilon_at_most(1e-6)
        assert more <= budget * (1.0 + 1e-9)


@pytest.mark.parametrize("scale", [1e160, 1e300, 1.7e308])
@pytest.mark.parametrize("epsilon", [0.0, 1.0, 1e6])
def test_no_theorem_proves_that_a_loss_is_nothing(scale: float, epsilon: float) -> None:
    """Divergences of tiny losses underflowed to 0, and so did δ at a large ε: "at most 0.0"."""
    tiny = LaplaceProfile(1.0, scale)
    assert (tiny.renyi([1.5, 100.0]) > 0.0).all()
    assert (tiny.loss().renyi([1.5, 100.0]) > 0.0).all()
    rows = compose([(tiny, 2), (GaussianProfile(0.1), 1)]).theorems(epsilon=epsilon)
    assert all(row.upper > 0.0 for row in rows.values()), rows


@pytest.mark.slow_cells("0.5-20-False", "0.5-20-True")
@pytest.mark.parametrize("added", [False, True])
@pytest.mark.parametrize("count", [1, 5, 20])
@pytest.mark.parametrize("rate", [0.1, 0.5])
def test_theorems_about_both_directions_say_nothing_of_one(added: bool, count: int, rate: float) -> None:
    """ "zCDP: at most 1.7128" for twenty records that may be added, which lose 1.7516: ε is more the other way."""
    for base in (LaplaceProfile(1.0, 0.5), PureProfile(Fraction(2))):
        one = SubsampledProfile(RelatedProfile(base, A), rate).directions()[added]
        loss = compose([(one, count)])
        for delta in (1e-3, 1e-6):
            check(loss, "delta", delta)
        assert set(loss.theorems(delta=1e-3)) == {"basic composition", "Renyi DP", EXACT}


def test_atoms_are_of_two_laws() -> None:
    """Two engines contradicted each other about "probabilities" that were of no law on the other data."""
    with pytest.raises(ParameterError, match=r"on the other data they add up to 1\.0085.*must be at most 1"):
        AtomicProfile((Fraction(1, 3), Fraction(-1, 3)), (0.57, 0.43))
    AtomicProfile((Fraction(1, 3), Fraction(-1, 3)), (0.57, 0.43), bound="a bound is of no pair")


FAR = (0.0, 1e-12, 1e-10, 1e-9, 1e-8, 1e-3, 1.0, 30.0, 1e3, 1e9, 1e100, 1e300)


@pytest.mark.slow_cells("add or remove one-skewed binomial", "replace one-shuffled response")
@pytest.mark.few(6)
@pytest.mark.parametrize(
    ("relation", "kind"),
    sorted(
        ((relation, kind) for relation, makes in KINDS.items() for kind in makes),
        key=lambda cell: cell[1] != "Gaussian",
    ),
    ids=lambda value: value if isinstance(value, str) else value.value,
)
def test_an_upper_end_is_0_only_where_no_loss_is_as_large(relation: Neighbouring, kind: str) -> None:
    """An audit said δ = 0 of a sampled Gaussian, where it is 2.8e-482."""
    profile = KINDS[relation][kind](random.Random(kind))
    every = [profile]
    for rate in (1e-200, 1e-16):
        for sampling in (Sampling.POISSON, Sampling.FIXED_SIZE):
            for own in (A, R):
                with suppress(ParameterError):
                    every.append(sampled(restate(profile, sampling.movement(own)), rate, own, sampling))
    for one in every:
        x = np.array(FAR)
        lower, upper = one.bounds(x)
        largest = one.pure_epsilon
        below = x < (math.inf if largest is None else float(largest) * (1.0 - 1e-9))
        assert np.all(upper[below] > 0.0)
        assert not np.signbit(lower).any()
        assert not np.signbit(upper).any()
    if (largest := profile.pure_epsilon) is None or float(largest) * 3 > 100.0:
        assert compose([(profile, 3)]).delta(100.0).upper > 0.0


@pytest.mark.slow_cells("LaplaceProfile-1000000000")
@pytest.mark.parametrize(
    ("profile", "count"),
    [
        (ApproximateProfile(Fraction(5e-324), 5e-324), 1000),
        (DiscreteLaplaceProfile(1, 1e160), 10**12),
        (LaplaceProfile(1.0, 1e160), 10**9),
        (BoundedRangeProfile(Fraction(5e-321)), 10**12),
        (PureProfile(Fraction(1e-170)), 10**9),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, PrivacyProfile) else str(value),
)
def test_losses_below_floats_are_no_internal_error(profile: PrivacyProfile, count: int) -> None:
    """Their lattice had more points than floats can count, and their oscillations no place in a table."""
    loss = compose([(profile, count)])
    for epsilon in (0.0, 1e-300, 0.1):
        assert 0.0 <= (lower_end(loss.delta(epsilon)) or 0.0) <= loss.delta(epsilon).upper < 1e-3
    assert 0.0 <= loss.epsilon(1e-9).upper < 1.0
