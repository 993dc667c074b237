"""Signatures of functions that take the fields of a value (`mechanisms.parameters.takes`), as Python has them.

Pages are written from the source, which has the value alone.
"""

import importlib
import inspect
from typing import Any

from griffe import Docstring, Extension, Function, Parameter, ParameterKind, Parameters


class TakenFields(Extension):
    """Extension of mkdocstrings that gives such functions their parameters and their whole documentation."""

    def on_function(self, *, func: Function, **_: Any) -> None:
        """Read a function that has the decorator from its module."""
        decorated = any(str(each.value).startswith("takes(") for each in func.decorators)
        if not decorated or func.docstring is None:
            return
        found = getattr(importlib.import_module(func.module.path), func.name)
        func.parameters = Parameters(
            *(
                Parameter(
                    each.name,
                    annotation=str(each.annotation),
                    kind=ParameterKind(each.kind.description),
                    default=None if each.default is each.empty else repr(each.default),
                )
                for each in inspect.signature(found).parameters.values()
            )
        )
        func.docstring = Docstring(inspect.getdoc(found) or "", lineno=func.docstring.lineno, parent=func)
