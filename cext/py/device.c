/* py/device: functions that open the driver, query devices and select one. The objects for users
 * (cuda.gpus, Device, Context) are Python code that calls these functions. */
#include "core/device.h"

#include <string.h>
#include "core/buffer.h"
#include "core/wait.h"
#include "py/callback.h"
#include "py/capture.h"
#include "py/interrupt.h"
#include "py/state.h"

/* The callable that set_open_hook has stored; the process has one driver, and thus one hook. */
static PyObject *open_hook;

/* The C core calls the open hook before and after it opens the driver, with or without the
 * interpreter's lock. An exception remains set in this thread, and nl_py_raise does not replace
 * it. */
static int call_open_hook(const char *kind, nl_error *err) {
    PyGILState_STATE gil = PyGILState_Ensure();
    int status = 0;
    PyObject *hook = open_hook;
    if (hook != NULL) {
        Py_INCREF(hook);
        PyObject *result = PyObject_CallFunction(hook, "z", kind);
        Py_DECREF(hook);
        if (result == NULL)
            status = nl_error_set(err, NL_ERR_RUNTIME, "the open hook failed");
        Py_XDECREF(result);
    }
    PyGILState_Release(gil);
    return status;
}

static PyObject *set_open_hook(PyObject *Py_UNUSED(module), PyObject *hook) {
    if (hook != Py_None && !PyCallable_Check(hook)) {
        return PyErr_Format(PyExc_TypeError, "the open hook must be callable or None");
    }
    PyObject *old = open_hook;
    open_hook = hook == Py_None ? NULL : Py_NewRef(hook);
    Py_XDECREF(old);
    nl_device_set_open_hook(call_open_hook);
    Py_RETURN_NONE;
}

static PyObject *configure_driver(PyObject *Py_UNUSED(module), PyObject *args) {
    const char *kind;
    int sim_devices = 1, first = 0;
    nl_error err;
    if (!PyArg_ParseTuple(args, "s|ii:configure", &kind, &sim_devices, &first))
        return NULL;
    return nl_py_none_or_raise(nl_device_configure(kind, sim_devices, first, &err), &err);
}

/* Opens the driver, which takes long the first time. Returns NULL with an exception. */
static const char *open_driver(void) {
    nl_error err;
    const char *kind;
    NL_UNLOCKED(kind = nl_device_open(&err));
    if (kind == NULL)
        nl_py_raise(&err);
    return kind;
}

static PyObject *open_and_name_driver(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused)) {
    const char *kind = open_driver();
    return kind != NULL ? PyUnicode_FromString(kind) : NULL;
}

static PyObject *end_devices(PyObject *module, PyObject *Py_UNUSED(unused)) {
    PyDict_Clear(nl_py_state_of(module)->kept_scratch);
    NL_UNLOCKED(nl_device_synchronize_at_exit());
    if (nl_py_interrupt_raise())
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *end_waits_of_all_threads(PyObject *Py_UNUSED(module),
                                          PyObject *Py_UNUSED(unused)) {
    nl_wait_end_all_waits();
    Py_RETURN_NONE;
}

static PyObject *set_wait_limit(PyObject *Py_UNUSED(module), PyObject *args) {
    double seconds;
    int process = 0;
    if (!PyArg_ParseTuple(args, "d|p:set_wait_limit", &seconds, &process))
        return NULL;
    if (process)
        nl_wait_set_process_limit(seconds);
    else
        nl_wait_set_limit(seconds);
    Py_RETURN_NONE;
}

static PyObject *synchronize_all(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused)) {
    nl_error err, more;
    int result = 0;
    Py_BEGIN_ALLOW_THREADS;
    for (int i = 0; nl_device_exists(i); i++)
        if (nl_device_is_ready(i) &&
            nl_device_synchronize_all(UINT64_C(1) << i, result < 0 ? &more : &err) < 0)
            result = -1;
    Py_END_ALLOW_THREADS;
    return nl_py_none_or_raise(result, &err);
}

/* Returns whether the device is executing work on its default stream, or on a stream that is
 * ordered with the default stream. The driver is not queried during a capture, because a query may
 * end the capture. */
