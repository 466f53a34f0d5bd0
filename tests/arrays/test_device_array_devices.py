"""Tests arrays of several devices, each test in a process of its own: two GPUs if available, else
two simulated devices."""

import pytest

from numbalite import cuda

START = """
import threading
import numpy as np
import pytest
from numbalite import cuda, vectorize, _core
assert len(cuda.gpus) >= 2
host = np.arange(24, dtype="f4").reshape(4, 6)
def assert_device_array(device, host, number):
    assert device.device == number, device
    assert (device.shape, device.dtype) == (host.shape, host.dtype)
    np.testing.assert_array_equal(device.copy_to_host(), host)
here = cuda.to_device(host)
there = cuda.to_device(host * 10, device=1)
assert_device_array(here, host, 0)
assert_device_array(there, host * 10, 1)
assert cuda.get_current_device().id == 0
"""


@pytest.fixture
def two_device_runner(run_python, driver_kind):
    driver = driver_kind if driver_kind == "sim" or len(cuda.gpus) >= 2 else "sim"

    def run_on_two_devices(code):
        return run_python(START + code, NUMBALITE_DRIVER=driver, NUMBALITE_SIM_DEVICES="2")

    return run_on_two_devices


def test_to_device_with_another_device_copies(two_device_runner):
    two_device_runner("""
assert cuda.to_device(here) is here and cuda.to_device(here, device=0) is here
assert cuda.to_device(there) is there, "where it is"
for device in (1, cuda.gpus[1], cuda.gpus[1]._device, np.int64(1)):
    moved = cuda.to_device(here, device=device)
    assert_device_array(moved, host, 1)
assert_device_array(cuda.to_device(here[::-1, ::2], device=1), host[::-1, ::2], 1)
turned = cuda.to_device(here.T, device=1)
assert_device_array(turned, host.T, 1)
assert turned.strides == here.T.strides, "the axes keep their order"
assert_device_array(cuda.to_device([1, 2, 3], device=1), np.array([1, 2, 3]), 1)
assert cuda.to_device(host, device=1, copy=False).device == 1
assert cuda.to_device(here, device=1, copy=False).device == 1
stream = cuda.stream()
with cuda.gpus[1]:
    other = cuda.stream()
assert cuda.to_device(here, other, device=1).stream is other
cuda.to_device(host, to=there)
assert_device_array(there, host, 1)
with pytest.raises(ValueError, match="the array to copy into is on device 1, not on 0"):
    cuda.to_device(host, to=there, device=0)
for wrong in (len(cuda.gpus), -1, 1 << 40):
    with pytest.raises(IndexError, match="there is no device"):
        cuda.to_device(host, device=wrong)
for wrong in ("1", 1.0):
    with pytest.raises(TypeError):
        cuda.to_device(host, device=wrong)
class ForeignArray:
    __cuda_array_interface__ = there.__cuda_array_interface__
assert_device_array(cuda.to_device(ForeignArray(), device=0), host, 0)
records = cuda.to_device(np.zeros(3, [("a", "i4"), ("b", "f8")]), device=1)
records[1]["a"] = 5
assert records[1]["a"] == 5 and type(records[1]) is cuda.DeviceRecord
assert_device_array(cuda.to_device(records, device=0), records.copy_to_host(), 0)
""")


