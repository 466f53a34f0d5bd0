"""Contains the counts of a profile: of a line, of a launch, of all launches of a kernel."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from numbalite import _core
from numbalite.profiler import (
    advice,
    caches,
    causes,
    execution,
    html,
    pictures,
    reconcile,
    resources,
    source,
    text,
    timing,
)
from numbalite.profiler.caches import Range
from numbalite.required import require, require_kind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numbalite.profiler.caches import Traffic
    from numbalite.profiler.gpus import GPU
    from numbalite.profiler.resources import CompiledKernel, Occupancy

COUNTERS: tuple = _core.profile_counters
"""The names of the simulator's counters."""
RATIOS = (
    "bank_conflicts",
    "sectors_per_request",
    "load_sectors_per_request",
    "store_sectors_per_request",
    "atomic_requests",
    "atomic_serialisation",
    "active_lanes",
)


class Counters:
    """Sums over warps. A request is one access of a warp.

    ``global_load_requests``, ``global_load_sectors``, ``global_load_bytes``, and the same for
    stores: the number of requests, of sectors of 32 bytes that they touch, and of bytes that the threads
    request; ``global_load_lines``: the number of cache lines of 128 bytes that loads touch.
    ``shared_load_requests`` and ``shared_load_wavefronts``, and the same for stores: the number of requests,
    and of passes over the 32 banks that they need; ``shared_load_conflicts``, and ``bank_conflicts`` for
    loads and stores: the number of passes that bank conflicts add. ``global_atomic_requests`` and
    ``shared_atomic_requests`` count atomic operations; ``atomic_passes`` is the sum, over these requests, of
    the largest number of threads with one address. ``variable_load_requests``:
    reads of the module's ``__device__`` and ``__constant__`` variables, which do not count as loads of global
    memory. ``barrier_waits``: warps that waited at a barrier of the block. ``loop_iterations``: iterations of
    warps. ``global_repeated_requests``, ``shared_repeated_requests``:
    loads of the same addresses that the same instruction loaded before, as in a loop. ``requests`` and
    ``lanes``: the number of requests of all kinds, and of the threads that took part.
    """

    __slots__ = COUNTERS

    global_load_requests: int
    global_load_sectors: int
    global_load_bytes: int
    global_load_lines: int
    global_store_requests: int
    global_store_sectors: int
    global_store_bytes: int
    global_store_lines: int
    shared_load_requests: int
    shared_load_wavefronts: int
    shared_store_requests: int
    shared_store_wavefronts: int
    shared_load_conflicts: int
    shared_store_conflicts: int
    global_repeated_requests: int
    global_repeated_sectors: int
    global_repeated_lines: int
    shared_repeated_requests: int
    shared_repeated_wavefronts: int
    variable_load_requests: int
    global_atomic_requests: int
    global_atomic_lanes: int
    shared_atomic_requests: int
    atomic_passes: int
    requests: int
    lanes: int
    barrier_waits: int
    loop_iterations: int
    loop_lanes: int

    def __init__(self, values: Iterable = ()) -> None:
        for name in COUNTERS:
            setattr(self, name, 0)
        if values:
            self._add_values(values)

    def _add_values(self, values: Iterable) -> None:
        for name, value in zip(COUNTERS, values, strict=True):
            setattr(self, name, getattr(self, name) + value)

    def _values(self) -> list:
        return [getattr(self, name) for name in COUNTERS]

    @property
    def sectors_per_request(self) -> float:
        """The number of sectors of 32 bytes per load and store of global memory, which is 4 if 32 threads access
        4 consecutive bytes each."""
        sectors = self.global_load_sectors + self.global_store_sectors
        return _ratio(sectors, self.global_load_requests + self.global_store_requests)

    @property
    def load_sectors_per_request(self) -> float:
        """The number of sectors of 32 bytes per load of global memory."""
        return _ratio(self.global_load_sectors, self.global_load_requests)

    @property
    def store_sectors_per_request(self) -> float:
        """The number of sectors of 32 bytes per store of global memory."""
        return _ratio(self.global_store_sectors, self.global_store_requests)

    @property
    def bank_conflicts(self) -> int:
        """The additional shared-memory passes of loads and stores that bank conflicts cause."""
        return self.shared_load_conflicts + self.shared_store_conflicts

    @property
    def atomic_requests(self) -> int:
        """Atomic operations of warps, in global and in shared memory."""
        return self.global_atomic_requests + self.shared_atomic_requests

    @property
    def shared_atomic_passes(self) -> int:
        """The mean number of passes per atomic request in shared memory."""
        return round(_ratio(self.atomic_passes, self.atomic_requests) * self.shared_atomic_requests)

    @property
    def atomic_serialisation(self) -> float:
        """The mean number of threads of a warp that update one address at the same time, from 1 (all addresses
        differ) to 32."""
        return _ratio(self.atomic_passes, self.atomic_requests)

    @property
    def active_lanes(self) -> float:
        """The mean number of threads in an access, which is 32 without divergence."""
        return _ratio(self.lanes, self.requests)

    def as_dict(self) -> dict:
        """Returns all counters, and the ratios of them."""
        return {name: getattr(self, name) for name in (*COUNTERS, *RATIOS)}


