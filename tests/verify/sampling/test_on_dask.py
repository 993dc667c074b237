"""A test on a Dask cluster is the test in this process, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from algorithms.blocks import DaskCluster, Executor, Serial
from verify.events.view_sample import Column, ViewSample
from verify.events.worlds import NeighbouringWorlds
from verify.sampling.black_box import black_box_test
from verify.sampling.draws import ClaimTest

distributed = pytest.importorskip("distributed")


@pytest.mark.slow
def test_a_test_on_dask_is_the_test_here() -> None:
    scale = 0.8

    def draw(other: bool, n: int, seed: np.random.SeedSequence) -> ViewSample:
        noise = np.random.default_rng(seed).laplace(scale=scale, size=(n, 1))
        return ViewSample(noise + float(other), (Column("x", "the output", "real"),))

    worlds = [NeighbouringWorlds(("0", "1"), draw), NeighbouringWorlds(("0", "1 again"), draw)]

    def tested(executor: Executor) -> dict[str, Any]:
        result = black_box_test(
            worlds, ClaimTest(epsilon=1.0, delta=0.0, samples=150_000, seed=2), executor=executor
        )
        return result.to_dict()

    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, protocol="tcp", dashboard_address=":0"
    ) as cluster:
        there = tested(DaskCluster(cluster.scheduler_address))
    assert there == tested(Serial())
    assert there["refuted"]
