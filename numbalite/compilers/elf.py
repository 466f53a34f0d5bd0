"""Reads the symbols and sections of ELF object files, shared objects and GPU images."""

from __future__ import annotations

from struct import Struct, error

_HEADER = Struct("<16sHHIQQQIHHHHHH")
_SECTION = Struct("<IIQQQQIIQQ")
_SYMBOL = Struct("<IBBHQQ")
_RELOCATABLE = 1  # file type
_SYMTAB, _DYNSYM, _INIT_ARRAY = 2, 11, 14  # section types
_EXECUTABLE = 4  # section flag
_LOCAL, _WEAK = 0, 2  # binding
_OBJECT, _TLS = 1, 6  # symbol types


def undefined_symbols(data: bytes) -> list[str]:
    """Returns the names of the undefined symbols of a shared object or object file, except weak ones."""
    table = _SYMTAB if data[16:18] == bytes((_RELOCATABLE, 0)) else _DYNSYM
    return [
        name
        for name, info, index, _ in _symbols_of_type(data, table)
        if index == 0 and name and info >> 4 != _WEAK
    ]


def defined_symbols(data: bytes) -> list[str]:
    """Returns the names of the global symbols that an object file defines."""
    return [
        name
        for name, info, index, _ in _symbols_of_type(data, _SYMTAB)
        if index and name and info >> 4 != _LOCAL
    ]


def constructor_count(data: bytes) -> int:
    """Returns the number of functions that run when a shared object is loaded."""
    return sum(
        size // 8 for _, kind, _, _, _, size, *_ in _section_headers(data) if kind == _INIT_ARRAY
    )


def thread_local_variables(data: bytes) -> list[tuple]:
    """Returns (name, size) of the thread-local variables."""
    return [
        (name, size) for name, info, _, size in _symbols_of_type(data, _SYMTAB) if info & 15 == _TLS
    ]


def global_variables(data: bytes) -> list[tuple]:
    """Returns (name, size) of the variables that are not thread-local."""
    return [
        (name, size)
        for name, info, index, size in _symbols_of_type(data, _SYMTAB)
        if index and info & 15 == _OBJECT
    ]


def code_bytes(data: bytes) -> int:
    """Returns the size of the machine code, or 0 for data that is not an ELF file."""
    sections = _section_headers(data) if data[:4] == b"\x7fELF" else []
    return sum(size for _, _, flags, _, _, size, *_ in sections if flags & _EXECUTABLE)


def without_section(data: bytes, name: bytes) -> bytes:
    """Returns the file with zeros as the contents of the sections of that name. Data that is not an ELF file is
    returned unchanged."""
    if data[:4] != b"\x7fELF":
        return data
    sections = _section_headers(data)
    names = sections[_HEADER.unpack_from(data)[13]][4]
    for first, _, _, _, offset, size, *_ in sections:
        start = names + first
        if data[start : data.index(b"\0", start)] == name:
            data = data[:offset] + bytes(size) + data[offset + size :]
    return data


def _symbols_of_type(data, kind):
    """Yields (name, info, section, size) of each symbol in the symbol tables of one type. 64-bit
    little-endian ELF.

    Raises ValueError if the ELF file is truncated.
    """
    try:
        yield from _read_symbols(data, kind)
    except (error, IndexError) as problem:
        raise ValueError(f"this is not a shared object, or it is truncated: {problem}") from problem


def _section_headers(data):
    header = _HEADER.unpack_from(data)
    offset, size, count = header[6], header[11], header[12]
    return [_SECTION.unpack_from(data, offset + i * size) for i in range(count)]


def _read_symbols(data, kind):
    sections = _section_headers(data)
    for section in sections:
        if section[1] != kind:
            continue
        texts = sections[section[6]][4]
        for at in range(section[4], section[4] + section[5], _SYMBOL.size):
            name, info, _, index, _, length = _SYMBOL.unpack_from(data, at)
            start = texts + name
            yield data[start : data.index(b"\0", start)].decode(), info, index, length
