"""The results of the layers of a verification: findings, bounds on ε, and the evidence of a lower one.

All statements of findings are in `Statement`: a new one is added there, and nowhere else.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from enum import Enum, StrEnum, unique
from typing import TYPE_CHECKING, Any, ClassVar

from mechanisms.numerics.printed_numbers import as_given, at_least, at_most, counted_noun, percent
from mechanisms.parameters import ParameterError
from verify.findings.sentences import Basis, Sentence, confident, exact, filled
from verify.findings.subject_error import describe_error

if TYPE_CHECKING:
    from accountant.gates.coupled import Divergence
    from accountant.gates.replay import Difference
    from algorithms.claim import Claim


EXACT, CONFIDENT, OBSERVED, METADATA = Basis

BETTING = "betting, valid at any time"
"""The method of a lower bound by all bets of a run together, which is no bound of one event's likelihood ratio."""


@unique
class FindingKind(StrEnum):
    """The kind of a finding: a short stable name, which reports and JSON show."""

    ACTION = "action"
    CHANGES_DATA = "changes-data"
    CONSTANT = "constant"
    CRASH = "crash"
    DECLASSIFIED = "declassified"
    DEPENDENT_DRAWS = "dependent-draws"
    DETERMINISTIC = "deterministic"
    DOMAIN = "domain"
    DRIFT = "drift"
    ENDS_PROCESS = "ends-process"
    ERROR_IN_MAP = "error-in-map"
    FEWER_CALLS = "fewer-calls"
    FEWER_DRAWS = "fewer-draws"
    FLOATING_POINT = "floating-point"
    FOREIGN_RANDOMNESS = "foreign-randomness"
    IGNORES_GENERATOR = "ignores-generator"
    IMPURE_MAP = "impure-map"
    INTERRUPTED = "interrupted"
    MASK = "mask"
    MECHANISM = "mechanism"
    MESSAGES = "messages"
    MORE_CALLS = "more-calls"
    NAN = "nan"
    NO_LANES = "no-lanes"
    OVERSPENT = "overspent"
    PLACE = "place"
    PRINTS = "prints"
    RAISES = "raises"
    RAW_FLOW = "raw-flow"
    RAW_OUTPUT = "raw-output"
    RAW_READ = "raw-read"
    REFUSED = "refused"
    RELEASES = "releases"
    REMEMBERS = "remembers"
    REPEATS = "repeats"
    REPLACEMENT = "replacement"
    ROUNDS = "rounds"
    SENSITIVITY = "sensitivity"
    SHAPE = "shape"
    STABILITY = "stability"
    STATE = "state"
    TIME_LIMIT = "time-limit"
    TRUST = "trust"
    UNREPEATABLE = "unrepeatable"
    VIEW = "view"
    WARNS = "warns"
    WEALTH = "wealth"
    WIDE = "wide"
    WRONG_ARM = "wrong-arm"


