"""Implements `cuda.scan`: prefix scans with a user-defined operation, with the kernels of
`ufunc.accumulate`."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, overload

import numpy as np

from numbalite.algorithms.operation import CallArray, Operation
from numbalite.ufuncs import operands, reduceloops, reduction

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from numpy.typing import NDArray
    from typing_extensions import Unpack

    from numbalite._core import DeviceArray
    from numbalite.arguments import HostArray, OperationLike
    from numbalite.kernels.options import KernelOptions as Given_
    from numbalite.ndarray.arrays import DeviceNDArray


class Scan(Operation):
    """Scans an array with an associative function of two elements.

    The scan computes prefix sums and similar results in one pass. The operation
    need not be commutative: elements are combined in order, always with the
    same grouping, so equal calls return equal bits.

    Call the scan as ``scan(array, axis=None, out=None, initial=None,
    exclusive=False, stream=0)``. Elements are numbers or records, and the
    result has their dtype. Without an axis the elements are scanned in C
    order, and the result is 1-D. ``initial`` precedes the first element, and
    has a default for sums and products. With ``exclusive=True``, each result
    excludes its own element, so the first result is ``initial``. ``out`` is a
    device array, which may be the array itself.

    Parameters
    ----------
    functor : str or function
        An expression or a body in ``a`` and ``b`` ("max(a, b)"), or a function
        whose body is such a text or is Python (``scan`` is then a decorator).
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
    >>> largest = cuda.scan("max(a, b)")
    >>> print(largest(np.array([3, 1, 4, 1, 5])))
    [3 3 4 4 5]
    """

    called, noun, parameters = "cuda.scan", "scan", "a, b"

    @overload
    def __call__(
        self,
        array: DeviceArray,
        axis: Any = None,
        out: None = None,
        *,
        initial: Any = None,
        exclusive: bool = False,
        stream: Any = 0,
    ) -> DeviceNDArray: ...
    @overload
    def __call__(
        self,
        array: HostArray,
        axis: Any = None,
        out: None = None,
        *,
        initial: Any = None,
        exclusive: bool = False,
        stream: Any = 0,
    ) -> NDArray[Any]: ...
    @overload
    def __call__(
        self,
        array: Any,
        axis: Any = None,
        out: Any = None,
        *,
        initial: Any = None,
        exclusive: bool = False,
        stream: Any = 0,
    ) -> Any: ...
    def __call__(
        self,
        array: Any,
        axis: Any = None,
        out: Any = None,
        *,
        initial: Any = None,
        exclusive: bool = False,
        stream: Any = 0,
    ) -> Any:
        given = CallArray(array, self, stream)
        x = given.array
        if axis is None:
            x = given.array = x if x.ndim == 1 else x.ravel(stream=stream)
            axis = 0
        (axis,) = operands.axes_of(operator.index(axis), x.ndim)
        if exclusive and initial is None:
            initial = reduction.identity(self.function) if x.dtype.names is None else None
            if initial is None:
                raise ValueError(
                    f"cuda.scan: exclusive=True needs initial=, which precedes the first element: "
                    f"the identity of {self.__name__} is unknown"
                )
        start = None if initial is None else _initial_bytes(initial, x.dtype)
        with given.device:
            out, target = given.output(out, x.shape, x.dtype, in_place=True)
            if x.size:
                reduceloops.accumulate(
                    self._loops, x, axis, x.dtype, target, stream,
                    initial=start, exclusive=bool(exclusive),
                )  # fmt: skip
            return given.copy_to_out(out, target)


if TYPE_CHECKING:  # the result of calling the class without an operation is a decorator

    @overload
    def scan(
        functor: OperationLike,
        *,
        name: str | None = None,
        args: Any = None,
        **given: Unpack[Given_],
    ) -> Scan: ...
    @overload
    def scan(
        functor: None = None,
        *,
        source: str,
        name: str | None = None,
        args: Any = None,
        **given: Unpack[Given_],
    ) -> Scan: ...
    @overload
    def scan(
        functor: None = None, **given: Unpack[Given_]
    ) -> Callable[[Callable[..., Any]], Scan]: ...
    def scan(*args: Any, **kwargs: Any) -> Any: ...


def _initial_bytes(value, dtype):
    """Returns the initial value as bytes."""
    if dtype.names is None:
        return reduction.initial_array(value, dtype, "cuda.scan", "initial").tobytes()
    if operands.is_on_device(value):
        value = operands.device_view(value).copy_to_host()
    return np.array(value, dtype).tobytes()
