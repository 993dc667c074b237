"""Two spellings of a record's name have one budget."""

from __future__ import annotations

import unicodedata
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from accountant import Accountant, Budget, BudgetExceeded, Rule
from accountant.record_name import canonical_name, nearest_name
from accountant.stores.names import PLAIN, add_key, record_of_label
from mechanisms import Interval, Laplace, Sensitivity

WHOLE = Laplace(scale=1.0, sensitivity=Sensitivity(1, 1, 1))
SAME = [
    (1, "1"),
    (-3, "-3"),
    (0, "0"),
    (np.int64(7), "7"),
    (2**60, str(2**60)),
    (-(2**53), str(-(2**53))),
    ("é", "e\u0301"),
    ("Å", "\u212b"),
    ("ṩ", "s\u0307\u0323"),
    ("가", "\u1100\u1161"),
]
REFUSED = [
    *("ann ", " ann", "a  b", "a\tb", "ann\n", "a\u00a0b", "a\u2003b", "a\u3000b", "", " "),
    *(
        "ann\u200b",
        "a\u202eb",
        "a\u00adb",
        "a\ufeffb",
        "a\x00b",
        "a\u2028b",
        "a\ue000b",
        "a\ud800b",
        "a\u0378b",
    ),
    *("a\u034fb", "a\ufe0fb", "a\u3164b", "\u2800", "a\U000e0101b"),
    *(True, 1.0, None, b"a", np.str_("a"), np.float64(1.0), ("a",), 10**2000, "9" * 3000),
]
NAMES = st.one_of(st.integers(), st.text(), st.from_regex("-?[0-9]{1,20}", fullmatch=True))


@pytest.mark.parametrize(("one", "other"), SAME)
def test_names_that_mean_the_same_are_one(one: Any, other: Any) -> None:
    assert canonical_name(one) == canonical_name(other)
    assert type(canonical_name(one)) is type(canonical_name(other))


@pytest.mark.parametrize(
    ("one", "other"), [("01", 1), ("1e3", 1000), ("-0", 0), ("+1", 1), ("1.0", 1), ("ann", "Ann"), ("١", 1)]
)
def test_names_that_mean_others_are_two(one: Any, other: Any) -> None:
    assert canonical_name(one) != canonical_name(other)


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_name_is_refused_by_name(name: Any) -> None:
    with pytest.raises(ValueError, match=r"^who = "):
        canonical_name(name, "who")


def test_a_refusal_says_the_name_to_use() -> None:
    with pytest.raises(ValueError, match=r"say 'ann b'$"):
        canonical_name(" ann\u00a0\u200b b")


@given(NAMES)
@example("\u0958")  # composed, of which NFC makes two
@example("a\u200d\u0301")
def test_a_form_is_its_own_and_that_of_all_equivalent_texts(name: int | str) -> None:
    if isinstance(name, str):
        near = nearest_name(name)
        if near:
            canonical_name(near)
        try:
            found = canonical_name(name)
        except ValueError:
            assert unicodedata.normalize("NFC", name) != near or not near
            return
        for form in ("NFC", "NFD"):
            assert canonical_name(unicodedata.normalize(form, name)) == found
        assert str(found) == unicodedata.normalize("NFC", name)
    else:
        found = canonical_name(name)
        assert canonical_name(str(name)) == found
    assert canonical_name(found) == found
    assert type(canonical_name(found)) is type(found)
    assert record_of_label(PLAIN.label_of(name)) == found


@pytest.mark.few(3)
@pytest.mark.parametrize("kind", ["memory", "store", "keyed"])
@pytest.mark.parametrize(("one", "other"), SAME)
def test_one_record_has_one_budget(one: Any, other: Any, kind: str, tmp_path: Path) -> None:
    where: dict[str, Any] = {} if kind == "memory" else {"store": tmp_path / "ledger.db"}
    if kind == "keyed":
        add_key(tmp_path / "key")
        where["names"] = tmp_path / "key"
    rules = [Rule(Budget(1.5), groups=[(other, "mate")])]
    accountant = Accountant(Budget(1.0), noise=np.random.default_rng(0), rules=rules, **where)
    accountant.release(WHOLE, accountant.private([0.5], Interval(0, 1), one))
    for name in (one, other):
        assert accountant.spent(name).epsilon == 1
        assert accountant.remaining_spend(name).epsilon == 0
        assert len(accountant.left_by_rule(name)) == 1
        assert accountant.remaining_releases(WHOLE, name) == 0
        assert len(accountant.ledger.charges(name)) == 1
        with pytest.raises(BudgetExceeded):
            accountant.release(WHOLE, accountant.private([0.5], Interval(0, 1), name))
    with pytest.raises(BudgetExceeded, match="group"):  # its mate has half a budget left there
        accountant.release(WHOLE, accountant.private([0.5], Interval(0, 1), "mate"))


def test_a_group_names_a_record_once() -> None:
    with pytest.raises(ValueError, match="record 7 is named twice"):
        Rule(Budget(1.0), groups=[(7, "7")])
    with pytest.raises(ValueError, match=r"groups: record = 'ann ': must be visible .* say 'ann'"):
        Rule(Budget(1.0), groups=[("ann ", "bob")])
