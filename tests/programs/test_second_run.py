"""A program that runs again compiles nothing, in a process of its own."""

import shutil

import pytest
from kit.together import make_folder_once

pytestmark = pytest.mark.usefixtures("disabled_checks")  # compilations are counted
PROGRAM = """
import sys
import numpy as np
from numbalite import compilers, cuda

@cuda.jit(device=True)
def axpy(a, x, y):
    "return a * x + y;"

@cuda.jit("void(float32, float32[:], float32[:])")
def saxpy(a, x, y):
    '''
    int i = grid<1>();
    if (i < y.size()) y[i] = axpy(a, x[i], y[i]);
    '''

@cuda.jit
def lazily(x):
    "x[grid<1>()] += 1;"

module = cuda.module(r'''
#include <stdint.h>
template <typename T> __global__ void twice(T* x) { x[threadIdx.x] *= 2; }
__constant__ float table[4];
''')

x = cuda.to_device(np.ones(8, np.float32))
saxpy[1, 8](2.0, x, x)
lazily[1, 8](x)
module["twice<float>"][1, 8](x)
assert x.copy_to_host().tolist() == [8.0] * 8, x.copy_to_host()
print(compilers.compile_count())
"""


@pytest.fixture
def cache_environment(tmp_path):
    return {"NUMBALITE_CACHE_DIR": str(tmp_path / "cache")}


@pytest.fixture
def cache_of_first_run(run_python, cache_environment, tmp_path, tmp_path_factory):
    """Returns a copy of the cache that the first run of the program has filled. One process of the
    test run performs the first run."""

    def fill_cache(folder):
        count = run_python(PROGRAM, NUMBALITE_CACHE_DIR=str(folder / "cache")).stdout
        (folder / "count").write_text(count)

    folder = make_folder_once(tmp_path_factory, "second_run", fill_cache)
    shutil.copytree(folder / "cache", tmp_path / "cache")
    return int((folder / "count").read_text())


def test_second_run_compiles_nothing(run_python, cache_environment, cache_of_first_run):
    assert cache_of_first_run >= 3
    assert int(run_python(PROGRAM, **cache_environment).stdout) == 0


def test_changed_kernel_is_the_only_recompilation(
    run_python, cache_environment, cache_of_first_run
):
    changed = PROGRAM.replace("a * x + y", "y + x * a")
    assert int(run_python(changed, **cache_environment).stdout) == 1


def test_damaged_cache_is_compiled_again(
    run_python, cache_environment, cache_of_first_run, tmp_path
):
    for path in (tmp_path / "cache").glob("*.image"):
        path.write_bytes(path.read_bytes()[:100])
    assert int(run_python(PROGRAM, **cache_environment).stdout) == cache_of_first_run
    assert int(run_python(PROGRAM, **cache_environment).stdout) == 0


def test_disabled_cache_compiles_again(run_python, cache_environment, cache_of_first_run):
    assert int(run_python(PROGRAM, NUMBALITE_DISABLE_CACHE="1", **cache_environment).stdout) >= 3
