/* py/matmul: matrix products of device arrays, which cuBLAS computes without a copy if the layouts
 * allow it.
 *
 * Arrays are row-major and cuBLAS's matrices are column-major. So c = a b is computed as c' = b'
 * a', without transposing memory. If c is column-major, c = a b is computed directly. Python
 * (numbalite/linalg/matmul.py) handles all other products: other dtypes, broadcasting along several
 * axes, layouts that require a copy, host arguments, a library that is not loaded yet. The Python
 * code then calls this file with arrays that cuBLAS supports. */
#include "py/matmul.h"

#include "core/gemm.h"
#include "core/handle.h"
#include "py/devarray.h"
#include "py/trace.h"
#include "py/owner.h"
#include "py/stream.h"
#include "py/workspace.h"

/* An array that is interpreted as a batch of matrices; strides are in elements. */
typedef struct matrices {
    int64_t count, rows, columns;
    int64_t step, row, column;
} matrices;

typedef struct product {
    nl_py_state *state;
    nl_py_array *a, *b, *out;
    CUstream stream;
    int blocking;
    /* set if the caller guarantees that `out` shares no memory with a and b, and has a valid
     * dtype */
    int trusted;
    int bfloat16; /* set if uint16 arrays contain the bits of bfloat16 numbers */
} product;

static int read_matrices(const nl_py_array *x, matrices *m) {
    const int64_t *shape = x->shape, *strides = nl_py_devarray_strides(x);
    int last = x->ndim - 1;
    for (int i = 0; i < x->ndim; i++)
        if (shape[i] == 0 || strides[i] % x->itemsize != 0)
            return 0;
    m->count = x->ndim == 3 ? shape[0] : 1;
    m->step = x->ndim == 3 && shape[0] > 1 ? strides[0] / x->itemsize : 0;
    m->rows = shape[last - 1];
    m->columns = shape[last];
    m->row = strides[last - 1] / x->itemsize;
    m->column = strides[last] / x->itemsize;
    return m->step >= 0;
}

/* Describes a matrix for cuBLAS, which reads column-major memory, as transposed or not transposed.
 * If `swapped` is set, describes the transposed matrix. Returns 0 if neither the rows nor the
 * columns are contiguous. */
static int describe_as_column_major(const matrices *m, CUdeviceptr address, nl_gemm_matrix *out,
                                    int swapped) {
    int rows_dense = (m->column == 1 || m->columns == 1) &&
                     (m->row >= m->columns || (m->rows == 1 && m->row >= 0));
    int columns_dense = (m->row == 1 || m->rows == 1) && (m->column >= m->rows || m->columns == 1);
    int64_t row_lead = m->rows == 1 && m->row < m->columns ? m->columns : m->row;
    int64_t column_lead = m->columns == 1 ? m->rows : m->column;
    out->address = address;
    out->step = m->step;
    if (rows_dense) {
        out->lead = row_lead;
        out->transposed = !swapped;
        return 1;
    }
    out->lead = column_lead;
    out->transposed = swapped;
    return columns_dense;
}

/* Plans c = a b for these strides or, with `swapped`, c' = b' a'. Returns 0 if cuBLAS does not
 * support the strides. */
static int find_product(const nl_py_array *arrays[3], const matrices sets[3], int swapped,
                        nl_gemm *g) {
    const int first = swapped ? 1 : 0, second = swapped ? 0 : 1;
    if (!describe_as_column_major(&sets[2], arrays[2]->address, &g->c, swapped) || g->c.transposed)
        return 0;
    g->m = swapped ? sets[2].columns : sets[2].rows;
    g->n = swapped ? sets[2].rows : sets[2].columns;
    return describe_as_column_major(&sets[first], arrays[first]->address, &g->a, swapped) &&
           describe_as_column_major(&sets[second], arrays[second]->address, &g->b, swapped);
}

/* Returns the cudaDataType of the elements, or -1. */
static int cuda_type_of_array(const product *p, const nl_py_array *x) {
    if (x->class != NL_ELEMENT_PLAIN)
        return -1;
    if (x->dtype == NL_UINT16)
        return p->bfloat16 ? CUDA_R_16BF : -1;
    return nl_gemm_cuda_type((nl_dtype)x->dtype);
}

