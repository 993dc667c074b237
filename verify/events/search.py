"""Find the event of a view that tells two worlds apart best.

Two disjoint samples of each world are used. On the first, families of events are laid out: quantiles become
thresholds, counts become likelihood-ratio tables, scores are fitted. On the second, all events are counted
at once. The winner is the event whose *predicted lower bound* on a coming test is highest, never the one
with the highest raw ratio: a ratio is worth nothing where its error is as large. Nothing here decides about
a claim; the test on fresh draws does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from verify.events.event import Event
from verify.events.families import Family, Worlds
from verify.events.layout import all_families, lattice_families, quick_families
from verify.events.readings import Reading
from verify.events.view_sample import FloatArray
from verify.statistics.predicted_bound import predicted_epsilon

LESS_CAUTION = 0.65  # as CAUTION, for events that fresh draws will judge once more
DECADES = 5  # of probability, in each of which an event is listed for that
CAUTION = 1.25  # standard errors, relative to those expected within a family: families compete, too
SHORTLIST = 64  # events of a family that are looked at closely
SIMPLER_WITHIN = 0.01  # a simpler event is preferred at this relative loss of predicted ε


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
        The two best events; and for each decade of probability and each order, the best at less caution, if it promises
        more: a rare event says more, if it is no luck, and only fresh draws can tell.
    """

    best: tuple[ChosenEvent, ChosenEvent]
    band: tuple[ChosenEvent, ...] = ()
    shortlist: tuple[ChosenEvent, ...] = ()


@dataclass(frozen=True, slots=True)
class _Entry:
    """The best event of a family, not yet written down."""

    predicted: float
    build: Callable[[int], Event]
    at: int
    swapped: bool

    def chosen(self) -> ChosenEvent:
        return ChosenEvent(self.build(self.at), self.predicted, self.swapped)


