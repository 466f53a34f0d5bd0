/* py/batchcopy: computes the arguments of kernels that copy elements: several copies to one array
 * in one launch (the kernels are in numbalite/ndarray/batchcopy.py), a copy between two layouts
 * (assign.py), and a gather by index arrays (gather.py). */
#include <string.h>
#include "core/runs.h"
#include "py/devarray.h"

enum {
    MAX_PARTS = 32,
    MAX_DIMS = 4,
    MAX_WORD = 16,
    BLOCK_WORDS = 256 * 4, /* number of words that a block copies, as in
                            * cuda_src/templates/join.cu */
};

typedef struct part {
    const nl_py_array *source;
    CUdeviceptr from, to; /* addresses of the first elements */
    nl_runs runs;
} part;

static int read_copy_part(const nl_py_state *state, const nl_py_array *target, PyObject *tuple,
                          part *p) {
    PyObject *source, *shape, *of, *to;
    Py_ssize_t begin, at;
    nl_layout layout, into;
    if (!PyTuple_Check(tuple)) {
        PyErr_SetString(PyExc_TypeError, "a part is a tuple");
        return -1;
    }
    if (!PyArg_ParseTuple(tuple, "OOOOnn;a part has six items", &source, &shape, &of, &to, &begin,
                          &at) ||
        nl_py_geometry_read_shape(shape, &layout) < 0 ||
        nl_py_geometry_read_strides(of, &layout, "strides") < 0)
        return -1;
    into.ndim = layout.ndim;
    if (nl_py_geometry_read_strides(to, &into, "strides") < 0)
        return -1;
    if (!nl_py_devarray_check(state, source)) {
        PyErr_SetString(PyExc_TypeError,
                        "batch_copy_plan(): the source of a part must be a device array");
        return -1;
    }
    layout.itemsize = target->itemsize;
    p->source = (const nl_py_array *)source;
    p->from = p->source->address + (CUdeviceptr)begin;
    p->to = target->address + (CUdeviceptr)at;
    if (nl_layout_count_elements(&layout) <= 0) {
        PyErr_SetString(PyExc_ValueError, "a part has elements");
        return -1;
    }
    nl_runs_make(&p->runs, &layout, into.strides);
    return 0;
}

/* ---- views of words ---- */

static void make_word_layout(const nl_runs *r, int64_t itemsize, int64_t size, int ndim,
                             int is_target, nl_layout *layout) {
    int missing = ndim - r->count;
    layout->ndim = ndim;
    layout->itemsize = size;
    for (int i = 0; i < ndim; i++) {
        const nl_run_axis *axis = i < missing ? NULL : &r->axes[i - missing];
        layout->shape[i] = axis ? axis->length : 1;
        layout->strides[i] = !axis ? 0 : is_target ? axis->to : axis->of;
    }
    layout->shape[ndim - 1] = r->axes[r->count - 1].length * itemsize / size;
    layout->strides[ndim - 1] = size;
}

static PyObject *make_region_view(const nl_py_array *base, CUdeviceptr address, PyObject *descr,
                                  const nl_layout *layout) {
    const nl_layout_view view = nl_layout_make_view(layout, address);
    const nl_range part = nl_layout_address_range(&view);
    const nl_buffer *buffer = base->buffer;
    if (part.low < buffer->address || part.high > buffer->address + buffer->size) {
        PyErr_SetString(PyExc_ValueError,
                        "batch_copy_plan(): a part is outside of the memory of its array");
        return NULL;
    }
    nl_py_array_parts parts = nl_py_devarray_shared_members(base);
    parts.address = address;
    parts.descr = descr;
    parts.element = nl_py_hostarray_element_of_descr(descr);
    return nl_py_devarray_new(base->state, &parts, layout);
}

/* Appends the view of the target, the view of the source, and the number of blocks; returns the
 * number of blocks, or -1. */