def test_assignment_copies_between_devices(two_device_runner):
    two_device_runner("""
for key, of in [(..., ...), (np.s_[::2], np.s_[1::2]), (np.s_[:, 1], np.s_[:, 2]), (np.s_[::-1], np.s_[::1])]:
    for dtype in ("f4", "i2", "c16"):
        x, y = np.zeros((4, 6), dtype), host * 10
        d = cuda.to_device(x)
        e = cuda.to_device(y, device=1)
        d[key] = e[of]
        x[key] = y[of]
        assert_device_array(d, x, 0)
        with cuda.gpus[1]:
            d[key] = 0
            d[key] = e[of]
        assert_device_array(d, x, 0)
d = cuda.to_device(np.zeros((4, 6)), device=1)
d[...] = here[1]          # broadcast
assert_device_array(d, np.broadcast_to(host[1], (4, 6)).astype("f8"), 1)
d[...] = host[2]          # from the host, while another device is current
assert_device_array(d, np.broadcast_to(host[2], (4, 6)).astype("f8"), 1)
d[:, ::2] = 7
d.fill(3)
assert_device_array(d, np.full((4, 6), 3.0), 1)
d[0, 0] = here[1, 1]
assert d[0, 0] == host[1, 1]
here.copy_to_device(there)
assert_device_array(here, host * 10, 0)
here.T.copy_to_device(there.T[:, ::-1])
assert_device_array(here, (host * 10)[::-1], 0)
with pytest.raises(ValueError, match="could not broadcast"):
    d[...] = here[:, :5]
with pytest.raises(TypeError, match="incompatible dtype"):
    d.copy_to_device(here)
records = np.zeros(3, [("a", "i4"), ("b", "f8")])
r, s = cuda.to_device(records), cuda.to_device(np.ones(3, [("x", "f4"), ("y", "f4")]), device=1)
r[:] = s
assert r.copy_to_host()["b"].tolist() == [1, 1, 1]
""")


def test_results_are_on_the_device_of_the_operand(two_device_runner):
    two_device_runner("""
for make in (
    lambda d: d.copy(), lambda d: d.copy("F"), lambda d: d[::2].copy("K"), lambda d: d.astype("i4"), lambda d: d.T.flatten(),
    lambda d: d.T.reshape(-1, copy=True), lambda d: d.astype("c8").imag, lambda d: d.imag, lambda d: d[1:], lambda d: d.view("i4"),
):
    assert_device_array(make(there), make(cuda.to_device(host * 10)).copy_to_host(), 1)
assert cuda.get_current_device().id == 0
assert repr(there).endswith("device=1)")
import copy
assert copy.deepcopy(there).device == 1
with cuda.gpus[1]:
    made = cuda.device_array(3)
    assert made.device == 1 and cuda.device_array_like(here).device == 1
    assert cuda.to_device(host).device == 1 and cuda.to_device(here) is here
    with cuda.gpus[0]:
        assert cuda.device_array(3).device == 0
    assert cuda.get_current_device().id == 1
assert cuda.device_array(3).device == 0
assert there.gpu_data.context == cuda.current_context(1)
""")


def test_a_launch_reports_the_devices_of_its_arrays(two_device_runner):
    two_device_runner("""
kernel = cuda.jit("__global__ void k(float* x) { x[0] = 7; }")
before = there.copy_to_host()
with pytest.raises(ValueError, match=r"on device 1, but the kernel runs on device 0: copy it over"):
    kernel[1, 1](there)
np.testing.assert_array_equal(there.copy_to_host(), before)
with cuda.gpus[1]:
    kernel[1, 1](there)
    with pytest.raises(ValueError, match=r"on device 0, but the kernel runs on device 1"):
        kernel[1, 1](here)
assert there[0, 0] == 7

twice = vectorize(["float32(float32)"], target="cuda", source="return 2 * x;", args="x")
for call in (lambda: twice(here, out=there), lambda: here + there, lambda: np.add(host, here, out=there)):
    with pytest.raises(ValueError, match=r"is on device \\d, but the call is on device \\d: copy the array"):
        call()
with cuda.gpus[1]:
    with pytest.raises(ValueError, match="on device 0, but the call is on device 1"):
        here + there
""")


