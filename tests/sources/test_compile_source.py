"""Tests compile_source with the real NVRTC, which needs no GPU: names, types, messages, headers, the
cache."""

import os

import pytest
from kit.needs import needs_nvrtc

from numbalite import compilers, errors
from numbalite.compilers import Source, compile_source, headers, nvrtc, toolkit

pytestmark = [needs_nvrtc, pytest.mark.usefixtures("own_cache")]

HEAD = '#include "numbalite.cuh"\nusing namespace numbalite;\n'
GPU = ("cuda", 9, 0)


def test_image_has_lowered_names_and_descriptions():
    from numbalite.types import describe

    unit = Source(
        HEAD + "__constant__ float table[3][4];\n"
        "template <typename T> __global__ void k(T a, const T* x, array<int, 2> y) {}\n",
        kernels=("k<float>", "k<double>"),
        variables=("table",),
    )
    image = compile_source(unit, GPU)
    assert image.kind == "cubin" and image.arch == "sm_90" and image.data[:4] == b"\x7fELF"
    assert image.lowered["k<float>"].startswith("_Z1kIfE") and image.lowered["table"] == "table"
    assert b".entry" in image.ptx and image.source == unit.text
    kinds = [one.kind for one in describe.parameters(image.descriptions["k<double>"])]
    assert kinds == ["scalar", "pointer", "array"]
    dtype, shape = describe.variable(image.descriptions["table"])
    assert (str(dtype), tuple(shape)) == ("float32", (3, 4))


def test_second_compilation_uses_the_cache():
    unit = Source(HEAD + "__global__ void k() {}", kernels=("k",))
    before = compilers.compile_count()
    first = compile_source(unit, GPU)
    assert compile_source(unit, GPU) == first
    assert compilers.compile_count() == before + 1
    compile_source(unit.replace(fastmath=True), GPU)
    compile_source(unit, ("cuda", 8, 0))
    assert compilers.compile_count() == before + 3


def test_changed_header_recompiles_the_source(tmp_path):
    header = tmp_path / "mine.h"
    unit = Source(
        '#include <mine.h>\nextern "C" __global__ void k(int* x) { *x = VALUE; }\n',
        kernels=("k",),
        describe=False,
        options=(f"-I{tmp_path}",),
    )
    header.write_text("#define VALUE 17\n")
    first = compile_source(unit, GPU)
    header.write_text("#define VALUE 18\n")
    assert compile_source(unit, GPU).ptx != first.ptx


def test_a_gpu_newer_than_the_compiler_gets_ptx():
    image = compile_source(Source(HEAD + "__global__ void k() {}", kernels=("k",)), ("cuda", 99, 0))
    assert image.kind == "ptx" and image.data.endswith(b"\0") and b".entry" in image.data


def test_environment_variable_forces_the_architecture(monkeypatch):
    monkeypatch.setenv("NUMBA_FORCE_CUDA_CC", "8.0")
    image = compile_source(Source(HEAD + "__global__ void k() {}", kernels=("k",)), GPU)
    assert image.arch == "sm_80"


@pytest.mark.parametrize(
    "fields",
    [
        {"fastmath": True},
        {"debug": True},
        {"lineinfo": True, "opt": 1, "max_registers": 32},
        {"std": "c++20"},
        {"options": ("--std=c++14", "-arch=sm_80", "--use_fast_math")},
        {"headers": (("mine.h", "#define MINE 1\n"),)},
    ],
    ids=str,
)
def test_each_compiler_option_compiles(fields):
    compile_source(Source(HEAD + "__global__ void k() {}", kernels=("k",), **fields), GPU)


def test_features_requiring_an_option_get_a_hint():
    source = """__global__ void k(long long n, int* x) {
        __int128 wide = n;
        auto f = [=] __device__ (int v) { return v + (int)wide; };
        auto g = [&] __host__ __device__ { return f(1); };
        x[0] = g();
    }"""
    assert compile_source(Source(HEAD + source, kernels=("k",)), GPU).data


# ---- what goes wrong


def compile_error_of(source, **fields):
    with pytest.raises(errors.CompileError) as caught:
        compile_source(Source(HEAD + source, **{"kernels": ("k",), **fields}), GPU)
    return caught.value


def test_errors_name_the_users_line():
    problem = compile_error_of(
        '#line 14 "lesson.py"\nextern "C" __global__ void k(float* x) { int unused; *x = undefined_x; }'
    )
    assert str(problem).startswith('lesson.py(14): error: identifier "undefined_x" is undefined')
    assert "unused" not in str(problem).partition("\n")[0] and "warning" not in str(problem)
    assert "undefined_x" in problem.log and "undefined_x" in problem.source


