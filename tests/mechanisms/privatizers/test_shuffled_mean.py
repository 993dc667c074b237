import itertools
import math

import numpy as np
import pytest
from scipy import stats

from mechanisms import (
    BinomialProfile,
    CentralGaussian,
    Communication,
    DomainError,
    LocalGaussian,
    OpenDPNoise,
    ParameterError,
    Privatizer,
    ShuffledMean,
    private_mean,
)
from mechanisms.numerics.binomial_law import log_binomial

PRIVATIZERS = {
    "central": CentralGaussian.for_epsilon_delta(1.0, 1e-5, clients=40, size=3, bound=2.0),
    "local": LocalGaussian.for_epsilon_delta(1.0, 1e-5, clients=40, size=3, bound=2.0),
    "shuffle": ShuffledMean.calibrated(1.0, 1e-5, clients=40, size=3, bound=2.0),
    "vector as printed": ShuffledMean.vector_as_printed(10.0, 0.25, clients=40, size=3, bound=2.0),
}
privatizers = pytest.mark.parametrize("privatizer", PRIVATIZERS.values(), ids=PRIVATIZERS.keys())


@privatizers
def test_is_unbiased_with_variance_below_its_proxy(privatizer: Privatizer) -> None:
    """Mean and variance of 4000 runs; each of the 3 coordinates of each check fails at rate 1e-7."""
    assert isinstance(privatizer, Privatizer)
    rng = np.random.default_rng(11)
    values = rng.uniform(-2.0, 2.0, (40, 3))
    runs = 4000
    error = np.array([private_mean(privatizer, values, rng) for _ in range(runs)]) - values.mean(axis=0)
    z = stats.norm.isf(5e-8)
    assert np.all(np.abs(error.mean(axis=0)) < z * np.sqrt(privatizer.proxy / runs))
    ratio = error.var(axis=0) / privatizer.proxy
    assert np.all(ratio < 1.0 + z * math.sqrt(2.0 / runs))
    assert np.all(ratio > 0.9)


@pytest.mark.parametrize("name", ["central", "local", "shuffle"])
def test_calibrated_ones_keep_their_claim_and_use_it_up(name: str) -> None:
    profile = PRIVATIZERS[name].profile()
    assert profile.delta(1.0) <= 1e-5
    assert profile.delta(0.93) > 1e-5


def test_noise_and_communication_of_the_three_trust_models() -> None:
    central, local, shuffle, _ = PRIVATIZERS.values()
    assert local.proxy == pytest.approx(40 * central.proxy)
    assert central.proxy < shuffle.proxy < 1.2 * central.proxy
    assert central.communication == local.communication == Communication(reals=3)
    bits = shuffle.communication
    assert bits == Communication(bits=3 * (shuffle.levels + shuffle.added))  # type: ignore[attr-defined]
    assert bits * 40 + Communication(1, 2) == Communication(1, 40 * bits.bits + 2)
    assert [p.trust for p in PRIVATIZERS.values()] == ["central", "local", "shuffle", "shuffle"]


@pytest.mark.slow_cells("10.0-0.25-50-2-10-405332-0.0-0.0-90.0")
@pytest.mark.parametrize(
    ("epsilon", "delta", "size", "clients", "levels", "added", "one", "spread", "noise"),
    [
        (10.0, 0.25, 50, 2, 10, 405332, 0.0, 0.0, 90.0),
        (10.0, 0.25, 20, 37641, 10, 19, 0.0, 0.0, 84.6),
        pytest.param(14.9, 1e-6, 50, 37641, 10, 194, 0.0243, 0.0549, 270.0, marks=pytest.mark.slow),
        (14.9, 0.49, 1, 37641, 10, 3, 0.0, 0.0, 31.9),
    ],
)
def test_vector_protocol_as_printed(
    epsilon: float,
    delta: float,
    size: int,
    clients: int,
    levels: int,
    added: int,
    one: float,
    spread: float,
    noise: float,
) -> None:
    """Known facts: parameters, noise sd x n / (B √s), true ε of one coordinate moved by g, and of all moved."""
    protocol = ShuffledMean.vector_as_printed(epsilon, delta, clients=clients, size=size, bound=1.0)
    assert (protocol.levels, protocol.added) == (levels, added)
    trials, p = protocol.mechanism.trials, protocol.probability
    assert 0.25 <= p <= 0.5
    root = math.sqrt(size)
    assert math.sqrt(trials * p * (1 - p)) * protocol.step * clients / root == pytest.approx(noise, rel=2e-3)
    assert BinomialProfile(trials, levels, p).epsilon(delta) == pytest.approx(one, rel=5e-3)
    outwards = math.ceil(levels / root) + 1 if size > 1 else levels
    all_moved = BinomialProfile(trials, outwards, p, size).epsilon(delta)
    assert spread * 0.99 <= all_moved <= spread * 1.005  # the spec's grid rounds up; this one is tighter
    # Box inputs reach even fewer whole numbers.
    assert protocol.mechanism.shift <= outwards
    assert protocol.profile().epsilon(delta) <= all_moved
    assert protocol.profile().epsilon(delta) < epsilon / 100


