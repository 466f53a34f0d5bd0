/* py/tensorkernel: the kernel of an operator; a framework's dispatcher calls it with tensors.
 *
 * A call reads the tensors by DLPack's exchange API, looks up the plan of their dtypes and their
 * device, allocates the results by a function of the framework, and calls the ufunc or launcher of
 * the plan. No Python code runs in a call for which a plan exists. Python code creates the plans
 * (numbalite/torch/operator.py), and handles calls without a plan. The plans of an operation that
 * is not elementwise also depend on shapes and numbers, because functions of the user compute the
 * shapes of the results and the launch. */
#include "py/launcher.h"

#include <string.h>

enum { MAX_ARGUMENTS = 32, MAX_KEY = 256, MAX_PLANS = 1024 };

typedef struct tensorkernel {
    PyObject_HEAD vectorcallfunc vectorcall;
    nl_py_state *state;
    PyObject *general; /* general(*args) handles calls that this file does not support */
    PyObject *plan;    /* plan(*tensors and numbers) returns a plan tuple (see PLAN_FUNCTION) */
    PyObject *plans;   /* dict: key -> plan */
    PyObject *latest;  /* (key, plan) of the last call, or NULL */
    PyObject *detach;  /* names of methods of tensors and of DispatchKeySet */
    PyObject *contiguous;
    PyObject *raw_repr;
    PyObject *level;  /* name of the item of `levels` that contains the forward-mode level */
    PyObject *levels; /* dict whose item _current_level is -1 outside of forward mode, or NULL */
    unsigned long long other; /* dispatch keys of calls that `general` handles */
    unsigned long long rows;  /* bit mask of the inputs that must be contiguous */
    int elementwise;          /* whether the results have the broadcast shape of all inputs */
    int has_keyset;           /* the first argument is a DispatchKeySet */
} tensorkernel;

/* A plan is a tuple (function, allocate, names, results). function(*inputs, *results) computes the
 * results. Each result is (size, stride, dtype, device), where size is None for the broadcast
 * shape; allocate(size, stride, dtype, device) creates the result. `names` are the keywords by
 * which the last arguments are passed. */
enum { PLAN_FUNCTION, PLAN_ALLOCATE, PLAN_NAMES, PLAN_RESULTS, PLAN_SIZE };
enum { RESULT_SIZE, RESULT_STRIDE, RESULT_DTYPE, RESULT_DEVICE, RESULT_PARTS };

typedef struct call {
    tensorkernel *kernel;
    Py_ssize_t nin, nout;
    PyObject *arguments[MAX_ARGUMENTS]; /* inputs, then results */
    int owned; /* bit mask of the inputs to which this call holds references */
    int ndim;  /* the broadcast shape */
    int64_t shape[NL_MAX_DIMS];
    int key_size;
    uint64_t key[MAX_KEY];
    nl_dl_views views; /* the tensors of the call, so that a launcher does not read the tensors
                        * again */
} call;

/* ---- reading ---- */

static int is_contiguous(const nl_dl_tensor *t) {
    int64_t expected = 1;
    for (int d = t->ndim - 1; t->strides && d >= 0; d--) {
        if (t->shape[d] == 0)
            return 1;
        if (t->shape[d] != 1 && t->strides[d] != expected)
            return 0;
        expected *= t->shape[d];
    }
    return 1;
}

/* Adds the shape of an input to the broadcast shape. Returns 0 if the shapes cannot be
 * broadcast. */
static int add_broadcast_shape(call *c, const nl_dl_tensor *t) {
    if (t->ndim > NL_MAX_DIMS)
        return 0;
    int added = t->ndim - c->ndim;
    if (added > 0) {
        memmove(c->shape + added, c->shape, (size_t)c->ndim * sizeof *c->shape);
        for (int d = 0; d < added; d++)
            c->shape[d] = 1;
        c->ndim = t->ndim;
    }
    int64_t *last = c->shape + c->ndim - t->ndim;
    for (int d = 0; d < t->ndim; d++) {
        if (t->shape[d] == 1 || t->shape[d] == last[d])
            continue;
        if (last[d] != 1)
            return 0;
        last[d] = t->shape[d];
    }
    return 1;
}

