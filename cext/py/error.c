/* py/error: the only file that converts an nl_error to an exception.
 *
 * The classes of numbalite.errors are looked up when an exception is raised, so that the extension
 * can be imported before the package. */
#include "py/state.h"

#include <string.h>
#include "driver/checks.h"
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

void nl_py_error_prefix_location(const char *where) {
    PyObject *type, *error, *traceback;
    PyErr_Fetch(&type, &error, &traceback);
    if (type == PyExc_TypeError || type == PyExc_ValueError) {
        PyErr_NormalizeException(&type, &error, &traceback);
        PyObject *text = PyUnicode_FromFormat("%s: %S", where, error);
        PyObject *placed = text ? PyObject_CallOneArg(type, text) : NULL;
        Py_XDECREF(text);
        if (placed) {
            if (traceback)
                PyException_SetTraceback(error, traceback);
            PyException_SetCause(placed, error);
            error = placed;
            Py_CLEAR(traceback);
        } else {
            PyErr_Clear();
        }
    }
    PyErr_Restore(type, error, traceback);
}

PyObject *nl_py_error_replace(nl_py_exception taken, PyObject *result) {
    if (result == Py_None) {
        Py_DECREF(result);
        PyErr_Restore(taken.type, taken.error, taken.traceback);
        return NULL;
    }
    Py_XDECREF(taken.type);
    Py_XDECREF(taken.error);
    Py_XDECREF(taken.traceback);
    return result;
}

static void raise_error_class(const char *class_name, PyObject *otherwise, PyObject *text) {
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

/* ---- KernelError: fields of a fault ---- */

/* Steals the reference to `value`. */
static int set_new_field(PyObject *fields, const char *name, PyObject *value) {
    int status = value ? PyDict_SetItemString(fields, name, value) : -1;
    Py_XDECREF(value);
    return status;
}

static PyObject *unicode_from_text(const char *text) {
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
}

static PyObject *tuple_from_dim(const unsigned dim[3]) {
    return Py_BuildValue("(III)", dim[0], dim[1], dim[2]);
}

static const char *fault_kind_name(uint32_t kind) {
    static const struct {
        uint32_t kind;
        const char *name;
    } names[] = {{NL_CHECK_MEMORY, "memory"}, {NL_CHECK_UNWRITTEN, "unwritten"},
                 {NL_CHECK_RACE, "race"},     {NL_CHECK_SYNC, "sync"},
                 {NL_CHECK_HANG, "hang"},     {NL_CHECK_DIVIDE, "divide"},
                 {NL_CHECK_NAN, "nan"},       {NL_CHECK_STACK, "stack"},
                 {NL_CHECK_STREAM, "stream"}, {NL_CHECK_OVERFLOW, "overflow"},
                 {NL_FAULT_ASSERT, "assert"}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (names[i].kind == kind)
            return names[i].name;
    }
    return "";
}

/* Converts the index of an element to an int, or to a tuple of ints if the array has several
 * dimensions. */
static PyObject *index_of_element(const nl_fault_element *element) {
    if (element->indices == 1)
        return PyLong_FromLongLong(element->index[0]);
    PyObject *index = PyTuple_New((Py_ssize_t)element->indices);
    for (unsigned i = 0; index && i < element->indices; i++) {
        PyObject *number = PyLong_FromLongLong(element->index[i]);
        if (!number)
            Py_CLEAR(index);
        else
            PyTuple_SET_ITEM(index, (Py_ssize_t)i, number);
    }
    return index;
}

/* `names` contains the keys for access, block, thread, file and line. */
static int set_access_fields(PyObject *fields, const nl_fault_side *side,
                             const char *const names[5]) {
    if ((side->access && set_new_field(fields, names[0], unicode_from_text(side->access)) < 0) ||
        (side->has_block && set_new_field(fields, names[1], tuple_from_dim(side->block)) < 0) ||
        (side->has_thread && set_new_field(fields, names[2], tuple_from_dim(side->thread)) < 0) ||
        (side->file[0] && set_new_field(fields, names[3], unicode_from_text(side->file)) < 0) ||
        (side->line > 0 && set_new_field(fields, names[4], PyLong_FromLong(side->line)) < 0))
        return -1;
    return 0;
}

static int set_fault(PyObject *fields, const nl_fault *f) {
    static const char *const own[] = {"access", "block", "thread", "file", "line"};
    static const char *const other[] = {"other_access", "other_block", "other_thread", "other_file",
                                        "other_line"};
    const char *kind = fault_kind_name(f->kind);
    if ((*kind && set_new_field(fields, "kind", unicode_from_text(kind)) < 0) ||
        (f->kernel[0] &&
         (set_new_field(fields, "kernel", unicode_from_text(f->kernel)) < 0 ||
          set_new_field(fields, "others", PyLong_FromUnsignedLongLong(f->others)) < 0)) ||
        (f->element.array[0] &&
         set_new_field(fields, "array", unicode_from_text(f->element.array)) < 0) ||
        (f->element.indices && set_new_field(fields, "index", index_of_element(&f->element)) < 0) ||
        (f->address &&
         set_new_field(fields, "address", PyLong_FromUnsignedLongLong(f->address)) < 0) ||
        (f->size && set_new_field(fields, "size", PyLong_FromUnsignedLongLong(f->size)) < 0) ||
        (f->schedule[0] && set_new_field(fields, "schedule", unicode_from_text(f->schedule)) < 0) ||
        (f->is_exact && f->kind == NL_CHECK_RACE &&
         set_new_field(fields, "verdict", unicode_from_text("races")) < 0))
        return -1;
    return set_access_fields(fields, &f->at, own) < 0 ? -1
                                                      : set_access_fields(fields, &f->other, other);
}

static void raise_kernel_error(const nl_error *err, PyObject *text) {
    int is_index = err->fault.head == NL_FAULT_HEAD_LINE && err->fault.element.indices;
    const char *name = is_index                ? "BoundsError"
                       : err->fault.is_timeout ? "KernelTimeout"
                                               : "KernelError";
    PyObject *type = nl_py_error_class(name, PyExc_RuntimeError);
    PyObject *args = PyTuple_Pack(1, text), *fields = PyDict_New(), *error = NULL;
    if (args && fields && (type == PyExc_RuntimeError || set_fault(fields, &err->fault) == 0))
        error = PyObject_Call(type, args, fields);
    if (error)
        PyErr_SetObject(type, error);
    Py_XDECREF(error);
    Py_XDECREF(fields);
    Py_XDECREF(args);
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
    /* An exception of the open hook remains set. */
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
        raise_error_class("CudaSupportError", PyExc_ImportError, text);
        break;
    case NL_ERR_KERNEL:
        raise_kernel_error(err, text);
        break;
    case NL_ERR_TIMEOUT:
        raise_error_class("KernelTimeout", PyExc_RuntimeError, text);
        break;
    case NL_ERR_NVRTC:
        raise_error_class("CompileError", PyExc_RuntimeError, text);
        break;
    case NL_ERR_RUNTIME:
        raise_error_class("CudaDriverError", PyExc_RuntimeError, text);
        break;
    default:
        PyErr_SetObject(builtin_class(err->kind), text);
    }
    Py_DECREF(text);
    return NULL;
}
