"""Mutants of a subject as a document: which faults were planted, and what caught each."""

from __future__ import annotations

import shlex

from verify.document.elements import (
    Block,
    Bullets,
    Code,
    Details,
    Document,
    Facts,
    Paragraph,
    Section,
    TextTable,
    Tone,
)
from verify.mutants.verify_mutants import Mutants
from verify.verdict.common_sections import claim_section, provenance_section

_LOSS = {True: "exceeds the claim", False: "keeps the claim", None: "may keep the claim"}


def mutants_document(done: Mutants, **files: str) -> Document:
    """Return what is said of a subject's mutants; `files` are digests of what it was read from, by name."""
    verdict, tone, meaning = _verdict(done)
    honest = done.honest
    rows = tuple(
        (
            each.fault.name,
            each.fault.words,
            _LOSS[each.exceeds],
            each.result.verdict,
            ", ".join(each.caught_by) or ("nothing needed to" if not each.exceeds else "nothing"),
        )
        for each in done.mutants
    )
    whys = tuple(f"{each.fault.name}: {each.fault.why}" for each in done.mutants)
    planted: list[Block] = [
        Paragraph(
            "Each fault is what a careless author might have written, planted in the subject by itself, which was then "
            "verified like the subject."
        ),
        TextTable(("fault", "what the author did", "its true loss", "verdict", "caught by"), rows),
        Details("Why each loses what it does", (Bullets(whys),)),
    ]
    if done.idle:
        planted.append(
            Paragraph(f"These faults never act in it, and were not verified: {', '.join(done.idle)}.")
        )
    without = (
        ("verdict", honest.verdict),
        ("because", "; ".join(honest.decision.reasons)),
    )
    sections = [
        claim_section(honest.subject, honest.claim),
        Section("Faults", tuple(planted)),
        Section("Without a fault", (Facts(without),)),
        Section(
            "How sure",
            (
                Paragraph(
                    "Whether a fault exceeds the claim is known by argument, not from the test. That these faults are "
                    "caught says how strong the verification is; it is no proof that others would be."
                ),
            ),
        ),
        Section("See it again", _again(done)),
        provenance_section(honest.provenance, **files),
    ]
    return Document(verdict, tone, f"faults planted in {honest.subject}", meaning, tuple(sections))


def _verdict(done: Mutants) -> tuple[str, Tone, str]:
    falsely = [each.fault.name for each in done.mutants if each.falsely_certified]
    if falsely:
        return (
            "FALSELY CERTIFIED",
            "bad",
            f"Certified although its loss exceeds the claim: {', '.join(falsely)}.",
        )
    summary = f"{done.summary}."
    return ("SOME ESCAPED", "open", summary) if done.escaped else ("ALL CAUGHT", "good", summary)


def _again(done: Mutants) -> tuple[Block, ...]:
    """Return the command of the verification without a fault, with the mutants; where no witness said it, the seed."""
    witness = done.honest.witness
    if witness is not None and witness.reproduce.startswith("dpwitness verify "):
        return (Code(f"{witness.reproduce} --mutants"),)
    honest = done.honest
    words = ["dpwitness", "verify", honest.subject, "--epsilon", repr(honest.claim.epsilon)]
    words += ["--delta", repr(honest.claim.delta)] if honest.claim.delta else []
    line = shlex.join([*words, "--seed", str(honest.seed), "--mutants"])
    return (Code(line),)