def test_calls_run_on_the_device_of_their_arrays(two_device_runner):
    """Ufuncs, operators and NumPy's functions, three times each, as the third call may be a replay."""
    two_device_runner("""
import operator, os, random
from numbalite import guvectorize, fuse
twice = vectorize(["float64(float64)"], target="cuda", source="return 2 * x;", args="x")
rows = guvectorize(["void(float64[:], float64[:])"], "(n)->()", target="cuda", args="x, r",
                   source="double s = 0; for (int i = 0; i < x.size(); i++) s += x[i]; r[0] = s;")
plus = fuse(lambda x, y: np.sqrt(abs(x)) + y)
random.seed(os.environ["NUMBALITE_TEST_SEED"])
x, y = np.random.default_rng(random.getrandbits(32)).normal(size=(2, 4, 4)) + np.eye(4)
mask, places = x > 0, np.array([2, 0, 1])
def make_assignment(key, value):
    def assign_to_copy(x, mask, places):
        made = x.copy()
        made[{"mask": mask, "places": places}[key]] = value
        return made
    return assign_to_copy
def add_and_multiply_in_place(x, mask, places):
    made = x.copy()
    made += 1
    np.multiply(x, 3, out=made, where=mask)
    return made
calls = [
    *(lambda x, m, p, f=f: f(x, x.T) for f in (operator.add, operator.truediv, operator.lt, operator.eq, operator.matmul, np.hypot, np.fmax)),
    *(lambda x, m, p, f=f: f(x) for f in (
        operator.neg, abs, np.exp, np.modf, np.i0, np.round, np.cov, np.ptp, np.trapezoid, np.gradient, np.sort, np.unique, np.cumsum,
        np.linalg.inv, np.linalg.svd, np.linalg.norm, np.median, np.nonzero, np.add.reduce, np.add.accumulate, np.isnan, np.std,
        np.zeros_like, np.count_nonzero, np.argsort, np.tril, np.diff, lambda x: np.abs(np.fft.fft(x)), lambda x: np.isin(x, x[:2]),
        lambda x: x ** 2, lambda x: 2 * x, lambda x: x + y, lambda x: y - x, lambda x: divmod(x, 0.5), lambda x: np.kron(x, x),
        lambda x: np.add.outer(x, x), lambda x: np.polyval([1, 2], x), lambda x: x[::2, 1] + 1, lambda x: (x > 0).any(axis=0),
        lambda x: np.concatenate([x, x]), lambda x: np.where(x > 0), lambda x: np.clip(x, 0, 1), lambda x: np.pad(x, 2))),
    lambda x, m, p: np.where(m, x, -x), lambda x, m, p: np.where(m, x, 0), lambda x, m, p: x[m], lambda x, m, p: x[p], lambda x, m, p: x[~m & (x > -1)],
    lambda x, m, p: np.take(x, p, axis=0), lambda x, m, p: np.choose(m.astype(int), [x, -x]), make_assignment("mask", 0), make_assignment("places", 5), add_and_multiply_in_place,
]
ours = [*calls, lambda x, m, p: twice(x), lambda x, m, p: rows(x), lambda x, m, p: plus(x, x), lambda x, m, p: cuda.select("x > 0")(x),
        lambda x, m, p: np.arange(5, like=x), lambda x, m, p: np.full((2, 3), 4.0, like=x), lambda x, m, p: np.array([1, 2], like=x)]
def as_list(result):
    return list(result) if isinstance(result, tuple) else [result]
first = [cuda.to_device(one) for one in (x, mask, places)]
second = [cuda.to_device(one, device=1) for one in (x, mask, places)]
for _ in range(3):
    random.shuffle(ours)
    for call in ours:
        expected = [np.asarray(one) for one in as_list(call(*first))]
        with cuda.stream() if random.random() < 0.3 else cuda.gpus[0]:
            found = as_list(call(*second))
        assert cuda.get_current_device().id == 0
        for one, other in zip(found, expected, strict=True):
            assert not isinstance(one, cuda.DeviceNDArray) or one.device == 1
            np.testing.assert_array_equal(np.asarray(one), other)
with pytest.raises(ValueError, match="broadcast"):
    there + there[:2]
with pytest.raises(TypeError):
    np.bitwise_or(there, there)
assert _core.selected_device() is None, "nothing was selected for the thread"
with cuda.gpus[1]:
    assert_device_array(np.negative(here), -host, 0)
    assert cuda.get_current_device().id == 1
""")


