"""The functions of a CUDA library: `CUSOLVER.handle(device, stream)("Xgetrf", ...)`.

A handle belongs to one thread and one device, and is told the stream when that changes. The arguments are
those of the C function after the handle: ints, device arrays, None for a null pointer, and addresses of
ctypes objects for what is written on the host.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import sys
import threading
from typing import TYPE_CHECKING

import numpy as np

from numbalite import _core
from numbalite.compilers import toolkit
from numbalite.errors import CudaAPIError, CudaSupportError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

CUDA_TYPES = {"e": 2, "f": 0, "d": 1, "F": 4, "D": 5}
"""numpy's type characters -> cudaDataType"""
LETTERS = {"f": "S", "d": "D", "F": "C", "D": "Z"}
"""numpy's type characters -> the letter in names of functions that there is one of for each type"""

_GENERAL = {
    1: "NOT_INITIALIZED", 2: "ALLOC_FAILED", 3: "INVALID_VALUE", 4: "ARCH_MISMATCH",
    5: "MAPPING_ERROR", 6: "EXECUTION_FAILED", 7: "INTERNAL_ERROR", 8: "MATRIX_TYPE_NOT_SUPPORTED",
}  # fmt: skip
_SOLVER = {**_GENERAL, 9: "NOT_SUPPORTED"}
_SPARSE = {**_GENERAL, 9: "ZERO_PIVOT", 10: "NOT_SUPPORTED", 11: "INSUFFICIENT_RESOURCES"}
_FFT = {
    1: "INVALID_PLAN", 2: "ALLOC_FAILED", 4: "INVALID_VALUE", 5: "INTERNAL_ERROR", 6: "EXEC_FAILED",
    7: "SETUP_FAILED", 8: "INVALID_SIZE", 9: "UNALIGNED_DATA", 11: "INVALID_DEVICE", 14: "NOT_IMPLEMENTED",
    16: "NOT_SUPPORTED", 17: "MISSING_DEPENDENCY", 18: "NVRTC_FAILURE", 19: "NVJITLINK_FAILURE",
}  # fmt: skip
_BLAS = {
    1: "NOT_INITIALIZED", 3: "ALLOC_FAILED", 7: "INVALID_VALUE", 8: "ARCH_MISMATCH",
    11: "MAPPING_ERROR", 13: "EXECUTION_FAILED", 14: "INTERNAL_ERROR", 15: "NOT_SUPPORTED",
}  # fmt: skip


class Library:
    """A library: where it is, its functions as they are asked for, its handles."""

    def __init__(self, name: str, prefix: str, suffix: str, statuses: dict, simulated: str) -> None:
        self.name = name
        self.prefix = prefix
        self.suffix = suffix
        self.statuses = statuses
        self.simulated = simulated
        self.functions: dict[str, Callable] = {}
        self._handles = threading.local()

    def handle(self, device: int, stream: Any) -> Handle:
        """The calling thread's handle on a device, for work on a stream."""
        handles = self._handles.__dict__
        found = handles.get(device)
        if found is None or found.generation != _core.device_generation(device):
            found = handles[device] = Handle(self, device)
        if found.stream is not stream:
            found.use(stream)
        return found

    def find(self, name: str) -> Callable:
        """The function of a name, without the library's prefix."""
        found = self.functions.get(name)
        if found is None:
            found = self.functions[name] = self._load(name)
        return found

    def _load(self, name: str) -> Callable:
        if _core.driver_has("host_code"):
            module = importlib.import_module(f"numbalite.libraries.{self.simulated}")
            return _outside_captures(f"{self.prefix}{name}", getattr(module, name))
        return _core.LibraryCall(self.path(), f"{self.prefix}{name}")

    def has(self, name: str) -> bool:
        """Is there such a function? Older libraries lack some."""
        try:
            self.find(name)
        except CudaSupportError:
            return False
        return True

    def path(self) -> str:
        """The library's file: what the running driver can use, the newest first."""
        newest = _core.driver_version() // 1000
        for major in range(newest, toolkit.OLDEST - 1, -1):
            for folder in toolkit.folders_with(self.name):
                for version in range(major, major - 3, -1):
                    path = os.path.join(folder, f"lib{self.name}.so.{version}")
                    if os.path.exists(path):
                        return path
        raise CudaSupportError(
            f"the library {self.name} is not installed: pip install "
            f'"cuda-toolkit[cublas,cufft,cusolver,cusparse]=={newest}.*"'
        )

    def failure(self, name: str, status: int) -> CudaAPIError:
        """The exception that a status stands for."""
        word = self.statuses.get(status, "unknown status")
        call = f"{self.prefix}{name}"
        return CudaAPIError(status, f"{call} failed ({self.name.upper()}_STATUS_{word})", call)


