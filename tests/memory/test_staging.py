"""Tests the copies of a call's host arrays, for any mixture of sizes, strides and kinds. Large
arrays are copied in chunks by several threads, medium arrays directly from page-locked memory,
small kernel arguments in one copy."""

import concurrent.futures
import mmap
import random
import time

import numpy as np
import pytest
from kit.calls import driver_calls_when_warm

from numbalite import _core, cuda, errors, guvectorize, vectorize

# silences the warning about host arrays as kernel arguments

MIB = 1 << 20
MANY = 31
SMALL_RINGS = [
    {"to_device": 3, "to_host": 3, "chunk": 4096, "ring": 16384, "group": 4096},
    {"to_device": 8, "to_host": 2, "chunk": 8192, "ring": 65536, "group": 16384},
    {"to_device": 1, "to_host": 1, "chunk": 65536, "ring": 262144, "group": 262144},
    {},
]


@pytest.fixture(autouse=True)
def _use_gpu_copy_settings():
    settings = _core.copy_settings()
    _core.copy_settings(always=True, least=1 << 18)
    cuda.host_memory_pool().trim()
    yield
    _core.copy_settings(**settings)
    cuda.host_memory_pool().trim()


@pytest.fixture(
    params=range(len(SMALL_RINGS)), ids=["tiny ring", "small ring", "one thread", "as is"]
)
def small_rings(request):
    _core.copy_settings(**SMALL_RINGS[request.param])


@vectorize(["float64(float64, float64)"], target="cuda")
def double_and_add(x, y):
    "x * 2 + y"


NAMES = [f"x{i}" for i in range(MANY)]
total = vectorize(
    [f"float32({', '.join(['float32'] * MANY)})"],
    target="cuda",
    source=" + ".join(NAMES),
    args=NAMES,
    name="total",
)


@cuda.jit("void(const float32[:], float32[:], float32[:], int32[:], const uint8[:])")
def add_to_rows(a, b, c, d, e):
    """
    for (long long i = grid<1>(); i < c.size(); i += gridsize<1>()) {
        c[i] = a[i] + b[i] + (i < e.size() ? e[i] : 0);
        b[i] += 1;
        if (i < d.size()) d[i] += 2;
    }
    """


def random_operand(rng, n, dtype="f8"):
    """n elements, somehow laid out."""
    kind = rng.choice(
        ["plain", "plain", "odd", "strided", "reversed", "pinned", "result", "number"]
    )
    values = np.random.default_rng(rng.randrange(1 << 30)).integers(0, 100, n).astype(dtype)
    if kind == "odd":
        buffer = np.zeros(values.nbytes + 8, "u1")
        start = np.dtype(dtype).itemsize
        array = buffer[start : start + values.nbytes].view(dtype)
    elif kind == "strided":
        array = np.zeros(3 * n, dtype)[1::3]
    elif kind == "reversed":
        array = np.zeros(n, dtype)[::-1]
    elif kind == "pinned":
        array = cuda.pinned_array(n, dtype)
    elif kind == "result":
        array = cuda.to_device(values).copy_to_host()
    elif kind == "number":
        return dtype(7) if callable(dtype) else np.dtype(dtype).type(7)
    else:
        array = np.empty(n, dtype)
    array[:] = values
    return array


@pytest.mark.parametrize("seed", range(4))
def test_staged_ufunc_calls_of_two_operands_match_numpy(small_rings, seed):
    rng = random.Random(seed)
    sizes = [1, 500, 4097, 8191, 16384, 40_000, 65_537, 131_072, 300_001]
    for _ in range(12):
        n = rng.choice(sizes) + rng.choice([0, 0, 1, -1])
        if not n:
            continue
        x, y = random_operand(rng, n), random_operand(rng, n)
        stream = rng.choice([0, cuda.stream(), cuda.stream(non_blocking=True)])
        if rng.random() < 0.3:
            out = np.full(2 * n, -1.0)[::2] if rng.random() < 0.5 else np.full(n, -1.0)
            got = double_and_add(x, y, out=out if np.ndim(x) or np.ndim(y) else None, stream=stream)
        else:
            got = double_and_add(x, y, stream=stream)
        np.testing.assert_array_equal(got, x * 2 + y)


@pytest.mark.parametrize("n", [3, 1000, 5001, 20_000])
def test_staged_ufunc_calls_of_many_operands_match_numpy(small_rings, n):
    xs = [np.full(n, i, "f4") for i in range(MANY)]
    xs[3] = xs[3][:, None][:, 0]
    xs[5] = np.arange(2 * n, dtype="f4")[::2]
    xs[7] = cuda.pinned_array(n, np.float32)
    xs[7][:] = 1
    xs[9] = xs[10]
    np.testing.assert_array_equal(total(*xs), np.sum(xs, axis=0, dtype="f4"))


