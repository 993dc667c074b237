"""Opening a run by where it is kept: by the name of its learner, or by a user's builder."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from algorithms import DurableRun


def run_loader(where: str, builder: str | None, code: str | None) -> Callable[[], DurableRun[Any]]:
    """Return what opens a run; a user's file is read once, as a run may be opened again."""
    if builder is None:
        from algorithms.catalogue.named_run import load_named_run
        from verify.subjects.own_problem import own_structure

        return partial(load_named_run, where, cache(own_structure), code=code)
    from algorithms import DurableRun
    from verify.subjects.resolve import load_object

    return partial(DurableRun.load, where, cast("Callable[[Any], Any]", load_object(builder)), code=code)
