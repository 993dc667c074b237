"""The papers' theorems that are wrong as printed, each on an instance that shows it.

A theorem is *violated* where regret exceeds it, or where data break a lemma of its proof; it is *out of regime* where
it gives no number, or none about the learner that is run.
Nothing is decided beforehand: every instance is run, and its report gives the verdict.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from worst_data import check_worst_data, worst_instance

from accountant.files.json_form import json_able
from algorithms.catalogue.structured_entries import learners
from algorithms.theory.regret import BOUNDS
from algorithms.theory.regret_bound import Instance
from verify.findings.sentences import Sentence
from verify.regret_claims.plain_problem import plain_problem
from verify.regret_claims.regret_report import ProofCheck, RegretReport, RegretVerdict
from verify.regret_claims.simulated_regret import builder_for
from verify.regret_claims.verify_regret import regret


@dataclass(frozen=True)
class PrintedTheorem:
    """A theorem as its paper prints it, and where that is wrong.

    Attributes
    ----------
    name
        Paper and theorem.
    learner
        The registered learner that it is about.
    says, wrong
        The statement, and what is wrong with it; by default what the learner's `RegretBound` says of either. Empty
        where the report says it.
    options
        The instance, as `regret` takes it.
    lemma
        Whether a lemma of the paper is false on the worst data, and the bound not.
    """

    name: str
    learner: str
    options: Mapping[str, Any]
    lemma: bool = False
    says: str = field(default="")
    wrong: str = field(default="")

    def __post_init__(self) -> None:
        bound = BOUNDS.get(self.learner)
        if bound is not None:
            object.__setattr__(self, "says", self.says or bound.printed)
            object.__setattr__(self, "wrong", self.wrong or bound.correction)


def _top(arms: int, size: int, means: str) -> dict[str, Any]:
    return {"problem": "top-k", "settings": {"arms": str(arms), "size": str(size), "means": means}}


PRINTED_THEOREMS: tuple[PrintedTheorem, ...] = (
    PrintedTheorem(
        "Chen et al. 2020, Theorem 2",
        "cucb-ldp1",
        {**_top(3, 2, "0.3,0.5,0.7"), "epsilon": 100.0, "horizon": 3000},
    ),
    PrintedTheorem(
        "Chen et al. 2020, Theorem 4",
        "cucb-ldp2",
        {**_top(2, 1, "0.3,0.5"), "epsilon": 100.0, "horizon": 3000},
    ),
    PrintedTheorem(
        "Chen et al. 2020, Theorem 8",
        "published/cucb-dp",
        {**_top(2, 1, "0.3,0.5"), "epsilon": 1.0, "horizon": 9},
        wrong="below T = 10 the noise of all nodes exceeds the printed radius more often than the proof says",
    ),
    PrintedTheorem(
        "matroid bandits paper, Theorem 4",
        "published/dpts-mat",
        {"epsilon": 1.0, "horizon": 200},
        says="the bound of its Theorem 2, and sum_k O(ln(K n) / Delta_k)",
    ),
    PrintedTheorem(
        "cascading bandits paper, Theorem 2",
        "published/cascade-ucb-hybrid",
        {"epsilon": 1.0, "horizon": 200},
        says="sum_e (192 / Delta_e) (c_1 L ln T / epsilon)^(1 + xi) + 2 pi^2 L / 3 + c_2",
    ),
    PrintedTheorem(
        "cascading bandits paper, Theorem 4",
        "published/cascade-ucb-ldp-laplace",
        {"epsilon": 1.0},
        lemma=True,
    ),
    PrintedTheorem(
        "cascading bandits paper, Theorem 4 for its experiments",
        "published/cascade-ucb-ldp-laplace",
        {"settings": {"noise_multiplier": 0.01}, "epsilon": 1.0, "horizon": 1000},
        wrong="the experiments add a hundredth of the theorem's noise",
    ),
    PrintedTheorem(
        "distributed linear bandits paper, Theorem 5.1",
        "published/dpe",
        {"problem": "linear", "settings": {"dimension": "2", "rewards": "signs"}, "horizon": 1000},
        says="a bound in S = 4 d ln ln d + 16, the size of a design's support, for every d",
        wrong="ln ln d is negative below d = 3, where S bounds no support",
    ),
)


@dataclass(frozen=True)
class PrintedFinding:
    """The result of the test of a printed theorem on its instance."""

    theorem: PrintedTheorem
    report: RegretReport
    lemmas: tuple[ProofCheck, ...] = ()

    @property
    def verdict(self) -> RegretVerdict:
        """The report's; violated, too, where a lemma of the paper is false and the corrected bound is not."""
        if self.report.verdict != "out of regime" and any(check.violated for check in self.lemmas):
            return "violated"
        return self.report.verdict

    @property
    def explanation(self) -> Sentence:
        """The reason for the verdict; with the verdict on the corrected bound if a lemma is false."""
        false = [check for check in self.lemmas if check.violated]
        if false and self.verdict != self.report.verdict:
            return false[0].named_sentence.with_words(f" The corrected bound is {self.report.verdict}.")
        return self.report.reasons[0]

    def json(self) -> dict[str, Any]:
        """Return all of it as a JSON object."""
        theorem = self.theorem
        return {
            "theorem": theorem.name,
            "printed": theorem.says,
            "wrong": theorem.wrong,
            "verdict": self.verdict,
            "seen": json_able(self.explanation),
            "report": self.report.json(),
        }


def check_printed(theorem: PrintedTheorem, **options: Any) -> PrintedFinding:
    """Run the instance of a printed theorem; further options are those of `regret`.

    Examples
    --------
    >>> check_printed(PRINTED_THEOREMS[3]).verdict
    'out of regime'
    """
    lemmas: tuple[ProofCheck, ...] = ()
    if theorem.lemma:
        make, bound = learners[theorem.learner].make, BOUNDS[theorem.learner]
        played = Instance(plain_problem(make.family, [0.3, 0.5]), 1.0, 1)
        worst = worst_instance(make.family, bound, played)
        lemmas = check_worst_data(builder_for(make, worst), bound, worst, seed=0)
    return PrintedFinding(theorem, regret(theorem.learner, **theorem.options, **options), lemmas)