static int is_default_stream_busy(int ordinal) {
    nl_error ignored;
    int mode, busy = 0;
    nl_device *dev = nl_device_is_ready(ordinal) ? nl_device_get(ordinal, &ignored) : NULL;
    if (dev == NULL || nl_capture_is_any_active() || nl_device_bind(dev, &ignored) < 0 ||
        nl_capture_relax_mode(&mode, &ignored) < 0)
        return 0;
    busy = nl_cu.StreamQuery(NULL) == CUDA_ERROR_NOT_READY;
    nl_capture_restore_mode(mode);
    return busy;
}

static PyObject *launch_progress(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused)) {
    nl_progress found = {.kernel = ""};
    int runs = 0;
    if (!nl_driver_is_open())
        Py_RETURN_NONE;
    Py_BEGIN_ALLOW_THREADS;
    if (nl_cu.Progress)
        runs = nl_cu.Progress(&found);
    else
        for (int i = 0; !runs && nl_device_exists(i); i++)
            runs = is_default_stream_busy(i);
    Py_END_ALLOW_THREADS;
    if (!runs)
        Py_RETURN_NONE;
    return Py_BuildValue("(sKKd)", found.kernel, (unsigned long long)found.done,
                         (unsigned long long)found.blocks, (double)found.elapsed / 1e9);
}

static PyObject *is_open(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused)) {
    return PyBool_FromLong(nl_driver_is_open());
}

static PyObject *driver_kind(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused)) {
    if (!nl_driver_is_open())
        Py_RETURN_NONE;
    return PyUnicode_FromString(nl_cu.kind);
}

static PyObject *driver_has(PyObject *Py_UNUSED(module), PyObject *name) {
    if (open_driver() == NULL)
        return NULL;
    const struct {
        const char *name;
        int has;
    } facts[] = {{"checks", nl_cu.SetChecks != NULL},
                 {"host_code", nl_cu.loads_host_code},
                 {"host_memory", nl_cu.memory_is_host}};
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++) {
        if (PyUnicode_Check(name) && PyUnicode_CompareWithASCIIString(name, facts[i].name) == 0)
            return PyBool_FromLong(facts[i].has);
    }
    return PyErr_Format(PyExc_ValueError, "drivers have nothing called %R", name);
}

static PyObject *fallback_reason(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused)) {
    const char *reason = nl_device_fallback_reason();
    if (*reason == '\0')
        Py_RETURN_NONE;
    return PyUnicode_DecodeUTF8(reason, (Py_ssize_t)strlen(reason), "replace");
}

static PyObject *probe_driver(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused)) {
    nl_error err;
    int status;
    NL_UNLOCKED(status = nl_driver_probe(&err));
    if (status == 0)
        Py_RETURN_NONE;
    return PyUnicode_DecodeUTF8(err.text, (Py_ssize_t)strlen(err.text), "replace");
}

static PyObject *driver_version(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused)) {
    nl_error err;
    int version = 0;
    if (open_driver() == NULL)
        return NULL;
    if (NL_CU(&err, DriverGetVersion, &version) < 0)
        return nl_py_raise(&err);
    return PyLong_FromLong(version);
}

static PyObject *device_count(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused)) {
    nl_error err;
    int count = 0;
    if (open_driver() == NULL)
        return NULL;
    if (nl_device_count(&count, &err) < 0)
        return nl_py_raise(&err);
    return PyLong_FromLong(count);
}

/* Reads an int argument as a C int; returns -1 with IndexError if it is out of range. */
static int read_ordinal(PyObject *argument, int *ordinal) {
    PyObject *index = PyNumber_Index(argument);
    if (index == NULL)
        return -1;
    int overflow;
    long value = PyLong_AsLongAndOverflow(index, &overflow);
    Py_DECREF(index);
    if (overflow != 0 || value > INT32_MAX || value < INT32_MIN)
        value = -1;
    *ordinal = (int)value;
    return 0;
}

/* Returns the CUdevice handle of an argument, without creating the device's context. */
static int read_handle(PyObject *argument, CUdevice *handle) {
    nl_error err;
    int ordinal;
    if (read_ordinal(argument, &ordinal) < 0 || open_driver() == NULL)
        return -1;
    if (nl_device_driver_handle(ordinal, handle, &err) == 0)
        return 0;
    nl_py_raise(&err);
    return -1;
}

/* Returns the device of an argument, after creating its context, which takes long the first time.
 */
