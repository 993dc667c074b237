"""Formulas become MathML while the site is built: browsers draw it themselves, without a script."""

import html
import re
from typing import Any

from latex2mathml.converter import convert

_FORMULA = re.compile(r'<(span|div) class="arithmatex">(.*?)</\1>', flags=re.DOTALL)


def _mathml(formula: re.Match[str]) -> str:
    block = formula[1] == "div"
    latex = html.unescape(formula[2]).strip().removeprefix(r"\[" if block else r"\(")
    return convert(latex.removesuffix(r"\]" if block else r"\)"), display="block" if block else "inline")


def on_page_content(content: str, **_: Any) -> str:
    """Replace what `pymdownx.arithmatex` marked."""
    return _FORMULA.sub(_mathml, content)
