"""`cuda.reduce_by_key`: reduces runs of adjacent elements with equal keys (by_key.cuh)."""

from __future__ import annotations

from typing import TYPE_CHECKING, overload

import numpy as np

from numbalite import _core
from numbalite.algorithms import selection
from numbalite.algorithms.operation import CallArray, Operation, output_array
from numbalite.ufuncs import operands
from numbalite.ufuncs import reduceplan as plans

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from typing_extensions import Unpack

    from numbalite._core import DeviceArray
    from numbalite.arguments import HostArray, OperationLike
    from numbalite.kernels.options import KernelOptions as Given_
    from numbalite.ndarray.arrays import DeviceNDArray

_BYTES = 64  # bytes of keys and values that a thread processes
_MAX_ITEMS = 16  # pairs per thread in a tile


class ReduceByKey(Operation):
    """Reduces the values of each run of equal keys, in one pass.

    The operation is an associative function of two elements. The operation
    need not be commutative, and equal calls return equal bits. A run
    consists of adjacent elements: sort by key first to reduce all elements
    of a key. Keys are numbers; values are numbers or records.

    The call ``reduce_by_key(keys, values, out=None, count=None, stream=0)``
    returns two 1-D arrays: the keys of the runs and their reduced values. The
    call waits for the number of runs. ``out`` is a pair of contiguous device
    arrays that are as long as the input; the results are then views of
    ``out``. With ``count``, a device array of one int64 that receives the
    number of runs, the call does not wait, and returns ``out``.

    Parameters
    ----------
    functor, source, name, args, **given
        As in ``cuda.scan``.

    Examples
    --------
    >>> total = cuda.reduce_by_key("a + b")
    >>> print(*total(np.array([1, 1, 2, 2, 2, 1]), np.array([1, 2, 3, 4, 5, 6])))
    [1 2 1] [ 3 12  6]
    """

    called, noun, parameters = "cuda.reduce_by_key", "reduction", "a, b"

    @overload
    def __call__(
        self,
        keys: DeviceArray,
        values: Any,
        out: None = None,
        *,
        count: Any = None,
        stream: Any = 0,
    ) -> tuple[DeviceNDArray, DeviceNDArray]: ...
    @overload
    def __call__(
        self, keys: HostArray, values: Any, out: None = None, *, count: Any = None, stream: Any = 0
    ) -> Any: ...
    @overload
    def __call__(
        self, keys: Any, values: Any, out: Any = None, *, count: Any = None, stream: Any = 0
    ) -> Any: ...
    def __call__(
        self, keys: Any, values: Any, out: Any = None, *, count: Any = None, stream: Any = 0
    ) -> Any:
        if out is not None and not (isinstance(out, (tuple, list)) and len(out) == 2):
            raise TypeError(
                f"{self.called}: out= must be a pair of device arrays, of keys and of reduced values"
            )
        given = CallArray(keys, self, stream)
        key = given.array
        operands.check_dtype(key.dtype, f"{self.called}, keys")
        with given.device:
            of = CallArray(values, self, stream)
            value = of.array
            if key.ndim != 1 or key.shape != value.shape:
                raise ValueError(
                    f"{self.called}: keys and values must be 1-dimensional and of equal length, not of "
                    f"shapes {key.shape} and {value.shape}"
                )
            if value.device != key.device:
                raise ValueError(f"{self.called}: keys and values are on different devices")
            found = (
                selection.empty_count()
                if count is None
                else selection.check_count_array(self, count, key)
            )
            sources = key, value
            written = [
                output_array(self, one, x, sources)
                for one, x in zip(out or (None, None), sources, strict=True)
            ]
            self._launch_reduction(key, value, written, found, stream)
            if out is not None:
                made = [operands.device_view(one)[: key.size] for one in out]
                for one, target in zip(written, made, strict=True):
                    if one._address != target._address:
                        target._copy(one, stream)
                written = made
        if count is not None and out is not None:
            return out
        runs = selection.count_as_int(found, stream)
        written = [one[:runs] for one in written]
        if out is None and 2 * runs < key.size:  # copy the results, to free unused memory
            written = [one.copy(stream=stream) for one in written]
        both = zip(written, (given, of), strict=True)
        return tuple(written if out is not None else (one.result(x) for x, one in both))

    def _launch_reduction(self, key, value, written, count, stream):
        out_keys, out_values = written
        if key.size == 0:
            count.fill(0, stream=stream)
            return
        counter = np.dtype("i4" if key.size < 1 << 31 else "i8")
        pair = value.itemsize + counter.itemsize
        alignment = max(value.dtype.alignment, counter.itemsize)
        pair = -(-pair // alignment) * alignment
        items = max(1, min(_MAX_ITEMS, _BYTES // pair))
        threads = min(plans.THREADS, -(-key.size // (32 * items)) * 32)
        tiles = -(-key.size // (threads * items))
        schedule = plans.Schedule(f"by_key{items}", threads, 1, tiles, threads * items)
        dims = [plans.Dimension(key.size, key.strides[0], value.strides[0])]
        plan, _ = plans.packed_plan(schedule, [], dims, itemsize=value.itemsize)
        statuses = out_keys
        if tiles > 1:
            words = 1 + plans.status_count(1, tiles) * -(-pair // 4)
            statuses = _core.device_empty((2 * words,), np.dtype("u4"), "C")
            statuses._fill(np.array(0, "u4"), stream or None)
        kernel = self._loops.loop(schedule.kind, key.dtype, value.dtype, counter)
        firsts = map(operands.from_first_element, (key, value))
        kernel[tiles, threads, stream](plan, *firsts, out_values, statuses, out_keys, count)


if TYPE_CHECKING:  # the result of calling the class without an operation is a decorator

    @overload
    def reduce_by_key(
        functor: OperationLike,
        *,
        name: str | None = None,
        args: Any = None,
        **given: Unpack[Given_],
    ) -> ReduceByKey: ...
    @overload
    def reduce_by_key(
        functor: None = None,
        *,
        source: str,
        name: str | None = None,
        args: Any = None,
        **given: Unpack[Given_],
    ) -> ReduceByKey: ...
    @overload
    def reduce_by_key(
        functor: None = None, **given: Unpack[Given_]
    ) -> Callable[[Callable[..., Any]], ReduceByKey]: ...
    def reduce_by_key(*args: Any, **kwargs: Any) -> Any: ...
