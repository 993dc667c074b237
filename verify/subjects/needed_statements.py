"""Which statements of a script an object of it needs, found by names: the rest, its main part, need not run.

Kept are those that set a name that the object needs, directly or through others, and those that may change the value of
such a name: what assigns to its parts, and what calls it or is called with it. Statements that only change what an
imported module keeps are not found by names, and left out.
"""

from __future__ import annotations

import ast
import symtable
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

_PLAIN = frozenset({"int", "float", "str", "bool", "len", "round", "abs", "min", "max"})  # return such values
_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True)
class NeededStatements:
    """A module in two parts.

    Attributes
    ----------
    kept, left_out
        Its statements at top level, in their order; a docstring is in neither.
    known
        Whether any statement sets the object's name.
    """

    kept: tuple[ast.stmt, ...]
    left_out: tuple[ast.stmt, ...]
    known: bool


def needed_statements(module: ast.Module, name: str) -> NeededStatements:
    """Return the statements at the top level of a module that the object of this name needs, and the others."""
    statements = [_Statement.of(each) for each in module.body if not _is_text(each)]
    data = {one for each in statements if each.makes_data for one in each.sets} - _unchanging(statements)
    by_function = {one: each.globals for each in statements for one in each.sets if each.globals}
    needed, kept = {name}, set[_Statement]()
    while more := {each for each in statements if each.is_needed(needed, data, by_function)} - kept:
        kept |= more
        needed.update(*(each.uses for each in more))
    return NeededStatements(
        tuple(each.node for each in statements if each in kept),
        tuple(each.node for each in statements if each not in kept),
        any(name in each.sets for each in statements),
    )


@dataclass(frozen=True, eq=False)
class _Statement:
    """A statement at top level.

    Attributes
    ----------
    node
        The statement.
    sets
        Names that it gives a value.
    uses
        Names that it reads, or that functions and classes in it do when they are called.
    changes
        Names to whose parts it assigns.
    globals
        Names that functions in it declare global.
    always
        Whether it is kept whatever is needed.
    """

    node: ast.stmt
    sets: frozenset[str]
    uses: frozenset[str]
    changes: frozenset[str]
    globals: frozenset[str]
    always: bool

    @classmethod
    def of(cls, node: ast.stmt) -> _Statement:
        """Read a statement."""
        if _is_main(node):
            return cls(node, frozenset(), frozenset(), frozenset(), frozenset(), False)
        every = list(ast.walk(node))
        return cls(
            node,
            frozenset(_set_by(node)),
            frozenset(_read_by(symtable.symtable(ast.unparse(node), "statement", "exec"))),
            frozenset(
                root
                for each in every
                if isinstance(each, ast.Attribute | ast.Subscript) and not isinstance(each.ctx, ast.Load)
                if (root := _root(each)) is not None
            ),
            frozenset(one for each in every if isinstance(each, ast.Global) for one in each.names),
            _is_always_needed(node),
        )

    @property
    def makes_data(self) -> bool:
        """Whether its names stand for values that others may change: no functions, classes or modules."""
        return not isinstance(self.node, _Definition | ast.Import | ast.ImportFrom)

    def is_needed(self, needed: set[str], data: set[str], by_function: Mapping[str, frozenset[str]]) -> bool:
        """Whether it sets or may change what is needed."""
        if self.always or needed & self.sets or needed & self.changes:
            return True
        if not self.makes_data:
            return False
        through = {one for name in self.uses for one in by_function.get(name, ())}
        return bool(needed & through) or bool(
            isinstance(self.node, ast.Expr | ast.For | ast.While | ast.With | ast.If | ast.Try | ast.Delete)
            and needed & data & self.uses
        )


def _unchanging(statements: Sequence[_Statement]) -> set[str]:
    """Return names of values that nobody can change: numbers, texts, and what is computed of such."""
    known = {one for each in statements for one in each.sets}
    while changing := [
        each for each in statements if each.sets & known and not _is_unchanging(each.node, known)
    ]:
        known.difference_update(*(each.sets for each in changing))
    return known


def _is_unchanging(node: ast.AST, known: Collection[str]) -> bool:
    if isinstance(node, ast.Assign | ast.AnnAssign):
        return node.value is None or _is_unchanging(node.value, known)
    if isinstance(node, ast.Name):
        return node.id in known
    if isinstance(node, ast.Call):
        function = node.func
        plain = isinstance(function, ast.Name) and function.id in _PLAIN
        of_math = isinstance(function, ast.Attribute) and _root(function) == "math"
        return (plain or of_math) and all(_is_unchanging(each, known) for each in node.args)
    if isinstance(node, ast.Attribute):
        return _root(node) == "math"
    if isinstance(node, ast.UnaryOp | ast.BinOp | ast.BoolOp | ast.Compare | ast.Tuple | ast.IfExp):
        return all(
            _is_unchanging(each, known) for each in ast.iter_child_nodes(node) if isinstance(each, ast.expr)
        )
    return isinstance(node, ast.Constant)


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_main(node: ast.stmt) -> bool:
    """Whether a statement is ``if __name__ == "__main__":``."""
    return isinstance(node, ast.If) and any(
        isinstance(each, ast.Name) and each.id == "__name__" for each in ast.walk(node.test)
    )


def _is_always_needed(node: ast.stmt) -> bool:
    """Whether a statement says where modules are found, or sets names that it does not say."""
    if isinstance(node, ast.ImportFrom):
        return node.module == "__future__" or any(each.name == "*" for each in node.names)
    return isinstance(node, ast.Expr | ast.Assign | ast.AugAssign) and any(
        isinstance(each, ast.Attribute) and ast.unparse(each) == "sys.path" for each in ast.walk(node)
    )


def _set_by(node: ast.AST) -> Iterator[str]:
    """Yield the names that a statement sets where it stands: not within functions and classes that it defines."""
    if isinstance(node, _Definition):
        yield node.name
        return
    if isinstance(node, ast.Lambda):
        return
    if isinstance(node, ast.Import | ast.ImportFrom):
        for alias in node.names:
            yield alias.asname or alias.name.partition(".")[0]
    elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        yield node.id
    elif isinstance(node, ast.ExceptHandler) and node.name:
        yield node.name
    for child in ast.iter_child_nodes(node):
        yield from _set_by(child)


def _read_by(scope: symtable.SymbolTable) -> Iterator[str]:
    """Yield the names of its module's that a scope reads, or one within it: no names of functions' own."""
    for symbol in scope.get_symbols():
        if symbol.is_referenced() and (scope.get_type() == "module" or symbol.is_global()):
            yield symbol.get_name()
    for inner in scope.get_children():
        yield from _read_by(inner)


def _root(node: ast.expr) -> str | None:
    """Return the name that an expression's parts are of."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None
