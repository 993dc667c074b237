"""The page, of what no ledger of ours would call itself."""

from accountant import Accountant, Budget
from accountant.service.page import ledger_sections, missing_section, page, run_section


def test_whatever_is_shown_is_escaped() -> None:
    summary = Accountant(Budget(1.0)).summary()
    bad = "</title><script>\u202e\0"
    sections = ledger_sections(bad, summary, [("<b>", "<i>", "&", None), (1, "", "", 0.5)], 0)
    html = page([bad], [*sections, run_section("a", bad, 2, 1, summary), missing_section("b", bad)])
    assert "<script" not in html
    assert "&lt;/title&gt;&lt;script&gt;\\u202e\\u0000" in html
    assert "<b>" not in html
    assert "<i>" not in html
    assert "no limit" in html
    assert 'value="0.500000"' in html
