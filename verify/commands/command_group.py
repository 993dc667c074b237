"""The group of all commands, and the handling of errors: one line on standard error, and an exit code."""

from __future__ import annotations

import os
import re
import traceback
from collections.abc import Mapping
from typing import Any

import click
from click.shell_completion import shell_complete

from verify.commands.command_table import COMMANDS, GROUPS, CommandRun
from verify.conduct.exit_codes import GOOD, INPUT_ERROR, INTERRUPTED, OWN_ERROR
from verify.findings.printable import print_on_stderr, printable


def _shows_traceback(ctx: click.Context, option: click.Parameter, given: bool) -> None:
    ctx.ensure_object(CommandRun).debug |= given


def _with_debug(command: click.Command) -> click.Command:
    words = "Show the traceback of an error of dpwitness's own."
    flag = click.Option(
        ["--debug"], is_flag=True, is_eager=True, expose_value=False, callback=_shows_traceback, help=words
    )
    command.params.append(flag)
    return command


class _Group(click.Group):
    """The commands with names of one prefix, each built on demand."""

    def __init__(self, prefix: str = "", **settings: Any) -> None:
        super().__init__(**settings)
        self._prefix = prefix

    def list_commands(self, ctx: click.Context) -> list[str]:
        own = [name.removeprefix(self._prefix) for name in COMMANDS if name.startswith(self._prefix)]
        return list(dict.fromkeys(name.split()[0] for name in own))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        path = self._prefix + cmd_name
        if path in COMMANDS:
            return _with_debug(COMMANDS[path].command(cmd_name))
        return _Group(f"{path} ", name=cmd_name, help=GROUPS[path]) if path in GROUPS else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        known = self.list_commands(ctx)
        if not (ctx.resilient_parsing or args[0].startswith("-") or args[0] in known):
            from algorithms.problems import known_name

            known_name("command", args[0], known)
        return super().resolve_command(ctx, args)


cli = click.version_option(package_name="dpwitness")(
    _with_debug(
        _Group(
            name="dpwitness",
            help="Verify, certify and audit differential privacy of online learners.",
            context_settings={"help_option_names": ["-h", "--help"]},
        )
    )
)


_COMPLETE = "_DPWITNESS_COMPLETE"
"""The variable by which a shell asks for completions (``bash_complete``), or its script for them (``bash_source``)."""


def exit_code() -> int:
    """Run the command that the arguments of this process name, or complete them; return the exit code."""
    run = CommandRun()
    try:
        if asked := os.environ.get(_COMPLETE):
            return shell_complete(cli, {}, "dpwitness", _COMPLETE, asked)
        code: Any = cli.main(prog_name="dpwitness", standalone_mode=False, obj=run)
        return code if isinstance(code, int) else GOOD
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return INPUT_ERROR
    except click.NoSuchOption as error:
        print_on_stderr(_without_option(error))
        return INPUT_ERROR
    except click.ClickException as error:
        print_on_stderr(error.format_message())
        return INPUT_ERROR
    except (click.Abort, KeyboardInterrupt):
        print_on_stderr("interrupted")
        return INTERRUPTED
    except (ValueError, OSError) as error:
        from verify.findings.subject_error import (
            describe_input_error,  # these know the learners: --version does without
        )

        print_on_stderr(_with_flags(describe_input_error(error), run.flags))
        _print_traceback(run)
        return INPUT_ERROR
    except MemoryError as error:
        print_on_stderr(f"memory does not suffice for what was asked ({error or 'no size is known'})")
        _print_traceback(run)
        return INPUT_ERROR
    except SystemExit:  # raised by click where the reader of a pipe has closed it
        print_on_stderr("the output cannot be written: nobody reads it any more")
        return INPUT_ERROR
    except Exception as error:
        from verify.conduct.isolation import OwnFault
        from verify.findings.subject_error import describe_error_with_location

        said = str(error) if isinstance(error, OwnFault) else describe_error_with_location(error)
        print_on_stderr(f"an error of its own: {said}; --debug shows the traceback")
        _print_traceback(run)
        return OWN_ERROR


def _without_option(error: click.NoSuchOption) -> str:
    """Return the message about an option that a command has not, or not any more."""
    path = "" if error.ctx is None else error.ctx.command_path.removeprefix("dpwitness ")
    instead = COMMANDS[path].former.get(error.option_name) if path in COMMANDS else None
    return f"no such option {error.option_name}; {instead}" if instead else error.format_message()


_PARAMETER = re.compile(r"^(\w+) ?= ?(.{1,80}?): ", flags=re.DOTALL)
_OTHER_NAMES = {
    "error": "significance",
    "neighbours": "neighbors",
    "store": "cache",
    "by": "author",
    "true_positive_rate": "rates",
    "false_positive_rate": "rates",
}
"""Parameters in Python that the command line calls otherwise."""


def _with_flags(message: str, flags: Mapping[str, str]) -> str:
    """Return the message of a refused value with the flag in place of the parameter's name in Python."""
    found = _PARAMETER.match(message)
    if found is None:
        return message
    flag = flags.get(_OTHER_NAMES.get(found[1], found[1]))
    return message if flag is None else f"{flag} {found[2]}: {message[found.end() :]}"


def _print_traceback(run: CommandRun) -> None:
    """Print the traceback of the error that is being handled, if it was asked for."""
    if run.debug:
        for line in traceback.format_exc().splitlines():
            click.echo(printable(line), err=True)
