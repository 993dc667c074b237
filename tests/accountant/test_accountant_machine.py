"""Random use of an accountant against a slow, literal oracle that keeps each record's exact total."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule
from reopened import in_a_database

from accountant import Accountant, Budget, BudgetExceeded, SensitivityExceeded, Trust, TrustViolation
from mechanisms import Box, Categories, Gaussian, Laplace, RandomizedResponse, Sensitivity

RECORDS = ["a", "b", 1, 2]
FACTORS = [-2.0, 0.0, 0.5, 1.0, 4.0]  # powers of two and small sums of them: exact in floats and rationals


class Slow:
    """What a private value is to the oracle: for each record, by how much it can move each coordinate."""

    def __init__(self, size, moves):
        self.size, self.moves = size, moves

    def change(self, size, function):
        return Slow(size, {record: function(widths) for record, widths in self.moves.items()})

    def holders(self, mask=None):
        found = {}
        for record, widths in self.moves.items():
            kept = [w for i, w in enumerate(widths) if mask is None or mask[i]]
            if any(kept):
                found[record] = kept
        return found

    def plus(self, other):
        moves = dict(self.moves)
        for record, widths in other.moves.items():
            mine = moves.get(record, [Fraction(0)] * self.size)
            moves[record] = [a + b for a, b in zip(mine, widths, strict=True)]
        return Slow(self.size, moves)


def sensitivity(widths):
    return Sensitivity.of_box([float(w) for w in widths])


class AccountantMachine(RuleBasedStateMachine):
    values = Bundle("values")

    @initialize(
        epsilon=st.sampled_from([0.5, 1.0, 3.7, 40.0]),
        delta=st.sampled_from([0.0, 1e-6, 1e-3]),
        trust=st.sampled_from([Trust.CENTRAL, Trust.CENTRAL, Trust.LOCAL]),
    )
    def open(self, epsilon, delta, trust):
        self.rng = np.random.default_rng(1)
        self.accountant = Accountant(Budget(epsilon, delta), trust=trust, noise=self.rng)
        self.budget = (Fraction(epsilon), Fraction(delta))
        self.totals = {record: (Fraction(0), Fraction(0)) for record in RECORDS}
        self.sums = self.accountant.sums(3)
        self.slow_sums = Slow(3, {})

    # --- what changes no account -----------------------------------------------------------------

    @rule(
        target=values,
        record=st.sampled_from(RECORDS),
        size=st.integers(1, 4),
        width=st.sampled_from([0.5, 1.0]),
    )
    def enter(self, record, size, width):
        private = self.accountant.private([width / 4] * size, Box(0, width, size), record)
        return private, Slow(size, {record: [Fraction(width)] * size})

    @rule(target=values, value=values, index=st.lists(st.integers(-2, 3), min_size=1, max_size=4))
    def take(self, value, index):
        private, slow = value
        index = [min(i, slow.size - 1) for i in index]
        taken = slow.change(len(index), lambda widths: [widths[i] if i >= 0 else Fraction(0) for i in index])
        return private.take(np.array([index])), taken

    @rule(target=values, value=values, factors=st.lists(st.sampled_from(FACTORS), min_size=4, max_size=4))
    def scale(self, value, factors):
        private, slow = value
        factors = factors[: slow.size]
        scaled = slow.change(
            slow.size, lambda widths: [abs(Fraction(f)) * w for f, w in zip(factors, widths, strict=True)]
        )
        return private * np.array([factors]) - 7.0, scaled

    @rule(target=values, value=values, other=values)
    def plus(self, value, other):
        (p, slow), (q, slow_other) = value, other
        if slow.size != slow_other.size:
            p, slow = p.sum(), slow.change(1, lambda widths: [sum(widths)])
            q, slow_other = q.sum(), slow_other.change(1, lambda widths: [sum(widths)])
        return p - q, slow.plus(slow_other)

    @rule(value=values, start=st.integers(0, 2))
    def add_to_sums(self, value, start):
        private, slow = value
        at = [(start + i if i < 2 and start + i < 3 else -1) for i in range(slow.size)]
        self.sums.add(private, at=np.array([at]))
        added = slow.change(
            3,
            lambda widths: [
                sum((w for w, a in zip(widths, at, strict=True) if a == i), Fraction(0)) for i in range(3)
            ],
        )
        self.slow_sums = self.slow_sums.plus(added)

    @rule(mask=st.lists(st.booleans(), min_size=3, max_size=3))
    def clear(self, mask):
        self.sums.clear(np.array([mask]))
        self.slow_sums = self.slow_sums.change(
            3, lambda widths: [Fraction(0) if m else w for m, w in zip(mask, widths, strict=True)]
        )

    # --- releases --------------------------------------------------------------------------------

    def state(self):
        return self.accountant.to_dict(), self.rng.bit_generator.state

    def pay(self, mechanism, private, slow, mask=None):
        """Predict with exact rationals, release, compare."""
        holders = slow.holders(mask)
        charges, unlike = {}, False
        for record, widths in holders.items():
            moved = sensitivity(widths)
            unlike |= not mechanism.sensitivity.covers(moved)
            if isinstance(mechanism, Laplace):
                charges[record] = (sum(widths) / Fraction(mechanism.scale), Fraction(0))
            else:
                charges[record] = (
                    Fraction(mechanism.profile(moved).epsilon(mechanism.delta)),
                    Fraction(mechanism.delta),
                )
        after = {r: tuple(t + c for t, c in zip(self.totals[r], charges[r], strict=True)) for r in charges}
        over = any(
            total > limit
            for totals in after.values()
            for total, limit in zip(totals, self.budget, strict=True)
        )
        crowd = self.accountant.trust is Trust.LOCAL and len(holders) > 1
        expected = (
            TrustViolation if crowd else SensitivityExceeded if unlike else BudgetExceeded if over else None
        )
        before = self.state()
        where = None if mask is None else np.array([mask])
        if expected is None:
            self.accountant.release(mechanism, private, where)
            self.totals.update(after)
            return
        with pytest.raises(expected):
            self.accountant.release(mechanism, private, where)
        assert self.state() == before

    @rule(
        value=values,
        scale=st.sampled_from([0.5, 1.0, 8.0, 2.0**10]),
        calibrated=st.sampled_from([0.5, 4.0, 2.0**8]),
        mask=st.none() | st.lists(st.booleans(), min_size=4, max_size=4),
    )
    def laplace(self, value, scale, calibrated, mask):
        private, slow = value
        mechanism = Laplace(scale=scale, sensitivity=Sensitivity(calibrated, calibrated, calibrated))
        self.pay(mechanism, private, slow, None if mask is None else mask[: slow.size])

    @rule(value=values, delta=st.sampled_from([1e-9, 4e-7]), sigma=st.sampled_from([0.5, 20.0]))
    def gaussian(self, value, delta, sigma):
        private, slow = value
        self.pay(Gaussian(sigma=sigma, sensitivity=Sensitivity(256, 64, 64), delta=delta), private, slow)

    @rule(
        scale=st.sampled_from([4.0, 64.0]), mask=st.none() | st.lists(st.booleans(), min_size=3, max_size=3)
    )
    def release_sums(self, scale, mask):
        mechanism = Laplace(scale=scale, sensitivity=Sensitivity(2.0**12, 2.0**12, 2.0**12))
        self.pay(mechanism, self.sums, self.slow_sums, mask)

    @rule(record=st.sampled_from(RECORDS), epsilon=st.sampled_from([0.1, 0.25, 2.0]))
    def randomized_response(self, record, epsilon):
        private = self.accountant.private(1, Categories(3), record)
        total = self.totals[record][0] + Fraction(epsilon)
        before = self.state()
        try:
            self.accountant.release(RandomizedResponse(size=4, epsilon=epsilon), private)
        except BudgetExceeded:
            assert total > self.budget[0]
            assert self.state() == before
        else:
            assert total <= self.budget[0]
            self.totals[record] = (total, self.totals[record][1])

    @rule(value=values)
    def declassify(self, value):
        private, slow = value
        before = self.state()
        holders = slow.holders()
        if not holders:  # nobody's data: a public constant
            self.accountant.declassify(private, "an attempt")
            return
        crowd = self.accountant.trust is Trust.LOCAL and len(holders) > 1
        with pytest.raises(TrustViolation if crowd else BudgetExceeded):
            self.accountant.declassify(private, "an attempt")
        assert self.state() == before

    # --- save, load, go on ------------------------------------------------------------------------

    @rule(record=st.sampled_from(RECORDS), scale=st.sampled_from([2.0, 3.0, 1000.0]))
    def go_on_in_a_database_and_charge_both(self, record, scale):
        loaded = in_a_database(self.accountant, noise=np.random.default_rng(5))
        assert loaded.to_dict()["ledger"] == self.accountant.to_dict()["ledger"]
        for name in RECORDS:
            assert loaded.spent(name) == self.accountant.spent(name)
        refused = []
        for accountant in (self.accountant, loaded):
            private = accountant.private([0.5], Box(0, 1, 1), record)
            try:
                accountant.release(Laplace(scale=scale), private)
                refused.append(None)
            except BudgetExceeded as refusal:
                refused.append((refusal.asked, refusal.left))
        assert refused[0] == refused[1]
        assert loaded.to_dict()["ledger"] == self.accountant.to_dict()["ledger"]
        if refused[0] is None:
            epsilon, delta = self.totals[record]
            self.totals[record] = (epsilon + 1 / Fraction(scale), delta)

    @invariant()
    def every_account_is_exact_and_within_budget(self):
        if not hasattr(self, "totals"):
            return
        for record, total in self.totals.items():
            cost = self.accountant.spent(record)
            assert (cost.epsilon, cost.delta) == total
            assert all(spent <= limit for spent, limit in zip(total, self.budget, strict=True))
        record, worst = self.accountant.worst()
        assert (worst.epsilon, worst.delta) == max(self.totals.values())
        assert record is None or (worst.epsilon, worst.delta) == self.totals[record]


AccountantMachine.TestCase.settings = settings(
    max_examples=20, stateful_step_count=30, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
test_accountant_against_the_oracle = AccountantMachine.TestCase
