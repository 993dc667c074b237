"""Every kind of curve: what it states of a release is as recorded, each bound with its distance from the other one."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator

import numpy as np
import pytest
from kinds_of_curves import KINDS
from syrupy.assertion import SnapshotAssertion

from mechanisms import Neighbouring, PrivacyProfile

POINTS = np.array([-1.5, 0.0, 0.01, 0.5, 2.0, 9.0])


def width(lower: float, upper: float) -> str:
    """The relative width of bounds; where it is a few units in the last place, to a power of 4."""
    apart = (upper - lower) / (upper or 1.0)
    return f"{apart:.3g}" if apart > 1e-11 or apart == 0.0 else f"4^{round(0.5 * math.log2(apart))}"


def stated(profile: PrivacyProfile) -> Iterator[str]:
    """Give what accountants ask of a profile, a line each."""
    lower, upper = profile.bounds(POINTS)
    yield "delta " + " ".join(f"{own:.6g}" for own in upper)
    yield "widths " + " ".join(width(*ends) for ends in zip(lower.tolist(), upper.tolist(), strict=True))
    for name in ("pure_epsilon", "largest_finite", "infinite_mass", "rho", "gaussian_mu", "relative_error"):
        value = getattr(profile, name)
        yield f"{name} {value if value is None else f'{float(value):.6g}'}"
    for name in ("symmetric", "covers_both_directions", "outdoes_its_curve", "bound"):
        yield f"{name} {getattr(profile, name)!r}"
    yield "divergences " + " ".join(f"{own:.6g}" for own in profile.renyi(np.array([1.1, 4.0, 200.0])))
    yield f"pairs {len(profile.attained())} {profile.attained_in_the_long_run() is not None}"
    yield f"statable {sorted(one.value for one in profile.statable)}"
    sides = profile.directions()
    if len(sides) == 1:
        yield f"epsilon at 1e-06: {profile.epsilon(1e-6):.6g}"
    for side in sides if len(sides) > 1 else ():
        yield from (f"  {line}" for line in stated(side))


@pytest.mark.parametrize(
    ("relation", "kind"),
    [(relation, kind) for relation, makes in KINDS.items() for kind in makes],
    ids=lambda value: value if isinstance(value, str) else value.value,
)
def test_what_is_stated_is_as_recorded(
    relation: Neighbouring, kind: str, snapshot: SnapshotAssertion
) -> None:
    """A change that is meant is recorded with ``--snapshot-update``, and the difference is read like code."""
    assert "\n".join(stated(KINDS[relation][kind](random.Random(kind)))) == snapshot
