"""Defines the types in signatures, with their C++ types, NumPy dtypes and parameter types.

Types are immutable and compare by value; for example, ``types.f4 is types.float32``, and two separate
``float32[:, ::1]`` are equal and have equal hashes. Indexing a type returns an array type (``float32[:,
::1]``). Calling a type returns a signature (``float32(float32)``) or, with a value as argument, a NumPy
scalar of the type (``float32(0.25)``).

This file contains the names of types, and functions that return the types of dtypes and of values. classes.py
contains their classes, structs.py writes the C++ structs of records, signatures.py reads signatures,
parameters.py defines how types are passed as parameters of kernels, describe.py reads a compiler's
description of parameters, demangle.py mangled names. inkernel.py and libdevice.py contain the names that
exist in kernels only, keywords.py the keywords of C++. The package types uses only modules of the top
folder. Begin with this file.
"""

from __future__ import annotations

from enum import Enum

import numpy as np

from numbalite.types.classes import (
    LAYOUTS as LAYOUTS,
    RECORD_NAMES as RECORD_NAMES,
    SCALARS as SCALARS,
    VECTORS as VECTORS,
    Array as Array,
    Boolean as Boolean,
    Complex as Complex,
    Empty as Empty,
    Float as Float,
    Integer as Integer,
    NamedTuple as NamedTuple,
    Number as Number,
    Opaque as Opaque,
    Pointer as Pointer,
    Record as Record,
    Scalar as Scalar,
    Signature as Signature,
    Time as Time,
    Tuple as Tuple,
    Type as Type,
    Vector as Vector,
    Void as Void,
    layout_of as layout_of,
    scalar as scalar,
    void as void,
)

none = void
(
    boolean, int8, int16, int32, int64, uint8, uint16, uint32, uint64,
    float16, float32, float64, complex64, complex128,
) = SCALARS  # fmt: skip
bool_ = b1 = boolean
i1 = char = int8
i2 = short = int16
i4 = intc = int32
i8 = longlong = intp = int_ = long_ = ssize_t = int64
u1 = byte = uchar = uint8
u2 = ushort = uint16
u4 = uintc = uint32
u8 = ulonglong = uintp = uint = ulong = size_t = uint64
f2 = float16
f4 = float_ = float32
f8 = double = float64
c8 = complex64
c16 = complex128
NoneType = Void

# numba's sets of them
signed_domain = frozenset([int8, int16, int32, int64])
unsigned_domain = frozenset([uint8, uint16, uint32, uint64])
integer_domain = signed_domain | unsigned_domain
real_domain = frozenset([float32, float64])
complex_domain = frozenset([complex64, complex128])
number_domain = integer_domain | real_domain | complex_domain
globals().update({name: vector for vector in VECTORS for name in (vector.name, *vector.aliases)})
NAMES = {name: value for name, value in list(globals().items()) if isinstance(value, Type)}
NAMES["bool"] = boolean


def from_dtype(dtype, name=None) -> Scalar | Record:
    """Returns the type for elements of a NumPy dtype.

    Structured dtypes return records.

    Parameters
    ----------
    dtype : dtype
        The dtype, or its name.
    name : str
        The name of a record.

    Returns
    -------
    Scalar or Record
        The type.

    Raises
    ------
    TypeError
        Kernels do not support the dtype (objects, text).

    Examples
    --------
    >>> numbalite.types.from_dtype("i4")[:]
    int32[:]
    """
    dtype = np.dtype(dtype)
    if dtype.kind in "mM":
        return Time(dtype)
    return scalar(dtype) if dtype.names is None else Record(dtype, name)


def cuda_name(dtype) -> str:
    """Returns the C++ name of an element type in sources that include only CUDA's headers, such as
    `__half` for float16."""
    dtype = np.dtype(dtype)
    return "__half" if dtype == np.float16 else from_dtype(dtype).cxx


def as_type(value) -> Type:
    """Returns the type for a type, a dtype, a NumPy scalar class, float, int, bool or None."""
    if isinstance(value, Type):
        return value
    if value is None:
        return void
    if isinstance(value, (type, np.dtype)):
        try:
            return from_dtype(value)
        except TypeError:
            pass
    raise TypeError(f"{value!r} is not a type: write for example float32 or float32[:]")


def const(t: Array | Record | Pointer) -> Array | Pointer:
    """Returns the type of an input, which is never copied back.

    ``const(float32[:])`` is ``"const float32[:]"``.

    Parameters
    ----------
    t : Array, Record or Pointer
        The type.

    Returns
    -------
    Array or Pointer
        The type of an input.

    Raises
    ------
    TypeError
        ``t`` is another type.
    """
    if isinstance(t, Array):
        return t.copy(readonly=True)
    if isinstance(t, Record):
        return Array(t, 0, readonly=True)
    if isinstance(t, Pointer):
        return Pointer(t.dtype, True)
    raise TypeError(f"only arrays, records and pointers can be const, not {t}")


def CPointer(t, readonly=False) -> Pointer:
    return Pointer(as_type(t), readonly)


def no_optional(t) -> str:
    """Returns the error message for a type of numba that does not exist in C++."""
    return (
        f"an argument is either None or {t} when a function is compiled: give a signature for each, "
        f'["void({t})", "void(none)"], or none, so that each call decides'
    )


