"""A learner in production that can be stopped and gone on with, bit for bit."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np

from accountant import Accountant
from accountant.durable import accountant_state, restore_accountant
from accountant.whole_file import whole_file
from algorithms.state import Decoder, Encoder, StateError
from mechanisms import NoiseSource

LearnerType = TypeVar("LearnerType")

_FORMAT = "dpwitness-run-1"
_TEXT = "run"  # the archive's entry that holds the JSON; all others are arrays


class DurableRun(Generic[LearnerType]):
    """A learner and the accountant it runs on, with `save` and `load`.

    `save` writes everything that the run depends on (the learner's state, sums that wait for their release, the
    ledger, the state of NumPy generators) as JSON and arrays in one ``.npz`` archive, without pickle. A run that was
    saved and loaded gives, bit for bit, the actions and charges of one that never stopped.

    **When to save.** After each `observe`, before the next action is shown. What a central learner gives away, it
    gives away through its actions; so a crash before the save loses a round, and nothing that anybody saw is
    missing from the ledger. Saved less often, a crash forgets charges for actions that were shown. A local
    learner's messages are seen when they are sent: there, a message is sent when the run is saved.

    **Where to save.** The archive holds raw data (sums that wait for release): only its owner may read it (mode
    600), and it belongs where raw data may be. One process at a time may go on from it, and from the newest archive
    only: another one has forgotten what was spent since.

    **What it costs.** Each save writes the whole ledger: 5 ms and 170 kB for 1,000 charges, in proportion. A central
    learner's records are charged batch by batch, few at a time; a local one's every round.

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
    >>> run = DurableRun(build, Accountant(Budget(epsilon=1.0)))
    >>> arms = run.learner.act()[0]
    >>> run.learner.observe(run.accountant.private([1.0, 0.0], run.learner.feedback_domain, record="ann"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run.save(folder + "/run.npz")
    ...     again = DurableRun.load(folder + "/run.npz", build)
    >>> bool((again.learner.act() == run.learner.act()).all())
    True
    """

    def __init__(self, build: Callable[[Accountant], LearnerType], accountant: Accountant) -> None:
        self.accountant = accountant
        self.learner = build(accountant)
        self._fresh = _digests(self.learner, accountant)

    def save(self, path: str | Path) -> None:
        """Write the run; the file is complete or absent, never half-written.

        Raises
        ------
        GateClosed
            If the accountant is closed: a restart must not open it again.
        StateError
            If the learner holds something that is no plain data (the message names the attribute).
        ValueError
            If the path is a folder, or its own folder does not exist.
        """
        encoder = Encoder(self.accountant, type(self.learner).__module__)
        text = json.dumps(
            {
                "format": _FORMAT,
                "learner": type(self.learner).__qualname__,
                "built": self._fresh,
                "accountant": accountant_state(self.accountant),
                "state": encoder.attributes(self.learner),
            }
        )
        with whole_file(path) as file:
            np.savez(file, **{_TEXT: np.frombuffer(text.encode(), dtype=np.uint8)}, **encoder.arrays)  # type: ignore[arg-type]

    @classmethod
    def load(
        cls,
        path: str | Path,
        build: Callable[[Accountant], LearnerType],
        *,
        noise: NoiseSource | np.random.Generator | None = None,
    ) -> DurableRun[LearnerType]:
        """Read a run written by `save`, and go on where it stopped.

        Parameters
        ----------
        path
            A file written by `save`.
        build
            As for the class.
        noise
            As for `Accountant`: OpenDP's samplers by default. For a run on a NumPy generator, one of the same kind;
            its state is set to the saved one.

        Raises
        ------
        StateError
            If the learner that `build` makes is not the one that was saved, or has other parameters (the message
            names them).
        RandomnessMismatch
            If the run's noise came from a NumPy generator and `noise` is none, or another kind.
        ValueError
            If the file is not a saved run, or is damaged.
        OSError
            If the file cannot be read.
        """
        saved, arrays = _read(Path(path))
        try:
            accountant = restore_accountant(saved["accountant"], noise)
        except (ArithmeticError, AttributeError, LookupError, TypeError) as error:
            raise ValueError(f"{path}: damaged run ({type(error).__name__}: {error})") from None
        run = cls(build, accountant)
        name = type(run.learner).__qualname__
        if saved["learner"] != name:
            raise StateError(f"{path}: holds a {saved['learner']}, but build made a {name}")
        differ = [
            key for key in {**saved["built"], **run._fresh} if saved["built"].get(key) != run._fresh.get(key)
        ]
        if differ:
            raise StateError(
                f"{path}: was saved by a {name} with other parameters than build gives it: they differ in "
                f"{', '.join(sorted(differ))}"
            )
        try:
            Decoder(accountant, arrays, type(run.learner).__module__).restore(run.learner, saved["state"])
        except (ArithmeticError, AttributeError, LookupError, TypeError) as error:
            raise ValueError(f"{path}: damaged run ({type(error).__name__}: {error})") from None
        return run


def _digests(learner: object, accountant: Accountant) -> dict[str, str]:
    """Return a digest of every attribute of a learner that has just been built: its parameters, in effect."""
    digests = {}
    for name in vars(learner):
        encoder = Encoder(accountant, type(learner).__module__)
        text = json.dumps(encoder.value(getattr(learner, name), name), sort_keys=True)
        digest = hashlib.sha256(text.encode())
        for key, array in sorted(encoder.arrays.items()):
            digest.update(f"{key}{array.dtype}{array.shape}".encode() + array.tobytes())
        digests[name] = digest.hexdigest()
    return digests


def _read(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            arrays = {key: archive[key] for key in archive.files}
        saved = json.loads(arrays.pop(_TEXT).tobytes())
    except OSError:
        raise
    except Exception as error:  # NumPy, zipfile and zlib each have errors of their own for a damaged file
        raise ValueError(f"{path}: not a saved run ({type(error).__name__})") from None
    if not isinstance(saved, dict) or saved.get("format") != _FORMAT:
        raise ValueError(f"{path}: not a saved run (format {_FORMAT!r})")
    return saved, arrays
