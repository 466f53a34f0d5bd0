"""NumPy's functions by names of numbalite.cuda, for programs that have them from a module of arrays on the GPU:
`import numbalite.cuda as cp; cp.exp(x)`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from numbalite.cuda.arrayfunctions import dispatch
from numbalite.cuda.arrayfunctions.coordinates import Grid
from numbalite.cuda.arrays import DeviceNDArray
from numbalite.ufuncs.protocols import counterpart

if TYPE_CHECKING:
    from typing import Any

_CONSTANTS = frozenset(["pi", "e", "inf", "nan", "euler_gamma"])
_HOSTS = frozenset(
    "s_ index_exp dtype iinfo finfo promote_types issubdtype isdtype isscalar broadcast_shapes errstate "
    "set_printoptions get_printoptions printoptions generic number integer signedinteger unsignedinteger "
    "inexact floating complexfloating ndindex".split()
)
"""What says something about dtypes, shapes and printing, and touches no array."""
_NAMESPACES = frozenset(["fft", "linalg"])


_GRIDS = {"mgrid": False, "ogrid": True}


class Namespace:
    """NumPy's functions of a namespace, as `numpys` has them."""

    def __init__(self, name: str) -> None:
        self.__name__ = f"numbalite.cuda.{name}"
        self._numpys = getattr(np, name)

    def __getattr__(self, name: str) -> Any:
        numpys = getattr(self._numpys, name, None)
        if isinstance(numpys, type) and issubclass(numpys, Exception):
            return numpys
        found = None if name.startswith("_") else _function(numpys)
        if found is None:
            raise AttributeError(f"{self.__name__} has no {name!r}")
        setattr(self, name, found)
        return found

    def __repr__(self) -> str:
        return f"<{self.__name__}: NumPy's functions on the device>"


def numpys(name: str) -> Any:
    """What numbalite.cuda has for a name of NumPy's: what NumPy's function does with device arrays. Here it does
    that with lists and NumPy's arrays, too, and ufuncs return what they were given: the host's for the host's."""
    if name == "ndarray":
        return DeviceNDArray
    if name in _CONSTANTS or name in _HOSTS:
        return getattr(np, name, None)
    if name in _NAMESPACES:
        return Namespace(name)
    if name in _GRIDS:
        return Grid(_GRIDS[name])
    if name == "asnumpy":
        return asnumpy
    return None if name.startswith("_") else _function(getattr(np, name, None))


def _function(function):
    if isinstance(function, np.ufunc):
        try:
            return counterpart(function)
        except TypeError:
            return None
    if not callable(function) or isinstance(function, type):
        return None
    try:
        return dispatch.find(function)
    except TypeError:
        return None


def asnumpy(a: Any) -> np.ndarray:
    """An array on the host: a device array is copied there, everything else as numpy.asarray."""
    return a.copy_to_host() if hasattr(a, "copy_to_host") else np.asarray(a)
