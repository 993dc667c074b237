"""What a learner's releases show: the ledger's upper bound, flows around the gate, and exact privacy losses."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from accountant import RawRead
from algorithms.claim import Claim, View
from algorithms.play import BuildLearner
from algorithms.problems import Problem
from mechanisms.arrays import FloatArray
from verify.conduct.effort import Effort
from verify.findings import Finding, FindingKind, LowerBound, Statement, UpperBound, Witness, add_once
from verify.learners.accounting_run import Accounting
from verify.learners.coupled_run import CoupledRun, run_coupled
from verify.learners.ledger_profile import ledger_profile
from verify.learners.replay_run import run_replay
from verify.sentences import number
from verify.statistics.sampled_losses import LossBound, loss_lower_bound
from verify.subject_error import failing_place
from verify.transcripts.neighbours import (
    InitialRecords,
    Neighbour,
    initial_replacements,
    record_words,
    replacements,
)
from verify.verdict.evidence import Evidence

_STOPPING = frozenset(
    {
        FindingKind.RAW_READ,
        FindingKind.CRASH,
        FindingKind.ACTION,
        FindingKind.DOMAIN,
        FindingKind.ERROR_IN_MAP,
        FindingKind.REFUSED,
    }
)
_RELEASED = frozenset({View.MESSAGE.value, View.RELEASES.value})  # views in which all releases are seen


def does_not_run(evidence: Evidence) -> bool:
    """Whether a finding says why the learner stops: no further layer needs to repeat it."""
    return any(finding.kind in _STOPPING for finding in evidence.findings)


# --- upper bound ---------------------------------------------------------------------------------


def better(upper: UpperBound, filtered: Accounting, claim: Claim) -> UpperBound:
    """Return the bound of the Gaussian filter where basic composition does not prove the claim."""
    proved = upper.epsilon <= claim.epsilon and upper.delta <= claim.delta
    if proved or filtered.worst is None or filtered.worst.epsilon is None:
        return upper
    return UpperBound(
        filtered.worst.epsilon_up, filtered.worst.delta_up, "Gaussian DP filter, per-record ledger"
    )


def add_accounting(evidence: Evidence, accounting: Accounting) -> None:
    """Add what accounting runs showed."""
    evidence.findings.extend(accounting.findings)
    evidence.declassified.extend(accounting.declassified)
    if accounting.worst is None:
        evidence.upper = UpperBound(math.inf, 1.0, "the accountant refused: no finite bound")
        return
    worst = accounting.worst
    infinite = worst.epsilon is None
    length = f"largest of {accounting.runs} runs of {accounting.rounds:,} rounds"
    method = (
        "no bound: private data were declassified"
        if infinite
        else f"basic composition, per-record ledger, {length}"
    )
    evidence.upper = UpperBound(worst.epsilon_up, 1.0 if infinite else worst.delta_up, method)
    evidence.profile = ledger_profile(accounting.alike, length)
    evidence.details["accounting"] = {
        "worst_record": accounting.record,
        "releases": accounting.releases,
        "runs": accounting.runs,
        "rounds": accounting.rounds,
    }


def add_overspending(evidence: Evidence, accounting: Accounting, claim: Claim) -> None:
    """Name the lines whose releases together cost the worst record more than the claim."""
    upper = evidence.upper
    if upper is None or not math.isfinite(upper.epsilon):
        return  # a refusal or a declassification is named already
    if upper.epsilon <= claim.epsilon and upper.delta <= claim.delta:
        return
    worst = accounting.worst
    assert worst is not None
    for charge in accounting.charges:
        times = "one release" if charge.times == 1 else f"{charge.times} releases"
        found = Statement.OVERSPENT.finding(
            charge.where,
            record=accounting.record,
            times=times,
            mechanism=charge.mechanism,
            epsilon=number(charge.epsilon),
            delta=number(charge.delta),
            paid=number(worst.epsilon_up),
            claimed=number(claim.epsilon),
            claimed_delta=number(claim.delta),
        )
        evidence.findings.append(found)


# --- error rates ---------------------------------------------------------------------------------


def with_shared_error(effort: Effort, claim: Claim) -> Effort:
    """Return the effort with the share of the false-alarm rate that each of the layers that may refute has.

    For δ > 0, what coupled runs show of all releases rests on draws; where the adversary sees the releases it may
    refute the claim, beside the test of the view: each is wrong with half of the probability.
    """
    both = claim.delta > 0.0 and claim.view in _RELEASED
    return replace(effort, false_alarm=effort.false_alarm / 2.0) if both else effort


# --- replays -------------------------------------------------------------------------------------


def add_replays(
    evidence: Evidence,
    build: BuildLearner,
    problem: Problem,
    drawn: FloatArray,
    neighbours: list[Neighbour],
    initial: InitialRecords,
    seed: np.random.SeedSequence,
) -> None:
    """Replay a short run on all neighbours, and the whole run on a record early, halfway and late in it."""
    if does_not_run(evidence):
        return
    rounds = len(drawn) - 1
    shorter = drawn[: max(neighbour.record for neighbour in neighbours) + 1]
    spread = sorted({1, rounds // 2, rounds - 1} - {0})
    longer = initial_replacements(drawn, problem.record_domain, initial)[:1]
    for record in spread:  # one value each: other values change the short run, which costs far less
        longer += replacements(drawn, problem.record_domain, [record])[:1]
    try:
        found = run_replay(build, problem, shorter, neighbours, seed=seed)
        found += run_replay(build, problem, drawn, longer, seed=seed)
    except (Exception, SystemExit) as error:  # whatever a user's learner raises
        found = [Statement.LEARNER_NOT_REPLAYED.finding(failing_place(error), error=error)]
    for finding in found:
        add_once(evidence.findings, finding)


# --- coupled runs --------------------------------------------------------------------------------


def try_coupled(
    build: BuildLearner,
    problem: Problem,
    data: FloatArray,
    neighbours: list[Neighbour],
    effort: Effort,
    seed: np.random.SeedSequence,
    evidence: Evidence,
) -> CoupledRun | None:
    """Run coupled, or return None with a finding that says why not."""
    try:
        return run_coupled(build, problem, data, neighbours, lanes=effort.coupled_lanes, seed=seed)
    except RawRead:
        return None  # the accounting run has reported the place
    except (Exception, SystemExit) as error:  # whatever a user's learner raises in lanes
        if does_not_run(evidence):
            return None
        evidence.findings.append(Statement.NO_LANES.finding(failing_place(error), error=error))
        return None


def add_coupled(
    evidence: Evidence,
    coupled: CoupledRun,
    neighbours: list[Neighbour],
    data: FloatArray,
    claim: Claim,
    reproduce: str,
    error: float,
) -> None:
    """Offer the privacy loss of all releases as a lower bound, wrong with probability `error`, and what diverged."""
    index, largest = coupled.largest()
    worst = neighbours[index]
    evidence.details["coupled"] = {
        "largest_loss": largest,
        "record": worst.record,
        "replacement": worst.words,
        "neighbours": len(neighbours),
        "lanes": coupled.losses.shape[1],
    }
    for found in coupled.divergences:
        if found.kind != FindingKind.DECLASSIFIED:
            evidence.findings.append(Finding.of_gate(found))
    in_view = claim.view in _RELEASED
    bound = loss_lower_bound(coupled.shown_losses if in_view else coupled.losses, claim.delta, error)
    upper = evidence.upper
    if (
        upper is not None
        and math.isfinite(upper.epsilon)
        and upper.delta == 0
        and bound.epsilon > upper.epsilon
    ):
        evidence.contradictions.append(
            f"A coupled run shows a privacy loss of {largest:.6g}, above the {upper.epsilon:.6g} that the "
            "ledger charged."
        )
    lower = LowerBound(
        epsilon=bound.epsilon,
        delta=claim.delta,
        confidence=bound.confidence,
        method="exact privacy losses of all releases (coupled run)",
        samples=0 if bound.confidence == 1.0 else bound.trials,
        in_view=in_view,
        decisive=True,
    )
    evidence.offer(lower, _loss_witness(bound, neighbours, data, reproduce))


def _loss_witness(bound: LossBound, neighbours: list[Neighbour], data: FloatArray, reproduce: str) -> Witness:
    neighbour = neighbours[bound.neighbour]
    exact = math.isinf(bound.threshold) and bound.probability == 1.0
    if math.isinf(bound.threshold):
        event = "a value that leaves unprotected differs between the two data sets"
    else:
        event = f"the released values are at least e^{bound.threshold:.6g} times likelier on D than on D′"
    share_prime = min(1.0, bound.probability * math.exp(-bound.threshold))
    return Witness(
        neighbours={
            "data": record_words(neighbour.record, data[neighbour.record]),
            "data_prime": record_words(neighbour.record, neighbour.value),
        },
        event=event,
        probability=bound.probability,
        probability_prime=share_prime,
        reproduce=reproduce,
        details={"record": neighbour.record, "largest_loss": bound.threshold},
        hits=None if exact else round(bound.probability * bound.trials),
        trials=None if exact else bound.trials,
    )