static nl_device *read_device(PyObject *argument) {
    nl_error err;
    int ordinal;
    nl_device *dev;
    if (read_ordinal(argument, &ordinal) < 0)
        return NULL;
    NL_UNLOCKED(dev = nl_device_get(ordinal, &err));
    if (dev == NULL)
        nl_py_raise(&err);
    return dev;
}

static nl_device *open_current_device(void) {
    nl_error err;
    nl_device *dev;
    NL_UNLOCKED(dev = nl_device_current(&err));
    if (dev == NULL)
        nl_py_raise(&err);
    return dev;
}

static PyObject *device_name(PyObject *Py_UNUSED(module), PyObject *argument) {
    nl_error err;
    CUdevice handle;
    char name[256] = "";
    if (read_handle(argument, &handle) < 0)
        return NULL;
    if (NL_CU(&err, DeviceGetName, name, sizeof name, handle) < 0)
        return nl_py_raise(&err);
    return PyUnicode_DecodeUTF8(name, (Py_ssize_t)strnlen(name, sizeof name), "replace");
}

static PyObject *device_attribute(PyObject *Py_UNUSED(module), PyObject *args) {
    nl_error err;
    PyObject *which;
    CUdevice handle;
    int attribute, value = 0;
    if (!PyArg_ParseTuple(args, "Oi:device_attribute", &which, &attribute))
        return NULL;
    if (read_handle(which, &handle) < 0)
        return NULL;
    if (NL_CU(&err, DeviceGetAttribute, &value, attribute, handle) < 0)
        return nl_py_raise(&err);
    return PyLong_FromLong(value);
}

static PyObject *device_uuid(PyObject *Py_UNUSED(module), PyObject *argument) {
    nl_error err;
    CUdevice handle;
    CUuuid uuid = {{0}};
    if (read_handle(argument, &handle) < 0)
        return NULL;
    if (NL_CU(&err, DeviceGetUuid, &uuid, handle) < 0)
        return nl_py_raise(&err);
    return PyBytes_FromStringAndSize(uuid.bytes, sizeof uuid.bytes);
}

static PyObject *device_total_memory(PyObject *Py_UNUSED(module), PyObject *argument) {
    nl_error err;
    CUdevice handle;
    size_t bytes = 0;
    if (read_handle(argument, &handle) < 0)
        return NULL;
    if (NL_CU(&err, DeviceTotalMem, &bytes, handle) < 0)
        return nl_py_raise(&err);
    return PyLong_FromSize_t(bytes);
}

static PyObject *device_pci_bus_id(PyObject *Py_UNUSED(module), PyObject *argument) {
    nl_error err;
    CUdevice handle;
    char text[32] = "";
    if (read_handle(argument, &handle) < 0)
        return NULL;
    if (NL_CU(&err, DeviceGetPCIBusId, text, sizeof text, handle) < 0)
        return nl_py_raise(&err);
    return PyUnicode_DecodeASCII(text, (Py_ssize_t)strnlen(text, sizeof text), "replace");
}

static PyObject *can_access_peer(PyObject *Py_UNUSED(module), PyObject *args) {
    nl_error err;
    PyObject *first, *second;
    CUdevice device, peer;
    int can = 0;
    if (!PyArg_ParseTuple(args, "OO:can_access_peer", &first, &second))
        return NULL;
    if (read_handle(first, &device) < 0 || read_handle(second, &peer) < 0)
        return NULL;
    if (NL_CU(&err, DeviceCanAccessPeer, &can, device, peer) < 0)
        return nl_py_raise(&err);
    return PyBool_FromLong(can);
}

static PyObject *enable_peer_access(PyObject *Py_UNUSED(module), PyObject *args) {
    nl_error err;
    PyObject *first, *second;
    int result;
    if (!PyArg_ParseTuple(args, "OO:enable_peer_access", &first, &second))
        return NULL;
    nl_device *dev = read_device(first), *peer = dev ? read_device(second) : NULL;
    if (!peer)
        return NULL;
    if (dev == peer)
        return PyErr_Format(PyExc_ValueError, "device %d is not a peer of itself", dev->ordinal);
    NL_UNLOCKED(result = nl_device_allow_peer_buffers(dev, peer, &err));
    return result < 0 ? nl_py_raise(&err) : Py_NewRef(Py_None);
}

static PyObject *current_device(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused)) {
    if (open_driver() == NULL)
        return NULL;
    return PyLong_FromLong(nl_device_selected());
}

