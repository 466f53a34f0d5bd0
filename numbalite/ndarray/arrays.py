"""Defines DeviceNDArray, the array in device memory, and the functions that create it.

The C base class implements memory, basic indexing and copies. This module adds NumPy's behaviour: assignment
with broadcasting and casting, conversions, pickling. Views share memory as in NumPy. Where NumPy copies (to
reshape a strided array), this module also copies, on the device and with a warning. Elements are assigned and
converted by numbalite/ndarray/assign.py.

stream=0 means the array's own stream (the default stream, unless `bind` chose another). Copies from and to
the host without a stream are complete on return.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import operator
from typing import TYPE_CHECKING

import numpy as np

from numbalite import _core, errors, frontend, required
from numbalite.ndarray import above
from numbalite.ndarray import assign as _assign
from numbalite.ndarray import equality as _equality
from numbalite.ndarray import implicit as _implicit
from numbalite.ndarray import indexing as _indexing
from numbalite.ndarray import printing as _printing
from numbalite.ndarray.foreign import cuda_array_or_none
from numbalite.ndarray.methods import Methods
from numbalite.ndarray.views import Views
from numbalite.runtime import devices as _devices
from numbalite.runtime import shapes
from numbalite.runtime.traced import traced

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from numpy.typing import DTypeLike, NDArray

    from numbalite.arguments import DeviceLike, ShapeLike, StreamLike
    from numbalite.runtime.ipc import IpcArrayHandle

_NUMPY = np.lib.NumpyVersion(np.__version__)
_FLAG_NAMES = {
    "C": "C_CONTIGUOUS", "CONTIGUOUS": "C_CONTIGUOUS", "F": "F_CONTIGUOUS", "A": "ALIGNED",
    "FORTRAN": "F_CONTIGUOUS", "O": "OWNDATA", "W": "WRITEABLE",
}  # fmt: skip


class Flags(dict):
    """The flags of an array: numba's dictionary, with NumPy's attributes and short names."""

    def __missing__(self, name: str) -> Any:
        name = _FLAG_NAMES.get(name, name)
        c, f = dict.get(self, "C_CONTIGUOUS"), dict.get(self, "F_CONTIGUOUS")
        if name == "FNC":
            return f and not c
        if name == "FORC":
            return f or c
        if name not in self:
            raise KeyError(name)
        return self[name]

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name.upper()]
        except KeyError:
            raise AttributeError(name) from None

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"flags of device arrays cannot be set: {name}")

    def __setitem__(self, name: Any, value: Any) -> None:
        raise TypeError(f"flags of device arrays cannot be set: {name}")


class Pointer(int):
    """An address: an int with the attribute `value`, like a ctypes pointer."""

    @property
    def value(self) -> int:
        return int(self)


class DeviceMemory:
    """The memory of an array: its address and size."""

    __slots__ = ("_array",)

    def __init__(self, array: Any) -> None:
        self._array = array

    @property
    def device_pointer_value(self) -> int:
        return self._array.address

    @property
    def device_ctypes_pointer(self) -> ctypes.c_void_p:
        return ctypes.c_void_p(self._array.address)

    @property
    def device_pointer(self) -> Pointer:
        return Pointer(self._array.address)

    @property
    def size(self) -> int:
        return self._array.alloc_size

    @property
    def owner(self) -> Any:
        """The object that owns the memory, or None if numbalite allocated the memory."""
        return self._array._owner

    @property
    def context(self) -> Any:
        return _devices.current_context(self._array.device)

    def __int__(self) -> int:
        return self._array.address

    __index__ = __int__

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DeviceMemory):
            return NotImplemented
        return (int(self), self._array.device) == (int(other), other._array.device)

    def __hash__(self) -> int:
        return hash((DeviceMemory, int(self)))


class DeviceNDArray(_core.DeviceArray, Views, Methods):
    """An n-dimensional array in device memory, created by `to_device`, `device_array` and views.

    NumPy's functions and Python's operators run on the device: `np.sqrt(d)`, `np.sum(d)`, `d * 2 + e @ f`.
    """

    __slots__ = ()

    __cuda_memory__ = True
    __cuda_ndarray__ = True
    __array_priority__ = 100

    def __new__(
        cls,
        shape: ShapeLike,
        strides: tuple[int, ...] | None,
        dtype: DTypeLike,
        stream: StreamLike = 0,
        gpu_data: Any = None,
    ) -> DeviceNDArray:
        """numba's constructor: allocates memory, or wraps `gpu_data`, which the array keeps alive.

        New programs should use `device_array` and `from_cuda_array_interface`.
        """
        dtype = np.dtype(dtype)
        if gpu_data is None:
            return device_array(shape, dtype, strides=strides, stream=stream)
        if isinstance(gpu_data, DeviceMemory):
            made = gpu_data._array._view(shape, strides, dtype)
        else:
            if not hasattr(gpu_data, "device_ctypes_pointer"):
                raise TypeError(f"gpu_data must be device memory, not {type(gpu_data).__name__}")
            pointer = gpu_data.device_ctypes_pointer.value or 0
            made = _core.from_pointer(pointer, shape, strides, dtype, gpu_data)
        return made._bind(stream) if stream else made

    def _call_method_of(self, other, method):
        """Returns ``type(other).<method>(other, self)``, for example of a reflected operator.

        Returns NotImplemented for a sequence or an array, which ufuncs process element by element, and for an
        object without the method."""
        if isinstance(other, (np.ndarray, np.generic, _core.DeviceArray, str, bytes)):
            return NotImplemented
        value = np.asarray(other)
        if value.dtype != object or value.ndim:
            return NotImplemented
        own = getattr(type(other), method, None)
        return NotImplemented if own is None else own(other, self)

    def _compared_with_no_number(self, other, is_unequal):
        return _equality.compare_with_no_number(self, other, is_unequal)

    def __contains__(self, value: object) -> bool:
        """Returns whether any element equals the value."""
        return bool(np.any(self == value))

    # ---- properties

    @property
    def flags(self) -> Flags:
        return Flags(
            C_CONTIGUOUS=self.is_c_contiguous(),
            F_CONTIGUOUS=self.is_f_contiguous(),
            OWNDATA=self._owner is None and not self._is_view,
            WRITEABLE=not self.readonly,
            ALIGNED=self._is_aligned(),
        )

    def _is_aligned(self):
        low = self.dtype.alignment - 1
        return not (self._address & low or any(step & low for step in self.strides))

    @property
    def gpu_data(self) -> DeviceMemory:
        return DeviceMemory(self)

    @property
    def device_ctypes_pointer(self) -> ctypes.c_void_p:
        return ctypes.c_void_p(self.address)

    @property
    def _numba_type_(self):
        from numbalite import types

        return types.typeof(self)

    def as_cuda_arg(self) -> DeviceNDArray:
        """Returns the kernel argument for this array: the array itself."""
        return self

    def __repr__(self) -> str:
        """Returns the elements as text, shortened as NumPy does; only the printed elements are copied to the
        host."""
        return _printing.representation_of(self, "DeviceNDArray")

    def __str__(self) -> str:
        """Returns the elements as NumPy prints them; only the printed elements are copied to the host."""
        return _printing.array_text(self)

    def __format__(self, specification: str) -> str:
        if not specification:
            return str(self)
        return format(self.copy_to_host()[()], specification)

    _repr_html_ = frontend.html_method("array")

    def bind(self, stream: StreamLike = 0) -> DeviceNDArray:
        """Returns a view of the array whose methods use this stream by default."""
        return self._bind(stream)

    def get_ipc_handle(self) -> IpcArrayHandle:
        """Returns a handle by which other processes open this array (`with handle as array:`); the handle can
        be pickled.

        Raises RuntimeError if the memory cannot be shared; arrays from `cuda.ipc_array` can.
        """
        from numbalite.runtime import ipc

        return ipc.handle(self)

    # ---- to and from the host

    def copy_to_host(self, ary: Any = None, stream: StreamLike = 0) -> np.ndarray[Any, Any]:
        """Copies to a new NumPy array, or to `ary`.

        A new array is complete on return. With a stream and a page-locked
        `ary`, the copy is asynchronous: wait for the stream before you read
        `ary`.

        Parameters
        ----------
        ary : numpy.ndarray
            An array to copy into, of the same shape and dtype and with any
            strides.
        stream : Stream
            The stream of the copy.

        Returns
        -------
        numpy.ndarray
            The new array, or ``ary``.

        Raises
        ------
        RuntimeError
            In a capture, ``ary`` is missing.

        Examples
        --------
        >>> d = cuda.to_device(np.arange(3))
        >>> d.copy_to_host()
        array([0, 1, 2])
        """
        if ary is None:
            if _core.capture_here():
                raise RuntimeError(
                    "the values of a device array (copy_to_host(), bool, how many a mask chooses)"
                    " inside a capture: work is recorded then and does not run before the graph is"
                    " launched. copy_to_host(array) needs the array, which each launch fills"
                )
            order = "F" if self.is_f_contiguous() and not self.is_c_contiguous() else "C"
            return self._download(order, stream)
        target = _assign.as_raw_bytes(ary, self.dtype) if isinstance(ary, np.ndarray) else ary
        _check_match(self, target)
        if self.dtype.names is not None and _assign.has_gaps(self.dtype):
            # np.copyto keeps the bytes between the fields of `ary`
            np.copyto(ary, self.copy_to_host(stream=stream))
        else:
            self._read(target, stream)
        return ary

    def get(
        self,
        stream: StreamLike | None = None,
        order: str = "C",
        out: Any = None,
        blocking: bool = True,
    ) -> np.ndarray[Any, Any]:
        """CuPy's name of `copy_to_host`, with an axis order (C, F, or A: the array's own order). With
        blocking=False, the copy to a page-locked `out` is asynchronous."""
        if out is not None:
            self.copy_to_host(out, stream or 0)
            if blocking and stream:
                getattr(stream, "synchronize", _core.synchronize)()
            return out
        return np.asarray(self.copy_to_host(stream=stream or 0), order=order)  # type: ignore[call-overload]

    def set(self, arr: Any, stream: StreamLike | None = None) -> None:
        """CuPy's name of `copy_to_device`."""
        self.copy_to_device(arr, stream or 0)

    def to_device(
        self, device: DeviceLike, /, *, stream: StreamLike | None = None
    ) -> DeviceNDArray | np.ndarray[Any, Any]:
        """Returns the array on a device, as in the array API standard. The result is a NumPy array for "cpu",
        a device array for a number or a Device. Returns the array itself if its memory is on that device."""
        if isinstance(device, str):
            if device != "cpu":
                raise ValueError(f"device must be 'cpu' or the number of a device, not {device!r}")
            return self.copy_to_host(stream=stream or 0)
        return to_device(self, stream or 0, device=device)

    def __array_namespace__(self, /, *, api_version: str | None = None) -> Any:
        """Returns the module with the functions of the array API standard, numbalite.array_api."""
        return importlib.import_module("numbalite.array_api").namespace(api_version)

    def copy_to_device(self, ary: Any, stream: StreamLike = 0) -> None:
        """Copies from an array of the same shape and dtype.

        The source array may be on any device and have any strides. (`d[...] = ary`
        broadcasts and converts.)

        Parameters
        ----------
        ary : numpy.ndarray or DeviceNDArray
            The array to copy from.
        stream : Stream
            The stream of the copy.

        Examples
        --------
        >>> d = cuda.device_array(3)
        >>> d.copy_to_device(np.arange(3.0))
        >>> print(d)
        [0. 1. 2.]
        """
        source = cuda_array_or_none(ary)
        if source is not None:
            _check_match(self, source)
            _require_writable(self)
            if self.dtype.names is not None:
                _assign.assign(self, source, stream)
            elif self.size:
                _assign.copy_elements(source, self, stream)
        else:
            source = _assign.as_raw_bytes(np.asarray(ary), self.dtype)
            _check_match(self, source)
            if self.dtype.names is not None and _assign.has_gaps(self.dtype):
                _assign.assign(self, source, stream)
            else:
                self._write(source, stream)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError(
                "`copy=False` is not possible: a device array does not become a NumPy array without a copy"
            )
        _implicit.check_conversion()
        result = self.copy_to_host()
        return result if dtype is None else result.astype(dtype, copy=False)

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        """Pickles the array by a copy to the host; with protocol 5, the elements are an out-of-band buffer. Loading
        creates an array on the current device of the loading thread."""
        if above.before_pickling is not None:
            above.before_pickling()
        dense = self._copy_if_gaps()
        memory = dense._view((dense.nbytes,), (1,), np.uint8)
        return _unpickle_array, (memory.copy_to_host(), dense.dtype, dense.shape, dense.strides)

    def _copy_if_gaps(self):
        """Returns the array itself if its memory has no gaps, otherwise a copy with the same axis order."""
        if self.strides == shapes.packed_like(self.shape, self.strides, self.itemsize):
            return self
        return self.copy("K")

    def item(self, *args: Any) -> Any:
        """Returns an element as a Python scalar; without arguments, the array's only element."""
        if args:
            index = args[0] if len(args) == 1 and isinstance(args[0], tuple) else args
            if len(index) == 1 != self.ndim:  # flat index in C order
                number = operator.index(index[0])
                if not -self.size <= number < self.size:
                    raise IndexError(f"index {number} is out of bounds for size {self.size}")
                index = np.unravel_index(number % self.size, self.shape)
            if len(index) != self.ndim:
                raise ValueError("incorrect number of indices for array")
            return self._selected_view(tuple(map(operator.index, index))).item()
        if self.size != 1:
            raise ValueError(f"item() needs an array of one element, this has shape {self.shape}")
        return self.copy_to_host().item()

    def tobytes(self, order: Any = "C") -> bytes:
        """Returns the elements' bytes, as numpy.ndarray.tobytes."""
        return self.copy_to_host().tobytes(order)

    def __bytes__(self) -> bytes:
        return self.tobytes()

    def tolist(self) -> Any:
        return self.copy_to_host().tolist()

    def _require_one_element(self, what):
        if self.size != 1:
            raise TypeError(f"{what} needs an array of one element, this has shape {self.shape}")
        if self.ndim and _NUMPY >= "2.4.0":
            raise TypeError(
                f"{what} needs an array without axes, this has shape {self.shape}: write d.item()"
            )
        if self.ndim:
            errors.warn(
                f"{what} of an array with axes is deprecated in NumPy: write d.item()",
                DeprecationWarning,
            )

    def __int__(self) -> int:
        self._require_one_element("int()")
        return int(self.item())

    def __float__(self) -> float:
        self._require_one_element("float()")
        return float(self.item())

    def __complex__(self) -> complex:
        self._require_one_element("complex()")
        return complex(self.item())

    def __index__(self) -> int:
        if self.ndim or self.dtype.kind not in "iu":
            raise TypeError("only integer scalar arrays can be converted to a scalar index")
        return operator.index(self.item())

    def __bool__(self) -> bool:
        if self.size != 1:
            raise ValueError(
                "the truth value of a device array with other than one element is ambiguous: "
                "copy_to_host() and use any() or all()"
            )
        return bool(self.item())

    def __iter__(self) -> Iterator[Any]:
        if self.ndim == 0:
            raise TypeError("iteration over a 0-d array")
        if self.ndim == 1 and self.dtype.names is None:
            # Copy all elements at once, because iteration would copy each element
            return iter(self.copy_to_host())
        return (self[i] for i in range(self.shape[0]))

    # ---- elements

    def getitem(self, item: Any, stream: StreamLike = 0) -> Any:
        """Returns `self[item]`, computed on a stream."""
        return (self._bind(stream) if stream else self)[item]

    @traced
    def __setitem__(self, key: Any, value: Any) -> None:
        self.setitem(key, value)

    def setitem(self, key: Any, value: Any, stream: StreamLike = 0) -> None:
        """Assigns to a part of the array, with NumPy's broadcasting and casting."""
        if key is Ellipsis:
            _assign.assign(self, value, stream)
        elif _indexing.has_arrays(key):
            _indexing.put_items(self, key, value, stream)
        else:
            _assign.assign(self._selected_view(key), value, stream)

    _by_arrays = _indexing.get_items

    def _selected_view(self, key):
        """Returns the view that a key selects; for a single element, a 0-dimensional view."""
        if isinstance(key, (str, list)):
            return self[key]
        if not isinstance(key, tuple):
            key = (key,)
        if not any(item is Ellipsis for item in key):
            key = (*key, Ellipsis)
        return self[key]

    @traced
    def fill(self, value: Any, stream: StreamLike = 0) -> None:
        """Sets every element to a scalar, converted as NumPy converts it.

        Parameters
        ----------
        value : scalar
            The value.
        stream : Stream
            The stream of the work.

        Raises
        ------
        OverflowError
            ``value`` is an int that does not fit the dtype.
        ValueError
            ``value`` is an array.

        Examples
        --------
        >>> d = cuda.device_array(3, np.int32)
        >>> d.fill(7)
        >>> print(d)
        [7 7 7]
        """
        if getattr(value, "ndim", 0) or (isinstance(value, list) and not self.dtype.names):
            raise ValueError("fill() takes a scalar: use d[...] = array")
        _assign.assign(self[...], value, stream)

    # ---- copies

    @functools.partial(traced, direct=_core.copy_array)
    def copy(self, order: str = "C", stream: StreamLike = 0) -> DeviceNDArray:
        """Returns a copy without gaps on the same device.

        Parameters
        ----------
        order : str
            C, F, A (F for a Fortran-contiguous array, else C) or K (the array's
            axis order).
        stream : Stream
            The stream of the copy; by default the array's own.

        Returns
        -------
        DeviceNDArray
            The new array.
        """
        order = shapes.order_of(order, "C")
        with _assign.on_device(self.device):
            if order == "K":
                strides = shapes.packed_like(self.shape, self.strides, self.itemsize)
                result = _core.device_empty(self.shape, self.dtype, strides=strides)
            else:
                order = self._memory_order() if order == "A" else order
                result = _core.device_empty(self.shape, self.dtype, order)
        if self.size:
            _assign.copy_elements(self, result, stream or self.stream, apart=True)
        stream = stream or self.stream
        return result._bind(stream) if stream else result

    def __copy__(self) -> DeviceNDArray:
        return self.copy("K")

    def __deepcopy__(self, memo: Any) -> DeviceNDArray:
        return self.copy("K")

    @traced
    def astype(
        self,
        dtype: DTypeLike,
        order: str = "K",
        casting: Any = "unsafe",
        subok: bool = True,
        copy: bool = True,
        stream: StreamLike = 0,
    ) -> DeviceNDArray:
        """Returns the elements converted to another dtype, in a new array.

        The new array is on the same device. Conversion runs on the device, as a C
        cast. Dtypes without a C++ type (text, times, records) are converted on the
        host, by NumPy.

        Parameters
        ----------
        dtype : dtype
            The dtype of the result.
        order : str
            C, F, A or K, the axis order, as in `copy`.
        casting : str
            NumPy's rule for the conversions that are allowed.
        subok : bool
            No effect; NumPy has this parameter.
        copy : bool
            False: returns the array itself if its dtype and order are as
            requested.
        stream : Stream
            The stream of the work; by default the array's own.

        Returns
        -------
        DeviceNDArray
            The new array.

        Raises
        ------
        TypeError
            ``casting`` does not allow the conversion.

        Examples
        --------
        >>> d = cuda.to_device(np.array([1.5, 2.5]))
        >>> print(d.astype(np.int32))
        [1 2]
        """
        dtype = _assign.with_text_length(np.dtype(dtype), self.dtype)
        order = shapes.order_of(order)
        if not np.can_cast(self.dtype, dtype, casting):
            raise TypeError(
                f"cannot cast array data from {self.dtype!r} to {dtype!r} according to the rule "
                f"{casting!r}"
            )
        if dtype == self.dtype:
            fits = {
                "C": self.is_c_contiguous(),
                "F": self.is_f_contiguous(),
                "A": self.is_c_contiguous() or self.is_f_contiguous(),
            }
            return self if not copy and fits.get(order, True) else self.copy(order, stream)
        stream = stream or self.stream
        if order == "A":
            order = self._memory_order()
        if order == "K":
            strides = shapes.packed_like(self.shape, self.strides, dtype.itemsize)
        else:
            strides = shapes.packed(self.shape, dtype.itemsize, order)
        with _assign.on_device(self.device):
            result = _core.device_empty(self.shape, dtype, strides=strides)
        _assign.assign(result, self, stream)
        return result._bind(stream) if stream else result


