/* py/hostfunction: the type HostFunction, the Python callable that jit returns.
 *
 * An entry is the code that was compiled for one list of type codes, or for any arguments if the
 * types are declared. A call first compares its type codes with the entry of the last call. The
 * call then writes the parameter block on the stack, releases the interpreter's lock, runs the
 * code, and converts the results to Python objects. Entries live as long as the HostFunction,
 * because another thread may be executing the code of an entry.
 *
 * Scalars are converted before arrays are read: a conversion may run Python code, but reading an
 * array does not. So no array can change between the time when the array is read and the call. */
#include "py/state.h"

#include <string.h>
#include "base/lock.h"
#include "base/mem.h"
#include "core/hostloop.h"
#include "core/hostrandom.h"
#include "host/function_abi.h"
#include "py/aggregate.h"
#include "py/argument.h"
#include "py/hostarray.h"
#include "py/hostmodule.h"
#include "py/kernel.h"
#include "py/overloads.h"
#include "py/typecode.h"

#define INLINE_BLOCK 1024
#define INLINE_ARGS 64

/* An item of a function's result: an argument, a number, or a view of an argument. */
typedef struct result {
    int parameter;   /* index of the returned argument; -1 if the code has stored a number or a
                      * view */
    PyObject *descr; /* dtype of a view, else NULL */
    int ndim;
    int writable;
} result;

typedef struct entry {
    nl_py_overload base; /* base.code is the HostModule */
    const nl_host_function *function;
    char *name; /* for messages */
    nl_params params;
    int has_arrays, has_others;
    int returns;       /* number of items in `returned`; -1 if the code returns plain numbers */
    int returns_tuple; /* 0: one item */
    result returned[NL_HOST_RESULTS];
} entry;

typedef struct hostfunction {
    PyObject_HEAD vectorcallfunc vectorcall;
    nl_py_state *state;
    PyObject *name;
    PyObject *parameters;      /* names of the parameters, a tuple of str, or NULL */
    PyObject *defaults;        /* default values of the last parameters, a tuple, or NULL */
    nl_py_overloads overloads; /* entries by type codes; if `typed`, one entry for any arguments */
    void *last;                /* entry */
    int typed, keeps_lock;
    PyObject *weakrefs;
} hostfunction;

/* ---- messages ---- */

static const char *function_name(const hostfunction *f) {
    const char *name = PyUnicode_AsUTF8(f->name);
    if (!name)
        PyErr_Clear();
    return name ? name : "function";
}

static PyObject *raise_argument_count(const hostfunction *f, Py_ssize_t given, Py_ssize_t wanted) {
    if (given > wanted || !f->parameters)
        return PyErr_Format(PyExc_TypeError,
                            "%U() takes %zd positional argument%s but %zd %s given", f->name,
                            wanted, wanted == 1 ? "" : "s", given, given == 1 ? "was" : "were");
    PyObject *missing = PyTuple_GetSlice(f->parameters, given, wanted);
    PyObject *comma = missing ? PyUnicode_FromString("', '") : NULL;
    PyObject *names = comma ? PyUnicode_Join(comma, missing) : NULL;
    if (names)
        PyErr_Format(
            PyExc_TypeError,
            "%U() missing %zd required positional argument%s: '%U' (it takes %zd, %zd given)",
            f->name, wanted - given, wanted - given == 1 ? "" : "s", names, wanted, given);
    Py_XDECREF(names);
    Py_XDECREF(comma);
    Py_XDECREF(missing);
    return NULL;
}

/* ---- entries ---- */

static void entry_clear(entry *e) {
    nl_params_clear(&e->params);
    for (int i = 0; i < NL_HOST_RESULTS; i++)
        Py_CLEAR(e->returned[i].descr);
    nl_mem_free(e->name);
}

/* Returns the nl_host_function of this name in a HostModule, or NULL with an exception. */
static const nl_host_function *find_host_function(PyObject *module, const char *symbol) {
    const nl_host_function *function = nl_py_hostmodule_find(module, symbol);
    if (function && (function->abi != NL_HOST_FUNCTION_ABI || function->count < 0 ||
                     function->count > NL_HOST_RESULTS)) {
        PyErr_Format(PyExc_TypeError, "%s is no host function", symbol);
        return NULL;
    }
    return function;
}

