"""Run DP-Sniper beside `verify` on specimens of the zoo, at equal draws and equal confidence, and print one table.

Run ``python tests/benchmarks/peer_table.py CHECKOUT``, where CHECKOUT is a clone of eth-sri/dp-sniper (MIT), and the
interpreter has what its setup.py names; names of specimens pick rows.

Each row is verified at the default effort, and every draw that is made is counted. DD-Search then gets as many final
draws a side as the verification's final test had (rounded up to its thousands), and the rest of the same total for its
search, split evenly among training, thresholds and checks of all pairs. It runs twice, with logistic regression and
with a neural network, as in its experiments (`dpsniper/experiments/exp_default.py`): the same domains, patterns,
features, optimizers and c = 0.01. Both say lower bounds at the same confidence, and the mechanism is the same function:
both draw from the same law. DP-Sniper takes no seed, so its figures change from run to run.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import functools
import math
import sys
import tempfile
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
from zoo_table import apart, figure, line

from mechanisms.arrays import FloatArray
from verify import verify
from verify.zoo import specimens

CONFIDENCE = 0.9
SEARCHED = 5  # draws for each of a pair's: two sides of training, one of thresholds, two of the check


@dataclass(frozen=True)
class Setting:
    """How DP-Sniper's experiments feed a mechanism: its inputs, and what its classifier sees."""

    length: int = 1
    whole: bool = False
    least: int = -10
    most: int = 10
    all_move: bool = False
    features: int = 1
    flags: tuple[float, ...] = ()
    stopped: float = -1.0
    """Written where the specimen has NaN."""
    below: float = 0.0
    """Written where the specimen has 0."""

    def data(self, row: FloatArray) -> Any:
        """What the specimen is called with."""
        if self.length > 1 or (self.whole and self.least == 0):
            return row
        return int(row[0]) if self.whole else float(row[0])


_STOPS = Setting(10, all_move=True, features=20, flags=(-1.0,))
_ANSWERS = Setting(10, all_move=True, features=10)
_SELECTS = Setting(5, all_move=True)
_HISTOGRAM = Setting(5, whole=True, least=0, features=5)
_TRUNCATED = Setting(whole=True, least=0, most=5)
_STRING = Setting(whole=True, features=20)
SETTINGS = {
    "laplace": Setting(),
    "truncated-geometric": _TRUNCATED,
    "truncated-geometric-ln": _TRUNCATED,
    "noisy-hist-1": _HISTOGRAM,
    "noisy-hist-2": _HISTOGRAM,
    **{f"noisy-max-{number}": _SELECTS for number in range(1, 5)},
    "svt1": _STOPS,
    "svt2": _STOPS,
    "svt3": Setting(10, all_move=True, features=30, flags=(-1e3, -2e3), stopped=-2e3, below=-1e3),
    "svt4": _STOPS,
    "svt5": _ANSWERS,
    "svt6": _ANSWERS,
    "rappor": _STRING,
    "one-time-rappor": _STRING,
    "laplace-parallel": Setting(features=20),
    "prefix-sum-all": _ANSWERS,
    "numerical-svt": Setting(10, all_move=True, features=10, stopped=-1e3),
}


@dataclass
class Drawn:
    """A specimen as DP-Sniper's `Mechanism`."""

    name: str

    def m(self, a: FloatArray, n_samples: int = 1) -> FloatArray:
        setting = SETTINGS[self.name]
        out: FloatArray = specimens[self.name].subject(setting.data(a), _generator(), n_samples).astype(float)
        if setting.below:
            out[out == 0.0] = setting.below
        return np.nan_to_num(out, copy=False, nan=setting.stopped, posinf=math.inf, neginf=-math.inf)


@functools.cache
def _generator() -> np.random.Generator:
    return np.random.default_rng()


@dataclass(frozen=True)
class Ours:
    """What a verification says, and what it draws: in all, and for its final test on each side."""

    verdict: str
    bound: float
    draws: int
    final: int
    seconds: float


def send_ours(name: str, seed: int, answer: Connection) -> None:
    specimen, draws = specimens[name], 0

    @functools.wraps(specimen.subject)
    def counted(data: Any, rng: np.random.Generator, lanes: int) -> Any:
        nonlocal draws
        draws += lanes
        return specimen.subject(data, rng, lanes)

    start = time.process_time()
    result = verify(
        counted,
        epsilon=specimen.epsilon,
        delta=specimen.delta,
        confidence=CONFIDENCE,
        seed=seed,
        time_limit=math.inf,
    )
    bound = max(result.lower.epsilon, 0.0) if result.lower is not None else 0.0
    final = int(result.details["black_box"]["trials"])
    answer.send(Ours(result.verdict, bound, draws, final, time.process_time() - start))