/* Fills *g and returns 1, or returns 0 if Python must compute the product. */
static int plan_product(const product *p, nl_gemm *g) {
    const nl_py_array *arrays[3] = {p->a, p->b, p->out};
    matrices sets[3];
    for (int i = 0; i < 3; i++)
        if (!read_matrices(arrays[i], &sets[i]))
            return 0;
    if (sets[0].columns != sets[1].rows || sets[2].rows != sets[0].rows ||
        sets[2].columns != sets[1].columns)
        return 0;
    g->type = cuda_type_of_array(p, p->a);
    g->result = cuda_type_of_array(p, p->out);
    g->k = sets[0].columns;
    g->count = sets[2].count;
    for (int i = 0; i < 2; i++)
        if (sets[i].count != 1 && sets[i].count != g->count)
            return 0;
    if (g->count > 1 && sets[0].count > 1 && sets[1].count == 1 &&
        sets[0].step == sets[0].rows * sets[0].row && sets[2].step == sets[2].rows * sets[2].row) {
        /* if all products of the batch have the same b, one product computes all rows */
        for (int i = 0; i < 3; i += 2) {
            sets[i].rows *= sets[i].count;
            sets[i].count = 1;
            sets[i].step = 0;
        }
        g->count = 1;
    }
    if (sets[2].rows == 1 && sets[2].columns == 1 && !p->bfloat16)
        return 0; /* each result is one number: Python computes it as a reduction */
    return find_product(arrays, sets, 1, g) || find_product(arrays, sets, 0, g);
}

static int is_gemm_operand(const product *p, const nl_py_array *x) {
    return cuda_type_of_array(p, x) >= 0 && (x->ndim == 2 || x->ndim == 3) &&
           !(x->misaligned & (x->itemsize - 1));
}

/* Returns whether cuBLAS can write the product to `out`. */
static int can_write_product(const product *p) {
    const nl_py_array *out = p->out;
    if (!is_gemm_operand(p, out) ||
        !nl_gemm_supports(cuda_type_of_array(p, p->a), cuda_type_of_array(p, out)) ||
        out->flags & NL_PY_ARRAY_NO_TARGET)
        return 0;
    if (!p->trusted && (out->dtype != p->a->dtype || out->owner || out->buffer == p->a->buffer ||
                        out->buffer == p->b->buffer))
        return 0;
    return out->ndim == (p->a->ndim > p->b->ndim ? p->a->ndim : p->b->ndim) &&
           out->buffer->device == p->a->buffer->device;
}

static nl_py_array *new_result(const product *p) {
    const nl_py_array *deep = p->a->ndim >= p->b->ndim ? p->a : p->b;
    nl_layout layout = {.ndim = deep->ndim, .itemsize = p->a->itemsize};
    nl_element element = {(nl_dtype)p->a->dtype, NL_ELEMENT_PLAIN, p->a->itemsize};
    if (layout.ndim == 3)
        layout.shape[0] = deep->shape[0];
    layout.shape[layout.ndim - 2] = p->a->shape[p->a->ndim - 2];
    layout.shape[layout.ndim - 1] = p->b->shape[p->b->ndim - 1];
    if (nl_py_geometry_strides(&layout, 'C') < 0)
        return NULL;
    return (nl_py_array *)nl_py_devarray_empty(p->state, p->a->descr, element, &layout);
}

static int order_arrays_with_stream(const product *p, nl_error *err) {
    nl_py_array *arrays[3] = {p->a, p->b, p->out};
    for (int i = 0; i < 3; i++)
        if (nl_py_devarray_order_with_stream(arrays[i], p->stream, p->blocking, err) < 0)
            return -1;
    return 0;
}

static int keep_arrays_alive(const product *p) {
    nl_py_array *arrays[3] = {p->a, p->b, p->out};
    if (nl_py_capture_check_default_stream(p->stream,
                                           "a matrix product (cuda.matmul takes stream=)") < 0)
        return -1;
    for (int i = 0; i < 3; i++)
        if (nl_py_capture_keep_alive(p->stream, (PyObject *)arrays[i], 0) < 0)
            return -1;
    return 0;
}

