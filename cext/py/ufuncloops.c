/* py/ufuncloops: the caches of a ufunc: loops by the types of a call, and kernels by loop and
 * layout. If a cache has no entry, the Python method _choose or _compile is called once. If two
 * threads call _choose or _compile at the same time, both add an entry, which is harmless. */
#include "py/ufunc.h"

#include <string.h>
#include "base/mem.h"

/* FLAT loops of at most this many elements may use small kernels: with one element per thread, such
 * a loop occupies a GPU for about one wave of blocks. */
#define SMALL_COUNT 65536

/* ---- loops ---- */

static nl_py_ufunc_types *add_types(nl_py_ufunc *u, const nl_py_ufunc_key *key,
                                    const uint8_t *loop) {
    nl_py_ufunc_types *t = nl_py_overload_new(sizeof *t, key->bytes, key->size);
    if (!t)
        return NULL;
    memcpy(t->loop, loop, (size_t)(u->nin + u->nout));
    if (nl_py_overloads_add(&u->types, (PyObject *)u, &t->base) == 0)
        return t;
    nl_py_overload_free(&t->base);
    return NULL;
}

static int read_loop_dtypes(const nl_py_ufunc *u, PyObject *answer, uint8_t *loop) {
    Py_ssize_t size = u->nin + u->nout;
    int fine = PyBytes_Check(answer) && PyBytes_GET_SIZE(answer) == size;
    for (Py_ssize_t i = 0; fine && i < size; i++) {
        loop[i] = (uint8_t)PyBytes_AS_STRING(answer)[i];
        fine = loop[i] != NL_OPAQUE && loop[i] < NL_DTYPE_COUNT;
    }
    if (fine)
        return 0;
    PyErr_Format(PyExc_TypeError,
                 "%U: _choose must return bytes, "
                 "one dtype code for each of %zd operands, not %R",
                 u->name, size, answer);
    return -1;
}

int nl_py_ufuncloops_choose(nl_py_ufunc *u, const nl_py_ufunc_key *key, PyObject *inputs,
                            PyObject *outputs, PyObject *casting, PyObject *dtype,
                            PyObject *signature, uint8_t *loop, nl_py_ufunc_types **types) {
    PyObject *answer =
        PyObject_CallMethod((PyObject *)u, "_choose", "OOOOO", inputs, outputs, casting,
                            dtype ? dtype : Py_None, signature ? signature : Py_None);
    int result = answer ? read_loop_dtypes(u, answer, loop) : -1;
    Py_XDECREF(answer);
    *types = NULL;
    if (result == 0 && key->remember) {
        *types = add_types(u, key, loop);
        result = *types ? 0 : -1;
    }
    return result;
}

/* ---- kernels ---- */

static int prepare_kernel(nl_py_ufunc *u, nl_device *dev, nl_py_ufunc_kernel *k,
                          const nl_loop *loop) {
    nl_kernel *kernel = nl_py_overload_kernel(&k->base)->kernel;
    nl_launch shape = {.grid = {1, 1, 1}, .block = {k->block, 1, 1}};
    nl_error err;
    if (kernel->params.count != 1 || kernel->params.size != nl_loop_size(loop) ||
        k->per_thread == 0) {
        PyErr_Format(
            PyExc_ValueError,
            "%U: the kernel has %d parameters of %u bytes in all, and %u elements per thread; "
            "a %s loop needs one parameter of %zu bytes",
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

static nl_py_ufunc_kernel *add_kernel(nl_py_ufunc *u, nl_device *dev,
                                      const nl_py_ufunc_variant *variant, const nl_loop *loop,
                                      PyObject *answer) {
    PyObject *kernel;
    int block, per_thread;
    if (!PyTuple_Check(answer)) {
        PyErr_Format(PyExc_TypeError,
                     "%U: _compile must return (Kernel, threads per block, elements per thread)",
                     u->name);
        return NULL;
    }
    if (!PyArg_ParseTuple(answer, "Oii;_compile returns (Kernel, block, per_thread)", &kernel,
                          &block, &per_thread))
        return NULL;
    nl_py_ufunc_kernel *k = nl_py_overload_new(sizeof *k, variant->bytes, variant->size);
    if (!k)
        return NULL;
    k->block = block > 0 ? (unsigned)block : 0;
    k->per_thread = per_thread > 0 ? (unsigned)per_thread : 0;
    if (nl_py_overload_set_kernel(&k->base, u->state, kernel, dev, u->name) == 0 &&
        prepare_kernel(u, dev, k, loop) == 0 &&
        nl_py_overloads_add(&u->kernels, (PyObject *)u, &k->base) == 0)
        return k;
    nl_py_overload_free(&k->base);
    return NULL;
}

static PyObject *compile_kernel(nl_py_ufunc *u, const nl_device *dev,
                                const nl_py_ufunc_variant *variant, const nl_loop *loop) {
    const char *types = (const char *)variant->bytes + 2;
    Py_ssize_t chosen = u->nin + u->nout, stored = (Py_ssize_t)variant->size - 2 - chosen;
    return PyObject_CallMethod((PyObject *)u, "_compile", "iy#y#si", dev->ordinal, types, chosen,
                               types + chosen, stored,
                               nl_loop_kind_name((nl_loop_kind)variant->bytes[0]), loop->dims);
}

static nl_py_ufunc_kernel *find_compiled(nl_py_ufunc *u, const nl_device *dev,
                                         const nl_py_ufunc_variant *variant) {
    return (nl_py_ufunc_kernel *)nl_py_overloads_find(&u->kernels, dev, variant->bytes,
                                                      variant->size);
}

nl_py_ufunc_kernel *nl_py_ufuncloops_find_kernel(nl_py_ufunc *u, nl_device *dev,
                                                 nl_py_ufunc_variant *variant, const nl_loop *loop,
                                                 void **latest) {
    int small = u->quick && loop->kind == NL_LOOP_FLAT && loop->count <= SMALL_COUNT;
    nl_py_ufunc_kernel *last = latest ? nl_atomic_load_pointer(latest) : NULL;
    if (last && nl_py_overload_fits(&last->base, dev, variant->bytes, variant->size))
        return last;
    if (small) {
        variant->bytes[0] = NL_LOOP_SMALL;
        if (last && nl_py_overload_fits(&last->base, dev, variant->bytes, variant->size))
            return last;
        variant->bytes[0] = NL_LOOP_FLAT;
    }
    nl_py_ufunc_kernel *k = find_compiled(u, dev, variant);
    if (!k && small) {
        variant->bytes[0] = NL_LOOP_SMALL;
        k = find_compiled(u, dev, variant);
    }
    if (!k) {
        PyObject *answer = compile_kernel(u, dev, variant, loop);
        k = answer ? add_kernel(u, dev, variant, loop, answer) : NULL;
        Py_XDECREF(answer);
    }
    if (k && latest)
        nl_atomic_store_pointer(latest, k);
    return k;
}
