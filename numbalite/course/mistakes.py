"""Describes a mistake in a learner's cell: the exception, and the learner's own line."""

from __future__ import annotations

import linecache
import os
import re

import numpy as np

from numbalite.judge.verdict import ENDLESS, Failed

_OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_NUMPY = os.path.dirname(os.path.abspath(np.__file__)) + os.sep

UNFILLED = "There is no answer yet: fill in the cell."


class ComputedOnHost(Exception):
    """Raised if the solution computes with NumPy instead of the GPU."""


def is_unfilled(solution) -> bool:
    """Returns whether the answer is `...`, None, or a kernel or ufunc whose body contains only comments,
    ``pass`` or ``...``."""
    if solution is None or solution is Ellipsis or solution is NotImplemented:
        return True
    if not hasattr(solution, "inspect_source"):
        return False
    body = getattr(solution, "__doc__", None)
    if not isinstance(body, str):
        code = getattr(getattr(solution, "py_func", None), "__code__", None)
        return code is not None and code.co_code == _do_nothing.__code__.co_code
    code = re.sub(r"//[^\n]*|/\*.*?\*/|\.\.\.", "", body, flags=re.S)
    return not code.strip(" \t\n;")


def _do_nothing():
    pass


def exception_message(error) -> Failed:
    """Returns the judge's message about an exception of the solution."""
    from numbalite.errors import (
        CompileError,
        CudaAPIError,
        KernelError,
        KernelTimeout,
        TranslationError,
    )

    if isinstance(error, Failed):
        return error
    place = line_of(error)
    if isinstance(error, NotImplementedError):
        return Failed(UNFILLED)
    if isinstance(error, ComputedOnHost):
        return Failed(f"This line computes on the CPU (NumPy's {error}). Use the GPU.", place)
    if isinstance(error, (CompileError, TranslationError)):
        return Failed("It does not compile:", _first_lines_of(str(error)))
    if isinstance(error, KernelTimeout):
        return Failed(ENDLESS, _first_lines_of(str(error)))
    if isinstance(error, KernelError):
        mistake = Failed(*_describe_error(error))
        mistake.found = True
        return mistake
    said = str(error).strip()
    reason = f"It raises {type(error).__name__}{':' if said or place else '.'}"
    if isinstance(error, CudaAPIError) and error.code in (700, 709, 710, 715, 716, 717, 718, 719):
        said += "\nThe GPU can do no more in this process: restart the notebook's kernel."
    return Failed(reason, "\n".join(part for part in (_first_lines_of(said), place) if part))


def _describe_error(error):
    """Returns (reason, case) of a KernelError."""
    if error.kind != "race" or error.other_thread is None:
        return "The kernel makes a mistake:", _first_lines_of(str(error))
    what = error.array or "a variable"
    if error.index is not None:
        index = error.index if isinstance(error.index, tuple) else (error.index,)
        what += f"[{', '.join(map(str, index))}]"
    sides = [
        (error.block, error.thread, error.access, error.file, error.line),
        (error.other_block, error.other_thread, error.other_access, error.other_file, error.other_line),
    ]  # fmt: skip
    rows = []
    for block, thread, access, file, line in sides:
        code = linecache.getline(file, line).strip() if file and line else ""
        where = f" in line {line}{': ' if code else ''}{code}" if line else ""
        rows.append(f"thread {thread} of block {block} {access} it{where}")
    same_line = (
        error.line is not None and error.line == error.other_line and error.file == error.other_file
    )
    if error.block != error.other_block:
        order = (
            "Blocks run in any order, and __syncthreads() does not order them: use an atomic operation "
            "(atomicAdd, atomicMax), or two launches."
        )
    elif same_line:
        order = (
            "If each of them updates the element, use an atomic operation (atomicAdd, atomicMax). If one needs "
            "the value that the other writes, put __syncthreads() between, where all threads of the block reach it."
        )
    else:
        order = (
            "Threads of a block run in any order between two __syncthreads(): put one between the two accesses, "
            "where all threads of the block reach it."
        )
    reason = f"The kernel has a race: two threads access {what}, and nothing orders them:"
    return reason, "\n".join([*rows, order, "", _first_lines_of(str(error))])


def is_library_file(file) -> bool:
    """Returns whether the file is one of numbalite or NumPy, or missing."""
    return file.startswith((_OURS, _NUMPY, "<frozen "))


def label_of(file) -> str:
    """Returns the name of a file, or of a notebook's cell."""
    from numbalite.cxx import linemap

    label = linemap.file_label(file)
    return os.path.basename(label) if os.path.isabs(label) else label


def line_of(error) -> str:
    """Returns the line of the learner's program that caused an exception: "lesson.py, line 3: code", or
    ""."""
    found, trace = None, error.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if not is_library_file(file):
            found = file, trace.tb_lineno
        trace = trace.tb_next
    if found is None:
        return ""
    file, number = found
    text = linecache.getline(file, number).strip()
    return f"{label_of(file)}, line {number}{': ' if text else ''}{text}"


def _first_lines_of(text, lines=14):
    """Returns the first lines of a message."""
    kept = [line if len(line) <= 1000 else line[:1000] + "..." for line in text.split("\n")]
    return "\n".join(kept if len(kept) <= lines else [*kept[:lines], "..."])
