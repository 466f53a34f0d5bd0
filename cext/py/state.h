/* py/state: what one instance of the module _core keeps, and how its files join it.
 *
 * Each file of py/ that adds something exports one function nl_py_<noun>_exec(module), listed here
 * and called in this order when the module is made. Everything a file wants to keep for the life of
 * the module is one line in NL_STATE_OBJECTS; visiting and clearing follow from that list. */
#ifndef NL_PY_STATE_H
#define NL_PY_STATE_H

#include "py/compat.h"
#include "base/error.h"

/* X(type, name): strong references. */
#define NL_STATE_OBJECTS(X) \
    X(PyTypeObject, stream_type) \
    X(PyTypeObject, stream_class) /* register_stream_class: the sub-class that C makes */ \
    X(PyTypeObject, event_type) \
    X(PyTypeObject, devarray_type)   /* the C type */ \
    X(PyTypeObject, devarray_class)  /* register_array_class: what C makes instances of */ \
    X(PyTypeObject, devrecord_class) /* register_record_class: the same for single records */ \
    X(PyTypeObject, transfer_type) \
    X(PyTypeObject, hostmemory_type) \
    X(PyTypeObject, ipc_type) \
    X(PyTypeObject, texture_type) \
    X(PyTypeObject, module_type) \
    X(PyTypeObject, kernel_type) \
    X(PyTypeObject, dispatcher_type) \
    X(PyTypeObject, launcher_type) \
    X(PyTypeObject, graph_type) \
    X(PyTypeObject, captured_type) \
    X(PyTypeObject, recording_type) \
    X(PyTypeObject, recorded_type) \
    X(PyTypeObject, reduction_plan_type) \
    X(PyTypeObject, reducer_type) \
    X(PyTypeObject, reduction_type) \
    X(PyTypeObject, ufunc_type) \
    X(PyTypeObject, gufunc_type) \
    X(PyTypeObject, hostmodule_type) \
    X(PyTypeObject, hostloops_type) \
    X(PyTypeObject, hostfunction_type) \
    X(PyTypeObject, librarycall_type) \
    X(PyTypeObject, libraryvalue_type) \
    X(PyTypeObject, plans_type) \
    X(PyTypeObject, planned_type) \
    X(PyObject, ufunc_keys)     /* tuple of the names that keywords.c looks up */ \
    X(PyObject, override_names) /* tuple of the names that override.c looks up */ \
    X(PyObject, counterparts)   /* dict: NumPy's ufunc -> the one on a device */ \
    X(PyObject, operators)      /* tuple: NumPy's ufuncs in the order of operators.c */ \
    X(PyObject, functions)      /* dict: NumPy's function -> the one on a device */ \
    X(PyObject, no_value)       /* numpy._NoValue: what is not given */ \
    X(PyObject, kept_scratch)   /* dict: address of a Reducer -> its counter */ \
    X(PyObject, zero_uint32)    /* 0-d array */ \
    X(PyObject, plan_observer)  /* reduction_observer: called with each plan, or None */ \
    X(PyTypeObject, enum_type)  /* enum.Enum */ \
    X(PyObject, code_objects)   /* list: index in a type code - 1 -> what it stands for */ \
    X(PyObject, code_indices)   /* dict: and back */ \
    X(PyObject, interface_keys) /* tuple of the names that exchange.c looks up */ \
    X(PyObject, known_names)    /* tuple of the names that known.c looks up */ \
    X(PyObject, dlpack_names)   /* tuple of the names that dlpack.c looks up */ \
    X(PyTypeObject, cupy_array) /* known.c: classes of other libraries that were met, */ \
    X(PyTypeObject, torch_tensor) \
    X(PyTypeObject, exchange_type) /* dlpack.c: a class with the exchange API */ \
    X(PyObject, exchange_parts)    /* its capsule, and the descriptor of requires_grad or None */ \
    X(PyObject, cupy_stream)       /* and what goes with them: cupy.cuda.get_current_stream, */ \
    X(PyObject, torch_parts)       /* a dict of torch's dtypes -> nl_dtype, and the function that \
                                    * returns the current stream of a device, or None */ \
    X(PyObject, foreign_stream)    /* owner.c: the Stream made last over a foreign stream */

typedef struct nl_py_state {
#define NL_DECLARE(type, name) type *name;
    NL_STATE_OBJECTS(NL_DECLARE)
#undef NL_DECLARE
} nl_py_state;

extern PyModuleDef nl_py_module_def;

/* The state, from the module, from a type of ours or a sub-class (NULL with TypeError), from an
 * object of such a type. */
static inline nl_py_state *nl_py_state_of(PyObject *module) {
    return (nl_py_state *)PyModule_GetState(module);
}
static inline nl_py_state *nl_py_state_of_type(PyTypeObject *type) {
    PyObject *module = nl_py_module_of_type(type, &nl_py_module_def);
    return module != NULL ? nl_py_state_of(module) : NULL;
}
static inline nl_py_state *nl_py_state_of_object(PyObject *object) {
    return nl_py_state_of_type(Py_TYPE(object));
}

/* Turns an nl_error into the exception it stands for; returns NULL for `return nl_py_raise(&err)`.
 */
