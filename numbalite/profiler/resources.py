"""Reads the resources of a kernel as compiled for a GPU from the cubin, and computes its occupancy.

A cubin is an ELF file. Each kernel has a section `.text.NAME`, whose header has the number of registers in the highest
byte of sh_info; a section `.nv.shared.NAME`, whose size is that of its shared memory; and a section
`.nv.info`, a list of attributes.
"""

from __future__ import annotations

from struct import Struct
from struct import error as StructError
from typing import TYPE_CHECKING, NamedTuple

from numbalite.compilers import compile_source, source_of_profiled_launch
from numbalite.errors import CompileError, CudaSupportError
from numbalite.profiler import machinecode

if TYPE_CHECKING:
    from numbalite.profiler.gpus import GPU
    from numbalite.profiler.machinecode import MachineCode

WARP = 32
_REGISTER_UNIT, _SHARED_UNIT, _PARTITIONS = 256, 128, 4
_SHARED_UNIT_OF_TURING = 256
MIN_REGISTERS = 16
"""Of a thread of a launched kernel, also if the code uses fewer (Nsight Compute on an H200)."""
_RESERVED = 1024
_HEADER = Struct("<16sHHIQQQIHHHHHH")
_SECTION = Struct("<IIQQQQIIQQ")
_SYMBOL = Struct("<IBBHQQ")
_SYMTAB = 2
_ENTRY = Struct("<BBH")
_PAIR = Struct("<II")
_SIZED = 4  # format of an attribute
_FRAME_SIZE, _REGISTERS = 0x11, 0x2F


class Occupancy(NamedTuple):
    """The number of blocks that a multiprocessor runs at once, and the resource that limits it."""

    blocks: int
    warps: int
    part: float
    """Of the warps that it could hold."""
    limit: str


class Resources(NamedTuple):
    """The resources of one kernel, compiled for one GPU."""

    registers: int
    shared_bytes: int
    """Static shared memory of a block."""
    local_bytes: int
    """Local memory of a thread."""

    def occupancy(self, gpu: GPU, threads: int, shared: int = 0) -> Occupancy:
        """Returns the Occupancy for a block size and a size of dynamic shared memory."""
        warps = -(-threads // WARP)
        unit = _SHARED_UNIT_OF_TURING if gpu.capability < (8, 0) else _SHARED_UNIT
        bytes_of_block = _round_up(self.shared_bytes + shared + gpu.reserved_shared_bytes, unit)
        registers = _round_up(self.registers * WARP, _REGISTER_UNIT)
        limits = {
            "threads": gpu.warps // warps,
            "blocks": gpu.blocks,
            "registers": gpu.registers // _PARTITIONS // registers * _PARTITIONS // warps
            if registers
            else gpu.blocks,
            "shared memory": gpu.shared_bytes // bytes_of_block if bytes_of_block else gpu.blocks,
        }
        limit = min(limits, key=lambda name: limits[name])
        blocks = limits[limit]
        return Occupancy(blocks, blocks * warps, blocks * warps / gpu.warps, limit)


def _round_up(value, unit):
    return -(-value // unit) * unit


class CompiledKernel(NamedTuple):
    """A kernel as NVRTC compiles it for a GPU."""

    resources: Resources
    code: MachineCode | str
    """The machine code; or why it is not available, a sentence."""


def compiled_kernel(gpu: GPU, image: int, symbol: str) -> CompiledKernel | str:
    """Returns the compiled kernel of a launch, found by the checksum of the launched image and the kernel's
    name in the image, or a sentence that explains why it is not available."""
    found = source_of_profiled_launch(image)
    if found is None:
        return "the source of the kernel is not available"
    try:
        made = compile_source(found[0].replace(lineinfo=True), ("cuda", *gpu.capability))
    except CudaSupportError as problem:
        return f"NVRTC is not available: {problem}"
    except CompileError as problem:
        return f"NVRTC does not compile it for the {gpu.name}: {str(problem).splitlines()[0]}"
    if made.kind != "cubin":
        return f"this NVRTC makes no machine code for the {gpu.name}"
    lowered = made.lowered.get(symbol)
    if lowered is None:
        return "the kernel is not in NVRTC's image"
    try:
        resources = read_resources(made.data, lowered)
    except (ValueError, IndexError, StructError) as problem:
        return f"NVRTC's image cannot be read: {problem}"
    return CompiledKernel(resources, machinecode.disassemble_cubin(made.data, lowered))


def read_resources(cubin: bytes, symbol: str) -> Resources:
    """Returns the resources of a kernel in a cubin; raises ValueError if the cubin does not contain the
    kernel."""
    sections = _section_headers(cubin)
    text = sections.get(f".text.{symbol}")
    if text is None:
        raise ValueError(f"there is no kernel {symbol}")
    index = _symbol_index(cubin, sections, symbol)
    attributes = _attributes(_section_bytes(cubin, sections.get(".nv.info")), index)
    shared = sections.get(f".nv.shared.{symbol}")
    size = shared[5] if shared else 0
    if ".nv.shared.reserved.0" in sections and size >= _RESERVED:
        size -= (
            _RESERVED  # since compute capability 9.0, the reserved memory is a part of the section
        )
    return Resources(
        registers=attributes.get(_REGISTERS, text[7] >> 24),
        shared_bytes=size,
        local_bytes=attributes.get(_FRAME_SIZE, 0),
    )


def _section_headers(data):
    """Returns {name of a section: the fields of its header}."""
    header = _HEADER.unpack_from(data)
    if header[0][:4] != b"\x7fELF":
        raise ValueError("it is no ELF file")
    offset, size, count, names = header[6], header[11], header[12], header[13]
    rows = [_SECTION.unpack_from(data, offset + i * size) for i in range(count)]
    table = rows[names][4]
    return {_string_at(data, table + row[0]): row for row in rows}


def _string_at(data, at):
    return data[at : data.index(b"\0", at)].decode()


def _section_bytes(data, row):
    return data[row[4] : row[4] + row[5]] if row else b""


def _symbol_index(data, sections, symbol):
    table, names = sections.get(".symtab"), sections.get(".strtab")
    if table is None or names is None:
        return None
    for index in range(table[5] // _SYMBOL.size):
        name = _SYMBOL.unpack_from(data, table[4] + index * _SYMBOL.size)[0]
        if _string_at(data, names[4] + name) == symbol:
            return index
    return None


def _attributes(info, index):
    """Returns {attribute: value} of a function's attributes that have a value of 32 bits."""
    found, at = {}, 0
    while at + _ENTRY.size <= len(info):
        form, attribute, size = _ENTRY.unpack_from(info, at)
        at += _ENTRY.size
        if form != _SIZED:
            continue
        if size == _PAIR.size:
            owner, value = _PAIR.unpack_from(info, at)
            if owner == index:
                found[attribute] = value
        at += size
    return found
