/* py/gukernel: finds or compiles the kernel of a prepared gufunc call, and launches it. One kernel
 * is cached for each kind of loop, that is, for each set of arguments of _compile. From the shapes
 * of the call, this file decides whether a kernel is specialized for small cores, and which cores
 * are staged in shared memory. */
#include "py/gucall.h"

#include <stdlib.h>
#include <string.h>
#include "core/launch.h"
#include "py/kernel.h"

/* maximum size in bytes of a core array that a specialized kernel keeps in registers */
#define FIXED_CORE 64
/* maximum total size in bytes of the core arrays of all operands for a specialized kernel */
#define FIXED_ALL 256
/* maximum size in bytes of a core array for which the number of accesses is not limited */
#define FIXED_WHOLE 24
#define FIXED_ACCESSES 4 /* maximum number of memory accesses for copying a larger core array */
#define WARP 32
#define MIN_THREADS 8    /* minimum block size, smaller than a warp, used if there are few blocks */
#define STAGED_OUTPUT 16 /* minimum size in bytes of an output's core array for staging */
/* minimum size in bytes of an input's core array for staging, if an output is staged */
#define STAGED_WITH_OUTPUT 32
/* minimum size in bytes of an input's core array for staging, if no output is staged */
#define STAGED_INPUT 64
#define STAGED_SHORT \
    1920 /* maximum size in bytes of short core arrays per loop index, so that \
          * 16 lanes fit */
#define STAGED_ALL (18 * 1024) /* maximum size in bytes of long core arrays per loop index */
/* maximum size in bytes of the short core arrays of a warp, so that several warps fit on a
 * multiprocessor */
#define STAGED_WARP (30 * 1024)
#define LONG_WARP (36 * 1024) /* maximum size in bytes of the long core arrays of a warp */
/* maximum number of lanes for long core arrays: up to 8 lanes read different banks
 * (core_stage.cuh) */
#define LONG_LANES 8
/* maximum shared memory in bytes of a block with several warps */
#define STAGED_BLOCK (46 * 1024)
#define STAGED_SLACK 16 /* bytes per operand, for alignment */
#define MAX_KEY (20 + NL_GU_MAX_OPERANDS * (4 + NL_GU_MAX_CORE))

static int raise_error(const nl_error *err) {
    nl_py_raise(err);
    return -1;
}

/* ---- the kernel ---- */

typedef struct compiled {
    nl_py_overload base;
    unsigned threads; /* block size */
    int is_staged;
    nl_py_gutuning trial;
} compiled;

/* A kind of loop: the arguments of _compile, which are also the cache key of the compiled
 * kernel. */
typedef struct kind {
    int dims, wide, fixed;
    uint32_t values; /* bit i is set if operand i is a number, which is stored in the parameter
                      * itself */
    uint32_t staged; /* bit i is set if the cores of operand i are staged in shared memory */
    uint32_t loaded; /* bit i is set if the staged cores of operand i are loaded before the function
                      * is called */
    uint32_t scale;  /* size classes of the pitch and of the loop, for staged launches */
    int is_long;     /* set if the core arrays are too long for 16 lanes, and are copied in units of
                      * 16 bytes */
    int64_t pitch;   /* bytes of shared memory per loop index */
    char orders[NL_GU_MAX_OPERANDS]; /* of fixed cores, 'C' or 'F' */
    uint8_t aligns[NL_GU_MAX_OPERANDS];
    int64_t shapes[NL_GU_MAX_OPERANDS][NL_GU_MAX_CORE];
} kind;

/* Returns whether a kernel that is specialized for the shapes of the core arrays can keep them in
 * registers. Fills the shapes, orders and alignments. */
static int find_fixed_shapes(const nl_py_gucall *c, kind *k) {
    int64_t all = 0;
    if (c->g->block || c->packed.count < c->g->fixed_from)
        return 0;
    for (int i = 0; i < c->count; i++) {
        int64_t strides[NL_GU_MAX_CORE], bytes = (int64_t)nl_dtype_size((nl_dtype)c->dtypes[i]);
        uint64_t bits = c->slots[i][0];
        int64_t itemsize = bytes;
        nl_gloop_core_layout(&c->loop, i, k->shapes[i], strides);
        for (int d = 0; d < c->g->core.ndim[i]; d++) {
            if (k->shapes[i][d] > FIXED_CORE)
                return 0;
            bytes *= k->shapes[i][d];
        }
        all += bytes;
        if (bytes == 0 || bytes > FIXED_CORE || all > FIXED_ALL)
            return 0;
        k->orders[i] = 'C';
        k->aligns[i] = 1;
        if (k->values >> i & 1)
            continue;
        if (!nl_py_guoperands_is_dense(c, i, 'C', itemsize)) {
            if (!nl_py_guoperands_is_dense(c, i, 'F', itemsize))
                return 0;
            k->orders[i] = 'F';
        }
        for (int d = 0; d < c->packed.dims; d++)
            bits |= (uint64_t)c->packed.strides[i][d];
        bits |= (uint64_t)bytes | 16;
        k->aligns[i] = (uint8_t)(bits & -bits);
        if (bytes > FIXED_WHOLE && bytes / k->aligns[i] > FIXED_ACCESSES)
            return 0;
    }
    return 1;
}

