"""Implements ``cuda.jit`` and ``cuda.module``, which create kernels from functions and sources."""

from __future__ import annotations

import inspect
import os
import sys
import types as python_types
from typing import TYPE_CHECKING, overload

from numbalite import types
from numbalite.cxx import capture, executed, linemap, scanner
from numbalite.cxx.definition import Definition
from numbalite.errors import SignatureError
from numbalite.kernels import options, pyfunc
from numbalite.kernels.devicefunction import DeviceFunction
from numbalite.kernels.dispatcher import Dispatcher, body_kernel
from numbalite.kernels.exported import check_parameter_count
from numbalite.types import signatures

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Literal, Protocol, TypeAlias

    from typing_extensions import Unpack

    from numbalite.arguments import Value
    from numbalite.kernels.compiled import Parameters, Result
    from numbalite.kernels.module import Module

    SourceLike: TypeAlias = str | os.PathLike[str]
    SignatureLike: TypeAlias = types.Signature | types.Type | list[Any] | tuple[Any, ...]
    """Signatures that are not texts: a text may also be a source."""

    class KernelDecorator(Protocol):
        def __call__(self, function: Callable[Parameters, Any], /) -> Dispatcher[Parameters]: ...

    class DeviceDecorator(Protocol):
        # A function with a C++ body returns None in Python.
        @overload
        def __call__(
            self, function: Callable[Parameters, None], /
        ) -> DeviceFunction[Parameters, Any]: ...
        @overload
        def __call__(
            self, function: Callable[Parameters, Result], /
        ) -> DeviceFunction[Parameters, Result]: ...

    class KernelOrDecorator(Dispatcher[...]):
        """The result type for a str argument: a kernel for a source, a decorator for a signature."""

        def __call__(  # type: ignore[override]
            self, function: Callable[Parameters, Any], /
        ) -> Dispatcher[Parameters]: ...

    class DeviceFunctionOrDecorator(DeviceFunction[..., Any]):
        """The result type for a str argument with `device=True`."""

        @overload
        def __call__(
            self, function: Callable[Parameters, None], /
        ) -> DeviceFunction[Parameters, Any]: ...
        @overload
        def __call__(
            self, function: Callable[Parameters, Result], /
        ) -> DeviceFunction[Parameters, Result]: ...
        @overload
        def __call__(self, *args: Value) -> Any: ...
        def __call__(self, *args: Any, **kwargs: Any) -> Any: ...


class _NotPassed:
    """The default value of options; help() shows its repr."""

    def __repr__(self) -> str:
        return "..."


_NOT_PASSED = _NotPassed()


