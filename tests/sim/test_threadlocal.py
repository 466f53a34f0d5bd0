"""Parameters in AVX-512 registers are preserved while code gets the address of thread-local
variables."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest
from kit.needs import IS_X86

# Replaces the C library's function, which may change these registers when it allocates.
# This function always changes the registers.
LIBRARY = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
void *__tls_get_addr(void *which) {
    static void *(*real)(void *);
    if (!real)
        real = (void *(*)(void *))dlvsym(RTLD_NEXT, "__tls_get_addr", "GLIBC_2.3");
    void *found = real(which);
    __asm__ volatile(
        ".irp n, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31\n"
        "vpxorq %zmm\\n, %zmm\\n, %zmm\\n\n.endr\n"
        ".irp n, 1, 2, 3, 4, 5, 6, 7\nkxorw %k\\n, %k\\n, %k\\n\n.endr");
    return found;
}
"""
PROGRAM = """
import numpy as np
from numbalite import cuda, jit
text = '''__global__ void k(double x, double y, double *out) {
    __shared__ double s[3];
    s[threadIdx.x] = fmod(x, 2.0);
    __syncthreads();
    out[threadIdx.x] = x + y * threadIdx.x + s[0] + s[2];
}'''
for checked in cuda.checks(), cuda.checks("none"):
    with checked:
        out = np.zeros(3)
        cuda.jit(text)[1, 3](5.5, 1.0, out)
        print(out.tolist())
own = jit("double own(double a, double b) { static thread_local int calls; calls++; return a + b * calls; }")
print(own(1.5, 2.0), own(1.5, 2.0))
"""


def test_vector_registers_survive_thread_local_access(tmp_path):
    cpu = pathlib.Path("/proc/cpuinfo")
    if not IS_X86 or not cpu.exists() or "avx512f" not in cpu.read_text(errors="replace"):
        pytest.skip("the processor has no AVX-512, whose registers these are")
    compiler = shutil.which("gcc") or shutil.which("clang")
    if not compiler:
        pytest.skip("no C compiler is installed")
    if "CS_GNU_LIBC_VERSION" not in os.confstr_names:
        pytest.skip("the function is glibc's")
    (tmp_path / "library.c").write_text(LIBRARY)
    command = [
        compiler,
        "-O1",
        "-mavx512f",
        "-shared",
        "-fPIC",
        "-o",
        "library.so",
        "library.c",
        "-ldl",
    ]
    subprocess.run(command, cwd=tmp_path, check=True)
    # A sanitizer's library stays the first.
    preloaded = [*filter(None, [os.environ.get("LD_PRELOAD")]), str(tmp_path / "library.so")]
    found = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM],
        env={**os.environ, "NUMBALITE_DRIVER": "sim", "LD_PRELOAD": " ".join(preloaded)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.splitlines() == ["[8.5, 9.5, 10.5]"] * 2 + ["3.5 5.5"]
