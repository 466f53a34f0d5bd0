"""Debugs simulated kernels in gdb, as docs/debugging.md describes: the user's lines, threadIdx, local and shared
variables.

gdb runs in batch mode on a separate program; the tests are skipped if gdb is not installed.
"""

import os
import shutil
import signal
import subprocess
import sys

import pytest

from numbalite.compilers.sim import debugger
from tests.conftest import ROOT

HAS_GDB = shutil.which("gdb") is not None
needs_gdb = pytest.mark.skipif(not HAS_GDB, reason="gdb is not installed")

LESSON = '''\
import numpy as np
from numbalite import cuda, jit

@cuda.jit(device=True)
def weight(i):
    """
    float w = 2 * i;
    return w;  // IN WEIGHT
    """

@cuda.jit("void(const float32[:], float32[:])")
def scale(x, out):
    """
    __shared__ float tile[8];
    int i = grid<1>();
    float value = x[i];
    tile[threadIdx.x] = value;  // BEFORE
    __syncthreads();
    float other = tile[7 - threadIdx.x];
    out[i] = other * weight(i);  // AFTER
    """

@jit("float64(float64)", debug=True)
def half(x):
    """
    double y = x / 2;
    return y;  // ON THE CPU
    """

x = np.arange(16, dtype="f4")
out = np.zeros_like(x)
scale[2, 8](x, out)
print("result", out.tolist(), half(7.0))
'''
EXPECTED = [float((i // 8 * 8 + 7 - i % 8) * 2 * i) for i in range(16)]


def line_with_mark(mark, text=LESSON):
    return next(i for i, line in enumerate(text.split("\n"), 1) if line.endswith("// " + mark))


def run_gdb(folder, program, commands, **environment):
    """Returns the output of gdb, including its commands, each of which is passed by "-ex"."""
    (folder / "lesson.py").write_text(program)
    (folder / "session.gdb").write_text("\n".join(["set confirm off", "set width 0", *commands]))
    env = {**os.environ, "PYTHONPATH": str(ROOT), "NUMBALITE_DRIVER": "sim", **environment}
    command = [sys.executable, "-m", "numbalite", "gdb", "-nx", "-batch", "-x", "session.gdb"]
    process = subprocess.Popen(
        [*command, "lesson.py"], cwd=folder, env=env, text=True, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
    )  # fmt: skip
    try:
        output = process.communicate(timeout=100)[0]
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)  # including the program, if gdb left it
        except ProcessLookupError:
            pass
    if "ptrace: Operation not permitted" in output or "Cannot create process" in output:
        pytest.skip("gdb may not trace processes here")
    return output


def assert_in_order(output, *parts):
    """Returns whether these texts follow in this order; texts in a set may have any order."""
    at = 0
    for part in parts:
        ends = [at]
        for one in part if isinstance(part, set) else {part}:
            found = output.find(one, at)
            assert found >= 0, f"{one!r} does not come after what came before it, in:\n{output}"
            ends.append(found + len(one))
        at = max(ends)


@needs_gdb
def test_gdb_steps_through_a_kernel(tmp_path):
    output = run_gdb(
        tmp_path,
        LESSON,
        [
            f"break lesson.py:{line_with_mark('BEFORE')}",
            "run",
            "print threadIdx",
            "print blockDim.x",
            "print x.pointer[3]",
            "next",
            "print tile[0]",
            "delete",
            f"break lesson.py:{line_with_mark('AFTER')} if blockIdx.x == 1 && threadIdx.x == 5",
            "continue",
            "print threadIdx",
            "print gridDim",
            "info locals",
            "step",
            "next",
            "print w",
            "backtrace 2",
            "delete",
            f"break lesson.py:{line_with_mark('ON THE CPU')}",
            "continue",
            "print y",
            "delete",
            "continue",
        ],
    )
    assert_in_order(
        output,
        "nl_scale (x=..., out=...) at",
        f"lesson.py:{line_with_mark('BEFORE')}",
        "tile[threadIdx.x] = value;  // BEFORE",
        "$1 = {x = 0, y = 0, z = 0}",
        "$2 = 8",
        "$3 = 3",
        "__syncthreads();",
        "$4 = 0",
        f"lesson.py:{line_with_mark('AFTER')}",
        "$5 = {x = 5, y = 0, z = 0}",
        "$6 = {x = 2, y = 1, z = 1}",
        # Compilers list a function's variables in different orders.
        {"i = 13", "other = 10", "tile = {8, 9, 10, 11, 12, 13, 14, 15}"},
        "(i=13) at",
        "float w = 2 * i;",
        "return w;  // IN WEIGHT",
        "$7 = 26",
        "weight",
        "nl_scale",
        "return y;  // ON THE CPU",
        "$8 = 3.5",
        f"result {EXPECTED} 3.5",
        "exited normally",
    )


PYTHON = """\
import numpy as np
from numbalite import cuda

@cuda.jit(device=True)
def weight(i):
    w = 2 * i
    return w  # // IN WEIGHT

@cuda.jit
def scale(x, out):
    i = cuda.grid(1)
    total = 0
    for k in range(3):
        total += x[i] + k  # // IN THE LOOP
    out[i] = total * weight(i)  # // AFTER

out = np.zeros(4, dtype="i8")
scale[1, 4](np.arange(4), out)
print("result", out.tolist())
"""


@needs_gdb
def test_gdb_steps_through_python_lines(tmp_path):
    output = run_gdb(
        tmp_path,
        PYTHON,
        [
            f"break lesson.py:{line_with_mark('IN THE LOOP', PYTHON)} if threadIdx.x == 2",
            "run",
            "print i",
            "next",
            "next",
            "print total",
            "print k",
            "delete",
            f"break lesson.py:{line_with_mark('AFTER', PYTHON)} if threadIdx.x == 3",
            "continue",
            "print total",
            "step",
            "next",
            "print w",
            "delete",
            "continue",
        ],
    )
    assert_in_order(
        output,
        f"lesson.py:{line_with_mark('IN THE LOOP', PYTHON)}",
        "total += x[i] + k  # // IN THE LOOP",
        "$1 = 2",
        "for k in range(3):",
        "$2 = 2",
        "$3 = 1",
        "out[i] = total * weight(i)  # // AFTER",
        "$4 = 12",
        "w = 2 * i",
        "return w  # // IN WEIGHT",
        "$5 = 6",
        "result [0, 12, 36, 72]",
    )


CELL = '''\
@cuda.jit("void(int32[:])", debug=True)
def count(x):
    """
    int i = threadIdx.x;
    x[i] = i;  // IN THE CELL
    """
'''
NOTEBOOK = f"""\
import linecache
import numpy as np
from numbalite import cuda
cell = {CELL!r}
linecache.cache["<cell 1>"] = (len(cell), None, cell.splitlines(True), "<cell 1>")
exec(compile(cell, "<cell 1>", "exec"))
made = cuda.jit("\\n".join(["__global__ void made(int *x) {{", "int two = 2;", "x[0] = two;  // MADE", "}}"]))
x = np.zeros(4, "i4")
count[1, 4](x)
made[1, 1](x)
print("result", x.tolist())
"""


@needs_gdb
@pytest.mark.parametrize("cxx", ["clang++", "g++"])
def test_gdb_shows_sources_without_a_file(tmp_path, cxx):
    """Debugs a cell of a notebook, and a source that a program has composed."""
    if not shutil.which(cxx):
        pytest.skip(f"{cxx} is not installed")
    at = line_with_mark("IN THE CELL", CELL)
    output = run_gdb(
        tmp_path,
        NOTEBOOK,
        [
            f"break -source '<cell 1>' -line {at} -force-condition if threadIdx.x == 2",
            "run",
            "list",
            "print i",
            "delete",
            "break made",
            "continue",
            "next",
            "print two",
            "continue",
        ],
        NUMBALITE_CXX=cxx,
    )
    assert_in_order(
        output,
        f"<cell 1>:{at}",
        f"{at}\t    x[i] = i;  // IN THE CELL",
        "def count(x):",
        "$1 = 2",
        "int two = 2;",
        "x[0] = two;  // MADE",
        "$2 = 2",
        "result [2, 1, 2, 3]",
    )


@needs_gdb
def test_gdb_attaches_to_a_running_program(tmp_path):
    """If gdb attaches later, it still finds the debug information of loaded images, and waits for
    no pipe."""
    program = LESSON + "import os, sys\nprint(os.getpid(), flush=True)\nsys.stdin.readline()\n"
    signature = '"void(const float32[:], float32[:])"'
    program = program.replace(signature, signature + ", debug=True")
    (tmp_path / "lesson.py").write_text(program)
    env = {**os.environ, "PYTHONPATH": str(ROOT), "NUMBALITE_DRIVER": "sim"}
    with subprocess.Popen(
        [sys.executable, "lesson.py"], cwd=tmp_path, env=env, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    ) as child:  # fmt: skip
        while not (line := child.stdout.readline()).strip().isdigit():
            assert line
        found = subprocess.run(
            ["gdb", "-nx", "-batch", "-p", line.strip(), "-ex", f"info line lesson.py:{line_with_mark('AFTER')}"],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        child.communicate("\n", timeout=60)
    if "Operation not permitted" in found.stderr:
        pytest.skip("gdb may not attach to processes here")
    assert "starts at address" in found.stdout and "nl_scale" in found.stdout, found
    assert child.returncode == 0


# ---- without gdb ----------------------------------------------------------------------------------------


def test_source_is_split_by_line_directives():
    source = 'before\n#line 3 "a\\\\b \\"c\\".py"\none\ntwo\n#line 9 "<cell 1>"\nthree\n#line 7 "<cell 1>"\nfour'
    assert debugger.texts_by_label(source) == {
        'a\\b "c".py': {3: "one", 4: "two"},
        "<cell 1>": {9: "three", 7: "four"},
    }


def test_only_sources_without_a_file_are_stored(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBALITE_CACHE_DIR", str(tmp_path / "cache"))
    assert debugger.write_texts(f'#line 1 "{__file__}"\nint i;\n#line 2 "../up"\nx\n') is None
    folder = debugger.write_texts('#line 2 "<source of k>"\nint i;\n')
    assert folder.startswith(str(tmp_path / "cache"))
    with open(os.path.join(folder, "<source of k>")) as file:
        assert file.read() == "\nint i;\n\n"
    monkeypatch.setenv("NUMBALITE_DISABLE_CACHE", "1")
    folder = debugger.write_texts('#line 1 "<source of k>"\nint i;')
    assert not folder.startswith(str(tmp_path))
    assert set(os.listdir(folder)) == {"<source of k>", "CACHEDIR.TAG"}


def test_gdb_command_without_gdb_prints_a_hint(run_python):
    result = run_python("-m numbalite", "gdb", "x.py", check=False, PATH="/nowhere")
    assert result.returncode == 2 and "apt install gdb" in result.stderr
    assert "gdb FILE" in run_python("-m numbalite", "help").stdout
