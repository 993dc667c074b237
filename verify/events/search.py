"""Search for the event of a view with the largest predicted bound between two worlds.

Two disjoint samples of each world are used. On the first, families of events are laid out: quantiles become
thresholds, counts become likelihood-ratio tables, scores are fitted. On the second, all events are counted
at once. The winner is the event with the highest *predicted lower bound* of a coming test, not the one with
the highest raw ratio: a ratio is worth nothing if its error is as large. Nothing here decides about a claim;
the test on fresh draws does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from mechanisms.arrays import FloatArray
from verify.events.event import Event
from verify.events.families import EventFamily
from verify.events.predicted_bound import ComingTest, wilson_bound, wilson_shifted_pair
from verify.events.readings import Reading
from verify.events.rounded_columns import OfRounded, RoundedColumns, rounded_columns
from verify.events.tried_families import all_families, lattice_families, quick_families
from verify.events.view_sample import WorldSamples


@dataclass(frozen=True, slots=True)
class _Settings:
    """Settings of the comparison of events; chosen by hand on the zoo.

    Attributes
    ----------
    caution
        Standard errors, relative to those expected within a family, by which estimates are moved: families compete,
        too.
    less_caution
        The same for events that are counted once more on fresh draws.
    listed
        Events of all families that are compared by the exact prediction.
    of_a_family
        Events of a family that are.
    simpler_within
        Relative loss of predicted ε at which a simpler event is preferred.
    simpler_in_band
        The same of predicted δ in the band: every other reading is one more to take of all draws.
    """

    caution: float = 1.25
    less_caution: float = 0.3
    listed: int = 64
    of_a_family: int = 8
    simpler_within: float = 0.01
    simpler_in_band: float = 0.05


_SETTINGS = _Settings()

DECADES = 5
"""Decades of probability for a band of δ over ε: an event is listed in each half of one."""


@dataclass(frozen=True, slots=True)
class ChosenEvent:
    """An event with the bound predicted from the draws by which it was chosen.

    Attributes
    ----------
    event
        The event.
    predicted
        Predicted lower bound of the coming test: on ε at the given δ for an event of `Found.best`, on δ at
        the ε it was chosen for for one of `Found.band`.
    swapped
        False: the event is the likelier one in the first world; True: in the second.
    """

    event: Event
    predicted: float
    swapped: bool


@dataclass(frozen=True, slots=True)
class Found:
    """The events that a search found.

    Attributes
    ----------
    best
        The best event that is likelier in the first world, and the best that is likelier in the second.
    band
        For every ε of `band_epsilons` at which one is predicted to be positive, the event, of either order,
        with the largest predicted lower bound on δ; distinct events only, in the order of `band_epsilons`.
    shortlist
        The two best events, and the two best that can be read; and for each half decade of probability and each order,
        the best at less caution, if its prediction is larger: a rare event shows more, if it is not by chance, and only
        fresh draws can decide that.
    """

    best: tuple[ChosenEvent, ChosenEvent]
    band: tuple[ChosenEvent, ...] = ()
    shortlist: tuple[ChosenEvent, ...] = ()


def search_events(
    fit: WorldSamples,
    choose: WorldSamples,
    test: ComingTest,
    *,
    band_epsilons: Sequence[float] = (),
    lattice: bool = False,
    quick: Sequence[Reading] | None = None,
    shortlist: bool = False,
) -> Found:
    """The best event for each order of the two worlds, and events for a band of δ over ε.

    Parameters
    ----------
    fit
        A sample of each world, on which events are laid out.
    choose
        A fresh sample of each world, both of one size, on which they are compared.
    test
        The coming test.
    band_epsilons
        Values of ε for which events with a large lower bound on δ are wanted.
    lattice
        Try only the place of numbers on the floating-point lattice (sign, exponent, trailing bits), which the
        mechanism as written in real arithmetic does not have.
    quick
        Try only families that cost little, these scores among them.
    shortlist
        True if `Found.shortlist` is to hold more than the two best events.

    Returns
    -------
    Found
        Among events within 1 % of the best prediction (5 % in the band) the simplest is taken.
    """
    # Bits are tested without rounding; a quick search only compares pairs of data.
    rounded = None if lattice or quick is not None else rounded_columns(fit)
    if rounded is not None:
        fit, choose = ((rounded.values(one), rounded.values(other)) for one, other in (fit, choose))
    if quick is not None:
        families = list(quick_families(fit, choose, quick))
    else:
        families = list(lattice_families(fit, choose) if lattice else all_families(fit, choose))
    counted = _Candidates.from_families(families, rounded)
    best = _best_of_order(counted, False, test), _best_of_order(counted, True, test)
    listed = {(event.event, event.swapped): event for event in best}
    least = max(0.0, *(event.predicted for event in best))
    readable = [family for family in families if shortlist and family.hits.size and family.build(0).readable]
    for swapped in (False, True) if shortlist else ():
        if readable and not best[swapped].event.readable:
            read = _best_of_order(_Candidates.from_families(readable, rounded), swapped, test)
            listed[read.event, swapped] = read
        for event in _bolder(counted, swapped, test, least):
            listed.setdefault((event.event, event.swapped), event)
    band = _band(counted, band_epsilons, test) if band_epsilons else []
    return Found(best, tuple(band), tuple(listed.values()))


@dataclass(frozen=True, slots=True)
class _Candidates:
    """All events of all families, one after the other.

    Attributes
    ----------
    families
        The families.
    family, at
        The family of each event, and its number in the family.
    hits, trials
        Shape (2, events): the first world, then the second.
    split
        As `EventFamily.split`; NaN where it was not counted.
    rounded
        The columns that were read rounded, None if none were.
    """

    families: Sequence[EventFamily]
    family: npt.NDArray[np.intp]
    at: npt.NDArray[np.intp]
    hits: FloatArray
    trials: FloatArray
    split: FloatArray
    rounded: RoundedColumns | None

    @classmethod
    def from_families(cls, families: Sequence[EventFamily], rounded: RoundedColumns | None) -> _Candidates:
        sizes = [family.hits.size for family in families]
        trials = [np.repeat([[float(n)] for n in family.trials], family.hits.size, 1) for family in families]
        split = [np.full(f.hits.size, np.nan) if f.split is None else f.split for f in families]
        return cls(
            families,
            np.repeat(np.arange(len(families)), sizes),
            np.concatenate([np.arange(size) for size in sizes]),
            np.concatenate([np.stack([family.hits, family.hits_prime]) for family in families], axis=1) + 0.0,
            np.concatenate(trials, axis=1),
            np.concatenate(split),
            rounded,
        )

    def cautious(self, swapped: bool, delta: float, caution: float) -> tuple[FloatArray, FloatArray]:
        """Estimates of p and q of all events, moved towards the harmless side: `wilson_shifted_pair`."""
        way = slice(None, None, -1 if swapped else 1)
        (first, second), (n, m) = self.hits[way], self.trials[way]
        mass = (first + 1.0) / (n + 2.0)
        starts = np.flatnonzero(np.diff(self.family, prepend=-1))
        parts = np.split(mass, starts[1:])
        alike = [family.alternatives(part) for family, part in zip(self.families, parts, strict=True)]
        return wilson_shifted_pair(
            first / n, second / m, (n, m), self.split, np.concatenate(alike), delta, caution
        )

    def choose(self, index: int, predicted: float, swapped: bool) -> ChosenEvent:
        """Return the event at an index."""
        event = self.families[self.family[index]].build(int(self.at[index]))
        if self.rounded is not None:
            event = OfRounded(event, self.rounded)
        return ChosenEvent(event, predicted, swapped)

    def simplest(
        self, value: FloatArray, some: npt.NDArray[np.intp], within: float = _SETTINGS.simpler_within
    ) -> tuple[int, float]:
        """Of the first family with a value near the largest, the event with the largest, and that value.

        `value` is that of the events `some`, in increasing order. Near values fall short by no more than the share
        `within`.
        """
        family = self.family[some]
        top = float(value.max())
        first = family[int(np.argmax(value >= top - within * max(top, 0.0)))]
        start, stop = np.searchsorted(family, [first, first + 1])
        best = int(start + np.argmax(value[start:stop]))
        return int(some[best]), float(value[best])


def _best_of_order(counted: _Candidates, swapped: bool, test: ComingTest) -> ChosenEvent:
    """The event with the highest predicted bound among those likelier in one world; the simplest of those near it."""
    p, q = counted.cautious(swapped, test.delta, _SETTINGS.caution)
    rough = test.rough_ratio(p, q, 0.75)
    most = np.argsort(-rough, kind="stable")[: _SETTINGS.listed]
    top = float(test.predicted(p[most], q[most]).max())
    # Together p and q have to bear more of the error than half of the score each: an upper bound on the prediction.
    hopeful = test.rough_ratio(p, q, 0.5)
    near = (
        hopeful >= np.exp(min(top - _SETTINGS.simpler_within * max(top, 0.0), 700.0))
        if np.isfinite(top)
        else rough >= 0.0
    )
    near[most] = True
    # Of each family only the most promising.
    some = np.flatnonzero(near)
    order = some[np.lexsort((-rough[some], counted.family[some]))]
    family = counted.family[order]
    rank = np.arange(order.size) - np.searchsorted(family, family)
    some = np.sort(order[rank < _SETTINGS.of_a_family])
    predicted = test.predicted(p[some], q[some])
    return counted.choose(*counted.simplest(predicted, some), swapped)


def _bolder(counted: _Candidates, swapped: bool, test: ComingTest, least: float) -> list[ChosenEvent]:
    """For each range of probability the best event at less caution, if it promises more than `least`."""
    p, q = counted.cautious(swapped, test.delta, _SETTINGS.less_caution)
    promise = np.log(np.maximum(test.rough_ratio(p, q, 0.75), 1e-300))
    place = np.clip(np.floor(-2.0 * np.log10(np.maximum(p, 1e-300))), 0, 2 * DECADES).astype(np.int64)
    hopeful = np.flatnonzero(promise > least)
    alike = [hopeful[place[hopeful] == which] for which in np.unique(place[hopeful])]
    return [counted.choose(*counted.simplest(promise[some], some), swapped) for some in alike]


def _band(counted: _Candidates, epsilons: Sequence[float], test: ComingTest) -> list[ChosenEvent]:
    """For every ε the event, of either order, with the largest predicted lower bound on δ, if that is positive."""
    two = -float(special.ndtri(test.error / 2.0))
    bounds = []
    for swapped in (False, True):
        p, q = counted.cautious(swapped, test.delta, _SETTINGS.caution)
        bounds.append([wilson_bound(x, test.draws, np.full(p.shape, z)) for x, z in ((p, -two), (q, two))])
    found: dict[tuple[int, bool], ChosenEvent] = {}
    every = np.arange(counted.family.size)
    for epsilon in epsilons:
        factor = float(np.exp(min(epsilon, 700.0)))
        gaps = [low - factor * up for low, up in bounds]
        best = [counted.simplest(gap, every, _SETTINGS.simpler_in_band) for gap in gaps]
        swapped = best[1][1] > best[0][1] + _SETTINGS.simpler_within * max(best[1][1], 0.0)
        index, gap = best[swapped]
        if gap > 0.0:
            found.setdefault((index, swapped), counted.choose(index, gap, swapped))
    return list(found.values())
