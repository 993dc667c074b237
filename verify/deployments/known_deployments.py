"""The public registry's deployments as facts, and audits of the figures that they publish.

``known_deployments.json`` has of each entry its name, date and numbers, the commit they were read from, and published
figures with their parameters, as a text each, so that digits count as published.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any, Literal

from accountant.audit import AuditQuestion, audit
from accountant.audit.line_numbers import TomlLineNumbers
from accountant.audit.release_tables import from_tables
from mechanisms.composition.enclosure import lower_end

_DATA = Path(__file__).with_name("known_deployments.json")
_COARSEST = Decimal("0.1")
"""A figure without decimals is taken to be exact to this."""

ProvedEnds = tuple[float | None, float]
"""A proved lower end, or None, and a proved upper end."""


@dataclass(frozen=True)
class KnownDeployment:
    """One entry of the public registry, in facts.

    Attributes
    ----------
    name
        Its file in the registry, without the suffix.
    title, curators, publication_date, unit, variant, model, privacy_parameters
        As published; "" where nothing is.
    source
        The publication that holds the figures.
    commit
        The commit of the registry's version that was read.
    figures
        Published figures with their parameters.
    not_audited
        The reason why nothing can be audited; "" if something is.
    """

    name: str
    title: str
    curators: str
    publication_date: str
    unit: str
    variant: str
    model: str
    privacy_parameters: str
    source: str
    commit: str
    figures: Sequence[Mapping[str, Any]]
    not_audited: str

    @property
    def summary(self) -> str:
        """Title, curators, date, unit and variant."""
        return f"{self.title}, {self.curators}, {self.publication_date}: {self.unit}, {self.variant}"


@dataclass(frozen=True)
class AuditedFigure:
    """A published figure, and those that its own parameters give.

    Attributes
    ----------
    what, note
        The quantity that it is a figure of, and a remark; from the file.
    symbol, delta
        ``"ε"`` or ``"ρ"``, and the δ of ε.
    published
        The figure; None if none is published.
    parameters
        The parameters that it follows from, in words.
    given
        The figures that the parameters give, by the assumption or theorem that each rests on.
    verdict
        ``"agrees"`` to the digits that were published, else ``"larger"`` or ``"smaller"`` than the nearest of them.
    by
        The name in `given` of the figure that it agrees with, else of the nearest.
    difference
        The figure less the nearest; None if it agrees.
    """

    what: str
    symbol: str
    delta: float
    published: str | None
    parameters: str
    given: Mapping[str, ProvedEnds]
    verdict: Literal["agrees", "larger", "smaller", "not published"]
    by: str
    difference: float | None
    note: str


@cache
def known_deployments() -> Mapping[str, KnownDeployment]:
    """Return the entries by their names."""
    entries = json.loads(_DATA.read_text(encoding="utf-8"))["entries"]
    return {entry["name"]: KnownDeployment(**entry) for entry in entries}


@cache
def audit_figures(name: str) -> Sequence[AuditedFigure]:
    """Return the figures of a deployment, each with the figures that its parameters give."""
    return tuple(map(_audit_figure, known_deployments()[name].figures))


def _audit_figure(figure: Mapping[str, Any]) -> AuditedFigure:
    """Return a figure of the file with the figures that its parameters give."""
    published, delta = figure.get("published", figure.get("epsilon")), float(figure.get("delta", 0.0))
    parameters, given = _figures(figure, delta, Decimal(0))
    verdict: Literal["agrees", "larger", "smaller", "not published"] = "not published"
    by, difference = "", None
    if published is not None:
        said, unit = Decimal(published), min(_last_digit(published), _COARSEST)
        agreeing = _agreeing(figure, delta, given, said, unit)
        verdict, by = "agrees", next(agreeing, "")
        if not by:
            by, (_, end) = min(given.items(), key=lambda pair: abs(said - Decimal(pair[1][1])))
            difference = float(said - Decimal(end))
            verdict = "larger" if difference > 0.0 else "smaller"
    symbol = "ρ" if figure.get("quantity") == "rho" else "ε"
    return AuditedFigure(
        figure["what"],
        symbol,
        delta,
        published,
        parameters,
        given,
        verdict,
        by,
        difference,
        figure.get("note", ""),
    )


def _agreeing(
    figure: Mapping[str, Any], delta: float, given: Mapping[str, ProvedEnds], said: Decimal, unit: Decimal
) -> Iterator[str]:
    """Yield the names of the figures with which a published one agrees, rounded to the nearest or up.

    A published ρ is any number that is rounded to it.
    """
    for name, (_, end) in given.items():
        if Decimal(end) - unit / 2 <= said < Decimal(end) + unit:
            yield name
    if "rho" in figure:
        half = _last_digit(figure["rho"]) / 2
        (_, least), (_, most) = (_figures(figure, delta, shift) for shift in (-half, half))
        for name in given:
            if Decimal(least[name][1]) - unit / 2 <= said < Decimal(most[name][1]) + unit:
                yield f"{name}, within the rounding of ρ"


def _last_digit(number: str) -> Decimal:
    """Return one unit of the last digit."""
    return Decimal(1).scaleb(int(Decimal(number).as_tuple().exponent))


def _figures(figure: Mapping[str, Any], delta: float, shift: Decimal) -> tuple[str, dict[str, ProvedEnds]]:
    """Return a figure's parameters in words, and the figures that they give; its ρ is shifted by `shift`."""
    if "rho" in figure:
        rho = float(Decimal(figure["rho"]) + shift)
        simple = rho + 2.0 * math.sqrt(rho * math.log(1.0 / delta))
        return (
            f"ρ = {figure['rho']}",
            {
                "any zCDP mechanism": _epsilon([{"mechanism": "zcdp", "rho": rho}], delta),
                "Gaussian noise": _epsilon(
                    [{"mechanism": "gaussian", "sigma": 1.0 / math.sqrt(2.0 * rho)}], delta
                ),
                "the simple formula": (None, simple),
            },
        )
    if "laplace_scale" in figure:
        scale = figure["laplace_scale"]
        tables = [{"mechanism": "laplace", "scale": float(scale)}]
        return f"sensitivity 1 and scale {scale}", {"Laplace noise": _epsilon(tables, delta)}
    if "sampled" in figure:
        epsilon, failure, rate = figure["sampled"]
        tables = [{**_part(1, epsilon, failure), "sampling_rate": float(rate)}]
        said = f"(ε, δ) = ({epsilon}, {failure}) on a share of {rate}"
        return said, {"a Poisson sample": _epsilon(tables, delta, "add or remove one")}
    parts = figure["parts"]
    said = " + ".join(number if count == 1 else f"{count} · {number}" for count, number, *_ in parts)
    if figure["quantity"] == "rho":
        total = float(sum(count * Decimal(rho) for count, rho in parts))
        return said, {"the sum": (total, total)}
    return said, {"basic composition": _epsilon([_part(*part) for part in parts], delta)}


def _part(count: int, epsilon: str, delta: str = "0") -> dict[str, Any]:
    notion = {"mechanism": "pure", "epsilon": float(epsilon), "count": count}
    return notion if float(delta) == 0.0 else notion | {"mechanism": "approximate", "delta": float(delta)}


def _epsilon(
    tables: Sequence[Mapping[str, Any]], delta: float, neighbours: str = "replace one"
) -> ProvedEnds:
    """Return the ε of release tables at δ."""
    content = {"neighbours": neighbours, "release": list(tables)}
    found = audit(
        from_tables("deployment", content, TomlLineNumbers("", toml=False), None), AuditQuestion(delta=delta)
    )
    return lower_end(found.answer), found.answer.upper
