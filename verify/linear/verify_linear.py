"""Verify a learner of linear bandits: what a record was charged, the exact loss of its releases, a test of the view.

Such a learner has one lane and releases sums of phases, so there are no coupled runs. A record is one client; what
it is part of is known from the ledger, and the composed loss of those releases is computed exactly. Where the
adversary sees the releases (a client's message, shuffled bits), that is both the upper and the lower bound; where it
sees actions only, the lower bound is about more than it sees, and a test of the action sequence looks for a refutation.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from accountant import Entry, Simulation, Trust
from accountant.composed_loss import compose
from algorithms.claim import Claim, View
from algorithms.linear_phases import Phase
from algorithms.linear_play import BuildPhased, Clients
from algorithms.problems import LinearBandit
from mechanisms import Binomial, Gaussian, Mechanism, NumpyNoise, PrivacyProfile, Sensitivity, ShuffledMean
from verify.effort import Effort
from verify.events.view_sample import Column, ViewSample
from verify.evidence import Evidence, Progress
from verify.learners.accounting_run import Accounting, Play, failing_place, run_accounts
from verify.learners.ledger_profile import ledger_profile
from verify.linear.data import Constant, play_on, replay_on_neighbours
from verify.linear.view import NEGLIGIBLE, tipping_pairs
from verify.sampling.anytime_bettor import Instead
from verify.sampling.black_box import black_box_test
from verify.sampling.draws import Candidate
from verify.stopping import stopped_in_time
from verify.time_limit import TimeLimitReached
from verify.verdict import Finding, LowerBound, UpperBound, Witness
from verify.verify_mechanism import check_declared_profile

FloatArray = npt.NDArray[np.float64]

ROUNDS_PER_EFFORT = 5
"""A phased learner's runs cost little: they are so many times longer than others'."""

_MOST_ACTIONS = (
    100  # with more of them the action view is drawn less often; less, too, where earlier phases are drawn
)
_FEWEST_DRAWS = 100_000
_FOR_EVER = 10**12  # draws that nobody makes in all runs of a wealth file together
_HUGE = 1e9  # an average reward beyond every clipping bound
_SURE = 1.0 - 1e-9  # of a lower end, beside the rounding of a profile


def verify_linear(
    build: BuildPhased,
    problem: LinearBandit,
    claim: Claim,
    *,
    horizon: int,
    effort: Effort,
    seed: int,
    reproduce: str,
    progress: Progress,
    seconds: float = math.inf,
    instead: Instead | None = None,
) -> Evidence:
    """Collect upper bound, lower bound, witness and findings for a linear learner's claim.

    Parameters
    ----------
    build
        Makes the learner on a gate.
    problem
        The actions, and the law that clients are drawn from.
    claim
        What it claims.
    horizon
        Rounds of every run.
    effort, seed
        How much work, and the seed of all randomness.
    reproduce
        The command that repeats this verification.
    progress
        Called with the share done and what is being done.
    seconds
        The time limit. A verification that it ends reports what was found, and that it was stopped.
    instead
        Called in place of the black-box test.
    """
    if claim.view == View.ACTIONS.value and not effort.false_alarm > 2.0 * NEGLIGIBLE:
        raise ValueError(
            f"false_alarm={effort.false_alarm!r}: must be above {2.0 * NEGLIGIBLE:g} where the view is a linear "
            f"learner's actions: of the histories that are drawn, some are left out"
        )
    evidence = Evidence()
    with stopped_in_time(evidence, seconds):
        _collect(evidence, build, problem, claim, horizon, effort, seed, reproduce, progress, instead)
    return evidence


def _collect(
    evidence: Evidence,
    build: BuildPhased,
    problem: LinearBandit,
    claim: Claim,
    horizon: int,
    effort: Effort,
    seed: int,
    reproduce: str,
    progress: Progress,
    instead: Instead | None,
) -> None:
    environment, accounting_seed, mechanism_seed, replay_seed, view_seed = np.random.SeedSequence(seed).spawn(
        5
    )
    datasets: list[Clients] = [
        problem,
        *(Constant(problem.population, problem.replacement, value) for value in (_HUGE, -_HUGE)),
    ]

    progress(0.0, "accounting runs")
    trust = Trust.LOCAL if claim.model == "local" else Trust.CENTRAL
    plays = [_player(clients, environment) for clients in datasets]
    accounting = run_accounts(build, plays, rounds=horizon, trust=trust, seed=accounting_seed)
    _add_accounting(evidence, accounting, claim)
    for mechanism, place in accounting.mechanisms.items():
        finding = check_declared_profile(mechanism, place, effort, mechanism_seed)
        if finding is not None:
            evidence.findings.append(finding)
    if problem.replacement:
        message = (
            "clients are drawn with replacement: elsewhere one may report more often than "
            f"the {len(accounting.paid)} times of these runs, and pays for each"
        )
        evidence.findings.append(Finding("replacement", "", message))

    progress(0.3, "replays")
    stopped = any(finding.kind not in ("declassified", "replacement") for finding in evidence.findings)
    if not stopped:
        evidence.findings += _replays(build, problem, replay_seed)
    paid = accounting.paid
    open_phase = _first_open(build)
    unbounded = open_phase is not None and not open_phase[1].clipped
    if unbounded:
        _add_unbounded(evidence, open_phase, claim, reproduce)
    elif paid and not stopped and all(entry.mechanism is not None for entry in paid):
        _add_exact(evidence, paid, open_phase, claim, reproduce)

    progress(0.5, "black-box test")
    if not (stopped or unbounded):
        _add_test(evidence, build, paid, claim, effort, seed, view_seed, reproduce, progress, instead)


def _player(clients: Clients, seed: np.random.SeedSequence) -> Play:
    return lambda learner, accountant: play_on(learner, clients, accountant, seed)


def _replays(build: BuildPhased, problem: LinearBandit, seed: np.random.SeedSequence) -> list[Finding]:
    try:
        return replay_on_neighbours(build, problem, _HUGE, seed=seed)
    except (Exception, SystemExit) as error:  # whatever a user's learner raises
        message = f"the learner could not be replayed: {type(error).__name__}: {error}"
        return [Finding("crash", str(failing_place(error)), message)]


def _first_open(build: BuildPhased) -> tuple[Any, Phase] | None:
    """Return the learner at its first phase with reports; None if there is none, or it does not run."""
    try:
        learner = build(Simulation(0, 1))
        phase = learner.act()
    except (Exception, SystemExit):  # the accounting run has reported it
        return None
    return (learner, phase) if phase is not None and phase.clients else None


# --- upper bound ---------------------------------------------------------------------------------


def _add_accounting(evidence: Evidence, accounting: Accounting, claim: Claim) -> None:
    evidence.findings.extend(accounting.findings)
    evidence.declassified.extend(accounting.declassified)
    if accounting.worst is None:
        evidence.upper = UpperBound(math.inf, 1.0, "the accountant refused: no finite bound")
        return
    evidence.details["accounting"] = {
        "worst_record": accounting.record,
        "releases": accounting.releases,
        "releases_of_worst": len(accounting.paid),
        "runs": accounting.runs,
        "rounds": accounting.rounds,
    }
    worst = accounting.worst
    length = f"largest of {accounting.runs} runs of {accounting.rounds:,} rounds"
    evidence.profile = ledger_profile(accounting.alike, length)
    if worst.epsilon is None:
        evidence.upper = UpperBound(math.inf, 1.0, "no bound: private data were declassified")
    elif len(accounting.paid) <= 1:
        epsilon = max((profile.epsilon(claim.delta) for profile in _profiles(accounting.paid)), default=0.0)
        evidence.upper = UpperBound(
            epsilon, claim.delta, f"exact profile of the one release of a client, per-record ledger, {length}"
        )
    else:
        many = len(accounting.paid)
        evidence.upper = UpperBound(
            _composed_epsilon(_profiles(accounting.paid), claim.delta),
            claim.delta,
            f"composition of the {many} releases of a client, per-record ledger, {length}",
        )


def _profiles(paid: tuple[Entry, ...]) -> list[PrivacyProfile]:
    """Return the profile of each release at what the record can move it by."""
    return [entry.mechanism.profile(entry.sensitivity) for entry in paid if entry.mechanism is not None]


def _composed_epsilon(profiles: list[PrivacyProfile], delta: float) -> float:
    """Return epsilon of several releases, whose mechanisms may depend on earlier ones.

    Gaussian ones add up in mu² (a filter, so this holds). For others each gets its share of delta (basic composition).
    """
    if all(profile.gaussian_mu is not None for profile in profiles):
        return float(compose([(profile, 1) for profile in profiles]).epsilon(delta).upper)
    return sum(profile.epsilon(delta / len(profiles)) for profile in profiles) * (1.0 + 1e-15 * len(profiles))


# --- exact lower bounds --------------------------------------------------------------------------


def _add_exact(
    evidence: Evidence,
    paid: tuple[Entry, ...],
    open_phase: tuple[Any, Phase] | None,
    claim: Claim,
    reproduce: str,
) -> None:
    """Offer the exact loss of the worst record's releases, where its data reach what noise is calibrated for."""
    profiles = _profiles(paid)
    protocol = None if open_phase is None else getattr(open_phase[0], "protocol", None)
    if all(isinstance(entry.mechanism, Gaussian) for entry in paid):
        counted = [(profile, 1) for profile in profiles]
    elif len(paid) == 1 and isinstance(paid[0].mechanism, Binomial) and isinstance(protocol, ShuffledMean):
        if protocol.half_range != protocol.bound:  # inputs do not reach whole numbers
            return
        noise = paid[0].mechanism
        one = Binomial(trials=noise.trials, shift=noise.shift, dimension=1, probability=noise.probability)
        counted = [(one.profile(), noise.dimension)]
    else:
        return
    composed = compose(counted)
    epsilon = max(0.0, composed.epsilon(claim.delta).lower * _SURE)
    times = f" in all {len(paid)} phases in which it reports" if len(paid) > 1 else ""
    evidence.details["exact"] = {"epsilon": epsilon, "delta": claim.delta, "releases_of_a_client": len(paid)}
    lower = LowerBound(
        epsilon=epsilon,
        delta=claim.delta,
        confidence=1.0,
        method="the exact privacy loss of what is released of one client",
        samples=0,
        in_view=claim.view != View.ACTIONS.value,
        decisive=True,
    )
    p, q = _likeliest_event(lambda at: float(composed.delta(at).lower), claim.epsilon)
    everything = "every average reward is" if "average" in claim.unit else "the reward is"
    evidence.offer(
        lower,
        Witness(
            neighbours={
                "data": f"one client: {everything} at its upper bound{times}; all others alike",
                "data_prime": f"the same client: {everything} at its lower bound{times}",
            },
            event=f"what is released is more than e^{claim.epsilon:g} times likelier on D than on D′",
            probability=p,
            probability_prime=q,
            reproduce=reproduce,
        ),
    )


