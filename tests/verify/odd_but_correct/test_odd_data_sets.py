"""Odd but correct functions of data sets, commands and bandits are not refuted at the exact claim.

Each is refuted with a probability of at most 1e-4 for each seed.
"""

import odd_bandits
import odd_commands
import odd_data_sets
import pytest

from verify import verify

SUBJECTS = odd_data_sets.SUBJECTS | odd_commands.SUBJECTS | odd_bandits.SUBJECTS


def verdict(name, seed=0, samples=None):
    subject, neighbours, epsilon, delta = SUBJECTS[name]
    result = verify(
        subject,
        neighbours=neighbours,
        epsilon=epsilon,
        delta=delta,
        effort="quick",
        samples=samples,
        seed=seed,
    )
    return result.verdict


def test_no_name_is_twice_there():
    assert (
        len(SUBJECTS) == sum(len(each.SUBJECTS) for each in (odd_data_sets, odd_commands, odd_bandits)) > 100
    )


@pytest.mark.slow_cells("quotient-or-error", "object-with-state")
@pytest.mark.parametrize("name", ["object-with-state", "quotient-or-error", "rarely-in-the-clear"])
def test_a_few_with_few_draws(name):
    """The first shows whether its answer rose since the call before, which was on other data."""
    assert verdict(name, samples=20_000) == "unproven"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", SUBJECTS)
def test_none_is_refuted(name, seed):
    assert verdict(name, seed) == "unproven"
