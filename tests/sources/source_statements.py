"""The statements of a syntax tree, without the expressions in them: a tenth of its nodes."""

import ast
from collections.abc import Iterator

_PARTS = ("body", "orelse", "finalbody", "handlers", "cases")


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the statements of a module, class or function, wherever in it, and the arms of `try` and `match`."""
    for part in _PARTS:
        for child in getattr(node, part, ()):
            yield child
            yield from statements(child)