@unique
class Statement(Enum):
    """The statement of a finding: its kind, the basis of its words, the words, and whether it prevents a certificate.

    Values are written in braces; an exception with its type, and a `SystemExit` as the end of the process. An
    observation in a run of the subject is exact. Gates and the accountant have words of their own, see
    `Finding.of_gate`.

    Examples
    --------
    >>> Statement.RAISED.finding("mine.py:3", error=KeyError(7)).message
    'raised KeyError: 7'
    """

    # A subject that does not run, or not as it must
    RAISED = FindingKind.CRASH, "raised {error}"
    RAISED_ON_GUESS = (
        FindingKind.CRASH,
        "raised {error}; the rewards of the test, {rewards}, are a guess: state them with PlainBandit(rewards=...)",
        EXACT,
        False,
    )
    LEARNER_NOT_REPLAYED = FindingKind.CRASH, "replay failed: {error}"
    LEARNER_NOT_SAMPLED = FindingKind.CRASH, "sampling failed: {error}"
    NO_LANES = FindingKind.NO_LANES, "vectorised runs failed: {error}", EXACT, False
    VIEW_NOT_TESTED = FindingKind.VIEW, "claimed output not tested: {view} ({why})", METADATA
    OUTSIDE_DOMAIN = FindingKind.DOMAIN, "feedback outside feedback_domain: {error}"
    INVALID_ACTION = FindingKind.ACTION, "{error}"
    WRONG_ARM = FindingKind.WRONG_ARM, "{error}"
    ENDS_PROCESS = FindingKind.ENDS_PROCESS, "its process {how} and left no result: must return or raise"

    # A verification that was stopped
    STOPPED_EARLY = FindingKind.INTERRUPTED, "stopped before all checks finished", METADATA
    STOPPED_BEFORE_TEST = (
        FindingKind.INTERRUPTED,
        "stopped before the final draws of the black-box test, which gives a bound only at its end",
        METADATA,
        False,
    )
    STOPPED_BEFORE_SECOND_TEST = (
        FindingKind.INTERRUPTED,
        "stopped before the final draws of the second test; the first test's result stands",
        METADATA,
        False,
    )
    STOPPED_IN_TEST = (
        FindingKind.INTERRUPTED,
        "stopped after {draws:,} final draws a side; bounds use these draws, corrected for the early stop",
        METADATA,
        False,
    )
    STOPPED_BETS = (
        FindingKind.INTERRUPTED,
        "stopped after {draws:,} draws a side; the sequential test is valid at any stopping time",
        METADATA,
        False,
    )
    FEWER_DRAWS = (
        FindingKind.FEWER_DRAWS,
        "about {seconds:.2g} s for a pair of draws: {draws:,} of each data set in the time given{more}",
        METADATA,
        False,
    )
    TIME_LIMIT = (
        FindingKind.TIME_LIMIT,
        "time limit of {seconds:g} s reached: how much was tested depends on the machine",
        METADATA,
    )
    CALLS_TOO_LONG = FindingKind.TIME_LIMIT, "{calls} on {data} exceeded {seconds:.2g} s{others}"
    RUNS_TOO_LONG = FindingKind.TIME_LIMIT, "{runs} runs of {rounds} rounds exceeded {seconds:.2g} s"
    KILLED = (
        FindingKind.TIME_LIMIT,
        "killed {grace:g} s after the time limit of {seconds:g} s: did not return from native code",
    )

    # Findings from a ledger
    DECLASSIFIED = FindingKind.DECLASSIFIED, "raw data used without noise: {reason}", EXACT, False
    OVERSPENT = (
        FindingKind.OVERSPENT,
        "record {record} is charged for {times} through {mechanism}, each ε = {epsilon}, δ = {delta}: total ε = "
        "{paid}, δ = {paid_delta}; claimed ε = {claimed}, δ = {claimed_delta}",
        EXACT,
        False,
    )
    REFUSED_UNDER_CLAIM = (
        FindingKind.OVERSPENT,
        "the accountant refused a release under the claimed budget: {why}",
    )
    ERROR_IN_MAP = FindingKind.ERROR_IN_MAP, "{error}; whether it fails depends on private data"
    REPLACEMENT = (
        FindingKind.REPLACEMENT,
        "clients are sampled with replacement; one may report more than the {times} times of these runs",
    )
    FALSE_PROFILE = (
        FindingKind.MECHANISM,
        "{mechanism} declares ε = {declared}, loses at least {lost} ({confidence} confidence): P({event}) = "
        "{probability:.4g} on {data}, {probability_prime:.4g} on {data_prime} ({draws:,} draws a side)",
        CONFIDENT,
    )

    RECORD_WAITING = (
        FindingKind.REFUSED,
        "{message}. The learner sums up several rounds before it releases them, and stops where a person comes back "
        "before: nothing is proved of runs in which one does",
    )

    # Findings from replays
    ROUND_DIFFERS = (
        FindingKind.RAW_FLOW,
        "the action of round {number} differs although all released values agree",
    )
    OBSERVED_OTHERWISE = (
        FindingKind.RAW_FLOW,
        "feedback on record {record} differs although its own outcomes and action are the same: it must depend on "
        "these alone, and not on other records' data",
    )
    STATE_DIFFERS = (
        FindingKind.STATE,
        "state {what} differs after step {number} although all released values agree",
    )
    KEPT_OUTSIDE = (
        FindingKind.STATE,
        "{what} lives outside the learner and changed during a run; it is not verified: keep it in the learner",
    )
    PHASE_DIFFERS = FindingKind.RAW_FLOW, "phase {number} differs although all released values agree"
    OUTPUT_DIFFERS = FindingKind.RAW_OUTPUT, "the output differs {which} although all released values agree"
    IMPURE_MAP = (
        FindingKind.IMPURE_MAP,
        "the function in map returned different results for one value {after}: it is not pure",
    )
    RUNS_DIFFER = (
        FindingKind.UNREPEATABLE,
        "two runs with the same data and seed differ ({how}): draw from gate.random only",
    )
    PROCESSES_DIFFER = (
        FindingKind.UNREPEATABLE,
        "two processes with the same data and seed differ, as if a value were drawn or kept at import: draw from "
        "gate.random only",
    )
    GATE_RUNS_DIFFER = (
        FindingKind.FOREIGN_RANDOMNESS,
        "two runs with the same data and seed differ: draw from gate.random only",
    )
    RELEASES_LOSE_MORE = (
        FindingKind.RELEASES,
        "released values alone: ε ≥ {epsilon} at δ = {delta} ({confidence} confidence), above the claim {claimed}; the "
        "output may hide some of them",
        CONFIDENT,
        False,
    )

    # Where a subject's noise comes from
    OWN_RANDOMNESS = (
        FindingKind.FOREIGN_RANDOMNESS,
        "two calls with the same data and generator state differ; results are not reproducible",
        EXACT,
        False,
    )
    GLOBAL_RANDOMNESS = (
        FindingKind.FOREIGN_RANDOMNESS,
        "uses the global random state of NumPy or Python (seeded here); use the generator that is passed",
        EXACT,
        False,
    )
    OWN_GENERATOR = (
        FindingKind.UNREPEATABLE,
        "two runs with the same rewards and seed differ: the bandit has its own generator",
        EXACT,
        False,
    )
    IGNORES_GENERATOR = (
        FindingKind.IGNORES_GENERATOR,
        "output varies, and the generator that is passed was not used in {draws:,} calls",
        OBSERVED,
        False,
    )
    DETERMINISTIC = (
        FindingKind.DETERMINISTIC,
        "did not vary in {draws:,} calls on the same data, and depends on them",
        OBSERVED,
        False,
    )
    CONSTANT_OUTPUT = (
        FindingKind.CONSTANT,
        "the same output in {draws:,} calls on either of two data sets{more}; nothing to test",
        OBSERVED,
    )
    CONSTANT_ACTIONS = (
        FindingKind.CONSTANT,
        "the same actions in rounds 1 to {rounds} in all {draws:,} runs; nothing to test",
        OBSERVED,
    )
    MESSAGES_LOOKED_AT = (
        FindingKind.MESSAGES,
        "messages of rounds 1 to {last} tested in {draws:,} runs on random rewards, each number and its change since "
        "the round before separately; those of the most suspicious rounds and of rounds 1, 2, 4, ... also on "
        "neighbouring rewards; not tested: a leak of another single round in several numbers together, in fewer than "
        "{share} of its runs, or only after particular rewards{beyond}",
        OBSERVED,
        False,
    )
    ROUNDS_LOOKED_AT = (
        FindingKind.ROUNDS,
        "rewards of rounds 1 to {last} changed at random, each round in about {changed} of {draws:,} runs, and later "
        "actions compared; the pairs with the largest effects were tested ({played}); too small to be found, on "
        "average: an effect of one round by a factor below {factor} on an action of probability 1/2, by larger factors "
        "on less likely actions, by any factor on actions of probability below {share}{beyond}",
        OBSERVED,
        False,
    )
    REMEMBERS_OUTPUT = (
        FindingKind.REMEMBERS,
        "caches its output per data set: drawn at the first call, and the same in {draws:,} more calls; draws are not "
        "independent, and were not tested",
        OBSERVED,
    )
    REMEMBERS_OWN_DRAW = (
        FindingKind.REMEMBERS,
        "caches its output per data set, drawn from its own generator: the same in {draws:,} calls, and another one in "
        "another process; draws are not independent, and were not tested",
        OBSERVED,
    )
    REMEMBERS_RUNS = (
        FindingKind.REMEMBERS,
        "{what} persists between runs: they are not independent, and were not tested",
    )
    REPEATS = (
        FindingKind.REPEATS,
        "outputs repeat across generators in {share} of the lanes ({confidence} confidence): fixed seed, reset state, "
        "or large seeds cut off (a command's are below 2^53); draws are not independent, and a bound is not derived",
        CONFIDENT,
    )
    DRIFT = (
        FindingKind.DRIFT,
        "output drifts with the number of calls ({confidence} confidence): draws are not independent",
        CONFIDENT,
    )
    LEFT_OUT = FindingKind.DRIFT, "excluded from the test: {columns} (counter or clock)", METADATA
    ADDRESSES = FindingKind.DRIFT, "excluded from the test: memory addresses in the output", METADATA
    STEPS = (
        FindingKind.DRIFT,
        "tested as differences between calls: {columns} (depends on earlier calls)",
        METADATA,
    )
    DEPENDENT_DRAWS = (
        FindingKind.DEPENDENT_DRAWS,
        "draws on the same data are dependent ({how}; {confidence} confidence); a bound is not derived",
        CONFIDENT,
    )

    # Findings about outputs
    RAISES = (
        FindingKind.RAISES,
        "{verb} {error}{others} in {raised} of {draws:,} calls on {data}; errors count as output",
        OBSERVED,
    )
    RAISES_IN_PLAY = (
        FindingKind.RAISES,
        "raised {error} in a play; an error ends a play and counts as output",
    )
    WRONG_GUESS = (
        FindingKind.RAISES,
        "raised {error} on {data}{more}; the data domain is a guess, so that these data sets are left out: "
        "@claimed(data=...) without guessed=True, or --data, states it",
        EXACT,
        False,
    )
    NAN = (
        FindingKind.NAN,
        '{count} of {draws:,} outputs on {data} contain NaN or a masked entry; tested as a separate value, "absent"',
        OBSERVED,
    )
    SHAPES = (
        FindingKind.SHAPE,
        "outputs have several shapes ({shapes}); the shape counts as output",
        EXACT,
        False,
    )
    WIDE = (
        FindingKind.WIDE,
        "{entries:,} entries per output; tested: the {kept} most different, and {blocks} block sums",
        METADATA,
        False,
    )
    FLOATING_POINT = (
        FindingKind.FLOATING_POINT,
        "floating point: ε ≥ {epsilon} ({confidence} confidence, {draws:,} draws a side): {event}, P = "
        "{probability:.4g} on {data}, {probability_prime:.4g} on {data_prime}; {outcome}",
        CONFIDENT,
    )
    MAY_BE_ROUNDING = (
        FindingKind.FLOATING_POINT,
        "{rounding} of the estimated loss {epsilon} may be rounding error; only the rest counts",
        EXACT,
        False,
    )

    # Side effects of a subject
    WARNS = FindingKind.WARNS, "emits warnings (not tested): {warnings}", EXACT, False
    PRINTS = FindingKind.PRINTS, "prints (not tested): {text!r}", EXACT, False
    CHANGES_DATA = FindingKind.CHANGES_DATA, "modifies its input; each call gets a copy", EXACT, False
    WEALTH_NOT_KEPT = (
        FindingKind.WEALTH,
        "{file} was changed by another run; this run's e-value is not saved",
        METADATA,
        False,
    )

    def __init__(
        self, kind: FindingKind, words: str, basis: Basis = Basis.EXACT, failing: bool = True
    ) -> None:
        self.kind = kind
        self.basis = basis
        self.description = words
        self.failing = failing

    def finding(self, where: object = "", *, failing: bool | None = None, **values: object) -> Finding:
        """Return the finding with this statement.

        Parameters
        ----------
        where
            The line of code, "" if none is to blame.
        failing
            If it depends on more than the statement.
        values
            The values of the fields in the words.
        """
        error = values.get("error")
        if self.kind is FindingKind.CRASH and isinstance(error, SystemExit):
            ends = f"was asked to end by {describe_error(error)}"
            return Statement.ENDS_PROCESS.finding(where, how=ends)
        sentence = filled(self.description, self.basis, values)
        return Finding(self.kind, str(where), sentence, self.failing if failing is None else failing)