static PyObject *selected_device(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused)) {
    int ordinal = nl_device_thread_selection();
    return ordinal < 0 ? Py_NewRef(Py_None) : PyLong_FromLong(ordinal);
}

static PyObject *select_device(PyObject *Py_UNUSED(module), PyObject *argument) {
    nl_error err;
    int ordinal, status;
    if (read_ordinal(argument, &ordinal) < 0)
        return NULL;
    NL_UNLOCKED(status = nl_device_select(ordinal, &err));
    return nl_py_none_or_raise(status, &err);
}

static PyObject *unselect_device(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused)) {
    nl_error err;
    int status;
    NL_UNLOCKED(status = nl_device_unselect(&err));
    return nl_py_none_or_raise(status, &err);
}

static PyObject *select_first_device(PyObject *Py_UNUSED(module), PyObject *argument) {
    nl_error err;
    int ordinal, status;
    if (read_ordinal(argument, &ordinal) < 0)
        return NULL;
    NL_UNLOCKED(status = nl_device_select_first(ordinal, &err));
    return nl_py_none_or_raise(status, &err);
}

static PyObject *synchronize_and_return_none(nl_device *dev) {
    nl_error err;
    int status;
    if (dev == NULL)
        return NULL;
    if (nl_capture_is_any_active() && nl_py_capture_check_device(dev, "synchronize()") < 0)
        return NULL;
    NL_UNLOCKED(status = nl_device_synchronize(dev, &err));
    return nl_py_none_or_raise(status, &err);
}

static PyObject *synchronize(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused)) {
    return synchronize_and_return_none(open_current_device());
}

static PyObject *synchronize_device(PyObject *Py_UNUSED(module), PyObject *argument) {
    return synchronize_and_return_none(read_device(argument));
}

static PyObject *reset_device(PyObject *Py_UNUSED(module), PyObject *argument) {
    nl_error err;
    int status;
    nl_device *dev = read_device(argument);
    if (dev == NULL)
        return NULL;
    /* The wait before a reset can be interrupted, and stream callbacks may run during it. An error
     * of the wait is ignored: failed work is the usual reason for a reset. */
    NL_UNLOCKED(status = nl_device_synchronize(dev, &err));
    if (nl_py_interrupt_raise())
        return NULL;
    NL_UNLOCKED(status = nl_device_reset(dev, &err));
    nl_py_callbacks_drop_outdated(dev);
    return nl_py_none_or_raise(status, &err);
}

/* Closes a device: frees its cached memory first, in case other code retains the context. */
static int close_with_cache(int ordinal, nl_device **dev, nl_error *err) {
    nl_error ignored;
    *dev = nl_device_is_ready(ordinal) ? nl_device_get(ordinal, &ignored) : NULL;
    if (*dev != NULL)
        (void)nl_buffer_trim_cache(*dev, 0, &ignored);
    return nl_device_close(ordinal, err);
}

static PyObject *close_device(PyObject *Py_UNUSED(module), PyObject *argument) {
    nl_error err;
    nl_device *dev;
    int ordinal, status;
    if (read_ordinal(argument, &ordinal) < 0)
        return NULL;
    NL_UNLOCKED(status = close_with_cache(ordinal, &dev, &err));
    if (dev != NULL)
        nl_py_callbacks_drop_outdated(dev);
    return nl_py_none_or_raise(status, &err);
}

static PyObject *memory_info(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused)) {
    nl_error err;
    size_t available = 0, total = 0;
    int status;
    if (open_current_device() == NULL)
        return NULL;
    NL_UNLOCKED(status = NL_CU(&err, MemGetInfo, &available, &total));
    if (status < 0)
        return nl_py_raise(&err);
    return Py_BuildValue("nn", (Py_ssize_t)available, (Py_ssize_t)total);
}

static PyObject *context_handle(PyObject *Py_UNUSED(module), PyObject *argument) {
    nl_error err;
    nl_device *dev;
    long ordinal = PyLong_AsLong(argument);
    if (ordinal == -1 && PyErr_Occurred())
        return NULL;
    if (ordinal != (int)ordinal)
        ordinal = -1;
    NL_UNLOCKED(dev = nl_device_get((int)ordinal, &err));
    if (dev == NULL)
        return nl_py_raise(&err);
    return PyLong_FromVoidPtr(dev->context);
}

