"""Device arrays between the processes of dask.distributed.

Registered where distributed has been imported: then its "dask" serializer sends the bytes of an array
by way of the host, without another copy there, and its "cuda" one (UCX) sends device memory itself.
Dask's `sizeof` counts the bytes on the device. Without any of this device arrays travel by pickle.
"""

from __future__ import annotations

import pickle
import sys
from typing import TYPE_CHECKING

import numpy as np

from numbalite.ndarray.arrays import DeviceNDArray, to_device
from numbalite.ndarray.foreign import as_cuda_array
from numbalite.ndarray.records import DeviceRecord

if TYPE_CHECKING:
    from typing import Any

_done: set[Any] = set()  # modules that know our arrays


def register() -> None:
    """Tells dask and distributed, where they are imported, how device arrays travel."""
    if "dask.sizeof" in sys.modules and "dask" not in _done:
        _done.add("dask")
        sys.modules["dask.sizeof"].sizeof.register(DeviceNDArray, _size_of)
    if "distributed" in sys.modules and "distributed" not in _done:
        from distributed.protocol.cuda import cuda_deserialize, cuda_serialize
        from distributed.protocol.serialize import dask_deserialize, dask_serialize

        _done.add("distributed")
        dask_serialize.register(DeviceNDArray, to_host_frames)
        dask_deserialize.register(DeviceNDArray, from_host_frames)
        cuda_serialize.register(DeviceNDArray, to_device_frames)
        cuda_deserialize.register(DeviceNDArray, from_device_frames)


def _size_of(array):
    return array.nbytes


def to_device_frames(array: Any) -> Any:
    """(header, [the bytes as an array on the device])"""
    array = array._dense()
    header = {
        "shape": array.shape,
        "strides": array.strides,
        "dtype": pickle.dumps(array.dtype, 4),
        "record": isinstance(array, DeviceRecord),
    }
    return header, [array._view((array.nbytes,), (1,), np.uint8)]


def from_device_frames(header: Any, frames: Any) -> Any:
    """The array over the bytes that have arrived on the device."""
    (frame,) = frames
    memory = as_cuda_array(frame)
    dtype = pickle.loads(header["dtype"])
    array = memory._view(tuple(header["shape"]), tuple(header["strides"]), dtype)
    return array._record() if header["record"] else array


def to_host_frames(array: Any) -> Any:
    """(header, [the bytes in host memory])"""
    header, frames = to_device_frames(array)
    return header, [memoryview(frame.copy_to_host()) for frame in frames]


def from_host_frames(header: Any, frames: Any) -> Any:
    """The array on the device that is current in this process."""
    parts = [np.frombuffer(frame, np.uint8) for frame in frames if memoryview(frame).nbytes]
    whole = parts[0] if len(parts) == 1 else np.concatenate([np.empty(0, np.uint8), *parts])
    return from_device_frames(header, [to_device(whole)])
