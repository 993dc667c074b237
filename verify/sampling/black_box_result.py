"""The result of a black-box test."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from mechanisms.numerics.printed_numbers import nearest
from verify.findings.finding import Finding, LowerBound, ReadingLaws, Statement, Witness
from verify.findings.sentences import Sentence, exact, observed
from verify.sampling.binomial_bounds import Inversion
from verify.sampling.counted_event import CountedEvent
from verify.sampling.delta_band import DeltaBand
from verify.sampling.detection_floor import CountsOfEvent, Detectable, detectable_losses, detection_floor

_MORE = 10  # times the draws, for which the predicted power is stated
_NEAR = 0.01  # predicted power of that many draws, from which on a claim is near


@dataclass(frozen=True)
class BlackBoxResult(CountedEvent):
    """The result of the final test.

    Attributes
    ----------
    hits, hits_prime, trials
        The counts of the final draws alone.
    confidence
        The confidence of the two bounds, which hold together, and of the band (as a statement of its own).
    refuted
        True if `strict_epsilon_lower` exceeds the claim by more than rounding may add (`Event.rounding`), and the
        final draws are not `dependent`. Nothing else decides it.
    delta_lower
        Lower bound on δ at the claimed ε, at `confidence`; at least 0.
    inverted_by
        The inversion of the counts to the two bounds, fixed before the final draws.
    strict_epsilon_lower
        The bound on ε at error `significance`.
    strictly_inverted_by
        The inversion of the counts to that one, also fixed beforehand.
    share_of_error
        The share of each error that was spent; the rest is for the looks that could have been (see
        `verify.sampling.final_test.share_of_error`).
    band
        Lower bounds on δ(ε) for all ε at once, from the same draws.
    looks
        The number of tests that were run on final draws.
    detection_floor
        The smallest probability that an event must have had in one world, being impossible in the other, for
        the final test to refute the claim by it (at the expected count); above 1 if no event could have.
    final_batches
        Sizes of the batches of final draws: batch b of world w was drawn with
        ``SeedSequence(seed, spawn_key=(2, candidate, w, b))``.
    laws
        The laws of the number that decides the event, in the same draws; None if there is no such number.
    """

    kind: ClassVar[str] = "black_box"
    delta_lower: float
    inverted_by: Inversion
    strict_epsilon_lower: float
    strictly_inverted_by: Inversion
    share_of_error: float
    band: DeltaBand
    looks: int
    detection_floor: float
    final_batches: tuple[int, ...]
    laws: ReadingLaws | None = None

    def witness(self, reproduce: str) -> Witness:
        """Return the witness, with the laws of the reading that decides its event."""
        return replace(super().witness(reproduce), laws=self.laws)

    @property
    def varied(self) -> bool:
        """True if draws of one of the worlds differed, as any counted event shows."""
        counts = [count for one in self.band.events for count in (one.hits, one.hits_prime)]
        return super().varied or any(0 < count < self.band.trials for count in counts)

    @property
    def interruption(self) -> Finding | None:
        """That the bounds are those of fewer draws."""
        return Statement.STOPPED_IN_TEST.finding(draws=self.trials) if self.interrupted else None

    def band_beside(self, upper: Callable[[float], float] | None, upper_by: str) -> dict[str, Any] | None:
        """Return the band up to one and a half times the claim, or further; see `CountedEvent`."""
        return self.band.to_dict(upper, upper_by=upper_by, reach=1.5 * self.claim_epsilon)

    @property
    def detectable(self) -> tuple[Detectable, ...]:
        """For events of many probabilities, the smallest loss that this effort detects with power 80 %."""
        return detectable_losses(self.claim_epsilon, self.claim_delta, self.trials, self._strict_error)

    @property
    def _strict_error(self) -> float:
        """The part of the false-alarm rate that the decision spent."""
        return self.significance * self.share_of_error

    @property
    def floor_sentence(self) -> Sentence:
        """The smallest probability of an event that these draws detect, and ten times as many."""
        more = detection_floor(self.claim_epsilon, self.claim_delta, _MORE * self.trials, self._strict_error)
        return self._floor_sentence(self.detection_floor, self.trials, more)

    @property
    def near_claim(self) -> Sentence | None:
        """The predicted power of another seed, and of more draws; None unless ten times the draws may well reject."""
        counts = CountsOfEvent(self.hits, self.hits_prime, max(self.trials, 1))
        claim = self.claim_epsilon + self.event.rounding, self.claim_delta
        now, more = (
            counts.chance_of_refuting(times * counts.trials, *claim, self._strict_error)
            for times in (1, _MORE)
        )
        if self.refuted or self.dependent is not None or more < _NEAR:
            return None
        return observed(
            "Estimated loss {loss} ({draws:,} draws a side), near the claim. Predicted power with a new seed: {now}; "
            "with 10 times the draws: {more}.",
            self.trials,
            loss=nearest(counts.loss(self.claim_delta)),
            now=_chance(now),
            more=_chance(more),
        )

    @property
    def power(self) -> Sentence | None:
        """The losses that it detects with power 80 %, on events of three probabilities."""
        seen = [one for one in self.detectable if math.isfinite(one.epsilon)]
        if not seen or self.detection_floor > 1.0:
            return None
        shown = sorted({0, len(seen) // 2, len(seen) - 1}, reverse=True)
        curve = ", ".join(f"{seen[i].epsilon:.4g} on an event of probability {seen[i].mass:g}" for i in shown)
        return exact("80 % power for a loss of {curve}, once found.", curve=curve)

    def lower_bound(self) -> LowerBound:
        """The bound for a verdict; decisive if the claim is refuted at the strict level."""
        method = "black-box test" + (", stopped before its end" if self.interrupted else "")
        return self._lower_bound(method, self.samples + self.search_samples)

    def to_dict(self) -> dict[str, Any]:
        """Everything that a re-run needs and gives, as JSON-able data; without the band, which is long."""
        return {
            **super().to_dict(),
            "inversion": self.inverted_by.to_dict(),
            "strict_inversion": self.strictly_inverted_by.to_dict(),
            "detectable": [one.to_dict() for one in self.detectable],
            "final_batches": list(self.final_batches),
        }


def _chance(probability: float) -> str:
    """A chance that is known to a percent."""
    percent = round(100.0 * probability)
    return "less than 1 %" if percent < 1 else "more than 99 %" if percent > 99 else f"{percent} %"
