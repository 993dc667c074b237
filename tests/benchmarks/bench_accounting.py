"""Time and width of certified accounting, against dp-accounting and prv-accountant where installed.

Run ``python tests/benchmarks/bench_accounting.py`` (``--anchors`` also times the other libraries). CPU milliseconds,
warm median; set OPENBLAS_NUM_THREADS=1 on a busy machine.
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
from collections.abc import Callable

import numpy as np

from accountant import Accountant, Budget, Plan, RunningLoss, Step
from accountant.losses.composed_loss import compose
from accountant.losses.least_noise import least_noise
from mechanisms import (
    Gaussian,
    GaussianProfile,
    Interval,
    Laplace,
    LaplaceProfile,
    PrivacyProfile,
    RandomizedResponse,
    for_group,
)
from mechanisms.neighbouring import Neighbouring
from mechanisms.related_profile import RelatedProfile
from mechanisms.subsampled import SubsampledProfile

Releases = list[tuple[PrivacyProfile, int]]


def gaussian(sigma: float) -> PrivacyProfile:
    return GaussianProfile(1.0 / sigma)


def subsampled(base: PrivacyProfile, rate: float) -> PrivacyProfile:
    """Return the profile on a Poisson subsample for adding or removing a record."""
    return SubsampledProfile(RelatedProfile(base, Neighbouring.ADD_OR_REMOVE), rate)


def laplace(scale: float) -> PrivacyProfile:
    return LaplaceProfile(1.0, scale)


SCALES = [20.0 * 20.0 ** (i / 199) for i in range(200)]
RESPONSE = RandomizedResponse(size=2, epsilon=math.log(3)).profile()

CASES: dict[str, tuple[Releases, float]] = {
    "Gaussian 20 x1,000": ([(gaussian(20), 1000)], 1e-6),
    "Gaussian 20 x100,000": ([(gaussian(20), 100_000)], 1e-6),
    "Gaussian 0.01": ([(gaussian(0.01), 1)], 1e-6),
    "Laplace 20 x1,000": ([(laplace(20), 1000)], 1e-6),
    "Laplace 20 x1,000, 1e-15": ([(laplace(20), 1000)], 1e-15),
    "Laplace 20 x1,000, 1e-30": ([(laplace(20), 1000)], 1e-30),
    "Laplace 20 x1,000, 1e-100": ([(laplace(20), 1000)], 1e-100),
    "sampled Gaussian x10,000": ([(subsampled(gaussian(0.8), 0.004), 10_000)], 1e-6),
    "200 Laplace + 200 Gaussian scales": (
        [(kind(b), 1) for kind in (laplace, gaussian) for b in SCALES],
        1e-6,
    ),
    "1,000 Laplace scales": (
        [(laplace(math.sqrt(1000) * 20.0 ** (i / 999)), 1) for i in range(1000)],
        1e-6,
    ),
    "500 randomized responses": (
        [(RandomizedResponse(size=2, epsilon=0.01 * 20.0 ** (i / 499)).profile(), 1) for i in range(500)],
        1e-6,
    ),
    "200 Laplace scales": ([(laplace(b), 1) for b in SCALES], 1e-6),
    "randomized response x100": ([(RESPONSE, 100)], 1e-6),
    **{f"Laplace 2 x{n}": ([(laplace(2), n)], 1e-6) for n in (1, 2, 5, 10)},
    "Laplace 2 + Laplace 3.1": ([(laplace(2), 1), (laplace(3.1), 1)], 1e-6),
    "sampled Gaussian q=0.1 x2": ([(subsampled(gaussian(1), 0.1), 2)], 1e-6),
    "sampled Gaussian x10": ([(subsampled(gaussian(1), 0.01), 10)], 1e-6),
    **{
        f"{n} different sampled Gaussians": (
            [(subsampled(gaussian(0.8 + 1.2 * i / (n - 1)), 0.01), 1) for i in range(n)],
            1e-6,
        )
        for n in (10, 100, 1000)
    },
    "100 different sampled Gaussians, 1e-40": (
        [(subsampled(gaussian(0.8 + 1.2 * i / 99), 0.01), 1) for i in range(100)],
        1e-40,
    ),
    **{
        f"sampled Gaussian x500, groups of {k}": ([(for_group(subsampled(gaussian(1), 0.01), k), 500)], 1e-6)
        for k in (2, 5)
    },
    "sampled Gaussian x1e9": ([(subsampled(gaussian(2), 1e-4), 10**9)], 1e-6),
    "Laplace 100,000 x1,000,000": ([(laplace(1e5), 10**6)], 1e-6),
}


def median_ms(call: Callable[[], object], repeats: int = 15) -> float:
    call()
    times = []
    for _ in range(repeats):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
        if sum(times) > 3.0:
            break
    return 1e3 * statistics.median(times)


def calibrate(
    profile_of: Callable[[float], PrivacyProfile], count: int, epsilon: float, delta: float
) -> float:
    """Return the least noise at which ``count`` releases have the given epsilon."""
    return least_noise(lambda noise: [[(profile_of(noise), count)]], epsilon, delta)


def one_more_release_and_epsilon(calls: int = 10_000) -> list[tuple[int, int, float]]:
    """Return CPU ms a call of release + odometer under a plan, alternating two mechanisms, by stretch."""
    share = Interval(0, 1)
    noises = (Laplace(scale=20.0), Gaussian(sigma=20.0, sensitivity=share.sensitivity))
    accountant = Accountant(
        Budget(50.0, delta=1e-6),
        plan=Plan(tuple(Step(noise, count=calls // 2) for noise in noises)),
        noise=np.random.default_rng(0),
    )
    times = []
    for i in range(calls):
        value = accountant.private([0.4], share, record="ann")
        start = time.process_time()
        accountant.release(noises[i % 2], value)
        accountant.odometer("ann", 1e-6)
        times.append((time.process_time() - start) * 1e3)
    stretches = ((0, 100), (100, 1000), (1000, calls))
    return [(first, last, float(np.mean(times[first:last]))) for first, last in stretches]


STREAMS: dict[str, Callable[[int], PrivacyProfile]] = {
    "different Laplace and Gaussian": lambda i: (laplace if i % 2 else gaussian)(20.0 + 0.01 * i),
    "different Laplace": lambda i: laplace(20.0 + 380.0 * (i * 0.618033988749895 % 1.0)),
    "equal sampled Gaussian": lambda i: subsampled(gaussian(1.0), 0.01),
    "different sampled Gaussian": lambda i: subsampled(gaussian(0.8 + 0.0002 * i), 0.01),
}


def stream(profile_at: Callable[[int], PrivacyProfile], marks: tuple[int, ...]) -> None:
    """Print CPU ms of one more release and its interval, over the tenth of the releases before each mark."""
    running, times = RunningLoss(), []
    for i in range(marks[-1]):
        profile = profile_at(i)
        start = time.process_time()
        running.add(profile)
        found = running.epsilon(1e-6)
        times.append((time.process_time() - start) * 1e3)
        if i + 1 in marks:
            last = sorted(times[-((i + 1) // 10) :])
            print(
                f"  {i + 1:8d}{statistics.median(last):10.2f}{statistics.fmean(last):10.2f}{last[-1]:10.1f}"
                f"{found.width:10.1e}"
            )


GROWTH: dict[str, tuple[tuple[float, ...], Callable[[float], tuple[Releases, float]]]] = {
    "count of Laplace": ((1e1, 1e2, 1e3, 1e4, 1e5, 1e6), lambda n: ([(laplace(20), int(n))], 1e-6)),
    "count of sampled Gaussian": (
        (1e1, 1e2, 1e3, 1e4, 1e5, 1e6),
        lambda n: ([(subsampled(gaussian(1), 0.01), int(n))], 1e-6),
    ),
    "different Laplace": (
        (10, 100, 1000, 10_000),
        lambda n: ([(laplace(math.sqrt(n) * (1.0 + i / n)), 1) for i in range(int(n))], 1e-6),
    ),
    "different sampled Gaussian": (
        (10, 100, 1000),
        lambda n: ([(subsampled(gaussian(0.8 + 1.2 * i / n), 0.01), 1) for i in range(int(n))], 1e-6),
    ),
    "1/delta, 100 different sampled Gaussian": (
        (1e2, 1e6, 1e20, 1e60, 1e100),
        lambda x: ([(subsampled(gaussian(0.8 + 0.012 * i), 0.01), 1) for i in range(100)], 1.0 / x),
    ),
    "size of groups, sampled Gaussian x500": (
        (1, 2, 4, 8, 16, 32, 64),
        lambda k: ([(for_group(subsampled(gaussian(4), 0.01), int(k)), 500)], 1e-6),
    ),
}
"""What grows, where it is measured, and the releases and δ there.

