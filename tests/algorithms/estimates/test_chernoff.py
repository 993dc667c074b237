import math

import numpy as np
import pytest
from scipy.optimize import brentq, minimize_scalar

from algorithms.cascades.click_estimates import AdditiveNoiseBound, ChernoffNoiseBound
from algorithms.estimates.chernoff import NoiseTail, _chernoff_exponent, chernoff_upper
from mechanisms import Gaussian, Laplace, Sensitivity

UNIT = Sensitivity(1, 1, 1)
LAPLACE, GAUSSIAN = "laplace", "gaussian"


def rate(u, cap, n, m, y, e, law, width, above):
    """Return sup_s of the exponent of section 6 at u, noises in E counted at `cap` >= u; by plain search."""

    def log_moment(s):
        return -math.log1p(-((width * s) ** 2)) if law == LAPLACE else 0.5 * (width * s) ** 2

    def negative(s):
        signal = s * (u * e - y) - n * math.log(u * math.exp(-s * (1 - u)) + (1 - u) * math.exp(s * u))
        return -(signal - m * (log_moment(s) + above * log_moment(cap * s)))

    end = (1 - 1e-12) / width if law == LAPLACE else 400.0
    return -minimize_scalar(
        negative, bounds=(0, min(end, 400.0)), method="bounded", options={"xatol": 1e-12}
    ).fun


def literal(n, m, y, e, law, width, above, x):
    """Return the limit of: the largest u <= cap with rate <= x, which is the next cap; from 1 on."""
    cap = 1.0
    for _ in range(80):
        low = min(max(y / e, 0.0), cap)

        def over(u, cap=cap):
            return rate(u, cap, n, m, y, e, law, width, above) - x

        if over(cap) <= 0 or over(low) > 0:
            return cap
        lower = brentq(over, low, cap, xtol=1e-13)
        if cap - lower < 1e-11:
            return lower
        cap = lower
    return cap


def draw(rng, law):
    n = float(int(10 ** rng.uniform(0.3, 6)))
    m, above = float(rng.integers(1, 20)), int(rng.integers(0, 6))
    w, share, width = 10 ** rng.uniform(-3, -0.1), rng.uniform(0.3, 1), 10 ** rng.uniform(-1.5, 1)
    spread = width * math.sqrt(2 * m if law == LAPLACE else m)
    e = n * share + rng.normal() * spread * math.sqrt(above) * w
    y = w * n * share + rng.normal() * (math.sqrt(n * w * share) + spread)
    return n, m, y, max(e, 0.1 * n), law, width, above, rng.uniform(8, 40)


def tail(law, width):
    return NoiseTail(2 * width**2, width) if law == LAPLACE else NoiseTail(width**2, 0.0)


@pytest.mark.few(1)
@pytest.mark.parametrize("law", [LAPLACE, GAUSSIAN])
def test_it_is_the_limit_of_the_plain_search_and_never_below(law):
    rng = np.random.default_rng(4)
    gaps = []
    for _ in range(50):
        n, m, y, e, _, width, above, x = case = draw(rng, law)
        numbers = (np.array([v]) for v in (1.0, n, m, y, e))
        bound = chernoff_upper(*numbers, noise=tail(law, width), exponent=x, above=above)[0]
        gaps.append(bound - literal(*case))
    assert min(gaps) > -1e-9
    assert np.quantile(gaps, 0.9) < 1e-9
    assert max(gaps) < 1e-3


def test_the_noise_tail_is_that_of_the_mechanism():
    laplace = NoiseTail.from_mechanism(Laplace(scale=2.0))
    gaussian = NoiseTail.from_mechanism(Gaussian(sigma=3.0, sensitivity=UNIT))
    rng = np.random.default_rng(0)
    s = np.array([0.1, 0.3])
    # E e^{sN} by 4e5 draws, within 6 s.e.: false alarm below 1e-8.
    for noise, draws in (
        (laplace, rng.laplace(scale=2, size=400_000)),
        (gaussian, rng.normal(0, 3, 400_000)),
    ):
        for point in s[: 1 if noise is laplace else 2]:
            sample = np.exp(point * draws)
            error = 6 * sample.std() / math.sqrt(len(draws))
            assert abs(sample.mean() - math.exp(noise.log_moment(np.array([point]))[0][0])) < error
        value, first, second = noise.log_moment(s)
        step = 1e-5
        up, down = noise.log_moment(s + step), noise.log_moment(s - step)
        np.testing.assert_allclose((up[0] - down[0]) / (2 * step), first, rtol=1e-6)
        np.testing.assert_allclose((up[1] - down[1]) / (2 * step), second, rtol=1e-6)
        assert (value > 0).all()
    assert laplace.limit < 1 / 2


