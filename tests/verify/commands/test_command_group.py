"""A command that is not there is answered by the nearest one, an option that is not there by its name."""

import sys

import pytest

from verify.commands.command_line import main


def _refused(typed: str, monkeypatch, capsys) -> str:
    monkeypatch.setattr(sys, "argv", ["dpwitness", *typed.split()])
    with pytest.raises(SystemExit) as left:
        main()
    out, err = capsys.readouterr()
    assert (left.value.code, out) == (2, "")
    assert err.count("\n") == 1
    return str(err)


@pytest.mark.parametrize(
    ("typed", "nearest"), [("verfy cucb", "verify"), ("ledger shaw", "show"), ("simulat", "simulate")]
)
def test_a_misspelled_command_is_answered_by_the_nearest(typed, nearest, monkeypatch, capsys) -> None:
    assert f"did you mean {nearest}" in _refused(typed, monkeypatch, capsys)


def test_an_option_that_is_not_there_is_named(monkeypatch, capsys) -> None:
    assert "--effrt" in _refused("verify x --effrt quick", monkeypatch, capsys)
