from numbalite.judge import task


@task(sizes=[1000, 100_000], launch=lambda x, out: (1, 256), shapes={"out": lambda n: (1,)})
def total(x: "const float32[::1]", out: "float32[::1]"):
    "Computes the sum of a vector, in one block of 256 threads."
    out[0] = x.sum()
