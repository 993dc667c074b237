"""An entry for the public registry of deployments, from proved facts and declarations, with gaps marked."""

from __future__ import annotations

import datetime
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from algorithms.problems import SettingError
from verify.deployments.deployment import (
    KEYS,
    Deployment,
    registry_fields,
    registry_parts,
    registry_schema,
    schema_at,
)
from verify.deployments.proved_facts import ProvedFacts, known_values
from verify.deployments.yaml_text import yaml_text
from verify.document.elements import Document, Facts, Paragraph, Section
from verify.findings.sentences import remark
from verify.verdict.common_sections import provenance_section

NOT_DECLARED = "not declared"
_MECHANISMS = "implementation.mechanisms"
_DETAILS = "privacy_loss.privacy_parameters_details"
_CONDITIONAL = ("dp_variant.variant_name", "privacy_loss.privacy_parameters")
"""Fields that have no room for the condition of a bound, which the details state."""
_QUOTED = {
    "Access control": "processing.access_control",
    "Timing and side channels": "processing.side_channels",
}
"""Keys without a field of their own, which that of the mechanisms quotes."""
_JOINED = ("dp_variant.unprotected_quantities", "privacy_loss.privacy_unit_details")
"""Fields that may hold both a declaration and a known fact."""
_KEY_OF = {
    path: key for key, path in KEYS.items() if path and key not in ("deployment.tier", "privacy.epsilon")
}
"""The key of each field that is filled as it is declared."""
_LONGEST_SLUG = 200


@dataclass(frozen=True)
class RegistryEntry:
    """An entry of the registry, complete enough for its schema.

    Attributes
    ----------
    data
        The entry as the registry's schema has it.
    basis
        The basis of each filled field: ``"Known"``, ``"Declared"``, or both.
    """

    data: Mapping[str, Any]
    basis: Mapping[str, str]

    @property
    def missing(self) -> tuple[str, ...]:
        """The registry's fields that are not filled."""
        return tuple(path for path in registry_fields() if path not in self.basis)

    def yaml(self) -> str:
        """Return the entry as the registry's file, with a comment for each field that is not filled."""
        notes: dict[str, str] = {}
        for path in self.missing:
            part, _, name = path.partition(".")
            where = f"deployment.{part}." if part in self.data["deployment"] else "deployment."
            field = name if part in self.data["deployment"] else path
            notes[where] = f"{notes.get(where, '')}{field}: {_why_missing(path)}\n"
        return yaml_text(self.data, notes)


def registry_entry(deployment: Deployment, facts: ProvedFacts) -> RegistryEntry:
    """Return the entry of a deployment, always a draft, at the highest tier of which every field is filled.

    Raises
    ------
    SettingError
        If the registry requires fields that are neither known nor declared; the message lists the keys. Over a refuted
        claim.
    """
    if facts.refuted:
        raise SettingError(
            f"FILES: {'; '.join(each.title for each in facts.refuted)}: no entry is drafted over a refuted result: "
            "leave it out only if it is not about this deployment"
        )
    fields, basis = _field_values(deployment, facts)
    required = [
        f"{part}.{name}" for part in ("basic", "administrative") for name in schema_at(part)["required"]
    ]
    lacking = [_KEY_OF[path] for path in required if path in _KEY_OF and path not in fields]
    if lacking:
        raise SettingError(
            f"{deployment.name}: the registry requires {', '.join(lacking)}: declare "
            f"{'it' if len(lacking) == 1 else 'them'} (--deployment {deployment.name})"
        )
    data: dict[str, dict[str, Any]] = {
        part: {name: fields[path] for name in schema["properties"] if (path := f"{part}.{name}") in fields}
        for part, schema in registry_parts().items()
    }
    data["administrative"] |= {"status": "Draft", "tier": _tier(deployment, basis)}
    slug = deployment.get("deployment.slug") or _slug(data["basic"])
    return RegistryEntry(
        {"url_slug": slug, "deployment": {part: found for part, found in data.items() if found}}, basis
    )


