"""`cuda.histogram`: counts elements by bins that a user-defined function computes."""

from __future__ import annotations

import operator
import sys
from typing import TYPE_CHECKING, overload

import numpy as np

from numbalite.algorithms import counting, generated
from numbalite.algorithms.operation import CallArray, Operation
from numbalite.kernels import options as options_
from numbalite.ufuncs import element, operands

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from numpy.typing import NDArray
    from typing_extensions import Unpack

    from numbalite._core import DeviceArray
    from numbalite.arguments import HostArray, OperationLike
    from numbalite.kernels.options import KernelOptions as Given_
    from numbalite.ndarray.arrays import DeviceNDArray

_ROWS = [
    generated.pointer_type("x", True),
    generated.pointer_type("weights", True),
    generated.pointer_type("counts"),
    generated.count_type("n"),
    generated.count_type("bins"),
]


class Histogram(Operation):
    """Counts elements by bins.

    Elements are numbers or records.

    The call ``histogram(array, weights=None, out=None, stream=0)`` returns an
    int64 array of counts. With ``weights``, an array of the same shape,
    the result is an array of float64 sums. If ``out``, a device array of the
    result's dtype, is passed, the counts are added to ``out``.

    ``cuda.histogram(array, bins=10, range=None, ...)``, with an array or a
    list as first argument, is NumPy's function.

    Parameters
    ----------
    functor : str or function
        Computes the bin number of an element: an expression or a body of
        ``x`` ("int(x * 10)"), or a function, whose result is converted to
        an integer. Elements with bin numbers outside of 0 to ``bins`` - 1
        are not counted.
    bins : int
        The number of bins.
    source, name, args
        As in ``cuda.select``.
    **given
        The options of ``cuda.jit``.

    Raises
    ------
    ValueError
        ``bins`` is less than 1.

    Examples
    --------
    >>> tens = cuda.histogram("int(x) / 10", bins=3)
    >>> print(tens(np.array([1, 25, 3, 14, 29, 99])))
    [2 1 2]
    """

    called, noun, parameters = "cuda.histogram", "histogram", "x"

    def __init__(
        self, functor: Any = None, *, bins: int, source: Any = None, name: Any = None, args: Any = None,
        **given: Any,
    ) -> None:  # fmt: skip
        self.options = options_.parse_options(given, self.called)
        self.bins = operator.index(bins)
        if self.bins < 1:
            raise ValueError(f"cuda.histogram: bins must be positive, not {bins}")
        self.function = element.operation_function(
            functor, self.parameters, self.called, self.noun, source=source, name=name, args=args,
            options=self.options, frame=sys._getframe(1),
        )  # fmt: skip
        self._set_attributes()

    def _set_attributes(self):
        super()._set_attributes()
        self._kernels: dict[Any, Any] = {}

    def __reduce__(self) -> tuple:
        return _unpickle, (self.function, self.options, self.bins)

    @overload
    def __call__(
        self, array: DeviceArray, weights: Any = None, out: None = None, *, stream: Any = 0
    ) -> DeviceNDArray: ...
    @overload
    def __call__(
        self, array: HostArray, weights: Any = None, out: None = None, *, stream: Any = 0
    ) -> NDArray[Any]: ...
    @overload
    def __call__(
        self, array: Any, weights: Any = None, out: Any = None, *, stream: Any = 0
    ) -> Any: ...
    def __call__(self, array: Any, weights: Any = None, out: Any = None, *, stream: Any = 0) -> Any:
        given = CallArray(array, self, stream)
        x = given.array
        with given.device:
            if weights is not None:
                weights = operands.to_device(
                    weights if operands.is_on_device(weights) else operands.host_array(weights),
                    stream,
                )
                operands.check_dtype(weights.dtype, self.called)
                if weights.dtype.kind == "c" or weights.shape != x.shape:
                    raise ValueError(
                        f"cuda.histogram: weights must be real numbers of shape {x.shape}, not "
                        f"{weights.dtype} of shape {weights.shape}"
                    )
                weights = _as_contiguous(weights, stream)
            counts = self._output_counts(out, weights, stream)
            if x.size:
                made = self._kernels_of_dtypes(x.dtype, None if weights is None else weights.dtype)
                grid, threads = counting.launch_configuration(x.size)
                made["nl_histogram"][grid, threads, stream](
                    _as_contiguous(x, stream), weights, counts, x.size, self.bins
                )
            return counts if out is not None else given.result(counts)

    def _output_counts(self, out, weights, stream):
        if out is None:
            return counting.zero_counts(self.bins, weights, stream)
        dtype = counting.count_dtype(weights)
        found = operands.device_view(out) if operands.is_on_device(out) else None
        if found is None or (found.shape, found.dtype) != ((self.bins,), dtype):
            raise TypeError(
                f"cuda.histogram: out= must be a device array of {self.bins} {dtype}, not {out!r}"
            )
        if found.readonly or not found.is_c_contiguous():
            raise ValueError("cuda.histogram: out= must be contiguous, and not read-only")
        return found

    def _kernels_of_dtypes(self, dtype, weights):
        found = self._kernels.get((dtype, weights))
        if found is None:
            words = {
                "W": "void" if weights is None else weights,
                "A": np.dtype(np.int64 if weights is None else np.float64),
            }
            found = self._kernels[dtype, weights] = generated.Generated(
                self.function, self.options, dtype, "x", "histogram", "histogram",
                {"nl_histogram": _ROWS}, words,
            )  # fmt: skip
        return found


if TYPE_CHECKING:  # the result of calling the class without an operation is a decorator

    @overload
    def histogram(
        functor: OperationLike,
        *,
        bins: int,
        name: str | None = None,
        args: Any = None,
        **given: Unpack[Given_],
    ) -> Histogram: ...
    @overload
    def histogram(
        functor: None = None,
        *,
        bins: int,
        source: str,
        name: str | None = None,
        args: Any = None,
        **given: Unpack[Given_],
    ) -> Histogram: ...
    @overload
    def histogram(
        functor: None = None, *, bins: int, **given: Unpack[Given_]
    ) -> Callable[[Callable[..., Any]], Histogram]: ...
    @overload
    def histogram(
        a: DeviceArray | HostArray,
        bins: Any = 10,
        range: Any = None,
        density: Any = None,
        weights: Any = None,
    ) -> tuple[DeviceNDArray, DeviceNDArray]: ...
    def histogram(*args: Any, **kwargs: Any) -> Any: ...


def _as_contiguous(array, stream):
    good = array.is_c_contiguous() and operands.is_aligned(array)
    return array if good else array.copy(stream=stream)


def _unpickle(function, options, bins):
    made = object.__new__(Histogram)
    made.function, made.options, made.bins = function, options, bins
    made._set_attributes()
    return made
