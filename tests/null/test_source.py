"""Tests the text of a source, its origin, and the source generated from it."""

import ast
import linecache
import re
import sys
import textwrap

import numpy as np
import pytest

from numbalite.compilers.hints import add_hints, undefined_names
from numbalite.cxx import linemap
from numbalite.cxx.capture import Scope
from numbalite.cxx.definition import Definition
from numbalite.cxx.linemap import function_text, source_text
from numbalite.kernels import builder
from numbalite.kernels.devicefunction import DeviceFunction
from numbalite.kernels.options import Options
from numbalite.types import signatures


def define_in_file(tmp_path, text, name="lesson.py"):
    """Runs a Python file and returns its globals."""
    path = tmp_path / name
    path.write_text(textwrap.dedent(text))
    namespace = {"__name__": "lesson"}
    exec(compile(path.read_text(), str(path), "exec"), namespace)
    return namespace


def add_notebook_cell(text, name="<ipython-input-3-abc>"):
    """Runs a notebook's cell: in linecache, not in a file."""
    text = textwrap.dedent(text)
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    namespace = {"__name__": "__main__"}
    exec(compile(text, name, "exec"), namespace)
    return namespace


def source_identity(*args, **kwargs):
    return lambda function: function


def position_of_needle(text, needle):
    """Returns (label, line) that a compiler would name for the line with ``needle``."""
    label = line = None
    for row in text.with_line_directives().split("\n"):
        directive = re.match(r'#line (\d+) "(.*)"', row)
        if directive:
            line, label = int(directive[1]), directive[2]
            continue
        if needle in row:
            return label, line
        line += 1
    raise AssertionError(f"{needle} is not there")


# --- functions ----------------------------------------------------------------------------------------


def test_position_of_a_body_is_its_source_line():
    @source_identity(
        "a decorator",
        "of several lines",
    )
    def needle_body(x):
        # a comment
        r"""
        int i = 0;
        x[i] = NEEDLE;
        """

    text = function_text(needle_body)
    with open(__file__, encoding="utf-8") as file:
        line = position_of_needle(text, "NEEDLE")[1]
        assert "x[i] = NEEDLE" in file.read().split("\n")[line - 1]
    assert text.label == __file__


@pytest.mark.parametrize(
    "body, line",
    [
        ('"NEEDLE;"', 2),
        ('"""NEEDLE;"""', 2),
        ('"""\n    NEEDLE;"""', 3),
        ('r"""\n\n    NEEDLE;\n"""', 4),
        ('("a;"\n     "b;\\n"\n     "NEEDLE;")', 4),
        ('("""a;\nb;""" "c\\n"\n  \'NEEDLE;\')', 4),
        ('"a;\\nb;\\nNEEDLE;"', 2),
        ('"""a;\\\nb;\nNEEDLE;"""', 4),
        ('"""\nprintf("\\\\n");\n\\tNEEDLE;"""', 4),
        ('"""\nprintf("\\n");\nNEEDLE;\n"""', 4),
    ],
)
def test_string_literals_of_every_form_are_located(tmp_path, body, line):
    names = define_in_file(tmp_path, f"def kernel(x):\n    {body}\n")
    label, found = position_of_needle(function_text(names["kernel"]), "NEEDLE")
    assert found == line and label == str(tmp_path / "lesson.py")


def test_body_of_a_notebook_cell_is_found():
    names = add_notebook_cell('# In [3]\ndef kernel(x):\n    """\n    NEEDLE;\n    """\n')
    assert position_of_needle(function_text(names["kernel"]), "NEEDLE") == (
        "<ipython-input-3-abc>",
        4,
    )


def test_ipython_names_the_cell(monkeypatch):
    class CodeNameCompiler:
        def format_code_name(self, name):
            return ("Cell", "In[3]") if name == "<ipython-input-3-abc>" else None

    class IPythonShell:
        compile = CodeNameCompiler()

    module = type(sys)("IPython")
    module.get_ipython = IPythonShell
    monkeypatch.setitem(sys.modules, "IPython", module)
    names = add_notebook_cell('def kernel(x):\n    "NEEDLE;"\n')
    assert function_text(names["kernel"]).label == "Cell In[3]"
    assert linemap.file_label("other.py") == "other.py"


def test_cells_with_ipython_syntax_are_located():
    text = '%matplotlib inline\n!ls\ndef kernel(x):\n    """\n    NEEDLE;\n    """\ny = 1\n'
    name = "<cell with magics>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    tree = ast.parse("\n\n" + text.split("\n", 2)[2])
    namespace = {"__name__": "__main__"}
    exec(compile(tree, name, "exec"), namespace)
    assert position_of_needle(function_text(namespace["kernel"]), "NEEDLE") == (name, 5)


