"""Defines Value: an expression during translation, with its type by numba's rules and its C++ text.

A Value has a numba type and a C++ type, which may differ: ``threadIdx.x`` is an int32 in numba and an unsigned
int in C++, an integer literal is an int64 in numba and an int in C++. An integer Value also has a range. No
conversion is written for an operation that cannot overflow the C++ type.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from numbalite import types
from numbalite.cxx import capture

# Precedence of C++ expressions.
PRIMARY, UNARY, PRODUCT, SUM, SHIFT, ORDER, EQUAL = 100, 90, 80, 70, 60, 50, 40
BIT_AND, BIT_XOR, BIT_OR, AND, OR, CHOICE = 35, 34, 33, 30, 20, 10

NOTHING: Any = object()
Range = tuple[int, int]


class CompileTimeType(types.Type):
    """The type of a value that exists only at compile time: a module, a function, a type, a string. ``value``
    is the Python object."""

    __slots__ = ("value",)
    value: Any

    def __init__(self, value: Any) -> None:
        super().__init__(f"{type(value).__name__} {getattr(value, '__name__', repr(value))}")
        object.__setattr__(self, "value", value)

    def _key(self):
        return id(self.value)


class FixedArray(types.Array):
    """An array in shared, local or constant memory, with a shape that is known at compile time."""

    __slots__ = ("alignment", "shape", "space")
    shape: tuple[int, ...]
    space: str
    alignment: int
    """In bytes; 0: that of an element."""

    def __init__(
        self, dtype: Any, shape: Any, space: str, readonly: bool = False, alignment: int = 0
    ) -> None:
        super().__init__(dtype, len(shape), "C", readonly)
        object.__setattr__(self, "shape", tuple(shape))
        object.__setattr__(self, "space", space)
        object.__setattr__(self, "alignment", alignment)

    @property
    def view(self) -> types.Array:
        """The type of a view of a shared, local or constant array, C-contiguous, of any shape."""
        return types.Array(self.dtype, self.ndim, "C", self.readonly)

    def _key(self):
        return super()._key(), self.shape, self.space, self.alignment


class Sequence(types.Type):
    """An iterable of a ``for``: ``range``, ``enumerate``, ``zip``. ``item`` is the type of the values that a
    ``range`` yields; None for the others, whose arguments determine the type."""

    __slots__ = ("item", "kind")
    item: types.Type | None
    kind: str

    def __init__(self, kind: str, item: Any) -> None:
        super().__init__(f"{kind}({item})")
        object.__setattr__(self, "kind", kind)
        object.__setattr__(self, "item", item)


@dataclass
class Value:
    """A typed expression, immutable by convention, because ``frozen=True`` would make translation 8 % slower."""

    type: Any
    """A types.Type."""
    text: str = ""
    precedence: int = PRIMARY
    cxx: Any = None
    """The C++ type of the text, for a number; else ``type``."""
    range: Range | None = None
    """The minimum and maximum of an integer."""
    constant: Any = NOTHING
    """The value, if it is known at compile time."""
    items: tuple[Value, ...] | None = None
    """The items of a tuple display, or of a tuple whose items have separate texts."""
    calls: bool = False
    """Has side effects, so it must be evaluated exactly once."""
    loads: bool = False
    """Reads memory that a store may change."""

    def __post_init__(self) -> None:
        if self.cxx is None:
            self.cxx = self.type
        if self.range is None and is_integral(self.type):
            self.range = full_range(self.cxx)

    def text_at(self, precedence: int) -> str:
        """Returns the C++ text, in parentheses if an operator of this precedence needs them."""
        return self.text if self.precedence >= precedence else f"({self.text})"

    @property
    def is_nonnegative(self) -> bool:
        """Returns whether the value is proved not to be negative."""
        return self.range is not None and self.range[0] >= 0

    @property
    def is_constant(self) -> bool:
        return self.constant is not NOTHING

    def replace(self, **changes: Any) -> Value:
        """Returns a copy with these fields changed. Unless passed, ``cxx`` and ``range`` keep their
        values."""
        return Value(**{**self.__dict__, **changes})


_KINDS = {t.name: t.dtype.kind for t in types.SCALARS}
_RANGES: dict[str, Range] = {"boolean": (0, 1)} | {
    t.name: (int(np.iinfo(t.dtype).min), int(np.iinfo(t.dtype).max))
    for t in types.SCALARS
    if t.dtype.kind in "iu"
}


def is_number(t: Any) -> bool:
    return type(t) is types.Scalar


def is_integral(t: Any) -> bool:
    """Returns whether the type is an integer or a boolean."""
    return type(t) is types.Scalar and t.name in _RANGES


def is_real(t: Any) -> bool:
    return type(t) is types.Scalar and _KINDS[t.name] == "f"


def is_complex(t: Any) -> bool:
    return type(t) is types.Scalar and _KINDS[t.name] == "c"


def full_range(t: Any) -> Range:
    return _RANGES[t.name]


def is_in_range(inner: Range | None, t: Any) -> bool:
    """Returns whether the type can represent all numbers of the range."""
    low, high = full_range(t)
    return inner is not None and low <= inner[0] and inner[1] <= high


def union_of_ranges(a: Range | None, b: Range | None) -> Range | None:
    return None if a is None or b is None else (min(a[0], b[0]), max(a[1], b[1]))


def number(value: Any) -> Value:
    """Returns the Value of a literal constant."""
    cxx = capture.constant_type(value)
    if cxx is None:
        raise OverflowError(f"{value} does not fit in 64 bits")
    semantic = types.typeof(value)
    _, text = capture.literal_text(value)
    if is_complex(semantic):
        text = semantic.name + text[text.index("(") :]
    negative = text.startswith("-")
    limits = (int(value), int(value)) if is_integral(semantic) else None
    return Value(semantic, text, UNARY if negative else PRIMARY, cxx, limits, value)


def tuple_of(items: Any) -> Value:
    """Returns the Value of a tuple display with these items."""
    items = tuple(items)
    text = f"make_tuple({', '.join(item.text for item in items)})"
    constant = tuple(i.constant for i in items) if all(i.is_constant for i in items) else NOTHING
    return Value(
        types.Tuple([item.type for item in items]), text, items=items, constant=constant,
        calls=any(i.calls for i in items), loads=any(i.loads for i in items),
    )  # fmt: skip
