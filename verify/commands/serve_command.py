"""The commands ``dpwitness serve`` and ``dpwitness keys``: a ledger as a service, and who may ask it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.table import Table

from verify.commands.command_options import json_option, show
from verify.printable import printable

if TYPE_CHECKING:
    from accountant.service.keys import KeyFile

_store_option = click.option("--store", help="The ledger: a file, or the URL of a database.")
_keys_option = click.option(
    "--keys", type=click.Path(path_type=Path, dir_okay=False), help="The file of keys [default: STORE.keys]."
)


@click.command("serve")
@click.option("--store", required=True, help="The ledger: a file, or the URL of a database; it must exist.")
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
@click.option("--rate", default=100.0, show_default=True, help="Requests a second, for each key.")
@click.option("--seconds", default=30.0, show_default=True, help="The longest that a request may take.")
@click.option("--body", default=1 << 20, show_default=True, help="The most bytes of a request.")
def serve_command(
    store: str,
    keys: Path | None,
    host: str,
    port: int,
    certificate: Path | None,
    certificate_key: Path | None,
    plain: bool,
    anchor: Path | None,
    rate: float,
    seconds: float,
    body: int,
) -> None:
    """Serve a ledger over HTTP: reserve, commit, release, what is left, metrics, and a page.

    Values come as they are, so run it where raw data may be (central trust). It listens to this machine only, and
    refuses to start without a key: see `dpwitness keys add`. See docs/service.md.
    """
    try:
        from accountant.service.limits import Limits
        from accountant.service.server import serve
    except ImportError as error:
        raise click.ClickException(f"serve needs more ({error}): pip install 'dpwitness[serve]'") from None

    serve(
        store,
        _key_file(keys, store),
        host=host,
        port=port,
        certificate=certificate,
        certificate_key=certificate_key,
        plain=plain,
        anchor=anchor,
        limits=Limits(body=body, seconds=seconds, rate=rate),
        ready=lambda address: click.echo(f"serving {printable(store)} on {address}"),
    )


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
    type=click.Choice(["read", "spend", "admin"]),
    help="What the key allows; may be given more than once.",
)
@_store_option
@_keys_option
def add(name: str, scopes: tuple[str, ...], store: str | None, keys: Path | None) -> None:
    """Make a key, and print it: once, as only its hash is stored.

    NAME stands beside every charge that is made with it.
    """
    from accountant.service.keys import Scope

    click.echo(_key_file(keys, store).add(name, map(Scope, scopes)))


@keys_group.command("list")
@_store_option
@_keys_option
@json_option
def list_(store: str | None, keys: Path | None, as_json: bool) -> None:
    """List names and scopes."""
    found = {key.name: sorted(scope.value for scope in key.scopes) for key in _key_file(keys, store).known()}

    def render(console: Console) -> None:
        table = Table("name", "scopes")
        for name, scopes in found.items():
            table.add_row(name, ", ".join(scopes))
        console.print(table if found else "no keys")

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
