"""Defines all exceptions and warnings of numbalite, with a common base class.

The extension module also raises these exceptions, and finds the classes in this module by name. Names that
programs written for numba import are aliases at the end of this file.
"""

from __future__ import annotations

import os
import types
from typing import TYPE_CHECKING

from numbalite import frontend

if TYPE_CHECKING:
    from typing import Any

_OURS = os.path.dirname(os.path.abspath(__file__)) + os.sep


class NumbaliteError(Exception):
    """The base class of all exceptions and warnings of numbalite."""


class CudaSupportError(NumbaliteError, ImportError):
    """A component is missing, too old, or disabled: the driver, a device, a compiler.

    The message contains the package to install. An ImportError, as in numba.
    """


class CudaDriverError(NumbaliteError, RuntimeError):
    """A driver call failed, or the driver rejected a request."""


class CudaAPIError(CudaDriverError):
    """A driver call failed: ``code`` is the status of the call, ``call`` its name.

    The message contains the error and the remedy; ``remedy`` contains only the remedy.
    """

    def __init__(self, code: int, message: str = "", call: str | None = None) -> None:
        super().__init__(code, message, call)
        self.code = code
        self.msg = self.message = message
        self.call = call

    @property
    def remedy(self) -> str:
        """The remedy, or "" if there is none."""
        return self.message.partition("): ")[2].partition(". ")[2]

    def __str__(self) -> str:
        return f"[{self.code}] {self.message}"


class CompileError(NumbaliteError, RuntimeError):
    """The compiler rejected the source.

    ``log`` is the compiler's complete output, ``source`` its input.
    """

    def __init__(self, message: str, log: str = "", source: str = "") -> None:
        super().__init__(message)
        self.log = log
        self.source = source

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (*self.args, self.log, self.source)

    # IPython displays the mistake in the source, without numbalite's frames.
    _render_traceback_ = frontend.traceback_renderer("compile_error")


class SignatureError(NumbaliteError, TypeError, ValueError):
    """The signature is invalid, or does not match the source.

    The class is both a TypeError and a ValueError: numba raises one or the other, and code written for numba
    may catch either.
    """


class TranslationError(SignatureError):
    """A Python body that cannot be a kernel: an unsupported construct, or types that do not match.

    The message shows the line; ``file`` and ``line`` are its location. This class replaces TypingError and
    UnsupportedError of numba.
    """

    def __init__(self, message: str, file: str | None = None, line: int | None = None) -> None:
        super().__init__(message)
        self.file = file
        self.line = line

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (*self.args, self.file, self.line)

    # IPython displays the message, without numbalite's frames.
    _render_traceback_ = frontend.traceback_renderer("compile_error")


class DeprecationError(NumbaliteError, TypeError):
    """An option that numba removed long ago (``argtypes``, ``restype``, ``bind``)."""


class KernelError(NumbaliteError, RuntimeError):
    """A kernel failed on the device: a failed assert, or with ``debug=True`` an index out of
    bounds.

    The attributes contain the parts of the message; unknown parts are None. In a report of a race,
    the attributes that begin with ``other_`` describe the other thread's access.
    """

    kind: str | None = None
    """The check for errors of this type ("memory", "race", ...: those of ``cuda.checks``), or "assert"."""
    kernel: str | None = None
    block: tuple[int, int, int] | None = None
    thread: tuple[int, int, int] | None = None
    array: str | None = None
    index: int | tuple[int, ...] | None = None
    """The index of the element; a tuple if the array has several dimensions."""
    file: str | None = None
    line: int | None = None
    verdict: str | None = None
    """The verdict of an exact search for races (``cuda.checks("race", exact=True)``): "races"."""
    schedule: str | None = None
    """The schedule that shows the error, if the first schedule does not (NUMBALITE_SIM_SCHEDULE)."""
    others: int | None = None
    """The number of further findings of the launch, in addition to this first one."""
    access: str | None = None
    """The access of the thread: "reads", "writes", or with an atomic "updates"."""
    address: int | None = None
    size: int | None = None
    """The size of the access, in bytes."""
    other_access: str | None = None
    other_block: tuple[int, int, int] | None = None
    other_thread: tuple[int, int, int] | None = None
    other_file: str | None = None
    other_line: int | None = None

    def __init__(self, message: str, **fields: Any) -> None:
        super().__init__(message)
        unknown = [name for name in fields if name not in KernelError.__annotations__]
        if unknown:
            raise TypeError(f"KernelError has no attribute {unknown[0]!r}")
        self.__dict__.update(fields)

    # IPython displays the traceback up to the line that launched the kernel or waited for it.
    _render_traceback_ = frontend.traceback_renderer("kernel_error")

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


class KernelTimeout(KernelError, TimeoutError):
    """A kernel ran longer than the limit of ``cuda.limit`` or of ``NUMBALITE_LIMIT``, and was stopped.

    A kernel on a GPU that was not compiled with ``stoppable=True`` continues to run, as the message explains.
    """


class BoundsError(KernelError, IndexError):
    """A function on the CPU used an index that is out of an array's bounds (``debug=True``)."""


