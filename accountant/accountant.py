"""The gate that enforces a budget: it checks, charges, and only then samples."""

from __future__ import annotations

import functools
import io
import math
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt

from accountant.argument_checks import (
    checked_budget,
    checked_flag,
    checked_generator,
    checked_noise,
    checked_theorem,
    checked_trust,
    seed_assumptions,
)
from accountant.budget import Budget
from accountant.filters.composition_theorem import Composition
from accountant.gates.assuming import Assuming, declared_stability
from accountant.gates.closing import Tenure
from accountant.gates.gate import Mask
from accountant.gates.lineage import Movement, RecordId, Traced, TracedSums, influence_of
from accountant.gates.messages import DRAWN_BY, DRAWN_ELSEWHERE, checked_message, some_value
from accountant.gates.movement import with_rounding
from accountant.gates.private import Private
from accountant.gates.private_gate import PrivateGate
from accountant.gates.private_sums import PrivateSums
from accountant.gates.release import (
    DrawOutput,
    GateMechanism,
    check_owner,
    check_release,
    check_source,
    checked_mechanism,
    sample,
)
from accountant.ledger.accounts import Accounts
from accountant.ledger.entry import Entry, declassification, entries_to_dict
from accountant.ledger.quote import LONGEST, Quote, Reservation
from accountant.ledger.store import KeyUsed
from accountant.ledger.summary import Summary, summarise
from accountant.place import Place, calling_place
from accountant.plans.plan import Plan
from accountant.record_name import canonical_name
from accountant.refusals import ForeignValue, RecordWaiting, Refusal, SensitivityExceeded, TrustViolation
from accountant.rules.reach import check_reach
from accountant.rules.rule import Rule, checked_rules
from accountant.rules.scope import Scope
from accountant.terms import Terms
from accountant.trust import Trust, check_holders, check_shuffler
from mechanisms import (
    Assumption,
    Domain,
    DomainError,
    Mechanism,
    NoiseSource,
    PostProcessed,
    Sensitivity,
    assumptions_of,
)
from mechanisms.assumptions import class_assumptions, examination, examine_value, rebuilt, shared_copy
from mechanisms.domains.domain import own_copy
from mechanisms.domains.float_bounds import grid_of
from mechanisms.parameters import ParameterError, positive, quoted

if TYPE_CHECKING:
    from accountant.gates.private_sums import Awaited
    from accountant.stores.names import NameKey
    from accountant.stores.sql_store import SQLStore


class _Paid(NamedTuple):
    """A value that is charged, and may leave.

    Attributes
    ----------
    values
        The numbers of `private` when its entries were made: its records have paid, and no later ones are in it.
    private, where, place
        The value, the mask of the release, and its line.
    mechanism
        The gate's own copy; None for a value that is published as it is.
    """

    values: npt.NDArray[Any]
    private: Private | PrivateSums
    mechanism: Mechanism | None
    where: Mask | None
    place: Place


