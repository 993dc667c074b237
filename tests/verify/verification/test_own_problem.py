"""A problem in a user's file, on the command lines that take one; and every way in which it can be wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from algorithms.problems import ProblemError, SemiBandit
from verify import regret, verify
from verify.findings.subject_error import SubjectError
from verify.verification.own_problem import own_problem

SHOP = f"{Path(__file__).parents[1] / 'subjects' / 'shop.py'}"
FEW = ("--effort", "quick", "--set", "horizon=20", "--samples", "4000", "--json")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("learner", "problem", "delta"),
    [
        pytest.param("cucb-ldp2", "shelves", None, marks=pytest.mark.slow),
        pytest.param("cascade-ucb-rr", "cascade", None, marks=pytest.mark.slow),
        pytest.param("dp-dpe-central", "clients", "1e-5", marks=pytest.mark.slow),
        ("dp-linucb", "visitors", "1e-5"),
    ],
)
def test_verify_and_simulate_play_it(run, learner, problem, delta):
    named = f"{SHOP}:{problem}"
    privacy = ("--epsilon", "1", *(() if delta is None else ("--delta", delta)))
    code, out, err = run("verify", learner, "--problem", named, *privacy, *FEW)
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found["verdict"] == "certified"
    rounds = ("--horizon", "1000", "--runs", "2", "--json")
    code, out, err = run("simulate", learner, "--problem", named, *privacy, *rounds)
    assert (code, err) == (0, "")
    assert json.loads(out)["problem"] == named


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        ("never_fails", "vacuous"),
        ("made", "out of regime"),  # what it answers, in error too, it may be asked in many rounds
    ],
)
def test_regret_holds_it_against_the_theorem(run, name, verdict):
    """An oracle with alpha below 1; its structure lists its super arms."""
    given = ("--epsilon", "2", "--horizon", "500", "--runs", "2", "--json")
    code, out, _ = run("regret", "cucb-ldp2", "--problem", f"{SHOP}:{name}", *given)
    found = json.loads(out)
    assert code == 3
    assert (found["verdict"], found["problem"]) == (verdict, f"{SHOP}:{name}")
    assert found["theorem"]["gaps"] == "enumeration"


def test_python_takes_the_name_too():
    kept = own_problem(f"{SHOP}:shelves")
    assert isinstance(kept, SemiBandit)
    assert kept.benchmark == pytest.approx(0.45 * 1.7)
    report = regret("cucb-ldp2", problem=f"{SHOP}:shelves", horizon=100, runs=2)
    assert report.problem == f"{SHOP}:shelves"
    assert f"--problem {SHOP}:shelves" in report.reproduce


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("number", "is of type int; must be a problem"),
        ("floats", r"returned float64 of shape \(8, 2\); must be whole numbers of shape"),
        (
            "flat",
            r"returned int64 of shape \(2,\); must be whole numbers of shape \(lanes, size\) = \(8, 2\)",
        ),
        ("twice", "must be different arms from 0 to 5"),
        ("beyond", "must be different arms from 0 to 5"),
        ("first_padded", "padding must be at the end"),
        ("of_others", "an answer must depend on the weights of its own lane only, not on chance"),
        ("worst", "but alpha = 1 of the optimum .* is more"),
        ("low_optimum", r"above optimum 0.1; must be the largest of all"),
        ("no_share", "alpha = 0.0: must be a number above 0 and at most 1"),
        ("worded_share", "alpha = 'half': must be a number above 0 and at most 1"),
        ("fractional", r"arms = 6.0: must be a whole number of at least 1"),
        ("sizeless", "size = 0: must be a whole number of at least 1"),
        ("rowless", r"solve returned object of shape \(\); must be whole numbers of shape"),
        ("worded_optimum", "optimum returned None; must be a number"),
        ("worded_means", "means = .*: must be a number in .* for each of the 6 arms"),
        ("not_a_number", r"reward of \[2, 5\] is nan"),
        ("no_optimum", r"optimum of \[2, 5\] is nan"),
        ("rough", "smoothness_linf = 1, but the reward of .* moves by"),
        ("rougher", "smoothness_l1 = 0.5, but the reward of .* moves by"),
        ("negative", "smoothness_linf = -1.0: must be a finite number of at least 0"),
        ("clears_weights", "solve changed the weights that it was given"),
        ("matrix", r"reward of one lane has shape \(1, 2\); must be \(1,\)"),
        (
            "bare",
            "Bare lacks alpha, beta, smoothness_l1, .* optimum: must be as algorithms.problems.SuperArms",
        ),
    ],
)
def test_what_is_wrong_is_said(name, words):
    with pytest.raises(ProblemError, match=words):
        own_problem(f"{SHOP}:{name}")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("lists_none", "super_arms lists 0 super arms, .* must list all"),
        ("lists_few", "super_arms lists 2 super arms, the best of which earns 0.5, but optimum is 1.7"),
        ("lists_beyond", r"super_arms returned \[0, 6\]; must be different arms from 0 to 5"),
        ("lists_long", r"super_arms returned int64 of shape \(1, 3\)"),
    ],
)
def test_regret_refuses_a_list_of_other_super_arms(name, words):
    with pytest.raises(ProblemError, match=words):
        regret("cucb-ldp2", problem=f"{SHOP}:{name}", horizon=100, runs=2)


@pytest.mark.parametrize("command", ["simulate", "regret"])
def test_what_fails_later_is_its_authors(run, command):
    problem = f"{SHOP}:fails_later"
    code, _, err = run(command, "cucb-ldp2", "--problem", problem, "--horizon", "100", "--runs", "2")
    assert code == 2
    assert f"cucb-ldp2 on {problem} raised RuntimeError: no shelves left (at " in " ".join(err.split())


@pytest.mark.parametrize(
    ("problem", "words"), [("raises", "raised RuntimeError: no data today"), ("nothing", "has no object")]
)
def test_what_cannot_be_had_is_said(problem, words):
    with pytest.raises(SubjectError, match=words):
        own_problem(f"{SHOP}:{problem}")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("verify", "cucb-ldp2", "--problem", f"{SHOP}:cascade"), "plays semi-bandit and matroid and bandit"),
        (("verify", "cucb-ldp2", "--problem", f"{SHOP}:clients"), "cucb-ldp2 plays no linear problems"),
        (("verify", "dp-linucb", "--delta", "0.1", "--problem", f"{SHOP}:made"), "plays contextual problems"),
        (("verify", "cucb-ldp2", "--problem", f"{SHOP}:made", "--set", "arms=3"), "takes no settings"),
        (
            ("verify", "cucb-ldp2", "--problem", f"{SHOP}:made", "--certificate", "c.json"),
            "problems of the catalogue only",
        ),
    ],
)
def test_refusals(run, arguments, words):
    code, out, err = run(*arguments, "--epsilon", "1")
    assert (code, out) == (2, "")
    assert words in err


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["relative", "tired"])
def test_what_is_observed_of_others_is_not_to_remember_a_record(name):
    """Who is remembered is in the feedback of others, who alone pay for it."""
    few = {"effort": "quick", "horizon": 20, "samples": 1_024}
    found = verify("cucb-ldp2", epsilon=1.0, problem=f"{SHOP}:{name}", **few)
    assert found.verdict != "certified"
    flows = [each for each in found.findings if each.kind.value == "raw-flow"]
    assert "although its own outcomes and action are the same" in flows[0].message
    assert "shop.py" in flows[0].where
