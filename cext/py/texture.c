/* py/texture: the type TextureHandle: a CUDA array for texture units, or a texture or surface
 * object over an array. numbalite/ndarray/textures.py keeps the memory under a texture object
 * alive. */
#include "py/state.h"

#include <string.h>
#include "core/texture.h"

typedef struct {
    PyObject_HEAD nl_texture *texture;
} py_texture;

static PyObject *wrap_texture(PyObject *type, nl_texture *texture) {
    py_texture *self = (py_texture *)((PyTypeObject *)type)->tp_alloc((PyTypeObject *)type, 0);
    if (self == NULL) {
        NL_UNLOCKED(nl_texture_release(texture));
        return NULL;
    }
    self->texture = texture;
    return (PyObject *)self;
}

static PyObject *texture_array(PyObject *type, PyObject *args) {
    CUDA_ARRAY3D_DESCRIPTOR shape = {0};
    Py_ssize_t width, height, depth;
    nl_texture *texture = NULL;
    nl_error err;
    int status;
    if (!PyArg_ParseTuple(args, "(nnn)iII:array", &width, &height, &depth, &shape.Format,
                          &shape.NumChannels, &shape.Flags))
        return NULL;
    shape.Width = (size_t)width;
    shape.Height = (size_t)height;
    shape.Depth = (size_t)depth;
    Py_BEGIN_ALLOW_THREADS;
    nl_device *dev = nl_device_current(&err);
    status = dev != NULL ? nl_texture_create_array(dev, &shape, &texture, &err) : -1;
    Py_END_ALLOW_THREADS;
    return status < 0 ? nl_py_raise(&err) : wrap_texture(type, texture);
}

static nl_texture *texture_of_class(PyObject *type, PyObject *object) {
    py_texture *self = (py_texture *)object;
    if (!PyObject_TypeCheck(object, (PyTypeObject *)type) ||
        self->texture->kind != NL_TEXTURE_ARRAY) {
        PyErr_Format(PyExc_TypeError, "the argument must be an array for textures, not %.100s",
                     Py_TYPE(object)->tp_name);
        return NULL;
    }
    return self->texture;
}

static PyObject *create_texture_object(PyObject *type, nl_device *dev,
                                       const CUDA_RESOURCE_DESC *over,
                                       const CUDA_TEXTURE_DESC *how) {
    nl_texture *texture = NULL;
    nl_error err;
    int status;
    Py_BEGIN_ALLOW_THREADS;
    dev = dev != NULL ? dev : nl_device_current(&err);
    status = dev != NULL ? nl_texture_create_object(dev, over, how, &texture, &err) : -1;
    Py_END_ALLOW_THREADS;
    return status < 0 ? nl_py_raise(&err) : wrap_texture(type, texture);
}

static PyObject *texture_object(PyObject *type, PyObject *args) {
    CUDA_RESOURCE_DESC over;
    CUDA_TEXTURE_DESC how;
    PyObject *what;
    int format;
    unsigned channels;
    unsigned long long address;
    Py_ssize_t width, height, pitch;
    memset(&over, 0, sizeof over);
    memset(&how, 0, sizeof how);
    if (!PyArg_ParseTuple(args, "O(iii)iI(ffff):object", &what, &how.addressMode[0],
                          &how.addressMode[1], &how.addressMode[2], &how.filterMode, &how.flags,
                          &how.borderColor[0], &how.borderColor[1], &how.borderColor[2],
                          &how.borderColor[3]))
        return NULL;
    if (!PyTuple_Check(what)) {
        nl_texture *array = texture_of_class(type, what);
        if (array == NULL)
            return NULL;
        over.resType = CU_RESOURCE_TYPE_ARRAY;
        over.res.array.hArray = (CUarray)(uintptr_t)array->handle;
        return create_texture_object(type, array->device, &over, &how);
    }
    if (!PyArg_ParseTuple(what, "KiInnn:memory", &address, &format, &channels, &width, &height,
                          &pitch))
        return NULL;
    if (height == 0) {
        over.resType = CU_RESOURCE_TYPE_LINEAR;
        over.res.linear.devPtr = address;
        over.res.linear.format = format;
        over.res.linear.numChannels = channels;
        over.res.linear.sizeInBytes = (size_t)pitch;
    } else {
        over.resType = CU_RESOURCE_TYPE_PITCH2D;
        over.res.pitch2D.devPtr = address;
        over.res.pitch2D.format = format;
        over.res.pitch2D.numChannels = channels;
        over.res.pitch2D.width = (size_t)width;
        over.res.pitch2D.height = (size_t)height;
        over.res.pitch2D.pitchInBytes = (size_t)pitch;
    }
    return create_texture_object(type, NULL, &over, &how);
}

static PyObject *texture_surface(PyObject *type, PyObject *object) {
    nl_texture *array = texture_of_class(type, object), *texture = NULL;
    nl_error err;
    int status;
    if (array == NULL)
        return NULL;
    NL_UNLOCKED(status = nl_texture_create_surface(array->device, array, &texture, &err));
    return status < 0 ? nl_py_raise(&err) : wrap_texture(type, texture);
}

static PyObject *texture_copy(PyObject *self, PyObject *args) {
    nl_texture *array = texture_of_class((PyObject *)Py_TYPE(self), self);
    unsigned long long address;
    Py_ssize_t row;
    int to_array, status;
    nl_error err;
    if (array == NULL || !PyArg_ParseTuple(args, "Knp:copy", &address, &row, &to_array))
        return NULL;
    NL_UNLOCKED(status = nl_texture_copy(array, address, (size_t)row, to_array, &err));
    return nl_py_none_or_raise(status, &err);
}

static void texture_dealloc(PyObject *self) {
    nl_texture *texture = ((py_texture *)self)->texture;
    PyObject *kind, *value, *traceback;
    PyErr_Fetch(&kind, &value, &traceback);
    NL_UNLOCKED(nl_texture_release(texture));
    PyErr_Restore(kind, value, traceback);
    nl_py_free_object(self);
}

static PyObject *texture_handle(PyObject *self, void *Py_UNUSED(unused)) {
    return PyLong_FromUnsignedLongLong(((py_texture *)self)->texture->handle);
}

static PyObject *texture_device(PyObject *self, void *Py_UNUSED(unused)) {
    return PyLong_FromLong(((py_texture *)self)->texture->device->ordinal);
}

static PyMethodDef methods[] = {
    {"array", texture_array, METH_VARARGS | METH_CLASS,
     "array(extents, format, channels, flags): "
     "returns an array for textures with extents (width, height, depth)."},
    {"object", texture_object, METH_VARARGS | METH_CLASS,
     "object(over, addressing, filter, flags, border): returns a texture object. "
     "over: an array, or (address, format, channels, width, height, pitch)."},
    {"surface", texture_surface, METH_O | METH_CLASS, "surface(array): a surface object."},
    {"copy", texture_copy, METH_VARARGS,
     "copy(address, row_bytes, to_array): "
     "copies all elements of an array from or to contiguous device memory."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef getset[] = {
    {"handle", texture_handle, NULL, "What kernels get.", NULL},
    {"device", texture_device, NULL, "The device's number.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "An array for textures, or a texture or surface object."},
    {Py_tp_dealloc, texture_dealloc},
    {Py_tp_methods, methods},
    {Py_tp_getset, getset},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "numbalite._core.TextureHandle",
    .basicsize = sizeof(py_texture),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};

int nl_py_texture_exec(PyObject *module) {
    return nl_py_state_add_type(module, &spec, NULL, &nl_py_state_of(module)->texture_type);
}
