"""``vectorize`` and ``guvectorize``: from decorated functions to ufuncs.

The decorators accept numba's arguments and options, and further options for sources. The target determines
the class of the result: a CudaUfunc or CudaGUfunc for "cuda", a numpy.ufunc for "cpu" and "parallel".
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, overload

import numpy as np

from numbalite import types
from numbalite.kernels import options as options_
from numbalite.types import signatures

from ..errors import SignatureError
from . import element, timeufunc

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any, Literal, Protocol, SupportsIndex, TypeAlias, TypedDict

    from typing_extensions import Unpack

    from numbalite.arguments import Value

    from .cudagufunc import CudaGUfunc
    from .cudaufunc import CudaUfunc

    SignatureLike: TypeAlias = types.Signature | types.Type | list[Any] | tuple[Any, ...]
    """Signatures that are not texts: a text may also be a source."""

    class UfuncOptions(TypedDict, total=False):
        boundscheck: bool | None
        cache: bool
        debug: bool | None
        error_model: Any
        fastmath: Any
        forceobj: Literal[False]
        headers: Mapping[str, str] | None
        inline: Any
        lineinfo: bool
        locals: Any
        max_registers: SupportsIndex | None
        nogil: bool
        nopython: bool
        opt: bool | int | None
        options: Iterable[str | os.PathLike[str]] | None
        std: str | int | None
        stoppable: bool | None
        writable_args: Iterable[int | str] | None
        """The options of guvectorize."""

    class HostUfuncDecorator(Protocol):
        def __call__(self, function: Callable[..., Any], /) -> np.ufunc: ...

    class CudaUfuncDecorator(Protocol):
        def __call__(self, function: Callable[..., Any], /) -> CudaUfunc: ...

    class CudaGUfuncDecorator(Protocol):
        def __call__(self, function: Callable[..., Any], /) -> CudaGUfunc: ...

    # The result types for a str argument: a ufunc for a source, a decorator for a signature.

    class HostUfuncOrDecorator:
        @overload
        def __call__(self, function: Callable[..., Any], /) -> np.ufunc: ...
        @overload
        def __call__(self, *args: Value, **kwargs: Any) -> Any: ...
        def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
        def __getattr__(self, name: str) -> Any: ...

    class CudaUfuncOrDecorator(CudaUfunc):
        @overload
        def __call__(self, function: Callable[..., Any], /) -> CudaUfunc: ...
        @overload
        def __call__(self, *args: Value, **kwargs: Any) -> Any: ...
        def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

    class CudaGUfuncOrDecorator(CudaGUfunc):
        @overload
        def __call__(self, function: Callable[..., Any], /) -> CudaGUfunc: ...
        @overload
        def __call__(self, *args: Value, **kwargs: Any) -> Any: ...
        def __call__(self, *args: Any, **kwargs: Any) -> Any: ...


TARGETS = ("cuda", "cpu", "parallel")
# numba's options that have no effect on compiled C++.
_WITHOUT_MEANING = frozenset(["nopython", "nogil", "error_model", "locals", "inline"])
_COMPILING = frozenset(
    [
        "boundscheck",
        "cache",
        "debug",
        "fastmath",
        "headers",
        "lineinfo",
        "max_registers",
        "opt",
        "options",
        "std",
        "stoppable",
    ]
)
_KNOWN = _WITHOUT_MEANING | _COMPILING | {"forceobj"}


@overload
def vectorize(
    ftylist_or_function: str,
    target: Literal["cpu", "parallel"] = "cpu",
    identity: Any = None,
    *,
    name: str | None = None,
    args: str | Iterable[str] | None = None,
    **given: Unpack[UfuncOptions],
) -> HostUfuncOrDecorator: ...
@overload
def vectorize(
    ftylist_or_function: str | SignatureLike = (),
    target: Literal["cpu", "parallel"] = "cpu",
    identity: Any = None,
    *,
    source: str,
    name: str | None = None,
    args: str | Iterable[str] | None = None,
    **given: Unpack[UfuncOptions],
) -> np.ufunc: ...
@overload
def vectorize(  # type: ignore[overload-overlap]
    ftylist_or_function: SignatureLike = (),
    target: Literal["cpu", "parallel"] = "cpu",
    identity: Any = None,
    **given: Unpack[UfuncOptions],
) -> HostUfuncDecorator: ...
@overload
def vectorize(
    ftylist_or_function: Callable[..., Any],
    target: Literal["cpu", "parallel"] = "cpu",
    identity: Any = None,
    **given: Unpack[UfuncOptions],
) -> np.ufunc: ...
@overload
def vectorize(
    ftylist_or_function: str,
    *,
    target: Literal["cuda"],
    identity: Any = None,
    name: str | None = None,
    args: str | Iterable[str] | None = None,
    **given: Unpack[UfuncOptions],
) -> CudaUfuncOrDecorator: ...
@overload
def vectorize(
    ftylist_or_function: str | SignatureLike = (),
    *,
    target: Literal["cuda"],
    identity: Any = None,
    source: str,
    name: str | None = None,
    args: str | Iterable[str] | None = None,
    **given: Unpack[UfuncOptions],
) -> CudaUfunc: ...
@overload
def vectorize(  # type: ignore[overload-overlap]
    ftylist_or_function: SignatureLike = (),
    *,
    target: Literal["cuda"],
    identity: Any = None,
    **given: Unpack[UfuncOptions],
) -> CudaUfuncDecorator: ...
@overload
def vectorize(  # type: ignore[overload-overlap]
    ftylist_or_function: str | SignatureLike,
    target: Literal["cuda"],
    identity: Any = None,
    **given: Unpack[UfuncOptions],
) -> CudaUfuncDecorator: ...
@overload
def vectorize(
    ftylist_or_function: Callable[..., Any],
    *,
    target: Literal["cuda"],
    identity: Any = None,
    **given: Unpack[UfuncOptions],
) -> CudaUfunc: ...
@overload
def vectorize(
    ftylist_or_function: str | SignatureLike = (),
    *,
    target: str,
    identity: Any = None,
    **given: Unpack[UfuncOptions],
) -> Callable[[Callable[..., Any]], Any]: ...
def vectorize(
    ftylist_or_function: Any = (),
    target: str = "cpu",
    identity: Any = None,
    *,
    source: Any = None,
    name: str | None = None,
    args: Any = None,
    **given: Any,
) -> Any:
    """Makes a NumPy ufunc from a function of numbers.

    The function's body is a string of C++; a complete source is accepted, too.
    ``vectorize`` is a decorator, with or without signatures. Without a
    signature, a loop is compiled for the dtypes of each call. A function that
    returns a ``tuple<...>`` becomes a ufunc with several results
    ("Tuple((float32, float32))(float32)"). A call accepts arrays that can be
    broadcast, and raises the exceptions of NumPy's ufuncs.

    Parameters
    ----------
    ftylist_or_function : str, list, type or function
        A signature ("float32(float32, float32)", types) or a list of them: the
        first signature that accepts a call's dtypes is used. The argument can
        also be the function, or a source.
    target : str
        "cpu", "parallel" (a thread pool) or "cuda".
    identity : number, None or "reorderable"
        The initial value of reductions.
    source : str
        A complete C++ function (a template, overloads), or with ``args`` a
        body or an expression.
    name : str
        Selects one of several functions in ``source``.
    args : str or list of str
        The names of the parameters, "x, y", of a ``source`` that is a body
        or an expression.
    **given
        Options: ``fastmath cache debug opt`` as in numba, ``boundscheck``
        and ``stoppable`` as in ``cuda.jit``, ``options=[...]`` for the
        compiler, ``std=``, ``headers={name: text}``, ``max_registers
        lineinfo``; numba's ``nopython`` and ``nogil`` are accepted; both
        are always true.

    Returns
    -------
    CudaUfunc, numpy.ufunc or decorator
        A CudaUfunc for the target "cuda", else a numpy.ufunc. A decorator
        if neither a function nor a source was passed.

    Raises
    ------
    SignatureError
        A signature is invalid, or does not match the function.
    CompileError
        The compiler reports errors in the function.
    TypeError
        An option does not exist, or two arguments exclude each other.
    ValueError
        There is no such target, ``identity`` is another value, or an option
        has an invalid value.
    CudaSupportError
        The target is not available.

    Examples
    --------
    >>> @vectorize(["float32(float32, float32)", "float64(float64, float64)"], target="cuda")
    ... def hypotenuse(x, y):
    ...     "return sqrt(x * x + y * y);"
    >>> hypotenuse([3.0, 5.0], [4.0, 12.0])
    array([ 5., 13.])
    """
    form = _FunctionArguments("vectorize", source, name, args, sys._getframe(1))
    return _vectorize(ftylist_or_function, target, identity, form, given)


@overload
def cuda_vectorize(
    ftylist_or_function: str,
    target: Literal["cuda"] = "cuda",
    identity: Any = None,
    *,
    name: str | None = None,
    args: str | Iterable[str] | None = None,
    **given: Unpack[UfuncOptions],
) -> CudaUfuncOrDecorator: ...
@overload
def cuda_vectorize(
    ftylist_or_function: str | SignatureLike = (),
    target: Literal["cuda"] = "cuda",
    identity: Any = None,
    *,
    source: str,
    name: str | None = None,
    args: str | Iterable[str] | None = None,
    **given: Unpack[UfuncOptions],
) -> CudaUfunc: ...
@overload
def cuda_vectorize(  # type: ignore[overload-overlap]
    ftylist_or_function: SignatureLike = (),
    target: Literal["cuda"] = "cuda",
    identity: Any = None,
    **given: Unpack[UfuncOptions],
) -> CudaUfuncDecorator: ...
@overload
def cuda_vectorize(
    ftylist_or_function: Callable[..., Any],
    target: Literal["cuda"] = "cuda",
    identity: Any = None,
    **given: Unpack[UfuncOptions],
) -> CudaUfunc: ...
@overload
def cuda_vectorize(
    ftylist_or_function: str,
    *,
    target: Literal["cpu", "parallel"],
    identity: Any = None,
    name: str | None = None,
    args: str | Iterable[str] | None = None,
    **given: Unpack[UfuncOptions],
) -> HostUfuncOrDecorator: ...
@overload
def cuda_vectorize(
    ftylist_or_function: str | SignatureLike = (),
    *,
    target: Literal["cpu", "parallel"],
    identity: Any = None,
    source: str,
    name: str | None = None,
    args: str | Iterable[str] | None = None,
    **given: Unpack[UfuncOptions],
) -> np.ufunc: ...
@overload
def cuda_vectorize(  # type: ignore[overload-overlap]
    ftylist_or_function: SignatureLike = (),
    *,
    target: Literal["cpu", "parallel"],
    identity: Any = None,
    **given: Unpack[UfuncOptions],
) -> HostUfuncDecorator: ...
@overload
def cuda_vectorize(  # type: ignore[overload-overlap]
    ftylist_or_function: str | SignatureLike,
    target: Literal["cpu", "parallel"],
    identity: Any = None,
    **given: Unpack[UfuncOptions],
) -> HostUfuncDecorator: ...
@overload
def cuda_vectorize(
    ftylist_or_function: Callable[..., Any],
    *,
    target: Literal["cpu", "parallel"],
    identity: Any = None,
    **given: Unpack[UfuncOptions],
) -> np.ufunc: ...
@overload
def cuda_vectorize(
    ftylist_or_function: str | SignatureLike = (),
    *,
    target: str,
    identity: Any = None,
    **given: Unpack[UfuncOptions],
) -> Callable[[Callable[..., Any]], Any]: ...
def cuda_vectorize(
    ftylist_or_function: Any = (),
    target: str = "cuda",
    identity: Any = None,
    *,
    source: Any = None,
    name: str | None = None,
    args: Any = None,
    **given: Any,
) -> Any:
    """Makes a ufunc for the GPU.

    This is ``numbalite.vectorize`` with "cuda" as the default target.

    Parameters
    ----------
    ftylist_or_function, target, identity, source, name, args, **given
        As in numbalite.vectorize, which describes them.

    Returns
    -------
    CudaUfunc, numpy.ufunc or decorator
        As numbalite.vectorize.

    Raises
    ------
    SignatureError, CompileError, TypeError, ValueError, CudaSupportError
        As numbalite.vectorize.

    Examples
    --------
    >>> @cuda.vectorize(["float64(float64)"])
    ... def square(x):
    ...     "return x * x;"
    >>> square([1.0, 2.0, 3.0])
    array([1., 4., 9.])
    """
    form = _FunctionArguments("cuda.vectorize", source, name, args, sys._getframe(1))
    return _vectorize(ftylist_or_function, target, identity, form, given)


@overload
def guvectorize(
    ftylist: str,
    signature: str | None = None,
    target: Literal["cpu", "parallel"] = "cpu",
    identity: Any = None,
    *,
    name: str | None = None,
    args: str | Iterable[str] | None = None,
    **given: Unpack[UfuncOptions],
) -> HostUfuncOrDecorator: ...
@overload
def guvectorize(
    ftylist: str | SignatureLike = (),
    signature: str | None = None,
    target: Literal["cpu", "parallel"] = "cpu",
    identity: Any = None,
    *,
    source: str,
    name: str | None = None,
    args: str | Iterable[str] | None = None,
    **given: Unpack[UfuncOptions],
) -> np.ufunc: ...
@overload
def guvectorize(
    ftylist: SignatureLike = (),
    signature: str | None = None,
    target: Literal["cpu", "parallel"] = "cpu",
    identity: Any = None,
    **given: Unpack[UfuncOptions],
) -> HostUfuncDecorator: ...
@overload
def guvectorize(
    ftylist: str,
    signature: str | None = None,
    *,
    target: Literal["cuda"],
    identity: Any = None,
    name: str | None = None,
    args: str | Iterable[str] | None = None,
    block: bool | int = False,
    **given: Unpack[UfuncOptions],
) -> CudaGUfuncOrDecorator: ...
@overload
def guvectorize(
    ftylist: str | SignatureLike = (),
    signature: str | None = None,
    *,
    target: Literal["cuda"],
    identity: Any = None,
    source: str,
    name: str | None = None,
    args: str | Iterable[str] | None = None,
    block: bool | int = False,
    **given: Unpack[UfuncOptions],
) -> CudaGUfunc: ...
@overload
def guvectorize(
    ftylist: SignatureLike = (),
    signature: str | None = None,
    *,
    target: Literal["cuda"],
    identity: Any = None,
    block: bool | int = False,
    **given: Unpack[UfuncOptions],
) -> CudaGUfuncDecorator: ...
@overload
def guvectorize(
    ftylist: str | SignatureLike,
    signature: str | None,
    target: str,
    identity: Any = None,
    *,
    block: bool | int = False,
    **given: Unpack[UfuncOptions],
) -> Callable[[Callable[..., Any]], Any]: ...
@overload
def guvectorize(
    ftylist: str | SignatureLike = (),
    signature: str | None = None,
    *,
    target: str,
    identity: Any = None,
    block: bool | int = False,
    **given: Unpack[UfuncOptions],
) -> Callable[[Callable[..., Any]], Any]: ...
def guvectorize(
    ftylist: Any=(), signature: str | None=None, target: str="cpu", identity: Any=None, *,
    source: Any=None, name: str | None=None, args: Any=None, block: bool | int=False, **given: Any,
) -> Any:  # fmt: skip
    """Makes a NumPy generalized ufunc: a function of whole subarrays.

    The function is applied along all loop dimensions. The function's
    parameters are the inputs and then the outputs, which it writes; ``()``
    outputs are arrays of one element.

    Parameters
    ----------
    ftylist : str, list or type
        The types of the parameters, "void(float32[:,:], float32[:,:],
        float32[:,:])", or a list of such signatures; without it a loop is
        compiled for the dtypes of each call. The argument can also be a source.
    signature : str
        The layout, "(m,n),(n,p)->(m,p)". The layout may have no outputs,
        "(n),(m)"; without ``writable_args``, the function may write all its
        arrays.
    target : str
        "cpu", "parallel" (a thread pool) or "cuda".
    identity : number, None or "reorderable"
        As in vectorize.
    source, name, args
        As in vectorize.
    block : bool or int
        True (on "cuda"): a whole thread block runs the body for each loop
        index, with shared memory and barriers. An int, such as 256, sets the
        number of threads per block.
    **given
        The options of vectorize, and ``writable_args``: the inputs that the
        function writes, by name or number. After the call, the passed array
        contains the new values.

    Returns
    -------
    CudaGUfunc, numpy.ufunc or decorator
        A CudaGUfunc for the target "cuda", else a numpy.ufunc. A decorator
        if no source was passed.

    Raises
    ------
    SignatureError
        A signature is invalid, does not match the function, or has a return
        type.
    CompileError
        The compiler reports errors in the function.
    TypeError
        The layout is missing, or an option does not exist.
    ValueError
        There is no such target, ``block`` is set for another target than
        "cuda", or an option has an invalid value.
    CudaSupportError
        The target is not available.

    Examples
    --------
    >>> @guvectorize(["void(float64[:], float64[:])"], "(n)->()", target="cuda")
    ... def total(x, result):
    ...     '''
    ...     double sum = 0;
    ...     for (int i = 0; i < x.size(); ++i) sum += x[i];
    ...     result[0] = sum;
    ...     '''
    >>> total(np.ones((2, 3)))
    array([3., 3.])
    """
    form = _FunctionArguments("guvectorize", source, name, args, sys._getframe(1))
    return _guvectorize(ftylist, signature, target, identity, form, block, given)


@overload
def cuda_guvectorize(
    ftylist: str,
    signature: str | None = None,
    target: Literal["cuda"] = "cuda",
    identity: Any = None,
    *,
    name: str | None = None,
    args: str | Iterable[str] | None = None,
    block: bool | int = False,
    **given: Unpack[UfuncOptions],
) -> CudaGUfuncOrDecorator: ...
@overload
def cuda_guvectorize(
    ftylist: str | SignatureLike = (),
    signature: str | None = None,
    target: Literal["cuda"] = "cuda",
    identity: Any = None,
    *,
    source: str,
    name: str | None = None,
    args: str | Iterable[str] | None = None,
    block: bool | int = False,
    **given: Unpack[UfuncOptions],
) -> CudaGUfunc: ...
@overload
def cuda_guvectorize(
    ftylist: SignatureLike = (),
    signature: str | None = None,
    target: Literal["cuda"] = "cuda",
    identity: Any = None,
    *,
    block: bool | int = False,
    **given: Unpack[UfuncOptions],
) -> CudaGUfuncDecorator: ...
@overload
def cuda_guvectorize(
    ftylist: str,
    signature: str | None = None,
    *,
    target: Literal["cpu", "parallel"],
    identity: Any = None,
    name: str | None = None,
    args: str | Iterable[str] | None = None,
    **given: Unpack[UfuncOptions],
) -> HostUfuncOrDecorator: ...
@overload
def cuda_guvectorize(
    ftylist: str | SignatureLike = (),
    signature: str | None = None,
    *,
    target: Literal["cpu", "parallel"],
    identity: Any = None,
    source: str,
    name: str | None = None,
    args: str | Iterable[str] | None = None,
    **given: Unpack[UfuncOptions],
) -> np.ufunc: ...
@overload
def cuda_guvectorize(
    ftylist: SignatureLike = (),
    signature: str | None = None,
    *,
    target: Literal["cpu", "parallel"],
    identity: Any = None,
    **given: Unpack[UfuncOptions],
) -> HostUfuncDecorator: ...
@overload
def cuda_guvectorize(
    ftylist: str | SignatureLike,
    signature: str | None,
    target: str,
    identity: Any = None,
    *,
    block: bool | int = False,
    **given: Unpack[UfuncOptions],
) -> Callable[[Callable[..., Any]], Any]: ...
@overload
def cuda_guvectorize(
    ftylist: str | SignatureLike = (),
    signature: str | None = None,
    *,
    target: str,
    identity: Any = None,
    block: bool | int = False,
    **given: Unpack[UfuncOptions],
) -> Callable[[Callable[..., Any]], Any]: ...
def cuda_guvectorize(
    ftylist: Any=(), signature: str | None=None, target: str="cuda", identity: Any=None, *,
    source: Any=None, name: str | None=None, args: Any=None, block: bool | int=False, **given: Any,
) -> Any:  # fmt: skip
    """Makes a generalized ufunc for the GPU.

    This is ``numbalite.guvectorize`` with "cuda" as the default target.

    Parameters
    ----------
    ftylist, signature, target, identity, source, name, args, block, **given
        As in numbalite.guvectorize, which describes them.

    Returns
    -------
    CudaGUfunc, numpy.ufunc or decorator
        As numbalite.guvectorize.

    Raises
    ------
    SignatureError, CompileError, TypeError, ValueError, CudaSupportError
        As numbalite.guvectorize.

    Examples
    --------
    >>> @cuda.guvectorize("(n),()->(n)")
    ... def shift(x, by, out):
    ...     "for (int i = 0; i < x.size(); ++i) out[i] = x[i] + by;"
    >>> shift(np.arange(3.0), 10.0)
    array([10., 11., 12.])
    """
    form = _FunctionArguments("cuda.guvectorize", source, name, args, sys._getframe(1))
    return _guvectorize(ftylist, signature, target, identity, form, block, given)


class _FunctionArguments:
    """The arguments source=, name= and args=, which define a function without a decorator."""

    def __init__(self, what, source, name, args, frame):
        self.what = what
        self.source = source
        self.name = name
        self.args = args
        self.frame = frame

    def take_source(self, first):
        """Stores the first argument if it is a source, and returns (); otherwise returns the argument."""
        if isinstance(first, str) and ("{" in first or "__device__" in first):
            if self.source is not None:
                raise TypeError(f"{self.what}: two sources are given")
            self.source = first
            return ()
        return first

    def function(self, function, options, kind):
        """Returns the DeviceFunction of a decorated function, or of ``source=``."""
        return element.element_function(
            function, source=self.source, name=self.name, args=self.args, what=kind,
            options=options, frame=self.frame,
        )  # fmt: skip


# --- vectorize -----------------------------------------------------------------------------------------


def _vectorize(first, target, identity, form, given):
    _check_target(target)
    options = _parse_options(form.what, given)
    identity = _checked_identity(identity)
    first = form.take_source(first)
    is_list = signatures.is_signature(first)
    listed = first if is_list else ()

    def make_ufunc(function):
        made = form.function(function, options, "ufunc")
        found = _scalar_signatures(made, listed, target)
        if timeufunc.has_times(found):
            return timeufunc.TimeUfunc(made, found, lambda f, s: build_ufunc(f, [s]))
        return build_ufunc(made, found)

    def build_ufunc(function, found):
        if target == "cuda":
            from .cudaufunc import CudaUfunc

            return CudaUfunc(function, found, options, identity, function.__doc__, quick=True)
        from .hostufunc import make_ufunc

        return make_ufunc(function, found, target, identity, options, function.__doc__)

    return _ufunc_or_decorator(make_ufunc, None if is_list else first, form)


def _ufunc_or_decorator(make, function, form):
    """Returns the ufunc of a function or a source, or a decorator if neither was passed."""
    if form.source is not None:
        if function is not None:
            raise TypeError(f"{form.what}: give either a function or source=, not both")
        return make(None)
    if form.name is not None or form.args is not None:
        raise TypeError(f"{form.what}: name= and args= require source=")
    return make if function is None else make(function)


def _scalar_signatures(function, listed, target):
    """Returns the list of checked signatures of a ufunc, or [] if its loops are compiled on demand."""
    found = _parse_signatures(function, listed)
    complete = []
    for signature in found:
        _check_count(function, signature)
        for t in signature.args:
            if not isinstance(t, types.Scalar):
                raise SignatureError(
                    f"the signature {signature} of {function.name} has the type {t}: vectorize takes "
                    f"functions of numbers"
                    + (", guvectorize those of arrays" if isinstance(t, types.Array) else "")
                )
        if not signature.args:
            raise SignatureError(f"{function.name}: a ufunc has at least one argument")
        complete.append(_with_return_type(function, signature, target))
    counts = {len(element.returned_types(signature)) for signature in complete}
    if len(counts) > 1:
        raise SignatureError(
            f"the signatures of {function.name} return different numbers of values: "
            f"{', '.join(map(str, complete))}"
        )
    return complete


def _with_return_type(function, signature, target):
    """Returns the signature with a return type; if it has none, the compiler deduces the return type."""
    if signature.return_type is None:
        deduced = element.result_types(function, signature.args, _compile_target(target))
        returned = types.Tuple(deduced) if len(deduced) != 1 else deduced[0]
        signature = types.Signature(returned if deduced else types.void, signature.args)
    returned = signature.return_type
    if isinstance(returned, types.Void):
        raise SignatureError(
            f"the signature {signature} of {function.name} returns nothing: a ufunc's function returns "
            f"its result, as in float32({', '.join(map(str, signature.args))})"
        )
    for t in element.returned_types(signature):
        if not isinstance(t, types.Scalar):
            raise SignatureError(
                f"the signature {signature} of {function.name} returns {t}: vectorize takes functions "
                f"that return a number, or a tuple of numbers"
            )
    return signature


def _compile_target(target):
    if target != "cuda":
        return ("host",)
    from numbalite.kernels.targets import current_device, target_of

    return target_of(current_device())


# --- guvectorize ---------------------------------------------------------------------------------------


def _guvectorize(listed, layout, target, identity, form, block, given):
    _check_target(target)
    options = _parse_options(form.what, given, {"writable_args"})
    identity = _checked_identity(identity)
    listed = form.take_source(listed)
    if layout is None and isinstance(listed, str) and "->" in listed:
        listed, layout = (), listed
    if not isinstance(layout, str):
        raise TypeError(
            f"{form.what} needs the layout of its arguments, as in "
            f'@{form.what}(["void(float32[:], float32[:])"], "(n)->()")'
        )
    if not signatures.is_signature(listed):
        raise TypeError(f"{form.what} takes a list of signatures, not {listed!r}")
    if block and target != "cuda":
        raise ValueError(f'block=True is for target="cuda", not {target!r}')
    writable = given.get("writable_args", ()) or ()

    def make_ufunc(function):
        made = form.function(function, options, "generalized ufunc")
        found = _parse_signatures(made, listed)
        for signature in found:
            _check_count(made, signature)
            if signature.return_type not in (None, types.void):
                raise SignatureError(
                    f"guvectorized functions cannot return values: the signature {signature} of {made.name} "
                    f"specifies {signature.return_type} return type; write the results to the last parameters"
                )
        found = [types.Signature(types.void, signature.args) for signature in found]
        if timeufunc.has_times(found):
            return timeufunc.TimeUfunc(made, found, lambda f, s: build_ufunc(f, [s]))
        return build_ufunc(made, found)

    def build_ufunc(function, found):
        if target == "cuda":
            from .cudagufunc import CudaGUfunc

            return CudaGUfunc(function, found, layout, options, block, identity, writable=writable)
        from .hostufunc import make_gufunc

        return make_gufunc(
            function, found, layout, target, identity, options, function.__doc__, writable
        )

    return _ufunc_or_decorator(make_ufunc, None, form)


# --- both ------------------------------------------------------------------------------------------------


def _check_target(target):
    if not isinstance(target, str):
        raise TypeError(f"target is a string, not {type(target).__name__}")
    if target not in TARGETS:
        raise ValueError(f"unknown target {target!r}: there are {', '.join(TARGETS)}")


def _parse_options(what, given, more=()):
    """Returns the parsed options; raises TypeError for an unknown option."""
    options_.check_names(what, given, _KNOWN | set(more))
    if given.get("forceobj"):
        raise TypeError(f"{what}: there is no object mode: the function is C++")
    wanted = {name: value for name, value in given.items() if name in _COMPILING}
    return options_.parse_options(wanted, what)


def _checked_identity(identity):
    if identity is None or isinstance(identity, (bool, int, float, complex, np.number, np.bool_)):
        return identity
    if isinstance(identity, str) and identity == "reorderable":
        return identity
    raise ValueError(f"identity is a number, None or 'reorderable', not {identity!r}")


def _parse_signatures(function, listed):
    if isinstance(listed, (list, tuple)) and not listed:
        return []
    return signatures.signatures(listed, function.definition.scope.get)


def _check_count(function, signature):
    count = element.parameter_count(function)
    if count is not None and count != len(signature.args):
        raise SignatureError(
            f"{function.name} has {count} parameter{'s' * (count != 1)}, "
            f"the signature {signature} has {len(signature.args)}"
        )
