"""The event that attains a lower bound on the privacy loss, from a privacy profile."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass

from mechanisms.numerics.printed_numbers import at_least
from verify.findings.finding import LawBin, ReadingLaws

_STEP = 1e-6  # in epsilon, of the slope
_RESOLVED = 1e-6  # of e^ε Q beside δ, whose slope is known to about 1e-10
_FAR = 1e300  # a loss above it tells the data sets apart for certain
_HALF = 8  # bins of a picture below a threshold, and above it
_BELOW_1 = math.nextafter(1.0, 0.0)  # the float of a probability that may be just below 1


@dataclass(frozen=True, slots=True)
class LossEvent:
    """The event that the privacy loss is at least a threshold.

    Attributes
    ----------
    threshold
        The threshold of the loss, in ε; infinite if the event is impossible on D′.
    probability, probability_prime
        Under D and under D′; the second is 0 also where it is below all floats.
    """

    threshold: float
    probability: float
    probability_prime: float


def likeliest_event(delta: Callable[[float], float], *, claimed: float, bound: float) -> LossEvent:
    """Return an event that shows a lower bound on ε at the claimed δ.

    Of a bound above the claim, the threshold is the claim's ε: the event is too likely by as much as any. Of another
    bound it is the bound, and (P - δ) / P′ is e^bound. Of a bound without limit it is the event that is impossible on
    D′, if there is one.

    With the profile δ(ε) = P - e^ε Q of the pair, Q is minus the slope of δ in e^ε (the derivative of P - e^ε Q in the
    event's own threshold is 0, since there the densities' ratio is e^ε). The slope is taken below the threshold, as
    discrete losses have atoms. Where floats do not tell δ from P, a larger threshold is taken.

    Parameters
    ----------
    delta
        The privacy profile of the pair, in this order; asked from 0 to 1e300.
    claimed
        The ε of the claim.
    bound
        The lower bound on ε, at least 0; may be inf.
    """
    if math.isinf(bound) and (certain := delta(_FAR)) > 0.0:
        return LossEvent(math.inf, certain, 0.0)
    threshold = min(claimed, bound)
    above, rest = _parts(delta, threshold)
    if rest < _RESOLVED * above:
        threshold = _resolved_threshold(delta, threshold, bound)
        above, rest = _parts(delta, threshold)
    return LossEvent(threshold, min(_BELOW_1, above + rest), min(1.0, rest * math.exp(-threshold)))


def loss_laws(delta: Callable[[float], float], event: LossEvent) -> ReadingLaws | None:
    """Return the laws of the privacy loss, in bins from 0 on, of which one begins at the event's threshold.

    With the profile δ(ε) = P - e^ε Q, as `likeliest_event` reads it; the mass below the bins is the rest to 1.
    None where the threshold is infinite, or the probabilities above it are no float's.
    """
    if not math.isfinite(event.threshold) or event.probability_prime == 0.0:
        return None
    step = (event.threshold or 1.0) / _HALF
    grid = [step * k for k in range(_HALF)] + [event.threshold + step * k for k in range(_HALF)]
    above = [likeliest_event(delta, claimed=x, bound=x) for x in grid]
    above[_HALF] = event
    pairs = [(1.0, 1.0), *((each.probability, each.probability_prime) for each in above), (0.0, 0.0)]
    shares = [
        [max(0.0, here - beyond) for here, beyond in zip(*both, strict=True)]
        for both in itertools.pairwise(pairs)
    ]
    labels = ["< 0", *(f"{x:.3g}" for x in grid)]
    bins = (
        LawBin(label, ours, theirs, place > _HALF)
        for place, (label, (ours, theirs)) in enumerate(zip(labels, shares, strict=True))
    )
    return ReadingLaws("privacy loss of the output", 0, tuple(bins))


def _parts(delta: Callable[[float], float], threshold: float) -> tuple[float, float]:
    """Return δ and e^ε Q, which a float may hold where it does not hold Q, at a threshold ε."""
    above = delta(threshold)
    # As small as the losses, as large as the rounding of δ and of the threshold needs.
    step = max(min(_STEP, 1e-3 * threshold), _STEP * above, 1e-9 * threshold) or _STEP
    low, high = threshold - step, threshold
    if low < 0.0:  # δ is asked from 0 on
        low, high, above = 0.0, step, delta(step)
    return above, max(0.0, (delta(low) - above) / -math.expm1(low - high))


def _resolved_threshold(delta: Callable[[float], float], claimed: float, bound: float) -> float:
    """Return a threshold between the claim and the bound at which δ is a tenth to a half."""
    low, high = claimed, claimed
    while delta(high) > 0.5 and high < bound:
        low, high = high, min(2.0 * high + 1.0, bound)
    while delta(high) < 0.1 and high - low > 1e-3 * high:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if delta(middle) > 0.5 else (low, middle)
    return high


def ratio_event(seen: str, threshold: float) -> str:
    """Return the event, in symbols, that the output `seen` has at least the privacy loss `threshold`."""
    if math.isinf(threshold):
        return f"p({seen} | D′) = 0"
    return f"p({seen} | D) ≥ e^{at_least(threshold)} p({seen} | D′)"
