"""Verdicts on every privacy claim of the papers, as printed and as repaired, as a Markdown table.

Run with ``python tests/benchmarks/verdict_table.py`` (six CPU minutes), or with some numbers of claims for fewer rows.
Claims are numbered as paper-theorem: 000 is Chen et al. 2020, 002 the matroid bandits paper, 003 the cascading bandits
paper, 004 the distributed linear bandits paper; 003-x are 003's experiments with the noise times 0.01, 004-par is 004's
parallel composition with clients drawn with replacement. Every row has three forms where they make sense:

printed
    the algorithm as the paper has it. "refuted" is by an event in the view that the paper claims for.
noise alone
    only the mechanism, as it would be if nothing else leaked: "true" is the exact epsilon of the printed scale.
certified
    the learner that takes its place; its true epsilon is the claim (with whole numbers of shuffled bits, almost).

The table's verdicts and true epsilons are compared with those that hold by hand calculation, ``Row.verdict`` and
``Row.true_epsilon``; a row that differs is marked, and the exit code is then 1.
"""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

from mechanisms import Box, Gaussian, Laplace, Mechanism, OneHot, Repeated, Sensitivity
from verify import verify
from verify.verdict.result import Verification
from verify.verdict.verdict import Verdict

DELTA = 1e-3


@dataclass(frozen=True)
class Row:
    """One claim about one subject, and what is true of it.

    Attributes
    ----------
    number
        The claim's number, as in "000-7".
    form
        Which form of the algorithm.
    subject
        A learner's name or a mechanism.
    epsilon, delta
        The claim.
    verdict, true_epsilon
        What `verify` has to find: the verdict, and its upper bound at the claimed delta.
    options
        Further arguments of `verify`.
    note
        Which instance, in words.
    """

    number: str
    form: Literal["printed", "noise alone", "certified"]
    subject: str | Mechanism
    epsilon: float
    delta: float
    verdict: Verdict
    true_epsilon: float
    options: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""

    @property
    def name(self) -> str:
        """The subject in a few words."""
        if isinstance(self.subject, str):
            return f"`{self.subject}`"
        return self.note

    def run(self) -> tuple[Verification, float]:
        """Verify the claim; return the result and the CPU seconds that it took."""
        start = time.process_time()
        result = verify(self.subject, epsilon=self.epsilon, delta=self.delta, **self.options)
        return result, time.process_time() - start

    def agrees(self, result: Verification) -> bool:
        """Whether a verification found what is true."""
        assert result.upper is not None
        if math.isinf(self.true_epsilon):
            upper = math.isinf(result.upper.epsilon)
        else:
            upper = math.isclose(result.upper.epsilon, self.true_epsilon, rel_tol=2e-4)
        lower = result.lower
        shown = lower is not None and lower.in_view and lower.decisive and lower.epsilon > self.epsilon
        witnessed = self.verdict != "refuted" or (shown and result.witness is not None)
        return result.verdict == self.verdict and upper and witnessed


def _certified(number: str, subject: str, epsilon: float = 1.0, delta: float = 0.0, **options: Any) -> Row:
    return Row(number, "certified", subject, epsilon, delta, "certified", epsilon, options)


def _refuted(number: str, subject: str, delta: float = 0.0, true: float = math.inf, **options: Any) -> Row:
    return Row(number, "printed", subject, 1.0, delta, "refuted", true, options)


def _noise(
    number: str, mechanism: Mechanism, note: str, true: float, *, epsilon: float = 1.0, delta: float = 0.0
) -> Row:
    verdict: Verdict = "certified" if true <= epsilon else "refuted"
    return Row(number, "noise alone", mechanism, epsilon, delta, verdict, true, {}, note)


def _classical(size: int, epsilon: float, moved: Sensitivity, multiplier: float = 1.0) -> Gaussian:
    """``sigma = sqrt(2 K ln(1.25 / delta)) / epsilon``."""
    return Gaussian(
        sigma=multiplier * math.sqrt(2 * size * math.log(1.25 / DELTA)) / epsilon, sensitivity=moved
    )


def _nodes(horizon: int, factor: float) -> Repeated:
    """All nodes of a tree that hold the first record, with noise ``Lap(factor ln T)``."""
    return Repeated(Laplace(scale=factor * math.log(horizon)), horizon.bit_length())


