/* py/hostufunc: numpy.ufunc objects from compiled host loops.
 *
 * A ufunc is created without loops, and each loop is added by NumPy's newer API, because such a
 * loop can be added at any time, and may raise an exception (for an assert in the user's code).
 * A ufunc with signatures also gets a table of loop types, as ufuncs of the older API have: NumPy
 * uses the table to resolve types as for its own ufuncs, and to list the loops in `types` and
 * `ntypes`. A lazily typed ufunc gets a promoter, which NumPy calls for dtypes without a loop: the
 * Python function of the promoter compiles a loop and adds it to the ufunc.
 *
 * All objects to which NumPy keeps pointers belong to a HostLoops object, which the ufunc owns
 * through its field `obj`: names, the table of types, the modules of the loops, and `owner`, the
 * Python object that compiles loops and that pickling uses.
 *
 * Only host ufuncs require NumPy 2, so NumPy's ufunc API is imported when the first ufunc is
 * created. */
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#include "py/compat.h"

#include <numpy/arrayobject.h>
#include <numpy/dtype_api.h>
#include <numpy/ufuncobject.h>

#include <string.h>
#include "base/lock.h"
#include "base/mem.h"
#include "core/dtype.h"
#include "py/hostarray.h"
#include "py/hostmodule.h"
#include "py/state.h"

/* ---- HostLoops ---- */

/* A table of the types of a ufunc's loops. Tables only grow, and NumPy reads them without a lock:
 * each new table is a copy, and old tables are kept. */
typedef struct table {
    struct table *older;
    PyUFuncGenericFunction *functions;
    char types[];
} table;

typedef struct {
    PyObject_HEAD PyObject *owner;
    PyObject *modules; /* list of HostModule */
    PyObject *name, *doc;
    table *table;
    nl_mutex lock;
} hostloops;

static int hostloops_traverse(PyObject *object, visitproc visit, void *arg) {
    hostloops *self = (hostloops *)object;
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->owner);
    Py_VISIT(self->modules);
    return 0;
}

static int hostloops_clear(PyObject *object) {
    Py_CLEAR(((hostloops *)object)->owner);
    return 0;
}

static void hostloops_dealloc(PyObject *object) {
    hostloops *self = (hostloops *)object;
    PyObject_GC_UnTrack(object);
    Py_CLEAR(self->owner);
    Py_CLEAR(self->modules);
    Py_CLEAR(self->name);
    Py_CLEAR(self->doc);
    for (table *t = self->table, *older; t != NULL; t = older) {
        older = t->older;
        nl_mem_free(t);
    }
    nl_mutex_destroy(&self->lock);
    nl_py_free_object(object);
}

static PyType_Slot slots[] = {
    {Py_tp_dealloc, hostloops_dealloc},
    {Py_tp_traverse, hostloops_traverse},
    {Py_tp_clear, hostloops_clear},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "numbalite._core.HostLoops",
    .basicsize = sizeof(hostloops),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION |
             Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};

/* Returns the HostLoops of a ufunc that this file created, or NULL for any other object. */
static hostloops *hostloops_of_ufunc(PyObject *module, PyObject *object) {
    if (PyUFunc_API == NULL || !PyObject_TypeCheck(object, &PyUFunc_Type))
        return NULL;
    PyObject *owned = ((PyUFuncObject *)object)->obj;
    if (owned == NULL || Py_TYPE(owned) != nl_py_state_of(module)->hostloops_type)
        return NULL;
    return (hostloops *)owned;
}

static int import_numpy(void) {
    if (PyUFunc_API != NULL)
        return 0;
    if (PyArray_ImportNumPyAPI() < 0)
        return -1;
    return PyUFunc_ImportUFuncAPI();
}

/* ---- creation ---- */

static int identity_kind(PyObject *identity) {
    if (identity == Py_None)
        return PyUFunc_None;
    if (PyUnicode_Check(identity))
        return PyUFunc_ReorderableNone;
    return PyUFunc_IdentityValue;
}

/* Marks the inputs that the function writes: NumPy passes them as writable
 * memory, and copies the values of converted inputs back. */
static int mark_writable(PyUFuncObject *ufunc, PyObject *numbers) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(numbers); i++) {
        long number = PyLong_AsLong(PyTuple_GET_ITEM(numbers, i));
        if (number == -1 && PyErr_Occurred())
            return -1;
        if (number < 0 || number >= ufunc->nin) {
            PyErr_SetString(PyExc_ValueError, "not an input of this ufunc");
            return -1;
        }
        ufunc->op_flags[number] = NPY_ITER_READWRITE | NPY_ITER_UPDATEIFCOPY;
        /* without this flag, NumPy calls "()->()" as an element-wise loop and discards the copies
         * of inputs */
        ufunc->core_enabled = 1;
    }
    return 0;
}

