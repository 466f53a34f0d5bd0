from numbalite.judge import task


@task(
    sizes=[(7, 33), (512, 512)],
    launch=lambda x, out: ((-(-x.shape[1] // 32), -(-x.shape[0] // 8)), (32, 8)),
)
def stencil(x: "const float32[:, ::1]", out: "float32[:, ::1]"):
    "Computes the mean of the four neighbours of each element; elements at the edges are copied."
    out[:] = x
    out[1:-1, 1:-1] = (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:]) / 4
