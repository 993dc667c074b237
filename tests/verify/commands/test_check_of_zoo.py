"""``dpwitness check`` confirms what was refuted in the zoo, on fresh draws and within seconds."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from verify.commands.command_group import cli
from verify.zoo import specimens

REFUTABLE = sorted(
    (name for name, specimen in specimens.items() if specimen.refutable), key=lambda name: "bandit" in name
)


@pytest.mark.slow
@pytest.mark.parametrize("name", REFUTABLE)
def test_a_refutation_of_the_zoo_is_confirmed(name: str, tmp_path: Path) -> None:
    result, runner = tmp_path / "result.json", CliRunner()
    asked = ["verify", f"zoo/{name}", "--effort", "quick", "-o", str(result)]
    if runner.invoke(cli, asked).exit_code == 3:
        pytest.skip("quick effort leaves it open")
    checked = runner.invoke(cli, ["check", str(result)])
    assert (checked.exit_code, checked.output.partition(" ")[0]) == (0, "VALID")