_core.register_array_class(DeviceNDArray)


# ---------------------------------------------------------------------------------------- helpers


def _unpickle_array(memory, dtype, shape, strides):
    """Creates an array from its pickled state."""
    return to_device(memory)._view(shape, strides, dtype)


def _check_match(array, other):
    """Raises numba's exceptions if the shape or dtype of two arrays differs."""
    if not hasattr(other, "dtype"):
        raise TypeError(f"copy_to_host accepts a NumPy array, not {type(other).__name__}")
    if array.dtype != other.dtype:
        raise TypeError(f"incompatible dtype: {array.dtype} vs. {other.dtype}")
    if array.shape != other.shape:
        raise ValueError(f"incompatible shape: {array.shape} vs. {other.shape}")


def _require_writable(array):
    if array.readonly:
        raise ValueError("the device array is read-only")


# --------------------------------------------------------------------------------------- creation


def to_device(
    obj: Any,
    stream: StreamLike = 0,
    copy: bool = True,
    to: DeviceNDArray | None = None,
    device: DeviceLike | None = None,
) -> DeviceNDArray:
    """Copies an array with any strides to the device.

    Shape, dtype and axis order are kept. With ``stream=0``, the host array
    may be changed on return. With a stream and page-locked memory
    (`pinned_array`), the copy is asynchronous.

    Parameters
    ----------
    obj : array_like
        An array. A device array is returned unchanged; for a device array of
        another library, a view is returned. An array on another device is
        copied.
    stream : Stream
        The stream of the copy.
    copy : bool
        False: allocates without copying.
    to : DeviceNDArray
        An array to copy into.
    device : int or Device
        The target device; default: the calling thread's device, or a device
        array's own.

    Returns
    -------
    DeviceNDArray
        The array on the device; ``to`` if it was passed.

    Raises
    ------
    TypeError
        ``obj`` is an array of Python objects.
    ValueError
        ``to`` is not on ``device``.
    CudaAPIError
        The device has no memory left.

    Examples
    --------
    >>> d = cuda.to_device(np.ones((2, 3), np.float32))
    >>> d.shape, d.dtype, d.nbytes
    ((2, 3), dtype('float32'), 24)
    """
    if to is not None:
        required.require(to, "to_device", "a device array as to=", "copy_to_device")
        if device is not None and _devices.device_number(device) != to.device:
            raise ValueError(f"the array to copy into is on device {to.device}, not on {device}")
        to.copy_to_device(obj, stream)
        return to
    if device is not None:
        return _to_device(obj, stream, copy, _devices.device_number(device))
    found = cuda_array_or_none(obj)
    if found is not None:
        return found
    host = np.asarray(obj)
    if host.flags.c_contiguous:
        result = device_array(host.shape, host.dtype)
    else:
        result = device_array_like(host)
    if copy:
        result._write(host, stream)
    if host.dtype.names is not None and isinstance(obj, np.void):
        result = result._record()
    return result.bind(stream) if stream else result


