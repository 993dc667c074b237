"""Names are nouns, or verbs with their objects; first lines of docstrings say what a thing is or does.

A function, method or property, public or private, is not called by a bare participle (`charged`), preposition,
adjective or question word (`of`, `left`, `whole`): such a name says neither what is returned nor what is done. The
first line of a docstring, also of a module and of a constant or field (a string below it), is an imperative ("Return
the ...") or a noun phrase, in the words of the field. Modules of tests only may not begin with a question word.
"""

import ast
import re
from pathlib import Path

import pytest
from source_statements import statements

ROOT = Path(__file__).parent.parent
PACKAGES = ("mechanisms", "accountant", "algorithms", "verify", "dpwitness.py")

PARTICIPLES = """
acted added allotted answered applied asked begun caught chained charged chosen closed committed counted drawn
drawn_again ended entered erased escaped examined existing expected fed folded found given grouped handed_out
happened held kept known lacking left levelled listed loaded looked made mapped meant met moved named noted
opened ordered paid parsed placed played printed promised pruned put ranked read recorded renewed renumbered
replayed requested returned said saved scaled seen sent shifted shown shut speaking spoken stamped started
stated stopped stretched struck summed taken tested told tried typed used verified watched won written
"""
"""Participles, without the field's nouns `bound` (an upper bound) and `spent` (the privacy spent)."""

VAGUE = """
about after again alone among apart at at_once before best beyond both by cheap different enters few further
harmless how idle infinite instead into label largest last least leaves line look most near news now number of
other others over own perhaps place plus present ready rest right roughly room same saw since slowest together
vector whole why words zero
"""
"""Prepositions, adjectives, question words, verbs without their object, and nouns that leave open of what.

NumPy's word `take` is none of them.
"""

REFUSED_NAMES = frozenset(f"{PARTICIPLES} {VAGUE}".split())

REFUSED_BEGINNING = re.compile(r"(What|Whether|How|Where|Who|Whose|Which|Why|As|See)\b")
REFUSED_WORD = re.compile(
    r"\b(what(ever)?|who(m|se)?(ever)?|nobody|somebody|told|tells?|said|says|stands?|hangs?|looks? at|speaks?)\b",
    re.IGNORECASE,
)


def is_definition(node):
    return isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)


def first_lines(tree):
    """Yield the line number and first line of each docstring: of a module, a definition, or a constant or field."""
    for node in statements(tree):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            yield node.lineno, node.value.value.strip().partition("\n")[0]


def is_refused_name(node):
    return not isinstance(node, ast.ClassDef) and node.name.lstrip("_") in REFUSED_NAMES


def is_refused_line(line):
    return REFUSED_BEGINNING.match(line) or REFUSED_WORD.search(line)


@pytest.mark.parametrize("package", PACKAGES)
def test_names_and_first_lines_follow_the_rule(package):
    found = []
    for file in sorted((ROOT / package).rglob("*.py")) or [ROOT / package]:
        tree = ast.parse(file.read_text(encoding="utf-8"))
        names = [
            (node.lineno, node.name)
            for node in statements(tree)
            if is_definition(node) and is_refused_name(node)
        ]
        lines = [(number, line) for number, line in first_lines(tree) if is_refused_line(line)]
        found += [f"{file.relative_to(ROOT)}:{number}: {text}" for number, text in names + lines]
    assert not found, (
        "name what is returned, or the act and its object; begin with an imperative or a noun:\n"
        + "\n".join(found)
    )


def test_modules_of_tests_begin_with_their_subject():
    found = []
    for file in sorted((ROOT / "tests").rglob("*.py")):
        line = file.read_text(encoding="utf-8").partition("\n")[0].strip('r"')
        if REFUSED_BEGINNING.match(line):
            found.append(f"{file.relative_to(ROOT)}: {line}")
    assert not found, "begin with the subject of the tests, a noun:\n" + "\n".join(found)


@pytest.mark.parametrize("name", ["charged", "of", "zero"])
def test_a_bare_participle_is_refused(name):
    tree = ast.parse(f"class Row:\n    def {name}(self): ...\n    def _{name}(self): ...\n")
    assert all(is_refused_name(node) for node in statements(tree) if isinstance(node, ast.FunctionDef))


@pytest.mark.parametrize("line", ["What is left.", "Whether it fits.", "Return what was told.", "See `of`."])
def test_a_first_line_without_a_noun_is_refused(line):
    assert is_refused_line(line)


def test_docstrings_of_modules_constants_and_fields_are_read():
    tree = ast.parse(
        '"""A."""\nONE = 1\n"""B.\n\nMore."""\nclass Row:\n    """C."""\n    field: int\n    """D."""\n'
    )
    assert sorted(first_lines(tree)) == [(1, "A."), (3, "B."), (7, "C."), (9, "D.")]


@pytest.mark.parametrize(
    "line", ["Return the rest of a budget.", "True if it fits.", "Asymptotic variance.", "Somewhat."]
)
def test_a_first_line_with_a_noun_is_accepted(line):
    assert not is_refused_line(line)