static int append_key_word(call *c, uint64_t word) {
    if (c->key_size == MAX_KEY)
        return 0;
    c->key[c->key_size++] = word;
    return 1;
}

/* Replaces an input by the result of calling one of its methods. Returns 1 on success, or -1 with
 * an exception. */
static int replace_input(call *c, Py_ssize_t i, PyObject *method) {
    PyObject *made = PyObject_CallMethodNoArgs(c->arguments[i], method);
    if (!made)
        return -1;
    if (c->owned >> i & 1)
        Py_DECREF(c->arguments[i]);
    c->arguments[i] = made;
    c->owned |= 1 << i;
    return 1;
}

/* Reads a tensor to c. Returns 1 on success, or 0 if `general` must handle the call, or -1 with an
 * exception. */
static int read_tensor(call *c, Py_ssize_t i) {
    const tensorkernel *k = c->kernel;
    nl_dl_tensor t;
    int found = nl_py_dlpack_read_view(k->state, c->arguments[i], &t);
    /* below autograd, a tensor with a gradient is treated as its data */
    if (!found && !k->has_keyset) {
        if (replace_input(c, i, k->detach) < 0)
            return -1;
        found = nl_py_dlpack_read_view(k->state, c->arguments[i], &t);
    }
    if (found && k->rows >> i & 1 && !is_contiguous(&t)) {
        if (replace_input(c, i, k->contiguous) < 0)
            return -1;
        found = nl_py_dlpack_read_view(k->state, c->arguments[i], &t);
    }
    if (!found ||
        !append_key_word(c, 1 | (uint64_t)t.code << 8 | (uint64_t)t.bits << 16 |
                                (uint64_t)t.lanes << 24 | (uint64_t)t.ndim << 40) ||
        !append_key_word(c, (uint64_t)(uint32_t)t.device_type << 32 | (uint32_t)t.device_id))
        return 0;
    if (k->elementwise) {
        c->key[c->key_size - 2] &= ((uint64_t)1 << 40) - 1; /* plans of elementwise operations do
                                                             * not depend on ndim */
        return add_broadcast_shape(c, &t);
    }
    nl_py_dlpack_add_view(&c->views, c->arguments[i], &t);
    for (int d = 0; d < t.ndim; d++)
        if (!append_key_word(c, (uint64_t)t.shape[d]))
            return 0;
    return 1;
}

static int read_float(call *c, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return append_key_word(c, bits);
}

/* Like read_tensor. */
static int read_argument(call *c, Py_ssize_t i) {
    PyObject *value = c->arguments[i];
    if (PyFloat_CheckExact(value))
        return append_key_word(c, 2) && read_float(c, PyFloat_AS_DOUBLE(value));
    if (PyBool_Check(value))
        return append_key_word(c, 3) && append_key_word(c, value == Py_True);
    if (PyComplex_CheckExact(value)) {
        Py_complex z = PyComplex_AsCComplex(value);
        return append_key_word(c, 4) && read_float(c, z.real) && read_float(c, z.imag);
    }
    if (PyLong_CheckExact(value)) {
        int overflow;
        long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
        return !overflow && append_key_word(c, 5) && append_key_word(c, (uint64_t)number);
    }
    return read_tensor(c, i);
}

/* Returns whether the dispatcher's next kernel for this call is that of the device, and no tensor
 * is dual. The result is 1, 0, or -1 with an exception. */
static int is_next_kernel(const tensorkernel *k, PyObject *keyset) {
    PyObject *level = PyDict_GetItemWithError(k->levels, k->level);
    if (!level || PyLong_AsLong(level) >= 0)
        return PyErr_Occurred() ? -1 : 0;
    PyObject *number = PyObject_CallMethodNoArgs(keyset, k->raw_repr);
    unsigned long long keys = number ? PyLong_AsUnsignedLongLong(number) : 0;
    Py_XDECREF(number);
    return PyErr_Occurred() ? -1 : !(keys & k->other);
}

/* ---- plans ---- */