PyObject *nl_py_raise(const nl_error *err);
/* None, or the exception where `status` is negative. */
static inline PyObject *nl_py_none(int status, const nl_error *err) {
    return status < 0 ? nl_py_raise(err) : Py_NewRef(Py_None);
}
/* Puts where it was in front of the TypeError or ValueError that reading an argument gave. */
void nl_py_error_at(const char *where);
/* As PyErr_Fetch takes it. */
typedef struct nl_py_exception {
    PyObject *type, *error, *traceback;
} nl_py_exception;
/* `result` in the place of an exception, or if it is None the exception again; takes all
 * references. */
PyObject *nl_py_instead(nl_py_exception taken, PyObject *result);
/* A class of numbalite.errors, or `otherwise` where it cannot be had. New reference. */
PyObject *nl_py_error_class(const char *name, PyObject *otherwise);

/* How many of a vectorcall's arguments are named. */
static inline Py_ssize_t nl_py_named(PyObject *keywords) {
    return keywords != NULL ? PyTuple_GET_SIZE(keywords) : 0;
}

/* The end of every tp_dealloc. */
static inline void nl_py_free(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    type->tp_free(self);
    Py_DECREF(type);
}

/* Before operations are issued: reports the user's line to a driver that compares streams. */
extern int nl_py_notes_callers;
void nl_py_note_caller_now(void);
static inline void nl_py_note_caller(void) {
    if (__builtin_expect(nl_py_notes_callers, 0))
        nl_py_note_caller_now();
}

/* Are the accesses of the calling thread's launches counted? Then they are those of a GPU: nothing
 * is planned for the simulator, and no earlier call is repeated. */
extern int nl_py_profiles;
int nl_py_is_profiled_now(void);
static inline int nl_py_is_profiled(void) {
    return __builtin_expect(nl_py_profiles, 0) && nl_py_is_profiled_now();
}

/* The same before a launch, for all reports of the simulator. */
void nl_py_note_launch(void);

/* Runs a statement without the interpreter's lock: `NL_UNLOCKED(status = nl_..._open(&err));`. */
#define NL_UNLOCKED(...) \
    do { \
        nl_py_note_caller(); \
        Py_BEGIN_ALLOW_THREADS; \
        __VA_ARGS__; \
        Py_END_ALLOW_THREADS; \
    } while (0)

/* Makes a heap type, adds it to the module under its own name and stores it in *slot. 0 or -1. */
int nl_py_add_type(PyObject *module, PyType_Spec *spec, PyTypeObject *base, PyTypeObject **slot);
/* May this thread still run Python code, given the interpreter's lock? Not while the interpreter
 * ends, unless it is the thread that ends it. */
int nl_py_lives(void);
/* When the interpreter ends, what is kept for reuse is given back. 0 or -1. */
int nl_py_at_exit(void);
/* What is kept to be used again goes back to the driver, where nothing is using it. */
void nl_py_give_back(void);
/* A new tuple of interned strings; NULL with an exception. */
PyObject *nl_py_interned(const char *const *texts, int count);
/* Adds functions to the module. 0 or -1. */
#define nl_py_add_functions(module, methods) PyModule_AddFunctions((module), (methods))

/* Every file's part of making the module; 0 or -1 with an exception. */
#define NL_PY_EXECS(X) \
    X(nl_py_interrupt_exec) \
    X(nl_py_owner_exec) \
    X(nl_py_device_exec) \
    X(nl_py_stream_exec) \
    X(nl_py_event_exec) \
    X(nl_py_callback_exec) \
    X(nl_py_nvrtc_exec) \
    X(nl_py_nvjitlink_exec) \
    X(nl_py_testing_exec) \
    X(nl_py_checks_exec) \
    X(nl_py_profile_exec) \
    X(nl_py_hostarray_exec) \
    X(nl_py_arraytype_exec) \
    X(nl_py_exchange_exec) \
    X(nl_py_known_exec) \
    X(nl_py_hostmemory_exec) \
    X(nl_py_memory_exec) \
    X(nl_py_ipc_exec) \
    X(nl_py_texture_exec) \
    X(nl_py_transfer_exec) \
    X(nl_py_typecode_exec) \
    X(nl_py_recording_exec) \
    X(nl_py_recorded_exec) \
    X(nl_py_batchcopy_exec) \
    X(nl_py_geometry_exec) \
    X(nl_py_launches_exec) \
    X(nl_py_reducer_exec) \
    X(nl_py_reduction_exec) \
    X(nl_py_reduceplan_exec) \
    X(nl_py_module_exec) \
    X(nl_py_kernel_exec) \
    X(nl_py_dispatchertype_exec) \
    X(nl_py_launcher_exec) \
    X(nl_py_graph_exec) \
    X(nl_py_captured_exec) \
    X(nl_py_dlpack_exec) \
    X(nl_py_keywords_exec) \
    X(nl_py_override_exec) \
    X(nl_py_arrayufunc_exec) \
    X(nl_py_arrayfunction_exec) \
    X(nl_py_operators_exec) \
    X(nl_py_matmul_exec) \
    X(nl_py_workspace_exec) \
    X(nl_py_ufunctype_exec) \
    X(nl_py_gufunc_exec) \
    X(nl_py_hostmodule_exec) \
    X(nl_py_hostufunc_exec) \
    X(nl_py_hostfunction_exec) \
    X(nl_py_librarycall_exec) \
    X(nl_py_libraryvalue_exec) \
    X(nl_py_planned_exec) \
    X(nl_py_counter_exec)

#define NL_DECLARE(name) int name(PyObject *module);
NL_PY_EXECS(NL_DECLARE)
#undef NL_DECLARE

#endif
