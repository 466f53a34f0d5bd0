/* py/joins: concatenate, stack, roll, tile, repeat, pad and copy as copies of boxes. */
#include "py/joins.h"

#include <string.h>
#include "py/batchcopy.h"
#include "py/devcopy.h"
#include "py/keywords.h"

enum { MAX_ROLLED_AXES = 8 /* each rolled axis doubles the number of copies */ };

/* ---- arguments ---- */

static int is_on_current_device(const nl_py_state *state, PyObject *value) {
    return nl_py_devarray_check(state, value) &&
           ((nl_py_array *)value)->buffer->device->ordinal == nl_device_selected();
}

static int read_int(PyObject *value, int64_t *number) {
    int overflow = 1;
    if (value && PyLong_CheckExact(value))
        *number = PyLong_AsLongLongAndOverflow(value, &overflow);
    return !overflow;
}

/* Reads an int, or a tuple or list of ints. Returns the number of ints, or -1 if the argument is
 * anything else or longer than NL_MAX_DIMS. */
static int read_ints(PyObject *value, int64_t *numbers) {
    if (value && PyLong_CheckExact(value))
        return read_int(value, numbers) ? 1 : -1;
    if (!value || !(PyTuple_CheckExact(value) || PyList_CheckExact(value)) ||
        PySequence_Fast_GET_SIZE(value) > NL_MAX_DIMS)
        return -1;
    int count = (int)PySequence_Fast_GET_SIZE(value);
    for (int i = 0; i < count; i++)
        if (!read_int(PySequence_Fast_GET_ITEM(value, i), &numbers[i]))
            return -1;
    return count;
}

static int read_axis_number(PyObject *argument, int ndim, int *axis) {
    int64_t number;
    if (!read_int(argument, &number) || number < -ndim || number >= ndim)
        return 0;
    *axis = (int)(number < 0 ? number + ndim : number);
    return 1;
}

int nl_py_joins_read_axis(PyObject *argument, const nl_py_array *a, nl_layout *layout, int *axis) {
    if (argument && argument != Py_None)
        return read_axis_number(argument, a->ndim, axis);
    *axis = 0;
    if (a->ndim == 1)
        return 1;
    layout->ndim = 1;
    layout->shape[0] = nl_py_devarray_count(a);
    layout->strides[0] = a->itemsize;
    return a->flags & NL_PY_ARRAY_C;
}

static PyObject *new_array(const nl_py_array *like, const nl_layout *layout) {
    return nl_py_devarray_empty(like->state, like->descr,
                                nl_py_hostarray_element_of_descr(like->descr), layout);
}

/* Returns 'F' for an array that is contiguous only in Fortran order, else 'C'. */
static char memory_order(const nl_py_array *a) {
    return (a->flags & (NL_PY_ARRAY_C | NL_PY_ARRAY_F)) == NL_PY_ARRAY_F ? 'F' : 'C';
}

static PyObject *run_copies(PyObject *made, const nl_py_box_copy *copies, int count) {
    if (made && nl_py_batchcopy_run((nl_py_array *)made, copies, count) < 0)
        Py_CLEAR(made);
    return made;
}

/* ---- concatenate and stack ---- */

typedef struct join {
    PyObject *items; /* tuple */
    int count, axis, stacks;
    const nl_py_array *first;
    nl_layout layout; /* of the result */
} join;

/* Sets the layout of an array in the dimensions of the result. */
static void part_layout(const join *j, const nl_py_array *a, nl_layout *layout) {
    layout->ndim = j->layout.ndim;
    layout->itemsize = a->itemsize;
    for (int i = 0; i < layout->ndim; i++) {
        int is_new = j->stacks && i == j->axis, from = j->stacks && i > j->axis ? i - 1 : i;
        layout->shape[i] = is_new ? 1 : a->shape[from];
        layout->strides[i] = is_new ? 0 : nl_py_devarray_strides(a)[from];
    }
}

