"""Arrays that several processes use: handles, in numba.cuda's words.

A process that has an array asks it for a handle, which pickles; another process of the machine opens
it and has an array over the same memory, without a copy. The maker's array has to live as long as
others use its memory, and nothing orders the work of different processes: synchronise, then tell.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from numbalite import _core
from numbalite.cuda import devices as _devices
from numbalite.cuda import shapes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from numpy.typing import DTypeLike

    from numbalite.arguments import StreamLike
    from numbalite.cuda.arrays import DeviceNDArray


class _HandleBytes(bytes):
    """The driver's handle; `reserved` is its field in the driver's struct."""

    @property
    def reserved(self):
        return bytes(self)


def _check_system():
    if not sys.platform.startswith("linux"):
        raise OSError("OS does not support CUDA IPC")


class IpcHandle:
    """A handle of a piece of device memory, `size` bytes from `offset` on in its allocation.

    `base` is what keeps the memory alive in the process that made the handle, None elsewhere.
    """

    def __init__(
        self, base: Any, handle: Any, size: int, source_info: Any = None, offset: int = 0
    ) -> None:
        self.base = base
        self.handle = _HandleBytes(getattr(handle, "reserved", handle))
        self.size = size
        self.source_info = source_info
        self.offset = offset
        self._opened: Any = None

    def can_access_peer(self, context: Any) -> bool:
        """Can the context's device reach the memory directly?"""
        source = self._source()
        return source == context.device or context.can_access_peer(source)

    def open(self, context: Any) -> Any:
        """The memory for a context; a copy of it where its device cannot reach the other one.

        ValueError in the process that made the handle, and if it is open already.
        """
        if self.source_info is None or self.can_access_peer(context):
            return self.open_direct(context)
        return self.open_staged(context)

    def open_direct(self, context: Any) -> Any:
        """The memory itself: what either process writes, the other sees."""
        return self._pointer(context, self._open_on(context.device))

    def open_staged(self, context: Any) -> Any:
        """A copy of the memory as it is now, on the context's device."""
        device = self._source()
        there = self._open_on(device)
        try:
            self._pointer(context, there)  # checks the size
            with _devices.gpus[device.id]:
                source = self._bytes(there)
            with _devices.gpus[context.device.id]:
                copy = _core.device_empty((self.size,), "u1")
                copy._copy(source)
                _devices.synchronize()
            device.synchronize()
        finally:
            if self._opened is not None:
                self.close()
        self._opened = copy
        return self._pointer(context, copy)

    def open_array(
        self,
        context: Any,
        shape: Any,
        dtype: DTypeLike,
        strides: tuple[int, ...] | None = None,
    ) -> Any:
        """The memory as a device array (C-contiguous unless strides are given)."""
        dtype = np.dtype(dtype)
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        if isinstance(strides, int):
            strides = (strides,)
        memory = self.open(context)
        try:
            self._check_size(shape, strides, dtype)
            with _devices.gpus[context.device.id]:
                return _core.from_pointer(memory.address, shape, strides, dtype, memory)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Ends the use of the memory here: arrays over it must not be used any more."""
        if self._opened is None:
            raise ValueError("IpcHandle not opened")
        opened, self._opened = self._opened, None
        if isinstance(opened, _core.IpcMemory):
            opened.close()

    def _source(self):
        if self.source_info is None:
            raise RuntimeError("IPC handle doesn't have source info")
        return _devices.Device.from_identity(self.source_info)

    def _open_on(self, device):
        _check_system()
        if self._opened is not None:
            raise ValueError("IpcHandle is already opened")
        if self.base is not None:
            raise ValueError("opening IpcHandle from original process")
        with _devices.gpus[device.id]:
            self._opened = _core.IpcMemory.open(bytes(self.handle))
        return self._opened

    def _bytes(self, memory):
        return _core.from_pointer(memory.address + self.offset, (self.size,), None, "u1", memory)

    def _pointer(self, context, memory):
        from numbalite.cuda.managers import MemoryPointer

        offset = self.offset if isinstance(memory, _core.IpcMemory) else 0
        if offset + self.size > memory.nbytes:
            self.close()
            raise ValueError(
                f"{self.size} bytes at offset {offset} are not in the {memory.nbytes} of the handle"
            )
        return MemoryPointer(context, memory.address + offset, self.size, owner=memory)

    def _check_size(self, shape, strides, dtype):
        if strides is None:
            strides = shapes.packed(shape, dtype.itemsize, "C")
        if len(strides) != len(shape):
            raise ValueError(f"strides {strides} do not fit the shape {shape}")
        steps = [(n - 1) * step for n, step in zip(shape, strides, strict=True)]
        low = sum(step for step in steps if step < 0)
        high = sum(step for step in steps if step > 0) + dtype.itemsize
        if 0 not in shape and (self.offset + low < 0 or high > self._reach()):
            raise ValueError(f"an array of shape {shape} and {dtype} is larger than the memory")

    def _reach(self):
        memory = self._opened
        offset = self.offset if isinstance(memory, _core.IpcMemory) else 0
        return memory.nbytes - offset

    def __reduce__(self) -> tuple[Any, ...]:
        return IpcHandle, (None, bytes(self.handle), self.size, self.source_info, self.offset)


class IpcArrayHandle:
    """A handle of an array. ``with handle as array:`` opens it in another process; it pickles.

    What either process writes, the other sees; the process that made the array must keep it, and
    synchronise before the other reads. A handle cannot be opened where it was made.
    """

    def __init__(self, ipc_handle: Any, array_desc: dict[str, Any]) -> None:
        self._ipc_handle = ipc_handle
        self._array_desc = array_desc

    def open(self) -> Any:
        """The array, over the same memory; not in the process that made the handle."""
        return self._ipc_handle.open_array(_devices.current_context(), **self._array_desc)

    def close(self) -> None:
        """Ends the use of the array here."""
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
    """A new device array, not initialised, whose memory other processes can open.

    Memory of the pool, where `device_array` takes it, cannot be shared; `get_ipc_handle` moves such
    an array if it can, which it cannot once there are views of it. Arguments as in `device_array`.

    >>> d = cuda.ipc_array(10, np.float32)
    >>> handle = d.get_ipc_handle()       # pickles, for a process that was started by spawn
    """
    dtype = np.dtype(dtype)
    shape = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
    if strides is None:
        strides = shapes.packed(shape, dtype.itemsize, order)
    if any(step < 0 for step in strides) or len(strides) != len(shape):
        raise ValueError(f"strides {strides} do not fit the shape {shape}")
    nbytes = 1
    if 0 not in shape:
        steps = ((n - 1) * step for n, step in zip(shape, strides, strict=True))
        nbytes = sum(steps) + dtype.itemsize
    memory = _core.IpcMemory.alloc(max(nbytes, 1))
    result = _core.from_pointer(memory.address, shape, strides, dtype, memory)
    return result._bind(stream) if stream else result


def handle_of_array(array: Any) -> IpcHandle:
    """The IpcHandle of a device array's memory."""
    _check_system()
    handle, offset, _ = _core.ipc_export(array)
    low = sum(min(0, (n - 1) * step) for n, step in zip(array.shape, array.strides, strict=True))
    high = sum(max(0, (n - 1) * step) for n, step in zip(array.shape, array.strides, strict=True))
    device = _devices._device(array.device)
    size = high - low + array.itemsize
    return IpcHandle(array, handle, size, device.get_device_identity(), offset + low)


def handle_of_memory(memory: Any) -> IpcHandle:
    """The IpcHandle of raw memory: what Context.memalloc and array.gpu_data are."""
    array = getattr(memory, "_array", None)
    if array is None:
        address = memory.device_ctypes_pointer.value or 0
        array = _core.from_pointer(address, (memory.size,), None, "u1", memory)
    return handle_of_array(array)


def handle(array: Any) -> IpcArrayHandle:
    """What DeviceNDArray.get_ipc_handle returns."""
    from numbalite.cuda import managers

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
    """Opens a handle given as bytes (or a sequence of 64 ints) as an array for the block.

    `handle` is what the driver calls CUipcMemHandle, from any library; `offset` is where in the
    allocation the array begins, in bytes.
    """
    dtype = np.dtype(dtype)
    count = int(np.prod(shape, dtype=object))
    ipc = IpcHandle(None, bytes(handle), count * dtype.itemsize, offset=offset)
    array = ipc.open_array(_devices.current_context(), shape=shape, dtype=dtype, strides=strides)
    try:
        yield array
    finally:
        ipc.close()
