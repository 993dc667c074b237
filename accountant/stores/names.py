"""The names of records in a store: plain, or hashed under a key that is kept elsewhere.

A record's label is JSON text: ``17`` and ``"17"`` for names, ``{"hmac-sha256": "..."}`` for a hash under a key, and
``{"erased": "..."}``, with a random number, for a name that was erased. A hash is one of a label: of the name's
under the first key, of that label under the second, and so on. So a key is added to a store without a list of names.
"""

from __future__ import annotations

import hmac
import json
import os
import re
import secrets
from dataclasses import dataclass, field
from pathlib import Path

from accountant.files.whole_file import whole_file
from accountant.gates.lineage import RecordId
from accountant.pseudonym import Pseudonym
from accountant.record_name import canonical_name, nearest_name
from accountant.stores.chain import encode_name
from accountant.stores.store_refusals import KeyRefused
from mechanisms.parameters import ParameterError

_HASHED, _ERASED = "hmac-sha256", "erased"
_SHOWN = re.compile(f"{_HASHED}:[0-9a-f]{{64}}|{_ERASED}:[0-9a-f]{{32}}")
_KEY = re.compile("[0-9a-f]{64}")
_NOBODY = "null"
"""A label of no record: by its hash a key is recognised as the store's."""


def record_of_label(text: str) -> RecordId:
    """Return the record of a label: a name, or a `Pseudonym` such as ``hmac-sha256:...``."""
    found = json.loads(text)
    if isinstance(found, dict):
        ((kind, value),) = found.items()
        return Pseudonym(f"{kind}:{value}")
    if type(found) not in (int, str):
        raise ParameterError(f"{text}: is the label of no record")
    name: RecordId = found
    return name


def own_name(name: RecordId) -> RecordId:
    """Return the present name of a record of an older ledger: one that had several names has paid by all of them."""
    if isinstance(name, Pseudonym):
        return name
    try:
        return canonical_name(name)
    except ValueError:
        return canonical_name(nearest_name(str(name)) or "(no name)")


def pseudonym(word: str) -> Pseudonym | None:
    """Return the pseudonym that a word is written like; None if it is none."""
    return Pseudonym(word) if _SHOWN.fullmatch(word) else None


def erased_label() -> str:
    """Return a label of no record: no two are the same."""
    return json.dumps({_ERASED: secrets.token_hex(16)})


@dataclass(frozen=True)
class NameKey:
    """The key under which a store names records; after a rotation, all of them.

    Parameters
    ----------
    keys
        32 random bytes each, the oldest first.

    Raises
    ------
    ParameterError
        If there is none, one is of another length, or two are the same.
    """

    keys: tuple[bytes, ...] = field(repr=False)

    def __post_init__(self) -> None:
        if not self.keys or any(len(key) != 32 for key in self.keys) or len({*self.keys}) < len(self.keys):
            raise ParameterError("keys: must be one or more keys of 32 bytes, no two of them the same")

    @classmethod
    def from_source(cls, where: str | Path) -> NameKey:
        """Return the key of a file, 64 hexadecimal digits a line, or of an environment variable, ``env:NAME``.

        Raises
        ------
        ParameterError
            If it holds none.
        OSError
            If the file cannot be read.
        """
        name = str(where)
        if name.startswith("env:"):
            text = os.environ.get(name[4:], "")
        else:
            text = Path(where).read_text(encoding="ascii", errors="replace")
        words = text.split()
        if not words or not all(map(_KEY.fullmatch, words)):
            raise ParameterError(
                f"names = {name!r}: must hold a key of 64 hexadecimal digits (0-9, a-f), and a line for each further "
                "one; `dpwitness ledger create --name-keys FILE` makes one"
            )
        try:
            return cls(tuple(map(bytes.fromhex, words)))
        except ValueError as error:
            raise ParameterError(f"names = {name!r}: {error}") from None

    def hashed(self, text: str) -> str:
        """Return the label that a label becomes."""
        for key in self.keys:
            text = json.dumps({_HASHED: hmac.digest(key, text.encode("ascii"), "sha256").hex()})
        return text

    @property
    def check(self) -> str:
        """The check value of a key in a store, which identifies the key and reveals nothing of it."""
        return self.hashed(_NOBODY)

    def split(self, check: str | None) -> tuple[NameKey | None, NameKey | None]:
        """Return the keys that a store has, by its check values, and those that it does not have yet.

        Raises
        ------
        KeyRefused
            If they are not the store's.
        """
        for count in range(len(self.keys) + 1):
            older, newer = (
                NameKey(part) if part else None for part in (self.keys[:count], self.keys[count:])
            )
            if (None if older is None else older.check) == check:
                return older, newer
        raise KeyRefused("is not the one under which it names records")


