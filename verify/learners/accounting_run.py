"""Accounting runs: the upper bound that the ledger certifies, its charges, and the releases that are refused."""

from __future__ import annotations

import copy
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from accountant import (
    Accountant,
    Alteration,
    BasicComposition,
    Budget,
    BudgetExceeded,
    Composition,
    Cost,
    Entry,
    GateClosed,
    GaussianComposition,
    Place,
    RawRead,
    RecordId,
    Recording,
    RecordWaiting,
    Refusal,
    SensitivityExceeded,
    Trust,
    TrustViolation,
)
from accountant.compositions import composition_named
from accountant.proofs.proof_document import DerivedReleases, NoProof, enforced_theorem
from algorithms.claim import Claim
from algorithms.play import ActionError, place_of_act
from mechanisms import Assumption, AssumptionKind, DomainError, Mechanism
from mechanisms.numerics.printed_numbers import as_given, at_most, counted_noun
from verify.conduct.interrupts import subject_exceptions
from verify.conduct.kept_outside import changed_state, class_state
from verify.conduct.process_state import own_steps, subjects_own
from verify.findings.finding import Finding, FindingKind, Statement, UpperBound, add_once
from verify.findings.proof_checker import claim_as_data
from verify.findings.sentences import exact
from verify.findings.subject_error import failing_place
from verify.learners.internals import private_attribute_uses
from verify.learners.ledger_profile import MovedMechanism, larger, largest_counts, ledger_profile
from verify.learners.payers import Pricing, within
from verify.learners.public_state import PublicState, is_due, public_state
from verify.sampling.evidence import Evidence

Play = Callable[[Any, Accountant], Iterable[object]]
"""Function that lets a learner play on its gate, one step at a time."""

_KINDS: tuple[tuple[type[Refusal], FindingKind], ...] = (
    (RawRead, FindingKind.RAW_READ),
    (SensitivityExceeded, FindingKind.SENSITIVITY),
    (TrustViolation, FindingKind.TRUST),
)


_GOES_ON = (
    "the learner catches this refusal and goes on; tests were left out, because their gates do not refuse it"
)
_ROUNDING = 1e-9  # of a figure, relative: below it two theorems give the same bound
_ALTERATIONS: tuple[Alteration, ...] = (
    lambda outputs: 30 * outputs,
    lambda outputs: np.rint(outputs).astype(outputs.dtype),
    np.zeros_like,
)
"""Released values that noise may give but hardly does: charges must not depend on them beyond the budget."""


@dataclass(frozen=True)
class AccountedRun:
    """One run of a learner on an accountant.

    Attributes
    ----------
    play
        Lets the learner play on some data.
    altered
        The alteration of released values; None to leave them as they are.
    taped
        True if it is kept for replays.
    """

    play: Play
    altered: Alteration | None = None
    taped: bool = False


@dataclass(frozen=True, eq=False)
class EnforcedTerms:
    """The terms that the accountants of a verification enforce.

    Attributes
    ----------
    budget
        The budget of each record.
    trust
        The trust model: the parties that may see records.
    composition
        The theorem that adds up losses.
    """

    budget: Budget
    trust: Trust
    composition: Composition

    def accountant(self, seed: np.random.SeedSequence) -> Accountant:
        """Return an accountant; all of its draws follow from the seed."""
        noise_seed, learner_seed = seed.generate_state(2)
        return Accountant(
            self.budget,
            composition=self.composition,
            trust=self.trust,
            noise=np.random.default_rng(noise_seed),
            seed=int(learner_seed),
        )


@dataclass(frozen=True, eq=False)
class TapedRun:
    """A completed run, to be replayed on other data.

    Attributes
    ----------
    number
        The number of the run.
    terms, seed
        Those of its accountant.
    recording
        Everything that entered and left.
    steps
        The learner's outputs, step by step.
    states
        Its public state after some of them, and at the end.
    act
        The place where it chooses its actions.
    """

    number: int
    terms: EnforcedTerms
    seed: np.random.SeedSequence
    recording: Recording
    steps: list[Any]
    states: dict[int, PublicState]
    act: Place


