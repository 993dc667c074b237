"""A learner in production that can be stopped and resumed, exact to the last bit."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

import numpy as np

from accountant import Accountant
from accountant.stored_accountant import (
    appoint,
    ledger_of,
    randomness,
    restore_accountant,
    scope_state,
    set_randomness,
    undisturbed,
)
from accountant.stores.store_refusals import InUse
from algorithms.code_fingerprint import code_digests, fingerprint
from algorithms.durable.constructor_arguments import build_watched, differing
from algorithms.durable.run_place import (
    RunLocation,
    absolute_location,
    claim,
    location_name,
    pack,
    reopen,
    same_place,
    unpack,
)
from algorithms.durable.state import (
    Decoder,
    Encoder,
    StateError,
    attributes_of,
    known_as,
    own_modules,
    packages_of,
)
from dpwitness import in_place, library_in_place
from mechanisms import NoiseSource
from mechanisms.parameters import ParameterError

if TYPE_CHECKING:
    from accountant.stores.run_store import RunStore

LearnerType = TypeVar("LearnerType")


class CodeChanged(StateError):
    """A run was saved by other code than would go on with it.

    Attributes
    ----------
    code
        The word with which `DurableRun.load` accepts this change.
    """

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code


def _check_build(build: object) -> None:
    if not callable(build):
        raise ParameterError(f"build = {build!r}: must be a function that makes the learner on an accountant")


class DurableRun(Generic[LearnerType]):
    """A learner and the accountant it runs on, with `save` and `load`.

    A run is kept in a folder or a database, in a store (`docs/ledger.md`): the chained ledger and the records that wait
    for a release, to which every save adds its changes, and everything else that the run depends on (the learner's
    state, sums that wait for their release, the state of NumPy generators) as JSON and arrays, without pickle. A save
    is one transaction. A run that was saved and loaded gives, bit for bit, the actions and charges of one that never
    stopped; so does one that was stopped in the middle of a save: it is the run of that save or of the one before.

    **When to save.** At any time: a killed run may lose feedback, never a charge. From the first save on, the charge
    for a draw is written down before the draw returns, and `load` charges it. Only if the whole machine stops may
    charges since the last save be lost. A central learner reveals data only through its actions: so let it observe in a
    `turn`, and save at its end, before the next action is shown; a process that is killed in it leaves the run of the
    last save, and every action that was seen is paid for. Without turns, a batch that was released and not saved has
    paid, and cannot be released again where its records have nothing left. If a save fails (on a full disk, for
    example) or is interrupted (Ctrl-C, a signal), the next save repairs it.

    **Where to save.** The folder holds raw data (sums that wait for release): only its owner may read it (mode 700,
    files 600), and it belongs where raw data may be. From the first save or the load until `close` or the end of
    the process, the run holds the folder: no other process, and no fork of this one, can go on from it. A
    copy of the folder is refused until ``load(..., adopt=True)`` declares the original gone; an older copy is always
    refused: it lacks the charges since. Only the process that made or loaded the run
    releases through its accountant: in a fork of it, and after `close`, the gate is closed.

    The URL of a PostgreSQL database that is used for nothing else (``"postgresql+psycopg://user@host/run"``) takes the
    place of a folder where several machines may go on with the run: one at a time, as above, and the others wait
    (``load(..., wait=60)``) or get an error that names the holder. A process that lost its hold unnoticed (the server
    was restarted) and was followed by another is refused when it draws or saves.

    **Threads.** A learner is for one thread at a time. Where several use it, or one saves beside it, each holds `lock`
    around its whole turn (``with run.lock: act, observe, save``); `save` takes it itself. Without it, a save that
    falls into another thread's `observe` still loses no charge and no waiting record, but it has the learner's state in
    the middle of that round, and so has a run that goes on from there; the next save is complete again.

    **Cost.** A save takes time in proportion to its changes and to the learner's own arrays, however long the ledger
    is; and it waits for the disk once (`tests/benchmarks/bench_durable_run.py`). Loading verifies all of the ledger, as
    opening any store does.

    **Changed code.** A run is refused by a learner whose code (or that of any module of this library or of its own
    package that it uses, as `algorithms.code_fingerprint` defines it) differs from the code that saved the run;
    comments do not count, a new Python may. The ledger would stay right, but only the author knows if the state means
    the same to the new code. If it does, give `load` the word that the error names; it is for this one change.

    **Rules.** Limits beside the budget (`Rule`: for purposes, tenants, windows of days, groups) are kept with the
    ledger, and hold for the run that goes on; ``dpwitness ledger amend --rules`` changes them while it is closed. The
    purpose and tenant of its charges are the accountant's (``Accountant(..., purpose=..., tenant=...)``), or those of
    `spending_on` around the calls. A record that a rule has no room for is refused when its feedback comes, before
    anything is added or drawn. Several learners of one accountant, in one run, share its budget and rules; give each
    record to one of them.

    A linear learner goes on within its phase: `open_phase` is the phase that was being played.

    Parameters
    ----------
    build
        Function that makes the learner on an accountant. `load` calls it again, with the generators as they were the
        first time, so it has to make the same learner each time. Its errors reach the caller unchanged.
    accountant
        The gate of the learner.

    Attributes
    ----------
    learner, accountant
        The learner that was built, and the accountant.
    lock
        A re-entrant lock: while a thread holds it, no other thread does, and no save begins.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from accountant import Accountant, Budget
    >>> from algorithms import CUCBBatch, DurableRun
    >>> from algorithms.problems import TopK
    >>> def build(gate):
    ...     return CUCBBatch(TopK(arms=5, size=2), gate, epsilon=1.0, horizon=100)
    >>> folder = tempfile.TemporaryDirectory()
    >>> with DurableRun(build, Accountant(Budget(epsilon=1.0))) as run:
    ...     arms = run.learner.act()[0]
    ...     outcomes = run.accountant.private([1.0, 0.0], run.learner.feedback_domain, record="ann")
    ...     with run.turn():
    ...         run.learner.observe(outcomes)
    ...         run.save(folder.name + "/run")
    >>> with DurableRun.load(folder.name + "/run", build) as again:
    ...     bool((again.learner.act() == run.learner.act()).all())
    True
    >>> folder.cleanup()
    """

    def __init__(self, build: Callable[[Accountant], LearnerType], accountant: Accountant) -> None:
        _check_build(build)
        if not isinstance(accountant, Accountant):
            raise ParameterError(f"accountant = {accountant!r}: must be an Accountant, which charges the run")
        self.accountant = accountant
        self.lock = threading.RLock()
        before = randomness(accountant)
        self.learner, self._arguments = build_watched(build, accountant)
        if self.learner is None:
            raise ParameterError(f"build = {build!r}: returned None; must return the learner")
        # Draws in build are repeated by load; mostly there are none.
        self._drawn_from = None if randomness(accountant) == before else before
        self._built, self._code = _digests(self.learner, accountant)
        self._where: RunLocation | None = None
        self._store: RunStore | None = None
        self._tenure = appoint(accountant)
        self._process = os.getpid()
        self._closed = False

    def save(
        self, where: str | Path | None = None, *, keep: Mapping[str, bytes] = MappingProxyType({})
    ) -> None:
        """Write the run in one transaction: all of it or nothing, even if the process is stopped.

        Parameters
        ----------
        where
            The place of the run: a folder, made if it does not exist, or the URL of a PostgreSQL database.
            Needed the first time only; it stays the same.
        keep
            Values that `extra_state` shall return from this save on, each by a new name: answers that were given, say.
            They are in the same transaction, and not read again by later saves.

        Raises
        ------
        GateClosed
            If the accountant is closed: a restart must not open it again.
        StateError
            If the learner holds a value that is no plain data (the message names the attribute).
        InUse
            If another process has it open, or this one has forked or closed it.
        ParameterError
            If the place holds another run, parts of one, or anything else; if it is a file, or its own folder
            does not exist; if it is not the run's place; if its store was deleted, renamed or
            replaced since; or if a value is kept by one of these names already.
        OSError
            If it cannot be written: nothing has changed, and the next save tries again. After a first save that fails
            the run has no place.
        """
        if os.getpid() != self._process:
            raise InUse(
                f"this run is process {self._process}'s, of which this process ({os.getpid()}) is a fork"
            )
        if self._closed:
            raise InUse("this run was closed: load it again to go on")
        with self.lock:
            self._save(where, keep)

    def _save(self, where: str | Path | None, keep: Mapping[str, bytes]) -> None:
        self._leave_unkept()  # a first save may have been interrupted twice
        asked = None if where is None else absolute_location(where)
        if self._where is None and asked is None:
            raise ParameterError("where = None: must be given when a run is saved for the first time")
        if self._where is not None and asked is not None and not same_place(self._where, asked):
            raise ParameterError(
                f"where = {location_name(asked)!r}: this run is kept in {location_name(self._where)!r}"
            )
        self.accountant.check_open()
        try:
            if self._store is None:
                assert asked is not None
                self._where = asked
                self._store = claim(asked, self.accountant.terms())
            self._write(self._store, keep)
        except BaseException:
            self._leave_unkept()
            raise

    def _write(self, store: RunStore, keep: Mapping[str, bytes]) -> None:
        # A charge meanwhile would be in no save, and yet be removed from the journal.
        with undisturbed(self.accountant):
            notes = store.notes()
            encoder = Encoder(self.accountant, own_modules(self.learner), notes)
            state = {
                "learner": type(self.learner).__qualname__,
                "built": self._built,
                "arguments": self._arguments,
                "code": self._code,
                "drawn_from": self._drawn_from,
                "state": encoder.attributes(self.learner),
                **scope_state(self.accountant),
                **randomness(self.accountant),
            }
            ledger, packed = ledger_of(self.accountant), pack(state, encoder.arrays)
            store.save(ledger, self.accountant.assumptions, notes, packed, keep)
            store.follow(ledger)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Hold the run for a turn; none of the turn's draws is shown before they are saved or the turn has ended.

        The charge for a draw is not written by itself then, but with the save that ends the turn: a process that is
        killed in it, or closes the run, leaves the run of the last save, as if the turn had not begun, without charges.
        At the end of the turn, charges not yet saved are written.
        """
        with self.lock, nullcontext() if self._store is None else self._store.turn():
            yield

    def check_held(self) -> None:
        """Check that no other process has continued the run, in which case this process's state is out of date.

        Raises
        ------
        InUse
            If one has.
        """
        if self._store is not None:
            self._store.check_held()

    def extra_state(self, name: str) -> bytes | None:
        """Return the value that a save kept by this name; None if none was.

        Raises
        ------
        LedgerDamaged
            If it is not the value that was written.
        """
        return None if self._store is None else self._store.kept_as(name)

    def _leave_unkept(self) -> None:
        """Give back the place of a first save that did not end."""
        if self._store is None:
            self._where = None
        elif not self._store.has_saved:
            self._store.close()
            self._store = self._where = None

    @classmethod
    def load(
        cls,
        where: str | Path,
        build: Callable[[Accountant], LearnerType],
        *,
        noise: NoiseSource | np.random.Generator | None = None,
        code: str | None = None,
        adopt: bool = False,
        wait: float = 0.0,
    ) -> DurableRun[LearnerType]:
        """Read a run written by `save`, and go on where it stopped.

        Parameters
        ----------
        where
            The folder or database in which `save` keeps it.
        build
            As for the class.
        noise
            As for `Accountant`: OpenDP's samplers by default. For a run on a NumPy generator, one of the same kind;
            its state is set to the saved one. If the run was stopped after a release that is in no save, another source
            is needed.
        code
            The word that `CodeChanged` named, to go on with other code than the one that saved the run.
        adopt
            True to go on from a copy of a folder, or one that was moved to another disk or machine: a declaration that
            the original never will.
        wait
            Seconds to wait for it, if another process has it open; `math.inf` for as long as it takes.

        Raises
        ------
        StoreMoved
            If it is a copy, and not adopted: original and copy would spend the same budgets; or older than
            the charges since its last save.
        InUse
            If the run is open, in another process or in this one, and was not closed in time; the message names its
            holder.
        CodeChanged
            If the learner's code has changed; see the class.
        StateError
            If the learner that `build` makes is not the one that was saved, or has other parameters (the message
            names them).
        RandomnessMismatch
            If the run's noise came from a NumPy generator and `noise` is none, or another kind, or would be drawn again
            for other data.
        ClockAhead
            If a rule looks at the time, and the clock is far ahead of the last charge, until
            ``dpwitness ledger amend FOLDER --accept-clock`` says that it is right.
        ParameterError
            If there is no saved run, or a damaged one; or if `wait` is no time, or `build` no function.
        OSError
            If it does not exist or cannot be read.
        """
        _check_build(build)
        if not wait >= 0:
            raise ParameterError(f"wait = {wait!r}: must be a number of seconds, at least 0")
        at = absolute_location(where)
        store, kept = reopen(at, adopt=adopt, wait=wait)
        try:
            with _damage_of(location_name(at)):
                saved, arrays = unpack(kept.state)
                accountant = restore_accountant(
                    kept.terms, kept.ledger, kept.assumptions, saved, noise, stopped=kept.stopped
                )
                drawn_from = saved["drawn_from"]
                if drawn_from is not None:
                    set_randomness(accountant, drawn_from)
            run = cls(build, accountant)
            with _damage_of(location_name(at)):
                run._check_same(saved, code, location_name(at))
                run._drawn_from = drawn_from
                decoder = Decoder(accountant, arrays, own_modules(run.learner), kept.waiting.sums)
                decoder.restore(run.learner, saved["state"])
                set_randomness(accountant, saved)
            run._where, run._store = at, store
            store.follow(kept.ledger)
            return run
        except BaseException:
            store.close()
            raise

    def _check_same(self, saved: dict[str, Any], code: str | None, path: str) -> None:
        """Refuse unless the learner is of the class, the parameters and the code that were saved."""
        name = type(self.learner).__qualname__
        if saved["learner"] != name:
            raise StateError(f"{path}: holds a {saved['learner']}, but build made a {name}")
        changed = ", ".join(_differing(saved["code"], self._code))
        arguments = differing(saved.get("arguments", {}), self._arguments)
        parameters = ", ".join(arguments or _differing(saved["built"], self._built))
        if parameters:
            raise StateError(
                f"{path}: was saved by a {name} with other parameters than build gives it: they differ in {parameters}"
                + (f" (and the code of {changed} has changed)" if changed else "")
            )
        word = fingerprint(self._code)
        if changed and code != word:
            raise CodeChanged(
                f"{path}: was saved by other code: {changed} changed since. The ledger stays right; if the learner's "
                f"state means the same to the new code, go on with load(..., code={word!r}) (in the file of "
                f"`dpwitness serve`: accept_code = {word!r})",
                word,
            )

    def close(self) -> None:
        """Give the place free, for `load` to go on from the last save.

        This object cannot save any more, and its accountant releases nothing more: the budget would not remember it.
        """
        self._closed = True
        self._tenure.end("the run was closed: load it again to go on")
        if self._store is not None:
            self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


