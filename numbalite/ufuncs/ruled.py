"""Defines ufuncs with a custom rule that selects the loop. These ufuncs implement NumPy's functions that
convert only some of their inputs to a common dtype (`where`, `clip`). A rule is called once for each list of
types."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

from numbalite.ndarray.assign import is_number

from . import element, elementwise, operands, resolve
from .cudaufunc import CudaUfunc

if TYPE_CHECKING:
    from collections.abc import Callable


class UfuncWithLoopRule(CudaUfunc):
    """A ufunc of one of numbalite's element functions. ``rule(request)`` returns the dtypes of the inputs and
    of the single output."""

    def __init__(self, name: str, rule: Callable):
        self._rule = rule
        super().__init__(elementwise.template_function(name))

    def _operand_counts(self, nout):
        return element.parameter_count(self._function), 1

    def _loop_for(self, *asked):
        request = resolve.CallTypes(self, *asked)
        loop = tuple(self._rule(request))
        with self._lock:
            if loop not in self._loops:
                self._loops.append(loop)
        return loop


def common_dtype(inputs) -> np.dtype:
    """Returns the common dtype of inputs by NumPy's promotion, with weak scalars."""
    return np.result_type(*resolve.promote_scalars(inputs))


@functools.cache
def where_function() -> UfuncWithLoopRule:
    """Returns the element-wise function of numpy.where, which returns the first of two numbers if a condition
    is true, otherwise the second."""
    return UfuncWithLoopRule("chosen", _where_dtypes)


def _where_dtypes(request):
    dtype = common_dtype(request.inputs[1:])
    if not is_number(dtype):
        raise operands.unsupported_dtype_error(dtype, "numpy.where")
    return np.dtype(bool), dtype, dtype, dtype
