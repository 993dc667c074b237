"""Commands and options of before are refused by one sentence that says what they are now."""

import re
import sys

import pytest

from verify.command_line import main
from verify.commands.command_table import COMMANDS
from verify.commands.old_names import OLD_NAMES
from verify.commands.service_file import KEYS


def _typed(old: str) -> list[list[str]]:
    """Return the command lines in which an old name may stand."""
    if not old.startswith("--"):
        command, _, option = old.partition(" --")
        return [[command, "x", f"--{option}"] if option else [old, "ledger.db", "--json"]]
    return [[name, old, "x"] for name in ("verify", "simulate", "ledger show")]


@pytest.mark.parametrize("old", OLD_NAMES)
def test_an_old_name_is_refused_by_a_sentence_with_the_new_one(old, monkeypatch, capsys) -> None:
    for words in _typed(old):
        if f"{words[0]} {old}" in OLD_NAMES:
            continue
        monkeypatch.setattr(sys, "argv", ["dpwitness", *" ".join(words).split()])
        with pytest.raises(SystemExit) as left:
            main()
        out, err = capsys.readouterr()
        assert (left.value.code, out) == (2, "")
        assert err == f"dpwitness: {old} is now {OLD_NAMES[old]}\n".replace("is now gone", "is gone")


@pytest.mark.parametrize("old", [old for old, now in OLD_NAMES.items() if not now.startswith("gone: ")])
def test_what_a_name_is_now_is_there(old: str) -> None:
    now = OLD_NAMES[old]
    if now.endswith("CONFIG.toml"):
        key, table = re.fullmatch(
            r"([a-z_]+|\[\[run]])[ =A-Z]*(?: in \[+(\w+)]+)?(?: in| of) CONFIG.toml", now
        ).groups()
        assert key == "[[run]]" or key in KEYS[table or ""]
        return
    for each in now.split(", or "):
        command = re.match(r"(ledger \w+|[a-z]+)", each)
        path = command[1] if command else old.partition(" --")[0]
        having = [COMMANDS[path]] if path in COMMANDS else COMMANDS.values()
        flags = set(re.findall(r"--([a-z-]+)", each))
        assert any(flags <= set(one.options.split()) for one in having)


@pytest.mark.parametrize("typed", [["verfy", "cucb"], ["ledger", "shaw"], ["simulat"]])
def test_a_misspelled_command_is_answered_by_the_nearest(typed, monkeypatch, capsys) -> None:
    monkeypatch.setattr(sys, "argv", ["dpwitness", *typed])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 2
    nearest = {"verfy": "verify", "ledger": "show", "simulat": "simulate"}[typed[0]]
    assert f"did you mean {nearest}" in capsys.readouterr().err
