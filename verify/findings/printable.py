"""Text of a subject or a file, made harmless to terminals, test logs and pictures.

Names, claims, error messages, witnesses and paths may be any text. In all that is shown, one function stands between
them and the reader: `printable`. JSON needs none, it escapes by itself.
"""

from __future__ import annotations

import click

# Characters of one text that are shown: fifty lines of a terminal, longer than any sentence of a report.
_LONGEST = 4_000


def printable(text: str, longest: int = _LONGEST) -> str:
    r"""Return a text of which every character is seen, and which takes one line.

    Control characters, escape sequences, marks that turn the direction of writing, invisible characters, line breaks
    and halves of surrogate pairs are escaped as Python does it. A text longer than `longest` is cut in the middle.

    Examples
    --------
    >>> printable("\x1b[32mCERTIFIED\x1b[0m\u202e\n")
    '\\x1b[32mCERTIFIED\\x1b[0m\\u202e\\n'
    >>> printable("0123456789", longest=6)
    '0 ... (8 characters) ... 9'
    """
    if len(text) > longest:
        from mechanisms.parameters import (
            shorten,
        )  # with NumPy, for which the completion of a line does not wait

        text = shorten(text, longest)
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text
    )


def print_on_stderr(words: str) -> None:
    """Print one line on standard error, in the program's name."""
    click.echo(f"dpwitness: {printable(' '.join(words.splitlines()))}", err=True)
