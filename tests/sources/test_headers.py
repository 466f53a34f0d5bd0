"""The device library compiles: for every GPU generation with NVRTC, and with the host compilers.

This test runs no kernel; tests/kernels/test_device_library.py tests results.
"""

import re
import time
from pathlib import Path

import pytest

from numbalite.cxx import devicelib
from numbalite.types import describe

HERE = Path(__file__).resolve().parent
CUDA_SRC = HERE.parents[1] / "cuda_src"
HEADERS = sorted(p.stem for p in (CUDA_SRC / "numbalite").glob("*.cuh"))
HEAD = '#include "numbalite.cuh"\nusing namespace numbalite;\n'
KERNEL = """
extern "C" __global__ void saxpy(float a, const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
"""


def read_source(name):
    return (HERE / name).read_text()


def skip_unsupported_architecture(nvrtc, arch):
    if arch not in nvrtc.architectures:
        pytest.skip(f"this NVRTC does not compile for sm_{arch}")


def test_each_header_compiles_alone(compile_with_nvrtc, toolkit_options):
    """Compiles for one GPU only, because the includes of a header are the same for all;
    everything.cu compiles for each GPU."""
    for header in HEADERS:
        # `before` contains declarations that groups.cuh needs,
        # which the generated head makes with NUMBALITE_DEBUG.
        if header in ("check", "checked", "cluster"):
            continue
        before = HEAD if header in ("array", "index", "describe") else ""
        result = compile_with_nvrtc(
            f'{before}#include "numbalite/{header}.cuh"\n', 90, toolkit_options
        )
        assert (result.status, result.log) == (0, ""), header


@pytest.mark.parametrize("arch", [75, 80, 90, 100])
def test_all_headers_compile_together(compile_with_nvrtc, toolkit_options, arch):
    skip_unsupported_architecture(compile_with_nvrtc, arch)
    # Code that debug=True adds is the same for all GPUs; sm_90 is compiled below, with other options.
    # Only PTX is compiled for GPUs between the oldest and the newest,
    # because the assembler needs half of the time.
    for more in [[], ["-DNUMBALITE_DEBUG=1"]] if arch == 100 else [[]]:
        to = "sm" if arch in (75, 100) else "compute"
        result = compile_with_nvrtc(
            read_source("everything.cu"), arch, [*toolkit_options, *more], to=to
        )
        assert (result.status, result.log) == (0, "")


OPTIONS = [
    ("-std=c++20",),
    ("-G", "-DNUMBALITE_DEBUG=1"),
    ("-rdc=true",),
    ("--use_fast_math",),
    ("-default-device",),
    ("-DNDEBUG", "-DNUMBALITE_DEBUG=1"),
]


@pytest.mark.parametrize("options", OPTIONS, ids=" ".join)
def test_all_headers_compile_with_other_options(compile_with_nvrtc, toolkit_options, options):
    std = _std(options)
    others = [
        o for o in options if o != f"-std={std}"
    ]  # older NVRTCs refuse the option if it is given twice
    # Compiles only to PTX: the options are for the compiler,
    # and the assembler needs half of the time, or three quarters with -G.
    result = compile_with_nvrtc(
        read_source("everything.cu"), 90, [*toolkit_options, *others], std=std, to="compute"
    )
    assert result.status == 0, result.log


CHECKED = """
#include <cassert>
#include <cstdlib>
#include "numbalite/groups.cuh"
__device__ int fail(array<int, 2> a, int n) {
    assert(n > 0 && "a, b");
    if (n > 5) __trap();
    return n > 4 ? a(n, 0) : (std::abort(), 0);
}
__global__ void k(array<int, 2> a, int n) {
    cooperative_groups::this_grid().sync();
    a[1][2] = fail(a, n);
    if (n == 3) abort();
}
"""


