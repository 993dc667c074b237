"""Anytime mode: gross bugs in few draws, true claims refuted as rarely as stated, evidence kept over runs."""

import json
import math
import os

import numpy as np
import pytest
from click.testing import CliRunner

from mechanisms import Box, Interval, Laplace
from verify import SubjectError, claimed, verify
from verify.command_line import cli
from verify.events.event import event_from_dict
from verify.events.view_sample import Column, ViewSample
from verify.sampling.anytime_result import Opening
from verify.sampling.anytime_test import anytime_test
from verify.sampling.draws import Candidate
from verify.sampling.wealth_file import WealthError

EPSILON = 0.1


def candidate(draw, data, other, columns=1, kind="real", label="pair"):
    names = tuple(Column(f"o{i}", f"output {i}", kind) for i in range(1, columns + 1))

    def sample(other_world, n, seed):
        values = draw(other if other_world else data, np.random.default_rng(seed), n)
        return ViewSample(np.asarray(values, dtype=float).reshape(n, columns), names)

    return Candidate(label, sample)


def laplace(scale):
    return lambda data, rng, n: data + rng.laplace(scale=scale, size=n)


def histogram(data, rng, n):
    return data + rng.laplace(scale=EPSILON, size=(n, 5))


def noiseless_replies(data, rng, n):
    return data >= rng.laplace(scale=2 / EPSILON, size=(n, 1))


NOISY_HISTOGRAM_2 = candidate(histogram, np.ones(5), np.array([2.0, 1, 1, 1, 1]), 5)
SVT_5 = candidate(noiseless_replies, np.ones(10), np.array([2.0] * 5 + [0.0] * 5), 10, "category")
HALF_NOISE = candidate(laplace(0.5 / EPSILON), 0.0, 1.0)
CORRECT = candidate(laplace(1.0 / EPSILON), 0.0, 1.0)


def bet(*candidates, epsilon=EPSILON, seed=0, samples=100_000, false_alarm=0.05, **more):
    return anytime_test(
        candidates,
        claim_epsilon=epsilon,
        claim_delta=0.0,
        samples=samples,
        confidence=0.9,
        false_alarm=false_alarm,
        seed=seed,
        **more,
    )


@pytest.mark.parametrize(
    ("subject", "runs", "most"),
    [(NOISY_HISTOGRAM_2, 8, 69), (SVT_5, 4, 400), (HALF_NOISE, 4, 16_000)],
    ids=["NoisyHist2", "SVT5", "half the noise"],
)
def test_gross_bugs_need_few_draws(subject, runs, most):
    """Means of 22, 245 and 7,700 draws a side (20 to 30 runs); the bounds are loose because a few runs vary."""
    results = [bet(subject, seed=seed) for seed in range(runs)]
    assert all(result.refuted for result in results)
    assert np.mean([result.draws for result in results]) <= most
    assert all(result.epsilon_lower > EPSILON for result in results)
    assert all(result.p_value <= 0.05 for result in results)


def at_the_boundary(runs, samples, false_alarm):
    return [
        anytime_test(
            [candidate(laplace(1.0), 0.0, 1.0)],
            claim_epsilon=1.0,
            claim_delta=0.0,
            samples=samples,
            confidence=0.7,
            false_alarm=false_alarm,
            seed=seed,
        )
        for seed in range(runs)
    ]


def test_a_true_claim_at_its_boundary_is_refuted_as_rarely_as_stated():
    """At 0.2 more than 14 of 24 refutations, at 0.3 more than 16 wrong bounds have probability below 1e-4."""
    results = at_the_boundary(24, 2_000, 0.2)
    assert sum(result.refuted for result in results) <= 14
    assert sum(result.epsilon_lower > 1.0 for result in results) <= 16


@pytest.mark.slow
def test_a_true_claim_is_refuted_at_most_at_the_stated_rate_in_many_runs():
    """At 0.05 more than 32 of 300 refutations have probability below 1e-4."""
    results = at_the_boundary(300, 10_000, 0.05)
    assert sum(result.refuted for result in results) <= 32
    assert sum(result.epsilon_lower > 1.0 for result in results) <= 120


