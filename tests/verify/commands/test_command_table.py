"""The command line is one table: few commands and options, one meaning a name, each as its field in `verify`."""

from __future__ import annotations

import importlib
import inspect
import math
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from accountant.audit.mechanism_kinds import mechanism_kinds
from algorithms.problems import contextual_problems, linear_problems, problems
from verify.commands.command_group import cli
from verify.commands.command_table import COMMANDS
from verify.commands.listed_names import NAMES
from verify.commands.option_table import LEARNER, OPTIONS, PROBLEM, RATE, SUBJECT, Option
from verify.deployments.known_deployments import known_deployments
from verify.experiments.named_experiments import experiments
from verify.verification.options import Options, each_option
from verify.verification.resolve import every_learner
from verify.zoo import specimens

UNCOUNTED = {"--help", "-h", "--debug", "--version"}


def leaves(group: click.Command, path: str = "") -> Iterator[tuple[str, click.Command]]:
    """Yield every command with its path, as a shell finds it."""
    if not isinstance(group, click.Group):
        yield path.strip(), group
        return
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield from leaves(command, f"{path} {name}")


def options_of(command: click.Command) -> list[click.Option]:
    return [
        each for each in command.params if isinstance(each, click.Option) and UNCOUNTED.isdisjoint(each.opts)
    ]


def test_there_are_few_commands_and_options() -> None:
    found = dict(leaves(cli))
    assert list(found) == list(COMMANDS)
    assert len(found) <= 14
    assert sum(len(options_of(command)) for command in found.values()) <= 110


def test_an_option_means_the_same_everywhere_and_is_used() -> None:
    meanings: dict[str, set[tuple[object, ...]]] = {}
    for _, command in leaves(cli):
        for option in options_of(command):
            kind = "a number" if isinstance(option.type, click.FloatRange) else str(option.type)
            meaning = (kind, option.help, str(option.default), option.multiple, option.name)
            meanings.setdefault(option.opts[0], set()).add(meaning)
    assert {flag: len(each) for flag, each in meanings.items()} == {
        option.flag: 1 for option in OPTIONS.values()
    }


@pytest.mark.parametrize("path", COMMANDS)
def test_a_function_takes_what_its_command_has(path: str) -> None:
    module, name = COMMANDS[path].function.split(":")
    function = getattr(importlib.import_module(f"verify.commands.{module}"), name)
    has = {each.name for each in COMMANDS[path].command("x").params}
    parameters = inspect.signature(function).parameters.values()
    named = {each.name for each in parameters if each.kind is each.KEYWORD_ONLY}
    assert named <= has
    assert named == has or any(each.kind is each.VAR_KEYWORD for each in parameters)


FLAGS = {
    facts.flag: (name, default, facts)
    for name, default, facts in each_option(Options)
    if facts.flag and not facts.flag.startswith("--set ")
}


@pytest.mark.parametrize("flag", FLAGS)
def test_an_option_of_verify_is_its_field(flag: str) -> None:
    """Neither can be changed without the other."""
    name, default, facts = FLAGS[flag]
    option: Option = OPTIONS[flag.removeprefix("--")]
    assert option.parameter == name
    if not option.many and option.kind is not bool:
        assert option.default == default
    kinds = {
        float: (click.FloatRange,),
        int: (click.IntRange,),
        str: (click.ParamType, type),
    }
    assert isinstance(option.kind, kinds[facts.reads])
    if isinstance(option.kind, click.Choice):
        for word in option.kind.choices:
            facts.rule(name, word)  # every choice is one
    if isinstance(option.kind, click.FloatRange | click.IntRange):
        for end, opened in ((option.kind.min, option.kind.min_open), (option.kind.max, option.kind.max_open)):
            if end is not None and not opened:
                facts.rule(name, facts.reads(end))


RANGED = [
    (path, option)
    for path, command in leaves(cli)
    for option in options_of(command)
    if isinstance(option.type, click.FloatRange | click.IntRange)
]


@pytest.mark.parametrize(
    ("path", "option"), RANGED, ids=[f"{path} {option.opts[0]}" for path, option in RANGED]
)
def test_a_number_is_refused_by_the_range_that_the_help_shows(path: str, option: click.Option) -> None:
    kind = option.type
    assert isinstance(kind, click.FloatRange | click.IntRange)
    words = kind._describe_range()
    context = click.Context(COMMANDS[path].command(path))
    assert words in context.command.get_help(context)
    for end, opened, side in ((kind.min, kind.min_open, -1), (kind.max, kind.max_open, 1)):
        if end is None:
            continue
        whole = isinstance(kind, click.IntRange)
        beyond = end + side if whole else end if opened else math.nextafter(end, side * math.inf)
        within = end if not opened else math.nextafter(end, -side * math.inf)
        assert kind.convert(str(within), option, context) == within
        with pytest.raises(click.BadParameter, match=re.escape(f"is not in the range {words}")):
            kind.convert(str(beyond), option, context)
    if isinstance(kind, click.FloatRange):
        with pytest.raises(click.BadParameter, match=re.escape(f"nan is not in the range {words}")):
            kind.convert("nan", option, context)


def test_rates_are_refused_by_the_range_that_the_help_shows(capsys: pytest.CaptureFixture[str]) -> None:
    words = RATE._describe_range()
    context = click.Context(COMMANDS["calibrate"].command("calibrate"))
    assert words in " ".join(context.command.get_help(context).split())
    for rates in (("0", "0.5"), ("0.1", "1"), ("1e-301", "0.5")):
        with pytest.raises(SystemExit, match="2"):
            cli.main(["calibrate", "releases.toml", "--rates", *rates])
        assert f"is not in the range {words}" in capsys.readouterr().err


