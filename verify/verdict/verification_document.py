"""The document of a verification: the verdict first, then its evidence, and the command that repeats it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from algorithms.claim import Claim
from mechanisms.numerics.printed_numbers import as_given, at_least, at_most, nearest, percent
from verify.conduct.effort import FALSE_ALARM
from verify.document.drawings import Area, Axis, Bin, Chart, Curve, Laws, LossInterval
from verify.document.elements import (
    Block,
    Bullets,
    Code,
    Details,
    Document,
    Facts,
    FirstScreen,
    Paragraph,
    Picture,
    Section,
    TextTable,
    Tone,
    Words,
)
from verify.findings.finding import BETTING, Finding, FindingKind, LowerBound, UpperBound, Witness
from verify.findings.references import BETS, COUNTS, PROFILE
from verify.findings.sentences import (
    Basis,
    Sentence,
    confident,
    exact,
    filled,
    observed,
    remark,
    sentence_of,
)
from verify.verdict.common_sections import (
    ADVERSARY,
    Profile,
    arithmetic_words,
    assumptions_section,
    claim_person_sentence,
    claim_section,
    claim_sentence,
    largest_factor,
    provenance_section,
    references_section,
    theorem_named,
    trade_off_chart,
    unit_words,
    versions_words,
)
from verify.verdict.result import Verification
from verify.verdict.subject_kind import BLACK_BOXES, SubjectKind
from verify.verdict.verdict import Verdict, claim_words

_TONES: dict[Verdict, Tone] = {"certified": "good", "refuted": "bad", "unproven": "open"}
_LEAST_DELTA = 1e-7  # the least decade of the curve
_NO_DELTA = 1e-300  # 0 on a logarithmic axis, below its end
_IDENTIFIES = "The event is impossible on D′: seeing it identifies D."
_OBSERVER = (
    "Likelihood ratio {ratio}: an observer who held both data sets equally likely is right with probability {share} "
    "after seeing the event"
)


def verification_document(verification: Verification, **files: str) -> Document:
    """Return a verification as a document; `files` are digests of the files it was read from, by name."""
    claim = verification.claim
    sections = [
        claim_section(
            claim,
            arithmetic_words(verification.kind, counted=_rounding_counts(verification)),
            str(verification.details.get("problem", "")),
        ),
        _bounds(verification),
        _event(verification),
        Section("Why", (Bullets(verification.decision.reasons),)),
        _findings(verification),
        _assumptions(verification),
        _certainty(verification),
        Section("Reproduce", (), (Paragraph(_seed_sentence(verification)),)),
        provenance_section(verification.provenance, **files),
        references_section(_theorems(verification)),
    ]
    return Document(
        verdict=verification.verdict.upper(),
        tone=_TONES[verification.verdict],
        name=f"{verification.subject}, {claim_words(claim)}",
        meaning=_first_line(verification),
        summary=_summary(verification),
        sections=tuple(section for section in sections if section is not None),
        made="; ".join(filter(None, (f"seed {verification.seed}", versions_words(verification.provenance)))),
    )


def _first_line(verification: Verification) -> Sentence:
    """Return the verdict for readers without knowledge of differential privacy."""
    claim, lower = verification.claim, verification.lower
    said = {"view": claim.view, "unit": unit_words(claim)}
    if verification.verdict == "certified":
        return claim_person_sentence("Proved: someone", claim)
    if verification.verdict == "refuted" and lower is not None:
        broken = (
            "The promise is broken: more can be learned about {unit} from {view} than claimed; the counterexample "
            "below can be "
        )
        if lower.exact:
            return exact(f"{broken}computed again.", **said)
        return confident(
            f"{broken}run again (at {{confidence}} confidence: at most {{share:g}} of such verifications reject a true "
            "claim).",
            1.0 - _false_positives(verification),
            lower.samples,
            share=_false_positives(verification),
            **said,
        )
    if lower is not None and _passed_tests(verification):
        return _passed(verification, lower)
    return remark("Open: neither proved nor disproved that {unit} is protected in {view} as claimed.", **said)


def _passed(verification: Verification, lower: LowerBound) -> Sentence:
    """Return the first line on a black box that its tests did not contradict."""
    claim, leak = verification.claim, _floating_point_leak(verification)
    words = (
        "Tested, not proved: {draws:,} draws did not contradict the claim that {unit} is protected in {view}"
    )
    said = {"view": claim.view, "unit": unit_words(claim)}
    if leak is None:
        return observed(f"{words}; a stronger test might.", lower.samples, **said)
    return confident(
        f"{words} in real arithmetic; in floating-point arithmetic ε ≥ {{leak}} ({{confidence}} confidence).",
        leak[1],
        lower.samples,
        leak=at_least(leak[0]),
        **said,
    )


def _floating_point_leak(verification: Verification) -> tuple[float, float] | None:
    """Return the ε that the lowest bits of the outputs show, and its confidence; None without that finding."""
    if not any(finding.kind is FindingKind.FLOATING_POINT for finding in verification.findings):
        return None
    found = verification.details.get("floating_point")
    if not isinstance(found, Mapping):
        return None
    epsilon, confidence = found.get("epsilon_lower"), found.get("confidence")
    return (epsilon, confidence) if isinstance(epsilon, float) and isinstance(confidence, float) else None


def _passed_tests(verification: Verification) -> bool:
    """Return True if nothing can be proved of the subject, and no test or check contradicts its claim."""
    lower = verification.lower
    return (
        verification.verdict == "unproven"
        and verification.kind in BLACK_BOXES
        and lower is not None
        and not lower.exceeds(verification.claim)
        and not any(finding.failing for finding in verification.findings)
    )


def _rounding_counts(verification: Verification) -> bool:
    return any(each.kind is FindingKind.FLOATING_POINT and each.failing for each in verification.findings)


def _bounds(verification: Verification) -> Section:
    low, high = verification.epsilon_interval
    lower = verification.lower if low > 0.0 else None
    said = (
        _upper_sentence(verification),
        _lower_sentence(verification.lower, verification.upper),
        *_tested_sentences(verification),
    )
    sure = lower is None or lower.exact
    caption = "the true ε lies in the bar" + (
        "" if sure or lower is None else f" ({percent(lower.confidence)} confidence)"
    )
    if not _is_proved(verification):
        caption = "lower bound from tests; no proved upper bound"
    drawn = LossInterval(verification.claim.epsilon, low, high, caption, proved=_is_proved(verification))
    return Section("Privacy loss", (Picture(drawn, _bounds_sentence(verification)), Bullets(said)))


def _bounds_sentence(verification: Verification) -> Sentence:
    """Return both bounds in one sentence, as sure as the lower one is."""
    low, high = verification.epsilon_interval
    lower = verification.lower
    words = f"{at_least(low)} ≤ ε ≤ {at_most(high)} (claimed: {as_given(verification.claim.epsilon)})"
    if low == 0.0 or lower is None:
        return remark("Bounds: {words}.", words=words)
    if lower.exact:
        return exact("{words}.", words=words)
    return lower.as_sure("{words}, {confidence} confidence.", words=words)


_GIVEN = {"unproven": "If the claim holds, someone", "refuted": "If the claim held, someone"}


def _summary(verification: Verification) -> FirstScreen:
    claim, witness = verification.claim, verification.witness
    person = None
    if verification.verdict != "certified":  # else the first line has it
        person = claim_person_sentence(_GIVEN[verification.verdict], claim)
    return FirstScreen(
        claimed=claim_sentence(verification.subject, claim),
        found=_bounds_sentence(verification),
        sure=_certainty_sentence(verification),
        rests_on=_assumed_sentence(verification),
        again=Code(witness.reproduce)
        if witness is not None and witness.reproduce
        else _seed_sentence(verification),
        person=person,
    )


def _upper_sentence(verification: Verification) -> Sentence:
    """Return the upper bound, and how it was found."""
    upper = verification.upper
    if upper is None:
        return remark("Upper bound: none")
    if math.isinf(upper.epsilon):
        return remark("Upper bound: none ({why})", why=upper.method)
    where = "Upper bound" if upper.every_run else "Upper bound of these runs only"
    return exact("{where}: {bound} ({method})", where=where, bound=upper.description, method=upper.method)


def _lower_sentence(lower: LowerBound | None, upper: UpperBound | None) -> Sentence:
    """Return the lower bound, how it was found, and how sure it is; also where it lies above a proved one."""
    if lower is None:
        return remark("Lower bound: none; no test finished")
    more = "" if lower.in_view else "; for a stronger adversary than claimed (does not count)"
    if upper is not None and lower.exceeds(upper) and lower.samples and not lower.decisive:
        more += "; above the upper bound, but not significant at the level of a rejection"
    return lower.sentence("Lower bound: {bound} ({how}){more}", more=more)


def _tested_sentences(verification: Verification) -> Iterator[Sentence]:
    """Yield sentences on tests besides the final one, and on a sequential test."""
    details = verification.details
    coupled = details.get("coupled") or {}
    if "largest_loss" in coupled:
        largest = at_least(float(coupled["largest_loss"]))
        yield exact("Largest privacy loss in coupled runs, all messages included: {loss}", loss=largest)
    if "tested_view" in details:
        yield remark("Tested output: {view}", view=details["tested_view"])
    if "anytime" in details:
        yield sentence_of(details["anytime"]["said"])


def _is_proved(verification: Verification) -> bool:
    """Return True if the upper bound is finite and proved for all data, not only a ledger's total of some runs."""
    upper = verification.upper
    return upper is not None and upper.every_run and math.isfinite(upper.epsilon)


