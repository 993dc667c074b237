"""The sentences of an audit, by what is proved and how records are protected."""

import math
from types import SimpleNamespace

import pytest

from accountant import Budget
from accountant.audit import AuditQuestion, EnforcedBudget
from mechanisms import Neighbouring
from mechanisms.composition.enclosure import Bound, Enclosure
from verify.verdict.audit_document import _certainty_sentence, _ends, _limit, audit_person_sentence


def audited(answer, delta=1e-5, epsilon=None, **more):
    given = {"chosen_under": None, "risk": None, "neighbouring": Neighbouring.REPLACE_ONE, "group_size": 1}
    return SimpleNamespace(answer=answer, question=AuditQuestion(delta, epsilon), **(given | more))


def between(lower, upper):
    return Enclosure(lower, upper, "an engine", "a theorem")


BOTH, UPPER, LOWER = (
    "both ends are proved",
    "only the upper bound is proved",
    "only the lower bound is proved",
)


@pytest.mark.parametrize(
    ("answer", "delta", "epsilon", "said", "proved"),
    [
        (Bound(2.5, "a theorem"), 1e-5, None, "ε ≤ 2.5", UPPER),
        (Bound(0.0, "a theorem"), 1e-5, None, "ε = 0", BOTH),
        (Bound(math.inf, "a theorem"), 1e-5, None, "no bound on ε", "nothing is proved"),
        (between(0.0, 1.0), 1e-5, None, "ε ≤ 1", UPPER),
        (between(1.0, 1.0), 1e-5, None, "ε = 1", BOTH),
        (between(1.0, 1.0 + 1e-11), 1e-5, None, "ε = 1", BOTH),
        (between(1.0, 1.0 + 1e-8), 1e-5, None, "1 ≤ ε ≤ 1.00000001", BOTH),
        (between(1.0, math.inf), 1e-5, None, "ε ≥ 1", LOWER),
        (between(math.inf, math.inf), 1e-5, None, "ε = ∞", BOTH),
        (between(0.5, 0.5), None, 1.0, "δ = 0.5", BOTH),
        (between(1.0, 1.0), None, 1.0, "δ = 1", BOTH),
        (between(1.0 - 1e-12, 1.0), None, 1.0, "0.9999999999 ≤ δ ≤ 1", BOTH),
    ],
)
def test_the_proved_ends_are_said(answer, delta, epsilon, said, proved):
    result = audited(answer, delta, epsilon)
    assert _ends(result) == said
    assert _certainty_sentence(result).text == f"Deterministic computation with outward rounding; {proved}."


def limited(epsilon):
    return EnforcedBudget("basic composition", Budget(epsilon, 1e-6))


RISK = SimpleNamespace(accuracy=between(0.6, 0.75))


@pytest.mark.parametrize(
    ("more", "begins", "share"),
    [
        (
            {},
            "Someone who guesses which of two values one record has,",
            (math.exp(1.0) + 1e-5) / (1 + math.exp(1.0)),
        ),
        ({"risk": RISK}, "Someone who guesses which of two values one record has,", 0.75),
        (
            {"group_size": 3, "neighbouring": Neighbouring.ADD_OR_REMOVE, "risk": RISK},
            "Someone who guesses whether 3 records take part,",
            0.75,
        ),
        (
            {"neighbouring": Neighbouring.ADD_OR_REMOVE, "risk": RISK},
            "Someone who guesses whether one record takes part,",
            0.75,
        ),
        (
            {"chosen_under": limited(2.0), "risk": RISK},
            "Someone who guesses which of two values one record has,",
            (math.exp(2.0) + 1e-6) / (1 + math.exp(2.0)),
        ),
        (
            {"chosen_under": limited(math.inf), "risk": RISK},
            "If the releases were fixed in advance, someone who guesses which of two values one record has,",
            0.75,
        ),
    ],
)
def test_what_it_means_for_a_person(more, begins, share):
    said = audit_person_sentence(audited(between(1.0, 1.0), **more)).text
    assert said.startswith(begins)
    assert f"is right at most {math.ceil(share * 1e4) / 100:g} % of the time after" in said


def test_a_limit_is_said_with_its_theorem():
    assert _limit(limited(2.0)) == "ε = 2, δ = 1e-06 (basic composition)"
    assert _limit(limited(math.inf)) == "no limit (basic composition)"
