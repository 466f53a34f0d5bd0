"""Creates NumPy arrays in host memory that the device can access: pinned, mapped and managed arrays.

A pinned array is an ordinary NumPy array in page-locked memory: copies from and to it run at the speed of the bus, and
are asynchronous with a stream. Kernels access mapped and managed arrays directly, without copies. The host
may read the results of a kernel in such an array after `cuda.synchronize()` (or after the host waited for the
stream).
"""

from __future__ import annotations

import ctypes
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np
from numpy.lib import array_utils

from numbalite import _core, required
from numbalite.ndarray.arrays import _check_match
from numbalite.runtime import devices as _devices
from numbalite.runtime import managers, shapes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from numpy.typing import DTypeLike

    from numbalite.arguments import DeviceLike, ShapeLike, StreamLike

_ADVICE = {
    "read_mostly": 1,
    "unset_read_mostly": 2,
    "preferred_location": 3,
    "unset_preferred_location": 4,
    "accessed_by": 5,
    "unset_accessed_by": 6,
}


def _memory_size(shape, strides, itemsize):
    """Returns the size of the memory in bytes; strides must not be negative, so that the memory begins at the
    first element."""
    if 0 in shape:
        return 0
    if any(step < 0 for step in strides):
        raise ValueError("strides of new memory must not be negative")
    return sum((n - 1) * step for n, step in zip(shape, strides, strict=True)) + itemsize


def _array_in_buffer(cls, shape, dtype, strides, order, allocate):
    """Returns an array of class cls in the buffer that allocate(nbytes) returns."""
    dtype = np.dtype(dtype)
    if dtype.hasobject:
        raise TypeError(f"dtype {dtype!r} cannot be held in device memory")
    shape = (shape,) if not np.iterable(shape) else shapes.tuple_of_items(shape, "shape")
    if any(isinstance(n, float) for n in shape):
        raise TypeError(f"a shape is made of integers, not {shape!r}")
    if any(n < 0 for n in shape):
        raise ValueError("negative dimensions are not allowed")
    if order not in ("C", "F"):
        raise ValueError(f"order must be 'C' or 'F', not {order!r}")
    if strides is None:
        strides = shapes.packed(shape, dtype.itemsize, order)
    nbytes = _memory_size(shape, strides, dtype.itemsize)
    memory = allocate(nbytes)
    array = np.ndarray.__new__(cls, shape, dtype, buffer=memory, strides=strides)
    if cls is not np.ndarray:
        array._memory = memory
    return array


def _byte_bounds(array):
    """Returns the address of the first byte of an array's elements, and the address past the last
    byte.

    The array is converted to np.ndarray first, because a subclass may override __array_interface__."""
    return array_utils.byte_bounds(array.view(np.ndarray))


def _check_stream(stream):
    """Returns 0 for the default stream, or an object with __cuda_stream__; raises TypeError for other
    values."""
    if stream is None or (isinstance(stream, int) and stream == 0):
        return 0
    if not hasattr(stream, "__cuda_stream__"):
        raise TypeError(f"stream must be 0, None or a stream, not {stream!r}")
    return stream


def _call_with_layout(ary, make, **options):
    """Calls make() with the shape, dtype and axis order of an array."""
    required.require_array(ary, f"{make.__name__}_like")
    strides = shapes.packed_like(ary.shape, ary.strides, ary.dtype.itemsize)
    return make(ary.shape, ary.dtype, strides=strides, **options)


