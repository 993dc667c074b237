"""Functions that misbehave get a clear finding or a clear error each, and the run ends in time."""

import math
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from verify import Listed, SubjectError, verify
from verify.outputs.output_layout import OutputLayout
from verify.outputs.wide_outputs import BLOCKS, KEPT
from verify.sampling import tester

FILE = Path(__file__).parent / "subjects" / "misbehaving.py"


def checked(name, **options):
    result = verify(f"{FILE}:{name}", epsilon=1.0, effort="quick", **{"samples": 10_000, **options})
    return result, {finding.kind: finding for finding in result.findings}


@pytest.mark.slow
def test_that_a_function_raises_is_part_of_its_output():
    lines = FILE.read_text().splitlines()
    line = next(number for number, text in enumerate(lines, 1) if "KeyError" in text)
    result, findings = checked("raises_on_one")
    assert "KeyError: 'no such bin' in 51 of 51 calls on data = 1.0" in findings["raises"].message
    assert findings["raises"].where.endswith(f"misbehaving.py:{line}")
    assert result.verdict == "refuted"
    assert result.witness.event in ("the raised error = KeyError", "the raised error is absent",
                                    "the raised error is present", "the output is absent",
                                    "the output is present")  # fmt: skip


def test_lanes_that_raise_now_and_then_are_asked_for_one_by_one():
    result, findings = checked("raises_in_lanes")
    assert "OverflowError" in findings["raises"].message
    assert result.verdict == "unproven"
    assert result.lower.epsilon > 0.5


@pytest.mark.slow
def test_nan_is_a_value_of_its_own():
    result, findings = checked("nan_where_negative")
    assert "NaN" in findings["nan"].message
    assert not findings["nan"].failing
    assert result.verdict == "unproven"
    _, always = checked("always_nan")
    assert {"nan", "constant"} <= set(always)


@pytest.mark.slow
def test_the_length_of_an_output_is_seen():
    result, findings = checked("as_long_as_the_data")
    assert "1 entry, 2 entries" in findings["shape"].message
    assert result.verdict == "refuted"
    assert result.witness.probability == 1.0
    assert result.witness.probability_prime == 0.0


@pytest.mark.slow
def test_foreign_randomness():
    """Where randomness comes from is a remark, and fails nothing."""
    results, remarks = {}, {}
    for name in ("own_generator", "numpy_global", "python_global"):
        results[name], remarks[name] = checked(name)
        assert not remarks[name]["foreign-randomness"].failing
        assert not any(finding.failing for finding in results[name].findings)
    assert "same data and generator state differ" in remarks["own_generator"]["foreign-randomness"].message
    assert "ignores-generator" in remarks["own_generator"]
    assert "global random state" in remarks["numpy_global"]["foreign-randomness"].message
    assert "global random state" in remarks["python_global"]["foreign-randomness"].message
    assert "ignores-generator" not in remarks["python_global"]
    again, _ = checked("numpy_global")
    assert results["numpy_global"].lower == again.lower, (
        "a global random state is seeded, so that results repeat"
    )


def test_state_that_alternates_is_no_global_random_state():
    _, findings = checked("every_other_call")
    assert "results are not reproducible" in findings["foreign-randomness"].message


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["fixed_seed", "sets_back_its_generator", "one_of_ten_seeds"])
def test_lanes_that_repeat_from_call_to_call_prove_nothing(name):
    result, findings = checked(name)
    assert "100 % of the lanes" in findings["repeats"].message
    assert "fixed seed" in findings["repeats"].message
    assert "below 2^53" in findings["repeats"].message  # the srand of some awks takes 31 bits
    assert (result.verdict, result.lower, result.witness) == ("unproven", None, None)


@pytest.mark.slow
def test_events_too_rare_for_a_first_look_are_looked_at_once_they_refute():
    result, findings = checked("fixed_seed_of_rare_events", samples=400_000)
    assert "repeats" in findings
    assert (result.verdict, result.lower, result.witness) == ("unproven", None, None)


def test_remembered_outputs_are_no_leak():
    result, findings = checked("remembers_its_outputs")
    assert "caches its output per data set" in findings["remembers"].message
    assert (result.verdict, result.witness) == ("unproven", None)