/* Returns whether an array can be joined with the first array; adds its length to the result. */
static int add_part(const nl_py_state *state, join *j, PyObject *item) {
    const nl_py_array *a = (nl_py_array *)item;
    if (!is_on_current_device(state, item) || a->class != j->first->class ||
        a->ndim != j->first->ndim ||
        (a->descr != j->first->descr && !nl_py_hostarray_same_dtype(a->descr, j->first->descr)))
        return 0;
    for (int i = 0; i < a->ndim; i++)
        if ((j->stacks || i != j->axis) && a->shape[i] != j->first->shape[i])
            return 0;
    return !__builtin_add_overflow(j->layout.shape[j->axis], j->stacks ? 1 : a->shape[j->axis],
                                   &j->layout.shape[j->axis]);
}

/* Plans the result of arrays of one dtype, whose elements are numbers or times. Returns 0 if the
 * arrays cannot be joined by plain copies. */
static int plan_join(const nl_py_state *state, join *j, PyObject *axis) {
    j->count = (int)PyTuple_GET_SIZE(j->items);
    if (j->count < 1 || !is_on_current_device(state, PyTuple_GET_ITEM(j->items, 0)))
        return 0;
    j->first = (nl_py_array *)PyTuple_GET_ITEM(j->items, 0);
    int ndim = j->first->ndim + j->stacks;
    if ((j->first->class != NL_ELEMENT_PLAIN && j->first->class != NL_ELEMENT_TIME) ||
        ndim > NL_MAX_DIMS || !read_axis_number(axis, ndim, &j->axis))
        return 0;
    j->layout.ndim = ndim;
    part_layout(j, j->first, &j->layout);
    j->layout.shape[j->axis] = 0;
    for (int i = 0; i < j->count; i++)
        if (!add_part(state, j, PyTuple_GET_ITEM(j->items, i)))
            return 0;
    return 1;
}

/* Sets the strides of the result: C order for C-contiguous arrays, else the order of the arrays in
 * memory. */
static int set_order_of_parts(join *j) {
    int is_c = 1, ndim = j->layout.ndim;
    for (int i = 0; is_c && i < j->count; i++)
        is_c = ((nl_py_array *)PyTuple_GET_ITEM(j->items, i))->flags & NL_PY_ARRAY_C;
    if (nl_py_geometry_strides(&j->layout, 'C') < 0)
        return -1;
    if (is_c)
        return 0;
    int64_t *strides = PyMem_New(int64_t, (size_t)j->count * (size_t)ndim);
    const int64_t **rows = PyMem_New(const int64_t *, (size_t)j->count);
    for (int i = 0; strides && rows && i < j->count; i++) {
        nl_layout part;
        part_layout(j, (nl_py_array *)PyTuple_GET_ITEM(j->items, i), &part);
        for (int k = 0; k < ndim; k++)
            strides[i * ndim + k] = part.shape[k] == 1 ? 0 : part.strides[k];
        rows[i] = strides + (ptrdiff_t)i * ndim;
    }
    if (strides && rows)
        nl_layout_set_like_several(&j->layout, rows, j->count);
    else
        PyErr_NoMemory();
    int result = strides && rows ? 0 : -1;
    PyMem_Free(strides);
    PyMem_Free(rows);
    return result;
}

static PyObject *copy_parts(const join *j) {
    nl_py_box_copy *copies = PyMem_New(nl_py_box_copy, (size_t)j->count);
    PyObject *made = copies ? new_array(j->first, &j->layout) : PyErr_NoMemory();
    int64_t begin = 0;
    int count = 0;
    for (int i = 0; made && i < j->count; i++) {
        const nl_py_array *a = (nl_py_array *)PyTuple_GET_ITEM(j->items, i);
        nl_layout part;
        part_layout(j, a, &part);
        CUdeviceptr to =
            ((nl_py_array *)made)->address + (CUdeviceptr)(begin * j->layout.strides[j->axis]);
        count +=
            nl_py_batchcopy_set_box(&copies[count], a, a->address, to, &part, j->layout.strides);
        begin += part.shape[j->axis];
    }
    made = run_copies(made, copies, count);
    PyMem_Free(copies);
    return made;
}

