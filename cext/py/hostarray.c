/* py/hostarray: the functions that use NumPy's C API. Elements are classified by NumPy's kind
 * letter and size, not by type number, so that `long` and `long long` are the same int64. */
#include "py/hostarray.h"

#include <numpy/arrayobject.h>
#include <numpy/arrayscalars.h>

#include <stdio.h>
#include <string.h>
#include "py/state.h"

/* The scalar types whose value is stored directly in the object, with the dtype code and the
 * value's offset. */
static struct {
    PyTypeObject *type;
    nl_dtype dtype;
    size_t offset;
} scalar_types[16];
static int scalar_type_count;

static void add_scalar_type(PyTypeObject *type, char kind, size_t size, size_t offset) {
    scalar_types[scalar_type_count].type = type;
    scalar_types[scalar_type_count].dtype = nl_dtype_from_kind(kind, (int64_t)size);
    scalar_types[scalar_type_count++].offset = offset;
}

#define ADD(Name, kind) \
    add_scalar_type(&Py##Name##ArrType_Type, kind, sizeof(((Py##Name##ScalarObject *)0)->obval), \
                    offsetof(Py##Name##ScalarObject, obval))

static int import_numpy(void) {
    if (PyArray_ImportNumPyAPI() < 0)
        return -1;
    if (scalar_type_count)
        return 0;
    ADD(Float, 'f');
    ADD(Double, 'f');
    ADD(Int, 'i');
    ADD(Long, 'i');
    ADD(LongLong, 'i');
    ADD(Bool, 'b');
    ADD(UInt, 'u');
    ADD(ULong, 'u');
    ADD(ULongLong, 'u');
    ADD(Half, 'f');
    ADD(CFloat, 'c');
    ADD(CDouble, 'c');
    ADD(Byte, 'i');
    ADD(Short, 'i');
    ADD(UByte, 'u');
    ADD(UShort, 'u');
    return 0;
}
#undef ADD

/* ---- dtypes ---- */

PyObject *nl_py_hostarray_convert_descr(PyObject *specification) {
    PyArray_Descr *descr = NULL;
    if (PyArray_DescrConverter(specification, &descr) == NPY_FAIL)
        return NULL;
    return (PyObject *)descr;
}

PyObject *nl_py_hostarray_descr_of_new_array(PyObject *specification) {
    PyArray_Descr *descr = (PyArray_Descr *)nl_py_hostarray_convert_descr(specification);
    /* already a dtype object, for example that of another array */
    if (nl_py_hostarray_is_descr(specification))
        return (PyObject *)descr;
    int is_bytes = descr && descr->type_num == NPY_STRING;
    if (!descr || !(is_bytes || descr->type_num == NPY_UNICODE) || PyDataType_ELSIZE(descr) != 0)
        return (PyObject *)descr;
    PyArray_Descr *sized = PyArray_DescrNew(descr);
    Py_DECREF(descr);
    if (sized)
        PyDataType_SET_ELSIZE(sized, is_bytes ? 1 : 4);
    return (PyObject *)sized;
}

PyObject *nl_py_hostarray_descr_of_dtype(nl_dtype dtype) {
    static const int numbers[NL_DTYPE_COUNT] = {
        NPY_VOID,    NPY_BOOL,    NPY_INT8,    NPY_INT16,     NPY_INT32,
        NPY_INT64,   NPY_UINT8,   NPY_UINT16,  NPY_UINT32,    NPY_UINT64,
        NPY_FLOAT16, NPY_FLOAT32, NPY_FLOAT64, NPY_COMPLEX64, NPY_COMPLEX128};
    return (PyObject *)PyArray_DescrFromType(numbers[dtype]);
}

int nl_py_hostarray_is_descr(PyObject *obj) {
    return PyArray_DescrCheck(obj);
}

static nl_element_class classify_void_dtype(PyArray_Descr *d) {
    if (!PyDataType_HASFIELDS(d)) /* plain bytes have no byte order */
        return NL_ELEMENT_RECORD;
    PyObject *native = PyObject_GetAttrString((PyObject *)d, "isnative");
    int truth = native ? PyObject_IsTrue(native) : -1;
    Py_XDECREF(native);
    if (truth < 0)
        PyErr_Clear();
    return truth == 0 ? NL_ELEMENT_SWAPPED : NL_ELEMENT_RECORD;
}

nl_element nl_py_hostarray_element_of_descr(PyObject *descr) {
    PyArray_Descr *d = (PyArray_Descr *)descr;
    nl_element e = {NL_OPAQUE, NL_ELEMENT_OTHER, PyDataType_ELSIZE(d)};
    if (PyDataType_REFCHK(d) || (d->type_num >= NPY_NTYPES_LEGACY && d->type_num < NPY_USERDEF) ||
        d->type_num > 2000 || d->type_num < 0 || PyDataType_HASSUBARRAY(d)) {
        e.class = NL_ELEMENT_OBJECT;
        return e;
    }
    if (d->type_num >= NPY_USERDEF) {
        e.class = NL_ELEMENT_RECORD;
        return e;
    }
    if (d->kind == 'V') {
        e.class = classify_void_dtype(d);
        return e;
    }
    int is_time = d->kind == 'M' || d->kind == 'm';
    nl_dtype dtype = nl_dtype_from_kind(d->kind, e.itemsize);
    if (dtype == NL_OPAQUE && !is_time)
        return e;
    if (!PyArray_ISNBO(d->byteorder)) {
        e.class = NL_ELEMENT_SWAPPED;
        return e;
    }
    e.dtype = dtype;
    e.class = is_time ? NL_ELEMENT_TIME : NL_ELEMENT_PLAIN;
    return e;
}

int nl_py_hostarray_same_dtype(PyObject *a, PyObject *b) {
    return a == b || PyArray_EquivTypes((PyArray_Descr *)a, (PyArray_Descr *)b);
}

const char *nl_py_hostarray_dtype_name(PyObject *descr, char *text, size_t size) {
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *str = PyObject_Str(descr);
    const char *utf8 = str ? PyUnicode_AsUTF8(str) : NULL;
    snprintf(text, size, "%s", utf8 ? utf8 : "?");
    if (utf8 && strlen(utf8) >= size)
        memcpy(text + size - 4, "...", 4);
    Py_XDECREF(str);
    PyErr_Restore(type, value, traceback);
    return text;
}

int nl_py_hostarray_has_fields(PyObject *descr) {
    return PyDataType_HASFIELDS((PyArray_Descr *)descr);
}

int nl_py_hostarray_find_field(PyObject *descr, PyObject *name, PyObject **field, int64_t *offset) {
    PyArray_Descr *d = (PyArray_Descr *)descr;
    if (!PyDataType_HASFIELDS(d))
        return 0;
    PyObject *entry = PyObject_GetItem(PyDataType_FIELDS(d), name);
    if (!entry) {
        if (!PyErr_ExceptionMatches(PyExc_KeyError))
            return -1;
        PyErr_Clear();
        return 0;
    }
    if (!PyTuple_Check(entry) || PyTuple_GET_SIZE(entry) < 2) {
        Py_DECREF(entry);
        return 0;
    }
    *offset = PyLong_AsLongLong(PyTuple_GET_ITEM(entry, 1));
    *field = Py_NewRef(PyTuple_GET_ITEM(entry, 0));
    Py_DECREF(entry);
    if (*offset == -1 && PyErr_Occurred()) {
        Py_CLEAR(*field);
        return -1;
    }
    return 1;
}

/* ---- arrays ---- */

int nl_py_hostarray_is_array(PyObject *obj) {
    return PyArray_Check(obj);
}

int nl_py_hostarray_is_exact_array(PyObject *obj) {
    return PyArray_CheckExact(obj);
}

PyObject *nl_py_hostarray_type(void) {
    return (PyObject *)&PyArray_Type;
}

int nl_py_hostarray_read(PyObject *obj, nl_host_array *out) {
    PyArrayObject *array = (PyArrayObject *)obj;
    int ndim = PyArray_NDIM(array);
    if (ndim > NL_MAX_DIMS) {
        PyErr_Format(PyExc_ValueError, "an array of %d dimensions has more than the limit of %d",
                     ndim, NL_MAX_DIMS);
        return -1;
    }
    out->array = obj;
    out->descr = (PyObject *)PyArray_DESCR(array);
    out->data = PyArray_BYTES(array);
    out->element = nl_py_hostarray_element_of_descr(out->descr);
    out->writable = PyArray_ISWRITEABLE(array);
    out->layout.ndim = ndim;
    out->layout.itemsize = out->element.itemsize;
    for (int i = 0; i < ndim; i++) {
        out->layout.shape[i] = PyArray_DIM(array, i);
        out->layout.strides[i] = PyArray_STRIDE(array, i);
    }
    return 0;
}

void nl_py_hostarray_make_read_only(PyObject *array) {
    PyArray_CLEARFLAGS((PyArrayObject *)array, NPY_ARRAY_WRITEABLE);
}

int nl_py_hostarray_is_writable(PyObject *array) {
    return PyArray_ISWRITEABLE((PyArrayObject *)array);
}

PyObject *nl_py_hostarray_from_object(PyObject *obj) {
    return PyArray_FROM_O(obj);
}

PyObject *nl_py_hostarray_to_native_order(PyObject *array) {
    PyArray_Descr *native = PyArray_DescrNewByteorder(PyArray_DESCR((PyArrayObject *)array), '=');
    return native ? PyArray_CastToType((PyArrayObject *)array, native, 0) : NULL;
}

PyObject *nl_py_hostarray_new(PyObject *descr, const nl_layout *layout, void *data,
                              PyObject *base) {
    npy_intp shape[NL_MAX_DIMS], strides[NL_MAX_DIMS];
    for (int i = 0; i < layout->ndim; i++) {
        shape[i] = (npy_intp)layout->shape[i];
        strides[i] = (npy_intp)layout->strides[i];
    }
    Py_INCREF(descr); /* PyArray_NewFromDescr steals the reference, also on failure */
    PyObject *array =
        PyArray_NewFromDescr(&PyArray_Type, (PyArray_Descr *)descr, layout->ndim, shape, strides,
                             data, data ? NPY_ARRAY_WRITEABLE : 0, NULL);
    if (!array) {
        Py_XDECREF(base);
        return NULL;
    }
    if (base && PyArray_SetBaseObject((PyArrayObject *)array, base) < 0) {
        Py_DECREF(array);
        return NULL;
    }
    return array;
}

PyObject *nl_py_hostarray_find_root(PyObject *array) {
    PyObject *root = PyArray_BASE((PyArrayObject *)array);
    for (;;) {
        PyObject *next = NULL;
        if (root && PyArray_Check(root))
            next = PyArray_BASE((PyArrayObject *)root);
        else if (root && PyMemoryView_Check(root))
            next = PyMemoryView_GET_BASE(root);
        if (!next)
            return root;
        root = next;
    }
}

int nl_py_hostarray_copy_into(PyObject *to, PyObject *from) {
    return PyArray_CopyInto((PyArrayObject *)to, (PyArrayObject *)from);
}

PyObject *nl_py_hostarray_read_item(PyObject *array) {
    return PyArray_ToScalar(PyArray_DATA((PyArrayObject *)array), (PyArrayObject *)array);
}

/* ---- scalars ---- */

int nl_py_hostarray_is_scalar(PyObject *obj) {
    return PyArray_IsScalar(obj, Generic);
}

int nl_py_hostarray_is_exact_scalar(PyObject *obj) {
    for (int i = 0; i < scalar_type_count; i++)
        if (Py_IS_TYPE(obj, scalar_types[i].type))
            return 1;
    return 0;
}

int nl_py_hostarray_is_bool(PyObject *obj) {
    return PyBool_Check(obj) || PyArray_IsScalar(obj, Bool);
}

PyObject *nl_py_hostarray_new_scalar(PyObject *descr, const void *bytes) {
    return PyArray_Scalar((void *)bytes, (PyArray_Descr *)descr, NULL);
}

static nl_dtype copy_scalar(PyObject *scalar, int i, void *bytes) {
    nl_dtype dtype = scalar_types[i].dtype;
    memcpy(bytes, (char *)scalar + scalar_types[i].offset, nl_dtype_size(dtype));
    return dtype;
}

nl_dtype nl_py_hostarray_read_scalar(PyObject *scalar, void *bytes) {
    PyTypeObject *type = Py_TYPE(scalar);
    for (int i = 0; i < scalar_type_count; i++)
        if (scalar_types[i].type == type)
            return copy_scalar(scalar, i, bytes);
    for (int i = 0; i < scalar_type_count; i++)
        if (PyType_IsSubtype(type, scalar_types[i].type))
            return copy_scalar(scalar, i, bytes);
    return NL_OPAQUE;
}

int nl_py_hostarray_read_void(PyObject *scalar, PyObject **descr, const void **bytes) {
    PyArray_Descr *d = PyArray_DescrFromScalar(scalar);
    if (!d)
        return -1;
    *descr = (PyObject *)d;
    *bytes = PyArray_IsScalar(scalar, Void) ? ((PyVoidScalarObject *)scalar)->obval : NULL;
    return 0;
}

int nl_py_hostarray_is_void(PyObject *obj) {
    return PyArray_IsScalar(obj, Void);
}

PyObject *nl_py_hostarray_array_of_void(PyObject *scalar) {
    PyVoidScalarObject *v = (PyVoidScalarObject *)scalar;
    PyObject *array =
        PyArray_NewFromDescr(&PyArray_Type, (PyArray_Descr *)Py_NewRef((PyObject *)v->descr), 0,
                             NULL, NULL, v->obval, v->flags & NPY_ARRAY_WRITEABLE, NULL);
    if (array && PyArray_SetBaseObject((PyArrayObject *)array, Py_NewRef(scalar)) < 0)
        Py_CLEAR(array);
    return array;
}

int nl_py_hostarray_is_scalar_type(PyObject *obj) {
    return PyType_Check(obj) && PyType_IsSubtype((PyTypeObject *)obj, &PyGenericArrType_Type);
}

static int is_datetime_scalar(PyObject *obj) {
    PyArrayObject *a = (PyArrayObject *)obj;
    return PyArray_Check(obj) && PyArray_NDIM(a) == 0 &&
           nl_py_hostarray_element_of_descr((PyObject *)PyArray_DESCR(a)).class == NL_ELEMENT_TIME;
}

int nl_py_hostarray_read_time(PyObject *obj, void *bytes) {
    const void *value = PyArray_IsScalar(obj, Datetime) ? &((PyDatetimeScalarObject *)obj)->obval
                        : PyArray_IsScalar(obj, Timedelta)
                            ? (const void *)&((PyTimedeltaScalarObject *)obj)->obval
                        : is_datetime_scalar(obj) ? PyArray_DATA((PyArrayObject *)obj)
                                                  : NULL;
    if (value)
        memcpy(bytes, value, sizeof(npy_int64));
    return value != NULL;
}

int nl_py_hostarray_read_long_double(PyObject *scalar, nl_scalar *value) {
    npy_longdouble parts[2] = {0, 0};
    if (PyArray_IsScalar(scalar, LongDouble))
        value->kind = NL_SCALAR_FLOAT;
    else if (PyArray_IsScalar(scalar, CLongDouble))
        value->kind = NL_SCALAR_COMPLEX;
    else
        return 0;
    PyArray_ScalarAsCtype(scalar, parts);
    value->real = (double)parts[0];
    value->imaginary = (double)parts[1];
    return 1;
}

int nl_py_hostarray_exec(PyObject *Py_UNUSED(module)) {
    return import_numpy();
}
