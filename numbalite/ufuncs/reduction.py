"""``cuda.reduce``: reduces an array with a user's function of two numbers.

total = cuda.reduce("a + b")
total(x)                    # one number
total(x, axis=1)            # an array

@cuda.reduce
def largest(a, b):
    "return a > b ? a : b;"
"""

from __future__ import annotations

import math
import operator
import re
import sys
from typing import TYPE_CHECKING, overload

import numpy as np

from numbalite import _core
from numbalite.kernels import options as options_
from numbalite.ndarray import assign

from . import element, operands, reduceloops

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from typing_extensions import Unpack

    from numbalite._core import DeviceArray
    from numbalite.arguments import OperationLike
    from numbalite.kernels.options import KernelOptions as Given_
    from numbalite.ndarray.arrays import DeviceNDArray


class Reduce(_core.Reduction):
    """Reduces arrays with an associative function of two numbers.

    The function need not be commutative: elements are combined in C order. If
    the whole text is a commutative operation (``a + b``, ``a * b``, ``a & b``,
    ``min(a, b)``, ...), another, faster order is used. The order depends only
    on shape and strides, so that results are bitwise reproducible. The
    accumulator and the result have the array's dtype: the function's return
    value is converted to this dtype (an int8 sum wraps; use
    ``x.astype("int32")`` for a wider type).

    Calling:

    ``arr``: an array of numbers with any strides, on the host or the device (or
    of another library). For host arrays, the call returns a NumPy scalar or
    array; for device arrays a NumPy scalar, or with ``axis`` a device array.
    ``size``: reduce only the first ``size`` elements (one-dimensional arrays).
    ``res``: a device array for the result: its first element, or with ``axis``
    the whole array; the call then returns None without waiting. ``init``: the
    initial value, which is combined from the left, and which is the result for
    an empty array. ``axis``: an int or a tuple; None (the default) reduces all
    axes.

    A call raises ValueError for an empty array without ``init``, AxisError
    for an invalid axis, TypeError for values that are no array of numbers.

    Parameters
    ----------
    functor : str or function
        An expression or a body in ``a`` and ``b`` ("a + b"), a function of
        two parameters whose body is a string (so this is a decorator), or a
        device function.
    source : str
        A complete C++ function, or with ``args`` an expression or a body.
    name : str
        Selects one of several functions in ``source``.
    args : str or list of str
        The names of the parameters, "x, y", of a ``source`` that is a body
        or an expression.
    **given
        The options of ``cuda.jit`` (``fastmath``, ``options=[...]``, ...).

    Examples
    --------
    >>> largest = cuda.reduce("a > b ? a : b")
    >>> a = np.array([[3, 1], [4, 1]])
    >>> print(largest(a), largest(a, axis=1), largest(np.empty(0), init=0.0))
    4 [3 4] 0.0
    """

    def __init__(self, functor=None, *, source=None, name=None, args=None, **given):
        options = options_.parse_options(given, "cuda.reduce")
        function = element.operation_function(
            functor, "a, b", "cuda.reduce", "reduction", source=source, name=name, args=args,
            options=options, frame=sys._getframe(1),
        )  # fmt: skip
        self._initialize(function, options)

    def _initialize(self, function, options):
        self.function = function
        self.options = options
        self.__name__ = element.plain_name(function)
        self.__qualname__ = function.__qualname__
        self.__module__ = function.__module__
        self.__doc__ = function.__doc__
        self._loops = reduceloops.Loops(self._function_for, self.__name__, options)

    def __new__(cls, functor=None, *more, source=None, **given):
        element.check_only_operation("cuda.reduce", functor, more)
        if functor is None and source is None:
            return lambda function: cls(function, **given)
        return super().__new__(cls)

    if TYPE_CHECKING:

        @overload
        def __call__(
            self,
            arr: DeviceArray,
            size: int | None = None,
            res: None = None,
            init: Any = None,
            stream: Any = 0,
            *,
            axis: int | tuple[int, ...],
        ) -> DeviceNDArray: ...
        @overload
        def __call__(
            self,
            arr: Any,
            size: int | None = None,
            res: None = None,
            init: Any = None,
            stream: Any = 0,
            axis: Any = None,
        ) -> Any: ...
        @overload
        def __call__(
            self,
            arr: Any,
            size: int | None = None,
            res: Any = None,
            init: Any = None,
            stream: Any = 0,
            axis: Any = None,
        ) -> None: ...
        def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

    @property
    def _identity(self):
        return identity(self.function)

    def _function_for(self, dtype):
        return self.function

    def _reduce_in_python(self, arr, size=None, res=None, init=None, stream=0, axis=None):
        """Handles calls outside the C fast path: the first call with its dtypes, and calls with host arrays."""
        on_device = operands.is_on_device(arr)
        array = operands.device_view(arr) if on_device else operands.host_array(arr)
        operands.check_dtype(array.dtype, self.__name__)
        if size is not None:
            array = _leading_elements(array, size)
        axes = operands.axes_of(axis, array.ndim)
        shape = operands.drop_axes(array.shape, axes)
        initial = initial_array(init, array.dtype, self.__name__)
        if initial is None and 0 in array.shape:
            initial = initial_array(self._identity, array.dtype, self.__name__)
        if initial is None and 0 in array.shape and 0 not in shape:
            raise ValueError(
                f"zero-size array to reduction operation {self.__name__} which has no identity: "
                f"pass init="
            )
        with assign.on_device_of(array if on_device else None):
            return self._run_reduction(arr, array, axes, shape, initial, res, stream, axis)

    def _run_reduction(self, given, array, axes, shape, initial, res, stream, axis):
        on_device = operands.is_on_device(given)
        target = host_result = None
        if res is not None and operands.is_on_device(res):
            target = _target_view(operands.device_view(res), shape, axis, array.dtype)
        elif isinstance(res, np.ndarray):
            host_result = _target_view(res, shape, axis, array.dtype)
        elif res is not None:
            raise TypeError(f"res= is a device array, not {type(res).__name__}")
        array = array if on_device else operands.to_device(array, stream)
        out = target
        if (
            target is None
            or not operands.is_aligned(target)
            or (math.prod(shape) != 1 and assign.may_overlap(array, target))
        ):
            out = operands.empty_array(shape, array.dtype)
        reducer = reduce_axes(
            self._loops, array, axes, array.dtype, out, initial=initial, stream=stream
        )
        if on_device and reducer is not None:
            self._note(array.dtype, None if target is None else out.dtype, reducer)
        if target is not None:
            if out is not target:
                operands.copy_elements(out, target, stream)
            return None
        if host_result is not None:
            host_result[...] = out.copy_to_host(stream=stream)
            return None
        if on_device and axis is not None:
            return out
        return out.copy_to_host(stream=stream)[()]

    def inspect_source(self, dtype=np.float64) -> str:
        """Returns the CUDA C++ source of the kernel that reduces contiguous numbers of a dtype."""
        dtype = np.dtype(dtype)
        return self._loops.generate_kernel("packed", dtype, dtype, dtype)[0].join_source()

    def __repr__(self):
        return f"<CUDA reduction {self.__name__}>"

    def __reduce__(self):
        return _unpickle_reduce, (type(self), self.function, self.options)

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self


