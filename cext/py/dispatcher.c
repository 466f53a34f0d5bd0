/* py/dispatcher: selects the kernel of a call. Kernels are cached by device and by the type codes
 * of the arguments (typed dispatchers: by device only). If no kernel fits, the method _resolve
 * finds or compiles one, which is added to the cache. */
#include "py/dispatcher.h"

#include <string.h>
#include "base/mem.h"
#include "py/typecode.h"

#define INLINE_CODES 64

static int fast_type_code(const nl_py_state *state, PyObject *value, uint32_t *code) {
    if (nl_py_devarray_check_exact(state, value)) {
        *code = nl_atomic_load32_relaxed(&((nl_py_array *)value)->code);
        return *code != 0;
    }
    if (PyFloat_CheckExact(value)) {
        *code = NL_FLOAT64;
        return 1;
    }
    if (PyLong_CheckExact(value)) {
        int overflow;
        (void)PyLong_AsLongLongAndOverflow(value, &overflow);
        *code = NL_INT64;
        return !overflow;
    }
    return 0;
}

static int match_type_codes(nl_py_values *read, const uint32_t *codes, PyObject *const *args,
                            Py_ssize_t nargs) {
    const char *reason;
    for (Py_ssize_t i = 0; i < nargs; i++) {
        uint32_t code;
        if (!fast_type_code(read->state, args[i], &code)) {
            int found = nl_py_type_code(read, args[i], &code, &reason);
            if (found < 0)
                /* the error is ignored, because the search for another kernel raises the same
                 * exception */
                PyErr_Clear();
            if (found <= 0)
                return 0;
        }
        if (code != codes[i])
            return 0;
    }
    return 1;
}

int nl_py_dispatcher_overload_fits(const nl_py_dispatcher *d, const nl_py_overload *overload,
                                   nl_py_values *read, PyObject *const *args, Py_ssize_t nargs) {
    return nl_py_overload_runs_on(overload, read->device) &&
           (d->typed || (overload->size == (size_t)nargs * sizeof(uint32_t) &&
                         match_type_codes(read, overload->key, args, nargs)));
}

/* `codes` is NULL if the kernel accepts arguments of any type. */
nl_py_overload *nl_py_dispatcher_add(nl_py_dispatcher *d, nl_device *dev, const uint32_t *codes,
                                     Py_ssize_t count, PyObject *kernel) {
    nl_py_overload *e = nl_py_overload_new(sizeof *e, codes, (size_t)count * sizeof *codes);
    if (e && nl_py_overload_set_kernel(e, d->state, kernel, dev, d->name) == 0 &&
        nl_py_overloads_add(&d->overloads, (PyObject *)d, e) == 0)
        return e;
    nl_py_overload_free(e);
    return NULL;
}

/* ---- search for a kernel ---- */

static const char *dispatcher_name(const nl_py_dispatcher *d) {
    const char *name = PyUnicode_AsUTF8(d->name);
    if (!name)
        PyErr_Clear();
    return name ? name : "kernel";
}

/* Writes "k(): parameter 1 'x'" to `where`. Keeps an exception that is already set. */
static void describe_parameter(nl_py_dispatcher *d, Py_ssize_t i, char *where, size_t size) {
    PyObject *type, *error, *traceback;
    PyErr_Fetch(&type, &error, &traceback);
    PyObject *name = d->parameters && i < PyTuple_GET_SIZE(d->parameters)
                         ? PyTuple_GET_ITEM(d->parameters, i)
                         : NULL;
    const char *text = name ? PyUnicode_AsUTF8(name) : NULL;
    PyOS_snprintf(where, size,
                  text ? "%.200s(): parameter %zd '%.100s'" : "%.200s(): parameter %zd",
                  dispatcher_name(d), i + 1, text);
    PyErr_Restore(type, error, traceback);
}

/* Computes the type codes of all arguments, or raises an exception that contains the parameter's
 * name. */
