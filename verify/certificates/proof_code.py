"""The code of this library that a proof reaches: other files may change, and a certificate stays as it is.

Reached are the modules that carry out the proof of a kind of subject, those that define the subject, and whatever any
of them imports or uses in turn (`algorithms.code_fingerprint`): mechanisms and their accounting, gates, ledger and
losses, the accounting, coupled and replayed runs, and what decides. Not reached are documents, commands, the service,
papers, the zoo, regret, and learners that the subject is not built on. Of each module counts what it says to Python;
comments, docstrings and layout do not.

The two modules that find a subject and ask what is proved of it know all kinds of subjects: they count themselves, and
not all that they import.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from accountant.provenance import LIBRARY
from algorithms.code_fingerprint import known_digests, module_digest
from mechanisms import Mechanism
from verify.subjects.resolve import every_learner
from verify.verdict.answer import SubjectKind
from verify.verify_mechanism import rebuilt

_PROVED_BY = {
    SubjectKind.MECHANISM: ("verify.verify_mechanism",),
    SubjectKind.LEARNER: (
        "verify.learners.verify_learner",
        "verify.learners.structured_family",
        "verify.learners.linear_family",
        "verify.learners.contextual_family",
        "accountant.plans.symbolic",
        "algorithms.problems.cascade",
        "algorithms.problems.semi_bandit",
    ),
}
_DECIDED_BY = ("verify.verdict.verdict",)
_ASKED_BY = {
    SubjectKind.MECHANISM: ("verify.verification",),
    SubjectKind.LEARNER: ("verify.verification", "verify.learners.every_family"),
}
_OF_USED = "module "
"""How the names of digests begin that are of modules which a user's own learner consists of, or uses."""


def proof_code(
    kind: SubjectKind, learner: str | None, mechanism: Mapping[str, Any] | None, used: Iterable[str]
) -> dict[str, str]:
    """Return a digest of each file of this library that a proof reaches, by its path.

    Parameters
    ----------
    kind
        Of its subject.
    learner
        Its registered name; None if it has none.
    mechanism
        The parameters of a mechanism.
    used
        Names of digests, among which are those of the library's modules that a user's own learner uses.
    """
    own = {name.removeprefix(_OF_USED) for name in used if name.startswith(_OF_USED)}
    if learner is not None:
        made: type[Any] = every_learner[learner].make
        own |= {base.__module__ for base in made.__mro__}
    if mechanism is not None:
        own |= set(_modules_of(rebuilt(mechanism)))
    begun = {*_PROVED_BY[kind], *_DECIDED_BY, *(name for name in own if _is_ours(name))}
    found = known_digests(frozenset(begun), frozenset(LIBRARY))
    asked = {name: digest for name in _ASKED_BY[kind] if (digest := module_digest(name)) is not None}
    return {_path(name): digest for name, digest in sorted({**found, **asked}.items())}


def is_of_proof_code(name: str) -> bool:
    """Return whether a digest of this name is of a file of this library."""
    return name.partition("/")[0] in LIBRARY


def code_here(files: Iterable[str]) -> dict[str, str]:
    """Return the digests of files of this library as they are here, by their paths; "none" of one that is not there."""
    return {
        file: module_digest(".".join(PurePosixPath(file).with_suffix("").parts)) or "none" for file in files
    }


def _is_ours(name: str) -> bool:
    return name.partition(".")[0] in LIBRARY


def _path(module: str) -> str:
    return f"{module.replace('.', '/')}.py"


def _modules_of(mechanism: Mechanism) -> Iterator[str]:
    """Yield the modules that define a mechanism and what it is made of."""
    waiting: list[Any] = [mechanism]
    while waiting:
        part = waiting.pop()
        if dataclasses.is_dataclass(part):
            kind: type[Any] = type(part)
            yield from (base.__module__ for base in kind.__mro__)
            waiting += [getattr(part, each.name) for each in dataclasses.fields(part)]
        elif isinstance(part, tuple | list):
            waiting += part
