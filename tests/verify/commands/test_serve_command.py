"""The commands ``dpwitness serve`` and ``dpwitness keys``."""

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from accountant import Accountant, Budget, PurposeRefused, Rule, Trust
from accountant.rules import clock
from accountant.service.keys import KeyFile
from accountant.service.service_limits import ServiceLimits
from algorithms import CUCBLDPBit, DurableRun
from algorithms.catalogue.named_run import load_named_run
from algorithms.service.run_desk import RunDesk
from verify.commands.begun_run import run_loader
from verify.verification.resolve import load_object

Run = Callable[..., tuple[int, str, str]]


def new(where: object, learner: str) -> tuple[object, ...]:
    """Return the command that begins a run."""
    return "ledger", "create", where, "--learner", learner


def config(folder: Path, text: str) -> Path:
    """Write a service's file."""
    (folder / "serve.toml").write_text(text)
    return folder / "serve.toml"


def test_keys_are_made_listed_and_removed(run: Run, tmp_path: Path) -> None:
    store = tmp_path / "ledger.db"
    code, _, err = run("keys", store, "--add", "ann", "--scope", "spend")
    assert (code, "ledger.db: does not exist" in err, list(tmp_path.iterdir())) == (2, True, [])
    store.touch()
    code, out, _ = run(
        "keys", store, "--add", "ann", "--scope", "spend", "--scope", "read", "--purpose", "ads"
    )
    assert code == 0
    found = KeyFile(tmp_path / "ledger.db.keys").find(out.strip())
    assert found is not None
    assert found.name == "ann"
    code, out, _ = run("keys", f"{store}.keys", "--json")
    assert json.loads(out) == {
        "keys": {"ann": {"scopes": ["read", "spend"], "runs": [], "purpose": "ads", "tenant": None}}
    }
    assert run("keys", store, "--add", "web", "--scope", "act", "--run", "shop")[0] == 0
    assert json.loads(run("keys", store, "--json")[1])["keys"]["web"]["runs"] == ["shop"]
    assert run("keys", store, "--remove", "web")[0] == 0
    assert "ann" in run("keys", store)[1]
    assert run("keys", store, "--remove", "ann")[0] == 0
    code, _, err = run("keys", store, "--remove", "ann")
    assert (code, "there is no key of this name" in err) == (2, True)
    assert "no keys" in run("keys", store)[1]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--add", "ann"), "--scope: must be given with --add"),
        (("--add", "ann", "--remove", "ann", "--scope", "read"), "--add, --remove: one of them at a time"),
        (("--scope", "read"), "--scope: only with --add"),
        (("--remove", "ann", "--run", "shop"), "--run: only with --add"),
        (("--add", "ann", "--scope", "all"), "'--scope': 'all' is not one of"),
    ],
)
def test_what_makes_no_key_is_refused(
    run: Run, tmp_path: Path, arguments: tuple[str, ...], words: str
) -> None:
    code, out, err = run("keys", tmp_path / "ledger.keys", *arguments)
    assert (code, out) == (2, "")
    assert words in err
    assert list(tmp_path.iterdir()) == []


def test_a_database_elsewhere_needs_a_file_of_keys(run: Run) -> None:
    code, _, err = run("keys", "postgresql+psycopg://host/ledger")
    assert (code, "must be a file, as FILE.keys" in err) == (2, True)


def test_it_does_not_serve_without_a_key(run: Run, tmp_path: Path) -> None:
    Accountant(Budget(1.0), store=tmp_path / "ledger.db").ledger.close()  # type: ignore[attr-defined]
    code, out, err = run("serve", config(tmp_path, f"store = '{tmp_path}/ledger.db'"))
    assert (code, out) == (2, "")
    assert "there is no key; make one with `dpwitness keys STORE --add" in err


