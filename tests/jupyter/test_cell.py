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


def test_cell_kernels_become_variables(run, shell):
    run(SCALE.format(""))
    assert repr(shell.user_ns["scale"]) == "<CUDA kernel scale(x, a, n)>"
    result = run("x = np.arange(4, dtype='f4')\nscale[1, 4](x, 3.0, 4)\nx")
    assert result.tolist() == [0, 3, 6, 9]


def test_rerunning_a_cell_replaces_its_kernels(run, shell):
    run(SCALE.format(""))
    first = shell.user_ns["scale"]
    run(SCALE.format("").replace("*= a", "+= a"))
    assert shell.user_ns["scale"] is not first
    assert run("x = np.ones(2, 'f4')\nscale[1, 2](x, 3.0, 2)\nx").tolist() == [4, 4]


def test_failed_cell_keeps_existing_kernels(run, shell):
    run(SCALE.format(""))
    first = shell.user_ns["scale"]
    with pytest.raises(CompileError):
        run(SCALE.format("").replace("*= a", "*= nothing"))
    assert shell.user_ns["scale"] is first


def test_template_instances_become_variables(run, shell):
    run(TEMPLATE.format(" fill<float> fill<double> ints=fill<int>"))
    assert {"fill_float", "fill_double", "ints"} <= set(shell.user_ns)
    run(TEMPLATE.format(" fill<float>"))
    assert run("x = np.zeros(2, 'f4')\nfill[1, 2](x, 2.5)\nx").tolist() == [2.5, 2.5]
    with pytest.raises(UsageError, match="fill is a template"):
        run(TEMPLATE.format(""))


def test_prefix_and_module_options_rename_kernels(run, shell):
    run(
        SCALE.format(" --prefix my_ --module whole").replace(
            "__global__", "__constant__ float c[2];\n__global__"
        )
    )
    assert "scale" not in shell.user_ns and "my_scale" in shell.user_ns
    assert run("whole.get_global('c').shape") == (2,)


def test_cell_kernels_use_notebook_variables(run):
    run("N = 3\nTABLE = np.array([1.5, 2.5], 'f4')\nn = 'not used: the cell has an n of its own'")
    run("%%cuda\n__global__ void take(float *x, int n) { __shared__ int s[N];\n"
        "    s[0] = N; x[0] = s[0] + TABLE[1]; }")  # fmt: skip
    assert run("x = np.zeros(1, 'f4')\ntake[1, 1](x, 1)\nx[0]") == 5.5
    run("N = 4")
    assert run("take[1, 1](x, 1)\nx[0]") == 5.5, "a compiled kernel keeps its numbers"


def test_unusable_notebook_variables_are_reported(run):
    run("words = 'text'")
    with pytest.raises(CompileError, match="hint: words is a str in the Python scope"):
        run("%%cuda\n__global__ void k(int *x) { x[0] = words; }")


def test_device_option_defines_device_functions(run, shell):
    run("%%cuda --device\n__device__ float half_of(float v) { return v / 2; }\n"
        "__global__ void k(float *x) { x[0] = half_of(x[0]); }")  # fmt: skip
    assert repr(shell.user_ns["half_of"]) == "<device function half_of()>"
    run("@cuda.jit\ndef use(x):\n    'x[0] = half_of(x[0]);'")
    assert run("x = np.ones(1, 'f4')\nuse[1, 1](x)\nk[1, 1](x)\nx[0]") == 0.25
    run("%%cuda\n__global__ void other(float *x) { x[0] = half_of(x[0]) + 1; }")
    assert run("other[1, 1](x)\nx[0]") == 1.125


def test_cell_may_define_only_device_functions(run, shell):
    run("%%cuda\ntemplate <typename T> __device__ T twice(T v) { return v + v; }")
    run("@cuda.jit\ndef use(x):\n    'x[0] = twice(x[0]);'")
    assert run("x = np.ones(1, 'i4')\nuse[1, 1](x)\nx[0]") == 2


def test_cell_options_reach_the_kernel(run, shell, tmp_path):
    (tmp_path / "mine.h").write_text("#define MINE 40\n")
    run(f"%%cuda -I {tmp_path} -D TWO=2 --fastmath --max-registers 32 --std c++20\n"
        '#include "mine.h"\n__global__ void k(int *x) { x[0] = MINE + TWO; }')  # fmt: skip
    options = shell.user_ns["k"].options
    assert (options.fastmath, options.max_registers, options.std) == (True, 32, "c++20")
    assert run("x = np.zeros(1, 'i4')\nk[1, 1](x)\nx[0]") == 42
    run("%%cuda -D N=3 -D T -D twice(v)=(v)*2\n"
        "__global__ void k(int *x) { x[0] = twice(N) + T; }")  # fmt: skip
    assert run("k[1, 1](x)\nx[0]") == 7, "names that the library's own headers use"
    run(SCALE.format(" --boundscheck"))
    assert shell.user_ns["scale"].options.boundscheck


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
def test_invalid_magic_options_raise(run, shell, line, message):
    with pytest.raises(UsageError, match=message):
        run(SCALE.format(f" {line}"))
    assert "scale" not in shell.user_ns


