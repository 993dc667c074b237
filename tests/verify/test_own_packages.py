"""A user's packages with names of this library's are found by the user's code, and by nothing else."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from verify import verify
from verify.subjects.python_file import import_file

_SUBJECT = """\
from __future__ import annotations
from mechanisms.shaped import Noise, noisy
from mechanisms import Integers  # of the library: the folder has none
from verify import ReplaceOne, claimed
import algorithms.counts
import helper

@claimed(data=ReplaceOne(Integers(0, 1), 2))
def count(data, rng):
    from algorithms.lazy import scale
    return noisy(algorithms.counts.total(data), scale(), rng) + helper.nothing()
"""


@pytest.fixture
def repository(tmp_path: Path) -> Iterator[Path]:
    """A repository with packages of three of these names, one of them without an ``__init__.py``."""
    files = {
        "mechanisms/__init__.py": "from . import shaped\n",
        "mechanisms/shaped.py": (
            "from __future__ import annotations\nfrom dataclasses import dataclass\n"
            "from algorithms import counts\n\n@dataclass\nclass Noise:\n    scale: float\n\n"
            "def noisy(x, scale, rng):\n    return x + rng.laplace(scale=Noise(scale).scale)\n"
        ),
        "algorithms/counts.py": "def total(data):\n    return float(data.sum())\n",
        "algorithms/lazy.py": "from mechanisms.shaped import Noise\n\ndef scale():\n    return Noise(1.0).scale\n",
        "helper.py": (
            "import mechanisms.shaped as noise\n\ndef nothing():\n    import mechanisms.shaped as again\n"
            "    return 0.0 if again is noise else 1e9\n"
        ),
        "subject.py": _SUBJECT,
    }
    for name, text in files.items():
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    before = list(sys.path), set(sys.modules)
    yield tmp_path
    sys.path[:] = before[0]
    for name in set(sys.modules) - before[1]:
        if "helper" in name:
            del sys.modules[name]


def test_they_are_imported_and_verified(repository: Path) -> None:
    import algorithms
    import mechanisms

    result = verify(f"{repository}/subject.py:count", epsilon=1.0, effort="quick", seed=0)
    assert result.verdict == "unproven"
    assert result.lower is not None
    assert result.lower.epsilon > 0.5
    assert sys.modules["mechanisms"] is mechanisms
    assert sys.modules["algorithms"] is algorithms
    assert "mechanisms.shaped" not in sys.modules
    assert "algorithms.counts" not in sys.modules


def test_imports_at_call_time_find_the_same_modules(repository: Path) -> None:
    module = import_file(repository / "subject.py")
    assert abs(module.count(np.array([0, 1]), np.random.default_rng(0))) < 100.0


def test_a_file_of_such_a_name_still_imports_the_library(tmp_path: Path) -> None:
    (tmp_path / "verify.py").write_text("from verify import claimed\nfrom mechanisms import Interval\n")
    module = import_file(tmp_path / "verify.py")
    from mechanisms import Interval

    assert module.Interval is Interval