def test_wrong_kernel_names_are_reported():
    text = str(
        compile_error_of("template <class T> __global__ void k(T* x) {}", kernels=("k<flot>", "q"))
    )
    assert 'in the name "k<flot>": error: identifier "flot" is undefined' in text
    assert 'in the name "q": error: identifier "q" is undefined' in text
    assert "nv_name" not in text and "describe" not in text
    assert 'in the name "k"' in str(
        compile_error_of("template <class T> __global__ void k(T* x) {}")
    )


def test_library_header_errors_name_the_users_line():
    start = '#line 14 "lesson.py"\nextern "C" __global__ void k(array<float, 1> x) {\n'
    wrong = compile_error_of(start + "x(1, 2) = 1; }")
    assert str(wrong).startswith("lesson.py(15): error: ") and "one index for each" in str(wrong)
    for body in ("x = 3; }", "grid<4>(); }"):
        text = str(compile_error_of(start + body))
        assert text.startswith("lesson.py(15): error: ") and ".cuh(" not in text


def test_unknown_compiler_option_is_reported():
    assert "--nonsense" in str(compile_error_of("", options=("--nonsense",)))


def test_missing_toolkit_header_names_its_package(monkeypatch):
    monkeypatch.setattr(toolkit, "include_directories", lambda path=None: ())
    text = str(compile_error_of("#include <cooperative_groups.h>\n"))
    assert "pip install" in text and "nvidia-cuda-runtime" in text


# ---- the standard headers that NVRTC lacks

STANDARD = sorted(os.listdir(os.path.join(headers.cuda_src(), "std")))
NEEDS_TOOLKIT = """array atomic bit chrono complex concepts functional iterator limits numeric optional
    ratio span tuple type_traits""".split()


def has_cccl():
    found = toolkit.include_directories(toolkit.nvrtc_library().path)
    return "cccl" not in [part for part, _ in toolkit.missing_toolkit_parts(found)]


@pytest.mark.parametrize("header", [h for h in STANDARD if h not in NEEDS_TOOLKIT])
def test_each_standard_header_compiles_without_the_toolkit(header, monkeypatch):
    monkeypatch.setattr(toolkit, "include_directories", lambda path=None: ())
    image = compile_source(
        Source(f"#include <{header}>\n{HEAD}__global__ void k() {{}}", kernels=("k",)), GPU
    )
    assert image.log == ""


def test_standard_headers_of_the_toolkit_compile():
    if not has_cccl():
        pytest.skip("the toolkit's C++ library is not installed")
    found = toolkit.include_directories(toolkit.nvrtc_library().path)
    lacking = [n for n in NEEDS_TOOLKIT if not headers.find_header(f"cuda/std/{n}", found)]
    for name in lacking:  # headers of newer releases, such as <numeric> in CUDA 12.3 to 12.5
        message = str(compile_error_of(f"#include <{name}>\n__global__ void k() {{}}"))
        assert f'"cuda/std/{name}" is a header of the CUDA toolkit' in message
        assert "pip install -U nvidia-cuda-cccl" in message
    text = "".join(f"#include <{name}>\n" for name in STANDARD if name not in lacking)
    image = compile_source(
        Source(
            HEAD + text + "__global__ void k(float* x) {\n"
            "auto [a, b] = std::make_tuple(1, 2.0f);\n"
            'static_assert(std::is_same<int, decltype(a)>::value, "");\n'
            "x[0] = std::numeric_limits<float>::max() + std::min(a, 2) + std::sqrt(b) + M_PI + INT_MAX;\n"
            "}",
            kernels=("k",),
        ),
        GPU,
    )
    assert image.log == "", "no warning about headers that are not the user's"


def test_standard_names_without_toolkit(monkeypatch):
    monkeypatch.setattr(toolkit, "include_directories", lambda path=None: ())
    source = """
#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <cstddef>
#include <utility>
__global__ void k(float* x, std::uint64_t n) {
    static_assert(sizeof(int64_t) == 8 && sizeof(std::int8_t) == 1, "");
    float a = std::max(x[0], x[1]), b = std::clamp(x[2], 0.0f, 1.0f);
    std::swap(a, b);
    auto both = std::make_pair(a, b);
    x[0] = std::sqrt(both.first) + std::pow(b, 2) + std::isnan(a) + M_PI + FLT_MAX + INFINITY + UINT32_MAX;
    x[1] = std::strlen("text") + offsetof(float4, y) + INT64_C(3);
}"""
    if nvrtc.open_library()[1] < (12, 2):
        assert "_Z5powiffi" in str(compile_error_of(source))
        source = source.replace("std::pow(b, 2)", "std::pow(b, 2.0f)")
    compile_source(Source(HEAD + source, kernels=("k",)), GPU)
