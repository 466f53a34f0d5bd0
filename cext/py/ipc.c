/* py/ipc: device memory shared between processes: the type IpcMemory, and handles of arrays.
 *
 * The driver does not export memory of its pools. So an array in a pool is moved, once, when it
 * is exported. Moving is possible only while no other object has the array's address: no view, and
 * no other library. If other objects have the address, the exception states how to create an array
 * that can be exported. */
#include "py/devarray.h"

#include <string.h>
#include "base/mem.h"
#include "core/ipc.h"

typedef struct {
    PyObject_HEAD nl_ipc_memory *memory; /* NULL after close() */
} py_ipc;

static nl_ipc_memory *detach_memory(py_ipc *self) {
    nl_ipc_memory *memory;
    Py_BEGIN_CRITICAL_SECTION(self);
    memory = self->memory;
    self->memory = NULL;
    Py_END_CRITICAL_SECTION();
    return memory;
}

static PyObject *wrap_memory(PyTypeObject *type, nl_ipc_memory *memory) {
    py_ipc *self = (py_ipc *)type->tp_alloc(type, 0);
    if (self == NULL) {
        NL_UNLOCKED(nl_ipc_release(memory));
        return NULL;
    }
    self->memory = memory;
    return (PyObject *)self;
}

static PyObject *ipc_alloc(PyObject *type, PyObject *number) {
    nl_ipc_memory *memory = NULL;
    nl_error err;
    int status;
    size_t size = PyLong_AsSize_t(number);
    if (size == (size_t)-1 && PyErr_Occurred())
        return NULL;
    if (size == 0 || size > SIZE_MAX / 2)
        return PyErr_Format(PyExc_ValueError, "shared memory has at least 1 byte, not %zu", size);
    Py_BEGIN_ALLOW_THREADS;
    nl_device *dev = nl_device_current(&err);
    status = dev != NULL ? nl_ipc_alloc(dev, size, &memory, &err) : -1;
    Py_END_ALLOW_THREADS;
    return status < 0 ? nl_py_raise(&err) : wrap_memory((PyTypeObject *)type, memory);
}

static PyObject *ipc_open(PyObject *type, PyObject *bytes) {
    nl_ipc_memory *memory = NULL;
    CUipcMemHandle handle;
    nl_error err;
    int status;
    if (!PyBytes_Check(bytes) || PyBytes_GET_SIZE(bytes) != (Py_ssize_t)sizeof handle)
        return PyErr_Format(PyExc_ValueError, "an IPC handle is %zu bytes", sizeof handle);
    memcpy(&handle, PyBytes_AS_STRING(bytes), sizeof handle);
    Py_BEGIN_ALLOW_THREADS;
    nl_device *dev = nl_device_current(&err);
    status = dev != NULL ? nl_ipc_open(dev, &handle, &memory, &err) : -1;
    Py_END_ALLOW_THREADS;
    return status < 0 ? nl_py_raise(&err) : wrap_memory((PyTypeObject *)type, memory);
}

static PyObject *ipc_close(PyObject *self, PyObject *Py_UNUSED(unused)) {
    nl_error err;
    int status = 0;
    nl_ipc_memory *memory = detach_memory((py_ipc *)self);
    if (memory == NULL)
        Py_RETURN_NONE;
    Py_BEGIN_ALLOW_THREADS;
    if (nl_device_in_callback())
        nl_ipc_release(memory);
    else
        status = nl_ipc_close_memory(memory, &err);
    Py_END_ALLOW_THREADS;
    return nl_py_none_or_raise(status, &err);
}

static void ipc_dealloc(PyObject *self) {
    nl_ipc_memory *memory = detach_memory((py_ipc *)self);
    if (memory != NULL) {
        PyObject *kind, *value, *traceback;
        PyErr_Fetch(&kind, &value, &traceback);
        NL_UNLOCKED(nl_ipc_release(memory));
        PyErr_Restore(kind, value, traceback);
    }
    nl_py_free_object(self);
}

