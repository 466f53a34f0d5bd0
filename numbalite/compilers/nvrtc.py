"""Compiles a source to a cubin for one GPU architecture, by NVRTC.

The library is opened at the first compilation, not for kernels from the cache. nvrtclog.py reads its log.
precompiled.py precompiles heavy headers.
"""

from __future__ import annotations

import re

from numbalite import config
from numbalite.compilers import (
    asserts,
    files,
    headers,
    linking,
    longlines,
    nvrtclog,
    precompiled,
    slipwarnings,
    stoppable,
    toolkit,
)
from numbalite.compilers.image import Image
from numbalite.cxx import scanner
from numbalite.cxx.linemap import quote_label
from numbalite.errors import CompileError, CudaSupportError
from numbalite.types import describe

_opened = None  # (Library, (major, minor), supported architectures)


def open_library() -> tuple:
    """Opens NVRTC: (Library, (major, minor), architectures)."""
    global _opened
    if _opened is None:
        from numbalite import _core

        chosen = toolkit.nvrtc_library()
        try:
            version = tuple(_core.nvrtc_open(chosen.path))
        except OSError as problem:
            raise CudaSupportError(
                f"NVRTC at {chosen.path} cannot be loaded: {problem}"
            ) from problem
        if version[0] < toolkit.OLDEST:
            raise CudaSupportError(
                f"NVRTC {version[0]}.{version[1]} ({chosen.path}) is too old, numbalite needs "
                f"{toolkit.OLDEST}.0 or newer: {toolkit.INSTALL}"
            )
        _opened = chosen, version, sorted(_core.nvrtc_archs())
        toolkit.opened = chosen
    return _opened


def choose_architecture(major: int, minor: int, supported) -> tuple:
    """Returns (kind, architecture) for a GPU: ("cubin", "sm_90"), or ("ptx", "compute_90").

    Machine code runs on later GPUs of the same major version. For a GPU that is newer than the compiler,
    returns PTX of the newest supported architecture, which the driver translates.
    """
    wanted = 10 * major + minor
    older = [arch for arch in supported if arch <= wanted]
    if not older:
        raise CudaSupportError(
            f"this NVRTC compiles for compute capability {min(supported) / 10} and later, the GPU "
            f"has {major}.{minor}: install an older one (pip install nvidia-cuda-nvrtc-cu12)"
        )
    nearest = max(older)
    if nearest == wanted or nearest // 10 == major:
        return "cubin", f"sm_{nearest}"
    return "ptx", f"compute_{nearest}"


def _has_option(options, *prefixes):
    return any(option.startswith(prefixes) for option in options)


_OFAST_SINCE = (13, 0)
_MINIMAL_SINCE = (12, 4)


def nvrtc_options(source, architecture: str, directories=(), version=(12, 0)) -> list:
    """Returns NVRTC's options for a source. The user's options are last, and override numbalite's options."""
    given = source.options
    result = []
    if not _has_option(given, "-arch", "--gpu-architecture"):
        result.append(f"--gpu-architecture={architecture}")
    if not _has_option(given, "-std", "--std"):
        result.append(f"--std={source.std}")
    if not _has_option(given, "-default-device", "--device-as-default-execution-space"):
        result.append("--device-as-default-execution-space")
    if source.fastmath:
        result.append("--use_fast_math")
    if source.has_checks:
        result.append("-DNUMBALITE_DEBUG=1")
    if source.debug:
        result.append("--device-debug")
    elif source.lineinfo or source.stoppable:
        result.append("--generate-line-info")
    if source.opt is not True and source.opt is not None and not source.debug:
        result.append(f"--ptxas-options=-O{int(source.opt)}")
        if not source.opt and version >= _OFAST_SINCE:
            result += ["--Ofast-compile=max", "--fmad=false"]  # ptxas gets -O0, too
    if source.max_registers:
        result.append(f"--maxrregcount={source.max_registers}")
    if source.linked or source.launches:
        result.append("--relocatable-device-code=true")
    if "__int128" in source.text and not _has_option(given, "-device-int128", "--device-int128"):
        result.append("--device-int128")
    result += given
    result += [f"-I{folder}" for folder in (*config.INCLUDE_PATH, *directories)]
    return result


