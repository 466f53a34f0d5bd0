import numpy as np

from numbalite.judge import task


@task(sizes=[256, 1000], launch=lambda x, out: (1, 256), valid=lambda n: n <= 4096)
def scan(x: "const float32[::1]", out: "float32[::1]"):
    "Computes the prefix sums of a vector, in one block of 256 threads."
    out[:] = np.cumsum(x)
