"""Runs that are stopped, saved, loaded and gone on with: bit for bit the run that never stopped."""

from __future__ import annotations

import contextlib
import functools
import gc
import math
import os
import shutil
import sqlite3
import stat
import threading
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from accountant import Accountant, Budget, BudgetExceeded, GateClosed, InUse, RenyiComposition
from accountant.stored_accountant import RandomnessMismatch
from accountant.stores.database import Database
from accountant.stores.opening import adopt, open_store, verify_store
from accountant.stores.waiting_sums import Notes
from algorithms import (
    CUCBLDP1,
    CUCBBatch,
    CUCBLDPBit,
    DPDPECentral,
    DurableRun,
    PrivateHybridSums,
)
from algorithms.catalogue import learner_builder
from algorithms.catalogue.linear_entries import linear_learners
from algorithms.catalogue.structured_entries import learners
from algorithms.durable.run_place import pack, reopen, unpack
from algorithms.durable.state import StateError
from algorithms.problems import TopK, build_problem
from mechanisms import Affine, AssumptionKind, Hybrid, Interval, Laplace, OpenDPNoise

pytestmark = pytest.mark.filterwarnings("ignore::algorithms.structured_learner.HorizonPassed")


def open_accountant(noise: np.random.Generator | None = None) -> Accountant:
    return Accountant(
        Budget(math.inf, 1.0), noise=np.random.default_rng(1) if noise is None else noise, seed=2
    )


def test_a_learner_whose_stream_cannot_be_saved_is_refused_before_it_begins() -> None:
    problem = build_problem(learners["dp-hedge"].default_problem, {})
    build = learner_builder(learners["dp-hedge"].make, problem, epsilon=1.0, horizon=23)
    with pytest.raises(
        StateError, match=r"_sums is a PrivateStream, which cannot be saved.* is no DurableRun"
    ):
        DurableRun(build, open_accountant())


def test_a_loaded_run_charges_in_the_entries_of_one_that_never_stopped(tmp_path: Path) -> None:
    """Also where two records move a sum as far, and came about otherwise."""

    def build(gate: Any) -> Any:
        return CUCBBatch(TopK(arms=4, size=2), gate, epsilon=1.0, horizon=1000)

    def entries(stop: int | None, where: Path) -> list[Any]:
        run = DurableRun(build, open_accountant())
        run.save(where)
        for user in range(7):  # the last one fills the first batch, which is released
            if user == stop:
                run.save()
                run.close()
                run = DurableRun.load(where, build, noise=np.random.default_rng(99))
            run.learner.act()
            values = run.accountant.private([1.0, 0.0], run.learner.feedback_domain, user)
            run.learner.observe(values.map(Affine(1.0 - 2.0 * (user % 2), user % 2)))
        return [(each.records, each.charge) for each in run.accountant.ledger.entries]

    whole = entries(None, tmp_path / "whole")
    assert len(whole) == 2
    assert [entries(stop, tmp_path / f"run{stop}") for stop in (2, 4, 6)] == [whole] * 3


def build_least(gate: Any) -> CUCBBatch:
    """First batches have one outcome, as for two rounds: of more they have ln T."""
    return CUCBBatch(TopK(arms=6, size=2), gate, epsilon=1.0, horizon=2)


def observe(run: DurableRun[Any], record: str, values: tuple[float, float] = (1.0, 0.0)) -> None:
    run.learner.act()
    run.learner.observe(run.accountant.private(values, run.learner.feedback_domain, record))


def observe_often(run: DurableRun[Any], record: str) -> None:
    for _ in range(20):
        observe(run, record)


def test_opendp_noise_needs_no_generator_and_the_budget_is_remembered(tmp_path: Path) -> None:
    run = DurableRun(build_least, Accountant(Budget(1.0)))
    observe(run, "ann")
    run.save(tmp_path / "run")
    run.close()
    again = DurableRun.load(tmp_path / "run", build_least)
    with pytest.raises(
        BudgetExceeded
    ):  # ann's first outcome is released alone: the second exceeds the budget
        observe_often(again, "ann")


def test_a_record_waiting_for_its_release_is_charged_after_the_restart(tmp_path: Path) -> None:
    """The sums of an open batch are saved with the records in them."""
    run = DurableRun(build_least, open_accountant())
    for t in range(9):
        observe(run, f"user-{t}")
    waiting = [f"user-{t}" for t in range(9) if float(run.accountant.spent(f"user-{t}").epsilon) == 0]  # type: ignore[arg-type]
    assert waiting
    run.save(tmp_path / "run")
    run.close()
    again = DurableRun.load(tmp_path / "run", build_least, noise=np.random.default_rng(0))
    for t in range(100, 160):
        observe(again, f"user-{t}")
    assert all(again.accountant.spent(name).epsilon == 1 for name in waiting)


