"""Points of a domain and moves between them on which known bugs show: ends, centres and ties.

The moves are those of StatDP (Ding, Wang, Wang, Zhang, Kifer 2018, section 5.2): one coordinate above or below, all
above or below, one above and the rest below and the reverse, half above and half below, and the "X shape",
around several centres instead of only the all-equal vector. Where neighbours may differ by no more than a step, further
moves go across or up to a tie, from gaps of 1, 2, 4 and 6 steps: selections (noisy max, the exponential mechanism, the
sparse vector technique) lose most where the odd one out is rare, but not too rare to be seen.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations, islice, product
from typing import NamedTuple

import numpy as np

from mechanisms import Ball, Box, Categories, Domain, Integers, Interval
from mechanisms.arrays import FloatArray
from verify.neighbouring.adjacency import Data, Pair
from verify.neighbouring.distances import Distances

_FARTHEST = 1e3
"""The largest distance of points from zero in an unbounded domain."""


class _Gap(NamedTuple):
    """A gap between a part of the coordinates and the rest that is closed.

    The parts are the first coordinate, the first half, the last third (as many queries above the threshold as the
    sparse vector technique may answer, after many below) and every fourth (where it draws the threshold again after
    each).

    Attributes
    ----------
    steps
        Its width, in steps of the largest move.
    ahead
        True if the part is ahead of the rest.
    part
        The name of the part.
    """

    steps: int
    ahead: bool
    part: str


_GAPS = (
    _Gap(steps=2, ahead=False, part="one"),
    _Gap(steps=1, ahead=True, part="one"),
    _Gap(steps=4, ahead=True, part="half"),
    _Gap(steps=4, ahead=False, part="one"),
    _Gap(steps=1, ahead=False, part="one"),
    _Gap(steps=4, ahead=True, part="last third"),
    _Gap(steps=1, ahead=True, part="half"),
    _Gap(steps=6, ahead=False, part="one"),
    _Gap(steps=4, ahead=False, part="every fourth"),
    _Gap(steps=2, ahead=True, part="one"),
    _Gap(steps=4, ahead=True, part="one"),
    _Gap(steps=4, ahead=False, part="half"),
    _Gap(steps=2, ahead=True, part="half"),
    _Gap(steps=2, ahead=False, part="half"),
    _Gap(steps=1, ahead=False, part="every fourth"),
)
"""Gaps that are closed, the most distinguishing first; found on noisy maxima and sparse vectors of the zoo."""

_LEAST_PARTED = 4
"""Coordinates of which a last third and every fourth are no other parts than the last one."""

_SHRINK = (1.0, 1.0 - 2.0**-48)
"""Factors of a move that are tried in turn: the second where rounding made the first too long."""


def extreme_points(domain: Domain) -> list[tuple[str, Data]]:
    """Return named points: the two opposite ends first, then the middle and further extreme points."""
    ends = ends_of(domain)
    if ends is None:
        extremes = list(domain.extremes()[:8])
        return [(f"{point.tolist()}", np.asarray(point)) for point in extremes]
    low, high = ends
    middle = _floor_integers(domain, low + (high - low) / 2.0)
    named = [("lowest", low), ("highest", high), ("in the middle", middle)]
    named += [(f"{value:g}", np.full(low.shape, value)) for value in (0.0, 1.0)]
    inside = [(words, point) for words, point in named if (low <= point).all() and (point <= high).all()]
    return _distinct([(words, as_domain_data(domain, point)) for words, point in inside])


def rising_point(domain: Domain) -> list[Data]:
    """Return the point of a box with coordinates that rise evenly from the lowest to the highest; none of a number.

    The ends have equal coordinates: where these are keys, one record has several only if they differ.
    """
    ends = ends_of(domain)
    if ends is None or ends[0].size < 2:
        return []
    low, high = ends
    share = np.linspace(0.0, 1.0, low.size).reshape(low.shape)
    return [as_domain_data(domain, _floor_integers(domain, low + share * (high - low)))]


def ends_of(domain: Domain) -> tuple[FloatArray, FloatArray] | None:
    """Return the lowest and the highest point of a box-shaped domain, both finite; None for other domains."""
    if isinstance(domain, Interval | Box | Integers):
        lower, upper = float(domain.lower), float(domain.upper)
    elif isinstance(domain, Ball) and domain.order == math.inf:
        lower, upper = -domain.radius, domain.radius
    else:
        return None
    low = lower if math.isfinite(lower) else min(upper, 0.0) - _FARTHEST
    high = upper if math.isfinite(upper) else max(lower, 0.0) + _FARTHEST
    return np.full(domain.shape, low), np.full(domain.shape, high)


def extreme_moves(domain: Domain, distances: Distances) -> Iterator[Pair]:
    """Yield pairs of points no further apart than `distances`, with descriptions, by decreasing expected loss.

    Points may coincide, and pairs repeat; pairs of a domain that is no box may be too far apart.
    """
    if ends_of(domain) is not None:
        # Where every draw is a call, there are draws for the first handful only: one of each sort first.
        centres = _centres(domain)
        around_zero = list(_pattern_moves(domain, distances, centres[:1]))
        gaps = list(_gap_moves(domain, distances))
        yield from around_zero[:1]
        yield from _even_moves(domain, distances)
        yield from around_zero[1:2]
        yield from gaps[:1]
        yield from around_zero[2:4]
        yield from _moves_across_half(domain, distances)
        yield from gaps[1:4]
        yield from around_zero[4:]
        yield from gaps[4:]
        yield from _pattern_moves(domain, distances, centres[1:])
        yield from _short_moves(domain, distances)
    elif isinstance(domain, Ball):
        yield from _ball_moves(domain, distances)
    elif isinstance(domain, Categories):
        yield from _label_moves(domain)
    else:
        points = list(domain.extremes()[:64])
        for first, second in combinations(points, 2):
            yield Pair(first, second, "two extreme points")


def _directions(shape: tuple[int, ...]) -> list[tuple[str, FloatArray]]:
    """Return the eight patterns as ±1, 0 arrays of a shape, the first coordinates playing the odd part."""
    size = math.prod(shape)
    ones, first = np.ones(size), np.eye(size)[0]
    half = np.where(np.arange(size) < size // 2, -1.0, 1.0)
    named = [
        ("all above", ones),
        ("one below, the rest above", ones - 2.0 * first),
        ("one above", first),
        ("half below, half above", half),
        ("one above, the rest below", 2.0 * first - ones),
        ("one below", -first),
        ("all below", -ones),
        ("half above, half below", -half),
        ("the last above", first[::-1]),
    ]
    return _distinct([(words, vector.reshape(shape)) for words, vector in named])


def _centres(domain: Domain) -> list[tuple[str, FloatArray]]:
    """Return zeros, ones, the middle, the first far behind or ahead, halves (an X with half moves), and the ends."""
    ends = ends_of(domain)
    assert ends is not None
    low, high = ends
    size = math.prod(domain.shape)
    middle = _floor_integers(domain, low + (high - low) / 2.0)
    zero = np.clip(np.zeros(domain.shape), low, high)
    gap = np.minimum(10.0, (high - low) / 2.0)
    first = np.eye(size)[0].reshape(domain.shape) if size > 1 else np.zeros(domain.shape)
    half = (np.arange(size) < size // 2).reshape(domain.shape)
    named = [
        ("zero", zero),
        ("one", np.clip(np.ones(domain.shape), low, high)),
        ("one far behind", np.clip(zero - gap * first, low, high)),
        ("an X of halves", np.where(half, np.clip(zero + 1.0, low, high), zero)),
        ("the middle", middle),
        ("one far ahead", np.clip(zero + gap * first, low, high)),
        ("the lowest", low),
        ("the highest", high),
    ]
    return _distinct([(words, _floor_integers(domain, point)) for words, point in named])


def _pattern_moves(
    domain: Domain, distances: Distances, centres: list[tuple[str, FloatArray]]
) -> Iterator[Pair]:
    for (centre_words, centre), (words, direction) in product(centres, _directions(domain.shape)):
        where = f", around {centre_words}" if math.isfinite(distances.linf) else ""
        yield from _move(domain, distances, centre, direction, words + where)


def _gap_moves(domain: Domain, distances: Distances) -> Iterator[Pair]:
    """Yield moves that close a gap of a few steps between one coordinate, or a part of them, and the rest."""
    ends = ends_of(domain)
    size = math.prod(domain.shape)
    if ends is None or size < 2 or not math.isfinite(distances.linf):
        return
    low, high = ends
    middle = _floor_integers(domain, np.clip(np.zeros(domain.shape), low, high))
    for gap in _GAPS:
        part, side = _part(gap.part, size), 1.0 if gap.ahead else -1.0
        if part is None:
            continue
        part = part.reshape(domain.shape)
        # Parts of several are on both sides of the middle, as thresholds are near it.
        below = 0.0 if gap.part == "one" else 0.5
        direction = side * (1.0 - 2.0 * part)
        step = distances.step(direction)
        start = middle + side * gap.steps * step * (part - below)
        # Moved inside as a whole, so that the gap stays.
        start = _floor_integers(domain, start + max(0.0, float((low - start).max())))
        start = start - max(0.0, float((start - high).max()))
        if math.isfinite(step) and (low <= start).all() and (start <= high).all():
            where = "ahead" if gap.ahead else "behind"
            yield from _move(
                domain, distances, start, direction, f"{gap.part} {where} by {gap.steps} steps, now closer"
            )


def _part(words: str, size: int) -> FloatArray | None:
    """Return 1 where a coordinate belongs to a part of `_GAPS` and 0 elsewhere; None where there are too few for it."""
    place = np.arange(size)
    if words == "one":
        return np.asarray(place == 0, dtype=np.float64)
    if words == "half":
        return np.asarray(place < size // 2, dtype=np.float64)
    if size <= _LEAST_PARTED:
        return None
    return np.asarray(
        place >= size - size // 3 if words == "last third" else place % 4 == 3, dtype=np.float64
    )


def _move(
    domain: Domain, distances: Distances, centre: FloatArray, direction: FloatArray, words: str
) -> Iterator[Pair]:
    """Yield the longest allowed move along a direction that starts as near the centre as the domain permits."""
    move = longest_move(domain, distances, centre, direction)
    if move is not None:
        start, end = move
        yield Pair(as_domain_data(domain, start), as_domain_data(domain, end), words)


def longest_move(
    domain: Domain, distances: Distances, centre: Data, direction: FloatArray
) -> tuple[Data, Data] | None:
    """Return the ends of the longest allowed move along a direction from a centre; None if no move is allowed.

    In a box it starts as near the centre as the box permits; in a ball at the centre, and is cut at the surface.
    """
    ends = ends_of(domain)
    widest = 2.0 * float(domain.widths.max()) if ends is None else float((ends[1] - ends[0]).min())
    step = min(distances.step(direction), widest)
    step = math.floor(step) if isinstance(domain, Integers) else step
    for shrink in _SHRINK:
        move = shrink * step * direction
        inside = (centre, domain.clip(centre + move)) if ends is None else _moved_inside(*ends, centre, move)
        if step > 0 and distances.allow(*inside):
            return inside
    return None


def _moved_inside(low: Data, high: Data, centre: Data, move: Data) -> tuple[Data, Data]:
    """Return the end points of a move that starts at the centre, or as near it as a box permits."""
    start = np.clip(centre, low - np.minimum(0.0, move), high - np.maximum(0.0, move))
    return start, np.clip(start + move, low, high)


def _moves_across_half(domain: Domain, distances: Distances) -> Iterator[Pair]:
    """Yield a move of all coordinates across 1/2 if they move by less than 1: rounded, each of them moves by 1."""
    step = distances.step(np.ones(domain.shape))
    if math.prod(domain.shape) > 1 and step < 1.0 and not isinstance(domain, Integers):
        centre = np.full(domain.shape, 0.5 * (1.0 - step))
        yield from _move(domain, distances, centre, np.ones(domain.shape), "all above, across 1/2")


def _even_moves(domain: Domain, distances: Distances) -> Iterator[Pair]:
    """Yield moves in a box around zero from one axis to another, and from zero to the highest.

    Opposite ends have the same squares, norms and products of two coordinates.
    """
    ends = ends_of(domain)
    assert ends is not None
    low, high = ends
    if not ((low < 0.0) & (high > 0.0)).all():
        return
    places = np.arange(high.size)
    axis, other = (
        np.where(places == place, high.ravel(), 0.0).reshape(domain.shape) for place in (0, high.size - 1)
    )
    for pair in (
        Pair(as_domain_data(domain, axis), as_domain_data(domain, other), "two axes"),
        Pair(
            as_domain_data(domain, np.zeros(domain.shape)),
            as_domain_data(domain, high),
            "all above, from zero",
        ),
    ):
        if distances.allow(pair.data, pair.other):
            yield pair


def _short_moves(domain: Domain, distances: Distances) -> Iterator[Pair]:
    """Yield moves of all coordinates at once between the ends, the middle, 0 and 1, and of a hair at an end."""
    points = extreme_points(domain)
    for (words, first), (other_words, second) in combinations(points, 2):
        if distances.allow(first, second):
            yield Pair(first, second, f"{words} / {other_words}")
    if len(points) > 1 and not isinstance(domain, Integers):
        low, high = points[0][1], points[1][1]
        for end, inside in ((low, high), (high, low)):
            near = end + (inside - end) / 1024.0
            if distances.allow(end, near):
                yield Pair(end, near, "at the boundary")


def _ball_moves(ball: Ball, distances: Distances) -> Iterator[Pair]:
    """Yield moves through the centre, from one axis to another, from the centre outwards, and at the pole."""
    pole = np.eye(ball.size)[0] * ball.radius
    axes = list(ball.radius * np.eye(ball.size)[:3])
    across = (
        Pair(first, second, "two axes")
        for first, second in combinations(axes, 2)
        if distances.allow(first, second)
    )
    for words, direction in _directions((ball.size,)):
        norm = float(np.linalg.norm(direction, ord=ball.order))
        step = min(distances.step(direction), 2.0 * ball.radius / norm)
        moves = [shrink * step * direction for shrink in _SHRINK]
        for where, ends in (
            ("through the centre", [(-move / 2.0, move / 2.0) for move in moves]),
            ("from the centre", [(0.0 * move, move / 2.0) for move in moves]),
            ("from the pole", [(pole, pole - move) for move in moves]),
        ):
            for start, end in ends:
                inside = all(
                    float(np.linalg.norm(point, ord=ball.order)) <= ball.radius for point in (start, end)
                )
                if inside and distances.allow(start, end):
                    yield Pair(start + 0.0, end + 0.0, f"{words}, {where}")  # + 0.0: no negative zeros
                    break
            yield from islice(across, 1)  # second, as opposite points have the same squares and products


def _label_moves(domain: Categories) -> Iterator[Pair]:
    """Yield pairs of labels: the first two, ends, powers of two, complements, then all in order."""
    last = domain.size - 1
    powers = [2**j for j in range(last.bit_length())]
    pairs = [(0, 1), (0, last), *((0, power) for power in powers)]
    pairs += [(i, last - i) for i in range(min(domain.size // 2, 8))]
    pairs += list(combinations(range(min(domain.size, 8)), 2))
    for first, second in pairs:
        if max(first, second) <= last:
            yield Pair(np.array(first), np.array(second), f"labels {first} / {second}")


def _floor_integers(domain: Domain, point: FloatArray) -> FloatArray:
    """Return a point, its coordinates rounded down where the domain is of whole numbers."""
    return np.floor(point) if isinstance(domain, Integers) else point


def as_domain_data(domain: Domain, point: FloatArray) -> Data:
    """Return a point as the data of a domain: whole numbers of `Integers`, and no negative zeros."""
    return point.astype(np.int64) if isinstance(domain, Integers) else np.asarray(point + 0.0)


def _distinct(named: list[tuple[str, Data]]) -> list[tuple[str, Data]]:
    kept: list[tuple[str, Data]] = []
    for words, point in named:
        if not any(np.array_equal(point, known) for _, known in kept):
            kept.append((words, point))
    return kept
