"""What the page on release files shows runs: its files, its Python and its commands, in order, in one folder."""

import re
import runpy
import shlex
import sys
from pathlib import Path

import pytest

from verify.command_line import main

PAGE = (Path(__file__).parent.parent / "docs" / "release_files.md").read_text()
BLOCKS = re.findall(r"```(\w+) ?([\w.]*)\n(.*?)```", PAGE, flags=re.DOTALL)


def test_the_page_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    commands = 0
    for language, name, block in BLOCKS:
        if name:
            Path(name).write_text(block)
        if language == "python":
            Path("block.py").write_text(block)
            runpy.run_path("block.py", run_name="__main__")
        elif language == "sh":
            for line in filter(None, block.splitlines()):
                monkeypatch.setattr(sys, "argv", shlex.split(line))
                with pytest.raises(SystemExit) as left:
                    main()
                assert (left.value.code, capsys.readouterr().err) == (0, ""), line
                commands += 1
    assert commands == len(re.findall(r"^dpwitness ", PAGE, flags=re.MULTILINE)) > 0
