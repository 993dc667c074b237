"""A learner that is held to a claim."""

from __future__ import annotations

from dataclasses import dataclass

from algorithms.claim import Claim
from algorithms.play import BuildLearner
from algorithms.problems import Problem
from verify.transcripts.adversary import Adversary
from verify.transcripts.neighbours import InitialRecords


@dataclass(frozen=True, eq=False)
class LearnerCase:
    """A learner, what it plays, and what it claims.

    Attributes
    ----------
    build
        Makes the learner on a gate.
    problem
        The structure it plays on, and the law that data sets are drawn from.
    claim
        What it claims.
    initial
        Whether it observes outcomes before the first round, and whether they are one record.
    adversary
        An interactive adversary to test besides fixed data sets.
    """

    build: BuildLearner
    problem: Problem
    claim: Claim
    initial: InitialRecords
    adversary: Adversary | None = None
