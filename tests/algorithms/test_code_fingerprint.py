"""A restart notices that the learner's code has changed."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from accountant import Accountant, Budget
from algorithms import CUCBBatch, DurableRun, code_fingerprint
from algorithms.code_fingerprint import code_digests, fingerprint
from algorithms.durable.durable_run import CodeChanged
from algorithms.durable.state import StateError
from algorithms.problems import TopK
from algorithms.semi_bandits import cucb_batch

SHOP = {
    "shop/__init__.py": "from .prices import RATE\nfrom .unrelated import other\n",
    "shop/config.py": "EXPLORE = 0.5\nTABLE = [1, 2]\n",
    "shop/prices.py": "RATE = 2.0\n",
    "shop/lazy.py": "from . import deep\ndef g(x): return x + deep.ONE\n",
    "shop/deep.py": "ONE = 1\n",
    "shop/unrelated.py": "def other(): pass\n",
    "shop/only_types.py": "class T: pass\n",
    "shop/learner.py": """
from typing import TYPE_CHECKING
from shop.config import EXPLORE
from shop import RATE
if TYPE_CHECKING:
    from shop.only_types import T
class Learner:
    def act(self):
        from .lazy import g
        return g(EXPLORE * RATE)
""",
}


OURS = frozenset({"algorithms", "accountant", "mechanisms"})


def build(gate: Any, epsilon: float = 1.0) -> CUCBBatch:
    return CUCBBatch(TopK(arms=6, size=2), gate, epsilon=epsilon, horizon=1000)


def load(path: Path, **settings: Any) -> DurableRun[Any]:
    return DurableRun.load(path, settings.pop("build", build), noise=np.random.default_rng(0), **settings)


@pytest.fixture(autouse=True)
def fresh_digests() -> Iterator[None]:
    """Forget digests before and after a test that changes sources."""
    code_fingerprint.forget_sources()
    yield
    code_fingerprint.forget_sources()


class Editor:
    """Lets the module of the batch learners have other source."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.source = inspect.getsource(cucb_batch)
        real = inspect.getsource
        monkeypatch.setattr(
            "algorithms.code_fingerprint.inspect.getsource",
            lambda module: self.source if module is cucb_batch else real(module),
        )

    def edit(self, old: str, new: str) -> None:
        assert old in self.source
        self.source = self.source.replace(old, new)
        code_fingerprint.forget_sources()


def test_changed_code_is_refused_until_somebody_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run"
    editor = Editor(monkeypatch)
    with DurableRun(build, Accountant(Budget(1.0), noise=np.random.default_rng(1))) as run:
        run.save(path)
    editor.edit("Return the oracle's answer", "Return what the oracle answers")  # a docstring
    editor.edit("# A hair more: the ledger", "# Hardly more: the ledger")
    load(path).close()
    editor.edit("0.25 if exchanged", "0.5 if exchanged")
    for code in (None, "another"):
        with pytest.raises(
            CodeChanged, match=r"other code: algorithms\.semi_bandits\.cucb_batch changed since"
        ) as refusal:
            load(path, code=code)
    assert f"code={refusal.value.code!r}" in str(refusal.value)
    with load(path, code=refusal.value.code) as run:
        run.save()
    load(path).close()  # now it is the code of the run


@pytest.mark.slow
def test_what_was_said_once_does_not_hold_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run"
    editor = Editor(monkeypatch)
    with DurableRun(build, Accountant(Budget(1.0), noise=np.random.default_rng(1))) as run:
        run.save(path)
    editor.edit("0.25 if exchanged", "0.5 if exchanged")
    with pytest.raises(CodeChanged) as refusal:
        load(path)
    editor.edit("0.5 if exchanged", "0.125 if exchanged")
    with pytest.raises(CodeChanged):
        load(path, code=refusal.value.code)
    with pytest.raises(
        StateError, match=r"other parameters.*epsilon.*\(and the code of algorithms.semi_bandits.cucb_batch"
    ):
        load(path, build=lambda gate: build(gate, 2.0))