@pytest.mark.parametrize("options", [(), ("-G",), ("-DNDEBUG",)], ids=" ".join)
@pytest.mark.parametrize("arch", [75, 90, 100])
def test_checked_kernels_never_stop_the_context(compile_with_nvrtc, arch, options):
    """No call of __assertfail and no trap is left in the code."""
    skip_unsupported_architecture(compile_with_nvrtc, arch)
    options = [*options, "-default-device", f"-I{CUDA_SRC}/std"]
    result = compile_with_nvrtc(HEAD + CHECKED, arch, ["-DNUMBALITE_DEBUG=1", *options])
    assert (result.status, result.log) == (0, "")
    assert b"__assertfail" not in result.cubin
    plain = compile_with_nvrtc(HEAD + CHECKED, arch, options)
    assert plain.status == 0 and (b"__assertfail" in plain.cubin) == ("-DNDEBUG" not in options)


def _std(options):
    return next((o[5:] for o in options if o.startswith("-std=")), "c++17")


@pytest.mark.parametrize("std", ["c++11", "c++14", "c++20"])
def test_main_header_compiles_in_every_cpp_standard(compile_with_nvrtc, std):
    body = "__global__ void k(array<float, 2> a) { a(0, 1) = a[1][0] + grid<1>(); }"
    result = compile_with_nvrtc(HEAD + body, std=std)
    assert (result.status, result.log) == (0, "")


@pytest.mark.parametrize("debug", [False, True])
def test_all_headers_compile_for_the_simulator(host_compiler, debug):
    from numbalite.compilers import hostbuild
    from numbalite.compilers.source import Source

    source = read_source("everything.cu")
    kernels = tuple(re.findall(r"__global__ void (\w+)\(", source))
    assert len(kernels) > 8
    head = "#define NUMBALITE_DEBUG 1\n" if debug else ""
    unit = Source(head + source, kernels=kernels, debug=debug)
    assert set(hostbuild.compile(unit).descriptions) == set(kernels)


# ---- what must not compile ----


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("a(1, 2, 3) = 0;", "one index for each dimension"),
        ("a(1) = 0;", "one index for each dimension"),
        ("a[1] = 0.0f;", ""),
        ("auto x = grid<4>();", ""),
        ("array<float, 2, layout::C> c = a;", "no suitable"),
        ("array<const float, 2> c = a; c(0, 0) = 1;", "modifiable lvalue"),
        ("array<const float, 2> c = a; array<float, 2> b = c;", "no suitable"),
        ("array<double, 2> d = a;", "no suitable"),
        ("array<float, 0> d;", ""),
        ("auto t = make_tuple(1, 2); get<2>(t);", "no such item"),
        ("tiled_partition<64>(this_thread_block());", "a tile has"),
        ("tiled_partition<3>(this_thread_block());", "a tile has"),
        ("max(&a, 1);", "no instance"),
        ("atomic_max(a.data(), complex64(1));", ""),
    ],
)
def test_invalid_library_uses_do_not_compile(compile_with_nvrtc, body, message):
    needed = "".join(
        f'#include "{devicelib.header_name(p)}"\n' for p in ("tuple", "groups", "math", "complex")
    )
    needed += '#include "numbalite/atomics.cuh"\n'
    source = (
        needed + HEAD + '#line 1 "user.cu"\n__global__ void k(array<float, 2> a) {\n' + body + "\n}"
    )
    result = compile_with_nvrtc(source)
    assert result.status != 0
    assert message in result.log
    assert "user.cu" in result.log


# ---- the names do not conflict with the user's names ----


@pytest.mark.parametrize(
    ("declaration", "use"),
    [
        ("__constant__ float C[3]; __device__ int F, index, first;", "C[0] + F + index + first"),
        ("struct complex { float x; }; struct tuple { int y; };", "complex{1}.x + tuple{2}.y"),
        ("__device__ int atomic_max(int *p, int v) { return v; }", "atomic_max(nullptr, 3)"),
        ("typedef unsigned int uint; typedef long long int64_t;", "uint(3) + int64_t(4)"),
        (
            "namespace cg { enum { x = 1 }; } namespace detail { enum { y = 2 }; }",
            "cg::x + detail::y",
        ),
        (
            "struct signature { int x; }; struct parameter { int x; };",
            "signature{1}.x + parameter{2}.x",
        ),
    ],
)
def test_sources_may_reuse_library_header_names(compile_with_nvrtc, declaration, use):
    kernel = f"\n__global__ void variable(float *out) {{ out[0] = {use}; }}\n"
    source = HEAD + declaration + kernel + f'#include "{describe.HEADER}"\n'
    result = compile_with_nvrtc(source, expressions=[describe.kernel_expression("&variable")])
    assert result.status == 0, result.log


