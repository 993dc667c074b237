"""Verification from a subject and a claim to a verdict: its options, how a name finds its subject, and its steps.

Four kinds of subject: a learner (a class with ``act`` and ``observe``), a mechanism, a plain bandit
(`verify.bandits.calling.plain_bandit`), and a function: ``f(data, gate)``, which holds raw data and releases through a
gate, or ``f(data, rng)`` or ``f(data, rng, lanes)``, which is a black box. A command in any language is a function, too
(`verify.functions.command_subject`). Functions say which data sets are neighbours with the decorator
`verify.functions.claimed.claimed`; `verify.verification.resolve` finds a subject by its name.
"""