static inline int is_array(nl_param_kind kind) {
    return kind == NL_PARAM_ARRAY || kind == NL_PARAM_POINTER;
}

/* Fills a result from an item of `returned`: a parameter's index, -1 for a number, or (dtype, axes,
 * writable) for a view.
 */
static int fill_result(const entry *e, result *r, PyObject *item) {
    if (!PyTuple_Check(item)) {
        long index = PyLong_AsLong(item);
        if (index == -1 && PyErr_Occurred())
            return -1;
        r->parameter = index >= 0 && index < e->params.count ? (int)index : -1;
        return 0;
    }
    PyObject *dtype;
    r->parameter = -1;
    if (!PyArg_ParseTuple(item, "Oip:_resolve", &dtype, &r->ndim, &r->writable))
        return -1;
    r->descr = nl_py_hostarray_convert_descr(dtype);
    return r->descr ? 0 : -1;
}

/* Fills the results from `returned`, which is None, or a pair of
 * (whether the results are a tuple, items). */
static int fill_returned_results(entry *e, PyObject *returned) {
    PyObject *items;
    e->returns = -1;
    if (returned == Py_None)
        return 0;
    if (!PyArg_ParseTuple(returned, "pO!:_resolve", &e->returns_tuple, &PyTuple_Type, &items))
        return -1;
    Py_ssize_t count = PyTuple_GET_SIZE(items);
    int values = 0, fits = count <= NL_HOST_RESULTS;
    for (Py_ssize_t i = 0; fits && i < count; i++) {
        result *r = &e->returned[i];
        if (fill_result(e, r, PyTuple_GET_ITEM(items, i)) < 0)
            return -1;
        if (r->parameter < 0) {
            int is_view =
                values < e->function->count && e->function->dtypes[values] == NL_HOST_VIEW;
            fits = is_view == (r->descr != NULL) && r->ndim < NL_HOST_SLOTS;
            values++;
        }
    }
    if (!fits || values != e->function->count) {
        PyErr_SetString(PyExc_RuntimeError,
                        "_resolve: the returned items do not match the compiled code");
        return -1;
    }
    e->returns = (int)count;
    return 0;
}

/* Fills an entry from the result of _resolve: (HostModule, name of its nl_host_function,
 * Parameter rows, and optionally the argument of fill_returned_results). */
static int entry_fill(hostfunction *f, entry *e, PyObject *answer) {
    const char *symbol;
    PyObject *rows, *module, *returned = Py_None;
    nl_error err;
    if (!PyTuple_Check(answer)) {
        PyErr_SetString(PyExc_TypeError,
                        "_resolve must return (module, symbol, parameters, returned)");
        return -1;
    }
    if (!PyArg_ParseTuple(answer, "OsO|O:_resolve", &module, &symbol, &rows, &returned))
        return -1;
    e->name = nl_mem_strdup(function_name(f), &err);
    if (!e->name) {
        nl_py_raise(&err);
        return -1;
    }
    PyObject *tuple = PySequence_Tuple(rows);
    int result = tuple ? nl_py_kernel_read_params(tuple, &e->params) : -1;
    Py_XDECREF(tuple);
    e->function = result == 0 ? find_host_function(module, symbol) : NULL;
    if (!e->function)
        return -1;
    if (e->function->block_size < e->params.size) {
        PyErr_Format(PyExc_RuntimeError, "%U(): the parameters do not match the compiled code",
                     f->name);
        return -1;
    }
    if (fill_returned_results(e, returned) < 0)
        return -1;
    for (int i = 0; i < e->params.count; i++) {
        nl_param_kind kind = e->params.items[i].kind;
        e->has_arrays |= is_array(kind) || kind == NL_PARAM_TUPLE;
        e->has_others |= !is_array(kind);
    }
    e->base.code = Py_NewRef(module);
    return 0;
}

static entry *new_entry_from_answer(hostfunction *f, PyObject *answer, const uint32_t *codes,
                                    size_t size) {
    entry *e = nl_py_overload_new(sizeof *e, codes, size);
    if (!e)
        return NULL;
    if (entry_fill(f, e, answer) == 0 &&
        nl_py_overloads_add(&f->overloads, (PyObject *)f, &e->base) == 0)
        return e;
    entry_clear(e);
    nl_py_overload_free(&e->base);
    return NULL;
}

