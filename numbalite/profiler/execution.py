"""The number of executions of each basic block of the machine code in a launch, counted in warps:
an estimate.

The requests of a line, counted on the simulator, are distributed over the blocks that contain the line's accesses: first
to the block with the most of them, an unrolled loop, then to those that follow it. Iterations of loops without memory
accesses are counted by line. Other blocks are executed as often as the loop around them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from numbalite.profiler.reconcile import KINDS, Places

if TYPE_CHECKING:
    from numbalite.profiler.machinecode import MachineCode

_ARITHMETIC = ("FADD", "FMUL", "FFMA", "DADD", "DMUL", "DFMA", "MUFU", "HFMA2")


def counts(code: MachineCode, lines, warps: int) -> list:
    """Returns a list with, for each block, the number of times that a warp executes it, summed over the warps."""
    found: list = [[] for _ in code.blocks]
    places = Places(lines)
    for requests, blocks in _evidence(code, lines, places):
        for block, count in _distribute(requests, blocks, code, warps):
            found[block].append(count)
    counted = {block: max(values) for block, values in enumerate(found) if values}
    for loop, iterations in _loops_without_accesses(code, lines, places, counted).items():
        for block in range(code.loops[loop].first, code.loops[loop].last + 1):
            if code.blocks[block].loops[-1] == loop:
                counted[block] = iterations
    return [_count(block, code, counted, warps) for block in range(len(code.blocks))]


def _evidence(code, lines, places):
    """Yields (requests of a line, {block: number of the line's accesses in it}) for each line and kind of access."""
    accesses: dict = {}
    for number, block in enumerate(code.blocks):
        for instruction in block.instructions:
            key = places.find(instruction.frames), instruction.kind
            if instruction.kind:
                blocks = accesses.setdefault(key, {})
                blocks[number] = blocks.get(number, 0) + 1
    by_key = {line.key: line for line in lines}
    for (key, kind), blocks in accesses.items():
        if key in by_key and kind in (*KINDS, "global_atomic", "shared_atomic"):
            yield getattr(by_key[key], f"{kind}_requests"), blocks


def _distribute(requests, blocks, code, warps):
    """Yields (block, its number of executions). The blocks of a loop are executed equally often. The loop with most
    accesses is first, because an unrolled loop runs before the loop of its remainder."""
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
    """Returns {loop: number of iterations of its machine code} for innermost loops none of whose blocks is in `counted`,
    because they have no memory accesses: the number is estimated from the loop iterations of their source lines."""
    iterations = {line.key: line.loop_iterations for line in lines if line.loop_iterations}
    inner = {block.loops[-1] for block in code.blocks if block.loops}
    sizes: dict = {}
    for loop in inner:
        own = [n for n, block in enumerate(code.blocks) if block.loops[-1:] == (loop,)]
        instructions = [i for n in own for i in code.blocks[n].instructions]
        keys = {places.find(i.frames) for i in instructions} & iterations.keys()
        if keys and not any(n in counted for n in own):
            key = max(keys, key=lambda key: iterations[key])
            sizes.setdefault(key, []).append((unrolled(instructions), loop))
    found = {}
    for key, loops in sizes.items():
        parts, (most, main) = len(loops), max(loops)
        found[main] = iterations[key] / most
        if parts > 1:  # the others run the remainder
            found.update({loop: 0 for _, loop in loops if loop != main})
    return found


def unrolled(instructions) -> int:
    """Returns the number of source iterations in an iteration of the machine code, estimated by the repetitions of its
    arithmetic."""
    times: dict = {}
    for instruction in instructions:
        if instruction.name in _ARITHMETIC:
            key = instruction.name, instruction.frames[:1]
            times[key] = times.get(key, 0) + 1
    return math.gcd(*times.values()) or 1


def _count(block, code, counted, warps):
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
