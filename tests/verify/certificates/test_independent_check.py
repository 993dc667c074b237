"""Tests of the checker of proofs: rules against definitions, the file alone, hostile files, mutants of the file."""

import ast
import copy
import itertools
import json
import math
import random
import re
import signal
import subprocess
import sys
import tempfile
import types
from fractions import Fraction
from pathlib import Path

import pytest
from forged_proofs import accepted_forgeries
from independent_checks import CHECKS, fails, honest, proof, release

from accountant.audit import AuditQuestion, audit, read_releases
from verify.certificates import independent_check as checker

FILE = Path(checker.__file__)
ROOT = FILE.parent.parent.parent


@pytest.fixture(autouse=True)
def _fresh():
    checker.declare({})
    checker.WORK[:] = [0, 0]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_each_rule_agrees_with_its_definition(check):
    check(checker)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "tries"),
    [("functions", 1500), ("symbols", 12_000), ("derivations", 12_000), ("curves", 60)],
)
def test_each_rule_agrees_at_many_points(name, tries):
    {check.__name__: check for check in CHECKS}[name](checker, tries)


# --- the file ---------------------------------------------------------------------------------------


def test_the_file_imports_the_standard_library_alone_and_computes_with_no_float():
    tree = ast.parse(FILE.read_text(encoding="utf-8"))
    nodes = list(ast.walk(tree))
    modules = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    modules |= {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
    assert {module.partition(".")[0] for module in modules} <= sys.stdlib_module_names
    assert not any(isinstance(node, ast.Constant) and isinstance(node.value, float) for node in nodes)
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    assert not names & {"float", "eval", "exec", "open_code", "round", "pow", "sum_of_floats"}


def test_nothing_of_the_product_imports_the_file():
    for package in ("mechanisms", "accountant", "algorithms", "verify"):
        for file in (ROOT / package).rglob("*.py"):
            for line in file.read_text(encoding="utf-8").splitlines():
                assert not re.match(r"\s*(from|import)\b.*\bindependent_check\b", line), file


def run(*paths):
    return subprocess.run(
        [sys.executable, "-I", str(FILE), *map(str, paths)], capture_output=True, text=True, check=False
    )


def test_the_script_says_what_follows_what_was_tested_and_what_it_does_not_know(tmp_path):
    good, bad, none = tmp_path / "good.json", tmp_path / "b\x1b[31md.json", tmp_path / "none.json"
    data = honest()["two kinds"]
    good.write_text(json.dumps(data))
    data["theorem"]["epsilon"] = "149/100"
    data["tested"] = {"\x1b[2J": "\ud800"}
    bad.write_text(json.dumps(data))
    said = run(good)
    assert (said.returncode, said.stderr) == (0, "")
    lines = said.stdout.splitlines()
    assert lines[0].endswith("good.json': FOLLOWS: epsilon = 1.5, delta = 0; replace one; one report")
    box = '{"kind": "box", "low": 0, "high": 1, "size": 1}'
    assert [line.strip() for line in lines[1:6]] == [
        "basic theorem, epsilon = 1.5 is enforced, delta = 0 is enforced",
        'release 1: {"kind": "laplace", "scale": 2} on a sum of 1 of ' + box,
        'release 2: {"kind": "laplace", "scale": 1} on a sum of 1 of ' + box,
        "kind of record 1: release 1 1 times, release 2 1 times",
        "kind of record 2: release 1 3 times",
    ]
    for words in ('not looked at: the section "tested"', "not known"):
        assert words in said.stdout
    assert "(stated):" not in said.stdout
    said = run(good, bad)
    assert (said.returncode, said.stderr) == (1, "")
    line = said.stdout.splitlines()[-1]
    assert line.endswith("DOES NOT FOLLOW: kind of record 1: pays more than allowed")
    assert "\x1b" not in said.stdout
    assert run(good, none).returncode == 2
    assert run().returncode == 2


@pytest.mark.parametrize("step", ["round", "clip"])
@pytest.mark.parametrize(("low", "high"), [(5, 3), ("K", 3), (5, ["-", 3, "K"])])
def test_no_step_maps_to_a_range_that_may_be_empty(step, low, high):
    kind = "whole" if step == "round" else "box"
    into = {"op": step, "low": low, "high": high, "into": {"kind": kind, "low": 4, "high": 4, "size": 1}}
    reals = {"kind": "reals", "low": 0, "high": 0, "size": 1}
    data = proof(
        {"epsilon": 0, "delta": 0},
        {"name": "plan", "resolution": 9},
        {"a": release({"kind": "laplace", "scale": 1}, domain=reals, steps=[into])},
        symbols={"K": {"least": 0, "whole": True}},
    )
    with pytest.raises(checker.Wrong, match=r"low is not shown to be at most high|does not hold the image"):
        checker.check(data)


HOSTILE = {
    "nothing": b"",
    "no JSON": b"{",
    "garbage behind": json.dumps(honest()["laplace"]).encode() + b"{}",
    "a byte order mark": b"\xef\xbb\xbf" + json.dumps(honest()["laplace"]).encode(),
    "UTF-16": json.dumps(honest()["laplace"]).encode("utf-16"),
    "UTF-32": json.dumps(honest()["laplace"]).encode("utf-32"),
    "a lone surrogate": b'{"format": "\xed\xa0\x80"}',
    "100,000 brackets": b"[" * 100_000,
    "100,000 objects": b'{"a":' * 100_000,
    "5,000 digits": b"9" * 5_000,
    "a key twice": json.dumps(honest()["laplace"]).encode()[:-1] + b', "tested": {}}',
    "too long": b" " * 5_000_000,
    "a list": b"[]",
    "null": b"null",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_no_proof_is_refused_in_one_line(name, tmp_path, capsys):
    path = tmp_path / "file.json"
    path.write_bytes(HOSTILE[name])
    assert checker.main([str(path)]) == 2
    said = capsys.readouterr().out
    assert said.count("\n") == 1
    assert "DOES NOT FOLLOW: the file: " in said


def replaced(data, path, value):
    worse = copy.deepcopy(data)
    at = worse
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return worse


def places(data, path=()):
    """Yield the paths of all values."""
    inside = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in inside:
        yield (*path, key)
        yield from places(value, (*path, key))


NO_VALUES = (
    None,
    True,
    1.5,
    "NaN",
    "1/0",
    "１",
    [],
    {},
    "",
    float("nan"),
    "1e3",
    [1],
    {"a": 1},
    "0x1",
    False,
    -0.0,
    float("inf"),
    "1_000",
    "٣",
    "−1",
    "+1",
    "1 ",
    "1/2/3",
    "1/-2",
    "\ud800",
    "9" * 401,
    [0] * 20_000,
    json.loads("[" * 100 + "]" * 100),
    ["+", 1],
    ["/", 1, 0],
)


def test_500_malformed_certificates_are_refused_in_one_line(tmp_path, capsys):
    rng, path = random.Random(9), tmp_path / "file.json"
    sound = {"tested", "steps"}  # what is tested is not looked at, and no steps are steps
    mutants = [
        (name, where, value)
        for name, data in honest().items()
        for where in places(data)
        if not sound & {*where[:1], *where[-1:]}
        for value in NO_VALUES
        if type(value) is not type(value_at(data, where)) or value != value_at(data, where)
    ]
    for name, where, value in rng.sample(mutants, 500):
        worse = replaced(honest()[name], where, value)
        path.write_text(json.dumps(worse))
        assert checker.main([str(path)]) > 0, (name, where, value)
        said = capsys.readouterr().out
        assert said.count("\n") == 1, (name, where, value)
        assert "DOES NOT FOLLOW" in said


def two_phases(theorem, first, second, epsilon=1):
    """A record is part of a phase of each kind; the noise of the second is for another delta than is claimed."""
    noise = {"kind": "gaussian", "variance": 46}, {"kind": "gaussian", "variance": "4/5"}
    releases = {
        name: release(*each)
        for name, each in zip("ab", zip(noise, (first, second), strict=True), strict=True)
    }
    return proof({"epsilon": epsilon, "delta": "1/100000"}, theorem, releases)


def two_rows(steps, scale=1, charged=1, terms=1, count=1):
    """One choice of two, as two rows of an index: both coordinates move."""
    domain = {"kind": "categories", "low": 0, "high": 0, "size": 2}
    one = {"op": "one-hot", "into": {"kind": "one-hot", "low": 1, "high": 1, "size": 2}}
    form = release(
        {"kind": "laplace", "scale": scale}, {"epsilon": charged, "delta": 0}, domain, [one, *steps], terms
    )
    pure = {"epsilon": 1, "delta": 0}
    return proof(pure, {"name": "basic", **pure}, {"r": form}, {"each": {"r": count}})


def chosen(index, kind, size):
    return {"op": "choose", "index": index, "into": {"kind": kind, "low": 0, "high": 1, "size": size}}


_HALF, _WHOLE = {"epsilon": "1/2", "delta": "1/200000"}, {"epsilon": 1, "delta": "1/100000"}
FALSE = {
    "phases, each at half the claim": (
        two_phases({"name": "basic", **_WHOLE}, {"epsilon": 1, "delta": "1/200000"}, _HALF),
        "kind of record 1: pays more than allowed"),
    "phases, charged as claimed": (
        two_phases({"name": "basic", **_WHOLE}, _HALF, _HALF), "release 2: costs more than charged"),
    "phases, the quiet one charged as claimed": (
        two_phases({"name": "basic", **_WHOLE}, {"epsilon": "4/5", "delta": "1/200000"},
                   {"epsilon": "1/5", "delta": "1/200000"}), "release 2: costs more than charged"),
    "phases, in Gaussian DP": (
        two_phases({"name": "gdp", "mu_squared": "2/46"}, {"mu_squared": "1/46"}, {"mu_squared": "1/46"}),
        "release 2: costs more than charged"),
    "phases, in Gaussian DP, charged": (
        two_phases({"name": "gdp", "mu_squared": "2/46"}, {"mu_squared": "1/46"}, {"mu_squared": "5/4"}),
        "kind of record 1: pays more than allowed"),
    "phases, in Gaussian DP, allowed": (
        two_phases({"name": "gdp", "mu_squared": 2}, {"mu_squared": "1/46"}, {"mu_squared": "5/4"}),
        "claim: is not shown"),
    "phases, concentrated": (
        two_phases({"name": "zcdp", "rho": "1/46"}, {"rho": "1/92"}, {"rho": "1/92"}),
        "release 2: costs more than charged"),
    "phases, planned": (two_phases({"name": "plan", "resolution": 9}, {}, {}), "claim: is not shown"),
    "rows, as one coordinate": (
        two_rows([chosen([0, 1], "one-hot", 1)]), "step 2: the stated domain does not hold the image"),
    "rows, as they are": (two_rows([chosen([0, 1], "one-hot", 2)]), "costs more than charged"),
    "rows, as a box": (two_rows([chosen([0, 1], "box", 2)]), "costs more than charged"),
    "rows, charged": (two_rows([chosen([0, 1], "one-hot", 2)], charged=2), "pays more than allowed"),
    "rows, one at a time": (two_rows([chosen([0], "one-hot", 1)], count=2), "pays more than allowed"),
    "rows, added": (two_rows([chosen([0], "one-hot", 1)], terms=2), "costs more than charged"),
    "rows, twice the same": (two_rows([chosen([0, 0], "one-hot", 2)]), "step 2: the stated domain does not hold"),
    "rows, of two dimensions": (two_rows([chosen([[0], [1]], "one-hot", 2)]), "step 2: row"),
}  # fmt: skip


@pytest.mark.parametrize("name", FALSE)
def test_the_false_certificates_of_old_are_refused_however_they_are_written(name, tmp_path, capsys):
    """Of two kinds of phases, one too quiet, and of an index with two rows; both were found valid once."""
    data, why = FALSE[name]
    path = tmp_path / "certificate.json"
    path.write_text(json.dumps(data))
    assert checker.main([str(path)]) == 1
    said = capsys.readouterr().out
    assert why in said
    assert said.count("\n") == 1


def test_what_they_truly_cost_follows():
    assert checker.check(two_phases({"name": "plan", "resolution": 9}, {}, {}, "57/10"))
    assert checker.check(two_rows([chosen([0, 1], "one-hot", 2)], scale=2))


@pytest.mark.parametrize("name", honest())
def test_a_key_that_is_missing_unknown_or_there_twice_is_refused(name):
    data = honest()[name]
    for where in [(), *places(data)]:
        inside = value_at(data, where)
        if type(inside) is not dict or inside == {} or where[:1] == ("tested",):
            continue
        first = next(iter(inside))
        less = {key: value for key, value in inside.items() if key != first}
        if where[:1] != ("records",):  # of fewer records the claim is as true
            assert fails(checker.check, replaced(data, where, less) if where else less), (where, first)
        for key in ("", "Low", first + " ", "\ufeff" + first, "__class__"):
            more = {**inside, key: inside[first]}
            # Of one more record or symbol the claim may be as true.
            if where not in (("records",), ("symbols",)):
                assert fails(checker.check, replaced(data, where, more) if where else more), (where, key)
        twice = json.dumps(inside)[:-1] + f", {json.dumps(first)}: {json.dumps(inside[first])}}}"
        whole = json.dumps(replaced(data, where, "here")).replace('"here"', twice) if where else twice
        with pytest.raises(checker.Wrong, match="a key occurs twice"):
            checker.load(whole.encode())


@pytest.mark.parametrize("name", honest())
def test_no_forgery_of_a_proof_is_accepted(name):
    data = honest()[name]
    assert accepted_forgeries(checker, data) == []
    accepts_all = types.SimpleNamespace(check=lambda forged: "follows")
    assert len(accepted_forgeries(accepts_all, data)) >= 10


EDITS = ("0", "1/2", "9/10", "11/10", "2", "-1", "7")


def edited(rng, data):
    """Return a certificate with one to three numbers changed, a step left out or a record's count raised."""
    for _ in range(rng.randrange(1, 4)):
        numbers = [
            where
            for where in places(data)
            if "tested" not in where
            and type(value_at(data, where)) in (int, str)
            and is_number(value_at(data, where))
        ]
        where = rng.choice(numbers)
        changed = Fraction(value_at(data, where)) * Fraction(rng.choice(EDITS)) + rng.choice((0, 0, 0, 1))
        data = replaced(data, where, text(changed) if changed.denominator > 1 else int(changed))
        steps = [row["steps"] for row in data["releases"].values() if row["steps"]]
        if steps and rng.random() < 0.1:
            own = rng.choice(steps)
            del own[rng.randrange(len(own))]
    return data


def value_at(data, where):
    for key in where:
        data = data[key]
    return data


def is_number(x):
    return type(x) is int or bool(re.fullmatch(r"-?\d+(/[1-9]\d*)?", x))


def is_true(data):
    """Return whether a certificate's claim is true of its last domains, by formulas of this file; or None."""
    claim, parts = data["claim"], []
    for row in data["releases"].values():
        last = [row["domain"], *(step["into"] for step in row["steps"])][-1]
        low, high, size, terms = (
            Fraction(x) for x in (last["low"], last["high"], last["size"], row["terms"])
        )
        width = high - low if claim["relation"] == "replace one" else max(abs(low), abs(high))
        noise = {
            key: Fraction(x) for key, x in row["mechanism"].items() if key in ("scale", "variance", "epsilon")
        }
        kind = row["mechanism"]["kind"]
        if kind == "laplace":
            parts.append(("pure", size * width * terms / noise["scale"]))
        elif kind == "randomized response":
            parts.append(("pure", noise["epsilon"]))
        elif kind in ("gaussian", "discrete gaussian"):
            parts.append(("mu_squared", size * (width * terms) ** 2 / noise["variance"]))
        else:
            return None
    for counts in data["records"].values():
        paid = {"pure": Fraction(0), "mu_squared": Fraction(0)}
        for name, n in counts.items():
            currency, cost = parts[list(data["releases"]).index(name)]
            paid[currency] += cost * Fraction(n)
        if "rho" in claim:
            if paid["pure"] == 0 and paid["mu_squared"] / 2 > Fraction(claim["rho"]):
                return False
            continue
        epsilon, delta = Fraction(claim["epsilon"]), Fraction(claim["delta"])
        if paid["mu_squared"] == 0:
            e = float(paid["pure"])
            # One release of so much is the least that they may cost together, the sum the most.
            least = max(float(cost) for (currency, cost) in parts)
            if (delta == 0 and paid["pure"] > epsilon) or (1 - math.exp(float(epsilon) - e)) * (
                e == least
            ) / 2 > delta:
                return False
        elif paid["mu_squared"] > 0:
            mu = math.sqrt(paid["mu_squared"])
            x = float(epsilon) / mu - mu / 2
            tail = lambda z: math.erfc(z / math.sqrt(2)) / 2  # noqa: E731
            if tail(x) - math.exp(float(epsilon)) * tail(x + mu) > float(delta) * (1 + 1e-9) + 1e-15:
                return False
    return True


@pytest.mark.slow
def test_edited_certificates_are_accepted_only_with_claims_that_stay_true():
    rng, accepted, judged = random.Random(10), 0, 0
    certificates = {
        name: data
        for name, data in honest().items()
        if name not in ("symbols", "shuffled", "sampled", "tree")
    }
    for _ in range(1500):
        data = edited(rng, copy.deepcopy(certificates[rng.choice(sorted(certificates))]))
        if fails(checker.check, data):
            continue
        accepted += 1
        truth = is_true(data)
        judged += truth is not None
        assert truth is not False, data
    assert accepted > 50
    assert judged > 0.8 * accepted


def test_each_file_comes_to_an_end():
    long = ["+", "x", "y"]
    for _ in range(40):
        long = ["*", long, ["+", "x", "y"]]
    symbolic = replaced(honest()["symbols"], ("claim", "epsilon"), long)
    symbolic["symbols"] |= {name: {"least": 1, "whole": True} for name in ("x", "y")}
    primes = [str(Fraction(1, 10**390 + i)) for i in range(200)]
    sums = copy.deepcopy(honest()["laplace"])
    sums["releases"]["batch"]["steps"].append({"op": "linear", "matrix": [primes], "into": {}})
    wide = replaced(
        honest()["rho"],
        ("claim",),
        {"relation": "replace one", "unit": "one report", "epsilon": 1, "delta": 0},
    )
    wide["releases"]["g"]["mechanism"]["variance"] = "1" + "0" * 300
    wide["theorem"], wide["releases"]["g"]["charged"] = {"name": "plan", "resolution": 16}, {}
    for data in (symbolic, sums, wide):
        assert fails(checker.check, data)


@pytest.mark.slow
def test_a_check_that_would_take_hours_is_refused_after_a_minute():
    huge = proof(
        {"epsilon": 1, "delta": "1/100"},
        {"name": "plan", "resolution": 16},
        {
            "g": release({"kind": "gaussian", "variance": "1/1000000"}),
            "l": release({"kind": "laplace", "scale": 1}),
        },
        {"each": {"g": 1, "l": 1_000_000}},
    )
    with pytest.raises(checker.Wrong, match="takes too long"):
        checker.check(huge)


# --- the library ------------------------------------------------------------------------------------


def some_composition(rng):
    """Return release tables of a file and the same as releases of a proof, with counts."""
    kinds = (
        lambda x: ({"mechanism": "laplace", "scale": x}, {"kind": "laplace", "scale": text(x)}),
        lambda x: ({"mechanism": "gaussian", "sigma": x}, {"kind": "gaussian", "variance": text(Fraction(x) ** 2)}),
        lambda x: ({"mechanism": "discrete-laplace", "scale": x}, {"kind": "discrete laplace", "scale": text(x)}),
        lambda x: ({"mechanism": "discrete-gaussian", "sigma": x},
                   {"kind": "discrete gaussian", "variance": text(Fraction(x) ** 2)}),
        lambda x: ({"mechanism": "randomized-response", "size": 3, "epsilon": 1 / x},
                   {"kind": "randomized response", "size": 3, "epsilon": text(1 / x)}),
    )  # fmt: skip
    tables, releases, records = [], {}, {}
    for i, kind in enumerate(rng.sample(kinds, rng.choice((1, 1, 2, 3)))):
        x, n = rng.choice((1.0, 2.5, 6.0, 15.0)) * rng.choice((1.0, 1.25)), rng.choice((1, 2, 7, 30, 100))
        n = min(n, max(1, int(12 * x)))
        table, mechanism = kind(x)
        whole = mechanism["kind"].startswith("discrete")
        domain = {"kind": "whole" if whole else "box", "low": 0, "high": 1, "size": 1}
        if "size" in mechanism:
            domain = {"kind": "categories", "low": 0, "high": 0, "size": 3}
        tables.append(table | {"count": n})
        releases[f"r{i}"], records[f"r{i}"] = release(mechanism, domain=domain), n
    return tables, releases, records


def text(x):
    return str(Fraction(x))


@pytest.mark.slow
@pytest.mark.parametrize("part", range(50))
def test_compositions_agree_with_the_librarys_certified_interval(part, tmp_path, monkeypatch):
    """1,000 of them; what is composed is remembered, as it does not depend on the claimed epsilon."""
    made, composed = {}, checker.composed

    def remembered(parts, side, aim, resolution):
        if (side, resolution) not in made:
            made[side, resolution] = composed(parts, side, aim, resolution)
        return made[side, resolution]

    monkeypatch.setattr(checker, "composed", remembered)
    rng, path = random.Random(100 + part), tmp_path / "releases.toml"
    for _ in range(20):
        made.clear()
        tables, releases, records = some_composition(rng)
        delta = Fraction(1, 10 ** rng.choice((3, 5, 6, 9)))
        lines = [
            "[[release]]\n" + "".join(f"{key} = {json.dumps(x)}\n" for key, x in row.items())
            for row in tables
        ]
        path.write_text("\n".join(lines))
        answer = audit(read_releases(path), AuditQuestion(delta=float(delta))).answer
        low, high = Fraction(answer.lower), Fraction(answer.upper) + Fraction(1, 10**4)

        def follows(epsilon, *resolutions, delta=delta, releases=releases, records=records):
            claim = {"epsilon": text(epsilon), "delta": text(delta)}
            for resolution in resolutions:
                theorem = {"name": "plan", "resolution": resolution}
                if not fails(checker.check, proof(claim, theorem, releases, {"each": records})):
                    return resolution
            return None

        finest = follows(high, 8, 10, 12, 14, 16)  # that of a few releases and a small delta
        assert finest, tables
        assert low <= Fraction(1, 10**6) or not follows(low - Fraction(1, 10**7), finest), tables


TABLE = [  # forms with counts, delta, resolution, the exact epsilon, how far above it the checker may be
    ([("laplace", 1, 10), ("gaussian", 1, 10)], "1/100000", 10, "24.48514439", "3e-5"),
    ([("laplace", 20, 1000)], "1/1000000", 10, "8.20444034", "3e-5"),
    ([("response", (5, "1/20"), 1000)], "1/1000000", 10, "4.92589805", "3e-5"),
    ([("laplace", 20, 200), ("gaussian", 20, 200), ("response", (4, "1/10"), 100)],
     "1/1000000", 10, "6.15852187", "3e-5"),
    ([("discrete laplace", 20, 1000)], "1/1000000", 10, "8.28357335", "3e-5"),
    ([("discrete gaussian", 20, 1000)], "1/1000000", 10, "8.30622607", "3e-5"),
    ([("sampled", (1, "1/100"), 1000)], "1/100000", 9, "1.82823667", "1e-5"),
    ([("sampled", ("4/5", "1/50"), 500)], "1/100000", 9, "4.66801175", "1e-5"),
    ([("sampled", (1, "1/100"), 10_000)], "1/100000", 9, "6.18771239", "4e-5"),
    ([("laplace", 1, 20), ("response", (3, "1/2"), 20)], "1/1000000000000", 12, "29.34199045", "1e-5"),
    ([("laplace", 300, 100_000)], "1/1000000", 9, "5.18563278", "5e-5"),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("forms", "delta", "resolution", "exact", "above"), TABLE)
def test_long_compositions_are_checked_near_the_exact_epsilon(forms, delta, resolution, exact, above):
    releases, records, relation = {}, {}, "replace one"
    for i, (kind, parameter, n) in enumerate(forms):
        domain = {"kind": "whole" if "discrete" in kind else "box", "low": 0, "high": 1, "size": 1}
        if kind == "response":
            size, epsilon = parameter
            mechanism = {"kind": "randomized response", "size": size, "epsilon": epsilon}
            domain = {"kind": "categories", "low": 0, "high": 0, "size": size}
        elif kind == "sampled":
            of = {"kind": "gaussian", "variance": text(Fraction(parameter[0]) ** 2)}
            mechanism, relation = (
                {"kind": "poisson sample", "rate": parameter[1], "of": of},
                "add or remove one",
            )
        else:
            mechanism = {
                "kind": kind,
                ("variance" if "gauss" in kind else "scale"): parameter ** (2 if "gauss" in kind else 1),
            }
        releases[f"r{i}"], records[f"r{i}"] = release(mechanism, domain=domain), n
    theorem = {"name": "plan", "resolution": resolution}
    claim = {"epsilon": text(Fraction(exact) + Fraction(above)), "delta": delta}
    assert "FOLLOWS" not in checker.check(
        proof(claim, theorem, releases, {"each": records}, relation=relation)
    )
    claim["epsilon"] = text(Fraction(exact) - Fraction(1, 10**7))
    assert fails(checker.check, proof(claim, theorem, releases, {"each": records}, relation=relation))


def test_bits_of_a_billion_senders_take_a_hundredth_of_the_work_that_a_check_may_take():
    """A phase each of eight had more than a first look may take, and such a learner was not certified."""
    checker.noise_table("binomial", Fraction(1_437_901_818), Fraction(4_503_599_623_659_057, 2**53))
    assert checker.WORK[1] < checker.LIMITS[1] / 100


# --- mutants of the file ----------------------------------------------------------------------------

PLANTED = {
    "a mass may be negative": ("max(0, -(low * (y[i] - y[j]) - before >> W))", "-(low * (y[i] - y[j]) - before >> W)"),
    "the sides of 1 / (e^d - 1)": ("low, high = fine(k, j - i)", "high, low = fine(k, j - i)"),
    "a first mass without 1 - y_0": ("unit - y[places[0]] << W", "0"),
    "no cross terms at infinity": ("a.infinite * (sum(b.masses) + b.infinite) + b.infinite * sum(a.masses)",
                                   "a.infinite * b.infinite"),
    "one order of a sample": ("Law((removed, partial(exchanged, removed)) if poisson", "Law((removed,) if poisson"),
    "a divisor of any sign": ("need(is_positive(ratio(x).n, strictly=True)", "need(True"),
    "one-hot vectors move by 1": ("F(1), F(1) if d.size == 1 else twice", "F(1), F(1)"),
    "a row with equal places keeps its ball": ("if len(set(real)) == len(real) and d.kind in NORMED",
                                               "if d.kind in NORMED"),
    "terms are not squared": ("l2_squared * terms * terms", "l2_squared * terms"),
    "charges are not compared": ("need(not currency or within(currency, charged, [(a, F(1))], less, 8, 12, 14, 16)",
                                 "need(True"),
    "a threshold one too far": ("m = -((-scale * loss / ONE / (2 if", "m = 1 - ((-scale * loss / ONE / (2 if"),
    "one order of unfair noise": ("F(1, 2) else partial(either, curve)", "F(1, 2) else curve"),
    "a tail that is left out": ("size * (fall[-1] + rise[-1] + 24 * size * size)", "0"),
    "a first pass that decides": ("limits[0] * F(3, 2) + F(1) if less else limits[0]", "limits[0] * F(3, 2) + F(1)"),
    "weights of halves exchanged": ("zip(p[2::2], left[1:], odd, left, strict=False)",
                                    "zip(p[2::2], odd[1:], odd, odd, strict=False)"),
    "ends in the wrong order": ("(a if f >= 0 else b) * f + s, (b if f >= 0 else a) * f + s", "a * f + s, b * f + s"),
    "the budget is not compared": ("for key, n in row.items()) <= limit,", "for key, n in row.items()) is not None,"),
    "a wrong digit of the root of 2 pi": ("ROOT = 0x", "ROOT = 1 + 0x"),
    "the split of a sample": ("(ONE - rest) * bound(curve", "0 * bound(curve"),
}  # fmt: skip


def mutant(source, file):
    file.write_text(source, encoding="utf-8")
    module = types.ModuleType("mutant")
    module.__file__ = str(file)
    exec(compile(source, "mutant", "exec"), module.__dict__)
    return module


def is_caught(source, checks=(*CHECKS[-1:], *CHECKS)):
    """Return whether a check fails, or takes more than a minute where all of them take seven seconds."""
    signal.signal(signal.SIGVTALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_VIRTUAL, 60)
    try:
        with tempfile.TemporaryDirectory() as folder:
            module = mutant(source, Path(folder, "mutant.py"))
            for check in checks:
                module.WORK[:] = [0, 0]
                check(module)
    except (Exception, KeyboardInterrupt, SystemExit):
        return True
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return False


@pytest.mark.slow
@pytest.mark.parametrize("fault", PLANTED)
def test_planted_faults_are_caught(fault):
    source = FILE.read_text(encoding="utf-8")
    old, new = PLANTED[fault]
    assert source.count(old) == 1
    by_definitions = CHECKS[:-1]  # without the recorded bounds, which any change changes
    assert is_caught(source.replace(old, new), by_definitions)


OPERATORS = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult, ast.LShift: ast.RShift,
             ast.RShift: ast.LShift}  # fmt: skip
COMPARISONS = {ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.Gt: ast.LtE, ast.GtE: ast.Lt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
               ast.In: ast.NotIn, ast.NotIn: ast.In}  # fmt: skip
NAMES = {"min": "max", "max": "min", "exp_lo": "exp_hi", "exp_hi": "exp_lo", "low": "high", "high": "low", "all": "any",
         "any": "all", "lows": "highs", "highs": "lows"}  # fmt: skip


class Mutation(ast.NodeTransformer):
    """Change of an operator, a comparison, a number, a name or a condition, at the n-th place where one can be."""

    def __init__(self, source, place=None):
        self.starts = list(itertools.accumulate(map(len, source.splitlines(True)), initial=0))
        self.harmless = [span for marked in HARMLESS for span in marked_span(source, marked)]
        self.place, self.seen, self.line = place, 0, None

    def here(self, node):
        start = self.starts[node.lineno - 1] + node.col_offset
        end = self.starts[node.end_lineno - 1] + node.end_col_offset
        if any(first <= start and end <= last for first, last in self.harmless):
            return False
        self.seen += 1
        if self.place == self.seen - 1:
            self.line = node.lineno
            return True
        return False

    def visit_Call(self, node):
        counts_work = isinstance(node.func, ast.Name) and node.func.id == "spend"
        return node if counts_work else self.generic_visit(node)

    def visit_Assign(self, node):
        return node if ast.unparse(node.targets[0]) == "PLACE[0]" else self.generic_visit(node)

    def visit_Raise(self, node):
        return node

    def visit_JoinedStr(self, node):
        return node

    def visit_AnnAssign(self, node):
        node.value = node.value and self.visit(node.value)
        return node

    def visit_FunctionDef(self, node):
        node.body = [self.visit(child) for child in node.body]
        return node

    def visit_BinOp(self, node):
        self.generic_visit(node)
        if type(node.op) in OPERATORS and self.here(node):
            node.op = OPERATORS[type(node.op)]()
        return node

    def visit_Compare(self, node):
        self.generic_visit(node)
        if type(node.ops[0]) in COMPARISONS and self.here(node):
            node.ops[0] = COMPARISONS[type(node.ops[0])]()
        return node

    def visit_BoolOp(self, node):
        self.generic_visit(node)
        if self.here(node):
            node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        return node

    def visit_Name(self, node):
        if node.id in NAMES and isinstance(node.ctx, ast.Load) and self.here(node):
            node.id = NAMES[node.id]
        return node

    def visit_Constant(self, node):
        if type(node.value) is int and self.here(node):
            node.value += 1
        return node

    def visit_Expr(self, node):
        call = isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Name)
        if call and node.value.func.id == "need" and self.here(node):
            return ast.copy_location(ast.Pass(), node)
        return self.generic_visit(node)


