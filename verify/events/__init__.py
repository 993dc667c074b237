"""Events of an adversary's view: readings, families, scores, their search, and the worlds of the views."""

# A reading or an event is read back by the name of its kind, for which all kinds must be imported.
from verify.events import (
    event,
    float_lattice,
    readings,
    rounded_columns,
    rounded_readings,
    scores,
    summaries,
)

__all__ = [
    "event", "float_lattice", "readings", "rounded_columns", "rounded_readings", "scores",
    "summaries",
]  # fmt: skip
