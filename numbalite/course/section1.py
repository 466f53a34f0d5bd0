"""The exercises of the first section: ufuncs on the GPU, and where their arrays lie."""

from __future__ import annotations

import numpy as np

from .assessment import Assessment, exercise


class _Ufunc(Assessment):
    """A ufunc of float32 arrays, called with device arrays."""

    section = 1
    wants = "ufunc"
    checked = ()
    launches = (1, 1)
    large = (10_000_000, 100_000)


@exercise
class ZeroSuppress(_Ufunc):
    """Samples below a threshold become zero."""

    name = "zero_suppress"
    parameters = ("sample", "threshold")
    large = (100_000_000, 100_000)

    def make(self, rng, n):
        waveform = rng.normal(0, 12, n) + 80 * (rng.random(n) < 0.1)
        threshold = int(rng.integers(5, 30))
        waveform = waveform.astype(np.int16)
        waveform[rng.random(n) < 0.1] = threshold
        return waveform, threshold

    def expected(self, sample, threshold):
        return np.where(sample < threshold, 0, sample).astype(np.int16)

    def reference(self):
        from numbalite import vectorize

        @vectorize(["int16(int16, int16)"], target="cuda")
        def zero_suppress(sample, threshold):
            "sample < threshold ? 0 : sample"

        return zero_suppress


@exercise
class Gaussian(_Ufunc):
    """The density of a normal distribution."""

    name = "gaussian"
    parameters = ("x", "mean", "sigma")
    large = (100_000_000, 50_000)

    def make(self, rng, n):
        x = rng.uniform(-3, 3, n).astype(np.float32)
        return x, np.float32(rng.uniform(-1, 1)), np.float32(rng.uniform(0.5, 2))

    def expected(self, x, mean, sigma):
        z = (np.float64(x) - np.float64(mean)) / np.float64(sigma)
        density = np.exp(-z * z / 2) / (np.float64(sigma) * np.sqrt(2 * np.pi))
        return density.astype(np.float32)

    def reference(self):
        from numbalite import vectorize

        root = np.float32(np.sqrt(2 * np.pi))

        @vectorize(["float32(float32, float32, float32)"], target="cuda")
        def gaussian(x, mean, sigma):
            """
            float z = (x - mean) / sigma;
            return expf(-0.5f * z * z) / (sigma * root);
            """

        return gaussian


@exercise
class PolarDistance(_Ufunc):
    """How far two points are from each other that are given by radius and angle."""

    name = "polar_distance"
    parameters = ("r1", "a1", "r2", "a2")
    terms = 16
    large = (50_000_000, 50_000)

    def make(self, rng, n):
        points = [rng.uniform(0.5, 2, n), rng.uniform(0, 6, n)] * 2
        points[2:] = rng.uniform(0.5, 2, n), rng.uniform(0, 6, n)
        return tuple(values.astype(np.float32) for values in points)

    def expected(self, r1, a1, r2, a2):
        first = np.float64(r1) * np.exp(1j * np.float64(a1))
        second = np.float64(r2) * np.exp(1j * np.float64(a2))
        return np.abs(first - second).astype(np.float32)

    def allowed(self, dtype):
        from .compare import Tolerance

        return Tolerance(1e-5, 0.0, 4e-6)  # points near each other: most digits cancel

    def reference(self):
        from numbalite import cuda, vectorize

        @cuda.jit(device=True)
        def cartesian(r, a):
            "return make_tuple(r * cosf(a), r * sinf(a));"

        @vectorize(["float32(float32, float32, float32, float32)"], target="cuda")
        def polar_distance(r1, a1, r2, a2):
            """
            auto [x1, y1] = cartesian(r1, a1);
            auto [x2, y2] = cartesian(r2, a2);
            return hypotf(x1 - x2, y1 - y2);
            """

        return polar_distance