@pytest.mark.parametrize("positions", [1, 4])
def test_the_chernoff_bound_of_clicks_is_at_most_the_additive_one_and_equal_above_1(positions):
    rng = np.random.default_rng(1)
    n = np.floor(10 ** rng.uniform(0, 6, 4000))
    m = np.minimum(n, rng.integers(1, 40, 4000))
    e = n * rng.uniform(-0.2, 1.2, n.shape)
    c = e * rng.uniform(-0.1, 1.0, n.shape)
    noise = NoiseTail(2.0, 1.0)
    additive = AdditiveNoiseBound(positions, noise, 20.0).upper(n, m, c, e)
    chernoff = ChernoffNoiseBound(positions, noise, 20.0).upper(n, m, c, e)
    assert (chernoff <= additive).all()
    np.testing.assert_array_equal(np.isinf(chernoff), np.isinf(additive))
    np.testing.assert_array_equal(chernoff[chernoff >= 1], additive[chernoff >= 1])
    finite = additive[(additive < 0.5) & (additive > 0)]
    assert (chernoff[(additive < 0.5) & (additive > 0)] < finite).mean() > 0.99


@pytest.mark.parametrize("positions", [1, 3])
def test_the_additive_bound_is_the_largest_solution(positions):
    """U solves ``u E = C + R(u)``; where E <= sqrt(be) every u satisfies the inequality."""
    rng = np.random.default_rng(2)
    noise, x = NoiseTail(2 * 0.7**2, 0.7), 15.0
    bound = AdditiveNoiseBound(positions, noise, x)
    n = np.floor(10 ** rng.uniform(0, 5, 500))
    m = np.minimum(n, rng.integers(1, 30, 500))
    e = n * rng.uniform(0.01, 1.2, n.shape)
    c = e * rng.uniform(-1.0, 1.0, n.shape)
    upper = bound.upper(n, m, c, e)

    def over(u, i):
        inside = n[i] / 4 + 2 * 0.7**2 * m[i] * (1 + u * u * (positions - 1))
        return u * e[i] - c[i] - 0.7 * x - math.sqrt(2 * x * inside)

    for i in range(500):
        if math.isinf(upper[i]):
            assert e[i] <= math.sqrt(2 * x * 2 * 0.7**2 * m[i] * (positions - 1)) * (1 + 1e-9)
        else:
            scale = abs(upper[i] * e[i]) + abs(c[i]) + 1
            assert abs(over(upper[i], i)) < 1e-7 * scale
            assert over(upper[i] + 1.0, i) > 0
    assert np.isfinite(upper).any()
    assert (upper < 0).any()


@pytest.mark.parametrize("law", [LAPLACE, GAUSSIAN])
def test_the_exponent_is_the_supremum(law):
    rng = np.random.default_rng(11)
    size = 300
    n = np.floor(10 ** rng.uniform(0, 7, size))
    u, m = rng.random(size), np.floor(rng.uniform(1, 30, size))
    u[:3] = [0.0, 1.0, 1.0]
    total = n * u * rng.uniform(-0.2, 1.05, size) - 5 * rng.random(size)
    width = 10 ** rng.uniform(-2, 1)
    noise = NoiseTail.from_mechanism(
        Laplace(scale=width, sensitivity=UNIT) if law == LAPLACE else Gaussian(sigma=width, sensitivity=UNIT)
    )
    found = _chernoff_exponent(u, n, m, total, noise=noise)
    for i in range(size):
        if total[i] >= n[i] * u[i]:
            assert found[i] == 0
            continue
        best = rate(u[i], u[i], n[i], m[i], total[i], n[i], law, width, 0)
        if law == GAUSSIAN and found[i] > best:
            continue  # the plain search ends at s = 400
        assert found[i] <= best * (1 + 1e-6) + 1e-6
        assert found[i] >= best * (1 - 1e-4) - 1e-6


def test_an_exponent_is_computed_alone_as_among_others():
    """To the last bit, though others' steps go on for longer."""
    rng = np.random.default_rng(8)
    n = np.floor(10 ** rng.uniform(0, 5, 400))
    m, u = np.ceil(rng.random(400) * np.sqrt(n)), rng.random(400)
    y = n * u * rng.uniform(-0.5, 1.0, 400)
    for noise in (NoiseTail(2.0, 1.0), NoiseTail(3.0, 0.0)):
        together = _chernoff_exponent(u, n, m, y, noise=noise)
        for i in range(0, 400, 20):
            alone = _chernoff_exponent(*(each[i : i + 1] for each in (u, n, m, y)), noise=noise)
            assert alone[0] == together[i]


def test_the_search_for_the_exponent_stays_where_its_slope_is_exactly_zero():
    """At u = 1 with Laplace noise it is ``sup_s s d + m ln(1 - b^2 s^2)``, d = n - y, attained at a root."""
    rng = np.random.default_rng(5)
    scale, size = 0.5, 2000
    n, m = np.floor(rng.uniform(1, 9, size)), np.ones(size)
    total = n * rng.uniform(-0.5, 0.9, size)
    found = _chernoff_exponent(
        np.ones(size), n, m, total, noise=NoiseTail.from_mechanism(Laplace(scale=scale, sensitivity=UNIT))
    )
    d = n - total
    s = (np.sqrt((m * scale) ** 2 + d**2) - m * scale) / (scale * d)
    assert found == pytest.approx(s * d + m * np.log1p(-((scale * s) ** 2)), rel=1e-9)