static int read_codes(nl_py_dispatcher *d, nl_py_values *read, PyObject *const *args,
                      Py_ssize_t nargs, uint32_t *codes) {
    char where[360];
    const char *reason;
    for (Py_ssize_t i = 0; i < nargs; i++) {
        if (fast_type_code(d->state, args[i], &codes[i]))
            continue;
        int found = nl_py_type_code(read, args[i], &codes[i], &reason);
        if (found > 0)
            continue;
        describe_parameter(d, i, where, sizeof where);
        if (found == 0)
            nl_py_type_code_raise_unsupported(d->state, args[i], where, "kernel", reason);
        else
            nl_py_error_prefix_location(where);
        return -1;
    }
    return 0;
}

static nl_py_overload *resolve_kernel(nl_py_dispatcher *d, nl_py_values *read,
                                      const uint32_t *codes, Py_ssize_t count,
                                      PyObject *const *args, Py_ssize_t nargs) {
    nl_py_overload *overload = NULL;
    nl_device *dev = read->device;
    nl_error err;
    PyObject *bytes =
        PyBytes_FromStringAndSize((const char *)codes, count * (Py_ssize_t)sizeof *codes);
    PyObject *tuple = bytes ? PyTuple_New(nargs) : NULL;
    for (Py_ssize_t i = 0; tuple && i < nargs; i++)
        PyTuple_SET_ITEM(tuple, i, Py_NewRef(args[i]));
    PyObject *kernel =
        tuple ? PyObject_CallMethod((PyObject *)d, "_resolve", "iOO", dev->ordinal, bytes, tuple)
              : NULL;
    read->runs++;
    if (kernel && nl_device_bind(dev, &err) < 0)
        nl_py_raise(&err);
    else if (kernel)
        overload = nl_py_dispatcher_add(d, dev, codes, count, kernel);
    Py_XDECREF(kernel);
    Py_XDECREF(tuple);
    Py_XDECREF(bytes);
    return overload;
}

static nl_py_overload *find_or_resolve(nl_py_dispatcher *d, nl_py_values *read,
                                       const uint32_t *codes, Py_ssize_t count,
                                       PyObject *const *args, Py_ssize_t nargs) {
    nl_py_overload *overload =
        nl_py_overloads_find(&d->overloads, read->device, codes, (size_t)count * sizeof *codes);
    return overload ? overload : resolve_kernel(d, read, codes, count, args, nargs);
}

static nl_py_overload *find_by_type_codes(nl_py_dispatcher *d, const nl_launch *shape,
                                          nl_py_values *read, PyObject *const *args,
                                          Py_ssize_t nargs) {
    uint32_t inline_codes[INLINE_CODES], *codes = inline_codes;
    size_t size = (size_t)nargs * sizeof *codes;
    nl_py_overload *overload = NULL;
    nl_error err;
    if (nl_launch_check(shape, read->device, dispatcher_name(d), &err) < 0) {
        nl_py_raise(&err);
        return NULL;
    }
    if (d->parameters && PyTuple_GET_SIZE(d->parameters) != nargs) {
        nl_py_dispatcher_raise_argument_count(d, NULL, args, nargs,
                                              PyTuple_GET_SIZE(d->parameters));
        return NULL;
    }
    if (d->typed)
        return find_or_resolve(d, read, NULL, 0, args, nargs);
    if (nargs > INLINE_CODES) {
        codes = nl_mem_alloc(NL_PY_KEY_CAPACITY(size), &err);
        if (!codes) {
            nl_py_raise(&err);
            return NULL;
        }
    }
    nl_py_key_clear_padding(codes, size);
    if (read_codes(d, read, args, nargs, codes) == 0)
        overload = find_or_resolve(d, read, codes, nargs, args, nargs);
    if (codes != inline_codes)
        nl_mem_free(codes);
    return overload;
}

/* ---- checked shapes ---- */