def test_wealth_under_the_claim_does_not_grow_on_average():
    """Ville: a supermartingale from 1 has mean at most 1 when stopped; 30 runs, wealth cut at e³."""
    wealths = [math.exp(min(bet(CORRECT, seed=seed, samples=1_500).log_wealth, 3.0)) for seed in range(30)]
    assert np.mean(wealths) <= 1.0 + 4 * np.std(wealths) / math.sqrt(30)


def test_the_right_one_of_several_pairs_is_bet_on():
    equal = [candidate(laplace(1.0), 0.0, 0.0, label=f"equal {i}") for i in range(3)]
    found = bet(*equal, candidate(laplace(1.0), 0.0, 1.0, label="the pair"), seed=1)
    assert found.refuted
    assert found.label == "the pair"
    assert found.draws < 2_000
    swapped = bet(*equal, candidate(laplace(1.0), 1.0, 0.0, label="the pair"), seed=1)
    assert swapped.refuted


def test_the_same_seed_gives_the_same_bets_and_they_multiply_to_the_wealth():
    first, second = bet(SVT_5, seed=3), bet(SVT_5, seed=3)
    assert first.to_dict() == second.to_dict()
    assert sum(one.gain for one in first.bets) == pytest.approx(first.log_wealth)
    assert [one.start for one in first.bets] == sorted(one.start for one in first.bets)
    assert bet(SVT_5, seed=4).to_dict() != first.to_dict()


def test_every_bet_is_on_draws_that_came_later_and_can_be_counted_again():
    result = bet(HALF_NOISE, seed=2, samples=4_000)
    draws = {}
    for world in (False, True):
        batches, size, done = [], 64, 0
        number = 0
        while done < result.draws:
            sequence = np.random.SeedSequence(2, spawn_key=(3, 0, int(world), number))
            size = 64 if done < 512 else done_part(done)
            batches.append(HALF_NOISE.draw(world, size, sequence).values)
            done, number = done + size, number + 1
        draws[world] = np.concatenate(batches)
    for one in result.bets:
        if one.start + one.draws > 512:
            break
        rows = slice(one.start, one.start + one.draws)
        columns = HALF_NOISE.draw(False, 64, np.random.SeedSequence(0)).columns
        again = event_from_dict(one.to_dict()["event"], columns)
        counts = [int(again.holds(ViewSample(draws[w][rows], columns)).sum()) for w in (False, True)]
        assert counts == ([one.hits_prime, one.hits] if one.swapped else [one.hits, one.hits_prime])


def done_part(done):
    """Size of a batch once parts are at least 64: an eighth of the stretch, which is the next power of two."""
    return max(64, 2 ** int(math.log2(done)) // 8)


def test_a_pocket_limits_the_loss_and_carries_wealth_on():
    kept = bet(CORRECT, seed=5, samples=20_000, opening=Opening(2.0, 2.5, {}, 0.5))
    assert kept.log_wealth >= 2.0 + math.log(0.5) - 1e-9
    won = math.exp(sum(one.gain for one in kept.bets))
    assert kept.log_wealth == pytest.approx(2.0 + math.log(0.5 + 0.5 * won))
    assert kept.log_peak >= 2.5
    rich = bet(CORRECT, seed=5, opening=Opening(0.0, 3.1))
    assert rich.refuted  # it was, before
    assert rich.draws <= 64


def test_events_of_an_earlier_run_are_bet_on_from_the_first_draw():
    first = bet(NOISY_HISTOGRAM_2, seed=1)
    later = bet(NOISY_HISTOGRAM_2, seed=2, opening=Opening(0.0, 0.0, first.closing))
    assert later.bets[0].start == 0
    assert later.bets[0].event == first.bets[-1].event


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"samples": 100}, "samples=100: must be at least 128"),
        ({"false_alarm": 0.2}, "must be below 1 - confidence"),
        ({"epsilon": -1.0}, "epsilon=-1.0: must lie in"),
        ({"false_alarm": 0.0}, "must lie in"),
    ],
)
def test_parameters_are_checked(options, words):
    with pytest.raises(ValueError, match=words):
        bet(CORRECT, **options)
    with pytest.raises(ValueError, match="candidates must not be empty"):
        bet()


