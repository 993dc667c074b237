"""The event to bet on: by the past, the one on which wealth grows fastest; with the counts of its later occurrences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mechanisms.arrays import BoolArray, FloatArray, IntArray
from verify.betting.e_process import Payoff, wilson_shifted
from verify.events.event import Event, event_from_dict
from verify.events.families import EventFamily
from verify.events.tried_families import all_families
from verify.events.view_sample import Column, WorldSamples

_CAUTION = 1.0  # standard errors by which frequencies are moved towards no bet when money is staked
_CAUTIONS = (0.5, 1.0, 2.0, 3.0)  # and when events are compared


@dataclass(frozen=True)
class TrackedEvent:
    """An event to bet on, and how often it came up in draws that it was not laid out on.

    Attributes
    ----------
    event
        The event.
    swapped
        Whether D′ is the world in which it is meant to be likelier.
    hits, draws
        Of either world, the one in which the event is meant to be likelier first.
    """

    event: Event
    swapped: bool
    hits: tuple[int, int]
    draws: tuple[int, int]

    def shrunk_probabilities(self) -> tuple[float, float]:
        """Probabilities in the two worlds, each moved `_CAUTION` standard errors towards no bet."""
        p, q = (
            wilson_shifted(self.hits[0], self.draws[0], -_CAUTION),
            wilson_shifted(self.hits[1], self.draws[1], _CAUTION),
        )
        return float(p), float(q)

    def with_draws(self, x: BoolArray, y: BoolArray) -> TrackedEvent:
        """The same with more draws counted."""
        hits = self.hits[0] + int(np.count_nonzero(x)), self.hits[1] + int(np.count_nonzero(y))
        return TrackedEvent(self.event, self.swapped, hits, (self.draws[0] + len(x), self.draws[1] + len(y)))

    def growth(self, claim: Payoff) -> float:
        """Expected growth of the log-wealth per pair of draws, see `_expected_growths`."""
        return float(_expected_growths(claim, self.hits, self.draws)[0])

    def to_dict(self) -> dict[str, Any]:
        """JSON-able data, from which `from_dict` makes it again."""
        return {
            "swapped": self.swapped,
            "event": self.event.to_dict(),
            "hits": list(self.hits),
            "draws": list(self.draws),
        }

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any], columns: Sequence[Column]) -> TrackedEvent | None:
        """Rebuild the event of an earlier run; None if the view's columns or the data's form are others now."""
        try:
            hits, draws = (tuple(int(count) for count in saved[key]) for key in ("hits", "draws"))
            event = event_from_dict(saved["event"], tuple(columns))
            swapped = bool(saved["swapped"])
        except (ValueError, KeyError, TypeError):
            return None
        if (
            len(hits) != 2
            or len(draws) != 2
            or any(not 0 <= h <= n for h, n in zip(hits, draws, strict=True))
        ):
            return None
        return cls(event, swapped, (hits[0], hits[1]), (draws[0], draws[1]))


def best_event(
    claim: Payoff, fit: WorldSamples, late: WorldSamples, held: TrackedEvent | None
) -> TrackedEvent:
    """The event of the fastest growth: laid out on one sample, compared on the other, and with the one held so far."""
    best: dict[bool, tuple[float, EventFamily, int]] = {}
    for family in all_families(fit, late):
        for swapped in (False, True):
            growth = _expected_growths(claim, *_ordered(family, swapped))
            at = int(np.argmax(growth))
            if swapped not in best or growth[at] > best[swapped][0]:
                best[swapped] = (float(growth[at]), family, at)
    found = []
    for swapped, (_, family, at) in best.items():
        hits, draws = _ordered(family, swapped)
        found.append(TrackedEvent(family.build(at), swapped, (int(hits[0][at]), int(hits[1][at])), draws))
    if held is not None:
        found.append(held)
    return max(found, key=lambda one: one.growth(claim))


def _ordered(family: EventFamily, swapped: bool) -> tuple[tuple[IntArray, IntArray], tuple[int, int]]:
    """Hits and draws, of the world in which the events are meant to be likelier first."""
    first, second = family.trials
    if swapped:
        return (family.hits_prime, family.hits), (second, first)
    return (family.hits, family.hits_prime), (first, second)


def _expected_growths(
    claim: Payoff,
    hits: Sequence[npt.ArrayLike],
    draws: Sequence[float],
    cautions: Sequence[float] = _CAUTIONS,
) -> FloatArray:
    """Expected growth, averaged over how cautiously the frequencies are read; shape (events,)."""
    total = np.zeros(np.size(hits[0]))
    for errors in cautions:
        p, q = wilson_shifted(hits[0], draws[0], -errors), wilson_shifted(hits[1], draws[1], errors)
        total += claim.expected_growth(claim.quick_stake(p, q), p, q)
    return total / len(cautions)
