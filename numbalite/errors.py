"""Everything that numbalite raises or warns about, in one family.

The extension module raises these classes too: it looks them up here by name. Names that programs
written for numba import are aliases, listed at the end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from numbalite import frontend

if TYPE_CHECKING:
    from typing import Any


class NumbaliteError(Exception):
    """The family: whatever numbalite itself has to say."""


class CudaSupportError(NumbaliteError, ImportError):
    """Something is not installed, too old, or switched off: no driver, no device, no compiler.

    The message says what to install. An ImportError, as in numba.
    """


class CudaDriverError(NumbaliteError, RuntimeError):
    """The driver refused or failed."""


class CudaAPIError(CudaDriverError):
    """A driver call failed: ``code`` is its status, ``call`` its name.

    The message says what happened and what to do about it; the latter alone is ``remedy``.
    """

    def __init__(self, code: int, message: str = "", call: str | None = None) -> None:
        super().__init__(code, message, call)
        self.code = code
        self.msg = self.message = message
        self.call = call

    @property
    def remedy(self) -> str:
        """What to do; "" where nobody knows."""
        return self.message.partition("): ")[2].partition(". ")[2]

    def __str__(self) -> str:
        return f"[{self.code}] {self.message}"


class CompileError(NumbaliteError, RuntimeError):
    """The compiler rejected the source.

    ``log`` is all that the compiler said, ``source`` is what it was given.
    """

    def __init__(self, message: str, log: str = "", source: str = "") -> None:
        super().__init__(message)
        self.log = log
        self.source = source

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (*self.args, self.log, self.source)

    # How IPython shows it: what is wrong with the source, not how numbalite found out.
    _render_traceback_ = frontend.traceback("compile_error")


class SignatureError(NumbaliteError, TypeError, ValueError):
    """A signature that is no signature, or that does not fit the source.

    Both a TypeError and a ValueError: numba raises the one or the other, and code written for it
    may catch either.
    """


class DeprecationError(NumbaliteError, TypeError):
    """An option that numba dropped long ago (``argtypes``, ``restype``, ``bind``)."""


class KernelError(NumbaliteError, RuntimeError):
    """A kernel went wrong on the device: a failed assert, or with ``debug=True`` a bad index.

    Attributes that are not known are None. ``kind`` is the check that found it ("memory", "race", ...:
    those of ``cuda.checks``) or "assert"; ``block`` and ``thread`` are (x, y, z); ``others`` tells how
    many more findings there were in the launch, beside this first one.
    """

    def __init__(
        self,
        message: str,
        kernel: str | None = None,
        block: Any = None,
        thread: Any = None,
        array: str | None = None,
        index: Any = None,
        file: str | None = None,
        line: int | None = None,
        others: Any = None,
        kind: str | None = None,
    ) -> None:
        super().__init__(message)
        if kernel is block is thread is array is index is file is line is others is None:
            kernel, block, thread, array, index, file, line, others = _read(message)
        self.kind = kind or _kind(message)
        self.kernel = kernel
        self.block = block
        self.thread = thread
        self.array = array
        self.index = index
        self.file = file
        self.line = line
        self.others = others

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (*self.args, self.kernel, self.block, self.thread, self.array,
                            self.index, self.file, self.line, self.others, self.kind)  # fmt: skip

    # How IPython shows it: up to the line that launched the kernel or waited for it.
    _render_traceback_ = frontend.traceback("kernel_error")

    @property
    def msg(self) -> str:
        return self.args[0]

    @property
    def tid(self) -> tuple[int, ...] | None:
        """The thread, under numba's name."""
        return self.thread

    @property
    def ctaid(self) -> tuple[int, ...] | None:
        """The block, under numba's name."""
        return self.block


_XYZ = r"\((\d+),(\d+),(\d+)\)"
# What the reports of the simulator say -> the check that speaks so. The first that is found counts.
_KINDS = {
    "with nothing that orders the two: let one stream": "stream",
    "which nothing has written": "unwritten",
    r", and thread .* it (with an atomic )?at": "race",
    r"makes (NaN|infinity) of|divides a floating-point": "nan",
    r" divides ": "divide",
    "stack overflow": "stack",
    r"(not done|stopped|interrupted) after": "hang",
    r"different barriers|cannot go on|never came|\bmask 0x": "sync",
    "[Aa]ssert": "assert",
    r"address|outside of|out of bounds|but .* (has|is|points to) | uses index ": "memory",
}


def _kind(message):
    """The check that found what a report tells, or None."""
    import re

    return next((kind for words, kind in _KINDS.items() if re.search(words, message)), None)


