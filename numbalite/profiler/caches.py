"""Computes hits in the L1 and L2 caches, which are empty before the launch, and the bytes that DRAM
transfers.

The L1 cache of a multiprocessor is shared by its resident blocks. A load hits if its reuse distance within its block
(cext/sim/check/reuse.h) is smaller than the size of the cache that the block can use. Hits are predicted as a
range: its low end assumes an equal share of the cache for each resident block, its high end the whole cache
for each block. The model does not predict hits in sectors that another block has loaded, so a sector that
each block loads counts as a miss in each block.

DRAM transfers each loaded sector at least once. If the data are larger than the L2 cache, a miss of the L1
cache may cause another transfer, depending on the GPU's scheduler, which determines the time between blocks
that share data.
"""

from __future__ import annotations

from typing import NamedTuple

LINE = 128
SECTOR = 32


class Range(NamedTuple):
    """A predicted number as an interval: the value is between ``low`` and ``high``."""

    low: float
    high: float

    @property
    def middle(self) -> float:
        """The mean of the limits."""
        return (self.low + self.high) / 2


class Traffic(NamedTuple):
    """Bytes between the levels of memory, and hit rates from 0 to 1."""

    l1_hit_rate: Range
    l2_hit_rate: Range
    l2_bytes: Range
    dram_bytes: Range


def min_reuse_distance(entry: int) -> int:
    """Returns the smallest reuse distance in an entry of the histogram."""
    power, half = divmod(entry - 1, 2)
    return (3 * 2**power) // 2 - 1 if half else 2**power - 1


def count_hit_sectors(histogram: tuple, lines: float) -> int:
    """Returns the number of sectors found in a cache with this number of cache lines."""
    return sum(
        count
        for entry, count in enumerate(histogram)
        if entry and min_reuse_distance(entry + 1) <= max(lines, 1)
    )


def memory_traffic(launch) -> Traffic:
    """Returns the Traffic of a launch, whose counters must all be final."""
    gpu, loads = launch.gpu, launch.global_load_sectors
    written = launch.global_store_sectors + launch.global_atomic_passes
    counted = sum(launch.reuse) or 1
    # The counters as written in the source may contain more sectors
    scale = min(1.0, loads / counted)
    lines = (gpu.l1_bytes - launch.shared_of_multiprocessor) / LINE
    missed = [
        max(loads - count_hit_sectors(launch.reuse, size), launch.loaded_sectors)
        for size in (lines, lines / launch.resident_blocks)
    ]
    missed = [min(loads, max(m * scale, launch.loaded_sectors)) for m in missed]
    l2 = Range(missed[0] + written, missed[1] + written)
    dram = _dram_sectors(launch, missed[1], written)
    return Traffic(
        l1_hit_rate=Range(*(1 - m / loads if loads else 0.0 for m in reversed(missed))),
        l2_hit_rate=_l2_hit_rate(launch, missed, written, dram),
        l2_bytes=Range(l2.low * SECTOR, l2.high * SECTOR),
        dram_bytes=Range(dram.low * SECTOR, dram.high * SECTOR),
    )


def _dram_sectors(launch, missed, written):
    """Returns the Range of the number of sectors transferred from and to DRAM. Stored data may stay in the L2 cache after the launch."""
    loaded, stored = launch.loaded_sectors, launch.stored_sectors
    cache = launch.gpu.l2_bytes // SECTOR
    if loaded + stored <= cache // 2:
        return Range(loaded, loaded + stored)
    return Range(
        loaded + max(0, stored - cache),
        max(loaded + stored, missed + max(stored, written)),
    )


def _l2_hit_rate(launch, missed, written, dram):
    """Stores hit. Loads whose data DRAM transfers are the misses of the L2 cache."""
    loads = Range(
        launch.loaded_sectors, max(launch.loaded_sectors, dram.high - launch.stored_sectors)
    )
    rates = [
        max(0.0, 1 - from_dram / (m + written)) if m + written else 0.0
        for m, from_dram in zip(missed, (loads.high, loads.low), strict=True)
    ]
    return Range(min(rates), max(rates))
