"""Every class of losses: its transform is within the stated error of an exact one, and what it states is as recorded.

An error that is stated too large or too small by a little shows in no answer. So each figure that a certificate uses is
held against a record: a term that is left out of an error changes it. That the errors are enough is checked against
multiple precision, here and for sampled losses in `test_privacy_loss`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from mechanisms import DiscreteLaplaceProfile, LaplaceProfile, RandomizedResponse
from mechanisms.amplification.gaussian_mixture import AnnouncedLoss
from mechanisms.composition.grid import rounded_down, rounded_up
from mechanisms.losses.atomic_loss import AtomicLoss
from mechanisms.losses.discrete_gaussian_loss import DiscreteGaussianLoss
from mechanisms.losses.fixed_size_loss import FixedSizeGaussianLoss
from mechanisms.losses.gaussian_loss import GaussianLoss, sampled_gaussian_loss
from mechanisms.losses.gaussian_mixture_loss import GaussianMixtureLoss, binomial_mixture
from mechanisms.losses.laplace_loss import LaplaceLoss
from mechanisms.losses.privacy_loss import PrivacyLoss, SampledPair, add_losses
from mechanisms.losses.sampled_laplace_loss import SampledLaplaceLoss
from mechanisms.profiles.bounded_range import BoundedRangeLoss

Exact = Callable[[mp.mpc], mp.mpc]
TILTS = (0.05, 2.0, 40.0)


def laplace(epsilons: tuple[Fraction, ...], counts: tuple[int, ...]) -> Exact:
    def transform(z: mp.mpc) -> mp.mpc:
        parts = ((mp.mpf(e.numerator) / e.denominator, n) for e, n in zip(epsilons, counts, strict=True))
        return mp.fprod(
            (((z + 1) * mp.exp(z * e) + z * mp.exp(-(z + 1) * e)) / (2 * z + 1)) ** n for e, n in parts
        )

    return transform


def gaussian(rho: float) -> Exact:
    return lambda z: mp.exp(mp.mpf(rho) * z * (z + 1) / 2)


def discrete_gaussian(shift: int, sigma: float) -> Exact:
    reach = math.ceil(
        max(TILTS) * shift + 14.0 * sigma + 10.0
    )  # the mass of tilted noise lies around -z · shift
    noise = [(k, mp.exp(-mp.mpf(k * k) / (2 * mp.mpf(sigma) ** 2))) for k in range(-reach, reach + 1)]
    total = mp.fsum(p for _, p in noise)

    def transform(z: mp.mpc) -> mp.mpc:
        scale = z * shift / (2 * mp.mpf(sigma) ** 2)
        return mp.fsum(p / total * mp.exp(scale * (shift - 2 * k)) for k, p in noise)

    return transform


def atoms(loss: AtomicLoss) -> Exact:
    """M of the atoms as given, beside an infinite loss."""
    pairs = zip(loss.losses, loss.probabilities, strict=True)
    values = [(mp.mpf(own.numerator) / own.denominator, mp.mpf(p)) for own, p in pairs]
    return lambda z: mp.fsum(p * mp.exp(z * value) for value, p in values)


def bounded_range(e: Fraction) -> Exact:
    size = mp.mpf(e.numerator) / e.denominator
    return lambda z: mp.sinh(size * (z + mp.mpf(1) / 2)) / ((2 * z + 1) * mp.sinh(size / 2))


def response(epsilon: float, size: int) -> tuple[AtomicLoss, Exact]:
    """A loss with atoms that mirror each other, and M of the law whose rounded probabilities it has."""
    loss, e = RandomizedResponse(size=size, epsilon=epsilon).profile().loss(), mp.mpf(epsilon)
    assert isinstance(loss, AtomicLoss)

    def transform(z: mp.mpc) -> mp.mpc:
        return (mp.exp(e * (z + 1)) + mp.exp(-e * z) + size - 2) / (mp.exp(e) + size - 1)

    return loss, transform


def _table() -> Iterator[tuple[str, PrivacyLoss, Exact | None]]:
    half = Fraction(1, 2)
    for name, epsilons, counts in (
        ("one Laplace", (Fraction(3),), (1,)),
        ("many tiny Laplace", (Fraction(1, 1000), Fraction(2)), (10**6, 3)),
        ("Laplace of all sizes", (Fraction(1, 10**9), Fraction(1, 300), half), (10**15, 10**4, 2)),
    ):
        yield name, LaplaceLoss(epsilons, counts), laplace(epsilons, counts)
    yield "Gaussian", GaussianLoss(0.3), gaussian(0.3)
    for shift, sigma in ((1, 0.4), (3, 1.5), (2, 9.0)):
        name = f"discrete Gaussian {shift} {sigma}"
        yield name, DiscreteGaussianLoss(shift, sigma), discrete_gaussian(shift, sigma)
    (small, of_small), (large, of_large) = response(0.01, 2), response(2.0, 16)
    with_infinite = AtomicLoss((Fraction(1, 3), Fraction(-1, 3)), (0.6, 0.399999), 1e-6)
    steps = DiscreteLaplaceProfile(12, 4.0).loss()
    assert isinstance(steps, AtomicLoss)
    yield "small response", small, of_small
    yield "large response", large, of_large
    yield "infinite loss", with_infinite, atoms(with_infinite)
    yield "many atoms", steps, atoms(steps)
    for name, base in (("response", response(1.0, 2)[0]), ("many atoms", steps)):
        for pair in (SampledPair.REMOVED, SampledPair.ADDED, SampledPair.FIXED_SIZE):
            sampled = base.on_sample(0.2, pair)
            assert isinstance(sampled, AtomicLoss)
            yield f"{name} on a sample, {pair.value}", sampled, atoms(sampled)
    several = add_losses([small, with_infinite, large], [1000, 2, 3])
    yield (
        "several responses",
        several,
        lambda z: of_small(z) ** 1000 * atoms(with_infinite)(z) ** 2 * of_large(z) ** 3,
    )
    yield "bounded range", BoundedRangeLoss(half), bounded_range(half)
    for pair in SampledPair:
        yield f"Laplace on a sample, {pair.value}", SampledLaplaceLoss(0.1, Fraction(3, 2), pair), None
    yield (
        "group of Laplace on a sample",
        SampledLaplaceLoss(0.1, Fraction(3, 2), SampledPair.REPLACED, 3),
        None,
    )
    yield "Gaussian on a sample of fixed size", FixedSizeGaussianLoss(0.1, 1.0), None
    removed, added = (sampled_gaussian_loss(0.1, 1.0, added) for added in (False, True))
    yield "Gaussian on a sample, removed", removed, None
    yield "Gaussian on a sample, added", added, None
    taken = binomial_mixture(1, 0.1)
    yield "Gaussian on a sample, replaced", GaussianMixtureLoss(taken, taken, 1.0), None
    yield "group of Gaussians on a sample", sampled_gaussian_loss(0.02, 0.7, True, 5), None
    many = [sampled_gaussian_loss(0.01 + 0.005 * i, 0.8 + 0.1 * i) for i in range(20)]
    yield "many Gaussians on samples", add_losses(many, range(1, 21)), None
    yield "announced", AnnouncedLoss(removed, sampled_gaussian_loss(0.6, 1.0), 0.99, 0.01, 1e-12), None
    base = LaplaceProfile(1.0, 2.0)
    for name, rounded in (("rounded up", rounded_up), ("rounded down", rounded_down)):
        yield name, rounded(base, Fraction(1, 20), -12, 12), None
    parts = [GaussianLoss(0.01), LaplaceLoss((half,), (1,)), small]
    yield (
        "sum of different losses",
        add_losses(parts, [3, 2, 4]),
        lambda z: gaussian(0.03)(z) * laplace((half,), (2,))(z) * of_small(z) ** 4,
    )


@dataclass(frozen=True)
class Case:
    name: str
    loss: PrivacyLoss
    exact: Exact | None

    def __str__(self) -> str:
        return self.name


DIGITS = 40
with mp.workdps(DIGITS):
    CASES = [Case(*row) for row in _table()]
HEIGHTS = np.array([0.5, 3.0, 20.0])


def line(loss: PrivacyLoss, s: float) -> np.ndarray:
    """Return the heights of some nodes: those of a grid's Fourier transform, if the loss lives on one."""
    lattice = loss.lattice
    if lattice is not None and type(loss).__name__ == "GridLoss":
        (first, second), _ = lattice[0]
        return 2.0 * math.pi / (32 * float(second - first)) * np.arange(9.0)
    return np.linspace(0.0, 6.0, 9)


