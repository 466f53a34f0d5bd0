"""Defines the exercises of the first section: ufuncs on the GPU, and the location of their arrays."""

from __future__ import annotations

import numpy as np

from numbalite.types.tolerance import Tolerance

from .assessment import Assessment, count_with_noun, drawn_element_count, exercise, repeat_to_length


class _UfuncExercise(Assessment):
    """Exercise: a ufunc of float32 arrays, called with device arrays."""

    section = 1
    wants = "ufunc"
    checked = ()
    launches = (1, 1)
    large = (10_000_000, 100_000)


@exercise
class ZeroSuppress(_UfuncExercise):
    """Samples below a threshold become zero."""

    name = "zero_suppress"
    parameters = ("sample", "threshold")
    large = (100_000_000, 100_000)

    def make(self, rng, n):
        m = drawn_element_count(n)
        waveform = rng.normal(0, 12, m) + 80 * (rng.random(m) < 0.1)
        threshold = int(rng.integers(5, 30))
        waveform = waveform.astype(np.int16)
        waveform[rng.random(m) < 0.1] = threshold
        return *repeat_to_length(n, waveform), threshold

    def expected(self, sample, threshold):
        return np.where(sample < threshold, 0, sample).astype(np.int16)

    def reference(self):
        from numbalite import vectorize

        @vectorize(["int16(int16, int16)"], target="cuda")
        def zero_suppress(sample, threshold):
            "sample < threshold ? 0 : sample"

        return zero_suppress


@exercise
class Magnitude(_UfuncExercise):
    """Exercise: the brightness of stars in magnitudes, from the measured light; NaN for no light."""

    name = "magnitude"
    parameters = ("counts",)
    noun = "star"
    large = (100_000_000, 50_000)
    zero_point = 2500.0

    def make(self, rng, n):
        m = drawn_element_count(n)
        counts = rng.lognormal(5, 2, m).astype(np.float32)
        counts[rng.random(m) < 0.1] = 0
        counts[rng.random(m) < 0.1] *= -1
        return repeat_to_length(n, counts)

    def expected(self, counts):
        with np.errstate(all="ignore"):
            magnitude = -2.5 * np.log10(np.float64(counts) / self.zero_point)
        return np.where(counts > 0, magnitude, np.nan).astype(np.float32)

    def allowed(self, dtype):
        return Tolerance(1e-5, 0.0, 4e-6)

    def reference(self):
        from numbalite import vectorize

        zero_point = np.float32(self.zero_point)

        @vectorize(target="cuda")
        def magnitude(counts):
            "counts > 0 ? -2.5f * log10f(counts / zero_point) : NAN"

        return magnitude


@exercise
class GreatCircle(_UfuncExercise):
    """Exercise: the distance of two points on the Earth, in kilometres, with a device function."""

    name = "great_circle"
    parameters = ("latitude1", "longitude1", "latitude2", "longitude2")
    large = (50_000_000, 20_000)
    radius = 6371.0

    def make(self, rng, n):
        latitudes = rng.uniform(-1.5, 1.5, (2, drawn_element_count(n))).astype(np.float32)
        # Points on opposite sides of the Earth are excluded, because float32 has too few digits for them.
        longitudes = rng.uniform(-1.2, 1.2, (2, drawn_element_count(n))).astype(np.float32)
        return repeat_to_length(n, latitudes[0], longitudes[0], latitudes[1], longitudes[1])

    def expected(self, latitude1, longitude1, latitude2, longitude2):
        f1, l1, f2, l2 = map(np.float64, (latitude1, longitude1, latitude2, longitude2))
        h = np.sin((f2 - f1) / 2) ** 2 + np.cos(f1) * np.cos(f2) * np.sin((l2 - l1) / 2) ** 2
        return (2 * self.radius * np.arcsin(np.sqrt(h))).astype(np.float32)

    def allowed(self, dtype):
        return Tolerance(2e-5, 0.0, 0.02)

    def said(self, n):
        return f"{count_with_noun(n, 'pair')} of places"

    def reference(self):
        from numbalite import cuda, vectorize

        radius = np.float32(self.radius)

        @cuda.jit(device=True)
        def haversine(angle):
            """
            float s = sinf(angle / 2);
            return s * s;
            """

        @vectorize(target="cuda")
        def great_circle(latitude1, longitude1, latitude2, longitude2):
            """
            float h = haversine(latitude2 - latitude1)
                    + cosf(latitude1) * cosf(latitude2) * haversine(longitude2 - longitude1);
            return 2 * radius * asinf(sqrtf(h));
            """

        return great_circle


@exercise
class Normalized(_UfuncExercise):
    """Exercise: each vector along the last axis, divided by its length, by a generalized ufunc (n)->(n)."""

    name = "normalized"
    parameters = ("vectors",)
    terms = 64
    large = (4_000_000, 20_000)
    _lengths = (2, 3, 1, 7, 5)

    def make(self, rng, n):
        width = 3 if n > 2000 else self._lengths[n % 5]
        vectors = rng.normal(0, 1, (n, width)).astype(np.float32)
        vectors[rng.random(n) < 0.1] = 0
        return (vectors,)

    def expected(self, vectors):
        length = np.sqrt((np.float64(vectors) ** 2).sum(axis=-1, keepdims=True))
        return (vectors / np.where(length > 0, length, 1)).astype(np.float32)

    def said(self, n):
        width = 3 if n > 2000 else self._lengths[n % 5]
        return f"{count_with_noun(n, 'vector')} of {width}"

    def reference(self):
        from numbalite import guvectorize

        @guvectorize(["void(float32[:], float32[:])"], "(n)->(n)", target="cuda")
        def normalized(vector, result):
            """
            float sum = 0;
            for (int i = 0; i < vector.size(); ++i) sum += vector[i] * vector[i];
            float length = sum > 0 ? sqrtf(sum) : 1;
            for (int i = 0; i < vector.size(); ++i) result[i] = vector[i] / length;
            """

        return normalized


@exercise
class NoisyPulses(Assessment):
    """Exercise: a train of pulses and noise, added on the device; the intermediate arrays stay on the
    device."""

    name = "noisy_pulses"
    section = 1
    wants = "function"
    parameters = ("t", "noise", "period", "amplitude")
    host_arrays = True
    checked = ()
    terms = 4
    launches = (1, None)
    counted = 200_000  # for smaller arrays in host memory, the GPU may read and write copies in host memory
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
        # The sine of a large float32 argument is inaccurate, because the argument is rounded first
        return Tolerance(1e-4, 1e-4, 1e-2)

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
    """Assessment of the first section: normalize, weigh, activate, chained on the device."""

    name = "hidden_layer"
    points = 3
    section = 1
    wants = "function"
    parameters = ("greyscales", "weights")
    noun = "neuron"
    host_arrays = True
    checked = ()
    terms = 4
    launches = (1, None)
    counted = 200_000  # for smaller arrays in host memory, the GPU may read and write copies in host memory
    large = (100_000_000, 50_000)
    hint = "Look at what is copied, and how often: only the activations have to come back."

    def make(self, rng, n):
        greyscales = rng.integers(0, 256, drawn_element_count(n)).astype(np.float32)
        return repeat_to_length(
            n, greyscales, rng.normal(0, 1, drawn_element_count(n)).astype(np.float32)
        )

    def expected(self, greyscales, weights):
        return np.tanh(np.float64(greyscales) / 255 * np.float64(weights)).astype(np.float32)

    def allowed(self, dtype):
        return Tolerance(1e-5, 0.0, 1e-6)  # cancellation near zero, if tanh is computed by exp

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
