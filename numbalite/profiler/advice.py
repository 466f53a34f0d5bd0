"""Creates sentences about a launch: the line, its cost, and a change that would reduce the cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from numbalite.profiler.counters import Launch, Line

SECTOR = 32
"""Bytes of a sector."""
MAX_SENTENCES = 8
_WASTE = 1.5
"""So many times the sectors that the bytes would fill: less is not worth a sentence."""
_SERIAL = 4
_FEW_LANES = 24
_SIMILAR = 0.1


def launch_advice(launch: Launch) -> tuple:
    """Returns a tuple of sentences with advice for a launch, the most expensive problem first."""
    found = []
    loops: dict[str, list] = {}
    for line in launch.lines:
        if (lanes := _low_loop_lanes(line)) is not None:
            loops.setdefault(line.file, []).append((line.number, lanes))
            found.append(_loop_advice(line, lanes))
    for line in launch.lines:
        found += _global_access_advice(line, "load", "read")
        found += _global_access_advice(line, "store", "write")
        found += _bank_conflict_advice(line)
        found += _atomic_advice(line)
        if not _is_in_loop(line, loops.get(line.file, ())):
            found += _inactive_lane_advice(line)
    found.sort(key=lambda row: -row[0])
    return (*(text for _, text in found[:MAX_SENTENCES]), *_launch_shape_advice(launch))


def _global_access_advice(line: Line, kind, verb):
    requests = getattr(line, f"global_{kind}_requests")
    sectors = getattr(line, f"global_{kind}_sectors")
    needed = getattr(line, f"global_{kind}_bytes") / SECTOR
    if not requests or sectors < _WASTE * needed:
        return
    least = max(1, needed / requests)
    if sectors / requests < _WASTE * least:
        return
    yield (
        sectors - least * requests,
        f"{line.place}: {_number_text(sectors / requests)} sectors a {kind} request; {_number_text(least)} if neighbouring "
        f"threads {verb} neighbouring elements",
    )


def _bank_conflict_advice(line: Line):
    requests = line.shared_load_requests + line.shared_store_requests
    if not line.bank_conflicts:
        return
    wavefronts = line.shared_load_wavefronts + line.shared_store_wavefronts
    least = (wavefronts - line.bank_conflicts) / requests
    yield (
        line.bank_conflicts,
        f"{line.place}: {_number_text(wavefronts / requests)} wavefronts a request of shared memory; {_number_text(least)} "
        "without bank conflicts: pad the rows of the array by one element, or change the index",
    )


def _atomic_advice(line: Line):
    if line.atomic_serialisation < _SERIAL:
        return
    yield (
        line.atomic_passes - line.atomic_requests,
        f"{line.place}: {_number_text(line.atomic_serialisation)} threads of a warp update one address by an atomic "
        "operation; 1 if each warp adds its values first",
    )


def _inactive_lane_advice(line: Line):
    if not line.requests or line.active_lanes >= _FEW_LANES:
        return
    yield (
        line.requests * (1 - line.active_lanes / 32) / 4,
        f"{line.place}: {_number_text(line.active_lanes)} of 32 threads take part in an access; 32 if the threads of a warp "
        "take the same branch",
    )


def _low_loop_lanes(line: Line):
    """Returns the mean number of threads in an iteration of the loop at this line if it is low, otherwise
    None."""
    if not line.loop_iterations:
        return None
    lanes = line.loop_lanes / line.loop_iterations
    return lanes if lanes < _FEW_LANES else None


def _loop_advice(line: Line, lanes):
    return (
        line.loop_iterations * (1 - lanes / 32) / 4,
        f"{line.place}: {_number_text(lanes)} of 32 threads take part in an iteration of the loop; 32 if the threads of a "
        "warp make equally many iterations: sort or group the rows by length",
    )


def _is_in_loop(line: Line, loops):
    """Returns whether the threads that take part in the line's accesses are those of a loop that begins at this
    line or before it: then the advice for the loop suffices."""
    return any(
        number <= line.number and abs(line.active_lanes - lanes) <= _SIMILAR * lanes
        for number, lanes in loops
    )


def _launch_shape_advice(launch: Launch):
    if launch.threads % 32:
        yield f"blocks of {launch.threads} threads: the last warp of each has only {launch.threads % 32} of 32 threads"
    if launch.blocks < launch.gpu.multiprocessors:
        yield (
            f"{launch.blocks} block{'s' if launch.blocks > 1 else ''} for the {launch.gpu.multiprocessors} multiprocessors of the {launch.gpu.name}: "
            "the others have nothing to do"
        )
    if launch.occupancy is not None and launch.occupancy == 0:
        yield f"a block does not fit into a multiprocessor of the {launch.gpu.name}: {launch.occupancy_limit}"
    elif launch.occupancy is not None and launch.occupancy < 0.5:
        yield (
            f"{launch.occupancy:.0%} of the warps that a multiprocessor can hold are resident at once, limited by "
            f"{launch.occupancy_limit}"
        )


def _number_text(value):
    text = f"{value:.1f}"
    return text.removesuffix(".0")
