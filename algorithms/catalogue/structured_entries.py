"""Every learner by its registered name: what ``dpwitness list`` shows and what the commands build."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from algorithms import published
from algorithms.cascades.cascade_batch import (
    CascadeUCBBatch,
    CascadeUCBBatchGaussian,
    CascadeUCBBatchShuffle,
    CascadeUCBKL,
)
from algorithms.cascades.cascade_rr import CascadeUCBRR
from algorithms.cascades.cascade_ucb1 import CascadeUCB1
from algorithms.catalogue.learner_entry import CatalogueEntry, builder, catalogue_entries
from algorithms.full_information.hedge import DPHedge, Hedge
from algorithms.learner import DEFAULT_DELTA, Family, Learner
from algorithms.play import BuildLearner
from algorithms.problems import ProblemError, SuperArms, Value
from algorithms.semi_bandits.cts import CTS
from algorithms.semi_bandits.cucb import CUCB
from algorithms.semi_bandits.cucb_batch import CUCBKL, CUCBBatch, CUCBBatchGaussian
from algorithms.semi_bandits.cucb_ldp import CUCBLDP1, CUCBLDP2
from algorithms.semi_bandits.cucb_ldp_bit import CUCBLDPBit
from algorithms.semi_bandits.cucb_ldp_gaussian import CUCBLDPGaussian
from algorithms.semi_bandits.dp_bandit import DPBandit, DPBanditGaussian, DPBanditLDP, DPBanditShuffle
from algorithms.semi_bandits.dp_best_arm import DPBestArm
from algorithms.semi_bandits.omm import OMM
from algorithms.structured_learner import PLAYS, structure_kind


class Playable(Protocol):
    """Problem or log for which a learner is built; the learner receives its structure only."""

    @property
    def structure(self) -> SuperArms:
        """The actions that can be played."""


class LearnerEntry(CatalogueEntry[Playable, Learner]):
    """A learner of super arms, bases or lists: ``make(structure, gate, *, epsilon, delta, horizon, **settings)``."""

    def _built(
        self, problem: Playable, offered: dict[str, Any], settings: Mapping[str, Value]
    ) -> BuildLearner:
        return learner_builder(self.make, problem, settings=settings, **offered)


def learner_builder(
    make: type[Any],
    problem: Playable,
    *,
    epsilon: float,
    horizon: int | None,
    delta: float = DEFAULT_DELTA,
    settings: Mapping[str, Value] | None = None,
) -> BuildLearner:
    """Return a function that makes a learner of class `make` on a gate.

    epsilon, delta and horizon are passed if the class takes them.

    Raises
    ------
    ProblemError
        If the problem's structure is not of the learner's family.
    ParameterError
        If the class takes epsilon, delta or horizon and it is out of range, or needs a horizon and it is None.
    """
    check_family(make, problem)
    offered = {"epsilon": epsilon, "delta": delta, "horizon": horizon}
    unnamed = frozenset({"epsilon", "horizon"})  # what every private learner takes
    return builder(make, problem.structure, offered, settings or {}, unnamed=unnamed)


def check_family(make: type[Any], problem: Playable) -> None:
    """Raise `ProblemError` unless learners of class `make` play `problem`."""
    family = getattr(make, "family", None)
    if family not in PLAYS:
        raise ProblemError(
            f"{make.__name__}: a learner class must name its family, one of {', '.join(sorted(PLAYS))}"
        )
    kind = family_of(problem)
    if kind not in PLAYS[family]:
        raise ProblemError(
            f"{make.__name__} plays {' and '.join(PLAYS[family])} problems, not a {kind} problem"
        )


def family_of(problem: Playable) -> Family:
    """Return the kind of a problem, from its structure; raise `ProblemError` if it has none."""
    return structure_kind(getattr(problem, "structure", problem))


learners: dict[str, LearnerEntry] = catalogue_entries(
    LearnerEntry,
    (
        DPBandit,
        DPBanditGaussian,
        DPBanditShuffle,
        DPBanditLDP,
        DPBestArm,
        CUCB,
        CUCBLDP1,
        CUCBLDP2,
        CUCBLDPBit,
        CUCBLDPGaussian,
        CUCBBatch,
        CUCBBatchGaussian,
        CUCBKL,
        Hedge,
        DPHedge,
        OMM,
        CTS,
        CascadeUCB1,
        CascadeUCBKL,
        CascadeUCBRR,
        CascadeUCBBatch,
        CascadeUCBBatchGaussian,
        CascadeUCBBatchShuffle,
        published.DPSE,
        published.AdaPKLUCB,
        published.DPIMED,
        published.LazyDPTS,
        published.CUCBDP,
        published.CUCBDPLeast,
        published.DPUCBMat,
        published.DPTSMat,
        published.CascadeUCBHybrid,
        published.CascadeUCBLDPLaplace,
        published.CascadeUCBLDPGaussian,
        published.CascadeUCBLDPComposition,
        published.CUCBLDPGaussian,
    ),
)
"""The learners by name, certified and as published."""
