"""The status page, with hostile names of ledgers and records."""

from fractions import Fraction

from accountant import Accountant, Budget, Rule
from accountant.budget import Cost
from accountant.service.page import ledger_sections, missing_section, page, run_section
from accountant.service.rules_shown import MEASURED, RuleShown, rule_gauges


def test_whatever_is_shown_is_escaped() -> None:
    summary = Accountant(Budget(1.0)).summary()
    bad = "</title><script>\u202e\0"
    rule = Rule(Budget(1.0), purpose="</title><script>", tenant="<b>", groups=(("<b>",),))
    rules = [RuleShown(1, rule, ("<b>",), "<i>", Cost(Fraction(1), Fraction(0)), 0.5, 0, "<i>")]
    sections = ledger_sections(bad, summary, [("<b>", "<i>", "&", None), (1, "", "", 0.5)], rules, 0)
    html = page([bad], [*sections, run_section("a", bad, 2, 1, rules, summary), missing_section("b", bad)])
    assert "<script" not in html
    assert "&lt;/title&gt;&lt;script&gt;\\u202e\\u0000" in html
    assert "<b>" not in html
    assert "<i>" not in html
    assert "no limit" in html
    assert 'value="0.500000"' in html


def test_many_rules_are_shown_and_measured_in_part_and_it_says_so() -> None:
    """A page of bounded length, and a bounded number of time series."""
    rules = [
        RuleShown(
            i,
            Rule(Budget(1.0), tenant=f"t{i}"),
            (),
            "",
            Cost(Fraction(1), Fraction(0)),
            i / 300,
            i // 240,
            "",
        )
        for i in range(1, 301)
    ]
    sections = ledger_sections("s", Accountant(Budget(1.0)).summary(), [], rules, 0)
    html = page(["s"], sections)
    assert "The 100 rules, of 300, of which most is spent" in html
    assert "&#x27;t300&#x27;" in html or "'t300'" in html
    assert "'t200'" not in html
    gauges = rule_gauges(rules, ("run", "a"))
    assert len(gauges) == 2 + MEASURED * 4
    assert [each.value for each in gauges[:2]] == [300, 61]
    assert len({(each.name, each.labels) for each in gauges}) == len(gauges)
    assert all(each.labels[0] == ("run", "a") for each in gauges)


def test_columns_of_numbers_are_headed_as_such() -> None:
    """Numbers stand to the right, and so do their names."""
    rule = Rule(Budget(1.0), tenant="a")
    rules = [RuleShown(1, rule, (), "", Cost(Fraction(1), Fraction(0)), 0.5, 0, "")]
    summary = Accountant(Budget(1.0)).summary()
    sections = [
        *ledger_sections("s", summary, [("a", "b", "c", 0.5)], rules, 0),
        run_section("r", "x", 2, 1, rules, summary),
    ]
    tables = [table for section in sections for table in section.iter("table")]
    rows = [(table.find("thead/tr"), row) for table in tables for row in table.iterfind("tbody/tr")]
    assert len(rows) >= 3
    for names, row in rows:
        assert [each.get("class") for each in names] == [each.get("class") for each in row]
