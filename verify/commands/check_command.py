"""The command ``dpwitness check``: a repeated check of a certificate, a witness or a ledger."""

from __future__ import annotations

import shlex
import sys
from codecs import BOM_UTF8
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.text import Text

from accountant.files.data_files import DataFileError, from_json, text_of
from accountant.files.sqlite_file import is_sqlite
from accountant.proofs.proof_document import FORMAT as PROOF
from algorithms.problems import SettingError
from mechanisms.numerics.printed_numbers import counted_noun
from mechanisms.parameters import quoted
from verify.commands.option_table import NO_ANCHOR
from verify.commands.shown_results import show
from verify.conduct.exit_codes import BAD, GOOD, OPEN
from verify.conduct.interrupts import count_interrupts
from verify.findings.printable import printable

if TYPE_CHECKING:
    from accountant.stores.store_verification import Verified
    from verify.findings.finding import Witness
    from verify.verdict.result import Verification

_STYLES = {"valid": "bold green", "invalid": "bold red", "unproven": "bold yellow"}


def check_command(*, file: str, subject: str | None, replay: bool, anchor: Path | None, as_json: bool) -> int:
    """Check a file again, show the result, and return the exit code."""
    anchor = None if anchor == NO_ANCHOR else anchor
    kind, data = _kind(file)
    if replay and kind != "certificate":
        raise SettingError(f"--replay: is a certificate's, and {file} holds a {kind}")
    if kind != "ledger" and anchor is not None:
        raise SettingError(f"--anchor {anchor}: is a store's, and {file} holds a {kind}")
    if kind == "ledger" and subject is not None:
        raise SettingError(f"--subject {subject}: {file} holds a ledger, which is about no code")
    if kind == "proof":
        return _check_proof(file, as_json)
    if kind == "certificate":
        return _check_certificate(file, data, subject, replay, as_json)
    return (
        _check_witness(file, data, subject, as_json)
        if kind == "witness"
        else _check_ledger(file, anchor, as_json)
    )


def _kind(file: str) -> tuple[str, Any]:
    """Return the kind of a file, and its data if it is JSON; a URL, a database or a missing file is a ledger."""
    path = Path(file)
    if "://" in file or not path.is_file() or is_sqlite(path):
        return "ledger", None
    try:
        data = from_json(text_of(path))
    except DataFileError as error:
        raise SettingError(f"{file}: is no certificate, result or ledger ({error})") from None
    known = str(data.get("format", "")) if isinstance(data, dict) else ""
    if known == PROOF:
        if path.read_bytes().startswith(BOM_UTF8):
            raise SettingError(f"{file}: begins with a byte order mark, which the checker does not read")
        return "certificate" if "subject" in (data.get("tested") or ()) else "proof", data
    if known.startswith("dpwitness certificate,"):
        raise SettingError(f"{file}: is of format {known!r}, which holds no proof; certify its subject again")
    if known.startswith("dpwitness verification,"):
        return "witness", data
    if not known.startswith("dpwitness-ledger-"):
        words = f"but of format {quoted(known)}" if known else "as it states no format"
        raise SettingError(f"{file}: is no certificate, refutation or ledger, {words}")
    return "ledger", data


def _check_certificate(file: str, data: Any, subject: str | None, replay: bool, as_json: bool) -> int:
    """Check a certificate's claim with the independent checker, and replay its subject if that is requested.

    The checker runs no code of the subject, and depends on no version of a package.
    """
    from verify.certificates.certificate import Certificate
    from verify.certificates.certificate_check import check_certificate

    try:
        certificate = Certificate.from_json(data)
    except ValueError as error:
        raise SettingError(f"{file}: {error}") from None
    with count_interrupts(), redirect_stdout(sys.stderr):
        checked = check_certificate(certificate, subject, replay=replay, options={}, file=Path(file))
    words, about = printable(certificate.claim_words), printable(certificate.subject)
    stated = [] if replay else [f"the file states that this is of {about}; the proof does not show it"]
    reasons = [*stated, *map(str, checked.reasons), f"checker: {checked.said}"]
    show(as_json, checked.json, partial(_render, checked.verdict, words, reasons))
    return checked.exit_code


def _check_proof(file: str, as_json: bool) -> int:
    """Check the claim of a proof, such as an audit's figure, with the independent checker."""
    from verify.findings.proof_checker import check_proof_file

    checked = check_proof_file(Path(file))
    if not checked.is_proof:
        raise SettingError(f"{file}: is no proof ({checked.words})")
    verdict, code = ("valid", GOOD) if checked.follows else ("invalid", BAD)
    found = {"format": PROOF_CHECK, "verdict": verdict, "checker": checked.words}
    show(as_json, lambda: found, partial(_render, verdict, file, [checked.words]))
    return code


