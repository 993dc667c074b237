"""The commands ``dpwitness serve`` and ``dpwitness keys``: ledgers and learners as a service, and who may ask it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console

from verify.commands.command_options import json_option, show
from verify.commands.run_loader import run_loader
from verify.document.terminal_text import plain_table
from verify.printable import printable

if TYPE_CHECKING:
    from accountant.service.keys import KeyFile
    from accountant.service.part import ServicePart
    from accountant.service.service_limits import ServiceLimits

_store_option = click.option("--store", help="The ledger: a file, or the URL of a database.")
_keys_option = click.option(
    "--keys", type=click.Path(path_type=Path, dir_okay=False), help="The file of keys [default: STORE.keys]."
)


@click.command("serve")
@click.option("--store", help="A ledger: a file, or the URL of a database; it must exist.")
@click.option(
    "--run",
    "runs",
    multiple=True,
    metavar="NAME=WHERE",
    help="A learner's run (`dpwitness run create`), its folder or its database's URL, by the name that clients call "
    "it; may be given more than once.",
)
@click.option(
    "--build",
    "builders",
    multiple=True,
    metavar="NAME=FILE.py:FUNCTION",
    help="What makes the learner of a run that was begun in Python.",
)
@click.option(
    "--code",
    "codes",
    multiple=True,
    metavar="NAME=WORD",
    help="Go on with a run though the code of its learner has changed: the word that the refusal named.",
)
@_keys_option
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port", default=8080, show_default=True, type=click.IntRange(0, 65535), help="0: any free one."
)
@click.option("--certificate", type=click.Path(path_type=Path, dir_okay=False), help="For TLS, a PEM file.")
@click.option("--certificate-key", type=click.Path(path_type=Path, dir_okay=False), help="Its private key.")
@click.option(
    "--plain", is_flag=True, help="Let other machines ask without TLS: something in front of it has it."
)
@click.option(
    "--anchor", type=click.Path(path_type=Path), help="The file outside that keeps how far the store is."
)
@click.option("--names", help="The key's file of a ledger that holds hashes of names, or env:VARIABLE.")
@click.option("--rate", default=1_000.0, show_default=True, help="Requests a second, for each key.")
@click.option("--seconds", default=30.0, show_default=True, help="The longest that a request may take.")
@click.option("--body", default=1 << 20, show_default=True, help="The most bytes of a request.")
def serve_command(
    store: str | None,
    runs: tuple[str, ...],
    builders: tuple[str, ...],
    codes: tuple[str, ...],
    keys: Path | None,
    host: str,
    port: int,
    certificate: Path | None,
    certificate_key: Path | None,
    plain: bool,
    anchor: Path | None,
    names: str | None,
    rate: float,
    seconds: float,
    body: int,
) -> None:
    """Serve a ledger over HTTP (reserve, commit, release, what is left), and learners (act, observe).

    Values come as they are, so run it where raw data may be (central trust). It listens to this machine only, and
    refuses to start without a key: see `dpwitness keys add`. See docs/service.md.
    """
    try:
        from accountant.service.server import ledger_at, serve
        from accountant.service.service_limits import ServiceLimits
        from algorithms.durable.run_place import shown
        from algorithms.service.run_part import run_at
    except ImportError as error:
        raise click.ClickException(f"serve needs more ({error}): pip install 'dpwitness[serve]'") from None

    named = _named("--run", runs)
    made, words = (
        _of_runs(option, given, named) for option, given in (("--build", builders), ("--code", codes))
    )
    if store is None and not named:
        raise click.UsageError("--store, or --run, or both must be given")
    for option, given in (("--anchor", anchor), ("--names", names)):
        if given is not None and store is None:
            raise click.UsageError(f"{option} {given}: is a ledger's, so --store must be given")
    parts: list[Callable[[ServiceLimits], AbstractContextManager[ServicePart]]] = []
    if store is not None:
        parts.append(partial(ledger_at, store, anchor, names=names))
    parts += [
        partial(run_at, name, run_loader(where, made.get(name), words.get(name)))
        for name, where in named.items()
    ]
    served = (*([store] if store is not None else ()), *named.values())
    what = ", ".join(printable(shown(each) if "://" in each else each) for each in served)
    serve(
        parts,
        _key_file(keys, store),
        host=host,
        port=port,
        certificate=certificate,
        certificate_key=certificate_key,
        plain=plain,
        limits=ServiceLimits(body=body, seconds=seconds, rate=rate),
        ready=lambda address: click.echo(f"serving {what} on {address}"),
    )


def _named(option: str, given: tuple[str, ...]) -> dict[str, str]:
    found: dict[str, str] = {}
    for each in given:
        name, equals, value = each.partition("=")
        if not (name and equals and value):
            raise click.UsageError(f"{option} {each}: must be NAME=...")
        if name in found:
            raise click.UsageError(f"{option} {name}=...: given more than once")
        found[name] = value
    return found


def _of_runs(option: str, given: tuple[str, ...], runs: dict[str, str]) -> dict[str, str]:
    found = _named(option, given)
    if unknown := sorted(found.keys() - runs.keys()):
        raise click.UsageError(f"{option} {unknown[0]}=...: there is no --run of this name")
    return found


@click.group("keys")
def keys_group() -> None:
    """Make, list and remove the keys of `dpwitness serve`."""


@keys_group.command("add")
@click.argument("name")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    required=True,
    type=click.Choice(["read", "spend", "act", "observe", "admin"]),
    help="What the key allows; may be given more than once.",
)
@click.option(
    "--run", "runs", multiple=True, help="The run that the key is for, and nothing else [default: all]."
)
@click.option("--purpose", help="What charges with the key are for: rules of the ledger count them by it.")
@click.option("--tenant", help="Who learns what is released with the key.")
@_store_option
@_keys_option
def add(
    name: str,
    scopes: tuple[str, ...],
    runs: tuple[str, ...],
    purpose: str | None,
    tenant: str | None,
    store: str | None,
    keys: Path | None,
) -> None:
    """Make a key, and print it: once, as only its hash is stored.

    NAME stands beside every charge that is made with it.
    """
    from accountant.rules.scope import Scope
    from accountant.service.keys import KeyScope

    click.echo(_key_file(keys, store).add(name, map(KeyScope, scopes), runs, Scope(purpose, tenant)))


@keys_group.command("list")
@_store_option
@_keys_option
@json_option
def list_(store: str | None, keys: Path | None, as_json: bool) -> None:
    """List names, scopes, the runs that keys are for, and what they spend on."""
    known = _key_file(keys, store).known()
    found = {
        key.name: {
            "scopes": sorted(scope.value for scope in key.scopes),
            "runs": sorted(key.runs),
            "purpose": key.spends_on.purpose,
            "tenant": key.spends_on.tenant,
        }
        for key in known
    }

    def render(console: Console) -> None:
        rows = []
        for key in known:
            scopes = ", ".join(sorted(scope.value for scope in key.scopes))
            runs = ", ".join(sorted(key.runs)) or "all, and the ledger"
            rows.append((key.name, scopes, runs, str(key.spends_on)))
        table = plain_table(("name", "scopes", "runs", "spends on"), rows)
        console.print(table if rows else "no keys")

    show(as_json, lambda: {"keys": found}, render)


@keys_group.command("remove")
@click.argument("name")
@_store_option
@_keys_option
def remove(name: str, store: str | None, keys: Path | None) -> None:
    """Remove a key: a service that runs refuses it from its next request on."""
    _key_file(keys, store).remove(name)
    click.echo(f"key {name} is removed")


def _key_file(keys: Path | None, store: str | None) -> KeyFile:
    from accountant.service.keys import KeyFile

    if keys is None and (store is None or "://" in store):
        raise click.UsageError("--keys FILE must be given, or --store FILE, beside which FILE.keys lies")
    return KeyFile(Path(f"{store}.keys") if keys is None else keys)