def Optional(t):
    """Raises TypeError, because C++ has no type for numba's Optional. The message has the correction."""
    raise TypeError(f"Optional({t}): {no_optional(t)}")


optional = Optional


def NPDatetime(unit="") -> Time:
    """Returns the type of ``np.datetime64`` in a unit."""
    return Time(f"M8[{unit}]" if unit else "M8")


def NPTimedelta(unit="") -> Time:
    """Returns the type of ``np.timedelta64`` in a unit."""
    return Time(f"m8[{unit}]" if unit else "m8")


class _UniTupleMeta(type):
    def __instancecheck__(cls, t):
        return isinstance(t, Tuple) and len(set(t.types)) == 1


class UniTuple(metaclass=_UniTupleMeta):
    """Returns the Tuple of ``count`` values of the same type, ``UniTuple(t, count)``."""

    def __new__(cls, t, count) -> Tuple:  # type: ignore[misc]
        return Tuple([as_type(t)] * count)


def typeof(value) -> Type:
    """Returns the type of an argument of a kernel without a signature.

    Parameters
    ----------
    value : object
        NumPy numbers and arrays, device arrays, Python numbers (``int64``,
        ``float64``, ``complex128``, ``boolean``), tuples and named tuples
        of these, enumeration members, None, dtypes.

    Returns
    -------
    Type
        The type.

    Raises
    ------
    TypeError
        ``value`` is another object.

    Examples
    --------
    >>> numbalite.types.typeof(np.zeros((2, 3), np.float32)), numbalite.types.typeof(1)
    (float32[:, ::1], int64)
    """
    interface = getattr(value, "__cuda_array_interface__", None)
    if isinstance(value, np.ndarray) or interface is not None:
        return _array_typeof(value, interface)
    if isinstance(value, np.void) and value.dtype.names is not None:
        return Record(value.dtype)
    if isinstance(value, np.generic):
        return from_dtype(value.dtype)
    if isinstance(value, tuple):
        return tuple_of(type(value), map(typeof, value))
    if value is None:
        return Empty()
    is_class = isinstance(value, type) and issubclass(value, np.generic)
    if isinstance(value, (np.dtype, Scalar)) or is_class:
        return Empty(scalar(value))
    if isinstance(value, Enum):
        return typeof(value.value)
    if isinstance(value, int) and not isinstance(value, bool):
        return int64 if -(2**63) <= value < 2**63 else uint64
    for python, t in ((bool, boolean), (float, float64), (complex, complex128)):
        if isinstance(value, python):
            return t
    raise TypeError(f"cannot tell the type of {type(value).__name__} for a kernel")


def _check_interface(interface):
    if not isinstance(interface, dict):
        raise TypeError(f"__cuda_array_interface__ must be a dict, not {type(interface).__name__}")
    for field, kind in ("typestr", str), ("shape", tuple):
        if field not in interface:
            raise ValueError(f"__cuda_array_interface__: {field!r} is missing")
        if not isinstance(interface[field], kind):
            raise TypeError(
                f"__cuda_array_interface__: {field!r} must be a {kind.__name__}, not {interface[field]!r}"
            )


def _array_typeof(value, interface):
    if interface is None:
        dtype, ndim = value.dtype, value.ndim
        c, f = value.flags.c_contiguous, value.flags.f_contiguous
    else:
        _check_interface(interface)
        descr = interface.get("descr")
        structured = interface["typestr"][1] == "V" and descr and descr[0][0]
        dtype = np.dtype(descr if structured else interface["typestr"])
        shape, strides = tuple(interface["shape"]), interface.get("strides")
        ndim = len(shape)
        c = strides is None or tuple(strides) == _packed_strides(shape, dtype.itemsize)
        f = tuple(strides or ()) == _packed_strides(shape[::-1], dtype.itemsize)[::-1]
    element = from_dtype(dtype)
    if ndim == 0 and isinstance(element, Record):
        return element
    return Array(element, ndim, "C" if c else "F" if f else "A")


def _packed_strides(shape, itemsize):
    strides = []
    for n in reversed(shape):
        strides.insert(0, itemsize)
        itemsize *= n
    return tuple(strides)


def tuple_of(cls, types) -> Tuple:
    """Returns a NamedTuple type if `cls` is the class of a named tuple, otherwise a Tuple type."""
    return NamedTuple(types, cls) if hasattr(cls, "_fields") else Tuple(types)


def from_code(code: int) -> Type:
    """Returns the type that the extension's typecodes() encodes as one 32-bit number."""
    if not 0 <= code < 2**32 or code >> 14 & 3 == 3:
        raise ValueError(f"{code} describes no type")
    dtype, ndim = code & 0xFF, code >> 8 & 0x3F
    layout, is_array = "ACF"[code >> 14 & 3], code >> 16 & 3
    index, is_other = code >> 20, code >> 18 & 1
    if index:
        from numbalite import _core

        known = _core.code_object(index)
    if is_other:
        if not isinstance(known, tuple):
            return Empty(known if known is None else scalar(known))
        return tuple_of(known[0], map(from_code, np.frombuffer(known[1], "<u4").tolist()))
    element = from_dtype(known) if index else SCALARS[dtype - 1]
    if not is_array or (ndim == 0 and isinstance(element, Record)):
        return element
    return Array(element, ndim, layout, is_array == 3)