def _outside_captures(name, function):
    """A function of the simulator: it works at once, a graph cannot have it."""

    def call(stream, *args):
        if _core.capture_here():
            raise RuntimeError(
                f"{name} is computed by NumPy on the simulator, and a graph cannot capture that: "
                "capture it on a GPU"
            )
        return function(stream, *args)

    return call


class Handle:
    """A handle of a library, of one thread on one device."""

    def __init__(self, library: Library, device: int) -> None:
        self.owner = library
        self.device = device
        self.generation = _core.device_generation(device)
        self.functions = library.functions
        self.stream: Any = 0
        number = ctypes.c_void_p()
        self.number = 0
        self._plain(f"Create{library.suffix}", ctypes.addressof(number))
        self.number = number.value or 0

    def _plain(self, name, *args):
        status = self.owner.find(name)(0, *args)
        if status:
            raise self.owner.failure(name, status)

    def use(self, stream: Any) -> None:
        """Work goes to this stream from now on."""
        number = getattr(stream, "handle", 0) if stream else 0
        self._plain(f"SetStream{self.owner.suffix}", self.number, number)
        self.stream = stream

    def __call__(self, name: str, *args: Any) -> None:
        function = self.functions.get(name) or self.owner.find(name)
        status = function(self.stream, self.number, *args)
        if status:
            raise self.owner.failure(name, status)

    def plain(self, name: str, *args: Any) -> None:
        """A function that does not take the handle."""
        function = self.functions.get(name) or self.owner.find(name)
        status = function(self.stream, *args)
        if status:
            raise self.owner.failure(name, status)

    def make(self, name: str, *args: Any) -> int:
        """What a function makes that writes its address first and does not take the handle."""
        number = ctypes.c_void_p()
        self.plain(name, ctypes.addressof(number), *args)
        return number.value or 0

    def sizes(self, name: str, *args: Any) -> tuple[int, int]:
        """What a function that writes two sizes, of memory on the device and on the host, says."""
        pair = (ctypes.c_size_t * 2)()
        first = ctypes.addressof(pair)
        self(name, *args, first, first + ctypes.sizeof(ctypes.c_size_t))
        return pair[0], pair[1]

    def size(self, name: str, *args: Any, kind: Any = ctypes.c_size_t) -> int:
        """What a function says that writes one size, last of its arguments."""
        one = kind()
        self(name, *args, ctypes.addressof(one))
        return one.value

    def __del__(self, is_finalizing: Any = sys.is_finalizing) -> None:
        if getattr(self, "number", 0) and not is_finalizing() and _core.is_open():
            if self.generation == _core.device_generation(self.device):
                self.owner.find(f"Destroy{self.owner.suffix}")(0, self.number)


def workspace(size: int) -> Any:
    """Device memory of a number of bytes for a call, on the current device."""
    return _core.device_empty((max(size, 1),), np.dtype("u1"))


CUSOLVER = Library("cusolver", "cusolverDn", "", _SOLVER, "solversim")
CUSPARSE = Library("cusparse", "cusparse", "", _SPARSE, "sparsesim")
CUFFT = Library("cufft", "cufft", "", _FFT, "fftsim")
CUBLAS = Library("cublas", "cublas", "_v2", _BLAS, "solversim")