def _ratio(a, b):
    return a / b if b else 0.0


class Line(Counters):
    """The counters of one line. ``file``, ``number``, and its ``text``. ``as_written`` contains the counters
    before the machine code was considered. ``widened`` contains the counters with adjacent accesses merged to
    8 and to 16 bytes."""

    __slots__ = ("as_written", "file", "number", "samples", "widened")

    def __init__(
        self,
        file: str,
        number: int,
        values: Iterable = (),
        widened: tuple = (),
        samples: tuple = (),
    ) -> None:
        super().__init__(values)
        self.file = file
        self.number = number
        self.as_written: dict = {name: getattr(self, name) for name in COUNTERS}
        self.widened: tuple = tuple(dict(zip(COUNTERS, one, strict=True)) for one in widened)

        self.samples: dict = dict(pictures.samples(samples))
        """Kind, such as "global_load" -> the first access of a warp, for pictures."""

    def picture(self, kind: str | None = None) -> pictures.Picture:
        """Returns the sectors or the banks that the line's first access touches. ``kind`` is "global_load",
        "global_store", "shared_load" or "shared_store"; by default the line's only kind of access, or the
        first of these."""
        if not self.samples or (kind is not None and kind not in self.samples):
            found = ", ".join(self.samples) or "none"
            raise LookupError(f"{self.place} has no access of kind {kind!r}; it has: {found}")
        return pictures.access_picture(self, self.samples[kind or next(iter(self.samples))])

    @property
    def key(self) -> tuple:
        """(file, number)"""
        return self.file, self.number

    @property
    def is_used(self) -> bool:
        """Whether the line has accesses or barriers."""
        return bool(self.requests or self.barrier_waits)

    @property
    def text(self) -> str:
        """The present text of the line, from the file or the notebook's cell, or "" if the line cannot be
        read."""
        return source.source_line(self.file, self.number)

    @property
    def place(self) -> str:
        """The position of the line, such as "transpose.py:12"; "numbalite" for code that is not the
        user's."""
        return f"{os.path.basename(self.file)}:{self.number}" if self.file else "numbalite"

    def __repr__(self) -> str:
        return f"<Line {self.place}: {_nonzero_text(self)}>"


def _nonzero_text(counters):
    shown = ((name, getattr(counters, name)) for name in COUNTERS)
    return ", ".join(f"{name} {value}" for name, value in shown if value) or "nothing"


