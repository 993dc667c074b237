"""Verify a function by betting: draws are looked at as they come, and the first ones that suffice end the run.

The known pairs of neighbours are bet on at once. What they leave undecided goes to a search for neighbours, and the
pairs that it finds are bet on beside them. With a wealth file, later runs begin with the pairs that earlier ones found,
and search anew, so that runs share out the search, too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from verify.betting.anytime_bettor import Bettor
from verify.betting.anytime_result import AnytimeResult
from verify.betting.anytime_scout import Scout, Scouted
from verify.betting.anytime_seat import FIRST_BATCH
from verify.betting.wealth_file import WealthError
from verify.conduct.conduct import Conduct
from verify.events.view_sample import ViewSample
from verify.findings import Statement, UpperBound
from verify.functions.function_subject import FunctionSubject
from verify.functions.placebo import drifts, hangs_together
from verify.functions.probe import NeverEnds, probe
from verify.functions.probe_result import Probe, words_of
from verify.functions.repeats import repeats_an_event
from verify.functions.runs import FunctionRuns, RaisedInLanes
from verify.neighbouring.adjacency import Data, NotNeighbours, Pair
from verify.neighbouring.listed import Listed
from verify.neighbouring.neighbour_search import MOST_EXAMPLES, search_neighbours
from verify.neighbouring.pair_draws import worlds_of
from verify.sampling.worlds import NeighbouringWorlds
from verify.subject_error import SubjectError
from verify.verdict.evidence import Evidence
from verify.verdict.stopping import stopped_in_time

_PAIRS = 12  # known pairs that are bet on
_KEPT = 3  # pairs of a search that the next run begins with
_SEEDS = 48  # known pairs that the search looks at
_COMMAND_SEEDS, _COMMAND_EXAMPLES = 12, 12  # where every call starts a process
_SEARCH_SHARE = 0.3  # of the draws, for the search for neighbours
_LEAST_SEARCH = 24_000  # draws below which a search finds nothing
_RESERVE = 1e-3  # of the wealth, for the case that a function raises while it works on many lanes


def bet_on_function(subject: FunctionSubject, bettor: Bettor) -> Evidence:
    """Bet against a function's claim until it is refuted or the draws are spent.

    Returns
    -------
    Evidence
        With ``details["anytime"]``. A run that drifts is not saved.

    Raises
    ------
    SubjectError
        If the function raises in every call, or what it returns cannot be read.
    WealthError
        If the wealth file holds pairs that are no neighbours.
    """
    evidence = Evidence(upper=UpperBound(math.inf, 1.0, "none: nothing is known of a black box"))
    bets = _FunctionBets(FunctionRuns(subject, subject.takes_lanes), bettor, 1.0)
    if subject.takes_lanes and subject.single_lanes:
        bets = _FunctionBets(bets.runs, bettor, 1.0 - _RESERVE)
    with stopped_in_time(evidence, bettor.conduct.seconds):
        try:
            try:
                bets.play(evidence)
            except RaisedInLanes as error:
                if not subject.single_lanes:
                    raise SubjectError(f"{subject.name} raised {error}") from error
                # Which lane raised cannot be said: lanes are asked for one by one from here on, and bet on with
                # wealth that was not at stake before.
                evidence.findings.clear()
                bets = _FunctionBets(FunctionRuns(subject, False), bettor, _RESERVE)
                bets.play(evidence)
        except NeverEnds as error:
            evidence.findings.append(error.finding)
    bets.conclude(evidence)
    return evidence


@dataclass
class _FunctionBets:
    """The bets of one run on a function, and what came of them."""

    runs: FunctionRuns
    bettor: Bettor
    share: float
    pairs: list[Pair] = field(default_factory=list)
    searched: list[Pair] = field(default_factory=list)
    looked: Probe | None = None
    result: AnytimeResult | None = None

    @property
    def subject(self) -> FunctionSubject:
        return self.runs.subject

    @property
    def conduct(self) -> Conduct:
        return self.bettor.conduct

    @property
    def samples(self) -> int:
        """All draws of the run."""
        effort = self.conduct.effort
        if not self.subject.single_lanes:  # a command
            return effort.samples
        many = self.subject.takes_lanes and self.runs.lanes_together
        return effort.batch_samples if many else effort.single_samples

    def play(self, evidence: Evidence) -> None:
        """Look at the function, and bet unless it is constant."""
        self.searched = self._earlier_pairs()
        most = max(1, min(_PAIRS, self.samples // (2 * FIRST_BATCH)))
        self.pairs = _different([*self.searched, *self.subject.neighbours.seeds()])[:most]
        looked = probe(
            self.runs, self.subject.neighbours, self.pairs, self.conduct.seed, self.conduct.seconds
        )
        evidence.findings.extend(looked.findings)
        if looked.nothing_to_test:
            return
        if looked.elsewhere is not None:
            self.pairs = _different([looked.elsewhere, *self.pairs])[:most]
        self.looked = looked
        self.result = self.bettor.bet(
            [self._candidate(pair) for pair in self.pairs],
            self.samples,
            scout=self._scout(),
            share=self.share,
            whole_stretches=not self.subject.single_lanes,
        )

    def draw(self, pair: Pair, other: bool, n: int, seed: np.random.SeedSequence) -> ViewSample:
        """Draw outputs on one data set of a pair."""
        assert self.looked is not None
        return self.runs.sample(self.looked.layout, pair.other if other else pair.data, n, seed)

    def _candidate(self, pair: Pair) -> NeighbouringWorlds:
        return worlds_of(pair, self.draw, (words_of(pair.data), words_of(pair.other)))

    def _scout(self) -> Scout | None:
        """A search for more pairs; None if all are known or there are too few draws for it."""
        neighbours = self.subject.neighbours
        all_known = isinstance(neighbours, Listed) and len(neighbours.seeds()) <= len(self.pairs)
        samples = min(int(_SEARCH_SHARE * self.samples), self.conduct.effort.search_samples)
        return None if all_known or samples < _LEAST_SEARCH else Scout(self._search, samples)

    def _search(self, left: int) -> Scouted:
        """Search for more pairs."""
        single = self.subject.single_lanes
        samples = min(int(_SEARCH_SHARE * left), self.conduct.effort.search_samples)
        found = search_neighbours(
            self.subject.neighbours,
            self.draw,
            samples=samples,
            delta=self.bettor.claim.delta,
            error=self.conduct.effort.false_alarm,
            seed=self.conduct.seed,
            seeds=_SEEDS if single else _COMMAND_SEEDS,
            examples=MOST_EXAMPLES if single else _COMMAND_EXAMPLES,
            final_samples=(left - samples) // 4,
            tell=lambda share, doing: self.conduct.progress(1.0 - left / self.samples, doing),
        )
        new = _different([*self.pairs, *found.pairs])[len(self.pairs) :]
        self.pairs += new
        self.searched = _different([*self.searched, *new])
        return Scouted([self._candidate(pair) for pair in new], found.samples)

    def conclude(self, evidence: Evidence) -> None:
        """Add the result to the evidence, unless outputs drift."""
        result, looked = self.result, self.looked
        if result is None or looked is None:
            return
        pair = self.pairs[result.candidate]
        if (
            result.refuted
            and not result.stopped
            and self.runs.together
            and repeats_an_event(self.draw, pair, result, self.runs.width, self.conduct.seed)
        ):
            evidence.findings.append(Statement.REPEATS.finding(share="a part"))
            evidence.details["anytime"] = result.to_dict()
            return
        in_doubt = result.refuted or not looked.repeatable
        if in_doubt and not result.stopped and drifts(self.draw, pair, result, self.conduct.seed):
            evidence.findings.append(Statement.DRIFT.finding())
            evidence.details["anytime"] = result.to_dict()
            return
        if result.refuted and not result.stopped:
            how = hangs_together(self.draw, pair, result, self.conduct.seed)
            if how is not None:
                evidence.findings.append(Statement.DEPENDENT_DRAWS.finding(how=how))
                evidence.details["anytime"] = result.to_dict()
                return
        self.bettor.conclude(evidence, result, self._kept(result))

    def _kept(self, result: AnytimeResult) -> list[dict[str, Any]]:
        """The pairs of all searches so far that promise most, for the wealth file."""
        promises = {
            pair.key: float(
                result.closing.bets.get(self._candidate(pair).label, {}).get("promise", -math.inf)
            )
            for pair in self.searched
        }
        ranked = sorted(self.searched, key=lambda pair: -promises[pair.key])
        return [_saved(pair) for pair in ranked[:_KEPT]]

    def _earlier_pairs(self) -> list[Pair]:
        """The pairs that earlier runs found."""
        account = self.bettor.account
        pairs = [_read(saved) for saved in (account.pairs if account is not None else ())]
        try:
            for pair in pairs:
                self.subject.neighbours.check(pair)
        except NotNeighbours as error:
            raise WealthError(f"wealth={self.bettor.save}: holds a pair that is none: {error}") from None
        return pairs


def _different(pairs: Sequence[Pair]) -> list[Pair]:
    """The pairs, each once, in order."""
    found: dict[bytes, Pair] = {}
    for pair in pairs:
        found.setdefault(pair.key, pair)
    return list(found.values())


def _saved(pair: Pair) -> dict[str, Any]:
    return {name: _plain(data) for name, data in (("data", pair.data), ("data_prime", pair.other))}


def _plain(data: Data) -> dict[str, Any]:
    return {"type": data.dtype.str, "values": data.tolist()}


def _read(saved: Mapping[str, Any]) -> Pair:
    try:
        data, other = (np.array(saved[key]["values"], saved[key]["type"]) for key in ("data", "data_prime"))
    except (KeyError, TypeError, ValueError) as error:
        raise WealthError(f"pairs: not written by a run ({type(error).__name__}: {error})") from None
    return Pair(data, other)
