"""Defines DeviceRecord: one record in device memory, usually a view of an element of an array of records.

Fields are read and written by name. Reading a number copies it to the host; reading a field that is a record or an
array returns a view.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from numbalite import _core, required
from numbalite.ndarray import printing as _printing
from numbalite.ndarray.arrays import DeviceNDArray, device_array

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from numpy.typing import DTypeLike

    from numbalite.arguments import StreamLike


class DeviceRecord(DeviceNDArray):
    """A structured element in device memory: `records[3]`, `to_device(record)`, `DeviceRecord(dtype)`.

        records = cuda.to_device(np.zeros(10, [("x", "f4"), ("n", "i4")]))
        records[3]["x"] = 2.5
        records[3] = (2.5, 7)

    A DeviceRecord is a 0-dimensional array. A comparison with NumPy records and tuples compares values, and
    copies the record to the host.
    """

    __slots__ = ()

    def __new__(
        cls, dtype: DTypeLike, stream: StreamLike = 0, gpu_data: Any = None
    ) -> DeviceRecord:
        dtype = np.dtype(dtype)
        if dtype.names is None:
            raise TypeError(f"a record has a structured dtype, not {dtype}")
        if gpu_data is None:
            made = device_array((), dtype)
        else:
            made = DeviceNDArray((), (), dtype, 0, gpu_data)
        return made._record().bind(stream) if stream else made._record()

    @property
    def _numba_type_(self):
        from numbalite import types

        return types.Record(self.dtype)

    def __repr__(self) -> str:
        return _printing.representation_of(self, "DeviceRecord")

    def bind(self, stream: StreamLike = 0) -> DeviceRecord:
        """Returns a view of the record whose methods use this stream by default."""
        return self._bind(stream)._record()

    def copy(self, order: str = "C", stream: StreamLike = 0) -> DeviceRecord:
        """Returns a copy of the record in new memory."""
        return super().copy(order, stream)._record()

    def copy_to_host(self, ary: Any = None, stream: StreamLike = 0) -> Any:
        """Copies to a new 0-dimensional NumPy array, or to `ary`, an array or a NumPy record."""
        if not isinstance(ary, np.void):
            return super().copy_to_host(ary, stream)
        if ary.dtype != self.dtype:
            raise TypeError(f"incompatible dtype: {self.dtype} vs. {ary.dtype}")
        host = super().copy_to_host(None, stream)
        for name in self.dtype.names:
            ary[name] = host[name]
        return ary

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return _unpickle_record, super().__reduce_ex__(protocol)

    # ---- fields

    def __getitem__(self, field: Any) -> Any:
        field = self._name_of_field(field)
        part = super().__getitem__(field)
        if isinstance(field, str) and part.ndim == 0:
            return part[()]
        return part._record() if isinstance(field, list) else part

    def _name_of_field(self, key):
        """Returns the name of the field with this number; other keys are unchanged."""
        if not isinstance(key, (int, np.integer)) or isinstance(key, bool):
            return key
        names = self.dtype.names
        if not -len(names) <= key < len(names):
            raise IndexError(f"a record of {len(names)} fields has no field {key}")
        return names[key]

    def setitem(self, key: Any, value: Any, stream: StreamLike = 0) -> None:
        super().setitem(self._name_of_field(key), value, stream)

    def _selected_view(self, key):
        if isinstance(key, (str, list)):
            return _core.DeviceArray.__getitem__(self, key)
        return super()._selected_view(key)

    def getitem(self, item: Any, stream: StreamLike = 0) -> Any:
        return (self.bind(stream) if stream else self)[item]

    def __len__(self) -> int:
        return len(self.dtype.names)

    def __iter__(self) -> Iterator[Any]:
        return (self[name] for name in self.dtype.names)

    def item(self) -> Any:
        """Returns the record as a tuple."""
        return self.copy_to_host().item()

    def tolist(self) -> Any:
        return self.item()

    def __bool__(self) -> bool:
        return bool(self.copy_to_host())

    # ---- comparison

    def __eq__(self, other: object) -> Any:
        if isinstance(other, DeviceRecord):
            other = other.copy_to_host()[()]
        elif isinstance(other, tuple):
            try:
                other = np.array(other, self.dtype)[()]
            except (TypeError, ValueError):
                return False
        elif not (isinstance(other, (np.void, np.ndarray)) and other.dtype.names):
            return NotImplemented
        return self.copy_to_host()[()] == other

    def __ne__(self, other: object) -> Any:
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else not equal

    __hash__ = object.__hash__


_core.register_record_class(DeviceRecord)


def _unpickle_record(make, args):
    """Creates a record from its pickled state."""
    return make(*args)._record()


def from_record_like(rec: Any, stream: StreamLike = 0, gpu_data: Any = None) -> DeviceRecord:
    """Returns a new uninitialized record on the device, with the dtype of a host or device
    record."""
    required.require(rec, "from_record_like", "a record", "dtype")
    return DeviceRecord(rec.dtype, stream, gpu_data)


def from_array_like(arr: Any, stream: StreamLike = 0, gpu_data: Any = None) -> DeviceNDArray:
    """Returns a new uninitialized device array with the shape, strides and dtype of another
    array."""
    required.require_array(arr, "from_array_like")
    return DeviceNDArray(arr.shape, arr.strides, arr.dtype, stream, gpu_data)
