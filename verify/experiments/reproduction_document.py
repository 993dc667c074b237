"""A reproduction of a paper's experiment as a document: what the paper says, what is seen, and the picture."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import Path

from verify.document.elements import Block, Code, Document, Facts, Paragraph, Photo, Section, TextTable, Tone
from verify.experiments.named_experiments import experiments
from verify.experiments.reproduce import Reproduced
from verify.verdict.common_sections import provenance_section, references_section, rests_on_section

_PNG = b"\x89PNG\r\n\x1a\n"
_LARGEST = 2**26  # bytes
_TOLD = {True: "seen", False: "not seen", None: "not told apart"}


def reproduction_document(found: Reproduced, **files: str) -> Document:
    """Return what is said of a reproduction; `files` are digests of what it was read from, by name.

    Its picture is in it if its file is still there.
    """
    verdict, tone = _verdict(found)
    count = sum(seen.holds is True for _, seen in found.seen)
    rows = tuple((says, _TOLD[seen.holds], seen.words) for says, seen in found.seen)
    known = experiments.get(found.name)
    about = (
        () if known is None else (("shows", known.shows), ("from", known.source), ("setting", known.setting))
    )
    sections = [
        Section("The experiment", (Facts((("name", found.name), *about)),)),
        Section(
            "What the paper says, and what is seen",
            (TextTable(("the paper says", "here", "numbers"), rows), *_picture(found)),
        ),
        Section("Files", (Facts(_files(found)),)),
        Section(
            "How sure this is",
            (
                Paragraph(
                    "What follows from means of runs holds for the runs that were made: two count as different if "
                    "their "
                    "difference is more than a few of its standard errors, and else as not told apart. What is "
                    "computed "
                    "without runs is exact. Where paper and reproduction differ, the report among the files says why."
                ),
            ),
        ),
        rests_on_section(
            (Paragraph("On dpwitness's transcription of the paper's algorithms and settings."),)
        ),
        Section("See it again", (Code(found.repeat),)),
        provenance_section(found.provenance, **files),
    ]
    cited = references_section(() if known is None else (known.source,))
    sections += [] if cited is None else [cited]
    title = found.name if known is None else f"{found.name}, {known.title}"
    meaning = f"{count} of {len(found.seen)} statements of the paper are seen here."
    return Document(verdict, tone, title, meaning, tuple(sections))


def _verdict(found: Reproduced) -> tuple[str, Tone]:
    told = [seen.holds for _, seen in found.seen]
    if False in told:
        return "NOT ALL SEEN", "bad"
    return ("NOT ALL TOLD APART", "open") if None in told else ("AS THE PAPER SAYS", "good")


def _picture(found: Reproduced) -> tuple[Block, ...]:
    """Return the picture. Whoever wrote the result named the file: what is no picture is not shown around."""
    content = _content(found.picture, ".png")
    if content is None or not content.startswith(_PNG):
        return (
            Paragraph(f"The picture is not in this report: {found.picture} is not there, or no PNG file."),
        )
    return (Photo(content, f"The picture of {found.name}, {found.picture.name}."),)


def _files(found: Reproduced) -> tuple[tuple[str, str], ...]:
    told = []
    files = (
        ("picture", found.picture, ".png"),
        ("numbers", found.data, ".csv"),
        ("report", found.text, ".md"),
    )
    for name, path, suffix in files:
        content = _content(path, suffix)
        known = "not there" if content is None else f"SHA-256 {hashlib.sha256(content).hexdigest()}"
        told.append((name, f"{path}, {known}"))
    return tuple(told)


def _content(path: Path, suffix: str) -> bytes | None:
    """Return what a file holds; None if there is none of this kind, or it is too large for a report."""
    with suppress(OSError, ValueError):
        if path.suffix == suffix and path.is_file() and path.stat().st_size <= _LARGEST:
            return path.read_bytes()
    return None
