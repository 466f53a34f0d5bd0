"""Implements the base class of ufuncs and generalized ufuncs on the GPU.

Each ufunc has a loop for each list of dtypes. A loop has several kernels: one for each type of operand
layout."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import numpy as np

from numbalite.kernels import pyfunc
from numbalite.kernels.compiled import Compiled
from numbalite.kernels.targets import current_device, target_of
from numbalite.types import Signature

from . import element


class DeviceUfunc(Compiled):
    """A ufunc whose kernels are selected by launch plans; a launch plan has the parameters of a kernel.

    A subclass also defines ``nin``, ``nout`` and ``signatures``; ``_generate(plan)``; ``_inspected_plan(signature)``
    returns the launch plan whose kernel is inspected for a signature; and ``_dtypes(loop)`` returns the
    dtypes of a loop's operands.
    """

    nin: int
    nout: int
    nargs: int

    @property
    def signatures(self) -> list:
        raise NotImplementedError

    def _initialize(
        self, function: Any, given: Iterable[Signature], options: Any, doc: str | None = None
    ) -> None:
        """Initializes the base class; subclasses call this method first."""
        self._initialize_overloads(given)
        self._function = function
        self._options = options
        self._loops: list[tuple] = []
        self.__name__ = element.plain_name(function)
        is_python = function.definition.is_python
        self.py_func = pyfunc.callable_pyfunc(function._py_func, self.__name__, is_python)
        self.__qualname__ = function.__qualname__
        self.__module__ = function.__module__
        self.__doc__ = function.__doc__ if doc is None else doc

    def _name_in_scope(self, name: str) -> Any:
        return self._function.definition.scope.get(name)

    def _inspected_plan(self, signature: Signature) -> Any:
        raise NotImplementedError

    def _generate(self, plan: Any) -> Any:
        """Returns the kernel of a launch plan, not yet compiled."""
        raise NotImplementedError

    def _build_overload(self, plan: Any) -> Any:
        kernel = self._generate(plan)
        others = [s for s in self._given if s.args != plan.signature.args]
        kernel.images.others = lambda: [
            self._generate(self._inspected_plan(s)).images.source for s in others
        ]
        return kernel

    def _compile_plans(self, plans: Iterable) -> None:
        """Compiles the kernels of several launch plans, in parallel."""
        made = {plan: self._build_overload(plan) for plan in plans if plan not in self._overloads}
        target = target_of(current_device()) if made else None
        if len(made) < 2:
            for overload in made.values():
                overload.images.image(target)
        else:
            from concurrent.futures import ThreadPoolExecutor

            with ThreadPoolExecutor(min(len(made), os.cpu_count() or 1)) as pool:
                for future in [pool.submit(o.images.image, target) for o in made.values()]:
                    future.result()
        with self._lock:
            self._overloads.update(made)

    @property
    def overloads(self) -> dict:
        """Signature -> its compiled kernels."""
        with self._lock:
            found: dict[Signature, list] = {}
            for plan, overload in self._overloads.items():
                found.setdefault(plan.signature, []).append(overload)
            return found

    def _listed_overloads(self) -> Iterable[tuple[Any, Any]]:
        return [(one, self._overload(self._inspected_plan(one))) for one in self.signatures]

    def _find_overload(self, signature: Any) -> Any:
        args = self._parsed_signature(signature).args
        for one in self.signatures:
            if one.args == args:
                return self._overload(self._inspected_plan(one))
        raise KeyError(f"{self.__name__} has no loop for {Signature(None, args)}")

    # --- NumPy's attributes

    @property
    def types(self) -> list:
        """Returns the loops in NumPy's notation, "ff->f"; without signatures, the loops of previous calls."""
        found = []
        for loop in self._loops:
            letters = "".join(t.char for t in self._dtypes(loop))
            found.append(f"{letters[: self.nin]}->{letters[self.nin :]}")
        return found

    @property
    def ntypes(self) -> int:
        """Number of loops."""
        return len(self._loops)

    def _dtypes(self, loop: tuple) -> tuple:
        raise NotImplementedError

    def _loop_for(
        self, inputs: tuple, outputs: tuple, casting: str, dtype: Any, signature: Any
    ) -> tuple:
        """Returns the loop, a tuple of types, for operands of these types."""
        raise NotImplementedError

    def resolve_dtypes(
        self,
        dtypes: Iterable,
        *,
        signature: Any = None,
        casting: str | None = None,
        reduction: bool = False,
    ) -> tuple:
        """Returns the dtypes of the loop for operands of these dtypes, as
        numpy.ufunc.resolve_dtypes.

        `dtypes` has one item per operand: int, float or complex for a Python number, None for an omitted output."""
        plain = self._requested_dtypes(dtypes, reduction)
        loop = self._loop_for(
            plain[: self.nin], plain[self.nin :], casting or "same_kind", None, signature
        )
        return tuple(self._dtypes(loop))

    def _requested_dtypes(self, dtypes: Iterable, reduction: bool) -> tuple:
        """Checks the argument of resolve_dtypes, and returns a numpy.dtype, Python type or None for each
        operand."""
        if reduction:
            raise NotImplementedError("resolve_dtypes does not support reduction=True")
        dtypes = tuple(dtypes)
        if len(dtypes) != self.nargs:
            raise ValueError(f"{self.__name__}: one dtype for each of {self.nargs} operands")
        return tuple(t if t in (int, float, complex, None) else np.dtype(t) for t in dtypes)
