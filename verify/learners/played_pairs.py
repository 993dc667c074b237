"""Lower bounds from pairs of data sets that a learner was played on, side by side on coupled gates of one lane.

Every statement about a pair follows from the values that were released on both of its data sets, and never from
what noise is calibrated for. One play of all pairs (a pilot) chooses; bounds are made with other seeds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from accountant import Coupled, RecordId
from algorithms.claim import Claim
from mechanisms import Binomial, Gaussian, GaussianProfile, Laplace, NumpyNoise, Sensitivity
from mechanisms.losses.composed_loss import ComposedLoss, compose
from mechanisms.losses.enclosure import lower_end
from verify.conduct.conduct import Conduct
from verify.conduct.interrupts import subject_exceptions
from verify.conduct.other_processes import Again
from verify.conduct.process_state import subjects_own
from verify.findings.finding import LowerBound, Witness
from verify.learners.coupled_run import RELEASED_VIEWS
from verify.learners.learner_randomness import draws_elsewhere
from verify.learners.pair_gates import Move, Reflected, SteeredPair, Steering, Watched, gaussian_delta
from verify.sampling.evidence import Evidence
from verify.statistics.binomial_bounds import clopper_pearson_lower
from verify.statistics.likeliest_event import likeliest_event, ratio_event
from verify.statistics.sampled_losses import loss_lower_bound

PlayPairs = Callable[[Any, Coupled, Sequence[int]], Iterable[object]]
"""Lets a learner play on D, beside it the neighbours of these numbers, one step at a time."""


@dataclass(frozen=True, eq=False)
class PlayedNeighbours:
    """Neighbours of one data set D, each with another record replaced.

    Attributes
    ----------
    words
        For each neighbour, its record on D and on the neighbour, in words.
    records
        The records' names.
    play
        Lets a learner play on some of them.
    """

    words: Sequence[tuple[str, str]]
    records: Sequence[RecordId]
    play: PlayPairs


class _NotPlayed(Exception):
    """A play raised an exception, which is the cause of this one."""


@dataclass(frozen=True, kw_only=True)
class _Plays:
    """Numbers of plays and draws; the values were chosen by hand.

    Attributes
    ----------
    pilots
        Plays that choose a pair.
    at_once
        Plays of a first release that comes before all noise: they end with it.
    later
        Plays of one that comes later.
    steered
        Steered plays.
    reflected
        Pairs that are played with reflected noise.
    draws
        Draws of one release whose privacy loss has no formula.
    errors
        Number of equal parts of the false alarm: plays of a first release, its draws, steered plays, draws among them.
    """

    pilots: int = 6
    at_once: int = 200
    later: int = 40
    steered: int = 48
    reflected: int = 3
    draws: int = 20_000
    errors: int = 4


_PLAYS = _Plays()
_FIRST, _VALUES = "first value that differs", "released values"  # the observations that events are of
_WORTH_A_GRID = 0.5  # least probability at which the exact loss of binomial noise is worth its seconds
_ROUNDING = 1e-9  # relative, of m² and of a bound: floats are good to less


@dataclass(frozen=True, kw_only=True)
class _Bound:
    """A lower bound before it is offered: its event, the number of plays, and the probability that it is wrong.

    Its event is that the likelihood ratio of the observation is at least e^threshold. Its probability is exact if the
    bound is, and else at least so much with the bound's confidence; where no formula gives it, `hits` counts the pilot
    plays in which the event came up.
    """

    pair: int
    epsilon: float
    method: str
    event: str
    threshold: float
    probability: float
    probability_prime: float
    hits: int | None = None
    plays: int = 0
    error: float = 0.0


@dataclass(frozen=True, eq=False)
class PlayedPairs:
    """A learner on pairs of data sets.

    Attributes
    ----------
    build
        Makes it on a gate.
    pairs
        The pairs that it is played on.
    claim, conduct
        The claim that is verified, and the conduct of the verification.
    draws_from_gate
        True if the learner is known to draw from its gate alone, as this library's classes do.
    sees_draws
        True if the adversary of the claim sees the learner's own draws.
    """

    build: Callable[[Coupled], Any]
    pairs: PlayedNeighbours
    claim: Claim
    conduct: Conduct
    draws_from_gate: bool
    sees_draws: bool
    _known: dict[tuple[object, bytes], ComposedLoss | None] = field(default_factory=dict)

    def add(self, evidence: Evidence, seed: np.random.SeedSequence) -> bool | None:
        """Add the lower bounds from plays; return True if any release moved, or None if it could not be played.

        Errors are shared: all bounds together are wrong with at most the false alarm of the effort.
        """
        pilot_seed, first_seed, further_seed = seed.spawn(3)
        everybody = range(len(self.pairs.words))
        try:
            seeds = pilot_seed.spawn(_PLAYS.pilots)
            pilots = [self._play_on(Watched, everybody, each) for each in seeds]
            again = self._play_on(Watched, everybody, seeds[0])
            bounds, hidden = list(self._bounds(pilots, first_seed, further_seed)), False
            if not bounds and not self.sees_draws:  # of an adversary who sees more
                telling = replace(self, sees_draws=True)
                bounds, hidden = list(telling._bounds(pilots, first_seed, further_seed)), True
        except _NotPlayed:  # accounting has reported the error, if its runs raise it, too
            return None
        moved = any(any(gate.moves) for gate in pilots)
        largest = max((float(gate.loss.max(initial=0.0)) for gate in pilots), default=0.0)
        evidence.details["coupled"] = {
            "largest_loss": largest,
            "neighbours": len(self.pairs.words),
            "lanes": _PLAYS.pilots,
        }
        in_view = (
            self.claim.view in RELEASED_VIEWS
            and not hidden
            and not draws_elsewhere(evidence)
            and np.array_equal(again.loss, pilots[0].loss)
            and not any(gate.more_than_seen or gate.rests_on_word for gate in pilots)
        )
        for bound in bounds:
            self._offer(evidence, bound, seeds[0], in_view=in_view)
        return moved

    def _play_on(self, kind: type[Watched], pairs: Sequence[int], seed: np.random.SeedSequence) -> Watched:
        """Play some of the pairs to the end on a new gate of a kind; return the gate."""
        gate = kind(seed, len(pairs))
        self._play(gate, pairs)
        return gate

    def _play(self, gate: Coupled, pairs: Sequence[int], over: Callable[[], bool] = lambda: False) -> None:
        """Play to the end, or until `over` returns True; raise `_NotPlayed` if a user's learner raises anything."""
        with subjects_own():
            try:
                for _ in self.pairs.play(self.build(gate), gate, pairs):
                    if over():
                        break
            except subject_exceptions() as error:
                raise _NotPlayed from error

    def _visible_moves(self, moves: Iterable[Move]) -> list[Move]:
        """Return the moves of which nothing is hidden: those before the learner's own draws, if these are not seen."""
        return [move for move in moves if self.sees_draws or not move.drew]

    def _bounds(
        self,
        pilots: Sequence[Watched],
        first_seed: np.random.SeedSequence,
        further_seed: np.random.SeedSequence,
    ) -> Iterator[_Bound]:
        moves = [[self._visible_moves(of_pair) for of_pair in gate.moves] for gate in pilots]
        numbers = range(len(self.pairs.words))
        if self.claim.delta == 0.0:
            yield from self._pure_bounds(pilots, moves, further_seed)
            return
        first = [
            (self._epsilon(kind, self.claim.delta * len(moves) / times), pair, kind)
            for pair in numbers
            for kind, times in _kinds([of_pair[pair][0] for of_pair in moves if of_pair[pair]])
        ]
        best = max(first, key=lambda each: each[0], default=None)
        if best is not None:
            yield from self._first_release(best[1], best[2], first_seed)
        steered = [
            (min(_length(of_pair[pair]) for of_pair in moves), pair)
            for pair in numbers
            if all(len(of_pair[pair]) > 1 for of_pair in moves)
        ]
        if steered and max(steered)[0] > 0.0:
            yield from self._steered_plays(*max(steered), further_seed)

    def _loss(self, move: Move) -> ComposedLoss | None:
        """Return the privacy loss of a release of its own; None if there is no formula for it."""
        key = (move.mechanism, move.distances.tobytes())
        if key not in self._known:
            self._known[key] = None if move.mechanism is None else _release_loss(move)
        return self._known[key]

    def _epsilon(self, move: Move, delta: float) -> float:
        """Return a rough ε that a first release like this may show at δ, to choose a release by."""
        if delta >= 1.0:
            return 0.0
        if move.mechanism is None:
            return math.inf
        loss = None if type(move.mechanism) is Binomial else self._loss(move)  # whose grid takes seconds
        if loss is not None:
            return lower_end(loss.epsilon(delta)) or 0.0
        return float(np.quantile(_losses(move, 1000, np.random.SeedSequence(0)), 1.0 - delta))

    def _first_release(self, pair: int, kind: Move, seed: np.random.SeedSequence) -> Iterator[_Bound]:
        """Bound the loss by that of the first release that moves.

        Nothing that comes before it differs in law between D and D′, so that with T, that it is of this kind,
        δ(ε) >= P(T) δ_kind(ε): T is known before its noise is drawn, and the best event gains δ_kind on it. Where
        nothing at all is drawn before, and by a class that is known to draw from its gate alone, P(T) = 1.
        """
        delta, error = self.claim.delta, self.conduct.effort.significance / _PLAYS.errors
        sure = self.draws_from_gate and kind.first and not kind.drew
        n = 0 if sure else _PLAYS.at_once if kind.first else _PLAYS.later
        plays_seed, draws_seed = seed.spawn(2)
        hits = sum(self._begins_like(pair, kind, each) for each in plays_seed.spawn(n))
        share = 1.0 if sure else float(clopper_pearson_lower(hits, n, error))
        if share <= delta:
            return
        rare = type(kind.mechanism) is Binomial and share < _WORTH_A_GRID
        what, more, loss = "exact privacy loss", 0.0, None if rare else self._loss(kind)
        if kind.mechanism is None:  # the published values differ for certain
            epsilon, tells = math.inf, lambda at: share
        elif loss is not None:
            epsilon = lower_end(loss.epsilon(delta / share)) or 0.0
            tells = lambda at: share * (lower_end(loss.delta(at)) or 0.0)  # noqa: E731
        else:
            what, more, n = "sampled privacy losses", error, n + _PLAYS.draws
            losses = _losses(kind, _PLAYS.draws, draws_seed)
            epsilon = loss_lower_bound(losses[np.newaxis], delta / share, error).epsilon
            tells = lambda at: share * float(-np.expm1(np.minimum(at - losses, 0.0)).mean())  # noqa: E731
        method = f"{what} of the first release in which they differ, on played pairs"
        wrong = more + (0.0 if sure else error)
        # Where the bound has a confidence, its own ε is the threshold: the share of plays, which may be too small,
        # divides P and P′ alike, so that (P - δ) / P′ is at least e^ε.
        event = likeliest_event(tells, claimed=epsilon if wrong else self.claim.epsilon, bound=epsilon)
        yield _Bound(
            pair=pair,
            epsilon=epsilon,
            method=method,
            event=ratio_event(_FIRST, event.threshold),
            threshold=event.threshold,
            probability=event.probability,
            probability_prime=event.probability_prime,
            plays=n,
            error=wrong,
        )

    def _begins_like(self, pair: int, kind: Move, seed: np.random.SeedSequence) -> bool:
        """Play until a release moves; return True if it is like a given one, with nothing hidden before it."""
        gate = Watched(seed, 1)
        self._play(gate, [pair], over=lambda: bool(gate.moves[0]))
        return any(move.like(kind) for move in self._visible_moves(gate.moves[0][:1]))

    def _steered_plays(self, square: float, pair: int, seed: np.random.SeedSequence) -> Iterator[_Bound]:
        """Bound the loss of all Gaussian releases together; see `SteeredPair`."""
        delta, error = self.claim.delta, self.conduct.effort.significance / _PLAYS.errors
        n, m = _PLAYS.steered, math.sqrt(square * (1.0 - _ROUNDING))
        needed = delta / error ** (1.0 / n)  # if all plays reach m²
        if needed >= 1.0:
            return
        epsilon = (lower_end(compose([(GaussianProfile(m), 1)]).epsilon(needed)) or 0.0) * (1.0 - _ROUNDING)
        if epsilon <= 0.0:
            return
        steering = Steering(m, epsilon)
        reached = sum(self._reaches(pair, steering, each) for each in seed.spawn(n))
        share = float(clopper_pearson_lower(reached, n, error))
        if share * steering.delta * (1.0 - _ROUNDING) < delta * (1.0 - 2.0 * _ROUNDING):
            return
        method = "plays that are steered to where all Gaussian releases together tell most"
        least = share * gaussian_delta(m, epsilon)  # P - e^ε P′ is δ(ε), so that P is no less
        yield _Bound(
            pair=pair,
            epsilon=epsilon,
            method=method,
            event=ratio_event(_VALUES, epsilon),
            threshold=epsilon,
            probability=least,
            probability_prime=least * math.exp(-epsilon),
            plays=n,
            error=error,
        )

    def _reaches(self, pair: int, steering: Steering, seed: np.random.SeedSequence) -> bool:
        """Play until the sum of μ² reaches m² or cannot any more; return True if it has."""
        gate = SteeredPair(seed, steering, sees_draws=self.sees_draws)
        self._play(gate, [pair], over=lambda: gate.reached or gate.lost)
        return gate.reached

    def _pure_bounds(
        self, pilots: Sequence[Watched], moves: Sequence[Sequence[list[Move]]], seed: np.random.SeedSequence
    ) -> Iterator[_Bound]:
        """Bound pure ε: one loss above the claim refutes it, and Gaussian noise has no largest loss."""
        numbers = range(len(self.pairs.words))
        seen = [[float(self._loss_of(gate)[pair]) for gate in pilots] for pair in numbers]
        for pair in numbers:
            if any(move.mu is not None for of_pair in moves for move in of_pair[pair]):
                yield self._loss_bound(pair, seen[pair], "Gaussian noise bounds no privacy loss", math.inf)
                return
        losses = [max(of_pair) for of_pair in seen]
        chosen = np.argsort(losses)[::-1][: _PLAYS.reflected].tolist()
        for pair, child in zip(chosen, seed.spawn(len(chosen)), strict=True):
            played = self._play_on(Reflected, [pair], child)
            largest = max(losses[pair], float(self._loss_of(played)[0]))
            yield self._loss_bound(pair, seen[pair], "the privacy loss of plays", largest)

    def _loss_of(self, gate: Watched) -> np.ndarray[Any, np.dtype[np.float64]]:
        return (gate.loss if self.sees_draws else gate.loss_before_draws)[:, 0]

    def _loss_bound(self, pair: int, pilots: Sequence[float], method: str, epsilon: float) -> _Bound:
        """Return a bound on pure ε; its event is a likelihood ratio with a probability that the pilots estimate.

        A loss without a largest value exceeds the claim by 1, too.
        """
        threshold = _round_down(epsilon) if epsilon < math.inf else self.claim.epsilon + 1.0
        hits = sum(loss >= threshold for loss in pilots)
        return _Bound(
            pair=pair,
            epsilon=epsilon,
            method=f"{method}, on played pairs",
            event=ratio_event(_VALUES, threshold),
            threshold=threshold,
            probability=hits / len(pilots),
            probability_prime=hits / len(pilots) * math.exp(-threshold),
            hits=hits,
        )

    def _offer(
        self, evidence: Evidence, bound: _Bound, seed: np.random.SeedSequence, *, in_view: bool
    ) -> None:
        data, data_prime = self.pairs.words[bound.pair]
        lower = LowerBound(
            epsilon=_round_down(bound.epsilon),
            delta=self.claim.delta,
            confidence=1.0 - bound.error,
            method=bound.method,
            samples=bound.plays if bound.error else 0,
            in_view=in_view,
            decisive=True,
        )
        witness = Witness(
            neighbours={"data": data, "data_prime": data_prime},
            event=bound.event,
            probability=min(1.0, bound.probability),
            probability_prime=min(1.0, bound.probability_prime),
            reproduce=self.conduct.reproduce,
            details={"record": self.pairs.records[bound.pair], "largest_loss": bound.threshold},
            hits=bound.hits,
            trials=None if bound.hits is None else _PLAYS.pilots,
        )
        again = Again(lambda: self._play_on(Watched, [bound.pair], seed).digest)
        evidence.offer(lower, witness, again)


