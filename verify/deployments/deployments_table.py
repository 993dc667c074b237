"""The public registry's deployments as text: published figures, figures recomputed from parameters, differences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any

from mechanisms.numerics.printed_numbers import as_given, at_least, at_most, nearest
from verify.deployments.known_deployments import AuditedFigure, KnownDeployment, ProvedEnds, audit_figures
from verify.document.elements import Block, Facts, Paragraph, TextTable
from verify.findings.sentences import Sentence, exact, remark

_MARGIN = 1e-11
"""The relative margin by which an accountant's end may lie above the proved number, to allow for float rounding."""
_CONVERSIONS = remark(
    "Any zCDP mechanism: the accountant's conversion (Canonne, Kamath and Steinke 2020). Gaussian noise: exact, if all "
    "noise is Gaussian. The simple formula: ρ + 2√(ρ ln 1/δ) (Bun and Steinke 2016). The first and the last hold for "
    "any noise of this ρ."
)


def deployments_blocks(deployments: Iterable[KnownDeployment]) -> Iterator[Block]:
    """Yield the figures that can be audited, and the deployments that publish too little."""
    every = list(deployments)
    for each in every:
        if each.figures:
            yield Paragraph(remark("{name}: {summary}", name=each.name, summary=each.summary))
            yield Facts(tuple((figure.what, _judgment(figure)) for figure in audit_figures(each.name)))
            yield Paragraph(remark(""))
    if any("rho" in figure for each in every for figure in each.figures):
        yield Paragraph(_CONVERSIONS)
    others = tuple((each.name, each.not_audited) for each in every if each.not_audited)
    if others:
        yield TextTable(("deployment", "not audited, because"), others)


def deployment_facts(deployment: KnownDeployment) -> dict[str, Any]:
    """Return the facts of a deployment, and its audited figures, as JSON data."""
    return asdict(deployment) | {"figures": list(map(asdict, audit_figures(deployment.name)))}


def _judgment(figure: AuditedFigure) -> Sentence:
    """Return a figure, the figures that its parameters give, and how they differ."""
    words = f"no {figure.symbol}" if figure.published is None else f"{figure.symbol} = {figure.published}"
    verdict = f" Agrees: {figure.by}." if figure.by else ""
    if figure.difference is not None:
        means = "it is safe" if figure.difference > 0.0 else "it claims more privacy than follows"
        size = nearest(abs(figure.difference), 3)
        verdict = f" {figure.verdict.capitalize()} by {size} than the nearest ({figure.by}): {means}."
    return exact(
        "Published: {words}{at}. From {parameters}: {given}.{verdict}{note}",
        words=words,
        at=f" at δ = {as_given(figure.delta)}" if figure.delta else "",
        parameters=figure.parameters,
        given=", ".join(f"{_ends_in_words(found)} for {name}" for name, found in figure.given.items()),
        verdict=verdict,
        note=f" Note: {figure.note}." if figure.note else "",
    )


def _ends_in_words(found: ProvedEnds) -> str:
    """Return proved ends as text: one number where both agree to six digits, else an upper bound or a range."""
    lower, upper = found[0], found[1] * (1.0 - _MARGIN)
    if lower is None:
        return f"≤ {at_most(upper)}"
    return nearest(upper) if nearest(lower) == nearest(upper) else f"{at_least(lower)} to {at_most(upper)}"
