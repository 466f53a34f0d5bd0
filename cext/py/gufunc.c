/* py/gufunc: the type GUfunc: generalized ufuncs on the device, which call a function on core
 * arrays for each loop index.
 *
 * A call reads its operands and finds core and loop dimensions (core/gloop). A call runs Python
 * code once for each combination of types to choose the loop (_choose), and once for each kind of
 * loop to compile its kernel (_compile), then launches. Operands that the loop cannot use are
 * converted by Python methods: _cast to another dtype, _lay to the core layout that the loop
 * requires, _give to copy a result to an out= of another dtype or layout. */
#include "py/gucall.h"

#include <string.h>
#include "base/mem.h"
#include "py/override.h"
#include "py/owner.h"
#include "py/stream.h"

static int raise_error(const nl_error *err) {
    nl_py_raise(err);
    return -1;
}

/* ---- choosing a loop ---- */

/* Writes the cache key of a call for _choose. Returns the size of the key, or 0 if the call cannot
 * be cached. */
static size_t write_choice_key(const nl_py_gucall *c, uint8_t *key) {
    size_t size = (size_t)c->count + 1;
    if (c->keywords.given[NL_PY_KEY_DTYPE] || c->keywords.given[NL_PY_KEY_SIGNATURE])
        return 0;
    nl_py_key_clear_padding(key, size);
    for (int i = 0; i < c->count; i++) {
        const nl_py_operand *op = &c->operands[i];
        if (op->place != NL_PY_PLACE_NONE && op->dtype == NL_OPAQUE)
            return 0;
        key[i] = op->place == NL_PY_PLACE_NONE    ? 0
                 : op->place == NL_PY_PLACE_VALUE ? (uint8_t)(op->dtype | op->weak << 5)
                                                  : op->dtype;
    }
    key[c->count] = c->keywords.casting_code;
    return size;
}

static int cache_choice(nl_py_gufunc *g, const uint8_t *key, size_t size, PyObject *chosen) {
    nl_py_overload *e = nl_py_overload_new(sizeof *e, key, size);
    if (!e)
        return -1;
    e->code = Py_NewRef(chosen);
    if (nl_py_overloads_add(&g->choices, (PyObject *)g, e) == 0)
        return 0;
    nl_py_overload_free(e);
    return -1;
}

static PyObject *tuple_of_operand_dtypes(const nl_py_gucall *c, int from, int to) {
    PyObject *types = PyTuple_New(to - from);
    for (int i = from; types && i < to; i++) {
        const nl_py_operand *op = &c->operands[i];
        PyObject *type =
            op->place == NL_PY_PLACE_NONE ? Py_NewRef(Py_None) : nl_py_operand_type_argument(op);
        if (type)
            PyTuple_SET_ITEM(types, i - from, type);
        else
            Py_CLEAR(types);
    }
    return types;
}

static PyObject *object_or_none(PyObject *obj) {
    return obj ? obj : Py_None;
}

static PyObject *call_choose(const nl_py_gucall *c) {
    PyObject *inputs = tuple_of_operand_dtypes(c, 0, c->nin),
             *outputs = tuple_of_operand_dtypes(c, c->nin, c->count);
    PyObject *chosen = NULL;
    if (inputs && outputs)
        chosen = PyObject_CallMethod((PyObject *)c->g, "_choose", "OOOOO", inputs, outputs,
                                     c->keywords.casting,
                                     object_or_none(c->keywords.given[NL_PY_KEY_DTYPE]),
                                     object_or_none(c->keywords.given[NL_PY_KEY_SIGNATURE]));
    Py_XDECREF(inputs);
    Py_XDECREF(outputs);
    if (!chosen)
        return NULL;
    int good = PyBytes_Check(chosen) && PyBytes_GET_SIZE(chosen) == 2 * c->count;
    for (int i = 0; good && i < c->count; i++) {
        const uint8_t *bytes = (const uint8_t *)PyBytes_AS_STRING(chosen);
        good = bytes[i] > NL_OPAQUE && bytes[i] < NL_DTYPE_COUNT &&
               memchr("ACF", bytes[c->count + i], 3);
    }
    if (good)
        return chosen;
    Py_DECREF(chosen);
    PyErr_SetString(PyExc_TypeError,
                    "_choose must return a dtype code and an order letter for each operand");
    return NULL;
}

static int choose_kernel(nl_py_gucall *c) {
    uint8_t key[NL_PY_KEY_CAPACITY(NL_GU_MAX_OPERANDS + 1)];
    size_t size = write_choice_key(c, key);
    nl_py_overload *cached = size ? nl_py_overloads_find(&c->g->choices, NULL, key, size) : NULL;
    c->chosen = cached ? Py_NewRef(cached->code) : call_choose(c);
    if (!c->chosen || (!cached && size && cache_choice(c->g, key, size, c->chosen) < 0))
        return -1;
    c->dtypes = (const uint8_t *)PyBytes_AS_STRING(c->chosen);
    c->orders = PyBytes_AS_STRING(c->chosen) + c->count;
    return 0;
}

