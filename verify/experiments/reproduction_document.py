"""A reproduction of a paper's experiment as a document: the paper's statements, their results, and the picture."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from verify.document.elements import (
    Block,
    Bullets,
    Code,
    Document,
    Facts,
    FirstScreen,
    Paragraph,
    Photo,
    Section,
    TextTable,
    Tone,
)
from verify.experiments.named_experiments import experiments
from verify.findings.sentences import remark
from verify.verdict.common_sections import assumptions_section, provenance_section, references_section
from verify.verification.resolve import every_learner

if TYPE_CHECKING:
    from verify.experiments.reproduce import Reproduced

_PNG = b"\x89PNG\r\n\x1a\n"
_LARGEST = 2**26  # bytes


def reproduction_document(found: Reproduced, **files: str) -> Document:
    """Return the report of a reproduction; `files` are digests of the files it was read from, by name.

    It includes the picture if its file still exists.
    """
    verdict, tone = _verdict(found)
    count = sum(seen.holds is True for seen in found.seen)
    rows = tuple((seen.says, seen.result, seen.words) for seen in found.seen)
    known = experiments.get(found.name)
    about = (
        () if known is None else (("shows", known.shows), ("from", known.source), ("setting", known.setting))
    )
    sections = [
        Section("The experiment", (Facts((("name", found.name), *about)),)),
        Section(
            "Comparison with the paper",
            (TextTable(("Paper", "Here", "Values"), rows), *_reasons(found), *_picture(found)),
        ),
        *_learners(found),
        Section("Files", (Facts(_files(found)),)),
        assumptions_section(()),
        provenance_section(found.provenance, **files),
    ]
    cited = references_section(() if known is None else (known.source,))
    sections += [] if cited is None else [cited]
    title = found.name if known is None else f"{found.name}, {known.title}"
    meaning = remark(
        "{count} of {all} statements of the paper agree with these runs.", count=count, all=len(found.seen)
    )
    differing = [seen.says for seen in found.seen if seen.holds is False]
    first = "" if not differing else f"; differs: {differing[0]}"
    summary = FirstScreen(
        claimed=remark("{name}: the paper's statements on its experiment.", name=title),
        found=remark("{count} of {all} agree{first}.", count=count, all=len(found.seen), first=first),
        sure=remark(
            "Comparisons use a multiple of the standard error; values computed without runs are exact."
        ),
        rests_on=remark("dpwitness transcribes the paper's algorithms and settings correctly."),
        again=Code(found.repeat),
    )
    return Document(verdict, tone, title, meaning, summary, tuple(sections))


def _verdict(found: Reproduced) -> tuple[str, Tone]:
    told = [seen.holds for seen in found.seen]
    if False in told:
        return "DIFFERS FROM THE PAPER", "bad"
    return ("INCONCLUSIVE", "open") if None in told else ("AGREES WITH THE PAPER", "good")


def _reasons(found: Reproduced) -> tuple[Block, ...]:
    """Return the reasons for which the runs do not confirm the paper's statements, each once."""
    statements = experiments[found.name].statements if found.name in experiments else ()
    unseen = {seen.says for seen in found.seen if seen.holds is not True}
    reasons = [
        why for statement in statements if statement.says in unseen for why in statement.why.splitlines()
    ]
    return (Bullets(tuple(remark("{why}", why=why) for why in dict.fromkeys(reasons))),) if reasons else ()


def _learners(found: Reproduced) -> tuple[Section, ...]:
    """Return the learners that are played, each with the note on its privacy claim as printed."""
    known = experiments.get(found.name)
    lines = () if known is None else known.lines(known.sizes["paper"])
    played = [(line.label, line.role, every_learner[line.points[-1][1].learner]) for line in lines]
    rows = tuple((label, entry.name, role, entry.as_printed) for label, role, entry in played)
    heading = ("Line", "Learner", "Role", "Its privacy claim")
    return (Section("Learners", (TextTable(heading, rows),)),) if rows else ()


def _picture(found: Reproduced) -> tuple[Block, ...]:
    """Return the picture; a sentence instead if the file, named by the result's author, is missing or no PNG."""
    content = _content(found.picture, ".png")
    if content is None or not content.startswith(_PNG):
        return (Paragraph(remark("Picture missing or not a PNG: {file}.", file=found.picture)),)
    return (Photo(content, remark("{name}, {file}.", name=found.name, file=found.picture.name)),)


def _files(found: Reproduced) -> tuple[tuple[str, str], ...]:
    told = []
    files = (
        ("picture", found.picture, ".png"),
        ("numbers", found.data, ".csv"),
    )
    for name, path, suffix in files:
        content = _content(path, suffix)
        known = "not there" if content is None else f"SHA-256 {hashlib.sha256(content).hexdigest()}"
        told.append((name, f"{path}, {known}"))
    return tuple(told)


def _content(path: Path, suffix: str) -> bytes | None:
    """Return the bytes of a file; None if it is missing, of another suffix, or too large for a report."""
    with suppress(OSError, ValueError):
        if path.suffix == suffix and path.is_file() and path.stat().st_size <= _LARGEST:
            return path.read_bytes()
    return None
