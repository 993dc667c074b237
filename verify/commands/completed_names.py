"""Names that a shell completes: of learners, specimens, problems, figures, and values of which there are few."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    ParameterType = click.ParamType[Any]
else:
    ParameterType = click.ParamType  # which older versions of click do not let be subscripted


class Completed(ParameterType):
    """A text that the shell completes to names; it is checked by whoever takes it.

    Parameters
    ----------
    name
        What it is, for the help.
    names
        Returns the names.
    files
        Whether it may be the path of a file, too.
    """

    def __init__(self, name: str, names: Callable[[], Iterable[str]], *, files: bool = False) -> None:
        self.name = name
        self._names = names
        self._files = files

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem[Any]]:
        """Return the names that begin so; if there are none, a file's if it may be one."""
        found = [CompletionItem(name) for name in self._names() if name.startswith(incomplete)]
        return found or ([CompletionItem(incomplete, type="file")] if self._files else [])


def _learners() -> Iterable[str]:
    from verify.subjects.resolve import every_learner

    return sorted(every_learner)


def _subjects() -> Iterable[str]:
    from verify.zoo import specimens

    return [*_learners(), *(f"zoo/{name}" for name in sorted(specimens))]


def _problems() -> Iterable[str]:
    from algorithms.problems import contextual_problems, linear_problems, problems

    return sorted({**problems, **linear_problems, **contextual_problems})


def _experiments() -> Iterable[str]:
    from verify.experiments.named_experiments import experiments

    return sorted(experiments)


def _compositions() -> Iterable[str]:
    from accountant.compositions import compositions_by_word

    return compositions_by_word()


LEARNER = Completed("learner", _learners, files=True)
SUBJECT = Completed("subject", _subjects, files=True)
PROBLEM = Completed("problem", _problems, files=True)
EXPERIMENT = Completed("name", _experiments)
COMPOSITION = Completed("composition", _compositions)
