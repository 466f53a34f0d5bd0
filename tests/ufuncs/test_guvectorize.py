"""Compares generalized ufuncs on the device with NumPy's gufuncs: values, shapes, strides, exceptions."""

import inspect
import pickle
import random

import numpy as np
import pytest
from kit.arrays import ForeignArray

from numbalite import cuda, float32, guvectorize, void
from numbalite.errors import CompileError, KernelError, SignatureError

MATMUL = """
    for (int i = 0; i < c.shape[0]; ++i)
        for (int j = 0; j < c.shape[1]; ++j) {
            double t = 0;
            for (int k = 0; k < a.shape[1]; ++k) t += a(i, k) * b(k, j);
            c(i, j) = t;
        }
"""


@guvectorize(
    ["void(float32[:,:], float32[:,:], float32[:,:])", "void(float64[:,:], float64[:,:], float64[:,:])"],
    "(m,n),(n,p)->(m,p)",
    target="cuda",
)  # fmt: skip
def batch_matmul(a, b, c):
    """
    for (int i = 0; i < c.shape[0]; ++i)
        for (int j = 0; j < c.shape[1]; ++j) {
            double t = 0;
            for (int k = 0; k < a.shape[1]; ++k) t += a(i, k) * b(k, j);
            c(i, j) = t;
        }
    """


matmul = guvectorize(
    ["void(float64[:,:], float64[:,:], float64[:,:])"], "(n?,k),(k,m?)->(n?,m?)", target="cuda",
    source=MATMUL, name="matmul", args="a, b, c",
)  # fmt: skip


@guvectorize(["void(float64[:], float64[:], float64[:])"], "(n),(n)->()", target="cuda")
def vecdot(a, b, c):
    """
    double t = 0;
    for (int k = 0; k < a.shape[0]; ++k) t += a[k] * b[k];
    c[0] = t;
    """


@guvectorize(["void(float32[:], float32[:])"], "(i)->()", target="cuda")
def l2_norm(vec, out):
    """
    float acc = 0;
    for (int i = 0; i < vec.size(); ++i) acc += vec[i] * vec[i];
    out[0] = sqrt(acc);
    """


@guvectorize([void(float32[:], float32[:], float32[:])], "(n),(k)->(n)", target="cuda")
def convolve(x, filter, out):
    """
    int half = filter.shape[0] / 2;
    for (int i = 0; i < x.shape[0]; ++i) {
        float t = 0;
        for (int j = 0; j < filter.shape[0]; ++j) {
            int at = i + j - half;
            if (at >= 0 && at < x.shape[0]) t += x[at] * filter[j];
        }
        out[i] = t;
    }
    """


def gufunc_sources(gufunc):
    """Returns the sources of all kernels that the gufunc has compiled."""
    return [o.inspect_source() for several in gufunc.overloads.values() for o in several]


def to_host_array(result):
    return result.copy_to_host() if hasattr(result, "copy_to_host") else result


# --- the workloads ---------------------------------------------------------------------------------------


def test_batched_matmul_matches_numpy():
    r = np.random.default_rng(1)
    a, b = r.random((2, 3, 3)).astype("f4")
    assert np.allclose(batch_matmul(a, b), a @ b)
    a, b = r.random((2, 20_000, 2, 2)).astype("f4")  # many: a kernel for this shape
    result = batch_matmul(a, b)
    assert type(result) is np.ndarray and result.dtype == np.float32
    assert np.allclose(result, a @ b)
    da, db, out = cuda.to_device(a), cuda.to_device(b), cuda.device_array(a.shape, np.float32)
    assert batch_matmul(da, db, out=out) is out
    assert np.allclose(out.copy_to_host(), a @ b)
    assert any("core_copy<float, 4, 16>" in text for text in gufunc_sources(batch_matmul))


def test_l2_norm_of_the_unit_circle_is_one():
    angles = np.random.default_rng(2).uniform(0, 2 * np.pi, 1000)
    points = np.stack([np.cos(angles), np.sin(angles)], axis=1)  # float64, cast
    assert np.allclose(l2_norm(points), 1)
    assert np.allclose(l2_norm(cuda.to_device(points)).copy_to_host(), 1)
    assert l2_norm(np.array([3.0, 4.0], "f4")) == np.float32(5)
    assert type(l2_norm([3, 4])) is np.float32


