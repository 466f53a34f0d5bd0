/* py/selection: launches the kernels of cuda_src/numbalite/select.cuh, which select elements of an
 * array by a mask or by a function of an element. The kernels depend on dtypes and on the number of
 * elements per thread; Python code compiles each kernel once. */
#include <stdio.h>
#include <string.h>
#include "core/pinned.h"
#include "core/reducelaunch.h"
#include "core/reducelimit.h"
#include "core/wait.h"
#include "py/capture.h"
#include "py/devarray.h"
#include "py/launches.h"
#include "py/stream.h"
#include "py/trace.h"

enum {
    THREADS = 256,          /* threads per block of reverse_rest */
    BYTES = 64,             /* of the elements that a thread processes */
    MAX_ITEMS = 16,         /* elements per thread */
    PACKED_ITEMS = 16,      /* elements per thread of select_packed, a multiple of 16 */
    MANY_PACKED_ITEMS = 64, /* the same for large arrays */
    MASK_ALIGNMENT = 16,    /* of masks for select_packed */
};

typedef enum selection_kind { VALUES, INDICES, HALVES, SPREAD, COVER, KINDS } selection_kind;

static const char *const kind_names[KINDS] = {"values", "indices", "halves", "spread", "cover"};

typedef struct selection {
    nl_py_state *state;
    PyObject *loops; /* numbalite.ufuncs.reduceloops.Loops */
    selection_kind kind;
    const nl_py_array *array, *mask, *out; /* mask: NULL to select by a function */
    int64_t size, step, apart; /* step: bytes between selected elements in the output; apart: bytes
                                * between the indices of an element */
    int items, packed, threads, wide;
    int64_t parts;
} selection;

/* select_packed needs a contiguous, aligned mask, and an array whose elements are found without a
 * division. */
static int can_use_packed_mask(const selection *s) {
    const int is_regular =
        s->kind == INDICES || s->array->ndim == 1 || s->array->flags & NL_PY_ARRAY_C;
    return s->mask && is_regular && s->mask->flags & NL_PY_ARRAY_C &&
           s->mask->address % MASK_ALIGNMENT == 0 &&
           (s->kind == VALUES || s->kind == INDICES || s->kind == SPREAD);
}

static int64_t selection_limit(enum nl_reducelimit_name name) {
    return nl_reducelimit_table[name].value;
}

static void choose_schedule(selection *s) {
    int64_t fitting = BYTES / max64(1, s->array->itemsize);
    s->packed = can_use_packed_mask(s);
    s->items = (int)max64(1, min64(MAX_ITEMS, fitting));
    if (s->packed)
        s->items =
            s->size >= selection_limit(NL_LIMIT_MANY_SELECTED) ? MANY_PACKED_ITEMS : PACKED_ITEMS;
    s->threads = (int)min64(selection_limit(NL_LIMIT_SELECT_THREADS),
                            32 * divide_up(s->size, 32 * (int64_t)s->items));
    s->parts = divide_up(s->size, (int64_t)s->threads * s->items);
}

/* Writes the plan that the kernel reads. */
static void write_plan(selection *s, nl_reduce_plan *plan) {
    const nl_py_array *a = s->array;
    const int64_t *strides = nl_py_devarray_strides(a);
    const int repeats = s->kind == SPREAD || s->kind == COVER;
    nl_reduce_schedule schedule = {.kind = NL_REDUCE_NONE,
                                   .team = 1,
                                   .parts = s->parts,
                                   .chunk = (int64_t)s->threads * s->items};
    const nl_reduce_plan_options o = {
        .copies = 1, .is_last = 1, .segmented = -1, .divisor = 1.0, .results = 1};
    nl_reduce_dims kept, dims;
    kept.count = dims.count = 0;
    nl_reducelaunch_append_dim(
        &kept, (nl_reduce_dim){repeats ? nl_py_devarray_count(s->out) : 1, 0, 0, s->step});
    for (int i = 0; i < a->ndim; i++) {
        const nl_reduce_dim one = {a->shape[i], strides[i],
                                   s->mask ? nl_py_devarray_strides(s->mask)[i] : 0, s->apart * i};
        if (s->kind == INDICES)
            nl_reducelaunch_append_dim(&dims, one);
        else
            nl_reducelaunch_append_merged(&dims, one);
    }
    if (dims.count == 0)
        nl_reducelaunch_append_dim(&dims, (nl_reduce_dim){1, 0, 0, 0});
    nl_reducelaunch_add_step(plan, &schedule, NL_REDUCE_STORED, NL_REDUCE_RESULT, 0);
    s->wide = nl_reducelaunch_write_plan(plan, &schedule, &kept, &dims, max64(1, a->itemsize), &o);
}

/* Returns a new reference to (kernel, dtype of its plan). `name` is the name of the kernel, which
 * `number` identifies for this dtype. */
