"""The public registry's deployments as facts, and audits of the figures that they publish.

``known_deployments.json`` has of each entry its name, date and numbers, the file and commit they were read from, and
figures that are published with what they follow from, as a text each, so that digits count as published.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any, Literal

from accountant.audit import AuditQuestion, audit
from accountant.audit.line_numbers import TomlLineNumbers
from accountant.audit.release_tables import from_tables
from mechanisms.losses.enclosure import Bound, Enclosure

_DATA = Path(__file__).with_name("known_deployments.json")
_COARSEST = Decimal("0.1")
"""A figure without decimals is taken to be exact to this."""

FigureVerdict = Literal["agrees", "larger", "smaller", "not published"]


@dataclass(frozen=True)
class KnownDeployment:
    """One entry of the public registry, in facts.

    Attributes
    ----------
    name
        ``deployments/`` and the name of its file.
    title, curators, publication_date, unit, variant, model
        As published; "" where nothing is.
    parameters
        Its privacy parameters, by name.
    source
        Where the figures are published.
    file, commit
        The registry's file and the commit of the version that was read.
    figures
        Figures with what they follow from.
    why_not
        The reason why nothing can be audited; "" if something is.
    """

    name: str
    title: str
    curators: tuple[str, ...]
    publication_date: str
    unit: str
    variant: str
    model: str
    parameters: Mapping[str, str]
    source: str
    file: str
    commit: str
    figures: tuple[Mapping[str, Any], ...]
    why_not: str

    @property
    def summary(self) -> str:
        """Title, curators, date, unit and variant in one line."""
        return (
            f"{self.title}; {', '.join(self.curators)}; {self.publication_date}; {self.unit}; {self.variant}"
        )


@dataclass(frozen=True)
class AuditedFigure:
    """A published figure beside what its own parameters give.

    Attributes
    ----------
    what
        Of what it is a figure.
    published
        The figure; None if none is published.
    quantity, delta
        What it is, ``"epsilon"`` or ``"rho"``, and at which δ; None for a sum of ρ.
    parameters
        What it follows from, in words.
    given
        What its parameters give, by what that rests on; the first needs nothing but the parameters.
    verdict
        ``"agrees"`` to the digits that were published, else ``"larger"`` or ``"smaller"`` than the nearest of them.
    by
        By what it agrees, or the nearest.
    difference
        The figure less the nearest; None if it agrees.
    note
        A remark, from the file.
    """

    what: str
    published: str | None
    quantity: str
    delta: float | None
    parameters: str
    given: Mapping[str, Enclosure | Bound | Decimal]
    verdict: FigureVerdict
    by: str
    difference: float | None
    note: str


@cache
def known_deployments() -> Mapping[str, KnownDeployment]:
    """Return the entries by their names."""
    found = {}
    for entry in json.loads(_DATA.read_text(encoding="utf-8"))["entries"]:
        name = entry["file"].removesuffix(".yaml")
        title, curators, figures = entry.pop("name"), tuple(entry.pop("curators")), entry.pop("figures")
        found[name] = KnownDeployment(name, title, curators, figures=tuple(figures), **entry)
    return found


@cache
def audit_figures(name: str) -> Sequence[AuditedFigure]:
    """Return the figures of a deployment, each beside what its parameters give."""
    return tuple(map(_audited, known_deployments()[name].figures))


def _audited(figure: Mapping[str, Any]) -> AuditedFigure:
    quantity = figure.get("quantity", "epsilon")
    published = figure.get("published", figure.get("epsilon"))
    delta = None if quantity == "rho" else float(figure.get("delta", 0.0))
    given = _given(figure, Decimal(0))
    judged = _judged(figure, published, given)
    return AuditedFigure(
        figure["what"], published, quantity, delta, _in_words(figure), given, *judged, figure.get("note", "")
    )


def _in_words(figure: Mapping[str, Any]) -> str:
    """Return what a figure follows from."""
    if "rho" in figure:
        return f"ρ = {figure['rho']}"
    if "laplace_scale" in figure:
        return f"sensitivity 1 and scale {figure['laplace_scale']}"
    if "sampled" in figure:
        return "(ε, δ) = ({}, {}) on a share of {}".format(*figure["sampled"])
    return " + ".join(
        number if count == 1 else f"{count} · {number}" for count, number, *_ in figure["parts"]
    )


def _judged(
    figure: Mapping[str, Any], published: str | None, given: Mapping[str, Enclosure | Bound | Decimal]
) -> tuple[FigureVerdict, str, float | None]:
    if published is None:
        return "not published", "", None
    said = Decimal(published)
    unit = min(Decimal(1).scaleb(_exponent(published)), _COARSEST)
    ends = {name: Decimal(_upper(found)) for name, found in given.items()}
    for name, end in ends.items():
        if end - unit / 2 <= said < end + unit:  # rounded to the nearest, or up
            return "agrees", name, None
    if "rho" in figure:  # a rounded ρ stands for all that are rounded to it
        half = Decimal(5).scaleb(_exponent(figure["rho"]) - 1)
        least, most = _given(figure, -half), _given(figure, half)
        for name in given:
            if Decimal(_upper(least[name])) - unit / 2 <= said < Decimal(_upper(most[name])) + unit:
                return "agrees", f"{name}, within the rounding of ρ", None
    name, end = min(ends.items(), key=lambda pair: abs(said - pair[1]))
    return ("larger" if said > end else "smaller"), name, float(said - end)


def _exponent(number: str) -> int:
    """Return the power of ten of the last digit."""
    found = Decimal(number).as_tuple().exponent
    assert isinstance(found, int)
    return found


def _upper(found: Enclosure | Bound | Decimal) -> float | Decimal:
    return found if isinstance(found, Decimal) else found.upper


def _given(figure: Mapping[str, Any], shift: Decimal) -> dict[str, Enclosure | Bound | Decimal]:
    """Return what the parameters of a figure give, its ρ shifted by so much."""
    delta = float(figure.get("delta", 0.0))
    if "rho" in figure:
        rho = float(Decimal(figure["rho"]) + shift)
        return {
            "any zCDP mechanism": _epsilon([{"mechanism": "zcdp", "rho": rho}], delta),
            "Gaussian noise": _epsilon(
                [{"mechanism": "gaussian", "sigma": 1.0 / math.sqrt(2.0 * rho)}], delta
            ),
            "the simple formula": Decimal(rho + 2.0 * math.sqrt(rho * math.log(1.0 / delta))),
        }
    if "laplace_scale" in figure:
        table = {"mechanism": "laplace", "scale": float(figure["laplace_scale"])}
        return {"Laplace noise": _epsilon([table], delta)}
    if "sampled" in figure:
        epsilon, failure, rate = map(float, figure["sampled"])
        tables = [{**_part(1, str(epsilon), str(failure)), "sampling_rate": rate}]
        return {"a Poisson sample": _epsilon(tables, delta, "add or remove one")}
    if figure["quantity"] == "rho":
        return {"the sum": sum((count * Decimal(rho) for count, rho in figure["parts"]), Decimal(0))}
    return {"basic composition": _epsilon([_part(*part) for part in figure["parts"]], delta)}


def _part(count: int, epsilon: str, delta: str = "0") -> dict[str, Any]:
    notion = {"mechanism": "pure", "epsilon": float(epsilon), "count": count}
    return notion if float(delta) == 0.0 else notion | {"mechanism": "approximate", "delta": float(delta)}


def _epsilon(
    tables: Sequence[Mapping[str, Any]], delta: float, neighbours: str = "replace one"
) -> Enclosure | Bound:
    """Return the ε of release tables at δ."""
    content = {"neighbours": neighbours, "release": list(tables)}
    releases = from_tables("deployment", content, TomlLineNumbers("", toml=False), None)
    return audit(releases, AuditQuestion(delta=delta)).answer
