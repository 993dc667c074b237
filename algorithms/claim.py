"""Privacy claims of algorithms, precise enough to be refuted."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from enum import Enum
from typing import Any, ClassVar, Literal, get_args

from algorithms.unit import ONE_REPORT, OnePerson, Unit, checked_unit
from mechanisms.domains.neighbouring import Neighbouring
from mechanisms.parameters import ParameterError

Model = Literal["central", "local", "shuffle"]
_MODELS: tuple[str, ...] = get_args(Model)


class View(Enum):
    """View of the adversary of a claim.

    Without the action of a record's own round it is the view of joint differential privacy.
    """

    ACTIONS = "the sequence of actions"
    OTHER_ACTIONS = "the actions of all rounds but the record's own"
    RELEASES = "everything that is released"
    MESSAGE = "one user's message"
    MESSAGES = "the messages and the actions of all rounds"
    MESSAGES_AND_OTHER_ACTIONS = "the messages of all rounds, and the actions of all but the record's own"
    OTHER_MESSAGES = "the messages and the actions of all rounds but the record's own"
    OUTPUT = "the output"
    SHUFFLED = "the number of ones among the shuffled bits of every action"

    @property
    def models(self) -> tuple[str, ...]:
        """The trust models in which there is something of the kind to see."""
        return _MODELS_OF_VIEWS.get(self, _MODELS)

    @property
    def hides_own_action(self) -> bool:
        """True if the action of the record's own round is not in the view."""
        return self in (View.OTHER_ACTIONS, View.MESSAGES_AND_OTHER_ACTIONS, View.OTHER_MESSAGES)


_MODELS_OF_VIEWS: Mapping[View, tuple[str, ...]] = {
    View.MESSAGE: ("local", "shuffle"),
    View.SHUFFLED: ("shuffle",),
}
_USUAL_VIEWS: Mapping[Model, View] = {
    "central": View.ACTIONS,
    "local": View.MESSAGE,
    "shuffle": View.SHUFFLED,
}


@dataclass(frozen=True, slots=True)
class ClaimForm:
    """Privacy claim of an algorithm for every epsilon.

    Attributes
    ----------
    model
        The trust model: ``central``, ``local`` or ``shuffle``.
    view
        The adversary's view.
    unit
        The difference of two neighbouring data sets: `ONE_REPORT` or `OnePerson`, or its words.
    source
        The publication of the claim.
    neighbours
        The neighbouring relation.
    differ
        The difference of two neighbouring data sets in words, if they are more precise than the relation.
    composition
        The composition theorem under which the releases keep the claim, as `accountant.compositions.composition_named`
        reads it ("zcdp", "renyi, failures=0.1"); by default a verifier takes basic composition, or for delta > 0 the
        Gaussian filter if basic composition is not enough.
    comment
        The author's own description of a record, beyond the unit: it is not checked.

    Raises
    ------
    ParameterError
        If the model is none of the three, exactly as they are written, the view no `View` or none of the model's, the
        neighbours no `Neighbouring`, the unit none, `differ` or the comment no text, or the composition none.
    """

    model: Model
    view: View
    unit: Unit
    source: str
    neighbours: Neighbouring = Neighbouring.REPLACE_ONE
    differ: str = ""
    composition: str = ""
    comment: str = ""

    def __post_init__(self) -> None:
        _check_one_of("model", self.model, _MODELS)
        if not isinstance(self.view, View):
            names = [f"View.{view.name}" for view in View]
            raise ParameterError(
                f"view = {self.view!r}: must be a View{_suggestion(self.view, names)}; one of {', '.join(names)}"
            )
        _check_seen(self.model, self.view)
        _check_common(self)
        if self.composition != "":
            from accountant.compositions import composition_named  # others are read without the accountant

            composition_named(self.composition)

    @classmethod
    def for_reports(cls, model: Model, source: str, *, view: View | None = None) -> ClaimForm:
        """Return a claim on each report; by default in the model's view: all actions, a message, or shuffled bits."""
        return cls(model, _USUAL_VIEWS[model] if view is None else view, ONE_REPORT, source)

    @property
    def is_none(self) -> bool:
        """True if the algorithm makes no privacy claim."""
        return self.source == NO_CLAIM.source

    def with_parameters(self, epsilon: float, delta: float = 0.0) -> Claim:
        """Return the claim with its numbers filled in."""
        return Claim(
            self.model,
            epsilon,
            delta,
            self.unit,
            self.neighbours,
            self.view.value,
            self.source,
            self.differ,
            self.composition,
            self.comment,
        )