/* Returns the bytes of an operand's core if it is contiguous in C or Fortran order and at most
 * STAGED_ALL bytes, else 0. */
static int64_t dense_core_bytes(const nl_py_gucall *c, int i) {
    int64_t shape[NL_GU_MAX_CORE], strides[NL_GU_MAX_CORE];
    int64_t itemsize = (int64_t)nl_dtype_size((nl_dtype)c->dtypes[i]), size = itemsize;
    int n = c->g->core.ndim[i], is_c = 1, is_f = 1;
    nl_gloop_core_layout(&c->loop, i, shape, strides);
    for (int d = n - 1; d >= 0; d--) {
        is_c = is_c && (shape[d] <= 1 || strides[d] == size);
        size *= shape[d];
        if (size > STAGED_ALL)
            return 0;
    }
    for (int64_t d = 0, bytes = itemsize; d < n; bytes *= shape[d++])
        is_f = is_f && (shape[d] <= 1 || strides[d] == bytes);
    return is_c || is_f ? size : 0;
}

/* Returns the bytes of a staged core in shared memory: an odd number of words, or, for a long core
 * array, an odd number of 16-byte units (core_stage.cuh). */
static int64_t staged_pitch(const nl_py_gucall *c, int i, int64_t bytes, int is_long) {
    int64_t word = (int64_t)nl_dtype_size((nl_dtype)c->dtypes[i]);
    if (is_long)
        return ((bytes + 30) / 16 | 1) * 16;
    word = word < 4 ? 4 : word > 8 ? 8 : word;
    return (((bytes + word - 1) / word) | 1) * word;
}

/* Stages the cores of the operands first to last - 1 that have at least `least` bytes, as long as
 * they fit in shared memory. Cores that overlap along the innermost loop dimension are not
 * staged. */
static void stage_fitting_cores(const nl_py_gucall *c, int first, int last, int64_t least,
                                kind *k) {
    for (int i = first; i < last; i++) {
        int64_t bytes, pitch;
        if (c->operands[i].place == NL_PY_PLACE_VALUE || (bytes = dense_core_bytes(c, i)) < least ||
            llabs(c->packed.strides[i][c->packed.dims - 1]) < bytes)
            continue;
        pitch = staged_pitch(c, i, bytes, k->is_long);
        if (k->pitch + pitch > STAGED_ALL)
            continue;
        k->pitch += pitch;
        k->staged |= 1u << i;
        if (!c->operands[i].made && c->operands[i].copied != NL_PY_TRANSFER_OUT)
            k->loaded |= 1u << i;
    }
}

static void unstage_operands(kind *k) {
    k->staged = k->loaded = k->scale = 0;
    k->pitch = k->is_long = 0;
}

/* Stages outputs first, because unstaged accesses to outputs in global memory cost more than
 * accesses to inputs. */
static void stage_operands(const nl_py_gucall *c, kind *k) {
    stage_fitting_cores(c, c->nin, c->count, STAGED_OUTPUT, k);
    stage_fitting_cores(c, 0, c->nin, k->staged ? STAGED_WITH_OUTPUT : STAGED_INPUT, k);
}

static uint32_t bit_length(int64_t n) {
    return 64 - (uint32_t)__builtin_clzll((uint64_t)n);
}

/* Decides which cores are staged. */
static void choose_staged_cores(const nl_py_gucall *c, kind *k) {
    unstage_operands(k);
    if (c->g->block || c->packed.count < WARP || c->g->staging == NL_PY_PLAIN ||
        c->packed.count < c->g->staged_from / STAGED_ALL)
        return;
    stage_operands(c, k);
    if (k->pitch > STAGED_SHORT) {
        unstage_operands(k);
        k->is_long = 1;
        stage_operands(c, k);
    }
    if (!k->staged || k->pitch * c->packed.count < c->g->staged_from)
        unstage_operands(k);
    else
        k->scale = bit_length(k->pitch) | bit_length(c->packed.count) << 8;
}

static void find_kernel_kind(const nl_py_gucall *c, kind *k) {
    k->dims = nl_gloop_kernel_dims(c->packed.dims);
    k->wide = c->packed.wide;
    k->values = 0;
    for (int i = 0; i < c->nin; i++)
        if (c->operands[i].place == NL_PY_PLACE_VALUE)
            k->values |= 1u << i;
    k->fixed = find_fixed_shapes(c, k);
    choose_staged_cores(c, k);
}

