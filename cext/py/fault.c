/* py/fault: records of failed checks.
 *
 * The module of a checked kernel has one record, in device memory. After a launch of a checked
 * kernel, this file waits for the launch and reads the record with one small copy on the same
 * stream. This file does not wait for other streams, or for kernels without checks. If the record
 * contains a fault, it is reset to zero, and the hook, a Python callable, is called as
 *
 *     hook(record: bytes, kernels: tuple of names, arrays: list)
 *
 * `kernels` are the names of the kernels that may have written the record (several only for a
 * graph). `arrays` has an item for each array or pointer argument of these kernels: (name, address,
 * shape, strides, itemsize) or (name, object).
 *
 * Concurrent launches of one module share the record: the first thread that reads it reports the
 * fault. If the kind of a record is -1, another launch is writing it. A record of kind -1 is not
 * reset, because the thread of the writing launch reads the record after its own wait. */
#include "py/fault.h"

#include <string.h>
#include "base/lock.h"
#include "core/wait.h"
#include "py/devarray.h"

int nl_py_fault_set_hook(nl_py_kernel *k, nl_module *module, PyObject *fault) {
    const char *lowered;
    PyObject *hook;
    nl_error err;
    if (!PyTuple_Check(fault)) {
        PyErr_SetString(PyExc_TypeError,
                        "fault must be a tuple of a variable's name and a callable");
        return -1;
    }
    if (!PyArg_ParseTuple(fault, "sO;fault is (variable, hook)", &lowered, &hook))
        return -1;
    if (nl_module_find_global(module, lowered, &k->fault, &k->fault_size, &err) < 0) {
        nl_py_raise(&err);
        return -1;
    }
    if (k->fault_size < sizeof(int32_t)) {
        PyErr_Format(PyExc_ValueError, "%s is too small for a fault record", lowered);
        return -1;
    }
    if (k->fault_size > NL_PY_FAULT_BYTES)
        k->fault_size = NL_PY_FAULT_BYTES;
    k->hook = Py_NewRef(hook);
    return 0;
}

/* ---- arguments of the launch ---- */

static PyObject *describe_array_argument(const nl_param *p, const void *value) {
    const int64_t *words = value; /* address, shape, strides */
    int ndim = p->kind == NL_PARAM_ARRAY ? p->ndim : 0;
    PyObject *shape = nl_py_geometry_new_tuple(words + 1, ndim);
    PyObject *strides = nl_py_geometry_new_tuple(words + 1 + ndim, ndim);
    if (shape && strides)
        return Py_BuildValue("(sKNNL)", p->name, (unsigned long long)words[0], shape, strides,
                             (long long)(ndim ? p->itemsize : 1));
    Py_XDECREF(shape);
    Py_XDECREF(strides);
    return NULL;
}

static int append_new_item(PyObject *list, PyObject *item) {
    int result = item ? PyList_Append(list, item) : -1;
    Py_XDECREF(item);
    return result;
}

static int append_values(PyObject *list, const nl_params *params, void *const *values) {
    for (int i = 0; i < params->total; i++) {
        const nl_param *p = &params->items[i];
        if (p->kind != NL_PARAM_ARRAY && p->kind != NL_PARAM_POINTER)
            continue;
        const char *whole = values[p->number];
        uint32_t at = p->offset - params->items[p->number].offset;
        if (append_new_item(list, describe_array_argument(p, whole + at)) < 0)
            return -1;
    }
    return 0;
}

static int add_arguments(PyObject *list, const nl_params *params, PyObject *args) {
    for (int i = 0; i < params->count && i < PyTuple_GET_SIZE(args); i++) {
        const nl_param *p = &params->items[i];
        if (p->kind != NL_PARAM_ARRAY && p->kind != NL_PARAM_POINTER)
            continue;
        if (append_new_item(list, Py_BuildValue("(sO)", p->name, PyTuple_GET_ITEM(args, i))) < 0)
            return -1;
    }
    return 0;
}

/* ---- reading ---- */

static int copy_fault_record(const nl_py_kernel *k, CUstream stream, char *record, nl_error *err) {
    if (NL_CU(err, MemcpyDtoHAsync, record, k->fault, k->fault_size, stream) < 0)
        return -1;
    /* the launch is complete; waits for the copy before returning, because its destination `record`
     * is on the stack */
    nl_wait_hold_interrupts();
    int result = NL_CU(err, StreamSynchronize, stream);
    nl_wait_release_interrupts();
    return result;
}

/* Held while a thread reads and resets the fault record, so that no two threads report the same
 * fault. */
static nl_mutex record_lock = NL_MUTEX_INIT;

static int reset_fault_record(const nl_py_kernel *k, CUstream stream, char *record, nl_error *err) {
    int32_t kind;
    if (copy_fault_record(k, stream, record, err) < 0)
        return -1;
    memcpy(&kind, record, sizeof kind);
    if (kind <= 0)
        return 0;
    if (NL_CU(err, MemsetD8Async, k->fault, 0, k->fault_size, stream) < 0 ||
        NL_CU(err, StreamSynchronize, stream) < 0)
        return -1;
    return 1;
}

