"""Mechanisms that are no Python: an awk script, a Perl script and a shell script in the folder commands."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from held_out_entry import COMMAND, HeldOut, impossible
from noise_laws import shifted_laplace
from oracle import Oracle, by_likelihood_ratio

from mechanisms import Categories, Interval
from verify import AnyTwo, ReplaceOne
from verify.functions.command_subject import command_subject
from verify.functions.function_subject import FunctionSubject
from verify.neighbouring.adjacency import Adjacency

FOLDER = Path(__file__).parent / "commands"


def script(words: str, neighbours: Adjacency) -> FunctionSubject:
    """A script of the folder, started there."""
    return command_subject(words, neighbours, folder=FOLDER)


KEPT = 1.5 * math.e

HELD_OUT = (
    HeldOut(
        name="awk-laplace",
        subject=script("awk -f laplace.awk", AnyTwo(Interval(0, 1))),
        epsilon=1.0,
        true_epsilon=1.0,
        source="Dwork, McSherry, Nissim, Smith 2006, in awk",
        why="x + Lap(1/ε), printed to nine digits",
        oracle=Oracle(np.array(0.0), np.array(1.0), "the output is at most t", lambda: shifted_laplace(1.0)),
        draws=COMMAND,
        limit=0.9914,
    ),
    HeldOut(
        name="perl-randomized-response",
        subject=script("perl randomized_response.pl", AnyTwo(Categories(4))),
        epsilon=1.0,
        true_epsilon=1.0 + math.log(1.5),
        source="Warner 1965 with four answers, in Perl",
        why="the truth has weight 1.5 e^ε in place of e^ε; objects with a word",
        oracle=Oracle(
            np.array(0),
            np.array(1),
            "the reply is the first value",
            lambda: by_likelihood_ratio(
                np.array([KEPT, 1, 2]) / (KEPT + 3), np.array([1, KEPT, 2]) / (KEPT + 3)
            ),
        ),
        draws=COMMAND,
        limit=1.396,
    ),
    HeldOut(
        name="bash-suppressed-count",
        subject=script("bash suppressed_count.sh", ReplaceOne(Categories(2), 6)),
        epsilon=1.0,
        true_epsilon=math.inf,
        source="suppression of small cells, in bash",
        why="an exact count, null below three: no noise at all",
        oracle=Oracle(np.array([1, 1, 1, 0, 0, 0]), np.array([1, 1, 0, 0, 0, 0]), "a count", impossible(1.0)),
        draws=COMMAND,
        limit=10.9,
    ),
)
