"""Find the event of a view that tells two worlds apart best.

Two disjoint samples of each world are used. On the first, families of events are laid out: quantiles become
thresholds, counts become likelihood-ratio tables, scores are fitted. On the second, all events are counted
at once. The winner is the event whose *predicted lower bound* on a coming test is highest, never the one
with the highest raw ratio: a ratio is worth nothing where its error is as large. Nothing here decides about
a claim; the test on fresh draws does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from mechanisms.arrays import FloatArray
from verify.events.event import Event
from verify.events.families import Family
from verify.events.readings import Reading
from verify.events.rounded_columns import OfRounded, RoundedColumns, rounded_columns
from verify.events.tried_families import all_families, lattice_families, quick_families
from verify.events.view_sample import WorldSamples
from verify.statistics.predicted_bound import moved_apart, predicted_epsilon, wilson_bound

_LESS_CAUTION = 0.3  # as _CAUTION, for events that fresh draws will judge once more
DECADES = 5  # of probability, in each half of which an event is listed for that
_CAUTION = 1.25  # standard errors, relative to those expected within a family: families compete, too
_SHORTLIST = 64  # events of all families that are looked at closely
_OF_A_FAMILY = 8  # events of a family that are looked at closely
_SIMPLER_WITHIN = 0.01  # a simpler event is preferred at this relative loss of predicted ε
_SIMPLER_IN_BAND = (
    0.05  # the same of predicted δ in the band: every other reading is one more to take of all draws
)


@dataclass(frozen=True, slots=True)
class ChosenEvent:
    """An event and what the choosing draws said about it.

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
    """What a search found.

    Attributes
    ----------
    best
        The best event that is likelier in the first world, and the best that is likelier in the second.
    band
        For every ε of `band_epsilons` at which one is predicted to be positive, the event, of either order,
        with the largest predicted lower bound on δ; distinct events only, in the order of `band_epsilons`.
    shortlist
        The two best events; and for each half decade of probability and each order, the best at less caution, if it
        promises more: a rare event says more, if it is no luck, and only fresh draws can tell.
    """

    best: tuple[ChosenEvent, ChosenEvent]
    band: tuple[ChosenEvent, ...] = ()
    shortlist: tuple[ChosenEvent, ...] = ()


def search_events(
    fit: WorldSamples,
    choose: WorldSamples,
    *,
    final_samples: int,
    delta: float,
    error: float,
    band_epsilons: Sequence[float] = (),
    lattice: bool = False,
    quick: Reading | None = None,
    shortlist: bool = False,
) -> Found:
    """The best event for each order of the two worlds, and events for a band of δ over ε.

    Parameters
    ----------
    fit
        A sample of each world, on which events are laid out.
    choose
        A fresh sample of each world, both of one size, on which they are compared.
    final_samples, delta, error
        Draws a side, δ and error of the coming test.
    band_epsilons
        Values of ε for which events with a large lower bound on δ are wanted.
    lattice
        Look only at how numbers lie on the floating-point lattice (sign, exponent, trailing bits), which the
        mechanism as written in real arithmetic knows nothing of.
    quick
        Look only at families that cost little, this score among them.
    shortlist
        Whether `Found.shortlist` is to hold more than the two best events.

    Returns
    -------
    Found
        Among events within 1 % of the best prediction (5 % in the band) the one simplest to say is taken.
    """
    # What bits tell is told as it is; a quick search only compares pairs of data.
    rounded = None if lattice or quick is not None else rounded_columns(fit)
    if rounded is not None:
        fit, choose = ((rounded.of(one), rounded.of(other)) for one, other in (fit, choose))
    if quick is not None:
        families = quick_families(fit, choose, quick)
    else:
        families = lattice_families(fit, choose) if lattice else all_families(fit, choose)
    counted = _Counted.of(list(families), rounded)
    best = (
        _best_of_order(counted, False, final_samples, delta, error),
        _best_of_order(counted, True, final_samples, delta, error),
    )
    listed = {(event.event, event.swapped): event for event in best}
    least = max(0.0, *(event.predicted for event in best))
    for swapped in (False, True) if shortlist else ():
        for event in _bolder(counted, swapped, final_samples, delta, error, least):
            listed.setdefault((event.event, event.swapped), event)
    band = _band(counted, band_epsilons, final_samples, delta, error) if band_epsilons else []
    return Found(best, tuple(band), tuple(listed.values()))


