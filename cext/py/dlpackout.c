/* py/dlpackout: exports device arrays to other libraries through DLPack.
 *
 * A GPU's memory is exported as kDLCUDA memory; the consumer's stream waits for pending work of the
 * array's own stream. The simulator's memory is exported as host memory, after a wait for the
 * device, so that no other library can mistake it for GPU memory. A consumer that requests host
 * memory (dl_device=(1, 0)) receives a copy of a GPU's array. An exported struct keeps the array
 * alive until the consumer calls the struct's deleter, from any thread. */
#include "py/dlpackout.h"

#include <string.h>
#include "base/mem.h"
#include "core/event.h"
#include "core/stream.h"
#include "py/dlpack.h"
#include "py/stream.h"

typedef struct exported {
    union {
        nl_dl_managed plain;
        nl_dl_versioned versioned;
    };
    /* object that owns the memory: a device array, or a host array for a copy on the host */
    PyObject *array;
    nl_device *exporter; /* the simulated device whose memory is exported as host memory, or NULL */
    int64_t dims[];      /* shape, then strides in elements */
} exported;

static void release_exported(exported *e) {
    if (!nl_py_state_is_alive())
        return; /* while the interpreter ends, nothing is released: the exiting process frees the
                 * memory */
    PyGILState_STATE gil = PyGILState_Ensure();
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    Py_DECREF(e->array);
    PyErr_Restore(type, value, traceback);
    PyGILState_Release(gil);
    if (e->exporter)
        nl_device_drop_export(e->exporter);
    nl_mem_free(e);
}

static void delete_unversioned_tensor(nl_dl_managed *m) {
    release_exported(m->context);
}

static void delete_versioned_tensor(nl_dl_versioned *v) {
    release_exported(v->context);
}

/* The destructor of the capsule: releases the tensor if no consumer has renamed the capsule. */
static void capsule_dealloc(PyObject *capsule) {
    int versioned = PyCapsule_IsValid(capsule, "dltensor_versioned");
    const char *name = versioned ? "dltensor_versioned" : "dltensor";
    if (PyCapsule_IsValid(capsule, name))
        nl_py_dlpack_release_tensor(PyCapsule_GetPointer(capsule, name), versioned);
}

/* ---- the struct ---- */

static int fill_dlpack_dtype(const nl_element *element, nl_dl_tensor *t) {
    static const struct {
        char first, last;
        uint8_t code;
    } codes[] = {{NL_BOOL, NL_BOOL, NL_DL_BOOL},
                 {NL_INT8, NL_INT64, NL_DL_INT},
                 {NL_UINT8, NL_UINT64, NL_DL_UINT},
                 {NL_FLOAT16, NL_FLOAT64, NL_DL_FLOAT},
                 {NL_COMPLEX64, NL_COMPLEX128, NL_DL_COMPLEX}};
    for (size_t i = 0; element->class == NL_ELEMENT_PLAIN && i < sizeof codes / sizeof *codes;
         i++) {
        if ((int)element->dtype < codes[i].first || (int)element->dtype > codes[i].last)
            continue;
        t->code = codes[i].code;
        t->bits = (uint8_t)(element->itemsize * 8);
        t->lanes = 1;
        return 0;
    }
    PyErr_SetString(PyExc_BufferError,
                    "DLPack has no such element type: supported are booleans, integers, "
                    "floating-point and complex numbers, in native byte order");
    return -1;
}

/* Creates a capsule. `owner` keeps the memory alive. If `exporter` is not NULL, the caller has
 * counted the export with nl_device_add_export, and must undo this count if the function fails. */
