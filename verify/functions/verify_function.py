"""Verify a function: a first look, replay where it takes a gate, a search for neighbours, and black-box tests."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from algorithms.blocks import Serial
from algorithms.claim import Claim
from mechanisms.numerics.printed_numbers import at_least
from verify.conduct.conduct import Conduct
from verify.conduct.interrupts import Stop
from verify.conduct.progress import no_progress, subprogress
from verify.conduct.spawn_keys import SpawnKey
from verify.conduct.time_limit import TimeLimitReached
from verify.events.worlds import NeighbouringWorlds
from verify.findings.finding import Finding, FindingKind, Statement, UpperBound
from verify.findings.subject_error import SubjectError
from verify.functions.doubts import dependence_reason
from verify.functions.draw_budget import DrawBudget
from verify.functions.draw_time import LONG, draws_fit, expected_seconds, seconds_for_calls
from verify.functions.drifting import drop_drifting_columns
from verify.functions.function_subject import FunctionSubject
from verify.functions.gate_replay import replay_gate
from verify.functions.pairs_to_test import FunctionPairs, known_pairs
from verify.functions.probe import NoOutput, check_dear_calls, glance, probe
from verify.functions.probe_result import Probe, describe_data
from verify.functions.runs import FunctionRuns, RaisedInLanes
from verify.neighbouring.adjacency import Data, Pair
from verify.outputs.output_layout import OutputLayout
from verify.outputs.raised import Raised
from verify.sampling.counted_event import CountedEvent
from verify.sampling.evidence import Evidence
from verify.sampling.final_test import OPENING_SHARE
from verify.sampling.second_test import hold_tests
from verify.sampling.stopping import stopped_by_hand, stopped_in_time
from verify.sampling.tester import Pace, PacedTester, SingleLook, Tester


def verify_function(
    subject: FunctionSubject,
    claim: Claim,
    conduct: Conduct,
    tester: Tester,
    bets: PacedTester,
    *,
    floating_point: bool = False,
) -> Evidence:
    """Collect findings and a lower bound for a function's claim; nothing gives an upper bound.

    Parameters
    ----------
    subject, claim
        The function, and the claim about it.
    conduct
        The conduct of the verification.
    tester, bets
        The tester, and the one for functions whose calls take long, and for bets before a long test.
    floating_point
        True if events on the floating-point lattice count against the claim; otherwise they are a remark.

    Raises
    ------
    SubjectError
        If the function raises in every call, or its outputs cannot be read.
    ParameterError
        If there are too few draws.
    """
    evidence = Evidence(upper=UpperBound(math.inf, 1.0, "black box"))
    runs = FunctionRuns(subject, together=subject.takes_lanes)
    test = _FunctionTest(runs, claim, conduct, tester, bets, floating_point, evidence)
    with stopped_in_time(evidence, conduct.seconds, conduct.elapsed_seconds), stopped_by_hand(evidence):
        try:
            try:
                test.run()
            except RaisedInLanes as error:
                if not subject.single_lanes:
                    raise SubjectError(f"{subject.name} raised {error}") from error
                # The lane is unknown: from here on each lane is a call of its own.
                evidence.findings.clear()
                test = replace(test, runs=FunctionRuns(subject, together=False))
                test.run()
        except NoOutput as error:
            evidence.findings.append(error.finding)
    if (outside := list(test.runs.outside.values())) and not evidence.does_not_run:
        evidence.findings.append(_wrong_guess(outside))
    return evidence


@dataclass(frozen=True, kw_only=True)
class _Opening:
    """The first bets of a long test: pairs, draws of all of them, and seconds at most."""

    pairs: int = 4
    samples: int = 1 << 13
    seconds: float = 2.0


_OPENING = _Opening()
_TIME_OF_BETS = 0.95  # of the time left; the rest is for doubts of their result, and the report


@dataclass(frozen=True)
class _FunctionTest:
    """One verification of a function: its settings, and the evidence that is filled in."""

    runs: FunctionRuns
    claim: Claim
    conduct: Conduct
    tester: Tester
    bets: PacedTester
    floating_point: bool
    evidence: Evidence

    def run(self) -> None:
        """Look, replay, search, test."""
        subject, evidence, conduct = self.runs.subject, self.evidence, self.conduct
        if not self.tester.anytime:
            DrawBudget(self.runs, conduct.effort).check(floating_point=self.floating_point)
        known = known_pairs(self.runs)
        if subject.single_lanes and not self.runs.together:
            looked = glance(self.runs, known[0], conduct.seed, conduct.seconds)
            if looked is not None:
                self._bet_on_dear_calls(known[0], looked)
                return
        looked = probe(self.runs, known, conduct.seed, conduct.seconds)
        if not (looked.repeatable or looked.nothing_to_test):
            looked = drop_drifting_columns(self.runs, looked, known[0], conduct.seed)
        known = known_pairs(self.runs)  # those without data that a guess was wrong to hold
        evidence.findings.extend(looked.findings)
        if looked.nothing_to_test:
            return
        if subject.takes_gate:
            conduct.progress(0.0, "replaying recorded runs")
            evidence.findings.extend(replay_gate(subject, known, self.claim, conduct))
        conduct = self._in_one_place(conduct)
        expected = expected_seconds(self.runs, conduct, known[0].data)
        if self.tester.anytime or conduct.effort.given or expected <= seconds_for_calls(conduct):
            self._test(looked, conduct, self.tester, opening=expected > LONG)
        else:
            self._test(looked, conduct, self._bets(conduct), [])

    def _bets(self, conduct: Conduct, meanwhile: Callable[[], None] | None = None) -> Tester:
        """Return bets for as long as there is time."""
        left = _TIME_OF_BETS * (conduct.seconds - conduct.elapsed_seconds)
        return self.bets.at_pace(Pace(left, to_the_end=True, meanwhile=meanwhile))

    def _bet_on_dear_calls(self, pair: Pair, looked: Probe) -> None:
        """Bet from the first calls on, where a first look would take long; check the calls once there is a bound."""
        evidence, found = self.evidence, list[Finding]()
        evidence.findings.extend(looked.findings)
        conduct = self._in_one_place(self.conduct)
        if self.runs.subject.takes_gate:
            few = replace(conduct, effort=replace(conduct.effort, replays=1))
            evidence.findings.extend(replay_gate(self.runs.subject, [pair], self.claim, few))

        def meanwhile() -> None:
            left = conduct.seconds - conduct.elapsed_seconds
            found.extend(check_dear_calls(self.runs, looked, pair, conduct.seed, left))

        tester = self.tester if self.tester.anytime else self._bets(conduct, meanwhile)
        self._test(looked, conduct, tester, found)

    def _test(
        self,
        looked: Probe,
        conduct: Conduct,
        tester: Tester,
        dear: list[Finding] | None = None,
        *,
        opening: bool = False,
    ) -> None:
        """Test the claim, and doubt the results.

        Parameters
        ----------
        looked, conduct
            The results of a first look, and the conduct from here on.
        tester
            The tester of the claim.
        dear
            If calls take so long that there is time for only a few: the findings on their draws, made meanwhile.
        opening
            True if bets are made first, so that there is a bound if the test is stopped before it gives one.
        """
        evidence = self.evidence
        pairs = FunctionPairs(
            self.runs, looked, self.claim.delta, conduct, self.floating_point, dear is not None
        )
        before: CountedEvent | None = None
        told = replace(conduct, progress=subprogress(conduct.progress, 0.25, 0.9))

        def there_is_time(draws: int) -> bool:
            return draws_fit(self.runs, told, draws)

        for result in _or_opening(
            self._opening(pairs) if opening and not tester.anytime else None,
            hold_tests(
                tester, pairs, self.claim, told, second=pairs.budget.second, there_is_time=there_is_time
            ),
        ):
            remembers = [finding for finding in dear or () if finding.kind is FindingKind.REMEMBERS]
            evidence.findings.extend(finding for finding in dear or () if finding not in remembers)
            doubt = dependence_reason(result, self.runs, looked, result.seed, conduct.effort.executor)
            doubt = remembers[0] if remembers else doubt
            if before is not None and (doubt is not None or not result.interrupted):
                evidence.lower = evidence.witness = None  # else the better of the two bounds stays
            before = result
            if doubt is not None:
                evidence.doubt(result, doubt)
                return
            if pairs.is_outside(result.worlds):
                continue
            evidence.keep(result, conduct.reproduce)
            more_time = result.more_time(bits=self.floating_point)
            evidence.findings.extend([] if more_time is None else [more_time])
            if result.dependent is not None:
                return
        if pairs.search is not None:
            found = pairs.search
            evidence.details["neighbour_search"] = {"samples": found.samples, "generated": found.generated}
        if not (tester.anytime or result.refuted or result.interrupted):
            self._test_floating_point(pairs, result.worlds)

    def _opening(self, pairs: FunctionPairs) -> CountedEvent | None:
        """Bet briefly on a few known pairs; `OPENING_SHARE` of the error is reserved for it."""
        known = pairs.known_candidates(())
        few = replace(known, worlds=known.worlds[: _OPENING.pairs], samples=_OPENING.samples)
        bets = self.bets.at_pace(Pace(_OPENING.seconds, to_the_end=True), OPENING_SHARE)
        quietly = replace(pairs.conduct, progress=no_progress)
        result = bets.test(few, quietly, epsilon=self.claim.epsilon, delta=self.claim.delta)
        return None if pairs.is_outside(result.worlds) else result

    def _in_one_place(self, conduct: Conduct) -> Conduct:
        """Return the conduct without workers where the function draws from a generator of its own, or data are a guess.

        Forked processes would all repeat the same draws, and keep to themselves on which data it raised.
        """
        foreign = any(finding.kind == FindingKind.FOREIGN_RANDOMNESS for finding in self.evidence.findings)
        if not (foreign or self.runs.subject.guessed):
            return conduct
        return replace(conduct, effort=replace(conduct.effort, executor=Serial()))

    def _test_floating_point(self, pairs: FunctionPairs, worlds: NeighbouringWorlds) -> None:
        """Test the lowest bits of outputs that do not refute the claim in real arithmetic."""
        if not (pairs.budget.lattice and _has_fractions(pairs.looked.layout, worlds, self.conduct.seed)):
            return
        told = subprogress(pairs.conduct.progress, 0.9, 1.0)
        conduct = replace(pairs.conduct, progress=told, seed=pairs.conduct.seed + 1)
        result = SingleLook(lattice=True).test(
            pairs.lowest_bits(worlds), conduct, epsilon=self.claim.epsilon, delta=self.claim.delta
        )
        data, data_prime = worlds.words
        neighbours = {"data": data, "data_prime": data_prime}
        self.evidence.details["floating_point"] = {"neighbours": neighbours, **result.to_dict()}
        if result.refuted:
            self.evidence.findings.append(_lattice_finding(result, counts=self.floating_point))
            if self.floating_point:
                self.evidence.offer(result.lower_bound(), result.witness(pairs.conduct.reproduce))


def _or_opening(opening: CountedEvent | None, results: Iterator[CountedEvent]) -> Iterator[CountedEvent]:
    """Yield the results; that of the first bets, if the test is stopped before it has one."""
    if opening is not None and opening.interrupted:
        yield opening
        return
    some = False
    try:
        for result in results:
            some = True
            yield result
    except Stop as stop:
        if some or opening is None:
            raise
        yield opening.with_interruption(by_time_limit=isinstance(stop, TimeLimitReached))


def _wrong_guess(outside: Sequence[tuple[Data, Raised]]) -> Finding:
    """Return the finding for data that are a guess and on which the function raised."""
    data, error = outside[0]
    return Statement.WRONG_GUESS.finding(
        error.where,
        error=error.said,
        data=describe_data(data),
        more=f" and on {len(outside) - 1:,} other data sets" if len(outside) > 1 else "",
    )


def _has_fractions(layout: OutputLayout, worlds: NeighbouringWorlds, seed: int) -> bool:
    """Return whether outputs hold numbers that are not whole: only those have bits that could leak."""
    sample = worlds.draw(False, 64, SpawnKey.FRACTIONS.sequence(seed))
    real = [i for i, column in enumerate(layout.columns) if column.kind == "real"]
    values = sample.values[:, real]
    values = values[np.isfinite(values)]
    return bool((values != np.round(values)).any())


def _lattice_finding(result: CountedEvent, *, counts: bool) -> Finding:
    """Return the finding for a test of the lattice that refutes the claim; `counts` is True if it counts.

    A claim is about the mechanism in real arithmetic, unless the caller says that the machine's arithmetic
    counts (Mironov, *On significance of the least significant bits for differential privacy*, CCS 2012).
    """
    outcome = (
        "this counts against the claim"
        if counts
        else "the claim is about real arithmetic: reported, not counted (--floating-point counts it)"
    )
    return Statement.FLOATING_POINT.finding(
        failing=counts,
        epsilon=at_least(result.epsilon_lower),
        outcome=outcome,
        **result.finding_values,
    )
