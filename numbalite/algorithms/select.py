"""Implements `cuda.select` and `cuda.partition`, which copy the elements that a user-defined function
selects."""

from __future__ import annotations

from typing import TYPE_CHECKING, overload

from numbalite.algorithms import selection
from numbalite.algorithms.operation import CallArray, Operation, output_array
from numbalite.ufuncs import operands

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from numpy.typing import NDArray
    from typing_extensions import Unpack

    from numbalite._core import DeviceArray
    from numbalite.arguments import HostArray, OperationLike
    from numbalite.kernels.options import KernelOptions as Given_
    from numbalite.ndarray.arrays import DeviceNDArray


class _SelectOrPartition(Operation):
    parameters = "x"
    way: str

    def _launch_selection(self, array, out, count, stream):
        """Returns (the call's CallArray, the output array, the device array that contains the number of selected
        elements)"""
        given = CallArray(array, self, stream)
        x = given.array
        with given.device:
            found = (
                selection.empty_count()
                if count is None
                else selection.check_count_array(self, count, x)
            )
            written = output_array(self, out, x, (x,))
            selection.launch_selection(
                self.way, x, written, found, loops=self._loops, stream=stream
            )
            if out is not None and written is not out:
                operands.device_view(out)[: x.size]._copy(written, stream)
        return given, written if out is None else operands.device_view(out)[: x.size], found


class Select(_SelectOrPartition):
    """Selects the elements of an array for which a function of ``x`` is true.

    The selected elements are in C order. One pass is enough. Elements are
    numbers or records.

    The call ``select(array, out=None, count=None, stream=0)`` returns a 1-D
    array; the call waits for the number of its elements. ``out`` is a 1-D
    device array that is at least as long as the array; the result is then a
    view of ``out``. With ``count``, a device array of one int64 that receives
    the number of elements, the call does not wait, and returns ``out``.

    ``cuda.select(conditions, choices, default=0)``, with a list as first
    argument, is NumPy's function.

    Parameters
    ----------
    functor : str or function
        An expression or a body in ``x`` ("x > 0"), or a function whose body
        is such a text or is Python (``select`` is then a decorator).
    source : str
        A complete C++ function.
    name : str
        Selects one of several functions in ``source``.
    args : str or list of str
        The names of the parameters of a ``source`` that is a body or an
        expression.
    **given
        The options of ``cuda.jit``.

    Examples
    --------
    >>> positive = cuda.select("x > 0")
    >>> print(positive(np.array([3, -1, 4, -1, 5])))
    [3 4 5]
    """

    called, noun, way = "cuda.select", "selection", "values"

    @overload
    def __call__(
        self, array: DeviceArray, out: None = None, *, count: Any = None, stream: Any = 0
    ) -> DeviceNDArray: ...
    @overload
    def __call__(
        self, array: HostArray, out: None = None, *, count: Any = None, stream: Any = 0
    ) -> NDArray[Any]: ...
    @overload
    def __call__(
        self, array: Any, out: Any = None, *, count: Any = None, stream: Any = 0
    ) -> Any: ...
    def __call__(self, array: Any, out: Any = None, *, count: Any = None, stream: Any = 0) -> Any:
        given, made, found = self._launch_selection(array, out, count, stream)
        if count is not None and out is not None:
            return out
        chosen = selection.count_as_int(found, stream)
        made = made[:chosen]
        if out is None and 2 * chosen < given.array.size:  # copy the result, to free unused memory
            made = made.copy(stream=stream)
        return made if out is not None else given.result(made)


if TYPE_CHECKING:  # the result of calling the class without an operation is a decorator

    @overload
    def select(
        functor: OperationLike,
        *,
        name: str | None = None,
        args: Any = None,
        **given: Unpack[Given_],
    ) -> Select: ...
    @overload
    def select(
        functor: None = None,
        *,
        source: str,
        name: str | None = None,
        args: Any = None,
        **given: Unpack[Given_],
    ) -> Select: ...
    @overload
    def select(
        functor: None = None, **given: Unpack[Given_]
    ) -> Callable[[Callable[..., Any]], Select]: ...
    @overload
    def select(
        condlist: list[Any] | tuple[Any, ...], choicelist: Any, default: Any = 0
    ) -> DeviceNDArray: ...
    def select(*args: Any, **kwargs: Any) -> Any: ...


class Partition(_SelectOrPartition):
    """Separates the elements for which a function of ``x`` is true.

    Both parts are in C order.

    The call ``partition(array, out=None, count=None, stream=0)`` returns two
    arrays, the two parts of a new array; the call waits for the number of
    elements in the first. ``out`` is a 1-D device array that is at least as
    long as the array; the results are then the two parts of ``out``. With
    ``count``, a device array of one int64 that receives the number of elements
    in the first part, the call does not wait, and returns ``out``.

    ``cuda.partition(array, kth, axis=-1)``, with an array or a list as
    first argument, is NumPy's function.

    Parameters
    ----------
    functor, source, name, args, **given
        As in ``cuda.select``.

    Examples
    --------
    >>> even = cuda.partition("x % 2 == 0")
    >>> print(*even(np.array([3, 1, 4, 1, 5, 9, 2, 6])))
    [4 2 6] [3 1 1 5 9]
    """

    called, noun, way = "cuda.partition", "partition", "halves"

    @overload
    def __call__(
        self, array: DeviceArray, out: None = None, *, count: Any = None, stream: Any = 0
    ) -> tuple[DeviceNDArray, DeviceNDArray]: ...
    @overload
    def __call__(
        self, array: HostArray, out: None = None, *, count: Any = None, stream: Any = 0
    ) -> tuple[NDArray[Any], NDArray[Any]]: ...
    @overload
    def __call__(
        self, array: Any, out: Any = None, *, count: Any = None, stream: Any = 0
    ) -> Any: ...
    def __call__(self, array: Any, out: Any = None, *, count: Any = None, stream: Any = 0) -> Any:
        given, made, found = self._launch_selection(array, out, count, stream)
        if count is not None and out is not None:
            return out
        chosen = selection.count_as_int(found, stream)
        made = made if out is not None else given.result(made)
        return made[:chosen], made[chosen:]


if TYPE_CHECKING:  # the result of calling the class without an operation is a decorator

    @overload
    def partition(
        functor: OperationLike,
        *,
        name: str | None = None,
        args: Any = None,
        **given: Unpack[Given_],
    ) -> Partition: ...
    @overload
    def partition(
        functor: None = None,
        *,
        source: str,
        name: str | None = None,
        args: Any = None,
        **given: Unpack[Given_],
    ) -> Partition: ...
    @overload
    def partition(
        functor: None = None, **given: Unpack[Given_]
    ) -> Callable[[Callable[..., Any]], Partition]: ...
    @overload
    def partition(a: DeviceArray | HostArray, kth: Any, axis: Any = -1) -> DeviceNDArray: ...
    def partition(*args: Any, **kwargs: Any) -> Any: ...