def _event(verification: Verification) -> Section | None:
    """Return the counterexample or most distinguishing event; one sentence if the tests saw no difference."""
    witness, lower = verification.witness, verification.lower
    if witness is None or lower is None:
        return None
    if verification.verdict != "refuted" and lower.epsilon == 0.0:
        return _no_difference(verification, witness, lower)
    words = _event_words(witness, verification.claim, lower)
    facts = Facts(
        (
            ("Data D", witness.neighbours["data"]),
            ("Data D′", witness.neighbours["data_prime"]),
            ("Event", witness.event),
            ("P(event | D)", words.on_data),
            ("P(event | D′)", words.on_data_prime),
            ("Likelihood ratio", words.ratio),
        )
    )
    title = "Counterexample" if verification.verdict == "refuted" else "Most distinguishing event"
    meaning = (Bullets(words.meaning),) if words.meaning else ()
    return Section(title, (facts, _laws(witness, words), *meaning))


def _laws(witness: Witness, words: _EventWords) -> Picture:
    """Return the picture of the laws of an event's reading on D and on D′, and of the event's probabilities."""
    laws = witness.laws
    bins = (
        ()
        if laws is None
        else tuple(
            Bin(each.label, each.data / (laws.draws or 1), each.data_prime / (laws.draws or 1), each.inside)
            for each in laws.bins
        )
    )
    drawn = Laws(
        "" if laws is None else laws.reading,
        bins,
        (witness.probability, str(words.on_data)),
        (witness.probability_prime, str(words.on_data_prime)),
    )
    both = (words.on_data, words.on_data_prime)
    weaker = max(both, key=lambda each: list(Basis).index(each.basis))
    said = filled(
        "D and D′ beside each other: the event has probability {ours} on D, {theirs} on D′.",
        weaker.basis,
        {"ours": both[0], "theirs": both[1], "confidence": weaker.confidence, "draws": weaker.draws},
    )
    return Picture(drawn, said)


