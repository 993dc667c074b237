"""The access log of a service."""

from __future__ import annotations

import json
import logging
import re
import warnings

import pytest

from accountant.service.server import _write_json_lines


def test_whatever_is_logged_is_a_line_without_an_errors_words(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    everything = logging.getLogger()
    monkeypatch.setattr(everything, "handlers", [])
    monkeypatch.setattr(everything, "level", everything.level)
    _write_json_lines()
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.warn("value: 'ann'", stacklevel=1)
    logging.captureWarnings(False)
    try:
        raise ValueError("ann has 8314")
    except ValueError:
        logging.getLogger("sqlalchemy.pool").exception("while a connection of %s was reset\nann", "ann")
    logging.getLogger("psycopg").debug("ann")
    said = capsys.readouterr().err
    assert "ann" not in said
    warned, line = map(json.loads, said.splitlines())
    assert re.fullmatch(r".*test_journal\.py:\d+: UserWarning", warned["event"])
    assert line["event"] == "while a connection of %s was reset"
    assert line["error"].startswith("ValueError at test_journal.py:")
