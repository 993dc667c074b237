"""What is reported of a regret claim: the theorem, what its proof rests on, the outcome, and one verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

from verify.regret_claims.outcome import Checkpoint
from verify.regret_claims.proof_run import ProofCheck
from verify.verdict.json_form import json_able

RegretVerdict = Literal["consistent", "violated", "undecided", "vacuous", "out of regime"]

EXIT_CODES: Mapping[RegretVerdict, int] = {
    "consistent": 0,
    "violated": 1,
    "undecided": 3,
    "vacuous": 3,
    "out of regime": 3,
}
"""Those of `verify`: 0 what is said is true, 1 it is not, 3 it is not known."""


@dataclass(frozen=True)
class TheoremValue:
    """A regret theorem on an instance.

    Attributes
    ----------
    source, regime, printed, correction, unproved
        As `RegretBound` says them; `regime` is why there is none if there is no bound.
    covered
        Whether it is about this learner on this instance.
    bound, trivial
        Its value, infinite if there is none, and the largest possible regret.
    speaks_from
        The smallest horizon at which the bound is at most a third of that, None if there is none up to 2^40.
    gaps
        How the instance's gaps were found.
    dominant
        The largest term, in words, and its value.
    """

    source: str
    regime: str
    covered: bool
    bound: float
    trivial: float
    speaks_from: int | None = None
    gaps: str = ""
    dominant: tuple[str, float] = ("", 0.0)
    printed: str = ""
    correction: str = ""
    unproved: str = ""


@dataclass(frozen=True)
class RegretReport:
    """A regret report.

    Attributes
    ----------
    learner, problem, epsilon, delta, horizon
        What was asked.
    neighbours
        The relation of the data sets that the learner's claim of (epsilon, delta) compares.
    lanes, seed, error
        How many runs, from which seed, and the probability that a true learner is called violated, at most.
    theorem
        The bound on the instance.
    proof
        What the theorem's proof rests on, up to the first counterexample; empty where the learner does not show it.
    outcome
        Regret at checkpoints.
    reproduce
        The command that repeats the report.
    """

    learner: str
    problem: str
    epsilon: float
    delta: float
    neighbours: str
    horizon: int
    lanes: int
    seed: int
    error: float
    theorem: TheoremValue
    proof: tuple[ProofCheck, ...]
    outcome: tuple[Checkpoint, ...]
    reproduce: str

    @property
    def verdict(self) -> RegretVerdict:
        """What the layers say together: the first that applies of `reasons`."""
        if any(check.violated and check.binding for check in self.proof):
            return "violated"
        if any(checkpoint.verdict == "violated" for checkpoint in self.outcome):
            return "violated"
        if not self.theorem.covered:
            return "out of regime"
        if self.theorem.bound >= self.theorem.trivial:
            return "vacuous"
        return "consistent" if self.outcome[-1].verdict == "consistent" else "undecided"

    @property
    def exit_code(self) -> int:
        """The exit code of the command line."""
        return EXIT_CODES[self.verdict]

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why, in words."""
        theorem, last = self.theorem, self.outcome[-1]
        said = [f"{check.name}: {check.words}" for check in self.proof if check.violated and check.binding]
        for checkpoint in self.outcome:
            if checkpoint.verdict == "violated":
                said.append(
                    f"regret after {checkpoint.round:,} rounds is at least {checkpoint.lower:.5g}, and the bound is "
                    f"{checkpoint.bound:.5g}"
                )
                break
        if not theorem.covered:
            missing = (
                "there is no theorem"
                if theorem.source == "none"
                else "the theorem is not about this; it needs"
            )
            said.append(f"{missing}: {theorem.regime}")
        elif theorem.bound >= theorem.trivial:
            first = "no horizon" if theorem.speaks_from is None else f"T = {theorem.speaks_from:,}"
            said.append(
                f"the bound, {theorem.bound:.5g}, exceeds the largest possible regret, {theorem.trivial:.5g}: no "
                f"learner could violate it; on this instance it speaks from {first} on"
            )
        elif last.verdict == "consistent":
            said.append(
                f"expected regret is at most {last.upper:.5g}, and the bound is {last.bound:.5g} of {last.trivial:.5g}"
            )
        elif last.verdict == "undecided":
            said.append(
                f"expected regret is between {last.lower:.5g} and {last.upper:.5g}, and the bound, {last.bound:.5g}, "
                "lies between: more runs tell"
            )
        said += [
            f"{check.name}: {check.words}. The lemma is false; the bound as corrected does not rest on it"
            for check in self.proof
            if check.violated and not check.binding
        ]
        if theorem.unproved:
            said.append(f"the theorem has no complete proof: {theorem.unproved}")
        return tuple(said)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> RegretReport:
        """Return the report that was written as a JSON object; its verdict is decided anew.

        Raises
        ------
        ValueError
            If the object has another form.
        """
        try:
            report: RegretReport = _read(cls, data)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise ValueError(f"this is no regret report: {type(error).__name__} {error}") from None
        return report

    def json(self) -> dict[str, Any]:
        """Return the report as the stable JSON object; infinity is the string ``"inf"``."""
        data: dict[str, Any] = json_able(
            {
                "verdict": self.verdict,
                **asdict(self),
                "proof": [{**asdict(each), "violated": each.violated} for each in self.proof],
                "outcome": [{**asdict(each), "verdict": each.verdict} for each in self.outcome],
                "reasons": list(self.reasons),
            }
        )
        return data


_TUPLES = {"tuple[Checkpoint, ...]": Checkpoint, "tuple[ProofCheck, ...]": ProofCheck}
_NUMBERS = {"float": float, "int": int, "str": str, "bool": bool}


def _read(kind: type[Any], data: Mapping[str, Any]) -> Any:
    """Return a dataclass of this module from its fields; numbers and texts are converted, nothing else is let in."""
    values: dict[str, Any] = {}
    for each in fields(kind):
        value, name = data[each.name], str(each.type)
        if name in _NUMBERS:
            values[each.name] = _NUMBERS[name](value)
        elif name == "TheoremValue":
            values[each.name] = _read(TheoremValue, value)
        elif name in _TUPLES:
            values[each.name] = tuple(_read(_TUPLES[name], one) for one in value)
        elif name == "int | None":
            values[each.name] = None if value is None else int(value)
        else:
            text, number = value
            values[each.name] = (str(text), float(number))
    return kind(**values)
