"""Sections that documents of several kinds of results have in common."""

from __future__ import annotations

import math
from collections.abc import Sequence

from accountant.compositions import composition_named
from accountant.provenance import Provenance
from algorithms.claim import Claim
from mechanisms import Neighbouring
from verify.document.elements import Block, Bullets, Facts, Paragraph, Section
from verify.sentences import number
from verify.verdict.answer import BLACK_BOXES, SubjectKind
from verify.verdict.references import references

_DIGESTS = {
    "dpwitness": "SHA-256 of all code of dpwitness",
    "file": "SHA-256 of the file it is about",
    "subject": "code and parameters of the subject, first 16 digits of their SHA-256",
}
_TRUSTED = "dpwitness itself (its digest is below), Python, and the libraries below: that they do what they document."
ADVERSARY = "The adversary sees what is said here, and nothing beside: no time, memory, log or crash report."


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
        ("ε and δ", claim_numbers(claim)),
        ("trust model", claim.model),
        ("what is protected (the unit)", str(claim.unit)),
        ("neighbours", f"{claim.neighbour_words} ({claim.neighbours.value})"),
        ("the adversary sees", claim.view),
        ("arithmetic", arithmetic),
        ("composition theorem", claim.composition),
        ("claimed in", claim.source),
        ("its author says", claim.comment),
        ("tested on the problem", problem),
    ]
    said = (
        f"{subject} claims {claim_numbers(claim)} differential privacy in the {claim.model} model. What is protected "
        f"is {claim.unit.words}. Data D and D′ are neighbours: {claim.neighbour_words}. The adversary sees "
        f"{claim.view}."
    )
    replaced = claim.neighbours is Neighbouring.REPLACE_ONE
    one, other = ("with one record", "with another in its place") if replaced else ("on D", "on D′")
    plain = (
        f"In other words: for anything that the adversary may see, its probability {one} and its probability {other} "
        f"differ by a factor of at most e^ε = {number(largest_factor(claim.epsilon))}"
    )
    plain += f", but for a probability of δ = {number(claim.delta)}." if claim.delta else "."
    plain += " Whoever is k records at once is protected by k·ε" + (
        ", and a δ that grows, too." if claim.delta else "."
    )
    facts = Facts(tuple(pair for pair in pairs if pair[1]))
    return Section("The claim", (Paragraph(said),), (Paragraph(plain), facts))


def claim_numbers(claim: Claim) -> str:
    """Return the numbers that are claimed."""
    return f"ε = {number(claim.epsilon)}, δ = {number(claim.delta)}"


def largest_factor(epsilon: float) -> float:
    """Return e^ε, infinity beyond the largest float."""
    return math.exp(epsilon) if epsilon < 700.0 else math.inf


def arithmetic_words(kind: SubjectKind, *, counted: bool = False) -> str:
    """Return of which numbers a claim about a subject of a kind is; `counted` if rounding counts against it."""
    if kind in BLACK_BOXES:
        if counted:
            return "as the machine rounds it (--floating-point)"
        return (
            "real numbers: what only the last bits of floating-point numbers tell is a finding, and does not count "
            "against the claim (with --floating-point it does)"
        )
    if kind is SubjectKind.MECHANISM:
        return "real numbers; drawn by OpenDP, the default where it is released, noise tells nothing by its rounding"
    return (
        "real numbers, and the rounding of what enters a release is charged for; in production OpenDP draws the noise, "
        "which tells nothing by its rounding"
    )


def rests_on_section(blocks: Sequence[Block], *more: str) -> Section:
    """Return what a result rests on: its own, and what every result does; `more` is trusted beside."""
    trusted = (Paragraph("Trusted, as in every result:"), Bullets((_TRUSTED, *more)))
    return Section("What it rests on", (), (*blocks, *trusted))


def provenance_section(provenance: Provenance, **files: str) -> Section:
    """Return when and by which code a result was made; `files` are digests of what it was read from, by name."""
    pairs = [("found on", _utc(provenance.date) or "not known"), ("versions", versions_words(provenance))]
    pairs += [
        (_DIGESTS.get(name, f"SHA-256 of the code of {name}"), digest)
        for name, digest in provenance.digests.items()
    ]
    pairs += [(f"SHA-256 of {name}, from which this page was made", digest) for name, digest in files.items()]
    return Section("When and by which code", (), (Facts(tuple(pair for pair in pairs if pair[1])),))


def versions_words(provenance: Provenance) -> str:
    """Return the versions of what made a result."""
    return ", ".join(f"{name} {version}" for name, version in provenance.versions.items())


def _utc(date: str) -> str:
    """Return a date of ISO 8601 in UTC as people read it."""
    return date.replace("T", " ").replace("+00:00", " UTC")


def references_section(names: tuple[str, ...]) -> Section | None:
    """Return where theorems and methods are published, by their names; None if none of them is known."""
    found = references(names)
    return Section("References", (), (Bullets(found),)) if found else None


def theorem_named(composition: str) -> str:
    """Return the name of the composition theorem that a claim names in a word; "" for none."""
    return composition_named(composition).name if composition else ""
