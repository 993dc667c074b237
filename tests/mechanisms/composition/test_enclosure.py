"""Intervals with a proof: what they have in common, and for which neighbours."""

import pytest

from mechanisms import MixedNeighbours, Neighbouring
from mechanisms.composition.enclosure import Bound, ContradictingBounds, Enclosure, lower_end

REPLACED, ADDED = Neighbouring.REPLACE_ONE, Neighbouring.ADD_OR_REMOVE
LOW = Enclosure(0.0, 2.0, "a", "b", REPLACED)
HIGH = Enclosure(1.0, 3.0, "c", "d")


def test_what_both_allow_and_the_larger_of_two_keep_who_said_so():
    assert LOW.intersect(HIGH) == Enclosure(1.0, 2.0, "c", "b", REPLACED)
    assert HIGH.maximum(LOW) == Enclosure(1.0, 3.0, "c", "d", REPLACED)
    assert LOW.bound.above([HIGH]) == Enclosure(1.0, 2.0, "c", "b", REPLACED)
    assert LOW.bound.above([]) == LOW.bound == Bound(2.0, "b", REPLACED)
    assert HIGH.at_most([Bound(1.5, "e"), Bound(2.5, "f")]) == Enclosure(1.0, 1.5, "c", "e")
    assert (lower_end(LOW), lower_end(LOW.bound)) == (0.0, None)
    with pytest.raises(ContradictingBounds, match=r"c says at least 5.0, b at most 2.0"):
        LOW.intersect(Enclosure(5.0, 6.0, "c", "d"))


def test_an_interval_is_shown_with_its_relation():
    assert str(LOW) == "[0.0, 2.0] (a; b; neighbours: replace one)"
    assert str(HIGH) == "[1.0, 3.0] (c; d)"
    assert HIGH.stated_for(ADDED).neighbouring is ADDED


@pytest.mark.parametrize("use", [LOW.intersect, LOW.maximum, lambda other: LOW.at_most([other.bound])])
def test_intervals_of_two_relations_never_compare(use):
    with pytest.raises(MixedNeighbours, match="'replace one' and one for 'add or remove one'"):
        use(HIGH.stated_for(ADDED))
    with pytest.raises(MixedNeighbours):
        LOW.stated_for(ADDED)
