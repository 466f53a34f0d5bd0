/* py/owner: finds the streams of the arguments' owners, and orders a call with them.
 *
 * Foreign streams are treated as unordered with the default stream, without a query to the driver:
 * an unnecessary event costs little, but a missing order is a race. While the owner captures its
 * stream, the call is not ordered with streams outside of
 * the capture: the program that launches the graph is responsible for this order. */
#include "py/owner.h"

/* ---- the owners of a call ---- */

static int add_owner(nl_py_owners *owners, CUstream handle, PyObject *stream) {
    int i = 0;
    if (nl_py_lender_is_default(handle)) {
        owners->has_default = 1;
        return 0;
    }
    while (i < owners->count && owners->streams[i].handle != handle)
        i++;
    if (i < owners->count)
        return 0;
    if (i == NL_PY_MAX_OWNERS) {
        PyErr_Format(PyExc_ValueError,
                     "the arrays of this call belong to more than %d streams: pass stream=",
                     NL_PY_MAX_OWNERS);
        return -1;
    }
    owners->streams[i].handle = handle;
    owners->streams[i].stream = Py_XNewRef(stream);
    owners->count++;
    return 0;
}

static int add_library_owner(nl_py_owners *owners, PyObject *obj) {
    CUstream handle;
    PyObject *keeper;
    int found =
        nl_py_lender_stream(owners->state, obj, owners->device, owners->current, &handle, &keeper);
    int result = found > 0 ? add_owner(owners, handle, keeper) : found;
    if (result == 0 && nl_py_dlpack_is_registered(owners->state, obj))
        owners->lender = Py_TYPE(obj);
    Py_XDECREF(keeper);
    return result;
}

static int add_array_owner(nl_py_owners *owners, nl_py_array *a) {
    int result = 0;
    PyObject *stream;
    if (a->buffer->device != owners->device || !a->buffer->size)
        return 0;
    Py_BEGIN_CRITICAL_SECTION(a);
    stream = Py_XNewRef(a->stream);
    Py_END_CRITICAL_SECTION();
    if (stream && Py_IS_TYPE(stream, owners->state->stream_class) &&
        !nl_py_stream_is_ordered(stream))
        result = add_owner(owners, ((nl_py_stream *)stream)->stream->handle, stream);
    else if (!stream && a->flags & NL_PY_ARRAY_LENT)
        result = add_library_owner(owners, a->owner);
    else
        owners->has_default = 1;
    Py_XDECREF(stream);
    return result;
}

/* Adds the stream of an object that is neither a device array nor of a library with a current
 * stream: the object may have the CUDA Array Interface. An object that cannot be read is ignored;
 * the call raises an exception later, with the parameter's name in the message. */
static int add_interface_owner(nl_py_owners *owners, nl_py_values *values, PyObject *obj) {
    if (!values || obj == Py_None || nl_py_hostarray_is_scalar(obj) || PyUnicode_Check(obj) ||
        PyBytes_Check(obj) || PyComplex_CheckExact(obj))
        return 0;
    const nl_py_value *v = nl_py_values_read(values, obj);
    if (!v && !PyErr_ExceptionMatches(PyExc_Exception))
        return -1;
    if (!v) {
        PyErr_Clear();
        return 0;
    }
    if (v->kind != NL_PY_VALUE_DEVICE)
        return 0;
    if (v->array)
        return add_array_owner(owners, (nl_py_array *)v->array);
    const nl_py_foreign *foreign = &v->memory.foreign;
    return add_owner(owners, foreign->has_stream ? foreign->stream : NULL, NULL);
}

enum { MAX_DEPTH = 3 }; /* lists may contain themselves */

