"""Verify a learner of any family: accounting runs, replays, pairs side by side, and a test of the claim's own view."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from algorithms.claim import Claim
from verify.conduct.conduct import Conduct
from verify.conduct.effort import Effort
from verify.conduct.interrupts import subject_exceptions
from verify.conduct.progress import subprogress
from verify.findings.finding import Statement
from verify.findings.subject_error import failing_place
from verify.learners.accounting_run import Accounting, add_accounting, add_overspending, enforced_accounting
from verify.learners.learner_family import LearnerFamily
from verify.learners.played_pairs import RELEASED_VIEWS
from verify.sampling.evidence import Evidence
from verify.sampling.mechanism_worlds import add_false_profiles
from verify.sampling.second_test import hold_tests, second_unless
from verify.sampling.stopping import stopped_by_hand, stopped_in_time
from verify.sampling.tester import Tester


def verify_learner(family: LearnerFamily, conduct: Conduct, tester: Tester | None) -> Evidence:
    """Collect upper bound, lower bound, witness and findings for a learner's claim.

    Parameters
    ----------
    family
        The learner with its claim and its plays.
    conduct
        The conduct of the verification.
    tester
        The tester of the claim's own view; None leaves that test out.

    Raises
    ------
    ParameterError
        If so few false alarms are allowed that no test could refute.
    """
    family.check(conduct.effort)
    evidence = Evidence()
    shared = replace(conduct, effort=_with_shared_error(conduct.effort, family.claim))
    *proof_seeds, view_seed = np.random.SeedSequence(conduct.seed).spawn(7)
    with stopped_in_time(evidence, conduct.seconds, conduct.elapsed_seconds):
        accounting = _prove(evidence, family, shared, proof_seeds)
        with stopped_by_hand(evidence):  # everything that may prevent a certificate has been examined by now
            if tester is not None and not accounting.caught:
                _test_view(evidence, family, shared, tester, view_seed)
    return evidence


def _with_shared_error(effort: Effort, claim: Claim) -> Effort:
    """Return the effort with the false-alarm rate of each of the layers that may refute.

    For δ > 0, bounds from coupled runs on all releases rest on draws; where the adversary sees the releases they may
    refute the claim, beside the test of the view: each is wrong with half of the probability.
    """
    both = claim.delta > 0.0 and claim.view in RELEASED_VIEWS
    return replace(effort, significance=effort.significance / 2.0) if both else effort


def _prove(
    evidence: Evidence, family: LearnerFamily, conduct: Conduct, seeds: list[np.random.SeedSequence]
) -> Accounting:
    """Collect the evidence that needs no sampling of the view: from accounting, replays and coupled runs.

    Gates of plays do not refuse as accountants do: plays of a learner that catches such a refusal show nothing of it.
    """
    data_seed, accounting_seed, coupled_seed, mechanism_seed, replay_seed, trial_seed = seeds
    conduct.progress(0.0, "accounting runs")
    plays = family.plays(data_seed, accounting_seed)
    accounting = enforced_accounting(
        family.build, plays, family.claim, rounds=family.rounds, seed=accounting_seed
    )
    add_accounting(evidence, accounting, family.claim)
    add_overspending(evidence, accounting, family.claim)
    add_false_profiles(evidence, accounting.mechanisms, conduct, mechanism_seed)
    evidence.findings += family.remarks(accounting)
    conduct.progress(0.1, "replays and coupled runs")
    family.try_functions(evidence, trial_seed)  # they show more of a function than replays
    if not evidence.does_not_run:
        family.replays.add(evidence, family.replay_data(accounting, replay_seed))
    if not accounting.caught:
        family.add_losses(evidence, accounting, conduct, coupled_seed)
    return accounting


def _test_view(
    evidence: Evidence,
    family: LearnerFamily,
    conduct: Conduct,
    tester: Tester,
    seed: np.random.SeedSequence,
) -> None:
    """Test the claim's own view on the worst pairs; a second time, without a proof, if the first leaves doubt."""
    told = replace(conduct, progress=subprogress(conduct.progress, 0.4, 1.0))
    try:
        source = family.source(evidence, conduct, tester, seed)
        if source is None:
            return
        second = second_unless(evidence.proves(family.claim), conduct.effort)
        for result in hold_tests(tester, source, family.claim, told, second=second):
            family.keep(evidence, result, conduct)
    except subject_exceptions() as error:  # a user's learner may raise anything
        if not evidence.does_not_run:
            found = Statement.LEARNER_NOT_SAMPLED.finding(failing_place(error), error=error)
            evidence.findings.append(found)
