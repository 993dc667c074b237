"""What the layers of a verification find: findings, bounds on ε, and what shows a lower one.

All that a finding can say is in `Statement`: a new one is added there, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum, unique
from typing import TYPE_CHECKING, Any

from verify.subject_error import words_of_error

if TYPE_CHECKING:
    from accountant.gates.coupled import Divergence
    from accountant.gates.replay import Difference
    from algorithms.claim import Claim


@unique
class FindingKind(StrEnum):
    """What a finding is about: a short stable name, which reports and JSON show."""

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
    NOT_RUN = "not-run"
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
    """What a finding can say: its kind, its words, and whether it stands in the way of a certificate.

    Values stand in braces; an exception is said with its type. Gates and the accountant have words of their own, see
    `Finding.of_gate`.

    Examples
    --------
    >>> Statement.LEARNER_RAISED.finding("mine.py:3", error=KeyError(7)).message
    'the learner raised KeyError: 7'
    """

    # A subject that does not run, or not as it must
    LEARNER_RAISED = FindingKind.CRASH, "the learner raised {error}"
    LEARNER_NOT_REPLAYED = FindingKind.CRASH, "the learner could not be replayed: {error}"
    LEARNER_NOT_SAMPLED = FindingKind.CRASH, "the learner could not be sampled: {error}"
    BANDIT_RAISED = FindingKind.CRASH, "the bandit raised {error}"
    NO_LANES = FindingKind.NO_LANES, "the learner could not run in lanes: {error}", False
    VIEW_NOT_TESTED = (
        FindingKind.VIEW,
        "the claim is about {view}, and that was not tested: {why}",
    )
    OUTSIDE_DOMAIN = FindingKind.DOMAIN, "feedback lies outside the learner's feedback_domain: {error}"
    INVALID_ACTION = FindingKind.ACTION, "{error}"
    WRONG_ARM = FindingKind.WRONG_ARM, "{error}"
    ENDS_PROCESS = (
        FindingKind.ENDS_PROCESS,
        "the process in which it ran {how}, and left no result: a subject must return or raise",
    )

    NOT_RUN = (
        FindingKind.NOT_RUN,
        "of its file only what it needs by name was run; not {lines}. What these do to modules or other programs is "
        "not part of what was verified",
        False,
    )

    # A verification that was stopped
    STOPPED_EARLY = FindingKind.INTERRUPTED, "stopped before all checks were done"
    STOPPED_BEFORE_TEST = (
        FindingKind.INTERRUPTED,
        "stopped before the black-box test's final draws: it says nothing",
        False,
    )
    STOPPED_BEFORE_SECOND_TEST = (
        FindingKind.INTERRUPTED,
        "stopped before a further test's final draws: what stands is that of the test before it",
        False,
    )
    STOPPED_IN_TEST = (
        FindingKind.INTERRUPTED,
        "stopped after {draws:,} final draws a side: the bounds are those of fewer draws, and wider, because it could "
        "have been stopped earlier or later",
        False,
    )
    STOPPED_BETS = (
        FindingKind.INTERRUPTED,
        "stopped after {draws:,} draws a side: the wealth and the bound hold all the same, whenever one stops",
        False,
    )
    FEWER_DRAWS = (
        FindingKind.FEWER_DRAWS,
        "a draw takes about {seconds:.2g} s: {draws:,} instead of {asked:,} fit into the time limit of {limit:g} s, "
        "and all is done after about {ends} s; a limit of {enough:,} s would do for all draws{bits}",
        False,
    )
    TOO_DEAR = (
        FindingKind.FEWER_DRAWS,
        "a draw takes about {seconds:.2g} s: even the {draws:,} without which there is no test take about {ends} s, "
        "and the time limit is {limit:g} s; a limit of {least:,} s would do",
        False,
    )
    TIME_LIMIT = (
        FindingKind.TIME_LIMIT,
        "stopped after the time limit of {seconds:g} s: how far it came depends on the machine",
    )
    CALLS_TOO_LONG = (
        FindingKind.TIME_LIMIT,
        "{calls} on {data} took longer than {seconds:.2g} s and were stopped{others}",
    )
    RUNS_TOO_LONG = (
        FindingKind.TIME_LIMIT,
        "{runs} runs of {rounds} rounds took longer than {seconds:.2g} s and were stopped",
    )
    KILLED = (
        FindingKind.TIME_LIMIT,
        "it was still running {grace:g} s after the time limit of {seconds:g} s, and killed: it does not return from "
        "code that is not Python",
    )

    # What a ledger shows
    DECLASSIFIED = FindingKind.DECLASSIFIED, "{reason}", False
    OVERSPENT = (
        FindingKind.OVERSPENT,
        "record {record} enters {times} through {mechanism} here, each at ε = {epsilon}, δ = {delta}; it pays "
        "ε = {paid}, δ = {paid_delta} in all, more than the ε = {claimed}, δ = {claimed_delta} claimed",
        False,
    )
    REFUSED_UNDER_CLAIM = (
        FindingKind.OVERSPENT,
        "an accountant with the claim as its budget refuses a release here: {why}",
    )
    ERROR_IN_MAP = FindingKind.ERROR_IN_MAP, "{error}; that it fails tells about the data"
    REPLACEMENT = (
        FindingKind.REPLACEMENT,
        "clients are drawn with replacement: elsewhere one may report more often than the {times} times of these runs, "
        "and pays for each",
    )
    FALSE_PROFILE = (
        FindingKind.MECHANISM,
        "{mechanism} declares epsilon = {declared:.6g} but loses at least {lost:.6g}: {event} with probability "
        "{probability:.4g} for {data} and {probability_prime:.4g} for {data_prime}",
    )

    # What replays show
    ROUND_DIFFERS = (
        FindingKind.RAW_FLOW,
        "the action of round {number} differs although every released value is the same",
    )
    OBSERVED_OTHERWISE = (
        FindingKind.RAW_FLOW,
        "the problem says something else of record {record}, though its outcomes and its action are the same: what is "
        "observed of a record must depend on these alone, or others' data are in it, for which nobody pays",
    )
    STATE_DIFFERS = (
        FindingKind.STATE,
        "what the learner holds in {what} differs after step {number} although every released value is the same",
    )
    KEPT_OUTSIDE = (
        FindingKind.STATE,
        "{what}: stands outside of the learner and changed while it ran. It outlives a run, and what it remembers of "
        "data is not verified; keep it in the learner",
    )
    PHASE_DIFFERS = FindingKind.RAW_FLOW, "phase {number} differs although every released value is the same"
    OUTPUT_DIFFERS = (
        FindingKind.RAW_OUTPUT,
        "the output differs {which} although every released value is the same: it is computed from raw data",
    )
    IMPURE_MAP = (
        FindingKind.IMPURE_MAP,
        "a function in map gives another result for the same value {after}: it depends on more than its argument, and "
        "what it remembers of others leaves with no noise of theirs",
    )
    RUNS_DIFFER = (
        FindingKind.UNREPEATABLE,
        "two runs on the same data and seed differ ({how}): use gate.random for all draws",
    )
    GATE_RUNS_DIFFER = (
        FindingKind.FOREIGN_RANDOMNESS,
        "two runs on the same data and seed differ: use gate.random for all draws",
    )
    RELEASES_LOSE_MORE = (
        FindingKind.RELEASES,
        "the released values lose at least ε = {epsilon} at δ = {delta}, more than the claimed {claimed}: unless the "
        "output hides some of them, their noise is too small",
        False,
    )

    # Where a subject's noise comes from
    OWN_RANDOMNESS = (
        FindingKind.FOREIGN_RANDOMNESS,
        "two calls with the same data and generator state differ: it draws from a generator of its own, reads a clock, "
        "or remembers earlier calls; results cannot be repeated exactly",
        False,
    )
    GLOBAL_RANDOMNESS = (
        FindingKind.FOREIGN_RANDOMNESS,
        "it draws from the global random state of NumPy or Python (seeded here, so that results repeat): use the "
        "generator it is given for all draws",
        False,
    )
    OWN_GENERATOR = (
        FindingKind.UNREPEATABLE,
        "two runs on the same rewards and seed differ: the bandit draws from a generator of its own",
        False,
    )
    IGNORES_GENERATOR = (
        FindingKind.IGNORES_GENERATOR,
        "its output varies, but it never draws from the generator it is given",
        False,
    )
    DETERMINISTIC = (
        FindingKind.DETERMINISTIC,
        "the output never varied in {calls:,} calls on the same data, and depends on them: there is no noise",
    )
    CONSTANT_OUTPUT = (
        FindingKind.CONSTANT,
        "the output is always the same, whatever the data and the generator ({tried} other data sets were tried): "
        "nothing was tested",
    )
    CONSTANT_ACTIONS = (
        FindingKind.CONSTANT,
        "the actions of rounds 1 to {rounds} are always the same, whatever the rewards and the generator: nothing was "
        "tested",
    )
    MESSAGES_LOOKED_AT = (
        FindingKind.MESSAGES,
        "the messages of each of rounds 1 to {last} were looked at in {runs} runs on rewards drawn by coins, those of "
        "the most telling rounds and of rounds 1, 2, 4, ... on neighbouring rewards: what a single other round tells "
        "in fewer than {share} of its runs, or only after particular rewards, may have gone unseen{beyond}",
        False,
    )
    REMEMBERS_OUTPUT = (
        FindingKind.REMEMBERS,
        "it drew from its generator when it first saw a data set, and returned the same output ever after: it "
        "remembers its outputs, so that there are no independent ones, and nothing was tested",
    )
    REMEMBERS_OWN_DRAW = (
        FindingKind.REMEMBERS,
        "on one and the same data set it returns the same output ever after, but another one in another process: it "
        "draws from a generator of its own when it first sees a data set, and remembers what it returned, so that "
        "there are no independent outputs, and nothing was tested",
    )
    REMEMBERS_RUNS = (
        FindingKind.REMEMBERS,
        "{what}: changes from run to run, which are not independent of each other then; nothing was tested",
    )
    REPEATS = (
        FindingKind.REPEATS,
        "calls with different generators repeat each other's outputs on {share} of the lanes: it draws from a "
        "generator with a fixed seed, sets back the state of the one it gets, or takes large seeds for one (a "
        "command's are below 2^53). Outputs are not independent, and counts of them prove nothing; noise that is "
        "always the same protects nobody",
    )
    DRIFT = (
        FindingKind.DRIFT,
        "outputs on one and the same data set drift with the number of calls: draws are not independent",
    )
    LEFT_OUT = (
        FindingKind.DRIFT,
        "left out and not tested: {columns}. On one and the same data set its values grow or fall with the number of "
        "calls, as those of a counter or a clock do; if its steps depend on the data, that is not seen",
    )
    ADDRESSES = (
        FindingKind.DRIFT,
        "left out and not tested: the addresses of objects in memory that the output shows. They follow from the "
        "process and not from the data, unless somebody sees to it",
    )
    STEPS = (
        FindingKind.DRIFT,
        "tested by its steps: {columns}. On one and the same data set its values grow or fall with the number of "
        "calls, as those of a counter do. Before each draw there is a call on {before}, and the change since then is "
        "looked at",
    )
    DEPENDENT_DRAWS = (
        FindingKind.DEPENDENT_DRAWS,
        "the draws of one and the same data set are not independent: {how}. The subject shares noise between its "
        "outputs (a pool, a cache, a table of noises that is used again), remembers earlier ones, or returns its lanes "
        "in order; counts of them prove nothing, and no bound is drawn from them",
    )

    # What outputs hold
    RAISES = (
        FindingKind.RAISES,
        "raised {error} in {raised} of {calls} calls on {data}{never}: that it raises can be seen, and is audited as "
        "part of the output",
    )
    NAN = (
        FindingKind.NAN,
        "{count} of {outputs} outputs on {data} hold NaN or a masked entry, which is no number: audited as a value of "
        'its own, called "absent"',
    )
    SHAPES = (
        FindingKind.SHAPE,
        "outputs have different shapes ({shapes}): the shape can be seen, and is audited as part of the output",
        False,
    )
    WIDE = (
        FindingKind.WIDE,
        "outputs have {entries:,} entries: looked at are the {kept} that differ most between the known data sets, and "
        "sums of all numbers in {blocks} blocks",
        False,
    )
    FLOATING_POINT = (
        FindingKind.FLOATING_POINT,
        "in floating-point arithmetic epsilon is at least {epsilon} ({confidence} confidence, {trials:,} draws a "
        "side): {event}, with probability {probability:.4g} on {data} and {probability_prime:.4g} on {data_prime}; "
        "{outcome}",
    )
    MAY_BE_ROUNDING = (
        FindingKind.FLOATING_POINT,
        "of the loss of {epsilon}, rounding may have made {rounding}: outputs are so large that their last bits are "
        "not small beside what they tell. The claim is about real arithmetic: no more than the rest counts against it",
        False,
    )

    # What a subject does besides
    WARNS = FindingKind.WARNS, "gives warnings, which are not audited: {warnings}", False
    PRINTS = (
        FindingKind.PRINTS,
        "prints to standard output or standard error ({text!r}): what is printed is not audited",
        False,
    )
    CHANGES_DATA = (
        FindingKind.CHANGES_DATA,
        "changes its data argument; every call gets a copy of its own",
        False,
    )
    WEALTH_NOT_KEPT = (
        FindingKind.WEALTH,
        "another run has written {file} since this one began: what this one won is not kept",
        False,
    )

    def __init__(self, kind: FindingKind, words: str, failing: bool = True) -> None:
        self.kind = kind
        self.words = words
        self.failing = failing

    def finding(self, where: object = "", *, failing: bool | None = None, **values: object) -> Finding:
        """Say it.

        Parameters
        ----------
        where
            The line of code, "" if none is to blame.
        failing
            If it depends on more than what is said.
        values
            Of the words.
        """
        said = {
            name: words_of_error(value) if isinstance(value, BaseException) else value
            for name, value in values.items()
        }
        message = self.words.format(**said)
        return Finding(self.kind, str(where), message, self.failing if failing is None else failing)


@dataclass(frozen=True, slots=True)
class Finding:
    """Something seen while verifying.

    Attributes
    ----------
    kind
        What it is about.
    where
        ``"file.py:12"``, or "" if no line of code is to blame.
    message
        One sentence.
    failing
        Whether the finding stands in the way of a certificate; False for remarks.
    """

    kind: FindingKind
    where: str
    message: str
    failing: bool = True

    @classmethod
    def of_gate(cls, seen: Difference | Divergence) -> Finding:
        """Return what a gate of the accountant says as a finding."""
        return cls(FindingKind(seen.kind), str(seen.where), seen.message)


def add_once(findings: list[Finding], finding: Finding) -> None:
    """Add a finding if there is none of its kind and line yet."""
    if not any((known.kind, known.where) == (finding.kind, finding.where) for known in findings):
        findings.append(finding)


@dataclass(frozen=True, slots=True)
class UpperBound:
    """No run loses more than (epsilon, delta), by `method`; epsilon may be infinite.

    Attributes
    ----------
    epsilon, delta
        The bound.
    method
        What gives it.
    every_run
        Whether it holds of all runs: of a mechanism, or because accountants enforce it for every record. Else it is of
        the runs that were looked at alone, and proves nothing.
    """

    epsilon: float
    delta: float
    method: str
    every_run: bool = True

    def __post_init__(self) -> None:
        _check_bound(self.epsilon, self.delta)

    def proves(self, claim: Claim) -> bool:
        """Whether a claim follows from it."""
        return self.every_run and self.epsilon <= claim.epsilon and self.delta <= claim.delta


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

    def exceeds(self, limit: Claim | UpperBound) -> bool:
        """Whether it contradicts a claim or an upper bound, as far as it can be trusted."""
        return self.epsilon > limit.epsilon and self.delta >= limit.delta


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


def _check_bound(epsilon: float, delta: float) -> None:
    if not epsilon >= 0.0:
        raise ValueError(f"epsilon must be at least 0, got {epsilon}")
    if not 0.0 <= delta <= 1.0:
        raise ValueError(f"delta must lie in [0, 1], got {delta}")
