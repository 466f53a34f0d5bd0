"""Implements element-wise functions that are not ufuncs: where, select, clip, comparisons, rounding, parts of
complex numbers."""

from __future__ import annotations

import functools
import math
import operator
from typing import TYPE_CHECKING

import numpy as np

from numbalite import _core, required, types
from numbalite.errors import warn
from numbalite.functions import arguments, outputs, reductions
from numbalite.missingnames import WAYS_OUT
from numbalite.ndarray import above, assign
from numbalite.ndarray.dispatch import implements
from numbalite.runtime import shapes
from numbalite.runtime.traced import traced
from numbalite.ufuncs import elementwise, operands
from numbalite.ufuncs.fuse import fuse
from numbalite.ufuncs.mapped import MapReduce
from numbalite.ufuncs.protocols import cuda_ufunc_for
from numbalite.ufuncs.ruled import UfuncWithLoopRule, common_dtype, where_function

if TYPE_CHECKING:
    from typing import Any

    from numbalite.ndarray.arrays import DeviceNDArray

_NO_VALUE: Any = np._NoValue


def _ufunc_operand(value):
    """Returns an operand of a ufunc: a Python number unchanged, other values as a device array."""
    return value if type(value) in (bool, int, float, complex) else arguments.as_device_array(value)


@implements("where")
def where(condition, x=_NO_VALUE, y=_NO_VALUE, /) -> Any:
    if x is _NO_VALUE and y is _NO_VALUE:
        return np.nonzero(arguments.as_device_array(condition))
    if x is _NO_VALUE or y is _NO_VALUE:
        raise ValueError("either both or neither of x and y should be given")
    with arguments.on_device_of(condition, x, y):
        return where_function()(condition, _integer_as_element(x, y), _integer_as_element(y, x))


def _integer_as_element(value, other):
    """Returns a Python integer in the dtype of the other operand. NumPy handles integers out of range:
    versions up to 2.4 wrap them as in C, later versions raise OverflowError."""
    dtype = required.dtype_of(other)
    if type(value) is not int or dtype is None or dtype.kind not in "iu":
        return value
    return np.where(True, value, np.zeros((), dtype))[()]


@implements("select")
def select(condlist, choicelist, default=0) -> DeviceNDArray:
    """Applies `where` for each condition, from the last to the first."""
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    if len(condlist) == 0:
        raise ValueError("select with an empty condition list is not possible")
    conditions = arguments.arrays_of(condlist)
    for i, condition in enumerate(conditions):
        if condition.dtype != bool:
            raise TypeError(
                f"invalid entry {i} in condlist: should be boolean ndarray, not {condition.dtype}"
            )
    *choicelist, default = (
        np.asarray(one) if isinstance(one, (list, tuple)) else one for one in (*choicelist, default)
    )
    dtype = np.result_type(*map(_dtype_of, choicelist), _dtype_of(default))
    made = default
    for condition, choice in zip(reversed(conditions), reversed(choicelist), strict=True):
        made = where(condition, choice, made)
    return made.astype(dtype, "C", copy=False)


@implements("clip")
def clip(
    a, a_min=_NO_VALUE, a_max=_NO_VALUE, out=None, *, min=_NO_VALUE, max=_NO_VALUE, **keywords
) -> DeviceNDArray:
    if a_min is _NO_VALUE and a_max is _NO_VALUE:
        a_min = None if min is _NO_VALUE else min
        a_max = None if max is _NO_VALUE else max
    elif a_min is _NO_VALUE or a_max is _NO_VALUE:
        missing = "a_min" if a_min is _NO_VALUE else "a_max"
        raise TypeError(f"clip() missing 1 required positional argument: '{missing}'")
    elif min is not _NO_VALUE or max is not _NO_VALUE:
        raise ValueError(
            "Passing `min` or `max` keyword argument when `a_min` and `a_max` are provided is forbidden."
        )
    if out is not None:
        keywords["out"] = out
    with arguments.on_device_of(a, a_min, a_max):
        a_min, a_max = _limits_within(a, a_min, a_max)
        if a_min is not None and a_max is not None:
            return _limiting_ufunc()(a, a_min, a_max, **keywords)
        a = arguments.as_device_array(a)
        if a_min is None and a_max is None:
            return np.positive(a, **keywords)
        if a_min is None:
            return np.minimum(a, _ufunc_operand(a_max), **keywords)
        return np.maximum(a, _ufunc_operand(a_min), **keywords)


def _limits_within(a, low, high):
    """Returns the limits of clip as (low, high); a Python integer beyond the dtype's range becomes None,
    because such a limit has no effect."""
    dtype = required.dtype_of(a)
    if dtype is None or dtype.kind not in "iu":
        return low, high
    info = np.iinfo(dtype)
    if type(low) is int and low < info.min:
        low = None
    if type(high) is int and high > info.max:
        high = None
    return low, high


