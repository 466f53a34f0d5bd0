"""Everything that numbalite raises or warns about, in one family.

The extension module raises these classes too: it looks them up here by name. Names that programs
written for numba import are aliases, listed at the end.
"""

from __future__ import annotations


class NumbaliteError(Exception):
    """The family: whatever numbalite itself has to say."""


class CudaSupportError(NumbaliteError, ImportError):
    """Something is not installed, too old, or switched off: no driver, no device, no compiler.

    The message says what to install. An ImportError, as in numba.
    """


class CudaDriverError(NumbaliteError, RuntimeError):
    """The driver refused or failed."""


class CudaAPIError(CudaDriverError):
    """A driver call failed: ``code`` (its status), ``call`` (its name), ``remedy`` (may be "")."""

    def __init__(self, code, message="", call=None):
        super().__init__(code, message, call)
        self.code = code
        self.msg = self.message = message
        self.call = call

    @property
    def remedy(self):
        return _REMEDIES.get(self.code, "")

    def __str__(self):
        text = f"[{self.code}] {self.message}"
        if self.call and self.call not in self.message:
            text += f" (in {self.call})"
        if self.remedy and self.remedy not in text:
            text += f"\n{self.remedy}"
        return text


class CompileError(NumbaliteError, RuntimeError):
    """The compiler rejected the source.

    ``log`` is all that the compiler said, ``source`` is what it was given.
    """

    def __init__(self, message, log="", source=""):
        super().__init__(message)
        self.log = log
        self.source = source

    def __reduce__(self):
        return type(self), (*self.args, self.log, self.source)


class SignatureError(NumbaliteError, TypeError, ValueError):
    """A signature that is no signature, or that does not fit the source.

    Both a TypeError and a ValueError: numba raises the one or the other, and code written for it
    may catch either.
    """


class DeprecationError(NumbaliteError, TypeError):
    """An option that numba dropped long ago (``argtypes``, ``restype``, ``bind``)."""


class KernelError(NumbaliteError, RuntimeError):
    """A kernel went wrong on the device: a failed assert, or with ``debug=True`` a bad index.

    Attributes that are not known are None. ``block`` and ``thread`` are (x, y, z).
    """

    def __init__(
        self,
        message,
        kernel=None,
        block=None,
        thread=None,
        array=None,
        index=None,
        file=None,
        line=None,
    ):
        super().__init__(message)
        self.kernel = kernel
        self.block = block
        self.thread = thread
        self.array = array
        self.index = index
        self.file = file
        self.line = line

    def __reduce__(self):
        return type(self), (*self.args, self.kernel, self.block, self.thread, self.array,
                            self.index, self.file, self.line)  # fmt: skip

    @property
    def msg(self):
        return self.args[0]

    @property
    def tid(self):
        """The thread, under numba's name."""
        return self.thread

    @property
    def ctaid(self):
        """The block, under numba's name."""
        return self.block


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


def warn(message, category=NumbaliteWarning):
    """Warns at the nearest line of the caller's program that is not numbalite's own."""
    import os
    import sys
    import warnings

    package = os.path.dirname(os.path.abspath(__file__)) + os.sep
    level, frame = 1, sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(package):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level + 1 if frame is not None else 2)


# What to do about the statuses that users meet.
_REMEDIES = {
    2: "The device's memory is exhausted: drop arrays that are no longer needed, or work in pieces.",
    35: "The driver is older than the CUDA version asked for: update the NVIDIA driver.",
    100: "No CUDA device was found: look at nvidia-smi and CUDA_VISIBLE_DEVICES, "
    "or set NUMBALITE_DRIVER=sim.",
    101: "There is no device of that number: see cuda.list_devices().",
    209: "The code was compiled for another kind of GPU; `python -m numbalite cache clear` and "
    "compile again.",
    222: "The compiler is newer than the driver: update the driver, or install the NVRTC of the "
    "driver's CUDA version.",
    300: "The source given to the driver is not valid.",
    700: "A kernel accessed memory that does not belong to it. Compile it with debug=True to find "
    "the line. The device must be reset (cuda.close()) before it can be used again.",
    701: "The launch needs more registers, threads or shared memory than a multiprocessor has: use "
    "smaller blocks, or max_registers=.",
    702: "A kernel ran longer than the system allows for a GPU that drives a display.",
    710: "An assert() in a kernel failed. The device must be reset (cuda.close()) before it can be "
    "used again.",
    716: "A kernel accessed memory at an address that is not a multiple of the access's size.",
    717: "A kernel used an address of the wrong memory space.",
    718: "A kernel jumped to an address that is no code.",
    719: "A kernel failed. Compile it with debug=True to find the line. The device must be reset "
    "(cuda.close()) before it can be used again.",
    720: "A cooperative launch must fit on the device at once: use fewer blocks.",
    802: "The GPUs' fabric is not ready yet (is the fabric manager running?).",
    803: "The driver's library and its kernel module differ in version: restart the machine.",
    804: "This GPU cannot run the CUDA compatibility package that is installed.",
}

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
