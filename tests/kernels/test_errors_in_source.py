"""Errors in C++ are reported at the user's own lines: in files, strings, notebooks and the REPL."""

import linecache
import random
import re
import runpy
import textwrap

import pytest
from kit.lines import line_numbers_of

from numbalite import cuda, errors


def compile_error_of(function):
    with pytest.raises(errors.CompileError) as caught:
        function()
    return caught.value


def lines_in(problem, label=__file__):
    """Returns the line numbers that the message contains."""
    return [int(n) for n in re.findall(rf"{re.escape(label)}\((\d+)\): error", str(problem))]


def test_error_in_a_body_has_the_python_line():
    def define_kernel():
        @cuda.jit("void(float32[:])")
        def undefined_x(x):
            r"""
            int i = grid<1>();
            x[i] = undefined_x;      // HERE 1
            """

    problem = compile_error_of(define_kernel)
    assert lines_in(problem) == line_numbers_of("// HERE 1", __file__)[:1]
    assert "undefined_x" in str(problem) and "undefined_x" in problem.log
    assert "nl_undefined_x" in problem.source and str(problem).startswith(
        "undefined_x does not compile"
    )


def test_lazy_kernel_compile_error_is_raised_at_the_launch():
    @cuda.jit
    def undefined_x_lazy(x):
        "x[0] = undefined_x;  // HERE 2"

    problem = compile_error_of(lambda: undefined_x_lazy[1, 1](cuda.device_array(1)))
    assert lines_in(problem) == line_numbers_of("// HERE 2", __file__)[:1]
    again = compile_error_of(lambda: undefined_x_lazy[1, 1](cuda.device_array(1)))
    assert str(again) == str(problem)


def test_error_in_a_device_function_has_its_line():
    @cuda.jit(device=True)
    def undefined_member(v):
        """
        int unused = 0;
        return v.nothing;            // HERE 3
        """

    def define_kernel():
        @cuda.jit("void(float32[:])")
        def call_helper(x):
            "x[0] = undefined_member(x[0]);"

    problem = compile_error_of(define_kernel)
    assert lines_in(problem)[0] == line_numbers_of("// HERE 3", __file__)[0]


SOURCE = r"""
// a whole source
__global__ void first(float* x) { x[0] = 1; }
__global__ void second(float* x) {
    x[0] = undefined_x;              // HERE 4
}
"""


def test_error_in_a_source_has_the_python_line():
    for define in (lambda: cuda.module(SOURCE), lambda: cuda.jit(source=SOURCE, name="first")):
        assert lines_in(compile_error_of(define)) == line_numbers_of("// HERE 4", __file__)[:1]


def test_error_in_a_composed_source_has_a_line():
    problem = compile_error_of(lambda: cuda.module(SOURCE.replace("second", "third")))
    assert "<source of module>(5): error" in str(problem)
    problem = compile_error_of(
        lambda: cuda.jit(source=SOURCE.replace("second", "last"), name="last")
    )
    assert "<source of last>(5): error" in str(problem)


def test_error_in_a_source_file_has_its_line(tmp_path):
    path = tmp_path / "bad.cu"
    path.write_text("\n__global__ void k() {\n    undefined_x;\n}\n")
    assert lines_in(compile_error_of(lambda: cuda.module(path)), str(path)) == [3]


CELL = '''
from numbalite import cuda
N = 3
@cuda.jit("void(float32[:])")
def kernel(x):
    """
    int i = grid<1>();
    x[i] = N + undefined_x;
    """
'''


def test_error_in_a_notebook_cell_has_its_line():
    name = "<ipython-input-7-0123456789ab>"
    linecache.cache[name] = (len(CELL), None, CELL.splitlines(True), name)
    problem = compile_error_of(lambda: exec(compile(CELL, name, "exec"), {"__name__": "__main__"}))
    assert lines_in(problem, name) == [8]


