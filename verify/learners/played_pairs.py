"""Coupled runs: a learner on pairs of data sets side by side, and lower bounds from the privacy losses of its releases.

Every statement about a pair follows from the values that were released on both of its data sets, and never from the
sensitivity that noise is calibrated for. A learner that works in lanes shows exact samples of all losses at once. One
that works in one lane is played a few times: these plays (pilots) choose a pair, and bounds are made with other seeds.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from accountant import Coupled, Divergence, RawRead, RecordId
from algorithms.claim import Claim, View
from mechanisms import Binomial, Gaussian, GaussianProfile, Laplace, NumpyNoise, Sensitivity
from mechanisms.arrays import FloatArray
from mechanisms.composition.composed_loss import ComposedLoss, compose
from mechanisms.composition.enclosure import lower_end
from mechanisms.numerics.printed_numbers import at_least, at_most
from verify.conduct.conduct import Conduct
from verify.conduct.interrupts import subject_exceptions
from verify.conduct.other_processes import Again
from verify.conduct.process_state import subjects_own
from verify.events.reading_bins import NumberBins
from verify.findings.finding import (
    Finding,
    FindingKind,
    LawBin,
    LowerBound,
    ReadingLaws,
    Statement,
    Witness,
    add_once,
)
from verify.findings.sentences import exact
from verify.findings.subject_error import failing_place
from verify.learners.learner_randomness import draws_elsewhere
from verify.learners.pair_gates import Move, Reflected, SteeredPair, Steering, Watched, gaussian_delta
from verify.sampling.binomial_bounds import clopper_pearson_lower
from verify.sampling.evidence import Evidence
from verify.sampling.likeliest_event import likeliest_event, ratio_event
from verify.sampling.sampled_losses import ROUNDING, loss_lower_bound

RELEASED_VIEWS = frozenset({View.MESSAGE.value, View.RELEASES.value, View.SHUFFLED.value})
"""Views in which all releases are seen."""

_Gate = TypeVar("_Gate", bound=Coupled)

PlayPairs = Callable[[Any, Coupled, Sequence[int]], Iterable[object]]
"""Function that lets a learner play on D, beside the neighbours of these numbers, one step at a time."""


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


@dataclass(frozen=True)
class CoupledRun:
    """The result of plays of all pairs.

    Attributes
    ----------
    losses
        The privacy losses of everything that left the gate, shape (neighbours, lanes).
    shown_losses
        The losses of releases before the first draw of the learner's own randomness, unless that is seen, too; 0 in
        lanes where a declassified value that is not itself shown differed. They hold for an adversary that sees all
        that is published.
    divergences
        One of each kind and line.
    more_than_seen
        True if the losses include more than is released: noisy values before a function of them.
    in_lanes
        True if the learner ran in many lanes at once.
    rests_on_word
        True if the losses are computed from densities that a foreign mechanism declares.
    """

    losses: FloatArray
    shown_losses: FloatArray
    divergences: tuple[Divergence, ...]
    more_than_seen: bool
    in_lanes: bool
    rests_on_word: bool

    @classmethod
    def of_gates(cls, gates: Sequence[Sequence[Coupled]], *, sees_draws: bool) -> CoupledRun:
        """Return the result of plays of further neighbours in each row, and in further lanes in each column."""
        every = [gate for row in gates for gate in row]

        def shown_loss(gate: Coupled) -> FloatArray:
            return np.where(gate.hidden, 0.0, gate.loss if sees_draws else gate.loss_before_draws)

        return cls(
            np.block([[gate.loss for gate in row] for row in gates]),
            np.block([[shown_loss(gate) for gate in row] for row in gates]),
            tuple(divergence for gate in every for divergence in gate.divergences),
            any(gate.more_than_seen for gate in every),
            every[0].lanes > 1,
            any(gate.rests_on_word for gate in every),
        )


class _NotPlayed(Exception):
    """A play raised an exception, which is the cause of this one."""


@dataclass(frozen=True, kw_only=True)
class _Plays:
    """Numbers of plays and draws; the values were chosen by hand.

    Attributes
    ----------
    neighbours
        Neighbours on a gate at once, which bounds memory: the run on D is the same beside each of them.
    single_lanes
        Plays of a learner that was to work in lanes, and does so in one lane only.
    again
        Steps that are played again in another process, after the first different release.
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

    neighbours: int = 48
    single_lanes: int = 16
    again: int = 64
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
    bound is, and else at least so much with the bound's confidence; or `hits` counts the plays or lanes in which the
    event came up, and `laws` are those of their losses.
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
    laws: ReadingLaws | None = None


