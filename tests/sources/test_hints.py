"""Frequent errors of Python programmers: each compiler reports such an error at its line, and a hint shows
the remedy.

NVRTC needs no GPU; the host compilers are those of the simulator.
"""

import linecache
import re

import pytest
from kit.timing import grows_linearly

from numbalite import cuda, errors
from numbalite.compilers import hints
from numbalite.cxx import linemap
from numbalite.kernels import ahead, options

A, M = "float32[:]", "float32[:, :]"
# maps a body, with @ in front of the wrong line, to the hint; x is the first array, y the second
PYTHONISMS = {
    "@y[0] = x[0] % 2.0f;": r"% is for integers: fmod\(a, b\)",
    "@x[0] %= 3;": r"% is for integers: fmod\(a, b\)",
    "@y[0] = x[0]^2;": r"\^ is for the bits of integers: powers are x \* x",
    "@y[0] = x[0] & 1;": "conditions are joined with && and",
    "int i = 1;\n@y[i] = x[i] // 2;\nx[i] = 0;": r"// begins a comment, so that line \d ends with y\[i\] = x\[i\]:",
    "@int i = 2\ny[i] = x[i];": r"line \d lacks a semicolon at its end: int i = 2",
    "float sum = 0;\nfor (auto v : x) {\n@    sum += v\n}\ny[0] = sum;": r"line \d lacks a semicolon at its end: sum \+= v",
    "@if (y[0] not in x) y[0] = 1;": "search the value in a loop",
    "@y[0] = x[0] is None;": r"x\[0\] is None does not exist in C\+\+: write x\[0\] == nullptr",
    "@y[0] = x[0] if x[0] > 0 else 0;": r"write x\[0\] > 0 \? x\[0\] : 0",
    "@i = grid<1>();\ny[i] = x[i];": "declare i with a type: auto i = ...",
    "@# a comment\ny[0] = x[0];": "does not begin a comment: write //",
    "@y[0] = x[0];  # a comment": "does not begin a comment: write //",
    "@y[1:3] = 0;": r"y\[1:3\] does not exist in C\+\+: .*one element",
    "@float32[:] v = x;": r"float32\[:\] v does not exist in C\+\+: write auto v = a;",
    "@float w[3] = [1, 2, 3];": r"= \[1, 2, 3\]; does not exist in C\+\+: write \{1, 2, 3\}",
    "@for (int i in range(3)) y[i] = 1;": r"write for \(int i = 0;",
    "@for (int i = 0, i < 3, i++) y[i] = 1;": "needs semicolons",
    "@if (1 < x.shape) y[0] = 1;": r"x\.shape needs the dimension in brackets: x\.shape\[0\]",
    "@printf('%d', 3);": r"'%d' does not exist in C\+\+: write strings in double quotes",
    '@printf(f"{x[0]}");': r'does not exist in C\+\+: write printf\("%d %f',
    "@return y[0];": r"a void function, such as a kernel, returns no value",
    "@auto [i, j] = grid<1>();": r"grid<1>\(\) is one number",
    "@int i = grid<1>;": r"grid<1> is a function",
    "@y = x * 2;": "kernels have no array arithmetic",
    "@y[0] = x.sum();": r"arrays in kernels have y\[i\], y\(i, j\)",
    "@float *p = x;": r"use x\.data\(\)",
    "@std::vector<float> v;": "no containers and streams",
    "@syncthreads();": r"write __syncthreads\(\)",
    "@let i = 3;": r"write auto i",
    "@y[0] = __shfl_down(x[0], 1);": r"__shfl_down_sync\(0xffffffff, ...\)",
    "@y[0] = 3j;": r"write complex64\(0, 3\)",
    "@y[0] = max(x[0], x[1], x[2]);": r"max\(a, max\(b, c\)\)",
    "int i = 0;\n@if i < x.size():\n    y[i] = 1;": r"if i < x.size\(\): does not exist in C\+\+: write if \(i < x\.size\(\)\)",
    "@if x[0] > 1 {\ny[0] = 1;\n}": r"if x\[0\] > 1 { lacks the parentheses",
    "@y[0] = 3 + x[0] **2;": r"x\[0\] \*\*2 does not exist in C\+\+: write pow",
    "@auto f = [](float v) { if (v > 1) return 1; return 0.5; };": "all return statements of a function must have one type",
    "@static float s = x[0];": "with a constant",
    "@float32x4 v;": r"float32x4 is a name of numba: in C\+\+ write float4 v = make_float4",
    "@y[0] = ldca(x, 0);": r"write __ldca\(&a\[i\]\)",
    "@cudaMemcpy(x, y, 4);": r"cudaMemcpy is a function of the host: use cuda.to_device\(a\)",
    "@curandState s;": "curandState is not built in: #include <curand_kernel.h>",
    "@cuda.atomic.add(x, 0, 1);": r"atomic_add\(a, i, v\) for cuda.atomic.add",
}
CONST = {
    "@x[0] = 2 * y[0];": A,
    "@x[0] += 1;": A,
    "@++x[0];": A,
    "int i = 0;\n@x(i, 1) = y[0];": M,
    "@x[1][0] = y[0];": M,
    "@for (auto &v : x) v = 1;": A,
    "@atomicAdd(&x[0], y[0]);": A,
    "@atomic_add(x, 0, y[0]);": A,
    "@atomic_max(x, {1, 0}, y[0]);": M,
}
SEVERAL = {
    "@for (auto &row : x) row[0] = 1;": r"for \(auto row : a\)",
    "@atomic_add(x, 1, 1.0f);": r"atomic_add\(x, \{i, j\}, value\) for two",
    "@atomic_add(x, {1, 0, 1}, 1.0f);": "the number of indices must equal the number of dimensions: x is",
}
CASES = [
    *((f"{A}, {A}", body, hint) for body, hint in PYTHONISMS.items()),
    *(
        (
            f"const {t}, {A}",
            body,
            rf"x cannot be written: .* const {re.escape(t)}: declare it float32.*const$",
        )
        for body, t in CONST.items()
    ),
    *((f"{M}, {A}", body, hint) for body, hint in SEVERAL.items()),
]


