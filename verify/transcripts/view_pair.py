"""Two neighbouring data sets of a learner's rounds, and the features of the actions on them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mechanisms.arrays import FloatArray
from verify.transcripts.action_features import ActionFeature
from verify.transcripts.neighbours import record_words


@dataclass(frozen=True, eq=False)
class ViewPair:
    """Two neighbouring data sets and the features of the actions on them.

    Attributes
    ----------
    data, data_prime
        Records 0 .. rounds of D and D', shape (rounds + 1, arms).
    record
        The record in which they differ.
    others
        All other records in words, "" if they are drawn from the problem's law.
    features
        Features of the transcript, by decreasing predicted bound; none: all actions as they are.
    predicted
        The lower bound on epsilon that a scan predicts for the final test, minus infinity without a scan. It ranks
        pairs and decides nothing.
    """

    data: FloatArray
    data_prime: FloatArray
    record: int
    others: str = ""
    features: tuple[ActionFeature, ...] = ()
    predicted: float = -math.inf

    @property
    def descriptions(self) -> tuple[str, str]:
        """D and D' in words."""
        more = f"; {self.others}" if self.others else ""
        differ = np.flatnonzero((self.data != self.data_prime).any(axis=1)).tolist()
        first, second = (
            record_words(self.record, data[self.record], differ) for data in (self.data, self.data_prime)
        )
        return first + more, second + more

    @property
    def rounds(self) -> int:
        """Number of rounds that are played."""
        return len(self.data) - 1
