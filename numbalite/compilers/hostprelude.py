"""Precompiles the text before each source for the CPU, because parsing it takes longer than
compiling a small kernel.

The text is the prelude (prelude.h). If the source's options define no macros that must follow the prelude,
the text is the head (head.h): the prelude, numbalite.cuh and the code that exports and describes kernels.

The cache directory has one folder per compiler, flags and header, named by a hash of these and of the
headers' files. The precompiled header is created at the second compilation of a process, so that a program
with one kernel does not wait for it. If precompiling fails, the compiler reads the prelude as text.

Sources of ufuncs and reductions begin with further headers of numbalite, which take longer to parse than the
rest of the source. If many sources of a process begin with the same of these headers, they are precompiled,
too, after the head (sim/library_head.h).

This module also caches the object file of the functions that instrumented sources call.
"""

from __future__ import annotations

import os
import re

from numbalite.compilers import cache, folders, headers

LIBRARY_HEAD, _MAX_HEADERS = "library_head.h", 4
_MIN_SOURCES = (
    10  # number of sources with the same first headers after which the headers are precompiled
)
_FIRST_LINE = re.compile(
    r'(?://[^\n\\]*|#include ("numbalite(?:/\w+)?\.cuh")|#define (NUMBALITE_REDUCE_\w+)(?: (\d+))?)?\n'
)
_hooks: dict[tuple, bytes] = {}  # key -> an object file
_made: dict[
    tuple, list | None
] = {}  # key -> arguments of the compiler, or None if precompiling failed
_asked: set[tuple] = set()  # keys that were requested once
_sources: dict[tuple, int] = {}  # key -> number of sources that begin with the same headers


def text_arguments(kind) -> list:
    """Returns the compiler arguments that include the prelude as text, not precompiled."""
    return ["-include", prelude_path(kind)]


def prelude_path(kind, name="prelude.h") -> str:
    """Returns the path of the prelude, or of the head, for the target "sim" or "host"."""
    return os.path.join(headers.cuda_src(), kind, name)


def header_macros(text) -> tuple:
    """Returns macro definitions, as options of a compiler, that select the headers with which a source
    begins, or () if there are no further headers, or too many."""
    found, macros, at = [], [], 0
    while line := _FIRST_LINE.match(text, at):
        at = line.end()
        if line[1]:
            found.append(line[1])
        elif line[2]:
            macros.append(f"-D{line[2]}={line[3] or ''}")
    found = [name for name in found if name != '"numbalite.cuh"']
    if not 0 < len(found) <= _MAX_HEADERS:
        return ()
    return (*macros, *(f"-DNUMBALITE_HEAD_{i}={name}" for i, name in enumerate(found, 1)))


def has_common_headers(compiler, family, flags, kind, macros) -> bool:
    """Returns whether the library head with these macros (header_macros) is precompiled, or so many sources begin
    with these headers that `prelude_arguments` must precompile it."""
    key = (kind, LIBRARY_HEAD, compiler.command, *flags, *macros)
    if key in _made:
        return _made[key] is not None
    folder = _cache_folder(key, compiler)
    if folder is None:
        return False
    _sources[key] = _sources.get(key, 0) + 1
    if _sources[key] < _MIN_SOURCES and _precompiled_arguments(family, folder) is None:
        return False
    _asked.add(key)
    return True


def prelude_arguments(compiler, family, flags, run, kind, name="prelude.h", *macros) -> list:
    """Returns the arguments that include the precompiled prelude or head. `run(command)` runs a
    compiler. macros: the definitions with which the header is precompiled (header_macros)."""
    key = (kind, name, compiler.command, *flags, *macros)
    if key in _made:
        return _made[key] or text_arguments(kind)
    folder = _cache_folder(key, compiler)
    if folder is None:
        return text_arguments(kind)
    found = _precompiled_arguments(family, folder)
    if found is None:
        if key not in _asked:
            _asked.add(key)
            return text_arguments(kind)
        found = _compile_header(
            compiler, family, [*flags, *macros], folder, run, prelude_path(kind, name)
        )
    _made[key] = found
    return found or text_arguments(kind)


