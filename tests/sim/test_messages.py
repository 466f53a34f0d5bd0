"""Messages for a source that does not compile have the same form with each compiler."""

from __future__ import annotations

import re

import pytest

from numbalite.compilers import hostlog
from numbalite.compilers.source import Source
from numbalite.errors import CompileError

HEAD = '#include "numbalite.cuh"\nusing namespace numbalite;\n#line 1 "lesson.py"\n'


@pytest.fixture
def compile_error_text(compile_image):
    def compile_and_fail(source, *kernels, **fields):
        with pytest.raises(CompileError) as caught:
            compile_image(Source(HEAD + source, "whole.cu", kernels or ("k",), **fields))
        assert caught.value.source
        return str(caught.value)

    return compile_and_fail


def test_message_has_file_line_and_source(compile_error_text):
    text = compile_error_text("__global__ void k(float* x) {\n    x[0] = undefined_x;\n}")
    first, shown = text.splitlines()[:2]
    assert first.startswith("lesson.py(2): error: ") and "undefined_x" in first
    assert shown.strip() == "x[0] = undefined_x;"


def test_error_in_a_header_of_ours_is_at_the_users_line(compile_error_text):
    text = compile_error_text("__global__ void k(array<float> a) {\n    a(0, 1) = 2;\n}")
    assert text.startswith('lesson.py(2): error: static assertion failed with "a(i, j, ...)')
    assert "sim/" not in text and ".cuh" not in text


def test_too_much_shared_memory_is_a_compile_error(compile_error_text):
    """The size of an array must be a constant, and all dynamic shared arrays have one type."""
    text = compile_error_text(
        "__global__ void k(int* x) {\n    __shared__ int a[warpSize];\n    x[0] = a[0];\n}"
    )
    assert text.startswith("lesson.py(2): error: ") and "warpSize" in text
    kernel = "__global__ void {}({}* x) {{ extern __shared__ {} s[]; x[0] = s[0]; }}\n"
    text = compile_error_text(
        kernel.format("k", "int", "int") + kernel.format("j", "float", "float")
    )
    assert text.startswith("lesson.py(2): error: extern __shared__ s has another type further up")


def test_error_positions_name_the_notebook_cell(compile_error_text):
    source = '#line 3 "<cell [1]: x>"\n__global__ void k(array<float> a) {\n    a(0, 1) = 2;\n}'
    assert compile_error_text(source).startswith("<cell [1]: x>(4): error: ")


@pytest.mark.parametrize(
    ("source", "place", "words"),
    [
        ('__global__ void k(int* x) {\n asm("mov.u32 %0, %%envreg3;" : "=r"(x[0]));\n}', 2, "inline PTX (asm)"),
        ("__global__ void k(void (**j)()) {\n\n (*j)<<<1, 2>>>();\n}", 3, "a launch of a kernel without a name"),
    ],
)  # fmt: skip
def test_unsupported_features_are_compile_errors(compile_error_text, source, place, words):
    text = compile_error_text(source)
    assert text.startswith(f"lesson.py({place}): error: {words}")
    assert "cannot run on the CPU simulator" in text


def test_texture_references_have_a_message(compile_error_text):
    source = "texture<float, 1, cudaReadModeElementType> t;\n__global__ void k() {}"
    assert "texture references are gone since CUDA 12" in compile_error_text(source)


def first_errors(text):
    """Returns {line of lesson.py: first message about this line}."""
    found = {}
    for line, said in re.findall(r"^lesson\.py\((\d+)\): error: (.*)$", text, re.M):
        found.setdefault(int(line), said)
    return found


@pytest.mark.parametrize("name", ["cuFFTDx", "cuBLASDx", "cuSOLVERDx", "cuRANDDx", "nvCOMPDx"])
def test_mathdx_raises_on_the_simulator(compile_error_text, name):
    text = compile_error_text(f"#include <{name.lower()}.hpp>\n__global__ void k() {{}}")
    assert re.match(rf"lesson\.py\(1\): error: {name} .* cannot run on the CPU simulator", text)


def test_cub_headers_are_included_individually(compile_error_text):
    text = compile_error_text("#include <cub/cub.cuh>\n__global__ void k() {}")
    assert text.startswith("lesson.py(1): error: <cub/cub.cuh> also contains host code")


