"""What is compiled: one translation unit with all that decides how it comes out.

A value: two equal units give the same image, which is what the disk cache relies on.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Unit(NamedTuple):
    """A complete CUDA C++ translation unit and the options to compile it with."""

    source: str
    """All of the text, with its ``#include "numbalite.cuh"``."""
    name: str = "kernel.cu"
    """The file's name in messages, where no #line says otherwise."""
    kernels: tuple = ()
    """Name expressions of the kernels that are wanted: "nl_saxpy", "saxpy<float>"."""
    variables: tuple = ()
    """Names of __constant__ and __device__ variables that are wanted."""
    describe: bool = True
    """Whether the image also tells the types of kernels and variables."""
    options: tuple = ()
    """Compiler options as the user gave them: "-DX=1", "-I/include"."""
    std: str = "c++17"
    headers: tuple = ()
    """(name, text) of headers that exist in memory only."""
    fastmath: bool = False
    debug: bool = False
    lineinfo: bool = False
    opt: object = True
    """False or 0 to 3: how much to optimise; True is the compiler's default."""
    max_registers: int | None = None
    boundscheck: bool = False
    """Checks of indices and asserts, as debug has them too, but in optimised code."""

    @property
    def has_checks(self):
        return self.debug or self.boundscheck

    def end_of_macros(self) -> str:
        """Lines for what is read after the source: headers of ours, whose names the source's macros may
        have. Those that name a kernel are left alone."""
        if "define" not in self.source:
            return ""
        from numbalite import cxx

        wanted = " ".join((*self.kernels, *self.variables))
        return "".join(
            f"#undef {name}\n"
            for name in cxx.macros(self.source)
            if not re.search(rf"\b{name}\b", wanted)
        )

    def replace(self, **changes):
        """A copy with some fields changed."""
        return self._replace(**changes)