# ---- describe ----

SCALARS = [
    *("float float32 4", "double float64 8", "bool bool 1", "char int8 1", "signed char int8 1"),
    *("unsigned char uint8 1", "short int16 2", "unsigned short uint16 2", "int int32 4"),
    *("unsigned int uint32 4", "long int64 8", "unsigned long uint64 8", "long long int64 8"),
    "unsigned long long uint64 8",
]


def _parameter_columns(parameters, *names):
    return [tuple(getattr(p, n) for n in names) for p in parameters]


def check_kernels(read):
    """`read(kernel)` returns a description's text; the expected text is that of
    tests/sources/described.cu."""

    def parameters_of(kernel):
        return describe.parameters(read(kernel))

    expected = [(*s.rsplit(" ", 2)[:2], int(s.rsplit(" ", 1)[1])) for s in SCALARS]
    assert _parameter_columns(parameters_of("k1"), "ctype", "dtype", "size") == expected
    assert {(p.kind, p.size == p.align == p.itemsize, p.ndim) for p in parameters_of("k1")} == {
        ("scalar", True, 0)
    }

    assert _parameter_columns(parameters_of("k2"), "ctype", "dtype", "itemsize", "const") == [
        ("float*", "float32", 4, False),
        ("const float*", "float32", 4, True),
        ("float*", "float32", 4, False),
        ("const float*", "float32", 4, True),
        ("volatile int*", "int32", 4, False),
        ("void*", "", 0, False),
        ("const void*", "", 0, True),
        ("float**", "uint64", 8, False),
        ("const float* const*", "uint64", 8, True),
        ("fwd*", "", 0, False),
        ("const S*", "", 16, True),
        ("float4*", "", 16, False),
    ]
    assert {(p.kind, p.size, p.align) for p in parameters_of("k2")} == {("pointer", 8, 8)}

    assert _parameter_columns(parameters_of("k3"), "kind", "ctype", "dtype", "size", "align") == [
        ("struct", "S", "", 16, 8),
        ("struct", "U", "", 4, 4),
        ("scalar", "E", "int16", 2, 2),
        ("scalar", "E2", "int32", 4, 4),
        ("struct", "float4", "", 16, 16),
        ("scalar", "int", "int32", 4, 4),
        ("pointer", "const E2*", "int32", 8, 8),
    ]

    assert _parameter_columns(
        parameters_of("k4"), "ctype", "dtype", "itemsize", "size", "ndim", "layout", "const"
    ) == [
        ("array<float, 1>", "float32", 4, 24, 1, "A", False),
        ("array<const double, 2>", "float64", 8, 40, 2, "A", True),
        ("array<int, 3, layout::C>", "int32", 4, 56, 3, "C", False),
        ("array<const unsigned char, 2, layout::F>", "uint8", 1, 40, 2, "F", True),
        ("array<S, 1>", "", 16, 24, 1, "A", False),
        ("array<const bool, 1, layout::C>", "bool", 1, 24, 1, "C", True),
    ]
    assert {(p.kind, p.align) for p in parameters_of("k4")} == {("array", 8)}
    assert parameters_of("k5") == []
    assert _parameter_columns(parameters_of("k6"), "kind", "ctype", "dtype", "itemsize") == [
        ("pointer", "float (*)[16]", "float32", 4),
        ("pointer", "const float (*)[3][4]", "float32", 4),
        ("pointer", "void (*)(int, const char*)", "", 0),
        ("pointer", "int (*)()", "", 0),
        ("pointer", "void (*)(float*, S)", "", 0),
        ("scalar", "int S::*", "", 8),
    ]
    assert _parameter_columns(parameters_of("k7"), "kind", "ctype", "dtype", "size") == [
        ("struct", "complex_like<float>", "", 8),
        ("pointer", "complex_like<double>*", "", 8),
        ("struct", "tpl<unsigned long long, 5>", "", 40),
        ("scalar", "long long", "int64", 8),
        ("scalar", "unsigned long long", "uint64", 8),
        ("scalar", "signed char", "int8", 1),
    ]
    assert _parameter_columns(
        parameters_of("k8"), "kind", "ctype", "dtype", "itemsize", "size"
    ) == [
        ("scalar", "__half", "float16", 2, 2),
        ("pointer", "const __half*", "float16", 2, 8),
        ("array", "array<const __half, 2>", "float16", 2, 40),
        ("scalar", "complex<float>", "complex64", 8, 8),
        ("pointer", "complex<double>*", "complex128", 16, 8),
        ("array", "array<const complex<float>, 1>", "complex64", 8, 24),
    ]
    assert _parameter_columns(parameters_of("tk<double, 3>"), "kind", "ctype", "dtype", "size") == [
        ("scalar", "double", "float64", 8),
        ("struct", "tpl<double, 3>", "", 24),
        ("array", "array<double, 3>", "float64", 56),
    ]
    assert _parameter_columns(parameters_of("ns::in_ns"), "kind", "ctype", "size", "align") == [
        ("struct", "ns::inner", 3, 1),
        ("pointer", "tpl<ns::inner, 4>*", 8, 8),
        ("struct", "tpl<const ns::inner*, 2>", 16, 8),
    ]
    assert (
        _parameter_columns(parameters_of("many"), "ctype")
        == [("const float*",), ("array<float, 2>",)] * 20
    )