static int is_valid_plan(PyObject *plan) {
    if (!PyTuple_CheckExact(plan) || PyTuple_GET_SIZE(plan) != PLAN_SIZE ||
        !PyTuple_CheckExact(PyTuple_GET_ITEM(plan, PLAN_NAMES)) ||
        !PyTuple_CheckExact(PyTuple_GET_ITEM(plan, PLAN_RESULTS)))
        goto refuse;
    PyObject *results = PyTuple_GET_ITEM(plan, PLAN_RESULTS);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(results); i++)
        if (!PyTuple_CheckExact(PyTuple_GET_ITEM(results, i)) ||
            PyTuple_GET_SIZE(PyTuple_GET_ITEM(results, i)) != RESULT_PARTS)
            goto refuse;
    return 1;
refuse:
    PyErr_SetString(PyExc_TypeError, "a plan must be (function, allocate, names, results)");
    return 0;
}

/* Returns a new reference to the plan of the last call if it has the same key, else NULL. */
static PyObject *get_latest_plan(const call *c) {
    PyObject *plan = NULL;
    size_t size = (size_t)c->key_size * sizeof *c->key;
    Py_BEGIN_CRITICAL_SECTION(c->kernel);
    PyObject *latest = c->kernel->latest, *key = latest ? PyTuple_GET_ITEM(latest, 0) : NULL;
    if (key && (size_t)PyBytes_GET_SIZE(key) == size &&
        memcmp(PyBytes_AS_STRING(key), c->key, size) == 0)
        plan = Py_NewRef(PyTuple_GET_ITEM(latest, 1));
    Py_END_CRITICAL_SECTION();
    return plan;
}

/* Steals no reference. 0, or -1 with an exception. */
static int set_latest_plan(tensorkernel *k, PyObject *key, PyObject *plan) {
    PyObject *latest = PyTuple_Pack(2, key, plan), *before;
    if (!latest)
        return -1;
    Py_BEGIN_CRITICAL_SECTION(k);
    before = k->latest;
    k->latest = latest;
    Py_END_CRITICAL_SECTION();
    Py_XDECREF(before);
    return 0;
}

/* Returns a new reference to the plan of the call, or NULL with an exception. */
static PyObject *find_plan(call *c) {
    tensorkernel *k = c->kernel;
    PyObject *key, *plan = get_latest_plan(c);
    if (plan)
        return plan;
    key = PyBytes_FromStringAndSize((const char *)c->key, c->key_size * (Py_ssize_t)sizeof *c->key);
    if (!key || PyDict_GetItemRef(k->plans, key, &plan) != 0)
        goto done;
    nl_dl_views_init(&c->views); /* the user's functions may change the tensors, so their views are
                                  * dropped */
    plan = PyObject_Vectorcall(k->plan, c->arguments, (size_t)c->nin, NULL);
    if (plan && !is_valid_plan(plan))
        Py_CLEAR(plan);
    if (plan && PyDict_Size(k->plans) >= MAX_PLANS)
        PyDict_Clear(k->plans);
    if (plan && PyDict_SetItem(k->plans, key, plan) < 0)
        Py_CLEAR(plan);
done:
    if (plan && set_latest_plan(k, key, plan) < 0)
        Py_CLEAR(plan);
    Py_XDECREF(key);
    return plan;
}

/* ---- results ---- */

/* Returns the broadcast shape as a tuple, or the strides of a contiguous tensor of this shape. */
static PyObject *result_sizes(const call *c, int strides) {
    PyObject *tuple = PyTuple_New(c->ndim);
    int64_t stride = 1;
    for (int d = c->ndim - 1; tuple && d >= 0; d--) {
        PyObject *number = PyLong_FromLongLong(strides ? stride : c->shape[d]);
        stride *= c->shape[d] ? c->shape[d] : 1;
        if (number)
            PyTuple_SET_ITEM(tuple, d, number);
        else
            Py_CLEAR(tuple);
    }
    return tuple;
}

