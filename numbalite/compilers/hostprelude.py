"""The simulator's prelude, precompiled: half of the time that a small kernel takes is reading it.

One folder per compiler and flags, in the cache's directory, named by a hash of both and of the prelude's
own files. Made at the second compilation of a process, so that a program with one kernel does not
wait for it. Whatever goes wrong, the prelude is read as text.
"""

from __future__ import annotations

import os
import shutil
import tempfile

from numbalite import cache
from numbalite.compilers import headers

_made = {}  # key -> arguments of the compiler, or None where it did not work
_asked = set()  # keys asked for once


def text_arguments() -> list:
    """The prelude as text."""
    return ["-include", path()]


def path() -> str:
    return os.path.join(headers.cuda_src(), "sim", "prelude.h")


def arguments(compiler, family, flags, run) -> list:
    """The arguments that bring the prelude in; `run(command)` runs a compiler."""
    key = (compiler.command, *flags)
    if key in _made:
        return _made[key] or text_arguments()
    root = cache.directory()
    if root is None:
        return text_arguments()
    folder = os.path.join(root, f"prelude-{cache.digest(key, _stamps(compiler.path)).hex()}")
    found = _ready(family, folder)
    if found is None:
        if key not in _asked:
            _asked.add(key)
            return text_arguments()
        found = _make(compiler, family, flags, root, folder, run)
    _made[key] = found
    return found or text_arguments()


def forget(compiler, flags) -> None:
    """It did not work after all."""
    _made[(compiler.command, *flags)] = None


def _stamps(program):
    """The prelude's files and the compiler's program."""
    folder = os.path.dirname(path())
    names = sorted(name for name in os.listdir(folder) if name.endswith(".h"))
    stats = [os.stat(os.path.join(folder, name)) for name in names]
    stats.append(os.stat(os.path.realpath(program)))
    return folder, names, [(status.st_size, status.st_mtime_ns) for status in stats]


def _ready(family, folder):
    if family == "clang":
        compiled, found = "prelude.pch", ["-include-pch", os.path.join(folder, "prelude.pch")]
    else:
        compiled, found = "prelude.h.gch", ["-include", os.path.join(folder, "prelude.h")]
    return found if os.path.exists(os.path.join(folder, compiled)) else None


def _make(compiler, family, flags, root, folder, run):
    """Compiles the prelude beside its place and moves it there."""
    try:
        working = tempfile.mkdtemp(prefix="prelude-", dir=root)
    except OSError:
        return None
    try:
        name = "prelude.pch" if family == "clang" else "prelude.h.gch"
        with open(os.path.join(working, "prelude.h"), "w", encoding="utf-8") as file:
            file.write(f'#include "{path()}"\n')
        output = os.path.join(working, name)
        command = [*compiler.command, *flags, "-x", "c++-header", path(), "-o", output]
        if run(command).returncode:
            return None
        os.rename(working, folder)
    except OSError:
        pass  # somebody else was faster, or the disk is full
    finally:
        shutil.rmtree(working, ignore_errors=True)
    return _ready(family, folder)
