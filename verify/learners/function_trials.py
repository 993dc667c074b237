"""Trials of functions in `Private.map`: a function with several results for one value remembers other values."""

from __future__ import annotations

import numpy as np

from accountant.gates.trying import Trying
from mechanisms import AssumptionKind
from mechanisms.arrays import FloatArray
from verify.conduct.interrupts import subject_exceptions
from verify.conduct.process_state import subjects_own
from verify.findings.finding import Statement, add_once
from verify.learners.learner_case import LearnerCase
from verify.sampling.evidence import Evidence

_TRIED_ROUNDS = 50  # each function is called about a dozen times a round
_SMALLEST = 2.0**-8


def add_function_trials(
    evidence: Evidence, case: LearnerCase, drawn: FloatArray, seed: np.random.SeedSequence
) -> None:
    """Try the functions that a learner declares; there is nothing to try where all of them are transformations.

    On data from the problem's law, and on data that grow over the rounds: a running maximum of 0 and 1 is 1 from the
    first rounds on, and gives nothing away any more. State that a class or a module keeps may have come to that in
    the runs before; its function's result is an assumption all the same.

    Parameters
    ----------
    evidence
        The assumptions of the accounting runs; findings are added.
    case
        The learner.
    drawn
        A data set of the problem's law.
    seed
        The seed of all randomness.
    """
    if not any(each.kind is AssumptionKind.DECLARED_FUNCTION for each in evidence.assumptions):
        return
    data = drawn[: _TRIED_ROUNDS + 1]
    lowest = case.problem.record_domain.extremes().min(axis=0)
    sizes = np.geomspace(_SMALLEST, 1.0, len(data))[:, None]
    for values in (lowest + (data - lowest) * sizes, data):
        gate = Trying(seed)
        try:
            with subjects_own():
                for _ in case.play(case.build(gate), gate, values):
                    pass
        except subject_exceptions():  # other layers say that it does not run
            pass
        for where, after in gate.impure.items():
            add_once(evidence.findings, Statement.IMPURE_MAP.finding(where, after=after))
