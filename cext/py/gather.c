/* py/gather: gathers and scatters elements by arrays of indices, with one kernel
 * (cuda_src/templates/gather.cu). The kernel copies words of 1 to 16 bytes. Rows that are
 * contiguous in the source and in the target are copied by the largest word that their alignment
 * allows. */
#include "py/joins.h"

#include <string.h>
#include "py/batchcopy.h"
#include "py/copykernel.h"
#include "py/keywords.h"
#include "py/stream.h"

enum {
    MAX_WORD = NL_PY_COPY_MAX_WORD,
    SEVERAL = 4,         /* words per thread of a large copy, in runs that a block fills */
    MANY_WORDS = 1 << 20 /* minimum number of words for SEVERAL */
};

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
    return nl_py_batchcopy_region_view(g->arrays[side], g->arrays[side]->address, descr, &layout);
}

/* Sets the arguments of the kernel; returns 0, or -1 with an exception. */
static int set_arguments(const gather *g, PyObject *descr, PyObject **args) {
    int failed = 0, count = 0;
    for (int side = 0; side < g->sides; side++) {
        PyObject *of_side = side < INDICES ? descr : g->arrays[side]->descr;
        failed |= !(args[count++] = make_side_view(g, side, of_side));
        if (side < INDICES)
            continue;
        failed |= !(args[count++] = PyLong_FromLongLong(g->along[side - INDICES]));
        failed |= !(args[count++] = PyLong_FromLongLong(g->step[side - INDICES]));
    }
    return failed ? -1 : 0;
}

/* Converts the lengths and strides of a copy to words, the units of one load. Returns the size of a
 * word. */
static int64_t convert_to_words(gather *g) {
    int64_t size = max_word_size(g), run = g->lengths[g->count - 1];
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
    return size;
}

/* Launches the kernel of a copy whose axes have been appended, the last one in bytes. */
static int launch_gather(gather *g, int mode, int scatters, PyObject *stream) {
    enum { MAX_ARGUMENTS = INDICES + 3 * MAX_INDICES };
    int64_t run = g->lengths[g->count - 1], size = convert_to_words(g), words = 1;
    const nl_py_array *index = g->arrays[INDICES];
    PyObject *args[MAX_ARGUMENTS] = {NULL}, *kernel = NULL;
    int nargs = INDICES + 3 * (g->sides - INDICES), result = -1;
    if (g->count > NL_MAX_DIMS) {
        PyErr_Format(PyExc_ValueError, "more than %d dimensions", NL_MAX_DIMS);
        return -1;
    }
    for (int i = 0; i < g->count; i++)
        words *= g->lengths[i];
    int several = words >= MANY_WORDS && run / size >= NL_PY_COPY_THREADS ? SEVERAL : 1;
    const int numbers[] = {(int)size, (int)index->itemsize, g->count, mode, scatters,
                           several,   g->sides - INDICES};
    PyObject *descr = nl_py_hostarray_descr_of_dtype(nl_py_batchcopy_word_dtype(size));
    if (descr && set_arguments(g, descr, args) == 0)
        kernel = nl_py_copykernel_find(index->state, NL_PY_COPYKERNEL_GATHER, numbers, 7);
    int64_t block = NL_PY_COPY_THREADS * several;
    if (kernel)
        result = nl_py_copykernel_launch(kernel, (words + block - 1) / block, stream, args, nargs);
    for (int i = 0; i < nargs; i++)
        Py_XDECREF(args[i]);
    Py_XDECREF(kernel);
    Py_XDECREF(descr);
    return result;
}

/* Launches a copy; `layouts` contains the shape, and the strides of the source and the target;
 * `of_indices` contains the strides of the index arrays. */
static int run_gather(gather *g, const nl_layout *source, const int64_t *to,
                      int64_t (*of_indices)[NL_MAX_DIMS], int mode, int scatters,
                      PyObject *stream) {
    int64_t steps[INDICES + MAX_INDICES] = {0};
    g->count = 0;
    for (int axis = 0; axis < source->ndim; axis++) {
        if (source->shape[axis] == 1)
            continue;
        steps[SOURCE] = source->strides[axis];
        steps[TARGET] = to[axis];
        for (int i = INDICES; i < g->sides; i++)
            steps[i] = of_indices[i - INDICES][axis];
        append_axis(g, source->shape[axis], steps);
    }
    memset(steps, 0, sizeof steps);
    steps[SOURCE] = steps[TARGET] = 1;
    append_axis(g, g->arrays[SOURCE]->itemsize, steps);
    return launch_gather(g, mode, scatters, stream);
}

