/* A prelude of a few lines, so that the engine's tests do not depend on numbalite's own prelude:
 * the parts of a simulated image that sim/abi.h requires, written by hand. */
#pragma once
#include "sim/abi.h"

static const nl_sim_ops *ops;
struct place {
    unsigned tx, ty, tz, bx, by, bz;
};
namespace numbalite_sim { /* the engine looks for no __shared__ variables here */
static thread_local place here;
static thread_local nl_sim_launch now;
} // namespace numbalite_sim
using namespace numbalite_sim;

extern "C" __attribute__((visibility("default"))) void nl_sim_image_init(const nl_sim_ops *o) {
    ops = o;
}

static inline unsigned rank() {
    return here.tx + now.block.x * (here.ty + now.block.y * here.tz);
}
static inline unsigned block() {
    return here.bx;
}
static inline unsigned index() {
    return here.bx * now.block.x + here.tx;
}

/* Restores the thread's state after other threads have run. */
struct around {
    place saved = here;
    ~around() { here = saved; }
};

#define SITE \
    nl_sim_site { \
        "test.py", line, 0 \
    }
#define AT int line = __builtin_LINE()

static inline int sync(nl_sim_block_op op = NL_SIM_BARRIER, int value = 0, AT) {
    around a;
    return ops->barrier(op, value, rank(), SITE);
}
static inline unsigned long long warp(nl_sim_warp_op op, unsigned mask, unsigned long long value,
                                      unsigned argument = 0, AT) {
    around a;
    return ops->warp(op, mask, value, argument, rank(), SITE);
}
static inline void grid_sync(AT) {
    around a;
    ops->grid_barrier(rank(), SITE);
}
static inline void yield(AT) {
    around a;
    ops->yield(rank(), SITE);
}
static inline void fail(int status, const char *text, AT) {
    ops->fault(status, text, rank(), SITE);
}
static inline void end_thread() {
    ops->exit_thread(rank());
}
static inline int print(const char *format, ...) {
    __builtin_va_list list;
    __builtin_va_start(list, format);
    int n = ops->vprintf(format, list);
    __builtin_va_end(list);
    return n;
}

/* All test kernels take one pointer and two integers. */
typedef void body(int *data, long n, long m);

static inline void place_thread(const nl_sim_launch *launch, nl_sim_dim b, unsigned t) {
    here.bx = b.x;
    here.by = b.y;
    here.bz = b.z;
    here.tx = t;
    here.ty = here.tz = 0;
    if (t >= launch->block.x) { /* divisions are slow */
        here.tx = t % launch->block.x;
        here.ty = t / launch->block.x % launch->block.y;
        here.tz = t / launch->block.x / launch->block.y;
    }
}

template <body *f> void run_block(const nl_sim_launch *launch, nl_sim_dim b, unsigned first) {
    int *data = *(int **)launch->args[0];
    long n = *(long *)launch->args[1], m = *(long *)launch->args[2];
    unsigned threads = launch->block.x * launch->block.y * launch->block.z;
    now = *launch;
    if (launch->block.y * launch->block.z == 1) { /* a loop that the compiler can optimize */
        here = {0, 0, 0, b.x, b.y, b.z};
        for (unsigned t = first; t < threads; t++) {
            here.tx = t;
            f(data, n, m);
            if (ops->is_fibers())
                return;
        }
        return;
    }
    for (unsigned t = first; t < threads; t++) {
        place_thread(launch, b, t);
        f(data, n, m);
        if (ops->is_fibers())
            return;
    }
}

/* An entry for kernels that never call the engine. */
template <body *f> void run_plain(const nl_sim_launch *launch, nl_sim_dim b, unsigned first) {
    int *data = *(int **)launch->args[0];
    long n = *(long *)launch->args[1], m = *(long *)launch->args[2];
    unsigned threads = launch->block.x;
    now = *launch;
    here = {0, 0, 0, b.x, b.y, b.z};
    for (unsigned t = first; t < threads; t++) {
        here.tx = t;
        f(data, n, m);
    }
}

template <body *f> void run_thread(const nl_sim_launch *launch, nl_sim_dim b, unsigned t) {
    now = *launch;
    place_thread(launch, b, t);
    f(*(int **)launch->args[0], *(long *)launch->args[1], *(long *)launch->args[2]);
}

static const nl_sim_param all_params[] = {{8, 8}, {8, 8}, {8, 8}};

#define KERNEL(name) \
    static void name(int *data, long n, long m); \
    extern "C" __attribute__((visibility("default"))) const nl_sim_kernel k_##name; \
    const nl_sim_kernel k_##name = {NL_SIM_ABI,       3,     all_params, run_block<name>, \
                                    run_thread<name>, #name, 0,          nullptr, {0, 0, 0}}; \
    static void name([[maybe_unused]] int *data, [[maybe_unused]] long n, [[maybe_unused]] long m)
#define PLAIN_KERNEL(name) \
    static void name(int *data, long n, long m); \
    extern "C" __attribute__((visibility("default"))) const nl_sim_kernel k_##name; \
    const nl_sim_kernel k_##name = {NL_SIM_ABI,       3,     all_params, run_plain<name>, \
                                    run_thread<name>, #name, 0,          nullptr, {0, 0, 0}}; \
    static void name([[maybe_unused]] int *data, [[maybe_unused]] long n, [[maybe_unused]] long m)
#define GLOBAL(name) \
    extern "C" __attribute__((visibility("default"))) const nl_sim_global g_##name; \
    const nl_sim_global g_##name = {NL_SIM_ABI, &name, sizeof name};
