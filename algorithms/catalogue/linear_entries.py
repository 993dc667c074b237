"""The learners of linear bandits by name: they play `LinearBandit`, not a semi-bandit `Problem`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from algorithms.catalogue.learner_entry import CatalogueEntry, builder
from algorithms.learner import DEFAULT_DELTA
from algorithms.linear import dp_dpe, dp_pe
from algorithms.linear.linear_play import BuildPhased, LinearLearner
from algorithms.problems import LinearBandit, Parameter, ProblemError, Value
from algorithms.published import dp_dpe as printed
from algorithms.published import dp_pe as printed_pe

_PAPER = "distributed linear bandits paper, "


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


_ALPHA = Parameter("alpha", "float", 0.8, 0.01, 0.99, "2^(alpha l) clients report in phase l")
_BOUND = Parameter(
    "reward_bound",
    "float",
    0.0,
    0,
    None,
    "B of rewards in [-B, B]; 0: as the problem's rewards are, without a bound wide enough for no report to be clipped",
)
_ASSUMED_BOUND = Parameter(
    "reward_bound", "float", 1.0, 1e-9, None, "B; what a client reports is clipped to [-B, B]"
)
_CLIPPING = Parameter(
    "clipping",
    "str",
    "yes",
    meaning="clip reports to [-B, B]; no: as in the paper, which assumes that they lie there",
    choices=("yes", "no"),
)
_FIXED = Parameter("fixed_clients", "int", 155, 1, None, "how many clients report in every phase, U")

linear_learners: dict[str, LinearEntry] = {
    entry.name: entry
    for entry in (
        LinearEntry(
            "dpe",
            dp_dpe.DPE,
            "distributed phased elimination with exact widths, no privacy",
            parameters=(_ALPHA, _BOUND),
            source=_PAPER + "Algorithm 1",
        ),
        LinearEntry(
            "dp-dpe-central",
            dp_dpe.DPDPECentral,
            "distributed phased elimination, analytic Gaussian noise on each phase's sum",
            "certified repair of published/dp-dpe-central",
            (_ALPHA, _BOUND),
        ),
        LinearEntry(
            "dp-dpe-local",
            dp_dpe.DPDPELocal,
            "distributed phased elimination, analytic Gaussian noise on each report",
            "certified repair of published/dp-dpe-local",
            (_ALPHA, _BOUND),
        ),
        LinearEntry(
            "dp-dpe-shuffle",
            dp_dpe.DPDPEShuffle,
            "distributed phased elimination, numerically calibrated shuffled bits",
            "certified repair of published/dp-dpe-shuffle",
            (_ALPHA, _BOUND),
        ),
        LinearEntry(
            "published/dpe",
            printed.DPE,
            "distributed phased elimination as printed, no privacy",
            parameters=(_ALPHA, _ASSUMED_BOUND),
            source=_PAPER + "Algorithm 1",
        ),
        LinearEntry(
            "published/dpe-fixed-u",
            printed.DPEFixedU,
            "distributed phased elimination, the same number of clients in every phase, no privacy",
            parameters=(_FIXED, _ASSUMED_BOUND),
            source=_PAPER + "DPE-FixedU of Section 7",
        ),
        LinearEntry(
            "published/dp-dpe-central",
            printed.DPDPECentral,
            "as printed: classical Gaussian noise, common width",
            "FALSE for large epsilon (above 5.12 at delta = 0.25); below, holds with slack",
            (_ALPHA, _ASSUMED_BOUND, _CLIPPING),
        ),
        LinearEntry(
            "published/dp-dpe-local",
            printed.DPDPELocal,
            "as printed: classical Gaussian noise on each report, common width",
            "FALSE for large epsilon (above 5.12 at delta = 0.25); below, holds with slack",
            (_ALPHA, _ASSUMED_BOUND, _CLIPPING),
        ),
        LinearEntry(
            "published/dp-dpe-shuffle",
            printed.DPDPEShuffle,
            "as printed: Algorithm 2's bits, common width",
            "holds with huge slack (g rounded up): true epsilon is claim / 200 or less",
            (_ALPHA, _ASSUMED_BOUND),
        ),
        LinearEntry(
            "pe",
            dp_pe.PE,
            "phased elimination with exact widths, one client per round, no privacy",
            parameters=(_ASSUMED_BOUND,),
            source=_PAPER + "Algorithm 3",
        ),
        LinearEntry(
            "dp-pe-central",
            dp_pe.DPPECentral,
            "phased elimination, analytic Gaussian noise on each action's sum",
            "certified repair of published/dp-pe-central",
            (_ASSUMED_BOUND,),
        ),
        LinearEntry(
            "dp-pe-local",
            dp_pe.DPPELocal,
            "phased elimination, analytic Gaussian noise on each reward",
            "certified repair of published/dp-pe-local",
            (_ASSUMED_BOUND,),
        ),
        LinearEntry(
            "dp-pe-shuffle",
            dp_pe.DPPEShuffle,
            "phased elimination, numerically calibrated shuffled bits",
            "certified repair of published/dp-pe-shuffle",
            (_ASSUMED_BOUND,),
        ),
        LinearEntry(
            "published/pe",
            printed_pe.PE,
            "phased elimination as printed, no privacy",
            parameters=(_ASSUMED_BOUND,),
            source=_PAPER + "Algorithm 3",
        ),
        LinearEntry(
            "published/dp-pe-central",
            printed_pe.DPPECentral,
            "as printed: classical Gaussian noise, common width",
            "FALSE for large epsilon (above 5.12 at delta = 0.25); below, holds with slack",
            (_ASSUMED_BOUND,),
        ),
        LinearEntry(
            "published/dp-pe-local",
            printed_pe.DPPELocal,
            "as printed: classical Gaussian noise on each reward, common width",
            "FALSE for large epsilon (above 5.12 at delta = 0.25); below, holds with slack",
            (_ASSUMED_BOUND,),
        ),
        LinearEntry(
            "published/dp-pe-shuffle",
            printed_pe.DPPEShuffle,
            "as printed: Algorithm 4's bits, common width",
            "holds with slack: true epsilon is claim / 10 or less",
            (_ASSUMED_BOUND,),
        ),
    )
}
"""Certified and published learners of linear bandits."""
