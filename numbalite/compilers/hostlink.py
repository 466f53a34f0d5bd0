"""Linking by the linker itself: to start the compiler's driver for it takes longer than linking does.

An image is one object file; one that looks for mistakes has the hooks as a second. Most of them want nothing but what the C library always has, and are linked
without any library, or with the dynamic linker alone; the others with libm and libc. What the linker does
not manage, because it does not find these or because a name is missing, the driver links, or says what is
wrong.

CPU time on one machine: 5 ms without libraries, 6 with the dynamic linker, 16 with the two, 21 for the
command of clang's driver (with the startup files and libgcc), 52 with the driver.
"""

from __future__ import annotations

import os

from numbalite.compilers import elf, host

# A thread-local variable's address, and what compilers make of copies.
_ALWAYS_THERE = frozenset(
    ("__tls_get_addr", "_GLOBAL_OFFSET_TABLE_", "memcpy", "memmove", "memset", "memcmp")
)
# The one name with a version (cuda_src/sim/threadlocal.h), and the library that has it: a file whose place
# the ABI of x86-64 lays down.
_VERSIONED = "__tls_get_addr@GLIBC_2.3"
_DYNAMIC_LINKER = "/lib64/ld-linux-x86-64.so.2"
_LIBRARIES = ("-z", "defs", "--as-needed", "-lm", "-lc")
_unfit: set[str] = set()  # linkers that failed where the driver did not


def link(compiler, flags, objects, output, run):
    """Links object files: `flags` are for the compiler's driver, `run(command)` runs something.

    Gives what it gave for the last run, which is one of the driver where linking failed.
    """
    linker = host.which("ld") if len(compiler) == 1 else None  # options may be about linking
    if linker and linker not in _unfit:
        libraries = _libraries(objects)
        result = run([linker, "-shared", "-Bsymbolic", *objects, "-o", output, *libraries])
        if result.returncode == 0:
            return result
    result = run([*compiler, *objects, "-o", output, *flags])
    if result.returncode == 0:
        _unfit.add(linker)
    return result


def _libraries(objects):
    """The libraries that have what object files want, as the linker's arguments."""
    wanted, found = set(), set(_ALWAYS_THERE)
    for path in objects:
        with open(path, "rb") as file:
            data = file.read()
        wanted.update(elf.undefined(data))
        found.update(elf.defined(data) if len(objects) > 1 else ())
    wanted -= found
    if not wanted:
        return ()
    if wanted == {_VERSIONED} and os.path.exists(_DYNAMIC_LINKER):
        return ("--as-needed", _DYNAMIC_LINKER)
    return _LIBRARIES
