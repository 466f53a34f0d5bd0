"""Implements ``jit``: functions on the CPU, from the same strings as kernels.

    @jit("float64(float64, float64)")
    def hypot(x, y):
        "return sqrt(x * x + y * y);"

    hypot(3.0, 4.0)     # 5.0

The user's function is a DeviceFunction, so host functions can use the same names as kernels and ufuncs, and
kernels and ufuncs can call host functions. This module compiles the function once for each list of argument
types; py/hostfunction caches and calls the compiled function.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from types import FunctionType
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, NoReturn, overload

from numbalite import _core, config, types
from numbalite.compilers import Source, compile_source, hints, issue_image_warnings
from numbalite.compilers.image import Image
from numbalite.cpu import entries
from numbalite.cxx import scanner
from numbalite.cxx.definition import device_texts
from numbalite.cxx.linemap import is_string_function
from numbalite.errors import (
    CompileError,
    PerformanceWarning,
    SignatureError,
    warn,
)
from numbalite.kernels import options as options_
from numbalite.kernels import pyfunc, translations
from numbalite.kernels.compiled import ByTypes, Parameters, Result
from numbalite.kernels.devicefunction import DeviceFunction
from numbalite.types import Array, Signature, parameters, signatures
from numbalite.ufuncs import element

# Options of numba that have no meaning for compiled C++.
_WITHOUT_MEANING = frozenset(["nopython", "locals", "looplift"])
_COMPILING = frozenset(
    [
        "boundscheck",
        "cache",
        "debug",
        "fastmath",
        "forceinline",
        "headers",
        "inline",
        "opt",
        "options",
        "std",
    ]
)
_KNOWN = _WITHOUT_MEANING | _COMPILING | {
    "error_model", "forceobj", "nogil", "parallel"
}  # fmt: skip
_MAX_PARAMETERS = 64
_TARGET = ("host",)
_PARALLEL = frozenset(("parallel_for", "prange"))

if TYPE_CHECKING:
    from os import PathLike
    from typing import Literal, Protocol, TypeAlias, TypedDict

    from typing_extensions import Unpack

    from numbalite.arguments import Value

    SignatureLike: TypeAlias = Signature | types.Type | list[Any] | tuple[Any, ...]
    """Signatures that are not texts: a text may also be a source."""

    class HostOptions(TypedDict, total=False):
        boundscheck: bool | None
        cache: bool
        debug: bool | None
        error_model: Literal["numpy", "python"] | None
        fastmath: Any
        forceinline: bool
        forceobj: Literal[False]
        headers: Mapping[str, str] | None
        inline: Literal["always", "never"] | bool | None
        locals: Any
        looplift: bool
        nogil: bool | None
        nopython: bool
        opt: bool | int | None
        options: Iterable[str | PathLike[str]] | None
        parallel: bool | None
        std: str | int | None
        target: Literal["cpu"]

    class HostDecorator(Protocol):
        # A function whose body is C++ in its docstring has the type Callable[..., None] for Python.
        @overload
        def __call__(
            self, function: Callable[Parameters, None], /
        ) -> HostDispatcher[Parameters, Any]: ...
        @overload
        def __call__(
            self, function: Callable[Parameters, Result], /
        ) -> HostDispatcher[Parameters, Result]: ...


@overload
def jit(
    signature_or_function: str,
    *,
    name: str | None = None,
    args: str | Iterable[str] | None = None,
    **given: Unpack[HostOptions],
) -> HostFunctionOrDecorator: ...
@overload
def jit(
    signature_or_function: str | SignatureLike | None = None,
    *,
    source: str,
    name: str | None = None,
    args: str | Iterable[str] | None = None,
    **given: Unpack[HostOptions],
) -> HostDispatcher[..., Any]: ...
@overload
def jit(  # type: ignore[overload-overlap]
    signature_or_function: SignatureLike | None = None, **given: Unpack[HostOptions]
) -> HostDecorator: ...
@overload
def jit(
    signature_or_function: Callable[Parameters, None], **given: Unpack[HostOptions]
) -> HostDispatcher[Parameters, Any]: ...
@overload
def jit(
    signature_or_function: Callable[Parameters, Result], **given: Unpack[HostOptions]
) -> HostDispatcher[Parameters, Result]: ...


def jit(
    signature_or_function: Any = None,
    *,
    source: str | None = None,
    name: str | None = None,
    args: str | Iterable[str] | None = None,
    **given: Any,
) -> Any:
    """Compiles a function whose body is a string of C++ for the CPU.

    ``jit`` is a decorator, without parentheses or with options. Without
    signatures, the function is compiled for the types of each call; signatures
    are compiled immediately.

    The result is called with Python and NumPy numbers and NumPy arrays; arrays
    of all strides are used without a copy. The call returns a Python number,
    None, or for a ``tuple<...>`` a tuple; a Python body may return its
    arguments that are arrays, and views of them (``a[1:]``, ``a.T``), too. The
    interpreter's lock is released during the call. Kernels, ufuncs and other
    host functions may call the function by its name.

    In addition to the builtins of kernels, C++ has ``random_uniform()``,
    ``random_normal()``, ``random_seed(n)`` (see numbalite.seed), and
    ``parallel_for(n, [&](int64 i) { ... })``.

    Parameters
    ----------
    signature_or_function : str, list, type, tuple or function
        A signature ("float64(float64, float64)", types, a tuple of types) or a
        list of them. A return type that the signature omits is deduced by the
        compiler. The argument can also be the function, or a source (a string
        with braces).
    source : str
        A complete C++ function (a template, overloads), or with ``args`` a
        body or an expression.
    name : str
        Selects one of several functions in ``source``.
    args : str or list of str
        The names of the parameters, "x, y", of a ``source`` that is a body
        or an expression.
    **given
        Options: ``fastmath`` (sums may be reordered, and vectorised),
        ``boundscheck`` (an array index out of bounds raises BoundsError),
        ``debug`` (like ``boundscheck``, without optimisation),
        ``inline="always"``, ``parallel`` (False keeps ``parallel_for`` on one
        thread), ``nogil`` (False keeps the interpreter's lock, which saves some
        100 ns a call), ``options=[...]`` for the compiler, ``std=``, ``opt=``,
        ``headers=``. The options ``nopython`` and ``cache`` of numba are
        accepted and always active.

    Returns
    -------
    HostDispatcher or decorator
        The compiled function; a decorator if neither a function nor a
        source was passed.

    Raises
    ------
    SignatureError
        A signature is invalid, or does not match the function.
    CompileError
        The compiler reports errors in the function.
    TypeError
        An option does not exist, or two arguments exclude each other.
    ValueError
        An option has an invalid value. A call raises TypeError, ValueError or
        OverflowError for an unsuitable argument; the message contains the
        parameter's name.

    Examples
    --------
    >>> @jit(fastmath=True)
    ... def total(x):
    ...     '''
    ...     double sum = 0;
    ...     for (int64 i = 0; i < x.size(); ++i) sum += x[i];
    ...     return sum;
    ...     '''
    >>> total(np.arange(5))
    10.0
    """
    options, parallel, nogil = _parse_options(given)
    frame = sys._getframe(1)
    what = signature_or_function
    if isinstance(what, str) and "{" in what and source is None:
        what, source = None, what
    listed = what if what is not None and signatures.is_signature(what) else None
    if isinstance(what, str):
        _check_signature_text(what)
    if source is None and (name is not None or args is not None):
        raise TypeError("jit: name= and args= require source=; a function has its own")

    def make_function(function):
        if isinstance(function, HostDispatcher):
            raise TypeError(f"{function!r} is compiled already; jit takes the function itself")
        if (
            config.DISABLE_JIT
            and isinstance(function, FunctionType)
            and not is_string_function(function)
        ):
            return function
        made = element.element_function(
            function, source=source, name=name, args=args, what="host function",
            options=options, frame=frame,
        )  # fmt: skip
        found = []
        if listed is not None and not (isinstance(listed, (list, tuple)) and listed == []):
            found = signatures.signatures(listed, made.definition.scope.get)
        return HostDispatcher(made, found, options, parallel, nogil).compile_given()

    if source is not None:
        if what is not None and listed is None:
            raise TypeError("jit: give either a function or source=, not both")
        return make_function(None)
    if what is None or listed is not None:
        return make_function
    return make_function(what)


njit = jit


def _check_signature_text(text):
    if ";" in text or "{" in text:
        raise SignatureError(
            "the first argument of jit must be a signature; write C++ in the body of a function:\n"
            '    @jit\n    def f(x, y):\n        "return x * y;"\n'
            "or give the whole as jit(source=...)"
        )


def _parse_options(given):
    """Returns (options.Options, parallel, nogil); raises TypeError for an unknown option."""
    if "target" in given and given.pop("target") != "cpu":
        raise TypeError(
            "jit compiles for the CPU: write cuda.jit for a kernel or a device function"
        )
    options_.check_names("jit", given, _KNOWN)
    if given.get("forceobj"):
        raise TypeError("jit: there is no object mode: the function is C++")
    if given.get("error_model") not in (None, "numpy", "python"):
        raise ValueError(f"error_model is 'numpy' or 'python', not {given['error_model']!r}")
    wanted = {name: value for name, value in given.items() if name in _COMPILING}
    parallel = given.get("parallel")
    options = options_.parse_options(wanted, "jit")
    nogil = given.get("nogil")
    return options, None if parallel is None else bool(parallel), nogil is None or bool(nogil)


class TranslatedSource(NamedTuple):
    """The source of a function for some lists of argument types."""

    source: Source
    labels: tuple
    returned: list
    """PythonDefinition.array_results of each list."""
    is_parallel: bool
    """Whether the function contains a parallel loop."""


class Overload:
    """A host function for one list of argument types."""

    def __init__(
        self,
        args: tuple,
        image: Image,
        module: Any,
        symbol: str,
        parameters: list,
        labels: tuple,
        returned: tuple | None = None,
    ) -> None:
        self.args = args
        self.image = image
        self.module = module
        self.symbol = symbol
        self.parameters = parameters
        self.labels = labels
        self.returned = returned
        """None, or (is it a tuple?, for each item the number of the argument that it is, -1 for a number, or the
        (dtype, number of axes, whether it is writable) of a part of an argument; types of the items)."""

    @property
    def signature(self) -> Signature:
        """The signature includes the return type, as the compiler deduced or converted it."""
        names, is_tuple = _core.host_results(self.module, self.symbol)
        found = [types.scalar(name) for name in names if name is not None]  # None: an array
        if self.returned is not None:
            is_tuple, items, kinds = self.returned
            numbers = iter(found)
            found = [
                kind if isinstance(item, tuple) else next(numbers) if item < 0 else self.args[item]
                for item, kind in zip(items, kinds, strict=True)
            ]
        if is_tuple:
            return Signature(types.Tuple(found), self.args)
        return Signature(found[0] if found else types.void, self.args)

    def compile(self) -> None:
        """Has no effect: a function with signatures is compiled when it is created."""

    def inspect_source(self) -> str:
        return self.image.source


class HostDispatcher(ByTypes[Parameters], Generic[Parameters, Result], _core.HostFunction):
    """The result of ``jit``: a function on the CPU, compiled for each list of argument types."""

    source_role = "host function"
    no_llvm = "the function is C++, not LLVM; see inspect_source"
    py_func: Callable[Parameters, Result]

    if TYPE_CHECKING:

        def __call__(self, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Result: ...

    def __init__(
        self,
        function: DeviceFunction,
        given: Iterable[Signature] = (),
        options: options_.Options | None = None,
        parallel: bool | None = None,
        nogil: bool = True,
    ) -> None:
        is_body = element.is_from_body(function)
        count = element.parameter_count(function)
        for signature in given:
            check_signature(signature, function, count)
        if count is not None and count > _MAX_PARAMETERS:
            raise TypeError(
                f"{function.name} has {count} parameters; {_MAX_PARAMETERS} are possible"
            )
        if is_body and given:
            function = DeviceFunction(
                function.definition, tuple(given), function.options, function._py_func
            )
        self._initialize_overloads(given)
        self._function = function
        self._options = options or options_.parse_options({}, "jit")
        self._parallel = parallel
        self._nogil = nogil
        self.__name__ = element.plain_name(function)
        is_python = function.definition.is_python
        self.py_func = pyfunc.callable_pyfunc(function._py_func, self.__name__, is_python)
        self.__qualname__ = function.definition.qualname
        self.__module__ = function.definition.module
        self.__doc__ = function.definition.doc
        names = function.definition.parameters if is_body else None
        if names is None and count is not None:
            names = _names_of_overloads(function, count)
        self._parameter_names = names
        super().__init__(
            self.__name__,
            names,
            typed=self._only_types is not None,
            nogil=nogil,
            defaults=function.definition.last_defaults if is_body else (),
        )

    # --- from arguments to compiled code

    def _resolve(self, codes, args):
        """Compiles the function for new argument types; the extension module calls this method."""
        with self._lock:
            overload = self._overload_for(codes, args)
            return (
                overload.module,
                overload.symbol,
                overload.parameters,
                overload.returned and overload.returned[:2],
            )

    def _conversion_cost(self, wanted, declared, args):
        cost = super()._conversion_cost(wanted, declared, args)
        if cost is None or not _respects_read_only(wanted, declared):
            return None
        strays = sum(
            isinstance(have, Array) and have.readonly != want.readonly
            for have, want in zip(wanted, declared, strict=True)
        )
        width = sum(want.size for want in declared)  # the nearest type of a kind
        return (*cost, strays, width)

    def _build_overload(self, args):
        return self._build_overloads([args])[args]

    def _compile_all(self, lists):
        if lists:
            self._overloads.update(self._build_overloads(lists))

    def _build_overloads(self, lists):
        """Returns Overloads for these lists of argument types, compiled as one unit."""
        rows = [self._parameter_rows(args) for args in lists]
        made, builder = self._translated_source(lists)
        self._warn_not_parallel(made.is_parallel)
        try:
            image = compile_source(made.source, _TARGET)
        except CompileError as problem:
            builder = builder or entries.function_source(self._function, lists)[0]
            explained = self._explain_compile_error(problem, builder.refused, lists)
        else:
            explained = None
        if explained is not None:
            raise explained
        alone = [[args] for args in lists] if len(lists) > 1 else []
        issue_image_warnings(
            image, _TARGET, lambda: [self._translated_source(one)[0].source for one in alone]
        )
        module = _core.HostModule(image.data)
        return {
            args: Overload(args, image, module, symbol, row, made.labels, arrays)
            for args, row, symbol, arrays in zip(
                lists, rows, made.source.kernels, made.returned, strict=True
            )
        }

    def _translated_source(self, lists):
        """Returns (the TranslatedSource for these lists of argument types, its Builder). The Builder is None
        if the source was read from the disk cache."""
        definition, options = self._function.definition, self._compiler_options()
        contents = definition.device_function_contents(self._function, lists, options, "the CPU")
        key, made = translations.find_translation(contents)
        if made is not None:
            return made, None
        builder, symbols, returned = entries.function_source(self._function, lists)
        made = TranslatedSource(
            builder.source(definition, options, symbols), builder.labels(), returned,
            not builder.names.isdisjoint(_PARALLEL),
        )  # fmt: skip
        translations.store_translation(key, contents, made, builder.warnings())
        return made, builder

    def _compiler_options(self):
        """Returns the options of the function, and whether its loops run on one thread."""
        is_serial = self._parallel is False
        if self._function.definition.is_python:
            is_serial = not self._parallel  # prange is range then
        more = ("-DNUMBALITE_SERIAL=1",) if is_serial else ()
        return self._options.replace(options=(*more, *self._options.options))

    def _check_signature(self, signature):
        check_signature(signature, self._function, element.parameter_count(self._function))

    def _name_in_scope(self, name):
        return self._function.definition.scope.get(name)

    def _parameter_rows(self, args):
        names = self._parameter_names or [f"arg{i}" for i in range(len(args))]
        if len(args) > _MAX_PARAMETERS:
            raise TypeError(f"{self.__name__}(): more than {_MAX_PARAMETERS} arguments")
        return [parameters.parameter_row(t, name) for t, name in zip(args, names, strict=True)]

    def _explain_compile_error(self, problem, refused, lists):
        definition = self._function.definition
        names = self._parameter_names or ()
        arrays = []
        for args in lists:
            arrays += [(n, t) for n, t in zip(names, args) if isinstance(t, Array)]
        arrays = list(dict.fromkeys(arrays))
        title = self.__name__
        if len(lists) == 1:
            title += f"({', '.join(map(str, lists[0]))})"
        others = device_texts(definition)
        return hints.add_hints(problem, title, refused, arrays, definition.cxx, others)

    def _warn_not_parallel(self, is_parallel):
        if self._parallel and not is_parallel:
            instead = "parallel_for(n, [&](int64 i) { ... })"
            if self._function.definition.is_python:
                instead = "for i in prange(n)"
            warn(
                f"{self.__name__}: parallel=True splits no loop by itself; write {instead} where "
                "iterations may run side by side",
                PerformanceWarning,
            )

    # --- what there is

    @property
    def device_function(self) -> DeviceFunction:
        """Returns the DeviceFunction that kernels and ufuncs call by the function's Python name."""
        return self._function

    @property
    def targetoptions(self) -> dict:
        """The options, in the form in which numba shows them."""
        return {"nopython": True, "nogil": self._nogil, "fastmath": self._options.fastmath,
                "boundscheck": self._options.has_checks,
                "parallel": bool(self._parallel)}  # fmt: skip

    def inspect_asm(self, signature: Any = None) -> NoReturn:
        """Raises NotImplementedError, and refers to inspect_source()."""
        raise NotImplementedError("inspect_source() returns the compiled source")

    inspect_sass = inspect_asm

    def __repr__(self) -> str:
        if self._given:
            return f"<function {self.__name__} on the CPU: {', '.join(map(str, self._given))}>"
        listed = "..." if self._parameter_names is None else ", ".join(self._parameter_names)
        return f"<function {self.__name__}({listed}) on the CPU>"

    def __reduce__(self) -> tuple:
        frozen = self._function.definition.frozen_copy()
        # Removes the function's own name from its scope, because pickling would recurse endlessly.
        # C++ finds the function without this name.
        own = [n for n, value in frozen.scope.locals.items() if value is self]
        for name in own:
            del frozen.scope.locals[name]
        options = (self._options, self._parallel, self._nogil)
        return _unpickle, (type(self), frozen, self._given, *options)


