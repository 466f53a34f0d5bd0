/* Kernels for the engine's tests, against sim/abi.h alone. */
#include "tiny.h"

PLAIN_KERNEL(vadd) {
    unsigned i = index();
    if (i < n)
        data[2 * n + i] = data[i] + data[n + i];
}

/* Reverses each block through shared memory. */
KERNEL(reverse) {
    static thread_local int tile[1024];
    unsigned t = rank();
    tile[t] = data[index()];
    sync();
    data[index()] = tile[now.block.x - 1 - t];
}

KERNEL(ranks) {
    data[(here.bx + now.grid.x * (here.by + now.grid.y * here.bz)) *
             (now.block.x * now.block.y * now.block.z) +
         rank()] = here.tx + 1000 * here.ty + 1000000 * here.tz;
}

/* Some threads leave early; the others meet twice. */
KERNEL(early) {
    unsigned t = rank();
    if (t % 3 == 0)
        return;
    data[t] = 1;
    sync();
    data[t] += data[t - 1] + data[t + 1];
    sync();
    data[t] += 100;
}

/* Only the last thread, or only one in the middle, ever calls the engine. */
KERNEL(lonely) {
    unsigned t = rank();
    if (t == n)
        sync();
    data[t]++;
}

KERNEL(votes) {
    unsigned t = rank();
    data[3 * t] = sync(NL_SIM_BARRIER_COUNT, t % 2);
    data[3 * t + 1] = sync(NL_SIM_BARRIER_AND, t < n);
    data[3 * t + 2] = sync(NL_SIM_BARRIER_OR, t == n);
}

KERNEL(shuffle) {
    unsigned t = rank(), lane = t & 31;
    data[t] = warp(NL_SIM_WARP_SHFL, ~0u, t, lane ^ n);
}

KERNEL(reduce) {
    unsigned t = rank();
    unsigned sum = t;
    for (int k = 16; k; k /= 2)
        sum += warp(NL_SIM_WARP_SHFL, ~0u, sum, (t & 31) ^ k);
    data[t] = sum;
}

KERNEL(collect) {
    unsigned t = rank();
    int *out = data + t * 16;
    unsigned mask = t & 1 ? 0xaaaaaaaau : 0x55555555u; /* two groups in different branches */
    for (int op = NL_SIM_WARP_BALLOT; op <= NL_SIM_WARP_XOR; op++)
        out[op] = t & 1 ? warp((nl_sim_warp_op)op, mask, (t % 7) - 3u)
                        : warp((nl_sim_warp_op)op, mask, t % 5);
}

KERNEL(active) {
    unsigned t = rank();
    if (t % 4 == 0)
        data[t] = warp(NL_SIM_WARP_ACTIVE, 0, 0);
    else
        data[t] = warp(NL_SIM_WARP_ACTIVE, 0, 0);
    warp(NL_SIM_WARP_SYNC, ~0u, 0);
    if (t % 32 < 16)
        return;
    data[t] += warp(NL_SIM_WARP_BALLOT, ~0u, 1) == 0xffff0000u;
}

KERNEL(locked) {
    while (__atomic_exchange_n(&data[0], 1, __ATOMIC_ACQUIRE))
        yield();
    int value = data[1];
    if (n)
        yield();
    data[1] = value + 1;
    __atomic_store_n(&data[0], 0, __ATOMIC_RELEASE);
}

/* Thread 0 waits for the last thread of its block, block 0 for the last block. */
KERNEL(handshake) {
    unsigned t = rank();
    if (t == now.block.x - 1)
        __atomic_store_n(&data[block()], 1, __ATOMIC_RELEASE);
    if (t == 0)
        while (!__atomic_load_n(&data[block()], __ATOMIC_ACQUIRE))
            yield();
}

KERNEL(leave) {
    unsigned t = rank();
    data[t]++;
    if (n)
        sync();
    if (t % 2)
        end_thread();
    if (m)
        sync();
    data[t] += 10;
}

KERNEL(cooperate) {
    unsigned i = index(), total = now.grid.x * now.block.x;
    for (int k = 0; k < n; k++) {
        data[(k & 1) * total + i] = data[(1 - (k & 1)) * total + (i + 1) % total] + 1;
        grid_sync();
    }
}

KERNEL(deserter) {
    if (block() == 0)
        return;
    grid_sync();
}

KERNEL(divergent) {
    if (rank() < 16)
        sync();
    else
        warp(NL_SIM_WARP_SYNC, 0x0000ffff << 16 | 1, 0);
}

KERNEL(two_barriers) {
    if (rank() % 2)
        sync();
    else
        sync();
}

KERNEL(bad_mask) {
    if (rank() == 7)
        warp(NL_SIM_WARP_SYNC, 1, 0);
}

/* Both halves of a warp shuffle with the full mask, each in a line of its own. */
KERNEL(two_shuffles) {
    unsigned t = rank();
    if (t % 32 < 16)
        data[t] = warp(NL_SIM_WARP_SHFL, ~0u, t, NL_SIM_SHUFFLE_INDEX | ((t + 1) & 31));
    else
        data[t] = warp(NL_SIM_WARP_SHFL, ~0u, t, NL_SIM_SHUFFLE_INDEX | ((t + 1) & 31));
}

/* Which __syncwarp may do. */
KERNEL(two_syncwarps) {
    unsigned t = rank();
    data[t] = t;
    if (t % 32 < 16)
        warp(NL_SIM_WARP_SYNC, ~0u, 0);
    else
        warp(NL_SIM_WARP_SYNC, ~0u, 0);
    int next = data[t ^ 16];
    warp(NL_SIM_WARP_SYNC, ~0u, 0);
    data[t] = next;
}