/* Returns NotImplemented for more than `most` arrays. */
static PyObject *join_sequence(const nl_py_state *state, PyObject *arrays, PyObject *axis,
                               int stacks, Py_ssize_t most) {
    PyObject *zero = NULL, *result = NULL;
    join j; /* not initialized: it is large */
    if (!(PyTuple_CheckExact(arrays) || PyList_CheckExact(arrays)) ||
        PySequence_Fast_GET_SIZE(arrays) > most)
        return Py_NewRef(Py_NotImplemented);
    if (!axis)
        axis = zero = PyLong_FromLong(0);
    j.stacks = stacks;
    j.items = axis ? PySequence_Tuple(arrays) : NULL;
    if (j.items && !plan_join(state, &j, axis))
        result = Py_NewRef(Py_NotImplemented);
    else if (j.items && set_order_of_parts(&j) == 0)
        result = copy_parts(&j);
    Py_XDECREF(j.items);
    Py_XDECREF(zero);
    return result;
}

static PyObject *join_limited_sequence(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                                       PyObject *keywords, int stacks) {
    static const char *const names[] = {"arrays", "axis"};
    enum { MAX_FEW = 32 /* for more, numbalite/ndarray/jointable.py is faster */ };
    PyObject *values[2] = {NULL};
    if (!nl_py_keywords_match(names, 2, 2, args, nargs, keywords, values))
        return Py_NewRef(Py_NotImplemented);
    return join_sequence(nl_py_state_of(module), values[0], values[1], stacks, MAX_FEW);
}

static PyObject *concatenate(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                             PyObject *keywords) {
    if (nargs < 1) /* arrays= is not a keyword of numpy.concatenate */
        return Py_NewRef(Py_NotImplemented);
    return join_limited_sequence(module, args, nargs, keywords, 0);
}

static PyObject *stack(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                       PyObject *keywords) {
    return join_limited_sequence(module, args, nargs, keywords, 1);
}

static PyObject *join_arrays(PyObject *module, PyObject *const *args, Py_ssize_t nargs) {
    if (nargs != 3)
        return PyErr_Format(PyExc_TypeError, "join_arrays() accepts three arguments");
    return join_sequence(nl_py_state_of(module), args[0], args[1], args[2] == Py_True, INT_MAX);
}

/* ---- roll ---- */

/* Reads the shift along each axis, at least 0 and less than the length. Returns the number of axes
 * with a shift, or -1 if Python code must read the arguments. */
static int read_shifts(PyObject *shift, PyObject *axis, const nl_py_array *a, nl_layout *layout,
                       int64_t *steps) {
    int64_t shifts[NL_MAX_DIMS], axes[NL_MAX_DIMS] = {0};
    int count = read_ints(shift, shifts), rolled = 0, flat;
    if (!axis || axis == Py_None) {
        if (count != 1 || !nl_py_joins_read_axis(NULL, a, layout, &flat))
            return -1;
    } else if (count < 0 || read_ints(axis, axes) != count ||
               PyLong_CheckExact(shift) != PyLong_CheckExact(axis)) {
        return -1;
    }
    memset(steps, 0, (size_t)layout->ndim * sizeof *steps);
    for (int i = 0; i < count; i++) {
        if (axes[i] < -layout->ndim || axes[i] >= layout->ndim)
            return -1;
        int k = (int)(axes[i] < 0 ? axes[i] + layout->ndim : axes[i]);
        int64_t n = layout->shape[k];
        if (n > 0)
            steps[k] = (steps[k] + (shifts[i] % n + n) % n) % n;
    }
    for (int i = 0; i < layout->ndim; i++)
        rolled += steps[i] != 0;
    return rolled;
}

/* Copies each axis in two parts: bit i of `part` selects the part along the rolled axis i. Returns
 * 0 if the box is empty. */
static int set_rolled_box(nl_py_box_copy *c, const nl_py_array *a, const nl_py_array *made,
                          const nl_layout *layout, const int64_t *to, const int64_t *steps,
                          unsigned part) {
    nl_layout box;
    CUdeviceptr from = a->address, at = made->address;
    nl_layout_copy(&box, layout);
    for (int i = 0; i < layout->ndim; i++) {
        if (steps[i] == 0)
            continue;
        if (part & 1) { /* the last elements become the first ones */
            box.shape[i] = steps[i];
            from += (CUdeviceptr)((layout->shape[i] - steps[i]) * layout->strides[i]);
        } else {
            box.shape[i] -= steps[i];
            at += (CUdeviceptr)(steps[i] * to[i]);
        }
        part >>= 1;
    }
    return nl_py_batchcopy_set_box(c, a, from, at, &box, to);
}