/* ---- copies that Python plans ---- */

static int is_index_dtype(const nl_py_array *a) {
    return a->class == NL_ELEMENT_PLAIN && (a->dtype == NL_INT32 || a->dtype == NL_INT64);
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
    if (!is_index_dtype((nl_py_array *)array) ||
        ((nl_py_array *)array)->dtype !=
            ((nl_py_array *)(i ? (PyObject *)g->arrays[INDICES] : array))->dtype) {
        PyErr_SetString(PyExc_TypeError, "indices are int32 or int64, of one dtype");
        return -1;
    }
    if (nl_py_geometry_read_strides(strides, layout, "strides") < 0)
        return -1;
    g->arrays[g->sides++] = (const nl_py_array *)array;
    return 0;
}

static PyObject *gather_elements(PyObject *module, PyObject *args) {
    const nl_py_state *state = nl_py_state_of(module);
    PyObject *source, *of, *target, *to, *shape, *indices, *stream;
    nl_layout source_layout, target_layout, index;
    int mode, scatters;
    gather g; /* not initialized: it is large */
    if (!PyArg_ParseTuple(args, "OOOOOO!ipO:gather", &source, &of, &target, &to, &shape,
                          &PyList_Type, &indices, &mode, &scatters, &stream) ||
        nl_py_geometry_read_shape(shape, &source_layout) < 0)
        return NULL;
    target_layout.ndim = index.ndim = source_layout.ndim;
    if (nl_py_geometry_read_strides(of, &source_layout, "strides") < 0 ||
        nl_py_geometry_read_strides(to, &target_layout, "strides") < 0)
        return NULL;
    if (mode < 0 || mode > 2)
        return PyErr_Format(PyExc_ValueError, "no mode %d", mode);
    if (!nl_py_devarray_check(state, source) || !nl_py_devarray_check(state, target) ||
        PyList_GET_SIZE(indices) < 1 || PyList_GET_SIZE(indices) > MAX_INDICES)
        return PyErr_Format(PyExc_TypeError,
                            "gather() accepts two device arrays, and 1 to %d indices", MAX_INDICES);
    int64_t of_indices[MAX_INDICES][NL_MAX_DIMS];
    g.sides = INDICES;
    g.arrays[SOURCE] = (const nl_py_array *)source;
    g.arrays[TARGET] = (const nl_py_array *)target;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(indices); i++) {
        if (read_index(state, PyList_GET_ITEM(indices, i), &g, &index) < 0)
            return NULL;
        memcpy(of_indices[i], index.strides, (size_t)index.ndim * sizeof(int64_t));
    }
    int result = run_gather(&g, &source_layout, target_layout.strides, of_indices, mode, scatters,
                            nl_py_stream_null_if_none(stream));
    return result < 0 ? NULL : Py_NewRef(Py_None);
}

/* ---- take ---- */

static int is_on_current_device(const nl_py_state *state, PyObject *value) {
    return nl_py_devarray_check_exact(state, value) &&
           ((nl_py_array *)value)->buffer->device->ordinal == nl_device_selected();
}

/* Returns whether `take` supports the arrays: the index array must be aligned, and the array must
 * have elements. */
static int can_take(const nl_py_state *state, PyObject *array, PyObject *indices) {
    const nl_py_array *a = (nl_py_array *)array, *i = (nl_py_array *)indices;
    return is_on_current_device(state, array) && is_on_current_device(state, indices) &&
           is_index_dtype(i) && !(i->misaligned & (i->itemsize - 1)) && a->ndim > 0 &&
           a->itemsize > 0 && nl_py_devarray_count(a) > 0 && a->ndim + i->ndim <= NL_MAX_DIMS;
}

/* Returns the elements of an axis at these indices, as a new array. `of` is the layout of the
 * array, which has at least one axis. */