static inline int read_type_code(nl_py_values *read, PyObject *value, uint32_t *code,
                                 const char **reason) {
    if (PyFloat_CheckExact(value)) {
        *code = NL_FLOAT64;
        return 1;
    }
    if (PyLong_CheckExact(value)) {
        int overflow;
        (void)PyLong_AsLongLongAndOverflow(value, &overflow);
        *code = NL_INT64;
        if (!overflow)
            return 1;
    }
    return nl_py_typecode_of_host_value(read, value, code, reason);
}

static int read_codes(hostfunction *f, nl_py_values *read, PyObject *const *args, Py_ssize_t nargs,
                      uint32_t *codes) {
    char where[360];
    const char *reason;
    for (Py_ssize_t i = 0; i < nargs; i++) {
        int found = read_type_code(read, args[i], &codes[i], &reason);
        if (found > 0)
            continue;
        if (found == 0) {
            PyObject *name = f->parameters && i < PyTuple_GET_SIZE(f->parameters)
                                 ? PyTuple_GET_ITEM(f->parameters, i)
                                 : NULL;
            const char *text = name ? PyUnicode_AsUTF8(name) : NULL;
            if (text)
                PyOS_snprintf(where, sizeof where, "%.200s(): parameter %zd '%.100s'",
                              function_name(f), i + 1, text);
            else
                PyOS_snprintf(where, sizeof where, "%.200s(): parameter %zd", function_name(f),
                              i + 1);
            nl_py_type_code_raise_unsupported(f->state, args[i], where, "function", reason);
        }
        return -1;
    }
    return 0;
}

static entry *resolve_entry(hostfunction *f, const uint32_t *codes, size_t size,
                            PyObject *const *args, Py_ssize_t nargs) {
    entry *e = NULL;
    PyObject *bytes = PyBytes_FromStringAndSize((const char *)codes, (Py_ssize_t)size);
    PyObject *tuple = bytes ? PyTuple_New(nargs) : NULL;
    for (Py_ssize_t i = 0; tuple && i < nargs; i++)
        PyTuple_SET_ITEM(tuple, i, Py_NewRef(args[i]));
    PyObject *answer =
        tuple ? PyObject_CallMethod((PyObject *)f, "_resolve", "OO", bytes, tuple) : NULL;
    if (answer)
        e = new_entry_from_answer(f, answer, codes, size);
    Py_XDECREF(answer);
    Py_XDECREF(tuple);
    Py_XDECREF(bytes);
    return e;
}

/* Returns the entry for these arguments, after compiling it if necessary; the pointer is valid for
 * the lifetime of `f`. */
static entry *find_entry(hostfunction *f, nl_py_values *read, PyObject *const *args,
                         Py_ssize_t nargs) {
    uint32_t codes[INLINE_ARGS];
    size_t size = f->typed ? 0 : (size_t)nargs * sizeof *codes;
    entry *e = nl_atomic_load_pointer(&f->last);
    if (f->parameters && PyTuple_GET_SIZE(f->parameters) != nargs) {
        raise_argument_count(f, nargs, PyTuple_GET_SIZE(f->parameters));
        return NULL;
    }
    if (nargs > INLINE_ARGS) {
        PyErr_Format(PyExc_TypeError, "%U(): more than %d arguments", f->name, INLINE_ARGS);
        return NULL;
    }
    nl_py_key_clear_padding(codes, size);
    if (!f->typed && read_codes(f, read, args, nargs, codes) < 0)
        return NULL;
    if (e && nl_py_overload_fits(&e->base, NULL, codes, size))
        return e;
    e = (entry *)nl_py_overloads_find(&f->overloads, NULL, codes, size);
    if (!e) {
        e = resolve_entry(f, codes, size, args, nargs);
        read->runs++;
    }
    if (e)
        nl_atomic_store_pointer(&f->last, e);
    return e;
}

/* ---- results ---- */

