"""Links images by calling the linker directly: starting the compiler driver takes longer than linking.

An image is linked from one object file; an image with checks, from two: the second contains the hooks. Most
images need only functions that every process with a C library has loaded, and are linked without a library,
or with the dynamic linker alone. The other images are linked with libm and libc. If direct linking fails,
because a library is not found or a name is missing, the compiler driver links the image or reports the error.
Images with linker options of the user are always linked by the driver. The startup files are omitted if
possible, because the judge rejects images with code that runs when they are loaded.

CPU time on one machine: linking takes 5 ms without libraries, 6 ms with the dynamic linker, 16 ms with libm
and libc, 21 ms with the command of clang's driver (with the startup files and libgcc), and 52 ms with the
driver itself.
"""

from __future__ import annotations

import os

from numbalite.compilers import elf, host

# The functions for the address of a thread-local variable, and for copies that compilers insert.
_ALWAYS_THERE = frozenset(
    ("__tls_get_addr", "_GLOBAL_OFFSET_TABLE_", "memcpy", "memmove", "memset", "memcmp")
)
# The only versioned name (cuda_src/sim/threadlocal.h), and its library, whose path the ABI of x86-64 defines.
_VERSIONED = "__tls_get_addr@GLIBC_2.3"
_DYNAMIC_LINKER = "/lib64/ld-linux-x86-64.so.2"
_LIBRARIES = ("-z", "defs", "--as-needed", "-lm", "-lc")
_unfit: set[str] = set()  # linkers that failed although the compiler driver succeeded


def link_image(compiler, flags, objects, output, run):
    """Links object files. `flags` are for the compiler driver. `run(command)` runs a program.

    Returns the result of the last linker run: of the compiler driver, if direct linking failed.
    """
    by_driver = [*compiler, *objects, "-o", output, *flags]
    if len(compiler) > 1:  # the user's options may contain linker options
        result = run([*by_driver, "-nostartfiles"])
        return result if result.returncode == 0 else run(by_driver)
    linker = host.find_program("ld")
    if linker and linker not in _unfit:
        libraries = _needed_libraries(objects)
        result = run([linker, "-shared", "-Bsymbolic", *objects, "-o", output, *libraries])
        if result.returncode == 0:
            return result
    result = run(by_driver)
    if result.returncode == 0:
        _unfit.add(linker)
    return result


def _needed_libraries(objects):
    """Returns the libraries that define the symbols that object files need, as arguments for the linker."""
    wanted, found = set(), set(_ALWAYS_THERE)
    for path in objects:
        with open(path, "rb") as file:
            data = file.read()
        wanted.update(elf.undefined_symbols(data))
        found.update(elf.defined_symbols(data) if len(objects) > 1 else ())
    wanted -= found
    if not wanted:
        return ()
    if wanted == {_VERSIONED} and os.path.exists(_DYNAMIC_LINKER):
        return ("--as-needed", _DYNAMIC_LINKER)
    return _LIBRARIES