static PyObject *take_along(const nl_py_array *a, const nl_layout *of, int axis,
                            const nl_py_array *i, int mode) {
    nl_layout source = {.itemsize = a->itemsize, .ndim = of->ndim - 1 + i->ndim}, made;
    int64_t of_index[1][NL_MAX_DIMS] = {{0}};
    gather g; /* not initialized: it is large */
    for (int k = 0; k < source.ndim; k++) {
        int is_index = k >= axis && k < axis + i->ndim;
        int from = k < axis ? k : k - i->ndim + 1;
        source.shape[k] = is_index ? i->shape[k - axis] : of->shape[from];
        source.strides[k] = is_index ? 0 : of->strides[from];
        of_index[0][k] = is_index ? nl_py_devarray_strides(i)[k - axis] : 0;
    }
    nl_layout_copy(&made, &source);
    if (nl_py_geometry_strides(&made, 'C') < 0)
        return NULL;
    PyObject *out =
        nl_py_devarray_empty(a->state, a->descr, nl_py_hostarray_element_of_descr(a->descr), &made);
    if (!out || nl_py_devarray_count((nl_py_array *)out) == 0)
        return out;
    g.sides = INDICES + 1;
    g.arrays[SOURCE] = a;
    g.arrays[TARGET] = (nl_py_array *)out;
    g.arrays[INDICES] = i;
    g.along[0] = of->shape[axis];
    g.step[0] = of->strides[axis];
    if (run_gather(&g, &source, made.strides, of_index, mode, 0, ((nl_py_array *)out)->stream) < 0)
        Py_CLEAR(out);
    return out;
}

static PyObject *take_rows(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                           PyObject *keywords) {
    const nl_py_state *state = nl_py_state_of(module);
    nl_layout of;
    if (nargs != 2 || nl_py_count_keywords(keywords))
        return Py_NewRef(Py_NotImplemented);
    PyObject *key = args[1];
    if (PyTuple_CheckExact(key) && PyTuple_GET_SIZE(key) == 1)
        key = PyTuple_GET_ITEM(key, 0);
    if (!can_take(state, args[0], key))
        return Py_NewRef(Py_NotImplemented);
    nl_py_devarray_layout((nl_py_array *)args[0], &of);
    return take_along((nl_py_array *)args[0], &of, 0, (nl_py_array *)key, 0);
}

static int read_mode(PyObject *mode) {
    static const char *const names[] = {"raise", "wrap", "clip"}; /* as in gather.py */
    for (int i = 0; PyUnicode_CheckExact(mode) && i < 3; i++)
        if (PyUnicode_CompareWithASCIIString(mode, names[i]) == 0)
            return i;
    return -1;
}

static PyObject *take(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                      PyObject *keywords) {
    enum { ARRAY, WHERE, AXIS, OUT, MODE, COUNT };
    static const char *const names[] = {"a", "indices", "axis", "out", "mode"};
    const nl_py_state *state = nl_py_state_of(module);
    PyObject *values[COUNT] = {NULL};
    nl_layout of;
    int axis = 0;
    if (!nl_py_keywords_match(names, COUNT, COUNT, args, nargs, keywords, values) ||
        !values[WHERE] || (values[OUT] && values[OUT] != Py_None) ||
        !can_take(state, values[ARRAY], values[WHERE]))
        return Py_NewRef(Py_NotImplemented);
    const nl_py_array *a = (nl_py_array *)values[ARRAY];
    int mode = values[MODE] ? read_mode(values[MODE]) : 0;
    nl_py_devarray_layout(a, &of);
    if (mode < 0 || !nl_py_joins_read_axis(values[AXIS], a, &of, &axis))
        return Py_NewRef(Py_NotImplemented);
    return take_along(a, &of, axis, (nl_py_array *)values[WHERE], mode);
}

static PyMethodDef functions[] = {
    {"gather", gather_elements, METH_VARARGS,
     "gather(source, of, target, to, shape, indices, mode, scatters, stream): "
     "copies the elements of the source at the indices to the target, or, if `scatters`, "
     "the source to the elements of the target at the indices. "
     "`of` and `to` are the strides of the source and the target in this shape. "
     "An index is (array, its strides in this shape, length and stride of the indexed axis)."},
    {"take_rows", (PyCFunction)(void (*)(void))take_rows, METH_FASTCALL | METH_KEYWORDS,
     "take_rows(array, key): returns array[key] for one array of indices on the device. "
     "Returns NotImplemented for other keys."},
    {"take", (PyCFunction)(void (*)(void))take, METH_FASTCALL | METH_KEYWORDS,
     "take(a, indices, axis=None, out=None, mode='raise'): numpy.take for device arrays. "
     "Returns NotImplemented for arguments that only Python code supports."},
    {NULL, NULL, 0, NULL}};

int nl_py_gather_exec(PyObject *module) {
    return nl_py_state_add_functions(module, functions);
}
