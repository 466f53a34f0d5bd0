"""Computes reverse-mode gradients of functions on device arrays, by the package autograd (`pip install
numbalite[autograd]`).

After `import numbalite.autograd`, functions of autograd (`grad`, `value_and_grad`, `jacobian`, ...) accept device
arrays, and ufuncs of `vectorize` for any target are differentiated: their derivatives come from dual numbers
(numbalite/ufuncs/differentiation.py), or from the rules of `defvjp`.

    import autograd.numpy as np
    from numbalite.autograd import grad

    grad(lambda x: np.sum(np.tanh(x) * f(x)))(cuda.to_device(...))

Generalized ufuncs and kernels have no derivative: define one by autograd's `primitive` and `defvjp`.
Uses ufuncs and cuda. Begin with __init__.py.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

try:
    import autograd.numpy as anp
    from autograd import elementwise_grad, grad, hessian, jacobian, make_vjp, value_and_grad
    from autograd.core import def_linear
    from autograd.extend import Box, VSpace, defjvp_argnum, defvjp, defvjp_argnum, primitive
    from autograd.numpy import numpy_vjps, numpy_wrapper
    from autograd.numpy.numpy_boxes import ArrayBox
    from autograd.numpy.numpy_vspaces import ArrayVSpace, ComplexArrayVSpace
except ImportError as problem:
    raise ImportError(
        "numbalite.autograd needs the package autograd: pip install 'numbalite[autograd]'"
    ) from problem

from numbalite import _core, cuda
from numbalite.ufuncs import differentiation
from numbalite.ufuncs.differentiation import derivative
from numbalite.ufuncs.fuse import Fused

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "elementwise_grad",
    "grad",
    "grad_and_loss",
    "hessian",
    "jacobian",
    "make_vjp",
    "traced",
    "value_and_grad",
]


def grad_and_loss(function: Callable, argnum: int = 0) -> Callable:
    """Returns a function that returns (gradient, value) of a scalar function, as MinPy's
    `grad_and_loss`.

    ``argnum`` is the index of the argument, or a tuple of indices; the gradient is then a tuple.

        grad_loss = grad_and_loss(lambda w: np.sum(w * w))
        gradient, loss = grad_loss(w)
    """
    both = value_and_grad(function, argnum)

    @functools.wraps(function)
    def call(*args: Any, **keywords: Any) -> tuple:
        value, gradient = both(*args, **keywords)
        return gradient, value

    return call


# --- device arrays


class DeviceVSpace(ArrayVSpace):
    """autograd's vector space of device arrays with one shape and dtype. Its operations return
    device arrays."""

    def __init__(self, value: Any):
        self.shape, self.dtype = value.shape, value.dtype

    def __eq__(self, other: object) -> bool:
        """Spaces of 0-d arrays are equal if their dtypes are equal, whether on host or device, because the
        gradient with respect to a number on the host may be on the device."""
        if not self.shape and isinstance(other, ArrayVSpace):
            return not other.shape and self.dtype == other.dtype
        return super().__eq__(other)

    __hash__ = None  # type: ignore[assignment]

    def zeros(self) -> Any:
        return cuda.zeros(self.shape, self.dtype)

    def ones(self) -> Any:
        return cuda.ones(self.shape, self.dtype)

    def standard_basis(self) -> Any:
        return map(cuda.to_device, super().standard_basis())

    def randn(self) -> Any:
        return cuda.to_device(super().randn())


class ComplexDeviceVSpace(DeviceVSpace, ComplexArrayVSpace):
    """The same of complex arrays."""

    def ones(self) -> Any:
        return cuda.full(self.shape, 1 + 1j, self.dtype)


def _vector_space_of(array):
    return ComplexDeviceVSpace(array) if array.dtype.kind == "c" else DeviceVSpace(array)


VSpace.register(cuda.DeviceNDArray, _vector_space_of)
ArrayBox.register(cuda.DeviceNDArray)


def _asarray(value, dtype=None, **more):
    if isinstance(value, cuda.DeviceNDArray) and not more:
        return value if dtype in (None, value.dtype) else value.astype(dtype)
    return np.asarray(value, dtype=dtype, **more)


def _array(value, *args, **more):
    if args or more:
        return np.array(value, *args, **more)
    if isinstance(value, cuda.DeviceNDArray):
        return value.copy()
    if isinstance(value, tuple) and any(isinstance(one, cuda.DeviceNDArray) for one in value):
        return np.stack(value)
    return np.array(value)


class _NumPyReplacement:
    """Replaces numpy in a module of autograd, so that array() and asarray() keep device arrays on the
    device."""

    asarray, array = staticmethod(_asarray), staticmethod(_array)

    def __getattr__(self, name):
        return getattr(np, name)


class _NumPyWrapperReplacement(_NumPyReplacement):
    """Replaces numpy in autograd's numpy_wrapper, which views the result of concatenate as an ndarray."""

    @staticmethod
    def concatenate(arrays, axis=0):
        result = np.concatenate(arrays, axis)
        return _ArrayWithView(result) if isinstance(result, cuda.DeviceNDArray) else result