def test_body_from_exec_has_the_string_line():
    namespace = {"identity": source_identity}
    exec('\n@identity()\ndef kernel(x):\n    """\n    NEEDLE;\n    """\n', namespace)
    assert position_of_needle(function_text(namespace["kernel"]), "NEEDLE") == ("<string>", 5)


def test_body_is_read_from_the_imported_function(tmp_path):
    names = define_in_file(tmp_path, 'def kernel(x):\n    "one;"\n')
    (tmp_path / "lesson.py").write_text('def kernel(x):\n    "two;"\n')
    linecache.clearcache()
    assert function_text(names["kernel"]).value == "one;"


def test_functions_of_one_name_have_their_own_lines():
    def make_kernel(which):
        if which:

            def two_branches():
                "one;"
        else:

            def two_branches():
                "two;"

        return two_branches

    assert (
        function_text(make_kernel(True)).value == "one;"
        and function_text(make_kernel(False)).value == "two;"
    )


BODIES = {
    "pass": "",
    "return x": "line 2 is Python",
    '"text"\n    return x': "line 3 is Python",
    'x = "text"': "line 2 is Python",
    'f"text {x}"': "f-string",
    "3": "line 2 is Python",
    '"one"\n    "two"': "line 3 is Python",
    "...": "line 2 is Python",
}


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("with_source", [True, False])
def test_bodies_that_are_not_one_string_raise(tmp_path, body, with_source):
    text = f"def kernel(x):\n    {body}\n"
    if with_source:
        kernel = define_in_file(tmp_path, text)["kernel"]
    else:
        namespace = {}
        exec(text, namespace)
        kernel = namespace["kernel"]
        if body == '"one"\n    "two"':
            return  # Python itself drops the second string
    with pytest.raises(TypeError) as caught:
        function_text(kernel)
    message = str(caught.value)
    assert "kernel: the body of a kernel is one string of CUDA C++" in message
    assert "@cuda.jit\n    def kernel(x):\n" in message
    if with_source:
        assert BODIES[body] in message


@pytest.mark.parametrize("what", [lambda x: x, len, 3, int, None])
def test_invalid_functions_raise(what):
    with pytest.raises(TypeError, match="function whose body is a string"):
        function_text(what)


# --- strings -------------------------------------------------------------------------------------------

CODE = r"""
__global__ void k(float* x) {
    x[0] = NEEDLE;
}
"""


def calling_frame():
    return sys._getframe(1)


def line_with_needle(needle, after="CODE = r"):
    with open(__file__, encoding="utf-8") as file:
        lines = file.read().split("\n")
    start = next(i for i, line in enumerate(lines) if line.startswith(after))
    return next(i for i in range(start, len(lines)) if needle in lines[i]) + 1


def test_a_string_is_found_in_the_callers_file():
    text = source_text(CODE, "k", calling_frame())
    assert text.label == __file__ and text.lines[2] == line_with_needle("NEEDLE")


@pytest.mark.parametrize("change", [textwrap.dedent, str.strip, str.lstrip, lambda s: s + "\n"])
def test_stripped_source_string_is_located(change):
    text = source_text(change(CODE), "k", calling_frame())
    assert text.label == __file__ and position_of_needle(text, "NEEDLE")[1] == line_with_needle(
        "NEEDLE"
    )
    assert len(text.lines) == text.value.count("\n") + 1


def test_other_strings_have_the_name_of_the_kernel():
    text = source_text(CODE.replace("NEEDLE", "2") + "//", "k<float>", calling_frame())
    assert text.label == "<source of k<float>>" and text.lines[:3] == (1, 2, 3)
    assert source_text("", "k", calling_frame()).label == "<source of k>"
    assert source_text(CODE, "k").label == "<source of k>"


# --- what is generated ---------------------------------------------------------------------------------


def make_definition(body, parameters=("x",), name="kernel", **values):
    text = linemap.consecutive_text(body, "lesson.py", 10)
    return Definition(name, parameters, text, Scope({}, values))


def kernel_source(body, signature="void(float32[:])", parameters=("x",), **values):
    return generated_source(
        make_definition(body, parameters, **values), signatures.parse(signature)
    )