def discard_header(compiler, flags, kind, name="prelude.h", *macros) -> None:
    """Discards a precompiled header that the compiler rejected."""
    key = (kind, name, compiler.command, *flags, *macros)
    _made[key] = None


def discard_damaged_header(compiler, family, flags, kind, name="prelude.h", *macros) -> bool:
    """Returns whether the folder of a precompiled header is damaged, so that the next call of `prelude_arguments`
    creates it again."""
    key = (kind, name, compiler.command, *flags, *macros)
    folder = _cache_folder(key, compiler)
    if not _made.get(key) or folder is None or _precompiled_arguments(family, folder) is not None:
        return False
    del _made[key]
    return True


def hooks_object_file(compiler, flags, compile) -> bytes:
    """Returns the object file of the functions that checked images call (cuda_src/sim/hooks.h). `compile()`
    creates this object file once for a compiler and its flags."""
    key = ("hooks", compiler.command, *flags)
    if key not in _hooks:
        _hooks[key] = _cached_hooks(_cache_folder(key, compiler), compile)
    return _hooks[key]


def _cached_hooks(folder, compile):
    found = folder and folders.find_folder(folder, "hooks.o")
    if found:
        try:
            with open(os.path.join(found, "hooks.o"), "rb") as file:
                return file.read()
        except OSError:
            pass  # another process has cleared the cache meanwhile
    data = compile()

    def write_header(working):
        with open(os.path.join(working, "hooks.o"), "wb") as file:
            return file.write(data)

    if folder:
        folders.create_folder(folder, write_header)
    return data


def _cache_folder(key, compiler):
    """Returns the path of an entry in the cache, or None without a cache."""
    root = cache.usable_directory()
    if root is None:
        return None
    digest = cache.hash_values(key, _header_stamps(compiler.path))
    return os.path.join(root, f"{cache.PRELUDE}{digest.hex()}")


def _header_stamps(program):
    """Returns (paths of numbalite's headers, [(size, modification time)] of these and of the compiler's program)."""
    root = headers.cuda_src()
    folders = [root, *(os.path.join(root, part) for part in ("sim", "host", "numbalite"))]
    ends = (".h", ".cuh")
    names = sorted(f"{f}/{name}" for f in folders for name in os.listdir(f) if name.endswith(ends))
    stats = [os.stat(name) for name in names]
    stats.append(os.stat(os.path.realpath(program)))
    return names, [(status.st_size, status.st_mtime_ns) for status in stats]


def _precompiled_arguments(family, folder):
    """Returns the compiler arguments that include the precompiled prelude in a folder, or None if the prelude is
    missing, damaged, or writable for other users."""
    compiled = "prelude.pch" if family == "clang" else "prelude.h.gch"
    found = folders.find_folder(folder, compiled, "prelude.h")
    if found is None:
        return None
    if family == "clang":
        return ["-include-pch", os.path.join(found, compiled)]
    return ["-include", os.path.join(found, "prelude.h")]


def _compile_header(compiler, family, flags, folder, run, header):
    """Compiles a header."""

    def write_header(working):
        name = "prelude.pch" if family == "clang" else "prelude.h.gch"
        with open(os.path.join(working, "prelude.h"), "w", encoding="utf-8") as file:
            file.write(f'#include "{header}"\n')
        output = os.path.join(working, name)
        command = [*compiler.command, *flags, "-I", headers.cuda_src()]
        command += ["-x", "c++-header", header, "-o", output]
        # Templates that the header's functions use are instantiated once, with the header.
        instantiated = [*command[:-2], "-fpch-instantiate-templates", *command[-2:]]
        return (family == "clang" and run(instantiated).returncode == 0) or (
            run(command).returncode == 0
        )

    folders.create_folder(folder, write_header)
    return _precompiled_arguments(family, folder)
