"""Predicts the time of a launch, and the hardware unit that bounds it.

Each unit of the GPU has a time: the launch's requests to it, divided by its rate. Each warp also
needs a minimum time: the sum of the latencies for which it waits in sequence. The warps that are
resident at the same time overlap. The prediction is the longest of the units' and warps' times plus the time
of an empty kernel. The constants that are marked as fitted were fitted to times of an H200: the times that
docs/performance.md records for the kernels Y1, Y2, Y5 and Y6 of tests/bench/python_kernels.py, and the times
that Nsight Compute measured (docs/profiling.md, "The predicted time").
"""

from __future__ import annotations

import re
from typing import NamedTuple

from numbalite.profiler.caches import SECTOR, Range

EMPTY, _EMPTY_IN_GRAPH = 2.4e-6, 1.4e-6
"""Seconds of a kernel that does almost nothing, on an H200: as Nsight Compute measures it, with cold caches (fitted), and in
a graph."""
SCHEDULERS = 4
_BLOCK_CYCLES = 150
"""From the end of a block to the first instruction of the next one in its place; fitted."""
_CONTENTION = 0.7
"""The part of the resident warps' instructions that a warp waits for, while it waits for nothing else; fitted."""
_ATOMIC_SECONDS = 0.7e-9
"""Of a pass of an L2 slice's atomic unit, which updates different elements of a sector; fitted to 65536 atomic operations
of one address, which take 49 us."""
_FLOAT_ATOMICS = 2.5
"""How many times as long a pass of floating-point numbers takes; fitted to 32768 sums of one address, which take 58 us."""
_SLICE_BYTES, _L2_SLICES = 512, 66
"""The bytes one after the other that belong to one slice, and the number of slices that work at once; fitted to
histograms of 4 and 256 bins, and to 2^21 atomic operations of random addresses, which take 23 us."""
_L2_REQUEST_BYTES = 92
"""An L2 request for a part of a cache line takes the time of so many bytes, and so does a store of a part of a sector, which
the cache must read, because its check bits are those of a sector; fitted to transposes without shared memory and to sums of
columns."""
_KEPT = 0.6
"""The part of the L2 cache that keeps the newest data; fitted to the bytes that copies transfer from and to DRAM."""
_SHARED_ATOMIC_CYCLES = 8
"""Of threads with different addresses; fitted to a histogram of 256 bins in shared memory."""
_LOADED = 2.5
"""At full bandwidth the latency of DRAM is 1 + 2.5 times that of an idle GPU; fitted."""
_DEPENDENT = 6
"""Cycles from an instruction to the next one of its warp, on average; fitted. The latency of an addition is 4."""
_BARRIER = 60
"""Cycles from the last warp's arrival to the next instruction of all of them; fitted."""
_SPREAD = 0.3
"""The time may be so much longer or shorter than predicted, as a part of it."""
_EXACT = ("shared memory", "float32", "float64", "special functions")
_REGISTER = re.compile(r"\bR(\d+)\b")
_FLOAT64 = ("DADD", "DMUL", "DFMA", "DSETP")
_FLOAT32 = ("FADD", "FMUL", "FFMA", "FSETP", "FMNMX")
_COUNTED = ("FADD", "FMUL", "FFMA")
_SPECIAL = ("MUFU", "F2F", "F2I", "I2F", "FRND", "POPC", "FLO")
"""The same unit converts types of 64 bits."""
_INTEGER = (
    "IADD3",
    "LOP3",
    "SHF",
    "LEA",
    "ISETP",
    "SEL",
    "PRMT",
    "IMNMX",
    "VIMNMX",
    "VIADD",
    "IABS",
)
_INTEGER_PER_CLOCK, _SPECIAL_PER_CLOCK = 64, 16
"""Results of a multiprocessor (CUDA C++ Programming Guide, arithmetic instructions)."""
_POWER = 3
"""Units that are about equally busy delay one another: the sum of their times' powers; fitted."""


class WarpInstructions(NamedTuple):
    """The numbers of warp instructions that a launch executes, in total and by unit: each block of the
    machine code times its number of executions."""

    instructions: float
    float32: float
    float64: float
    float32_operations: float
    """Two for each multiplication with addition."""
    integer: float
    special: float
    global_waits: float
    """How often a warp waits for a load from global memory."""
    shared_waits: float
    barriers: float