@overload
def jit(
    func_or_sig: str,
    device: Literal[False] = False,
    *,
    name: str | None = None,
    **options: Unpack[options.KernelOptions],
) -> KernelOrDecorator: ...
@overload
def jit(
    func_or_sig: str,
    device: Literal[True],
    *,
    name: str | None = None,
    **options: Unpack[options.KernelOptions],
) -> DeviceFunctionOrDecorator: ...
@overload
def jit(
    func_or_sig: SignatureLike | None = None,
    device: Literal[False] = False,
    *,
    source: SourceLike,
    name: str | None = None,
    **options: Unpack[options.KernelOptions],
) -> Dispatcher: ...
@overload
def jit(
    func_or_sig: SignatureLike | None = None,
    *,
    device: Literal[True],
    source: SourceLike,
    name: str | None = None,
    **options: Unpack[options.KernelOptions],
) -> DeviceFunction[..., Any]: ...
@overload
def jit(
    func_or_sig: SignatureLike | None = None,
    device: Literal[False] = False,
    **options: Unpack[options.KernelOptions],
) -> KernelDecorator: ...
@overload
def jit(  # type: ignore[overload-overlap]
    func_or_sig: SignatureLike | None,
    device: Literal[True],
    **options: Unpack[options.KernelOptions],
) -> DeviceDecorator: ...
@overload
def jit(  # type: ignore[overload-overlap]
    func_or_sig: SignatureLike | None = None,
    *,
    device: Literal[True],
    **options: Unpack[options.KernelOptions],
) -> DeviceDecorator: ...
@overload
def jit(
    func_or_sig: Callable[Parameters, Any],
    device: Literal[False] = False,
    **options: Unpack[options.KernelOptions],
) -> Dispatcher[Parameters]: ...
@overload
def jit(
    func_or_sig: Callable[Parameters, None],
    device: Literal[True],
    **options: Unpack[options.KernelOptions],
) -> DeviceFunction[Parameters, Any]: ...
@overload
def jit(
    func_or_sig: Callable[Parameters, Result],
    device: Literal[True],
    **options: Unpack[options.KernelOptions],
) -> DeviceFunction[Parameters, Result]: ...
@overload
def jit(
    func_or_sig: SignatureLike | None = None,
    *,
    device: bool,
    **options: Unpack[options.KernelOptions],
) -> Callable[[Callable[..., Any]], Any]: ...
@overload
def jit(
    func_or_sig: Callable[Parameters, Any],
    *,
    device: bool,
    **options: Unpack[options.KernelOptions],
) -> Any: ...
def jit(
    func_or_sig: Any = None,
    device: bool = False,
    inline: Any = _NOT_PASSED,
    forceinline: Any = _NOT_PASSED,
    link: Any = _NOT_PASSED,
    debug: Any = _NOT_PASSED,
    opt: Any = _NOT_PASSED,
    lineinfo: Any = _NOT_PASSED,
    cache: Any = _NOT_PASSED,
    launch_bounds: Any = _NOT_PASSED,
    lto: Any = _NOT_PASSED,
    shared_memory_carveout: Any = _NOT_PASSED,
    *,
    source: Any = None,
    name: str | None = None,
    **more: Any,
) -> Any:
    """Makes a kernel from a function in CUDA C++ or Python, or from a source.

    A body in CUDA C++ is the function's string. A source is a translation unit.
    A Python body has numba's meaning: its types are numba's, and ``cuda.grid``,
    ``cuda.shared.array`` and the other names of numba.cuda work as in numba. A
    Python body is translated to CUDA C++ for each list of argument types.
    ``inspect_source()`` shows this CUDA C++.

    ``cuda.jit`` is a decorator, used without parentheses or with arguments.
    With a signature, the kernel is compiled immediately; without a signature,
    for the types of each call.

    The result is launched by ``kernel[grid, block, stream=0,
    shared=0](...)``: ints or tuples of one to three, a stream, bytes of
    dynamic shared memory.

    Parameters
    ----------
    func_or_sig : str, type, tuple, list or function
        A signature ("void(float32[:])", types, a tuple of types), or a list of
        signatures. The argument can also be the function, or a source: a string
        that contains __global__.
    device : bool
        True: makes a device function.
    source : str or path
        A translation unit.
    name : str
        Selects a kernel of ``source``; for a template, an instance
        ("saxpy<float>").
    debug : bool
        Checks array indices and asserts, and compiles without optimisation.
        A failed check raises a KernelError at the launch.
    inline, forceinline, link, opt, lineinfo, cache
        As in numba.
    launch_bounds, lto, shared_memory_carveout
        As in numba.
    **more
        Further options. ``boundscheck=True`` checks array indices and asserts
        in optimised code. ``stoppable=True`` lets Ctrl-C and ``cuda.limit``
        stop the kernel on a GPU (always possible on the simulator); True is the
        default with ``debug=True`` and ``NUMBALITE_STOPPABLE=1``. ``doc=`` sets
        the kernel's ``__doc__``, which is otherwise the C++ text.
        ``options=[...]`` is passed to the compiler; ``std=``, ``headers={name:
        text}``, ``cooperative=``, ``cluster=``; ``fastmath`` and
        ``max_registers`` have the same meaning as in numba.

    Returns
    -------
    Dispatcher, DeviceFunction or decorator
        The kernel; with ``device=True`` the device function; a decorator if
        neither a function nor a source was passed.

    Raises
    ------
    CompileError
        The compiler reports errors; the message contains the lines of the
        caller's file.
    SignatureError
        A signature is invalid, or does not match the function.
    TypeError
        An option does not exist, or two arguments exclude each other.
    ValueError
        An option has an invalid value.
    TranslationError
        A Python body cannot be a kernel. A launch raises TypeError,
        ValueError or OverflowError for arguments that do not fit, before
        anything runs.

    Examples
    --------
    >>> @cuda.jit("void(float32, float32[:])")
    ... def scale(a, x):
    ...     "int i = grid<1>(); if (i < x.size()) x[i] *= a;"
    >>> x = np.arange(4, dtype=np.float32)
    >>> scale[1, 32](2.5, x)
    >>> x
    array([0. , 2.5, 5. , 7.5], dtype=float32)
    """
    said = {
        "inline": inline, "forceinline": forceinline, "link": link, "debug": debug, "opt": opt,
        "lineinfo": lineinfo, "cache": cache, "launch_bounds": launch_bounds, "lto": lto,
        "shared_memory_carveout": shared_memory_carveout,
    }  # fmt: skip
    given = {key: value for key, value in said.items() if value is not _NOT_PASSED}
    parsed = options.parse_options({"device": device, **given, **more})
    if isinstance(func_or_sig, str) and source is None and _is_source(func_or_sig, parsed.device):
        func_or_sig, source = None, func_or_sig
    if source is not None:
        return _kernel_from_source(source, func_or_sig, name, parsed, sys._getframe(1))
    if name is not None:
        raise TypeError("name= requires source=")
    if func_or_sig is None:
        return lambda function: _kernel_from_function(function, None, parsed)
    if signatures.is_signature(func_or_sig):
        _check_signature_text(func_or_sig)
        return lambda function: _kernel_from_function(function, func_or_sig, parsed)
    return _kernel_from_function(func_or_sig, None, parsed)