class _ReachableArray(np.ndarray):
    """A NumPy array whose memory kernels access directly, without copies. Views of the array have the same
    type. Results of arithmetic are ordinary NumPy arrays, which are not accessible to kernels."""

    _memory: Any = None
    _stream = 0
    __array_priority__ = -1

    def __array_finalize__(self, source):
        self._memory = getattr(source, "_memory", None)
        self._stream = getattr(source, "_stream", 0)

    def __array_wrap__(self, array, context=None, return_scalar=False):
        plain = np.asarray(array)
        return plain[()] if return_scalar else plain

    def _device_address(self, asked_for):
        """Returns the device address of the first element (0 for an empty array). Raises AttributeError, with
        the name `asked_for`, if the device cannot access the array's memory."""
        memory = self._memory
        low, high = _byte_bounds(self) if self.size else (0, 0)
        if memory is None or (
            self.size and not memory.address <= low <= high <= memory.address + memory.nbytes
        ):
            raise AttributeError(asked_for)
        return self.ctypes.data - memory.address + memory.device_address if self.size else 0

    @property
    def __cuda_array_interface__(self):
        address = self._device_address("__cuda_array_interface__")
        described = self.__array_interface__
        stream = self._stream
        return {
            "shape": self.shape,
            "strides": None if self.flags.c_contiguous else self.strides,
            "typestr": described["typestr"],
            "descr": described["descr"],
            "data": (address, not self.flags.writeable),
            "stream": (stream and stream.__cuda_stream__()[1]) or None,
            "version": 3,
        }

    # ---- numba's interface of device arrays

    @property
    def __cuda_memory__(self) -> bool:
        self._device_address("__cuda_memory__")
        return True

    @property
    def __cuda_ndarray__(self) -> bool:
        self._device_address("__cuda_ndarray__")
        return True

    @property
    def stream(self):
        """The stream that consumers of the array must wait for, or 0 for none."""
        return self._stream

    @property
    def gpu_data(self):
        """The memory of the elements, as a MemoryPointer."""
        address = self._device_address("gpu_data")
        low, high = _byte_bounds(self) if self.size else (0, 0)
        first = address - (self.ctypes.data - low) if self.size else 0
        context = _devices.current_context()
        return managers.MemoryPointer(context, first, high - low, owner=self)

    @property
    def device_ctypes_pointer(self):
        return ctypes.c_void_p(self._device_address("device_ctypes_pointer"))

    @property
    def alloc_size(self) -> int:
        """The size in bytes of the allocation that contains the array."""
        self._device_address("alloc_size")
        return self._memory.nbytes

    @property
    def _numba_type_(self):
        from numbalite import types

        return types.typeof(self)

    def as_cuda_arg(self):
        """Returns the kernel argument for this array: the array itself."""
        return self

    def bind(self, stream=0):
        """Returns a view whose consumers wait for another stream."""
        view = self.view()
        view._stream = _check_stream(stream)
        return view

    def is_c_contiguous(self) -> bool:
        return self.flags.c_contiguous

    def is_f_contiguous(self) -> bool:
        return self.flags.f_contiguous

    def split(self, section, stream=0):
        """Yields parts of `section` elements of a 1-dimensional array; the last part may be shorter."""
        if self.ndim != 1:
            raise ValueError("only support 1d array")
        for begin in range(0, self.size, section):
            yield self[begin : begin + section]

    def __reduce__(self):
        return np.array(self, subok=False).__reduce__()

    def copy_to_host(self, ary=None, stream=0) -> np.ndarray:
        """Waits for the device and copies to a new array, or to `ary`."""
        _core.synchronize()
        if ary is None:
            return np.array(self, subok=False)
        _check_match(self, ary)
        np.copyto(ary, self)
        return ary

    def copy_to_device(self, ary, stream=0):
        """Waits for the device and copies from a NumPy array or a device array."""
        _core.synchronize()
        if isinstance(ary, _core.DeviceArray):
            ary = ary.copy_to_host()
        ary = np.asarray(ary)
        _check_match(self, ary)
        np.copyto(self, ary)


class MappedNDArray(_ReachableArray):
    """An array in page-locked host memory, which kernels access over the bus."""


class ManagedNDArray(_ReachableArray):
    """An array in managed memory, whose pages migrate to the host or device that uses them."""

    def _memory_range(self):
        low, high = _byte_bounds(self)
        return low, high - low

    def prefetch(self, device: DeviceLike | None = None, stream: StreamLike = 0) -> None:
        """Migrates the memory, in stream order, to a device that will use it.

        Parameters
        ----------
        device : int, Device or "cpu"
            The device; "cpu" is the host; default: the calling thread's device.
        stream : Stream
            The stream of the work.
        """
        if self.size:
            _core.prefetch(*self._memory_range(), _location_number(device), stream)  # type: ignore[call-arg]

    def advise(self, advice: Any, device: DeviceLike | None = None) -> None:
        """Passes a hint about the future use of the memory to the driver.

        Parameters
        ----------
        advice : str
            ``"read_mostly"``, ``"preferred_location"`` or ``"accessed_by"``, or
            one of them with the prefix ``unset_``.
        device : int, Device or "cpu"
            The device of the hint; default: the calling thread's device.

        Raises
        ------
        ValueError
            ``advice`` is another string.
        """
        number = _ADVICE.get(advice)
        if number is None:
            raise ValueError(f"advice must be one of {', '.join(_ADVICE)}, not {advice!r}")
        if self.size:
            _core.advise(*self._memory_range(), number, _location_number(device))  # type: ignore[call-arg]


