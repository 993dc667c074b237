"""Files that users hand to the verifier: each mistake is caught, with its line."""

import math
from pathlib import Path

import pytest

from mechanisms import AssumptionKind, Interval
from verify import SubjectError, claimed, verify

FOLDER = Path(__file__).parent / "subjects"
FUNCTIONS = FOLDER / "functions.py"
LEARNERS = FOLDER / "learners.py"
pytestmark = pytest.mark.usefixtures("small_searches")
FEW = {"effort": "quick", "samples": 6_000}  # enough where findings are asked for, or exact losses


def line_of(path: Path, words: str) -> str:
    """Return ``name.py:line`` of the first line that holds `words`."""
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        if words in line:
            return f"{path.name}:{number}"
    raise AssertionError(words)


def leak_of(name: str) -> str:
    """Return the line marked ``# the leak`` of a learner in the learners file."""
    lines = LEARNERS.read_text().splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith(f"class {name}("))
    number = next(number for number in range(start, len(lines)) if "# the leak" in lines[number])
    return f"{LEARNERS.name}:{number + 1}"


def found(result, kind: str) -> list[str]:
    return [finding.where for finding in result.findings if finding.kind == kind]


@pytest.mark.slow
def test_half_the_noise_is_refuted_near_the_truth():
    result = verify(f"{FUNCTIONS}:half_the_noise", epsilon=1.0, effort="quick", confidence=1 - 1e-5)
    assert result.verdict == "refuted"
    assert 1.8 <= result.lower.epsilon <= 2.0  # true: 2; beyond it with probability 1e-5
    assert result.witness.neighbours == {"data": "data = 0.0", "data_prime": "data = 1.0"} or (
        result.witness.neighbours == {"data": "data = 1.0", "data_prime": "data = 0.0"}
    )


@pytest.mark.slow
def test_a_function_in_lanes_is_refuted_too():
    result = verify(f"{FUNCTIONS}:half_the_noise_in_lanes", epsilon=1.0, effort="quick")
    assert result.verdict == "refuted"
    assert result.lower.epsilon >= 1.94


@pytest.mark.slow
def test_a_correct_function_is_unproven_with_a_bound_below_its_claim():
    result = verify(f"{FUNCTIONS}:laplace", epsilon=1.0, effort="quick")
    assert result.verdict == "unproven"
    assert math.isinf(result.upper.epsilon)
    assert result.exit_code == 3
    assert 0.8 < result.lower.epsilon < 1.0


@pytest.mark.slow
def test_one_draw_for_all_coordinates_is_refuted():
    assert verify(f"{FUNCTIONS}:one_draw_for_all", epsilon=1.0, effort="quick").verdict == "refuted"


def test_replay_finds_what_flows_around_the_gate():
    few = {**FEW, "samples": 2_000}
    clean = verify(f"{FUNCTIONS}:through_the_gate", epsilon=1.0, **few)
    assert {finding.kind for finding in clean.findings} <= {"floating-point"}  # NumPy's own noise shows there
    raw = verify(f"{FUNCTIONS}:raw_on_the_side", epsilon=1.0, **few)
    assert found(raw, "raw-output")
    assert raw.verdict == "refuted"
    more = verify(f"{FUNCTIONS}:as_many_calls_as_data", epsilon=1.0, **few)
    assert found(more, "more-calls")[0].endswith(line_of(FUNCTIONS, "total += gate.release"))
    moves = verify(f"{FUNCTIONS}:moves_by_two", epsilon=1.0, **few)
    assert found(moves, "sensitivity")[0].endswith(line_of(FUNCTIONS, "sensitivity=UNIT), data)"))
    foreign = verify(f"{FUNCTIONS}:own_randomness", epsilon=1.0, **few)
    assert found(foreign, "foreign-randomness")


@pytest.mark.slow
def test_a_mechanism_object_in_a_file():
    assert verify(f"{FUNCTIONS}:MECHANISM", epsilon=1.0, effort="quick").verdict == "certified"
    assert verify(f"{FUNCTIONS}:MECHANISM", epsilon=0.9, effort="quick").verdict == "refuted"


@pytest.mark.slow
def test_a_correct_learner_of_a_user_is_certified():
    result = verify(f"{LEARNERS}:Correct", epsilon=1.0, **FEW, horizon=20)
    assert result.verdict == "certified"
    assert result.details["coupled"]["largest_loss"] == pytest.approx(1.0, abs=1e-9)


@pytest.mark.few(1)
@pytest.mark.parametrize(("name", "how"), [("BranchesOnRaw", "compared"), ("CallsFloat", "float")])
def test_reads_of_raw_values_are_caught_with_the_line(name, how):
    result = verify(f"{LEARNERS}:{name}", epsilon=1.0, **FEW, horizon=20)
    assert result.verdict != "certified"
    assert math.isinf(result.upper.epsilon)
    assert found(result, "raw-read")[0].endswith(leak_of(name))
    assert how in result.findings[0].message


@pytest.mark.parametrize(
    ("name", "kind", "exact"),
    [
        ("OneSharedDraw", "declassified", None),
        pytest.param("SharedDrawInMechanism", "mechanism", None, marks=pytest.mark.slow),
        pytest.param("SharedDrawInCentralMechanism", "mechanism", None, marks=pytest.mark.slow),
        ("UnderDeclares", "sensitivity", 4.0),
        ("UnderDeclaresStability", "stability", 3.0),
    ],
)
def test_wrong_noise_is_refuted_with_the_line(name, kind, exact):
    enough = {**FEW, "samples": 20_000}  # one difference of two numbers among many readings
    result = verify(
        f"{LEARNERS}:{name}", epsilon=1.0, **(enough if name == "SharedDrawInMechanism" else FEW), horizon=20
    )
    assert result.verdict == "refuted"
    place = leak_of("SharedDrawInMechanism" if name.startswith("SharedDraw") else name)
    assert found(result, kind)[0].endswith(place)
    assert exact is None or result.lower.epsilon == pytest.approx(exact, abs=1e-6)


