"""Verify a learner: accounting runs, coupled runs, and a black-box test of the claim's own view."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from accountant import Place
from algorithms.claim import Claim, View
from algorithms.problems import Problem
from mechanisms.arrays import FloatArray
from verify.conduct.conduct import Conduct
from verify.conduct.effort import Effort
from verify.conduct.progress import stretch
from verify.findings import Statement
from verify.learners.accounting_run import (
    Accounting,
    Play,
    TapedRun,
    add_accounting,
    add_overspending,
    enforced_accounting,
)
from verify.learners.coupled_run import RELEASED_VIEWS, CoupledRun, add_coupled, try_coupled
from verify.learners.function_trials import add_function_trials
from verify.learners.groundwork import Groundwork
from verify.learners.learner_case import LearnerCase
from verify.learners.learner_pairs import LearnerPairs
from verify.learners.likelihood import likelihoods_hold
from verify.learners.other_records import groups_of_records, growing_records, other_records, telling_numbers
from verify.learners.replay_run import OtherData, Replays
from verify.sampling.counted_event import CountedEvent
from verify.sampling.second_test import hold_tests, second_unless
from verify.sampling.tester import Tester
from verify.subject_error import failing_place
from verify.transcripts.action_features import with_paths_spelled
from verify.transcripts.neighbours import constant_data, initial_replacements, replacements, spread_records
from verify.transcripts.transcript import ActionSpace
from verify.verdict.evidence import Evidence
from verify.verdict.stopping import stopped_by_hand, stopped_in_time
from verify.verify_mechanism import add_false_profiles

_EARLY = 64  # rounds that are replayed on extreme data: a run's first records have few other chances
_RELEASED_ROUNDS = 512  # of coupled runs, where the view is everything that is released


def verify_learner(case: LearnerCase, conduct: Conduct, tester: Tester | None) -> Evidence:
    """Collect upper bound, lower bound, witness and findings for a learner's claim.

    Parameters
    ----------
    case
        The learner, and what it is held to.
    conduct
        How the verification is carried out.
    tester
        Who tests the claim's own view; None leaves that test out.
    """
    evidence = Evidence()
    shared = replace(conduct, effort=_with_shared_error(conduct.effort, case.claim))
    with stopped_in_time(evidence, conduct.seconds, conduct.spent):
        ground = _groundwork(evidence, case, shared)
        with stopped_by_hand(evidence):  # what stands in the way of a certificate has been looked at by now
            if tester is not None:
                _test_view(evidence, case, ground, shared, tester)
    return evidence


def _with_shared_error(effort: Effort, claim: Claim) -> Effort:
    """Return the effort with the share of the false-alarm rate that each of the layers that may refute has.

    For δ > 0, what coupled runs show of all releases rests on draws; where the adversary sees the releases it may
    refute the claim, beside the test of the view: each is wrong with half of the probability.
    """
    both = claim.delta > 0.0 and claim.view in RELEASED_VIEWS
    return replace(effort, false_alarm=effort.false_alarm / 2.0) if both else effort


def _add_view(evidence: Evidence, case: LearnerCase, coupled: CoupledRun | None) -> None:
    """Say which view is tested, and if that is not the one claimed."""
    view = case.claim.view
    if case.shows_actions:
        evidence.details["tested_view"] = view
    elif view in RELEASED_VIEWS and coupled is not None:
        more = ", before functions of it," if coupled.more_than_seen else ""
        evidence.details["tested_view"] = f"{View.RELEASES.value}{more} in coupled runs"
    elif not evidence.does_not_run:
        why = "no coupled run was possible" if view in RELEASED_VIEWS else "learners show actions or releases"
        evidence.details["tested_view"] = View.ACTIONS.value
        evidence.findings.append(Statement.VIEW_NOT_TESTED.finding(view=view, why=why))


def _test_view(
    evidence: Evidence, case: LearnerCase, ground: Groundwork, conduct: Conduct, tester: Tester
) -> None:
    """Test the claim's own view on the pairs that look worst, and what no proof stands for twice if that is near."""
    told = replace(conduct, progress=stretch(conduct.progress, 0.4, 1.0))
    second = second_unless(ground.proved, conduct.effort)
    pairs = LearnerPairs(case, ground, conduct)
    tests = hold_tests(tester, pairs, case.claim, told, second=second)
    try:
        for result in tests:
            _keep(evidence, case, result, conduct)
    except (Exception, SystemExit) as error:  # whatever a user's learner raises
        if not evidence.does_not_run:
            found = Statement.LEARNER_NOT_SAMPLED.finding(failing_place(error), error=error)
            evidence.findings.append(found)


def _keep(evidence: Evidence, case: LearnerCase, result: CountedEvent, conduct: Conduct) -> None:
    """Keep what a test of the view saw."""
    result = replace(result, event=with_paths_spelled(result.event, ActionSpace.of(case.problem)))
    # The confidence is that of this bound and of the likelihood ratios' together.
    lower = replace(result.lower_bound(), confidence=conduct.effort.confidence)
    evidence.keep(result, conduct.reproduce, lower)
    if result.refuted:  # an event that the adversary sees says more than a density ratio
        evidence.witness = result.witness(conduct.reproduce)