def _no_difference(verification: Verification, witness: Witness, lower: LowerBound) -> Section | None:
    """Return the section on draws that showed no difference; None if nothing was drawn."""
    if not lower.samples:
        return None
    view = str(verification.details.get("tested_view", verification.claim.view))
    rounds = witness.details.get("rounds")
    delta = verification.claim.delta
    said = observed(
        "{view}: {difference} is not significant at {level} confidence in {draws:,} draws{played}.",
        lower.samples,
        difference=f"a difference of more than δ = {as_given(delta)} in the probability of an event"
        if delta > 0.0
        else "the difference between D and D′",
        view=f"{view[:1].upper()}{view[1:]}",
        level=percent(lower.confidence),
        played=f" of rounds 1 to {rounds:,}" if isinstance(rounds, int) else "",
    )
    return Section("Largest difference", (Paragraph(said),))


class _EventWords(NamedTuple):
    """Sentences on the probabilities of an event on D and D′, on their ratio beside the claim, and their meaning."""

    on_data: Sentence
    on_data_prime: Sentence
    ratio: Sentence
    meaning: tuple[Sentence, ...] = ()


def _event_words(witness: Witness, claim: Claim, lower: LowerBound) -> _EventWords:
    """Return the sentences on an event, by its evidence: counts, exact probabilities, or a bound."""
    factor = f"e^{as_given(claim.epsilon)} = {at_most(largest_factor(claim.epsilon))}"
    allowed = f"claim: at most {factor}"
    match witness:
        case Witness(hits=int(hits), hits_prime=int(hits_prime), trials=int(trials)):
            return _words_of_counts(witness, claim, lower, allowed, (hits, hits_prime, trials))
        case Witness(hits=int(hits), trials=int(trials)):
            return _words_of_counts_on_data(witness, claim, lower, allowed, (hits, trials))
        case _ if lower.exact:
            return _words_of_probabilities(witness, claim, allowed)
        case _:
            return _words_of_bound(witness, claim, lower, allowed)


