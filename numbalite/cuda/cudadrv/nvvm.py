"""libNVVM is not used: kernels are CUDA C++ and NVRTC compiles them.

The module is here so that programs that ask for it get an answer.
"""

from numbalite.errors import NvvmError, NvvmSupportError, NvvmWarning

__all__ = ["NvvmError", "NvvmSupportError", "NvvmWarning", "is_available"]


def is_available() -> bool:
    """False: `cuda.is_available()` is the question to ask."""
    return False


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    raise NvvmSupportError(
        f"nvvm.{name}: numbalite has no NVVM; it compiles CUDA C++ with NVRTC (cuda.compile)"
    )
