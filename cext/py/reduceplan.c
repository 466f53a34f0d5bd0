/* py/reduceplan: provides the schedules of reductions and scans (core/reduceplan, core/scanplan) as
 * Python functions. */
#include "py/reduceplan.h"

#include <limits.h>
#include "core/reducelimit.h"
#include "core/reduceplan.h"
#include "core/scanplan.h"
#include "py/devarray.h"

static const char *const kind_names[] = {
    [NL_REDUCE_NONE] = "",
    [NL_REDUCE_PACKED] = "packed",
    [NL_REDUCE_STRIDED] = "strided",
    [NL_REDUCE_STEPPED] = "stepped",
    [NL_REDUCE_SHORT_PACKED] = "short_packed",
    [NL_REDUCE_SHORT_STRIDED] = "short_strided",
    [NL_REDUCE_GAPPED_PACKED] = "gapped_packed",
    [NL_REDUCE_GAPPED_STEPPED] = "gapped_stepped",
    [NL_REDUCE_COLUMNS] = "columns",
    [NL_REDUCE_TEAMS] = "teams",
    [NL_REDUCE_STRIPES] = "stripes",
    [NL_REDUCE_STAGED_COLUMNS] = "staged_columns",
    [NL_REDUCE_NARROW] = "narrow",
    [NL_REDUCE_SERIAL] = "serial",
    [NL_SCAN_SERIAL] = "scan_serial",
    [NL_SCAN_ROWS] = "scan_rows",
    [NL_SCAN_WARPS] = "scan_warps",
    [NL_SCAN_COLUMNS] = "scan_columns",
    [NL_SCAN_TILES] = "scan_tiles",
    [NL_SCAN_PIPELINED] = "pipelined_scan",
};

PyObject *nl_py_reduceplan_kernel_name(const nl_reduce_schedule *s) {
    const char *kind = kind_names[s->kind];
    if (s->ahead)
        return PyUnicode_FromFormat("%s%dx%d", kind, s->width, s->ahead);
    return s->width ? PyUnicode_FromFormat("%s%d", kind, s->width) : PyUnicode_FromString(kind);
}

/* ---- a schedule by itself ---- */

/* Reads dimensions from a sequence of tuples of four integers. */
static int read_dimensions(PyObject *items, nl_reduce_dims *dims) {
    PyObject *all = PySequence_Tuple(items);
    Py_ssize_t count = all ? PyTuple_GET_SIZE(all) : 0;
    int result = -1;
    dims->count = 0;
    if (!all)
        return -1;
    if (count > NL_MAX_DIMS) {
        PyErr_Format(PyExc_ValueError, "at most %d dimensions, not %zd", NL_MAX_DIMS, count);
        goto done;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        long long length, input, where, output;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(all, i), "LLLL;a dimension is four integers",
                              &length, &input, &where, &output))
            goto done;
        if (length < 1) {
            PyErr_SetString(PyExc_ValueError, "a dimension of a plan must not be empty");
            goto done;
        }
        dims->at[dims->count++] = (nl_reduce_dim){length, input, where, output};
    }
    result = 0;
done:
    Py_DECREF(all);
    return result;
}

static int check_itemsize(long long itemsize) {
    if (itemsize > 0)
        return 0;
    PyErr_Format(PyExc_ValueError, "itemsize must be positive, not %lld", itemsize);
    return -1;
}

static PyObject *reduction_schedule(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *kept, *reduced;
    nl_reduce_dims of_results, of_elements;
    long long itemsize, address, accumulator;
    nl_reduce_traits t;
    if (!PyArg_ParseTuple(args, "OOLLLpp:reduction_schedule", &kept, &reduced, &itemsize, &address,
                          &accumulator, &t.masked, &t.any_order) ||
        check_itemsize(itemsize) < 0 || read_dimensions(kept, &of_results) < 0 ||
        read_dimensions(reduced, &of_elements) < 0)
        return NULL;
    t.itemsize = itemsize;
    t.address = address;
    t.accumulator = accumulator;
    nl_reduce_schedule s = nl_reduceplan_choose_schedule(&of_results, &of_elements, &t);
    return Py_BuildValue("NiiLLL", nl_py_reduceplan_kernel_name(&s), s.threads, s.team,
                         (long long)s.parts, (long long)s.chunk, (long long)s.groups);
}