@dataclass(frozen=True, slots=True)
class Finding:
    """An observation during a verification.

    Attributes
    ----------
    kind
        The kind of observation.
    where
        ``"file.py:12"``, or "" if no line of code is to blame.
    sentence
        The observation, typed by its evidence.
    failing
        True if the finding blocks a certificate; False for remarks.
    """

    DERIVED: ClassVar = ("message",)  # in JSON, for readers of this key alone

    kind: FindingKind
    where: str
    sentence: Sentence
    failing: bool = True

    @property
    def message(self) -> str:
        """The sentence's text."""
        return self.sentence.text

    def with_words(self, words: str) -> Finding:
        """Return the finding with more words at the end of its sentence."""
        return replace(self, sentence=self.sentence.with_words(words))

    @property
    def reason(self) -> Sentence:
        """The finding as a reason for a verdict: with its place."""
        place = f" ({self.where})" if self.where else ""
        return replace(self.sentence, text=f"{self.message.rstrip('.')}{place}.")

    @classmethod
    def of_gate(cls, seen: Difference | Divergence) -> Finding:
        """Return a difference or divergence of a gate of the accountant as a finding: it happened in a run."""
        return cls(FindingKind(seen.kind), str(seen.where), exact("{message}", message=seen.message))


def add_once(findings: list[Finding], finding: Finding) -> None:
    """Add a finding if there is none of its kind and line yet."""
    if not any((known.kind, known.where) == (finding.kind, finding.where) for known in findings):
        findings.append(finding)