def _location_number(device):
    if isinstance(device, str):
        if device.lower() not in ("cpu", "host"):
            raise ValueError(f'device must be a device, None or "cpu", not {device!r}')
        return -1
    if device is None:
        return _core.current_device()
    return int(getattr(device, "id", device))


# --------------------------------------------------------------------------------------- creation


def pinned_array(
    shape: ShapeLike,
    dtype: DTypeLike = np.float64,
    strides: tuple[int, ...] | None = None,
    order: str = "C",
) -> np.ndarray:
    """Returns a new uninitialized NumPy array in page-locked memory.

    Copies from and to this memory run at the speed of the bus, and are
    asynchronous with a stream. In all other respects, the result is an ordinary
    array. Page-locked memory is not available to other programs: use it only
    for transfer buffers.

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

    Returns
    -------
    numpy.ndarray
        The new array.

    Raises
    ------
    TypeError
        The dtype has Python objects, or the shape has floats.
    ValueError
        A dimension or a stride is negative, or ``order`` is another string.

    Examples
    --------
    >>> host = cuda.pinned_array(1000, np.float32)
    >>> host[:] = 1
    >>> stream = cuda.stream()
    >>> d = cuda.to_device(host, stream=stream)
    >>> stream.synchronize()                    # before host may be changed
    """
    return _array_in_buffer(
        np.ndarray,
        shape,
        dtype,
        strides,
        order,
        lambda nbytes: managers.host_memory(nbytes, mapped=False, portable=True, wc=False),
    )


def pinned_array_like(ary: Any) -> np.ndarray:
    """Returns a new pinned array of the same shape, dtype and axis order.

    Parameters
    ----------
    ary : array
        The array whose shape, dtype and axis order are used.

    Returns
    -------
    numpy.ndarray
        The new array, uninitialized.

    Examples
    --------
    >>> cuda.pinned_array_like(np.zeros((2, 3), np.int16, order="F")).strides
    (2, 4)
    """
    return _call_with_layout(ary, pinned_array)


def mapped_array(
    shape: ShapeLike,
    dtype: DTypeLike = np.float64,
    strides: tuple[int, ...] | None = None,
    order: str = "C",
    stream: StreamLike = 0,
    portable: bool = False,
    wc: bool = False,
) -> MappedNDArray:
    """Returns a new page-locked array that kernels access without copies.

    The array is uninitialized. The result is a NumPy array, and is not copied
    as a kernel argument. The host may read the results of a kernel after
    `cuda.synchronize` (or after the host waited for the stream).

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
        The stream that consumers of the array must wait for.
    portable : bool
        No effect: the memory is always accessible from the contexts of all
        devices.
    wc : bool
        True: write-combined memory, which devices read faster, and the host
        very slowly.

    Returns
    -------
    MappedNDArray
        The new array.

    Raises
    ------
    TypeError
        The dtype has Python objects, the shape has floats, or ``stream`` is
        not a stream.
    ValueError
        A dimension or a stride is negative, or ``order`` is another string.

    Examples
    --------
    >>> @cuda.jit
    ... def number(x):
    ...     "x[threadIdx.x] = threadIdx.x;"
    >>> x = cuda.mapped_array(4, np.int32)
    >>> number[1, 4](x)
    >>> cuda.synchronize()
    >>> x.tolist()
    [0, 1, 2, 3]
    """
    array = _array_in_buffer(
        MappedNDArray,
        shape,
        dtype,
        strides,
        order,
        lambda nbytes: managers.host_memory(nbytes, mapped=True, portable=portable, wc=wc),
    )
    array._stream = _check_stream(stream)
    return array


def mapped_array_like(
    ary: Any, stream: StreamLike = 0, portable: bool = False, wc: bool = False
) -> MappedNDArray:
    """Returns a new mapped array of the same shape, dtype and axis order.

    Parameters
    ----------
    ary : array
        The array whose shape, dtype and axis order are used.
    stream, portable, wc
        As in mapped_array.

    Returns
    -------
    MappedNDArray
        The new array, uninitialized.

    Examples
    --------
    >>> cuda.mapped_array_like(np.zeros((2, 3), np.int16, order="F")).strides
    (2, 4)
    """
    return _call_with_layout(ary, mapped_array, stream=stream, portable=portable, wc=wc)