def _words_of_counts(
    witness: Witness, claim: Claim, lower: LowerBound, allowed: str, counts: tuple[int, int, int]
) -> _EventWords:
    """Return the sentences on an event that was counted on both data sets."""
    p, q, (hits, hits_prime, trials) = witness.probability, witness.probability_prime, counts
    ratio = f"{_quotient(witness, claim)} (estimated)" if q > 0.0 else "not estimable (0 hits on D′)"
    by_bets = lower.method == BETTING  # on many events, each with counts of its own
    if lower.samples and math.isfinite(lower.epsilon) and not by_bets:
        words = "{ratio}; ≥ {least} with {confidence} confidence; {allowed}"
        least = at_least(largest_factor(lower.epsilon))
        said = lower.as_sure(words, ratio=ratio, least=least, allowed=allowed)
    else:
        said = observed(
            "{ratio}, from {draws:,} draws a side; {allowed}", trials, ratio=ratio, allowed=allowed
        )
    if q > 0.0:
        seen = f"{_OBSERVER} (estimated from {{draws:,}} draws a side)."
        meaning = [observed(seen, trials, ratio=nearest(p / q, 4), share=_share_right(p, q))]
    else:
        all_or_some = "Seen in all {draws:,} draws on D and in none of {draws:,} on D′."
        meaning = [observed(all_or_some if p == 1.0 else "Not seen in {draws:,} draws on D′.", trials)]
        if lower.samples and not by_bets:
            delta, also = witness.details.get("delta_lower"), ""
            if isinstance(delta, float) and delta > 0.0:
                also = f"δ ≥ {at_least(delta)} at ε = {as_given(claim.epsilon)}, and "
            meaning.append(lower.as_sure("With {confidence} confidence: {also}{bound}.", also=also))
    if by_bets:
        meaning.append(lower.as_sure("All bets together: {bound} ({confidence} confidence)."))
    return _EventWords(_share(p, hits, trials), _share(q, hits_prime, trials), said, tuple(meaning))


