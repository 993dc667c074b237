"""Privacy profiles as JSON-able data, exact to the last bit."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from dpwitness import is_of_library
from mechanisms.domains.neighbouring import Neighbouring
from mechanisms.parameters import ParameterError
from mechanisms.profiles.privacy_profile import PrivacyProfile


def profile_to_dict(profile: PrivacyProfile) -> dict[str, Any]:
    """Return a profile as JSON-able data, exact to the last bit.

    Raises
    ------
    ParameterError
        If the profile, or a part of it, is none of this library's, or is no plain value.
    """
    name = type(profile).__name__
    if not is_of_library(type(profile)) or not dataclasses.is_dataclass(profile):
        raise ParameterError(f"profile = {profile!r}: only profiles of this library can be saved")
    fields = {field.name: _encode(getattr(profile, field.name)) for field in dataclasses.fields(profile)}
    return {"kind": name, **fields}


def profile_from_dict(saved: Mapping[str, Any]) -> PrivacyProfile:
    """Return the profile that `profile_to_dict` wrote, possibly after a way through JSON.

    Raises
    ------
    ParameterError
        If it is none of this library's, or a value is not one that it takes.
    """
    if not isinstance(saved, Mapping):
        raise ParameterError(f"profile = {saved!r}: must be an object")
    fields = dict(saved)
    name = fields.pop("kind", None)
    kind = _library_profile(name)
    if kind is None:
        raise ParameterError(f"kind = {name!r}: is none of this library's")
    try:
        return kind(**{field: _decode(value) for field, value in fields.items()})
    except (TypeError, ValueError, ArithmeticError) as error:
        raise ParameterError(f"kind = {name!r}: {error}") from None


def _library_profile(name: object) -> type[PrivacyProfile] | None:
    """Return the class of profiles of this library that has a name; None if none has."""
    kinds = PrivacyProfile.__subclasses__()
    for kind in kinds:
        kinds += kind.__subclasses__()
        if kind.__name__ == name and is_of_library(kind):
            return kind
    return None


def _encode(value: Any) -> Any:
    if isinstance(value, PrivacyProfile):
        return profile_to_dict(value)
    if isinstance(value, Fraction):
        return {"fraction": str(value)}
    if isinstance(value, Neighbouring):
        return {"neighbours": value.value}
    if isinstance(value, tuple):
        return [_encode(item) for item in value]
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return {"float": value.hex()}
    raise ParameterError(f"profile: {value!r} cannot be saved")


def _decode(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_decode(item) for item in value)
    if not isinstance(value, Mapping):
        return value
    if "fraction" in value:
        return Fraction(value["fraction"])
    if "float" in value:
        return float.fromhex(value["float"])
    if "neighbours" in value:
        return Neighbouring.from_name(value["neighbours"])
    return profile_from_dict(value)