def _read(message):
    """What a report of the simulator says of KernelError's attributes, in their order.

    "vadd (file, line 5): block (3,0,0), thread (31,0,0) writes out[127], but ... (and 3 more, in ...)",
    or "kernel vadd, block (3,0,0), thread (31,0,0), file:5: ...".
    """
    import re

    finding = rf"(?P<kernel>\S.*) \((?P<file>.*?), line (?P<line>\d+)\): block {_XYZ}"
    unplaced = rf"(?P<kernel>\S[^(]*)(?P<file>)(?P<line>): block {_XYZ}"
    fault = rf"kernel (?P<kernel>\S.*?), block {_XYZ}(?:, thread {_XYZ})?(?:, (?P<file>.*?):(?P<line>\d+))?:"
    for form in (finding, fault, unplaced):
        found = re.match(form, message)
        if found is not None:
            break
    unthreaded = re.match(r"kernel (?P<kernel>\S.*?): (?:the grid|a write outside) ", message)
    if found is None and unthreaded is None:
        return (None,) * 8
    said = (found or unthreaded).groupdict()
    block = re.search(f"block {_XYZ}", message)
    thread = re.search(f"thread {_XYZ}", message)
    if not said.get("line"):  # of several threads, those that are told first
        place = re.search(r" at (?P<file>(?:(?! at ).)+?):(?P<line>\d+)", message)
        said.update(place.groupdict() if place else {})
    array, index = _element(message[thread.end() :] if thread else "")
    more = re.search(r" \(and (\d+) more, in", message)
    return (
        said["kernel"],
        tuple(map(int, block.groups())) if block else None,
        tuple(map(int, thread.groups())) if thread else None,
        array,
        index,
        said.get("file") or None,
        int(said["line"]) if said.get("line") else None,
        int(more[1]) if more else 0,
    )


def _element(text):
    """(array, index) of " writes out[127], ..." or " reads a(3,4) ..."; (None, None) of others."""
    import re

    along = re.match(r" \w+ index (-?\d+) of (\w+) along", text)
    if along:
        return along[2], int(along[1])
    if unnamed := re.match(r" uses index (-?\d+) of an array of ", text):
        return None, int(unnamed[1])
    indices = r"((?:\[-?\d+\])+|\(-?\d+(?:,-?\d+)*\))"
    element = re.match(rf" \w+ (?:\w+::)*(\w+){indices}", text)
    element = element or re.search(rf" misaligned address \w+ \((\w+){indices}\)", text)
    if element is None:
        scalar = re.match(r" (?:reads|writes|updates) (?:\w+::)*(\w+)(?:,| with an atomic,)", text)
        return (scalar[1], None) if scalar else (None, None)
    indices = tuple(map(int, re.findall(r"-?\d+", element[2])))
    return element[1], indices[0] if len(indices) == 1 else indices


class BoundsError(KernelError, IndexError):
    """A function on the CPU used an index that its array does not have (``debug=True``)."""


class NumbaliteWarning(UserWarning):
    """Base of the warnings."""


class PerformanceWarning(NumbaliteWarning):
    """It works, but a small change would make it much faster."""


class SimulatorWarning(NumbaliteWarning, RuntimeWarning):
    """Kernels run on the CPU simulator because there is no GPU to use."""


class CacheWarning(NumbaliteWarning):
    """The disk cache cannot be used; everything is compiled anew in each process."""


class InvalidConfigWarning(NumbaliteWarning):
    """Options that contradict each other."""


def warn(message: str, category: type[Warning] = NumbaliteWarning) -> None:
    """Warns at the nearest line of the caller's program that is not numbalite's own."""
    import os
    import sys
    import warnings

    package = os.path.dirname(os.path.abspath(__file__)) + os.sep
    level, frame = 1, sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(package):
        level, frame = level + 1, frame.f_back  # type: ignore[assignment]
    warnings.warn(message, category, stacklevel=level + 1 if frame is not None else 2)


# Names that programs written for numba import.
NumbaError = NumbaliteError
NumbaWarning = NumbaliteWarning
NumbaPerformanceWarning = PerformanceWarning
NumbaInvalidConfigWarning = InvalidConfigWarning
NumbaDeprecationWarning = NumbaliteWarning
TypingError = SignatureError
LoweringError = CompileError
KernelRuntimeError = KernelError
CudaRuntimeError = CudaDriverError
LinkerError = CompileError
CCSupportError = CudaSupportError
NvrtcError = CompileError
NvrtcCompilationError = CompileError
NvrtcBuiltinOperationFailure = CompileError
NvrtcSupportError = CudaSupportError
NvvmError = CompileError
NvvmSupportError = CudaSupportError
NvvmWarning = NumbaliteWarning
DeadMemoryError = CudaDriverError