def _is_source(text, device):
    if "__global__" in text:
        return scanner.has_kernel(text)
    return device and "__device__" in text


def _check_signature_text(what):
    """Raises an error for a text that cannot be a signature, before the decorated function exists."""
    if isinstance(what, types.Type):
        signatures.signature(what)  # raises the error
    if isinstance(what, str) and (";" in what or "{" in what):
        raise SignatureError(
            "the first argument of cuda.jit is a signature, or a source with a __global__ function; "
            "the body of a kernel stands in a function:\n"
            '    @cuda.jit\n    def kernel(x, y):\n        r"""\n        ...\n        """'
        )


# --- functions whose body is a string
# ------------------------------------------------------------------


def definition_of(function: Any, what: str = "kernel") -> Definition:
    """Returns the Definition of a function: its parameters, its scope, and its C++ text or Python body. A
    Python body is translated when the argument types are known."""
    function = pyfunc.unwrap(function)
    compiled = capture.device_function(function)
    if (
        compiled is not function
    ):  # the result of numbalite.jit, from which device functions and kernels can be created
        if compiled.definition.is_unit and what != "device function":
            raise TypeError(
                f"{function!r} is made of a source: a {what} needs a function, or source="
            )
        return compiled.definition
    if isinstance(function, (staticmethod, classmethod)):
        function = function.__func__
    if isinstance(function, python_types.FunctionType) and (
        not linemap.is_string_function(function) or (what == "kernel" and _is_docstring(function))
    ):
        from numbalite.python import definition

        return definition.definition_of(function, what != "device function")
    text = linemap.function_text(function, what)
    name = function.__name__
    parameters = _parameter_names(function)
    capture.check_parameters(name, parameters)
    scope = capture.Scope({}, function.__globals__)
    made = Definition(
        name, parameters, text, scope,
        qualname=function.__qualname__, module=function.__module__,
    )  # fmt: skip
    made.scope = capture.scope_of(function, made.names)
    return made


def _is_docstring(function):
    """Returns whether a function's string is a docstring in a program written for numba, not a C++ body. A
    C++ body contains at least one of the characters in the pattern."""
    return executed.is_watching and not set(";{}=#") & set(function.__doc__ or ";")


def _python_function(function):
    """Returns a Python function unchanged, and the decorated function for a result of jit."""
    compiled = capture.device_function(function)
    return function if compiled is function else compiled._py_func


def _parameter_names(function):
    names = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise TypeError(
                f"{function.__name__}: a kernel has a fixed list of parameters, not {parameter}"
            )
        if parameter.default is not parameter.empty:
            raise TypeError(
                f"{function.__name__}: parameter {parameter.name!r} has a default value, "
                f"which kernels and device functions cannot have"
            )
        names.append(parameter.name)
    return names


def _kernel_from_function(function, given, parsed):
    function = pyfunc.unwrap(function)
    if isinstance(function, (Dispatcher, DeviceFunction)):
        raise TypeError(f"{function!r} is compiled already; pass the Python function to cuda.jit")
    what = "device function" if parsed.device else "kernel"
    if isinstance(function, type) or not callable(function):
        raise TypeError(f"cuda.jit takes a function or a signature, not {function!r}")
    definition = definition_of(function, what)
    function = _python_function(function)
    found = [] if given is None else signatures.signatures(given, definition.scope.get)
    if parsed.device:
        for signature in found:
            check_parameter_count(signature, definition)
        return DeviceFunction(definition, found, parsed, function)
    return body_kernel(definition, parsed, found, function)


# --- sources -----------------------------------------------------------------------------------------