_SHORT = 14  # most characters of a number that a user chose; a measured one has more


@dataclass(frozen=True, slots=True)
class UpperBound:
    """Upper bound: by `method` no run loses more than (epsilon, delta); epsilon may be infinite.

    Attributes
    ----------
    epsilon, delta
        The bound.
    method
        The method of the bound.
    every_run
        True if it holds for all runs: of a mechanism, or because accountants enforce it for every record. Else it is
        about the observed runs alone, and proves nothing.
    """

    epsilon: float
    delta: float
    method: str
    every_run: bool = True

    def __post_init__(self) -> None:
        _check_bound(self.epsilon, self.delta)

    def proves(self, claim: Claim) -> bool:
        """Return True if a claim follows from it."""
        return self.every_run and self.epsilon <= claim.epsilon and self.delta <= claim.delta

    @property
    def description(self) -> str:
        """Both numbers, rounded up; a short δ is the claim's own, and printed as it was given."""
        given = as_given(self.delta)
        delta = given if len(given) <= _SHORT else at_most(self.delta)
        return f"ε ≤ {at_most(self.epsilon)} at δ = {delta}"


@dataclass(frozen=True, slots=True)
class LowerBound:
    """Lower bound: no ε below `epsilon` is true at `delta`, as far as `method` can be trusted.

    Attributes
    ----------
    epsilon, delta
        The bound on ε and the δ it is for; epsilon may be infinite.
    confidence
        Probability with which the bound holds; 1 if it was computed exactly.
    method
        The method by which it was found.
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
            raise ParameterError(f"confidence must lie in (0, 1], got {self.confidence}")

    @property
    def exact(self) -> bool:
        """True if it was computed, without chance."""
        return self.confidence == 1.0 and not self.samples

    def exceeds(self, limit: Claim | UpperBound) -> bool:
        """Return True if it contradicts a claim or an upper bound, as far as it can be trusted."""
        return self.epsilon > limit.epsilon and self.delta >= limit.delta

    @property
    def description(self) -> str:
        """Both numbers, ε rounded down; a bound of at least infinity is infinite."""
        sign = "=" if math.isinf(self.epsilon) else "≥"
        return f"ε {sign} {at_least(self.epsilon)} at δ = {as_given(self.delta)}"

    def sentence(self, words: str, **values: object) -> Sentence:
        """Return a sentence that rests on the bound: exact where it is, else with its confidence.

        Parameters
        ----------
        words
            The sentence, with ``{bound}`` for the numbers of the bound, and ``{how}`` for its method and confidence.
        values
            The values of its other fields in braces.
        """
        if self.exact:
            return exact(words, how=f"{self.method}; exact", bound=self.description, **values)
        how = f"{self.method}; {percent(self.confidence)} confidence"
        how += f", {counted_noun(self.samples, 'draw')}" if self.samples else ""
        return self.as_sure(words, how=how, **values)

    def as_sure(self, words: str, /, **values: object) -> Sentence:
        """Return a sentence that holds with the bound's confidence, by its draws; ``{bound}`` is its description."""
        return confident(words, self.confidence, self.samples or None, bound=self.description, **values)


