"""Checks of proofs as recorded: of true learners, and of those that show one number of their state a little off.

Off by a thousandth, or by one if it is a count, from some round on. A change that is meant is recorded with
``--snapshot-update``, and the difference is read like code: where the proof needs the number, it is a counterexample,
or makes another learner than the theorem's.
"""

from dataclasses import replace

import numpy as np
import pytest

from algorithms.catalogue.contextual_entries import contextual_learners
from algorithms.catalogue.linear_entries import linear_learners
from algorithms.catalogue.structured_entries import learners
from algorithms.problems import Arms, SemiBandit
from algorithms.theory.regret import BOUNDS
from algorithms.theory.regret_bound import Instance
from verify.regret_claims.phase_checks import PhaseRun
from verify.regret_claims.proof import _law_instance, _run_class
from verify.regret_claims.proof_run import check_laws
from verify.regret_claims.simulated_regret import builder_for
from verify.regret_claims.width_checks import WidthRun

ENTRIES = {**learners, **linear_learners, **contextual_learners}
SINCE = 8  # rounds
COUNTS = ("count", "releases", "displays")
MEANS = ("estimate", "count", "releases", "index")
CLICKS = ("clicks", "examinations", "displays", "releases", "index")
PHASES = ("averages", "variances", "values", "widths")
POLICY = ("estimate", "covariance", "width")
SHOWN = {
    "dp-bandit": MEANS,
    "cucb-ldp-bit": MEANS,
    "omm": MEANS,
    "published/dpucb-mat": MEANS,
    "cascade-ucb1": MEANS,
    "published/adap-klucb": MEANS,
    "dp-best-arm": MEANS,
    "cascade-ucb-rr": CLICKS,
    "cascade-ucb-batch": CLICKS,
    "dp-hedge": ("weights", "rate"),
    "published/dp-dpe-central": PHASES,
    "pe": PHASES,
    "dp-linucb": POLICY,
}


def shift(shown, name, sign):
    """Return a state with one number off, of the first arm in all lanes."""
    value = np.array(getattr(shown, name))
    if value.ndim:
        value[..., 0] += sign * (1 if name in COUNTS else 1e-3)
    other = {name: value if value.ndim else float(value) + sign * 1e-3}
    return shown._replace(**other) if isinstance(shown, tuple) else replace(shown, **other)


def checks(name, field="", sign=1):
    """Return the checks of few rounds or phases, in which a number of the state is off."""
    make, bound = ENTRIES[name].make, BOUNDS[name]
    settings = {"index": "confidence"} if name == "cascade-ucb-batch" else {}
    played = Instance(SemiBandit(Arms(4), (0.3, 0.45, 0.6, 0.9)), 2.0, 24, 1e-3, settings)
    instance, _ = _law_instance(make, bound, played)
    kind = _run_class(make, bound.confidence)

    class ShiftedRun(kind):
        def state(self, learner):
            shown = super().state(learner)
            return shift(shown, field, sign) if field and self.round >= SINCE else shown

        def phased(self, learner, phase, clients):
            right = learner.learned
            learner.learned = shift(right, field, sign) if field and phase.clients else right
            super().phased(learner, phase, clients)
            learner.learned = right

        def _check_policy(self, policy):
            super()._check_policy(shift(policy, field, sign) if field and self.round >= SINCE else policy)
            self._policy = policy  # it knows policies apart by what they are, not by their numbers

    by_round = not issubclass(kind, PhaseRun | WidthRun)
    instance = replace(instance, horizon=20 if by_round else 100)
    return check_laws(
        ShiftedRun,
        builder_for(make, instance),
        bound.bound_for(instance),
        instance,
        lanes=2 if kind is PhaseRun else 64,
        seed=3,
        error=1e-4,
    )


@pytest.mark.parametrize("name", SHOWN)
def test_a_number_that_is_off_is_seen_as_recorded(name, snapshot):
    lines = [f"{check.name}: {check.description}" for check in checks(name)]
    for field in SHOWN[name]:
        for sign in (1, -1):
            found = checks(name, field, sign)
            seen = [f"{each.name}: {each.description}" for each in found if each.violated]
            seen += [f"another learner: {each.name}: {each.description}" for each in found if each.differs]
            lines += [f"{field} {'-' if sign < 0 else '+'}", *(f"    {each}" for each in seen or ["nothing"])]
    assert "\n".join(lines) == snapshot
