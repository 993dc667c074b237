"""What NumPy does about overflow and the like: the subject's own setting is for its calls alone.

``np.seterr(all="raise")`` in a user's file holds for the whole process, and judging is full of numbers that underflow
harmlessly.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any

import numpy as np

_theirs: ContextVar[dict[str, Any] | None] = ContextVar("_theirs", default=None)


@contextmanager
def judging() -> Iterator[None]:
    """Ignore floating-point errors, but for what stands under `subjects_own`."""
    token = _theirs.set(dict(np.geterr()))
    try:
        with np.errstate(all="ignore"):
            yield
    finally:
        _theirs.reset(token)


def subjects_own() -> AbstractContextManager[object]:
    """Treat floating-point errors as they were treated when judging began."""
    theirs = _theirs.get()
    return nullcontext() if theirs is None else np.errstate(**theirs)
