"""Translates ufuncs in compiled functions: calls of a ufunc on numbers, and ``f.reduce(a)`` of a 1-D
array."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from numbalite import _core
from numbalite.kernels.devicefunction import DeviceFunction


def device_function(value: Any) -> DeviceFunction | None:
    """Returns the compiled function of vectorize and the ufunc's signatures, None for any other value."""
    if isinstance(value, np.ufunc):
        owner = _core.ufunc_owner(value)
        if owner is None or owner.layout is not None:
            return None
        function, signatures = owner.function, owner.signatures
    elif isinstance(value, _core.Ufunc):
        function, signatures = value._function, value._given  # type: ignore[attr-defined]
    else:
        return None
    if function.definition.is_unit:
        return function
    return DeviceFunction(
        function.definition, tuple(signatures), function.options, function._py_func
    )


def reduce_function(value: Any) -> Callable | None:
    """Returns the Python function that implements ``f.reduce`` of a ufunc in compiled code, None for any
    other value."""
    ufunc = getattr(value, "__self__", None)
    if getattr(value, "__name__", "") != "reduce" or device_function(ufunc) is None:
        return None
    function: Any = ufunc

    def reduce_array(array):
        if array.shape[0] == 0:
            raise ValueError("zero-size array to a reduction without identity")
        result = array[0]
        for i in range(1, array.shape[0]):
            result = function(result, array[i])
        return result

    return reduce_array