def test_calls_run_on_the_device_of_foreign_arrays(two_device_runner):
    """Objects with a CUDA Array Interface on a device that is not current: ufuncs, their methods, reductions, scans,
    sorts, fused functions, NumPy's functions. A kernel launch keeps its error."""
    two_device_runner("""
from numbalite import fuse, guvectorize
class ForeignArray:
    def __init__(self, array):
        self.array, self.__cuda_array_interface__ = array, array.__cuda_array_interface__
F = ForeignArray
def assert_on_device(number, result):
    for one in result if isinstance(result, (tuple, list)) else [result]:
        if isinstance(one, cuda.DeviceNDArray):
            assert one.device == number
    return [np.asarray(one.copy_to_host() if isinstance(one, cuda.DeviceNDArray) else one)
            for one in (result if isinstance(result, (tuple, list)) else [result])]
add = cuda.vectorize(source="a + b", args="a, b")
total = guvectorize("(n)->()", target="cuda", source="r[0] = 0; for (int i = 0; i < x.size(); ++i) r[0] += x[i];", args="x, r")
@fuse
def mapped(x, y):
    return np.sqrt(x) + y
@fuse
def sum_of_products(x, y):
    return (x * y).sum()
row, mask, index = there[1], there > 50, cuda.to_device(np.array([0, 2]), device=1)
calls = [
    lambda w: add(w(there), 1), lambda w: add(host, w(there)), lambda w: add(w(there), w(there), where=w(mask), out=there * 0),
    lambda w: np.multiply(there, w(there)), lambda w: there + w(there), lambda w: cuda.sqrt(w(there)), lambda w: cuda.add(2, w(there)),
    lambda w: add.reduce(w(there)), lambda w: add.accumulate(w(there), axis=1), lambda w: add.outer(w(row), w(row)),
    lambda w: add.reduceat(w(row), [0, 2]), lambda w: total(w(there)), lambda w: mapped(w(there), 1.0), lambda w: sum_of_products(w(there), w(there)),
    lambda w: cuda.reduce("a + b")(w(there), axis=0), lambda w: cuda.scan("a + b")(w(row)), lambda w: cuda.sort(key="-x")(w(row)),
    lambda w: cuda.select("x > 30")(w(there)), lambda w: cuda.topk(w(row), 2), lambda w: cuda.where(w(mask), w(there), 0),
    lambda w: there[w(mask)], lambda w: there[w(index)], lambda w: cuda.matmul(w(there), w(there.T)), lambda w: there @ w(there.T),
    lambda w: cuda.matmul(w(there), w(there.T), epilogue="x + b", b=w(there[:, :4])), lambda w: cuda.sum(w(there), axis=0),
    lambda w: cuda.isin(w(row), w(row)), lambda w: cuda.asarray(w(there)), lambda w: cuda.clip(w(there), w(there), 5),
    lambda w: cuda.concatenate([w(there), w(there)]), lambda w: cuda.linalg.norm(w(there)), lambda w: cuda.argsort(w(row)),
    lambda w: cuda.pad(w(there), 1), lambda w: cuda.einsum("ij,kj->ik", w(there), w(there)), lambda w: abs(np.fft.fft(there)),
]
for number, call in enumerate(calls):
    found, wanted = assert_on_device(1, call(ForeignArray)), assert_on_device(1, call(lambda array: array))
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one, other, err_msg=str(number))
    assert cuda.get_current_device().id == 0
with pytest.raises(ValueError, match="operand 2 is on device 1, but the call is on device 0"):
    add(here, F(there))
with pytest.raises(ValueError, match="broadcast"):
    add(F(there), F(row[:2]))
assert cuda.get_current_device().id == 0
@cuda.jit
def store_in_first_element(x):
    "x[0][0] = 1;"
with pytest.raises(ValueError, match="on device 1, but the kernel runs on device 0"):
    store_in_first_element[1, 1](F(there))
""")