@pytest.mark.slow_cells("SmugglesThroughMap-raw-flow")
@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("SmugglesThroughMap", "raw-flow"),
        pytest.param("PeeksLate", "raw-flow", marks=pytest.mark.slow),
        ("ThroughAGlobal", "unrepeatable"),
        ("CatchesErrorsOfMap", "error-in-map"),
        ("CountsInPlace", "raw-read"),
        ("ActsBadly", "action"),
        ("InterruptsItself", "crash"),
        ("ExitsQuietly", "ends-process"),
    ],
)
def test_what_flows_around_the_gate_is_never_certified(name, kind):
    result = verify(f"{LEARNERS}:{name}", epsilon=1.0, **FEW, horizon=20)
    assert result.verdict != "certified"
    places = found(result, kind)
    assert places, result.findings
    if "# the leak" in LEARNERS.read_text().split(f"class {name}(")[1].split("\nclass ")[0]:
        assert places[0].endswith(leak_of(name))


def test_a_declared_stability_is_an_assumption():
    result = verify(f"{LEARNERS}:BelievedStability", epsilon=1.0, **FEW, horizon=20)
    function, assumption = result.assumptions
    assert "your function BelievedStability.published.<locals>.<lambda> in map" in function.message
    assert assumption.kind is AssumptionKind.DECLARED_STABILITY
    assert function.where.endswith(leak_of("BelievedStability"))
    assert assumption.where.endswith(leak_of("BelievedStability"))
    assert result.verdict == "unproven"
    assert result.decision.reasons[0].text == f"Unchecked assumption: {function}"
    shown = {"kind": "declared-stability", "message": assumption.message, "where": assumption.where}
    assert shown in result.json()["assumptions"]


@pytest.mark.slow
def test_a_learner_may_take_its_parameters_as_keywords():
    assert verify(f"{LEARNERS}:TakesAnything", epsilon=1.0, horizon=20, **FEW).verdict == "certified"


@pytest.mark.slow
def test_a_function_that_drifts_is_not_refuted_by_its_drift():
    result = verify(f"{FUNCTIONS}:drifts", epsilon=1.0, effort="quick")
    assert result.verdict == "unproven"
    assert found(result, "drift")


@pytest.mark.slow
def test_a_certificate_says_how_far_it_was_looked():
    result = verify("cucb-ldp2", epsilon=1.0, horizon=17, **FEW)
    assert "17 rounds" in result.upper.method
    said = [str(reason) for reason in result.decision.reasons]
    assert "Observed: runs of 17 rounds." in said
    assert said[-1].startswith("Proved for all K, L, ε and horizons: ")
    users = verify(f"{LEARNERS}:Correct", epsilon=1.0, horizon=20, **FEW)
    assert any("in every run of any length" in reason.text for reason in users.decision.reasons)
    assert "--horizon 17" in result.witness.reproduce
    with pytest.raises(ValueError, match="horizon = 0"):
        verify("cucb-ldp2", epsilon=1.0, horizon=0)


def test_separate_initial_records_are_part_of_the_claim():
    result = verify(
        "published/dpucb-mat",
        epsilon=1.0,
        settings={"initial_records": "separate", "elements": 5},
        horizon=6,
        **FEW,
    )
    assert "a report of its own" in result.claim.comment


def test_a_crash_is_a_finding_with_its_line():
    result = verify(f"{LEARNERS}:Crashes", epsilon=1.0, horizon=20, **FEW)
    assert result.verdict == "unproven"
    assert [finding.kind for finding in result.findings] == ["crash"]
    assert result.findings[0].where.endswith(line_of(LEARNERS, "# the crash"))


@pytest.mark.parametrize(
    ("subject", "words"),
    [
        ("missing.py:f", "missing.py: no such file"),
        (
            f"{FUNCTIONS}",
            "name the object too, as in .*; what could be verified in it: laplace.*takes_one_argument\\(",
        ),
        (f"{FUNCTIONS}:absent", "no object 'absent'; what could be verified in it: laplace"),
        (f"{FUNCTIONS}:NOT_A_SUBJECT", "type int"),
        (f"{FUNCTIONS}:without_claim", "no claim"),
        (f"{FUNCTIONS}:takes_one_argument", "must be (data, rng)"),
        (f"{FUNCTIONS}:raises", f"IndexError.*{line_of(FUNCTIONS, '[1.0][int(data)')}"),
        (f"{LEARNERS}:WithoutClaim", "needs a `claim`"),
    ],
)
def test_what_cannot_be_verified_is_refused(subject, words):
    import re

    pattern = words if ".*" in words else re.escape(words)
    with pytest.raises(SubjectError, match=pattern):
        verify(subject, epsilon=1.0, effort="quick")


@pytest.mark.slow
def test_a_word_is_an_output():
    @claimed(data=Interval(0, 1))
    def mood(data, rng):
        return "high" if data + rng.laplace(scale=0.5) > 0.5 else "low"

    result = verify(mood, epsilon=1.0, effort="quick")
    assert result.verdict == "refuted"
    assert result.witness.event in ("the output = high", "the output = low")
    assert not result.findings