@dataclass
class Accounting:
    """The result of accounting runs.

    Attributes
    ----------
    pricings
        The records that paid most under each theorem that prices all releases; the first is the accountants' own.
    refused
        True if a run was refused, or did not come to its end.
    caught
        True if a run went on after a release that every accountant refuses, at any budget.
    findings
        Refusals, crashes and declassifications, each with its line.
    mechanisms
        Every mechanism used, with the line that first released through it.
    alike
        For each kind of release the most that any one record entered, if no record entered several kinds.
    assumptions
        Unchecked assumptions of any of the runs.
    releases
        Number of charges.
    runs, rounds
        Numbers of runs and of rounds of each.
    learner
        Its class.
    taped
        The runs that were kept for replays.
    exceeded
        The first release that was refused because its records could not pay.
    enforced
        True if accountants with the claim as their budget refused nothing, and it covers every record of runs without
        limit, too.
    derived
        The releases of each kind of record, and their derivation.
    """

    pricings: list[Pricing]
    refused: bool = False
    caught: bool = False
    findings: list[Finding] = field(default_factory=list)
    mechanisms: dict[Mechanism, Place] = field(default_factory=dict)
    alike: dict[MovedMechanism, int] | None = field(default_factory=dict)
    assumptions: list[Assumption] = field(default_factory=list)
    releases: int = 0
    runs: int = 0
    rounds: int = 0
    learner: type = object
    taped: list[TapedRun] = field(default_factory=list)
    exceeded: BudgetExceeded | None = None
    enforced: bool = False
    derived: DerivedReleases = field(default_factory=DerivedReleases)

    @property
    def own_pricing(self) -> Pricing:
        """The records that paid most under the accountants' theorem."""
        return self.pricings[0]

    def least_pricing(self, delta: float) -> Pricing:
        """Return the pricing of the least covering cost at `delta`: one theorem for all records, as accountants have.

        Another theorem than the accountants' own counts only if it says less by more than rounding.
        """
        found = self.own_pricing
        for other in self.pricings[1:]:
            if other.cost.delta_up <= delta and (
                found.cost.delta_up > delta
                or other.cost.epsilon_up < found.cost.epsilon_up * (1.0 - _ROUNDING)
            ):
                found = other
        return found

    def dearest(self, most: int) -> list[RecordId]:
        """Return the record that could not pay, and for each theorem the `most` records with the largest cost."""
        refused = None if self.exceeded is None else self.exceeded.record
        payers = [payer.record for pricing in self.pricings for payer in pricing.payers[:most]]
        return [*([refused] if isinstance(refused, int | str) else []), *payers]

    def price(self, entries: Sequence[Entry], budget: Budget) -> None:
        """Add a run: the records that paid most in it, under each theorem that prices it."""
        found = [
            (pricing, pricing.of_run(entries, budget, own=pricing is self.own_pricing))
            for pricing in self.pricings
        ]
        self.pricings = [pricing.with_payers(payers) for pricing, payers in found if payers is not None]

    def joint_pricings(self, other: Accounting) -> list[Pricing]:
        """Return the records that paid most in these runs and others, under each theorem that prices both."""
        theirs = {pricing.theorem.name: pricing.payers for pricing in other.pricings}
        return [
            pricing.with_payers(theirs[pricing.theorem.name])
            for pricing in self.pricings
            if pricing.theorem.name in theirs
        ]

    @property
    def enforcement_description(self) -> str:
        """The reason why the bound holds, for a sentence; without a budget it is a bound of these runs alone."""
        looked = f"{counted_noun(self.runs, 'run')} of {counted_noun(self.rounds, 'round')}"
        if self.enforced:
            return f"enforced by an accountant with this budget (observed: {looked})"
        return f"largest charge in {looked}; other runs are not bounded"


