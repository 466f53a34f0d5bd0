"""Tests generalized ufuncs whose cores are staged in shared memory: results equal those of plain
kernels, for any shapes, strides and dtypes."""

import concurrent.futures
import random

import numpy as np
import pytest

from numbalite import cuda, guvectorize

DTYPES = "i1 i2 i4 i8 f4 f8 c8 c16".split()


def stage_always(function):
    function.staged, function.staged_from, function.fixed_from = True, 0, 1 << 60
    return function


def sources_of_staging_kernels(function):
    """Returns the sources of the kernels that stage cores in shared memory."""
    every = [one.inspect_source() for several in function.overloads.values() for one in several]
    return [text for text in every if "core_stage" in text]


def random_integers(rng, shape, dtype):
    values = rng.integers(-9, 9, shape)
    return (values + 1j * rng.integers(-9, 9, shape) if dtype[0] == "c" else values).astype(dtype)


def random_device_view(rng, shape, dtype, core):
    """Returns a device array at any offset in a larger array. Loop axes are in any order; the last
    `core` axes are dense in C or Fortran order."""
    loop = len(shape) - core
    order = [*rng.permutation(loop), *range(loop, len(shape))]
    if core == 2 and rng.integers(2):
        order[-2:] = order[:-3:-1]
    size = int(np.prod(shape))
    start = int(rng.integers(4))
    flat = cuda.to_device(random_integers(rng, size + start, dtype))[start:]
    return flat.reshape([shape[i] for i in order]).transpose(*np.argsort(order))


def random_loop_shape(rng):
    return (
        tuple(rng.integers(1, 9, rng.integers(1, 4)))
        if rng.integers(4)
        else (int(rng.integers(1, 200)),)
    )


@pytest.mark.parametrize("dtype", DTYPES)
def test_staged_row_cores_match_numpy(dtype):
    @stage_always
    @guvectorize("(n),(n)->(),(n)", target="cuda")
    def total_and_running_sum(a, b, total, running):
        """
        auto sum = a[0];
        sum = sum - sum;
        for (int i = 0; i < a.size(); ++i) { sum += a[i] * b[a.size() - 1 - i]; running[i] = sum; }
        total[0] = sum;
        """

    rng = np.random.default_rng(random.getrandbits(32))
    for number in range(8):
        length = int(
            rng.integers(1, 60)
            if number % 2
            else rng.integers(700, 2000) // np.dtype(dtype).itemsize
        )
        shape = *random_loop_shape(rng), length
        a, b = (
            random_device_view(rng, shape, dtype, 1),
            random_device_view(rng, shape[-1 - rng.integers(len(shape)) :], dtype, 1),
        )
        x, y = a.copy_to_host(), b.copy_to_host()
        with np.errstate(over="ignore"):
            running = np.cumsum(x * y[..., ::-1], -1, dtype=dtype)
        total, results = total_and_running_sum(a, b)
        np.testing.assert_array_equal(results.copy_to_host(), running)
        np.testing.assert_array_equal(total.copy_to_host(), running[..., -1])
    for length in (20, 700):  # more than two warps; short and long cores
        ones = cuda.to_device(np.ones((70, length), dtype))
        want = np.full(70, length)
        np.testing.assert_array_equal(
            total_and_running_sum(ones, ones)[0].copy_to_host(), want.astype(dtype)
        )
    assert {
        "long_core_stage" in text for text in sources_of_staging_kernels(total_and_running_sum)
    } == {False, True}


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_staged_matrix_cores_match_numpy(dtype):
    @stage_always
    @guvectorize("(m,n),(n,p)->(m,p)", target="cuda")
    def product(a, b, c):
        """
        for (int i = 0; i < c.shape[0]; ++i)
            for (int j = 0; j < c.shape[1]; ++j) {
                c(i, j) = 0;
                for (int k = 0; k < a.shape[1]; ++k) c(i, j) += a(i, k) * b(k, j);
            }
        """

    rng = np.random.default_rng(random.getrandbits(32))
    for number in range(8):
        loop, (m, n, p) = random_loop_shape(rng), rng.integers(1, 9, 3)
        if number == 0:  # more than two warps
            loop, (m, n, p) = (70,), (5, 4, 6)
        a, b = (
            random_device_view(rng, (*loop, m, n), dtype, 2),
            random_device_view(rng, (*loop, n, p), dtype, 2),
        )
        want = a.copy_to_host() @ b.copy_to_host()
        np.testing.assert_array_equal(product(a, b).copy_to_host(), want)
        out = random_device_view(rng, (*loop, m, p), dtype, 2)
        product(a, b, out=out)
        np.testing.assert_array_equal(out.copy_to_host(), want)
    assert sources_of_staging_kernels(product)


