"""Decides, by the machine code of the chosen GPU, how wide the accesses of a line are and whether they exist.

The simulator counts each line three times: as written, and with adjacent accesses merged to 8 and to 16 bytes. The
widest access of that kind at the line in the machine code chooses. A line without any has accesses that the compiler
removed, because the value was in a register.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from numbalite.profiler.machinecode import MachineCode

KINDS = ("global_load", "global_store", "shared_load", "shared_store")
_PARTS = ("requests", "sectors", "bytes", "wavefronts", "conflicts")


class Places:
    """Finds the profiled line that an instruction belongs to."""

    def __init__(self, lines) -> None:
        self._keys = {(os.path.basename(line.file), line.number): line.key for line in lines}

    def find(self, frames: tuple) -> tuple | None:
        """The key of the innermost line that was profiled. ("", 0) is code that is not the user's."""
        for file, number in frames:
            key = self._keys.get((os.path.basename(file), number))
            if key is not None:
                return key
        return self._keys.get(("", 0))


def widths(code: MachineCode, lines) -> dict:
    """(key of a line, kind) -> the widths in bytes of its accesses in the machine code."""
    places = Places(lines)
    found: dict = {}
    for instruction in code.instructions:
        kind = instruction.kind
        for one in ("global_load", "shared_store") if kind == "copy" else (kind,):
            if one is not None:
                found.setdefault((places.find(instruction.frames), one), set()).add(
                    instruction.width
                )
    return found


def reconcile(lines, code: MachineCode) -> None:
    """Changes the counters of the lines from "as written" to those of the machine code."""
    found = widths(code, lines)
    for kind in KINDS:
        space = "generic_load" if kind.endswith("load") else "generic_store"
        is_clear = _all_belong_to_lines(found, lines, kind) and not any(
            one == space for _, one in found
        )
        for line in lines:
            _reconcile_kind(line, kind, found.get((line.key, kind)), is_clear)
    for line in lines:
        _count_lanes(line)


def _all_belong_to_lines(found, lines, kind):
    """Has each line with such accesses in the machine code also some on the simulator?"""
    having = {line.key for line in lines if getattr(line, f"{kind}_requests")}
    return all(key in having for key, one in found if one == kind)


def _reconcile_kind(line, kind, widths, is_clear):
    if widths:
        widest = max(widths)
        values = line.as_written if widest < 8 else line.widened[0 if widest == 8 else 1]
        _set(line, kind, values)
    elif is_clear:
        _set(line, kind, {})


def _set(line, kind, values):
    for part in _PARTS:
        name = f"{kind}_{part}"
        if hasattr(line, name):
            setattr(line, name, values.get(name, 0))


def _count_lanes(line):
    """Requests of all kinds; the mean number of lanes stays as it was."""
    before = line.requests
    line.requests = sum(getattr(line, f"{kind}_requests") for kind in KINDS)
    line.requests += line.atomic_requests + line.variable_load_requests
    if before:
        line.lanes = round(line.lanes * line.requests / before)
