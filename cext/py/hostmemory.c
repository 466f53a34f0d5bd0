/* py/hostmemory: exposes blocks of core/hostblock as memory for NumPy arrays. A HostMemory has the
 * buffer protocol, so numpy.ndarray accepts it as a buffer and stores it as the array's base. When
 * the last array over a HostMemory is freed, its block returns to the pool. This file also
 * registers memory of other owners with the driver (page-locking). */
#include "py/hostmemory.h"

#include <string.h>
#include "py/devarray.h"
#include "py/stream.h"

static const char *const kinds[] = {"result", "locked", "mapped", "write-combined", "managed"};

/* ---- the type ---- */

static nl_host_block *alloc_block(size_t size, nl_host_kind kind, unsigned flags) {
    nl_host_block *block = NULL;
    nl_error err;
    int result;
    nl_device *dev;
    Py_BEGIN_ALLOW_THREADS;
    dev = nl_device_current(&err);
    result = dev ? nl_hostblock_alloc(dev, size, kind, flags, &block, &err) : -1;
    Py_END_ALLOW_THREADS;
    if (result < 0)
        nl_py_raise(&err);
    return block;
}

static void release_block(nl_host_block *block) {
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    NL_UNLOCKED(nl_hostblock_release(block));
    PyErr_Restore(type, value, traceback);
}

/* Returns a HostMemory that owns the block. On failure, the block is released. */
static PyObject *wrap_block(PyTypeObject *type, nl_host_block *block) {
    nl_py_hostmemory *self = (nl_py_hostmemory *)type->tp_alloc(type, 0);
    if (!self) {
        release_block(block);
        return NULL;
    }
    self->block = block;
    return (PyObject *)self;
}

static void hostmemory_dealloc(PyObject *self) {
    nl_py_hostmemory *m = (nl_py_hostmemory *)self;
    if (m->weakrefs)
        PyObject_ClearWeakRefs(self);
    release_block(m->block);
    nl_py_free_object(self);
}

/* Raises an exception if the driver allocated the memory and the device was reset later. Pages that
 * numbalite has mapped remain valid after a reset. */
static int check_memory_survived_reset(const nl_host_block *b) {
    nl_error err;
    if (b->kind < NL_HOST_WRITE_COMBINED ||
        nl_device_check_generation(b->device, b->generation, &err) == 0)
        return 0;
    nl_py_raise(&err);
    return -1;
}

static int hostmemory_getbuffer(PyObject *self, Py_buffer *view, int flags) {
    const nl_host_block *b = ((nl_py_hostmemory *)self)->block;
    if (check_memory_survived_reset(b) < 0) {
        view->obj = NULL;
        return -1;
    }
    return PyBuffer_FillInfo(view, self, b->memory, (Py_ssize_t)b->size, 0, flags);
}

static PyObject *hostmemory_address(PyObject *self, void *Py_UNUSED(closure)) {
    return PyLong_FromVoidPtr(((nl_py_hostmemory *)self)->block->memory);
}

static PyObject *hostmemory_device_address(PyObject *self, void *Py_UNUSED(closure)) {
    CUdeviceptr address;
    nl_error err;
    if (nl_hostblock_device_address(((nl_py_hostmemory *)self)->block, &address, &err) < 0)
        return nl_py_raise(&err);
    return PyLong_FromUnsignedLongLong(address);
}

static PyObject *hostmemory_nbytes(PyObject *self, void *Py_UNUSED(closure)) {
    return PyLong_FromSize_t(((nl_py_hostmemory *)self)->block->size);
}

static PyObject *hostmemory_kind(PyObject *self, void *Py_UNUSED(closure)) {
    return PyUnicode_FromString(kinds[((nl_py_hostmemory *)self)->block->kind]);
}

static PyObject *hostmemory_is_locked(PyObject *self, void *Py_UNUSED(closure)) {
    return PyBool_FromLong(nl_hostblock_is_locked(((nl_py_hostmemory *)self)->block));
}