def _field_values(deployment: Deployment, facts: ProvedFacts) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the values of the registry's fields, and the basis of each that has a tier."""
    known = dict(known_values(facts))
    if deployment.get("model.release") == "Many releases":  # of which one is recorded by now
        known.pop("deployment_model.release_type", None)
    if deployment.get("deployment.published") is not None:  # not before the first release
        known.pop("basic.publication_date", None)
    fields: dict[str, Any] = dict(known)
    basis = {path: "Known" + facts.condition * (path in _CONDITIONAL) for path in known}
    for path, key in _KEY_OF.items():
        value = deployment.get(key)
        if value is not None and path not in known:
            fields[path] = str(value) if isinstance(value, datetime.date) else value
            basis[path] = "Declared"
        elif value is not None and path in _JOINED:
            fields[path] = f"{value}\n{known[path]}"
            basis[path] = "Known and declared"
    variant = deployment.get("privacy.variant")
    if facts.variant is not None and variant not in (None, facts.variant):  # the numbers are not for that one
        fields[_DETAILS] += f"\nThe variant is declared as {variant}; these numbers are of {facts.variant}."
        basis[_DETAILS] = "Known and declared"
    quoted = [
        f"{name}: {value}" for name, key in _QUOTED.items() if (value := deployment.get(key)) is not None
    ]
    if quoted:
        fields[_MECHANISMS] = "\n".join([fields[_MECHANISMS], *quoted])
        basis[_MECHANISMS] = "Known and declared"
    tiers = registry_fields()
    return fields, {path: said for path, said in basis.items() if path in tiers}


def _tier(deployment: Deployment, basis: Mapping[str, str]) -> int:
    """Return the highest tier up to which every field is filled, not above the declared one; the first is for all."""
    full = [
        all(path in basis for path, found in registry_fields().items() if found == tier) for tier in (2, 3)
    ]
    reached = 1 if not full[0] else 3 if full[1] else 2
    return min(reached, deployment.get("deployment.tier") or reached)


def _slug(basic: Mapping[str, Any]) -> str:
    """Return name, curators and year, as the registry makes addresses of them."""
    curators = " ".join(each["data_curator_name"] for each in basic["data_curators"])
    words = f"{basic['name']} {curators} {basic['publication_date'][:4]}"
    plain = unicodedata.normalize("NFKD", words).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:_LONGEST_SLUG]


def registry_document(entry: RegistryEntry, facts: ProvedFacts, command: str) -> Document:
    """Return an entry as a document: each field with its value and basis."""
    counted = {word: sum(word in said for said in entry.basis.values()) for word in ("Known", "eclared")}
    total = len(registry_fields())
    meaning = remark(
        "Draft entry at tier {tier} for the registry of deployments: of {total} fields, {known} are known at least in "
        "part from the files, {declared} are declared by people, {missing} are not declared.",
        tier=entry.data["deployment"]["administrative"]["tier"],
        total=total,
        known=counted["Known"],
        declared=counted["eclared"],
        missing=len(entry.missing),
    )
    sections = tuple(
        Section(part.replace("_", " ").capitalize().replace("Dp", "DP"), (Facts(tuple(_rows(entry, part))),))
        for part in registry_parts()
    )
    name = entry.data["deployment"]["basic"]["name"]
    commit = remark("{said}", said=registry_schema()["$comment"])
    made = () if facts.audit is None else (provenance_section(facts.audit.provenance),)
    background = Section("The registry's schema", (), (Paragraph(commit),))
    screen = facts.first_screen(command)
    return Document("REGISTRY ENTRY", "plain", name, meaning, screen, (*sections, background, *made))


def _rows(entry: RegistryEntry, part: str) -> Iterator[tuple[str, str]]:
    fields = registry_fields()
    for name in schema_at(part)["properties"]:
        path = f"{part}.{name}"
        value = entry.data["deployment"].get(part, {}).get(name)
        if value is not None:
            basis = entry.basis.get(path, "Declared" if path in _KEY_OF else "Computed")
            yield name.replace("_", " "), f"{basis}: {_format_value(value)}"
        elif path in fields:
            yield name.replace("_", " "), f"Not assessed: {_why_missing(path)}"


def _why_missing(path: str) -> str:
    if path in ("dp_variant.variant_name", "privacy_loss.privacy_parameters"):
        return "no finite ε is proved"
    return f"{NOT_DECLARED} ({_KEY_OF[path]})" if path in _KEY_OF else NOT_DECLARED


def _format_value(value: Any) -> str:
    """Return a value of the registry's file as one line of text."""
    if isinstance(value, Mapping):
        return "; ".join(
            f"{name.removeprefix('data_curator_')}: {_format_value(each)}" for name, each in value.items()
        )
    return ", ".join(map(_format_value, value)) if isinstance(value, list) else in_one_line(str(value))


def in_one_line(text: str) -> str:
    """Return a text without its breaks, for a cell; items of a list are set off by semicolons."""
    return re.sub(r"([:;.]?)\s*\n(?:- )?\s*", lambda found: f"{found[1] or ';'} ", text.removeprefix("- "))
