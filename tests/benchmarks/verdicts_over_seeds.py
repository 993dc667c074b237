"""Verify the gallery seed by seed, and say on how many runs its verdicts differ: luck, measured.

Run ``python tests/benchmarks/verdicts_over_seeds.py`` (``--seeds 20``, ``--first 0``; names pick rows). Rows are the
commands of docs/gallery.md and the specimens of the zoo (``zoo/NAME``), at the default effort. A run differs if its
verdict is not that of most seeds of its row; the target is at most 2 % of all runs. Each row names the seeds that
differ, so that such a run can be looked at again.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import re
import shlex
import sys
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

from zoo_table import line

from verify import verify
from verify.verdict.result import Verification
from verify.zoo import specimens

ROOT = Path(__file__).parents[2]
TARGET = 0.02
Run = Callable[..., Verification]


def of_the_page() -> dict[str, Run]:
    """The commands of the page of public findings, each by its subject."""
    page = (ROOT / "docs" / "gallery.md").read_text()
    rows: dict[str, Run] = {}
    for command in re.findall(r"^dpwitness verify (.*)$", page, flags=re.MULTILINE):
        subject, *rest = shlex.split(command)
        options = dict(zip(rest[::2], rest[1::2], strict=False))
        claim = {"epsilon": float(options["--epsilon"])} if "--epsilon" in options else {}
        rows[subject] = partial(verify, subject, **claim, floating_point="--floating-point" in rest)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="of rows; all by default")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    arguments = parser.parse_args()
    os.chdir(ROOT)
    rows = {f"zoo/{name}": partial(verify, f"zoo/{name}") for name in specimens} | of_the_page()
    unknown = set(arguments.names) - rows.keys()
    if unknown:
        parser.error(f"no such rows: {', '.join(sorted(unknown))}")
    print(line(("subject", "verdicts", "seeds that differ", "CPU s")))
    print(line(["---"] * 4), flush=True)
    seeds = range(arguments.first, arguments.first + arguments.seeds)
    runs = differ = 0
    for name in arguments.names or rows:
        start = time.process_time()
        verdicts = {seed: rows[name](seed=seed).verdict for seed in seeds}
        seconds = (time.process_time() - start) / len(seeds)
        counted = Counter(verdicts.values()).most_common()
        odd = [seed for seed, verdict in verdicts.items() if verdict != counted[0][0]]
        runs, differ = runs + len(verdicts), differ + len(odd)
        said = ", ".join(f"{count} {verdict}" for verdict, count in counted)
        print(line((name, said, ", ".join(map(str, odd)) or "-", f"{seconds:.1f}")), flush=True)
    print(f"\n- {differ} of {runs} runs differ: {100 * differ / runs:.2g} % (target {100 * TARGET:g} %)")
    sys.exit(differ > TARGET * runs)


if __name__ == "__main__":
    main()