def _groundwork(evidence: Evidence, case: LearnerCase, conduct: Conduct) -> Groundwork:
    """Collect what needs no sampling of the view: accounting, replays and coupled runs."""
    problem, claim = case.problem, case.claim
    effort, progress = conduct.effort, conduct.progress
    root = np.random.SeedSequence(conduct.seed)
    data_seed, accounting_seed, coupled_seed, mechanism_seed, replay_seed, trial_seed = root.spawn(6)
    drawn = problem.draw_records(np.random.default_rng(data_seed), effort.accounting_rounds + 1)

    progress(0.0, "accounting runs")
    datasets = _datasets(problem, drawn, accounting_seed)
    accounting = _account(evidence, case, datasets, accounting_seed)
    add_false_profiles(evidence, accounting.mechanisms, conduct, mechanism_seed)

    progress(0.1, "replays and coupled runs")
    if claim.view in (View.RELEASES.value, View.SHUFFLED.value):
        # A record may be released long after its round.
        data = drawn[: _RELEASED_ROUNDS + 1]
        records: Sequence[int] = spread_records(len(data) - 1)
    else:
        data = drawn[: effort.coupled_rounds + 1]
        records = range(1, effort.coupled_rounds + 1)
    payer = accounting.exceeded.record if accounting.exceeded is not None else None
    if isinstance(payer, int) and 0 < payer < min(len(drawn), _RELEASED_ROUNDS) and payer not in records:
        # Who could not pay lost the most.
        data, records = drawn[: max(len(data), payer + 1)], [*records, payer]
    neighbours = [
        *initial_replacements(data, problem.record_domain, case.initial),
        *replacements(data, problem.record_domain, records),
    ]
    add_function_trials(evidence, case, drawn, trial_seed)  # they say more of a function than replays
    _add_replays(evidence, case, accounting, datasets, replay_seed)
    coupled = try_coupled(case, data, neighbours, effort, coupled_seed, evidence)
    if coupled is not None:
        add_coupled(evidence, coupled, neighbours, data, claim, conduct.reproduce, effort.false_alarm)
    _add_view(evidence, case, coupled)
    trusted = not evidence.declassified and likelihoods_hold(evidence, list(accounting.mechanisms))
    return Groundwork(evidence, drawn, neighbours, coupled, trusted, evidence.proves(claim))


def _datasets(problem: Problem, drawn: FloatArray, seed: np.random.SeedSequence) -> list[FloatArray]:
    """Return what a learner is accounted on: growing data, the problem's law, and constant data.

    Growing data come first: what outlives a run in secret, as in a file, is full after others, and shows no more.
    """
    rng, rounds = np.random.default_rng(seed), len(drawn) - 1
    grown = growing_records(problem.record_domain, rounds, rng)
    return [grown, drawn, *constant_data(problem.record_domain, rounds)]


def _account(
    evidence: Evidence, case: LearnerCase, datasets: Sequence[FloatArray], seed: np.random.SeedSequence
) -> Accounting:
    """Run the learner on accountants: the upper bound, and what was paid too much."""
    claim = case.claim
    plays = [_player(case, data) for data in datasets]
    accounting = enforced_accounting(case.build, plays, claim, rounds=len(datasets[0]) - 1, seed=seed)
    add_accounting(evidence, accounting, claim)
    add_overspending(evidence, accounting, claim)
    return accounting


def _add_replays(
    evidence: Evidence,
    case: LearnerCase,
    accounting: Accounting,
    datasets: Sequence[FloatArray],
    seed: np.random.SeedSequence,
) -> None:
    """Tell the taped runs again, with all records changed, and with some of them."""
    problem = case.problem
    rng = np.random.default_rng(seed)
    numbers = telling_numbers(accounting.learner, 0.0, 1.0)

    _, drawn, lowest, highest = datasets

    def others(run: TapedRun) -> Iterator[OtherData]:
        data = datasets[run.number]
        rows = [record for record, _ in run.recording.inputs]
        for group in groups_of_records(run.recording, rng):
            replaced = np.isin(np.arange(len(data)), np.extract(group.members, rows))
            changed = other_records(data, problem.record_domain, numbers, rng, replaced)
            kept = frozenset(
                record for record, changes in zip(rows, group.members, strict=True) if not changes
            )
            yield OtherData(group.words, _player(case, changed), kept=kept)
        if data is drawn:
            for changed, how in ((lowest, "lowest"), (highest, "highest")):
                yield OtherData(f"when all records are all {how}", _player(case, changed), _EARLY)
            opposite = lowest + highest - data
            yield OtherData("when all records are their opposites", _player(case, opposite), _EARLY)

    told = [(run, _player(case, datasets[run.number]), list(others(run))) for run in accounting.taped]
    Replays(case.build, np.array_equal, Statement.ROUND_DIFFERS, _place_of_feedback(problem)).add(
        evidence, told
    )


def _place_of_feedback(problem: Problem) -> Place:
    code = getattr(getattr(problem.feedback, "__func__", problem.feedback), "__code__", None)
    return Place("", 0) if code is None else Place(code.co_filename, code.co_firstlineno)


def _player(case: LearnerCase, data: FloatArray) -> Play:
    return lambda learner, accountant: case.play(learner, accountant, data)
