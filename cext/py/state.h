/* py/state: the state of one instance of the module _core, and the functions that create it.
 *
 * Each file of py/ that adds something to the module exports one function
 * nl_py_<noun>_exec(module). This header lists the exec functions in the order in which they are
 * called when the module is created. Each object that a file stores for the lifetime of the module
 * has a line in NL_STATE_OBJECTS, from which macros generate the functions that traverse and clear
 * the state. */
#ifndef NL_PY_STATE_H
#define NL_PY_STATE_H

#include "py/compat.h"
#include "base/error.h"

/* X(type, name): strong references. */
#define NL_STATE_OBJECTS(X) \
    X(PyTypeObject, stream_type) \
    X(PyTypeObject, stream_class) /* subclass of Stream that C code instantiates \
    (register_stream_class) */ \
    X(PyTypeObject, event_type) \
    X(PyTypeObject, devarray_type)   /* the C type */ \
    X(PyTypeObject, devarray_class)  /* subclass of DeviceArray that C code instantiates \
     (register_array_class) */ \
    X(PyTypeObject, devrecord_class) /* subclass of DeviceArray for single records \
    (register_record_class) */ \
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
    X(PyTypeObject, trace_type) \
    X(PyTypeObject, traced_type) \
    X(PyTypeObject, reduction_plan_type) \
    X(PyTypeObject, reducer_type) \
    X(PyTypeObject, reduction_type) \
    X(PyTypeObject, directreduction_type) \
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
    X(PyObject, counterparts)   /* dict: NumPy's ufunc -> the device version */ \
    X(PyObject, operators)      /* tuple: tuple of NumPy's ufuncs in the order of operators.c */ \
    X(PyObject, functions)      /* dict: NumPy's function -> the device version */ \
    X(PyObject, no_value)       /* numpy._NoValue: a missing argument */ \
    X(PyObject, kept_scratch) /* dict from the address of a Reducer to its cached scratch array */ \
    X(PyObject, zero_uint32)  /* 0-d array */ \
    X(PyObject, copy_kernels) /* dict: kind and numbers of a kernel of copies -> the kernel */ \
    X(PyObject, copy_keywords) /* tuple of the keywords of batchcopy.c's call of a ufunc */ \
    X(PyObject, plan_observer) /* callable set by reduction_observer, which is called with each \
                                * plan, or None */ \
    X(PyTypeObject, enum_type) /* enum.Enum */ \
    X(PyObject, code_objects)  /* list of the objects of type codes; index 1 of a type code is the \
     first item */ \
    X(PyObject, code_indices)  /* dict: object -> index */ \
    X(PyObject, interface_keys) /* tuple of the names that arrayinterface.c looks up */ \
    X(PyObject, known_names)    /* tuple of the names that fastarray.c looks up */ \
    X(PyObject, dlpack_names)   /* tuple of the names that dlpack.c looks up */ \
    X(PyTypeObject, cupy_array) /* fastarray.c: registered array classes of other libraries */ \
    X(PyTypeObject, torch_tensor) \
    X(PyTypeObject, exchange_type) /* class with DLPack's exchange API (dlpack.c) */ \
    X(PyObject, exchange_parts) /* capsule of that class, and the descriptor of requires_grad or \
    None */ \
    X(PyObject, cupy_stream)    /* cupy.cuda.get_current_stream */ \
    X(PyObject, torch_parts)    /* pair of a dict from PyTorch dtypes to nl_dtype, and PyTorch's \
       stream    function or None */ \
    X(PyObject, foreign_stream) /* lender.c: the last Stream created for a foreign handle */

typedef struct nl_py_state {
#define NL_DECLARE(type, name) type *name;
    NL_STATE_OBJECTS(NL_DECLARE)
#undef NL_DECLARE
    void *exchange; /* nl_dl_exchange of exchange_type, or NULL until dlpack.c has set it */
} nl_py_state;

extern PyModuleDef nl_py_state_module_def;

/* These functions return the state: nl_py_state_of from the module, nl_py_state_of_type from a type
 * of this module or its subclass (NULL with TypeError for another type), nl_py_state_of_object from
 * an object of such a type. */
static inline nl_py_state *nl_py_state_of(PyObject *module) {
    return (nl_py_state *)PyModule_GetState(module);
}
static inline nl_py_state *nl_py_state_of_type(PyTypeObject *type) {
    PyObject *module = nl_py_module_of_type(type, &nl_py_state_module_def);
    return module != NULL ? nl_py_state_of(module) : NULL;
}
static inline nl_py_state *nl_py_state_of_object(PyObject *object) {
    return nl_py_state_of_type(Py_TYPE(object));
}

/* Raises the exception for an nl_error. Returns NULL, so that callers can write `return
 * nl_py_raise(&err)`. */
