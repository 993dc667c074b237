"""Trust models: whom a record's owner trusts with the raw value."""

from __future__ import annotations

from enum import Enum


class Trust(Enum):
    """Who sees raw data.

    CENTRAL
        A server collects raw records; a released value may hold many of them.
    LOCAL
        Nobody; every released value is one user's message and holds exactly one record.
    """

    CENTRAL = "central"
    LOCAL = "local"
