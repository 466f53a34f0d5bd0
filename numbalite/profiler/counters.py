"""What a profile has counted: of a line, of a launch, of all launches of a kernel."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from numbalite import _core
from numbalite.profiler import advice, html, source, text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numbalite.profiler.gpus import GPU
    from numbalite.profiler.resources import Occupancy, Resources

COUNTERS: tuple = _core.profile_counters
"""The names of the simulator's counters."""
RATIOS = (
    "sectors_per_request",
    "load_sectors_per_request",
    "store_sectors_per_request",
    "atomic_requests",
    "atomic_serialisation",
    "active_lanes",
)


class Range(NamedTuple):
    """A figure of which the limits are certain, and the value between them is not."""

    low: float
    high: float


class Counters:
    """Sums over warps. A request is one access of a warp.

    ``global_load_requests``, ``global_load_sectors``, ``global_load_bytes``, and the same for stores: requests, the
    sectors of 32 bytes that they touch, the bytes that the threads ask for. ``shared_load_requests`` and
    ``shared_load_wavefronts``, and the same for stores: requests, and the passes over the 32 banks that they need;
    ``bank_conflicts`` are the passes that conflicts add. ``global_atomic_requests``, ``shared_atomic_requests``,
    ``atomic_passes``: the sum of the largest number of threads with one address. ``variable_load_requests``: reads of
    the module's ``__device__`` and ``__constant__`` variables, which are not among the loads of global memory. ``barrier_waits``: warps that waited at a barrier of the block. ``requests`` and ``lanes``:
    of all kinds, and the threads that took part.
    """

    __slots__ = COUNTERS

    global_load_requests: int
    global_load_sectors: int
    global_load_bytes: int
    global_store_requests: int
    global_store_sectors: int
    global_store_bytes: int
    shared_load_requests: int
    shared_load_wavefronts: int
    shared_store_requests: int
    shared_store_wavefronts: int
    bank_conflicts: int
    variable_load_requests: int
    global_atomic_requests: int
    shared_atomic_requests: int
    atomic_passes: int
    requests: int
    lanes: int
    barrier_waits: int

    def __init__(self, values: Iterable = ()) -> None:
        for name in COUNTERS:
            setattr(self, name, 0)
        if values:
            self._add(values)

    def _add(self, values: Iterable) -> None:
        for name, value in zip(COUNTERS, values, strict=True):
            setattr(self, name, getattr(self, name) + value)

    def _values(self) -> list:
        return [getattr(self, name) for name in COUNTERS]

    @property
    def sectors_per_request(self) -> float:
        """Sectors of 32 bytes for each load and store of global memory; 4 if 32 threads access 4 bytes each, one after
        the other."""
        sectors = self.global_load_sectors + self.global_store_sectors
        return _ratio(sectors, self.global_load_requests + self.global_store_requests)

    @property
    def load_sectors_per_request(self) -> float:
        """The same for loads alone."""
        return _ratio(self.global_load_sectors, self.global_load_requests)

    @property
    def store_sectors_per_request(self) -> float:
        """The same for stores alone."""
        return _ratio(self.global_store_sectors, self.global_store_requests)

    @property
    def atomic_requests(self) -> int:
        """Atomic operations of warps, in global and in shared memory."""
        return self.global_atomic_requests + self.shared_atomic_requests

    @property
    def atomic_serialisation(self) -> float:
        """How many threads of a warp update one address at once: 1 if none do, at most 32."""
        return _ratio(self.atomic_passes, self.atomic_requests)

    @property
    def active_lanes(self) -> float:
        """The mean number of threads in an access; 32 without divergence."""
        return _ratio(self.lanes, self.requests)

    def as_dict(self) -> dict:
        """All counters, and the ratios of them."""
        return {name: getattr(self, name) for name in (*COUNTERS, *RATIOS)}


def _ratio(a, b):
    return a / b if b else 0.0


