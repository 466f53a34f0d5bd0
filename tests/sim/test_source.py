"""Tests the changes that the translation makes in a source, and the parts that it does not
change."""

from __future__ import annotations

import pytest

from numbalite.compilers.sim import divisions
from numbalite.compilers.sim.translation import translate_source

REFERENCE = "::numbalite_sim::dynamic_shared"


def collapse_whitespace(text):
    return " ".join(text.split())


LASTING = "NUMBALITE_SIM_CONSTANT "


@pytest.mark.parametrize(
    "source",
    [
        "__global__ void k(int* x) { x[0] = 1 << 3 >> 2; }",
        '// extern __shared__ int s[];\n/* asm("x") */ __global__ void k() {}',
        'const char* t = "extern __shared__ int s[]; asm(1) <<<";',
        "__global__ void k() { __shared__ float s[4]; volatile __shared__ int v; }",
        "int basm(int); int k() { return basm(1); }",
        "#pragma once\n#include <asm.h>\nint k();",
        "__constant__ float c[2] = {1, 2}; __device__ int d = 3; int k() { return thread_locals; }",
        "void k() { static __constant__ float c = 1; auto f = [] __device__ (int v) { return v; }; }",
        "void k() { struct s { int v; __device__ int get() { return v; } }; static __device__ int d; }",
        "void k() { __shared__ struct { int a; } s; __shared__ T<(1 == 2)> t; }",
        "#define CONSTANT __constant__\nvoid k() { T *p = x[1] ; }",
    ],
)
def test_other_sources_are_unchanged(source):
    assert translate_source(source).replace(LASTING, "") == source


@pytest.mark.parametrize(
    ("declaration", "type_", "name"),
    [
        ("extern __shared__ float s[];", "float [ ]", "s"),
        ("extern __shared__ unsigned char raw[];", "unsigned char [ ]", "raw"),
        ("extern __shared__ __align__(16) char s[];", "char [ ]", "s"),
        ("extern __align__(16) __shared__ char s[];", "char [ ]", "s"),
        ("alignas(16) extern __shared__ char s[];", "char [ ]", "s"),
        ("extern volatile __shared__ int s[];", "volatile int [ ]", "s"),
        ("__shared__ extern int s[];", "int [ ]", "s"),
        ("extern __shared__ float s[][16];", "float [ ] [ 16 ]", "s"),
        ("extern __shared__ pair<int, float> s[];", "pair < int , float > [ ]", "s"),
        ("extern __shared__ ns::point s[];", "ns :: point [ ]", "s"),
        ("extern __shared__ T one;", "T", "one"),
    ],
)
def test_dynamic_shared_arrays_in_functions_become_references(declaration, type_, name):
    changed = translate_source("__global__ void k() { " + declaration + " }")
    assert (
        collapse_whitespace(changed)
        == f"__global__ void k() {{ auto &{name} = {REFERENCE}<{type_}>(); }}"
    )


def test_dynamic_shared_declaration_of_several_arrays_is_translated():
    changed = translate_source("void k() { extern __shared__ float a[], b[][4]; }")
    assert f"auto &a = {REFERENCE}<float [ ]>();" in changed
    assert f"auto &b = {REFERENCE}<float [ ] [ 4 ]>();" in changed


@pytest.mark.parametrize(
    ("declaration", "definition", "variables"),
    [
        ("__shared__ union { int a; float b; } s;", "union nl_type_of_s { int a; float b; } ;", {"s": "nl_type_of_s"}),
        ("__shared__ struct T { int a, b; } s, t[3];", "struct T { int a, b; } ;", {"s": "T", "t": "T [ 3 ]"}),
        ("__shared__ class T : B { int a = 3; } s;", "class T : B { int a = 3; } ;", {"s": "T"}),
        ("volatile __shared__ struct { int a; } s;", "struct nl_type_of_s { int a; } ;", {"s": "volatile nl_type_of_s"}),
        ("__shared__ __align__(8) struct __align__(16) { int a; } s;",
         "struct __align__(16) nl_type_of_s { int a; } ;", {"s": "nl_type_of_s"}),
        ("struct T { int a; } __shared__ s;", "struct T { int a; } ;", {"s": "T"}),
        ("__shared__ struct alignas(16) T { int a; } s;", "struct alignas(16) T { int a; } ;", {"s": "T"}),
    ],
)  # fmt: skip
def test_shared_variables_of_an_inline_type_are_translated(declaration, definition, variables):
    references = " ".join(
        f'auto &{name} = ::numbalite_sim::shared_variable<{type_}, __COUNTER__>("{name}");'
        for name, type_ in variables.items()
    )
    changed = collapse_whitespace(translate_source("void k() { " + declaration + " }", True))
    assert changed == f"void k() {{ {definition} {references} }}"
    outside = collapse_whitespace(translate_source(declaration + " void k() { use(s); }", True))
    assert outside.startswith(definition) and references.split(" auto")[0] in outside


