"""Tests the scanner of C++ text: tokens, kernels, variables, and the names that a source uses but
does not define."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kit.timing import grows_linearly

from numbalite.cxx import scanner
from numbalite.cxx.freenames import free_names


def token_texts(source):
    return [t.text for t in scanner.tokenize(source)]


def test_cpp_source_is_split_into_tokens():
    assert token_texts("a->b::c(1.5e-3f, 0x1'000u) // no\n/* no */ x...;") == [
        "a", "->", "b", "::", "c", "(", "1.5e-3f", ",", "0x1'000u", ")", "x", "...", ";"
    ]  # fmt: skip
    assert token_texts(r'''"a\"b" 'c' '\'' R"x(raw ")" )x" u8"y" "open''') == [
        r'"a\"b"', "'c'", r"'\''", 'R"x(raw ")" )x"', 'u8"y"', '"open'
    ]  # fmt: skip
    assert token_texts("  #define A \\\n  1\nint x;") == ["#define A \\\n  1", "int", "x", ";"]
    assert token_texts("a # b") == ["a", "#", "b"]


def test_strip_keeps_line_numbers():
    source = 'int a; // __global__\n#define X "y"\n/* two\nlines */ char c = \'"\'; int b;\n'
    stripped = scanner.blank_comments(source)
    assert stripped.count("\n") == source.count("\n") and "X" not in stripped
    assert stripped.split() == ["int", "a;", "char", "c", "=", ";", "int", "b;"]


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=60) | st.text("ab{}()[]<>;,:*&\"'\\/#\n __global__=.", max_size=60))
def test_scanner_accepts_arbitrary_text(source):
    scanner.scan_source(source)
    scanner.blank_comments(source)
    scanner.functions(source)
    scanner.find_broken_string(source)
    free_names(source)


KERNELS = [
    ("__global__ void k(float* x, int n) {}", "k", ("x", "n")),
    ("__global__ void k() {}", "k", ()),
    ("__global__ void k(void) {}", "k", ()),
    ("void __global__ k(int a) {}", "k", ("a",)),
    ('extern "C" __global__ void k(int a) {}', "k", ("a",)),
    ('extern "C" { __global__ void k(int a) {} }', "k", ("a",)),
    ("static __global__ void __launch_bounds__(128, 2) k(int a) {}", "k", ("a",)),
    ("__global__ __launch_bounds__(N > 1 ? 2 : 3) void k(int a) {}", "k", ("a",)),
    ("__global__ void __cluster_dims__(2, 1, 1) k(int a) {}", "k", ("a",)),
    ("[[maybe_unused]] __global__ void k([[maybe_unused]] int a) {}", "k", ("a",)),
    ("__global__ __attribute__((noinline)) void k(int a) {}", "k", ("a",)),
    ("namespace a { namespace b { __global__ void k(int a) {} } }", "a::b::k", ("a",)),
    ("namespace a::b { __global__ void k(int a) {} }", "a::b::k", ("a",)),
    ("namespace { __global__ void k(int a) {} }", "k", ("a",)),
    ("inline namespace v1 { __global__ void k(int a) {} }", "v1::k", ("a",)),
    ("namespace q = other; __global__ void k(int a) {}", "k", ("a",)),
    ("__global__ auto k(int a) -> void {}", "k", ("a",)),
    ("__global__ void k(const float* __restrict__ x, const int n = 3 + 4) {}", "k", ("x", "n")),
    ("__global__ void k(array<float, 2> a, tuple<int, int> t = {1, 2}) {}", "k", ("a", "t")),
    ("__global__ void k(unsigned n, unsigned, std::size_t, struct S s, S, S *) {}", "k",
     ("n", "", "", "s", "", "")),
    ("__global__ void k(float (*f)(int, int), float (&r)[3], float m[4]) {}", "k", ("f", "r", "m")),
    ("__global__ void k(__grid_constant__ const Params p, alignas(16) int q) {}", "k", ("p", "q")),
    ("struct S { int a; } s = {1}; int v[] = {1, 2};\n__global__ void k(S s) {}", "k", ("s",)),
    ("template <class T> struct Q { void f() {} };\n__global__ void k(Q<int> q) {}", "k", ("q",)),
    ("template __global__ void k<float>(float* x);", "k<float>", ("x",)),
    ("enum class E { a, b };\n__global__ void k(E e) {}", "k", ("e",)),
]  # fmt: skip


@pytest.mark.parametrize("source, name, parameters", KERNELS)
def test_kernel_definitions_are_found(source, name, parameters):
    (kernel,), _ = scanner.scan_source(source)
    assert (kernel.name, kernel.parameters) == (name, parameters)
    assert not kernel.template and not kernel.conditional and kernel.returns_void


@pytest.mark.parametrize(
    "head",
    ["template <typename T>", "template <class T, int N = (3 > 2), class... U>",
     "template <typename T = array<float, 2>>", "template <class T> requires (sizeof(T) == 4)"],
)  # fmt: skip
def test_template_kernels_are_found(head):
    (kernel,), _ = scanner.scan_source(
        f"{head}\n__global__ void saxpy(T a, const T* x, U... rest) {{}}"
    )
    assert kernel.name == "saxpy" and kernel.template and kernel.line == 1
    assert kernel.parameters == ("a", "x", "")


def test_scanner_finds_no_kernel_in_comments_strings_and_macros():
    source = r"""
    // __global__ void a() {}
    /* __global__ void b() {} */
    const char* text = "__global__ void c() {}", *raw = R"(__global__ void d() {})";
    #define KERNEL __global__ void e() {}
    __device__ void f() { int __global = 0; }
    """
    assert scanner.scan_source(source)[0] == [] and not scanner.has_kernel(source)
    assert scanner.has_kernel("__global__ void k() {}")


def test_kernel_declarations_are_not_kernels():
    source = "extern __global__ void a(int*); __global__ void b(int*); __global__ void b(int*) {}"
    assert [k.name for k in scanner.scan_source(source)[0]] == ["b"]


def test_prototypes_and_specializations_are_one_kernel():
    source = """__global__ void k(float*); __global__ void k(float* x) {}
    template <class T> __global__ void t(T* x);
    template <> __global__ void t<float>(float* x) {}"""
    kernels, _ = scanner.scan_source(source)
    assert [k.name for k in kernels] == ["k", "t"]


def test_conditional_kernels_are_marked_except_in_include_guards():
    source = "#ifndef A_H\n#define A_H\n__global__ void a() {}\n#if X\n__global__ void b() {}\n#endif\n#endif"
    kernels, _ = scanner.scan_source(source)
    assert [(k.name, k.conditional) for k in kernels] == [("a", False), ("b", True)]


def test_scanner_marks_kernels_with_a_return_type():
    (kernel,), _ = scanner.scan_source("__global__ int k(float* x) { return 1; }")
    assert not kernel.returns_void


@pytest.mark.parametrize(
    "source, names",
    [
        ("__constant__ float c[3] = {1, 2, 3};", ["c"]),
        ("__constant__ float a, b[2], *p = nullptr, d = f(1, 2);", ["a", "b", "p", "d"]),
        ("__device__ int n{0};", ["n"]),
        ("static __device__ array<float, 2> v;", ["v"]),
        ("alignas(16) __constant__ double x[4][5];", ["x"]),
        ("__managed__ int m; __device__ __managed__ int q;", ["m", "q"]),
        ("namespace a { __constant__ int n; }", ["a::n"]),
        ("__constant__ struct P { float a; int b[3]; } p;", ["p"]),
        ('extern "C" __device__ int n;', ["n"]),
        ('extern "C" { __constant__ int n; }', ["n"]),
        ("extern __constant__ float c[3];", []),
        ("__device__ float f(float x) { static int n; return x; }", []),
        ("__device__ float f(float);", []),
        ("template <class T> __device__ T pi = T(3.14);", ["pi"]),
        ("struct S { __device__ void m() {} int n; };", []),
        ("struct alignas(8) S { __device__ S() {} };", []),
        ("__global__ void k() { __shared__ float s[3]; }", []),
        ("__constant__ int a = 1 < 2, b = 3;", ["a", "b"]),
    ],
)
def test_device_variables_are_found(source, names):
    assert [v.name for v in scanner.scan_source(source)[1]] == names


def test_device_functions_are_found():
    source = "__device__ int f(int a) { return a; }\ntemplate <class T> __device__ T g(T a) { return a; }"
    assert list(scanner.functions(source)) == ["f", "g"]


def test_function_names_and_calls_are_found():
    source = """
    __device__ void inner() { this_grid().sync(); }
    namespace a { __device__ void outer() { inner(); } }
    template <class T> __global__ void direct(T* x) { this_grid(); }
    __global__ void indirect() { a::outer(); }
    __global__ void none() { /* this_grid */ none(); }"""
    words = {"this_grid"}
    found = [
        k for k in ("direct<float>", "indirect", "none") if scanner.uses_names(source, k, words)
    ]
    assert found == ["direct<float>", "indirect"]


def test_unterminated_string_line_is_found():
    assert scanner.find_broken_string('a;\nprintf("hi\n");') == 1
    assert scanner.find_broken_string(r'printf("hi\n"); R"(two' + "\n" + 'lines)"') is None


# --- free names ----------------------------------------------------------------------------------------


def free_names_in(source, *parameters):
    return set(free_names(source, parameters))


@pytest.mark.parametrize(
    "source, names",
    [
        ("y[i] = a * x[i];", {"y", "i", "a", "x"}),
        ("float x = N; x += M;", {"N", "M"}),
        ("float a = 0, b = N, *c = &a; a + b + *c;", {"N"}),
        ("auto [a, b] = f(); const auto& [c, d] = g; a + b + c + d;", {"f", "g"}),
        ("for (int i = 0, n = N; i < n; ++i) s += i; i;", {"N", "s", "i"}),
        ("for (int i = 0; i < 3; ++i) { i; } j;", {"j"}),
        ("for (auto& v : list) v = 1; v;", {"list", "v"}),
        ("{ int i = 0; i; } i;", {"i"}),
        ("int i = 0; { i; } i;", set()),
        ("a.shape[0]; p->size; std::max(u, v); Q::r;", {"a", "p", "u", "v"}),
        ("__shared__ float tile[TILE][TILE + 1]; tile[0][0];", {"TILE"}),
        ("auto f = [&](float u, real v) { return u * v + w; }; f(1, 2); u;",
         {"real", "w", "u"}),
        ("if (int k = f()) k; else k + 1; k;", {"f", "k"}),
        ("T* p = q; real* r = p; r[0] = a * b;", {"T", "q", "real", "a", "b"}),
        ("array<float, 2> t = y; t(0, 0);", {"array", "y"}),
        ("bool z = a > q; z;", {"a", "q"}),
        ("if (a < b && c > d) e;", {"a", "b", "c", "d", "e"}),
        ("struct S { int m; }; S s; s.m;", set()),
        ("using real = float; real x = 1; x;", set()),
        ("typedef float real; real x = 1; x;", set()),
        ("unsigned n = 3; const auto m = n;", set()),
        ("return x;", {"x"}),
        ("decltype(a) b = a; b;", {"a"}),
        ("cg::thread_block g = cg::this_thread_block(); g.sync();", set()),
        ("x == y; f(a, b * c); (a * d);", {"x", "y", "f", "a", "b", "c", "d"}),
        ("static_cast<float>(x); sizeof(y);", {"x", "y"}),
        ("threadIdx.x + blockDim.x; printf(\"N\");", set()),
        ("float s[3] = {A, B, C}; s;", {"A", "B", "C"}),
        ("int a(N); float b{M}; a + b;", {"N", "M"}),
        ("x = a ? b : c;", {"x", "a", "b", "c"}),
        ("case 1: y = K; break; default: z = 1;", {"y", "K", "z"}),
    ],
)  # fmt: skip
def test_free_names_of_a_body_are_found(source, names):
    assert free_names_in(source) == names


def test_parameters_are_not_free_names():
    assert free_names_in("y[i] = N;", "y", "i") == {"N"}


def test_free_names_have_their_kind_of_use():
    names = free_names("grid<1>(); sin(x); N < M; f<float, 2>(1); K;\n#if DIM == 2\n#endif\n")
    assert names["grid"] == names["f"] == {"template"} and names["sin"] == {"call"}
    assert names["N"] == {"value"} and names["K"] == {"value"} and names["DIM"] == {"directive"}


def test_macro_names_are_not_free():
    names = free_names("#define SQ(v) ((v) * SCALE)\n#define N 3\ny = SQ(x) + N;")
    assert set(names) == {"SCALE", "y", "x"} and names.defined == {"SQ", "N"}


def test_non_ascii_names_are_free_names():
    assert free_names_in("return σ * α_1;") == {"σ", "α_1"}


def test_usable_names_of_a_function_are_found():
    text = """
    __device__ int a, b, c, d;
    #define MACRO(x) \\
        (a + x)
    struct S { int operator()() { return b; } };
    __device__ int helper() { return MACRO(1); }
    int operator+(S, S) { return c; }
    __global__ void one() { helper(); }
    __global__ void two() { d = 1; }
    """
    used = {"one": "abc", "two": "bcd"}
    for kernel, names in used.items():
        found = scanner.reachable_names(text, kernel)
        assert [n for n in "abcd" if found.count(n) > 1] == list(names), kernel


def test_the_time_for_free_names_grows_linearly():
    def make_search(count):
        text = "".join(f"float f{i}(float x) {{ return x * {i}; }}\n" for i in range(count))

        def search_names():
            assert "x" in free_names(text + "x"), "behind all of its declarations"

        return search_names

    assert grows_linearly(make_search, 1000, 8000)


PIECES = [
    *'# %: // /* */ " \' R"( )" R"x( )x" u8 L U R u u\' LR"( abc if define 1 .5 1\'000 1e+5'.split(),
    *":: -> ... . ( ) < \\ $ @ é ²".split(),
    *["\\\n", "\\\r\n", "\n", " ", "\t", "\r\n", "\f", '"a"', "'b'", 'u8"c"', 'u8R"(d)"'],
]


@pytest.mark.parametrize("seed", range(4))
def test_tokens_cover_random_text(seed):
    """Each token of a text is at its position, and between tokens are only spaces and comments."""
    random_ = random.Random(seed)
    for _ in range(2000):
        text = "".join(random_.choice(PIECES) for _ in range(random_.randrange(14)))
        at = 0
        for token in scanner.tokenize(text):
            between = text[at : token.start]
            assert not between.strip() or between.strip().startswith(("//", "/*", "\\")), text
            assert text.startswith(token.text, token.start), text
            assert token.line == text.count("\n", 0, token.start), text
            at = token.start + len(token.text)


@pytest.mark.cases(1)
@pytest.mark.parametrize(
    "piece",
    [
        "x[0] = y + 1;\n",
        "This is prose, which ends. ",
        "([{",
        "a < b >> c\n",
        "#if A\n",
        '"abc ',
    ],
)
def test_megabytes_are_read_in_linear_time(piece):
    def make_scan(count):
        text = piece * count
        return lambda: scanner.scan_source(text)

    assert grows_linearly(make_scan, 125_000 // len(piece), 1_000_000 // len(piece))