def test_running_median_matches_numpy():
    @guvectorize(["void(float64[:], int64, float64[:])"], "(n),()->(n)", target="cuda")
    def running_median(x, width, out):
        """
        double window[32];
        for (int i = 0; i < x.shape[0]; ++i) {
            int n = 0;
            for (int j = i - width / 2; j <= i + width / 2; ++j) {
                if (j < 0 || j >= x.shape[0]) continue;
                int k = n++;
                for (; k > 0 && window[k - 1] > x[j]; --k) window[k] = window[k - 1];
                window[k] = x[j];
            }
            out[i] = n % 2 ? window[n / 2] : (window[n / 2 - 1] + window[n / 2]) / 2;
        }
        """

    x = np.random.default_rng(3).normal(size=(4, 50))
    expected = [[np.median(row[max(i - 2, 0) : i + 3]) for i in range(50)] for row in x]
    assert np.allclose(running_median(x, 5), expected)
    widths = np.array([[1], [5]])  # a loop dimension of its own
    result = running_median(x, widths[:, :])
    assert result.shape == (2, 4, 50)
    assert np.allclose(result[0], x) and np.allclose(result[1], expected)


def test_convolution_matches_numpy():
    x = np.random.default_rng(4).random((3, 40)).astype("f4")
    kernel = np.array([1, 2, 4, 2, 1], "f4") / 10
    expected = [np.convolve(row, kernel[::-1], "same") for row in x]
    assert np.allclose(convolve(x, kernel), expected, atol=1e-6)
    assert np.allclose(
        to_host_array(convolve(cuda.to_device(x)[:, ::-1], kernel))[:, ::-1], expected, atol=1e-6
    )


# --- compared with NumPy's own -------------------------------------------------------------------------


def random_array(rng, r):
    shape = [rng.choice([0, 1, 2, 2, 3] if rng.random() < 0.1 else [1, 2, 2, 2, 3])
             for _ in range(rng.choice([0, 1, 1, 2, 2, 3, 3, 4]))]  # fmt: skip
    a = r.integers(-4, 5, shape).astype(rng.choice(["f8", "f8", "i4", "f4"]))
    if a.ndim and rng.random() < 0.3:
        a = a.transpose(rng.sample(range(a.ndim), a.ndim))
    if a.ndim and rng.random() < 0.3:
        a = a[tuple(slice(None, None, rng.choice([1, -1, 2])) for _ in range(a.ndim))]
    return a


def random_axes(rng, count, ndim):
    axes = tuple(rng.randint(-ndim, max(ndim - 1, 0)) for _ in range(count))
    return axes[0] if count == 1 and rng.random() < 0.5 else axes


def random_call(rng, r, core, out_core):
    if rng.random() < 0.5:
        a = r.integers(-4, 5, (rng.choice([1, 2]), 3, 2, 2)).astype("f8")
        shape = rng.choice([(2, 2), (3, 2, 2), (2, 1, 2, 2), (1, 2, 2)])
        b = r.integers(-4, 5, shape).astype("f8")
    else:
        a, b = random_array(rng, r), random_array(rng, r)
    options = {}
    if rng.random() < 0.3:
        options["axes"] = [random_axes(rng, core, a.ndim), random_axes(rng, core, b.ndim)]
        if out_core or rng.random() < 0.5:
            options["axes"].append(random_axes(rng, out_core, max(a.ndim, b.ndim)))
    elif rng.random() < 0.2:
        options["axis"] = rng.randint(-3, 3)
    if rng.random() < 0.3:
        options["keepdims"] = rng.random() < 0.7
    if rng.random() < 0.3:
        options["order"] = rng.choice("CFAK")
    return a, b, options


def result_or_error(f, *args, **options):
    try:
        return "result", f(*args, **options)
    except Exception as problem:
        return type(problem).__name__, str(problem)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("which", ["matmul", "vecdot"])