static PyObject *scalar_to_python(nl_dtype dtype, const void *bytes) {
    nl_scalar s;
    nl_scalar_load(&s, dtype, bytes);
    switch (s.kind) {
    case NL_SCALAR_BOOL:
        return PyBool_FromLong((long)s.integer);
    case NL_SCALAR_INT:
        return PyLong_FromLongLong(s.integer);
    case NL_SCALAR_UINT:
        return PyLong_FromUnsignedLongLong((unsigned long long)s.integer);
    case NL_SCALAR_FLOAT:
        return PyFloat_FromDouble(s.real);
    case NL_SCALAR_COMPLEX:
        return PyComplex_FromDoubles(s.real, s.imaginary);
    case NL_SCALAR_BIG:
        break;
    }
    return Py_NewRef(Py_None);
}

/* Reads the data pointer, shape and strides of a result that is a view; the compiled code has
 * stored them in `slot`. */
static void load_view(const result *r, const unsigned char *slot, nl_layout *layout, char **data) {
    int64_t values[1 + 2 * NL_HOST_SLOTS];
    memcpy(values, slot, (size_t)(1 + 2 * r->ndim) * sizeof *values);
    *data = (char *)(uintptr_t)values[0];
    layout->ndim = r->ndim;
    layout->itemsize = nl_py_hostarray_element_of_descr(r->descr).itemsize;
    memcpy(layout->shape, values + 1, (size_t)r->ndim * sizeof *values);
    memcpy(layout->strides, values + 1 + r->ndim, (size_t)r->ndim * sizeof *values);
}

/* Returns the address, shape and strides of an array parameter, or of an array in a tuple
 * parameter, which are stored in the parameter block. */
static nl_layout_view parameter_view(const nl_param *p, const unsigned char *block) {
    const int64_t *values = (const int64_t *)(block + p->offset);
    int ndim = p->kind == NL_PARAM_ARRAY ? p->ndim : 0;
    return (nl_layout_view){(uint64_t)values[0], ndim, p->itemsize, values + 1, values + 1 + ndim};
}

/* Returns whether the view has the address, shape, strides and dtype of the argument, so that the
 * argument itself can be returned. */
static int is_whole_argument(const nl_param *p, const unsigned char *block, PyObject *arg,
                             const result *r, const nl_layout_view *view) {
    nl_layout_view whole = parameter_view(p, block);
    nl_host_array array;
    if (p->kind != NL_PARAM_ARRAY || whole.address != view->address || whole.ndim != view->ndim ||
        memcmp(whole.shape, view->shape, (size_t)view->ndim * sizeof *view->shape) != 0 ||
        memcmp(whole.strides, view->strides, (size_t)view->ndim * sizeof *view->strides) != 0)
        return 0;
    if (!nl_py_hostarray_is_array(arg))
        return p->itemsize == view->itemsize &&
               p->dtype == nl_py_hostarray_element_of_descr(r->descr).dtype;
    return nl_py_hostarray_read(arg, &array) == 0 &&
           nl_py_hostarray_same_dtype(array.descr, r->descr);
}

/* Returns the index of the parameter whose memory contains all elements of a view, or -1. An empty
 * view is attributed to the first array. */
static int find_owner_of_view(const entry *e, const unsigned char *block, const nl_layout *layout,
                              const nl_layout_view *view) {
    nl_range part = nl_layout_address_range(view);
    int is_empty = nl_layout_count_elements(layout) == 0, first = -1;
    for (int i = 0; i < e->params.total; i++) {
        const nl_param *p = &e->params.items[i];
        if (!is_array(p->kind))
            continue;
        nl_layout_view whole = parameter_view(p, block);
        nl_range range = nl_layout_address_range(&whole);
        if (!is_empty && part.low >= range.low && part.high <= range.high)
            return p->number;
        if (first < 0)
            first = p->number;
    }
    return is_empty ? first : -1;
}

/* Returns a view as a NumPy array over the memory of an argument, or the argument itself. */
static PyObject *array_from_view(const hostfunction *f, const entry *e, const result *r,
                                 const unsigned char *slot, const unsigned char *block,
                                 PyObject *const *args) {
    nl_layout layout;
    char *data;
    load_view(r, slot, &layout, &data);
    nl_layout_view view = nl_layout_make_view(&layout, (uint64_t)(uintptr_t)data);
    for (int i = 0; i < e->params.count; i++)
        if (is_whole_argument(&e->params.items[i], block, args[i], r, &view))
            return Py_NewRef(args[i]);
    int owner = find_owner_of_view(e, block, &layout, &view);
    if (owner < 0)
        return PyErr_Format(PyExc_TypeError,
                            "%U() returns an array that is not a part of its arguments: "
                            "return an argument, or a view of one",
                            f->name);
    int writable = r->writable && (!nl_py_hostarray_is_array(args[owner]) ||
                                   nl_py_hostarray_is_writable(args[owner]));
    PyObject *array = nl_py_hostarray_new(r->descr, &layout, data, Py_NewRef(args[owner]));
    if (array && !writable)
        nl_py_hostarray_make_read_only(array);
    return array;
}

