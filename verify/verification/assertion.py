"""`assert_dp`: a privacy claim as an assertion, for other people's test suites."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

from mechanisms import Domain
from mechanisms.numerics.printed_numbers import as_given
from mechanisms.parameters import DPWitnessError
from verify.findings.finding import Finding, FindingKind
from verify.findings.printable import printable
from verify.neighbouring.adjacency import Adjacency
from verify.verdict.result import Verification
from verify.verification.verification import verify

_REMARKS = frozenset(
    {
        FindingKind.FOREIGN_RANDOMNESS,
        FindingKind.IGNORES_GENERATOR,
        FindingKind.FLOATING_POINT,
    }
)
"""Kinds of findings that block a certificate, but are no evidence against the claim."""


class DPViolation(DPWitnessError, AssertionError):
    """A privacy claim did not hold up.

    Attributes
    ----------
    verification
        The whole result.
    """

    def __init__(self, message: str, verification: Verification) -> None:
        super().__init__(message)
        self.verification = verification

    def __str__(self) -> str:
        """Return the whole report: no value that it quotes is long."""
        return AssertionError.__str__(self)


def assert_dp(
    subject: object,
    *,
    epsilon: float,
    delta: float = 0.0,
    data: Domain | Adjacency | None = None,
    certified: bool = False,
    effort: str = "quick",
    seed: int = 0,
    **options: Any,
) -> Verification:
    """Assert that a subject is (epsilon, delta)-differentially private, up to the power of a test.

    A true claim is refuted with probability at most 1e-4 (`significance`); with the same seed, the result is the same.
    A false claim is refuted if the effort suffices: the violations that it could not have seen are in
    ``details["detection_floor"]`` of the result. The assertion also fails, for any claim, if the subject raises,
    returns NaN, or never ends, and if a replay shows that data flow around the mechanisms.

    The subject runs in the process of the tests, as all that pytest runs: one that ends its process ends them, and its
    changes of global state stay. With ``isolated=True`` it runs in a process of its own.

    Parameters
    ----------
    subject
        A function ``f(data, rng)`` or ``f(data, rng, lanes)`` (much faster), a mechanism, a learner class, or a name
        that `verify` knows.
    epsilon, delta
        The claim.
    data
        For functions: the neighbouring data sets, as `claimed` takes them; by default those of `claimed`.
    certified
        Whether the claim has to be proved too: only learners and mechanisms of this library can be.
    effort
        ``"quick"`` (about a second for a batched function), ``"default"`` or ``"thorough"``.
    seed
        The seed of all randomness.
    options
        Further options of `verify`, such as ``samples``, ``time_limit``, ``significance`` or ``problem``.

    Returns
    -------
    Verification
        The whole result.

    Raises
    ------
    DPViolation
        An `AssertionError` with the report: witness, findings, and pytest's command for the running test.
    ParameterError
        If the claim's numbers, the subject or an option are wrong.

    Examples
    --------
    >>> from mechanisms import Interval
    >>> def noisy(data, rng, lanes):
    ...     return data + rng.laplace(scale=0.5, size=lanes)
    >>> assert_dp(noisy, epsilon=2.0, data=Interval(0, 1), effort="quick").verdict
    'unproven'
    >>> assert_dp(noisy, epsilon=1.0, data=Interval(0, 1), effort="quick")
    Traceback (most recent call last):
        ...
    verify.verification.assertion.DPViolation: ...
    """
    __tracebackhide__ = True
    result = verify(
        subject, epsilon=epsilon, delta=delta, neighbours=data, effort=effort, seed=seed, **options
    )
    wrong = _complaint(result, certified=certified)
    if wrong is not None:
        raise DPViolation(f"{printable(wrong)}\n\n{_without_call(result)}\n{_test_again()}", result)
    return result


def _complaint(result: Verification, *, certified: bool) -> str | None:
    """Return why a verification fails the assertion, None if it does not."""
    claim = (
        f"{result.subject} is not ({as_given(result.claim.epsilon)}, {as_given(result.claim.delta)})-differentially "
        f"private"
    )
    if result.verdict == "refuted":
        return claim
    against = [finding for finding in result.findings if _is_against(finding)]
    if against:
        where = f" (at {against[0].where})" if against[0].where else ""
        return f"{result.subject} cannot be relied on: {against[0].message}{where}"
    if certified and result.verdict != "certified":
        return f"{result.subject} is not certified: {result.decision.reasons[0]}"
    return None


def _is_against(finding: Finding) -> bool:
    """Return True if this finding fails an assertion, as draws that are all the same do."""
    return finding.kind is FindingKind.DETERMINISTIC or (finding.failing and finding.kind not in _REMARKS)


def _without_call(result: Verification) -> Verification:
    """Return the result without the Python call that repeats it: neighbours may have no expression in Python."""
    witness = result.witness
    if witness is None or not witness.reproduce.startswith("verify("):
        return result
    return replace(result, witness=replace(witness, reproduce=""))


def _test_again() -> str:
    """Return pytest's own command for the running test; "" if pytest does not name that."""
    running = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" (")[0]
    return f"\nThis test alone: pytest {running!r}\n" if running else ""
