"""Calls the functions of a CUDA library: `CUSOLVER.calls_on(stream)("Xgetrf", ...)`.

The arguments are those of the C function after the handle: ints, device arrays, None for a null
pointer, values (`Calls.create_object`, `memory`), and addresses of ctypes objects for results on the host.
The library handles are kept in C (core/handle), one for each device and stream.
"""

from __future__ import annotations

import ctypes
import importlib
import os
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


class Library:
    """A library: its path, and its functions, which are loaded on demand."""

    def __init__(self, name: str, prefix: str, simulated: str) -> None:
        self.name = name
        self.prefix = prefix
        self.simulated = simulated
        self.functions: dict[str, Callable] = {}

    def calls_on(self, stream: Any) -> Calls:
        """Returns an object with the library's functions, which work on a stream of the current device."""
        return Calls(self, stream)

    def find(self, name: str, handle: bool = True) -> Callable:
        """Finds a function by its name without the library's prefix; also returns whether its first parameter
        is a handle."""
        found = self.functions.get(name)
        if found is None:
            found = self.functions[name] = self._load(name, handle)
        return found

    def _load(self, name: str, handle: bool) -> Callable:
        if not _core.driver_has("host_code"):
            return _core.LibraryCall(
                self.path(), f"{self.prefix}{name}", self.name if handle else None
            )
        module = importlib.import_module(f"numbalite.runtime.libraries.{self.simulated}")
        try:
            function = getattr(module, name)
        except AttributeError:
            raise CudaSupportError(
                f"{self.prefix}{name} is not implemented on the simulator"
            ) from None
        allowed = name in getattr(module, "ALLOWED_IN_CAPTURES", ())
        return _wrap_simulated_function(f"{self.prefix}{name}", function, handle, allowed)

    def has_function(self, name: str) -> bool:
        """Returns whether the library has this function with a handle; older libraries lack some
        functions."""
        try:
            self.find(name)
        except CudaSupportError:
            return False
        return True

    def open(self) -> None:
        """Loads the functions that C code calls."""
        _core.cudalib_open(self.name, None if _core.driver_has("host_code") else self.path())

    def path(self) -> str:
        """Returns the path of the library's file: the newest version that the running driver supports."""
        newest = _core.driver_version() // 1000
        for major in range(newest, toolkit.OLDEST - 1, -1):
            for folder in toolkit.library_folders(self.name):
                for version in range(major, major - 3, -1):
                    path = os.path.join(folder, f"lib{self.name}.so.{version}")
                    if os.path.exists(path):
                        return path
        raise CudaSupportError(
            f"the library {self.name} is not installed: pip install "
            f'"cuda-toolkit[cublas,cufft,cusolver,cusparse]=={newest}.*"'
        )

    def failure(self, name: str, status: int) -> CudaAPIError:
        """Returns the exception for a status."""
        word = _core.cudalib_status(self.name, status)
        call = f"{self.prefix}{name}"
        return CudaAPIError(status, f"{call} failed ({self.name.upper()}_STATUS_{word})", call)


def _wrap_simulated_function(name, function, handle, allowed_in_captures):
    """Wraps a library function of the simulator. The wrapped function computes immediately, so no graph can
    capture it. The wrapped function receives integers in place of the LibraryValue arguments, and 0 in place
    of the handle."""
    first = (0,) if handle else ()

    def call(stream, *args):
        if not allowed_in_captures and _core.capture_here():
            raise RuntimeError(
                f"{name} is computed by NumPy on the simulator, where a graph cannot capture it: "
                "capture it on a GPU"
            )
        return function(
            stream, *first, *(int(a) if isinstance(a, _core.LibraryValue) else a for a in args)
        )

    call.outside_captures = function
    return call


class Calls:
    """A library's functions, for work on one stream of the current device."""

    __slots__ = "owner", "stream"

    def __init__(self, owner: Library, stream: Any) -> None:
        self.owner = owner
        self.stream = stream

    def __call__(self, name: str, *args: Any) -> None:
        function = self.owner.functions.get(name) or self.owner.find(name)
        status = function(self.stream, *args)
        if status:
            raise self.owner.failure(name, status)

    def call_without_handle(self, name: str, *args: Any) -> None:
        """Calls a function without a handle."""
        function = self.owner.functions.get(name) or self.owner.find(name, False)
        status = function(self.stream, *args)
        if status:
            raise self.owner.failure(name, status)

    def create_object(
        self, name: str, destroy: str, *args: Any, kept: Any = None, kind: Any = ctypes.c_void_p
    ) -> Any:
        """Calls a function without a handle that creates an object, and returns a LibraryValue with
        the number that the function writes to its first argument. The object is destroyed together with the
        LibraryValue. The LibraryValue also keeps the objects in `kept` alive; a use of the LibraryValue
        counts as a use of arrays in `kept`."""
        destroyer = self.owner.find(destroy, False)
        destroyer = getattr(destroyer, "outside_captures", destroyer)
        number = kind()
        self.call_without_handle(name, ctypes.addressof(number), *args)
        return _core.LibraryValue(number.value or 0, destroyer, kept)

    def read_sizes(self, name: str, *args: Any) -> tuple[int, int]:
        """Returns the sizes of device memory and of host memory, which a library function writes."""
        pair = (ctypes.c_size_t * 2)()
        first = ctypes.addressof(pair)
        self(name, *args, first, first + ctypes.sizeof(ctypes.c_size_t))
        return pair[0], pair[1]

    def size(self, name: str, *args: Any, kind: Any = ctypes.c_size_t) -> int:
        """Returns the size that a library function writes through its last argument."""
        one = kind()
        self(name, *args, ctypes.addressof(one))
        return one.value


def workspace(size: int) -> Any:
    """Allocates `size` bytes of device memory for a library call, on the current device."""
    return _core.device_empty((max(size, 1),), np.dtype("u1"))


def memory(size: int) -> Any:
    """Allocates `size` bytes of host memory for a library call; returns a LibraryValue of the address."""
    made = np.empty(max(size, 1), np.uint8)
    return _core.LibraryValue(made.ctypes.data, None, made)


def stream_number(stream: Any) -> int:
    """Returns a key that identifies a stream without keeping the stream alive; by default, the key of the
    thread's current stream."""
    return _core.stream_place(stream)[2]


CUSOLVER = Library("cusolver", "cusolverDn", "solversim")
CUSPARSE = Library("cusparse", "cusparse", "sparsesim")
CUFFT = Library("cufft", "cufft", "fftsim")
CUBLAS = Library("cublas", "cublas", "solversim")
