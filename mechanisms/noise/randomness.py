"""Randomness for simulation, drawn so that a lane's result never depends on the other lanes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np

from mechanisms.arrays import FloatArray, IntArray
from mechanisms.assumption import Assumption
from mechanisms.assumptions import assumptions_of
from mechanisms.parameters import ParameterError, whole_number

BLOCK = 64
"""Number of lanes that share one generator."""

_Size = int | tuple[int, ...]


@runtime_checkable
class Randomness(Protocol):
    """Source of random draws of a simulation: the methods of ``numpy.random.Generator`` that it needs."""

    def random(self, size: _Size) -> FloatArray:
        """Return uniform draws in [0, 1)."""

    def standard_normal(self, size: _Size) -> FloatArray:
        """Return standard normal draws."""

    def standard_exponential(self, size: _Size) -> FloatArray:
        """Return standard exponential draws."""

    def integers(self, low: int, high: int, size: _Size) -> IntArray:
        """Return whole numbers, uniform on low .. high - 1."""

    def binomial(self, n: IntArray, p: FloatArray) -> Any:
        """Return binomial counts of n trials of probability p, elementwise."""


_Fills = list[tuple[Callable[..., Any], slice]]


class _BlockDraws:
    """Draws with a leading axis that is cut into stretches, each filled by its own generator, in order."""

    def __init__(self, generators: Sequence[np.random.Generator], bounds: Sequence[tuple[int, int]]) -> None:
        self._stretches = [(g, slice(*bound)) for g, bound in zip(generators, bounds, strict=True)]
        self._length = bounds[-1][1] if bounds else 0

    # Bound methods looked up once: a draw is then one slice and one call for each stretch.

    @cached_property
    def _uniform(self) -> _Fills:
        return [(g.random, s) for g, s in self._stretches]

    @cached_property
    def _normal(self) -> _Fills:
        return [(g.standard_normal, s) for g, s in self._stretches]

    @cached_property
    def _exponential(self) -> _Fills:
        return [(g.standard_exponential, s) for g, s in self._stretches]

    def rests_on(self) -> tuple[Assumption, ...]:
        """Return the assumptions on the generators."""
        return assumptions_of([generator for generator, _ in self._stretches])

    def _empty(self, size: _Size) -> FloatArray:
        self._check(size)
        return np.empty(size)

    def _check(self, size: _Size) -> None:
        leading = (size[0] if size else None) if isinstance(size, tuple) else size
        if leading != self._length:
            raise ParameterError(f"size = {size!r}: its leading axis must be {self._length}")

    def random(self, size: _Size) -> FloatArray:
        """Return uniform draws in [0, 1); ``size`` must lead with the number of lanes (or entries)."""
        out = self._empty(size)
        for fill, stretch in self._uniform:
            fill(out=out[stretch])
        return out

    def standard_normal(self, size: _Size) -> FloatArray:
        """Return standard normal draws."""
        out = self._empty(size)
        for fill, stretch in self._normal:
            fill(out=out[stretch])
        return out

    def standard_exponential(self, size: _Size) -> FloatArray:
        """Return standard exponential draws."""
        out = self._empty(size)
        for fill, stretch in self._exponential:
            fill(out=out[stretch])
        return out

    def integers(self, low: int, high: int, size: _Size) -> IntArray:
        """Return whole numbers, uniform on low .. high - 1."""
        self._check(size)
        out = np.empty(size, dtype=np.int64)
        for generator, stretch in self._stretches:
            part = out[stretch]
            part[...] = generator.integers(low, high, part.shape)
        return out

    def binomial(self, n: IntArray, p: FloatArray) -> IntArray:
        """Return binomial counts of n trials of probability p; both lead with the number of lanes (or entries)."""
        self._check(n.shape)
        self._check(p.shape)
        out = np.empty(np.broadcast_shapes(n.shape, p.shape), dtype=np.int64)
        for generator, stretch in self._stretches:
            out[stretch] = generator.binomial(n[stretch], p[stretch])
        return out


class LaneStreams(_BlockDraws):
    """Randomness with a leading axis of lanes, in blocks of `BLOCK` with one seed each.

    Block b draws from ``SeedSequence(entropy, spawn_key=(*key, b))``. A lane's draws therefore depend
    on the seed, the key and the lane's number only: not on the number of lanes beside it, nor on their
    division between processes.

    Parameters
    ----------
    seed : int or SeedSequence
        A SeedSequence's own spawn key comes before ``key``.
    lanes : int
        A positive multiple of `BLOCK`.
    first_block : int
        Number of the first block: ``LaneStreams(s, 64, first_block=3)`` are the lanes 192 .. 255.
    key : tuple of int
        Distinguishes streams of the same seed (problem, learner, noise ...).

    Raises
    ------
    ParameterError
        If ``lanes`` is not a positive multiple of `BLOCK`, or a draw does not lead with ``lanes``.
    """

    def __init__(
        self,
        seed: int | np.random.SeedSequence,
        lanes: int,
        first_block: int = 0,
        key: tuple[int, ...] = (),
    ) -> None:
        self.lanes = whole_number("lanes", lanes, least=1)
        if self.lanes % BLOCK:
            raise ParameterError(f"lanes = {lanes!r}: must be a multiple of {BLOCK}")
        first = whole_number("first_block", first_block, least=0)
        root = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
        self._generators = [
            np.random.Generator(
                np.random.SFC64(
                    np.random.SeedSequence(root.entropy, spawn_key=(*root.spawn_key, *key, first + block))
                )
            )
            for block in range(self.lanes // BLOCK)
        ]
        super().__init__(self._generators, [(i, i + BLOCK) for i in range(0, self.lanes, BLOCK)])

    @property
    def bit_generator(self) -> str:
        """Name of the underlying generator, for the record."""
        return "SFC64"

    def for_lanes(self, lane_of: IntArray) -> Randomness:
        """Return randomness for ragged draws: entry i belongs to lane ``lane_of[i]``.

        Draws have size n = len(lane_of) or (n, ...). Each block supplies exactly its own entries, in
        order, so they do not depend on other blocks.

        Raises
        ------
        ParameterError
            If ``lane_of`` is not ascending or names a lane that does not exist.
        """
        lane_of = np.asarray(lane_of)
        if lane_of.size and (
            lane_of[0] < 0 or lane_of[-1] >= self.lanes or (lane_of[1:] < lane_of[:-1]).any()
        ):
            raise ParameterError(f"lane_of must ascend within 0 .. {self.lanes - 1}")
        cuts = np.searchsorted(lane_of, np.arange(0, self.lanes + 1, BLOCK)).tolist()
        used = [(g, (a, b)) for g, a, b in zip(self._generators, cuts[:-1], cuts[1:], strict=True) if b > a]
        return _BlockDraws([g for g, _ in used], [bound for _, bound in used])

    def state(self) -> list[dict[str, Any]]:
        """Return the generators' states as JSON-able values."""
        return [_plain(generator.bit_generator.state) for generator in self._generators]

    def restore(self, state: Sequence[dict[str, Any]]) -> None:
        """Continue exactly where `state` was taken.

        Raises
        ------
        ParameterError
            If the number of states is not the number of blocks.
        """
        if len(state) != len(self._generators):
            raise ParameterError(f"state holds {len(state)} blocks: must hold {len(self._generators)}")
        for generator, saved in zip(self._generators, state, strict=True):
            generator.bit_generator.state = {
                **saved,
                "state": {**saved["state"], "state": np.array(saved["state"]["state"], dtype=np.uint64)},
            }


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value
