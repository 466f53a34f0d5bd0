"""Holds functions of higher packages that arrays call. numbalite.cuda sets them before it creates an
array."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

cast_ufunc: Any = None
"""Returns the ufunc that converts to a dtype: numbalite.ufuncs.cudaufunc.cast_ufunc."""
masks: Any = None
"""Returns the module numbalite.algorithms.masks, which reads and writes elements by a mask."""
before_pickling: Callable[[], None] | None = None
"""Called before an array is pickled: registers the serialization of arrays with dask."""