def test_matmul_and_vecdot_calls_match_numpy(which, seed):
    theirs = getattr(np, which, None)
    if theirs is None:
        pytest.skip(f"this NumPy has no {which}")
    ours, core, out_core = (matmul, 2, 2) if which == "matmul" else (vecdot, 1, 0)
    rng, r = random.Random(seed), np.random.default_rng(seed)
    for _ in range(200):
        a, b, options = random_call(rng, r, core, out_core)
        where = rng.randint(0, 3)
        expected = result_or_error(theirs, a, b, **options)
        if expected[0] == "result" and rng.random() < 0.4 and np.ndim(expected[1]):
            options["out"] = np.zeros(expected[1].shape, rng.choice(["f8", "f4", "c16"]))
            if rng.random() < 0.2:
                options["out"] = np.zeros((3, *expected[1].shape))
            expected = result_or_error(theirs, a, b, **{**options, "out": options["out"].copy()})
            if rng.random() < 0.5:
                options["out"] = cuda.to_device(options["out"])
        found = result_or_error(
            ours,
            cuda.to_device(a) if where & 1 else a,
            cuda.to_device(b) if where & 2 else b,
            **options,
        )
        note = (a.shape, a.strides, b.shape, b.strides, options, where)
        assert found[0] == expected[0], (note, found, expected)
        if found[0] == "result":
            if "out" in options:
                assert found[1] is options["out"]
            elif not where:
                assert type(found[1]) in (np.ndarray, np.float64), note
                if expected[1].dtype == np.float64 and expected[1].size:
                    assert found[1].strides == expected[1].strides, note
            result = to_host_array(found[1])
            assert result.shape == expected[1].shape, note
            assert np.array_equal(result, expected[1]), note
        elif "broadcast" in found[1]:
            assert which in found[1] and "(" in found[1]
        else:
            assert found[1] == expected[1], note


def test_axis_and_keepdims_match_numpys_linalg():
    r = np.random.default_rng(5)
    a = r.random((4, 5, 6))
    for axis in (-3, -2, -1, 0, 1, 2):
        result = vecdot(a, a, axis=axis, keepdims=True)
        expected = np.linalg.norm(a, axis=axis, keepdims=True) ** 2
        assert result.shape == expected.shape and np.allclose(result, expected)
    with pytest.raises(TypeError, match="'keepdims' must be a boolean"):
        vecdot(a, a, keepdims=1)
    with pytest.raises(TypeError, match="both 'axis' and 'axes'"):
        vecdot(a, a, axis=0, axes=[0, 0])


def test_gufunc_rejects_where():
    with pytest.raises(TypeError, match=r"vecdot\(\) got an unexpected keyword argument 'where'"):
        vecdot([1.0], [1.0], where=True)


# --- operands ------------------------------------------------------------------------------------------


def test_outputs_may_be_positional_arguments_as_in_numba():
    a = np.random.default_rng(6).random((5, 2, 3)).astype("f4")
    b = np.random.default_rng(7).random((3, 2)).astype("f4")
    out = np.zeros((5, 2, 2), "f4")
    assert batch_matmul(a, b, out) is out
    assert np.allclose(out, a @ b)
    with pytest.raises(TypeError, match="both a positional and keyword"):
        batch_matmul(a, b, out, out=out)
    with pytest.raises(TypeError, match="takes from 2 to 3 positional arguments but 1 was given"):
        batch_matmul(a)


def test_invalid_out_arguments_raise():
    a = np.ones((2, 3, 3), "f4")
    readonly = np.ones((2, 3, 3), "f4")
    readonly.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        batch_matmul(a, a, out=readonly)
    with pytest.raises(TypeError, match="Cannot cast ufunc 'batch_matmul' output from"):
        batch_matmul(a, a, out=np.zeros((2, 3, 3), int))
    with pytest.raises(ValueError, match=r"core dimension 1.*\(size 2 is different from 3\)"):
        batch_matmul(a, a, out=np.zeros((2, 3, 2), "f4"))
    with pytest.raises(ValueError, match=r"batch_matmul.*shape \(1,3,3\).*\(2,3,3\)"):
        batch_matmul(a, a, out=np.zeros((1, 3, 3), "f4"))
    with pytest.raises(TypeError, match="return arrays must be of ArrayType"):
        batch_matmul(a, a, out=[1, 2])
    with pytest.raises(ValueError, match="exactly one entry per ufunc output"):
        batch_matmul(a, a, out=(None, None))


@pytest.mark.parametrize("shift", [0, 1, 3])
def test_outputs_may_overlap_inputs(shift):
    r = np.random.default_rng(8)
    whole = r.random((12, 2, 2)).astype("f4")
    device = cuda.to_device(whole)
    a, out = device[:8], device[shift : 8 + shift]
    batch_matmul(a, a, out=out)
    expected = whole.copy()
    expected[shift : 8 + shift] = whole[:8] @ whole[:8]
    assert np.allclose(device.copy_to_host(), expected)
    mine = whole.copy()
    batch_matmul(mine[:8], mine[:8], out=mine[shift : 8 + shift])
    assert np.allclose(mine, expected)
    transposed = cuda.to_device(whole)
    batch_matmul(transposed, transposed, out=transposed.transpose(0, 2, 1))
    assert np.allclose(transposed.copy_to_host(), (whole @ whole).transpose(0, 2, 1))


