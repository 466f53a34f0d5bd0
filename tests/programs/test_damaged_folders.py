"""Tests damaged cache files of compilers: precompiled headers, hooks, translated headers, the fork
server."""

import shutil

import pytest
from kit import damage
from kit.together import make_folder_once

from numbalite.compilers import cccl

pytestmark = [pytest.mark.sim, pytest.mark.slow, pytest.mark.cases(1)]
PROGRAM = """
import os
import subprocess
import sys
import numpy as np
from numbalite import cuda

salt = int(os.environ["SALT"])  # no image is in the cache

def kernels(salt):
    for number in range(salt, salt + 3):
        x = cuda.to_device(np.zeros(4, np.int32))
        kernel = cuda.jit(f"__global__ void k(int *x) {{ x[threadIdx.x] = threadIdx.x + {number}; }}")
        kernel[1, 4](x)
        assert x.copy_to_host().tolist() == [number + i for i in range(4)]
    with cuda.checks():
        kernel[1, 4](x)
    if not int(os.environ["HAS_CUB"]):
        return
    total = cuda.jit(f'''
        #include <cub/block/block_reduce.cuh>
        __global__ void total(int *x) {{
            typedef cub::BlockReduce<int, 32> reduce;
            __shared__ typename reduce::TempStorage storage;
            int sum = reduce(storage).Sum((int)threadIdx.x);
            if (threadIdx.x == 0) x[0] = sum + {salt};
        }}''')
    total[1, 32](x)
    assert x.copy_to_host()[0] == 496 + salt

kernels(salt)
if len(sys.argv) > 1:
    subprocess.run([sys.executable, *sys.argv[1:]], check=True)
kernels(salt + 1000)
print("right")
"""


@pytest.fixture(params=["clang++", "g++"])
def warm_cache(request, run_python, tmp_path, tmp_path_factory):
    """Returns a cache that contains every kind of file: a copy of a cache that is created once."""
    if shutil.which(request.param) is None:
        pytest.skip(f"{request.param} is not installed")

    def fill_cache(folder):
        run_program_with_salt(run_python, request.param, folder / "cache", 5)
        assert len(damage.find_files(folder / "cache")) > 9

    folder = make_folder_once(tmp_path_factory, f"damaged_{request.param}", fill_cache)
    shutil.copytree(folder / "cache", tmp_path / "cache")
    return request.param, tmp_path / "cache"


def run_program_with_salt(run_python, compiler, cache, salt, *between):
    variables = {"NUMBALITE_CXX": compiler, "NUMBALITE_CACHE_DIR": str(cache), "SALT": str(salt)}
    variables["HAS_CUB"] = str(int(cccl.root_of_toolkit() is not None))
    assert run_python(PROGRAM, *between, **variables).stdout == "right\n"


@pytest.mark.parametrize("seed", range(60))
def test_programs_survive_a_damaged_cache(warm_cache, run_python, seed):
    compiler, cache = warm_cache
    damage.damage_files(cache, seed)
    run_program_with_salt(run_python, compiler, cache, 10_000)
    run_program_with_salt(run_python, compiler, cache, 20_000)


@pytest.mark.parametrize("seed", range(60))
def test_programs_survive_cache_damage_while_running(warm_cache, run_python, seed):
    compiler, cache = warm_cache
    run_program_with_salt(run_python, compiler, cache, 10_000, damage.__file__, cache, seed)
