/* py/ufunctype: the type Ufunc. */
#include "py/ufunc.h"

#include "py/operand.h"
#include "py/reduction.h"

static PyObject *ufunc_new(PyTypeObject *type, PyObject *Py_UNUSED(args),
                           PyObject *Py_UNUSED(kwargs)) {
    nl_py_state *state = nl_py_state_of_type(type);
    nl_py_ufunc *u = state ? (nl_py_ufunc *)type->tp_alloc(type, 0) : NULL;
    if (!u)
        return NULL;
    nl_py_enable_vectorcall(type);
    u->vectorcall = nl_py_ufunc_call;
    u->state = state;
    u->nin = u->nout = 1;
    u->name = PyUnicode_FromString("ufunc");
    u->reductions = PyDict_New();
    if (!u->name || !u->reductions)
        Py_CLEAR(u);
    return (PyObject *)u;
}

static int ufunc_init(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"name", "nin", "nout", NULL};
    nl_py_ufunc *u = (nl_py_ufunc *)self;
    PyObject *name;
    int nin, nout;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "Uii:Ufunc", names, &name, &nin, &nout))
        return -1;
    if (nin < 0 || nout < 0 || nin > NL_PY_MAX_OPERANDS || nout > NL_PY_MAX_OPERANDS ||
        nin + nout >= NL_PY_MAX_OPERANDS) {
        PyErr_Format(PyExc_ValueError,
                     "%d inputs and %d outputs are too many: the maximum is %d operands", nin, nout,
                     NL_PY_MAX_OPERANDS - 1);
        return -1;
    }
    if (u->types.all || u->kernels.all) { /* other threads' calls may be reading the caches, which
                                           * must not change */
        PyErr_SetString(PyExc_RuntimeError, "a ufunc is initialised once");
        return -1;
    }
    Py_SETREF(u->name, Py_NewRef(name));
    u->nin = nin;
    u->nout = nout;
    return 0;
}

