"""Verify by betting: draws are looked at as they come, and the first ones that suffice end the run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from algorithms.claim import Claim
from verify.effort import Effort
from verify.events.view_sample import ViewSample
from verify.evidence import Evidence, Progress
from verify.functions.probe import NeverEnds, probe, words_of
from verify.functions.runs import FunctionRuns, RaisedInLanes
from verify.neighbouring.adjacency import Pair
from verify.neighbouring.neighbour_search import candidate_of
from verify.sampling.anytime_result import AnytimeResult
from verify.sampling.anytime_test import anytime_test
from verify.sampling.draws import Candidate
from verify.sampling.placebo import drifts
from verify.sampling.wealth_file import Account
from verify.subjects.subject import FunctionSubject, MechanismSubject, Subject, SubjectError
from verify.time_limit import TimeLimitReached, time_limit
from verify.verdict import Finding, UpperBound
from verify.verify_mechanism import mechanism_candidates

_PAIRS = 12  # known pairs that are bet on


def anytime_subject(subject: Subject) -> FunctionSubject | MechanismSubject:
    """Return the subject if it can be bet on.

    Raises
    ------
    SubjectError
        If it is a learner: those have no plain draws of one view.
    """
    if isinstance(subject, FunctionSubject | MechanismSubject):
        return subject
    raise SubjectError(f"{subject.name} is a learner: anytime is for functions and mechanisms")


def verify_anytime(
    subject: FunctionSubject | MechanismSubject,
    claim: Claim,
    *,
    effort: Effort,
    seed: int,
    reproduce: str,
    progress: Progress,
    seconds: float,
    account: Account | None = None,
    save: Path | None = None,
) -> Evidence:
    """Bet against a claim on a subject's known pairs of neighbours until it is refuted or the draws are spent.

    Parameters
    ----------
    subject, claim
        What is verified, and what it claims.
    effort
        How many draws there may be.
    seed
        Of all randomness; one that no run in `account` used.
    reproduce
        The command that repeats this run, without what earlier ones had won.
    progress
        Called with the share done and what is being done.
    seconds
        The time limit.
    account, save
        What earlier runs won, and the file in which to keep it.

    Returns
    -------
    Evidence
        With ``details["anytime"]``. A run that drifts or is stopped by the time limit is not saved.

    Raises
    ------
    SubjectError
        If a function raises in every call, or what it returns cannot be read.
    """
    run = _Run(claim, effort, seed, reproduce, progress, seconds, account, save)
    return run.of_mechanism(subject) if isinstance(subject, MechanismSubject) else run.of_function(subject)


@dataclass(frozen=True)
class _Run:
    """The parameters of `verify_anytime`."""

    claim: Claim
    effort: Effort
    seed: int
    reproduce: str
    progress: Progress
    seconds: float
    account: Account | None
    save: Path | None

    def of_mechanism(self, subject: MechanismSubject) -> Evidence:
        epsilon = subject.mechanism.profile().epsilon(self.claim.delta)
        evidence = Evidence(upper=UpperBound(epsilon, self.claim.delta, "the mechanism's privacy profile"))
        if not subject.built_in:
            message = f"the profile of {type(subject.mechanism).__name__} is its own declaration"
            evidence.findings.append(Finding("declared-profile", "", message))
        candidates, words = mechanism_candidates(subject.mechanism)
        result = self._bet(candidates, self.effort.batch_samples)
        data, data_prime = words[result.candidate]
        self._conclude(evidence, result, {"data": data, "data_prime": data_prime})
        return evidence

    def of_function(self, subject: FunctionSubject) -> Evidence:
        evidence = Evidence(upper=UpperBound(math.inf, 1.0, "none: nothing is known of a black box"))
        try:
            with time_limit(self.seconds):
                try:
                    self._on_function(FunctionRuns(subject, subject.takes_lanes), evidence)
                except RaisedInLanes as error:
                    if subject.single_lanes is False:
                        raise SubjectError(f"{subject.name} raised {error}") from error
                    evidence.findings.clear()
                    self._on_function(FunctionRuns(subject, False), evidence)
        except NeverEnds as error:
            evidence.findings.append(error.finding)
        except TimeLimitReached:
            message = f"stopped by the time limit of {self.seconds:g} s: nothing is concluded"
            evidence.findings.append(Finding("time-limit", "", message))
        return evidence

    def _on_function(self, runs: FunctionRuns, evidence: Evidence) -> None:
        subject = runs.subject
        pairs = list(subject.neighbours.seeds())[:_PAIRS]
        looked = probe(runs, pairs, self.seed, self.seconds)
        evidence.findings.extend(looked.findings)
        if any(finding.kind == "constant" for finding in looked.findings):
            return

        def draw(pair: Pair, other: bool, n: int, sequence: np.random.SeedSequence) -> ViewSample:
            return looked.layout.sample(runs.outputs(pair.other if other else pair.data, n, sequence))

        candidates = [
            candidate_of(pair, draw, f"{words_of(pair.data)} / {words_of(pair.other)}") for pair in pairs
        ]
        many = subject.takes_lanes and runs.lanes_together
        result = self._bet(candidates, self.effort.samples if many else self.effort.single_samples)
        pair = pairs[result.candidate]
        if (result.refuted or not looked.repeatable) and drifts(draw, pair, result, self.seed):
            message = "outputs on one and the same data set drift with the number of calls: draws are not independent"
            evidence.findings.append(Finding("drift", "", message))
            evidence.details["anytime"] = result.to_dict()
            return
        self._conclude(evidence, result, {"data": words_of(pair.data), "data_prime": words_of(pair.other)})

    def _bet(self, candidates: Sequence[Candidate], samples: int) -> AnytimeResult:
        return anytime_test(
            candidates,
            claim_epsilon=self.claim.epsilon,
            claim_delta=self.claim.delta,
            samples=samples,
            confidence=self.effort.confidence,
            false_alarm=self.effort.false_alarm,
            seed=self.seed,
            progress=self.progress,
            opening=None if self.account is None else self.account.opening,
        )

    def _conclude(self, evidence: Evidence, result: AnytimeResult, neighbours: Mapping[str, str]) -> None:
        evidence.offer(result.lower_bound(), result.witness(neighbours, self.reproduce))
        evidence.details["anytime"] = result.to_dict()
        evidence.details["detection_floor"] = result.detection_floor_words
        if self.account is not None:
            evidence.details["earlier_runs"] = {
                "runs": len(self.account.runs),
                "log_wealth": self.account.log_wealth,
            }
            if self.save is not None:
                self.account.after(result).save(self.save)