def _lost(horizon: int, factor: float) -> float:
    return horizon.bit_length() / (factor * math.log(horizon))


def _linear(number: str, name: str, epsilon: float, delta: float, true: float) -> Row:
    verdict: Verdict = "certified" if true <= epsilon else "refuted"
    return Row(number, "printed", f"published/{name}", epsilon, delta, verdict, true)


def _replaced(population: int, true: float, verdict: Verdict, note: str) -> Row:
    """Clients drawn with replacement: as many releases of one as the verification's runs drew."""
    options = {"settings": {"replacement": "yes", "population": population}}
    return Row("004-par", "printed", "published/dp-dpe-local", 1.0, DELTA, verdict, true, options, note)


WHOLE = "bits come in whole numbers"
CLICKS = OneHot(4).sensitivity
FOUR = Box(0.0, 1.0, 4).sensitivity
BALL = Sensitivity(2.0, 2.0, 2.0)  # two points of an L1 ball of radius 1
PER_POSITION = math.sqrt(4 * 4 * math.log(math.e + 1.0 / DELTA))  # 003's Theorem 8 at epsilon = 1
SEPARATE = {"initial_records": "separate"}
TABLE_2 = {"problem": "linear-matroid"}

ROWS: tuple[Row, ...] = (
    _noise("000-P", Laplace(scale=1.0, sensitivity=BALL), "Lap(R / epsilon) on an L1 ball of radius R", 2.0),
    Row("000-1", "printed", "cucb-ldp1", 1.0, 0.0, "certified", 1.0),
    Row("000-3", "printed", "cucb-ldp2", 1.0, 0.0, "certified", 1.0),
    _noise("000-L1", _nodes(100, 1.0), "all nodes, Lap(ln T / epsilon), T = 100", _lost(100, 1.0)),
    Row("000-7", "printed", "published/cucb-dp", 1.0, 0.0, "certified", _lost(1000, 2.0), {}, "T = 1,000"),
    _noise("000-7", _nodes(10**5, 2.0), "all nodes, Lap(2 ln T / epsilon), T = 10^5", _lost(10**5, 2.0)),
    _noise("000-7", _nodes(4, 2.0), "all nodes, Lap(2 ln T / epsilon), T = 4", _lost(4, 2.0)),
    _noise("000-7", _nodes(2, 2.0), "all nodes, Lap(2 ln T / epsilon), T = 2", _lost(2, 2.0)),
    _certified("000-7", "cucb-batch"),
    Row("000-v", "printed", "published/cucb-dp-least", 1.0, 0.0, "certified", _lost(1000, 2.0), {}, "T = 1,000"),
    _certified("000-v", "cucb-batch"),
    _refuted("002-1", "published/dpucb-mat", true=20.0),
    Row("002-1", "printed", "published/dpucb-mat", 2.0, 0.0, "refuted", 14 / 3, TABLE_2, "Table 2"),
    _refuted("002-3", "published/dpts-mat", true=20.0),
    Row("002-3", "printed", "published/dpts-mat", 2.0, 0.0, "refuted", 14 / 3, TABLE_2, "Table 2"),
    Row("002-4", "printed", "published/dpucb-mat", 2.0, 0.0, "certified", 2.0, {"settings": SEPARATE, **TABLE_2},
        "w_0 of 7 records"),
    Row("002-4", "printed", "published/dpts-mat", 2.0, 0.0, "certified", 2.0, {"settings": SEPARATE, **TABLE_2},
        "w_0 of 7 records"),
    _certified("002-1", "cucb-batch", 2.0),
    _refuted("003-1", "published/cascade-ucb-hybrid"),
    _certified("003-1", "cascade-ucb-batch"),
    _refuted("003-3", "published/cascade-ucb-ldp-laplace"),
    _noise("003-3", Laplace(scale=4.0, sensitivity=CLICKS), "Lap(K / epsilon) on every click, K = 4", 0.5),
    _certified("003-3", "cascade-ucb-rr"),
    _refuted("003-5", "published/cascade-ucb-ldp-gaussian", DELTA),
    _noise("003-5", _classical(4, 1.0, CLICKS), "Gaussian on every click, K = 4", 0.4196, delta=DELTA),
    _refuted("003-8", "published/cascade-ucb-ldp-composition", DELTA),
    _noise("003-8", Repeated(Laplace(scale=PER_POSITION), 4), "Laplace, K = 4 moved at once", 0.36453, delta=DELTA),
    _refuted("003-9", "published/cucb-ldp-gaussian", DELTA),
    _noise("003-9", _classical(4, 1.0, FOUR), "Gaussian on 4 outcomes", 0.63391, delta=DELTA),
    _noise("003-9", _classical(4, 8.0, FOUR), "Gaussian on 4 outcomes, epsilon = 8", 8.17869, epsilon=8.0, delta=DELTA),
    _certified("003-9", "cucb-ldp-gaussian", delta=DELTA),
    _refuted("003-x", "published/cascade-ucb-ldp-laplace", settings={"noise_multiplier": 0.01}),
    _refuted("003-x", "published/cascade-ucb-ldp-gaussian", DELTA, settings={"noise_multiplier": 0.01}),
    _noise("003-x", Laplace(scale=0.04, sensitivity=CLICKS), "0.01 Lap(K / epsilon), K = 4", 50.0),
    _noise("003-x", _classical(4, 1.0, CLICKS, 0.01), "0.01 times the Gaussian, K = 4", 232.23, delta=DELTA),
    _linear("004-4.2", "dp-dpe-central", 10.0, 0.25, 18.35626),
    _linear("004-4.2", "dp-dpe-central", 1.0, 0.25, 0.0),
    _certified("004-4.2", "dp-dpe-central", delta=1e-6),
    _linear("004-4.4", "dp-dpe-local", 10.0, 0.25, 18.35626),
    _linear("004-4.4", "dp-dpe-local", 1.0, DELTA, 0.63391),
    _certified("004-4.4", "dp-dpe-local", delta=1e-6),
    _linear("004-4.6", "dp-dpe-shuffle", 10.0, 0.25, 0.0),
    _linear("004-4.6", "dp-dpe-shuffle", 1.0, 1e-6, 0.0020467),
    Row("004-4.6", "certified", "dp-dpe-shuffle", 1.0, 1e-6, "certified", 0.997765, {}, WHOLE),
    _linear("004-C.1", "dp-pe-central", 10.0, 0.25, 18.35626),
    _linear("004-C.1", "dp-pe-central", 1.0, DELTA, 0.63391),
    _certified("004-C.1", "dp-pe-central", delta=1e-6),
    _linear("004-C.3", "dp-pe-local", 10.0, 0.25, 18.35626),
    _linear("004-C.3", "dp-pe-local", 1.0, DELTA, 0.63391),
    _certified("004-C.3", "dp-pe-local", delta=1e-6),
    _linear("004-C.6", "dp-pe-shuffle", 1.0, 1e-6, 0.069319),
    _linear("004-C.6", "dp-pe-shuffle", 10.0, 1e-6, 0.81642),
    Row("004-C.6", "certified", "dp-pe-shuffle", 1.0, 1e-6, "certified", 0.99941, {}, WHOLE),
    _replaced(10**6, 0.95743, "unproven", "a client twice"),
    _replaced(10**4, 1.21950, "refuted", "a client three times"),
)  # fmt: skip
"""Every claim of the four papers."""


def _line(row: Row, result: Verification, seconds: float) -> str:
    assert result.upper is not None
    claim = f"{row.epsilon:g}" if not row.delta else f"({row.epsilon:g}, {row.delta:g})"
    lower = f"{result.lower.epsilon:.4g}" if result.lower is not None and result.lower.in_view else "-"
    event = result.witness.event if result.verdict == "refuted" and result.witness is not None else ""
    note = row.note if isinstance(row.subject, str) else ""
    verdict = result.verdict if row.agrees(result) else f"**{result.verdict}, differs**"
    cells = (
        row.number, row.form, row.name + (f" ({note})" if note else ""), claim, verdict, lower,
        f"{result.upper.epsilon:.4g}", event, f"{seconds:.0f}",
    )  # fmt: skip
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Print the table."""
    wanted = sys.argv[1:]
    print("| claim | form | subject | claimed | verdict | at least | true (at most) | event | CPU s |")
    print("|---|---|---|---|---|---|---|---|---|")
    agreed = True
    for row in ROWS:
        if not wanted or row.number in wanted:
            result, seconds = row.run()
            agreed &= row.agrees(result)
            print(_line(row, result, seconds), flush=True)
    sys.exit(0 if agreed else 1)


if __name__ == "__main__":
    main()
