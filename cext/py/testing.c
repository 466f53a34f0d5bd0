/* py/testing: functions for tests, which make driver calls and allocations fail, list driver calls,
 * and check for leaks. */
#include <stdio.h>
#include "base/mem.h"
#include "core/buffer.h"
#include "core/event.h"
#include "core/graph.h"
#include "core/ipc.h"
#include "core/module.h"
#include "core/hostblock.h"
#include "core/pinned.h"
#include "core/stream.h"
#include "core/wait.h"
#include "py/state.h"

static PyObject *fail_call_at(PyObject *Py_UNUSED(module), PyObject *args, PyObject *kwargs) {
    static char *names[] = {"n", "status", "releases", NULL};
    Py_ssize_t n;
    int status = CUDA_ERROR_OUT_OF_MEMORY, releases = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "n|ip:fail_call_at", names, &n, &status,
                                     &releases)) {
        return NULL;
    }
    if (n < 0)
        return PyErr_Format(PyExc_ValueError, "n must not be negative");
    return PyLong_FromSize_t(nl_driver_wrap_fail_nth_call((size_t)n, status, releases));
}

static PyObject *fail_alloc_at(PyObject *Py_UNUSED(module), PyObject *argument) {
    size_t n = PyLong_AsSize_t(argument);
    if (n == (size_t)-1 && PyErr_Occurred())
        return NULL;
    return PyLong_FromSize_t(nl_mem_fail_at(n));
}

static PyObject *adapt_waits_of_every_table(PyObject *Py_UNUSED(module),
                                            PyObject *Py_UNUSED(unused)) {
    nl_wait_adapt_every_table();
    Py_RETURN_NONE;
}

static PyObject *trace_driver_calls(PyObject *Py_UNUSED(module), PyObject *argument) {
    int on = PyObject_IsTrue(argument);
    if (on < 0)
        return NULL;
    nl_driver_wrap_enable_trace(on);
    Py_RETURN_NONE;
}

static PyObject *list_of_names(const char **names, size_t count) {
    PyObject *list = PyList_New((Py_ssize_t)count);
    for (size_t i = 0; list != NULL && i < count; ++i) {
        PyObject *name = PyUnicode_FromString(names[i]);
        if (name == NULL) {
            Py_CLEAR(list);
            break;
        }
        PyList_SET_ITEM(list, (Py_ssize_t)i, name);
    }
    return list;
}

static const char *names[4096];

static PyObject *list_traced_calls(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused)) {
    return list_of_names(names, nl_driver_wrap_traced_calls(names, sizeof names / sizeof names[0]));
}

static PyObject *list_failed_calls(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused)) {
    return list_of_names(names, nl_driver_wrap_failed_calls(names, sizeof names / sizeof names[0]));
}

static PyObject *count_copied_bytes(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused)) {
    uint64_t bytes[2];
    nl_driver_wrap_copied_bytes(bytes);
    return Py_BuildValue("(KK)", (unsigned long long)bytes[0], (unsigned long long)bytes[1]);
}

static PyObject *count_live_objects(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused)) {
    return Py_BuildValue("{sn sn sn sn sn sn sn sn}", "blocks",
                         (Py_ssize_t)(nl_mem_live_blocks() - nl_pool_cached_bytes()), "buffers",
                         (Py_ssize_t)nl_buffer_live_count(), "streams",
                         (Py_ssize_t)nl_stream_live_count(), "events", (Py_ssize_t)nl_event_live(),
                         "modules", (Py_ssize_t)nl_module_live(), "host_blocks",
                         (Py_ssize_t)nl_hostblock_live_count(), "graphs",
                         (Py_ssize_t)nl_graph_live_count(), "ipc", (Py_ssize_t)nl_ipc_live());
}

/* Runs after the interpreter's finalization: prints resources that no Python object owns. */
static void report_leaks(void) {
    uint64_t used = 0;
    nl_error err;
    nl_py_state_release_caches();
    nl_device *dev = nl_device_are_usable() ? nl_device_current(&err) : NULL;
    if (dev && dev->pool)
        (void)NL_CU(&err, MemPoolGetAttribute, dev->pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used);
    fprintf(stderr,
            "at exit: %zu buffers, %zu blocks kept, %d locked, %llu bytes of the pool used\n",
            nl_buffer_live_count(), nl_pool_cached_bytes(), nl_pinned_count_locked(),
            (unsigned long long)used);
}

