"""Arrays in device memory: DeviceNDArray and the functions that make them.

The C base class has the memory, basic indexing and the copies; here is what makes it behave as
NumPy's users expect: assignment with broadcasting and casting, reshaping, conversions. Views share
memory as in NumPy, and where NumPy would copy (reshaping a strided array), so does this, on the
device. What needs arithmetic on elements (casting) goes through the host.

stream=0 means: on the array's own stream (the default one unless `bind` gave another), and host
copies have happened on return.
"""

from __future__ import annotations

import ctypes
import operator

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from numbalite import _core, config, shapes
from numbalite.cuda import devices as _devices


class Flags(dict):
    """numba's dictionary, with NumPy's attributes."""

    def __getattr__(self, name):
        try:
            return self[name.upper()]
        except KeyError:
            raise AttributeError(name) from None


class DeviceMemory:
    """The memory behind an array: its address and size."""

    __slots__ = ("_array",)

    def __init__(self, array):
        self._array = array

    @property
    def device_pointer_value(self) -> int:
        return self._array.address

    @property
    def device_ctypes_pointer(self):
        return ctypes.c_void_p(self._array.address)

    device_pointer = device_ctypes_pointer

    @property
    def size(self) -> int:
        return self._array.alloc_size

    def __int__(self):
        return self._array.address