static PyObject *make_capsule(PyObject *owner, const void *data, const nl_layout *layout,
                              const nl_element *element, int device_type, int device_id,
                              int versioned, uint64_t flags, nl_device *exporter) {
    nl_error err;
    exported *e = nl_mem_zalloc(sizeof *e + 2 * (size_t)layout->ndim * sizeof(int64_t), &err);
    if (!e)
        return nl_py_raise(&err);
    nl_dl_tensor *t = versioned ? &e->versioned.tensor : &e->plain.tensor;
    t->data = (void *)(uintptr_t)data;
    t->device_type = device_type;
    t->device_id = device_id;
    t->ndim = layout->ndim;
    t->shape = e->dims;
    t->strides = e->dims + layout->ndim;
    if (fill_dlpack_dtype(element, t) < 0)
        goto fail;
    for (int i = 0; i < layout->ndim; i++) {
        t->shape[i] = layout->shape[i];
        t->strides[i] = layout->strides[i] / layout->itemsize;
        if (t->strides[i] * layout->itemsize != layout->strides[i] && layout->shape[i] > 1) {
            PyErr_SetString(PyExc_BufferError,
                            "DLPack: strides are not multiples of the element size: export a copy");
            goto fail;
        }
    }
    if (versioned) {
        e->versioned.major = 1;
        e->versioned.minor = 0;
        e->versioned.context = e;
        e->versioned.deleter = delete_versioned_tensor;
        e->versioned.flags = flags;
    } else {
        e->plain.context = e;
        e->plain.deleter = delete_unversioned_tensor;
    }
    PyObject *capsule = PyCapsule_New(e, versioned ? "dltensor_versioned" : "dltensor", NULL);
    if (!capsule)
        goto fail;
    e->array = Py_NewRef(owner);
    e->exporter = exporter;
    if (PyCapsule_SetDestructor(capsule, capsule_dealloc) == 0)
        return capsule;
    Py_DECREF(capsule);
    Py_DECREF(e->array);
fail:
    nl_mem_free(e);
    return NULL;
}

/* ---- streams ---- */

/* Reads the argument `stream` of __dlpack__: None is the legacy default stream, -1 means that no
 * stream waits. */
static int read_stream(PyObject *obj, CUstream *stream, int *unordered) {
    long long number = 1;
    *unordered = 0;
    if (obj != Py_None) {
        if (!PyLong_Check(obj)) {
            PyErr_Format(PyExc_TypeError, "__dlpack__: stream must be an int or None, not %.80s",
                         Py_TYPE(obj)->tp_name);
            return -1;
        }
        number = PyLong_AsLongLong(obj);
        if (number == -1 && PyErr_Occurred())
            return -1;
    }
    if (number == 0 || number < -1) {
        PyErr_SetString(PyExc_ValueError,
                        "__dlpack__: stream must be -1 (no wait), 1 (the legacy default stream), "
                        "2 (the per-thread default stream) or a stream's handle");
        return -1;
    }
    *unordered = number == -1;
    *stream = number == -1 || number == 1 ? NULL : (CUstream)(uintptr_t)number;
    return 0;
}

/* Makes the consumer's stream wait for the earlier work of the array's own stream. */
static int order_consumer_stream(nl_device *dev, CUstream own, CUstream consumer, nl_error *err) {
    nl_event *event = NULL;
    if (nl_device_bind(dev, err) < 0 || nl_event_create(dev, 0, &event, err) < 0)
        return -1;
    int result = nl_event_record(event, own, err);
    if (result == 0)
        result = nl_event_wait(event, consumer, err);
    nl_event_destroy(event);
    return result;
}

