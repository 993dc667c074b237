"""Verify a contextual learner: what a round was charged, replays of whole runs, and a test of other users' actions.

The learner has a policy, which is public; a user's action is chosen by it beside the user's contexts, and only its user
sees it. So a replay compares the policies of all rounds, and the actions of users who stay the same, as a policy may
remember whom it was shown; and the actions of other users are tested.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from algorithms.claim import Claim
from algorithms.linear.contextual_play import BuildContextual, ContextualUsers, play_users
from algorithms.problems import LinearContexts
from verify.conduct.conduct import Conduct
from verify.conduct.progress import stretch
from verify.findings import Statement
from verify.learners.accounting_run import (
    Accounting,
    Play,
    add_overspending,
    enforced_accounting,
)
from verify.learners.other_records import groups_of_records, telling_numbers
from verify.learners.replay_run import OtherData, Replays
from verify.linear.context_view import users_who_tell
from verify.linear.contextual_data import ShownTurn, constant_users, drawn_users, growing_users, other_users
from verify.linear.ledger_bounds import add_composed
from verify.sampling.second_test import hold_tests, second_unless
from verify.sampling.tester import Candidates, Tester
from verify.subject_error import failing_place
from verify.verdict.evidence import Evidence
from verify.verdict.stopping import stopped_by_hand, stopped_in_time
from verify.verify_mechanism import add_false_profiles


@dataclass(frozen=True, eq=False)
class ContextualCase:
    """A contextual learner, what it plays, and what it claims.

    Attributes
    ----------
    build
        Makes the learner on a gate.
    problem
        The law that users are drawn from.
    claim
        What it claims.
    horizon
        Rounds of every run.
    """

    build: BuildContextual
    problem: LinearContexts
    claim: Claim
    horizon: int


def verify_contextual(case: ContextualCase, conduct: Conduct, tester: Tester | None) -> Evidence:
    """Collect upper bound, lower bound, witness and findings for a contextual learner's claim.

    Parameters
    ----------
    case
        The learner, and what it is held to.
    conduct
        How the verification is carried out.
    tester
        Who tests the actions of other users; None leaves that test out.
    """
    evidence = Evidence()
    with stopped_in_time(evidence, conduct.seconds, conduct.spent):
        _collect(evidence, case, conduct, tester)
    return evidence


def _collect(evidence: Evidence, case: ContextualCase, conduct: Conduct, tester: Tester | None) -> None:
    seeds = np.random.SeedSequence(conduct.seed).spawn(4)
    data_seed, accounting_seed, mechanism_seed, replay_seed = seeds
    conduct.progress(0.0, "accounting runs")
    datasets = _datasets(case, np.random.default_rng(data_seed))
    plays = [_player(users) for users in datasets]
    accounting = enforced_accounting(case.build, plays, case.claim, rounds=case.horizon, seed=accounting_seed)
    add_composed(evidence, accounting, case.claim, of="a round")
    add_overspending(evidence, accounting, case.claim)
    add_false_profiles(evidence, accounting.mechanisms, conduct, mechanism_seed)

    conduct.progress(0.3, "replays")
    if accounting.worst is None:  # refused, or it does not run
        return
    _add_replays(evidence, case.build, accounting, datasets, replay_seed)
    if tester is not None:
        conduct.progress(0.5, "black-box test")
        _test_view(evidence, case, conduct, tester)


def _datasets(case: ContextualCase, rng: np.random.Generator) -> list[ContextualUsers]:
    """Return the users of each accounting run: growing ones, the problem's law, and extreme ones."""
    problem, rounds = case.problem, case.horizon
    return [
        growing_users(problem, rounds, rng),
        drawn_users(problem, rounds, rng),
        constant_users(problem, rounds, 1.0),
        constant_users(problem, rounds, -1.0),
    ]


def _player(users: ContextualUsers) -> Play:
    return lambda learner, accountant: map(ShownTurn.of, play_users(learner, users, accountant))


def _add_replays(
    evidence: Evidence,
    build: BuildContextual,
    accounting: Accounting,
    datasets: Sequence[ContextualUsers],
    seed: np.random.SeedSequence,
) -> None:
    """Tell the taped runs again, with all users changed, and with some of them."""
    rng = np.random.default_rng(seed)
    numbers = telling_numbers(accounting.learner, -1.0, 1.0)
    told = []
    for run in accounting.taped:
        users = datasets[run.number]
        others = []
        for group in groups_of_records(run.recording, rng):
            replaced = np.zeros(len(users.rewards), dtype=np.bool_)
            replaced[: group.members.size] = group.members
            others.append(OtherData(group.words, _player(other_users(users, numbers, replaced, rng))))
        told.append((run, _player(users), others))
    Replays(build, ShownTurn.same, Statement.ROUND_DIFFERS).add(evidence, told)


def _test_view(evidence: Evidence, case: ContextualCase, conduct: Conduct, tester: Tester) -> None:
    """Test the actions of other users by sampling."""
    effort, claim = conduct.effort, case.claim
    told = replace(conduct, progress=stretch(conduct.progress, 0.5, 1.0))
    try:
        shown = users_who_tell(
            case.build,
            case.problem.features,
            horizon=case.horizon,
            delta=claim.delta,
            samples=effort.batch_samples,
        )
        if not shown:
            evidence.details["tested_view"] = "nothing is released"
            return
        samples = min(effort.batch_samples, effort.lane_rounds // (shown[0].batch + 1))
        with stopped_by_hand(evidence):
            candidates = Candidates([each.worlds() for each in shown], samples)
            second = second_unless(evidence.proves(claim), effort)
            for result in hold_tests(tester, candidates, claim, told, second=second):
                evidence.keep(result, conduct.reproduce)
    except (Exception, SystemExit) as error:  # whatever a learner with a fault raises
        evidence.findings.append(Statement.LEARNER_NOT_SAMPLED.finding(failing_place(error), error=error))
    evidence.details["tested_view"] = claim.view
