"""The page of public findings: its commands say what it says of them, and its findings are those of its file."""

import re
import shlex
from pathlib import Path

import pytest

from verify import verify

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "gallery.md").read_text()
COMMANDS = re.findall(r"^dpwitness verify (.*)$", PAGE, flags=re.MULTILINE)
VERDICTS = {
    "docs/gallery/findings.py:data_synthesizer": "refuted",
    "docs/gallery/findings.py:data_synthesizer_as_repaired": "refuted",
    "docs/gallery/findings.py:data_synthesizer_as_repaired_for_added_rows": "unproven",
    "docs/gallery/findings.py:data_synthesizer_mended": "unproven",
    "docs/gallery/findings.py:smartnoise_mwem": "refuted",
    "docs/gallery/findings.py:smartnoise_mwem_mended": "unproven",
    "docs/gallery/findings.py:exponential_mechanism": "refuted",
    "docs/gallery/findings.py:exponential_mechanism_mended": "unproven",
    "docs/gallery/findings.py:sum_clipped_by_quantiles": "refuted",
    "docs/gallery/findings.py:sum_clipped_by_quantiles_mended": "unproven",
    "docs/gallery/findings.py:sensitivity_of_a_view": "refuted",
    "docs/gallery/findings.py:sensitivity_of_a_view_mended": "unproven",
    "docs/gallery/findings.py:sampled_coordinates": "refuted",
    "docs/gallery/findings.py:sampled_coordinates_mended": "unproven",
    "docs/gallery/findings.py:fixed_seed": "refuted",
    "docs/gallery/findings.py:fixed_seed_mended": "unproven",
    "zoo/plain-bandit-shared-noise": "refuted",
    "zoo/plain-bandit-elimination": "unproven",
    "published/cascade-ucb-ldp-laplace": "refuted",
    "cascade-ucb-rr": "certified",
    "zoo/float-laplace": "refuted",
}


def asked(command, **more):
    subject, *rest = shlex.split(command)
    options = dict(zip(rest[::2], rest[1::2], strict=False))
    claim = {"epsilon": float(options["--epsilon"])} if "--epsilon" in options else {}
    return verify(subject, **claim, floating_point="--floating-point" in rest, **more)


def test_every_finding_is_shown():
    shown = {shlex.split(command)[0] for command in COMMANDS}
    mended = {name for name in VERDICTS if name.removesuffix("_mended") in shown}  # some are in one sentence
    assert shown | mended == set(VERDICTS)
    written = re.findall(
        r"^def ([a-z]\w*)", (ROOT / "docs/gallery/findings.py").read_text(), flags=re.MULTILINE
    )
    assert {f"docs/gallery/findings.py:{name}" for name in written} <= set(VERDICTS)


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        *(command for command in COMMANDS if "findings.py" in command),
        *(f"{name} --epsilon 1" for name in VERDICTS if f"dpwitness verify {name} " not in PAGE),
    ],
)
def test_what_was_found_is_refuted_and_what_was_mended_is_not(command, monkeypatch):
    # A mended one is refuted with probability at most 1e-4.
    monkeypatch.chdir(ROOT)
    result = asked(command, effort="quick", samples=60_000)
    assert result.verdict == VERDICTS[result.subject]


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_the_commands_of_the_page_say_what_it_says(command, monkeypatch):
    monkeypatch.chdir(ROOT)
    result = asked(command)
    assert result.verdict == VERDICTS[result.subject]