static PyGetSetDef hostmemory_getset[] = {
    {"address", hostmemory_address, NULL, "Where it begins on the host.", NULL},
    {"device_address", hostmemory_device_address, NULL, "Where kernels find it.", NULL},
    {"nbytes", hostmemory_nbytes, NULL, "Its size.", NULL},
    {"size", hostmemory_nbytes, NULL, "Its size.", NULL},
    {"kind", hostmemory_kind, NULL,
     "The kind of memory: result, locked, mapped, write-combined or managed.", NULL},
    {"is_locked", hostmemory_is_locked, NULL, "Does the device reach it by itself?", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyMemberDef hostmemory_members[] = {
    {"__weaklistoffset__", Py_T_PYSSIZET, offsetof(nl_py_hostmemory, weakrefs), Py_READONLY, NULL},
    {NULL, 0, 0, 0, NULL}};

static PyType_Slot hostmemory_slots[] = {
    {Py_tp_doc, "A buffer of host memory that the device can access."},
    {Py_tp_dealloc, hostmemory_dealloc},
    {Py_tp_getset, hostmemory_getset},
    {Py_tp_members, hostmemory_members},
    {Py_bf_getbuffer, hostmemory_getbuffer},
    {0, NULL}};

static PyType_Spec hostmemory_spec = {
    .name = "numbalite._core.HostMemory",
    .basicsize = sizeof(nl_py_hostmemory),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = hostmemory_slots,
};

/* ---- allocation ---- */

static PyObject *host_memory(PyObject *module, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"nbytes", "kind", "flags", "cls", NULL};
    PyTypeObject *type = nl_py_state_of(module)->hostmemory_type;
    PyObject *class = (PyObject *)type;
    Py_ssize_t size;
    const char *name;
    unsigned flags = CU_MEM_ATTACH_GLOBAL;
    int kind = 0, count = (int)(sizeof kinds / sizeof kinds[0]);
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "ns|IO:host_memory", names, &size, &name, &flags,
                                     &class))
        return NULL;
    if (!PyType_Check(class) || !PyType_IsSubtype((PyTypeObject *)class, type))
        return PyErr_Format(PyExc_TypeError, "cls must be a subclass of HostMemory");
    while (kind < count && strcmp(kinds[kind], name) != 0)
        kind++;
    if (kind == count)
        return PyErr_Format(PyExc_ValueError, "no host memory is called '%.40s'", name);
    if (size < 0)
        return PyErr_Format(PyExc_ValueError, "nbytes must not be negative");
    nl_host_block *block = alloc_block((size_t)size, (nl_host_kind)kind, flags);
    return block ? wrap_block((PyTypeObject *)class, block) : NULL;
}

PyObject *nl_py_hostmemory_empty(nl_py_state *state, PyObject *descr, const nl_layout *layout) {
    size_t size = (size_t)(nl_layout_count_elements(layout) * layout->itemsize);
    if (size >= NL_HOSTBLOCK_LEAST && size <= nl_hostblock_cache_limit()) {
        nl_host_block *block = alloc_block(size, NL_HOST_RESULT, 0);
        PyObject *memory = block ? wrap_block(state->hostmemory_type, block) : NULL;
        if (!memory)
            return NULL;
        return nl_py_hostarray_new(descr, layout, block->memory, memory);
    }
    return nl_py_hostarray_new(descr, layout, NULL, NULL);
}

int nl_py_hostmemory_owns_array(nl_py_state *state, PyObject *array) {
    PyObject *root = nl_py_hostarray_find_root(array);
    return root && Py_TYPE(root) == state->hostmemory_type &&
           ((nl_py_hostmemory *)root)->block->kind == NL_HOST_RESULT;
}

static PyObject *host_empty(PyObject *module, PyObject *args) {
    PyObject *shape, *dtype, *result = NULL;
    const char *order = "C";
    nl_layout layout;
    if (!PyArg_ParseTuple(args, "OO|s:host_empty", &shape, &dtype, &order))
        return NULL;
    if (nl_py_geometry_read_shape(shape, &layout) < 0)
        return NULL;
    PyObject *descr = nl_py_hostarray_convert_descr(dtype);
    if (!descr)
        return NULL;
    layout.itemsize = nl_py_hostarray_element_of_descr(descr).itemsize;
    if (nl_py_geometry_strides(&layout, *order) == 0)
        result = nl_py_hostmemory_empty(nl_py_state_of(module), descr, &layout);
    Py_DECREF(descr);
    return result;
}

