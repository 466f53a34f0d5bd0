"""Solutions of section 1 with Python bodies."""

import math

import numpy as np

from numbalite import cuda, float32, guvectorize, vectorize


# %% zero_suppress-exercise
@vectorize(["int16(int16, int16)"], target="cuda")
def zero_suppress(sample, threshold):
    return 0 if sample < threshold else sample


# %% magnitude-exercise
ZERO_POINT = np.float32(2500)


@vectorize(target="cuda")
def magnitude(counts):
    if counts > 0:
        return float32(-2.5) * math.log10(counts / ZERO_POINT)
    return float32(math.nan)  # math.nan is a float64, and would make the result a float64


# %% great_circle-exercise
RADIUS = np.float32(6371)


@cuda.jit(device=True)
def haversine(angle):
    s = math.sin(angle * float32(0.5))  # angle / 2 would be a float64
    return s * s


@vectorize(target="cuda")
def great_circle(latitude1, longitude1, latitude2, longitude2):
    h = haversine(latitude2 - latitude1)
    h += math.cos(latitude1) * math.cos(latitude2) * haversine(longitude2 - longitude1)
    return float32(2) * RADIUS * math.asin(math.sqrt(h))


# %% normalized-exercise
@guvectorize(["void(float32[:], float32[:])"], "(n)->(n)", target="cuda")
def normalized(vector, result):
    square = float32(0)
    for v in vector:
        square += v * v
    length = math.sqrt(square) if square > 0 else float32(1)
    for i in range(len(vector)):
        result[i] = vector[i] / length


# %% noisy_pulses-exercise
@vectorize(["float32(float32, float32, float32)"], target="cuda")
def make_pulses(t, period, amplitude):
    return max(math.sin(t / period) - float32(0.3), float32(0)) * amplitude


@vectorize(["float32(float32, float32)"], target="cuda")
def add(x, y):
    return x + y


def noisy_pulses(t, noise, period, amplitude):
    pulses = make_pulses(cuda.to_device(t), period, amplitude)  # stays on the device
    return add(pulses, cuda.to_device(noise), out=pulses).copy_to_host()


# %% hidden_layer-exercise
@vectorize(["float32(float32)"], target="cuda")
def normalize(grey):
    return grey / float32(255)


@vectorize(["float32(float32, float32)"], target="cuda")
def weigh(x, weight):
    return x * weight


@vectorize(["float32(float32)"], target="cuda")
def activate(x):
    up = math.exp(x)
    down = math.exp(-x)
    return (up - down) / (up + down)


def hidden_layer(greyscales, weights):
    x = normalize(cuda.to_device(greyscales))
    weigh(
        x, cuda.to_device(weights), out=x
    )  # needs no new memory: each step overwrites the previous result
    return activate(x, out=x).copy_to_host()
