"""Laws of report noisy max and of the sparse vector technique, by one-dimensional integrals.

Given the threshold's noise (or the winner's) everything else is independent, so that one integral gives each
probability. The error of the Gauss-Legendre rules is not proved: probabilities are credited with a relative error
of 1e-9, far above what closed forms show.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from mechanisms import ParameterError
from mechanisms.parameters import positive
from verify.likelihood.finite_law import FiniteLaw, FloatArray
from verify.zoo.laws import TAIL, exponential_cdf, laplace_cdf, laplace_density, laplace_survival, quadrature

RELATIVE_ERROR = 1e-9

_Function = Callable[[FloatArray], FloatArray]


def _exponential_density(x: FloatArray) -> FloatArray:
    return np.where(x >= 0.0, np.exp(-np.maximum(x, 0.0)), 0.0)


_NOISES: dict[str, tuple[_Function, _Function]] = {
    "laplace": (laplace_density, laplace_cdf),
    "exponential": (_exponential_density, exponential_cdf),
}


def noisy_max_law(answers: npt.ArrayLike, *, scale: float, noise: str = "laplace") -> FiniteLaw:
    """The law of argmax_i (answer_i + noise_i): ``P(i) = ∫ f(x - q_i) Π_{j≠i} F(x - q_j) dx``.

    Parameters
    ----------
    answers
        Shape (queries,).
    scale
        Of the noise.
    noise
        ``"laplace"`` or ``"exponential"`` (Ding et al. 2018, Alg. 5 and 6).

    Raises
    ------
    ParameterError
        If the noise is unknown or the scale not positive.
    """
    if noise not in _NOISES:
        raise ParameterError(f"noise = {noise!r}: must be one of {', '.join(_NOISES)}")
    positive("scale", scale)
    density, cdf = _NOISES[noise]
    q = np.asarray(answers, dtype=np.float64)
    x, weights = quadrature(q, q.min() - TAIL * scale, q.max() + TAIL * scale, scale)
    below = cdf((x - q[:, None]) / scale)
    p = np.array(
        [
            np.sum(
                weights * density((x - q[i]) / scale) / scale * np.prod(np.delete(below, i, axis=0), axis=0)
            )
            for i in range(len(q))
        ]
    )
    return FiniteLaw.of_arrays(np.arange(len(q)), p, rounding=RELATIVE_ERROR)


def sparse_vector_law(
    answers: npt.ArrayLike,
    *,
    threshold: float,
    threshold_scale: float,
    query_scale: float,
    most: int | None = None,
) -> FiniteLaw:
    """The law of the replies of the sparse vector technique (Lyu, Su, Li 2017, Alg. 1 and its variants).

    Query i is TRUE if ``answer_i + ν_i >= threshold + ρ`` for one ρ ~ Lap(threshold_scale) and independent
    ν_i ~ Lap(query_scale), so that

        P(replies) = ∫ f(ρ) Π_{i FALSE} F(threshold + ρ - q_i) Π_{i TRUE} (1 - F(threshold + ρ - q_i)) dρ.

    Parameters
    ----------
    answers
        Shape (queries,), at most 16.
    threshold_scale, query_scale
        Of the noises; a query_scale of 0 is no noise on the queries (Alg. 5).
    most
        After so many TRUEs nothing is sent any more (NaN); None: all queries are replied to.

    Raises
    ------
    ParameterError
        If there are more than 16 queries, or a scale is negative, or threshold_scale is 0.
    """
    q = np.asarray(answers, dtype=np.float64)
    if q.ndim != 1 or not 1 <= q.size <= 16:
        raise ParameterError(f"answers of shape {q.shape}: must be (queries,), at most 16 of them")
    positive("threshold_scale", threshold_scale)
    if not query_scale >= 0.0:
        raise ParameterError(f"query_scale = {query_scale!r}: must be at least 0")
    b = threshold_scale
    widths = min(b, query_scale) if query_scale else b
    rho, weights = quadrature([0.0, *(q - threshold)], -TAIL * b, TAIL * b, widths)
    weights = weights * laplace_density(rho / b) / b
    level = threshold + rho - q[:, None]
    if query_scale:
        false, true = laplace_cdf(level / query_scale), laplace_survival(level / query_scale)
    else:
        false, true = (level > 0.0).astype(np.float64), (level <= 0.0).astype(np.float64)
    replies: dict[tuple[float, ...], float] = {}
    running: list[tuple[tuple[float, ...], FloatArray]] = [((), weights)]
    for i in range(len(q)):
        following = []
        for said, mass in running:
            for reply, factor in ((0.0, false[i]), (1.0, true[i])):
                longer = (*said, reply)
                if most is not None and sum(longer) >= most:
                    replies[longer + (np.nan,) * (len(q) - len(longer))] = float(np.sum(mass * factor))
                else:
                    following.append((longer, mass * factor))
        running = following
    replies.update({said: float(np.sum(mass)) for said, mass in running})
    seen = {said: chance for said, chance in replies.items() if chance > 0.0}
    return FiniteLaw.of(seen, rounding=RELATIVE_ERROR)
