/* py/xla: handles XLA's custom calls, for numbalite.jax.
 *
 * XLA calls one C function for every operation. The attribute "key" of a call selects the Python
 * function that runs the ufunc or launches the kernel, from a dictionary that numbalite.jax fills.
 * The function receives the addresses and shapes of XLA's buffers and, on a GPU, XLA's stream. */
#include <string.h>
#include "py/state.h"
#include "py/xla_abi.h"

static const char handler_name[] = "xla._CUSTOM_CALL_TARGET"; /* XLA's name of such capsules */
static const char key_name[] = "key";

/* strong reference to the dictionary of handlers of the process */
static PyObject *functions_by_key;

static nl_xla_error *make_failure(const nl_xla_call *call, const char *message) {
    nl_xla_error_args args = {sizeof args, NULL, message, NL_XLA_INTERNAL};
    return call->api->error_create(&args);
}

/* Converts the exception that is set to an XLA error. */
static nl_xla_error *failure_of_exception(const nl_xla_call *call) {
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    PyObject *text = value ? PyUnicode_FromFormat("%s: %S", Py_TYPE(value)->tp_name, value) : NULL;
    const char *message = text ? PyUnicode_AsUTF8(text) : NULL;
    nl_xla_error *error = make_failure(call, message ? message : "numbalite: an operation failed");
    PyErr_Clear();
    Py_XDECREF(text);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
    return error;
}

/* Answers XLA's request for the version of a new handler. The handler works with every version 0.x,
 * so it reports the version of XLA itself. Returns 1 if the call was such a request. */
static int answer_version_query(const nl_xla_call *call) {
    for (nl_xla_extension *e = call->extensions; e; e = e->next) {
        if (e->type != NL_XLA_METADATA)
            continue;
        nl_xla_metadata *metadata = ((nl_xla_metadata_request *)e)->metadata;
        const nl_xla_api *api = call->api;
        metadata->version.major = NL_XLA_MAJOR;
        metadata->version.minor =
            api && NL_XLA_HAS(api, nl_xla_api, version) ? api->version.minor : 1;
        metadata->traits = 0;
        return 1;
    }
    return 0;
}

/* Returns the key of the Python function, or 0 if the call has no key. */
static int64_t key_of_call(const nl_xla_attributes *attributes) {
    for (int64_t i = 0; i < attributes->count; i++) {
        const nl_xla_text *name = attributes->names[i];
        const nl_xla_scalar *scalar = attributes->values[i];
        if (attributes->kinds[i] == NL_XLA_SCALAR && name->length == strlen(key_name) &&
            memcmp(name->start, key_name, name->length) == 0 && scalar->dtype == NL_XLA_S64)
            return *(const int64_t *)scalar->value;
    }
    return 0;
}

/* Returns a list with (address, shape) of each buffer. */
static PyObject *list_buffers(const nl_xla_buffers *buffers) {
    PyObject *list = PyList_New(buffers->count);
    for (int64_t i = 0; list && i < buffers->count; i++) {
        const nl_xla_buffer *buffer = buffers->items[i];
        if (buffers->kinds[i] != NL_XLA_BUFFER) {
            PyErr_SetString(PyExc_TypeError, "numbalite: an operand of XLA is not a buffer");
            Py_CLEAR(list);
            break;
        }
        PyObject *shape = PyTuple_New(buffer->rank);
        for (int64_t axis = 0; shape && axis < buffer->rank; axis++) {
            PyObject *size = PyLong_FromLongLong(buffer->dims[axis]);
            if (size)
                PyTuple_SET_ITEM(shape, axis, size);
            else
                Py_CLEAR(shape);
        }
        PyObject *pair =
            shape ? Py_BuildValue("NN", PyLong_FromVoidPtr(buffer->data), shape) : NULL;
        if (pair)
            PyList_SET_ITEM(list, i, pair);
        else
            Py_CLEAR(list);
    }
    return list;
}

/* Calls the Python function: function(operands, results, stream). */
static int call_function(const nl_xla_call *call, PyObject *stream) {
    PyObject *key = PyLong_FromLongLong(key_of_call(&call->attributes));
    PyObject *function = key ? PyDict_GetItemWithError(functions_by_key, key) : NULL;
    Py_XINCREF(function);
    if (!function && !PyErr_Occurred())
        PyErr_Format(PyExc_RuntimeError,
                     "numbalite: this program was compiled in another process: "
                     "its operation %S is not defined in this process",
                     key);
    PyObject *args = function ? list_buffers(&call->args) : NULL;
    PyObject *results = args ? list_buffers(&call->results) : NULL;
    PyObject *returned =
        results ? PyObject_CallFunctionObjArgs(function, args, results, stream, NULL) : NULL;
    Py_XDECREF(results);
    Py_XDECREF(args);
    Py_XDECREF(function);
    Py_XDECREF(key);
    Py_XDECREF(returned);
    return returned ? 0 : -1;
}

static nl_xla_error *run_call(nl_xla_call *call, int is_device) {
    if (answer_version_query(call))
        return NULL;
    if (!NL_XLA_HAS(call, nl_xla_call, attributes) ||
        !NL_XLA_HAS(call->api, nl_xla_api, stream_get) ||
        call->api->version.major != NL_XLA_MAJOR || call->stage != NL_XLA_EXECUTE)
        return make_failure(call, "numbalite: the interface version of this XLA is not 0.x");
    nl_xla_stream_args stream = {sizeof stream, NULL, call->context, NULL};
    if (is_device) {
        nl_xla_error *error = call->api->stream_get(&stream);
        if (error)
            return error;
    }
    nl_xla_error *error = NULL;
    PyGILState_STATE gil = PyGILState_Ensure();
    PyObject *handle = is_device ? PyLong_FromVoidPtr(stream.stream) : Py_NewRef(Py_None);
    if (!handle || call_function(call, handle) < 0)
        error = failure_of_exception(call);
    Py_XDECREF(handle);
    PyGILState_Release(gil);
    return error;
}

static nl_xla_error *run_on_host(nl_xla_call *call) {
    return run_call(call, 0);
}

static nl_xla_error *run_on_device(nl_xla_call *call) {
    return run_call(call, 1);
}

static PyObject *xla_handlers(PyObject *Py_UNUSED(module), PyObject *functions) {
    if (!PyDict_Check(functions))
        return PyErr_Format(PyExc_TypeError, "xla_handlers: a dict, not %R", functions);
    Py_XSETREF(functions_by_key, Py_NewRef(functions));
    nl_xla_error *(*host)(nl_xla_call *) = run_on_host, *(*device)(nl_xla_call *) = run_on_device;
    void *addresses[2];
    memcpy(&addresses[0], &host, sizeof host);
    memcpy(&addresses[1], &device, sizeof device);
    return Py_BuildValue("NN", PyCapsule_New(addresses[0], handler_name, NULL),
                         PyCapsule_New(addresses[1], handler_name, NULL));
}

static PyMethodDef functions[] = {
    {"xla_handlers", xla_handlers, METH_O,
     "xla_handlers(functions): "
     "returns the handlers of XLA's custom calls, as capsules: for the host and for CUDA. "
     "`functions` is a dict from a key to a function of operands, results and a stream."},
    {NULL, NULL, 0, NULL}};

int nl_py_xla_exec(PyObject *module) {
    return nl_py_state_add_functions(module, functions);
}