static PyObject *make_ufunc(PyObject *module, PyObject *args) {
    PyObject *owner, *name, *doc, *identity, *writable = NULL;
    const char *signature;
    int nin, nout;
    if (!PyArg_ParseTuple(args, "OUUiiOz|O!:make_ufunc", &owner, &name, &doc, &nin, &nout,
                          &identity, &signature, &PyTuple_Type, &writable) ||
        import_numpy() < 0)
        return NULL;
    PyTypeObject *type = nl_py_state_of(module)->hostloops_type;
    hostloops *loops = (hostloops *)type->tp_alloc(type, 0);
    if (loops == NULL)
        return NULL;
    nl_mutex_init(&loops->lock);
    loops->owner = Py_NewRef(owner);
    loops->name = Py_NewRef(name);
    loops->doc = Py_NewRef(doc);
    loops->modules = PyList_New(0);
    const char *name_text = PyUnicode_AsUTF8(name), *doc_text = PyUnicode_AsUTF8(doc);
    int kind = identity_kind(identity);
    PyObject *ufunc = NULL;
    if (loops->modules != NULL && name_text != NULL && doc_text != NULL)
        ufunc = PyUFunc_FromFuncAndDataAndSignatureAndIdentity(
            NULL, NULL, NULL, 0, nin, nout, kind, name_text, doc_text, 0, signature,
            kind == PyUFunc_IdentityValue ? identity : NULL);
    if (ufunc == NULL)
        Py_DECREF(loops);
    else
        ((PyUFuncObject *)ufunc)->obj = (PyObject *)loops;
    if (ufunc != NULL && writable != NULL && mark_writable((PyUFuncObject *)ufunc, writable) < 0)
        Py_CLEAR(ufunc);
    return ufunc;
}

/* Writes the initial value of a reduction. */
static int write_initial_value(PyArrayMethod_Context *context, npy_bool Py_UNUSED(empty),
                               void *initial) {
    if (context->caller == NULL)
        return 0;
    PyObject *identity = PyObject_GetAttrString(context->caller, "identity");
    if (identity == NULL)
        return -1;
    int status = 0;
    if (identity != Py_None)
        status = PyArray_Pack(context->descriptors[0], initial, identity) < 0 ? -1 : 1;
    Py_DECREF(identity);
    return status;
}

/* Sets the DTypes for a loop's dtype codes (new references) and their type numbers. */
static int find_dtypes(const char *codes, Py_ssize_t count, PyArray_DTypeMeta **dtypes,
                       char *numbers) {
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *descr = nl_py_hostarray_descr_of_dtype((nl_dtype)codes[i]);
        if (descr == NULL)
            return -1;
        numbers[i] = (char)((PyArray_Descr *)descr)->type_num;
        dtypes[i] = (PyArray_DTypeMeta *)Py_NewRef((PyObject *)Py_TYPE(descr));
        Py_DECREF(descr);
    }
    return 0;
}

static int check_loop_dtypes(const char *codes, Py_ssize_t count, const PyUFuncObject *ufunc) {
    int good = count == ufunc->nargs && count <= NPY_MAXARGS;
    for (Py_ssize_t i = 0; good && i < count; i++)
        good = codes[i] > NL_OPAQUE && codes[i] < NL_DTYPE_COUNT;
    if (!good)
        PyErr_SetString(PyExc_ValueError, "the codes are not the dtypes of a loop of this ufunc");
    return good ? 0 : -1;
}

/* A loop of the legacy API that is never called, because each row of the table also has a loop of
 * the newer API. */
static void unused_legacy_loop(char **Py_UNUSED(args), npy_intp const *Py_UNUSED(dimensions),
                               npy_intp const *Py_UNUSED(strides), void *Py_UNUSED(data)) {}

