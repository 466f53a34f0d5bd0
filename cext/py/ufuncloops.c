/* py/ufuncloops: what a ufunc remembers: which loop the types of a call mean, and the kernels. Both
 * are lists that only grow, so that calls read them without a lock; what they lack is asked of the
 * Python methods _choose and _compile, once. Two threads that ask at the same time both add an
 * entry, which does no harm. */
#include "py/ufunc.h"

#include <string.h>
#include "base/mem.h"

/* ---- loops ---- */

nl_py_ufunc_types *nl_py_ufunc_find_types(nl_py_ufunc *u, const nl_py_ufunc_key *key) {
    nl_py_ufunc_types *t = nl_atomic_load_pointer(&u->types);
    for (; t; t = t->next)
        if (memcmp(t->bytes + u->nin + u->nout, key->bytes, (size_t)key->size) == 0 &&
            !nl_atomic_peek32(&t->dead))
            return t;
    return NULL;
}

static nl_py_ufunc_types *add_types(nl_py_ufunc *u, const nl_py_ufunc_key *key,
                                    const uint8_t *loop) {
    nl_error err;
    size_t size = (size_t)(u->nin + u->nout);
    nl_py_ufunc_types *t = nl_mem_zalloc(sizeof *t + size + (size_t)key->size, &err);
    if (!t) {
        nl_py_raise(&err);
        return NULL;
    }
    memcpy(t->bytes, loop, size);
    memcpy(t->bytes + size, key->bytes, (size_t)key->size);
    Py_BEGIN_CRITICAL_SECTION(u);
    t->next = u->types;
    nl_atomic_store_pointer(&u->types, t);
    Py_END_CRITICAL_SECTION();
    return t;
}

static int read_loop(const nl_py_ufunc *u, PyObject *answer, uint8_t *loop) {
    Py_ssize_t size = u->nin + u->nout;
    int fine = PyBytes_Check(answer) && PyBytes_GET_SIZE(answer) == size;
    for (Py_ssize_t i = 0; fine && i < size; i++) {
        loop[i] = (uint8_t)PyBytes_AS_STRING(answer)[i];
        fine = loop[i] != NL_OPAQUE && loop[i] < NL_DTYPE_COUNT;
    }
    if (fine)
        return 0;
    PyErr_Format(PyExc_TypeError,
                 "%U: _choose must give bytes, one dtype code for each of %zd "
                 "operands, not %R",
                 u->name, size, answer);
    return -1;
}

int nl_py_ufunc_choose(nl_py_ufunc *u, const nl_py_ufunc_key *key, PyObject *inputs,
                       PyObject *outputs, PyObject *casting, PyObject *dtype, PyObject *signature,
                       uint8_t *loop, nl_py_ufunc_types **types) {
    PyObject *answer =
        PyObject_CallMethod((PyObject *)u, "_choose", "OOOOO", inputs, outputs, casting,
                            dtype ? dtype : Py_None, signature ? signature : Py_None);
    int result = answer ? read_loop(u, answer, loop) : -1;
    Py_XDECREF(answer);
    *types = NULL;
    if (result == 0 && key->remember) {
        *types = add_types(u, key, loop);
        result = *types ? 0 : -1;
    }
    return result;
}

/* ---- kernels ---- */

static int fits(const nl_py_ufunc_kernel *k, const nl_device *dev, const uint8_t *bytes, int count,
                const nl_loop *loop) {
    return k->device == dev && k->kind == (int)loop->kind && k->dims == loop->dims &&
           k->count == count && memcmp(k->bytes, bytes, (size_t)count) == 0 &&
           !nl_atomic_peek32(&k->dead) &&
           k->kernel->kernel->module->generation == nl_atomic_load(&dev->generation);
}

static int prepare(nl_py_ufunc *u, nl_device *dev, nl_py_ufunc_kernel *k, const nl_loop *loop) {
    nl_kernel *kernel = k->kernel->kernel;
    nl_launch shape = {.grid = {1, 1, 1}, .block = {k->block, 1, 1}};
    nl_error err;
    if (kernel->module->device != dev) {
        PyErr_Format(PyExc_ValueError, "%U: the kernel is loaded on device %d, not on device %d",
                     u->name, kernel->module->device->ordinal, dev->ordinal);
        return -1;
    }
    if (kernel->params.count != 1 || kernel->params.size != nl_loop_size(loop) ||
        k->per_thread == 0) {
        PyErr_Format(PyExc_ValueError,
                     "%U: the kernel takes %d parameters of %u bytes in all and %u elements per "
                     "thread; a %s loop needs one parameter of %zu bytes",
                     u->name, kernel->params.count, kernel->params.size, k->per_thread,
                     nl_loop_kind_name(loop->kind), nl_loop_size(loop));
        return -1;
    }
    if (nl_device_bind(dev, &err) < 0 || nl_launch_prepare(&shape, kernel, &err) < 0) {
        nl_py_raise(&err);
        return -1;
    }
    return 0;
}