static PyObject *reduction_row_part(PyObject *Py_UNUSED(module), PyObject *args) {
    long long rows, row, itemsize, results;
    int any_order;
    if (!PyArg_ParseTuple(args, "LLLLp:reduction_row_part", &rows, &row, &itemsize, &results,
                          &any_order) ||
        check_itemsize(itemsize) < 0)
        return NULL;
    return PyLong_FromLongLong(
        nl_reduceplan_row_part_length(rows, row, itemsize, results, any_order));
}

static PyObject *reduction_lanes(PyObject *Py_UNUSED(module), PyObject *args) {
    long long length, width, accumulator, results;
    if (!PyArg_ParseTuple(args, "LLLL:reduction_lanes", &length, &width, &accumulator, &results))
        return NULL;
    return PyLong_FromLong(nl_reduceplan_lanes_per_row(length, width, accumulator, results));
}

static PyObject *get_reduction_limit(PyObject *Py_UNUSED(module), PyObject *args) {
    const char *name;
    long long value;
    if (!PyArg_ParseTuple(args, "sL:reduction_limit", &name, &value))
        return NULL;
    int64_t *limit = nl_reducelimit_find(name);
    if (!limit || value < 0)
        return PyErr_Format(PyExc_ValueError, limit ? "%s must not be negative" : "no limit %s",
                            name);
    long long before = *limit;
    *limit = value;
    return PyLong_FromLongLong(before);
}

/* ---- the launches of a call ---- */

/* Checks the sizes in bytes of an accumulator and of the initial value. */
static int check_accumulator_size(long long accumulator, const Py_buffer *initial) {
    if (accumulator > 0 && accumulator <= INT_MAX && (!initial->buf || initial->len <= accumulator))
        return 0;
    PyErr_Format(
        PyExc_ValueError,
        "accumulators of %lld bytes: the minimum is one byte, and the size of initial, %zd",
        accumulator, initial->buf ? initial->len : (Py_ssize_t)0);
    return -1;
}

static PyObject *tuple_of_slots(const nl_reduce_step *step) {
    PyObject *slots = PyTuple_New(step->slot_count);
    for (int i = 0; slots && i < step->slot_count; i++) {
        PyObject *slot = PyLong_FromLong(step->slots[i]);
        if (!slot)
            Py_CLEAR(slots);
        else
            PyTuple_SET_ITEM(slots, i, slot);
    }
    return slots;
}

static PyObject *reduction_step_of(const nl_reduce_step *step) {
    return Py_BuildValue(
        "NNiiNNLiNN", nl_py_reduceplan_kernel_name(&step->schedule),
        nl_py_reduceplan_kernel_name(&step->last), (int)step->reads, (int)step->writes,
        PyBool_FromLong(step->wide), PyBool_FromLong(step->cached), (long long)step->grid,
        step->schedule.threads,
        PyBytes_FromStringAndSize((const char *)step->plan, (Py_ssize_t)step->plan_size),
        tuple_of_slots(step));
}

static PyObject *scan_step_of(const nl_reduce_step *step) {
    return Py_BuildValue(
        "NiiNiLiNNL", nl_py_reduceplan_kernel_name(&step->schedule), (int)step->reads,
        (int)step->writes, PyBool_FromLong(step->wide), step->vec, (long long)step->grid,
        step->schedule.threads,
        PyBytes_FromStringAndSize((const char *)step->plan, (Py_ssize_t)step->plan_size),
        tuple_of_slots(step), (long long)step->shared_bytes);
}

PyObject *nl_py_reduceplan_steps(const nl_reduce_plan *plan, int is_scan) {
    PyObject *steps = PyList_New(0);
    for (int i = 0; steps && i < plan->step_count; i++) {
        PyObject *item =
            is_scan ? scan_step_of(&plan->steps[i]) : reduction_step_of(&plan->steps[i]);
        if (!item || PyList_Append(steps, item) < 0)
            Py_CLEAR(steps);
        Py_XDECREF(item);
    }
    return steps;
}

static PyObject *list_scratch_arrays(const nl_reduce_plan *plan) {
    PyObject *scratch = PyList_New(0);
    for (int i = 0; scratch && i < plan->scratch_count; i++) {
        PyObject *item =
            Py_BuildValue("iL", (int)plan->scratch[i].kind, (long long)plan->scratch[i].count);
        if (!item || PyList_Append(scratch, item) < 0)
            Py_CLEAR(scratch);
        Py_XDECREF(item);
    }
    return scratch;
}

