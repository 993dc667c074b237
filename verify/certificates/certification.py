"""`certify`: verify a claim and issue a certificate if it is certified."""

from __future__ import annotations

from accountant.provenance import Provenance, file_digest
from mechanisms.parameters import DPWitnessError
from verify.certificates.certificate import PROOF_KEYS, Certificate, certifying, said_options
from verify.verdict.result import Verification
from verify.verification.options import Options, takes
from verify.verification.resolve import file_of
from verify.verification.subject_identity import class_without_source
from verify.verification.verification import run_verification


class NotCertified(DPWitnessError, ValueError):
    """The claim was not certified, so that there is no certificate.

    Attributes
    ----------
    verification
        The whole result.
    """

    def __init__(self, verification: Verification, why: str) -> None:
        super().__init__(f"no certificate of {verification.subject}: {why}")
        self.verification = verification


@takes(Options)
def certify(subject: object, options: Options) -> Certificate:
    """Verify a claim, and return its certificate if it is certified.

    Parameters
    ----------
    subject
        A registered learner's name, ``"path/to/file.py:object"``, a learner class, or a mechanism.

    Returns
    -------
    Certificate
        The claim with its proof, the code that it is about, and the command that repeats it.

    Raises
    ------
    NotCertified
        If the claim is refuted or unproven, or not all tests were done; its `verification` has the findings.
    ParameterError
        If any parameter is of a wrong type or out of range, or a certificate cannot say it; the message names it.

    Examples
    --------
    >>> from mechanisms import Laplace
    >>> certificate = certify(Laplace(scale=1.0), epsilon=1.0, effort="quick")
    >>> certificate.proof["claim"]["epsilon"]
    1
    >>> certificate.check().verdict
    'valid'
    """
    said_options(options)  # before any work
    return certified(run_verification(subject, options), subject, options)


def certified(found: Verification, subject: object, options: Options) -> Certificate:
    """Return the certificate of a verification, if it is certified.

    Raises
    ------
    NotCertified
        As `certify`.
    """
    if hidden := class_without_source(subject):
        raise NotCertified(found, f"the source of {hidden} cannot be read; put it into a file")
    if found.verdict != "certified":
        raise NotCertified(found, f"{found.verdict}. {' '.join(map(str, found.decision.reasons))}")
    if found.details.get("interrupted"):
        raise NotCertified(found, "stopped before all tests were done")
    made, file = found.provenance, file_of(subject)
    mechanism, proof = found.details.get("mechanism"), found.details["proof"]
    said = said_options(options) | {"seed": found.seed}
    return Certificate(
        subject=found.subject,
        kind=found.kind,
        claim=found.claim,
        proof={key: proof[key] for key in PROOF_KEYS},
        reasons=found.decision.reasons,
        options=said,
        repeat=certifying(found.subject, found.claim, said),
        flows={**proof["tested"], **({} if mechanism is None else {"mechanism": mechanism})},
        provenance=Provenance(
            made.date,
            made.versions,
            {**made.digests, **({} if file is None else {"file": file_digest(file)})},
        ),
    )
