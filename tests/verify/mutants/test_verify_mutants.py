"""No mutant whose true loss exceeds the claim is certified, and harmless ones are as certified as their learner."""

import json

import pytest
from click.testing import CliRunner

from mechanisms import Interval, Laplace
from verify import SubjectError, verify_mutants
from verify.commands.command_group import cli
from verify.faults.function_faults import FUNCTION_FAULTS, GATE_FUNCTION_FAULTS
from verify.mutants.mutant_report import as_markdown

# One learner of each way to release: messages, categories, sums of batches; of 60 rounds, so that a tenth of the
# slow test's mutants costs seconds. Faults that no layer catches yet are left to the slow test.
PLANTED = {
    "dp-pe-local": (
        {"delta": 1e-3},
        ["none", "doubled-noise", "no-noise", "half-noise-asked-for", "released-twice", "half-sensitivity"],
    ),
    "cucb-ldp-laplace-one": (
        {"horizon": 60, "samples": 4_000},
        ["more-noise", "shared-noise", "cached-noise", "another-name", "function-with-memory",
         "transformation-with-memory", "narrow-domain"],
    ),
    "cascade-ucb-rr": ({"horizon": 60, "samples": 4_000}, ["none", "shared-noise-from-40"]),
    "cucb-batch-least": ({"horizon": 8, "samples": 4_000}, ["never-cleared", "boundary-off-by-one"]),
}  # fmt: skip


@pytest.mark.parametrize("learner", PLANTED)
def test_a_tenth_of_the_mutants(learner):
    options, names = PLANTED[learner]
    done = verify_mutants(learner, epsilon=1.0, effort="quick", faults=names, **options)
    assert done.honest.verdict == "certified"
    assert [each.fault.name for each in done.mutants] == names
    for each in done.mutants:
        certified = each.result.verdict == "certified"
        assert certified is each.fault.harmless, each.fault.name
        assert each.caught is not certified
    assert done.exit_code == 0
    lines = as_markdown([done]).splitlines()
    assert [line.split("`")[1] for line in lines[2 : 2 + len(names)]] == names
    assert lines[-1].endswith("none escaped.")


def noisy(data, rng, lanes):
    return data + rng.laplace(scale=1.0, size=lanes)


def with_gate(data, gate):
    return gate.release(Laplace(scale=1.0), data)


@pytest.mark.parametrize(
    ("function", "faults"), [(noisy, FUNCTION_FAULTS), (with_gate, GATE_FUNCTION_FAULTS)]
)
def test_functions(function, faults):
    done = verify_mutants(function, epsilon=1.0, effort="quick", neighbours=Interval(0, 1), samples=20_000)
    assert [each.fault.name for each in done.mutants] == list(faults)
    assert not any(each.result.verdict == "certified" for each in done.mutants)
    caught = {each.fault.name for each in done.mutants if each.caught}
    assert "none" not in caught
    assert caught >= {"fixed-seed"} if function is noisy else {"raw-value"}


def test_what_can_have_no_faults_is_an_input_error():
    with pytest.raises(SubjectError, match="in learners and functions only"):
        verify_mutants(Laplace(scale=1.0), epsilon=1.0, effort="quick", samples=4_000)
    with pytest.raises(ValueError, match="unknown fault"):
        verify_mutants("dp-pe-local", epsilon=1.0, delta=1e-3, effort="quick", faults=["raw-valu"])
    with pytest.raises(ValueError, match="a wealth file is of one subject"):
        verify_mutants("dp-pe-local", epsilon=1.0, wealth="w")


def run(*arguments):
    return CliRunner().invoke(cli, ["verify", *arguments], standalone_mode=False)


def test_the_command():
    asked = ("dp-pe-local", "--epsilon", "1", "--delta", "1e-3", "--effort", "quick", "--mutants")
    done = run(*asked, "--fault", "released-twice", "--fault", "never-cleared")
    assert done.return_value == 0
    assert done.output.splitlines()[-1] == "1 of 1 that exceed the claim caught (ledger 1); none escaped"
    assert "never act in it: never-cleared" in done.output
    (data,) = json.loads(run(*asked, "--fault", "none", "--json").output)["subjects"]
    assert [each["verification"]["verdict"] for each in data["mutants"]] == ["certified"]
    assert data["escaped"] == []


def test_flags_of_mutants_alone_are_refused():
    for flags in (["--fault", "none"], ["--markdown"]):
        assert "with --mutants only" in str(run("dp-pe-local", "--epsilon", "1", *flags).exception)
    assert "--plot" in str(run("dp-pe-local", "--epsilon", "1", "--mutants", "--plot", "x.png").exception)
