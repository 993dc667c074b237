"""A family of learners: their plays on accountants, on replayed tapes, and on pairs of data sets side by side."""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from algorithms.claim import Claim
from algorithms.unit import RecordOf
from mechanisms.arrays import FloatArray
from verify.conduct.conduct import Conduct
from verify.conduct.effort import Effort
from verify.findings.finding import Finding
from verify.learners.accounting_run import Accounting, Play, TapedRun
from verify.learners.learner_randomness import is_of_algorithms, shows_draws
from verify.learners.other_records import boundary_values
from verify.learners.played_pairs import PlayedNeighbours, PlayedPairs
from verify.learners.replay_run import OtherData, Replays
from verify.sampling.counted_event import CountedEvent
from verify.sampling.evidence import Evidence
from verify.sampling.tester import CandidateSource, Tester

EXTREME = 2
"""Accounting runs before those on extreme data."""


class LearnerFamily(abc.ABC):
    """A learner with a claim, and the data on which its family's learners are played.

    Attributes
    ----------
    least
        The smallest outcome of a family's problems; the largest is 1.
    build
        Function that makes the learner on a gate.
    claim
        Its claim.
    rounds
        Number of rounds of every accounting run.
    """

    least: ClassVar[float] = -1.0
    build: Callable[[Any], Any]
    claim: Claim
    rounds: int
    _data: Sequence[Any] = ()

    def check(self, effort: Effort) -> None:
        """Raise `ValueError` if an effort is too small for a test of the claim; most have none that is."""
        return

    def plays(self, law: np.random.SeedSequence, others: np.random.SeedSequence) -> Sequence[Play]:
        """Return how it is accounted: on growing data, on the problem's law, and on two kinds of extreme data.

        Growing data come first: state kept in secret beyond a run, as in a file, may no longer change after others.
        """
        self._data = self.datasets(law, others)
        return [self.player(data, number) for number, data in enumerate(self._data)]

    @abc.abstractmethod
    def datasets(self, law: np.random.SeedSequence, others: np.random.SeedSequence) -> Sequence[Any]:
        """Return the data of each accounting run, as `player` takes them."""

    @abc.abstractmethod
    def player(self, data: Any, number: int) -> Play:
        """Return how data are played, under the names of the accounting run of this number."""

    def names(self, number: int) -> RecordOf:
        """Return the record's name of each round of an accounting run: on extreme data people come most often."""
        unit = self.claim.unit
        return unit.names(self.rounds) if number < EXTREME else unit.everyone(self.rounds)

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

    def replay_data(
        self, accounting: Accounting, seed: np.random.SeedSequence
    ) -> list[tuple[TapedRun, Play, Sequence[OtherData]]]:
        """Return each taped run with its own play, and with the other data on which it is replayed."""
        rng, numbers = np.random.default_rng(seed), boundary_values(accounting.learner, self.least, 1.0)
        return [
            (run, self.player(self._data[run.number], run.number), list(self.variants(run, numbers, rng)))
            for run in accounting.taped
        ]

    @abc.abstractmethod
    def variants(self, run: TapedRun, numbers: FloatArray, rng: np.random.Generator) -> Iterator[OtherData]:
        """Yield the other data on which a taped run is replayed: all records changed, and some of them."""

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
