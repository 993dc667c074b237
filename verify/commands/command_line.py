"""The command line: ``dpwitness verify | check | audit | calibrate | regret | simulate | reproduce | list | report |
ledger create | ledger show | ledger amend | serve | keys``.

Results go to standard output (with ``--json`` one JSON object and nothing else), progress and errors to standard error.

Exit codes: 0 certified, consistent, within the budget, or done; 1 refuted, violated, or the budget is exceeded; 2 usage
or input error, or a result that could not be written; 3 unproven, or nothing is known of the regret; 4 an error of
dpwitness's own, whose traceback ``--debug`` shows; 130 interrupted.
"""

from __future__ import annotations

import signal
import sys

from verify.conduct.exit_codes import INPUT_ERROR, INTERRUPTED
from verify.conduct.standard_streams import guard_standard_streams


def main() -> None:
    """Run the command line. Every error is one line on standard error, and an exit code."""
    own = None
    try:
        own = guard_standard_streams()
        from verify.commands.command_group import (
            exit_code,
        )  # NumPy and SciPy take a second, in which Ctrl-C may come

        code = exit_code()
    except KeyboardInterrupt:
        code = INTERRUPTED
        _say("interrupted")
    if own is not None or sys.stdout is None:  # this process is the command's: nothing but its end follows
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:  # it was closed before this process began
                stream.flush()
        if own is not None and own.write_error:
            code = INPUT_ERROR
            _say(f"standard output: {own.write_error}: the result is not complete")
    sys.exit(code)


def _say(words: str) -> None:
    if sys.stderr is not None:
        sys.stderr.write(f"dpwitness: {words}\n")