def _round_down(loss: float) -> float:
    """Return a loss less the rounding error of floats; at least 0."""
    return max(0.0, loss - _ROUNDING * (1.0 + loss)) if loss < math.inf else math.inf


def _kinds(moves: Sequence[Move]) -> list[tuple[Move, int]]:
    """Return a move of each kind, and the number of moves of that kind."""
    kinds: list[list[Move]] = []
    for move in moves:
        known = next((kind for kind in kinds if kind[0].like(move)), None)
        if known is None:
            kinds.append([move])
        else:
            known.append(move)
    return [(kind[0], len(kind)) for kind in kinds]


def _length(moves: Sequence[Move]) -> float:
    """Return Σ μ² of the Gaussian releases before the first of other noise."""
    total = 0.0
    for move in moves:
        mu = move.mu
        if mu is None:
            break
        total += mu * mu
    return total


def _release_loss(move: Move) -> ComposedLoss | None:
    """Return the exact loss of one release, composed of its coordinates' independent ones; None without a formula."""
    noise, apart = move.mechanism, move.distances.tolist()
    if type(noise) is Gaussian:
        size = float(np.linalg.norm(move.distances))
        return compose([(noise.profile(Sensitivity(size, size, size)), 1)])
    if type(noise) is Laplace:
        return compose([(noise.profile(Sensitivity(each, each, each)), 1) for each in apart])
    if type(noise) is Binomial and len(set(apart)) == 1 and apart[0].is_integer():
        one = replace(noise, dimension=1, shift=round(apart[0]))
        return compose([(one.profile(), len(apart))])
    return None


def _losses(move: Move, n: int, seed: np.random.SeedSequence) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the privacy losses of n draws of a release."""
    assert move.mechanism is not None
    mechanism, rng = move.mechanism, NumpyNoise(np.random.default_rng(seed))
    drawn = mechanism.release(np.tile(move.value, (n, 1)), rng)
    ratios = mechanism.log_density(drawn, move.value) - mechanism.log_density(drawn, move.other)
    return np.asarray(ratios.reshape(n, -1).sum(axis=1), dtype=np.float64)
