"""Solutions of section 3: each is the text of the cell with the preceding id."""

from numbalite import cuda


# %% rotate-exercise
@cuda.jit
def rotate(a, out):
    """
    __shared__ float tile[32][33];  // 33: the elements of a column lie in different banks
    int x = threadIdx.x, y = threadIdx.y, rows = a.shape[0], columns = a.shape[1];
    int row = blockIdx.y * 32 + y, column = blockIdx.x * 32 + x;
    if (row < rows && column < columns) tile[y][x] = a(row, column);
    __syncthreads();
    row = blockIdx.y * 32 + x;  // now x runs along the rows of the result
    column = blockIdx.x * 32 + y;
    if (row < rows && column < columns) out(column, rows - 1 - row) = tile[x][y];
    """


# %% all_pairs-exercise
@cuda.jit
def all_pairs(a, b, c):
    """
    __shared__ float of_a[16][17], of_b[16][17];
    int x = threadIdx.x, y = threadIdx.y, numbers = a.shape[1];
    int i = blockIdx.y * 16 + y;      // the row of a that this thread reads and multiplies
    int read = blockIdx.x * 16 + y;   // the row of b that this thread reads
    int j = blockIdx.x * 16 + x;      // the row of b that this thread multiplies
    float sum = 0;
    for (int start = 0; start < numbers; start += 16) {
        int k = start + x;
        of_a[y][x] = i < a.shape[0] && k < numbers ? a(i, k) : 0.0f;
        of_b[y][x] = read < b.shape[0] && k < numbers ? b(read, k) : 0.0f;
        __syncthreads();
        for (int m = 0; m < 16; ++m) sum += of_a[y][m] * of_b[x][m];
        __syncthreads();
    }
    if (i < c.shape[0] && j < c.shape[1]) c(i, j) = sum;
    """


# %% smooth-exercise
@cuda.jit
def smooth(x, out):
    """
    __shared__ float tile[4 + 128 + 4];
    int t = threadIdx.x, n = x.size();
    int i = blockIdx.x * 128 + t;
    auto at = [&](int k) { return 0 <= k && k < n ? x[k] : 0.0f; };
    tile[t + 4] = at(i);
    if (t < 4) {  // the first four threads bring the halo
        tile[t] = at(i - 4);
        tile[t + 132] = at(i + 128);
    }
    __syncthreads();
    if (i >= n) return;
    float sum = 0;
    for (int k = 0; k <= 8; ++k) sum += tile[t + k];
    out[i] = sum / 9;
    """


# %% dot-exercise
@cuda.jit
def dot(x, y, out):
    """
    __shared__ float sums[256];
    int t = threadIdx.x;
    float sum = 0;
    for (int i = grid<1>(); i < x.size(); i += gridsize<1>()) sum += x[i] * y[i];
    sums[t] = sum;
    for (int half = 128; half > 0; half /= 2) {
        __syncthreads();
        if (t < half) sums[t] += sums[t + half];
    }
    if (t == 0) atomicAdd(&out[0], sums[0]);
    """


# %% bank_conflicts-exercise
def bank_conflicts(stride):
    banks = [t * stride % 32 for t in range(32)]
    return max(banks.count(bank) for bank in banks)


# %% wave-exercise
@cuda.jit
def step(before, now, after):
    """
    auto [column, row] = grid<2>();
    int rows = now.shape[0], columns = now.shape[1];
    if (row >= rows || column >= columns) return;
    float middle = now(row, column), around = 0;
    if (row > 0) around += now(row - 1, column);
    if (row < rows - 1) around += now(row + 1, column);
    if (column > 0) around += now(row, column - 1);
    if (column < columns - 1) around += now(row, column + 1);
    after(row, column) = 2 * middle - before(row, column) + 0.2f * (around - 4 * middle);
    """


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
    """
    __shared__ float of_a[16][17], of_b[16][17];
    int x = threadIdx.x, y = threadIdx.y, numbers = a.shape[1];
    int i = blockIdx.y * 16 + y;      // the row of a that this thread reads and multiplies
    int read = blockIdx.x * 16 + y;   // the row of b that this thread reads
    int j = blockIdx.x * 16 + x;      // the row of b that this thread multiplies
    float sum = 0;
    for (int start = 0; start < numbers; start += 16) {
        int k = start + x;
        of_a[y][x] = i < a.shape[0] && k < numbers ? a(i, k) : 0.0f;
        of_b[y][x] = read < b.shape[0] && k < numbers ? b(read, k) : 0.0f;
        __syncthreads();
        for (int m = 0; m < 16; ++m) sum += of_a[y][m] * of_b[x][m];
        __syncthreads();
    }
    of_a[y][x] = i < a.shape[0] ? sum : -INFINITY;  // the tile is reused for the comparison of columns
    for (int half = 8; half > 0; half /= 2) {
        __syncthreads();
        if (y < half) of_a[y][x] = fmaxf(of_a[y][x], of_a[y + half][x]);
    }
    if (y == 0 && j < b.shape[0]) atomic_max(&best[j], of_a[0][x]);
    """
