from numbalite.judge import task


@task(
    sizes=[1000, 1 << 20],
    launch=lambda alpha, x, y: (-(-y.size // 256), 256),
    inout=["y"],
    operations=lambda n: 2 * n,
)
def saxpy(alpha: "float32", x: "const float32[::1]", y: "float32[::1]"):
    "alpha * x + y, in place."
    y[:] = alpha * x + y
