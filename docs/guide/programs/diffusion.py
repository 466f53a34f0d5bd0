"""Heat that spreads over a plane, which several GPUs of one process share.

    python diffusion.py [SIDE [STEPS [DEVICES]]]

Each device has a band of rows, and a copy of the row beyond each end of it. After every step neighbours
send each other their outermost rows. Launches and copies return at once; a copy between devices waits for
what both have to do before it, and later work on both waits for the copy. So nothing else is waited for.
"""

import itertools
import sys
import time

import numpy as np

from numbalite import cuda


@cuda.jit("void(const float32[:, ::1], float32[:, ::1])")
def spread(before, after):
    """
    auto [column, row] = grid<2>();
    int rows = before.shape[0], columns = before.shape[1];
    if (row < 1 || row >= rows - 1 || column >= columns) return;
    float left = column > 0 ? before(row, column - 1) : 0, right = column < columns - 1 ? before(row, column + 1) : 0;
    float around = left + right + before(row - 1, column) + before(row + 1, column);
    after(row, column) = before(row, column) + 0.2f * (around - 4 * before(row, column));
    """


def bands(plane, devices):
    """The plane's rows as one band for each device, with an empty row around it."""
    padded = np.pad(plane, ((1, 1), (0, 0)))
    edges = np.linspace(0, len(plane), devices + 1).astype(int)
    return [padded[low : high + 2] for low, high in itertools.pairwise(edges)]


def run(plane, steps, devices):
    """The plane after so many steps, and the seconds of one."""
    parts = list(enumerate(bands(plane, devices)))
    old = [cuda.to_device(band, device=n) for n, band in parts]
    new = [cuda.to_device(band, device=n) for n, band in parts]
    block = (64, 4)
    launches = []
    for n, band in enumerate(old):
        with cuda.gpus[n]:
            launches.append(
                spread[
                    tuple(-(-m // b) for m, b in zip(band.shape[::-1], block, strict=True)), block
                ]
            )

    def wait():
        for n in range(devices):
            cuda.gpus[n].synchronize()

    def step():
        for n, launch in enumerate(launches):
            with cuda.gpus[n]:
                launch(old[n], new[n])
        for n in range(devices - 1):
            new[n][-1] = new[n + 1][1]
            new[n + 1][0] = new[n][-2]
        old[:], new[:] = new[:], old[:]

    step()  # the first launches load the kernel
    wait()
    start = time.perf_counter()
    for _ in range(steps - 1):
        step()
    wait()
    seconds = (time.perf_counter() - start) / max(steps - 1, 1)
    return np.concatenate([band.copy_to_host()[1:-1] for band in old]), seconds


def expected(plane, steps):
    for _ in range(steps):
        p = np.pad(plane, 1)
        around = p[1:-1, :-2] + p[1:-1, 2:] + p[:-2, 1:-1] + p[2:, 1:-1]
        plane = plane + np.float32(0.2) * (around - 4 * plane)
    return plane


def main(side=256, steps=20, devices=0):
    devices = devices or len(cuda.gpus)
    plane = np.random.default_rng(1).random((side, side), np.float32)
    result, seconds = run(plane, steps, devices)
    if steps <= 20:
        np.testing.assert_allclose(result, expected(plane, steps), rtol=1e-4, atol=1e-5)
    print(f"{devices} devices, {side} x {side}: {seconds * 1e6:.1f} us a step")
    return seconds


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
