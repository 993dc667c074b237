"""Release files with every number at its ends: an answer whose ends are in order, or a refusal in words."""

import random

import pytest
from test_release_schema import PLAIN

from accountant.audit import AuditQuestion, audit
from accountant.audit.mechanism_kinds import mechanism_kinds
from accountant.audit.release_tables import from_tables
from mechanisms.amplification.sampling import Sampling

SIZES = (
    5e-324,
    1e-300,
    1e-160,
    1e-9,
    1e-3,
    0.05,
    1.0,
    30.0,
    750.0,
    1e5,
    1e9,
    1e100,
    1e160,
    1e290,
    1e300,
    1.7e308,
)
SHARES = (5e-324, 1e-300, 1e-20, 1e-3, 0.5, 1.0 - 1e-16)
COUNTS = (1, 2, 3, 7, 1000, 10**6, 10**12)
RATES = (1e-300, 1e-16, 1e-12, 1e-3, 0.25, 0.5, 1.0 - 1e-12)
RELATIONS = ("replace one", "add or remove one", "zero out")
QUESTIONS = (
    {"delta": 1e-6},
    {"delta": 0.0},
    {"delta": 1e-280},
    {"delta": 0.5},
    {"epsilon": 0.0},
    {"epsilon": 1.0},
    {"epsilon": 1e6},
)


def random_table(rng: random.Random) -> dict[str, object]:
    """Return a table of a release, about half of its numbers at their ends."""
    name = rng.choice(list(PLAIN))
    table: dict[str, object] = {"mechanism": name, **PLAIN[name]}
    kind = mechanism_kinds()[name]
    for key, value in PLAIN[name].items():
        if key in kind.keys and type(value) in (int, float) and rng.random() < 0.6:
            share = key in ("delta", "probability", "sampling_probability")
            whole = key in kind.whole or key == "k"
            table[key] = rng.choice(COUNTS if whole else SHARES if share else SIZES)
    if rng.random() < 0.5:
        table["count"] = rng.choice(COUNTS)
    if rng.random() < 0.4:
        table["sampling_rate"] = rng.choice(RATES)
        table["sampling"] = rng.choice([each.value for each in Sampling])
    if rng.random() < 0.3 and kind.moves:
        table["sensitivity"] = rng.choice((5e-324, 1e-9, 1, 3, 1e9, 1e200))
    return {"neighbours": rng.choice(RELATIONS)} | table


@pytest.mark.slow
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("seed", range(100, 110))
def test_numbers_at_their_ends_are_answered_or_refused(seed: int) -> None:
    rng, answered = random.Random(seed), 0
    while answered < 40:
        table, question, size = random_table(rng), rng.choice(QUESTIONS), rng.choice((1, 1, 1, 2, 5))
        try:
            releases = from_tables("it", {"release": [table]})
            found = audit(releases.for_groups_of(size), AuditQuestion(**question), time_limit=2.0).answer
        except ValueError:  # refused in words
            continue
        answered += 1
        assert found.upper >= 0.0, (table, question, size)
        assert (getattr(found, "lower", None) or 0.0) <= found.upper, (table, question, size)