def test_unwritten_elements_keep_their_values():
    @stage_always
    @guvectorize(["void(int16[:], int16[:])"], "(n)->(n)", target="cuda")
    def write_odd_elements(x, y):
        "for (int i = 1; i < x.size(); i += 2) y[i] = x[i] + y[i];"

    x = np.arange(70 * 33, dtype="i2").reshape(70, 33)
    y = np.full_like(x, 5)
    out = cuda.to_device(y)
    write_odd_elements(cuda.to_device(x), out=out)
    y[:, 1::2] += x[:, 1::2]
    np.testing.assert_array_equal(out.copy_to_host(), y)
    assert sources_of_staging_kernels(write_odd_elements)


def test_unsupported_gufuncs_are_not_staged():
    @stage_always
    @guvectorize(["void(float64[:], float64[:])"], "(n)->(n)", target="cuda")
    def reverse_elements(x, y):
        "for (int i = 0; i < x.size(); ++i) y[i] = x[x.size() - 1 - i];"

    @stage_always
    @guvectorize(["void(float64[:], float64[:])"], "(n)->(n)", target="cuda")
    def reverse_in_shared(x, y):
        """
        __shared__ double own[256];
        own[threadIdx.x] = x[0];
        for (int i = 0; i < x.size(); ++i) y[i] = own[threadIdx.x];
        """

    host = np.arange(40.0 * 300).reshape(40, 300)
    for x in (host, host[:, ::-1], host[:, 1:].T, np.broadcast_to(host[0], (40, 300)), host[:3]):
        np.testing.assert_array_equal(
            reverse_elements(cuda.to_device(host) if x is host else x), x[:, ::-1]
        )
    x = cuda.to_device(host[:, :8].copy())
    np.testing.assert_array_equal(reverse_in_shared(x).copy_to_host(), np.repeat(host[:, :1], 8, 1))


def running_sum_gufunc():
    @guvectorize(["void(float32[:], float32[:])"], "(n)->(n)", target="cuda")
    def running_sums(x, y):
        """
        float t = 0;
        for (int i = 0; i < x.size(); ++i) { t += x[i]; y[i] = t; }
        """

    running_sums.staged_from = 0
    return running_sums


def test_the_faster_method_is_measured():
    sums, host = running_sum_gufunc(), np.ones((70, 99), "f4")
    x, want = cuda.to_device(host), host.cumsum(1)
    stream = cuda.stream()
    found = []
    for call in range(12):
        cuda.synchronize()
        result = sums(x, stream=stream) if call % 2 else sums(x)
        cuda.synchronize()
        np.testing.assert_array_equal(result.copy_to_host(), want)
        found.append(len(sources_of_staging_kernels(sums)))
    assert found == [1] * 12  # compiles one staged kernel; the plain kernel exists already
    other = cuda.to_device(host[:, :40].copy())  # an array of another size is timed separately
    for _ in range(12):
        np.testing.assert_array_equal(sums(other).copy_to_host(), want[:, :40])


def test_staging_trial_is_postponed_during_a_capture():
    sums, host = running_sum_gufunc(), np.ones((70, 99), "f4")
    x, out = cuda.to_device(host), cuda.device_array((70, 99), "f4")
    sums(x, out=out)
    for _ in range(3):
        stream = cuda.stream()
        with stream.capture() as graph:
            sums(x, out=out, stream=stream)
        out[...] = 0
        graph.launch()
        np.testing.assert_array_equal(out.copy_to_host(), host.cumsum(1))
        sums(x, out=out)


def test_staging_trial_is_thread_safe():
    sums, host = running_sum_gufunc(), np.ones((70, 99), "f4")
    x, want = cuda.to_device(host), host.cumsum(1)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for result in pool.map(lambda _: sums(x).copy_to_host(), range(24)):
            np.testing.assert_array_equal(result, want)


def test_staged_attribute_selects_the_kernel():
    sums, x = running_sum_gufunc(), cuda.to_device(np.ones((70, 99), "f4"))
    assert sums.staged is None
    sums.staged = False
    sums(x)
    assert not sources_of_staging_kernels(sums)
    sums.staged = True
    sums(x)
    assert sources_of_staging_kernels(sums) and sums.staged is True
    with pytest.raises(TypeError, match="sums.staged must be True, False, or None"):
        sums.staged = 1

    @guvectorize(["void(float32[:], float32[:])"], "(n)->()", target="cuda", block=32)
    def copy_first_in_block(x, out):
        "if (threadIdx.x == 0) out[0] = x[0];"

    with pytest.raises(ValueError, match="copy_first_in_block.staged: the function has block="):
        copy_first_in_block.staged = True
