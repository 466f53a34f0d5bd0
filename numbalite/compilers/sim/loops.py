"""Inserts calls at loop iterations into LLVM IR, for images of the profiler.

The simulator runs the lanes of a warp one after another. The profiler combines their accesses into accesses of the
whole warp. For this purpose, the profiler needs the loop iteration of each access: lanes whose inner loops
have different lengths continue together in the next iteration of the outer loop.

A loop is a back edge of the depth-first search from the function's first block, with all blocks that reach
the edge without passing the loop's header. The calls are declared not to access program memory, so the
optimizer still moves loads and stores across them.
"""

from __future__ import annotations

import re

from numbalite.compilers.sim.ir import LABEL as _LABEL
from numbalite.compilers.sim.ir import debug_location

_TARGET = re.compile(r'label %([\w.$-]+|"[^"]+")')
_TERMINATOR = re.compile(r"^  (br|switch|ret|unreachable|indirectbr|resume)\b")
_REPEAT, _LEAVE = "nl_sim_loop_repeat", "nl_sim_loop_leave"
_KEEPS_MEMORY = ("inaccessiblememonly", "memory(inaccessiblemem: readwrite)")  # since LLVM 16


class _Block:
    __slots__ = ("end", "label", "start", "targets")

    def __init__(self, label, start):
        self.label = label
        self.start = start  # the line after the label
        self.end = start  # the line of the terminator
        self.targets = ()


def insert_loop_calls(text: str, first: int) -> tuple[str, int]:
    """Returns (the function with the calls, the number of the next loop). first: the number of the function's
    first loop."""
    lines = text.split("\n")
    blocks = _blocks_by_label(lines)
    loops = _natural_loops(blocks)
    before: dict[int, list] = {}
    for number, (head, body) in enumerate(loops.items(), first):
        leaves: set[str] = set()
        for label in body:
            block = blocks[label]
            if head in block.targets:
                where = debug_location(lines[block.end])
                before.setdefault(block.end, []).append(_call_text(_REPEAT, number) + where)
            leaves.update(target for target in block.targets if target not in body)
        for label in sorted(leaves):
            at = _index_after_phis(lines, blocks[label].start)
            before.setdefault(at, []).append(_call_text(_LEAVE, number))
    if not before:
        return text, first
    out: list[str] = []
    for at, line in enumerate(lines):
        out += before.get(at, ())
        out.append(line)
    return "\n".join(out), first + len(loops)


def call_declarations(functions: list) -> str:
    """Returns the declarations of the called functions."""
    effect = _KEEPS_MEMORY[any(" memory(" in text for text in functions)]
    return "".join(
        f"\ndeclare void @{name}(i32) {effect} nounwind willreturn\n" for name in (_REPEAT, _LEAVE)
    )


def _call_text(name, number):
    return f"  call void @{name}(i32 {number})"


def _blocks_by_label(lines):
    """Returns {label: block}, with the entry block first."""
    found: dict[str, _Block] = {}
    block = None
    for at, line in enumerate(lines[1:], 1):
        label = _LABEL.match(line)
        if label or (block is None and line.startswith("  ")):
            block = _Block(label[1] if label else "", at + 1 if label else at)
            found[block.label] = block
        if line == "}":
            break
        if block is not None and _TERMINATOR.match(line):
            block.end = at
            text = line
            if line.startswith("  switch") and line.rstrip().endswith("["):
                rest = at + 1
                while not lines[rest].startswith("  ]"):
                    text += lines[rest]
                    rest += 1
            block.targets = tuple(_TARGET.findall(text))
    return found


def _natural_loops(blocks):
    """Returns {label of a loop's header: labels of the loop's blocks} for the natural loops."""
    if not blocks:
        return {}
    sources: dict[str, list] = {label: [] for label in blocks}
    for block in blocks.values():
        for target in block.targets:
            sources.setdefault(target, []).append(block.label)
    entry = next(iter(blocks))
    edges, active, seen = [], {entry}, {entry}
    stack = [(entry, iter(blocks[entry].targets))]
    while stack:
        label, targets = stack[-1]
        target = next(targets, None)
        if target is None:
            active.discard(label)
            stack.pop()
        elif target in active:
            edges.append((label, target))
        elif target not in seen and target in blocks:
            seen.add(target)
            active.add(target)
            stack.append((target, iter(blocks[target].targets)))
    loops: dict[str, set] = {}
    for latch, head in edges:
        body = loops.setdefault(head, {head})
        work = [latch]
        while work:
            label = work.pop()
            if label not in body:
                body.add(label)
                work += [source for source in sources[label] if source in seen]
    return loops


def _index_after_phis(lines, at):
    while " = phi " in lines[at] or " = landingpad " in lines[at]:
        at += 1
    return at