def test_other_theorems_come_back(tmp_path: Path) -> None:
    accountant = Accountant(
        Budget(50.0, 1e-6), composition=RenyiComposition(), noise=np.random.default_rng(1)
    )
    run = DurableRun(build_least, accountant)
    for t in range(4):
        observe(run, f"user-{t}")
    run.save(tmp_path / "run")
    run.close()
    again = DurableRun.load(tmp_path / "run", build_least, noise=np.random.default_rng(0))
    assert again.accountant.to_dict() == run.accountant.to_dict()


def test_the_files_are_the_owners_and_hold_no_pickle(tmp_path: Path) -> None:
    run = DurableRun(build_least, open_accountant())
    observe(run, "ann")
    run.save(tmp_path / "run")
    assert stat.S_IMODE((tmp_path / "run").stat().st_mode) == 0o700
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in (tmp_path / "run").iterdir()}
    suffixes = ("", "-wal", "-shm", ".lock", ".held", ".charges")
    assert modes == dict.fromkeys((f"ledger.db{suffix}" for suffix in suffixes), 0o600)
    run.close()
    assert b"numpy.core" not in (tmp_path / "run" / "ledger.db").read_bytes()


def test_a_learner_with_other_parameters_is_refused_by_name(tmp_path: Path) -> None:
    run = DurableRun(build_least, open_accountant())
    run.save(tmp_path / "run")
    run.close()

    def other(gate: Any) -> CUCBBatch:
        return CUCBBatch(TopK(arms=6, size=2), gate, epsilon=2.0, horizon=2)

    with pytest.raises(StateError, match=r"other parameters.*epsilon \(1\.0 then, 2\.0 now\)$"):
        DurableRun.load(tmp_path / "run", other, noise=np.random.default_rng(0))
    with pytest.raises(StateError, match="structure"):
        DurableRun.load(
            tmp_path / "run",
            lambda gate: CUCBBatch(TopK(arms=7, size=2), gate, epsilon=1.0, horizon=2),
            noise=np.random.default_rng(0),
        )
    with pytest.raises(StateError, match="holds a CUCBBatch, but build made a CUCBLDP1"):
        DurableRun.load(
            tmp_path / "run",
            lambda gate: CUCBLDP1(TopK(arms=6, size=2), gate, epsilon=1.0, horizon=1000),
            noise=np.random.default_rng(0),
        )


def test_noise_from_elsewhere_is_refused(tmp_path: Path) -> None:
    run = DurableRun(build_least, open_accountant())
    run.save(tmp_path / "run")
    run.close()
    with pytest.raises(RandomnessMismatch, match="noise = None"):
        DurableRun.load(tmp_path / "run", build_least)
    with pytest.raises(RandomnessMismatch, match="MT19937"):
        DurableRun.load(tmp_path / "run", build_least, noise=np.random.Generator(np.random.MT19937(0)))
    DurableRun.load(tmp_path / "run", build_least, noise=OpenDPNoise()).close()  # on purpose: allowed


@pytest.mark.few(2)
@pytest.mark.parametrize("kind", [np.random.MT19937, np.random.SFC64, np.random.Philox, np.random.PCG64])
def test_every_numpy_generator_goes_on(kind: Any, tmp_path: Path) -> None:
    run = DurableRun(build_least, open_accountant(np.random.Generator(kind(5))))
    calm = DurableRun(build_least, open_accountant(np.random.Generator(kind(5))))
    for one in (run, calm):
        observe(one, "ann")
    run.save(tmp_path / "run")
    run.close()
    again = DurableRun.load(tmp_path / "run", build_least, noise=np.random.Generator(kind(6)))
    for t in range(5):
        for one in (calm, again):
            observe(one, f"user-{t}")
    np.testing.assert_array_equal(calm.learner.batches.mean, again.learner.batches.mean)


