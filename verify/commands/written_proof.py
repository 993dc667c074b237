"""``dpwitness audit --proof``: a bound with its proof, as close to the tight one as the independent checker gets."""

from __future__ import annotations

import json
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from accountant.audit import Audit, Releases
from accountant.files.whole_file import whole_file
from accountant.proofs.audit_proof import audit_proof
from accountant.proofs.proof_document import NoProof
from algorithms.problems import SettingError
from mechanisms.composition.enclosure import lower_end
from mechanisms.numerics.printed_numbers import as_given, at_most
from mechanisms.numerics.rounding import up
from verify.findings.proof_checker import check_proof
from verify.findings.sentences import Sentence, exact

_FARTHEST = 1e-2
_TRIED = (
    *((9, slack) for slack in (0.0, 1e-6, 1e-5)),
    *((11, slack) for slack in (1e-5, 3e-5)),
    *((resolution, 1e-4) for resolution in (9, 12, 14)),
    *((9, slack) for slack in (3e-4, 1e-3, _FARTHEST)),
    *((7, slack) for slack in (1e-3, _FARTHEST)),
)
"""Resolutions of the checker, and by how much relatively a figure is above the tight one, until one is accepted."""


_TOO_LONG, _NOT_SHOWN = "too long to check", "is not shown"
"""Parts of the checker's words: it stopped, or it derives more than is claimed."""


def write_proof(file: Path, releases: Releases, result: Audit) -> Sentence:
    """Write a proof of an audit's answer, and return the proved figure in words.

    Raises
    ------
    SettingError
        If a release has no rule, or no figure near the answer is accepted.
    """
    try:
        finest, farthest = 16, _figure(result, _FARTHEST)
        for tried, (resolution, slack) in enumerate(_TRIED):
            if resolution > finest:
                continue
            figure = _figure(result, slack)
            proof = _proof(releases, result, figure, resolution)
            checked = check_proof(proof)
            if checked.follows:
                break
            if _TOO_LONG in checked.words:
                finest = resolution - 1
            elif tried == 0 and not any(
                check_proof(_proof(releases, result, farthest, fine)).follows for fine in (resolution, 12)
            ):
                finest = 0  # its rules are weaker, however fine
        else:
            weaker = _NOT_SHOWN in checked.words
            why = (
                "its rules for these releases together are weaker" if weaker else f"it says: {checked.words}"
            )
            raise SettingError(
                f"--proof {file}: the independent checker accepts no figure within 1 % of the answer: {why}"
            )
    except NoProof as error:
        raise SettingError(f"--proof {file}: {error}") from None
    with whole_file(file) as written:
        written.write(json.dumps(proof, indent=1).encode() + b"\n")
    question, tight = result.question, lower_end(result.answer)
    fixed = "delta" if question.quantity == "epsilon" else "epsilon"
    above = (
        ""
        if tight is None
        else f", by at most {at_most(up(figure - Fraction(tight)))} above the tight figure"
    )
    return exact(
        "The independent checker derives {quantity} at most {figure} at {fixed} = {given} from {file}{above}; "
        "{stated} are as stated in the release file.",
        quantity=question.quantity,
        figure=at_most(up(figure)),
        fixed=fixed,
        given=as_given(question.fixed_value),
        file=file.name,
        above=above,
        stated="sensitivities"
        if not _is_stated(proof)
        else "sensitivities, and costs of releases without a mechanism,",
    )


def _is_stated(proof: Mapping[str, Any]) -> bool:
    """Return True if a release of a proof has no mechanism but a stated cost, which the checker does not derive."""
    return any(form["mechanism"]["kind"].startswith("stated") for form in proof["releases"].values())


def _figure(result: Audit, slack: float) -> Fraction:
    """Return a figure so far above the answer, relatively, in nine decimal digits at most."""
    most = result.answer.upper
    if most == float("inf"):
        raise NoProof("there is no finite figure")
    exact_figure = Fraction(most) * (1 + Fraction(slack))
    digits = 10 ** max(0, 9 - len(str(int(exact_figure)))) if exact_figure >= 1 else 10**15
    return Fraction(-(-exact_figure * digits // 1), digits)


def _proof(releases: Releases, result: Audit, figure: Fraction, resolution: int) -> dict[str, Any]:
    given = Fraction(str(result.question.fixed_value))
    if result.question.quantity == "epsilon":
        return audit_proof(releases, figure, given, resolution)
    return audit_proof(releases, given, figure, resolution)
