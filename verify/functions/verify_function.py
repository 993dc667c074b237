"""Verify a function: a first look, replay where it takes a gate, a search for neighbours, and black-box tests."""

from __future__ import annotations

import math
import time
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from accountant import Recorder, Replay
from algorithms.claim import Claim
from verify.effort import Effort
from verify.events.view_sample import ViewSample
from verify.evidence import Evidence, Progress
from verify.functions.floating_point import has_fractions, lattice_finding
from verify.functions.outputs import read_outputs
from verify.functions.probe import NOTHING_TO_TEST, REPEATS, NeverEnds, Probe, probe, words_of
from verify.functions.readings import FloatArray
from verify.functions.repeats import repeats_an_event
from verify.functions.replay import releases_finding, replay_function
from verify.functions.runs import FunctionRuns, RaisedInLanes
from verify.functions.stated_law import audit_stated_law, law_samples
from verify.learners.accounting_run import failing_place
from verify.neighbouring.adjacency import Data, Listed, Pair
from verify.neighbouring.neighbour_search import (
    MOST_EXAMPLES,
    Draw,
    SearchResult,
    candidate_of,
    search_neighbours,
)
from verify.neighbouring.path import first_change, path
from verify.sampling.black_box import FINALISTS, black_box_test
from verify.sampling.black_box_result import BlackBoxResult
from verify.sampling.placebo import drifts
from verify.subjects.subject import FunctionSubject, SubjectError
from verify.time_limit import TimeLimitReached, check_time_limit, time_limit
from verify.verdict import Finding, UpperBound

SECONDS = 600.0
"""The default time limit of one verification."""

LEAST_SAMPLES = 20_000
"""Draws with which every stage has enough to lay out events."""

_REPLAYED = 6  # pairs on which runs are recorded and replayed
_COMMAND_SEEDS, _COMMAND_EXAMPLES = 12, 12  # pairs that are looked at where every call starts a process
_SEARCH_SHARE = 0.3  # of the draws of a function that is called once per draw, for the search for neighbours
_WIDE = 7  # columns from which on a view is drawn less often, in proportion
_WIDEST_SHARE = 0.7  # of the draws, that the widest views get
_LATTICE_SHARE = 0.1  # of the draws, for the floating-point test
_FULL_WIDTH = 64  # entries of an output up to which there are as many draws as the effort says


