"""Compares predicted times with those that docs/performance.md records for an H200: the kernels Y1 to Y9.

    NUMBALITE_DRIVER=sim python tests/bench/predicted.py [Y1 ...]

Needs nvdisasm, no GPU. A launch of full size would take the simulator minutes. Therefore a fraction
of the data is launched on a model of a GPU with the same fraction of multiprocessors, L2 cache and
bandwidth, which needs the same time. For atomic operations on few addresses, the predicted
time is that fraction of the whole time, because they do not use the whole GPU.
"""

import sys

import numpy as np
import python_rows

PART = 44
"""3 of 132 multiprocessors."""
RECORDED = {
    "Y1": 235, "Y2": 224, "Y3": 2256, "Y4": 54.4, "Y5": 17295, "Y6": 65.4, "Y7": 203, "Y8": 2394,
    "Y9": 530,
}  # fmt: skip
"""Microseconds of the CUDA C++ kernels on an H200 (docs/performance.md, kernels with Python bodies)."""
_SHARED_BY_ALL = ("Y5",)


def part_of_gpu():
    """Returns an H200 with a fraction of its multiprocessors, and the same fraction of its shared
    units."""
    from numbalite.profiler import gpus

    gpu = gpus.find_gpu("H200")
    return gpu._replace(
        multiprocessors=gpu.multiprocessors // PART,
        l2_bytes=gpu.l2_bytes // PART,
        l2_bytes_per_clock=gpu.l2_bytes_per_clock / PART,
        blocks_per_clock=gpu.blocks_per_clock / PART,
        dram_bytes_per_second=gpu.dram_bytes_per_second / PART,
    )


def rows_to_predict():
    """Yields (row, grid, block, arguments) of a part of the data."""
    from numbalite.cuda import random

    def random_array(*shape):
        return np.random.default_rng(1).random(shape, dtype=np.float32)

    n, side = (1 << 26) // PART // 256 * 256, 48
    x, y, zeros = random_array(n), random_array(n), np.zeros_like
    yield "Y1", n // 256, 256, (x, y, zeros(x))
    yield "Y2", 2048 // PART, 256, (np.float32(2), x, y, zeros(x))
    a, b = random_array(side, 2048), random_array(2048, 2048)
    yield "Y3", (128, side // 16), (16, 16), (a, b, zeros(a))
    yield "Y4", (side // 16, 128), (16, 16), (a, zeros(a))
    yield "Y5", 1024 // PART, 256, (x, np.float32(0), np.float32(1), np.zeros(256, np.int32))
    yield "Y6", 1024 // PART, 256, (x, np.zeros(1024 // PART, np.float32))
    image = np.zeros((side, 2048), np.int32)
    yield "Y7", (64, side // 8), (32, 8), (-2.0, 1.0, -1.0, 1.0, image, 200)
    bodies = [random_array(1 << 14) for _ in range(4)]
    yield "Y8", 128 // PART, 128, (*bodies, *map(zeros, bodies[:3]))
    threads = 1024 // PART * 256
    states = random.create_xoroshiro128p_states(threads, seed=1)
    yield "Y9", 1024 // PART, 256, (states, 1000, np.zeros(threads, np.float32))


def predict_launch(key, grid, block, arguments):
    """Returns the profiled launch of a row on the fraction of the GPU."""
    from numbalite import cuda

    given = [cuda.to_device(a) if isinstance(a, np.ndarray) else a for a in arguments]
    with cuda.profile(gpu=part_of_gpu()) as profile:
        python_rows.string_kernel(key)[grid, block](*given)
    return profile.launches[-1]


def main(wanted):
    print("| kernel | predicted [us] | range | recorded | ratio | bound |")
    print("|---|---|---|---|---|---|")
    for key, grid, block, arguments in rows_to_predict():
        if wanted and key not in wanted:
            continue
        launch = predict_launch(key, grid, block, arguments)
        scale = 1e6 * (PART if key in _SHARED_BY_ALL else 1)
        time, low, high = (scale * t for t in (launch.time, *launch.time_range))
        print(
            f"| {launch.kernel} | {time:.4g} | {low:.4g} to {high:.4g} | {RECORDED[key]} | "
            f"{time / RECORDED[key]:.2f} | {launch.bound} |",
            flush=True,
        )


if __name__ == "__main__":
    main(sys.argv[1:])
