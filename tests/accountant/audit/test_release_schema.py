"""The release file's reader refuses what its schema refuses, and vice versa where a schema can express it."""

from __future__ import annotations

import functools
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from release_schema import release_schema

from accountant.audit.mechanism_kinds import mechanism_kinds
from accountant.audit.release_tables import from_tables

PLAIN: dict[str, dict[str, Any]] = {
    "laplace": {"scale": 1.0},
    "gaussian": {"sigma": 1.0},
    "discrete-laplace": {"scale": 1},
    "discrete-gaussian": {"sigma": 1},
    "binomial": {"trials": 400, "shift": 3},
    "randomized-response": {"k": 3, "epsilon": 1},
    "pure": {"epsilon": 1},
    "bounded-range": {"epsilon": 1},
    "approximate": {"epsilon": 1, "delta": 0.1},
    "zcdp": {"rho": 1},
    "declassified": {},
    "truncated-batches": {
        "sigma": 1,
        "sampling_probability": 0.1,
        "dataset_size": 100,
        "truncated_batch_size": 20,
        "neighbours": "add or remove one",
    },
    "gaussian-mixture": {
        "sigma": 2,
        "movements": [0, 1],
        "probabilities": [0.9, 0.1],
        "neighbours": "add or remove one",
    },
    "exponential-mechanism": {"scale": 1, "monotone": True},
    "permute-and-flip": {"scale": 1, "monotone": True},
    "noisy-max": {"scale": 1, "monotone": True},
    "square-root-counter": {"sigma": 1, "horizon": 9, "participations": 2, "separation": 3},
    "buffered-counter": {"sigma": 1, "horizon": 9},
    "banded-counter": {"sigma": 1, "horizon": 9, "bandwidth": 3},
    "cyclic-counter": {
        "sigma": 1,
        "horizon": 9,
        "bandwidth": 2,
        "parts": 3,
        "sampling_probability": 0.1,
        "neighbours": "add or remove one",
    },
    "sparse-vector": {"threshold_scale": 1, "query_scale": 2, "positives": 3, "monotone": False},
    "gaussian-sparse-vector": {"threshold_sigma": 1, "query_sigma": 2, "queries": 3, "monotone": False},
    "thresholded-keys": {"noise": "laplace", "scale": 1, "threshold": 20, "keys": 3}
    | {"neighbours": "zero out"},
    "propose-test-release": {"test_scale": 1, "epsilon": 1, "delta": 0.1},
}
VALUES = [-1, 0, 0.5, 1.5, 3, "1", True, None, 10**13, [], ["a", 1], {"l1": 1}, {"l1": 1, "l2": 1, "linf": 1}]
KEYS = [
    "count",
    "sampling_rate",
    "sensitivity",
    "delta",
    "size",
    "records",
    "name",
    "date",
    "more",
]


@functools.cache
def validator() -> Draft202012Validator:
    Draft202012Validator.check_schema(release_schema())
    return Draft202012Validator(release_schema())


def is_read(content: Any) -> bool:
    try:
        from_tables("it", content)
    except ValueError:
        return False
    return True


def test_every_mechanism_is_in_the_schema() -> None:
    assert PLAIN.keys() == mechanism_kinds().keys()
    for name, parameters in PLAIN.items():
        content = {"release": [{"mechanism": name, **parameters}]}
        assert is_read(content)
        validator().validate(content)


@pytest.mark.few(2)
@pytest.mark.parametrize("name", PLAIN)
def test_values_and_keys_are_refused_by_both_or_by_none(name: str) -> None:
    beyond = {  # what depends on more than one value, or on whole numbers of another kind
        ("discrete-laplace", "sensitivity", 0.5),
        ("discrete-gaussian", "sensitivity", 0.5),
        ("binomial", "sensitivity", 0.5),
        ("randomized-response", "sensitivity", 0.5),
        *(
            ("thresholded-keys", *one)
            for one in (("threshold", 0.5), ("scale", 10**13), ("sensitivity", 10**13))
        ),
        ("binomial", "trials", 3),
        ("binomial", "shift", 10**13),
        ("banded-counter", "bandwidth", 10**13),
        *(("cyclic-counter", key, 10**13) for key in ("bandwidth", "parts")),
        *(("randomized-response", "size", value) for value in (3, 10**13)),  # k is given, too
        *((one, "sampling_rate", 0.5) for one in PLAIN),  # needs a relation
        ("randomized-response", "sensitivity", 10**13),  # so many categories take seconds to compose
    }
    for key in dict.fromkeys([*PLAIN[name], *KEYS]):
        for value in VALUES:
            content = {"release": [{"mechanism": name, **PLAIN[name], key: value}]}
            if (name, key, value if isinstance(value, int | float) else None) not in beyond:
                assert validator().is_valid(content) == is_read(content), (key, value)


@pytest.mark.parametrize(
    "name", ["LAPLACE", "discrete_laplace", "DiscreteLaplace", "discreteLaplace", "nothing"]
)
def test_names_are_spelt_alike(name: str) -> None:
    content = {"release": [{"mechanism": name, "scale": 1}]}
    assert validator().is_valid(content) == is_read(content) == (name != "nothing")


def test_the_usual_spelling_of_zcdp_is_read() -> None:
    content = {"release": [{"mechanism": "zCDP", "rho": 1.0}], "neighbours": "Add-or-remove one"}
    assert is_read(content)
    validator().validate(content)


@pytest.mark.parametrize("name", ["pure", "bounded-range", "approximate", "zcdp"])
def test_an_infinite_loss_is_no_number_of_a_notion(name: str) -> None:
    key = "rho" if name == "zcdp" else "epsilon"
    content = {"release": [{"mechanism": name, **PLAIN[name], key: float("inf")}]}
    assert not is_read(content)


def test_what_is_outside_of_tables() -> None:
    release = [{"mechanism": "pure", "epsilon": 1}]
    for content in (
        {},
        {"release": []},
        {"release": release, "owner": 1},
        {"release": release, "title": 1},
        [],
    ):
        assert not validator().is_valid(content)
        assert not is_read(content)


@pytest.mark.parametrize("name", PLAIN)
def test_the_largest_whole_numbers_are_refused_by_name(name: str) -> None:
    for key in mechanism_kinds()[name].whole.intersection(mechanism_kinds()[name].keys):
        given = {other: value for other, value in PLAIN[name].items() if {key, other} != {"k", "size"}}
        content = {"release": [{"mechanism": name, **given, key: 10**400}]}
        with pytest.raises(ValueError, match=f"{key} = 10{{400}}: must be at most"):
            from_tables("it", content)
        assert not validator().is_valid(content)
