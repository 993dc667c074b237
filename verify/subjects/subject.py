"""What can be verified: learners, mechanisms, plain bandits, and functions.

Five kinds of subject: a learner (a class with ``act`` and ``observe``), a mechanism, a plain bandit
(`verify.bandits.calling.plain_bandit`), a function ``f(data, gate)`` that holds raw data and releases through a gate,
and a function ``f(data, rng)`` or ``f(data, rng, lanes)`` that is a black box. A command in any language is a function,
too (`verify.functions.command_subject`). Functions say which data sets are neighbours with the decorator
`verify.functions.claimed.claimed`; `verify.subjects.resolve` finds a subject by its name.
"""

from __future__ import annotations

from verify.bandits.calling.plain_bandit import BanditSubject
from verify.functions.function_subject import FunctionSubject
from verify.learners.learner_subject import LearnerSubject
from verify.verify_mechanism import MechanismSubject

Subject = LearnerSubject | MechanismSubject | FunctionSubject | BanditSubject
