"""The fixture `nvrtc` compiles CUDA C++ text, for the tests of this folder.

numbalite itself compiles through numbalite._core; the tests of this folder check whether a text compiles, and
the compiled code, for architectures and compiler options that no launch would use, so they call NVRTC
directly by ctypes, without a driver or a GPU.
"""

import ctypes
import functools
import shutil
from pathlib import Path
from typing import NamedTuple

import pytest
from kit.needs import NO_NVRTC

CUDA_SRC = Path(__file__).resolve().parents[2] / "cuda_src"


class CompilationResult(NamedTuple):
    """The results of one compilation; `status` 0 is success."""

    status: int
    log: str
    cubin: bytes
    lowered: dict


@functools.cache
def nvrtc_library():
    """Returns the NVRTC library that numbalite would use; None where there is none."""
    from numbalite.compilers import toolkit
    from numbalite.errors import CudaSupportError

    try:
        return ctypes.CDLL(toolkit.nvrtc_library().path)
    except (CudaSupportError, OSError):
        return None


def supported_architectures(lib):
    """Returns the compute capabilities for which the library compiles, as [75, 80, ...]."""
    count = ctypes.c_int()
    lib.nvrtcGetNumSupportedArchs(ctypes.byref(count))
    archs = (ctypes.c_int * count.value)()
    lib.nvrtcGetSupportedArchs(archs)
    return list(archs)


def _read_program_output(lib, program, what):
    size = ctypes.c_size_t()
    if getattr(lib, f"nvrtcGet{what}Size")(program, ctypes.byref(size)):
        return b""
    text = ctypes.create_string_buffer(size.value)
    getattr(lib, f"nvrtcGet{what}")(program, text)
    return text.raw


class NvrtcCompiler:
    """compile_with_nvrtc(source, ...) -> CompilationResult."""

    def __init__(self, lib):
        self.lib = lib
        self.architectures = [a for a in (75, 80, 90, 100) if a in supported_architectures(lib)]

    def __call__(
        self, source, arch=90, options=(), expressions=(), std="c++17", name="test.cu", to="sm"
    ):
        """Compile for sm_<arch> with cuda_src on the include path; to="compute": to PTX alone."""
        lib, program = self.lib, ctypes.c_void_p()
        status = lib.nvrtcCreateProgram(
            ctypes.byref(program), source.encode(), name.encode(), 0, None, None
        )
        assert status == 0, status
        try:
            for expression in expressions:
                lib.nvrtcAddNameExpression(program, expression.encode())
            options = [f"-arch={to}_{arch}", f"-std={std}", f"-I{CUDA_SRC}", *options]
            raw = (ctypes.c_char_p * len(options))(*[o.encode() for o in options])
            status = lib.nvrtcCompileProgram(program, len(options), raw)
            log = (
                _read_program_output(lib, program, "ProgramLog")
                .rstrip(b"\0")
                .decode(errors="replace")
            )
            lowered = {}
            for expression in expressions if status == 0 else ():
                text = ctypes.c_char_p()
                if not lib.nvrtcGetLoweredName(program, expression.encode(), ctypes.byref(text)):
                    lowered[expression] = text.value.decode()
            cubin = _read_program_output(lib, program, "CUBIN") if status == 0 else b""
            return CompilationResult(status, log.strip(), cubin, lowered)
        finally:
            lib.nvrtcDestroyProgram(ctypes.byref(program))


@pytest.fixture(scope="session")
def compile_with_nvrtc():
    """Compiles with NVRTC; skips the test if NVRTC is not installed."""
    if nvrtc_library() is None:
        pytest.skip(NO_NVRTC)
    return NvrtcCompiler(nvrtc_library())


@pytest.fixture(scope="session")
def toolkit_options():
    """-I options for the toolkit's headers; skips the test if there are no such headers."""
    from numbalite.compilers import toolkit

    folders = toolkit.include_directories()
    if not any(Path(folder, "cuda_fp16.h").exists() for folder in folders):
        pytest.skip("the CUDA headers are not installed")
    return [f"-I{folder}" for folder in folders]


@pytest.fixture(scope="module", params=["nvrtc", "clang++", "g++"])
def target_of_each(request):
    """Returns the compile target of the compiler that the test uses; runs the test with each compiler."""
    from numbalite.compilers import toolkit

    if request.param == "nvrtc":
        if not toolkit.libraries():
            pytest.skip(NO_NVRTC)
        yield "cuda", 9, 0
        return
    if not shutil.which(request.param):
        pytest.skip(f"{request.param} is not installed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NUMBALITE_CXX", request.param)
        yield ("sim",)


@pytest.fixture(params=["clang++", "g++"])
def host_compiler(request, monkeypatch):
    """Runs the test with each of the host's compilers."""
    if shutil.which(request.param) is None:
        pytest.skip(f"{request.param} is not installed")
    monkeypatch.setenv("NUMBALITE_CXX", request.param)
    return request.param