static int read_owners(nl_py_owners *owners, nl_py_values *values, PyObject *const *args,
                       Py_ssize_t count, int depth) {
    int result = 0;
    for (Py_ssize_t i = 0; result == 0 && i < count; i++) {
        PyObject *obj = args[i];
        if (Py_TYPE(obj) == owners->lender)
            continue;
        if (nl_py_dlpack_is_registered(owners->state, obj))
            result = add_library_owner(owners, obj);
        else if (nl_py_owner_is_plain_value(owners->state, obj))
            continue;
        else if (nl_py_devarray_check(owners->state, obj))
            result = add_array_owner(owners, (nl_py_array *)obj);
        else if (nl_py_lender_has_stream(owners->state, obj))
            result = add_library_owner(owners, obj);
        else if (!PyTuple_CheckExact(obj) && !PyList_CheckExact(obj))
            result = add_interface_owner(owners, values, obj);
        else if (depth < MAX_DEPTH)
            result = read_owners(owners, values, PySequence_Fast_ITEMS(obj),
                                 PySequence_Fast_GET_SIZE(obj), depth + 1);
    }
    return result;
}

int nl_py_owners_read(nl_py_owners *owners, nl_py_state *state, nl_device *device,
                      nl_py_values *values, PyObject *const *args, Py_ssize_t count) {
    nl_dl_current own = {.of = NULL};
    owners->state = state;
    owners->device = device;
    owners->current = values ? &values->current : &own;
    owners->lender = NULL;
    owners->has_default = owners->count = 0;
    int result = read_owners(owners, values, args, count, 0);
    owners->current = NULL;
    return result;
}

void nl_py_owners_clear(nl_py_owners *owners) {
    for (int i = 0; i < owners->count; i++)
        Py_XDECREF(owners->streams[i].stream);
    owners->count = 0;
}

/* If `leave` is set, the other streams wait for the first stream; otherwise the first stream waits
 * for the others. */
static int order_streams(const nl_py_owners *owners, int leave, nl_error *err) {
    CUstream first = owners->streams[0].handle;
    int result = 0;
    for (int i = owners->has_default ? 0 : 1; result == 0 && i < owners->count; i++) {
        CUstream other = i ? owners->streams[i].handle : NULL;
        result = nl_stream_order_after(owners->device, leave ? other : first, leave ? first : other,
                                       err);
    }
    return result;
}

int nl_py_owners_order_before(nl_py_owners *owners) {
    nl_error err;
    int result =
        nl_stream_is_captured(owners->device, owners->streams[0].handle, &owners->captured, &err);
    if (result == 0)
        result = owners->captured ? nl_capture_relax_mode(&owners->mode, &err)
                                  : order_streams(owners, 0, &err);
    if (result < 0)
        nl_py_raise(&err);
    else
        nl_capture_is_foreign = owners->captured;
    return result;
}

int nl_py_owners_order_after(const nl_py_owners *owners, int result) {
    nl_error err;
    nl_capture_is_foreign = 0;
    if (owners->captured) {
        nl_capture_restore_mode(owners->mode);
    } else if (result == 0 && order_streams(owners, 1, &err) < 0) {
        nl_py_raise(&err);
        result = -1;
    }
    return result;
}

/* ---- the device of a call ---- */

/* Returns the ordinal of the CUDA device that __dlpack_device__() returns. Returns
 * NL_PY_DEVICE_IS_OPEN for an array in host memory, or if the method raises an exception. */
static int read_dlpack_device(PyObject *obj) {
    enum { CUDA = 2 }; /* kDLCUDA */
    int type = 0, ordinal = 0, found = NL_PY_DEVICE_IS_OPEN;
    PyObject *pair = PyObject_CallMethod(obj, "__dlpack_device__", NULL);
    if (pair && PyTuple_Check(pair) && PyArg_ParseTuple(pair, "ii", &type, &ordinal) &&
        type == CUDA)
        found = ordinal;
    Py_XDECREF(pair);
    return found;
}

/* Returns the device of another library's array. Errors of reading are ignored, because the call
 * reads the object again and reports the errors. */