class Accountant(Assuming, PrivateGate, Accounts):
    """A gate for production: one lane, every release checked and charged before it is sampled.

    It guarantees for any adaptive code behind it that no record loses more than `budget`: a release that would exceed
    it is refused, and a refusal charges and samples nothing.
    Checking and charging are one step for all users of the ledger, and no record enters the value in between. An
    accountant cannot be copied, and releases nothing in a fork of its process: each copy would draw the same noise.

    Its unchecked assumptions are in `assumptions`: that domains, mechanisms, noise sources and theorems of users and
    ``map(..., stability=...)`` are as they declare, that functions given to `Private.map` depend on nothing but
    their argument, and that the noise of a given generator is not drawn elsewhere; ``strict=True`` refuses them.
    Rounding is no assumption: values are rounded to a grid on which sums are exact (`mechanisms.domains.float_bounds`),
    and a release is refused if floating point could move it by more than 1e-6 of its mechanism's sensitivity
    (`RoundingExceeded`).

    Parameters
    ----------
    budget
        The most that each record may lose in total.
    composition
        The theorem that adds up losses; basic composition by default. All of them hold for mechanisms that
        are chosen on the way.
    plan
        Instead of a composition: the releases that every record will take part in. The run is held to it, and gets
        the tight numbers that need it (see `guarantee`).
    trust
        `Trust.LOCAL` refuses releases that hold more than one record, `Trust.SHUFFLE` all but sums of shuffled
        messages.
    noise
        The noise source. By default OpenDP's floating-point-safe samplers; pass a `numpy.random.Generator` for
        reproducible tests and simulation: an adversary that draws the same noise, from the same seed or through
        another accountant, can subtract it, so that there is none is an assumption. The source is on the record. A
        strict accountant takes secure sources only.
    seed
        Seed of `random`, the data-independent randomness of the learner's own draws.
    strict
        True to refuse, before anything is charged, releases that rest on unchecked assumptions, and noise that is not
        secure.
    store
        The store of the ledger: memory by default. A file's name, ``"ledger.db"``, makes or opens an SQLite database
        in which every charge is on the disk before anything is sampled, and which several accountants, threads and
        processes may share, each with its own `Accountant`; see `docs/ledger.md`.
    rules
        Limits beside the budget, which is the total of every record: for purposes, tenants, any so many days, groups
        (`Rule`). The purpose and tenant of a release are set around it, by `spending_on`. A store keeps the rules that
        it was made with until ``dpwitness ledger amend --rules`` changes them; None for those of the store.
    purpose, tenant
        The purpose and the tenant of its charges, where `spending_on` gives none.
    names
        A file that holds a key, or ``"env:VARIABLE"``: the store holds no names of records, but their HMAC-SHA256 under
        it. A store is made so, or not; without its key, or with another, nothing is spent.

    Attributes
    ----------
    awaited
        The forms of release, without records, for which values were admitted to wait in sums, each with how often.

    Raises
    ------
    ParameterError
        If a parameter is of another kind, a composition and a plan are given, the theorem can guarantee nothing
        under this budget, or it is strict and its noise source is not secure.
    accountant.stores.store_refusals.StoreRefused
        If the store has other terms, is a copy, was restored, or does not fit together.
    AssumptionRefused
        If it is strict and its theorem, its plan, its noise source or its own class rests on an unchecked assumption.

    Examples
    --------
    >>> import numpy as np
    >>> from mechanisms import Interval, Laplace
    >>> accountant = Accountant(Budget(epsilon=1.0), noise=np.random.default_rng(0))
    >>> share = Interval(0, 1)
    >>> value = accountant.private([0.4], share, record="user-17")
    >>> published = accountant.release(Laplace.for_epsilon(0.25, sensitivity=share.sensitivity), value)
    >>> str(accountant.remaining_spend("user-17"))
    'epsilon = 0.75, neighbours: replace one'
    """

    lanes = 1
    _random: np.random.Generator
    _refused: Refusal | None = None

    def __init__(
        self,
        budget: Budget,
        *,
        composition: Composition | None = None,
        plan: Plan | None = None,
        trust: Trust = Trust.CENTRAL,
        noise: NoiseSource | np.random.Generator | None = None,
        seed: int | None = None,
        strict: bool = False,
        store: str | Path | SQLStore | None = None,
        rules: Sequence[Rule] | None = None,
        purpose: str | None = None,
        tenant: str | None = None,
        names: str | Path | NameKey | None = None,
    ) -> None:
        terms = Terms(
            checked_budget(budget),
            checked_theorem(composition, plan),
            checked_trust(trust),
            checked_flag("strict", strict),
        )
        terms.composition.check(terms.budget)
        noise, generator = checked_noise(noise, strict=terms.strict), checked_generator(seed)
        given = None if rules is None else checked_rules(rules, terms.composition)
        check_reach(given or (), terms.composition, terms.budget)
        spends_on = Scope(purpose, tenant)
        opened = _open_store(store, terms, given, names)
        super().__init__(terms.budget, terms.composition, opened, given or (), spends_on)
        self._trust = terms.trust
        self._noise = noise
        self._random = generator
        self._owned: dict[int, GateMechanism] = {}  # by the identity of the mechanism that was given
        self._reserving = threading.Lock()
        self.awaited: set[tuple[Entry, int]] = set()
        self._tenure = Tenure()
        self.strict = terms.strict
        if opened is not None:
            super().assume(*opened.assumptions)
            if opened.closed is not None:  # a restart must not open a gate again
                super().close(*opened.closed)
        self.assume(
            *class_assumptions(type(self)),
            *assumptions_of((budget, self._composition, self._noise)),
            *seed_assumptions(self._noise),
        )

    @property
    def trust(self) -> Trust:
        """The trust model: the parties that see raw values."""
        return self._trust

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "an accountant cannot be copied or pickled: give each process one of its own on the same store"
        )

    # --- the gate --------------------------------------------------------------------------------

    def private(self, values: npt.ArrayLike, domain: Domain, record: RecordId) -> Private:
        """Let one record's data in, checked against its domain; see `Gate.private`.

        Raises
        ------
        ParameterError
            If `record` is no name (`canonical_name`), or `values` hold more than one lane.
        DomainError
            If a value lies outside the domain, or is infinite.
        """
        self.check_open()
        if isinstance(domain, type) or not hasattr(domain, "check"):
            raise ParameterError(
                f"domain = {quoted(domain)}: must be a domain, such as Interval(0, 1) or Box(0, 1, size) (an instance)"
            )
        domain, assumptions = examine_value(domain)
        if assumptions:
            self.assume(*assumptions)
        record = canonical_name(record)
        given = own_copy(values, "values")
        grid = grid_of(domain)
        array = grid.onto(np.array(domain.check(given, "values"))).reshape(1, 1, -1)
        hashable: Any = domain
        influence = influence_of(hashable)
        if math.inf in influence.widths and not np.isfinite(array).all():
            raise DomainError("values hold an infinite number: must be finite, also in an unbounded domain")
        if array.shape[-1] != len(influence.widths):
            raise ParameterError(
                f"values of shape {given.shape}: an accountant has one lane, so the shape must be "
                f"{domain.shape} or {(1, *domain.shape)}"
            )
        if self._tape is not None:
            self._tape.note_entry(record, array)
        return Private(self, array, Traced({record: influence}, grid.bounds), domain=domain)

    def sums(self, size: int) -> PrivateSums:
        """Open `size` running private sums."""
        return PrivateSums(self, 1, size, TracedSums(size))

    def release(
        self,
        mechanism: Mechanism,
        private: Private | PrivateSums,
        where: Mask | None = None,
        *,
        request: str | None = None,
    ) -> npt.NDArray[Any]:
        """Check, charge, then sample; see `Gate.release`.

        If the mechanism itself fails after all checks, the charge stands: noise may have been drawn. One that is not
        this library's own closes the gate then: whether it fails may depend on the value.

        Parameters
        ----------
        mechanism, private, where
            As `Gate.release`.
        request
            A key of the caller's, never used for anything else: of all releases with this key one is charged, and all
            return the same outputs, also after a crash and in other processes on the same store: a function that
            follows the mechanism (``mechanism >> function``) computes them from the one stored draw, in each. If
            `reserve` has charged for it already, that is the charge, and it is final from here on. If the draw fails
            or is interrupted, the key is used up.

        Raises
        ------
        ForeignValue
            If the value is not private, or belongs to another gate.
        ParameterError
            If the mask is not boolean or not of the value's shape, or the request's key was used for another release or
            a reservation that was given back, or the noise source is secure and the mechanism has no secure sampler.
        TrustViolation
            Under `Trust.LOCAL`, if the released value holds more than one record; under `Trust.SHUFFLE`, if it is no
            sum of messages of single records that leaves through a shuffler of all of them.
        SensitivityExceeded
            If a record moves the value further than the mechanism is calibrated for, or in another metric.
        TheoremMissing
            If the composition theorem has no cost for the mechanism.
        BudgetExceeded
            If a record cannot pay.
        """
        place = calling_place()
        with self._charging:
            own, private, where = check_release(self, mechanism, private, where, self._noise)
            entries = self._entries(own, private, where, place)
            paid = _Paid(_copy_values(private), private, own.mechanism, where, place)
            if own.examination is None:
                self._assume_for(own.assumptions)
        receipt = self._pay(entries, place, request=request)
        return self._publish(paid) if request is None else self._answer(paid, request, receipt.answer)

    def receive(
        self, mechanism: Mechanism, message: npt.ArrayLike, domain: Domain, record: RecordId
    ) -> npt.NDArray[Any]:
        """Charge a message that a record's own device has drawn, and let it in: a release without the sampling.

        The record pays as for `release`. That the device drew the message through the mechanism is nothing
        that an accountant can check: it is in `assumptions`.

        Parameters
        ----------
        mechanism
            The mechanism that the device was asked to draw the message through.
        message
            The message.
        domain
            The domain of the record's value, which stays on the device.
        record
            The record of the device.

        Returns
        -------
        ndarray
            The message as an output of the mechanism, shape (1, n).

        Raises
        ------
        ParameterError
            If the mechanism outputs nothing of the kind.
        AssumptionRefused
            If the accountant is strict.
        TrustViolation, SensitivityExceeded, TheoremMissing, BudgetExceeded
            As `release`.
        """
        place = calling_place()
        private = self.private(some_value(domain), domain, record)
        with self._charging:
            own, given, _ = check_release(self, mechanism, private, None)
            outputs = checked_message(own.mechanism, message, given.shape)
            entries = [entry._replace(note=DRAWN_BY) for entry in self._entries(own, given, None, place)]
            self.assume(*own.assumptions, DRAWN_ELSEWHERE)
        self._pay(entries, place)
        return outputs

    def _answer(self, paid: _Paid, request: str, answer: bytes | None) -> npt.NDArray[Any]:
        """Publish a value as `_publish` does; a request with a stored answer is not drawn again.

        Parameters
        ----------
        answer
            The stored answer of the request, if one is known: its outputs, or the draw from which a function computes
            them.
        paid, request
            As for `_publish`.
        """
        if answer is not None and not answer.startswith(_DRAW):
            return _decode_answer(answer, request)
        outputs = self._publish(paid, request, answer)
        if type(paid.mechanism) is PostProcessed:
            return outputs
        return self._store_answer(request, _encode_outputs(outputs))

    def _store_answer(self, request: str, answer: bytes) -> npt.NDArray[Any]:
        """Store the answer of a request and return its outputs; those of the stored one if there is another."""
        with self._bookkeeping:
            return _decode_answer(self._ledger.keep_answer(request, answer), request)

    def _assume_for(self, assumptions: Sequence[Assumption]) -> None:
        """Keep the assumptions of a release, before it is charged."""
        self.assume(*assumptions, *examine_value(self._noise)[1])

    def _publish(
        self, paid: _Paid, request: str | None = None, answer: bytes | None = None
    ) -> npt.NDArray[Any]:
        """Let a value out, the only way, when it has been paid for: draw the mechanism that was charged.

        Parameters
        ----------
        paid
            The value.
        request
            Its key, which is used up if this fails before a draw is stored: the draw may have been seen, and a retry
            would show another one.
        answer
            The stored draw of the request, if one is known.
        """
        values, private, mechanism, where, place = paid
        through = None
        if request is not None and type(mechanism) is PostProcessed:
            through = _stored_draw(functools.partial(self._store_answer, request), answer)
        try:
            with self._charging:
                if self._tape is None:
                    return self._draw_outputs(values, where, through, mechanism)
                draw = functools.partial(self._draw_outputs, values, where, through)
                return self._tape.answer_release(mechanism, private, where, place, draw)
        except BaseException:  # Ctrl-C, too
            if request is not None:
                with self._bookkeeping:
                    self._ledger.keep_answer(request, _FAILED)
            raise

    def _draw_outputs(
        self,
        values: npt.NDArray[Any],
        where: Mask | None,
        through: DrawOutput | None,
        mechanism: Mechanism | None,
    ) -> npt.NDArray[Any]:
        if mechanism is None:
            return np.array(values)
        return sample(self, mechanism, values, where, self._noise, through=through)

    def admit(self, releases: Sequence[Awaited], sums: Sequence[TracedSums]) -> None:
        """Refuse a value that is to wait in `sums` if its records cannot pay for its releases, or wait there already.

        Parameters
        ----------
        releases
            The releases to come: the mechanism, the value or a part of it, and how often.
        sums
            The sums in which it is to wait.

        Raises
        ------
        RecordWaiting
            If a record is in the sums.
        ForeignValue, ValueError, TrustViolation, SensitivityExceeded, TheoremMissing, BudgetExceeded
            As `release`.
        """
        place = calling_place()
        asked: list[tuple[Entry, int]] = []
        for mechanism, private, times in releases:
            own, given, _ = check_release(self, mechanism, private, None, self._noise)
            self.assume(*own.assumptions)
            assert isinstance(given._provenance, Traced)
            for held in sums:
                waiting = held.find_waiting(given._provenance)
                if waiting is not None:
                    raise RecordWaiting(waiting, place)
            asked += self._entries_of_waiting(own.mechanism, given._provenance, times, sums, place)
            asked += [(entry, times) for entry in self._entries(own, given, None, place, leaves=False)]
        with self._charging:
            if len(self.awaited) < _MOST_AWAITED:
                self.awaited.update((entry._replace(records=()), times) for entry, times in asked)
            entries = [
                entry._replace(charge=self._units.repeated(entry.charge, times)) for entry, times in asked
            ]
            self._check_budget(entries, place)

    def _entries_of_waiting(
        self, mechanism: Mechanism, origin: Traced, times: int, sums: Sequence[TracedSums], place: Place
    ) -> list[tuple[Entry, int]]:
        """Return the largest charges of records that wait in the sums and are protected together with a value's.

        A rule for groups that has room for each of them by itself may have none for all, and would stop the release.
        """
        together = self._ledger.group_mates(tuple(origin.influences), sums)
        mates = [mate for mate in together if mate not in origin.influences]
        if not mates:
            return []
        moved = mechanism.sensitivity
        charge = self._charge(mechanism, moved, place)
        return [(Entry(mechanism, moved, charge, tuple(mates), place, self._noise.name), times)]

    def check_source(self, mechanism: Mechanism) -> None:
        """Raise `ValueError` if the noise source is secure and cannot draw the mechanism's noise."""
        check_source(mechanism, self._noise)

    def price(self, mechanism: Mechanism, private: Private | PrivateSums, where: Mask | None = None) -> Quote:
        """Check a release and return its charge to each record; nothing is charged or sampled.

        Raises
        ------
        ForeignValue, ValueError, TrustViolation, SensitivityExceeded, TheoremMissing
            As `release`.
        """
        place = calling_place()
        own, private, where = check_release(self, mechanism, private, where, self._noise)
        entries = self._entries(own, private, where, place)
        refused = self._first_refused(entries, place)
        kept, payer = None if where is None else where.copy(), None if refused is None else refused.record
        return Quote(self, own, private, kept, tuple(entries), place, payer, own.assumptions)

    def remaining_releases(
        self, mechanism: Mechanism, record: RecordId, *, sensitivity: Sensitivity | None = None
    ) -> float:
        """Return the largest number of further releases through one mechanism that a record can pay for.

        It is found by the same check that refuses releases: by the budget under the theorem or plan in use, and by
        every rule that counts charges in this scope (`spending_on`). Charges by others meanwhile lower it.

        Parameters
        ----------
        mechanism
            The mechanism of the releases.
        record
            The record; it may be new.
        sensitivity
            The record's sensitivity in each of them; by default the one that the mechanism is calibrated for.

        Returns
        -------
        float
            A whole number; inf if a trillion fit. After a deadline (`accountant.deadline`) at least so many fit.

        Raises
        ------
        ParameterError
            If the mechanism is none, or `record` is no name.
        SensitivityExceeded, TheoremMissing, PurposeRefused, AssumptionRefused
            As `release`: no number of them would pass.

        Examples
        --------
        >>> from accountant import Plan, PlanStep
        >>> from mechanisms import Laplace
        >>> noise = Laplace(scale=50.0)
        >>> accountant = Accountant(Budget(2.0, delta=1e-6), plan=Plan((PlanStep(noise, count=50),)))
        >>> accountant.remaining_releases(noise, record="user-17")
        50
        """
        place = calling_place()
        self.check_open()
        own, assumptions = self.examine(checked_mechanism(mechanism))
        if self.strict:
            self.assume(*assumptions)
        payer, moved = canonical_name(record), own.sensitivity if sensitivity is None else sensitivity
        [found] = self.remaining_charges([self._charge(own, moved, place)], payer)
        return found

    def reserve(
        self, quote: Quote, *, request: str | None = None, seconds: float | None = None
    ) -> Reservation:
        """Charge a quote, so that it can be released; an error from here on keeps the charge.

        Parameters
        ----------
        quote
            The result of `price`.
        request
            A key of the caller's, never used for anything else: of all reservations with this key one is charged, and
            ``release(..., request=key)`` of the same mechanism and records draws it, once for all, also after a crash
            and in other processes on the same store.
        seconds
            After so long without a draw the charge is given back, at the next use of the ledger, and nothing is drawn
            for it any more: so that a process that dies keeps no record's budget. By the ledger's clock; a wrong one
            ends a reservation early or late, and that is all. A reservation that a `request` has made keeps its first
            deadline. None: it stays until it is drawn or given back.

        Raises
        ------
        ForeignValue
            If the quote is another accountant's.
        ParameterError
            If the private sums behind the quote have changed since, or the request's key was used for something else or
            a reservation that was given back, or `seconds` is not positive, or more than 10^9.
        BudgetExceeded
            If a record cannot pay.
        """
        place = calling_place()
        self.check_open()
        lasts = None if seconds is None else _milliseconds(seconds)
        if quote._accountant is not self:
            raise ForeignValue("this quote belongs to another accountant", place)
        with self._charging:
            self._check_unchanged(quote)
            self._assume_for(quote.assumptions)
        receipt = self._pay(quote.entries, place, hold=True, request=request, lasts=lasts)
        return Reservation(self, quote, receipt, request)

    def _take_back(self, position: int) -> None:
        with self._bookkeeping:
            self._ledger.give_back(position)

    def _check_unchanged(self, quote: Quote) -> None:
        now = self._entries(quote._own, quote._private, quote._where, quote.place)
        if tuple(now) != quote.entries:
            raise ParameterError("the private value has changed since it was priced: price it again")

    def _draw(self, quote: Quote, position: int, request: str | None) -> npt.NDArray[Any]:
        self.check_open()
        with self._charging:
            self._check_unchanged(quote)
            values = _copy_values(quote._private)
        with self._bookkeeping:
            self._ledger.draw(position)
        paid = _Paid(values, quote._private, quote._own.mechanism, quote._where, quote.place)
        return self._publish(paid) if request is None else self._answer(paid, request, None)

    def declassify(
        self, private: Private | PrivateSums, reason: str, *, shown: bool = True
    ) -> npt.NDArray[Any]:
        """Publish a value as it is; every record in it pays epsilon = infinity.

        Raises
        ------
        ForeignValue
            If the value is not private, or belongs to another gate.
        ParameterError
            If `reason` is not a text.
        BudgetExceeded
            Unless the budget is unlimited.
        """
        place = calling_place()
        if not isinstance(reason, str) or not reason.strip():
            raise ParameterError(f"reason = {reason!r}: must say where and why the value is published")
        self.check_open()
        check_owner(self, private)
        with self._charging:
            movements = self._movements(None, private, None, place)
            records = [record for movement in movements for record in movement.records]
            entries = [declassification(records, place, reason, self.composition.infinite_spend)]
            values = _copy_values(private)
            self._assume_for(())
        self._pay(entries, place)
        return self._publish(_Paid(values, private, None, None, place))

    def check_stability(self, values: npt.NDArray[Any], results: npt.NDArray[Any], stability: float) -> None:
        """Accept the declared stability, on record: one data set alone cannot contradict it."""
        self.assume(declared_stability(stability, calling_place()))

    def assume(self, *assumptions: Assumption) -> None:
        """Keep assumptions that a release, a transformation or the gate itself rests on; see `Gate.assume`.

        Raises
        ------
        AssumptionRefused
            If the accountant is strict.
        """
        if assumptions:
            with self._charging:
                known = self.assumptions
                super().assume(*assumptions)
                new = self.assumptions[len(known) :]
            if new:
                with self._bookkeeping:
                    self._ledger.note_assumptions(new)

    def close(self, why: str, where: Place) -> None:
        """Shut the gate, and the store that it releases from; the first reason stays."""
        first = self.closure is None
        super().close(why, where)
        if first:
            self._ledger.note_closed(why, where)

    # --- checks ----------------------------------------------------------------------------------

    @property
    def refused(self) -> Refusal | None:
        """The first release that was refused for a record's effect on it, or for its audience; other gates draw it."""
        return self._refused

    def examine_mechanism(self, mechanism: Mechanism) -> GateMechanism:
        """Return a private copy of a mechanism, and the assumptions of its releases.

        An examination holds as long as the mechanism and the noise source hold the same objects, and their classes
        are as they were imported. With a tape none is reused: it sees the mechanism, and could write into it.
        """
        known = self._owned.get(id(mechanism))
        if (
            known is not None
            and (seen := known.examination) is not None
            and seen.value[0] is mechanism
            and seen.value[1] is self._noise
            and seen.unchanged()
            and self._tape is None
        ):
            return known
        checked = checked_mechanism(mechanism)
        seen = None if self._tape is not None else examination((checked, self._noise))
        copy = None if seen is None else shared_copy(checked, seen.key[0])
        if copy is None:
            shown, assumptions = self.examine(checked)
            drawn = shown if assumptions or self._tape is not None else rebuilt(checked)
            return GateMechanism.of_mechanism(drawn, assumptions, shown=shown)
        if len(self._owned) >= _MOST_OWNED:
            self._owned.clear()
        found = GateMechanism.of_mechanism(rebuilt(checked), shown=copy.value, examination=seen)
        self._owned[id(checked)] = found
        return found

    def _entries(
        self,
        own: GateMechanism,
        private: Private | PrivateSums,
        where: Mask | None,
        place: Place,
        *,
        leaves: bool = True,
    ) -> list[Entry]:
        """Return the entries of a release, after all checks but that of the budget.

        A value that waits in sums (not `leaves`) need not be a shuffler's output.
        """
        mechanism = own.shown
        try:
            movements = self._movements(mechanism, private, where, place, leaves=leaves)
            origin: Any = private._provenance
            if own.whole_values and private._values.dtype.kind not in "iu" and not origin.has_integers(where):
                raise SensitivityExceeded(
                    f"{type(mechanism).__name__} takes whole numbers, and the released values are not known to be "
                    "whole: let them in through Integers or OneHot, and scale them by whole numbers only",
                    place,
                )
            rounding = origin.rounding(where)
            entries = []
            for sensitivity, records, way in movements:
                if rounding:
                    sensitivity = with_rounding(sensitivity, rounding, mechanism.sensitivity, place)
                known = own.charges.get(id(sensitivity))
                if known is None or known[0] is not sensitivity:
                    known = sensitivity, self._charge(mechanism, sensitivity, place)
                    if len(own.charges) < _MOST_CHARGES:
                        own.charges[id(sensitivity)] = known
                entries.append(
                    Entry(mechanism, sensitivity, known[1], tuple(records), place, self._noise.name, way)
                )
        except (SensitivityExceeded, TrustViolation) as refusal:
            if self._refused is None:
                self._refused = type(refusal)(refusal.message, refusal.where)  # without what its frames hold
            raise
        return entries

    def _movements(
        self,
        mechanism: Mechanism | None,
        private: Private | PrivateSums,
        where: Mask | None,
        place: Place,
        *,
        leaves: bool = True,
    ) -> list[Movement]:
        """Return the movements of a value that is to leave through a mechanism, if the trust model permits it."""
        origin = private._provenance
        if type(origin) is not Traced and type(origin) is not TracedSums:
            raise ForeignValue("this value did not enter through `private`: it has no account", place)
        movements = origin.movements(where)
        if self._trust is Trust.LOCAL:
            check_holders(sum([len(movement.records) for movement in movements]), place)
        elif self._trust is Trust.SHUFFLE and leaves:
            messages = origin.records(where) if isinstance(origin, TracedSums) else None
            check_shuffler(mechanism, messages, place)
        return movements

    # --- summary and durable state ---------------------------------------------------------------

    def summary(self) -> Summary:
        """Summarise the charges by release and record, the worst record and the remaining budget."""
        return summarise(self._ledger, self.budget, self.composition, self.trust, self.assumptions)

    def terms(self) -> Terms:
        """Return the terms of charges: budget, composition theorem, trust and strictness."""
        return Terms(self.budget, self.composition, self.trust, self.strict)

    def to_dict(self) -> dict[str, Any]:
        """Return the whole ledger as JSON-able data, exact to the last bit; for reading."""
        return {
            **self.terms().to_dict(),
            "ledger": entries_to_dict(self._ledger.entries),
            "assumptions": [[each.kind.value, each.message, each.where] for each in self.assumptions],
            "closed": None if self.closure is None else [self.closure[0], *self.closure[1]],
        }

    def export(self, path: str | Path) -> None:
        """Write the ledger to a JSON file for audits: complete or absent, and only its owner can read it.

        It names records, and is no store to spend from: `accountant.stores.imports` makes one of it, once.

        Raises
        ------
        ParameterError
            If the path is a folder, or its own folder does not exist.
        """
        from accountant.stores.export import export_ledger

        export_ledger(self._ledger, self.terms(), self.assumptions, self.closure, path)