static int64_t append_copy_part(PyObject *given, const nl_py_array *target, const part *p,
                                PyObject *descr, int64_t size, int ndim) {
    nl_layout layout;
    PyObject *items[3] = {NULL};
    make_word_layout(&p->runs, target->itemsize, size, ndim, 1, &layout);
    int64_t blocks = (nl_layout_count_elements(&layout) + BLOCK_WORDS - 1) / BLOCK_WORDS;
    items[0] = make_region_view(target, p->to, descr, &layout);
    make_word_layout(&p->runs, target->itemsize, size, ndim, 0, &layout);
    if (items[0])
        items[1] = make_region_view(p->source, p->from, descr, &layout);
    if (items[1])
        items[2] = PyLong_FromLongLong(blocks);
    int failed = !items[2];
    for (int i = 0; i < 3; i++) {
        failed = failed || PyList_Append(given, items[i]) < 0;
        Py_XDECREF(items[i]);
    }
    return failed ? -1 : blocks;
}

static nl_dtype dtype_of_word_size(int64_t size) {
    switch (size) {
    case 16:
        return NL_COMPLEX128;
    case 8:
        return NL_UINT64;
    case 4:
        return NL_UINT32;
    case 2:
        return NL_UINT16;
    default:
        return NL_UINT8;
    }
}

static PyObject *make_batch_copy_plan(const nl_py_array *target, const part *parts, int count) {
    int64_t size = MAX_WORD, total = 0;
    int ndim = 1;
    for (int i = 0; i < count; i++) {
        if (parts[i].source->buffer->device != target->buffer->device)
            return Py_NewRef(Py_None);
        size =
            nl_runs_word_size(&parts[i].runs, target->itemsize, parts[i].from | parts[i].to, size);
        ndim = parts[i].runs.count > ndim ? parts[i].runs.count : ndim;
    }
    if (ndim > MAX_DIMS)
        return Py_NewRef(Py_None);
    PyObject *descr = nl_py_hostarray_descr_of_dtype(dtype_of_word_size(size)),
             *given = PyList_New(0);
    for (int i = 0; descr && given && i < count; i++) {
        int64_t blocks = append_copy_part(given, target, &parts[i], descr, size, ndim);
        if (blocks < 0)
            Py_CLEAR(given);
        total += blocks;
    }
    Py_XDECREF(descr);
    if (!descr || !given) {
        Py_XDECREF(given);
        return NULL;
    }
    return Py_BuildValue("LiLN", (long long)size, ndim, (long long)total, given);
}

static PyObject *batch_copy_plan(PyObject *module, PyObject *const *args, Py_ssize_t nargs) {
    const nl_py_state *state = nl_py_state_of(module);
    PyObject *result = NULL;
    if (nargs != 2 || !nl_py_devarray_check(state, args[0]) || !PyList_Check(args[1]) ||
        PyList_GET_SIZE(args[1]) < 1 || PyList_GET_SIZE(args[1]) > MAX_PARTS) {
        PyErr_Format(PyExc_TypeError,
                     "batch_copy_plan() accepts a device array and a list of 1 to %d parts",
                     MAX_PARTS);
        return NULL;
    }
    const nl_py_array *target = (const nl_py_array *)args[0];
    if (target->itemsize < 1)
        return Py_NewRef(Py_None);
    PyObject *items = PyList_AsTuple(args[1]);
    int count = items ? (int)PyTuple_GET_SIZE(items) : 0;
    part *parts = items ? PyMem_Malloc((size_t)count * sizeof *parts) : NULL;
    if (items && !parts)
        PyErr_NoMemory();
    for (int i = 0; parts && i < count; i++)
        if (read_copy_part(state, target, PyTuple_GET_ITEM(items, i), &parts[i]) < 0)
            goto done;
    if (parts)
        result = make_batch_copy_plan(target, parts, count);
done:
    PyMem_Free(parts);
    Py_XDECREF(items);
    return result;
}