def test_without_core_dimensions_an_input_can_be_the_output():
    @guvectorize(["void(float32, float32, float32[:])"], "(),()->()", target="cuda")
    def add(a, b, out):
        "out[0] = a + b;"

    x = np.arange(12, dtype="f4").reshape(3, 4)
    d = cuda.to_device(x)
    assert add(d, 1, out=d) is d and np.array_equal(d.copy_to_host(), x + 1)
    add(d[:-1], d[1:], out=d[1:])  # not the same elements
    assert np.array_equal(d.copy_to_host()[1:], 2 * x[1:] - 4 + 2)
    assert add(1, 2) == 3 and type(add(1, 2)) is np.float32
    assert np.array_equal(add(x, x[0]), x + x[0])


def test_unwritten_elements_keep_their_values():
    @guvectorize(["void(float32[:], float32[:])"], "(n)->(n)", target="cuda")
    def store_first(x, out):
        "out[0] = x[0];"

    x = np.random.default_rng(22).random((20_000, 4)).astype("f4")
    for batch in (x[:10], x, x[:, ::-1]):
        out = cuda.to_device(np.full(batch.shape, 7, "f4"))
        expected = np.full(batch.shape, 7, "f4")
        expected[:, 0] = batch[:, 0]
        assert np.array_equal(store_first(batch, out=out).copy_to_host(), expected)
        assert np.array_equal(store_first(cuda.to_device(batch), out=out).copy_to_host(), expected)


def test_gufunc_calls_are_thread_safe():
    from concurrent.futures import ThreadPoolExecutor

    @guvectorize([], "(m,n),(n)->(m)", target="cuda")
    def matrix_times_vector(a, x, out):
        """
        for (int i = 0; i < a.shape[0]; ++i) {
            out[i] = 0;
            for (int j = 0; j < a.shape[1]; ++j) out[i] += a(i, j) * x[j];
        }
        """

    def call_gufunc(i):
        r = np.random.default_rng(i)
        a = r.integers(0, 9, (5 + i % 3, 2, 3)).astype("if"[i % 2])
        x = r.integers(0, 9, 3).astype("if"[i % 2])
        result = matrix_times_vector(cuda.to_device(a) if i % 4 > 1 else a, x)
        return np.array_equal(to_host_array(result), a @ x)

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(call_gufunc, range(64)))


def test_large_host_arrays_are_cast_for_gufuncs():
    x = np.random.default_rng(21).integers(-9, 9, (60_000, 3))
    assert np.allclose(l2_norm(x, casting="same_kind"), np.sqrt((x * x).sum(1)))
    assert type(l2_norm(x[:, ::-1])) is np.ndarray
    spread = np.broadcast_to(x[:1].astype("f8"), x.shape)
    assert np.allclose(l2_norm(spread), np.linalg.norm(spread, axis=1))


def test_gufuncs_write_outputs_of_other_dtypes_and_layouts():
    a = np.random.default_rng(9).random((4, 2, 3)).astype("f4")
    b = np.random.default_rng(10).random((4, 3, 2)).astype("f4")
    for dtype in ("f8", "c8", "f2"):
        out = cuda.device_array((2, 4, 2), dtype).transpose(1, 0, 2)
        assert batch_matmul(a, b, out=out) is out
        assert np.allclose(out.copy_to_host(), a @ b, rtol=2e-3)
    swapped = np.zeros((4, 2, 2), ">f4")
    assert batch_matmul(a, b, out=swapped) is swapped
    assert np.allclose(swapped, a @ b)


def test_matmul_with_empty_cores_matches_numpy():
    for shape_a, shape_b in [
        ((0, 2, 3), (3, 4)),
        ((5, 2, 0), (0, 4)),
        ((0, 0, 0), (0, 0)),
        ((3, 0, 2), (2, 2)),
    ]:
        a, b = np.ones(shape_a), np.ones(shape_b)
        for result in (batch_matmul(a, b), batch_matmul(cuda.to_device(a), b)):
            assert np.array_equal(to_host_array(result), a @ b)


