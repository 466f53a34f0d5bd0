"""Implements cuSPARSE's functions with NumPy, for cuSPARSE's arguments; descriptors are integers. Device
memory is read and written as host copies, in the stream's order."""

from __future__ import annotations

import ctypes
import itertools

import numpy as np

from numbalite.runtime.libraries.solversim import (
    CHARACTERS,
    _first_elements,
    _read_matrix,
    _store_values,
    _write_matrix,
)

_descriptors: dict[int, Descriptor] = {}
_numbers = itertools.count(1)
_INDICES = {2: "i4", 3: "i8"}  # cusparseIndexType_t
INVALID, NOT_SUPPORTED = 3, 10


class Descriptor:
    """The arguments from which a matrix or vector descriptor was created, by name."""

    def __init__(self, **fields):
        self.__dict__.update(fields)


def _store_descriptor(out, **fields):
    number = next(_numbers)
    _descriptors[number] = Descriptor(**fields)
    ctypes.c_void_p.from_address(out).value = number
    return 0


def _destroy_descriptor(stream, number):
    return 0 if _descriptors.pop(number, None) else INVALID


DestroySpMat = DestroyDnVec = DestroyDnMat = _destroy_descriptor
SpGEMM_destroyDescr = SpSV_destroyDescr = SpSM_destroyDescr = _destroy_descriptor


def _create_descriptor(stream, out):
    return _store_descriptor(out, matrix=None)


SpGEMM_createDescr = SpSV_createDescr = SpSM_createDescr = _create_descriptor


def CreateCsr(stream, out, rows, columns, count, indptr, indices, data, ptype, itype, base, kind):
    if count > rows * columns:
        return INVALID
    arrays = {"indptr": indptr, "indices": indices, "data": data}
    types = {"ptype": _INDICES[ptype], "itype": _INDICES[itype], "kind": CHARACTERS[kind]}
    return _store_descriptor(
        out, rows=rows, columns=columns, count=count, upper=0, unit=0, **arrays, **types
    )


def CsrSetPointers(stream, number, indptr, indices, data):
    _descriptors[number].__dict__.update(indptr=indptr, indices=indices, data=data)
    return 0


def SpMatGetSize(stream, number, rows, columns, count):
    matrix = _descriptors[number]
    for out, value in ((rows, matrix.rows), (columns, matrix.columns), (count, matrix.count)):
        ctypes.c_int64.from_address(out).value = value
    return 0


def SpMatSetAttribute(stream, number, attribute, value, size):
    name = ("upper", "unit")[attribute]
    setattr(_descriptors[number], name, ctypes.c_int.from_address(value).value)
    return 0


def CreateDnVec(stream, out, count, values, kind):
    return _store_descriptor(out, count=count, values=values, kind=CHARACTERS[kind])


def DnVecSetValues(stream, number, values):
    # Store the stream's address, so that the table keeps no stream alive
    _descriptors[number].values = values.bind(0)
    return 0


def CreateDnMat(stream, out, rows, columns, ld, values, kind, order):
    return _store_descriptor(
        out,
        rows=rows,
        columns=columns,
        ld=ld,
        values=values,
        kind=CHARACTERS[kind],
        by_rows=order == 2,
    )


# ------------------------------------------------------------------------------------------- reading


def _read_host(array, count, kind, stream):
    return (
        _first_elements(array, count, kind).copy_to_host(stream=stream)
        if count
        else np.empty(0, kind)
    )


def _coordinates_of_operation(matrix, operation, stream):
    """Returns (rows, columns, values, shape) of op(matrix)"""
    indptr = _read_host(matrix.indptr, matrix.rows + 1, matrix.ptype, stream)
    columns = _read_host(matrix.indices, matrix.count, matrix.itype, stream)
    values = _read_host(matrix.data, matrix.count, matrix.kind, stream)
    rows = np.repeat(np.arange(matrix.rows), np.diff(indptr))
    if operation == 0:
        return rows, columns, values, (matrix.rows, matrix.columns)
    return columns, rows, values.conj() if operation == 2 else values, (matrix.columns, matrix.rows)


def _read_dense(matrix, stream):
    """Returns on the host the dense matrix of a descriptor."""
    if matrix.by_rows:
        return _read_matrix(
            matrix.values, matrix.columns, matrix.rows, matrix.ld, matrix.kind, stream
        ).T
    return _read_matrix(matrix.values, matrix.rows, matrix.columns, matrix.ld, matrix.kind, stream)


def _put_dense(matrix, values, stream):
    values = values.T if matrix.by_rows else values
    _write_matrix(matrix.values, values.astype(matrix.kind), matrix.ld, matrix.kind, stream)


def _multiply_by_dense(triplets, right):
    """Returns a sparse matrix times a dense matrix. Sums of half precision are computed in single precision."""
    rows, columns, values, shape = triplets
    wide = np.result_type(values.dtype, "f4")
    made = np.zeros((shape[0], right.shape[1]), wide)
    np.add.at(made, rows, values.astype(wide)[:, None] * right[columns])
    return made


# ------------------------------------------------------------------------------------------ products


def _store_buffer_size(stream, handle, *args):
    ctypes.c_size_t.from_address(args[-1]).value = 0
    return 0