/* ---- a copy between two layouts ---- */

enum {
    LONG_ROW_BYTES = 512, /* minimum row length in bytes for which the driver copies as fast as a
                           * kernel */
    /* maximum size in bytes of a driver copy of long rows: for more bytes, the driver needs twice
     * the time of a kernel */
    MAX_ROWS_BYTES = 1 << 22,
    SMALL_BYTES = 4096, /* maximum size in bytes for which the driver copies rows, because compiling
                         * a kernel takes longer */
};

/* Returns whether one driver call can make the copy: both sides must be contiguous, or consist of
 * rows with positive strides. */
static int is_single_driver_copy(const nl_layout *of, const int64_t *to) {
    nl_layout dense = {.ndim = 0, .itemsize = of->itemsize};
    int64_t low[2], size = of->itemsize, bytes = size * nl_layout_count_elements(of);
    int count = 0, is_equal = 1, is_forward = 1, is_run = 0;
    for (int i = 0; i < of->ndim; i++) {
        if (of->shape[i] == 1)
            continue;
        dense.shape[count] = of->shape[i];
        dense.strides[count] = of->strides[i];
        is_equal = is_equal && of->strides[i] == to[i];
        is_forward = is_forward && of->strides[i] >= size && to[i] >= size;
        if (count < 2)
            low[count] = of->strides[i] == size && to[i] == size ? of->shape[i] : 0;
        count++;
    }
    dense.ndim = count;
    if (count == 0 || (is_equal && nl_layout_contiguous_orders(&dense)))
        return 1;
    if (count > 2 || !is_forward)
        return 0;
    int64_t row = size;
    for (int i = 0; i < count; i++)
        if (low[i]) {
            is_run = 1;
            row = size * low[i];
        }
    if (count == 2 && !is_run)
        return 0;
    return bytes <= SMALL_BYTES || (row >= LONG_ROW_BYTES && bytes <= MAX_ROWS_BYTES);
}

/* Returns the word size in bytes for copying one element. Returns 0 if the element is empty, or if
 * the array already has the maximum number of dimensions. An element of 16 bytes is one word if all
 * strides are multiples of 16. */
static int64_t element_word_size(const nl_layout *of, const int64_t *to, uint64_t address) {
    uint64_t steps = address;
    for (int i = 0; i < of->ndim; i++)
        steps |= (uint64_t)of->strides[i] | (uint64_t)to[i];
    if (of->itemsize == MAX_WORD && steps % MAX_WORD == 0)
        return MAX_WORD;
    int64_t size = 8;
    if (of->itemsize == 0 || of->ndim == NL_MAX_DIMS)
        return 0;
    while (of->itemsize % size)
        size /= 2;
    return size;
}

static PyObject *view_as_words(const nl_py_array *a, const int64_t *strides, int64_t size,
                               PyObject *descr) {
    nl_layout layout = {.ndim = a->ndim, .itemsize = size};
    memcpy(layout.shape, a->shape, (size_t)a->ndim * sizeof(int64_t));
    memcpy(layout.strides, strides, (size_t)a->ndim * sizeof(int64_t));
    if (size != a->itemsize) {
        layout.shape[layout.ndim] = a->itemsize / size;
        layout.strides[layout.ndim++] = size;
    }
    return make_region_view(a, a->address, descr, &layout);
}

