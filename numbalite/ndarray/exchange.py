"""`from_dlpack` creates device arrays from arrays of other libraries, by the DLPack protocol.

`as_cuda_array` (numbalite/ndarray/foreign.py) reads the CUDA Array Interface. DLPack also works with libraries without
CUDA, and with host memory.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

import numpy as np

from numbalite import _core
from numbalite.ndarray.arrays import DeviceNDArray, device_array_like, to_device
from numbalite.runtime import devices as _devices

if TYPE_CHECKING:
    from typing import Any

    from numbalite.arguments import DeviceLike


def from_dlpack(
    x: Any, /, *, device: DeviceLike | None = None, copy: bool | None = None
) -> DeviceNDArray:
    """Returns a device array from any object with `__dlpack__`.

    The object may also be a DLPack capsule. Memory of a CUDA device is not
    copied: the result is a view with any strides, read-only if the producer
    requires it, which keeps the memory alive. Work on the default stream
    waits for the producer's work. Calls on an array of PyTorch or CuPy run
    on the current stream of that library. An array in host memory is copied
    to the device.

    Parameters
    ----------
    x : object
        The object or capsule.
    device : int, Device or tuple of int
        The target device, as a number, a Device or DLPack's pair (type,
        number); default: the device of ``x``, or the current device for host
        memory.
    copy : bool
        True always copies; False never copies.

    Returns
    -------
    DeviceNDArray
        The array.

    Raises
    ------
    BufferError
        ``copy`` is False and a copy is needed, NumPy does not have the
        element type (bfloat16, ...), or CUDA cannot access the memory.
    TypeError
        ``x`` does not have `__dlpack__`.

    Examples
    --------
    >>> cuda.from_dlpack(np.arange(3.0)).copy_to_host()
    array([0., 1., 2.])
    """
    array = x[...] if isinstance(x, DeviceNDArray) else _core.from_dlpack(x)
    wanted = _device_number(device)
    if array is None:
        return _copy_from_host(x, wanted, copy)
    if wanted is not None and wanted != array.device:
        if copy is False:
            raise BufferError(
                f"the array is on device {array.device}; on device {wanted} only a copy can be"
            )
        with _devices.gpus[wanted]:
            moved = device_array_like(array)
            moved._copy(array)
        return moved
    return array.copy("K") if copy else array


def _copy_from_host(x, wanted, copy):
    if isinstance(x, type) or not hasattr(x, "__dlpack__"):
        raise TypeError(f"{type(x).__name__} has no __dlpack__")
    if copy is False:
        raise BufferError("the array is in host memory: it can only be copied to a device")
    host = np.from_dlpack(x)
    with _devices.gpus[_core.current_device() if wanted is None else wanted]:
        return to_device(host)


def _device_number(device):
    """Returns the number of a device from a number, a device object, or DLPack's (type, number)."""
    if device is None:
        return None
    if isinstance(device, tuple):
        kind, device = device
        if kind != 2:
            raise BufferError(f"a device array cannot be on DLPack's device type {kind}: 2 is CUDA")
    return operator.index(getattr(device, "id", device))
