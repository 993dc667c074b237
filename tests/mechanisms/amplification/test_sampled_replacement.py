"""Replacing a record of a sample: transforms against 30-digit quadratures, curves, golden values."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from poisson import joining

from mechanisms import GaussianProfile, LaplaceProfile
from mechanisms.amplification.sampled_group import PoissonReplacedProfile
from mechanisms.losses.atomic_loss import AtomicLoss
from mechanisms.losses.fixed_size_loss import FixedSizeGaussianLoss
from mechanisms.losses.gaussian_mixture_loss import GaussianMixtureLoss, binomial_mixture
from mechanisms.losses.privacy_loss import PrivacyLoss, SampledPair
from mechanisms.losses.sampled_laplace_loss import LaplacePiece, SampledLaplaceLoss
from mechanisms.noise.randomized_response import RandomizedResponse
from mechanisms.numerics.quadrature import Panels

Density = Callable[[mp.mpf], mp.mpf]


def normal(sigma: float) -> tuple[Density, list[mp.mpf]]:
    """Return the density of N(0, σ²) and how far it counts."""
    return (lambda x: mp.npdf(x, 0, sigma)), [mp.mpf(sigma) * k for k in range(-14, 15)]


def double_exponential(e: float) -> tuple[Density, list[mp.mpf]]:
    """Return the density of Laplace noise for movement 1 and its kinks."""
    e = mp.mpf(e)
    return (lambda x: e / 2 * mp.exp(-abs(x) * e)), [
        mp.mpf(k) / e for k in (-90, -30, -10, -3, 0, 3, 10, 30, 90)
    ]


def transform(top: Density, below: Density, around: list[mp.mpf], s: float, t: float) -> mp.mpc:
    """∫ P^{1+z} Q^{-z}, split at the kinks -1, 0, 1 and at 1/2."""
    z = mp.mpc(s, t)
    places = sorted({*around, *(x + s + 1 for x in around), *map(mp.mpf, (-1, 0, 0.5, 1))})
    return mp.quad(lambda x: top(x) * mp.exp(z * mp.log(top(x) / below(x))), places)


def of_poisson(density: Density, q: float) -> tuple[Density, Density]:
    q = mp.mpf(q)
    return tuple(  # type: ignore[return-value]
        (lambda x, move=move: (1 - q) * density(x) + q * density(x - move)) for move in (1, -1)
    )


def of_fixed_size(density: Density, around: list[mp.mpf], q: float, s: float, t: float) -> mp.mpc:
    """M from H, both halves by quadrature."""
    q = mp.mpf(q)

    def power(w: mp.mpc) -> mp.mpc:
        places = sorted(
            {mp.mpf(1) / 2, mp.mpf(1), *(x for x in (*around, *(y + s + 1 for y in around)) if x > 0.5)}
        )
        return mp.quad(
            lambda x: density(x) * mp.exp(w * mp.log(1 - q + q * density(x - 1) / density(x))), places
        )

    z = mp.mpc(s, t)
    return power(z + 1) + power(-z) + 1 - power(mp.mpf(0)) - power(mp.mpf(1))


def replaced_gaussian_loss(rate: float, sigma: float) -> GaussianMixtureLoss:
    """Return the loss of the pair with movements 1 and -1 on a Poisson sample."""
    taken = binomial_mixture(1, rate)
    return GaussianMixtureLoss(taken, taken, sigma)


@dataclass(frozen=True)
class Known:
    """A sampled loss, where its transform is known (at ``s + it``), and its values to 25 digits."""

    kind: str
    rate: float
    size: float
    s: float
    t: tuple[float, ...]
    values: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        return f"{self.kind}-{self.rate}-{self.size}-{self.s}"

    @property
    def loss(self) -> PrivacyLoss:
        return {
            "poisson gaussian": lambda: replaced_gaussian_loss(self.rate, self.size),
            "poisson laplace": lambda: SampledLaplaceLoss(
                self.rate, Fraction(self.size), SampledPair.REPLACED
            ),
            "fixed size gaussian": lambda: FixedSizeGaussianLoss(self.rate, self.size),
            "fixed size laplace": lambda: SampledLaplaceLoss(
                self.rate, Fraction(self.size), SampledPair.FIXED_SIZE
            ),
        }[self.kind]()

    def by_quadrature(self) -> list[mp.mpc]:
        gaussian = self.kind.endswith("gaussian")
        density, around = normal(self.size) if gaussian else double_exponential(self.size)
        if self.kind.startswith("poisson"):
            return [transform(*of_poisson(density, self.rate), around, self.s, x) for x in self.t]
        return [of_fixed_size(density, around, self.rate, self.s, x) for x in self.t]


def known_transforms() -> list[Known]:
    """Read the file; each line holds what it takes to compute its values again."""
    path = Path(__file__).parent / "sampled_replacement_transforms.json"
    return [
        Known(kind, q, size, s, tuple(t), tuple((re, im) for re, im in values))
        for kind, q, size, s, t, values in json.loads(path.read_text(encoding="ascii"))
    ]


KNOWN = known_transforms()


@pytest.mark.parametrize("known", KNOWN, ids=str)
def test_transforms(known: Known) -> None:
    """|computed M - M| <= |computed M| (e^E - 1) at each node, and E is small."""
    value, error = known.loss.log_mgf_line(known.s, np.array(known.t))
    with mp.workdps(30):
        for k, digits in enumerate(known.values):
            computed = mp.exp(mp.mpc(value[k]))
            assert abs(computed - mp.mpc(*digits)) <= abs(computed) * mp.expm1(error[k]), known.t[k]
    assert error[0] < 1e-11


@pytest.mark.slow
@pytest.mark.parametrize("known", KNOWN, ids=str)
def test_the_digits_of_the_file_are_those_of_a_quadrature(known: Known) -> None:
    with mp.workdps(30):
        for digits, again in zip(known.values, known.by_quadrature(), strict=True):
            assert abs(mp.mpc(*digits) - again) <= mp.mpf(10) ** -20 * abs(again)


LOSSES = [
    replaced_gaussian_loss(0.1, 1.0),
    replaced_gaussian_loss(0.6, 0.5),
    SampledLaplaceLoss(0.2, Fraction(1), SampledPair.REPLACED),
    FixedSizeGaussianLoss(0.1, 1.0),
    FixedSizeGaussianLoss(0.02, 0.5),
    SampledLaplaceLoss(0.2, Fraction(1), SampledPair.FIXED_SIZE),
]


@pytest.mark.few(3)
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
@settings(max_examples=5, deadline=None)
@given(s=st.floats(0.05, 30.0), top=st.floats(1.0, 100.0))
def test_envelope_bounds_the_transform_beyond_every_height(loss: PrivacyLoss, s: float, top: float) -> None:
    t = np.linspace(0.0, 4.0 * top, 60)
    value, error = loss.log_mgf_line(s, t)
    size = np.where(error < 0.5, value.real - 2.0 * error, -np.inf)  # what is below its error is noise
    envelope = loss.log_envelope(s, t[1:])
    assert (np.maximum.accumulate(size[1:][::-1])[::-1] <= envelope + 1e-9 * (1.0 + np.abs(envelope))).all()


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_the_pairs_are_probabilities_and_symmetric(loss: PrivacyLoss) -> None:
    """M(0) = M(-1) = 1, and M(z) = M(-1-z): the transform a little right of 0 is near 1."""
    assert loss.log_mgf_real(np.array([1e-9]))[0] == pytest.approx(0.0, abs=1e-8)


@given(st.floats(1e-6, 1.0 - 1e-6), st.floats(0.2, 50.0), st.floats(1e-9, 5.0))
@settings(max_examples=60, deadline=None)
def test_curve_of_a_replaced_record_under_gaussian_noise(q: float, sigma: float, epsilon: float) -> None:
    """δ = P(x > τ) - e^ε Q(x > τ), to 60 digits."""
    with mp.workdps(60):
        p, s, w = mp.mpf(q), mp.mpf(sigma), mp.exp(mp.mpf(epsilon))
        over = mp.mpf(epsilon) / 2 + mp.asinh(
            (1 - p) / p * mp.exp(1 / (2 * s * s)) * mp.sinh(mp.mpf(epsilon) / 2)
        )
        tails = [mp.erfc((over * s * s + move) / s / mp.sqrt(2)) / 2 for move in (-1, 0, 1)]
        exact = p * tails[0] - (w - 1) * (1 - p) * tails[1] - w * p * tails[2]
    if exact > 1e-40:
        profile = PoissonReplacedProfile(joining(GaussianProfile(1.0 / sigma)), q)
        low, high = (float(end) for end in profile.bounds(np.array(epsilon)))
        assert low <= exact * (1 + mp.mpf(2) ** -50)
        assert exact <= high * (1 + mp.mpf(2) ** -50)
        assert high - low <= 1e-9 * high


@given(st.floats(1e-3, 1.0 - 1e-3), st.floats(0.01, 10.0), st.floats(0.0, 1.0))
@settings(max_examples=40, deadline=None)
def test_curve_of_a_replaced_record_under_laplace_noise(q: float, e: float, share: float) -> None:
    with mp.workdps(40):
        p, size = mp.mpf(q), mp.mpf(e)
        low, high = (mp.log(1 - p + p * mp.exp(side * size)) for side in (-1, 1))
        epsilon = float(share * (high - low))
        l0 = mp.log((mp.exp(mp.mpf(epsilon) + low) - (1 - p)) / p)
        exact = p * max(mp.mpf(0), -mp.expm1((l0 - size) / 2))
    profile = PoissonReplacedProfile(joining(LaplaceProfile(e, 1.0)), q)
    low, high = (float(end) for end in profile.bounds(np.array(epsilon)))
    assert low <= exact <= high
    assert high - low <= 1e-9 * high + 1e-13


def test_fixed_size_of_losses_that_vanish_keeps_all_probability() -> None:
    """ln(1-q + q e^l) of a loss of 1e-30 at q = 1e-300 is 0 for a float, beside what has no loss anyway."""
    base = AtomicLoss((Fraction(1, 10**30), Fraction(-1, 10**30)), (0.5, 0.5))
    own = base.on_sample(1e-300, SampledPair.FIXED_SIZE)
    assert isinstance(own, AtomicLoss)
    assert sum(own.probabilities) == pytest.approx(1.0, rel=1e-12)


def test_fixed_size_of_atoms() -> None:
    """Randomized response on a sample of fixed size, from the pairs of the theorem."""
    base = RandomizedResponse(size=4, epsilon=1.0).profile().loss()
    assert isinstance(base, AtomicLoss)
    q = 0.3
    own = base.on_sample(q, SampledPair.FIXED_SIZE)
    assert isinstance(own, AtomicLoss)
    values = np.array([float(loss) for loss in own.losses])
    for x in (0.0, 0.05, 0.2):
        w = np.exp(x)
        under_q = {
            loss: p * np.exp(-float(loss)) for loss, p in zip(base.losses, base.probabilities, strict=True)
        }
        mixed = [
            (1 - q) * under_q[loss] + q * p for loss, p in zip(base.losses, base.probabilities, strict=True)
        ]
        exact = sum(max(0.0, a - w * b) for a, b in zip(mixed, under_q.values(), strict=True))
        for sign in (1.0, -1.0):  # the loss is symmetric
            masses = np.array(own.probabilities) * (np.exp(-values) if sign < 0 else 1.0)
            assert np.sum(masses * np.maximum(0.0, -np.expm1(x - sign * values))) == pytest.approx(
                exact, abs=1e-14
            )


def test_the_error_of_a_rule_is_asked_for_where_the_rule_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the same tilt and up to the same height: of others it would bound nothing."""
    used: list[tuple[float, float]] = []
    asked: list[tuple[float, float]] = []
    panels, log_error = LaplacePiece.panels, LaplacePiece.log_error

    def noted_panels(piece: LaplacePiece, b: float, height: float) -> Panels:
        used.append((b, height))
        return panels(piece, b, height)

    def noted_error(piece: LaplacePiece, b: float, height: float, rule: Panels) -> float:
        asked.append((b, height))
        return log_error(piece, b, height, rule)

    monkeypatch.setattr(LaplacePiece, "panels", noted_panels)
    monkeypatch.setattr(LaplacePiece, "log_error", noted_error)
    SampledLaplaceLoss(0.1, Fraction(1), SampledPair.REPLACED, 2).log_mgf_line(3.0, np.array([0.0, 7.0]))
    assert used == asked
    assert set(used) == {(4.0, 7.0), (-3.0, 7.0)}
