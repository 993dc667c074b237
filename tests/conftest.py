"""Hypothesis profiles: the suite repeats itself exactly; HYPOTHESIS_PROFILE=explore looks further."""

import os

from hypothesis import settings

settings.register_profile("repeatable", derandomize=True, deadline=None, database=None)
settings.register_profile("explore", deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))
