"""Policies whose conditional law is known: exponential weights, and Thompson sampling for Bernoulli rewards."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import special

from mechanisms import ParameterError
from verify.likelihood.policy_law import FloatArray, IntArray, PolicyLaw

_LONGEST = 200  # rounds for which Thompson's quadrature is exact


def exponential_weights_law(
    rewards: npt.ArrayLike, *, rate: float, exploration: float = 0.0, full_information: bool = False
) -> PolicyLaw:
    """The law of Exp3 (Auer, Cesa-Bianchi, Freund, Schapire 2002, Fig. 1), or of Hedge with full information.

    The probability of action a is ``(1 - γ) e^{η S_a} / Σ_b e^{η S_b} + γ / K``, with S_a the sum of what was seen
    of action a: reward / probability in the rounds in which it was taken (Exp3), every reward (Hedge).

    Parameters
    ----------
    rewards
        Shape (steps, K), the data.
    rate
        Learning rate η.
    exploration
        γ in [0, 1].
    full_information
        Whether all rewards of a round are seen.

    Raises
    ------
    ParameterError
        If rewards have another shape or exploration is outside [0, 1].
    """
    table = _table(rewards)
    if not 0.0 <= exploration <= 1.0:
        raise ParameterError(f"exploration = {exploration!r}: must lie in [0, 1]")
    steps, actions = table.shape

    def mixed(score: FloatArray) -> FloatArray:
        weight = np.exp(rate * (score - score.max(axis=1, keepdims=True)))
        share: FloatArray = weight / weight.sum(axis=1, keepdims=True)
        return np.asarray((1.0 - exploration) * share + exploration / actions)

    def next_action(past: IntArray) -> FloatArray:
        n, t = past.shape
        if full_information:
            return mixed(np.tile(table[:t].sum(axis=0), (n, 1)))
        score, rows = np.zeros((n, actions)), np.arange(n)
        for s in range(t):
            taken = past[:, s]
            score[rows, taken] += table[s, taken] / mixed(score)[rows, taken]
        return mixed(score)

    return PolicyLaw(next_action, steps, actions)


def thompson_law(rewards: npt.ArrayLike) -> PolicyLaw:
    """The law of Thompson sampling with uniform priors on Bernoulli means (Agrawal and Goyal 2012, Alg. 1).

    Action a is taken with probability ``∫ f_a Π_{b≠a} F_b`` for the Beta(1 + successes, 1 + failures) densities f
    and distribution functions F: polynomials, for which the Gauss-Legendre rule used is exact.

    Parameters
    ----------
    rewards
        Shape (steps, K) of zeros and ones, the data; at most 200 rounds.

    Raises
    ------
    ParameterError
        If rewards have another shape, are not 0 or 1, or are too many.
    """
    table = _table(rewards)
    if not np.isin(table, (0.0, 1.0)).all() or len(table) > _LONGEST:
        raise ParameterError(
            f"rewards of shape {table.shape}: must be zeros and ones in at most {_LONGEST} rounds"
        )
    steps, actions = table.shape
    # The degree of the integrand is at most steps + K - 1 <= 2 * nodes - 1.
    nodes, weights = np.polynomial.legendre.leggauss((steps + actions) // 2 + 1)
    x, w = (nodes + 1.0) / 2.0, weights / 2.0

    def next_action(past: IntArray) -> FloatArray:
        n, t = past.shape
        counts = np.zeros((n, actions, 2))
        for a in range(actions):
            taken = past == a
            counts[:, a, 0] = taken @ table[:t, a]
            counts[:, a, 1] = taken.sum(axis=1) - counts[:, a, 0]
        states, which = np.unique(counts.reshape(n, -1), axis=0, return_inverse=True)
        alpha, beta = (1.0 + states.reshape(len(states), actions, 2)).transpose(2, 0, 1)[..., None]
        below = special.betainc(alpha, beta, x)
        density = np.exp(
            (alpha - 1.0) * np.log(x) + (beta - 1.0) * np.log1p(-x) - special.betaln(alpha, beta)
        )
        p = np.empty((len(states), actions))
        for a in range(actions):
            others = np.prod(np.delete(below, a, axis=1), axis=1)
            p[:, a] = (density[:, a] * others) @ w
        return np.asarray((p / p.sum(axis=1, keepdims=True))[which.reshape(-1)])

    return PolicyLaw(next_action, steps, actions)


def _table(rewards: npt.ArrayLike) -> FloatArray:
    table = np.asarray(rewards, dtype=np.float64)
    if table.ndim != 2 or 0 in table.shape:
        raise ParameterError(f"rewards of shape {table.shape}: must be (steps, actions)")
    return table
