"""The Open Bandit Dataset as a problem: its measured click rates, and the assumptions on top of them.

The data
--------
The Open Bandit Dataset (Saito, Aihara, Matsutani and Narita 2021, "Open Bandit Dataset and Pipeline:
Towards Realistic and Reproducible Off-Policy Evaluation", arXiv:2008.07146; ZOZO, Inc.; licence CC BY 4.0)
logs which of 80 fashion items the shop ZOZOTOWN displayed at which of three positions, and whether it was
clicked. This package ships only counts for each item and position, taken from the small sample of the "all"
campaign that distribution 0.5.5 of the project's package ``obp`` contains, under the policy that displayed
items uniformly at random (``obp/dataset/obd/random/all/all.csv``, 10,000 displays of 24-30 November 2019,
38 of them clicked)::

    import csv
    from collections import Counter

    displays, clicks = Counter(), Counter()
    with open("obp/dataset/obd/random/all/all.csv", newline="") as log:
        for row in csv.DictReader(log):
            cell = int(row["item_id"]), int(row["position"])
            displays[cell] += 1
            clicks[cell] += int(row["click"])
    with open("open_bandit_counts.csv", "w", newline="") as counts:
        print("item,position,displays,clicks", file=counts)
        for item, position in sorted(displays):
            print(item, position, displays[item, position], clicks[item, position], sep=",", file=counts)

Real data and assumptions
-------------------------
Real: the number of items and positions, and the click rates, which no choice of ours shaped because the
logging policy was uniform. They are low (13 of 3322, 14 of 3412 and 11 of 3266 displays at positions 1, 2
and 3) and measured coarsely: an item was displayed 96 to 160 times, 51 of the 80 were never clicked, and
the best rate is 3 clicks in 114 displays. The true rates of single items are therefore known only to within
a factor of several.

Assumed: outcomes are drawn as independent Bernoulli variables at the measured rates, the same for all users
and at all times. The log does not say which displays belonged to one page view, so it can confirm neither
that clicks on different items are independent nor that users go down the list as the cascade model has it
(the three positions lie side by side, and their click rates are alike).
"""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files

import numpy as np

from algorithms.problems.cascade import Cascade
from algorithms.problems.problem_errors import checked_size
from algorithms.problems.semi_bandit import SemiBandit
from algorithms.problems.top_k import TopK
from mechanisms.arrays import FloatArray, IntArray

_ITEMS = 80
_POSITIONS = 3


@cache
def open_bandit_counts() -> tuple[IntArray, IntArray]:
    """Return the displays and the clicks of each item at each position, two read-only arrays ``(80, 3)``."""
    displays = np.zeros((_ITEMS, _POSITIONS), dtype=np.int64)
    clicks = np.zeros((_ITEMS, _POSITIONS), dtype=np.int64)
    table = files("algorithms.problems") / "data" / "open_bandit_counts.csv"
    for row in csv.DictReader(table.read_text(encoding="utf-8").splitlines()):
        cell = int(row["item"]), int(row["position"]) - 1
        displays[cell] = int(row["displays"])
        clicks[cell] = int(row["clicks"])
    displays.flags.writeable = clicks.flags.writeable = False
    return displays, clicks


def open_bandit_rates(position: int | None = None) -> FloatArray:
    """Return the measured click rate of each item, ``clicks / displays``.

    Parameters
    ----------
    position
        1, 2 or 3; None pools all three.
    """
    displays, clicks = open_bandit_counts()
    shown = slice(None) if position is None else slice(position - 1, position)
    return np.asarray(clicks[:, shown].sum(axis=1) / displays[:, shown].sum(axis=1))


def open_bandit(items: int = _ITEMS, size: int = _POSITIONS, position: int | None = None) -> SemiBandit:
    """Return the semi-bandit that displays `size` items and observes each one's click.

    Parameters
    ----------
    items
        Keep the items ``0 .. items - 1`` only (for small instances).
    size
        The number of items displayed at a time; 3 in the shop.
    position
        Take the click rates of one position (1, 2 or 3) instead of the pooled ones.

    Raises
    ------
    ProblemError
        Unless ``1 <= size <= items <= 80``.
    """
    items = checked_size("items", items, _ITEMS, "items in the log")
    return SemiBandit(TopK(items, size), open_bandit_rates(position)[:items])


def open_bandit_cascade(
    items: int = _ITEMS, positions: int = _POSITIONS, position: int | None = None
) -> Cascade:
    """Return the cascade over the same items, the click rates taken as attraction probabilities.

    Parameters and errors are those of `open_bandit`, with `positions` for `size`.
    """
    items = checked_size("items", items, _ITEMS, "items in the log")
    return Cascade(items, positions, open_bandit_rates(position)[:items])