def test_peer_access_can_be_enabled_twice(two_device_runner):
    two_device_runner("""
first, second = cuda.current_context(0), cuda.current_context(1)
assert first.can_access_peer(second) and first.can_access_peer(1) and cuda.gpus[0].can_access_peer(1)
for _ in range(2):  # twice is no mistake
    first.enable_peer_access(second)
    second.enable_peer_access(first, flags=0)
with pytest.raises(ValueError, match="device 0 is not a peer of itself"):
    first.enable_peer_access(first)
with pytest.raises(ValueError, match="flags must be 0"):
    first.enable_peer_access(second, 1)
with pytest.raises(IndexError):
    first.enable_peer_access(99)
cuda.gpus[1].reset()
again = cuda.to_device(here, device=1)
assert_device_array(again, host, 1)
first.enable_peer_access(second)
with pytest.raises(RuntimeError, match="was reset"):
    here[...] = there
with pytest.raises(RuntimeError, match="was reset"):
    there[...] = here
assert_device_array(here, host, 0)
""")


def test_kernels_access_arrays_of_a_peer_device(two_device_runner):
    """After enable_peer_access, kernels accept arrays of the other device, in one direction."""
    two_device_runner("""
@cuda.jit("void(const int64[:], int64[:])")
def plus_one(x, y):
    "int i = grid<1>(); if (i < x.size()) y[i] = x[i] + 1;"
x, there = cuda.to_device(np.arange(8), device=1), cuda.to_device(np.zeros(8, int), device=1)
y = cuda.to_device(np.zeros(8, int))
with pytest.raises(ValueError, match="on device 1, but the kernel runs on device 0"):
    plus_one[1, 8](x, y)
cuda.current_context(0).enable_peer_access(cuda.current_context(1))
host = np.zeros(8, int)
stream = cuda.stream(non_blocking=True)
for at in (0, stream):
    for out in (y, there, host):
        plus_one[1, 8, at](x, out)
        assert_device_array(cuda.to_device(out), np.arange(8) + 1, 1 if out is there else 0)
        out[...] = 0
class ForeignArray:
    __cuda_array_interface__ = x.__cuda_array_interface__
plus_one[1, 8](ForeignArray(), y)
assert_device_array(y, np.arange(8) + 1, 0)
with pytest.raises(ValueError, match="on device 1"), stream.capture():
    plus_one[1, 8, stream](x, y)
with cuda.gpus[1], pytest.raises(ValueError, match="on device 0, but the kernel runs on device 1"):
    plus_one[1, 8](y, x)
cuda.gpus[1].reset()
x = cuda.to_device(np.arange(8), device=1)
with pytest.raises(ValueError, match="on device 1, but the kernel runs on device 0"):
    plus_one[1, 8](x, y)
""")


def test_memory_of_the_host_waits_for_every_device(two_device_runner):
    """Managed and mapped memory is freed or reused only after the work of every device that uses it
    is complete."""
    two_device_runner("""
import time
@cuda.jit("void(float64[:], float64[:])")
def copy_elements(x, y):
    "int i = grid<1>(); if (i < x.size()) y[i] = x[i];"
for make in (cuda.managed_array, cuda.mapped_array, lambda n: cuda.mapped_array(n, wc=True)):
    array = make(64)
    array[:] = 5
    with cuda.gpus[1]:
        stream, result = cuda.stream(non_blocking=True), cuda.to_device(np.zeros(64))
        copy_elements[1, 64, stream](array, result)  # compiled
        stream.synchronize()
        result.fill(0)
        cuda.synchronize()
        stream.add_callback(lambda *_: time.sleep(0.2))
        copy_elements[1, 64, stream](array, result)
    del array
    make(64)[:] = 1
    with cuda.gpus[1]:
        cuda.synchronize()
    assert result.copy_to_host().tolist() == [5] * 64
""")


def test_copies_between_devices_make_few_driver_calls(two_device_runner):
    two_device_runner("""
def driver_calls_of(use):
    use()
    _core.trace(True)
    use()
    _core.trace(False)
    return [name for name in _core.traced() if "Memcpy" in name or "Alloc" in name]
wide = cuda.to_device(np.zeros((4, 6), "f4"), device=1)
copy = "cuMemcpyDtoDAsync" if cuda.gpus[1].can_access_peer(0) else "cuMemcpyPeerAsync"
assert driver_calls_of(lambda: wide.__setitem__(..., here)) == [copy]
assert driver_calls_of(lambda: wide.T.copy_to_device(here.T)) == [copy]
assert driver_calls_of(lambda: wide[:, ::2].copy_to_device(here[:, 1::2])).count(copy) == 1
""")


