"""The view of a bandit's runs that is tested: some of its actions, and the columns of the messages of a few rounds."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mechanisms.arrays import FloatArray
from verify.bandits.calling.bandit_calls import BanditError
from verify.bandits.calling.plain_bandit import PlainBandit
from verify.events.view_sample import ViewSample
from verify.outputs.output_layout import OutputLayout, layout_of, step_unit
from verify.outputs.output_readings import Readings, UnreadableOutput
from verify.outputs.read_outputs import read_outputs
from verify.transcripts.action_features import read_features
from verify.transcripts.transcript import ActionArray, Transcript
from verify.transcripts.view_pair import ViewPair


def read_messages(messages: Sequence[Any], layout: OutputLayout | None = None) -> Readings:
    """Read messages as outputs of functions are.

    Raises
    ------
    BanditError
        If one cannot be read.
    """
    try:
        return read_outputs(messages, None if layout is None else layout.places)
    except UnreadableOutput as error:
        raise BanditError(f"message: {error}") from None


@dataclass(frozen=True, eq=False)
class BanditView:
    """Some actions on two neighbouring tables, and the messages of some rounds.

    Attributes
    ----------
    pair
        The tables, and the features of the actions.
    rounds
        The rounds with messages to read, counted from 1; twice if their steps are read, too.
    layouts
        The layouts of the messages of each, or of their steps since the round before.
    """

    pair: ViewPair
    rounds: tuple[int, ...] = ()
    layouts: tuple[OutputLayout, ...] = ()

    def draw(
        self, bandit: PlainBandit, hidden: bool, other: bool, n: int, seed: np.random.SeedSequence
    ) -> ViewSample:
        """Draw n views on one of the tables; without the changed round's own action, if hidden."""
        pair = self.pair
        table = pair.data_prime if other else pair.data
        if self.rounds:
            read = list(zip(self.rounds, self.layouts, strict=True))
            before = {number - 1 for number, layout in read if layout.steps is not None}
            actions, messages = messages_by_round(bandit, table, n, seed, {*self.rounds, *before})
            found = [sample_of_round(number, layout, messages) for number, layout in read]
        else:
            actions, found = bandit.actions(table, n, seed), []
        if pair.features:
            transcript = Transcript(actions)
            if hidden:
                transcript.hide(pair.record)
            found.append(read_features(pair.features, transcript))
        columns = tuple(column for each in found for column in each.columns)
        return ViewSample(np.hstack([each.values for each in found]), columns)


def messages_by_round(
    bandit: PlainBandit, table: FloatArray, n: int, seed: np.random.SeedSequence, rounds: Collection[int]
) -> tuple[ActionArray, dict[int, list[Any]]]:
    """Play n runs on a table; return the actions, and the messages of some rounds, counted from 1."""
    kept = sorted(rounds)
    actions, runs = bandit.messages([table], range(n), seed, [number - 1 for number in kept])
    return actions, {number: [run[place] for run in runs] for place, number in enumerate(kept)}


def step_layouts(layout: OutputLayout, seen: Sequence[Readings]) -> list[OutputLayout]:
    """Return the layout of the steps since the round before of its numbers; none if all of it is words.

    A value published after every round is often a sum, or a mean: the noise of earlier rounds is in both, and not in
    their difference.
    """
    labels = [i for i, column in enumerate(layout.columns) if column.labels]
    values = np.concatenate([layout.sample(each).values for each in seen])
    units = {i: step_unit(values[:, i]) for i in range(len(layout.columns)) if i not in labels}
    return [layout.stepping(units).without(labels)] if units else []


def layouts_of_round(number: int, worlds: Sequence[Mapping[int, list[Any]]]) -> list[OutputLayout]:
    """Return the layouts of the messages of a round in two worlds, and of their steps if those before are there."""
    seen = [read_messages(messages[number]) for messages in worlds]
    layout = layout_of(seen)
    return [layout, *(step_layouts(layout, seen) if number - 1 in worlds[0] else [])]


def sample_of_round(number: int, layout: OutputLayout, messages: Mapping[int, Sequence[Any]]) -> ViewSample:
    """Return the messages of one round, counted from 1, as draws of a view."""
    before = None if layout.steps is None else read_messages(messages[number - 1], layout)
    sample = layout.sample(read_messages(messages[number], layout), before)
    columns = tuple(
        replace(
            column,
            name=f"{column.name.replace('output', 'message', 1)}@{number}",
            words=f"{column.words.replace('output', 'message', 1)} of round {number}",
        )
        for column in sample.columns
    )
    return ViewSample(sample.values, columns)


def fill_absent(values: FloatArray) -> FloatArray:
    """Return values with -inf in place of NaN, which marks an absent entry."""
    return np.where(np.isnan(values), -np.inf, values)
