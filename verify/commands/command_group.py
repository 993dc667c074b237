"""All commands, and what becomes of whatever goes wrong in them: one line on standard error, and an exit code."""

from __future__ import annotations

import importlib
import os
import traceback
from dataclasses import dataclass
from typing import Any

import click
from click.shell_completion import CompletionItem, shell_complete

from verify.conduct.exit_codes import GOOD, INPUT_ERROR, INTERRUPTED, OWN_ERROR
from verify.printable import print_on_stderr, printable


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


_COMMANDS = {
    "audit": "audit_command:audit_command",
    "calibrate": "audit_command:calibrate_command",
    "certificate": "certify_command:certificate_group",
    "certify": "certify_command:certify_command",
    "evaluate": "evaluate_command:evaluate_command",
    "keys": "serve_command:keys_group",
    "ledger": "ledger_command:ledger_group",
    "list": "list_command:list_command",
    "regret": "regret_command:regret_command",
    "report": "report_command:report_command",
    "reproduce": "reproduce_command:reproduce_command",
    "run": "run_command:run_group",
    "schema": "schema_command:schema_command",
    "serve": "serve_command:serve_command",
    "simulate": "simulate_command:simulate_command",
    "verify": "verify_command:verify_command",
}


class _Commands(click.Group):
    """The commands, each imported when it is asked for: all of them together take three times as long as most."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[Any]]:
        """Return the commands that begin so, none of them imported, and the options."""
        commands = [CompletionItem(name) for name in _COMMANDS if name.startswith(incomplete)]
        return [*commands, *click.Command.shell_complete(self, ctx, incomplete)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in _COMMANDS and cmd_name not in self.commands:
            module, attribute = _COMMANDS[cmd_name].split(":")
            command: click.Command = getattr(importlib.import_module(f"verify.commands.{module}"), attribute)
            for own in command.commands.values() if isinstance(command, click.Group) else (command,):
                _with_debug(own)
            self.add_command(command)
        return super().get_command(ctx, cmd_name)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="dpwitness")
def cli() -> None:
    """Certify, refute and audit differential-privacy claims of online learners."""


_with_debug(cli)


_COMPLETE = "_DPWITNESS_COMPLETE"
"""The variable by which a shell asks for completions (``bash_complete``), or its script for them (``bash_source``)."""


def exit_code() -> int:
    """Run the command that the arguments of this process name, or complete them; return the exit code."""
    run = _Run()
    try:
        if asked := os.environ.get(_COMPLETE):
            return shell_complete(cli, {}, "dpwitness", _COMPLETE, asked)
        code: Any = cli.main(standalone_mode=False, obj=run)
        return code if isinstance(code, int) else GOOD
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return INPUT_ERROR
    except click.ClickException as error:
        print_on_stderr(error.format_message())
        return INPUT_ERROR
    except (click.Abort, KeyboardInterrupt):
        print_on_stderr("interrupted")
        return INTERRUPTED
    except (ValueError, OSError) as error:
        from verify.subject_error import (
            describe_input_error,  # these know the learners: --version does without
        )

        print_on_stderr(describe_input_error(error))
        _print_traceback(run)
        return INPUT_ERROR
    except MemoryError as error:
        print_on_stderr(f"memory does not suffice for what was asked ({error or 'no size is known'})")
        _print_traceback(run)
        return INPUT_ERROR
    except SystemExit:  # nothing of ours raises it: click does, where nobody reads a pipe any more
        print_on_stderr("the output cannot be written: nobody reads it any more")
        return INPUT_ERROR
    except Exception as error:
        from verify.conduct.isolation import OwnFault
        from verify.subject_error import describe_error_with_location

        said = str(error) if isinstance(error, OwnFault) else describe_error_with_location(error)
        print_on_stderr(f"an error of its own: {said}; --debug shows the traceback")
        _print_traceback(run)
        return OWN_ERROR


def _print_traceback(run: _Run) -> None:
    """Print the traceback of the error that is being handled, if it was asked for."""
    if run.debug:
        for line in traceback.format_exc().splitlines():
            click.echo(printable(line), err=True)
