"""Defines Source: a translation unit, with all inputs of its compilation.

A Source is a value: equal sources have equal images, on which the disk cache relies.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from numbalite.cxx.linemap import quote_label
from numbalite.cxx.slip import LineRange, Slip

# The beginning of each generated source: includes of numbalite's headers, and using-directives.
_HEAD = re.compile(
    r"""(?://[^\n\\]*\n)?(?:[ \t]*(?:\#include[ ]"(?:numbalite\.cuh|numbalite/[^"\n]+|host/\w+\.h)"
      |\#define[ ]NUMBALITE_\w+[^\n]*
      |namespace[ ]numbalite[ ]\{[ ]NUMBALITE_MATH[^\n]*
      |using[ ](?:namespace[ ]numbalite|numbalite::\w+);)?[ \t]*\n)+""",
    re.VERBOSE,
)
# Matches -DN=128, -D N=128, --define-macro=N=128, where the user chose the name. Does not match macros of
# libraries, of the compiler and of numbalite, which must be defined before any header is read.
_MACRO = re.compile(
    r"(?:-D[ ]?|--define-macro=)((?!_|NUMBALITE|NDEBUG\b|CUDA|CCCL|CUB_|THRUST|LIBCUDACXX)[A-Za-z]\w*)"
    r"(\([\w, .]*\))?(?:=(.*))?"
)
_INCLUDED = re.compile(r"-?-(?:pre-)?include=([^\"\n]+)")
_APART = {"-D": "-D", "--define-macro": "-D", "-include": "-include=", "--pre-include": "-include="}
_READ_FIRST = ("-U", "--undefine-macro")


class Source(NamedTuple):
    """A complete CUDA C++ translation unit and the options to compile it with."""

    text: str
    """The complete text, with its ``#include "numbalite.cuh"``."""
    name: str = "kernel.cu"
    """The file name in messages, unless #line sets another one."""
    kernels: tuple = ()
    """Name expressions of the kernels to compile: "nl_saxpy", "saxpy<float>"."""
    variables: tuple = ()
    """Names of the __constant__ and __device__ variables to export."""
    describe: bool = True
    """Whether the image contains the types of kernels and variables."""
    options: tuple = ()
    """Compiler options as given by the user: "-DX=1", "-I/include"."""
    std: str = "c++17"
    headers: tuple = ()
    """(name, text) of headers in memory."""
    fastmath: bool = False
    debug: bool = False
    lineinfo: bool = False
    opt: object = True
    """Optimization level: False or 0 to 3; True is the compiler's default."""
    max_registers: int | None = None
    boundscheck: bool = False
    """Whether indices and asserts are checked, as with debug, but in optimized code."""

    is_python: bool = False
    """Are the bodies of the kernels Python? Then checks give their advice in Python's terms."""

    users: tuple[LineRange, ...] = ()
    """The user's lines, in which slips are searched."""

    slips: tuple[Slip, ...] = ()
    """Slips in Python bodies, found by the translator."""

    linked: tuple = ()
    """Compiled code to link with (linking.LinkedBinary); on GPUs only."""

    stoppable: bool = False
    """Do threads test the flag that stops the kernel (stoppable.py)? On GPUs only."""

    is_short: bool = False
    """Is it compiled once per function, for the first result? Then NVRTC omits declarations of textures and of CUDA's
    runtime, unless the source needs them."""

    @property
    def has_checks(self):
        return self.debug or self.boundscheck

    @property
    def launches(self):
        """Returns whether kernels of the source launch other kernels."""
        if "<<<" not in self.text:
            return False
        from numbalite.cxx import scanner

        return "<<<" in scanner.blank_comments(self.text)

    def with_inner_macros(self) -> Source:
        """Returns the source with the user's macros (such as -DN=128, or from headers included by
        options) as text after numbalite's own headers, because these may use the same names (N, T,
        ...)."""
        head = _HEAD.match(self.text)
        given = self._joined_options()
        found = [_option_as_text(option) for option in given]
        if head is None or not any(found) or any(o.startswith(_READ_FIRST) for o in given):
            return self
        lines = [line for line in found if line]
        number, end = head[0].count("\n") + 1, head.end()
        lines.append(f'#line {number} "{quote_label(self.name)}"\n')
        return self._replace(
            text="".join((head[0], *lines, self.text[end:])),
            options=tuple(o for o, line in zip(given, found, strict=True) if not line),
        )

    def _joined_options(self):
        """Returns the options, each joined with its separate value (``-I``, ``dir`` becomes ``-Idir``)."""
        result, rest = [], iter(self.options)
        for option in rest:
            value = next(rest, None) if option in _APART else None
            result.append(option if value is None else _APART[option] + value)
        return result

    def replace(self, **changes):
        """Returns a copy with some fields changed."""
        return self._replace(**changes)


def _option_as_text(option):
    """Returns the preprocessor lines equivalent to an option, or "" if the option does not become text."""
    included = _INCLUDED.fullmatch(option)
    if included:
        return f'#include "{included[1]}"\n'
    macro = _MACRO.fullmatch(option)
    if not macro:
        return ""
    name, parameters, text = macro.groups()
    return f"#undef {name}\n#define {name}{parameters or ''} {1 if text is None else text}\n"