def _to_device(obj, stream, copy, number):
    array = cuda_array_or_none(obj)
    if array is None:
        with _devices.gpus[number]:
            return to_device(obj, stream, copy)
    if array.device == number:
        return array
    if not copy:
        with _devices.gpus[number]:
            return device_array_like(array, stream)
    array = _assign.copy_to_device_number(array, number, stream)
    return array.bind(stream) if stream else array


device_array = _core.device_array


def device_array_like(ary: Any, stream: StreamLike = 0) -> DeviceNDArray:
    """Returns a new uninitialized array with another array's shape and dtype.

    Parameters
    ----------
    ary : array_like
        A NumPy array, a device array or an array of another library. The
        new array is contiguous, in the axis order of ``ary``.
    stream : Stream
        The stream to which the new array is bound.

    Returns
    -------
    DeviceNDArray
        The new array.

    Examples
    --------
    >>> cuda.device_array_like(np.zeros((2, 3), np.int16, order="F")).strides
    (2, 4)
    """
    if not isinstance(ary, (np.ndarray, _core.DeviceArray)):
        found = cuda_array_or_none(ary)
        ary = np.asarray(ary) if found is None else found
    shape, itemsize = ary.shape, ary.dtype.itemsize
    strides = shapes.packed_like(shape, ary.strides, itemsize)
    for order in "CF":
        if strides == shapes.packed(shape, itemsize, order):
            return device_array(shape, ary.dtype, order=order, stream=stream)
    return device_array(shape, ary.dtype, strides=strides, stream=stream)