static PyObject *find_kernel(const selection *s, const char *name, long number, int masked) {
    PyObject *found = NULL, *cache = PyObject_GetAttrString(s->loops, "selections");
    PyObject *key = cache ? Py_BuildValue("Ol", s->array->descr, number) : NULL;
    if (key && PyDict_GetItemRef(cache, key, &found) >= 0 && !found) {
        found = PyObject_CallMethod(s->loops, "selection_kernel", "sOOO", name, s->array->descr,
                                    masked ? Py_True : Py_False, s->wide ? Py_True : Py_False);
        if (found && PyDict_SetItem(cache, key, found) < 0)
            Py_CLEAR(found);
    }
    Py_XDECREF(key);
    Py_XDECREF(cache);
    return found;
}

/* Appends a launch; steals the reference to `kernel`. */
static int add_step(nl_py_launches *l, PyObject *kernel, const nl_reduce_plan *plan, int64_t grid,
                    int threads, const uint8_t *slots, int count) {
    nl_py_step *step = &l->steps[l->step_count];
    PyObject *descr = kernel ? PyTuple_GET_ITEM(kernel, 1) : NULL;
    int result = -1;
    if (descr && nl_py_hostarray_element_of_descr(descr).itemsize != (int64_t)plan->used)
        PyErr_Format(PyExc_ValueError, "a plan of %zu bytes for another kernel", plan->used);
    else if (descr)
        result = nl_py_launches_start_step(step, grid, threads, 0);
    if (result == 0) {
        step->plan = nl_py_hostarray_new_scalar(descr, plan->storage);
        result = step->plan ? 0 : -1;
    }
    if (result == 0) {
        step->kernel = Py_NewRef(PyTuple_GET_ITEM(kernel, 0));
        step->slot_count = count;
        memcpy(step->slots, slots, (size_t)count);
        l->step_count++;
    }
    Py_XDECREF(kernel);
    return result;
}

/* Appends the scratch array of the look-back, which the kernel of several blocks needs. */
static int add_status_scratch(nl_py_launches *l, int64_t tiles) {
    int64_t statuses = tiles + divide_up(tiles, 32) + divide_up(tiles, 1024);
    l->scratch[0] = (nl_py_scratch){.descr = nl_py_hostarray_descr_of_dtype(NL_UINT32),
                                    .count = 2 * (1 + 2 * statuses),
                                    .is_zeroed = 1};
    l->scratch_count = l->scratch[0].descr != NULL;
    return l->scratch_count - 1;
}

static int add_launches(selection *s, nl_py_launches *l, const nl_reduce_plan *plan) {
    const int looks_back = s->parts > 1 && s->kind != COVER;
    const uint8_t slots[] = {NL_REDUCE_INPUT, s->mask ? NL_REDUCE_WHERE : NL_REDUCE_INPUT,
                             NL_REDUCE_OUTPUT, looks_back ? NL_REDUCE_SCRATCH : NL_REDUCE_OUTPUT,
                             NL_REDUCE_SEGMENTS};
    const uint8_t of_reversal[] = {NL_REDUCE_OUTPUT, NL_REDUCE_OUTPUT, NL_REDUCE_OUTPUT,
                                   NL_REDUCE_OUTPUT, NL_REDUCE_SEGMENTS};
    const long number = (long)s->kind | s->packed << 3 | (s->mask != NULL) << 4 | s->wide << 5 |
                        (long)s->items << 8;
    char name[64];
    snprintf(name, sizeof name, "select_%s%s%d", s->packed ? "packed_" : "", kind_names[s->kind],
             s->items);
    if ((looks_back && add_status_scratch(l, s->parts) < 0) ||
        add_step(l, find_kernel(s, name, number, s->mask != NULL), plan, s->parts, s->threads,
                 slots, sizeof slots) < 0)
        return -1;
    if (s->kind != HALVES || s->size < 2)
        return 0;
    return add_step(l, find_kernel(s, "reverse_rest", KINDS | s->wide << 5, 0), plan,
                    divide_up(s->size / 2, THREADS), THREADS, of_reversal, sizeof of_reversal);
}

static int launch_selection(selection *s, PyObject *count, PyObject *stream) {
    PyObject *array = (PyObject *)s->array;
    PyObject *given[NL_PY_GIVEN] = {array, s->mask ? (PyObject *)s->mask : array,
                                    (PyObject *)s->out, count};
    nl_reduce_plan plan = {
        .storage = PyMem_Malloc(nl_reducelaunch_storage_size(max64(1, s->array->itemsize)))};
    nl_py_launches l; /* not initialized: it is large */
    if (!plan.storage) {
        PyErr_NoMemory();
        return -1;
    }
    choose_schedule(s);
    write_plan(s, &plan);
    nl_py_launches_init(&l, s->state, NULL);
    int result = add_launches(s, &l, &plan);
    if (result == 0)
        result = nl_py_launches_run(&l, given, stream);
    nl_py_launches_clear(&l);
    PyMem_Free(plan.storage);
    return result;
}

/* ---- the number of selected elements ---- */