PyObject *nl_py_raise(const nl_error *err);
/* Returns None, or raises the exception if `status` is negative. */
static inline PyObject *nl_py_none_or_raise(int status, const nl_error *err) {
    return status < 0 ? nl_py_raise(err) : Py_NewRef(Py_None);
}
/* Prepends `where` to the message of the TypeError or ValueError that is set. */
void nl_py_error_prefix_location(const char *where);
/* An exception from PyErr_Fetch. */
typedef struct nl_py_exception {
    PyObject *type, *error, *traceback;
} nl_py_exception;
/* Returns `result` instead of raising the exception `taken`; if `result` is None, raises `taken`
 * again. Steals all references. */
PyObject *nl_py_error_replace(nl_py_exception taken, PyObject *result);
/* Returns a class of numbalite.errors, or `otherwise` if the class is not available. Returns a new
 * reference. */
PyObject *nl_py_error_class(const char *name, PyObject *otherwise);

/* Returns the number of keyword arguments of a vectorcall. */
static inline Py_ssize_t nl_py_count_keywords(PyObject *keywords) {
    return keywords != NULL ? PyTuple_GET_SIZE(keywords) : 0;
}

/* Frees the object; this is the last step of each tp_dealloc. */
static inline void nl_py_free_object(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    type->tp_free(self);
    Py_DECREF(type);
}

/* Call this function before device operations: it reports the user's source line to a driver that
 * checks streams for races. */
extern int nl_py_checks_note_callers;
void nl_py_checks_record_caller_for_streams(void);
static inline void nl_py_checks_note_caller(void) {
    if (__builtin_expect(nl_py_checks_note_callers, 0))
        nl_py_checks_record_caller_for_streams();
}

/* Returns whether the accesses of the calling thread's launches are counted. Profiled launches must
 * make the accesses that a GPU makes: no schedule for the simulator is used, and no trace is
 * replayed. */
extern int nl_py_checks_profiling;
int nl_py_checks_is_profiled_now(void);
static inline int nl_py_checks_is_profiled(void) {
    return __builtin_expect(nl_py_checks_profiling, 0) && nl_py_checks_is_profiled_now();
}

/* Reports the user's source line before a launch, like nl_py_checks_note_caller, but for all
 * reports of the simulator. */
void nl_py_checks_record_caller(void);

/* Runs a statement without the interpreter's lock, for example `NL_UNLOCKED(status =
 * nl_..._open(&err));`. */
#define NL_UNLOCKED(...) \
    do { \
        nl_py_checks_note_caller(); \
        Py_BEGIN_ALLOW_THREADS; \
        __VA_ARGS__; \
        Py_END_ALLOW_THREADS; \
    } while (0)

/* Creates a heap type, adds it to the module under its own name and stores it in *slot. 0, or -1
 * with an exception. */
int nl_py_state_add_type(PyObject *module, PyType_Spec *spec, PyTypeObject *base,
                         PyTypeObject **slot);
/* Returns whether this thread may still run Python code if it has the interpreter's lock. During
 * finalization, only the finalizing thread may run Python code. */
int nl_py_state_is_alive(void);
/* Registers a function that releases cached resources when the interpreter ends. 0, or -1 with an
 * exception. */
int nl_py_state_at_exit(void);
/* Returns unused cached memory to the driver. */
void nl_py_state_release_caches(void);
/* Returns a new tuple of interned strings, or NULL with an exception. */
PyObject *nl_py_state_intern(const char *const *texts, int count);
/* Adds functions to the module. 0, or -1 with an exception. */
#define nl_py_state_add_functions(module, methods) PyModule_AddFunctions((module), (methods))

/* The nl_py_..._exec functions, in the order of their calls; each function returns 0, or -1 with an
 * exception. */
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
    X(nl_py_arrayinterface_exec) \
    X(nl_py_fastarray_exec) \
    X(nl_py_hostmemory_exec) \
    X(nl_py_memory_exec) \
    X(nl_py_ipc_exec) \
    X(nl_py_texture_exec) \
    X(nl_py_transfer_exec) \
    X(nl_py_typecode_exec) \
    X(nl_py_trace_exec) \
    X(nl_py_traced_exec) \
    X(nl_py_copykernel_exec) \
    X(nl_py_batchcopy_exec) \
    X(nl_py_joins_exec) \
    X(nl_py_gather_exec) \
    X(nl_py_sequence_exec) \
    X(nl_py_jointable_exec) \
    X(nl_py_xla_exec) \
    X(nl_py_geometry_exec) \
    X(nl_py_launches_exec) \
    X(nl_py_reducer_exec) \
    X(nl_py_reduction_exec) \
    X(nl_py_directreduction_exec) \
    X(nl_py_reduceplan_exec) \
    X(nl_py_selection_exec) \
    X(nl_py_kernel_exec) \
    X(nl_py_dispatchertype_exec) \
    X(nl_py_launcher_exec) \
    X(nl_py_graph_exec) \
    X(nl_py_graphkernel_exec) \
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
    X(nl_py_tensorkernel_exec) \
    X(nl_py_forwarder_exec) \
    X(nl_py_counter_exec)

#define NL_DECLARE(name) int name(PyObject *module);
NL_PY_EXECS(NL_DECLARE)
#undef NL_DECLARE

#endif
