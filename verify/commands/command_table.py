"""Every command of the command line: the function that does it, its help, its arguments and its options."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import click

from dpwitness import import_on_demand
from verify.commands.option_table import (
    ASKED_DELTA,
    BUDGET_DELTA,
    BUDGET_EPSILON,
    FIGURE,
    FILE,
    FINITE,
    LEARNER,
    STORED_FILE,
    SUBJECT,
    TARGET_EPSILON,
    options_named,
)


@dataclass
class CommandRun:
    """One run of the command line.

    Attributes
    ----------
    debug
        Whether tracebacks are shown.
    flags
        The flags of the command that runs, by the parameters of its function.
    """

    debug: bool = False
    flags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class _Argument:
    """A value on the command line without a flag.

    Attributes
    ----------
    name
        The parameter of the command's function, and in capitals its name in the help.
    kind
        The type of its value.
    many, required
        Whether there may be several, and must be one.
    """

    name: str
    kind: Any = str
    many: bool = False
    required: bool = True

    def argument(self) -> click.Argument:
        """Return click's argument."""
        return click.Argument(
            [self.name], type=self.kind, nargs=-1 if self.many else 1, required=self.required
        )


@dataclass(frozen=True, kw_only=True)
class _TableCommand:
    """A command.

    Attributes
    ----------
    function
        ``"module:function"`` in `verify.commands`; imported when the command runs. It returns the exit code.
    help
        The help text of the command.
    arguments
        The arguments, in order.
    options
        Names of `OPTIONS`, between blanks.
    ranges
        The ranges of options that take other numbers here than by `OPTIONS`, by their names.
    former
        What takes the place of options that it had.
    runs_subjects
        True if it may run code of a user's, before which the whole library is imported.
    """

    function: str
    help: str
    arguments: tuple[_Argument, ...] = ()
    options: str = ""
    ranges: Mapping[str, Any] = field(default_factory=dict)
    former: Mapping[str, str] = field(default_factory=dict)
    runs_subjects: bool = True

    def command(self, name: str) -> click.Command:
        """Return click's command of this name."""

        def run(**values: Any) -> None:
            context = click.get_current_context()
            context.ensure_object(CommandRun).flags = {
                str(each.name): each.opts[0] for each in parameters if isinstance(each, click.Option)
            }
            if not self.runs_subjects:
                import_on_demand()
            module, function = self.function.split(":")
            code = getattr(importlib.import_module(f"verify.commands.{module}"), function)(**values)
            context.exit(code or 0)

        parameters: list[click.Parameter] = [each.argument() for each in self.arguments]
        parameters += [
            replace(each, kind=self.ranges.get(each.flag.removeprefix("--"), each.kind)).option()
            for each in options_named(self.options)
        ]
        return click.Command(name, callback=run, help=self.help, params=parameters)


GROUPS = {"ledger": "Create, show and change ledgers that last: files, databases and runs of learners."}
"""Groups of commands, and their help."""

