"""The gate that tests functions given to `Private.map`: a result must not depend on earlier or other values."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from accountant.gates.declared import declared_function
from accountant.gates.simulation import Simulation
from mechanisms import Domain, OneHot

_CLOSE = 1e-9  # beside another value, sums may be added up in another order
_REMEMBERED = 4
_SMALL = 2.0**-9


class Trying(Simulation):
    """A simulation in one lane, as in production, that calls each function given to `Private.map` again and again.

    Once more at once; after other values (half of it, the value reversed, small ones, the ends of the domain, earlier
    ones), and these again in reverse order; and beside another value in one call, first and second. The function gets
    copies. Its results on the other values need only be the same again, and a failure counts as a result.

    Attributes
    ----------
    impure
        For each place of a function with several results for one value, the calls before the other result, in words.
    """

    def __init__(self, seed: int | np.random.SeedSequence) -> None:
        super().__init__(seed, 1)
        self.impure: dict[str, str] = {}
        self._earlier: list[npt.NDArray[Any]] = []

    def try_function(
        self, function: Callable[[Any], Any], values: npt.NDArray[Any], domain: Domain | None
    ) -> None:
        """Call the function on the values in several ways, and note if its results differ."""
        where = declared_function(function).where
        if where not in self.impure:
            words = next(self._differences(function, values, domain), None)
            if words is not None:
                self.impure[where] = words
        self._earlier = [*self._earlier, values.copy()][-_REMEMBERED:]

    def _differences(
        self, function: Callable[[Any], Any], values: npt.NDArray[Any], domain: Domain | None
    ) -> Iterator[str]:
        tried = [(each, _call(function, each)) for each in (values.copy(), *self._variants(values, domain))]
        last, made = tried[-1]
        if not _is_same_result(made, _call(function, last)):
            yield "when it is called again"
        if not all(_is_same_result(made, _call(function, each)) for each, made in reversed(tried)):
            yield "once it has seen another value"
        own = tried[0][1]
        for other, alone in tried[1:3]:
            for stacked, mine in ((values, other), 0), ((other, values), 1):
                both = _call(function, np.concatenate(stacked))
                if both is None or own is None or alone is None or len(both) != 2:
                    continue
                if not (_is_close(both[mine], own[0]) and _is_close(both[1 - mine], alone[0])):
                    yield "when another value is in the same call"

    def _variants(self, values: npt.NDArray[Any], domain: Domain | None) -> Iterator[npt.NDArray[Any]]:
        """Yield other values of the same shape, small ones first: state that grows with values has not grown yet."""
        yield (values * 0.5).astype(values.dtype)
        yield values[..., ::-1].copy()
        if domain is not None:
            points = [np.reshape(p, values.shape) for p in domain.extremes() if np.size(p) == values.size]
            for point in [*points[:1], *points[-2:]]:
                if values.dtype.kind == "f" and not isinstance(domain, OneHot):
                    yield points[0] + (point - points[0]) * _SMALL
                yield point.astype(values.dtype)
        yield from (earlier.copy() for earlier in self._earlier if earlier.shape == values.shape)


def _call(function: Callable[[Any], Any], values: npt.NDArray[Any]) -> npt.NDArray[Any] | None:
    """Return a function's result for a copy of the values; None if it fails."""
    try:
        with np.errstate(all="ignore"):
            return np.array(function(values.copy()), dtype=np.float64)
    except Exception:  # a user's function may raise anything
        return None


def _is_same_result(one: npt.NDArray[Any] | None, other: npt.NDArray[Any] | None) -> bool:
    if one is None or other is None:
        return one is other
    return one.shape == other.shape and np.array_equal(one, other, equal_nan=True)


def _is_close(one: npt.NDArray[Any], other: npt.NDArray[Any]) -> bool:
    return one.shape == other.shape and np.allclose(one, other, rtol=_CLOSE, atol=_CLOSE, equal_nan=True)
