"""The base of compiled things: kernels, functions on the CPU, ufuncs and generalized ufuncs on the GPU.

Each of them has overloads: a dict from what was compiled for to what was compiled. One lock guards the dict. The
methods that inspect compiled code are here, too. `ByTypes` is for kernels and functions on the CPU, whose
overloads have the types of the arguments as keys; the base of ufuncs is in ufuncs/deviceufunc.py. A call finds
its overload in a table of the extension (py/overloads); for new types the extension asks here.
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
    """Overloads and their lock.

    A sub-class defines ``_build(key)``, which makes an overload; ``_listed()``, which gives (key, overload) for
    all that is inspected; and ``_find(signature)``, which gives the overload of one signature.
    """

    __name__: str
    no_llvm: ClassVar[str] = "kernels are CUDA C++, not LLVM; see inspect_source, inspect_asm"

    def _begin(self, given: Iterable[Signature]) -> None:
        """To be called before anything else of the base."""
        self._given = tuple(given)
        self._lock = RLock()
        self._overloads: dict[Any, Any] = {}

    def _overload(self, key: Any) -> Any:
        """The overload of a key, made if there is none; one that cannot be made is not kept."""
        with self._lock:
            overload = self._overloads.get(key)
            if overload is None:
                overload = self._overloads[key] = self._build(key)
            return overload

    def _build(self, key: Any) -> Any:
        raise NotImplementedError

    def _forget(self, overload: Any) -> None:
        """What does not compile is no overload: those who ask about all of them get answers."""
        with self._lock:
            for key in [key for key, known in self._overloads.items() if known is overload]:
                del self._overloads[key]

    def _compiled(self, key: Any) -> Any:
        """The same, compiled for the current device; one that does not compile is not kept."""
        overload = self._overload(key)
        try:
            overload.compile()
        except (CompileError, KernelWarning):
            self._forget(overload)
            raise
        return overload

    def __copy__(self) -> Compiled:
        return self  # a copy of a compiled function is that function

    def __deepcopy__(self, memo: dict) -> Compiled:
        return self

    # --- what is in the overloads

    def _parsed(self, signature: Any) -> Signature:
        return signatures.signature(signature, self._name_in_scope)

    def _name_in_scope(self, name: str) -> Any:
        """What a name in a signature's text means where the function was written."""
        raise NotImplementedError

    def _listed(self) -> Iterable[tuple[Any, Any]]:
        raise NotImplementedError

    def _find(self, signature: Any) -> Any:
        raise NotImplementedError

    def _inspect(self, signature: Any, question: Callable[[Any], Any]) -> Any:
        """An answer about the overload of a signature; without one, a dict for all of them."""
        if signature is None:
            return {key: question(overload) for key, overload in self._listed()}
        return question(self._find(signature))

    def inspect_source(self, signature: Any = None) -> Any:
        """The C++ that the compiler got; without a signature, of all overloads in a dict. Of a ufunc it is
        the kernel for dense operands, of a generalized one that for any."""
        return self._inspect(signature, lambda overload: overload.inspect_source())

    def inspect_asm(self, signature: Any = None) -> Any:
        """The PTX; without a signature, of all overloads in a dict. On the simulator it is compiled for
        this purpose: CudaSupportError without NVRTC."""
        return self._inspect(signature, lambda overload: overload.inspect_asm())

    def inspect_sass(self, signature: Any = None) -> Any:
        """The machine code, disassembled; without a signature, of all overloads in a dict. Needs
        nvdisasm or cuobjdump."""
        return self._inspect(signature, lambda overload: overload.inspect_sass())

    def inspect_llvm(self, signature: Any = None) -> Any:
        """There is no LLVM IR: NotImplementedError."""
        raise NotImplementedError(self.no_llvm)