def _likeliest_event(delta: Callable[[float], float], epsilon: float) -> tuple[float, float]:
    """Return P and Q of {privacy loss > epsilon}: delta = P - e^epsilon Q, and Q is minus its slope in e^epsilon."""
    step = 1e-6
    at, beyond = delta(epsilon), delta(epsilon + step)
    q = min(1.0, max(0.0, (at - beyond) / (math.exp(epsilon) * math.expm1(step))))
    return min(1.0, at + math.exp(epsilon) * q), q


def _add_unbounded(
    evidence: Evidence, open_phase: tuple[Any, Phase] | None, claim: Claim, reproduce: str
) -> None:
    """Without clipping two clients can be any distance apart: name a pair that breaks the claim."""
    assert open_phase is not None
    learner, phase = open_phase
    mechanism: Mechanism = learner.mechanism
    message = "reports are not clipped, and rewards have no bound: the sensitivity is infinite"
    evidence.findings.append(Finding("domain", "", message))
    if not isinstance(mechanism, Gaussian):
        return
    mu = 20.0 + 2.0 * claim.epsilon
    apart = mu * mechanism.sigma
    profile = mechanism.profile(Sensitivity(apart, apart, apart))
    p, q = _likeliest_event(lambda at: float(profile.delta(at)), claim.epsilon)
    action = int(phase.support[0])
    each = 0.5 * apart * float(phase.bounds[0])
    lower = LowerBound(
        epsilon=profile.epsilon(claim.delta) * _SURE,
        delta=claim.delta,
        confidence=1.0,
        method="the exact privacy loss of a client far beyond the assumed bound",
        samples=0,
        in_view=claim.view != View.ACTIONS.value,
        decisive=True,
    )
    witness = Witness(
        neighbours={
            "data": f"one client of phase 1: its average reward of action {action} is {each:.4g}",
            "data_prime": f"the same client: it is {-each:.4g}",
        },
        event=f"what is released is more than e^{claim.epsilon:g} times likelier on D than on D′",
        probability=p,
        probability_prime=q,
        reproduce=reproduce,
    )
    evidence.offer(lower, witness)