static PyObject *roll(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                      PyObject *keywords) {
    static const char *const names[] = {"a", "shift", "axis"};
    PyObject *values[3] = {NULL};
    nl_layout layout, result;
    int64_t steps[NL_MAX_DIMS];
    if (!nl_py_keywords_match(names, 3, 3, args, nargs, keywords, values) || !values[1] ||
        !is_on_current_device(nl_py_state_of(module), values[0]))
        return Py_NewRef(Py_NotImplemented);
    const nl_py_array *a = (nl_py_array *)values[0];
    nl_py_devarray_layout(a, &layout);
    int rolled = read_shifts(values[1], values[2], a, &layout, steps), count = 0;
    if (rolled < 0 || rolled > MAX_ROLLED_AXES)
        return Py_NewRef(Py_NotImplemented);
    nl_py_devarray_layout(a, &result);
    nl_layout_set_like(&result, nl_py_devarray_strides(a));
    nl_py_box_copy *copies = PyMem_New(nl_py_box_copy, (size_t)1 << rolled);
    PyObject *made = copies ? new_array(a, &result) : PyErr_NoMemory();
    /* a flattened array is C-contiguous, and its layout is that of the result */
    const int64_t *to = layout.ndim == a->ndim ? result.strides : layout.strides;
    for (unsigned part = 0; made && part < 1u << rolled; part++)
        count += set_rolled_box(&copies[count], a, (nl_py_array *)made, &layout, to, steps, part);
    made = run_copies(made, copies, count);
    PyMem_Free(copies);
    if (made &&
        (!values[2] || values[2] == Py_None)) /* NumPy returns a view of the flattened result */
        Py_XSETREF(made, nl_py_devarray_view((nl_py_array *)made, ((nl_py_array *)made)->address,
                                             &result));
    return made;
}

/* ---- tile and repeat ---- */

/* Returns a new array in C order whose elements are those of the view `spread` of the array. `of`
 * contains the shape and the strides of the view; `shape` is that of the result. */
static PyObject *copy_spread_view(const nl_py_array *a, const nl_layout *of, nl_layout *shape) {
    nl_layout to;
    if (nl_py_geometry_strides(shape, 'C') < 0)
        return NULL;
    PyObject *made = new_array(a, shape);
    if (!made || nl_layout_count_elements(shape) == 0)
        return made;
    nl_layout_copy(&to, of);
    nl_layout_set_c(&to);
    PyObject *source = nl_py_devarray_view(a, a->address, of);
    PyObject *target =
        source ? nl_py_devarray_view((nl_py_array *)made, ((nl_py_array *)made)->address, &to)
               : NULL;
    if (!target || nl_py_batchcopy_elements(source, target, ((nl_py_array *)made)->stream) < 0)
        Py_CLEAR(made);
    Py_XDECREF(source);
    Py_XDECREF(target);
    return made;
}

static void append_axis(nl_layout *layout, int64_t length, int64_t stride) {
    layout->shape[layout->ndim] = length;
    layout->strides[layout->ndim++] = stride;
}

static PyObject *tile(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                      PyObject *keywords) {
    static const char *const names[] = {"A", "reps"};
    PyObject *values[2] = {NULL};
    int64_t reps[NL_MAX_DIMS];
    if (!nl_py_keywords_match(names, 2, 2, args, nargs, keywords, values) ||
        !is_on_current_device(nl_py_state_of(module), values[0]))
        return Py_NewRef(Py_NotImplemented);
    const nl_py_array *a = (nl_py_array *)values[0];
    int count = read_ints(values[1], reps), ndim = a->ndim > count ? a->ndim : count, tiled = 0;
    nl_layout of = {.itemsize = a->itemsize}, shape = of;
    for (int i = 0; i < count; i++)
        tiled += reps[i] != 1;
    if (count < 0 || ndim + tiled > NL_MAX_DIMS ||
        (count <= a->ndim && !tiled)) /* the array itself, in its own order */
        return Py_NewRef(Py_NotImplemented);
    for (int i = 0; i < ndim; i++) {
        int axis = i - (ndim - a->ndim), rep = i - (ndim - count);
        int64_t n = axis < 0 ? 1 : a->shape[axis], times = rep < 0 ? 1 : reps[rep], length;
        if (times < 0 || __builtin_mul_overflow(n, times, &length))
            return Py_NewRef(Py_NotImplemented);
        if (times != 1)
            append_axis(&of, times, 0);
        append_axis(&of, n, axis < 0 ? 0 : nl_py_devarray_strides(a)[axis]);
        append_axis(&shape, length, 0);
    }
    return copy_spread_view(a, &of, &shape);
}

