/* py/librarycall: makes a function of a CUDA library a Python callable: `call(stream, 3, array,
 * None)`.
 *
 * An int is passed unchanged, a device array as the address of its first element, None as a null
 * pointer, a LibraryValue as the number that it contains. The memory of array arguments, and of
 * arrays that belong to a LibraryValue, is used in the stream's order, like the arguments of a
 * kernel. A graph keeps the arguments of a captured call alive. If the function's first argument is
 * a library handle, this file inserts the handle of the stream. The call returns the function's
 * status, which Python code interprets. */
#include "py/librarycall.h"

#include "core/handle.h"
#include "py/capture.h"
#include "py/devarray.h"
#include "py/stream.h"
#include "py/workspace.h"

typedef struct {
    PyObject_HEAD vectorcallfunc vectorcall;
    nl_py_state *state;
    nl_cudalib_function function;
    int library; /* library whose handle is passed as the first argument, or -1 */
    PyObject *name;
} librarycall;

/* The stream of a call. */
typedef struct {
    CUstream stream;
    int blocking;
} place;

static int order_array_with_stream(PyObject *array, const place *at) {
    nl_error err;
    if (nl_py_devarray_order_with_stream((nl_py_array *)array, at->stream, at->blocking, &err) == 0)
        return 0;
    nl_py_raise(&err);
    return -1;
}

static int order_value_with_stream(const nl_py_state *state, const nl_py_libraryvalue *value,
                                   const place *at) {
    if (!PyTuple_CheckExact(value->kept))
        return 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(value->kept); ++i) {
        PyObject *one = PyTuple_GET_ITEM(value->kept, i);
        if (nl_py_devarray_check(state, one) && order_array_with_stream(one, at) < 0)
            return -1;
    }
    return 0;
}

/* Converts an argument to a machine word. 0, or -1 with an exception. */
static int argument_to_word(const librarycall *self, PyObject *argument, const place *at,
                            uintptr_t *word) {
    *word = 0;
    if (PyLong_Check(argument)) {
        *word = (uintptr_t)PyLong_AsUnsignedLongLongMask(argument);
        return *word == (uintptr_t)-1 && PyErr_Occurred() ? -1 : 0;
    }
    if (argument == Py_None)
        return 0;
    if (nl_py_devarray_check(self->state, argument)) {
        *word = (uintptr_t)((nl_py_array *)argument)->address;
        return order_array_with_stream(argument, at);
    }
    if (Py_TYPE(argument) == self->state->libraryvalue_type) {
        *word = ((nl_py_libraryvalue *)argument)->number;
        return order_value_with_stream(self->state, (nl_py_libraryvalue *)argument, at);
    }
    PyErr_Format(PyExc_TypeError,
                 "%U accepts ints, device arrays, LibraryValues and None, not %.80s", self->name,
                 Py_TYPE(argument)->tp_name);
    return -1;
}

/* Keeps the arguments of a captured call alive. 0, or -1 with an exception. On the default stream,
 * only a call with arrays is rejected, because other calls only prepare work. */
static int keep_arguments_alive(const librarycall *self, PyObject *const *args, Py_ssize_t count,
                                CUstream stream) {
    const char *name = PyUnicode_AsUTF8(self->name);
    if (name == NULL)
        return -1;
    for (Py_ssize_t i = 0; i < count; ++i) {
        if (PyLong_CheckExact(args[i]) || args[i] == Py_None)
            continue;
        if (nl_py_devarray_check(self->state, args[i]) &&
            nl_py_capture_check_default_stream(stream, name) < 0)
            return -1;
        if (nl_py_capture_keep_alive(stream, args[i], 0) < 0)
            return -1;
    }
    return 0;
}

static int call_with_handle(const librarycall *self, nl_device *dev, CUstream stream,
                            const nl_workspace *workspace, uintptr_t *words, int *status,
                            nl_error *err) {
    nl_handle *handle = NULL;
    nl_cudalib library = (nl_cudalib)self->library;
    if (nl_handle_lock_with_workspace(library, dev, stream, workspace, &handle, err) < 0)
        return -1;
    words[0] = handle->number;
    *status = nl_cudalib_call_function(self->function, words);
    return nl_handle_unlock(library, handle, err);
}

static PyObject *librarycall_vectorcall(PyObject *object, PyObject *const *args, size_t flags,
                                        PyObject *names) {
    librarycall *self = (librarycall *)object;
    Py_ssize_t count = PyVectorcall_NARGS(flags) - 1;
    int first = self->library >= 0, status = 0, result = 0;
    uintptr_t words[NL_CUDALIB_WORDS] = {0};
    nl_workspace workspace = {0};
    place at;
    nl_error err;
    if (names != NULL || count < 0 || first + count > NL_CUDALIB_WORDS)
        return PyErr_Format(PyExc_TypeError, "%U accepts a stream and at most %d arguments",
                            self->name, NL_CUDALIB_WORDS - first);
    if (nl_py_stream_from_argument(self->state, args[0], &at.stream, &at.blocking) < 0)
        return NULL;
    nl_device *dev = nl_device_current(&err);
    if (dev == NULL)
        return nl_py_raise(&err);
    if (nl_capture_is_any_active() &&
        (keep_arguments_alive(self, args + 1, count, at.stream) < 0 ||
         (self->library == NL_CUBLAS &&
          nl_py_workspace_for_cublas(dev, at.stream, &workspace) < 0)))
        return NULL;
    for (Py_ssize_t i = 0; i < count; ++i)
        if (argument_to_word(self, args[1 + i], &at, &words[first + i]) < 0)
            return NULL;
    if (first)
        NL_UNLOCKED(result =
                        call_with_handle(self, dev, at.stream, &workspace, words, &status, &err));
    else
        NL_UNLOCKED(status = nl_cudalib_call_function(self->function, words));
    return result < 0 ? nl_py_raise(&err) : PyLong_FromLong(status);
}

