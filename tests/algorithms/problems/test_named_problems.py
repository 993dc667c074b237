import numpy as np
import pytest

from algorithms.problems import (
    Parameter,
    ProblemError,
    SettingError,
    build_problem,
    parse_settings,
    problems,
)


@pytest.mark.parametrize("name", sorted(problems.keys() - {"movielens"}))  # which needs the user's data
def test_defaults_build_and_obey_their_own_rules(name):
    entry = problems[name]
    assert entry.name == name
    assert all(parameter.meaning for parameter in entry.parameters)
    problem = entry.build()
    assert len(problem.means) == problem.structure.arms
    assert problem.structure.solve(problem.means[np.newaxis]).shape == (1, problem.structure.size)
    texts = {parameter.name: str(parameter.default) for parameter in entry.parameters}
    np.testing.assert_array_equal(build_problem(name, texts).means, problem.means)


def test_default_instances():
    for name in ("top-k", "cascade"):
        means = problems[name].build().means.tolist()
        assert sorted(means) == [0.05] * 16 + [0.2] * 4
        assert means[:2] == [0.05, 0.05]  # ties go to the lowest id: the good arms must not come first
    matroid = problems["uniform-matroid"].build().structure
    assert (matroid.arms, matroid.size) == (20, 1)
    table_2 = problems["linear-matroid"].build()
    assert table_2.optimum == pytest.approx(2.15, abs=1e-12)
    assert table_2.structure.solve(table_2.means[np.newaxis]).tolist() == [[0, 1, 2]]
    assert table_2.structure.loops == (6,)
    assert not table_2.structure.independent({0, 5})


def test_made_up_movies_are_of_the_size_of_the_real_ones_and_say_what_they_are():
    problem = build_problem("synthetic-movies")
    assert problem.outcomes.shape == (6040, 100)
    assert problem.structure.size == 17
    assert all(name.startswith("made-up movie") for name in problem.names)
    assert problem.means.max() == pytest.approx(0.57, abs=0.03)
    assert problem.means.min() == pytest.approx(0.20, abs=0.03)
    row = problem.structure.vectors[3]
    assert (
        problem.names[3]
        == f"made-up movie 4: genres {', '.join(str(g + 1) for g, has in enumerate(row) if has)}"
    )


def test_means_by_name():
    problem = build_problem("top-k", {"arms": "3", "size": "1", "means": "0.1, 0.9 0.5"})
    assert problem.means.tolist() == [0.1, 0.9, 0.5]


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("top-q", {}, "unknown problem 'top-q': did you mean top-k"),
        ("cascade", {"position": "3"}, "unknown parameter 'position': did you mean positions"),
        ("cascade", {"x": "3"}, "known are items, positions, good, other, means"),
        ("top-k", {"arms": "many"}, r"arms = many: must be an integer in \[1, 100000\]"),
        ("top-k", {"arms": "2.5"}, "arms = 2.5: must be an integer"),
        ("top-k", {"arms": "0"}, "arms = 0: must be an integer in"),
        ("top-k", {"good": "nan"}, r"good = nan: must be a number in \[0, 1\]"),
        ("top-k", {"size": "21"}, "size = 21: must be at most the number of arms, 20"),
        ("top-k", {"means": "0.1,0.2"}, "one for each of the 20 arms"),
        ("top-k", {"means": "0.1,big"}, "means = 0.1,big: must be numbers"),
        ("shortest-path", {"edges": "s"}, "edges: 's' must be two vertices"),
        ("shortest-path", {"edges": "s-a"}, "sink = 't'"),
        ("graphic-matroid", {"edges": "a-b"}, "vertex 'a' must be an integer"),
        ("graphic-matroid", {"vertices": "1"}, "a matroid without a basis"),
        ("linear-matroid", {"vectors": "0 0; 0 0"}, "a matroid without a basis"),
        ("linear-matroid", {"vectors": "0.5 1"}, "vectors = 0.5 1: must be integers"),
        ("partition-matroid", {"capacities": "0,0,0,0"}, "a matroid without a basis"),
        ("partition-matroid", {"sizes": "5,0", "capacities": "1,1"}, "no part empty"),
        ("coverage", {"left": "60", "size": "30"}, "enumeration"),
        ("open-bandit", {"position": "4"}, "position = 4: must be one of pooled, 1, 2, 3"),
        ("open-bandit", {"items": "81"}, r"items = 81: must be an integer in \[1, 80\]"),
        ("movielens", {}, "folder = '': must name the unpacked archive ml-1m"),
        ("synthetic-movies", {"movies": "16"}, r"movies = 16: must be an integer in \[17, 3883\]"),
        ("open-bandit-cascade", {"items": "2"}, "positions = 3: must be at most the number of items, 2"),
    ],
)
def test_wrong_settings_are_refused_by_name_value_and_rule(name, settings, message):
    with pytest.raises(ProblemError, match=message):
        build_problem(name, settings)


def test_parsing_takes_text_and_values():
    parameters = [
        Parameter("count", "int", 3, 1, None, "a count"),
        Parameter("rate", "float", 0.5, None, 1.0, "a rate"),
        Parameter("mode", "str", "a", meaning="a mode", choices=("a", "b")),
    ]
    assert parse_settings({}, parameters) == {"count": 3, "rate": 0.5, "mode": "a"}
    parsed = parse_settings({"count": 7.0, "rate": 1, "mode": "b"}, parameters)
    assert parsed == {"count": 7, "rate": 1.0, "mode": "b"}
    assert type(parsed["count"]) is int
    assert type(parsed["rate"]) is float
    assert [parameter.rule for parameter in parameters] == [
        "an integer of at least 1",
        "a number of at most 1",
        "one of a, b",
    ]


@pytest.mark.parametrize("value", [True, 2.5, float("inf"), "", "1e3", 0])
def test_what_is_no_integer_in_range_is_refused(value):
    with pytest.raises(SettingError, match=r"count = .*: must be an integer of at least 1"):
        parse_settings({"count": value}, [Parameter("count", "int", 3, 1)])


@pytest.mark.parametrize("value", ["inf", "-inf", "nan", float("inf")])
def test_an_infinite_number_is_refused_even_without_limits(value):
    with pytest.raises(SettingError, match=r"rate = .*: must be a number"):
        parse_settings({"rate": value}, [Parameter("rate", "float", 0.5)])