# ------------------------------------------------------------------------- transfers of arguments


def In(array: Any) -> _core.Transfer:
    """Marks a host array that a kernel only reads: it is not copied back.

    Parameters
    ----------
    array : numpy.ndarray
        The array.

    Returns
    -------
    Transfer
        The kernel argument.

    Examples
    --------
    >>> @cuda.jit
    ... def double(x, out):
    ...     "int i = threadIdx.x; out[i] = 2 * x[i];"
    >>> x, out = np.arange(3), np.empty(3, int)
    >>> double[1, 3](cuda.In(x), cuda.Out(out))
    >>> out
    array([0, 2, 4])
    """
    return _core.Transfer(array, 1)


def Out(array: Any) -> _core.Transfer:
    """Marks a host array that a kernel only writes.

    The array is not copied to the device. The kernel must write every element:
    elements that it does not write get arbitrary values from device memory. See
    `In` for an example.

    Parameters
    ----------
    array : numpy.ndarray
        The array.

    Returns
    -------
    Transfer
        The kernel argument.
    """
    return _core.Transfer(array, 2)


def InOut(array: Any) -> _core.Transfer:
    """Marks a host array that is copied to the device and back.

    Kernel arguments that are host arrays are copied in this way by default.

    Parameters
    ----------
    array : numpy.ndarray
        The array.

    Returns
    -------
    Transfer
        The kernel argument.
    """
    return _core.Transfer(array, 3)
