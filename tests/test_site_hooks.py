"""The sources of the site exist, and docstrings are rendered as they are meant."""

import inspect
import json
import re
import runpy
from pathlib import Path
from types import SimpleNamespace

import click
import pytest

from algorithms import simulate
from verify.zoo import specimens

DOCS = Path(__file__).parent.parent / "docs"
WITNESSES = json.loads((DOCS / "zoo_witnesses.json").read_text())
THEORY = runpy.run_path(str(DOCS / "hooks" / "theory.py"))
WRITTEN = sorted(
    path for page in DOCS.glob("theory/*.md") for path in re.findall("docstring of (\\S+)", page.read_text())
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("x_k * e^{-s} < `a_b < c`", "x<sub>k</sub> * e<sup>-s</sup> &lt; `a_b < c`"),
        ("an index ``n_1 = 2^j`` of *no* arm", "an index ``n_1 = 2^j`` of *no* arm"),
        ("in ``k(s) =\nb^2`` lines", "in ``k(s) =\nb^2`` lines"),
        ("a*b and P(E)^+", r"a\*b and P(E)<sup>+</sup>"),
    ],
)
def test_formulas_are_no_markup(text, shown):
    assert THEORY["escaped"](text) == shown


@pytest.mark.parametrize("path", WRITTEN)
def test_a_page_of_theory_has_the_docstring_and_its_file(path):
    text = THEORY["written"](path)
    (file,) = re.findall(r"\*Stands in\* `(.+)`\.$", text)
    assert (DOCS.parent / file).is_file()
    assert text.startswith("## ")
    assert "Parameters\n---" not in text
    assert len(text) > 300


def test_the_gallery_has_every_specimen_and_a_witness_of_all_that_sampling_refutes():
    page = runpy.run_path(str(DOCS / "hooks" / "zoo.py"))["on_page_markdown"]("<!-- every specimen -->")
    assert sorted(re.findall(r"^### (.+)$", page, flags=re.MULTILINE)) == sorted(specimens)
    assert page.count("**the true ε is") == sum(not each.correct for each in specimens.values())
    refutable = [name for name, each in specimens.items() if each.refutable]
    assert sorted(WITNESSES) == sorted(refutable)
    assert (
        page.count("| Event |")
        == sum(witness is not None for witness in WITNESSES.values())
        > len(refutable) - 3
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(WITNESSES)[::8])
def test_a_witness_of_the_gallery_is_found_again(name):
    found = runpy.run_path(str(DOCS.parent / "tests" / "benchmarks" / "zoo_witnesses.py"))["witness_of"]
    assert found(specimens[name]) == WITNESSES[name]


def test_results_of_benchmarks_are_sections_of_the_page_that_names_them():
    page = (DOCS / "comparison.md").read_text()
    named = re.findall(r"^<!-- (.+) -->$", page, flags=re.MULTILINE)
    hook = runpy.run_path(str(DOCS / "hooks" / "outside.py"))["on_page_markdown"]
    shown = hook(page, config=SimpleNamespace(docs_dir=DOCS))
    assert named
    assert all("#" + (DOCS.parent / file).read_text() in shown for file in named)


def test_the_page_of_commands_has_every_command():
    page = runpy.run_path(str(DOCS / "hooks" / "commands.py"))["on_page_markdown"]("<!-- every command -->")
    from verify.commands.command_group import cli

    for name in cli.list_commands(click.Context(cli)):
        assert f"## dpwitness {name}\n" in page


def test_the_page_of_files_has_every_key_table_and_entry():
    from accountant.stores import replayed_entries, schema

    hook = runpy.run_path(str(DOCS / "hooks" / "schemas.py"))
    page = hook["on_page_markdown"]((DOCS / "reference" / "files.md").read_text())
    for name in ("verification", "certificate", "regret", "audit", "reproduction"):
        assert all(
            f"| `{key}` |" in page
            for key in json.loads((DOCS / "schemas" / f"{name}.json").read_text())["properties"]
        )
    tables = (*schema.METADATA.tables, schema.RUN.name, schema.KEPT.name)
    entries = re.findall(r'^``\{"([\w ]+)":', replayed_entries.__doc__, flags=re.MULTILINE)
    assert [word for word in (*tables, *entries) if f"`{word}`" not in page] == []
    assert len(tables) >= 8
    assert len(entries) >= 12


@pytest.mark.slow
def test_a_function_of_a_value_is_shown_with_the_fields_that_it_takes():
    griffe = pytest.importorskip("griffe")
    file = DOCS.parent / "algorithms" / "simulate.py"
    shown = griffe.visit("algorithms.simulate", file, file.read_text())["simulate"]
    runpy.run_path(str(DOCS / "hooks" / "signatures.py"))["TakenFields"]().on_function(func=shown)
    names = list(inspect.signature(simulate).parameters)
    assert [each.name for each in shown.parameters] == names
    assert len(names) > 8
    described = {section.kind.value: section.value for section in shown.docstring.parse("numpy")}
    assert sorted(each.name for each in described["parameters"]) == sorted(names)
