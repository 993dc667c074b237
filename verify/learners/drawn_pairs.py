"""What a test of a learner draws from: pairs of data sets, and the worlds of an adversary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from algorithms.claim import View
from verify.conduct.effort import Effort
from verify.conduct.spawn_keys import SpawnKey
from verify.learners.early_pairs import candidate, view_of
from verify.learners.learner_case import LearnerCase
from verify.sampling.worlds import NeighbouringWorlds
from verify.transcripts.adversary_view import learner_worlds
from verify.transcripts.view_pair import ViewPair


@dataclass(frozen=True, eq=False)
class DrawnPairs:
    """What a test draws from.

    Attributes
    ----------
    candidates
        The pairs.
    samples
        How many draws the effort allows on all of them together.
    in_lanes
        Whether the learner works on many lanes at once.
    """

    candidates: list[NeighbouringWorlds]
    samples: int
    in_lanes: bool


def drawn_pairs(
    case: LearnerCase,
    pairs: Sequence[ViewPair],
    effort: Effort,
    *,
    fewest_of_pair: int,
    single_lane_samples: int,
    seed: int,
    kind: str = "",
) -> DrawnPairs:
    """Return what a test draws from: as many of the pairs as there are draws for, and the adversary's worlds.

    Parameters
    ----------
    case
        The learner; its adversary takes part if the view is the actions and the learner works in lanes.
    pairs
        Data sets, the most telling first.
    effort
        How many draws and how many rounds there may be.
    fewest_of_pair
        Draws that a pair needs.
    single_lane_samples
        The most draws of a learner that works on one lane at a time.
    seed
        Of the adversary's first look.
    kind
        What the pairs are, for labels of their own in every run.
    """
    adversary = case.adversary
    pairs = pairs[: max(1, effort.samples // fewest_of_pair - (adversary is not None))]
    in_lanes = view_of(case, pairs[0], pairs[0].data).works_in_lanes()
    if not in_lanes:
        pairs = pairs[:2]
    one_message = case.claim.view == View.MESSAGE.value  # runs stop with the record's own round
    rounds = max(max(pair.record, 1) if one_message else pair.rounds for pair in pairs)
    candidates = candidates_of(case, pairs, in_lanes=in_lanes, kind=kind)
    if adversary is not None and case.claim.view == View.ACTIONS.value and in_lanes:
        rounds = max(rounds, effort.scan_rounds)
        probe = SpawnKey.ADVERSARY_PROBE.sequence(seed)
        candidates.append(learner_worlds(case.build, case.problem, adversary, rounds, probe))
    fewest = max(effort.samples // 20, fewest_of_pair * len(candidates))
    samples = min(effort.samples, max(effort.lane_rounds // rounds, fewest))
    if not in_lanes:
        samples = min(single_lane_samples, samples // 8)
    return DrawnPairs(candidates, samples, in_lanes)


def candidates_of(
    case: LearnerCase, pairs: Sequence[ViewPair], *, in_lanes: bool, kind: str = ""
) -> list[NeighbouringWorlds]:
    """Return pairs as candidates; of a `kind`, each has a number in its label."""
    found = [candidate(case, pair, single_lanes=not in_lanes) for pair in pairs]
    if not kind:
        return found
    return [replace(one, name=f"{kind} {number}") for number, one in enumerate(found, start=1)]
