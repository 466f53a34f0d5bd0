"""numba's names around device arrays: see numbalite.cuda.arrays, .hostarrays and .ipc."""

from numbalite.cuda.arrays import DeviceNDArray, device_array_like, is_cuda_array, to_device
from numbalite.cuda.hostarrays import ManagedNDArray, MappedNDArray
from numbalite.cuda.ipc import IpcArrayHandle

__all__ = [
    "DeviceNDArray",
    "IpcArrayHandle",
    "ManagedNDArray",
    "MappedNDArray",
    "auto_device",
    "check_array_compatibility",
    "errmsg_contiguous_buffer",
    "from_array_like",
    "is_contiguous",
    "is_cuda_ndarray",
    "require_cuda_ndarray",
    "verify_cuda_ndarray_interface",
]

# numba raises ValueError with this text; here arrays with gaps are packed instead.
errmsg_contiguous_buffer = (
    "Array contains non-contiguous buffer and cannot be transferred as a single memory region. "
    "Please ensure contiguous buffer with numpy .ascontiguousarray()"
)


def is_cuda_ndarray(obj) -> bool:
    """Is it a device array of this package?"""
    return bool(getattr(obj, "__cuda_ndarray__", False))


def verify_cuda_ndarray_interface(obj):
    """AttributeError or TypeError unless it has what kernels ask of a device array."""
    require_cuda_ndarray(obj)
    for name, kind in (("shape", tuple), ("strides", tuple), ("size", int)):
        if not isinstance(getattr(obj, name), kind):
            raise AttributeError(f"{name} must be of type {kind}")


def require_cuda_ndarray(obj):
    """ValueError unless it is a device array of this package."""
    if not is_cuda_ndarray(obj):
        kind = "another package's device array" if is_cuda_array(obj) else type(obj).__name__
        raise ValueError(f"require a device array object, got {kind}")


def is_contiguous(ary) -> bool:
    """Are the elements without gaps, in either order?"""
    flags = ary.flags
    return bool(flags["C_CONTIGUOUS"] or flags["F_CONTIGUOUS"])


def from_array_like(ary, stream=0, gpu_data=None):
    """A device array like `ary`, not initialised."""
    if gpu_data is not None:
        from numbalite import _core

        address = gpu_data.device_ctypes_pointer.value or 0
        return _core.from_pointer(address, ary.shape, ary.strides, ary.dtype, gpu_data)
    return device_array_like(ary, stream)


def auto_device(obj, stream=0, copy=True, user_explicit=False) -> tuple:
    """(device array, whether it is new): `obj` itself if it is on a device, else a copy there."""
    if is_cuda_array(obj):
        return to_device(obj, stream), False
    return to_device(obj, stream, copy=copy), True


def check_array_compatibility(ary1, ary2):
    """TypeError or ValueError unless one can be copied to the other."""
    if ary1.dtype != ary2.dtype:
        raise TypeError(f"incompatible dtype: {ary1.dtype} vs. {ary2.dtype}")
    if ary1.shape != ary2.shape:
        raise ValueError(f"incompatible shape: {ary1.shape} vs. {ary2.shape}")