class Line(Counters):
    """The counters of one line. ``file``, ``number``, and its ``text``."""

    __slots__ = ("file", "number")

    def __init__(self, file: str, number: int, values: Iterable = ()) -> None:
        super().__init__(values)
        self.file = file
        self.number = number

    @property
    def text(self) -> str:
        """The line in the file, or the notebook's cell, as it is now; "" if it cannot be read."""
        return source.line(self.file, self.number)

    @property
    def place(self) -> str:
        """ "transpose.py:12"; "numbalite" for code that is not the user's."""
        return f"{os.path.basename(self.file)}:{self.number}" if self.file else "numbalite"

    def __repr__(self) -> str:
        return f"<Line {self.place}: {_nonzero(self)}>"


def _nonzero(counters):
    shown = ((name, getattr(counters, name)) for name in COUNTERS)
    return ", ".join(f"{name} {value}" for name, value in shown if value) or "nothing"


class _WithLines(Counters):
    """The counters of all lines, and the lines."""

    __slots__ = ("_lines",)

    def __init__(self, lines: Iterable = ()) -> None:
        super().__init__()
        self._lines: dict = {}
        for line in lines:
            self._include(line)

    def _include(self, line):
        own = self._lines.get((line.file, line.number))
        if own is None:
            own = self._lines[line.file, line.number] = Line(line.file, line.number)
        own._add(line._values())
        self._add(line._values())

    @property
    def lines(self) -> tuple:
        """The lines with accesses or barriers, in the order of the source."""
        return tuple(self._lines[key] for key in sorted(self._lines))

    def line(self, number: int, file: str | None = None) -> Line:
        """One line of the user's file; ``file``, or the end of its path, where kernels come from several."""
        found = [
            line
            for line in self.lines
            if line.number == number and (file is None or line.file.endswith(file))
        ]
        if not found:
            places = ", ".join(line.place for line in self.lines) or "none"
            raise LookupError(
                f"there is no access of memory and no barrier at line {number}; lines with counters: {places}"
            )
        if len(found) > 1:
            raise LookupError(
                f"there are {len(found)} files with a line {number}: "
                f"{', '.join(line.file for line in found)}; name one with file="
            )
        return found[0]


