"""The inversion of two counts to lower bounds on ε and δ, by one of two valid methods, fixed before the counts.

The union of two Clopper-Pearson bounds is sharper where one of the counts is next to known (few hits on the one side,
many on the other), the joint region of `verify.sampling.stouffer` everywhere else. The choice between them, and of the
split or weight, must not depend on the counts it is applied to; `choose_inversion` decides by estimates from earlier
draws.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from verify.events.predicted_bound import approximate_lower, approximate_upper
from verify.sampling.binomial_bounds import Inversion, Union
from verify.sampling.stouffer import Stouffer, stouffer_weight

_SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98)


def choose_inversion(
    hits: int, hits_other: int, chosen_on: int, trials: int, delta: float, error: float
) -> Inversion:
    """The inversion that promises the largest bound on ε on fresh draws.

    Parameters
    ----------
    hits, hits_other, chosen_on
        Numbers of draws in the event on data D and on D′, of `chosen_on` earlier ones each.
    trials
        Draws a side of the coming test.
    delta, error
        The delta and the error of the coming bound.

    Returns
    -------
    Inversion
        Compared at the expected counts. Half a hit is added to each, so that an event not yet seen is not taken for
        impossible.
    """
    p, q = ((count + 0.5) / (chosen_on + 1.0) for count in (hits, hits_other))
    expected = (round(p * trials), trials, round(q * trials), trials)
    candidates: list[Inversion] = [Union(best_share(p, q, trials, error, delta))]
    if p > delta:
        candidates.append(Stouffer(stouffer_weight(p, q, delta)))
    bounds = [candidate.epsilon_lower(*expected, delta, error) for candidate in candidates]
    return candidates[bounds.index(max(bounds))]


def best_share(p: float, q: float, trials: int, error: float, delta: float = 0.0) -> float:
    """The split of `error` between two Clopper-Pearson bounds with which ln((p - δ) / q) comes out largest.

    Parameters
    ----------
    p, q
        Estimates of the two probabilities, from other draws than the `trials` of the coming test.

    Returns
    -------
    float
        The share to be spent on p; 0.5 if no share makes the lower bound on p exceed δ.
    """
    counts = np.array([p, q]) * trials
    p_scores = -special.ndtri(error * np.array(_SHARES))
    q_scores = -special.ndtri(error * (1.0 - np.array(_SHARES)))
    low = approximate_lower(counts[0], trials, p_scores)
    ratio = np.maximum(low - delta, 0.0) / approximate_upper(counts[1], trials, q_scores)
    return _SHARES[int(np.argmax(ratio))] if ratio.max() > 0.0 else 0.5
