"""Suggestion of a learner for a problem, with the reason."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, get_args

from accountant import Simulation
from algorithms.catalogue.contextual_entries import contextual_learners
from algorithms.catalogue.learner_entry import CatalogueEntry
from algorithms.catalogue.linear_entries import linear_learners
from algorithms.catalogue.structured_entries import learners
from algorithms.epochs import epoch_horizon
from algorithms.learner import (
    DEFAULT_DELTA,
    LEAST_DELTA,
    check_delta,
    check_epsilon,
    check_horizon,
    needs_horizon,
)
from algorithms.problems import LinearBandit, LinearContexts, Matroid, Problem, ShortestPath, SuperArms, TopK
from algorithms.structured_learner import problem_kind
from algorithms.theory.gaps import GapsUnavailable
from algorithms.theory.regret import BOUNDS
from algorithms.theory.regret_bound import Instance, unit_mu
from mechanisms import Gaussian, OneHot, Sensitivity
from mechanisms.parameters import ParameterError

LearnerTrust = Literal["central", "local", "shuffle", "none"]

_UNIT = Sensitivity(1.0, 1.0, 1.0)


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A learner and the reason for it.

    Attributes
    ----------
    name
        The registered name, which ``dpwitness list`` shows.
    why
        The reason, a sentence.
    bound
        Its regret theorem at the problem, or None where it has none there.
    trivial
        The regret of the worst play, which a bound may exceed; None where there is no bound.
    needs_horizon
        The reason why it needs a horizon; empty if it needs none.
    """

    name: str
    why: str
    bound: float | None
    trivial: float | None
    needs_horizon: str


def suggest(
    problem: Problem | LinearBandit | LinearContexts,
    *,
    trust: LearnerTrust,
    epsilon: float,
    horizon: int | None,
    delta: float = 0.0,
) -> Suggestion:
    """Return the learner of least known regret among the certified ones here.

    Measured regret decides where there is some (`tests/benchmarks/compare_learners.py`), also where another learner has
    the least proved bound; elsewhere a theorem does, the noise that is added, or that there is no other. The reason
    says which.

    Parameters
    ----------
    problem
        The problem to be played.
    trust
        The party that sees raw data: "central", a trusted server; "local", no one but the user; "shuffle", the same,
        and messages are shuffled; "none" for no privacy.
    epsilon, delta
        The privacy of one record; linear and contextual learners need a delta above 0.
    horizon
        T; None if it is not known: then no bound is evaluated.

    Raises
    ------
    ParameterError
        If there is no learner for the problem under this trust, or a parameter is out of range; also for the learner
        itself: too few clients, more random bits than can be shuffled, or a delta that no shuffled bits keep.

    Examples
    --------
    >>> from algorithms.problems import build_problem
    >>> suggest(build_problem("top-k"), trust="central", epsilon=1.0, horizon=100_000).name
    'cucb-batch'
    """
    if trust not in get_args(LearnerTrust):
        raise ParameterError(f"trust = {trust!r}: must be one of {', '.join(get_args(LearnerTrust))}")
    check_epsilon(epsilon)
    if horizon is not None:
        check_horizon(horizon)
    try:
        if delta != 0:
            check_delta(delta)
    except ValueError:
        raise ParameterError(
            f"delta = {delta!r}: must be 0, or at least {LEAST_DELTA:.3g} and below 1"
        ) from None
    entry: CatalogueEntry[Any, Any]
    if isinstance(problem, LinearContexts):
        name, why = _contextual(trust, delta)
        entry = contextual_learners[name]
    elif isinstance(problem, LinearBandit):
        name, why = _linear(trust, delta)
        entry = linear_learners[name]
    else:
        begun = epoch_horizon(0) if horizon is None else horizon
        name, why = _structured(problem, trust, epsilon, delta, begun)
        entry = learners[name]
    needed = needs_horizon(entry.make)
    if horizon is not None or not needed:
        _check_made(name, entry, problem, epsilon, delta or DEFAULT_DELTA, horizon)
    if isinstance(problem, LinearContexts) or (horizon is None and not needed):
        return Suggestion(name, why, None, None, needed)
    horizon = check_horizon(horizon, needed)
    instance = Instance(problem, epsilon, horizon, delta or DEFAULT_DELTA)
    stated = BOUNDS.get(name)
    bound = None if stated is None else stated.bound_for(instance)
    if bound is None:
        return Suggestion(name, why, None, None, needed)
    if not bound.covers(instance):
        outside = f"{why}; its theorem does not hold here, where it needs: {bound.regime_on(instance)}"
        return Suggestion(name, outside, None, None, needed)
    try:
        return Suggestion(name, why, bound.evaluate(instance), instance.trivial_regret, needed)
    except GapsUnavailable as unknown:
        return Suggestion(name, f"{why}; its theorem has no value here: {unknown}", None, None, needed)


def _check_made(
    name: str,
    entry: CatalogueEntry[Any, Any],
    problem: object,
    epsilon: float,
    delta: float,
    horizon: int | None,
) -> None:
    """Raise `ValueError` if the learner refuses the problem or the parameters: it is not to be suggested."""
    try:
        entry.build(problem, epsilon=epsilon, delta=delta, horizon=horizon)(Simulation(0, 1))
    except ValueError as refusal:
        raise ParameterError(f"{name}, which would be suggested, refuses: {refusal}") from refusal


def _linear(trust: LearnerTrust, delta: float) -> tuple[str, str]:
    if trust == "none":
        return "dpe", "phased elimination without noise"
    if not delta:
        raise ParameterError("delta = 0.0: linear learners add Gaussian noise, and need a delta above 0")
    return (
        f"dp-dpe-{trust}",
        "the only learner here with clients that report averages; dp-pe-"
        f"{trust} where every round is another client's",
    )


