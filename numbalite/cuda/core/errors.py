"""numba's names of exceptions and warnings: see numbalite.errors."""

from numbalite.errors import (
    DeprecationError,
    LoweringError,
    NumbaDeprecationWarning,
    NumbaError,
    NumbaInvalidConfigWarning,
    NumbaPerformanceWarning,
    NumbaWarning,
    TypingError,
)

__all__ = [
    "DeprecationError",
    "LoweringError",
    "NumbaDeprecationWarning",
    "NumbaError",
    "NumbaInvalidConfigWarning",
    "NumbaPerformanceWarning",
    "NumbaWarning",
    "TypingError",
]