KERNELS = [*(f"k{i}" for i in range(1, 9)), "tk<double, 3>", "ns::in_ns", "many"]
VARIABLES = {
    "v1": ("float32", ()),
    "v2": ("float32", (10,)),
    "v3": ("int32", (2, 3)),
    "v4": ("V16", (5,)),
    "v5": ("V16", ()),
    "v6": ("float16", (7,)),
    "v7": ("complex64", (2, 2)),
}


def test_nvrtc_kernel_descriptions_are_parsed(compile_with_nvrtc):
    head = HEAD + '#include "numbalite/complex.cuh"\n'
    source = head + read_source("described.cu") + f'\n#include "{describe.HEADER}"\n'
    kernels = {k: describe.kernel_expression(f"&{k}") for k in KERNELS}
    variables = {v: describe.variable_expression(v) for v in VARIABLES}
    result = compile_with_nvrtc(source, expressions=[*kernels.values(), *variables.values()])
    assert result.status == 0, result.log
    check_kernels(lambda kernel: result.lowered[kernels[kernel]])
    for name, expected in VARIABLES.items():
        assert describe.variable(result.lowered[variables[name]]) == expected


def test_host_compiler_kernel_descriptions_are_parsed(host_compiler):
    from numbalite.compilers import hostbuild
    from numbalite.compilers.source import Source

    source = HEAD + '#include "numbalite/complex.cuh"\n' + read_source("described.cu")
    unit = Source(source, kernels=tuple(KERNELS), variables=tuple(VARIABLES))
    descriptions = hostbuild.compile(unit).descriptions
    check_kernels(descriptions.__getitem__)
    for name, expected in VARIABLES.items():
        assert describe.variable(descriptions[name]) == expected


def test_reference_parameters_have_no_description(compile_with_nvrtc):
    source = HEAD + "__global__ void k(float &x) {}\n" + f'#include "{describe.HEADER}"\n'
    result = compile_with_nvrtc(source, expressions=[describe.kernel_expression("&k")])
    assert result.status != 0
    assert "cannot have a reference" in result.log


# ---- what it costs ----


def test_main_header_compiles_quickly(compile_with_nvrtc):
    """A plain kernel compiles in at most 1.3 times the time with numbalite.cuh before it (measured:
    1.06).

    The test measures processor time, so that other processes have no influence.
    """

    def compile_seconds(source):
        start = time.process_time()
        assert compile_with_nvrtc(source).status == 0
        return time.process_time() - start

    compile_seconds(KERNEL), compile_seconds(HEAD + KERNEL)
    pairs = [(compile_seconds(KERNEL), compile_seconds(HEAD + KERNEL)) for _ in range(15)]
    plain, with_head = (min(column) for column in zip(*pairs, strict=True))
    assert with_head <= 1.3 * plain


def test_main_header_adds_no_code(compile_with_nvrtc):
    assert len(compile_with_nvrtc(HEAD + KERNEL).cubin) == len(compile_with_nvrtc(KERNEL).cubin)
