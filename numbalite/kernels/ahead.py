"""Implements ``cuda.compile`` and related functions, which return PTX, cubins and LTO-IR without a launch."""

from __future__ import annotations

import sys
import types as python_types
from typing import TYPE_CHECKING

from numbalite import required, types
from numbalite.cxx import capture
from numbalite.kernels import exported, options, pyfunc
from numbalite.kernels.decorators import definition_of
from numbalite.kernels.devicefunction import DeviceFunction
from numbalite.kernels.dispatcher import Dispatcher, check_signature
from numbalite.kernels.images import Images
from numbalite.kernels.source import BodySource
from numbalite.types import signatures

if TYPE_CHECKING:
    from typing import Any

    Capability = tuple[int, int] | tuple[int, int, str]

_OUTPUTS = ("ptx", "cubin", "ltoir")


def compile(
    func_or_source: Any,
    sig: Any = None,
    device: bool | None = None,
    cc: Capability | None = None,
    output: str = "ptx",
    *,
    name: str | None = None,
    abi: str | None = None,
    abi_info: dict[str, Any] | None = None,
    **given: Any,
) -> tuple[Any, Any]:
    """Compiles ahead of time, without a GPU.

    A function is compiled as a device function with C linkage, or with
    ``device=False`` as a kernel; a source with its kernels.

    Parameters
    ----------
    func_or_source : function, str or path
        The function or the source.
    sig : str, type or tuple
        The signature or the types of the parameters; required for
        functions.
    device : bool
        False: the function is a kernel.
    cc : tuple of int
        The compute capability, (9, 0) or (9, 0, "a"), by default the GPU's,
        or (9, 0) without one.
    output : str
        "ptx" (text), "cubin" or "ltoir" (bytes).
    name : str
        Selects one of several kernels in a source.
    abi : str
        "c" and "numba" name the only ABI.
    abi_info : dict
        ``abi_name`` is the name of a device function in the code, by
        default its own name.
    **given
        The options of cuda.jit.

    Returns
    -------
    tuple
        (code, return type).

    Raises
    ------
    TypeError
        ``sig`` is missing for a function, ``cc`` is not such a tuple, or an
        option does not exist.
    NotImplementedError
        There is no such ``output`` or ``abi``, or ``abi="c"`` with
        ``device=False``.
    ValueError
        NVRTC cannot create this output for ``cc``.
    CudaSupportError
        NVRTC is not installed.
    CompileError
        The compiler reports errors in the source.

    Examples
    --------
    The PTX of a source::

        ptx, result = cuda.compile(source, cc=(8, 0))
    """
    _check_abi(abi, device)
    if output not in _OUTPUTS:
        raise NotImplementedError(
            f"Unsupported output type: {output}: output is one of {', '.join(_OUTPUTS)}"
        )
    target = _compile_target(cc, given)
    made, result, explain = _make_source(func_or_source, sig, device, name, abi_info or {}, given)
    if output == "ltoir":
        made = made.replace(options=("-dlto", *made.options))
    image = Images(made, explain).image(target)
    if output == "ptx":
        return image.ptx.decode(), result
    if image.kind != output:
        raise ValueError(f"this NVRTC does not support compute capability {cc}: output='ptx' works")
    return image.data, result


def _check_abi(abi, device):
    if abi not in (None, "c", "numba"):
        raise NotImplementedError(f"Unsupported ABI: {abi}: the only supported ABI is abi='c'")
    if abi == "c" and device is False:
        raise NotImplementedError("The C ABI is not supported for kernels: omit abi=")


def _compile_target(cc, given):
    """Returns the target of a compute capability. A suffix, as in (9, 0, "a"), adds a compiler option."""
    from numbalite.kernels import inspection

    if cc is None:
        return inspection.gpu_target()
    if not isinstance(cc, tuple) or len(cc) not in (2, 3):
        raise TypeError(f"cc is a compute capability such as (9, 0), not {cc!r}")
    if len(cc) == 3:
        more = given.get("options") or ()
        more = (more,) if isinstance(more, str) else tuple(more)
        given["options"] = (f"-arch=sm_{cc[0]}{cc[1]}{cc[2]}", *more)
    return ("cuda", *cc[:2])