@dataclass(frozen=True, eq=False)
class PlayedPairs:
    """A learner on pairs of data sets.

    Attributes
    ----------
    build
        Function that makes it on a gate.
    pairs
        The pairs that it is played on.
    claim, conduct
        The claim that is verified, and the conduct of the verification.
    draws_from_gate
        True if the learner is known to draw from its gate alone, as this library's classes do.
    sees_draws
        True if the adversary of the claim sees the learner's own draws.
    sees_all
        True if bounds are for an adversary that sees those draws, and all declassified values, in any case.
    """

    build: Callable[[Coupled], Any]
    pairs: PlayedNeighbours
    claim: Claim
    conduct: Conduct
    draws_from_gate: bool
    sees_draws: bool
    sees_all: bool = False

    def add(self, evidence: Evidence, seed: np.random.SeedSequence) -> bool | None:
        """Add the lower bounds from single plays; return True if any release moved, or None if it could not be played.

        Errors are shared: all bounds together are wrong with at most the false alarm of the effort.
        """
        pilot_seed, first_seed, further_seed = seed.spawn(3)
        everybody, seeds = range(len(self.pairs.words)), pilot_seed.spawn(_PLAYS.pilots)
        try:
            pilots = [self._play_on(Watched(each, len(everybody)), everybody) for each in seeds]
            again = self._play_on(Watched(seeds[0], len(everybody)), everybody)
            run = CoupledRun.of_gates([pilots], sees_draws=self.sees_draws)
            self._add_bounds(
                evidence,
                run,
                lambda plays: list(plays._bounds(pilots, run, first_seed, further_seed)),
                seeds[0],
                np.array_equal(again.loss, pilots[0].loss),
            )
        except _NotPlayed:  # accounting has reported the error, if its runs raise it, too
            return None
        return any(any(gate.moves) for gate in pilots)

    def run(self, evidence: Evidence, seed: np.random.SeedSequence) -> CoupledRun | None:
        """Play in lanes, or else one lane at a time; None if that fails, with a finding that gives the reason."""
        try:
            return self._run_in(self.conduct.effort.coupled_lanes, [seed])
        except _NotPlayed as failed:
            error = failed.__cause__
        if isinstance(error, RawRead) or evidence.does_not_run:
            return None  # the accounting run has reported the place
        assert error is not None
        add_once(evidence.findings, Statement.NO_LANES.finding(failing_place(error), error=error))
        try:
            return self._run_in(1, seed.spawn(_PLAYS.single_lanes))
        except _NotPlayed:  # for the reason in the finding
            return None

    def add_run(
        self, evidence: Evidence, run: CoupledRun, seed: np.random.SeedSequence, *, repeats: bool
    ) -> None:
        """Add the privacy loss of all releases of a run as a lower bound.

        It is wrong with the false alarm of the effort, at most. A run that does not repeat with its seed draws from
        elsewhere, and it is unknown if an adversary sees those draws.
        """
        self._add_bounds(evidence, run, lambda plays: [plays._sampled_bound(run)], seed, repeats)

    def _add_bounds(
        self,
        evidence: Evidence,
        run: CoupledRun,
        bounds: Callable[[PlayedPairs], Sequence[_Bound]],
        seed: np.random.SeedSequence,
        repeats: bool,
    ) -> None:
        """Add the results of a run, and bounds in the claim's view; where these are 0, those beyond it."""
        of_pairs = run.losses.max(axis=1)
        largest, worst = float(of_pairs.max()), int(of_pairs.argmax())
        evidence.details["coupled"] = {
            "largest_loss": largest,
            "record": self.pairs.records[worst],
            "replacement": self.pairs.words[worst][1],
            "neighbours": len(self.pairs.words),
            "lanes": run.losses.shape[1],
        }
        for divergence in run.divergences:
            if divergence.kind != FindingKind.DECLASSIFIED:
                add_once(evidence.findings, Finding.of_gate(divergence))
        upper = evidence.upper
        # The ledger bounds the loss given the learner's own draws, seen or not.
        if upper is not None and upper.delta == 0 and largest - ROUNDING > upper.epsilon:
            evidence.contradictions.append(
                exact(
                    "A coupled run has privacy loss {loss}, above the charge {charge}.",
                    loss=at_least(largest),
                    charge=at_most(upper.epsilon),
                )
            )
        sound = repeats and not (draws_elsewhere(evidence) or run.more_than_seen or run.rests_on_word)
        in_view = self.claim.view in RELEASED_VIEWS and sound
        hides = not np.array_equal(run.shown_losses, run.losses)
        found = bounds(self if in_view else replace(self, sees_all=True))
        if in_view and hides and not any(bound.epsilon > 0.0 for bound in found):
            # The values that the adversary is sure to see show nothing.
            found, in_view = bounds(replace(self, sees_all=True)), False
        for bound in found:
            self._offer(evidence, bound, seed, in_view=in_view)

    def _run_in(self, lanes: int, seeds: Sequence[np.random.SeedSequence]) -> CoupledRun:
        """Play all pairs, some at a time, with the randomness of each seed."""
        numbers, most = range(len(self.pairs.words)), _PLAYS.neighbours
        batches = [numbers[start : start + most] for start in range(0, len(numbers), most)]
        gates = [
            [self._play_on(Coupled(seed, lanes, len(batch)), batch) for seed in seeds] for batch in batches
        ]
        return CoupledRun.of_gates(gates, sees_draws=self.sees_draws)

    def _sampled_bound(self, run: CoupledRun) -> _Bound:
        losses = self._losses_of(run)
        found = loss_lower_bound(losses, self.claim.delta, self.conduct.effort.significance)
        decides = losses[found.neighbour, -found.trials :]
        method, error = "exact privacy losses of all releases (coupled run)", 1.0 - found.confidence
        return _bound_of_losses(found.neighbour, decides, found.threshold, found.epsilon, method, error)

    def _losses_of(self, run: CoupledRun) -> FloatArray:
        return run.losses if self.sees_all else run.shown_losses

    def _play_on(self, gate: _Gate, pairs: Sequence[int], over: Callable[[], bool] = lambda: False) -> _Gate:
        """Play some of the pairs to the end, or until `over` returns True; return the gate.

        Raises
        ------
        _NotPlayed
            If a user's learner raises anything.
        """
        with subjects_own():
            try:
                for _ in self.pairs.play(self.build(gate), gate, pairs):
                    if over():
                        break
            except subject_exceptions() as error:
                raise _NotPlayed from error
        return gate

    def _visible_moves(self, moves: Iterable[Move]) -> list[Move]:
        """Return the moves of which nothing is hidden: those before the learner's own draws, if these are not seen."""
        seen = self.sees_draws
        return [move for move in moves if self.sees_all or not (move.hidden or (move.drew and not seen))]

    def _bounds(
        self,
        pilots: Sequence[Watched],
        run: CoupledRun,
        first_seed: np.random.SeedSequence,
        further_seed: np.random.SeedSequence,
    ) -> Iterator[_Bound]:
        moves = [[self._visible_moves(of_pair) for of_pair in gate.moves] for gate in pilots]
        numbers = range(len(self.pairs.words))
        if self.claim.delta == 0.0:
            yield from self._pure_bounds(run, moves, further_seed)
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

    def _epsilon(self, move: Move, delta: float) -> float:
        """Return a rough ε that a first release like this may show at δ, to choose a release by."""
        if delta >= 1.0:
            return 0.0
        if move.mechanism is None:
            return math.inf
        loss = None if type(move.mechanism) is Binomial else _release_loss(move)  # whose grid takes seconds
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
        what, more, loss = "exact privacy loss", 0.0, None if rare else _release_loss(kind)
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
            epsilon=_round_down(epsilon),
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
        self._play_on(gate, [pair], over=lambda: bool(gate.moves[0]))
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
            epsilon=_round_down(epsilon),
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
        gate = SteeredPair(seed, steering, sees_draws=self.sees_draws or self.sees_all)
        self._play_on(gate, [pair], over=lambda: gate.reached or gate.lost)
        return gate.reached

    def _pure_bounds(
        self, run: CoupledRun, moves: Sequence[Sequence[list[Move]]], seed: np.random.SeedSequence
    ) -> Iterator[_Bound]:
        """Bound pure ε: one loss above the claim refutes it, and Gaussian noise has no largest loss.

        A loss without a largest value exceeds the claim by 1, too.
        """
        losses = self._losses_of(run)
        for pair, of_pair in enumerate(losses):
            if any(move.mu is not None for of_play in moves for move in of_play[pair]):
                method = "Gaussian noise bounds no privacy loss, on played pairs"
                yield _bound_of_losses(pair, of_pair, self.claim.epsilon + 1.0, math.inf, method)
                return
        largest = losses.max(axis=1)
        chosen = np.argsort(largest)[::-1][: _PLAYS.reflected].tolist()
        for pair, child in zip(chosen, seed.spawn(len(chosen)), strict=True):
            gate = self._play_on(Reflected(child, 1), [pair])
            reflected = CoupledRun.of_gates([[gate]], sees_draws=self.sees_draws)
            largest[pair] = max(largest[pair], self._losses_of(reflected)[0, 0])
        worst = int(largest.argmax())
        loss = _round_down(float(largest[worst]))
        yield _bound_of_losses(worst, losses[worst], loss, loss, "the privacy loss of plays, on played pairs")

    def _digest(self, pair: int, seed: np.random.SeedSequence) -> str:
        """Return the digest of a play in one lane, which ends some steps after the first different release."""
        gate, steps = Watched(seed, 1), itertools.count()
        over = lambda: bool(gate.moves[0]) and next(steps) >= _PLAYS.again  # noqa: E731
        return self._play_on(gate, [pair], over).digest

    def _offer(
        self, evidence: Evidence, bound: _Bound, seed: np.random.SeedSequence, *, in_view: bool
    ) -> None:
        lower = LowerBound(
            epsilon=bound.epsilon,
            delta=self.claim.delta,
            confidence=1.0 - bound.error,
            method=bound.method,
            samples=bound.plays if bound.error else 0,
            in_view=in_view,
            decisive=True,
        )
        witness = Witness(
            neighbours=dict(zip(("data", "data_prime"), self.pairs.words[bound.pair], strict=True)),
            event=bound.event,
            probability=min(1.0, bound.probability),
            probability_prime=min(1.0, bound.probability_prime),
            reproduce=self.conduct.reproduce,
            details={"record": self.pairs.records[bound.pair], "largest_loss": bound.threshold},
            hits=bound.hits,
            trials=None if bound.hits is None else bound.plays,
            laws=bound.laws,
        )
        evidence.offer(lower, witness, Again(lambda: self._digest(bound.pair, seed)))


