"""Sections that documents of several kinds of results have in common."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import TypeAlias

from accountant.provenance import Provenance
from algorithms.claim import Claim
from algorithms.unit import OnePerson
from mechanisms.domains.neighbouring import Neighbouring
from mechanisms.numerics.printed_numbers import as_given, at_most, percent_at_most
from verify.document.drawings import Axis, Chart, Curve, Style
from verify.document.elements import Block, Bullets, Facts, Paragraph, Section
from verify.findings.references import references
from verify.findings.sentences import Sentence, exact, remark
from verify.verdict.subject_kind import BLACK_BOXES, SubjectKind
from verify.verdict.verdict import claim_words

_ROUNDING = sys.float_info.epsilon / 2  # the relative error of one operation
_DIGESTS = {
    "dpwitness": "SHA-256: dpwitness",
    "file": "SHA-256: input file",
    "subject": "SHA-256: code and parameters (16 digits)",
}
_TRUSTED = remark("dpwitness (digest below), Python and the libraries listed below work as documented.")
ADVERSARY = remark(
    "The adversary sees only the output named above: timing, memory, logs and crash reports are left out."
)


def claim_sentence(subject: str, claim: Claim) -> Sentence:
    """Return a claim about a subject in words."""
    return remark(
        "{subject} is ({epsilon}, {delta})-differentially private ({model} model). Unit of privacy: {unit}. "
        "Neighbours: {relation}. The adversary sees {view}.",
        subject=subject,
        epsilon=as_given(claim.epsilon),
        delta=as_given(claim.delta),
        model=claim.model,
        unit=claim.unit.description,
        relation=claim.neighbour_words,
        view=claim.view,
    )


def claim_section(claim: Claim, arithmetic: str = "", problem: str = "") -> Section:
    """Return the section on a claim: its numbers, and its meaning for every event.

    Parameters
    ----------
    claim
        The claim.
    arithmetic, problem
        The arithmetic that it is about, and the problem on which a learner was tested, if that is known.
    """
    pairs = [
        ("Parameters", claim_words(claim)),
        ("Trust model", claim.model),
        ("Unit of privacy", str(claim.unit)),
        ("Neighbouring relation", f"{claim.neighbour_words} ({claim.neighbours.value})"),
        ("Adversary's view", claim.view),
        ("Arithmetic", arithmetic),
        ("Composition", claim.composition),
        ("Source of the claim", claim.source),
        ("Author's comment", claim.comment),
        ("Test problem", problem),
    ]
    found = exact(
        "If it holds, an attack with one false alarm in 100 finds at most {share} of the cases.",
        share=percent_at_most(_largest_true_positive_rate(claim.epsilon, claim.delta, 0.01)),
    )
    factor = exact(
        "If it holds, every output event has, on D and on D′, probabilities within a factor e^ε = {factor}{but}.",
        factor=at_most(largest_factor(claim.epsilon)),
        but=f", up to δ = {as_given(claim.delta)}" if claim.delta else "",
    )
    group = exact(
        "A person with k records has k·ε{delta}.",
        delta=" and δ·(e^{kε} − 1)/(e^ε − 1)" if claim.delta else "",
    )
    facts = Facts(tuple(pair for pair in pairs if pair[1]))
    return Section("The claim", (), (Paragraph(factor), Paragraph(found), Paragraph(group), facts))


def unit_words(claim: Claim) -> str:
    """Return the unit of privacy of a claim in two words."""
    return "one person" if isinstance(claim.unit, OnePerson) else "one report"


def _protected_words(claim: Claim) -> str:
    """Return the protected fact, which an adversary guesses from the output, in words."""
    if claim.neighbours is not Neighbouring.REPLACE_ONE:
        return f"whether {unit_words(claim)} is in the data"
    if isinstance(claim.unit, OnePerson):
        return "which of two sets of reports one person gave"
    return "which of two values one report has"


def person_sentence(given: str, guessed: str, seen: str, share: float) -> Sentence:
    """Return the largest share of right guesses of an attacker in a sentence.

    Parameters
    ----------
    given
        The beginning of the sentence up to "someone", with its condition or evidence.
    guessed, seen
        The protected fact, and the observation.
    share
        The share of right guesses, where half are right without the observation.
    """
    return exact(
        "{given} who guesses {guessed}, and is right half of the time before seeing {seen}, is right at most {share} "
        "of the time after, whatever else they know.",
        given=given,
        guessed=guessed,
        seen=seen,
        share=percent_at_most(min(share, 1.0)),
    )


def claim_person_sentence(given: str, claim: Claim) -> Sentence:
    """Return the largest share of right guesses under a claim; `given` as in `person_sentence`."""
    share = correct_guesses(claim.epsilon, claim.delta)
    return person_sentence(given, _protected_words(claim), claim.view, share)


def correct_guesses(epsilon: float, delta: float) -> float:
    """Return the largest probability of a right guess between two neighbours that are equally likely beforehand.

    It is at most (e^ε + δ)/(1 + e^ε) (Kairouz, Oh and Viswanath 2015): with the probabilities p and q of an event it is
    (1 + p - q)/2, and p - q is at most (e^ε - 1) q + δ and (e^ε - 1)(1 - p) + δ, by half of their sum at most
    (e^ε - 1 + 2δ)/(e^ε + 1).

    Examples
    --------
    >>> round(correct_guesses(1.0, 0.0), 10), round(correct_guesses(1.0, 1e-5), 10), correct_guesses(1e6, 0.5)
    (0.7310585786, 0.731061268, 1.0)
    """
    odds = math.exp(-epsilon)
    share = (1.0 + delta * odds) / (1.0 + odds)
    return share if epsilon == delta == 0.0 else min(1.0, share * (1.0 + 8.0 * _ROUNDING))


def _largest_true_positive_rate(epsilon: float, delta: float, false_positive_rate: float) -> float:
    """Return the largest true positive rate of an attack, at a false positive rate, under (ε, δ).

    min(δ + e^ε α, 1 - e^-ε (1 - δ - α)), by P(E) <= e^ε Q(E) + δ and Q(not E) <= e^ε P(not E) + δ (Kairouz, Oh and
    Viswanath 2015).
    """
    odds = math.exp(-epsilon)
    above = 1.0 - odds * (1.0 - delta - false_positive_rate)
    return min(
        1.0,
        (delta + false_positive_rate / odds if odds else 1.0) * (1.0 + 8.0 * _ROUNDING),
        above + 8.0 * _ROUNDING,
    )


def largest_factor(epsilon: float) -> float:
    """Return e^ε, infinity beyond the largest float."""
    return math.exp(epsilon) if epsilon < 700.0 else math.inf


Profile: TypeAlias = Sequence[tuple[float, float]]
"""Values of ε, each with an upper bound on δ there."""


def trade_off_chart(*, proved: Profile = (), claim: Profile = (), others: Sequence[Curve] = ()) -> Chart:
    """Return the trade-off curves that profiles allow: the least false-negative rate at each false-positive rate.

    Parameters
    ----------
    proved, claim
        The proved profile, and the claimed one.
    others
        More curves.
    """
    import numpy as np  # a document without this picture does without

    from accountant.audit.trade_off_curve import trade_off

    alpha = np.unique(np.concatenate([np.geomspace(1e-4, 0.1, 25), np.linspace(0.0, 1.0, 51)]))
    curves = [Curve("perfect privacy", [(0.0, 1.0), (1.0, 0.0)], "aside")]
    allowed: list[tuple[Profile, str, Style]] = [
        (proved, "proved: attacks lie above", "proved"),
        (claim, "claim: attacks must lie above", "claim"),
    ]
    for profile, name, style in allowed:
        if profile:
            epsilon, delta = np.asarray(profile, dtype=np.float64).T
            least = trade_off(epsilon, delta, alpha)
            curves.append(Curve(name, list(zip(alpha.tolist(), least.tolist(), strict=True)), style))
    axes = Axis("false-positive rate", 0.0, 1.0), Axis("false-negative rate", 0.0, 1.0)
    return Chart(*axes, (*curves, *others))


def arithmetic_words(kind: SubjectKind, *, counted: bool = False) -> str:
    """Return of which numbers a claim about a subject of a kind is; `counted` if rounding counts against it."""
    if kind in BLACK_BOXES:
        if counted:
            return "floating point, as executed"
        return (
            "real numbers; leaks through rounding are reported but not counted (--floating-point counts them)"
        )
    if kind is SubjectKind.MECHANISM:
        return "real numbers; released noise is drawn by OpenDP's floating-point-safe samplers"
    return "real numbers, input rounding charged; released noise is drawn by OpenDP's floating-point-safe samplers"


def assumptions_section(blocks: Sequence[Block], *more: Sentence) -> Section:
    """Return the section of a result's assumptions: its own, and those of every result; `more` is trusted beside."""
    trusted = (Paragraph(remark("Trusted, as in all results:")), Bullets((_TRUSTED, *more)))
    return Section("Assumptions", (), (*blocks, *trusted))