def _contextual(trust: LearnerTrust, delta: float) -> tuple[str, str]:
    if trust == "none":
        return "linucb", "no privacy is asked for"
    if trust != "central":
        raise ParameterError(f"trust = {trust!r}: no learner of contexts works without a trusted server")
    if not delta:
        raise ParameterError("delta = 0.0: moments get Gaussian noise, which needs a delta above 0")
    return (
        "dp-linucb",
        "the only learner of private contexts here; joint privacy: a user's own action is for that user alone",
    )


def _structured(
    problem: Problem, trust: LearnerTrust, epsilon: float, delta: float, horizon: int
) -> tuple[str, str]:
    family, structure = problem_kind(problem), problem.structure
    if trust == "shuffle":
        return _shuffled(family, delta)
    if trust == "none":
        name = {"cascade": "cascade-ucb-kl", "experts": "hedge"}.get(family, "cucb-kl")
        return (
            name,
            "no privacy is asked for: the private learner without its noise, the least regret measured",
        )
    if family == "experts":
        return _experts(trust, delta)
    if family == "bandit":
        return _bandit(trust, epsilon, delta)
    if family == "cascade":
        return _cascade(structure, trust, epsilon, delta, horizon)
    if trust == "local":
        measured = (
            "randomized bits, of one outcome or, from epsilon = 4.86 on, of a few together: the least regret measured "
            "of local learners of sets and paths"
        )
        return "cucb-ldp-bit", measured + _singly(structure, "dp-bandit-ldp")
    if delta and epsilon <= 4 and _less_noise(epsilon, delta, share=0.5):  # cucb-batch feeds one arm of a set
        return (
            "cucb-batch-gaussian",
            "at this delta a number has half of Laplace's noise: then less regret was measured, as all played arms are "
            "fed",
        )
    if isinstance(structure, TopK | Matroid):
        measured = "the least regret measured on sets and matroids, at every epsilon from 0.2 to 20"
        return "cucb-batch", measured + _singly(structure, "dp-bandit")
    where = "paths" if isinstance(structure, ShortestPath) else "paths, not on problems of this kind"
    return "cucb-batch", f"the least regret measured on {where}, at every epsilon from 0.5 to 10"


def _singly(structure: object, learner: str) -> str:
    """Return words about a better learner where one arm is played at a time."""
    if isinstance(structure, TopK | Matroid) and structure.size == 1:
        return f"; one arm at a time is better played as Arms(m), by {learner}"
    return ""


def _shuffled(family: str, delta: float) -> tuple[str, str]:
    names = {"bandit": "dp-bandit-shuffle", "cascade": "cascade-ucb-batch-shuffle"}
    if family not in names:
        raise ParameterError(
            f"trust = 'shuffle': no learner of {family} problems shuffles messages; a local one's may be shuffled"
        )
    if not delta:
        raise ParameterError("delta = 0.0: shuffled bits keep no pure epsilon, and need a delta above 0")
    return names[family], "shuffled bits have at most a tenth more noise than a trusted server adds (theorem)"


def _experts(trust: LearnerTrust, delta: float) -> tuple[str, str]:
    if trust == "local":
        raise ParameterError("trust = 'local': no learner of experts works without a trusted server")
    if not delta:
        raise ParameterError("delta = 0.0: running sums get Gaussian noise, which needs a delta above 0")
    return (
        "dp-hedge",
        "privacy adds the deviation of one running sum to regret (theorem), at any horizon",
    )


def _less_noise(epsilon: float, delta: float, share: float = 1.0) -> bool:
    """Return True if Gaussian noise on a number that moves by 1 has less than a share of Laplace's variance."""
    return Gaussian.for_epsilon_delta(epsilon, delta, sensitivity=_UNIT).sigma ** 2 < share * 2 / epsilon**2


def _bandit(trust: LearnerTrust, epsilon: float, delta: float) -> tuple[str, str]:
    if trust == "local":
        return "dp-bandit-ldp", "1.1 times the least regret that randomized bits allow, as T grows (theorem)"
    if delta and _less_noise(epsilon, delta):
        return "dp-bandit-gaussian", "its noise decides: less on a batch than Laplace's at this delta"
    return "dp-bandit", "1.1 to 2.5 times the least regret that epsilon allows, as T grows (theorem)"


def _cascade(
    structure: SuperArms, trust: LearnerTrust, epsilon: float, delta: float, horizon: int
) -> tuple[str, str]:
    if trust == "local":
        return (
            "cascade-ucb-rr",
            "one symbol about the click has less variance than a noisy click vector, and an index valid at all counts "
            "at once: least regret measured of local learners of lists, from epsilon = 0.2 to 10",
        )
    if delta:
        # The noise in an item's radius, after as many phases as an item is in on average if there are the most.
        phases = structure.size * (2 + math.log2(horizon))
        exponent = math.log(3 * structure.arms**2 * (2 + math.log2(horizon)) * horizon**2)
        clicks = OneHot(structure.size).sensitivity
        laplace = clicks.l1 / epsilon * (2 * math.sqrt(exponent * phases) + exponent)
        if clicks.l2 / unit_mu(epsilon, delta) * math.sqrt(2 * exponent * phases) < laplace:
            return "cascade-ucb-batch-gaussian", "its noise decides: less than Laplace's at this delta"
    return (
        "cascade-ucb-batch",
        "one histogram for every phase of a list, released once: least regret measured",
    )