def _bound_of_losses(
    pair: int, losses: FloatArray, threshold: float, epsilon: float, method: str, error: float = 0.0
) -> _Bound:
    """Return a bound with the event of a loss of at least a threshold, counted among losses sampled on D."""
    hits = int((losses >= threshold).sum())
    share = hits / losses.size
    return _Bound(
        pair=pair,
        epsilon=epsilon,
        method=method,
        event=ratio_event(_VALUES, threshold),
        threshold=threshold,
        probability=share,
        probability_prime=share * math.exp(-threshold),
        hits=hits,
        plays=losses.size,
        error=error,
        laws=_loss_laws(losses, threshold),
    )


def _loss_laws(losses: FloatArray, threshold: float) -> ReadingLaws | None:
    """Return the laws of losses that were sampled on D; None if the threshold is 0.

    On D′ a loss l is e^-l times as likely, by the densities. Losses of at most 0 are one bin, with all mass missing on
    D′: values that only D′ releases do not come up on D.
    """
    if threshold <= 0.0:
        return None
    above = losses[losses > 0.0]
    bins, inside = NumberBins.for_numbers(above, threshold), above >= threshold
    counts = bins.counts(above, inside), bins.counts(above, inside, np.exp(-above))
    found = bins.laws("privacy loss (on D′ from the densities)", counts, losses.size)
    below = losses.size - above.size, max(0.0, losses.size - float(counts[1].sum()))
    return replace(found, bins=(LawBin("≤ 0", *below, False), *found.bins))


def _round_down(loss: float) -> float:
    """Return a loss less the rounding error of floats; at least 0."""
    return max(0.0, loss - _ROUNDING * (1.0 + loss)) if loss < math.inf else math.inf


def _kinds(moves: Sequence[Move]) -> list[tuple[Move, int]]:
    """Return a move of each kind, and the number of moves of that kind."""
    return [
        (move, sum(move.like(other) for other in moves))
        for number, move in enumerate(moves)
        if not any(move.like(earlier) for earlier in moves[:number])
    ]


def _length(moves: Sequence[Move]) -> float:
    """Return Σ μ² of the Gaussian releases before the first of other noise."""
    gaussian = itertools.takewhile(lambda move: move.mu is not None, moves)
    return sum((move.mu or 0.0) ** 2 for move in gaussian)


def _release_loss(move: Move) -> ComposedLoss | None:
    """Return the exact loss of one release, composed of its coordinates' independent ones; None without a formula."""
    noise, apart = move.mechanism, move.distances.tolist()
    if type(noise) is Gaussian:
        size = float(np.linalg.norm(apart))
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