@pytest.mark.parametrize(
    ("name", "verdict", "words"),
    [
        pytest.param("huge_whole_numbers", "unproven", "output minus 10^400 ", marks=pytest.mark.slow),
        pytest.param("huge_whole_numbers_tell", "refuted", "output minus 10^30 ", marks=pytest.mark.slow),
        pytest.param("int64_tell", "refuted", "the output minus 2^62 ", marks=pytest.mark.slow),
        pytest.param("uint64_noise", "unproven", "output minus 2^63 ", marks=pytest.mark.slow),
        ("lowest_bit_of_63", "refuted", "the output modulo 2^12 "),
    ],
)
def test_whole_numbers_beyond_floats_are_exact(name, verdict, words):
    result, findings = checked(name, samples=60_000)
    assert "constant" not in findings
    assert result.verdict == verdict
    assert words in result.witness.event


@pytest.mark.slow
def test_hidden_entries_are_absent():
    result, findings = checked("hidden_entries_tell")
    assert "masked" in findings["nan"].message
    assert result.verdict == "refuted"
    assert result.witness.event in ("the output is present", "the output is absent")


def test_data_that_hold_nan_are_not_said_to_change():
    missing = Listed([(math.nan, 1.0), ([1.0, math.nan], [1.0, 2.0])])
    result = verify(
        lambda data, rng, lanes: np.nansum(data) + rng.laplace(size=lanes),
        epsilon=2.0, effort="quick", samples=20_000, neighbours=missing,
    )  # fmt: skip
    assert "changes-data" not in {finding.kind for finding in result.findings}


@pytest.mark.filterwarnings("default")
def test_warnings_are_said_once(capsys):
    _, findings = checked("warns")
    assert "UserWarning: be careful" in findings["warns"].message
    assert not findings["warns"].failing
    assert "careful" not in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.filterwarnings("error")
def test_how_warnings_are_treated_is_left_as_it_is():
    with pytest.raises(SubjectError, match=r"UserWarning: be careful.* in all [0-9,]+ calls"):
        checked("warns")


@pytest.mark.slow
def test_of_very_long_outputs_few_columns_are_looked_at(monkeypatch):
    """Work grows with columns times draws: of 3,000 entries no event is ever looked for in more than 192 columns."""
    widths = []
    whole = OutputLayout.sample

    def sample(self, readings, *more, **named):
        found = whole(self, readings, *more, **named)
        widths.append(found.values.shape[1])
        return found

    monkeypatch.setattr(OutputLayout, "sample", sample)
    result, _ = checked("very_long", samples=None)
    assert result.verdict == "refuted"
    assert 0 < max(widths) <= KEPT + BLOCKS


@pytest.mark.slow
def test_very_long_outputs_are_summed_up():
    result, findings = checked("long", neighbours=Listed([(0.0, 1.0)]))
    assert "300 entries per output" in findings["wide"].message
    assert result.verdict == "refuted"
    assert "188 more" in result.witness.event  # of 128 entries and 64 sums


@pytest.mark.slow
def test_the_one_telling_entry_of_many_is_looked_at():
    result, _ = checked("one_of_many_tells", neighbours=Listed([(0.0, 1.0)]))
    assert result.verdict == "refuted"
    assert "output 218" in result.witness.event


@pytest.mark.slow
def test_a_key_that_is_there_is_not_said_to_be_another():
    result, findings = checked("occupied_keys")
    assert result.verdict == "refuted"
    data, other = (
        Counter(re.findall(r"\d", result.witness.neighbours[name])) for name in ("data", "data_prime")
    )
    (moved,) = [*(data - other), *(other - data)]
    event = result.witness.event
    assert set(re.findall(r"key\d", event)) <= {f"key{moved}"}
    assert "key" in event or event.startswith("the number of entries of the output ")
    assert "nan" not in findings
    assert "{key0}" in findings["shape"].message
    assert "{}" in findings["shape"].message


@pytest.mark.slow
def test_no_noise_is_refuted_by_an_event_without_error():
    result, findings = checked("no_noise")
    assert "did not vary in 1,000 calls" in findings["deterministic"].message
    assert result.verdict == "refuted"
    assert (result.witness.probability, result.witness.probability_prime) == (1.0, 0.0)


