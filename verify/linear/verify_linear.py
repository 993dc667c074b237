"""Verify a learner of linear bandits: what a record was charged, the exact loss of its releases, a test of the view.

Such a learner has one lane and releases sums of phases, so there are no coupled runs. A record is one client; what
it is part of is known from the ledger, and the composed loss of those releases is computed exactly. Where the
adversary sees the releases (a client's message, shuffled bits), that is both the upper and the lower bound; where it
sees actions only, the lower bound is about more than it sees, and a test of the action sequence looks for a refutation.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from accountant import Simulation, Trust
from algorithms.claim import Claim, View
from algorithms.linear.linear_phases import Phase
from algorithms.linear.linear_play import BuildPhased, Clients
from algorithms.problems import LinearBandit
from verify.conduct.conduct import Conduct
from verify.findings import Finding, FindingKind, Statement
from verify.learners.accounting_run import Play, run_accounting
from verify.linear.ledger_bounds import add_composed, add_exact, add_unbounded
from verify.linear.linear_data import Constant, play_on, replay_on_neighbours
from verify.linear.linear_view_test import sample_view
from verify.linear.tipping_view import NEGLIGIBLE
from verify.sampling.tester import Tester
from verify.subject_error import failing_place
from verify.verdict.evidence import Evidence
from verify.verdict.stopping import stopped_in_time
from verify.verify_mechanism import check_declared_profile

ROUNDS_PER_EFFORT = 5
"""A phased learner's runs cost little: they are so many times longer than others'."""

_HUGE = 1e9  # an average reward beyond every clipping bound


def verify_linear(
    build: BuildPhased,
    problem: LinearBandit,
    claim: Claim,
    conduct: Conduct,
    tester: Tester,
    *,
    horizon: int,
) -> Evidence:
    """Collect upper bound, lower bound, witness and findings for a linear learner's claim.

    Parameters
    ----------
    build
        Makes the learner on a gate.
    problem
        The actions, and the law that clients are drawn from.
    claim
        What it claims.
    conduct
        How the verification is carried out.
    tester
        Who tests the view.
    horizon
        Rounds of every run.
    """
    false_alarm = conduct.effort.false_alarm
    if claim.view == View.ACTIONS.value and not false_alarm > 2.0 * NEGLIGIBLE:
        raise ValueError(
            f"false_alarm={false_alarm!r}: must be above {2.0 * NEGLIGIBLE:g} where the view is a linear "
            f"learner's actions: of the histories that are drawn, some are left out"
        )
    evidence = Evidence()
    with stopped_in_time(evidence, conduct.seconds):
        _collect(evidence, build, problem, claim, conduct, tester, horizon)
    return evidence


def _collect(
    evidence: Evidence,
    build: BuildPhased,
    problem: LinearBandit,
    claim: Claim,
    conduct: Conduct,
    tester: Tester,
    horizon: int,
) -> None:
    reproduce = conduct.reproduce
    seeds = np.random.SeedSequence(conduct.seed).spawn(5)
    environment, accounting_seed, mechanism_seed, replay_seed, view_seed = seeds
    datasets: list[Clients] = [
        problem,
        *(Constant(problem.population, problem.replacement, value) for value in (_HUGE, -_HUGE)),
    ]

    conduct.progress(0.0, "accounting runs")
    trust = Trust.LOCAL if claim.model == "local" else Trust.CENTRAL
    plays = [_player(clients, environment) for clients in datasets]
    accounting = run_accounting(build, plays, rounds=horizon, trust=trust, seed=accounting_seed)
    add_composed(evidence, accounting, claim)
    for mechanism, place in accounting.mechanisms.items():
        finding = check_declared_profile(mechanism, place, conduct, mechanism_seed)
        if finding is not None:
            evidence.findings.append(finding)
    if problem.replacement:
        evidence.findings.append(Statement.REPLACEMENT.finding(times=len(accounting.paid)))

    conduct.progress(0.3, "replays")
    goes_on = (FindingKind.DECLASSIFIED, FindingKind.REPLACEMENT)
    stopped = any(finding.kind not in goes_on for finding in evidence.findings)
    if not stopped:
        evidence.findings += _replays(build, problem, replay_seed)
    paid = accounting.paid
    open_phase = _first_open(build)
    if open_phase is not None and not open_phase[1].clipped:
        add_unbounded(evidence, open_phase, claim, reproduce)
        return
    if paid and not stopped and all(entry.mechanism is not None for entry in paid):
        add_exact(evidence, paid, open_phase, claim, reproduce)

    conduct.progress(0.5, "black-box test")
    if not stopped:
        sample_view(evidence, build, paid, claim, conduct, tester, view_seed)


def _player(clients: Clients, seed: np.random.SeedSequence) -> Play:
    return lambda learner, accountant: play_on(learner, clients, accountant, seed)


def _replays(build: BuildPhased, problem: LinearBandit, seed: np.random.SeedSequence) -> list[Finding]:
    try:
        return replay_on_neighbours(build, problem, _HUGE, seed=seed)
    except (Exception, SystemExit) as error:  # whatever a user's learner raises
        return [Statement.LEARNER_NOT_REPLAYED.finding(failing_place(error), error=error)]


def _first_open(build: BuildPhased) -> tuple[Any, Phase] | None:
    """Return the learner at its first phase with reports; None if there is none, or it does not run."""
    try:
        learner = build(Simulation(0, 1))
        phase = learner.act()
    except (Exception, SystemExit):  # the accounting run has reported it
        return None
    return (learner, phase) if phase is not None and phase.clients else None
