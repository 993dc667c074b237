"""The hash chain of entries: an entry cannot be changed without changing all later ones."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any

from accountant.record_name import LONGEST_NAME
from mechanisms.parameters import ParameterError

FORMAT = "dpwitness-ledger-2"
_scan = json.JSONDecoder().scan_once  # type: ignore[attr-defined]
_encoder = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)
try:  # once for all entries: `encode` makes one for each, which takes three times as long as an entry
    _parts = json.encoder.c_make_encoder(  # type: ignore[attr-defined]
        None, _encoder.default, json.encoder.encode_basestring_ascii, None, ":", ",", True, False, False
    )
except (AttributeError, TypeError):  # not this Python
    _parts = None
START = b"\0" * 32
"""The hash before the first entry."""


def canonical(body: Any) -> str:
    """Return the one way to write an entry: ASCII, no spaces, keys in order."""
    return _encoder.encode(body) if _parts is None else "".join(_parts(body, 0))


def parse_entry(text: str) -> Any:
    """Return the content of an entry, as `canonical` wrote it.

    Raises
    ------
    ParameterError
        If it is not JSON, or has other text before or after it.
    """
    try:
        body, end = _scan(text, 0)
    except StopIteration as error:
        raise ParameterError(f"there is no JSON at {text[error.value : error.value + 20]!r}") from None
    if end != len(text):
        raise ParameterError(f"there is text after it: {text[end : end + 20]!r}")
    return body


def entry_hash(before: bytes, text: str) -> bytes:
    """Return the hash of an entry, given the hash of the one before it."""
    return hashlib.sha256(before + text.encode("ascii")).digest()


def bound_together(entries: Iterable[tuple[int, str]]) -> bytes:
    """Return one hash of entries that are not chained to each other, by position and text."""
    found = START
    for position, text in entries:
        found = entry_hash(found, f"{position} {text}")
    return found


def row_digest(*values: object) -> bytes:
    """Return the digest of a row of a table: enough to notice damage, not a deliberate change."""
    return hashlib.sha256(repr(values).encode()).digest()[:8]


def encode_name(name: object) -> str:
    """Return how a record, or a request, is named in a store: 17 and "17" are two.

    Raises
    ------
    ParameterError
        If the name is longer than an index takes.
    """
    text = json.encoder.encode_basestring_ascii(name) if isinstance(name, str) else json.dumps(name)
    if len(text) > LONGEST_NAME:
        raise ParameterError(
            f"{text[:40]}...: a name in a store must have at most {LONGEST_NAME} characters as JSON"
        )
    return text


def commitment(salt: bytes, name: str) -> str:
    """Return the digest of a new account's record: enough to recognise it, not to find it without the salt."""
    return hashlib.sha256(salt + name.encode("ascii")).hexdigest()