HARMLESS = {
    # Work: a check ends sooner or later (`test_each_file_comes_to_an_end`), and says the same.
    "LONGEST, LIMITS = «4 * 10**6, (10**6, 60 * 10**6)»": "limits of work",
    "def spend(work: int, what: int = «1»)": "which work is counted",
    "    «need(WORK[what] <= LIMITS[what], \"takes too long to check\")»": "a limit of work",
    "PLACE, WORK = [\"the file\"], «[0, 0]»": "work before a check: `check` sets it",
    "PLACE[0], WORK[:] = \"the file\", «[0, LIMITS[1] * 5 // 6]»": "the work of the first look",
    "        «WORK[1] *= less > 0»": "the work of the first look",
    "bits = «x.numerator.bit_length() + x.denominator.bit_length() if isinstance(x, F) else 0»": "length is work",
    "    «need(bits < 2**14, \"a number has grown too long\")»": "length is work",
    "        «need(len(m) + len(n) < 100, \"a formula is of too high a degree\")»": "degree is work",
    "depth < «50», \"a formula must be": "depth is work: Python has a limit of its own",
    "len(symbols) <= «20», \"must be": "their number is work",
    "    «need(places[-1] - places[0] < 4 * 10**6, \"too many places: choose a lower resolution\")»": "work",
    "while «len(a.masses) > 60000»:": "work: `coarser` holds at any time",
    "            «need(weights[-1] <= ONE and len(weights) < 10**6, \"too many places: the noise is too large\")»":
        "work, and memory: weights fall from the mode",
    # Tightness: any value here gives bounds that hold.
    "«DIGITS, CUT = [36], [1]»": "digits of masses, and what is moved up: rounded up at any",
    "DIGITS[0] = «22 + min(60, len(str(aim.denominator // max(1, aim.numerator))))»": "the same",
    "CUT[0] = «max(1, int(aim * 10 ** (DIGITS[0] - 12)))»": "the same",
    "bisect.bisect_right(high, «CUT[0]») - 1": "what is moved up",
    "bisect.bisect_right(low, «CUT[0] * 1000»)": "what is moved up",
    "most = excess_at(«0»)": "any nodes will do [L2]",
    "    for way in «(1, -1)»:\n        i, excess = «0», most": "any nodes will do",
    "while «excess * unit > CUT[0] * ONE and abs(i) < 400 << k»:": "any nodes will do",
    "i += «way << min(k, max(0, (most // excess).bit_length() - 1) // 4)»": "any nodes will do",
    "dict[int, int](), «min(curve(i * ONE) for i in (1, 3, 10, 30, 100, 399))»\n":
        "it only raises the curve, and places nodes",
    "least = «last if i > 0 else ONE - exp_lo(i * ONE >> k)»": "the same",
    "return «value - least»": "it only places nodes",
    "powers = [measure(curve, «resolution + n.bit_length() // 2»)]": "any lattice will do",
    "range(«ONE >> 40, ONE << 20, ONE >> 40»), True": "any a > 1 will do [T2]",
    "«up((2 * F(x, ONE) + 1) * rho - epsilon) + log(x)[0] - log(x + ONE)[0] > 0»": "any a > 1 will do",
    "lift, twice = «exp_hi(up(min(exact(base.pure or base.rho or F(0)), F(1000))))», law": "any split will do [L10]",
    "    c = «less * lift >> W»": "any split will do",
    "rest = min(ONE, «w * ONE // max(1, (c + isqrt(c * c + 4 * w * ONE)) ** 2 // (4 * ONE) if normal else c + w)»)":
        "any split at most 1 will do",
    "epsilon = «limits[0] * F(3, 2) + F(1)» if less": "the first look decides nothing but whether there is a second",
    "    for less in («4», 0):": "the same",
    "limits[1], «resolution - less»)": "any resolution will do",
    "less, «8, 12, 14, 16»)": "any resolution will do",
    "less, «12» if currency else count(budget[0], «4, 16»))": "any resolution will do",
    "    x = «(v.bit_length() - 1 - W) * 693147 * ONE // 10**6»\n    for _ in range(«6»):\n"
    "        x += «2 * (v - (e := exp(x))) * ONE // (v + e)»": "Newton's steps: `exp` checks their result",
    "while term not in (0, «-1»)": "one more step: after a last term of -1 comes 0",
    "m = max(«0», abs(x).bit_length() - w + «8»)": "more halvings of x, and as many more guard bits [L4]",
    "+ 1 if v > «0» else ONE": "at v of one unit h <= 1, and q = 1 - t + q v: the last unit is above it",
    "less = max(«0», (w - ONE)": "a unit more costs a unit, as h falls no faster than t grows: `parts + ONE` holds it",
    "a.pure <= «1000»": "e tanh(e / 2) holds at any; it is less work than e^20000",
    "x < -«1000» << w": "e^-1000 is nothing in 2^-200, and so is e^-1001",
    "x > «100» * ONE": "the same of tails",
    "while not weights or «weights[-1] >> W - 150»:": "a longer table is as true",
    "itertools.islice(steps, «1000»)": "a longer table is as true",
    "@functools.lru_cache(«4»)\ndef noise_table": "what is remembered",
    "@functools.lru_cache(«2**17»)\ndef exp": "what is remembered",
    "bisect_left(range(n + «1»), True": "after the last place comes none",
    "a.masses + [0] * «3»": "more empty places hold nothing",
    "«2» * DIGITS[0] + «3», 10 ** DIGITS[0]": "wider fields",
    "decimal.Context(«width * (n + 2)», None": "digits that are missing are refused as inexact",
    "decimal.Context(«12», decimal.ROUND_CEILING)": "digits that are shown",
}  # fmt: skip
"""Parts, between the marks, where a change is no fault, and why: bounds hold there whatever is chosen.

Calls of `spend`, and where `PLACE` is set, are left out by `Mutation`.
"""


def marked_span(source, marked):
    """Yield where the marked parts of a text of the file begin and end; the text is there once."""
    parts = re.split("[«»]", marked)
    assert source.count("".join(parts)) == 1, marked
    at = source.index("".join(parts))
    for i, part in enumerate(parts):
        if i % 2:
            yield at, at + len(part)
        at += len(part)


def random_mutants(count, seed):
    """Yield mutants of the file, each with its line and the change."""
    source = FILE.read_text(encoding="utf-8")
    lines, counter = source.splitlines(), Mutation(source)
    counter.visit(ast.parse(source))
    places = list(range(counter.seen))
    random.Random(seed).shuffle(places)
    for place in places[:count]:
        mutation = Mutation(source, place)
        tree = ast.fix_missing_locations(mutation.visit(ast.parse(source)))
        yield ast.unparse(tree), f"{mutation.line}: {lines[mutation.line - 1].strip()}"


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_random_mutants_of_the_file_are_caught(part):
    survivors = [
        line for source, line in random_mutants(50, seed=731_204_586 + part) if not is_caught(source)
    ]
    assert len(survivors) <= 2, "\n".join(survivors)
