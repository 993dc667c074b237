"""Verify a learner: accounting runs, coupled runs, and a black-box test of the claim's own view."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from accountant import GaussianComposition, RawRead, Trust
from algorithms.claim import Claim, View
from algorithms.play import INITIAL_RECORD, BuildLearner
from algorithms.problems import Problem
from verify.accounting_run import Accounting, failing_place, run_accounting
from verify.black_box import BlackBoxResult, Candidate, black_box_test
from verify.coupled_run import CoupledRun, run_coupled
from verify.effort import Effort
from verify.evidence import FALSE_ALARM, Evidence, Progress
from verify.neighbours import (
    InitialRecords,
    Neighbour,
    constant_data,
    describe_record,
    draw_data,
    initial_replacements,
    replacements,
)
from verify.privacy_loss import LossBound, loss_lower_bound
from verify.replay_run import run_replay
from verify.verdict import Finding, LowerBound, UpperBound, Witness
from verify.verify_mechanism import check_declared_profile
from verify.views import LearnerView, action_view, message_view

FloatArray = npt.NDArray[np.float64]

_SINGLE_LANE_SAMPLES = 24_000
_PAIRS = 6  # pairs of neighbours that the black-box test scans


def verify_learner(
    build: BuildLearner,
    problem: Problem,
    claim: Claim,
    *,
    initial: InitialRecords,
    effort: Effort,
    seed: int,
    reproduce: str,
    progress: Progress,
) -> Evidence:
    """Collect upper bound, lower bound, witness and findings for a learner's claim.

    Parameters
    ----------
    build
        Makes the learner on a gate.
    problem
        The structure it plays on, and the law that data sets are drawn from.
    claim
        What it claims.
    initial
        Whether it observes outcomes before the first round, and whether they are one record.
    effort, seed
        How much work, and the seed of all randomness.
    reproduce
        The command that repeats this verification.
    progress
        Called with the share done and what is being done.
    """
    root = np.random.SeedSequence(seed)
    data_seed, accounting_seed, coupled_seed, mechanism_seed, replay_seed = root.spawn(5)
    evidence = Evidence()
    drawn = draw_data(problem, effort.accounting_rounds, data_seed)

    progress(0.0, "accounting runs")
    datasets = [drawn, *constant_data(problem.record_domain, effort.accounting_rounds)]
    trust = Trust.LOCAL if claim.model == "local" else Trust.CENTRAL
    accounting = run_accounting(build, problem, datasets, trust=trust, seed=accounting_seed)
    _add_accounting(evidence, accounting, claim)
    upper = evidence.upper
    if claim.delta > 0 and upper is not None and math.isfinite(upper.epsilon):
        # A record in several Gaussian releases loses less than basic composition says.
        filtered = run_accounting(
            build,
            problem,
            datasets,
            trust=trust,
            seed=accounting_seed,
            composition=GaussianComposition(),
            delta=claim.delta,
        )
        evidence.upper = _better(upper, filtered, claim)
    for mechanism, place in accounting.mechanisms.items():
        finding = check_declared_profile(mechanism, place, effort, mechanism_seed)
        if finding is not None:
            evidence.findings.append(finding)

    progress(0.1, "replays and coupled runs")
    data = drawn[: effort.coupled_rounds + 1]
    neighbours = [
        *initial_replacements(data, problem.record_domain, initial),
        *replacements(data, problem.record_domain, range(1, effort.coupled_rounds + 1)),
    ]
    _add_replays(evidence, build, problem, drawn, neighbours, initial, replay_seed)
    coupled = _try_coupled(build, problem, data, neighbours, effort, coupled_seed, evidence)
    if coupled is not None:
        _add_coupled(evidence, coupled, neighbours, data, claim, reproduce)

    progress(0.3, "black-box test")
    try:
        result, pairs = _black_box(
            build, problem, claim, drawn, neighbours, coupled, initial, effort, seed, progress
        )
    except (Exception, SystemExit) as error:  # whatever a user's learner raises
        if not _does_not_run(evidence):
            message = f"the learner could not be sampled: {type(error).__name__}: {error}"
            evidence.findings.append(Finding("crash", str(failing_place(error)), message))
        return evidence
    data_words, prime_words = pairs[result.candidate]
    witness = result.witness({"data": data_words, "data_prime": prime_words}, reproduce)
    evidence.offer(result.lower_bound(), witness)
    if result.refuted:  # an event that the adversary sees says more than a density ratio
        evidence.witness = witness
    evidence.details["black_box"] = result.to_dict()
    evidence.details["detection_floor"] = result.detection_floor_words
    return evidence


_STOPPING = frozenset({"raw-read", "crash", "action", "domain", "error-in-map", "refused"})


def _does_not_run(evidence: Evidence) -> bool:
    """Whether a finding says why the learner stops: no further layer needs to repeat it."""
    return any(finding.kind in _STOPPING for finding in evidence.findings)


# --- upper bound ---------------------------------------------------------------------------------


def _better(upper: UpperBound, filtered: Accounting, claim: Claim) -> UpperBound:
    """Return the bound of the Gaussian filter where basic composition does not prove the claim."""
    proved = upper.epsilon <= claim.epsilon and upper.delta <= claim.delta
    if proved or filtered.worst is None or filtered.worst.epsilon is None:
        return upper
    return UpperBound(
        filtered.worst.epsilon_up, filtered.worst.delta_up, "Gaussian DP filter, per-record ledger"
    )


def _add_accounting(evidence: Evidence, accounting: Accounting, claim: Claim) -> None:
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
    evidence.details["accounting"] = {
        "worst_record": accounting.record,
        "releases": accounting.releases,
        "runs": accounting.runs,
        "rounds": accounting.rounds,
    }


# --- replays ------------------------------------------------------------------------------------


def _add_replays(
    evidence: Evidence,
    build: BuildLearner,
    problem: Problem,
    drawn: FloatArray,
    neighbours: list[Neighbour],
    initial: InitialRecords,
    seed: np.random.SeedSequence,
) -> None:
    """Replay a short run on all neighbours, and the whole run on a few."""
    if _does_not_run(evidence):
        return
    rounds = len(drawn) - 1
    shorter = drawn[: max(neighbour.record for neighbour in neighbours) + 1]
    spread = sorted({1, rounds // 2, rounds - 1} - {0})
    longer = [
        *initial_replacements(drawn, problem.record_domain, initial)[:1],
        *replacements(drawn, problem.record_domain, spread),
    ]
    try:
        found = run_replay(build, problem, shorter, neighbours, seed=seed)
        found += run_replay(build, problem, drawn, longer, seed=seed)
    except (Exception, SystemExit) as error:  # whatever a user's learner raises
        message = f"the learner could not be replayed: {type(error).__name__}: {error}"
        found = [Finding("crash", str(failing_place(error)), message)]
    for finding in found:
        if not any((known.kind, known.where) == (finding.kind, finding.where) for known in evidence.findings):
            evidence.findings.append(finding)


# --- coupled runs --------------------------------------------------------------------------------


def _try_coupled(
    build: BuildLearner,
    problem: Problem,
    data: FloatArray,
    neighbours: list[Neighbour],
    effort: Effort,
    seed: np.random.SeedSequence,
    evidence: Evidence,
) -> CoupledRun | None:
    try:
        return run_coupled(build, problem, data, neighbours, lanes=effort.coupled_lanes, seed=seed)
    except RawRead:
        return None  # the accounting run has reported the place
    except (Exception, SystemExit) as error:  # whatever a user's learner raises in lanes
        if _does_not_run(evidence):
            return None
        message = f"the learner could not run in lanes: {type(error).__name__}: {error}"
        evidence.findings.append(Finding("no-lanes", str(failing_place(error)), message, failing=False))
        return None


def _add_coupled(
    evidence: Evidence,
    coupled: CoupledRun,
    neighbours: list[Neighbour],
    data: FloatArray,
    claim: Claim,
    reproduce: str,
) -> None:
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
        if found.kind != "declassified":
            evidence.findings.append(Finding(found.kind, str(found.where), found.message))
    in_view = claim.view == View.MESSAGE.value
    bound = loss_lower_bound(coupled.shown_losses if in_view else coupled.losses, claim.delta, FALSE_ALARM)
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
            "data": _record_words(neighbour.record, data[neighbour.record]),
            "data_prime": _record_words(neighbour.record, neighbour.value),
        },
        event=event,
        probability=bound.probability,
        probability_prime=share_prime,
        reproduce=reproduce,
        details={"record": neighbour.record, "largest_loss": bound.threshold},
        hits=None if exact else round(bound.probability * bound.trials),
        trials=None if exact else bound.trials,
    )


def _record_words(record: int, value: FloatArray) -> str:
    which = "the round-0 outcome vector" if record == INITIAL_RECORD else f"the user of round {record}"
    return f"{which} has {describe_record(value)}"


# --- black box -----------------------------------------------------------------------------------


def _black_box(
    build: BuildLearner,
    problem: Problem,
    claim: Claim,
    drawn: FloatArray,
    neighbours: list[Neighbour],
    coupled: CoupledRun | None,
    initial: InitialRecords,
    effort: Effort,
    seed: int,
    progress: Progress,
) -> tuple[BlackBoxResult, list[tuple[str, str]]]:
    """Test the claim's own view on the pairs that look worst; return also each pair's data sets in words."""
    local = claim.view == View.MESSAGE.value
    rounds = effort.view_rounds
    pairs = _pairs(problem, drawn[: rounds + 1], neighbours, coupled, initial)

    def view(data: FloatArray, record: int, single_lanes: bool) -> LearnerView:
        if local:
            return message_view(build, problem, data, record, single_lanes=single_lanes)
        return action_view(build, problem, data, single_lanes=single_lanes)

    single = not view(pairs[0][0], pairs[0][2].record, False).works_in_lanes()
    candidates = []
    words = []
    for data, data_prime, neighbour in pairs:
        record = neighbour.record
        words.append((_record_words(record, data[record]), _record_words(record, data_prime[record])))
        views = (view(data, record, single), view(data_prime, record, single))
        candidates.append(Candidate(f"{words[-1][0]} / {words[-1][1]}", _drawer(views)))
    if single:
        candidates, words = candidates[:2], words[:2]
    result = black_box_test(
        candidates,
        claim_epsilon=claim.epsilon,
        claim_delta=claim.delta,
        samples=_SINGLE_LANE_SAMPLES if single else effort.samples,
        false_alarm=FALSE_ALARM,
        seed=seed,
        progress=lambda share, doing: progress(0.3 + 0.7 * share, doing),
    )
    return result, words


def _drawer(views: tuple[LearnerView, LearnerView]) -> Callable[[bool, int, np.random.SeedSequence], Any]:
    return lambda other, n, seed: views[other].sample(n, seed)


def _pairs(
    problem: Problem,
    data: FloatArray,
    neighbours: list[Neighbour],
    coupled: CoupledRun | None,
    initial: InitialRecords,
) -> list[tuple[FloatArray, FloatArray, Neighbour]]:
    """Choose pairs of data sets: extreme corners of early records, and what the coupled runs point at.

    A corner pair sets the record to one extreme point in D and to the opposite one in D'.
    """
    extremes = problem.record_domain.extremes()
    rounds = len(data) - 1
    pairs: list[tuple[FloatArray, FloatArray, Neighbour]] = []

    def corner(record: int, value: FloatArray, opposite: FloatArray) -> None:
        with_value = Neighbour(record, value, "").applied(data)
        pairs.append(
            (with_value, Neighbour(record, opposite, "").applied(data), Neighbour(record, opposite, ""))
        )

    corner(1, extremes[1], extremes[0])
    if initial == "one":
        if len(extremes) > 3:
            corner(INITIAL_RECORD, extremes[2], extremes[3])
        corner(INITIAL_RECORD, extremes[1], extremes[0])
    if initial == "separate":
        flipped = initial_replacements(data, problem.record_domain, initial)[0]
        pairs.append((data, flipped.applied(data), flipped))
    if len(extremes) > 3:
        corner(1, extremes[2], extremes[3])
    if coupled is not None:
        worst = coupled.losses.max(axis=1)
        for index in np.argsort(-worst, kind="stable"):
            neighbour = neighbours[index]
            if neighbour.record <= rounds and len(pairs) < _PAIRS:
                pairs.append((data, neighbour.applied(data), neighbour))
    return pairs[:_PAIRS]
