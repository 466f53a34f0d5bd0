"""Limits for the memory accesses of a solution, which the simulator's profiler counts, by line.

Accesses are counted as written in the source: the verdict does not depend on whether NVRTC and nvdisasm are
installed.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from numbalite.judge.verdict import Failed

from .mistakes import label_of

if TYPE_CHECKING:
    from collections.abc import Callable

COUNTERS = {
    "load_sectors_per_request": ("a load of a warp touches {} sectors of 32 bytes", "global_load_requests"),
    "store_sectors_per_request": ("a store of a warp touches {} sectors of 32 bytes", "global_store_requests"),
    "bank_conflicts": ("bank conflicts add {} passes over the shared memory", None),
    "active_lanes": ("{} of the 32 threads of a warp take part in an access", "requests"),
    "atomic_serialisation": ("{} threads of a warp update one address at once", "atomic_requests"),
}  # fmt: skip
"""Counters that can have a limit -> a clause with the value, and the counter that weights the lines' values in the
value of the call."""


class Limit(NamedTuple):
    """The limit for a counter of one call, over all its kernels: at most ``most``, at least ``least``."""

    counter: str
    """One of `COUNTERS`, as ``cuda.profile`` names it."""
    most: float = math.inf
    least: float = 0.0
    hint: str = ""

    def __str__(self) -> str:
        return f"at least {self.least:g}" if self.least else f"at most {self.most:g}"

    def excess(self, counters: dict) -> float:
        """Returns how far the counters of a line exceed the limit, weighted by the line's accesses, or 0 for a
        line without accesses."""
        weight = COUNTERS[self.counter][1]
        beyond = max(counters[self.counter] - self.most, self.least - counters[self.counter])
        return beyond * (counters[weight] if weight else 1)


class CallCounters(NamedTuple):
    """The counters of one call."""

    total: dict
    lines: list
    """Dictionaries with "file", "line", "text" and the counters."""


def count_accesses(call: Callable) -> CallCounters:
    """Counts the accesses of all kernels that a call launches, on the simulator."""
    from numbalite import cuda
    from numbalite.profiler.counters import Counters, KernelProfile, lines_as_dicts

    with cuda.profile(as_written=True) as profile:
        call()
    whole = KernelProfile("", profile.launches)
    return CallCounters(Counters.as_dict(whole), lines_as_dicts(whole.lines))


def count_launch(task: tuple) -> CallCounters:
    """Counts the accesses of a launch of a kernel, given as (kernel, grid, block, shared memory, NumPy arrays
    and numbers)."""
    from .checked import as_device_value

    kernel, grid, block, shared, args = task
    given = [as_device_value(value) for value in args]
    return count_accesses(lambda: kernel[grid, block, 0, shared](*given))


def check_limits(limits: tuple, counted: CallCounters, size: str) -> str:
    """Raises Failed if a counter exceeds its limit, with the line that contributes most; otherwise returns a
    note for the verdict."""
    for limit in limits:
        value = counted.total[limit.counter]
        if limit.least <= value <= limit.most:
            continue
        line = max(counted.lines, key=limit.excess)
        said = COUNTERS[limit.counter][0].format(_number_text(value))
        raise Failed(
            f"The results are right, but {said}, with {size}; {limit} passes.",
            f"{label_of(line['file'])}, line {line['line']}{': ' if line['text'] else ''}{line['text']}\n"
            f"    {limit.counter} of this line: {_number_text(line[limit.counter])}\n{limit.hint}".rstrip(),
        )
    values = (
        f"{limit.counter} {_number_text(counted.total[limit.counter])} ({limit})"
        for limit in limits
    )
    return f"counted with {size}: {', '.join(values)}"


def _number_text(value):
    return f"{value:,.1f}".removesuffix(".0")
