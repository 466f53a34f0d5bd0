"""%%cuda: the names that a cell defines and reads in the notebook, and its error messages."""

import numpy as np
import pytest
from IPython.core.error import UsageError

from numbalite.errors import CompileError

# These tests pass host arrays to kernels for convenience.

SCALE = """%%cuda{}
__global__ void scale(float *x, float a, int n) {{
    int i = grid<1>();
    if (i < n) x[i] *= a;
}}
"""
TEMPLATE = """%%cuda{}
template <typename T> __global__ void fill(T *x, T v) {{ x[threadIdx.x] = v; }}
"""


def test_cell_kernels_become_variables(run_cell, ipython_shell):
    run_cell(SCALE.format(""))
    assert repr(ipython_shell.user_ns["scale"]) == "<CUDA kernel scale(x, a, n)>"
    result = run_cell("x = np.arange(4, dtype='f4')\nscale[1, 4](x, 3.0, 4)\nx")
    assert result.tolist() == [0, 3, 6, 9]


def test_rerunning_a_cell_replaces_its_kernels(run_cell, ipython_shell):
    run_cell(SCALE.format(""))
    first = ipython_shell.user_ns["scale"]
    run_cell(SCALE.format("").replace("*= a", "+= a"))
    assert ipython_shell.user_ns["scale"] is not first
    assert run_cell("x = np.ones(2, 'f4')\nscale[1, 2](x, 3.0, 2)\nx").tolist() == [4, 4]


def test_failed_cell_keeps_existing_kernels(run_cell, ipython_shell):
    run_cell(SCALE.format(""))
    first = ipython_shell.user_ns["scale"]
    with pytest.raises(CompileError):
        run_cell(SCALE.format("").replace("*= a", "*= nothing"))
    assert ipython_shell.user_ns["scale"] is first


def test_template_instances_become_variables(run_cell, ipython_shell):
    run_cell(TEMPLATE.format(" fill<float> fill<double> ints=fill<int>"))
    assert {"fill_float", "fill_double", "ints"} <= set(ipython_shell.user_ns)
    run_cell(TEMPLATE.format(" fill<float>"))
    assert run_cell("x = np.zeros(2, 'f4')\nfill[1, 2](x, 2.5)\nx").tolist() == [2.5, 2.5]
    with pytest.raises(UsageError, match="fill is a template"):
        run_cell(TEMPLATE.format(""))


def test_prefix_and_module_options_rename_kernels(run_cell, ipython_shell):
    run_cell(
        SCALE.format(" --prefix my_ --module whole").replace(
            "__global__", "__constant__ float c[2];\n__global__"
        )
    )
    assert "scale" not in ipython_shell.user_ns and "my_scale" in ipython_shell.user_ns
    assert run_cell("whole.get_global('c').shape") == (2,)


def test_cell_kernels_use_notebook_variables(run_cell):
    run_cell(
        "N = 3\nTABLE = np.array([1.5, 2.5], 'f4')\nn = 'not used: the cell has an n of its own'"
    )
    run_cell("%%cuda\n__global__ void take(float *x, int n) { __shared__ int s[N];\n"
        "    s[0] = N; x[0] = s[0] + TABLE[1]; }")  # fmt: skip
    assert run_cell("x = np.zeros(1, 'f4')\ntake[1, 1](x, 1)\nx[0]") == 5.5
    run_cell("N = 4")
    assert run_cell("take[1, 1](x, 1)\nx[0]") == 5.5, "a compiled kernel keeps its numbers"


def test_unusable_notebook_variables_are_reported(run_cell):
    run_cell("words = 'text'")
    with pytest.raises(CompileError, match="hint: words is a str in the Python scope"):
        run_cell("%%cuda\n__global__ void k(int *x) { x[0] = words; }")


def test_device_option_defines_device_functions(run_cell, ipython_shell):
    run_cell("%%cuda --device\n__device__ float half_of(float v) { return v / 2; }\n"
        "__global__ void k(float *x) { x[0] = half_of(x[0]); }")  # fmt: skip
    assert repr(ipython_shell.user_ns["half_of"]) == "<device function half_of()>"
    run_cell("@cuda.jit\ndef use(x):\n    'x[0] = half_of(x[0]);'")
    assert run_cell("x = np.ones(1, 'f4')\nuse[1, 1](x)\nk[1, 1](x)\nx[0]") == 0.25
    run_cell("%%cuda\n__global__ void other(float *x) { x[0] = half_of(x[0]) + 1; }")
    assert run_cell("other[1, 1](x)\nx[0]") == 1.125


def test_cell_may_define_only_device_functions(run_cell, ipython_shell):
    run_cell("%%cuda\ntemplate <typename T> __device__ T twice(T v) { return v + v; }")
    run_cell("@cuda.jit\ndef use(x):\n    'x[0] = twice(x[0]);'")
    assert run_cell("x = np.ones(1, 'i4')\nuse[1, 1](x)\nx[0]") == 2


def test_cell_options_reach_the_kernel(run_cell, ipython_shell, tmp_path):
    (tmp_path / "mine.h").write_text("#define MINE 40\n")
    run_cell(f"%%cuda -I {tmp_path} -D TWO=2 --fastmath --max-registers 32 --std c++20\n"
        '#include "mine.h"\n__global__ void k(int *x) { x[0] = MINE + TWO; }')  # fmt: skip
    options = ipython_shell.user_ns["k"].options
    assert (options.fastmath, options.max_registers, options.std) == (True, 32, "c++20")
    assert run_cell("x = np.zeros(1, 'i4')\nk[1, 1](x)\nx[0]") == 42
    run_cell("%%cuda -D N=3 -D T -D twice(v)=(v)*2\n"
        "__global__ void k(int *x) { x[0] = twice(N) + T; }")  # fmt: skip
    assert run_cell("k[1, 1](x)\nx[0]") == 7, "names that the library's own headers use"
    run_cell(SCALE.format(" --boundscheck"))
    assert ipython_shell.user_ns["scale"].options.boundscheck


