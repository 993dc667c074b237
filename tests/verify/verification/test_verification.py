"""Verification of the registered learners; `test_paper_verdicts` has them at default effort."""

import json
import math

import pytest

from algorithms import CTS, CUCBLDP2, CascadeUCBRR
from algorithms.problems import Cascade, ProblemError, RankedLists, problems
from mechanisms import DiscreteLaplace, Gaussian, Laplace, RandomizedResponse, Sensitivity
from verify import SubjectError, verify

pytestmark = pytest.mark.usefixtures("small_searches")
FEW = {"effort": "quick", "samples": 5_000}  # for verdicts that no number of draws changes
SHORT = {**FEW, "horizon": 12}  # ... nor of rounds: as many as a quick coupled run looks at
SHORTEST = {**FEW, "horizon": 6}  # for what every run shows


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cucb-ldp1", "cucb-ldp2", "cascade-ucb-rr"])
def test_local_learners_are_certified_and_tight(name):
    result = verify(name, epsilon=1.0, **SHORT)
    assert result.verdict == "certified"
    assert result.upper.epsilon == 1.0
    assert result.details["coupled"]["largest_loss"] == pytest.approx(1.0, abs=1e-9)
    assert result.lower.epsilon == pytest.approx(1.0, abs=1e-8)


@pytest.mark.slow
def test_matroid_learners_are_certified_and_tight_in_the_released_means():
    result = verify("cucb-batch", epsilon=2.0, problem="linear-matroid", **SHORT)
    assert result.verdict == "certified"
    assert result.upper.epsilon == 2.0
    assert result.details["coupled"]["largest_loss"] == pytest.approx(2.0, abs=1e-9)
    assert result.lower.epsilon < 2.0


@pytest.mark.slow  # the paper verdicts have it at default effort, too
def test_printed_dpucb_mat_is_refuted_in_the_action_view():
    result = verify(
        "published/dpucb-mat", epsilon=1.0, settings={"elements": 20, "rank": 1}, samples=400_000, horizon=16
    )
    assert result.verdict == "refuted"
    assert result.claim.view == "the sequence of actions"
    assert result.lower.epsilon >= 1.8
    assert result.lower.confidence == 0.95
    assert result.upper.epsilon == 20.0  # L epsilon / K
    assert "round-0" in result.witness.neighbours["data"]


@pytest.mark.slow
def test_printed_dpucb_mat_holds_when_initial_observations_are_separate_records():
    result = verify("published/dpucb-mat", epsilon=1.0, settings={"initial_records": "separate"}, **FEW)
    assert result.upper.epsilon == 1.0
    assert result.verdict == "certified"


def test_printed_cascade_is_refuted_by_the_number_of_reports():
    result = verify("published/cascade-ucb-ldp-laplace", epsilon=1.0, **SHORT)
    assert result.verdict == "refuted"
    assert (result.witness.probability, result.witness.probability_prime) == (1.0, 0.0)
    assert result.details["black_box"]["delta_lower"] > 0.99
    assert any("number" in finding.message or "many" in finding.message for finding in result.findings)


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["cucb", "omm", "cts", "cascade-ucb1"])
def test_learners_without_privacy_name_the_first_raw_read(name):
    result = verify(name, epsilon=1.0, **SHORTEST)
    assert result.verdict in ("refuted", "unproven")
    assert math.isinf(result.upper.epsilon)
    assert result.findings[0].kind == "declassified"
    assert result.findings[0].where.startswith("algorithms/")


@pytest.mark.slow
@pytest.mark.parametrize("problem", ["shortest-path", "coverage", "open-bandit", "graphic-matroid"])
@pytest.mark.parametrize("name", [pytest.param("cucb-ldp1", marks=pytest.mark.slow), "cucb-ldp2"])
def test_semi_bandit_learners_are_certified_on_every_structure(name, problem):
    assert verify(name, epsilon=0.7, problem=problem, **SHORT).verdict == "certified"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("cucb-batch", "uniform-matroid"),
        ("cucb-batch", "partition-matroid"),
        ("cucb-batch", "graphic-matroid"),
        ("cucb-ldp-bit", "linear-matroid"),
    ],
)
def test_matroid_learners_are_certified_on_every_matroid(name, problem):
    result = verify(name, epsilon=0.7, problem=problem, **SHORT)
    assert result.verdict == "certified"


