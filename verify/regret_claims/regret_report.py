"""The report on a regret claim: the theorem, the checks of its proof, the outcome, and one verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

from accountant.files.json_form import json_able, reader_of
from accountant.files.json_object import JsonError, JsonObject
from accountant.provenance import Provenance, made_now
from mechanisms.domains.neighbouring import Neighbouring
from mechanisms.numerics.printed_numbers import at_least, at_most, nearest
from verify.findings.sentences import Sentence, confident, exact, remark
from verify.verdict.result_kinds import ShownResult

FORMAT = "dpwitness regret, version 1"
_DIGITS = 5  # of numbers in reasons

NOT_TESTED = remark("not tested by itself")
"""The sentence of a check that another one includes."""

CheckpointVerdict = Literal["consistent", "violated", "undecided", "vacuous"]
RegretVerdict = Literal["consistent", "violated", "undecided", "vacuous", "out of regime", "another learner"]

EXIT_CODES: Mapping[RegretVerdict, int] = {
    "consistent": 0,
    "violated": 1,
    "undecided": 3,
    "vacuous": 3,
    "out of regime": 3,
    "another learner": 3,
}
"""Exit codes as those of `verify`: 0 if consistent with the theorem, 1 if violated, 3 if nothing is decided."""


@dataclass(frozen=True)
class Checkpoint:
    """Regret after a number of rounds.

    Attributes
    ----------
    round
        The number of rounds.
    mean, lower, upper
        Mean regret of the runs, and limits on its expectation.
    bound
        The theorem's, infinite if there is none.
    trivial
        The largest possible regret.
    """

    DERIVED: ClassVar = ("verdict",)

    round: int
    mean: float
    lower: float
    upper: float
    bound: float
    trivial: float

    @property
    def verdict(self) -> CheckpointVerdict:
        """The verdict on the bound by the limits."""
        if self.bound >= self.trivial:  # first: regret that is 0 may be some 1e-16 in floating point
            return "vacuous"
        if self.lower > self.bound:
            return "violated"
        return "consistent" if self.upper <= self.bound else "undecided"


@dataclass(frozen=True)
class ProofCheck:
    """The check of one assumption of a proof.

    Attributes
    ----------
    name
        The name of the assumption.
    p
        The p-value of the observation; 0 for a counterexample, 1 if there was none.
    level
        The p-value at or below which it is a violation; 0 for deterministic statements.
    sentence
        The observation, with lane and round where it contradicts.
    differs
        True if it shows another learner than the theorem's: then the bound is not judged.
    """

    DERIVED: ClassVar = ("violated",)

    name: str
    p: float
    level: float
    sentence: Sentence
    differs: bool = False

    @property
    def description(self) -> str:
        """The sentence's text."""
        return self.sentence.text

    @property
    def named_sentence(self) -> Sentence:
        """The sentence with the name of the check, as a reason for a verdict."""
        return replace(self.sentence, text=f"{self.name}: {self.description}.")

    @property
    def violated(self) -> bool:
        """True if the observations contradict the proof."""
        return self.p <= self.level and not self.differs

    @property
    def was_tested(self) -> bool:
        """True if it was tested by itself."""
        return self.sentence != NOT_TESTED


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
        The method by which the instance's gaps were found; empty if it needs none.
    dominant
        The largest term, in words, and its value.
    statement
        The whole bound, in words.
    of_runs
        True if its largest term is a limit on the mean of the regret that the radii of these runs allow, and no
        function of T.
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
    statement: str = ""
    of_runs: bool = False