/* Adds a row to the table of types that NumPy's type resolution and ufunc.types read. */
static int extend_table(hostloops *loops, PyUFuncObject *ufunc, const char *numbers) {
    size_t rows = (size_t)ufunc->ntypes + 1, row = (size_t)ufunc->nargs;
    size_t head = (sizeof(table) + rows * row + 15) & ~(size_t)15;
    nl_error err = {0};
    table *t = nl_mem_alloc(head + rows * sizeof(PyUFuncGenericFunction), &err);
    if (t == NULL) {
        nl_py_raise(&err);
        return -1;
    }
    if (rows > 1)
        memcpy(t->types, ufunc->types, (rows - 1) * row);
    memcpy(t->types + (rows - 1) * row, numbers, row);
    t->functions = (PyUFuncGenericFunction *)((char *)t + head);
    for (size_t i = 0; i < rows; i++)
        t->functions[i] = unused_legacy_loop;
    t->older = loops->table;
    loops->table = t;
    ufunc->types = t->types;
    ufunc->functions = t->functions;
    nl_atomic_store32((uint32_t *)&ufunc->ntypes, (uint32_t)rows);
    return 0;
}

static int add_loop_spec(PyObject *ufunc, PyArray_DTypeMeta **dtypes, void *function) {
    PyUFuncObject *u = (PyUFuncObject *)ufunc;
    PyType_Slot loop_slots[] = {
        {NPY_METH_strided_loop, function},
        {NPY_METH_get_reduction_initial, (void *)(uintptr_t)write_initial_value},
        {0, NULL},
    };
    NPY_ARRAYMETHOD_FLAGS flags = NPY_METH_NO_FLOATINGPOINT_ERRORS;
    if (u->identity != PyUFunc_None)
        flags |= NPY_METH_IS_REORDERABLE;
    PyArrayMethod_Spec loop = {
        .name = u->name,
        .nin = u->nin,
        .nout = u->nout,
        .casting = NPY_NO_CASTING,
        .flags = flags,
        .dtypes = dtypes,
        .slots = loop_slots,
    };
    return PyUFunc_AddLoopFromSpec(ufunc, &loop);
}

static PyObject *ufunc_add_loop(PyObject *module, PyObject *args) {
    PyObject *ufunc, *code;
    const char *codes, *name;
    Py_ssize_t count;
    if (!PyArg_ParseTuple(args, "Oy#Os:ufunc_add_loop", &ufunc, &codes, &count, &code, &name))
        return NULL;
    hostloops *loops = hostloops_of_ufunc(module, ufunc);
    if (loops == NULL)
        return PyErr_Format(PyExc_TypeError, "a ufunc of numbalite, not %R", ufunc);
    void *function = nl_py_hostmodule_find(code, name);
    if (function == NULL || check_loop_dtypes(codes, count, (PyUFuncObject *)ufunc) < 0)
        return NULL;
    PyArray_DTypeMeta *dtypes[NPY_MAXARGS] = {NULL};
    char numbers[NPY_MAXARGS];
    int status = find_dtypes(codes, count, dtypes, numbers);
    if (status == 0)
        status = PyList_Append(loops->modules, code);
    if (status == 0)
        status = add_loop_spec(ufunc, dtypes, function);
    for (Py_ssize_t i = 0; i < count; i++)
        Py_XDECREF(dtypes[i]);
    if (status == 0) {
        nl_mutex_lock(&loops->lock);
        status = extend_table(loops, (PyUFuncObject *)ufunc, numbers);
        nl_mutex_unlock(&loops->lock);
    }
    if (status < 0)
        return NULL;
    Py_RETURN_NONE;
}

/* ---- lazily typed ---- */

/* Returns a DType as an argument of the promoter's Python function: a dtype, or int, float or
 * complex for a weak scalar. */
static PyObject *dtype_or_weak_type(const PyArray_DTypeMeta *dtype) {
    if (dtype == &PyArray_PyLongDType)
        return Py_NewRef((PyObject *)&PyLong_Type);
    if (dtype == &PyArray_PyFloatDType)
        return Py_NewRef((PyObject *)&PyFloat_Type);
    if (dtype == &PyArray_PyComplexDType)
        return Py_NewRef((PyObject *)&PyComplex_Type);
    if (dtype == NULL)
        return Py_NewRef(Py_None);
    if (dtype->singleton == NULL) {
        PyErr_Format(PyExc_TypeError, "%s has no type in C++", dtype->super.ht_type.tp_name);
        return NULL;
    }
    return Py_NewRef((PyObject *)dtype->singleton);
}

static PyObject *dtypes_tuple(PyArray_DTypeMeta *const dtypes[], int count) {
    PyObject *tuple = PyTuple_New(count);
    for (int i = 0; tuple != NULL && i < count; i++) {
        PyObject *item = dtype_or_weak_type(dtypes[i]);
        if (item == NULL)
            Py_CLEAR(tuple);
        else
            PyTuple_SET_ITEM(tuple, i, item);
    }
    return tuple;
}

