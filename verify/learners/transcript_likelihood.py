"""A lower bound for the view of actions from likelihood ratios: no counting noise in the ratio.

Let L be the exact log density ratio of a run's releases between D and D' (a coupled run computes it beside the
actions). For an event E of the actions, ``P_D(E) >= E_D'[1{E} e^L]``: importance sampling, in which the mass of D
outside the support of D' can only add. So among draws on D' that lie in E, the mean of ``w = e^L`` is at most the
ratio ``P_D(E) / P_D'(E)``, and a lower confidence bound on that mean is one on the ratio. Where E determines the loss
the weights hardly vary, and a few hundred hits are worth a hundred thousand by counting.

The confidence bound is the empirical Bernstein bound of Maurer & Pontil (2009, Theorem 4): for n draws in [0, c] with
mean m and sample variance V, with probability at least 1 - a the expectation is at least

``m - sqrt(2 V ln(2/a) / n) - 7 c ln(2/a) / (3 (n - 1))``.

Weights are cut at c, which is fixed before the final draws; that only lowers their mean. At delta > 0 the claim allows
``P_D(E) <= e^epsilon P_D'(E) + delta``, so the bound is ``ln(ratio - delta / P_D'(E))``, with a Clopper-Pearson lower
bound on P_D'(E) and half of the error for each.

The bound holds as far as the gate's log densities are those of its samplers, and data reach the actions through it
alone; `verify_learner` asks for it only where no other layer has evidence against that.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from accountant import Coupled
from algorithms.play import INITIAL_RECORD
from mechanisms import BLOCK
from mechanisms.arrays import FloatArray
from verify.events.event import Event, HalfLine, RowTable
from verify.events.readings import ColumnValue
from verify.events.view_sample import ViewSample
from verify.learners.learner_case import LearnerCase
from verify.sampling.binomial_bounds import clopper_pearson_lower
from verify.transcripts.action_features import read_features
from verify.transcripts.transcript import Transcript
from verify.transcripts.view_pair import ViewPair
from verify.transcripts.views import played_actions

_MOST_LANES = 1 << 13  # most lanes that are played at once
_LANE_ROUNDS = 1 << 19  # most rounds of all of these lanes together, which bounds memory
_FEWEST_HITS = 32  # draws in an event below which it is not considered
_CUT = 1.001  # weights are cut at this multiple of the largest seen while choosing


@dataclass(frozen=True, slots=True)
class Chosen:
    """An event fixed before the final draws.

    Attributes
    ----------
    event
        The event.
    swapped
        True if it is likelier on D' than on D.
    cut
        The largest weight; larger ones are cut to it.
    predicted
        The bound expected of the final draws.
    share
        Share of the choosing draws in the event, on the data set where it is rare.
    """

    event: Event
    swapped: bool
    cut: float
    predicted: float
    share: float


@dataclass(frozen=True, slots=True)
class RatioBound:
    """The lower bound from the final draws.

    Attributes
    ----------
    epsilon
        The lower bound on epsilon; at least 0.
    strict_epsilon
        The same at the error level of a refutation.
    hits, trials
        Draws in the event, of how many, on the data set where it is rare.
    ratio
        The mean weight of the hits: the estimate of the ratio of probabilities.
    """

    epsilon: float
    strict_epsilon: float
    hits: int
    trials: int
    ratio: float


def choose_event(
    case: LearnerCase,
    pair: ViewPair,
    *,
    draws: int,
    final_draws: int,
    error: float,
    seed: np.random.SeedSequence,
    orders: Sequence[bool] = (False, True),
) -> Chosen | None:
    """Choose the event of one feature with the largest bound expected of the final draws; None if there is none.

    Parameters
    ----------
    case, pair
        The learner that is held to a claim, and the data sets with the features of the view.
    draws
        Draws of each world to choose on.
    final_draws
        Draws of the world where the event is rare that will be made.
    error
        Error probability of the coming bound.
    seed
        The seed of all randomness.
    orders
        The events to consider: likelier on D (False), on D' (True), or both.
    """
    best: Chosen | None = None
    for swapped in orders:
        child = np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, int(swapped)))
        batches = list(_weighted_draws(case, pair, swapped, draws, child))
        sample = ViewSample(np.concatenate([batch.values for batch, _ in batches]), batches[0][0].columns)
        weights = np.concatenate([weight for _, weight in batches])
        finite = weights[np.isfinite(weights)]
        if finite.size == 0:
            continue
        cut = _CUT * float(finite.max())
        weights = np.minimum(weights, cut)
        for index in range(len(sample.columns)):
            predicted, event = _best_event(
                sample, index, weights, cut, final_draws / draws, case.claim.delta, error
            )
            if event is not None and (best is None or predicted > best.predicted):
                share = float(np.count_nonzero(event.holds(sample))) / len(weights)
                best = Chosen(event, swapped, cut, predicted, share)
    return best


def bound_ratio(
    case: LearnerCase,
    pair: ViewPair,
    chosen: Chosen,
    *,
    draws: int,
    error: float,
    strict_error: float,
    seed: np.random.SeedSequence,
) -> RatioBound:
    """Bound the ratio of an event's probabilities on fresh draws.

    Parameters
    ----------
    case, pair
        As for `choose_event`.
    chosen
        Its result.
    draws
        Draws of the world where the event is rare.
    error, strict_error
        Probabilities with which the two bounds may fail.
    seed
        The seed of all randomness; not the one that the event was chosen with.
    """
    inside = [
        np.minimum(weights[chosen.event.holds(batch)], chosen.cut)
        for batch, weights in _weighted_draws(case, pair, chosen.swapped, draws, seed)
    ]
    hits = np.concatenate(inside)
    bounds = [_log_bound(hits, draws, chosen.cut, case.claim.delta, level) for level in (error, strict_error)]
    return RatioBound(bounds[0], bounds[1], hits.size, draws, float(hits.mean()) if hits.size else 0.0)


def _weighted_draws(
    case: LearnerCase, pair: ViewPair, swapped: bool, draws: int, seed: np.random.SeedSequence
) -> Iterator[tuple[ViewSample, FloatArray]]:
    """Draw views on D' (on D, if swapped) with the weights ``P_D / P_D'`` (``P_D' / P_D``) of their releases."""
    base, other = (pair.data, pair.data_prime) if swapped else (pair.data_prime, pair.data)
    worlds = np.stack([base, other])
    lanes = min(_MOST_LANES, _LANE_ROUNDS // pair.rounds) // BLOCK * BLOCK or BLOCK
    sizes = [min(lanes, draws - done) for done in range(0, draws, lanes)]
    for batch, size in enumerate(sizes):  # not `spawn`, which would give others when asked again
        gate = Coupled(np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, batch)), size, 1)
        transcript = Transcript(played_actions(case.build, case.problem, gate, worlds))
        if case.hides_own_action and pair.record != INITIAL_RECORD:
            transcript.hide(pair.record)
        with np.errstate(over="ignore"):
            yield read_features(pair.features, transcript), np.exp(-gate.loss[0])


