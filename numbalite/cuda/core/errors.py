"""numba's names of exceptions and warnings: see numbalite.errors."""

from numbalite.errors import (
    DeprecationError,
    LoweringError,
    NumbaDebugInfoWarning,
    NumbaDeprecationWarning,
    NumbaError,
    NumbaInvalidConfigWarning,
    NumbaPerformanceWarning,
    NumbaTypeError,
    NumbaValueError,
    NumbaWarning,
    TypingError,
)

__all__ = [
    "DeprecationError",
    "LoweringError",
    "NumbaDebugInfoWarning",
    "NumbaDeprecationWarning",
    "NumbaError",
    "NumbaInvalidConfigWarning",
    "NumbaPerformanceWarning",
    "NumbaTypeError",
    "NumbaValueError",
    "NumbaWarning",
    "TypingError",
]