def generated_source(made, *given):
    built, kernel = builder.kernel_source(made, *given)
    assert kernel == "k_kernel::nl_kernel" and built.refused == {}
    assert built.labels(made) == ("lesson.py",)
    return built.source(made, Options(), [kernel])


def make_device_function(body, parameters, name, *given, **values):
    made = make_definition(body, parameters, name, **values)
    return DeviceFunction(made, [signatures.parse(s) for s in given])


def test_kernel_source_contains_body_and_constants():
    made = kernel_source("x[0] = N;", N=3)
    assert (made.name, made.kernels) == ("kernel.cu", ("k_kernel::nl_kernel",))
    assert 'extern "C" __global__ void nl_kernel(array<float, 1> x) {' in made.text
    assert '#line 10 "lesson.py"\nx[0] = N;\n' in made.text and "constexpr int N = 3;" in made.text
    assert made.text.startswith('// kernel: void(float32[:])\n#include "numbalite.cuh"\n')


def test_generated_lines_follow_the_users_lines():
    lines = kernel_source("x[0] = 1;\n// end").text.split("\n")
    end = lines.index("// end")  # the line of debuggers after the last statement
    assert lines[end + 1 : end + 3] == ['#line 11 "lesson.py"', "} }"]
    at = next(i for i, line in enumerate(lines) if line.startswith("#line") and "kernel.cu" in line)
    assert lines[at] == f'#line {at + 2} "kernel.cu"'


def test_launch_bounds_are_written():
    made = generated_source(make_definition(""), signatures.parse("void(int32)"), (128, 2))
    assert "void __launch_bounds__(128, 2) nl_kernel(int x)" in made.text


def test_kernel_source_contains_device_function_dependencies():
    inner = make_device_function("return v * K;", ["v"], "inner", K=2)
    outer = make_device_function("return inner(v) + K;", ["v"], "outer", inner=inner, K=3)
    made = kernel_source("x[0] = outer(x[0]) + inner(K);", outer=outer, inner=inner, K=4)
    text = made.text
    assert text.count('#line 10 "lesson.py"\n}') == 3 and text.count("auto inner(") == 1
    assert (
        text.count("#line 10") == 6
    )  # each function has one for its body and one for its last line
    assert text.index("auto inner(") < text.index("auto outer(") < text.index("nl_kernel(")
    for value in (2, 3, 4):
        assert f"constexpr int K = {value};" in text
    assert "template <class v_type>\n__device__ auto inner(v_type v) {" in text


def test_device_function_signatures_become_overloads():
    f = make_device_function("return v;", ["v"], "f", "float32(float32)", "int32(int32)")
    text = kernel_source("x[0] = f(x[0]);", f=f).text
    assert "float f(float v) {" in text and "int f(int v) {" in text
    untyped = make_device_function("return v;", ["v"], "f", "(float32,)")
    assert "auto f(float v) {" in kernel_source("f(1);", f=untyped).text


def test_renamed_device_function_gets_an_alias():
    f = make_device_function("return v;", ["v"], "f")
    text = kernel_source("x[0] = g(x[0]);", g=f).text
    assert "auto g(nl_T &&...nl_t)" in text.partition("namespace k_kernel")[2]


def test_expression_bodies_are_returned():
    assert "return (\n" in kernel_source("f(1);", f=make_device_function("v + 1", ["v"], "f")).text


def test_recursive_device_functions_are_declared():
    f = make_device_function("return v ? f(v - 1) : 0;", ["v"], "f", "int32(int32)")
    f.definition.scope.globals["f"] = f
    assert "using f1_f::f;" in kernel_source("f(1);", f=f).text.split("namespace k_kernel")[1]
    a = make_device_function("return v ? b(v - 1) : 0;", ["v"], "a", "int32(int32)")
    b = make_device_function("return a(v);", ["v"], "b", "int32(int32)", a=a)
    a.definition.scope.globals["b"] = b
    assert "int a(int v);\n}" in kernel_source("a(1);", a=a).text
    c = make_device_function("return d(v);", ["v"], "c")
    d = make_device_function("return c(v);", ["v"], "d", c=c)
    c.definition.scope.globals["d"] = d
    with pytest.raises(TypeError, match="return type"):
        kernel_source("c(1);", c=c)


def test_includes_of_bodies_move_to_the_top():
    text = kernel_source("\n#include <cuda_fp16.h>\nx[0] = 1;").text
    assert '#line 11 "lesson.py"\n#include <cuda_fp16.h>\n' in text
    assert text.index("cuda_fp16") < text.index("using namespace") < text.index("x[0]")
    assert '#line 10 "lesson.py"\n\n\nx[0] = 1;' in text


