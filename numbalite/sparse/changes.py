"""Changes sparse arrays in place: setdiag and resize."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from numbalite.functions import arguments
from numbalite.functions.creation import number_sequence
from numbalite.sparse import construct

if TYPE_CHECKING:
    from typing import Any


def diagonal_values(a: Any, values: Any, k: int) -> Any:
    """Returns the values that a.setdiag(values, k) writes: a device array with the array's dtype,
    cut to the diagonal's length."""
    if a.ndim != 2:
        raise ValueError("setdiag requires a sparse array of two dimensions")
    rows, columns = a.shape
    if k >= max(columns, 1) or -k >= max(rows, 1):
        raise ValueError(f"setdiag: k is {k}, which is outside of shape {a.shape}")
    values = arguments.as_device_array(values, "values")
    if values.ndim > 1:
        raise ValueError(
            f"setdiag: values has shape {values.shape}: a number or a vector is needed"
        )
    length = min(rows + min(k, 0), columns - max(k, 0))
    values = values.astype(a.dtype, copy=False)
    return values[:length] if values.ndim else np.broadcast_to(values, (length,))


def set_diagonal(a: Any, values: Any, k: int) -> None:
    """Implements a.setdiag(values, k): removes the stored elements of the diagonal and appends the new
    elements."""
    with arguments.on_device_of(a.data):
        values = diagonal_values(a, values, k)
        coo = a.tocoo()
        first, left = max(-k, 0), max(k, 0)
        on_it = np.equal(np.add(coo.row.astype(np.int64), k), coo.col)
        others = coo._filter_elements(np.logical_not(on_it & np.less(coo.row, first + values.size)))
        kind = coo.row.dtype
        row, col = (number_sequence(one, 1, values.size, kind, values) for one in (first, left))
        coords = [np.concatenate(pair) for pair in zip(others.coords, (row, col), strict=True)]
        data = np.concatenate([others.data, values])
        a._replace_contents(coo._from_parts(data, coords, a.shape).asformat(a.format))


def resize(a: Any, shape: Any) -> None:
    """Implements a.resize(shape)."""
    shape = construct.shape_of("resize", shape if np.iterable(shape) else (shape,), a.ndim)
    with arguments.on_device_of(a.data):
        least = tuple(map(min, shape, a.shape))
        part = a if least == a.shape else a[tuple(slice(length) for length in least)]
        a._replace_contents(part.asformat(a.format)._grown_copy(shape))