/* The memory's address or size; 0 after close(). */
static PyObject *ipc_address(PyObject *self, void *Py_UNUSED(unused)) {
    nl_ipc_memory *memory = ((py_ipc *)self)->memory;
    return PyLong_FromUnsignedLongLong(memory != NULL ? memory->address : 0);
}

static PyObject *ipc_nbytes(PyObject *self, void *Py_UNUSED(unused)) {
    nl_ipc_memory *memory = ((py_ipc *)self)->memory;
    return PyLong_FromSize_t(memory != NULL ? memory->size : 0);
}

static PyMethodDef ipc_methods[] = {
    {"alloc", ipc_alloc, METH_O | METH_CLASS, "alloc(nbytes): memory that can be exported."},
    {"open", ipc_open, METH_O | METH_CLASS, "open(handle): memory of another process."},
    {"close", ipc_close, METH_NOARGS,
     "Frees or closes the memory; afterwards its arrays must not be used."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef ipc_getset[] = {
    {"address", ipc_address, NULL, "Device address; 0 when closed.", NULL},
    {"nbytes", ipc_nbytes, NULL, "Bytes of the whole allocation.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot ipc_slots[] = {
    {Py_tp_doc, "Device memory that several processes can use, created by alloc() or open()."},
    {Py_tp_dealloc, ipc_dealloc},
    {Py_tp_methods, ipc_methods},
    {Py_tp_getset, ipc_getset},
    {0, NULL},
};

static PyType_Spec ipc_spec = {
    .name = "numbalite._core.IpcMemory",
    .basicsize = sizeof(py_ipc),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = ipc_slots,
};

/* ---- export ---- */

/* The owner of a moved array's buffer. */
typedef struct moved {
    nl_ipc_memory *memory;
    nl_buffer *old; /* the old buffer, or NULL; released together with the new buffer */
} moved;

static void release_moved_memory(void *owner) {
    moved *m = owner;
    nl_ipc_release(m->memory);
    nl_buffer_release(m->old);
    nl_mem_free(m);
}

static int set_cannot_move_error(nl_error *err) {
    return nl_error_set(
        err, NL_ERR_RUNTIME,
        "this array's memory is from a pool, which the driver does not share with other processes, "
        "and it cannot be moved: "
        "views of it, graphs, other libraries or streams contain its address; "
        "create the array with cuda.ipc_array(), "
        "or call get_ipc_handle() directly after its creation");
}

/* Returns whether no other object has the address of the array's memory, so that the array can be
 * moved. */
static int is_only_reference(const nl_py_array *a) {
    return nl_atomic_load(&a->buffer->references) == 1 &&
           !(nl_atomic_load(&a->buffer->users) & (NL_BUFFER_FOREIGN | NL_BUFFER_NOTED));
}

/* Copies the array's bytes to memory outside of pools, and returns the copy as a buffer. The device
 * must be idle. */
static int copy_to_unpooled_memory(nl_buffer *old, nl_buffer **out, nl_error *err) {
    moved *m = nl_mem_zalloc(sizeof *m, err);
    if (m == NULL)
        return -1;
    if (nl_ipc_alloc(old->device, old->size, &m->memory, err) < 0) {
        nl_mem_free(m);
        return -1;
    }
    if (NL_CU(err, MemcpyDtoD, m->memory->address, old->address, old->size) < 0 ||
        NL_CU(err, StreamSynchronize, NULL) < 0 ||
        nl_buffer_wrap_memory(old->device, m->memory->address, old->size, release_moved_memory, m,
                              out, err) < 0) {
        release_moved_memory(m);
        return -1;
    }
    return 0;
}

/* Moves an array to memory outside of pools. The copy is made without the interpreter's lock.
 * During the move, the program must not use the array in other threads, but a view that another
 * thread creates is detected. In a free-threaded interpreter, another thread may still be about to
 * use the old buffer, so the old buffer is released together with the new one. */
static int move_to_shared_memory(nl_py_array *a, nl_error *err) {
    nl_buffer *old = a->buffer, *plain = NULL;
    int status;
    if (!is_only_reference(a))
        return set_cannot_move_error(err);
    Py_BEGIN_ALLOW_THREADS;
    status = nl_device_synchronize(old->device, err);
    if (status == 0)
        status = copy_to_unpooled_memory(old, &plain, err);
    Py_END_ALLOW_THREADS;
    if (status < 0)
        return -1;
    if (!is_only_reference(a)) {
        nl_py_devarray_buffer_release(plain);
        return set_cannot_move_error(err);
    }
    a->address = plain->address + (a->address - old->address);
    a->buffer = plain;
    nl_device_bump_epoch();
#ifdef Py_GIL_DISABLED
    ((moved *)plain->owner)->old = old;
#else
    nl_py_devarray_buffer_release(old);
#endif
    return 0;
}

/* ipc_export(array) -> (handle, offset, nbytes); the handle is that of the whole allocation. */
static PyObject *ipc_export(PyObject *module, PyObject *argument) {
    nl_py_state *state = nl_py_state_of(module);
    CUipcMemHandle handle;
    size_t offset = 0, size = 0;
    nl_error err;
    int status;
    if (!nl_py_devarray_check(state, argument))
        return PyErr_Format(PyExc_TypeError, "a device array is needed, not %.100s",
                            Py_TYPE(argument)->tp_name);
    nl_py_array *a = (nl_py_array *)argument;
    if (nl_py_devarray_count(a) == 0 || a->itemsize == 0 || a->buffer->size == 0) {
        return PyErr_Format(PyExc_ValueError, "an array without elements has no memory to share");
    }
    Py_BEGIN_ALLOW_THREADS;
    status = nl_device_check_generation(a->buffer->device, a->buffer->generation, &err);
    if (status == 0)
        status = nl_device_bind(a->buffer->device, &err);
    Py_END_ALLOW_THREADS;
    if (status == 0 && a->buffer->pooled)
        status = move_to_shared_memory(a, &err);
    if (status < 0)
        return nl_py_raise(&err);
    nl_device *dev = a->buffer->device;
    CUdeviceptr address = a->address;
    nl_buffer_mark_exposed(a->buffer);
    NL_UNLOCKED(status = nl_ipc_export(dev, address, &handle, &offset, &size, &err));
    if (status < 0)
        return nl_py_raise(&err);
    return Py_BuildValue("(y#nn)", handle.reserved, (Py_ssize_t)sizeof handle, (Py_ssize_t)offset,
                         (Py_ssize_t)size);
}

/* ipc_end(array): invalidates the array and its views; each later use raises an exception. */
static PyObject *ipc_end(PyObject *module, PyObject *argument) {
    if (!nl_py_devarray_check(nl_py_state_of(module), argument) ||
        !((nl_py_array *)argument)->buffer->wrapped) {
        return PyErr_Format(PyExc_TypeError,
                            "an array over memory of another process is needed, not %.100s",
                            Py_TYPE(argument)->tp_name);
    }
    nl_atomic_store(&((nl_py_array *)argument)->buffer->generation, NL_GENERATION_CLOSED);
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"ipc_end", ipc_end, METH_O,
     "ipc_end(array): invalidates the array and its views; each later use raises an exception."},
    {"ipc_export", ipc_export, METH_O,
     "ipc_export(array) -> (handle, offset, nbytes): "
     "the values that another process needs to open the memory. May move the array."},
    {NULL, NULL, 0, NULL},
};

int nl_py_ipc_exec(PyObject *module) {
    return nl_py_state_add_type(module, &ipc_spec, NULL, &nl_py_state_of(module)->ipc_type) < 0
               ? -1
               : nl_py_state_add_functions(module, functions);
}
