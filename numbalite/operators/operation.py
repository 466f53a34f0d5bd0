"""Defines Operation: the representation of a function that the packages for the frameworks translate."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from numbalite import _core
from numbalite.required import short_repr


class Operation:
    """A function of arrays. Arrays are NumPy arrays on the host; on a device, arrays are any objects that
    kernels accept."""

    name: str
    parameters: tuple[str, ...]
    """The names of the inputs."""
    nin: int
    nout: int
    written: tuple[int, ...] = ()
    """The numbers of the inputs that the function writes."""
    cores: tuple[int, ...] | None = ()
    """The number of core dimensions of each operand: the dimensions before them are broadcast. None: the function has
    no loop dimensions."""
    contiguous: tuple[int, ...] = ()
    """The numbers of the inputs that must be contiguous."""
    starts_at_zero = False
    """Whether the operation adds to its results, which are initially 0."""
    not_differentiable = ""
    """The reason why the operation has no derivative, and what the user can do, or "" for a derivative."""

    @property
    def source(self) -> Any:
        """The object that identifies the definition: equal operations have equal pickles of this object, in any
        process."""
        raise NotImplementedError

    def scalar(self, number: int) -> type | None:
        """Returns the Python type of an input if the input is a number, or None for an array."""
        return None

    def dtypes(self, inputs: Sequence[np.dtype]) -> tuple[np.dtype, ...]:
        """Returns the dtypes of the results for inputs of these dtypes."""
        raise NotImplementedError

    def result_shapes(self, inputs: Sequence[Any]) -> tuple[tuple, ...]:
        """Returns the shapes of the results, for inputs with ``shape``; sizes may be symbols of a
        framework."""
        raise NotImplementedError

    def run_on_host(self, inputs: Sequence[Any], results: Sequence[np.ndarray]) -> None:
        """Computes the results for NumPy arrays."""
        raise NotImplementedError

    def device_call(
        self, inputs: Sequence[Any], results: Sequence[Any], stream: Any = None
    ) -> Callable[..., Any]:
        """Returns a function (*inputs, *results) that computes the results of device arrays with these shapes and
        dtypes.

        Without a stream, the function runs on the current stream of the arrays' library.
        """
        raise NotImplementedError

    def gradients(self, inputs: Sequence[np.dtype]) -> Operation:
        """Returns the Operation that computes gradients, for inputs of these dtypes. The inputs of the
        returned Operation are the inputs of this Operation, then one cotangent per result. The results of the
        returned Operation are the gradients with respect to the inputs that `differentiated` lists; the
        caller sums the gradients over broadcast axes."""
        raise NotImplementedError(f"{self.name} has no derivative: {self.not_differentiable}")

    def differentiated(self, inputs: Sequence[np.dtype]) -> tuple[int, ...]:
        """Returns the indices of the inputs that have gradients."""
        raise NotImplementedError(f"{self.name} has no derivative: {self.not_differentiable}")


def refuse_other(ufunc: Any, on_device: type, function: str, made_by: str) -> None:
    """Raises TypeError unless `ufunc` is a ufunc, on the CPU or on the device, that numbalite created."""
    is_made = isinstance(ufunc, np.ufunc) and _core.ufunc_owner(ufunc) is not None
    if not (is_made or isinstance(ufunc, on_device)):
        raise TypeError(f"{function} takes a ufunc of {made_by}, not {short_repr(ufunc)}")


def device_call_of(ufunc: Any, stream: Any) -> Callable[..., Any]:
    """Returns a function (*inputs, *results) that calls a ufunc for device arrays and writes to the results."""
    return ufunc if stream is None else functools.partial(ufunc, stream=stream)


def broadcast_shape(name: str, shapes: Sequence[Sequence]) -> tuple:
    """Returns the common shape of broadcast inputs. A ValueError contains the function's name. Sizes may be symbols of
    a framework."""
    ndim = max(map(len, shapes), default=0)
    result: list = [1] * ndim
    for shape in shapes:
        for axis, size in enumerate(shape, ndim - len(shape)):
            if size == 1:
                continue
            if result[axis] == 1:
                result[axis] = size
            elif result[axis] != size:
                listed = ", ".join(str(tuple(one)) for one in shapes)
                raise ValueError(f"{name}: the shapes {listed} cannot be broadcast")
    return tuple(result)
