"""Mutants: small random changes of the code that a test should notice."""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator
from dataclasses import dataclass

from function_calls import ROOT, functions

COMPARISONS = {
    ast.Lt: (ast.LtE, ast.Gt), ast.LtE: (ast.Lt, ast.GtE), ast.Gt: (ast.GtE, ast.Lt), ast.GtE: (ast.Gt, ast.LtE),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,), ast.NotIn: (ast.In,),
}  # fmt: skip
SYMMETRIC = {
    "max", "min", "maximum", "minimum", "gcd", "hypot", "logaddexp", "isclose", "allclose", "array_equal", "cast",
    "add_up", "multiply_up", "either_up",
}  # fmt: skip
REMOVED = (ast.Expr, ast.AugAssign, ast.Raise, ast.If, ast.For, ast.Continue, ast.Break)
UNTOUCHED = (ast.JoinedStr, ast.Import, ast.ImportFrom, ast.Assert)


@dataclass(frozen=True)
class Mutant:
    """One change: the text of ``file`` between two byte offsets is replaced by ``new``."""

    file: str
    line: int
    function: str  # the innermost one around the change, "" at the module's level
    start: int
    end: int
    kind: str
    old: str
    new: str

    def __str__(self) -> str:
        old, new = (" ".join(text.split())[:40] for text in (self.old, self.new))
        return f"{self.file}:{self.line} {self.kind}: {old} -> {new}"


def changes(node: ast.AST) -> Iterator[tuple[ast.AST, str, ast.AST | str]]:
    """The ways to break ``node``: (what is replaced, kind, replacement)."""
    match node:
        case ast.Compare(left, [operator], comparators):
            for other in COMPARISONS[type(operator)]:
                yield node, "comparison", ast.Compare(left, [other()], comparators)
        case ast.BoolOp(operator, values):
            yield node, "and/or", ast.BoolOp(ast.Or() if isinstance(operator, ast.And) else ast.And(), values)
        case ast.UnaryOp(ast.Not(), operand):
            yield node, "dropped not", operand
        case ast.Constant(bool(value)):
            yield node, "constant", ast.Constant(not value)
        case ast.Constant(int(value)):
            yield node, "constant + 1", ast.Constant(value + 1)
            yield node, "constant - 1", ast.Constant(value - 1)
            if value:
                yield node, "constant x 2", ast.Constant(2 * value)
        case ast.Constant(float(value)) if value:
            yield node, "constant x 1.01", ast.Constant(1.01 * value)
            yield node, "constant x 2", ast.Constant(2 * value)
        case ast.Call(function, [first, second, *others], keywords):
            name = ast.unparse(function).rpartition(".")[2]
            if name not in SYMMETRIC and ast.dump(first) != ast.dump(second):
                yield node, "swapped arguments", ast.Call(function, [second, first, *others], keywords)
        case ast.Slice(lower, upper):
            for bound in filter(None, (lower, upper)):
                yield bound, "slice off by one", ast.BinOp(bound, ast.Add(), ast.Constant(1))
    if isinstance(node, REMOVED) and not (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    ):
        yield node, "removed statement", "pass"
    if isinstance(node, ast.FunctionDef):
        body = node.body[1:] if ast.get_docstring(node) else node.body
        for statement in body[: -1 if len(body) > 1 else 0]:
            yield statement, "early return", "return None"


def children(node: ast.AST) -> Iterator[ast.AST]:
    """What may be broken inside ``node``: no type hints, decorators, messages, names of a module or ``repr``."""
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list", "bases", "type_params"):
            continue
        yield from (
            item for item in (value if isinstance(value, list) else [value]) if isinstance(item, ast.AST)
        )


def untouched(node: ast.AST) -> bool:
    """Whether breaking the inside of ``node`` changes nothing that a test should see."""
    match node:
        case ast.FunctionDef(name="__repr__") | ast.If(test=ast.Name("TYPE_CHECKING")):
            return True
        case ast.Assign([ast.Name("__all__" | "__slots__")]):
            return True
        case ast.Call(ast.Name("cast" | "TypeVar" | "NewType")):
            return True
        case ast.keyword(arg="strict"):  # of `zip`: an assertion
            return True
    return isinstance(node, UNTOUCHED)


def mutants_of(file: str) -> list[Mutant]:
    """Every mutant of one file."""
    source = (ROOT / file).read_bytes()
    tree = ast.parse(source)
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    within = {id(inner): name for name, node in functions(tree) for inner in ast.walk(node)}  # innermost last
    found, seen, open_nodes = [], set(), [tree]
    while open_nodes:
        node = open_nodes.pop()
        for target, kind, new in () if untouched(node) else changes(node):
            start = starts[target.lineno - 1] + target.col_offset
            end = starts[target.end_lineno - 1] + target.end_col_offset
            text = new if isinstance(new, str) else f"({ast.unparse(ast.fix_missing_locations(new))})"
            text += "\n" * source[start:end].count(b"\n") if isinstance(new, str) else ""
            if (start, end, text) not in seen:
                seen.add((start, end, text))
                where = within.get(id(target), "")
                old = source[start:end].decode()
                found.append(Mutant(file, target.lineno, where, start, end, kind, old, text))
        if not (untouched(node) or isinstance(node, ast.Raise)):
            open_nodes += children(node)
    return found


def chosen(under: list[str], count: int, seed: int) -> list[Mutant]:
    """``count`` mutants of the files ``under``: a file by its number of mutants, then a kind, then a place."""
    files = sorted(
        {str(path.relative_to(ROOT)) for start in under for path in ([ROOT / start] if start.endswith(".py")
         else (ROOT / start).rglob("*.py"))}
    )  # fmt: skip
    found = {file: mutants for file in files if (mutants := mutants_of(file))}
    generator = random.Random(seed)
    taken: dict[Mutant, None] = {}
    count = min(count, sum(map(len, found.values())))
    while len(taken) < count:
        (file,) = generator.choices(list(found), weights=[len(mutants) for mutants in found.values()])
        kind = generator.choice(sorted({mutant.kind for mutant in found[file]}))
        taken[generator.choice([mutant for mutant in found[file] if mutant.kind == kind])] = None
    return list(taken)