COMMANDS = {
    "verify": _TableCommand(
        function="verify_command:verify_command",
        help="""Verify a claim of differential privacy.

        SUBJECT is a learner's name, zoo/NAME, path/to/file.py:object, or a file.toml about a program. A specimen
        of the zoo has an --epsilon of its own, and a file.toml may. --set sets parameters of the learner (its rounds:
        horizon=1000), of its problem and of --composition (failures=0.1). -o writes .json, .html, .md, or as .png
        the bounds on delta for every epsilon.

        Exit codes: 0 certified, 1 refuted, 3 unproven, 2 usage or input error, 4 an error of dpwitness's own.""",
        arguments=(_Argument(name="subject", kind=SUBJECT, required=False),),
        options="command data unit epsilon delta composition problem set effort samples significance "
        "floating-point anytime adversary time-limit seed workers certificate output json",
        former={"--horizon": "use --set horizon=N"},
    ),
    "check": _TableCommand(
        function="check_command:check_command",
        help="""Check a certificate, a witness or a ledger again.

        FILE is a certificate (verify --certificate) or a proof (audit --proof), whose claim the independent
        checker derives from the file alone; a refutation (verify -o result.json), whose event is drawn again
        on its data sets, afresh; or a ledger (a store or its export), of which every hash, charge and total
        is computed again. The code that a witness is about is run, and with --replay that of a certificate.

        Exit codes: 0 valid; 1 invalid; 3 unproven: new draws do not decide, or a replay makes another claim,
        releases what the proof does not list, or does not come to its end; 2 usage or input error.""",
        arguments=(_Argument(name="file"),),
        options="subject replay anchor json",
    ),
    "audit": _TableCommand(
        function="audit_command:audit_command",
        help="""Compute the total privacy loss of releases.

        FILES are TOML, JSON or CSV with [[release]] tables, ledgers (a store or its export), events or loss
        distributions of dp-accounting, or histories of Opacus. The answer is proved bounds on epsilon at --delta
        (by default 1e-6), or on delta at --epsilon; after a minute those proved by then. Several files are shown
        side by side. -o writes .json, .html,
        .md, or as .png the trade-off curve.

        Exit codes: 0 done, or within the budget; 1 the budget is exceeded; 3 not known; 2 usage or input
        error.""",
        arguments=(_Argument(name="files", kind=STORED_FILE, many=True),),
        options="delta epsilon budget neighbors group-size proof output json",
        ranges={"delta": ASKED_DELTA, "epsilon": FINITE},
        runs_subjects=False,
    ),
    "calibrate": _TableCommand(
        function="audit_command:calibrate_command",
        help="""Find the least noise with which releases meet a target.

        All noise of FILE is multiplied by one factor. The target is --epsilon at --delta (by default 1e-6),
        or what attacks on a person may reach: --advantage, or --rates. After a minute it is the least factor
        proved to be enough by then.""",
        arguments=(_Argument(name="file", kind=STORED_FILE),),
        options="epsilon delta advantage rates neighbors group-size json",
        ranges={"delta": ASKED_DELTA, "epsilon": TARGET_EPSILON},
        runs_subjects=False,
    ),
    "regret": _TableCommand(
        function="regret_command:regret_command",
        help="""Test a learner's regret against its theorem.

        LEARNER is a name, or path/to/file.py:object, whose class has the theorem of the learner that it derives
        from, or its own as an attribute `regret_bound`. By default epsilon (1, 2, 5, ...) and horizon are the
        least at which the bound is not vacuous. The steps of its proof are checked in a run of the problem; or,
        where LEARNER is the folder (or database) of a run that `ledger create --learner` began, in its saved
        state alone. Other tests, on instances of their own: --test growth, faster than log T? --test exponent --set
        epsilon=0.5,1,2 (or gap, size, arms): how does regret grow in it? --test lower-bound --set claim=1: is
        so little regret possible for a learner of this local epsilon? -o writes .json, .html, .md, or as .png
        regret and its bound.

        Exit codes: 0 consistent, 1 violated, 3 undecided, vacuous, out of regime or another learner than the
        theorem's, 2 usage or input error.""",
        arguments=(_Argument(name="learner", kind=LEARNER),),
        options="test problem set epsilon delta horizon runs significance seed workers cache output json",
    ),
    "simulate": _TableCommand(
        function="simulate_command:simulate_command",
        help="""Simulate learners and report their regret, or replay a log.

        LEARNERS are names, or path/to/file.py:object: learner classes, or a verify.PlainBandit of another
        library. By default 20 runs of 10,000 rounds at epsilon = 1. Several numbers of a --set, separated by
        commas, are simulated each (--set epsilon=0.5,1,2). -o writes .json, .html, .md, as .png means and
        bands, as .csv every run.

        With --log: what each learner would have earned per round on logged traffic, estimated off policy;
        .json only. That is computed from raw rewards: it is not private.""",
        arguments=(_Argument(name="learners", kind=LEARNER, many=True),),
        options="problem set epsilon delta horizon runs log delay seed workers cache output json",
    ),
    "reproduce": _TableCommand(
        function="reproduce_command:reproduce_command",
        help="""Reproduce figures and tables of the papers; without FIGURES, list them.

        The beginning of a name stands for all that begin so: cascade/fig1 for its parts, matroid/ for a
        paper. Each leaves a picture, a CSV file and a report: what the paper shows, what is seen, why they
        differ. Runs that are in the folder already are not simulated again.""",
        arguments=(_Argument(name="figures", kind=FIGURE, many=True, required=False),),
        options="scale movielens output-dir workers json",
    ),
    "list": _TableCommand(
        function="list_command:list_command",
        help="""List learners and problems; or what WORDS describe, published learners, the zoo and deployments too.

        As in dpwitness list local cascade, or list zoo false: names, models, families, sources and verdicts
        are searched. A single match is shown in full. Deployments of the public registry are shown with where a
        published figure differs from what its own parameters give. With --for, --trust and
        --epsilon say what is asked of the learner (by default central, 1).""",
        arguments=(_Argument(name="words", many=True, required=False),),
        options="for trust epsilon json",
    ),
    "report": _TableCommand(
        function="report_command:report_command",
        help="""Combine stored results into one report.

        FILES are results and certificates in JSON, release files and ledgers. -o writes .html or .md; without
        it, Markdown is printed. An HTML file needs nothing else: pictures are in it, and no script. Equal
        results make equal files if SOURCE_DATE_EPOCH sets their date.

        With --format, FILES are about one deployment: its ledger, releases or their audit, and results on
        its learners. What they prove stands beside what --deployment declares; a declaration that they
        contradict is refused. registry writes .yaml, too; a field that nobody declared is a comment there.""",
        arguments=(_Argument(name="files", kind=STORED_FILE, many=True),),
        options="format deployment output",
        runs_subjects=False,
    ),
    "ledger create": _TableCommand(
        function="ledger_command:create_command",
        help="""Create a ledger that lasts, or a durable run of a learner.

        STORE is a new file, or the URL of a database; its terms never change. Each record may lose --epsilon
        and --delta in total. --from imports an exported ledger in your login name, and renames its file to
        FILE.imported. Never import a ledger that goes on elsewhere: both would spend the same budgets.
        With --learner it is a new folder, or the URL of an empty PostgreSQL database, for dpwitness serve;
        the learner's own horizon, epsilon and delta are set by --set (the last two are by default those of
        the budget). A file of --name-keys that is not there yet is made, with a key.""",
        arguments=(_Argument(name="store"),),
        options="epsilon delta composition trust strict rules name-keys from learner problem set",
        ranges={"delta": BUDGET_DELTA, "epsilon": BUDGET_EPSILON},
        former={
            "--author": "the ledger says your login name",
            "--reason": "the ledger says what was imported",
            "--purpose": "it is in [[run]] of the file of dpwitness serve",
            "--tenant": "it is in [[run]] of the file of dpwitness serve",
        },
    ),
    "ledger show": _TableCommand(
        function="ledger_command:show_command",
        help="""Show spending, limits, open reservations and actions that wait for feedback.

        It shows what RECORDS, or without them the record that has spent most, have spent, open reservations
        included (rounded up), and have left (rounded down). It only reads: STORE may be a copy, or in use. -o
        writes an export, .json, for audits; nobody can spend from it.""",
        arguments=(_Argument(name="store"), _Argument(name="records", many=True, required=False)),
        options="name-keys output json",
    ),
    "ledger amend": _TableCommand(
        function="ledger_command:amend_command",
        help="""Make exactly one administrative change in STORE.

        --rules, --erase, --rotate-keys, --accept-clock, --promote and --anchor none (spend without it from now on)
        are kept in the ledger, with --author and --reason. --cancel is safe whatever the holder does; --expire is for
        runs that nobody serves.
        Never promote a copy while the original is in use: both would spend the same budgets.""",
        arguments=(_Argument(name="store"),),
        options="author reason rules erase allow-return rotate-keys accept-clock promote cancel expire name-keys "
        "anchor",
        former={"--forget-anchor": "use --anchor none"},
    ),
    "serve": _TableCommand(
        function="serve_command:serve_command",
        help="""Serve ledgers and learners over HTTP.

        CONFIG is a TOML file: docs/service.md has its keys. Values come as they are, so run it where raw data
        may be (central trust). It listens to this machine only unless CONFIG says otherwise, and refuses to
        start without a key: dpwitness keys STORE --add NAME.""",
        arguments=(_Argument(name="config", kind=FILE),),
    ),
    "keys": _TableCommand(
        function="serve_command:keys_command",
        help="""List, add or revoke the keys of a service.

        They are in the file STORE.keys, beside the ledger; of a service without a ledger in a file, give the
        file, which ends in .keys. A key is printed once: only its hash is stored. A service that runs refuses
        a revoked key from its next request on.""",
        arguments=(_Argument(name="store"),),
        options="add remove scope run purpose tenant json",
    ),
}
"""All commands, in the order of the help."""
