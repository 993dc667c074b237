"""A lower bound on the whole privacy profile: δ at every ε at once, from events counted on the same draws.

Each of K events, fixed before the final draws, gets a lower bound L on its probability p in the world where
it is likelier and an upper bound U on its probability q in the other, Clopper and Pearson's, wrong with
probability at most (1 - confidence) / K together. Then *all* of p ≥ L and q ≤ U hold with probability at
least `confidence`, and with them, for all ε at once, δ(ε) ≥ L - e^ε U for every event, and whatever follows:
δ(ε) ≥ (1 - U) - e^ε (1 - L), by the complements in the other order of the worlds, a trade-off curve, and
a Gaussian-DP parameter.

Nothing here is an upper bound; no finite test gives one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

from mechanisms.arrays import FloatArray
from mechanisms.numerics.printed_numbers import at_least
from mechanisms.parameters import ParameterError
from mechanisms.profiles.atomic_profile import lower_hull
from verify.events.event import Event
from verify.findings.sentences import Sentence, confident, remark
from verify.sampling.binomial_bounds import clopper_pearson_lower, clopper_pearson_upper

MOST_EVENTS = 32
_CURVE = 121  # points of the curves written to JSON


@dataclass(frozen=True)
class BandEvent:
    """One event of a band.

    Attributes
    ----------
    event
        The event.
    swapped
        False: it is the likelier one on data D. True: on D′.
    hits, hits_prime
        Final draws in it, of the likelier and of the other world.
    low, up
        Lower bound on its probability in the likelier world, upper bound on that in the other.
    """

    event: Event
    swapped: bool
    hits: int
    hits_prime: int
    low: float
    up: float


@dataclass(frozen=True, slots=True)
class DeltaBand:
    """Lower bounds on δ(ε) for every ε, jointly valid, of a pair of worlds in either order.

    Attributes
    ----------
    events
        The events; none if nothing was drawn.
    trials
        Final draws a world.
    confidence
        Probability with which all bounds of the band hold together.
    """

    events: tuple[BandEvent, ...]
    trials: int
    confidence: float

    def delta(self, epsilon: npt.ArrayLike) -> FloatArray:
        """Lower bound on δ at each ε, at least 0: the largest L - e^ε U; in the shape of `epsilon`."""
        odds = np.exp(np.minimum(np.asarray(epsilon, dtype=np.float64), 700.0))[..., None]
        low, up = self._bounds()
        found: FloatArray = np.max(low - odds * up, axis=-1, initial=0.0)
        return found

    def epsilon(self, delta: npt.ArrayLike) -> FloatArray:
        """Lower bound on ε at each δ, at least 0: the largest ln((L - δ) / U); in the shape of `delta`."""
        low, up = self._bounds()
        ratio = np.maximum((low - np.asarray(delta, dtype=np.float64)[..., None]) / up, 1.0)
        found: FloatArray = np.max(np.log(ratio), axis=-1, initial=0.0)
        return found

    def trade_off(self, alpha: npt.ArrayLike) -> FloatArray:
        """Upper bound on the false-negative rate that the mechanism forces on a test of false-positive rate α.

        The test "in the event" has a false-positive rate of at most U, and a false-negative rate of at most 1 - L.
        The trade-off function of a mechanism is convex, and one and the same for both orders (Dong, Roth and Su,
        JRSSB 84, 2022, propositions 2.2 and 2.4), so that it lies below the convex hull of these points, (0, 1) and
        (1, 0).
        """
        low, up = self._bounds()
        x, y = np.append(up, [0.0, 1.0]), np.append(1.0 - low, [1.0, 0.0])
        order = np.lexsort((y, x))
        corners = order[lower_hull(x[order].tolist(), y[order].tolist())]
        return np.asarray(np.interp(np.asarray(alpha, dtype=np.float64), x[corners], y[corners]))

    @property
    def mu(self) -> float:
        """Lower bound on μ: the mechanism is not μ-Gaussian-DP for any smaller one.

        μ-GDP lets no test of size q have more power than Φ(μ + Φ⁻¹(q)): μ ≥ Φ⁻¹(L) - Φ⁻¹(U).
        """
        low, up = self._bounds()
        return float(np.max(special.ndtri(low) - special.ndtri(up), initial=0.0))

    @property
    def sentence(self) -> Sentence:
        """The band as a sentence."""
        if not self.events:
            return remark("Privacy profile: not drawn.")
        reach = float(self.epsilon(0.0))
        at = [0.0, 0.25 * reach, 0.5 * reach, 0.75 * reach] if reach > 0.0 else [0.0]
        points = ", ".join(f"δ({at_least(x, 3)}) ≥ {at_least(float(self.delta(x)), 3)}" for x in at)
        end = f"; δ(ε) > 0 up to ε = {at_least(reach, 4)}" if reach > 0.0 else ""
        return confident(
            "{points}{end}; Gaussian-DP μ ≥ {mu} ({confidence} simultaneous confidence).",
            self.confidence,
            points=points,
            end=end,
            mu=at_least(self.mu, 3),
        )

    def to_dict(
        self, upper: Callable[[float], float] | None = None, *, upper_by: str = "", reach: float = 0.0
    ) -> dict[str, Any]:
        """Return the band as JSON-able data: events, curves, parameters.

        Parameters
        ----------
        upper
            An upper bound on δ at every ε ≥ 0, if one is known, to be written beside the lower one.
        upper_by
            The theorem or method that proves it.
        reach
            The ε to which the curves extend at least.
        """
        grid = np.linspace(0.0, max(reach, 1.1 * float(self.epsilon(0.0)), 1e-3), _CURVE)
        alpha = np.linspace(0.0, 1.0, 101)
        return {
            "confidence": self.confidence,
            "trials": self.trials,
            "said": self.sentence.to_dict(),
            "epsilon": grid.tolist(),
            "delta_lower": self.delta(grid).tolist(),
            "delta_upper": None if upper is None else [float(upper(float(x))) for x in grid],
            "delta_upper_by": None if upper is None else upper_by,
            "trade_off": {"alpha": alpha.tolist(), "beta_upper": self.trade_off(alpha).tolist()},
            "mu": self.mu,
            "events": [
                {**vars(one), "event": one.event.to_dict(), "words": one.event.description}
                for one in self.events
            ],
        }

    def _bounds(self) -> tuple[FloatArray, FloatArray]:
        """L and U of every event and, in the other order of the worlds, of its complement: 1 - U and 1 - L."""
        low, up = np.array([one.low for one in self.events]), np.array([one.up for one in self.events])
        return np.concatenate([low, 1.0 - up]), np.concatenate([up, 1.0 - low])


def delta_band(
    events: Sequence[tuple[Event, bool, float]],
    hits: npt.NDArray[np.int64],
    trials: int,
    *,
    confidence: float,
    share_of_error: float = 1.0,
) -> DeltaBand:
    """Bound the probabilities of events jointly.

    Parameters
    ----------
    events
        At most `MOST_EVENTS`: each with its order (True: likelier on D′) and the share of its error that is
        spent on the likelier world's probability, all fixed before the draws were counted.
    hits
        Draws in each event, data D first; shape (2, events).
    trials
        Draws a world.
    confidence
        The confidence of the band.
    share_of_error
        Share of 1 - confidence that may be spent; below 1 if there could have been other looks.

    Raises
    ------
    ParameterError
        If there are too many events, or a count, share or the confidence is out of range.
    """
    if len(events) > MOST_EVENTS:
        raise ParameterError(f"{len(events)} events: must be at most {MOST_EVENTS}")
    if not 0.0 < confidence < 1.0:
        raise ParameterError(f"confidence = {confidence!r}: must lie in (0, 1)")
    error = (1.0 - confidence) * share_of_error / max(len(events), 1)
    band = []
    for (event, swapped, share), counts in zip(events, hits.T.tolist(), strict=True):
        first, second = reversed(counts) if swapped else counts
        low = float(clopper_pearson_lower(first, trials, error * share))
        up = float(clopper_pearson_upper(second, trials, error * (1.0 - share)))
        band.append(BandEvent(event, swapped, first, second, low, up))
    return DeltaBand(tuple(band), trials, confidence)


def pair_profile(epsilon: float, delta: float) -> Callable[[float], float]:
    """The privacy profile that (epsilon, delta)-differential privacy alone guarantees.

    With probability δ everything is lost, else the worlds differ as in randomized response
    (Kairouz, Oh and Viswanath 2015, theorem 2.2): δ + (1 - δ) (e^ε - e^x) / (1 + e^ε) at x < ε, δ beyond.
    """

    def profile(x: float) -> float:
        if math.isinf(epsilon):
            return 1.0
        # (e^ε - e^x) / (1 + e^ε), written so that nothing overflows
        kept = -math.expm1(min(x - epsilon, 0.0)) / (1.0 + math.exp(-epsilon))
        return min(1.0, delta + (1.0 - delta) * kept)

    return profile
