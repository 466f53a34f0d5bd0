"""Issues warnings about probable mistakes (cxx/slips.py): those found in the tokens, and those that compilers
report.

Each compiler has its own warnings, and most are about style, signedness or unused code. The tables below
contain the few warnings that are probable mistakes, by their switch or number; all other warnings are
ignored. A mistake that is also found in the tokens is not reported twice.

The warnings of a source are part of its Image and are cached with it. `issue_warnings` issues the warnings.
"""

from __future__ import annotations

import collections
import contextlib
import linecache
import os
import re
import sys
import warnings
from typing import TYPE_CHECKING

from numbalite.compilers import hostlog, nvrtclog
from numbalite.cxx import linemap, slip_search, slips
from numbalite.cxx.slip import Slip
from numbalite.errors import CompileError, KernelWarning, warn

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numbalite.compilers.source import Source

_QUOTED = re.compile(r"['\"‘]([^'\"’]*)['\"’]")
_TYPES = {
    "float": "%f", "double": "%f", "int": "%d", "unsigned int": "%u", "long": "%ld", "unsigned long": "%lu",
    "long long": "%lld", "unsigned long long": "%llu", "size_t": "%zu", "int64": "%lld", "uint64": "%llu",
}  # fmt: skip
_LONG = frozenset(("long", "long long", "unsigned long", "unsigned long long", "size_t", "long int", "long long int",
                   "long unsigned int", "long long unsigned int", "int64_t", "uint64_t"))  # fmt: skip


def _explain_format(text):
    if "attribute" in text:
        return None
    quoted = [part for part in _QUOTED.findall(text) if not part.startswith("%")]
    if len(quoted) < 2:
        return f"printf: {text}"
    wanted, given = (part.partition("'")[0].split(" {aka")[0] for part in (quoted[0], quoted[-1]))
    if {wanted, given} <= _LONG:
        return None  # of one size
    advice = f": write {_TYPES[given]}" if given in _TYPES else ""
    return f"this conversion of printf is for {wanted}, and the argument has type {given}{advice}"


def _explain_unsigned_comparison(text):
    result = "false" if "false" in text or "< 0" in text else "true"
    return (
        f"an unsigned number is never below 0, so this comparison is always {result}: convert the number to int "
        "first, as in (int)threadIdx.x - 1 >= 0"
    ) if "pointless" not in text else (
        "an unsigned number is never below 0, so this comparison has one result: convert the number to int first, as "
        "in (int)threadIdx.x - 1 >= 0"
    )  # fmt: skip


def _uninitialized_warning(text):
    name = _QUOTED.search(text)
    if name is None or "whenever" in text:
        return None
    return f"{name[1]} is read before it has a value: write one where it is declared, {name[1]} = 0"


def _explain_overflow(text):
    if "integer" not in text and "overflow in expression" not in text:
        return None
    return (
        "the result does not fit into int: write one of the numbers with LL, as in 65536LL * 65536"
    )


def _explain_assignment(text):
    is_one = "assignment" in text or 'use of "="' in text
    return "= sets the variable: write == to compare" if is_one else None


def _explain_unused_result(text):
    if "left operand of comma" in text or "right operand of comma" in text:
        return None
    return "the result of this expression is dropped: assign it, or remove the line"


def _explain_limited_range(text):
    """Returns an explanation of a comparison of an unsigned number with 0. Returns None, so that no warning
    is issued, for a narrow integer that is compared with a number outside of its range."""
    if "limited range" in text or "out of range" in text or "result of comparison" in text:
        return None
    return _explain_unsigned_comparison(text)


_ADDRESS = "the variable ends with the function, so its address is of no use: return a value, or pass a pointer to it"
_SHIFT = "the shift is by as many bits as the number has, or more, and has no value: write a longer number, as in 1LL << 40"
_DIVISION = "a division by 0 gives no number: the divisor must not be 0 (0.0f gives infinity)"
_NOT = "! applies to the left operand alone, so 0 or 1 is compared: write !(a == b), or a != b"
_LOGICAL = "a constant as a condition is always true: compare it with a value"
_CHAIN = "a second comparison compares the result of the first one, 0 or 1: write a < b && b < c"


def _explain_chain(text):
    return _CHAIN if "comparisons like" in text or "chained comparison" in text else None


