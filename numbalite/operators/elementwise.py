"""Operations of ufuncs."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from numbalite import _core
from numbalite.ufuncs import derivatives, element
from numbalite.ufuncs.cudaufunc import CudaUfunc
from numbalite.ufuncs.differentiation import DerivativeFamily
from numbalite.ufuncs.hostufunc import make_ufunc

from .operation import Operation, broadcast_shape, device_call_of, refuse_other


class Elementwise(Operation):
    """A ufunc of vectorize. Its derivatives are ufuncs, too."""

    def __init__(self, ufunc: Any):
        refuse_other(ufunc, CudaUfunc, "Elementwise", "vectorize")
        self.ufunc = ufunc
        self.nin, self.nout = ufunc.nin, ufunc.nout
        self.name = ufunc.__name__
        self.cores = (0,) * (self.nin + self.nout)
        if isinstance(ufunc, CudaUfunc):
            self._made_from = ufunc._function, list(ufunc._given), ufunc._options
        else:
            owner = _core.ufunc_owner(ufunc)
            self._made_from = owner.function, list(owner.signatures), owner.options
        function, given, _ = self._made_from
        names = element.parameter_names(function)
        self.parameters = (
            tuple(names) if len(names) == self.nin else tuple(f"x{i + 1}" for i in range(self.nin))
        )
        if given and not any(map(derivatives.is_differentiable, given)):
            self.not_differentiable = (
                "no signature has an input of real or complex numbers and only such results"
            )

    @functools.cached_property
    def device(self) -> CudaUfunc:
        if isinstance(self.ufunc, CudaUfunc):
            return self.ufunc
        function, given, options = self._made_from
        return CudaUfunc(function, given, options, compile=False, nout=self.nout, quick=True)

    @functools.cached_property
    def host(self) -> np.ufunc:
        if isinstance(self.ufunc, np.ufunc):
            return self.ufunc
        function, given, options = self._made_from
        return make_ufunc(function, given, "parallel", None, options, "", self.nout)

    @property
    def source(self):
        return self.ufunc

    def dtypes(self, inputs):
        return tuple(self.ufunc.resolve_dtypes((*inputs, *(None,) * self.nout))[self.nin :])

    def result_shapes(self, inputs):
        return (broadcast_shape(self.name, [x.shape for x in inputs]),) * self.nout

    def run_on_host(self, inputs, results):
        self.host(*inputs, out=tuple(results))

    def device_call(self, inputs, results, stream=None):
        return device_call_of(self.device, stream)

    @functools.cached_property
    def _derivative_family(self) -> DerivativeFamily:
        return DerivativeFamily.of(self.ufunc)

    def gradients(self, inputs):
        if self.not_differentiable:
            return super().gradients(inputs)
        found = _elementwise(self._derivative_family.gradients(inputs))
        if any(np.dtype(one).kind == "c" for one in (*inputs, *self.dtypes(inputs))):
            found.not_differentiable = "functions of complex numbers have first derivatives only"
        return found

    def differentiated(self, inputs):
        signature = self._derivative_family.signature(inputs)
        return tuple(i for i, t in enumerate(signature.args) if derivatives.has_tangent(t))

    def derivative(self, by: int) -> Elementwise:
        """Returns the derivative, an Elementwise operation, with respect to one input."""
        return _elementwise(self._derivative_family.derivative(by))


@functools.lru_cache(4096)
def _elementwise(ufunc):
    return Elementwise(ufunc)
