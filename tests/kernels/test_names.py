"""If a source defines a name that numbalite's headers also define, every compiler uses the source's
definition."""

import numpy as np
import pytest

from numbalite import cuda, errors
from numbalite.compilers import compile_count, toolkit

KERNEL = "__global__ void k(float* x) {{ x[0] = {}; }}"
SOURCES = {
    "variables": (
        "__device__ int grid = 3; __constant__ float gridsize = 4, array[3] = {1, 2, 3};"
        "constexpr int layout = 3;"
        + KERNEL.format("grid + gridsize + array[1] + layout + int32(1)"),
        13,
    ),
    "enumerators": (
        "enum { grid = 4, gridsize, array, layout, complex };" + KERNEL.format("grid + complex"),
        12,
    ),
    "namespaces": (
        "namespace grid { __device__ float f() { return 3; } }"
        "namespace array { __device__ float f() { return 3; } }"
        "namespace layout { struct A { float x; }; }"
        + KERNEL.format("grid::f() + array::f() + layout::A{2}.x"),
        8,
    ),
    "types": (
        "typedef struct { float re, im; } complex; typedef struct { char a[8]; } int8;"
        + KERNEL.format("complex{1, 2}.im + sizeof(int8)"),
        10,
    ),
    "functions": (
        "template <class A, class B> __device__ float max(A a, B b) { return 42; }"
        "__device__ int laneid() { return 5; }" + KERNEL.format("max(1, 2.5f) + laneid()"),
        47,
    ),
    "CUDA's functions": (
        "__device__ int min(int a, int b) { return 42; }"
        "__device__ double atomicAdd(double* p, double v) { return 3; }"
        + KERNEL.format("min(1, 2) + min(1.f, 2.f) + min(1u, 2u) + atomicAdd((double*)0, 2.0)"),
        47,
    ),
    "next to ours": (
        "struct array { float v[2]; };"
        + KERNEL.format(
            "array{{1, 2}}.v[1] + max(1, 2.5f) + grid<1>() + get<0>(make_tuple(3.f, 4.f))"
            " + abs(complex64(3, 4)) + float(float16(2) * 2)"
        ),
        16.5,
    ),
}


@pytest.mark.parametrize("kind", SOURCES)
def test_names_defined_by_a_source_take_precedence(kind):
    source, expected = SOURCES[kind]
    before = compile_count()
    module = cuda.module(source)
    if toolkit.libraries():
        module._images.image(("cuda", 9, 0))
    assert compile_count() - before <= 2, "one for each target, as messages and the cache see it"
    x = np.zeros(1, "f4")
    module.k[1, 1](x)
    assert x[0] == expected


TYPES = "struct float16 { int a, b; }; struct array { int f; }; template <class T> struct complex { T v; };"


def test_header_types_do_not_conflict_with_numbalites():
    """Generated code uses numbalite's types, even if a header defines types with the same names."""

    @cuda.jit(headers={"types.h": TYPES})
    def use_header_types(x, z):
        """
        #include "types.h"
        x[0] = float16{1, 2}.b + complex<int>{5}.v + array{3}.f + z[0].real();
        """

    x = np.zeros(1, "f4")
    use_header_types[1, 1](x, np.ones(1, "c8"))
    assert x[0] == 11


def test_name_conflict_errors_name_the_users_mistake():
    with pytest.raises(errors.CompileError) as caught:
        cuda.module("struct array { float f; };" + KERNEL.format("array{1}.f + undefined_x"))
    assert "undefined_x" in str(caught.value) and "ambiguous" not in str(caught.value)
