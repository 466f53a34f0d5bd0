"""Device memory of other libraries as arrays, by the CUDA Array Interface."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from numbalite import _core, config

if TYPE_CHECKING:
    from typing import Any

    from numbalite.ndarray.arrays import DeviceNDArray


def as_cuda_array(obj: Any, sync: bool = True) -> DeviceNDArray:
    """A device array over the memory of a CuPy, PyTorch, ... array, without a copy.

    Shape, strides and dtype are the other's; its array is kept alive. Waits for the stream that the
    other side names, unless ``sync`` is False; that stream becomes the array's own, if it is ordered
    with the default stream or was not waited for. TypeError for what has no CUDA Array Interface,
    ValueError for a description that makes no sense.

    >>> d = cuda.to_device(np.arange(3))
    >>> cuda.as_cuda_array(d) is d
    True
    """
    if isinstance(obj, _core.DeviceArray):
        return obj  # type: ignore[return-value]
    return _core.from_interface(obj, sync and config.CUDA_ARRAY_INTERFACE_SYNC)


def if_cuda_array(obj: Any) -> Any:
    """as_cuda_array, or None for what offers no device memory; asks for its description once."""
    if type(obj) is np.ndarray:
        return None
    if isinstance(obj, _core.DeviceArray):
        return obj
    return _core.from_interface(obj, config.CUDA_ARRAY_INTERFACE_SYNC, True)


class _Described:
    """Something that has a description and keeps an owner."""

    def __init__(self, description, owner):
        self.__cuda_array_interface__ = description
        self.owner = owner


def from_cuda_array_interface(
    desc: dict[str, Any], owner: Any = None, sync: bool = True
) -> DeviceNDArray:
    """A device array over the memory that a CUDA Array Interface dictionary describes.

    ``owner`` is kept alive as long as the array. ``sync`` as in `as_cuda_array`. What is in the
    dictionary is checked; that the address is somebody's memory cannot be.

    >>> d = cuda.to_device(np.arange(3.0))
    >>> cuda.from_cuda_array_interface(d.__cuda_array_interface__, owner=d).copy_to_host()
    array([0., 1., 2.])
    """
    sync = sync and config.CUDA_ARRAY_INTERFACE_SYNC
    return _core.from_interface(_Described(desc, owner), sync)
