"""Defines Image, the result of a compilation: machine code, symbols, and the types that the compiler
reported.

In the disk cache, an image consists of length-prefixed fields in a fixed order. Reading the fields
executes no code. The cache verifies the checksum of the bytes first (see numbalite.compilers.cache).
"""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple

from numbalite.cxx.slip import Slip

_LENGTH = Struct("<Q")
_SIMULATED = Struct("<8sQ")  # struct nl_sim_image_header: the magic number and the checksum
_ABSENT = (1 << 64) - 1


def wrap_shared_object(code: bytes) -> bytes:
    """Wraps a shared object as an image for the simulator; core/image.c verifies its checksum."""
    import numpy as np

    words = np.frombuffer(code + bytes(8 - len(code) % 8), "<u8")
    total = int(words.sum(dtype="u8"))
    totals = int((words * np.arange(words.size, 0, -1, dtype="u8")).sum(dtype="u8"))
    rotated = (totals << 32 | totals >> 32) & ((1 << 64) - 1)
    return (
        _SIMULATED.pack(b"NLSIMG01", len(code)) + code
        + _SIMULATED.pack(b"NLSUM001", total ^ rotated)
    )  # fmt: skip


def image_checksum(data: bytes) -> int:
    """Returns the checksum of an image for the simulator."""
    return int.from_bytes(data[-8:], "little")


def shared_object(data: bytes) -> memoryview:
    """Returns the shared object in an image for the simulator."""
    size = int.from_bytes(data[8 : _SIMULATED.size], "little")
    return memoryview(data)[_SIMULATED.size :][:size]


class Image(NamedTuple):
    """A compiled source, ready to be loaded by a driver."""

    kind: str
    """"cubin", "ltoir", "ptx", "sim" or "host"."""
    data: bytes
    arch: str
    """"sm_90", "sim" or "host"."""
    lowered: dict
    """Name expression of a kernel or variable -> its symbol in the image."""
    descriptions: dict
    """Name expression -> the compiler's text from which numbalite.types.describe reads its types."""
    log: str = ""
    """The compiler's warnings."""
    ptx: bytes | None = None
    source: str = ""
    """The Source that was compiled."""
    slips: tuple[Slip, ...] = ()
    """The slips of which users are warned (numbalite.compilers.slipwarnings)."""
    stop: bytes | None = None
    """The positions at which kernels test the stop flag (stoppable.py): for each "function\tposition\0"."""
    catches: bool = False
    """Whether failed asserts write a record (asserts.py)."""

    def replace(self, **changes):
        """Returns a copy with some fields changed."""
        return self._replace(**changes)

    def to_bytes(self) -> bytes:
        parts: list[bytes] = [_LENGTH.pack(self.catches)]
        for field in (self.kind, self.arch, self.log, self.source, self.data, self.ptx, self.stop):
            _write_field(parts, field)
        for table in (self.lowered, self.descriptions):
            parts.append(_LENGTH.pack(len(table)))
            for name, text in table.items():
                _write_field(parts, name)
                _write_field(parts, text)
        parts.append(_LENGTH.pack(len(self.slips)))
        for slip in self.slips:
            parts.append(_LENGTH.pack(slip.line))
            for field in (slip.file, slip.kind, slip.text, slip.shown):
                _write_field(parts, field)
        return b"".join(parts)

    @classmethod
    def from_bytes(cls, raw: bytes) -> Image:
        """Reads an Image from its byte format; raises ValueError if the bytes are not exactly one image."""
        reader = _Reader(raw)
        catches = bool(reader.read_number())
        kind, arch, log, source = (reader.read_text() for _ in range(4))
        data = reader.read_field()
        ptx, stop = reader.read_field(), reader.read_field()
        lowered, descriptions = reader.read_table(), reader.read_table()
        slips = tuple(reader.read_slip() for _ in range(reader.read_number()))
        if data is None or reader.at != len(reader.raw):
            raise ValueError("not an image")
        return cls(kind, data, arch, lowered, descriptions, log, ptx, source, slips, stop, catches)


def _write_field(parts, field):
    if field is None:
        parts.append(_LENGTH.pack(_ABSENT))
        return
    if isinstance(field, str):
        field = field.encode("utf-8", "surrogatepass")
    parts.append(_LENGTH.pack(len(field)))
    parts.append(field)


class _Reader:
    __slots__ = ("at", "raw")

    def __init__(self, raw):
        self.raw = raw
        self.at = 0

    def read_number(self):
        end = self.at + 8
        if end > len(self.raw):
            raise ValueError("the image is truncated")
        (value,) = _LENGTH.unpack_from(self.raw, self.at)
        self.at = end
        return value

    def read_field(self):
        length = self.read_number()
        if length == _ABSENT:
            return None
        end = self.at + length
        if end > len(self.raw):
            raise ValueError("the image is truncated")
        value = self.raw[self.at : end]
        self.at = end
        return value

    def read_text(self):
        value = self.read_field()
        if value is None:
            raise ValueError("not an image")
        return value.decode("utf-8", "surrogatepass")

    def read_slip(self):
        line = self.read_number()
        file, kind, text, shown = (self.read_text() for _ in range(4))
        return Slip(file, line, kind, text, shown)

    def read_table(self):
        return {self.read_text(): self.read_text() for _ in range(self.read_number())}
