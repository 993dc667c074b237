"""Events of an adversary's view: what can be read, laid out, scored and searched for; the worlds views come from."""

# A reading or an event is read back by the name of its kind: whoever imports one module knows every kind.
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
