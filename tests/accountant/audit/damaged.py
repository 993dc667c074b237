"""JSON documents with one thing wrong: what a reader of files must refuse in one sentence, or take for what it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from hypothesis import strategies as st

from accountant.audit import ReleaseFileError

_Path = tuple[Any, ...]

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=4),
    st.sampled_from(
        [10**400, -(10**400), 2**63, 1e308, 5e-324, -0.0, "inf", "nan", "laplace", "\x1b[31m\u202e\n"]
    ),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
)


def damaged(document: Any) -> st.SearchStrategy[Any]:
    """Return documents in which one value, anywhere, is another one, missing, or has something beside it."""
    return st.builds(
        lambda path, value, how: _with(document, path, value, how),
        st.sampled_from(list(_paths(document))),
        VALUES,
        st.sampled_from(["another", "missing", "beside"]),
    )


def refusal(read: Callable[[], object]) -> str:
    """Return why a release file was refused; nothing if it was read."""
    try:
        read()
    except ReleaseFileError as error:
        return str(error)
    return ""


def _paths(value: Any, path: _Path = ()) -> Iterator[_Path]:
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, entry in inner:
        yield from _paths(entry, (*path, key))


def _with(document: Any, path: _Path, value: Any, how: str) -> Any:
    if not path:
        return value
    key, *further = path
    copy = document.copy()
    if further:
        copy[key] = _with(document[key], tuple(further), value, how)
    elif how == "another":
        copy[key] = value
    elif how == "missing":
        del copy[key]
    elif isinstance(copy, list):
        copy.insert(key, value)
    else:
        copy[f"{key}'"] = value
    return copy
