"""The command ``dpwitness list``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verify.commands.console import print_lines, result_console
from verify.commands.listed_names import LEARNERS, PROBLEMS, rows_of

if TYPE_CHECKING:
    from algorithms.catalogue.suggestion import LearnerTrust

_PUBLISHED = "published/"


def list_command(
    *,
    words: tuple[str, ...],
    played: str | None,
    trust: LearnerTrust | None,
    epsilon: float | None,
    as_json: bool,
) -> None:
    """Show learners, problems, specimens and deployments; or recommend a learner for a problem.

    Without words and options no learner is imported: the lines are those of `listed_names`.
    """
    if words or as_json or (played, trust, epsilon) != (None, None, None):
        from verify.commands.catalogue_search import search_catalogue

        search_catalogue(words=words, played=played, trust=trust, epsilon=epsilon, as_json=as_json)
        return
    console, learners = result_console(), rows_of("learner")
    own = [row for row in learners if not row[0].startswith(_PUBLISHED)]
    print_lines(console, LEARNERS, own)
    print_lines(console, PROBLEMS, rows_of("problem"))
    console.print(f"{len(learners) - len(own)} learners as published: dpwitness list published")
    console.print(
        f"{len(rows_of('specimen'))} mechanisms and bandits with their true epsilon: dpwitness list zoo"
    )
    console.print(
        f"{len(rows_of('deployment'))} deployments of the public registry, audited: dpwitness list deployments"
    )
    console.print("everything about one: dpwitness list NAME")
    console.print("which learner to import, and why: dpwitness list --for PROBLEM")