def run_accounting(
    build: Callable[[Accountant], Any],
    runs: Sequence[AccountedRun],
    terms: EnforcedTerms,
    theorems: Sequence[Composition],
    *,
    budget: Budget,
    rounds: int,
    seed: np.random.SeedSequence,
) -> Accounting:
    """Run a learner under accountants, and collect its charges.

    Parameters
    ----------
    build
        Function that makes the learner on its gate.
    runs
        Each lets a learner play `rounds` rounds.
    terms
        The terms that the accountants enforce.
    theorems, budget
        The theorems that price the runs beside the accountants' own, and the budget with which totals are compared.
    rounds
        Number of rounds.
    seed
        The seed of all randomness.
    """
    pricings = [
        Pricing(terms.composition),
        *(Pricing(each) for each in theorems if each is not terms.composition),
    ]
    result = Accounting(pricings, runs=len(runs), rounds=rounds)
    act, outside, named = Place("", 0), None, list[Assumption]()
    # A copy spawns the same every time, so that other terms see the same noise.
    children = np.random.SeedSequence(seed.entropy, spawn_key=seed.spawn_key).spawn(len(runs))
    for index, (run, child) in enumerate(zip(runs, children, strict=True)):
        accountant = terms.accountant(child)
        recording = Recording(run.altered)
        if run.taped or run.altered is not None:
            accountant.on_tape(recording)
        try:
            with subjects_own():
                learner = build(accountant)
            act, result.learner = place_of_act(learner), type(learner)
            if outside is None:
                outside, named = class_state(learner), private_attribute_uses(learner)
            steps: list[Any] = []
            states: dict[int, PublicState] = {}
            for number, step in enumerate(own_steps(run.play(learner, accountant)), start=1):
                if run.taped:
                    steps.append(copy.copy(step))
                    if is_due(number):
                        states[number] = public_state(learner)
            if run.taped:
                states[len(steps)] = public_state(learner)
                result.taped.append(TapedRun(index, terms, child, recording, steps, states, act))
        except GateClosed:
            result.refused = True  # reported below, at the line that closed it
        except BudgetExceeded as refusal:
            result.refused = True
            result.exceeded = result.exceeded or refusal
        except RecordWaiting as refusal:
            result.refused = True
            add_once(
                result.findings,
                Statement.RECORD_WAITING.finding(str(refusal.where), message=refusal.message),
            )
        except Refusal as refusal:
            result.refused = True
            said = exact("{message}", message=refusal.message)
            add_once(result.findings, Finding(_kind(refusal), str(refusal.where), said))
        except DomainError as error:
            result.refused = True
            add_once(result.findings, Statement.OUTSIDE_DOMAIN.finding(act, error=str(error)))
        except ActionError as error:
            result.refused = True
            add_once(result.findings, Statement.INVALID_ACTION.finding(error.where, error=error.message))
        except subject_exceptions() as error:  # a user's learner may raise anything
            if run.altered is None:  # else it fails on altered releases, which shows nothing about the data
                result.refused = True
                add_once(result.findings, Statement.RAISED.finding(failing_place(error), error=error))
        else:
            if (caught := accountant.refused) is not None:
                result.caught = True
                said = exact("{message}; {goes_on}", message=caught.message, goes_on=_GOES_ON)
                add_once(result.findings, Finding(_kind(caught), str(caught.where), said))
        if accountant.closure is not None:
            result.refused = True
            why, place = accountant.closure
            add_once(result.findings, Statement.ERROR_IN_MAP.finding(place, error=why))
        result.assumptions += [
            each
            for each in accountant.assumptions
            # The noise is this run's own: nothing of it is published.
            if each.kind is not AssumptionKind.SEEDED and each not in result.assumptions
        ]
        result.releases += len(accountant.ledger)
        result.alike = larger(result.alike, largest_counts(accountant.ledger.entries))
        for entry in accountant.ledger.entries:
            if entry.mechanism is None:
                add_once(result.findings, Statement.DECLASSIFIED.finding(entry.where, reason=entry.note))
            else:
                result.mechanisms.setdefault(entry.mechanism, entry.where)
        result.price(accountant.ledger.entries, budget)
        result.derived.add_run(accountant)
        if outside is not None and (names := changed_state(outside, class_state(learner))):
            add_once(result.findings, Statement.KEPT_OUTSIDE.finding(act, what=", ".join(names)))
    result.assumptions += named
    return result


