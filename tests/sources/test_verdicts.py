"""NVRTC and the compilers of the simulator take the same sources, and refuse the same."""

import shutil

import pytest

from numbalite import linemap, options
from numbalite.compilers import toolkit
from numbalite.errors import CompileError
from numbalite.module import Module


@pytest.fixture(scope="module", params=["nvrtc", "clang++", "g++"])
def verdict(request):
    """verdict(source) -> what one of the compilers says of it; "" where it takes it."""
    target = ("sim",)
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "nvrtc":
            if not toolkit.libraries():
                pytest.skip("NVRTC is not installed")
            target = ("cuda", 9, 0)
        else:
            if not shutil.which(request.param):
                pytest.skip(f"{request.param} is not installed")
            patch.setenv("NUMBALITE_CXX", request.param)

        def compile(source):
            given = options.parse({}, "cuda.module")
            try:
                Module(linemap.plain(source, "user.cu"), given)._program.image(target)
            except CompileError as problem:
                return str(problem)
            return ""

        yield compile


@pytest.mark.parametrize("header", ["stdint.h", "cfloat", "limits.h", "climits", "limits"])
def test_an_include_takes_no_name_away(verdict, header):
    source = f"""
    #include <{header}>
    __global__ void k(double* x) {{
        x[0] = INT_MAX + FLT_MAX + INT64_MAX + CHAR_BIT + DBL_EPSILON + SIZE_MAX;
    }}"""
    assert verdict(source) == ""