def _worker_seconds(_: None) -> float:
    return time.process_time()


def send_theirs(name: str, network: bool, draws: int, final: int, answer: Connection) -> None:
    """Run DD-Search on a specimen in a process of its own, and send its bound and CPU seconds, imports left out."""
    from dpsniper.attack.dpsniper import DPSniper
    from dpsniper.classifiers import classifier_factory, torch_optimizer_factory
    from dpsniper.classifiers.feature_transformer import FlagsFeatureTransformer
    from dpsniper.input.input_domain import InputBaseType, InputDomain
    from dpsniper.input.pattern_generator import PatternGenerator
    from dpsniper.search.ddconfig import DDConfig
    from dpsniper.search.ddsearch import DDSearch
    from dpsniper.utils.initialization import initialize_dpsniper
    from dpsniper.utils.my_multiprocessing import the_parallel_executor

    setting, mechanism = SETTINGS[name], Drawn(name)
    kind = InputBaseType.INT if setting.whole else InputBaseType.FLOAT
    patterns = PatternGenerator(
        InputDomain(setting.length, kind, [setting.least, setting.most]), setting.all_move
    )
    pairs = len(list(patterns.get_input_pairs()))
    final = math.ceil(final / 1000) * 1000
    each = max((draws - 2 * final) // (SEARCHED * pairs * 1000), 1) * 1000
    config = DDConfig(n_train=each, n=each, n_check=each, n_final=final, n_processes=1, confidence=CONFIDENCE)
    flags = FlagsFeatureTransformer(list(setting.flags)) if setting.flags else None
    if network:
        factory = classifier_factory.MultiLayerPerceptronFactory(
            in_dimensions=setting.features,
            hidden_sizes=(10, 5),
            optimizer_factory=torch_optimizer_factory.AdamOptimizerFactory(learning_rate=0.1, step_size=500),
            feature_transform=flags,
            regularization_weight=0.0001,
            epochs=10,
        )
    else:
        factory = classifier_factory.LogisticRegressionFactory(
            in_dimensions=setting.features,
            optimizer_factory=torch_optimizer_factory.SGDOptimizerFactory(
                learning_rate=0.3, momentum=0.3, step_size=500
            ),
            feature_transform=flags,
            regularization_weight=0.001,
            epochs=10,
        )
    with (
        tempfile.TemporaryDirectory() as folder,
        initialize_dpsniper(config, out_dir=folder, torch_threads=1),
    ):
        before = time.process_time() + the_parallel_executor.execute(_worker_seconds, [None])[0]
        attacks = DPSniper(mechanism, factory, config)
        witness = DDSearch(mechanism, attacks, patterns, config).run()
        witness.compute_eps_high_precision(mechanism, config)
        after = time.process_time() + the_parallel_executor.execute(_worker_seconds, [None])[0]
    answer.send((max(float(witness.lower_bound), 0.0), after - before))


HEADINGS = (
    "specimen", "claim", "true ε", "ours", "DP-Sniper, regression", "DP-Sniper, network", "verdict", "draws",
    "final draws a side", "CPU s", "CPU s, regression", "CPU s, network",
)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkout", type=Path)
    parser.add_argument("names", nargs="*", metavar="specimen")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in SETTINGS]
    if unknown:
        parser.error(f"{unknown[0]}: must be one of {', '.join(SETTINGS)}")
    sys.path.append(str(options.checkout.resolve()))
    print(line(HEADINGS))
    print(line(("---",) * len(HEADINGS)))
    below = []
    for name in options.names or SETTINGS:
        specimen = specimens[name]
        ours: Ours = apart(send_ours, name, options.seed)
        theirs = [apart(send_theirs, name, network, ours.draws, ours.final) for network in (False, True)]
        bounds, seconds = zip(*theirs, strict=True)
        if ours.bound < max(bounds):
            below.append(name)
        print(
            line(
                (
                    name,
                    figure(specimen.epsilon),
                    figure(specimen.true_epsilon),
                    *map(figure, (ours.bound, *bounds)),
                    ours.verdict,
                    f"{ours.draws:,}",
                    f"{ours.final:,}",
                    *(f"{each:.1f}" for each in (ours.seconds, *seconds)),
                )
            ),
            flush=True,
        )
    print(f"\n- below one of DP-Sniper's bounds: {', '.join(below) or 'none'}")


if __name__ == "__main__":
    main()