class NumbaliteWarning(UserWarning):
    """Base of the warnings."""


class PerformanceWarning(NumbaliteWarning):
    """The program works, but a small change would make it much faster."""


class SimulatorWarning(NumbaliteWarning, RuntimeWarning):
    """Kernels run on the CPU simulator because no GPU is available."""


class KernelWarning(NumbaliteWarning):
    """A line of a kernel compiles, but probably does not do what its author intended: ``1/2 *
    x[i]`` is 0.

    The warning is issued at the line of the kernel when the kernel is compiled or loaded from the disk cache.
    ``text`` describes the mistake and the remedy, ``shown`` is the line of the source, ``file`` and
    ``line`` its location.
    """

    def __init__(
        self, text: str, file: str | None = None, line: int | None = None, shown: str = ""
    ) -> None:
        super().__init__(text)
        self.text, self.file, self.line, self.shown = text, file, line, shown
        self.is_raised = False
        """Has a filter made an error of it? Then the message begins with the position."""

    def __str__(self) -> str:
        text = f"{self.file}({self.line}): {self.text}" if self.is_raised else self.text
        return "\n    ".join([text, *self.shown.split("\n")]) if self.shown else text

    def __format__(self, spec: str) -> str:
        """Omits the source line if Python can read the file, because Python prints that line itself."""
        import linecache

        is_found = self.file is not None and linecache.getline(self.file, self.line or 0).strip()
        return format(self.text if is_found and not self.is_raised else str(self), spec)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.text, self.file, self.line, self.shown)

    # IPython's display if a warning filter has turned the warning into an error.
    _render_traceback_ = frontend.traceback_renderer("compile_error")


class CacheWarning(NumbaliteWarning):
    """The disk cache cannot be used; each process compiles everything again."""


class InvalidConfigWarning(NumbaliteWarning):
    """Options that contradict each other."""


def users_frames(trace: types.TracebackType | None) -> types.TracebackType | None:
    """Returns a traceback without numbalite's own frames at its end, which do not show the user's
    mistake."""
    if not isinstance(trace, (types.TracebackType, type(None))):
        raise TypeError(f"users_frames accepts a traceback or None, not {trace!r:.80}")
    frames = []
    while trace is not None:
        frames.append(trace)
        trace = trace.tb_next
    while len(frames) > 1 and frames[-1].tb_frame.f_code.co_filename.startswith(_OURS):
        frames.pop()
    made = None
    for frame in reversed(frames):
        made = types.TracebackType(made, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    return made


def warn(
    message: str | Warning, category: type[Warning] = NumbaliteWarning, skip: tuple[str, ...] = ()
) -> None:
    """Warns at the nearest line of the caller's program that is neither numbalite's own nor in a file
    whose path begins with one of `skip`."""
    import os
    import sys
    import warnings

    from numbalite import _core

    _core.invalidate_trace()  # a replayed call would not warn again
    others = (os.path.dirname(os.path.abspath(__file__)) + os.sep, *skip)
    level, frame = 1, sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(others):
        level, frame = level + 1, frame.f_back  # type: ignore[assignment]
    warnings.warn(message, category, stacklevel=level + 1 if frame is not None else 2)


# Names that programs written for numba import.
NumbaError = NumbaliteError
NumbaWarning = NumbaliteWarning
NumbaPerformanceWarning = PerformanceWarning
NumbaInvalidConfigWarning = InvalidConfigWarning
TypingError = SignatureError
NumbaTypeError = SignatureError
NumbaValueError = SignatureError
UnsupportedError = UnsupportedBytecodeError = UnsupportedParforsError = TranslationError
UnsupportedRewriteError = NotDefinedError = RedefinedError = VerificationError = TranslationError
ForbiddenConstruct = ConstantInferenceError = IRError = ByteCodeSupportError = TranslationError
UntypedAttributeError = RequireLiteralValue = LiteralTypingError = TranslationError
NumbaAttributeError = NumbaAssertionError = NumbaNotImplementedError = TranslationError
NumbaKeyError = NumbaIndexError = NumbaRuntimeError = TranslationError
LoweringError = CompilerError = InternalError = CompileError
NonexistentTargetError = InternalTargetMismatchError = ForceLiteralArg = NumbaliteError


class NumbaDeprecationWarning(NumbaliteWarning, DeprecationWarning):
    """Never issued; programs ignore this warning, and no other warning of numbalite."""


class NumbaPendingDeprecationWarning(NumbaliteWarning, PendingDeprecationWarning):
    """Never issued, as NumbaDeprecationWarning."""


class NumbaDebugInfoWarning(NumbaliteWarning):
    """Never issued."""


class NumbaExperimentalFeatureWarning(NumbaliteWarning):
    """Never issued."""


class NumbaIRAssumptionWarning(NumbaliteWarning):
    """Never issued."""


class NumbaParallelSafetyWarning(NumbaliteWarning):
    """Never issued."""


class NumbaPedanticWarning(NumbaliteWarning):
    """Never issued."""


class NumbaSystemWarning(NumbaliteWarning):
    """Never issued."""


class NumbaTypeSafetyWarning(NumbaliteWarning):
    """Never issued."""


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
