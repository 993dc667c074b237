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
from verify.sentences import Sentence, exact, remark
from verify.verdict.common_sections import claim_section, provenance_section

_LOSS = {True: "violates the claim", False: "satisfies the claim", None: "unknown"}


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
            ", ".join(each.caught_by) or ("not detected (harmless)" if not each.exceeds else "not detected"),
        )
        for each in done.mutants
    )
    whys = tuple(remark("{name}: {why}", name=each.fault.name, why=each.fault.why) for each in done.mutants)
    planted: list[Block] = [
        Paragraph(
            remark(
                "Each fault is a likely mistake, planted in the subject by itself; the result was verified like it."
            )
        ),
        TextTable(("fault", "what the author did", "its true loss", "verdict", "caught by"), rows),
        Details("Why each loses what it does", (Bullets(whys),)),
    ]
    if done.idle:
        planted.append(
            Paragraph(remark("Not applicable here, and not verified: {faults}.", faults=", ".join(done.idle)))
        )
    without = (
        ("verdict", honest.verdict),
        ("because", "; ".join(map(str, honest.decision.reasons))),
    )
    sections = [
        claim_section(honest.subject, honest.claim),
        Section("Faults", tuple(planted)),
        Section("Without a fault", (Facts(without),)),
        Section(
            "Confidence and limits",
            (
                Paragraph(
                    remark(
                        "Whether a fault violates the claim is known by argument, not from the test. Other faults may "
                        "remain undetected."
                    )
                ),
            ),
        ),
        Section("Reproduce", _again(done)),
        provenance_section(honest.provenance, **files),
    ]
    return Document(verdict, tone, f"faults planted in {honest.subject}", meaning, tuple(sections))


def _verdict(done: Mutants) -> tuple[str, Tone, Sentence]:
    falsely = [each.fault.name for each in done.mutants if each.falsely_certified]
    if falsely:
        return (
            "FALSELY CERTIFIED",
            "bad",
            exact("Certified although the claim is violated: {faults}.", faults=", ".join(falsely)),
        )
    summary = exact("{summary}.", summary=done.summary)
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