static PyObject *device_generation(PyObject *Py_UNUSED(module), PyObject *argument) {
    nl_error err;
    nl_device *dev = NULL;
    long ordinal = PyLong_AsLong(argument);
    if (ordinal == -1 && PyErr_Occurred())
        return NULL;
    NL_UNLOCKED(dev = nl_device_get(ordinal == (int)ordinal ? (int)ordinal : -1, &err));
    if (dev == NULL)
        return nl_py_raise(&err);
    return PyLong_FromUnsignedLongLong(nl_atomic_load(&dev->generation));
}

static PyObject *memory_range(PyObject *Py_UNUSED(module), PyObject *argument) {
    nl_error err;
    CUdeviceptr base = 0;
    size_t size = 0;
    unsigned long long address = PyLong_AsUnsignedLongLong(argument);
    if (address == (unsigned long long)-1 && PyErr_Occurred())
        return NULL;
    if (open_current_device() == NULL)
        return NULL;
    if (NL_CU(&err, MemGetAddressRange, &base, &size, address) < 0)
        return nl_py_raise(&err);
    return Py_BuildValue("KK", (unsigned long long)base, (unsigned long long)size);
}

static PyObject *priority_range(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused)) {
    nl_error err;
    int least = 0, greatest = 0;
    if (open_current_device() == NULL)
        return NULL;
    if (NL_CU(&err, CtxGetStreamPriorityRange, &least, &greatest) < 0)
        return nl_py_raise(&err);
    return Py_BuildValue("ii", least, greatest);
}

static PyObject *profiler_start(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused)) {
    nl_error err;
    if (open_current_device() == NULL)
        return NULL;
    return nl_py_none_or_raise(NL_CU0(&err, ProfilerStart), &err);
}

static PyObject *profiler_stop(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused)) {
    nl_error err;
    if (open_current_device() == NULL)
        return NULL;
    return nl_py_none_or_raise(NL_CU0(&err, ProfilerStop), &err);
}

static PyObject *context_limit(PyObject *Py_UNUSED(module), PyObject *args) {
    nl_error err;
    int limit, status = 0;
    Py_ssize_t value = -1;
    size_t now = 0;
    if (!PyArg_ParseTuple(args, "i|n:context_limit", &limit, &value))
        return NULL;
    if (PyTuple_GET_SIZE(args) == 2 && value < 0) {
        return PyErr_Format(PyExc_ValueError, "a limit cannot be negative: %zd", value);
    }
    if (open_current_device() == NULL)
        return NULL;
    if (value >= 0)
        NL_UNLOCKED(status = NL_CU(&err, CtxSetLimit, limit, (size_t)value));
    if (status < 0 || NL_CU(&err, CtxGetLimit, &now, limit) < 0)
        return nl_py_raise(&err);
    return PyLong_FromSize_t(now);
}

