"""Verify every held-out mechanism (tests/verify/held_out) and print a Markdown table.

Run ``python tests/benchmarks/held_out_table.py`` (``--quick`` for the quick effort, names to pick rows, ``--seed``).
As in zoo_table.py every row is verified in a process of its own, and CPU seconds are that process's.

"True" is the smallest epsilon at which the claim holds: exact, or a bound, ≤ for correct and ≥ for broken mechanisms.
The oracle's limit is at the number of final draws that were used.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from zoo_table import SLACK, Row, figure, line, send_cost, verified

from verify.verification.resolve import load_object

REGISTRY = Path(__file__).parents[1] / "verify" / "held_out" / "registry.py"
held_out: Any = load_object(f"{REGISTRY}:held_out")

HEADINGS = ("mechanism", "claim", "true ε", "oracle limit", "our bound", "slack", "verdict", "CPU s")


def measure(name: str, effort: str, seed: int, answer: Connection) -> None:
    """Verify a held-out mechanism, found by its name in this process."""
    send_cost(held_out[name].subject, held_out[name], effort, seed, answer)


def true_epsilon(entry: Any) -> str:
    sign = "" if entry.exact else "≤ " if entry.correct else "≥ "
    return sign + figure(entry.true_epsilon)


def cells(row: Row) -> list[str]:
    entry = row.specimen
    return [
        entry.name,
        figure(entry.epsilon) + (f", δ {entry.delta:g}" if entry.delta else ""),
        true_epsilon(entry),
        figure(row.oracle_limit),
        figure(row.bound),
        figure(row.slack),
        row.verdict + ("" if row.right else " (!)"),
        f"{row.seconds:.1f}",
    ]


def summary(rows: list[Row]) -> list[str]:
    measured = [row for row in rows if not math.isnan(row.oracle_limit)]
    refuted = [row.specimen.name for row in rows if row.specimen.correct and not row.right]
    missed = [row.specimen.name for row in rows if not row.specimen.correct and not row.right]
    close = sum(row.slack <= SLACK for row in measured)
    return [
        f"- correct ones refuted: {', '.join(refuted) or 'none'}",
        f"- broken ones missed: {', '.join(missed) or 'none'} ({len(missed)} of "
        f"{sum(row.specimen.refutable for row in rows)})",
        f"- slack within {SLACK}: {close} of {len(measured)} rows with an oracle",
        f"- CPU: {sum(row.seconds for row in rows):.0f} s in all",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="mechanism")
    parser.add_argument("--quick", action="store_true", help="the quick effort in place of the default one")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in held_out]
    if unknown:
        parser.error(f"{unknown[0]}: must be one of {', '.join(held_out)}")
    rows = []
    print(line(list(HEADINGS)))
    print(line(["---"] * len(HEADINGS)))
    start = time.monotonic()
    for name in options.names or held_out:
        entry = held_out[name]
        effort = "quick" if options.quick else "default"
        row = verified(entry, entry.oracle, effort, options.seed, measure)
        rows.append(row)
        print(line(cells(row)), flush=True)
    print()
    print("\n".join(summary(rows)))
    print(f"- wall time: {time.monotonic() - start:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
