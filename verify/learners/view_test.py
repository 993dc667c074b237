"""The black-box test of a learner's claim, in the claim's own view."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from accountant import Simulation
from algorithms.claim import Claim, View
from algorithms.problems import Problem
from mechanisms import BLOCK, Box
from mechanisms.arrays import FloatArray
from verify.conduct.conduct import Conduct
from verify.conduct.effort import Effort
from verify.conduct.progress import stretch
from verify.conduct.spawn_keys import SpawnKey
from verify.learners.drawn_pairs import drawn_pairs
from verify.learners.early_pairs import early_pairs
from verify.learners.groundwork import Groundwork
from verify.learners.learner_case import LearnerCase
from verify.sampling.black_box import black_box_test
from verify.sampling.black_box_result import BlackBoxResult
from verify.transcripts.action_features import with_paths_spelled
from verify.transcripts.coupled_scan import scan_transcripts
from verify.transcripts.neighbours import Background, backgrounds, replacements
from verify.transcripts.predicted_bounds import PlannedTest
from verify.transcripts.sampled_scan import DrawActions, sample_transcripts
from verify.transcripts.table_bisection import anchor_tables, bisect_tables
from verify.transcripts.transcript import ActionArray, ActionSpace
from verify.transcripts.view_pair import ViewPair
from verify.transcripts.views import played_actions

_SINGLE_LANE_SAMPLES = 16_000
_FEWEST_OF_PAIR = 6_144  # draws, so that every stage has enough
_FINAL_SHARE = 0.25  # of all draws, at least about so many are final draws of one world


def black_box_of_learner(
    case: LearnerCase,
    ground: Groundwork,
    leads: Sequence[ViewPair],
    conduct: Conduct,
    *,
    share_of_error: float,
) -> BlackBoxResult:
    """Test the claim's own view on the pairs that look worst.

    Parameters
    ----------
    case
        The learner. Its adversary is tested beside the pairs if the view is the actions and the learner works in lanes.
    ground
        What the layers before showed. Where something speaks against the gate's densities, more pairs are tested that
        no scan chose.
    leads
        What `find_leads` found; the best is tested beside pairs of early records.
    conduct
        How it is carried out.
    share_of_error
        Share of the verification's error that this test may use.
    """
    effort = conduct.effort
    pairs = list(leads[:1]) + early_pairs(
        case.problem,
        ground.drawn[: effort.view_rounds + 1],
        ground.neighbours,
        ground.coupled,
        case.initial,
        beside_leads=bool(leads) and ground.trusted,
    )
    drawn = drawn_pairs(
        case,
        pairs,
        effort,
        fewest_of_pair=_FEWEST_OF_PAIR,
        single_lane_samples=_SINGLE_LANE_SAMPLES,
        seed=conduct.seed,
    )
    result = black_box_test(
        drawn.candidates,
        claim_epsilon=case.claim.epsilon,
        claim_delta=case.claim.delta,
        samples=drawn.samples,
        confidence=1.0 - share_of_error * (1.0 - effort.confidence),
        false_alarm=share_of_error * effort.false_alarm,
        seed=conduct.seed,
        workers=effort.workers,
        progress=stretch(conduct.progress, 0.4, 1.0),
    )
    return replace(result, event=with_paths_spelled(result.event, ActionSpace.of(case.problem)))


def find_leads(case: LearnerCase, ground: Groundwork, effort: Effort, seed: int) -> list[ViewPair]:
    """Scan transcripts on data sets made for it; nothing if actions are not the view, or promise nothing.

    Of learners that declassify, or whose densities are not to be trusted, every neighbour is sampled. Of others whose
    claim is not proved, and whose transcripts promise little at first, it looks longer: at twice as many rounds, at
    records in the middle of batches, and at data between those on which the actions differ
    (`verify.transcripts.table_bisection`).

    Parameters
    ----------
    case, ground
        As for `black_box_of_learner`.
    effort, seed
        How much work, and the seed of everything random.
    """
    build, problem, claim = case.build, case.problem, case.claim
    if claim.view not in (View.ACTIONS.value, View.OTHER_ACTIONS.value):
        return []
    around = backgrounds(
        ground.drawn[: effort.scan_rounds + 1], problem.record_domain, problem.structure.arms, case.initial
    )
    planned = PlannedTest(
        delta=claim.delta,
        hidden=claim.view == View.OTHER_ACTIONS.value,
        units=int(_FINAL_SHARE * effort.lane_rounds),
        most_draws=int(_FINAL_SHARE * effort.samples),
    )
    sequence = SpawnKey.TRANSCRIPT_SCAN.sequence(seed)

    def draw(data: FloatArray, n: int, child: np.random.SeedSequence) -> ActionArray:
        return played_actions(build, problem, Simulation(child, n), data)

    def sampled(where: Sequence[Background], fewer: int, child: np.random.SeedSequence) -> list[ViewPair]:
        few = max(effort.scan_lanes // fewer // BLOCK, 1) * BLOCK
        return sample_transcripts(draw, where, ActionSpace.of(problem), planned, draws=few, seed=child)

    if not ground.trusted:
        found = sampled(around, _FEWER, sequence)
    else:
        found = scan_transcripts(build, problem, around, planned, lanes=effort.scan_lanes, seed=sequence)
        if not ground.proved and isinstance(problem.record_domain, Box) and _little(found, claim):
            longer = ground.drawn[: _LONGER * effort.scan_rounds + 1]
            between = _between_tables(draw, problem, problem.record_domain, len(longer) - 1, seed)
            further = sampled(between, _FEWER // 2, SpawnKey.TABLES.sequence(seed, 0))
            found = sorted([*found, *further], key=lambda lead: -lead.predicted)
    return [lead for lead in found if lead.predicted > 0.0][:_MOST_LEADS]


def _little(leads: Sequence[ViewPair], claim: Claim) -> bool:
    return not leads or leads[0].predicted <= _GROSS * claim.epsilon


def _between_tables(
    draw: DrawActions, problem: Problem, domain: Box, rounds: int, seed: int
) -> list[Background]:
    """Return data sets near a decision, found by bisection between tables, and late records to change on the tables.

    Late records are those in the second halves of the last batches, however many there are of doubling length.
    """
    table_seed, walk_seed = (SpawnKey.TABLES.sequence(seed, number) for number in (1, 2))
    tables = anchor_tables(domain, rounds, np.random.default_rng(table_seed))
    found = bisect_tables(draw, tables, ActionSpace.of(problem), draws=_WALK_LANES, seed=walk_seed)
    late = sorted({rounds - max(rounds >> k, 1) for k in range(1, 6)} - {0})
    for table in tables:
        found.append(replace(table, neighbours=tuple(replacements(table.data, domain, late))))
    return found


_GROSS = 3.0  # multiple of the claim beyond which what a scan promises is no near thing
_LONGER, _WALK_LANES = 2, 512
_MOST_LEADS = 5
_FEWER = 8  # lanes of a scan by sampling, which plays every neighbour: this many times fewer
