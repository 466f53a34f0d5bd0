/* py/callback: Python functions that run in a stream's order.
 *
 * Code in a thread of the driver must not call the driver, but Python code may do so at any time:
 * for example, the garbage collector frees device arrays. So stream callbacks run on a separate
 * thread of this file, the caller thread. The driver's thread passes the callback to the caller
 * thread, and waits until the callback is done; the stream waits, too. Callbacks that have not
 * begun are in the list `waiting`.
 *
 * At exit, before the interpreter's finalization, all devices with waiting callbacks are
 * synchronized, so that no callback is lost. After this synchronization, `closed` is set and the
 * caller thread ends. A driver thread that calls queue_for_caller_thread later finds no callback,
 * and never uses Python. No thread holds `lock` while it waits for the interpreter's lock. */
#include "py/callback.h"

#include "base/lock.h"
#include "base/mem.h"
#include "py/state.h"

typedef struct callback {
    /* next callback of the list, and address of the pointer to this callback */
    struct callback *next, **link;
    PyObject *stream, *function;
    nl_device *device;
    uint64_t generation;
    uint64_t number; /* serial number of the callback, unique in the process */
    int done;
} callback;

static nl_mutex lock = NL_MUTEX_INIT;
static nl_cond handed = NL_COND_INIT; /* signaled when `current` or `closed` is set */
static nl_cond finished =
    NL_COND_INIT; /* signaled when `current` is NULL, a callback is done, or `running` is 0 */
static callback *waiting;
static callback *current; /* callback that the caller thread is running */
static nl_thread caller;
static int caller_lives, running, closed;
static uint64_t pending; /* number of callbacks that are waiting or running */
static uint64_t last_number;

int nl_py_callbacks_pending(void) {
    return nl_atomic_load(&pending) != 0;
}

static void link_callback_lock_held(callback *c) {
    c->next = waiting;
    c->link = &waiting;
    if (waiting != NULL)
        waiting->link = &c->next;
    waiting = c;
}

static void unlink_callback_lock_held(callback *c) {
    *c->link = c->next;
    if (c->next != NULL)
        c->next->link = c->link;
}

static void free_callback(callback *c) {
    nl_atomic_sub(&pending, 1);
    nl_mem_free(c);
}

/* Frees a callback; the calling thread must hold the interpreter's lock. */
static void release_callback(callback *c) {
    Py_DECREF(c->stream);
    Py_DECREF(c->function);
    free_callback(c);
}

/* Finds a callback in the list by its address. `data` may point to freed memory, so only its
 * address is compared. */
static callback *find_callback_lock_held(const void *data) {
    callback *c = closed ? NULL : waiting;
    while (c != NULL && c != data)
        c = c->next;
    return c;
}

/* Called by the driver on its own thread, when the stream reaches the callback. */
static void queue_for_caller_thread(void *data) {
    nl_mutex_lock(&lock);
    callback *c = find_callback_lock_held(data);
    if (c != NULL) {
        unlink_callback_lock_held(c);
        ++running;
        while (current != NULL)
            nl_cond_wait(&finished, &lock);
        if (nl_cu.HostKnows)
            nl_cu.HostKnows();
        current = c;
        nl_cond_signal(&handed);
        while (!c->done)
            nl_cond_wait(&finished, &lock);
        --running;
        nl_cond_broadcast(&finished);
    }
    nl_mutex_unlock(&lock);
    if (c != NULL)
        free_callback(c);
}

static void call_python_function(callback *c) {
    PyGILState_STATE gil = PyGILState_Ensure();
    nl_device_callback_begin();
    PyObject *result = PyObject_CallNoArgs(c->function);
    if (result == NULL)
        PyErr_WriteUnraisable(c->function);
    Py_XDECREF(result);
    Py_DECREF(c->function);
    Py_DECREF(c->stream);
    nl_device_callback_end();
    PyGILState_Release(gil);
}

/* The caller thread, which runs the Python functions. */
static void *run_caller_thread(void *Py_UNUSED(unused)) {
    nl_mutex_lock(&lock);
    for (;;) {
        while (current == NULL && !closed)
            nl_cond_wait(&handed, &lock);
        callback *c = current;
        if (c == NULL)
            break;
        nl_mutex_unlock(&lock);
        call_python_function(c);
        nl_mutex_lock(&lock);
        c->done = 1;
        current = NULL;
        nl_cond_broadcast(&finished);
    }
    nl_mutex_unlock(&lock);
    return NULL;
}

static int start_caller_thread_lock_held(nl_error *err) {
    if (caller_lives)
        return 0;
    if (nl_thread_start(&caller, run_caller_thread, NULL, 0, err) < 0)
        return -1;
    caller_lives = 1;
    return 0;
}

/* Registers drain_callbacks, once, to run when the interpreter ends. */
static int register_drain(PyObject *stream) {
    static uint64_t registered;
    if (nl_atomic_load(&registered))
        return 0;
    PyObject *module = nl_py_module_of_type(Py_TYPE(stream), &nl_py_state_module_def);
    PyObject *drain = module != NULL ? PyObject_GetAttrString(module, "_drain_callbacks") : NULL;
    PyObject *atexit = drain != NULL ? PyImport_ImportModule("atexit") : NULL;
    PyObject *done = atexit != NULL ? PyObject_CallMethod(atexit, "register", "O", drain) : NULL;
    int status = done != NULL ? 0 : -1;
    if (status == 0)
        nl_atomic_store(&registered, 1);
    Py_XDECREF(done);
    Py_XDECREF(atexit);
    Py_XDECREF(drain);
    return status;
}