/* Converts results to Python objects if some of them are arguments or views. */
static PyObject *results_with_arrays(const hostfunction *f, const entry *e,
                                     const unsigned char *results, const unsigned char *block,
                                     PyObject *const *args) {
    PyObject *tuple = e->returns_tuple ? PyTuple_New(e->returns) : NULL;
    if (e->returns_tuple && !tuple)
        return NULL;
    for (int i = 0, value = 0; i < e->returns; i++) {
        const result *r = &e->returned[i];
        PyObject *item;
        if (r->parameter >= 0) {
            item = Py_NewRef(args[r->parameter]);
        } else if (r->descr) {
            item = array_from_view(f, e, r, results, block, args);
            results += (1 + r->ndim) * NL_HOST_SLOT;
            value++;
        } else {
            item = scalar_to_python((nl_dtype)e->function->dtypes[value++], results);
            results += NL_HOST_SLOT;
        }
        if (!tuple)
            return item;
        if (!item) {
            Py_DECREF(tuple);
            return NULL;
        }
        PyTuple_SET_ITEM(tuple, i, item);
    }
    return tuple;
}

static PyObject *python_result(const nl_host_function *function, const unsigned char *results) {
    if (!function->is_tuple) {
        if (function->count == 0)
            return Py_NewRef(Py_None);
        if (function->dtypes[0] == NL_FLOAT64)
            return PyFloat_FromDouble(*(const double *)results);
        return scalar_to_python((nl_dtype)function->dtypes[0], results);
    }
    PyObject *tuple = PyTuple_New(function->count);
    for (int i = 0; tuple && i < function->count; i++) {
        PyObject *item =
            scalar_to_python((nl_dtype)function->dtypes[i], results + i * NL_HOST_SLOT);
        if (!item)
            Py_CLEAR(tuple);
        else
            PyTuple_SET_ITEM(tuple, i, item);
    }
    return tuple;
}

/* ---- calls ---- */

/* Writes the values of the parameters `first` to `first + count - 1` to the block: only arrays if
 * `arrays` is set, otherwise only other values. Items of tuples are handled like parameters. */
static int write_parameters(nl_py_call *call, int first, int count, PyObject *const *values,
                            int arrays, unsigned char *block) {
    for (int i = 0; i < count; i++) {
        const nl_param *p = &call->params->items[first + i];
        if (p->kind == NL_PARAM_TUPLE) {
            PyObject *items = nl_py_aggregate_items(call, first + i, values[i]);
            int result = items ? write_parameters(call, p->first, p->parts,
                                                  PySequence_Fast_ITEMS(items), arrays, block)
                               : -1;
            Py_XDECREF(items);
            if (result < 0)
                return -1;
        } else if (is_array(p->kind) == arrays &&
                   nl_py_argument_write(call, first + i, values[i], block) < 0) {
            return -1;
        }
    }
    return 0;
}

/* Writes all arguments, arrays last: converting an object to a number may run code that reallocates
 * an array's memory. */
static int write_arguments(const hostfunction *f, const entry *e, nl_py_values *read,
                           PyObject *const *args, unsigned char *block) {
    nl_py_call call; /* not zero-initialized, because the struct is large */
    call.state = f->state;
    call.name = e->name;
    call.params = &e->params;
    call.kernel = NULL;
    call.device = NULL;
    call.stream = NULL;
    call.blocking = 0;
    call.may_visit = 0;
    call.values = read;
    for (int arrays = !e->has_others; arrays <= e->has_arrays; arrays++)
        if (write_parameters(&call, 0, e->params.count, args, arrays, block) < 0)
            return -1;
    return 0;
}