def _best_event(
    sample: ViewSample, index: int, weights: FloatArray, cut: float, scale: float, delta: float, error: float
) -> tuple[float, Event | None]:
    """Return the best event of one column, a half-line or a set of labels, and the bound expected of it."""
    column = sample.columns[index]
    values, place, hits = np.unique(sample.values[:, index], return_inverse=True, return_counts=True)
    sums: list[FloatArray] = [hits.astype(np.float64)]
    for power in (weights, weights * weights):
        sums.append(np.bincount(place, weights=power).astype(np.float64))
    if column.kind == "category":
        order = np.argsort(-sums[1] / sums[0], kind="stable")
        order = order[hits[order] >= max(4, len(weights) // 2**15)]
    else:
        order = np.arange(len(values))
    best = -math.inf
    event: Event | None = None
    directions = (order,) if column.kind == "category" else (order, order[::-1])
    for above, members in enumerate(directions):
        seen, totals, squares = (np.cumsum(each[members]) for each in sums)
        promises = _expected_bounds(seen, totals, squares, len(weights), cut, scale, delta, error)
        at = int(np.argmax(promises)) if promises.size else 0
        if promises.size and promises[at] > best:
            best = float(promises[at])
            if column.kind == "category":
                rows = tuple((float(values[member]),) for member in members[: at + 1])
                event = RowTable((ColumnValue(column),), rows)
            else:
                event = HalfLine(ColumnValue(column), float(values[members[at]]), bool(above))
    return best, event if best > 0.0 else None


def _expected_bounds(
    hits: FloatArray,
    totals: FloatArray,
    squares: FloatArray,
    draws: int,
    cut: float,
    scale: float,
    delta: float,
    error: float,
) -> FloatArray:
    """Return the bounds that events would get from `scale` times as many draws, two standard errors worse."""
    mean = totals / hits
    variance = np.maximum(squares / hits - mean**2, 0.0)
    log_term = math.log((4.0 if delta else 2.0) / error)
    coming = np.maximum(hits * scale, 2.0)
    lower = mean - 2.0 * np.sqrt(variance / hits) - np.sqrt(2.0 * variance * log_term / coming)
    lower -= 7.0 * cut * log_term / (3.0 * (coming - 1.0))
    share = hits / draws
    lower -= delta / np.maximum(share - 3.0 * np.sqrt(share / draws), 1e-300)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where((hits >= _FEWEST_HITS) & (lower > 0.0), np.log(lower), -math.inf)


def _log_bound(weights: FloatArray, draws: int, cut: float, delta: float, error: float) -> float:
    """Return ``ln`` of the lower bound on the ratio, less delta's share of it; at least 0."""
    n = weights.size
    if n < 2:
        return 0.0
    each = error / 2.0 if delta else error
    log_term = math.log(2.0 / each)
    lower = float(weights.mean()) - math.sqrt(2.0 * float(weights.var(ddof=1)) * log_term / n)
    lower -= 7.0 * cut * log_term / (3.0 * (n - 1))
    lower *= 1.0 - 1e-9  # sums of log densities are good to about 1e-13
    if delta:
        share = float(clopper_pearson_lower(n, draws, each))
        if share <= 0.0:
            return 0.0
        lower -= delta / share
    return max(0.0, math.log(lower)) if lower > 0.0 else 0.0
