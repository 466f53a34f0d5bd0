/* py/batchcopy: the plan of several copies to one array by one launch
 * (numbalite/ndarray/batchcopy.py has the kernels). */
#include "core/runs.h"
#include "py/devarray.h"

enum {
    MAX_PARTS = 32,
    MAX_DIMS = 4,
    MAX_WORD = 16,
    BLOCK_WORDS = 256 * 4, /* that a block copies, as in cuda_src/templates/join.cu */
};

typedef struct part {
    const nl_py_array *source;
    CUdeviceptr from, to; /* addresses of the first elements */
    nl_runs runs;
} part;

static int read_part(const nl_py_state *state, const nl_py_array *target, PyObject *tuple,
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
        nl_py_shape_from(shape, &layout) < 0 || nl_py_strides_from(of, &layout, "strides") < 0)
        return -1;
    into.ndim = layout.ndim;
    if (nl_py_strides_from(to, &into, "strides") < 0)
        return -1;
    if (!nl_py_array_check(state, source)) {
        PyErr_SetString(PyExc_TypeError, "the source of a part is a device array");
        return -1;
    }
    layout.itemsize = target->itemsize;
    p->source = (const nl_py_array *)source;
    p->from = p->source->address + (CUdeviceptr)begin;
    p->to = target->address + (CUdeviceptr)at;
    if (nl_layout_count(&layout) <= 0) {
        PyErr_SetString(PyExc_ValueError, "a part has elements");
        return -1;
    }
    nl_runs_make(&p->runs, &layout, into.strides);
    return 0;
}

/* ---- views of words ---- */

static void words_of(const nl_runs *r, int64_t itemsize, int64_t size, int ndim, int is_target,
                     nl_layout *layout) {
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

static PyObject *view_of(const nl_py_array *base, CUdeviceptr address, PyObject *descr,
                         const nl_layout *layout) {
    const nl_layout_view view = nl_layout_at(layout, address);
    const nl_range part = nl_layout_range(&view);
    const nl_buffer *buffer = base->buffer;
    if (part.low < buffer->address || part.high > buffer->address + buffer->size) {
        PyErr_SetString(PyExc_ValueError, "a part is outside of the memory of its array");
        return NULL;
    }
    nl_py_array_parts parts = nl_py_array_parts_of(base);
    parts.address = address;
    parts.descr = descr;
    parts.element = nl_host_element(descr);
    return nl_py_array_new(base->state, &parts, layout);
}

/* Appends the target's view, the source's, and the number of blocks; returns this number, or -1. */
static int64_t append_part(PyObject *given, const nl_py_array *target, const part *p,
                           PyObject *descr, int64_t size, int ndim) {
    nl_layout layout;
    PyObject *items[3] = {NULL};
    words_of(&p->runs, target->itemsize, size, ndim, 1, &layout);
    int64_t blocks = (nl_layout_count(&layout) + BLOCK_WORDS - 1) / BLOCK_WORDS;
    items[0] = view_of(target, p->to, descr, &layout);
    words_of(&p->runs, target->itemsize, size, ndim, 0, &layout);
    if (items[0])
        items[1] = view_of(p->source, p->from, descr, &layout);
    if (items[1])
        items[2] = PyLong_FromLongLong(blocks);
    int failed = !items[2];
    for (int i = 0; i < 3; i++) {
        failed = failed || PyList_Append(given, items[i]) < 0;
        Py_XDECREF(items[i]);
    }
    return failed ? -1 : blocks;
}

static nl_dtype word_type(int64_t size) {
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

static PyObject *planned(const nl_py_array *target, const part *parts, int count) {
    int64_t size = MAX_WORD, total = 0;
    int ndim = 1;
    for (int i = 0; i < count; i++) {
        size = nl_runs_word(&parts[i].runs, target->itemsize, parts[i].from | parts[i].to, size);
        ndim = parts[i].runs.count > ndim ? parts[i].runs.count : ndim;
    }
    if (ndim > MAX_DIMS)
        return Py_NewRef(Py_None);
    PyObject *descr = nl_host_descr_plain(word_type(size)), *given = PyList_New(0);
    for (int i = 0; descr && given && i < count; i++) {
        int64_t blocks = append_part(given, target, &parts[i], descr, size, ndim);
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
    if (nargs != 2 || !nl_py_array_check(state, args[0]) || !PyList_Check(args[1]) ||
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
        if (read_part(state, target, PyTuple_GET_ITEM(items, i), &parts[i]) < 0)
            goto done;
    if (parts)
        result = planned(target, parts, count);
done:
    PyMem_Free(parts);
    Py_XDECREF(items);
    return result;
}

static PyMethodDef functions[] = {
    {"batch_copy_plan", (PyCFunction)(void (*)(void))batch_copy_plan, METH_FASTCALL,
     "batch_copy_plan(target, parts): (bytes of a word, dimensions, blocks, arguments of the "
     "kernel), or None where the parts have too many dimensions. A part is (source, shape, strides "
     "of the source, strides of the target, bytes from the source's first element, bytes from the "
     "target's)."},
    {NULL, NULL, 0, NULL}};

int nl_py_batchcopy_exec(PyObject *module) {
    return nl_py_add_functions(module, functions);
}
