"""Finds the static __shared__ variables that each kernel of a module uses, in LLVM IR.

A GPU allocates the static shared variables of a kernel and of all functions that it calls together; ptxas
rejects a kernel whose variables are larger than a block's static shared memory. The front end's IR is used
because it still contains each function's calls: after the optimizer, inlined functions cannot be attributed
to kernels. In instrumented images, a shared variable is an object of the simulator's engine, with the size in
its initial value (cuda_src/sim/thread.h).
"""

from __future__ import annotations

import re
from typing import NamedTuple

_DEFINITION = re.compile(r"^define ", re.MULTILINE)
_DEFINED = re.compile(r'define [^@]*@([\w.$]+|"[^"]+")\(')
_NAMED = re.compile(r'@([\w.$]+|"[^"]+")')
_LOCAL = re.compile(r'^@([\w.$]+|"[^"]+") = [^=\n]*\bthread_local\b', re.MULTILINE)
_OBJECT = re.compile(
    r"^@(_ZZN13numbalite_sim\w*15shared_variable\w*) = [^=\n]*%struct\.nl_sim_shared \{ "
    r"(?:i8\*|ptr) null, i64 (\d+),",
    re.MULTILINE,
)
_CALL = re.compile(r"@(_ZN13numbalite_sim\w*15shared_variable\w*)\([^\n]*?@([\w.]+)")
_TEXT = re.compile(r'^@([\w.]+) = private [^\n]* c"([^"\\]*)\\00"', re.MULTILINE)
_OURS = "_ZN13numbalite_sim"
_KERNEL = re.compile(r"_ZN13numbalite_sim12nl_functions\w*10run_thread")


class SharedVariable(NamedTuple):
    symbol: str
    name: str | None
    """As the user calls it; None: the symbol says it."""
    size: int | None
    """None: that of the symbol in the object."""


def shared_variables_by_kernel(ir: str) -> list[list[SharedVariable]]:
    """Returns {kernel: list of shared variables} for the front end's IR of a module."""
    starts = [match.start() for match in _DEFINITION.finditer(ir)]
    bodies = {}
    for start, end in zip(starts, [*starts[1:], len(ir)], strict=True):
        if name := _DEFINED.match(ir, start, end):
            bodies[name[1]] = ir[name.end() : end].partition("\n}\n")[0]
    variables = _shared_variables(ir)
    named = {name: set(_NAMED.findall(text)) for name, text in bodies.items()}
    found = []
    for kernel in filter(_KERNEL.match, bodies):
        reached, waiting = {kernel}, [kernel]
        while waiting:
            more = named[waiting.pop()] & bodies.keys() - reached
            reached |= more
            waiting += more
        mentioned = set().union(*(named[name] for name in reached))
        found.append([v for symbol, v in variables.items() if symbol in mentioned])
    return found


def _shared_variables(ir):
    found = {
        s: SharedVariable(s, None, None) for s in _LOCAL.findall(ir) if not s.startswith(_OURS)
    }
    sizes = {symbol: int(size) for symbol, size in _OBJECT.findall(ir)}
    if not sizes:
        return found
    texts = dict(_TEXT.findall(ir))
    labels = {f"_ZZ{symbol[2:]}": texts.get(label) for symbol, label in _CALL.findall(ir)}
    for symbol, size in sizes.items():
        found[symbol] = SharedVariable(symbol, labels.get(symbol.removesuffix("E8variable")), size)
    return found
