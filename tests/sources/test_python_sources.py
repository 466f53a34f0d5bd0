"""NVRTC compiles the kernels with Python bodies of tests/python, for the oldest and the newest GPU."""

import importlib.util
import pathlib

import pytest
from kit.needs import needs_nvrtc

from numbalite.types import signatures

pytestmark = [needs_nvrtc, pytest.mark.usefixtures("own_cache")]

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "python"
KERNELS = {
    "test_language.py": {
        "control_flow": "void(int64, int64[:])",
        "divide_numbers": "void(int64, int64, float64, float64, int64[::1], float64[::1])",
        "math_functions": "void(float64, int64, float64[:])",
        "change_variable_types": "void(int64, float64, int64[:], float64[:])",
        "index_arrays": "void(int64[:], int64[::1, :], int64[:, :, ::1], int64[:])",
        "complex_arithmetic": "void(complex64, float32, complex64[:], float32[:])",
        "complex_functions": "void(complex128, complex128[:])",
    },
    "test_cuda.py": {
        "matmul": "void(float32[:, ::1], float32[:, ::1], float32[:, ::1])",
        "write_indices": "void(int64[:, :])",
        "histogram": "void(float32[:], float32, float32, int32[:])",
        "update_atomically": "void(uint32[:], float32[:], float64[:, :], int64[:])",
        "warp_operations": "void(float32[:], float64[:])",
        "memory_operations": "void(float32[:], float64[:])",
        "dynamic_shared_views": "void(float64[:], float64[:])",
    },
    "test_exceptions.py": {
        "debugged": "void(int64[:], float64[:])",
        "released": "void(int64[:], float64[:])",
    },
    "test_values.py": {
        "complex_functions": "void(complex128, complex128, boolean[::1], float64[::1], complex128[::1])",
        "numpy_functions": "void(int64, int64, float64, float64, complex128, int64[::1], float64[::1], boolean[::1])",
        "write_into_arrays": "void(int64[:, ::1], float64[::1], int64, float64[:, ::1], boolean[:, ::1])",
        "view_arrays": "void(complex128[::1], int64[:, ::1], uint8[::1], int64[::1])",
    },
    "test_intrinsics.py": {
        "copy_previous_rows": "void(float64[:, ::1])",
        "half_arithmetic": "void(float16, float16, float16[::1], boolean[::1])",
        "vector_arithmetic": "void(float64[::1])",
        "libdevice_calls": "void(float64, float32, float64[::1], float64[::1], int32[::1])",
    },
}


@pytest.fixture(scope="module", params=KERNELS)
def python_kernels(request):
    spec = importlib.util.spec_from_file_location("kernels", FOLDER / request.param)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module, KERNELS[request.param]


@pytest.mark.parametrize("target", [("cuda", 7, 5), ("cuda", 10, 0)], ids=str)
def test_python_kernel_sources_compile(python_kernels, target):
    module, wanted = python_kernels
    for name, signature in wanted.items():
        args = signatures.signature(signature).args
        image = getattr(module, name)._source.kernel(args).images.compile(target)
        assert b"nl_" in image.ptx


def test_python_arithmetic_compiles_as_handwritten_cpp(python_kernels):
    """Indices that cannot be negative have no extra cost, and indices have 32 bits where 32 bits suffice."""
    module, wanted = python_kernels
    if "matmul" not in wanted:
        return
    args = signatures.signature(wanted["matmul"]).args
    made = module.matmul._source.kernel(args)
    source = made.images.source.text
    assert "py::wrap" not in source and "int64(tx)" not in source
    assert "auto [x, y] = grid<2>();" in source and "for (int j = 0; j < TPB; ++j)" in source
