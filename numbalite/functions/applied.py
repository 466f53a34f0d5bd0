"""Implements NumPy functions that call a function of the user with device arrays: apply_along_axis,
piecewise, fromfunction."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from numbalite import _core
from numbalite.functions import arguments
from numbalite.functions.coordinates import indices
from numbalite.functions.geometry import expand_dims, moveaxis
from numbalite.ndarray.dispatch import implements
from numbalite.runtime import shapes

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from numbalite.ndarray.arrays import DeviceNDArray


@implements("apply_along_axis")
def apply_along_axis(func1d: Callable, axis, arr, *args, **kwargs) -> DeviceNDArray:
    """Calls func1d once per 1-D slice. If func1d has an `axis` parameter, calling func1d directly with `axis`
    is faster."""
    a = arguments.as_device_array(arr)
    axis = shapes.axis_number(axis, a.ndim)
    lines = moveaxis(a, axis, -1)
    places = [(*place, ...) for place in np.ndindex(lines.shape[:-1])]
    if not places:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    with arguments.on_device_of(a):
        first = arguments.as_device_array(func1d(lines[places[0]], *args, **kwargs))
        made = arguments.empty((*lines.shape[:-1], *first.shape), first.dtype, a)
        made[places[0]] = first
        for place in places[1:]:
            made[place] = func1d(lines[place], *args, **kwargs)
    new = tuple(range(a.ndim - 1, a.ndim - 1 + first.ndim))
    return moveaxis(made, new, tuple(range(axis, axis + first.ndim)))


@implements("apply_over_axes")
def apply_over_axes(func: Callable, a, axes) -> DeviceNDArray:
    made = arguments.as_device_array(a)
    count = made.ndim
    for axis in shapes.tuple_of_integers(axes):
        axis += count if axis < 0 else 0
        result = arguments.as_device_array(func(made, axis))
        if result.ndim != count:
            result = expand_dims(result, axis)
            if result.ndim != count:
                raise ValueError("function is not returning an array of the correct shape")
        made = result
    return made


@implements("piecewise")
def piecewise(x, condlist, funclist, *args, **kw) -> DeviceNDArray:
    """Passes to each function the elements for which its condition is true; waits for the number of these
    elements."""
    conditions = _condition_list(condlist, arguments.as_device_array(x).ndim)
    x, *conditions = arguments.arrays_of([x, *conditions])
    conditions = [one.astype(bool, copy=False) for one in conditions]
    if len(funclist) == len(conditions) + 1:
        some = conditions[0]
        for one in conditions[1:]:
            some = np.logical_or(some, one)
        conditions.append(np.logical_not(some))
    elif len(funclist) != len(conditions):
        n = len(conditions)
        raise ValueError(f"with {n} condition(s), either {n} or {n + 1} functions are expected")
    y = np.zeros_like(x)
    with arguments.on_device_of(x):
        for condition, function in zip(conditions, funclist, strict=True):
            if not callable(function):
                y[condition] = function
                continue
            values = x[condition]
            if values.size:
                y[condition] = function(values, *args, **kw)
    return y


def _condition_list(condlist, ndim):
    """Returns the conditions as a list; a single condition may be passed without a list."""
    if isinstance(condlist, (_core.DeviceArray, np.ndarray)):
        several = condlist.ndim > 1 or (ndim == 0 and condlist.ndim == 1)
        return [condlist[i, ...] for i in range(len(condlist))] if several else [condlist]
    if shapes.ndim_of(condlist) == 0:
        return [condlist]
    first = condlist[0]
    if isinstance(first, (list, np.ndarray, _core.DeviceArray)) or ndim == 0:
        return list(condlist)
    return [condlist]


@implements("fromfunction")
def fromfunction(function: Callable, shape, *, dtype=float, **kwargs) -> Any:
    """Calls the function once, with the coordinates of all elements."""
    return function(*indices(shape, dtype=dtype), **kwargs)
