/* py/error: the one place where an nl_error becomes an exception.
 *
 * The classes of numbalite.errors are looked up when something is raised, which is rare, so that
 * the extension needs nothing of the package in order to be imported. */
#include "py/state.h"

#include <string.h>
#include "py/interrupt.h"

PyObject *nl_py_error_class(const char *name, PyObject *otherwise) {
    PyObject *type = NULL;
    PyObject *module = PyImport_ImportModule("numbalite.errors");
    if (module != NULL)
        type = PyObject_GetAttrString(module, name);
    Py_XDECREF(module);
    if (type == NULL) {
        PyErr_Clear();
        type = Py_NewRef(otherwise);
    }
    return type;
}

static void raise_named(const char *class_name, PyObject *otherwise, PyObject *text) {
    PyObject *type = nl_py_error_class(class_name, otherwise);
    PyErr_SetObject(type, text);
    Py_DECREF(type);
}

/* CudaAPIError(code, message, call) */
static void raise_api_error(const nl_error *err, PyObject *text) {
    PyObject *type = nl_py_error_class("CudaAPIError", PyExc_RuntimeError);
    PyObject *error = type == PyExc_RuntimeError
                          ? Py_NewRef(text)
                          : PyObject_CallFunction(type, "iOs", err->code, text, err->call);
    if (error != NULL)
        PyErr_SetObject(type, error);
    Py_XDECREF(error);
    Py_DECREF(type);
}

static PyObject *builtin_class(nl_error_kind kind) {
    switch (kind) {
    case NL_ERR_MEMORY:
        return PyExc_MemoryError;
    case NL_ERR_VALUE:
        return PyExc_ValueError;
    case NL_ERR_TYPE:
        return PyExc_TypeError;
    case NL_ERR_OVERFLOW:
        return PyExc_OverflowError;
    case NL_ERR_INDEX:
        return PyExc_IndexError;
    default:
        return PyExc_RuntimeError;
    }
}

PyObject *nl_py_raise(const nl_error *err) {
    /* The hook of opening runs in the middle of things and leaves its own exception. */
    if (PyErr_Occurred() || nl_py_interrupt_raise())
        return NULL;
    PyObject *text = PyUnicode_DecodeUTF8(err->text, (Py_ssize_t)strlen(err->text), "replace");
    if (text == NULL)
        return NULL;
    switch (err->kind) {
    case NL_ERR_CUDA:
        raise_api_error(err, text);
        break;
    case NL_ERR_SUPPORT:
        raise_named("CudaSupportError", PyExc_ImportError, text);
        break;
    case NL_ERR_KERNEL:
        raise_named("KernelError", PyExc_RuntimeError, text);
        break;
    case NL_ERR_NVRTC:
        raise_named("CompileError", PyExc_RuntimeError, text);
        break;
    case NL_ERR_RUNTIME:
        raise_named("CudaDriverError", PyExc_RuntimeError, text);
        break;
    default:
        PyErr_SetObject(builtin_class(err->kind), text);
    }
    Py_DECREF(text);
    return NULL;
}
