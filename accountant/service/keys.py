"""API keys and their permissions. A file has their hashes; a key itself is shown once, when it is made."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import secrets
import threading
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import Enum, unique
from pathlib import Path
from typing import Any

from accountant.files.data_files import DataFileError, from_json
from accountant.files.whole_file import whole_file
from accountant.rules.scope import Scope
from accountant.stores.file_lock import one_at_a_time
from mechanisms.parameters import ParameterError

_FORMAT = "dpwitness-keys-1"
_MUST_HAVE, _MAY_HAVE = frozenset({"name", "scopes", "sha256"}), frozenset({"runs", "purpose", "tenant"})
_PREFIX = "dpw_"
_ANYTHING = Scope()
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@unique
class KeyScope(Enum):
    """The requests that a key allows."""

    READ = "read"
    SPEND = "spend"
    ACT = "act"
    OBSERVE = "observe"
    ADMIN = "admin"


@dataclass(frozen=True)
class ApiKey:
    """The entry of an API key, without the key itself.

    Attributes
    ----------
    name
        Its name; the ledger has it beside every charge.
    scopes
        The permitted operations; `KeyScope.ADMIN` permits all.
    digest
        SHA-256 of the key. Keys are 256 random bits, so that no slower hash is needed.
    runs
        The runs that it allows, and nothing else; empty if it allows all runs, and the ledger.
    spends_on
        The purpose and the tenant of the ledger's charges that are made with it: the ledger's rules count them by
        these.
    """

    name: str
    scopes: frozenset[KeyScope]
    digest: bytes
    runs: frozenset[str] = frozenset()
    spends_on: Scope = _ANYTHING

    def allows(self, scope: KeyScope) -> bool:
        """Return True if the key may be used for requests of a scope."""
        return scope in self.scopes or KeyScope.ADMIN in self.scopes

    def reaches(self, run: str | None) -> bool:
        """Return True if the key may be used for a run, or for requests without a run."""
        return not self.runs or run in self.runs


def check_name(parameter: str, name: str) -> None:
    """Raise `ValueError` unless a key or a run may have this name."""
    if not _NAME.fullmatch(name):
        raise ParameterError(
            f"{parameter} = {name!r}: must be 1 to 64 letters, digits, '.', '_' or '-', beginning with a letter or a "
            "digit"
        )


class KeyFile:
    """The keys of a service, in a JSON file that only its owner can read; changes hold from the next request on.

    Parameters
    ----------
    path
        The file; there are no keys if it does not exist.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._reading = threading.Lock()
        self._stamp: tuple[int, ...] | None = None
        self._keys: tuple[ApiKey, ...] = ()

    def load_keys(self) -> tuple[ApiKey, ...]:
        """Return the keys as the file has them now.

        Raises
        ------
        ParameterError
            If the file is damaged, or others than its owner may write to it.
        """
        with self._reading:
            try:
                found = self.path.stat()
            except FileNotFoundError:
                self._stamp, self._keys = None, ()
                return ()
            stamp = (found.st_ino, found.st_size, found.st_mtime_ns, found.st_mode)
            if stamp != self._stamp:
                if os.name == "posix" and found.st_mode & 0o022:
                    raise ParameterError(
                        f"{self.path}: may be written by others than its owner, who could give themselves keys: "
                        "chmod 600"
                    )
                self._keys = self._read_keys()
                self._stamp = stamp
            return self._keys

    def find(self, presented: str) -> ApiKey | None:
        """Return the key that a request presents; the time it takes reveals nothing of the keys."""
        digest = hashlib.sha256(presented.encode("utf-8", "surrogatepass")).digest()
        found = None
        for key in self.load_keys():
            if hmac.compare_digest(key.digest, digest):
                found = key
        return found

    def add(
        self,
        name: str,
        scopes: Iterable[KeyScope],
        runs: Iterable[str] = (),
        spends_on: Scope = _ANYTHING,
    ) -> str:
        """Make a key, and return it: it cannot be read again later.

        Parameters
        ----------
        name, scopes, runs, spends_on
            As `ApiKey` has them.

        Raises
        ------
        ParameterError
            If the name is taken or no name, there is no scope, or a run's name is none.
        """
        reached = frozenset(runs)
        for parameter, word in (("name", name), *(("run", run) for run in sorted(reached))):
            check_name(parameter, word)
        granted = frozenset(scopes)
        if not granted:
            raise ParameterError(
                f"scopes = []: must be at least one of {', '.join(scope.value for scope in KeyScope)}"
            )
        key = _PREFIX + secrets.token_urlsafe(32)
        with one_at_a_time(f"{self.path}.lock"):
            keys = self.load_keys()
            if any(each.name == name for each in keys):
                raise ParameterError(f"name = {name!r}: there is a key of this name; remove it first")
            self._write(
                (*keys, ApiKey(name, granted, hashlib.sha256(key.encode()).digest(), reached, spends_on))
            )
        return key

    def remove(self, name: str) -> None:
        """Remove a key: later requests with it are refused.

        Raises
        ------
        ParameterError
            If there is none of this name.
        """
        with one_at_a_time(f"{self.path}.lock"):
            keys = self.load_keys()
            left = tuple(each for each in keys if each.name != name)
            if len(left) == len(keys):
                raise ParameterError(f"name = {name!r}: there is no key of this name in {self.path}")
            self._write(left)

    def _read_keys(self) -> tuple[ApiKey, ...]:
        try:
            return tuple(_key(each) for each in _key_rows(from_json(self.path.read_text(encoding="utf-8"))))
        except (DataFileError, UnicodeDecodeError, KeyError, TypeError, ValueError) as error:
            raise ParameterError(f"{self.path}: is no file of keys ({error})") from None

    def _write(self, keys: Iterable[ApiKey]) -> None:
        rows = [
            {
                "name": key.name,
                "scopes": sorted(scope.value for scope in key.scopes),
                "sha256": key.digest.hex(),
                **({"runs": sorted(key.runs)} if key.runs else {}),
                **{name: word for name, word in asdict(key.spends_on).items() if word is not None},
            }
            for key in keys
        ]
        with whole_file(self.path) as file:
            file.write(json.dumps({"format": _FORMAT, "keys": rows}, indent=1).encode())


def _key_rows(saved: Any) -> list[Any]:
    if not isinstance(saved, dict) or saved.keys() != {"format", "keys"} or saved["format"] != _FORMAT:
        raise ParameterError(f"must be an object of format {_FORMAT!r} and keys")
    if not isinstance(saved["keys"], list):
        raise ParameterError("keys must be a list")
    return saved["keys"]


def _key(saved: Any) -> ApiKey:
    if not isinstance(saved, dict) or saved.keys() - _MAY_HAVE != _MUST_HAVE:
        raise ParameterError(
            f"a key must have {', '.join(sorted(_MUST_HAVE))}, may have {', '.join(sorted(_MAY_HAVE))}, and has "
            "nothing else"
        )
    check_name("name", saved["name"])
    digest = bytes.fromhex(saved["sha256"])
    if len(digest) != 32:
        raise ParameterError(f"sha256 of {saved['name']}: must be 64 hexadecimal digits")
    runs = saved.get("runs", [])
    if not isinstance(runs, list) or ("runs" in saved and not runs):  # none would be all
        raise ParameterError(f"runs of {saved['name']}: must be a list of one or more")
    spends_on = Scope(saved.get("purpose"), saved.get("tenant"))
    return ApiKey(
        saved["name"], frozenset(map(KeyScope, saved["scopes"])), digest, frozenset(runs), spends_on
    )
