"""The examples of CONTRIBUTING.md work: they are added to a copy of the packages, and their checks run there."""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "CONTRIBUTING.md").read_text()
PACKAGES = ("mechanisms", "accountant", "algorithms", "verify")
SECTIONS = dict(re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", TEXT, flags=re.DOTALL | re.MULTILINE))
EXAMPLES = [title for title, text in SECTIONS.items() if "```pycon" in text]


def blocks(section, kind):
    """The file named and the text of every fenced block of a kind."""
    return re.findall(rf"```{kind}(?: file=(\S+))?\n(.*?)```", SECTIONS[section], flags=re.DOTALL)


def patched(source, diff):
    """A text with a diff applied: lines that stay or go must be there, once, in one piece."""
    lines = diff.splitlines(keepends=True)
    before = "".join(line[1:] for line in lines if line[0] in " -")
    after = "".join(line[1:] for line in lines if line[0] in " +")
    assert source.count(before) == 1, before
    return source.replace(before, after)


@pytest.fixture(scope="module")
def copied(tmp_path_factory):
    """The packages with everything that CONTRIBUTING.md adds."""
    folder = tmp_path_factory.mktemp("copied")
    for package in PACKAGES:
        shutil.copytree(ROOT / package, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "dpwitness.py", folder)
    for section in EXAMPLES:
        for file, text in blocks(section, "python"):
            assert not (folder / file).exists()
            (folder / file).write_text(text)
        for file, diff in blocks(section, "diff"):
            (folder / file).write_text(patched((folder / file).read_text(), diff))
    return folder


def test_each_example_is_one_file_and_at_most_one_registration():
    assert len(EXAMPLES) == 6
    for section in EXAMPLES:
        assert len(blocks(section, "python")) <= 1, section
        assert len({file for file, _ in blocks(section, "diff")}) <= 1, section


@pytest.mark.slow
def test_the_examples_work(copied):
    checks = [text for section in EXAMPLES for _, text in blocks(section, "pycon")]
    (copied / "checks.txt").write_text("\n".join(checks))
    command = [sys.executable, "-m", "doctest", "-v", "checks.txt"]
    done = subprocess.run(
        command, cwd=copied, env={"PYTHONPATH": str(copied)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{sum(text.count('>>> ') for text in checks)} passed" in done.stdout


@pytest.mark.slow
def test_the_examples_keep_the_rules(copied):
    """Lint, types and the import contract hold for what is added, too."""
    shutil.copy(ROOT / "pyproject.toml", copied)
    files = [file for section in EXAMPLES for file, _ in blocks(section, "python")]
    for command in (["ruff", "check", *files], ["mypy"], ["lint-imports"]):
        program = Path(sys.executable).with_name(command[0])
        done = subprocess.run(
            [program, *command[1:]], cwd=copied, env={"PYTHONPATH": str(copied)}, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr


def test_named_files_and_commands_are_there():
    for file in re.findall(
        r"`((?:tests|docs|verify|accountant|algorithms|mechanisms)/[\w/]+(?:\.\w+)?)`", TEXT
    ):
        assert (ROOT / file).exists(), file


def test_the_version_is_said_alike_everywhere():
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"\n## [{version}] - " in (ROOT / "CHANGELOG.md").read_text()
