"""The likelihood audit of a function that states the law of its output: ``@claimed(data, law=...)``.

``law(data)`` returns a `FiniteLaw`, a `DensityLaw`, a `PolicyLaw`, or whatever else is a `verify.likelihood.law.Law`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from algorithms.claim import Claim
from verify.evidence import Evidence
from verify.findings import Finding
from verify.functions.probe_result import words_of
from verify.learners.accounting_run import failing_place
from verify.likelihood.audit import audit_likelihood
from verify.likelihood.audit_result import LikelihoodAudit
from verify.likelihood.law import Law
from verify.neighbouring.adjacency import Pair
from verify.neighbouring.pair_draws import Draw, candidate_of
from verify.subjects.subject import FunctionSubject

_MOST_PAIRS = 16
_SHARE, _MOST = 0.2, 400_000


def law_samples(subject: FunctionSubject, samples: int) -> int:
    """Of so many draws, how many go to the check of a stated law and to the test of its event."""
    return 0 if subject.law is None else min(_MOST, int(_SHARE * samples))


@dataclass
class StatedLaw:
    """What became of a stated law.

    Attributes
    ----------
    audit, pair
        The audit and the pair of data sets it is about; None if there was none.
    findings
        What is wrong with the law, or what it says.
    """

    audit: LikelihoodAudit | None = None
    pair: Pair | None = None
    findings: list[Finding] = field(default_factory=list)

    def add_to(self, evidence: Evidence, reproduce: str, confidence: float) -> None:
        """Offer the bound from the draws; `confidence` is that of the larger of it and the black box's."""
        evidence.findings.extend(self.findings)
        if self.audit is None or self.pair is None:
            return
        evidence.details["likelihood"] = self.audit.to_dict()
        bound = self.audit.lower_bound()
        if bound is not None:
            words = words_of(self.pair.data), words_of(self.pair.other)
            evidence.offer(bound, self.audit.witness(*words, reproduce))
        if evidence.lower is not None and evidence.lower.confidence < 1.0:
            evidence.lower = replace(evidence.lower, confidence=confidence)


def audit_stated_law(
    subject: FunctionSubject,
    pairs: Sequence[Pair],
    draw: Draw,
    claim: Claim,
    *,
    samples: int,
    confidence: float,
    false_alarm: float,
    seed: int,
) -> StatedLaw:
    """Ask a function for the laws of its output on pairs of data sets, and audit them.

    Parameters
    ----------
    subject
        A function with a law.
    pairs
        Neighbouring data sets, the most telling first; the first 16 are looked at.
    draw
        Draws the function's output.
    claim, samples, confidence, false_alarm, seed
        As for `audit_likelihood`.
    """
    chosen = list(pairs)[:_MOST_PAIRS]
    try:
        laws = [(_law(subject, pair.data), _law(subject, pair.other)) for pair in chosen]
        audit = audit_likelihood(
            laws,
            [candidate_of(pair, draw, f"{words_of(pair.data)} / {words_of(pair.other)}") for pair in chosen],
            claim_epsilon=claim.epsilon,
            claim_delta=claim.delta,
            samples=samples,
            confidence=confidence,
            false_alarm=false_alarm,
            seed=seed,
        )
    except _Unusable as error:
        return StatedLaw(findings=[Finding("law", error.where, f"the stated law cannot be used: {error}")])
    except (
        TypeError,
        AttributeError,
        ValueError,
        ArithmeticError,
    ) as error:  # of a user's law, when compared
        message = f"the stated law cannot be used: {type(error).__name__}: {error}"
        return StatedLaw(findings=[Finding("law", "", message)])
    return StatedLaw(audit, chosen[audit.candidate], audit.findings)


class _Unusable(Exception):
    def __init__(self, message: str, where: str = "") -> None:
        super().__init__(message)
        self.where = where


def _law(subject: FunctionSubject, data: Any) -> Law:
    given = data.item() if np.ndim(data) == 0 else np.array(data)
    try:
        law: Law = subject.law(given)
    except (Exception, SystemExit) as error:  # whatever a user's law raises
        raise _Unusable(f"{type(error).__name__}: {error}", str(failing_place(error))) from error
    if not callable(getattr(law, "compared", None)) or not callable(getattr(law, "contradiction", None)):
        raise _Unusable(
            f"law({words_of(data)}) is of type {type(law).__name__}: must be a FiniteLaw, DensityLaw or PolicyLaw"
        )
    return law
