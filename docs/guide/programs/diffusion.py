"""Heat that spreads over a plane, which several GPUs of one process share.

    python diffusion.py [SIDE [STEPS [DEVICES]]]

Each device has a band of rows, and copies of the DEPTH rows beyond each end of it. These become wrong
from outside in, a row with each step, so after DEPTH steps neighbours send each other their outermost rows.
Launches and copies return at once; a copy between devices waits for what both have to do before it, and
later work on both waits for the copy. So nothing else is waited for.
"""

import itertools
import sys
import time

import numpy as np

from numbalite import cuda

DEPTH = 8


@cuda.jit("void(const float32[:, ::1], float32[:, ::1], int32, int32)")
def spread(before, after, first, last):
    """
    auto [column, row] = grid<2>();
    int columns = before.shape[1];
    if (row < first || row >= last || column >= columns) return;
    float left = column > 0 ? before(row, column - 1) : 0;
    float right = column < columns - 1 ? before(row, column + 1) : 0;
    float around = left + right + before(row - 1, column) + before(row + 1, column);
    after(row, column) = before(row, column) + 0.2f * (around - 4 * before(row, column));
    """


def bands(plane, devices):
    """For each device the rows of its band, with DEPTH more at each end, and the range of those that
    change: what lies outside of the plane stays 0."""
    padded = np.pad(plane, ((DEPTH, DEPTH), (0, 0)))
    edges = np.linspace(0, len(plane), devices + 1).astype(int)
    assert devices == 1 or np.diff(edges).min() >= DEPTH, "bands as thin as that share more rows"
    for n, (low, high) in enumerate(itertools.pairwise(edges)):
        rows = high - low + 2 * DEPTH
        first, last = DEPTH if n == 0 else 1, rows - (DEPTH if n == devices - 1 else 1)
        yield padded[low : low + rows], int(first), int(last)


def run(plane, steps, devices):
    """The plane after so many steps, and the seconds of one."""
    old, new, launches, ranges = [], [], [], []
    block = (64, 4)
    for n, (band, first, last) in enumerate(bands(plane, devices)):
        old.append(cuda.to_device(band, device=n))
        new.append(cuda.to_device(band, device=n))
        grid = tuple(-(-size // b) for size, b in zip(band.shape[::-1], block, strict=True))
        launches.append(spread[grid, block])
        ranges.append((first, last))

    def wait():
        for n in range(devices):
            cuda.gpus[n].synchronize()

    def step(number):
        for n, launch in enumerate(launches):
            with cuda.gpus[n]:
                launch(old[n], new[n], *ranges[n])
        if number % DEPTH == 0:
            for n in range(devices - 1):
                new[n][-DEPTH:] = new[n + 1][DEPTH : 2 * DEPTH]
                new[n + 1][:DEPTH] = new[n][-2 * DEPTH : -DEPTH]
        old[:], new[:] = new[:], old[:]

    step(1)  # the first launches load the kernel
    wait()
    start = time.perf_counter()
    for number in range(2, steps + 1):
        step(number)
    wait()
    seconds = (time.perf_counter() - start) / max(steps - 1, 1)
    return np.concatenate([band.copy_to_host()[DEPTH:-DEPTH] for band in old]), seconds


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