def test_gufuncs_read_strided_views_without_a_copy():
    r = np.random.default_rng(11)
    a = r.random((6, 4, 8))
    d = cuda.to_device(a)
    for key in [np.s_[::2, ::-1, 1::2], np.s_[::-1, 1:3, ::3], np.s_[2]]:
        x, dx = a[key], d[key]
        assert np.allclose(
            to_host_array(batch_matmul(dx, dx.swapaxes(-1, -2))), x @ x.swapaxes(-1, -2)
        )
    spread = np.broadcast_to(a[:1], (6, 4, 8))
    assert np.allclose(batch_matmul(spread, a.swapaxes(1, 2)), spread @ a.swapaxes(1, 2))
    bytes_ = np.zeros(8 * 24 + 4, np.uint8)
    odd = bytes_[4:].view("f8").reshape(2, 3, 4)
    odd[...] = r.random((2, 3, 4))
    dodd = cuda.to_device(bytes_)[4:].view("f8").reshape(2, 3, 4)
    for x in (odd, dodd):
        assert np.allclose(
            to_host_array(batch_matmul(x, odd.swapaxes(1, 2))), odd @ odd.swapaxes(1, 2)
        )


def test_many_loop_dimensions_match_numpy():
    r = np.random.default_rng(12)
    a = r.random((2, 3, 1, 2, 2, 3, 2, 2)).transpose(3, 1, 0, 2, 5, 4, 6, 7)
    b = r.random((3, 2, 1, 3, 1, 2, 2))
    assert np.allclose(batch_matmul(a, b), a @ b)
    many = np.lib.stride_tricks.as_strided(r.random(64), (2,) * 14, (0, 8) * 6 + (16, 8))
    assert np.allclose(batch_matmul(many, many), many @ many)


def test_operands_are_copied_to_declared_layouts():
    @guvectorize(
        ["void(float64[:, ::1], float64[::1, :], float64[:])"], "(m,n),(m,n)->(m)", target="cuda"
    )
    def row_products(a, b, out):
        """
        const double *p = a.data(), *q = b.data();
        for (int i = 0; i < a.shape[0]; ++i) {
            out[i] = 0;
            for (int j = 0; j < a.shape[1]; ++j) out[i] += p[i * a.shape[1] + j] * q[i + j * a.shape[0]];
        }
        """

    r = np.random.default_rng(13)
    a = r.random((5, 3, 4))
    for x in (
        a,
        a[:, :, ::-1],
        a.transpose(1, 0, 2).copy().transpose(1, 0, 2),
        np.asfortranarray(a),
    ):
        for where in range(4):
            left = cuda.to_device(x) if where & 1 else x
            right = cuda.to_device(x) if where & 2 else x
            assert np.allclose(to_host_array(row_products(left, right)), (x * x).sum(-1))
    windows = np.lib.stride_tricks.sliding_window_view(r.random(12), (3,))[:, None, :]
    assert np.allclose(row_products(windows, windows), (windows**2).sum(-1))


def test_outputs_have_the_declared_layout():
    @guvectorize(["void(float64[:], float64[::1, :])"], "(n)->(n,n)", target="cuda")
    def outer_product(x, out):
        """
        int n = x.shape[0];
        double *p = out.data();
        for (int i = 0; i < n; ++i) for (int j = 0; j < n; ++j) p[i + j * n] = x[i] + 10 * x[j];
        """

    x = np.random.default_rng(14).random((4, 3))
    expected = x[:, :, None] + 10 * x[:, None, :]
    assert np.allclose(outer_product(x), expected)
    out = cuda.device_array((4, 3, 3), np.float64)
    assert outer_product(x, out=out) is out
    assert np.allclose(out.copy_to_host(), expected)


def test_scalar_parameters_accept_numbers_and_arrays():
    @guvectorize(
        ["void(float32, float32[:], float32[:], float32[:])"], "(),(),(n)->(n)", target="cuda"
    )
    def scale_and_add(a, b, x, out):
        "for (int i = 0; i < x.size(); ++i) out[i] = a * x[i] + b[0];"

    x = np.arange(6, dtype="f4").reshape(2, 3)
    assert np.array_equal(scale_and_add(2, 1.0, x), 2 * x + 1)
    assert scale_and_add(2, 1.0, x).dtype == np.float32
    a, b = np.array([1, 2], "f4"), np.array([[10], [20], [30]], "f4")
    expected = a[:, None] * x + b[..., None]
    assert np.array_equal(scale_and_add(a, b, x), expected)
    assert np.array_equal(
        to_host_array(scale_and_add(a, cuda.to_device(b), cuda.to_device(x))), expected
    )
    assert np.array_equal(
        scale_and_add(np.float32(2), np.array(1, "f4"), cuda.to_device(x)).copy_to_host(), 2 * x + 1
    )


