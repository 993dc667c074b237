"""Which pairs of data sets the black-box test of a learner looks at, and how it reads their views."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from algorithms.claim import View
from algorithms.play import INITIAL_RECORD
from algorithms.problems import Problem
from mechanisms.arrays import FloatArray
from verify.learners.coupled_run import CoupledRun
from verify.learners.learner_case import LearnerCase
from verify.transcripts.neighbours import InitialRecords, Neighbour, initial_replacements
from verify.transcripts.view_pair import ViewPair
from verify.transcripts.views import LearnerView, action_view, message_view, transcript_view

MOST_PAIRS = 6  # pairs of neighbours that the black-box test scans
_BESIDE_TELLING = 1  # pairs of early records that are tested beside telling transcripts


def early_pairs(
    problem: Problem,
    data: FloatArray,
    neighbours: Sequence[Neighbour],
    coupled: CoupledRun | None,
    initial: InitialRecords,
    *,
    beside_telling: bool,
) -> list[ViewPair]:
    """Choose pairs of short data sets: extreme corners of early records, and what the coupled runs point at.

    A corner pair sets the record to one extreme point in D and to the opposite one in D'.
    """
    extremes = problem.record_domain.extremes()
    rounds = len(data) - 1
    pairs: list[ViewPair] = []

    def corner(record: int, value: FloatArray, opposite: FloatArray) -> None:
        with_value = Neighbour(record, value, "").applied(data)
        pairs.append(ViewPair(with_value, Neighbour(record, opposite, "").applied(data), record))

    corner(1, extremes[1], extremes[0])
    if initial == "one":
        corner(INITIAL_RECORD, *_one_super_arm(problem))
        corner(INITIAL_RECORD, extremes[1], extremes[0])
    if initial == "separate":
        flipped = initial_replacements(data, problem.record_domain, initial)[0]
        pairs.append(ViewPair(data, flipped.applied(data), INITIAL_RECORD))
    if len(extremes) > 3:
        corner(1, extremes[2], extremes[3])
    most = MOST_PAIRS
    if beside_telling:
        most = _BESIDE_TELLING + (initial != "none")
    if coupled is not None:
        worst = coupled.losses.max(axis=1)
        for index in np.argsort(-worst, kind="stable"):
            neighbour = neighbours[index]
            if neighbour.record <= rounds and len(pairs) < most:
                pairs.append(ViewPair(data, neighbour.applied(data), neighbour.record))
    return pairs[:most]


def _one_super_arm(problem: Problem) -> tuple[FloatArray, FloatArray]:
    """Return the highest outcomes for one super arm and the lowest for all others, and the reverse.

    A learner that starts on either record plays that super arm first, or hardly ever.
    """
    low, high = problem.record_domain.extremes()[:2]
    arms = problem.structure.solve(np.ones((1, problem.structure.arms)))[0]
    inside = np.isin(np.arange(problem.structure.arms), arms[arms >= 0])
    return np.where(inside, high, low), np.where(inside, low, high)


def view_of(
    case: LearnerCase, pair: ViewPair, data: FloatArray, *, single_lanes: bool = False
) -> LearnerView:
    """Return what the claim's adversary sees on one of a pair's data sets."""
    build, problem, claim = case.build, case.problem, case.claim
    if claim.view == View.MESSAGE.value:
        return message_view(build, problem, data, pair.record, single_lanes=single_lanes)
    hidden = pair.record if claim.view == View.OTHER_ACTIONS.value else None
    if pair.features:
        return transcript_view(build, problem, data, pair.features, hidden=hidden, single_lanes=single_lanes)
    return action_view(build, problem, data, hidden=hidden, single_lanes=single_lanes)