@exercise
class L2Norm(_Ufunc):
    """The length of each vector along the last axis: a generalized ufunc (n)->()."""

    name = "l2_norm"
    parameters = ("vectors",)
    terms = 64
    large = (4_000_000, 20_000)
    _lengths = (2, 3, 1, 7, 5)

    def make(self, rng, n):
        width = 2 if n > 2000 else self._lengths[n % 5]
        return (rng.normal(0, 1, (n, width)).astype(np.float32),)

    def expected(self, vectors):
        return np.sqrt((np.float64(vectors) ** 2).sum(axis=-1)).astype(np.float32)

    def said(self, n):
        return f"{n:,} vector{'' if n == 1 else 's'}"

    def reference(self):
        from numbalite import guvectorize

        @guvectorize(["void(float32[:], float32[:])"], "(n)->()", target="cuda")
        def l2_norm(vector, length):
            """
            float sum = 0;
            for (int i = 0; i < vector.size(); ++i) sum += vector[i] * vector[i];
            length[0] = sqrtf(sum);
            """

        return l2_norm


@exercise
class NoisyPulses(Assessment):
    """A train of pulses and noise, added on the device: what is between the two steps stays there."""

    name = "noisy_pulses"
    section = 1
    wants = "function"
    parameters = ("t", "noise", "period", "amplitude")
    host_arrays = True
    checked = ()
    terms = 4
    launches = (1, None)
    copies_in, copies_out = 2, 1
    counted = 50_000  # smaller host arrays may be read by the GPU where they lie
    large = (10_000_000, 50_000)
    hint = "Copy t and noise to the device once, and only the sum back."

    def make(self, rng, n):
        t = np.arange(n, dtype=np.float32)
        noise = rng.normal(0, 5, n).astype(np.float32)
        return t, noise, float(rng.uniform(20, 50)), float(rng.uniform(50, 150))

    def expected(self, t, noise, period, amplitude):
        wave = np.sin(np.float64(t) / period) - 0.3
        return (np.maximum(wave, 0) * amplitude + noise).astype(np.float32)

    def allowed(self, dtype):
        from .compare import Tolerance

        return Tolerance(
            1e-4, 1e-4, 1e-2
        )  # the sine of a large float32 has lost digits before it is taken

    def reference(self):
        from numbalite import cuda, vectorize

        @vectorize(["float32(float32, float32, float32)"], target="cuda")
        def make_pulses(t, period, amplitude):
            "return fmaxf(sinf(t / period) - 0.3f, 0.0f) * amplitude;"

        @vectorize(["float32(float32, float32)"], target="cuda")
        def add(x, y):
            "x + y"

        def noisy_pulses(t, noise, period, amplitude):
            pulses = make_pulses(cuda.to_device(t), period, amplitude)
            return add(pulses, cuda.to_device(noise), out=pulses).copy_to_host()

        return noisy_pulses


@exercise
class HiddenLayer(Assessment):
    """The assessment of the first section: normalize, weigh, activate, chained on the device."""

    name = "hidden_layer"
    section = 1
    wants = "function"
    parameters = ("greyscales", "weights")
    host_arrays = True
    checked = ()
    terms = 4
    launches = (1, None)
    copies_in, copies_out = 2, 1
    counted = 50_000  # smaller host arrays may be read by the GPU where they lie
    large = (100_000_000, 50_000)
    hint = "Look at what is copied, and how often: only the activations have to come back."

    def make(self, rng, n):
        greyscales = rng.integers(0, 256, n).astype(np.float32)
        return greyscales, rng.normal(0, 1, n).astype(np.float32)

    def expected(self, greyscales, weights):
        return np.tanh(np.float64(greyscales) / 255 * np.float64(weights)).astype(np.float32)

    def allowed(self, dtype):
        from .compare import Tolerance

        return Tolerance(1e-5, 0.0, 1e-6)  # tanh by way of exp cancels near zero

    def said(self, n):
        return f"{n:,} neuron{'' if n == 1 else 's'}"

    def reference(self):
        from numbalite import cuda, vectorize

        @vectorize(["float32(float32)"], target="cuda")
        def normalize(grey):
            "grey / 255.0f"

        @vectorize(["float32(float32, float32)"], target="cuda")
        def weigh(x, w):
            "x * w"

        @vectorize(["float32(float32)"], target="cuda")
        def activate(x):
            "return (expf(x) - expf(-x)) / (expf(x) + expf(-x));"

        def hidden_layer(greyscales, weights):
            x = normalize(cuda.to_device(greyscales))
            weigh(x, cuda.to_device(weights), out=x)
            return activate(x, out=x).copy_to_host()

        return hidden_layer
