/* py/memory: statistics and limits of the pools of device and host memory, settings of the copying
 * threads, and memory allocators written in Python. */
#include "py/state.h"

#include "core/buffer.h"
#include "core/hostblock.h"
#include "core/bounce.h"
#include "py/devarray.h"
#include "py/hostarray.h"

static PyObject *describe_statistics(const nl_pool_statistics *s) {
    PyObject *limit = s->limit == SIZE_MAX ? Py_NewRef(Py_None) : PyLong_FromSize_t(s->limit);
    return Py_BuildValue("{sn sn sn sN sn sn}", "used", (Py_ssize_t)s->used, "cached",
                         (Py_ssize_t)s->cached, "peak", (Py_ssize_t)s->peak, "limit", limit,
                         "cache_limit", (Py_ssize_t)s->cache_limit, "cached_blocks",
                         (Py_ssize_t)s->blocks);
}

static nl_device *open_device_at(int ordinal) {
    nl_error err;
    nl_device *dev;
    NL_UNLOCKED(dev = nl_device_get(ordinal, &err));
    if (!dev)
        nl_py_raise(&err);
    return dev;
}

static PyObject *pool_statistics(PyObject *Py_UNUSED(module), PyObject *args) {
    int ordinal;
    if (!PyArg_ParseTuple(args, "i:pool_statistics", &ordinal))
        return NULL;
    nl_device *dev = open_device_at(ordinal);
    if (!dev)
        return NULL;
    nl_pool_statistics s = nl_pool_read_statistics(&dev->cache);
    return describe_statistics(&s);
}

/* Reads a size; None means no limit. */
static int read_size_limit(PyObject *value, size_t *size) {
    *size = value == Py_None ? SIZE_MAX : PyLong_AsSize_t(value);
    return *size == SIZE_MAX && PyErr_Occurred() ? -1 : 0;
}

static PyObject *trim_cache(nl_device *dev, size_t keep) {
    nl_error err;
    int result;
    NL_UNLOCKED(result = nl_buffer_trim_cache(dev, keep, &err));
    return nl_py_none_or_raise(result, &err);
}

static PyObject *pool_set_limits(PyObject *Py_UNUSED(module), PyObject *args) {
    int ordinal;
    PyObject *limit, *cache_limit;
    size_t most, kept;
    nl_error err;
    if (!PyArg_ParseTuple(args, "iOO:pool_set_limits", &ordinal, &limit, &cache_limit) ||
        read_size_limit(limit, &most) < 0 || read_size_limit(cache_limit, &kept) < 0)
        return NULL;
    nl_device *dev = open_device_at(ordinal);
    if (!dev)
        return NULL;
    nl_pool_set_limits(&dev->cache, most, kept);
    if (nl_device_bind(dev, &err) < 0 || nl_device_set_cache_limit(dev, kept, &err) < 0)
        return nl_py_raise(&err);
    if (nl_pool_read_statistics(&dev->cache).cached <= kept)
        Py_RETURN_NONE;
    return trim_cache(dev, kept);
}

static PyObject *pool_trim(PyObject *Py_UNUSED(module), PyObject *args) {
    int ordinal;
    Py_ssize_t keep;
    if (!PyArg_ParseTuple(args, "in:pool_trim", &ordinal, &keep))
        return NULL;
    nl_device *dev = open_device_at(ordinal);
    return dev ? trim_cache(dev, keep < 0 ? 0 : (size_t)keep) : NULL;
}

static PyObject *pool_reset_peak(PyObject *Py_UNUSED(module), PyObject *args) {
    int ordinal;
    if (!PyArg_ParseTuple(args, "i:pool_reset_peak", &ordinal))
        return NULL;
    nl_device *dev = open_device_at(ordinal);
    if (!dev)
        return NULL;
    nl_pool_reset_peak(&dev->cache);
    Py_RETURN_NONE;
}

/* ---- host ---- */

static PyObject *host_statistics(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused)) {
    size_t locked;
    nl_pool_statistics s = nl_hostblock_statistics(&locked);
    PyObject *dict = describe_statistics(&s), *value = dict ? PyLong_FromSize_t(locked) : NULL;
    if (!value || PyDict_SetItemString(dict, "locked", value) < 0)
        Py_CLEAR(dict);
    Py_XDECREF(value);
    return dict;
}