/* The promoter, which NumPy calls to find the loop for these dtypes. The Python function adds a
 * loop if necessary, and returns the loop's dtype codes. In a reduction, the dtype of the first
 * input is unknown and passed as None. */
static int promote_dtypes(PyObject *object, PyArray_DTypeMeta *const op_dtypes[],
                          PyArray_DTypeMeta *const signature[],
                          PyArray_DTypeMeta *new_op_dtypes[]) {
    PyUFuncObject *ufunc = (PyUFuncObject *)object;
    int nargs = ufunc->nargs, status = -1;
    char numbers[NPY_MAXARGS];
    for (int i = 0; i < nargs; i++)
        new_op_dtypes[i] = NULL;
    PyObject *inputs = dtypes_tuple(op_dtypes, ufunc->nin);
    PyObject *fixed = dtypes_tuple(signature, nargs);
    PyObject *codes = NULL;
    if (inputs != NULL && fixed != NULL)
        codes = PyObject_CallMethod(((hostloops *)ufunc->obj)->owner, "promote", "OOO", object,
                                    inputs, fixed);
    if (codes != NULL) {
        char *bytes;
        Py_ssize_t count;
        if (PyBytes_AsStringAndSize(codes, &bytes, &count) == 0 &&
            check_loop_dtypes(bytes, count, ufunc) == 0)
            status = find_dtypes(bytes, count, new_op_dtypes, numbers);
    }
    /* NumPy continues only if a dtype has changed, so the dtypes of outputs are removed. */
    for (int i = 0; i < nargs; i++)
        if (status < 0 || (i >= ufunc->nin && op_dtypes[i] != NULL))
            Py_CLEAR(new_op_dtypes[i]);
    Py_XDECREF(codes);
    Py_XDECREF(inputs);
    Py_XDECREF(fixed);
    return status;
}

static PyObject *ufunc_add_promoter(PyObject *module, PyObject *ufunc) {
    if (hostloops_of_ufunc(module, ufunc) == NULL)
        return PyErr_Format(PyExc_TypeError, "a ufunc of numbalite, not %R", ufunc);
    int nargs = ((PyUFuncObject *)ufunc)->nargs, status = -1;
    PyObject *anything = PyTuple_New(nargs);
    for (int i = 0; anything != NULL && i < nargs; i++)
        PyTuple_SET_ITEM(anything, i, Py_NewRef(Py_None));
    PyObject *capsule =
        PyCapsule_New((void *)(uintptr_t)promote_dtypes, "numpy._ufunc_promoter", NULL);
    if (anything != NULL && capsule != NULL)
        status = PyUFunc_AddPromoter(ufunc, anything, capsule);
    Py_XDECREF(anything);
    Py_XDECREF(capsule);
    if (status < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *ufunc_owner(PyObject *module, PyObject *object) {
    hostloops *loops = hostloops_of_ufunc(module, object);
    return Py_NewRef(loops != NULL && loops->owner != NULL ? loops->owner : Py_None);
}

static PyMethodDef functions[] = {
    {"make_ufunc", make_ufunc, METH_VARARGS,
     "make_ufunc(owner, name, doc, nin, nout, identity, layout, writable): "
     "returns a numpy.ufunc without loops.\n"
     "identity: None, a value, or any string if the operation is reorderable; "
     "layout: the signature of a generalized ufunc, else None; "
     "writable: the indices of the inputs that are written."},
    {"ufunc_add_loop", ufunc_add_loop, METH_VARARGS,
     "ufunc_add_loop(ufunc, codes, module, name): "
     "adds a function of a HostModule as the loop for these nl_dtype codes."},
    {"ufunc_add_promoter", ufunc_add_promoter, METH_O,
     "ufunc_add_promoter(ufunc): for dtypes without a loop, "
     "NumPy calls owner.promote(ufunc, inputs, fixed), which adds a loop and returns its codes."},
    {"ufunc_owner", ufunc_owner, METH_O,
     "ufunc_owner(object): "
     "returns the owner of a ufunc that make_ufunc returned, or None for any other object."},
    {NULL, NULL, 0, NULL},
};

int nl_py_hostufunc_exec(PyObject *module) {
    if (nl_py_state_add_functions(module, functions) < 0)
        return -1;
    return nl_py_state_add_type(module, &spec, NULL, &nl_py_state_of(module)->hostloops_type);
}
