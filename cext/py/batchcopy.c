/* py/batchcopy: plans the copies and launches their kernels. The kernels read views of the arrays,
 * whose elements are integers (words) of 1 to 16 bytes. */
#include "py/batchcopy.h"

#include <string.h>
#include "py/copykernel.h"
#include "py/devcopy.h"
#include "py/stream.h"
#include "py/trace.h"

enum { MAX_WORD = NL_PY_COPY_MAX_WORD };

/* Maximum size in bytes of the copies of one launch: for more, a kernel for each copy is as fast or
 * faster. Tests change this variable. */
static int64_t max_batch_bytes = 16 << 20;
/* Minimum size in bytes of a copy by tiles: below, the element-wise kernel is as fast. Tests change
 * this variable. */
static int64_t min_tiled_bytes = 1 << 20;

/* ---- views of words ---- */

nl_dtype nl_py_batchcopy_word_dtype(int64_t size) {
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

PyObject *nl_py_batchcopy_region_view(const nl_py_array *base, CUdeviceptr address, PyObject *descr,
                                      const nl_layout *layout) {
    const nl_layout_view view = nl_layout_make_view(layout, address);
    const nl_range part = nl_layout_address_range(&view);
    const nl_buffer *buffer = base->buffer;
    if (part.low < buffer->address || part.high > buffer->address + buffer->size) {
        PyErr_SetString(PyExc_ValueError, "a copy is outside of the memory of its array");
        return NULL;
    }
    nl_py_array_parts parts = nl_py_devarray_shared_members(base);
    parts.address = address;
    parts.descr = descr;
    parts.element = nl_py_hostarray_element_of_descr(descr);
    return nl_py_devarray_new(base->state, &parts, layout);
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
    return nl_py_batchcopy_region_view(a, a->address, descr, &layout);
}

/* Computes views of both arrays as words, or sets views[0] to NULL if the driver makes the copy.
 * The arrays have equal shapes and itemsizes. */
static int make_word_views(const nl_py_array *source, const nl_py_array *target,
                           PyObject *views[2]) {
    nl_layout of;
    const int64_t *to = nl_py_devarray_strides(target);
    int64_t size = 0;
    views[0] = views[1] = NULL;
    nl_py_devarray_layout(source, &of);
    if (!is_single_driver_copy(&of, to))
        size = element_word_size(&of, to, source->address | target->address);
    if (!size)
        return 0;
    PyObject *descr = nl_py_hostarray_descr_of_dtype(nl_py_batchcopy_word_dtype(size));
    if (descr)
        views[0] = view_as_words(source, of.strides, size, descr);
    if (views[0])
        views[1] = view_as_words(target, to, size, descr);
    Py_XDECREF(descr);
    if (views[1])
        return 0;
    Py_CLEAR(views[0]);
    return -1;
}

/* ---- transposed copies ---- */

enum {
    MIN_SIDE = 32, /* minimum number of rows and of columns */
    MAX_GAP = 4,   /* maximum stride in elements along a row of the source, or along a column of the
                    * target: at larger strides, accesses have few elements of a cache line */
};

/* A stack of matrices: axis 0 counts the matrices, axis 1 is contiguous in the target (or has a
 * small stride), axis 2 is contiguous in the source. */
typedef struct matrix_stack {
    int64_t shape[3], of[3], to[3];
} matrix_stack;

/* Describes a copy as transpositions of a stack of matrices. Returns 0 if the layouts are not
 * transposed. */
static int find_matrix_stack(const nl_layout *of, const int64_t *to, matrix_stack *m) {
    nl_runs r;
    int row = 0, column = 0;
    nl_runs_make(&r, of, to);
    r.count -= r.axes[r.count - 1].length == 1;
    for (int i = 0; i < r.count; i++) {
        if (r.axes[i].of <= 0 || r.axes[i].to <= 0)
            return 0;
        row = r.axes[i].of < r.axes[row].of ? i : row;
        column = r.axes[i].to < r.axes[column].to ? i : column;
    }
    if (r.count < 2 || r.count > 3 || row == column || r.axes[row].of > MAX_GAP * of->itemsize ||
        r.axes[column].to > MAX_GAP * of->itemsize || r.axes[row].length < MIN_SIDE ||
        r.axes[column].length < MIN_SIDE)
        return 0;
    const nl_run_axis outer = r.count == 3 ? r.axes[3 - row - column] : (nl_run_axis){1, 0, 0};
    const nl_run_axis axes[3] = {outer, r.axes[column], r.axes[row]};
    for (int i = 0; i < 3; i++) {
        m->shape[i] = axes[i].length;
        m->of[i] = axes[i].of;
        m->to[i] = axes[i].to;
    }
    return 1;
}

/* Returns the number of words of one access: 1, or 2 if all rows and columns are contiguous and
 * aligned. */
static int words_per_access(const matrix_stack *m, int64_t size, uint64_t addresses) {
    uint64_t steps = addresses | (uint64_t)m->of[0] | (uint64_t)m->of[1] | (uint64_t)m->to[0] |
                     (uint64_t)m->to[2];
    return size <= 4 && m->of[2] == size && m->to[1] == size && steps % (uint64_t)(2 * size) == 0
               ? 2
               : 1;
}

static PyObject *view_of_stack(PyObject *words, const matrix_stack *m, const int64_t *strides) {
    const nl_py_array *a = (nl_py_array *)words;
    nl_layout layout = {.ndim = 3, .itemsize = a->itemsize};
    memcpy(layout.shape, m->shape, sizeof m->shape);
    memcpy(layout.strides, strides, sizeof m->of);
    return nl_py_devarray_view(a, a->address, &layout);
}

/* Copies by tiles in shared memory if the two layouts are transposed: an element-wise copy would
 * access only parts of cache lines in one of the arrays. Returns 1 after the launch, 0 if the
 * layouts are not transposed, or -1 with an exception. */
static int copy_by_tiles(PyObject *source, PyObject *target, PyObject *stream) {
    const nl_py_array *s = (nl_py_array *)source, *t = (nl_py_array *)target;
    nl_layout of;
    matrix_stack m;
    nl_py_devarray_layout(s, &of);
    if (!find_matrix_stack(&of, nl_py_devarray_strides(t), &m))
        return 0;
    int side = of.itemsize == 1 ? 128 : of.itemsize <= 4 ? 64 : 32;
    int64_t tiles =
        m.shape[0] * ((m.shape[1] + side - 1) / side) * ((m.shape[2] + side - 1) / side);
    const int numbers[] = {(int)of.itemsize, side,
                           words_per_access(&m, of.itemsize, s->address | t->address)};
    if (tiles >= (int64_t)1 << 31)
        return 0;
    PyObject *args[2] = {view_of_stack(source, &m, m.of), NULL}, *kernel = NULL;
    int result = -1;
    if (args[0])
        args[1] = view_of_stack(target, &m, m.to);
    if (args[1])
        kernel = nl_py_copykernel_find(s->state, NL_PY_COPYKERNEL_TRANSPOSE, numbers, 3);
    if (kernel && nl_py_copykernel_launch(kernel, tiles, stream, args, 2) == 0)
        result = 1;
    Py_XDECREF(kernel);
    Py_XDECREF(args[0]);
    Py_XDECREF(args[1]);
    return result;
}

/* ---- copies of elements ---- */

/* Copies integers by the ufunc that converts to their dtype. */
static int copy_by_ufunc(PyObject *source, PyObject *target, PyObject *stream) {
    const nl_py_array *a = (nl_py_array *)source;
    const int size = (int)a->itemsize;
    PyObject *ufunc = nl_py_copykernel_find(a->state, NL_PY_COPYKERNEL_CAST, &size, 1);
    PyObject *args[] = {source, target, stream ? stream : Py_None};
    PyObject *done = ufunc ? PyObject_Vectorcall(ufunc, args, 1, a->state->copy_keywords) : NULL;
    Py_XDECREF(ufunc);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

static int copy_by_driver(PyObject *source, PyObject *target, PyObject *stream) {
    PyObject *args = PyTuple_Pack(2, source, stream ? stream : Py_None);
    PyObject *done = args ? nl_py_devcopy_copy(target, args, NULL) : NULL;
    Py_XDECREF(args);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

static int copy_words(PyObject *const words[2], PyObject *stream) {
    const nl_py_array *to = (nl_py_array *)words[1];
    int result = 0;
    if (nl_py_devarray_count(to) * to->itemsize >= min_tiled_bytes)
        result = copy_by_tiles(words[0], words[1], stream);
    return result ? (result < 0 ? -1 : 0) : copy_by_ufunc(words[0], words[1], stream);
}

int nl_py_batchcopy_elements(PyObject *source, PyObject *target, PyObject *stream) {
    PyObject *words[2];
    if (nl_py_devarray_count((nl_py_array *)target) == 0)
        return 0;
    if (make_word_views((nl_py_array *)source, (nl_py_array *)target, words) < 0)
        return -1;
    if (!words[0])
        return copy_by_driver(source, target, stream);
    int result = copy_words(words, stream);
    Py_DECREF(words[0]);
    Py_DECREF(words[1]);
    return result;
}

/* ---- several copies to one array ---- */

enum {
    MAX_COPIES = 32,
    MAX_DIMS = 4,
    MAX_COPIES_OF_MANY_DIMS = 16, /* maximum number of copies with MAX_DIMS dimensions: more would
                                   * exceed the 4 KB of a kernel's parameters */
    BLOCK_WORDS = NL_PY_COPY_THREADS * 4, /* number of words that a block copies, as in
                                           * cuda_src/templates/join.cu */
};

int nl_py_batchcopy_set_box(nl_py_box_copy *c, const nl_py_array *source, CUdeviceptr from,
                            CUdeviceptr to_address, const nl_layout *of, const int64_t *to) {
    for (int i = 0; i < of->ndim; i++)
        if (of->shape[i] == 0)
            return 0;
    c->source = source;
    c->from = from;
    c->to = to_address;
    nl_runs_make(&c->runs, of, to);
    return 1;
}

static int64_t count_bytes(const nl_py_box_copy *c, int64_t itemsize) {
    for (int i = 0; i < c->runs.count; i++)
        itemsize *= c->runs.axes[i].length;
    return itemsize;
}

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

/* Sets the arguments of one copy: the view of the target, the view of the source, and the number of
 * blocks. Returns the number of blocks, or -1 with an exception. */
static int64_t set_arguments(PyObject **args, const nl_py_array *target, const nl_py_box_copy *c,
                             PyObject *descr, int64_t size, int ndim) {
    nl_layout layout;
    make_word_layout(&c->runs, target->itemsize, size, ndim, 1, &layout);
    int64_t blocks = (nl_layout_count_elements(&layout) + BLOCK_WORDS - 1) / BLOCK_WORDS;
    args[0] = nl_py_batchcopy_region_view(target, c->to, descr, &layout);
    make_word_layout(&c->runs, target->itemsize, size, ndim, 0, &layout);
    if (args[0])
        args[1] = nl_py_batchcopy_region_view(c->source, c->from, descr, &layout);
    if (args[1])
        args[2] = PyLong_FromLongLong(blocks);
    return args[2] ? blocks : -1;
}

/* Returns the number of copies of the smallest kernel for this number of copies; its other copies
 * have no blocks. */
static int kernel_copies(int count) {
    return count <= 8 ? count : count <= 16 ? 16 : MAX_COPIES;
}

static int launch_copies(const nl_py_array *target, const nl_py_box_copy *copies, int count,
                         int64_t size, int ndim) {
    const int numbers[] = {(int)size, ndim, kernel_copies(count)};
    PyObject *args[3 * MAX_COPIES] = {NULL}, *kernel = NULL;
    PyObject *descr = nl_py_hostarray_descr_of_dtype(nl_py_batchcopy_word_dtype(size));
    int64_t total = 0, blocks = descr ? 0 : -1;
    for (int i = 0; blocks >= 0 && i < count; i++) {
        blocks = set_arguments(args + 3 * i, target, &copies[i], descr, size, ndim);
        total += blocks;
    }
    for (int i = count; blocks >= 0 && i < numbers[2]; i++) {
        args[3 * i] = Py_NewRef(args[0]);
        args[3 * i + 1] = Py_NewRef(args[1]);
        args[3 * i + 2] = PyLong_FromLong(0);
    }
    if (blocks >= 0)
        kernel = nl_py_copykernel_find(target->state, NL_PY_COPYKERNEL_JOIN, numbers, 3);
    int result = kernel ? nl_py_copykernel_launch(kernel, total, target->stream, args,
                                                  (Py_ssize_t)3 * numbers[2])
                        : -1;
    Py_XDECREF(kernel);
    Py_XDECREF(descr);
    for (int i = 0; i < 3 * numbers[2]; i++)
        Py_XDECREF(args[i]);
    return result;
}

/* Executes one copy as an assignment between views of source and target. Each view has one axis for
 * each axis of c->runs; a last axis of length 1 is omitted. */
static int copy_box(const nl_py_array *target, const nl_py_box_copy *c) {
    nl_layout of = {.itemsize = target->itemsize}, to = of;
    const nl_runs *r = &c->runs;
    of.ndim = to.ndim = r->count - (r->axes[r->count - 1].length == 1);
    for (int i = 0; i < of.ndim; i++) {
        of.shape[i] = to.shape[i] = r->axes[i].length;
        of.strides[i] = r->axes[i].of;
        to.strides[i] = r->axes[i].to;
    }
    PyObject *views[2] = {nl_py_batchcopy_region_view(c->source, c->from, target->descr, &of),
                          NULL};
    int result = -1;
    if (views[0])
        views[1] = nl_py_batchcopy_region_view(target, c->to, target->descr, &to);
    if (views[1])
        result = nl_py_batchcopy_elements(views[0], views[1], target->stream);
    Py_XDECREF(views[0]);
    Py_XDECREF(views[1]);
    return result;
}

/* Executes copies by one launch if they are suitable, else one after another. */
static int copy_group(const nl_py_array *target, const nl_py_box_copy *copies, int count) {
    int64_t size = MAX_WORD;
    int ndim = 1, result = 0;
    for (int i = 0; i < count; i++) {
        size = nl_runs_word_size(&copies[i].runs, target->itemsize, copies[i].from | copies[i].to,
                                 size);
        ndim = copies[i].runs.count > ndim ? copies[i].runs.count : ndim;
    }
    if (count > 1 && ndim < MAX_DIMS)
        return launch_copies(target, copies, count, size, ndim);
    if (count > 1 && ndim == MAX_DIMS && count <= MAX_COPIES_OF_MANY_DIMS)
        return launch_copies(target, copies, count, size, ndim);
    if (count > 1 && ndim == MAX_DIMS) {
        result = copy_group(target, copies, count / 2);
        return result < 0 ? -1 : copy_group(target, copies + count / 2, count - count / 2);
    }
    for (int i = 0; result == 0 && i < count; i++)
        result = copy_box(target, &copies[i]);
    return result;
}

int nl_py_batchcopy_run(const nl_py_array *target, const nl_py_box_copy *copies, int count) {
    if (target->itemsize < 1)
        return 0;
    for (int begin = 0, end; begin < count; begin = end) {
        int64_t bytes = count_bytes(&copies[begin], target->itemsize);
        for (end = begin + 1; end < count && end - begin < MAX_COPIES; end++) {
            bytes += count_bytes(&copies[end], target->itemsize);
            if (bytes > max_batch_bytes)
                break;
        }
        if (copy_group(target, copies + begin, end - begin) < 0)
            return -1;
    }
    return 0;
}

/* ---- overlap ---- */

/* Returns whether two arrays on one device may share an element, according to shape and strides. */
static int may_share_elements(const nl_py_array *a, const nl_py_array *b) {
    const nl_layout_view x = {a->address, a->ndim, a->itemsize, a->shape,
                              nl_py_devarray_strides(a)};
    const nl_layout_view y = {b->address, b->ndim, b->itemsize, b->shape,
                              nl_py_devarray_strides(b)};
    return nl_layout_may_overlap(&x, &y);
}

static PyObject *arrays_overlap(PyObject *module, PyObject *const *args, Py_ssize_t nargs) {
    const nl_py_state *state = nl_py_state_of(module);
    if (nargs != 3 || !nl_py_devarray_check(state, args[0]) ||
        !nl_py_devarray_check(state, args[1]))
        return PyErr_Format(PyExc_TypeError, "arrays_overlap() accepts two device arrays");
    const nl_py_array *a = (const nl_py_array *)args[0], *b = (const nl_py_array *)args[1];
    if (a->buffer->device != b->buffer->device)
        Py_RETURN_FALSE;
    if (args[2] == Py_True)
        return PyBool_FromLong(may_share_elements(a, b));
    return PyBool_FromLong(
        nl_ranges_overlap(nl_py_devarray_address_range(a), nl_py_devarray_address_range(b)));
}

/* ---- functions for Python ---- */

static PyObject *copy_elements(PyObject *module, PyObject *const *args, Py_ssize_t nargs) {
    const nl_py_state *state = nl_py_state_of(module);
    if (nargs != 4 || !nl_py_devarray_check(state, args[0]) ||
        !nl_py_devarray_check(state, args[1]))
        return PyErr_Format(PyExc_TypeError, "copy_elements() accepts two device arrays");
    const nl_py_array *source = (const nl_py_array *)args[0],
                      *target = (const nl_py_array *)args[1];
    PyObject *stream = nl_py_stream_null_if_none(args[2]), *words[2], *copy = NULL;
    int result = -1;
    if (source->ndim != target->ndim || source->itemsize != target->itemsize ||
        memcmp(source->shape, target->shape, (size_t)source->ndim * sizeof(int64_t)) != 0)
        return PyErr_Format(PyExc_ValueError, "copy_elements() accepts arrays of equal shape");
    if (nl_py_devarray_count(target) == 0)
        return Py_NewRef(Py_None);
    if (make_word_views(source, target, words) < 0)
        return NULL;
    if (!words[0]) {
        result = copy_by_driver(args[0], args[1], stream);
    } else if (args[3] != Py_True && may_share_elements(source, target)) {
        copy = PyObject_CallMethod(args[0], "copy", "sO", "K", stream ? stream : Py_None);
        result = copy ? nl_py_batchcopy_elements(copy, args[1], stream) : -1;
        Py_XDECREF(copy);
    } else {
        result = copy_words(words, stream);
    }
    Py_XDECREF(words[0]);
    Py_XDECREF(words[1]);
    return result < 0 ? NULL : Py_NewRef(Py_None);
}

static PyObject *find_stack_for_tests(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *shape, *of, *to;
    nl_layout source, target;
    long long itemsize;
    matrix_stack m;
    if (!PyArg_ParseTuple(args, "OOOL:matrix_stack", &shape, &of, &to, &itemsize) ||
        nl_py_geometry_read_shape(shape, &source) < 0 ||
        nl_py_geometry_read_strides(of, &source, "strides") < 0)
        return NULL;
    source.itemsize = itemsize;
    target.ndim = source.ndim;
    if (nl_py_geometry_read_strides(to, &target, "strides") < 0)
        return NULL;
    if (!find_matrix_stack(&source, target.strides, &m))
        return Py_NewRef(Py_None);
    return Py_BuildValue("NNN", nl_py_geometry_new_tuple(m.shape, 3),
                         nl_py_geometry_new_tuple(m.of, 3), nl_py_geometry_new_tuple(m.to, 3));
}

static PyObject *set_copy_limit(PyObject *Py_UNUSED(module), PyObject *args) {
    const char *name;
    long long value;
    if (!PyArg_ParseTuple(args, "sL:copy_limit", &name, &value))
        return NULL;
    int64_t *limit = strcmp(name, "max_batch_bytes") == 0   ? &max_batch_bytes
                     : strcmp(name, "min_tiled_bytes") == 0 ? &min_tiled_bytes
                                                            : NULL;
    if (!limit)
        return PyErr_Format(PyExc_ValueError, "no limit %s", name);
    long long before = *limit;
    *limit = value;
    return PyLong_FromLongLong(before);
}

static PyMethodDef functions[] = {
    {"copy_elements", (PyCFunction)(void (*)(void))copy_elements, METH_FASTCALL,
     "copy_elements(source, target, stream, apart): "
     "copies between arrays of equal shape and dtype on the current device. "
     "apart: the arrays share no element."},
    {"arrays_overlap", (PyCFunction)(void (*)(void))arrays_overlap, METH_FASTCALL,
     "arrays_overlap(a, b, exact): "
     "returns whether the address ranges of two device arrays overlap. "
     "If exact, returns whether they may share an element, according to shape and strides."},
    {"matrix_stack", find_stack_for_tests, METH_VARARGS,
     "matrix_stack(shape, of, to, itemsize): "
     "returns (shape, strides of the source, strides of the target) of the stack of matrices "
     "that a copy transposes, for tests. Returns None if the copy does not transpose."},
    {"copy_limit", set_copy_limit, METH_VARARGS,
     "copy_limit(name, value): sets max_batch_bytes or min_tiled_bytes, for tests. "
     "Returns the previous value."},
    {NULL, NULL, 0, NULL}};

int nl_py_batchcopy_exec(PyObject *module) {
    nl_py_state *state = nl_py_state_of(module);
    state->copy_keywords = nl_py_state_intern((const char *const[]){"out", "stream"}, 2);
    return state->copy_keywords ? nl_py_state_add_functions(module, functions) : -1;
}