def test_what_a_learner_uses_counts_and_nothing_else() -> None:
    digests = code_digests(["algorithms.semi_bandits.cucb_batch"], OURS)
    assert {
        "algorithms.semi_bandits.cucb_batch",
        "algorithms.estimates.chernoff",
        "mechanisms.noise.laplace",
    } <= set(digests)
    assert not {
        "algorithms.semi_bandits.dpucb_mat",
        "algorithms.durable.durable_run",
        "accountant.stored_accountant",
    } & set(digests)
    assert {name.partition(".")[0] for name in digests} == OURS
    assert code_digests(["numpy"], OURS) == {}
    assert fingerprint(digests) == fingerprint(dict(reversed(digests.items())))
    assert fingerprint(digests) != fingerprint({**digests, "algorithms.estimates.chernoff": "0"})


def test_a_module_without_source_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("typed_at_a_prompt")
    monkeypatch.setitem(sys.modules, "typed_at_a_prompt", module)
    module.chernoff = sys.modules["algorithms.estimates.chernoff"]  # type: ignore[attr-defined]
    digests = code_digests(["typed_at_a_prompt"], OURS | {"typed_at_a_prompt"})
    assert "typed_at_a_prompt" not in digests
    assert "algorithms.estimates.chernoff" in digests


class Proxy:
    """Something that may be asked nothing here, as a web server's request outside of a request."""

    @property
    def __class__(self) -> Any:
        raise RuntimeError("outside of a request")

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError("outside of a request")


def test_what_else_was_imported_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    server = ModuleType("server")
    monkeypatch.setitem(sys.modules, "server", server)
    monkeypatch.setitem(sys.modules, "server.pages", sys.modules["algorithms.estimates.chernoff"])
    server.request = Proxy()  # type: ignore[attr-defined]
    server.pages = ModuleType("server.pages")  # type: ignore[attr-defined]
    assert code_digests(["server"], OURS | {"server"}) == {}
    server.update = sys.modules["algorithms.lanes"].gather  # type: ignore[attr-defined]
    assert set(code_digests(["server"], OURS | {"server"})) >= {"algorithms.lanes"}


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package of somebody's own, on the path."""
    (tmp_path / "shop").mkdir()
    for name, source in SHOP.items():
        (tmp_path / name).write_text(source)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    importlib.invalidate_caches()
    yield tmp_path
    for name in [name for name in sys.modules if name.partition(".")[0] == "shop"]:
        del sys.modules[name]


def test_plain_values_and_imports_inside_functions_count(shop: Path) -> None:
    learner = importlib.import_module("shop.learner")

    def digests() -> dict[str, str]:
        code_fingerprint.forget_sources()
        return code_digests(["shop.learner"], frozenset({"shop"}))

    before = digests()
    assert set(before) == {f"shop.{name}" for name in ("learner", "config", "prices", "lazy", "deep")}
    assert "shop.lazy" not in sys.modules  # read, not imported
    learner.Learner().act()
    assert digests() == before  # whether it has been imported makes no difference
    for name, old, new in (
        ("config", "0.5", "0.9"),
        ("prices", "2.0", "3.0"),
        ("lazy", "x +", "x -"),
        ("deep", "= 1", "= 2"),
        ("learner", "EXPLORE *", "EXPLORE +"),
    ):
        path = shop / "shop" / f"{name}.py"
        source = path.read_text()
        path.write_text(source.replace(old, new) + "\n" * len(name))
        changed = digests()
        assert [key for key in before if changed[key] != before[key]] == [f"shop.{name}"]
        path.write_text(f"# only a comment, and a longer file\n{source}")
        assert digests() == before


def test_an_import_that_cannot_be_followed_is_left_out(shop: Path) -> None:
    (shop / "shop" / "learner.py").write_text(
        "from shop.config import *\ndef f():\n    from ....far import x\n    import shop.missing\n"
        "    from shop.broken import y\n    import shop.deep as d, json\n"
    )
    (shop / "shop" / "broken.py").write_text("def (:\n")
    importlib.import_module("shop.learner")
    code_fingerprint.forget_sources()
    assert set(code_digests(["shop.learner"], frozenset({"shop"}))) == {
        "shop.learner",
        "shop.config",
        "shop.deep",
    }


