"""What all commands do alike: print JSON, and check that a picture can be drawn before anything runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from algorithms.problems import SettingError


def print_json(result: dict[str, Any]) -> None:
    """Print one JSON object on standard output."""
    click.echo(json.dumps(result, allow_nan=False))


def check_plot(path: Path) -> None:
    """Refuse a plot that could not be written, before anything runs.

    Raises
    ------
    SettingError
        If the name does not end in .png, its folder does not exist or matplotlib is missing.
    """
    if path.suffix.lower() != ".png":
        raise SettingError(f"--plot {path}: must end in .png")
    if not path.absolute().parent.is_dir():
        raise SettingError(f"--plot {path}: its folder does not exist")
    existed = path.exists()
    try:
        path.open("ab").close()
    except OSError as error:
        raise SettingError(f"--plot {path}: cannot be written ({error.strerror})") from None
    if not existed:
        path.unlink()
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise SettingError("--plot needs matplotlib: pip install 'dpwitness[plot]'") from None
