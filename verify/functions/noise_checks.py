"""Checks of the noise of a function: new for every output, from the given generator, or absent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mechanisms.numerics.printed_numbers import counted_noun, percent
from verify.conduct.spawn_keys import SpawnKey
from verify.findings.finding import Finding, Statement
from verify.findings.subject_error import SubjectError
from verify.functions.elsewhere import remembers_elsewhere
from verify.functions.probe_result import SeenOutputs
from verify.functions.repeats import REPEATS_ERROR, repeated_share
from verify.functions.runs import FunctionRuns
from verify.neighbouring.adjacency import Pair, data_key

_CERTAIN = 1_000  # equal outputs after which a function counts as deterministic
_CALLS = 12  # that are compared to find repeated noise
_CALLS_OF_A_COMMAND = 4  # each starts a process
_LANES = 256  # of each of these calls


@dataclass(frozen=True)
class NoiseChecks:
    """Checks of where a function's noise comes from.

    Attributes
    ----------
    runs
        Calls of the function.
    pair
        Neighbours that it is called on.
    seed
        The seed of all calls.
    """

    runs: FunctionRuns
    pair: Pair
    seed: int

    def foreign_randomness(self, n: int) -> Statement | None:
        """Return a statement of the randomness besides the given generator's; None if there is none.

        The function is called with one generator, up to four times, the second and third time with other global random
        states. An output that depends on the number of the call (every other one, say) differs between the second and
        the third, too, or between the first and the last: the number of outputs of a call is odd for this.
        """
        for world, data in enumerate((self.pair.data, self.pair.other)):
            sequence, elsewhere = (SpawnKey.PROBE.sequence(self.seed, state, world) for state in (1, 2))
            first, second, third = (
                self.runs.outputs_with_effects(data, n | 1, sequence, global_seed=used).rows
                for used in (sequence, elsewhere, elsewhere)
            )
            if first == second == third:
                continue
            fourth = self.runs.outputs_with_effects(data, n | 1, sequence).rows
            if first != fourth or second != third:
                return Statement.OWN_RANDOMNESS
            if first != second:
                return Statement.GLOBAL_RANDOMNESS
        return None

    def repeated_noise(self) -> list[Finding]:
        """Look for calls with different generators that repeat each other's noise.

        The lanes of such calls are not independent draws.
        """
        calls = _CALLS if self.runs.subject.single_lanes else _CALLS_OF_A_COMMAND
        sequences = SpawnKey.PROBE.sequence(self.seed, 4).spawn(calls)
        share = repeated_share(
            [self.runs.outputs_with_effects(self.pair.data, _LANES, sequence) for sequence in sequences]
        )
        if share is None:
            return []
        return [Statement.REPEATS.finding(share=f"up to {percent(share)}", confidence=1.0 - REPEATS_ERROR)]

    def is_deterministic(self, seen: Sequence[SeenOutputs]) -> bool:
        """Return whether the outputs on a data set never vary, in many calls on the two of a pair.

        Raises
        ------
        SubjectError
            If the lanes of a call are all one draw.
        """
        if any(len(set(one.readings.rows)) > 1 for one in seen):
            return False
        for world, data in enumerate((self.pair.data, self.pair.other)):
            more = set(
                self.runs.outputs_with_effects(
                    data, _CERTAIN, SpawnKey.PROBE.sequence(self.seed, 3, world)
                ).rows
            )
            first = next(one.readings.rows[0] for one in seen if data_key(one.data) == data_key(data))
            if len(more) == 1 and more != {first} and self.runs.together:
                raise SubjectError(
                    f"{self.runs.name} returned one and the same output for all {_CERTAIN} lanes of a call, and "
                    "another in another call: lanes must be independent draws"
                )
            if more != {first}:
                return False
        return True

    def without_noise(self, seen: Sequence[SeenOutputs], tried: int) -> Finding:
        """Return the finding for outputs that never vary: remembered, constant, or without noise.

        `tried` is the number of other data sets that were tried with a function of one output on all data sets seen.
        """
        if self.runs.effects.drew and not self.runs.effects.drew_last:
            return Statement.REMEMBERS_OUTPUT.finding(draws=_CERTAIN)
        if len({one.readings.rows[0] for one in seen}) == 1:
            more = f", and on {counted_noun(tried, 'other')}" if tried else ""
            return Statement.CONSTANT_OUTPUT.finding(draws=_CERTAIN, more=more)
        if self.runs.subject.single_lanes and remembers_elsewhere(
            self.runs, [one.data for one in seen], self.seed
        ):
            return Statement.REMEMBERS_OWN_DRAW.finding(draws=_CERTAIN)
        return Statement.DETERMINISTIC.finding(draws=_CERTAIN)