/* Waits for the launch, then locks, reads and resets the record. Returns 1 if the record contains a
 * fault, 0 if not, -1 with *err. If the launch itself failed, the fault is still reported, because
 * the fault is the cause: on the simulator, the other threads wait forever for the threads that
 * ended at the fault. */
static int read_fault_record(const nl_py_kernel *k, CUstream stream, char *record, nl_error *err) {
    const nl_module *module = k->kernel->module;
    nl_error again;
    if (nl_device_check_generation(module->device, module->generation, err) < 0 ||
        nl_device_bind(module->device, err) < 0)
        return -1;
    int failed = NL_CU(err, StreamSynchronize, stream) < 0;
    if (failed && nl_driver_is_ended_wait((CUresult)err->code))
        return -1;
    nl_mutex_lock(&record_lock);
    int found = reset_fault_record(k, stream, record, failed ? &again : err);
    nl_mutex_unlock(&record_lock);
    return failed && found <= 0 ? -1 : found;
}

/* Reads and resets the record. Returns the record as bytes; returns NULL without an exception if
 * the record contains no fault. */
static PyObject *pop_fault_record(const nl_py_kernel *k, CUstream stream) {
    char record[NL_PY_FAULT_BYTES] = {0};
    nl_error err;
    int found;
    NL_UNLOCKED(found = read_fault_record(k, stream, record, &err));
    if (found < 0) {
        nl_error_prefix(&err, "%s()", k->kernel->name);
        return nl_py_raise(&err);
    }
    return found ? PyBytes_FromStringAndSize(record, sizeof record) : NULL;
}

static int call_fault_hook(const nl_py_kernel *k, PyObject *record, PyObject *kernels,
                           PyObject *arrays) {
    /* a new reference, because the garbage collector may clear k->hook during the call */
    PyObject *hook = Py_XNewRef(k->hook);
    PyObject *result = hook ? PyObject_CallFunctionObjArgs(hook, record, kernels, arrays, NULL)
                            : Py_NewRef(Py_None);
    Py_XDECREF(hook);
    Py_XDECREF(result);
    return result ? 0 : -1;
}

int nl_py_fault_raise_recorded(const nl_py_kernel *k, CUstream stream, void *const *values) {
    PyObject *record = pop_fault_record(k, stream);
    if (!record)
        return PyErr_Occurred() ? -1 : 0;
    PyObject *kernels = Py_BuildValue("(s)", k->kernel->name), *arrays = PyList_New(0);
    int result = -1;
    if (kernels && arrays && append_values(arrays, &k->kernel->params, values) == 0)
        result = call_fault_hook(k, record, kernels, arrays);
    Py_XDECREF(arrays);
    Py_XDECREF(kernels);
    Py_DECREF(record);
    return result;
}

/* ---- graphs ---- */

static int is_kernel_listed_before(PyObject *kernels, Py_ssize_t i) {
    const nl_py_kernel *k = (nl_py_kernel *)PyList_GET_ITEM(kernels, i);
    for (Py_ssize_t j = 0; j < i; j++)
        if (((nl_py_kernel *)PyList_GET_ITEM(kernels, j))->fault == k->fault)
            return 1;
    return 0;
}

/* Collects the names and arrays of all launched kernels whose fault record is at the address
 * `fault`. */
static int collect_kernels_and_arrays(CUdeviceptr fault, PyObject *launches, PyObject *names,
                                      PyObject *arrays) {
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(launches); i++) {
        PyObject *pair = PyList_GET_ITEM(launches, i);
        const nl_py_kernel *k = (nl_py_kernel *)PyTuple_GET_ITEM(pair, 0);
        if (!k->hook || k->fault != fault)
            continue;
        if (append_new_item(names, PyUnicode_FromString(k->kernel->name)) < 0 ||
            add_arguments(arrays, &k->kernel->params, PyTuple_GET_ITEM(pair, 1)) < 0)
            return -1;
    }
    return 0;
}

static int report_graph_fault(const nl_py_kernel *k, PyObject *record, PyObject *launches) {
    PyObject *names = PyList_New(0), *arrays = PyList_New(0), *kernels = NULL;
    int result = -1;
    if (names && arrays && collect_kernels_and_arrays(k->fault, launches, names, arrays) == 0 &&
        (PyList_GET_SIZE(names) || /* launches of ufuncs are not in the list `launches` */
         append_new_item(names, PyUnicode_FromString(k->kernel->name)) == 0))
        kernels = PyList_AsTuple(names);
    if (kernels)
        result = call_fault_hook(k, record, kernels, arrays);
    Py_XDECREF(kernels);
    Py_XDECREF(arrays);
    Py_XDECREF(names);
    return result;
}

int nl_py_fault_raise_recorded_by_graph(PyObject *kernels, PyObject *launches, CUstream stream) {
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(kernels); i++) {
        const nl_py_kernel *k = (nl_py_kernel *)PyList_GET_ITEM(kernels, i);
        if (is_kernel_listed_before(kernels, i))
            continue;
        PyObject *record = pop_fault_record(k, stream);
        if (!record && PyErr_Occurred())
            return -1;
        int result = record ? report_graph_fault(k, record, launches) : 0;
        Py_XDECREF(record);
        if (result < 0)
            return -1;
    }
    return 0;
}
