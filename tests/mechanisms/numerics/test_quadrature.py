"""Errors of quadratures: far below rounding in use, so that they are looked at where rules are coarse."""

import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from mechanisms.arrays import FloatArray
from mechanisms.losses import fixed_size_loss, gaussian_mixture_loss
from mechanisms.losses.fixed_size_loss import FixedSizeGaussianLoss
from mechanisms.losses.gaussian_loss import sampled_gaussian_loss
from mechanisms.losses.gaussian_mixture_loss import (
    GaussianMixtureLoss,
    GaussianMixtureLossSum,
    binomial_mixture,
)
from mechanisms.losses.privacy_loss import ComplexArray, PrivacyLoss, SampledPair
from mechanisms.losses.sampled_laplace_loss import SampledLaplaceLoss
from mechanisms.numerics import quadrature
from mechanisms.numerics.quadrature import Panels

LOSSES = [
    *(
        GaussianMixtureLoss(binomial_mixture(1, q), binomial_mixture(1, q), sigma)
        for q, sigma in [(0.1, 1.0), (0.5, 4.0), (0.6, 0.5)]
    ),
    FixedSizeGaussianLoss(0.1, 1.0),
    FixedSizeGaussianLoss(0.02, 0.5),
    *(sampled_gaussian_loss(0.5, 4.0, added) for added in (False, True)),
    *(sampled_gaussian_loss(0.6, 0.5, added, size=3) for added in (False, True)),
]