EXTENSIONS = [
    "int n = x[0]; float s[n]; x[0] = s[0];",
    "float4 v = (float4){1, 2, 3, 4}; x[0] = v.x;",
    "x[0] = ({ int q = 3; q + 1; });",
    "int n = x[0]; x[0] = n ?: 3;",
    "switch ((int)x[0]) { case 0 ... 3: x[0] = 1; }",
    "struct { int n; float a[0]; } s; x[0] = sizeof s;",
    "struct { int n; float a[]; } *s = 0; x[0] = sizeof *s;",
    "void* p = &&end; if (x[0] > 3) goto *p; end: x[0] = 1;",
    "struct { int a, b; } p = {.a = 1, .b = 2}; x[0] = p.a + p.b;",
    "auto f = []<typename T>(T v) { return v; }; x[0] = f(1);",
    "for (int c = 0; int i : {1, 2}) x[0] += i + c;",
    # Errors that numbalite itself reports; with such an error, the compilers' messages are omitted
    # out.
    "__typeof__(x[0]) v = 1; x[0] = v;",
    "if (x[0] > 3) __extension__ x[0] = 1;",
    "static thread_local int calls; x[0] = calls++;",
    "__shared__ float s[32] = {}; x[0] = s[0];",
    "static __shared__ int a, b = 1; x[0] = b;",
    "__shared__ float2 v{1, 2}; x[0] = v.x;",
    "__constant__ float c = 1; x[0] = c;",
    "const __device__ float c[2] = {1, 2}; x[0] = c[0];",
]


@pytest.mark.parametrize("chosen", [EXTENSIONS[:11], EXTENSIONS[11:]], ids=["theirs", "ours"])
def test_host_compiler_extensions_are_errors(compile_error_text, chosen):
    kernels = (f"__global__ void k{i}(float* x) {{ {body} }}\n" for i, body in enumerate(chosen))
    text = compile_error_text("".join(kernels), "k0")
    assert list(first_errors(text)) == [1 + i for i in range(len(chosen))] and "-W" not in text


def test_host_compiler_extensions_in_user_headers_are_errors(
    compile_error_text, compile_image, tmp_path
):
    header = tmp_path / "mine.h"
    header.write_text("\ntemplate <class T> void f(T* x, int n) {\n  T a[n]; x[0] = a[0];\n}\n")
    source = f'#include "{header}"\n__global__ void k(float* x) {{ f(x, 3); }}'
    with pytest.raises(CompileError) as caught:
        compile_image(Source(HEAD + source, "whole.cu", ("k",)))
    assert f"{header}(3): error: " in str(caught.value)


def test_sources_accepted_by_nvrtc_compile(compile_image):
    source = """
    __global__ void k(float* x, long long n) {
        float a[2] = {n, 2.5};
        int3 p{n, 1, 2};
        for (float v : {1.0f, 2.0f}) a[0] += v;
        __int128 wide = n;
        auto f = [=] __device__ (int v) { return v + p.x + (int)wide; };
        auto g = [=] __noinline__ (int v) { return f(v) + 1; };
        auto h = [=](int v) __noinline__ { return g(v); };
        static __constant__ float table[2] = {1, 2};
        static __device__ int calls = 0;
        struct own { float v; __device__ float get() const { return v; } };
        __shared__ struct { float v[2]; } shared;
        __shared__ union { int i; float v; } either;
        shared.v[0] = either.v = own{1.0f}.get();
        x[0] = h(a[0]) + table[n & 1] + calls;;
    }
    """
    assert compile_image(Source(HEAD + source, "whole.cu", ("k",))).data


def test_host_headers_are_rejected_as_on_a_gpu(compile_error_text, compile_image):
    text = compile_error_text("\n#include <vector>\n__global__ void k() {}")
    assert text.startswith("lesson.py(2): error: kernels cannot use the C++ library of the host")
    assert "#include <vector>" in text and "host_library.h" not in text
    source = (
        "#ifndef __CUDACC_RTC__\n#include <vector>\n#endif\n#include <list>\n__global__ void k() {}"
    )
    assert compile_image(
        Source(source, "whole.cu", ("k",), describe=False, headers=(("list", ""),))
    ).data
    assert "NUMBALITE_SIM" not in text