def _words_of_counts_on_data(
    witness: Witness, claim: Claim, lower: LowerBound, allowed: str, counts: tuple[int, int]
) -> _EventWords:
    """Return the sentences on an event counted on D; its probability on D′ follows from the densities."""
    loss, meaning = _loss(witness), tuple[Sentence, ...]()
    if math.isinf(loss):
        ratio, meaning = (
            exact("infinite (from the densities); {allowed}", allowed=allowed),
            (exact(_IDENTIFIES),),
        )
    elif claim.delta > 0.0:
        ratio = _least_ratio(claim, lower, allowed)
    else:
        ratio = exact(
            "at least e^{loss} (from the densities); {allowed}", loss=at_least(loss), allowed=allowed
        )
    return _EventWords(_share(witness.probability, *counts), _from_densities(loss), ratio, meaning)


def _words_of_probabilities(witness: Witness, claim: Claim, allowed: str) -> _EventWords:
    """Return the sentences on an event with exact probabilities; with its loss if that on D′ underflows."""
    p, q, loss = witness.probability, witness.probability_prime, _loss(witness)
    meaning: tuple[Sentence, ...] = ()
    if q > 0.0:
        ratio = _quotient(witness, claim)
        said = f"{_OBSERVER} (exact)."
        meaning = (exact(said, ratio=nearest(p / q, 4), share=_share_right(p, q)),)
    elif math.isinf(loss):
        ratio = "infinite"
        if p > 0.0:
            certain = "The event identifies D with certainty: δ = 1 at every ε."
            meaning = (exact(certain if p == 1.0 else _IDENTIFIES),)
    else:
        ratio = f"at least e^{at_least(loss)}"
    return _EventWords(
        exact("{share} (exact)", share=percent(p)),
        _from_densities(loss)
        if q == 0.0 and math.isfinite(loss)
        else exact("{share} (exact)", share=percent(q)),
        exact("{ratio} (exact); {allowed}", ratio=ratio, allowed=allowed),
        meaning,
    )


def _words_of_bound(witness: Witness, claim: Claim, lower: LowerBound, allowed: str) -> _EventWords:
    """Return the sentences on an event without counts, from a bound with a confidence."""
    words = "at least {share} % ({confidence} confidence)"
    on_data, on_data_prime = (
        lower.as_sure(words, share=at_least(100.0 * each, 3))
        for each in (witness.probability, witness.probability_prime)
    )
    if math.isfinite(loss := _loss(witness)):
        on_data_prime = _from_densities(loss)
    return _EventWords(on_data, on_data_prime, _least_ratio(claim, lower, allowed))


def _share(probability: float, hits: int, draws: int) -> Sentence:
    return observed("{share} ({hits:,} of {draws:,} draws)", draws, share=percent(probability), hits=hits)


def _from_densities(loss: float) -> Sentence:
    """Return the probability on D′ of an event of at least this loss."""
    if math.isinf(loss):
        return exact("{share} (from the densities)", share=percent(0.0))
    return exact("at most P(event | D) / e^{loss} (from the densities)", loss=at_least(loss))


def _loss(witness: Witness) -> float:
    """Return the least privacy loss in the event; inf of an event that is no likelihood ratio."""
    loss = witness.details.get("largest_loss", math.inf)
    return float(loss) if isinstance(loss, float | int) else math.inf


def _excess(claim: Claim) -> str:
    return "(P(D) − δ)" if claim.delta > 0.0 else "P(D)"


def _quotient(witness: Witness, claim: Claim) -> str:
    """Return the ratio of the probabilities of the event on D, beyond δ, and on D′."""
    value = (witness.probability - claim.delta) / witness.probability_prime
    return f"{_excess(claim)} / P(D′) = {nearest(value, 4)}"


def _least_ratio(claim: Claim, lower: LowerBound, allowed: str) -> Sentence:
    """Return the likelihood ratio of an event that a lower bound with a confidence implies."""
    words = "{excess} / P(D′) at least e^{loss} ({confidence} confidence); {allowed}"
    return lower.as_sure(words, excess=_excess(claim), loss=at_least(lower.epsilon), allowed=allowed)


def _share_right(p: float, q: float) -> str:
    """Return the share of right guesses after an event of these probabilities, which both are above 0."""
    return percent(min(p / (p + q), math.nextafter(1.0, 0.0)))


