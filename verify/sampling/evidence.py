"""The findings of the layers of a verification, collected for the verdict rules."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from algorithms.claim import Claim
from mechanisms.assumption import Assumption
from mechanisms.numerics.printed_numbers import at_least, at_most
from verify.conduct.other_processes import Again
from verify.findings.finding import Finding, FindingKind, LowerBound, Statement, Witness
from verify.findings.grounds import Grounds
from verify.sampling.counted_event import CountedEvent
from verify.sampling.delta_band import pair_profile
from verify.sampling.independence import DEPENDENCE_ERROR

# Kinds of findings that give the reason why a subject stops.
_STOPPING = frozenset(
    {
        FindingKind.RAW_READ,
        FindingKind.CRASH,
        FindingKind.ENDS_PROCESS,
        FindingKind.ACTION,
        FindingKind.DOMAIN,
        FindingKind.ERROR_IN_MAP,
        FindingKind.REFUSED,
    }
)


@dataclass(frozen=True)
class UpperProfile:
    """An upper bound on δ at every ε ≥ 0, and the method that proves it."""

    delta: Callable[[float], float]
    method: str


@dataclass
class Evidence(Grounds):
    """Everything that the layers found.

    `profile` is an upper bound on the curve δ(ε) besides `upper`, `tested` the last test's result, and `again` repeats
    the draws on which `lower` rests, if a user's code takes part in them.
    """

    profile: UpperProfile | None = None
    tested: CountedEvent | None = None
    again: Again | None = None

    @property
    def does_not_run(self) -> bool:
        """True if a finding gives the reason why the subject stops: no further layer needs to repeat it."""
        return any(finding.kind in _STOPPING for finding in self.findings)

    def assume(self, *assumptions: Assumption) -> None:
        """Add unchecked assumptions of an upper bound, each once."""
        self.assumptions += [each for each in dict.fromkeys(assumptions) if each not in self.assumptions]

    def keep(self, result: CountedEvent, reproduce: str, lower: LowerBound | None = None) -> None:
        """Add the result of a test: its record, and unless its draws depend on each other, its bounds.

        Parameters
        ----------
        result
            The test's result.
        reproduce
            A command that repeats the test.
        lower
            The bound to be kept; by default the result's own.
        """
        self._record(result)
        if result.varied:  # with more draws than the first look took
            self.findings = [each for each in self.findings if each.kind is not FindingKind.DETERMINISTIC]
        if result.dependent is not None:  # then no count proves anything
            self.findings.append(
                Statement.DEPENDENT_DRAWS.finding(how=result.dependent, confidence=1.0 - DEPENDENCE_ERROR)
            )
            return
        self.tested = result
        self.offer(lower or result.lower_bound(), result.witness(reproduce), result.repetition)
        rounding = result.event.rounding
        if rounding > 0.0 and result.epsilon_lower > result.claim_epsilon and not result.refuted:
            said = Statement.MAY_BE_ROUNDING.finding(
                epsilon=at_least(result.epsilon_lower), rounding=at_most(rounding)
            )
            self.findings.append(said)
        self.details["detection_floor"] = result.floor_sentence.to_dict()
        for key, sentence in (("near_claim", result.near_claim), ("detection_power", result.power)):
            self.details.pop(key, None)
            if sentence is not None:
                self.details[key] = sentence.to_dict()
        upper = self._upper_profile()
        band = (
            result.band_beside(None, "") if upper is None else result.band_beside(upper.delta, upper.method)
        )
        if band is not None:
            self.details["band"] = band
        if result.interrupted:
            self.details["interrupted"] = True
        if result.interruption is not None:
            self.findings.append(result.interruption)

    def doubt(self, result: CountedEvent, why: Finding) -> None:
        """Add the record of a test with doubtful draws, and no bound."""
        self._record(result)
        self.findings.append(why)

    def _record(self, result: CountedEvent) -> None:
        """Keep the record of a test beside that of the one before it."""
        if self.tested is not None:
            self.details["first_test"] = self.tested.to_dict()
        self.details[result.kind] = result.to_dict()

    def proves(self, claim: Claim) -> bool:
        """Return True if the upper bound is within the claim, and no finding so far contradicts it."""
        return (
            self.upper is not None
            and self.upper.proves(claim)
            and not any(finding.failing for finding in self.findings)
            and not (self.contradictions or self.declassified or self.assumptions)
        )

    def _upper_profile(self) -> UpperProfile | None:
        """The least of the known upper bounds on δ; None if there is none."""
        if self.upper is None or not math.isfinite(self.upper.epsilon):
            return self.profile
        bounds = pair_profile(self.upper.epsilon, self.upper.delta)
        if self.profile is None:
            return UpperProfile(bounds, self.upper.method)
        known = self.profile.delta
        return UpperProfile(lambda epsilon: min(known(epsilon), bounds(epsilon)), self.profile.method)

    def note_interruption(self) -> None:
        """Note that a black-box test was stopped before it had drawn anything that could decide."""
        self.details["interrupted"] = True
        before = self.tested is not None
        said = Statement.STOPPED_BEFORE_SECOND_TEST if before else Statement.STOPPED_BEFORE_TEST
        self.findings.append(said.finding())

    def offer(self, lower: LowerBound, witness: Witness, again: Again | None = None) -> None:
        """Keep the better lower bound: one in the claim's view first, then decisive, larger, surer."""
        if self.lower is None or _rank(lower) > _rank(self.lower):
            self.lower, self.witness, self.again = lower, witness, again

    def refutes(self, claim: Claim) -> bool:
        """Return True if the lower bound alone refutes the claim."""
        lower = self.lower
        return lower is not None and lower.exceeds(claim) and lower.in_view and lower.decisive

    def depend_on_process(self) -> None:
        """Mark the lower bound as one that differs from process to process, with a finding.

        It is no bound for the claim's adversary: one that knows the state of the process sees more.
        """
        assert self.lower is not None
        self.lower = replace(self.lower, in_view=False)
        self.findings.append(Statement.PROCESSES_DIFFER.finding())


def _rank(lower: LowerBound) -> tuple[bool, bool, float, float]:
    return lower.in_view, lower.decisive, lower.epsilon, lower.confidence
