"""What a verification says: bounds, findings, witness and the verdict that follows from them.

The rules (`decide`) are a pure function of what the verifier's layers found:

certified
    the accountant's upper bound, in the claim's model, is at most the claim; nothing was declassified; every
    domain, sensitivity and trust check passed; no audit contradicts it.
refuted
    a lower bound in the claim's own view, statistical at the strict error level or exact, exceeds the claim,
    and a witness shows it.
unproven
    neither; the first reason says why no proof went through.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np

Verdict = Literal["certified", "refuted", "unproven"]

EXIT_CODES: Mapping[Verdict, int] = {"certified": 0, "refuted": 1, "unproven": 3}


class ClaimLike(Protocol):
    """What is claimed: (ε, δ)-differential privacy of a view, in a trust model.

    `model` is "central", "local" or "shuffle"; `unit` says what one record is, `neighbours` how two
    neighbouring data sets differ, `view` what the adversary sees, all in words.
    """

    @property
    def model(self) -> str:
        """The trust model."""
        ...

    @property
    def epsilon(self) -> float:
        """The claimed ε."""
        ...

    @property
    def delta(self) -> float:
        """The claimed δ."""
        ...

    @property
    def unit(self) -> str:
        """What one record is."""
        ...

    @property
    def neighbours(self) -> str:
        """How two neighbouring data sets differ."""
        ...

    @property
    def view(self) -> str:
        """What the adversary sees."""
        ...


@dataclass(frozen=True, slots=True)
class Finding:
    """Something seen while verifying.

    Attributes
    ----------
    kind
        A short stable name, such as ``"declassified"`` or ``"sensitivity"``.
    where
        ``"file.py:12"``, or "" if no line of code is to blame.
    message
        One sentence.
    failing
        Whether the finding stands in the way of a certificate; False for remarks.
    """

    kind: str
    where: str
    message: str
    failing: bool = True


@dataclass(frozen=True, slots=True)
class UpperBound:
    """The mechanism is (epsilon, delta)-differentially private, by `method`; epsilon may be infinite."""

    epsilon: float
    delta: float
    method: str

    def __post_init__(self) -> None:
        _check_bound(self.epsilon, self.delta)


@dataclass(frozen=True, slots=True)
class LowerBound:
    """No ε below `epsilon` is true at `delta`, as far as `method` can be trusted.

    Attributes
    ----------
    epsilon, delta
        The bound on ε and the δ it is for; epsilon may be infinite.
    confidence
        Probability with which the bound holds; 1 if it was computed exactly.
    method
        How it was found.
    samples
        Draws of the view spent on it; 0 if it was computed exactly.
    in_view
        Whether it is about the claim's own view. A bound on more than the adversary sees refutes nothing.
    decisive
        Whether a refutation may rest on it: it is exact, or it also exceeds the claim at the strict error
        level.
    """

    epsilon: float
    delta: float
    confidence: float
    method: str
    samples: int
    in_view: bool = True
    decisive: bool = False

    def __post_init__(self) -> None:
        _check_bound(self.epsilon, self.delta)
        if not 0.0 < self.confidence <= 1.0:
            raise ValueError(f"confidence must lie in (0, 1], got {self.confidence}")


@dataclass(frozen=True, slots=True)
class Witness:
    """Two neighbouring data sets and an event that is too likely on one of them.

    Attributes
    ----------
    neighbours
        ``{"data": ..., "data_prime": ...}``: the two data sets, each in words; data is where the event is
        likelier.
    event
        The event as a clause, or the decision that differs.
    probability, probability_prime
        Of the event, on data and on data_prime (estimated, or exact where no counts are given).
    reproduce
        A command that shows the same again.
    details
        Anything else, as JSON-able data: the event's exact form, seeds, bounds.
    hits, hits_prime, trials
        Counts behind the probabilities: draws in the event on either side, and draws a side. Without
        `hits_prime`, the probability on data_prime is a bound that follows from the one on data.
    """

    neighbours: Mapping[str, str]
    event: str
    probability: float
    probability_prime: float
    reproduce: str
    details: Mapping[str, Any] = field(default_factory=dict)
    hits: int | None = None
    hits_prime: int | None = None
    trials: int | None = None

    def __post_init__(self) -> None:
        if not {"data", "data_prime"} <= set(self.neighbours):
            raise ValueError(f"neighbours must describe data and data_prime, got {sorted(self.neighbours)}")
        for name, value in (("probability", self.probability), ("probability_prime", self.probability_prime)):
            if not 0.0 <= value <= 1.0:
                raise ValueError(f"{name} must lie in [0, 1], got {value}")


@dataclass(frozen=True, slots=True)
class Decision:
    """A verdict and why, the deciding reason first; every reason is a sentence."""

    verdict: Verdict
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Verification:
    """The whole result of one verification.

    Attributes
    ----------
    subject
        What was verified: a registered name or ``path.py:object``.
    claim
        What it claims.
    decision
        The verdict and its reasons; the verdict is also `verdict`.
    upper, lower
        The two bounds on ε; None where there is none.
    witness
        None unless something was seen.
    findings
        In the order in which they were met.
    seed
        Seed of everything random.
    versions
        Of the packages that took part.
    details
        More keys of the JSON object, such as ``"coupled"`` or ``"detection_floor"``; they must not repeat
        its own.
    """

    subject: str
    claim: ClaimLike
    decision: Decision
    upper: UpperBound | None
    lower: LowerBound | None
    witness: Witness | None
    findings: tuple[Finding, ...]
    seed: int
    versions: Mapping[str, str]
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def verdict(self) -> Verdict:
        """``"certified"``, ``"refuted"`` or ``"unproven"``."""
        return self.decision.verdict

    @property
    def exit_code(self) -> int:
        """Of the command line: 0 certified, 1 refuted, 3 unproven."""
        return EXIT_CODES[self.verdict]

    def json(self) -> dict[str, Any]:
        """The result as JSON-able data: infinity is the string "inf".

        ``"best_event"`` is what told the data sets apart best; it is the ``"witness"`` if it refutes.

        Raises
        ------
        ValueError
            If a number is NaN, or a key of `details` is taken.
        """
        claim, upper, lower, witness = self.claim, self.upper, self.lower, self.witness
        best_event = witness and {
            "neighbours": witness.neighbours,
            "event": witness.event,
            "probability": witness.probability,
            "probability_prime": witness.probability_prime,
            "hits": witness.hits,
            "hits_prime": witness.hits_prime,
            "trials": witness.trials,
            "reproduce": witness.reproduce,
            "details": witness.details,
        }
        result: dict[str, Any] = {
            "subject": self.subject,
            "claim": {
                "model": claim.model,
                "epsilon": claim.epsilon,
                "delta": claim.delta,
                "unit": claim.unit,
                "neighbours": claim.neighbours,
                "view": claim.view,
            },
            "verdict": self.verdict,
            "reasons": self.decision.reasons,
            "upper": upper and {"epsilon": upper.epsilon, "delta": upper.delta, "method": upper.method},
            "lower": lower
            and {
                "epsilon": lower.epsilon,
                "delta": lower.delta,
                "confidence": lower.confidence,
                "method": lower.method,
                "samples": lower.samples,
                "in_view": lower.in_view,
                "decisive": lower.decisive,
            },
            "witness": best_event if self.verdict == "refuted" else None,
            "findings": [
                {"kind": f.kind, "where": f.where, "message": f.message, "failing": f.failing}
                for f in self.findings
            ],
            "seed": self.seed,
            "versions": self.versions,
            "best_event": best_event,
        }
        if taken := result.keys() & self.details.keys():
            raise ValueError(f"details must not repeat the result's own keys, got {sorted(taken)}")
        plain: dict[str, Any] = json_able({**result, **self.details})
        return plain


def decide(
    claim: ClaimLike,
    *,
    upper: UpperBound | None,
    lower: LowerBound | None,
    witness: Witness | None,
    findings: Sequence[Finding] = (),
    declassified: Sequence[str] = (),
    contradictions: Sequence[str] = (),
) -> Decision:
    """Apply the verdict rules.

    Parameters
    ----------
    claim
        The claim.
    upper
        The accountant's bound in the claim's model, None if the subject could not be accounted.
    lower
        The best lower bound, None if nothing was audited.
    witness
        What shows the lower bound.
    findings
        All findings; a failing one stands in the way of a certificate.
    declassified
        The places at which private data were declassified, in words.
    contradictions
        What an audit saw that the upper bound excludes, one sentence each (say, a coupled loss above the
        ledger).

    Returns
    -------
    Decision
        A refutation needs a lower bound that is about the claim's own view, decisive, above the claim at the
        claimed δ or a larger one, and shown by a witness. If such a bound meets an upper bound within the
        claim, the accounting rests on something untrue, and the refutation stands.
    """
    in_the_way: list[str] = []
    if upper is None:
        in_the_way.append("The subject could not be accounted, so that there is no upper bound.")
    if declassified:
        in_the_way.append(
            f"Private data were declassified ({'; '.join(declassified)}): no bound covers what followed."
        )
    for finding in findings:
        if finding.failing:
            place = f" ({finding.where})" if finding.where else ""
            in_the_way.append(f"A check failed: {finding.message.rstrip('.')}{place}.")
    in_the_way.extend(contradictions)
    within = upper is not None and upper.epsilon <= claim.epsilon and upper.delta <= claim.delta
    if upper is not None and math.isinf(upper.epsilon) and not math.isinf(claim.epsilon):
        in_the_way.append(
            f"There is no finite upper bound ({upper.method.removeprefix('none: ').removeprefix('no bound: ')})."
        )
    elif upper is not None and not within:
        in_the_way.append(
            f"The accountant's upper bound, {_pair(upper.epsilon, upper.delta)}, exceeds the claim, "
            f"{_pair(claim.epsilon, claim.delta)}."
        )

    exceeds = lower is not None and lower.epsilon > claim.epsilon and lower.delta >= claim.delta
    if lower is not None and exceeds:
        bound = f"The lower bound, {_pair(lower.epsilon, lower.delta)} by {lower.method},"
        sound = lower.in_view and lower.decisive
        if sound and witness is not None:
            against = [
                f"{bound} exceeds the claim, {_pair(claim.epsilon, claim.delta)}, in the claimed view."
            ]
            if within:
                against.append(
                    "The accountant's upper bound is within the claim all the same: it rests on a "
                    "declaration or a sampler that does not hold."
                )
            return Decision("refuted", (*against, *in_the_way))
        if sound:
            in_the_way.append(f"{bound} exceeds the claim, but there is no witness.")
        elif in_the_way:  # such a bound explains, but does not contradict a proof
            why = (
                "at the strict error level of a refutation" if lower.in_view else "in the claimed view alone"
            )
            in_the_way.append(f"{bound} exceeds the claim, but not {why}.")

    if in_the_way:
        return Decision("unproven", tuple(in_the_way))
    assert upper is not None
    return Decision(
        "certified",
        (
            f"The accountant's upper bound, {_pair(upper.epsilon, upper.delta)}, is within the claim, and "
            "nothing speaks against it.",
        ),
    )


def json_able(value: Any) -> Any:
    """Plain JSON data: NumPy numbers and arrays become Python's, infinity becomes "inf" or "-inf".

    Raises
    ------
    ValueError
        If a number is NaN, or a value has no JSON form.
    """
    if isinstance(value, Mapping):
        return {str(key): json_able(entry) for key, entry in value.items()}
    if isinstance(value, np.ndarray):
        return json_able(value.tolist())
    if isinstance(value, (list, tuple)):
        return [json_able(entry) for entry in value]
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        if math.isnan(value):
            raise ValueError("a result must not hold nan")
        return float(value) if math.isfinite(value) else ("inf" if value > 0 else "-inf")
    raise ValueError(f"a result must hold JSON data only, got {type(value).__name__}")


def _pair(epsilon: float, delta: float) -> str:
    return f"ε={number(epsilon)} at δ={number(delta)}"


def number(value: float) -> str:
    """A number for a sentence: six significant digits, ∞ for infinity."""
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    return f"{value:.6g}"


def _check_bound(epsilon: float, delta: float) -> None:
    if not epsilon >= 0.0:
        raise ValueError(f"epsilon must be at least 0, got {epsilon}")
    if not 0.0 <= delta <= 1.0:
        raise ValueError(f"delta must lie in [0, 1], got {delta}")