# --- black box -----------------------------------------------------------------------------------


def _add_test(
    evidence: Evidence,
    build: BuildPhased,
    paid: tuple[Entry, ...],
    claim: Claim,
    effort: Effort,
    seed: int,
    view_seed: np.random.SeedSequence,
    reproduce: str,
    progress: Progress,
    instead: Instead | None,
) -> None:
    """Test the claim's own view by sampling: the action sequence, or one client's release at its extremes."""
    samples, false_alarm = effort.samples // 4, effort.false_alarm
    if claim.view == View.ACTIONS.value:
        learner = build(Simulation(0, 1))
        if not hasattr(learner, "after"):
            return
        pairs = tipping_pairs(
            build, epsilon=claim.epsilon, delta=claim.delta, samples=effort.batch_samples, seed=view_seed
        )
        history = max((len(pair.drawn_history(effort.batch_samples)) for pair in pairs), default=0)
        most = _MOST_ACTIONS * effort.batch_samples // ((1 + 6 * history) * learner.active.size)
        samples = min(effort.batch_samples, max(_FEWEST_DRAWS, most))
        words = [(pair.words(False), pair.words(True)) for pair in pairs]
        # Bets of many runs are one test.
        candidates = [pair.candidate(samples if instead is None else _FOR_EVER) for pair in pairs]
        false_alarm -= NEGLIGIBLE
        if not candidates:
            evidence.details["action_view"] = (
                "Within this horizon no single client can tip the elimination of an action, as far as was looked."
            )
            return
    else:
        mechanism = paid[0].mechanism if len(paid) == 1 else None
        if not isinstance(mechanism, Gaussian | Binomial):
            return
        candidates = [_release_candidate(mechanism, paid[0].sensitivity)]
        words = [("a client's report is at its upper bound", "it is at its lower bound")]
    if instead is not None:
        instead(evidence, candidates, words, samples, negligible=effort.false_alarm - false_alarm)
        return
    try:
        result = black_box_test(
            candidates,
            claim_epsilon=claim.epsilon,
            claim_delta=claim.delta,
            samples=samples,
            confidence=effort.confidence,
            false_alarm=false_alarm,
            seed=seed,
            progress=lambda share, doing: progress(0.5 + 0.5 * share, doing),
            workers=effort.workers,
        )
    except TimeLimitReached:
        raise
    except KeyboardInterrupt:
        evidence.interrupted()
        return
    data, data_prime = words[result.candidate]
    evidence.keep(result, result.witness({"data": data, "data_prime": data_prime}, reproduce))


def _release_candidate(mechanism: Gaussian | Binomial, moved: Sensitivity | None) -> Candidate:
    """Return the pair of one release at both ends of what a client can move it by, in every coordinate."""
    allowed = moved if moved is not None else mechanism.sensitivity
    size = max(1, round(allowed.l1 / allowed.linf))
    whole = isinstance(mechanism, Binomial)
    step = np.full(size, round(allowed.linf) if whole else allowed.linf)
    columns = tuple(Column(f"released[{i}]", f"released value {i}", "real") for i in range(1, size + 1))

    def draw(other: bool, n: int, seed: np.random.SeedSequence) -> ViewSample:
        value = np.tile(np.zeros_like(step) if other else step, (n, 1))
        released = mechanism.release(value, NumpyNoise(np.random.default_rng(seed)))
        return ViewSample(np.asarray(released, dtype=np.float64), columns)

    return Candidate("a client's report at its upper bound / at its lower bound", draw)