class _ArrayWithView(NamedTuple):
    """Wraps a device array for autograd: the method `view` returns the array itself."""

    array: Any

    def view(self, kind):
        return self.array


numpy_vjps.onp, numpy_wrapper._np = _NumPyReplacement(), _NumPyWrapperReplacement()

_make_diagonal = numpy_wrapper.make_diagonal


@primitive
def make_diagonal(D: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """Wraps a function of autograd that creates host arrays, so that it also works with device arrays."""
    if not isinstance(D, cuda.DeviceNDArray) or (offset, axis1, axis2) != (0, -1, -2):
        return _make_diagonal(D, offset, axis1, axis2)
    mask = cuda.to_device(np.eye(D.shape[-1], dtype=bool))
    return np.where(mask, D[..., None, :], D.dtype.type(0))


defvjp(
    make_diagonal,
    lambda answer, D, *axes, **keywords: lambda g: anp.diagonal(g, *axes, **keywords),
)
def_linear(make_diagonal)
numpy_wrapper.make_diagonal = anp.make_diagonal = make_diagonal

# --- ufuncs


def _is_numbalite_ufunc(ufunc):
    if isinstance(ufunc, _core.Ufunc):
        return True
    owner = _core.ufunc_owner(ufunc)
    return owner is not None and owner.layout is None


def _sum_to_shape(gradient, shape):
    """Sums the gradient over the axes along which an argument of this shape was broadcast."""
    ahead = np.ndim(gradient) - len(shape)
    axes = (*range(ahead), *(i + ahead for i, n in enumerate(shape) if n == 1))
    if np.shape(gradient) == shape or not axes:
        return gradient
    return anp.reshape(anp.sum(gradient, axis=axes), shape)


@functools.lru_cache(1024)
def _primitive_of_ufunc(ufunc):
    """Returns autograd's primitive of a ufunc with one result. The derivatives of the primitive are ufuncs,
    which autograd traces as well."""
    if ufunc.nout != 1:
        raise TypeError(
            f"{ufunc.__name__} has {ufunc.nout} results: autograd derives ufuncs with one; "
            "numbalite.ufuncs.differentiation.vjp derives the others"
        )

    @primitive
    def call(*args, **keywords):
        return ufunc(*args, **keywords)

    def vjp(argnum, answer, args, keywords):
        if any(np.iscomplexobj(one) for one in (answer, *args)):
            return lambda g: _complex_gradient(ufunc, args, g, argnum)
        shape = np.shape(args[argnum])
        return lambda g: _sum_to_shape(g * derivative(ufunc, argnum)(*args, **keywords), shape)

    def jvp(argnum, g, answer, args, keywords):
        return g * derivative(ufunc, argnum)(*args, **keywords)

    defvjp_argnum(call, vjp)
    defjvp_argnum(call, jvp)
    return call


def _complex_gradient(ufunc, args, g, argnum):
    if any(isinstance(one, Box) for one in (g, *args)):
        raise TypeError(
            f"{ufunc.__name__}: functions of complex numbers have first derivatives only"
        )
    return differentiation.vjp(ufunc, args, g)[argnum]


_of_autograd = ArrayBox.__array_ufunc__


def _array_ufunc(self, ufunc, method, *inputs, **keywords):
    if method == "__call__" and "out" not in keywords and _is_numbalite_ufunc(ufunc):
        return _primitive_of_ufunc(ufunc)(*inputs, **keywords)
    return _of_autograd(self, ufunc, method, *inputs, **keywords)


ArrayBox.__array_ufunc__ = _array_ufunc

# --- fused functions


def traced(function: Fused) -> Callable:
    """Returns a function of `numbalite.fuse` as a function that autograd differentiates once (no
    higher derivatives).

    Raises TypeError for any other object. A call raises TypeError if the function ends with another reduction
    than a sum.
    """
    if not isinstance(function, Fused):
        raise TypeError(f"traced accepts a function of numbalite.fuse, not {function!r}")

    @primitive
    def call(*args):
        return function(*args)

    def vjp(argnum, answer, args, keywords):
        def pull_back(g):
            if any(isinstance(one, Box) for one in (g, *args)):
                raise TypeError(
                    f"{function.__name__}: a fused function has first derivatives only: call it without fuse"
                )
            return function.vjp(args, g)[argnum]

        return pull_back

    defvjp_argnum(call, vjp)
    return functools.wraps(function.function)(call)
