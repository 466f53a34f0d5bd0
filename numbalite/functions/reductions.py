"""Implements NumPy's reductions: sums, extremes, means, variances, counts, argmax, cumulative sums."""

from __future__ import annotations

import builtins
import functools
from typing import TYPE_CHECKING

import numpy as np

from numbalite import _core, required, types
from numbalite.functions import arguments, outputs
from numbalite.functions.creation import number_sequence
from numbalite.functions.geometry import axes_of
from numbalite.functions.onepass import accumulator, cxx_type, operator_loops, run_reduction
from numbalite.ndarray.assign import warn_of_complex
from numbalite.ndarray.dispatch import implements
from numbalite.runtime import shapes
from numbalite.ufuncs import elementwise, operands
from numbalite.ufuncs.element import element_function
from numbalite.ufuncs.mapped import IN_OWN_PRECISION, MapReduce
from numbalite.ufuncs.protocols import cuda_ufunc_for
from numbalite.ufuncs.reduceloops import OperatorLoops

if TYPE_CHECKING:
    from typing import Any

_NO_VALUE: Any = np._NoValue
# A dtype object, because the C fast path accepts calls with dtype objects
COUNTER = np.dtype(np.intp)


def _direct_reduction(parameters: str, positional: int, **options) -> Any:
    return _core.DirectReduction(tuple(parameters.split()), positional, **options)


_SUM, _PROD = (_direct_reduction("a axis dtype out keepdims initial where", 7) for _ in range(2))
_MAX, _MIN = (_direct_reduction("a axis out keepdims initial where", 6) for _ in range(2))
_ANY, _ALL = (_direct_reduction("a axis out keepdims where", 4) for _ in range(2))
_COUNT_NONZERO = _direct_reduction("a axis keepdims", 2)
_MEAN = _direct_reduction("a axis dtype out keepdims where", 5, divides=True)
_VAR, _STD = (
    _direct_reduction("a axis dtype out ddof keepdims where mean correction", 6, divides=True)
    for _ in range(2)
)
_ARGMAX, _ARGMIN = (
    _direct_reduction("a axis out keepdims", 3, in_c_order=True, one_axis=True) for _ in range(2)
)


def reduce_axes(
    ufunc: Any,
    a: Any,
    axis: Any,
    dtype: Any,
    out: Any,
    keepdims: Any,
    initial: Any = _NO_VALUE,
    where: Any = True,
) -> Any:
    """Calls ufunc.reduce of the device version, and accepts NumPy's placeholders for omitted arguments.

    NumPy's ufunc.reduce is not called, because it leaks the array if the device version raises an exception.
    """
    if keepdims is _NO_VALUE:
        keepdims = False
    if where is _NO_VALUE:
        where = True
    keywords = {} if initial is _NO_VALUE else {"initial": initial}
    if where is not True:
        check_mask(where)
        keywords["where"] = where
    return cuda_ufunc_for(ufunc).reduce(
        arguments.as_device_array(a), axis, dtype, out, keepdims, **keywords
    )


def check_mask(where: Any) -> None:
    """Raises TypeError if a `where` array is not boolean."""
    dtype = required.dtype_of(where)
    if dtype is not None and dtype.kind != "b":
        raise TypeError(
            f"Cannot cast array data from {dtype!r} to dtype('bool') according to the rule 'safe'"
        )


@implements("sum", direct=_SUM)
def sum(
    a, axis=None, dtype=None, out=None, keepdims=_NO_VALUE, initial=_NO_VALUE, where=_NO_VALUE
) -> Any:
    _SUM.set_ufunc(cuda_ufunc_for(np.add))
    return reduce_axes(np.add, a, axis, dtype, out, keepdims, initial, where)


@implements("prod", direct=_PROD)
def prod(
    a, axis=None, dtype=None, out=None, keepdims=_NO_VALUE, initial=_NO_VALUE, where=_NO_VALUE
) -> Any:
    _PROD.set_ufunc(cuda_ufunc_for(np.multiply))
    return reduce_axes(np.multiply, a, axis, dtype, out, keepdims, initial, where)


@implements("max", "amax", direct=_MAX)
def max(a, axis=None, out=None, keepdims=_NO_VALUE, initial=_NO_VALUE, where=_NO_VALUE) -> Any:
    _MAX.set_ufunc(cuda_ufunc_for(np.maximum))
    return reduce_axes(np.maximum, a, axis, None, out, keepdims, initial, where)


