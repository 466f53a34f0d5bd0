"""Implements cuSOLVER's functions, and cuBLAS's batched functions, with NumPy: arguments, results, pivots and
info values are those of the libraries, and matrices are column-major. Device memory is read and written as
host copies, in the stream's order."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from numbalite import _core
from numbalite.runtime.checks import checks

CHARACTERS = {0: "f", 1: "d", 2: "e", 4: "F", 5: "D"}  # of cudaDataType


# ------------------------------------------------------------------------------------------- memory


def _first_elements(array, count, kind):
    """Returns `count` elements from the beginning of an array."""
    dtype = np.dtype(kind)
    return array._view((count,), (dtype.itemsize,), dtype)


def _read_matrix(array, rows, columns, ld, kind, stream):
    """Returns on the host a column-major matrix with the leading dimension `ld`."""
    host = np.zeros(ld * columns, np.dtype(kind))
    count = ld * (columns - 1) + rows
    host[:count] = _first_elements(array, count, kind).copy_to_host(stream=stream)
    return host.reshape(columns, ld).T[:rows]


def read_contents(array: Any, stream: Any) -> np.ndarray:
    """Returns the contents of an array that will be partly overwritten; the contents may be uninitialized."""
    with checks("none"):
        return array.copy_to_host(stream=stream)


def _write_matrix(array, matrix, ld, kind, stream):
    """Writes a matrix by columns, without changing the bytes between the columns."""
    rows, columns = matrix.shape
    flat = _first_elements(array, ld * (columns - 1) + rows, kind)
    host = read_contents(flat, stream) if rows != ld else np.empty(flat.size, kind)
    padded = np.zeros(ld * columns, np.dtype(kind))
    padded[: host.size] = host
    padded.reshape(columns, ld).T[:rows] = matrix
    flat._write(padded[: host.size], stream)


def _store_values(array, values, kind, stream):
    values = np.ascontiguousarray(values, kind)
    if values.size:
        _first_elements(array, values.size, kind)._write(values.ravel(), stream)


def _store_zero_sizes(stream, handle, *args):
    ctypes.c_size_t.from_address(args[-1]).value = 0
    ctypes.c_size_t.from_address(args[-2]).value = 0
    return 0


def _store_zero_size(stream, handle, *args):
    ctypes.c_int.from_address(args[-1]).value = 0
    return 0


Xgetrf_bufferSize = Xpotrf_bufferSize = Xgeqrf_bufferSize = _store_zero_sizes
Xsyevd_bufferSize = Xgesvd_bufferSize = Xgesvdp_bufferSize = Xgeev_bufferSize = _store_zero_sizes


def CreateParams(stream, out):
    ctypes.c_void_p.from_address(out).value = 1
    return 0


def DestroyParams(stream, number):
    return 0


# ----------------------------------------------------------------------------------------------- LU


def _factor_lu(a):
    """Computes LU in place with partial pivoting; returns (pivots from 1, info)"""
    n, info = a.shape[0], 0
    pivots = np.arange(1, n + 1)
    for k in range(n):
        size = np.abs(a[k:, k].real) + np.abs(a[k:, k].imag)
        found = k + int(np.argmax(np.where(np.isnan(size), -1, size)))
        pivots[k] = found + 1
        if found != k:
            a[[k, found]] = a[[found, k]]
        if a[k, k] == 0:
            info = info or k + 1
            continue
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return pivots, info


def _solve_with_factors(lu, pivots, b, operation):
    """Solves op(A) x = b for the factors A = P L U that _factor_lu returned; op by ``operation``: 0 identity, 1
    transpose, 2 adjoint."""
    n = lu.shape[0]
    lower, upper = np.tril(lu, -1) + np.eye(n, dtype=lu.dtype), np.triu(lu)
    order = np.arange(n)
    for k, pivot in enumerate(pivots):
        order[[k, pivot - 1]] = order[[pivot - 1, k]]
    with np.errstate(all="ignore"):
        if operation == 0:
            return _solve_triangular(upper, _solve_triangular(lower, b[order], False), True)
        if operation == 2:
            lower, upper = lower.conj(), upper.conj()
        x = np.empty_like(b)
        x[order] = _solve_triangular(lower.T, _solve_triangular(upper.T, b, False), True)
        return x


def _solve_triangular(a, b, backward):
    x = b.copy()
    rows = range(a.shape[0])
    for i in reversed(rows) if backward else rows:
        x[i] = (x[i] - (a[i, i + 1 :] @ x[i + 1 :] if backward else a[i, :i] @ x[:i])) / a[i, i]
    return x


def Xgetrf(
    stream, handle, params, m, n, kind, a, ld, pivots, compute, work, size, host, hsize, info
):
    kind = CHARACTERS[kind]
    matrix = _read_matrix(a, m, n, ld, kind, stream).copy()
    with np.errstate(all="ignore"):
        found, status = _factor_lu(matrix)
    _write_matrix(a, matrix, ld, kind, stream)
    _store_values(pivots, found, "i8", stream)
    _store_values(info, [status], "i4", stream)
    return 0


def Xgetrs(stream, handle, params, operation, n, columns, kind, a, ld, pivots, bkind, b, ldb, info):
    kind = CHARACTERS[kind]
    lu = _read_matrix(a, n, n, ld, kind, stream)
    order = _first_elements(pivots, n, "i8").copy_to_host(stream=stream)
    right = _read_matrix(b, n, columns, ldb, kind, stream).copy()
    _write_matrix(b, _solve_with_factors(lu, order, right, operation), ldb, kind, stream)
    _store_values(info, [0], "i4", stream)
    return 0


# ---------------------------------------------------------------------------------- the other factors


def Xpotrf(stream, handle, params, upper, n, kind, a, ld, compute, work, size, host, hsize, info):
    kind = CHARACTERS[kind]
    matrix = _read_matrix(a, n, n, ld, kind, stream).copy()
    status = 0
    try:
        lower = np.linalg.cholesky(matrix.conj().T if upper else matrix)
    except np.linalg.LinAlgError:
        status = 1
    else:
        keep = np.tri(n, dtype=bool)
        if upper:
            lower, keep = lower.conj().T, keep.T
        _write_matrix(a, np.where(keep, lower, matrix), ld, kind, stream)
    _store_values(info, [status], "i4", stream)
    return 0


def Xgeqrf(
    stream, handle, params, m, n, kind, a, ld, tkind, tau, compute, work, size, host, hsize, info
):
    kind = CHARACTERS[kind]
    reflectors, scales = np.linalg.qr(_read_matrix(a, m, n, ld, kind, stream), "raw")
    _write_matrix(a, reflectors.T, ld, kind, stream)
    _store_values(tau, scales, kind, stream)
    _store_values(info, [0], "i4", stream)
    return 0


def _gqr(kind):
    def multiply_by_q(stream, handle, m, n, k, a, ld, tau, work, size, info):
        reflectors = _read_matrix(a, m, n, ld, kind, stream)
        scales = _first_elements(tau, k, kind).copy_to_host(stream=stream)
        q = np.eye(m, n, dtype=kind)
        for i in reversed(range(k)):
            v = reflectors[i:, i].copy()
            v[0] = 1
            q[i:] -= scales[i] * np.outer(v, v.conj() @ q[i:])
        _write_matrix(a, q, ld, kind, stream)
        _store_values(info, [0], "i4", stream)
        return 0

    return multiply_by_q


Sorgqr, Dorgqr, Cungqr, Zungqr = map(_gqr, "fdFD")
Sorgqr_bufferSize = Dorgqr_bufferSize = Cungqr_bufferSize = Zungqr_bufferSize = _store_zero_size


def Xsyevd(stream, handle, params, vectors, upper, n, kind, a, ld, wkind, w, *rest):
    kind, info = CHARACTERS[kind], rest[-1]
    matrix = _read_matrix(a, n, n, ld, kind, stream)
    side = "U" if upper else "L"
    try:
        if vectors:
            values, matrix = np.linalg.eigh(matrix, side)
            _write_matrix(a, matrix, ld, kind, stream)
        else:
            values = np.linalg.eigvalsh(matrix, side)
        status = 0
    except np.linalg.LinAlgError:
        values, status = np.full(n, np.nan), 1
    _store_values(w, values, CHARACTERS[wkind], stream)
    _store_values(info, [status], "i4", stream)
    return 0


def Xgeev(
    stream,
    handle,
    params,
    left,
    right,
    n,
    kind,
    a,
    ld,
    wkind,
    w,
    lkind,
    vl,
    ldl,
    vkind,
    v,
    ldv,
    *rest,
):
    kind, info = CHARACTERS[kind], rest[-1]
    if left:
        return 3  # CUSOLVER_STATUS_INVALID_VALUE
    try:
        values, vectors = np.linalg.eig(_read_matrix(a, n, n, ld, kind, stream))
        if kind in "fd":  # a conjugate pair's two columns: real parts, then imaginary parts
            behind = np.flatnonzero(values.imag < 0)
            columns = vectors.real.copy()
            columns[:, behind] = vectors.imag[:, behind - 1]
            vectors = columns
        if right:
            _write_matrix(v, vectors, ldv, kind, stream)
        status = 0
    except np.linalg.LinAlgError:
        values, status = np.full(n, np.nan), 1
    _store_values(w, values, CHARACTERS[wkind], stream)
    _store_values(info, [status], "i4", stream)
    return 0


def Xgesvdp(
    stream, handle, params, vectors, economy, m, n, kind, a, ld, skind, s, ukind, u, ldu, vkind, v, ldv, *rest
):  # fmt: skip
    """Like cuSOLVER, this function perturbs matrices that are nearly singular, and reports the size of the
    perturbation."""
    letter, info, perturbed = CHARACTERS[kind], rest[-2], rest[-1]
    matrix = _read_matrix(a, m, n, ld, letter, stream)
    status = error = 0
    try:
        least = np.linalg.svd(matrix, compute_uv=False)[-1]
        if least < np.finfo(matrix.dtype).eps:
            error = 1e-2
            matrix = matrix + error * np.eye(m, n, dtype=matrix.dtype)
        left, values, right = np.linalg.svd(matrix, full_matrices=not economy)
        _write_matrix(u, left, ldu, letter, stream)
        _write_matrix(v, right.conj().T, ldv, letter, stream)
        _store_values(s, values, CHARACTERS[skind], stream)
    except np.linalg.LinAlgError:
        status = 1
    ctypes.c_double.from_address(perturbed).value = error
    _store_values(info, [status], "i4", stream)
    return 0


def Xgesvd(
    stream,
    handle,
    params,
    jobu,
    jobv,
    m,
    n,
    kind,
    a,
    ld,
    skind,
    s,
    ukind,
    u,
    ldu,
    vkind,
    v,
    ldv,
    *rest,
):
    kind, info = CHARACTERS[kind], rest[-1]
    if m < n:
        return 3  # CUSOLVER_STATUS_INVALID_VALUE
    matrix = _read_matrix(a, m, n, ld, kind, stream)
    status = 0
    try:
        if jobu == ord("N"):
            values = np.linalg.svd(matrix, compute_uv=False)
        else:
            left, values, right = np.linalg.svd(matrix, full_matrices=jobu == ord("A"))
            _write_matrix(u, left, ldu, kind, stream)
            _write_matrix(v, right, ldv, kind, stream)
    except np.linalg.LinAlgError:
        values, status = np.full(n, np.nan), 1
    _store_values(s, values, CHARACTERS[skind], stream)
    _store_values(info, [status], "i4", stream)
    return 0


# ------------------------------------------------------------------------------------ many small ones


def _array_at(address, shape, strides, kind):
    """Returns a device array over an address from an array of addresses, which is the argument of a batched
    function."""
    return _core.from_pointer(int(address), shape, strides, np.dtype(kind))


def _addresses(address, count, stream):
    return _array_at(address, (count,), None, "u8").copy_to_host(stream=stream)


def _matrix_at(address, rows, columns, ld, kind, stream):
    array = _array_at(address, (ld * (columns - 1) + rows,), None, kind)
    return array, _read_matrix(array, rows, columns, ld, kind, stream).copy()


def _getrf_batched(kind):
    def getrf(stream, handle, n, addresses, ld, pivots, infos, count):
        places, states = [], []
        for address in _addresses(addresses, count, stream):
            array, matrix = _matrix_at(address, n, n, ld, kind, stream)
            with np.errstate(all="ignore"):
                found, status = _factor_lu(matrix)
            _write_matrix(array, matrix, ld, kind, stream)
            places.append(found)
            states.append(status)
        _store_values(pivots, places, "i4", stream)
        _store_values(infos, states, "i4", stream)
        return 0

    return getrf


def _getrs_batched(kind):
    def getrs(stream, handle, operation, n, columns, lus, ld, pivots, rights, ldb, info, count):
        orders = (
            _first_elements(pivots, n * count, "i4").copy_to_host(stream=stream).reshape(count, n)
        )
        both = zip(_addresses(lus, count, stream), _addresses(rights, count, stream), orders)
        for lu, right, order in both:
            _, lu = _matrix_at(lu, n, n, ld, kind, stream)
            array, b = _matrix_at(right, n, columns, ldb, kind, stream)
            _write_matrix(array, _solve_with_factors(lu, order, b, operation), ldb, kind, stream)
        ctypes.c_int.from_address(info).value = 0
        return 0

    return getrs


def _matinv_batched(kind):
    def matinv(stream, handle, n, addresses, ld, inverses, ldi, infos, count):
        states = []
        both = zip(_addresses(addresses, count, stream), _addresses(inverses, count, stream))
        for source, target in both:
            _, matrix = _matrix_at(source, n, n, ld, kind, stream)
            array, made = _matrix_at(target, n, n, ldi, kind, stream)
            with np.errstate(all="ignore"):
                states.append(_factor_lu(matrix.copy())[1])
                made = made if states[-1] else np.linalg.inv(matrix)
            _write_matrix(array, made, ldi, kind, stream)
        _store_values(infos, states, "i4", stream)
        return 0

    return matinv


SmatinvBatched, DmatinvBatched, CmatinvBatched, ZmatinvBatched = map(_matinv_batched, "fdFD")
SgetrfBatched, DgetrfBatched, CgetrfBatched, ZgetrfBatched = map(_getrf_batched, "fdFD")
SgetrsBatched, DgetrsBatched, CgetrsBatched, ZgetrsBatched = map(_getrs_batched, "fdFD")


def _split_batch(array, count, size, kind):
    """Splits a packed batch into matrices of `size` elements each."""
    flat = _first_elements(array, count * size, kind)
    return [flat[i * size : (i + 1) * size] for i in range(count)]


def XsyevBatched(stream, handle, params, vectors, upper, n, kind, a, ld, wkind, w, *rest):
    info, count = rest[-2:]
    real, letter = CHARACTERS[wkind], CHARACTERS[kind]
    pieces = zip(
        _split_batch(a, count, ld * n, letter),
        _split_batch(w, count, n, real),
        _split_batch(info, count, 1, "i4"),
    )
    for matrix, values, status in pieces:
        Xsyevd(stream, handle, params, vectors, upper, n, kind, matrix, ld, wkind, values, status)
    return 0


def XsyevBatched_bufferSize(stream, handle, *args):
    return _store_zero_sizes(stream, handle, *args[:-1])


def _potrf_batched(kind):
    code = {letter: number for number, letter in CHARACTERS.items()}[kind]

    def potrf(stream, handle, upper, n, addresses, ld, infos, count):
        places = _addresses(addresses, count, stream)
        for address, info in zip(places, _split_batch(infos, count, 1, "i4")):
            array = _array_at(address, (ld * (n - 1) + n,), None, kind)
            Xpotrf(stream, handle, 0, upper, n, code, array, ld, code, None, 0, 0, 0, info)
        return 0

    return potrf


SpotrfBatched, DpotrfBatched, CpotrfBatched, ZpotrfBatched = map(_potrf_batched, "fdFD")


def _evj_batched(kind):
    codes = {letter: number for number, letter in CHARACTERS.items()}

    def evj(stream, handle, vectors, upper, n, a, ld, w, work, size, infos, params, count):
        code, real = codes[kind], codes[kind.lower()]
        args = (stream, handle, 0, vectors, upper, n, code, a, ld, real, w, infos, count)
        return XsyevBatched(*args)

    return evj


SsyevjBatched, DsyevjBatched, CheevjBatched, ZheevjBatched = map(_evj_batched, "fdFD")


def _gesvdj_batched(kind):
    def gesvdj(
        stream, handle, vectors, m, n, a, ld, s, u, ldu, v, ldv, work, size, info, params, count
    ):
        least, states = min(m, n), []
        for i in range(count):
            matrix = _read_matrix(_split_batch(a, count, ld * n, kind)[i], m, n, ld, kind, stream)
            try:
                left, values, right = np.linalg.svd(matrix)
            except np.linalg.LinAlgError:
                states.append(least + 1)
                continue
            states.append(0)
            _store_values(
                _split_batch(s, count, least, kind.lower())[i], values, kind.lower(), stream
            )
            if vectors:
                _write_matrix(_split_batch(u, count, ldu * m, kind)[i], left, ldu, kind, stream)
                _write_matrix(
                    _split_batch(v, count, ldv * n, kind)[i], right.conj().T, ldv, kind, stream
                )
        _store_values(info, states, "i4", stream)
        return 0

    return gesvdj


SgesvdjBatched, DgesvdjBatched, CgesvdjBatched, ZgesvdjBatched = map(_gesvdj_batched, "fdFD")


def _gesvdj_size(stream, handle, *args):
    return _store_zero_size(stream, handle, *args[:-2])


SgesvdjBatched_bufferSize = DgesvdjBatched_bufferSize = _gesvdj_size
CgesvdjBatched_bufferSize = ZgesvdjBatched_bufferSize = _gesvdj_size
SsyevjBatched_bufferSize = DsyevjBatched_bufferSize = _gesvdj_size
CheevjBatched_bufferSize = ZheevjBatched_bufferSize = _gesvdj_size
CreateSyevjInfo = CreateGesvdjInfo = CreateParams
DestroySyevjInfo = DestroyGesvdjInfo = DestroyParams