def _findings(verification: Verification) -> Section | None:
    if not verification.findings:
        return None
    heading: tuple[str, ...] = ("Finding", "Observation", "Effect")
    rows: tuple[tuple[Words, ...], ...] = tuple(
        (each.kind.value, each.sentence, _weight(each)) for each in verification.findings
    )
    if any(each.where for each in verification.findings):
        heading = (*heading, "Location")
        rows = tuple((*row, each.where) for row, each in zip(rows, verification.findings, strict=True))
    return Section("Findings", (TextTable(heading, rows),))


def _weight(finding: Finding) -> str:
    if finding.failing:
        return "blocking"
    return "not counted" if finding.kind is FindingKind.FLOATING_POINT else "information"


def _assumed_sentence(verification: Verification) -> Sentence:
    """Return the assumptions of the result, beside those of every result, in a sentence."""
    if verification.assumptions:
        return remark(
            "Not checked: {first}{more}.",
            first=verification.assumptions[0],
            more=""
            if len(verification.assumptions) == 1
            else f" and {len(verification.assumptions) - 1} more",
        )
    if verification.verdict == "certified":
        if verification.kind is SubjectKind.MECHANISM:
            return exact("No unchecked assumption. The proof covers the mechanism with these parameters.")
        return exact(
            "No unchecked assumption. The proof covers the learner run under dpwitness's accountant, which blocks any "
            "release that would exceed the claim. Without the accountant it does not apply."
        )
    if verification.verdict == "refuted":
        return remark("Only the counterexample. The command below reproduces it.")
    return remark("Nothing was proved. Tests rest on independent draws.")


def _assumptions(verification: Verification) -> Section:
    drawn = remark(
        "The generator's draws are independent and uniform; misuse by the function under test is checked for."
    )
    lower = verification.lower
    trusted = [ADVERSARY] if lower is None or not lower.samples else [ADVERSARY, drawn]
    if verification.subject.startswith("published/"):
        trusted.append(remark("algorithms/published transcribes the printed algorithm correctly."))
    unchecked: tuple[Block, ...] = ()
    if verification.assumptions:
        every = tuple(remark("{each}", each=each) for each in verification.assumptions)
        unchecked = (Paragraph(remark("Assumed, not checked:")), Bullets(every))
    return assumptions_section(unchecked, *trusted)


def _certainty(verification: Verification) -> Section | None:
    blocks: list[Block] = []
    shown = {"certified": ("detection_floor",), "unproven": ("near_claim", "detection_floor"), "refuted": ()}
    details = verification.details
    found = [sentence_of(details[key]) for key in shown[verification.verdict] if key in details]
    if found and verification.verdict == "certified":
        blocks.append(Paragraph(remark("Without the proof, the tests alone:")))
    blocks += [Paragraph(each) for each in found]
    technical: list[Block] = []
    band = details.get("band")
    if band is not None:
        technical.append(Paragraph(sentence_of(band["said"])))
    if verification.verdict != "refuted" and "detection_power" in details:
        technical.append(Paragraph(sentence_of(details["detection_power"])))
    if band is not None:
        said = "The band holds for all ε simultaneously; at a single ε it is slightly wider than the bound above."
        technical.append(Paragraph(remark(said)))
        if band["delta_upper_by"] is not None:
            technical.append(Paragraph(remark("Upper curve: {method}.", method=band["delta_upper_by"])))
        technical += [_profile(verification, band), _trade_off(verification, band)]
    folded = (Details("Privacy profile δ(ε)", tuple(technical)),) if technical else ()
    return Section("Confidence and limits", tuple(blocks), folded) if blocks or folded else None