@functools.cache
def _limiting_ufunc():
    return UfuncWithLoopRule("limited", _clip_dtypes)


def _clip_dtypes(request):
    dtype = request.fixed[-1] if request.fixed else common_dtype(request.inputs)
    if dtype.kind not in "biufc":
        raise TypeError(
            f"ufunc 'clip' did not contain a loop with signature matching types {dtype}"
        )
    return request.check_loop((dtype,) * 4)


@implements("copyto")
def copyto(dst, src, casting="same_kind", where=True) -> None:
    """Copies to an array on the device, or from the device to a NumPy array."""
    dtype: Any
    if not isinstance(dst, (_core.DeviceArray, np.ndarray)):
        raise TypeError(f"copyto() argument 1 must be numpy.ndarray, not {type(dst).__name__}")
    src = assign.cast_value(src, dst.dtype, casting)
    dtype = required.dtype_of(src)
    if dtype is not None and not np.can_cast(dtype, dst.dtype, casting):
        raise TypeError(
            f"Cannot cast array data from {dtype!r} to {dst.dtype!r} according to the rule "
            f"{casting!r}"
        )
    if not isinstance(dst, _core.DeviceArray):
        host = [
            operands.device_view(x).copy_to_host() if operands.is_on_device(x) else x
            for x in (src, where)
        ]
        np.copyto(dst, host[0], casting, where=host[1])
    elif where is True:
        arguments.as_device_array(dst)[...] = src
    else:
        dst = arguments.as_device_array(dst)
        source = arguments.as_device_array(src)
        if assign.is_number(source.dtype) and assign.is_number(dst.dtype):
            above.cast_ufunc(dst.dtype)(source, out=dst, where=where, casting="unsafe")
        else:
            source = source.astype(dst.dtype, copy=False)
            given = (
                np.broadcast_to(arguments.as_device_array(one), dst.shape)
                for one in (where, source)
            )
            np.putmask(dst, *given)


# ------------------------------------------------------------------------------------- comparisons


@functools.cache
def _is_close_ufunc():
    return UfuncWithLoopRule("close", _tolerance_dtypes)


def _tolerance_dtypes(request):
    for one in request.inputs[:2]:
        if isinstance(one, np.dtype) and one.kind not in "biufc":
            raise TypeError(f"numpy.isclose of {one} has no counterpart on the device: {WAYS_OUT}")
    kind = np.result_type(common_dtype(request.inputs[:2]), np.float32)
    real, boolean = np.dtype(kind.char.lower()), np.dtype(bool)
    strong = [one for one in request.inputs[2:4] if isinstance(one, np.dtype)]
    tolerance = np.result_type(real, *strong)
    return kind, kind, tolerance, tolerance, boolean, boolean


def _check_tolerances(rtol, atol):
    """Reports an infinite or NaN tolerance, as NumPy does. Tolerances in device memory are not checked."""
    if all(math.isfinite(one) for one in (rtol, atol) if isinstance(one, (float, np.floating))):
        return
    text = f"One of rtol or atol is not valid, atol: {atol}, rtol: {rtol}"
    if np.geterr()["invalid"] == "warn":
        warn(text, RuntimeWarning)
    elif np.geterr()["invalid"] == "raise":
        raise FloatingPointError(text)


@implements("isclose")
def isclose(a, b, rtol=1e-05, atol=1e-08, equal_nan: bool = False) -> DeviceNDArray:
    _check_tolerances(rtol, atol)
    with arguments.on_device_of(a, b, rtol, atol):
        return _is_close_ufunc()(a, b, rtol, atol, bool(equal_nan))


@functools.cache
def _all_elements_reduction(loop, name, **words):
    """Returns a reduction that tests in one pass whether an element function is true for all elements of these
    dtypes."""
    function = elementwise.template_function(name, **words)
    signature = types.Signature(types.boolean, tuple(map(types.scalar, loop)))
    return MapReduce(function, signature, cuda_ufunc_for(np.logical_and), np.dtype(bool))


def _have_numeric_elements(values):
    """Returns whether kernels can read the elements of all device arrays. Otherwise, a ufunc raises the
    error."""
    return all(assign.is_number(one.dtype) for one in values if isinstance(one, _core.DeviceArray))


@implements("allclose")
def allclose(a, b, rtol=1e-05, atol=1e-08, equal_nan: bool = False) -> bool:
    _check_tolerances(rtol, atol)
    return bool(_are_all_close(a, b, rtol, atol, equal_nan))


