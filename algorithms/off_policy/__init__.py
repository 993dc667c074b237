"""Off-policy evaluation: the reward that a learner would have earned on logged traffic."""

from algorithms.off_policy.estimates import Estimate, Estimator
from algorithms.off_policy.logged_bandit import LoggedBandit, read_log
from algorithms.off_policy.replay_evaluation import Evaluation, evaluate

__all__ = ["Estimate", "Estimator", "Evaluation", "LoggedBandit", "evaluate", "read_log"]
