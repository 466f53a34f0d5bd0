"""Device arrays that the extension creates directly, and the scalar types that tests of kernels use."""

import numpy as np

from numbalite import _core, cuda

SCALARS = {
    "boolean": ("bool", "?"),
    "i8": ("signed char", "i1"),
    "i16": ("short", "i2"),
    "i32": ("int", "i4"),
    "i64": ("long long", "i8"),
    "u8": ("unsigned char", "u1"),
    "u16": ("unsigned short", "u2"),
    "u32": ("unsigned int", "u4"),
    "u64": ("unsigned long long", "u8"),
    "f16": ("float16", "f2"),
    "f32": ("float", "f4"),
    "f64": ("double", "f8"),
    "c64": ("complex<float>", "c8"),
    "c128": ("complex<double>", "c16"),
}


def zeros_array(n=4, dtype="f4"):
    """Returns a host array for a small kernel."""
    return np.zeros(n, dtype)


def zeroed_device_array(shape, dtype):
    """Returns a device array of zeros, so that results do not depend on earlier contents of the
    memory."""
    device = _core.device_empty(shape, dtype)
    device._fill(np.zeros((), dtype))
    return device


def to_device(host):
    device = _core.device_empty(host.shape, host.dtype)
    device._write(host)
    return device


class ForeignArray:
    """An array of another library with a CUDA Array Interface. `changes` replaces its entries;
    KeyError removes an entry."""

    def __init__(self, array, **changes):
        self.array = array
        said = {**array.__cuda_array_interface__, **changes}
        self.__cuda_array_interface__ = {k: v for k, v in said.items() if v is not KeyError}


class DLPackSpeaker:
    """An array of another library that supports only DLPack."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **given):
        return self.array.__dlpack__(**given)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def assert_same_as_host(device, host):
    """Returns a device array with the host array's shape, dtype and values."""
    assert type(device) is cuda.DeviceNDArray
    assert_equal_arrays(device, host)


def assert_equal_arrays(found, expected):
    """Asserts equal shape, dtype and values; a device array is compared by its contents."""
    expected = np.asarray(expected)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    got = found.copy_to_host() if isinstance(found, cuda.DeviceNDArray) else found
    assert (got.shape, got.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_array_equal(got, expected)