class Launch(_WithLines):
    """One launch: its counters, and what the compiler for the GPU made of its kernel."""

    __slots__ = (
        "_touched",
        "block",
        "gpu",
        "grid",
        "is_complete",
        "kernel",
        "occupancy_detail",
        "resources",
        "shared_bytes",
        "unavailable",
    )

    def __init__(self, gpu: GPU, record: tuple, resources: Resources | str) -> None:
        kernel, _, _, grid, block, shared, loaded, stored, incomplete, lines = record
        super().__init__(Line(*line) for line in lines)
        self.kernel: str = kernel
        self.gpu = gpu
        self.grid: tuple = grid
        self.block: tuple = block
        self.is_complete = not incomplete
        """Did it run to its end, with all accesses counted?"""
        self._touched = loaded * advice.SECTOR, stored * advice.SECTOR
        self.unavailable = resources if isinstance(resources, str) else ""
        """Why there are no registers and no occupancy; "" if there are."""
        self.resources = None if isinstance(resources, str) else resources
        self.shared_bytes: int = shared + (self.resources.shared_bytes if self.resources else 0)
        """Shared memory of a block, static and dynamic; without the static one where it is unavailable."""
        self.occupancy_detail: Occupancy | None = None
        if self.resources:
            self.occupancy_detail = self.resources.occupancy(gpu, self.threads, shared)

    @property
    def threads(self) -> int:
        """Of a block."""
        x, y, z = self.block
        return x * y * z

    @property
    def blocks(self) -> int:
        """Of the grid."""
        x, y, z = self.grid
        return x * y * z

    @property
    def registers(self) -> int | None:
        """Of a thread, as NVRTC compiled the kernel for the GPU."""
        return self.resources.registers if self.resources else None

    @property
    def local_bytes(self) -> int | None:
        """Local memory of a thread: arrays that are not in registers, and registers that were spilled."""
        return self.resources.local_bytes if self.resources else None

    @property
    def occupancy(self) -> float | None:
        """The part of a multiprocessor's warps that can be resident at once, from 0 to 1."""
        return self.occupancy_detail.part if self.occupancy_detail else None

    @property
    def occupancy_limit(self) -> str | None:
        """What limits it: "registers", "shared memory", "threads" or "blocks"."""
        return self.occupancy_detail.limit if self.occupancy_detail else None

    @property
    def dram_bytes(self) -> Range:
        """What is copied between DRAM and the caches, which are empty before the launch. At least each sector that is
        read is copied once. At most all that is requested is, twice for an atomic."""
        loaded, stored = self._touched
        if loaded + stored <= self.gpu.l2_bytes // 2:
            return Range(loaded, loaded + stored)  # what was written may still be in the L2 cache
        sectors = self.global_load_sectors + self.global_store_sectors
        return Range(
            loaded,
            max(
                loaded + stored,
                sectors * advice.SECTOR + 2 * advice.SECTOR * 32 * self.global_atomic_requests,
            ),
        )

    @property
    def time_at_least(self) -> float:
        """A time in seconds that the GPU cannot be faster than; the kernel's own arithmetic is not in it."""
        return max(self._times().values())

    @property
    def bound(self) -> str:
        """What that time is: "DRAM" or "shared memory"."""
        times = self._times()
        return max(times, key=lambda name: times[name])

    def _times(self):
        wavefronts = self.shared_load_wavefronts + self.shared_store_wavefronts
        units = min(self.gpu.multiprocessors, self.blocks)
        return {
            "DRAM": self.dram_bytes.low / self.gpu.dram_bytes_per_second,
            "shared memory": wavefronts / units / (self.gpu.clock_mhz * 1e6),
        }

    @property
    def advice(self) -> tuple:
        """Sentences that name a line and what would change."""
        return advice.of_launch(self)

    def as_dict(self) -> dict:
        """All of it, for JSON."""
        return {
            "kernel": self.kernel,
            "grid": self.grid,
            "block": self.block,
            "is_complete": self.is_complete,
            "shared_bytes": self.shared_bytes,
            "registers": self.registers,
            "local_bytes": self.local_bytes,
            "occupancy": self.occupancy,
            "occupancy_limit": self.occupancy_limit,
            "unavailable": self.unavailable,
            "dram_bytes": self.dram_bytes,
            "time_at_least": self.time_at_least,
            "bound": self.bound,
            "advice": self.advice,
            "counters": super().as_dict(),
            "lines": lines_as_dicts(self.lines),
        }

    def __repr__(self) -> str:
        return f"<Launch of {self.kernel}, grid {self.grid}, block {self.block}: {_nonzero(self)}>"


def lines_as_dicts(lines) -> list:
    """Lines, for JSON."""
    return [
        {"file": line.file, "line": line.number, "text": line.text.strip(), **line.as_dict()}
        for line in lines
    ]


class KernelProfile(_WithLines):
    """The sums over all launches of a kernel, and its ``launches``."""

    __slots__ = ("launches", "name")

    def __init__(self, name: str, launches: Iterable) -> None:
        self.name = name
        self.launches: tuple = tuple(launches)
        super().__init__(line for launch in self.launches for line in launch.lines)

    @property
    def advice(self) -> tuple:
        """The sentences about its launches, each once."""
        return tuple(dict.fromkeys(text for launch in self.launches for text in launch.advice))

    @property
    def time_at_least(self) -> float:
        """The sum over its launches, in seconds."""
        return sum(launch.time_at_least for launch in self.launches)

    def as_dict(self) -> dict:
        """All of it, for JSON."""
        return {
            "kernel": self.name,
            "launches": [launch.as_dict() for launch in self.launches],
            "time_at_least": self.time_at_least,
            "advice": self.advice,
            "counters": super().as_dict(),
            "lines": lines_as_dicts(self.lines),
        }

    def __repr__(self) -> str:
        return text.of_kernel(self)

    def _repr_html_(self) -> str:
        return html.of_kernel(self)
