/* py/gukernel: from a prepared gufunc call to a launch. Kernels are kept for each kind of loop; how
 * small cores are specialised is decided here, from the shapes of the call. */
#include "py/gucall.h"

#include <string.h>
#include "core/launch.h"
#include "py/kernel.h"

#define FIXED_CORE 64 /* bytes of a core that a kernel of its own may keep in registers */
#define FIXED_ALL 256 /* of all operands together */

static int raise_from(const nl_error *err) {
    nl_py_raise(err);
    return -1;
}

/* ---- the kernel ---- */

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

static PyObject *kernel_key(const nl_py_gucall *c, const kind *k) {
    char key[16 + NL_GU_MAX_OPERANDS * (4 + NL_GU_MAX_CORE)];
    int n = 0;
    int32_t head[3] = {c->operation.device->ordinal, k->dims | k->wide << 8 | k->fixed << 9,
                       (int32_t)k->values};
    memcpy(key, head, sizeof head);
    n = sizeof head;
    memcpy(key + n, c->dtypes, 2 * (size_t)c->count);
    n += 2 * c->count;
    for (int i = 0; k->fixed && i < c->count; i++) {
        key[n++] = k->orders[i];
        key[n++] = (char)k->aligns[i];
        for (int d = 0; d < c->g->core.ndim[i]; d++)
            key[n++] = (char)k->shapes[i][d];
    }
    return PyBytes_FromStringAndSize(key, n);
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
    nl_error err;
    PyObject *fixed = fixed_tuple(c, k);
    if (!fixed)
        return NULL;
    PyObject *made =
        PyObject_CallMethod((PyObject *)c->g, "_compile", "iOiiIN", c->operation.device->ordinal,
                            c->chosen, k->dims, k->wide, (unsigned)k->values, fixed);
    if (!made)
        return NULL;
    if (PyTuple_Check(made) && PyTuple_GET_SIZE(made) == 2 &&
        Py_IS_TYPE(PyTuple_GET_ITEM(made, 0), c->operation.state->kernel_type) &&
        PyLong_Check(PyTuple_GET_ITEM(made, 1)) &&
        ((nl_py_kernel *)PyTuple_GET_ITEM(made, 0))->kernel->module->device ==
            c->operation.device) {
        if (nl_device_bind(c->operation.device, &err) == 0)
            return made;
        nl_py_raise(&err);
    } else {
        PyErr_SetString(PyExc_TypeError,
                        "_compile must return a Kernel on that device and its threads per block");
    }
    Py_DECREF(made);
    return NULL;
}

/* (Kernel, threads of a block): new reference. */
static PyObject *find_kernel(nl_py_gucall *c) {
    kind k;
    nl_error err;
    PyObject *made = NULL;
    find_kind(c, &k);
    PyObject *key = kernel_key(c, &k);
    if (!key)
        return NULL;
    int found = PyDict_GetItemRef(c->g->kernels, key, &made);
    if (found > 0) {
        const nl_module *m = ((nl_py_kernel *)PyTuple_GET_ITEM(made, 0))->kernel->module;
        if (nl_device_alive(m->device, m->generation, &err) < 0) {
            Py_CLEAR(made);
            found = 0;
        }
    }
    if (found == 0 && (made = compile(c, &k)) != NULL &&
        nl_py_gufunc_remember(c->g->kernels, key, made) < 0)
        Py_CLEAR(made);
    Py_DECREF(key);
    return made;
}

static int launch_kernel(nl_py_gucall *c, PyObject *made) {
    nl_py_kernel *k = (nl_py_kernel *)PyTuple_GET_ITEM(made, 0);
    long threads = PyLong_AsLong(PyTuple_GET_ITEM(made, 1));
    nl_launch launch = {.block = {(unsigned)threads, 1, 1}, .stream = c->operation.stream};
    int64_t blocks = c->packed.count;
    void *values[1] = {c->words};
    nl_error err;
    int words;
    if (threads < 1 || threads > k->kernel->max_threads) {
        if (!PyErr_Occurred())
            PyErr_Format(PyExc_ValueError, "%U: blocks of %ld threads are not possible", c->g->name,
                         threads);
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
    PyObject *made = find_kernel(c);
    if (!made)
        return -1;
    int result = launch_kernel(c, made);
    Py_DECREF(made);
    return result;
}