class ByTypes(Compiled, Generic[Parameters]):
    """Overloads by argument types, those of declared signatures or, lazily, of each call.

    A sub-class also defines ``_parameter_names`` (None: not known) and ``_check(signature)``, which raises for a
    signature that does not fit. It inherits from a type of the extension as well.
    """

    _parameter_names: Sequence[str] | None
    _can_compile = True
    _clear: Callable[[], None]
    """The extension's: forgets what calls have been answered with."""

    @property
    def _only_types(self) -> tuple | None:
        """The one list of argument types that it takes, if it is for one."""
        return self._given[0].args if len(self._given) == 1 else None

    def _overload_for(self, codes: bytes, args: Sequence) -> Any:
        """The overload that takes these arguments, whose type codes are the extension's."""
        return self._overload(self._types_for(codes, args))

    def _types_for(self, codes: bytes, args: Sequence) -> tuple:
        if self._only_types is not None:
            return self._only_types
        wanted = tuple(types.from_code(int(code)) for code in np.frombuffer(codes, _CODE))
        if wanted in self._overloads:
            return wanted
        if self._given:
            return self._best(wanted, args)
        if not self._can_compile:
            raise TypeError(
                f"No matching definition for argument types {Signature(None, wanted)}: {self.__name__} "
                "compiles no more (disable_compile)"
            )
        return wanted

    def _best(self, wanted: tuple, args: Sequence) -> tuple:
        """The declared argument types that take these arguments with the least conversion."""
        costs = [(self._cost(wanted, s.args, args), s) for s in self._given]
        rated = [(cost, s) for cost, s in costs if cost is not None]
        return conversions.cheapest(self.__name__, wanted, self._given, rated)

    def _cost(self, wanted: tuple, declared: tuple, args: Sequence) -> tuple | None:
        return conversions.cost(wanted, declared, args)

    # --- compiling

    def _check(self, signature: Signature) -> None:
        raise NotImplementedError

    def _compile_all(self, lists: list[tuple]) -> None:
        """Compiles for lists of argument types; what does not compile is not kept."""
        for args in lists:
            self._compiled(args)

    def _declared(self) -> list[tuple]:
        return [self._only_types] if self._only_types is not None else [s.args for s in self._given]

    def compile_given(self) -> Any:
        """Compiles the declared signatures, so that mistakes show where they are made."""
        with self._lock:
            self._compile_all(
                [a for a in dict.fromkeys(self._declared()) if a not in self._overloads]
            )
        return self

    def compile(self, sig: Any) -> Any:
        """Compiles for a signature, if that has not been done; gives what was compiled."""
        signature = self._parsed(sig)
        self._check(signature)
        if signature.args not in self._overloads:
            if not self._can_compile:
                raise RuntimeError(f"{self.__name__} compiles no more (disable_compile)")
            if self._given or self._only_types is not None:
                raise RuntimeError(
                    f"{self.__name__} has its signatures already and compiles no more: "
                    f"{', '.join(map(str, self._given))}"
                )
        return self._compiled(signature.args)

    def disable_compile(self, val: bool = True) -> None:
        """From now on arguments of types that it is not compiled for are a TypeError; with ``False``
        they are compiled for again."""
        self._can_compile = not val

    def recompile(self) -> None:
        """Compiles every overload anew, with the values that Python names have now."""
        with self._lock:
            old = list(self._overloads)
            self._overloads.clear()
            self._clear()
            self._compile_all(old)

    # --- what there is

    @property
    def overloads(self) -> dict:
        """Argument types -> compiled code."""
        return dict(self._overloads)

    @property
    def signatures(self) -> list:
        """The argument types that it is compiled for."""
        return list(self._overloads)

    @property
    def nopython_signatures(self) -> list:
        """The same with the types of the results."""
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

    def _listed(self) -> Iterable[tuple[Any, Any]]:
        for args in self._declared():
            self._overload(args)
        return self.overloads.items()

    def _find(self, signature: Any) -> Any:
        args = self._parsed(signature).args
        if args not in self._overloads and args not in self._declared():
            raise KeyError(f"{self.__name__} is not compiled for {Signature(None, args)}")
        return self._overload(args)

    def inspect_types(self, file: Any = None) -> None:
        """Prints the parameters and their types of every overload."""
        if file is not None and not hasattr(file, "write"):
            raise TypeError(f"inspect_types writes to a file, not to {file!r}")
        for overload in self.overloads.values():
            print(f"{self.__name__} {overload.signature}", file=file)
            for parameter in overload.parameters:
                print(f"    {parameter.name}: {parameter.ctype}", file=file)
