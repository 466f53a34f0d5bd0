"""What compiled functions of several kinds show alike: overloads, code, parameters.

`ByTypes` is for kernels and functions on the CPU, whose overloads go by the types of their arguments;
`ByLoops` for ufuncs and generalized ufuncs on the GPU, whose loops go by dtypes and have several
kernels each.
"""

from __future__ import annotations

import inspect

import numpy as np

from numbalite import types
from numbalite.types import signatures


class Lasting:
    """A copy of a compiled function is that function."""

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self


class ByTypes(Lasting):
    """To be inherited by what has ``_overloads``, a dict by argument types, and ``_parameter_names``
    (None: not known)."""

    @property
    def overloads(self) -> dict:
        """Argument types -> compiled code."""
        return dict(self._overloads)

    @property
    def signatures(self) -> list:
        """The argument types that it is compiled for."""
        return list(self._overloads)

    @property
    def __signature__(self):
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        names = self._parameter_names
        if names is None:
            return inspect.Signature([inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL)])
        if any(not name.isidentifier() for name in names):
            names = [f"arg{i}" for i in range(len(names))]
        return inspect.Signature([inspect.Parameter(name, kind) for name in names])


class ByLoops(Lasting):
    """To be inherited by what has ``_function _overloads _lock __name__ nargs signatures`` and
    ``_shown(signature)``, the Overload that stands for a loop."""

    @property
    def overloads(self) -> dict:
        """Signature -> the kernels compiled for it."""
        with self._lock:
            found = {}
            for plan, overload in self._overloads.items():
                found.setdefault(plan.signature, []).append(overload)
            return found

    def _ask(self, signature, question):
        """An answer about the kernel of a loop; without a signature, a dict for all of them."""
        if signature is None:
            return {one: question(self._shown(one)) for one in self.signatures}
        args = signatures.signature(signature, self._function.definition.scope.get).args
        for one in self.signatures:
            if one.args == args:
                return question(self._shown(one))
        raise KeyError(f"{self.__name__} has no loop for {types.Signature(None, args)}")

    def inspect_source(self, signature=None):
        """The CUDA C++ of the kernel for operands that lie as they should (dense ones of a ufunc, any of
        a generalized one); without a signature, a dict for all loops."""
        return self._ask(signature, lambda overload: overload.inspect_source())

    def inspect_asm(self, signature=None):
        """Its PTX."""
        return self._ask(signature, lambda overload: overload.inspect_asm())

    def inspect_sass(self, signature=None):
        """Its machine code, disassembled; needs nvdisasm or cuobjdump."""
        return self._ask(signature, lambda overload: overload.inspect_sass())

    def _asked_dtypes(self, dtypes, reduction):
        """The argument of resolve_dtypes, checked: numpy.dtype, a Python type or None for each operand."""
        if reduction:
            raise NotImplementedError("resolve_dtypes has no reduction=True")
        dtypes = tuple(dtypes)
        if len(dtypes) != self.nargs:
            raise ValueError(f"{self.__name__}: one dtype for each of {self.nargs} operands")
        return tuple(t if t in (int, float, complex, None) else np.dtype(t) for t in dtypes)