if TYPE_CHECKING:  # without an operation, a call of the class returns a decorator

    @overload
    def reduce(
        functor: OperationLike,
        *,
        name: str | None = None,
        args: Any = None,
        **given: Unpack[Given_],
    ) -> Reduce: ...
    @overload
    def reduce(
        functor: None = None,
        *,
        source: str,
        name: str | None = None,
        args: Any = None,
        **given: Unpack[Given_],
    ) -> Reduce: ...
    @overload
    def reduce(
        functor: None = None, **given: Unpack[Given_]
    ) -> Callable[[Callable[..., Any]], Reduce]: ...
    def reduce(*args: Any, **kwargs: Any) -> Any: ...


def identity(function):
    """Returns the identity of a reduction with the function, which is 0 for a sum and 1 for a product, or None
    if the operation is not recognized."""
    definition = function.definition
    if definition.is_unit or len(definition.parameters) != 2:
        return None
    a, b = definition.parameters
    text = re.sub(r"\s+|\breturn\b|[;()]", "", definition.expression)
    known = {"+": 0, "*": 1}
    return next((known[s] for s in known if text in (f"{a}{s}{b}", f"{b}{s}{a}")), None)


def _unpickle_reduce(cls, function, options):
    made = _core.Reduction.__new__(cls)
    made._initialize(function, options)
    return made


def reduce_axes(loops, array, axes, loop, out, *, initial=None, **more):
    """Calls `reduceloops.reduce`, also for arrays with empty axes."""
    if 0 in out.shape:
        return None
    if 0 in array.shape:
        out._fill(initial.astype(out.dtype), more.get("stream", 0))
        return None
    if initial is not None:
        initial = initial.tobytes()
    return reduceloops.reduce(loops, array, axes, loop, out, initial=initial, **more)


def _leading_elements(array, size):
    if array.ndim != 1:
        raise TypeError(f"size= is for arrays of one dimension, this has {array.ndim}")
    count = operator.index(size)
    if not 0 <= count <= array.shape[0]:
        raise ValueError(f"size={count} of an array of {array.shape[0]} elements")
    return array[:count]


def initial_array(init, dtype, name, word="init"):
    """Returns the argument `init` as a 0-dimensional array of the dtype, or None."""
    if init is None:
        return None
    if isinstance(init, _core.DeviceArray):
        init = init.copy_to_host()
    value = np.asarray(init)
    if value.ndim:
        raise TypeError(f"{word}= must be a number, not an array of shape {value.shape}")
    weak = type(init) in (int, float, complex)
    kinds = "biufc"
    fits = value.dtype.kind in kinds and (
        kinds.index(value.dtype.kind) <= kinds.index(dtype.kind)
        or (weak and value.dtype.kind in "iu" and dtype.kind in "iu")
    )
    if not fits:
        raise TypeError(f"{name}: {word}={init!r} is not a number of the array's dtype, {dtype}")
    return np.array(init, dtype)


def _target_view(res, shape, axis, dtype):
    """Returns the view of `res` into which the result is written."""
    if not np.can_cast(dtype, res.dtype, "same_kind"):
        raise TypeError(f"res= has dtype {res.dtype}, the result {dtype}")
    if axis is None:
        if not math.prod(res.shape):
            raise ValueError("res= is empty: the result needs one element")
        return res[(0,) * res.ndim + (...,)]
    if res.shape != shape:
        raise ValueError(f"res= has shape {res.shape}, the result {shape}")
    return res