static size_t kernel_key(const nl_py_gucall *c, const kind *k, uint8_t *key) {
    const uint32_t head[5] = {(uint32_t)(k->dims | k->wide << 8 | k->fixed << 9 | k->is_long << 10),
                              k->values, k->staged, k->loaded, k->scale};
    size_t types = 2 * (size_t)(unsigned)c->count;
    size_t size = sizeof head + types;
    uint8_t *at = key + size;
    for (int i = 0; k->fixed && i < c->count; i++)
        size += 2 + c->g->core.ndim[i];
    nl_py_key_clear_padding(key, size);
    memcpy(key, head, sizeof head);
    memcpy(key + sizeof head, c->dtypes, types);
    for (int i = 0; k->fixed && i < c->count; i++) {
        *at++ = (uint8_t)k->orders[i];
        *at++ = k->aligns[i];
        for (int d = 0; d < c->g->core.ndim[i]; d++)
            *at++ = (uint8_t)k->shapes[i][d];
    }
    return size;
}

/* Returns (shape, order, align) of each operand's core, or None if the kernel was compiled for
 * cores of any shape. */
static PyObject *tuple_of_fixed_cores(const nl_py_gucall *c, const kind *k) {
    if (!k->fixed)
        return Py_NewRef(Py_None);
    PyObject *all = PyTuple_New(c->count);
    for (int i = 0; all && i < c->count; i++) {
        int ndim = c->g->core.ndim[i];
        PyObject *shape = PyTuple_New(ndim);
        for (int d = 0; shape && d < ndim; d++) {
            PyObject *size = PyLong_FromLongLong(k->shapes[i][d]);
            if (size)
                PyTuple_SET_ITEM(shape, d, size);
            else
                Py_CLEAR(shape);
        }
        PyObject *item =
            shape ? Py_BuildValue("(NCi)", shape, k->orders[i], (int)k->aligns[i]) : NULL;
        if (item)
            PyTuple_SET_ITEM(all, i, item);
        else
            Py_CLEAR(all);
    }
    return all;
}

static PyObject *compile_kernel(nl_py_gucall *c, const kind *k) {
    PyObject *fixed = tuple_of_fixed_cores(c, k);
    if (!fixed)
        return NULL;
    return PyObject_CallMethod(
        (PyObject *)c->g, "_compile", "iOiiIIIiN", c->operation.device->ordinal, c->chosen, k->dims,
        k->wide, (unsigned)k->values, (unsigned)k->staged, (unsigned)k->loaded, k->is_long, fixed);
}

static compiled *add_kernel(nl_py_gucall *c, const uint8_t *key, size_t size, PyObject *answer) {
    nl_device *dev = c->operation.device;
    PyObject *kernel;
    nl_error err;
    int threads, is_staged;
    if (!PyTuple_Check(answer)) {
        PyErr_Format(PyExc_TypeError,
                     "%U: _compile must return (Kernel, threads per block, is staged)", c->g->name);
        return NULL;
    }
    if (!PyArg_ParseTuple(answer, "Oip;_compile returns (Kernel, threads, is staged)", &kernel,
                          &threads, &is_staged))
        return NULL;
    compiled *made = nl_py_overload_new(sizeof *made, key, size);
    if (!made)
        return NULL;
    made->threads = threads > 0 ? (unsigned)threads : 0;
    made->is_staged = is_staged;
    if (nl_py_overload_set_kernel(&made->base, c->operation.state, kernel, dev, c->g->name) < 0)
        goto fail;
    if (nl_device_bind(dev, &err) < 0) {
        nl_py_raise(&err);
        goto fail;
    }
    if (nl_py_overloads_add(&c->g->kernels, (PyObject *)c->g, &made->base) == 0)
        return made;
fail:
    nl_py_overload_free(&made->base);
    return NULL;
}

static compiled *find_kernel(nl_py_gucall *c, const kind *k) {
    uint8_t key[NL_PY_KEY_CAPACITY(MAX_KEY)];
    size_t size = kernel_key(c, k, key);
    nl_py_overload *cached = nl_py_overloads_find(&c->g->kernels, c->operation.device, key, size);
    if (cached)
        return (compiled *)cached;
    PyObject *answer = compile_kernel(c, k);
    compiled *made = answer ? add_kernel(c, key, size, answer) : NULL;
    Py_XDECREF(answer);
    return made;
}

static int64_t divide_up(int64_t count, int64_t each) {
    return (count - 1) / each + 1;
}

/* The launch configuration for a loop. */
typedef struct division {
    unsigned threads; /* block size */
    int lanes;        /* number of lanes of a warp that compute a loop index */
    int64_t blocks;
    int64_t shared; /* bytes of shared memory of a block */
} division;

