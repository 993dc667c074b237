"""Hypothesis profiles: the suite repeats itself exactly; HYPOTHESIS_PROFILE=explore looks further. One browser."""

import functools
import gc
import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path
from types import ModuleType

# Two workers on two processors: threads of the library for matrices wait for one another, a tenth of the time.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pytest
from hypothesis import settings
from recorded_numbers import NearNumbers

try:
    from hypothesis.internal.conjecture import providers
except ImportError:  # of an older version, which tries no constants
    providers = None

settings.register_profile("repeatable", derandomize=True, deadline=None, database=None, max_examples=50)
settings.register_profile("explore", deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


@functools.cache
def _constants_of_all_modules():
    """Return the constants of our source that Hypothesis tries as values."""
    found = providers.Constants()
    for package in ("mechanisms", "accountant", "algorithms", "verify"):
        for path in sorted((Path(__file__).parent.parent / package).rglob("*.py")):
            module = ModuleType(path.stem)
            module.__file__ = str(path)
            found |= providers.constants_from_module(module)
    return found


if hasattr(providers, "_get_local_constants"):
    # It takes those of the modules that the process has imported so far: examples would depend on the tests before.
    # To read all modules takes seconds of each process: only who looks further does.
    explores = settings.get_current_profile_name() == "explore"
    providers._get_local_constants = _constants_of_all_modules if explores else providers.Constants

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # started in the background, where shells ignore Ctrl-C
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def snapshot(snapshot):
    """Return the records of a test, which hold on machines that round otherwise."""
    return snapshot.use_extension(NearNumbers)


def pytest_configure(config):
    """Let the processes that tests start, xdist's own, and the next run share what they compile.

    That, and rewriting asserts, is two thirds of collecting the tests. It stays out of the source tree if that was
    asked for: in a folder of the user's, where only what lies in temporary folders is of no use later.
    """
    if os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):
        compiled = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dpwitness" / "compiled"
        temporary = Path(tempfile.gettempdir()).resolve()
        of_temporary = compiled / temporary.relative_to(temporary.anchor)
        config.add_cleanup(functools.partial(shutil.rmtree, of_temporary, ignore_errors=True))
        os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix = str(compiled)
        sys.dont_write_bytecode = False


@pytest.hookimpl(optionalhook=True)  # also without pytest-xdist
def pytest_xdist_auto_num_workers():
    """Return one worker more than there are processors: a quarter of the time, tests wait for disks and processes."""
    return (os.cpu_count() or 1) + 1


gc.disable()  # until all is collected: nothing of it is garbage, and looking took a quarter of the time


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Make the dear cells of tests slow.

    Of a test marked ``few(n)``, n cells spread over all are in the default tier; of one marked ``slow_cells(...)``, all
    but those.
    """
    cells = {}
    for item in items:
        dear = item.get_closest_marker("slow_cells")
        if dear is not None and item.callspec.id in dear.args:
            item.add_marker(pytest.mark.slow)
        mark = item.get_closest_marker("few")
        if mark is not None:
            cells.setdefault((item.module, item.function, *mark.args), []).append(item)
    for (*_, few), every in cells.items():
        kept = {round(number * (len(every) - 1) / max(few - 1, 1)) for number in range(few)}
        for number, item in enumerate(every):
            if number not in kept:
                item.add_marker(pytest.mark.slow)


def pytest_collection_finish():
    """Leave what was collected out of garbage collections, and collect rarely: Hypothesis is called at each."""
    gc.freeze()
    gc.set_threshold(100_000, 10, 100)
    gc.enable()


_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_NO_BROWSER = f"no browser ({', '.join(_BROWSERS)}): what people see was not looked at"


@pytest.fixture(scope="session")
def browser():
    """Return the machine's own Chromium, one of each test process; none is ever downloaded."""
    found = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if found is None:
        if os.environ.get("CI") == "true":
            pytest.fail(_NO_BROWSER)
        pytest.skip(_NO_BROWSER)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found)
        yield browser
        browser.close()


def pytest_terminal_summary(terminalreporter):
    """Say loudly what nobody looked at."""
    skipped = sum(_NO_BROWSER in str(each.longrepr) for each in terminalreporter.stats.get("skipped", ()))
    if skipped:
        terminalreporter.section(f"WARNING: {skipped} tests skipped: {_NO_BROWSER}", "!", red=True)


@pytest.fixture(scope="session")
def postgresql_server():
    """The URL of a PostgreSQL server, one of each test process."""
    from postgresql_server import postgresql

    with postgresql() as url:
        yield url


@pytest.fixture
def url(postgresql_server):
    """The URL of a new, empty database."""
    from postgresql_server import new_database

    return new_database(postgresql_server)


@pytest.fixture
def file(tmp_path):
    """Write a text to a release file, and return its path."""

    def write(text, name="releases.toml"):
        target = tmp_path / name
        target.write_text(text)
        return target

    return write