@pytest.mark.slow
def test_cascade_learner_is_certified_on_real_logs_and_at_one_position():
    assert (
        verify("cascade-ucb-rr", epsilon=3.0, problem="open-bandit-cascade", **SHORT).verdict == "certified"
    )
    single = verify("cascade-ucb-rr", epsilon=1.0, settings={"positions": 1, "items": 2}, **SHORT)
    assert single.verdict == "certified"


@pytest.mark.slow
def test_a_class_and_a_problem_object_give_what_their_names_give():
    by_name = verify("cucb-ldp2", epsilon=1.0, seed=3, **SHORTEST)
    by_class = verify(CUCBLDP2, epsilon=1.0, problem=problems["top-k"].build(), seed=3, **SHORTEST)
    assert by_name.details["black_box"] == by_class.details["black_box"]
    own = verify(CascadeUCBRR, epsilon=1.0, problem=Cascade(5, 2, [0.5] * 5), **SHORT)
    assert own.verdict == "certified"


@pytest.mark.slow
def test_the_same_seed_gives_the_same_result_and_another_seed_another():
    first, again, other = (
        {**verify("cucb-ldp2", epsilon=1.0, seed=seed, **SHORTEST).json(), "date": ""} for seed in (5, 5, 6)
    )
    assert first == again
    assert first["black_box"] != other["black_box"]


@pytest.mark.slow
def test_a_claim_below_the_truth_is_refuted_and_above_it_certified():
    assert verify("cucb-ldp2", epsilon=1.0, **SHORT).verdict == "certified"
    stricter = verify(Laplace(scale=1.0), epsilon=0.5, **FEW)
    assert stricter.verdict == "refuted"
    assert stricter.upper.epsilon == 1.0
    looser = verify(Laplace(scale=1.0), epsilon=2.0, **FEW)
    assert looser.verdict == "certified"


@pytest.mark.slow_cells("mechanism3-1.0-1e-05")
@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("mechanism", "epsilon", "delta"),
    [
        (Laplace.for_epsilon(1.0, sensitivity=Sensitivity.of_box([1.0] * 3)), 1.0, 0.0),
        (DiscreteLaplace(scale=2.0), 0.5, 0.0),
        (RandomizedResponse(size=5, epsilon=1.5), 1.5, 0.0),
        (Gaussian.for_epsilon_delta(1.0, 1e-5, sensitivity=Sensitivity.of_box([1.0] * 4)), 1.0, 1e-5),
    ],
)
def test_mechanisms_are_certified_at_their_own_epsilon(mechanism, epsilon, delta):
    assert verify(mechanism, epsilon=epsilon, delta=delta, **FEW).verdict == "certified"


def test_the_classical_gaussian_is_refuted_for_large_epsilon():
    # Balle & Wang 2018; the distributed linear paper's own setting, epsilon = 10, delta = 0.25.
    mechanism = Gaussian.classical(10.0, 0.25, sensitivity=Sensitivity(1.0, 1.0, 1.0))
    result = verify(mechanism, epsilon=10.0, delta=0.25, **FEW)
    assert result.verdict == "refuted"
    assert result.upper.epsilon == pytest.approx(18.356, abs=1e-3)
    assert result.lower.epsilon > 10.0


def test_json_is_plain_and_complete():
    verified = verify("cucb", epsilon=1.0, **SHORTEST)
    result = json.loads(json.dumps(verified.json(), allow_nan=False))
    assert set(result) >= {
        "subject",
        "claim",
        "verdict",
        "upper",
        "lower",
        "witness",
        "findings",
        "seed",
        "versions",
    }
    assert set(result["claim"]) >= {"model", "epsilon", "delta", "unit", "view"}
    assert result["upper"]["epsilon"] == "inf"
    assert set(result["lower"]) >= {"epsilon", "delta", "confidence", "method", "samples"}
    assert set(result["findings"][0]) >= {"kind", "where", "message"}


