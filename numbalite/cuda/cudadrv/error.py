"""Contains numba's names of exceptions: see numbalite.errors."""

from numbalite.errors import (
    CCSupportError,
    CudaDriverError,
    CudaRuntimeError,
    CudaSupportError,
    NvrtcBuiltinOperationFailure,
    NvrtcCompilationError,
    NvrtcError,
    NvrtcSupportError,
    NvvmError,
    NvvmSupportError,
    NvvmWarning,
)

__all__ = [
    "CCSupportError",
    "CudaDriverError",
    "CudaRuntimeError",
    "CudaSupportError",
    "NvrtcBuiltinOperationFailure",
    "NvrtcCompilationError",
    "NvrtcError",
    "NvrtcSupportError",
    "NvvmError",
    "NvvmSupportError",
    "NvvmWarning",
]