@implements("min", "amin", direct=_MIN)
def min(a, axis=None, out=None, keepdims=_NO_VALUE, initial=_NO_VALUE, where=_NO_VALUE) -> Any:
    _MIN.set_ufunc(cuda_ufunc_for(np.minimum))
    return reduce_axes(np.minimum, a, axis, None, out, keepdims, initial, where)


@implements("ptp")
def ptp(a, axis=None, out=None, keepdims=_NO_VALUE) -> Any:
    a = arguments.as_device_array(a)
    highest = max(a, axis, keepdims=keepdims)
    if out is not None:
        outputs.check_shape("ptp", out, highest.shape)
    return np.subtract(highest, min(a, axis, keepdims=keepdims), out=out)


def _truth_values(a):
    """Returns the truth values of the elements as a boolean array, which any and all can reduce."""
    a = arguments.as_device_array(a)
    return a if a.dtype == bool else np.not_equal(a, 0)


@functools.cache
def _truth_loops(is_all):
    name = "all" if is_all else "any"
    return operator_loops(f"truth_of<{str(is_all).lower()}>", name, np.dtype(bool))


@functools.cache
def _count_loops():
    return operator_loops("count_of", "count_nonzero", COUNTER)


def _has_numbers(a):
    """Returns whether the array is non-empty, with a dtype that the one-pass kernels can read."""
    return builtins.bool(a.size) and a.dtype.kind in "biufc"


def _reduce_truth_values(ufunc, a, axis, out, keepdims, where):
    a = arguments.as_device_array(a)
    if out is None and (where is _NO_VALUE or where is True) and _has_numbers(a):
        is_all = ufunc is np.logical_and
        loops, direct = _truth_loops(is_all), _ALL if is_all else _ANY
        return run_reduction(loops, a, axis, keepdims, np.dtype(bool), 1.0, True, direct=direct)
    return reduce_axes(ufunc, _truth_values(a), axis, None, out, keepdims, where=where)


@implements("any", direct=_ANY)
def any(a, axis=None, out=None, keepdims=_NO_VALUE, *, where=_NO_VALUE) -> Any:
    return _reduce_truth_values(np.logical_or, a, axis, out, keepdims, where)


@implements("all", direct=_ALL)
def all(a, axis=None, out=None, keepdims=_NO_VALUE, *, where=_NO_VALUE) -> Any:
    return _reduce_truth_values(np.logical_and, a, axis, out, keepdims, where)


@implements("count_nonzero", direct=_COUNT_NONZERO)
def count_nonzero(a, axis=None, *, keepdims: bool = False) -> Any:
    a = arguments.as_device_array(a)
    if _has_numbers(a):
        loops = _count_loops()
        return run_reduction(loops, a, axis, keepdims, COUNTER, 1.0, True, direct=_COUNT_NONZERO)
    return reduce_axes(np.add, _truth_values(a), axis, COUNTER, None, keepdims)


# ------------------------------------------------------------------------------ means and variances


def _elements_per_result(a, axis, where):
    """Returns the number of elements per result: an integer, or with `where=` an array that broadcasts to the
    result."""
    if where is _NO_VALUE or where is True:
        count = 1
        for number in range(a.ndim) if axis is None else axes_of(axis, a.ndim):
            count *= a.shape[number]
        return count
    where = np.broadcast_to(arguments.as_device_array(where), a.shape)
    return reduce_axes(np.add, where, axis, COUNTER, None, True)


def _mean_and_count(a, axis, dtype, where, out):
    """Returns (sum / count, count), with the reduced axes kept. `dtype` is the accumulator's dtype."""
    count = _elements_per_result(a, axis, where)
    total = reduce_axes(np.add, a, axis, dtype, None, True, where=where)
    warn_of_complex(a.dtype, dtype)
    return divide_by_count(total, count, out), count


def divide_by_count(total: Any, count: Any, out: Any = None) -> Any:
    """Returns total / count in the dtype of the total, or in that of `out`, as NumPy; 0 / 0 is NaN."""
    if out is not None:
        total = total.astype(out.dtype, copy=False)
    if isinstance(count, int):
        count = np.array(count, total.dtype.type(0).real.dtype)[()]
    return np.true_divide(total, count, out=total, casting="unsafe")


