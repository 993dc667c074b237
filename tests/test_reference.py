"""The reference has every public name, and every public name says what it is."""

import ast
import importlib
import inspect
import itertools
import re
import runpy
from pathlib import Path

import pytest

REFERENCE = Path(__file__).parent.parent / "docs" / "reference"
WRITTEN = runpy.run_path(str(REFERENCE.parent / "hooks" / "reference.py"))["on_page_markdown"]
NAMED = {
    (home, name)
    for page in REFERENCE.glob("*.md")
    for home, name in re.findall(r"^::: ([\w.]+)\.(\w+)$", WRITTEN(page.read_text()), flags=re.MULTILINE)
}
HOMES = (
    *(
        "mechanisms",
        "accountant",
        "accountant.audit",
        "algorithms",
        "algorithms.problems",
        "algorithms.catalogue",
        "algorithms.off_policy",
    ),
    *("algorithms.published", "verify", "verify.zoo"),
)
PUBLIC = {
    (home, name): getattr(importlib.import_module(home), name)
    for home in HOMES
    for name in importlib.import_module(home).__all__
}


def words(home, name, value):
    """The docstring: of a constant or alias, the string that follows it where it is defined."""
    if inspect.isclass(value) or inspect.isfunction(inspect.unwrap(value)):
        return value.__doc__ or ""
    own = home.partition(".")[0]
    packages = [
        own,
        *(name for name in ("mechanisms", "accountant", "algorithms") if name != own),
    ]  # it may be another's
    files = (Path(importlib.import_module(name).__file__).parent.rglob("*.py") for name in packages)
    for file in itertools.chain.from_iterable(files):
        text = file.read_text()
        if not re.search(rf"^{name}\b.*=", text, flags=re.MULTILINE):
            continue
        body = ast.parse(text).body
        for defined, said in itertools.pairwise(body):
            targets = (
                defined.targets if isinstance(defined, ast.Assign) else [getattr(defined, "target", None)]
            )
            if any(isinstance(target, ast.Name) and target.id == name for target in targets):
                match said:
                    case ast.Expr(ast.Constant(str(docstring))):
                        return docstring
    return ""


def test_every_public_name_is_on_a_page_and_nothing_else_is():
    assert set(PUBLIC) == NAMED


@pytest.mark.parametrize("home", HOMES)
def test_every_public_name_says_what_it_is(home):
    bare = [
        name
        for (where, name), value in PUBLIC.items()
        if where == home and len(words(home, name, value)) < 20
    ]
    assert bare == []
