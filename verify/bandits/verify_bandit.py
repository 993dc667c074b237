"""Verify a bandit without a gate: a search for reward tables, or an adversary, and a black-box test."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

import numpy as np

from algorithms.blocks import Serial
from algorithms.claim import Claim
from mechanisms.arrays import FloatArray
from verify.bandits.bandit_candidates import constant_runs, find_candidates
from verify.bandits.call_cost import SCAN_ROUNDS
from verify.bandits.calling.bandit_calls import BanditError, WrongArm
from verify.bandits.calling.bandit_construction import MissingArguments
from verify.bandits.calling.bandit_crash import place_in_bandit
from verify.bandits.calling.plain_bandit import PlainBandit
from verify.conduct.conduct import Conduct
from verify.conduct.interrupts import subject_exceptions
from verify.conduct.kept_outside import changed_state, class_state
from verify.conduct.spawn_keys import SpawnKey
from verify.conduct.time_limit import TimeLimitReached, time_limit
from verify.findings.finding import FindingKind, Statement, UpperBound
from verify.outputs.raised import Raised
from verify.sampling.counted_event import CountedEvent
from verify.sampling.evidence import Evidence
from verify.sampling.second_test import hold_tests
from verify.sampling.stopping import stopped_by_hand, stopped_in_time
from verify.sampling.tester import Tester
from verify.transcripts.action_features import with_paths_spelled

_PROBED = 8  # the first runs
_PROBE_SECONDS = 10.0  # that they may take
_RUNS_FOR_ERRORS = 128  # in which errors are noted
_MOST_ERRORS = 6  # that are distinguished


def verify_bandit(bandit: PlainBandit, claim: Claim, conduct: Conduct, tester: Tester) -> Evidence:
    """Collect findings and a lower bound for a bandit's claim; nothing gives an upper bound.

    The number of draws follows from the effort and the rounds of the tested transcripts, not from the clock.

    Parameters
    ----------
    bandit, claim
        The bandit, and its claim.
    conduct
        The conduct of the verification.
    tester
        The tester of the pairs that are found.

    Raises
    ------
    BanditError
        If its class cannot be called in the given way.
    """
    evidence = Evidence(upper=UpperBound(math.inf, 1.0, "black box"))
    with stopped_in_time(evidence, conduct.seconds, conduct.elapsed_seconds), stopped_by_hand(evidence):
        try:
            try:
                _test(evidence, bandit, claim, conduct, tester)
            except subject_exceptions() as error:
                bandit = _with_errors(evidence, bandit, error, conduct.seed)
                _test(evidence, bandit, claim, conduct, tester)
        except WrongArm as error:
            evidence.findings.append(Statement.WRONG_ARM.finding(error=str(error)))
        except MissingArguments as error:
            raise error.with_claim(claim.epsilon, claim.delta) from None
        except BanditError:
            raise
        except subject_exceptions() as error:  # a user's bandit may raise anything
            place = place_in_bandit(error)
            if place is None:
                raise
            if bandit.rewards_are_guessed:
                rewards = ", ".join(f"{reward:g}" for reward in bandit.rewards)
                said = Statement.RAISED_ON_GUESS.finding(place, error=error, rewards=rewards)
            else:
                said = Statement.RAISED.finding(place, error=error)
            evidence.findings.append(said)
    return evidence


def _with_errors(evidence: Evidence, bandit: PlainBandit, error: BaseException, seed: int) -> PlainBandit:
    """Return a bandit with its errors as outputs, after the first of them.

    Raises
    ------
    BaseException
        The error, if it is none of its outputs: those on rewards that are a guess are none.
    """
    place = place_in_bandit(error)
    if not place or bandit.rewards_are_guessed or bandit.errors:
        raise error
    evidence.findings[:] = [Statement.RAISES_IN_PLAY.finding(place, error=error)]
    rng = np.random.default_rng(SpawnKey.TRANSCRIPT_SCAN.sequence(seed, 5))
    seen = [Raised.from_error(error)]
    for run in range(_RUNS_FOR_ERRORS):
        try:
            bandit.actions(bandit.records.coins(bandit.rounds, rng), [run], np.random.SeedSequence(seed))
        except subject_exceptions() as other:
            seen.append(Raised.from_error(other))
    for labels in ([each.said for each in seen], [each.error for each in seen]):
        counts = Counter(labels)
        if len(counts) <= _MOST_ERRORS:
            break
    common = sorted(label for label, _ in counts.most_common(_MOST_ERRORS))
    return replace(bandit, errors=(*common, "another error"))


def _runs_are_independent(evidence: Evidence, bandit: PlainBandit, conduct: Conduct) -> bool:
    """Play a few runs twice; return True if they end, and do not depend on each other.

    If the results differ, the bandit draws from a generator of its own: that is a finding.
    """
    rounds = min(bandit.places, SCAN_ROUNDS)
    table = np.tile(bandit.records.points()[0], (rounds + 1, 1))
    limit = min(conduct.seconds / 2.0, _PROBE_SECONDS)
    try:
        with time_limit(limit):
            made, same = bandit.fresh(), bandit.fresh()
            before = class_state(made)
            first, again = (_run_results(bandit, table, conduct.seed) for _ in range(2))
    except TimeLimitReached:
        found = Statement.RUNS_TOO_LONG.finding(runs=2 * _PROBED, rounds=rounds, seconds=limit)
        evidence.findings.append(found)
        return False
    kept = ["the bandit itself"] if made is same else changed_state(before, class_state(made))
    if kept:
        what = ", ".join([*kept[:3], *(["..."] if len(kept) > 3 else [])])
        evidence.findings.append(Statement.REMEMBERS_RUNS.finding(what=what))
        return False
    if first != again:
        evidence.findings.append(Statement.OWN_GENERATOR.finding())
    return True


def _run_results(bandit: PlainBandit, table: FloatArray, seed: int) -> str:
    """Return the results of a few runs, as one text."""
    seeds, numbers = np.random.SeedSequence(seed), range(_PROBED)
    if bandit.message is None:
        return repr(bandit.actions(table, numbers, seeds).tolist())
    actions, messages = bandit.messages([table], numbers, seeds, range(len(table) - 1))
    return repr((actions.tolist(), messages))


def _test(evidence: Evidence, bandit: PlainBandit, claim: Claim, conduct: Conduct, tester: Tester) -> None:
    """Search for tables (an adversary brings its own), and test those with the largest predicted bounds."""
    if not _runs_are_independent(evidence, bandit, conduct):
        return
    effort = conduct.effort
    conduct.progress(0.05, "looking for distinguishing transcripts")
    found = find_candidates(bandit, claim, effort, conduct.seed)
    if found is None:
        constant = Statement.CONSTANT_ACTIONS.finding(rounds=bandit.rounds, draws=constant_runs(bandit))
        evidence.findings.append(constant)
        return
    if found.scan is not None:
        evidence.findings.append(found.scan.finding(bandit.rounds))
    if found.screen is not None:
        played = [worlds.rounds or bandit.rounds for worlds in found.candidates.worlds]
        evidence.findings.append(found.screen.finding(played, bandit.rounds))
    if any(finding.kind == FindingKind.UNREPEATABLE for finding in evidence.findings):
        # Processes would start with the same state of an unseeded generator, and draw the same numbers.
        conduct = replace(conduct, effort=replace(effort, executor=Serial()))
    before: CountedEvent | None = None
    for result in hold_tests(tester, found.candidates, claim, conduct, second=lambda first: found.second):
        if before is not None and not result.interrupted:  # else the better of the two bounds stays
            evidence.lower = evidence.witness = None
        before = result
        # The event and its data in words.
        spelled = with_paths_spelled(result.event, bandit.action_space)
        evidence.keep(replace(result, event=spelled), conduct.reproduce)
    conduct.progress(1.0, "done")