def managed_array(
    shape: ShapeLike,
    dtype: DTypeLike = np.float64,
    strides: tuple[int, ...] | None = None,
    order: str = "C",
    stream: StreamLike = 0,
    attach_global: bool = True,
) -> ManagedNDArray:
    """Returns a new array in managed memory, which host and devices share.

    The array is uninitialized. The result is a NumPy array, and is not copied
    as a kernel argument: its pages migrate to the processor that uses them. The
    array's method ``prefetch`` moves pages in advance, ``advise`` passes hints
    to the driver.

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
        The stream that consumers of the array must wait for.
    attach_global : bool
        False: only the host may use the array until a stream is attached to
        it.

    Returns
    -------
    ManagedNDArray
        The new array.

    Raises
    ------
    TypeError
        The dtype has Python objects, the shape has floats, or ``stream`` is
        not a stream.
    ValueError
        A dimension or a stride is negative, or ``order`` is another string.

    Examples
    --------
    >>> x = cuda.managed_array((2, 2))
    >>> x[:] = 1
    >>> x.prefetch()
    >>> float(x.sum())
    4.0
    """
    array = _array_in_buffer(
        ManagedNDArray,
        shape,
        dtype,
        strides,
        order,
        lambda nbytes: _core.host_memory(nbytes, "managed", 1 if attach_global else 2),
    )
    array._stream = _check_stream(stream)
    return array


# ------------------------------------------------------------------------------- context managers


def _array_memory(array):
    if not isinstance(array, np.ndarray):
        raise TypeError(f"a NumPy array is needed, not {type(array).__name__}")
    if array.nbytes == 0:
        return None
    low, high = _byte_bounds(array)
    if high - low != array.nbytes:
        raise ValueError("an array to be page-locked must not have gaps between its elements")
    return low, high - low


@contextmanager
def pinned(*arrays: Any) -> Iterator[None]:
    """Page-locks arrays for the duration of a `with` block.

    Copies of page-locked arrays are fast and, with a stream, asynchronous.
    The end of the `with` block waits for the device.

    Parameters
    ----------
    *arrays : numpy.ndarray
        The arrays.

    Returns
    -------
    context manager
        ``with`` locks the arrays, the end of the block unlocks them.

    Raises
    ------
    TypeError
        An argument is not a NumPy array.
    ValueError
        An array has gaps between its elements.

    Examples
    --------
    >>> host = np.zeros(1000)
    >>> with cuda.pinned(host):
    ...     d = cuda.to_device(host, stream=cuda.stream())
    """
    with _page_locked(arrays, 1):
        yield


@contextmanager
def mapped(*arrays: Any, stream: StreamLike = 0) -> Iterator[Any]:
    """Page-locks arrays in a `with` block, for access by kernels.

    The `with` statement returns device arrays over the memory of these arrays.
    The end of the `with` block waits for the device.

    Parameters
    ----------
    *arrays : numpy.ndarray
        The arrays.
    stream : Stream
        The stream to which the device arrays are bound.

    Returns
    -------
    context manager
        In ``with cuda.mapped(a) as d``, ``d`` is a device array; for
        several arrays, a list.

    Raises
    ------
    TypeError
        An argument is not a NumPy array.
    ValueError
        An array has gaps between its elements.

    Examples
    --------
    >>> host = np.zeros(3)
    >>> with cuda.mapped(host) as d:
    ...     d.fill(7)
    >>> host
    array([7., 7., 7.])
    """
    with _page_locked(arrays, 3) as addresses:
        made = [_device_array(*pair, stream) for pair in zip(arrays, addresses, strict=True)]
        yield made[0] if len(made) == 1 else made


def _device_array(array, address, stream):
    made = _core.from_pointer(
        address, array.shape, array.strides, array.dtype, array, not array.flags.writeable
    )
    return made._bind(stream) if stream else made


@contextmanager
def _page_locked(arrays, flags):
    """A context manager that page-locks arrays and returns the device addresses of their first elements."""
    done, addresses = [], []
    try:
        for array in arrays:
            memory = _array_memory(array)
            if memory is None:
                addresses.append(0)
                continue
            device = _core.host_register(*memory, flags)
            done.append(memory[0])
            addresses.append(array.ctypes.data - memory[0] + device)
        yield addresses
    finally:
        _unlock_all(done)


def _unlock_all(done):
    """Waits for the device, unlocks all memory, and then raises the first error that occurred."""
    problem = None
    if done:
        try:
            _core.synchronize()
        except Exception as error:
            problem = error
    for address in reversed(done):
        try:
            managers.unlock(address)
        except Exception as error:
            problem = problem or error
    if problem is not None:
        raise problem
