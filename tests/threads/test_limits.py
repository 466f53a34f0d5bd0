"""Tests cuda.limit and NUMBALITE_LIMIT on the simulator; tests/gpu/test_stoppable.py tests them on a
GPU."""

import numpy as np
import pytest

from numbalite import config, cuda
from numbalite.errors import KernelError, KernelTimeout

pytestmark = pytest.mark.sim

SOURCE = """
__global__ void spins(volatile int *x) { while (x[0] == 0) { } x[1] = 1; }
__global__ void fills(int *x) { x[threadIdx.x] = 7; }
"""


@pytest.fixture(scope="module")
def limit_module():
    return cuda.module(SOURCE, name="lesson.cu", stoppable=True)


def test_kernel_above_the_limit_times_out_and_the_device_continues(limit_module):
    x = cuda.to_device(np.zeros(32, np.int32))
    with pytest.raises(KernelTimeout, match=r"kernel spins.* after 0.3 s, the limit") as caught:
        with cuda.limit(0.3):
            limit_module.spins[1, 32](x)
    assert isinstance(caught.value, KernelError) and isinstance(caught.value, TimeoutError)
    limit_module.fills[1, 32](x)
    assert (x.copy_to_host() == 7).all()


def test_inner_limit_overrides_the_outer_one(limit_module):
    x = cuda.to_device(np.zeros(32, np.int32))
    with cuda.limit(1000):
        with pytest.raises(KernelTimeout):
            with cuda.limit(0.2):
                limit_module.spins[1, 32](x)
        with cuda.limit(0):
            limit_module.fills[1, 32](x)
    assert (x.copy_to_host() == 7).all()


def test_a_limit_keeps_the_checks_of_the_thread(limit_module):
    x = cuda.to_device(np.zeros(16, np.int32))
    with pytest.raises(KernelError, match="7|16"):
        with cuda.checks("memory"), cuda.limit(30):
            limit_module.fills[1, 32](x)


@pytest.mark.parametrize("seconds", ["1", True, None, 1j])
def test_limit_of_another_type_raises(seconds):
    with pytest.raises(TypeError, match="a number of seconds"):
        cuda.limit(seconds)


@pytest.mark.parametrize("seconds", [-1, float("nan"), float("inf")])
def test_negative_and_infinite_limits_raise(seconds):
    with pytest.raises(ValueError, match="a number of seconds"):
        cuda.limit(seconds)


def test_environment_variable_limits_every_kernel(run_python):
    code = """
import numpy as np
from numbalite import cuda, errors
spins = cuda.jit("__global__ void spins(volatile int *x) { while (x[0] == 0) { } }")
x = cuda.to_device(np.zeros(1, np.int32))
spins[1, 1](x)
try:
    cuda.synchronize()
except errors.KernelTimeout as problem:
    print(problem)
"""
    for name in ("NUMBALITE_LIMIT", "NUMBALITE_SIM_LIMIT"):
        assert "kernel spins" in run_python(code, timeout=60, **{name: "0.3"}).stdout


@pytest.mark.parametrize(
    ("limit", "of_simulator", "expected"),
    [(None, None, (None, None)), (3, None, (3, 3)), (3, 5, (3, 5)), (3, 0, (3, 0)), (None, 5, (None, 5)), (0, None, (0, 0))],
)  # fmt: skip
def test_process_limit_depends_on_the_configuration(monkeypatch, limit, of_simulator, expected):
    """(on a GPU, on the simulator)"""
    monkeypatch.setattr(config, "LIMIT", limit, raising=False)
    monkeypatch.setattr(config, "SIM_LIMIT", of_simulator, raising=False)
    assert (config.kernel_limit(False), config.kernel_limit(True)) == expected