def _make_source(what, sig, device, name, abi_info, given):
    """Returns (Source, return type, function that explains compile errors)"""
    from numbalite.kernels import module as modules

    if isinstance(what, Dispatcher):
        origin = what._source
        if origin.is_typed:
            return origin.module._images.source, types.void, None
        args = signatures.signature(sig).args if sig is not None else what._given[0].args
        images = origin.kernel(args).images
        return images.source, types.void, images.explain
    parsed = options.parse_options({**given, "device": bool(device)}, "cuda.compile")
    if isinstance(what, str) or hasattr(what, "__fspath__"):
        text = modules.source_text(what, name or "source", sys._getframe(2))
        if hasattr(what, "__fspath__"):
            text, parsed, _ = modules.device_code(text, parsed, [name] if name else ())
        made = modules.Module(text, parsed, [name] if name else (), name or "source")
        return made._images.source, types.void, made._add_hints
    if sig is None:
        raise TypeError("cuda.compile needs the types: a signature or a tuple of types")
    if isinstance(what, DeviceFunction) or device or device is None:
        return _device_source(what, sig, abi_info, parsed)
    images = _kernel_images(what, sig, parsed)
    return images.source, types.void, images.explain


def _kernel_images(function, sig, parsed):
    definition = definition_of(function)
    signature = signatures.signature(sig, definition.scope.get)
    check_signature(signature, definition.name, definition.parameters)
    return BodySource(definition, parsed).kernel(signature.args).images


def _device_source(what, sig, abi_info, parsed):
    what = capture.device_function(pyfunc.unwrap(what))
    if isinstance(what, python_types.FunctionType):
        function = DeviceFunction(definition_of(what, "device function"), (), parsed, what)
    else:
        required.require_kind(what, "cuda.compile", "a function or a source", DeviceFunction)
        function = what
    signature = signatures.signature(sig, function.definition.scope.get)
    return exported.exported_source(
        function, signature, abi_info.get("abi_name", function.name), parsed
    )


def compile_ptx(
    pyfunc: Any,
    sig: Any = None,
    device: bool = False,
    cc: Capability | None = None,
    **given: Any,
) -> tuple[Any, Any]:
    """Compiles to PTX, like ``compile`` with ``output="ptx"``.

    The function's name is the older name in numba.

    Parameters
    ----------
    pyfunc : function, str or path
        The function or the source.
    sig, cc
        As in compile.
    device : bool
        True: the function is a device function; False: a kernel.
    **given
        As in compile.

    Returns
    -------
    tuple
        (PTX, return type).

    Raises
    ------
    TypeError, NotImplementedError, CudaSupportError, CompileError
        As compile.
    """
    return compile(pyfunc, sig, device, cc, "ptx", **given)


def compile_all(
    func_or_source: Any,
    sig: Any = None,
    device: bool | None = None,
    cc: Capability | None = None,
    output: str = "ptx",
    **given: Any,
) -> tuple[list[Any], Any]:
    """Compiles like ``compile``, but returns a list of codes, as in numba.

    Parameters
    ----------
    func_or_source, sig, device, cc, output, **given
        As in compile.

    Returns
    -------
    tuple
        (codes, return type). The list has one item, whose code contains all
        called device functions.

    Raises
    ------
    TypeError, NotImplementedError, ValueError, CudaSupportError, CompileError
        As compile.
    """
    code, result = compile(func_or_source, sig, device, cc, output, **given)
    return [code], result


def compile_for_current_device(
    pyfunc: Any, sig: Any = None, device: bool | None = None, **given: Any
) -> tuple[Any, Any]:
    """Compiles like ``compile``, for the current device's compute capability.

    Parameters
    ----------
    pyfunc : function, str or path
        The function or the source.
    sig, device, **given
        As in compile.

    Returns
    -------
    tuple
        (code, return type).

    Raises
    ------
    TypeError, NotImplementedError, ValueError, CudaSupportError, CompileError
        As compile.
    """
    return compile(pyfunc, sig, device, None, **given)


def compile_ptx_for_current_device(
    pyfunc: Any, sig: Any = None, device: bool = False, **given: Any
) -> tuple[Any, Any]:
    """Compiles like ``compile_ptx``, for the current device's compute capability.

    Parameters
    ----------
    pyfunc : function, str or path
        The function or the source.
    sig, device, **given
        As in compile_ptx.

    Returns
    -------
    tuple
        (PTX, return type).

    Raises
    ------
    TypeError, NotImplementedError, CudaSupportError, CompileError
        As compile.
    """
    return compile_ptx(pyfunc, sig, device, None, **given)