/* ---- memory of other owners ---- */

static PyObject *host_register(PyObject *Py_UNUSED(module), PyObject *args) {
    unsigned long long address;
    Py_ssize_t size;
    unsigned flags;
    nl_error err;
    int result;
    CUdeviceptr device = 0;
    if (!PyArg_ParseTuple(args, "KnI:host_register", &address, &size, &flags))
        return NULL;
    Py_BEGIN_ALLOW_THREADS;
    void *memory = (void *)(uintptr_t)address;
    result =
        nl_device_current(&err) ? NL_CU(&err, MemHostRegister, memory, (size_t)size, flags) : -1;
    if (result == 0 && NL_CU(&err, MemHostGetDevicePointer, &device, memory, 0) < 0) {
        nl_driver_print_failure(nl_cu.MemHostUnregister(memory), "cuMemHostUnregister");
        result = -1;
    }
    Py_END_ALLOW_THREADS;
    return result < 0 ? nl_py_raise(&err) : PyLong_FromUnsignedLongLong(device);
}

static PyObject *host_unregister(PyObject *Py_UNUSED(module), PyObject *args) {
    unsigned long long address;
    nl_error err;
    int result;
    if (!PyArg_ParseTuple(args, "K:host_unregister", &address))
        return NULL;
    NL_UNLOCKED(result = nl_device_current(&err)
                             ? NL_CU(&err, MemHostUnregister, (void *)(uintptr_t)address)
                             : -1);
    return nl_py_none_or_raise(result, &err);
}

static PyObject *prefetch_memory(PyObject *module, PyObject *args) {
    unsigned long long address;
    Py_ssize_t size;
    int device, result;
    PyObject *stream;
    CUstream handle;
    nl_error err;
    if (!PyArg_ParseTuple(args, "KniO:prefetch", &address, &size, &device, &stream) ||
        nl_py_stream_from_argument(nl_py_state_of(module), stream, &handle, NULL) < 0)
        return NULL;
    NL_UNLOCKED(result = nl_device_current(&err)
                             ? NL_CU(&err, MemPrefetchAsync, address, (size_t)size, device, handle)
                             : -1);
    return nl_py_none_or_raise(result, &err);
}

static PyObject *advise_memory(PyObject *Py_UNUSED(module), PyObject *args) {
    unsigned long long address;
    Py_ssize_t size;
    int advice, device, result;
    nl_error err;
    if (!PyArg_ParseTuple(args, "Knii:advise", &address, &size, &advice, &device))
        return NULL;
    NL_UNLOCKED(result = nl_device_current(&err)
                             ? NL_CU(&err, MemAdvise, address, (size_t)size, advice, device)
                             : -1);
    return nl_py_none_or_raise(result, &err);
}

static PyMethodDef functions[] = {
    {"host_memory", (PyCFunction)(void (*)(void))host_memory, METH_VARARGS | METH_KEYWORDS,
     "host_memory(nbytes, kind, flags=1, cls=HostMemory): "
     "returns a HostMemory; `flags` are for managed memory."},
    {"host_empty", host_empty, METH_VARARGS,
     "host_empty(shape, dtype, order='C'): "
     "returns a new uninitialized NumPy array for a result."},
    {"host_register", host_register, METH_VARARGS,
     "host_register(address, nbytes, flags): page-locks memory, and returns its device address."},
    {"host_unregister", host_unregister, METH_VARARGS, "host_unregister(address)"},
    {"prefetch", prefetch_memory, METH_VARARGS,
     "prefetch(address, nbytes, device, stream): "
     "moves managed memory to a device, or to the host if device is -1."},
    {"advise", advise_memory, METH_VARARGS, "advise(address, nbytes, advice, device)"},
    {NULL, NULL, 0, NULL}};

int nl_py_hostmemory_exec(PyObject *module) {
    nl_py_state *state = nl_py_state_of(module);
    if (nl_py_state_add_type(module, &hostmemory_spec, NULL, &state->hostmemory_type) < 0)
        return -1;
    return nl_py_state_add_functions(module, functions);
}