def test_a_run_is_created_by_name(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    create = (
        "ledger",
        "create",
        folder,
        "--learner",
        "cucb-ldp-bit",
        "--problem",
        "top-k",
        "--set",
        "arms=4",
        "--set",
        "size=2",
    )
    code, out, err = run(*create, "--epsilon", 6, "--set", "epsilon=2", "--set", "horizon=100")
    assert code == 0, err
    assert "each record may lose epsilon = 6" in out
    assert "its messages are randomized in the service" in err
    with load_named_run(folder) as loaded:
        assert isinstance(loaded.learner, CUCBLDPBit)
        assert (loaded.learner.structure.arms, loaded.learner.horizon) == (4, 100)
        assert loaded.accountant.budget == Budget(6.0)
    code, _, err = run(*create, "--epsilon", 2, "--set", "horizon=100")
    assert (code, "holds a run" in err) == (2, True)


def test_a_run_whose_records_cannot_pay_says_so(run: Run, tmp_path: Path) -> None:
    code, _, err = run(*new(tmp_path / "a", "dp-bandit"), "--epsilon", 0.5, "--set", "epsilon=1")
    assert code == 0
    assert "may lose ε = 1, which is more than each record may lose" in err
    code, _, err = run(*new(tmp_path / "b", "dp-bandit"), "--epsilon", 1)
    assert (code, err) == (0, "")


def test_a_run_is_created_without_a_horizon(run: Run, tmp_path: Path) -> None:
    code, out, _ = run(*new(tmp_path / "free", "cucb-batch"), "--epsilon", 1)
    assert (code, "each record may lose epsilon = 1" in out) == (0, True)
    with load_named_run(tmp_path / "free") as kept:
        assert kept.learner.rounds.horizon is None
    code, _, err = run(*new(tmp_path / "bound", "published/cucb-dp"), "--epsilon", 1)
    assert (code, "horizon = None: must be given: its noise or" in err) == (2, True)
    code, _, err = run(*new(tmp_path / "bound", "cucb-batch"), "--epsilon", 1, "--set", "horizon=1e3")
    assert (code, "horizon = 1e3: must be an integer of at least 1" in err) == (2, True)
    assert not (tmp_path / "bound").exists()


def test_a_run_of_a_contextual_learner_is_created_by_name_or_from_a_file(run: Run, tmp_path: Path) -> None:
    create = ("--epsilon", 1, "--delta", 1e-5, "--set", "horizon=100")
    code, out, err = run(*new(tmp_path / "named", "dp-linucb"), *create, "--set", "dimension=5")
    assert (code, err) == (0, "")
    assert "each record may lose epsilon = 1, delta = 1e-05" in out
    (tmp_path / "mine.py").write_text(
        "from algorithms.problems import LinearContexts\nproblem = LinearContexts([0.5, 0.1], 4)\n"
    )
    own = ("--problem", f"{tmp_path}/mine.py:problem")
    assert run(*new(tmp_path / "own", "dp-linucb"), *create, *own, "--set", "norm=0.6")[0] == 0
    for name, features, norm in (("named", 5, 1.0), ("own", 2, 0.6)):
        with run_loader(str(tmp_path / name))() as loaded:
            learner = loaded.learner
            assert (learner.feedback_domain.features, learner.horizon, learner.norm) == (features, 100, norm)
            learner.issue()
            loaded.save()
        code, out, _ = run("ledger", "show", tmp_path / name, "--json")
        assert (code, [each["action"] for each in json.loads(out)["waiting"]]) == (0, [[]])
    for learner, more, words in (
        ("dp-linucb", ("--problem", "top-k"), "plays contextual problems, not"),
        ("cucb-batch", ("--problem", "contexts"), "bandit problems, not a contextual problem"),
        ("cucb-batch", own, "bandit problems, not a contextual problem"),
        ("dp-linucb", ("--set", "dimension=0"), "dimension"),
        ("dp-linucb", ("--trust", "local"), "asks no device for a single message"),
    ):
        code, _, err = run(*new(tmp_path / "none", learner), *create, *more)
        assert (code, words in err) == (2, True), err
    code, _, err = run(*new(tmp_path / "none", "dp-linucb"), "--epsilon", 1, "--set", "horizon=100")
    assert (code, "--delta None: must be given" in err) == (2, True)
    assert not (tmp_path / "none").exists()


def test_a_run_of_local_trust_is_of_a_learner_that_asks_for_messages(run: Run, tmp_path: Path) -> None:
    create = ("--epsilon", 1, "--set", "horizon=100", "--trust", "local")
    code, _, err = run(*new(tmp_path / "sums", "cucb-batch"), *create)
    assert code == 2
    assert "cucb-batch asks no device for a single message; cascade-ucb-rr, cucb-ldp-bit," in err
    assert not (tmp_path / "sums").exists()
    code, _, err = run(*new(tmp_path / "bits", "cucb-ldp-bit"), *create)
    assert (code, err) == (0, "")
    with load_named_run(tmp_path / "bits") as loaded:
        assert loaded.accountant.trust is Trust.LOCAL


def test_a_run_with_rules_has_the_purpose_with_which_it_is_first_served(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, rules, keys = tmp_path / "run", tmp_path / "rules.toml", tmp_path / "web.keys"
    rules.write_text('[[rule]]\nepsilon = 1\npurpose = "ads"\ntenant = "shop"\ndays = 30\n')
    create = (*new(folder, "cucb-ldp-bit"), "--epsilon", 9, "--set", "horizon=9", "--rules", rules)
    assert run(*create, "--set", "epsilon=0.5")[0] == 0
    assert run("keys", keys, "--add", "web", "--scope", "act")[0] == 0
    own = f"keys = '{keys}'\n[[run]]\nname = 'web'\nwhere = '{folder}'\n"

    def opens(parts: Sequence[Any], *_: Any, limits: ServiceLimits, **__: Any) -> None:
        with parts[0](limits):
            pass

    monkeypatch.setattr("accountant.service.server.serve", opens)

    def served(**scope: str) -> str:
        given = "".join(f"{name} = '{word}'\n" for name, word in scope.items())
        code, _, err = run("serve", config(tmp_path, own + given))
        assert (code, err.count("\n")) == ((2, 1) if err else (0, 0))
        return err

    for wrong in ({}, {"purpose": "ads"}, {"purpose": "adz", "tenant": "shop"}):
        assert "no rule permits charges for this" in served(**wrong)
    with load_named_run(folder) as loaded:
        assert loaded.accountant.rules == (Rule(Budget(1.0), purpose="ads", tenant="shop", days=30),)
        with pytest.raises(PurposeRefused):
            loaded.accountant.check_permitted()
    assert served(purpose="ads", tenant="shop") == ""
    assert served() == served(purpose="ads", tenant="shop") == ""
    for other in ({"purpose": "ads"}, {"purpose": "care", "tenant": "shop"}):
        assert "must stay purpose 'ads' and tenant 'shop', which all charges of" in served(**other)
    with load_named_run(folder) as loaded:
        loaded.accountant.check_permitted()
    code, out, err = run("ledger", "show", folder)
    assert (code, "purpose 'ads' and tenant 'shop' in any 30" in out) == (0, True), out + err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("cucb-batch-leest", "--epsilon", 1), "did you mean"),
        (("cucb-batch", "--epsilon", 0), "--epsilon 0.0: must be a number from 1e-07"),
        (("cucb-batch", "--epsilon", 1, "--set", "delta=0.1"), "--delta 0.1: must not be given"),
        (("cucb-batch-gaussian", "--epsilon", 1), "--delta None: must be given"),
        (("cucb-batch", "--epsilon", 1, "--problem", "cascade"), "plays"),
        (("cucb-batch", "--epsilon", 1, "--set", "arm=3"), "arm"),
        (("cucb", "--epsilon", 1), "--learner cucb: has no privacy"),
        (("published/dpucb-mat", "--epsilon", 1), "starts on the outcomes of all arms at once"),
    ],
)
def test_what_is_no_run_is_refused_before_its_folder_is_made(
    run: Run, tmp_path: Path, arguments: tuple[object, ...], words: str
) -> None:
    code, _, err = run("ledger", "create", tmp_path / "run", "--learner", *arguments, "--set", "horizon=100")
    assert (code, words in err) == (2, True), err
    assert not (tmp_path / "run").exists()


