"""Every learner by its registered name: what ``dpwitness list`` shows and what the commands build."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, get_args

from algorithms import published
from algorithms.cascades.cascade_batch import (
    CascadeUCBBatch,
    CascadeUCBBatchGaussian,
    CascadeUCBBatchShuffle,
    CascadeUCBKL,
    ListIndex,
)
from algorithms.cascades.cascade_rr import CascadeUCBRR
from algorithms.cascades.cascade_ucb1 import CascadeUCB1
from algorithms.catalogue.learner_entry import CatalogueEntry, builder
from algorithms.full_information.hedge import DPHedge, Hedge
from algorithms.learner import DEFAULT_DELTA, Family, Learner
from algorithms.play import BuildLearner
from algorithms.problems import Parameter, ProblemError, SuperArms, Value
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


_INITIAL_RECORDS = Parameter(
    "initial_records",
    "str",
    "one",
    meaning="the round-0 vector is one record (as printed), or every element's value a record of its own",
    choices=("one", "separate"),
)

_NOISE_MULTIPLIER = Parameter(
    "noise_multiplier",
    "float",
    1.0,
    low=1e-9,
    meaning="what the noise is multiplied by (the paper's experiments: 0.01)",
)

_GROWTH = Parameter(
    "growth",
    "float",
    0.1,
    1e-3,
    1.0,
    "by which share of what was released an arm's data grow with its next batch",
)

_INDEX = Parameter(
    "index",
    "str",
    "level-free",
    meaning="of least regret, without a regret theorem; or of a confidence level, with one",
    choices=get_args(ListIndex),
)

_ERROR = Parameter(
    "error", "float", 0.05, 1e-12, 0.5, "the probability that the recommended arm is not the best one"
)

_TOLERANCE = Parameter(
    "tolerance", "float", 0.0, 0.0, 0.99, "by how much the recommended arm may be below the best one"
)

learners: dict[str, LearnerEntry] = {
    entry.name: entry
    for entry in (
        LearnerEntry(
            "dp-bandit",
            DPBandit,
            "K arms, level-free index on growing batches with Laplace noise",
            "certified; 1.1 to 2.5 times the least regret of any epsilon-private learner, as T grows",
        ),
        LearnerEntry(
            "dp-bandit-gaussian",
            DPBanditGaussian,
            "K arms, level-free index on growing batches with Gaussian noise",
            "certified, (epsilon, delta)",
        ),
        LearnerEntry(
            "dp-bandit-shuffle",
            DPBanditShuffle,
            "K arms, every user sends shuffled bits, level-free index on growing batches",
            "certified, (epsilon, delta); hardly more noise than dp-bandit-gaussian, and no server is trusted",
        ),
        LearnerEntry(
            "dp-bandit-ldp",
            DPBanditLDP,
            "K arms, every user sends one randomized bit, level-free index of growing batches of bits",
            "certified; 1.1 times the least regret that messages of one randomized bit allow, as T grows",
        ),
        LearnerEntry(
            "dp-best-arm",
            DPBestArm,
            "K arms, elimination on batches with Laplace noise finds the best one with a chosen error, and plays it",
            "certified; it stops by itself, so that regret is for dp-bandit",
            (_ERROR, _TOLERANCE),
        ),
        LearnerEntry(
            "cucb",
            CUCB,
            "combinatorial UCB, no privacy",
            source="Chen, Wang & Yuan 2013, Algorithm 1",
        ),
        LearnerEntry(
            "cucb-ldp1",
            CUCBLDP1,
            "combinatorial UCB, every user sends all played outcomes with Laplace noise",
            "certified as printed, tight",
        ),
        LearnerEntry(
            "cucb-ldp2",
            CUCBLDP2,
            "combinatorial UCB, every user sends the least-pulled outcome with Laplace noise",
            "certified as printed, tight",
        ),
        LearnerEntry(
            "cucb-ldp-bit",
            CUCBLDPBit,
            "combinatorial UCB, every user sends randomized bits about the least-counted arms played: one, or a few",
            "certified; the least regret of the local learners of sets and paths here",
        ),
        LearnerEntry(
            "cucb-ldp-gaussian",
            CUCBLDPGaussian,
            "combinatorial UCB, every user sends all outcomes with Gaussian noise",
            "certified repair of published/cucb-ldp-gaussian",
        ),
        LearnerEntry(
            "cucb-batch",
            CUCBBatch,
            "combinatorial UCB, growing batches of the few least-counted arms with Laplace noise, level-free index",
            "certified; the least regret here of learners of super arms in the central model",
        ),
        LearnerEntry(
            "cucb-batch-gaussian",
            CUCBBatchGaussian,
            "combinatorial UCB, growing batches of all played arms with Gaussian noise, level-free index",
            "certified repair of Algorithm 3, (epsilon, delta)",
        ),
        LearnerEntry(
            "cucb-kl",
            CUCBKL,
            "cucb-batch without noise: growing batches of all played arms, level-free index, no privacy",
            source="this library; Garivier & Cappe 2011",
        ),
        LearnerEntry(
            "hedge",
            Hedge,
            "experts: exponential weights on the outcomes of all, no privacy",
            source="Freund & Schapire 1997",
        ),
        LearnerEntry(
            "dp-hedge",
            DPHedge,
            "experts: exponential weights on running sums of all outcomes with correlated Gaussian noise",
            "certified, (epsilon, delta); privacy is added to regret, with the deviation of one running sum",
        ),
        LearnerEntry(
            "omm",
            OMM,
            "optimistic matroid maximisation, no privacy",
            source="Kveton et al. 2014, Algorithm 2",
        ),
        LearnerEntry(
            "cts",
            CTS,
            "combinatorial Thompson sampling with Gaussian priors on a matroid, no privacy",
            source="Wang & Chen 2018; Agrawal & Goyal 2017",
        ),
        LearnerEntry(
            "cascade-ucb1",
            CascadeUCB1,
            "UCB on ranked lists, no privacy",
            source="Kveton et al. 2015, Algorithm 1",
        ),
        LearnerEntry(
            "cascade-ucb-kl",
            CascadeUCBKL,
            "cascade-ucb-batch without noise: lists held for short phases, level-free index, no privacy",
            source="this library; Garivier & Cappe 2011",
        ),
        LearnerEntry(
            "cascade-ucb-rr",
            CascadeUCBRR,
            "UCB on ranked lists, every user sends one randomized symbol; an index valid at all counts at once",
            "certified repair of published/cascade-ucb-ldp-laplace; the least regret here of local learners of lists",
        ),
        LearnerEntry(
            "cascade-ucb-batch",
            CascadeUCBBatch,
            "UCB on ranked lists, lists held for phases whose click counts get Laplace noise",
            "certified private, no regret theorem but with index=confidence; repair of published/cascade-ucb-hybrid",
            (_INDEX,),
        ),
        LearnerEntry(
            "cascade-ucb-batch-gaussian",
            CascadeUCBBatchGaussian,
            "UCB on ranked lists, lists held for phases whose click counts get Gaussian noise",
            "certified repair of published/cascade-ucb-hybrid, (epsilon, delta)",
            (_INDEX,),
        ),
        LearnerEntry(
            "cascade-ucb-batch-shuffle",
            CascadeUCBBatchShuffle,
            "UCB on ranked lists, lists held for phases whose users' clicks are shuffled bits",
            "certified, (epsilon, delta); hardly more noise than cascade-ucb-batch-gaussian, and no server is trusted",
            (_INDEX,),
        ),
        LearnerEntry(
            "published/dp-se",
            published.DPSE,
            "K arms, successive elimination with Laplace noise on each epoch's means, as printed",
            "holds, tight",
            repaired_by="dp-bandit",
        ),
        LearnerEntry(
            "published/adap-klucb",
            published.AdaPKLUCB,
            "K arms, KL-UCB on doubling episodes with Laplace noise, as printed",
            "holds, tight",
            repaired_by="dp-bandit",
        ),
        LearnerEntry(
            "published/dp-imed",
            published.DPIMED,
            "K arms, least private divergence on accumulated batches with Laplace noise, as published",
            "holds, tight",
            (_GROWTH,),
            repaired_by="dp-bandit",
        ),
        LearnerEntry(
            "published/lazy-dp-ts",
            published.LazyDPTS,
            "K arms, Thompson sampling on doubling batches with Laplace noise, as published",
            "holds, tight",
            repaired_by="dp-bandit",
        ),
        LearnerEntry(
            "published/cucb-dp",
            published.CUCBDP,
            "combinatorial UCB on running sums of a binary tree, as printed",
            "holds with slack: all nodes lose 0.738 epsilon at T = 1e5 (only at T = 2 and 4 more than epsilon)",
            repaired_by="cucb-batch",
        ),
        LearnerEntry(
            "published/cucb-dp-least",
            published.CUCBDPLeast,
            "the same tree, fed by the least-pulled arm played, as proposed in words",
            "holds with slack, as published/cucb-dp; the paper gives no scale, here that of Algorithm 3 with K = 1",
            repaired_by="cucb-batch",
        ),
        LearnerEntry(
            "published/dpucb-mat",
            published.DPUCBMat,
            "DPUCB-MAT as printed, with the round-0 vector",
            "FALSE: one round-0 record loses up to L epsilon / K",
            (_INITIAL_RECORDS,),
            default_problem="uniform-matroid",
            repaired_by="cucb-batch",
        ),
        LearnerEntry(
            "published/dpts-mat",
            published.DPTSMat,
            "DPTS-MAT as printed, with the round-0 vector",
            "FALSE: one round-0 record loses up to L epsilon / K",
            (_INITIAL_RECORDS,),
            default_problem="uniform-matroid",
            repaired_by="cucb-batch",
        ),
        LearnerEntry(
            "published/cascade-ucb-hybrid",
            published.CascadeUCBHybrid,
            "cascading bandits with a hybrid counting mechanism for each item, as printed",
            "FALSE for every epsilon: w_0 and the counts of examinations are not private",
            repaired_by="cascade-ucb-batch",
        ),
        LearnerEntry(
            "published/cascade-ucb-ldp-laplace",
            published.CascadeUCBLDPLaplace,
            "cascading bandits with Laplace noise per examined position, as printed",
            "FALSE for every epsilon: the number of reports is the click position",
            (_NOISE_MULTIPLIER,),
            repaired_by="cascade-ucb-rr",
        ),
        LearnerEntry(
            "published/cascade-ucb-ldp-gaussian",
            published.CascadeUCBLDPGaussian,
            "cascading bandits with Gaussian noise per examined position, as printed",
            "FALSE for every epsilon: the number of reports is the click position",
            (_NOISE_MULTIPLIER,),
            repaired_by="cascade-ucb-rr",
        ),
        LearnerEntry(
            "published/cascade-ucb-ldp-composition",
            published.CascadeUCBLDPComposition,
            "cascading bandits with Laplace noise composed over the positions, as printed",
            "FALSE for every epsilon: the number of reports is the click position",
            (_NOISE_MULTIPLIER,),
            repaired_by="cascade-ucb-rr",
        ),
        LearnerEntry(
            "published/cucb-ldp-gaussian",
            published.CUCBLDPGaussian,
            "combinatorial UCB, every user sends all outcomes with Gaussian noise, as printed",
            "FALSE: u_0 is sent raw; the noise part holds with slack up to epsilon = 7.46 at delta = 1e-3",
            (_NOISE_MULTIPLIER,),
            repaired_by="cucb-ldp-gaussian",
        ),
    )
}
"""The learners by name, certified and as published."""
