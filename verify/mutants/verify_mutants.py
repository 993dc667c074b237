"""`verify_mutants`: verify a subject, and then the same with each fault planted in it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from accountant.files.json_object import FromJson, JsonError, JsonObject
from algorithms.problems import known_name
from verify.conduct.isolation import Reports, in_own_process
from verify.conduct.progress import Progress, no_progress, subprogress
from verify.faults.fault import AnyFault, Fault
from verify.faults.planted_subject import FAULTS, Planted, kind_of_faults
from verify.findings import Finding
from verify.learners.learner_subject import LearnerSubject
from verify.mutants.layers import Layer, layers_in_the_way
from verify.mutants.mutant_options import MutantOptions
from verify.mutants.trial_run import acts, rounds_of
from verify.options import Options, takes
from verify.subject_error import SubjectError
from verify.subjects.resolve import resolve
from verify.verdict.result import Verification
from verify.verification import verify


@dataclass(frozen=True)
class Mutant:
    """A subject with a fault, verified.

    Attributes
    ----------
    fault
        What was planted.
    result
        What the verification says.
    caught_by
        The layers that stand in the way of a certificate, and did not without the fault.
    exceeds
        Whether its true loss exceeds the claim: True or False by the argument that stands at the fault; None where a
        learner has more noise than its claim needs, so that a fault of a finite factor may keep the claim.
    """

    fault: AnyFault
    result: Verification
    caught_by: tuple[Layer, ...]
    exceeds: bool | None

    @property
    def caught(self) -> bool:
        """Whether any layer stands in the way of a certificate because of the fault."""
        return bool(self.caught_by)

    @property
    def falsely_certified(self) -> bool:
        """Whether it is certified although its true loss exceeds the claim."""
        return self.result.verdict == "certified" and self.exceeds is True


FORMAT = "dpwitness mutants, version 1"


@dataclass(frozen=True)
class Mutants(FromJson):
    """A subject and all its mutants, verified.

    Attributes
    ----------
    honest
        The subject without a fault.
    mutants
        Those in which the fault acts, in order.
    idle
        The names of the faults that never act in it.
    """

    honest: Verification
    mutants: tuple[Mutant, ...]
    idle: tuple[str, ...]

    @property
    def escaped(self) -> tuple[Mutant, ...]:
        """Those that exceed the claim, and that no layer caught."""
        return tuple(each for each in self.mutants if each.exceeds and not each.caught)

    @property
    def exit_code(self) -> int:
        """Of the command line: 1 if one is certified whose true loss exceeds the claim, else 0."""
        return int(any(each.falsely_certified for each in self.mutants))

    @property
    def summary(self) -> str:
        """How many were caught by which layer, and which escaped, in one line."""
        return summary_of(self.mutants)

    def json(self) -> dict[str, Any]:
        """The table as JSON-able data, with each verification whole."""
        return {
            "format": FORMAT,
            "subject": self.honest.subject,
            "honest": self.honest.json(),
            "mutants": [
                {
                    "fault": each.fault.name,
                    "words": each.fault.words,
                    "why": each.fault.why,
                    "exceeds": each.exceeds,
                    "caught_by": [layer.value for layer in each.caught_by],
                    "verification": each.result.json(),
                }
                for each in self.mutants
            ],
            "idle": list(self.idle),
            "escaped": [each.fault.name for each in self.escaped],
            "summary": self.summary,
        }

    @classmethod
    def from_json(cls, data: Any) -> Mutants:
        """Return what `json` wrote.

        Raises
        ------
        ValueError
            If a key is missing, unknown or of another type, or a fault is none of this version.
        """
        read = JsonObject(data, "the table of mutants")
        read.one_of("format", [FORMAT])
        read.text("subject")
        honest = Verification.from_json(read.take("honest", dict))
        mutants = tuple(read.entries("mutants", _read_mutant))
        found = cls(honest, mutants, tuple(read.texts("idle")))
        if [each.fault.name for each in found.escaped] != read.texts("escaped"):
            raise JsonError("escaped must name the mutants that exceed the claim and that nothing caught")
        if found.summary != read.text("summary"):
            raise JsonError(f"summary must be {found.summary!r}")
        read.end()
        return found


def _read_mutant(read: JsonObject) -> Mutant:
    name, words, why = (read.text(key) for key in ("fault", "words", "why"))
    known = (fault for kind in FAULTS.values() for fault in kind.values())
    fault = next((each for each in known if (each.name, each.words, each.why) == (name, words, why)), None)
    if fault is None:
        raise JsonError(f"fault {name[:60]!r} is none of this version's")
    exceeds = read.take("exceeds", bool, type(None))
    caught_by = tuple(Layer(read_layer) for read_layer in read.texts("caught_by"))
    return Mutant(fault, Verification.from_json(read.take("verification", dict)), caught_by, exceeds)


def summary_of(mutants: Sequence[Mutant]) -> str:
    """Say in one line how many mutants were caught by which layer, and which escaped."""
    exceeding = [each for each in mutants if each.exceeds]
    caught = [each for each in exceeding if each.caught]
    counts = Counter(layer for each in caught for layer in each.caught_by)
    by = ", ".join(f"{layer.value} {counts[layer]}" for layer in Layer if counts[layer])
    escaped = Counter(each.fault.name for each in exceeding if not each.caught)
    names = ", ".join(name if count == 1 else f"{name} ({count})" for name, count in escaped.items())
    words = f"{len(caught)} of {len(exceeding)} that exceed the claim caught{f' ({by})' if by else ''}"
    return f"{words}; {f'escaped: {names}' if escaped else 'none escaped'}"


@takes(MutantOptions)
def verify_mutants(subject: object, options: MutantOptions) -> Mutants:
    """Plant faults in a subject, one at a time, and verify each mutant as the subject itself is verified.

    A fault is what a careless author might have written: raw values, noise that is shared, sums that are never
    cleared, state in a transformation, another record's name (`verify.faults`). It is planted in the learner or
    function; the accountant, the coupled runs and the replays stay what they are.

    Parameters
    ----------
    subject
        A learner or a function, as `verify` takes it.

    Returns
    -------
    Mutants
        The subject's own verification and those of its mutants, and which layer caught each.

    Raises
    ------
    ValueError
        If the subject is neither a learner nor a function, or there is no such fault; and as `verify`.

    Examples
    --------
    >>> quick = {"effort": "quick", "horizon": 20}
    >>> done = verify_mutants("cucb-ldp-laplace-one", epsilon=1.0, faults=["released-twice"], **quick)
    >>> done.mutants[0].result.verdict, done.mutants[0].caught_by[0].value
    ('refuted', 'ledger')
    """
    tell = options.progress or no_progress
    shares = _Shares(tell)
    honest = verify(subject, **_keywords(replace(options, progress=shares.next("without a fault"))))
    known, rounds = _planted(subject, options, honest)
    idle = tuple(name for name in known if name not in rounds)
    shares.count = 1 + len(rounds)
    mutants = []
    for name, horizon in rounds.items():
        its = replace(options, progress=shares.next(name), horizon=horizon)
        result = verify(Planted(subject, name), **_keywords(its))
        mutants.append(_judged(known[name], result, honest))
    return Mutants(honest, tuple(mutants), idle)


@dataclass
class _Shares:
    """Progress of one verification after the other."""

    tell: Progress
    count: int = 20
    begun: int = 0

    def next(self, name: str) -> Progress:
        """Return what the next verification reports to."""
        start, self.begun = self.begun / self.count, self.begun + 1
        told = subprogress(self.tell, min(start, 1.0), min(self.begun / self.count, 1.0))
        return lambda share, doing: told(share, f"{name}: {doing}")


def _judged(fault: AnyFault, result: Verification, honest: Verification) -> Mutant:
    before = layers_in_the_way(honest)
    caught_by = tuple(layer for layer in layers_in_the_way(result) if layer not in before)
    return Mutant(fault, result, caught_by, _exceeds(fault, honest))


def _exceeds(fault: AnyFault, honest: Verification) -> bool | None:
    """Whether a mutant exceeds the claim: a finite factor does so only where the subject's loss is about the claim."""
    if fault.harmless:
        return False
    if math.isinf(fault.factor) or honest.upper is None:
        return True
    return True if fault.factor * honest.upper.epsilon > honest.claim.epsilon else None