def line_and_envelope(
    loss: PrivacyLoss, s: float, t: FloatArray, need: float
) -> tuple[ComplexArray, FloatArray, FloatArray]:
    """Return M, its error and its envelope, by rules that are only required to err by e^{-need}."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (quadrature, fixed_size_loss):
            patch.setattr(module, "NEED", need)
        patch.setattr(gaussian_mixture_loss, "_NEED", need)
        patch.setattr(gaussian_mixture_loss, "_OUTSIDE", 4.0 * math.exp(-need))
        value, error = loss.log_mgf_line(s, t)
        return np.exp(value), error, loss.log_envelope(s, t[1:])


@pytest.mark.few(3)
@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize("s", [0.05, 3.0])
@pytest.mark.parametrize("top", [1e-9, 5.0])
def test_coarse_rules_err_by_no_more_than_they_say(loss: PrivacyLoss, s: float, top: float) -> None:
    """Envelopes of coarse rules bound the transform, too."""
    t = np.linspace(0.0, top, 12)
    exact, rounding, _ = line_and_envelope(loss, s, t, 46.0)
    size = np.log(np.abs(exact) * (1.0 - np.minimum(1.0, rounding)) + 1e-300)[1:]
    size = np.maximum.accumulate(size[::-1])[::-1]
    for need in (1.0, 3.0, 6.0, 12.0):
        value, error, envelope = line_and_envelope(loss, s, t, need)
        assert (np.abs(value - exact) <= np.abs(value) * np.expm1(error) + np.abs(exact) * rounding).all()
        assert (size <= envelope).all()


@pytest.mark.few(3)
@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize("s", [0.05, 3.0])
@pytest.mark.parametrize("top", [1e-9, 5.0])
def test_rules_say_that_they_err_by_what_they_were_asked_to(loss: PrivacyLoss, s: float, top: float) -> None:
    """A trapezoid rule by 2/(e^a - 1), a >= need, at the largest t; 4 e^{-need} outside; A near 1 thrice."""
    for need in (3.0, 12.0):
        value, error, _ = line_and_envelope(loss, s, np.linspace(0.0, top, 12), need)
        stated = math.expm1(error[-1]) * abs(value[-1] / value[0])
        assert stated >= (4.0 if isinstance(loss, FixedSizeGaussianLoss) else 6.0) * math.exp(-need)
        rules = 3.0 if isinstance(loss, GaussianMixtureLoss) else 1.0
        assert error[0] <= 1.000001 * rules * (2.0 / math.expm1(need) + 4.0 * math.exp(-need))


def test_ellipses_that_reach_a_singularity_certify_nothing() -> None:
    """(1 - q + q e^l)^w has branch points at height π: the most panels there may be are too wide for such a loss."""
    few, many = (FixedSizeGaussianLoss(0.2, sigma) for sigma in (0.01, 0.003))
    errors = [loss.log_mgf_line(0.05, np.zeros(1))[1][0] for loss in (few, many)]
    assert errors[0] < 1e-6
    assert errors[1] > 1.0


@pytest.mark.parametrize("added", [False, True])
@pytest.mark.parametrize(("rate", "sigma", "size"), [(0.02, 0.7, 5), (0.3, 0.1, 1), (0.5, 3.0, 3)])
def test_divergences_of_high_orders_are_bounded_without_many_nodes(
    monkeypatch: pytest.MonkeyPatch, rate: float, sigma: float, size: int, added: bool
) -> None:
    """A group of five took a minute for orders that nobody needs."""
    used: list[int] = []
    own = GaussianMixtureLossSum._tilted_parts

    def counted(
        self: GaussianMixtureLossSum, side: int, u: FloatArray, rows: slice
    ) -> tuple[FloatArray, FloatArray]:
        used.append(u.size * (size + 1))
        return own(self, side, u, rows)

    monkeypatch.setattr(GaussianMixtureLossSum, "_tilted_parts", counted)
    one = sampled_gaussian_loss(rate, sigma, added, size)
    loss = GaussianMixtureLossSum((one,), (3,))
    assert np.all(np.isfinite(loss.renyi(np.array([1e3, 1e5, 1e6]))))
    assert max(used, default=0) <= 1.1 * 2**20
    exact = loss.renyi(np.array([101.0, 300.0, 1e3]))
    assert exact == pytest.approx(3.0 * one.renyi(np.array([101.0, 300.0, 1e3])), rel=1e-9)
    monkeypatch.setattr("mechanisms.losses.gaussian_mixture_loss._MOST_NUMBERS", 0)
    bounded = loss.renyi(np.array([101.0, 300.0, 1e3]))
    assert np.all(bounded >= exact * (1.0 - 1e-12))
    assert np.all(bounded <= 4.0 * exact)


@pytest.mark.parametrize("added", [False, True])
@pytest.mark.parametrize(("rate", "sigma", "size"), [(0.02, 0.7, 5), (0.3, 3.0, 1), (1e-6, 1.0, 3)])
def test_errors_of_mixtures_at_the_nodes_are_at_most_the_stated_ones(
    rate: float, sigma: float, size: int, added: bool
) -> None:
    """ln Σ_j p_j e^{m_j (±u - m_j / 2σ) / σ} in multiple precision, with the exact binomial weights p_j."""
    loss = GaussianMixtureLossSum((sampled_gaussian_loss(rate, sigma, added, size),), (1,))
    nodes = np.array([-9.0, -2.3, -1e-3, 0.1, 0.77, 3.1, 12.0])
    with mp.workprec(200):
        q, s = mp.mpf(rate), mp.mpf(sigma)
        for side, (values, errors) in enumerate(loss._losses_at(nodes, slice(None))):
            centres = [int(each) for each in loss._sides[side][0]]
            weights = [mp.binomial(size, j) * q**j * (1 - q) ** (size - j) for j in centres]
            weights = weights if len(centres) > 1 else [mp.mpf(1)]
            for u, value, error in zip(nodes.tolist(), values[0], errors[0], strict=True):
                at = -u if side else u
                terms = [
                    p * mp.exp(m / s * (at - m / (2 * s))) for m, p in zip(centres, weights, strict=True)
                ]
                assert abs(mp.log(mp.fsum(terms)) - mp.mpf(float(value))) <= float(error) * mp.mpf(2) ** -53


def test_panels_are_refined_until_their_rules_err_little() -> None:
    """Of integrands that grow with the height of an ellipse; the error is that of the panels that are returned."""
    for steep, count in ((0.0, 1), (60.0, 2), (200.0, 6)):
        panels, error = Panels.refined(0.0, 1.0, 0.5, lambda one, steep=steep: steep * one.height, 0.0)  # type: ignore[misc]
        assert panels.centres.size == count
        assert error == panels.log_error(steep * panels.height) <= -quadrature.NEED
        assert np.all(panels.centres[1:] - panels.centres[:-1] == pytest.approx(2.0 * panels.halves[0]))


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_errors_of_coarse_rules_are_as_recorded(loss: PrivacyLoss, snapshot: SnapshotAssertion) -> None:
    """Rules in use err by less than is seen; a change that is meant is recorded with ``--snapshot-update``."""
    lines = []
    for s, need in ((0.05, 3.0), (3.0, 1.0)):
        _, error, envelope = line_and_envelope(loss, s, np.linspace(0.0, 5.0, 6), need)
        lines.append(" ".join(f"{own:.4g}" for own in (*error, *envelope)))
    assert "\n".join(lines) == snapshot


@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("pair", SampledPair, ids=lambda pair: pair.value)
def test_errors_of_coarse_panels_of_sampled_laplace_noise_are_as_recorded(
    pair: SampledPair, size: int, snapshot: SnapshotAssertion
) -> None:
    loss = SampledLaplaceLoss(0.2, Fraction(2), pair, 1 if pair is SampledPair.FIXED_SIZE else size)
    lines = []
    for piece in loss._pieces:
        for s, height in ((0.05, 5.0), (3.0, 0.0)):
            b, panels = piece.tilt(s), piece.panels(piece.tilt(s), height)
            coarse = Panels.between(piece.start, piece.end, 0.5)
            numbers = (
                panels.centres.size,
                piece.log_error(b, height, panels),
                piece.log_error(b, height, coarse),
            )
            lines.append(
                " ".join(f"{own:.4g}" for own in (*numbers, piece.variation(s, 0.0), piece.cost(s, height)))
            )
    assert "\n".join(lines) == snapshot


@pytest.mark.parametrize("power", [4.0, -3.0])
def test_bounds_in_ellipses_hold_around_them_and_are_as_recorded(
    power: float, snapshot: SnapshotAssertion
) -> None:
    """|φ_σ(x) e^{(power + it) l(x)}| on the ellipses of coarse panels: what is stated is above it."""
    loss, height = FixedSizeGaussianLoss(0.1, 1.0), 0.7
    panels = Panels.between(0.5, 4.0, 0.25)
    bounds = loss._log_bounds(panels, power, height)
    turn = np.exp(2j * math.pi * np.arange(64) / 64)
    ellipse = 0.5 * (5.5 * turn + 1.0 / (5.5 * turn))
    x = panels.centres[:, None] + panels.halves[:, None] * ellipse
    ratio = np.log1p(0.1 * np.expm1((2.0 * x - 1.0) / 2.0))
    size = (-0.5 * x * x + (power + 1j * height) * ratio).real - 0.5 * math.log(2.0 * math.pi)
    assert np.all(np.max(size, axis=1) <= bounds)
    assert " ".join(f"{own:.4g}" for own in bounds) == snapshot