class Prediction(NamedTuple):
    """A time in seconds, its range, and the time of each hardware unit, longest first."""

    time: float
    range: Range
    least: float
    """The GPU cannot be faster."""
    bound: str
    units: dict


def count_work(code, counts) -> WarpInstructions:
    """Returns the WarpInstructions of a launch: sums over the blocks of the machine code."""
    total = [0.0] * len(WarpInstructions._fields)
    for block, count in zip(code.blocks, counts, strict=True):
        names = [instruction.name for instruction in block.instructions]
        waits = _count_load_waits(block.instructions)
        row = (
            len(names), _count_names(names, _FLOAT32), _count_names(names, _FLOAT64),
            _count_names(names, _COUNTED) + _count_names(names, ("FFMA",)), _count_names(names, _INTEGER),
            _count_names(names, _SPECIAL), waits["global"], waits["shared"], _count_names(names, ("BAR",)),
        )  # fmt: skip
        total = [sum_ + count * value for sum_, value in zip(total, row, strict=True)]
    return WarpInstructions(*total)


def _count_names(names, wanted):
    return sum(name in wanted for name in names)


def _count_load_waits(instructions):
    """Returns {"global": n, "shared": n}, the number of instructions that read a register that an earlier
    load of the block fills; loads issued before such an instruction share one wait."""
    pending: dict = {"global": set(), "shared": set()}
    waits = dict.fromkeys(pending, 0)
    for instruction in instructions:
        first, _, others = instruction.operands.partition(",")
        kind = instruction.access_kind
        is_load = kind in ("global_load", "shared_load", "generic_load", "local_load")
        read = set(map(int, _REGISTER.findall(others if is_load else instruction.operands)))
        for space, registers in pending.items():
            if read & registers:
                waits[space] += 1
                registers.clear()
        if is_load and (target := _REGISTER.search(first)):
            start, count = int(target[1]), max(1, instruction.access_width // 4)
            space = "shared" if kind == "shared_load" else "global"
            pending[space].update(range(start, start + count))
    for space, registers in pending.items():
        waits[space] += bool(registers)
    return waits


def predict_time(launch) -> Prediction:
    """Returns the Prediction of a launch's time on its GPU."""
    gpu = launch.gpu
    clock = gpu.clock_mhz * 1e6
    share = (
        -(-launch.blocks // gpu.multiprocessors) / launch.blocks
    )  # of the busiest multiprocessor
    bandwidth = gpu.dram_bytes_per_second * gpu.dram_efficiency
    units = {
        "DRAM": _dram_bytes(launch) / bandwidth,
        "L2": _l2_bytes(launch) / (gpu.l2_bytes_per_clock * clock),
        "block launches": launch.blocks / (gpu.blocks_per_clock * clock),
        "L1": _l1_cycles(launch) * share / clock,
        "shared memory": _shared_cycles(launch) * share / clock,
        "atomics": _atomic_time(launch, clock, share),
    }
    done = launch.work
    if done is not None:
        units["issue"] = done.instructions * share / SCHEDULERS / clock
        units["float32"] = done.float32 * share * 32 / gpu.float32_per_clock / clock
        units["float64"] = done.float64 * share * 32 / gpu.float64_per_clock / clock
        units["integers"] = done.integer * share * 32 / _INTEGER_PER_CLOCK / clock
        units["special functions"] = done.special * share * 32 / _SPECIAL_PER_CLOCK / clock
        units["latency"] = _latency_time(launch, done, max(units.values()))
    return _limiting_unit(launch, units)


def _dram_bytes(launch):
    """Returns the expected number of transferred bytes: each loaded sector is transferred once; each stored
    sector, too, except those that the L2 cache still contains at the end."""
    loaded, stored = launch.loaded_sectors * SECTOR, launch.stored_sectors * SECTOR
    kept = min(1.0, _KEPT * launch.gpu.l2_bytes / max(1, loaded + stored))
    return loaded + (1 - kept) * stored


def _l2_bytes(launch):
    """Returns the number of bytes whose transfer takes as long as the requests to the L2 cache."""
    missed = 1 - launch.l1_hit_rate.middle
    loads = missed * max(
        launch.global_load_sectors * SECTOR, launch.global_load_lines * _L2_REQUEST_BYTES
    )
    stored = launch.global_store_sectors
    partial = max(0, stored - launch.global_store_bytes / SECTOR)
    return loads + (stored - partial) * SECTOR + partial * _L2_REQUEST_BYTES


def _l1_cycles(launch):
    """Returns the number of cycles in the L1 cache: one cycle for each cache line of a request."""
    return launch.global_load_lines + launch.global_store_lines + launch.global_atomic_requests


def _shared_cycles(launch):
    return launch.shared_load_wavefronts + launch.shared_store_wavefronts


def _atomic_time(launch, clock, share):
    """Returns the time of atomic operations in seconds. Atomic operations in one slice of the L2 cache are
    serialized."""
    slices = min(_L2_SLICES, max(1, launch.stored_sectors * SECTOR / _SLICE_BYTES))
    in_l2 = launch.global_atomic_passes * _ATOMIC_SECONDS * _atomic_factor(launch.code) / slices
    in_shared = launch.shared_atomic_passes * _SHARED_ATOMIC_CYCLES * share / clock
    return max(in_l2, in_shared)


def _atomic_factor(code):
    """Returns the time of the launch's atomic operations as a multiple of the time of integer operations."""
    instructions = code.instructions if code else []
    opcodes = [i.opcode for i in instructions if i.access_kind == "global_atomic"]
    floats = sum(".F" in opcode or ".BF" in opcode for opcode in opcodes)
    return 1 + (_FLOAT_ATOMICS - 1) * floats / max(1, len(opcodes))


def _latency_time(launch, done, others):
    """Returns the time in seconds that the warps of a multiprocessor need if latency limits them. Only warps
    that are resident at the same time overlap."""
    gpu, warps = launch.gpu, launch.blocks * launch.warps_of_block
    clock = gpu.clock_mhz * 1e6
    blocks = -(-launch.blocks // gpu.multiprocessors)
    resident = min(launch.resident_blocks, blocks)
    at_once = max(1.0, resident * launch.warps_of_block / SCHEDULERS)
    instructions = done.instructions / warps
    fixed = instructions * max(_DEPENDENT, _CONTENTION * at_once)
    fixed += done.shared_waits / warps * gpu.shared_latency + done.barriers / warps * _BARRIER
    rounds = max(1.0, blocks / resident)
    time = others
    for _ in range(20):  # the latency depends on the resulting bandwidth, so iterate
        busy = min(1.0, _dram_bytes(launch) / gpu.dram_bytes_per_second / max(time, 1e-9))
        life = fixed + done.global_waits / warps * _global_latency(launch, busy)
        cycles = rounds * life + (rounds - 1) * _BLOCK_CYCLES
        time = (time + max(others, cycles / clock)) / 2
    return cycles / clock


def _global_latency(launch, busy):
    gpu, rates = launch.gpu, launch.traffic
    l1, missed = rates.l1_hit_rate.middle, launch.global_load_sectors
    missed *= 1 - l1
    l2 = 1 - min(1.0, launch.loaded_sectors / missed) if missed else 1.0
    dram = gpu.dram_latency * (1 + _LOADED * busy * busy)
    return l1 * gpu.l1_latency + (1 - l1) * (l2 * gpu.l2_latency + (1 - l2) * dram)


def _limiting_unit(launch, units):
    longest = max(units, key=lambda name: units[name])
    bound = longest
    if units[longest] < EMPTY:
        bound = "launch"
    elif longest == "latency" and launch.blocks < launch.gpu.multiprocessors:
        bound = "too few blocks"
    busy = sum(t**_POWER for name, t in units.items() if name != "latency") ** (1 / _POWER)
    time = EMPTY + max(busy, units[longest])
    dram = _dram_range(launch)
    least = max(_EMPTY_IN_GRAPH, dram.low, *(t for name, t in units.items() if name in _EXACT))
    low = max(least, (1 - _SPREAD) * max(t for name, t in units.items() if name != "DRAM"))
    if launch.work is None:  # without the machine code, the time excludes arithmetic and latency
        low, high = least, float("inf")
    else:
        high = EMPTY + max(busy, units[longest], dram.high) * (1 + _SPREAD)
    ordered = dict(sorted(units.items(), key=lambda row: -row[1]))
    return Prediction(time, Range(low, high), least, bound, ordered)


def _dram_range(launch):
    """Returns the transfer times in seconds: at the bandwidth of the data sheet, and at the bandwidth of
    copies."""
    gpu, size = launch.gpu, launch.dram_bytes
    return Range(
        size.low / gpu.dram_bytes_per_second,
        size.high / (gpu.dram_bytes_per_second * gpu.dram_efficiency),
    )
