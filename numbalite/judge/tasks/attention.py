import numpy as np

from numbalite.judge import task


@task(
    sizes=[(2, 3, 4), (33, 40, 16), (64, 128, 32)],
    launch=lambda q, k, v, out: (q.shape[0], 64),
    shapes={
        "q": lambda n, m, d: (n, d), "k": lambda n, m, d: (m, d), "v": lambda n, m, d: (m, d),
        "out": lambda n, m, d: (n, d),
    },
    valid=lambda n, m, d: n > 0 and 0 < m <= 1024 and 0 < d <= 64,
    operations=lambda n, m, d: 4 * n * m * d,
)  # fmt: skip
def attention(
    q: "const float32[:, ::1]",
    k: "const float32[:, ::1]",
    v: "const float32[:, ::1]",
    out: "float32[:, ::1]",
):
    "Computes softmax(q k^T / sqrt(d)) v: one block of 64 threads for each row, at most 1024 keys."
    scores = q @ k.T / np.sqrt(q.shape[1])
    e = np.exp(scores - scores.max(axis=1, keepdims=True))
    out[:] = (e / e.sum(axis=1, keepdims=True)) @ v