static int order_consumer(nl_py_array *a, PyObject *stream_argument, int on_host) {
    nl_error err;
    CUstream own = NULL, consumer;
    PyObject *stream;
    int unordered, blocking = 1, result = -1;
    nl_device *dev = a->buffer->device;
    if (read_stream(stream_argument, &consumer, &unordered) < 0)
        return -1;
    if (nl_device_check_generation(dev, a->buffer->generation, &err) < 0)
        goto fail;
    nl_buffer_mark_exposed(a->buffer); /* the consumer may use the memory on other streams */
    if (on_host) {
        NL_UNLOCKED(result = nl_device_synchronize(dev, &err));
        if (result == 0)
            return 0;
        goto fail;
    }
    if (unordered)
        return 0;
    Py_BEGIN_CRITICAL_SECTION(a);
    stream = Py_XNewRef(a->stream);
    Py_END_CRITICAL_SECTION();
    result = stream ? nl_py_stream_from_argument(a->state, stream, &own, NULL) : 0;
    if (result == 0) {
        result = nl_device_bind(dev, &err);
        if (result == 0)
            result = nl_stream_read_handle_blocking(consumer, &blocking, &err);
        if (result == 0)
            result = nl_py_devarray_order_with_stream(a, consumer, blocking, &err);
        if (result == 0 && own != consumer && (own || !blocking))
            result = order_consumer_stream(dev, own, consumer, &err);
        if (result < 0)
            nl_py_raise(&err);
    }
    Py_XDECREF(stream);
    return result;
fail:
    nl_py_raise(&err);
    return -1;
}

/* ---- methods ---- */

PyObject *nl_py_dlpackout_dlpack_device(PyObject *self, PyObject *Py_UNUSED(unused)) {
    int ordinal = ((nl_py_array *)self)->buffer->device->ordinal;
    return nl_cu.memory_is_host ? Py_BuildValue("(ii)", NL_DL_CPU, 0)
                                : Py_BuildValue("(ii)", NL_DL_CUDA, ordinal);
}

/* Exports a copy in host memory, for a consumer that requests host memory. */
static PyObject *export_host_copy(PyObject *self, int versioned) {
    nl_host_array host;
    PyObject *result = NULL, *copy = PyObject_CallMethod(self, "copy_to_host", NULL);
    if (copy && nl_py_hostarray_is_array(copy) && nl_py_hostarray_read(copy, &host) == 0)
        result = make_capsule(copy, host.data, &host.layout, &host.element, NL_DL_CPU, 0, versioned,
                              NL_DL_IS_COPIED, NULL);
    Py_XDECREF(copy);
    return result;
}

static const void *data_pointer(const nl_py_array *a) {
    return (const void *)(uintptr_t)(nl_py_devarray_count(a) ? a->address : 0);
}

/* Checks that the array's memory exists. The size that another library states for its memory may be
 * wrong, and a reader on the host would crash past the end of the allocation. */
static int check_memory(const nl_py_array *a, const nl_layout *layout) {
    nl_error err;
    int64_t low, high;
    CUdeviceptr base = 0;
    size_t size = 0;
    if (nl_py_geometry_byte_extent(layout, &low, &high) < 0)
        return -1;
    if (high <= low)
        return 0;
    CUdeviceptr first = a->address + (CUdeviceptr)low, end = a->address + (CUdeviceptr)high;
    if (nl_device_bind(a->buffer->device, &err) < 0) {
        nl_py_raise(&err);
        return -1;
    }
    CUresult status = nl_cu.MemGetAddressRange(&base, &size, first);
    if (status == CUDA_SUCCESS && end - base <= size)
        return 0;
    if (status != CUDA_SUCCESS && status != CUDA_ERROR_NOT_FOUND) {
        nl_driver_check(status, "cuMemGetAddressRange", &err);
        nl_py_raise(&err);
        return -1;
    }
    PyErr_Format(PyExc_BufferError,
                 "__dlpack__: the array claims %lld bytes at %p, "
                 "which are not all in memory of the device",
                 (long long)(high - low), (void *)(uintptr_t)first);
    return -1;
}

