"""All commands, and what becomes of whatever goes wrong in them: one line on standard error, and an exit code."""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from typing import Any

import click

from verify.commands.audit_command import audit_command, calibrate_command
from verify.commands.audit_repo_command import audit_repo_command
from verify.commands.certify_command import certificate_group, certify_command
from verify.commands.command_options import printed
from verify.commands.evaluate_command import evaluate_command
from verify.commands.ledger_command import ledger_group
from verify.commands.list_command import list_command
from verify.commands.regret_command import regret_command
from verify.commands.report_command import report_command
from verify.commands.reproduce_command import reproduce_command
from verify.commands.run_command import run_group
from verify.commands.schema_command import schema_command
from verify.commands.serve_command import keys_group, serve_command
from verify.commands.simulate_command import simulate_command
from verify.commands.verify_command import verify_command
from verify.conduct.exit_codes import GOOD, INPUT_ERROR, INTERRUPTED, OWN_ERROR
from verify.conduct.isolation import OwnFault
from verify.printable import printable
from verify.subject_error import failing_place, words_of_error, words_of_input_error


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
for command in (
    verify_command,
    certify_command,
    regret_command,
    simulate_command,
    evaluate_command,
    reproduce_command,
    list_command,
    audit_command,
    audit_repo_command,
    calibrate_command,
    report_command,
    schema_command,
    serve_command,
):
    cli.add_command(_with_debug(command))
for group in (certificate_group, ledger_group, run_group, keys_group):
    for command in group.commands.values():
        _with_debug(command)
    cli.add_command(group)


def exit_code() -> int:
    """Run the command that the arguments of this process name; return its exit code."""
    run = _Run()
    try:
        code: Any = cli.main(standalone_mode=False, obj=run)
        return code if isinstance(code, int) else GOOD
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return INPUT_ERROR
    except click.ClickException as error:
        printed(error.format_message())
        return INPUT_ERROR
    except (click.Abort, KeyboardInterrupt):
        printed("interrupted")
        return INTERRUPTED
    except (ValueError, OSError) as error:
        printed(words_of_input_error(error))
        _print_traceback(run)
        return INPUT_ERROR
    except MemoryError as error:
        printed(f"memory does not suffice for what was asked ({error or 'no size is known'})")
        _print_traceback(run)
        return INPUT_ERROR
    except (Exception, SystemExit) as error:  # nothing of ours raises SystemExit
        said = (
            str(error)
            if isinstance(error, OwnFault)
            else f"{words_of_error(error)} (at {failing_place(error)})"
        )
        printed(f"an error of its own: {said}; --debug shows the traceback")
        _print_traceback(run)
        return OWN_ERROR


def _print_traceback(run: _Run) -> None:
    """Print the traceback of the error that is being handled, if it was asked for."""
    if run.debug:
        for line in traceback.format_exc().splitlines():
            click.echo(printable(line), err=True)
