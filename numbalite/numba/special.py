"""numba.misc.special: words that mean something to the compiler."""

from numbalite.python.unroll import literal_unroll

__all__ = ["literal_unroll"]