def test_macros_declaring_shared_unions_are_translated():
    text = "#define SHARED(n) __shared__ union { int a; float b; } n;\nvoid k() { SHARED(x) SHARED(y) }"
    changed = translate_source(text, True)
    assert changed.count("\n") == 1 and changed.count("nl_type_of_##n") == 2


def test_namespace_scope_dynamic_shared_arrays_are_translated():
    source = """namespace n {
extern __shared__ float s[];
template <class T> __device__ T user(int i) { return s[i]; }
__device__ int other() { return 1; }
__device__ int own(float* s) { return s[0]; }
struct A { __device__ float f() { return s[1]; } };
}
"""
    changed = translate_source(source)
    lines = changed.splitlines()
    assert lines[1] == ";"
    assert lines[2].count(f"auto &s = {REFERENCE}<float [ ]>();") == 1
    assert lines[3:5] == source.splitlines()[3:5]
    assert lines[5].count(f"auto &s = {REFERENCE}<float [ ]>();") == 1
    assert changed.count("{") == changed.count("}")


def test_static_is_removed_from_kernels():
    changed = translate_source("void k() { static __shared__ int a[2]; __shared__ static int b; }")
    assert "static" not in changed
    assert "__shared__ int a[2];" in changed


def test_unsupported_asm_becomes_a_compile_error():
    changed = translate_source('void k() { asm volatile ("x"\n : "=r"(a)); __asm__("y"); }')
    assert changed.count("NUMBALITE_SIM_ASM") == 2
    assert "volatile" not in changed


def test_second_type_of_dynamic_shared_memory_is_a_compile_error():
    kernel = "__global__ void {}() {{ extern __shared__ {} s[]; }}\n"
    told = "NUMBALITE_SIM_SHARED_TYPES(s)"
    assert told in translate_source(kernel.format("a", "int") + kernel.format("b", "float"))
    for first, second in (("int", "int"), ("unsigned int", "int unsigned"), ("float", "T")):
        assert told not in translate_source(kernel.format("a", first) + kernel.format("b", second))
    either = "#if A\nextern __shared__ int s[];\n#else\nextern __shared__ float s[];\n#endif\n"
    assert told not in translate_source(either)


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("__shared__ float s[2] = {1, 2};", "SHARED_VALUE"),
        ("static __shared__ int a{3};", "SHARED_VALUE"),
        ("__constant__ float c = 1;", "AUTOMATIC(constant)"),
        ("const __device__ float c[2] = {};", "AUTOMATIC(device)"),
        ("static thread_local int c;", "THREAD_LOCAL"),
        ("for (__typeof__(n) i = 0; i < n; ++i) f(i);", "TYPEOF"),
    ],
)
def test_unsupported_statements_are_preceded_by_a_message(statement, message):
    changed = translate_source("void k() {\n    int n = 1; " + statement + "\n}")
    assert changed.splitlines()[1].startswith(f"    int n = 1; NUMBALITE_SIM_{message} ")
    if "__shared__" not in statement:
        on_the_cpu = translate_source("void k() { " + statement + " }", kind="host")
        assert "NUMBALITE" not in on_the_cpu


@pytest.mark.parametrize(
    "source",
    [
        "@const float a = 1; namespace n { @static float b[2] = {1, 2}; }",
        "#define N 3\n@__device__ int d = N; @__constant__ float2 c = {1, 2}; extern const int e;",
        "void k() { @static float s = 1; const float c = 1; static int u; for (int i = 0;;) c = i; }",
        "struct s { static const int three = 3; const int four = 4; float v = 1; }; @s t = s();",
        "template <class T> const T one = 1; using t = int; const int f(int a = 1); constexpr int g = 3;",
        "enum e { A = 1 }; s operator==(s a, s b) { return a == b; } static_assert(1 <= 2); int k;",
        "__shared__ float w; void k() { x = y; } @const int after = 1;",
    ],
)
def test_initializers_of_static_variables_are_checked(source):
    assert translate_source(source.replace("@", "")) == source.replace("@", LASTING)


@pytest.mark.parametrize(
    ("source", "changed"),
    [
        ("switch (n) { case 0: int i = f(1, 2), *p; case 1: g(); }",
         "switch (n) { case 0: int i, * p; i = f(1, 2); NUMBALITE_SIM_JUMPED(i) case 1: g(); }"),
        ("if (n) goto end; const float c = x[0]; end: g();",
         "if (n) goto end; float c; c = x[0]; NUMBALITE_SIM_JUMPED(c) end: g();"),
        ("goto end; auto c = x[0]; end: g();",
         "goto end; decltype(::numbalite_sim::copied(x[0])) c; c = x[0]; NUMBALITE_SIM_JUMPED(c) end: g();"),
    ],
)  # fmt: skip
def test_declarations_crossed_by_goto_are_moved(source, changed):
    assert translate_source(f"void k() {{ {source} }}") == f"void k() {{ {changed} }}"