static nl_py_overload *find_by_argument_check(nl_py_dispatcher *d, const nl_launch *shape,
                                              nl_py_values *read, PyObject *const *args,
                                              Py_ssize_t nargs) {
    nl_py_overload *candidates[NL_PY_CHECKED_SHAPES];
    int count = 0;
    Py_BEGIN_CRITICAL_SECTION(d);
    for (int i = 0; i < NL_PY_CHECKED_SHAPES; i++)
        if (d->checked[i].overload && memcmp(&d->checked[i].shape, shape, sizeof *shape) == 0)
            candidates[count++] = d->checked[i].overload;
    Py_END_CRITICAL_SECTION();
    for (int i = 0; i < count; i++)
        if (nl_py_dispatcher_overload_fits(d, candidates[i], read, args, nargs))
            return candidates[i];
    return NULL;
}

static void remember_checked_overload(nl_py_dispatcher *d, const nl_launch *shape,
                                      nl_py_overload *overload) {
    Py_BEGIN_CRITICAL_SECTION(d);
    unsigned i = d->next_checked++ % NL_PY_CHECKED_SHAPES;
    memcpy(&d->checked[i].shape, shape, sizeof *shape); /* with padding: compared as bytes */
    d->checked[i].overload = overload;
    Py_END_CRITICAL_SECTION();
}

nl_py_overload *nl_py_dispatcher_find(nl_py_dispatcher *d, const nl_launch *shape,
                                      nl_py_values *read, PyObject *const *args, Py_ssize_t nargs) {
    nl_error err;
    nl_py_overload *overload = find_by_argument_check(d, shape, read, args, nargs);
    if (overload)
        return overload;
    overload = find_by_type_codes(d, shape, read, args, nargs);
    if (!overload)
        return NULL;
    if (nl_device_bind(read->device, &err) < 0 ||
        nl_launch_prepare(shape, nl_py_overload_kernel(overload)->kernel, &err) < 0) {
        nl_py_raise(&err);
        return NULL;
    }
    remember_checked_overload(d, shape, overload);
    return overload;
}

/* ---- wrong number of arguments ---- */

static PyObject *parameter_name(const nl_py_dispatcher *d, const nl_kernel *kernel, Py_ssize_t i) {
    if (kernel)
        return PyUnicode_FromString(kernel->params.items[i].name);
    return Py_NewRef(PyTuple_GET_ITEM(d->parameters, i));
}

/* Returns the names of the missing arguments, such as "'a', 'b' and 'c'". */
static PyObject *format_missing_names(nl_py_dispatcher *d, const nl_kernel *kernel,
                                      PyObject *const *given, Py_ssize_t nargs, Py_ssize_t wanted,
                                      Py_ssize_t *count) {
    PyObject *text = PyUnicode_FromString("");
    Py_ssize_t left = 0;
    for (Py_ssize_t i = 0; i < wanted; i++)
        left += i >= nargs || !given[i];
    *count = left;
    for (Py_ssize_t i = 0; text && i < wanted; i++) {
        if (i < nargs && given[i])
            continue;
        PyObject *name = parameter_name(d, kernel, i);
        left--;
        PyObject *longer = name ? PyUnicode_FromFormat("%U'%U'%s", text, name,
                                                       left > 1    ? ", "
                                                       : left == 1 ? " and "
                                                                   : "")
                                : NULL;
        Py_XDECREF(name);
        Py_SETREF(text, longer);
    }
    return text;
}

void nl_py_dispatcher_raise_argument_count(nl_py_dispatcher *d, const nl_kernel *kernel,
                                           PyObject *const *given, Py_ssize_t nargs,
                                           Py_ssize_t wanted) {
    if (nargs > wanted) {
        PyErr_Format(PyExc_TypeError, "%U() takes %zd positional argument%s but %zd %s given",
                     d->name, wanted, wanted == 1 ? "" : "s", nargs, nargs == 1 ? "was" : "were");
        return;
    }
    Py_ssize_t count = 0;
    PyObject *names = format_missing_names(d, kernel, given, nargs, wanted, &count);
    if (names)
        PyErr_Format(
            PyExc_TypeError,
            "%U() missing %zd required positional argument%s: %U (it takes %zd, %zd given)",
            d->name, count, count == 1 ? "" : "s", names, wanted, wanted - count);
    Py_XDECREF(names);
}
