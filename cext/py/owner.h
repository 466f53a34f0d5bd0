/* py/owner: the device of a call's arrays, and the streams on which their owners work.
 *
 * A call of a ufunc or of a NumPy function runs on the device of its arrays, other libraries' too:
 * if none of them is on the current device, the device of the first one is current during the call.
 *
 * A call that names no stream runs on the stream of its arrays' owner: the current stream of
 * PyTorch or CuPy for their arrays and for device arrays over them, the bound stream of a device
 * array, the stream of a CUDA Array Interface. If there are several owners, the call runs on the
 * stream of one of them, after the earlier work of the others and before their later work. */
#ifndef NL_PY_OWNER_H
#define NL_PY_OWNER_H

#include "py/devarray.h"
#include "py/lender.h"
#include "py/value.h"

#define NL_PY_MAX_OWNERS 8

/* The streams of one call without order with the default stream, each once. The first one is where
 * the call runs. */
typedef struct nl_py_owners {
    nl_py_state *state;
    nl_device *device;      /* current; arrays on other devices have no influence */
    nl_dl_current *current; /* of the call */
    int has_default;        /* an owner works on the default stream, or in order with it */
    int captured, mode;     /* streams[0] is captured by its owner; the thread's mode before */
    int count;
    struct nl_py_owner {
        CUstream handle;
        PyObject *stream; /* strong: a Stream, or what keeps a foreign one alive, or NULL */
    } streams[NL_PY_MAX_OWNERS];
} nl_py_owners;

/* Values that have no stream. Asking their classes for attributes which they do not have is slow.
 */
static inline int nl_py_owner_is_excluded(const nl_py_state *state, PyObject *obj) {
    return obj == Py_None || obj == state->no_value || PyLong_CheckExact(obj) ||
           PyFloat_CheckExact(obj) || nl_host_is_exact_array(obj) || nl_host_is_scalar(obj);
}

/* Can this argument have an owner's stream? Objects that only have a CUDA Array Interface are read
 * later. */
static inline int nl_py_owner_is_possible(const nl_py_state *state, PyObject *obj) {
    PyTypeObject *type = Py_TYPE(obj);
    if (obj == state->no_value)
        return 0;
    if (type == state->devarray_class || type == state->devrecord_class)
        return ((nl_py_array *)obj)->stream || ((nl_py_array *)obj)->flags & NL_PY_ARRAY_LENT;
    return type->tp_flags & Py_TPFLAGS_HEAPTYPE || type == &PyTuple_Type || type == &PyList_Type;
}

/* Is it a device array on a device that is not current? */
static inline int nl_py_owner_is_elsewhere(const nl_py_state *state, PyObject *obj) {
    return nl_py_array_check_exact(state, obj) &&
           ((nl_py_array *)obj)->buffer->device->ordinal != nl_device_selected();
}

static inline int nl_py_owners_are_possible(const nl_py_state *state, PyObject *const *args,
                                            Py_ssize_t count) {
    for (Py_ssize_t i = 0; i < count; i++)
        if (__builtin_expect(nl_py_owner_is_possible(state, args[i]) ||
                                 nl_py_owner_is_elsewhere(state, args[i]),
                             0))
            return 1;
    return 0;
}

/* Collects the streams of these arguments, in tuples and lists, too. `values`, or NULL: reads
 * objects with a CUDA Array Interface. 0, or -1 with an exception; nl_py_owners_clear afterwards.
 */
int nl_py_owners_read(nl_py_owners *owners, nl_py_state *state, nl_device *device,
                      nl_py_values *values, PyObject *const *args, Py_ssize_t count);
void nl_py_owners_clear(nl_py_owners *owners);
/* Makes streams[0] wait for the other owners' work. 0, or -1 with an exception; else
 * nl_py_owners_leave has to follow: after a successful call it makes the other owners wait for
 * streams[0]. `result` is that of the call, which it returns, or -1 with an exception. */
int nl_py_owners_enter(nl_py_owners *owners);
int nl_py_owners_leave(const nl_py_owners *owners, int result);

/* The ordinal of the device on which a call with these arguments, in tuples and lists, too, runs if
 * that is not the current one, or one of: */
enum { NL_PY_DEVICE_IS_CURRENT = -1, NL_PY_DEVICE_IS_OPEN = -2 /* there is no array */ };
int nl_py_owners_device(nl_py_state *state, PyObject *const *args, Py_ssize_t count);
/* function(callable, args...) with another device current. */
PyObject *nl_py_owners_run_on_device(int ordinal, vectorcallfunc function, PyObject *callable,
                                     PyObject *const *args, size_t nargsf, PyObject *keywords);

/* Runs function(callable, args...) on the device of the arguments, or on the stream of the owners:
 * 1 and *result, a new reference or NULL with an exception. 0: the call can run where it is. */
int nl_py_owners_run(nl_py_state *state, vectorcallfunc function, PyObject *callable,
                     PyObject *const *args, size_t nargsf, PyObject *keywords, PyObject **result);
/* The same, without a call where no class of the arguments can have a stream. */
static inline int nl_py_owners_call(nl_py_state *state, vectorcallfunc function, PyObject *callable,
                                    PyObject *const *args, size_t nargsf, PyObject *keywords,
                                    PyObject **result) {
    Py_ssize_t count = PyVectorcall_NARGS(nargsf) + nl_py_named(keywords);
    return nl_py_owners_are_possible(state, args, count) &&
           nl_py_owners_run(state, function, callable, args, nargsf, keywords, result);
}

#endif