@traced
def _are_all_close(a, b, rtol, atol, equal_nan):
    with arguments.on_device_of(a, b, rtol, atol):
        given = *map(_ufunc_operand, (a, b, rtol, atol)), bool(equal_nan)
        if not _have_numeric_elements(given):
            return reductions.all(_is_close_ufunc()(a, b, rtol, atol, bool(equal_nan)))
        kinds = [getattr(one, "dtype", type(one)) for one in given[:4]]
        kinds = [np.dtype(bool) if one is bool else one for one in [*kinds, bool]]
        loop = _is_close_ufunc()._loop_for(kinds)[:-1]
        given = [
            one if isinstance(one, _core.DeviceArray) else np.asarray(one, dtype)
            for one, dtype in zip(given, loop, strict=True)
        ]
        return _all_elements_reduction(loop, "close")(tuple(given), None, False, None, 0)


@implements("array_equal")
def array_equal(a1, a2, equal_nan: bool = False) -> bool:
    if not _have_comparable_values(a1, a2):
        return False
    a, b = arguments.arrays_of((a1, a2))
    return a.shape == b.shape and _are_all_equal(a, b, equal_nan)


def _have_comparable_values(*values):
    """Returns whether device arrays can be equal to these values; None and strings cannot be equal to device
    arrays."""
    hosts = [
        np.asarray(one) for one in values if type(one) in (str, bytes, list, tuple, type(None))
    ]
    return all(one.dtype.kind not in "OSU" for one in hosts)


@implements("array_equiv")
def array_equiv(a1, a2) -> bool:
    if not _have_comparable_values(a1, a2):
        return False
    a, b = arguments.arrays_of((a1, a2))
    try:
        np.broadcast_shapes(a.shape, b.shape)
    except ValueError:
        return False
    return _are_all_equal(a, b, False)


def _are_all_equal(a, b, equal_nan):
    return bool(_have_equal_elements(a, b, bool(equal_nan)))


@traced
def _have_equal_elements(a, b, equal_nan):
    if not _have_numeric_elements((a, b)):
        return reductions.all(a == b)
    loop = cuda_ufunc_for(np.equal)._loop_for((a.dtype, b.dtype))[:2]
    reduction = _all_elements_reduction(loop, "same", equal_nan=str(equal_nan).lower())
    return reduction((a, b), None, False, None, 0)


# ------------------------------------------------------------------------------------------- dtypes


@implements("iscomplexobj")
def iscomplexobj(x) -> bool:
    return np.iscomplexobj(_empty_host_array(x))


@implements("isrealobj")
def isrealobj(x) -> bool:
    return np.isrealobj(_empty_host_array(x))


@implements("result_type")
def result_type(*arrays_and_dtypes) -> np.dtype:
    return np.result_type(*map(_dtype_of, arrays_and_dtypes))


@implements("can_cast")
def can_cast(from_, to, casting="safe") -> bool:
    return np.can_cast(_dtype_of(from_), to, casting)


@implements("min_scalar_type")
def min_scalar_type(a, /) -> np.dtype:
    return np.min_scalar_type(a) if np.isscalar(a) else a.dtype


@implements("common_type")
def common_type(*arrays) -> Any:
    return np.common_type(*(np.empty(0, _dtype_of(one)) for one in arrays))


def _empty_host_array(value):
    """Returns an empty host array with a device array's dtype, for NumPy's dtype rules."""
    return np.empty(0, value.dtype) if isinstance(value, _core.DeviceArray) else value


def _dtype_of(value):
    return value.dtype if isinstance(value, (np.ndarray, _core.DeviceArray)) else value


# --------------------------------------------------------------------------------- parts and rounding


@implements("real")
def real(val) -> DeviceNDArray:
    return arguments.as_device_array(val).real


@implements("imag")
def imag(val) -> DeviceNDArray:
    return arguments.as_device_array(val).imag


@implements("angle")
def angle(z, deg: bool = False) -> DeviceNDArray:
    z = arguments.as_device_array(z)
    made = np.arctan2(z.imag, z.real) if z.dtype.kind == "c" else np.arctan2(0, z)
    return np.degrees(made) if deg else made


