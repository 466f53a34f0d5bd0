/* py/libraryvalue: a number that functions of a CUDA library accept (a plan, a descriptor, an
 * address), and the objects that it keeps alive: the arrays to which it points, and the library's
 * object, which is destroyed together with the LibraryValue. A graph keeps the LibraryValues of its
 * captured calls alive, so the library's objects outlive the graph. No
 * library object is destroyed during a capture. */
#include "core/device.h"
#include "py/librarycall.h"

#include "base/mem.h"

/* Calls a library's destroy function, which may be postponed until after the LibraryValue was
 * freed. */
typedef struct {
    nl_cudalib_function function;
    uintptr_t number;
    nl_device *device;
    uint64_t generation;
    nl_postponed later;
} destruction;

static void destroy_value(void *thing) {
    destruction *d = thing;
    uintptr_t words[NL_CUDALIB_WORDS] = {d->number};
    if (nl_device_bind_for_release(d->device, d->generation))
        /* the error is ignored, because no caller can handle it */
        (void)nl_cudalib_call_function(d->function, words);
    nl_mem_free(d);
}

static void destroy_by_c_function(const nl_py_libraryvalue *self, nl_cudalib_function function) {
    nl_error ignored;
    destruction *d = nl_mem_zalloc(sizeof *d, &ignored);
    if (d == NULL)
        return; /* the library's object is leaked, because destroying it might end a capture */
    d->function = function;
    d->number = self->number;
    d->device = self->device;
    d->generation = self->generation;
    if (!nl_device_postpone_release(&d->later, destroy_value, d))
        NL_UNLOCKED(destroy_value(d));
}

/* Destroys the library's object by a Python callable, if the simulator implements the library in
 * Python. */
static void destroy_by_python_callable(const nl_py_libraryvalue *self) {
    PyObject *type, *error, *traceback;
    PyErr_Fetch(&type, &error, &traceback);
    PyObject *result =
        PyObject_CallFunction(self->destroy, "iK", 0, (unsigned long long)self->number);
    if (result == NULL)
        PyErr_WriteUnraisable(self->destroy);
    Py_XDECREF(result);
    PyErr_Restore(type, error, traceback);
}

static int is_alive(const nl_py_libraryvalue *self) {
    nl_error ignored;
    return !Py_IsFinalizing() && nl_device_are_usable() &&
           nl_device_check_generation(self->device, self->generation, &ignored) == 0;
}

static void libraryvalue_dealloc(PyObject *object) {
    nl_py_libraryvalue *self = (nl_py_libraryvalue *)object;
    if (self->destroy != NULL && self->destroy != Py_None && is_alive(self)) {
        nl_cudalib_function function = nl_py_librarycall_function(self->state, self->destroy);
        if (function != NULL)
            destroy_by_c_function(self, function);
        else
            destroy_by_python_callable(self);
    }
    Py_CLEAR(self->destroy);
    Py_CLEAR(self->kept);
    nl_py_free_object(object);
}

static PyObject *libraryvalue_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    static char *names[] = {"number", "destroy", "kept", NULL};
    PyObject *number, *destroy = Py_None, *kept = Py_None;
    nl_error err;
    nl_py_state *state = nl_py_state_of_type(type);
    if (state == NULL || !PyArg_ParseTupleAndKeywords(args, keywords, "O!|OO:LibraryValue", names,
                                                      &PyLong_Type, &number, &destroy, &kept))
        return NULL;
    unsigned long long word = PyLong_AsUnsignedLongLongMask(number);
    if (word == (unsigned long long)-1 && PyErr_Occurred())
        return NULL;
    nl_device *device = nl_device_current(&err);
    if (device == NULL)
        return nl_py_raise(&err);
    nl_py_libraryvalue *self = (nl_py_libraryvalue *)type->tp_alloc(type, 0);
    if (self == NULL)
        return NULL;
    self->state = state;
    self->number = (uintptr_t)word;
    self->destroy = Py_NewRef(destroy);
    self->kept = Py_NewRef(kept);
    self->device = device;
    self->generation = nl_atomic_load(&device->generation);
    return (PyObject *)self;
}

static PyObject *libraryvalue_index(PyObject *self) {
    return PyLong_FromUnsignedLongLong(((nl_py_libraryvalue *)self)->number);
}

static PyMemberDef members[] = {
    {"kept", Py_T_OBJECT_EX, offsetof(nl_py_libraryvalue, kept), 0, NULL}, {NULL, 0, 0, 0, NULL}};

static PyType_Slot slots[] = {
    {Py_tp_doc,
     "LibraryValue(number, destroy=None, kept=None): "
     "a number of the current device that functions of a CUDA library accept. "
     "`kept` is kept alive; if it is a tuple, its device arrays count as used by each call. "
     "When the value is freed, destroy(0, number) is called."},
    {Py_tp_new, libraryvalue_new},
    {Py_tp_dealloc, libraryvalue_dealloc},
    {Py_tp_members, members},
    {Py_nb_index, libraryvalue_index},
    {0, NULL}};

static PyType_Spec spec = {
    .name = "numbalite._core.LibraryValue",
    .basicsize = sizeof(nl_py_libraryvalue),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};

int nl_py_libraryvalue_exec(PyObject *module) {
    return nl_py_state_add_type(module, &spec, NULL, &nl_py_state_of(module)->libraryvalue_type);
}
