from numbalite.judge import task


@task(
    sizes=[(3, 4, 5), (33, 17, 65), (128, 128, 128)],
    launch=lambda a, b, out: ((-(-out.shape[1] // 16), -(-out.shape[0] // 16)), (16, 16)),
    shapes={
        "a": lambda m, k, n: (m, k),
        "b": lambda m, k, n: (k, n),
        "out": lambda m, k, n: (m, n),
    },
    operations=lambda m, k, n: 2 * m * k * n,
)
def matmul(a: "const float32[:, ::1]", b: "const float32[:, ::1]", out: "float32[:, ::1]"):
    "Computes the product of two matrices: blocks of 16 x 16 threads, one thread for each element."
    out[:] = a @ b