/* ---- results ---- */

static int run_kernel(nl_py_gucall *c) {
    nl_error err;
    if (nl_gloop_merge_dimensions(&c->loop, &c->packed, &err) < 0)
        return raise_error(&err);
    if (c->packed.count == 0)
        return 0;
    if (nl_py_guoperands_copy_to_device(c) < 0)
        return -1;
    if (nl_gloop_merge_dimensions(&c->loop, &c->packed, &err) < 0 ||
        nl_device_bind(c->operation.device, &err) < 0)
        return raise_error(&err);
    return nl_py_gukernel_launch(c) < 0
               ? -1
               : nl_py_operands_copy_to_host(&c->operation, c->operands, c->count);
}

/* Copies the result of a replaced operand to the caller's array. Returns a borrowed reference to
 * this array, or NULL with an exception. */
static PyObject *copy_back_replaced(nl_py_gucall *c, int i) {
    nl_py_operand *out = &c->outs[c->stands_in[i] - 1];
    PyObject *done = PyObject_CallMethod((PyObject *)c->g, "_copy_result", "OOO",
                                         out->place == NL_PY_PLACE_HOST ? out->given : out->array,
                                         c->operands[i].array, nl_py_guoperands_get_stream(c));
    if (!done)
        return NULL;
    Py_DECREF(done);
    return out->given;
}

static PyObject *operand_result(nl_py_gucall *c, int i) {
    if (!c->stands_in[i])
        return nl_py_operand_result(&c->operands[i], !c->keywords.arrays);
    return Py_XNewRef(copy_back_replaced(c, i));
}

static PyObject *collect_results(nl_py_gucall *c) {
    int nout = c->count - c->nin;
    for (int i = 0; i < c->nin; i++)
        if (nl_gcore_is_written(&c->g->core, i) && c->stands_in[i] && !copy_back_replaced(c, i))
            return NULL;
    if (nout == 1)
        return operand_result(c, c->nin);
    PyObject *tuple = PyTuple_New(nout);
    for (int i = 0; tuple && i < nout; i++) {
        PyObject *item = operand_result(c, c->nin + i);
        if (item)
            PyTuple_SET_ITEM(tuple, i, item);
        else
            Py_CLEAR(tuple);
    }
    return tuple;
}

static int open_call(nl_py_gucall *c, nl_py_gufunc *g, PyObject *const *args, Py_ssize_t nargs,
                     PyObject *names, PyObject **outs) {
    nl_py_operation *o = &c->operation;
    nl_error err;
    c->g = g;
    c->nin = g->core.nin;
    c->count = g->core.nin + g->core.nout;
    c->read = c->replaced = c->on_device = 0;
    c->chosen = NULL;
    nl_py_operation_initialize(o, g->state, g->name);
    nl_py_keywords_init(g->state, &c->keywords);
    if (names && nl_py_keywords_read(g->state, g->name, names, args + nargs, 1u << NL_PY_KEY_WHERE,
                                     &c->keywords) < 0)
        return -1;
    PyObject *subok = c->keywords.given[NL_PY_KEY_SUBOK];
    if (subok && !PyBool_Check(subok)) {
        PyErr_SetString(PyExc_TypeError, "'subok' must be a boolean");
        return -1;
    }
    if (nl_py_keywords_read_outs(g->name, g->core.nin, g->core.nout, args, nargs, &c->keywords,
                                 outs) < 0)
        return -1;
    o->device = nl_device_current(&err);
    o->epoch = nl_atomic_load(&nl_device_epoch);
    if (!o->device)
        return raise_error(&err);
    return nl_py_stream_from_argument(g->state, c->keywords.given[NL_PY_KEY_STREAM], &o->stream,
                                      &o->blocking);
}

static void close_call(nl_py_gucall *c) {
    for (int i = 0; i < c->read; i++)
        nl_py_operand_clear(&c->operands[i]);
    for (int i = 0; i < c->replaced; i++)
        nl_py_operand_clear(&c->outs[i]);
    nl_py_operands_release_memory(&c->operation);
    Py_XDECREF(c->chosen);
    nl_mem_free(c);
}