# switch of g++ or clang++, number of NVRTC -> (kind, text or a function of the compiler's text)
_MEANT = {
    "format": ("format", _explain_format),
    "format=": ("format", _explain_format),
    "181": ("format", _explain_format),
    "type-limits": ("unsigned", _explain_limited_range),
    "return-local-addr": ("address", _ADDRESS),
    "return-stack-address": ("address", _ADDRESS),
    "tautological-unsigned-zero-compare": ("unsigned", _explain_unsigned_comparison),
    "186": ("unsigned", _explain_unsigned_comparison),
    "overflow": ("overflow", _explain_overflow),
    "integer-overflow": ("overflow", _explain_overflow),
    "61": ("overflow", _explain_overflow),
    "shift-count-overflow": ("shift", _SHIFT),
    "shift-count-negative": ("shift", _SHIFT),
    "62": ("shift", _SHIFT),
    "63": ("shift", _SHIFT),
    "div-by-zero": ("division", _DIVISION),
    "division-by-zero": ("division", _DIVISION),
    "39": ("division", _DIVISION),
    "uninitialized": ("unset", _uninitialized_warning),
    "549": ("unset", _uninitialized_warning),
    "parentheses": ("assigned", _explain_assignment),
    "187": ("assigned", _explain_assignment),
    "unused-value": ("unused", _explain_unused_result),
    "unused-comparison": ("unused", _explain_unused_result),
    "174": ("unused", _explain_unused_result),
    "logical-not-parentheses": ("not", _NOT),
    "constant-logical-operand": ("logical", _LOGICAL),
}  # fmt: skip
# Warning kind of the token scan -> the kinds under which compilers report the same mistake.
_ALSO = {"comma": ("unused",), "chain": ("assigned",), "not": ("chain",), "reversed": ("assigned",),
         "macro": ("unused",), "bits": ("not",)}  # fmt: skip
# Compiler warnings about the C++ of a Python body that are also mistakes in Python.
_OF_PYTHON = {
    "unsigned": "an unsigned number is never below 0, so this comparison has one result: convert an operand first, as in "
    "int64(a) - b >= 0",
}
_BY_REAL = re.compile(r"[/%]=?\s*\(?\s*[-+]?(?:\d*\.\d*|\d+[eE])")
"""A division by a floating-point zero returns infinity or NaN; NVRTC reports only divisions by a literal 0."""
_SWITCH = re.compile(r" \[-W(?:error=)?([\w=+-]+)(?:,[^\]]*)?\]$")


def slips_of_host_log(log: str, source: Source) -> list[Slip]:
    """Returns the probable mistakes in a log of g++ or clang++."""
    found = []
    for message in hostlog.parse_messages(log) if source.users else ():
        switch = _SWITCH.search(message.text)
        if message.kind != "warning" or switch is None:
            continue
        if message.required and switch[1] in ("type-limits", "tautological-unsigned-zero-compare"):
            continue  # ignore comparisons in templates, which may be intended for other types
        text = message.text[: switch.start()]
        found.append((switch[1], text, message.file, message.line, message.shown))
    return _slips_of_user(found, source)


def slips_of_nvrtc_log(log: str, source: Source) -> list[Slip]:
    """Returns the probable mistakes in a log of NVRTC."""
    return _slips_of_user(nvrtclog.parse_warnings(log), source) if source.users else []


def _slips_of_user(found, source):
    made = []
    lines = None
    times = collections.Counter(map(_message_key, found))
    copies = linemap.count_copies(source.text) if found else {}
    for message in found:
        which, text, file, line, shown = message
        span = next((span for span in source.users if span.contains_line(file, line)), None)
        if span is None or which not in _MEANT:
            continue
        kind, meaning = _MEANT[which]
        if span.is_python:
            if kind in _OF_PYTHON:
                text, own = _OF_PYTHON[kind], linecache.getline(file, line)
                made.append(Slip(file, line, kind, text, own.strip()))
            continue
        if callable(meaning):
            meaning = meaning(text)
        if which == "parentheses" and meaning is None:
            kind, meaning = "chain", _explain_chain(text)
        lines = hostlog.texts_by_line(source.text) if lines is None else lines
        own = lines.get((file, line), "")
        if meaning is None or (kind == "division" and _BY_REAL.search(own)):
            continue
        if kind == "unsigned" and times[_message_key(message)] < copies[(file, line), own]:
            continue  # the function has further signatures with other argument types
        made.append(Slip(file, line, kind, meaning, _line_with_marker(own, shown)))
    return made