def test_error_in_a_source_of_a_notebook_cell_has_its_line():
    name = "/tmp/ipykernel_1/2.py"
    text = (
        'from numbalite import cuda\nm = cuda.module("""\n__global__ void k() {\n  nope;\n}""")\n'
    )
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    problem = compile_error_of(lambda: exec(compile(text, name, "exec"), {"__name__": "__main__"}))
    assert lines_in(problem, name) == [4]


def test_error_in_exec_code_has_the_string_line():
    problem = compile_error_of(lambda: exec(CELL, {"__name__": "__main__"}))
    assert lines_in(problem, "<string>") == [8]


def test_errors_show_non_ascii_names_unchanged():
    def define_kernel():
        @cuda.jit("void(float32[:])")
        def undefined_missing(x):
            "x[0] = σ + missing;"

    text = str(compile_error_of(define_kernel))
    assert "x[0] = σ + missing" in text and "u03c3" not in text


def test_compile_error_message_is_short():
    problem = compile_error_of(lambda: cuda.jit("__global__ void k(float* x) { x[0] = y; z; }"))
    assert len(str(problem).splitlines()) < 20


# --- hints ---------------------------------------------------------------------------------------------

TILE = [16, 16]
SHAPE = (16, "text")
NAME = "text"


def python_helper(x):
    return x + 1


@cuda.jit(device=True)
def factorial(n):
    "return n < 2 ? 1 : n * factorial(n - 1);"


@pytest.mark.parametrize(
    "body, hint",
    [
        ("x[0] = TILE;", "TILE is a list in the Python scope"),
        ("x[0] = SHAPE;", "SHAPE is a tuple in the Python scope: the items of a tuple are numbers"),
        ("x[0] = NAME;", "NAME is a str.*numbalite takes int, float"),
        ("x[0] = python_helper(x[0]);", r"python_helper is a Python function.*device=True"),
        ("int i = cuda.grid(1);", r"cuda is a Python module.*grid<1>\(\)"),
        ("x[0] = math.sin(1);", r"math is a Python module.*sin\(x\) for math\.sin\(x\)"),
        ("x[0] = True;", "True does not exist in C\\+\\+: write true"),
        ("x[0] = len(x);", r"x\.size\(\)"),
        ("x[0] = x.size;", r"with parentheses: x.size\(\)"),
        ("int i = grid(1);", r"template argument: grid<1>\(\)"),
        ("auto i, j = grid<2>();", r"in brackets: auto \[x, y\]"),
        ("int i = blockIdx * blockDim + threadIdx;", "components: threadIdx.x"),
        ("int i = threadIdx;", "components: threadIdx.x"),
        ("long long n = 0; atomicAdd(&n, 1);", "atomic_add.*int64 too"),
        ("x[0] = factorial(3);", "calls itself needs a signature"),
        (
            "for i in range(3): x[i] = 1;",
            r"for i in range\(3\).* does not exist in C\+\+: .*for \(int i",
        ),
        ("if x[0] > 1: x[0] = 1;", r"if x\[0\] > 1: does not exist in C\+\+"),
        ("x[0] = x[0] ** 2;", r"does not exist in C\+\+: write pow"),
        ("x[0, 1] = True;", r"the number of indices must equal the number of dimensions"),
        ("x[0] = std::max(1, 2);", "without std::"),
    ],
)
def test_undefined_names_get_hints(body, hint):
    import math

    assert math

    names = {**globals(), "math": math, "body": body}
    text = f"@cuda.jit('void(float32[:])')\ndef kernel(x):\n    {body!r}\n"
    problem = compile_error_of(lambda: exec(text, names))
    assert re.search(f"hint: .*{hint}", str(problem)), str(problem)


def test_non_raw_string_body_gets_a_hint():
    def define_kernel():
        @cuda.jit("void(float32[:])")
        def newline_in_string(x):
            """
            printf("hello\n");       // HERE 5
            """

    problem = compile_error_of(define_kernel)
    assert f"line {line_numbers_of('// HERE 5', __file__)[0]} does not end there" in str(problem)
    assert 'r"""' in str(problem)


