"""Kernels for sparse arrays. In these kernels, a thread processes one row, or one element if the elements of
a row are independent, or several elements of one or more rows (`merge_rows`).

Kernels that merge two arrays require sorted columns in each row. All kernels support any dtype of values and indices."""

from __future__ import annotations

from numbalite.kernels.decorators import jit


@jit
def check_compressed_rows(indptr, indices, columns, bad):
    """
    long long i = grid<1>(), rows = indptr.size() - 1, count = indices.size();
    if (i == 0 && (indptr[0] != 0 || indptr[rows] != count)) bad[0] = 1;
    if (i < rows && indptr[i] > indptr[i + 1]) bad[0] = 1;
    if (i < count && (indices[i] < 0 || indices[i] >= columns)) bad[0] = 2;
    """


@jit(device=True)
def count_below(sorted, begin, end, wanted):
    """
    long long low = begin, high = end;
    while (low < high) {
        long long middle = low + (high - low) / 2;
        if (sorted[middle] < wanted) low = middle + 1;
        else high = middle;
    }
    return low;
    """


@jit
def split_flat_positions(dense, places, indices, data, indptr):
    """
    long long i = grid<1>(), count = places.size(), columns = dense.shape[1];
    if (i < count) {
        indices[i] = places[i] % columns;
        data[i] = dense(places[i] / columns, places[i] % columns);
    }
    if (i < indptr.size()) indptr[i] = count_below(places, 0, count, i * columns);
    """


@jit
def combine_indices(lines, indices, length, keys):
    "long long i = grid<1>(); if (i < keys.size()) keys[i] = lines[i] * (long long)length + indices[i];"


@jit
def split_keys(keys, length, indices, indptr):
    """
    long long i = grid<1>(), count = keys.size();
    if (i < count) indices[i] = keys[i] % length;
    if (i < indptr.size()) indptr[i] = count_below(keys, 0, count, i * length);
    """


@jit
def add_to_dense_rows(data, indices, indptr, dense):
    """
    long long i = grid<1>();
    if (i >= dense.shape[0]) return;
    for (long long k = indptr[i]; k < indptr[i + 1]; ++k)
        dense(i, indices[k]) = dense(i, indices[k]) + data[k];
    """


@jit
def put_elements(data, rows, columns, dense):
    """
    long long k = grid<1>();
    if (k < data.size()) dense(rows[k], columns[k]) = dense(rows[k], columns[k]) + data[k];
    """


@jit
def store_row_numbers(indptr, rows):
    """
    long long k = grid<1>();
    if (k < rows.size()) rows[k] = count_below(indptr, 0, indptr.size(), k + 1) - 1;
    """


@jit
def take_values(values, order, taken):
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
def copy_sampled_elements(dense, rows, columns, picked):
    "long long i = grid<1>(); if (i < picked.size()) picked[i] = dense(rows[i], columns[i]);"


@jit
def gather_rows(data, indices, indptr, lines, new_indptr, new_indices, new_data):
    """
    long long k = grid<1>();
    if (k >= new_data.size()) return;
    long long line = count_below(new_indptr, 0, new_indptr.size(), k + 1) - 1;
    long long from = indptr[lines[line]] + k - new_indptr[line];
    new_indices[k] = indices[from];
    new_data[k] = data[from];
    """


@jit
def renumber_slice(indices, start, step, count, renumbered, mask):
    """
    long long i = grid<1>();
    if (i >= indices.size()) return;
    long long number = (indices[i] - start) / step;
    mask[i] = number >= 0 && number < count && start + number * step == indices[i];
    renumbered[i] = number;
    """


