"""Whether a problem of a user's own draws what it declares: theorems on regret are about no others.

What theorems take for granted, of rounds (or clients) that are independent:

- *semi-bandits*: every outcome lies in [0, 1] and has its arm's mean, whatever is played; outcomes of one round may
  depend on each other; totals are of independent rounds;
- *cascades*: clicks have the law of items that attract independently, each with its mean;
- *linear bandits*: a client's average of n rewards of x is ``theta* . x``, but for an error that is sub-Gaussian with
  proxy ``sigma^2 |x|^2 + 1/n``: of the client, and of n rewards, each around its mean; and so is every linear
  combination of the averages of one client. Signs lie in [-1, 1];
- *contexts*: rewards lie in [-1, 1] and have mean ``theta* . x``;

and that regret is counted by these means. Only the methods of a user's own can break that, and a sample tells whether
they do, as far as one does: together all tests of a problem give a false alarm with a probability of at most 1e-6.
Errors of n rounds whose outcomes lie in an interval of length c are sub-Gaussian with proxy ``n c^2 / 4`` (Hoeffding).
Of m independent errors with proxy 1 the sum exceeds ``sqrt(2 m t)``, and the sum of squares ``m + 2 sqrt(m t) + 2 t``
(Hsu, Kakade and Zhang 2012, Theorem 2.1), with probability ``e^-t`` at most.
"""

from __future__ import annotations

import copy
import math
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from algorithms.lanes import lookup
from algorithms.problems import LinearBandit, LinearContexts, Problem, RankedLists
from algorithms.problems.own_draws import is_own
from mechanisms.arrays import FloatArray, IntArray

_FALSE_ALARM = 1e-6
_SAMPLED = 1 << 17
"""How many outcomes are drawn, about, for each method."""
_ACTIONS = 64  # that are drawn together
_MOST_ACTIONS = 1024  # of a linear bandit that are looked at
_TOGETHER = 16  # rounds of a total, or rewards of an average
_EXACT = 1e-9

_found: WeakKeyDictionary[Any, dict[bool, bool]] = WeakKeyDictionary()


def drawn_as_declared(problem: Problem | LinearBandit | LinearContexts, *, averages: bool = True) -> bool:
    """Return True if a problem's draws have the law of the module, by a test on a sample; this library's own have.

    Parameters
    ----------
    problem
        The problem played. A copy of it is drawn from, if it can be copied.
    averages
        True if clients report averages of several rewards of a linear bandit, False for single ones.
    """
    if not is_own(problem):
        return True
    try:
        known = _found.setdefault(problem, {})
    except TypeError:  # it has no hash, or no weak references
        known = {}
    if averages not in known:
        known[averages] = _passes_test(problem, averages)
    return known[averages]


def _passes_test(problem: Any, averages: bool) -> bool:
    try:
        drawn: Any = copy.deepcopy(problem)  # which may go on in a log of its own from draw to draw
    except Exception:  # whatever forbids it
        drawn = problem
    rng = np.random.default_rng(0)
    if isinstance(problem, LinearBandit):
        return _linear(drawn, (1, _TOGETHER) if averages else (1,), rng)
    if isinstance(problem, LinearContexts):
        return _contextual(drawn, rng)
    return _structured(drawn, rng)


def _sub_gaussian(errors: FloatArray, groups: IntArray, tests: int) -> bool:
    """Return True if independent errors of proxy 1, (m,), may be such in each group; of all `tests` groups."""
    level = math.log(3 * tests / _FALSE_ALARM)
    many = np.bincount(groups).astype(np.float64)
    total, square = np.bincount(groups, errors), np.bincount(groups, errors**2)
    near = np.abs(total) <= np.sqrt(2 * many * level) + _EXACT
    return bool((near & (square <= many + 2 * np.sqrt(many * level) + 2 * level)).all())