def test_cell_without_kernels_raises(run):
    with pytest.raises(UsageError, match="neither a kernel"):
        run("%%cuda\n// nothing\n")


@pytest.fixture
def error(run, shell, capsys):
    """Returns error(cell), which returns IPython's output for the cell's CompileError, and the cell's
    number."""

    def error(cell):
        capsys.readouterr()
        with pytest.raises(CompileError):
            run(cell, store_history=True)
        return capsys.readouterr().out.rstrip("\n"), shell.execution_count - 1

    return error


WRONG = "__global__ void k(float *x) {\n    int i = 0;\n    x[i] = undefined_x;\n}"


@pytest.mark.parametrize("above", [0, 2])
def test_errors_point_at_the_cell(error, above):
    text, number = error("\n" * above + f"%%cuda\n{WRONG}")
    head, place, source, caret = text.split("\n")
    assert head == "CompileError: the cell does not compile"
    assert place.startswith(f"Cell In[{number}], line {4 + above}: error: ")
    assert "undefined_x" in place
    assert source.index("undefined_x") == caret.index("^")


def test_errors_of_decorators_show_the_users_frames_only(error):
    body = "@cuda.jit\ndef lazy(x):\n    'x[0] = undefined_x;'"
    text, number = error(f"{body}\ndef call():\n    lazy[1, 1](np.zeros(1))\ncall()")
    lines = text.split("\n")
    assert f"Cell In[{number}], line 3: error:" in lines[1]
    assert [line.split(": ", 1) for line in lines[-2:]] == [
        [f"in Cell In[{number}], line 6", "call()"],
        [f"in Cell In[{number}], line 5", "lazy[1, 1](np.zeros(1))"],
    ]
    assert "dispatcher" not in text


def test_verbose_mode_shows_the_traceback(error, shell):
    shell.InteractiveTB.set_mode("Verbose")
    try:
        text, _ = error(f"%%cuda\n{WRONG}")
    finally:
        shell.InteractiveTB.set_mode("Context")
    assert "jupyter/cell.py" in text and "undefined_x" in text


def test_kernel_error_traceback_ends_at_the_launch(run, shell, capsys):
    from numbalite.errors import KernelError

    run("d = cuda.device_array(4, 'f4')")
    run("@cuda.jit(boundscheck=True)\ndef over(x):\n    'x[x.size()] = 1;'")
    with pytest.raises(KernelError):
        run("over[1, 1](d)\ncuda.synchronize()")
    shown = capsys.readouterr().out
    assert "KernelError" in shown and "index 4 is out of bounds" in shown
    assert "over[1, 1](d)" in shown and "program.py" not in shown


def test_module_sources_ignore_notebook_variables(run, shell):
    """A complete source outside of %%cuda does not depend on the notebook's names."""
    run("N = 3")
    with pytest.raises(CompileError):
        run("cuda.module('__global__ void k(int *x) { x[0] = N; }')")


def test_kernels_of_cells_pickle(run, shell):
    import pickle

    run("N = 3\n")
    run("%%cuda\n__global__ void k(int *x) { x[0] = N; }")
    again = pickle.loads(pickle.dumps(shell.user_ns["k"]))
    x = np.zeros(1, np.int32)
    again[1, 1](x)
    assert x[0] == 3


@pytest.mark.sim
def test_cell_profile_option_shows_launch_costs(run, shell):
    run("x = cuda.to_device(np.zeros(256, 'f4'))")
    option = """ --gpu 'RTX 4090' --profile "scale[2, 128](x, 2.0, 256)" """
    p = shell.run_cell(SCALE.format(option), store_history=True).result
    assert p.gpu.name == "RTX 4090"
    assert (p.scale.global_load_sectors, p.scale.global_store_sectors) == (32, 32)
    (line,) = p.scale.lines
    assert line.text.strip() == "if (i < n) x[i] *= a;"
    assert "if (i &lt; n) x[i] *= a;" in p._repr_html_()
    assert run(SCALE.format("")) is None
    shell.run_cell(
        "@cuda.jit\ndef double(x):\n    'x[threadIdx.x] *= 2;'\n"
        "with cuda.profile() as q:\n    double[1, 32](x)",
        store_history=True,
    )
    assert shell.user_ns["q"].double.lines[0].text.strip() == "'x[threadIdx.x] *= 2;'"
