"""Contains numba's names for the libraries of the toolkit. Of these libraries, numbalite needs only NVRTC."""

from __future__ import annotations

import ctypes
import sys
from typing import TYPE_CHECKING

from numbalite.compilers import nvrtc, toolkit
from numbalite.errors import CudaSupportError

if TYPE_CHECKING:
    from typing import Any

__all__ = ["get_cuda_include_dir", "get_cudalib", "get_libdevice", "open_cudalib", "test"]

_NONE = "numbalite compiles CUDA C++ with NVRTC and uses neither libNVVM nor libdevice"


def get_cudalib(lib: str, static: bool = False) -> str:
    """Returns the path of NVRTC; for any other library, the name by which the system would search it."""
    if lib == "nvrtc" and not static:
        return str(toolkit.nvrtc_library().path)
    return f"lib{lib}.a" if static else f"lib{lib}.so"


def open_cudalib(lib: str) -> Any:
    """Returns the library, opened by ctypes."""
    return ctypes.CDLL(get_cudalib(lib))


def get_libdevice() -> Any:
    """Raises CudaSupportError: numbalite does not use libdevice."""
    raise CudaSupportError(_NONE)


open_libdevice = get_libdevice


def get_cuda_include_dir() -> Any:
    """Returns the first of the toolkit's include directories, or None."""
    found = toolkit.include_directories()
    return str(found[0]) if found else None


def test() -> bool:
    """Prints the libraries that were found, as `numba -s` does, and returns True if kernels can be
    compiled."""
    try:
        library, version, _ = nvrtc.open_library()
    except CudaSupportError as problem:
        print(f"\tNVRTC: ERROR: {problem}", file=sys.stdout)
        return False
    print(f"\tNVRTC {version[0]}.{version[1]}: {library.path}")
    for path in toolkit.include_directories():
        print(f"\tinclude directory: {path}")
    return True