def enforced_accounting(
    build: Callable[[Accountant], Any],
    plays: Sequence[Play],
    claim: Claim,
    *,
    rounds: int,
    seed: np.random.SeedSequence,
) -> Accounting:
    """Run a learner under accountants that have its claim as their budget; without limit, if they refuse it.

    It is played on growing data, on data of the problem's law, and on two kinds of extreme data. The first two runs are
    taped for replays; in all but the second, released values are altered.

    The theorem is the one that the claim names; else the first under which nothing is refused: basic composition,
    or for δ > 0 the Gaussian filter. All of them hold for charges that depend on earlier releases
    (`accountant.filters`), so that an accountant with this budget and theorem keeps every run within the claim, for any
    released values. A claim is about all releases that a learner requests: under the claim's budget a learner that
    catches refusals, or reads the remaining budget first, seems to keep it. So every record of runs without limit must
    be covered, too. If each theorem refuses, or only a budget kept the claim, the runs without limit show the excess.
    """
    runs = _altered_runs(plays)
    trust, claimed = Trust(claim.model), Budget(claim.epsilon, claim.delta)

    def accounted(budget: Budget, theorem: Composition) -> Accounting:
        terms = EnforcedTerms(budget, trust, theorem)
        return run_accounting(build, runs, terms, theorems, budget=claimed, rounds=rounds, seed=seed)

    theorems: list[Composition] = [BasicComposition()]
    if claim.composition:
        theorems = [composition_named(claim.composition)]
    elif claim.delta > 0.0:
        theorems.append(GaussianComposition())
    exceeded = None
    for theorem in theorems:
        held = accounted(claimed, theorem)
        kept = held.exceeded is None and not any(f.kind is FindingKind.REFUSED for f in held.findings)
        if kept and held.refused:
            return held
        if kept:
            free = accounted(_no_limit(theorem, claim), theorem)
            if not free.refused and within(free.own_pricing.cost, claim):
                return replace(held, pricings=held.joint_pricings(free), enforced=True)
        exceeded = exceeded or held.exceeded
    return replace(accounted(_no_limit(theorems[0], claim), theorems[0]), exceeded=exceeded)


def _no_limit(theorem: Composition, claim: Claim) -> Budget:
    """Return the budget under which a theorem refuses no charge."""
    return Budget.unlimited() if isinstance(theorem, BasicComposition) else Budget(math.inf, claim.delta)


def _altered_runs(plays: Sequence[Play]) -> list[AccountedRun]:
    """Return the runs on growing data, on the problem's law, and on extreme data."""
    growing, drawn, *extreme = plays
    altered, *others = _ALTERATIONS
    return [
        AccountedRun(growing, altered, taped=True),
        AccountedRun(drawn, taped=True),
        *(AccountedRun(*each) for each in zip(extreme, others, strict=True)),
    ]


def _kind(refusal: Refusal) -> FindingKind:
    return next((kind for cls, kind in _KINDS if isinstance(refusal, cls)), FindingKind.REFUSED)


def _assumptions_of_relation(claim: Claim) -> list[Assumption]:
    """Return the assumption that a claim's own words mean its relation, which is all that accountants know."""
    if not claim.differ:
        return []
    words = f"data sets that differ as your claim says ({claim.differ!r}) differ by no more than"
    return [Assumption(AssumptionKind.CLAIM, f"{words} {claim.neighbours.description}")]