def test_gufunc_returns_three_outputs():
    @guvectorize(
        ["void(int64[:], int64[:], int64[:], float64[:])"], "(n)->(),(n),()", target="cuda"
    )
    def sum_and_mean(x, total, sums, mean):
        """
        long long t = 0;
        for (int i = 0; i < x.size(); ++i) { t += x[i]; sums[i] = t; }
        total[0] = t;
        mean[0] = (double)t / x.size();
        """

    x = np.arange(12).reshape(3, 4)
    total, sums, mean = sum_and_mean(x)
    assert np.array_equal(total, x.sum(1)) and np.array_equal(sums, x.cumsum(1))
    assert np.array_equal(mean, x.mean(1)) and mean.dtype == np.float64
    out = np.zeros((3, 4))
    result = sum_and_mean(cuda.to_device(x), out=(None, out, None))
    assert result[1] is out and np.array_equal(out, x.cumsum(1))
    assert np.array_equal(result[0].copy_to_host(), x.sum(1))
    with pytest.raises(TypeError, match="'out' must be a tuple of arrays"):
        sum_and_mean(x, out=out)


def test_gufunc_supports_fixed_and_output_only_dimensions():
    @guvectorize(["void(float64[:], float64[:], float64[:])"], "(3),(3)->(3)", target="cuda")
    def cross_product(a, b, c):
        """
        c[0] = a[1] * b[2] - a[2] * b[1];
        c[1] = a[2] * b[0] - a[0] * b[2];
        c[2] = a[0] * b[1] - a[1] * b[0];
        """

    r = np.random.default_rng(15)
    a, b = r.random((4, 1, 3)), r.random((5, 3))
    assert np.allclose(cross_product(a, b), np.cross(a, b))
    with pytest.raises(ValueError, match=r"size 2 is different from 3"):
        cross_product(a[..., :2], b)

    @guvectorize(["void(float64, float64[:])"], "()->(n)", target="cuda")
    def multiples_of(x, out):
        "for (int i = 0; i < out.size(); ++i) out[i] = x * i;"

    with pytest.raises(ValueError, match="Output operand 0 has core dimension 0 unspecified"):
        multiples_of(2.0)
    assert np.array_equal(multiples_of(2.0, out=np.zeros(4)), [0, 2, 4, 6])


@pytest.mark.parametrize("dtype", "? i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 c8 c16".split())
def test_gufuncs_compute_every_dtype(dtype):
    @guvectorize([], "(n)->(n)", target="cuda")
    def reverse(x, out):
        "for (int i = 0; i < x.size(); ++i) out[i] = x[x.size() - 1 - i];"

    x = np.random.default_rng(16).integers(0, 100, (5, 3)).astype(dtype)
    if dtype.startswith("c"):
        x = x + 1j
    x = x.astype(dtype)
    batches = [x]
    if dtype in ("i1", "f8", "c16"):
        batches.append(
            np.tile(x, (4000, 1))
        )  # a kernel for this shape, in addition to the general kernel
    for batch in batches:
        result = reverse(batch)
        assert result.dtype == x.dtype and np.array_equal(result, batch[:, ::-1])
    assert reverse.types == [f"{x.dtype.char}->{x.dtype.char}"]


def test_gufunc_loops_are_compiled_for_new_dtypes():
    @guvectorize([], "(n),()->(n)", target="cuda")
    def scale(x, a, out):
        "for (int i = 0; i < x.size(); ++i) out[i] = a * x[i];"

    assert scale.ntypes == 0
    x = np.arange(6).reshape(2, 3)
    assert scale(x, 2).dtype == np.int64 and np.array_equal(scale(x, 2), 2 * x)
    assert scale(x.astype("f4"), 0.5).dtype == np.float32
    assert scale(x, np.float64(0.5)).dtype == np.float64
    assert np.array_equal(scale(x, 0.5), 0.5 * x)
    assert scale(x, 2, dtype="f8").dtype == np.float64
    assert "ll->l" in scale.types


