"""Verify every specimen of the zoo and print a Markdown table beside the published figures of other tools.

Run ``python tests/benchmarks/zoo_table.py`` (``--quick`` for the quick effort, names to pick rows, ``--seed``).
Every row is verified in a process of its own, one after the other; CPU seconds and peak memory are that
process's. The last lines say whether the gallery keeps its targets.

Published figures are lower bounds at 90 %. DP-Sniper (DD-Search, logistic regression / neural network; 200 million
final draws a side, S&P 2021) and StatDP as repaired by its authors (best of two runs where both are known) are taken
from the logs in DP-Sniper's repository, eval_sp2021/reference-results. Both searched StatDP's patterns of neighbours
only.

DP-Sniper's figures rest on 68 to 98 times as many draws as a verification spends by default, and StatDP's have no
confidence level. ``--again 2e8`` verifies those buggy rows once more whose bound is below a published figure, with
that many final draws a side; the last column shows the oracle limit and the bound at these.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import math
import multiprocessing
import resource
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from verify import verify
from verify.conduct.effort import EFFORTS
from verify.conduct.time_limit import SECONDS
from verify.verification.resolve import load_object
from verify.zoo import Specimen, specimens

oracles: Any = load_object(f"{Path(__file__).parents[1] / 'verify' / 'zoo' / 'oracles.py'}:oracles")

DP_SNIPER = {
    "laplace": (0.0968, 0.0976),
    "truncated-geometric": (0.1156, 0.1155),
    "truncated-geometric-ln": (0.1156, 0.1155),
    "noisy-hist-1": (0.0978, 0.0977),
    "noisy-hist-2": (4.602, 4.601),
    "noisy-max-1": (0.0923, 0.0925),
    "noisy-max-2": (0.0975, 0.0979),
    "noisy-max-3": (0.2478, 0.2488),
    "noisy-max-4": (0.3463, 0.3534),
    "svt1": (0.0858, 0.0858),
    "svt2": (0.0859, 0.0852),
    "svt3": (0.1716, 0.1822),
    "svt4": (0.1687, 0.1696),
    "svt5": (1.7612, 1.7610),
    "svt6": (0.2720, 0.2698),
    "rappor": (0.2930, 0.3008),
    "one-time-rappor": (0.5978, 0.5999),
    "laplace-parallel": (0.0350, 0.0299),
    "prefix-sum-all": (0.5040, 0.5774),
    "numerical-svt": (0.0343, 0.0345),
}
STATDP = {
    "laplace": 0.0998,
    "truncated-geometric": 0.1159,
    "truncated-geometric-ln": 0.1159,
    "noisy-hist-1": 0.0994,
    "noisy-hist-2": 9.717,
    "noisy-max-1": 0.0921,
    "noisy-max-2": 0.0997,
    "noisy-max-3": 0.1991,
    "noisy-max-4": 0.1960,
    "svt1": 0.0298,
    "svt2": 0.0316,
    "svt3": 0.1793,
    "svt4": 0.1709,
    "svt5": 14.31,
    "svt6": 0.3220,
    "rappor": 0.2416,
    "one-time-rappor": 0.4706,
    "laplace-parallel": 0.0126,
    "prefix-sum-all": 0.3516,
}
ROW_SECONDS, GALLERY_SECONDS, MEGABYTES = 10.0, 180.0, 400.0
SLACK, SHARE = 1.15, 0.8


@dataclass(frozen=True)
class Row:
    """What one verification gave and cost."""

    specimen: Specimen
    oracle: Any
    verdict: str
    bound: float
    trials: int
    seconds: float
    megabytes: float

    @property
    def oracle_limit(self) -> float:
        """The oracle limit at the number of final draws that the verification used; NaN without an oracle."""
        if self.oracle is None or not self.trials:
            return math.nan
        return self.oracle.limit(self.trials, delta=self.specimen.delta)

    @property
    def slack(self) -> float:
        """How many times larger the oracle's bound is."""
        return self.oracle_limit / self.bound if self.bound > 0 else math.inf

    @property
    def right(self) -> bool:
        """Refuted exactly where sampling can refute it."""
        return (self.verdict == "refuted") == self.specimen.refutable


def measure(name: str, effort: str, seed: int, answer: Connection, samples: int | None = None) -> None:
    send_cost(f"zoo/{name}", specimens[name], effort, seed, answer, samples)


def send_cost(
    subject: object,
    specimen: Specimen,
    effort: str,
    seed: int,
    answer: Connection,
    samples: int | None = None,
) -> None:
    """Verify a subject against its specimen's claim, and send what that gave and cost."""
    start = time.process_time()
    result = verify(
        subject,
        epsilon=specimen.epsilon,
        delta=specimen.delta,
        effort=effort,
        samples=samples,
        seed=seed,
        time_limit=SECONDS if samples is None else math.inf,
    )
    seconds = time.process_time() - start
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    peak = max(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, children.ru_maxrss) / 1024
    test = result.details.get("black_box", {})
    bound = result.lower.epsilon if result.lower is not None else 0.0
    seconds += children.ru_utime + children.ru_stime
    answer.send((result.verdict, max(bound, 0.0), int(test.get("trials", 0)), seconds, peak))
    answer.close()