KERNEL(asserts) {
    if (index() == n)
        fail(710, "Assertion `i < n` failed.");
    data[index()] = 1;
}

KERNEL(barrier_then_assert) {
    sync();
    if (index() == n)
        fail(710, "Assertion `i < n` failed.");
    sync();
}

KERNEL(touch) { /* address n, by thread m */
    data[index() & 31]++;
    if (index() == m)
        *(volatile int *)n = 1;
}

KERNEL(touch_synced) {
    sync();
    if (index() == m)
        *(volatile int *)n = 1;
    sync();
}

KERNEL(write_at) {
    data[n] = (int)m;
}

static int deep(volatile int *data, int n) {
    volatile char frame[256];
    frame[0] = (char)n;
    return n ? deep(data, n - 1) + frame[0] : data[0];
}
KERNEL(recurse) {
    data[rank()] = deep(data, (int)n);
}

template <class T> static void divide(T *out, volatile T a, volatile T b) {
    out[0] = a / b;
    out[1] = a % b;
}
static volatile int zero, minus = -1;
KERNEL(division) {
    long long *out = (long long *)data;
    int i[2];
    unsigned u[2];
    long long l[2];
    unsigned char c[2];
    unsigned short s[2];
    unsigned long long ul[2];
    divide<int>(i, 77, zero);
    out[0] = i[0], out[1] = i[1];
    divide<unsigned>(u, 77, zero);
    out[2] = u[0], out[3] = u[1];
    divide<long long>(l, -5, zero);
    out[4] = l[0], out[5] = l[1];
    divide<int>(i, -2147483647 - 1, minus);
    out[6] = i[0], out[7] = i[1];
    divide<unsigned char>(c, 9, (unsigned char)zero);
    out[8] = c[0], out[9] = c[1];
    divide<unsigned short>(s, 9, (unsigned short)zero);
    out[10] = s[0], out[11] = s[1];
    divide<unsigned long long>(ul, 1ull << 40, zero);
    out[12] = ul[0], out[13] = ul[1];
    static volatile int divisors[8];
    out[14] = 5 / divisors[rank() + 2];                      /* memory, with an index */
    out[15] = (long long)n / *(volatile int *)(data + 4096); /* displacement */
    out[16] = 100 / (zero + 7);
}

KERNEL(trap) {
    if (rank() == n)
        __builtin_trap();
}

KERNEL(says) {
    print("block %u thread %u: %s %.2f\n", block(), rank(), "hello", 1.5);
}

KERNEL(says_badly) {
    print("%s\n", (const char *)n);
}

KERNEL(spin_ns) {
    unsigned long long start = ops->globaltimer();
    while ((long)(ops->globaltimer() - start) < n)
        ;
    if (data)
        __atomic_add_fetch(&data[0], 1, __ATOMIC_ACQ_REL);
}

/* Until the host opens the gate, data[15]. */
KERNEL(gated) {
    while (!__atomic_load_n(&data[15], __ATOMIC_ACQUIRE))
        ;
    __atomic_add_fetch(&data[0], 1, __ATOMIC_ACQ_REL);
}

KERNEL(shared_memory) {
    int *dynamic = (int *)ops->dynamic_shared();
    unsigned t = rank();
    dynamic[t + n] = t;
    sync();
    data[t] = dynamic[n + now.block.x - 1 - t] + ((unsigned long long)dynamic % 128 != 0);
}

KERNEL(heap) {
    int **kept = (int **)data;
    unsigned t = rank();
    if (m == 2) {
        ops->free((void *)n);
        return;
    }
    int *mine = (int *)ops->malloc(n);
    if (mine)
        for (long i = 0; i < n / 4; i++)
            mine[i] = t;
    sync();
    bool good = mine;
    for (long i = 0; mine && i < n / 4; i++)
        good = good && mine[i] == (int)t;
    kept[t] = good ? mine : 0;
    sync();
    if (m == 1)
        ops->free(mine);
}

KERNEL(misaligned) {
    typedef float vector __attribute__((vector_size(16)));
    vector *p = (vector *)((char *)data + 4);
    *(volatile vector *)p = vector{1, 2, 3, 4};
}

static int counter = 41, table[100];
GLOBAL(counter)
GLOBAL(table)
KERNEL(count) {
    data[0] = ++counter + table[n];
}

static const nl_sim_param mixed[] = {{1, 1}, {8, 8}, {4, 4}, {2, 2}, {24, 8}};
static void mixed_thread(const nl_sim_launch *launch, nl_sim_dim, unsigned) {
    double *out = *(double **)launch->args[1];
    double *pair = (double *)launch->args[4];
    out[0] = *(signed char *)launch->args[0];
    out[1] = *(float *)launch->args[2];
    out[2] = *(short *)launch->args[3];
    out[3] = pair[0] + pair[1] + pair[2];
    out[4] = (unsigned long)pair % 8;
}
static void mixed_block(const nl_sim_launch *launch, nl_sim_dim b, unsigned) {
    mixed_thread(launch, b, 0);
}
extern "C" __attribute__((visibility("default"))) const nl_sim_kernel k_mixed;
const nl_sim_kernel k_mixed = {NL_SIM_ABI,   5,       mixed, mixed_block,
                               mixed_thread, "mixed", 0,     nullptr, {0, 0, 0}};
extern "C" __attribute__((visibility("default"))) const nl_sim_kernel k_old;
const nl_sim_kernel k_old = {NL_SIM_ABI + 1, 5,     mixed, mixed_block,
                             mixed_thread,   "old", 0,     nullptr, {0, 0, 0}};