@implements("round", "around")
def round(a, decimals=0, out=None) -> DeviceNDArray:
    a, decimals = arguments.as_device_array(a), operator.index(decimals)
    if a.dtype == bool and decimals:
        raise TypeError(f"round: booleans have no decimals: decimals is {decimals}, 0 is expected")
    if a.dtype.kind in "iu" and decimals >= 0:
        return np.positive(a, out=out)
    if decimals == 0:
        return np.rint(a, out=out)
    # NumPy allocates real results in C order, or in Fortran order for such an argument.
    order = "F" if a.is_f_contiguous() and not a.is_c_contiguous() else "C"
    if a.dtype.kind == "c":
        parts = a._view((*a.shape, 2), (*a.strides, a.itemsize // 2), a.real.dtype)
        made = _rounded_numbers(parts, decimals)
        made, order = made._view(a.shape, made.strides[:-1], a.dtype), "K"
    else:
        made = _rounded_numbers(a, decimals)
    made = made.astype(a.dtype, order if out is None else "K", copy=False)
    return outputs.copy_to_out("round", out, made, "unsafe")


def _rounded_numbers(a, decimals):
    """Returns real numbers rounded to a number of decimals that is not 0."""
    scale = 10.0 ** abs(decimals)
    if a.dtype in (np.float32, np.float64):
        with arguments.on_device_of(a):
            return elementwise.template_ufunc("rounded")(a, a.dtype.type(scale), decimals < 0)
    forward, back = (np.multiply, np.divide) if decimals > 0 else (np.divide, np.multiply)
    return back(np.rint(forward(a, scale)), scale)


@implements("diff")
def diff(a, n: int = 1, axis: int = -1, prepend=_NO_VALUE, append=_NO_VALUE) -> DeviceNDArray:
    a = arguments.as_device_array(a)
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n!r}")
    if n == 0:
        return a
    if a.ndim == 0:
        raise ValueError("diff requires input that is at least one dimensional")
    parts = [a]
    axis = shapes.axis_number(axis, a.ndim)
    for place, given in ((0, prepend), (len(parts) + 1, append)):
        if given is not _NO_VALUE:
            given = arguments.as_device_array(given)
            if given.ndim == 0:
                shape = tuple(1 if i == axis else m for i, m in enumerate(a.shape))
                given = assign.broadcast_view(given, shape)
            parts.insert(place, given)
    if len(parts) > 1:
        a = np.concatenate(parts, axis)
    subtract = np.not_equal if a.dtype == bool else np.subtract
    for _ in range(n):
        before = tuple(slice(None, -1) if i == axis else slice(None) for i in range(a.ndim))
        behind = tuple(slice(1, None) if i == axis else slice(None) for i in range(a.ndim))
        a = subtract(a[behind], a[before])
    return a


@implements("ediff1d")
def ediff1d(ary, to_end=None, to_begin=None) -> Any:
    a = arguments.as_device_array(ary).ravel()
    parts = []
    for given, name in ((to_begin, "to_begin"), (None, ""), (to_end, "to_end")):
        if not name:
            parts.append(a[1:] - a[:-1])
        elif given is not None:
            given = arguments.as_device_array(given).ravel()
            if not np.can_cast(given.dtype, a.dtype, "same_kind"):
                raise TypeError(
                    f"dtype of `{name}` must be compatible with input `ary` under the `same_kind` rule."
                )
            parts.append(given.astype(a.dtype, copy=False))
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


@implements("isreal")
def isreal(x) -> Any:
    return np.equal(arguments.as_device_array(x).imag, 0)


@implements("iscomplex")
def iscomplex(x) -> Any:
    return np.not_equal(arguments.as_device_array(x).imag, 0)


def _is_infinite(x, out, sign):
    x = arguments.as_device_array(x)
    if x.dtype.kind == "c":
        raise TypeError(
            f"This operation is not supported for {x.dtype} values because it would be ambiguous."
        )
    return np.equal(x, sign * np.inf, out=out)


@implements("isposinf")
def isposinf(x, out=None) -> Any:
    return _is_infinite(x, out, 1)


@implements("isneginf")
def isneginf(x, out=None) -> Any:
    return _is_infinite(x, out, -1)


@implements("real_if_close")
def real_if_close(a, tol=100) -> Any:
    """Waits for the test of the imaginary parts if the array is complex."""
    a = arguments.as_device_array(a)
    if a.dtype.kind != "c":
        return a
    if tol > 1:
        tol = np.finfo(a.dtype).eps * tol
    return a.real if bool(np.all(np.abs(a.imag) < tol)) else a


@implements("i0")
def i0(x) -> Any:
    x = arguments.as_device_array(x)
    if x.dtype.kind == "c":
        raise TypeError("i0 not supported for complex values")
    computed = {"f": x.dtype, "e": np.dtype("f4")}.get(x.dtype.char, np.dtype(float))
    made = elementwise.template_ufunc("bessel_i0")(x.astype(computed, copy=False))
    return made.astype(x.dtype) if x.dtype.char == "e" else made


@implements("sinc")
def sinc(x) -> Any:
    return _fused_sinc(arguments.as_device_array(x))


@fuse
def _fused_sinc(x):
    x = np.multiply(x, np.pi)
    least = np.finfo(x.dtype).eps if x.dtype.kind == "f" else 1e-20
    y = np.where(x, x, least)
    return np.sin(y) / y


@implements("fix")
def fix(x, out=None) -> Any:
    return np.trunc(arguments.as_device_array(x), out=out)
