"""What a black-box test saw, and what follows from it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from verify.findings import LowerBound
from verify.sampling.counted_event import CountedEvent
from verify.sampling.delta_band import DeltaBand
from verify.sentences import number
from verify.statistics.count_inversion import Inversion
from verify.statistics.detection_floor import POWER, Detectable, detectable_losses


@dataclass(frozen=True)
class BlackBoxResult(CountedEvent):
    """What the final test saw.

    Attributes
    ----------
    candidate, worlds, swapped, event, hits, hits_prime, trials, claim_epsilon, claim_delta
        As of every `CountedEvent`: counted on final draws.
    epsilon_lower
        Lower bound on ε at the claimed δ, at `confidence`; at least 0.
    delta_lower
        Lower bound on δ at the claimed ε, at `confidence`; at least 0. Both hold together.
    confidence
        Of the two bounds, and of the band (as a statement of its own).
    inverted_by
        How the counts became the two bounds, fixed before the final draws.
    strict_epsilon_lower
        The bound on ε at error `false_alarm`.
    strictly_inverted_by
        How the counts became that one, also fixed beforehand.
    share_of_error
        The share of each error that was spent; the rest is for the looks that could have been (see
        `verify.sampling.final_test.share_of_error`).
    band
        Lower bounds on δ(ε) for all ε at once, from the same draws.
    refuted
        Whether `strict_epsilon_lower` exceeds the claim, and the final draws are not `dependent`. Nothing else
        decides it.
    dependent
        How the final draws hang together (`verify.sampling.independence`), None if they seem to be independent: if they
        do, all bounds are void.
    false_alarm
        The largest probability with which a true claim is refuted.
    looks
        The number of tests that were run on final draws.
    samples
        Draws spent, all stages and both worlds.
    detection_floor
        The smallest probability that an event must have had in one world, being impossible in the other, for
        the final test to refute the claim by it (at the expected count); above 1 if no event could have.
    interrupted
        Whether the final test was stopped before its last batch.
    seed
        The seed from which everything can be drawn again.
    final_batches
        Sizes of the batches of final draws: batch b of world w was drawn with
        ``SeedSequence(seed, spawn_key=(2, candidate, w, b))``.
    """

    epsilon_lower: float
    delta_lower: float
    confidence: float
    inverted_by: Inversion
    strict_epsilon_lower: float
    strictly_inverted_by: Inversion
    share_of_error: float
    band: DeltaBand
    refuted: bool
    false_alarm: float
    looks: int
    samples: int
    detection_floor: float
    interrupted: bool
    seed: int
    final_batches: tuple[int, ...]
    dependent: str | None = None

    @property
    def inversion(self) -> str:
        """``"union"`` or ``"stouffer"``: how the counts became the reported bounds."""
        return self.inverted_by.name

    @property
    def detectable(self) -> tuple[Detectable, ...]:
        """For events of many probabilities, the smallest loss that this effort detects with power 80 %."""
        error = self.false_alarm * self.share_of_error
        return detectable_losses(self.claim_epsilon, self.claim_delta, self.trials, error)

    @property
    def detection_floor_words(self) -> str:
        """What this effort could not have seen, as a sentence or two."""
        if self.detection_floor > 1.0:
            return (
                f"With {self.trials:,} final draws a side no event at all could have refuted ε = "
                f"{number(self.claim_epsilon)}: take more samples."
            )
        sentence = (
            f"With {self.trials:,} final draws a side, a leak that shows itself with probability below "
            f"{self.detection_floor:.2g} would have gone unseen, however large it is."
        )
        seen = [one for one in self.detectable if math.isfinite(one.epsilon)]
        if not seen:
            return sentence
        shown = sorted({0, len(seen) // 2, len(seen) - 1}, reverse=True)
        curve = ", ".join(f"{seen[i].epsilon:.4g} on an event of probability {seen[i].mass:g}" for i in shown)
        return f"{sentence} With {100 * POWER:.0f} % power it sees a loss of {curve}, if it finds the event."

    def lower_bound(self) -> LowerBound:
        """The bound for a verdict; decisive if the claim is refuted at the strict level."""
        return LowerBound(
            epsilon=self.epsilon_lower,
            delta=self.claim_delta,
            confidence=self.confidence,
            method="black-box test" + (", stopped before its end" if self.interrupted else ""),
            samples=self.samples,
            in_view=True,
            decisive=self.refuted,
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything that a re-run needs and gives, as JSON-able data; without the band, which is long."""
        return {
            **super().to_dict(),
            "epsilon_lower": self.epsilon_lower,
            "delta_lower": self.delta_lower,
            "confidence": self.confidence,
            "inversion": self.inverted_by.to_dict(),
            "strict_epsilon_lower": self.strict_epsilon_lower,
            "strict_inversion": self.strictly_inverted_by.to_dict(),
            "share_of_error": self.share_of_error,
            "refuted": self.refuted,
            "dependent": self.dependent,
            "false_alarm": self.false_alarm,
            "looks": self.looks,
            "samples": self.samples,
            "detection_floor": self.detection_floor,
            "detection_floor_words": self.detection_floor_words,
            "detectable": [one.to_dict() for one in self.detectable],
            "interrupted": self.interrupted,
            "seed": self.seed,
            "final_batches": list(self.final_batches),
        }