def _keywords(options: Options) -> dict[str, Any]:
    return {each.name: getattr(options, each.name) for each in fields(Options)}


def _planted(
    subject: object, options: MutantOptions, honest: Verification
) -> tuple[Mapping[str, AnyFault], dict[str, int | None]]:
    """Return the faults that were asked for, and the horizon for those that act."""

    def work(reports: Reports) -> Any:
        return _acting(subject, options, honest.claim.epsilon, honest.claim.delta)

    if options.isolated:
        done = in_own_process(work, no_progress, options.time_limit, errors=(SubjectError, ValueError))
        if isinstance(done, Finding):
            raise SubjectError(f"{honest.subject}: faults could not be planted: {done.message}")
    else:
        done = _acting(subject, options, honest.claim.epsilon, honest.claim.delta)
    kind, horizons = done
    every = FAULTS[kind]
    return {name: every[name] for name in options.faults or every}, horizons


def _acting(
    subject: object, options: MutantOptions, epsilon: float, delta: float
) -> tuple[str, dict[str, int | None]]:
    """Return the kind of faults that can be planted, and the names of those that act, with the rounds they need."""
    found = resolve(subject, options.neighbours)
    kind = kind_of_faults(found)
    names = [known_name("fault", name, FAULTS[kind]) for name in options.faults] or list(FAULTS[kind])
    horizons: dict[str, int | None] = {}
    for name in names:
        fault, horizon = FAULTS[kind][name], options.horizon
        if isinstance(found, LearnerSubject) and isinstance(fault, Fault):
            if horizon is None and rounds_of(found, options) < fault.rounds and fault.start > 1:
                horizon = fault.rounds
            tried = replace(options, horizon=horizon)
            if fault.factor > 1.0 and not acts(found, fault, tried, epsilon, delta):
                continue
        horizons[name] = horizon
    return kind, horizons