static int device_of_owner(nl_py_state *state, PyObject *obj) {
    nl_py_value v;
    nl_error err;
    int ordinal = NL_PY_DEVICE_IS_OPEN;
    if (nl_device_is_only_one() || obj == Py_None || PyLong_Check(obj) || PyFloat_Check(obj) ||
        PyComplex_Check(obj) || PyUnicode_Check(obj) || PyBytes_Check(obj) || PyType_Check(obj) ||
        nl_py_hostarray_is_scalar(obj) || nl_py_hostarray_is_array(obj) ||
        nl_py_hostarray_is_descr(obj))
        return NL_PY_DEVICE_IS_OPEN;
    nl_device *here = nl_device_get(nl_device_selected(), &err);
    if (here && nl_py_value_read(state, obj, &v) == 0) {
        if (v.kind == NL_PY_VALUE_DEVICE && v.array)
            ordinal = ((nl_py_array *)v.array)->buffer->device->ordinal;
        else if (v.kind == NL_PY_VALUE_DEVICE)
            ordinal = nl_device_find_by_address(here, v.address)->ordinal;
        else if (v.kind == NL_PY_VALUE_OTHER && PyObject_HasAttrString(obj, "__dlpack_device__"))
            ordinal = read_dlpack_device(obj);
        nl_py_value_clear(&v);
    }
    if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_Exception))
        PyErr_Clear();
    return ordinal;
}

static int device_of_arguments(nl_py_state *state, PyObject *const *args, Py_ssize_t count,
                               int depth) {
    int found = NL_PY_DEVICE_IS_OPEN;
    for (Py_ssize_t i = 0; i < count && found != NL_PY_DEVICE_IS_CURRENT; i++) {
        int ordinal = NL_PY_DEVICE_IS_OPEN;
        if (nl_py_devarray_check(state, args[i]))
            ordinal = ((nl_py_array *)args[i])->buffer->device->ordinal;
        else if ((PyTuple_CheckExact(args[i]) || PyList_CheckExact(args[i])) && depth < MAX_DEPTH)
            ordinal = device_of_arguments(state, PySequence_Fast_ITEMS(args[i]),
                                          PySequence_Fast_GET_SIZE(args[i]), depth + 1);
        else
            ordinal = device_of_owner(state, args[i]);
        if (ordinal == nl_device_selected())
            found = NL_PY_DEVICE_IS_CURRENT;
        else if (found == NL_PY_DEVICE_IS_OPEN || ordinal == NL_PY_DEVICE_IS_CURRENT)
            found = ordinal;
    }
    return found;
}

int nl_py_owners_find_device(nl_py_state *state, PyObject *const *args, Py_ssize_t count) {
    /* If an argument is an array of the current device, the call runs on that device. If an array
     * of the current device was found, the function does not read the other objects, because
     * reading is slow. */
    for (Py_ssize_t i = 0; i < count; i++)
        if (nl_py_devarray_check(state, args[i]) &&
            ((nl_py_array *)args[i])->buffer->device->ordinal == nl_device_selected())
            return NL_PY_DEVICE_IS_CURRENT;
    return device_of_arguments(state, args, count, 0);
}

/* Restores the device selection. Preserves an exception that the call has raised. */
static int restore_selection(int before) {
    nl_py_exception taken;
    nl_error err;
    PyErr_Fetch(&taken.type, &taken.error, &taken.traceback);
    int result = before < 0 ? nl_device_unselect(&err) : nl_device_select(before, &err);
    if (result < 0 && !taken.type)
        nl_py_raise(&err);
    else
        PyErr_Restore(taken.type, taken.error, taken.traceback);
    return result;
}

PyObject *nl_py_owners_call_on_device(int ordinal, vectorcallfunc function, PyObject *callable,
                                      PyObject *const *args, size_t nargsf, PyObject *keywords) {
    int before = nl_device_thread_selection();
    nl_error err;
    if (nl_device_select(ordinal, &err) < 0)
        return nl_py_raise(&err);
    PyObject *result = function(callable, args, nargsf, keywords);
    if (restore_selection(before) < 0)
        Py_CLEAR(result);
    return result;
}

/* ---- calls ---- */