@pytest.mark.parametrize(
    ("files", "learner", "needed"),
    [
        ({}, "if not TYPE_CHECKING:\n    from shop.deep import ONE\n", {"deep"}),
        ({}, "if TYPE_CHECKING or True:\n    from shop.deep import ONE\n", {"deep"}),
        ({}, "ONE = __import__('shop.deep').deep.ONE\n", {"deep"}),
        ({}, "f = lambda: importlib.import_module('.deep', __package__).ONE\n", {"deep"}),
        ({"__init__": "from shop import deep\n"}, "import shop\n", {"__init__", "deep"}),
        (
            {"twice": "try:\n    from .deep import ONE\nexcept ImportError:\n    from .config import ONE\n"},
            "from .twice import ONE\n",
            {"twice", "deep", "config"},
        ),
        ({"twice": "from .deep import ONE\nONE *= 2\n"}, "from .twice import ONE\n", {"twice", "deep"}),
        (
            {"twice": "from .deep import ONE\ndef set_it():\n    global ONE\n    ONE = 2\n"},
            "from .twice import ONE\n",
            {"twice", "deep"},
        ),
    ],
)
def test_whatever_binds_a_name_counts(
    files: dict[str, str], learner: str, needed: set[str], shop: Path
) -> None:
    """A module that a name passes through counts if it does more to the name than import it once."""
    for name, text in files.items():
        (shop / "shop" / f"{name}.py").write_text(text)
    (shop / "shop" / "learner.py").write_text(
        f"import importlib\nfrom typing import TYPE_CHECKING\n{learner}"
    )
    importlib.import_module("shop.learner")
    code_fingerprint.forget_sources()
    found = code_digests(["shop.learner"], frozenset({"shop"}))
    wanted = {"shop" if name == "__init__" else f"shop.{name}" for name in {*needed, "learner"}}
    assert set(found) == wanted


EVERYWHERE = r"""
from os import path as p, sep
@decorated(1, *rest, key={'a': 0x10, **more})
class Kept(Base): pass
async def f(a, /, b: int = -1, *c, d=None, **e) -> "x":
    "left out"
    width = 1_000
    said = f"{a!r:>{width}}" f'{b:.2f}{"}"}' "'\n" '\"' u"\u0378\U0001fae8", b"\xff"
    more = f"{a:{width}}" + f"{a=}" + f"{a}" ""
    numbers = 1e400, 2j, 10**30, 0.1, ..., True, (yield), (1,), (), [*c], {*c}, c[1:2, ::3], c[*b], not a < b <= c
    with (open(a) as x, y): return lambda *, q=1: [i async for i in q if i if not i]
    try: del a.b, c[0]
    except* (A, B) as error: raise error from None
    finally: assert (n := 10), "why"
    match a:
        case {"k": [1, *_], **rest} | Point(x=0) if a: pass
        case (b.c | -1 | None) as d: global g
    for i, in a or b and c if d else e: continue
    else: x: int = await y @ z ** -w
"""


def test_digests_are_the_same_in_every_version_of_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Since 3.12 strings were quoted otherwise, and a saved run was refused: some of its modules had changed."""
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "everywhere.py").write_text(EVERYWHERE)
    assert code_digests(["everywhere"], frozenset({"everywhere"})) == {"everywhere": "c3c46fdb0e7b6684"}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("f('')", "f()"),
        ("f('', 1)", "f(1)"),
        ("f'{x}'", "f'{x!r}'"),
        ("f'{x:}'", "f'{x:1}'"),
        ("x = None", "x = 'None'"),
        ("{**a, 'b': 1}", "{a: 1, **b}"),
        ("x = 1", "x = 1.0"),
        ("x = 1", "x = True"),
        ("def f(*, a, b=1): pass", "def f(*, a=1, b): pass"),
        ("x[1:]", "x[:1]"),
        ("return_ = [a, b]", "return_ = [[a, b]]"),
        ("if a:\n    b\nc", "if a:\n    b\n    c"),
    ],
)
def test_different_code_has_different_digests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, one: str, other: str
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    for name, text in (("one", one), ("other", other)):
        (tmp_path / f"{name}_code.py").write_text(text)
    names = ["one_code", "other_code"]
    assert len(set(code_digests(names, frozenset(names)).values())) == 2