/* Uses fewer lanes if the staged cores are large. Uses smaller blocks if a block would need too
 * much shared memory, or if there would be too few blocks to occupy the device. Blocks smaller than
 * a warp are used only if there would be fewer blocks than multiprocessors: the threads of a warp
 * access memory that is not adjacent, so each additional thread increases the time of the warp. */
static void choose_launch_shape(const nl_py_gucall *c, unsigned threads, const kind *k,
                                division *d) {
    int64_t count = c->packed.count, processors = c->operation.device->multiprocessors;
    int64_t pitch = k->pitch;
    d->lanes = k->is_long ? LONG_LANES : WARP;
    while (k->is_long && d->lanes > 1 &&
           (pitch * d->lanes > LONG_WARP || divide_up(count, d->lanes) < processors))
        d->lanes--;
    while (!k->is_long && pitch * d->lanes > STAGED_WARP)
        d->lanes /= 2;
    while (threads > WARP && (pitch * d->lanes * (threads / WARP) > STAGED_BLOCK ||
                              divide_up(count, threads / WARP * d->lanes) < 4 * processors))
        threads /= 2;
    while (pitch == 0 && threads > MIN_THREADS && divide_up(count, threads) < processors)
        threads /= 2;
    d->threads = threads;
    d->shared = pitch ? pitch * d->lanes * (threads / WARP) + STAGED_SLACK * c->count : 0;
    d->blocks = divide_up(count, pitch ? threads / WARP * d->lanes : threads);
}

static int launch_kernel(nl_py_gucall *c, const compiled *made, const kind *of) {
    nl_py_kernel *k = nl_py_overload_kernel(&made->base);
    division d = {made->threads, WARP, c->packed.count, 0};
    nl_launch launch = {.stream = c->operation.stream};
    int64_t most = c->operation.device->max_grid[0];
    void *values[1] = {c->words};
    nl_error err;
    int words;
    if (made->threads < 1 || made->threads > (unsigned)k->kernel->max_threads) {
        PyErr_Format(PyExc_ValueError, "%U: blocks of %u threads are not supported", c->g->name,
                     made->threads);
        return -1;
    }
    if (!c->g->block)
        choose_launch_shape(c, made->threads, of, &d);
    else if (d.blocks > most)
        d.blocks = most;
    if (d.blocks > most) {
        PyErr_Format(PyExc_ValueError, "%U: the loop has too many elements for one launch",
                     c->g->name);
        return -1;
    }
    launch.grid[0] = (unsigned)d.blocks;
    launch.grid[1] = launch.grid[2] = 1;
    launch.block[0] = d.threads;
    launch.block[1] = launch.block[2] = 1;
    launch.shared = (unsigned)d.shared;
    words = nl_gloop_write_parameter(&c->packed, &c->loop, nl_gloop_kernel_dims(c->packed.dims),
                                     d.lanes, (const uint64_t(*)[2])c->slots, c->words);
    if (k->kernel->params.size != (uint32_t)words * 8) {
        PyErr_Format(PyExc_RuntimeError, "%U: the kernel takes %u bytes, not %d", c->g->name,
                     (unsigned)k->kernel->params.size, words * 8);
        return -1;
    }
    if (nl_launch_check(&launch, c->operation.device, k->kernel->name, &err) < 0)
        return raise_error(&err);
    return nl_py_kernel_launch(k, &launch, values, c->operation.epoch);
}

/* Launches the staged or the plain kernel: the faster one, or during the measurement the one that
 * was not measured yet. */
static int launch_staged(nl_py_gucall *c, compiled *staged, kind *k) {
    const compiled *made = staged;
    int is_measured = 0;
    nl_py_staging way = c->g->staging;
    if (way == NL_PY_UNDECIDED)
        way = nl_py_gutuning_begin_launch(&staged->trial, c->operation.device, c->operation.stream,
                                          &is_measured);
    if (way == NL_PY_PLAIN) {
        unstage_operands(k);
        made = find_kernel(c, k);
    }
    int result = made ? launch_kernel(c, made, k) : -1;
    if (is_measured)
        nl_py_gutuning_end_launch(&staged->trial, c->operation.stream, c->packed.count);
    return result;
}

int nl_py_gukernel_launch(nl_py_gucall *c) {
    kind k;
    find_kernel_kind(c, &k);
    compiled *made = find_kernel(c, &k);
    if (made && made->is_staged)
        return launch_staged(c, made, &k);
    unstage_operands(&k);
    return made ? launch_kernel(c, made, &k) : -1;
}

void nl_py_gukernel_free(nl_py_gufunc *g) {
    for (nl_py_overload *e = g->kernels.all; e; e = e->next)
        nl_py_gutuning_free_events(&((compiled *)e)->trial);
    nl_py_overloads_free(&g->kernels);
}
