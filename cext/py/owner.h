/* py/owner: finds the device of a call's arrays, and the streams on which the arrays' owners work.
 *
 * A call of a ufunc or of a NumPy function runs on the device of its arrays, including arrays of
 * other libraries. If no array is on the current device, the device of the first array is current
 * during the call.
 *
 * A call without stream= runs on the stream of its arrays' owner. The owner's stream is the current
 * stream of PyTorch or CuPy for their arrays and for device arrays over them, the bound stream of a
 * device array, or the stream of a CUDA Array Interface. If there are several owners, the call runs
 * on the stream of one owner, after the earlier work and before the later work of the other owners'
 * streams. */
#ifndef NL_PY_OWNER_H
#define NL_PY_OWNER_H

#include "py/devarray.h"
#include "py/lender.h"
#include "py/value.h"

#define NL_PY_MAX_OWNERS 8

/* The streams of one call that are not ordered with the default stream, without duplicates. The
 * call runs on the first stream. */
typedef struct nl_py_owners {
    nl_py_state *state;
    nl_device *device; /* current device; streams of arrays on other devices are ignored */
    /* the current stream that DLPack's exchange API returned, read once per call */
    nl_dl_current *current;
    PyTypeObject *lender; /* the class of tensors whose current stream was already added, or NULL */
    int has_default;      /* whether an owner's stream is the default stream, or ordered with it */
    int captured, mode;   /* captured: whether the owner captures streams[0]; mode: previous capture
                           * mode */
    int count;
    struct nl_py_owner {
        CUstream handle;
        /* strong reference to a Stream, or to the object that keeps a foreign stream alive, or
         * NULL */
        PyObject *stream;
    } streams[NL_PY_MAX_OWNERS];
} nl_py_owners;

/* Returns whether the object is a value without a stream, such as a number. The function tests
 * these types first, because a lookup of missing attributes in their classes is slow. */
static inline int nl_py_owner_is_plain_value(const nl_py_state *state, PyObject *obj) {
    return obj == Py_None || obj == state->no_value || PyLong_CheckExact(obj) ||
           PyFloat_CheckExact(obj) || nl_py_hostarray_is_exact_array(obj) ||
           nl_py_hostarray_is_scalar(obj);
}

/* Returns whether this argument may have an owner with a stream of its own. Tuples, lists and
 * instances of heap types count as possible, and nl_py_owners_read makes the exact test. This
 * function does not look for a CUDA Array Interface; nl_py_owners_read does so if `values` is not
 * NULL. */
static inline int nl_py_owner_is_possible(const nl_py_state *state, PyObject *obj) {
    PyTypeObject *type = Py_TYPE(obj);
    if (obj == state->no_value)
        return 0;
    if (type == state->devarray_class || type == state->devrecord_class)
        return ((nl_py_array *)obj)->stream || ((nl_py_array *)obj)->flags & NL_PY_ARRAY_LENT;
    return type->tp_flags & Py_TPFLAGS_HEAPTYPE || type == &PyTuple_Type || type == &PyList_Type;
}

/* Returns whether the object is a device array on a device that is not current. */
static inline int nl_py_owner_is_on_other_device(const nl_py_state *state, PyObject *obj) {
    return nl_py_devarray_check_exact(state, obj) &&
           ((nl_py_array *)obj)->buffer->device->ordinal != nl_device_selected();
}

static inline int nl_py_owners_are_possible(const nl_py_state *state, PyObject *const *args,
                                            Py_ssize_t count) {
    for (Py_ssize_t i = 0; i < count; i++)
        if (__builtin_expect(nl_py_owner_is_possible(state, args[i]) ||
                                 nl_py_owner_is_on_other_device(state, args[i]),
                             0))
            return 1;
    return 0;
}

/* Collects the streams of these arguments, also in tuples and lists. If `values` is not NULL,
 * objects with a CUDA Array Interface are read, too. Returns 0, or -1 with an exception; in both
 * cases the caller must call nl_py_owners_clear afterwards. */
int nl_py_owners_read(nl_py_owners *owners, nl_py_state *state, nl_device *device,
                      nl_py_values *values, PyObject *const *args, Py_ssize_t count);
void nl_py_owners_clear(nl_py_owners *owners);
/* Makes streams[0] wait for earlier work of the other owners. Returns 0, or -1 with an exception.
 * If the result is 0, the caller must call nl_py_owners_order_after with the result of its own call
 * (0 or -1). If the call succeeded, nl_py_owners_order_after makes the other owners wait for
 * streams[0]. nl_py_owners_order_after returns `result`, or -1 with an exception. */
int nl_py_owners_order_before(nl_py_owners *owners);
int nl_py_owners_order_after(const nl_py_owners *owners, int result);

/* Returns the ordinal of the device on which a call with these arguments (also in tuples and lists)
 * must run. Returns NL_PY_DEVICE_IS_CURRENT or NL_PY_DEVICE_IS_OPEN if the device need not be
 * changed. */
enum { NL_PY_DEVICE_IS_CURRENT = -1, NL_PY_DEVICE_IS_OPEN = -2 /* no argument is an array */ };
int nl_py_owners_find_device(nl_py_state *state, PyObject *const *args, Py_ssize_t count);
/* Calls function(callable, args...) while another device is current. */
PyObject *nl_py_owners_call_on_device(int ordinal, vectorcallfunc function, PyObject *callable,
                                      PyObject *const *args, size_t nargsf, PyObject *keywords);

/* Runs function(callable, args...) on the device of the arguments, or on the stream of the owners.
 * If the function was run, returns 1 and sets *result to a new reference, or to NULL with an
 * exception. Returns 0 if no change of device or stream is needed, in which case the caller makes
 * the call itself. */
int nl_py_owners_run(nl_py_state *state, vectorcallfunc function, PyObject *callable,
                     PyObject *const *args, size_t nargsf, PyObject *keywords, PyObject **result);
/* Calls nl_py_owners_run; inlined, so that a call in which no argument can have a stream is
 * fast. */
static inline int nl_py_owners_run_if_needed(nl_py_state *state, vectorcallfunc function,
                                             PyObject *callable, PyObject *const *args,
                                             size_t nargsf, PyObject *keywords, PyObject **result) {
    Py_ssize_t count = PyVectorcall_NARGS(nargsf) + nl_py_count_keywords(keywords);
    return nl_py_owners_are_possible(state, args, count) &&
           nl_py_owners_run(state, function, callable, args, nargsf, keywords, result);
}

#endif