class _CountersWithLines(Counters):
    """The counters of all lines, and the lines."""

    __slots__ = ("_lines",)

    def __init__(self, lines: Iterable = ()) -> None:
        super().__init__()
        self._lines: dict = {}
        for line in lines:
            self._add_line(line)

    def _add_line(self, line):
        own = self._lines.get((line.file, line.number))
        if own is None:
            own = self._lines[line.file, line.number] = Line(line.file, line.number)
        own._add_values(line._values())
        for kind, sample in line.samples.items():
            own.samples.setdefault(kind, sample)
        for name, value in line.as_written.items():
            own.as_written[name] += value
        self._add_values(line._values())

    @property
    def lines(self) -> tuple:
        """The lines with accesses or barriers, in the order of the source."""
        return tuple(self._lines[key] for key in sorted(self._lines) if self._lines[key].is_used)

    def line(self, number: int, file: str | None = None) -> Line:
        """Returns one line of the user's file; ``file``: the file, or the end of its path, if the kernels are
        in several files."""
        found = [
            line
            for line in self.lines
            if line.number == number and (file is None or line.file.endswith(file))
        ]
        if not found:
            places = ", ".join(line.place for line in self.lines) or "none"
            raise LookupError(
                f"there is no memory access and no barrier at line {number}; lines with counters: {places}"
            )
        if len(found) > 1:
            raise LookupError(
                f"there are {len(found)} files with a line {number}: "
                f"{', '.join(line.file for line in found)}; name one with file="
            )
        return found[0]


