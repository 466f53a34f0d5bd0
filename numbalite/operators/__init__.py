"""Makes functions of numbalite operators of a framework: the common code of numbalite.torch and
numbalite.jax.

An Operation represents a ufunc, a generalized ufunc or a kernel: the dtypes and shapes of its results,
functions that run it on device or host arrays, and its derivatives. The packages for the frameworks only
translate an Operation. Uses types, kernels and ufuncs. Begin with __init__.py, then elementwise.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from numbalite import _core
from numbalite.kernels.dispatcher import Dispatcher
from numbalite.ufuncs.cudagufunc import CudaGUfunc
from numbalite.ufuncs.cudaufunc import CudaUfunc

from .elementwise import Elementwise
from .generalized import Generalized
from .launched import Launched, Sized
from .operation import Operation

__all__ = ["Elementwise", "Generalized", "Launched", "Operation", "Sized", "operation"]


def operation(f: Any, launch: Any = None, out_shapes: Any = None) -> Operation:
    """Returns the Operation of a ufunc, a generalized ufunc or a kernel.

    Parameters
    ----------
    f : CudaUfunc, CudaGUfunc, numpy.ufunc or Dispatcher
        The function.
    launch, out_shapes
        The launch configuration and result shapes of a kernel, see Launched.

    Returns
    -------
    Operation
        The operation.

    Raises
    ------
    TypeError
        ``f`` is another object, or a ufunc that is passed with ``launch``
        or ``out_shapes``.
    """
    if isinstance(f, Dispatcher):
        return Launched(f, launch, out_shapes)
    kind = _operator_class(f)
    if kind is None:
        raise TypeError(
            "an operator is made from a ufunc (vectorize), a generalized ufunc (guvectorize) or a kernel (cuda.jit, "
            f"a module's kernel), not from {f!r}"
        )
    if launch is not None or out_shapes is not None:
        raise TypeError(f"{f.__name__} is a ufunc: launch= and out_shapes= are for kernels")
    return kind(f)


def _operator_class(f):
    if isinstance(f, CudaUfunc):
        return Elementwise
    if isinstance(f, CudaGUfunc):
        return Generalized
    owner = _core.ufunc_owner(f) if isinstance(f, np.ufunc) else None
    if owner is None:
        return None
    return Elementwise if owner.layout is None else Generalized
