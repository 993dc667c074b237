"""What is read of actions in a first look at a game: counts and times around the changed round, and from the start."""

from __future__ import annotations

import numpy as np

from verify.transcripts.action_features import (
    Feature,
    FirstSwitch,
    PlayCount,
    PlaysOfSame,
    PlayTime,
    doubling,
)
from verify.transcripts.transcript import Transcript

_MOST_ARMS = 4  # arms of which features are made: the most played


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
