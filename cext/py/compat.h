/* py/compat: the only file with code for CPython versions (3.10 to 3.15, with and without the
 * interpreter's lock). Every file of py/ includes py/compat.h instead of Python.h. */
#ifndef NL_PY_COMPAT_H
#define NL_PY_COMPAT_H

#ifndef PY_SSIZE_T_CLEAN
#define PY_SSIZE_T_CLEAN
#endif
/* pyconfig.h defines these macros. If a header of the C library is included before, its features.h
 * has used them, and has perhaps defined other values. */
#undef _POSIX_C_SOURCE
#undef _XOPEN_SOURCE
#include <Python.h>
#include <structmember.h>

#if PY_VERSION_HEX < 0x030A0000
#error "numbalite needs CPython 3.10 or newer"
#endif

#if PY_VERSION_HEX < 0x030C0000
/* Member flags have prefixed names since 3.12. */
#define Py_T_OBJECT_EX T_OBJECT_EX
#define Py_T_PYSSIZET T_PYSSIZET
#define Py_T_UBYTE T_UBYTE
#define Py_T_INT T_INT
#define Py_T_LONGLONG T_LONGLONG
#define Py_READONLY READONLY
#endif

#if PY_VERSION_HEX < 0x030D0000
/* These functions return strong references; CPython's older functions return borrowed references.
 * Returns 1 if the key is found, 0 if it is absent, -1 with an exception. */
static inline int PyDict_GetItemRef(PyObject *dict, PyObject *key, PyObject **result) {
    PyObject *found = PyDict_GetItemWithError(dict, key);
    Py_XINCREF(found);
    *result = found;
    return found != NULL ? 1 : PyErr_Occurred() ? -1 : 0;
}

static inline PyObject *PyList_GetItemRef(PyObject *list, Py_ssize_t index) {
    PyObject *item = PyList_GetItem(list, index);
    Py_XINCREF(item);
    return item;
}

/* Returns 1 and a strong reference if the object is alive, 0 and NULL if not. */
static inline int PyWeakref_GetRef(PyObject *ref, PyObject **object) {
    PyObject *target = PyWeakref_GetObject(ref);
    if (target == NULL) {
        *object = NULL;
        return -1;
    }
    *object = target == Py_None ? NULL : Py_NewRef(target);
    return *object != NULL;
}

static inline int Py_IsFinalizing(void) {
    return _Py_IsFinalizing();
}
#endif

#if PY_VERSION_HEX < 0x030D0000
#define Py_BEGIN_CRITICAL_SECTION(object) {
#define Py_END_CRITICAL_SECTION() }
#define Py_BEGIN_CRITICAL_SECTION2(first, second) {
#define Py_END_CRITICAL_SECTION2() }
#endif

/* Enables the vectorcall of a subclass written in Python; since 3.12, CPython does this itself.
 * Call this function when the subclass is instantiated. */
static inline void nl_py_enable_vectorcall(PyTypeObject *type) {
#if PY_VERSION_HEX < 0x030C0000
    if (type->tp_call == PyVectorcall_Call && type->tp_vectorcall_offset > 0)
        type->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
#else
    (void)type;
#endif
}

/* Looks up an optional attribute without creating an AttributeError. Returns 1 and a strong
 * reference, 0 if the attribute is absent, or -1 with an exception. */
static inline int nl_py_lookup_attribute(PyObject *object, PyObject *name, PyObject **value) {
#if PY_VERSION_HEX >= 0x030D0000
    return PyObject_GetOptionalAttr(object, name, value);
#else
    return _PyObject_LookupAttr(object, name, value);
#endif
}

/* Returns the module for which a type, or a base of it, was created. Subclasses written in Python
 * have no module of their own, so the function searches the method resolution order.
 * Returns a borrowed reference, or NULL with TypeError. */
static inline PyObject *nl_py_module_of_type(PyTypeObject *type, PyModuleDef *definition) {
#if PY_VERSION_HEX >= 0x030B0000
    return PyType_GetModuleByDef(type, definition);
#else
    PyObject *mro = type->tp_mro;
    for (Py_ssize_t i = 0; mro != NULL && i < PyTuple_GET_SIZE(mro); ++i) {
        PyTypeObject *base = (PyTypeObject *)PyTuple_GET_ITEM(mro, i);
        if (!PyType_HasFeature(base, Py_TPFLAGS_HEAPTYPE))
            continue;
        PyObject *module = ((PyHeapTypeObject *)base)->ht_module;
        if (module != NULL && PyModule_GetDef(module) == definition)
            return module;
    }
    PyErr_Format(PyExc_TypeError, "%s is not a type of numbalite._core", type->tp_name);
    return NULL;
#endif
}

#endif