@pytest.mark.slow_cells("calibrate---epsilon 1e100")
@pytest.mark.parametrize(
    ("path", "arguments"),
    [
        ("audit", ["--delta", "0"]),
        ("audit", ["--delta", "1e-290"]),
        ("audit", ["--delta", str(1.0 - 2.0**-53)]),
        ("audit", ["--epsilon", "0"]),
        ("audit", ["--epsilon", str(sys.float_info.max)]),
        ("audit", ["--budget", "5e-324"]),
        ("audit", ["--budget", str(sys.float_info.max)]),
        ("calibrate", ["--epsilon", "0"]),
        ("calibrate", ["--epsilon", "1e100"]),
        ("calibrate", ["--epsilon", "1", "--delta", "1e-290"]),
        ("calibrate", ["--epsilon", "1", "--delta", str(1.0 - 2.0**-53)]),
        ("calibrate", ["--advantage", "1e-15"]),
        ("calibrate", ["--advantage", str(1.0 - 2.0**-53)]),
        ("calibrate", ["--rates", "1e-300", str(1.0 - 2.0**-53)]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else value,
)
def test_an_end_of_a_range_is_an_answer(
    path: str, arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "releases.toml"
    file.write_text('neighbours = "replace one"\n[[release]]\nmechanism = "gaussian"\nsigma = 1.0\n')
    with pytest.raises(SystemExit) as code:
        cli.main([path, str(file), *arguments])
    assert code.value.code in (0, 1), capsys.readouterr().err


def test_the_options_of_verify_with_a_flag_are_those_of_the_command() -> None:
    own = {"command", "data", "certificate", "output", "json"}
    assert {f"--{name}" for name in COMMANDS["verify"].options.split() if name not in own} == set(FLAGS)


def claim_word(as_printed: str) -> str:
    """Return the first word on a learner's claim as printed; "none" if the paper makes none."""
    word = as_printed.split()[0].rstrip(",;:")
    return "none" if word == "makes" else word.lower()


def test_the_listed_names_are_those_of_the_catalogue() -> None:
    every_problem = [*problems.values(), *linear_problems.values(), *contextual_problems.values()]
    rows = [
        *(
            ("learner", each.name, each.claim.model, claim_word(each.as_printed), each.summary)
            for each in every_learner.values()
        ),
        *(
            (
                "specimen",
                f"zoo/{each.name}",
                f"{each.epsilon:.4g}",
                f"{each.true_epsilon:.4g}",
                "correct" if each.correct else "false",
                each.why,
            )
            for each in specimens.values()
        ),
        *(("problem", each.name, each.family, each.summary) for each in every_problem),
        *(("figure", name) for name in sorted(experiments)),
        *(("deployment", name) for name in known_deployments()),
    ]
    text = "".join("\t".join(row) + "\n" for row in rows)
    assert NAMES.read_text(encoding="utf-8") == text, f"write this to {NAMES.name}:\n{text}"


def test_a_list_of_everything_imports_nothing_that_it_names() -> None:
    source = "import sys\nfrom verify.commands.command_group import cli\n"
    source += "cli.main(['list'], standalone_mode=False)\n"
    source += "print(sorted({name.partition('.')[0] for name in sys.modules} & {'numpy', 'accountant', 'algorithms'}))"
    shown = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True).stdout
    assert shown.startswith("learner ")
    assert shown.endswith("\n[]\n")


def test_a_command_before_which_the_library_is_not_imported_takes_no_code_of_a_users() -> None:
    light = [command for command in COMMANDS.values() if not command.runs_subjects]
    assert len(light) == 3
    for command in light:
        taken = {"subject", "learner", "problem", "adversary", "command", "data", "log"}
        assert taken.isdisjoint(command.options.split())
        assert {SUBJECT, LEARNER, PROBLEM}.isdisjoint(each.kind for each in command.arguments)


def test_a_package_that_is_imported_on_demand_is_whole_when_a_name_is_read() -> None:
    source = """if True:
        import sys
        import dpwitness
        dpwitness.import_on_demand()
        import algorithms.problems.problem_errors
        import mechanisms.parameters
        print("mechanisms.noise" in sys.modules, "algorithms.problems.top_k" in sys.modules)
        from algorithms.problems import ProblemError, TopK
        from mechanisms import Laplace, assumptions_of
        print(assumptions_of(Laplace(scale=1.0)), mechanisms.Laplace is Laplace)
        print(ProblemError is algorithms.problems.problem_errors.ProblemError)
        before = sys.modules["mechanisms"]
        dpwitness.import_on_demand()
        print(sys.modules["mechanisms"] is before)"""
    shown = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True).stdout
    assert shown.splitlines() == ["False False", "() True", "True", "True"]


def test_an_audit_knows_every_mechanism_where_packages_are_imported_on_demand() -> None:
    source = "import dpwitness\ndpwitness.import_on_demand()\n"
    source += "from accountant.audit.mechanism_kinds import mechanism_kinds\nprint(*mechanism_kinds())"
    shown = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True).stdout
    assert set(shown.split()) == set(mechanism_kinds())


def test_several_numbers_are_refused_by_where_they_are_taken() -> None:
    with pytest.raises(click.BadParameter, match="several are given as --set epsilon=1,5"):
        COMMANDS["simulate"].command("simulate").make_context("simulate", ["cucb", "--epsilon", "1,5"])


def test_the_help_names_types_by_words() -> None:
    for path, command in COMMANDS.items():
        shown = command.command(path).get_help(click.Context(click.Command(path)))
        assert "RANGE" not in shown
        assert '[default: ""]' not in shown
