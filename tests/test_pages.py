"""The pages' files, Python and commands run in order in one folder, and a command prints the output that is shown.

Lines of a ``text`` block stand, in order, in what the commands of the block before it print; ``...`` leaves some out.
"""

import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from verify.commands.command_line import main

DOCS = Path(__file__).parent.parent / "docs"
DEAR = ("mechanism_owner", "bandit_researcher", "platform_engineer")
PAGES = [
    pytest.param(page, id=page.stem, marks=[pytest.mark.slow] if page.stem in DEAR else [])
    for page in (
        DOCS / "ledger.md",
        DOCS / "release_files.md",
        DOCS / "reference" / "files.md",
        *sorted((DOCS / "tutorials").glob("*.md")),
    )
]


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_the_page_runs(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    written, names, printed, commands = set(sys.modules), {}, "", 0
    text = page.read_text()
    for fence in re.finditer(r"```(\w+) ?([\w.]*)\n(.*?)```", text, flags=re.DOTALL):
        language, name, block = fence.groups()
        if name:
            Path(name).write_text(block)
        if language == "python" and not name:
            Path("block.py").write_text(block)
            names = runpy.run_path("block.py", init_globals=names, run_name="__main__")
            capsys.readouterr()
        elif language == "sh":
            printed = "".join(run(line, monkeypatch, capsys) for line in filter(None, block.splitlines()))
            commands += len(block.splitlines())
        elif language == "text" and text[: fence.start()].endswith("```\n\n"):
            assert_shown(block, printed)
    for module in {"mean_age", "packaged", "shop"} - written:
        sys.modules.pop(module, None)
    assert commands == len(re.findall(r"^(?:dpwitness|python) ", text, flags=re.MULTILINE))


def run(line, monkeypatch, capsys):
    """Run one command; return what it prints."""
    words = shlex.split(line)
    if words[:3] == ["python", "-m", "pytest"]:
        return subprocess.run([sys.executable, *words[1:]], check=True, capture_output=True, text=True).stdout
    if words[0] == "python":
        runpy.run_path(words[1], run_name="__main__")
    else:
        monkeypatch.setattr(sys, "argv", words)
        with pytest.raises(SystemExit) as left:
            main()
        assert left.value.code in ({0, 1, 3} if words[1] in ("verify", "regret") else {0}), line
    out, err = capsys.readouterr()
    assert err == "", line
    return out


def assert_shown(block, printed):
    """Assert that every shown line stands in what is printed, in order; lines may be broken elsewhere."""
    rest = " ".join(printed.split())
    for line in block.splitlines():
        words = " ".join(line.split())
        if words == "...":
            continue
        _, found, rest = rest.partition(words)
        assert found, f"{line!r} is not printed (any more), or not there"
