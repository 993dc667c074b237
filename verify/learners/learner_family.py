"""A family of learners: their plays on accountants, on replayed tapes, and on pairs of data sets side by side."""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from algorithms.claim import Claim
from verify.conduct.conduct import Conduct
from verify.conduct.effort import Effort
from verify.findings.finding import Finding
from verify.learners.accounting_run import Accounting, Play, TapedRun
from verify.learners.learner_randomness import is_of_algorithms, shows_draws
from verify.learners.played_pairs import PlayedNeighbours, PlayedPairs
from verify.learners.replay_run import OtherData, Replays
from verify.sampling.counted_event import CountedEvent
from verify.sampling.evidence import Evidence
from verify.sampling.tester import CandidateSource, Tester

Retold = list[tuple[TapedRun, Play, Sequence[OtherData]]]
"""Runs, each with its own play and with the other data on which it is replayed."""


class LearnerFamily(abc.ABC):
    """A learner with a claim, and the data on which its family's learners are played.

    Attributes
    ----------
    build
        Function that makes the learner on a gate.
    claim
        Its claim.
    rounds
        Number of rounds of every accounting run.
    """

    build: Callable[[Any], Any]
    claim: Claim
    rounds: int

    def check(self, effort: Effort) -> None:
        """Raise `ValueError` if an effort is too small for a test of the claim; most have none that is."""
        return

    @abc.abstractmethod
    def plays(self, law: np.random.SeedSequence, others: np.random.SeedSequence) -> Sequence[Play]:
        """Return how it is accounted: on growing data, on the problem's law, and on two kinds of extreme data."""

    def remarks(self, accounting: Accounting) -> list[Finding]:
        """Return remarks on the accounting runs."""
        return []

    def try_functions(self, evidence: Evidence, seed: np.random.SeedSequence) -> None:
        """Try the functions that it declares to be transformations, where replays say less of them."""
        return

    @property
    @abc.abstractmethod
    def replays(self) -> Replays:
        """The replay of taped runs, and the comparison of their steps."""

    @abc.abstractmethod
    def replay_data(self, accounting: Accounting, seed: np.random.SeedSequence) -> Retold:
        """Return for each taped run the other data on which it is replayed."""

    @abc.abstractmethod
    def add_losses(
        self, evidence: Evidence, accounting: Accounting, conduct: Conduct, seed: np.random.SeedSequence
    ) -> None:
        """Play it on pairs of data sets, side by side; add the bounds found, and the view that was tested."""

    def on_pairs(self, pairs: PlayedNeighbours, accounting: Accounting, conduct: Conduct) -> PlayedPairs:
        """Return it on pairs of data sets."""
        kind = accounting.learner
        return PlayedPairs(
            self.build,
            pairs,
            self.claim,
            conduct,
            draws_from_gate=is_of_algorithms(kind),
            sees_draws=shows_draws(kind),
        )

    @abc.abstractmethod
    def source(
        self, evidence: Evidence, conduct: Conduct, tester: Tester, seed: np.random.SeedSequence
    ) -> CandidateSource | None:
        """Return the candidates of a test of the claim's own view; None, with a finding, if there are none."""

    def keep(self, evidence: Evidence, result: CountedEvent, conduct: Conduct) -> None:
        """Add the result of a test of the view to the evidence."""
        evidence.keep(result, conduct.reproduce)
