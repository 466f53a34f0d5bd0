"""What comes before every source on the CPU, precompiled: reading it takes longer than a small kernel does.

That is the prelude (prelude.h) and, where no macro of the source's options comes between, the head (head.h):
the prelude, numbalite.cuh and what exports and describes kernels.

One folder per compiler, flags and header, in the cache's directory, named by a hash of all and of the headers'
own files. Made at the second compilation of a process, so that a program with one kernel does not
wait for it. Whatever goes wrong, the prelude is read as text.

And what comes behind sources that are instrumented: the functions that their instrumentation calls.
"""

from __future__ import annotations

import os

from numbalite.compilers import cache, elf, folders, headers

_hooks: dict[tuple, bytes] = {}  # key -> an object file
_made: dict[
    tuple, list | None
] = {}  # key -> arguments of the compiler, or None where it did not work
_asked: set[tuple] = set()  # keys asked for once


def text_arguments(kind) -> list:
    """The prelude as text."""
    return ["-include", path(kind)]


def path(kind, name="prelude.h") -> str:
    """The prelude, or the head, of the target "sim" or "host"."""
    return os.path.join(headers.cuda_src(), kind, name)


def arguments(compiler, family, flags, run, kind, name="prelude.h") -> list:
    """The arguments that bring the prelude in, or the head; `run(command)` runs a compiler."""
    key = (kind, name, compiler.command, *flags)
    if key in _made:
        return _made[key] or text_arguments(kind)
    folder = _folder(key, compiler)
    if folder is None:
        return text_arguments(kind)
    found = _ready(family, folder)
    if found is None:
        if key not in _asked:
            _asked.add(key)
            return text_arguments(kind)
        found = _make(compiler, family, flags, folder, run, path(kind, name))
    _made[key] = found
    return found or text_arguments(kind)


def forget(compiler, flags, kind, name="prelude.h") -> None:
    """It did not work after all."""
    key = (kind, name, compiler.command, *flags)
    _made[key] = None


def hooks(compiler, flags, compile) -> bytes:
    """The object file of the functions that images which look for mistakes call (cuda_src/sim/hooks.h), which is
    compiled once for a compiler and its flags: `compile()` gives it."""
    key = ("hooks", compiler.command, *flags)
    if key not in _hooks:
        _hooks[key] = _kept_hooks(_folder(key, compiler), compile)
    return _hooks[key]


def _kept_hooks(folder, compile):
    if folder and folders.is_ours(folder, "hooks.o"):
        try:
            with open(os.path.join(folder, "hooks.o"), "rb") as file:
                data = file.read()
            if "__tsan_read4" in elf.defined(data):
                return data
        except (OSError, ValueError):
            pass  # somebody has just cleared the cache, or the file is damaged
    data = compile()

    def fill(working):
        with open(os.path.join(working, "hooks.o"), "wb") as file:
            return file.write(data)

    if folder:
        folders.make(folder, fill)
    return data


def _folder(key, compiler):
    """Where in the cache something is kept; None without a cache."""
    root = cache.directory()
    if root is None:
        return None
    digest = cache.digest(key, _stamps(compiler.path))
    return os.path.join(root, f"{cache.PRELUDE}{digest.hex()}")


def _stamps(program):
    """The headers' files and the compiler's program."""
    root = headers.cuda_src()
    folders = [root, *(os.path.join(root, part) for part in ("sim", "host", "numbalite"))]
    ends = (".h", ".cuh")
    names = sorted(f"{f}/{name}" for f in folders for name in os.listdir(f) if name.endswith(ends))
    stats = [os.stat(name) for name in names]
    stats.append(os.stat(os.path.realpath(program)))
    return names, [(status.st_size, status.st_mtime_ns) for status in stats]


def _ready(family, folder):
    """The arguments for what is in a folder; None if it is not there, or not ours alone."""
    if family == "clang":
        compiled, found = "prelude.pch", ["-include-pch", os.path.join(folder, "prelude.pch")]
    else:
        compiled, found = "prelude.h.gch", ["-include", os.path.join(folder, "prelude.h")]
    return found if folders.is_ours(folder, compiled, "prelude.h") else None


def _make(compiler, family, flags, folder, run, header):
    """Compiles a header."""

    def fill(working):
        name = "prelude.pch" if family == "clang" else "prelude.h.gch"
        with open(os.path.join(working, "prelude.h"), "w", encoding="utf-8") as file:
            file.write(f'#include "{header}"\n')
        output = os.path.join(working, name)
        command = [*compiler.command, *flags, "-I", headers.cuda_src()]
        command += ["-x", "c++-header", header, "-o", output]
        # Templates that functions of the header use become functions with it, not with each source.
        instantiated = [*command[:-2], "-fpch-instantiate-templates", *command[-2:]]
        return (family == "clang" and run(instantiated).returncode == 0) or (
            run(command).returncode == 0
        )

    folders.make(folder, fill)
    return _ready(family, folder)
