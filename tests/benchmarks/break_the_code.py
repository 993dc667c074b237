"""Breaks the code at random places and reports which mutants the tests do not catch.

    python tests/benchmarks/break_the_code.py --count 50 --under verify/events --seed 1

Each mutant lives in a temporary copy of the tree. Its tests run in three stages, each only if the one before has
passed: the mirrored test file, the tests that call the mutated function, the rest of the default suite
(``--no-rest`` leaves that out). Which tests call a function is measured once by ``--map`` (the default suite runs
once, about as long as usual) and kept in ``.benchmarks/``; without the map, the tests of the files that import
the mutated module stand in (where none does: of its package). A failure counts only where the same test passes
on the code as it is; a mutant that hangs is caught, too.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import Queue

from function_calls import PACKAGES, ROOT
from mutants import Mutant, chosen

MAP = ROOT / ".benchmarks" / "function_calls.json"


@dataclass(frozen=True)
class TestCalls:
    """The functions that a test calls, each as ``file:name``, and its CPU seconds."""

    functions: frozenset[str]
    seconds: float


class Tree:
    """A copy of the packages and the tests, in which one mutant at a time is tried."""

    def __init__(self, folder: Path, calls: dict[str, TestCalls]) -> None:
        self.folder, self.calls = folder, calls
        self.fails_anyway: dict[str, bool] = {}
        self.process: subprocess.Popen[bytes] | None = None
        self.second = 0
        ignored = shutil.ignore_patterns("__pycache__", ".*")
        for name in (*PACKAGES, "tests", "docs"):
            shutil.copytree(ROOT / name, folder / name, ignore=ignored)
        for file in ROOT.iterdir():  # tests read what stands beside the packages, too
            if file.is_file() and not file.name.startswith("."):
                shutil.copy(file, folder)

    def run(
        self, arguments: list[str], timeout: float, only: list[str] | None = None
    ) -> tuple[int | None, str]:
        """The exit code (None: out of time) and the output of pytest in the copy."""
        paths = [str(self.folder), str(self.folder / "tests" / "benchmarks")]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths), "PYTHONDONTWRITEBYTECODE": ""}
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-x",
            "-q",
            "--tb=no",
            "-rfE",
            "-p",
            "function_calls",
            *arguments,
        ]
        if only is not None:
            (self.folder / "only.json").write_text(json.dumps(only))
            environment["ONLY_TESTS"] = str(self.folder / "only.json")
        with (self.folder / "output").open("w+") as output:
            process = self.process = subprocess.Popen(
                command,
                cwd=self.folder,
                env=environment,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
            try:
                code = process.wait(timeout)
            except subprocess.TimeoutExpired:
                self.stop()
                return None, ""
            output.seek(0)
            return code, output.read()

    def write(self, file: Path, source: bytes) -> None:
        """Write a file with a time of its own: within a second, one of the same size would pass for the last one."""
        file.write_bytes(source)
        self.second += 1
        os.utime(file, (self.second, self.second))

    def stop(self) -> None:
        """End the tests that run, and wait for their end."""
        if self.process is not None and self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def stages(self, mutant: Mutant, rest: bool) -> Iterator[tuple[str, list[str], list[str] | None, float]]:
        """Name, files, tests (None: all of the files) and time limit in seconds of each stage."""
        path = Path(mutant.file)
        mirrored = str(Path("tests", *path.parts[:-1], f"test_{path.name}"))
        if (self.folder / mirrored).exists():
            yield "mirrored", [mirrored], None, 300.0
        covering = self.covering(mutant, mirrored)
        if covering:
            files = sorted({test.partition("::")[0] for test in covering})
            work = sum(self.calls[test].seconds for test in covering)
            yield "covering", files, covering, 120.0 + 10.0 * work
        else:  # no map, or a file that it does not know
            module = re.escape(".".join(path.with_suffix("").parts).removesuffix(".__init__"))
            importing = [
                str(file.relative_to(self.folder)) for file in sorted(self.folder.glob("tests/**/test_*.py"))
                if re.search(rf"\b{module}\b", file.read_text())
            ]  # fmt: skip
            files = [file for file in importing if file != mirrored] or [f"tests/{path.parts[0]}"]
            yield "covering", files, None, 1800.0
        if rest:
            yield "rest", ["tests"], None, 3600.0

    def covering(self, mutant: Mutant, mirrored: str) -> list[str]:
        """The tests that call the mutated function, the cheapest first; those of its module if it is not known."""
        function, module = f"{mutant.file}:{mutant.function}", f"{mutant.file}:"
        known = {
            test: called for test, called in self.calls.items()
            if not test.startswith(mirrored) and (self.folder / test.partition("::")[0]).exists()
        }  # fmt: skip
        found = [test for test, called in known.items() if function in called.functions] or [
            test
            for test, called in known.items()
            if any(name.startswith(module) for name in called.functions)
        ]
        return sorted(found, key=lambda test: known[test].seconds)

    def fate(self, mutant: Mutant, rest: bool) -> str:
        """The first stage that catches the mutant (with the test), or ``survived``."""
        file = self.folder / mutant.file
        source = file.read_bytes()
        for stage, files, only, timeout in self.stages(mutant, rest):
            while True:
                left_out = [test for test, fails in self.fails_anyway.items() if fails]
                chosen_files = [file for file in files if file not in left_out]
                if not chosen_files:
                    break
                options = [f"--deselect={test}" if "::" in test else f"--ignore={test}" for test in left_out]
                self.write(file, source[: mutant.start] + mutant.new.encode() + source[mutant.end :])
                code, output = self.run([*chosen_files, *options], timeout, only)
                self.write(file, source)
                if code is None:
                    return f"{stage} (out of time)"
                if code in (0, 5):
                    break
                failed = re.search(r"^(?:FAILED|ERROR) ([^\s\[]+(?:\[.*?\])?)(?: - |$)", output, re.MULTILINE)
                test = failed.group(1) if failed else chosen_files[0]
                if test not in self.fails_anyway:
                    collect = [] if "::" in test else ["--collect-only"]
                    self.fails_anyway[test] = self.run([test, *collect], 600.0)[0] not in (0, 5)
                if not self.fails_anyway[test] or test in left_out:
                    return f"{stage} ({test})"
        return "survived"


def measure() -> None:
    """Run the default suite once and keep which test calls what, and how long each takes."""
    MAP.parent.mkdir(exist_ok=True)
    paths = [str(ROOT), str(Path(__file__).parent)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths), "FUNCTION_CALLS": str(MAP)}
    subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "function_calls"], cwd=ROOT, env=environment)


def known_calls() -> dict[str, TestCalls]:
    """What ``--map`` has measured; empty if it has not run."""
    found: dict[str, TestCalls] = {}
    for file in MAP.parent.glob(f"{MAP.stem}*.json"):  # one for each process that ran tests
        held = json.loads(file.read_text())
        for test, entry in held["tests"].items():
            functions = frozenset(held["names"][i] for i in entry["calls"])
            found[test] = TestCalls(functions, entry["seconds"])
    return found


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
    # As Ctrl-C, which ends the tests that run: they are in sessions of their own.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    calls = known_calls()
    fates: dict[Mutant, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        every = [Tree(Path(folder, str(job)), calls) for job in range(options.jobs)]
        trees: Queue[Tree] = Queue()
        for tree in every:
            trees.put(tree)
        stopped = threading.Event()

        def decide(mutant: Mutant) -> None:
            tree, start = trees.get(), time.monotonic()
            fate = "" if stopped.is_set() else tree.fate(mutant, options.rest)
            trees.put(tree)
            if stopped.is_set():
                return
            fates[mutant] = fate
            print(f"{time.monotonic() - start:6.1f} s  {mutant}  ==>  {fates[mutant]}", flush=True)

        with ThreadPoolExecutor(options.jobs) as pool:
            try:
                list(pool.map(decide, mutants))
            except KeyboardInterrupt:  # what is known until then is printed
                stopped.set()
                for tree in every:
                    tree.stop()
    print(f"\n{'':12} {'mutants':>8} {'caught':>8} {'mirrored':>9} {'covering':>9} {'rest':>6}")
    for package in (*PACKAGES, ""):
        those = [fate for mutant, fate in fates.items() if mutant.file.startswith(package)]
        if those:
            by = [sum(fate.startswith(stage) for fate in those) for stage in ("mirrored", "covering", "rest")]
            print(
                f"{package or 'all':12} {len(those):8} {sum(by) / len(those):8.0%} {by[0]:9} {by[1]:9} {by[2]:6}"
            )


if __name__ == "__main__":
    main()
