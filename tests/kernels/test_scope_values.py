"""Tests values of the Python scope in kernels: tuples, empty arrays, device arrays, members of
modules."""

import collections
import enum
import gc
import math
import pickle
from types import ModuleType

import numpy as np
import pytest

from numbalite import cuda, errors, jit

Pose = collections.namedtuple("Pose", "angle at")


class Colour(enum.Enum):
    RED = 3
    BLUE = 2.5


TILE = (4, 2)
LONG = tuple(range(12))
POSE = Pose(1.5, (2, np.float32(3)))
EMPTY = np.zeros((0, 3), "f4")
CHOSEN = Colour.RED
DAY = np.datetime64("1970-01-11")


@cuda.jit
def use_constant_tuples(out):
    """
    __shared__ float tile[get<0>(TILE)][TILE[1]];
    tile[0][0] = 1;
    out[0] = sizeof(tile) / 4 + tile[0][0];
    out[1] = 0;
    for (int j = 0; j < 12; ++j) out[1] += LONG[j];
    out[2] = POSE.angle + get<1>(POSE.at);
    out[3] = EMPTY.size() * 10 + EMPTY.shape[1];
    out[4] = CHOSEN + DAY;
    out[5] = math.pi + Colour.BLUE + Colour.RED.value;
    """


def test_captured_enums_and_tuples_are_constants():
    out = np.zeros(6)
    expected = [9, 66, 4.5, 3, 13, math.pi + 5.5]
    for kernel in (use_constant_tuples, pickle.loads(pickle.dumps(use_constant_tuples))):
        kernel[1, 1](out)
        assert out.tolist() == expected
    try:
        use_constant_tuples.inspect_asm()
    except errors.CudaSupportError:
        pass


def test_captured_module_members_are_constants():
    data = cuda.to_device(np.arange(5.0))
    lib = ModuleType("lib")
    lib.n, lib.real, lib.table = 7, np.float32, np.array([1, 2, 3])

    @cuda.jit(device=True)
    def twice(x):
        "return 2 * x + data[1];"

    lib.twice = twice

    @cuda.jit
    def use_module_members(out):
        "lib.real z = 1.0 / 3; out[0] = lib.twice(z); out[1] = lib.n + lib.table[2]; out[2] = z;"

    out = np.zeros(3)
    use_module_members[1, 1](out)
    third = np.float32(1 / 3)
    assert out.tolist() == [2 * third + 1, 10, third]

    @cuda.jit
    def use_absent_member(out):
        "out[0] = lib.absent;"

    with pytest.raises(errors.CompileError, match=r"lib is a Python module: the source can name"):
        use_absent_member[1, 1](out)


def test_captured_device_arrays_are_passed_by_pointer():
    data, strided = (
        cuda.to_device(np.arange(6.0)),
        cuda.to_device(np.arange(6).reshape(2, 3))[:, ::2],
    )

    @cuda.jit
    def read_captured_arrays(out):
        "out[0] = data.size() + data[3]; out[1] = strided(1, 1) + strided.shape[1]; data[0] += 1;"

    out = np.zeros(2)
    for _ in range(2):
        read_captured_arrays[1, 1](out)
    assert out.tolist() == [9, 7] and data[0] == 2
    stream = cuda.stream()
    target = cuda.to_device(out)
    with stream.capture() as graph:
        read_captured_arrays[1, 1, stream](target)
    seen = data.copy_to_host()
    del read_captured_arrays, data, strided
    gc.collect()
    graph.launch()
    cuda.synchronize()
    assert target.copy_to_host().tolist() == [9, 7] and seen[0] == 2, "the graph keeps what it uses"


def test_captured_device_arrays_raise_in_cpu_functions():
    data = cuda.to_device(np.arange(3.0))

    @jit
    def read_captured_on_cpu(x):
        "return x + data[0];"

    with pytest.raises(errors.CompileError, match="data is a device array.*pass it as an argument"):
        read_captured_on_cpu(1.0)


def test_captured_device_arrays_raise_after_a_reset(run_python):
    run_python("""
import numpy as np, pytest
from numbalite import cuda, errors
data = cuda.to_device(np.arange(3.0))

@cuda.jit
def k(out):
    "out[0] = data[1];"

out = np.zeros(1)
k[1, 1](out)
assert out[0] == 1
cuda.gpus[0].reset()
with pytest.raises(errors.CudaDriverError, match="was reset after this object was created"):
    k[1, 1](out)
""")
