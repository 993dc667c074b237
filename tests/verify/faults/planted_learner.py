"""Planting a fault in a learner: the same class, built on a gate of its own that misuses the real one."""

from __future__ import annotations

import inspect
from typing import Any

from accountant import Gate, Private
from faults.fault import Fault
from faults.planted_gate import PlantedGate


def planted_learner(make: type[Any], fault: Fault) -> type[Any]:
    """Return a learner's class with a fault; its instances have it from their first round on, each its own.

    Parameters
    ----------
    make
        ``make(structure_or_actions, gate, **settings)``.
    fault
        What they do otherwise.
    """

    def init(self: Any, played: Any, gate: Gate, *settings: Any, **named: Any) -> None:
        self.planted = PlantedGate(gate, fault)
        make.__init__(self, played, self.planted, *settings, **named)

    def observe(self: Any, feedback: Private, *rounds: Any, **ticket: Any) -> None:
        make.observe(self, self.planted.observed(feedback), *rounds, **ticket)

    def observe_initial(self: Any, outcomes: Private) -> None:
        make.observe_initial(self, self.planted.own(outcomes))

    members: dict[str, Any] = {
        "__init__": init,
        "__signature__": inspect.signature(make),
        "__module__": make.__module__,
        "__qualname__": make.__qualname__,
        "observe": observe,
    }
    if hasattr(make, "observe_initial"):
        members["observe_initial"] = observe_initial
    members["feedback_domain"] = _Narrowed(make)
    return type(make.__name__, (make,), members)


class _Narrowed:
    """The attribute of a learner that says where its feedback comes from, as the learner's fault changes it."""

    def __init__(self, make: type[Any]) -> None:
        self._own = getattr(make, "feedback_domain", None)  # a property or a constant of the class

    def __get__(self, learner: Any, kind: type[Any]) -> Any:
        if learner is None:
            return self
        held = vars(learner)
        if "feedback_domain" not in held:
            if self._own is None:
                raise AttributeError("feedback_domain")
            own = self._own.__get__(learner, kind) if hasattr(self._own, "__get__") else self._own
            held["feedback_domain"] = learner.planted.narrowed(own)
        return held["feedback_domain"]

    def __set__(self, learner: Any, domain: Any) -> None:
        vars(learner)["feedback_domain"] = learner.planted.narrowed(domain)
