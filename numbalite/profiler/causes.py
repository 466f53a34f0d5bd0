"""Finds the lines that cause the time of a launch: their shares of the hardware unit that bounds the time."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from numbalite.profiler.counters import Launch, Line

_OPCODES = {
    "float32": ("FADD", "FMUL", "FFMA", "FSETP", "FMNMX"),
    "float64": ("DADD", "DMUL", "DFMA", "DSETP"),
    "special functions": ("MUFU",),
}


class Cause(NamedTuple):
    """A line and its share of the work, from 0 to 1."""

    line: Line
    share: float


def time_causes(launch: Launch, lines: list) -> tuple:
    """Returns the Causes of a launch's time: lines with their shares, the largest first. Shares of latency are those of
    the loads from global memory."""
    bound = max(launch.units, key=lambda name: launch.units[name])
    weigh = _work_by_accesses(bound, launch)
    if weigh is None:
        weights = launch.instructions_by_line(bound)
    else:
        weights = {line: weigh(line) for line in lines}
    total = sum(weights.values())
    found = [Cause(line, weight / total) for line, weight in weights.items() if weight]
    return tuple(sorted(found, key=lambda cause: -cause.share))


def _work_by_accesses(bound, launch):
    """Returns a function from a line to its work, for hardware units whose work is memory accesses, or None for
    other units."""
    if bound == "shared memory":
        return lambda line: line.shared_load_wavefronts + line.shared_store_wavefronts
    if bound == "atomics":
        return lambda line: line.atomic_passes
    if bound == "L1":
        return lambda line: (
            line.global_load_lines + line.global_store_lines + line.global_atomic_requests
        )
    if bound == "latency" and launch.global_load_requests:
        return lambda line: line.global_load_requests
    if bound in ("DRAM", "L2"):
        return lambda line: (
            line.global_load_sectors + line.global_store_sectors + line.global_atomic_requests
        )
    return None


def instructions(code, counts, lines: dict, unit: str, make) -> dict:
    """Returns {line: number of its instructions of a unit} according to the machine code; counts the
    instructions of all units if the unit is not a pipe. make(file, number) creates a line without accesses in
    a profiled file."""
    files = {os.path.basename(file): file for file, _ in lines}
    wanted = _OPCODES.get(unit)
    found: dict = {}
    for block, count in zip(code.blocks, counts, strict=True):
        for instruction in block.instructions:
            key = _source_line(instruction.frames, files)
            if key is not None and (wanted is None or instruction.name in wanted):
                line = lines[key] if key in lines else lines.setdefault(key, make(*key))
                found[line] = found.get(line, 0) + count
    return found


def _source_line(frames, files):
    """Returns the (file, line) of the innermost frame that is in one of the files, or None."""
    for file, number in frames:
        if os.path.basename(file) in files:
            return files[os.path.basename(file)], number
    return None
