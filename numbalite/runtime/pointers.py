"""Defines memory objects without an array, which memory managers and contexts return."""

from __future__ import annotations

import ctypes
import weakref
from typing import TYPE_CHECKING

from numbalite import _core
from numbalite.runtime import rawmemory

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from numbalite.arguments import StreamLike


def address_of(pointer: Any) -> int:
    """Returns an address from an int, a ctypes object or a driver binding's pointer."""
    value = getattr(pointer, "value", pointer)
    return 0 if value is None else int(value)


class MemoryPointer:
    """Device memory with a finalizer, which is called when the memory is no longer used.

    `int(memory)` is the memory's address. A view (`view`) keeps its base alive.
    """

    __cuda_memory__ = True

    def __init__(
        self,
        context: Any,
        pointer: Any,
        size: int,
        owner: Any = None,
        finalizer: Callable[[], object] | None = None,
    ) -> None:
        self.context = context
        self.device_pointer = pointer
        self.size = size
        self._cuda_memsize_ = size
        self.owner = owner
        self.is_managed = finalizer is not None
        self._finalizer = weakref.finalize(self, finalizer) if finalizer is not None else None
        if self._finalizer is not None:
            self._finalizer.atexit = False

    def own(self) -> Any:
        return self

    def _address(self) -> int:
        """Returns the address; raises an error if the device was reset and the memory is freed."""
        owner = self.owner
        while isinstance(owner, MemoryPointer):
            owner = owner.owner
        if isinstance(owner, _core.DeviceArray):
            owner.address  # noqa: B018  (raises the error)
        return address_of(self.device_pointer)

    def free(self) -> None:
        """Frees the memory immediately; arrays over this memory must not be used afterwards."""
        if self._finalizer is not None:
            self._finalizer()

    def view(self, start: int, stop: int | None = None) -> MemoryPointer:
        """Returns a MemoryPointer to the bytes from `start` to `stop` (default: the end), which keeps this
        MemoryPointer alive.

        Raises IndexError if the bytes are not within this memory.
        """
        stop = self.size if stop is None else stop
        if not 0 <= start <= stop <= self.size:
            raise IndexError(f"bytes {start} to {stop} are not in memory of {self.size} bytes")
        whole = self.owner if isinstance(self, _SubrangePointer) else self
        return _SubrangePointer(
            self.context, address_of(self.device_pointer) + start, stop - start, whole
        )

    def memset(self, byte: int, count: int | None = None, stream: StreamLike = 0) -> None:
        """Sets the first `count` bytes (None for all bytes) to a value of 0 to 255."""
        count = self.size if count is None else count
        if not 0 <= count <= self.size:
            raise ValueError(f"memset of {count} bytes in memory of {self.size} bytes")
        rawmemory.device_memset(self, byte, count, stream)

    @property
    def device_pointer_value(self) -> int | None:
        return self._address() or None

    @property
    def device_ctypes_pointer(self) -> ctypes.c_void_p:
        return ctypes.c_void_p(self._address())

    @property
    def address(self) -> int:
        return self._address()

    def __int__(self) -> int:
        return self._address()


class _SubrangePointer(MemoryPointer):
    """A range of a MemoryPointer's memory; `owner` is that MemoryPointer."""


class AutoFreePointer(MemoryPointer):
    """Behaves like MemoryPointer; in numba, this class counts references differently."""


class ManagedMemory(AutoFreePointer):
    """Managed memory."""

    __cuda_memory__ = True


class _HostPointer(MemoryPointer):
    """Host memory at `pointer`, with the buffer protocol: `memoryview(obj.buffer)`."""

    @property
    def buffer(self):
        return (ctypes.c_char * max(self.size, 1)).from_address(self.host_address)

    @property
    def host_address(self) -> int:
        return address_of(self.device_pointer)

    @property
    def host_pointer(self) -> int:
        return self.host_address

    @property
    def nbytes(self) -> int:
        return self.size

    @property
    def address(self) -> int:
        return self.host_address


class PinnedMemory(_HostPointer):
    """Page-locked host memory."""


class MappedMemory(_HostPointer):
    """Page-locked host memory that kernels access directly; `pointer` is its host address."""

    @property
    def device_address(self) -> int:
        return self.host_address
