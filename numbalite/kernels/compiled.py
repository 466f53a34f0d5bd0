"""Defines the base classes of objects with compiled overloads: kernels, CPU functions, ufuncs and generalized
ufuncs on the GPU.

The overloads are a dict from a key (such as argument types) to compiled code; a lock protects the dict.
`Compiled` also has the methods that inspect compiled code. `ByTypes` is the base class of kernels and CPU
functions, whose keys are argument types; the base class of ufuncs is in ufuncs/deviceufunc.py. A call finds
its overload in a table in C (py/overloads), which calls this module for new types.
"""

from __future__ import annotations

import inspect
from _thread import RLock
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic

import numpy as np

from numbalite import types
from numbalite.errors import CompileError, KernelWarning
from numbalite.kernels import conversions
from numbalite.types import Signature, signatures

if TYPE_CHECKING:
    from typing_extensions import ParamSpec, TypeVar

    Parameters = ParamSpec("Parameters", default=...)
    """The parameters of the Python function that was compiled, for type checkers."""
    Result = TypeVar("Result", default=Any)
    """The type that the Python function returns."""
else:
    from typing import ParamSpec, TypeVar  # without default=, which Python 3.13 added

    Parameters = ParamSpec("Parameters")
    Result = TypeVar("Result")
_CODE = np.dtype("<u4")


class Compiled:
    """A compiled object: its overloads and their lock.

    A subclass defines ``_build_overload(key)``, which creates an overload; ``_listed_overloads()``, which returns (key, overload) for
    all inspected overloads; and ``_find_overload(signature)``, which returns the overload of one signature.
    """

    __name__: str
    no_llvm: ClassVar[str] = "kernels are CUDA C++, not LLVM; see inspect_source, inspect_asm"

    def _initialize_overloads(self, given: Iterable[Signature]) -> None:
        """Initializes the base class; subclasses call this method first."""
        self._given = tuple(given)
        self._lock = RLock()
        self._overloads: dict[Any, Any] = {}

    def _overload(self, key: Any) -> Any:
        """Returns the Overload stored under a key; creates the Overload if there is none. An Overload whose
        creation fails is not stored."""
        with self._lock:
            overload = self._overloads.get(key)
            if overload is None:
                overload = self._overloads[key] = self._build_overload(key)
            return overload

    def _build_overload(self, key: Any) -> Any:
        raise NotImplementedError

    def _remove_overload(self, overload: Any) -> None:
        """Removes an overload that does not compile, so that inspection of all overloads works."""
        with self._lock:
            for key in [key for key, known in self._overloads.items() if known is overload]:
                del self._overloads[key]

    def _compiled_overload(self, key: Any) -> Any:
        """Compiles the Overload of a key for the current device, and returns it. Removes an Overload that
        does not compile."""
        overload = self._overload(key)
        try:
            overload.compile()
        except (CompileError, KernelWarning):
            self._remove_overload(overload)
            raise
        return overload

    def __copy__(self) -> Compiled:
        return self  # compiled objects are not copied

    def __deepcopy__(self, memo: dict) -> Compiled:
        return self

    # --- inspection of overloads

    def _parsed_signature(self, signature: Any) -> Signature:
        return signatures.signature(signature, self._name_in_scope)

    def _name_in_scope(self, name: str) -> Any:
        """Returns the Python object of a name in a signature's text, in the scope of the function's definition."""
        raise NotImplementedError

    def _listed_overloads(self) -> Iterable[tuple[Any, Any]]:
        raise NotImplementedError

    def _find_overload(self, signature: Any) -> Any:
        raise NotImplementedError

    def _inspect_overloads(self, signature: Any, question: Callable[[Any], Any]) -> Any:
        """Returns `question(overload)` for the overload of a signature; without a signature, a dict for all
        overloads."""
        if signature is None:
            return {key: question(overload) for key, overload in self._listed_overloads()}
        return question(self._find_overload(signature))

    def inspect_source(self, signature: Any = None) -> Any:
        """Returns the C++ source for the compiler; without a signature, a dict for all overloads.
        For a ufunc, the source is that of the kernel for contiguous operands; for a generalized ufunc, that
        of the kernel for any layout."""
        return self._inspect_overloads(signature, lambda overload: overload.inspect_source())

    def inspect_asm(self, signature: Any = None) -> Any:
        """Returns the PTX; without a signature, a dict for all overloads. On the simulator, NVRTC compiles
        the PTX for this call. If NVRTC is not installed, CudaSupportError is raised."""
        return self._inspect_overloads(signature, lambda overload: overload.inspect_asm())

    def inspect_sass(self, signature: Any = None) -> Any:
        """Returns the disassembled machine code; without a signature, a dict for all overloads.
        Requires nvdisasm or cuobjdump."""
        return self._inspect_overloads(signature, lambda overload: overload.inspect_sass())

    def inspect_llvm(self, signature: Any = None) -> Any:
        """Raises NotImplementedError, because numbalite generates no LLVM IR."""
        raise NotImplementedError(self.no_llvm)


