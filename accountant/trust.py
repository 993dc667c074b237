"""Trust models: the parties to which a record's owner entrusts the raw value."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from accountant.place import Place, calling_place
from accountant.refusals import TrustViolation
from mechanisms import Binomial, Mechanism
from mechanisms.parameters import ParameterError

_GATE = ("lanes", "private", "sums", "release")  # the members of a gate


class Trust(Enum):
    """The party that sees raw data.

    CENTRAL
        A server collects raw records; a released value may hold many of them.
    LOCAL
        No party; every released value is one user's message and holds exactly one record.
    SHUFFLE
        A shuffler, which forgets all senders. Values leave only as sums of messages, each of one record alone, through
        a mechanism whose noise is the random bits of exactly these clients (`Binomial` with ``clients``).
    """

    CENTRAL = "central"
    LOCAL = "local"
    SHUFFLE = "shuffle"


def check_gate(gate: object, model: str, learner: str) -> None:
    """Refuse to build a learner on an object that is no gate, or on a gate that does not trust the learner's model.

    Parameters
    ----------
    gate
        The object that the learner is built on; gates without a `trust` grant every one.
    model
        The trust model of the learner's claim: ``"central"``, ``"local"`` or ``"shuffle"``.
    learner
        Its name, for the message.

    Raises
    ------
    ParameterError
        If it is no gate.
    TrustViolation
        If the gate trusts less than the model needs: a learner of another model than ``"local"`` releases values that
        hold many records, and one of another model than ``"shuffle"`` knows no shuffler.
    """
    if isinstance(gate, type) or not all(hasattr(gate, name) for name in _GATE):
        raise ParameterError(f"gate = {gate!r}: must be a gate, such as an Accountant or a Simulation")
    trust = getattr(gate, "trust", None)
    if model != "shuffle" and trust is Trust.SHUFFLE:
        raise TrustViolation(
            f"{learner} works in the {model} model, without a shuffler: its gate's trust must not be Trust.SHUFFLE",
            calling_place(),
        )
    if model != "local" and trust is Trust.LOCAL:
        raise TrustViolation(
            f"{learner} works in the {model} model, where releases hold many records: its gate's trust must be "
            "Trust.CENTRAL, not Trust.LOCAL",
            calling_place(),
        )


def check_message(holders: int) -> None:
    """Refuse to add up, under `Trust.SHUFFLE`, a value of several records: a shuffler gets messages of one.

    Raises
    ------
    TrustViolation
        If the value holds several records: of a function of them no client could send its part.
    """
    if holders != 1:
        raise TrustViolation(
            f"a value that holds {holders} records was added to sums; under shuffle trust every message holds one",
            calling_place(),
        )


def check_holders(holders: int, place: Place) -> None:
    """Refuse to let out, under `Trust.LOCAL`, a value that holds more than one record.

    Raises
    ------
    TrustViolation
        If it does.
    """
    if holders > 1:
        raise TrustViolation(
            f"the released value holds {holders} records; under local trust every message holds one", place
        )


def check_shuffler(
    mechanism: Mechanism | None, messages: Sequence[Sequence[int | str]] | None, place: Place
) -> None:
    """Refuse to release, under `Trust.SHUFFLE`, a value that is no number of ones among shuffled bits.

    A shuffler's noise is the bits that its clients add to their messages: every released coordinate must add up one
    message of each of the mechanism's clients, and no others.

    Parameters
    ----------
    mechanism
        The mechanism of the release; None if the value is published as it is.
    messages
        The records of the messages that each coordinate adds up; None if the value is no sum.
    place
        The line.

    Raises
    ------
    TrustViolation
        If something else was to leave.
    """
    through = "no noise" if mechanism is None else type(mechanism).__name__
    clients = mechanism.clients if type(mechanism) is Binomial else None
    if clients is None:
        raise TrustViolation(
            f"a value was to leave through {through}; under shuffle trust values leave through a shuffler only: the "
            "mechanism of a ShuffledMean, or Binomial(..., clients=n)",
            place,
        )
    if messages is None:
        raise TrustViolation(
            "the released value is no sum of messages: under shuffle trust each record's is added to sums",
            place,
        )
    for sent in messages:
        if len(sent) != clients or len(set(sent)) != clients:
            raise TrustViolation(
                f"a released coordinate adds up {len(sent)} messages of {len(set(sent))} records, but the noise is the "
                f"bits of {clients} clients, who send one each",
                place,
            )