def test_out_determines_the_dtype_of_lazy_gufuncs():
    @guvectorize("(n)->()", target="cuda")
    def mean(x, out):
        "out[0] = 0; for (int i = 0; i < x.size(); ++i) out[0] += x[i]; out[0] /= x.size();"

    x = np.arange(8).reshape(2, 4)
    assert np.array_equal(mean(x), [1, 5])  # int64, as the input
    out = np.zeros(2)
    assert np.array_equal(mean(x, out), [1.5, 5.5]) and out[0] == 1.5  # numba's way
    assert np.array_equal(mean(x, dtype="f4"), [1.5, 5.5])
    assert np.array_equal(mean(x, signature=(None, "f8")), [1.5, 5.5])
    with pytest.raises(TypeError, match="Cannot cast ufunc 'mean' output"):
        mean(x + 0.5, np.zeros(2, int))


def test_gufunc_dtype_and_casting_arguments_match_numpy():
    x = np.ones((2, 2))
    assert batch_matmul(x.astype("f4"), x.astype("f4")).dtype == np.float32
    assert batch_matmul(x.astype("i2"), x.astype("f2")).dtype == np.float32
    assert batch_matmul(x.astype("i4"), x.astype("f4")).dtype == np.float64
    assert batch_matmul(x, x, dtype="f4").dtype == np.float32
    assert batch_matmul(x, x, signature="ff->f").dtype == np.float32
    assert batch_matmul(x.astype("f4"), x, sig=(None, None, "f8")).dtype == np.float64
    with pytest.raises(TypeError, match="batch_matmul"):
        batch_matmul(x, x.astype(complex))
    with pytest.raises(TypeError, match="batch_matmul"):
        batch_matmul(x, np.full((2, 2), "a"))
    with pytest.raises(TypeError, match="Cannot cast ufunc 'batch_matmul' input 0"):
        batch_matmul(x, x, dtype="f4", casting="no")


def test_gufuncs_accept_lists_foreign_arrays_and_streams():
    a = np.random.default_rng(17).random((2, 2))
    assert np.allclose(batch_matmul(a.tolist(), a), a @ a)
    result = batch_matmul(ForeignArray(cuda.to_device(a)), a)
    assert np.allclose(result.copy_to_host(), a @ a)
    out = ForeignArray(cuda.device_array((2, 2)))
    assert batch_matmul(a, a, out=out) is out
    assert np.allclose(out.array.copy_to_host(), a @ a)
    stream = cuda.stream()
    x = cuda.to_device(a, stream=stream)
    y = batch_matmul(x, x.T, stream=stream)
    z = batch_matmul(y, x, stream=stream)
    assert np.allclose(z.copy_to_host(stream=stream), a @ a.T @ a)
    assert np.allclose(batch_matmul(a, a, stream=stream), a @ a)


# --- a thread block for each index ---------------------------------------------------------------------


@pytest.mark.parametrize("block", [True, 64])
def test_block_gufunc_runs_a_block_for_each_index(block):
    @guvectorize(["void(float64[:], float64[:])"], "(n)->()", target="cuda", block=block)
    def block_sum(x, out):
        """
        __shared__ double part[128];
        double t = 0;
        for (int i = threadIdx.x; i < x.size(); i += blockDim.x) t += x[i];
        part[threadIdx.x] = t;
        __syncthreads();
        for (int n = blockDim.x / 2; n > 0; n /= 2) {
            if (threadIdx.x < n) part[threadIdx.x] += part[threadIdx.x + n];
            __syncthreads();
        }
        if (threadIdx.x == 0) out[0] = part[0];
        """

    x = np.random.default_rng(18).random((40, 1000))
    assert np.allclose(block_sum(x), x.sum(1))
    assert np.allclose(
        to_host_array(block_sum(cuda.to_device(x).reshape(8, 5, 1000)[::-1])),
        x.reshape(8, 5, 1000)[::-1].sum(-1),
    )
    assert block_sum(np.zeros((0, 5))).shape == (0,)


# --- sources, attributes, mistakes -----------------------------------------------------------------------


@pytest.mark.parametrize("parameter", ["array<const T, 1>", "array<T, 1>"])
def test_gufunc_accepts_a_cpp_template(parameter):
    f = guvectorize(
        ["void(float32[:], float32[:])", "void(float64[:], float64[:])"], "(n)->()", target="cuda",
        source=f"""
        template <class T> __device__ void total({parameter} x, array<T, 1> out) {{
            T t = 0;
            for (int i = 0; i < x.shape[0]; ++i) t += x[i];
            out[0] = t;
        }}""",
    )  # fmt: skip
    x = np.arange(6.0).reshape(2, 3)
    assert f.__name__ == "total"
    assert np.array_equal(f(x), x.sum(1)) and np.array_equal(f(x.astype("f4")), x.sum(1))


