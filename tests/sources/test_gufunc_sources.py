"""Kernels of generalized ufuncs through NVRTC: they compile for every GPU generation, and small cores of
fixed shape are loaded and stored by wide accesses, without local memory."""

import re
from pathlib import Path

import pytest
from kit.needs import needs_nvrtc

from numbalite import types
from numbalite.compilers import toolkit
from numbalite.kernels import options
from numbalite.ufuncs import element, gufuncloops
from numbalite.ufuncs.gufuncloops import FixedCore, GufuncPlan

pytestmark = [needs_nvrtc, pytest.mark.usefixtures("own_cache")]

TARGETS = [("cuda", 7, 5), ("cuda", 10, 0)]


def matmul(a, b, c):
    """
    for (int i = 0; i < c.shape[0]; ++i)
        for (int j = 0; j < c.shape[1]; ++j) {
            auto t = a(i, 0) * b(0, j);
            for (int k = 1; k < a.shape[1]; ++k) t += a(i, k) * b(k, j);
            c(i, j) = t;
        }
    """


SOURCE = """
template <class T, layout L> __device__ void scale(T a, array<const T, 1, L> x, array<T, 1> out) {
    for (int i = 0; i < x.shape[0]; ++i) out[i] = a * x[i];
}"""


def compiled_ptx(function, plan, target):
    overload = gufuncloops.plan_kernel(function, plan, options.parse_options({}, "guvectorize"))
    image = overload.images.compile(target)
    assert (image.data[:4] == b"\x7fELF") == (image.kind != "ptx")  # PTX for GPUs newer than NVRTC
    return (image.ptx or b"").decode()


def square_matrix_plan(name, layout="A"):
    t = types.Array(types.scalar(name), 2, layout)
    return GufuncPlan((t, t, t), 2, (2, 2, 2))


@pytest.mark.parametrize("target", TARGETS, ids=str)
def test_gufunc_loops_of_every_schedule_compile(target):
    function = element.element_function(matmul)
    plan = square_matrix_plan("float32")
    dense = FixedCore((2, 2), "C", 16)
    for change in (
        {}, {"dims": 2}, {"dims": 4, "wide": True}, {"dims": 8}, {"dims": 32, "wide": True},
        {"block": True, "threads": 128}, {"block": True, "threads": 64, "dims": 4, "wide": True},
        {"staged": 7, "loaded": 3}, {"staged": 4, "dims": 4, "wide": True}, {"staged": 2, "loaded": 2, "values": 1},
        {"values": 1}, {"fixed": (dense,) * 3}, {"fixed": (dense,) * 3, "values": 2, "dims": 2},
        {"fixed": (FixedCore((2, 3), "F", 8), FixedCore((3, 1), "C", 4), FixedCore((2, 1), "C", 2)), "wide": True},
    ):  # fmt: skip
        compiled_ptx(function, plan._replace(**change), target)


@pytest.mark.parametrize("name", [t.name for t in types.SCALARS])
def test_gufuncs_of_every_dtype_compile(name):
    folders = toolkit.include_directories()
    if name == "float16" and not any(Path(d, "cuda_fp16.h").exists() for d in folders):
        pytest.skip("the CUDA headers are not installed")
    size = types.scalar("bool" if name == "boolean" else name).size
    function = element.element_function(matmul)
    plan = square_matrix_plan("bool" if name == "boolean" else name)
    compiled_ptx(function, plan, TARGETS[1])
    fixed = FixedCore((2, 2), "C", min(16, 4 * size))
    ptx = compiled_ptx(function, plan._replace(fixed=(fixed,) * 3), TARGETS[1])
    assert ".local" not in ptx
    ptx = compiled_ptx(function, plan._replace(staged=7, loaded=3), TARGETS[1])
    assert ".local" not in ptx and ("cp.async" in ptx) and "ld.shared" in ptx


@pytest.mark.parametrize("layout", "ACF")
def test_gufuncs_load_small_matrices_into_registers(layout):
    order = "F" if layout == "F" else "C"
    plan = square_matrix_plan("float32", layout)._replace(fixed=(FixedCore((2, 2), order, 16),) * 3)
    ptx = compiled_ptx(element.element_function(matmul), plan, TARGETS[1])
    assert len(re.findall(r"ld\.global\S*\.v4", ptx)) == 2
    assert len(re.findall(r"st\.global\S*\.v4", ptx)) == 1
    assert not re.search(r"(ld|st)\.local|\.local", ptx)
    assert (
        len(re.findall(r"[ls][dt]\.global", ptx)) == 3
    )  # and earlier contents of the output are not read


def test_gufunc_sources_may_define_types():
    function = element.element_function(source=SOURCE)
    number, array = types.float64, types.float64[:]
    for t in (array, types.float64[::1]):
        for values in (0, 1):
            plan = GufuncPlan((number, t, array), 2, (0, 1, 1), values=values)
            compiled_ptx(function, plan, TARGETS[1])