static PyObject *copy_words_plan(PyObject *module, PyObject *const *args, Py_ssize_t nargs) {
    const nl_py_state *state = nl_py_state_of(module);
    nl_layout of;
    if (nargs != 2 || !nl_py_devarray_check(state, args[0]) ||
        !nl_py_devarray_check(state, args[1]))
        return PyErr_Format(PyExc_TypeError, "copy_words() accepts two device arrays");
    const nl_py_array *source = (const nl_py_array *)args[0],
                      *target = (const nl_py_array *)args[1];
    if (source->ndim != target->ndim || source->itemsize != target->itemsize ||
        memcmp(source->shape, target->shape, (size_t)source->ndim * sizeof(int64_t)) != 0)
        return PyErr_Format(PyExc_ValueError, "copy_words() accepts arrays of equal shape");
    nl_py_devarray_layout((nl_py_array *)source, &of);
    const int64_t *to = nl_py_devarray_strides(target);
    if (nl_layout_count_elements(&of) == 0 || is_single_driver_copy(&of, to))
        return Py_NewRef(Py_None);
    int64_t size = element_word_size(&of, to, source->address | target->address);
    if (!size)
        return Py_NewRef(Py_None);
    PyObject *descr = nl_py_hostarray_descr_of_dtype(dtype_of_word_size(size)), *views[2] = {NULL};
    if (descr)
        views[0] = view_as_words(source, of.strides, size, descr);
    if (views[0])
        views[1] = view_as_words(target, to, size, descr);
    Py_XDECREF(descr);
    if (views[1])
        return Py_BuildValue("NN", views[0], views[1]);
    Py_XDECREF(views[0]);
    return NULL;
}

/* ---- elements at arrays of indices ---- */

/* Index of an array in `strides`: 0 for the source, 1 for the target, 2 and
 * above for index arrays. */
enum { SOURCE, TARGET, INDICES, MAX_INDICES = NL_MAX_DIMS };

typedef struct gather {
    int count, sides; /* number of axes, and number of arrays (source, target and indices) */
    int64_t lengths[NL_MAX_DIMS + 2];
    int64_t steps[INDICES + MAX_INDICES][NL_MAX_DIMS + 2];
    const nl_py_array *arrays[INDICES + MAX_INDICES];
    long long along[MAX_INDICES], step[MAX_INDICES]; /* of the indexed axis */
} gather;

/* Appends an axis, or merges it with the previous one if all strides allow it. */
static void append_axis(gather *g, int64_t length, const int64_t *steps) {
    int last = g->count - 1, merges = last >= 0;
    for (int i = 0; i < g->sides && merges; i++)
        merges = g->steps[i][last] == steps[i] * length;
    if (!merges)
        g->lengths[++last] = 1;
    g->count = last + 1;
    g->lengths[last] *= length;
    for (int i = 0; i < g->sides; i++)
        g->steps[i][last] = steps[i];
}

static int read_index(const nl_py_state *state, PyObject *tuple, gather *g, nl_layout *layout) {
    PyObject *array, *strides;
    int i = g->sides - INDICES;
    if (!PyTuple_Check(tuple) || !PyArg_ParseTuple(tuple, "OOLL;an index has four items", &array,
                                                   &strides, &g->along[i], &g->step[i])) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError, "an index is a tuple");
        return -1;
    }
    if (!nl_py_devarray_check(state, array)) {
        PyErr_SetString(PyExc_TypeError, "an index has a device array");
        return -1;
    }
    if (nl_py_geometry_read_strides(strides, layout, "strides") < 0)
        return -1;
    g->arrays[g->sides++] = (const nl_py_array *)array;
    return 0;
}

/* Returns the largest word size such that the rows, strides and addresses are multiples of the word
 * size. The length of the last axis is in bytes. */
static int64_t max_word_size(const gather *g) {
    uint64_t bits = (uint64_t)g->lengths[g->count - 1] | g->arrays[SOURCE]->address |
                    g->arrays[TARGET]->address | MAX_WORD;
    for (int i = 0; i < g->count - 1; i++)
        bits |= (uint64_t)g->steps[SOURCE][i] | (uint64_t)g->steps[TARGET][i];
    for (int i = INDICES; i < g->sides; i++)
        bits |= (uint64_t)g->step[i - INDICES];
    return (int64_t)(bits & -bits);
}

