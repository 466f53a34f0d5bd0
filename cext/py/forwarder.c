/* py/forwarder: the base class of operators, whose calls are executed by another callable, the
 * target.
 *
 * If a Python class defines __call__, CPython packs the arguments first, which takes longer than a
 * launch. A Forwarder passes its arguments to `target` unchanged. A subclass defines a method
 * __call__ of equal effect for tools that read Python code, such as torch.compile; until `target`
 * is set, it also receives the calls. */
#include "py/state.h"

typedef struct forwarder {
    PyObject_HEAD vectorcallfunc vectorcall;
    PyObject *target; /* or NULL */
} forwarder;

static PyObject *forwarder_vectorcall(PyObject *self, PyObject *const *args, size_t nargsf,
                                      PyObject *keywords) {
    PyObject *target = ((forwarder *)self)->target;
    if (target)
        return PyObject_Vectorcall(target, args, nargsf, keywords);
    PyObject *call = PyObject_GetAttrString(self, "__call__");
    PyObject *result = call ? PyObject_Vectorcall(call, args, nargsf, keywords) : NULL;
    Py_XDECREF(call);
    return result;
}

/* A subclass that defines __call__ does not inherit the vectorcall, so this function enables it. */
static PyObject *forwarder_new(PyTypeObject *type, PyObject *Py_UNUSED(args),
                               PyObject *Py_UNUSED(keywords)) {
    if (!PyType_HasFeature(type, Py_TPFLAGS_HAVE_VECTORCALL))
        type->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
    forwarder *self = (forwarder *)type->tp_alloc(type, 0);
    if (self)
        self->vectorcall = forwarder_vectorcall;
    return (PyObject *)self;
}

static PyObject *forwarder_set_target(PyObject *self, PyObject *target) {
    PyObject *before;
    Py_BEGIN_CRITICAL_SECTION(self);
    before = ((forwarder *)self)->target;
    ((forwarder *)self)->target = before ? before : Py_NewRef(target);
    Py_END_CRITICAL_SECTION();
    if (before)
        return PyErr_Format(PyExc_RuntimeError, "the target is set already");
    Py_RETURN_NONE;
}

static int forwarder_traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(((forwarder *)self)->target);
    return 0;
}

static int forwarder_clear(PyObject *self) {
    Py_CLEAR(((forwarder *)self)->target);
    return 0;
}

static void forwarder_dealloc(PyObject *self) {
    PyObject_GC_UnTrack(self);
    forwarder_clear(self);
    nl_py_free_object(self);
}

static PyMethodDef methods[] = {
    {"_forward_to", forwarder_set_target, METH_O,
     "_forward_to(target): sets the callable that executes all later calls."},
    {NULL, NULL, 0, NULL}};

static PyMemberDef members[] = {
    {"__vectorcalloffset__", Py_T_PYSSIZET, offsetof(forwarder, vectorcall), Py_READONLY, NULL},
    {NULL, 0, 0, 0, NULL}};

static PyType_Slot slots[] = {{Py_tp_doc, "Forwarder(): passes its calls to the target."},
                              {Py_tp_new, forwarder_new},
                              {Py_tp_call, PyVectorcall_Call},
                              {Py_tp_traverse, forwarder_traverse},
                              {Py_tp_clear, forwarder_clear},
                              {Py_tp_dealloc, forwarder_dealloc},
                              {Py_tp_methods, methods},
                              {Py_tp_members, members},
                              {0, NULL}};

static PyType_Spec spec = {
    .name = "numbalite._core.Forwarder",
    .basicsize = sizeof(forwarder),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC |
             Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};

int nl_py_forwarder_exec(PyObject *module) {
    PyTypeObject *type = NULL;
    int status = nl_py_state_add_type(module, &spec, NULL, &type);
    Py_XDECREF(type);
    return status;
}