PROOF_CHECK = "dpwitness proof check, version 1"


def _render(verdict: str, words: str, reasons: list[str], console: Console) -> None:
    console.print(Text.assemble((verdict.upper(), _STYLES[verdict]), f"  {words}"), soft_wrap=True)
    for reason in reasons:
        for line, words in enumerate(reason.splitlines()):
            console.print(Text(f"  {'  ' if line else '- '}{printable(words)}"), soft_wrap=True)


WITNESS_CHECK = "dpwitness witness check, version 1"
_VERDICTS = {"refuted": ("valid", GOOD), "certified": ("invalid", BAD), "unproven": ("unproven", OPEN)}


def _check_witness(file: str, data: Any, subject: str | None, as_json: bool) -> int:
    """Draw the event of a refutation again; without counts, repeat the whole verification."""
    from verify.verdict.result import Verification

    try:
        said = Verification.from_json(data)
    except ValueError as error:
        raise SettingError(f"{file}: {error}") from None
    if said.verdict != "refuted" or said.witness is None:
        raise SettingError(f"{file}: is {said.verdict}; must be a refutation, or a certificate")
    again = _repeat_verification(file, said, subject)
    drawn = again.details.get("drawn_again")
    outcome = "unproven" if drawn and not drawn["refuted"] and again.verdict == "refuted" else again.verdict
    verdict, code = _VERDICTS[outcome]
    reason = f"made again with seed {again.seed}, the test says: {outcome}"
    if drawn:
        reason = f"its event, in {drawn['trials']:,} fresh draws a side: {outcome}"
    if subject is None and again.subject != said.subject:
        verdict, code, reason = "invalid", BAD, f"the command is about another subject: {again.subject}"
    elif subject is None and again.claim != said.claim:
        verdict, code, reason = "invalid", BAD, "another claim comes out than the file says"
    elif outcome == "refuted" or (drawn and outcome == "unproven"):
        other = _other_words(said.witness, again)
        verdict, code, reason = ("invalid", BAD, other) if other else (verdict, code, reason)
    reasons = [reason, *map(str, again.decision.reasons)]
    found = {"format": WITNESS_CHECK, "verdict": verdict, "reasons": reasons, "verification": again.json()}
    words = printable(f"{again.subject}: refuted, {'; '.join(_words_again(again).values()) or 'by no event'}")
    show(as_json, lambda: found, partial(_render, verdict, words, reasons))
    return code


def _words_again(again: Verification) -> dict[str, str]:
    """Return the repeated event and its data sets in words of this library, none of them from the file."""
    drawn, witness = again.details.get("drawn_again"), again.witness
    if drawn:
        event, neighbours = drawn["event_words"], drawn["neighbours"]
    elif witness is not None:
        event, neighbours = witness.event, witness.neighbours
    else:
        return {}
    return {"event": event, "neighbours": f"{neighbours['data']} / {neighbours['data_prime']}"}


def _other_words(said: Witness, again: Verification) -> str:
    """Return the first difference between a file's words and those of the repeated event; "" if there is none."""
    drawn = again.details.get("drawn_again") or {}
    stated = {
        "event": said.event,
        "neighbours": f"{said.neighbours.get('data')} / {said.neighbours.get('data_prime')}",
    }
    for name, words in _words_again(again).items():
        if stated[name] != words:
            return f"the file's {name} in words, {stated[name]}, must be: {words}"
    for name in drawn.keys() & {"event_words", "label"}:
        if said.details.get(name, drawn[name]) != drawn[name]:
            return f"the file's {name}, {said.details[name]}, must be: {drawn[name]}"
    return ""


