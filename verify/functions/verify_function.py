"""Verify a function: a first look, replay where it takes a gate, a search for neighbours, and black-box tests."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from algorithms.claim import Claim
from verify.conduct.conduct import Conduct
from verify.conduct.progress import stretch
from verify.events.view_sample import ViewSample
from verify.findings import Finding, FindingKind, Statement, UpperBound
from verify.functions.draw_budget import Budget
from verify.functions.floating_point import has_fractions, lattice_finding
from verify.functions.function_subject import FunctionSubject
from verify.functions.gate_replay import replay_gate
from verify.functions.pairs_to_test import known_pairs, pairs_to_test
from verify.functions.placebo import drifts
from verify.functions.probe import NeverEnds, probe
from verify.functions.probe_result import Probe, words_of
from verify.functions.repeats import repeats_an_event
from verify.functions.runs import FunctionRuns, RaisedInLanes
from verify.neighbouring.adjacency import Pair
from verify.neighbouring.pair_draws import Draw, worlds_of
from verify.sampling.black_box import black_box_test
from verify.sampling.black_box_result import BlackBoxResult
from verify.subject_error import SubjectError
from verify.verdict.evidence import Evidence
from verify.verdict.stopping import stopped_by_hand, stopped_in_time


def verify_function(
    subject: FunctionSubject,
    claim: Claim,
    conduct: Conduct,
    *,
    floating_point: bool = False,
) -> Evidence:
    """Collect findings and a lower bound for a function's claim; nothing gives an upper bound.

    Parameters
    ----------
    subject, claim
        The function, and what it is held to.
    conduct
        How the verification is carried out.
    floating_point
        Whether events on the floating-point lattice count against the claim; otherwise they are a remark.

    Raises
    ------
    SubjectError
        If the function raises in every call, or what it returns cannot be read.
    ValueError
        If there are too few draws.
    """
    evidence = Evidence(upper=UpperBound(math.inf, 1.0, "none: nothing is known of a black box"))
    runs = FunctionRuns(subject, subject.takes_lanes)
    test = _FunctionTest(runs, claim, conduct, floating_point, evidence)
    with stopped_in_time(evidence, conduct.seconds), stopped_by_hand(evidence):
        try:
            try:
                test.run()
            except RaisedInLanes as error:
                if not subject.single_lanes:
                    raise SubjectError(f"{subject.name} raised {error}") from error
                # Which lane raised cannot be said: lanes are asked for one by one from here on.
                evidence.findings.clear()
                replace(test, runs=FunctionRuns(subject, False)).run()
        except NeverEnds as error:
            evidence.findings.append(error.finding)
    return evidence


@dataclass(frozen=True)
class _FunctionTest:
    """One verification of a function: its settings, and the evidence that is filled in."""

    runs: FunctionRuns
    claim: Claim
    conduct: Conduct
    floating_point: bool
    evidence: Evidence

    @property
    def subject(self) -> FunctionSubject:
        return self.runs.subject

    @property
    def budget(self) -> Budget:
        return Budget(self.runs, self.conduct.effort)

    def run(self) -> None:
        """Look, replay, search, test."""
        self.budget.check()
        evidence, seed = self.evidence, self.conduct.seed
        known = known_pairs(self.runs)
        looked = probe(self.runs, self.subject.neighbours, known, seed, self.conduct.seconds)
        evidence.findings.extend(looked.findings)
        if looked.nothing_to_test:
            return
        if self.subject.takes_gate:
            self.conduct.progress(0.0, "replaying recorded runs")
            evidence.findings.extend(replay_gate(self.subject, known, self.claim, self.conduct))

        def draw(pair: Pair, other: bool, n: int, sequence: np.random.SeedSequence) -> ViewSample:
            data = pair.other if other else pair.data
            return self.runs.sample(looked.layout, data, n, sequence)

        search = pairs_to_test(self.budget, looked, known, draw, self.claim.delta, self.conduct)
        draws = self.budget.tested(search.samples, len(looked.layout.columns))
        result = self._test(search.pairs, draw, draws, lattice=False)
        pair = search.pairs[result.candidate]
        doubt = None if result.interrupted else self._doubt(result, looked, draw, pair)
        if doubt is not None:
            evidence.findings.append(doubt)
            evidence.details["black_box"] = result.to_dict()
            return
        evidence.keep(result, result.witness(self.conduct.reproduce))
        if result.dependent is not None:
            return
        if evidence.lower is not None:
            evidence.lower = replace(evidence.lower, samples=result.samples + search.samples)
        evidence.details["neighbour_search"] = {"samples": search.samples, "generated": search.generated}
        if not (result.refuted or result.interrupted):
            self._test_floating_point(looked, draw, pair)

    def _doubt(self, result: BlackBoxResult, looked: Probe, draw: Draw, pair: Pair) -> Finding | None:
        """Return why draws that say something are not independent; None if nothing speaks against it."""
        together, seed = self.runs.together, self.conduct.seed
        doubtful = result.refuted or result.dependent is not None
        if doubtful and together and repeats_an_event(draw, pair, result, self.runs.width, seed):
            return Statement.REPEATS.finding(share="a part")
        if (doubtful or not looked.repeatable) and drifts(draw, pair, result, seed):
            return Statement.DRIFT.finding()
        return None

    @property
    def _workers(self) -> int:
        """One if it draws from a generator of its own: processes that are forked would all repeat the same draws."""
        own = any(finding.kind == FindingKind.FOREIGN_RANDOMNESS for finding in self.evidence.findings)
        return 1 if own else self.conduct.effort.workers

    def _test(self, pairs: Sequence[Pair], draw: Draw, samples: int, *, lattice: bool) -> BlackBoxResult:
        """Run a black-box test at half of the false-alarm rate: there are two of them."""
        start, end = (0.9, 1.0) if lattice else (0.25, 0.9)
        return black_box_test(
            [worlds_of(pair, draw, (words_of(pair.data), words_of(pair.other))) for pair in pairs],
            claim_epsilon=self.claim.epsilon,
            claim_delta=self.claim.delta,
            samples=samples,
            # The bound of the floating-point test is reported only if it counts; only then it takes its half.
            confidence=1.0 - (0.5 if self.floating_point else 1.0) * (1.0 - self.conduct.effort.confidence),
            false_alarm=self.conduct.effort.false_alarm / 2.0,
            seed=self.conduct.seed + lattice,
            progress=stretch(self.conduct.progress, start, end),
            workers=self._workers,
            lattice=lattice,
        )

    def _test_floating_point(self, looked: Probe, draw: Draw, pair: Pair) -> None:
        """Test the lowest bits of what does not refute the claim in real arithmetic."""
        if not has_fractions(looked.layout, draw, pair, self.conduct.seed):
            return
        result = self._test([pair], draw, self.budget.lattice, lattice=True)
        neighbours = {"data": words_of(pair.data), "data_prime": words_of(pair.other)}
        self.evidence.details["floating_point"] = {"neighbours": neighbours, **result.to_dict()}
        if result.refuted:
            self.evidence.findings.append(lattice_finding(result, counts=self.floating_point))
            if self.floating_point:
                self.evidence.offer(result.lower_bound(), result.witness(self.conduct.reproduce))
