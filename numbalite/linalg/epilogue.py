"""Implements cuda.matmul: numpy.matmul with a stream and an epilogue, which is a function of the product's
elements."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

from numbalite import _core
from numbalite.functions import arguments
from numbalite.linalg import matmul as products
from numbalite.ndarray import assign
from numbalite.runtime.traced import traced
from numbalite.ufuncs import protocols
from numbalite.ufuncs.cudaufunc import CudaUfunc
from numbalite.ufuncs.decorators import cuda_vectorize

if TYPE_CHECKING:
    from typing import Any


@functools.partial(traced, direct=_core.plain_matmul)
def matmul(
    a: Any, b: Any, /, *operands: Any, epilogue: Any = None, out: Any = None, dtype: Any = None,
    stream: Any = 0, **named: Any,
) -> Any:  # fmt: skip
    """Computes ``numpy.matmul(a, b)`` on the device, with an epilogue.

    The epilogue is a function that is applied to each element of the product.
    The epilogue runs in one pass over the product, in the order of ``stream``,
    which may be in a capture.

    Parameters
    ----------
    a, b : array
        The factors.
    *operands : number or array
        The further operands of an ``epilogue`` that is a ufunc:
        ``cuda.matmul(a, b, c, epilogue=f)`` is ``f(np.matmul(a, b), c)``.
        Further operands are broadcast with the product.
    epilogue : str or ufunc
        A C++ expression or body in which `x` is the element, or a ufunc of
        NumPy or for the GPU.
    out : DeviceNDArray
        The array for the result.
    dtype : dtype
        The product's dtype. The result has the dtype of the epilogue's ufunc.
    stream : Stream
        The stream of the work.
    **named : number or array
        The further operands of an ``epilogue`` that is a string, by name:
        ``cuda.matmul(a, b, epilogue="max(x + bias, 0)", bias=v)``. Named
        operands are broadcast with the product.

    Returns
    -------
    DeviceNDArray
        The result, or ``out``.

    Raises
    ------
    TypeError
        Operands are passed without an epilogue, or by name for a ufunc or by
        position for a string, or ``epilogue`` is another object. Further
        exceptions are those of numpy.matmul and of ufuncs.

    Examples
    --------
    >>> cuda.matmul(np.ones((2, 3)), np.ones((3, 2)), epilogue="x * scale", scale=10.0).copy_to_host()
    array([[30., 30.],
           [30., 30.]])
    """
    if epilogue is None:
        if operands or named:
            given = next(iter(named), "an operand after a and b")
            raise TypeError(f"cuda.matmul: {given} is passed without an epilogue that uses it")
        return _matmul_on_device(a, b, dtype=dtype, out=out, stream=stream)
    function = _epilogue_function(epilogue, operands, named)
    product = _matmul_on_device(a, b, dtype=dtype, stream=stream)
    with assign.on_device(product.device):
        return function(product, *operands, *named.values(), out=out, stream=stream)


def _matmul_on_device(a, b, **keywords):
    """Computes numpy.matmul on the device, after copying host operands to the device."""
    if not isinstance(a, _core.DeviceArray) and not isinstance(b, _core.DeviceArray):
        a = arguments.as_device_array(a, "an operand of matmul")
    if (
        keywords["dtype"] is None and not keywords["stream"]
    ):  # the fast path in C handles most products
        return np.matmul(a, b, out=keywords.get("out"))
    return products.matmul(a, b, **keywords)


def _epilogue_function(epilogue, operands, named):
    """Returns the GPU ufunc of an epilogue; raises TypeError for other objects."""
    if isinstance(epilogue, str):
        if operands:
            raise TypeError(
                "cuda.matmul: pass the operands of an epilogue's text by their names in this text"
            )
        return _epilogue_ufunc(epilogue, tuple(named))
    if named:
        raise TypeError(
            f"cuda.matmul: {next(iter(named))} is not an argument; a ufunc's operands follow a and b"
        )
    if isinstance(epilogue, np.ufunc):
        epilogue = protocols.cuda_ufunc_for(epilogue)
    if not isinstance(epilogue, CudaUfunc):
        raise TypeError(
            "cuda.matmul: epilogue must be a text in C++, or a ufunc for the GPU or of NumPy, not a "
            f"{type(epilogue).__name__}"
        )
    if epilogue.nin != 1 + len(operands) or epilogue.nout != 1:
        raise TypeError(
            f"cuda.matmul: an epilogue must have 1 result, {1 + len(operands)} "
            f"together; {epilogue.__name__} makes {epilogue.nout} of {epilogue.nin}"
        )
    return epilogue


@functools.lru_cache(256)
def _epilogue_ufunc(text, names):
    if "x" in names:
        raise TypeError("cuda.matmul: x is the product's element in an epilogue, not an operand")
    return cuda_vectorize(source=text, args=("x", *names), name="epilogue")
