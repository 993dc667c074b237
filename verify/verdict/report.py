"""Show a verification on a terminal, to a person who does not have the paper at hand.

Everything is said in words as well as in colour, and fits into 80 columns. The two bounds are drawn as an
interval on the axis of ε, with the claim marked and infinity at the right edge. Where the terminal's
encoding is not Unicode, the picture is drawn in ASCII.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from verify.findings import Finding, LowerBound, UpperBound, Witness
from verify.printable import printable_texts
from verify.sentences import number
from verify.verdict.result import Verification
from verify.verdict.verdict import ClaimLike, Verdict

_AXIS = 60  # characters of the axis from 0 to the largest finite tick; infinity lies _GAP to the right of it
_GAP = 6

_STYLES: dict[Verdict, str] = {"certified": "bold green", "refuted": "bold red", "unproven": "bold yellow"}

_MEANING: dict[Verdict, str] = {
    "certified": "The claim is proved, and no test contradicts it.",
    "refuted": "The claim is false: the witness below shows it.",
    "unproven": "The claim is neither proved nor refuted.",
}

Glyphs = Mapping[str, str]
_PARTS = ("axis", "start", "end", "tick", "gap", "bar", "claim", "point")
UNICODE: Glyphs = dict(zip(_PARTS, "─├┤┼┄█▼◆", strict=True))
ASCII: Glyphs = dict(zip(_PARTS, "-||+.#v*", strict=True))

_SPELLED = str.maketrans({"ε": "epsilon", "δ": "delta", "′": "'", "∞": "inf"})


def render(verification: Verification, console: Console) -> None:
    """Print the report.

    Parameters
    ----------
    verification
        What to report.
    console
        Where to; its width and encoding are respected.
    """
    verification = printable_texts(verification)
    glyphs = ASCII if console.options.ascii_only else UNICODE
    parts: list[RenderableType] = [_headline(verification), _claim(verification.subject, verification.claim)]
    parts.append(_section("Privacy loss", _bounds(verification, glyphs)))
    parts.append(_section("Why", _bullets(verification.decision.reasons)))
    if verification.witness is not None:
        title = "Witness" if verification.verdict == "refuted" else "The event that tells most"
        parts.append(_section(title, _witness(verification.witness, verification.claim)))
    if verification.findings:
        parts.append(_section("Findings", _findings(verification.findings)))
    parts.append(_section("Again", _again(verification)))
    if not console.options.ascii_only:
        console.print(Group(*parts), highlight=False, emoji=False, markup=False)
        return
    with console.capture() as captured:
        console.print(Group(*parts), highlight=False, emoji=False, markup=False)
    console.file.write(captured.get().translate(_SPELLED).encode("ascii", "replace").decode())


def _headline(verification: Verification) -> Text:
    verdict = verification.verdict
    name = (verification.subject, "bold")
    return Text.assemble((verdict.upper(), _STYLES[verdict]), "  ", name, "\n", _MEANING[verdict])


def _claim(subject: str, claim: ClaimLike) -> Text:
    return Text.assemble(
        "\n",
        (subject, "bold"),
        " claims ",
        (f"ε = {number(claim.epsilon)}, δ = {number(claim.delta)}", "bold"),
        f" differential privacy in the {claim.model} model. One record is {claim.unit}. Data D and D′ are "
        f"neighbours: {claim.neighbour_words}. The adversary sees {claim.view}.",
    )


def _section(title: str, body: RenderableType) -> RenderableType:
    return Group(Text(f"\n{title}", style="bold underline"), Padding(body, (0, 0, 0, 2)))


def _bounds(verification: Verification, glyphs: Glyphs) -> RenderableType:
    lower, upper, claim = verification.lower, verification.upper, verification.claim
    low = lower.epsilon if lower is not None else 0.0
    high = upper.epsilon if upper is not None else math.inf
    picture = _draw_bounds(claim.epsilon, low, high, glyphs)
    style = _STYLES[verification.verdict]
    lines = [Text(line, no_wrap=True, style=style * (row == 2)) for row, line in enumerate(picture)]
    lines += [_upper_words(upper), _lower_words(lower)]
    coupled = verification.details.get("coupled") or {}
    if "largest_loss" in coupled:
        largest = number(float(coupled["largest_loss"]))
        lines.append(Text(f"coupled runs: the largest loss of all releases together was {largest}"))
    if "tested_view" in verification.details:
        lines.append(Text(f"the view tested: {verification.details['tested_view']}"))
    if "band" in verification.details:
        lines.append(Text(str(verification.details["band"]["words"])))
    if "anytime" in verification.details:
        lines.append(Text(str(verification.details["anytime"]["words"])))
    if verification.verdict != "refuted" and "detection_floor" in verification.details:
        lines.append(Text(str(verification.details["detection_floor"])))
    return Group(*lines)


def _draw_bounds(claim: float, low: float, high: float, glyphs: Glyphs = UNICODE) -> list[str]:
    """The interval [low, high] of ε as four lines: the claim, the axis, the interval, the tick labels.

    Parameters
    ----------
    claim
        The claimed ε, finite.
    low, high
        The bounds, finite or infinite. If low > high (the audit contradicts the accountant) they are drawn as
        two points.
    glyphs
        `UNICODE` or `ASCII`.

    Returns
    -------
    list of str
        Four lines of at most 72 characters.
    """
    top, step = _scale([value for value in (claim, low, high) if math.isfinite(value)])

    def at(epsilon: float) -> int:
        return _AXIS + _GAP if math.isinf(epsilon) else round(epsilon / top * _AXIS)

    axis = [glyphs["axis"]] * (_AXIS + 1) + [glyphs["gap"]] * (_GAP - 1) + [glyphs["end"]]
    labels = [" "] * (_AXIS + _GAP + 6)
    for i in range(round(top / step) + 1):
        axis[at(i * step)] = glyphs["tick"]
        label = f"{i * step:.6g}"
        start = max(0, at(i * step) - len(label) // 2)
        labels[start : start + len(label)] = label
    axis[0] = glyphs["start"]
    labels[_AXIS + _GAP : _AXIS + _GAP + 3] = "inf" if glyphs is ASCII else "∞  "

    bar = [" "] * (_AXIS + _GAP + 1)
    if low <= high:
        bar[at(low) : at(high) + 1] = glyphs["bar"] * (at(high) - at(low) + 1)
    else:
        bar[at(low)] = bar[at(high)] = glyphs["point"]
    mark, name = glyphs["claim"], f"claim {number(claim)}"
    pointer = " " * at(claim) + f"{mark} {name}"
    if at(claim) > _AXIS // 2:
        pointer = f"{name} {mark}".rjust(at(claim) + 1)
    return [line.rstrip() for line in (pointer, "".join(axis), "".join(bar), "".join(labels))]


def _scale(values: Iterable[float]) -> tuple[float, float]:
    """End of the finite axis and distance of ticks (1, 2 or 5 times a power of ten), four to eight ticks."""
    largest = max(values, default=1.0) or 1.0
    step = 10.0 ** math.floor(math.log10(largest))
    step = next(s for s in (step / 5.0, step / 2.0, step, step * 2.0) if largest * 1.15 / s <= 7.0)
    return math.ceil(largest * 1.15 / step - 1e-9) * step, step


def _upper_words(upper: UpperBound | None) -> Text:
    if upper is None:
        return Text("at most  ∞: there is no upper bound")
    return Text(f"at most  {number(upper.epsilon)} at δ = {number(upper.delta)}: {upper.method}")


def _lower_words(lower: LowerBound | None) -> Text:
    if lower is None:
        return Text("at least 0: nothing was audited")
    how = lower.method
    if lower.samples:
        how += f", {_percent(lower.confidence)} confidence, {lower.samples:,} draws"
    elif lower.confidence == 1.0:
        how += ", exact"
    if not lower.in_view:
        how += "; of more than the adversary sees"
    return Text(f"at least {number(lower.epsilon)} at δ = {number(lower.delta)}: {how}")


def _witness(witness: Witness, claim: ClaimLike) -> RenderableType:
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column()
    table.add_row(Text("data D", style="bold"), Text(witness.neighbours["data"]))
    table.add_row(Text("data D′", style="bold"), Text(witness.neighbours["data_prime"]))
    table.add_row(Text("event", style="bold"), Text(witness.event))
    on_data = _how_often(witness.probability, witness.hits, witness.trials)
    on_data_prime = _how_often(witness.probability_prime, witness.hits_prime, witness.trials)
    table.add_row(Text("on D", style="bold"), Text(on_data))
    table.add_row(Text("on D′", style="bold"), Text(on_data_prime))
    table.add_row(Text("ratio", style="bold"), Text(_ratio_words(witness, claim)))
    return Group(table, Text(_meaning(witness)))


def _how_often(probability: float, hits: int | None, trials: int | None) -> str:
    if trials is None:
        return f"{_percent(probability)} (exact)"
    if hits is None:
        return f"at most {_percent(probability)} (by the density ratio)"
    return f"{_percent(probability)} ({hits:,} of {trials:,} draws)"


def _ratio_words(witness: Witness, claim: ClaimLike) -> str:
    allowed = f"the claim allows {number(_exp(claim.epsilon))}"
    excess = "(P(D) - δ)" if claim.delta > 0.0 else "P(D)"
    if witness.probability_prime == 0.0:
        return f"no finite ratio; {allowed}"
    ratio = (witness.probability - claim.delta) / witness.probability_prime
    return f"{excess} / P(D′) = {ratio:.4g}; {allowed} (e^{number(claim.epsilon)})"


def _meaning(witness: Witness) -> str:
    p, q = witness.probability, witness.probability_prime
    if p == 1.0 and q == 0.0:
        how = "without error" if witness.hits is None else "without error in every draw"
        return f"Looking for the event tells D from D′ {how}: no privacy at all (δ = 1, whatever ε)."
    if q == 0.0:
        return "The event gives D away: it was never seen on D′."
    return f"Seeing the event speaks {p / q:.4g} to 1 for D against D′."


def _findings(findings: Iterable[Finding]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("kind", overflow="fold")
    table.add_column("where", overflow="fold", max_width=28)
    table.add_column("message", overflow="fold")
    for finding in findings:
        kind = Text(finding.kind, style="red" if finding.failing else "")
        table.add_row(kind, Text(finding.where), Text(finding.message))
    return table


def _bullets(lines: Iterable[str]) -> Table:
    table = Table.grid(padding=(0, 1))
    for line in lines:
        table.add_row(Text("-"), Text(line))
    return table


def _again(verification: Verification) -> RenderableType:
    lines = []
    if verification.witness is not None and verification.witness.reproduce:
        lines.append(Text(verification.witness.reproduce, style="bold"))
    versions = ", ".join(f"{name} {version}" for name, version in verification.provenance.versions.items())
    lines.append(Text(f"seed {verification.seed}" + (f"; {versions}" if versions else "")))
    return Group(*lines)


def _percent(probability: float) -> str:
    if 0.99 < probability < 1.0:
        return f"{100.0 * probability:.6g} %"
    return f"{100.0 * probability:.3g} %"


def _exp(epsilon: float) -> float:
    return math.exp(epsilon) if epsilon < 700.0 else math.inf
