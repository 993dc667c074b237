"""Checks of a page in a real browser: each returns the faults that it finds, by name."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from typing import Any

from playwright.sync_api import Browser, Page

WIDTHS = (360, 400, 1200)
"""Two phones and a desk, in CSS pixels."""

_PAPER = 178 * 96 / 25.4  # width of A4 between margins of 16 mm, in CSS pixels

_OVERLAPS = """() => {
  const inside = (a, b) => a.contains(b) || b.contains(a);
  const found = [];
  const among = (each) => each.forEach((one, i) => each.slice(i + 1).forEach(other => {
    if (inside(one, other)) return;
    const a = one.getBoundingClientRect(), b = other.getBoundingClientRect();
    const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
    const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
    if (across > 1 && down > 3) found.push(`${one.textContent.slice(0, 40)} | ${other.textContent.slice(0, 40)}`);
  }));
  const shown = (root, what) =>
    [...root.querySelectorAll(what)].filter(e => e.getClientRects().length && e.checkVisibility());
  among(shown(document, 'h1, h2, h3, h4, p, li, pre, summary, figure, caption, dt, dd'));
  document.querySelectorAll('svg').forEach(svg => among(shown(svg, 'text')));
  document.querySelectorAll('tr').forEach(row => among(shown(row, 'td, th')));
  return found;
}"""
_CUT_OFF = """() => {
  const found = [];
  document.querySelectorAll('svg text').forEach(text => {
    if (!text.checkVisibility()) return;
    const a = text.getBoundingClientRect(), b = text.ownerSVGElement.getBoundingClientRect();
    if (a.left < b.left - 1 || a.right > b.right + 1 || a.top < b.top - 1 || a.bottom > b.bottom + 1)
      found.push(`outside its picture: ${text.textContent}`);
  });
  document.querySelectorAll('p, li, td, th, pre, h1, h2, h3, h4, figure').forEach(each => {
    const scrolls = each.closest('.scrolls');
    if (each.scrollWidth > each.clientWidth + 1 && getComputedStyle(each).display !== 'inline')
      found.push(`wider than its place: ${each.textContent.slice(0, 60)}`);
    if (!scrolls && each.getBoundingClientRect().right > innerWidth + 1)
      found.push(`beyond the edge: ${each.textContent.slice(0, 60)}`);
  });
  if (document.documentElement.scrollWidth > innerWidth)
    found.push(`the page is ${document.documentElement.scrollWidth} wide in ${innerWidth}`);
  return found;
}"""
_FAINT = """() => {
  const parsed = text => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(c => c / 255)
    .map(c => c <= .04045 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [.2126, .7152, .0722][i], 0);
  const ground = each => {
    for (let e = each; e; e = e.parentElement) {
      const c = parsed(getComputedStyle(e).backgroundColor);
      if (c.length < 4 || c[3] > 0) return c;
    }
    return [255, 255, 255];
  };
  const contrast = (a, b) => (Math.max(light(a), light(b)) + .05) / (Math.min(light(a), light(b)) + .05);
  const found = [];
  const measured = (what, property, least) => document.querySelectorAll(what).forEach(e => {
    const paint = getComputedStyle(e)[property];
    if (paint === 'none' || !e.checkVisibility()) return;
    const seen = contrast(parsed(paint), ground(e));
    if (seen < least) found.push(`${what} ${property} ${paint}: contrast ${seen.toFixed(2)} of ${least}`);
  });
  measured('svg text', 'fill', 4.5);
  measured('h1, h2, h3, h4, p, li, td, th, pre, code, summary, figcaption, span', 'color', 4.5);
  measured('svg :is(.line, .axis, .frame, .law)', 'stroke', 3);
  measured('svg :is(.bar, .mark)', 'fill', 3);
  return found;
}"""
_HIDDEN = """() => [...document.querySelectorAll('p, td, th, li, figure, pre, svg text')]
  .filter(e => !e.checkVisibility({contentVisibilityAuto: true}) || !e.getClientRects().length)
  .map(e => e.textContent.slice(0, 60))"""
_CUT_SCROLLS = """() => [...document.querySelectorAll('.scrolls')]
  .filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.textContent.slice(0, 60))"""
_TARGETS = "a[href], summary, [tabindex], input, button"
_FOCUSED = f"""() => {{
  const e = document.activeElement, style = getComputedStyle(e);
  const at = [...document.querySelectorAll('{_TARGETS}')].indexOf(e);
  return [at, style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0];
}}"""


@contextmanager
def opened(
    browser: Browser, address: str, *, dark: bool = False, scripts: bool = False, **options: Any
) -> Iterator[tuple[Page, list[str]]]:
    """Open a page; beside it stands what it asked for and what the browser complained of."""
    context = browser.new_context(
        java_script_enabled=scripts, color_scheme="dark" if dark else "light", **options
    )
    page, heard = context.new_page(), []
    page.on("request", lambda request: heard.append(request.url))
    page.on("console", lambda message: heard.append(message.text))
    page.on("pageerror", lambda error: heard.append(str(error)))
    try:
        page.goto(address)
        yield page, heard
    finally:
        context.close()


def misplaced(page: Page) -> list[str]:
    """Return what overlaps something else or is cut off at any of the widths, folds open and closed."""
    found = []
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        for unfolded in (False, True):
            page.evaluate(
                f"document.querySelectorAll('details').forEach(e => {{ e.open = {str(unfolded).lower()} }})"
            )
            found += [f"{width}: {each}" for each in (*page.evaluate(_OVERLAPS), *page.evaluate(_CUT_OFF))]
    return found


def faint(page: Page) -> list[str]:
    """Return what has less contrast than WCAG 2.2 asks (AA): 4.5 to 1 of texts, pictures' too, 3 to 1 of shapes."""
    page.evaluate("document.querySelectorAll('details').forEach(e => { e.open = true })")
    found: list[str] = page.evaluate(_FAINT)
    return found