@dataclass(frozen=True)
class RegretReport(ShownResult):
    """A regret report.

    Attributes
    ----------
    learner, problem, epsilon, delta, horizon
        The parameters of the question; delta is 0 if the learner takes none.
    neighbours
        The relation of the data sets that the learner's claim of (epsilon, delta) compares.
    claims_privacy
        False if the learner makes no privacy claim.
    lanes, seed, error
        The number of runs, their seed, and the largest probability that a true learner is called violated.
    theorem
        The bound on the instance.
    proof
        The checks of the proof's assumptions, up to the first counterexample; empty where the learner does not show
        them.
    outcome
        Regret at checkpoints.
    reproduce
        The command that repeats the report.
    size
        The size of the problem, as K and L; empty if it was not kept.
    provenance
        The date and the code of the report.
    """

    DERIVED: ClassVar = ("verdict", "reasons")

    learner: str
    problem: str
    epsilon: float
    delta: float
    neighbours: str
    claims_privacy: bool
    horizon: int
    lanes: int
    seed: int
    error: float
    theorem: TheoremValue
    proof: tuple[ProofCheck, ...]
    outcome: tuple[Checkpoint, ...]
    reproduce: str
    size: str = ""
    provenance: Provenance = field(default_factory=made_now, compare=False)

    def __post_init__(self) -> None:
        if not self.outcome:
            raise JsonError("outcome of the report is empty")

    @property
    def verdict(self) -> RegretVerdict:
        """The joint verdict of the layers: the first that applies of `reasons`."""
        if any(checkpoint.verdict == "violated" for checkpoint in self.outcome):
            return "violated"
        if not self.theorem.covered:
            return "out of regime"
        if any(check.violated for check in self.proof):
            return "violated"
        if any(check.differs for check in self.proof):
            return "another learner"
        if self.theorem.bound >= self.theorem.trivial:
            return "vacuous"
        return "consistent" if self.outcome[-1].verdict == "consistent" else "undecided"

    @property
    def exit_code(self) -> int:
        """The exit code of the command line."""
        return EXIT_CODES[self.verdict]

    @property
    def confidence(self) -> float:
        """The probability with which all limits and checks hold together."""
        return 1.0 - self.error

    @property
    def reasons(self) -> tuple[Sentence, ...]:
        """The reasons for the verdict, the deciding one first."""
        theorem, last = self.theorem, self.outcome[-1]
        said = [check.named_sentence for check in self.proof if check.violated and theorem.covered]
        said += [
            confident(
                "Expected regret after {round:,} rounds is at least {lower} ({confidence} confidence), above the bound "
                "{bound}.",
                self.confidence,
                round=checkpoint.round,
                lower=at_least(checkpoint.lower, _DIGITS),
                bound=at_most(checkpoint.bound, _DIGITS),
            )
            for checkpoint in self.outcome
            if checkpoint.verdict == "violated"
        ][:1]
        said += [
            check.named_sentence.with_words(
                " This is another learner than the theorem's; its regret is not judged."
            )
            for check in self.proof
            if check.differs
        ]
        if not theorem.covered:
            missing = (
                "There is no theorem"
                if theorem.source == "none"
                else "The theorem does not cover this; it needs"
            )
            said.append(exact(f"{missing}: {{regime}}.", regime=theorem.regime))
        elif theorem.trivial == 0:
            said.append(
                exact("All actions earn the same share of the best: regret is 0, and a bound is vacuous.")
            )
        elif theorem.bound >= theorem.trivial:
            said.append(self._vacuous())
        elif last.verdict in ("consistent", "undecided"):
            words = (
                "Expected regret ≤ {upper} ({confidence} confidence), bound {bound}, trivial bound {trivial}."
            )
            if last.verdict == "undecided":
                words = (
                    "{lower} ≤ expected regret ≤ {upper} ({confidence} confidence), bound {bound}: undecided."
                )
            numbers = {
                "lower": at_least(last.lower, _DIGITS),
                "upper": at_most(last.upper, _DIGITS),
                "bound": nearest(last.bound, _DIGITS),
                "trivial": nearest(last.trivial, _DIGITS),
            }
            said.append(confident(words, self.confidence, self.lanes, **numbers))
        if theorem.of_runs and theorem.covered:
            said.append(
                exact(
                    "The bound is of these runs, and no function of T: what their radii allow, in expectation at most "
                    "{most}, and what is lost where estimates are off by more.",
                    most=at_most(theorem.dominant[1], _DIGITS),
                )
            )
        if theorem.unproved:
            said.append(remark("The bound is not fully proved: {why}.", why=theorem.unproved))
        return tuple(said)

    def _vacuous(self) -> Sentence:
        """Return the reason why the bound is vacuous here, and the horizon from which on it is not."""
        theorem = self.theorem
        first = "none up to T = 2^40" if theorem.speaks_from is None else f"T = {theorem.speaks_from:,}"
        return exact(
            "The bound, {bound}, exceeds the largest possible regret, {trivial}; {tells}.",
            bound=nearest(theorem.bound, _DIGITS),
            trivial=nearest(theorem.trivial, _DIGITS),
            tells="longer runs may decide" if theorem.of_runs else f"non-vacuous from: {first}",
        )

    @classmethod
    def from_json(cls, data: Any) -> RegretReport:
        """Return the report that `json` wrote.

        Raises
        ------
        ParameterError
            If a key is missing, unknown or of another type, or a verdict or reason does not follow from the numbers
            beside it.
        """
        read = JsonObject(data, "the report")
        read.one_of("format", [FORMAT])
        JsonObject(data, "the report").one_of("neighbours", [each.value for each in Neighbouring])
        report = reader_of(cls)(read)
        read.end()
        if any(each.round >= 1 << 63 for each in report.outcome):
            raise JsonError("round of one of outcome must be below 2^63")
        return report

    def json(self) -> dict[str, Any]:
        """Return the report as the stable JSON object; infinity is the string ``"inf"``."""
        own = json_able(self)
        verdict, reasons = own.pop("verdict"), own.pop("reasons")
        return {"verdict": verdict, **own, "format": FORMAT, "reasons": reasons}
