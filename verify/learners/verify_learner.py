"""Verify a learner: accounting runs, coupled runs, and a black-box test of the claim's own view."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np

from accountant import GaussianComposition, Trust
from algorithms.claim import Claim, View
from mechanisms.arrays import FloatArray
from verify.conduct.conduct import Conduct
from verify.conduct.effort import EFFORTS, Effort
from verify.findings import Statement
from verify.learners.accounting_run import Accounting, run_accounting
from verify.learners.groundwork import Groundwork
from verify.learners.learner_case import LearnerCase
from verify.learners.likelihood import SHARE_OF_ERROR, add_likelihood, likelihoods_hold
from verify.learners.release_layers import (
    add_accounting,
    add_coupled,
    add_overspending,
    add_replays,
    better,
    does_not_run,
    try_coupled,
    with_shared_error,
)
from verify.learners.view_test import black_box_of_learner, find_leads
from verify.sampling.black_box_result import BlackBoxResult
from verify.subject_error import failing_place
from verify.transcripts.neighbours import (
    constant_data,
    draw_data,
    initial_replacements,
    replacements,
    spread_records,
)
from verify.transcripts.view_pair import ViewPair
from verify.verdict.evidence import Evidence
from verify.verdict.stopping import stopped_by_hand, stopped_in_time
from verify.verify_mechanism import check_declared_profile

_RELEASED_ROUNDS = 512  # of coupled runs, where the view is everything that is released
_CHECK_SHARE = 4  # a black-box test that only confirms what is plain by then: so many times fewer draws
_GROSS = 3.0  # multiple of the claim beyond which what a scan promises is no near thing


def verify_learner(
    case: LearnerCase,
    conduct: Conduct,
    *,
    instead: Callable[[Groundwork], None] | None = None,
) -> Evidence:
    """Collect upper bound, lower bound, witness and findings for a learner's claim.

    Parameters
    ----------
    case
        The learner, and what it is held to.
    conduct
        How the verification is carried out.
    instead
        Called in place of likelihood ratios and the black-box test, with what the layers before them showed.
    """
    evidence = Evidence()
    shared = replace(conduct, effort=with_shared_error(conduct.effort, case.claim))
    with stopped_in_time(evidence, conduct.seconds):
        _collect(evidence, case, shared, instead)
    return evidence


def _collect(
    evidence: Evidence,
    case: LearnerCase,
    conduct: Conduct,
    instead: Callable[[Groundwork], None] | None,
) -> None:
    ground = _groundwork(evidence, case, conduct)
    with stopped_by_hand(evidence):  # what stands in the way of a certificate has been looked at by now
        try:
            if instead is not None:
                instead(ground)
                return
            result = _sampled(ground, case, conduct)
        except (Exception, SystemExit) as error:  # whatever a user's learner raises
            if not does_not_run(evidence):
                found = Statement.LEARNER_NOT_SAMPLED.finding(failing_place(error), error=error)
                evidence.findings.append(found)
            return
        witness = result.witness(conduct.reproduce)
        # The confidence is that of this bound and of the likelihood ratios' together.
        lower = replace(result.lower_bound(), confidence=conduct.effort.confidence)
        evidence.keep(result, witness, lower=lower)
        if result.refuted:  # an event that the adversary sees says more than a density ratio
            evidence.witness = witness


def _groundwork(evidence: Evidence, case: LearnerCase, conduct: Conduct) -> Groundwork:
    """Collect what needs no sampling of the view: accounting, replays and coupled runs."""
    build, problem, claim = case.build, case.problem, case.claim
    effort, progress = conduct.effort, conduct.progress
    root = np.random.SeedSequence(conduct.seed)
    data_seed, accounting_seed, coupled_seed, mechanism_seed, replay_seed = root.spawn(5)
    drawn = draw_data(problem, effort.accounting_rounds, data_seed)

    progress(0.0, "accounting runs")
    accounting = _account(evidence, case, drawn, accounting_seed)
    for mechanism, place in accounting.mechanisms.items():
        finding = check_declared_profile(mechanism, place, effort, mechanism_seed)
        if finding is not None:
            evidence.findings.append(finding)

    progress(0.1, "replays and coupled runs")
    if claim.view == View.RELEASES.value:  # a record may be released long after its round
        data = drawn[: _RELEASED_ROUNDS + 1]
        records: Iterable[int] = spread_records(len(data) - 1)
    else:
        data = drawn[: effort.coupled_rounds + 1]
        records = range(1, effort.coupled_rounds + 1)
    neighbours = [
        *initial_replacements(data, problem.record_domain, case.initial),
        *replacements(data, problem.record_domain, records),
    ]
    add_replays(evidence, build, problem, drawn, neighbours, case.initial, replay_seed)
    coupled = try_coupled(build, problem, data, neighbours, effort, coupled_seed, evidence)
    if coupled is not None:
        add_coupled(evidence, coupled, neighbours, data, claim, conduct.reproduce, effort.false_alarm)
    trusted = not evidence.declassified and likelihoods_hold(evidence, list(accounting.mechanisms))
    return Groundwork(evidence, drawn, neighbours, coupled, trusted, _proved(evidence, claim))


def _account(
    evidence: Evidence, case: LearnerCase, drawn: FloatArray, seed: np.random.SeedSequence
) -> Accounting:
    """Run the learner on a ledger: the upper bound, and what was paid too much."""
    build, problem, claim = case.build, case.problem, case.claim
    datasets = [drawn, *constant_data(problem.record_domain, len(drawn) - 1)]
    trust = Trust.LOCAL if claim.model == "local" else Trust.CENTRAL
    accounting = run_accounting(build, problem, datasets, trust=trust, seed=seed)
    add_accounting(evidence, accounting)
    upper = evidence.upper
    if claim.delta > 0 and upper is not None and math.isfinite(upper.epsilon):
        # A record in several Gaussian releases loses less than basic composition says.
        filtered = run_accounting(
            build,
            problem,
            datasets,
            trust=trust,
            seed=seed,
            composition=GaussianComposition(),
            delta=claim.delta,
        )
        evidence.upper = better(upper, filtered, claim)
    add_overspending(evidence, accounting, claim)
    return accounting


def _sampled(ground: Groundwork, case: LearnerCase, conduct: Conduct) -> BlackBoxResult:
    """Look for telling transcripts, offer their likelihood ratios, and test the view."""
    leads: list[ViewPair] = []
    share_of_error = 1.0
    if ground.coupled is not None:
        conduct.progress(0.2, "looking for telling transcripts")
        leads = find_leads(case, ground, conduct.effort, conduct.seed)
    if leads and ground.trusted:
        conduct.progress(0.3, "likelihood ratios of actions")
        share_of_error = 1.0 - SHARE_OF_ERROR
        add_likelihood(ground.evidence, case, leads, conduct)
    conduct.progress(0.4, "black-box test")
    is_gross = bool(leads) and leads[0].predicted > _GROSS * case.claim.epsilon
    is_plain = is_gross or (ground.trusted and ground.proved)
    carried_out = replace(conduct, effort=_of_a_check(conduct.effort)) if is_plain else conduct
    return black_box_of_learner(case, ground, leads, carried_out, share_of_error=share_of_error)


def _proved(evidence: Evidence, claim: Claim) -> bool:
    """Whether the ledger proves the claim and nothing speaks against it."""
    upper = evidence.upper
    return (
        upper is not None
        and upper.epsilon <= claim.epsilon
        and upper.delta <= claim.delta
        and not any(finding.failing for finding in evidence.findings)
    )


def _of_a_check(effort: Effort) -> Effort:
    """Return the effort of a test beside a proof and exact likelihood ratios, or of one that has much to see.

    Both are known before the test's first draw, and not from its draws.
    """
    quick = EFFORTS["quick"]
    samples = min(effort.samples, max(effort.samples // _CHECK_SHARE, quick.samples))
    rounds = min(effort.lane_rounds, max(effort.lane_rounds // _CHECK_SHARE, quick.lane_rounds))
    return replace(effort, samples=samples, lane_rounds=rounds)
