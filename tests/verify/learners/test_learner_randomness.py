"""A learner is one of this library's by its file, not by the name of its module."""

from __future__ import annotations

from algorithms import CUCBBatch
from verify.learners.learner_randomness import is_of_algorithms, shows_draws
from verify.zoo.bandits import EpisodicUCB


def test_a_class_of_a_module_named_like_ours_is_not_of_this_library() -> None:
    own = type("Mine", (CUCBBatch,), {"__module__": "algorithms.mine", "act": lambda self: None})
    named = type("Mine", (CUCBBatch,), {"__module__": CUCBBatch.__module__, "act": lambda self: None})
    assert is_of_algorithms(CUCBBatch)
    assert shows_draws(CUCBBatch)
    for kind in (own, named, EpisodicUCB):
        assert not is_of_algorithms(kind)
    assert not shows_draws(own)
