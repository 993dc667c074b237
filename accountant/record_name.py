"""The canonical form of a record's name, so that two spellings of it share one budget."""

from __future__ import annotations

import json
import re
import unicodedata

import numpy as np

from mechanisms.parameters import ParameterError, quoted

LONGEST_NAME = 2_000
"""Characters of a name as JSON that an index takes."""
_LONGEST_BITS = 6_600  # of a whole number with fewer digits than that
_LARGEST = 2**53
"""From here on a whole number is kept as the text of its digits: not every reader of JSON keeps larger ones exact."""
_DIGITS = re.compile("0|-?[1-9][0-9]{0,15}")  # of a number below _LARGEST
# Control, format, surrogate, private and unassigned characters, separators of lines and paragraphs; and letters and
# marks without a visible glyph.
_REFUSED = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
_PLAIN = re.compile("[!-~]+(?: [!-~]+)*")


def canonical_name(name: object, parameter: str = "record") -> int | str:
    """Return the one form of a record's name.

    A whole number and the text of its digits are one name; texts that Unicode calls equivalent (NFC) are, too. A text
    that looks like another because of blanks or invisible characters is refused. Case counts, and letters that look
    alike are different.

    Parameters
    ----------
    name
        The name that a caller uses.
    parameter
        The parameter that holds it, for the error.

    Returns
    -------
    int or str
        A whole number below 2⁵³ in size as an int, everything else as a text.

    Raises
    ------
    ParameterError
        If it is neither an int nor a str, is empty or too long, begins or ends with a blank, has two blanks in a row
        or another blank than U+0020, or holds a character that cannot be seen.
    """
    if isinstance(name, np.integer):
        name = int(name)
    if type(name) is int:
        if -_LARGEST < name < _LARGEST:
            return name
        check_length(parameter, name)
        return str(name)
    if type(name) is not str:  # subclasses may be equal to others, and bools are
        raise ParameterError(
            f"{parameter} = {quoted(name)}: must be an int or a str, so that the ledger can be saved"
        )
    check_length(parameter, name)
    text = name if _PLAIN.fullmatch(name) else _visible_name(name, parameter)
    if _DIGITS.fullmatch(text) and -_LARGEST < int(text) < _LARGEST:
        return int(text)
    return text


def nearest_name(text: str) -> str:
    """Return a text without the characters that a name must not have; "" if no other is left."""
    seen = (" " if each.isspace() else each for each in unicodedata.normalize("NFC", text))
    kept = "".join(each for each in seen if not _is_invisible(each))
    return unicodedata.normalize("NFC", " ".join(kept.split()))


def _visible_name(name: str, parameter: str) -> str:
    text, nearest = unicodedata.normalize("NFC", name), nearest_name(name)
    if text != nearest or not nearest:
        instead = f"; say {nearest!r}" if nearest else ""
        raise ParameterError(
            f"{parameter} = {name!r}: must be visible characters with single blanks (U+0020) between them, so that "
            f"no two names look the same{instead}"
        )
    return text


def _is_invisible(character: str) -> bool:
    return unicodedata.category(character) in _REFUSED or _INVISIBLE.match(character) is not None


def check_length(parameter: str, name: int | str) -> None:
    """Refuse a name of a record or a request that no store takes: a ledger in memory may have to be saved, too.

    Raises
    ------
    ParameterError
        If it is longer than an index takes.
    """
    if isinstance(name, int):
        long = name.bit_length() > _LONGEST_BITS
    else:
        long = 12 * len(name) > LONGEST_NAME and len(json.dumps(name)) > LONGEST_NAME  # at most 12 for each
    if long:
        raise ParameterError(
            f"{parameter} = {quoted(name)}: must have at most {LONGEST_NAME} characters as JSON, so that the ledger "
            "can be saved"
        )
