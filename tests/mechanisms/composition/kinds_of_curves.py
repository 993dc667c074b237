"""A profile of every kind, with random parameters, for one neighbouring relation."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from fractions import Fraction

from mechanisms import (
    ApproximateProfile,
    AtomicProfile,
    BinomialProfile,
    BoundedRangeProfile,
    DiscreteGaussianProfile,
    DiscreteLaplaceProfile,
    GaussianProfile,
    LaplaceProfile,
    Neighbouring,
    NoPrivacy,
    PerfectPrivacy,
    PrivacyProfile,
    PureProfile,
    RandomizedResponse,
    Sampling,
    ZeroConcentratedProfile,
    convert,
    for_group,
    sampled,
    shuffled,
)
from mechanisms.amplification.gaussian_mixture import GaussianMixtureProfile
from mechanisms.amplification.random_allocation import RandomAllocationProfile
from mechanisms.amplification.shuffled_response import shuffled_response
from mechanisms.amplification.truncated_batches import TruncatedBatchProfile
from mechanisms.composition.composed_profile import composed_profile
from mechanisms.profiles.related_profile import restate

Draw = random.Random
A, R = Neighbouring.ADD_OR_REMOVE, Neighbouring.REPLACE_ONE


def some(draw: Draw, low: float, high: float) -> float:
    return math.exp(draw.uniform(math.log(low), math.log(high)))


PLAIN: Mapping[str, Callable[[Draw], PrivacyProfile]] = {
    "Laplace": lambda draw: LaplaceProfile(1.0, some(draw, 0.5, 50.0)),
    "Gaussian": lambda draw: GaussianProfile(some(draw, 0.02, 2.0)),
    "discrete Laplace": lambda draw: DiscreteLaplaceProfile(draw.randint(1, 3), some(draw, 1.0, 30.0)),
    "discrete Gaussian": lambda draw: DiscreteGaussianProfile(1, some(draw, 1.0, 20.0)),
    "binomial": lambda draw: BinomialProfile(draw.randint(10, 400), 1),
    "skewed binomial": lambda draw: BinomialProfile(draw.randint(10, 400), 1, draw.choice([0.3, 0.8])),
    "several binomials": lambda draw: BinomialProfile(draw.randint(50, 400), 1, 0.5, 2),
    "response": lambda draw: RandomizedResponse(size=2, epsilon=some(draw, 0.01, 2.0)).profile(),
    "16-ary response": lambda draw: RandomizedResponse(size=16, epsilon=some(draw, 0.01, 2.0)).profile(),
    "atoms": lambda draw: AtomicProfile((Fraction(1, 3), Fraction(-1, 3)), (0.6, 0.399999), 1e-6),
    "pure": lambda draw: PureProfile(Fraction(some(draw, 0.01, 2.0))),
    "approximate": lambda draw: ApproximateProfile(Fraction(some(draw, 0.01, 1.0)), some(draw, 1e-12, 1e-7)),
    "zCDP": lambda draw: ZeroConcentratedProfile(some(draw, 1e-4, 0.3)),
    "approximate zCDP": lambda draw: composed_profile(
        [(ApproximateProfile(Fraction(0), 1e-9), 1), (ZeroConcentratedProfile(some(draw, 1e-4, 0.3)), 1)]
    ),
    "bounded range": lambda draw: BoundedRangeProfile(Fraction(some(draw, 0.01, 2.0))),
    "composed": lambda draw: composed_profile(
        [(LaplaceProfile(1.0, some(draw, 2.0, 20.0)), 2), (GaussianProfile(0.1), 1)]
    ),
    "nothing": lambda draw: PerfectPrivacy(),
}
"""Curves that may be stated for every relation."""

REPLACING: Mapping[str, Callable[[Draw], PrivacyProfile]] = {
    "fixed size, Gaussian": lambda draw: sampled(
        GaussianProfile(some(draw, 0.3, 2.0)), some(draw, 0.005, 0.3), R, Sampling.FIXED_SIZE
    ),
    "fixed size, Laplace": lambda draw: sampled(
        LaplaceProfile(1.0, some(draw, 0.5, 5.0)), some(draw, 0.005, 0.3), R, Sampling.FIXED_SIZE
    ),
    "Poisson, replaced": lambda draw: sampled(
        restate(GaussianProfile(some(draw, 0.3, 2.0)), A), some(draw, 0.005, 0.3), R
    ),
    "shuffled": lambda draw: shuffled(
        RandomizedResponse(size=4, epsilon=some(draw, 0.5, 3.0)).profile(), draw.choice([100, 10_000])
    ),
    "shuffled response": lambda draw: shuffled_response(
        draw.choice([2, 3, 8]), some(draw, 0.2, 3.0), draw.choice([5, 300])
    ),
    "shuffled batches": lambda draw: sampled(
        GaussianProfile(some(draw, 0.05, 1.0)), 0.1, R, Sampling.SHUFFLED
    ),
    "replaced group on a sample": lambda draw: convert(
        for_group(JOINING["sampled Gaussian"](draw), draw.choice([1, 3])), R
    ),
    "group of two": lambda draw: convert(
        restate(PLAIN[draw.choice(["Laplace", "zCDP", "response"])](draw), A), R
    ),
    "group": lambda draw: for_group(PLAIN[draw.choice(["Laplace", "Gaussian", "response", "zCDP"])](draw), 3),
    "no privacy": lambda draw: NoPrivacy(),
}

JOINING: Mapping[str, Callable[[Draw], PrivacyProfile]] = {
    f"sampled {name}": lambda draw, name=name: sampled(
        restate(PLAIN[name](draw), A), some(draw, 0.005, 0.3), A
    )
    for name in ("Gaussian", "Laplace", "response", "pure", "zCDP", "skewed binomial")
} | {
    "mixture of Gaussians": lambda draw: GaussianMixtureProfile(
        (0.0, 1.0, 1.7), (0.9, 0.09, 0.01), some(draw, 0.5, 20.0)
    ),
    "truncated batches": lambda draw: TruncatedBatchProfile(
        some(draw, 0.5, 20.0), some(draw, 0.005, 0.3), 200, draw.choice([10, 60, 200])
    ),
    "random allocation": lambda draw: RandomAllocationProfile(
        restate(GaussianProfile(some(draw, 0.1, 1.2)), A), draw.randint(20, 400)
    ),
    "group on a sample": lambda draw: for_group(JOINING["sampled Gaussian"](draw), 2),
    "group on a sample, Laplace": lambda draw: for_group(JOINING["sampled Laplace"](draw), 3),
}

KINDS: Mapping[Neighbouring, Mapping[str, Callable[[Draw], PrivacyProfile]]] = {
    R: {**PLAIN, **REPLACING},
    A: {**{name: lambda draw, kind=kind: restate(kind(draw), A) for name, kind in PLAIN.items()}, **JOINING},
}
"""Every kind, for each relation."""