static int run_product(const product *p, const nl_gemm *g) {
    nl_device *dev = p->a->buffer->device;
    nl_error err;
    nl_workspace workspace = {0};
    int result;
    if (nl_capture_is_any_active() &&
        (keep_arrays_alive(p) < 0 || nl_py_workspace_for_cublas(dev, p->stream, &workspace) < 0))
        return -1;
    if (nl_device_bind(dev, &err) < 0 || order_arrays_with_stream(p, &err) < 0)
        goto fail;
    if (nl_handle_exists(NL_CUBLAS, dev, p->stream))
        result = nl_gemm_run(dev, p->stream, g, &workspace, &err);
    else
        NL_UNLOCKED(result = nl_gemm_run(dev, p->stream, g, &workspace, &err));
    if (result == 0)
        return 0;
    if (err.code == CUBLAS_STATUS_NOT_SUPPORTED && nl_capture_has_stream(p->stream)) {
        PyErr_SetString(PyExc_RuntimeError,
                        "this matrix product cannot be captured in a graph: "
                        "on the simulator, the host computes products; capture it on a GPU");
        return -1;
    }
fail:
    nl_error_prefix(&err, "matmul");
    nl_py_raise(&err);
    return -1;
}

/* Returns the result as a new reference. Returns NULL without an exception if Python must compute
 * the product, or NULL with an exception. */
static PyObject *multiply_matrices(product *p) {
    nl_error err;
    nl_gemm g;
    nl_py_array *made = NULL;
    const nl_py_array *a = p->a, *b = p->b;
    if (!nl_cudalib_is_open(NL_CUBLAS) || !is_gemm_operand(p, a) || !is_gemm_operand(p, b) ||
        a->dtype != b->dtype || a->buffer->device != b->buffer->device ||
        (a->ndim == 3 && b->ndim == 3 && a->shape[0] != b->shape[0]))
        return NULL;
    nl_device *current = nl_device_current(&err);
    if (!current)
        return nl_py_raise(&err);
    if (current != a->buffer->device || (p->out && !can_write_product(p)))
        return NULL;
    if (!p->out) {
        if (a->shape[a->ndim - 1] != b->shape[b->ndim - 2])
            return NULL;
        p->out = made = new_result(p);
        if (!made)
            return NULL;
    }
    int plain = plan_product(p, &g);
    if (!plain || run_product(p, &g) < 0) {
        Py_XDECREF(made);
        return NULL;
    }
    return made ? (PyObject *)made : Py_NewRef((PyObject *)p->out);
}

static PyObject *call_python_matmul(const char *name, PyObject *const *args, Py_ssize_t nargs,
                                    PyObject *keywords) {
    PyObject *module = PyImport_ImportModule("numbalite.linalg.matmul");
    PyObject *function = module ? PyObject_GetAttrString(module, name) : NULL;
    PyObject *result =
        function ? PyObject_Vectorcall(function, args, (size_t)nargs, keywords) : NULL;
    Py_XDECREF(function);
    Py_XDECREF(module);
    return result;
}

static int is_array(const nl_py_state *state, PyObject *obj) {
    return nl_py_devarray_check(state, obj);
}

static PyObject *forward_matmul(PyObject *left, PyObject *const *args, size_t nargsf,
                                PyObject *keywords) {
    (void)nargsf;
    (void)keywords;
    return nl_py_matmul(left, args[1]);
}

PyObject *nl_py_matmul(PyObject *left, PyObject *right) {
    PyObject *args[2] = {left, right}, *result;
    if (Py_TYPE(left) == Py_TYPE(right) &&
        nl_py_owners_run_if_needed(((nl_py_array *)left)->state, forward_matmul, left, args, 2,
                                   NULL, &result))
        return result;
    if (nl_py_is_tracing())
        return nl_py_trace_call_by_name("_operator", "matmul", args, 2, NULL);
    if (Py_TYPE(left) == Py_TYPE(right)) { /* if one operand is a device array, both are */
        nl_py_state *state = ((nl_py_array *)left)->state;
        product p = {.state = state, .a = (nl_py_array *)left, .b = (nl_py_array *)right};
        if (nl_py_stream_from_argument(state, NULL, &p.stream, &p.blocking) < 0)
            return NULL;
        result = multiply_matrices(&p);
        if (result || PyErr_Occurred())
            return result;
    }
    return call_python_matmul("operator", args, 2, NULL);
}

/* Returns the device array of out=, which NumPy passes as a tuple of one item. Returns NULL,
 * without an exception, if the object is not a device array. */
static PyObject *output_from_tuple(const nl_py_state *state, PyObject *out) {
    if (PyTuple_Check(out) && PyTuple_GET_SIZE(out) == 1)
        out = PyTuple_GET_ITEM(out, 0);
    return is_array(state, out) ? out : NULL;
}

