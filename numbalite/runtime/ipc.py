"""Implements numba.cuda's IPC arrays: device arrays that several processes share by handles.

The owner of an array creates a handle, which can be pickled. Another process of the machine opens the handle
as an array over the same memory, without a copy. The owner must keep the array alive as long as other
processes use its memory. Work of different processes is not ordered: the owner must synchronize before it
notifies the other processes.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from numbalite import _core
from numbalite.runtime import devices as _devices
from numbalite.runtime import managers, shapes
from numbalite.runtime.ipchandles import IpcHandle, handle_of_array

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from numpy.typing import DTypeLike

    from numbalite.arguments import StreamLike
    from numbalite.ndarray.arrays import DeviceNDArray


class IpcArrayHandle:
    """A handle of an array; the handle can be pickled. ``with handle as array:`` opens the array in another
    process.

    The processes share the memory. The owner must keep the array alive, and must synchronize before another
    process reads the array. The process that created a handle cannot open it.
    """

    def __init__(self, ipc_handle: Any, array_desc: dict[str, Any]) -> None:
        self._ipc_handle = ipc_handle
        self._array_desc = array_desc

    def open(self) -> Any:
        """Returns the array over the shared memory; fails in the process that created the handle."""
        return self._ipc_handle.open_array(_devices.current_context(), **self._array_desc)

    def close(self) -> None:
        """Ends the use of the shared array in this process."""
        self._ipc_handle.close()

    def __enter__(self) -> Any:
        return self.open()

    def __exit__(self, *exception: object) -> None:
        self.close()


def ipc_array(
    shape: Any,
    dtype: DTypeLike = np.float64,
    strides: tuple[int, ...] | None = None,
    order: str = "C",
    stream: StreamLike = 0,
) -> DeviceNDArray:
    """Returns a new uninitialized array whose memory other processes can open.

    Memory of the pool, which `device_array` uses, cannot be shared:
    `get_ipc_handle` moves an array of the pool to other memory, unless there
    are views of the array.

    Parameters
    ----------
    shape : int or tuple of int
        The shape.
    dtype : dtype
        The dtype, or its name.
    strides : tuple of int
        The strides in bytes; by default those of a contiguous array.
    order : str
        "C" or "F", the axis order without ``strides``.
    stream : Stream
        The stream to which the new array is bound.

    Returns
    -------
    DeviceNDArray
        The new array.

    Raises
    ------
    ValueError
        The strides are negative, or their number is not that of the
        dimensions.

    Examples
    --------
    >>> d = cuda.ipc_array(10, np.float32)
    >>> handle = d.get_ipc_handle()       # pickles, for a process that was started by spawn
    """
    dtype = np.dtype(dtype)
    shape = (
        (shape,) if isinstance(shape, (int, np.integer)) else shapes.tuple_of_items(shape, "shape")
    )
    if strides is None:
        strides = shapes.packed(shape, dtype.itemsize, order)
    strides = shapes.tuple_of_items(strides, "strides")
    if any(step < 0 for step in strides) or len(strides) != len(shape):
        raise ValueError(f"strides {strides} do not fit the shape {shape}")
    nbytes = 1
    if 0 not in shape:
        steps = ((n - 1) * step for n, step in zip(shape, strides, strict=True))
        nbytes = sum(steps) + dtype.itemsize
    memory = _core.IpcMemory.alloc(max(nbytes, 1))
    result = _core.from_pointer(memory.address, shape, strides, dtype, memory)
    return result._bind(stream) if stream else result


def handle(array: Any) -> IpcArrayHandle:
    """Implements DeviceNDArray.get_ipc_handle."""
    if any(step < 0 for step in array.strides):
        raise NotImplementedError("the handle of an array with negative strides: share its base")
    description = {"shape": array.shape, "strides": array.strides, "dtype": array.dtype}
    if managers.is_plugged():
        memory = managers.manager(array.device).get_ipc_handle(array.gpu_data)
    else:
        memory = handle_of_array(array)
    return IpcArrayHandle(memory, description)


@contextmanager
def open_ipc_array(
    handle: bytes,
    shape: Any,
    dtype: DTypeLike,
    strides: tuple[int, ...] | None = None,
    offset: int = 0,
) -> Iterator[DeviceNDArray]:
    """Opens a handle as an array in a `with` block.

    Parameters
    ----------
    handle : bytes or sequence of 64 int
        A CUipcMemHandle of the driver, from any library.
    shape : int or tuple of int
        The shape of the array.
    dtype : dtype
        The dtype of the array.
    strides : tuple of int
        The strides in bytes; by default those of a contiguous array.
    offset : int
        The position of the array in the allocation, in bytes.

    Returns
    -------
    context manager
        In ``with open_ipc_array(...) as d``, ``d`` is the array, a
        DeviceNDArray. The end of the block closes the handle.
    """
    dtype = np.dtype(dtype)
    count = int(np.prod(shape, dtype=object))
    ipc = IpcHandle(None, bytes(handle), count * dtype.itemsize, offset=offset)
    array = ipc.open_array(_devices.current_context(), shape=shape, dtype=dtype, strides=strides)
    try:
        yield array
    finally:
        ipc.close()