def test_staged_ufunc_calls_of_broadcast_operands_match_numpy(small_rings):
    rows, columns = np.arange(700.0)[:, None], np.arange(900.0)
    grid = np.arange(630_000.0).reshape(700, 900)
    for x, y in [
        (rows, columns),
        (grid, columns),
        (rows, grid),
        (grid.T, rows.T),
        (grid[::2, ::3], 1.0),
    ]:
        np.testing.assert_array_equal(double_and_add(x, y), x * 2 + y)
    few = np.arange(30.0)[:, None], np.arange(40.0)
    np.testing.assert_array_equal(double_and_add(*few), few[0] * 2 + few[1])
    for x, y in [(grid[:0], columns), (grid[:, :0], rows)]:
        assert double_and_add(x, y).shape == (x + y).shape


@pytest.mark.parametrize("n", [1000, 30_000, 200_000])
def test_staged_operands_may_share_memory(small_rings, n):
    x = np.arange(float(n))
    np.testing.assert_array_equal(double_and_add(x, x), x * 3)
    np.testing.assert_array_equal(double_and_add(x[1:], x[:-1]), x[1:] * 2 + x[:-1])
    for there, here in [(np.s_[1:], np.s_[:-1]), (np.s_[:-1], np.s_[1:]), (np.s_[:], np.s_[::-1])]:
        y, wanted = x.copy(), x.copy()
        wanted[there] = x[here] * 2 + x[there]
        double_and_add(y[here], y[there], out=y[there])
        np.testing.assert_array_equal(y, wanted)


