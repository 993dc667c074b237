"""Replay a learner on other data with the same released values: a remaining difference is a leak.

The gates cannot see a flow of data in a closure, through attributes or globals, or by catching errors. The learner's
behaviour shows it: given the same released values and the same randomness, it must be the same, however many records
change. So whole runs on real accountants, one lane as in production, are replayed with all records changed, and with
a random half of them: then the values to be released of the others must be the same, too, bit by bit. A
difference counts only if it comes back every time, and never on the run's own data: for a learner that draws from a
generator of its own that is the only finding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from accountant import Accountant, Place, RecordId, Retelling
from algorithms import play
from algorithms.linear import contextual_play, linear_play
from verify.conduct.effort import CONFIRMATIONS
from verify.conduct.interrupts import subject_exceptions
from verify.conduct.process_state import subjects_own
from verify.findings.finding import Finding, FindingKind, Statement, add_once
from verify.findings.subject_error import failing_place
from verify.learners.accounting_run import Play, TapedRun
from verify.learners.public_state import first_difference, public_state, state_differences
from verify.sampling.evidence import Evidence

_ENTRANCES = frozenset({play.__file__, linear_play.__file__, contextual_play.__file__})


@dataclass(frozen=True)
class OtherData:
    """Other data on which a taped run is replayed.

    Attributes
    ----------
    words
        The records that change, as in "when all records are others".
    play
        Lets the learner play on the changed data.
    steps
        Number of steps of the run that are replayed; None for all.
    kept
        The records of which nothing changes.
    """

    words: str
    play: Play
    steps: int | None = None
    kept: frozenset[RecordId] = frozenset()


@dataclass(frozen=True)
class Replays:
    """The replay of a learner's taped runs.

    Attributes
    ----------
    build
        Function that makes the learner on its gate.
    same
        Function that returns True if two steps of its play are the same.
    differs
        The statement about the first that is not.
    observed
        The place of the code that computes observations of records, if it may be a user's; else None.
    """

    build: Callable[[Accountant], Any]
    same: Callable[[Any, Any], bool]
    differs: Statement
    observed: Place | None = None

    def add(self, evidence: Evidence, runs: Iterable[tuple[TapedRun, Play, Sequence[OtherData]]]) -> None:
        """Replay each run, with its own play and on each of its other data; add the findings."""
        if evidence.does_not_run:
            return
        try:
            for run, own, others in runs:
                for finding in self.findings(run, own, others):
                    add_once(evidence.findings, finding)
        except subject_exceptions() as error:  # a user's learner may raise anything
            add_once(
                evidence.findings, Statement.LEARNER_NOT_REPLAYED.finding(failing_place(error), error=error)
            )

    def findings(self, run: TapedRun, own: Play, others: Sequence[OtherData]) -> list[Finding]:
        """Return the first difference of each kind; empty if the learner touches data through its gate only."""
        found: dict[FindingKind, Finding] = {}
        itself = OtherData("", own, kept=frozenset(record for record, _ in run.recording.inputs))
        volatile, looked = frozenset[str](), False
        for other in others:
            difference = self._difference(run, other, volatile)
            if difference is not None and not looked:  # does it differ on its own data, too?
                (volatile, unlike), looked = self._volatile_state(run, itself), True
                if unlike is not None:
                    return [unlike]
                if volatile:
                    difference = self._difference(run, other, volatile)
            if difference is None or difference.kind in found:
                continue
            for number in range(CONFIRMATIONS):
                again = self._difference(run, itself, volatile)
                if again is None and number % 2:  # once more: runs may differ by turns
                    again = self._difference(run, itself, volatile)
                if again is None and self._difference(run, other, volatile) != difference:
                    again = difference
                if again is not None:
                    return [*found.values(), _runs_differ(again)]
            found[difference.kind] = difference.with_words(f", {other.words}")
        return list(found.values())

    @subjects_own()
    def _volatile_state(self, run: TapedRun, itself: OtherData) -> tuple[frozenset[str], Finding | None]:
        """Return the names of public state that differs when a run is replayed on its own data, as a clock does.

        Beside them, a finding on the first step or call that differs, or None: the learner draws from a generator of
        its own, or keeps state beyond a run.
        """
        accountant, tape = self._begin_replay(run, itself)
        learner, number = self.build(accountant), 0
        differing: frozenset[str] = frozenset()
        for number, step in enumerate(itself.play(learner, accountant), start=1):
            if number > len(run.steps) or not self.same(step, run.steps[number - 1]):
                return differing, _runs_differ(self.differs.finding(run.act, number=number))
            if (observed := self._observation_finding(tape)) is not None:
                return differing, observed
            if number in run.states and number < len(run.steps):
                differing |= state_differences(public_state(learner), run.states[number])
        if tape.difference is not None:
            return differing, _runs_differ(Finding.of_gate(tape.difference))
        return differing | state_differences(public_state(learner), run.states.get(number, {})), None

    def _begin_replay(self, run: TapedRun, on: OtherData) -> tuple[Accountant, Retelling]:
        """Return the accountant and the tape of a replay."""
        accountant = run.terms.accountant(run.seed)
        tape = Retelling(run.recording, _ENTRANCES, on.kept if self.observed is not None else ())
        accountant.on_tape(tape)
        return accountant, tape

    def _observation_finding(self, tape: Retelling) -> Finding | None:
        """Return a finding if another value is observed of a kept record; called once its action is the same."""
        if self.observed is None or tape.entered_otherwise is None:
            return None
        return Statement.OBSERVED_OTHERWISE.finding(self.observed, record=tape.entered_otherwise)

    @subjects_own()
    def _difference(self, run: TapedRun, on: OtherData, volatile: frozenset[str]) -> Finding | None:
        """Replay a run, or its beginning; return a finding on the first step, call or state that differs, or None."""
        accountant, tape = self._begin_replay(run, on)
        learner, number, held = self.build(accountant), 0, None
        for number, step in enumerate(on.play(learner, accountant), start=1):
            if tape.difference is not None:
                return Finding.of_gate(tape.difference)
            if number > len(run.steps) or not self.same(step, run.steps[number - 1]):
                return self.differs.finding(run.act, number=number)
            if (observed := self._observation_finding(tape)) is not None:
                return observed
            if held is None and number in run.states and number < len(run.steps):
                held = self._state_diff(run, learner, number, volatile)
            if number == on.steps:
                return held
        tape.finish()
        if tape.difference is not None:
            return Finding.of_gate(tape.difference)
        if number != len(run.steps):
            return self.differs.finding(run.act, number=number + 1)
        return held or self._state_diff(run, learner, number, volatile)

    @staticmethod
    def _state_diff(run: TapedRun, learner: object, number: int, volatile: frozenset[str]) -> Finding | None:
        """Return a finding if the learner's public state after a step differs from the run's; else None."""
        path = first_difference(run.states.get(number, {}), public_state(learner), volatile)
        return (
            Statement.STATE_DIFFERS.finding(run.act, what=path.lstrip("."), number=number) if path else None
        )


def _runs_differ(seen: Finding) -> Finding:
    return Statement.RUNS_DIFFER.finding(seen.where, how=seen.message)
