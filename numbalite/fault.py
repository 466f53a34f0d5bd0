"""What a kernel compiled with debug=True left behind when a check failed.

The kernel writes one `numbalite::fault_record` (cuda_src/numbalite/check.cuh), 256 bytes, into the device
variable VARIABLE; FORMAT here is that struct.
"""

from __future__ import annotations

import struct

VARIABLE = "nl_fault_record"
# kind, line, block[3], thread[3], ndim, axis, index, extent, shape[4], name, text, file
FORMAT = "<2i3I3I2i2q4q40s64s64s"
SIZE = struct.calcsize(FORMAT)
KINDS = {0: None, 1: "index", 2: "assert"}


def _text(field):
    return field.partition(b"\0")[0].decode("utf-8", "replace")


def decode(record: bytes) -> dict:
    """The record as a dict.

    kind: None (nothing happened), "index" or "assert". file (its end only, where it is long), line (0: the
    compiler could not tell). block, thread: (x, y, z). For "index": array (name, "" where not known),
    shape (of the first four dimensions), ndim, axis, index, extent. For "assert": condition, function.
    """
    kind, line, *numbers, name, text, file = struct.unpack_from(FORMAT, record)
    fault = {
        "kind": KINDS.get(kind, "unknown"),
        "file": _text(file),
        "line": line,
        "block": tuple(numbers[0:3]),
        "thread": tuple(numbers[3:6]),
    }
    if kind == 1:
        ndim, axis, index, extent, *shape = numbers[6:]
        fault.update(
            array=_text(name),
            shape=tuple(shape[: min(ndim, 4)]),
            ndim=ndim,
            axis=axis,
            index=index,
            extent=extent,
        )
    elif kind == 2:
        fault.update(condition=_text(text), function=_text(name))
    return fault


def message(fault: dict, kernel: str = "") -> str:
    """One line for people: what happened and which thread did it. File and line are not in it."""
    if fault["kind"] == "index":
        array = f"'{fault['array']}'" if fault["array"] else "an array"
        dots = ", ..." if fault["ndim"] > len(fault["shape"]) else ""
        comma = "," if len(fault["shape"]) == 1 else ""
        shape = f"({', '.join(map(str, fault['shape']))}{comma}{dots})"
        what = (
            f"index {fault['index']} is out of bounds for axis {fault['axis']} "
            f"of {array} with shape {shape}"
        )
    elif fault["kind"] == "assert":
        what = f"assertion `{fault['condition']}` failed"
    else:
        what = "a check failed"
    where = f"block {fault['block']}, thread {fault['thread']}"
    return f"{kernel + ': ' if kernel else ''}{what} [{where}]"