static PyObject *repeat(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                        PyObject *keywords) {
    static const char *const names[] = {"a", "repeats", "axis"};
    PyObject *values[3] = {NULL};
    nl_layout layout;
    int64_t times, length;
    int axis;
    if (!nl_py_keywords_match(names, 3, 3, args, nargs, keywords, values) ||
        !is_on_current_device(nl_py_state_of(module), values[0]) || !read_int(values[1], &times) ||
        times < 0)
        return Py_NewRef(Py_NotImplemented);
    const nl_py_array *a = (nl_py_array *)values[0];
    nl_py_devarray_layout(a, &layout);
    if (!nl_py_joins_read_axis(values[2], a, &layout, &axis) || layout.ndim == NL_MAX_DIMS ||
        __builtin_mul_overflow(layout.shape[axis], times, &length))
        return Py_NewRef(Py_NotImplemented);
    nl_layout of = {.itemsize = a->itemsize}, shape = of;
    for (int i = 0; i < layout.ndim; i++) {
        append_axis(&of, layout.shape[i], layout.strides[i]);
        append_axis(&shape, i == axis ? length : layout.shape[i], 0);
        if (i == axis)
            append_axis(&of, times, 0);
    }
    return copy_spread_view(a, &of, &shape);
}

/* ---- pad ---- */

/* Reads the widths before and after each axis: an int, a pair of ints for all axes, or a pair for
 * each axis. Returns 0 if Python code must read the argument. */
static int read_pad_widths(PyObject *argument, int ndim, int64_t (*widths)[2]) {
    int64_t all[NL_MAX_DIMS];
    int count = read_ints(argument, all);
    int by_axis = count < 0 && (PyTuple_CheckExact(argument) || PyList_CheckExact(argument)) &&
                  PySequence_Fast_GET_SIZE(argument) == ndim;
    if (!by_axis && count != 2 && !(count == 1 && PyLong_CheckExact(argument)))
        return 0;
    for (int i = 0; i < ndim; i++) {
        if (by_axis && read_ints(PySequence_Fast_GET_ITEM(argument, i), all) != 2)
            return 0;
        widths[i][0] = all[0];
        widths[i][1] = by_axis || count == 2 ? all[1] : all[0];
        if (widths[i][0] < 0 || widths[i][1] < 0)
            return 0;
    }
    return 1;
}

