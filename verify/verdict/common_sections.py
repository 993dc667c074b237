"""Sections that documents of several kinds of results have in common."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from accountant.compositions import composition_named
from accountant.provenance import Provenance
from algorithms.claim import Claim
from algorithms.unit import OnePerson
from mechanisms import Neighbouring
from mechanisms.printed_numbers import as_given, at_most, percent_at_most
from verify.document.elements import Block, Bullets, Facts, Paragraph, Section
from verify.findings.references import references
from verify.findings.sentences import Sentence, exact, remark
from verify.verdict.answer import BLACK_BOXES, SubjectKind
from verify.verdict.verdict import Verdict, claim_words

_GIVEN: Mapping[Verdict, str] = {
    "certified": "Someone",
    "unproven": "If the claim holds, someone",
    "refuted": "If the claim held, someone",
}

_DIGESTS = {
    "dpwitness": "SHA-256: dpwitness",
    "file": "SHA-256: input file",
    "subject": "SHA-256: code and parameters (16 digits)",
}
_TRUSTED = remark("dpwitness (digest below), Python and the libraries listed below work as documented.")
ADVERSARY = remark(
    "The adversary sees only the output named above: timing, memory, logs and crash reports are left out."
)


def claim_section(subject: str, claim: Claim, arithmetic: str = "", problem: str = "") -> Section:
    """Return a claim about a subject in words and numbers.

    Parameters
    ----------
    subject, claim
        What claims what.
    arithmetic, problem
        Of which numbers it is, and on which problem a learner was tested, if that is known.
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
    said = remark(
        "Claim: {subject} is ({epsilon}, {delta})-differentially private ({model} model). Unit of privacy: {unit}. "
        "Neighbours: {relation}. The adversary sees {view}.",
        subject=subject,
        epsilon=as_given(claim.epsilon),
        delta=as_given(claim.delta),
        model=claim.model,
        unit=claim.unit.description,
        relation=claim.neighbour_words,
        view=claim.view,
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
    return Section("The claim", (Paragraph(said),), (Paragraph(factor), Paragraph(group), facts))


def unit_words(claim: Claim) -> str:
    """Return the unit of privacy of a claim in two words."""
    return "one person" if isinstance(claim.unit, OnePerson) else "one report"


def protected_words(claim: Claim) -> str:
    """Return the protected fact, which an adversary guesses from the output, in words."""
    if claim.neighbours is not Neighbouring.REPLACE_ONE:
        return f"whether {unit_words(claim)} is in the data"
    if isinstance(claim.unit, OnePerson):
        return "which of two sets of reports one person gave"
    return "which of two values one report has"


def person_section(claim: Claim, verdict: Verdict) -> Section:
    """Return the section on the meaning of a claim for a person, if it holds.

    Of two neighbours that are equally likely beforehand the better guess is right with probability at most
    (e^ε + δ)/(1 + e^ε) (Kairouz, Oh and Viswanath 2015): with the probabilities p and q of an event it is
    (1 + p - q)/2, and p - q is at most (e^ε - 1) q + δ and (e^ε - 1)(1 - p) + δ, by half of their sum at most
    (e^ε - 1 + 2δ)/(e^ε + 1).
    """
    said = exact(
        "{given} who guesses {guessed}, and is right half of the time without the output, is right at most {share} of "
        "the time with it, whatever else they know.",
        given=_GIVEN[verdict],
        guessed=protected_words(claim),
        share=percent_at_most(correct_guesses(claim.epsilon, claim.delta)),
    )
    return Section("For a person", (Paragraph(said),))


def correct_guesses(epsilon: float, delta: float) -> float:
    """Return the largest probability of a right guess between two neighbours that are equally likely beforehand.

    Examples
    --------
    >>> round(correct_guesses(1.0, 0.0), 10), round(correct_guesses(1.0, 1e-5), 10), correct_guesses(1e6, 0.5)
    (0.7310585786, 0.731061268, 1.0)
    """
    odds = math.exp(-epsilon)
    return (1.0 + delta * odds) / (1.0 + odds)


def largest_factor(epsilon: float) -> float:
    """Return e^ε, infinity beyond the largest float."""
    return math.exp(epsilon) if epsilon < 700.0 else math.inf


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
    pairs = [("Date", _utc(provenance.date) or "not known"), ("Versions", versions_words(provenance))]
    pairs += [
        (_DIGESTS.get(name, f"SHA-256: code of {name}"), digest)
        for name, digest in provenance.digests.items()
    ]
    pairs += [(f"SHA-256 of {name}", digest) for name, digest in files.items()]
    return Section("Provenance", (), (Facts(tuple(pair for pair in pairs if pair[1])),))


def versions_words(provenance: Provenance) -> str:
    """Return the versions of the packages that made a result."""
    return ", ".join(f"{name} {version}" for name, version in provenance.versions.items())


def _utc(date: str) -> str:
    """Return a date of ISO 8601 in UTC as people read it."""
    return date.replace("T", " ").replace("+00:00", " UTC")


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
    return composition_named(composition).name if composition else ""
