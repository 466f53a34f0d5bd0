"""Kernels over sparse arrays by rows: a thread takes a row. Columns in a row are sorted where two arrays are
merged. Each works for any dtype of values and of indices."""

from __future__ import annotations

from numbalite.kernels.decorators import jit


@jit
def check(indptr, indices, columns, bad):
    """
    long long i = grid<1>(), rows = indptr.size() - 1, count = indices.size();
    if (i == 0 && (indptr[0] != 0 || indptr[rows] != count)) bad[0] = 1;
    if (i < rows && indptr[i] > indptr[i + 1]) bad[0] = 1;
    if (i < count && (indices[i] < 0 || indices[i] >= columns)) bad[0] = 2;
    """


@jit
def count_dense(dense, counts):
    """
    long long i = grid<1>(), found = 0;
    if (i >= dense.shape[0]) return;
    for (long long j = 0; j < dense.shape[1]; ++j) {
        auto value = dense(i, j);
        found += value != decltype(value)(0);
    }
    counts[i + 1] = found;
    """


@jit
def take_dense(dense, indptr, indices, data):
    """
    long long i = grid<1>();
    if (i >= dense.shape[0]) return;
    long long to = indptr[i];
    for (long long j = 0; j < dense.shape[1]; ++j) {
        auto value = dense(i, j);
        if (value != decltype(value)(0)) {
            indices[to] = j;
            data[to++] = value;
        }
    }
    """


@jit
def put_dense(data, indices, indptr, dense):
    """
    long long i = grid<1>();
    if (i >= dense.shape[0]) return;
    for (long long k = indptr[i]; k < indptr[i + 1]; ++k)
        dense(i, indices[k]) = dense(i, indices[k]) + data[k];
    """


@jit
def rows_of(indptr, rows):
    """
    long long i = grid<1>();
    if (i < indptr.size() - 1)
        for (long long k = indptr[i]; k < indptr[i + 1]; ++k) rows[k] = i;
    """


@jit
def take(values, order, taken):
    "long long i = grid<1>(); if (i < taken.size()) taken[i] = values[order[i]];"


@jit
def diagonal(data, indices, indptr, offset, first, values):
    """
    long long i = grid<1>();
    if (i >= values.size()) return;
    long long row = i + first;
    for (long long k = indptr[row]; k < indptr[row + 1]; ++k)
        if (indices[k] == row + offset) values[i] = values[i] + data[k];
    """


@jit
def times_dense(data, indices, indptr, dense, out):
    """
    long long i = grid<1>();
    if (i < indptr.size() - 1)
        for (long long k = indptr[i]; k < indptr[i + 1]; ++k)
            out[k] = data[k] * dense(i, indices[k]);
    """


@jit
def count_unique(indices, indptr, counts):
    """
    long long i = grid<1>(), found = 0;
    if (i >= indptr.size() - 1) return;
    for (long long k = indptr[i]; k < indptr[i + 1]; ++k)
        found += k == indptr[i] || indices[k] != indices[k - 1];
    counts[i + 1] = found;
    """


@jit
def add_duplicates(data, indices, indptr, new_indptr, new_indices, new_data):
    """
    long long i = grid<1>();
    if (i >= indptr.size() - 1) return;
    long long to = new_indptr[i] - 1;
    for (long long k = indptr[i]; k < indptr[i + 1]; ++k) {
        if (k == indptr[i] || indices[k] != indices[k - 1]) {
            new_indices[++to] = indices[k];
            new_data[to] = data[k];
        } else
            new_data[to] = new_data[to] + data[k];
    }
    """


ADD, SUBTRACT, MULTIPLY = range(3)


@jit
def count_merged(a_indices, a_indptr, b_indices, b_indptr, both_only, counts):
    """
    long long i = grid<1>(), found = 0;
    if (i >= a_indptr.size() - 1) return;
    long long j = a_indptr[i], k = b_indptr[i], a_end = a_indptr[i + 1], b_end = b_indptr[i + 1];
    while (j < a_end || k < b_end) {
        bool a = j < a_end && (k >= b_end || a_indices[j] <= b_indices[k]);
        bool b = k < b_end && (j >= a_end || b_indices[k] <= a_indices[j]);
        found += !both_only || (a && b);
        j += a;
        k += b;
    }
    counts[i + 1] = found;
    """


@jit
def merge(
    a_data, a_indices, a_indptr, b_data, b_indices, b_indptr, operation, indptr, indices, data
):
    """
    long long i = grid<1>();
    if (i >= a_indptr.size() - 1) return;
    long long j = a_indptr[i], k = b_indptr[i], a_end = a_indptr[i + 1], b_end = b_indptr[i + 1];
    long long to = indptr[i];
    while (j < a_end || k < b_end) {
        bool a = j < a_end && (k >= b_end || a_indices[j] <= b_indices[k]);
        bool b = k < b_end && (j >= a_end || b_indices[k] <= a_indices[j]);
        auto x = a ? a_data[j] : decltype(a_data[0] + a_data[0])(0);
        auto y = b ? b_data[k] : decltype(b_data[0] + b_data[0])(0);
        if (operation != 2 || (a && b)) {
            indices[to] = a ? a_indices[j] : b_indices[k];
            data[to++] = operation == 0 ? x + y : operation == 1 ? x - y : x * y;
        }
        j += a;
        k += b;
    }
    """