@pytest.mark.parametrize(
    "line, message",
    [
        ("--nonsense", "unrecognized arguments: --nonsense"),
        ("nothing", "the cell has no nothing; it has scale"),
        ("--max-registers 1000", "max_registers is 1 to 255"),
        ("--prefix 1", "'1scale' is not a valid name of a Python variable"),
        ("--module a-b", "not a valid name of a Python variable"),
        ("-D 1=2", "'1' is no name for a macro"),
    ],
)
def test_invalid_magic_options_raise(run_cell, ipython_shell, line, message):
    with pytest.raises(UsageError, match=message):
        run_cell(SCALE.format(f" {line}"))
    assert "scale" not in ipython_shell.user_ns


def test_cell_without_kernels_raises(run_cell):
    with pytest.raises(UsageError, match="neither a kernel"):
        run_cell("%%cuda\n// nothing\n")


@pytest.fixture
def compile_error_output(run_cell, ipython_shell, capsys):
    """Returns compile_error_output(cell), which returns IPython's output for the cell's CompileError, and the cell's
    number."""

    def run_failing_cell(cell):
        capsys.readouterr()
        with pytest.raises(CompileError):
            run_cell(cell, store_history=True)
        return capsys.readouterr().out.rstrip("\n"), ipython_shell.execution_count - 1

    return run_failing_cell


WRONG = "__global__ void k(float *x) {\n    int i = 0;\n    x[i] = undefined_x;\n}"


@pytest.mark.parametrize("above", [0, 2])
def test_errors_point_at_the_cell(compile_error_output, above):
    text, number = compile_error_output("\n" * above + f"%%cuda\n{WRONG}")
    head, place, source, caret = text.split("\n")
    assert head == "CompileError: the cell does not compile"
    assert place.startswith(f"Cell In[{number}], line {4 + above}: error: ")
    assert "undefined_x" in place
    assert source.index("undefined_x") == caret.index("^")


def test_errors_of_decorators_show_the_users_frames_only(compile_error_output):
    body = "@cuda.jit\ndef lazy(x):\n    'x[0] = undefined_x;'"
    text, number = compile_error_output(f"{body}\ndef call():\n    lazy[1, 1](np.zeros(1))\ncall()")
    lines = text.split("\n")
    assert f"Cell In[{number}], line 3: error:" in lines[1]
    assert [line.split(": ", 1) for line in lines[-2:]] == [
        [f"in Cell In[{number}], line 6", "call()"],
        [f"in Cell In[{number}], line 5", "lazy[1, 1](np.zeros(1))"],
    ]
    assert "dispatcher" not in text


def test_verbose_mode_shows_the_traceback(compile_error_output, ipython_shell):
    ipython_shell.InteractiveTB.set_mode("Verbose")
    try:
        text, _ = compile_error_output(f"%%cuda\n{WRONG}")
    finally:
        ipython_shell.InteractiveTB.set_mode("Context")
    assert "jupyter/cell.py" in text and "undefined_x" in text


def test_kernel_error_traceback_ends_at_the_launch(run_cell, ipython_shell, capsys):
    from numbalite.errors import KernelError

    run_cell("d = cuda.device_array(4, 'f4')")
    run_cell("@cuda.jit(boundscheck=True)\ndef over(x):\n    'x[x.size()] = 1;'")
    with pytest.raises(KernelError):
        run_cell("over[1, 1](d)\ncuda.synchronize()")
    shown = capsys.readouterr().out
    assert "KernelError" in shown and "index 4 is out of bounds" in shown
    assert "over[1, 1](d)" in shown and "program.py" not in shown


def test_module_sources_ignore_notebook_variables(run_cell, ipython_shell):
    """A complete source outside of %%cuda does not depend on the notebook's names."""
    run_cell("N = 3")
    with pytest.raises(CompileError):
        run_cell("cuda.module('__global__ void k(int *x) { x[0] = N; }')")


def test_kernels_of_cells_pickle(run_cell, ipython_shell):
    import pickle

    run_cell("N = 3\n")
    run_cell("%%cuda\n__global__ void k(int *x) { x[0] = N; }")
    again = pickle.loads(pickle.dumps(ipython_shell.user_ns["k"]))
    x = np.zeros(1, np.int32)
    again[1, 1](x)
    assert x[0] == 3


@pytest.mark.sim
def test_cell_profile_option_shows_launch_costs(run_cell, ipython_shell):
    run_cell("x = cuda.to_device(np.zeros(256, 'f4'))")
    option = """ --gpu 'RTX 4090' --profile "scale[2, 128](x, 2.0, 256)" """
    p = ipython_shell.run_cell(SCALE.format(option), store_history=True).result
    assert p.gpu.name == "RTX 4090"
    assert (p.scale.global_load_sectors, p.scale.global_store_sectors) == (32, 32)
    (line,) = p.scale.lines
    assert line.text.strip() == "if (i < n) x[i] *= a;"
    assert "if (i &lt; n) x[i] *= a;" in p._repr_html_()
    assert run_cell(SCALE.format("")) is None
    ipython_shell.run_cell(
        "@cuda.jit\ndef double(x):\n    'x[threadIdx.x] *= 2;'\n"
        "with cuda.profile() as q:\n    double[1, 32](x)",
        store_history=True,
    )
    assert ipython_shell.user_ns["q"].double.lines[0].text.strip() == "'x[threadIdx.x] *= 2;'"