def test_a_closed_accountant_is_not_saved(tmp_path: Path) -> None:
    run = DurableRun(build_least, open_accountant())
    value = run.accountant.private([1.0, 0.0], run.learner.feedback_domain, "ann")
    with pytest.raises(ZeroDivisionError):
        value.map(lambda values: 1 // 0, into=run.learner.feedback_domain)
    with pytest.raises(GateClosed):
        run.save(tmp_path / "run")
    assert not list(tmp_path.iterdir())


class Odd:
    """A learner of somebody else's, with attributes that can and cannot be saved."""

    def __init__(self, gate: Any, extra: Any) -> None:
        self.gate = gate
        self.random = gate.random
        self.counter = PrivateHybridSums(gate, Hybrid(epsilon=1.0), 3)
        self.shared = [np.arange(3.0)]
        self.again = self.shared
        self.table = {("a", 1): (1.5, math.inf, -0.0), "n": None}
        self.extra = extra


@pytest.mark.slow
def test_shared_objects_stay_shared_and_counters_come_back(tmp_path: Path) -> None:
    run, calm = (DurableRun(lambda gate: Odd(gate, None), open_accountant()) for _ in range(2))
    domain = build_least(run.accountant).feedback_domain
    at = np.array([[2, -1]])
    for one in (run, calm):
        for t in range(6):
            one.learner.counter.step(one.accountant.private([1.0, 0.5], domain, t), at)
        one.learner.random.random(3)
    run.save(tmp_path / "run")
    run.close()
    again = DurableRun.load(tmp_path / "run", lambda gate: Odd(gate, None), noise=np.random.default_rng(0))
    assert again.learner.again is again.learner.shared
    assert again.learner.table == run.learner.table
    assert math.copysign(1.0, again.learner.table["a", 1][2]) == -1.0
    assert again.learner.random.random() == calm.learner.random.random()
    for t in range(6, 12):
        totals = [
            one.learner.counter.step(one.accountant.private([1.0, 0.5], domain, t), at)
            for one in (calm, again)
        ]
        np.testing.assert_array_equal(*totals)


@pytest.mark.parametrize(
    ("extra", "word"),
    [
        (lambda x: x, "function"),
        (np.random.default_rng(0), "Generator"),
        (np.array(["a"]), "type <U1"),
        ({1}, "set"),
    ],
)
def test_what_is_no_data_is_refused_by_name(extra: Any, word: str) -> None:
    with pytest.raises(StateError, match=rf"extra is .*{word}"):
        DurableRun(lambda gate: Odd(gate, extra), open_accountant())


def test_folders_that_hold_no_run(tmp_path: Path) -> None:
    path = tmp_path / "run"
    with pytest.raises(FileNotFoundError):
        DurableRun.load(path, build_least)
    path.write_bytes(b"a file, as runs once were")
    with pytest.raises(ValueError, match=r"must be the folder of a run"):
        DurableRun.load(path, build_least)
    with pytest.raises(ValueError, match="must be a folder, or a new name in a folder that exists"):
        DurableRun(build_least, open_accountant()).save(path)
    with pytest.raises(ValueError, match="must be a folder, or a new name in a folder that exists"):
        DurableRun(build_least, open_accountant()).save(tmp_path / "none" / "run")
    with pytest.raises(ValueError, match="holds no saved run"):
        DurableRun.load(tmp_path, build_least)
    assert [file.name for file in tmp_path.iterdir()] == ["run"]


def saved_run(path: Path) -> Path:
    """Return the folder of a run that was saved and closed."""
    with DurableRun(build_least, open_accountant()) as run:
        for t in range(9):
            observe(run, f"user-{t}")
        run.save(path)
    return path


def test_damaged_stores_are_refused_by_name(tmp_path: Path) -> None:
    path = saved_run(tmp_path / "run") / "ledger.db"
    whole = path.read_bytes()
    kept = []  # their frames stay alive, and must not keep the folder

    def refused(match: str) -> None:
        with pytest.raises(ValueError, match=match) as refusal:
            DurableRun.load(tmp_path / "run", build_least, noise=np.random.default_rng(0))
        kept.append(refusal)

    def change(statement: str, *values: Any) -> None:
        path.write_bytes(whole)
        with contextlib.closing(sqlite3.connect(path)) as connection, connection:
            connection.execute(statement, values)

    path.write_bytes(whole[: len(whole) // 2])
    refused("ledger.db: ")
    path.write_bytes(b"something else")
    refused("is no SQLite database")
    change("UPDATE entry SET body = replace(body, 'user-', 'person-')")  # who waits
    refused(r"entry \d+: its hash is not that of its text")
    change("UPDATE run SET state = CAST(replace(CAST(state AS TEXT), 'mean', 'maen') AS BLOB)")
    refused("the table `run` does not hold the state that was saved last")
    change("UPDATE run SET state = 'text'")
    refused("ledger.db: a table holds a str where bytes were written")
    change("UPDATE run SET saves = saves - 1")
    refused("the table `run` does not hold")
    change("DELETE FROM run")
    refused("the table `run` does not hold")
    path.write_bytes(whole)
    DurableRun.load(tmp_path / "run", build_least, noise=np.random.default_rng(0)).close()


def test_a_state_of_another_learner_s_making_is_called_damaged(tmp_path: Path) -> None:
    """Whole as it was written, but not to be understood."""
    path = saved_run(tmp_path / "run")
    run, saved = reopen(path, adopt=False)
    state, arrays = unpack(saved.state)
    state["state"]["index"]["array"] = "array999"
    run.save(saved.ledger, saved.assumptions, run.notes(), pack(state, arrays))
    run.close()
    with pytest.raises(ValueError, match="damaged run"):
        DurableRun.load(path, build_least, noise=np.random.default_rng(0))


def test_a_new_run_does_not_take_the_place_of_another(tmp_path: Path) -> None:
    """Else a restart script that always begins anew would forget every budget."""
    saved_run(tmp_path / "run")
    run = DurableRun(build_least, open_accountant())
    with pytest.raises(ValueError, match="holds a run, whose budgets a new one would forget"):
        run.save(tmp_path / "run")
    run.save(tmp_path / "other")
    with pytest.raises(ValueError, match=r"this run is kept in '.*other'"):
        run.save(tmp_path / "run")
    run.save()


def test_the_first_save_needs_a_folder() -> None:
    with pytest.raises(ValueError, match="where = None"):
        DurableRun(build_least, open_accountant()).save()


def test_a_run_is_open_once(tmp_path: Path) -> None:
    run = DurableRun(build_least, open_accountant())
    run.save(tmp_path / "run")
    with pytest.raises(InUse, match=rf"held is held by this process, .* \(process {os.getpid()} on "):
        DurableRun.load(tmp_path / "run", build_least, noise=np.random.default_rng(0))
    with pytest.raises(InUse):
        DurableRun(build_least, open_accountant()).save(tmp_path / "run")
    run.close()
    with pytest.raises(InUse, match="was closed"):
        run.save()
    with pytest.raises(RandomnessMismatch) as kept:  # a load that fails gives the lock back
        DurableRun.load(tmp_path / "run", build_least)
    with DurableRun.load(tmp_path / "run", build_least, noise=np.random.default_rng(0)) as again:
        again.save()
    assert kept.tb is not None  # until here its frames were alive


@pytest.mark.slow
def test_a_run_that_is_forgotten_gives_its_folder_free(tmp_path: Path) -> None:
    run = DurableRun(build_least, open_accountant())
    run.save(tmp_path / "run")
    del run
    gc.collect()
    DurableRun.load(tmp_path / "run", build_least, noise=np.random.default_rng(0))


def test_a_relative_folder_stays_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    run = DurableRun(build_least, open_accountant())
    run.save("run")
    monkeypatch.chdir(tmp_path / "elsewhere")
    run.save()
    assert not list((tmp_path / "elsewhere").iterdir())


def test_charges_that_were_taken_back_stay_taken_back(tmp_path: Path) -> None:
    run = DurableRun(build_least, open_accountant())
    accountant, share = run.accountant, Interval(0, 1)
    noise = Laplace.for_epsilon(0.5, sensitivity=share.sensitivity)

    def reserve(record: str) -> Any:
        return accountant.reserve(accountant.price(noise, accountant.private([0.5], share, record)))

    observe(run, "ann")
    early, kept = reserve("bob"), reserve("bob")
    run.save(tmp_path / "run")
    late = reserve("cid")
    observe(run, "dan")
    early.cancel()
    late.cancel()
    run.save()
    kept.release()
    observe(run, "eve")
    run.save()
    run.close()
    again = DurableRun.load(tmp_path / "run", build_least, noise=np.random.default_rng(0))
    assert again.accountant.to_dict() == accountant.to_dict()
    assert again.accountant.spent("bob").epsilon == Fraction(1, 2)
    assert "cid" not in set(again.accountant.ledger.records())
    observe(again, "fay")
    again.save()
    again.close()
    last = DurableRun.load(tmp_path / "run", build_least, noise=np.random.default_rng(0))
    assert last.accountant.to_dict() == again.accountant.to_dict()


@pytest.mark.slow
def test_a_save_writes_what_is_new(tmp_path: Path) -> None:
    """What a save adds does not grow with the ledger, nor does the state."""
    run = DurableRun(
        lambda gate: CUCBLDPBit(TopK(arms=6, size=2), gate, epsilon=1.0, horizon=1000), open_accountant()
    )
    sizes = []
    for t in range(60):
        observe(run, f"user-{t}")
        run.save(tmp_path / "run")
        assert run._store is not None
        with run._store._store.database.reading() as session:
            sql = "SELECT sum(length(body)), (SELECT length(state) FROM run) FROM entry"
            sizes.append(session.row(sql))
    entries, state = np.diff(np.array(sizes), axis=0).T
    assert entries[20:].max() <= 300
    assert abs(state[20:].sum()) < 60


def test_linear_learners_are_refused_with_other_actions(tmp_path: Path) -> None:
    def build(gate: Any, shift: float = 0.0) -> DPDPECentral:
        actions = np.eye(3) * (0.5 + shift)
        return DPDPECentral(actions, gate, epsilon=1.0, delta=0.1, horizon=20, population=50, sigma=0.1)

    DurableRun(build, open_accountant()).save(tmp_path / "run")
    with pytest.raises(StateError, match="actions"):
        DurableRun.load(tmp_path / "run", lambda gate: build(gate, 0.1), noise=np.random.default_rng(0))


def test_an_argument_that_leaves_no_attribute_counts(tmp_path: Path) -> None:
    def build(gate: Any, **other: Any) -> DPDPECentral:
        settings = {"epsilon": 1.0, "delta": 0.1, "horizon": 20, "population": 50, "sigma": 0.1, **other}
        return DPDPECentral(np.eye(3) * 0.5, gate, **settings)

    DurableRun(build, open_accountant()).save(tmp_path / "run")
    for name, value in (("population", 60), ("replacement", True), ("horizon", 21)):
        other = functools.partial(build, **{name: value})
        with pytest.raises(StateError, match=rf"they differ in {name} \(\w+ then, {value} now\)$"):
            DurableRun.load(tmp_path / "run", other, noise=np.random.default_rng(0))


def test_what_a_structure_remembers_is_no_parameter(tmp_path: Path) -> None:
    """A matroid that was used before the run began keeps a table in a cached property."""
    problem = build_problem("linear-matroid", {})

    def build(gate: Any) -> Any:
        return learners["cucb-batch"].build(problem, epsilon=1.0, horizon=50)(gate)

    run = DurableRun(build, open_accountant())
    run.learner.act()
    run.save(tmp_path / "run")
    run.close()
    again = DurableRun.load(tmp_path / "run", build, noise=np.random.default_rng(0))
    np.testing.assert_array_equal(again.learner.act(), run.learner.act())


def test_secure_noise_is_not_exchanged_for_a_generator(tmp_path: Path) -> None:
    DurableRun(build_least, Accountant(Budget(1.0))).save(tmp_path / "run")
    with pytest.raises(RandomnessMismatch, match="drew its noise from opendp"):
        DurableRun.load(tmp_path / "run", build_least, noise=np.random.default_rng(0))


def test_a_linear_learner_says_what_it_was_playing(tmp_path: Path) -> None:
    def build(gate: Any) -> Any:
        return linear_learners["dp-pe-central"].make(
            np.eye(3) * 0.5, gate, epsilon=5.0, delta=0.1, horizon=200
        )

    run = DurableRun(build, open_accountant())
    assert run.learner.open_phase is None
    assert run.learner.next_action is None
    phase = run.learner.act()
    assert run.learner.next_action == phase.support[0]
    run.save(tmp_path / "run")
    run.close()
    again = DurableRun.load(tmp_path / "run", build, noise=np.random.default_rng(0))
    assert again.learner.open_phase.counts.tolist() == phase.counts.tolist()
    assert again.learner.next_action == phase.support[0]


def test_what_build_raises_reaches_the_caller(tmp_path: Path) -> None:
    saved_run(tmp_path / "run")

    def broken(gate: Any) -> CUCBBatch:
        build_least(gate)
        return {}["no such table"]  # type: ignore[no-any-return]

    for error, build in ((KeyError, broken), (ZeroDivisionError, lambda gate: 1 // 0)):
        with pytest.raises(error):
            DurableRun.load(tmp_path / "run", build, noise=np.random.default_rng(0))
    with pytest.raises(ValueError, match="returned None; must return the learner"):
        DurableRun.load(tmp_path / "run", lambda gate: None, noise=np.random.default_rng(0))
    DurableRun.load(tmp_path / "run", build_least, noise=np.random.default_rng(0)).close()


class Shuffled:
    """A learner that draws while it is built, and later."""

    def __init__(self, gate: Any, *, quietly: bool) -> None:
        drawn = gate.random.permutation(20)
        self.gate, self.order = gate, None if quietly else drawn


@pytest.mark.parametrize(
    ("build", "accountant", "rule"),
    [
        (5, Accountant(Budget(1.0)), "build = 5: must be a function that makes the learner on an accountant"),
        (lambda gate: None, Accountant(Budget(1.0)), "returned None; must return the learner"),
        (lambda gate: gate, None, "accountant = None: must be an Accountant"),
    ],
)
def test_what_makes_no_run_is_refused_by_name(build: Any, accountant: Any, rule: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=rule):
        DurableRun(build, accountant)
    if not callable(build):
        with pytest.raises(ValueError, match=rule):
            DurableRun.load(tmp_path, build)


@pytest.mark.slow_cells("False")
@pytest.mark.parametrize("quietly", [False, True])
def test_a_learner_may_draw_while_it_is_built(tmp_path: Path, quietly: bool) -> None:
    def build(gate: Any) -> Shuffled:
        return Shuffled(gate, quietly=quietly)

    calm = DurableRun(build, open_accountant())
    run = DurableRun(build, open_accountant())
    for _ in range(3):  # a loaded run is loaded again
        for one in (run, calm):
            one.accountant.random.random(3)
        run.save(tmp_path / "run")
        run.close()
        run = DurableRun.load(tmp_path / "run", build, noise=np.random.default_rng(0))
        np.testing.assert_equal(run.learner.order, calm.learner.order)
        np.testing.assert_array_equal(run.accountant.random.random(4), calm.accountant.random.random(4))


def test_assumptions_come_back(tmp_path: Path) -> None:
    """The ledger rests on them: a run that was loaded must not look as if it rested on nothing."""
    run = DurableRun(build_least, open_accountant())
    value = run.accountant.private([1.0, 0.0], run.learner.feedback_domain, "ann")
    value.map(lambda values: values * 0.3, stability=0.3)
    seeded, function, stability = run.accountant.assumptions
    assert seeded.kind is AssumptionKind.SEEDED
    assert "lambda" in function.message
    assert "stability 0.3" in stability.message
    run.save(tmp_path / "run")
    run.close()
    again = DurableRun.load(tmp_path / "run", build_least, noise=np.random.default_rng(0))
    assert again.accountant.assumptions == run.accountant.assumptions


def test_a_fork_and_a_closed_run_release_nothing(tmp_path: Path) -> None:
    """Both would spend a budget that another process, or a later load, spends again."""
    run = DurableRun(build_least, open_accountant())
    observe(run, "ann")
    run.save(tmp_path / "run")
    waiting = run.learner.batches._sums
    value = run.accountant.private([1.0, 0.0], run.learner.feedback_domain, "bob")
    noise = Laplace.for_epsilon(1.0, sensitivity=Interval(0, 1).sensitivity)

    def refusals() -> list[str]:
        asked = [
            lambda: observe(run, "cid"),
            lambda: run.accountant.release(noise, waiting),
            lambda: run.accountant.declassify(waiting, "shown"),
            lambda: waiting.add(value, np.array([[0, 1]])),
            run.save,
        ]
        found = []
        for ask in asked:
            try:
                ask()
            except (GateClosed, InUse) as refusal:
                found.append(f"{type(refusal).__name__} {'fork' in str(refusal)}")
        return found

    ends = os.pipe()
    child = os.fork()
    if child == 0:  # no assertion may leave this branch
        try:
            os.write(ends[1], ",".join(refusals()).encode())
            run.close()
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert os.read(ends[0], 200).decode().split(",") == [*["GateClosed True"] * 4, "InUse True"]
    observe(run, "dan")  # the parent goes on
    run.save()
    run.close()
    assert refusals() == [*["GateClosed False"] * 4, "InUse False"]
    for end in ends:
        os.close(end)


def test_a_close_that_was_interrupted_is_ended_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second Ctrl-C left the run locked, until the process ended: to close it again did nothing."""
    own, presses = Database.close, [KeyboardInterrupt]

    def close(database: Database) -> None:
        if presses:
            raise presses.pop()
        own(database)

    monkeypatch.setattr(Database, "close", close)
    run = DurableRun(build_least, open_accountant())
    run.save(tmp_path / "run")
    with pytest.raises(KeyboardInterrupt):
        run.close()
    run.close()
    DurableRun.load(tmp_path / "run", build_least, noise=np.random.default_rng(0)).close()


def test_a_fork_that_closes_a_run_removes_nothing(tmp_path: Path) -> None:
    run = DurableRun(build_least, open_accountant())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("accountant.stores.run_store.RunStore.has_saved", property(lambda store: False))
        patch.setattr("algorithms.durable.durable_run.DurableRun._leave_unkept", lambda run: None)
        run.save(tmp_path / "run")
        child = os.fork()
        if child == 0:
            run.close()
            os._exit(0)
        os.waitpid(child, 0)
    run.save()
    assert (tmp_path / "run" / "ledger.db").exists()


def test_a_first_save_that_fails_binds_the_run_to_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = DurableRun(build_least, open_accountant())
    observe(run, "ann")

    def full(*arguments: Any, **arrays: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr("accountant.stores.transaction.Transaction.finish", full)
        with pytest.raises(OSError, match="No space"):
            run.save(tmp_path / "full")
    assert {file.suffix for file in (tmp_path / "full").iterdir()} == {".lock", ".held"}
    with pytest.raises(ValueError, match="where = None"):
        run.save()
    run.save(tmp_path / "run")
    saved_run(tmp_path / "full")  # it is free for another
    run.close()
    again = DurableRun.load(tmp_path / "run", build_least, noise=np.random.default_rng(0))
    assert again.accountant.to_dict() == run.accountant.to_dict()


def test_a_folder_that_holds_anything_else_is_left_alone(tmp_path: Path) -> None:
    for name, word in (
        ("notes.txt", "holds 'notes.txt'"),
        ("ledger.db.backup", "holds 'ledger.db.backup'"),
        ("ledger.db", "is no SQLite database"),
        ("state.npz", "an earlier version of dpwitness saved: go on with it by that version"),
    ):
        folder = tmp_path / name
        folder.mkdir()
        (folder / name).write_text("somebody else's")
        with pytest.raises(ValueError, match=word):
            DurableRun(build_least, open_accountant()).save(folder)
        with pytest.raises(ValueError, match=f"{word}|no save has ended here"):
            DurableRun.load(folder, build_least)
        assert (folder / name).read_text() == "somebody else's"


def test_a_ledger_and_a_run_are_told_apart(tmp_path: Path) -> None:
    """Neither is spent from as if it were the other."""
    (tmp_path / "run").mkdir()
    Accountant(Budget(1.0), store=tmp_path / "run" / "ledger.db")
    with pytest.raises(ValueError, match="holds a ledger, but no run"):
        DurableRun(build_least, open_accountant()).save(tmp_path / "run")
    with pytest.raises(ValueError, match="holds a ledger, but no run"):
        DurableRun.load(tmp_path / "run", build_least)
    saved_run(tmp_path / "other")
    with pytest.raises(ValueError, match=r"is the ledger of a run: go on with it by DurableRun\.load"):
        Accountant(Budget(math.inf, 1.0), store=tmp_path / "other" / "ledger.db")


def test_the_ledger_of_a_run_is_one_of_a_store(tmp_path: Path) -> None:
    """It is verified, and its reservations are given back, by the commands for stores, while the run is closed."""
    run = DurableRun(build_least, open_accountant())
    observe(run, "ann")
    share = Interval(0, 1)
    noise = Laplace.for_epsilon(0.5, sensitivity=share.sensitivity)
    run.accountant.reserve(run.accountant.price(noise, run.accountant.private([0.5], share, "bob")))
    run.save(tmp_path / "run")
    path = tmp_path / "run" / "ledger.db"
    with pytest.raises(InUse):
        open_store(path)
    with pytest.raises(InUse):
        adopt(path, "while the run is open")
    run.close()
    store = open_store(path)
    [reserved] = store.reservations()
    store.give_back(reserved)
    store.close()
    assert verify_store(path).reserved == ()
    with DurableRun.load(tmp_path / "run", build_least, noise=np.random.default_rng(0)) as again:
        assert again.accountant.spent("bob").epsilon == 0
        again.save()


def test_a_request_is_answered_once_by_the_run_and_by_the_one_that_goes_on(tmp_path: Path) -> None:
    share = Interval(0, 1)
    noise = Laplace.for_epsilon(0.5, sensitivity=share.sensitivity)

    def ask(run: DurableRun[Any], key: str) -> float:
        value = run.accountant.private([0.5], share, "ann")
        return float(run.accountant.release(noise, value, request=key).item())

    run = DurableRun(build_least, open_accountant())
    first = ask(run, "a")
    run.save(tmp_path / "run")
    second = ask(run, "b")
    run.save()
    run.close()
    with DurableRun.load(tmp_path / "run", build_least, noise=np.random.default_rng(0)) as again:
        assert [ask(again, "a"), ask(again, "b"), ask(again, "a")] == [first, second, first]
        assert again.accountant.spent("ann").epsilon == 1


def test_reservations_with_keys_are_drawn_or_given_back_by_the_run_that_goes_on(tmp_path: Path) -> None:
    share = Interval(0, 1)
    noise = Laplace.for_epsilon(0.5, sensitivity=share.sensitivity)

    def entered(run: DurableRun[Any]) -> Any:
        return run.accountant.private([0.5], share, "ann")

    run = DurableRun(build_least, open_accountant())
    for key in ("drawn", "returned"):
        kept = run.accountant.reserve(run.accountant.price(noise, entered(run)), request=key)
    kept.cancel()
    run.save(tmp_path / "run")
    run.close()
    with DurableRun.load(tmp_path / "run", build_least, noise=np.random.default_rng(0)) as again:
        with pytest.raises(ValueError, match="request = 'returned': reservation 2 was given back"):
            again.accountant.release(noise, entered(again), request="returned")
        again.accountant.release(noise, entered(again), request="drawn")
        assert again.accountant.spent("ann").epsilon == Fraction(1, 2)
        again.save()
    assert verify_store(tmp_path / "run" / "ledger.db").reserved == ()


def test_two_runs_that_hold_one_store_after_all_do_not_both_save(tmp_path: Path) -> None:
    """Somebody deleted the lock: the store itself says that another has saved."""
    run = DurableRun(build_least, open_accountant())
    run.save(tmp_path / "run")
    (tmp_path / "run" / "ledger.db.held").unlink()
    with DurableRun.load(tmp_path / "run", build_least, noise=np.random.default_rng(0)) as other:
        observe(other, "ann")
        other.save()
        for attempt in range(2):
            observe(run, f"user-{attempt}")
            with pytest.raises(InUse, match="another process has gone on with this run since"):
                run.save()
        other.save()


def test_a_store_that_was_deleted_or_replaced_stops_every_save(tmp_path: Path) -> None:
    run = DurableRun(build_least, open_accountant())
    observe(run, "ann")
    run.save(tmp_path / "run")
    journal = tmp_path / "run" / "ledger.db"
    kept = journal.read_bytes()
    journal.rename(tmp_path / "kept")
    for content in (None, kept):
        if content is not None:
            journal.write_bytes(content)
        for attempt in range(2):
            with pytest.raises(ValueError, match="was deleted, renamed or replaced"):
                run.save()
            with pytest.raises(ValueError, match="was deleted, renamed or replaced"):
                observe(run, f"user-{content is None}-{attempt}")  # nobody knows how the save ended
    (tmp_path / "kept").replace(journal)
    run.save()
    run.close()
    again = DurableRun.load(tmp_path / "run", build_least, noise=np.random.default_rng(0))
    assert again.accountant.to_dict() == run.accountant.to_dict()


def test_a_folder_may_be_named_by_a_link(tmp_path: Path) -> None:
    saved_run(tmp_path / "run")
    (tmp_path / "link").symlink_to(tmp_path / "run")
    with DurableRun.load(tmp_path / "link", build_least, noise=np.random.default_rng(0)) as run:
        run.save(tmp_path / "run")


def test_nobody_enters_sums_while_a_save_reads_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A record that did was in the saved values, and not among those who wait and will be charged; or forgotten."""
    run = DurableRun(lambda gate: Odd(gate, gate.sums(1)), open_accountant())
    share, at = Interval(0, 1), np.array([[0]])
    sums = run.learner.extra
    sums.add(run.accountant.private([0.5], share, "ann"), at)
    late = run.accountant.private([0.25], share, "bob")
    noted, thread = Notes.sums, threading.Thread(target=lambda: sums.add(late, at))

    def note_and_wait(notes: Notes, origin: Any) -> int:
        number = noted(notes, origin)
        if thread.ident is None and origin is sums._provenance:
            thread.start()
            thread.join(0.2)
        return number

    def saved() -> tuple[float, list[str]]:
        shutil.copytree(tmp_path / "run", tmp_path / "copy")
        with DurableRun.load(
            tmp_path / "copy",
            lambda gate: Odd(gate, gate.sums(1)),
            noise=np.random.default_rng(0),
            adopt=True,
        ) as one:
            held = one.learner.extra
        shutil.rmtree(tmp_path / "copy")
        return held._values.item(), [record for record, _ in held._provenance.to_dict()["entries"][0]]

    monkeypatch.setattr(Notes, "sums", note_and_wait)
    run.save(tmp_path / "run")
    thread.join()
    assert saved() == (0.5, ["ann"])
    run.save()
    assert saved() == (0.75, ["ann", "bob"])


def test_nobody_saves_while_somebody_holds_the_lock(tmp_path: Path) -> None:
    run = DurableRun(build_least, open_accountant())
    saver = threading.Thread(target=run.save, args=(tmp_path / "run",))
    with run.lock:
        saver.start()
        saver.join(0.1)
        assert saver.is_alive()
        run.save(tmp_path / "run")  # who holds it may
    saver.join()
    run.save()
