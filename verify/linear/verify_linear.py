"""Verify a learner of linear bandits: what a record was charged, the exact loss of its releases, a test of the view.

Such a learner has one lane and releases sums of phases, so there are no coupled runs. A record is one client; what
it is part of is known from the ledger, and the composed loss of those releases is computed exactly. Where the
adversary sees the releases (a client's message, shuffled bits), that is both the upper and the lower bound; where it
sees actions only, the lower bound is about more than it sees, and a test of the action sequence looks for a refutation.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from accountant import Entry, Place, Simulation
from algorithms.claim import Claim, View
from algorithms.linear.linear_phases import Phase
from algorithms.linear.linear_play import BuildPhased, Clients, play_linear
from algorithms.problems import LinearBandit
from mechanisms import AssumptionKind, Binomial, Gaussian, NumpyNoise, Sensitivity
from mechanisms.arrays import BoolArray
from verify.conduct.conduct import Conduct
from verify.conduct.process_state import subjects_own
from verify.conduct.progress import stretch
from verify.events.view_sample import Column, ViewSample
from verify.findings import FindingKind, Statement
from verify.learners.accounting_run import (
    Accounting,
    Play,
    TapedRun,
    enforced_accounting,
)
from verify.learners.coupled_run import RELEASED_VIEWS
from verify.learners.other_records import RecordGroup, groups_of_records, telling_numbers
from verify.learners.replay_run import OtherData, Replays
from verify.linear.ledger_bounds import add_composed, add_exact, add_unbounded
from verify.linear.linear_data import HUGE, Constant, Growing, OneByOne, OtherClients, same_phase
from verify.linear.tipping_view import NEGLIGIBLE, tipping_pairs
from verify.sampling.second_test import hold_tests, second_unless
from verify.sampling.tester import Candidates, Tester
from verify.sampling.worlds import NeighbouringWorlds
from verify.verdict.evidence import Evidence
from verify.verdict.stopping import stopped_by_hand, stopped_in_time
from verify.verify_mechanism import add_false_profiles


@dataclass(frozen=True, eq=False)
class LinearCase:
    """A learner of linear bandits, what it plays, and what it claims.

    Attributes
    ----------
    build
        Makes the learner on a gate.
    problem
        The actions, and the law that clients are drawn from.
    claim
        What it claims.
    horizon
        Rounds of every run.
    """

    build: BuildPhased
    problem: LinearBandit
    claim: Claim
    horizon: int


@dataclass(frozen=True)
class _ActionDraws:
    """Bounds on the draws of a learner's actions: with more of them a draw costs more, and fewer are made.

    Attributes
    ----------
    actions
        The most actions of which as many draws are made as the effort allows.
    fewest
        Draws that are made in any case.
    earlier_phase
        What drawing one earlier phase adds to the cost of a draw.
    in_all_runs
        Draws that nobody makes in all runs of a wealth file together.
    """

    actions: int = 100
    fewest: int = 100_000
    earlier_phase: int = 6
    in_all_runs: int = 10**12


_DRAWS = _ActionDraws()


def verify_linear(case: LinearCase, conduct: Conduct, tester: Tester | None) -> Evidence:
    """Collect upper bound, lower bound, witness and findings for a linear learner's claim.

    Parameters
    ----------
    case
        The learner, and what it is held to.
    conduct
        How the verification is carried out.
    tester
        Who tests the claim's own view; None leaves that test out.

    Raises
    ------
    ValueError
        If so few false alarms are allowed that no test of the actions could refute.
    """
    false_alarm = conduct.effort.false_alarm
    if case.claim.view == View.ACTIONS.value and not false_alarm > 2.0 * NEGLIGIBLE:
        raise ValueError(
            f"false_alarm={false_alarm!r}: must be above {2.0 * NEGLIGIBLE:g} where the view is a linear "
            f"learner's actions: of the histories that are drawn, some are left out"
        )
    evidence = Evidence()
    with stopped_in_time(evidence, conduct.seconds, conduct.spent):
        _collect(evidence, case, conduct, tester)
    return evidence


def _collect(evidence: Evidence, case: LinearCase, conduct: Conduct, tester: Tester | None) -> None:
    build, problem, claim = case.build, case.problem, case.claim
    reproduce = conduct.reproduce
    seeds = np.random.SeedSequence(conduct.seed).spawn(5)
    environment, accounting_seed, mechanism_seed, replay_seed, view_seed = seeds
    conduct.progress(0.0, "accounting runs")
    datasets = _datasets(problem, environment)
    plays = [_player(partial(clients, _NOBODY), environment, case.horizon) for clients in datasets]
    accounting = enforced_accounting(build, plays, claim, rounds=case.horizon, seed=accounting_seed)
    add_composed(evidence, accounting, claim)
    add_false_profiles(evidence, accounting.mechanisms, conduct, mechanism_seed)
    if problem.replacement:
        evidence.findings.append(Statement.REPLACEMENT.finding(times=len(accounting.paid)))

    conduct.progress(0.3, "replays")
    goes_on = (FindingKind.DECLASSIFIED, FindingKind.REPLACEMENT)
    stopped = any(finding.kind not in goes_on for finding in evidence.findings)
    if not stopped:
        _add_replays(evidence, case, accounting, datasets, environment, replay_seed)
    paid = accounting.paid
    open_phase = _first_open(build)
    if open_phase is not None and not open_phase[1].clipped:
        add_unbounded(evidence, open_phase, claim, reproduce)
        return
    # What is declared is no exact loss; of what code does past private values it is at least one.
    known = all(each.kind is AssumptionKind.INTERNALS for each in evidence.assumptions)
    if paid and known and not stopped and all(entry.mechanism is not None for entry in paid):
        add_exact(evidence, paid, open_phase, claim, reproduce)

    if not stopped and tester is not None:
        conduct.progress(0.5, "black-box test")
        _test_view(evidence, case, paid, conduct, tester, view_seed)
        _add_view(evidence, case, paid)


_Datasets = Sequence[Callable[[BoolArray], Clients]]
"""What makes the clients of each run; some of them, in the order in which they report, with other random numbers."""
_NOBODY = np.zeros(0, dtype=bool)


def _datasets(problem: LinearBandit, seed: np.random.SeedSequence) -> _Datasets:
    """Return what makes the clients of each accounting run: growing rewards, the problem's law, and extreme ones."""
    population, replacement = problem.population, problem.replacement

    def drawn(replaced: BoolArray) -> Clients:
        return OneByOne(_own_copy(problem), seed, replaced) if _is_users(problem) else problem

    return [
        lambda _: Growing(population, replacement),
        drawn,
        lambda _: Constant(population, replacement, HUGE),
        lambda _: Constant(population, replacement, -HUGE),
    ]