def _linear(problem: LinearBandit, plays: tuple[int, ...], rng: np.random.Generator) -> bool:
    means = problem.actions @ problem.theta
    if not (_equal(problem.means, means) and _equal(problem.gaps, means.max() - means)):
        return False
    k = len(means)
    chosen = np.arange(k)
    if k > _MOST_ACTIONS:
        chosen = np.append(rng.choice(k, _MOST_ACTIONS - 1, replace=False), means.argmax())
        chosen = np.unique(chosen)
    blocks = np.array_split(chosen, math.ceil(len(chosen) / _ACTIONS))
    tests = len(plays) * (len(chosen) + 2 * len(blocks))
    for support in blocks:
        clients = max(256, _SAMPLED // support.size // min(len(blocks), 8))
        for count in plays:
            counts = np.full(support.size, count)
            drawn = np.asarray(problem.draw_averages(support, counts, clients, rng), dtype=np.float64)
            if drawn.shape != (clients, support.size) or not np.isfinite(drawn).all():
                return False
            if problem.rewards == "signs" and np.abs(drawn).max() > 1.0 + _EXACT:
                return False
            expected = means[support]
            ways = np.column_stack(
                [np.eye(support.size), np.ones(support.size), np.where(expected < 0, -1.0, 1.0)]
            )
            reach = ((problem.actions[support].T @ ways) ** 2).sum(axis=0)
            proxies = problem.sigma**2 * reach + (ways**2).sum(axis=0) / count
            errors = (drawn - expected) @ ways / np.sqrt(proxies)
            groups = np.broadcast_to(np.arange(errors.shape[1]), errors.shape)
            if not _sub_gaussian(errors.ravel(), groups.ravel(), tests):
                return False
    return True


def _contextual(problem: LinearContexts, rng: np.random.Generator) -> bool:
    lanes = _SAMPLED // (2 * problem.actions) + 64
    contexts = problem.draw_contexts(rng, lanes)
    played = contexts[np.arange(lanes), rng.integers(contexts.shape[1], size=lanes)]
    expected, means = played @ problem.parameter, contexts @ problem.parameter
    regrets = means.max(axis=1, keepdims=True) - means
    if not (_equal(problem.means(contexts), means) and _equal(problem.regrets(contexts), regrets)):
        return False
    if not regrets.max() <= problem.largest_regret * (1 + _EXACT):
        return False
    errors = problem.draw_rewards(played, rng) - expected
    ways = np.column_stack([np.ones(lanes), np.where(expected < 0, -1.0, 1.0), played])
    weighted = errors[:, np.newaxis] * ways  # of weights of 1 at most, and errors in an interval of length 2
    groups = np.broadcast_to(np.arange(ways.shape[1]), ways.shape)
    return _sub_gaussian(weighted.ravel(), groups.ravel(), ways.shape[1])


def _structured(problem: Problem, rng: np.random.Generator) -> bool:
    structure = problem.structure
    means = np.asarray(problem.means, dtype=np.float64)
    weights = rng.random((_ACTIONS, structure.arms))
    weights[0] = means
    actions = np.asarray(structure.solve(weights))
    if not _equal(problem.expected_reward(actions), structure.reward(actions, means)):
        return False
    best = structure.optimum(means)
    if not (
        _equal(problem.optimum, best)
        and problem.benchmark <= structure.alpha * structure.beta * best + _EXACT
    ):
        return False
    each = max(64, min(1024, _SAMPLED // (_ACTIONS * structure.size)))
    numbers = np.repeat(np.arange(_ACTIONS), each)
    played = actions[numbers]
    one = np.ones(len(played), dtype=np.int64)
    several = np.where(np.arange(len(played)) % 2 == 0, 1, _TOGETHER)
    few = numbers[:: max(1, len(played) * structure.arms // (4 * _SAMPLED))]
    records = np.asarray(problem.draw_records(rng, len(few)))
    samples = [
        (numbers, one, problem.draw_feedback(played, rng)),
        (few, one[: len(few)], problem.feedback(records, actions[few])),
    ]
    if hasattr(problem, "draw_totals"):  # who plays rounds one by one needs none
        samples.append((numbers, several, problem.draw_totals(played, several, rng)))
    clicks = isinstance(structure, RankedLists)
    tests = len(samples) * (structure.arms + actions.size)
    return all(
        _outcomes(np.asarray(drawn, dtype=np.float64), which, rounds, actions, means, clicks, tests)
        for which, rounds, drawn in samples
    )


def _outcomes(
    drawn: FloatArray,
    which: IntArray,
    rounds: IntArray,
    actions: IntArray,
    means: FloatArray,
    clicks: bool,
    tests: int,
) -> bool:
    """Return True if totals of so many rounds, on the actions of these numbers, are as arms' means make them."""
    shown = actions[which]
    if drawn.shape != shown.shape:
        return False
    most = rounds[:, np.newaxis] * (1 + _EXACT)
    if not ((drawn >= -_EXACT) & (drawn <= most)).all() or (
        clicks and not (drawn.sum(axis=1) <= most[:, 0]).all()
    ):
        return False
    expected = lookup(means, shown)
    if clicks:
        passed = np.cumprod(1 - expected, axis=1)
        expected = expected * np.column_stack([np.ones(len(passed)), passed[:, :-1]])
    errors = 2 * (drawn - rounds[:, np.newaxis] * expected) / np.sqrt(rounds)[:, np.newaxis]
    there = shown >= 0
    places = which[:, np.newaxis] * shown.shape[1] + np.arange(shown.shape[1])
    return _sub_gaussian(errors[there], shown[there], tests) and _sub_gaussian(
        errors[there], places[there], tests
    )


def _equal(given: object, expected: object) -> bool:
    return bool(np.allclose(np.asarray(given), np.asarray(expected), rtol=_EXACT, atol=_EXACT))