ONE = "[[run]]\nname = 'web'\nwhere = 'a'\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "store, or [[run]], or both must be given"),
        ("[[run]]\nname = 'web'", "[[run]] must have where"),
        (ONE + ONE, "[[run]] web: given more than once"),
        (ONE, "keys: must be a file"),
        ("anchor = 'b'\nkeys = 'k.keys'\n" + ONE, "so store must be given"),
        ("keys = 'k'\n" + ONE, "keys = 'k': must end in .keys"),
        ("store = 'a.db'\nport = '80'", "port = '80': must be a whole number"),
        ("store = 'a.db'\nport = 65536", "port = 65536: must be from 0 to 65535"),
        ("store = 'a.db'\nport = -1", "port = -1: must be from 0 to 65535"),
        ("store = 'a.db'\nport = true", "port = True: must be a whole number"),
        ("store = 'a.db'\nhots = 'x'", "did you mean host"),
        ("store = 'a.db'\n[tls]\nplain = true", "unknown key of"),
        ("store = 'a.db'\n[limits]\ntimeout = 'long'", "[limits] timeout = 'long': must be a number"),
        ("store = 'a.db'\n[limits]\ntimeout = 0", "must be positive"),
        ("store = 'a.db'\nrun = 3", "run must be tables [[run]]"),
        ("store", "not valid TOML"),
    ],
)
def test_what_is_to_be_served_must_be_said(run: Run, tmp_path: Path, text: str, words: str) -> None:
    code, out, err = run("serve", config(tmp_path, text))
    assert (code, out) == (2, "")
    assert words in err
    assert "serve.toml" in err or "positive" in words