def provenance_section(provenance: Provenance, **files: str) -> Section:
    """Return the section with date and code of a result; `files` are digests of the files it was read from, by name."""
    date = provenance.date.replace("T", " ").replace("+00:00", " UTC")  # as people read it
    pairs = [("Date", date or "not known"), ("Versions", versions_words(provenance))]
    pairs += [
        (_DIGESTS.get(name, f"SHA-256: code of {name}"), digest)
        for name, digest in provenance.digests.items()
    ]
    pairs += [(f"SHA-256 of {name}", digest) for name, digest in files.items()]
    return Section("Provenance", (), (Facts(tuple(pair for pair in pairs if pair[1])),))


def versions_words(provenance: Provenance) -> str:
    """Return the versions of the packages that made a result."""
    return ", ".join(f"{name} {version}" for name, version in provenance.versions.items())


def references_section(names: tuple[str, ...]) -> Section | None:
    """Return where theorems and methods are published, by their names; None if none of them is known."""
    found = references(names)
    return (
        Section("References", (), (Bullets(tuple(remark("{line}", line=line) for line in found)),))
        if found
        else None
    )


def theorem_named(composition: str) -> str:
    """Return the name of the composition theorem that a claim names in a word; "" for none."""
    if not composition:
        return ""
    from accountant.compositions import composition_named  # most claims name none

    return composition_named(composition).name