def builtin_kernel(source: str, name: str, **more: Any) -> Any:
    """Returns one of numbalite's own kernels, compiled from a source. numbalite's own
    kernels always end, so they are never compiled as stoppable."""
    return jit(source=source, name=name, stoppable=False, **more)


def _kernel_from_source(code, given, name, parsed, frame):
    from numbalite.kernels import module as modules

    if given is not None and not signatures.is_signature(given):
        raise TypeError("give either a function or source=, not both")
    if parsed.device:
        return _device_source(code, given, name, parsed, frame)
    if parsed.launch_bounds:
        raise TypeError(
            "launch_bounds= is not supported for sources: write __global__ void __launch_bounds__(128)"
        )
    text = modules.source_text(code, name or "a kernel", frame)
    if name is None:
        name = modules.only_kernel(text)
        if text.label.startswith("<source of "):
            text = text._replace(label=f"<source of {name}>")
    if not isinstance(name, str):
        raise TypeError(f"name= is text such as 'saxpy<float>', not {name!r}")
    base = scanner.last_name(name)
    made = modules.Module(text, parsed, [name], base, only=True)
    try:
        kernel = made[name]
    except KeyError as problem:
        raise TypeError(problem.args[0]) from None
    if given is not None:
        found = signatures.signatures(given)
        if len(found) != 1:
            raise TypeError(
                "a source declares its types itself: pass one signature to check, or none"
            )
        modules.check_signature(kernel, found[0])
    return kernel


def _device_source(code, given, name, parsed, frame):
    """Returns a DeviceFunction from a complete C++ function; overloads and templates are allowed."""
    from numbalite.kernels import module as modules

    text = modules.source_text(code, name or "a device function", frame)
    if name is None:
        name = _only_device_function(text.value)
    definition = Definition(
        name, (), text, capture.Scope(), is_unit=True, module=frame.f_globals.get("__name__")
    )
    found = [] if given is None else signatures.signatures(given)
    return DeviceFunction(definition, found, parsed)


def _only_device_function(text):
    """Returns the name of the last function that the source defines; the preceding functions are its
    helpers."""
    names = list(scanner.functions(text))
    if not names:
        raise TypeError("no function was found in the source; select one with name=")
    return names[-1]


def module(
    code: SourceLike | None = None,
    *,
    source: SourceLike | None = None,
    names: Any = (),
    name: str = "module",
    **given: Any,
) -> Module:
    """Compiles a source with any number of kernels and variables.

    The module's kernels and variables are ``m.kernel[grid, block](...)``,
    ``m["saxpy<double>"]`` and ``m.get_global("coefficients")``.

    Parameters
    ----------
    code, source : str or path
        The source, or the path of a file (an ``os.PathLike``), under either
        name.
    names : str or list of str
        Template instances to compile immediately. Other instances are compiled
        when they are requested. All instances share the module's
        __constant__ and __device__ variables. If the module is in use, a new
        instance requires a compilation of the complete source, and raises
        RuntimeError while arrays over its variables exist.
    name : str
        The name of the module in messages.
    **given
        The options of cuda.jit, without ``device`` and ``launch_bounds``.

    Returns
    -------
    Module
        The module. A kernel or variable that does not exist raises
        AttributeError or KeyError.

    Raises
    ------
    CompileError
        The compiler reports errors in the source.
    TypeError
        There is no source or there are two, or an option does not exist.
    ValueError
        An option has an invalid value.

    Examples
    --------
    >>> m = cuda.module('''
    ... __constant__ int step;
    ... __global__ void count(int* x) { x[threadIdx.x] = step * threadIdx.x; }
    ... ''')
    >>> m.get_global("step").fill(10)
    >>> x = np.zeros(3, np.int32)
    >>> m.count[1, 3](x)
    >>> x
    array([ 0, 10, 20], dtype=int32)
    """
    from numbalite.kernels import module as modules

    if (code is None) == (source is None):
        raise TypeError("cuda.module takes one source")
    if isinstance(names, str):
        names = (names,)
    parsed = options.parse_options(given, "cuda.module")
    if parsed.device or parsed.launch_bounds:
        raise TypeError(
            "cuda.module does not accept device= and launch_bounds=: write them in the source"
        )
    given_source = code if source is None else source
    text = modules.source_text(given_source, name, sys._getframe(1))
    left_out: tuple = ()
    if isinstance(given_source, os.PathLike):
        text, parsed, left_out = modules.device_code(text, parsed, names)
    made = modules.Module(text, parsed, names, name, left_out=left_out)
    if made._images.source.kernels or made._images.source.variables:
        made._compile()
    return made