static PyObject *allocate_result(const call *c, PyObject *plan, PyObject *result) {
    PyObject *names = PyTuple_GET_ITEM(plan, PLAN_NAMES), *made = NULL;
    PyObject *values[RESULT_PARTS] = {
        Py_NewRef(PyTuple_GET_ITEM(result, RESULT_SIZE)),
        Py_NewRef(PyTuple_GET_ITEM(result, RESULT_STRIDE)),
        PyTuple_GET_ITEM(result, RESULT_DTYPE),
        PyTuple_GET_ITEM(result, RESULT_DEVICE),
    };
    /* the device is passed by its name */
    size_t count =
        PyTuple_GET_SIZE(names) ? RESULT_PARTS - (size_t)PyTuple_GET_SIZE(names) : RESULT_DEVICE;
    if (values[RESULT_SIZE] == Py_None) {
        Py_SETREF(values[RESULT_SIZE], result_sizes(c, 0));
        Py_SETREF(values[RESULT_STRIDE], result_sizes(c, 1));
    }
    if (values[RESULT_SIZE] && values[RESULT_STRIDE])
        made = PyObject_Vectorcall(PyTuple_GET_ITEM(plan, PLAN_ALLOCATE), values, count,
                                   PyTuple_GET_SIZE(names) ? names : NULL);
    Py_XDECREF(values[RESULT_SIZE]);
    Py_XDECREF(values[RESULT_STRIDE]);
    return made;
}

static int allocate_results(call *c, PyObject *plan) {
    PyObject *results = PyTuple_GET_ITEM(plan, PLAN_RESULTS);
    Py_ssize_t count = PyTuple_GET_SIZE(results);
    if (c->nin + count > MAX_ARGUMENTS) {
        PyErr_Format(PyExc_TypeError, "an operator has at most %d arguments and results",
                     (int)MAX_ARGUMENTS);
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        c->arguments[c->nin + i] = allocate_result(c, plan, PyTuple_GET_ITEM(results, i));
        if (!c->arguments[c->nin + i])
            return -1;
        c->nout++;
    }
    return 0;
}

/* Returns the results of the call: one tensor, a tuple of tensors, or None. */
static PyObject *collect_results(const call *c) {
    if (c->nout == 0)
        return Py_NewRef(Py_None);
    if (c->nout == 1)
        return Py_NewRef(c->arguments[c->nin]);
    PyObject *tuple = PyTuple_New(c->nout);
    for (Py_ssize_t i = 0; tuple && i < c->nout; i++)
        PyTuple_SET_ITEM(tuple, i, Py_NewRef(c->arguments[c->nin + i]));
    return tuple;
}

/* ---- the call ---- */

static PyObject *compute_results(call *c) {
    PyObject *plan = find_plan(c), *result = NULL;
    if (plan && allocate_results(c, plan) == 0) {
        PyObject *done =
            nl_py_launcher_call(c->kernel->state, PyTuple_GET_ITEM(plan, PLAN_FUNCTION),
                                c->arguments, c->nin + c->nout, &c->views);
        result = done ? collect_results(c) : NULL;
        Py_XDECREF(done);
    }
    Py_XDECREF(plan);
    return result;
}

static void release_inputs(call *c) {
    for (Py_ssize_t i = 0; i < c->nin; i++)
        if (c->owned >> i & 1)
            Py_DECREF(c->arguments[i]);
    for (Py_ssize_t i = 0; i < c->nout; i++)
        Py_DECREF(c->arguments[c->nin + i]);
}

static PyObject *tensorkernel_vectorcall(PyObject *self, PyObject *const *args, size_t nargsf,
                                         PyObject *keywords) {
    tensorkernel *k = (tensorkernel *)self;
    Py_ssize_t nargs = PyVectorcall_NARGS(nargsf);
    PyObject *result = NULL;
    call c; /* not zero-initialized, because the struct is large */
    c.kernel = k;
    c.nin = nargs - k->has_keyset;
    c.nout = c.owned = c.ndim = c.key_size = 0;
    nl_dl_views_init(&c.views);
    int fast = !nl_py_count_keywords(keywords) && c.nin > 0 && c.nin < MAX_ARGUMENTS;
    if (fast && k->has_keyset)
        fast = is_next_kernel(k, args[0]);
    if (fast > 0)
        memcpy(c.arguments, args + k->has_keyset, (size_t)c.nin * sizeof *args);
    for (Py_ssize_t i = 0; fast > 0 && i < c.nin; i++)
        fast = read_argument(&c, i);
    if (fast > 0)
        result = compute_results(&c);
    if (fast >= 0 && !fast)
        result = PyObject_Vectorcall(k->general, args, nargsf, keywords);
    release_inputs(&c);
    return result;
}