@pytest.mark.slow
@pytest.mark.parametrize(
    ("epsilon", "delta", "size", "clients", "levels", "added", "one", "spread"),
    [
        (1.0, 1e-6, 50, 2, 10, 808653420, 0.00124, 0.00289),
        (1.0, 1e-6, 50, 37641, 10, 42967, 0.00124, 0.00289),
        (14.9, 1e-6, 104, 2, 11, 4576199, 0.0239, 0.0721),
    ],
)
def test_vector_protocol_as_printed_in_many_bits(
    epsilon: float, delta: float, size: int, clients: int, levels: int, added: int, one: float, spread: float
) -> None:
    protocol = ShuffledMean.vector_as_printed(epsilon, delta, clients=clients, size=size, bound=1.0)
    assert (protocol.levels, protocol.added) == (levels, added)
    trials, p = protocol.mechanism.trials, protocol.probability
    assert BinomialProfile(trials, levels, p).epsilon(delta) == pytest.approx(one, rel=5e-3)
    all_moved = BinomialProfile(trials, math.ceil(levels / math.sqrt(size)) + 1, p, size).epsilon(delta)
    assert spread * 0.99 <= all_moved <= spread * 1.005


@pytest.mark.slow_cells("1.0-1e-06-10000-0.0693")
@pytest.mark.parametrize(
    ("epsilon", "delta", "clients", "truth"),
    [
        (1.0, 1e-6, 1, 0.0693),
        (1.0, 1e-6, 10_000, 0.0693),
        (10.0, 1e-6, 1, 0.824),
        (10.0, 1e-6, 10_000, 0.815),
        (29.9, 1e-6, 1, 3.07),
        (29.9, 1e-6, 100, 2.67),
        (10.0, 0.25, 100, 0.0),
        (29.9, 0.49, 2, 0.58),
        (29.9, 0.49, 100, 0.73),
        (0.5, 1e-3, 100, 0.0144),
    ],
)
def test_scalar_protocol_as_printed(epsilon: float, delta: float, clients: int, truth: float) -> None:
    """Known facts: the exact ε at the claimed δ, B = 1."""
    protocol = ShuffledMean.scalar_as_printed(epsilon, delta, clients=clients, bound=1.0)
    assert protocol.profile().attained()
    assert protocol.profile().epsilon(delta) == pytest.approx(truth, rel=6e-3)
    assert 0.42 <= protocol.probability <= 0.5


@pytest.mark.few(4)
@pytest.mark.parametrize("epsilon_delta", [(0.5, 1e-3), (1.0, 1e-6), (10.0, 1e-6), (10.0, 0.25)])
@pytest.mark.parametrize(("size", "clients"), [(1, 100), (20, 10_000), (45, 100)])
def test_calibration_is_near_the_central_noise(
    epsilon_delta: tuple[float, float], size: int, clients: int
) -> None:
    epsilon, delta = epsilon_delta
    ours = ShuffledMean.calibrated(epsilon, delta, clients=clients, size=size, bound=1.0)
    central = CentralGaussian.for_epsilon_delta(epsilon, delta, clients=clients, size=size, bound=1.0)
    assert 1.0 < math.sqrt(ours.proxy / central.proxy) < 1.07
    assert ours.profile().delta(epsilon) <= delta
    fewer = BinomialProfile((ours.added - 1) * clients, ours.levels, 0.5, size)
    assert fewer.delta(epsilon) > delta


def test_shuffled_bits_are_their_count() -> None:
    """The multiset of one coordinate's bits, message by message, has the count's law and nothing else."""
    protocol = ShuffledMean(clients=2, size=1, bound=1.0, levels=1, added=1)
    values = np.array([[1.0], [-1.0]])  # M = 1 and M = 0
    law: dict[int, float] = {}
    for noise_1, noise_2 in itertools.product((0, 1), repeat=2):
        sent = [*sorted([1, noise_1]), *sorted([0, noise_2])]
        seen = protocol.shuffle(np.array([[sum(sent[:2])], [sum(sent[2:])]]))
        law[int(seen[0])] = law.get(int(seen[0]), 0.0) + 0.25
    assert law == {k: pytest.approx(math.exp(log_binomial(k - 1, 2, 0.5))) for k in (1, 2, 3)}
    assert protocol.analyze(np.array([2])) == pytest.approx(values.mean())


def test_encoding_stays_within_reach_for_any_rounding() -> None:
    protocol = ShuffledMean.vector_as_printed(1.0, 1e-6, clients=10, size=50, bound=1.0)
    extremes = protocol.encode(np.array([-1.0, -1.0, 1.0, 1.0]), np.array([0.0, 0.999, 0.0, 0.999]))
    assert extremes.max() - extremes.min() <= protocol.mechanism.shift == 2
    fair = ShuffledMean(clients=3, size=1, bound=2.0, levels=8, added=30)
    assert fair.encode(np.array([-2.0, 2.0, 0.25]), np.array([0.99, 0.99, 0.0])).tolist() == [0, 8, 4]