def apart(task: Any, *arguments: Any) -> Any:
    """Return what a task sends from a fresh process."""
    context = multiprocessing.get_context("spawn")
    receive, send = context.Pipe(duplex=False)
    process = context.Process(target=task, args=(*arguments, send))
    process.start()
    send.close()
    try:
        return receive.recv()
    finally:
        process.join()


def verified(
    specimen: Specimen,
    oracle: Any,
    effort: str,
    seed: int,
    task: Callable[[str, str, int, Connection], None] = measure,
) -> Row:
    """Verify one specimen in a fresh process, by a task that is given its name; its oracle may be None."""
    try:
        verdict, bound, trials, seconds, peak = apart(task, specimen.name, effort, seed)
    except EOFError:
        verdict, bound, trials, seconds, peak = "failed", 0.0, 0, math.nan, math.nan
    return Row(specimen, oracle, verdict, bound, trials, seconds, peak)


HEADINGS = (
    "specimen", "claim", "correct", "true ε", "oracle limit", "our bound", "slack", "verdict", "DP-Sniper", "StatDP",
    "final draws", "CPU s", "MB",
)  # fmt: skip


def figure(value: float) -> str:
    if math.isnan(value):
        return "-"
    return "∞" if math.isinf(value) else f"{value:.4g}"


def cells(row: Row) -> list[str]:
    specimen = row.specimen
    claim = figure(specimen.epsilon) + (f", δ {specimen.delta:g}" if specimen.delta else "")
    sniper = DP_SNIPER.get(specimen.name)
    return [
        specimen.name,
        claim,
        "yes" if specimen.correct else "hidden" if specimen.hidden else "no",
        figure(specimen.true_epsilon),
        figure(row.oracle_limit),
        figure(row.bound),
        figure(row.slack),
        row.verdict + ("" if row.right else " (!)"),
        " / ".join(map(figure, sniper)) if sniper else "-",
        figure(STATDP.get(specimen.name, math.nan)),
        f"{row.trials:,}",
        f"{row.seconds:.1f}",
        f"{row.megabytes:.0f}",
    ]


def published(name: str) -> float:
    """The largest published figure; 0 if there is none."""
    return max(*DP_SNIPER.get(name, (0.0, 0.0)), STATDP.get(name, 0.0))


def again(row: Row, effort: str, seed: int, draws: float) -> str:
    """What a buggy row whose bound is below a published figure shows with so many final draws a side."""
    if row.specimen.correct or not row.trials or row.bound >= published(row.specimen.name):
        return "-"
    # Every stage has a fixed share of the draws, whatever their number.
    samples = math.ceil(EFFORTS[effort].batch_samples * draws / row.trials)
    more = verified(row.specimen, row.oracle, effort, seed, partial(measure, samples=samples))
    return f"{figure(more.oracle_limit)} / {figure(more.bound)} ({more.trials:,} draws, {more.seconds:.0f} s)"


def line(parts: Sequence[str]) -> str:
    return "| " + " | ".join(parts) + " |"


def summary(rows: list[Row]) -> list[str]:
    measured = [row for row in rows if row.oracle is not None and not row.specimen.hidden and row.trials]
    close = sum(row.slack <= SLACK for row in measured)
    wrong = [row.specimen.name for row in rows if not row.right]
    slow = [row.specimen.name for row in rows if not row.seconds <= ROW_SECONDS]
    return [
        f"- verdicts: {len(rows) - len(wrong)} of {len(rows)} as they should be"
        + (f"; not {', '.join(wrong)}" if wrong else ""),
        f"- slack within {SLACK}: {close} of {len(measured)} rows (target {SHARE:.0%})",
        f"- CPU: {sum(row.seconds for row in rows):.0f} s in all (target {2 * GALLERY_SECONDS:.0f} on two cores)"
        + (f"; above {ROW_SECONDS:.0f} s: {', '.join(slow)}" if slow else ""),
        f"- memory: {max(row.megabytes for row in rows):.0f} MB at most (target {MEGABYTES:.0f})",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="specimen")
    parser.add_argument("--quick", action="store_true", help="the quick effort in place of the default one")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--again", type=float, metavar="DRAWS", help="final draws a side of a second verification"
    )
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in specimens]
    if unknown:
        parser.error(f"{unknown[0]}: must be one of {', '.join(specimens)}")
    rows = []
    effort = "quick" if options.quick else "default"
    headings = [*HEADINGS, *(["oracle limit / our bound again"] if options.again else [])]
    print(line(headings))
    print(line(["---"] * len(headings)))
    start = time.monotonic()
    for name in options.names or specimens:
        row = verified(specimens[name], oracles.get(name), effort, options.seed)
        rows.append(row)
        more = [again(row, effort, options.seed, options.again)] if options.again else []
        print(line([*cells(row), *more]), flush=True)
    print()
    print("\n".join(summary(rows)))
    print(f"- wall time: {time.monotonic() - start:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
