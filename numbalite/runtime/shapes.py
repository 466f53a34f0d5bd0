"""Computes shapes and strides of arrays, as tuples: broadcasting, reshaping, axis numbers and axis order.

The functions access no device memory, so tests compare all of them with NumPy. Strides are computed in C
(core/layout.c).
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Sized
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np

from numbalite import _core

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_KEPT = 1024
MAX_ITEMS = 64  # NumPy's maximum number of dimensions
_MAX_LISTED = 1 << 24  # arrays or seeds in one sequence
NESTED = f"lists are nested more than {MAX_ITEMS} deep"
AxisError = getattr(np, "exceptions", np).AxisError


def _shape_text(shape):
    """Returns the text of a shape as in NumPy's messages: "(2,3)"."""
    return f"({shape[0]},)" if len(shape) == 1 else f"({','.join(map(str, shape))})"


def order_of(order: Any, default: str = "K", letters: str = "CFAK") -> str:
    """Normalizes an `order` argument to one of `letters`: the argument may be in lower case, and None means
    `default`."""
    if order is None:
        return default
    if not isinstance(order, str):
        raise TypeError(f"order must be str, not {type(order).__name__}")
    letter = order.upper()
    if letter in tuple(letters):
        return letter
    named = ", ".join(map(repr, letters[:-1])) + f" or {letters[-1]!r}"
    raise ValueError(f"order must be one of {named} (got {order!r})")


def ndim_of(value: Any) -> int:
    """Returns the same as np.ndim(value), which would copy device arrays in a list to the host. Raises
    ValueError for lists that are nested more than MAX_ITEMS deep: a list may contain itself."""
    for count in range(MAX_ITEMS + 1):
        if not isinstance(value, (list, tuple)):
            return count + np.ndim(value)
        if not value:
            return count + 1
        value = value[0]
    raise ValueError(NESTED)


def check_copy(copy: Any) -> None:
    """Raises ValueError if `copy` is a string, because copy="never" would count as true."""
    if isinstance(copy, str):
        raise ValueError("strings are not allowed for 'copy' keyword. Use True/False/None instead.")


def drop_leading_ones(shape: tuple[int, ...], wanted: tuple[int, ...]) -> tuple[int, ...]:
    """Removes leading axes of length 1 until `shape` has at most the axes of `wanted`.

    Raises ValueError if the result cannot be broadcast to `wanted`.
    """
    extra = max(len(shape) - len(wanted), 0)
    short = shape[extra:]
    fits = all(length == 1 for length in shape[:extra])
    for have, want in zip(short[::-1], wanted[::-1], strict=False):
        fits = fits and have in (1, want)
    if not fits:
        ones = next(i for i in range(len(shape)) if shape[i] != 1 or len(shape) - i == len(wanted))
        raise ValueError(
            f"could not broadcast input array from shape {_shape_text(shape[ones:])} "
            f"into shape {_shape_text(wanted)}"
        )
    return short


def broadcast_strides(
    shape: tuple[int, ...], strides: tuple[int, ...], wanted: tuple[int, ...]
) -> tuple[int, ...]:
    """Returns the strides that broadcast an array of this shape and these strides to the shape `wanted`."""
    made = _core.broadcast_strides(shape, strides, wanted)
    if made is None:
        drop_leading_ones(shape, wanted)  # raises
        raise AssertionError("a shape that can be broadcast")
    return made


def axis_index(axis: SupportsIndex) -> int:
    """Returns an axis argument as an integer. Raises TypeError for other types, and for booleans, which NumPy's
    compiled functions refuse: in sum(x, True), the caller probably meant keepdims=True."""
    if isinstance(axis, (bool, np.bool_)):
        raise TypeError(f"an integer is required for the axis, not {axis!r}")
    return operator.index(axis)


def axis_number(axis: SupportsIndex, ndim: int, what: str | None = None) -> int:
    """Returns an axis number in range(ndim) for an axis number that may be negative. An AxisError contains
    the argument's name, `what`."""
    number = operator.index(axis)
    if not -ndim <= number < ndim:
        raise AxisError(number, ndim, what)
    return number % ndim