nl_cudalib_function nl_py_librarycall_function(const nl_py_state *state, PyObject *object) {
    return Py_TYPE(object) == state->librarycall_type ? ((librarycall *)object)->function : NULL;
}

/* Returns the library with this name, or -1 with an exception if the name is unknown. */
static int find_library(const char *name) {
    int library = nl_cudalib_from_name(name);
    if (library < 0)
        PyErr_Format(PyExc_ValueError, "CUDA library %.80s is unknown", name);
    return library;
}

static int find_function(const char *path, const char *name, int library,
                         nl_cudalib_function *function, nl_error *err) {
    if (library >= 0 && nl_cudalib_open((nl_cudalib)library, path, err) < 0)
        return -1;
    return nl_cudalib_find_function(path, name, function, err);
}

static PyObject *librarycall_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    static char *names[] = {"path", "name", "handle", NULL};
    PyObject *path = NULL, *name;
    const char *handle = NULL;
    nl_cudalib_function function = NULL;
    nl_error err;
    int status = -1;
    nl_py_state *state = nl_py_state_of_type(type);
    if (state == NULL || !PyArg_ParseTupleAndKeywords(args, keywords, "O&U|z:LibraryCall", names,
                                                      PyUnicode_FSConverter, &path, &name, &handle))
        return NULL;
    const char *text = PyUnicode_AsUTF8(name);
    int library = handle != NULL ? find_library(handle) : -1;
    if (text != NULL && (handle == NULL || library >= 0)) {
        NL_UNLOCKED(status =
                        find_function(PyBytes_AS_STRING(path), text, library, &function, &err));
        if (status < 0)
            nl_py_raise(&err);
    }
    Py_DECREF(path);
    librarycall *self = status == 0 ? (librarycall *)type->tp_alloc(type, 0) : NULL;
    if (self == NULL)
        return NULL;
    self->vectorcall = librarycall_vectorcall;
    self->state = state;
    self->function = function;
    self->library = library;
    self->name = Py_NewRef(name);
    return (PyObject *)self;
}

static void librarycall_dealloc(PyObject *object) {
    Py_CLEAR(((librarycall *)object)->name);
    nl_py_free_object(object);
}

static PyMemberDef members[] = {
    {"name", Py_T_OBJECT_EX, offsetof(librarycall, name), Py_READONLY, NULL},
    {"__vectorcalloffset__", Py_T_PYSSIZET, offsetof(librarycall, vectorcall), Py_READONLY, NULL},
    {NULL, 0, 0, 0, NULL}};

static PyType_Slot slots[] = {
    {Py_tp_doc,
     "LibraryCall(path, name, handle=None): a function of a CUDA library. "
     "The arguments of a call are a stream and those of the function: "
     "ints, device arrays, LibraryValues, None. The result is the status. "
     "handle: a library such as \"cublas\", whose handle is inserted as the first argument."},
    {Py_tp_new, librarycall_new},
    {Py_tp_dealloc, librarycall_dealloc},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_members, members},
    {0, NULL}};

static PyType_Spec spec = {
    .name = "numbalite._core.LibraryCall",
    .basicsize = sizeof(librarycall),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_HAVE_VECTORCALL,
    .slots = slots,
};

static PyObject *cudalib_open(PyObject *Py_UNUSED(module), PyObject *args) {
    nl_error err;
    const char *name, *path;
    int result;
    if (!PyArg_ParseTuple(args, "sz:cudalib_open", &name, &path))
        return NULL;
    int library = find_library(name);
    if (library < 0)
        return NULL;
    NL_UNLOCKED(result = nl_cudalib_open((nl_cudalib)library, path != NULL ? path : "", &err));
    return nl_py_none_or_raise(result, &err);
}

static PyObject *cudalib_is_open(PyObject *Py_UNUSED(module), PyObject *args) {
    const char *name;
    if (!PyArg_ParseTuple(args, "s:cudalib_is_open", &name))
        return NULL;
    int library = find_library(name);
    return library < 0 ? NULL : PyBool_FromLong(nl_cudalib_is_open((nl_cudalib)library));
}

static PyObject *cudalib_status(PyObject *Py_UNUSED(module), PyObject *args) {
    const char *name;
    int status;
    if (!PyArg_ParseTuple(args, "si:cudalib_status", &name, &status))
        return NULL;
    int library = find_library(name);
    return library < 0 ? NULL
                       : PyUnicode_FromString(nl_cudalib_status_name((nl_cudalib)library, status));
}

static PyMethodDef methods[] = {
    {"cudalib_open", cudalib_open, METH_VARARGS,
     "cudalib_open(name, path): "
     "loads the functions of a CUDA library (\"cublas\", \"cusolver\", ...) that C code calls. "
     "path is None if the driver computes the results itself."},
    {"cudalib_is_open", cudalib_is_open, METH_VARARGS, "cudalib_is_open(name): has that been?"},
    {"cudalib_status", cudalib_status, METH_VARARGS,
     "cudalib_status(name, status): returns the name of a status, such as \"INVALID_VALUE\"."},
    {NULL, NULL, 0, NULL},
};

int nl_py_librarycall_exec(PyObject *module) {
    if (nl_py_state_add_functions(module, methods) < 0)
        return -1;
    return nl_py_state_add_type(module, &spec, NULL, &nl_py_state_of(module)->librarycall_type);
}
