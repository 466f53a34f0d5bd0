"""A kernel compiled with debug=True stores a fault record when a check fails.

The kernel writes one `numbalite::fault_record` (cuda_src/numbalite/check.cuh), 336 bytes, into the device
variable VARIABLE. FORMAT is the memory layout of that struct. The record contains the address of an array;
`name_array` finds the argument of the launch that has this address.
"""

from __future__ import annotations

import os
import struct
from typing import NamedTuple

VARIABLE = "nl_fault_record"
# kind, line, block[3], thread[3], ndim, axis, index, extent, shape[4], address, count, name, text, file
FORMAT = "<2i3I3I2i2q4q2Q40s128s64s"
_TEXT = 127  # maximum bytes of a text
SIZE = struct.calcsize(FORMAT)
KINDS = {0: None, 1: "index", 2: "assert", 3: "trap", 4: "raise"}


class RaisedException(NamedTuple):
    """An exception that a kernel with a Python body may raise."""

    function: str
    kind: type[BaseException]
    args: tuple


def _decode_field(field):
    return field.partition(b"\0")[0].decode("utf-8", "replace")


def decode_record(record: bytes) -> dict:
    """Returns the fields of the fault record as a dict.

    ``kind`` is None (no fault), "index", "assert", "trap" or "raise". ``file`` is a file name, or its end if it
    is long; ``line`` is 0 if the compiler did not know it; ``block`` and ``thread`` are (x, y, z); ``others`` is
    the number of other threads that failed. For the kind "index", the dict contains address, shape (of the first four dimensions), ndim, axis, index,
    extent. For the other kinds, the dict contains condition (for "raise" the exception's text) and function.
    """
    kind, line, *numbers, name, text, file = struct.unpack_from(FORMAT, record)
    fault = {
        "kind": KINDS.get(kind, "unknown"),
        "file": _decode_field(file),
        "line": line,
        "block": tuple(numbers[0:3]),
        "thread": tuple(numbers[3:6]),
        "others": max(numbers[15] - 1, 0),
    }
    if kind == 1:
        ndim, axis, index, extent, *shape = numbers[6:14]
        fault.update(
            address=numbers[14],
            shape=tuple(shape[: min(ndim, 4)]),
            ndim=ndim,
            axis=axis,
            index=index,
            extent=extent,
        )
    elif kind in (2, 3, 4):
        fault.update(condition=_decode_field(text), function=_decode_field(name))
    return fault


def fault_message(fault: dict, kernel: str = "") -> str:
    """Returns one line of text for users: the fault and the thread, without file and line.

    The fault may contain ``array``, the array's name, and ``is_part``: whether the faulting array is only a
    part of the named array.
    """
    if fault["kind"] == "index":
        array = f"'{fault['array']}'" if fault.get("array") else "an array"
        part = "a part of " if fault.get("is_part") else ""
        dots = ", ..." if fault["ndim"] > len(fault["shape"]) else ""
        comma = "," if len(fault["shape"]) == 1 else ""
        shape = f"({', '.join(map(str, fault['shape']))}{comma}{dots})"
        what = (
            f"index {fault['index']} is out of bounds for axis {fault['axis']} "
            f"of {part}{array} with shape {shape}"
        )
    elif fault["kind"] == "assert":
        what = f"assertion `{fault['condition']}` failed"
    elif fault["kind"] == "raise":
        what = fault["condition"]
    elif fault["kind"] == "trap":
        what = f"{'abort' if fault['function'] == 'abort' else '__trap'}() was called"
    else:
        what = "a check failed"
    where = f"block {fault['block']}, thread {fault['thread']}"
    others = fault.get("others")
    more = f"; {others} more thread{'s' * (others != 1)} failed a check" if others else ""
    return f"{kernel + ': ' if kernel else ''}{what} [{where}{more}]"


def fault_exception(
    fault: dict, exceptions: dict[str, RaisedException], where: str
) -> BaseException | None:
    """Returns the Python exception for the fault, with numba's text, or None if the fault is not an exception.
    ``exceptions`` maps a text or condition to the exception that it identifies."""
    if fault["kind"] not in ("raise", "assert"):
        return None
    texts = {_decode_field(text.encode()[:_TEXT]): raised for text, raised in exceptions.items()}
    raised = texts.get(fault["condition"])
    if raised is None:
        return None
    place = (
        f"In function {raised.function!r}, file {os.path.abspath(where)}, line {fault['line']}, "
    )
    prefix = f"{place}tid={list(fault['thread'])} ctaid={list(fault['block'])}"
    first, *more = raised.args or (None,)
    return raised.kind(prefix if first is None else f"{prefix}: {first}", *more)


# --- finding the array
# -------------------------------------------------------------------------------------


def name_array(fault: dict, arguments) -> None:
    """Adds ``array`` and ``is_part`` to an index fault, if the address matches one of the launch's arrays.

    arguments: for each array (name, address, shape, strides, itemsize), or (name, object) with an object of the
    CUDA Array Interface.
    """
    if fault["kind"] != "index":
        return
    best = None
    for argument in arguments:
        known = argument if len(argument) == 5 else _array_from_interface(*argument)
        if known is None:
            continue
        name, address, shape, strides, itemsize = known
        low, high = _address_range(address, shape, strides, itemsize)
        if not low <= fault["address"] < high:
            continue
        # Arrays may share memory: select the array with the same shape.
        same = address == fault["address"] and tuple(shape[:4]) == fault["shape"]
        rank = (same, len(shape) == fault["ndim"])
        if best is None or rank > best[0]:
            best = rank, name, len(shape) > fault["ndim"]
    if best is not None:
        fault["array"], fault["is_part"] = best[1:]


def _address_range(address, shape, strides, itemsize):
    low, high = address, address + max(itemsize, 1)
    if 0 not in shape:
        for n, step in zip(shape, strides, strict=True):
            reach = (n - 1) * step
            low, high = low + min(reach, 0), high + max(reach, 0)
    return low, high  # an empty array has an address, too


def _array_from_interface(name, value):
    interface = getattr(value, "__cuda_array_interface__", None)
    if not isinstance(interface, dict):
        return None
    try:
        shape = tuple(map(int, interface["shape"]))
        itemsize = int(interface["typestr"][2:])
        strides = interface.get("strides")
        if strides is None:
            strides = [itemsize] * len(shape)
            for k in reversed(range(len(shape) - 1)):
                strides[k] = strides[k + 1] * shape[k + 1]
        address, strides = int(interface["data"][0]), tuple(map(int, strides))
    except (KeyError, TypeError, ValueError, IndexError):
        return None
    return (name, address, shape, strides, itemsize) if len(strides) == len(shape) else None