static PyObject *gufunc_vectorcall(PyObject *self, PyObject *const *args, size_t flags,
                                   PyObject *names) {
    nl_py_gufunc *g = (nl_py_gufunc *)self;
    PyObject *outs[NL_GU_MAX_OPERANDS], *result = NULL;
    nl_error err;
    if (!g->name) {
        PyErr_SetString(PyExc_RuntimeError, "GUfunc.__init__ has not been called");
        return NULL;
    }
    if (nl_py_owners_run_if_needed(g->state, gufunc_vectorcall, self, args, flags, names, &result))
        return result;
    if (nl_py_override_try_handlers(g->state, self, g->core.nin, args, PyVectorcall_NARGS(flags),
                                    names, &result))
        return result;
    nl_py_gucall *c = nl_mem_alloc(sizeof *c, &err);
    if (!c)
        return nl_py_raise(&err);
    if (open_call(c, g, args, PyVectorcall_NARGS(flags), names, outs) == 0 &&
        nl_py_guoperands_read(c, args, outs) == 0 && nl_py_guoperands_find_dimensions(c) == 0 &&
        choose_kernel(c) == 0 && nl_py_guoperands_replace_inputs(c) == 0 &&
        nl_py_guoperands_make_outputs(c) == 0 && run_kernel(c) == 0)
        result = collect_results(c);
    close_call(c);
    return result;
}

/* ---- type ---- */

/* `dimensions` is ((size or -1, optional), ...); `operands` is, for each operand, inputs first, a
 * tuple of indices in `dimensions`. */
static int read_core(PyObject *dimensions, PyObject *operands, int nin, unsigned written,
                     nl_gcore *core) {
    Py_ssize_t count = PyTuple_GET_SIZE(dimensions), n = PyTuple_GET_SIZE(operands);
    if (count > NL_GU_MAX_DIMENSIONS || n > NL_GU_MAX_OPERANDS || nin < 1 || nin > n ||
        (uint64_t)written >> nin) {
        PyErr_Format(PyExc_ValueError,
                     "a generalized ufunc has at least one input, "
                     "at most %d operands and at most %d core dimensions",
                     NL_GU_MAX_OPERANDS, NL_GU_MAX_DIMENSIONS);
        return -1;
    }
    core->nin = nin;
    core->written = written;
    core->nout = (int)n - nin;
    core->count = (int)count;
    for (Py_ssize_t i = 0; i < count; i++) {
        long long size;
        int optional;
        if (!PyArg_Parse(PyTuple_GET_ITEM(dimensions, i), "(Lp)", &size, &optional))
            return -1;
        core->fixed[i] = size > 0 ? size : -1;
        core->optional[i] = (uint8_t)optional;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *places = PyTuple_GET_ITEM(operands, i);
        if (!PyTuple_Check(places) || PyTuple_GET_SIZE(places) > NL_GU_MAX_CORE) {
            PyErr_Format(PyExc_ValueError, "an operand has at most %d core dimensions",
                         NL_GU_MAX_CORE);
            return -1;
        }
        core->ndim[i] = (uint8_t)PyTuple_GET_SIZE(places);
        for (int k = 0; k < core->ndim[i]; k++) {
            long place = PyLong_AsLong(PyTuple_GET_ITEM(places, k));
            if (place < 0 || place >= count) {
                if (!PyErr_Occurred())
                    PyErr_SetString(PyExc_ValueError,
                                    "an operand refers to a core dimension that does not exist");
                return -1;
            }
            core->place[i][k] = (uint8_t)place;
        }
    }
    return 0;
}

static int gufunc_init(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"name", "text",  "dimensions", "operands",
                            "nin",  "block", "written",    NULL};
    nl_py_gufunc *g = (nl_py_gufunc *)self;
    PyObject *name, *text, *dimensions, *operands;
    nl_gcore core = {0};
    nl_error err;
    int nin, block = 0;
    unsigned written = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "UUO!O!i|pI:GUfunc", names, &name, &text,
                                     &PyTuple_Type, &dimensions, &PyTuple_Type, &operands, &nin,
                                     &block, &written))
        return -1;
    if (g->name) {
        PyErr_SetString(PyExc_RuntimeError, "GUfunc.__init__ was called before");
        return -1;
    }
    const char *name8 = PyUnicode_AsUTF8(name), *text8 = name8 ? PyUnicode_AsUTF8(text) : NULL;
    if (!text8 || read_core(dimensions, operands, nin, written, &core) < 0)
        return -1;
    core.name = nl_mem_strdup(name8, &err);
    core.text = core.name ? nl_mem_strdup(text8, &err) : NULL;
    if (!core.text) {
        nl_mem_free(core.name);
        nl_py_raise(&err);
        return -1;
    }
    g->core = core;
    g->block = block;
    g->fixed_from = 1 << 14;
    g->staged_from = 1 << 20;
    g->name = Py_NewRef(name);
    return 0;
}

static PyObject *gufunc_new(PyTypeObject *type, PyObject *Py_UNUSED(args),
                            PyObject *Py_UNUSED(kwargs)) {
    nl_py_state *state = nl_py_state_of_type(type);
    nl_py_gufunc *g = state ? (nl_py_gufunc *)type->tp_alloc(type, 0) : NULL;
    if (!g)
        return NULL;
    g->state = state;
    g->vectorcall = gufunc_vectorcall;
    return (PyObject *)g;
}