static int ufunc_traverse(PyObject *self, visitproc visit, void *arg) {
    nl_py_ufunc *u = (nl_py_ufunc *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(u->reductions);
    Py_VISIT(u->check);
    return nl_py_overloads_traverse(&u->kernels, visit, arg);
}

static int ufunc_clear(PyObject *self) {
    PyDict_Clear(((nl_py_ufunc *)self)->reductions); /* concurrent calls read the dict */
    Py_CLEAR(((nl_py_ufunc *)self)->check);
    nl_py_overloads_clear(&((nl_py_ufunc *)self)->kernels);
    return 0;
}

static void ufunc_dealloc(PyObject *self) {
    nl_py_ufunc *u = (nl_py_ufunc *)self;
    PyObject_GC_UnTrack(self);
    if (u->weakrefs)
        PyObject_ClearWeakRefs(self);
    nl_py_overloads_free(&u->types);
    nl_py_overloads_free(&u->kernels);
    Py_XDECREF(u->name);
    Py_XDECREF(u->reductions);
    Py_XDECREF(u->check);
    nl_py_free_object(self);
}

static PyObject *ufunc_forget(PyObject *self, PyObject *Py_UNUSED(ignored)) {
    nl_py_ufunc *u = (nl_py_ufunc *)self;
    PyDict_Clear(u->reductions);
    nl_py_overloads_mark_dead(&u->types);
    nl_py_overloads_mark_dead(&u->kernels);
    Py_RETURN_NONE;
}

/* Subclasses define _choose and _compile. */
static PyObject *ufunc_choose(PyObject *self, PyObject *Py_UNUSED(args)) {
    return PyErr_Format(PyExc_TypeError, "ufunc '%U' has no loops", ((nl_py_ufunc *)self)->name);
}

static PyObject *ufunc_get_nargs(PyObject *self, void *Py_UNUSED(closure)) {
    return PyLong_FromLong(((nl_py_ufunc *)self)->nin + ((nl_py_ufunc *)self)->nout);
}

static PyGetSetDef ufunc_getset[] = {
    {"nargs", ufunc_get_nargs, NULL, "Number of inputs and outputs.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyMethodDef ufunc_methods[] = {
    {"_choose", ufunc_choose, METH_VARARGS,
     "_choose(inputs, outputs, casting, dtype, signature) -> bytes: "
     "returns the dtype codes of the loop. "
     "An input is a dtype, or int, float or complex for a Python number; "
     "an output is a dtype or None."},
    {"_compile", ufunc_choose, METH_VARARGS,
     "_compile(device, loop, stored, kind, dims): "
     "returns (Kernel, threads per block, elements per thread)."},
    {"_clear", ufunc_forget, METH_NOARGS, "_clear(): removes all cached loops and kernels."},
    {"_note", (PyCFunction)(void (*)(void))nl_py_reduction_store_reducer, METH_FASTCALL,
     "_note(method, array, dtype, out, reducer, initial, loop): "
     "sets the Reducer of calls with these dtypes. "
     "initial: bytes of an accumulator, or None. "
     "loop: the dtype to which initial= is converted."},
    {"reduce", (PyCFunction)(void (*)(void))nl_py_reduction_reduce, METH_FASTCALL | METH_KEYWORDS,
     "reduce($self, array, axis=0, dtype=None, out=None, keepdims=False, initial=..., where=True, "
     "*,\n"
     "       stream=0)\n--\n\n"
     "Reduces an array along ``axis``, as numpy.ufunc.reduce.\n\n"
     "``axis``: an int, a tuple, or None for all axes; ``dtype``: dtype of the loop and the\n"
     "result; ``initial``: the start value, by default the identity if it is needed;\n"
     "``where``: a boolean array that selects the elements to reduce.\n"
     "Raises AxisError, and ValueError for an empty axis without ``initial`` and identity."},
    {"accumulate", (PyCFunction)(void (*)(void))nl_py_reduction_accumulate,
     METH_FASTCALL | METH_KEYWORDS,
     "accumulate($self, array, axis=0, dtype=None, out=None, *, stream=0)\n--\n\n"
     "The cumulative reduction of an array along one axis, as numpy.ufunc.accumulate."},
    {NULL, NULL, 0, NULL}};

static PyMemberDef ufunc_members[] = {
    {"nin", Py_T_INT, offsetof(nl_py_ufunc, nin), Py_READONLY, "Number of inputs."},
    {"nout", Py_T_INT, offsetof(nl_py_ufunc, nout), Py_READONLY, "Number of outputs."},
    {"_name", Py_T_OBJECT_EX, offsetof(nl_py_ufunc, name), Py_READONLY, "Its name."},
    {"_check", Py_T_OBJECT_EX, offsetof(nl_py_ufunc, check), 0,
     "check(last input, where) raises an exception for invalid values. "
     "It is called once per call of the ufunc, before any element is computed, "
     "if the selected loop is for integers."},
    {"_quick", Py_T_INT, offsetof(nl_py_ufunc, quick), 0,
     "Whether kernels of kind \"small\" compute arrays with few contiguous elements, "
     "unless the kernel of kind \"flat\" is already compiled."},
    {"__vectorcalloffset__", Py_T_PYSSIZET, offsetof(nl_py_ufunc, vectorcall), Py_READONLY, NULL},
    {"__weaklistoffset__", Py_T_PYSSIZET, offsetof(nl_py_ufunc, weakrefs), Py_READONLY, NULL},
    {NULL, 0, 0, 0, NULL}};

static PyType_Slot ufunc_slots[] = {
    {Py_tp_doc, "Ufunc(name, nin, nout): an element-wise function, which is called with arrays."},
    {Py_tp_new, ufunc_new},
    {Py_tp_init, ufunc_init},
    {Py_tp_dealloc, ufunc_dealloc},
    {Py_tp_traverse, ufunc_traverse},
    {Py_tp_clear, ufunc_clear},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_methods, ufunc_methods},
    {Py_tp_getset, ufunc_getset},
    {Py_tp_members, ufunc_members},
    {0, NULL}};

static PyType_Spec ufunc_spec = {
    .name = "numbalite._core.Ufunc",
    .basicsize = sizeof(nl_py_ufunc),
    .flags =
        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .slots = ufunc_slots,
};

int nl_py_ufunctype_exec(PyObject *module) {
    return nl_py_state_add_type(module, &ufunc_spec, NULL, &nl_py_state_of(module)->ufunc_type);
}