/* ---- type ---- */

static PyObject *tensorkernel_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    static char *names[] = {"general", "plan",   "elementwise", "contiguous",
                            "other",   "levels", NULL};
    PyObject *general, *plan, *levels = NULL;
    int elementwise;
    unsigned long long contiguous, other = 0;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OOpK|KO!:TensorKernel", names, &general,
                                     &plan, &elementwise, &contiguous, &other, &PyDict_Type,
                                     &levels))
        return NULL;
    tensorkernel *self = (tensorkernel *)type->tp_alloc(type, 0);
    if (!self)
        return NULL;
    self->vectorcall = tensorkernel_vectorcall;
    self->state = nl_py_state_of_type(type);
    self->general = Py_NewRef(general);
    self->plan = Py_NewRef(plan);
    self->elementwise = elementwise;
    self->rows = contiguous;
    self->has_keyset = levels != NULL;
    self->levels = Py_XNewRef(levels);
    self->other = other;
    self->plans = PyDict_New();
    self->detach = PyUnicode_InternFromString("detach");
    self->contiguous = PyUnicode_InternFromString("contiguous");
    self->raw_repr = PyUnicode_InternFromString("raw_repr");
    self->level = PyUnicode_InternFromString("_current_level");
    if (!self->plans || !self->detach || !self->contiguous || !self->raw_repr || !self->level)
        Py_CLEAR(self);
    return (PyObject *)self;
}

static int tensorkernel_traverse(PyObject *self, visitproc visit, void *arg) {
    tensorkernel *k = (tensorkernel *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(k->general);
    Py_VISIT(k->plan);
    Py_VISIT(k->plans);
    Py_VISIT(k->latest);
    Py_VISIT(k->levels);
    return 0;
}

static int tensorkernel_clear(PyObject *self) {
    tensorkernel *k = (tensorkernel *)self;
    Py_CLEAR(k->general);
    Py_CLEAR(k->plan);
    Py_CLEAR(k->plans);
    Py_CLEAR(k->latest);
    Py_CLEAR(k->levels);
    return 0;
}

static void tensorkernel_dealloc(PyObject *self) {
    tensorkernel *k = (tensorkernel *)self;
    PyObject_GC_UnTrack(self);
    tensorkernel_clear(self);
    Py_CLEAR(k->detach);
    Py_CLEAR(k->contiguous);
    Py_CLEAR(k->raw_repr);
    Py_CLEAR(k->level);
    nl_py_free_object(self);
}

static PyMemberDef members[] = {
    {"plans", Py_T_OBJECT_EX, offsetof(tensorkernel, plans), Py_READONLY, NULL},
    {"__vectorcalloffset__", Py_T_PYSSIZET, offsetof(tensorkernel, vectorcall), Py_READONLY, NULL},
    {NULL, 0, 0, 0, NULL}};

static PyType_Slot slots[] = {
    {Py_tp_doc, "TensorKernel(general, plan, elementwise, contiguous, other=0, levels=None): "
                "the kernel of an operator, which a framework's dispatcher calls. "
                "With `levels`, the first argument is a DispatchKeySet."},
    {Py_tp_new, tensorkernel_new},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_traverse, tensorkernel_traverse},
    {Py_tp_clear, tensorkernel_clear},
    {Py_tp_dealloc, tensorkernel_dealloc},
    {Py_tp_members, members},
    {0, NULL}};

static PyType_Spec spec = {
    .name = "numbalite._core.TensorKernel",
    .basicsize = sizeof(tensorkernel),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_HAVE_GC |
             Py_TPFLAGS_HAVE_VECTORCALL,
    .slots = slots,
};

int nl_py_tensorkernel_exec(PyObject *module) {
    PyTypeObject *type = NULL;
    int status = nl_py_state_add_type(module, &spec, NULL, &type);
    Py_XDECREF(type);
    return status;
}