/* Checks that the arrays of a scan are valid: `out` must have the shape of `array`, which must not
 * be empty. */
static int check_scan_arrays(const nl_py_state *state, PyObject *array, PyObject *out, int axis) {
    if (!nl_py_devarray_check(state, array) || !nl_py_devarray_check(state, out)) {
        PyErr_SetString(PyExc_TypeError, "scan_plan() accepts device arrays");
        return -1;
    }
    const nl_py_array *a = (const nl_py_array *)array, *o = (const nl_py_array *)out;
    int is_valid =
        a->ndim == o->ndim && axis >= 0 && axis < a->ndim && a->itemsize > 0 && o->itemsize > 0;
    for (int i = 0; is_valid && i < a->ndim; i++)
        is_valid = a->shape[i] == o->shape[i] && a->shape[i] > 0;
    if (!is_valid)
        PyErr_SetString(PyExc_ValueError, "scan_plan() needs an axis of an array with elements, "
                                          "and an output of the array's shape");
    return is_valid ? 0 : -1;
}

static PyObject *scan_plan(PyObject *module, PyObject *args) {
    PyObject *array, *out, *result = NULL;
    Py_buffer initial = {.buf = NULL};
    long long accumulator;
    nl_scan_request r;
    nl_reduce_plan plan;
    if (!PyArg_ParseTuple(args, "OOiLz*:scan_plan", &array, &out, &r.axis, &accumulator, &initial))
        return NULL;
    if (check_accumulator_size(accumulator, &initial) < 0 ||
        check_scan_arrays(nl_py_state_of(module), array, out, r.axis) < 0)
        goto done;
    plan.storage = PyMem_Malloc(nl_scanplan_storage_size(accumulator));
    if (!plan.storage) {
        PyErr_NoMemory();
        goto done;
    }
    const nl_py_array *a = (const nl_py_array *)array, *o = (const nl_py_array *)out;
    r.stored = a->itemsize;
    r.accumulator = accumulator;
    r.result = o->itemsize;
    r.input = (int64_t)(a->address % 16);
    r.output = (int64_t)(o->address % 16);
    r.ndim = a->ndim;
    r.shape = a->shape;
    r.strides = nl_py_devarray_strides(a);
    r.output_strides = nl_py_devarray_strides(o);
    r.initial = initial.buf;
    r.initial_size = initial.buf ? (size_t)initial.len : 0;
    nl_scanplan_make(&r, &plan);
    result = Py_BuildValue("NN", nl_py_reduceplan_steps(&plan, 1), list_scratch_arrays(&plan));
    PyMem_Free(plan.storage);
done:
    PyBuffer_Release(&initial);
    return result;
}

/* ---- the plan of one kernel ---- */

/* Reads dimensions like read_dimensions, but without checking the length of the tuples, which
 * numbalite's own code has created. */
static int read_plan_dimensions(PyObject *items, int merges, nl_reduce_dims *dims) {
    Py_ssize_t count = PyList_GET_SIZE(items);
    dims->count = 0;
    if (count > NL_MAX_DIMS) {
        PyErr_Format(PyExc_ValueError, "at most %d dimensions, not %zd", NL_MAX_DIMS, count);
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        long long length, input, where, output;
        if (!PyArg_ParseTuple(PyList_GET_ITEM(items, i), "LLLL;a dimension is four integers",
                              &length, &input, &where, &output))
            return -1;
        const nl_reduce_dim one = {length, input, where, output};
        if (merges)
            nl_reducelaunch_append_merged(dims, one);
        else
            nl_reducelaunch_append_dim(dims, one);
    }
    return 0;
}

