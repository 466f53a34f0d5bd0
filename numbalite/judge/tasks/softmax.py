import numpy as np

from numbalite.judge import task


@task(sizes=[(1, 1), (7, 33), (1024, 1024)], launch=lambda x, out: (x.shape[0], 256))
def softmax(x: "const float32[:, ::1]", out: "float32[:, ::1]"):
    "Computes the softmax of each row, with one block per row."
    e = np.exp(x - x.max(axis=1, keepdims=True))
    out[:] = e / e.sum(axis=1, keepdims=True)
