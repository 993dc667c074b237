"""The result of `dpwitness simulate` for one learner, as JSON and back."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from accountant.files.json_object import FromJson, JsonError, JsonObject
from accountant.provenance import Provenance, made_now
from algorithms.problems import Value
from verify.experiments.configuration import Configuration
from verify.experiments.simulated_runs import SimulatedRuns, is_real, read_further, read_rounds
from verify.verification.resolve import takes_delta

FORMAT = "dpwitness simulation, version 1"


@dataclass(frozen=True)
class SimulationResult(FromJson):
    """Mean regret and reward of a learner's runs, with its configuration.

    Attributes
    ----------
    learner, problem, neighbours
        The learner and problem simulated, and the relation that the learner's claim is for.
    asked
        The configuration; its ``learner`` and ``problem`` are as they were named.
    rounds
        The checkpoints.
    regret_mean, regret_sem, return_mean
        Mean cumulative regret at each, its standard error (NaN of one run), and mean reward per round.
    seconds, lane_rounds_per_second
        Time of the computation, and its speed.
    further
        As `SimulatedRuns.further`.
    provenance
        Date and code of the computation.
    """

    learner: str
    problem: str
    neighbours: str
    asked: Configuration
    rounds: tuple[int, ...]
    regret_mean: tuple[float, ...]
    regret_sem: tuple[float, ...]
    return_mean: tuple[float, ...]
    seconds: float
    lane_rounds_per_second: float
    further: Mapping[str, Any] = field(default_factory=dict)
    provenance: Provenance = field(default_factory=Provenance, compare=False)

    @classmethod
    def from_runs(cls, asked: Configuration, runs: SimulatedRuns) -> SimulationResult:
        """Return the result of a configuration's runs."""
        trace = runs.trace
        return cls(
            runs.learner,
            runs.problem,
            runs.neighbours,
            asked,
            tuple(trace.rounds.tolist()),
            tuple(trace.regret_mean.tolist()),
            tuple(trace.regret_sem.tolist()),
            tuple(trace.return_mean.tolist()),
            trace.seconds,
            trace.lane_rounds_per_second,
            runs.further,
            made_now(),
        )

    @property
    def repeat(self) -> str:
        """The command that gives the same numbers again."""
        asked = self.asked
        words = ["dpwitness", "simulate", asked.learner]
        words += [] if asked.problem is None else ["--problem", asked.problem]
        for key, value in asked.settings.items():
            words += ["--set", f"{key}={value}"]
        delta = ("delta",) if takes_delta(asked.learner) else ()
        for name in ("epsilon", *delta, "horizon", "runs", "seed"):
            words += [f"--{name}", repr(getattr(asked, name))]
        return shlex.join(words)

    def json(self) -> dict[str, Any]:
        """Return it as JSON data; NaN is null."""
        asked = self.asked
        return {
            "format": FORMAT,
            "learner": self.learner,
            "problem": self.problem,
            "neighbours": self.neighbours,
            "asked": {"learner": asked.learner, "problem": asked.problem, "checkpoints": asked.checkpoints},
            "epsilon": asked.epsilon,
            "delta": asked.delta,
            "settings": dict(asked.settings),
            "rounds": list(self.rounds),
            "regret_mean": list(self.regret_mean),
            "regret_sem": [None if math.isnan(each) else each for each in self.regret_sem],
            "return_mean": list(self.return_mean),
            "runs": asked.runs,
            "seed": asked.seed,
            "seconds": self.seconds,
            "lane_rounds_per_second": self.lane_rounds_per_second,
            **self.further,
            **self.provenance.json(),
        }

    @classmethod
    def from_json(cls, data: Any) -> SimulationResult:
        """Rebuild the result from the JSON data of `json`.

        Raises
        ------
        ParameterError
            If a key is missing, unknown or of another type.
        """
        read = JsonObject(data, "the simulation")
        read.one_of("format", [FORMAT])
        learner, problem, neighbours = (read.text(name) for name in ("learner", "problem", "neighbours"))
        named, of, checkpoints = read.object("asked", _read_asked)
        epsilon, delta, settings = (
            read.real_number("epsilon"),
            read.real_number("delta"),
            read.mapping("settings"),
        )
        rounds = tuple(read_rounds(read))
        means, returns = tuple(read.real_numbers("regret_mean")), tuple(read.real_numbers("return_mean"))
        given = read.pop("regret_sem", list)
        if not all(each is None or is_real(each) for each in given):
            raise JsonError("regret_sem must hold numbers, or null")
        errors = tuple(math.nan if each is None else float(each) for each in given)
        if not len(rounds) == len(means) == len(returns) == len(errors):
            raise JsonError("rounds, regret_mean, regret_sem and return_mean must be as many")
        asked = Configuration(
            named, rounds[-1], read.integer("runs"), of, _settings(settings), epsilon, delta, read.integer("seed"),
            checkpoints,
        )  # fmt: skip
        seconds, speed = read.real_number("seconds"), read.real_number("lane_rounds_per_second")
        provenance = Provenance.from_fields(read)
        return cls(
            learner, problem, neighbours, asked, rounds, means, errors, returns, seconds, speed, read_further(read),
            provenance,
        )  # fmt: skip


def _read_asked(read: JsonObject) -> tuple[str, str | None, int]:
    learner, problem = read.text("learner"), read.pop("problem", str, type(None))
    return learner, problem, read.integer("checkpoints")


def _settings(data: Mapping[str, Any]) -> dict[str, Value]:
    for key, value in data.items():
        if type(value) not in (int, float, str):
            raise JsonError(f"settings: {key[:60]!r} must be a number or a text")
    return dict(data)
