"""Breaks the code at random places and reports which mutants the tests do not catch.

    python tests/benchmarks/break_the_code.py --map
    python tests/benchmarks/break_the_code.py --count 50 --under verify/events --seed 1

``--map`` runs the default suite once and keeps in ``.benchmarks/`` which test calls which function; again after
tests have been added. Then each mutant, in a temporary copy of the tree, meets the tests that call the mutated
function: those of the mirrored file first, then the cheapest, up to 12 s of CPU time. The survivors are put
together, at most 20 to a copy, and meet the whole default suite (``--no-rest`` leaves that out); a test that fails
there is tried on each of them alone. A failure counts only where the same test passes on the code as it is. A
mutant that hangs is caught, too. The libraries are imported once: every run is a fork.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import importlib
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from shutil import copy, copytree, ignore_patterns

import pytest
from function_calls import PACKAGES, ROOT
from mutants import Mutant, chosen

MAP = ROOT / ".benchmarks" / "function_calls.json"
MOST_SECONDS, MOST_FILES, MOST_TOGETHER = 12.0, 15, 20
HANGING_TEST = ("-o", "faulthandler_timeout=300", "-o", "faulthandler_exit_on_timeout=true")


@dataclass(frozen=True)
class TestCalls:
    """The functions that a test calls, each as ``file:name``, and its CPU seconds."""

    functions: frozenset[str]
    seconds: float


class OnlyThese:
    """A pytest plugin that runs the tests of a list only, in its order, and writes down what starts and fails."""

    def __init__(self, wanted: Sequence[str], file: Path) -> None:
        self.order = {test: i for i, test in enumerate(wanted)}
        self.events = file.open("w", buffering=1)  # whole lines, for a process that may end at any time

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        dropped = [item for item in items if item.nodeid not in self.order]
        items[:] = sorted(
            (item for item in items if item.nodeid in self.order), key=lambda item: self.order[item.nodeid]
        )
        config.hook.pytest_deselected(items=dropped)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        print("starts", nodeid, file=self.events)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            print("fails", report.nodeid, file=self.events)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            print("fails", report.nodeid, file=self.events)


class Tree:
    """A copy of the packages and the tests, in which mutants are tried."""

    def __init__(self, folder: Path, calls: dict[str, TestCalls]) -> None:
        self.folder, self.calls = folder, calls
        self.fail_anyway: dict[str, bool] = {}
        self.second = 0
        for name in (*PACKAGES, "tests", "docs"):
            copytree(ROOT / name, folder / name, ignore=ignore_patterns("__pycache__", ".*"))
        for file in ROOT.iterdir():  # tests read what stands beside the packages, too
            if file.is_file() and not file.name.startswith("."):
                copy(file, folder)

    def write(self, file: Path, source: bytes) -> None:
        """Write a file with a time of its own: within a second, one of the same size would pass for the last one."""
        file.write_bytes(source)
        self.second += 1
        os.utime(file, (self.second, self.second))

    def failures(
        self, mutants: Iterable[Mutant], tests: Sequence[str], *options: str
    ) -> tuple[list[str], list[str]]:
        """The tests (or files) that fail with these mutants, and those not run because the process ended before."""
        sources = {mutant.file: (self.folder / mutant.file).read_bytes() for mutant in mutants}
        broken = dict(sources)
        for mutant in sorted(
            mutants, key=lambda mutant: -mutant.start
        ):  # the places before stay where they are
            text = broken[mutant.file]
            broken[mutant.file] = text[: mutant.start] + mutant.new.encode() + text[mutant.end :]
        for name, text in broken.items():
            self.write(self.folder / name, text)
        process = os.fork()
        if not process:
            self.run(tests, options)
        try:
            ended = self.wait(process, 60.0 + 10.0 * sum(self.seconds(test) for test in tests))
        finally:  # with what the tests have started
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process, signal.SIGKILL)
            for name, text in sources.items():
                self.write(self.folder / name, text)
        events = [line.split(" ", 1) for line in (self.folder / "events").read_text().splitlines()]
        started = [test for event, test in events if event == "starts"]
        failed = [test for event, test in events if event == "fails"]
        if ended:
            return list(dict.fromkeys(failed)), []
        failed += started[-1:] or [tests[0].partition("::")[0]]
        return list(dict.fromkeys(failed)), [test for test in tests if test not in set(started)]

    def run(self, tests: Sequence[str], options: Sequence[str]) -> None:
        """Run the tests in this process, a fork, and end it."""
        os.setsid()
        os.chdir(self.folder)
        for stream, file in enumerate((os.devnull, "output", "output")):
            os.dup2(os.open(file, (os.O_CREAT | os.O_TRUNC | os.O_WRONLY) if stream else os.O_RDONLY), stream)
        paths = [str(self.folder), str(self.folder / "tests" / "benchmarks")]
        os.environ |= {"PYTHONPATH": os.pathsep.join(paths), "PYTHONDONTWRITEBYTECODE": ""}
        sys.path[:] = paths + [path for path in sys.path if not path.startswith(str(ROOT))]
        sys.argv = ["pytest"]
        for name in ("function_calls", "mutants"):
            sys.modules.pop(name)
        importlib.invalidate_caches()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        files = dict.fromkeys(
            file for file in (test.partition("::")[0] for test in tests) if Path(file).exists()
        )
        ignored = ("-W", "ignore::pytest.PytestAssertRewriteWarning")  # plugins that are imported already
        code = 3
        try:
            code = int(
                pytest.main(
                    ["-q", "--tb=no", *ignored, *HANGING_TEST, *options, *files],
                    plugins=[OnlyThese(tests, self.folder / "events")],
                )
            )
        finally:
            os._exit(code)

    def wait(self, process: int, seconds: float) -> bool:
        """Return True if pytest ended by itself within a time limit in seconds."""
        limit = time.monotonic() + seconds
        while time.monotonic() < limit:
            done, status = os.waitpid(process, os.WNOHANG)
            if done:
                return os.waitstatus_to_exitcode(status) in (0, 1, 2, 5)
            time.sleep(0.05)
        os.killpg(process, signal.SIGKILL)
        os.waitpid(process, 0)
        return False

    def seconds(self, test: str) -> float:
        """The CPU seconds of a test."""
        return self.calls[test].seconds if test in self.calls else 0.0

    def fails_anyway(self, test: str) -> bool:
        """Return True if the test fails on the unbroken code."""
        if test not in self.fail_anyway:
            self.fail_anyway[test] = bool(self.failures([], [test])[0])
        return self.fail_anyway[test]

    def covering(self, mutant: Mutant) -> list[str]:
        """The tests that call the mutated function: mirrored first, then the cheapest.

        Of one that none calls, as it runs at import, those that call its module or stand in the mirrored folder.
        """
        function, module = f"{mutant.file}:{mutant.function}", f"{mutant.file}:"
        calling = [test for test, called in self.calls.items() if function in called.functions] or [
            test
            for test, called in self.calls.items()
            if Path(test.partition("::")[0]).parent == Path(mirrored(mutant)).parent
            or any(name.startswith(module) for name in called.functions)
        ]
        calling.sort(key=lambda test: (not test.startswith(mirrored(mutant)), self.seconds(test)))
        found, files, work = [], set(), 0.0
        for test in calling:
            file = test.partition("::")[0]
            if work + self.seconds(test) < MOST_SECONDS and len(files | {file}) <= MOST_FILES:
                found.append(test)
                files.add(file)
                work += self.seconds(test)
        return found

    def catching_test(self, mutant: Mutant) -> str:
        """The first covering test that fails with the mutant alone, or an empty text."""
        tests = self.covering(mutant)
        while tests and (failed := self.failures([mutant], tests, "-x")[0]):
            if not self.fails_anyway(failed[0]):
                return failed[0]
            tests = [test for test in tests if not f"{test}::".startswith(f"{failed[0]}::")]
        return ""

    def caught_together(self, mutants: Sequence[Mutant]) -> dict[Mutant, str]:
        """Those of the mutants that the whole suite catches, with a test that fails with each alone."""
        alive, caught, tests = list(mutants), dict[Mutant, str](), list(self.calls)
        while tests and alive:
            failed, tests = self.failures(alive, tests, "--continue-on-collection-errors")
            failed = [test for test in failed if not self.fails_anyway(test)]
            for test in failed[:1]:
                functions = self.calls[test].functions if test in self.calls else frozenset[str]()
                files = {name.partition(":")[0] for name in functions}
                likely = sorted(alive, key=lambda mutant: mutant.file not in files)
                culprit = next((mutant for mutant in likely if self.failures([mutant], [test])[0]), None)
                if culprit is not None:
                    caught[culprit] = test
                    alive.remove(culprit)
                    tests = [*failed, *tests]
                else:  # some of them together
                    tests = [*failed[1:], *tests]
        return caught


def mirrored(mutant: Mutant) -> str:
    """The test file that stands where the mutated file does."""
    path = Path(mutant.file)
    return str(Path("tests", *path.parts[:-1], f"test_{path.name}"))


def groups(mutants: Iterable[Mutant]) -> list[list[Mutant]]:
    """The mutants by groups for one copy of the tree each: no place is changed twice in one."""
    found: list[list[Mutant]] = []
    for mutant in mutants:
        for group in found:
            apart = all(
                mutant.file != other.file or mutant.end <= other.start or other.end <= mutant.start
                for other in group
            )
            if apart and len(group) < MOST_TOGETHER:
                group.append(mutant)
                break
        else:
            found.append([mutant])
    return found


def measure() -> None:
    """Run the default suite once and keep which test calls what, and how long each takes."""
    MAP.parent.mkdir(exist_ok=True)
    paths = [str(ROOT), str(Path(__file__).parent)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths), "FUNCTION_CALLS": str(MAP)}
    subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "function_calls"], cwd=ROOT, env=environment)


def known_calls() -> dict[str, TestCalls]:
    """Return the calls that ``--map`` measured; imports the libraries that the tests did."""
    found: dict[str, TestCalls] = {}
    for file in sorted(MAP.parent.glob(f"{MAP.stem}*.json")):  # one for each process that ran tests
        held = json.loads(file.read_text())
        for test, entry in held["tests"].items():
            functions = frozenset(held["names"][i] for i in entry["calls"])
            found[test] = TestCalls(functions, entry["seconds"])
        for library in held["libraries"]:
            with contextlib.suppress(ImportError):
                importlib.import_module(library)
    gc.freeze()  # forks share what is there
    return found


TREES: list[Tree] = []  # that of this process


def plant(folder: str, calls: dict[str, TestCalls]) -> None:
    """Make the tree of this process."""
    TREES.append(Tree(Path(folder, str(os.getpid())), calls))


def try_alone(mutant: Mutant) -> tuple[Mutant, str]:
    """A mutant and the covering test that catches it, or an empty text."""
    return mutant, TREES[0].catching_test(mutant)


def try_together(mutants: Sequence[Mutant]) -> dict[Mutant, str]:
    """Those of the mutants that the whole suite catches, each with a test."""
    return TREES[0].caught_together(mutants)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=20, help="mutants")
    parser.add_argument("--under", nargs="+", default=list(PACKAGES), help="packages, folders or files")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--no-rest", dest="rest", action="store_false", help="stop after the covering tests")
    parser.add_argument("--list", action="store_true", help="show the mutants, run nothing")
    parser.add_argument("--map", action="store_true", help="measure which tests call which function, and end")
    options = parser.parse_args()
    if options.map:
        return measure()
    mutants = chosen(options.under, options.count, options.seed)
    if options.list:
        print(*mutants, sep="\n")
        return
    calls = known_calls()
    if not calls:
        parser.error("nothing is known of the tests: run --map first")
    fates: dict[Mutant, str] = {}
    by = dict.fromkeys(("mirrored", "covering", "rest"), frozenset[Mutant]())
    with (
        tempfile.TemporaryDirectory() as folder,
        multiprocessing.get_context("fork").Pool(options.jobs, plant, (folder, calls)) as pool,
    ):
        for mutant, test in pool.imap(try_alone, mutants):
            fates[mutant] = test
            print(f"{mutant}  ==>  {test or 'survived the covering tests'}", flush=True)
        by["mirrored"] = frozenset(
            mutant for mutant, test in fates.items() if test and test.startswith(mirrored(mutant))
        )
        by["covering"] = frozenset(mutant for mutant, test in fates.items() if test) - by["mirrored"]
        survivors = [mutant for mutant, test in fates.items() if not test]
        for caught in pool.imap(try_together, groups(survivors)) if options.rest else ():
            by["rest"] |= caught.keys()
            for mutant, test in caught.items():
                print(f"{mutant}  ==>  {test}", flush=True)
    print(f"\n{'':12} {'mutants':>8} {'caught':>8} {'mirrored':>9} {'covering':>9} {'rest':>6}")
    for package in (*PACKAGES, ""):
        those = [mutant for mutant in fates if mutant.file.startswith(package)]
        if those:
            counts = [sum(mutant in found for mutant in those) for found in by.values()]
            share = sum(counts) / len(those)
            print(
                f"{package or 'all':12} {len(those):8} {share:8.0%} {counts[0]:9} {counts[1]:9} {counts[2]:6}"
            )


if __name__ == "__main__":
    main()