/* Exports memory of the simulator as host memory. */
static PyObject *export_to_host(nl_py_array *a, const nl_layout *layout, const nl_element *element,
                                int versioned, uint64_t flags) {
    nl_error err;
    nl_device *dev = a->buffer->device;
    PyObject *capsule = NULL;
    if (nl_device_add_export(dev, &err) < 0)
        return nl_py_raise(&err);
    if (nl_device_check_generation(dev, a->buffer->generation, &err) < 0)
        nl_py_raise(&err);
    else if (check_memory(a, layout) == 0)
        capsule = make_capsule((PyObject *)a, data_pointer(a), layout, element, NL_DL_CPU, 0,
                               versioned, flags, dev);
    if (!capsule)
        nl_device_drop_export(dev);
    return capsule;
}

static PyObject *export_array(PyObject *obj, int versioned, uint64_t flags) {
    nl_py_array *a = (nl_py_array *)obj;
    nl_element element = {(nl_dtype)a->dtype, (nl_element_class)a->class, a->itemsize};
    nl_layout layout;
    nl_py_devarray_layout(a, &layout);
    if (a->flags & NL_PY_ARRAY_READONLY) {
        if (!versioned) {
            PyErr_SetString(PyExc_BufferError,
                            "the array is read-only, which DLPack before version 1 cannot express: "
                            "export a copy, or request max_version=(1, 0)");
            return NULL;
        }
        flags |= NL_DL_READ_ONLY;
    }
    const void *data = data_pointer(a);
    if (nl_cu.memory_is_host)
        return export_to_host(a, &layout, &element, versioned, flags);
    return make_capsule(obj, data, &layout, &element, NL_DL_CUDA, a->buffer->device->ordinal,
                        versioned, flags, NULL);
}

/* Reads a pair of ints; messages name the parameter `what`. */
static int read_pair(PyObject *obj, int *first, int *second, const char *what) {
    PyObject *pair = PySequence_Tuple(obj);
    int good = pair && PyArg_ParseTuple(pair, "ii", first, second);
    Py_XDECREF(pair);
    if (!good && PyErr_ExceptionMatches(PyExc_TypeError)) {
        PyErr_Clear();
        PyErr_Format(PyExc_TypeError, "__dlpack__: %s must be a pair of ints, not %.80s", what,
                     Py_TYPE(obj)->tp_name);
    }
    return good ? 0 : -1;
}

PyObject *nl_py_dlpackout_dlpack(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"stream", "max_version", "dl_device", "copy", NULL};
    nl_py_array *a = (nl_py_array *)self;
    PyObject *stream = Py_None, *version = Py_None, *device = Py_None, *copy = Py_None;
    int major = 0, minor = 0, on_host = nl_cu.memory_is_host;
    int own_type = on_host ? NL_DL_CPU : NL_DL_CUDA;
    int own_id = on_host ? 0 : a->buffer->device->ordinal, type = own_type, id = own_id;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$OOOO:__dlpack__", names, &stream, &version,
                                     &device, &copy))
        return NULL;
    if (version != Py_None && read_pair(version, &major, &minor, "max_version") < 0)
        return NULL;
    if (device != Py_None && read_pair(device, &type, &id, "dl_device") < 0)
        return NULL;
    int wanted = copy == Py_None ? 0 : PyObject_IsTrue(copy);
    if (wanted < 0)
        return NULL;
    if (type != own_type || id != own_id) {
        if (type == NL_DL_CPU && copy != Py_False)
            return export_host_copy(self, major >= 1);
        return PyErr_Format(PyExc_BufferError,
                            "__dlpack__: the array is on device (%d, %d) "
                            "and cannot be exported to (%d, %d)%s",
                            own_type, own_id, type, id, type == NL_DL_CPU ? " without a copy" : "");
    }
    PyObject *result = NULL,
             *source = wanted ? PyObject_CallMethod(self, "copy", "s", "K") : Py_NewRef(self);
    if (source && nl_py_devarray_check(a->state, source) &&
        order_consumer((nl_py_array *)source, stream, on_host) == 0)
        result = export_array(source, major >= 1, wanted ? NL_DL_IS_COPIED : 0);
    Py_XDECREF(source);
    return result;
}
