"""Likelihood audit: a subject states the law of its view, and two laws are compared exactly.

What a stated law shows is true of the *law*: an exact computation refutes the law's privacy, and the subject's
only as far as the subject has that law. So three things are kept apart:

1. the laws' own ε and δ(ε), exact by enumeration or with a stated error (`LawPair`), which are reported;
2. whether the subject's draws contradict the law (`Law.contradiction`): then nothing is concluded from it, and
   a finding says so;
3. the event that the laws call the most telling one, {log-likelihood ratio ≥ τ} (Neyman and Pearson), fixed
   beforehand and counted on fresh draws of the subject. That count alone can refute the subject, at the level
   of every other sampled test. A law is a declaration: it never certifies anything either.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from verify.events.view_sample import Column
from verify.likelihood.audit_result import LikelihoodAudit
from verify.likelihood.law import Law, LawPair
from verify.sampling.draws import Candidate, batch_sizes, draw_batch
from verify.statistics.binomial import clopper_pearson_lower, clopper_pearson_upper, epsilon_lower

FloatArray = npt.NDArray[np.float64]

LIKELIHOOD_CHOOSE, LIKELIHOOD_FINAL = 5, 6  # first entries of the spawn keys
CHECK_ERROR = 1e-6
"""Probability with which draws from the stated laws are said to contradict them."""

_CHOOSE_SHARE = 0.3  # of the draws, for the check of the law and the choice of τ
_THRESHOLDS = 64


def audit_likelihood(
    laws: Sequence[tuple[Law, Law]],
    candidates: Sequence[Candidate],
    *,
    claim_epsilon: float,
    claim_delta: float,
    samples: int,
    confidence: float,
    false_alarm: float,
    seed: int,
) -> LikelihoodAudit:
    """Compare the stated laws of some pairs, and hold the worst pair against draws of the subject.

    Parameters
    ----------
    laws
        The laws on D and on D′ of every pair.
    candidates
        The same pairs, to be drawn from.
    claim_epsilon, claim_delta
        The claim.
    samples
        Draws to spend, both worlds.
    confidence, false_alarm
        Of the lower bounds.
    seed
        Of everything random.

    Raises
    ------
    ValueError
        If there is no pair, or a law is not what it should be.
    """
    if not laws or len(laws) != len(candidates):
        raise ValueError(
            f"laws={len(laws)}: must be one pair of laws for each of {len(candidates)} candidates"
        )
    index, swapped, pair = _worst(laws, claim_delta)
    candidate = candidates[index]
    choosing = max(64, int(_CHOOSE_SHARE * samples) // 2)
    final = max(64, (samples - 2 * choosing) // 2)

    def drawn(stage: int, world: bool, rows: int, of: Callable[[FloatArray], Any]) -> FloatArray:
        batches, columns = [], 1
        sizes = batch_sizes(rows, columns)
        for batch, size in enumerate(sizes):
            sample = draw_batch(candidate, index, stage, world, batch, size, seed)
            seen.setdefault("columns", sample.columns)
            batches.append(of(sample.values))
        return np.concatenate(batches)

    seen: dict[str, tuple[Column, ...]] = {}
    views = [drawn(LIKELIHOOD_CHOOSE, world, choosing, lambda values: values) for world in (False, True)]
    said = [law.contradiction(view, CHECK_ERROR / 2) for law, view in zip(laws[index], views, strict=True)]
    contradiction = next((words for words in said if words is not None), None)
    epsilon, delta = pair.epsilon(claim_delta), pair.delta(claim_epsilon)
    audit = LikelihoodAudit(
        candidate=index,
        label=candidate.label,
        swapped=swapped,
        epsilon=epsilon,
        delta=delta,
        contradiction=contradiction,
        event=None,
        event_words="",
        hits=0,
        hits_prime=0,
        trials=0,
        epsilon_lower=0.0,
        strict_epsilon_lower=0.0,
        confidence=confidence,
        false_alarm=false_alarm,
        claim_epsilon=claim_epsilon,
        claim_delta=claim_delta,
        samples=2 * choosing,
        seed=seed,
    )
    if contradiction is not None:
        return audit
    first, second = (views[1], views[0]) if swapped else (views[0], views[1])
    threshold = _threshold(pair.loss(first), pair.loss(second), final, claim_delta, false_alarm)
    if threshold is None:
        return audit
    worlds = (True, False) if swapped else (False, True)
    hits, hits_prime = (
        int(np.count_nonzero(drawn(LIKELIHOOD_FINAL, world, final, lambda v: pair.loss(v) >= threshold)))
        for world in worlds
    )
    event = pair.event(threshold, seen["columns"])
    words = f"the exact log-likelihood ratio of the view is at least {threshold:.6g}"
    return LikelihoodAudit(
        **{
            **vars(audit),
            "event": event,
            "event_words": words if event is None else event.words,
            "hits": hits,
            "hits_prime": hits_prime,
            "trials": final,
            "epsilon_lower": max(
                0.0, epsilon_lower(hits, final, hits_prime, final, claim_delta, 1 - confidence)
            ),
            "strict_epsilon_lower": max(
                0.0, epsilon_lower(hits, final, hits_prime, final, claim_delta, false_alarm)
            ),
            "samples": 2 * choosing + 2 * final,
        }
    )


def _worst(laws: Sequence[tuple[Law, Law]], delta: float) -> tuple[int, bool, LawPair]:
    """The pair and order with the largest ε at `delta`."""
    best: tuple[float, int, bool, LawPair] | None = None
    for index, (law, other) in enumerate(laws):
        pair = law.compared(other)
        for swapped, one in ((False, pair), (True, pair.swapped)):
            lower = one.epsilon(delta).lower
            if best is None or lower > best[0]:
                best = (lower, index, swapped, one)
    assert best is not None
    return best[1:]


def _threshold(
    first: FloatArray, second: FloatArray, trials: int, delta: float, error: float
) -> float | None:
    """The τ whose event {loss ≥ τ} promises the largest bound on ε; None if none promises any.

    Frequencies on the choosing draws are first moved to their own confidence bounds.
    """
    pooled = np.concatenate([first, second])
    pooled = np.sort(pooled[~np.isnan(pooled)])
    if not pooled.size:
        return None
    tail = np.geomspace(min(0.5, 5.0 / pooled.size), 0.5, _THRESHOLDS)
    levels = np.concatenate([tail, 1.0 - tail])
    values = pooled[np.clip((levels * pooled.size).astype(np.int64), 0, pooled.size - 1)]
    # A hair below a value that was seen: the same ratio with another rounding stays in the event.
    thresholds = np.unique(values - np.where(np.isfinite(values), 1e-9 * (1.0 + np.abs(values)), 0.0))
    best, chosen = 0.0, None
    for threshold in thresholds[thresholds > 0.0].tolist():
        p = float(clopper_pearson_lower(int(np.count_nonzero(first >= threshold)), len(first), 0.025))
        q = float(clopper_pearson_upper(int(np.count_nonzero(second >= threshold)), len(second), 0.025))
        low = float(clopper_pearson_lower(p * trials, trials, error / 2))
        up = float(clopper_pearson_upper(min(q * trials, trials), trials, error / 2))
        bound = math.log((low - delta) / up) if low > delta else -math.inf
        if bound > best:
            best, chosen = bound, threshold
    return chosen
