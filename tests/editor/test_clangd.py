"""With the .clangd file that `numbalite editor` writes, clangd finds no errors in correct code."""

import pathlib
import re
import shutil
import subprocess

import pytest

from numbalite import editor
from numbalite.compilers import headers
from numbalite.cxx import devicelib

RIGHT = """#include <cuda_fp16.h>
__constant__ float coefficients[4];

template <typename T> __global__ void saxpy(T a, const T *x, T *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i] + coefficients[0];
}

__global__ void sums(array<float, 2> a, array<float> out) {
    __shared__ float tile[32];
    extern __shared__ float rest[];
    auto [x, y] = grid<2>();
    tile[threadIdx.x] = sin(a(x, y)) + rest[0] + pow(2.0f, 3);
    __syncthreads();
    atomicAdd(&out[0], __shfl_down_sync(0xffffffff, tile[0], 1));
    complex<float> z{1, 2};
    printf("%f", abs(z));
}
"""
WRONG = RIGHT.replace("__syncthreads()", "__syncthread()").replace("a(x, y)", "a.sized()")


@pytest.fixture
def clangd_errors(tmp_path):
    """Returns a function clangd_errors(source) that returns the errors that clangd reports."""
    if shutil.which("clangd") is None:
        pytest.skip("needs clangd")

    def run_clangd(source):
        (tmp_path / "k.cu").write_text(source)
        command = ["clangd", "--check=k.cu", "--log=error"]
        done = subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
        )
        return [line for line in done.stderr.splitlines() if "[" in line and "Line" in line]

    return run_clangd


def test_clangd_accepts_kernels_and_reports_errors(clangd_errors, tmp_path):
    assert editor.main([str(tmp_path)]) == 0
    assert clangd_errors(RIGHT) == []
    found = "\n".join(clangd_errors(WRONG))
    assert "__syncthread" in found and "sized" in found


def test_existing_clangd_file_is_kept(tmp_path, capsys):
    (tmp_path / ".clangd").write_text("CompileFlags: {Add: -O2}\n")
    assert editor.main([str(tmp_path)]) == 1
    assert "not numbalite's" in capsys.readouterr().err
    assert (tmp_path / ".clangd").read_text() == "CompileFlags: {Add: -O2}\n"
    (tmp_path / ".clangd").unlink()
    for _ in range(2):  # its own it writes again
        assert editor.main([str(tmp_path)]) == 0
    assert editor.main(["a", "b"]) == 2 and editor.main(["--help"]) == 2


def test_the_editor_declares_all_names_of_sources():
    """cuda_src/sim/editor.h includes every part of the library."""
    text = (pathlib.Path(headers.cuda_src()) / "sim" / "editor.h").read_text()
    for part in {*devicelib.PARTS.values()} - {
        "math",
        "cpu",
    }:  # a .cu file of numbalite has no host function
        assert f'#include "../{devicelib.header_name(part)}"' in text, part
    for name in (*devicelib._MATH_INTEGER, *devicelib._MATH_MIXED):
        assert re.search(rf"\({name}[,)]", text), name
