"""The view of a bandit's runs that is tested: some of its actions, and the columns of the messages of a few rounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mechanisms.arrays import FloatArray
from verify.bandits.calling.bandit_calls import BanditError
from verify.bandits.calling.plain_bandit import PlainBandit
from verify.events.view_sample import ViewSample
from verify.outputs.output_layout import OutputLayout, layout_of
from verify.outputs.output_readings import Readings, UnreadableOutput
from verify.outputs.read_outputs import read_outputs
from verify.transcripts.action_features import read_features
from verify.transcripts.transcript import Transcript
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
        Whose messages are read, counted from 1.
    layouts
        Of the messages of each.
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
            kept = [number - 1 for number in self.rounds]
            actions, runs = bandit.messages([table], range(n), seed, kept)
        else:
            actions, runs = bandit.actions(table, n, seed), []
        found = [
            sample_of_round(number, layout, [run[place] for run in runs])
            for place, (number, layout) in enumerate(zip(self.rounds, self.layouts, strict=True))
        ]
        if pair.features:
            transcript = Transcript(actions)
            if hidden:
                transcript.hide(pair.record)
            found.append(read_features(pair.features, transcript))
        columns = tuple(column for each in found for column in each.columns)
        return ViewSample(np.hstack([each.values for each in found]), columns)


def layout_of_rounds(worlds: Sequence[Sequence[Sequence[Any]]]) -> list[OutputLayout]:
    """Return the layouts of the messages of several rounds: of each world the runs, and of each run the rounds."""
    return [
        layout_of([read_messages([run[place] for run in runs]) for runs in worlds])
        for place in range(len(worlds[0][0]))
    ]


def sample_of_round(number: int, layout: OutputLayout, messages: Sequence[Any]) -> ViewSample:
    """Return the messages of one round, counted from 1, as draws of a view."""
    sample = layout.sample(read_messages(messages, layout))
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