static PyObject *report_at_exit(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused)) {
    if (Py_AtExit(report_leaks) < 0)
        return PyErr_Format(PyExc_RuntimeError, "too many functions are registered to run at exit");
    Py_RETURN_NONE;
}

static PyObject *pretend_foreign_capture(PyObject *Py_UNUSED(module), PyObject *argument) {
    int captured = PyObject_IsTrue(argument);
    if (captured < 0)
        return NULL;
    nl_capture_is_foreign = captured;
    Py_RETURN_NONE;
}

static PyObject *pretend_no_memory_pools(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused)) {
    nl_error err;
    nl_device *dev = nl_device_current(&err);
    if (dev == NULL)
        return nl_py_raise(&err);
    dev->has_memory_pools = 0;
    dev->pool = NULL;
    Py_RETURN_NONE;
}

static PyObject *run_only_last_blocks(PyObject *Py_UNUSED(module), PyObject *argument) {
    nl_error err;
    unsigned long long count = PyLong_AsUnsignedLongLong(argument);
    if (PyErr_Occurred())
        return NULL;
    if (nl_device_current(&err) == NULL)
        return nl_py_raise(&err);
    if (nl_cu.RunLastBlocks == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "only the simulator can run a part of a grid");
        return NULL;
    }
    nl_cu.RunLastBlocks(count);
    Py_RETURN_NONE;
}

static PyObject *retain_primary_context(PyObject *Py_UNUSED(module), PyObject *argument) {
    nl_error err;
    CUdevice device;
    CUcontext context = NULL;
    int hold = PyObject_IsTrue(argument);
    if (hold < 0)
        return NULL;
    if (nl_device_current(&err) == NULL ||
        nl_device_driver_handle(nl_device_selected(), &device, &err) < 0 ||
        (hold ? NL_CU(&err, DevicePrimaryCtxRetain, &context, device)
              : NL_CU(&err, DevicePrimaryCtxRelease, device)) < 0)
        return nl_py_raise(&err);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"hold_context", retain_primary_context, METH_O,
     "hold_context(on): "
     "retains or releases the current device's context, as another library would."},
    {"fail_call_at", (PyCFunction)(void (*)(void))fail_call_at, METH_VARARGS | METH_KEYWORDS,
     "fail_call_at(n, status=2, releases=False): "
     "makes the n-th driver call from now fail with status; 0 disables this. "
     "releases: counts only calls that free or destroy. "
     "Returns the number of calls since the last fail_call_at."},
    {"adapt_waits", adapt_waits_of_every_table, METH_NOARGS,
     "adapt_waits(): makes blocking waits on the simulator poll, as they do on a GPU. "
     "Call it before the driver is opened."},
    {"fail_alloc_at", fail_alloc_at, METH_O,
     "fail_alloc_at(n): "
     "makes the n-th request for host memory from now fail; 0 disables this. "
     "Returns the number of requests since the last fail_alloc_at."},
    {"trace", trace_driver_calls, METH_O, "trace(on): starts or stops recording driver calls."},
    {"traced", list_traced_calls, METH_NOARGS,
     "Returns the names of the recorded driver calls, oldest first."},
    {"failed", list_failed_calls, METH_NOARGS,
     "Returns the names of the recorded driver calls that failed. "
     "compute-sanitizer reports such calls."},
    {"copied", count_copied_bytes, METH_NOARGS,
     "Returns the bytes that driver calls copied (to devices, to the host) since trace(True)."},
    {"pretend_no_memory_pools", pretend_no_memory_pools, METH_NOARGS,
     "The calling thread's device allocates as if it had no memory pools."},
    {"pretend_foreign_capture", pretend_foreign_capture, METH_O,
     "pretend_foreign_capture(on): "
     "the calling thread's calls behave as if another library captured their stream."},
    {"run_last_blocks", run_only_last_blocks, METH_O,
     "run_last_blocks(count): "
     "simulated launches run only the last blocks of their grids; 0: all."},
    {"report_at_exit", report_at_exit, METH_NOARGS,
     "report_at_exit(): makes the process print how much device memory is still allocated, "
     "to stderr, after the interpreter has ended."},
    {"live", count_live_objects, METH_NOARGS,
     "live(): returns a dict with the number of live objects of each kind."},
    {NULL, NULL, 0, NULL},
};

int nl_py_testing_exec(PyObject *module) {
    return nl_py_state_add_functions(module, methods);
}
