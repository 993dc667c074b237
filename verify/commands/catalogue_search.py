"""Search of the catalogue for words: learners, problems, the zoo, and deployments of the public registry."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

from rich.console import Console

from accountant.files.json_form import json_able
from algorithms.problems import (
    Parameter,
    ProblemEntry,
    SettingError,
    contextual_problems,
    known_name,
    linear_problems,
    problems,
)
from mechanisms.numerics.printed_numbers import at_most, nearest
from verify.commands.console import print_lines
from verify.commands.listed_names import LEARNERS, PROBLEMS, rows_of
from verify.commands.shown_results import show
from verify.deployments.deployments_table import deployment_facts, deployments_blocks
from verify.deployments.known_deployments import known_deployments
from verify.document.elements import Block, Facts, Paragraph
from verify.document.terminal_text import print_blocks
from verify.findings.sentences import remark
from verify.verification.resolve import every_learner, names_file, resolve

if TYPE_CHECKING:
    from algorithms.catalogue.suggestion import LearnerTrust, Suggestion

_KINDS = {"learners": "learner", "problems": "problem", "zoo": "specimen", "deployments": "deployment"}


_TRUST: LearnerTrust = "central"
_EPSILON = 1.0
_HORIZON = 100_000
_DELTAS = (0.0, 1e-6)


def search_catalogue(
    *,
    words: tuple[str, ...],
    played: str | None,
    trust: LearnerTrust | None,
    epsilon: float | None,
    as_json: bool,
) -> None:
    """Show the learners, problems, specimens and deployments that words describe; or recommend a learner."""
    if played is not None:
        if words:
            raise SettingError(f"words {' '.join(words)!r}: not with --for")
        found = _suggestions(played, trust or _TRUST, _EPSILON if epsilon is None else epsilon)
        data = {"suggestions": [{"delta": delta, **asdict(each)} for delta, each in found.items()]}
        show(as_json, lambda: data, partial(_say, found))
        return
    for flag, value in (("--trust", trust), ("--epsilon", epsilon)):
        if value is not None:  # a list of all learners would look like those of this trust
            raise SettingError(f"{flag} {value}: must come with --for (list local: learners of local trust)")
    listed = _catalogue(words, audited=bool(words) or as_json)
    if not as_json and not any(listed.values()):
        raise SettingError(f"words: nothing is described by {' '.join(words)!r}")
    show(as_json, lambda: listed, partial(_render_listed, listed, words))


def _render_listed(listed: dict[str, list[dict[str, Any]]], words: Sequence[str], console: Console) -> None:
    """Print all facts about entries of exactly this name or a single entry, then a line for each of several."""
    alone = sum(map(len, listed.values())) == 1
    named = {
        kind: [entry for entry in entries if alone or [entry["name"]] == list(words)]
        for kind, entries in listed.items()
    }
    print_blocks(_in_full(named), console)
    if not alone:
        _render_lines(words, console)


def _suggestions(played: str, trust: LearnerTrust, epsilon: float) -> dict[float, Suggestion]:
    """Return the learner that is recommended without a delta, and another if one is for a delta above 0.

    Raises
    ------
    ParameterError
        If there is none for either.
    """
    from algorithms.catalogue.suggestion import suggest

    if names_file(played):
        from verify.verification.own_problem import own_problem

        problem = own_problem(played)
    else:
        catalogue = {entry.name: entry for entry in _every_problem()}
        problem = catalogue[known_name("problem", played, catalogue)].build()
    found: dict[float, Suggestion] = {}
    refused: ValueError | None = None
    for delta in _DELTAS:
        try:
            one = suggest(problem, trust=trust, epsilon=epsilon, horizon=_HORIZON, delta=delta)
        except ValueError as error:
            refused = refused or error
        else:
            if one.name not in {each.name for each in found.values()}:
                found[delta] = one
    if not found and refused is not None:
        raise refused
    return found


def _say(found: Mapping[float, Suggestion], console: Console) -> None:
    for delta, suggestion in found.items():
        if len(found) > 1 or delta:
            console.print("delta = 0:" if delta == 0.0 else f"delta = {delta:g}:")
        _say_one(suggestion, console)


def _say_one(suggestion: Suggestion, console: Console) -> None:
    entry = every_learner[suggestion.name]
    console.print(f"[bold]{suggestion.name}[/bold]  from algorithms import {entry.make.__name__}")
    console.print(f"{suggestion.why}; {entry.summary}")
    if not suggestion.needs_horizon:
        console.print("it need not know how many rounds there will be (horizon=None)")
    if suggestion.bound is not None:
        console.print(
            f"its theorem: regret at most {at_most(suggestion.bound, 5)} here, and the worst is "
            f"{nearest(suggestion.trivial, 5)}"
            if suggestion.trivial
            else "whatever is played earns the share of the best reward that the oracle promises: there is no regret"
        )


def _render_lines(words: Sequence[str], console: Console) -> None:
    """Print a line for each entry that words describe."""
    from verify.zoo import specimens

    for kind, heading, entries in (
        ("learner", LEARNERS, every_learner.values()),
        ("problem", PROBLEMS, _every_problem()),
        ("specimen", ("zoo", "claim", "true epsilon", "", "why"), specimens.values()),
    ):
        names = {entry.name for entry in _described(entries, words)}
        print_lines(console, heading, [row for row in rows_of(kind) if row[0].removeprefix("zoo/") in names])
    print_blocks(deployments_blocks(_described(known_deployments().values(), words)), console)


def _in_full(found: dict[str, list[dict[str, Any]]]) -> Iterator[Block]:
    """Yield a table of all facts about each entry."""
    for kind, entries in found.items():
        for entry in entries:
            facts = [(_KINDS[kind], entry["name"])]
            for key, value in entry.items():
                if key == "parameters":
                    known = [Parameter(**each) for each in value]
                    facts += [
                        (f"{each.name}={each.default}", f"{each.meaning}; {each.rule}") for each in known
                    ]
                elif key not in ("name", "figures") and value != "":
                    facts.append((key.replace("_", " "), _in_words(value)))
            yield Facts(tuple(facts))
            yield Paragraph(remark(""))
            if kind == "deployments":
                yield from deployments_blocks([known_deployments()[entry["name"]]])


def _in_words(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return nearest(value) if isinstance(value, float) else str(value)


def _described(entries: Iterable[Any], words: Sequence[str]) -> Iterator[Any]:
    """Yield the entries with every word in their names and descriptions.

    A specimen is also described as ``zoo/NAME`` and as correct or false.
    """
    for entry in entries:
        said = [
            getattr(entry, name, "") for name in ("name", "family", "source", "as_printed", "summary", "why")
        ]
        said.append(getattr(getattr(entry, "claim", None), "model", ""))
        if (correct := getattr(entry, "correct", None)) is not None:
            said.append(f"zoo/{entry.name} {'correct' if correct else 'false'}")
        text = " ".join(map(str, said)).lower()
        if all(word.lower() in text for word in words):
            yield entry


def _every_problem() -> list[ProblemEntry[Any]]:
    return [*problems.values(), *linear_problems.values(), *contextual_problems.values()]


def _catalogue(words: Sequence[str], *, audited: bool) -> dict[str, list[dict[str, Any]]]:
    """Return the facts about the entries that words describe; about deployments only if `audited`: it takes seconds."""
    from verify.zoo import specimens

    def facts(entry: Any, names: str) -> dict[str, Any]:
        return {name: getattr(entry, name) for name in names.split()}

    def parameters(entry: Any) -> dict[str, Any]:
        names = "name kind default low high choices meaning"
        return {"parameters": [facts(parameter, names) for parameter in entry.parameters]}

    return {
        "learners": [
            {
                **facts(entry, "name family"),
                "model": entry.claim.model,
                "view": entry.claim.view.value,
                "neighbours": entry.claim.neighbours.value,
                **facts(entry, "source as_printed certified_form summary default_problem"),
                **parameters(entry),
            }
            for entry in _described(every_learner.values(), words)
        ],
        "problems": [
            facts(entry, "name family summary") | parameters(entry)
            for entry in _described(_every_problem(), words)
        ],
        "zoo": [
            {
                **facts(specimen, "name epsilon delta"),
                "true_epsilon": json_able(specimen.true_epsilon),
                "neighbours": resolve(f"zoo/{specimen.name}").form.neighbours.value,
                **facts(specimen, "correct floating_point hidden why source"),
            }
            for specimen in _described(specimens.values(), words)
        ],
        "deployments": [
            deployment_facts(each) for each in _described(known_deployments().values(), words) if audited
        ],
    }
