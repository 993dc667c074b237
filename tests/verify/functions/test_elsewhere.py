"""Functions that are constant on all known data sets may differ on others; memory is no determinism."""

import numpy as np
import pytest

from mechanisms import Categories
from verify import ReplaceOne, SubjectError, claimed, verify
from verify.functions.elsewhere import look_elsewhere
from verify.functions.function_subject import FunctionSubject
from verify.functions.runs import FunctionRuns

VOTES = ReplaceOne(Categories(2), 9)


def seven(data):
    return int(np.sum(data)) == 7


SOMEWHERE = {
    "a number": lambda data, rng: float(seven(data)),
    "a word or nothing": lambda data, rng: "seven" if seven(data) else None,
    "noise": lambda data, rng: rng.laplace() if seven(data) else 0.0,
    "an error": lambda data, rng: 1.0 if seven(data) else [][1],
    "in lanes": lambda data, rng, lanes: seven(data) * rng.integers(1, 3, lanes),
}


def checked(function, **options):
    result = verify(claimed(data=VOTES)(function), epsilon=1.0, **{"samples": 40_000, "seed": 0, **options})
    return result, {finding.kind: finding for finding in result.findings}


def test_no_known_pair_would_show_it():
    assert not any(seven(data) for pair in VOTES.seeds() for data in (pair.data, pair.other))


@pytest.mark.slow
@pytest.mark.parametrize("name", SOMEWHERE)
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
def test_what_happens_on_few_data_sets_only_is_found(name, seed):
    """No known pair has seven votes of nine for 1; the bound is what 8,000 draws a side can show of infinity."""
    result, _ = checked(SOMEWHERE[name], seed=seed)
    assert result.verdict == "refuted"
    assert result.lower.epsilon > 5.0
    counts = {
        sum(map(int, result.witness.neighbours[side][8:-1].split(", "))) for side in ("data", "data_prime")
    }
    assert 7 in counts
    assert max(counts) - min(counts) == 1


@pytest.mark.slow
def test_a_constant_says_how_many_data_sets_were_tried():
    _, findings = checked(lambda data, rng: 3)
    assert set(findings) == {"constant"}
    assert "and on 96 others" in findings["constant"].message
    with pytest.raises(SubjectError, match=r"in all [0-9,]+ calls \(96 other data sets were tried\)"):
        checked(lambda data, rng: 1 / 0)


@pytest.mark.slow
def test_the_same_data_sets_are_tried_for_a_seed():
    tried = []
    for _ in range(2):
        tried.append([])
        subject = FunctionSubject(
            "f", lambda data, rng: tried[-1].append(data.tobytes()), VOTES, None, False, False
        )
        runs = FunctionRuns(subject, False)
        found = look_elsewhere(runs, [np.zeros(9, dtype=np.int64)], ("other",), 4)
        assert found.pair is None
    assert tried[0] == tried[1]


@pytest.mark.parametrize("own", ["system", "module"])
def test_memory_with_a_generator_of_its_own_is_told_from_determinism(own):
    remembered, module = {}, np.random.default_rng(3)

    def function(data, rng):
        key = data.tobytes()
        if key not in remembered:
            source = np.random.default_rng() if own == "system" else module
            remembered[key] = float(np.sum(data)) + source.laplace()
        return remembered[key]

    result, findings = checked(function)
    assert set(findings) == {"remembers"}
    assert "another process" in findings["remembers"].message
    assert result.lower is None


@pytest.mark.slow
def test_a_function_without_noise_is_still_called_so():
    result, findings = checked(lambda data, rng: float(np.sum(data)))
    assert set(findings) == {"deterministic"}
    assert result.verdict == "refuted"
