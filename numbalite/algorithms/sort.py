"""Implements `cuda.sort`, which sorts by a user-defined key or comparison."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, overload

import numpy as np

from numbalite.algorithms import generated, merge, sorting
from numbalite.algorithms.operation import CallArray, numpy_function_for_array
from numbalite.kernels import options as options_
from numbalite.ndarray import assign
from numbalite.ndarray.arrays import device_array
from numbalite.ufuncs import element, operands

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray
    from typing_extensions import Unpack

    from numbalite._core import DeviceArray
    from numbalite.arguments import HostArray, OperationLike
    from numbalite.kernels.options import KernelOptions as Given_
    from numbalite.ndarray.arrays import DeviceNDArray

_KEYS = {
    "nl_keys": [
        generated.pointer_type("from", True),
        generated.pointer_type("to"),
        generated.count_type("count"),
    ]
}
_THREADS, _MAX_BLOCKS = 256, 1 << 13


class Sort:
    """Sorts arrays by their elements, by a key, or by a comparison.

    The sort is always stable. Elements are numbers or records; without a
    key, records are compared by their fields.

    The call ``sort(array, axis=-1, out=None, stream=0)`` returns a sorted
    copy, or ``out``, which may be the array itself; ``axis=None`` sorts all
    elements as a 1-D array. ``sort.argsort(array, axis=-1, stream=0)``
    returns the indices that would sort the array.

    ``cuda.sort(array, axis=-1)``, with an array or a list as first
    argument, is NumPy's function.

    Parameters
    ----------
    key : str or function
        An expression or a body of an element ``x`` ("-x"), or a function. The
        key is a number; elements are sorted by their keys, in NumPy's
        order.
    less : str or function
        A function of two elements ``a`` and ``b`` that returns whether a
        comes before b ("a.size < b.size"): a strict order.
    descending : bool
        Whether to reverse the order of elements or keys.
    **given
        The options of ``cuda.jit``.

    Raises
    ------
    TypeError
        ``less`` is passed together with ``key`` or ``descending``.

    Examples
    --------
    >>> by_size = cuda.sort(key="abs(x)")
    >>> print(by_size(np.array([3, -1, 2, 0])))
    [ 0 -1  2  3]
    """

    called = "cuda.sort"

    def __new__(cls, key: Any = None, *more: Any, **given: Any) -> Any:
        numpys = numpy_function_for_array(cls.called, (key, *more), given)
        if numpys is not None:
            return numpys(*(() if key is None else (key, *more)), **given)
        element.check_only_operation(cls.called, key, more)
        return super().__new__(cls)

    def __init__(
        self, key: Any = None, *, less: Any = None, descending: bool = False, **given: Any
    ) -> None:
        options = options_.parse_options(given, self.called)
        if key is not None and less is not None:
            raise TypeError("cuda.sort: give either key= or less=, not both")
        if less is not None and descending:
            raise TypeError(
                "cuda.sort: less= defines the order, so descending=True is not accepted"
            )
        function = None
        if key is not None or less is not None:
            parameters = "x" if less is None else "a, b"
            noun = "key" if less is None else "comparison"
            function = element.operation_function(
                key if less is None else less, parameters, self.called, noun,
                options=options, frame=sys._getframe(1),
            )  # fmt: skip
        self._set_attributes(function, less is not None, bool(descending), options)

    def _set_attributes(self, function, compares, descending, options):
        self.function, self.options = function, options
        self._compares, self._descending = compares, descending
        self._kernels: dict[np.dtype, Any] = {}
        self.__name__ = "sort" if function is None else element.plain_name(function)

    def __repr__(self) -> str:
        return f"<CUDA sort {self.__name__}>"

    def __reduce__(self) -> tuple:
        return _unpickle, (self.function, self._compares, self._descending, self.options)

    @overload
    def __call__(
        self, array: DeviceArray, axis: Any = -1, out: None = None, *, stream: Any = 0
    ) -> DeviceNDArray: ...
    @overload
    def __call__(
        self, array: HostArray, axis: Any = -1, out: None = None, *, stream: Any = 0
    ) -> NDArray[Any]: ...
    @overload
    def __call__(self, array: Any, axis: Any = -1, out: Any = None, *, stream: Any = 0) -> Any: ...
    def __call__(self, array: Any, axis: Any = -1, out: Any = None, *, stream: Any = 0) -> Any:
        given = CallArray(array, self, stream)
        with given.device:
            x, axis = sorting.array_and_axis(given.array, axis)
            out, target = given.output(out, x.shape, x.dtype, in_place=True)
            if self.function is None:
                sorting.sort(x, axis, self._descending, out=target, stream=stream)
            elif x.size and self._compares:
                rows = sorting.rows_along_axis(x, axis, stream)
                made = device_array(rows.shape, x.dtype, stream=stream)
                n = rows.shape[-1]
                self._kernels_of_dtype(x.dtype).sort(rows, made, None, x.size // n, n, stream)
                assign.copy_elements(sorting.move_axis_back(made, axis, stream), target, stream)
            elif x.size:
                made = sorting.take_along_rows(
                    x, self._argsort_indices(x, axis, stream), axis, stream
                )
                assign.copy_elements(made, target, stream)
            return given.copy_to_out(out, target)

    @overload
    def argsort(self, array: DeviceArray, axis: Any = -1, *, stream: Any = 0) -> DeviceNDArray: ...
    @overload
    def argsort(self, array: HostArray, axis: Any = -1, *, stream: Any = 0) -> NDArray[Any]: ...
    @overload
    def argsort(self, array: Any, axis: Any = -1, *, stream: Any = 0) -> Any: ...
    def argsort(self, array: Any, axis: Any = -1, *, stream: Any = 0) -> Any:
        """Returns the indices that would sort the array."""
        given = CallArray(array, self, stream)
        with given.device:
            x, axis = sorting.array_and_axis(given.array, axis)
            return given.result(self._argsort_indices(x, axis, stream))

    def _argsort_indices(self, x, axis, stream):
        if self.function is None:
            return sorting.argsort(x, axis, self._descending, stream=stream)
        if not self._compares:
            return sorting.argsort(
                self._sort_keys(x, stream), axis, self._descending, stream=stream
            )
        rows = sorting.rows_along_axis(x, axis, stream)
        indices = device_array(rows.shape, np.int64, stream=stream)
        if x.size:
            n = rows.shape[-1]
            self._kernels_of_dtype(x.dtype).sort(rows, None, indices, x.size // n, n, stream)
        return sorting.move_axis_back(indices, axis, stream)

    def _sort_keys(self, x, stream):
        made, dtype = self._kernels_of_dtype(x.dtype)
        keys = device_array(x.shape, dtype, stream=stream)
        if x.size:
            dense = operands.contiguous_array(x, stream)
            blocks = min(-(-x.size // _THREADS), _MAX_BLOCKS)
            made["nl_keys"][blocks, _THREADS, stream](dense, keys, x.size)
        return keys

    def _kernels_of_dtype(self, dtype):
        """Returns the kernels for elements of a dtype."""
        found = self._kernels.get(dtype)
        if found is None:
            if self._compares:
                found = merge.Comparison(self.function, self.options, dtype)
            else:
                key = generated.result_dtype(self.function, dtype)
                made = generated.Generated(
                    self.function,
                    self.options,
                    dtype,
                    "x",
                    "sort_key",
                    "convert",
                    _KEYS,
                    {"O": key},
                )
                found = made, key
            self._kernels[dtype] = found
        return found


def _unpickle(*state):
    made = object.__new__(Sort)
    made._set_attributes(*state)
    return made


if TYPE_CHECKING:  # the result of calling the class

    @overload
    def sort(
        key: OperationLike | None = None,
        *,
        less: OperationLike | None = None,
        descending: bool = False,
        **given: Unpack[Given_],
    ) -> Sort: ...
    @overload
    def sort(
        a: DeviceArray | HostArray,
        axis: Any = -1,
        kind: Any = None,
        order: Any = None,
        *,
        stable: Any = None,
    ) -> DeviceNDArray: ...
    def sort(*args: Any, **kwargs: Any) -> Any: ...


@overload
def topk(
    array: DeviceArray, k: int, axis: int = -1, *, largest: bool = True, stream: Any = 0
) -> tuple[DeviceNDArray, DeviceNDArray]: ...
@overload
def topk(
    array: HostArray, k: int, axis: int = -1, *, largest: bool = True, stream: Any = 0
) -> tuple[NDArray[Any], NDArray[Any]]: ...
@overload
def topk(
    array: Any, k: int, axis: int = -1, *, largest: bool = True, stream: Any = 0
) -> tuple[Any, Any]: ...
def topk(
    array: Any, k: int, axis: int = -1, *, largest: bool = True, stream: Any = 0
) -> tuple[Any, Any]:
    """Returns the k largest elements along an axis, and their indices.

    The elements are in order. With ``largest=False``, the function returns the
    k smallest elements. A NaN counts as larger than all numbers. Among equal
    elements, the first are returned.

    Parameters
    ----------
    array : array_like
        An array; host arrays give results on the host.
    k : int
        The number of elements.
    axis : int
        The axis along which elements are compared.
    largest : bool
        Whether to return the largest elements, in decreasing order, or the
        smallest elements, in increasing order.
    stream : Stream
        The stream of the work; by default the array's own.

    Returns
    -------
    tuple
        The elements, and their indices along the axis.

    Examples
    --------
    >>> values, indices = cuda.topk(cuda.to_device(np.array([3, 9, 4])), 2)
    >>> print(values, indices)
    [9 4] [1 2]
    """
    given = CallArray(array, _TOPK, stream)
    with given.device:
        x, axis = sorting.array_and_axis(given.array, axis)
        if not 0 <= k <= x.shape[axis]:
            raise ValueError(f"cuda.topk: k={k} of {x.shape[axis]} elements along axis {axis}")
        indices = sorting.argsort(x, axis, bool(largest), stream=stream)
        first = (slice(None),) * axis + (slice(k),)
        indices = operands.device_view(indices[first]).copy(stream=stream)
        values = sorting.take_along_rows(x, indices, axis, stream)
        return given.result(values), given.result(indices)


class _NamedFunction:
    def __init__(self, called: str) -> None:
        self.called = called


_TOPK = _NamedFunction("cuda.topk")
