"""Creates device arrays over memory of other libraries, by the CUDA Array Interface."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from numbalite import _core, config

if TYPE_CHECKING:
    from typing import Any

    from numbalite.ndarray.arrays import DeviceNDArray


def as_cuda_array(obj: Any, sync: bool = True) -> DeviceNDArray:
    """Returns a device array over the memory of an array, without a copy.

    The array belongs to CuPy, PyTorch or another library. Shape, strides and
    dtype are those of ``obj``, which is kept alive.

    Parameters
    ----------
    obj : object
        An object with the CUDA Array Interface.
    sync : bool
        True: waits for the stream that ``obj`` exports. The exported stream
        becomes the new array's stream if that stream is ordered with the
        default stream, or if ``sync`` is False.

    Returns
    -------
    DeviceNDArray
        The array; ``obj`` itself if it is a device array.

    Raises
    ------
    TypeError
        ``obj`` does not have the CUDA Array Interface.
    ValueError
        The interface dictionary is invalid.

    Examples
    --------
    >>> d = cuda.to_device(np.arange(3))
    >>> cuda.as_cuda_array(d) is d
    True
    """
    if isinstance(obj, _core.DeviceArray):
        return obj  # type: ignore[return-value]
    return _core.from_interface(obj, sync and config.CUDA_ARRAY_INTERFACE_SYNC)


def cuda_array_or_none(obj: Any) -> Any:
    """Like as_cuda_array, but returns None for an object without device memory. Reads the object's
    interface dictionary only once."""
    if type(obj) is np.ndarray:
        return None
    if isinstance(obj, _core.DeviceArray):
        return obj
    return _core.from_interface(obj, config.CUDA_ARRAY_INTERFACE_SYNC, True)


class _InterfaceObject:
    """An object with a `__cuda_array_interface__` that keeps an owner alive."""

    def __init__(self, description, owner):
        self.__cuda_array_interface__ = description
        self.owner = owner


def from_cuda_array_interface(
    desc: dict[str, Any], owner: Any = None, sync: bool = True
) -> DeviceNDArray:
    """Returns a device array from a CUDA Array Interface dictionary.

    The array uses the memory that the dictionary describes.

    Parameters
    ----------
    desc : dict
        The CUDA Array Interface dictionary. All entries are checked, except for
        the address, which must be valid device memory.
    owner : object
        An object that is kept alive as long as the array.
    sync : bool
        As in `as_cuda_array`.

    Returns
    -------
    DeviceNDArray
        The array.

    Raises
    ------
    ValueError
        The dictionary is invalid.

    Examples
    --------
    >>> d = cuda.to_device(np.arange(3.0))
    >>> cuda.from_cuda_array_interface(d.__cuda_array_interface__, owner=d).copy_to_host()
    array([0., 1., 2.])
    """
    sync = sync and config.CUDA_ARRAY_INTERFACE_SYNC
    return _core.from_interface(_InterfaceObject(desc, owner), sync)
