"""Plain data as YAML, read alike by version 1.1 and 1.2."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

_PLAIN_KEY = re.compile(r"(?!(?:y|n|yes|no|on|off|true|false|null)$)[a-z_][a-z0-9_]*")
_BLOCK = re.compile(
    r"[^\s\x00-\x1f\x7f-\xa0\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff][^\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]*[^\s]"
)
_ESCAPED = re.compile(r"[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]")


def yaml_text(data: Mapping[str, Any], missing: Mapping[str, str]) -> str:
    """Return data as YAML, with comments on fields that are missing.

    Parameters
    ----------
    data
        Objects, lists, texts and numbers.
    missing
        Comments, by the path of the object that they end.
    """
    return "\n".join(_object(data, "", "", missing)) + "\n"


def _object(data: Mapping[str, Any], indent: str, path: str, missing: Mapping[str, str]) -> Iterator[str]:
    for name, value in data.items():
        key = name if _PLAIN_KEY.fullmatch(name) else _quoted(name)
        if isinstance(value, Mapping):
            yield f"{indent}{key}:"
            yield from _object(value, f"{indent}  ", f"{path}{name}.", missing)
        elif isinstance(value, list):
            yield f"{indent}{key}:"
            for each in value:
                lines = [_scalar(each, f"{indent}  ")]
                if isinstance(each, Mapping):
                    lines = list(_object(each, f"{indent}    ", "", {}))
                yield f"{indent}  - {lines[0].lstrip()}"
                yield from lines[1:]
        else:
            yield f"{indent}{key}: {_scalar(value, indent)}"
    for line in missing.get(path, "").splitlines():
        yield f"{indent}# {line}"


def _scalar(value: Any, indent: str) -> str:
    """Return a number with a point in its mantissa, without which YAML 1.1 reads a text, or a text."""
    if isinstance(value, float):
        mantissa, exponent, power = repr(value).partition("e")
        return f"{mantissa if '.' in mantissa else f'{mantissa}.0'}{exponent}{power}"
    if isinstance(value, str) and "\n" in value and _BLOCK.fullmatch(value):
        return "\n".join(["|-", *(f"{indent}  {line}" if line else "" for line in value.split("\n"))])
    return _quoted(value)


def _quoted(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
