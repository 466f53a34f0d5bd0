"""Reads the figures of GPUs from data files, gpus/*.json; each figure has a source."""

from __future__ import annotations

import functools
import json
import os
from typing import NamedTuple

_FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "gpus")
DEFAULT = "H100"


class GPU(NamedTuple):
    """The figures of one GPU. ``sources`` maps the name of each figure to its document."""

    name: str
    capability: tuple
    multiprocessors: int
    clock_mhz: int
    """The boost clock."""
    dram_bytes_per_second: float
    l2_bytes: int
    l1_bytes: int
    """L1 cache and shared memory of a multiprocessor."""
    registers: int
    """Of a multiprocessor, each of 32 bits."""
    warps: int
    """The most at once in a multiprocessor."""
    blocks: int
    shared_bytes: int
    """The most for the blocks of a multiprocessor."""
    shared_bytes_of_block: int
    """The most for a block."""
    reserved_shared_bytes: int
    """Of each block, for the system."""
    l1_latency: int
    """In cycles, as the other latencies, of an idle GPU."""
    shared_latency: int
    l2_latency: int
    dram_latency: int
    l2_bytes_per_clock: int
    """What all multiprocessors together can read."""
    blocks_per_clock: float
    """Blocks that the whole GPU starts."""
    float32_per_clock: int
    """Results of a multiprocessor."""
    float64_per_clock: int
    dram_efficiency: float
    """The part of the bandwidth that large copies reach."""
    sources: dict

    def __repr__(self) -> str:
        major, minor = self.capability
        return f"<GPU {self.name}: {self.multiprocessors} multiprocessors, compute capability {major}.{minor}>"


@functools.cache
def gpu_names() -> tuple:
    """Returns a tuple of the names of all GPUs."""
    files = sorted(name for name in os.listdir(_FOLDER) if name.endswith(".json"))
    return tuple(_read_gpu(name).name for name in files)


def find_gpu(gpu: str | GPU | None) -> GPU:
    """Returns a GPU by its name, in upper or lower case. The default is H100."""
    if isinstance(gpu, GPU):
        return gpu
    if gpu is None:
        gpu = DEFAULT
    if not isinstance(gpu, str):
        raise TypeError(
            f"gpu must be the name of a GPU, one of {', '.join(gpu_names())}, not {gpu!r}"
        )
    wanted = _normalize_name(gpu)
    for name in sorted(os.listdir(_FOLDER)):
        if name.endswith(".json") and _normalize_name(name[:-5]) == wanted:
            return _read_gpu(name)
    raise ValueError(
        f"there are no data for the GPU {gpu!r}; there are for {', '.join(gpu_names())}"
    )


def _normalize_name(name):
    return name.lower().replace(" ", "").replace("-", "").replace("_", "")


@functools.cache
def _read_gpu(name):
    with open(os.path.join(_FOLDER, name), encoding="utf-8") as file:
        figures = json.load(file)
    sources = {key: row["source"] for key, row in figures.items() if key != "name"}
    values = {key: row["value"] for key, row in figures.items() if key != "name"}
    values["capability"] = tuple(values["capability"])
    return GPU(figures["name"], sources=sources, **values)