if TYPE_CHECKING:

    class HostFunctionOrDecorator(HostDispatcher[..., Any]):
        """The type of jit(text): a function if the text is a source, a decorator if the text is a
        signature."""

        @overload
        def __call__(
            self, function: Callable[Parameters, None], /
        ) -> HostDispatcher[Parameters, Any]: ...
        @overload
        def __call__(
            self, function: Callable[Parameters, Result], /
        ) -> HostDispatcher[Parameters, Result]: ...
        @overload
        def __call__(self, *args: Value, **kwargs: Value) -> Any: ...
        def __call__(self, *args: Any, **kwargs: Any) -> Any: ...


def _unpickle(kind, definition, given, options, parallel, nogil):
    return kind(DeviceFunction(definition, (), options), given, options, parallel, nogil)


def _names_of_overloads(function, count):
    """Returns the parameter names of a source's function if all overloads have the same names; otherwise
    arg0, arg1, ..."""
    base = element.plain_name(function)
    for full, lists in scanner.parameter_lists(function.definition.text.value).items():
        if full.rpartition("::")[2] == base:
            lists = list(lists)
            first = tuple(lists[0])
            if all(tuple(names) == first for names in lists) and len(first) == count:
                if all(first) and len(set(first)) == count:
                    return first
    return tuple(f"arg{i}" for i in range(count))


