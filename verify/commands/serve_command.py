"""The commands ``dpwitness serve`` and ``dpwitness keys``: ledgers and learners as a service, and its API keys."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from algorithms.problems import SettingError
from verify.commands.begun_run import run_loader
from verify.commands.service_file import key_file, read_service_file
from verify.commands.shown_results import show
from verify.document.terminal_text import plain_table
from verify.findings.printable import printable

if TYPE_CHECKING:
    from accountant.service.part import ServicePart
    from accountant.service.service_limits import ServiceLimits


def serve_command(*, config: Path) -> None:
    """Serve a ledger (reserve, commit, release, budget left) and learners (act, observe) until the process ends."""
    try:
        from accountant.rules.scope import Scope
        from accountant.service.keys import KeyFile
        from accountant.service.server import Encryption, ledger_at, serve
        from accountant.service.service_limits import ServiceLimits
        from algorithms.durable.run_place import location_name
        from algorithms.service.run_part import run_at
    except ImportError as error:
        raise click.ClickException(f"serve needs more ({error}): pip install 'dpwitness[serve]'") from None

    file = read_service_file(config)
    parts: list[Callable[[ServiceLimits], AbstractContextManager[ServicePart]]] = []
    if file.store is not None:
        parts.append(partial(ledger_at, file.store, file.anchor, names=file.name_keys))
    parts += [
        partial(
            run_at,
            run.name,
            run_loader(run.where, run.build, run.accept_code, Scope(run.purpose, run.tenant)),
        )
        for run in file.runs
    ]
    served = (*([file.store] if file.store is not None else ()), *(run.where for run in file.runs))
    what = ", ".join(printable(location_name(each) if "://" in each else each) for each in served)
    serve(
        parts,
        KeyFile(file.keys),
        host=file.host,
        port=file.port,
        tls=Encryption(**file.tls),
        limits=ServiceLimits(**file.limits),
        ready=lambda address: click.echo(f"serving {what} on {address}"),
    )


def keys_command(
    *,
    store: str,
    add: str | None,
    remove: str | None,
    scope: tuple[str, ...],
    run: tuple[str, ...],
    purpose: str | None,
    tenant: str | None,
    as_json: bool,
) -> None:
    """Add a key and print it, revoke one, or list all keys: names, scopes, runs, and the purposes they spend on."""
    from accountant.rules.scope import Scope
    from accountant.service.keys import KeyFile, KeyScope

    file = KeyFile(key_file(store, f"STORE {store}"))
    if not (store.endswith(".keys") or Path(store).exists()):
        raise SettingError(
            f"STORE {store}: does not exist; a file of keys without a ledger in a file ends in .keys"
        )
    if add is not None and remove is not None:
        raise SettingError("--add, --remove: one of them at a time")
    if add is None:
        for flag, value in (("--scope", scope), ("--run", run), ("--purpose", purpose), ("--tenant", tenant)):
            if value:
                raise SettingError(f"{flag}: only with --add")
    if add is not None:
        if not scope:
            raise SettingError("--scope: must be given with --add: what the key allows")
        click.echo(file.add(add, map(KeyScope, scope), run, Scope(purpose, tenant)))
        return
    if remove is not None:
        file.remove(remove)
        click.echo(f"key {remove} is removed")
        return
    known = file.load_keys()
    found = {
        key.name: {
            "scopes": sorted(scope.value for scope in key.scopes),
            "runs": sorted(key.runs),
            "purpose": key.spends_on.purpose,
            "tenant": key.spends_on.tenant,
        }
        for key in known
    }

    rows = []
    for key in known:
        scopes = ", ".join(sorted(scope.value for scope in key.scopes))
        runs = ", ".join(sorted(key.runs)) or "all, and the ledger"
        rows.append((key.name, scopes, runs, str(key.spends_on)))
    table = plain_table(("name", "scopes", "runs", "spends on"), rows, "no keys")
    show(as_json, lambda: {"keys": found}, lambda console: console.print(table))