_MOST_OWNED = 1024
"""The most mechanisms of which the examination is stored."""
_MOST_AWAITED = 1024
"""The most forms of release in `awaited`."""
_MOST_CHARGES = 64
"""The most movements for which the charge is stored with the mechanism."""


def _milliseconds(seconds: float) -> int:
    if positive("seconds", seconds) > LONGEST:
        raise ParameterError(
            f"seconds = {seconds!r}: must be at most {LONGEST:g}; leave it out for no deadline"
        )
    return math.ceil(1_000 * float(seconds))


_ZERO = np.zeros(())  # a number, or an array with an axis, takes longer to add


def _copy_values(private: Private | PrivateSums) -> npt.NDArray[Any]:
    """Return a copy of a value's numbers, zeros without sign: that would reveal records that move nothing."""
    values: npt.NDArray[Any] = private._values[0]
    return values + (_ZERO if values.dtype.char == "d" else 0)


def _encode_outputs(outputs: npt.NDArray[Any]) -> bytes:
    file = io.BytesIO()
    np.save(file, outputs, allow_pickle=False)
    return file.getvalue()


_FAILED = b"failed"
"""The stored answer to a request if its draw failed; no array has these bytes."""


_DRAW = b"draw:"
"""The beginning of a stored draw, from which a function that follows computes the outputs."""


