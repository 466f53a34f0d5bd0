/* py/operators: Implements Python's operators of a DeviceArray by calls of NumPy's ufuncs. */
#ifndef NL_PY_OPERATORS_H
#define NL_PY_OPERATORS_H

#include "py/state.h"

/* X(slot, ufunc); py/matmul has `a @ b`. */
#define NL_IN_PLACE_OPERATORS(X) \
    X(add, add) \
    X(subtract, subtract) \
    X(multiply, multiply) \
    X(true_divide, divide) \
    X(floor_divide, floor_divide) \
    X(remainder, remainder) \
    X(lshift, left_shift) \
    X(rshift, right_shift) \
    X(and, bitwise_and) \
    X(or, bitwise_or) \
    X(xor, bitwise_xor)
#define NL_UNARY_OPERATORS(X) \
    X(negative, negative) \
    X(positive, positive) \
    X(absolute, absolute) \
    X(invert, invert)

#define NL_DECLARE_BINARY(slot, ufunc) \
    PyObject *nl_py_operators_##slot(PyObject *left, PyObject *right); \
    PyObject *nl_py_operators_inplace_##slot(PyObject *self, PyObject *other);
#define NL_DECLARE_UNARY(slot, ufunc) PyObject *nl_py_operators_##slot(PyObject *self);
NL_IN_PLACE_OPERATORS(NL_DECLARE_BINARY)
NL_UNARY_OPERATORS(NL_DECLARE_UNARY)
#undef NL_DECLARE_BINARY
#undef NL_DECLARE_UNARY
PyObject *nl_py_operators_divmod(PyObject *left, PyObject *right);
PyObject *nl_py_operators_power(PyObject *base, PyObject *exponent, PyObject *modulus);
PyObject *nl_py_operators_inplace_power(PyObject *self, PyObject *exponent, PyObject *modulus);
PyObject *nl_py_operators_inplace_matmul(PyObject *self, PyObject *other);
PyObject *nl_py_operators_compare(PyObject *self, PyObject *other, int which);
/* Raises TypeError because arrays are not hashable */
Py_hash_t nl_py_operators_hash(PyObject *self);

#define NL_BINARY_SLOT(slot, ufunc) \
    {Py_nb_##slot, nl_py_operators_##slot}, {Py_nb_inplace_##slot, nl_py_operators_inplace_##slot},
#define NL_UNARY_SLOT(slot, ufunc) {Py_nb_##slot, nl_py_operators_##slot},
#define NL_OPERATOR_SLOTS \
    NL_IN_PLACE_OPERATORS(NL_BINARY_SLOT) \
    NL_UNARY_OPERATORS(NL_UNARY_SLOT){Py_nb_divmod, nl_py_operators_divmod}, \
        {Py_nb_power, nl_py_operators_power}, \
        {Py_nb_inplace_power, nl_py_operators_inplace_power}, \
        {Py_nb_inplace_matrix_multiply, nl_py_operators_inplace_matmul}, \
        {Py_tp_richcompare, nl_py_operators_compare}, {Py_tp_hash, nl_py_operators_hash},

#endif