static PyObject *make_side_view(const gather *g, int side, PyObject *descr) {
    nl_layout layout = {.ndim = g->count,
                        .itemsize = nl_py_hostarray_element_of_descr(descr).itemsize};
    memcpy(layout.shape, g->lengths, (size_t)g->count * sizeof(int64_t));
    memcpy(layout.strides, g->steps[side], (size_t)g->count * sizeof(int64_t));
    return make_region_view(g->arrays[side], g->arrays[side]->address, descr, &layout);
}

/* Returns the list of the kernel's arguments, a new reference. */
static PyObject *gather_arguments(const gather *g, PyObject *descr) {
    PyObject *given = PyList_New(0);
    for (int side = 0; given && side < g->sides; side++) {
        PyObject *items[3] = {
            make_side_view(g, side, side < INDICES ? descr : g->arrays[side]->descr)};
        int count = side < INDICES ? 1 : 3, failed = !items[0];
        if (count == 3) {
            items[1] = PyLong_FromLongLong(g->along[side - INDICES]);
            items[2] = PyLong_FromLongLong(g->step[side - INDICES]);
        }
        for (int i = 0; i < count; i++) {
            failed = failed || !items[i] || PyList_Append(given, items[i]) < 0;
            Py_XDECREF(items[i]);
        }
        if (failed)
            Py_CLEAR(given);
    }
    return given;
}

/* Returns the copy plan as a tuple. The lengths and strides of the plan count words, the units of
 * one load. */
static PyObject *make_gather_plan(gather *g) {
    int64_t size = max_word_size(g), words = 1, run = g->lengths[g->count - 1];
    if (run == size)
        g->count--;
    else
        for (int i = 0; i < INDICES; i++)
            g->steps[i][g->count - 1] = size;
    if (run != size)
        g->lengths[g->count - 1] = run / size;
    if (g->count == 0) {
        g->count = g->lengths[0] = 1;
        for (int i = 0; i < g->sides; i++)
            g->steps[i][0] = 0;
    }
    if (g->count > NL_MAX_DIMS)
        return PyErr_Format(PyExc_ValueError, "more than %d dimensions", NL_MAX_DIMS);
    for (int i = 0; i < g->count; i++)
        words *= g->lengths[i];
    PyObject *descr = nl_py_hostarray_descr_of_dtype(dtype_of_word_size(size));
    PyObject *given = descr ? gather_arguments(g, descr) : NULL, *result = NULL;
    if (given)
        result = Py_BuildValue("OiLLN", descr, g->count, (long long)words, (long long)(run / size),
                               given);
    Py_XDECREF(descr);
    return result;
}

static PyObject *gather_plan(PyObject *module, PyObject *args) {
    const nl_py_state *state = nl_py_state_of(module);
    PyObject *source, *of, *target, *to, *shape, *indices;
    nl_layout layouts[INDICES], index;
    gather g; /* not initialized: it is large */
    if (!PyArg_ParseTuple(args, "OOOOOO!:gather_plan", &source, &of, &target, &to, &shape,
                          &PyList_Type, &indices) ||
        nl_py_geometry_read_shape(shape, &layouts[SOURCE]) < 0)
        return NULL;
    layouts[TARGET].ndim = index.ndim = layouts[SOURCE].ndim;
    if (nl_py_geometry_read_strides(of, &layouts[SOURCE], "strides") < 0 ||
        nl_py_geometry_read_strides(to, &layouts[TARGET], "strides") < 0)
        return NULL;
    if (!nl_py_devarray_check(state, source) || !nl_py_devarray_check(state, target) ||
        PyList_GET_SIZE(indices) > MAX_INDICES)
        return PyErr_Format(PyExc_TypeError,
                            "gather_plan() accepts two device arrays, "
                            "and at most %d indices",
                            MAX_INDICES);
    int64_t of_indices[MAX_INDICES][NL_MAX_DIMS], steps[INDICES + MAX_INDICES] = {0};
    g.count = 0;
    g.sides = INDICES;
    g.arrays[SOURCE] = (const nl_py_array *)source;
    g.arrays[TARGET] = (const nl_py_array *)target;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(indices); i++) {
        if (read_index(state, PyList_GET_ITEM(indices, i), &g, &index) < 0)
            return NULL;
        memcpy(of_indices[i], index.strides, (size_t)index.ndim * sizeof(int64_t));
    }
    for (int axis = 0; axis < layouts[SOURCE].ndim; axis++) {
        if (layouts[SOURCE].shape[axis] == 1)
            continue;
        steps[SOURCE] = layouts[SOURCE].strides[axis];
        steps[TARGET] = layouts[TARGET].strides[axis];
        for (int i = INDICES; i < g.sides; i++)
            steps[i] = of_indices[i - INDICES][axis];
        append_axis(&g, layouts[SOURCE].shape[axis], steps);
    }
    memset(steps, 0, sizeof steps);
    steps[SOURCE] = steps[TARGET] = 1;
    append_axis(&g, g.arrays[SOURCE]->itemsize, steps);
    return make_gather_plan(&g);
}

