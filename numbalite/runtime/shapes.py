"""Shapes and strides as plain tuples: what reshaping, broadcasting and copying do to them.

No memory is read, so that tests compare every function with NumPy. C code computes the strides (core/layout.c).
"""

from __future__ import annotations

import itertools
import math
import operator
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np

from numbalite import _core

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_KEPT = 1024
AxisError = getattr(np, "exceptions", np).AxisError


def _brief(shape):
    """A shape as NumPy's messages have it: "(2,3)"."""
    return f"({shape[0]},)" if len(shape) == 1 else f"({','.join(map(str, shape))})"


def order_of(order: Any, default: str = "K", letters: str = "CFAK") -> str:
    """An order as NumPy takes it, in either case or None, as one of the letters."""
    if order is None:
        return default
    if not isinstance(order, str):
        raise TypeError(f"order must be str, not {type(order).__name__}")
    letter = order.upper()
    if letter in tuple(letters):
        return letter
    named = ", ".join(map(repr, letters[:-1])) + f" or {letters[-1]!r}"
    raise ValueError(f"order must be one of {named} (got {order!r})")


def check_copy(copy: Any) -> None:
    """ValueError for copy="never" and the like, which would be true."""
    if isinstance(copy, str):
        raise ValueError("strings are not allowed for 'copy' keyword. Use True/False/None instead.")


def squeezed_to(shape: tuple[int, ...], wanted: tuple[int, ...]) -> tuple[int, ...]:
    """`shape` without leading ones that `wanted` has no room for, if it can be broadcast to it."""
    extra = max(len(shape) - len(wanted), 0)
    short = shape[extra:]
    fits = all(length == 1 for length in shape[:extra])
    for have, want in zip(short[::-1], wanted[::-1], strict=False):
        fits = fits and have in (1, want)
    if not fits:
        ones = next(i for i in range(len(shape)) if shape[i] != 1 or len(shape) - i == len(wanted))
        raise ValueError(
            f"could not broadcast input array from shape {_brief(shape[ones:])} "
            f"into shape {_brief(wanted)}"
        )
    return short


def spread(
    shape: tuple[int, ...], strides: tuple[int, ...], wanted: tuple[int, ...]
) -> tuple[int, ...]:
    """Strides with which an array of `shape` appears as one of the shape `wanted`."""
    made = _core.broadcast_strides(shape, strides, wanted)
    if made is None:
        squeezed_to(shape, wanted)  # raises
        raise AssertionError("a shape that can be broadcast")
    return made


def axis_number(axis: SupportsIndex, ndim: int, what: str | None = None) -> int:
    """An axis counted from the front; AxisError, in which `what` names the argument."""
    number = operator.index(axis)
    if not -ndim <= number < ndim:
        raise AxisError(number, ndim, what)
    return number % ndim


MAX_ITEMS = 64  # NumPy's limit of dimensions


def items_of(values: Iterable[Any], what: str = "shape or axes") -> tuple[Any, ...]:
    """A tuple of a sequence from outside, of at most MAX_ITEMS items. ValueError if there are more,
    before they are stored: range(2**62) is a sequence, too."""
    items = tuple(itertools.islice(values, MAX_ITEMS + 1))
    if len(items) > MAX_ITEMS:
        raise ValueError(f"{what}: a sequence of more than {MAX_ITEMS} items")
    return items


def numbers_of(value: Any) -> tuple[int, ...]:
    """One integer or several, as NumPy reads shapes and axes: several may be an array."""
    try:
        return (operator.index(value),)
    except TypeError:
        if not hasattr(value, "__iter__"):
            raise TypeError(
                f"expected a sequence of integers or a single integer, got {value!r}"
            ) from None
    return tuple(map(operator.index, items_of(value)))


def new_shape_of(size: int, shape: tuple[Any, ...]) -> tuple[int, ...]:
    """The arguments of reshape as a tuple, with -1 worked out."""
    shape = numbers_of(shape[0] if len(shape) == 1 else shape)
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


def strides_after(
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    itemsize: int,
    new_shape: tuple[int, ...],
    order: str,
) -> tuple[int, ...] | None:
    """Strides with which the elements appear in a new shape, or None if there is no such view."""
    if order != "F":
        return _core.reshaped_strides(shape, strides, itemsize, new_shape)
    made = _core.reshaped_strides(shape[::-1], strides[::-1], itemsize, new_shape[::-1])
    return made and made[::-1]


packed_like = _core.strides_like
packed_as = _core.strides_as


def as_in_memory(shape: tuple[int, ...], *strides: tuple[int, ...]) -> list[int]:
    """The axes, outermost first, as NumPy's iterator walks over the elements of arrays of one shape in the order
    "K": an axis with no stride stays among its neighbours, and where the arrays differ, C order wins."""
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


def merged(axes: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Axes (length, stride, stride, ...), outermost first, of which neighbours are joined that all strides walk as
    one.

    >>> merged([(2, 12, 24), (3, 4, 8)])
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
