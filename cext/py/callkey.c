/* py/callkey: what working out a call with device arrays depends on, as bytes that can be compared.
 *
 * Two calls with equal bytes can be made in the same way: shapes, strides, dtypes and alignment are
 * the same, and so is whether the arrays share memory. No address is in them but for its low bits,
 * and no device: what is worked out depends on neither. */
#include "py/devarray.h"

#include <string.h>

/* Of one array; shape and strides follow. */
typedef struct head {
    uint8_t present, dtype, alignment, ndim;
    uint8_t shared; /* of the second array: does it share memory with the first? */
    uint8_t unused[3];
} head;

enum { MOST = sizeof(head) + 2 * NL_MAX_DIMS * sizeof(int64_t), ALIGNMENT = 16 };

static int is_plain(const nl_py_state *state, PyObject *value) {
    const nl_py_array *a = (const nl_py_array *)value;
    return nl_py_array_check_exact(state, value) && a->class == NL_ELEMENT_PLAIN &&
           a->buffer->device->ordinal == nl_device_selected();
}

static unsigned char *append(unsigned char *at, const nl_py_array *a, int shared) {
    head h = {1,  a->dtype, (uint8_t)(a->address % ALIGNMENT), (uint8_t)a->ndim, (uint8_t)shared,
              {0}};
    size_t size = 2 * (size_t)a->ndim * sizeof(int64_t);
    memcpy(at, &h, sizeof h);
    memcpy(at + sizeof h, a->shape, size);
    return at + sizeof h + size;
}

static void span(const nl_py_array *a, uint64_t *first, uint64_t *end) {
    nl_layout layout;
    int64_t low, high;
    nl_py_array_layout(a, &layout);
    nl_layout_extent(&layout, &low, &high);
    *first = a->address + (uint64_t)low;
    *end = a->address + (uint64_t)high;
}

static int share_memory(const nl_py_array *a, const nl_py_array *b) {
    uint64_t a_first, a_end, b_first, b_end;
    span(a, &a_first, &a_end);
    span(b, &b_first, &b_end);
    return a_first < b_end && b_first < a_end;
}

static PyObject *call_key(PyObject *module, PyObject *const *args, Py_ssize_t nargs) {
    const nl_py_state *state = nl_py_state_of(module);
    unsigned char bytes[2 * MOST], *end;
    if (nargs != 2)
        return PyErr_Format(PyExc_TypeError, "call_key() takes an array and an array or None");
    PyObject *array = args[0], *out = args[1];
    if (!is_plain(state, array))
        Py_RETURN_NONE;
    end = append(bytes, (nl_py_array *)array, 0);
    if (out != Py_None) {
        if (!is_plain(state, out) || ((nl_py_array *)out)->flags & NL_PY_ARRAY_READONLY)
            Py_RETURN_NONE;
        end =
            append(end, (nl_py_array *)out, share_memory((nl_py_array *)array, (nl_py_array *)out));
    }
    return PyBytes_FromStringAndSize((char *)bytes, end - bytes);
}

static PyMethodDef methods[] = {
    {"call_key", (PyCFunction)(void (*)(void))call_key, METH_FASTCALL,
     "call_key(array, out) -> bytes, equal for calls that can be made in the same way, or None if "
     "these are not device arrays of numbers on this thread's device, or out is read-only; out may "
     "be None."},
    {NULL, NULL, 0, NULL}};

int nl_py_callkey_exec(PyObject *module) {
    return nl_py_add_functions(module, methods);
}
