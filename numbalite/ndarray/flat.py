"""Implements `d.flat`, the elements of a device array in C order, as numpy.ndarray.flat."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

import numpy as np

from numbalite import _core

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from numbalite.ndarray.arrays import DeviceNDArray


_COMPARISONS = operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge


def _comparison_method(compared):
    """Returns a comparison method of Flat, from an operator function."""
    return lambda self, other: compared(self.base.ravel(), other)


class Flat:
    """The value of `d.flat`. Reading returns a copy; assigned values are repeated until all elements are
    set."""

    __slots__ = ("_rest", "base")
    __eq__, __ne__, __lt__, __le__, __gt__, __ge__ = map(_comparison_method, _COMPARISONS)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, base: DeviceNDArray) -> None:
        self.base = base
        self._rest: Iterator | None = None

    def __repr__(self) -> str:
        return f"<the {len(self)} elements of {self.base!r}>"

    def __len__(self) -> int:
        return self.base.size

    def __iter__(self) -> Flat:
        return self

    def __next__(self) -> Any:
        if self._rest is None:
            self._rest = iter(self.base.ravel())
        return next(self._rest)

    def copy(self) -> DeviceNDArray:
        return self.base.flatten()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self.base.ravel().__array__(dtype, copy)

    def __getitem__(self, key: Any) -> Any:
        _check_key(key)
        self._rest = None  # NumPy's begins again, too
        found: Any = self.base.ravel()[key]
        return found.copy() if isinstance(found, type(self.base)) else found

    def __setitem__(self, key: Any, value: Any) -> None:
        _check_key(key)
        self._rest = None
        view = self.base._reshaped_view((self.base.size,), "C", False)
        line = self.base.ravel() if view is None else view
        value = value if isinstance(value, _core.DeviceArray) else np.asarray(value)
        if value.size != 1:
            value = np.resize(value, _count_selected(line, key)) if value.size else None
        if value is not None:
            line[key] = value.reshape(-1) if value.ndim > 1 else value
        if view is None:
            self.base[...] = line.reshape(self.base.shape)


def _check_key(key):
    if isinstance(key, tuple):
        raise IndexError(f"a flat array has one dimension, but {len(key)} were indexed")
    if key is None:
        raise IndexError(
            "only integers, slices (`:`), ellipsis (`...`) and integer or boolean arrays are valid indices"
        )


def _count_selected(line, key):
    """Returns the number of elements that a key selects."""
    if isinstance(key, slice):
        return len(range(*key.indices(line.size)))
    if key is Ellipsis:
        return line.size
    if hasattr(key, "__index__") and not np.ndim(key):
        raise ValueError("Error setting single item of array.")
    if getattr(getattr(key, "dtype", None), "kind", None) == "b":
        return int(np.count_nonzero(key))
    return np.size(key)