@pytest.mark.parametrize("size", [1000, 60_000, 64 << 10, 100_000, MIB, MIB + 100_000])
def test_small_operands_use_page_locked_memory_directly(size):
    """Kernels access the page-locked operands of a small call directly, without a copy."""
    for n in {max(1, size // 24 + d) for d in (-3, -1, 0, 1, 3)}:
        x, y = np.arange(float(n)), np.arange(float(n))[::-1]
        for _ in range(2):
            np.testing.assert_array_equal(double_and_add(x, y), x * 2 + y)
        mask = np.arange(n) % 3 == 0
        out = np.full(n, 5.0)
        double_and_add(x, y, where=mask, out=out)
        np.testing.assert_array_equal(out, np.where(mask, x * 2 + y, 5.0))


@pytest.mark.parametrize("n", [100, 20_000, 200_001])
@pytest.mark.parametrize("streamed", [False, True], ids=["default", "streamed"])
def test_staged_kernel_arguments_are_copied_both_ways(small_rings, n, streamed):
    stream = cuda.stream() if streamed else 0
    a, b, c = np.arange(n, dtype="f4"), np.ones(2 * n, "f4")[::2], np.zeros(n, "f4")
    d, e = np.zeros(n // 3, "i4"), np.full(n // 2, 3, "u1")
    for turn in range(2):
        before = b.copy()
        add_to_rows[32, 128, stream](a, cuda.InOut(b), cuda.Out(c), cuda.InOut(d), cuda.In(e))
        wanted = a + before
        wanted[: n // 2] += 3
        np.testing.assert_array_equal(c, wanted)
        np.testing.assert_array_equal(b, before + 1)
        assert (d == 2 * turn + 2).all()


@pytest.mark.sim
@pytest.mark.parametrize(
    "n, all_fit", [(3, True), (600, True), (2_500, True), (5_000, False), (40_000, False)]
)
def test_small_kernel_arguments_are_copied_together(n, all_fit):
    """Small arrays need one copy in each direction, regardless of their number and layout; larger
    arrays are copied separately."""
    a, b, c = np.arange(n, dtype="f4"), np.ones(2 * n, "f4")[::-2], np.full((2, n), -1, "f4")
    d, e = np.arange(4 * n, dtype="i4")[3::4], np.full(n, 3, "u1")
    turns = 0

    def launch_with_host_arrays():
        nonlocal turns
        add_to_rows[8, 128](a, cuda.InOut(b), cuda.Out(c[1]), cuda.InOut(d), cuda.In(e))
        turns += 1

    calls = driver_calls_when_warm(launch_with_host_arrays)
    np.testing.assert_array_equal(c[1], a + turns + 3)
    assert (b == 1 + turns).all() and (d == np.arange(n) * 4 + 3 + 2 * turns).all()
    assert (c[0] == -1).all()
    if all_fit:
        assert [name for name in calls if "Memcpy" in name] == [
            "cuMemcpyHtoDAsync",
            "cuMemcpyDtoHAsync",
        ]
        assert calls.count("cuStreamSynchronize") == 1 and "cuMemHostRegister" not in calls


@pytest.mark.sim
def test_array_passed_twice_is_copied_once():
    x, y = np.arange(300_000.0), np.ones(300_000)
    driver_calls_when_warm(lambda: double_and_add(x, x, out=y))
    np.testing.assert_array_equal(y, x * 3)
    assert _core.copied() == (x.nbytes, y.nbytes)
    small = np.arange(5, dtype="f4")
    driver_calls_when_warm(
        lambda: add_to_rows[1, 8](small, small, small, np.zeros(2, "i4"), np.zeros(0, "u1"))
    )
    assert _core.copied() == (256 + 8, 256 + 8)


def test_small_arguments_of_many_threads_are_copied():
    """If there are more arrays than page-locked blocks, some arrays are copied without a block."""
    held = cuda.event()
    stream = cuda.stream()
    stream.add_callback(lambda *unused: time.sleep(0.2))
    held.record(stream)

    def launch_in_thread(k):
        a, b, c = np.full(50, k, "f4"), np.ones(50, "f4"), np.zeros(50, "f4")
        mine = cuda.stream(non_blocking=True)
        held.wait(mine)
        add_to_rows[1, 64, mine](a, b, c, np.zeros(2, "i4"), np.zeros(0, "u1"))
        return (c == k + 1).all() and (b == 2).all()

    with concurrent.futures.ThreadPoolExecutor(40) as threads:
        assert all(threads.map(launch_in_thread, range(80)))


@pytest.mark.sim
def test_input_only_arguments_are_not_waited_for():
    @cuda.jit("void(const float32[:], float32[:])")
    def add(x, y):
        "y[0] += x[0] + x[2];"

    x, y = np.array([1, 0, 2], "f4"), cuda.to_device(np.zeros(1, "f4"))
    calls = driver_calls_when_warm(lambda: add[1, 1](x, y))
    assert "cuStreamSynchronize" not in calls[calls.index("cuLaunchKernel") :]
    assert y.copy_to_host()[0] == 6


@pytest.mark.sim
def test_checkers_treat_packed_arguments_as_separate_memory():
    @cuda.jit("void(float32*, float32*, int32)")
    def write_at(x, y, i):
        "x[i] = y[0];"

    x, y = np.zeros(64, "f4"), np.ones(64, "f4")
    with cuda.checks("memory"):
        write_at[1, 1](x, y, 63)
        with pytest.raises(errors.KernelError, match="x points to 64 elements"):
            write_at[1, 1](x, y, 64)
    assert x[63] == 1


def test_staged_gufunc_operands_match_numpy(small_rings):
    @guvectorize(["void(float64[:], float64[:], float64[:])"], "(n),(n)->(n)", target="cuda")
    def subtract_reversed(x, y, z):
        "for (int i = 0; i < z.size(); ++i) z[i] = x[i] - y[z.size() - 1 - i];"

    x, y = np.arange(180_000.0).reshape(-1, 3), np.ones((60_000, 3))
    np.testing.assert_array_equal(subtract_reversed(x, y), x - y[:, ::-1])
    np.testing.assert_array_equal(subtract_reversed(x[::-1], y[0]), x[::-1] - y[0])


@pytest.mark.parametrize("non_blocking", [False, True])
def test_staging_buffers_in_use_are_not_overwritten(small_rings, non_blocking):
    """While the stream is blocked, calls that need not wait return, and their staged data stays
    valid."""
    stream = cuda.stream(non_blocking=non_blocking)
    outs = [cuda.device_array(50_000, np.float64, stream=stream) for _ in range(4)]
    stream.add_callback(lambda *unused: time.sleep(0.1))
    for i, out in enumerate(outs):
        x, y = np.full(50_000, float(i)), np.ones(50_000)
        double_and_add(x, y, out=out, stream=stream)
        x[:] = y[:] = -9
    for i, out in enumerate(outs):
        assert (out.copy_to_host(stream=stream) == 2 * i + 1).all()


@pytest.mark.sim
def test_operands_are_not_waited_for():
    """A call makes one launch and one wait for any number of operands, and few copies to the
    device."""
    n = MIB // 4
    xs = [np.full(n, float(i)) for i in range(2)]
    double_and_add(*xs), double_and_add(*xs)
    _core.trace(True)
    try:
        double_and_add(*xs)
        calls = _core.traced()
    finally:
        _core.trace(False)
    launch = calls.index("cuLaunchKernel")
    assert "cuStreamSynchronize" not in calls[:launch]
    assert 2 <= calls[:launch].count("cuMemcpyHtoDAsync") <= 24
    assert not any(name.startswith("cuMemAlloc") or "Register" in name for name in calls[launch:])


def test_staged_calls_return_several_outputs(small_rings):
    @guvectorize(["void(float32[:], float32[:], float32[:])"], "(n)->(n),(n)", target="cuda")
    def plus_and_minus_one(x, up, down):
        "for (int i = 0; i < x.size(); ++i) { up[i] = x[i] + 1; down[i] = x[i] - 1; }"

    x = np.arange(300_000, dtype="f4").reshape(-1, 4)
    for _ in range(3):
        up, down = plus_and_minus_one(x)
        np.testing.assert_array_equal(up, x + 1)
        np.testing.assert_array_equal(down, x - 1)


@pytest.mark.parametrize("size", [1, 65_536, 65_537, 256 << 10, 5 * MIB + 3])
def test_copies_by_every_staging_ring_keep_values(small_rings, size):
    data = np.random.default_rng(size).integers(0, 256, size, dtype=np.uint8)
    for stream in (0, cuda.stream(), cuda.stream(non_blocking=True)):
        there = cuda.to_device(data, stream=stream)
        np.testing.assert_array_equal(there.copy_to_host(stream=stream), data)
        into = np.zeros(size + 64, "u1")
        there.copy_to_host(into[31 : 31 + size], stream=stream)
        assert (into[31 : 31 + size] == data).all() and not into[:31].any()
        assert not into[31 + size :].any()


def test_copies_fill_new_and_used_pages():
    """Large enough for all threads."""
    pattern = np.arange(MIB, dtype="u4")
    there = cuda.device_array((65, MIB), np.uint32)
    for row in there:
        row.copy_to_device(pattern)
    into = np.empty((65, MIB), "u4")
    for _ in range(2):
        there.copy_to_host(into)
        assert (into == pattern).all()
        into[:] = 0


def array_in_new_pages(size):
    """Returns a page-aligned array to whose pages no physical memory is mapped yet."""
    return np.frombuffer(mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS), "u1")


@pytest.mark.parametrize("size", [2 * MIB, 2 * MIB + 1, 5 * MIB - 4095])
def test_copies_into_parts_of_new_pages_keep_neighbours(small_rings, size):
    """The array may begin anywhere in a huge page; the neighbouring bytes are unchanged."""
    data = np.random.default_rng(size).integers(1, 256, size, dtype=np.uint8)
    there = cuda.to_device(data)
    for begin in (0, 1, 16, 256, 5000, MIB // 2 + 16, 2 * MIB - 16):
        buffer = array_in_new_pages(size + 4 * MIB)
        begin += -buffer.ctypes.data % (2 * MIB)
        there.copy_to_host(buffer[begin : begin + size])
        np.testing.assert_array_equal(buffer[begin : begin + size], data)
        assert not buffer[:begin].any() and not buffer[begin + size :].any()


@pytest.mark.parametrize("non_blocking", [False, True])
def test_copies_into_new_pages_wait_for_a_busy_stream(small_rings, non_blocking):
    """The pages are populated while the work runs; the copy still runs after the work."""
    stream = cuda.stream(non_blocking=non_blocking)
    data = np.arange(3 * MIB // 4, dtype="f8")
    there = cuda.to_device(data, stream=stream)
    stream.add_callback(lambda *unused: time.sleep(0.05))
    double_and_add(there, 1.0, out=there, stream=stream)
    result = there.copy_to_host(array_in_new_pages(data.nbytes).view("f8"), stream=stream)
    np.testing.assert_array_equal(result, data * 2 + 1)


def test_results_in_new_pages_keep_their_values(small_rings):
    data = np.arange(3 * MIB // 2, dtype="u4")
    there = cuda.to_device(data)
    cuda.host_memory_pool().trim()
    kept = [there.copy_to_host() for _ in range(4)]
    for result in kept:
        np.testing.assert_array_equal(result, data)


def test_staging_settings_are_rounded():
    settings = _core.copy_settings(chunk=5000, ring=70_000, group=1, shared=1, least=7, polls=1)
    assert settings["chunk"] == 8192 and settings["ring"] == 81_920 and settings["least"] == 7
    assert settings == _core.copy_settings()
