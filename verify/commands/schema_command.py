"""The command ``dpwitness schema``: the JSON schemas of what dpwitness reads and writes."""

from __future__ import annotations

import json

import click

from verify.schemas import SCHEMAS


@click.command("schema")
@click.argument("name", type=click.Choice(list(SCHEMAS)))
def schema_command(name: str) -> None:
    """Print the JSON schema (draft 2020-12) of release files, or of a kind of result that --json prints."""
    click.echo(json.dumps(SCHEMAS[name](), indent=1, ensure_ascii=False))
