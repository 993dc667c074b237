"""Running totals are the sums of what was charged, whatever was forgotten of how they came about."""

import random
from fractions import Fraction

import pytest

from accountant import Cost
from accountant.compositions import COMPOSITIONS
from accountant.ledger import totals
from accountant.ledger.totals import Totals


@pytest.mark.few(1)
@pytest.mark.parametrize("interned", [1, 4, 16_384])
def test_totals_are_sums_however_few_of_them_are_interned(
    monkeypatch: pytest.MonkeyPatch, interned: int
) -> None:
    monkeypatch.setattr(totals, "_INTERNED", interned)
    composition, chosen = COMPOSITIONS["basic composition"](), random.Random(0)
    kept, paid = Totals(composition), {record: [Fraction(0)] for record in range(6)}
    limit = Fraction(9)

    def fits(total: Cost) -> bool:
        return total.epsilon is not None and total.epsilon <= limit

    for _ in range(4_000):
        record = chosen.randrange(6)
        before = sum(paid[record])
        charge = Cost(Fraction(chosen.randrange(1, 9), chosen.randrange(1, 9)), Fraction(0))
        assert kept.affordable(record, charge, fits) == (before + charge.epsilon <= limit)
        if before + charge.epsilon > limit:
            while len(paid[record]) > 1:
                kept.take_back(record, Cost(paid[record].pop(), Fraction(0)))
        else:
            kept.add(record, charge, held=chosen.random() < 0.5)
            paid[record].append(charge.epsilon)
            if chosen.random() < 0.3:
                kept.take_back(record, charge)
                paid[record].pop()
        assert {each: kept.spent(each).epsilon for each in paid} == {
            each: sum(charges) for each, charges in paid.items()
        }
        assert kept.worst()[1].epsilon == max(map(sum, paid.values()))


def test_what_another_thread_forgets_is_not_believed_of_another_total() -> None:
    """A price is asked for without a lock: what fits must not be told of a total that lies where one was forgotten."""
    kept = Totals(COMPOSITIONS["basic composition"]())

    def fits_while_all_is_forgotten(total: Cost) -> bool:
        kept._forget()
        return True

    for number in range(200):
        assert kept.affordable("ann", Cost(Fraction(1, number + 1), Fraction(0)), fits_while_all_is_forgotten)
        large = Cost(Fraction(number + 2), Fraction(0))
        assert not kept.affordable("bob", large, lambda total: False)