static PyObject *host_set_limit(PyObject *Py_UNUSED(module), PyObject *value) {
    size_t limit;
    if (read_size_limit(value, &limit) < 0)
        return NULL;
    NL_UNLOCKED(nl_hostblock_set_cache_limit(limit));
    Py_RETURN_NONE;
}

static PyObject *host_trim(PyObject *Py_UNUSED(module), PyObject *value) {
    size_t keep;
    if (read_size_limit(value, &keep) < 0)
        return NULL;
    NL_UNLOCKED(nl_hostblock_trim(keep));
    Py_RETURN_NONE;
}

static PyObject *host_reset_peak(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused)) {
    nl_hostblock_reset_peak();
    Py_RETURN_NONE;
}

static size_t round_to_pages(Py_ssize_t size, size_t pages) {
    return size > 0 ? ((size_t)size + pages * 4096 - 1) / (pages * 4096) * (pages * 4096) : 0;
}

static PyObject *copy_settings(PyObject *Py_UNUSED(module), PyObject *args, PyObject *kwargs) {
    static char *names[] = {"to_device", "to_host", "to_new", "chunk",  "ring", "group",
                            "least",     "shared",  "polls",  "always", NULL};
    nl_bounce_settings s = nl_bounce_configure(NULL);
    Py_ssize_t chunk = 0, ring = 0, group = 0, least = 0, shared = 0;
    s.to_device = s.to_host = s.to_new = s.polls = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|iiinnnnnip:copy_settings", names, &s.to_device,
                                     &s.to_host, &s.to_new, &chunk, &ring, &group, &least, &shared,
                                     &s.polls, &s.always))
        return NULL;
    s.chunk = round_to_pages(chunk, 1);
    s.ring = round_to_pages(ring, 4);
    s.group = group > 0 ? (size_t)group : 0;
    s.least = least > 0 ? (size_t)least : 0;
    s.shared = shared > 0 ? (size_t)shared : 0;
    s = nl_bounce_configure(&s);
    return Py_BuildValue("{si si si sn sn sn sn sn si sO}", "to_device", s.to_device, "to_host",
                         s.to_host, "to_new", s.to_new, "chunk", (Py_ssize_t)s.chunk, "ring",
                         (Py_ssize_t)s.ring, "group", (Py_ssize_t)s.group, "least",
                         (Py_ssize_t)s.least, "shared", (Py_ssize_t)s.shared, "polls", s.polls,
                         "always", s.always ? Py_True : Py_False);
}

/* ---- an allocator in Python ---- */

static PyObject *allocator;
static nl_mutex allocator_lock = NL_MUTEX_INIT;

static void reset_lock_in_child(void) {
    nl_mutex_init(&allocator_lock);
}

static PyObject *get_allocator(void) {
    nl_mutex_lock(&allocator_lock);
    PyObject *function = Py_XNewRef(allocator);
    nl_mutex_unlock(&allocator_lock);
    return function;
}

static void release_python_owner(void *owner) {
    PyGILState_STATE gil = PyGILState_Ensure();
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    Py_DECREF((PyObject *)owner);
    PyErr_Restore(type, value, traceback);
    PyGILState_Release(gil);
}

/* An exception of the allocator remains set in this thread, and nl_py_raise does not replace it. */
static int allocate_in_python(nl_device *dev, size_t size, nl_buffer **out, nl_error *err) {
    PyGILState_STATE gil = PyGILState_Ensure();
    unsigned long long address = 0;
    PyObject *owner = NULL, *function = get_allocator();
    PyObject *pair =
        function ? PyObject_CallFunction(function, "in", dev->ordinal, (Py_ssize_t)size) : NULL;
    int result = -1;
    if (pair && PyArg_ParseTuple(pair, "KO", &address, &owner)) {
        result = nl_buffer_wrap_memory(dev, address, size, release_python_owner, owner, out, err);
        if (result == 0)
            Py_INCREF(owner);
    } else {
        nl_error_set(err, NL_ERR_RUNTIME, "the memory manager failed");
    }
    Py_XDECREF(pair);
    Py_XDECREF(function);
    PyGILState_Release(gil);
    return result;
}

