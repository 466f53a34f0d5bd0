from numbalite.judge import task


@task(
    sizes=[(7, 33), (64, 64), (1024, 512)],
    launch=lambda x, out: ((-(-x.shape[1] // 32), -(-x.shape[0] // 32)), (32, 8)),
    shapes={"out": lambda rows, columns: (columns, rows)},
)
def transpose(x: "const float32[:, ::1]", out: "float32[:, ::1]"):
    "Transposes a matrix: blocks of 32 x 8 threads, each for a tile of 32 x 32 elements."
    out[:] = x.T