def _own_copy(problem: LinearBandit) -> LinearBandit:
    """Return a copy for one run, if there can be one: a problem may go on in a log of its own from draw to draw."""
    try:
        return copy.deepcopy(problem)
    except Exception:  # whatever a user's class raises: an open file, a lock
        return problem


def _is_users(problem: LinearBandit) -> bool:
    """Whether a user's code says what clients report."""
    return type(problem).draw_averages is not LinearBandit.draw_averages


def _add_view(evidence: Evidence, case: LinearCase, paid: tuple[Entry, ...]) -> None:
    """Say which view is tested, and if that is not the one claimed."""
    view = case.claim.view
    seen = evidence.lower is not None and evidence.lower.in_view
    looked_at = {"action_view", "interrupted"} & evidence.details.keys()
    if view == View.ACTIONS.value and (seen or looked_at):
        evidence.details["tested_view"] = view
    elif not paid:
        evidence.details["tested_view"] = "nothing is released"
    elif view in RELEASED_VIEWS and seen:
        evidence.details["tested_view"] = f"{View.RELEASES.value} of one client"
    else:
        why = (
            "it has no method `after`"
            if view == View.ACTIONS.value
            else "no exact loss of its releases is known"
        )
        evidence.findings.append(Statement.VIEW_NOT_TESTED.finding(view=view, why=why))


def _player(clients: Callable[[], Clients], seed: np.random.SeedSequence, rounds: int) -> Play:
    return lambda learner, accountant: play_linear(
        learner, clients(), accountant, np.random.default_rng(seed), rounds=rounds
    )


def _add_replays(
    evidence: Evidence,
    case: LinearCase,
    accounting: Accounting,
    datasets: _Datasets,
    environment: np.random.SeedSequence,
    seed: np.random.SeedSequence,
) -> None:
    """Tell the taped runs again, with all clients changed, and with some of them."""
    numbers = telling_numbers(accounting.learner, -1.0, 1.0)

    def other(run: TapedRun, group: RecordGroup, own: np.random.SeedSequence) -> OtherData:
        def changed() -> Clients:
            clients = datasets[run.number](group.members)
            return OtherClients(clients, numbers, group.members, np.random.default_rng(own))

        names = [record for record, _ in run.recording.inputs]
        kept = frozenset(names) - {
            name for name, changes in zip(names, group.members, strict=True) if changes
        }
        return OtherData(group.words, _player(changed, environment, case.horizon), kept=kept)

    told = []
    for run, child in zip(accounting.taped, seed.spawn(len(accounting.taped)), strict=True):
        groups = groups_of_records(run.recording, np.random.default_rng(child))
        others = [other(run, group, own) for group, own in zip(groups, child.spawn(len(groups)), strict=True)]
        itself = partial(datasets[run.number], _NOBODY)
        told.append((run, _player(itself, environment, case.horizon), others))
    observed = _place_of_draws(case.problem) if _is_users(case.problem) else None
    Replays(case.build, same_phase, Statement.PHASE_DIFFERS, observed).add(evidence, told)


