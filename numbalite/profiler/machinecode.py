"""Reads the machine code of a kernel, as nvdisasm prints it: instructions with their source lines, basic
blocks, loops."""

from __future__ import annotations

import re
from typing import NamedTuple

from numbalite.compilers import disassembler
from numbalite.errors import CudaSupportError

_INSTRUCTION = re.compile(r"\s*/\*([0-9a-f]{4,})\*/\s+(?:(@!?U?P\w+)\s+)?([A-Z][\w.]*)\s*(.*?)\s*;")
_FRAME = re.compile(r'\s*//## File "(.*?)", line (\d+)')
_LABEL = re.compile(r"(\S+):\s*$")
_TARGET = re.compile(r"`\((\S+)\)")
_JUMPS = ("BRA", "BRX", "JMP", "JMX", "EXIT", "RET")
_KINDS = {
    "LDG": "global_load", "STG": "global_store", "LDS": "shared_load", "LDSM": "shared_load",
    "STS": "shared_store", "STSM": "shared_store", "LDL": "local_load", "STL": "local_store",
    "LD": "generic_load", "ST": "generic_store", "LDGSTS": "copy", "ATOMG": "global_atomic",
    "RED": "global_atomic", "REDG": "global_atomic", "ATOM": "global_atomic",
    "ATOMS": "shared_atomic",
}  # fmt: skip
_WIDTHS = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16}
_SPILL = re.compile(r"\[R1(\+(-?0x[0-9a-f]+))?\]")


class Instruction(NamedTuple):
    """One instruction. ``frames``: the (file, line) pairs of inlined calls, innermost function first."""

    guard: str
    opcode: str
    operands: str
    frames: tuple

    @property
    def name(self) -> str:
        """The opcode without its modifiers."""
        return self.opcode.partition(".")[0]

    @property
    def access_kind(self) -> str | None:
        """The kind of memory access: "global_load", "shared_store", ..., or None for an instruction without one."""
        return _KINDS.get(self.name)

    @property
    def access_width(self) -> int:
        """The number of bytes that each thread accesses."""
        for part in self.opcode.split(".")[1:]:
            if part in _WIDTHS:
                return _WIDTHS[part]
        return 4


class Block(NamedTuple):
    """A basic block."""

    instructions: tuple
    loops: tuple
    """The indices of the loops that contain it, outermost first."""


class Loop(NamedTuple):
    """A loop: the blocks from ``first`` to ``last``, in the order of addresses."""

    first: int
    last: int


class MachineCode:
    """The blocks and loops of one kernel."""

    def __init__(self, blocks: list, loops: list) -> None:
        self.blocks = blocks
        self.loops = loops

    @property
    def instructions(self) -> list:
        """All instructions, in the order of addresses."""
        return [instruction for block in self.blocks for instruction in block.instructions]

    @property
    def spills(self) -> int:
        """Instructions that store a register to local memory at a fixed offset."""
        return sum(
            instruction.access_kind == "local_store"
            and _SPILL.search(instruction.operands) is not None
            for instruction in self.instructions
        )


def disassemble_cubin(cubin: bytes, symbol: str) -> MachineCode | str:
    """Returns the machine code of a kernel, or a sentence that explains why it cannot be read."""
    path = disassembler.find_tool("nvdisasm")
    if path is None:
        return "nvdisasm was not found (pip install nvidia-cuda-nvdisasm)"
    try:
        text = disassembler.run_tool(path, ["-gi", "-c"], cubin)
    except CudaSupportError as problem:
        return str(problem)
    try:
        return parse_disassembly(text, symbol)
    except LookupError:
        return f"{path} does not show the kernel {symbol}"


def parse_disassembly(text: str, symbol: str) -> MachineCode:
    """Reads the output of ``nvdisasm -gi -c``; raises LookupError if the output does not contain the
    kernel."""
    rows = _instruction_rows(text.split("\n"), symbol)
    starts = {0}
    labels = {name: at for name, at in rows if isinstance(name, str)}
    code = _strip_padding([row for row in rows if not isinstance(row[0], str)], labels)
    starts.update(labels.values())
    for at, (instruction, _) in enumerate(code, 1):
        if instruction.name in _JUMPS:
            starts.add(at)
    ends = sorted(start for start in starts if start < len(code))
    index = {start: number for number, start in enumerate(ends)}
    parts = [
        tuple(instruction for instruction, _ in code[first:last])
        for first, last in zip(ends, [*ends[1:], len(code)], strict=True)
    ]
    loops = _loops(parts, {name: index[at] for name, at in labels.items() if at in index})
    blocks = [Block(part, _enclosing_loops(loops, number)) for number, part in enumerate(parts)]
    return MachineCode(blocks, loops)


def _instruction_rows(lines, symbol):
    """Returns (Instruction, its index) and (label, the index of the following instruction) of one
    kernel."""
    start = f".text.{symbol}:"
    at = next((at for at, line in enumerate(lines) if line.strip() == start), None)
    if at is None:
        raise LookupError(symbol)
    rows: list = []
    frames: list = []
    count, is_new = 0, True
    for line in lines[at + 1 :]:
        if line.startswith("//----"):
            break
        if frame := _FRAME.match(line):
            frames = [] if is_new else frames
            is_new = False
            frames.append((frame[1], int(frame[2])))
        elif found := _INSTRUCTION.match(line):
            rows.append((Instruction(found[2] or "", found[3], found[4], tuple(frames)), count))
            count, is_new = count + 1, True
        elif label := _LABEL.match(line):
            rows.append((label[1], count))
    return rows


def _strip_padding(code, labels):
    """Removes the code after the last instruction of a kernel, which is never executed: a branch to itself,
    and NOPs."""
    end = len(code)
    while end and code[end - 1][0].name == "NOP":
        end -= 1
    last = code[end - 1][0] if end else None
    target = _TARGET.search(last.operands) if last and last.name == "BRA" else None
    if target and labels.get(target[1]) == end - 1:
        end -= 1
    return code[:end]


def _loops(parts, labels):
    """Returns the list of Loops, outer loops first. A loop is a branch to an earlier block, together with the
    blocks between them."""
    ends: dict = {}
    for number, part in enumerate(parts):
        last = part[-1]
        target = _TARGET.search(last.operands)
        first = labels.get(target[1]) if target and last.name == "BRA" else None
        if first is not None and first <= number:
            ends[first] = max(number, ends.get(first, 0))
    return [Loop(first, last) for first, last in sorted(ends.items(), key=lambda x: (x[0], -x[1]))]


def _enclosing_loops(loops, number):
    return tuple(at for at, loop in enumerate(loops) if loop.first <= number <= loop.last)
