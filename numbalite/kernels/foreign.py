"""Implements ``cuda.declare_device``, which declares device functions of other sources or of compiled code.

Kernels call a generated device function, whose body calls the foreign function with numba's calling
convention: the first parameter is a pointer to the result, and an array is passed as seven or more values.
The C++ declaration of the foreign function is added to the sources of ``link=``, unless one of these sources
defines the function.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from numbalite import types
from numbalite.cxx import capture
from numbalite.cxx.definition import Definition
from numbalite.cxx.linemap import consecutive_text
from numbalite.errors import SignatureError
from numbalite.kernels import options
from numbalite.kernels.builder import DECLARATION
from numbalite.kernels.devicefunction import DeviceFunction
from numbalite.types import signatures
from numbalite.types.keywords import KEYWORDS

if TYPE_CHECKING:
    from typing import Any


class ForeignFunction(DeviceFunction):
    """The result of ``cuda.declare_device``."""

    @property
    def sig(self) -> types.Signature:
        return self.signatures[0]

    def __repr__(self):
        return f"<foreign function {self.__name__}: {self.sig}>"

    def __reduce__(self):
        return ForeignFunction, (self.definition.frozen_copy(), self.signatures, self.options)


def declare_device(
    name: str, sig: Any, link: Any = None, use_cooperative: bool = False, abi: str = "numba"
) -> ForeignFunction:
    """Declares a device function of another source or of compiled code.

    Kernels call it under the Python name of the result.

    Parameters
    ----------
    name : str
        The function's symbol, which is the C++ name of an ``extern "C"``
        function.
    sig : str or Signature
        The signature; pointers are ``CPointer(float32)``.
    link : path, linkable code or list
        The code that contains the function, as in ``cuda.jit``: CUDA C++ or, on
        a GPU, PTX, LTO-IR, cubins, objects and archives; kernels that call the
        function are linked with that code.
    use_cooperative : bool
        True: kernels that call the function are launched cooperatively.
    abi : str
        "numba": the function returns an int, 0, and writes its result through a
        pointer, the first parameter. "c": the function has the signature
        ``sig``.

    Returns
    -------
    ForeignFunction
        The device function.

    Raises
    ------
    TypeError
        The signature has no return type, or ``name`` is not a string.
    SignatureError
        The signature has types that C does not have.
    ValueError
        ``name`` is not a valid name in C.
    NotImplementedError
        There is no such ``abi``.

    Examples
    --------
    >>> source = cuda.CUSource('''
    ... extern "C" __device__ int twice(float* result, float x) { *result = 2 * x; return 0; }
    ... ''')
    >>> twice = cuda.declare_device("twice", "float32(float32)", link=source)
    >>> @cuda.jit
    ... def k(x):
    ...     "x[0] = twice(x[0]);"
    >>> x = np.full(1, 21, np.float32)
    >>> k[1, 1](x)
    >>> x
    array([42.], dtype=float32)
    """
    if abi not in ("numba", "c"):
        raise NotImplementedError(f"Unsupported ABI: abi is 'numba' or 'c', not {abi!r}")
    if not isinstance(name, str):
        raise TypeError(f"the name of a foreign function is text, not {name!r}")
    if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) or name in KEYWORDS:
        raise ValueError(f"{name!r} is not a valid name of a foreign function")
    signature = signatures.signature(sig)
    if signature.return_type is None:
        raise TypeError(f"Return type must be provided for device declarations: {name}, {sig!r}")
    parsed = options.parse_options({"device": True, "link": link}, "cuda.declare_device")
    _check_declaration(name, signature)
    declaration, body = _TEXTS[abi](name, signature)
    link = (*parsed.link, consecutive_text(declaration, DECLARATION))
    parsed = parsed.replace(link=link, cooperative=bool(use_cooperative) or None)
    parameters = [f"nl_{i}" for i in range(len(signature.args))]
    text = consecutive_text(body, f"<call of {name}>")
    definition = Definition(name, parameters, text, capture.Scope())
    return ForeignFunction(definition, (signature,), parsed)


def _check_declaration(name, signature):
    for t in (signature.return_type, *signature.args):
        is_result = t is signature.return_type
        known = (types.Scalar, types.Pointer) + (() if is_result else (types.Array,))
        if isinstance(t, types.Void) and is_result:
            continue
        if not isinstance(t, known) or (t.is_array and t.ndim == 0):
            what = (
                "returns a number or a pointer" if is_result else "takes numbers, pointers, arrays"
            )
            raise SignatureError(f"{name}: a foreign function {what}, not {t}")


def _split_parameter(t, name):
    """Returns (C++ types, C++ expressions) of the scalar parameters into which one parameter is split."""
    if not t.is_array:
        is_pointer = isinstance(t, types.Pointer)
        return [t.cxx], [f"foreign_pointer{{{name}}}" if is_pointer else name]
    kinds = ["void *", "void *", "long long", "long long", f"{t.dtype.cxx} *"]
    values = [
        "nullptr", "nullptr", f"{name}.size()", f"sizeof({t.dtype.cxx})",
        f"foreign_pointer{{{name}.data()}}",
    ]  # fmt: skip
    axes = [f"{name}.{of}[{i}]" for of in ("shape", "strides") for i in range(t.ndim)]
    return kinds + ["long long"] * len(axes), values + axes


def _call_text(name, signature, first=()):
    kinds, values = [kind for kind, _ in first], [value for _, value in first]
    for i, t in enumerate(signature.args):
        more = _split_parameter(t, f"nl_{i}")
        kinds += more[0]
        values += more[1]
    return ", ".join(kinds), f"::{name}({', '.join(values)})"


def _numba_abi_text(name, signature):
    """Returns the C++ text of a function with numba's ABI: int name(R *result, ...), which returns 0."""
    result = signature.return_type
    if result is types.void:
        kinds, call = _call_text(name, signature, [("void **", "foreign_pointer{nullptr}")])
        return f'extern "C" __device__ int {name}({kinds});', f"{call};"
    kinds, call = _call_text(name, signature, [(f"{result.cxx} *", "foreign_pointer{&nl_result}")])
    body = f"{result.cxx} nl_result; {call}; return nl_result;"
    return f'extern "C" __device__ int {name}({kinds});', body


def _c_abi_text(name, signature):
    result = signature.return_type
    kinds, call = _call_text(name, signature)
    body = f"{call};" if result is types.void else f"return {call};"
    return f'extern "C" __device__ {result.cxx} {name}({kinds});', body


_TEXTS = {"numba": _numba_abi_text, "c": _c_abi_text}
