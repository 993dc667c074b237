"""The command line: ``dpwitness list | verify | simulate | audit | calibrate``.

Results go to standard output (with ``--json`` one JSON object and nothing else), progress and errors to standard error.

Exit codes: 0 certified, within the budget, or done; 1 refuted, or the budget is exceeded; 2 usage or input error;
3 unproven; 4 an error of dpwitness's own, whose traceback ``--debug`` shows; 130 interrupted.
"""

from __future__ import annotations

import io
import sys
import traceback
from dataclasses import dataclass
from typing import Any

import click

from verify.commands.audit_command import audit_command, calibrate_command
from verify.commands.command_options import printed
from verify.commands.list_command import list_command
from verify.commands.simulate_command import simulate_command
from verify.commands.verify_command import verify_command
from verify.conduct.isolation import OwnFault
from verify.printable import printable
from verify.subject_error import failing_place

INPUT_ERROR, OWN_ERROR, INTERRUPTED = 2, 4, 130
"""Exit codes of what went wrong; those of results are `verify.verdict.verdict.EXIT_CODES`."""


@dataclass
class _Run:
    """One run of the command line."""

    debug: bool = False


def _shows_traceback(ctx: click.Context, option: click.Parameter, given: bool) -> None:
    ctx.ensure_object(_Run).debug |= given


def _with_debug(command: click.Command) -> click.Command:
    words = "Show the traceback of an error of dpwitness's own."
    flag = click.Option(
        ["--debug"], is_flag=True, is_eager=True, expose_value=False, callback=_shows_traceback, help=words
    )
    command.params.append(flag)
    return command


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="dpwitness")
def cli() -> None:
    """Certify, refute and audit differential-privacy claims of online learners."""


_with_debug(cli)
for command in (verify_command, simulate_command, list_command, audit_command, calibrate_command):
    cli.add_command(_with_debug(command))


def main() -> None:
    """Run the command line. Whatever goes wrong is one line on standard error, and an exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without Unicode shows ? for what it lacks
    sys.exit(_exit_code(_Run()))


def _exit_code(run: _Run) -> int:
    try:
        code: Any = cli.main(standalone_mode=False, obj=run)
        return code if isinstance(code, int) else 0
    except click.ClickException as error:
        printed(error.format_message())
        return INPUT_ERROR
    except (click.Abort, KeyboardInterrupt):
        printed("interrupted")
        return INTERRUPTED
    except (ValueError, OSError) as error:
        printed(str(error))
        _print_traceback(run)
        return INPUT_ERROR
    except Exception as error:
        said = f"{type(error).__name__}: {error} (at {failing_place(error)})"
        printed(
            f"an error of its own: {error if isinstance(error, OwnFault) else said}; --debug shows the traceback"
        )
        _print_traceback(run)
        return OWN_ERROR


def _print_traceback(run: _Run) -> None:
    """Print the traceback of the error that is being handled, if it was asked for."""
    if run.debug:
        for line in traceback.format_exc().splitlines():
            click.echo(printable(line), err=True)
