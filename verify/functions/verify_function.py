"""Verify a function: a first look, replay where it takes a gate, a search for neighbours, and black-box tests."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from algorithms.blocks import Serial
from algorithms.claim import Claim
from mechanisms.printed_numbers import at_least
from verify.conduct.conduct import Conduct
from verify.conduct.progress import subprogress
from verify.conduct.spawn_keys import SpawnKey
from verify.events.worlds import NeighbouringWorlds
from verify.findings.finding import Finding, FindingKind, Statement, UpperBound
from verify.findings.subject_error import SubjectError
from verify.functions.doubts import dependence_reason
from verify.functions.draw_budget import DrawBudget
from verify.functions.draw_plan import expected_draws, fits_time_limit, plan_draws
from verify.functions.drifting import drop_drifting_columns
from verify.functions.function_subject import FunctionSubject
from verify.functions.gate_replay import replay_gate
from verify.functions.pairs_to_test import FunctionPairs, known_pairs
from verify.functions.probe import NeverEnds, probe
from verify.functions.probe_result import describe_data
from verify.functions.runs import FunctionRuns, RaisedInLanes
from verify.neighbouring.adjacency import Data, Pair
from verify.outputs.output_layout import OutputLayout
from verify.outputs.output_readings import Raised
from verify.sampling.counted_event import CountedEvent
from verify.sampling.evidence import Evidence
from verify.sampling.second_test import hold_tests
from verify.sampling.stopping import stopped_by_hand, stopped_in_time
from verify.sampling.tester import SingleLook, Tester


def verify_function(
    subject: FunctionSubject, claim: Claim, conduct: Conduct, tester: Tester, *, floating_point: bool = False
) -> Evidence:
    """Collect findings and a lower bound for a function's claim; nothing gives an upper bound.

    Parameters
    ----------
    subject, claim
        The function, and what it is held to.
    conduct
        How the verification is carried out.
    tester
        Who tests it.
    floating_point
        Whether events on the floating-point lattice count against the claim; otherwise they are a remark.

    Raises
    ------
    SubjectError
        If the function raises in every call, or what it returns cannot be read.
    ParameterError
        If there are too few draws.
    """
    evidence = Evidence(upper=UpperBound(math.inf, 1.0, "black box"))
    runs = FunctionRuns(subject, together=subject.takes_lanes)
    test = _FunctionTest(runs, claim, conduct, tester, floating_point, evidence)
    with stopped_in_time(evidence, conduct.seconds, conduct.elapsed_seconds), stopped_by_hand(evidence):
        try:
            try:
                test.run()
            except RaisedInLanes as error:
                if not subject.single_lanes:
                    raise SubjectError(f"{subject.name} raised {error}") from error
                # Which lane raised cannot be said: lanes are asked for one by one from here on.
                evidence.findings.clear()
                test = replace(test, runs=FunctionRuns(subject, together=False))
                test.run()
        except NeverEnds as error:
            evidence.findings.append(error.finding)
    if outside := list(test.runs.outside.values()):
        evidence.findings.append(_wrong_guess(outside))
    return evidence


@dataclass(frozen=True)
class _FunctionTest:
    """One verification of a function: its settings, and the evidence that is filled in."""

    runs: FunctionRuns
    claim: Claim
    conduct: Conduct
    tester: Tester
    floating_point: bool
    evidence: Evidence

    def run(self) -> None:
        """Look, replay, search, test."""
        subject, evidence, conduct = self.runs.subject, self.evidence, self.conduct
        if not self.tester.anytime:
            DrawBudget(self.runs, conduct.effort).check(floating_point=self.floating_point)
        known = known_pairs(self.runs)
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
        if not self.tester.anytime:
            conduct = self._planned(known[0])
        conduct = self._in_one_place(conduct)
        pairs = FunctionPairs(self.runs, looked, self.claim.delta, conduct, self.floating_point)
        before: CountedEvent | None = None
        told = replace(conduct, progress=subprogress(conduct.progress, 0.25, 0.9))

        def there_is_time(draws: int) -> bool:
            return fits_time_limit(self.runs, draws, told.seconds - told.elapsed_seconds)

        second = pairs.budget.second
        for result in hold_tests(
            self.tester, pairs, self.claim, told, second=second, there_is_time=there_is_time
        ):
            doubt = dependence_reason(result, self.runs, looked, result.seed, conduct.effort.executor)
            if before is not None and (doubt is not None or not result.interrupted):
                evidence.lower = evidence.witness = None  # else the better of the two bounds stays
            before = result
            if doubt is not None:
                evidence.doubt(result, doubt)
                return
            if pairs.is_outside(result.worlds):
                continue
            evidence.keep(result, conduct.reproduce)
            if result.dependent is not None:
                return
        if pairs.search is not None:
            found = pairs.search
            evidence.details["neighbour_search"] = {"samples": found.samples, "generated": found.generated}
        if not (self.tester.anytime or result.refuted or result.interrupted):
            self._test_floating_point(pairs, result.worlds)

    def _planned(self, pair: Pair) -> Conduct:
        """Return the conduct with as many draws as the time limit allows, if those of the effort would not fit."""
        conduct = self.conduct
        budget = DrawBudget(self.runs, conduct.effort)
        plan = plan_draws(
            self.runs,
            budget,
            pair.data,
            seed=conduct.seed,
            limit=conduct.seconds,
            spent=conduct.elapsed_seconds,
        )
        if plan is None:
            conduct.progress(0.0, expected_draws(self.runs, budget))
            return conduct
        self.evidence.findings.append(plan.finding)
        conduct.progress(0.0, plan.description)
        return conduct.with_samples(plan.draws)

    def _in_one_place(self, conduct: Conduct) -> Conduct:
        """Return the conduct without workers where the function draws from a generator of its own, or data are a guess.

        Forked processes would all repeat the same draws, and keep to themselves on which data it raised.
        """
        foreign = any(finding.kind == FindingKind.FOREIGN_RANDOMNESS for finding in self.evidence.findings)
        if not (foreign or self.runs.subject.guessed):
            return conduct
        return replace(conduct, effort=replace(conduct.effort, executor=Serial()))

    def _test_floating_point(self, pairs: FunctionPairs, worlds: NeighbouringWorlds) -> None:
        """Test the lowest bits of what does not refute the claim in real arithmetic."""
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


def _wrong_guess(outside: Sequence[tuple[Data, Raised]]) -> Finding:
    """Return the finding for data that are a guess and on which the function raised."""
    data, error = outside[0]
    return Statement.WRONG_GUESS.finding(
        error.where,
        error=error.message,
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
    """Return the finding for a test of the lattice that refutes the claim; `counts` is whether that is meant.

    A claim is about the mechanism as it is written, in real arithmetic, unless the caller says that the machine's
    counts (Mironov, *On significance of the least significant bits for differential privacy*, CCS 2012).
    """
    data, other = result.likelier_first
    outcome = (
        "this counts against the claim"
        if counts
        else "the claim is about real arithmetic: reported, not counted (--floating-point counts it)"
    )
    return Statement.FLOATING_POINT.finding(
        failing=counts,
        epsilon=at_least(result.epsilon_lower),
        confidence=result.confidence,
        draws=result.trials,
        event=result.event.description,
        probability=result.probability,
        data=data,
        probability_prime=result.probability_prime,
        data_prime=other,
        outcome=outcome,
    )
