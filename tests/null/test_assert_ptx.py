"""Failed asserts write a record: runs NVRTC's PTX, in which a function of numbalite replaces CUDA's
__assertfail."""

import pytest
from kit.needs import needs_nvrtc

from numbalite.compilers import Source, asserts, nvrtc, toolkit
from numbalite.compilers.image import Image
from numbalite.errors import CudaSupportError

TEXT = """#include "numbalite.cuh"
#line 1 "lesson.cu"
__global__ void k(int *x, int n) {
    assert(threadIdx.x < n && "few threads");
    for (int i = 0; i < n; i++) { assert(x[i] >= 0); x[i] += 1; }
}
"""
SOURCE = Source(TEXT, kernels=("k",))


def find_linker():
    try:
        return toolkit.linker_library()
    except CudaSupportError:
        return None


needs_linker = pytest.mark.skipif(
    not toolkit.libraries() or not find_linker(), reason="nvJitLink is not installed"
)


@needs_linker
@pytest.mark.parametrize("is_stoppable", [False, True])
def test_asserts_call_the_function_of_the_module(is_stoppable):
    for capability in ((7, 5), (9, 0)):
        image = nvrtc.compile(SOURCE.replace(stoppable=is_stoppable), capability)
        assert image.kind == "cubin" and image.catches
        assert b"__assertfail" not in image.ptx and asserts.RECORD.encode() in image.ptx
        assert (image.stop is not None) == is_stoppable
        assert is_stoppable is False or b"nl_assertfail" not in image.stop
        assert Image.from_bytes(image.to_bytes()) == image


@needs_nvrtc
def test_asserts_are_unchanged_without_a_linker(monkeypatch):
    def raise_without_nvjitlink():
        raise CudaSupportError("no nvJitLink")

    monkeypatch.setattr(toolkit, "linker_library", raise_without_nvjitlink)
    image = nvrtc.compile(SOURCE, (9, 0))
    assert image.kind == "cubin" and not image.catches and b"__assertfail" in image.ptx


@needs_nvrtc
@pytest.mark.parametrize(
    "changes",
    [{"boundscheck": True}, {"options": ("-DNDEBUG",)}, {"text": "__global__ void k() {}"}],
)
def test_kernels_with_checks_or_without_asserts_have_no_record(changes):
    image = nvrtc.compile(SOURCE.replace(**changes), (9, 0))
    assert not image.catches and asserts.RECORD.encode() not in image.ptx