def test_gufunc_attributes_match_numpy():
    f = batch_matmul
    assert (f.nin, f.nout, f.nargs, f.ntypes) == (2, 1, 3, 2)
    assert f.types == ["ff->f", "dd->d"] and f.signature == "(m,n),(n,p)->(m,p)"
    assert f.identity is None and f.__name__ == "batch_matmul" and "double t" in f.__doc__
    assert f.__module__ == __name__
    assert repr(f) == "<CUDA gufunc 'batch_matmul' with signature (m,n),(n,p)->(m,p)>"
    assert [str(s) for s in f.inspect_source()] == [str(s) for s in f.signatures]
    assert "gufunc_find" in f.inspect_source("(float32[:,:], float32[:,:], float32[:,:])")
    with pytest.raises(KeyError, match="has no loop for"):
        f.inspect_source("(int32[:,:], int32[:,:], int32[:,:])")
    assert list(inspect.signature(f).parameters)[:4] == ["a", "b", "c", "out"]
    assert f.resolve_dtypes(("i4", "f4", None)) == (np.dtype("f8"),) * 3
    with pytest.raises(RuntimeError, match="reduce is not defined for batch_matmul"):
        f.reduce(np.ones(3))


def test_gufuncs_are_pickled():
    copy = pickle.loads(pickle.dumps(batch_matmul))
    a = np.random.default_rng(19).random((2, 3, 3))
    assert np.allclose(copy(a, a), a @ a) and copy.types == batch_matmul.types


@pytest.mark.parametrize(
    "signature, layout, message",
    [
        ("void(float32[:], float32[:])", "(m,n)->()", r"float32\[:\] for input 0.*2 core dimensions"),
        ("void(float32[:], float32)", "(n)->()", "output is an array"),
        ("void(float32, float32[:])", "(n)->()", "1 core dimension there"),
        ("void(float32[:], float32[:])", "(n),(n)->()", "has 2 types|has 2 parameters"),
        ("void(float32[:], float32[:,:])", "(n)->()", r"float32\[:, :\] for output 0"),
        ("void(float32[:], const float32[:])", "(n)->()", "cannot be const"),
        ("void(float32[:], float32[:])", "(n->()", "expected ',' or '\\)'"),
    ],
)  # fmt: skip
def test_signatures_that_contradict_the_layout_raise(signature, layout, message):
    with pytest.raises(SignatureError, match=message):

        @guvectorize([signature], layout, target="cuda")
        def contradicting_signature(x, out):
            "out[0] = x[0];"


def test_gufunc_compile_error_is_raised():
    with pytest.raises(CompileError, match="undefined_thing"):

        @guvectorize(["void(float32[:], float32[:])"], "(n)->()", target="cuda")
        def undefined_name(x, out):
            "out[0] = undefined_thing;"

    with pytest.raises(CompileError):

        @guvectorize(["void(float32[:], float32[:])"], "(n)->()", target="cuda")
        def write_const_input(x, out):
            "x[0] = 1; out[0] = 0;"  # inputs are const


def test_out_of_bounds_core_index_raises():
    @guvectorize(["void(float32[:], float32[:])"], "(n)->()", target="cuda", debug=True)
    def read_past_end(x, out):
        "out[0] = x[x.size()];"

    with pytest.raises(KernelError, match="read_past_end"):
        read_past_end(np.ones((2, 3), "f4"))


def test_many_shapes_share_the_general_kernel():
    r = np.random.default_rng(20)

    @guvectorize(["void(float32[:], float32[:])"], "(n)->()", target="cuda")
    def row_total(x, out):
        "out[0] = 0; for (int i = 0; i < x.size(); ++i) out[0] += x[i];"

    row_total.fixed_from = 1
    for n in range(1, 14):
        x = r.random((5, n)).astype("f4")
        assert np.allclose(row_total(x), x.sum(1)) and np.allclose(row_total(x[:, ::-1]), x.sum(1))
        assert np.allclose(row_total(x.T.copy().T), x.sum(1))
    assert sum("core_copy" in text for text in gufunc_sources(row_total)) == 8
