"""Pictures of `verify.document.charts` as drawings of reportlab, in the colours of paper."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

from reportlab.graphics.shapes import Circle, Drawing, Group, Line, Polygon, PolyLine, Rect, String
from reportlab.lib.colors import HexColor, toColor

_PROVED, _SHOWN, _INK, _SOFT, _RULE = map(HexColor, ("#1a56a0", "#a11a1a", "#000000", "#333333", "#cfd2da"))
_NONE = {"fillColor": None, "strokeColor": None}
_LOOKS: dict[str, dict[str, Any]] = {
    "axis": {"strokeColor": _INK},
    "frame": {"strokeColor": _INK},
    "grid": {"strokeColor": _RULE, "strokeWidth": 0.5},
    "dots": {"strokeDashArray": [2, 5]},
    "bar": {"fillColor": _PROVED},
    "faint": {"fillColor": toColor("rgba(26,86,160,0.4)")},
    "mark": {"fillColor": _INK},
    "area": {"fillColor": toColor("rgba(26,86,160,0.18)")},
    "line": {"strokeWidth": 2},
    "proved": {"strokeColor": _PROVED},
    "shown": {"strokeColor": _SHOWN, "strokeDashArray": [7, 3]},
    "claim": {"strokeColor": _INK, "strokeDashArray": [3, 3]},
    "aside": {"strokeColor": _SOFT, "strokeDashArray": [1, 4]},
}
"""What the classes of a picture look like; the page has the same for browsers."""


def drawing(svg: str, width: float, font: str) -> Drawing:
    """Return a picture as a drawing of this width.

    Parameters
    ----------
    svg
        Drawn by `verify.document.charts`: rectangles, lines, polygons, circles and text.
    width
        In points.
    font
        The registered name of a font, for text.
    """
    root = ElementTree.fromstring(svg)
    _, _, wide, high = map(float, root.attrib["viewBox"].split())
    scale = width / wide
    shapes = Group(transform=(scale, 0.0, 0.0, scale, 0.0, 0.0))
    for element in root:
        shape = _shape(element, high, font)
        if shape is not None:
            shapes.add(shape)
    found = Drawing(width, high * scale)
    found.add(shapes)
    return found


def _shape(element: ElementTree.Element, high: float, font: str) -> Any:
    """Return one shape; coordinates of SVG go down from the top, and those of a drawing up from the bottom."""
    at = {key: float(value) for key, value in element.attrib.items() if key in _COORDINATES}
    look = {**_NONE}
    for name in element.get("class", "").split():
        look |= _LOOKS.get(name, {})
    match element.tag.rpartition("}")[2]:
        case "rect":
            return Rect(at["x"], high - at["y"] - at["height"], at["width"], at["height"], **look)
        case "line":
            return Line(at["x1"], high - at["y1"], at["x2"], high - at["y2"], **_stroke(look))
        case "polyline":
            return PolyLine(_points(element, high), **_stroke(look))
        case "polygon":
            return Polygon(_points(element, high), **look)
        case "circle":
            return Circle(at["cx"], high - at["cy"], at["r"], **look)
        case "text":
            return _text(element, at["x"], high - at["y"], font)
    return None  # the title, which the caption says, too


_COORDINATES = frozenset({"x", "y", "x1", "y1", "x2", "y2", "width", "height", "cx", "cy", "r"})


def _stroke(look: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in look.items() if key != "fillColor"}


def _points(element: ElementTree.Element, high: float) -> list[float]:
    pairs = [tuple(map(float, pair.split(","))) for pair in element.attrib["points"].split()]
    return [number for x, y in pairs for number in (x, high - y)]


def _text(element: ElementTree.Element, x: float, y: float, font: str) -> Any:
    small = element.get("class") == "small"
    said = String(
        0.0,
        0.0,
        element.text or "",
        fontName=font,
        fontSize=11 if small else 12,
        fillColor=_SOFT if small else _INK,
        textAnchor=element.get("text-anchor", "start"),
    )
    # the one turn that charts have is a quarter to the left, about the text's own place
    turn = (0.0, 1.0, -1.0, 0.0, x, y) if "transform" in element.attrib else (1.0, 0.0, 0.0, 1.0, x, y)
    return Group(said, transform=turn)