def name_expressions(source) -> tuple:
    """Returns ({name: expression that returns its symbol}, {name: expression that describes its types})."""
    symbols = {name: scanner.function_address(name, name) for name in source.kernels}
    symbols.update((name, f"&{name}") for name in source.variables)
    if not source.describe:
        return symbols, {}
    texts = {
        name: describe.kernel_expression(scanner.function_address(name)) for name in source.kernels
    }
    texts.update((name, describe.variable_expression(name)) for name in source.variables)
    return symbols, texts


# nvcc accepts lambdas that are marked for the device.
# NVRTC, which compiles only device code, rejects such lambdas.
_MARKED_LAMBDA = re.compile(r"(?<=[^\]]\] )(?:__device__|__host__ __device__)(?= ?[({])")


def _unit_text(source, describes):
    """Returns the text that NVRTC compiles."""
    text = _MARKED_LAMBDA.sub(lambda m: " " * len(m[0]), source.text)
    first = '#include "numbalite/describe.cuh"\n' if describes else ""
    first += "#include <cuda_device_runtime_api.h>\n" if source.launches else ""
    return f'{first}#line 1 "{quote_label(source.name)}"\n{text}' if first else text


def _loadable_code(result, kind):
    """Returns (kind, bytes) of NVRTC's result; `kind` is a format that the driver can load."""
    if result["ltoir"]:
        return "ltoir", result["ltoir"]
    if kind == "ptx" or not result["cubin"]:
        ptx = result["ptx"]
        return "ptx", ptx if ptx.endswith(b"\0") else ptx + b"\0"
    return kind, result["cubin"]


# User options that select the target, or an output format other than PTX.
_NOT_STOPPABLE = ("-arch", "--gpu-architecture", "-dlto", "--dlink-time-opt")


def _assemble_ptx(source, ptx, architecture):
    """Returns (kind, bytes) for PTX: a cubin for the GPU. Returns the PTX itself, which the driver assembles,
    if the toolkit has no linker or if other code is linked."""
    data = ptx.rstrip(b"\0") + b"\0"
    if source.linked or source.launches or not architecture.startswith("sm_"):
        return "ptx", data
    try:
        return "cubin", linking.assemble_ptx(source, data, architecture, toolkit.linker_library())
    except CudaSupportError:
        return "ptx", data


def _code_with_catching_asserts(source, ptx, kind, data, architecture):
    """Changes the code so that a failed assert writes a record. Returns (PTX, kind, code, True), or the
    compiler's unchanged code and False if no assembler for PTX is available."""
    changed = asserts.catch_asserts(ptx)
    if kind == "ptx":
        return changed, kind, changed.rstrip(b"\0") + b"\0", True
    kind, made = _assemble_ptx(source, changed, architecture)
    return (changed, kind, made, True) if kind == "cubin" else (ptx, "cubin", data, False)


def compile(source, capability) -> Image:
    """Compiles a source for a GPU of compute capability (major, minor)."""
    try:
        return _compile(source, capability)
    except CompileError:
        if not toolkit.forget_damaged_headers():
            raise
    return _compile(source, capability)