def _message_key(message):
    """Returns the fields that identify a message, without its text, which contains types."""
    which, _, file, line, shown = message
    return which, file, line, tuple(shown[:2])


def _line_with_marker(line, shown):
    """Returns a source line, with the marker that a compiler has drawn below it."""
    if len(shown) > 1 and shown[0].split() == line.split() and "^" in shown[1]:
        return slip_search.line_with_caret(shown[0], shown[1].index("^"))
    return line.strip()


def search_slips(source: Source) -> list[Slip]:
    """Returns the probable mistakes in the tokens of a source, and in its Python bodies. Raises
    CompileError if an array is used with a wrong number of indices."""
    found, refused = slips.find_slips(source.text, source.users, source.std)
    if refused:
        rows = []
        for each in refused:
            rows.append(f"{each.file}({each.line}): error: {each.text}")
            rows += [f"  {row}" for row in each.shown.split("\n")]
        raise CompileError("\n".join(rows), source=source.text)
    return [*source.slips, *found]


def merge_slips(found: Iterable[Slip], others: Iterable[Slip]) -> tuple[Slip, ...]:
    """Merges the warnings of the token scan with those of a compiler, one per line and kind."""
    kept = list(found)
    seen = {(slip.file, slip.line, slip.kind) for slip in kept}
    seen |= {(slip.file, slip.line, kind) for slip in kept for kind in _ALSO.get(slip.kind, ())}
    for slip in others:
        key = slip.file, slip.line, slip.kind
        if key not in seen:
            seen.add(key)
            kept.append(slip)
    return tuple(sorted(kept, key=lambda slip: (slip.file, slip.line)))


_WRONG_ALONE = frozenset(("format", "shift", "overflow"))
"""Slips that are wrong for the types of this signature, independent of the function's other signatures."""


def common_slips(found: Iterable[Slip], others: Iterable[Slip]) -> list[Slip]:
    """Returns the warnings of one signature that another signature has, too. `x < 0` is right for float32,
    and always false for uint8."""
    there = {(slip.file, slip.line, slip.kind) for slip in others}
    return [
        slip
        for slip in found
        if slip.kind in _WRONG_ALONE or (slip.file, slip.line, slip.kind) in there
    ]


# --- issuing warnings
# ----------------------------------------------------------------------------------

_listeners: list[list[Slip]] = []
_registries: dict[
    str, dict
] = {}  # file -> the warnings that the warning filter "default" has shown


@contextlib.contextmanager
def collect_slips() -> Iterator[list[Slip]]:
    """Collects the warnings that `issue_warnings` receives in the `with` block, independent of warning filters. ``with
    collect_slips() as found``."""
    found: list[Slip] = []
    _listeners.append(found)
    try:
        yield found
    finally:
        _listeners[:] = [each for each in _listeners if each is not found]


def issue_warnings(found: Iterable[Slip]) -> None:
    """Issues a Python warning for each probable mistake, at its line. With the warning filter "error", the
    first warning is raised as an exception."""
    for slip in found:
        for listener in _listeners:
            if slip not in listener:
                listener.append(slip)
        warning = KernelWarning(slip.text, slip.file, slip.line, slip.shown)
        try:
            _issue_warning(warning, slip)
        except KernelWarning as problem:
            problem.is_raised = True
            raise


def _issue_warning(warning, slip):
    if slip.file.startswith(
        "<source of "
    ):  # a generated source: report the warning at the line of the call
        warning.text = f"{slip.file}, line {slip.line}: {slip.text}"
        warn(warning, KernelWarning)
        return
    module, registry = _warning_registry(slip.file)
    warnings.warn_explicit(warning, KernelWarning, slip.file, slip.line, module, registry)


def _warning_registry(file):
    """Returns (name, warning registry) of the module of a file."""
    name = None
    if file.startswith(("<", "Cell ")):
        name = "__main__"
    else:
        path = os.path.abspath(file)
        for each, module in list(sys.modules.items()):
            own = getattr(module, "__dict__", {}).get("__file__")
            if isinstance(own, str) and own.endswith(path[-8:]) and os.path.abspath(own) == path:
                name = each
                break
    if name is None or name not in sys.modules:
        # Python's name for the module of a file, because Python drops a warning without a module name.
        return file.removesuffix(".py"), _registries.setdefault(file, {})
    return name, sys.modules[name].__dict__.setdefault("__warningregistry__", {})