def _repeat_verification(file: str, said: Verification, subject: str | None) -> Verification:
    """Return the verification that a witness's command line asks for.

    Raises
    ------
    SettingError
        If it is no command line of a verification, or starts a program, which no file may do.
    """
    from verify.commands.command_table import COMMANDS
    from verify.commands.verify_command import asked_verification
    from verify.verification.verification import run_verification

    assert said.witness is not None
    line = said.witness.reproduce
    try:
        program, name, *arguments = shlex.split(line)
    except ValueError:
        program, name, arguments = "", "", []
    if (program, name) != ("dpwitness", "verify"):
        raise SettingError(f"made in Python: repeat it there, by {line}")
    command = COMMANDS["verify"].command("verify")
    command.add_help_option = False  # it would print the help, and end this command as if all were well
    try:
        values = command.make_context("verify", arguments).params
    except (click.ClickException, click.exceptions.Exit) as error:
        why = error.format_message() if isinstance(error, click.ClickException) else "it ends at once"
        raise SettingError(f"{file}: its command must verify a claim, got {line} ({why})") from None
    for option in ("certificate", "outputs", "as_json"):
        values.pop(option)
    if values["command"] is not None:
        raise SettingError(f"it starts a program: look at it, and repeat it by {line}")
    if subject is not None:
        values["subject"] = subject
    named, options = asked_verification(**values)
    with redirect_stdout(sys.stderr):
        counted = "event" in said.witness.details and said.witness.hits_prime is not None
        return run_verification(named, options, witness=said.witness.details if counted else None)


def _check_ledger(store: str, anchor: Path | None, as_json: bool) -> int:
    """Compute every hash, charge and total of a ledger again; name the first that does not fit.

    The sums of a fold are taken on trust.
    """
    from accountant.stores.store_refusals import StoreRefused

    try:
        found = _verify_ledger(store, anchor)
    except StoreRefused as refused:
        words = str(refused)
        show(
            as_json,
            lambda: {"fits": False, "reason": words},
            lambda console: console.print(Text(printable(words)), soft_wrap=True),
        )
        return BAD
    show(as_json, partial(_ledger_json, found, anchor), partial(_render_ledger, found, anchor))
    return GOOD


def _verify_ledger(store: str, anchor: Path | None) -> Verified:
    from accountant.stores.export import verify_export
    from accountant.stores.opening import verify_store

    return verify_export(Path(store)) if store.endswith(".json") else verify_store(store, anchor)


def _ledger_json(found: Verified, anchor: Path | None) -> dict[str, Any]:
    return {
        "fits": True,
        "entries": found.entries,
        "accounts": found.accounts,
        "epoch": found.head.epoch,
        "head": found.head.hash,
        "anchored": found.replay.anchored,
        "compared_with_anchor": anchor is not None,
        "folded": found.replay.folds[-1]["after"] if found.replay.folds else 0,
        "hashed_names": found.replay.names is not None,
        "erased_names": len(found.replay.erasures),
        "adopted": len(found.replay.adoptions),
        "imported": [dict(each) for each in found.replay.imports],
        "folded_before_import": [dict(each) for each in found.replay.earlier_folds],
        "on_trust": list(found.trusted),
        "reserved": list(found.reserved),
    }


def _render_ledger(found: Verified, anchor: Path | None, console: Console) -> None:
    held = f"{counted_noun(found.entries, 'entry')}, {counted_noun(found.accounts, 'account')}"
    console.print(f"{held}: all fit", highlight=False)
    console.print(f"head {found.head.hash} (epoch {found.head.epoch})", highlight=False, soft_wrap=True)
    if anchor is not None:
        words = f"it holds the entry that {anchor} names"
        console.print(Text(printable(words)), soft_wrap=True)
    elif found.replay.anchored:
        words = (
            "not compared with its anchor (--anchor): nobody would notice entries that are missing at the end"
        )
        console.print(words, soft_wrap=True)
    if found.replay.missing_charges:
        console.print(Text(found.replay.missing_charges), soft_wrap=True)
    for each in found.replay.imports:
        last = f"ledger {each['store']}, up to its entry {each['position']}"
        words = f"imported: {last}, by {each['by']}: {each['reason']}"
        console.print(Text(printable(words)), soft_wrap=True)
    for where, folds in (("an imported ledger's", found.replay.earlier_folds), ("the", found.replay.folds)):
        for fold in folds:
            words = f"folded: {where} entries up to {fold['after']}, by {fold['by']}: {fold['reason']}"
            console.print(Text(printable(words)), soft_wrap=True)
    if found.replay.folds or found.replay.earlier_folds:
        console.print("what a fold says of the entries that it removed is believed")
    if found.replay.names is not None:
        console.print("records are named by hashes under a key")
    if found.replay.erasures:
        erased = counted_noun(len(found.replay.erasures), "name")
        words = f"{erased} erased; whoever came back began anew, with a whole budget"
        console.print(words, highlight=False, soft_wrap=True)
    for mechanism in found.trusted:
        console.print(Text(f"on trust: the charge of {printable(mechanism)}"))
    if found.reserved:
        console.print(f"reserved, not drawn: {len(found.reserved)} (dpwitness ledger show)")
