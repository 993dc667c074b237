"""Properties and methods that an object delegates to one of its attributes."""

from __future__ import annotations

from operator import attrgetter
from typing import Any


def delegated(path: str) -> Any:
    """Return a property, or a method, that is an attribute of another object, which this one holds.

    Parameters
    ----------
    path
        The path to it from the object: ``"profile.rho"``.

    Examples
    --------
    >>> class Circle:
    ...     radius = 2.0
    >>> class Named:
    ...     shape = Circle()
    ...     radius = delegated("shape.radius")
    >>> Named().radius
    2.0
    """
    return property(attrgetter(path))
