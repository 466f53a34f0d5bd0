"""pytest --numbalite-races: tests of a user's suite fail if their kernels have races."""

import pytest

pytestmark = pytest.mark.sim
SUITE = """
import numpy as np
import pytest
from numbalite import cuda

@cuda.jit
def reversal(x, out):
    \'\'\'
    __shared__ int s[64];
    s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = s[63 - threadIdx.x];
    \'\'\'

@cuda.jit
def flag(x, out):
    "if (x[threadIdx.x] > 5) out[0] = 1;"

@cuda.jit
def count(x, out):
    "if (x[threadIdx.x] > 5 && atomicAdd(&out[0], 1) == 57) out[1] = 1;"

def run(kernel):
    out = np.zeros(64, np.int32)
    kernel[1, 64](np.arange(64, dtype=np.int32), out)
    return out

def test_reversal():
    assert run(reversal)[0] == 63

def test_flag():
    assert run(flag)[0] == 1

def test_count():
    assert run(count)[0] == 58

def test_without_kernels():
    pass

@pytest.mark.numbalite_races(on=False)
def test_flag_never_checked():
    assert run(flag)[0] == 1

@pytest.mark.numbalite_races(budget=0)
def test_flag_always_checked():
    assert run(flag)[0] == 1

def test_wrong_result():
    assert run(reversal)[0] == 1
"""


@pytest.fixture
def run_suite(tmp_path, run_python):
    (tmp_path / "test_kernels.py").write_text(SUITE.replace("\\'", "'"))

    def run_pytest(*options):
        command = "-m pytest -p numbalite.course.plugin -q --strict-markers test_kernels.py"
        return run_python(command, *options, check=False, NUMBALITE_DRIVER="sim").stdout

    return run_pytest


def test_racing_tests_fail_with_the_option(run_suite):
    out = run_suite("--numbalite-races", "--numbalite-races-budget=0.1")
    assert "3 failed, 4 passed" in out, out
    for name in ("test_flag ", "test_flag_always_checked ", "test_wrong_result "):
        assert f"FAILED test_kernels.py::{name}" in out, out
    assert "numbalite: races" in out
    assert (
        "5 of 6 tests launch kernels: 2 no schedule races, 1 depends on atomics, 2 races" in out
    ), out


def test_without_the_option_only_the_marked_test_is_checked(run_suite):
    out = run_suite()
    assert "2 failed, 5 passed" in out, out
    assert "FAILED test_kernels.py::test_flag_always_checked " in out, out
    assert "1 of 1 tests launch kernels: 1 races" in out, out
