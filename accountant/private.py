"""Private values: user data that can be combined but not read.

A `Private` value can be sliced by a public index, added to, scaled, summed and mapped by a function
of known stability. It cannot be read, compared, branched on or turned into an array; the only way
out is through its gate.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import numpy.typing as npt

from mechanisms import Categories, Domain, Mechanism

from .errors import ForeignValue, RawRead, SensitivityExceeded
from .place import Place, calling_place
from .provenance import UNTRACKED, Provenance, Traced, TracedSums

if TYPE_CHECKING:
    from .gate import Gate

PublicNumber = float | npt.NDArray[Any]


class Private:
    """A private array of shape ``(lanes, ...)``, owned by one gate.

    Internally the array has one more leading axis: the data set and, under a coupled gate, its
    neighbours side by side.
    """

    __slots__ = ("_categorical", "_gate", "_provenance", "_values")
    __array_ufunc__ = None  # NumPy hands binary operators over instead of reading the value
    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self,
        gate: Gate,
        values: npt.NDArray[Any],
        provenance: Provenance = UNTRACKED,
        *,
        categorical: bool = False,
    ) -> None:
        self._gate = gate
        self._values = values
        self._provenance = provenance
        self._categorical = categorical  # category names: distances are 0 or 1, arithmetic means nothing

    @property
    def shape(self) -> tuple[int, ...]:
        """The public shape ``(lanes, ...)``."""
        return self._values.shape[1:]

    def __repr__(self) -> str:
        return f"<private value of shape {self.shape}>"

    # --- operations that keep a value private ----------------------------------------------------

    def take(self, index: npt.NDArray[np.int64]) -> Private:
        """Slice by a public index along the last axis.

        Parameters
        ----------
        index
            Shape (lanes, k); a negative entry is padding and yields 0.

        Returns
        -------
        Private
            Shape (lanes, k).
        """
        index = np.asarray(index)
        lanes, size = self.shape
        if index.ndim != 2 or index.shape[0] != lanes or index.max(initial=-1) >= size:
            raise ValueError(f"index of shape {index.shape}: must be (lanes={lanes}, k) with entries below {size}")
        rows = np.arange(lanes)[:, None]
        values = self._values[:, rows, index]
        if index.size and index.min() < 0:
            values = np.where(index >= 0, values, 0)
        return Private(
            self._gate, values, self._provenance.take(index), categorical=self._categorical
        )

    def sum(self) -> Private:
        """Sum over the last axis, which stays with length 1."""
        self._check_number("summed")
        return Private(self._gate, self._values.sum(axis=-1, keepdims=True), self._provenance.summed())

    def map(
        self,
        function: Callable[[npt.NDArray[Any]], npt.NDArray[Any]],
        *,
        into: Domain | None = None,
        stability: float | None = None,
    ) -> Private:
        """Apply a deterministic function to every lane's value.

        Parameters
        ----------
        function
            Maps an array of shape ``(..., n)`` (or ``(..., )`` after a map to scalars) record by record.
        into
            The domain that the results lie in; checked for every value. How far a record moves the
            result then follows from the domain.
        stability
            Alternatively a Lipschitz constant in L1 norm. The `Accountant` has to believe it; coupled
            runs check it on real neighbours.

        Raises
        ------
        ValueError
            If not exactly one of `into` and `stability` is given, or a result lies outside `into`.
        """
        if (into is None) == (stability is None):
            raise ValueError("map needs exactly one of `into` (a domain) and `stability` (a number)")
        results = np.asarray(function(self._values))
        if into is not None:
            results = into.check(results, "result of map")
            if results.ndim == 2:
                results = results[..., None]
            return Private(
                self._gate,
                results,
                self._provenance.mapped(into),
                categorical=isinstance(into, Categories),
            )
        assert stability is not None
        self._check_number("mapped by a Lipschitz function")
        if not stability >= 0:
            raise ValueError(f"stability={stability!r}: must be at least 0")
        self._gate.check_stability(self._values, results, stability)
        return Private(self._gate, results, self._provenance.stretched(stability, results.shape[-1]))

    def __add__(self, other: Private | PublicNumber) -> Private:
        self._check_number("added to")
        if isinstance(other, Private):
            self._check_same_gate(other)
            return Private(
                self._gate, self._values + other._values, self._provenance.plus(other._provenance)
            )
        return Private(self._gate, self._values + _public(other), self._provenance)

    __radd__ = __add__

    def __mul__(self, factor: PublicNumber) -> Private:
        if isinstance(factor, Private):
            self._refuse("multiplied by another private value")
        self._check_number("scaled")
        factor = _public(factor)
        return Private(self._gate, self._values * factor, self._provenance.scaled(factor))

    __rmul__ = __mul__

    def __truediv__(self, divisor: PublicNumber) -> Private:
        if isinstance(divisor, Private):
            self._refuse("divided by another private value")
        return self * (1.0 / _public(divisor))

    def __neg__(self) -> Private:
        return self * -1.0

    def __sub__(self, other: Private | PublicNumber) -> Private:
        return self + (-other)

    def __rsub__(self, other: PublicNumber) -> Private:
        return (-self) + other

    def _check_same_gate(self, other: Private) -> None:
        if other._gate is not self._gate:
            raise ForeignValue("two private values of different gates cannot be combined", calling_place())

    def _check_number(self, how: str) -> None:
        if self._categorical:
            raise TypeError(f"a private category cannot be {how}: its number is only a name")

    # --- reads: every one of them is refused -----------------------------------------------------

    def _refuse(self, how: str) -> NoReturn:
        raise RawRead(
            f"a private value was {how}; release it through its gate, or declassify it", calling_place()
        )

    def _read(self, how: str) -> npt.NDArray[Any]:
        return self._gate.raw_read(self, how, calling_place())

    def __bool__(self) -> bool:
        return bool(self._read("branched on"))

    def __float__(self) -> float:
        return float(self._read("turned into a float").item())

    def __int__(self) -> int:
        return int(self._read("turned into an int").item())

    def __index__(self) -> int:
        return int(self._read("used as an index").item())

    def __array__(self, dtype: Any = None, copy: Any = None) -> npt.NDArray[Any]:
        return np.array(self._read("turned into an array"), dtype=dtype)

    def __iter__(self) -> Any:
        return iter(self._read("iterated over"))

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Any) -> Any:
        return self._read("indexed (use take)")[index]

    def __lt__(self, other: Any) -> Any:
        return self._read("compared") < other

    def __le__(self, other: Any) -> Any:
        return self._read("compared") <= other

    def __gt__(self, other: Any) -> Any:
        return self._read("compared") > other

    def __ge__(self, other: Any) -> Any:
        return self._read("compared") >= other

    def __eq__(self, other: object) -> Any:
        return self._read("compared") == other

    def __ne__(self, other: object) -> Any:
        return self._read("compared") != other

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._read(f"read through its attribute {name!r}"), name)

    def __reduce__(self) -> NoReturn:
        self._refuse("pickled")


class PrivateSums:
    """Running private sums, one per coordinate, shape (lanes, size): add, release, clear.

    Made by a gate's ``sums(size)`` and released by its ``release``.
    """

    __slots__ = ("_gate", "_provenance", "_values")
    _categorical = False

    def __init__(self, gate: Gate, lanes: int, size: int, provenance: TracedSums | None = None) -> None:
        self._gate = gate
        self._values: npt.NDArray[np.float64] = np.zeros((1, lanes, size))
        self._provenance = provenance

    @property
    def shape(self) -> tuple[int, int]:
        """The public shape (lanes, size)."""
        return self._values.shape[1], self._values.shape[2]

    def __repr__(self) -> str:
        return f"<private sums of shape {self.shape}>"

    def add(self, values: Private, at: npt.NDArray[np.int64]) -> None:
        """Add `values`, shape (lanes, k), at the public coordinates `at`; negative ones are padding.

        The coordinates of one lane must differ from each other.
        """
        if values._gate is not self._gate:
            raise ForeignValue("a private value of another gate cannot be added", calling_place())
        values._check_number("added to")
        if at.shape != values.shape:
            raise ValueError(f"at of shape {at.shape}: must be the values' shape {values.shape}")
        if self._provenance is not None:
            present = at[0][at[0] >= 0].tolist()
            if len(set(present)) < len(present):
                raise ValueError(f"at={present}: the coordinates of one lane must differ from each other")
        if values._values.shape[0] > self._values.shape[0]:
            self._values = np.repeat(self._values, values._values.shape[0], axis=0)
        present_at = at >= 0
        if present_at.all():
            self._values[:, np.arange(at.shape[0])[:, None], at] += values._values
        else:
            rows = np.nonzero(present_at)[0]
            self._values[:, rows, at[present_at]] += values._values[:, present_at]
        if self._provenance is not None:
            assert isinstance(values._provenance, Traced)
            self._provenance.add(values._provenance, at)

    def clear(self, where: npt.NDArray[np.bool_]) -> None:
        """Set the sums at the public mask `where`, shape (lanes, size), back to zero."""
        self._values[:, where] = 0.0
        if self._provenance is not None:
            self._provenance.clear(where)


def check_metric(mechanism: Mechanism, private: Private | PrivateSums, place: Place) -> None:
    """Refuse noise for numbers on category names, and randomized response on numbers.

    Raises
    ------
    SensitivityExceeded
        Distances would be measured in the wrong metric.
    """
    if getattr(mechanism, "categorical", False) != private._categorical:
        kind = "category names" if private._categorical else "numbers"
        raise SensitivityExceeded(
            f"the released values are {kind}, which {type(mechanism).__name__} is not made for", place
        )


def _public(number: PublicNumber) -> npt.NDArray[np.float64]:
    """Check a public operand: finite numbers."""
    array = np.asarray(number, dtype=np.float64)
    if not np.isfinite(array).all():
        raise ValueError("a public operand of a private value must be finite")
    return array