static PyMethodDef methods[] = {
    {"set_open_hook", set_open_hook, METH_O,
     "set_open_hook(hook): "
     "sets a function that is called twice: "
     "as hook(None) before the driver is opened, and as hook(\"cuda\") or hook(\"sim\") "
     "afterwards."},
    {"configure", configure_driver, METH_VARARGS,
     "configure(kind, sim_devices=1, first=0): "
     "sets the driver to open, \"auto\", \"cuda\" or \"sim\", "
     "the number of simulated devices, and the initial device of each thread."},
    {"open", open_and_name_driver, METH_NOARGS,
     "open(): opens the driver if it is not open yet. Returns \"cuda\" or \"sim\"."},
    {"end", end_devices, METH_NOARGS,
     "end(): releases the caches of reductions, and waits for all devices, interruptibly. "
     "Called when the interpreter ends, before destructors would wait."},
    {"give_up", end_waits_of_all_threads, METH_NOARGS,
     "give_up(): "
     "makes the process exit without waiting for devices, if a kernel may never end."},
    {"set_wait_limit", set_wait_limit, METH_VARARGS,
     "set_wait_limit(seconds, process=False): "
     "sets the time limit of the calling thread's waits, for a driver without a limit of its own. "
     "0: no limit; negative: the limit of the process."},
    {"synchronize_all", synchronize_all, METH_NOARGS,
     "synchronize_all(): waits for all devices that are in use, then raises the first error."},
    {"progress", launch_progress, METH_NOARGS,
     "progress(): "
     "returns (kernel, finished blocks, blocks of the grid, seconds) of the oldest running grid. "
     "On a GPU, returns (\"\", 0, 0, 0.0) if the default stream is busy. "
     "Returns None if nothing is running. Binds a device to the thread."},
    {"is_open", is_open, METH_NOARGS, "is_open(): returns whether the driver is open."},
    {"driver_kind", driver_kind, METH_NOARGS,
     "driver_kind(): returns \"cuda\" or \"sim\", or None if the driver is not open. "
     "Use the result in messages only; code that depends on the driver calls driver_has."},
    {"driver_has", driver_has, METH_O,
     "driver_has(name): opens the driver, and returns whether it has a feature: "
     "\"checks\" (kernels can be checked), \"host_code\" (kernels are compiled for the host) "
     "or \"host_memory\" (device memory is host memory)."},
    {"fallback_reason", fallback_reason, METH_NOARGS,
     "fallback_reason(): returns why \"auto\" has selected the simulator, or None."},
    {"probe", probe_driver, METH_NOARGS,
     "probe(): returns why no GPU can be used, or None if a GPU can be used. "
     "Does not open a driver."},
    {"driver_version", driver_version, METH_NOARGS,
     "The CUDA version that the driver supports, 1000 * major + 10 * minor."},
    {"device_count", device_count, METH_NOARGS, "The number of devices."},
    {"device_name", device_name, METH_O, "device_name(device) -> str"},
    {"device_attribute", device_attribute, METH_VARARGS,
     "device_attribute(device, attribute): returns the value of a CUdevice_attribute number."},
    {"device_uuid", device_uuid, METH_O, "device_uuid(device) -> 16 bytes"},
    {"device_total_memory", device_total_memory, METH_O, "device_total_memory(device) -> bytes"},
    {"device_pci_bus_id", device_pci_bus_id, METH_O, "device_pci_bus_id(device) -> str"},
    {"can_access_peer", can_access_peer, METH_VARARGS,
     "can_access_peer(device, peer): returns whether a device can access the memory of another."},
    {"enable_peer_access", enable_peer_access, METH_VARARGS,
     "enable_peer_access(device, peer): lets kernels of a device access the memory of another."},
    {"current_device", current_device, METH_NOARGS,
     "current_device(): returns the index of the calling thread's device."},
    {"select_device", select_device, METH_O,
     "select_device(device): selects the device of the calling thread."},
    {"unselect_device", unselect_device, METH_NOARGS,
     "unselect_device(): the calling thread uses the default device again."},
    {"selected_device", selected_device, METH_NOARGS,
     "selected_device(): returns the device that the calling thread has selected, or None."},
    {"select_first_device", select_first_device, METH_O,
     "select_first_device(device): sets the device of all threads that have not selected one."},
    {"synchronize", synchronize, METH_NOARGS,
     "synchronize(): waits for all work of the calling thread's device."},
    {"synchronize_device", synchronize_device, METH_O, "Waits for all work of a device."},
    {"reset_device", reset_device, METH_O,
     "Destroys and recreates the context of a device, which frees all of its memory and modules."},
    {"close_device", close_device, METH_O,
     "Releases the context of a device until its next use. "
     "The device's memory is lost, unless other code in the process retains the context."},
    {"memory_info", memory_info, METH_NOARGS, "(free, total) bytes of this thread's device."},
    {"context_handle", context_handle, METH_O, "context_handle(device): the CUcontext, an int."},
    {"device_generation", device_generation, METH_O,
     "device_generation(device): returns a number that increases at each reset of the device."},
    {"memory_range", memory_range, METH_O,
     "memory_range(address): returns (base, size) of the allocation that contains the address."},
    {"priority_range", priority_range, METH_NOARGS,
     "(least, greatest) priority of streams of this thread's device."},
    {"profiler_start", profiler_start, METH_NOARGS, "Starts collecting for a profiler."},
    {"profiler_stop", profiler_stop, METH_NOARGS, "Stops collecting for a profiler."},
    {"context_limit", context_limit, METH_VARARGS,
     "context_limit(limit[, value]) -> int: a CUlimit, after setting it if a value is given."},
    {NULL, NULL, 0, NULL},
};

int nl_py_device_exec(PyObject *module) {
    return nl_py_state_add_functions(module, methods);
}
