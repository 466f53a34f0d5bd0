"""Tests kernels that a program creates by ``exec``: a process that replaces numba records their
source."""

import subprocess
import sys
import textwrap

PROGRAM = """
    import numbalite
    numbalite.install_as_numba()
    import numpy as np
    from numba import cuda

    def executed_function(text, names):
        exec(text, names)
        return names["f"]

    plus = executed_function("def f(x, by):\\n    return x + by", {})
    plus.__name__ = "renamed"
    times = executed_function("def f(x, by):\\n    return x * by", {})
    kernel = executed_function('''
    @cuda.jit
    def f(out):
        out[0] = plus(out[0], 2)
        out[1] = times(out[1], 5)
        out[2] = square(out[2])
    ''', {"cuda": cuda, "plus": plus, "times": times, "square": eval("lambda x: x * x")})
    out = np.full(3, 7.0)
    kernel[1, 1](out)
    print(out.tolist())
    try:
        cuda.jit("void(float64[:])")(executed_function("def f(x):\\n    y = [1]", {}))
    except Exception as problem:
        print(problem)
"""


def test_functions_from_exec_are_translated():
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(PROGRAM)], capture_output=True, text=True
    )
    lines = run.stdout.splitlines()
    assert lines and lines[0] == "[9.0, 35.0, 49.0]", run.stderr
    assert lines[1].startswith("<exec 5>(2): f: a list is not possible in a kernel"), run.stdout
    assert lines[2:4] == ["    y = [1]", "        ^^^"]