def _compile(source, capability):
    from numbalite import _core

    chosen, version, supported = open_library()
    kind, architecture = choose_architecture(capability[0], capability[1], supported)
    is_stoppable = source.stoppable and not _has_option(source.options, *_NOT_STOPPABLE)
    given = architecture
    if is_stoppable:
        kind, architecture = "ptx", f"compute_{architecture.partition('_')[2]}"
    symbols, texts = name_expressions(source)
    text = _unit_text(source, bool(texts))
    directories = toolkit.include_directories(chosen.path)
    memory = {name: files.encode_text(inside) for name, inside in source.headers}
    memory = {**headers.headers_for_version(version), **memory}
    wanted = list(dict.fromkeys([*symbols.values(), *texts.values()]))
    arguments = nvrtc_options(source, architecture, directories, version)

    def run_nvrtc(text, more=()):
        made = _core.nvrtc_compile(
            files.encode_text(text), source.name, memory, [*arguments, *more], wanted
        )
        if made["status"]:
            made["log"] = longlines.shorten_lines(made["log"])
        return made

    result = None
    if source.is_short and version >= _MINIMAL_SINCE and "#include <" not in text:
        result = run_nvrtc(text, ["--minimal"])
        if result["status"]:  # the source may need the omitted headers
            result = None
    if result is None and version >= precompiled.SINCE:
        result = precompiled.compile_precompiled(run_nvrtc, source, text, arguments, directories)
    if result is None or (
        result["status"] and nvrtclog.has_header_errors(result["log"], directories)
    ):
        result = run_nvrtc(text)
    if result["status"]:
        raise _compile_error(source, result, text, directories, version)
    lowered = result["lowered"]
    ptx = result["ptx"]
    kind, data = _loadable_code(result, kind)
    stop = None
    catches = (
        kind != "ltoir" and not source.linked and not source.launches and asserts.has_assert(ptx)
    )
    if is_stoppable and kind == "ptx":
        architecture = given
        ptx, stop = stoppable.instrument_source(ptx, source, symbols, lowered)
        ptx = asserts.catch_asserts(ptx) if catches else ptx
        kind, data = _assemble_ptx(source, ptx, architecture)
    elif catches:
        ptx, kind, data, catches = _code_with_catching_asserts(
            source, ptx, kind, data, architecture
        )
    if source.launches:
        source = source._replace(linked=(*source.linked, linking.device_runtime()))
    if source.linked:
        if not architecture.startswith("sm_"):
            raise CudaSupportError(
                f"link= with compiled code needs an NVRTC that supports the GPU; this NVRTC is "
                f"{version[0]}.{version[1]} ({chosen.path}): {toolkit.INSTALL}"
            )
        data = linking.link_cubin(source, kind, data, architecture, toolkit.linker_library())
        kind = "cubin"
    return Image(
        kind=kind,
        data=data,
        arch=architecture,
        lowered={name: lowered[expression] for name, expression in symbols.items()},
        descriptions={name: lowered[expression] for name, expression in texts.items()},
        log="\n".join(
            nvrtclog.without_library_warnings(nvrtclog.parse_messages(result["log"]), directories)
        ),
        ptx=ptx and ptx.rstrip(b"\0"),
        source=source.text,
        slips=tuple(slipwarnings.slips_of_nvrtc_log(result["log"], source)),
        stop=stop,
        catches=catches,
    )


def _packages_text(packages):
    return "MathDx" if packages == "nvidia-mathdx" else "the CUDA toolkit"


def _compile_error(source, result, text, directories, version):
    """Returns the exception for a compilation that failed."""
    log = result["log"]
    readable = nvrtclog.user_messages(nvrtclog.parse_messages(log), source, text, directories)
    for name in dict.fromkeys(nvrtclog.NOT_FOUND.findall(log)):
        packages = toolkit.packages_for(name, version[0])
        if packages:
            readable.append(
                f'"{name}" is a header of {_packages_text(packages)}, which was not found in '
                f"{', '.join(directories) or 'any of the usual places'}: {toolkit.pip_install(packages)}"
            )
    of_headers = (
        toolkit.headers_version(directories)
        if nvrtclog.has_header_errors(log, directories)
        else None
    )
    if of_headers and of_headers != version:
        readable.append(
            f"the CUDA headers in {directories[0]} are of version {of_headers[0]}.{of_headers[1]}, NVRTC "
            f"is {version[0]}.{version[1]} and may not understand them: install both of one version "
            f"({toolkit.INSTALL})"
        )
    if not readable:
        readable = [f"NVRTC failed with status {result['status']}"]
    return CompileError("\n".join(readable), log=log, source=text)
