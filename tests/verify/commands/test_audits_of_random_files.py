"""``dpwitness audit`` on random files of every form: the headline is the best row, exit codes say what is proved."""

import json
import math
import random

import pytest

from accountant.audit.mechanism_kinds import mechanism_kinds
from verify.commands import audit_command

NUMBERS = {
    "scale": (2.0, 200.0),
    "sigma": (2.0, 200.0),
    "threshold_scale": (10.0, 100.0),
    "query_scale": (20.0, 200.0),
    "test_scale": (5.0, 50.0),
    "epsilon": (0.005, 0.5),
    "rho": (1e-5, 0.02),
    "probability": (0.3, 0.7),
}
FAST = (
    "laplace",
    "gaussian",
    "pure",
    "approximate",
    "bounded-range",
    "exponential-mechanism",
    "randomized-response",
)
SAMPLED = ("gaussian", "laplace", "pure", "randomized-response")


def some(draw, low, high):
    return math.exp(draw.uniform(math.log(low), math.log(high)))


def parameters(name, draw):
    """Return what a table of a mechanism says, of a size that is neither nothing nor everything."""
    kind = mechanism_kinds()[name]
    said = {key: some(draw, *NUMBERS[key]) for key in kind.required if key in NUMBERS}
    said |= {key: draw.choice([1e-9, 1e-8]) for key in kind.required if key == "delta"}
    said |= {key: draw.randint(2, 8) for key in ("size", "features") if key in kind.required}
    if "horizon" in kind.required:
        said |= {"horizon": draw.randint(2, 60)}
    if "bandwidth" in kind.required:
        said |= {"bandwidth": draw.randint(1, 4)}
    if "parts" in kind.required:
        said |= {"parts": draw.randint(4, 8), "sampling_probability": some(draw, 0.01, 0.5)}
    if name == "gaussian-mixture":
        said |= {"movements": [0, 1, 2], "probabilities": [0.9, 0.09, 0.01]}
    if name == "truncated-batches":
        said |= {"sampling_probability": 0.1, "dataset_size": 100, "truncated_batch_size": 20}
    if name == "binomial":
        said = {"trials": draw.randint(100, 2000), "shift": 1}
    return said


def random_file(seed, names, *, groups=True):
    draw = random.Random(seed)
    relation = draw.choice(["replace one", "add or remove one", "zero out"])
    tables = []
    for _ in range(draw.randint(1, 4)):
        name = draw.choice(
            [
                one
                for one in names
                if one != ("gaussian-mixture" if relation == "replace one" else "randomized-response")
                and (one != "truncated-batches" or relation == "add or remove one")
            ]
        )
        table = {"mechanism": name, **parameters(name, draw), "count": draw.choice([1, 2, 10, 100])}
        if name in SAMPLED and draw.random() < 0.3:
            table |= {"sampling_rate": some(draw, 0.01, 0.5)}
            if relation == "replace one" and draw.random() < 0.5:
                table |= {"sampling": "fixed-size"}
            elif relation != "replace one" and name == "gaussian" and draw.random() < 0.5:
                table |= {"sampling": "random-allocation", "sampling_rate": 1.0 / draw.choice([20, 100])}
        elif groups and draw.random() < 0.3:
            key = "records" if relation == "replace one" else "partition"
            table |= {key: draw.sample(["a", "b", "c"], draw.randint(1, 2))}
        tables.append(table)
    return {"neighbours": relation, "release": tables}


@pytest.fixture
def run(run, monkeypatch, tmp_path):
    """Audit release tables, without a time limit: or the answer hangs on the machine."""
    monkeypatch.setattr(audit_command, "DEFAULT_SECONDS", math.inf)

    def call(tables, *arguments):
        path = tmp_path / "releases.json"
        path.write_text(json.dumps(tables))
        return run("audit", path, "--json", *arguments)

    return call


def number(value):
    return math.inf if value == "inf" else value


def hold_to_its_table(run, tables):
    code, out, err = run(tables, "--delta", 1e-6)
    if code == 2:  # a sampled release whose relation has no theorem, say
        assert err.startswith("dpwitness: ")
        return False
    assert code == 0
    result = json.loads(out)
    answer, rows = result["epsilon"], result["theorems"]
    upper = number(answer["upper"])
    assert (
        upper == min(number(row["upper"]) for row in rows.values()) == number(rows[result["best"]]["upper"])
    )
    if not 0.0 < upper < 1e3:
        return True
    assert run(tables, "--delta", 1e-6, "--budget", upper * (1.0 + 1e-12))[0] == 0
    lower = answer["lower"]
    below = upper * (1.0 - 1e-6) if lower is None else lower * (1.0 - 1e-12)
    if below > 0.0:
        expected = 3 if lower is None else 1
        assert run(tables, "--delta", 1e-6, "--budget", below)[0] == expected, (tables, answer)
    if lower is not None and lower < upper * (1.0 - 1e-6):
        assert run(tables, "--delta", 1e-6, "--budget", 0.5 * (lower + upper))[0] == 3
    return True


@pytest.mark.slow_cells("0", "3", "1")
@pytest.mark.parametrize("seed", range(4))
def test_files_of_fast_releases(run, seed):
    assert hold_to_its_table(run, random_file(seed, FAST))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(300))
def test_files_of_every_form_of_release(run, seed):
    hold_to_its_table(
        run, random_file(1000 + seed, [name for name in mechanism_kinds() if name != "declassified"])
    )


@pytest.mark.slow
def test_a_thousand_exponential_mechanisms(run):
    """9.837953488 was both ends; zCDP proves 8.845889, the adaptive worst case 8.3222; a bound has no lower end."""
    tables = {"release": [{"mechanism": "exponential-mechanism", "scale": 20, "count": 1000}]}
    code, out, _ = run(tables, "--delta", 1e-6, "--budget", 8.8359)
    result = json.loads(out)
    assert (code, result["epsilon"]["lower"], result["epsilon"]["lower_by"]) == (0, None, None)
    assert 8.29 < result["epsilon"]["upper"] < 8.3223
    assert run(tables, "--delta", 1e-6, "--budget", 8.3)[0] == 3


@pytest.mark.slow
def test_different_zcdp_releases_add_their_rho(run):
    """At least 2.20052 was said of what is at most 1.87150."""
    rows = [{"mechanism": "zcdp", "rho": 0.001 * i} for i in range(1, 13)]
    result = json.loads(run({"release": rows}, "--delta", 1e-6)[1])
    assert result["epsilon"]["lower"] is None
    assert result["epsilon"]["upper"] == pytest.approx(1.8715034457, abs=1e-9)
    single = json.loads(run({"release": [{"mechanism": "zcdp", "rho": 0.01}]}, "--epsilon", 0)[1])
    assert single["delta"]["lower"] is None
    assert single["delta"]["upper"] == pytest.approx(math.sqrt(0.005), rel=1e-9)