def _certainty_sentence(verification: Verification) -> Sentence:
    lower = verification.lower
    if verification.verdict == "certified":
        return exact(
            "The upper bound is a proof for all data and all attacks on the claimed output. Tests are an independent "
            "check."
        )
    if verification.verdict == "refuted" and lower is not None:
        if lower.exact:
            return exact("The lower bound is exact.")
        return confident(
            "Lower bound: {confidence} confidence, {draws:,} draws including the search. The verdict uses a stricter "
            "level: a true claim is rejected with probability at most {share:g}. That is a false-positive rate, not "
            "the probability that this rejection is wrong.",
            lower.confidence,
            lower.samples,
            share=_false_positives(verification),
        )
    if _passed_tests(verification):
        return remark(
            "These tests search for the neighbours and the event with the largest privacy loss. A violation that they "
            "did not search for may remain."
        )
    return remark("No conclusion; see Why.")


def _false_positives(verification: Verification) -> float:
    """Return the largest probability with which a true claim is rejected."""
    for kind in ("black_box", "anytime"):
        tested = verification.details.get(kind)
        if isinstance(tested, Mapping) and isinstance(tested.get("significance"), float):
            return float(tested["significance"])
    return FALSE_ALARM


def _profile(verification: Verification, band: Mapping[str, Any]) -> Picture:
    grid, lower = _numbers(band["epsilon"]), _numbers(band["delta_lower"])
    upper = None if band["delta_upper"] is None else _numbers(band["delta_upper"])
    claim = verification.claim
    known = upper if upper is not None else [1.0] * len(grid)
    seen = [value for value in lower if value > 0.0]
    least = max(_LEAST_DELTA, min(1.0, 0.3 * min(seen, default=1.0)))
    curves = [
        Curve(
            f"lower limit ({percent(float(band['confidence']))} confidence)",
            [point for point in zip(grid, lower, strict=True) if point[1] > 0.0],
            "shown",
        ),
        Curve("claim", [(claim.epsilon, least), (claim.epsilon, 1.0)], "claim"),
    ]
    if upper is not None:
        proved = [point for point in zip(grid, upper, strict=True) if point[1] > 0.0]
        name = "upper bound (proved)" if _is_proved(verification) else "upper bound (these runs only)"
        curves.insert(0, Curve(name, proved, "proved"))
    possible = [
        (x, max(low, _NO_DELTA), max(high, _NO_DELTA))
        for x, low, high in zip(grid, lower, known, strict=True)
    ]
    words = confident(
        "Privacy profile δ(ε): lower limit ({confidence} confidence) and upper bound, for all ε simultaneously.",
        float(band["confidence"]),
    )
    axes = Axis("ε", 0.0, max(grid, default=1.0) or 1.0), Axis("δ", least, 1.0, logarithmic=True)
    return Picture(Chart(*axes, curves, [Area("possible", possible)]), words)


def _trade_off(verification: Verification, band: Mapping[str, Any]) -> Picture:
    alpha, claim = _numbers(band["trade_off"]["alpha"]), verification.claim
    proved: Profile = ()
    if band["delta_upper"] is not None:
        proved = list(zip(_numbers(band["epsilon"]), _numbers(band["delta_upper"]), strict=True))
    reached = list(zip(alpha, _numbers(band["trade_off"]["beta_upper"]), strict=True))
    words = confident(
        "Trade-off function (f-DP): false-negative rate of the best test against its false-positive rate ({confidence} "
        "confidence).",
        float(band["confidence"]),
    )
    seen = Curve("attained by a test", reached, "shown")
    drawn = trade_off_chart(proved=proved, claim=[(claim.epsilon, claim.delta)], others=[seen])
    return Picture(drawn, words)


def _numbers(values: list[Any]) -> list[float]:
    return [float(value) for value in values]


def _seed_sentence(verification: Verification) -> Sentence:
    return remark(
        "Seed {seed}; the same code and versions give the same numbers. Another seed is an independent check.",
        seed=verification.seed,
    )


def _theorems(verification: Verification) -> tuple[str, ...]:
    found = [theorem_named(verification.claim.composition)]
    if verification.upper is not None:
        found.append(verification.upper.method)
    by_bets = "anytime" in verification.details
    if verification.lower is not None and verification.lower.samples:
        found.append(BETS if by_bets else COUNTS)
    if "band" in verification.details:
        found.append(PROFILE)
    return (*found, verification.claim.source)
