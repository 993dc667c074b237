"""Running sums of private values that wait for their release."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import numpy.typing as npt

from accountant.gates.lineage import Traced, TracedSums
from accountant.gates.private import Private, refuse_copy, refuse_read
from accountant.place import calling_place
from accountant.refusals import ForeignValue
from accountant.trust import Trust, check_message
from mechanisms.arrays import plain_copy
from mechanisms.parameters import ParameterError

if TYPE_CHECKING:
    from accountant.gates.gate import Gate
    from mechanisms import Mechanism

    Awaited = tuple[Mechanism, Private, int]
    """A release to come: its mechanism, its values, and how often."""


class PrivateSums:
    """Running private sums, one per coordinate, shape (lanes, size): add, release, clear.

    Made by a gate's ``sums(size)`` and released by its ``release``. Every addition counts: a record that is
    added to a coordinate twice moves it twice as far.
    """

    __slots__ = ("_gate", "_provenance", "_values")
    _categories = 0

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

    def add(self, values: Private, at: npt.NDArray[np.int64], *, release: Mechanism | None = None) -> None:
        """Add private values at public coordinates.

        Parameters
        ----------
        values
            Numbers of the same gate, shape (lanes, k).
        at
            Whole numbers below `size`, shape (lanes, k); negative ones are padding. The coordinates of one
            lane must differ from each other.
        release
            The mechanism that will release the values, each coordinate once. Then, under an accountant, a record that
            could not pay for it is refused here, where it can be named and nothing has changed, and so is one that
            already waits in these sums; later, its refusal would stop the records that wait with it.

        Raises
        ------
        TypeError
            If `values` is not private, or names categories.
        ForeignValue
            If the values belong to another gate.
        ParameterError
            If `at` has another shape or type, or a coordinate does not exist or (under an accountant)
            occurs twice.
        RecordWaiting, BudgetExceeded, SensitivityExceeded, TheoremMissing
            With `release`, under an accountant: if a record is to be refused.
        TrustViolation
            Under `Trust.SHUFFLE`, if the values hold more than one record.
        """
        add_to_all((self,), values, at, () if release is None else ((release, values, 1),))

    def _check_addition(self, values: Private, at: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Check an addition, and return its coordinates."""
        if not isinstance(values, Private):
            raise TypeError(f"a {type(values).__name__} cannot be added: only values from `private` can")
        if values._gate is not self._gate:
            raise ForeignValue("a private value of another gate cannot be added", calling_place())
        values._check_number("added to")
        at = plain_copy(at)  # copied, as a mask is
        if at.shape != values.shape or at.dtype.kind not in "iu" or not (at < self.shape[1]).all():
            raise ParameterError(
                f"at of shape {at.shape} and type {at.dtype}: must be whole numbers of the values' shape "
                f"{values.shape}, all below {self.shape[1]}"
            )
        at = at.astype(np.int64)
        if self._provenance is not None:
            present = at[0][at[0] >= 0].tolist()
            if len(set(present)) < len(present):
                raise ParameterError(
                    f"at = {present}: the coordinates of one lane must differ from each other"
                )
        return at

    def _add_checked(self, values: Private, at: npt.NDArray[np.int64]) -> None:
        """Add checked values."""
        self._gate.operates(values, at)
        if self._provenance is not None:
            assert isinstance(values._provenance, Traced)
            self._provenance.add(values._provenance, at)
        if values._values.shape[0] > self._values.shape[0]:
            self._values = np.repeat(self._values, values._values.shape[0], axis=0)
        lanes, size = self.shape
        present = at >= 0
        which: Any = ... if present.all() else present
        where = (np.arange(0, lanes * size, size)[:, np.newaxis] + at)[which]  # flat: that is faster
        sums = np.ascontiguousarray(self._values).reshape(-1, lanes * size)
        with np.errstate(all="ignore"):  # whether a sum overflows depends on the data
            for world, added in zip(
                sums, np.broadcast_to(values._values, (len(sums), *at.shape)), strict=True
            ):
                world[where] += added[which]
        self._values = sums.reshape(-1, lanes, size)

    def clear(self, where: npt.NDArray[np.bool_]) -> None:
        """Set the sums at a public mask back to zero; they hold no record then.

        Parameters
        ----------
        where
            Boolean, shape (lanes, size).

        Raises
        ------
        ParameterError
            If the mask has another shape or type.
        """
        where = checked_mask(where, self.shape)
        self._gate.operates(self, where)
        if self._provenance is None:
            np.copyto(self._values, 0.0, where=where)
            return
        gate: Any = self._gate
        with gate._charging:
            np.copyto(self._values, 0.0, where=where)
            self._provenance.clear(np.flatnonzero(where[0]).tolist())

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        refuse_read("read (release sums through their gate)", calling_place())

    __bool__ = __float__ = __int__ = __index__ = __iter__ = __getitem__ = __array__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = _refuse
    __array_ufunc__ = _refuse
    __hash__ = None  # type: ignore[assignment]

    __reduce__ = __getstate__ = refuse_copy


def add_to_all(
    sums: Sequence[PrivateSums],
    values: Private,
    at: npt.NDArray[np.int64],
    releases: Sequence[Awaited],
    *,
    beside: Sequence[PrivateSums] = (),
) -> None:
    """Add private values to several sums alike: to all of them, or to none.

    Parameters
    ----------
    sums
        Sums of the same gate and size.
    values, at
        As for `PrivateSums.add`.
    releases
        The releases that the values will be part of: the mechanism, the values or a part of them, and how often. As
        with `release` of `PrivateSums.add`, an accountant refuses here a record that could not pay for all of them
        together, or waits in one of the sums.
    beside
        Sums to which nothing is added, but in which the records may not wait either.

    Raises
    ------
    TypeError, ForeignValue, ValueError, RecordWaiting, BudgetExceeded, SensitivityExceeded, TheoremMissing
        As `PrivateSums.add`; nothing is added.
    """
    for each in sums:
        at = each._check_addition(values, at)
    gate: Any = sums[0]._gate
    holding = [each._provenance for each in (*sums, *beside) if each._provenance is not None]
    if not holding:
        for each in sums:
            each._add_checked(values, at)
        return
    gate.check_open()
    # An accountant's lock: a release beside it has all of the values and their records, or none.
    with gate._charging:
        assert isinstance(values._provenance, Traced)
        if gate.trust is Trust.SHUFFLE:
            check_message(len(values._provenance.influences))
        if releases:
            gate.admit(releases, holding)
        for each in sums:
            each._add_checked(values, at)


def checked_mask(where: npt.ArrayLike, shape: tuple[int, ...]) -> npt.NDArray[np.bool_]:
    """Return a copy of a public mask; raise `ValueError` unless it is boolean and of this shape.

    Numbers would be taken for indices, which choose other coordinates than the same numbers as a mask. The
    mask of the release is the checked and charged one, also where another thread changes the caller's buffer meanwhile.
    """
    mask = plain_copy(where)
    if mask.dtype != np.bool_ or mask.shape != shape:
        raise ParameterError(
            f"where of shape {mask.shape} and type {mask.dtype}: must be a boolean mask of the value's shape {shape}"
        )
    return mask
