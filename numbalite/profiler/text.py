"""Shows a profile as text: for each kernel a table of the source with counters, and the advice."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from numbalite.profiler.counters import Counters, KernelProfile, Launch, Line
    from numbalite.profiler.session import profile

MAX_SOURCE = 60
MAX_CAUSES, MIN_SHARE = 3, 0.05
MAX_KERNELS = 10
"""Kernels in the summary."""
COLUMNS = (
    ("loads", "sect/req", "stores", "sect/req", "shared", "waves/req", "atomics", "lanes", "waits"),
    (
        "Requests of warps that load from global memory",
        "Sectors of 32 bytes for each of them",
        "Requests that store to global memory",
        "Sectors for each of them",
        "Requests of shared memory",
        "Passes over the banks for each of them",
        "Atomic operations of warps",
        "Threads that take part in an access, of 32",
        "Warps that waited at a barrier",
    ),
)
"""The heads of the columns, and what they mean."""
LEGEND = (
    "loads, stores, shared, atomics: accesses of warps; sect/req: sectors of 32 bytes for each, 4 if 32 threads access "
    "neighbouring 4 bytes; waves/req: passes over the banks for each, 1 without conflicts; lanes: active threads, of 32; "
    "waits: warps at a barrier."
)


def counter_source_note(p: profile) -> str:
    """Returns a sentence that states whether the counters are those of the machine code or of the source."""
    if p.counters_are == "as compiled":
        return f"Widths and numbers of accesses are those of NVRTC's machine code for the {p.gpu.name}."
    reasons = dict.fromkeys(launch.written_because for launch in p.launches)
    return (
        "Counters are as written: the compiler for the GPU may merge, widen or remove accesses "
        f"({'; '.join(filter(None, reasons))})."
    )


def row_cells(counters: Counters) -> tuple:
    """Returns the texts of a table row with these counters."""
    shared = counters.shared_load_requests + counters.shared_store_requests
    wavefronts = counters.shared_load_wavefronts + counters.shared_store_wavefronts
    return (
        _number_or_empty(counters.global_load_requests),
        _ratio_text(counters.load_sectors_per_request),
        _number_or_empty(counters.global_store_requests),
        _ratio_text(counters.store_sectors_per_request),
        _number_or_empty(shared),
        _ratio_text(wavefronts / shared if shared else 0),
        _number_or_empty(counters.atomic_requests),
        _ratio_text(counters.active_lanes),
        _number_or_empty(counters.barrier_waits),
    )


def _number_or_empty(value):
    return str(value) if value else ""


def _ratio_text(value):
    return f"{value:.1f}" if value else ""


def line_weight(line: Line) -> int:
    """Returns the estimated cost of a line, for comparison with other lines: the sum of its sectors, passes over the
    banks, serialized atomic operations."""
    return (
        line.global_load_sectors
        + line.global_store_sectors
        + line.shared_load_wavefronts
        + line.shared_store_wavefronts
        + line.atomic_passes
    )


def launch_facts(launch: Launch) -> list:
    """Sentences about a launch."""
    first = f"grid {_dimensions_text(launch.grid)}, block {_dimensions_text(launch.block)}"
    if launch.resources is None:
        first += f"; no registers and no occupancy: {launch.unavailable}"
    else:
        first += (
            f"; for the {launch.gpu.name} {launch.registers} registers, {launch.local_bytes} bytes of local memory, "
            f"{launch.shared_bytes} bytes of shared memory, occupancy {launch.occupancy:.0%} (limited by "
            f"{launch.occupancy_limit})"
        )
    facts = [first, _cache_text(launch), _predicted_time_text(launch)]
    if not launch.is_complete:
        facts.append("the launch did not run to its end: its counters are too small")
    return facts


def _cache_text(launch):
    parts = [f"{_interval_text(launch.dram_bytes, _bytes_text)} from and to DRAM"]
    if launch.global_load_sectors:
        parts.append(f"L1 hit rate {_interval_text(launch.l1_hit_rate, '{:.0%}'.format)}")
    if launch.traffic.l2_bytes.high:
        parts.append(f"L2 hit rate {_interval_text(launch.l2_hit_rate, '{:.0%}'.format)}")
    return ", ".join(parts)


def _predicted_time_text(launch):
    low, high = launch.time_range
    if launch.work is None:
        return f"at least {_time_text(low)}, bound by {launch.bound}; arithmetic and latency are not predicted"
    return (
        f"predicted: {_time_text(launch.time)} ({_time_text(low)} to {_time_text(high)}), bound by {launch.bound}"
        f"{_causes_text(launch)}"
    )


def _causes_text(launch):
    shown = [c for c in launch.causes[:MAX_CAUSES] if c.share >= MIN_SHARE]
    return "".join(f", {share:.0%} {line.place}" for line, share in shown)


def _interval_text(found, show):
    low, high = map(show, found)
    return low if low == high else f"{low} to {high}"


def _dimensions_text(dim):
    used = [size for n, size in enumerate(dim) if n == 0 or max(dim[n:]) > 1]
    return str(used[0]) if len(used) == 1 else f"({', '.join(map(str, used))})"


def _bytes_text(value):
    for unit in ("bytes", "KB", "MB", "GB"):
        if value < 1000 or unit == "GB":
            return f"{value:.4g} {unit}"
        value /= 1000
    raise AssertionError


def _time_text(seconds):
    for factor, unit in ((1, "s"), (1e3, "ms"), (1e6, "us")):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def profile_text(p: profile) -> str:
    """Returns the text for all kernels of a profile."""
    kernels = p.kernels
    if not kernels:
        return f"profile for the {p.gpu.name}: no kernel was launched"
    parts = [*map(kernel_text, kernels.values()), f"{LEGEND}\n{counter_source_note(p)}"]
    if len(kernels) > 1:
        parts.append(summary(p))
    return "\n\n".join(parts)


def summary_rows(p: profile) -> tuple:
    """Returns (title, rows, rest) of a table of the kernels by their predicted time. A row has the
    kernel's share, time and name, and its first sentence of advice or ""; rest: a sentence about
    kernels that are not in the table, or ""."""
    kernels = sorted(p.kernels.values(), key=lambda kernel: -kernel.time)
    whole = sum(kernel.time for kernel in kernels)
    rows = [
        (
            f"{kernel.time / whole:.0%}",
            _time_text(kernel.time),
            kernel.name,
            "".join(kernel.advice[:1]),
        )
        for kernel in kernels
    ]
    title = f"Kernels by predicted time on the {p.gpu.name}, with the first advice for each:"
    more = len(rows) - MAX_KERNELS
    return title, rows[:MAX_KERNELS], f"and {more} more kernels" if more > 0 else ""


def summary(p: profile) -> str:
    """Returns the kernels by their predicted time, each with its first sentence of advice."""
    title, rows, rest = summary_rows(p)
    widths = [max(len(row[n]) for row in rows) for n in range(3)]
    out = [title]
    for share, time, name, advice in rows:
        start = f"{share:>{widths[0]}}  {time:>{widths[1]}}  {name:<{widths[2]}}"
        out.append(f"{start}  {advice}".rstrip())
    return "\n".join([*out, *filter(None, [rest])])


def kernel_text(kernel: KernelProfile) -> str:
    """Returns the text for one kernel."""
    count = len(kernel.launches)
    out = [f"{kernel.name}: {count} launch{'es' if count > 1 else ''}"]
    seen = dict.fromkeys(tuple(launch_facts(launch)) for launch in kernel.launches)
    for sentences in list(seen)[:3]:
        out += [f"  {sentence}" for sentence in sentences]
    if len(seen) > 3:
        out.append(f"  and {len(seen) - 3} more kinds of launches")
    rows = [("line", *COLUMNS[0], "source")]
    rows += [
        (line.place, *row_cells(line), line.text.strip()[:MAX_SOURCE]) for line in kernel.lines
    ]
    rows.append(("total", *row_cells(kernel), ""))
    widths = [max(len(row[n]) for row in rows) for n in range(len(rows[0]) - 1)]
    for row in rows:
        columns = [row[0].ljust(widths[0])]
        columns += [text.rjust(width) for text, width in zip(row[1:-1], widths[1:], strict=True)]
        out.append("  ".join([*columns, row[-1]]).rstrip())
    out += [f"- {sentence}" for sentence in kernel.advice]
    return "\n".join(out)
