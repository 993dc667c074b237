"""The black-box test of a learner's claim, in the claim's own view."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from accountant import Simulation
from algorithms.claim import Claim, View
from algorithms.play import BuildLearner
from algorithms.problems import Problem
from mechanisms import BLOCK, Box
from verify.effort import Effort
from verify.evidence import Progress
from verify.learners.adversary_view import learner_candidate
from verify.learners.coupled_run import CoupledRun
from verify.learners.neighbours import (
    Background,
    InitialRecords,
    Neighbour,
    backgrounds,
    replacements,
)
from verify.learners.pairs import candidate, early_pairs, lead_pairs, view_of
from verify.learners.table_walk import anchor_tables, walk_tables
from verify.learners.transcript import ActionArray, with_paths_spelled
from verify.learners.transcript_leads import Lead, ScanSize
from verify.learners.transcript_sampling import DrawActions, sample_transcripts
from verify.learners.transcript_scan import arms_of, scan_transcripts
from verify.learners.views import played_actions
from verify.sampling.black_box import black_box_test
from verify.sampling.black_box_result import BlackBoxResult
from verify.subjects.adversary import Adversary

FloatArray = npt.NDArray[np.float64]

_SINGLE_LANE_SAMPLES = 16_000
_FEWEST_OF_PAIR = 6_144  # draws, so that every stage has enough
_FINAL_SHARE = 0.25  # of all draws, at least about so many are final draws of one world


def black_box_of_learner(
    build: BuildLearner,
    problem: Problem,
    claim: Claim,
    drawn: FloatArray,
    neighbours: Sequence[Neighbour],
    coupled: CoupledRun | None,
    leads: Sequence[Lead],
    initial: InitialRecords,
    *,
    share_of_error: float,
    trusted: bool,
    effort: Effort,
    seed: int,
    progress: Progress,
    adversary: Adversary | None = None,
) -> tuple[BlackBoxResult, tuple[str, str]]:
    """Test the claim's own view on the pairs that look worst; return the tested pair in words, too.

    Parameters
    ----------
    build, problem, claim, initial
        As for `verify_learner`.
    drawn
        A data set from the problem's law.
    neighbours, coupled
        Neighbours of its beginning and what coupled runs on them showed; None if none were possible.
    leads
        What `find_leads` found; the best is tested beside pairs of early records.
    share_of_error
        Share of the verification's error that this test may use.
    trusted
        Whether nothing speaks against the gate's densities; else more pairs are tested that no scan chose.
    effort, seed, progress
        How much work, the seed of all randomness, and whom to tell.
    adversary
        Tested beside the pairs if the view is the actions and the learner works in lanes.
    """
    pairs = lead_pairs(leads[:1]) + early_pairs(
        problem,
        drawn[: effort.view_rounds + 1],
        neighbours,
        coupled,
        initial,
        beside_leads=bool(leads) and trusted,
    )
    pairs = pairs[: max(1, effort.samples // _FEWEST_OF_PAIR - (adversary is not None))]
    first = pairs[0]
    single = not view_of(build, problem, claim, first, first.data).works_in_lanes()
    if single:
        pairs = pairs[:2]
    one_message = claim.view == View.MESSAGE.value  # runs stop with the record's own round
    rounds = max(max(pair.record, 1) if one_message else pair.rounds for pair in pairs)
    candidates = [candidate(build, problem, claim, pair, single_lanes=single) for pair in pairs]
    words = [pair.words for pair in pairs]
    if adversary is not None and claim.view == View.ACTIONS.value and not single:
        rounds = max(rounds, effort.scan_rounds)
        played = learner_candidate(
            build, problem, adversary, rounds, np.random.SeedSequence(seed, spawn_key=(_PROBE,))
        )
        candidates.append(played[0])
        words.append(played[1])
    fewest = max(effort.samples // 20, _FEWEST_OF_PAIR * len(candidates))
    samples = min(effort.samples, max(effort.lane_rounds // rounds, fewest))
    result = black_box_test(
        candidates,
        claim_epsilon=claim.epsilon,
        claim_delta=claim.delta,
        samples=min(_SINGLE_LANE_SAMPLES, samples // 8) if single else samples,
        confidence=1.0 - share_of_error * (1.0 - effort.confidence),
        false_alarm=share_of_error * effort.false_alarm,
        seed=seed,
        workers=effort.workers,
        progress=lambda share, doing: progress(0.4 + 0.6 * share, doing),
    )
    arms = arms_of(problem)
    result = replace(result, event=with_paths_spelled(result.event, arms.number, arms.size))
    return result, words[result.candidate]


def find_leads(
    build: BuildLearner,
    problem: Problem,
    claim: Claim,
    drawn: FloatArray,
    initial: InitialRecords,
    effort: Effort,
    seed: int,
    *,
    by_sampling: bool,
    thorough: bool = False,
) -> list[Lead]:
    """Scan transcripts on data sets made for it; nothing if actions are not the view, or promise nothing.

    Parameters
    ----------
    build, problem, claim, drawn, initial, effort, seed
        As for `black_box_of_learner`.
    by_sampling
        Whether to sample every neighbour: for learners that declassify, or whose densities are not to be trusted.
    thorough
        Whether to look longer where a first look promises little: at twice as many rounds, at records in the middle of
        batches, and at data between those on which the actions differ (`verify.learners.table_walk`).
    """
    if claim.view not in (View.ACTIONS.value, View.OTHER_ACTIONS.value):
        return []
    around = backgrounds(
        drawn[: effort.scan_rounds + 1], problem.record_domain, problem.structure.arms, initial
    )
    size = ScanSize(
        effort.scan_lanes,
        lane_rounds=int(_FINAL_SHARE * effort.lane_rounds),
        samples=int(_FINAL_SHARE * effort.samples),
    )
    sequence = np.random.SeedSequence(seed, spawn_key=(_SCAN,))
    hidden = claim.view == View.OTHER_ACTIONS.value

    def draw(data: FloatArray, n: int, child: np.random.SeedSequence) -> ActionArray:
        return played_actions(build, problem, Simulation(child, n), data)

    def sampled(where: Sequence[Background], fewer: int, child: np.random.SeedSequence) -> list[Lead]:
        few = replace(size, lanes=max(effort.scan_lanes // fewer // BLOCK, 1) * BLOCK)
        arms = arms_of(problem)
        return sample_transcripts(draw, where, arms, size=few, delta=claim.delta, seed=child, hidden=hidden)

    if by_sampling:
        found = sampled(around, _FEWER, sequence)
    else:
        found = scan_transcripts(
            build, problem, around, size=size, delta=claim.delta, seed=sequence, hidden=hidden
        )
        if thorough and isinstance(problem.record_domain, Box) and _little(found, claim):
            longer = drawn[: _LONGER * effort.scan_rounds + 1]
            between = _between_tables(draw, problem, problem.record_domain, len(longer) - 1, seed)
            further = sampled(between, _FEWER // 2, np.random.SeedSequence(seed, spawn_key=(_TABLES, 0)))
            found = sorted([*found, *further], key=lambda lead: -lead.predicted)
    return [lead for lead in found if lead.predicted > 0.0][:_MOST_LEADS]


def _little(leads: Sequence[Lead], claim: Claim) -> bool:
    return not leads or leads[0].predicted <= _GROSS * claim.epsilon


def _between_tables(
    draw: DrawActions, problem: Problem, domain: Box, rounds: int, seed: int
) -> list[Background]:
    """Return data sets near a decision and late records to change: walks between tables, and the tables themselves.

    Late records are those in the second halves of the last batches, however many there are of doubling length.
    """
    table_seed, walk_seed = (np.random.SeedSequence(seed, spawn_key=(_TABLES, number)) for number in (1, 2))
    tables = anchor_tables(domain, rounds, np.random.default_rng(table_seed))
    found = walk_tables(draw, tables, arms_of(problem), draws=_WALK_LANES, seed=walk_seed)
    late = sorted({rounds - max(rounds >> k, 1) for k in range(1, 6)} - {0})
    for table in tables:
        neighbours = replacements(table.rewards, domain, late)
        found.append(Background(table.rewards, tuple(neighbours), table.words))
    return found


_GROSS = 3.0  # multiple of the claim beyond which what a scan promises is no near thing
_LONGER, _WALK_LANES = 2, 512
_MOST_LEADS = 5
_FEWER = 8  # lanes of a scan by sampling, which plays every neighbour: this many times fewer
_SCAN, _PROBE, _TABLES = 7, 12, 13  # spawn keys: no other layer's
