"""Compile CUDA C++ text with NVRTC, for the tests of this folder.

The product compiles through numbalite._core; these tests only want "does this text compile, and into
what", for architectures and compiler options that no launch would ever pick, so they talk to the
library directly: a few ctypes calls, no driver, no GPU.
"""

import ctypes
import functools
from pathlib import Path
from typing import NamedTuple

CUDA_SRC = Path(__file__).resolve().parents[2] / "cuda_src"


class Result(NamedTuple):
    """What one compilation gave; `status` 0 is success."""

    status: int
    log: str
    cubin: bytes
    ptx: bytes
    lowered: dict


@functools.cache
def library(path=None):
    """The NVRTC library at `path`, or wherever it is installed; None where there is none."""
    if path is not None:
        return ctypes.CDLL(str(path))
    try:
        from cuda.pathfinder import load_nvidia_dynamic_lib

        return ctypes.CDLL(load_nvidia_dynamic_lib("nvrtc").abs_path)
    except Exception:
        return None


def version(lib=None):
    """(major, minor) of the library."""
    major, minor = ctypes.c_int(), ctypes.c_int()
    (lib or library()).nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    return major.value, minor.value


def architectures(lib=None):
    """Compute capabilities that the library compiles for, as [75, 80, ...]."""
    lib = lib or library()
    count = ctypes.c_int()
    lib.nvrtcGetNumSupportedArchs(ctypes.byref(count))
    archs = (ctypes.c_int * count.value)()
    lib.nvrtcGetSupportedArchs(archs)
    return list(archs)


def _bytes_of(lib, program, what):
    size = ctypes.c_size_t()
    if getattr(lib, f"nvrtcGet{what}Size")(program, ctypes.byref(size)):
        return b""
    text = ctypes.create_string_buffer(size.value)
    getattr(lib, f"nvrtcGet{what}")(program, text)
    return text.raw


def compile(source, arch=90, options=(), expressions=(), headers=None, lib=None, name="test.cu"):
    """Compile `source` for sm_<arch> with cuda_src on the include path; see Result."""
    lib = lib or library()
    headers = headers or {}
    program = ctypes.c_void_p()
    texts = (ctypes.c_char_p * len(headers))(*[t.encode() for t in headers.values()])
    names = (ctypes.c_char_p * len(headers))(*[n.encode() for n in headers])
    status = lib.nvrtcCreateProgram(
        ctypes.byref(program), source.encode(), name.encode(), len(headers), texts, names
    )
    assert status == 0, status
    try:
        for expression in expressions:
            lib.nvrtcAddNameExpression(program, expression.encode())
        options = [f"-arch=sm_{arch}", "-std=c++17", f"-I{CUDA_SRC}", *options]
        raw = (ctypes.c_char_p * len(options))(*[o.encode() for o in options])
        status = lib.nvrtcCompileProgram(program, len(options), raw)
        log = _bytes_of(lib, program, "ProgramLog").rstrip(b"\0").decode(errors="replace").strip()
        lowered = {}
        if status == 0:
            for expression in expressions:
                text = ctypes.c_char_p()
                if not lib.nvrtcGetLoweredName(program, expression.encode(), ctypes.byref(text)):
                    lowered[expression] = text.value.decode()
        cubin = _bytes_of(lib, program, "CUBIN") if status == 0 else b""
        ptx = _bytes_of(lib, program, "PTX") if status == 0 else b""
        return Result(status, log, cubin, ptx, lowered)
    finally:
        lib.nvrtcDestroyProgram(ctypes.byref(program))
