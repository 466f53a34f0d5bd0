"""Solutions of section 1: each is the text of the cell with the preceding id."""

import numpy as np

from numbalite import cuda, guvectorize, jit, prange, vectorize


# %% zero_suppress-exercise
@vectorize(["int16(int16, int16)"], target="cuda")
def zero_suppress(sample, threshold):
    "sample < threshold ? 0 : sample"


# %% magnitude-exercise
ZERO_POINT = np.float32(2500)


@vectorize(target="cuda")
def magnitude(counts):
    """
    if (counts > 0) return -2.5f * log10f(counts / ZERO_POINT);
    return NAN;
    """


# %% great_circle-exercise
RADIUS = np.float32(6371)


@cuda.jit(device=True)
def haversine(angle):
    """
    auto s = sin(angle / 2);
    return s * s;
    """


@vectorize(target="cuda")
def great_circle(latitude1, longitude1, latitude2, longitude2):
    """
    auto h = haversine(latitude2 - latitude1)
           + cos(latitude1) * cos(latitude2) * haversine(longitude2 - longitude1);
    return 2 * RADIUS * asin(sqrt(h));
    """


# %% normalized-exercise
@guvectorize(["void(float32[:], float32[:])"], "(n)->(n)", target="cuda")
def normalized(vector, result):
    """
    float square = 0;
    for (int i = 0; i < vector.size(); ++i) square += vector[i] * vector[i];
    float length = square > 0 ? sqrtf(square) : 1;
    for (int i = 0; i < vector.size(); ++i) result[i] = vector[i] / length;
    """


# %% noisy_pulses-exercise
@vectorize(["float32(float32, float32, float32)"], target="cuda")
def make_pulses(t, period, amplitude):
    "return fmaxf(sinf(t / period) - 0.3f, 0.0f) * amplitude;"


@vectorize(["float32(float32, float32)"], target="cuda")
def add(x, y):
    "x + y"


def noisy_pulses(t, noise, period, amplitude):
    pulses = make_pulses(cuda.to_device(t), period, amplitude)  # stays on the device
    return add(pulses, cuda.to_device(noise), out=pulses).copy_to_host()


# %% hidden_layer-exercise
@vectorize(["float32(float32)"], target="cuda")
def normalize(grey):
    "grey / 255.0f"


@vectorize(["float32(float32, float32)"], target="cuda")
def weigh(x, weight):
    "x * weight"


@vectorize(["float32(float32)"], target="cuda")
def activate(x):
    """
    float up = expf(x), down = expf(-x);
    return (up - down) / (up + down);
    """


def hidden_layer(greyscales, weights):
    x = normalize(cuda.to_device(greyscales))
    weigh(
        x, cuda.to_device(weights), out=x
    )  # needs no new memory: each step overwrites the previous result
    return activate(x, out=x).copy_to_host()


# The tasks of the lessons.


# %% kinetic-exercise
@vectorize(target="cuda")
def kinetic(mass, velocity):
    "0.5f * mass * velocity * velocity"


# %% all_sums-exercise
all_sums = add(np.arange(10).reshape(10, 1), np.arange(10))


# %% by_hand-exercise
def by_hand(ufunc, x):
    d_x = cuda.to_device(x)
    return ufunc(d_x, d_x).copy_to_host()


# %% fused-exercise
@vectorize(target="cuda")
def fused(x, y):
    "sqrt(x * x + y * y) * exp(-x)"


# %% length3-exercise
@cuda.jit(device=True)
def squared(x):
    "return x * x;"


@vectorize(target="cuda")
def length3(x, y, z):
    "sqrt(squared(x) + squared(y) + squared(z))"


# %% corrected-exercise
@vectorize(target="cuda")
def corrected(raw, dark, flat):
    "asinh(max(raw - dark, 0.0f) / flat / 2.0f)"


# %% spread-exercise
@guvectorize(["void(const float32[:], float32[:])"], "(i)->()", target="cuda")
def spread(vector, out):
    """
    float least = vector[0], most = vector[0];
    for (int i = 1; i < vector.size(); ++i) {
        least = min(least, vector[i]);
        most = max(most, vector[i]);
    }
    out[0] = most - least;
    """


# %% closest-exercise
closest = cuda.reduce("fabs(a) < fabs(b) ? a : b")


# The tasks of the last lessons.


# %% row_lengths-exercise
@jit(parallel=True)
def row_lengths(a, out):
    for i in prange(a.shape[0]):
        total = 0.0
        for j in range(a.shape[1]):
            total += a[i, j] ** 2
        out[i] = np.sqrt(total)


# %% count_positive-exercise
@jit(parallel=True)
def count_positive(x):
    count = 0
    for i in prange(x.size):
        if x[i] > 0:
            count += 1
    return count


# %% denoised-exercise
def denoised(signal):
    spectrum = np.fft.rfft(signal)
    spectrum[151:] = 0
    return np.fft.irfft(spectrum, n=signal.size)


# %% trimmed_mean-exercise
def trimmed_mean(values):
    tenth = values.size // 10
    return np.sort(values)[tenth:-tenth].mean().item()
