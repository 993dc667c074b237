"""The pytest plugin, in test suites of its own."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from mechanisms import Interval
from verify.verification.assertion import DPViolation, assert_dp

SUITE = """
    import numpy as np
    from mechanisms import Interval

    def enough(data, rng, lanes):
        return data + rng.laplace(size=lanes)

    def half(data, rng, lanes):
        return data + rng.laplace(scale=0.5, size=lanes)

    def test_enough(assert_dp):
        assert_dp(enough, epsilon=1.0, data=Interval(0, 1), samples=20_000)

    def test_twice(assert_dp):
        first = assert_dp(enough, epsilon=1.0, data=Interval(0, 1), samples=20_000)
        second = assert_dp(enough, epsilon=1.0, data=Interval(0, 1), samples=20_000)
        assert first.seed != second.seed

    def test_half(assert_dp):
        assert_dp(half, epsilon=1.0, data=Interval(0, 1), samples=20_000)

    def test_without():
        pass
"""


def run(pytester: pytest.Pytester, *options: str, suite: str = SUITE, apart: bool = False) -> Any:
    """Run a suite: here, or in a process of its own where it matters what is loaded or who else runs."""
    pytester.makepyfile(suite)
    start = pytester.runpytest_subprocess if apart else pytester.runpytest_inprocess
    return start("-p", "no:cacheprovider", *options)


def test_a_false_claim_fails_with_its_witness_and_the_way_to_see_it_again(pytester: pytest.Pytester) -> None:
    result = run(pytester)
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(
        [
            "*half is not (1, 0)-differentially private*",
            "*REFUTED*half*",
            "*Counterexample*",
            "*Data D *",
            "*This test alone: pytest '*::test_half'*",
            "*differential privacy audits*",
            "4 audits; *at most 0.0004.",
        ]
    )
    result.stdout.no_fnmatch_line("*verify(half*")  # a call without `data=` would show nothing
    result.stdout.no_fnmatch_line(
        "*verify/verification/assertion.py*"
    )  # the frames of the assertion are hidden


@pytest.mark.slow
def test_results_do_not_depend_on_processes_or_order(pytester: pytest.Pytester) -> None:
    def report(*options: str, apart: bool = False) -> list[str]:
        lines = run(pytester, "--dp-report", *options, apart=apart).stdout.lines
        return sorted(line for line in lines if " claims (" in line and "::test" in line)

    alone = report("-p", "no:xdist")
    assert len(alone) == 4
    some = report("-n", "2", "-k", "half or enough", apart=True)
    assert len(some) == 2
    assert set(some) < set(alone)
    assert report("-k", "half", "--dp-seed", "1")[0] not in alone


def test_nothing_is_said_where_nothing_was_audited(pytester: pytest.Pytester) -> None:
    result = run(pytester, suite="def test_nothing(): pass")
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("*differential privacy*")


@pytest.mark.slow
def test_the_plugin_loads_nothing_for_suites_that_do_not_use_it(pytester: pytest.Pytester) -> None:
    suite = "import sys\ndef test_nothing(): assert not {'numpy', 'scipy', 'accountant'} & set(sys.modules)"
    own = run(pytester, "-p", "no:benchmark", "-p", "no:hypothesispytest", suite=suite, apart=True)
    own.assert_outcomes(passed=1)


def test_efforts_can_be_set_for_a_whole_run(pytester: pytest.Pytester) -> None:
    result = run(pytester, "--dp-effort", "most")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--dp-effort*'most'*quick*"])


def enough(data: Any, rng: np.random.Generator, lanes: int) -> Any:
    return data + rng.laplace(size=lanes)


def test_a_subject_that_cannot_be_audited_fails_the_assertion() -> None:
    def broken(data: Any, rng: np.random.Generator, lanes: int) -> Any:
        return np.full(lanes, np.nan)

    with pytest.raises(DPViolation, match="cannot be relied on"):
        assert_dp(broken, epsilon=1.0, data=Interval(0, 1), samples=20_000)


@pytest.mark.slow
def test_a_certificate_can_be_asked_for() -> None:
    from mechanisms import Laplace

    assert assert_dp(Laplace(scale=1.0), epsilon=1.0, certified=True).verdict == "certified"
    with pytest.raises(DPViolation, match="is not certified"):
        assert_dp(enough, epsilon=1.0, data=Interval(0, 1), samples=20_000, certified=True)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_result() -> None:
    first, second, other = (
        {**assert_dp(enough, epsilon=1.0, data=Interval(0, 1), samples=5_000, seed=seed).json(), "date": ""}
        for seed in (5, 5, 6)
    )
    assert first == second
    assert first["lower"] != other["lower"]


def test_what_is_no_subject() -> None:
    with pytest.raises(ValueError, match=re.escape("f(data, rng)")):
        assert_dp(3, epsilon=1.0, data=Interval(0, 1), samples=20_000)
    with pytest.raises(ValueError, match="epsilon"):
        assert_dp(enough, epsilon=-1.0, data=Interval(0, 1))
    with pytest.raises(ValueError, match="data"):
        assert_dp(enough, epsilon=1.0, data=3)  # type: ignore[arg-type]


@pytest.mark.slow  # the README has them, too
def test_other_peoples_libraries() -> None:
    """OpenDP draws from a generator of its own; that true claims pass, diffprivlib's too, the README shows."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    measurement = dp.m.make_laplace(*space, scale=0.5)
    with pytest.raises(DPViolation):
        assert_dp(lambda data, rng: measurement(data), epsilon=0.5, data=Interval(0, 1), samples=20_000)
