"""The page of every command, written from the command line itself."""

from collections.abc import Iterator
from typing import Any

import click

_HERE = "<!-- every command -->"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Write all commands where the page says so."""
    if _HERE not in markdown:
        return markdown
    from verify.commands.command_group import cli

    return markdown.replace(_HERE, "\n".join(_lines(cli, click.Context(cli, info_name="dpwitness"))))


def _lines(command: click.Command, context: click.Context) -> Iterator[str]:
    path = context.command_path
    yield from (f"## {path}", "", "```text", command.get_help(context), "```", "")
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from _lines(inner, click.Context(inner, info_name=name, parent=context))