/* Raises the exception for a failed assert or check. */
static PyObject *raise_fault(hostfunction *f) {
    nl_error err;
    const char *name = PyUnicode_AsUTF8(f->name);
    if (!name)
        return NULL;
    nl_hostloop_pop_fault(&err.fault);
    snprintf(err.fault.kernel, sizeof err.fault.kernel, "%s", name);
    nl_error_fault(&err);
    return nl_py_raise(&err);
}

static PyObject *call_entry(hostfunction *f, const entry *e, nl_py_values *read,
                            PyObject *const *args, unsigned char *block) {
    _Alignas(16) unsigned char results[NL_HOST_SLOTS * NL_HOST_SLOT];
    nl_host_frame frame = {block, results};
    int status;
    if (write_arguments(f, e, read, args, block) < 0)
        return NULL;
    PyThreadState *thread = f->keeps_lock ? NULL : PyEval_SaveThread();
    status = nl_hostloop_run_guarded(e->function->run, &frame);
    if (thread)
        PyEval_RestoreThread(thread);
    if (__builtin_expect(status < 0, 0))
        return raise_fault(f);
    return e->returns < 0 ? python_result(e->function, results)
                          : results_with_arrays(f, e, results, block, args);
}

static PyObject *call_with_read_values(hostfunction *f, nl_py_values *read, PyObject *const *args,
                                       Py_ssize_t nargs) {
    _Alignas(16) unsigned char block[INLINE_BLOCK];
    nl_error err;
    const entry *e = find_entry(f, read, args, nargs);
    if (!e)
        return NULL;
    if (nargs != e->params.count)
        return raise_argument_count(f, nargs, e->params.count);
    if (e->params.size <= INLINE_BLOCK)
        return call_entry(f, e, read, args, block);
    unsigned char *large = nl_mem_alloc(e->params.size + 16, &err);
    if (!large)
        return nl_py_raise(&err);
    PyObject *result = call_entry(f, e, read, args, large + (-(uintptr_t)large & 15));
    nl_mem_free(large);
    return result;
}

static PyObject *call_positional(hostfunction *f, PyObject *const *args, Py_ssize_t nargs) {
    nl_py_values read; /* not zero-initialized, because the struct is large */
    nl_py_values_init(&read, f->state, NULL, NULL, 0);
    PyObject *result = call_with_read_values(f, &read, args, nargs);
    nl_py_values_clear(&read);
    return result;
}

/* Returns a borrowed reference to the default value of a parameter, or NULL if it has none. */
static PyObject *default_argument(const hostfunction *f, Py_ssize_t i) {
    Py_ssize_t count = f->defaults ? PyTuple_GET_SIZE(f->defaults) : 0;
    i -= PyTuple_GET_SIZE(f->parameters) - count;
    return i < 0 ? NULL : PyTuple_GET_ITEM(f->defaults, i);
}

/* Makes a call with keywords, or with fewer arguments than parameters; `keywords` may be NULL. */
static PyObject *call_keywords(hostfunction *f, PyObject *const *args, Py_ssize_t nargs,
                               PyObject *keywords) {
    PyObject *ordered[INLINE_ARGS] = {NULL};
    Py_ssize_t wanted = f->parameters ? PyTuple_GET_SIZE(f->parameters) : 0, given = nargs;
    if (!f->parameters)
        return PyErr_Format(PyExc_TypeError, "%U() takes no keyword arguments", f->name);
    if (nargs > wanted || wanted > INLINE_ARGS)
        return raise_argument_count(f, nargs, wanted);
    for (Py_ssize_t i = 0; i < nargs; i++)
        ordered[i] = args[i];
    for (Py_ssize_t k = 0; keywords && k < PyTuple_GET_SIZE(keywords); k++) {
        PyObject *name = PyTuple_GET_ITEM(keywords, k);
        Py_ssize_t at = PySequence_Index(f->parameters, name);
        if (at < 0) {
            PyErr_Clear();
            return PyErr_Format(PyExc_TypeError, "%U() got an unexpected keyword argument '%U'",
                                f->name, name);
        }
        if (ordered[at])
            return PyErr_Format(PyExc_TypeError, "%U() got multiple values for argument '%U'",
                                f->name, name);
        ordered[at] = args[nargs + k];
        given++;
    }
    for (Py_ssize_t i = 0; i < wanted; i++)
        if (!ordered[i] && !(ordered[i] = default_argument(f, i)))
            return PyErr_Format(PyExc_TypeError,
                                "%U() missing required argument '%U' (it takes %zd, %zd given)",
                                f->name, PyTuple_GET_ITEM(f->parameters, i), wanted, given);
    return call_positional(f, ordered, wanted);
}