/* Returns a new array of one int64 at the beginning of a page-locked block. */
static PyObject *count_array_in_block(const selection *s, const nl_pinned *block) {
    nl_layout scalar = {.ndim = 1, .itemsize = sizeof(int64_t), .shape = {1}};
    nl_py_array_parts parts = {.address = block->address};
    nl_error err;
    PyObject *array = NULL;
    nl_layout_set_c(&scalar);
    if (nl_buffer_wrap_memory(block->device, block->address, sizeof(int64_t), NULL, NULL,
                              &parts.buffer, &err) < 0)
        return nl_py_raise(&err);
    parts.descr = nl_py_hostarray_descr_of_dtype(NL_INT64);
    if (parts.descr) {
        parts.element = nl_py_hostarray_element_of_descr(parts.descr);
        array = nl_py_devarray_new(s->state, &parts, &scalar);
    }
    Py_XDECREF(parts.descr);
    nl_buffer_release(parts.buffer);
    return array;
}

/* Launches the selection and waits for it. The kernel writes the number of selected elements to the
 * page-locked block, so that no copy follows it. */
static PyObject *select_with_block(selection *s, nl_pinned *block, PyObject *stream) {
    nl_error err;
    CUstream handle;
    int status = -1, is_idle = 1;
    PyObject *count = count_array_in_block(s, block);
    if (count && nl_py_stream_from_argument(s->state, stream, &handle, NULL) == 0 &&
        launch_selection(s, count, stream) == 0) {
        NL_UNLOCKED({
            status = NL_CU(&err, StreamSynchronize, handle);
            if (status < 0)
                is_idle = nl_wait_until_idle(handle);
        });
        if (status < 0)
            nl_py_raise(&err);
    }
    Py_XDECREF(count);
    PyObject *number = status < 0 ? NULL : PyLong_FromLongLong(*(const int64_t *)block->host);
    if (is_idle)
        nl_pinned_release(block);
    else
        nl_pinned_release_after_work(block, handle);
    return number;
}

/* Returns the number of selected elements, or None without a launch if an array on the device must
 * receive the number. */
static PyObject *select_and_count(selection *s, PyObject *stream) {
    nl_pinned *block = NULL;
    nl_error ignored;
    if (s->size == 0)
        return PyLong_FromLong(0);
    if (!nl_capture_is_any_active() && !nl_py_is_tracing() && nl_device_current(&ignored))
        (void)nl_pinned_acquire(s->array->buffer->device, &block, &ignored);
    return block ? select_with_block(s, block, stream) : Py_NewRef(Py_None);
}

static int read_kind(const char *name) {
    int kind = 0;
    while (kind < KINDS && strcmp(name, kind_names[kind]) != 0)
        kind++;
    return kind;
}

static PyObject *select_elements(PyObject *module, PyObject *args) {
    PyObject *array, *mask, *out, *count, *stream;
    const char *name;
    long long step, apart;
    selection s = {.state = nl_py_state_of(module)};
    if (!PyArg_ParseTuple(args, "OsOOOOLLO:select_elements", &s.loops, &name, &array, &mask, &out,
                          &count, &step, &apart, &stream))
        return NULL;
    s.kind = (selection_kind)read_kind(name);
    s.array = (nl_py_array *)array;
    s.mask = mask == Py_None ? NULL : (nl_py_array *)mask;
    s.out = (nl_py_array *)out;
    s.step = step;
    s.apart = apart;
    if (s.kind == KINDS || !nl_py_devarray_check(s.state, array) ||
        (s.mask && !nl_py_devarray_check(s.state, mask)) || !nl_py_devarray_check(s.state, out) ||
        !(count == Py_None || nl_py_devarray_check(s.state, count)))
        return PyErr_Format(PyExc_TypeError, "select_elements() accepts device arrays");
    if (s.mask &&
        (s.mask->ndim != s.array->ndim || s.mask->itemsize != 1 ||
         memcmp(s.mask->shape, s.array->shape, (size_t)s.mask->ndim * sizeof(int64_t)) != 0))
        return PyErr_Format(PyExc_ValueError, "a mask has the shape of the array");
    s.size = nl_py_devarray_count(s.array);
    if (count == Py_None)
        return select_and_count(&s, nl_py_stream_null_if_none(stream));
    if (s.size == 0)
        return PyObject_CallMethod(count, "fill", "iO", 0, stream);
    if (launch_selection(&s, count, nl_py_stream_null_if_none(stream)) < 0)
        return NULL;
    return Py_NewRef(Py_None);
}

static PyMethodDef functions[] = {
    {"select_elements", select_elements, METH_VARARGS,
     "select_elements(loops, what, array, mask, out, count, step, apart, stream): "
     "launches the selection of elements by a mask, or by the function of `loops` if mask is None. "
     "count: a device array that receives their number. "
     "If count is None, waits and returns the number, "
     "or returns None without a launch if this is impossible, as in a capture. "
     "step: bytes between the selected elements in out. "
     "apart: bytes between the indices of an element."},
    {NULL, NULL, 0, NULL}};

int nl_py_selection_exec(PyObject *module) {
    return nl_py_state_add_functions(module, functions);
}
