/* py/librarycall: a function of a CUDA library as a callable: `call(stream, 3, array, None)`.
 *
 * A whole number is passed as it is, a device array as the address of its first element, None as a
 * null pointer. The memory of the arrays is used in the stream's order, like that of a kernel's
 * arguments. A graph keeps what a captured call was given: an int of a class of its own may own the
 * plan that it is the number of. What comes back is the function's status; what it means is for
 * Python to say. */
#include "driver/cudalib.h"

#include "core/device.h"
#include "py/capture.h"
#include "py/devarray.h"
#include "py/stream.h"

typedef struct {
    PyObject_HEAD vectorcallfunc vectorcall;
    nl_py_state *state;
    nl_cudalib_function function;
    PyObject *name;
} librarycall;

/* 0 or -1 with an exception. */
static int word_from(const librarycall *self, PyObject *argument, CUstream stream, int blocking,
                     uintptr_t *word) {
    nl_error err;
    if (PyLong_Check(argument)) {
        *word = (uintptr_t)PyLong_AsUnsignedLongLongMask(argument);
        return *word == (uintptr_t)-1 && PyErr_Occurred() ? -1 : 0;
    }
    if (argument == Py_None) {
        *word = 0;
        return 0;
    }
    if (!nl_py_array_check(self->state, argument)) {
        PyErr_Format(PyExc_TypeError, "%U takes ints, device arrays and None, not %.80s",
                     self->name, Py_TYPE(argument)->tp_name);
        return -1;
    }
    const nl_py_array *array = (nl_py_array *)argument;
    *word = (uintptr_t)array->address;
    if (nl_py_array_use(array, stream, blocking, &err) < 0) {
        nl_py_raise(&err);
        return -1;
    }
    return 0;
}

/* 0 or -1 with an exception. Calls without arrays only prepare work: those need no stream. */
static int keep_all(const librarycall *self, PyObject *const *args, Py_ssize_t count,
                    CUstream stream) {
    const char *name = PyUnicode_AsUTF8(self->name);
    if (name == NULL)
        return -1;
    for (Py_ssize_t i = 0; i < count; ++i) {
        if (PyLong_CheckExact(args[i]) || args[i] == Py_None)
            continue;
        if (nl_py_array_check(self->state, args[i]) &&
            nl_py_capture_check_default(stream, name) < 0)
            return -1;
        if (nl_py_capture_keep(stream, args[i], 0) < 0)
            return -1;
    }
    return 0;
}

static PyObject *librarycall_vectorcall(PyObject *object, PyObject *const *args, size_t flags,
                                        PyObject *names) {
    librarycall *self = (librarycall *)object;
    Py_ssize_t count = PyVectorcall_NARGS(flags) - 1;
    uintptr_t words[NL_CUDALIB_WORDS] = {0};
    CUstream stream;
    nl_error err;
    int blocking, status;
    if (names != NULL || count < 0 || count > NL_CUDALIB_WORDS)
        return PyErr_Format(PyExc_TypeError, "%U takes a stream and at most %d arguments",
                            self->name, NL_CUDALIB_WORDS);
    if (nl_py_stream_from(self->state, args[0], &stream, &blocking) < 0)
        return NULL;
    if (nl_device_current(&err) == NULL)
        return nl_py_raise(&err);
    if (nl_capture_under_way() && keep_all(self, args + 1, count, stream) < 0)
        return NULL;
    for (Py_ssize_t i = 0; i < count; ++i)
        if (word_from(self, args[1 + i], stream, blocking, &words[i]) < 0)
            return NULL;
    NL_UNLOCKED(status = nl_cudalib_call(self->function, words));
    return PyLong_FromLong(status);
}

static PyObject *librarycall_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    static char *names[] = {"path", "name", NULL};
    PyObject *path = NULL, *name;
    nl_cudalib_function function = NULL;
    nl_error err;
    int status = -1;
    nl_py_state *state = nl_py_state_of_type(type);
    if (state == NULL || !PyArg_ParseTupleAndKeywords(args, keywords, "O&U:LibraryCall", names,
                                                      PyUnicode_FSConverter, &path, &name))
        return NULL;
    const char *text = PyUnicode_AsUTF8(name);
    if (text != NULL) {
        NL_UNLOCKED(status = nl_cudalib_find(PyBytes_AS_STRING(path), text, &function, &err));
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
    self->name = Py_NewRef(name);
    return (PyObject *)self;
}

static void librarycall_dealloc(PyObject *object) {
    Py_CLEAR(((librarycall *)object)->name);
    nl_py_free(object);
}

static PyMemberDef members[] = {
    {"name", Py_T_OBJECT_EX, offsetof(librarycall, name), Py_READONLY, NULL},
    {"__vectorcalloffset__", Py_T_PYSSIZET, offsetof(librarycall, vectorcall), Py_READONLY, NULL},
    {NULL, 0, 0, 0, NULL}};

static PyType_Slot slots[] = {
    {Py_tp_doc,
     "LibraryCall(path, name): a function of a CUDA library. Called with a stream and the "
     "function's arguments (ints, device arrays, None), it returns the status."},
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

int nl_py_librarycall_exec(PyObject *module) {
    return nl_py_add_type(module, &spec, NULL, &nl_py_state_of(module)->librarycall_type);
}
