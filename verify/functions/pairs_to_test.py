"""The pairs of neighbours on which a function is tested: known ones, and those that searches find."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import numpy as np

from accountant.files.json_form import json_able
from mechanisms.parameters import ParameterError
from verify.conduct.conduct import Conduct
from verify.conduct.progress import subprogress
from verify.events.predicted_bound import ComingTest
from verify.events.view_sample import ViewSample
from verify.events.worlds import NeighbouringWorlds
from verify.functions.draw_budget import DrawBudget
from verify.functions.probe_result import Probe, describe_data
from verify.functions.runs import FunctionRuns
from verify.functions.written_numbers import written_numbers
from verify.neighbouring.adjacency import Data, Pair, data_key, different_pairs
from verify.neighbouring.listed import Listed
from verify.neighbouring.neighbour_search import MOST_EXAMPLES, SearchResult, search_neighbours
from verify.neighbouring.path import first_change, path
from verify.sampling.stage_sizes import FEWEST_OF_PAIR, FINALISTS
from verify.sampling.tester import Candidates, CandidateSource


@dataclass(frozen=True, kw_only=True)
class _PairCounts:
    """Settings of the choice of pairs; the values were chosen by hand.

    Attributes
    ----------
    known_of_command, generated_of_command
        Largest number of known pairs, and of generated ones, where every call starts a process.
    bet_on
        Largest number of known pairs that are bet on.
    least_draws
        Smallest number of draws of a search: fewer find nothing.
    reserve
        Share of the wealth that is kept for the case that a function raises while it works on many lanes.
    tries
        Outputs that show whether a function works on data that are a guess.
    most_entries
        Largest number of entries of a pair of data sets in a report.
    """

    known_of_command: int = 12
    generated_of_command: int = 12
    bet_on: int = 12
    least_draws: int = 24_000
    reserve: float = 1e-3
    tries: int = 16
    most_entries: int = 10_000


_COUNTS = _PairCounts()


def known_pairs(runs: FunctionRuns) -> list[Pair]:
    """Return the known pairs that are tried, without data that turned out to lie outside of a guessed domain."""
    subject = runs.subject
    pairs = list(subject.neighbours.seeds())[: None if subject.single_lanes else _COUNTS.known_of_command]
    return [pair for pair in pairs if not runs.is_outside(pair.data, pair.other)]


@dataclass
class FunctionPairs(CandidateSource):
    """Pairs of data sets on which a function's outputs may differ in law.

    Attributes
    ----------
    runs, looked
        Calls of the function, and the result of a first look.
    delta
        The δ of the claim.
    conduct
        The conduct of the verification; the search reports a part of its progress.
    floating_point
        True if a second test, of the lowest bits, counts against the claim: it then takes half of the error.
    dear
        True if calls take so long that there is time for only a few.
    search
        The result of a search, if there was one.
    """

    runs: FunctionRuns
    looked: Probe
    delta: float
    conduct: Conduct
    floating_point: bool
    dear: bool = False
    search: SearchResult | None = None
    _bet_on: list[Pair] = field(default_factory=list)
    _tried: set[Any] = field(default_factory=set)

    @property
    def budget(self) -> DrawBudget:
        """The shares of the tests in the draws."""
        return DrawBudget(self.runs, self.conduct.effort)

    def draw(self, pair: Pair, other: bool, n: int, seed: np.random.SeedSequence) -> ViewSample:
        """Draw outputs on one data set of a pair; zeros if the pair is a guess and the subject raises on either one."""
        layout = self.looked.layout
        if self.runs.subject.guessed:
            self._try(pair)
            if self.runs.is_outside(pair.data, pair.other):
                return ViewSample(np.zeros((n, len(layout.columns))), layout.columns)
        data, beside = (pair.other, pair.data) if other else (pair.data, pair.other)
        return self.runs.sample(layout, data, n, seed, None if self.looked.repeatable else beside)

    def _try(self, pair: Pair) -> None:
        """Call the subject a few times on data that are a guess: pairs on which it raises are no candidates."""
        for data in (pair.data, pair.other):
            if data_key(data) not in self._tried:
                self._tried.add(data_key(data))
                tries = 1 if self.dear else _COUNTS.tries
                self.runs.outputs(data, tries, np.random.SeedSequence(self.conduct.seed))

    def is_outside(self, worlds: NeighbouringWorlds) -> bool:
        """Return whether the data are a guess and the subject raised on one of these two data sets."""
        raised = {describe_data(data) for data, _ in self.runs.outside.values()}
        return not raised.isdisjoint(worlds.words)

    # --- a single look ---------------------------------------------------------------------------

    def best_candidates(self) -> Candidates:
        """Return the pairs that score best; without noise, two neighbours between which the output changes."""
        self.search = self._best_pairs()
        samples = self.budget.main_test_draws(self.search.samples, len(self.looked.layout.columns))
        chosen = self._halved([self._worlds(pair) for pair in self.search.pairs], samples)
        return replace(chosen, searched=self.search.samples)

    def lowest_bits(self, worlds: NeighbouringWorlds) -> Candidates:
        """Return the candidates of a second test, of the lowest bits."""
        return self._halved([worlds], self.budget.lattice)

    def _halved(self, worlds: Sequence[NeighbouringWorlds], samples: int) -> Candidates:
        """Return the candidates of one of two tests; the error is shared only if that of the lowest bits counts."""
        share = 0.5 if self.floating_point else 1.0
        return Candidates(worlds, samples, share_of_error=share, share_of_false_alarm=0.5)

    def _best_pairs(self) -> SearchResult:
        """Return the listed pairs if there are only a few; else the pairs that a search finds."""
        looked, neighbours = self.looked, self.runs.subject.neighbours
        known = known_pairs(self.runs)
        if looked.unlike is not None:
            change = looked.elsewhere or self._change(*looked.unlike)
            if change is not None and not self.runs.is_outside(change.data, change.other):
                return SearchResult((change,))
        if isinstance(neighbours, Listed) and len(known) <= FINALISTS:
            return SearchResult(tuple(known[: self.budget.most_pairs]))
        found = self._searched(
            samples=self.budget.search,
            error=self.conduct.effort.significance / 2.0,
            final_samples=self.budget.samples // 4,
        )
        elsewhere = () if looked.elsewhere is None else (looked.elsewhere,)
        inside = [
            pair
            for pair in (*elsewhere, *found.pairs, *known_pairs(self.runs))
            if not self.runs.is_outside(pair.data, pair.other)
        ]
        most = min(FINALISTS, self.budget.most_pairs, len(elsewhere) + len(found.pairs))
        return replace(found, pairs=tuple(different_pairs(inside))[:most])

    def _change(self, data: Data, other: Data) -> Pair | None:
        """Return neighbours between two data sets on which the output, which never varies, changes."""
        neighbours, sequence = self.runs.subject.neighbours, np.random.SeedSequence(self.conduct.seed)
        along = path(neighbours, data, other)
        if along is None:
            return None
        return first_change(along, lambda at: self.runs.outputs(at, 1, sequence).rows[0], neighbours)

    # --- bets ------------------------------------------------------------------------------------

    @property
    def calls_are_dear(self) -> bool:
        """True if every call starts a process."""
        return not self.runs.subject.single_lanes

    @property
    def share_of_wealth(self) -> float:
        """All but a reserve while a call answers for many lanes; the reserve once such a call has failed."""
        subject = self.runs.subject
        if not (subject.takes_lanes and subject.single_lanes):
            return 1.0
        return 1.0 - _COUNTS.reserve if self.runs.together else _COUNTS.reserve

    @property
    def search_samples(self) -> int:
        """The number of draws of a search; 0 if all pairs are bet on already, or there are too few draws."""
        neighbours, samples = self.runs.subject.neighbours, self.budget.search_of(self._draws_in_time)
        all_known = isinstance(neighbours, Listed) and len(neighbours.seeds()) <= len(self._bet_on)
        return 0 if all_known or samples < _COUNTS.least_draws else samples

    @property
    def _draws_in_time(self) -> int:
        """The number of draws that fit into the time left, by the mean time of a call so far."""
        draws, left = self.budget.samples, self.conduct.seconds - self.conduct.elapsed_seconds
        if not self.dear or math.isinf(left):
            return draws
        return min(draws, int(max(left, 0.0) / max(self.runs.seconds_a_draw, 1e-9)))

    def known_candidates(self, earlier: Sequence[Mapping[str, Any]]) -> Candidates:
        """Return the pairs of earlier runs, the pair of the first look, and known pairs."""
        neighbours, samples = self.runs.subject.neighbours, self.budget.samples
        found = [_pair_of(saved) for saved in earlier]
        for pair in found:
            neighbours.check(pair)
        most = max(1, min(_COUNTS.bet_on, samples // FEWEST_OF_PAIR))
        elsewhere = [] if self.looked.elsewhere is None else [self.looked.elsewhere]
        self._bet_on = list(islice(different_pairs([*elsewhere, *found, *neighbours.seeds()]), most))
        keys = {pair.key for pair in found}
        return Candidates([self._worlds(pair, found=pair.key in keys) for pair in self._bet_on], samples)

    def further_candidates(self, left: int) -> Candidates:
        """Search for more pairs."""
        samples = self.budget.search_of(min(left, self._draws_in_time))
        self.search = self._searched(
            samples=samples,
            error=self.conduct.effort.significance,
            final_samples=(left - samples) // 4,
        )
        new = list(different_pairs([*self._bet_on, *self.search.pairs]))[len(self._bet_on) :]
        self._bet_on += new
        spent = self.search.samples
        return Candidates([self._worlds(pair, found=True) for pair in new], left - spent, searched=spent)

    def _searched(self, *, samples: int, error: float, final_samples: int) -> SearchResult:
        return search_neighbours(
            self.runs.subject.neighbours,
            self.draw,
            ComingTest(self.delta, error, final_samples),
            replace(self.conduct, progress=subprogress(self.conduct.progress, 0.0, 0.25)),
            samples=samples,
            seeds=len(known_pairs(self.runs)),
            examples=MOST_EXAMPLES if self.runs.subject.single_lanes else _COUNTS.generated_of_command,
            written=written_numbers(self.runs.subject.function),
        )

    def _worlds(self, pair: Pair, *, found: bool = False) -> NeighbouringWorlds:
        def draw(other: bool, n: int, seed: np.random.SeedSequence) -> ViewSample:
            return self.draw(pair, other, n, seed)

        words = describe_data(pair.data), describe_data(pair.other)
        data = _json_data(pair) if pair.data.size + pair.other.size <= _COUNTS.most_entries else None
        one_by_one = self.dear and self.runs.subject.single_lanes and not self.runs.together
        kept = _plain(pair) if found else None
        return NeighbouringWorlds(words, draw, found=kept, one_by_one=one_by_one, data=data)


def _plain(pair: Pair) -> dict[str, Any]:
    both = (("data", pair.data), ("data_prime", pair.other))
    return {name: {"type": data.dtype.str, "values": data.tolist()} for name, data in both}


def _json_data(pair: Pair) -> dict[str, Any] | None:
    """Return both data sets as JSON data, None if that has no place for an entry, as for NaN."""
    with suppress(ParameterError):
        data: dict[str, Any] = json_able(_plain(pair))
        return data
    return None


def _pair_of(saved: Mapping[str, Any]) -> Pair:
    try:
        data, other = (np.array(saved[key]["values"], saved[key]["type"]) for key in ("data", "data_prime"))
    except (KeyError, TypeError, ValueError) as error:
        raise ParameterError(f"not written by a run ({type(error).__name__}: {error})") from None
    return Pair(data, other)
