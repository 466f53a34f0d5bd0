/* py/jointable: fills the table by which one kernel (numbalite/ndarray/jointable.py) concatenates
 * any number of contiguous arrays. In the result, each array has one block of bytes in each of the
 * `rows` rows. */
#include <string.h>
#include "core/capture.h"
#include "py/devarray.h"
#include "py/trace.h"

enum {
    MAX_WORD = 16,
    BLOCK_WORDS = 256 * 4, /* number of words that a thread block copies, as in
                            * cuda_src/templates/join_table.cu */
};

/* A row of the table, which describes one array of the result. `words` and `offset` are in words.
 * `first_block` is the thread block that copies the array's first word. */
typedef struct entry {
    int64_t address, words, offset, first_block;
} entry;

typedef struct join {
    int axis, stacks; /* axis of the concatenation, and whether it is a new axis */
    int64_t rows, pitch, blocks, word, length;
} join;

/* Returns whether the kernel can read the array through the table: the array must be contiguous and
 * match the first array. Arrays of other libraries and arrays that are bound to streams are
 * excluded, because only the arguments of a launch are ordered with their streams. */
static int has_like_layout(const nl_py_array *a, const nl_py_array *first, const join *j) {
    if (!(a->flags & NL_PY_ARRAY_C) || a->owner || a->stream || a->descr != first->descr ||
        a->buffer->device != first->buffer->device || a->ndim != first->ndim)
        return 0;
    for (int i = 0; i < a->ndim; i++)
        if ((j->stacks || i != j->axis) && a->shape[i] != first->shape[i])
            return 0;
    return 1;
}

/* Returns the number of bytes of the array in each row of the result. */
static int64_t row_bytes(const nl_py_array *a, const join *j) {
    int64_t bytes = a->itemsize;
    for (int i = j->axis; i < a->ndim; i++)
        bytes *= a->shape[i];
    return bytes;
}

/* Writes the table in bytes. Returns 1 on success, or 0 if another code path must join the arrays;
 * -1 with an exception. */
static int fill_table_rows(const nl_py_state *state, PyObject *parts, join *j, entry *table) {
    Py_ssize_t count = PyList_GET_SIZE(parts);
    const nl_py_array *first = (const nl_py_array *)PyList_GET_ITEM(parts, 0);
    uint64_t bits = MAX_WORD;
    nl_error err;
    for (Py_ssize_t k = 0; k < count; k++) {
        PyObject *item = PyList_GET_ITEM(parts, k);
        const nl_py_array *a = (const nl_py_array *)item;
        if (!nl_py_devarray_check(state, item) || !has_like_layout(a, first, j))
            return 0;
        if (nl_py_devarray_order_with_stream(a, NULL, 1, &err) < 0) {
            nl_py_raise(&err);
            return -1;
        }
        table[k] = (entry){(int64_t)a->address, row_bytes(a, j), j->pitch, 0};
        j->pitch += table[k].words;
        j->length += j->stacks ? 1 : a->shape[j->axis];
        bits |= (uint64_t)table[k].address | (uint64_t)table[k].words | (uint64_t)j->pitch;
    }
    for (j->word = MAX_WORD; bits % (uint64_t)j->word;)
        j->word /= 2;
    return 1;
}

/* Converts the table from bytes to words, and assigns thread blocks to the arrays. */
static void assign_blocks(join *j, entry *table, Py_ssize_t count) {
    j->pitch /= j->word;
    for (Py_ssize_t k = 0; k < count; k++) {
        table[k].words /= j->word;
        table[k].offset /= j->word;
        table[k].first_block = j->blocks;
        j->blocks += (j->rows * table[k].words + BLOCK_WORDS - 1) / BLOCK_WORDS;
    }
}

static PyObject *shape_of_result(const nl_py_array *first, const join *j) {
    int ndim = first->ndim + (j->stacks != 0);
    PyObject *shape = PyTuple_New(ndim);
    for (int i = 0; shape && i < ndim; i++) {
        int of = j->stacks && i > j->axis ? i - 1 : i;
        PyObject *length = PyLong_FromLongLong(i == j->axis ? j->length : first->shape[of]);
        if (!length)
            Py_CLEAR(shape);
        else
            PyTuple_SET_ITEM(shape, i, length);
    }
    return shape;
}

static PyObject *make_join_table(PyObject *module, PyObject *args) {
    const nl_py_state *state = nl_py_state_of(module);
    PyObject *parts, *bytes, *shape;
    join j = {.rows = 1};
    if (!PyArg_ParseTuple(args, "O!ip:join_table", &PyList_Type, &parts, &j.axis, &j.stacks))
        return NULL;
    Py_ssize_t count = PyList_GET_SIZE(parts);
    if (count < 1 || nl_capture_is_any_active() ||
        !nl_py_devarray_check(state, PyList_GET_ITEM(parts, 0)))
        Py_RETURN_NONE;
    const nl_py_array *first = (const nl_py_array *)PyList_GET_ITEM(parts, 0);
    if (j.axis < 0 || j.axis >= first->ndim + (j.stacks != 0) || first->ndim >= NL_MAX_DIMS ||
        first->itemsize < 1)
        Py_RETURN_NONE;
    for (int i = 0; i < j.axis; i++)
        j.rows *= first->shape[i];
    bytes = PyBytes_FromStringAndSize(NULL, count * (Py_ssize_t)sizeof(entry));
    if (!bytes)
        return NULL;
    entry *table = (entry *)PyBytes_AS_STRING(bytes);
    int filled = fill_table_rows(state, parts, &j, table);
    if (filled == 1) {
        nl_py_trace_invalidate(); /* no trace: a replay would use the addresses in this table */
        assign_blocks(&j, table, count);
        shape = shape_of_result(first, &j);
        if (shape)
            return Py_BuildValue("NNLLLL", shape, bytes, (long long)j.word, (long long)j.rows,
                                 (long long)j.pitch, (long long)j.blocks);
        filled = -1;
    }
    Py_DECREF(bytes);
    return filled < 0 ? NULL : Py_NewRef(Py_None);
}

static PyMethodDef functions[] = {
    {"join_table", make_join_table, METH_VARARGS,
     "join_table(parts, axis, stacks): "
     "plans the concatenation of device arrays along an axis, or a new axis if `stacks`. "
     "Returns (shape of the result, table, word size, rows, words of a row, blocks). "
     "Returns None if the arrays are not contiguous, or differ in dtype, device or shape."},
    {NULL, NULL, 0, NULL}};

int nl_py_jointable_exec(PyObject *module) {
    return nl_py_state_add_functions(module, functions);
}