static int gufunc_traverse(PyObject *self, visitproc visit, void *arg) {
    nl_py_gufunc *g = (nl_py_gufunc *)self;
    Py_VISIT(Py_TYPE(self));
    return nl_py_overloads_traverse(&g->kernels, visit, arg);
}

static int gufunc_clear(PyObject *self) {
    nl_py_overloads_clear(&((nl_py_gufunc *)self)->kernels);
    return 0;
}

static void gufunc_dealloc(PyObject *self) {
    nl_py_gufunc *g = (nl_py_gufunc *)self;
    PyObject_GC_UnTrack(self);
    if (g->weakrefs)
        PyObject_ClearWeakRefs(self);
    Py_XDECREF(g->name);
    nl_py_overloads_free(&g->choices);
    nl_py_gukernel_free(g);
    nl_mem_free(g->core.name);
    nl_mem_free(g->core.text);
    nl_py_free_object(self);
}

static PyObject *gufunc_get_staged(PyObject *self, void *Py_UNUSED(closure)) {
    nl_py_staging staging = ((nl_py_gufunc *)self)->staging;
    if (staging == NL_PY_UNDECIDED)
        Py_RETURN_NONE;
    return PyBool_FromLong(staging == NL_PY_STAGED);
}

static int gufunc_set_staged(PyObject *self, PyObject *value, void *Py_UNUSED(closure)) {
    if (value != Py_None && value != Py_True && value != Py_False) {
        PyErr_Format(PyExc_TypeError,
                     "%U.staged must be True, False, or None to measure which is faster",
                     ((nl_py_gufunc *)self)->name);
        return -1;
    }
    if (value == Py_True && ((nl_py_gufunc *)self)->block) {
        PyErr_Format(PyExc_ValueError,
                     "%U.staged: the function has block=, "
                     "so a block computes each core and stages the core in shared memory itself",
                     ((nl_py_gufunc *)self)->name);
        return -1;
    }
    ((nl_py_gufunc *)self)->staging = value == Py_None   ? NL_PY_UNDECIDED
                                      : value == Py_True ? NL_PY_STAGED
                                                         : NL_PY_PLAIN;
    return 0;
}

static PyGetSetDef gufunc_getset[] = {
    {"staged", gufunc_get_staged, gufunc_set_staged,
     "On GPUs, whether cores of up to 8 KB use shared memory. "
     "None, the default: the faster variant, as measured in the first calls. "
     "True and False select the variant.",
     NULL},
    {0}};

static PyMemberDef gufunc_members[] = {
    {"__vectorcalloffset__", Py_T_PYSSIZET, offsetof(nl_py_gufunc, vectorcall), Py_READONLY, NULL},
    {"__weaklistoffset__", Py_T_PYSSIZET, offsetof(nl_py_gufunc, weakrefs), Py_READONLY, NULL},
    {"fixed_from", Py_T_LONGLONG, offsetof(nl_py_gufunc, fixed_from), 0,
     "Minimum number of loop indices for a kernel that is compiled for the shapes of small cores."},
    {"staged_from", Py_T_LONGLONG, offsetof(nl_py_gufunc, staged_from), 0,
     "Minimum size in bytes of the cores for which they are copied to shared memory."},
    {NULL, 0, 0, 0, NULL}};

static PyType_Slot gufunc_slots[] = {
    {Py_tp_doc, "GUfunc(name, text, dimensions, operands, nin, block=False, written=0): "
                "a generalized ufunc on the device. text: the layout, as a string. "
                "dimensions: (size or -1, optional) of each core dimension. "
                "operands: for each operand, inputs first, "
                "the tuple of indices of its core dimensions in `dimensions`. "
                "written: bit i is set if the function writes input i. "
                "Subclasses define _choose, _compile, _cast, _copy_contiguous and _copy_result."},
    {Py_tp_new, gufunc_new},
    {Py_tp_init, gufunc_init},
    {Py_tp_dealloc, gufunc_dealloc},
    {Py_tp_traverse, gufunc_traverse},
    {Py_tp_clear, gufunc_clear},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_members, gufunc_members},
    {Py_tp_getset, gufunc_getset},
    {0, NULL}};

static PyType_Spec gufunc_spec = {
    .name = "numbalite._core.GUfunc",
    .basicsize = sizeof(nl_py_gufunc),
    .flags =
        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .slots = gufunc_slots,
};

int nl_py_gufunc_exec(PyObject *module) {
    return nl_py_state_add_type(module, &gufunc_spec, NULL, &nl_py_state_of(module)->gufunc_type);
}
