"""Simulates heat diffusion in a plane, on several GPUs of one process.

    python diffusion.py [SIDE [STEPS [DEVICES [TIMELINE.json]]]]

Each device has a band of rows, and copies of the DEPTH rows next to each end of the band. Each step makes one
more of the copied rows invalid, so after DEPTH steps neighbours copy DEPTH valid rows to each other. In the
step before an exchange, each device first computes the rows at the ends of its band. The device sends these
rows on a second stream while it computes all other rows. The host never waits: events order the streams of
one device and of two devices.
"""

import itertools
import json
import sys
import time

import numpy as np

from numbalite import cuda

DEPTH = 16
BLOCK = 128, 2


@cuda.jit("void(const float32[:, ::1], float32[:, ::1], int32, int32)")
def spread(before, after, first, last):
    """
    auto [column, row] = grid<2>();
    int columns = before.shape[1];
    row += first;
    if (row >= last || column >= columns) return;
    float left = column > 0 ? before(row, column - 1) : 0;
    float right = column < columns - 1 ? before(row, column + 1) : 0;
    float around = left + right + before(row - 1, column) + before(row + 1, column);
    after(row, column) = before(row, column) + 0.2f * (around - 4 * before(row, column));
    """


class Band:
    """The rows of one device: A band contains DEPTH rows of each neighbour, or of zeros outside of the plane,
    and its own rows."""

    def __init__(self, device, rows, is_first, is_last):
        self.device, self.log = device, None
        with cuda.gpus[device]:
            self.now, self.next = cuda.to_device(rows), cuda.to_device(rows)
            self.compute = cuda.stream(non_blocking=True)
            # The blocks of this stream start before waiting blocks of `compute`.
            _, greatest = self.compute.priority_range()
            self.exchange = cuda.stream(non_blocking=True, priority=greatest)
            self.done, self.ends_ready, self.received = (cuda.event(timing=False) for _ in range(3))
        count = len(rows)
        self.first = DEPTH if is_first else 1  # rows outside of the plane stay 0
        self.last = count - (DEPTH if is_last else 1)
        # Rows between these bounds are not sent; they are computed during the exchange.
        self.low = self.first if is_first else 2 * DEPTH
        self.high = self.last if is_last else count - 2 * DEPTH

    def launch(self, first, last, stream):
        if first >= last:
            return
        grid = -(-self.now.shape[1] // BLOCK[0]), -(-(last - first) // BLOCK[1])
        with self.timed(f"rows {first} to {last}", stream):
            spread[grid, BLOCK, stream](self.now, self.next, first, last)

    def timed(self, what, stream):
        return Timed(self.log, what, self.device, stream)

    def step(self):
        with cuda.gpus[self.device]:
            self.launch(self.first, self.last, self.compute)

    def step_ends_first(self):
        """Computes the rows that neighbours need on the stream `exchange`, and all other rows on
        `compute`."""
        with cuda.gpus[self.device]:
            self.done.record(self.compute)
            self.done.wait(self.exchange)
            self.launch(self.first, self.low, self.exchange)
            self.launch(self.high, self.last, self.exchange)
            self.ends_ready.record(self.exchange)
            self.launch(self.low, self.high, self.compute)

    def receive(self, mine, other, theirs):
        """Copies rows of the next step from the neighbouring band `other`."""
        other.ends_ready.wait(self.exchange)
        with cuda.gpus[self.device], self.timed(f"copy from {other.device}", self.exchange):
            self.next[mine].copy_to_device(other.next[theirs], stream=self.exchange)
            self.received.record(self.exchange)


class Timed:
    """Records events before and after the work of a `with` block, if there is a log."""

    def __init__(self, log, what, device, stream):
        self.log, self.what, self.device, self.stream = log, what, device, stream

    def __enter__(self):
        if self.log is not None:
            self.begin = cuda.event()
            self.begin.record(self.stream)

    def __exit__(self, *_):
        if self.log is not None:
            end = cuda.event()
            end.record(self.stream)
            self.log.append((self.what, self.device, self.stream, self.begin, end))


def make_bands(plane, devices):
    padded = np.pad(plane, ((DEPTH, DEPTH), (0, 0)))
    edges = [int(edge) for edge in np.linspace(0, len(plane), devices + 1)]
    assert devices == 1 or np.diff(edges).min() >= 2 * DEPTH, "a band has at least 2 * DEPTH rows"
    return [
        Band(n, padded[low : high + 2 * DEPTH], n == 0, n == devices - 1)
        for n, (low, high) in enumerate(itertools.pairwise(edges))
    ]


def step(bands, number):
    if number % DEPTH or len(bands) == 1:
        for band in bands:
            band.step()
    else:
        for band in bands:
            band.step_ends_first()
        for above, below in itertools.pairwise(bands):
            above.receive(slice(-DEPTH, None), below, slice(DEPTH, 2 * DEPTH))
            below.receive(slice(0, DEPTH), above, slice(-2 * DEPTH, -DEPTH))
        # The next step reads the received rows, and the step after it overwrites the rows that the neighbours read.
        for n, band in enumerate(bands):
            for other in bands[max(n - 1, 0) : n + 2]:
                other.received.wait(band.compute)
    for band in bands:
        band.now, band.next = band.next, band.now


def wait(bands):
    for band in bands:
        cuda.gpus[band.device].synchronize()


def run(plane, steps, devices):
    """Returns the plane after this many steps, the seconds of one step, and the bands."""
    bands = make_bands(plane, devices)
    warm = min(steps, 2 * DEPTH)  # loads kernels and enables access between devices
    for number in range(1, warm + 1):
        step(bands, number)
    wait(bands)
    start = time.perf_counter()
    for number in range(warm + 1, steps + 1):
        step(bands, number)
    wait(bands)
    seconds = (time.perf_counter() - start) / max(steps - warm, 1)
    rows = [band.now.copy_to_host()[DEPTH:-DEPTH] for band in bands]
    return np.concatenate(rows), seconds, bands


def timeline(bands):
    """Returns the timeline of the streams for the steps around an exchange: (what, device, stream,
    begin, end), in microseconds.

    Times of one device are exact; those of two devices agree to some microseconds.
    """
    log, starts = [], []
    for band in bands:
        with cuda.gpus[band.device]:
            starts.append(cuda.event())
            starts[-1].record(band.compute)
        band.log = log
    for number in range(DEPTH - 2, DEPTH + 3):
        step(bands, number)
    wait(bands)
    names = {id(band.exchange): "exchange" for band in bands}
    return [
        (
            what,
            n,
            names.get(id(stream), "compute"),
            *(1000 * starts[n].elapsed_time(e) for e in both),
        )
        for what, n, stream, *both in log
    ]


def expected(plane, steps):
    for _ in range(steps):
        p = np.pad(plane, 1)
        around = p[1:-1, :-2] + p[1:-1, 2:] + p[:-2, 1:-1] + p[2:, 1:-1]
        plane = plane + np.float32(0.2) * (around - 4 * plane)
    return plane


def main(side=256, steps=40, devices=0, file=""):
    side, steps, devices = int(side), int(steps), int(devices) or len(cuda.gpus)
    plane = np.random.default_rng(1).random((side, side), np.float32)
    result, seconds, bands = run(plane, steps, devices)
    if steps <= 40:
        np.testing.assert_allclose(result, expected(plane, steps), rtol=1e-4, atol=1e-5)
    print(f"{devices} devices, {side} x {side}: {seconds * 1e6:.1f} us a step")
    if file:
        with open(file, "w") as f:
            json.dump(timeline(bands), f)
    return seconds


if __name__ == "__main__":
    main(*sys.argv[1:])