/* ---- overlap ---- */

static PyObject *arrays_overlap(PyObject *module, PyObject *const *args, Py_ssize_t nargs) {
    const nl_py_state *state = nl_py_state_of(module);
    if (nargs != 3 || !nl_py_devarray_check(state, args[0]) ||
        !nl_py_devarray_check(state, args[1]))
        return PyErr_Format(PyExc_TypeError, "arrays_overlap() accepts two device arrays");
    const nl_py_array *a = (const nl_py_array *)args[0], *b = (const nl_py_array *)args[1];
    if (a->buffer->device != b->buffer->device)
        Py_RETURN_FALSE;
    nl_layout layouts[2];
    nl_py_devarray_layout((nl_py_array *)a, &layouts[0]);
    nl_py_devarray_layout((nl_py_array *)b, &layouts[1]);
    const nl_layout_view x = nl_layout_make_view(&layouts[0], a->address);
    const nl_layout_view y = nl_layout_make_view(&layouts[1], b->address);
    if (args[2] == Py_True)
        return PyBool_FromLong(nl_layout_may_overlap(&x, &y));
    return PyBool_FromLong(
        nl_ranges_overlap(nl_layout_address_range(&x), nl_layout_address_range(&y)));
}

static PyMethodDef functions[] = {
    {"copy_words", (PyCFunction)(void (*)(void))copy_words_plan, METH_FASTCALL,
     "copy_words(source, target): "
     "returns views of both arrays, as the integers that a kernel copies. "
     "The arrays must have equal shapes and itemsizes. "
     "Returns None if the driver makes the copy, or if the arrays are empty."},
    {"gather_plan", gather_plan, METH_VARARGS,
     "gather_plan(source, of, target, to, shape, indices): "
     "returns (dtype of a word, dimensions, words, words per run, arguments of the kernel). "
     "`of` and `to` are the strides of the source and the target in this shape. "
     "An index is (array, its strides in this shape, length and stride of the indexed axis)."},
    {"arrays_overlap", (PyCFunction)(void (*)(void))arrays_overlap, METH_FASTCALL,
     "arrays_overlap(a, b, exact): "
     "returns whether the address ranges of two device arrays overlap. "
     "If exact, returns whether they may share an element, according to shape and strides."},
    {"batch_copy_plan", (PyCFunction)(void (*)(void))batch_copy_plan, METH_FASTCALL,
     "batch_copy_plan(target, parts): "
     "returns (bytes of a word, dimensions, blocks, arguments of the kernel). "
     "Returns None for sources on another device or with too many dimensions. "
     "A part is (source, shape, strides of the source, strides of the target, "
     "byte offset in the source, byte offset in the target)."},
    {NULL, NULL, 0, NULL}};

int nl_py_batchcopy_exec(PyObject *module) {
    return nl_py_state_add_functions(module, functions);
}