def _place_of_draws(problem: LinearBandit) -> Place:
    code = getattr(type(problem).draw_averages, "__code__", None)
    return Place("", 0) if code is None else Place(code.co_filename, code.co_firstlineno)


def _first_open(build: BuildPhased) -> tuple[Any, Phase] | None:
    """Return the learner at its first phase with reports; None if there is none, or it does not run."""
    try:
        with subjects_own():
            learner = build(Simulation(0, 1))
            phase = learner.act()
    except (Exception, SystemExit):  # the accounting run has reported it
        return None
    return (learner, phase) if phase is not None and phase.clients else None


def _test_view(
    evidence: Evidence,
    case: LinearCase,
    paid: tuple[Entry, ...],
    conduct: Conduct,
    tester: Tester,
    seed: np.random.SeedSequence,
) -> None:
    """Test the claim's own view by sampling: the action sequence, or one client's release at its extremes."""
    claim = case.claim
    if claim.view == View.ACTIONS.value:
        with subjects_own():
            learner = case.build(Simulation(0, 1))
        if not hasattr(learner, "after"):
            return
        candidates = _tipped_actions(case, learner.active.size, conduct, tester, seed)
        if not candidates.worlds:
            evidence.details["action_view"] = (
                "Within this horizon no single client can tip the elimination of an action, as far as was looked."
            )
            return
    else:
        mechanism = paid[0].mechanism if len(paid) == 1 and claim.view in RELEASED_VIEWS else None
        if not isinstance(mechanism, Gaussian | Binomial):
            return
        release = _release_worlds(mechanism, paid[0].sensitivity)
        candidates = Candidates([release], conduct.effort.samples // 4)
    with stopped_by_hand(evidence):
        told = replace(conduct, progress=stretch(conduct.progress, 0.5, 1.0))
        second = second_unless(evidence.proves(claim), conduct.effort)
        for result in hold_tests(tester, candidates, claim, told, second=second):
            evidence.keep(result, conduct.reproduce)


def _tipped_actions(
    case: LinearCase,
    actions: int,
    conduct: Conduct,
    tester: Tester,
    seed: np.random.SeedSequence,
) -> Candidates:
    """Return data sets in which one client tips the elimination of an action."""
    draws, claim = conduct.effort.batch_samples, case.claim
    pairs = tipping_pairs(case.build, epsilon=claim.epsilon, delta=claim.delta, samples=draws, seed=seed)
    history = max((len(pair.drawn_history(draws)) for pair in pairs), default=0)
    cost = (1 + _DRAWS.earlier_phase * history) * actions
    samples = min(draws, max(_DRAWS.fewest, _DRAWS.actions * draws // cost))
    in_all = _DRAWS.in_all_runs if tester.anytime else samples
    return Candidates([pair.worlds(in_all) for pair in pairs], samples, negligible=NEGLIGIBLE)


def _release_worlds(mechanism: Gaussian | Binomial, moved: Sensitivity | None) -> NeighbouringWorlds:
    """Return the pair of one release at both ends of what a client can move it by, in every coordinate."""
    allowed = moved if moved is not None else mechanism.sensitivity
    size = max(1, round(allowed.l1 / allowed.linf))
    whole = isinstance(mechanism, Binomial)
    step = np.full(size, round(allowed.linf) if whole else allowed.linf)
    columns = tuple(Column(f"released[{i}]", f"released value {i}", "real") for i in range(1, size + 1))

    def draw(other: bool, n: int, seed: np.random.SeedSequence) -> ViewSample:
        value = np.tile(np.zeros_like(step) if other else step, (n, 1))
        released = mechanism.release(value, NumpyNoise(np.random.default_rng(seed)))
        return ViewSample(np.asarray(released, dtype=np.float64), columns)

    return NeighbouringWorlds(("a client's report is at its upper bound", "it is at its lower bound"), draw)
