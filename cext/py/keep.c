/* py/keep: keeps the host arrays of pending copies alive.
 *
 * When a copy is complete, a host function on its stream adds the array to a list of released
 * arrays, because it does not hold the interpreter's lock. The interpreter, or
 * the next copy, drops the references of the listed arrays. */
#include "py/keep.h"

#include "base/lock.h"
#include "base/mem.h"

typedef struct kept {
    void *next;
    PyObject *object;
} kept;

static void *released;

static int drop_released_objects(void *Py_UNUSED(unused)) {
    kept *k = nl_atomic_swap_pointer(&released, NULL);
    while (k) {
        kept *next = k->next;
        Py_DECREF(k->object);
        nl_mem_free(k);
        k = next;
    }
    return 0;
}

static void release_object(void *data) {
    kept *k = data;
    k->next = nl_atomic_load_pointer(&released);
    while (!nl_atomic_replace_pointer(&released, &k->next, k))
        ;
    if (Py_IsInitialized() && !Py_IsFinalizing())
        /* if the interpreter's queue is full, the next copy drops the references */
        Py_AddPendingCall(drop_released_objects, NULL);
}

void nl_py_keep_drop_released(void) {
    if (nl_atomic_load_pointer(&released))
        drop_released_objects(NULL);
}

int nl_py_keep_until_complete(PyObject *object, CUstream stream, nl_error *err) {
    kept *k = nl_mem_alloc(sizeof *k, err);
    if (k) {
        k->object = Py_NewRef(object);
        if (NL_CU(err, LaunchHostFunc, stream, release_object, k) == 0)
            return 0;
        Py_DECREF(object);
        nl_mem_free(k);
    }
    int result;
    nl_error second;
    NL_UNLOCKED(result = NL_CU(&second, StreamSynchronize, stream));
    if (result < 0)
        *err = second;
    return result;
}