Two slopes are above 2. From 10 to 100 different Laplace mechanisms: ten are near their largest loss, which has a closed
form, and 100 are too few for the certificate of exponential sums that makes 1,000 fast. From groups of 32 to 64: the
transform is certified on strips of width 1/k, with k terms each.
"""


def growth() -> None:
    """Print CPU ms along each scale, and the slopes of their logarithms: above 2 is a cliff."""
    for name, (sizes, case_at) in GROWTH.items():
        times = []
        for size in sizes:
            releases, delta = case_at(size)
            times.append(
                median_ms(lambda releases=releases, delta=delta: compose(releases).epsilon(delta), 3)
            )
        slopes = np.diff(np.log(times)) / np.diff(np.log(sizes))
        steepest = int(np.argmax(slopes))
        print(
            f"growth over {name}: " + ", ".join(f"{x:g}: {t:.1f}" for x, t in zip(sizes, times, strict=True))
        )
        print(
            f"  steepest slope {slopes[steepest]:.2f} from {sizes[steepest]:g}"
            + (", A CLIFF" if slopes[steepest] > 2.0 else "")
        )


def anchors() -> None:
    from dp_accounting.pld import privacy_loss_distribution as pld

    cases: dict[str, Callable[[], float]] = {
        "Gaussian 20 x1,000": lambda: (
            pld.from_gaussian_mechanism(20.0).self_compose(1000).get_epsilon_for_delta(1e-6)
        ),
        "Laplace 20 x1,000": lambda: (
            pld.from_laplace_mechanism(20.0).self_compose(1000).get_epsilon_for_delta(1e-6)
        ),
        "sampled Gaussian x10,000": lambda: (
            pld.from_gaussian_mechanism(0.8, sampling_prob=0.004)
            .self_compose(10_000)
            .get_epsilon_for_delta(1e-6)
        ),
    }
    for name, call in cases.items():
        print(f"dp-accounting  {name:36s}{median_ms(call, 3):10.2f} ms   epsilon {call():.10f}")

    import prv_accountant as prv

    sampled = prv.PoissonSubsampledGaussianMechanism(noise_multiplier=0.8, sampling_probability=0.004)

    def by_prv() -> tuple[float, float, float]:
        accountant = prv.PRVAccountant(
            prvs=sampled, max_self_compositions=10_000, eps_error=0.01, delta_error=1e-10
        )
        return accountant.compute_epsilon(delta=1e-6, num_self_compositions=[10_000])

    noises = [pld.from_laplace_mechanism(20.0 + 0.01 * i) for i in range(60)]
    total, times = noises[0], []
    for noise in noises[1:]:
        start = time.process_time()
        total = total.compose(noise)
        total.get_epsilon_for_delta(1e-6)
        times.append((time.process_time() - start) * 1e3)
    print(f"dp-accounting  one after another, the last of 60: {statistics.median(times[-6:]):.2f} ms")

    low, _, high = by_prv()
    print(
        f"prv-accountant {'sampled Gaussian x10,000':36s}{median_ms(by_prv, 3):10.2f} ms   width {high - low:.1e}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--anchors", action="store_true", help="also time dp-accounting and prv-accountant")
    arguments = parser.parse_args()
    print(f"{'case':40s}{'ms':>10s}{'width':>10s}  upper end")
    for name, (releases, delta) in CASES.items():
        interval = compose(releases).epsilon(delta)
        elapsed = median_ms(lambda releases=releases, delta=delta: compose(releases).epsilon(delta))
        print(f"{name:40s}{elapsed:10.2f}{interval.width:10.1e}  {interval.upper:.12g} ({interval.upper_by})")
    for name, kind, count in (
        ("calibrate Laplace x1,000 to 1", laplace, 1000),
        ("calibrate sampled Gaussian x10,000 to 1", lambda s: subsampled(gaussian(s), 0.004), 10_000),
    ):
        noise = calibrate(kind, count, 1.0, 1e-6)
        elapsed = median_ms(lambda kind=kind, count=count: calibrate(kind, count, 1.0, 1e-6), 3)
        print(f"{name:40s}{elapsed:10.2f}{'':10s}  noise {noise:.9g}")
    for first, last, elapsed in one_more_release_and_epsilon():
        name = f"one more release and epsilon, {first}-{last}"
        print(f"{name:40s}{elapsed:10.2f}")
    for name, profile_at in STREAMS.items():
        print(f"one after another, {name}: releases, median, mean and largest ms, width")
        stream(profile_at, (10, 100, 1000) if "different sampled" in name else (10, 100, 1000, 10_000))
    growth()
    if arguments.anchors:
        anchors()


if __name__ == "__main__":
    main()