def test_simulator_macro_excludes_unsupported_code(compile_image):
    source = """#ifndef NUMBALITE_SIM
#include <mma.h>
#endif
__global__ void k(unsigned* x) {
#ifdef NUMBALITE_SIM
    x[0] = threadIdx.x & 31;
#else
    asm("mov.u32 %0, %%laneid;" : "=r"(x[0]));
#endif
}"""
    assert compile_image(Source(HEAD + source, "whole.cu", ("k",))).data


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("__global__ void k(float* x) {\n x[0] = 1;\n", 'lesson.py(1): error: this "{" is never closed'),
        ("__global__ void other() {}", 'in the name "k": '),
        ("__global__ int k() { return 1; }", 'in the name "k": a kernel is a __global__ function'),
        ("#include <no_such.h>\n__global__ void k() {}", "lesson.py(1): error: cannot open source file"),
        ("__device__ int f(int);\n__global__ void k(int* x) { x[0] = f(1); }",
         'error: "f'),
        ("__global__ void k(float* x) {\n __shared__ float big[12289];\n big[threadIdx.x] = 1;\n"
         " __syncthreads();\n x[0] = big[7];\n}", 'error: the shared variable "big" has 49156 bytes'),
        ("__global__ void k(float* x) {\n __shared__ float a[6000], b[6500];\n a[threadIdx.x] = b[threadIdx.x] = 1;\n"
         " __syncthreads();\n x[0] = a[7] + b[8];\n}", 'error: the shared variables "b", "a" have 50000 bytes together'),
        ("__constant__ double big[8193];\n__global__ void k(double* x) {\n x[0] = big[7];\n}",
         'error: the constant variable "big" has 65544 bytes, 65536 are possible'),
        ("namespace n { __constant__ float a[9000]; }\n__constant__ double b[8000];\n"
         "__global__ void k(double* x) {\n x[0] = n::a[7] + b[x[1] > 0];\n}",
         'error: the constant variables "b", "n::a" have 100000 bytes together'),
        ("__global__ void k() {\n threadIdx.x = 3;\n}", "lesson.py(2): error: "),
        ("__global__ void k(float* x) {\n x[0] = sin(1);\n}", "lesson.py(2): error: call "),
    ],
)  # fmt: skip
def test_compiler_messages_use_nvccs_wording(compile_error_text, source, text):
    found = compile_error_text(source)
    assert found.startswith(text), found
    assert text != 'error: "f' or found.endswith('" is declared and used, but not defined')
    assert len(found.splitlines()) <= 4


@pytest.mark.parametrize("statement", ["q = q / n;", "q /= n;", "q.x = n / &q;"])
def test_invalid_operands_have_nvccs_message(compile_error_text, statement):
    text = compile_error_text("__global__ void k(int n) {\n    float2 q;\n    " + statement + "\n}")
    first, shown = text.splitlines()[:2]
    assert first.startswith("lesson.py(3): error: ") and text.count("error:") == 1
    assert ("'int'" in first and "float2" in first) or "'/='" in first
    assert "numbalite" not in text
    assert shown.strip() == statement


SOURCE = "__global__ void k(int* x, int n) {\n    x[0] = n / n + wrong / n;\n}\n"


@pytest.mark.parametrize("text", [SOURCE, "one = r'''\n" + SOURCE, None])
def test_caret_is_below_the_error(compile_image, tmp_path, text):
    """The caret is right whether a file of the source's name has the same text, another text, or
    does not exist; marks of divisions do not move the caret."""
    path = tmp_path / "user.cu"
    if text is not None:
        path.write_text(text)
    with pytest.raises(CompileError) as caught:
        compile_image(Source(SOURCE, str(path), ("k",)))
    shown, below = str(caught.value).splitlines()[1:3]
    assert shown.strip() == "x[0] = n / n + wrong / n;"
    assert below.index("^") == shown.index("wrong")


def test_caret_is_correct_in_a_one_line_string(compile_image, tmp_path):
    path = tmp_path / "user.py"
    path.write_text("SOURCE = '__global__ void k(int* x) {\\n    x[0] = wrong;\\n}'\n")
    source = f'__global__ void k(int* x) {{\n#line 1 "{path}"\n    x[0] = wrong;\n#line 1\n}}\n'
    with pytest.raises(CompileError) as caught:
        compile_image(Source(source, str(path), ("k",)))
    shown, below = str(caught.value).splitlines()[1:3]
    assert shown.strip() == "x[0] = wrong;" and below.index("^") == shown.index("wrong")


def test_chained_comparisons_compile(compile_image):
    """NVRTC accepts these sources with a warning; clang++ 22 reports errors."""
    assert compile_image(
        Source("__global__ void k(bool* x, int a) { x[0] = 3 > 2 > a; }", "user.cu", ("k",))
    )


def test_unknown_compiler_option_raises(compile_error_text):
    assert "'--no-such-thing' is not supported" in compile_error_text(
        "__global__ void k() {}", options=("--no-such-thing",)
    )


def test_compile_error_keeps_the_compiler_log(compile_image):
    with pytest.raises(CompileError) as caught:
        compile_image(Source("__global__ void k() { x; }", "user.py", ("k",)))
    assert "error" in caught.value.log and caught.value.source == "__global__ void k() { x; }"


def test_source_lines_are_mapped_by_line_directives():
    found = hostlog.texts_by_line('#line 7 "a.py"\none\ntwo\n#line 3\nthree\n# 9 "b\\"c"\nfour')
    assert found == {
        ("a.py", 7): "one",
        ("a.py", 8): "two",
        ("a.py", 3): "three",
        ('b"c', 9): "four",
    }
