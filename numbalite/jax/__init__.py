"""Makes ufuncs, generalized ufuncs and kernels available in JAX programs.

    from numbalite.jax import call

    f = call(vectorize(["float32(float32, float32)"], target="cuda")(...))
    jax.jit(jax.grad(lambda x, y: f(x, y).sum()))(x, y)

A call becomes an operation of XLA (a custom call of its foreign function interface) with XLA's buffers, on
XLA's stream. Uses cuda and operators. Begin with calls.py, then handlers.py.
"""

from __future__ import annotations

try:
    import jax.ffi  # noqa: F401
except ModuleNotFoundError as problem:
    raise ModuleNotFoundError(
        "numbalite.jax needs JAX 0.5 or newer: pip install 'numbalite[jax]'", name=problem.name
    ) from problem

from .calls import call

__all__ = ["call"]
