"""Time and width of certified accounting, beside dp-accounting, prv-accountant, Opacus and autodp where installed.

Run ``python tests/benchmarks/bench_accounting.py``; ``--peers`` asks the other libraries for the same compositions,
``--year`` audits a year of a platform, ``--plot FILE`` draws the growth. CPU milliseconds, warm median; set
OPENBLAS_NUM_THREADS=1 on a busy machine.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from accounting_peers import Peer, Release, installed

from accountant import Accountant, Budget, Plan, PlanStep, Private, Quote, RunningLoss
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
from mechanisms.composition.composed_loss import compose
from mechanisms.composition.least_noise import least_noise
from mechanisms.domains.neighbouring import Neighbouring
from mechanisms.profiles.related_profile import RelatedProfile
from mechanisms.profiles.subsampled import SubsampledProfile

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
        plan=Plan(tuple(PlanStep(noise, count=calls // 2) for noise in noises)),
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


def small_deltas() -> None:
    """Print CPU ms and relative widths over 39 random mixes of sampled Gaussians at δ = 1e-20."""
    rng = np.random.default_rng(3)
    times, widths = [], []
    for _ in range(39):
        releases: Releases = [
            (
                subsampled(
                    gaussian(float(10.0 ** rng.uniform(-0.2, 0.6))), float(10.0 ** rng.uniform(-3.5, -0.5))
                ),
                int(10.0 ** rng.uniform(0.0, 2.5)),
            )
            for _ in range(int(rng.integers(2, 60)))
        ]
        found = compose(releases).epsilon(1e-20)
        widths.append(found.width / max(1.0, found.upper))
        times.append(median_ms(lambda releases=releases: compose(releases).epsilon(1e-20), 3))
    print(
        f"39 mixes of sampled Gaussians, 1e-20: median {statistics.median(times):.1f} ms, largest {max(times):.1f} ms"
    )
    print(f"  relative widths: the two largest {sorted(widths)[-2]:.1e} and {max(widths):.1e}")


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


def reserve_and_cancel() -> list[tuple[int, float, float]]:
    """Return how many entries there are, CPU ms of one price there, and of one reserve and cancel."""
    share, noise = Interval(0, 1), Laplace(scale=20.0)
    accountant = Accountant(Budget(1e9), noise=np.random.default_rng(0))
    found = []
    for size in (300, 3_000, 30_000):
        while len(accountant.ledger) < size:
            accountant.release(
                noise, accountant.private([0.4], share, record=f"user-{len(accountant.ledger) % 100}")
            )
        value = accountant.private([0.4], share, record="user-1")

        cost = accountant.price(noise, value)

        def price(value: Private = value) -> None:
            accountant.price(noise, value)

        def reserve(cost: Quote = cost) -> None:
            accountant.reserve(cost).cancel()

        each = (median_ms(lambda one=one: [one() for _ in range(100)], 5) / 100.0 for one in (price, reserve))
        found.append((size, *each))
    return found


def growth(plot: str | None = None) -> None:
    """Print CPU ms along each scale, and the slopes of their logarithms: above 2 is a cliff. Perhaps draw them."""
    lines: dict[str, tuple[tuple[float, ...], list[float]]] = {}
    for name, (sizes, case_at) in GROWTH.items():
        times = []
        for size in sizes:
            releases, delta = case_at(size)
            times.append(
                median_ms(lambda releases=releases, delta=delta: compose(releases).epsilon(delta), 3)
            )
        lines[name] = sizes, times
    entries, _, each = zip(*reserve_and_cancel(), strict=True)
    lines["entries of a ledger: reserve, cancel"] = entries, list(each)
    for name, (sizes, times) in lines.items():
        slopes = np.diff(np.log(times)) / np.diff(np.log(sizes))
        steepest = int(np.argmax(slopes))
        print(
            f"growth over {name}: " + ", ".join(f"{x:g}: {t:.3g}" for x, t in zip(sizes, times, strict=True))
        )
        print(
            f"  steepest slope {slopes[steepest]:.2f} from {sizes[steepest]:g}"
            + (", A CLIFF" if slopes[steepest] > 2.0 else "")
        )
    if plot is not None:
        from matplotlib.figure import Figure

        everything = [one for _, times in lines.values() for one in times]
        figure = Figure(figsize=(10.0, 2.6 * math.ceil(len(lines) / 3)), layout="constrained")
        for i, (name, (sizes, times)) in enumerate(lines.items()):
            axes = figure.add_subplot(math.ceil(len(lines) / 3), 3, i + 1)
            axes.loglog(sizes, times, "o-")
            axes.set_ylim(0.5 * min(everything), 2.0 * max(everything))  # one scale: what is flat looks flat
            axes.set_title(name, fontsize=8)
            axes.set_ylabel("CPU ms", fontsize=8)
        figure.savefig(plot)


PEER_CASES: dict[str, list[Release]] = {
    "Gaussian ×1,000": [Release("gaussian", 20.0, count=1000)],
    "Laplace ×1,000": [Release("laplace", 20.0, count=1000)],
    "1,000 different Laplace": [Release("laplace", math.sqrt(1000) * 20.0 ** (i / 999)) for i in range(1000)],
    "500 different Gaussian": [Release("gaussian", 20.0 + 0.5 * i) for i in range(500)],
    "sampled Gaussian ×10,000": [Release("gaussian", 0.8, 0.004, 10_000)],
    "sampled Gaussian ×10": [Release("gaussian", 1.0, 0.01, 10)],
    **{
        f"{n} different sampled Gaussian": [
            Release("gaussian", 0.8 + 1.2 * i / (n - 1), 0.01) for i in range(n)
        ]
        for n in (10, 100)
    },
}


def of_release(release: Release) -> PrivacyProfile:
    profile = laplace(release.scale) if release.kind == "laplace" else gaussian(release.scale)
    if release.rate < 1.0:
        return subsampled(profile, release.rate)
    return RelatedProfile(profile, Neighbouring.ADD_OR_REMOVE)


PEER_SECONDS = 60
"""CPU time after which another library is stopped."""


def said_by(peer: Peer, releases: Sequence[Release]) -> str:
    """Return CPU time and ε of a library, and the width of its own bounds, as a cell of the table.

    It is asked in a process of its own, which ends after `PEER_SECONDS` of CPU time.
    """
    here, there = multiprocessing.Pipe(duplex=False)

    def ask() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (PEER_SECONDS, PEER_SECONDS))
        peer(releases[:1], 1e-6)  # imports
        start = time.process_time()
        said = peer(releases, 1e-6)
        there.send((said, (time.process_time() - start) * 1e3))

    process = multiprocessing.get_context("fork").Process(target=ask)
    process.start()
    process.join()
    if not here.poll():
        ended = process.exitcode in (-signal.SIGXCPU, -signal.SIGKILL)
        return f"over {PEER_SECONDS} s" if ended else "fails"
    said, elapsed = here.recv()
    if said is None:
        return "–"
    width = "" if said.width is None else f" (width {said.width:.0e})"
    return f"{elapsed:,.0f} ms, {said.epsilon:.6g}{width}"


def peers() -> None:
    """Print one table: every library on the same compositions, called once, at δ = 1e-6."""
    known = installed()
    print("| δ = 1e-6 | dpwitness | " + " | ".join(known) + " |")
    print("|---" * (2 + len(known)) + "|")
    for name, releases in PEER_CASES.items():
        counted = [(of_release(release), release.count) for release in releases]
        interval = compose(counted).epsilon(1e-6)
        elapsed = median_ms(lambda counted=counted: compose(counted).epsilon(1e-6), 5)
        cells = [f"{elapsed:.3g} ms, {interval.upper:.10g} (width {interval.width:.0e})"]
        cells += [said_by(peer, releases) for peer in known.values()]
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


def year(rows: int = 1_000_000, records: int = 100_000) -> None:
    """Print CPU seconds and memory of the audit of a CSV file: a platform's year of 40 kinds of releases."""
    rng = np.random.default_rng(0)
    kinds = [
        (
            f"laplace,,{10 + i},",
            f"gaussian,{20 + i}.5,,",
            f"gaussian,{1 + i / 10},,0.0{1 + i % 9}",
            f"laplace,,{100 + 3 * i},",
        )[i % 4]
        for i in range(40)
    ]
    draws = zip(
        rng.integers(0, 40, rows).tolist(),
        rng.integers(0, records, rows).tolist(),
        rng.integers(0, 336, rows).tolist(),
        strict=True,
    )
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "year.csv"
        lines = (
            f"2026-{1 + day // 28:02d}-{1 + day % 28:02d},{kinds[kind]},user-{who}"
            for kind, who, day in draws
        )
        file.write_text("date,mechanism,sigma,scale,sampling_rate,records\n" + "\n".join(lines) + "\n")
        command = [sys.executable, "-c", "from verify.commands.command_line import main; main()"]
        command += ["audit", str(file), "--neighbors", "add-or-remove-one"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    answer = next(line for line in done.stdout.splitlines() if line.startswith("at most"))
    print(
        f"a year, {rows:,} releases for {records:,} records: {used.ru_utime + used.ru_stime:.1f} s", end=", "
    )
    print(f"{used.ru_maxrss / 1024:.0f} MiB: {answer}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--peers", action="store_true", help="one table beside the other libraries, and no more"
    )
    parser.add_argument("--year", action="store_true", help="audit a platform's year, and no more")
    parser.add_argument("--plot", metavar="FILE", help="draw the growth over each scale, and no more")
    arguments = parser.parse_args()
    if arguments.peers or arguments.year or arguments.plot:
        for wanted, run in (
            (arguments.peers, peers),
            (arguments.year, year),
            (arguments.plot, lambda: growth(arguments.plot)),
        ):
            if wanted:
                run()
        return
    print(f"{'case':40s}{'ms':>10s}{'width':>10s}  upper end")
    for name, (releases, delta) in CASES.items():
        interval = compose(releases).epsilon(delta)
        elapsed = median_ms(lambda releases=releases, delta=delta: compose(releases).epsilon(delta))
        print(f"{name:40s}{elapsed:10.2f}{interval.width:10.1e}  {interval.upper:.12g} ({interval.by})")
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
    small_deltas()
    for size, price, elapsed in reserve_and_cancel():
        print(f"at {size:,} entries: price {price:.3f} ms, reserve and cancel {elapsed:.3f} ms")
    growth()


if __name__ == "__main__":
    main()