/* another thread may free `c`, because a device reset drops older callbacks */
static int enqueue_callback(callback *c, nl_device *dev, CUstream handle, nl_error *err) {
    if (nl_device_bind(dev, err) < 0)
        return -1;
    return NL_CU(err, LaunchHostFunc, handle, queue_for_caller_thread, c);
}

/* Adds a callback to the list and starts the caller thread if necessary. Fails if the interpreter
 * is ending. */
static int add_to_callback_list(callback *c, nl_error *err) {
    nl_mutex_lock(&lock);
    int status = closed ? nl_error_set(err, NL_ERR_RUNTIME,
                                       "the interpreter is ending: no more stream callbacks")
                        : start_caller_thread_lock_held(err);
    if (status == 0)
        link_callback_lock_held(c);
    nl_mutex_unlock(&lock);
    return status;
}

int nl_py_callback_add(PyObject *stream, nl_device *dev, CUstream handle, PyObject *function) {
    nl_error err;
    if (register_drain(stream) < 0)
        return -1;
    callback *c = nl_mem_zalloc(sizeof *c, &err);
    if (c == NULL) {
        nl_py_raise(&err);
        return -1;
    }
    c->stream = Py_NewRef(stream);
    c->function = Py_NewRef(function);
    c->device = dev;
    c->generation = nl_atomic_load(&dev->generation);
    uint64_t number = c->number = nl_atomic_add(&last_number, 1) + 1;
    nl_atomic_add(&pending, 1);
    if (add_to_callback_list(c, &err) < 0) {
        release_callback(c);
        nl_py_raise(&err);
        return -1;
    }
    int status;
    NL_UNLOCKED(status = enqueue_callback(c, dev, handle, &err));
    if (status == 0)
        return 0; /* c may be freed already */
    nl_mutex_lock(&lock);
    int ours =
        find_callback_lock_held(c) != NULL && c->number == number; /* a reset may have dropped it */
    if (ours)
        unlink_callback_lock_held(c);
    nl_mutex_unlock(&lock);
    if (ours)
        release_callback(c);
    nl_py_raise(&err);
    return -1;
}

/* Removes those callbacks of `dev` (NULL: of all devices) that are older than the device's last
 * reset from the list of waiting callbacks, and returns them as a list. */
static callback *unlink_outdated_callbacks(const nl_device *dev) {
    callback *dead = NULL;
    nl_mutex_lock(&lock);
    for (callback *c = waiting, *next; c != NULL; c = next) {
        next = c->next;
        if (dev != NULL &&
            (c->device != dev || c->generation == nl_atomic_load(&dev->generation))) {
            continue;
        }
        unlink_callback_lock_held(c);
        c->next = dead;
        dead = c;
    }
    nl_mutex_unlock(&lock);
    return dead;
}

static void purge_callbacks(const nl_device *dev) {
    for (callback *c = unlink_outdated_callbacks(dev), *next; c != NULL; c = next) {
        next = c->next;
        release_callback(c);
    }
}

void nl_py_callbacks_drop_outdated(const nl_device *dev) {
    purge_callbacks(dev);
}

/* Returns the device with the lowest ordinal above `after` that has a waiting callback, or NULL. */
static nl_device *next_waiting_device(int after) {
    nl_device *found = NULL;
    nl_mutex_lock(&lock);
    for (callback *c = waiting; c != NULL; c = c->next) {
        if (c->device->ordinal > after && (found == NULL || c->device->ordinal < found->ordinal)) {
            found = c->device;
        }
    }
    nl_mutex_unlock(&lock);
    return found;
}

static void wait_for_all(void) {
    nl_error ignored; /* a faulted device runs no callbacks, so it is not waited for */
    nl_device *dev = NULL;
    for (int after = -1; (dev = next_waiting_device(after)) != NULL; after = dev->ordinal) {
        if (nl_device_are_usable())
            nl_device_synchronize(dev, &ignored);
    }
    nl_mutex_lock(&lock);
    while (running > 0)
        nl_cond_wait(&finished, &lock);
    closed = 1;
    nl_cond_broadcast(&handed);
    int lived = caller_lives;
    caller_lives = 0;
    nl_mutex_unlock(&lock);
    if (lived)
        nl_thread_join(caller);
    nl_device_release_postponed();
}

static PyObject *drain_callbacks(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused)) {
    NL_UNLOCKED(wait_for_all());
    purge_callbacks(NULL);
    Py_RETURN_NONE;
}

/* Drops all callbacks in a forked child: other threads do not exist in the child, so no callback
 * will run in it. The Python objects of the callbacks are not released, because this function runs
 * before the child's interpreter is usable. */
static void drop_callbacks_in_child(void) {
    nl_mutex_init(&lock);
    nl_cond_init(&handed);
    nl_cond_init(&finished);
    waiting = current = NULL;
    running = caller_lives = 0;
    nl_atomic_store(&pending, 0);
}

static PyMethodDef methods[] = {
    {"_drain_callbacks", drain_callbacks, METH_NOARGS,
     "Waits for all stream callbacks and accepts no more. Called when the interpreter ends."},
    {NULL, NULL, 0, NULL},
};

int nl_py_callback_exec(PyObject *module) {
    nl_thread_call_in_child(drop_callbacks_in_child);
    return nl_py_state_add_functions(module, methods);
}