def add_key(path: Path, *, rotate: bool = False) -> None:
    """Write a new key to a file that only its owner can read.

    Parameters
    ----------
    path
        The file.
    rotate
        Whether it holds keys already, to which a newer one is added; else there must be none.

    Raises
    ------
    ParameterError
        If there is a file and should be none, or none and should be one, or it holds no keys.
    """
    if rotate:
        NameKey.from_source(path)
        before = path.read_text(encoding="ascii").split()
    elif path.exists():
        raise ParameterError(
            f"{path}: exists already; what was hashed under its key can be found with it alone"
        )
    else:
        before = []
    with whole_file(path) as file:
        file.write("".join(f"{word}\n" for word in (*before, secrets.token_hex(32))).encode("ascii"))


def name_key(given: NameKey | str | Path | None) -> NameKey | None:
    """Return a key that was given, itself or by its place."""
    return NameKey.from_source(given) if isinstance(given, str | Path) else given


@dataclass(frozen=True)
class Names:
    """The names of records in one store.

    Parameters
    ----------
    check
        The store's check value of its key; None if it has no key, and holds plain names.
    key
        Its key, if it is at hand.
    """

    check: str | None = None
    key: NameKey | None = None

    @classmethod
    def for_store(cls, store: str, check: str | None, key: NameKey | None = None) -> Names:
        """Return how a store names records, if a key that was given is its own.

        Raises
        ------
        KeyRefused
            If it is not, or the store has none.
        """
        if key is None:
            return cls(check)
        if check is None:
            raise KeyRefused(
                f"{store}: holds names of records as they are, and a key was given (names): leave it out, or have the "
                f"names hashed under it from now on, by `dpwitness ledger amend {store} --rotate-keys FILE`"
            )
        try:
            return cls(check, key.split(check)[0])
        except KeyRefused:
            raise KeyRefused(
                f"{store}: the key that was given (names) is not the one under which it names records: everybody would "
                "be new to it, with a whole budget. Give the key's file with which it was made"
            ) from None

    def label_of(self, record: RecordId) -> str:
        """Return the label of a record, or of its pseudonym.

        Raises
        ------
        KeyRefused
            If that takes a key that is not at hand.
        ParameterError
            If it is no name (`canonical_name`).
        """
        if isinstance(record, Pseudonym):
            return json.dumps(dict((record.split(":", 1),)))
        text = encode_name(canonical_name(record))
        if self.check is None:
            return text
        self.check_key(f"record {record!r}")
        assert self.key is not None
        return self.key.hashed(text)

    def check_key(self, what: str) -> None:
        """Refuse operations that need the store's key, if that is not at hand.

        Raises
        ------
        KeyRefused
            If it is not.
        """
        if self.check is not None and self.key is None:
            raise KeyRefused(
                f"{what}: the ledger names records by hashes under a key, and the key was not given: names=FILE or "
                "names='env:VARIABLE', --name-keys on the command line"
            )

    def display_name(self, record: RecordId) -> RecordId:
        """Return the store's shown name of a record."""
        return record_of_label(self.label_of(record))


PLAIN = Names()
"""Names as they are."""
