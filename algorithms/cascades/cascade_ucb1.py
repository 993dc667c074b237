"""CascadeUCB1: ranked lists without privacy (Kveton, Szepesvari, Wen & Ashkan, ICML 2015)."""

from __future__ import annotations

import math

import numpy as np

from accountant import Gate, Private
from algorithms.claim import NO_CLAIM
from algorithms.means_learner import StartsRaw
from algorithms.problems import RankedLists
from mechanisms import FirstAbove, Table, Transformation
from mechanisms.arrays import IntArray


def examined_positions(positions: int) -> Transformation:
    """Return the transformation of a click vector, one-hot or zero, to which positions the user examined (1, else 0).

    These are the positions up to the click: all of them when nothing was clicked.
    """
    return FirstAbove() >> Table(np.tri(positions + 1, positions))


class CascadeUCB1(StartsRaw[RankedLists]):
    """Show the K items of largest ``mean_e + sqrt(1.5 ln(t-1) / T_e)``; T_e counts examinations.

    As published it starts on one observation of every item. All data are declassified.

    Parameters
    ----------
    structure
        The ranked lists: L items, K positions.
    gate
        The gate of the feedback.
    """

    name = "cascade-ucb1"
    summary = "UCB on ranked lists, no privacy"
    source = "Kveton et al. 2015, Algorithm 1"
    claim = NO_CLAIM
    family = "cascade"

    def __init__(self, structure: RankedLists, gate: Gate) -> None:
        super().__init__(structure, gate)
        self.examined = examined_positions(structure.size)

    def _width(self, t: int) -> float:
        return math.sqrt(1.5 * math.log(max(t - 1, 1)))

    def learn(self, action: IntArray, feedback: Private) -> None:
        """Average the examined items' attractions."""
        clicks = self.gate.declassify(feedback, "CascadeUCB1 averages the raw clicks")
        self.add(action, clicks, seen=self.examined(clicks))
