"""Serializes device arrays for transfers between the processes of dask.distributed.

`register_serializers` adds serializers if distributed was imported: "dask" sends the bytes of an array through host
memory, with a single copy in host memory; "cuda" (UCX) sends device memory directly. Dask's `sizeof` counts
the bytes on the device. Without registration, device arrays are pickled.
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

_done: set[Any] = set()  # modules with registered serializers


def register_serializers() -> None:
    """Registers the serializers and `sizeof` with dask and distributed, if they are imported."""
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
    """Returns (header, [the bytes as an array on the device])"""
    array = array._copy_if_gaps()
    header = {
        "shape": array.shape,
        "strides": array.strides,
        "dtype": pickle.dumps(array.dtype, 4),
        "record": isinstance(array, DeviceRecord),
    }
    return header, [array._view((array.nbytes,), (1,), np.uint8)]


def from_device_frames(header: Any, frames: Any) -> Any:
    """Returns an array over the received bytes in device memory."""
    (frame,) = frames
    memory = as_cuda_array(frame)
    dtype = pickle.loads(header["dtype"])
    array = memory._view(tuple(header["shape"]), tuple(header["strides"]), dtype)
    return array._record() if header["record"] else array


def to_host_frames(array: Any) -> Any:
    """Returns (header, [the bytes in host memory])"""
    header, frames = to_device_frames(array)
    return header, [memoryview(frame.copy_to_host()) for frame in frames]


def from_host_frames(header: Any, frames: Any) -> Any:
    """Returns the array, copied from the received host bytes to the current device of this
    process."""
    parts = [np.frombuffer(frame, np.uint8) for frame in frames if memoryview(frame).nbytes]
    whole = parts[0] if len(parts) == 1 else np.concatenate([np.empty(0, np.uint8), *parts])
    return from_device_frames(header, [to_device(whole)])