SpMV_bufferSize = SpMM_bufferSize = SpSV_bufferSize = SpSM_bufferSize = _store_buffer_size


def SpMV_preprocess(stream, handle, *args):
    return 0


def SpMV(stream, handle, operation, alpha, matrix, x, beta, y, compute, algorithm, buffer):
    triplets = _coordinates_of_operation(_descriptors[matrix], operation, stream)
    x, y = _descriptors[x], _descriptors[y]
    right = _read_host(x.values, x.count, x.kind, stream)
    _store_values(y.values, _multiply_by_dense(triplets, right[:, None])[:, 0], y.kind, stream)
    return 0


def SpMM(stream, handle, operation, opb, alpha, matrix, b, beta, c, compute, algorithm, buffer):
    triplets = _coordinates_of_operation(_descriptors[matrix], operation, stream)
    right = _read_dense(_descriptors[b], stream)
    _put_dense(_descriptors[c], _multiply_by_dense(triplets, right), stream)
    return 0


def SpGEMM_workEstimation(
    stream, handle, opa, opb, alpha, a, b, beta, c, compute, algorithm, descr, size, buffer
):
    ctypes.c_size_t.from_address(size).value = 1
    return 0


def SpGEMM_compute(
    stream, handle, opa, opb, alpha, a, b, beta, c, compute, algorithm, descr, size, buffer
):
    ctypes.c_size_t.from_address(size).value = 1
    if buffer is None:
        return 0
    rows, middles, left, (height, _) = _coordinates_of_operation(_descriptors[a], 0, stream)
    b_rows, columns, right, (_, width) = _coordinates_of_operation(_descriptors[b], 0, stream)
    begins = np.searchsorted(b_rows, middles)
    counts = np.searchsorted(b_rows, middles, "right") - begins
    first = np.repeat(np.arange(len(middles)), counts)
    second = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts) + begins[first]
    keys = rows[first] * max(width, 1) + columns[second]
    unique, places = np.unique(keys, return_inverse=True)
    values = np.zeros(len(unique), left.dtype)
    np.add.at(values, places, left[first] * right[second])
    found = unique // max(width, 1)
    indptr = np.searchsorted(found, np.arange(height + 1))
    _descriptors[descr].matrix = indptr, unique % max(width, 1), values
    _descriptors[c].count = len(unique)
    return 0


def SpGEMM_copy(stream, handle, opa, opb, alpha, a, b, beta, c, compute, algorithm, descr):
    c, made = _descriptors[c], _descriptors[descr].matrix
    for array, values, kind in zip((c.indptr, c.indices, c.data), made, (c.ptype, c.itype, c.kind)):
        _store_values(array, values, kind, stream)
    return 0


# ---------------------------------------------------------------------------------- triangular systems


def _solve_triangular(matrix, operation, right, stream):
    rows, columns, values, (n, _) = _coordinates_of_operation(matrix, 0, stream)
    dense = np.zeros((n, n), values.dtype)
    np.add.at(dense, (rows, columns), values)
    dense = np.triu(dense) if matrix.upper else np.tril(dense)
    if matrix.unit:
        np.fill_diagonal(dense, 1)
    if operation:
        dense = dense.conj().T if operation == 2 else dense.T
    backward = bool(matrix.upper) != bool(operation)
    x = right.copy()
    with np.errstate(all="ignore"):
        for i in reversed(range(n)) if backward else range(n):
            others = dense[i].copy()
            others[i] = 0
            x[i] = (right[i] - others @ np.where(others[:, None] != 0, x, 0)) / dense[i, i]
    return x


def SpSV_analysis(stream, handle, *args):
    return 0


SpSM_analysis = SpSV_analysis


def SpSV_solve(stream, handle, operation, alpha, matrix, x, y, compute, algorithm, descr):
    x, y = _descriptors[x], _descriptors[y]
    right = _read_host(x.values, x.count, x.kind, stream)
    made = _solve_triangular(_descriptors[matrix], operation, right[:, None], stream)
    _store_values(y.values, made[:, 0], y.kind, stream)
    return 0


def SpSM_solve(stream, handle, operation, opb, alpha, matrix, b, c, compute, algorithm, descr):
    right = _read_dense(_descriptors[b], stream)
    _put_dense(
        _descriptors[c], _solve_triangular(_descriptors[matrix], operation, right, stream), stream
    )
    return 0


# --------------------------------------------------------------------------------------- conversions


def Csr2cscEx2_bufferSize(stream, handle, *args):
    return _store_buffer_size(stream, handle, *args)


def Csr2cscEx2(
    stream, handle, m, n, count, data, indptr, indices, out, outptr, outindices, kind, *rest
):
    kind = CHARACTERS[kind]
    rows = np.repeat(np.arange(m), np.diff(_read_host(indptr, m + 1, "i4", stream)))
    columns = _read_host(indices, count, "i4", stream)
    order = np.argsort(columns, kind="stable")
    _store_values(out, _read_host(data, count, kind, stream)[order], kind, stream)
    _store_values(outindices, rows[order], "i4", stream)
    _store_values(outptr, np.searchsorted(columns[order], np.arange(n + 1)), "i4", stream)
    return 0