def search_events(
    fit: Worlds,
    choose: Worlds,
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
        Among events within 1 % of the best prediction the one simplest to say is taken.
    """
    best: tuple[list[_Entry], list[_Entry]] = ([], [])
    bolder: dict[tuple[bool, int], list[_Entry]] = {}
    band: list[list[_Entry]] = [[] for _ in band_epsilons]
    families = lattice_families(fit, choose) if lattice else all_families(fit, choose)
    two = -float(special.ndtri(error / 2.0))
    for family in families if quick is None else quick_families(fit, choose, quick):
        for swapped in (False, True):
            p, q = cautious_estimates(family, swapped, delta)
            best[swapped].append(
                _best_entry(family, swapped, p, q, final_samples, delta, error, _beaten(best[swapped]))
            )
            if shortlist:
                estimates = cautious_estimates(family, swapped, delta, LESS_CAUTION)
                ratio = _rough_ratio(*estimates, final_samples, delta, error, 0.75)
                decade = np.clip(-np.floor(np.log10(np.maximum(estimates[0], 1e-300))), 1, DECADES)
                for place in np.unique(decade):
                    at = int(np.argmax(np.where(decade == place, ratio, -1.0)))
                    promise = float(np.log(max(ratio[at], 1e-300)))
                    entry = _Entry(promise, family.build, at, swapped)
                    bolder.setdefault((swapped, int(place)), []).append(entry)
            if band_epsilons:
                low, up = (_wilson(x, final_samples, np.full(p.shape, z)) for x, z in ((p, -two), (q, two)))
                for entries, epsilon in zip(band, band_epsilons, strict=True):
                    factor = float(np.exp(min(epsilon, 700.0)))
                    at = int(np.argmax(low - factor * up))
                    entries.append(_Entry(float(low[at] - factor * up[at]), family.build, at, swapped))
    band_events: dict[tuple[int, int, bool], ChosenEvent] = {}
    for entries in band:
        entry = _simplest(entries)
        if entry.predicted > 0.0:
            band_events.setdefault((id(entry.build), entry.at, entry.swapped), entry.chosen())
    both = _simplest(best[0]).chosen(), _simplest(best[1]).chosen()
    listed = {(event.event, event.swapped): event for event in both}
    for _, entries in sorted(bolder.items(), key=lambda item: item[0]):
        event = _simplest(entries).chosen()
        if event.predicted > max(0.0, *(one.predicted for one in both)):
            listed.setdefault((event.event, event.swapped), event)
    return Found(both, tuple(band_events.values()), tuple(listed.values()))


def cautious_estimates(
    family: Family, swapped: bool, delta: float, caution: float = CAUTION
) -> tuple[FloatArray, FloatArray]:
    """Estimates of p and q of each event of a family, moved towards the harmless side.

    The best of many noisy estimates is too good on average (the winner's curse): among K unrelated ones by
    about sqrt(2 ln K) standard errors. So ln((p - δ)/q) is moved by as many, K by `Family.alternatives`; p
    and q share the move in proportion to their variances, as they do in the final bound. The moves are
    Wilson's score bounds, which stay sound at counts of zero.
    """
    hits, trials = (family.hits, family.hits_prime), family.trials
    n, m = (trials[1], trials[0]) if swapped else trials
    p, q = (hits[1] / n, hits[0] / m) if swapped else (hits[0] / n, hits[1] / m)
    p_one, q_one = (p * n + 1.0) / (n + 2.0), (q * m + 1.0) / (m + 2.0)
    p_error = np.sqrt(p_one * (1.0 - p_one) / n) / np.maximum(p_one - delta, 1e-3 * p_one)
    q_error = np.sqrt((1.0 - q_one) / (m * q_one))
    both = np.hypot(p_error, q_error)
    move = caution * np.sqrt(2.0 * np.log1p(family.alternatives(p_one)))
    return _wilson(p, n, -move * p_error / both), _wilson(q, m, move * q_error / both)


def _best_entry(
    family: Family,
    swapped: bool,
    p: FloatArray,
    q: FloatArray,
    final_samples: int,
    delta: float,
    error: float,
    beaten: float,
) -> _Entry:
    """The event of the family with the highest predicted bound; roughly, if that is at most `beaten`."""
    kept = np.arange(p.size)
    # Together p and q have to bear more of the error than half of the score each: a bound on what to expect.
    hopeful = _rough_ratio(p, q, final_samples, delta, error, 0.5)
    at = int(np.argmax(hopeful))
    if hopeful[at] <= np.exp(min(beaten, 700.0)):
        return _Entry(float(np.log(max(hopeful[at], 1e-300))), family.build, at, swapped)
    if p.size > 2 * SHORTLIST:
        kept = np.sort(
            np.argpartition(-_rough_ratio(p, q, final_samples, delta, error, 0.75), SHORTLIST)[:SHORTLIST]
        )
    predicted = predicted_epsilon(p[kept], q[kept], final_samples, delta, error)
    at = int(np.argmax(predicted))
    return _Entry(float(predicted[at]), family.build, int(kept[at]), swapped)


def _rough_ratio(
    p: FloatArray, q: FloatArray, n: int, delta: float, error: float, share: float
) -> FloatArray:
    """Roughly (p - δ)/q as a test of n draws a side will show it, p and q bearing this share of the score each."""
    z = -share * float(special.ndtri(error))
    low, up = (_wilson(x, n, np.full(p.shape, side)) for x, side in ((p, -z), (q, z)))
    return np.asarray(np.maximum(low - delta, 0.0) / up)


def _beaten(found: Sequence[_Entry]) -> float:
    """A predicted bound with which an event that comes later cannot be chosen."""
    top = max((entry.predicted for entry in found), default=-np.inf)
    return float(top - SIMPLER_WITHIN * max(top, 0.0)) if np.isfinite(top) else -np.inf


def _wilson(p: FloatArray, n: int, z: FloatArray) -> FloatArray:
    """Wilson's score bound |z| standard errors above (z > 0) or below (z < 0) the estimate p."""
    centre = p + z * z / (2.0 * n)
    half = z * np.sqrt(p * (1.0 - p) / n + z * z / (4.0 * n * n))
    return np.asarray(np.clip((centre + half) / (1.0 + z * z / n), 0.0, 1.0))


def _simplest(found: Sequence[_Entry]) -> _Entry:
    top = max(entry.predicted for entry in found)
    enough = top - SIMPLER_WITHIN * max(top, 0.0)
    return next(entry for entry in found if entry.predicted >= enough)