@dataclass(frozen=True, slots=True)
class _Counted:
    """All events of all families, one after the other.

    Attributes
    ----------
    families
        The families.
    family, at
        Of each event.
    hits, trials
        Shape (2, events): the first world, then the second.
    split
        As `Family.split`; NaN where it was not counted.
    rounded
        The columns that were read rounded, None if none were.
    """

    families: Sequence[Family]
    family: npt.NDArray[np.intp]
    at: npt.NDArray[np.intp]
    hits: FloatArray
    trials: FloatArray
    split: FloatArray
    rounded: RoundedColumns | None

    @classmethod
    def of(cls, families: Sequence[Family], rounded: RoundedColumns | None = None) -> _Counted:
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
        """`cautious_estimates` of all events."""
        way = slice(None, None, -1 if swapped else 1)
        (first, second), (n, m) = self.hits[way], self.trials[way]
        mass = (first + 1.0) / (n + 2.0)
        starts = np.flatnonzero(np.diff(self.family, prepend=-1))
        parts = np.split(mass, starts[1:])
        alike = [family.alternatives(part) for family, part in zip(self.families, parts, strict=True)]
        return moved_apart(first / n, second / m, (n, m), self.split, np.concatenate(alike), delta, caution)

    def chosen(self, index: int, predicted: float, swapped: bool) -> ChosenEvent:
        """The event at an index."""
        event = self.families[self.family[index]].build(int(self.at[index]))
        if self.rounded is not None:
            event = OfRounded(event, self.rounded)
        return ChosenEvent(event, predicted, swapped)

    def simplest(
        self, value: FloatArray, some: npt.NDArray[np.intp] | None = None, within: float = _SIMPLER_WITHIN
    ) -> tuple[int, float]:
        """Of the first family with a value near the largest, the event with the largest, and that value.

        `value` is that of the events `some`, in increasing order; of all of them, if they are not given. Near is what
        falls short by no more than the share `within`.
        """
        family = self.family if some is None else self.family[some]
        top = float(value.max())
        first = family[int(np.argmax(value >= top - within * max(top, 0.0)))]
        start, stop = np.searchsorted(family, [first, first + 1])
        best = int(start + np.argmax(value[start:stop]))
        return best if some is None else int(some[best]), float(value[best])


def cautious_estimates(
    family: Family, swapped: bool, delta: float, caution: float = _CAUTION
) -> tuple[FloatArray, FloatArray]:
    """Estimates of p and q of each event of a family, moved towards the harmless side: `moved_apart`."""
    return _Counted.of([family]).cautious(swapped, delta, caution)


def _best_of_order(
    counted: _Counted, swapped: bool, final_samples: int, delta: float, error: float
) -> ChosenEvent:
    """The event with the highest predicted bound among those likelier in one world; the simplest of those near it."""
    p, q = counted.cautious(swapped, delta, _CAUTION)
    rough = _rough_ratio(p, q, final_samples, delta, error, 0.75)
    most = np.argsort(-rough, kind="stable")[:_SHORTLIST]
    top = float(predicted_epsilon(p[most], q[most], final_samples, delta, error).max())
    # Together p and q have to bear more of the error than half of the score each: a bound on what to expect.
    hopeful = _rough_ratio(p, q, final_samples, delta, error, 0.5)
    near = (
        hopeful >= np.exp(min(top - _SIMPLER_WITHIN * max(top, 0.0), 700.0))
        if np.isfinite(top)
        else rough >= 0.0
    )
    near[most] = True
    # Of each family only the most promising.
    some = np.flatnonzero(near)
    order = some[np.lexsort((-rough[some], counted.family[some]))]
    family = counted.family[order]
    rank = np.arange(order.size) - np.searchsorted(family, family)
    some = np.sort(order[rank < _OF_A_FAMILY])
    predicted = predicted_epsilon(p[some], q[some], final_samples, delta, error)
    return counted.chosen(*counted.simplest(predicted, some), swapped)


def _bolder(
    counted: _Counted, swapped: bool, final_samples: int, delta: float, error: float, least: float
) -> list[ChosenEvent]:
    """For each range of probability the best event at less caution, if it promises more than `least`."""
    p, q = counted.cautious(swapped, delta, _LESS_CAUTION)
    promise = np.log(np.maximum(_rough_ratio(p, q, final_samples, delta, error, 0.75), 1e-300))
    place = np.clip(np.floor(-2.0 * np.log10(np.maximum(p, 1e-300))), 0, 2 * DECADES).astype(np.int64)
    found = []
    for which in range(2 * DECADES + 1):
        some = np.flatnonzero((place == which) & (promise > least))
        if some.size:
            found.append(counted.chosen(*counted.simplest(promise[some], some), swapped))
    return found


def _band(
    counted: _Counted, epsilons: Sequence[float], final_samples: int, delta: float, error: float
) -> list[ChosenEvent]:
    """For every ε the event, of either order, with the largest predicted lower bound on δ, if that is positive."""
    two = -float(special.ndtri(error / 2.0))
    bounds = []
    for swapped in (False, True):
        p, q = counted.cautious(swapped, delta, _CAUTION)
        bounds.append([wilson_bound(x, final_samples, np.full(p.shape, z)) for x, z in ((p, -two), (q, two))])
    found: dict[tuple[int, bool], ChosenEvent] = {}
    for epsilon in epsilons:
        factor = float(np.exp(min(epsilon, 700.0)))
        gaps = [low - factor * up for low, up in bounds]
        best = [counted.simplest(gap, within=_SIMPLER_IN_BAND) for gap in gaps]
        swapped = best[1][1] > best[0][1] + _SIMPLER_WITHIN * max(best[1][1], 0.0)
        index, gap = best[swapped]
        if gap > 0.0:
            found.setdefault((index, swapped), counted.chosen(index, gap, swapped))
    return list(found.values())


def _rough_ratio(
    p: FloatArray, q: FloatArray, n: int, delta: float, error: float, share: float
) -> FloatArray:
    """Roughly (p - δ)/q as a test of n draws a side will show it, p and q bearing this share of the score each."""
    z = -share * float(special.ndtri(error))
    low, up = (wilson_bound(x, n, np.full(p.shape, side)) for x, side in ((p, -z), (q, z)))
    return np.asarray(np.maximum(low - delta, 0.0) / up)
