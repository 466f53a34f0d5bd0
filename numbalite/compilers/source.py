"""What is compiled: one translation unit with all that decides how it comes out.

A value: two equal sources give the same image, which is what the disk cache relies on.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from numbalite.cxx.linemap import quote
from numbalite.cxx.slip import Lines, Slip

# What our generated text begins with: includes of our own headers, and what brings their names in.
_HEAD = re.compile(
    r"""(?://[^\n\\]*\n)?(?:[ \t]*(?:\#include[ ]"(?:numbalite\.cuh|numbalite/[^"\n]+|host/\w+\.h)"
      |\#define[ ]NUMBALITE_\w+[^\n]*
      |namespace[ ]numbalite[ ]\{[ ]NUMBALITE_MATH[^\n]*
      |using[ ](?:namespace[ ]numbalite|numbalite::\w+);)?[ \t]*\n)+""",
    re.VERBOSE,
)
# -DN=128, -D N=128, --define-macro=N=128: a name as users give them. Those of libraries, and what speaks to
# the compiler or to us, have to be there before any header is read.
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
    """All of it, with its ``#include "numbalite.cuh"``."""
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

    is_python: bool = False
    """Whether the bodies of the kernels are Python: checks give their advice in its words."""

    users: tuple[Lines, ...] = ()
    """The user's lines, in which slips are searched."""

    slips: tuple[Slip, ...] = ()
    """Slips in Python bodies, which the translator has found."""

    linked: tuple = ()
    """Compiled code to link with (linking.Binary); on GPUs only."""

    stoppable: bool = False
    """Do threads test the flag that stops the kernel (stoppable.py)? On GPUs only."""

    @property
    def has_checks(self):
        return self.debug or self.boundscheck

    @property
    def launches(self):
        """Do kernels launch others?"""
        if "<<<" not in self.text:
            return False
        from numbalite.cxx import scanner

        return "<<<" in scanner.strip(self.text)

    def with_macros_inside(self) -> Source:
        """The source with the user's macros, such as -DN=128 and those of headers that options include, as
        text behind the headers of ours that it begins with: their own names (N, T, ...) are not the user's
        business."""
        head = _HEAD.match(self.text)
        given = self._joined_options()
        found = [_as_text(option) for option in given]
        if head is None or not any(found) or any(o.startswith(_READ_FIRST) for o in given):
            return self
        lines = [line for line in found if line]
        number, end = head[0].count("\n") + 1, head.end()
        lines.append(f'#line {number} "{quote(self.name)}"\n')
        return self._replace(
            text="".join((head[0], *lines, self.text[end:])),
            options=tuple(o for o, line in zip(given, found, strict=True) if not line),
        )

    def _joined_options(self):
        """The options, each with its value, where those that become text have it apart."""
        result, rest = [], iter(self.options)
        for option in rest:
            value = next(rest, None) if option in _APART else None
            result.append(option if value is None else _APART[option] + value)
        return result

    def replace(self, **changes):
        """A copy with some fields changed."""
        return self._replace(**changes)


def _as_text(option):
    """The preprocessor's lines that do what an option does; "" if it is not to become any."""
    included = _INCLUDED.fullmatch(option)
    if included:
        return f'#include "{included[1]}"\n'
    macro = _MACRO.fullmatch(option)
    if not macro:
        return ""
    name, parameters, text = macro.groups()
    return f"#undef {name}\n#define {name}{parameters or ''} {1 if text is None else text}\n"
