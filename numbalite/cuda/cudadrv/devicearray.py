"""numba's names around device arrays: see numbalite.cuda.arrays."""

from numbalite.cuda.arrays import DeviceNDArray, is_cuda_array

__all__ = ["DeviceNDArray", "is_cuda_ndarray", "require_cuda_ndarray"]


def is_cuda_ndarray(obj) -> bool:
    """Is it a device array of this package?"""
    return isinstance(obj, DeviceNDArray)


def require_cuda_ndarray(obj):
    """ValueError unless it is a device array of this package."""
    if not is_cuda_ndarray(obj):
        kind = "another package's device array" if is_cuda_array(obj) else type(obj).__name__
        raise ValueError(f"require a device array object, got {kind}")