@contextmanager
def _damage_of(path: str) -> Iterator[None]:
    """Raise the errors that a damaged file leads to as one of its name."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError) as error:
        raise ParameterError(f"{path}: damaged run ({type(error).__name__}: {error})") from None


def _digests(learner: object, accountant: Accountant) -> tuple[dict[str, str], dict[str, str]]:
    """Return digests of all attributes of a learner that was just built, in effect its parameters, and of its code."""
    own = own_modules(learner)
    digests = {}
    modules = {kind.__module__ for kind in type(learner).__mro__}
    for name, value in attributes_of(learner):
        encoder = Encoder(accountant, own)
        text = json.dumps(encoder.value(value, name), sort_keys=True)
        digest = hashlib.sha256(text.encode())
        for key, array in sorted(encoder.arrays.items()):
            digest.update(f"{key}{array.dtype}{array.shape}".encode() + array.tobytes())
        digests[name] = digest.hexdigest()
        modules |= encoder.modules
    named_alike = in_place()  # packages of the user's with this library's names
    with library_in_place():
        code = code_digests(modules, packages_of(own))
    # Two modules that are known by one name keep their own.
    names = {name: known_as(name) for name in code}
    code = {name if names[name] in code else names[name]: digest for name, digest in code.items()}
    return digests, code | ({} if named_alike is None else named_alike.digests())


def _differing(one: dict[str, str], other: dict[str, str]) -> list[str]:
    return sorted(key for key in {**one, **other} if one.get(key) != other.get(key))