def test_unclosed_brace_gets_a_hint():
    def define_kernel():
        @cuda.jit("void(float32[:])")
        def unclosed_brace(x):
            """
            if (x[0] > 0) {          // HERE 6
                x[0] = 1;
            """

    problem = compile_error_of(define_kernel)
    assert f"the {{ on line {line_numbers_of('// HERE 6', __file__)[0]} has no partner" in str(
        problem
    )


def test_wrong_number_of_indices_gets_a_hint():
    for body in ("c(i, i) = 1;", "c[i][i] = 1;"):
        text = textwrap.dedent(f"""
            @cuda.jit("void(float32[:])")
            def kernel(c):
                '''
                int i = 0;
                {body}
                '''
            """)
        name = f"<cell {body}>"
        linecache.cache[name] = (len(text), None, text.splitlines(True), name)
        problem = compile_error_of(
            lambda t=text, n=name: exec(compile(t, n, "exec"), {"cuda": cuda})
        )
        assert lines_in(problem, name)[0] == 6
        assert "hint: the number of indices must equal" in str(problem)
        assert "c is float32[:]" in str(problem)


def test_host_library_headers_get_a_hint():
    name = random.choice(["nvml", "cudnn", "nccl", "nvToolsExt"]) + "_missing.h"
    source = f'#include <{name}>\nextern "C" __global__ void k() {{}}'
    problem = compile_error_of(lambda: cuda.module(source).k[1, 1]())
    assert f"hint: <{name}> is for code on the CPU" in str(problem)


def test_writing_to_a_const_array_gets_a_hint():
    def define_kernel():
        @cuda.jit("void(const float32[:])")
        def store_to_const(x):
            "x[0] = 1;  // HERE 7"

    assert lines_in(compile_error_of(define_kernel)) == line_numbers_of("// HERE 7", __file__)[:1]


def test_failed_assert_names_the_users_line():
    @cuda.jit(debug=True)
    def assert_first_is_one(x):
        """
        assert(x[0] == 1);           // HERE 8
        """

    with pytest.raises(errors.KernelError) as caught:
        assert_first_is_one[1, 1](cuda.to_device([0.0]))
    assert (
        caught.value.line == line_numbers_of("// HERE 8", __file__)[0]
        and caught.value.file == __file__
    )


def test_wrong_call_of_a_renamed_device_function_is_located():
    @cuda.jit("float32(float32, float32)", device=True)
    def minus(a, b):
        "return a - b;"

    less = minus

    @cuda.jit
    def wrong_argument_count(x):
        "x[0] = less(1);  // HERE alias"

    problem = compile_error_of(lambda: wrong_argument_count[1, 1](cuda.device_array(1, "f4")))
    assert set(lines_in(problem)) == set(line_numbers_of("// HERE alias", __file__)[:1])
    assert "less" in str(problem) and "k.cu(" not in str(problem)


def test_names_defined_after_the_kernel_get_a_hint(tmp_path):
    @cuda.jit
    def use_local_value(x):
        "x[0] = LOCAL_VALUE;"

    LOCAL_VALUE = 3
    text = str(compile_error_of(lambda: use_local_value[1, 1](cuda.device_array(1, "f4"))))
    assert "hint: LOCAL_VALUE gets its value in test_names_defined_after" in text
    lesson = tmp_path / "lesson.py"
    lesson.write_text(
        "from numbalite import cuda\n"
        '@cuda.jit("void(float32[:])")\n'
        "def k(x):\n"
        '    "x[0] = AT_THE_END;"\n'
        "AT_THE_END = 3\n"
    )
    text = str(compile_error_of(lambda: runpy.run_path(str(lesson))))
    assert "hint: AT_THE_END gets its value on line 5 of the file" in text
