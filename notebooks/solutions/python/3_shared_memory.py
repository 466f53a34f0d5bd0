"""Solutions of section 3 with Python bodies."""

import math

from numbalite import cuda, float32


# %% rotate-exercise
@cuda.jit
def rotate(a, out):
    tile = cuda.shared.array((32, 33), float32)  # 33: a column lies in different banks
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    rows, columns = a.shape
    row, column = cuda.blockIdx.y * 32 + y, cuda.blockIdx.x * 32 + x
    if row < rows and column < columns:
        tile[y, x] = a[row, column]
    cuda.syncthreads()
    row = cuda.blockIdx.y * 32 + x  # x now runs along the rows of the result
    column = cuda.blockIdx.x * 32 + y
    if row < rows and column < columns:
        out[column, rows - 1 - row] = tile[x, y]


# %% all_pairs-exercise
@cuda.jit
def all_pairs(a, b, c):
    of_a = cuda.shared.array((16, 17), float32)
    of_b = cuda.shared.array((16, 17), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    numbers = a.shape[1]
    i = cuda.blockIdx.y * 16 + y  # the row of a that this thread reads and multiplies
    read = cuda.blockIdx.x * 16 + y  # the row of b that this thread reads
    j = cuda.blockIdx.x * 16 + x  # the row of b that this thread multiplies
    total = float32(0)
    for start in range(0, numbers, 16):
        k = start + x
        of_a[y, x] = a[i, k] if i < a.shape[0] and k < numbers else 0
        of_b[y, x] = b[read, k] if read < b.shape[0] and k < numbers else 0
        cuda.syncthreads()
        for m in range(16):
            total += of_a[y, m] * of_b[x, m]
        cuda.syncthreads()
    if i < c.shape[0] and j < c.shape[1]:
        c[i, j] = total


# %% smooth-exercise
@cuda.jit(device=True)
def at(x, k):
    return x[k] if 0 <= k < x.size else float32(0)


@cuda.jit
def smooth(x, out):
    tile = cuda.shared.array(4 + 128 + 4, float32)
    t = cuda.threadIdx.x
    i = cuda.blockIdx.x * 128 + t
    tile[t + 4] = at(x, i)
    if t < 4:  # the first four threads load the halo
        tile[t] = at(x, i - 4)
        tile[t + 132] = at(x, i + 128)
    cuda.syncthreads()
    if i < x.size:
        total = float32(0)
        for k in range(9):
            total += tile[t + k]
        out[i] = total / float32(9)


# %% dot-exercise
@cuda.jit
def dot(x, y, out):
    sums = cuda.shared.array(256, float32)
    t = cuda.threadIdx.x
    total = float32(0)
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        total += x[i] * y[i]
    sums[t] = total
    half = 128
    while half > 0:
        cuda.syncthreads()
        if t < half:
            sums[t] += sums[t + half]
        half //= 2
    if t == 0:
        cuda.atomic.add(out, 0, sums[0])


# %% bank_conflicts-exercise
def bank_conflicts(stride):
    banks = [t * stride % 32 for t in range(32)]
    return max(banks.count(bank) for bank in banks)


# %% wave-exercise
@cuda.jit
def step(before, now, after):
    column, row = cuda.grid(2)
    rows, columns = now.shape
    if row >= rows or column >= columns:
        return
    middle = now[row, column]
    around = float32(0)
    if row > 0:
        around += now[row - 1, column]
    if row < rows - 1:
        around += now[row + 1, column]
    if column > 0:
        around += now[row, column - 1]
    if column < columns - 1:
        around += now[row, column + 1]
    change = float32(0.2) * (around - float32(4) * middle)
    after[row, column] = float32(2) * middle - before[row, column] + change


def wave(before, now, steps):
    rows, columns = now.shape
    launch = step[(-(-columns // 32), -(-rows // 8)), (32, 8)]
    turns = [cuda.device_array_like(now) for _ in range(3)]
    for i in range(steps):
        after = turns[i % 3]
        launch(before, now, after)
        before, now = now, after
    return now


# %% best_match-exercise
@cuda.jit
def best_match(a, b, best):
    of_a = cuda.shared.array((16, 17), float32)
    of_b = cuda.shared.array((16, 17), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    numbers = a.shape[1]
    i = cuda.blockIdx.y * 16 + y  # the row of a that this thread reads and multiplies
    read = cuda.blockIdx.x * 16 + y  # the row of b that this thread reads
    j = cuda.blockIdx.x * 16 + x  # the row of b that this thread multiplies
    total = float32(0)
    for start in range(0, numbers, 16):
        k = start + x
        of_a[y, x] = a[i, k] if i < a.shape[0] and k < numbers else 0
        of_b[y, x] = b[read, k] if read < b.shape[0] and k < numbers else 0
        cuda.syncthreads()
        for m in range(16):
            total += of_a[y, m] * of_b[x, m]
        cuda.syncthreads()
    of_a[y, x] = (
        total if i < a.shape[0] else -math.inf
    )  # the tile is reused for the comparison of columns
    half = 8
    while half > 0:
        cuda.syncthreads()
        if y < half:
            of_a[y, x] = max(of_a[y, x], of_a[y + half, x])
        half //= 2
    if y == 0 and j < b.shape[0]:
        cuda.atomic.max(best, j, of_a[0, x])
