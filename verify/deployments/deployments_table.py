"""The public registry's deployments as tables: what is published, what its parameters give, and how they differ."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Any

from mechanisms.losses.enclosure import Bound, Enclosure
from mechanisms.printed_numbers import as_given, at_least, at_most, nearest
from verify.deployments.known_deployments import AuditedFigure, KnownDeployment, audit_figures
from verify.document.elements import Block, Facts, Paragraph, TextTable
from verify.findings.sentences import Sentence, exact, remark

_MARGIN = 1e-11
"""By so much, relative, an accountant's end may lie above the number that is proved, so that floats cannot fail it."""
_CONVERSIONS = remark(
    "Any zCDP mechanism: the accountant's conversion (Canonne, Kamath and Steinke 2020). Gaussian noise: exact, if all "
    "noise is Gaussian. The simple formula: ρ + 2√(ρ ln 1/δ) (Bun and Steinke 2016). The first and the last hold for "
    "any noise of this ρ."
)
_SYMBOLS = {"epsilon": "ε", "rho": "ρ"}


def deployments_blocks(deployments: Iterable[KnownDeployment]) -> Iterator[Block]:
    """Yield the figures that can be audited, and the deployments that publish too little."""
    deployments = list(deployments)
    for each in deployments:
        if each.figures:
            yield Paragraph(
                remark(
                    "{name}: {title}, {curators}",
                    name=each.name,
                    title=each.title,
                    curators=", ".join(each.curators),
                )
            )
            yield Facts(tuple((figure.what, _judgment(figure)) for figure in audit_figures(each.name)))
            yield Paragraph(remark(""))
    if any("rho" in figure for each in deployments for figure in each.figures):
        yield Paragraph(_CONVERSIONS)
    others = tuple((each.name, each.why_not) for each in deployments if each.why_not)
    if others:
        yield TextTable(("deployment", "not audited, because"), others)


def deployment_facts(deployment: KnownDeployment) -> dict[str, Any]:
    """Return the facts of a deployment, and its audited figures, as JSON data."""
    return {
        "name": deployment.name,
        "title": deployment.title,
        "curators": ", ".join(deployment.curators),
        "publication_date": deployment.publication_date,
        "unit": deployment.unit,
        "variant": deployment.variant,
        "model": deployment.model,
        "privacy_parameters": ", ".join(f"{name} = {value}" for name, value in deployment.parameters.items()),
        "source": deployment.source,
        "registry": f"{deployment.file} at {deployment.commit}",
        "figures": [
            {
                "what": figure.what,
                "quantity": figure.quantity,
                "delta": figure.delta,
                "published": figure.published,
                "parameters": figure.parameters,
                "given": {name: _interval(found) for name, found in figure.given.items()},
                "verdict": figure.verdict,
                "by": figure.by,
                "difference": figure.difference,
                "note": figure.note,
            }
            for figure in audit_figures(deployment.name)
        ],
        "not_audited": deployment.why_not,
    }


def _interval(found: Enclosure | Bound | Decimal) -> dict[str, float | None]:
    if isinstance(found, Decimal):
        return {"lower": float(found), "upper": float(found)}
    return {"lower": found.lower if isinstance(found, Enclosure) else None, "upper": found.upper}


def _judgment(figure: AuditedFigure) -> Sentence:
    """Return a figure, what its parameters give, and how they differ."""
    symbol = _SYMBOLS[figure.quantity]
    said = f"no {symbol}" if figure.published is None else f"{symbol} = {figure.published}"
    at = f" at δ = {as_given(figure.delta)}" if figure.delta else ""
    given = ", ".join(f"{_number(found)} for {name}" for name, found in figure.given.items())
    return exact(
        "Published: {said}{at}. From {parameters}: {given}.{verdict}",
        said=said,
        at=at,
        parameters=figure.parameters,
        given=given,
        verdict=_verdict(figure),
    )


def _number(found: Enclosure | Bound | Decimal) -> str:
    if isinstance(found, Decimal):
        return nearest(float(found))
    upper = found.upper * (1.0 - _MARGIN)
    if not isinstance(found, Enclosure):
        return f"≤ {at_most(upper)}"
    if nearest(found.lower) == nearest(upper):
        return nearest(upper)
    return f"{at_least(found.lower)} to {at_most(upper)}"


def _verdict(figure: AuditedFigure) -> str:
    said = [f" Agrees: {figure.by}."] if figure.by else []
    if figure.difference is not None:
        means = "it is safe" if figure.difference > 0.0 else "it claims more privacy than follows"
        size = nearest(abs(figure.difference), 3)
        said = [f" {figure.verdict.capitalize()} by {size} than the nearest ({figure.by}): {means}."]
    return "".join([*said, f" Note: {figure.note}." if figure.note else ""])