@dataclass(frozen=True, slots=True)
class Claim:
    """An (epsilon, delta)-differential-privacy claim; `view` is the words of a `View`, the rest as in `ClaimForm`.

    Raises
    ------
    ParameterError
        If epsilon is not a positive finite number or delta is not a number in [0, 1); if the composition theorem is
        none, or can guarantee nothing of the kind; if the model is none of the
        three, the view not the words of a `View` of the model, the neighbours no `Neighbouring`, the unit none, or
        `differ` or the comment no text.
    """

    KEYS: ClassVar = {"neighbours": "relation", "neighbour_words": "neighbours"}  # in JSON
    DERIVED: ClassVar = ("neighbour_words",)
    READ_AS: ClassVar = {"unit": str}

    model: Model
    epsilon: float
    delta: float
    unit: Unit
    neighbours: Neighbouring
    view: str
    source: str = ""
    differ: str = ""
    composition: str = ""
    comment: str = ""

    def __post_init__(self) -> None:
        _check_one_of("model", self.model, _MODELS)
        _check_one_of("view", self.view, [view.value for view in View])
        _check_seen(self.model, View(self.view))
        _check_common(self)
        for name, value in (("epsilon", self.epsilon), ("delta", self.delta)):
            if isinstance(value, bool) or not isinstance(value, numbers.Real):
                raise ParameterError(f"{name} = {value!r}: must be a number")
        if not (self.epsilon > 0 and math.isfinite(self.epsilon)):
            raise ParameterError(
                f"epsilon = {self.epsilon!r}: a claim's epsilon must be a finite number above 0"
            )
        if not 0 <= self.delta < 1:
            raise ParameterError(f"delta = {self.delta!r}: a claim's delta must be in [0, 1)")
        if self.composition != "":
            _check_composition(self.composition, self.epsilon, self.delta)

    @property
    def neighbour_words(self) -> str:
        """Difference of two neighbouring data sets, in words."""
        if (
            isinstance(self.unit, OnePerson)
            and self.neighbours is Neighbouring.REPLACE_ONE
            and not self.differ
        ):
            return "all reports of one person replaced by any others"
        return self.differ or self.neighbours.description


def _check_one_of(name: str, value: object, known: Sequence[str]) -> None:
    if type(value) is not str or value not in known:
        listed = ", ".join(map(repr, known))
        raise ParameterError(f"{name} = {value!r}: must be one of {listed}{_suggestion(value, known)}")


def _check_seen(model: Model, view: View) -> None:
    if model not in view.models:
        known = " or ".join(map(repr, view.models))
        raise ParameterError(
            f"view = View.{view.name}: nobody sees {view.value} in the {model} model; it needs model={known}"
        )


def _check_composition(composition: str, epsilon: float, delta: float) -> None:
    """Refuse words that name no theorem, or one that cannot keep a claim of this epsilon and delta."""
    from accountant.budget import Budget
    from accountant.compositions import composition_named

    theorem = composition_named(composition)
    try:
        theorem.check(Budget(epsilon, delta))
    except ValueError as error:
        raise ParameterError(
            f"composition = {composition!r}: cannot keep ({epsilon:g}, {delta:g}): {error}"
        ) from None


def _check_common(claim: ClaimForm | Claim) -> None:
    object.__setattr__(claim, "unit", checked_unit(claim.unit))
    if not isinstance(claim.neighbours, Neighbouring):
        names = [f"Neighbouring.{relation.name}" for relation in Neighbouring]
        raise ParameterError(
            f"neighbours = {claim.neighbours!r}: must be a Neighbouring; one of {', '.join(names)}"
        )
    if type(claim.differ) is not str:
        raise ParameterError(
            f"differ = {claim.differ!r}: must say in words how two neighbouring data sets differ"
        )
    if type(claim.comment) is not str:
        raise ParameterError(f"comment = {claim.comment!r}: must be a text")


def _suggestion(value: Any, known: Sequence[str]) -> str:
    """Return the known word that may be meant, as the end of a sentence."""
    if not isinstance(value, str):
        return ""
    lower = {word.lower(): word for word in known}
    close = get_close_matches(value.lower(), lower, n=1)
    return f" (did you mean {lower[close[0]]!r}?)" if close else ""


NO_CLAIM = ClaimForm("central", View.ACTIONS, ONE_REPORT, "none: the learner makes no privacy claim")
"""The claim form of learners without a privacy claim, for a claim that a caller makes for them."""