def test_the_witness_command_repeats_the_verification():
    result = verify("published/dpucb-mat", epsilon=1.0, settings={"elements": 5}, seed=2, **SHORTEST)
    assert result.witness.reproduce == (
        "dpwitness verify published/dpucb-mat --epsilon 1 --set elements=5 --set horizon=6 --effort quick "
        "--samples 5000 --seed 2"
    )


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"subject": "nothing", "epsilon": 1.0}, ValueError, "unknown learner 'nothing'"),
        ({"subject": "cucb-ldp2", "epsilon": 0.0}, ValueError, "epsilon = 0.0"),
        ({"subject": "cucb-ldp2", "epsilon": math.nan}, ValueError, "epsilon = nan"),
        ({"subject": "cucb-ldp2", "epsilon": math.inf}, ValueError, "epsilon = inf"),
        ({"subject": "cucb-ldp2", "epsilon": 1.0, "delta": 1.0}, ValueError, "delta = 1.0"),
        ({"subject": "cucb-ldp2", "epsilon": 1.0, "delta": -0.1}, ValueError, "delta = -0.1"),
        ({"subject": "cucb-ldp2", "epsilon": 1.0, "seed": -1}, ValueError, "seed = -1"),
        ({"subject": "cucb-ldp2", "epsilon": 1.0, "effort": "much"}, ValueError, "effort = 'much'"),
        ({"subject": "cucb-ldp2", "epsilon": 1.0, "problem": "cascade"}, ProblemError, "plays semi-bandit"),
        ({"subject": "cucb-ldp2", "epsilon": 1.0, "settings": {"colour": 1}}, ProblemError, "colour"),
        ({"subject": "cucb-ldp2", "epsilon": 1.0, "settings": {"size": 21}}, ProblemError, "size = 21"),
        (
            {"subject": Laplace(scale=1.0), "epsilon": 1.0, "problem": "top-k"},
            ProblemError,
            "takes no problem",
        ),
        ({"subject": 3, "epsilon": 1.0}, SubjectError, "type int"),
    ],
)
def test_refusals_name_what_is_wrong(arguments, error, words):
    with pytest.raises(error, match=words):
        verify(**arguments)


@pytest.mark.slow_cells("dp-pe-local-given3")
@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("subject", "given"),
    [
        (Laplace(scale=1.0), {}),
        ("zoo/svt5", {}),
        ("zoo/bandit-ucb", {"horizon": 6}),
        ("dp-pe-local", {"horizon": 20, "delta": 1e-3}),
    ],
)
def test_the_fewest_samples_are_one_number_and_enough_for_every_kind(subject, given):
    few = {"epsilon": 1.0, "effort": "quick", **given}
    with pytest.raises(ValueError, match="samples = 1023: must be a whole number of at least 1,024"):
        verify(subject, samples=1_023, **few)
    assert verify(subject, samples=1_024, **few).verdict in ("certified", "unproven")


def test_a_structure_of_the_wrong_family_is_refused():
    with pytest.raises(ProblemError, match="plays matroid problems"):
        verify(CTS, epsilon=1.0, problem=Cascade(3, 2, [0.1, 0.2, 0.3]))
    assert RankedLists(3, 2).size == 2


@pytest.mark.slow
def test_correct_subjects_are_never_refuted():
    """1,000 verifications of correct subjects: refutations have probability 1e-4 each, 0.1 expected in all."""
    subjects = [
        ("cucb-ldp1", {"arms": 4, "size": 2}),
        ("cucb-ldp2", {"arms": 4, "size": 2}),
        ("cucb-batch", {}),
        ("cascade-ucb-rr", {"items": 4, "positions": 2}),
        (Laplace.for_epsilon(1.0, sensitivity=Sensitivity.of_box([1.0, 1.0])), None),
        (Laplace(scale=1.0), None),
        (DiscreteLaplace(scale=1.0), None),
        (RandomizedResponse(size=3, epsilon=1.0), None),
        (Gaussian.for_epsilon_delta(1.0, 1e-2, sensitivity=Sensitivity(1.0, 1.0, 1.0)), None),
    ]
    refuted = []
    for seed in range(100):
        for subject, settings in subjects:
            delta = 1e-2 if isinstance(subject, Gaussian) else 0.0
            result = verify(subject, epsilon=1.0, delta=delta, settings=settings, effort="quick", seed=seed)
            assert result.verdict in ("certified", "refuted")
            if result.verdict == "refuted":
                refuted.append((subject, seed))
    assert len(refuted) <= 3, refuted  # P(Poisson(0.1) > 3) < 1e-5
