"""Scans for the pairs of data sets with the largest privacy loss in a learner's transcripts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from accountant import Simulation
from algorithms.claim import Claim
from algorithms.problems import Problem
from mechanisms import BLOCK, Box
from mechanisms.arrays import FloatArray
from verify.conduct.effort import Effort
from verify.conduct.spawn_keys import SpawnKey
from verify.learners.groundwork import Groundwork
from verify.learners.learner_case import LearnerCase
from verify.transcripts.coupled_scan import scan_transcripts
from verify.transcripts.neighbours import Background, backgrounds, replacements
from verify.transcripts.predicted_bounds import PlannedTest
from verify.transcripts.sampled_scan import DrawActions, sample_transcripts
from verify.transcripts.table_bisection import anchor_tables, bisect_tables
from verify.transcripts.transcript import ActionArray, ActionSpace
from verify.transcripts.view_pair import ViewPair
from verify.transcripts.views import played_actions

_FINAL_SHARE = 0.25  # of all draws, at least about so many are final draws of one world
_GROSS = 3.0  # multiple of the claim beyond which a bound predicted by a scan is a clear violation


@dataclass(frozen=True, slots=True)
class _Scan:
    """Numbers of pairs, lanes and rounds of scans: settings of this library, on which no bound rests.

    Attributes
    ----------
    most_pairs
        Most pairs that are returned.
    fewer
        The factor by which a scan by sampling has fewer lanes, as it plays every neighbour.
    longer
        The factor by which a longer scan has more rounds.
    bisection_lanes
        Lanes of every step of a bisection between tables.
    """

    most_pairs: int = 5
    fewer: int = 8
    longer: int = 2
    bisection_lanes: int = 512


_SCAN = _Scan()


def find_distinguishing_pairs(
    case: LearnerCase, ground: Groundwork, effort: Effort, seed: int
) -> list[ViewPair]:
    """Scan transcripts on data sets made for it, and return the most distinguishing pairs, the best first.

    There are none if actions are not the view, or show nothing.

    Of learners that declassify, or whose densities are not to be trusted, every neighbour is sampled. Of others whose
    claim is not proved, and whose transcripts promise little at first, it looks longer: at twice as many rounds, at
    records in the middle of batches, and at data between those on which the actions differ
    (`verify.transcripts.table_bisection`).

    Parameters
    ----------
    case, ground
        The learner, and the results of the layers before.
    effort, seed
        The limits on work, and the seed of everything random.
    """
    build, problem, claim = case.build, case.problem, case.claim
    if not case.shows_actions:
        return []
    around = backgrounds(
        ground.drawn[: effort.scan_rounds + 1], problem.record_domain, problem.structure.arms, case.initial
    )
    planned = PlannedTest(
        delta=claim.delta,
        hidden=case.hides_own_action,
        units=int(_FINAL_SHARE * effort.lane_rounds),
        most_draws=int(_FINAL_SHARE * effort.samples),
    )
    sequence = SpawnKey.TRANSCRIPT_SCAN.sequence(seed)

    def draw(data: FloatArray, n: int, child: np.random.SeedSequence) -> ActionArray:
        return played_actions(build, problem, Simulation(child, n), data)

    def sampled(where: Sequence[Background], fewer: int, child: np.random.SeedSequence) -> list[ViewPair]:
        few = max(effort.scan_lanes // fewer // BLOCK, 1) * BLOCK
        return sample_transcripts(
            draw, where, ActionSpace.from_problem(problem), planned, draws=few, seed=child
        )

    if not ground.trusted:
        found = sampled(around, _SCAN.fewer, sequence)
    else:
        found = scan_transcripts(build, problem, around, planned, lanes=effort.scan_lanes, seed=sequence)
        if (
            not ground.proved
            and isinstance(problem.record_domain, Box)
            and not is_clear_violation(found, claim)
        ):
            longer = ground.drawn[: _SCAN.longer * effort.scan_rounds + 1]
            between = _between_tables(draw, problem, problem.record_domain, len(longer) - 1, seed)
            further = sampled(between, _SCAN.fewer // 2, SpawnKey.TABLES.sequence(seed, 0))
            found = sorted([*found, *further], key=lambda pair: -pair.predicted)
    return [pair for pair in found if pair.predicted > 0.0][: _SCAN.most_pairs]


def is_clear_violation(pairs: Sequence[ViewPair], claim: Claim) -> bool:
    """Return True if the bound that a scan predicts for the best pair is far above the claim."""
    return bool(pairs) and pairs[0].predicted > _GROSS * claim.epsilon


def _between_tables(
    draw: DrawActions, problem: Problem, domain: Box, rounds: int, seed: int
) -> list[Background]:
    """Return data sets near a decision, found by bisection between tables, and late records to change on the tables.

    Late records are those in the second halves of the last batches, however many there are of doubling length.
    """
    table_seed, bisection_seed = (SpawnKey.TABLES.sequence(seed, number) for number in (1, 2))
    tables = anchor_tables(domain, rounds, np.random.default_rng(table_seed))
    found = bisect_tables(
        draw, tables, ActionSpace.from_problem(problem), draws=_SCAN.bisection_lanes, seed=bisection_seed
    )
    late = sorted({rounds - max(rounds >> k, 1) for k in range(1, 6)} - {0})
    for table in tables:
        found.append(replace(table, neighbours=tuple(replacements(table.data, domain, late))))
    return found
