"""Creates arrays: `cuda.zeros`, `cuda.arange`, ..., `np.zeros_like(d)`, `np.zeros(3, like=d)`."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, overload

import numpy as np

from numbalite import _core, required
from numbalite.functions import arguments
from numbalite.kernels.decorators import jit
from numbalite.ndarray import arrays, assign
from numbalite.ndarray.dispatch import implements
from numbalite.runtime import shapes
from numbalite.ufuncs import operands

if TYPE_CHECKING:
    from typing import Any, Literal

    from numpy.typing import DTypeLike

    from numbalite.arguments import DeviceLike, ShapeLike
    from numbalite.ndarray.arrays import DeviceNDArray


def _new_array(shape, dtype, order, device):
    order = shapes.order_of(order, "C", "CF")
    with arguments.use_device(device):
        return arrays.device_array(
            shape, float if dtype is None else _sized_dtype(dtype), order=order
        )


def _sized_dtype(dtype):
    """Returns the dtype of a new array; strings without a length get length 1."""
    dtype = np.dtype(dtype)
    return dtype if dtype.itemsize else np.empty(0, dtype).dtype


@implements("empty")
def empty(
    shape: ShapeLike,
    dtype: DTypeLike | None = None,
    order: str = "C",
    *,
    device: DeviceLike | None = None,
) -> DeviceNDArray:
    """Returns a new uninitialized device array, as numpy.empty.

    Parameters
    ----------
    shape : int or tuple of int
        The shape.
    dtype : dtype
        The dtype, by default float64.
    order : str
        "C" or "F", the axis order.
    device : int or Device
        The device; default: the calling thread's device.

    Returns
    -------
    DeviceNDArray
        The new array.

    Examples
    --------
    >>> cuda.empty((2, 3), np.float32).shape
    (2, 3)
    """
    return _new_array(shape, dtype, order, device)


@implements("zeros")
def zeros(
    shape: ShapeLike,
    dtype: DTypeLike | None = None,
    order: str = "C",
    *,
    device: DeviceLike | None = None,
) -> DeviceNDArray:
    """Returns a new device array of zeros, as numpy.zeros.

    Parameters
    ----------
    shape, dtype, order, device
        As in cuda.empty.

    Returns
    -------
    DeviceNDArray
        The new array.

    Examples
    --------
    >>> cuda.zeros((2, 3), np.float32).copy_to_host()
    array([[0., 0., 0.],
           [0., 0., 0.]], dtype=float32)
    """
    made = _new_array(shape, dtype, order, device)
    made._fill(np.zeros((), made.dtype))
    return made


@implements("ones")
def ones(
    shape: ShapeLike,
    dtype: DTypeLike | None = None,
    order: str = "C",
    *,
    device: DeviceLike | None = None,
) -> DeviceNDArray:
    """Returns a new device array of ones, as numpy.ones.

    Parameters
    ----------
    shape, dtype, order, device
        As in cuda.empty.

    Returns
    -------
    DeviceNDArray
        The new array.

    Examples
    --------
    >>> print(cuda.ones(3))
    [1. 1. 1.]
    """
    made = _new_array(shape, dtype, order, device)
    assign.fill(made, np.ones((), made.dtype))
    return made


@implements("full")
def full(
    shape: ShapeLike,
    fill_value: Any,
    dtype: DTypeLike | None = None,
    order: str = "C",
    *,
    device: DeviceLike | None = None,
) -> DeviceNDArray:
    """Returns a new device array filled with a value, as numpy.full.

    Parameters
    ----------
    shape : int or tuple of int
        The shape.
    fill_value : scalar or array
        The value, or an array that is broadcast.
    dtype : dtype
        The dtype, by default that of ``fill_value``.
    order, device
        As in cuda.empty.

    Returns
    -------
    DeviceNDArray
        The new array.

    Examples
    --------
    >>> print(cuda.full((2, 3), [1, 2, 3]))
    [[1 2 3]
     [1 2 3]]
    """
    if dtype is None:
        dtype = required.dtype_of(fill_value) or np.asarray(fill_value).dtype
    made = _new_array(shape, dtype, order, device)
    made[...] = assign.cast_value(fill_value, made.dtype)
    return made


@implements("eye")
def eye(
    N: int,
    M: int | None = None,
    k: int = 0,
    dtype: DTypeLike | None = float,
    order: str = "C",
    *,
    device: DeviceLike | None = None,
) -> DeviceNDArray:
    """Returns a new device array with ones on a diagonal, as numpy.eye.

    All other elements are zeros.

    Parameters
    ----------
    N, M : int
        The numbers of rows and columns; the default of M is N.
    k : int
        The number of the diagonal.
    dtype : dtype
        The dtype.
    order, device
        As in cuda.empty.

    Returns
    -------
    DeviceNDArray
        The new array.

    Examples
    --------
    >>> print(cuda.eye(2, 3, k=1))
    [[0. 1. 0.]
     [0. 0. 1.]]
    """
    made = zeros((N, N if M is None else M), dtype, order, device=device)
    if -made.shape[0] < k < made.shape[1]:
        made.diagonal(k).fill(1)
    return made


@implements("identity")
def identity(n: int, dtype: DTypeLike | None = None) -> DeviceNDArray:
    return eye(n, dtype=dtype)


# -------------------------------------------------------------------------------- like another array


def _create_like(prototype, dtype, order, shape, device):
    a = arguments.as_device_array(prototype)
    dtype = a.dtype if dtype is None else dtype
    order = order_given = shapes.order_of(order)
    if order == "A":
        order = a._memory_order()
    if order == "K" and (a.is_c_contiguous() or a.is_f_contiguous()):
        order = "C" if a.is_c_contiguous() else "F"
    device = a.device if device is None else device
    shape = a.shape if shape is None else shapes.tuple_of_integers(shape)
    if len(shape) != a.ndim and order_given == "K":
        order = "C"
    if order == "K":
        dtype = _sized_dtype(dtype)
        strides = shapes.packed_like(shape, a.strides, dtype.itemsize)
        with arguments.use_device(device):
            return arrays.device_array(shape, dtype, strides=strides)
    return _new_array(shape, dtype, "F" if order == "F" else "C", device)


@implements("empty_like")
def empty_like(
    prototype, /, dtype=None, order: str = "K", subok: bool = True, shape=None, *, device=None
) -> DeviceNDArray:
    return _create_like(prototype, dtype, order, shape, device)


@implements("zeros_like")
def zeros_like(
    a, dtype=None, order: str = "K", subok: bool = True, shape=None, *, device=None
) -> DeviceNDArray:
    made = _create_like(a, dtype, order, shape, device)
    made._fill(np.zeros((), made.dtype))
    return made


@implements("ones_like")
def ones_like(
    a, dtype=None, order: str = "K", subok: bool = True, shape=None, *, device=None
) -> DeviceNDArray:
    made = _create_like(a, dtype, order, shape, device)
    assign.fill(made, np.ones((), made.dtype))
    return made


@implements("full_like")
def full_like(
    a, fill_value, dtype=None, order: str = "K", subok: bool = True, shape=None, *, device=None
) -> DeviceNDArray:
    made = _create_like(a, dtype, order, shape, device)
    made[...] = assign.cast_value(fill_value, made.dtype)
    return made


@implements("copy")
def copy(a, order: str = "K", subok: bool = False) -> DeviceNDArray:
    return arguments.as_device_array(a).copy(shapes.order_of(order))


@implements("astype")
def astype(x, dtype, /, *, copy: bool = True, device=None) -> DeviceNDArray:
    return arguments.as_device_array(x).astype(dtype, copy=copy)


# --------------------------------------------------------------------- array(..., like=) and asarray


def _holds_arrays(value):
    """Returns whether the value is a (nested) list that contains device arrays."""
    return isinstance(value, (list, tuple)) and any(
        operands.is_on_device(one) or _holds_arrays(one) for one in value
    )


def _stack_nested(values):
    """Stacks a nested list of device arrays on the device, where NumPy would copy each array to the host."""
    return np.stack([_stack_nested(one) if _holds_arrays(one) else one for one in values])


@implements("asarray", "asanyarray")
def asarray(
    a, dtype=None, order: str | None = None, *, device=None, copy: bool | None = None
) -> DeviceNDArray:
    if isinstance(a, _core.DeviceArray):
        made = arguments.as_device_array(a)
    elif _holds_arrays(a):
        made = operands.contiguous_array(_stack_nested(a))
    elif operands.is_on_device(a):
        made = operands.device_view(a)
    else:
        made = arguments.as_device_array(np.asarray(a, dtype))
    order = shapes.order_of(order)
    dtype = made.dtype if dtype is None else np.dtype(dtype)
    if order == "A" and not (copy and dtype == made.dtype):
        order = "K"  # as NumPy
    result = made.astype(dtype, order, copy=bool(copy))
    if copy is False and (result is not made or isinstance(a, (list, tuple))):
        raise ValueError("Unable to avoid copy while creating an array as requested.")
    return result


@implements("array")
def array(
    object,
    dtype=None,
    *,
    copy: bool | None = True,
    order: str = "K",
    subok: bool = False,
    ndmin: int = 0,
    ndmax: int = 0,
) -> DeviceNDArray:
    made = asarray(object, dtype, order, copy=copy)
    return made.reshape((1,) * (ndmin - made.ndim) + made.shape) if made.ndim < ndmin else made


@implements("ascontiguousarray")
def ascontiguousarray(a, dtype=None) -> DeviceNDArray:
    made = asarray(a, dtype, "C")
    return made if made.ndim else made.reshape(1)


@implements("asfortranarray")
def asfortranarray(a, dtype=None) -> DeviceNDArray:
    made = asarray(a, dtype, "F")
    return made if made.ndim else made.reshape(1)


# ------------------------------------------------------------------------------------------- numbers


@jit
def _fill_with_sequence(out, start, step):
    "long long i = grid<1>(); if (i < out.size()) out[i] = start + (decltype(step))i * step;"


@jit
def _fill_with_doubles(out, start, step):
    """
    long long i = grid<1>();
    if (i < out.size())
        out[i] = __dadd_rn(start, __dmul_rn((double)i, step)); // both are rounded, as in NumPy
    """


def sequence_kernel() -> Any:
    """Returns the kernel that writes a sequence of integers. C code calls this function once (cext/py/copykernel.c)."""
    return _fill_with_sequence


def number_sequence(
    start: Any, step: Any, count: int, dtype: Any, like: Any = None
) -> DeviceNDArray:
    """Returns start + i * step for i below count, computed in the type of start and step (one of int, float,
    complex, numpy.uint64) and stored as dtype."""
    with arguments.on_device_of(like):
        made = _core.device_empty((count,), dtype)
        if count:
            fill = _fill_with_doubles if type(start) is float else _fill_with_sequence
            fill[-(-count // arguments.THREADS), arguments.THREADS](made, start, step)
    return made


def _convert_to_compute_type(dtype, *values):
    """Returns the list of values, converted to the Python or NumPy type in which kernels for this dtype compute."""
    kind = {"i": int, "u": np.uint64, "c": complex}.get(dtype.kind, float)
    return [kind(value) for value in values]


def _dtype_of_numbers(given):
    """Returns the dtype that numpy.arange selects for these arguments."""
    if all(type(one) is int for one in given):
        return np.int_
    return np.arange(*(type(one)(i // 2) for i, one in enumerate(given))).dtype


@implements("arange", direct=_core.arange)
def arange(
    start_or_stop: Any = None,
    /,
    stop: Any = None,
    step: Any = None,
    dtype: DTypeLike | None = None,
    *,
    start: Any = None,
    device: DeviceLike | None = None,
) -> DeviceNDArray:
    """Returns a new device array of numbers, as numpy.arange.

    The numbers go from start up to stop, exclusive.

    Parameters
    ----------
    start_or_stop : number
        The first number. Without ``stop``, the end of the numbers, which then
        begin at 0.
    stop : number
        The end of the numbers, exclusive.
    step : number
        The difference between consecutive numbers, by default 1.
    dtype : dtype
        The dtype, by default that of numpy.arange.
    start : number
        The first number, as a keyword.
    device : int or Device
        The device; default: the calling thread's device.

    Returns
    -------
    DeviceNDArray
        The new array.

    Raises
    ------
    TypeError
        ``stop`` is missing, or an argument is not a number.
    ZeroDivisionError
        ``step`` is 0.

    Examples
    --------
    >>> print(cuda.arange(2, 10, 3))
    [2 5 8]
    """
    first = start if start_or_stop is None else start_or_stop
    if stop is None and start is None:
        first, stop = 0, first
    if stop is None:
        raise TypeError("arange() requires stop to be specified.")
    first, step = 0 if first is None else first, 1 if step is None else step
    given = [
        one.item() if isinstance(one, arrays.DeviceNDArray) else one for one in (first, stop, step)
    ]
    for one in given:
        if type(one) not in (int, float) and np.asarray(one).dtype.kind in "OSUV":
            raise TypeError(f"arange takes numbers, not {type(one).__name__}")
    if dtype is None:
        dtype = _dtype_of_numbers(given)
    dtype = np.dtype(dtype)
    first, stop, step = given
    if step == 0:
        raise ZeroDivisionError("division by zero")
    length = (stop - first) / step
    if length != length:
        raise ValueError("arange: cannot compute length")
    if isinstance(length, complex):
        length = min(length.real, length.imag)
    count = max(math.ceil(length), 0)
    with arguments.use_device(device):
        if dtype.kind not in "iufc":
            host: Any = np.arange(first, stop, step, dtype)  # type: ignore[call-overload]
            return arrays.to_device(host)
        begin, delta = first, step
        if (
            dtype.kind in "iu"
        ):  # as in NumPy, the first two numbers are converted, then their difference is repeated
            begin = int(first)
            delta = int(first + step) - begin
        else:
            with np.errstate(all="ignore"):
                begin, second = dtype.type(first), dtype.type(first + step)
                wide = np.promote_types(dtype, np.float32)
                delta = second.astype(wide) - begin.astype(wide)
        if dtype.kind == "u":
            begin, delta = begin % 2**64, delta % 2**64
        begin, delta = _convert_to_compute_type(dtype, begin, delta)
        return number_sequence(begin, delta, count, dtype)


@overload
def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: Literal[False] = False,
    dtype: DTypeLike | None = None,
    axis: int = 0,
    *,
    device: DeviceLike | None = None,
) -> DeviceNDArray: ...
@overload
def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: DTypeLike | None = None,
    axis: int = 0,
    *,
    device: DeviceLike | None = None,
) -> Any: ...
@implements("linspace")
def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: DTypeLike | None = None,
    axis: int = 0,
    *,
    device: DeviceLike | None = None,
) -> Any:
    """Returns a new device array of evenly spaced numbers, as numpy.linspace.

    Parameters
    ----------
    start, stop : number or array
        The first and the last number.
    num : int
        The length of the result.
    endpoint : bool
        False: excludes ``stop``.
    retstep : bool
        True: also returns the difference between consecutive numbers.
    dtype : dtype
        The dtype, by default that of numpy.linspace.
    axis : int
        The axis of the numbers in the result, if ``start`` or ``stop`` is
        an array.
    device : int or Device
        The device; default: the calling thread's device.

    Returns
    -------
    DeviceNDArray or tuple
        The new array; with ``retstep=True``, (array, step).

    Raises
    ------
    ValueError
        ``num`` is negative.

    Examples
    --------
    >>> print(cuda.linspace(0, 1, 5))
    [0.   0.25 0.5  0.75 1.  ]
    """
    num = operator.index(num)
    if num < 0:
        raise ValueError(f"Number of samples, {num}, must be non-negative.")
    gaps = num - 1 if endpoint else num
    with arguments.use_device(device):
        if shapes.ndim_of(start) == 0 and shapes.ndim_of(stop) == 0:
            made, step = _evenly_spaced(start, stop, num, gaps, endpoint, dtype)
        else:
            made, step = _linspace_between_arrays(start, stop, num, gaps, endpoint, dtype)
            if axis != 0:
                made = np.moveaxis(made, 0, axis)
    return (made, step) if retstep else made


def _linspace_dtype(*ends):
    """Returns the dtype of numbers between these end points, by the rules of numpy.linspace."""
    dtypes = [required.dtype_of(one) or np.asarray(one).dtype for one in ends]
    given = [
        one if type(one) in (int, float, complex) else dtype.type(0)
        for one, dtype in zip(ends, dtypes, strict=True)
    ]
    return np.linspace(*given, 0).dtype


def _evenly_spaced(start, stop, num, gaps, endpoint, dtype):
    kind = _linspace_dtype(start, stop)
    start, stop = (one.item() if hasattr(one, "item") else one for one in (start, stop))
    dtype = kind if dtype is None else np.dtype(dtype)
    first, last = _convert_to_compute_type(kind, start, stop)
    step = (last - first) / gaps if gaps else float("nan")
    exact = dtype.kind in "fc" and np.can_cast(kind, dtype, "same_kind")
    if (
        num > 1 and step == 0 and first != last
    ):  # the quotient underflows: divide first, then multiply, as NumPy
        made = np.true_divide(number_sequence(0.0, 1.0, num, np.float64), gaps)
        made = np.add(np.multiply(made, last - first), first).astype(kind, copy=False)
    else:
        made = number_sequence(
            first, step if num > 1 else type(first)(0), num, dtype if exact else kind
        )
    if endpoint and num > 1:
        made[-1] = last
    if dtype.kind in "iu":
        np.floor(made, out=made)
    return made.astype(dtype, copy=False), step


def _linspace_between_arrays(start, stop, num, gaps, endpoint, dtype):
    kind = _linspace_dtype(start, stop)
    start, stop = (np.multiply(one, 1.0) for one in arguments.arrays_of((start, stop)))
    dtype = kind if dtype is None else np.dtype(dtype)
    distance = np.subtract(stop, start)
    step = np.true_divide(distance, gaps) if gaps else np.full_like(distance, np.nan)
    counts = number_sequence(0.0, 1.0, num, np.zeros(0, kind).real.dtype, start)
    counts = counts.reshape((-1,) + (1,) * distance.ndim)
    made = np.multiply(counts, step if gaps else distance)
    if (
        gaps
    ):  # as in NumPy, divide first if a quotient is 0, because the quotient may have underflowed
        divided = np.multiply(np.true_divide(counts, gaps), distance)
        made = np.where(np.any(np.equal(step, 0)), divided, made)
    made = np.add(made, start).astype(kind, copy=False)
    if endpoint and num > 1:
        made[-1, ...] = stop
    if dtype.kind in "iu":
        np.floor(made, out=made)
    return made.astype(dtype, copy=False), step


@implements("logspace")
def logspace(
    start,
    stop,
    num: int = 50,
    endpoint: bool = True,
    base=10.0,
    dtype: DTypeLike | None = None,
    axis: int = 0,
) -> DeviceNDArray:
    if np.ndim(base):
        start, stop, base = arguments.arrays_of((start, stop, base))
        most = max(one.ndim for one in (start, stop, base))
        start, stop, base = (
            one.reshape((1,) * (most - one.ndim) + one.shape) for one in (start, stop, base)
        )
        base = np.expand_dims(base, axis)
    made = np.power(base, linspace(start, stop, num, endpoint, axis=axis))
    return made if dtype is None else made.astype(dtype, copy=False)


@implements("geomspace")
def geomspace(
    start, stop, num: int = 50, endpoint: bool = True, dtype: DTypeLike | None = None, axis: int = 0
) -> DeviceNDArray:
    """Waits for a check of the end points. Raises ValueError if an end point is zero."""
    ends = arguments.arrays_of((start, stop))
    if any(bool(np.any(np.equal(one, 0))) for one in ends):
        raise ValueError("Geometric sequence cannot include zero")
    one, other = (np.ones(1, end.dtype) for end in ends)
    if dtype is None:  # NumPy selects it
        kind = np.geomspace(one, other, 1).dtype
    else:
        kind = np.result_type(one, other, float(num), np.zeros((), dtype))
    first, last = (one.astype(kind) for one in ends)
    turn = np.sign(first)
    first, last = first / turn, last / turn
    made = logspace(np.log10(first), np.log10(last), num, endpoint).astype(kind, copy=False)
    if len(made):
        made[0, ...] = first
        if len(made) > 1 and endpoint:
            made[-1, ...] = last
    made = made * turn
    if axis != 0:
        made = np.moveaxis(made, 0, axis)  # type: ignore[type-var]
    return made if dtype is None else made.astype(dtype, copy=False)