def finish_result(
    name: str, made: Any, a: Any, axis: Any, dtype: Any, out: Any, keepdims: Any
) -> Any:
    """Converts a result with kept reduced axes to the requested dtype and shape, or copies the result to
    `out`."""
    if keepdims is _NO_VALUE or not keepdims:
        made = made._view_with_layout(*_remaining_layout(made, operands.axes_of(axis, a.ndim)))
    if out is not None:
        return outputs.copy_to_out(name, out, made, "unsafe")
    return made if dtype is None or made.dtype == dtype else made.astype(dtype)


def _remaining_layout(array, axes):
    return operands.drop_axes(array.shape, axes), operands.drop_axes(array.strides, axes)


def sum_dtypes(dtype: Any, asked: Any) -> tuple[Any, Any]:
    """Returns (accumulator dtype, result dtype) of means: float16 is accumulated as float32, integers as
    float64."""
    if asked is not None:
        asked = np.dtype(asked)
        return (np.dtype("f4") if asked.char == "e" else asked), asked
    if dtype.kind in "bui":
        return np.dtype("f8"), np.dtype("f8")
    return (np.dtype("f4") if dtype.char == "e" else dtype), dtype


def is_in_one_pass(a: Any, wide: np.dtype, dtype: Any, where: Any) -> bool:
    """Returns whether a kernel can compute the result in one pass: a non-empty array without mask, and a
    floating-point result."""
    return (
        builtins.bool(a.size)
        and (where is _NO_VALUE or where is True)
        and wide.kind in "fc"
        and a.dtype.kind in "biufc"
        and (dtype is None or a.dtype.kind != "c")
    )


@functools.cache
def _mean_loops(stored, wide, result):
    text, size = accumulator(stored, wide, result)
    return OperatorLoops(f"mean_of<{cxx_type(wide)}, {text}>", "mean", size)