def tuple_of_items(values: Iterable[Any], what: str = "shape or axes") -> tuple[Any, ...]:
    """Returns the items of a user's sequence as a tuple. Raises ValueError for more than MAX_ITEMS
    items, without reading all of them: range(2**62) is a sequence, too."""
    items = tuple(itertools.islice(values, MAX_ITEMS + 1))
    if len(items) > MAX_ITEMS:
        raise ValueError(f"{what}: a sequence of more than {MAX_ITEMS} items")
    return items


def list_of_items(values: Iterable[Any], what: str) -> list[Any]:
    """Returns the items of a user's sequence of arrays or seeds as a list: at most as many as its length.
    Raises ValueError for more than 2**24 items, without reading all of them."""
    if type(values) in (list, tuple):
        return list(values)
    items: list[Any] = []
    count = len(values) if isinstance(values, Sized) else _MAX_LISTED + 1
    if count <= _MAX_LISTED + 1:
        items = list(itertools.islice(values, count))
        count = len(items)
    if count > _MAX_LISTED:
        raise ValueError(f"{what}: a sequence of more than {_MAX_LISTED} items")
    return items


def tuple_of_integers(value: Any) -> tuple[int, ...]:
    """Returns a tuple of integers from a shape or axis argument: an integer, or a sequence (or array) of integers."""
    try:
        return (operator.index(value),)
    except TypeError:
        if not hasattr(value, "__iter__"):
            raise TypeError(
                f"expected a sequence of integers or a single integer, got {value!r}"
            ) from None
    return tuple(map(operator.index, tuple_of_items(value)))


def new_shape_of(size: int, shape: tuple[Any, ...]) -> tuple[int, ...]:
    """Returns the shape that the arguments of reshape specify, with -1 replaced by the missing length."""
    shape = tuple_of_integers(shape[0] if len(shape) == 1 else shape)
    product, least = math.prod(shape), min(shape, default=0)
    if product == size and least >= 0:
        return shape
    if product < 0 and least == -1 and shape.count(-1) == 1 and size % product == 0:
        return tuple([-size // product if length == -1 else length for length in shape])
    if shape.count(-1) > 1:
        raise ValueError("only one length can be unknown")
    known = math.prod(length for length in shape if length != -1)
    if any(length < -1 for length in shape):
        raise ValueError("negative lengths are not allowed")
    if -1 in shape and known and size % known == 0:
        shape = tuple(size // known if length == -1 else length for length in shape)
    if -1 in shape or math.prod(shape) != size:
        raise ValueError(f"cannot reshape array of size {size} into shape {shape}")
    return shape


packed = _core.packed_strides


def strides_of_reshape(
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    itemsize: int,
    new_shape: tuple[int, ...],
    order: str,
) -> tuple[int, ...] | None:
    """Returns the strides of the reshaped view, or None if the reshape needs a copy."""
    if order != "F":
        return _core.reshaped_strides(shape, strides, itemsize, new_shape)
    made = _core.reshaped_strides(shape[::-1], strides[::-1], itemsize, new_shape[::-1])
    return made and made[::-1]


packed_like = _core.strides_like
packed_as = _core.strides_as


def memory_axis_order(shape: tuple[int, ...], *strides: tuple[int, ...]) -> list[int]:
    """Returns the axis order of NumPy's "K" for arrays of one shape, outermost axis first.

    Axes are sorted by decreasing stride. An axis of stride 0 (broadcast) keeps its position. Axes whose order
    differs between the arrays stay in C order.
    """
    inwards: list[int] = []
    for axis in reversed(range(len(shape))):
        place = len(inwards)
        for i in reversed(range(len(inwards))):
            other = inwards[i]
            compared = [
                abs(steps[other]) <= abs(steps[axis])
                for steps in strides
                if shape[axis] != 1 != shape[other] and steps[axis] and steps[other]
            ]
            if any(compared):
                break
            if compared:
                place = i
        inwards.insert(place, axis)
    return inwards[::-1]


def merge_axes(axes: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Merges neighbouring axes (length, stride, stride, ...), outermost first, if all arrays allow it.

    An outer axis absorbs the next axis if, for all arrays, its stride is the next axis's length times stride.

    >>> merge_axes([(2, 12, 24), (3, 4, 8)])
    [(6, 4, 8)]
    """
    made = list(axes[:1])
    for length, *strides in axes[1:]:
        outer, *around = made[-1]
        if all(a == b * length for a, b in zip(around, strides, strict=True)):
            made[-1] = (outer * length, *strides)
        else:
            made.append((length, *strides))
    return made