def test_a_missing_client_is_refused() -> None:
    """Its noise would be missing as well."""
    protocol = PRIVATIZERS["shuffle"]
    messages = protocol.randomize(np.zeros((40, 3)), np.random.default_rng(0))
    with pytest.raises(ParameterError, match="messages of shape"):
        protocol.shuffle(messages[:-1])
    with pytest.raises(DomainError, match="ones per coordinate"):
        protocol.shuffle(messages + 10_000)


@privatizers
def test_values_outside_are_refused(privatizer: Privatizer) -> None:
    rng = np.random.default_rng(0)
    for wrong in (2.0001, math.nan):
        with pytest.raises(DomainError, match="outside"):
            private_mean(privatizer, np.full((40, 3), wrong), rng)
    with pytest.raises(ParameterError, match="clients"):
        private_mean(privatizer, np.zeros((39, 3)), rng)


def test_the_secure_source_serves_all_three() -> None:
    for name in ("central", "local", "shuffle"):
        mean = private_mean(PRIVATIZERS[name], np.ones((40, 3)), OpenDPNoise())
        assert mean.shape == (3,)
        assert np.all(np.isfinite(mean))


def test_refusals() -> None:
    with pytest.raises(ParameterError, match="half_range"):
        ShuffledMean(clients=2, size=1, bound=1.0, levels=1, added=1, half_range=0.5)
    with pytest.raises(ParameterError, match="shift"):
        ShuffledMean(clients=2, size=1, bound=1.0, levels=9, added=1)
    central = PRIVATIZERS["central"]
    with pytest.raises(ParameterError, match="calibrated for a movement"):
        CentralGaussian(clients=20, size=3, bound=2.0, mechanism=central.mechanism)  # type: ignore[attr-defined]


@pytest.mark.parametrize("make", [ShuffledMean.vector_as_printed, ShuffledMean.calibrated])
def test_claims_that_take_too_many_bits_are_refused_before_their_law_is_summed(make) -> None:  # type: ignore[no-untyped-def]
    """They took minutes, or all memory."""
    with pytest.raises(
        ParameterError, match=r"epsilon = 1e-06, delta = 1e-09: must be larger, as 10 clients"
    ):
        make(1e-6, 1e-9, clients=10, size=1, bound=1.0)


def test_printed_claims_of_fewer_bits_than_levels_are_refused_by_their_epsilon() -> None:
    with pytest.raises(
        ParameterError, match=r"epsilon = 500000: must be smaller, as 4 random bits of 2 clients"
    ):
        ShuffledMean.vector_as_printed(5e5, 1e-3, clients=2, size=8, bound=1.0)
    with pytest.raises(ParameterError, match=r"epsilon = 1e\+06: must be smaller, as 2 random bits"):
        ShuffledMean.scalar_as_printed(1e6, 1e-3, clients=2, bound=10.0)


@pytest.mark.slow
def test_many_bits_are_found_in_a_few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """There were 22 curves of 200,000 terms each; a thousandth less is not private."""
    asked = []
    own = BinomialProfile._curve
    monkeypatch.setattr(BinomialProfile, "_curve", lambda self, x: (asked.append(1), own(self, x))[1])
    protocol = ShuffledMean.calibrated(1e-3, 1e-6, clients=1, size=1, bound=0.5)
    assert len(asked) < 14
    assert protocol.added > 2**24
    for trials, private in ((protocol.added, True), (protocol.added - protocol.added // 1000, False)):
        assert (BinomialProfile(trials, protocol.levels).delta(1e-3) <= 1e-6) == private


def test_the_least_bits_of_a_million_clients_are_found() -> None:
    """Few bits each, many together: one part in 4096 of them is less than one, and the search ends at one."""
    n, size = 10**6, 100
    protocol = ShuffledMean.calibrated(1.0, 1e-6, clients=n, size=size, bound=1.0)
    assert protocol.added * n > 2**24
    assert BinomialProfile(protocol.added * n, protocol.levels, 0.5, size).proves(1.0, 1e-6)
    assert not BinomialProfile((protocol.added - 1) * n, protocol.levels, 0.5, size).proves(1.0, 1e-6)


@pytest.mark.parametrize("size", [1, 2, 20])
def test_the_least_delta_of_a_claim_is_where_bits_can_be_calibrated(size: int) -> None:
    """Nothing below it is proved with however many bits: calibrating went on to the most that are supported."""
    least = BinomialProfile.least_delta(size)
    ShuffledMean.check_claim(2.0, least, size=size)
    assert ShuffledMean.calibrated(2.0, least, clients=100, size=size, bound=1.0).profile().proves(2.0, least)
    with pytest.raises(ParameterError, match="must be at least"):
        ShuffledMean.check_claim(2.0, 0.99 * least, size=size)
    assert not BinomialProfile(2**20, 1, 0.5, size).proves(50.0, min(0.5 * least, 2e-304))
