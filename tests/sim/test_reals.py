"""Tests the nan check in kernels compiled by g++ for x86-64, which uses the processor's
floating-point flags."""

import os
import shutil

import pytest

pytestmark = pytest.mark.skipif(
    not shutil.which("g++") or os.uname().machine != "x86_64",
    reason="elsewhere the compiler tells (tests/sim/test_checks_sync.py)",
)

PROGRAM = '''
import numpy as np
from numbalite import cuda, errors

MODULE = cuda.module("""
__global__ void division(float *x, float a) { x[threadIdx.x] = 1 / (threadIdx.x - a); } // division
__global__ void root(float *x, float a) { x[threadIdx.x] = sqrtf(a); } // root
__global__ void product(double *x, double a) { x[threadIdx.x] = a * a; } // product
__global__ void narrowed(float *x, double a) { x[threadIdx.x] = (float)a; } // narrowed
__global__ void library(double *x, double a) {
    double y = exp(a); // library
    __syncthreads();
    x[threadIdx.x] = y;
}
__global__ void difference(float *x, float a) { x[threadIdx.x] = a - a * 2; } // difference
__global__ void twice(float *x, float a) {
    x[threadIdx.x] = a / 0.0f; // twice
    __syncthreads();
    x[threadIdx.x] = logf(-a); // twice
}
__global__ void harmless(float *x, float a) {
    int i = threadIdx.x, whole = (int)(a * 1e10f);
    x[i] = (a < 0) + fminf(a, 2) + a * 3 + (whole > 0);
}
""")


def look(name, a, dtype="f4", checks=("nan",)):
    x = cuda.to_device(np.zeros(40, dtype))
    try:
        with cuda.checks(*checks):
            MODULE[name][2, 20](x, a)
            cuda.synchronize()
    except errors.KernelError as found:
        print(name, found.kind, found.thread, found.others, found.line, str(found).partition(") makes ")[2])
    else:
        print(name, "-")


look("division", 3.0)
look("division", 0.5)
look("root", -1.0)
look("root", np.nan)
look("product", 1e200, "f8")
look("product", np.inf, "f8")
look("narrowed", 1e300)
look("library", 1000.0, "f8")
look("library", 1000.0, "f8", checks=("all", "nan"))
look("difference", np.inf)
look("twice", 1.0)
for a in (np.nan, np.inf, 7.0):
    look("harmless", a)
with np.errstate(all="ignore"):  # the program's own numbers are not checked
    print(np.float32(1) / np.zeros(2, "f4"), np.sqrt(np.full(2, -1.0)))
'''
LARGE = "infinity of finite numbers: the result is too large"
NONE = "NaN of numbers (0 / 0, inf - inf, the root of a negative number, ...)"
ZERO = "infinity of a finite number, which it divides by zero"


def test_processor_traps_name_lines_that_create_nan_or_infinity(run_python, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    code = f"import runpy; runpy.run_path({str(program)!r})"
    output = run_python(
        code, NUMBALITE_CXX="g++", NUMBALITE_DRIVER="sim", NUMBALITE_SIM_CHECKS=None
    )
    lines = PROGRAM.split("\n")
    at = {
        line.rpartition("// ")[2]: n
        for n, line in reversed(list(enumerate(lines, 1)))
        if "// " in line
    }
    every = "(and 39 more, in 1 place)"
    assert output.stdout.splitlines() == [
        f"division nan (3, 0, 0) 1 {at['division']} {ZERO} (and 1 more, in 1 place)",
        "division -",
        f"root nan (0, 0, 0) 39 {at['root']} {NONE} {every}",
        "root -",
        f"product nan (0, 0, 0) 39 {at['product']} {LARGE} {every}",
        "product -",
        f"narrowed nan (0, 0, 0) 39 {at['narrowed']} {LARGE} {every}",
        f"library nan (0, 0, 0) 39 {at['library']} {LARGE} {every}",
        f"library nan (0, 0, 0) 39 {at['library']} {LARGE} {every}",
        f"difference nan (0, 0, 0) 39 {at['difference']} {NONE} {every}",
        f"twice nan (0, 0, 0) 79 {at['twice']} {ZERO} (and 79 more, in 2 places)",
        "harmless -",
        "harmless -",
        "harmless -",
        "[inf inf] [nan nan]",
    ]
