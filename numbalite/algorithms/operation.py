"""Contains the common code of algorithms with a user-defined operation, such as `cuda.scan("max(a, b)")`.

An Operation is a C++ text, a complete source or a Python function, with the kernels compiled for it so far.
Elements are numbers or records. Arrays may be in host memory, in device memory or those of another library;
results for host arrays are host arrays.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import numpy as np

from numbalite import _core, types
from numbalite.kernels import options as options_
from numbalite.ndarray import assign, dispatch
from numbalite.ufuncs import element, operands, reduceloops

if TYPE_CHECKING:
    from typing import Any


_NUMPYS = {
    "cuda.sort": ("sort", "a"),
    "cuda.histogram": ("histogram", "a"),
    "cuda.partition": ("partition", "a"),
    "cuda.select": ("select", "condlist"),
}
"""Names that NumPy has, too -> (NumPy's function, its first parameter)."""


def is_array(value: Any) -> bool:
    """Returns whether the value is an array or a list of numbers, rather than an operation."""
    return (
        isinstance(value, (list, tuple))
        or (hasattr(value, "dtype") and hasattr(value, "shape"))
        or any(
            hasattr(value, f"__{name}__")
            for name in ("cuda_array_interface", "array_interface", "dlpack")
        )
    )


def numpy_function_for_array(called: str, given: tuple, named: dict[str, Any]) -> Any:
    """Returns NumPy's function of this name if the call passes an array instead of an operation; otherwise
    None. Raises TypeError if NumPy has no such function."""
    name, parameter = _NUMPYS.get(called, ("", ""))
    if not (parameter in named or (given and is_array(given[0]))):
        return None
    if not name:
        numpys = {"cuda.scan": "cumsum", "cuda.reduce_by_key": "unique"}[called]
        raise TypeError(
            f"{called} requires an operation and returns a function: {called}(...)(x). "
            f"np.{numpys}(x) accepts the array itself"
        )
    return dispatch.find_function(getattr(np, name))


class Operation:
    """Base class of algorithms with a user-defined operation; derived classes set the class attributes."""

    called: str
    """The public name: "cuda.scan"."""
    noun: str
    parameters: str
    """The parameters of an operation that is a text: "a, b"."""

    def __new__(cls, functor: Any = None, *more: Any, source: Any = None, **given: Any) -> Any:
        numpys = numpy_function_for_array(cls.called, (functor, *more), given)
        if numpys is not None:
            return numpys(*(() if functor is None else (functor, *more)), **given)
        element.check_only_operation(cls.called, functor, more)
        if functor is None and source is None:  # a decorator with options
            return lambda function: cls(function, **given)
        return super().__new__(cls)

    def __init__(
        self, functor: Any = None, *, source: Any = None, name: Any = None, args: Any = None,
        **given: Any,
    ) -> None:  # fmt: skip
        options = options_.parse_options(given, self.called)
        self.function = element.operation_function(
            functor, self.parameters, self.called, self.noun, source=source, name=name, args=args,
            options=options, frame=sys._getframe(1),
        )  # fmt: skip
        self.options = options
        self._set_attributes()

    def _set_attributes(self):
        function = self.function
        self.__name__ = element.plain_name(function)
        self.__qualname__, self.__module__ = function.__qualname__, function.__module__
        self.__doc__ = function.__doc__
        self._loops = reduceloops.Loops(lambda dtype: function, self.__name__, self.options)

    def __repr__(self) -> str:
        return f"<CUDA {self.noun} {self.__name__}>"

    def __reduce__(self) -> tuple:
        return _unpickle, (type(self), self.function, self.options)

    def __copy__(self) -> Operation:
        return self

    def __deepcopy__(self, memo: Any) -> Operation:
        return self


def _unpickle(cls, function, options):
    made = object.__new__(cls)
    made.function, made.options = function, options
    made._set_attributes()
    return made


def check_elements(dtype: np.dtype, name: str) -> None:
    """Raises TypeError unless the type is a number or a record."""
    if dtype.names is None:
        operands.check_dtype(dtype, name)
    else:
        types.from_dtype(dtype)


class CallArray:
    """Returns the array of a call, on its device."""

    def __init__(self, value: Any, operation: Any, stream: Any) -> None:
        self.is_device = operands.is_on_device(value)
        array = operands.device_view(value) if self.is_device else operands.host_array(value)
        check_elements(array.dtype, operation.called)
        self.device = assign.on_device_of(array if self.is_device else None)
        with self.device:
            array = operands.to_device(array, stream)
            self.array = array if operands.is_aligned(array) else array.copy(stream=stream)
        self.stream = stream
        self.called = operation.called

    def result(self, made: Any) -> Any:
        """Returns the result in the memory of the argument (host or device)."""
        return made if self.is_device else made.copy_to_host(stream=self.stream)

    def output(
        self, out: Any, shape: tuple, dtype: np.dtype, in_place: bool = False
    ) -> tuple[Any, Any]:
        """Returns (array to return, device array to write to), both new if `out` is None.

        The returned arrays differ if kernels cannot write to `out` directly; `copy_to_out` then copies. `in_place`
        allows that `out` is the input array itself.
        """
        if out is None:
            made = _core.device_empty(shape, dtype, "C")
            return made, made
        if not operands.is_on_device(out):
            raise TypeError(f"{self.called}: out= must be a device array, not {type(out).__name__}")
        target = operands.device_view(out)
        if target.shape != shape:
            raise ValueError(
                f"{self.called}: out= has shape {target.shape}, the result has shape {shape}"
            )
        if not np.can_cast(dtype, target.dtype, "same_kind"):
            raise TypeError(f"{self.called}: out= has dtype {target.dtype}, the result {dtype}")
        if target.readonly:
            raise ValueError(f"{self.called}: out= is read-only")
        if target.device != self.array.device:
            raise ValueError(
                f"{self.called}: out= is on device {target.device}, the array on {self.array.device}"
            )
        same = in_place and (
            (target._address, target.strides, target.dtype)
            == (self.array._address, self.array.strides, self.array.dtype)
        )
        apart = same or not assign.may_overlap(self.array, target)
        direct = apart and operands.is_aligned(target)
        return out, target if direct else _core.device_empty(shape, target.dtype, "C")

    def copy_to_out(self, out: Any, written: Any) -> Any:
        if out is not written:
            operands.device_view(out)._copy(written, self.stream)
            return out
        return self.result(out)


def output_array(operation: Any, out: Any, like: Any, sources: tuple) -> Any:
    """Returns `out` if kernels can write to `out`, otherwise a new 1-D array with the length and dtype of
    `like`. Raises errors about `out`."""
    if out is None:
        return _core.device_empty((like.size,), like.dtype, "C")
    if not operands.is_on_device(out):
        raise TypeError(
            f"{operation.called}: out= must be a device array, not {type(out).__name__}"
        )
    target = operands.device_view(out)
    if target.ndim != 1 or target.size < like.size:
        raise ValueError(
            f"{operation.called}: out= has shape {target.shape}, and there may be {like.size} results"
        )
    if target.dtype != like.dtype:
        raise TypeError(
            f"{operation.called}: out= has dtype {target.dtype}, the array has dtype {like.dtype}"
        )
    if target.readonly or target.device != like.device:
        raise ValueError(f"{operation.called}: out= is read-only or on another device")
    shared = any(assign.may_overlap(target, source) for source in sources)
    if shared or not (operands.is_aligned(target) and target.is_c_contiguous()):
        return _core.device_empty((like.size,), like.dtype, "C")
    return target
