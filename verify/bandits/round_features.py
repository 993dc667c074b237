"""What is read of actions in a first look at a game: counts and times around the changed round, and from the start."""
# ruff: noqa: D102 (the methods of every feature are documented once, at `verify.transcripts.transcript.Feature`)

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from verify.events.view_sample import Column
from verify.transcripts.transcript import Feature, FirstSwitch, PlayCount, PlayTime, Transcript, doubling

_MOST_ARMS = 4  # arms of which features are made: the most played


@dataclass(frozen=True, slots=True)
class PlaysOfSame:
    """How often the action of a round is repeated until round `last`."""

    record: int
    last: int

    @property
    def column(self) -> Column:
        return Column(
            f"repeats[{self.record},{self.last}]",
            f"in how many of rounds {self.record + 1} to {self.last} the action is that of round {self.record}",
            "real",
        )

    def of(self, transcript: Transcript) -> npt.NDArray[np.int64]:
        actions = transcript.actions
        same = (actions[:, self.record : self.last] == actions[:, self.record - 1, np.newaxis]).all(axis=2)
        found: npt.NDArray[np.int64] = same.sum(axis=1)
        return found


def quick_features(transcript: Transcript, record: int, arms: int, hidden: bool) -> list[Feature]:
    """Return counts and times around the changed round, and from the start, of the arms most played."""
    rounds, arms = transcript.rounds, max(arms, 1 + int(transcript.actions.max()))
    played = np.bincount(transcript.actions[transcript.actions >= 0].astype(np.int64), minlength=arms)
    shown = np.argsort(-played, kind="stable")[: 1 if arms == 2 else _MOST_ARMS].tolist()
    found: list[Feature] = []
    ends = sorted({*(last for last in doubling(rounds) if last > record), rounds})
    later = sorted({*(record + step for step in doubling(rounds - record)), *ends})
    for arm in shown:
        found += [PlayCount(arm, 1, last) for last in ends]
        found += [PlayCount(arm, record + 1, last) for last in later if record < last]
    for arm in range(arms) if arms == 2 else shown:
        found += [
            PlayTime(arm, number, 0, rounds) for number in doubling(rounds) if 2 * number > record / arms
        ]
        found += [PlayTime(arm, number, record, rounds) for number in (1, 2, 4) if record < rounds]
    if 1 <= record < rounds:
        found.append(FirstSwitch(record, rounds))
        if not hidden:
            found += [PlaysOfSame(record, last) for last in later if last > record]
    return found
