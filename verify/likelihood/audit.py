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
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from accountant import CertifiedInterval
from verify.events.event import Event
from verify.events.view_sample import Column
from verify.sampling.draws import Candidate, batch_sizes, draw_batch
from verify.statistics.binomial import clopper_pearson_lower, clopper_pearson_upper, epsilon_lower
from verify.verdict import Finding, LowerBound, Witness, number

FloatArray = npt.NDArray[np.float64]

LIKELIHOOD_CHOOSE, LIKELIHOOD_FINAL = 5, 6  # first entries of the spawn keys
CHECK_ERROR = 1e-6
"""Probability with which draws from the stated laws are said to contradict them."""

_CHOOSE_SHARE = 0.3  # of the draws, for the check of the law and the choice of τ
_THRESHOLDS = 64


class LawPair(Protocol):
    """The laws of one view on two neighbouring data sets."""

    @property
    def swapped(self) -> LawPair:
        """The pair in the other order."""
        ...

    def epsilon(self, delta: float = 0.0) -> CertifiedInterval:
        """The least ε ≥ 0 with δ(ε) ≤ `delta`, of this order."""
        ...

    def delta(self, epsilon: float) -> CertifiedInterval:
        """The δ(ε) of this order."""
        ...

    def loss(self, views: FloatArray) -> FloatArray:
        """Log-likelihood ratio of views, shape (n, p) to (n,); NaN where both laws say impossible."""
        ...

    def event(self, loss: float, columns: Sequence[Column]) -> Event | None:
        """The event that the log-likelihood ratio is at least `loss` as code-free data, None if it is too long."""
        ...


class Law(Protocol):
    """The law of a view on one data set: `FiniteLaw`, `DensityLaw` or `PolicyLaw`."""

    def contradiction(self, views: FloatArray, error: float) -> str | None:
        """Say what in independent draws contradicts the law, which its own draws do with probability ≤ `error`."""
        ...

    def compared(self, other: Any) -> LawPair:
        """The pair of this law and another of the same kind."""
        ...


@dataclass(frozen=True)
class LikelihoodAudit:
    """What stated laws say of some pairs, and what the subject's draws say to that.

    Attributes
    ----------
    candidate, label
        The pair whose laws force the largest ε.
    swapped
        Whether that is in the order D′, D.
    epsilon
        The ε that the laws of this pair have at the claimed δ.
    delta
        The δ that they have at the claimed ε.
    contradiction
        What in the subject's draws contradicts the laws; None if nothing does.
    event
        The tested event as code-free data, if it has a short form.
    event_words
        The tested event; "" if none was tested.
    hits, hits_prime, trials
        Counts of the final draws, the likelier world first.
    epsilon_lower, strict_epsilon_lower
        Lower bounds on the subject's ε from these counts, at `confidence` and at error `false_alarm`.
    confidence, false_alarm, claim_epsilon, claim_delta, samples, seed
        As asked for; `samples` as spent.
    """

    candidate: int
    label: str
    swapped: bool
    epsilon: CertifiedInterval
    delta: CertifiedInterval
    contradiction: str | None
    event: Event | None
    event_words: str
    hits: int
    hits_prime: int
    trials: int
    epsilon_lower: float
    strict_epsilon_lower: float
    confidence: float
    false_alarm: float
    claim_epsilon: float
    claim_delta: float
    samples: int
    seed: int

    @property
    def refuted(self) -> bool:
        """Whether the subject's own draws refute the claim."""
        return self.strict_epsilon_lower > self.claim_epsilon

    @property
    def findings(self) -> list[Finding]:
        """A contradiction, or a stated law that breaks the claim."""
        if self.contradiction is not None:
            message = (
                f"the draws contradict the stated law, which is not used ({self.label}): {self.contradiction}"
            )
            return [Finding("law", "", message)]
        if self.epsilon.lower > self.claim_epsilon:
            seen = "; its draws show it" if self.refuted else "; its draws are too few to show it"
            message = (
                f"the stated law has ε = {number(self.epsilon.lower)} at δ = {number(self.claim_delta)} "
                f"({self.epsilon.lower_by}), above the claim ({self.label}){seen}"
            )
            return [Finding("stated-law", "", message)]
        return []

    def lower_bound(self) -> LowerBound | None:
        """The bound from the subject's draws; None if no event was tested."""
        if not self.event_words:
            return None
        return LowerBound(
            epsilon=self.epsilon_lower,
            delta=self.claim_delta,
            confidence=self.confidence,
            method="the stated law's own event",
            samples=self.samples,
            in_view=True,
            decisive=self.refuted,
        )

    def witness(self, data: str, data_prime: str, reproduce: str) -> Witness:
        """The witness of the bound; `data` and `data_prime` in the candidate's order."""
        if self.swapped:
            data, data_prime = data_prime, data
        return Witness(
            neighbours={"data": data, "data_prime": data_prime},
            event=self.event_words,
            probability=self.hits / self.trials,
            probability_prime=self.hits_prime / self.trials,
            reproduce=reproduce,
            details=self.to_dict(),
            hits=self.hits,
            hits_prime=self.hits_prime,
            trials=self.trials,
        )

    def to_dict(self) -> dict[str, Any]:
        """JSON-able data."""
        return {
            "label": self.label,
            "swapped": self.swapped,
            "law_epsilon": [self.epsilon.lower, self.epsilon.upper],
            "law_epsilon_by": [self.epsilon.lower_by, self.epsilon.upper_by],
            "law_delta": [self.delta.lower, self.delta.upper],
            "contradiction": self.contradiction,
            "event": None if self.event is None else self.event.to_dict(),
            "event_words": self.event_words,
            "hits": self.hits,
            "hits_prime": self.hits_prime,
            "trials": self.trials,
            "epsilon_lower": self.epsilon_lower,
            "strict_epsilon_lower": self.strict_epsilon_lower,
            "confidence": self.confidence,
            "refuted": self.refuted,
            "false_alarm": self.false_alarm,
            "samples": self.samples,
            "seed": self.seed,
        }


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