static PyObject *kernel_plan(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *kept, *reduced, *result = NULL;
    Py_buffer initial = {.buf = NULL};
    nl_reduce_dims of_results, of_elements;
    nl_reduce_plan plan = {.storage = NULL};
    nl_reduce_schedule s = {.kind = NL_REDUCE_NONE};
    long long parts, chunk, results, itemsize;
    int is_last, merges;
    if (!PyArg_ParseTuple(args, "O!O!LLiLz*pLi:kernel_plan", &PyList_Type, &kept, &PyList_Type,
                          &reduced, &parts, &chunk, &s.team, &results, &initial, &is_last,
                          &itemsize, &merges))
        return NULL;
    s.parts = parts;
    s.chunk = chunk;
    if (check_accumulator_size(itemsize, &initial) < 0 ||
        read_plan_dimensions(kept, merges & 2, &of_results) < 0 ||
        read_plan_dimensions(reduced, merges & 1, &of_elements) < 0)
        goto done;
    plan.storage = PyMem_Malloc(nl_reducelaunch_storage_size(itemsize));
    if (!plan.storage) {
        PyErr_NoMemory();
        goto done;
    }
    const nl_reduce_plan_options o = {.initial = initial.buf,
                                      .initial_size = initial.buf ? (size_t)initial.len : 0,
                                      .copies = 1,
                                      .is_last = is_last,
                                      .segmented = -1,
                                      .divisor = 1.0,
                                      .results = results};
    nl_reducelaunch_add_step(&plan, &s, NL_REDUCE_STORED, NL_REDUCE_RESULT, 0);
    int wide = nl_reducelaunch_write_plan(&plan, &s, &of_results, &of_elements, itemsize, &o);
    result = Py_BuildValue("y#N", (const char *)plan.storage, (Py_ssize_t)plan.used,
                           PyBool_FromLong(wide));
done:
    PyMem_Free(plan.storage);
    PyBuffer_Release(&initial);
    return result;
}

static PyObject *reduction_observer(PyObject *module, PyObject *observer) {
    nl_py_state *state = nl_py_state_of(module);
    PyObject *before = state->plan_observer;
    state->plan_observer = Py_NewRef(observer);
    return before ? before : Py_NewRef(Py_None);
}

static PyMethodDef functions[] = {
    {"reduction_observer", reduction_observer, METH_O,
     "reduction_observer(function): "
     "calls function(is it a scan, steps) with the plan of each later reduction and scan; for "
     "tests. "
     "None removes the function. Returns the previous function. "
     "A step of a scan is described in scan_plan; a step of a reduction consists of: "
     "kernel, kernel of its last block or '', what it reads, what it writes, wide, cached, "
     "grid, threads, plan, slots."},
    {"kernel_plan", kernel_plan, METH_VARARGS,
     "kernel_plan(kept, reduced, parts, chunk, team, results, initial, is_last, itemsize, merges): "
     "returns (the plan of a kernel as bytes, whether the plan is wide). "
     "Dimensions are lists of (length, stride of the input, of the mask, of the output). "
     "merges: neighbouring dimensions are merged if the strides allow it; "
     "1: reduced dimensions, 2: kept dimensions, 3: both. "
     "results: the number of results; 0: the product of the kept lengths. "
     "initial: bytes of a number, or None."},
    {"scan_plan", scan_plan, METH_VARARGS,
     "scan_plan(array, out, axis, accumulator, initial): returns (steps, scratch), for tests. "
     "A step is (kernel, what it reads, what it writes, wide, columns that are one element, "
     "grid, threads, plan, slots, bytes of shared memory). "
     "Reads and writes: 0 the array's dtype, 1 accumulators, 2 the output's dtype. "
     "A scratch array is (kind, count). "
     "Kinds: 0 accumulators, 1 booleans, 2 a counter, 3 zeroed uint32."},
    {"reduction_schedule", reduction_schedule, METH_VARARGS,
     "reduction_schedule(kept, reduced, itemsize, address, accumulator, masked, any_order): "
     "returns (kernel, threads, team, parts, chunk, groups)."},
    {"reduction_row_part", reduction_row_part, METH_VARARGS,
     "reduction_row_part(rows, row, itemsize, results, any_order): "
     "returns the number of elements in each part of a row, for several rows with gaps. "
     "Returns 0 if the rows cannot be divided."},
    {"reduction_limit", get_reduction_limit, METH_VARARGS,
     "reduction_limit(name, value): "
     "sets a limit of core/reducelimit.c, and returns its previous value."},
    {"reduction_lanes", reduction_lanes, METH_VARARGS,
     "reduction_lanes(length, width, accumulator, results): "
     "returns the number of lanes for a row; 32 is a warp."},
    {NULL, NULL, 0, NULL}};

int nl_py_reduceplan_exec(PyObject *module) {
    return nl_py_state_add_functions(module, functions);
}