def verify_function(
    subject: FunctionSubject,
    claim: Claim,
    *,
    effort: Effort,
    seed: int,
    reproduce: str,
    progress: Progress,
    seconds: float = SECONDS,
    floating_point: bool = False,
) -> Evidence:
    """Collect findings and a lower bound for a function's claim; nothing gives an upper bound.

    Parameters
    ----------
    subject, claim
        The function, and what it is held to.
    effort
        How many draws there may be.
    seed
        Of everything random.
    reproduce
        The command that repeats the verification.
    progress
        Called with the share done and what is being done.
    seconds
        The time limit. A verification that it ends reports what was found, and that it was stopped.
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
    clock = _Clock(check_time_limit(seconds), time.monotonic())
    stages = _Stages(progress)
    runs = FunctionRuns(subject, subject.takes_lanes)
    test = _FunctionTest(runs, claim, effort, seed, reproduce, stages, clock, floating_point, evidence)
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
    except TimeLimitReached:
        evidence.findings.append(clock.finding(stages.doing))
    except KeyboardInterrupt:
        evidence.interrupted()
    return evidence


@dataclass(frozen=True)
class _Clock:
    """A time limit that several stages share."""

    limit: float
    start: float

    @property
    def left(self) -> float:
        return max(1e-3, self.limit - (time.monotonic() - self.start))

    @property
    def over(self) -> bool:
        return time.monotonic() - self.start >= self.limit

    def finding(self, doing: str) -> Finding:
        return Finding(
            "time-limit",
            "",
            f"stopped after the time limit of {self.limit:g} s ({doing}): how far it came depends on the machine",
        )


@dataclass
class _Stages:
    """Passes progress on, and remembers what was being done last."""

    tell: Progress
    doing: str = "a first look"

    def __call__(self, share: float, doing: str) -> None:
        self.doing = doing
        self.tell(share, doing)


@dataclass(frozen=True)
class _FunctionTest:
    """One verification of a function: its settings, and the evidence that is filled in."""

    runs: FunctionRuns
    claim: Claim
    effort: Effort
    seed: int
    reproduce: str
    progress: _Stages
    clock: _Clock
    floating_point: bool
    evidence: Evidence

    @property
    def subject(self) -> FunctionSubject:
        return self.runs.subject

    @property
    def cheap(self) -> bool:
        """Whether a call answers for many lanes, and starts no process."""
        return self.subject.takes_lanes and self.runs.lanes_together and self.subject.single_lanes

    @property
    def samples(self) -> int:
        """Draws of all tests together."""
        if self.cheap:
            return self._fewer(self.effort.batch_samples)
        return self._fewer(self.effort.single_samples if self.subject.single_lanes else self.effort.samples)

    def _fewer(self, draws: int) -> int:
        """So many draws, or fewer of outputs with more than 64 entries: these cost as much as one of 64."""
        if self.effort.given or self.runs.width <= _FULL_WIDTH:
            return draws
        return min(draws, max(LEAST_SAMPLES, draws * _FULL_WIDTH // self.runs.width))

    def run(self) -> None:
        """Look, replay, search, test; the time limit ends any of them."""
        if self.samples < LEAST_SAMPLES:
            raise ValueError(
                f"samples={self.samples}: must be at least {LEAST_SAMPLES:,} for a function: the search for neighbours "
                "and the tests share them"
            )
        evidence = self.evidence
        known = list(self.subject.neighbours.seeds())[: None if self.subject.single_lanes else _COMMAND_SEEDS]
        with time_limit(self.clock.left):
            looked = probe(self.runs, known, self.seed, self.clock.limit)
            evidence.findings.extend(looked.findings)
            if any(finding.kind in NOTHING_TO_TEST for finding in looked.findings):
                return
            if self.subject.takes_gate:
                self.progress(0.0, "replaying recorded runs")
                evidence.findings.extend(
                    _replay(self.subject, known[:_REPLAYED], self.claim, self.effort, self.seed)
                )

            def draw(pair: Pair, other: bool, n: int, sequence: np.random.SeedSequence) -> ViewSample:
                data = pair.other if other else pair.data
                return self.runs.sample(looked.layout, data, n, sequence)

            change = None if looked.unlike is None else self._change(*looked.unlike)
            search = self._search(known, draw) if change is None else SearchResult((change,), 0, 0)
            draws = self._tested(search, len(looked.layout.columns))
            result = self._test(search.pairs, draw, draws, lattice=False)
        pair = search.pairs[result.candidate]
        if self.clock.over:
            evidence.findings.append(self.clock.finding(self.progress.doing))
        elif (
            result.refuted
            and self.runs.together
            and repeats_an_event(draw, pair, result, self.runs.width, self.seed)
        ):
            evidence.findings.append(Finding("repeats", "", REPEATS.format(share="a part")))
            evidence.details["black_box"] = result.to_dict()
            return
        elif (result.refuted or not looked.repeatable) and drifts(draw, pair, result, self.seed):
            message = "outputs on one and the same data set drift with the number of calls: draws are not independent"
            evidence.findings.append(Finding("drift", "", message))
            evidence.details["black_box"] = result.to_dict()
            return
        neighbours = {"data": words_of(pair.data), "data_prime": words_of(pair.other)}
        evidence.keep(result, result.witness(neighbours, self.reproduce))
        if evidence.lower is not None:
            evidence.lower = replace(evidence.lower, samples=result.samples + search.samples)
        evidence.details["neighbour_search"] = {"samples": search.samples, "generated": search.generated}
        if self.subject.law is not None and not (self.clock.over or result.interrupted):
            self._audit_law([*search.pairs, *known], draw)
        if not (self.clock.over or result.refuted or result.interrupted):
            self._test_floating_point(looked, draw, pair, neighbours)

    def _change(self, data: Data, other: Data) -> Pair | None:
        """Neighbours between two data sets on which the output, which never varies, changes."""
        along = path(self.subject.neighbours, data, other)
        sequence = np.random.SeedSequence(self.seed)
        if along is None:
            return None
        return first_change(
            along, lambda at: self.runs.outputs(at, 1, sequence).rows[0], self.subject.neighbours
        )

    def _search(self, known: Sequence[Pair], draw: Draw) -> SearchResult:
        """Search for the most telling pairs; where a few are listed, there is nothing to search."""
        if isinstance(self.subject.neighbours, Listed) and len(known) <= FINALISTS:
            return SearchResult(tuple(known), 0, 0)
        return search_neighbours(
            self.subject.neighbours,
            draw,
            samples=self._fewer(self.effort.search_samples)
            if self.cheap
            else int(_SEARCH_SHARE * self.samples),
            delta=self.claim.delta,
            error=self.effort.false_alarm / 2.0,
            seed=self.seed,
            seeds=len(known),
            examples=MOST_EXAMPLES if self.subject.single_lanes else _COMMAND_EXAMPLES,
            final_samples=self.samples // 4,
            tell=lambda share, doing: self.progress(0.25 * share, doing),
        )

    def _tested(self, search: SearchResult, columns: int) -> int:
        """Draws of the main test: what the other tests leave, and where draws are dear, the search.

        Each column of a draw is drawn, sorted and counted: wide views are drawn less often.
        """
        others = int(_LATTICE_SHARE * self.samples) + law_samples(self.subject, self.samples)
        left = self.samples - others - (0 if self.cheap else search.samples)
        return int(left * min(1.0, max(_WIDEST_SHARE, _WIDE / columns))) if self.cheap else left

    @property
    def _error_share(self) -> float:
        """Share of every error that a black-box test may use: half of it where a stated law has its own test."""
        return 1.0 if self.subject.law is None else 0.5

    @property
    def _workers(self) -> int:
        """One if it draws from a generator of its own: processes that are forked would all repeat the same draws."""
        own = any(finding.kind == "foreign-randomness" for finding in self.evidence.findings)
        return 1 if own else self.effort.workers

    def _test(self, pairs: Sequence[Pair], draw: Draw, samples: int, *, lattice: bool) -> BlackBoxResult:
        """Run a black-box test at half of the false-alarm rate: there are two of them, or four tests in all."""
        start, length = (0.9, 0.1) if lattice else (0.25, 0.65)
        return black_box_test(
            [candidate_of(pair, draw, f"{words_of(pair.data)} / {words_of(pair.other)}") for pair in pairs],
            claim_epsilon=self.claim.epsilon,
            claim_delta=self.claim.delta,
            samples=samples,
            # The bound of the floating-point test is reported only if it counts; only then it takes its half.
            confidence=1.0
            - self._error_share * (0.5 if self.floating_point else 1.0) * (1.0 - self.effort.confidence),
            false_alarm=self._error_share * self.effort.false_alarm / 2.0,
            seed=self.seed + lattice,
            progress=lambda share, doing: self.progress(start + length * share, doing),
            workers=self._workers,
            lattice=lattice,
        )

    def _audit_law(self, pairs: Sequence[Pair], draw: Draw) -> None:
        """Compare the stated laws, and test the event that they call the most telling one."""
        self.progress(0.9, "auditing the stated law")
        with time_limit(self.clock.left):
            stated = audit_stated_law(
                self.subject,
                pairs,
                draw,
                self.claim,
                samples=law_samples(self.subject, self.samples),
                confidence=1.0 - self._error_share * (1.0 - self.effort.confidence),
                false_alarm=self._error_share * self.effort.false_alarm / 2.0,
                seed=self.seed,
            )
        stated.add_to(self.evidence, self.reproduce, self.effort.confidence)

    def _test_floating_point(self, looked: Probe, draw: Draw, pair: Pair, neighbours: dict[str, str]) -> None:
        """Test the lowest bits of what does not refute the claim in real arithmetic."""
        if not has_fractions(looked.layout, draw, pair, self.seed):
            return
        with time_limit(self.clock.left):
            result = self._test([pair], draw, int(_LATTICE_SHARE * self.samples), lattice=True)
        self.evidence.details["floating_point"] = {"neighbours": neighbours, **result.to_dict()}
        if result.refuted:
            self.evidence.findings.append(lattice_finding(result, neighbours, counts=self.floating_point))
            if self.floating_point:
                self.evidence.offer(result.lower_bound(), result.witness(neighbours, self.reproduce))


def _flat(subject: FunctionSubject, data: Data, gate: Recorder | Replay) -> FloatArray:
    """Run the function on a gate; its output as numbers, words by their codes."""
    given = data.item() if data.ndim == 0 else np.array(data)
    try:
        output = subject.function(given, gate)
    except (Exception, SystemExit) as error:  # whatever a user's function raises
        place = failing_place(error)
        raise SubjectError(f"{subject.name} raised {type(error).__name__}: {error} (at {place})") from error
    readings = read_outputs([output])
    beside = [*readings.words.values(), *readings.whole.values()]
    words = [float(zlib.crc32(repr(column[0]).encode())) for column in beside]
    return np.concatenate([readings.values[0], words])


def _replay(
    subject: FunctionSubject,
    pairs: Sequence[Pair],
    claim: Claim,
    effort: Effort,
    seed: int,
) -> list[Finding]:
    """Record on one data set of each pair, replay on the other, and report what still differs."""
    replayed = replay_function(
        lambda data, gate: _flat(subject, data, gate),
        [(pair.data, pair.other) for pair in pairs],
        words=words_of,
        replays=effort.replays,
        seed=seed,
    )
    too_much = releases_finding(replayed, claim.epsilon, claim.delta)
    return [*replayed.findings, *([too_much] if too_much else [])]