def add_accounting(evidence: Evidence, accounting: Accounting, claim: Claim) -> None:
    """Add the upper bound and the findings of accounting runs of a learner with this claim."""
    evidence.findings.extend(accounting.findings)
    evidence.assume(*accounting.assumptions, *_assumptions_of_relation(claim))
    evidence.declassified += [f.where for f in accounting.findings if f.kind is FindingKind.DECLASSIFIED]
    if accounting.refused:
        kinds = {finding.kind for finding in accounting.findings}
        ended = kinds & {FindingKind.CRASH, FindingKind.ENDS_PROCESS, FindingKind.ACTION, FindingKind.DOMAIN}
        why = "a run did not finish" if ended else "a release was refused"
        evidence.upper = UpperBound(math.inf, 1.0, why, every_run=False)
        return
    pricing = accounting.least_pricing(claim.delta)
    cost = pricing.cost
    if cost.epsilon is None:
        evidence.upper = UpperBound(math.inf, 1.0, "raw data were used without noise", every_run=False)
    else:
        method = f"{pricing.theorem.name}, {accounting.enforcement_description}"
        evidence.upper = UpperBound(cost.epsilon_up, cost.delta_up, method, every_run=accounting.enforced)
    if accounting.enforced:
        evidence.details["proof"] = _proof(accounting, claim)
    evidence.profile = ledger_profile(accounting.alike, accounting.enforcement_description)
    evidence.details["accounting"] = {
        "releases": accounting.releases,
        "runs": accounting.runs,
        "rounds": accounting.rounds,
        "theorem": pricing.theorem.name,
        "covering": {name: "inf" if part is None else str(part) for name, part in cost.parts()},
    }


def _proof(accounting: Accounting, claim: Claim) -> dict[str, Any] | str:
    """Return the proof of the claim from the enforced theorem and releases, as data; else the reason for none."""
    try:
        theorem = enforced_theorem(accounting.own_pricing.theorem, Budget(claim.epsilon, claim.delta))
        flows = {"runs": accounting.runs, "rounds": accounting.rounds, "releases": accounting.releases}
        return accounting.derived.document(claim_as_data(claim), theorem, flows)
    except NoProof as error:
        return str(error)


def add_overspending(evidence: Evidence, accounting: Accounting, claim: Claim) -> None:
    """Add findings with the lines of the releases that together cost a record more than the claim.

    Under basic composition only, where costs are (ε, δ).
    """
    upper = evidence.upper
    if upper is None or not math.isfinite(upper.epsilon):
        return  # a refusal or a declassification is named already
    if upper.epsilon <= claim.epsilon and upper.delta <= claim.delta:
        if accounting.exceeded is not None:
            refused = accounting.exceeded
            evidence.findings.append(
                Statement.REFUSED_UNDER_CLAIM.finding(refused.where, why=refused.message)
            )
        return
    payer = next((each for each in accounting.own_pricing.payers if not within(each.cost, claim)), None)
    if payer is None:  # the theorem's own costs are within the claim, and only a budget kept it
        return
    charges = Counter(
        (entry.where, type(entry.mechanism).__name__, entry.charge.epsilon_up, entry.charge.delta_up)
        for entry in payer.charges
        if entry.mechanism is not None and isinstance(entry.charge, Cost)
    )
    for (where, mechanism, epsilon, delta), times in charges.items():
        found = Statement.OVERSPENT.finding(
            where,
            record=payer.record,
            times="one release" if times == 1 else f"{times} releases",
            mechanism=mechanism,
            epsilon=at_most(epsilon),
            delta=at_most(delta),
            paid=at_most(payer.cost.epsilon_up),
            paid_delta=at_most(payer.cost.delta_up),
            claimed=as_given(claim.epsilon),
            claimed_delta=as_given(claim.delta),
        )
        evidence.findings.append(found)
