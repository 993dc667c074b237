"""Verify a learner: accounting runs, coupled runs, and a black-box test of the claim's own view."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np

from accountant import GaussianComposition, Trust
from algorithms.claim import Claim, View
from algorithms.play import BuildLearner
from algorithms.problems import Problem
from verify.effort import EFFORTS, Effort
from verify.evidence import Evidence, Progress
from verify.learners.accounting_run import failing_place, run_accounting
from verify.learners.black_box import black_box_of_learner, find_leads
from verify.learners.groundwork import Groundwork
from verify.learners.likelihood import SHARE_OF_ERROR, add_likelihood, likelihoods_hold
from verify.learners.neighbours import (
    InitialRecords,
    constant_data,
    draw_data,
    initial_replacements,
    replacements,
    spread_records,
)
from verify.learners.releases import (
    add_accounting,
    add_coupled,
    add_overspending,
    add_replays,
    better,
    does_not_run,
    try_coupled,
    with_shared_error,
)
from verify.learners.transcript_leads import Lead
from verify.stopping import stopped_in_time
from verify.subjects.adversary import Adversary
from verify.time_limit import TimeLimitReached
from verify.verdict import Finding
from verify.verify_mechanism import check_declared_profile

_RELEASED_ROUNDS = 512  # of coupled runs, where the view is everything that is released
_CHECK_SHARE = 4  # a black-box test that only confirms what is plain by then: so many times fewer draws
_GROSS = 3.0  # multiple of the claim beyond which what a scan promises is no near thing


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
    adversary: Adversary | None = None,
    seconds: float = math.inf,
    instead: Callable[[Groundwork], None] | None = None,
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
    adversary
        An interactive adversary to test besides fixed data sets.
    seconds
        The time limit. A verification that it ends reports what was found, and that it was stopped.
    instead
        Called in place of likelihood ratios and the black-box test, with what the layers before them showed.
    """
    evidence = Evidence()
    with stopped_in_time(evidence, seconds):
        _collect(
            evidence, build, problem, claim, initial, effort, seed, reproduce, progress, adversary, instead
        )
    return evidence


def _collect(
    evidence: Evidence,
    build: BuildLearner,
    problem: Problem,
    claim: Claim,
    initial: InitialRecords,
    effort: Effort,
    seed: int,
    reproduce: str,
    progress: Progress,
    adversary: Adversary | None,
    instead: Callable[[Groundwork], None] | None,
) -> None:
    effort = with_shared_error(effort, claim)
    root = np.random.SeedSequence(seed)
    data_seed, accounting_seed, coupled_seed, mechanism_seed, replay_seed = root.spawn(5)
    drawn = draw_data(problem, effort.accounting_rounds, data_seed)

    progress(0.0, "accounting runs")
    datasets = [drawn, *constant_data(problem.record_domain, effort.accounting_rounds)]
    trust = Trust.LOCAL if claim.model == "local" else Trust.CENTRAL
    accounting = run_accounting(build, problem, datasets, trust=trust, seed=accounting_seed)
    add_accounting(evidence, accounting)
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
        evidence.upper = better(upper, filtered, claim)
    add_overspending(evidence, accounting, claim)
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
        *initial_replacements(data, problem.record_domain, initial),
        *replacements(data, problem.record_domain, records),
    ]
    add_replays(evidence, build, problem, drawn, neighbours, initial, replay_seed)
    coupled = try_coupled(build, problem, data, neighbours, effort, coupled_seed, evidence)
    if coupled is not None:
        add_coupled(evidence, coupled, neighbours, data, claim, reproduce, effort.false_alarm)

    try:
        leads: list[Lead] = []
        share_of_error = 1.0
        trusted = not evidence.declassified and likelihoods_hold(evidence, list(accounting.mechanisms))
        if instead is not None:
            instead(Groundwork(evidence, drawn, neighbours, coupled, trusted, _proved(evidence, claim)))
            return
        if coupled is not None:
            progress(0.2, "looking for telling transcripts")
            leads = find_leads(
                build,
                problem,
                claim,
                drawn,
                initial,
                effort,
                seed,
                by_sampling=not trusted,
                thorough=not _proved(evidence, claim),
            )
        if leads and trusted:
            progress(0.3, "likelihood ratios of actions")
            share_of_error = 1.0 - SHARE_OF_ERROR
            add_likelihood(
                evidence, build, problem, claim, leads, effort=effort, seed=seed, reproduce=reproduce
            )
        progress(0.4, "black-box test")
        is_gross = bool(leads) and leads[0].predicted > _GROSS * claim.epsilon
        is_plain = is_gross or (trusted and _proved(evidence, claim))
        result, (data_words, prime_words) = black_box_of_learner(
            build,
            problem,
            claim,
            drawn,
            neighbours,
            coupled,
            leads,
            initial,
            share_of_error=share_of_error,
            trusted=trusted,
            effort=_of_a_check(effort) if is_plain else effort,
            seed=seed,
            progress=progress,
            adversary=adversary,
        )
    except TimeLimitReached:
        raise
    except KeyboardInterrupt:  # what stands in the way of a certificate has been looked at by now
        evidence.interrupted()
        return
    except (Exception, SystemExit) as error:  # whatever a user's learner raises
        if not does_not_run(evidence):
            message = f"the learner could not be sampled: {type(error).__name__}: {error}"
            evidence.findings.append(Finding("crash", str(failing_place(error)), message))
        return
    witness = result.witness({"data": data_words, "data_prime": prime_words}, reproduce)
    counted = replace(
        result.lower_bound(), confidence=effort.confidence
    )  # jointly with the likelihood ratios
    evidence.keep(result, witness, lower=counted)
    if result.refuted:  # an event that the adversary sees says more than a density ratio
        evidence.witness = witness


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
