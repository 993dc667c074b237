"""Every kind of report as a browser shows it: without scripts, on a phone and a desk, by keyboard, and on paper."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from example_documents import (
    audited,
    bets,
    certificate,
    ledger,
    regret,
    reproduction,
    simulations,
    verifications,
)
from playwright.sync_api import Browser
from seen_page import faint, inaccessible, lost_on_paper, misplaced, opened, printed_pages, unreachable

from verify.document.elements import Document
from verify.document.html_page import render_html

KINDS = [
    *verifications(),
    "regret",
    "audit over its budget",
    "audit without a budget",
    "ledger",
    "certificate",
    "bets",
    "simulations",
    "reproduction",
    "all together",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pages")


def documents(kind: str, folder: Path) -> list[Document]:
    found: dict[str, Callable[[], Document]] = {
        **{name: lambda each=each: each for name, each in verifications().items()},
        "regret": regret,
        "audit over its budget": lambda: audited(folder, budget=0.1),
        "audit without a budget": lambda: audited(folder, budget=None),
        "ledger": lambda: ledger(folder),
        "certificate": certificate,
        "bets": bets,
        "simulations": simulations,
        "reproduction": lambda: reproduction(folder),
    }
    return [make() for make in found.values()] if kind == "all together" else [found[kind]()]


@pytest.fixture
def address(request: pytest.FixtureRequest, folder: Path) -> str:
    file = folder / "report.html"
    file.write_text(
        render_html(documents(request.param, folder), "Written today by dpwitness."), encoding="utf-8"
    )
    return file.as_uri()


def look(browser: Browser, address: str, dark: bool) -> None:
    with opened(browser, address, dark=dark) as (seen, heard):
        assert misplaced(seen) == []
        assert faint(seen) == []
        assert unreachable(seen) == []
        assert lost_on_paper(seen) == []
        assert 1 <= printed_pages(seen) <= 5 * seen.locator("article").count()
        assert heard == [address]  # nothing else was asked for
    with opened(browser, address, dark=dark, scripts=True) as (seen, heard):
        assert inaccessible(seen) == []
        assert heard == [address]


@pytest.mark.parametrize("address", ["refuted learner"], indirect=True)
def test_a_report_is_seen_whole_reached_and_printed(browser: Browser, address: str) -> None:
    look(browser, address, dark=True)


@pytest.mark.slow
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("address", KINDS, indirect=True)
def test_each_kind_by_itself(browser: Browser, address: str, dark: bool) -> None:
    look(browser, address, dark)
