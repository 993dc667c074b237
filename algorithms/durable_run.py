"""A learner in production that can be stopped and gone on with, bit for bit."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

import numpy as np

from accountant import Accountant
from accountant.durable import accountant_state, adopt_ledger, restore_accountant
from accountant.file_lock import InUse
from accountant.history import History
from accountant.journal import Journal
from algorithms.code_fingerprint import code_digests, fingerprint
from algorithms.run_folder import RunFolder
from algorithms.state import Decoder, Encoder, StateError, packages_of
from mechanisms import NoiseSource

LearnerType = TypeVar("LearnerType")


class CodeChanged(StateError):
    """A run was saved by other code than would go on with it.

    Attributes
    ----------
    code
        What `DurableRun.load` must be given to go on all the same.
    """

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code


class DurableRun(Generic[LearnerType]):
    """A learner and the accountant it runs on, with `save` and `load`.

    A run is kept in a folder: a journal of all charges and of who waits for a release, to which every save adds what
    is new, and everything else that the run depends on (the learner's state, sums that wait for their release, the
    state of NumPy generators) as JSON and arrays, without pickle. A run that was saved and loaded gives, bit for bit,
    the actions and charges of one that never stopped; so does one that was stopped in the middle of a save: it is
    the run of that save or of the one before.

    **When to save.** After each `observe`, before the next action is shown. What a central learner gives away, it
    gives away through its actions; so a crash before the save loses a round, and nothing that anybody saw is
    missing from the ledger. Saved less often, a crash forgets charges for actions that were shown. A local
    learner's messages are seen when they are sent: there, a message is sent when the run is saved. If a save fails (a
    full disk, say), show nothing until one has succeeded.

    **Where to save.** The folder holds raw data (sums that wait for release): only its owner may read it (mode 700,
    files 600), and it belongs where raw data may be. From the first save or the load until `close` or the end of the
    process, the run holds the folder's lock: no other process, and no fork of this one, can go on from it. From an
    older copy of the folder nobody may go on at all: it has forgotten what was spent since.

    **What it costs.** A save takes time in proportion to what is new and to the learner's own arrays, however much
    the ledger holds; and it waits for the disk three times (`tests/benchmarks/bench_durable_run.py`). Loading reads all
    of the journal.

    **Changed code.** A run is refused by a learner whose code (or that of any module of this library or of its own
    package that it uses) is not what saved the run; comments do not count, a new Python may. The ledger would stay
    right, but whether the state means the same to the new code only its author knows. If it does, give `load` the word
    that the error names; it stands for this one change.

    A linear learner's phase goes on where it was: `open_phase` is what was being played.

    Parameters
    ----------
    build
        Makes the learner on an accountant. `load` calls it again, so it has to give the same learner each time.
    accountant
        What the learner runs on.

    Attributes
    ----------
    learner, accountant
        The learner that was built, and the accountant.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from accountant import Accountant, Budget
    >>> from algorithms import CUCBBatchLeast, DurableRun
    >>> from algorithms.problems import TopK
    >>> def build(gate):
    ...     return CUCBBatchLeast(TopK(arms=5, size=2), gate, epsilon=1.0, horizon=100)
    >>> folder = tempfile.TemporaryDirectory()
    >>> with DurableRun(build, Accountant(Budget(epsilon=1.0))) as run:
    ...     arms = run.learner.act()[0]
    ...     outcomes = run.accountant.private([1.0, 0.0], run.learner.feedback_domain, record="ann")
    ...     run.learner.observe(outcomes)
    ...     run.save(folder.name + "/run")
    >>> with DurableRun.load(folder.name + "/run", build) as again:
    ...     bool((again.learner.act() == run.learner.act()).all())
    True
    >>> folder.cleanup()
    """

    def __init__(self, build: Callable[[Accountant], LearnerType], accountant: Accountant) -> None:
        self.accountant = accountant
        self.learner = build(accountant)
        self._built, self._code = _digests(self.learner, accountant)
        self._history = History(Journal())
        self._folder: RunFolder | None = None
        self._closed = False

    def save(self, folder: str | Path | None = None) -> None:
        """Write the run: all of it or nothing, whatever stops it when.

        Parameters
        ----------
        folder
            Where the run is to be kept: made if it does not exist. Needed the first time only; it stays the same.

        Raises
        ------
        GateClosed
            If the accountant is closed: a restart must not open it again.
        StateError
            If the learner holds something that is no plain data (the message names the attribute).
        InUse
            If another process has the folder open, or this one has forked or closed it.
        ValueError
            If the folder holds another run, is a file, or its own folder does not exist; or if it is not the one that
            the run is kept in.
        OSError
            If a file cannot be written: nothing has changed, and the next save tries again.
        """
        if self._closed:
            raise InUse("this run was closed: load it again to go on")
        if self._folder is None and folder is None:
            raise ValueError("folder=None: must be given when a run is saved for the first time")
        if self._folder is not None and folder is not None and not _same(self._folder.path, Path(folder)):
            raise ValueError(f"folder={str(folder)!r}: this run is kept in {str(self._folder.path)!r}")
        self.accountant.check_open()
        encoder = Encoder(self.accountant, type(self.learner).__module__, self._history)
        state = {
            "learner": type(self.learner).__qualname__,
            "built": self._built,
            "code": self._code,
            "state": encoder.attributes(self.learner),
            "accountant": accountant_state(self.accountant, self._history),
        }
        if self._folder is None:
            assert folder is not None
            self._folder = RunFolder.claim(Path(folder), self._history.journal)
        self._folder.write(state, encoder.arrays)

    @classmethod
    def load(
        cls,
        folder: str | Path,
        build: Callable[[Accountant], LearnerType],
        *,
        noise: NoiseSource | np.random.Generator | None = None,
        code: str | None = None,
    ) -> DurableRun[LearnerType]:
        """Read a run written by `save`, and go on where it stopped.

        Parameters
        ----------
        folder
            Where `save` keeps it.
        build
            As for the class.
        noise
            As for `Accountant`: OpenDP's samplers by default. For a run on a NumPy generator, one of the same kind;
            its state is set to the saved one.
        code
            To go on with other code than saved the run: the word that `CodeChanged` named.

        Raises
        ------
        InUse
            If the run is open, in another process or in this one.
        CodeChanged
            If the learner's code is not what it was; see the class.
        StateError
            If the learner that `build` makes is not the one that was saved, or has other parameters (the message
            names them).
        RandomnessMismatch
            If the run's noise came from a NumPy generator and `noise` is none, or another kind.
        ValueError
            If the folder holds no saved run, or a damaged one.
        OSError
            If it does not exist or cannot be read.
        """
        opened, saved, arrays, rows = RunFolder.open(Path(folder))
        try:
            accountant = restore_accountant(saved["accountant"], noise)
            history, ledger, sums = History.replay(opened.journal, rows, accountant.composition)
            adopt_ledger(accountant, ledger)
            run = cls(build, accountant)
            run._check_same(saved, code, opened.path)
            run._history = history
            Decoder(accountant, arrays, type(run.learner).__module__, sums).restore(
                run.learner, saved["state"]
            )
        except (ArithmeticError, AttributeError, LookupError, TypeError) as error:
            opened.close()
            raise ValueError(f"{folder}: damaged run ({type(error).__name__}: {error})") from None
        except BaseException:
            opened.close()
            raise
        run._folder = opened
        return run

    def _check_same(self, saved: dict[str, Any], code: str | None, path: Path) -> None:
        """Refuse unless the learner is of the class, the parameters and the code that were saved."""
        name = type(self.learner).__qualname__
        if saved["learner"] != name:
            raise StateError(f"{path}: holds a {saved['learner']}, but build made a {name}")
        changed = ", ".join(_differing(saved["code"], self._code))
        parameters = ", ".join(_differing(saved["built"], self._built))
        if parameters:
            raise StateError(
                f"{path}: was saved by a {name} with other parameters than build gives it: they differ in {parameters}"
                + (f" (and the code of {changed} has changed)" if changed else "")
            )
        word = fingerprint(self._code)
        if changed and code != word:
            raise CodeChanged(
                f"{path}: was saved by other code: {changed} changed since. The ledger stays right; if the learner's "
                f"state means the same to the new code, go on with load(..., code={word!r})",
                word,
            )

    def close(self) -> None:
        """Give the folder free, for `load` to go on from the last save; this object cannot save any more."""
        self._closed = True
        if self._folder is not None:
            self._folder.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _digests(learner: object, accountant: Accountant) -> tuple[dict[str, str], dict[str, str]]:
    """Return digests of all attributes of a learner that was just built, in effect its parameters, and of its code."""
    module = type(learner).__module__
    digests = {}
    modules = {kind.__module__ for kind in type(learner).__mro__}
    for name in vars(learner):
        encoder = Encoder(accountant, module)
        text = json.dumps(encoder.value(getattr(learner, name), name), sort_keys=True)
        digest = hashlib.sha256(text.encode())
        for key, array in sorted(encoder.arrays.items()):
            digest.update(f"{key}{array.dtype}{array.shape}".encode() + array.tobytes())
        digests[name] = digest.hexdigest()
        modules |= encoder.modules
    return digests, code_digests(modules, packages_of(module))


def _differing(one: dict[str, str], other: dict[str, str]) -> list[str]:
    return sorted(key for key in {**one, **other} if one.get(key) != other.get(key))


def _same(one: Path, other: Path) -> bool:
    return one.absolute() == other.absolute()
