"""Handles of device memory that other processes open; ipc.py creates arrays over this memory."""

from __future__ import annotations

import ctypes
import sys
from typing import TYPE_CHECKING

import numpy as np

from numbalite import _core, required
from numbalite.runtime import shapes
from numbalite.runtime.attributes import device_identity
from numbalite.runtime.pointers import MemoryPointer

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import DTypeLike


class _HandleBytes(bytes):
    """The bytes of the driver's IPC handle; `reserved` is the field of the driver's struct."""

    @property
    def reserved(self):
        return bytes(self)


def _check_ipc_support():
    if not sys.platform.startswith("linux"):
        raise OSError("OS does not support CUDA IPC")


class IpcHandle:
    """A handle of shared device memory: `size` bytes, `offset` bytes after the start of an allocation.

    `base` keeps the memory alive in the process that created the handle, and is None in other processes.
    """

    def __init__(
        self, base: Any, handle: Any, size: int, source_info: Any = None, offset: int = 0
    ) -> None:
        self.base = base
        handle = getattr(handle, "reserved", handle)
        if not isinstance(handle, (bytes, bytearray, memoryview, ctypes.Array)):
            handle = shapes.tuple_of_items(handle, "handle")
        self.handle = _HandleBytes(handle)
        self.size = size
        self.source_info = source_info
        self.offset = offset
        self._opened: Any = None
        self._array: Any = None  # over the opened memory

    def can_access_peer(self, context: Any) -> bool:
        """Returns whether the context's device can access the shared memory directly."""
        source = self._source(context)
        return source == context.device or context.can_access_peer(source)

    def open(self, context: Any) -> Any:
        """Opens the memory for a context; opens a copy if the context's device cannot access the memory
        directly.

        Raises ValueError in the process that created the handle, and if the handle is already open.
        """
        if self.source_info is None or self.can_access_peer(context):
            return self.open_direct(context)
        return self.open_staged(context)

    def open_direct(self, context: Any) -> Any:
        """Opens the shared memory itself, without a copy."""
        return self._memory_pointer(context, self._open_memory_on(context.device))

    def open_staged(self, context: Any) -> Any:
        """Copies the present contents of the memory to the context's device."""
        device = self._source(context)
        there = self._open_memory_on(device)
        try:
            self._memory_pointer(context, there)  # checks the size
            with device.get_primary_context():
                source = self._bytes_view(there)
            with context:
                copy = _core.device_empty((self.size,), "u1")
                copy._copy(source)
                context.synchronize()
            device.synchronize()
        finally:
            if self._opened is not None:
                self.close()
        self._opened = copy
        return self._memory_pointer(context, copy)

    def open_array(
        self,
        context: Any,
        shape: Any,
        dtype: DTypeLike,
        strides: tuple[int, ...] | None = None,
    ) -> Any:
        """Returns the memory as a device array (C-contiguous unless strides are given)."""
        dtype = np.dtype(dtype)
        shape = (shape,) if isinstance(shape, int) else shapes.tuple_of_items(shape, "shape")
        if isinstance(strides, int):
            strides = (strides,)
        memory = self.open(context)
        try:
            self._check_size(shape, strides, dtype)
            with context:
                array = _core.from_pointer(memory.address, shape, strides, dtype, memory)
        except BaseException:
            self.close()
            raise
        self._array = array
        return array

    def close(self) -> None:
        """Ends the use of the memory in this process: the array over the memory and its views raise
        exceptions afterwards."""
        if self._opened is None:
            raise ValueError("IpcHandle not opened")
        array, self._array = self._array, None
        if array is not None:
            _core.ipc_end(array)
        opened, self._opened = self._opened, None
        if isinstance(opened, _core.IpcMemory):
            opened.close()

    def _source(self, context):
        if self.source_info is None:
            raise RuntimeError("IPC handle doesn't have source info")
        return type(context.device).from_identity(self.source_info)

    def _open_memory_on(self, device):
        _check_ipc_support()
        if self._opened is not None:
            raise ValueError("IpcHandle is already opened")
        if self.base is not None:
            raise ValueError("opening IpcHandle from original process")
        with device.get_primary_context():
            self._opened = _core.IpcMemory.open(bytes(self.handle))
        return self._opened

    def _bytes_view(self, memory):
        return _core.from_pointer(memory.address + self.offset, (self.size,), None, "u1", memory)

    def _memory_pointer(self, context, memory):
        offset = self.offset if isinstance(memory, _core.IpcMemory) else 0
        if offset < 0 or self.size < 0 or offset + self.size > memory.nbytes:
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
        if 0 not in shape and (self.offset + low < 0 or high > self._bytes_past_offset()):
            raise ValueError(f"an array of shape {shape} and {dtype} is larger than the memory")

    def _bytes_past_offset(self):
        memory = self._opened
        offset = self.offset if isinstance(memory, _core.IpcMemory) else 0
        return memory.nbytes - offset

    def __reduce__(self) -> tuple[Any, ...]:
        return IpcHandle, (None, bytes(self.handle), self.size, self.source_info, self.offset)


def handle_of_array(array: Any) -> IpcHandle:
    """Returns the IpcHandle of a device array's memory."""
    _check_ipc_support()
    handle, offset, _ = _core.ipc_export(array)
    low = sum(min(0, (n - 1) * step) for n, step in zip(array.shape, array.strides, strict=True))
    high = sum(max(0, (n - 1) * step) for n, step in zip(array.shape, array.strides, strict=True))
    size = high - low + array.itemsize
    return IpcHandle(array, handle, size, device_identity(array.device), offset + low)


def handle_of_memory(memory: Any) -> IpcHandle:
    """Returns the IpcHandle of raw memory, from Context.memalloc or array.gpu_data."""
    array = getattr(memory, "_array", None)
    if array is None:
        required.require(memory, "get_ipc_handle", "device memory", "device_ctypes_pointer", "size")
        address = memory.device_ctypes_pointer.value or 0
        array = _core.from_pointer(address, (memory.size,), None, "u1", memory)
    return handle_of_array(array)