def _stored_draw(keep: Callable[[bytes], npt.NDArray[Any]], answer: bytes | None) -> DrawOutput:
    """Return a sampler that stores each draw before it returns it, or returns the stored one and draws nothing."""

    def draw(mechanism: Mechanism, value: npt.NDArray[Any], noise: Any) -> npt.NDArray[Any]:
        return keep(
            _DRAW + _encode_outputs(np.asarray(mechanism.release(value, noise))) if answer is None else answer
        )

    return draw


def _decode_answer(answer: bytes, request: str | None) -> npt.NDArray[Any]:
    if answer == _FAILED:
        raise KeyUsed(
            f"request = {request!r}: its draw failed after it was charged, and may have been seen; another release "
            "needs a key of its own"
        )
    outputs: npt.NDArray[Any] = np.load(io.BytesIO(answer.removeprefix(_DRAW)), allow_pickle=False)
    return outputs


def _open_store(
    store: object, terms: Terms, rules: Sequence[Rule] | None, names: str | Path | NameKey | None
) -> SQLStore | None:
    if store is None:
        if names is not None:
            raise ParameterError(
                "names: a ledger in memory holds records by their names: give store=, or leave it out"
            )
        return None
    from accountant.stores.opening import open_given  # loads SQLAlchemy, which takes 0.2 s

    return open_given(store, terms, rules, names)
