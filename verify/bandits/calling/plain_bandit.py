"""Bandits written without this library: any class that selects an arm and receives its reward.

>>> import numpy as np
>>> class Greedy:
...     def __init__(self, rng):
...         self.rng, self.sums, self.counts = rng, np.zeros(2), np.ones(2)
...     def select_arm(self):
...         return int(np.argmax(self.sums / self.counts + self.rng.laplace(size=2)))
...     def update(self, arm, reward):
...         self.sums[arm] += reward
...         self.counts[arm] += 1
>>> bandit = PlainBandit(Greedy, arms=2, rounds=16)
>>> bandit.actions(np.zeros((17, 2)), 3, np.random.SeedSequence(0)).shape
(3, 16, 1)

``verify(bandit, epsilon=1)`` plays it on neighbouring reward tables, one row (one round) replaced, or, with
`PlainBandit.against`, on an adversary that reacts to its actions.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from algorithms.claim import ClaimForm, Model, View
from algorithms.unit import ONE_REPORT
from mechanisms import Box
from mechanisms.arrays import FloatArray
from mechanisms.parameters import ParameterError, whole_number
from verify.bandits.calling.bandit_calls import BanditError
from verify.bandits.calling.bandit_environment import Environment
from verify.bandits.calling.bandit_messages import Message, MessageLog
from verify.bandits.calling.bandit_records import BanditRecords
from verify.bandits.calling.bandit_runs import BanditRuns
from verify.bandits.calling.run_generators import RunGenerators
from verify.conduct.process_state import subjects_own
from verify.outputs.raised import Raised
from verify.transcripts.adversary import Adversary, Interaction
from verify.transcripts.transcript import MOST_ARMS, ActionArray, ActionSpace

_LEFT_OUT = type("_LeftOut", (), {"__repr__": lambda self: "..."})()


@dataclass(frozen=True, eq=False)
class PlainBandit:
    """A bandit class of any library, with the way to call it.

    Methods of the usual names are found. By the names of their parameters they are given the arm, its reward, the round
    (0, 1, ...), the list of arms or the round's context, in any order; else ``(arm, reward)``.

    Parameters
    ----------
    make
        ``make(rng)`` returns a fresh bandit that draws from this NumPy Generator; ``make()`` one that draws from
        NumPy's or Python's global generator, which are seeded before every batch of runs and restored afterwards.
        The generator goes to a parameter named ``rng`` or the like (a seed to one named ``seed``), or else to the
        first without a default; required ones named ``n_arms``, ``horizon`` or ``env`` get the number of arms, of
        rounds, or an environment (`verify.bandits.calling.bandit_construction`).
    arms, rounds
        Numbers of arms and of rounds.
    select
        The name of the method that returns the next arm; or a function ``select(bandit, round)``. By default the
        first of the usual names in `verify.bandits.calling.bandit_methods` that the bandit has. It must return a whole
        number from 0 to `arms` - 1.
    update
        The name of the method that learns from an arm and its reward; or a function ``update(bandit, arm, reward)``. By
        default the first of the usual names, too.
    rewards
        The smallest and the largest reward, on which the bandit is played; between them those that are played, too.
        If all rewards of [0, 1] occur, and not 0 and 1 alone, give ``(0.0, 0.5, 1.0)``: a randomised response to bits
        is private for bits only. By default 0 and 1, which is a guess: an error that the bandit raises on them is no
        evidence on its claim.
    adversary
        An adversary to play against, instead of fixed reward tables.
    step
        In place of both methods, the name of one method that takes the last reward and arm (None before the first
        round) and returns the next arm.
    play
        Or the name of a method, or a function ``play(bandit)``, with which the bandit plays by itself: `make` gets an
        environment, whose ``pull(arm)`` returns rewards and ends the game after the last round. It is called as long as
        it pulls arms.
    stops
        True if it ends its play by itself, as best-arm identification does: `play` is called once; the round of its end
        and the arm that it returns (alone, or last in a tuple) are seen, too.
    contexts
        The public context of every round, known before it is played: an array with a row for each.
    private_context
        The shape of a round's context, such as ``(features,)`` or ``(arms, features)``, if contexts are part of the
        private record, as in joint differential privacy of contextual bandits; every context (every row of it) has
        Euclidean norm at most 1. Neighbours then differ in one round's context and rewards, and that round's own action
        is not seen: only its own user receives it.
    message
        The messages that the adversary sees beside the actions: the name of a method that returns them (of a part of
        the bandit: ``"channel.send"``), as a user's device sends them under local trust; or a function
        ``message(bandit)`` that returns the value stored after every round. A message is any value that a function may
        return (`verify.outputs.read_outputs`).
    model
        With messages, the trust model: ``"local"``, the default, if each is sent by the user of its round; or
        ``"central"``. They differ where contexts are private: in the local model a round's own message is seen and
        its action is not, in the central one (joint privacy) neither is.
    errors
        The errors that end a play and are seen, each as its kind or as its kind and message; the last represents all
        others. None: an error is raised. A verification fills them in, unless the rewards are a guess.

    Raises
    ------
    ParameterError
        If `make` cannot be called, there are no arms or rounds, the rewards are no interval, methods are given for more
        than one way of playing, there are fewer contexts than rounds, or private contexts or messages go with something
        else.
    """

    make: Callable[..., Any]
    arms: int
    rounds: int
    select: str | Callable[[Any, int], Any] | None = None
    update: str | Callable[[Any, int, float], Any] | None = None
    rewards: tuple[float, ...] = (0.0, 1.0)
    adversary: Adversary | None = None
    step: str | None = None
    play: str | Callable[[Any], Any] | None = None
    contexts: npt.ArrayLike | None = None
    private_context: tuple[int, ...] = ()
    stops: bool = False
    message: Message | None = None
    model: Model | None = None
    errors: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not callable(self.make):
            raise ParameterError(
                f"make = {type(self.make).__name__} object: must be a class or a function that makes a fresh bandit "
                "for every run, as make=lambda: ..."
            )
        object.__setattr__(self, "arms", whole_number("arms", self.arms, least=1))
        object.__setattr__(self, "rounds", whole_number("rounds", self.rounds, least=1))
        if self.arms >= MOST_ARMS:
            raise ParameterError(f"arms = {self.arms}: must be fewer than {MOST_ARMS}")
        if len(self.rewards) < 2 or list(self.rewards) != sorted(set(self.rewards)):
            raise ParameterError(
                f"rewards = {self.rewards}: must be two or more, each larger than the one before"
            )
        ways = [(self.select, self.update) != (None, None), self.step is not None, self.play is not None]
        shape = tuple(whole_number("private_context", size, least=1) for size in self.private_context)
        object.__setattr__(self, "private_context", shape)
        if shape and (self.play is not None or self.adversary is not None or self.contexts is not None):
            raise ParameterError(
                f"private_context = {shape}: goes with no play, adversary or contexts that all know"
            )
        if self.stops and (self.play is None or self.adversary is not None):
            raise ParameterError("stops = True: goes with play, and with no adversary")
        if self.message is not None and not (isinstance(self.message, str) or callable(self.message)):
            raise ParameterError(f"message = {self.message!r}: must be the name of a method, or a function")
        if self.message is not None and self.adversary is not None:
            raise ParameterError("message: goes with no adversary")
        if self.model is not None and (self.message is None or self.model not in ("local", "central")):
            raise ParameterError(
                f"model = {self.model!r}: must be 'local' or 'central', and goes with a message"
            )
        if sum(ways) > 1:
            raise ParameterError(
                "select and update, step, play: must be given for one way of playing, not for several"
            )
        if self.contexts is not None and (rows := len(np.atleast_1d(self.contexts))) < self.rounds:
            raise ParameterError(f"contexts = {rows} rows: must be one for each of {self.rounds} rounds")

    @property
    def rewards_are_guessed(self) -> bool:
        """True if the possible rewards were not given."""
        return self.rewards is type(self).rewards and self.adversary is None

    @property
    def action_space(self) -> ActionSpace:
        """The space of its actions: the arms, then "no arm" if it stops by itself or by an error, and each error."""
        return ActionSpace(self.arms + len(self.ends), 1, ends=self.ends)

    @property
    def ends(self) -> tuple[str, ...]:
        """The words for numbers beyond the arms."""
        may_end = self.stops or self.errors
        return ("no arm", *(f"no arm ({error})" for error in self.errors)) if may_end else ()

    @property
    def places(self) -> int:
        """Largest number of actions of a transcript: one a round, and the returned value or error of one that ends."""
        return self.rounds + bool(self.ends)

    def code_of(self, error: BaseException) -> int:
        """Return the number that is an error's in a transcript, beyond that of no arm.

        Raises
        ------
        BaseException
            The error, if it is none that is seen.
        """
        if not self.errors or isinstance(error, BanditError):
            raise error
        raised = Raised.from_error(error)
        known = [at for at, each in enumerate(self.errors) if each in (raised.said, raised.error)]
        return self.arms + 1 + min([*known, len(self.errors) - 1])

    @property
    def name(self) -> str:
        """The name of its class; for a lambda, of the class that it calls, as far as is known without a call."""
        made = self._class
        return "bandit" if made is None else str(made.__qualname__)

    @property
    def call(self) -> str:
        """A Python expression that makes it; ``...`` replaces arrays and the arguments that a lambda passes."""
        made, make = self._class, self.make
        name = "" if made is None else made.__name__
        shown = [name if make is made else "lambda: ..." if made is None else f"lambda: {name}(...)"]
        for each in fields(self):
            value = getattr(self, each.name)
            if each.name in ("make", "adversary", "errors") or (
                each.default is not MISSING and value is each.default
            ):
                continue
            if each.name == "contexts" or callable(value):
                value = _LEFT_OUT
            shown.append(f"{each.name}={value!r}")
        return f"PlainBandit({', '.join(shown)})"

    @property
    def _class(self) -> Any:
        """`make` itself, or the class or function that it calls if it is a lambda; None if that is unknown."""
        make = getattr(self.make, "func", self.make)  # of a `functools.partial`
        if getattr(make, "__name__", "") != "<lambda>":
            return make if hasattr(make, "__qualname__") else type(make)
        outside = inspect.getclosurevars(make)
        named = {**outside.globals, **outside.nonlocals}
        for name in (*make.__code__.co_names, *make.__code__.co_freevars):
            found = named.get(name)
            owners = [each for each in named.values() if inspect.ismodule(each)]
            for one in (found, *(getattr(owner, name, None) for owner in owners)):
                if inspect.isclass(one) or inspect.isfunction(one):
                    return one
        return None

    @property
    def form(self) -> ClaimForm:
        """The form of its claim: central privacy of one round's rewards in the view of all actions.

        Where contexts are private: joint privacy of one round's context and rewards in the view of all other actions.
        With messages these are in the view, too, and the claim is local privacy, unless the caller gives another model.
        """
        private = bool(self.private_context)
        if self.message is None:
            model: Model = "central"
            view = View.OTHER_ACTIONS if private else View.ACTIONS
        else:
            model = self.model or "local"
            view = View.MESSAGES
            if private:
                view = View.MESSAGES_AND_OTHER_ACTIONS if model == "local" else View.OTHER_MESSAGES
        comment = "one round's context and rewards" if private else ""
        return ClaimForm(model, view, ONE_REPORT, "stated by the caller", comment=comment)

    @property
    def records(self) -> BanditRecords:
        """The set of possible rows of a table, one row a round."""
        low, *between, high = (float(reward) for reward in self.rewards)
        return BanditRecords(self.arms, low, high, self.private_context, tuple(between))

    @property
    def record_domain(self) -> Box:
        """The domain of one round's rewards."""
        return Box(self.rewards[0], self.rewards[-1], self.arms)

    @subjects_own()
    def fresh(self) -> Any:
        """Return one bandit that has played nothing, for inspection of the attributes of its class.

        Raises
        ------
        BanditError
            If it cannot be made.
        """
        with RunGenerators(np.random.SeedSequence(0)) as generators:
            return BanditRuns(self, generators).make(
                generators.rng, Environment.without_rewards(self.arms, self.rounds)
            )

    def against(self, adversary: Adversary) -> PlainBandit:
        """Return the same bandit, played against an adversary."""
        return replace(self, adversary=adversary)

    def actions(
        self, data: FloatArray, draws: int | Sequence[int], seed: np.random.SeedSequence
    ) -> ActionArray:
        """Play on a reward table; its row 0 is not used, as in every data set of a learner.

        Every run has random numbers of its own, by its number: it plays alike on all tables as long as they give it the
        same rewards.

        Parameters
        ----------
        data
            The table, shape (rounds + 1, arms), or one for each run; with private contexts (`BanditRecords`), their
            entries follow the rewards.
        draws
            The number of runs, then numbered from 0; or their numbers.
        seed
            The seed of all runs.

        Returns
        -------
        ndarray
            Shape (draws, rounds of the table, 1). Where the bandit stopped by itself, the entry after its last play is
            the arm that it returned, if it did, or the number of an error (`code_of`), and all later ones are `arms`.

        Raises
        ------
        BanditError
            If the bandit cannot be called in the given way, or does not return arms.
        """
        numbers = range(draws) if isinstance(draws, int) else draws
        return self._play_runs([data] if data.ndim == 2 else list(data), numbers, seed, None)

    def messages(
        self,
        data: Sequence[FloatArray],
        numbers: Sequence[int],
        seed: np.random.SeedSequence,
        kept: Collection[int],
    ) -> tuple[ActionArray, list[list[Any]]]:
        """Play as `actions` does, and note messages.

        Parameters
        ----------
        data
            The table of every run, all of as many rounds; or the one table of all.
        numbers
            The numbers of the runs.
        seed
            The seed of all runs.
        kept
            The rounds, from 0, of which messages are returned.

        Returns
        -------
        tuple of ndarray and list
            The actions; and for each run the messages of these rounds, as in `MessageLog.runs`.
        """
        assert self.message is not None
        log = MessageLog(self.message, kept)
        return self._play_runs(data, numbers, seed, log), log.runs

    @subjects_own()
    def _play_runs(
        self,
        data: Sequence[FloatArray],
        numbers: Sequence[int],
        seed: np.random.SeedSequence,
        log: MessageLog | None,
    ) -> ActionArray:
        """Play runs on one table, or each on its own."""
        actions = np.empty((len(numbers), len(data[0]) - 1, 1), dtype=np.int16)
        rewards, contexts = self._rows(data[0])
        with RunGenerators(seed) as generators:
            runs = BanditRuns(self, generators)
            for draw in runs.start_runs(numbers):
                if len(data) > 1:
                    rewards, contexts = self._rows(data[draw])
                actions[draw, :, 0] = runs.play(rewards, contexts, log)
                if log is not None:
                    log.end()
        return actions

    def _rows(self, table: FloatArray) -> tuple[list[list[float]], list[Any] | None]:
        """Return the rewards of a table's rounds, and their contexts if they are private."""
        contexts = [self.records.context_of(row) for row in table[1:]] if self.private_context else None
        return table[1:, : self.arms].tolist(), contexts

    @subjects_own()
    def actions_against(self, other_world: bool, draws: int, seed: np.random.SeedSequence) -> ActionArray:
        """Play against the adversary in one of the two worlds; shape (draws, places, 1)."""
        assert self.adversary is not None
        actions = np.empty((draws, self.places, 1), dtype=np.int16)
        with RunGenerators(seed) as generators:
            runs = BanditRuns(self, generators)
            for draw in runs.start_runs(range(draws)):
                interaction = Interaction(
                    self.adversary,
                    rounds=self.rounds,
                    arms=self.arms,
                    size=1,
                    lanes=1,
                    other_world=other_world,
                )
                actions[draw, :, 0] = runs.play([_Paid(interaction)] * self.places)
        return actions


@dataclass(frozen=True)
class _Paid:
    """The next round's rewards in an interaction with an adversary; to read an arm's plays it."""

    interaction: Interaction

    def __getitem__(self, arm: int) -> float:
        outcomes = self.interaction.outcomes()
        self.interaction.play(arm)
        return float(outcomes[0, arm])


@dataclass(frozen=True)
class BanditSubject:
    """A bandit without a gate, and its own claim if that has numbers."""

    name: str
    bandit: PlainBandit
    claimed_epsilon: float | None = None
    claimed_delta: float = 0.0

    @property
    def form(self) -> ClaimForm:
        """The claim without its numbers."""
        return self.bandit.form
