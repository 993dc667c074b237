"""The catalogue of experiments by name."""

from __future__ import annotations

from algorithms.problems import known_name
from verify.experiments.cascade_paper import CASCADE
from verify.experiments.csb_paper import CSB
from verify.experiments.experiment import Experiment
from verify.experiments.linear_paper import LINEAR
from verify.experiments.matroid_paper import MATROID

experiments: dict[str, Experiment] = {
    experiment.name: experiment for experiment in (*CSB, *MATROID, *CASCADE, *LINEAR)
}
"""All figures and tables that can be reproduced."""


def named_experiments(names: tuple[str, ...]) -> list[Experiment]:
    """Return the experiments of these names; a prefix selects all names that begin with it, as ``cascade/``.

    Raises
    ------
    SettingError
        If a name is unknown; the message suggests the closest.
    """
    chosen: dict[str, Experiment] = {}
    for name in names:
        begin = {key: each for key, each in experiments.items() if name and key.startswith(name)}
        exact = {name: experiments[name]} if name in experiments else begin
        chosen |= exact or {known_name("experiment", name, experiments): experiments[name]}
    return list(chosen.values())