/* Returns a new reference to the Stream of the first owner: the Stream of a bound array, or a new
 * Stream for a foreign handle. */
static PyObject *stream_of_first_owner(const nl_py_owners *owners) {
    PyObject *stream = owners->streams[0].stream;
    if (stream && Py_IS_TYPE(stream, owners->state->stream_class))
        return Py_NewRef(stream);
    return nl_py_lender_stream_for_view(owners->state, owners->device, owners->streams[0].handle,
                                        stream);
}

static PyObject *run_on_owner_stream(nl_py_owners *owners, vectorcallfunc function,
                                     PyObject *callable, PyObject *const *args, size_t nargsf,
                                     PyObject *keywords) {
    PyObject *stream = stream_of_first_owner(owners), *result = NULL;
    if (stream && nl_py_owners_order_before(owners) == 0) {
        result = nl_py_stream_call_on(stream, function, callable, args, nargsf, keywords);
        if (nl_py_owners_order_after(owners, result ? 0 : -1) < 0)
            Py_CLEAR(result);
    }
    Py_XDECREF(stream);
    return result;
}

int nl_py_owners_run(nl_py_state *state, vectorcallfunc function, PyObject *callable,
                     PyObject *const *args, size_t nargsf, PyObject *keywords, PyObject **result) {
    Py_ssize_t count = PyVectorcall_NARGS(nargsf) + nl_py_count_keywords(keywords);
    nl_py_owners owners;
    nl_error err;
    int elsewhere = nl_capture_is_active_in_thread() ? NL_PY_DEVICE_IS_CURRENT
                                                     : nl_py_owners_find_device(state, args, count);
    *result = NULL;
    if (elsewhere >= 0) {
        *result =
            nl_py_owners_call_on_device(elsewhere, function, callable, args, nargsf, keywords);
        return 1;
    }
    /* the call runs on the current stream, unless all bound arrays have the same other stream */
    if (nl_py_stream_here) {
        PyObject *bound = nl_py_devarray_find_stream(state, args, count);
        if (bound)
            *result = nl_py_stream_call_on(bound, function, callable, args, nargsf, keywords);
        return bound != NULL;
    }
    /* not nl_device_current, which would count as a device use (nl_device_count_uses) and
     * invalidate a trace */
    nl_device *dev =
        nl_capture_is_active_in_thread() ? NULL : nl_device_get(nl_device_selected(), &err);
    if (!dev)
        return 0; /* ignored, because the call itself reports the error */
    int possible = nl_py_owners_read(&owners, state, dev, NULL, args, count) == 0;
    int runs = !possible || owners.count;
    if (possible && owners.count)
        *result = run_on_owner_stream(&owners, function, callable, args, nargsf, keywords);
    nl_py_owners_clear(&owners);
    return runs;
}

static PyObject *call_without_owner(PyObject *callable, PyObject *const *args, size_t nargsf,
                                    PyObject *keywords) {
    return PyObject_Vectorcall(callable, args, nargsf, keywords);
}

static PyObject *call_for_owners(PyObject *module, PyObject *const *args, Py_ssize_t nargs) {
    PyObject *result;
    if (nargs < 1) {
        PyErr_SetString(PyExc_TypeError, "call_for_owners() requires a function");
        return NULL;
    }
    size_t count = (size_t)nargs - 1;
    if (nl_py_owners_run_if_needed(nl_py_state_of(module), call_without_owner, args[0], args + 1,
                                   count, NULL, &result))
        return result;
    return PyObject_Vectorcall(args[0], args + 1, count, NULL);
}

static PyMethodDef functions[] = {
    {"call_for_owners", (PyCFunction)(void (*)(void))call_for_owners, METH_FASTCALL,
     "call_for_owners(function, *args): "
     "calls function(*args) while the stream of the arguments' owner is the current stream."},
    {NULL, NULL, 0, NULL}};

int nl_py_owner_exec(PyObject *module) {
    return nl_py_state_add_functions(module, functions);
}