def test_a_run_is_served_by_its_name_or_its_builder(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What would listen is called instead."""
    builder = tmp_path / "mine.py"
    builder.write_text(
        "from algorithms import CUCBLDPBit\nfrom algorithms.problems import TopK\n"
        "def build(gate):\n    return CUCBLDPBit(TopK(4, 2), gate, epsilon=1.0, horizon=9)\n"
    )
    with DurableRun(load_object(f"{builder}:build"), Accountant(Budget(1.0))) as mine:  # type: ignore[arg-type]
        mine.save(tmp_path / "mine")
    keys = tmp_path / "web.keys"
    assert run("keys", keys, "--add", "web", "--scope", "act", "--scope", "observe")[0] == 0
    assert run(*new(tmp_path / "named", "cucb-ldp-bit"), "--epsilon", 1, "--set", "horizon=9")[0] == 0
    served: list[str] = []

    def listens(parts: Sequence[Any], *_: Any, limits: ServiceLimits, **__: Any) -> None:
        with ExitStack() as opened:
            for part in parts:
                served.extend(each.path for each in opened.enter_context(part(limits)).operations)

    monkeypatch.setattr("accountant.service.server.serve", listens)
    runs = f"keys = '{keys}'\n" + "".join(
        f"[[run]]\nname = '{name}'\nwhere = '{tmp_path / where}'\n"
        for name, where in (("a", "named"), ("b", "mine"))
    )
    assert run("serve", config(tmp_path, f"{runs}build = '{builder}:build'"))[0] == 0
    assert {"/v1/runs/a/act", "/v1/runs/b/act"} < set(served)
    code, _, err = run("serve", config(tmp_path, runs))
    assert (code, "does not name its learner" in err) == (2, True)


OWN = """
from algorithms import CUCBLDPBit
from algorithms.problems import TopK

class Seen:
    rounds = 0

class Mine(CUCBLDPBit):
    def __init__(self, *given, **named):
        super().__init__(*given, **named)
        self.seen = [Seen(), Seen]

    def choose(self, *available):
        self.seen.append(Seen())
        return super().choose(*available)

def build(gate):
    return Mine(TopK(4, 2), gate, epsilon=1.0, horizon=9)
"""
SCRIPT = """
from accountant import Accountant, Budget
from algorithms import DurableRun

with DurableRun(build, Accountant(Budget(1.0))) as run:
    run.learner.issue()
    run.save(FOLDER)
"""


@pytest.mark.slow
@pytest.mark.parametrize("how", ["import", "script"])
def test_a_learner_of_ones_own_is_the_same_however_its_file_was_read(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """As a module, as a script, and by `build` of a service: the same code, and objects of the same classes."""
    file, folder = tmp_path / f"own_{how}.py", tmp_path / "run"
    begins = SCRIPT.replace("FOLDER", repr(str(folder)))
    file.write_text(
        OWN + ("\nif __name__ == '__main__':" + begins.replace("\n", "\n    ") if how == "script" else "")
    )
    (tmp_path / "begin.py").write_text(f"from own_{how} import build\n{begins}")
    begun = file if how == "script" else tmp_path / "begin.py"
    root = str(Path(__file__).parents[3])
    subprocess.run([sys.executable, str(begun)], check=True, env={**os.environ, "PYTHONPATH": root})

    def opens(parts: Sequence[Any], *_: Any, limits: ServiceLimits, **__: Any) -> None:
        with ExitStack() as opened:
            for part in parts:
                opened.enter_context(part(limits))

    monkeypatch.setattr("accountant.service.server.serve", opens)
    one = f"[[run]]\nname = 'web'\nwhere = '{folder}'\nbuild = '{file}:build'"
    serve = ("serve", config(tmp_path, f"keys = '{tmp_path}/web.keys'\n{one}"))
    for _ in range(2):
        code, _, err = run(*serve)
        assert code == 0, err
    monkeypatch.syspath_prepend(str(tmp_path))
    with DurableRun.load(folder, importlib.import_module(f"own_{how}").build) as again:
        assert [type(each).__name__ for each in again.learner.seen] == ["Seen", "type", "Seen"]
        assert len(again.learner.waiting) == 1
    file.write_text(file.read_text().replace("rounds = 0", "rounds = 1"))
    code, _, err = run(*serve)
    assert (code, f": own_{how} changed since" in err) == (2, True), err


SHELVES = """
import numpy as np
from algorithms.problems import SemiBandit

class Shelves:
    arms, size = 4, 2
    alpha = beta = smoothness_l1 = 1.0
    smoothness_linf = 2.0

    def solve(self, weights):
        return np.stack([weights[:, :2].argmax(axis=1), 2 + weights[:, 2:].argmax(axis=1)], axis=1)

    def reward(self, super_arm, means):
        return np.take(means, super_arm).sum(axis=1)

    def optimum(self, means):
        return float(means[:2].max() + means[2:].max())

problem = SemiBandit(Shelves(), [0.1, 0.2, 0.9, 0.3])
"""


def test_a_run_on_a_structure_of_ones_own(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is read again when the run is served; if the file says something else, somebody has to agree."""
    shop, folder = tmp_path / "shop.py", tmp_path / "run"
    shop.write_text(SHELVES)
    keys = tmp_path / "web.keys"
    assert run("keys", keys, "--add", "web", "--scope", "act")[0] == 0
    monkeypatch.chdir(tmp_path)
    create = (*new(folder, "cucb-batch"), "--epsilon", 1, "--set", "horizon=100")
    code, _, err = run(*create, "--problem", "shop.py:problem", "--set", "arms=4")
    assert (code, "unknown parameter 'arms'" in err, folder.exists()) == (2, True, False)
    code, _, err = run(*create, "--problem", "shop.py:problem")
    assert code == 0, err
    monkeypatch.chdir("/")
    with pytest.raises(
        ValueError, match=r"its problem is a user's own, .*shop\.py:problem: give read_problem"
    ):
        load_named_run(folder)

    sent: list[Any] = []

    def acts(parts: Sequence[Any], *_: Any, limits: ServiceLimits, **__: Any) -> None:
        with ExitStack() as opened:
            for part in parts:
                for each in opened.enter_context(part(limits)).operations:
                    if each.path.endswith("/act"):
                        sent.append(
                            each.answer("web", {"request": f"r{len(sent)}", "record": f"u{len(sent)}"})
                        )

    monkeypatch.setattr("accountant.service.server.serve", acts)
    shop_run = f"keys = '{keys}'\n[[run]]\nname = 'shop'\nwhere = '{folder}'\n"
    serve = ("serve", config(tmp_path, shop_run))
    assert run(*serve)[0] == 0
    shop.write_text(SHELVES.replace("np.take(means, super_arm)", "means[super_arm]"))
    code, _, err = run(*serve)
    assert (code, ": shop changed since" in err) == (2, True), err
    word = err.rpartition("accept_code = '")[2].partition("'")[0]
    for given, expected in ((word[::-1], 2), (word, 0)):
        code, _, err = run("serve", config(tmp_path, f"{shop_run}accept_code = '{given}'"))
        assert code == expected, err
    config(tmp_path, shop_run)
    assert run(*serve)[0] == 0  # from its next save on it is the run's own
    assert [len(each["action"]) for each in sent] == [2, 2, 2]
    shop.unlink()
    code, _, err = run(*serve)
    assert (code, "shop.py: no such file" in err) == (2, True), err


@pytest.fixture(params=["folder", "postgresql"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path / "run") if request.param == "folder" else request.getfixturevalue("url")


def test_waiting_actions_of_a_run_are_shown_and_expire(
    run: Run, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    show, expire = ("ledger", "show", where), ("ledger", "amend", where, "--expire", "1h")
    assert run(*new(where, "cucb-batch"), "--epsilon", 1, "--set", "horizon=100")[0] == 0
    code, _, err = run(*new(where, "cucb-batch"), "--epsilon", 1, "--set", "horizon=100")
    assert (code, "holds a run, whose budgets a new one would forget" in err) == (2, True), err
    assert "no action waits for its feedback\n" in run(*show)[1]
    desk = RunDesk("web", lambda: load_named_run(where), 100)
    desk.act("client", "one", "ann")
    code, out, _ = run(*show)
    assert (code, "waiting actions are not known: " in out, "is held by this process" in out) == (
        0,
        True,
        True,
    )
    desk.close()
    code, out, _ = run(*show, "--json")
    assert (code, [each["record"] for each in json.loads(out)["waiting"]]) == (0, ["ann"])
    assert "ann" in run(*show)[1]
    assert run(*expire)[1] == "withdrawn: 0; open: 1\n"
    now = clock.wall() + 3_600_000
    monkeypatch.setattr(clock, "wall", lambda: now)
    assert run(*expire)[1] == "withdrawn: 1; open: 0\n"
    assert "no action waits for its feedback\n" in run(*show)[1]
    for wrong in ("2", "h", "-1h", "1w", "1e3s"):
        code, _, err = run("ledger", "amend", where, "--expire", wrong)
        assert (code, "must be a number with its unit" in err) == (2, True), err
    code, out, _ = run("check", where)
    assert (code, "entries" in out) == (0, True)


def test_a_url_in_the_learners_place_is_not_printed(run: Run) -> None:
    """It was, with its password, as the name of an unknown learner."""
    code, _, err = run(*new("dp-bandit", "postgresql+psycopg://me:hidden@host/run"), "--epsilon", 1)
    assert code == 2
    assert "--learner: must be the name of a learner, not where the run is kept" in err
    assert "hidden" not in err
