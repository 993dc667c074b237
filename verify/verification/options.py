"""The options of a caller: one frozen value, checked once.

The signature of `verify` and its documentation, the flags of the command line and the line that repeats a verification
follow from `Options`, and all functions that pass options on (`assert_dp`, the pytest fixture) take them all: a new
option is a new field.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, cast

from accountant.compositions import composition_named
from algorithms.blocks import Executor, make_executor
from algorithms.problems import LinearBandit, LinearContexts, Problem, Value
from algorithms.unit import named_unit
from dpwitness import field_types
from mechanisms import Domain
from mechanisms.parameters import ParameterError
from verify.conduct import rules
from verify.conduct.effort import EFFORTS, FALSE_ALARM
from verify.conduct.progress import Progress
from verify.conduct.time_limit import SECONDS, check_time_limit
from verify.neighbouring.adjacency import Adjacency
from verify.sampling.stage_sizes import FEWEST_SAMPLES
from verify.transcripts.adversary import Adversary

_FLAG = rules.satisfies(lambda value: isinstance(value, bool), "True or False")


@dataclass(frozen=True, kw_only=True)
class OptionFacts:
    """The facts about an option, beside its name, type and default.

    Attributes
    ----------
    rule
        The rule for its values. None is always right where it is the default.
    flag
        The flag of the command line, up to the value; without, it has none.
    reads
        The type to which numbers of other libraries are converted; it follows from the option's own type.
    repeats
        True if the result depends on it, so that the line that repeats a verification includes it.
    """

    rule: rules.ValueRule
    flag: str = ""
    reads: type = str
    repeats: bool = True


def option(default: Any, rule: rules.ValueRule, **facts: Any) -> Any:
    """Return the field of an option, see `OptionFacts`."""
    return field(default=default, metadata={"facts": OptionFacts(rule=rule, **facts)})


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options of `verify`.

    Attributes
    ----------
    epsilon
        The claim. The trust model, the record and the view are the subject's own. Only a specimen of the zoo has
        numbers of its own, which hold unless others are given.
    delta
        The claim's other number; by default 0, or the specimen's own.
    composition
        For learners: the composition theorem under which an accountant enforces the claim: ``'basic'``, ``'advanced'``,
        ``'zcdp'``, ``'renyi'`` or ``'gaussian'``, and its settings, as in ``'zcdp, failures=0.1'``. By default that of
        the learner's own claim; else basic composition, or for delta > 0 the Gaussian filter.
    unit
        For learners: the unit that the claim protects, in place of the learner's own: ``'one report'``, ``'one person,
        at most 8 rounds'`` (or another number), or ``'one person'`` for all rounds that a person takes part in. Names
        take turns in the runs, each as often as the unit permits.
    problem
        For learners: a problem, its name in the catalogue, or ``"path/to/file.py:problem"`` (a problem, or a function
        that makes one); by default the learner's own.
    settings
        Parameters of the named problem and of the learner.
    horizon
        For learners: the rounds they are built for, and of every accounting run; by default what `effort` says. What is
        certified beyond that many rounds rests on the accountant that enforces its budget.
    effort
        ``'quick'``, ``'default'`` or ``'thorough'``.
    samples
        Draws of the view in the black-box test, of all stages together; by default those of `effort`.
    confidence
        The confidence of the lower bounds that rest on draws.
    significance
        The largest probability with which a true claim is refuted, all looks of this verification together.
    floating_point
        For functions: whether differences in floating-point arithmetic alone count against the claim.
    time_limit
        Seconds after which to stop and report the findings until then.
    anytime
        Bet while drawing and stop as soon as the claim is refuted, in place of one test at the end. Whenever it stops,
        its bounds hold. For learners and plain bandits, `seed` is that of the bets alone. A path names a file that
        carries the winnings from run to run, of one subject, claim and set of settings; a run with seed 0, the default,
        then takes a seed that none before it used.
    adversary
        For learners and plain bandits: an interactive adversary (`verify.transcripts.adversary`) to play against, or
        its name (`verify.verification.named_adversary`); for plain bandits in place of fixed reward tables.
    neighbours
        For functions: the neighbouring data sets, in place of those that the function itself declares.
    seed
        The seed of all randomness: the same seed gives the same result, bit for bit. Generated data also depend
        on the user's own modules that the process has loaded: Hypothesis tries their constants.
    workers
        Processes that draw and count, or ``'dask'``, a Dask cluster: of this machine, or ``'dask:tcp://host:8786'`` of
        the scheduler at an address. The result does not depend on it.
    isolated
        Run in a process of its own, where processes can be forked: a subject that ends its process, or never returns
        from code that is not Python, gets a finding and takes nothing else down.
    progress
        Function that is called with the share done and a description of the present step.

    Raises
    ------
    ParameterError
        If any value is of a wrong type or out of range; the message names it.
    """

    epsilon: float | None = option(None, rules.real_number(), flag="--epsilon")
    delta: float | None = option(None, rules.real_number(), flag="--delta")
    composition: str | None = option(None, rules.accepted_by(composition_named), flag="--composition")
    unit: str | None = option(None, rules.accepted_by(named_unit), flag="--unit")
    problem: Problem | LinearBandit | LinearContexts | str | None = option(
        None,
        rules.satisfies(
            lambda value: (
                isinstance(value, str | LinearBandit | LinearContexts) or hasattr(value, "structure")
            ),
            "a problem or its name",
        ),
        flag="--problem",
    )
    settings: Mapping[str, Value] | None = option(
        None,
        rules.satisfies(lambda value: isinstance(value, Mapping), "a dictionary of parameters by name"),
        flag="--set",
    )
    horizon: int | None = option(None, rules.integer(1), flag="--set horizon=")
    effort: str = option("default", rules.one_of(tuple(EFFORTS)), flag="--effort")
    samples: int | None = option(
        None,
        rules.real_number(
            lambda value: value >= FEWEST_SAMPLES and value.is_integer(),
            f"be a whole number of at least {FEWEST_SAMPLES:,}",
        ),
        flag="--samples",
    )
    confidence: float = option(0.95, rules.real_number(lambda value: 0.5 <= value < 1.0, "lie in [0.5, 1)"))
    significance: float = option(
        FALSE_ALARM,
        rules.real_number(lambda value: 0.0 < value <= 0.5, "lie in (0, 0.5]"),
        flag="--significance",
    )
    floating_point: bool = option(False, _FLAG, flag="--floating-point")
    time_limit: float = option(SECONDS, rules.accepted_by(check_time_limit), flag="--time-limit")
    anytime: bool | str | Path = option(
        False,
        rules.satisfies(
            lambda value: isinstance(value, bool | str | os.PathLike), "True, False, or the path of a file"
        ),
        flag="--anytime",
    )
    adversary: Adversary | str | None = option(
        None,
        rules.satisfies(
            lambda value: isinstance(value, str) or callable(getattr(value, "turn", None)),
            "an adversary or its name",
        ),
        flag="--adversary",
    )
    neighbours: Adjacency | Domain | None = option(
        None,
        rules.satisfies(lambda value: True, ""),  # checked where the subject is found
    )
    seed: int = option(0, rules.integer(0, bits=1_024), flag="--seed")
    workers: int | str = option(1, rules.accepted_by(make_executor), flag="--workers", repeats=False)
    isolated: bool = option(False, _FLAG, repeats=False)
    progress: Progress | None = option(
        None, rules.satisfies(callable, "a function of a share and of a description"), repeats=False
    )

    def __post_init__(self) -> None:
        for name, default, facts in each_option(type(self)):
            value = getattr(self, name)
            if value is not None or default is not None:
                facts.rule(name, value)
            if facts.reads in (int, float) and type(value).__module__ != "builtins":
                number = facts.reads(value)  # of a fraction, or a number of NumPy's
                if number != value:  # rounded, it would be another claim
                    raise ParameterError(
                        f"{name} = {value!r}: must be a float exactly; {number!r} is the nearest"
                    )
                object.__setattr__(self, name, number)
        if self.bets and self.floating_point:
            raise ParameterError(
                "floating_point = True: not with anytime: bets are on events in real arithmetic"
            )

    @property
    def executor(self) -> Executor:
        """The executor of the work, in as many workers as were asked for."""
        return make_executor(self.workers)

    @property
    def bets(self) -> bool:
        """True if bets take the place of one test at the end."""
        return self.anytime is not False

    @property
    def wealth(self) -> Path | None:
        """The file of winnings, None if there is none; absolute, as a subject may change the folder."""
        return None if isinstance(self.anytime, bool) else Path(self.anytime).absolute()


@dataclass(frozen=True)
class SubjectOptions(Options):
    """A subject, and the options of its verification."""

    subject: object


def each_option(options: type[Options]) -> Iterator[tuple[str, Any, OptionFacts]]:
    """Yield the name, default and facts of every option, in order."""
    types = field_types(cast("type", options))  # mypy: the hash of its values is not that of the class
    for one in fields(options):
        if "facts" not in one.metadata:  # the subject
            continue
        reads = next((kind for kind in (int, float) if types[one.name] in (kind, kind | None)), str)
        yield one.name, one.default, replace(one.metadata["facts"], reads=reads)