@pytest.mark.parametrize(
    "source",
    [
        "int i = 0; again: if (++i < n) goto again;",
        "switch (n) { case 0: { int i = 1; } case 1: i = 2; x = b ? c : d; }",
        "goto end; int a[2] = {1, 2}; int &r = x; int b(3); static_assert(n == 1); end: g();",
        "goto end; a == b; x.y = 3; *p = 4; n::m = 5; constexpr int c = 1; end: g();",
    ],
)
def test_local_declarations_are_unchanged(source):
    assert translate_source(f"void k() {{ {source} }}") == f"void k() {{ {source} }}"


def test_noinline_of_a_lambda_is_removed():
    changed = translate_source(
        "auto f = [&] __noinline__ (int v) { return v; }; __noinline__ int g(int);"
    )
    assert changed == LASTING + "auto f = [&]  (int v) { return v; }; __noinline__ int g(int);"


def test_nested_launches_become_calls():
    changed = translate_source(
        "void k() { a::j<int, 3><<<1, 2>>>(x); int y = 1 << 2; if (y) ::l<<<1, 2>>>(); }"
    )
    name = (
        'numbalite_sim::nl_nested<decltype(&{0}), &{0}>("{0}", ::numbalite_sim::nested_shape(1, 2))'
    )
    assert name.format("a::j<int, 3>") + "(x); int y = 1 << 2;" in changed
    assert name.format("::l") + "();" in changed
    changed = translate_source(
        "template <class T> __global__ void j(T x) {} void k() { j<<<1, 2>>>(x); }"
    )
    assert "nl_nested_by([](auto... nl_a) { j(nl_a...); }, " in changed
    assert "NUMBALITE_SIM_CHEVRONS(1, 2)(x)" in translate_source("void k() { f()<<<1, 2>>>(x); }")


def test_shared_arrays_and_asm_in_macros_are_translated():
    changed = translate_source(
        '#define SHARED(T, n) extern __shared__ T n[]; \\\n    asm("x")\nint k();\n'
    )
    assert f"auto &n = {REFERENCE}<T [ ]>();" in changed
    assert "NUMBALITE_SIM_ASM(" in changed
    assert changed.count("\n") == 3


@pytest.mark.parametrize(
    "source",
    [
        'extern __shared__\nfloat\ns[];\nvoid k() {\n asm volatile(\n"x"\n);\n s[0] = 1;\n}\n',
        "void k() { static\n__shared__ int a;\n j<<<1,\n2>>>(x);\n}\n",
    ],
)
def test_translation_keeps_line_numbers(source):
    changed = translate_source(source)
    assert changed.count("\n") == source.count("\n")
    assert changed.splitlines()[-1].strip().endswith("}")


@pytest.mark.parametrize(
    ("source", "marked"),
    [
        ("a / b", "a / # b"),
        ("a/b % c", "a/ # b % # c"),
        ("a /= b; a %= c", "a /= @ b; a %= @ c"),
        ("a / *p + a / -n + a/(T)b", "a / # *p + a / # -n + a/ # (T)b"),
        ("a / 0 + a / 2 + a / 2.5f / 0x10", "a / # 0 + a / 2 + a / 2.5f / 0x10"),
        ("a / sizeof(int) / b // c / d", "a / sizeof(int) / # b // c / d"),
        ("a /* b / c */ / /* d */ e", "a /* b / c */ / # /* d */ e"),
        ("#define A(x, y) ((x) / \\\n (y))\nint i;", "#define A(x, y) ((x) / # \\\n (y))\nint i;"),
        ("#define N A / B\n#define M N\n#if M > 2\nx / y", "#define N A / B\n#define M N\n#if M > 2\nx / # y"),
        ("#define H <a/b.h>\n#include H\n#include <c/d.h>", "#define H <a/b.h>\n#include H\n#include <c/d.h>"),
        ("V operator/(V a, V b); x = operator/(a, b); APPLY(/, b)",) * 2,
        ("(t / ...); assert(a / b); static_assert(a / b, \"\")",) * 2,
        ("a[x / y] = p.*q;",) * 2,
        ("struct s { unsigned f : 3; }; x / y",) * 2,
        ("template <class V, class S> V operator/(V a, S b) { return a.x / b; }",) * 2,
        ('printf("%d/%d", a);',) * 2,
    ],
)  # fmt: skip
def test_divisions_that_may_be_by_zero_are_marked(source, marked):
    """For g++, the divisions whose divisor may be zero are marked."""
    found = translate_source(source, spared=divisions.unmarked_macros([source]))
    found = found.replace("::numbalite_sim::by->*", "#").replace("::numbalite_sim::by =", "@")
    assert collapse_whitespace(found) == collapse_whitespace(marked)
    assert translate_source(source) == source
