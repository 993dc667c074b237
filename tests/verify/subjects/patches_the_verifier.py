"""A file that changes its judge, as a test helper that was left in might."""

import verify.verification.verify_mechanism
from mechanisms import Laplace
from verify.sampling.likeliest_event import LossEvent

verify.verification.verify_mechanism.likeliest_event = lambda delta, claimed, bound: LossEvent(1.0, 1.0, 0.0)

LAPLACE = Laplace(scale=1.0)