@pytest.fixture(scope="module")
def compile_kernel_image(target_of_each):
    """Returns a function compile_kernel_image(kernel, signature), which uses one of the compilers."""
    given = options.parse_options({}, "cuda.jit")
    return lambda kernel, sig: ahead._kernel_images(kernel, sig, given).image(target_of_each)


@pytest.mark.cases(40)
@pytest.mark.parametrize(("types", "body", "hint"), CASES)
def test_common_mistakes_get_a_hint(compile_kernel_image, types, body, hint):
    lines = [
        "def kernel(x, y):",
        '    r"""',
        *(f"    {line}" for line in body.split("\n")),
        '    """',
    ]
    wrong = next(n for n, line in enumerate(lines, 1) if "@" in line)
    text = "\n".join(lines).replace("@", "")
    name = f"<slip {abs(hash(body))}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    scope = {"cuda": cuda}
    exec(compile(text, name, "exec"), scope)
    with pytest.raises(errors.CompileError) as caught:
        compile_kernel_image(scope["kernel"], f"void({types})")
    message = str(caught.value)
    assert re.search(f"(?m)^hint: .*{hint}", message), message
    told = [int(n) for n in re.findall(rf"{re.escape(name)}\((\d+)\): error", message)]
    # Some compilers report a missing token at the end of a line at the beginning of the next.
    assert told and told[0] in (
        (wrong, wrong + 1, wrong + 2)
        if "lacks a semicolon" in hint or "ends with" in hint
        else (wrong,)
    ), message
    assert "note #33" not in message and "Note #33" not in message


@pytest.mark.parametrize(
    "unit",
    ["float f(float x) { return x in y; }\n", "1.0f, 2.0f,\n", "1.0f, 2.0f, ", "\n", "/* */ "],
    ids=["functions", "table", "line", "blank", "comments"],
)
def test_hint_search_time_grows_linearly(unit):
    def make_hint_search(count):
        value = unit * count + "\nundefined_x;\n"
        log = 'a.cu(1): error: identifier "undefined_x" is undefined'
        problem = errors.CompileError(log, log=log, source=value)
        return lambda: hints.add_hints(
            problem, "k", {}, (), linemap.consecutive_text(value, "a.cu")
        )

    assert grows_linearly(make_hint_search, 20_000 // len(unit), 160_000 // len(unit))


@cuda.jit(device=True)
def power(v):
    "return v ** 2;"


@cuda.jit(device=True)
def call_power(v):
    "return power(v);"


def test_mistake_in_a_device_function_gets_a_hint(compile_kernel_image):
    def call_through(x):
        "x[0] = call_power(x[1]);"

    with pytest.raises(errors.CompileError, match=r"(?m)^hint: v \*\* 2 does not exist in C\+\+"):
        compile_kernel_image(call_through, f"void({A})")
