"""Adversaries named on the command line: ``challenge(arm, number)``, or an object of a file."""

from __future__ import annotations

import ast
import inspect

from mechanisms.parameters import ParameterError
from verify.transcripts.adversary import Adversary, AdversaryError, ChallengeOnPlay
from verify.verification.resolve import load_object, names_file

_KNOWN = "challenge"


def named_adversary(words: str) -> Adversary:
    """Return the adversary of these words.

    Parameters
    ----------
    words
        ``"challenge(arm, number)"``, a `ChallengeOnPlay` with its parameters in order or by name, or
        ``"path/to/file.py:object"``, an adversary or a class of adversaries that takes no arguments.

    Raises
    ------
    AdversaryError
        If the words cannot be read, or the object is no adversary.
    SubjectError
        If there is no such file or object.
    """
    if names_file(words):
        found = load_object(words)
        if inspect.isclass(found):
            try:
                found = found()
            except TypeError as error:
                raise AdversaryError(f"{words}: could not be made without arguments: {error}") from error
        if not callable(getattr(found, "turn", None)) or not isinstance(
            getattr(found, "description", None), str
        ):
            raise AdversaryError(
                f"{words} is no adversary: must have a description and a method turn(actions, arms)"
            )
        adversary: Adversary = found  # type: ignore[assignment]
        return adversary
    try:
        call = ast.parse(words.strip(), mode="eval").body
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.func.id != _KNOWN:
            raise ParameterError("no call")
        values = [ast.literal_eval(each) for each in call.args]
        named = {each.arg: ast.literal_eval(each.value) for each in call.keywords if each.arg is not None}
        return ChallengeOnPlay(*values, **named)
    except (
        SyntaxError,
        ValueError,
        TypeError,
        RecursionError,
        MemoryError,
    ) as error:  # the last two of nesting
        raise AdversaryError(
            f"adversary = {words!r}: must be challenge(arm, number), as in 'challenge(0, 1)' or "
            f"'challenge(arm=0, number=1, others=1)', or path/to/file.py:object ({error})"
        ) from None
