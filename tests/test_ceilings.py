"""Ceilings on each package: code lines, public functions and classes, files, floors of rooms, arrows between rooms.

A ceiling is lowered by whoever makes a package smaller. It is raised only in a commit that says what users get for it.
"""

import ast
from functools import cache
from pathlib import Path

import pytest
from source_statements import statements

ROOT = Path(__file__).parent.parent

CEILINGS = {
    "mechanisms": {
        "code lines": 11_259,
        "public functions and classes": 368,
        "files": 108,
        "floors": 8,
        "arrows": 69,
    },
    "accountant": {
        "code lines": 14_638,
        "public functions and classes": 477,
        "files": 140,
        "floors": 9,
        "arrows": 93,
    },
    "algorithms": {
        "code lines": 10_878,
        "public functions and classes": 384,
        "files": 156,
        "floors": 9,
        "arrows": 107,
    },
    "verify": {
        "code lines": 29_569,
        "public functions and classes": 908,
        "files": 327,
        "floors": 7,
        "arrows": 86,
    },
}

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
IMPORTS = (ast.Import, ast.ImportFrom)


def is_text(node):
    """True of a docstring, and of any other string that is a statement."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def code_lines(source, tree):
    """Return the number of lines that are not blank, nor part of comments, docstrings or imports alone."""
    left_out = {
        line
        for node in statements(tree)
        if isinstance(node, IMPORTS) or is_text(node)
        for line in range(node.lineno, node.end_lineno + 1)
    }
    return sum(
        bool(text.strip()) and not text.lstrip().startswith("#") and number not in left_out
        for number, text in enumerate(source.splitlines(), 1)
    )


def public_names(tree):
    """Return the number of public functions and classes of a module."""
    return sum(isinstance(node, DEFINITIONS) and not node.name.startswith("_") for node in tree.body)


def imported_modules(tree):
    """Yield the dotted names that a module imports, wherever in it."""
    for node in statements(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def floors(arrows):
    """Return the length of the longest chain of rooms each of which imports the next.

    Rooms that import one another in a circle have no order: they count as one after another, so that a circle is never
    lower than a chain.

    Parameters
    ----------
    arrows
        For each room, the rooms that it imports.
    """
    reached = {room: {room} for room in arrows}
    for _ in arrows:
        for room, below in arrows.items():
            reached[room] = reached[room].union(*(reached[other] for other in below))
    circles = {room: frozenset(other for other in reached[room] if room in reached[other]) for room in arrows}

    @cache
    def height(circle):
        below = {circles[other] for room in circle for other in arrows[room]} - {circle}
        return len(circle) + max(map(height, below), default=0)

    return max(map(height, circles.values()))


@cache
def figures(package):
    """Return the figures of a package that have a ceiling."""
    files = sorted((ROOT / package).rglob("*.py"))
    arrows, lines, names = {}, 0, 0
    for file in files:
        source = file.read_text(encoding="utf-8")
        tree = ast.parse(source)
        lines += code_lines(source, tree)
        names += public_names(tree)
        path = file.relative_to(ROOT / package)
        if path.name != "__init__.py" or len(path.parts) > 1:
            modules = (name.split(".") for name in imported_modules(tree))
            arrows.setdefault(path.parts[0].removesuffix(".py"), set()).update(
                parts[1] for parts in modules if parts[0] == package and len(parts) > 1
            )
    arrows = {room: {other for other in below if other in arrows} - {room} for room, below in arrows.items()}
    return {
        "code lines": lines,
        "public functions and classes": names,
        "files": len(files),
        "floors": floors(arrows),
        "arrows": sum(map(len, arrows.values())),
    }


@pytest.mark.parametrize("package", CEILINGS)
def test_a_package_is_below_its_ceilings(package):
    over = [
        f"{package} has {count:,} {figure}, its ceiling is {CEILINGS[package][figure]:,}"
        for figure, count in figures(package).items()
        if count > CEILINGS[package][figure]
    ]
    assert not over, "make it smaller, or raise the ceiling in a commit that says what users get for it"


def test_the_checker_of_proofs_can_be_read_in_an_hour():
    source = (ROOT / "verify/certificates/independent_check.py").read_text(encoding="utf-8")
    assert code_lines(source, ast.parse(source)) <= 600


@pytest.mark.parametrize(
    ("arrows", "length"),
    [
        ({"a": set()}, 1),
        ({"a": {"b", "c"}, "b": {"c"}, "c": set()}, 3),
        ({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": set()}, 3),
    ],
)
def test_floors_are_the_longest_chain(arrows, length):
    assert floors(arrows) == length


SOURCE = '''"""A module

of two paragraphs."""

import a
from b import (
    c,
)

# a comment
x = 1  # and another


def f():
    """A docstring."""
    return """
    # no comment
    """
'''


def test_code_lines_are_neither_blank_nor_comments_nor_texts_nor_imports():
    assert code_lines(SOURCE, ast.parse(SOURCE)) == 4
