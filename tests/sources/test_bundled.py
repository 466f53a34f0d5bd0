"""Tests the headers that NVRTC contains, on a machine without a toolkit."""

import pytest
from kit.needs import needs_nvrtc

from numbalite import _core
from numbalite.compilers import Source, bundled, compile_source, nvrtc, toolkit
from numbalite.errors import CudaSupportError

pytestmark = [needs_nvrtc, pytest.mark.usefixtures("own_cache")]

GPU = ("cuda", 9, 0)


def contains_headers():
    return (bundled.nvrtc_version(toolkit.nvrtc_library().path) or (0, 0)) >= bundled.SINCE


def test_bundled_header_version_matches_nvrtc():
    assert bundled.nvrtc_version(toolkit.nvrtc_library().path) == nvrtc.open_library()[1]


def test_bundled_headers_compile(monkeypatch):
    """Tests each header for which an older NVRTC needs a package."""
    if not contains_headers():
        pytest.skip("NVRTC before 13.3 contains no headers")
    folder = bundled.header_directory(toolkit.nvrtc_library().path)
    found = (folder, f"{folder}/cccl")
    monkeypatch.setattr(toolkit, "include_directories", lambda path=None: found)
    for header in (
        "cuda_fp16.h", "cuda_bf16.h", "cuda_fp8.h", "cooperative_groups.h", "cooperative_groups/reduce.h",
        "cuda/std/complex", "cuda/barrier", "cuda_pipeline.h", "cub/block/block_reduce.cuh", "thrust/tuple.h",
    ):  # fmt: skip
        unit = Source(
            f"#include <{header}>\n__global__ void k(int* x) {{ *x = sizeof(x); }}\n",
            kernels=("k",),
        )
        assert compile_source(unit, GPU).data, header


def test_bundled_headers_reject_an_older_nvrtc(tmp_path):
    nvrtc.open_library()
    if contains_headers():
        _core.nvrtc_install_headers(str(tmp_path))
        assert (tmp_path / "cuda_fp16.h").is_file()
        with pytest.raises(RuntimeError, match="nvrtcInstallBundledHeaders"):
            _core.nvrtc_install_headers("/dev/null/no folder")
    else:
        with pytest.raises(CudaSupportError, match="contains no headers: 13.3 is needed"):
            _core.nvrtc_install_headers(str(tmp_path))