@jit
def sample_elements(data, indices, indptr, is_sorted, rows, columns, values):
    """
    long long i = grid<1>();
    if (i >= values.size()) return;
    long long column = columns[i], k = indptr[rows[i]], end = indptr[rows[i] + 1];
    if (is_sorted) k = count_below(indices, k, end, column);
    for (; k < end && !(is_sorted && indices[k] != column); ++k)
        if (indices[k] == column) values[i] = values[i] + data[k];
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


ADD, SUBTRACT, MULTIPLY, MAXIMUM, MINIMUM, NOT_EQUAL, LESS, GREATER = range(8)


@jit(device=True)
def row_of_merge_position(a_indptr, b_indptr, position, first):
    """
    long long low = first, high = a_indptr.size() - 1;
    while (high - low > 1) {
        long long middle = low + (high - low) / 2;
        if (a_indptr[middle] + b_indptr[middle] <= position) low = middle;
        else high = middle;
    }
    return low;
    """


@jit
def merge_rows(
    a_data,
    a_indices,
    a_indptr,
    b_data,
    b_indices,
    b_indptr,
    operation,
    zero,
    each,
    writes,
    counts_of_rows,
    ends,
    indices,
    data,
):
    """
    // Merge path (Green, McColl and Bader, 2012) over all rows: each thread merges `each` stored elements.
    long long t = grid<1>(), rows = a_indptr.size() - 1, position = t * each;
    long long end = min(position + each, (long long)(a_indptr[rows] + b_indptr[rows]));
    if (!writes && t < ends.size()) ends[t] = 0;
    if (position >= end) return;
    long long i = row_of_merge_position(a_indptr, b_indptr, position, 0);
    long long j = a_indptr[i], k = b_indptr[i], a_end = a_indptr[i + 1], b_end = b_indptr[i + 1];
    long long skipped = position - j - k, low = max(0ll, skipped - (b_end - k)), high = min(skipped, a_end - j);
    while (low < high) {
        long long middle = low + (high - low) / 2;
        if (a_indices[j + middle] <= b_indices[k + skipped - middle - 1]) low = middle + 1;
        else high = middle;
    }
    j += low;
    k += skipped - low;
    if (low > 0 && k < b_end && a_indices[j - 1] == b_indices[k]) {  // the thread before merges this pair
        ++k;
        ++position;
    }
    long long to = writes && t > 0 ? ends[t - 1] : 0, first = to, first_of_row = to;
    while (position < end) {
        if (j == a_end && k == b_end) {
            if (!writes && to > first_of_row) atomic_add(counts_of_rows, i + 1, to - first_of_row);
            first_of_row = to;
            ++i;
            if (a_indptr[i + 1] + b_indptr[i + 1] <= position) i = row_of_merge_position(a_indptr, b_indptr, position, i);
            a_end = a_indptr[i + 1];
            b_end = b_indptr[i + 1];
        }
        bool a = j < a_end && (k >= b_end || a_indices[j] <= b_indices[k]);
        bool b = k < b_end && (j >= a_end || b_indices[k] <= a_indices[j]);
        auto x = a ? a_data[j] : zero, y = b ? b_data[k] : zero, value = zero;
        switch (operation) {
        case 0: value = x + y; break;
        case 1: value = x - y; break;
        case 2: value = x * y; break;
        case 3: value = np_maximum(x, y); break;
        case 4: value = np_minimum(x, y); break;
        case 5: value = decltype(value)(!np_equal(x, y)); break;
        case 6: value = decltype(value)(np_less(x, y)); break;
        default: value = decltype(value)(np_less(y, x));
        }
        if (value != zero) {
            if (writes) {
                indices[to] = a ? a_indices[j] : b_indices[k];
                data[to] = value;
            }
            ++to;
        }
        j += a;
        k += b;
        position += a + b;
    }
    if (writes) return;
    if (to > first_of_row) atomic_add(counts_of_rows, i + 1, to - first_of_row);
    ends[t] = to - first;
    """


@jit
def find_extreme_of_rows(data, indices, indptr, length, is_largest, zero, places, values):
    """
    long long i = grid<1>();
    if (i >= places.size()) return;
    long long k = indptr[i], end = indptr[i + 1], hole = 0, place = -1;
    auto best = zero;
    for (; k < end; ++k) {
        auto value = data[k];
        hole += indices[k] == hole;
        if (place >= 0 && best != best) continue;
        bool is_better = value != value || (is_largest ? np_less(best, value) : np_less(value, best));
        if (place < 0 || is_better) {
            best = value;
            place = indices[k];
        }
    }
    if (hole < length && best == best) {
        bool is_better = is_largest ? np_less(best, zero) : np_less(zero, best);
        if (place < 0 || is_better || (best == zero && hole < place)) {
            best = zero;
            place = hole;
        }
    }
    places[i] = place;
    values[i] = best;
    """


@jit
def extremes(data, indptr, length, is_largest, skips_nan, only_stored, zero, values):
    """
    long long i = grid<1>();
    if (i >= values.size()) return;
    long long k = indptr[i], end = indptr[i + 1];
    bool has_one = !only_stored && end - k < length;
    auto found = zero;
    for (; k < end; ++k, has_one = true) {
        auto x = data[k];
        if (!has_one) found = x;
        else if (skips_nan) found = is_largest ? np_fmax(found, x) : np_fmin(found, x);
        else found = is_largest ? np_maximum(found, x) : np_minimum(found, x);
    }
    values[i] = found;
    """


@jit
def split_diagonals(diagonals, offsets, order, columns, zero, writes, indptr, indices, data):
    """
    long long i = grid<1>();
    if (i >= indptr.size() - 1) return;
    long long to = writes ? indptr[i] : 0;
    for (long long k = 0; k < offsets.size(); ++k) {
        long long column = i + offsets[k];
        if (column < 0 || column >= columns || column >= diagonals.shape[1]) continue;
        auto value = diagonals(order[k], column);
        if (value == zero) continue;
        if (writes) {
            indices[to] = column;
            data[to] = value;
        }
        ++to;
    }
    if (!writes) indptr[i + 1] = to;
    """


@jit
def shift_diagonals(diagonals, offsets, columns, zero, shifted):
    """
    long long i = grid<1>();
    if (i >= shifted.size()) return;
    long long k = i / shifted.shape[1], row = i % shifted.shape[1], column = row + offsets[k];
    bool is_inside = column >= 0 && column < columns && column < diagonals.shape[1];
    shifted(k, row) = is_inside ? diagonals(k, column) : zero;
    """


@jit
def store_elements(data, rows, columns, dense):
    "long long i = grid<1>(); if (i < data.size()) dense(rows[i], columns[i]) = data[i];"


@jit
def multiply_diagonals(diagonals, offsets, length, dense, zero, product):
    """
    long long i = grid<1>();
    if (i >= product.size()) return;
    long long row = i / product.shape[1], column = i % product.shape[1];
    auto sum = zero;
    for (long long k = 0; k < offsets.size(); ++k) {
        long long j = row + offsets[k];
        if (j >= 0 && j < length) sum = sum + diagonals(k, j) * dense(j, column);
    }
    product(row, column) = sum;
    """


@jit
def multiply_rows(data, indices, indptr, dense, zero, product):
    """
    long long i = grid<1>();
    if (i >= product.size()) return;
    long long row = i / product.shape[1], column = i % product.shape[1];
    auto sum = zero;
    for (long long k = indptr[row]; k < indptr[row + 1]; ++k)
        sum = sum + data[k] * dense(indices[k], column);
    product(row, column) = sum;
    """
