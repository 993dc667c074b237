"""Public names are nouns, or verbs with their objects; first lines of docstrings say what a thing is or does.

A function, method or property is not called by a bare participle (`charged`), preposition, adjective or question word
(`of`, `left`, `whole`): such a name says neither what is returned nor what is done. The first line of a docstring is an
imperative ("Return the ...") or a noun phrase, in the words of the field. `KNOWN_NAMES` are the names that are still
refused: their numbers are lowered with each renaming, and never raised.
"""

import ast
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("mechanisms", "accountant", "algorithms", "verify")

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

KNOWN_NAMES = {
    "mechanisms": "",
    "accountant": "",
    "algorithms": "",
    "verify": "",
}
"""The refused names of each package, each with how often it occurs: a ceiling."""


PRIVATE_TOO = [
    "accountant/audit",
    "accountant/files",
    "accountant/filters",
    "accountant/gates",
    "accountant/ledger",
    "accountant/plans",
    "accountant/proofs",
    "accountant/rules",
    "accountant/service",
    "algorithms",
    "accountant/stores",
    "verify/certificates",
    "verify/commands",
    "verify/conduct",
    "verify/deployments",
    "verify/document",
    "verify/experiments",
    "verify/findings",
    "verify/learners",
    "verify/neighbouring",
    "verify/outputs",
    "verify/regret_claims",
    "verify/statistics",
    "verify/subjects",
    "verify/verdict",
    "verify/zoo",
]
"""The folders whose private functions and classes follow the rule, too: add the next one with its last renaming."""

DEFINITIONS = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def public_definitions(tree):
    """Yield the public classes and functions of a module, and the public methods of these classes."""
    for node in tree.body:
        if isinstance(node, DEFINITIONS) and not node.name.startswith("_"):
            yield node
            if isinstance(node, ast.ClassDef):
                yield from public_definitions(node)


def is_refused_name(node):
    return not isinstance(node, ast.ClassDef) and node.name in REFUSED_NAMES


def is_refused_line(line):
    return REFUSED_BEGINNING.match(line) or REFUSED_WORD.search(line)


@cache
def refused(package):
    """Return the places of the refused names of a package, by name, and those of its refused first lines."""
    names, lines = defaultdict(list), []
    for file in sorted((ROOT / package).rglob("*.py")):
        for node in public_definitions(ast.parse(file.read_text(encoding="utf-8"))):
            place = f"{file.relative_to(ROOT)}:{node.lineno}: {node.name}"
            if is_refused_name(node):
                names[node.name].append(place)
            line = (ast.get_docstring(node) or "").partition("\n")[0]
            if is_refused_line(line):
                lines.append(f"{place}: {line}")
    return names, lines


@pytest.mark.parametrize("package", PACKAGES)
def test_no_name_is_refused_that_was_not_before(package):
    known = dict(item.split(":") for item in KNOWN_NAMES[package].split())
    more = [
        place
        for name, places in refused(package)[0].items()
        if len(places) > int(known.get(name, 0))
        for place in places
    ]
    assert not more, (
        "new ones are among these; name what is returned, or the act and its object:\n" + "\n".join(more)
    )


@pytest.mark.parametrize("package", PACKAGES)
def test_no_first_line_is_refused(package):
    lines = refused(package)[1]
    assert not lines, "begin with an imperative or a noun:\n" + "\n".join(lines)


@pytest.mark.parametrize("folder", PRIVATE_TOO)
def test_private_names_and_first_lines_follow_the_rule_too(folder):
    found = []
    for file in sorted((ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, DEFINITIONS):
                line = (ast.get_docstring(node) or "").partition("\n")[0]
                refused_name = not isinstance(node, ast.ClassDef) and node.name.lstrip("_") in REFUSED_NAMES
                if refused_name or is_refused_line(line):
                    found.append(f"{file.relative_to(ROOT)}:{node.lineno}: {node.name}: {line}")
    assert not found, "\n".join(found)


@pytest.mark.parametrize("name", ["charged", "of", "zero"])
def test_a_bare_participle_is_refused(name):
    tree = ast.parse(f"class Row:\n    def {name}(self): ...\n    def _{name}(self): ...\n")
    assert [node.name for node in public_definitions(tree) if is_refused_name(node)] == [name]


@pytest.mark.parametrize("line", ["What is left.", "Whether it fits.", "Return what was told.", "See `of`."])
def test_a_first_line_without_a_noun_is_refused(line):
    assert is_refused_line(line)


@pytest.mark.parametrize(
    "line", ["Return the rest of a budget.", "True if it fits.", "Asymptotic variance.", "Somewhat."]
)
def test_a_first_line_with_a_noun_is_accepted(line):
    assert not is_refused_line(line)
