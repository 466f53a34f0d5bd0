"""Estimates the number of executions of each basic block of the machine code in a launch, counted in warps.

The requests of a line, counted on the simulator, are distributed over the blocks that contain the line's
accesses: first to the block with the most accesses, an unrolled loop, then to the following blocks. The warps
that wait at a barrier are distributed in the same way, because the barrier count includes warps whose
accesses are all disabled by a predicate. Iterations of loops without memory accesses are counted by line. All
other blocks are executed as often as the loop around them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from numbalite.profiler.reconcile import KINDS, LineIndex, lines_with_elected_thread

if TYPE_CHECKING:
    from numbalite.profiler.machinecode import MachineCode

_ARITHMETIC = ("FADD", "FMUL", "FFMA", "DADD", "DMUL", "DFMA", "MUFU", "HFMA2")


def execution_counts(code: MachineCode, lines, warps: int) -> tuple:
    """Returns two lists: for each block, the number of times that a warp executes the block, summed over the
    warps; and the mean number of active lanes, None if unknown."""
    evidence: list = [[] for _ in code.blocks]
    places = LineIndex(lines)
    for requests, lanes, blocks in _execution_evidence(code, lines, places):
        for block, count in _executions_of_blocks(requests, blocks, code, warps):
            evidence[block].append((count, lanes))
    counted = {block: max(values)[0] for block, values in enumerate(evidence) if values}
    lanes_of = {block: max(values)[1] for block, values in enumerate(evidence) if values}
    for loop, (iterations, lanes) in _loops_without_accesses(code, lines, places, counted).items():
        for block in range(code.loops[loop].first, code.loops[loop].last + 1):
            if code.blocks[block].loops[-1] == loop:
                counted[block], lanes_of[block] = iterations, lanes
    for find in _unrolled_with_exits, _unrolled_without_exits:
        for block, iterations, lanes in find(code, lines, places, warps):
            if block not in counted:
                counted[block], lanes_of[block] = iterations, lanes
    numbers = range(len(code.blocks))
    found = [_count_block(block, code, counted, warps) for block in numbers]
    _count_calls(code, found)
    return found, [lanes_of.get(block) for block in numbers]


_SPECIAL_CASES = "$__internal"
"""Functions of the compiler for special operands: quotients and roots of denormal numbers, integers of more than 32 bits."""


def _count_calls(code, found):
    """Corrects the numbers of executions of functions, which follow the last EXIT of a kernel, and of calls. Functions for
    special operands are assumed not to be called."""
    exits = (n for n, block in enumerate(code.blocks) if block.instructions[-1].name == "EXIT")
    end = max(exits, default=len(code.blocks) - 1)
    calls = 0.0
    for number, block in enumerate(code.blocks[: end + 1]):
        names = [i.operands for i in block.instructions if i.name == "CALL"]
        if any(_SPECIAL_CASES in name for name in names):
            found[number] = 0
        calls += len(names) * found[number]
    for number in range(end + 1, len(code.blocks)):
        found[number] = calls


_EVIDENCE = (*KINDS, "global_atomic", "shared_atomic")


def _execution_evidence(code, lines, places):
    """Yields (requests of a line, active lanes, {block: number of the line's accesses in it}) for each line and kind of
    access, and for barriers. The active lanes of accesses with a predicate are unknown: -1. An atomic operation that
    the compiler lets one thread of the active ones execute has the lanes that reach it in the source."""
    accesses: dict = {}
    guarded, elected = set(), lines_with_elected_thread(code, places)
    for number, block in enumerate(code.blocks):
        for instruction in block.instructions:
            kind = "barrier" if instruction.name == "BAR" else instruction.access_kind
            if kind:
                key = places.find_line(instruction.frames), kind
                blocks = accesses.setdefault(key, {})
                blocks[number] = blocks.get(number, 0) + 1
                if instruction.guard:
                    guarded.add(key)
    by_key = {line.key: line for line in lines}
    for (key, kind), blocks in accesses.items():
        line = by_key.get(key)
        if line is not None and kind == "barrier":
            yield line.barrier_waits, 32, blocks
        elif line is not None and kind in _EVIDENCE:
            is_unknown = (key, kind) in guarded or not line.requests
            lanes = -1 if is_unknown else line.active_lanes
            if kind == "global_atomic" and key in elected:
                requests = line.as_written["global_atomic_requests"]
                lanes = line.as_written["global_atomic_lanes"] / requests if requests else -1
            yield getattr(line, f"{kind}_requests"), lanes, blocks


def _executions_of_blocks(requests, blocks, code, warps):
    """Yields (block, number of executions of the block). The blocks of a loop are executed equally often. The
    loop with the most accesses is first, because an unrolled loop runs before the loop of its remainder."""
    groups: dict = {}
    for block in blocks:
        loops = code.blocks[block].loops
        groups.setdefault(("loop", loops[-1]) if loops else ("block", block), []).append(block)
    sizes = {key: sum(blocks[block] for block in group) for key, group in groups.items()}
    rest = requests / warps
    ordered = sorted(groups, key=lambda key: (-sizes[key], key))
    for key in ordered:
        is_last = key == ordered[-1]
        times = rest / sizes[key] if is_last else math.floor(rest / sizes[key] + 1e-9)
        if key[0] == "block" and not is_last:
            times = min(times, 1)
        rest -= times * sizes[key]
        for block in groups[key]:
            yield block, times * warps


def _loops_without_accesses(code, lines, places, counted):
    """Returns {loop: (number of iterations of its machine code, active lanes)} for innermost loops without
    memory accesses, whose blocks are not in `counted`. The number is estimated from the loop iterations of
    the source lines."""
    iterations = {line.key: line.loop_iterations for line in lines if line.loop_iterations}
    lanes = {
        line.key: line.loop_lanes / line.loop_iterations for line in lines if line.key in iterations
    }
    inner = {block.loops[-1] for block in code.blocks if block.loops}
    sizes: dict = {}
    for loop in inner:
        own = [n for n, block in enumerate(code.blocks) if block.loops[-1:] == (loop,)]
        instructions = [i for n in own for i in code.blocks[n].instructions]
        keys = {places.find_line(i.frames) for i in instructions} & iterations.keys()
        if keys and not any(n in counted for n in own):
            key = max(keys, key=lambda key: iterations[key])
            sizes.setdefault(key, []).append((unroll_factor(instructions), loop))
    found = {}
    for key, loops in sizes.items():
        parts, (most, main) = len(loops), max(loops)
        found[main] = iterations[key] / most, lanes[key]
        if parts > 1:  # the other loops run the remainder
            found.update({loop: (0, lanes[key]) for _, loop in loops if loop != main})
    return found


def _unrolled_with_exits(code, lines, places, warps):
    """Yields (block, number of executions, active lanes) for loops that the compiler unrolled completely:
    each iteration is a block that ends with a branch out of the loop."""
    exits: dict = {}
    looping = {line.key: line for line in lines if line.loop_iterations}
    for number, block in enumerate(code.blocks):
        last = block.instructions[-1]
        key = places.find_line(last.frames)
        if last.name == "BRA" and last.guard and key in looping and not block.loops:
            exits.setdefault((key, last.operands), []).append(number)
    for (key, _), numbers in exits.items():
        line = looping[key]
        mean = line.loop_iterations / len(numbers)
        if len(numbers) > 2 and mean < 2 * warps:  # the first iteration may have another exit
            for number in numbers:
                yield number, min(mean, warps), line.loop_lanes / line.loop_iterations


def _unrolled_without_exits(code, lines, places, warps):
    """Yields (block, number of executions, active lanes) for loops whose iterations the compiler unrolled to
    straight code, which perhaps not all warps execute."""
    parts: dict = {}
    looping = {line.key: line for line in lines if line.loop_iterations}
    for number, block in enumerate(code.blocks):
        for instruction in block.instructions:
            key = places.find_line(instruction.frames)
            if key in looping:
                parts.setdefault(key, []).append((number, instruction, bool(block.loops)))
    for key, found in parts.items():
        line = looping[key]
        times = line.loop_iterations / unroll_factor([instruction for _, instruction, _ in found])
        if times <= warps and not any(is_in_loop for _, _, is_in_loop in found):
            for number in {number for number, _, _ in found}:
                yield number, times, line.loop_lanes / line.loop_iterations


def unroll_factor(instructions) -> int:
    """Returns the number of source iterations in an iteration of the machine code, estimated by the repetitions of its
    arithmetic."""
    times: dict = {}
    for instruction in instructions:
        if instruction.name in _ARITHMETIC:
            key = instruction.name, instruction.frames[:1]
            times[key] = times.get(key, 0) + 1
    return math.gcd(*times.values()) or 1


def instructions(code: MachineCode, counts: list, kind: str) -> float:
    """Returns the number of instructions of a kind that warps execute."""
    return sum(
        count * sum(instruction.access_kind == kind for instruction in block.instructions)
        for block, count in zip(code.blocks, counts, strict=True)
    )


def active_threads(code: MachineCode, counts: list, lanes: list, threads: int) -> float:
    """Returns the mean number of active threads of an instruction. A block whose lanes were not counted has as many
    as the counted ones before and after it, up to the next branch that threads may take differently. threads: of a
    block of the launch."""
    full = threads / -(-threads // 32)
    sizes = [
        len(block.instructions) * count for block, count in zip(code.blocks, counts, strict=True)
    ]
    splits = [_ends_with_guarded_branch(block) for block in code.blocks]
    entry = splits.index(True) + 1 if True in splits else len(splits)  # all threads execute these
    lanes = [full] * entry + lanes[entry:]
    near = _neighbouring_lane_counts(lanes, splits, None)
    far = _neighbouring_lane_counts(lanes, [False] * len(splits), full)
    active = [
        min(full, max((count for count in pair if count is not None), default=max(others)))
        for pair, others in zip(near, far, strict=True)
    ]
    total = sum(sizes)
    return (
        sum(size * lanes for size, lanes in zip(sizes, active, strict=True)) / total
        if total
        else full
    )


def _ends_with_guarded_branch(block):
    last = block.instructions[-1]
    return bool(last.guard) and last.name in ("BRA", "EXIT")


def _neighbouring_lane_counts(lanes, splits, default):
    """Returns (lanes of the last known block, of the next known block) for each block; `default` if the threads may have
    split in between. splits: may they, after each block?"""
    before = _fill_lane_counts(lanes, splits, default)
    return zip(before, _fill_lane_counts(lanes[::-1], splits[-2::-1], default)[::-1], strict=True)


def _fill_lane_counts(lanes, splits, default):
    found: list = []
    for number, active in enumerate(lanes):
        if active is None or active < 0:
            active = found[-1] if number and not splits[number - 1] else default
        found.append(active)
    return found


def _count_block(block, code, counted, warps):
    if block in counted:
        return counted[block]
    for loop in reversed(code.blocks[block].loops):
        around = code.loops[loop]
        inside = [
            counted[other]
            for other in range(around.first, around.last + 1)
            if other in counted and code.blocks[other].loops[-1] == loop
        ]
        if inside:
            return max(inside)
    return warps
