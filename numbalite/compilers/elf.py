"""The little that is read from a shared object: the names that it wants from elsewhere."""

from __future__ import annotations

from struct import Struct

_HEADER = Struct("<16sHHIQQQIHHHHHH")
_SECTION = Struct("<IIQQQQIIQQ")
_SYMBOL = Struct("<IBBHQQ")
_DYNSYM = 11  # SHT_DYNSYM
_WEAK = 2  # STB_WEAK


def undefined(data: bytes) -> list[str]:
    """The undefined symbols of a 64-bit little-endian shared object, without the weak ones."""
    header = _HEADER.unpack_from(data)
    offset, size, count = header[6], header[11], header[12]
    sections = [_SECTION.unpack_from(data, offset + i * size) for i in range(count)]
    names = []
    for section in sections:
        if section[1] != _DYNSYM:
            continue
        texts = sections[section[6]][4]
        for at in range(section[4], section[4] + section[5], _SYMBOL.size):
            name, info, _, index, _, _ = _SYMBOL.unpack_from(data, at)
            if index == 0 and name and info >> 4 != _WEAK:
                start = texts + name
                names.append(data[start : data.index(b"\0", start)].decode())
    return names