static PyObject *hostfunction_vectorcall(PyObject *self, PyObject *const *args, size_t nargsf,
                                         PyObject *keywords) {
    hostfunction *f = (hostfunction *)self;
    Py_ssize_t nargs = PyVectorcall_NARGS(nargsf);
    if (!f->name) {
        PyErr_SetString(PyExc_RuntimeError, "HostFunction.__init__ was not called");
        return NULL;
    }
    int is_short = f->defaults && nargs < PyTuple_GET_SIZE(f->parameters);
    if ((keywords && PyTuple_GET_SIZE(keywords) > 0) || is_short)
        return call_keywords(f, args, nargs, keywords);
    return call_positional(f, args, nargs);
}

/* ---- the type ---- */

static PyObject *hostfunction_new(PyTypeObject *type, PyObject *Py_UNUSED(args),
                                  PyObject *Py_UNUSED(kwargs)) {
    hostfunction *f = (hostfunction *)type->tp_alloc(type, 0);
    if (!f)
        return NULL;
    f->vectorcall = hostfunction_vectorcall;
    f->state = nl_py_state_of_type(type);
    if (!f->state)
        Py_CLEAR(f);
    return (PyObject *)f;
}

static int hostfunction_init(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"name", "parameters", "typed", "nogil", "defaults", NULL};
    hostfunction *f = (hostfunction *)self;
    PyObject *name, *parameters = Py_None, *defaults = Py_None, *tuple = NULL;
    int typed = 0, nogil = 1;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "U|OppO:HostFunction", names, &name, &parameters,
                                     &typed, &nogil, &defaults))
        return -1;
    if (f->name) { /* the name cannot change: calls of other threads may be reading it */
        PyErr_SetString(PyExc_RuntimeError, "a host function is initialised once");
        return -1;
    }
    if (parameters != Py_None && !(tuple = PySequence_Tuple(parameters)))
        return -1;
    for (Py_ssize_t i = 0; tuple && i < PyTuple_GET_SIZE(tuple); i++)
        if (!PyUnicode_Check(PyTuple_GET_ITEM(tuple, i))) {
            PyErr_SetString(PyExc_TypeError, "parameter names must be str");
            Py_DECREF(tuple);
            return -1;
        }
    Py_ssize_t wanted = tuple ? PyTuple_GET_SIZE(tuple) : 0;
    if (defaults != Py_None && !(PyTuple_Check(defaults) && PyTuple_GET_SIZE(defaults) <= wanted)) {
        PyErr_SetString(PyExc_TypeError,
                        "defaults must be a tuple, with at most one item per parameter");
        Py_XDECREF(tuple);
        return -1;
    }
    f->parameters = tuple;
    f->defaults = defaults != Py_None && PyTuple_GET_SIZE(defaults) ? Py_NewRef(defaults) : NULL;
    f->typed = typed;
    f->keeps_lock = !nogil;
    f->name = Py_NewRef(name);
    return 0;
}

