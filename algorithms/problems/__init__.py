"""Problems to run learners on: structures with oracles, laws of records, a catalogue of named instances."""

from algorithms.learner import Family
from algorithms.problems.arms import Arms
from algorithms.problems.cascade import Cascade
from algorithms.problems.contextual_problems import contextual_problems
from algorithms.problems.coverage import MaximumCoverage
from algorithms.problems.disjoint_paths import DisjointPaths
from algorithms.problems.experts import Experts
from algorithms.problems.failing_oracle import FailingTopK
from algorithms.problems.graphic_matroid import GraphicMatroid
from algorithms.problems.linear import LinearBandit
from algorithms.problems.linear_contexts import LinearContexts
from algorithms.problems.linear_matroid import LinearMatroid
from algorithms.problems.linear_problems import linear_problems
from algorithms.problems.logged_users import LoggedUsers
from algorithms.problems.matroid import Matroid
from algorithms.problems.movielens import movielens
from algorithms.problems.named_problems import ProblemEntry, build_problem, problems
from algorithms.problems.open_bandit import (
    open_bandit,
    open_bandit_cascade,
    open_bandit_counts,
    open_bandit_rates,
)
from algorithms.problems.partition_matroid import PartitionMatroid, UniformMatroid
from algorithms.problems.problem import Problem
from algorithms.problems.problem_errors import ProblemError, SettingError
from algorithms.problems.problem_settings import Parameter, Value, known_name, parse_settings
from algorithms.problems.public_arms import PublicArms
from algorithms.problems.ranked_lists import RankedLists
from algorithms.problems.semi_bandit import SemiBandit
from algorithms.problems.shared_outcomes import SharedOutcomes
from algorithms.problems.shortest_path import ShortestPath
from algorithms.problems.super_arms import SuperArms
from algorithms.problems.top_k import TopK

__all__ = [
    "Arms",
    "Cascade",
    "DisjointPaths",
    "Experts",
    "FailingTopK",
    "Family",
    "GraphicMatroid",
    "LinearBandit",
    "LinearContexts",
    "LinearMatroid",
    "LoggedUsers",
    "Matroid",
    "MaximumCoverage",
    "Parameter",
    "PartitionMatroid",
    "Problem",
    "ProblemEntry",
    "ProblemError",
    "PublicArms",
    "RankedLists",
    "SemiBandit",
    "SettingError",
    "SharedOutcomes",
    "ShortestPath",
    "SuperArms",
    "TopK",
    "UniformMatroid",
    "Value",
    "build_problem",
    "contextual_problems",
    "known_name",
    "linear_problems",
    "movielens",
    "open_bandit",
    "open_bandit_cascade",
    "open_bandit_counts",
    "open_bandit_rates",
    "parse_settings",
    "problems",
]
