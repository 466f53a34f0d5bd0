"""Compares the element-wise, generalized and reduction programs that the teaching texts contain, on
every target with NumPy. On a GPU they have the sizes of the teaching texts, on the simulator smaller
sizes."""

import math

import numpy as np
import pytest

from numbalite import cuda, guvectorize, vectorize

TARGETS = ["cpu", "parallel", "cuda"]
SQRT_2PI = np.float32((2 * math.pi) ** 0.5)


@pytest.fixture(params=TARGETS)
def ufunc_target(request):
    return request.param


def problem_size(count, target="cuda"):
    """Returns `count`, the size in the teaching text, or a smaller size on the simulator, which is slow."""
    simulated = target == "cuda" and cuda.is_simulated()
    return count if not simulated else max(1000, count // 200)


def random_arrays(count, low=0.0, high=1.0, seed=0, dtype="f4"):
    return np.random.default_rng(seed).uniform(low, high, count).astype(dtype)


# ---- element-wise ----
def test_sincos_ufunc_matches_numpy(ufunc_target):
    @vectorize(["float32(float32, float32)", "float64(float64, float64)"], target=ufunc_target)
    def sincos(x, y):
        "return sin(x) * cos(y);"

    n = problem_size(1_000_000, ufunc_target)
    for dtype, rtol in (("f8", 1e-14), ("f4", 2e-6)):
        x = y = np.linspace(0, np.pi, n).astype(dtype)
        result = sincos(x, y)
        assert isinstance(result, np.ndarray) and result.dtype == dtype and result.shape == (n,)
        np.testing.assert_allclose(result, np.sin(x) * np.cos(y), rtol=rtol, atol=1e-7)
    assert sincos(np.float32(0.5), np.float32(0.25)) == pytest.approx(
        math.sin(0.5) * math.cos(0.25)
    )


def test_sincos_expression_ufunc_matches_numpy(ufunc_target):
    sincos = vectorize(
        ["float64(float64, float64)"], target=ufunc_target, source="sin(x) * cos(y)", args="x, y"
    )
    x = np.linspace(0, np.pi, 1001)
    np.testing.assert_allclose(sincos(x, x), np.sin(x) * np.cos(x), atol=1e-15)


def test_powers_ufunc_matches_numpy(ufunc_target):
    @vectorize(["float32(float32, float32, float32, float32)"], target=ufunc_target)
    def root_of_powers(p, q, r, s):
        "return sqrt(p*p + q*q*q + r*r*r*r + s*s*s*s*s);"

    @vectorize(["float32(float32, float32, float32, float32)"], target=ufunc_target)
    def with_pow(p, q, r, s):
        "return sqrt(pow(p, 2) + pow(q, 3) + pow(r, 4) + pow(s, 5));"

    p, q, r, s = random_arrays((4, problem_size(5_000_000, ufunc_target)))
    expected = np.sqrt(p**2 + q**3 + r**4 + s**5)
    np.testing.assert_allclose(root_of_powers(p, q, r, s), expected, rtol=2e-6)
    np.testing.assert_allclose(with_pow(p, q, r, s), expected, rtol=2e-6)


def test_integer_add_ufunc_matches_numpy(ufunc_target):
    @vectorize(["int64(int64, int64)"], target=ufunc_target)
    def add(x, y):
        "return x + y;"

    a, b = np.array([1, 2, 3, 4]), np.array([10, 20, 30, 40])
    np.testing.assert_array_equal(add(a, b), a + b)
    column, matrix = a[:, np.newaxis], np.arange(16).reshape(4, 4)
    result = add(column, matrix)
    assert result.shape == (4, 4) and result.dtype == np.int64
    np.testing.assert_array_equal(result, column + matrix)
    np.testing.assert_array_equal(add(b[:, np.newaxis], matrix), b[:, np.newaxis] + matrix)


def test_add_ufunc_accepts_host_arrays_device_arrays_and_out():
    @vectorize(["float32(float32, float32)"], target="cuda")
    def add(x, y):
        "x + y"

    n = 100_000
    x = np.arange(n).astype(np.float32)
    y = 2 * x
    assert isinstance(add(x, y), np.ndarray)
    x_device, y_device = cuda.to_device(x), cuda.to_device(y)
    result = add(x_device, y_device)
    assert isinstance(result, cuda.DeviceNDArray)
    np.testing.assert_array_equal(result.copy_to_host(), x + y)
    out_device = cuda.device_array(shape=(n,), dtype=np.float32)
    assert add(x_device, y_device, out=out_device) is out_device
    np.testing.assert_array_equal(out_device.copy_to_host()[:10], (x + y)[:10])


def test_lazily_compiled_ufunc_keeps_int64():
    @vectorize
    def add_ten(num):
        "return num + 10;"

    assert isinstance(add_ten, np.ufunc)
    result = add_ten(np.arange(10))
    assert result.dtype == np.int64
    np.testing.assert_array_equal(result, np.arange(10) + 10)


def test_gaussian_pdf_ufunc_matches_numpy(ufunc_target):
    @vectorize(["float32(float32, float32, float32)"], target=ufunc_target)
    def gaussian_pdf(x, mean, sigma):
        """
        float32 z = (x - mean) / sigma;
        return exp(-0.5f * z * z) / (sigma * SQRT_2PI);
        """

    x = random_arrays(problem_size(1_000_000, ufunc_target), -3, 3)
    mean, sigma = np.float32(0.0), np.float32(1.0)
    expected = np.exp(-0.5 * x.astype("f8") ** 2) / (2 * math.pi) ** 0.5
    np.testing.assert_allclose(gaussian_pdf(x, 0.0, 1.0), expected, rtol=1e-5)
    np.testing.assert_allclose(gaussian_pdf(x, mean, sigma), expected, rtol=1e-5)
    one = gaussian_pdf(x[0], 0.0, 1.0)
    assert isinstance(one, np.float32) and one == pytest.approx(expected[0], rel=1e-5)


def test_polar_distance_ufunc_matches_numpy(ufunc_target):
    @cuda.jit(device=True)
    def polar_to_cartesian(rho, theta):
        "return make_tuple(rho * cos(theta), rho * sin(theta));"

    @vectorize(["float32(float32, float32, float32, float32)"], target=ufunc_target)
    def polar_distance(rho1, theta1, rho2, theta2):
        """
        auto [x1, y1] = polar_to_cartesian(rho1, theta1);
        auto [x2, y2] = polar_to_cartesian(rho2, theta2);
        return sqrt((x1 - x2) * (x1 - x2) + (y1 - y2) * (y1 - y2));
        """

    n = problem_size(1_000_000, ufunc_target)
    rho1, rho2 = random_arrays(n, 0.5, 1.5, seed=1), random_arrays(n, 0.5, 1.5, seed=2)
    theta1, theta2 = (
        random_arrays(n, -np.pi, np.pi, seed=3),
        random_arrays(n, -np.pi, np.pi, seed=4),
    )
    result = polar_distance(rho1, theta1, rho2, theta2)
    x1, y1 = rho1 * np.cos(theta1), rho1 * np.sin(theta1)
    x2, y2 = rho2 * np.cos(theta2), rho2 * np.sin(theta2)
    np.testing.assert_allclose(result, np.hypot(x1 - x2, y1 - y2), rtol=2e-6, atol=5e-7)


def test_polar_distance_agrees_between_targets():
    source = """
        auto [x1, y1] = to_cartesian(rho1, theta1);
        auto [x2, y2] = to_cartesian(rho2, theta2);
        return sqrt((x1 - x2) * (x1 - x2) + (y1 - y2) * (y1 - y2));"""

    @cuda.jit(device=True)
    def to_cartesian(rho, theta):
        "return make_tuple(rho * cos(theta), rho * sin(theta));"

    def polar_distance_body(rho1, theta1, rho2, theta2):
        """
        auto [x1, y1] = to_cartesian(rho1, theta1);
        auto [x2, y2] = to_cartesian(rho2, theta2);
        return sqrt((x1 - x2) * (x1 - x2) + (y1 - y2) * (y1 - y2));
        """

    n = problem_size(1_000_000)
    points = (
        random_arrays(n, 0.5, 1.5, 1),
        random_arrays(n, -3.1, 3.1, 2),
        random_arrays(n, 0.5, 1.5, 3),
        random_arrays(n, -3.1, 3.1, 4),
    )
    signature = ["float32(float32, float32, float32, float32)"]
    results = [
        vectorize(signature, target=target)(polar_distance_body)(*points) for target in TARGETS
    ]
    np.testing.assert_allclose(results[0], results[1], rtol=1e-7)
    np.testing.assert_allclose(results[0], results[2], rtol=1e-6, atol=5e-7)


def test_zero_suppression_ufunc_matches_numpy(ufunc_target):
    @vectorize(["int16(int16, int16)"], target=ufunc_target)
    def zero_suppress(value, threshold):
        "return value < threshold ? int16(0) : value;"

    n = problem_size(100_000, ufunc_target)
    noise = np.random.default_rng(0).normal(size=n) * 3
    pulses = np.maximum(np.sin(np.arange(n) / (n / 23)) - 0.3, 0.0)
    waveform = ((pulses * 300) + noise).astype(np.int16)
    result = zero_suppress(waveform, 15)
    assert result.dtype == np.int16
    np.testing.assert_array_equal(result, np.where(waveform < 15, 0, waveform))


def test_pulse_ufuncs_keep_arrays_on_the_device():
    @vectorize(["float32(float32, float32, float32)"], target="cuda")
    def make_pulses(i, period, amplitude):
        "return max(sin(i / period) - 0.3f, 0.0f) * amplitude;"

    @vectorize(["float32(float32, float32)"], target="cuda")
    def add(x, y):
        "return x + y;"

    n = 100_000
    noise = (np.random.default_rng(0).normal(size=n) * 3).astype("f4")
    t = np.arange(n, dtype="f4")
    period = n / 23
    t_device, noise_device = cuda.to_device(t), cuda.to_device(noise)
    pulses_device = cuda.device_array(n, "f4")
    waveform_device = cuda.device_array(n, "f4")
    make_pulses(t_device, period, 100.0, out=pulses_device)
    add(pulses_device, noise_device, out=waveform_device)
    pulses = np.maximum(np.sin(t / np.float32(period)) - np.float32(0.3), 0) * np.float32(100)
    np.testing.assert_allclose(pulses_device.copy_to_host(), pulses, rtol=1e-4, atol=2e-4)
    np.testing.assert_allclose(waveform_device.copy_to_host(), pulses + noise, rtol=1e-4, atol=2e-4)
    np.testing.assert_array_equal(
        make_pulses(t_device, period, 100.0).copy_to_host(), pulses_device.copy_to_host()
    )


def test_hidden_layer_ufuncs_match_numpy():
    @vectorize(["float32(float32)"], target="cuda")
    def normalize(grayscale):
        "return grayscale / 255;"

    @vectorize(["float32(float32, float32)"], target="cuda")
    def weigh(value, weight):
        "return value * weight;"

    @vectorize(["float32(float32)"], target="cuda")
    def activate(value):
        "return (exp(value) - exp(-value)) / (exp(value) + exp(-value));"

    def create_hidden_layer(n, greyscales, weights, exp, normalize, weigh, activate):
        greyscales, weights = cuda.to_device(greyscales), cuda.to_device(weights)
        normalized = normalize(greyscales)
        weighted = weigh(normalized, weights)
        activated = activate(weighted)
        assert all(isinstance(a, cuda.DeviceNDArray) for a in (normalized, weighted, activated))
        return activated.copy_to_host()

    n = problem_size(1_000_000)
    rng = np.random.default_rng(0)
    greyscales = np.floor(rng.uniform(0, 255, n).astype(np.float32))
    weights = rng.normal(0.5, 0.1, n).astype(np.float32)
    result = create_hidden_layer(n, greyscales, weights, np.exp, normalize, weigh, activate)
    assert isinstance(result, np.ndarray)
    np.testing.assert_allclose(result, np.tanh(greyscales / 255 * weights), rtol=1e-4, atol=1e-6)


def test_complex_product_ufunc_matches_numpy(ufunc_target):
    @vectorize(["complex64(complex64, complex64)"], target=ufunc_target)
    def vmult(a, b):
        "return a * b;"

    rng = np.random.default_rng(0)
    n = 1024 * 768 if not (ufunc_target == "cuda" and cuda.is_simulated()) else 4096
    a, b = (rng.normal(size=(2, n)) + 1j * rng.normal(size=(2, n))).astype("c8")
    expected = a * b
    np.testing.assert_allclose(vmult(a, b), expected, rtol=1e-5, atol=1e-6)
    if ufunc_target == "cuda":
        a_device, b_device = cuda.to_device(a), cuda.to_device(b)
        assert vmult(a_device, b_device, out=a_device) is a_device
        np.testing.assert_allclose(a_device.copy_to_host(), expected, rtol=1e-5, atol=1e-6)
    else:
        vmult(a, b, out=a)
        np.testing.assert_allclose(a, expected, rtol=1e-5, atol=1e-6)


# ---- generalized ----
def make_matmul(target):
    @guvectorize(
        ["void(float32[:,:], float32[:,:], float32[:,:])"], "(m,n),(n,p)->(m,p)", target=target
    )
    def batch_matrix_mult(a, b, c):
        """
        for (int i = 0; i < c.shape[0]; ++i)
            for (int j = 0; j < c.shape[1]; ++j) {
                float t = 0;
                for (int k = 0; k < a.shape[1]; ++k) t += a(i, k) * b(k, j);
                c(i, j) = t;
            }
        """

    return batch_matrix_mult


def test_gufunc_multiplies_two_matrices(ufunc_target):
    a, b = np.arange(9, dtype="f4").reshape(3, 3), np.arange(9, 18, dtype="f4").reshape(3, 3)
    np.testing.assert_array_equal(make_matmul(ufunc_target)(a, b), a @ b)


def test_gufunc_multiplies_batches_of_matrices(ufunc_target):
    matmul = make_matmul(ufunc_target)
    n = 4_000_000 if not cuda.is_simulated() else 20_000
    a, b = random_arrays((2, n, 2, 2))
    expected = np.matmul(a, b)
    np.testing.assert_allclose(matmul(a, b), expected, rtol=1e-6)
    if ufunc_target == "cuda":
        a_device, b_device = cuda.to_device(a), cuda.to_device(b)
        out = cuda.device_array(shape=(n, 2, 2), dtype=np.float32)
        assert matmul(a_device, b_device, out=out) is out
        np.testing.assert_allclose(out.copy_to_host(), expected, rtol=1e-6)


def test_l2_norm_gufunc_matches_numpy(ufunc_target):
    @guvectorize(["void(float32[:], float32[:])"], "(i)->()", target=ufunc_target)
    def l2_norm(vec, out):
        """
        float acc = 0;
        for (int i = 0; i < vec.size(); ++i) acc += vec[i] * vec[i];
        out[0] = sqrt(acc);
        """

    angles = random_arrays(1000, -np.pi, np.pi)
    points = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    result = l2_norm(points)
    assert result.shape == (1000,) and result.dtype == np.float32
    np.testing.assert_allclose(result, 1, rtol=1e-6)
    with pytest.raises(TypeError):  # casting same_kind does not narrow types unless requested
        l2_norm(points.astype("f8"), casting="safe")
    if ufunc_target == "cuda":  # if the ufunc has only one loop, same_kind is sufficient
        np.testing.assert_allclose(l2_norm(points.astype("f8")), 1, rtol=1e-6)
    else:  # a real ufunc of NumPy's
        np.testing.assert_allclose(
            l2_norm(points.astype("f8"), casting="unsafe", dtype="f4"), 1, rtol=1e-6
        )


def test_running_median_gufunc_matches_numpy(ufunc_target):
    @guvectorize(["void(float64[:], int64, float64[:])"], "(n),()->(n)", target=ufunc_target)
    def running_median(x, window, out):
        """
        int n = x.size(), half = int(window) / 2;
        for (int i = 0; i < n; ++i) {
            double w[16];
            int m = 0;
            for (int j = max(0, i - half); j <= min(n - 1, i + half); ++j) {
                int k = m++;
                for (; k > 0 && w[k - 1] > x[j]; --k) w[k] = w[k - 1];
                w[k] = x[j];
            }
            out[i] = m % 2 ? w[m / 2] : 0.5 * (w[m / 2 - 1] + w[m / 2]);
        }
        """

    x = random_arrays((20, 50), dtype="f8")
    expected = [[np.median(row[max(0, i - 2) : i + 3]) for i in range(50)] for row in x]
    np.testing.assert_allclose(running_median(x, 5), expected)


def test_convolution_gufunc_matches_numpy(ufunc_target):
    @guvectorize(["void(float32[:], float32[:], float32[:])"], "(n),(k)->(n)", target=ufunc_target)
    def convolve(x, weights, out):
        """
        int n = x.size(), k = weights.size(), half = k / 2;
        for (int i = 0; i < n; ++i) {
            float sum = 0;
            for (int j = 0; j < k; ++j) {
                int at = i + half - j;
                if (at >= 0 && at < n) sum += weights[j] * x[at];
            }
            out[i] = sum;
        }
        """

    x, weights = random_arrays((10, 64)), np.array([0.25, 0.5, 0.25], "f4")
    expected = [np.convolve(row, weights, "same") for row in x]
    np.testing.assert_allclose(convolve(x, weights), expected, rtol=1e-5)


# ---- reductions ----
def test_sum_reduction_of_an_expression_matches_numpy():
    sum_reduce = cuda.reduce("a + b")
    x = np.arange(problem_size(10_000_000), dtype="f8") + 1
    assert sum_reduce(x) == x.sum()
    assert sum_reduce(cuda.to_device(x)) == x.sum()
    y = random_arrays(problem_size(10_000_000))
    np.testing.assert_allclose(sum_reduce(y), y.sum(dtype="f8"), rtol=1e-4)


def test_sum_reduction_decorator_matches_numpy():
    @cuda.reduce
    def sum_reduce(a, b):
        "return a + b;"

    x = np.arange(1234, dtype="i8") + 1
    assert sum_reduce(x) == x.sum()
    result = cuda.device_array(1, "i8")
    sum_reduce(x, res=result)
    assert result.copy_to_host()[0] == x.sum()
    assert sum_reduce(x, init=10) == x.sum() + 10
    assert sum_reduce(x, size=10) == x[:10].sum()


def test_max_reduction_matches_numpy():
    largest = cuda.reduce("a > b ? a : b")
    x = random_arrays(problem_size(1_000_000), -5, 5)
    assert largest(x) == x.max()
    np.testing.assert_array_equal(
        largest(x[:1000].reshape(10, 100), axis=1), x[:1000].reshape(10, 100).max(1)
    )
