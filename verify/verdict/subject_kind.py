"""Kinds of subjects."""

from __future__ import annotations

from enum import StrEnum, unique


@unique
class SubjectKind(StrEnum):
    """The kind of a subject, on which the possible proofs depend."""

    LEARNER = "learner"
    MECHANISM = "mechanism"
    BANDIT = "bandit"
    FUNCTION = "function"


BLACK_BOXES = frozenset({SubjectKind.BANDIT, SubjectKind.FUNCTION})
"""The kinds of subjects for which there is no proof."""