def _respects_read_only(wanted, declared):
    """Returns whether each read-only array is passed to a const parameter, because functions may write to
    parameters without const."""
    return not any(
        isinstance(have, Array) and have.readonly and not want.readonly
        for have, want in zip(wanted, declared, strict=True)
    )


def check_signature(signature: Signature, function: DeviceFunction, count: int | None) -> None:
    """A signature must have as many types as the function has parameters, and result types that
    Python can represent."""
    if count is not None and len(signature.args) != count:
        named = ", ".join(function.definition.parameters)
        raise SignatureError(
            f"{function.name} has {count} parameter{'s' * (count != 1)}"
            f"{f' ({named})' if named else ''}, "
            f"the signature {signature} has {len(signature.args)}"
        )
    returned = signature.return_type
    items = returned.types if isinstance(returned, types.Tuple) else (returned,)
    possible = (types.Scalar, types.Void, *([Array] if function.definition.is_python else []))
    for t in items:
        if t is not None and not isinstance(t, possible):
            remedy = ": take it as a parameter and write into it" if isinstance(t, Array) else ""
            raise SignatureError(
                f"the signature {signature} of {function.name} returns {t}; a function on the CPU "
                f"returns a number, a tuple of numbers, or nothing{remedy}"
            )


def seed(value: int) -> None:
    """Seeds random_uniform and random_normal of functions on the CPU.

    Each thread has its own sequence of random numbers; the sequence of the
    calling thread is seeded.

    Parameters
    ----------
    value : int
        The seed.

    Notes
    -----
    The sequence is that of the generator xoroshiro128p with this seed.

    Examples
    --------
    >>> draw = jit(source="double draw() { return random_uniform(); }")
    >>> numbalite.seed(1)
    >>> first = draw()
    >>> numbalite.seed(1)
    >>> draw() == first
    True
    """
    _core.random_seed(value)
