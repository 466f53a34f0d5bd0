"""What is on the host by its nature: texts and files are made of a copy there; what NumPy reads from them, and
from buffers and iterators, with `like=` a device array, is copied to the device."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from numbalite import _core
from numbalite.ndarray.arrays import to_device
from numbalite.ndarray.dispatch import implements

if TYPE_CHECKING:
    from typing import Any


def _on_host(value):
    return value.copy_to_host() if isinstance(value, _core.DeviceArray) else value


def _of_copies(name):
    numpys = getattr(np, name)

    def function(*args: Any, **keywords: Any) -> Any:
        copies = {key: _on_host(value) for key, value in keywords.items()}
        return numpys(*map(_on_host, args), **copies)

    function.__name__ = name
    return implements(name)(function)


array2string = _of_copies("array2string")
array_repr = _of_copies("array_repr")
array_str = _of_copies("array_str")
save = _of_copies("save")
savez = _of_copies("savez")
savez_compressed = _of_copies("savez_compressed")
savetxt = _of_copies("savetxt")


def _of_host(name):
    numpys = getattr(np, name)

    def function(*args: Any, **keywords: Any) -> Any:
        return to_device(numpys(*args, **keywords))

    function.__name__ = name
    return implements(name)(function)


fromfile = _of_host("fromfile")
fromiter = _of_host("fromiter")
frombuffer = _of_host("frombuffer")
fromstring = _of_host("fromstring")
genfromtxt = _of_host("genfromtxt")
loadtxt = _of_host("loadtxt")
