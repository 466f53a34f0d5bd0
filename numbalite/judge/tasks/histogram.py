import numpy as np

from numbalite.judge import task


@task(
    sizes=[1000, 1 << 18],
    launch=lambda values, counts: (8, 128),
    shapes={"counts": lambda n: (64,)},
    values={
        "values": lambda rng, n: rng.integers(0, 64, n),
        "counts": lambda rng, n: np.zeros(64),
    },
    inout=["counts"],
)
def histogram(values: "const int32[::1]", counts: "int32[::1]"):
    "Adds the number of occurrences of each value from 0 to 63 to counts: 8 blocks of 128 threads."
    counts += np.bincount(values, minlength=64).astype(counts.dtype)
