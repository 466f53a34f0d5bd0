/* py/gukernel: from a prepared gufunc call to a launch. Kernels are kept for each kind of loop; how
 * small cores are specialised is decided here, from the shapes of the call. */
#include "py/gucall.h"

#include <string.h>
#include "core/launch.h"
#include "py/kernel.h"

#define FIXED_CORE 64 /* bytes of a core that a kernel of its own may keep in registers */
#define FIXED_ALL 256 /* of all operands together */
#define MOST_KEY (8 + NL_GU_MAX_OPERANDS * (4 + NL_GU_MAX_CORE))

static int raise_from(const nl_error *err) {
    nl_py_raise(err);
    return -1;
}

/* ---- the kernel ---- */

typedef struct compiled {
    nl_py_overload base;
    unsigned threads; /* of a block */
} compiled;

/* What _compile is asked for, and the key of its answer. */
typedef struct kind {
    int dims, wide, fixed;
    uint32_t values;                 /* bit i: operand i is in the parameter itself */
    char orders[NL_GU_MAX_OPERANDS]; /* of fixed cores */
    uint8_t aligns[NL_GU_MAX_OPERANDS];
    int64_t shapes[NL_GU_MAX_OPERANDS][NL_GU_MAX_CORE];
} kind;

/* Cores so small that they fit in registers, if a kernel is made for their shapes. */
static int find_fixed(const nl_py_gucall *c, kind *k) {
    int64_t all = 0;
    if (c->g->block || c->packed.count < c->g->fixed_from)
        return 0;
    for (int i = 0; i < c->count; i++) {
        int64_t strides[NL_GU_MAX_CORE], bytes = (int64_t)nl_dtype_size((nl_dtype)c->dtypes[i]);
        uint64_t bits = c->slots[i][0];
        int64_t itemsize = bytes;
        nl_gloop_core(&c->loop, i, k->shapes[i], strides);
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
        if (!nl_py_gucall_is_dense(c, i, 'C', itemsize)) {
            if (!nl_py_gucall_is_dense(c, i, 'F', itemsize))
                return 0;
            k->orders[i] = 'F';
        }
        for (int d = 0; d < c->packed.dims; d++)
            bits |= (uint64_t)c->packed.strides[i][d];
        bits |= (uint64_t)bytes | 16;
        k->aligns[i] = (uint8_t)(bits & -bits);
    }
    return 1;
}

static void find_kind(const nl_py_gucall *c, kind *k) {
    k->dims = nl_gpacked_kernel_dims(c->packed.dims);
    k->wide = c->packed.wide;
    k->values = 0;
    for (int i = 0; i < c->nin; i++)
        if (c->operands[i].place == NL_PY_PLACE_VALUE)
            k->values |= 1u << i;
    k->fixed = find_fixed(c, k);
}

static size_t kernel_key(const nl_py_gucall *c, const kind *k, uint8_t *key) {
    const uint32_t head[2] = {(uint32_t)(k->dims | k->wide << 8 | k->fixed << 9), k->values};
    size_t size = sizeof head + 2 * (size_t)c->count;
    uint8_t *at = key + size;
    for (int i = 0; k->fixed && i < c->count; i++)
        size += 2 + c->g->core.ndim[i];
    nl_py_key_open(key, size);
    memcpy(key, head, sizeof head);
    memcpy(key + sizeof head, c->dtypes, 2 * (size_t)c->count);
    for (int i = 0; k->fixed && i < c->count; i++) {
        *at++ = (uint8_t)k->orders[i];
        *at++ = k->aligns[i];
        for (int d = 0; d < c->g->core.ndim[i]; d++)
            *at++ = (uint8_t)k->shapes[i][d];
    }
    return size;
}

/* ((shape, order, align), ...) or None */
static PyObject *fixed_tuple(const nl_py_gucall *c, const kind *k) {
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

static PyObject *compile(nl_py_gucall *c, const kind *k) {
    PyObject *fixed = fixed_tuple(c, k);
    if (!fixed)
        return NULL;
    return PyObject_CallMethod((PyObject *)c->g, "_compile", "iOiiIN", c->operation.device->ordinal,
                               c->chosen, k->dims, k->wide, (unsigned)k->values, fixed);
}

static compiled *add_kernel(nl_py_gucall *c, const uint8_t *key, size_t size, PyObject *answer) {
    nl_device *dev = c->operation.device;
    PyObject *kernel;
    nl_error err;
    int threads;
    if (!PyTuple_Check(answer)) {
        PyErr_Format(PyExc_TypeError, "%U: _compile must give (Kernel, threads per block)",
                     c->g->name);
        return NULL;
    }
    if (!PyArg_ParseTuple(answer, "Oi;_compile gives (Kernel, threads)", &kernel, &threads))
        return NULL;
    compiled *made = nl_py_overload_new(sizeof *made, key, size);
    if (!made)
        return NULL;
    made->threads = threads > 0 ? (unsigned)threads : 0;
    if (nl_py_overload_load(&made->base, c->operation.state, kernel, dev, c->g->name) < 0)
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

static compiled *find_kernel(nl_py_gucall *c) {
    uint8_t key[NL_PY_KEY_ROOM(MOST_KEY)];
    kind k;
    find_kind(c, &k);
    size_t size = kernel_key(c, &k, key);
    nl_py_overload *known = nl_py_overloads_find(&c->g->kernels, c->operation.device, key, size);
    if (known)
        return (compiled *)known;
    PyObject *answer = compile(c, &k);
    compiled *made = answer ? add_kernel(c, key, size, answer) : NULL;
    Py_XDECREF(answer);
    return made;
}

static int launch_kernel(nl_py_gucall *c, const compiled *made) {
    nl_py_kernel *k = nl_py_overload_kernel(&made->base);
    nl_launch launch = {.block = {made->threads, 1, 1}, .stream = c->operation.stream};
    int64_t blocks = c->packed.count, threads = made->threads;
    void *values[1] = {c->words};
    nl_error err;
    int words;
    if (threads < 1 || threads > k->kernel->max_threads) {
        PyErr_Format(PyExc_ValueError, "%U: blocks of %u threads are not possible", c->g->name,
                     made->threads);
        return -1;
    }
    if (!c->g->block)
        blocks = (blocks - 1) / threads + 1;
    else if (blocks > c->operation.device->max_grid[0])
        blocks = c->operation.device->max_grid[0];
    if (blocks > c->operation.device->max_grid[0]) {
        PyErr_Format(PyExc_ValueError, "%U: the loop has too many elements for one launch",
                     c->g->name);
        return -1;
    }
    launch.grid[0] = (unsigned)blocks;
    launch.grid[1] = launch.grid[2] = 1;
    words = nl_gpacked_write(&c->packed, &c->loop, nl_gpacked_kernel_dims(c->packed.dims),
                             (const uint64_t(*)[2])c->slots, c->words);
    if (k->kernel->params.size != (uint32_t)words * 8) {
        PyErr_Format(PyExc_RuntimeError, "%U: the kernel takes %u bytes, not %d", c->g->name,
                     (unsigned)k->kernel->params.size, words * 8);
        return -1;
    }
    if (nl_launch_check(&launch, c->operation.device, k->kernel->name, &err) < 0)
        return raise_from(&err);
    return nl_py_kernel_run(k, &launch, values, c->operation.epoch);
}

int nl_py_gucall_launch(nl_py_gucall *c) {
    const compiled *made = find_kernel(c);
    return made ? launch_kernel(c, made) : -1;
}