static nl_py_ufunc_kernel *add_kernel(nl_py_ufunc *u, nl_device *dev, const uint8_t *bytes,
                                      int count, const nl_loop *loop, PyObject *answer) {
    PyObject *kernel;
    nl_error err;
    int block, per_thread;
    if (!PyTuple_Check(answer)) {
        PyErr_Format(PyExc_TypeError,
                     "%U: _compile must give (Kernel, threads per block, elements per thread)",
                     u->name);
        return NULL;
    }
    if (!PyArg_ParseTuple(answer, "O!ii;_compile gives (Kernel, block, per_thread)",
                          u->state->kernel_type, &kernel, &block, &per_thread))
        return NULL;
    nl_py_ufunc_kernel *k = nl_mem_zalloc(sizeof *k + (size_t)count, &err);
    if (!k) {
        nl_py_raise(&err);
        return NULL;
    }
    k->device = dev;
    k->kernel = (nl_py_kernel *)kernel;
    k->block = block > 0 ? (unsigned)block : 0;
    k->per_thread = per_thread > 0 ? (unsigned)per_thread : 0;
    k->kind = (int)loop->kind;
    k->dims = loop->dims;
    k->count = count;
    memcpy(k->bytes, bytes, (size_t)count);
    if (prepare(u, dev, k, loop) < 0) {
        nl_mem_free(k);
        return NULL;
    }
    Py_INCREF(kernel);
    Py_BEGIN_CRITICAL_SECTION(u);
    k->next = u->kernels;
    nl_atomic_store_pointer(&u->kernels, k);
    Py_END_CRITICAL_SECTION();
    return k;
}

nl_py_ufunc_kernel *nl_py_ufunc_find_kernel(nl_py_ufunc *u, nl_device *dev, const uint8_t *bytes,
                                            int count, const nl_loop *loop, void **latest) {
    nl_py_ufunc_kernel *k = latest ? nl_atomic_load_pointer(latest) : NULL;
    Py_ssize_t types = u->nin + u->nout;
    if (k && fits(k, dev, bytes, count, loop))
        return k;
    for (k = nl_atomic_load_pointer(&u->kernels); k; k = k->next)
        if (fits(k, dev, bytes, count, loop))
            break;
    if (!k) {
        PyObject *answer = PyObject_CallMethod(
            (PyObject *)u, "_compile", "iy#y#si", dev->ordinal, (const char *)bytes, types,
            (const char *)bytes + types, count - types, nl_loop_kind_name(loop->kind), loop->dims);
        k = answer ? add_kernel(u, dev, bytes, count, loop, answer) : NULL;
        Py_XDECREF(answer);
    }
    if (k && latest)
        nl_atomic_store_pointer(latest, k);
    return k;
}

/* ---- life ---- */

void nl_py_ufunc_forget(nl_py_ufunc *u) {
    nl_py_ufunc_types *t = nl_atomic_load_pointer(&u->types);
    nl_py_ufunc_kernel *k = nl_atomic_load_pointer(&u->kernels);
    for (; t; t = t->next)
        nl_atomic_poke32(&t->dead, 1);
    for (; k; k = k->next)
        nl_atomic_poke32(&k->dead, 1);
}

int nl_py_ufunc_visit_kernels(nl_py_ufunc *u, visitproc visit, void *arg) {
    for (nl_py_ufunc_kernel *k = u->kernels; k; k = k->next)
        Py_VISIT(k->kernel);
    return 0;
}

void nl_py_ufunc_clear_kernels(nl_py_ufunc *u) {
    for (nl_py_ufunc_kernel *k = u->kernels; k; k = k->next) {
        nl_atomic_poke32(&k->dead, 1);
        Py_CLEAR(k->kernel);
    }
}

void nl_py_ufunc_free_entries(nl_py_ufunc *u) {
    for (nl_py_ufunc_kernel *k = u->kernels, *next; k; k = next) {
        next = k->next;
        nl_mem_free(k);
    }
    for (nl_py_ufunc_types *t = u->types, *next; t; t = next) {
        next = t->next;
        nl_mem_free(t);
    }
    u->kernels = u->types = NULL;
}