def inaccessible(page: Page) -> list[str]:
    """Return what axe-core says against a page with scripts, which it is: contrast, names, order of headings, ..."""
    page.evaluate("document.querySelectorAll('details').forEach(e => { e.open = true })")
    page.evaluate(_axe())
    answer = page.evaluate("axe.run({resultTypes: ['violations']})")
    return [
        f"{each['id']}: {each['help']}: {node['html'][:120]}"
        for each in answer["violations"]
        for node in each["nodes"]
    ]


def unreachable(page: Page) -> list[str]:
    """Return the folds, links and fields that Tab does not come to, or shows no focus of."""
    page.evaluate("document.activeElement.blur()")
    count = page.locator(_TARGETS).count()
    reached = {}
    for _ in range(count + 1):
        page.keyboard.press("Tab")
        at, shown = page.evaluate(_FOCUSED)
        reached[at] = shown
    return [f"target {at}: {reached.get(at, 'not reached')}" for at in range(count) if not reached.get(at)]


def lost_on_paper(page: Page) -> list[str]:
    """Return what is hidden, cut off, overlapping or faint in print."""
    page.evaluate("document.querySelectorAll('details').forEach(e => { e.open = false })")
    page.set_viewport_size({"width": int(_PAPER), "height": 1000})
    page.emulate_media(media="print")
    checks = (_HIDDEN, _CUT_OFF, _CUT_SCROLLS, _OVERLAPS, _FAINT)
    found = [each for check in checks for each in page.evaluate(check)]
    page.emulate_media(media="screen")
    return found


def printed_pages(page: Page) -> int:
    """Return on how many sheets of A4 a page is printed."""
    return len(re.findall(rb"/Type\s*/Page\b", page.pdf(format="A4")))


@functools.cache
def _axe() -> str:
    return (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