@dataclass(frozen=True, slots=True)
class LawBin:
    """Some values of a reading: how many draws on D and on D′ have them, or how likely they are.

    Attributes
    ----------
    label
        The values in a few characters.
    data, data_prime
        On D, and on D′.
    inside
        Whether these draws lie in the event: other draws with the same values have a bin of their own.
    """

    label: str
    data: float
    data_prime: float
    inside: bool


@dataclass(frozen=True, slots=True)
class ReadingLaws:
    """The laws of the reading that an event is decided by, on D and on D′.

    Attributes
    ----------
    reading
        The reading, in words.
    draws
        Draws a side that were counted; 0 if the bins have probabilities.
    bins
        The bins in the order of the values.
    """

    reading: str
    draws: int
    bins: tuple[LawBin, ...]

    def __post_init__(self) -> None:
        most = self.draws or 1.0
        if self.draws < 0 or not all(
            0.0 <= share <= most for each in self.bins for share in (each.data, each.data_prime)
        ):
            raise ParameterError(f"bins must have from 0 to {most:,} draws a side, got {self.bins}")


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
        The probability of the event on data, and on data_prime: estimated from the counts; without counts exact or,
        where the lower bound has a confidence, at least so much with that confidence on data, and in that ratio on
        data_prime.
    reproduce
        A command that shows the same again.
    details
        Anything else, as JSON-able data: the event's exact form, seeds, bounds.
    hits, hits_prime, trials
        Counts behind the probabilities: draws in the event on either side, and draws a side. Without
        `hits_prime`, the probability on data_prime is a bound that follows from the one on data.
    laws
        The laws of the reading that decides the event; None where it was not read in bins.
    """

    neighbours: Mapping[str, str]
    event: str
    probability: float
    probability_prime: float
    _: KW_ONLY
    hits: int | None = None
    hits_prime: int | None = None
    trials: int | None = None
    reproduce: str
    details: Mapping[str, Any] = field(default_factory=dict)
    laws: ReadingLaws | None = None

    def __post_init__(self) -> None:
        if not {"data", "data_prime"} <= set(self.neighbours):
            raise ParameterError(
                f"neighbours must describe data and data_prime, got {sorted(self.neighbours)}"
            )
        for name, value in (("probability", self.probability), ("probability_prime", self.probability_prime)):
            if not 0.0 <= value <= 1.0:
                raise ParameterError(f"{name} must lie in [0, 1], got {value}")


def _check_bound(epsilon: float, delta: float) -> None:
    if not epsilon >= 0.0:
        raise ParameterError(f"epsilon must be at least 0, got {epsilon}")
    if not 0.0 <= delta <= 1.0:
        raise ParameterError(f"delta must lie in [0, 1], got {delta}")
