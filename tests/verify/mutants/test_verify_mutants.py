"""No mutant whose true loss exceeds the claim is certified, and harmless ones are as certified as their learner."""

import inspect
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from algorithms.learner import DEFAULT_DELTA
from mechanisms import Interval, Laplace
from verify import SubjectError, verify_mutants
from verify.commands.command_group import cli
from verify.faults.function_faults import FUNCTION_FAULTS, GATE_FUNCTION_FAULTS
from verify.faults.learner_faults import LEARNER_FAULTS
from verify.mutants.catalogue_mutants import catalogue_mutants, certified_learners
from verify.mutants.mutant_options import MutantOptions
from verify.mutants.mutant_report import as_markdown
from verify.subjects.resolve import every_learner

# One learner of each way to release: messages, categories, sums of batches; in short runs, so that a tenth of the slow
# test's mutants costs seconds. Every fault is planted in one of them, but for the one that acts from round 1,001 on.
MESSAGES = """
    more-noise raw-value raw-value-from-40 raw-value-after-rare-value transformation-with-memory narrow-domain
"""
LINEAR = """
    none doubled-noise no-noise half-noise half-noise-asked-for released-twice half-sensitivity
    released-again-if-implausible released-again-by-hand raw-value-on-one-lane parameter-from-data shared-noise
    cached-noise another-name function-with-memory
"""
SHORT = {"horizon": 45, "samples": 4_000}
PLANTED = {
    "dp-pe-local": ({"delta": 1e-3, "horizon": 30}, LINEAR.split()),
    "cucb-ldp-laplace-one": (SHORT, MESSAGES.split()),
    "cascade-ucb-rr": (SHORT, ["none", "shared-noise-from-40"]),
    "cucb-batch-least": ({**SHORT, "horizon": 8}, ["never-cleared", "boundary-off-by-one"]),
}


@pytest.mark.slow
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
    assert sorted(line.split("`")[1] for line in lines[2 : 2 + len(names)]) == sorted(names)
    assert lines[-1].endswith("none escaped.")


def test_every_fault_is_planted():
    planted = {name for _, names in PLANTED.values() for name in names}
    assert planted == set(LEARNER_FAULTS) - {"raw-value-from-1001"}


def test_the_table_of_the_documentation_has_every_fault():
    text = (Path(__file__).parents[3] / "docs" / "mutants.md").read_text()
    rows = [line.split("|")[1:3] for line in text.splitlines() if line.startswith("| `")]
    names = [name.strip(" `") for name, _ in rows]
    assert names == list(LEARNER_FAULTS)
    for name, (_, words) in zip(names, rows, strict=True):
        assert LEARNER_FAULTS[name].words in words


@pytest.mark.slow
@pytest.mark.parametrize("learner", certified_learners())
def test_no_mutant_that_exceeds_the_claim_is_certified(learner):
    (done,) = catalogue_mutants(MutantOptions(epsilon=1.0, effort="quick"), [learner])
    assert done.honest.verdict == "certified"
    assert len(done.mutants) >= 13  # of 24 learners: more than 300 mutants
    assert not [each.fault.name for each in done.mutants if each.falsely_certified]
    harmless = [each.result.verdict for each in done.mutants if each.fault.harmless]
    assert harmless == ["certified"] * 3


@pytest.mark.parametrize("delta", [None, 1e-4])
def test_mutants_of_all_certified_learners_are_verified_with_the_options(monkeypatch, delta):
    """What is verified is a matter of the slow test above."""
    asked, heard = [], []

    def verified(name, **given):
        asked.append((name, given))
        given["progress"](0.5, name)
        return name

    monkeypatch.setattr("verify.mutants.catalogue_mutants.verify_mutants", verified)
    options = MutantOptions(
        epsilon=2.0, delta=delta, faults=["raw-value"], progress=lambda *told: heard.append(told)
    )
    assert catalogue_mutants(options) == certified_learners()
    places = [(number + 0.5) / len(asked) for number in range(len(asked))]
    assert heard == [(pytest.approx(place), name) for place, (name, _) in zip(places, asked, strict=True)]
    assert [name for name, _ in asked] == certified_learners()
    for name, given in asked:
        assert (given["epsilon"], given["faults"]) == (2.0, ["raw-value"])
        takes = "delta" in inspect.signature(every_learner[name].make).parameters
        assert given["delta"] == ((delta or DEFAULT_DELTA) if takes else None)


def test_there_are_enough_learners_for_three_hundred_mutants():
    assert 13 * len(certified_learners()) >= 300


def noisy(data, rng, lanes):
    return data + rng.laplace(scale=1.0, size=lanes)


def with_gate(data, gate):
    return gate.release(Laplace(scale=1.0), data)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("function", "faults"), [(noisy, FUNCTION_FAULTS), (with_gate, GATE_FUNCTION_FAULTS)]
)
def test_functions(function, faults):
    told = []
    done = verify_mutants(
        function,
        epsilon=1.0,
        effort="quick",
        neighbours=Interval(0, 1),
        samples=4_000,
        progress=lambda share, doing: told.append((share, doing.partition(":")[0])),
    )
    assert [share for share, _ in told] == sorted(share for share, _ in told)
    assert 1.0 - 1.0 / (1 + len(faults)) < told[-1][0] <= 1.0
    names = list(dict.fromkeys(name for _, name in told))  # but for those that a first look decides
    assert names == [name for name in ("without a fault", *faults) if name in names]
    assert len(names) > 2
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
    asked = (
        "dp-pe-local",
        "--epsilon",
        "1",
        "--delta",
        "1e-3",
        "--effort",
        "quick",
        "--samples",
        "4000",
        "--horizon",
        "40",
        "--mutants",
    )
    done = run(*asked, "--fault", "released-twice", "--fault", "never-cleared")
    assert done.return_value == 0
    assert (
        done.output.splitlines()[-1]
        == "1 of 1 that exceed the claim caught (ledger 1, coupled runs 1); none escaped"
    )
    assert "never act in it: never-cleared" in done.output
    (data,) = json.loads(run(*asked, "--fault", "none", "--json").output)["subjects"]
    assert [each["verification"]["verdict"] for each in data["mutants"]] == ["certified"]
    assert data["escaped"] == []


def test_flags_of_mutants_alone_are_refused():
    for flags in (["--fault", "none"], ["--markdown"]):
        assert "with --mutants only" in str(run("dp-pe-local", "--epsilon", "1", *flags).exception)
    assert "--plot" in str(run("dp-pe-local", "--epsilon", "1", "--mutants", "--plot", "x.png").exception)