class Launch(_CountersWithLines):
    """One launch: its counters, and the resources of its kernel as compiled for the chosen GPU."""

    __slots__ = (
        "_prediction",
        "block",
        "block_counts",
        "block_lanes",
        "code",
        "gpu",
        "grid",
        "is_complete",
        "kernel",
        "loaded_sectors",
        "occupancy_detail",
        "resources",
        "reuse",
        "shared_bytes",
        "stored_sectors",
        "traffic",
        "unavailable",
        "work",
        "written_because",
    )

    def __init__(
        self, gpu: GPU, record: tuple, compiled: CompiledKernel | str, as_written: bool = False
    ) -> None:
        kernel, _, _, grid, block, shared, loaded, stored, reuse, incomplete, lines, _ = record
        self.kernel: str = kernel
        self.gpu = gpu
        self.grid: tuple = grid
        self.block: tuple = block
        self.is_complete = not incomplete
        """Did it run to its end, with all accesses counted?"""
        self.loaded_sectors: int = loaded
        """Sectors that were loaded, each counted once."""
        self.stored_sectors: int = stored
        self.reuse: tuple = reuse
        """Sectors by reuse distance (caches.py)."""
        self._compile(compiled, shared, as_written)
        super().__init__(self._reconcile_lines([Line(*line) for line in lines]))
        self.traffic: Traffic = caches.memory_traffic(self)
        """Bytes between the levels of memory, and hit rates."""
        self._prediction = None

    def _compile(self, compiled, shared, as_written):
        is_there = not isinstance(compiled, str)
        self.unavailable: str = "" if is_there else compiled
        """The reason why registers and occupancy are unknown, or "" if they are known."""
        self.resources = compiled.resources if is_there else None
        self.shared_bytes: int = shared + (self.resources.shared_bytes if self.resources else 0)
        """Shared memory of a block, static and dynamic; without the static one where it is unavailable."""
        self.occupancy_detail: Occupancy | None = None
        if self.resources:
            self.occupancy_detail = self.resources.occupancy(self.gpu, self.threads, shared)
        code = compiled.code if is_there else compiled
        self.written_because: str = code if isinstance(code, str) else ""
        """The reason why the counters are as written, or "" for counters of the machine code."""
        if as_written:
            self.written_because = "this was requested"
        self.code = None if self.written_because else code

    def _reconcile_lines(self, lines):
        self.work = self.block_counts = self.block_lanes = None
        if self.code is not None:
            warps = self.blocks * self.warps_of_block
            reconcile.correct_counters(lines, self.code, warps)
            self.block_counts, self.block_lanes = execution.execution_counts(
                self.code, lines, warps
            )
            reconcile.count_loads_of_all_warps(lines, self.code, self.block_counts)
            self.work = timing.count_work(self.code, self.block_counts)
        return lines

    @property
    def counters_are(self) -> str:
        """ "as compiled" if the machine code determines the accesses, otherwise "as written"."""
        return "as written" if self.written_because else "as compiled"

    @property
    def warps_of_block(self) -> int:
        """The number of warps of a block."""
        return -(-self.threads // 32)

    @property
    def resident_blocks(self) -> int:
        """The number of blocks that are resident on a multiprocessor. Without the machine code, only the
        number of threads limits the number of blocks."""
        most = min(self.gpu.blocks, self.gpu.warps // self.warps_of_block)
        if self.occupancy_detail:
            most = self.occupancy_detail.blocks
        return max(1, min(most, -(-self.blocks // self.gpu.multiprocessors)))

    @property
    def shared_of_multiprocessor(self) -> int:
        """The shared memory of the resident blocks, which is not available to the L1 cache."""
        used = self.resident_blocks * (self.shared_bytes + self.gpu.reserved_shared_bytes)
        return min(used, self.gpu.shared_bytes) if self.shared_bytes else 0

    @property
    def threads(self) -> int:
        """The number of threads of a block."""
        x, y, z = self.block
        return x * y * z

    @property
    def blocks(self) -> int:
        """The number of blocks of the grid."""
        x, y, z = self.grid
        return x * y * z

    @property
    def registers(self) -> int | None:
        """The number of registers of a thread, as NVRTC compiled the kernel for the GPU; at least 16, which a
        launch allocates."""
        return max(resources.MIN_REGISTERS, self.resources.registers) if self.resources else None

    @property
    def local_bytes(self) -> int | None:
        """Bytes of local memory of a thread, for arrays that are not in registers, and for spilled
        registers."""
        return self.resources.local_bytes if self.resources else None

    @property
    def occupancy(self) -> float | None:
        """The fraction of a multiprocessor's warps that can be resident at once, from 0 to 1."""
        return self.occupancy_detail.part if self.occupancy_detail else None

    @property
    def occupancy_limit(self) -> str | None:
        """The resource that limits the occupancy: "registers", "shared memory", "threads" or "blocks"."""
        return self.occupancy_detail.limit if self.occupancy_detail else None

    @property
    def spills(self) -> int | None:
        """The number of instructions that spill a register to local memory, or None without the machine code."""
        return self.code.spills if self.code else None

    @property
    def active_threads(self) -> float | None:
        """The mean number of active threads of all executed instructions, or None without the machine code."""
        if self.code is None:
            return None
        return execution.active_threads(
            self.code, self.block_counts, self.block_lanes, self.threads
        )

    def instructions(self, kind: str) -> float | None:
        """Returns the number of instructions of one kind that warps execute, including instructions whose
        threads are all disabled by a predicate: "shared_load", "shared_store", "local_load", "local_store",
        ..., or None without the machine code."""
        if self.code is None:
            return None
        return execution.instructions(self.code, self.block_counts, kind)

    @property
    def local_load_requests(self) -> float | None:
        """The number of warps' loads from local memory, by the machine code, or None without the machine
        code."""
        return self.instructions("local_load")

    @property
    def local_store_requests(self) -> float | None:
        """The same for stores."""
        return self.instructions("local_store")

    @property
    def dram_bytes(self) -> Range:
        """The bytes transferred between DRAM and the caches, which are empty before the launch."""
        return self.traffic.dram_bytes

    @property
    def l1_hit_rate(self) -> Range:
        """The fraction of the sectors of global loads that hit in the L1 cache, from 0 to 1."""
        return self.traffic.l1_hit_rate

    @property
    def l2_hit_rate(self) -> Range:
        """The fraction of the sectors loaded from or stored to the L2 cache that are not transferred from or to
        DRAM, from 0 to 1."""
        return self.traffic.l2_hit_rate

    @property
    def _cached_prediction(self):
        if self._prediction is None:
            self._prediction = timing.predict_time(self)
        return self._prediction

    @property
    def time(self) -> float:
        """The predicted time in seconds. Without the machine code, the predicted time does not include
        arithmetic and latency."""
        return self._cached_prediction.time

    @property
    def time_range(self) -> Range:
        """The range in which the time is expected; its upper end is infinite without the machine code."""
        return self._cached_prediction.range

    @property
    def time_at_least(self) -> float:
        """A lower limit of the time on the GPU, in seconds."""
        return self._cached_prediction.least

    @property
    def bound(self) -> str:
        """The hardware unit that bounds the time: "DRAM", "L2", "L1", "shared memory", "issue", "float32",
        "float64", "integers", "special functions", "latency", "too few blocks" or "launch"."""
        return self._cached_prediction.bound

    @property
    def causes(self) -> tuple:
        """The lines that cause the time: (line, share from 0 to 1) of the unit that bounds it, the
        largest share first."""
        return causes.time_causes(self, list(self._lines.values()))

    def instructions_by_line(self, unit: str) -> dict:
        """Returns {line: number of warp instructions of a unit such as "float32"}, by the machine code; {}
        without it."""
        if self.code is None:
            return {}
        known = {key: line for key, line in self._lines.items() if line.file}
        return causes.instructions(self.code, self.block_counts, known, unit, Line)

    @property
    def units(self) -> dict:
        """The time of each hardware unit in seconds, longest first."""
        return self._cached_prediction.units

    @property
    def advice(self) -> tuple:
        """Advice: sentences with a line and a change."""
        return advice.launch_advice(self)

    @property
    def roofline(self) -> pictures.Picture:
        """A plot of operations per second against operations per byte, and the GPU's limits."""
        return pictures.roofline_plot([self])

    def as_dict(self) -> dict:
        """Returns all fields as a dict, for JSON."""
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
            "spills": self.spills,
            "active_threads": self.active_threads,
            "local_load_requests": self.local_load_requests,
            "local_store_requests": self.local_store_requests,
            "shared_load_instructions": self.instructions("shared_load"),
            "shared_store_instructions": self.instructions("shared_store"),
            "counters_are": self.counters_are,
            "written_because": self.written_because,
            "dram_bytes": self.dram_bytes,
            "l1_hit_rate": self.l1_hit_rate,
            "l2_hit_rate": self.l2_hit_rate,
            "time": self.time,
            "time_range": [self.time_range.low, _finite_or_none(self.time_range.high)],
            "bound": self.bound,
            "units": self.units,
            "causes": [[line.file, line.number, share] for line, share in self.causes],
            "advice": self.advice,
            "counters": super().as_dict(),
            "lines": lines_as_dicts(self.lines),
        }

    def __repr__(self) -> str:
        return f"<Launch of {self.kernel}, grid {self.grid}, block {self.block}: {_nonzero_text(self)}>"


def _finite_or_none(value):
    return None if value == float("inf") else value


def lines_as_dicts(lines) -> list:
    """Lines, for JSON."""
    return [
        {"file": line.file, "line": line.number, "text": line.text.strip(), **line.as_dict()}
        for line in lines
    ]


class KernelProfile(_CountersWithLines):
    """The sums over all launches of a kernel, and its ``launches``."""

    __slots__ = ("launches", "name")

    def __init__(self, name: str, launches: Iterable) -> None:
        require(launches, "KernelProfile", "a list of Launch objects", "__iter__")
        self.name = name
        self.launches: tuple = tuple(launches)
        for launch in self.launches:
            require_kind(launch, "KernelProfile", "a list of Launch objects", Launch)
        super().__init__(line for launch in self.launches for line in launch.lines)

    @property
    def advice(self) -> tuple:
        """The sentences of advice about the kernel's launches, each once."""
        return tuple(dict.fromkeys(text for launch in self.launches for text in launch.advice))

    @property
    def time(self) -> float:
        """The sum of the predicted times of the kernel's launches, in seconds."""
        return sum(launch.time for launch in self.launches)

    @property
    def time_at_least(self) -> float:
        """The sum of the minimum times of the kernel's launches, in seconds."""
        return sum(launch.time_at_least for launch in self.launches)

    def as_dict(self) -> dict:
        """Returns all fields as a dict, for JSON."""
        return {
            "kernel": self.name,
            "launches": [launch.as_dict() for launch in self.launches],
            "time": self.time,
            "time_at_least": self.time_at_least,
            "advice": self.advice,
            "counters": super().as_dict(),
            "lines": lines_as_dicts(self.lines),
        }

    def __repr__(self) -> str:
        return text.kernel_text(self)

    def _repr_html_(self) -> str:
        return html.kernel_html(self)
