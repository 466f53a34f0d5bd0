"""Operations of kernels."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from numbalite import types
from numbalite.kernels.dispatcher import Dispatcher
from numbalite.required import require_kind

from .generalized import refuse_host
from .operation import Operation


class Sized(NamedTuple):
    """A stand-in for an array, passed to functions of launch= and out_shapes=: has a shape, but no values."""

    shape: tuple

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> Any:
        return math.prod(self.shape)


class Launched(Operation):
    """A kernel with one list of parameter types.

    ``launch`` is (grid, block), as in the brackets of a launch, or a function of all arguments that returns
    (grid, block). The function receives numbers, and for each array an object with shape, ndim and size. The
    kernel writes to arrays and pointers that are not const. Without ``out_shapes``, the written arrays are
    inputs, which the function changes. With ``out_shapes``, the written arrays are results, whose memory is
    not initialized. ``out_shapes`` is a shape (a list of shapes for several results), or a function of the
    inputs that returns it.
    """

    cores = None

    def __init__(self, kernel: Dispatcher, launch: Any, out_shapes: Any = None):
        require_kind(kernel, "Launched", "a kernel", Dispatcher)
        self.kernel, self.launch, self.out_shapes = kernel, launch, out_shapes
        self.name = kernel.__name__.rpartition("::")[2].partition("<")[0]
        args = kernel._only_types
        if args is None:
            raise TypeError(
                f"{self.name}: an operator needs a kernel with one signature that has the types and const, as in "
                '@cuda.jit("void(const float32[:], float32[:])")'
            )
        if launch is None:
            raise TypeError(
                f"{self.name} is a kernel: launch= is (grid, block), or a function of the arguments that returns it, "
                "as in launch=lambda x, y: (-(-x.size // 256), 256)"
            )
        names = tuple(kernel._source.parameter_names)
        for t, name in zip(args, names, strict=True):
            _check_parameter_type(self.name, name, t)
        self._types = args
        written = [i for i, t in enumerate(args) if _is_written(t)]
        self._results = tuple(written) if out_shapes is not None else ()
        self._inputs = tuple(i for i in range(len(args)) if i not in self._results)
        self.parameters = tuple(names[i] for i in self._inputs)
        self.nin, self.nout = len(self._inputs), len(self._results)
        self.written = tuple(k for k, i in enumerate(self._inputs) if i in written)
        if not written:
            raise TypeError(f"{self.name} writes no array, because all its arrays are const")
        self._adjoints: dict = {}
        self.contiguous = tuple(
            k
            for k, i in enumerate(self._inputs)
            if i not in written and _requires_contiguous(args[i])
        )

    @property
    def source(self):
        return self.kernel, self.launch, self.out_shapes

    @property
    def not_differentiable(self):
        if self.kernel.adjoint is None:
            return f"set {self.name}.adjoint to a kernel that computes the gradients"
        return "" if self.nout else "give out_shapes=, so that the operator returns its results"

    def scalar(self, number):
        t = self._types[self._inputs[number]]
        if not isinstance(t, types.Scalar):
            return None
        return {"b": bool, "i": int, "u": int, "f": float, "c": complex}[t.dtype.kind]

    def input_dtype(self, number: int) -> np.dtype:
        return _dtype(self._types[self._inputs[number]])

    def dtypes(self, inputs):
        for number, given in enumerate(inputs):
            wanted = self.input_dtype(number)
            if self.scalar(number) is None and given != wanted:
                raise TypeError(
                    f"{self.name}: {self.parameters[number]} is an array of {wanted}, not of {given}"
                )
        return tuple(_dtype(self._types[i]) for i in self._results)

    def result_shapes(self, inputs):
        if not self.nout:
            return ()
        found = self.out_shapes
        if callable(found):
            found = found(*map(_as_array_shape, inputs))
        shapes = tuple(map(_shape, found)) if _is_list_of_shapes(found) else (_shape(found),)
        if len(shapes) != self.nout:
            raise ValueError(
                f"{self.name} has {self.nout} results, out_shapes has {len(shapes)} shapes"
            )
        return shapes

    def run_on_host(self, inputs, results):
        refuse_host(self.name, "is a kernel")
        self.device_call(inputs, results)(*inputs, *results)

    def device_call(self, inputs, results, stream=None):
        launcher = self.kernel[self.launch_for(inputs, results, stream)]
        if (*self._inputs, *self._results) == tuple(range(len(self._types))):
            return launcher
        nin = self.nin
        return lambda *args: launcher(*self._arguments(args[:nin], args[nin:]))

    def _arguments(self, inputs, results):
        """Returns the list of arguments of the kernel, in the order of its parameters."""
        arguments: list = [None] * len(self._types)
        for i, value in zip(self._inputs, inputs, strict=True):
            arguments[i] = value
        for i, value in zip(self._results, results, strict=True):
            arguments[i] = value
        return arguments

    # --- derivatives

    def differentiated(self, inputs):
        return tuple(
            i
            for i in range(self.nin)
            if self.scalar(i) is None and self.input_dtype(i).kind in "fc"
        )

    def gradients(self, inputs):
        if self.not_differentiable:
            return super().gradients(inputs)
        kernel = self.kernel.adjoint
        found = self._adjoints.get(kernel)
        if found is None:
            found = self._adjoints[kernel] = Adjoint(self, kernel)
        return found

    def result_names(self) -> tuple:
        return tuple(self.kernel._source.parameter_names[i] for i in self._results)

    def launch_for(self, inputs, results, stream=None):
        """Returns the launch configuration for arguments of these shapes."""
        found = self.launch
        if callable(found):
            found = found(*map(_as_array_shape, self._arguments(inputs, results)))
        if not isinstance(found, tuple) or not 2 <= len(found) <= 4:
            raise TypeError(f"{self.name}: launch is (grid, block), not {found!r}")
        return found if stream is None else (*found[:2], stream, *found[3:])


class Adjoint(Operation):
    """Computes the gradients of a kernel with its adjoint, a second kernel that the user wrote.

    The adjoint's parameters are the inputs of the kernel, one cotangent per result, and one gradient per floating-point
    array among the inputs, which is filled with zeros before. The adjoint's launch configuration is that of
    the kernel.
    """

    cores = None
    starts_at_zero = True
    not_differentiable = "adjoints of kernels have no derivatives"

    def __init__(self, primal: Launched, kernel: Dispatcher):
        self.primal, self.kernel = primal, kernel
        self.name = f"the adjoint of {primal.name}"
        self._by = primal.differentiated(())
        cotangents = tuple(f"cotangent_{name}" for name in primal.result_names())
        self.parameters = (*primal.parameters, *cotangents)
        self.nin, self.nout = len(self.parameters), len(self._by)
        self.contiguous = (*primal.contiguous, *range(primal.nin, self.nin))
        gradients = [f"gradient_{primal.parameters[i]}" for i in self._by]
        wanted = (*self.parameters, *gradients)
        given = self.kernel._source.parameter_names
        if len(given) != len(wanted):
            raise TypeError(
                f"{self.name}, {self.kernel.__name__}, has the parameters ({', '.join(given)}); the adjoint of this "
                f"kernel has ({', '.join(wanted)})"
            )

    @property
    def source(self):
        return self.primal.source, self.kernel

    def scalar(self, number):
        return self.primal.scalar(number) if number < self.primal.nin else None

    def dtypes(self, inputs):
        return tuple(map(self.primal.input_dtype, self._by))

    def result_shapes(self, inputs):
        return tuple(tuple(inputs[i].shape) for i in self._by)

    def run_on_host(self, inputs, results):
        refuse_host(self.name, "is a kernel")
        self.device_call(inputs, results)(*inputs, *results)

    def device_call(self, inputs, results, stream=None):
        nin = self.primal.nin
        return self.kernel[self.primal.launch_for(inputs[:nin], inputs[nin:], stream)]


def _requires_contiguous(t):
    return isinstance(t, types.Pointer) or (isinstance(t, types.Array) and t.layout == "C")


def _as_array_shape(value):
    """Converts an argument for the functions of launch= and out_shapes=: returns a Sized for an array, and a
    number unchanged."""
    shape = getattr(value, "shape", None)
    return value if shape is None else Sized(tuple(shape))


def _is_list_of_shapes(found):
    return isinstance(found, list) or (
        isinstance(found, tuple)
        and not isinstance(found, Sized)
        and any(isinstance(one, (tuple, list)) or hasattr(one, "shape") for one in found)
    )


def _shape(found):
    shape = getattr(found, "shape", found)
    return tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)


def _is_array(t):
    return isinstance(t, (types.Array, types.Pointer))


def _is_written(t):
    return _is_array(t) and not t.readonly


def _dtype(t):
    return (t.dtype if _is_array(t) else t).dtype


def _check_parameter_type(kernel, name, t):
    number = t.dtype if _is_array(t) else t
    if not isinstance(number, types.Scalar):
        raise TypeError(
            f"{kernel}: parameter {name!r} is {t}: an operator accepts arrays of numbers and numbers"
        )
