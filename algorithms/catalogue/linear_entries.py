"""The learners of linear bandits by name: they play `LinearBandit`, not a semi-bandit `Problem`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from algorithms.catalogue.learner_entry import CatalogueEntry, builder, catalogue_entries
from algorithms.learner import DEFAULT_DELTA
from algorithms.linear import dp_dpe, dp_pe
from algorithms.linear.linear_play import BuildPhased, LinearLearner
from algorithms.problems import LinearBandit, ProblemError, Value
from algorithms.published import dp_dpe as printed
from algorithms.published import dp_pe as printed_pe


class LinearEntry(CatalogueEntry[LinearBandit, LinearLearner]):
    """A learner of linear bandits: ``make(actions, gate, *, horizon, ...)``.

    With epsilon and delta if it is private, and with population and sigma if it is distributed.
    """

    @property
    def certified_form(self) -> str:
        """The name of the learner to use where a certificate counts: its own if it has one, "" if none is claimed."""
        return super().certified_form.removeprefix("published/")

    def _built(
        self, problem: LinearBandit, offered: dict[str, Any], settings: Mapping[str, Value]
    ) -> BuildPhased:
        return linear_builder(self.make, problem, settings=settings, **offered)


def linear_builder(
    make: type[Any],
    problem: LinearBandit,
    *,
    epsilon: float,
    horizon: int | None,
    delta: float = DEFAULT_DELTA,
    settings: Mapping[str, Value] | None = None,
) -> BuildPhased:
    """Return a function that makes a learner of class `make` on a gate.

    Passed are those of epsilon, delta, horizon, population, sigma, replacement and reward_bound that the class takes.
    reward_bound is the setting of that name; 0 or none stands for what the problem's rewards keep: 1, or no bound.

    Raises
    ------
    ProblemError
        If the problem is not a linear bandit.
    ParameterError
        If the class takes epsilon, delta or horizon and it is out of range.
    """
    if not isinstance(problem, LinearBandit):
        raise ProblemError(f"{make.__name__} plays linear problems, not {type(problem).__name__}")
    chosen = dict(settings or {})
    bound = chosen.pop("reward_bound", 0.0) or (1.0 if problem.rewards == "signs" else None)
    of_problem: dict[str, Any] = {
        "horizon": horizon,
        "population": problem.population,
        "sigma": problem.sigma,
        "replacement": problem.replacement,
        **({} if bound is None else {"reward_bound": bound}),
    }
    offered = {"epsilon": epsilon, "delta": delta, **of_problem}
    return builder(make, problem.actions, offered, chosen, unnamed=frozenset(of_problem))


linear_learners: dict[str, LinearEntry] = catalogue_entries(
    LinearEntry,
    (
        dp_dpe.DPE,
        dp_dpe.DPDPECentral,
        dp_dpe.DPDPELocal,
        dp_dpe.DPDPEShuffle,
        printed.DPE,
        printed.DPEFixedU,
        printed.DPDPECentral,
        printed.DPDPELocal,
        printed.DPDPEShuffle,
        dp_pe.PE,
        dp_pe.DPPECentral,
        dp_pe.DPPELocal,
        dp_pe.DPPEShuffle,
        printed_pe.PE,
        printed_pe.DPPECentral,
        printed_pe.DPPELocal,
        printed_pe.DPPEShuffle,
    ),
)
"""Certified and published learners of linear bandits."""