@pytest.mark.slow
def test_neighbours_on_which_an_output_without_noise_changes_are_found():
    """No known pattern of neighbours has one at a margin of 5 and the other at 6."""
    result, findings = checked("mode_far_from_a_tie")
    assert "deterministic" in findings
    assert result.verdict == "refuted"
    assert (result.witness.probability, result.witness.probability_prime) == (1.0, 0.0)


@pytest.mark.slow
def test_a_generator_of_the_module_is_not_forked(monkeypatch):
    """Every worker would start from the same state, and their draws would be the same."""
    used = []
    test = tester.black_box_test

    def watched(*arguments, executor, **options):
        used.append(executor.parallel_tasks)
        return test(*arguments, executor=executor, **options)

    monkeypatch.setattr(tester, "black_box_test", watched)
    result, findings = checked("own_generator_of_the_module", workers=2)
    assert "foreign-randomness" in findings
    assert result.verdict == "unproven"
    assert set(used) == {1}
    checked("no_noise", workers=2)
    assert used[-1] == 2


@pytest.mark.slow
def test_a_constant_is_not_tested():
    result, findings = checked("constant")
    assert set(findings) == {"constant"}
    assert result.verdict == "unproven"
    assert result.lower is None


@pytest.mark.parametrize(
    ("name", "words"),
    [
        pytest.param(
            "never_ends",
            "one call on data = 0.0 exceeded 1 s",
            marks=pytest.mark.slow,
        ),
        (
            "never_ends_on_one",
            "one call on data = 1.0 exceeded 1 s; on 1 other data set",
        ),
        ("swallows_everything", "one call on data = 0.0 exceeded 1 s"),
    ],
)
def test_what_never_ends_is_stopped(name, words):
    """They sleep, so that the limit, wide enough for a busy machine, costs no work; else they would never return."""
    result, findings = checked(name, time_limit=2.0)
    assert words in findings["time-limit"].message
    assert result.verdict == "unproven"


def test_a_slow_function_is_stopped_at_the_limit():
    result, findings = checked("slow", time_limit=2.0)
    assert "time limit of 2 s reached" in findings["time-limit"].message
    assert result.verdict == "unproven"


def test_prints_and_changed_data_are_remarks(capsys):
    result, findings = checked("prints")
    assert "prints (not tested): 'noisy value of 0.0 noisy value" in findings["prints"].message
    assert capsys.readouterr().out == ""
    assert result.lower.epsilon > 0.5
    _, mutates = checked("mutates")
    assert "modifies its input" in mutates["changes-data"].message


def test_memory_of_earlier_calls_is_no_leak():
    result, findings = checked("remembers")
    assert {"drift", "foreign-randomness"} <= set(findings)
    assert result.verdict == "unproven"


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("lanes_share_a_draw", "lanes must be independent draws"),
        ("wrong_lanes", r"returned an array of shape \(3,\) for 64 lanes"),
        ("a_dictionary_for_lanes", r"returned an array of shape \(3,\) for 64 lanes"),
        ("nothing_for_lanes", r"returned None for 64 lanes: must be an array"),
        ("one_number_for_lanes", r"returned one value, .* for 64 lanes"),
        ("deeply_nested", r"returned lists within lists, more than 50 deep"),
        ("returns_an_object", r"returned Generator\(PCG64\).*: must be a number or an array of numbers"),
    ],
)
def test_what_cannot_be_read_is_refused(name, words):
    with pytest.raises(SubjectError, match=words):
        checked(name)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"time_limit": 0.0}, "time_limit = 0.0: must be a number of seconds above 0"),
        ({"time_limit": math.nan}, "time_limit = nan"),
        ({"samples": 100}, "samples = 100: must be a whole number of at least 1,024"),
        ({"samples": 2.5}, "samples = 2.5: must be a whole number"),
        ({"samples": "many"}, "samples = 'many': must be one real number"),
        ({"confidence": 1.0}, "confidence = 1.0: must lie in [0.5, 1)"),
        ({"confidence": math.nan}, "confidence = nan"),
    ],
)
def test_wrong_options_are_refused(options, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        checked("constant", **options)


@pytest.mark.parametrize("name", ["fixed_seed", "fixed_seed_of_rare_events"])
def test_lanes_that_repeat_win_no_bets(name):
    result, findings = checked(name, samples=400_000, anytime=True)
    assert "repeats" in findings
    assert (result.verdict, result.lower, result.witness) == ("unproven", None, None)