def test_threads_use_separate_devices(two_device_runner):
    two_device_runner("""
problems = []
def use_device_in_thread(number):
    try:
        with cuda.gpus[number]:
            mine = cuda.to_device(np.full(1000, number, "f8"))
            other = cuda.to_device(np.full(1000, 10.0), device=1 - number)
            for i in range(30):
                mine[::2] = other[::2]
                other[...] = mine
                assert_device_array(other.astype("i4"), np.where(np.arange(1000) % 2, number, 10).astype("i4"), 1 - number)
                other.fill(10)
            assert cuda.get_current_device().id == number
    except BaseException as problem:
        problems.append(problem)
threads = [threading.Thread(target=use_device_in_thread, args=(i % 2,)) for i in range(4)]
[t.start() for t in threads]; [t.join() for t in threads]
assert not problems, problems
""")


def test_default_device_applies_to_new_threads(two_device_runner, run_python):
    two_device_runner("""
numbers = []
def record_devices():
    numbers.append((cuda.get_current_device().id, cuda.device_array(3).device))
def run_in_thread():
    thread = threading.Thread(target=record_devices)
    thread.start()
    thread.join()
run_in_thread()
cuda.set_default_device(1)
run_in_thread()
cuda.set_default_device(cuda.gpus[0])
run_in_thread()
assert numbers == [(0, 0), (1, 1), (0, 0)]
cuda.set_default_device(1)
record_devices()
with cuda.gpus[0]:
    record_devices()
cuda.select_device(0)
cuda.set_default_device(1)
record_devices()                                     # this thread has selected one
assert numbers[3:] == [(1, 1), (0, 0), (0, 0)]
for wrong in (99, -1):
    with pytest.raises(IndexError, match="there is no device"):
        cuda.set_default_device(wrong)
with pytest.raises(TypeError):
    cuda.set_default_device("1")
""")
    code = "from numbalite import cuda; print(cuda.device_array(3).device, cuda.current_context().device.id)"
    two = {"NUMBALITE_DRIVER": "sim", "NUMBALITE_SIM_DEVICES": "2"}
    assert run_python(code, NUMBALITE_DEVICE="1", **two).stdout == "1 1\n"
    result = run_python(code, NUMBALITE_DEVICE="2", check=False, **two)
    assert (
        "IndexError: NUMBALITE_DEVICE=2: there is no device 2: this process sees 2 devices"
        in result.stderr
    )
    result = run_python(code, NUMBALITE_DEVICE="one", check=False, **two)
    assert "NUMBALITE_DEVICE='one': expected an integer" in result.stderr


def test_arrays_are_unpickled_on_another_device(two_device_runner):
    two_device_runner("""
import pickle
data = pickle.dumps(there)
assert_device_array(pickle.loads(data), host * 10, 0)
with cuda.gpus[1]:
    assert_device_array(pickle.loads(data), host * 10, 1)
""")


def test_copies_between_devices_leak_nothing(two_device_runner):
    two_device_runner("""
import gc
here[...] = there
there[::2] = here[::2].astype("f8")
cuda.to_device(here[:, ::2], device=1)
cuda.close()
del here, there
from numbalite.ufuncs import cudaufunc
cudaufunc._casts.clear()
gc.collect()
assert not any(_core.live().values()), _core.live()
again = cuda.to_device(host, device=1)
assert_device_array(again, host, 1)
""")


def test_repr_names_the_device(two_device_runner):
    two_device_runner("""
with cuda.gpus[1]:
    assert repr(cuda.stream()).endswith(" of device 1>"), cuda.stream()
large = cuda.to_device(np.arange(5000).reshape(50, 100), device=1)
with cuda.gpus[0]:
    assert str(there) == str(host * 10)
    assert repr(there).endswith(" dtype=float32, device=1)"), repr(there)
    assert str(large[::-1]) == str(np.arange(5000).reshape(50, 100)[::-1])
    assert "1: " in there._repr_html_() and "230." in there._repr_html_()
    assert cuda.get_current_device().id == 0
""")