/* Computes matmul_vectorcall(a, b[, out], out=). Returns NULL without an exception if Python must
 * compute the product. */
static PyObject *multiply_operands(nl_py_state *state, PyObject *const *args, Py_ssize_t nargs,
                                   PyObject *keywords) {
    PyObject *out = nargs == 3 ? args[2] : NULL;
    Py_ssize_t named = nl_py_count_keywords(keywords);
    int simple = nargs == 2 || nargs == 3;
    if (named == 1 && nargs == 2 &&
        PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(keywords, 0), "out") == 0)
        out = args[2];
    else if (named > 0)
        simple = 0;
    PyObject *target = out ? output_from_tuple(state, out) : NULL;
    if (simple && (!out || target) && is_array(state, args[0]) && is_array(state, args[1])) {
        product p = {.state = state,
                     .a = (nl_py_array *)args[0],
                     .b = (nl_py_array *)args[1],
                     .out = (nl_py_array *)target};
        if (nl_py_stream_from_argument(state, NULL, &p.stream, &p.blocking) < 0)
            return NULL;
        return multiply_matrices(&p);
    }
    return NULL;
}

/* numpy.matmul for device arrays; calls Python if cuBLAS cannot compute the product directly. */
static PyObject *matmul_vectorcall(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                                   PyObject *keywords) {
    if (nl_py_is_tracing())
        return nl_py_trace_call_by_name("numbalite._core", "matmul", args, nargs, keywords);
    PyObject *result = multiply_operands(nl_py_state_of(module), args, nargs, keywords);
    return result || PyErr_Occurred() ? result
                                      : call_python_matmul("matmul", args, nargs, keywords);
}

/* The function that the traced cuda.matmul calls directly (py/traced). The function accepts only
 * two arguments, because the third argument of cuda.matmul is an epilogue. */
static PyObject *matmul_without_epilogue(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                                         PyObject *keywords) {
    PyObject *result =
        nargs == 2 ? multiply_operands(nl_py_state_of(module), args, nargs, keywords) : NULL;
    return result || PyErr_Occurred() ? result : Py_NewRef(Py_NotImplemented);
}

/* gemm(a, b, out, stream): computes out = a b. Returns False if cuBLAS cannot compute
 * the product directly. */
static PyObject *gemm_into_output(PyObject *module, PyObject *args) {
    nl_py_state *state = nl_py_state_of(module);
    product p = {.state = state, .trusted = 1};
    PyObject *stream;
    if (nl_py_is_tracing())
        return nl_py_trace_call_by_name("numbalite._core", "gemm", &PyTuple_GET_ITEM(args, 0),
                                        PyTuple_GET_SIZE(args), NULL);
    if (!PyArg_ParseTuple(args, "O!O!O!O|p:gemm", state->devarray_type, &p.a, state->devarray_type,
                          &p.b, state->devarray_type, &p.out, &stream, &p.bfloat16) ||
        nl_py_stream_from_argument(state, stream, &p.stream, &p.blocking) < 0)
        return NULL;
    PyObject *result = multiply_matrices(&p);
    if (!result && PyErr_Occurred())
        return NULL;
    int done = result != NULL;
    Py_XDECREF(result);
    return PyBool_FromLong(done);
}

static PyMethodDef methods[] = {
    {"matmul", (PyCFunction)(void (*)(void))matmul_vectorcall, METH_FASTCALL | METH_KEYWORDS,
     "matmul(a, b, out=None): numpy.matmul for device arrays, with NumPy's keywords."},
    {"plain_matmul", (PyCFunction)(void (*)(void))matmul_without_epilogue,
     METH_FASTCALL | METH_KEYWORDS,
     "plain_matmul(a, b, out=None): "
     "returns the product of device arrays if cuBLAS supports their layouts. "
     "Returns NotImplemented for any other arguments."},
    {"gemm", gemm_into_output, METH_VARARGS,
     "gemm(a, b, out, stream, bfloat16=False): "
     "computes out = a b for device arrays of two or three axes. "
     "Returns False if the layouts or dtypes do not allow this. "
     "bfloat16: uint16 arrays contain the bits of bfloat16 numbers."},
    {NULL, NULL, 0, NULL},
};

int nl_py_matmul_exec(PyObject *module) {
    return nl_py_state_add_functions(module, methods);
}
