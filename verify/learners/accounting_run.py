"""Accounting runs: the upper bound that the ledger certifies, what it was spent on, and what the accountant refuses."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from accountant import (
    Accountant,
    Budget,
    Composition,
    Cost,
    Entry,
    GateClosed,
    Place,
    RawRead,
    Refusal,
    SensitivityExceeded,
    Trust,
    TrustViolation,
)
from algorithms.claim import Claim
from algorithms.play import ActionError, place_of_act
from mechanisms import Assumption, DomainError, Mechanism
from verify.findings import Finding, FindingKind, Statement, UpperBound, add_once
from verify.learners.ledger_profile import MovedMechanism, larger, largest_counts, ledger_profile
from verify.sentences import number
from verify.subject_error import failing_place
from verify.verdict.evidence import Evidence

Play = Callable[[Any, Accountant], Iterable[object]]
"""Lets a learner play on its gate, one step at a time."""

_KINDS: tuple[tuple[type[Refusal], FindingKind], ...] = (
    (RawRead, FindingKind.RAW_READ),
    (SensitivityExceeded, FindingKind.SENSITIVITY),
    (TrustViolation, FindingKind.TRUST),
)


@dataclass(frozen=True)
class _Charges:
    """What one line's releases charged a record.

    Attributes
    ----------
    where
        The line.
    mechanism
        What it releases through, in words.
    times
        How many of its releases the record entered.
    epsilon, delta
        Of each, rounded up.
    """

    where: Place
    mechanism: str
    times: int
    epsilon: float
    delta: float


@dataclass
class Accounting:
    """What the accounting runs showed.

    Attributes
    ----------
    worst
        The largest (epsilon, delta) that any record paid in any run; None if a run was refused.
    record
        The record that paid it.
    charges
        What that record was charged for, line by line.
    findings
        Refusals, crashes and declassifications, each with its line.
    declassified
        The places of declassifications, in words.
    mechanisms
        Every mechanism used, with the line that first released through it.
    paid
        What the worst record was charged for.
    alike
        For each kind of release the most that any one record entered, if no record entered several kinds.
    assumptions
        What any of the runs rests on and nobody checked.
    releases
        How many charges there were.
    runs, rounds
        How many runs of how many rounds.
    """

    worst: Cost | None = None
    record: int | str | None = None
    charges: list[_Charges] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    declassified: list[str] = field(default_factory=list)
    mechanisms: dict[Mechanism, Place] = field(default_factory=dict)
    paid: tuple[Entry, ...] = ()
    alike: dict[MovedMechanism, int] | None = field(default_factory=dict)
    assumptions: list[Assumption] = field(default_factory=list)
    releases: int = 0
    runs: int = 0
    rounds: int = 0

    @property
    def length(self) -> str:
        """How much was looked at, for a sentence."""
        return f"largest of {self.runs} runs of {self.rounds:,} rounds"


def run_accounting(
    build: Callable[[Accountant], Any],
    plays: Sequence[Play],
    *,
    rounds: int,
    trust: Trust,
    seed: np.random.SeedSequence,
    composition: Composition | None = None,
    delta: float = 1.0,
) -> Accounting:
    """Run a learner under an accountant without limit, once for each of `plays`, and collect what it charged.

    Parameters
    ----------
    build
        Makes the learner on its gate.
    plays
        Each lets a learner play `rounds` rounds.
    rounds
        How many.
    trust
        Who may see records.
    seed
        Of all randomness.
    composition
        The theorem that adds up losses: basic composition by default.
    delta
        Of the budget: what theorems other than basic composition answer for.
    """
    result = Accounting(rounds=rounds)
    refused = False
    act = Place("", 0)
    for play, child in zip(plays, seed.spawn(len(plays)), strict=True):
        noise_seed, learner_seed = child.generate_state(2)
        accountant = Accountant(
            Budget(math.inf, delta),
            composition=composition,
            trust=trust,
            noise=np.random.default_rng(noise_seed),
            seed=int(learner_seed),
        )
        try:
            learner = build(accountant)
            act = place_of_act(learner)
            for _ in play(learner, accountant):
                pass
        except GateClosed:
            refused = True  # reported below, at the line that closed it
        except Refusal as refusal:
            refused = True
            add_once(result.findings, Finding(_kind(refusal), str(refusal.where), refusal.message))
        except DomainError as error:
            refused = True
            add_once(result.findings, Statement.OUTSIDE_DOMAIN.finding(act, error=str(error)))
        except ActionError as error:
            refused = True
            add_once(result.findings, Statement.INVALID_ACTION.finding(error.where, error=error.message))
        except (Exception, SystemExit) as error:  # a user's learner may raise anything
            refused = True
            add_once(result.findings, Statement.LEARNER_RAISED.finding(failing_place(error), error=error))
        if accountant.closed is not None:
            refused = True
            why, place = accountant.closed
            add_once(result.findings, Statement.ERROR_IN_MAP.finding(place, error=why))
        result.assumptions += [each for each in accountant.assumptions if each not in result.assumptions]
        result.runs += 1
        result.releases += len(accountant.ledger)
        result.alike = larger(result.alike, largest_counts(accountant.ledger.entries))
        for entry in accountant.ledger.entries:
            if entry.mechanism is None:
                released_at = str(entry.where)
                if released_at not in result.declassified:
                    result.declassified.append(released_at)
                    add_once(result.findings, Statement.DECLASSIFIED.finding(released_at, reason=entry.note))
            else:
                result.mechanisms.setdefault(entry.mechanism, entry.where)
        record, worst = accountant.worst()
        if result.worst is None or _exceeds(worst, result.worst):
            result.worst, result.record = worst, record
            result.paid = () if record is None else tuple(accountant.ledger.charges(record))
            result.charges = _charges(accountant, record)
    if refused:
        result.worst = None
    return result


def _charges(accountant: Accountant, record: int | str | None) -> list[_Charges]:
    """Add up a record's charges by line and cost; under basic composition only, where costs are (ε, δ)."""
    if record is None:
        return []
    found: dict[tuple[Place, str, float, float], int] = {}
    for entry in accountant.ledger.charges(record):
        if entry.mechanism is not None and isinstance(entry.charge, Cost):
            cost = entry.charge
            key = (entry.where, type(entry.mechanism).__name__, cost.epsilon_up, cost.delta_up)
            found[key] = found.get(key, 0) + 1
    return [
        _Charges(where, name, times, epsilon, delta) for (where, name, epsilon, delta), times in found.items()
    ]