class ByTypes(Compiled, Generic[Parameters]):
    """A compiled object whose keys are the argument types of the declared signatures; without signatures, the
    argument types of each call.

    A subclass also defines ``_parameter_names`` (None: unknown) and ``_check_signature(signature)``, which raises for a
    signature that does not match. A subclass also inherits from a type of the C extension.
    """

    _parameter_names: Sequence[str] | None
    _can_compile = True
    _clear: Callable[[], None]
    """The extension's: forgets what calls have been answered with."""

    @property
    def _only_types(self) -> tuple | None:
        """The only accepted list of argument types, or None if there are several."""
        return self._given[0].args if len(self._given) == 1 else None

    def _overload_for(self, codes: bytes, args: Sequence) -> Any:
        """Returns the Overload for these arguments. `codes` are the arguments' type codes from C."""
        return self._overload(self._types_for(codes, args))

    def _types_for(self, codes: bytes, args: Sequence) -> tuple:
        if self._only_types is not None:
            return self._only_types
        wanted = tuple(types.from_code(int(code)) for code in np.frombuffer(codes, _CODE))
        if wanted in self._overloads:
            return wanted
        if self._given:
            return self._best_declared_types(wanted, args)
        if not self._can_compile:
            raise TypeError(
                f"No matching definition for argument types {Signature(None, wanted)}: {self.__name__} "
                "compiles no more (disable_compile)"
            )
        return wanted

    def _best_declared_types(self, wanted: tuple, args: Sequence) -> tuple:
        """Returns the declared argument types that accept these arguments with the least conversion."""
        costs = [(self._conversion_cost(wanted, s.args, args), s) for s in self._given]
        rated = [(cost, s) for cost, s in costs if cost is not None]
        return conversions.cheapest_signature(self.__name__, wanted, self._given, rated)

    def _conversion_cost(self, wanted: tuple, declared: tuple, args: Sequence) -> tuple | None:
        return conversions.conversion_cost(wanted, declared, args)

    # --- compiling

    def _check_signature(self, signature: Signature) -> None:
        raise NotImplementedError

    def _compile_all(self, lists: list[tuple]) -> None:
        """Compiles for several lists of argument types; overloads that do not compile are not stored."""
        for args in lists:
            self._compiled_overload(args)

    def _declared_types(self) -> list[tuple]:
        return [self._only_types] if self._only_types is not None else [s.args for s in self._given]

    def compile_given(self) -> Any:
        """Compiles the declared signatures, so that errors are reported at the definition."""
        with self._lock:
            self._compile_all(
                [a for a in dict.fromkeys(self._declared_types()) if a not in self._overloads]
            )
        return self

    def compile(self, sig: Any) -> Any:
        """Compiles for a signature, unless it is compiled already.

        Parameters
        ----------
        sig : str, tuple or Signature
            The signature.

        Returns
        -------
        object
            The compiled code.

        Raises
        ------
        RuntimeError
            The signature is a new one, and the function was declared with
            signatures, or compilation is disabled.
        """
        signature = self._parsed_signature(sig)
        self._check_signature(signature)
        if signature.args not in self._overloads:
            if not self._can_compile:
                raise RuntimeError(f"{self.__name__} compiles no more (disable_compile)")
            if self._given or self._only_types is not None:
                raise RuntimeError(
                    f"{self.__name__} was declared with signatures and accepts no new signature: "
                    f"{', '.join(map(str, self._given))}"
                )
        return self._compiled_overload(signature.args)

    def disable_compile(self, val: bool = True) -> None:
        """Disables compilation for new argument types, so that calls with new types raise TypeError;
        ``False`` enables it again."""
        self._can_compile = not val

    def recompile(self) -> None:
        """Compiles all overloads again, with the present values of Python names."""
        with self._lock:
            old = list(self._overloads)
            self._overloads.clear()
            self._clear()
            self._compile_all(old)

    # --- compiled overloads

    @property
    def overloads(self) -> dict:
        """Argument types -> compiled code."""
        return dict(self._overloads)

    @property
    def signatures(self) -> list:
        """The argument types of all compiled overloads."""
        return list(self._overloads)

    @property
    def nopython_signatures(self) -> list:
        """The signatures of all compiled overloads, with the types of the results."""
        return [overload.signature for overload in self.overloads.values()]

    @property
    def __signature__(self) -> inspect.Signature:
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        names = self._parameter_names
        if names is None:
            return inspect.Signature([inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL)])
        if any(not name.isidentifier() for name in names):
            names = [f"arg{i}" for i in range(len(names))]
        return inspect.Signature([inspect.Parameter(name, kind) for name in names])

    def _listed_overloads(self) -> Iterable[tuple[Any, Any]]:
        for args in self._declared_types():
            self._overload(args)
        return self.overloads.items()

    def _find_overload(self, signature: Any) -> Any:
        args = self._parsed_signature(signature).args
        if args not in self._overloads and args not in self._declared_types():
            raise KeyError(f"{self.__name__} is not compiled for {Signature(None, args)}")
        return self._overload(args)

    def inspect_types(self, file: Any = None) -> None:
        """Prints the parameters of all overloads and their types."""
        if file is not None and not hasattr(file, "write"):
            raise TypeError(f"inspect_types requires a file to write to, not {file!r}")
        for overload in self.overloads.values():
            print(f"{self.__name__} {overload.signature}", file=file)
            for parameter in overload.parameters:
                print(f"    {parameter.name}: {parameter.ctype}", file=file)
