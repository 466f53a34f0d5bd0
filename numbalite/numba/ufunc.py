"""Exports numba.np.ufunc and its modules: vectorize and guvectorize, the classes of their results, and the
thread pool."""

from __future__ import annotations

from typing import Any

from numpy import ufunc as DUFunc
from numpy import ufunc as GUFunc

from numbalite.numba import names
from numbalite.numba.threads import get_thread_count, threading_layer
from numbalite.runtime.threads import get_num_threads, set_num_threads
from numbalite.ufuncs.decorators import guvectorize, vectorize

__all__ = [
    "DUFunc",
    "GUFunc",
    "get_num_threads",
    "get_thread_count",
    "guvectorize",
    "set_num_threads",
    "threading_layer",
    "vectorize",
]


def __getattr__(name: str) -> Any:
    raise AttributeError(names.missing_name("numba.np.ufunc", name))
