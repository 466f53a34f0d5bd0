/* py/callback: from a driver's thread into Python and back.
 *
 * Every callback that has not begun stands in a list; the driver's thread takes it out, takes the
 * interpreter's lock, calls it and drops it. At exit, before the interpreter begins to go away, all
 * devices with waiting callbacks are waited for, so that none is lost; after that the door is closed,
 * and a thread that still comes finds nothing to do and never touches Python.
 * Our lock is never held while the interpreter's is waited for. */
#include "py/callback.h"

#include "base/lock.h"
#include "base/mem.h"
#include "py/state.h"

typedef struct callback {
    struct callback *next, **link; /* the list, and what points here */
    PyObject *stream, *function;
    nl_device *device;
    uint64_t generation;
} callback;

static nl_mutex lock = NL_MUTEX_INIT;
static nl_cond idle = NL_COND_INIT; /* `running` has become 0 */
static callback *waiting;
static int running, closed;
static uint64_t pending; /* waiting and running */

int nl_py_callbacks_pending(void) { return nl_atomic_load(&pending) != 0; }

static void link_lock_held(callback *c) {
    c->next = waiting;
    c->link = &waiting;
    if (waiting != NULL) waiting->link = &c->next;
    waiting = c;
}

static void unlink_lock_held(callback *c) {
    *c->link = c->next;
    if (c->next != NULL) c->next->link = c->link;
}

/* With the interpreter's lock. */
static void delete_callback(callback *c) {
    Py_DECREF(c->stream);
    Py_DECREF(c->function);
    nl_mem_free(c);
}

static void drop(callback *c) {
    nl_atomic_sub(&pending, 1);
    delete_callback(c);
}

/* Takes a callback out of the list; NULL if it is not to be called any more. `data` is not looked into
 * before it is known to be in the list. */
static callback *begin(void *data) {
    nl_mutex_lock(&lock);
    callback *c = closed ? NULL : waiting;
    while (c != NULL && c != data) c = c->next;
    if (c != NULL) {
        unlink_lock_held(c);
        ++running;
    }
    nl_mutex_unlock(&lock);
    return c;
}

static void end(void) {
    nl_atomic_sub(&pending, 1);
    nl_mutex_lock(&lock);
    if (--running == 0) nl_cond_broadcast(&idle);
    nl_mutex_unlock(&lock);
}

/* On a thread of the driver's. */
static void run(void *data) {
    callback *c = begin(data);
    if (c == NULL) return;
    PyGILState_STATE gil = PyGILState_Ensure();
    PyObject *result = PyObject_CallNoArgs(c->function);
    if (result == NULL) PyErr_WriteUnraisable(c->function);
    Py_XDECREF(result);
    delete_callback(c);
    PyGILState_Release(gil);
    end();
}

/* Asks the interpreter, once, to call drain_callbacks when it ends. */
static int register_drain(PyObject *stream) {
    static uint64_t registered;
    if (nl_atomic_load(&registered)) return 0;
    PyObject *module = nl_py_module_of_type(Py_TYPE(stream), &nl_py_module_def);
    PyObject *drain = module != NULL ? PyObject_GetAttrString(module, "_drain_callbacks") : NULL;
    PyObject *atexit = drain != NULL ? PyImport_ImportModule("atexit") : NULL;
    PyObject *done = atexit != NULL ? PyObject_CallMethod(atexit, "register", "O", drain) : NULL;
    int status = done != NULL ? 0 : -1;
    if (status == 0) nl_atomic_store(&registered, 1);
    Py_XDECREF(done);
    Py_XDECREF(atexit);
    Py_XDECREF(drain);
    return status;
}

static int enqueue(callback *c, CUstream handle, nl_error *err) {
    if (nl_device_bind(c->device, err) < 0) return -1;
    return NL_CU(err, LaunchHostFunc, handle, run, c);
}

int nl_py_callback_add(PyObject *stream, nl_device *dev, CUstream handle, PyObject *function) {
    nl_error err;
    if (register_drain(stream) < 0) return -1;
    callback *c = nl_mem_zalloc(sizeof *c, &err);
    if (c == NULL) {
        nl_py_raise(&err);
        return -1;
    }
    c->stream = Py_NewRef(stream);
    c->function = Py_NewRef(function);
    c->device = dev;
    c->generation = nl_atomic_load(&dev->generation);
    nl_atomic_add(&pending, 1);
    nl_mutex_lock(&lock);
    int too_late = closed;
    if (!too_late) link_lock_held(c);
    nl_mutex_unlock(&lock);
    if (too_late) {
        drop(c);
        PyErr_SetString(PyExc_RuntimeError, "the interpreter is ending: no more stream callbacks");
        return -1;
    }
    int status;
    Py_BEGIN_ALLOW_THREADS
    status = enqueue(c, handle, &err);
    Py_END_ALLOW_THREADS
    if (status == 0) return 0; /* c may be gone by now */
    nl_mutex_lock(&lock);
    unlink_lock_held(c);
    nl_mutex_unlock(&lock);
    drop(c);
    nl_py_raise(&err);
    return -1;
}

/* Takes out of the list what is on `dev` (NULL: everything) and from before its last reset. */
static callback *take_dead(const nl_device *dev) {
    callback *dead = NULL;
    nl_mutex_lock(&lock);
    for (callback *c = waiting, *next; c != NULL; c = next) {
        next = c->next;
        if (dev != NULL &&
            (c->device != dev || c->generation == nl_atomic_load(&dev->generation))) {
            continue;
        }
        unlink_lock_held(c);
        c->next = dead;
        dead = c;
    }
    nl_mutex_unlock(&lock);
    return dead;
}

static void purge(const nl_device *dev) {
    for (callback *c = take_dead(dev), *next; c != NULL; c = next) {
        next = c->next;
        drop(c);
    }
}

void nl_py_callbacks_purge(const nl_device *dev) { purge(dev); }

/* A device for which something waits, or NULL; `not` is one that has been dealt with. */
static nl_device *next_device(int after) {
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
    nl_error ignored; /* a faulted device calls nothing any more: there is nothing to wait for */
    nl_device *dev = NULL;
    for (int after = -1; (dev = next_device(after)) != NULL; after = dev->ordinal) {
        if (nl_device_usable()) nl_device_synchronize(dev, &ignored);
    }
    nl_mutex_lock(&lock);
    closed = 1;
    while (running > 0) nl_cond_wait(&idle, &lock);
    nl_mutex_unlock(&lock);
}

static PyObject *drain_callbacks(PyObject *module, PyObject *unused) {
    (void)module;
    (void)unused;
    Py_BEGIN_ALLOW_THREADS
    wait_for_all();
    Py_END_ALLOW_THREADS
    purge(NULL);
    Py_RETURN_NONE;
}

/* The driver's threads do not exist in a forked child: nothing will be called there. The Python
 * objects are left alone, for this runs before the child's interpreter is in order. */
static void forget_in_child(void) {
    nl_mutex_init(&lock);
    nl_cond_init(&idle);
    waiting = NULL;
    running = 0;
    nl_atomic_store(&pending, 0);
}

static PyMethodDef methods[] = {
    {"_drain_callbacks", drain_callbacks, METH_NOARGS,
     "Waits for all stream callbacks and accepts no more. Called when the interpreter ends."},
    {NULL, NULL, 0, NULL},
};

int nl_py_callback_exec(PyObject *module) {
    nl_fork_on_child(forget_in_child);
    return nl_py_add_functions(module, methods);
}
