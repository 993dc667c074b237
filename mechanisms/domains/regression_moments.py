"""A record's moments in a linear regression: the square of its features, and its features times its outcome."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from mechanisms.arrays import FloatArray
from mechanisms.domains.domain import as_numbers, as_values
from mechanisms.domains.sensitivity import Sensitivity
from mechanisms.parameters import DomainError, ParameterError, positive, whole_number

_OUTWARDS = 1.0 + 1e-12  # more than the rounding of the few operations on norms
_FAR = 1e100  # features whose squares might be beyond all floats
_MOST_FEATURES = 1024  # so that rounding and tolerance stay far below 1
MOST_WEIGHT = math.sqrt(2.0)
"""The weight with which a record's moments have the norm of a symmetric matrix."""


def shortened(features: FloatArray) -> FloatArray:
    """Return finite vectors (..., d), those outside the unit ball shortened to length 1."""
    largest = np.abs(features).max(axis=-1, keepdims=True)
    near = features / np.where(largest > _FAR, largest, 1.0)
    return np.asarray(near / np.maximum(np.linalg.norm(near, axis=-1, keepdims=True), 1.0))


@dataclass(frozen=True)
class RegressionMoments:
    """The moments ``(x x', x y)`` of features x with ``|x|_2 <= 1`` and an outcome ``|y| <= 1``, and all between them.

    A value is the upper triangle of a symmetric matrix M by rows, entries off the diagonal times sqrt(2) (so that its
    L2 norm is M's Frobenius norm), and then w u, u a vector, with ``M - u u'`` positive semidefinite and ``tr M <= 1``.
    That set is convex and holds the moments of every record. With ``w = sqrt(2)`` a value has the Frobenius norm of the
    symmetric matrix of M, u and 0 in the corner, so that noise of one scale is that of a symmetric matrix.

    Its diameter in L2 is ``sqrt(2 + 2 w^2 + w^4 / 2)``, at w = 1 ``sqrt(4.5)``: with c = u'v of two members (M, u) and
    (N, v), ``|M - N|^2 + w^2 |u - v|^2 <= 2 + 2 w^2 - 2 <M, N> - 2 w^2 c <= 2 + 2 w^2 - 2 c^2 - 2 w^2 c``, largest at
    ``c = -w^2 / 2``, as ``|M| <= tr M``, ``|u|^2 <= tr M`` and ``<M, N> >= u' N u >= c^2``. It is attained by unit
    vectors with outcomes 1 and -1 and ``x . x' = w^2 / 2``.

    So that moments that were rounded, as every gate does, still pass, `check` allows eigenvalues down to ``-t``, t =
    ``features 2^-24``, and a trace up to 1 + t; `sensitivity` counts this in: with ``M + t I`` for M and ``a = 1 +
    (features + 2) t`` for 1 above, the square is ``2 a^2 + 2 w^2 a + w^4 / 2``.

    Parameters
    ----------
    features
        The length d of x, from 1 to 1024.
    weight
        w, from 1 to sqrt(2).

    Raises
    ------
    ParameterError
        If a parameter is out of range.

    Examples
    --------
    >>> domain = RegressionMoments(2)
    >>> domain.moments([0.6, 0.8], 1.0).round(2).tolist()
    [0.36, 0.68, 0.64, 0.6, 0.8]
    >>> round(domain.sensitivity.l2, 4)
    2.1213
    """

    features: int
    weight: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "features", whole_number("features", self.features, least=1))
        if self.features > _MOST_FEATURES:
            raise ParameterError(f"features = {self.features!r}: must be at most {_MOST_FEATURES}")
        object.__setattr__(self, "weight", positive("weight", self.weight))
        if not 1.0 <= self.weight <= MOST_WEIGHT:
            raise ParameterError(f"weight = {self.weight!r}: must be from 1 to sqrt(2)")

    @property
    def upper(self) -> float:
        """The weight: no coordinate is beyond it."""
        return self.weight

    @property
    def lower(self) -> float:
        """The weight, negative."""
        return -self.weight

    @property
    def _tolerance(self) -> float:
        return self.features * 2.0**-24

    @property
    def shape(self) -> tuple[int, ...]:
        """``(features (features + 3) / 2,)``."""
        return (self.features * (self.features + 3) // 2,)

    @property
    def widths(self) -> FloatArray:
        """2 for every coordinate of the matrix, which is not beyond -1 or 1, and twice the weight for the vector's."""
        return np.repeat([2.0, 2.0 * self.weight], [self.shape[0] - self.features, self.features])

    @cached_property
    def sensitivity(self) -> Sensitivity:
        """Diameter of the moments, with a margin for rounding; see above."""
        a, square = 1.0 + (self.features + 2) * self._tolerance, self.weight * self.weight
        l2 = math.sqrt(2.0 * a * a + 2.0 * square * a + 0.5 * square * square) * _OUTWARDS
        l1 = l2 * math.sqrt(self.shape[0]) * _OUTWARDS
        return Sensitivity(l1, l2, 2.0 * self.weight)

    @cached_property
    def _triangle(self) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp], FloatArray]:
        rows, columns = np.triu_indices(self.features)
        return rows, columns, np.where(rows == columns, 1.0, math.sqrt(2.0))

    def moments(self, features: npt.ArrayLike, outcome: npt.ArrayLike) -> FloatArray:
        """Return the moments of records; features outside the ball are shortened, outcomes clipped to [-1, 1].

        Parameters
        ----------
        features
            Shape (..., d), finite.
        outcome
            Shape (...), or one for all.

        Returns
        -------
        ndarray
            Shape (..., d (d + 3) / 2).

        Raises
        ------
        DomainError
            If they are no numbers of these shapes, or features are not finite.
        """
        x, y = as_values(features, (self.features,), "features", self), as_numbers(outcome, "outcome")
        if y.ndim and y.shape != x.shape[:-1]:
            raise DomainError(
                f"outcome has shape {y.shape}: must be {x.shape[:-1]}, as of features {x.shape}"
            )
        if not np.isfinite(x).all():
            raise DomainError("features: must be finite")
        x = shortened(x)
        y = np.clip(y, -1.0, 1.0)[..., np.newaxis]
        rows, columns, factor = self._triangle
        return np.concatenate([x[..., rows] * x[..., columns] * factor, self.weight * (x * y)], axis=-1)

    def parts(self, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the matrices, (..., d, d), and the vectors, (..., d), of values or of sums of them."""
        rows, columns, factor = self._triangle
        matrix = np.empty((*values.shape[:-1], self.features, self.features))
        matrix[..., rows, columns] = matrix[..., columns, rows] = values[..., : rows.size] / factor
        return matrix, values[..., rows.size :] / self.weight

    def check(self, values: npt.ArrayLike, name: str = "value") -> FloatArray:
        """Return the values as float64; raise `DomainError` on NaN, a wrong shape or a value that is no moment."""
        array = as_values(values, self.shape, name, self)
        inside = np.abs(array).max(initial=0.0) <= self.upper  # not of NaN
        if inside:
            matrix, vector = self.parts(array)
            least = np.linalg.eigvalsh(matrix - vector[..., :, np.newaxis] * vector[..., np.newaxis, :])
            trace = np.trace(matrix, axis1=-2, axis2=-1)
            inside = (least >= -self._tolerance).all() and (trace <= 1.0 + self._tolerance).all()
        if not inside:
            raise DomainError(f"{name} holds numbers that are no record's moments: outside {self}")
        return array

    def clip(self, values: npt.ArrayLike) -> FloatArray:
        """Raise TypeError: records are clipped before their moments are taken, by `moments`."""
        raise TypeError(
            f"moments have no nearest value in {self}: give features and outcome to `moments`, which clips"
        )

    def extremes(self) -> FloatArray:
        """Return the moments of the unit vectors with outcomes 1 and -1, and of two records as far apart as can be."""
        axes = np.eye(self.features)
        points = [self.moments(axes, np.ones(self.features)), self.moments(axes, -np.ones(self.features))]
        if self.features > 1:
            turn = math.acos(min(0.5 * self.weight * self.weight, 1.0))
            turned = math.cos(turn) * axes[:1] + math.sin(turn) * axes[1:2]
            points.append(self.moments(turned, [-1.0]))
        return np.concatenate(points)