# --- verify, and the wealth file -----------------------------------------------------------------


@claimed(data=Interval(0, 1))
def half_the_noise(data, rng, lanes):
    return data + rng.laplace(scale=0.5, size=lanes)


@claimed(data=Interval(0, 1))
def a_little_less_noise(data, rng, lanes):
    return data + rng.laplace(scale=1 / 1.3, size=lanes)


@claimed(data=Box(0, 1, 2))
def correct(data, rng):
    return data[0] + rng.laplace(scale=1.0)


def test_verify_anytime_stops_early():
    result = verify(half_the_noise, epsilon=1.0, anytime=True)
    assert result.verdict == "refuted"
    assert result.lower.samples < 20_000
    assert result.details["anytime"]["p_value"] <= 1e-4
    assert "anytime=True" in result.witness.reproduce
    assert verify(Laplace(scale=0.5), epsilon=1.0, anytime=True).verdict == "refuted"
    right = verify(Laplace(scale=1.0), epsilon=1.0, anytime=True, samples=20_000)
    assert right.verdict == "certified"
    with pytest.raises(SubjectError, match="anytime is for functions"):
        verify("cucb", epsilon=1.0, anytime=True)


def test_evidence_accumulates_over_runs_until_it_refutes(tmp_path):
    file = tmp_path / "wealth.json"
    for _ in range(12):
        result = verify(a_little_less_noise, epsilon=1.0, wealth=file, samples=12_000)
        if result.verdict == "refuted":
            break
    saved = json.loads(file.read_text())
    seeds = [run["seed"] for run in saved["runs"]]
    assert seeds == list(range(len(seeds)))
    assert len(seeds) > 1
    assert result.verdict == "refuted"
    assert saved["log_peak"] >= math.log(1e4)
    again = verify(a_little_less_noise, epsilon=1.0, wealth=file, samples=12_000)
    assert again.verdict == "refuted"
    assert os.listdir(tmp_path) == ["wealth.json"]


def test_a_wealth_file_of_something_else_is_refused(tmp_path):
    file = tmp_path / "wealth.json"
    verify(correct, epsilon=1.0, wealth=file, samples=2_000, seed=7)
    before = file.read_text()
    with pytest.raises(WealthError, match="seed=7: the wealth file has a run of it"):
        verify(correct, epsilon=1.0, wealth=file, samples=2_000, seed=7)
    with pytest.raises(WealthError, match="evidence on the claim"):
        verify(correct, epsilon=1.1, wealth=file, samples=2_000)
    with pytest.raises(WealthError, match="evidence on the subject"):
        verify(half_the_noise, epsilon=1.0, wealth=file, samples=2_000)
    saved = json.loads(before)
    file.write_text(json.dumps({**saved, "source": "0"}))
    with pytest.raises(WealthError, match="source code was different"):
        verify(correct, epsilon=1.0, wealth=file, samples=2_000)
    for broken in ("", "[]", "{}", "null", json.dumps({**saved, "log_wealth": 99.0})):
        file.write_text(broken)
        with pytest.raises(WealthError, match="wealth="):
            verify(correct, epsilon=1.0, wealth=file, samples=2_000)
        assert file.read_text() == broken
    with pytest.raises(WealthError, match="folder does not exist"):
        verify(correct, epsilon=1.0, wealth=tmp_path / "no" / "wealth.json")


def test_the_command_line_bets_too(tmp_path):
    file = tmp_path / "subject.py"
    file.write_text(
        "from mechanisms import Interval\nfrom verify import claimed\n\n\n"
        "@claimed(data=Interval(0, 1))\ndef half(data, rng, lanes):\n"
        "    return data + rng.laplace(scale=0.5, size=lanes)\n"
    )
    arguments = ["verify", f"{file}:half", "--epsilon", "1", "--json", "--wealth", str(tmp_path / "w.json")]
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == 1
    assert json.loads(result.stdout)["anytime"]["refuted"]
    assert "--anytime" in json.loads(result.stdout)["witness"]["reproduce"]
