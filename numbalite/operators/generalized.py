"""Operations of generalized ufuncs."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from numbalite import _core
from numbalite.ufuncs.cudagufunc import CudaGUfunc
from numbalite.ufuncs.differentiation import family_of
from numbalite.ufuncs.hostufunc import make_gufunc

from .operation import Operation, broadcast_shape, device_call_of, refuse_other


class Generalized(Operation):
    """A generalized ufunc of guvectorize."""

    def __init__(self, ufunc: Any):
        refuse_other(ufunc, CudaGUfunc, "Generalized", "guvectorize")
        self.ufunc = ufunc
        self.name = ufunc.__name__
        if isinstance(ufunc, CudaGUfunc):
            self._function, self._given = ufunc._function, list(ufunc._given)
            self._layout, self._options = ufunc._layout, ufunc._options
            self.written, self._block = tuple(ufunc._written), ufunc._block
        else:
            owner = _core.ufunc_owner(ufunc)
            self._function, self._given = owner.function, list(owner.signatures)
            self._layout, self._options = owner.layout, owner.options
            self.written, self._block = tuple(owner.writable), False
        self.nin, self.nout = self._layout.nin, self._layout.nout
        self.cores = tuple(map(len, self._layout.operands))
        names = tuple(self._function.definition.parameters[: self.nin])
        self.parameters = (
            names if len(names) == self.nin else tuple(f"x{i + 1}" for i in range(self.nin))
        )
        if self._layout.unspecified:
            missing = ", ".join(self._layout.dimensions[i].name for i in self._layout.unspecified)
            raise TypeError(
                f"{self.name}: no input has the dimension {missing} of a result ({self._layout}), so an operator "
                "cannot tell its size"
            )
        if self.written or self._block or any(d.size < 0 for d in self._layout.dimensions):
            self.not_differentiable = "gradients of generalized ufuncs need core dimensions of fixed sizes, as (3),(3)->(3) has"

    @property
    def source(self):
        return self.ufunc

    @functools.cached_property
    def device(self) -> CudaGUfunc:
        if isinstance(self.ufunc, CudaGUfunc):
            return self.ufunc
        return CudaGUfunc(
            self._function, self._given, str(self._layout), self._options, compile=False,
            writable=self.written,
        )  # fmt: skip

    @functools.cached_property
    def host(self) -> Any:
        if isinstance(self.ufunc, np.ufunc):
            return self.ufunc
        if (
            self._block
        ):  # the threads of a block cooperate, which is possible only on CUDA and the simulator
            refuse_host(self.name, "runs one loop index by a block of threads")
            return self.device
        return make_gufunc(
            self._function, self._given, str(self._layout), "parallel", None, self._options, "",
            self.written,
        )  # fmt: skip

    def dtypes(self, inputs):
        return tuple(self.ufunc.resolve_dtypes((*inputs, *(None,) * self.nout))[self.nin :])

    def result_shapes(self, inputs):
        layout = self._layout
        shapes = [tuple(x.shape) for x in inputs]
        lacking = self._missing_dimensions(shapes)
        sizes: dict[int, Any] = {i: d.size for i, d in enumerate(layout.dimensions) if d.size >= 0}
        loops = []
        for number, (core, shape) in enumerate(zip(layout.inputs, shapes, strict=True)):
            core = tuple(i for i in core if i not in lacking)
            split = len(shape) - len(core)
            if split < 0:
                raise ValueError(
                    f"{self.name}: {self.parameters[number]} has the shape {shape}; the layout {layout} needs "
                    f"{len(core)} dimensions"
                )
            loops.append(shape[:split])
            for i, size in zip(core, shape[split:], strict=True):
                if sizes.setdefault(i, size) != size:
                    raise ValueError(
                        f"{self.name}: the dimension {layout.dimensions[i].name} of {layout} is {sizes[i]} and {size}"
                    )
        loop = broadcast_shape(self.name, loops)
        return tuple(
            (*loop, *(sizes[i] for i in core if i not in lacking)) for core in layout.outputs
        )

    def _missing_dimensions(self, shapes):
        """Returns the set of indices of the optional dimensions that an input lacks."""
        optional = {i for i, d in enumerate(self._layout.dimensions) if d.optional}
        return {
            i
            for core, shape in zip(self._layout.inputs, shapes, strict=True)
            if len(shape) < len(core)
            for i in core
            if i in optional
        }

    def gradients(self, inputs):
        if self.not_differentiable:
            return super().gradients(inputs)
        return _gradient(family_of(self.ufunc).gradients(tuple(inputs)))

    def differentiated(self, inputs):
        return family_of(self.ufunc).differentiated(tuple(inputs))

    def run_on_host(self, inputs, results):
        self.host(*inputs, out=tuple(results))

    def device_call(self, inputs, results, stream=None):
        return device_call_of(self.device, stream)


@functools.lru_cache(1024)
def _gradient(ufunc):
    found = Generalized(ufunc)
    found.not_differentiable = "generalized ufuncs have first derivatives only"
    return found


def refuse_host(name: str, reason: str) -> None:
    """Raises TypeError if cooperating threads of a block are requested on the host, unless the simulator runs
    them."""
    if not _core.driver_has("host_memory"):
        raise TypeError(
            f"{name} {reason}: pass arrays on a GPU, or set NUMBALITE_DRIVER=sim for arrays on the CPU"
        )