def stated(loss: PrivacyLoss) -> Iterator[str]:
    """Give every figure that a certificate may rest on, a line each, to 4 digits."""

    def shown(*numbers: float) -> str:
        return " ".join(f"{number:.4g}" for number in numbers)

    yield "ends " + " ".join(map(repr, map(float, (loss.infimum, loss.supremum))))
    yield "masses " + shown(loss.infinite_mass, loss.infinite_mass - loss.least_infinite_mass)
    yield "precision, displaced " + shown(loss.precision, loss.displaced)
    law = loss.below_ceiling
    if law is not None:
        yield f"below the ceiling {law.ceiling} " + shown(law.rounding, law.top_probability)
        sums = (law.sums_below(law.ceiling / 2, most) for most in (1, 8, 999))
        yield "sums " + " ".join("too many" if found is None else str(len(found)) for found in sums)
    for s in TILTS:
        t = line(loss, s)
        _, error = loss.log_mgf_line(s, t)
        _, alone = loss.log_mgf_line(s, t[:1])
        yield f"at {s:g}: errors " + shown(*alone, *error[[0, 1, 4, 8]])
        yield f"envelope {shown(*loss.log_envelope(s, HEIGHTS))}, cost {shown(loss.cost(s, 3.0))}"
        yield f"ln M {shown(*loss.log_mgf_real(np.array([s])))}"
        if loss.lattice is not None:
            values, _ = loss.lattice[0]
            yield f"on a lattice {shown(*loss.log_lattice_envelope(s, HEIGHTS, values[1] - values[0]))}"
        turned = loss.oscillations(s)
        if turned is not None:
            sums = turned.amplitudes.sum(), turned.amplitudes @ turned.frequencies, turned.shares.sum()
            yield f"oscillations {shown(turned.count, turned.log_caps, *sums, turned.log_floor)}"
            if (table := turned.up_to(30.0)) is not None:
                yield f"bounded {shown(table.step, *table.log_envelope(HEIGHTS, 30.0))}"
    yield f"divergences {shown(*loss.renyi(np.array([1.5, 3.0, 41.0, 1e4])))}"


@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_is_stated_is_as_recorded(case: Case, snapshot: SnapshotAssertion) -> None:
    """A change that is meant is recorded with ``--snapshot-update``, and the difference is read like code."""
    assert "\n".join(stated(case.loss)) == snapshot


@pytest.mark.parametrize("case", [case for case in CASES if case.exact], ids=str)
def test_transforms_are_within_their_stated_errors(case: Case) -> None:
    assert case.exact is not None
    with mp.workdps(DIGITS):
        for s in TILTS:
            t = line(case.loss, s)
            value, error = case.loss.log_mgf_line(s, t)
            for k in (0, 1, 8):
                computed, exact = mp.exp(mp.mpc(value[k])), case.exact(mp.mpc(s, t[k]))
                assert abs(computed - exact) <= abs(computed) * mp.expm1(error[k])
