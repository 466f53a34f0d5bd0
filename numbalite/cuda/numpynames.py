"""Provides NumPy's functions as names of numbalite.cuda, for programs that use a GPU array module as
`import numbalite.cuda as cp; cp.exp(x)`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import numpy as np

from numbalite import cuda, types
from numbalite.ndarray import dispatch
from numbalite.ndarray.arrays import DeviceNDArray
from numbalite.ufuncs.protocols import cuda_ufunc_for

if TYPE_CHECKING:
    from typing import Any

_CONSTANTS = frozenset(["pi", "e", "inf", "nan", "euler_gamma", "True_", "False_", "little_endian"])
_HOSTS = frozenset(
    "s_ index_exp dtype iinfo finfo promote_types issubdtype isdtype isscalar broadcast_shapes errstate geterr seterr "
    "set_printoptions get_printoptions printoptions generic number integer signedinteger unsignedinteger "
    "inexact floating complexfloating flexible character bytes_ str_ object_ datetime64 timedelta64 datetime_data "
    "ndindex iterable isfortran base_repr binary_repr format_float_positional format_float_scientific typename "
    "mintypecode typecodes sctypeDict exceptions dtypes show_config show_runtime get_include".split()
)
"""Functions about dtypes, shapes and printing, which read no element of an array."""
_OTHER_NAMES = {
    "half": "float16",
    "single": "float32",
    "csingle": "complex64",
    "cdouble": "complex128",
    "ubyte": "uint8",
    "long": np.dtype("l").name,
}
_NAMESPACES = frozenset(["fft", "linalg"])


_GRIDS = {"mgrid": False, "ogrid": True}


class Namespace:
    """A namespace of NumPy, such as np.fft, with the functions' versions for device arrays."""

    def __init__(self, name: str) -> None:
        self.__name__ = f"numbalite.cuda.{name}"
        self._numpys = getattr(np, name)

    def __getattr__(self, name: str) -> Any:
        numpys = getattr(self._numpys, name, None)
        if isinstance(numpys, type) and issubclass(numpys, Exception):
            return numpys
        found = None if name.startswith("_") else _device_function(numpys)
        if found is None:
            raise AttributeError(f"{self.__name__} has no {name!r}")
        setattr(self, name, found)
        return found

    def __repr__(self) -> str:
        return f"<{self.__name__}: NumPy's functions on the device>"


def device_function_of_name(name: str) -> Any:
    """Returns numbalite.cuda's function for a NumPy name, which does the same as NumPy's function with device
    arrays. The returned function also accepts lists and NumPy arrays. Ufuncs return host arrays for host arrays, and
    device arrays for device arrays."""
    if name == "ndarray":
        return DeviceNDArray
    if name in _CONSTANTS or name in _HOSTS:
        return getattr(np, name, None)
    if name in _OTHER_NAMES:
        return types.NAMES[_OTHER_NAMES[name]]
    if name in _NAMESPACES:
        return Namespace(name)
    if name in _GRIDS:
        from numbalite.functions.coordinates import Grid

        return Grid(_GRIDS[name])
    if name in _OURS:
        return _OURS[name]
    return None if name.startswith("_") else _device_function(getattr(np, name, None))


def _device_function(function):
    if isinstance(function, np.ufunc):
        try:
            return cuda_ufunc_for(function)
        except TypeError:
            return None
    if not callable(function) or isinstance(function, type):
        return None
    try:
        return dispatch.find_function(function)
    except TypeError:
        return None


def _is_device_array(value: Any) -> bool:
    # A sparse array exists only if numbalite.sparse.array is imported
    sparse = sys.modules.get("numbalite.sparse.array")
    return isinstance(value, DeviceNDArray) or (
        sparse is not None and isinstance(value, sparse.SparseArray)
    )


def get_array_module(*args: Any) -> Any:
    """Returns numbalite.cuda if one of the arguments is a device array or a sparse array, otherwise numpy.

    >>> cuda.get_array_module(cuda.zeros(3)).__name__
    'numbalite.cuda'
    """
    return cuda if any(map(_is_device_array, args)) else np


def load(file: Any, *args: Any, **keywords: Any) -> Any:
    """Returns the result of numpy.load, with the array of a .npy file on the device; for an .npz file,
    NumPy's object."""
    found = np.load(file, *args, **keywords)
    return cuda.to_device(found) if isinstance(found, np.ndarray) else found


def mask_indices(n: int, mask_func: Any, k: Any = 0) -> tuple[Any, ...]:
    """Does the same as numpy.mask_indices, with a function that accepts device arrays."""
    return np.nonzero(mask_func(cuda.ones((n, n), int), k) != 0)


def asnumpy(a: Any) -> np.ndarray[Any, Any]:
    """Returns an array on the host: a device array is copied to the host, other objects are
    converted by numpy.asarray."""
    return a.copy_to_host() if hasattr(a, "copy_to_host") else np.asarray(a)


_OURS = {
    "asnumpy": asnumpy,
    "get_array_module": get_array_module,
    "load": load,
    "mask_indices": mask_indices,
}
NAMES = frozenset(_OURS)
"""Names that NumPy may not have."""