static int fill_with_zeros(PyObject *array) {
    const nl_py_array *a = (nl_py_array *)array;
    nl_layout scalar = {.ndim = 0, .itemsize = a->itemsize};
    nl_host_array host;
    PyObject *args = NULL, *done = NULL;
    PyObject *zero = nl_py_hostarray_new(a->descr, &scalar, NULL, NULL);
    if (zero && nl_py_hostarray_read(zero, &host) == 0) {
        memset(host.data, 0, (size_t)a->itemsize);
        args = PyTuple_Pack(2, zero, a->stream ? a->stream : Py_None);
    }
    if (args)
        done = nl_py_devcopy_fill(array, args, NULL);
    Py_XDECREF(zero);
    Py_XDECREF(args);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

/* Pads with zeros. */
static PyObject *pad(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                     PyObject *keywords) {
    static const char *const names[] = {"array", "pad_width", "mode"};
    PyObject *values[3] = {NULL};
    int64_t widths[NL_MAX_DIMS][2];
    nl_layout of, layout;
    nl_py_box_copy copy;
    CUdeviceptr begin = 0;
    if (!nl_py_keywords_match(names, 3, 3, args, nargs, keywords, values) ||
        !is_on_current_device(nl_py_state_of(module), values[0]) ||
        ((nl_py_array *)values[0])->class != NL_ELEMENT_PLAIN ||
        (values[2] && (!PyUnicode_CheckExact(values[2]) ||
                       PyUnicode_CompareWithASCIIString(values[2], "constant"))))
        return Py_NewRef(Py_NotImplemented);
    const nl_py_array *a = (nl_py_array *)values[0];
    if (!values[1] || !read_pad_widths(values[1], a->ndim, widths))
        return Py_NewRef(Py_NotImplemented);
    nl_py_devarray_layout(a, &of);
    nl_layout_copy(&layout, &of);
    for (int i = 0; i < a->ndim; i++)
        if (__builtin_add_overflow(layout.shape[i], widths[i][0], &layout.shape[i]) ||
            __builtin_add_overflow(layout.shape[i], widths[i][1], &layout.shape[i]))
            return Py_NewRef(Py_NotImplemented);
    if (nl_py_geometry_strides(&layout, memory_order(a)) < 0)
        return NULL;
    for (int i = 0; i < a->ndim; i++)
        begin += (CUdeviceptr)(widths[i][0] * layout.strides[i]);
    PyObject *made = new_array(a, &layout);
    if (made && fill_with_zeros(made) < 0)
        Py_CLEAR(made);
    if (!made)
        return NULL;
    int count = nl_py_batchcopy_set_box(
        &copy, a, a->address, ((nl_py_array *)made)->address + begin, &of, layout.strides);
    return run_copies(made, &copy, count);
}

/* ---- copy ---- */

static PyObject *copy_array(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                            PyObject *keywords) {
    static const char *const names[] = {"self", "order"};
    PyObject *values[2] = {NULL};
    nl_layout layout;
    if (!nl_py_keywords_match(names, 2, 2, args, nargs, keywords, values) ||
        !is_on_current_device(nl_py_state_of(module), values[0]) ||
        ((nl_py_array *)values[0])->stream ||
        (values[1] && !(PyUnicode_CheckExact(values[1]) && PyUnicode_GET_LENGTH(values[1]) == 1)))
        return Py_NewRef(Py_NotImplemented);
    const nl_py_array *a = (nl_py_array *)values[0];
    const Py_UCS4 order = values[1] ? PyUnicode_READ_CHAR(values[1], 0) : 'C';
    if (order != 'C' && order != 'F' && order != 'A' && order != 'K')
        return Py_NewRef(Py_NotImplemented);
    nl_py_devarray_layout(a, &layout);
    if (nl_py_geometry_strides(&layout, order == 'A'   ? memory_order(a)
                                        : order == 'F' ? 'F'
                                                       : 'C') < 0)
        return NULL;
    if (order == 'K')
        nl_layout_set_like(&layout, nl_py_devarray_strides(a));
    PyObject *made = new_array(a, &layout);
    if (made && nl_py_batchcopy_elements(values[0], made, ((nl_py_array *)made)->stream) < 0)
        Py_CLEAR(made);
    return made;
}

#define DIRECT(function) (PyCFunction)(void (*)(void)) function, METH_FASTCALL | METH_KEYWORDS

static PyMethodDef functions[] = {
    {"concatenate", DIRECT(concatenate),
     "concatenate(arrays, axis=0): joins at most 32 device arrays of one dtype."},
    {"stack", DIRECT(stack),
     "stack(arrays, axis=0): joins at most 32 device arrays of one dtype along a new axis."},
    {"join_arrays", (PyCFunction)(void (*)(void))join_arrays, METH_FASTCALL,
     "join_arrays(arrays, axis, stacks): joins any number of device arrays of one dtype."},
    {"roll", DIRECT(roll), "roll(a, shift, axis=None): numpy.roll for a device array."},
    {"tile", DIRECT(tile), "tile(A, reps): numpy.tile for a device array."},
    {"repeat", DIRECT(repeat),
     "repeat(a, repeats, axis=None): numpy.repeat for a device array and an int."},
    {"pad", DIRECT(pad),
     "pad(array, pad_width, mode='constant'): numpy.pad with zeros for a device array."},
    {"copy_array", DIRECT(copy_array),
     "copy_array(self, order='C'): DeviceNDArray.copy on the current stream."},
    {NULL, NULL, 0, NULL}};

int nl_py_joins_exec(PyObject *module) {
    return nl_py_state_add_functions(module, functions);
}
