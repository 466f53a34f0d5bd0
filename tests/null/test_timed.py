"""Tests cuda.profile() on a GPU, with a driver that does nothing (tests/bench/idle.c): the recorded calls,
and the rejected calls."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest
from kit.needs import needs_nvrtc

ROOT = pathlib.Path(__file__).resolve().parents[2]

PROGRAM = """
import threading
import numpy as np
from numbalite import cuda

@cuda.jit("void(float32[::1])")
def scale(x):
    "x[threadIdx.x] = 1;"

x = cuda.device_array(64, np.float32)
scale[2, 32](x)
p = cuda.profile()
with p:
    scale[2, 32](x)
    with cuda.profile() as inner:
        scale[8, 256](x)
    other = threading.Thread(target=lambda: scale[1, 32](x))
    other.start()
    other.join()
    scale[(4, 2), (16, 2)](x)
    assert len(p.launches) == 2
scale[2, 32](x)

first, second = p.launches
assert p.is_measured
assert (first.grid, first.block) == ((2, 1, 1), (32, 1, 1))
assert (second.grid, second.block) == ((4, 2, 1), (16, 2, 1))
assert first.kernel == "idle"
assert first.time >= 0 and first.is_complete
assert first.occupancy == 1 and inner.launches[0].occupancy == 1
assert len(inner.launches) == 1
assert p.idle.time == first.time + second.time
assert "idle: 2 launches" in repr(p) and "cannot be read on a GPU" in repr(p)
assert "<pre>" in p._repr_html_()
assert p.as_dict()["kernels"][0]["launches"][0]["registers"] == first.registers
one = scale.profile(3, 64, x)
assert (one.grid, one.block) == ((3, 1, 1), (64, 1, 1))
for use in (lambda: first.global_load_sectors, lambda: p.idle.advice):
    try:
        use()
    except AttributeError as error:
        assert "ncu" in str(error)
    else:
        raise AssertionError("no error")
try:
    p.idle.registers
except AttributeError as error:
    assert "launches[0].registers" in str(error)
else:
    raise AssertionError("no error")
for use in (lambda: p.lines, lambda: p.roofline, lambda: p.line(3)):
    try:
        use()
    except cuda.CudaSupportError as error:
        assert "NUMBALITE_DRIVER=sim" in str(error)
    else:
        raise AssertionError("no error")
print("done")
"""


@pytest.fixture(scope="module")
def idle_driver(tmp_path_factory):
    """Returns the folder of a libcuda whose functions do nothing."""
    compiler = shutil.which(os.environ.get("CC", "cc")) or shutil.which("gcc")
    if not compiler:
        pytest.skip("needs a C compiler")
    folder = tmp_path_factory.mktemp("idle")
    command = [
        compiler,
        "-O1",
        "-shared",
        "-fPIC",
        f"-I{ROOT / 'cext'}",
        str(ROOT / "tests/bench/idle.c"),
    ]
    subprocess.run([*command, "-o", str(folder / "libcuda.so.1")], check=True)
    return folder


@needs_nvrtc
def test_launches_on_a_gpu_are_timed_and_described(idle_driver, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    environment = {
        **os.environ,
        "LD_LIBRARY_PATH": str(idle_driver),
        "NUMBALITE_DRIVER": "cuda",
        "PYTHONPATH": str(ROOT),
    }
    done = subprocess.run(
        [sys.executable, str(program)], env=environment, capture_output=True, text=True
    )
    assert done.stdout == "done\n", done.stderr
