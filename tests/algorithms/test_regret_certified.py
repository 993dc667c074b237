"""The certified learners' regret bounds once more, in plain numbers, on instances where every term counts."""

import math

import pytest
from scipy import integrate

from accountant import Simulation
from algorithms.catalogue.structured_entries import learners
from algorithms.problems import Cascade, SemiBandit, TopK
from algorithms.theory.confidence_theorem import x
from algorithms.theory.regret import BOUNDS
from algorithms.theory.regret_bound import Instance, L, T
from mechanisms import Gaussian, Sensitivity

EPSILON, HORIZON, DELTA = 1.3, 1000, 1e-3
CASCADE = Cascade(5, 3, [0.1, 0.6, 0.5, 0.4, 0.3])
P0 = (1 - 0.6) * (1 - 0.5)
OUTSIDE = [(0.1, 0.3), (0.3, 0.5)]  # least and largest gap of the items outside {0.6, 0.5, 0.4}
TOP_K = SemiBandit(TopK(5, 3), [0.9, 0.8, 0.6, 0.5, 0.1])
WORST = 2.3 - (0.6 + 0.5 + 0.1)
MEMBERS = [0.1, 0.5, 0.1, 0.1, 0.3]  # the least regret of a bad super arm with each arm
B_INF, B_1, SIZE, ARMS = 3, 1, 3, 5


def bound(name, problem):
    settings = {"index": "confidence"} if name.startswith("cascade-ucb-batch") else {}
    return BOUNDS[name].evaluate(Instance(problem, EPSILON, HORIZON, DELTA, settings))


def sigma(distance):
    return Gaussian.for_epsilon_delta(EPSILON, DELTA, sensitivity=Sensitivity(1, 1, 1)).sigma * distance


def theorem_6(deviation, scale):
    """Expected costs of items: N(u) at the least gap, and the integral of what is said to be above it."""
    phases = 5 * (2 + math.log2(HORIZON))
    x, y = math.log(3 * 5 * phases * HORIZON**2), math.log(20 * phases)
    root, tail = math.sqrt(x) + math.sqrt(y), scale * (x + y)
    noise = root * deviation * math.sqrt(2 * phases * (1 + 0.6**2 * 2))
    expected = 1.0
    for least, largest in OUTSIDE:
        sampling = root**2 / (4 * P0 * least)
        few = sampling + tail + math.sqrt((sampling + tail) ** 2 + noise**2 - tail**2)
        above, _ = integrate.quad(
            lambda u: root**2 / (2 * P0 * u**2) + (2 * tail + noise) / u, least, largest
        )
        expected += (1 + 1.1 / P0) * (few + above) + largest
    return expected


def test_theorem_6():
    b = 2 / EPSILON
    assert bound("cascade-ucb-batch", CASCADE) == pytest.approx(theorem_6(math.sqrt(2) * b, b), rel=1e-9)


def test_theorem_6_with_gaussian_noise():
    s = sigma(math.sqrt(2))
    assert bound("cascade-ucb-batch-gaussian", CASCADE) == pytest.approx(theorem_6(s, 0.0), rel=1e-9)


def test_theorem_1_and_3():
    y = math.log(2 * ARMS * HORIZON**2)
    gauss = WORST
    vg = 0.25 + sigma(math.sqrt(SIZE)) ** 2
    for d in MEMBERS:
        gauss += 32 * SIZE * B_1**2 * vg * y / d + 4 * B_1 * math.sqrt(2 * y * vg) + WORST
    assert bound("cucb-ldp-gaussian", TOP_K) == pytest.approx(gauss, rel=1e-9)


def test_theorem_8_for_trees():
    z = math.log(ARMS * HORIZON)
    cubed = math.log(HORIZON) ** 3 / EPSILON
    printed = 3 * ARMS * WORST
    printed_least = printed / HORIZON  # the radius fails with probability 3 L / T^2
    for d in MEMBERS:
        pulls = max(256 * B_1**2 * SIZE**2 * z / d**2, 96 * B_1 * SIZE**2 * cubed / d)
        printed += (256 + 8 * math.sqrt(96)) * SIZE * B_1**2 * z / d
        printed += (8 * math.sqrt(96) + 48 + 48 * math.log(pulls)) * SIZE * B_1 * cubed
        printed_least += (
            16 * B_INF**2 * z * (2 / d - 1 / WORST) + 48 * B_INF * cubed * (1 + math.log(WORST / d)) + WORST
        )
    assert bound("published/cucb-dp", TOP_K) == pytest.approx(printed, rel=1e-9)
    assert bound("published/cucb-dp-least", TOP_K) == pytest.approx(printed_least, rel=1e-9)
    for name in ("published/cucb-dp", "published/cucb-dp-least"):
        assert not BOUNDS[name].covers(Instance(TOP_K, 1.0, 9))
        assert BOUNDS[name].covers(Instance(TOP_K, 1.0, 10))


CERTIFIED = [
    "cucb-ldp-gaussian",
    "cascade-ucb-batch",
    "cascade-ucb-batch-gaussian",
    "cascade-ucb-batch-shuffle",
]


@pytest.mark.few(3)
@pytest.mark.parametrize("horizon", [1, 2, 3, 100, 1023, 4096, 10**9])
@pytest.mark.parametrize("name", CERTIFIED)
def test_learner_and_theorem_have_the_same_exponent(name, horizon):
    problem = CASCADE if learners[name].family == "cascade" else TOP_K
    learner = learners[name].build(problem, epsilon=1.0, horizon=horizon)(Simulation(0, 64))
    expression = x
    for symbol, definition in reversed(BOUNDS[name].definitions):
        expression = expression.subs(symbol, definition)
    assert learner.exponent == pytest.approx(float(expression.subs({T: horizon, L: 5})), rel=1e-12)
