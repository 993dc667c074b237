"""Work in numbered blocks with seeds of their own, on any number of processes or machines, stored block by block."""

from algorithms.blocks.backend import make_executor
from algorithms.blocks.block_store import Arrays, BlockStore, DamagedBlock
from algorithms.blocks.blocks import Blocks, Finished, Tell, run_blocks
from algorithms.blocks.dask_cluster import ClusterError, DaskCluster
from algorithms.blocks.executor import Executor, Serial, Workers, WorkersDied
from algorithms.blocks.identity import NoIdentity, identity
from algorithms.blocks.processes import Processes

__all__ = [
    "Arrays",
    "BlockStore",
    "Blocks",
    "ClusterError",
    "DamagedBlock",
    "DaskCluster",
    "Executor",
    "Finished",
    "NoIdentity",
    "Processes",
    "Serial",
    "Tell",
    "Workers",
    "WorkersDied",
    "identity",
    "make_executor",
    "run_blocks",
]
