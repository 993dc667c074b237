"""Mutants of every certified learner of the catalogue."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import fields, replace

from algorithms.learner import DEFAULT_DELTA
from verify.conduct.progress import no_progress, subprogress
from verify.mutants.mutant_options import MutantOptions
from verify.mutants.verify_mutants import Mutants, verify_mutants
from verify.subjects.resolve import every_learner


def certified_learners() -> list[str]:
    """Return the names of the learners that the catalogue recommends where a certificate counts."""
    return [name for name, entry in every_learner.items() if entry.certified_form == name]


def _options_for(learner: str, options: MutantOptions) -> MutantOptions:
    """Return the options for one learner: with a delta only if it takes one."""
    takes_delta = "delta" in inspect.signature(every_learner[learner].make).parameters
    delta = (options.delta or DEFAULT_DELTA) if takes_delta else None
    return replace(options, delta=delta)


def catalogue_mutants(options: MutantOptions, learners: Sequence[str] = ()) -> list[Mutants]:
    """Verify the mutants of all certified learners, or of these; see `verify_mutants`."""
    names = learners or certified_learners()
    tell = options.progress or no_progress
    runs = []
    for number, name in enumerate(names):
        told = subprogress(tell, number / len(names), (number + 1) / len(names))
        its = replace(_options_for(name, options), progress=told)
        runs.append(verify_mutants(name, **{each.name: getattr(its, each.name) for each in fields(its)}))
    return runs