@functools.cache
def variance_loops(
    wide: np.dtype, result: np.dtype, is_root: bool, has_nans: bool = False
) -> OperatorLoops:
    """Returns the kernels of variances (or standard deviations) in a dtype; with has_nans, they ignore
    NaN."""
    real, root = np.dtype(wide.char.lower()).itemsize, str(is_root).lower()
    if result.char == "e":  # float32 is precise enough
        operation, size = (
            f"shifted_variance<{cxx_type(wide)}, {root}>",
            2 * wide.itemsize + 2 * real,
        )
    else:
        text, _ = accumulator(wide, wide, wide)
        operation = f"variance_in<{cxx_type(wide)}, {text}, {root}>"
        # Accumulators for float32 are shifted sums in float64, or smaller moments; for float64, moments.
        size = 4 * wide.itemsize + 4 * real if real == 4 else 2 * wide.itemsize + 3 * real
    if has_nans:
        operation = f"of_numbers<numbalite::nl_reduce::{operation}>"
    return OperatorLoops(operation, "std" if is_root else "var", -(-size // 16) * 16)


_MAX_INTEGERS = 2**31
"""Maximum number of elements per result: with more, the sums of integer_variance in reduce_operators.cuh may overflow."""


@functools.cache
def integer_variance_loops(is_root: bool) -> OperatorLoops:
    """Returns the kernels of float64 variances (or standard deviations) of integers of up to 32
    bits."""
    name = f"integer_variance<{str(is_root).lower()}>"
    return OperatorLoops(name, "std" if is_root else "var", 32)


@implements("mean", direct=_MEAN)
def mean(a, axis=None, dtype=None, out=None, keepdims=_NO_VALUE, *, where=_NO_VALUE) -> Any:
    a = arguments.as_device_array(a)
    wide, result = sum_dtypes(a.dtype, dtype)
    if out is None and is_in_one_pass(a, wide, dtype, where):
        loops, count = _mean_loops(a.dtype, wide, result), _elements_per_result(a, axis, where)
        direct = _MEAN if dtype is None else None
        return run_reduction(loops, a, axis, keepdims, result, float(count), True, direct=direct)
    if out is not None:
        outputs.check_out("mean", out)
    made, _ = _mean_and_count(a, axis, wide, where, out)
    return finish_result("mean", made, a, axis, result, out, keepdims)


@implements("average")
def average(a, axis=None, weights=None, returned: bool = False, *, keepdims=_NO_VALUE) -> Any:
    """With weights, waits for their sum, because a zero sum raises ZeroDivisionError."""
    a = arguments.as_device_array(a)
    axis = None if axis is None else shapes.tuple_of_integers(axis)
    if weights is None:
        made = mean(a, axis, keepdims=keepdims)
        total = made.dtype.type(a.size / made.size if made.size else 0)
    else:
        weights = _broadcast_weights(a, weights, axis)
        dtype = np.result_type(a.dtype, weights.dtype, *(["f8"] if a.dtype.kind in "iub" else []))
        result = dtype
        if dtype.char == "e":  # computed in a wider dtype, because float16 sums overflow early
            dtype = np.dtype("f4")
        total = sum(weights, axis, dtype, keepdims=keepdims)
        if bool(any(np.equal(total, 0))):
            raise ZeroDivisionError("Weights sum to zero, can't be normalized")
        if dtype.char in IN_OWN_PRECISION:
            keep = keepdims is not _NO_VALUE and keepdims
            made = sum_of_products(dtype, "a * b")((a, weights), axis, keep, None, 0)
        else:
            made = sum(np.multiply(a, weights, dtype=dtype), axis, keepdims=keepdims)
        made = np.true_divide(made, total, out=made)
        if dtype != result:
            made, total = made.astype(result), total.astype(result)
    if not returned:
        return made
    return made, np.broadcast_to(arguments.as_device_array(total), made.shape).copy()


def _broadcast_weights(a, weights, axis):
    """Returns the weights in the array's shape, or with length 1 for axes that the weights do not depend
    on."""
    weights = arguments.as_device_array(weights)
    if weights.shape == a.shape:
        return weights
    if axis is None:
        raise TypeError("Axis must be specified when shapes of a and weights differ.")
    axes = axes_of(axis, a.ndim, "axis")
    if weights.shape != tuple(a.shape[one] for one in axes):
        raise ValueError(
            "Shape of weights must be consistent with shape of a along specified axis."
        )
    weights = weights.transpose(sorted(range(len(axes)), key=axes.__getitem__))
    return weights.reshape([n if i in axes else 1 for i, n in enumerate(a.shape)])


_EXACT = {
    "a * b": "exact_product",
    "conj(a) * b": "exact_product_of_conjugate",
    "a + b": "exact_sum",
}


@functools.cache
def sum_of_products(dtype: np.dtype, product: str, args: str = "a, b") -> MapReduce:
    """Returns the sum of an expression of arrays, such as "a * b", in one pass.

    Products are exact: products of float32 are computed in float64, products of float64 as a sum of two
    numbers (functions of _EXACT).
    """
    wide = np.dtype({"e": "f", "f": "d", "F": "D"}.get(dtype.char, dtype))
    scalar = types.scalar(wide)
    function = element_function(source=product, args=args, name="product")
    signature = types.Signature(scalar, (scalar,) * len(args.split(",")))
    loops, mapped = None, ""
    if wide != dtype:
        loops = OperatorLoops(f"sum_of<{cxx_type(wide)}, {cxx_type(wide)}>", "add", wide.itemsize)
    elif dtype.char in "dD" and product in _EXACT:
        mapped = f"numbalite::nl_reduce::{_EXACT[product]}<nl_function::value>::of"
    return MapReduce(function, signature, cuda_ufunc_for(np.add), dtype, loops, mapped)


@functools.cache
def _sum_of_squares(number, real):
    """Returns the reduction (MapReduce) that computes the sum of |x - y|^2 for a mean y in one pass. number: dtype of
    the differences; real: dtype of the sum."""
    function = elementwise.template_function("square_of_distance", "squares")
    scalar = types.scalar(number)
    signature = types.Signature(types.scalar(real), (scalar, scalar))
    return MapReduce(function, signature, cuda_ufunc_for(np.add), real)


def square_dtypes(a: Any, mean: Any, wide: np.dtype) -> tuple[np.dtype, np.dtype]:
    """Returns (dtype of the differences from the mean, dtype of the sum of their squares)"""
    number = np.result_type(a.dtype, mean.dtype)
    if number.char == "e":
        number = np.dtype("f4")
    return number, np.dtype(wide.char.lower()) if wide.kind == "c" else wide


def subtracted_degrees(ddof: Any, correction: Any) -> Any:
    """Returns the number of subtracted degrees of freedom, from `ddof` or its array API name
    `correction`."""
    if correction is _NO_VALUE:
        return ddof
    if ddof != 0:
        raise ValueError("ddof and correction can't be provided simultaneously.")
    return correction


def _variance(a, axis, dtype, ddof, correction, mean, where, out):
    """Returns (variance with the reduced axes kept, the dtype of the result)"""
    ddof = subtracted_degrees(ddof, correction)
    wide, result = sum_dtypes(a.dtype, dtype)
    if mean is _NO_VALUE:
        mean, count = _mean_and_count(a, axis, wide, where, None)
    else:
        mean, count = arguments.as_device_array(mean), _elements_per_result(a, axis, where)
    if a.dtype.kind == "c" and dtype is None:
        result = np.dtype(result.char.lower())
    number, real = square_dtypes(a, mean, wide)
    if where is _NO_VALUE or where is True:
        total = _sum_of_squares(number, real)((a, mean), axis, True, None, 0)
    else:
        distance_of = elementwise.template_ufunc("square_of_distance", "squares")
        distance = distance_of(a.astype(number, copy=False), mean.astype(number, copy=False))
        total = reduce_axes(np.add, distance, axis, real, None, True, where=where)
    if isinstance(count, int):
        degrees = count - ddof if count > ddof else 0
    else:
        degrees = np.maximum(np.subtract(count, ddof), 0)
    return divide_by_count(total, degrees, out), result


def _variance_or_root(a, axis, dtype, out, ddof, keepdims, where, mean, correction, is_root):
    a = arguments.as_device_array(a)
    wide, result = sum_dtypes(a.dtype, dtype)
    if out is None and mean is _NO_VALUE and is_in_one_pass(a, wide, dtype, where):
        taken, count = subtracted_degrees(ddof, correction), _elements_per_result(a, axis, where)
        divisor = builtins.max(float(count - taken), 0.0)
        if a.dtype.kind == "c":
            result = np.dtype(result.char.lower())
        direct = None if dtype is not None else _STD if is_root else _VAR
        if a.dtype.char in "?bBhHiI" and wide.char == "d":
            direct = None  # the kernels depend on the number of elements
            if count <= _MAX_INTEGERS:
                loops = integer_variance_loops(is_root)
            else:
                loops = variance_loops(wide, result, is_root)
        else:
            loops = variance_loops(wide, result, is_root)
        return run_reduction(loops, a, axis, keepdims, result, divisor, True, direct=direct)
    if out is not None:
        outputs.check_out("std" if is_root else "var", out)
    made, result = _variance(a, axis, dtype, ddof, correction, mean, where, out)
    if is_root:
        is_kept = keepdims is not _NO_VALUE and keepdims
        is_number = not is_kept and len(operands.axes_of(axis, a.ndim)) == a.ndim
        made = square_root_in_place(made, is_number and out is None)
    return finish_result("std" if is_root else "var", made, a, axis, result, out, keepdims)


def square_root_in_place(variance: Any, is_number: bool) -> Any:
    """Replaces variances by their square roots in place, as NumPy does; raises TypeError for an integer
    dtype.

    is_number: the variance is a scalar result, whose root is converted to the variance's dtype.
    """
    if is_number:
        return np.sqrt(variance).astype(variance.dtype, copy=False)
    return np.sqrt(variance, out=variance)


@implements("var", direct=_VAR)
def var(
    a,
    axis=None,
    dtype=None,
    out=None,
    ddof=0,
    keepdims=_NO_VALUE,
    *,
    where=_NO_VALUE,
    mean=_NO_VALUE,
    correction=_NO_VALUE,
) -> Any:
    given = a, axis, dtype, out, ddof, keepdims, where, mean, correction
    return _variance_or_root(*given, False)


@implements("std", direct=_STD)
def std(
    a,
    axis=None,
    dtype=None,
    out=None,
    ddof=0,
    keepdims=_NO_VALUE,
    *,
    where=_NO_VALUE,
    mean=_NO_VALUE,
    correction=_NO_VALUE,
) -> Any:
    given = a, axis, dtype, out, ddof, keepdims, where, mean, correction
    return _variance_or_root(*given, True)


# --------------------------------------------------------------------------------- argmax, argmin


@functools.cache
def _extreme_index_kernels(dtype, is_largest, nans_count):
    """Returns the kernels that find the first index of the extreme, in C order."""
    number = np.dtype("f4") if dtype.char == "e" else dtype
    flags = ", ".join(str(flag).lower() for flag in (is_largest, nans_count))
    name = "argmax" if is_largest else "argmin"
    return operator_loops(f"extreme_place<{cxx_type(number)}, {flags}>", name, number, 8)


def first_extreme_index(
    a: Any,
    axis: Any,
    out: Any,
    keepdims: Any,
    is_largest: bool,
    nans_count: bool = True,
) -> Any:
    """Returns the first index of the extreme along an axis, or in C order; -1 if all elements are
    ignored."""
    a = arguments.as_device_array(a)
    name = "argmax" if is_largest else "argmin"
    axis = None if axis is None else shapes.axis_index(axis)
    if a.ndim == 0 and axis in (0, -1):
        axis = None
    shape = a.shape
    along = 0 if axis is None else axes_of(axis, a.ndim)[0]
    if (a.size if axis is None else shape[along]) == 0:
        raise ValueError(f"attempt to get {name} of an empty sequence")
    if a.dtype.kind in "biufc" and a.size:
        loops = _extreme_index_kernels(a.dtype, is_largest, nans_count)
        direct = None if not nans_count else _ARGMAX if is_largest else _ARGMIN
        found = run_reduction(loops, a, axis, keepdims, COUNTER, 1.0, False, "C", direct)
        return outputs.copy_to_wider_out(name, out, found)
    flat = arguments.as_1d(a) if axis is None else a
    count = flat.shape[along]
    extreme = max if is_largest else min
    places = number_sequence(0, 1, count, np.int64, a).reshape(
        (-1,) + (1,) * (flat.ndim - along - 1)
    )
    place_of = elementwise.template_ufunc("place_of")
    found = min(place_of(flat, extreme(flat, along, keepdims=True), places), along)
    if keepdims is not _NO_VALUE and keepdims:
        kept = (1,) * len(shape) if axis is None else shape[:along] + (1,) + shape[along + 1 :]
        found = found.reshape(kept)
    return outputs.copy_to_wider_out(name, out, found)


@implements("argmax", direct=_ARGMAX)
def argmax(a, axis=None, out=None, *, keepdims=_NO_VALUE) -> Any:
    return first_extreme_index(a, axis, out, keepdims, True)


@implements("argmin", direct=_ARGMIN)
def argmin(a, axis=None, out=None, *, keepdims=_NO_VALUE) -> Any:
    return first_extreme_index(a, axis, out, keepdims, False)


# ----------------------------------------------------------------------------------------- scans


def _cumulative_scan(ufunc, a, axis, dtype, out):
    a = arguments.as_device_array(a)
    axis = None if axis is None else shapes.axis_index(axis)
    if axis is None or (a.ndim == 0 and axis in (0, -1)):
        a, axis = a if a.ndim == 1 else a.ravel(), 0
    return cuda_ufunc_for(ufunc).accumulate(a, axis, dtype, out)


@implements("cumsum")
def cumsum(a, axis=None, dtype=None, out=None) -> Any:
    return _cumulative_scan(np.add, a, axis, dtype, out)


@implements("cumprod")
def cumprod(a, axis=None, dtype=None, out=None) -> Any:
    return _cumulative_scan(np.multiply, a, axis, dtype, out)


def _cumulative_with_identity(ufunc, x, axis, dtype, out, include_initial):
    """Implements cumulative_sum and cumulative_prod of the array API.

    Arrays with more than one dimension require an axis. include_initial: the result begins with the ufunc's
    identity.
    """
    x = np.atleast_1d(arguments.as_device_array(x))
    if axis is None:
        if x.ndim >= 2:
            raise ValueError(
                "For arrays which have more than one dimension ``axis`` argument is required."
            )
        axis = 0
    axes = axes_of(axis if isinstance(axis, tuple) else shapes.axis_index(axis), x.ndim)
    if len(axes) != 1:
        raise ValueError("accumulate does not allow multiple axes")
    axis = axes[0]
    if not include_initial:
        return _cumulative_scan(ufunc, x, axis, dtype, out)
    front, behind = (
        tuple(part if i == axis else slice(None) for i in range(x.ndim))
        for part in (slice(None, 1), slice(1, None))
    )
    if out is None:
        made = _cumulative_scan(ufunc, x, axis, dtype, None)
        shape = [1 if i == axis else n for i, n in enumerate(x.shape)]
        first = np.full_like(made, ufunc.identity, shape=shape)
        return np.concatenate([first, made], axis)
    _cumulative_scan(ufunc, x, axis, dtype, out[behind])
    out[front] = ufunc.identity
    return out


@implements("cumulative_sum")
def cumulative_sum(x, /, *, axis=None, dtype=None, out=None, include_initial: bool = False) -> Any:
    return _cumulative_with_identity(np.add, x, axis, dtype, out, include_initial)


@implements("cumulative_prod")
def cumulative_prod(x, /, *, axis=None, dtype=None, out=None, include_initial: bool = False) -> Any:
    return _cumulative_with_identity(np.multiply, x, axis, dtype, out, include_initial)
