"""Defines device functions: C++ functions that kernels call by their Python names.

Without a signature the function becomes a template, and each call decides its types. With signatures, a
device function becomes one C++ overload for each signature. A device function is compiled only as part of the
kernels that call it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic

from numbalite import frontend, types
from numbalite.cxx import readable, reserved
from numbalite.cxx.capture import ascii_name
from numbalite.kernels import builder, pyfunc
from numbalite.kernels.compiled import Parameters, Result


class DeviceFunction(Generic[Parameters, Result]):
    """A device function, the result of ``cuda.jit(device=True)``."""

    source_role = "device function"
    """Its role in a source that names it (cxx/capture.py)."""
    rules: tuple = ()
    """The user's derivatives, if given: one function (x..., g) for each parameter."""
    number_type = ""
    """The C++ type that replaces float and double in the text, with {} for their name; "" replaces nothing."""

    def __init__(self, definition, signatures=(), options=None, py_func=None):
        self.definition = definition
        self.signatures = tuple(signatures)
        self.options = options
        self._py_func = py_func
        self.__name__ = definition.name
        self.__qualname__ = definition.qualname
        self.__module__ = definition.module
        doc = getattr(options, "doc", None)
        self.__doc__ = definition.doc if doc is None else doc

    @property
    def name(self) -> str:
        return self.__name__

    @property
    def cxx_name(self) -> str:
        """The function's name in C++. A function with a name of CUDA or numbalite gets a different C++ name,
        so that its body can call the function of CUDA or numbalite; a complete source keeps its names."""
        name = ascii_name(self.name)
        return name if self.definition.is_unit else reserved.avoid_reserved(name)

    @property
    def py_func(self) -> Callable[Parameters, Result]:
        """The Python function; for a C++ body, a PyFunc, which cannot be called."""
        return pyfunc.get_pyfunc(
            self._py_func, self.__name__, self.definition.is_python, pyfunc.CALL
        )

    def __repr__(self):
        listed = ", ".join(map(str, self.signatures)) or ", ".join(self.definition.parameters)
        return f"<device function {self.__name__}: {listed}>" if self.signatures else (
            f"<device function {self.__name__}({listed})>"
        )  # fmt: skip

    _repr_html_ = frontend.html_method("device_function")

    def __call__(self, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        raise TypeError(
            f"{self.__name__} is a device function: it runs on the device and can only be called "
            f"from kernels and other device functions"
        )

    def __getitem__(self, configuration):
        raise RuntimeError(
            f"Cannot compile a device function as a kernel: {self.__name__} is a device function and cannot be "
            "launched: launch a kernel (cuda.jit without device=True) that calls it"
        )

    def with_signature(self, signature: types.Signature) -> DeviceFunction:
        """Returns a copy of the function for one signature, which converts its result to the declared
        type."""
        return DeviceFunction(self.definition, (signature,), self.options, self._py_func)

    def with_numbers(self, number_type: str) -> DeviceFunction:
        """Returns a copy that is compiled, together with the functions that it calls, with another type for
        float and double: see number_type."""
        copied = object.__new__(type(self))
        copied.__dict__.update(self.__dict__)
        copied.number_type = number_type
        return copied

    def of(self, *lists) -> DeviceFunction:
        """Returns the function in C++, for callers with the given lists of argument types. A C++ body becomes
        a template, which accepts all types; a Python body is translated to C++ for each list of types."""
        if not self.definition.is_python or self.signatures:
            return self
        found = [types.Signature(None, args) for args in lists]
        return DeviceFunction(self.definition, found, self.options, self._py_func)

    def typed(self, signature) -> tuple:
        """Returns (the function as C++ for these argument types, the signature with its return type)"""
        if not self.definition.is_python:
            return self, signature
        given = DeviceFunction(self.definition, [signature], self.options, self._py_func)
        (instance,) = self.definition.instances(given)
        return instance, instance.signatures[0]

    def inspect_asm(self, signature: Any = None) -> Any:
        """Returns the PTX of the function with C linkage, for a signature or argument types; without a
        signature, a dict for all its signatures. Raises CudaSupportError without NVRTC."""
        from numbalite.kernels import exported

        if signature is None:
            return {s.args: exported.exported_ptx(self, s) for s in self.signatures}
        return exported.exported_ptx(self, signature)

    inspect_lto_ptx = inspect_asm

    def inspect_sass(self, signature=None):
        """Raises RuntimeError: a device function exists as machine code only in the kernels that call it."""
        raise RuntimeError(
            f"Cannot inspect SASS of a device function: {self.__name__} is part of the kernels that "
            "call it; kernel.inspect_sass() shows the machine code of a kernel"
        )

    def inspect_source(self) -> str:
        """Returns the generated C++ of the function and of the functions that it calls."""
        text = builder.device_source(self)
        return readable.readable_source(text) if self.definition.is_python else text

    def __reduce__(self):
        state = {"rules": self.rules} if self.rules else None
        return DeviceFunction, (self.definition.frozen_copy(), self.signatures, self.options), state
