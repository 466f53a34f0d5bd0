"""Determines, by the machine code of the chosen GPU, the width of the accesses of a line, and whether they
exist.

The simulator counts each line three times: as written, and with adjacent accesses merged to 8 and to 16
bytes. The widest access of the same kind at the same line in the machine code determines which of the three
counts is used. If a line has no access in the machine code, the compiler has removed its accesses, because
the value was in a register. Accesses that the compiler moved out of a loop are counted once.
"""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from numbalite.profiler.machinecode import MachineCode

KINDS = ("global_load", "global_store", "shared_load", "shared_store")
_PARTS = ("requests", "sectors", "bytes", "lines", "wavefronts", "conflicts")


class LineIndex:
    """Maps instructions to the profiled source lines."""

    def __init__(self, lines) -> None:
        self._keys = {(os.path.basename(line.file), line.number): line.key for line in lines}

    def find_line(self, frames: tuple) -> tuple | None:
        """Returns the key of the innermost profiled line. The key ("", 0) stands for code that is not the
        user's."""
        for file, number in frames:
            key = self._keys.get((os.path.basename(file), number))
            if key is not None:
                return key
        return self._keys.get(("", 0))


class MachineAccesses:
    """The instructions of one line that access memory in the same way."""

    def __init__(self) -> None:
        self.widest = 0
        self.depths: list = []
        """For each instruction, the number of loops around it."""

    def add_instruction(self, width: int, depth: int) -> None:
        """Adds an instruction."""
        self.widest = max(self.widest, width)
        self.depths.append(depth)

    @property
    def are_outside_loops(self) -> bool:
        """Returns whether all of the instructions are outside of loops, so that each is executed at most once
        per warp."""
        return max(self.depths) == 0

    def are_moved_out_of_loop(self, elsewhere: float) -> bool:
        """Returns whether the compiler moved some accesses out of a loop, to this line or another line."""
        return min(*self.depths, elsewhere) < max(self.depths)


def machine_accesses(code: MachineCode, lines) -> dict:
    """Returns {(key of a line, kind): MachineAccesses}."""
    places = LineIndex(lines)
    found: dict = {}
    for block in code.blocks:
        for instruction in block.instructions:
            kind = instruction.access_kind
            for one in ("global_load", "shared_store") if kind == "copy" else (kind,):
                if one is not None:
                    key = places.find_line(instruction.frames), one
                    found.setdefault(key, MachineAccesses()).add_instruction(
                        instruction.access_width, len(block.loops)
                    )
    return found


def correct_counters(lines, code: MachineCode, warps: int) -> None:
    """Corrects the counters of the lines. The simulator counts the accesses as written in the source.
    Afterwards, the counters are those of the GPU's machine code, whose accesses may be wider, merged or
    removed."""
    found = machine_accesses(code, lines)
    for kind in KINDS:
        space = "generic_load" if kind.endswith("load") else "generic_store"
        is_clear = _have_all_simulated_accesses(found, lines, kind) and not any(
            one == space for _, one in found
        )
        elsewhere = _min_depth_of_moved_accesses(found, lines, kind)
        for line in lines:
            own = found.get((line.key, kind))
            if own is not None:
                _widen_accesses(line, kind, own)
                _remove_repeated_accesses(line, kind, own, warps, elsewhere)
            elif is_clear:
                _set_counters(line, kind, {})
    _combine_atomics(lines, code)
    for line in lines:
        _count_lanes(line)


def lines_with_elected_thread(code, places) -> set:
    """Returns the keys of the lines at which the machine code elects one of the active threads."""
    return {
        places.find_line(instruction.frames)
        for instruction in code.instructions
        if instruction.name in ("UFLO", "FLO")
    }


def _combine_atomics(lines, code):
    """Atomic operations that all threads of a warp make on one address: the compiler reduces the values of a warp, and one
    thread, elected by UFLO, updates the address."""
    elected = lines_with_elected_thread(code, LineIndex(lines))
    for line in lines:
        if line.key in elected and line.global_atomic_requests and not line.shared_atomic_requests:
            line.global_atomic_lanes = line.global_atomic_sectors = line.global_atomic_requests
            line.global_atomic_passes = line.atomic_passes = line.global_atomic_requests


def _have_all_simulated_accesses(found, lines, kind):
    """Returns whether each line with such accesses in the machine code also has accesses on the simulator."""
    having = {line.key for line in lines if getattr(line, f"{kind}_requests")}
    return all(key in having for key, one in found if one == kind)


def _min_depth_of_moved_accesses(found, lines, kind):
    """Returns the smallest loop depth of accesses at lines without accesses on the simulator, to which the
    compiler moved them."""
    having = {line.key for line in lines if getattr(line, f"{kind}_requests")}
    depths = [
        min(own.depths) for (key, one), own in found.items() if one == kind and key not in having
    ]
    return min(depths, default=math.inf)


def _widen_accesses(line, kind, own):
    if own.widest >= 8:
        _set_counters(line, kind, line.widened[0 if own.widest == 8 else 1])


def _remove_repeated_accesses(line, kind, own, warps, elsewhere):
    """Corrects the counters of accesses that the compiler moved out of a loop."""
    requests = getattr(line, f"{kind}_requests")
    most = len(own.depths) * warps
    if own.are_outside_loops and requests > most:
        _scale_counters(line, kind, most / requests)
    elif own.are_moved_out_of_loop(elsewhere) and kind.endswith("load"):
        repeated = kind.replace("load", "repeated")
        for part in _PARTS:
            if hasattr(line, f"{repeated}_{part}"):
                name = f"{kind}_{part}"
                setattr(line, name, getattr(line, name) - getattr(line, f"{repeated}_{part}"))


def _scale_counters(line, kind, factor):
    names = (f"{kind}_{part}" for part in _PARTS)
    _set_counters(
        line, kind, {n: round(getattr(line, n) * factor) for n in names if hasattr(line, n)}
    )


def _set_counters(line, kind, values):
    for part in _PARTS:
        name = f"{kind}_{part}"
        if hasattr(line, name):
            setattr(line, name, values.get(name, 0))


def _count_lanes(line):
    """Corrects the number of requests of all kinds; the mean number of lanes is unchanged."""
    before = line.requests
    line.requests = sum(getattr(line, f"{kind}_requests") for kind in KINDS)
    line.requests += line.atomic_requests + line.variable_load_requests
    if before:
        line.lanes = round(line.lanes * line.requests / before)


def count_loads_of_all_warps(lines, code, block_counts) -> None:
    """Counts loads of shared memory that the compiler moved before a branch: all warps execute them, also those that
    do not take the branch in the source. block_counts: how often each block is executed (execution.py)."""
    places = LineIndex(lines)
    executed: dict = {}
    for block, count in zip(code.blocks, block_counts, strict=True):
        for instruction in block.instructions:
            if instruction.access_kind == "shared_load":
                key = places.find_line(instruction.frames)
                executed[key] = executed.get(key, 0) + count
                if instruction.guard:
                    executed[key] = -math.inf
    for line in lines:
        requests, more = line.shared_load_requests, executed.get(line.key, 0)
        if 0 < requests < more:
            least = line.shared_load_wavefronts - line.shared_load_conflicts
            line.shared_load_wavefronts += round((more - requests) * least / requests)
            line.shared_load_requests = round(more)
