"""Implements `call`, which returns an Operation as a function of JAX arrays."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.custom_derivatives import SymbolicZero

from numbalite.operators import Elementwise, Launched, Operation, operation

from . import handlers

_NUMBERS = (bool, int, float, complex)


def call(
    f: Any, out_shapes: Any = None, *, launch: Any = None, vmap_method: str = "sequential"
) -> Callable:
    """Returns a function of JAX arrays that calls a ufunc or a kernel.

    ``f`` may be a generalized ufunc. The function runs on the CPU and on CUDA
    devices, also inside jit, with XLA's buffers. Under vmap, a batch is one
    additional loop dimension of a ufunc. A ufunc can be differentiated in
    forward and reverse mode, any number of times (see the guide, Derivatives).
    ``kernel.adjoint`` computes the gradients of a kernel. On the CPU, kernels
    run only on the simulator.

    Parameters
    ----------
    f : CudaUfunc, CudaGUfunc, numpy.ufunc or Dispatcher
        The function. A kernel needs ``out_shapes``, ``launch``, and one
        signature with const for the arrays that it only reads: arrays without
        const are results, in uninitialized memory.
    out_shapes : tuple, list or function
        For kernels: the shape of the result (a list of shapes for several
        results), or a function of the inputs that returns it.
    launch : tuple or function
        For kernels: (grid, block), or a function of the kernel's arguments that
        returns them. ``launch`` and ``out_shapes`` receive numbers, and for
        arrays objects with shape, ndim and size.
    vmap_method : str
        For kernels: the parameter of jax.ffi.ffi_call.

    Returns
    -------
    function
        The function of JAX arrays.

    Raises
    ------
    TypeError
        ``f`` is another object, or writes its inputs, because arrays of JAX
        are immutable.

    Examples
    --------
    A kernel with one result::

        f = call(kernel, lambda x: x.shape, launch=lambda x, y: (-(-x.size // 256), 256))
    """
    described = operation(f, launch, out_shapes)
    if described.written:
        names = ", ".join(described.parameters[i] for i in described.written)
        raise TypeError(
            f"{described.name} writes its input {names}, but arrays of JAX are immutable: pass out_shapes="
        )
    if isinstance(described, Elementwise):
        made = _differentiable(described)
    else:
        is_kernel = isinstance(described, Launched)
        made = _differentiable_function(described, vmap_method if is_kernel else "expand_dims")

    def function(*args: Any) -> Any:
        if len(args) != described.nin:
            raise TypeError(
                f"{described.name} has {described.nin} inputs ({', '.join(described.parameters)}), not {len(args)}"
            )
        return made(*args)

    function.__name__ = function.__qualname__ = described.name
    function.__doc__ = getattr(f, "__doc__", None)
    return function


# --- ufuncs


@functools.lru_cache(4096)
def _differentiable(described):
    """Returns the function of JAX arrays that calls a ufunc, whose tangents are sums of tangents times derivatives.

    A function of complex numbers has no single derivative, so it supports only reverse mode, by its
    gradients.
    """
    primal = functools.partial(_call_handler, described, "expand_dims")
    if described.not_differentiable:
        return primal
    function = jax.custom_jvp(primal)

    @functools.partial(function.defjvp, symbolic_zeros=True)
    def jvp(primals, tangents):
        results = function(*primals)
        several = isinstance(results, (tuple, list))
        shown = list(results) if several else [results]
        sums: list = [jnp.zeros(one.shape, one.dtype) for one in shown]
        for i, tangent in enumerate(tangents):
            if isinstance(tangent, SymbolicZero) or tangent.dtype == jax.dtypes.float0:
                continue
            partial = _differentiable(described.derivative(i))(*primals)
            for o, value in enumerate(partial if several else [partial]):
                sums[o] = sums[o] + (value * tangent).astype(sums[o].dtype)
        return results, (type(results)(sums) if several else sums[0])

    of_complex = _function_of_arrays(described, "expand_dims", (None,) * described.nin)

    def call_or_differentiate(*args):
        arrays = _arguments_as_arrays(described, args)
        dtypes = [np.dtype(x.dtype) for x in arrays]
        if any(one.kind == "c" for one in (*dtypes, *described.dtypes(dtypes))):
            return of_complex(*arrays)
        return function(*arrays)

    return call_or_differentiate


def _arguments_as_arrays(described, args):
    """Returns the arguments as arrays: Python numbers get the dtype of the loop."""
    if not any(type(x) in _NUMBERS for x in args):
        return [jnp.asarray(x) for x in args]
    asked = [
        type(x) if type(x) in (int, float, complex) else np.dtype(jnp.asarray(x).dtype)
        for x in args
    ]
    loop = described.ufunc.resolve_dtypes((*asked, *(None,) * described.nout))
    return [
        jnp.asarray(x, dtype) if type(x) in _NUMBERS else jnp.asarray(x)
        for x, dtype in zip(args, loop, strict=False)
    ]


# --- kernels and generalized ufuncs


def _differentiable_function(described, vmap_method):
    """Returns the function of JAX arrays that calls an operation with first derivatives. Numbers among
    the arguments are constants of the program."""

    def function(*args):
        numbers = [None] * described.nin
        for i, x in enumerate(args):
            if described.scalar(i) is not None:
                numbers[i] = _constant_argument(described, i, x)
        arrays = [jnp.asarray(x) for x, number in zip(args, numbers, strict=True) if number is None]
        return _function_of_arrays(described, vmap_method, tuple(numbers))(*arrays)

    return function


def _constant_argument(described, i, x):
    wanted = described.scalar(i)
    if isinstance(x, jax.core.Tracer):
        raise TypeError(
            f"{described.name}: {described.parameters[i]} is a number of the launch: it must be known when the "
            "program is traced, so mark it as static"
        )
    return wanted(x)


@functools.lru_cache(1024)
def _function_of_arrays(described, vmap_method, numbers):
    """Returns the function whose parameters are only the arrays among the arguments."""
    places = [i for i, number in enumerate(numbers) if number is None]

    def merge_arguments(arrays):
        rest = iter(arrays)
        return [next(rest) if number is None else number for number in numbers]

    @jax.custom_vjp
    def function(*arrays):
        return _call_handler(described, vmap_method, *merge_arguments(arrays))

    def forward(*arrays):
        return function(*arrays), arrays

    def backward(arrays, cotangents):
        dtypes = tuple(
            np.dtype(x.dtype) if number is None else None
            for x, number in zip(merge_arguments(arrays), numbers, strict=True)
        )
        gradients = described.gradients(dtypes)
        found = _call_handler(
            gradients, vmap_method, *merge_arguments(arrays), *_as_tuple(cotangents)
        )
        by = dict(zip(described.differentiated(dtypes), _as_tuple(found), strict=True))
        return tuple(
            _sum_to_shape(by[i], x) if i in by else None
            for i, x in zip(places, arrays, strict=True)
        )

    function.defvjp(forward, backward)
    return function


def _as_tuple(found):
    return tuple(found) if isinstance(found, (tuple, list)) else (found,)


def _sum_to_shape(gradient, x):
    """Returns the gradient with respect to an input x, summed to x's shape if x was broadcast, in x's
    dtype."""
    ahead = gradient.ndim - x.ndim
    axes = (*range(ahead), *(i + ahead for i, n in enumerate(x.shape) if n == 1))
    if not jnp.iscomplexobj(x):
        gradient = gradient.real  # the gradient of a real input is real
    return jnp.sum(gradient, axes).reshape(x.shape).astype(x.dtype)


# --- all


def _call_handler(described: Operation, vmap_method: str, *args: Any) -> Any:
    """Returns XLA's operation for the arguments: arrays, and numbers for the inputs that are numbers."""
    numbers = tuple(None if described.scalar(i) is None else x for i, x in enumerate(args))
    args = tuple(
        jnp.asarray(x) if number is None else x for x, number in zip(args, numbers, strict=True)
    )
    arrays = [x for x, number in zip(args, numbers, strict=True) if number is None]
    dtypes = tuple(np.dtype(x.dtype) for x in arrays)
    shapes = described.result_shapes(args)
    given = iter(dtypes)
    asked: Any = [next(given) if number is None else None for number in numbers]
    results = described.dtypes(asked)
    for dtype in results:
        if jax.dtypes.canonicalize_dtype(dtype) != dtype:
            raise TypeError(
                f"{described.name} returns {dtype} for {', '.join(map(str, dtypes))}: enable it by "
                'jax.config.update("jax_enable_x64", True), or add a signature with smaller types'
            )
    key = handlers.register_operation(described, (*dtypes, *results), numbers)
    shown = [
        jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in zip(shapes, results, strict=True)
    ]
    operation = jax.ffi.ffi_call(
        handlers.TARGET, shown[0] if len(shown) == 1 else shown, vmap_method=vmap_method
    )
    found = operation(*_align_loop_dimensions(described, arrays), key=key)
    return found if len(shown) == 1 else tuple(found)


def _align_loop_dimensions(described, arrays):
    """Returns the arrays with equal numbers of loop dimensions, so that a batch becomes an additional one."""
    if described.cores is None:
        return arrays
    loops = [x.ndim - core for x, core in zip(arrays, described.cores, strict=False)]
    ndim = max(loops, default=0)
    return [
        x.reshape((1,) * (ndim - loop) + x.shape) for x, loop in zip(arrays, loops, strict=True)
    ]
