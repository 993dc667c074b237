"""The command line: ``dpwitness list | verify | simulate | audit | calibrate``.

Results go to standard output (with ``--json`` one JSON object and nothing else), progress and errors to
standard error. Exit codes of ``verify``: 0 certified, 1 refuted, 3 unproven; 2 for usage and input errors.
"""

from __future__ import annotations

import io
import sys

import click

from verify.commands.audit_command import audit_command, calibrate_command
from verify.commands.list_command import list_command
from verify.commands.simulate_command import simulate_command
from verify.commands.verify_command import verify_command


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="dpwitness")
def cli() -> None:
    """Certify, refute and audit differential-privacy claims of online learners."""


for command in (verify_command, simulate_command, list_command, audit_command, calibrate_command):
    cli.add_command(command)


def main() -> None:
    """Run the command line; input errors are one line on standard error and exit code 2."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without Unicode shows ? for what it lacks
    try:
        code = cli.main(standalone_mode=False)
    except click.ClickException as error:
        message = error.format_message().splitlines()
        click.echo(f"dpwitness: {' '.join(message)}", err=True)
        sys.exit(2)
    except click.Abort:
        click.echo("dpwitness: interrupted", err=True)
        sys.exit(130)
    except (ValueError, OSError) as error:
        click.echo(f"dpwitness: {' '.join(str(error).splitlines())}", err=True)
        sys.exit(2)
    sys.exit(code if isinstance(code, int) else 0)