static int hostfunction_traverse(PyObject *self, visitproc visit, void *arg) {
    hostfunction *f = (hostfunction *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(f->defaults);
    return nl_py_overloads_traverse(&f->overloads, visit, arg);
}

static void hostfunction_dealloc(PyObject *self) {
    hostfunction *f = (hostfunction *)self;
    PyObject_GC_UnTrack(self);
    if (f->weakrefs)
        PyObject_ClearWeakRefs(self);
    for (nl_py_overload *e = f->overloads.all; e; e = e->next)
        entry_clear((entry *)e);
    nl_py_overloads_free(&f->overloads);
    Py_XDECREF(f->name);
    Py_XDECREF(f->parameters);
    Py_XDECREF(f->defaults);
    nl_py_free_object(self);
}

static PyObject *hostfunction_resolve(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(args)) {
    PyErr_SetString(PyExc_NotImplementedError, "a subclass of HostFunction must define _resolve");
    return NULL;
}

static PyObject *hostfunction_forget(PyObject *self, PyObject *Py_UNUSED(args)) {
    nl_py_overloads_mark_dead(&((hostfunction *)self)->overloads);
    Py_RETURN_NONE;
}

/* Enables the vectorcall of subclasses written in Python; since 3.12, CPython does this itself. */
static PyObject *hostfunction_init_subclass(PyObject *cls, PyObject *Py_UNUSED(args)) {
#if PY_VERSION_HEX < 0x030C0000
    PyTypeObject *type = (PyTypeObject *)cls;
    if (type->tp_call == PyVectorcall_Call && type->tp_vectorcall_offset > 0)
        type->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
#else
    (void)cls;
#endif
    Py_RETURN_NONE;
}

static PyMethodDef hostfunction_methods[] = {
    {"_resolve", hostfunction_resolve, METH_VARARGS,
     "_resolve(codes, args) -> (module, symbol, parameters): "
     "finds or compiles the code; subclasses define this method."},
    {"_clear", hostfunction_forget, METH_NOARGS, "_clear(): forgets what was resolved."},
    {"__init_subclass__", hostfunction_init_subclass, METH_NOARGS | METH_CLASS, NULL},
    {NULL, NULL, 0, NULL}};

static PyMemberDef hostfunction_members[] = {
    {"__weaklistoffset__", Py_T_PYSSIZET, offsetof(hostfunction, weakrefs), Py_READONLY, NULL},
    {"__vectorcalloffset__", Py_T_PYSSIZET, offsetof(hostfunction, vectorcall), Py_READONLY, NULL},
    {NULL, 0, 0, 0, NULL}};

static PyType_Slot hostfunction_slots[] = {
    {Py_tp_doc, "HostFunction(name, parameters=None, typed=False, nogil=True, defaults=None): "
                "a compiled function on the CPU."},
    {Py_tp_new, hostfunction_new},
    {Py_tp_init, hostfunction_init},
    {Py_tp_dealloc, hostfunction_dealloc},
    {Py_tp_traverse, hostfunction_traverse},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_methods, hostfunction_methods},
    {Py_tp_members, hostfunction_members},
    {0, NULL}};

static PyType_Spec hostfunction_spec = {
    .name = "numbalite._core.HostFunction",
    .basicsize = sizeof(hostfunction),
    .flags =
        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .slots = hostfunction_slots,
};

static PyObject *random_seed(PyObject *Py_UNUSED(module), PyObject *arg) {
    PyObject *number = PyNumber_Index(arg);
    if (!number)
        return NULL;
    nl_hostrandom_seed(PyLong_AsUnsignedLongLongMask(number));
    Py_DECREF(number);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

static PyObject *host_results(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *image;
    const char *symbol;
    if (!PyArg_ParseTuple(args, "Os:host_results", &image, &symbol))
        return NULL;
    const nl_host_function *function = find_host_function(image, symbol);
    if (!function)
        return NULL;
    PyObject *names = PyTuple_New(function->count);
    for (int i = 0; names && i < function->count; i++) {
        unsigned char code = function->dtypes[i];
        PyObject *name = code == NL_HOST_VIEW ? Py_NewRef(Py_None)
                                              : PyUnicode_FromString(nl_dtype_name((nl_dtype)code));
        if (!name)
            Py_CLEAR(names);
        else
            PyTuple_SET_ITEM(names, i, name);
    }
    return names ? Py_BuildValue("(NO)", names, function->is_tuple ? Py_True : Py_False) : NULL;
}

static PyMethodDef functions[] = {
    {"host_results", host_results, METH_VARARGS,
     "host_results(module, symbol) -> (names of dtypes, is a tuple): "
     "returns the dtypes of a compiled function's results, and whether the result is a tuple."},
    {"random_seed", random_seed, METH_O,
     "random_seed(seed): "
     "seeds the random number generator of the calling thread's CPU code."},
    {NULL, NULL, 0, NULL}};

int nl_py_hostfunction_exec(PyObject *module) {
    if (nl_py_state_add_functions(module, functions) < 0)
        return -1;
    return nl_py_state_add_type(module, &hostfunction_spec, NULL,
                                &nl_py_state_of(module)->hostfunction_type);
}