class DeviceNDArray(_core.DeviceArray, NDArrayOperatorsMixin):
    """An n-dimensional array in device memory; made by `to_device`, `device_array` and views.

    NumPy's element-wise ufuncs and Python's operators run on the device: `np.sqrt(d)`, `d * 2 + e`.
    """

    __slots__ = ()

    __cuda_memory__ = True
    __cuda_ndarray__ = True
    __array_priority__ = 100

    # Operators compare elements; as a key of a dictionary an array is itself.
    __hash__ = object.__hash__

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        from numbalite.ufuncs import protocols

        return protocols.array_ufunc(ufunc, method, inputs, kwargs)

    # ---- what it is

    @property
    def flags(self) -> Flags:
        return Flags(
            C_CONTIGUOUS=self.is_c_contiguous(),
            F_CONTIGUOUS=self.is_f_contiguous(),
            WRITEABLE=not self.readonly,
        )

    @property
    def gpu_data(self) -> DeviceMemory:
        return DeviceMemory(self)

    @property
    def device_ctypes_pointer(self):
        return ctypes.c_void_p(self.address)

    def __repr__(self):
        return f"DeviceNDArray(shape={self.shape}, dtype={self.dtype}, device={self.device})"

    def bind(self, stream=0) -> DeviceNDArray:
        """The same array with another stream for methods that are given none."""
        return self._bind(stream)

    # ---- to and from the host

    def copy_to_host(self, ary=None, stream=0) -> np.ndarray:
        """Copies to a new NumPy array, or to `ary` (same shape and dtype, any strides).

        A new array is complete on return. With a stream and a page-locked `ary` the copy is only put
        into the stream's order: wait for the stream before reading it.
        """
        if ary is None:
            if _core.capture_here():
                raise RuntimeError(
                    "copy_to_host() inside a capture needs the array to copy to, which each launch of"
                    " the graph then fills: d.copy_to_host(array, stream=stream)"
                )
            order = "F" if self.is_f_contiguous() and not self.is_c_contiguous() else "C"
            return self._download(order, stream)
        _check_match(self, ary)
        self._read(ary, stream)
        return ary

    def copy_to_device(self, ary, stream=0):
        """Copies from a NumPy array or a device array of the same shape and dtype."""
        if is_cuda_array(ary):
            source = as_cuda_array(ary)
            _check_match(self, source)
            self._copy(source, stream)
        else:
            source = np.asarray(ary)
            _check_match(self, source)
            self._write(source, stream)

    def __array__(self, dtype=None, copy=None):
        if copy is False:
            raise ValueError("a device array cannot become a NumPy array without a copy")
        result = self.copy_to_host()
        return result if dtype is None else result.astype(dtype, copy=False)

    def __reduce__(self):
        return to_device, (self.copy_to_host(),)

    def item(self, *args):
        """An element as a Python scalar; without arguments, the only one."""
        if args:
            return self.copy_to_host().item(*args)
        self._only_one("item()")
        return self.copy_to_host().item()

    def tolist(self):
        return self.copy_to_host().tolist()

    def _only_one(self, what):
        if self.size != 1:
            raise TypeError(f"{what} needs an array of one element, this has shape {self.shape}")

    def __int__(self):
        self._only_one("int()")
        return int(self.item())

    def __float__(self):
        self._only_one("float()")
        return float(self.item())

    def __complex__(self):
        self._only_one("complex()")
        return complex(self.item())

    def __index__(self):
        if self.ndim or self.dtype.kind not in "iu":
            raise TypeError("only integer scalar arrays can be converted to a scalar index")
        return operator.index(self.item())

    def __bool__(self):
        if self.size != 1:
            raise ValueError(
                "the truth value of a device array with other than one element is ambiguous: "
                "copy_to_host() and use any() or all()"
            )
        return bool(self.item())

    def __iter__(self):
        if self.ndim == 0:
            raise TypeError("iteration over a 0-d array")
        if self.ndim == 1:
            return iter(self.copy_to_host())  # one copy, not one for each element
        return (self[i] for i in range(self.shape[0]))

    # ---- elements

    def getitem(self, item, stream=0):
        """`self[item]` on a stream."""
        return (self._bind(stream) if stream else self)[item]

    def __setitem__(self, key, value):
        self.setitem(key, value)

    def setitem(self, key, value, stream=0):
        """Assigns to a part, with NumPy's broadcasting and casting."""
        _assign(self._part(key), value, stream)

    def _part(self, key):
        """The view that a key selects, 0-dimensional where it selects one element."""
        if isinstance(key, str):
            return self[key]
        if not isinstance(key, tuple):
            key = (key,)
        if not any(item is Ellipsis for item in key):
            key = (*key, Ellipsis)
        return self[key]

    def fill(self, value, stream=0):
        """Sets every element to a scalar."""
        self._fill(_scalar(value, self.dtype), stream)

    # ---- other shapes

    def _geometry(self, shape, strides):
        return self._view(tuple(shape), tuple(strides), self.dtype)

    def reshape(self, *shape, order="C") -> DeviceNDArray:
        """The same elements in another shape: a view where strides allow, else a copy."""
        shape = shapes.new_shape_of(self.size, shape)
        if order not in ("C", "F", "A"):
            raise ValueError(f"order must be 'C', 'F' or 'A', not {order!r}")
        if order == "A":
            order = "F" if self.is_f_contiguous() and not self.is_c_contiguous() else "C"
        strides = shapes.strides_after(self.shape, self.strides, self.itemsize, shape, order)
        source = self
        if strides is None:
            source = self.copy(order)
            strides = shapes.packed(shape, self.itemsize, order)
        return source._geometry(shape, strides)

    def ravel(self, order="C", stream=0) -> DeviceNDArray:
        """One dimension: a view where the array is contiguous, else a copy."""
        if order == "K":
            order = "F" if self.is_f_contiguous() and not self.is_c_contiguous() else "C"
        source = self._bind(stream) if stream else self
        return source.reshape(self.size, order=order)

    def flatten(self, order="C") -> DeviceNDArray:
        """A copy with one dimension."""
        return self.copy(order).reshape(self.size, order=order)

    @property
    def T(self) -> DeviceNDArray:
        """The array with its axes reversed (a view)."""
        return self.transpose()

    def transpose(self, *axes) -> DeviceNDArray:
        """The array with its axes in another order (a view)."""
        if len(axes) == 1 and (axes[0] is None or isinstance(axes[0], (tuple, list))):
            axes = axes[0]
        if not axes:
            axes = range(self.ndim)[::-1]
        order = [shapes.axis_number(axis, self.ndim) for axis in axes]
        if sorted(order) != list(range(self.ndim)):
            raise ValueError(f"axes {tuple(axes)} do not name each of {self.ndim} axes once")
        shape, strides = self.shape, self.strides
        return self._geometry((shape[i] for i in order), (strides[i] for i in order))

    def swapaxes(self, axis1, axis2) -> DeviceNDArray:
        order = list(range(self.ndim))
        i, j = shapes.axis_number(axis1, self.ndim), shapes.axis_number(axis2, self.ndim)
        order[i], order[j] = order[j], order[i]
        return self.transpose(order)

    def squeeze(self, axis=None, stream=0) -> DeviceNDArray:
        """The array without its axes of length one, or without those named (a view)."""
        shape, strides = self.shape, self.strides
        if axis is None:
            gone = {i for i, length in enumerate(shape) if length == 1}
        else:
            axes = axis if isinstance(axis, (tuple, list)) else (axis,)
            gone = {shapes.axis_number(one, self.ndim) for one in axes}
            if any(shape[i] != 1 for i in gone):
                raise ValueError("cannot squeeze an axis whose length is not one")
        kept = [i for i in range(self.ndim) if i not in gone]
        result = self._geometry((shape[i] for i in kept), (strides[i] for i in kept))
        return result.bind(stream) if stream else result

    def view(self, dtype) -> DeviceNDArray:
        """The same bytes as elements of another dtype."""
        dtype = np.dtype(dtype)
        old, new = self.itemsize, dtype.itemsize
        if old == new:
            return self._view(self.shape, self.strides, dtype)
        if not (self.ndim and new and self.strides[-1] == old):
            raise ValueError("to change the size of elements, the last axis must be contiguous")
        length = self.shape[-1] * old
        if length % new:
            raise ValueError(
                f"the last axis has {length} bytes, which elements of {new} do not fill"
            )
        strides = (*self.strides[:-1], new)
        return self._view((*self.shape[:-1], length // new), strides, dtype)

    def split(self, section, stream=0):
        """Yields the pieces of a one-dimensional array, `section` elements each (the last may have less)."""
        if self.ndim != 1:
            raise ValueError("only a one-dimensional array can be split")
        section = operator.index(section)
        if section < 1:
            raise ValueError("section must be positive")
        for start in range(0, self.size, section):
            piece = self[start : start + section]
            yield piece.bind(stream) if stream else piece

    # ---- copies

    def copy(self, order="C", stream=0) -> DeviceNDArray:
        """A contiguous copy on the same device; order "K" keeps the order of the axes."""
        with _devices.gpus[self.device]:
            if order in ("K", "A"):
                result = device_array_like(self)
            else:
                result = _core.device_empty(self.shape, self.dtype, order)
        result._copy(self, stream or self.stream)
        return result

    def __copy__(self):
        return self.copy("K")

    def __deepcopy__(self, memo):
        return self.copy("K")

    def astype(self, dtype, order="K", casting="unsafe", copy=True, stream=0) -> DeviceNDArray:
        """The elements as another dtype, in a new array."""
        dtype = np.dtype(dtype)
        if not np.can_cast(self.dtype, dtype, casting):
            raise TypeError(f"cannot cast from {self.dtype} to {dtype} with casting={casting!r}")
        if dtype == self.dtype:
            return self.copy(order, stream) if copy else self
        source = self._bind(stream) if stream else self
        host = source.copy_to_host()
        with _devices.gpus[self.device]:
            return to_device(host.astype(dtype, order), stream)


_core.register_array_class(DeviceNDArray)


# ---------------------------------------------------------------------------------------- helpers


def _check_match(array, other):
    """The same shape and dtype, or numba's exceptions."""
    if array.dtype != other.dtype:
        raise TypeError(f"incompatible dtype: {array.dtype} vs. {other.dtype}")
    if array.shape != other.shape:
        raise ValueError(f"incompatible shape: {array.shape} vs. {other.shape}")


def _scalar(value, dtype):
    """A 0-dimensional array of the dtype, converted as NumPy converts on assignment."""
    result = np.empty((), dtype)
    result[()] = value
    return result


def _assign(target, value, stream):
    if is_cuda_array(value):
        source = as_cuda_array(value)
        if source.dtype != target.dtype:
            source = source.astype(target.dtype, stream=stream)
        target._copy(_broadcast(source, target.shape), stream)
        return
    if not isinstance(value, np.ndarray):
        if target.dtype.names is not None or np.ndim(value) == 0:
            try:
                target._fill(_scalar(value, target.dtype), stream)
                return
            except (TypeError, ValueError):
                if np.ndim(value) == 0:
                    raise
        if target.ndim == 0:
            raise ValueError("setting an array element with a sequence")
        value = np.asarray(value, dtype=target.dtype)
    if value.ndim == 0:
        target._fill(_scalar(value, target.dtype), stream)
        return
    host = value.astype(target.dtype, copy=False)
    if host.size < target.size:  # upload it as it is, spread it there
        shapes.squeezed_to(host.shape, target.shape)
        with _devices.gpus[target.device]:
            target._copy(_broadcast(to_device(host, stream), target.shape), stream)
    else:
        shape = shapes.squeezed_to(host.shape, target.shape)
        target._write(np.broadcast_to(host.reshape(shape), target.shape), stream)


def _broadcast(array, shape):
    """A view of a device array with a larger shape; lengths of one are repeated by zero strides."""
    if array.shape == shape:
        return array
    return array._geometry(shape, shapes.spread(array.shape, array.strides, shape))


# ----------------------------------------------------------------------------------------- making


def is_cuda_array(obj) -> bool:
    """Does it offer device memory by the CUDA Array Interface?"""
    return isinstance(obj, _core.DeviceArray) or hasattr(obj, "__cuda_array_interface__")


def as_cuda_array(obj, sync=True) -> DeviceNDArray:
    """A device array over the memory of a CuPy, PyTorch, ... array, without a copy.

    Waits for the stream that the other side names, unless sync is False.
    """
    if isinstance(obj, DeviceNDArray):
        return obj
    if not is_cuda_array(obj):
        raise TypeError("*obj* doesn't implement the cuda array interface.")
    return _core.from_interface(obj, sync and config.CUDA_ARRAY_INTERFACE_SYNC)


class _Described:
    """Something that has a description and keeps an owner."""

    def __init__(self, description, owner):
        self.__cuda_array_interface__ = description
        self.owner = owner


def from_cuda_array_interface(desc, owner=None, sync=True) -> DeviceNDArray:
    """A device array over the memory that a CUDA Array Interface dictionary describes."""
    sync = sync and config.CUDA_ARRAY_INTERFACE_SYNC
    return _core.from_interface(_Described(desc, owner), sync)


def to_device(obj, stream=0, copy=True, to=None) -> DeviceNDArray:
    """Copies an array (any strides) to the device.

    A device array is returned as it is, a foreign one as a view. copy=False allocates only; `to` is
    an array to copy into.
    """
    if to is not None:
        to.copy_to_device(obj, stream)
        return to
    if type(obj) is not np.ndarray and is_cuda_array(obj):
        return as_cuda_array(obj)
    host = np.asarray(obj)
    if host.flags.c_contiguous:
        result = device_array(host.shape, host.dtype)
    else:
        result = device_array_like(host)
    if copy:
        result._write(host, stream)
    return result._bind(stream) if stream else result


device_array = _core.device_array


def device_array_like(ary, stream=0) -> DeviceNDArray:
    """A new array of the same shape and dtype, contiguous, with the axes in the same order."""
    if not isinstance(ary, (np.ndarray, _core.DeviceArray)):
        ary = as_cuda_array(ary) if is_cuda_array(ary) else np.asarray(ary)
    shape, itemsize = ary.shape, ary.dtype.itemsize
    strides = shapes.packed_like(shape, ary.strides, itemsize)
    for order in "CF":
        if strides == shapes.packed(shape, itemsize, order):
            return device_array(shape, ary.dtype, order=order, stream=stream)
    return device_array(shape, ary.dtype, strides=strides, stream=stream)


# ------------------------------------------------------------------------- transfers of arguments


def In(array):
    """For a kernel argument: a host array that is only read; it is not copied back."""
    return _core.Transfer(array, 1)


def Out(array):
    """For a kernel argument: a host array that is only written; it is not copied to the device."""
    return _core.Transfer(array, 2)


def InOut(array):
    """For a kernel argument: a host array that is copied in and back, which is the default."""
    return _core.Transfer(array, 3)