static PyObject *set_allocator(PyObject *Py_UNUSED(module), PyObject *function) {
    if (function != Py_None && !PyCallable_Check(function))
        return PyErr_Format(PyExc_TypeError, "an allocator must be a function or None, not %R",
                            function);
    nl_mutex_lock(&allocator_lock);
    PyObject *old = allocator;
    allocator = function == Py_None ? NULL : Py_NewRef(function);
    nl_buffer_set_allocator(allocator ? allocate_in_python : NULL);
    nl_mutex_unlock(&allocator_lock);
    Py_XDECREF(old);
    Py_RETURN_NONE;
}

static PyObject *array_owning_memory(PyObject *module, PyObject *argument) {
    nl_py_array_parts parts = {.element = {NL_UINT8, NL_ELEMENT_PLAIN, 1}};
    nl_layout layout = {.ndim = 1, .itemsize = 1, .strides = {1}};
    PyObject *result = NULL;
    nl_device *dev;
    nl_error err;
    int status;
    layout.shape[0] = PyLong_AsLongLong(argument);
    if (layout.shape[0] < 0) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_ValueError, "the size of memory must not be negative");
        return NULL;
    }
    if (!(parts.descr = nl_py_hostarray_descr_of_dtype(NL_UINT8)))
        return NULL;
    Py_BEGIN_ALLOW_THREADS;
    dev = nl_device_current(&err);
    status = dev ? nl_buffer_alloc_pooled(dev, (size_t)layout.shape[0], &parts.buffer, &err) : -1;
    Py_END_ALLOW_THREADS;
    if (status < 0) {
        nl_py_raise(&err);
    } else {
        parts.address = parts.buffer->address;
        result = nl_py_devarray_new(nl_py_state_of(module), &parts, &layout);
        nl_py_devarray_buffer_release(parts.buffer);
    }
    Py_DECREF(parts.descr);
    return result;
}

#define KEYWORDS(function) (PyCFunction)(void (*)(void)) function, METH_VARARGS | METH_KEYWORDS
static PyMethodDef functions[] = {
    {"pool_statistics", pool_statistics, METH_VARARGS,
     "pool_statistics(device): "
     "returns the device pool's bytes in use, cached and peak bytes, and limits."},
    {"pool_set_limits", pool_set_limits, METH_VARARGS,
     "pool_set_limits(device, limit, cache_limit): "
     "sets the maximum bytes in use and the maximum cached bytes; None: no limit."},
    {"pool_trim", pool_trim, METH_VARARGS,
     "pool_trim(device, keep): frees cached device memory, except `keep` bytes."},
    {"pool_reset_peak", pool_reset_peak, METH_VARARGS, "pool_reset_peak(device)"},
    {"host_statistics", host_statistics, METH_NOARGS,
     "host_statistics(): returns the statistics of the host memory of results and pinned arrays."},
    {"host_set_limit", host_set_limit, METH_O,
     "host_set_limit(nbytes): "
     "sets how many bytes of page-locked memory results may use and the cache may keep."},
    {"host_trim", host_trim, METH_O, "host_trim(keep)"},
    {"host_reset_peak", host_reset_peak, METH_NOARGS, "host_reset_peak()"},
    {"copy_settings", KEYWORDS(copy_settings),
     "copy_settings(to_device=, to_host=, to_new=, chunk=, ring=, group=, least=, shared=, "
     "polls=, always=): sets the threads and sizes in bytes of large copies. "
     "always: use the threads on the simulator, too."},
    {"set_allocator", set_allocator, METH_O,
     "set_allocator(function): "
     "sets function(device, nbytes) -> (address, owner) as the allocator of device memory. "
     "None: numbalite's own allocator."},
    {"own_memory", array_owning_memory, METH_O,
     "own_memory(nbytes): returns a new uint8 array, without calling the allocator that was set."},
    {NULL, NULL, 0, NULL}};

int nl_py_memory_exec(PyObject *module) {
    nl_thread_call_in_child(reset_lock_in_child);
    return nl_py_state_add_functions(module, functions);
}
