/* py/transfer: the type Transfer. */
#include "py/transfer.h"

#include <stddef.h>

static PyObject *transfer_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"array", "mode", NULL};
    PyObject *array;
    int mode;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "Oi:Transfer", names, &array, &mode))
        return NULL;
    if (mode < NL_PY_TRANSFER_IN || mode > (NL_PY_TRANSFER_IN | NL_PY_TRANSFER_OUT))
        return PyErr_Format(PyExc_ValueError, "mode must be 1 (in), 2 (out) or 3 (both), not %d",
                            mode);
    nl_py_transfer *t = (nl_py_transfer *)type->tp_alloc(type, 0);
    if (!t)
        return NULL;
    t->array = Py_NewRef(array);
    t->mode = mode;
    return (PyObject *)t;
}

static int transfer_traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(((nl_py_transfer *)self)->array);
    return 0;
}

/* A Transfer needs no tp_clear, and a clear would drop the array that launches need. The garbage
 * collector can break a reference cycle at an object that was changed after its creation, so that
 * it refers to the Transfer. */
static void transfer_dealloc(PyObject *self) {
    PyObject_GC_UnTrack(self);
    Py_XDECREF(((nl_py_transfer *)self)->array);
    nl_py_free_object(self);
}

static PyMemberDef transfer_members[] = {
    {"array", Py_T_OBJECT_EX, offsetof(nl_py_transfer, array), Py_READONLY, "The host array."},
    {"mode", Py_T_INT, offsetof(nl_py_transfer, mode), Py_READONLY, "1 in, 2 out, 3 both."},
    {NULL, 0, 0, 0, NULL}};

static PyType_Slot transfer_slots[] = {
    {Py_tp_doc, "Transfer(array, mode): "
                "a host array as an argument, and the directions in which it is copied."},
    {Py_tp_new, transfer_new},
    {Py_tp_dealloc, transfer_dealloc},
    {Py_tp_traverse, transfer_traverse},
    {Py_tp_members, transfer_members},
    {0, NULL}};

static PyType_Spec transfer_spec = {
    .name = "numbalite._core.Transfer",
    .basicsize = sizeof(nl_py_transfer),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .slots = transfer_slots,
};

int nl_py_transfer_exec(PyObject *module) {
    return nl_py_state_add_type(module, &transfer_spec, NULL,
                                &nl_py_state_of(module)->transfer_type);
}