def test_macros_of_a_body_are_undefined_after_it():
    f = make_device_function("#define SQ(a) ((a) * (a))\nreturn SQ(v);", ["v"], "f")
    text = kernel_source("x[0] = f(1);", f=f).text
    assert "#undef SQ\n} // namespace f1_f" in text


def test_records_are_defined_once():
    record = np.dtype([("a", "f4")])
    made = make_definition("x[0].a = y.a;", ("x", "y"))
    signature = signatures.parse("void(r[:], r)", {"r": record}.get)
    assert generated_source(made, signature).text.count("struct record_") == 1


def test_non_ascii_names_are_encoded():
    made = kernel_source("x[0] = σ * µ;", "void(float32[:], float32)", ("x", "μ"), σ=2)
    assert made.text.isascii() and "constexpr int u03c3_ = 2;" in made.text
    assert "float u03bc_)" in made.text and "x[0] = u03c3_ * u03bc_;" in made.text


def test_unit_source_includes_needed_headers():
    text = builder.unit_source(
        linemap.consecutive_text("complex64 z;", "a.cu"), [linemap.consecutive_text("int h;", "h")]
    )
    assert '#include "numbalite/complex.cuh"' in text and "using namespace numbalite;" in text
    assert text.index("int h;") < text.index('#line 1 "a.cu"\ncomplex64 z;')


def test_names_that_are_macros_are_renamed():
    body = "#if INT_MAX > 3\nx[0] = NAN + M_PI + y.NAN + EOF;\n#endif"
    f = make_device_function("return M_E;", ["M_E"], "f")
    text = kernel_source(
        body, "void(float32[:], int32)", ("x", "EOF"), NAN=2, INT_MAX=5, M_PI=f
    ).text
    assert "constexpr int NAN_ = 2;" in text and "auto M_PI_(nl_T" in text and "int EOF_)" in text
    assert "#if INT_MAX_ > 3\nx[0] = NAN_ + M_PI_ + y.NAN + EOF_;" in text
    assert "auto f(M_E__type M_E_) {" in text and "return M_E_;" in text
    kernel = kernel_source("x[0] = NAN;").text
    assert "x[0] = NAN;" in kernel, "the macro itself"


# --- hints ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "log",
    ['a.py(3): error: identifier "TILE" is undefined',
     "a.py:3:5: error: use of undeclared identifier 'TILE'",
     "a.py:3:5: error: 'TILE' was not declared in this scope; did you mean 'T'?",
     "a.py:3:5: error: ‘TILE’ was not declared in this scope"],
)  # fmt: skip
def test_undefined_name_gets_a_hint(log):
    from numbalite.errors import CompileError

    assert undefined_names(log) == ["TILE"]
    problem = add_hints(CompileError(log, log=log), "k", {"TILE": "TILE is a list"})
    assert str(problem).endswith("hint: TILE is a list") and problem.log == log
    assert "hint" not in str(add_hints(CompileError(log, log=log), "k", {}))


def test_wrong_dimensions_and_raw_strings_get_hints():
    from numbalite import float32
    from numbalite.errors import CompileError

    log = "error: expression must have pointer-to-object type but it has type float"
    problem = add_hints(CompileError(log, log=log), "k", {}, [("x", float32[:])],
                      linemap.consecutive_text('a;\nprintf("a\n");', "lesson.py", 10))  # fmt: skip
    assert "x is float32[:]" in str(problem) and 'r"""' in str(problem)
    assert "line 11" in str(problem)
    problem = add_hints(
        CompileError(log, log=log), "k", {}, (), linemap.consecutive_text("if (a {\n}", "l", 3)
    )
    assert "the { on line 3" not in str(problem) and "the ( on line 3 has no partner" in str(
        problem
    )


def test_pow_link_errors_of_old_compilers_get_a_hint():
    from numbalite.errors import CompileError

    log = "ptxas fatal   : Unresolved extern function '_Z5powiffi'"
    assert "write pow(x, (float)n)" in str(add_hints(CompileError(log, log=log), "k", {}))


def test_half_constants_on_old_compilers_get_a_hint():
    from numbalite.errors import CompileError

    log = (
        "k.cu(3): error: expression must have a constant value\n"
        'k.cu(3): note #2703-D: cannot call non-constexpr function "__half::__half(const __half_raw &)"'
    )
    assert "make the number a float32" in str(add_hints(CompileError(log, log=log), "k", {}))
