"""The configuration of a service, ``CONFIG.toml``: its ledgers and runs, its clients' keys, and its limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from accountant.files.data_files import DataFileError, from_toml, text_of
from algorithms.problems import SettingError, known_name

KEYS: Mapping[str, Mapping[str, type]] = {
    "": {"store": str, "keys": str, "host": str, "port": int, "anchor": str, "name_keys": str},
    "run": {"name": str, "where": str, "build": str, "accept_code": str, "purpose": str, "tenant": str},
    "tls": {"certfile": str, "keyfile": str, "behind_proxy": bool},
    "limits": {"requests_per_second": float, "timeout": float, "max_body": int, "reservation": float},
}
"""The keys of the file and of its tables, and the types of their values."""

_LARGEST_PORT = 65_535
_WORDS = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}


@dataclass(frozen=True, kw_only=True)
class _ServedRun:
    """A run that is served.

    Attributes
    ----------
    name
        Its name for clients.
    where
        Its folder, or its database's URL.
    build
        ``FILE.py:FUNCTION``, the function that makes the learner of a run that was begun in Python.
    accept_code
        The word that a refusal named, to go on though the code of its learner has changed.
    purpose, tenant
        The purpose of its charges, and the party that sees its outputs, as `begun_run.run_loader` keeps them.
    """

    name: str
    where: str
    build: str | None = None
    accept_code: str | None = None
    purpose: str | None = None
    tenant: str | None = None


@dataclass(frozen=True, kw_only=True)
class _ServiceFile:
    """The settings in a service's file.

    Attributes
    ----------
    store
        A ledger, its file or its database's URL; None if only runs are served.
    runs
        The runs.
    keys
        The file of keys.
    host, port
        The address at which it listens; port 0 is any free one.
    anchor
        The file outside that keeps how far the store is.
    name_keys
        For a ledger with hashed names, the file of their keys, or ``env:VARIABLE``.
    tls
        ``certfile`` and ``keyfile``, PEM files; ``behind_proxy`` if something in front of the service has TLS.
    limits
        ``requests_per_second`` of each key, ``timeout`` of a request in seconds, ``max_body`` in bytes, and how many
        seconds a ``reservation`` waits for its values at most.
    """

    store: str | None
    runs: tuple[_ServedRun, ...]
    keys: Path
    host: str = "127.0.0.1"
    port: int = 8080
    anchor: Path | None = None
    name_keys: str | None = None
    tls: Mapping[str, Any] = field(default_factory=dict)
    limits: Mapping[str, Any] = field(default_factory=dict)


def read_service_file(path: Path) -> _ServiceFile:
    """Return the settings in a service's file; its paths are relative to the folder the service is started from.

    Raises
    ------
    SettingError
        If a key is unknown, missing or of another type, or nothing is served; the message names file and key.
    """
    try:
        content = from_toml(text_of(path))
    except DataFileError as error:
        raise SettingError(f"{path}: {error}") from None
    tables = {name: content.pop(name, {}) for name in ("tls", "limits")}
    runs = content.pop("run", [])
    if not isinstance(runs, list):
        raise SettingError(f"{path}: run must be tables [[run]]")
    own = _checked(path, "", content)
    served = tuple(_run(path, each) for each in runs)
    twice = [each.name for each in served if [one.name for one in served].count(each.name) > 1]
    if twice:
        raise SettingError(f"{path}: [[run]] {twice[0]}: given more than once")
    store = own.pop("store", None)
    if store is None and not served:
        raise SettingError(f"{path}: store, or [[run]], or both must be given")
    for name in ("anchor", "name_keys"):
        if store is None and name in own:
            raise SettingError(f"{path}: {name} = {own[name]!r}: is a ledger's, so store must be given")
    keys = own.pop("keys", None)
    if keys is not None and not keys.endswith(".keys"):
        raise SettingError(f"{path}: keys = {keys!r}: must end in .keys, as dpwitness keys writes it")
    own["keys"] = key_file(store if keys is None else keys, f"{path}: keys")
    if "anchor" in own:
        own["anchor"] = Path(own["anchor"])
    tls, limits = (_checked(path, name, table) for name, table in tables.items())
    return _ServiceFile(store=store, runs=served, tls=tls, limits=limits, **own)


def key_file(store: str | None, name: str) -> Path:
    """Return the file of keys beside a ledger's.

    Raises
    ------
    SettingError
        If there is none, or it is a database elsewhere.
    """
    if store is None or "://" in store:
        raise SettingError(f"{name}: must be a file, as FILE.keys; only a ledger in a file has one beside it")
    return Path(store if store.endswith(".keys") else f"{store}.keys")


def _run(path: Path, table: Any) -> _ServedRun:
    given = _checked(path, "run", table)
    for name in ("name", "where"):
        if name not in given:
            raise SettingError(f"{path}: [[run]] must have {name}")
    return _ServedRun(**given)


def _checked(path: Path, table: str, given: Any) -> dict[str, Any]:
    """Return the keys of a table, each of its type."""
    known = KEYS[table]
    where = f"{path}: [{table}] " if table else f"{path}: "
    if not isinstance(given, dict):
        raise SettingError(f"{where}must be a table")
    for name, value in given.items():
        kind = known[known_name(f"key of {path}", name, known)]
        right = isinstance(value, int | float) if kind is float else isinstance(value, kind)
        if not right or (kind is not bool and isinstance(value, bool)):
            raise SettingError(f"{where}{name} = {value!r}: must be {_WORDS[kind]}")
        if name == "port" and not 0 <= value <= _LARGEST_PORT:
            raise SettingError(f"{where}port = {value}: must be from 0 to {_LARGEST_PORT}")
    return dict(given)