def _kind(refusal: Refusal) -> FindingKind:
    return next((kind for cls, kind in _KINDS if isinstance(refusal, cls)), FindingKind.REFUSED)


def _exceeds(cost: Cost, other: Cost) -> bool:
    return (cost.epsilon_up, cost.delta_up) > (other.epsilon_up, other.delta_up)


def add_accounting(evidence: Evidence, accounting: Accounting) -> None:
    """Add what accounting runs showed."""
    evidence.findings.extend(accounting.findings)
    evidence.assume(*accounting.assumptions)
    evidence.declassified.extend(accounting.declassified)
    if accounting.worst is None:
        evidence.upper = UpperBound(math.inf, 1.0, "the accountant refused: no finite bound")
        return
    worst = accounting.worst
    infinite = worst.epsilon is None
    length = accounting.length
    method = (
        "no bound: private data were declassified"
        if infinite
        else f"basic composition, per-record ledger, {length}"
    )
    evidence.upper = UpperBound(worst.epsilon_up, 1.0 if infinite else worst.delta_up, method)
    evidence.profile = ledger_profile(accounting.alike, length)
    evidence.details["accounting"] = {
        "worst_record": accounting.record,
        "releases": accounting.releases,
        "runs": accounting.runs,
        "rounds": accounting.rounds,
    }


def add_overspending(evidence: Evidence, accounting: Accounting, claim: Claim) -> None:
    """Name the lines whose releases together cost the worst record more than the claim."""
    upper = evidence.upper
    if upper is None or not math.isfinite(upper.epsilon):
        return  # a refusal or a declassification is named already
    if upper.epsilon <= claim.epsilon and upper.delta <= claim.delta:
        return
    worst = accounting.worst
    assert worst is not None
    for charge in accounting.charges:
        times = "one release" if charge.times == 1 else f"{charge.times} releases"
        found = Statement.OVERSPENT.finding(
            charge.where,
            record=accounting.record,
            times=times,
            mechanism=charge.mechanism,
            epsilon=number(charge.epsilon),
            delta=number(charge.delta),
            paid=number(worst.epsilon_up),
            claimed=number(claim.epsilon),
            claimed_delta=number(claim.delta),
        )
        evidence.findings.append(found)


def better_bound(upper: UpperBound, filtered: Accounting, claim: Claim) -> UpperBound:
    """Return the bound of the Gaussian filter where basic composition does not prove the claim."""
    proved = upper.epsilon <= claim.epsilon and upper.delta <= claim.delta
    if proved or filtered.worst is None or filtered.worst.epsilon is None:
        return upper
    return UpperBound(
        filtered.worst.epsilon_up, filtered.worst.delta_up, "Gaussian DP filter, per-record ledger"
    )
