"""Exports numba's names for the thread pool."""

from __future__ import annotations

from numbalite.runtime import threads


def threading_layer() -> str:
    """Returns the name of the threading layer of target="parallel": numbalite's own pool of
    threads."""
    return "numbalite"


def get_thread_count() -> int:
    """Returns the number of threads of the pool."""
    return threads.pool_size()
