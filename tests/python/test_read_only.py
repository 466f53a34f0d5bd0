"""Arrays from which a kernel only reads are const: they are not copied back and may share memory."""

import numpy as np
import pytest

from numbalite import cuda


@cuda.jit
def product(a, b, out):
    i, j = cuda.grid(2)
    if i < out.shape[0] and j < out.shape[1]:
        total = 0.0
        for k in range(len(b)):
            total += a[i][k] * b[k, j]
        out[i, j] = total


@cuda.jit(device=True)
def store_element(a, i, v):
    a[i] = v


@cuda.jit
def write_and_read(a, b, c, d, e, seen):
    i = cuda.grid(1)
    if i < a.size:
        a[i] += 1
        store_element(b, i, 2)
        row = c[i]
        row[0] = 3
        cuda.atomic.add(d, i, 4)
        e[i, :][0] = 5
        seen[i] = a[i] + b[i]


def test_read_only_inputs_may_overlap():
    a = np.arange(16.0).reshape(4, 4)
    out = np.zeros((4, 4))
    a.flags.writeable = False
    product[1, (4, 4)](a, a.T, out)
    np.testing.assert_allclose(out, a @ a.T)
    (text,) = product.inspect_source().values()
    assert "array<const double, 2, layout::C> a" in text
    assert "array<const double, 2, layout::F> b" in text
    assert "array<double, 2, layout::C> out" in text


def test_writable_arrays_are_copied_back():
    a, b, d, seen = (np.zeros(3, np.int64) for _ in range(4))
    c, e = np.zeros((3, 2), np.int64), np.zeros((3, 2), np.int64)
    write_and_read[1, 3](a, b, c, d, e, seen)
    assert (a == 1).all() and (b == 2).all() and (c[:, 0] == 3).all() and (d == 4).all()
    assert (e[:, 0] == 5).all() and (seen == 3).all()
    a.flags.writeable = False
    with pytest.raises(ValueError, match="parameter 1 'a': .* read-only"):
        write_and_read[1, 3](a, b, c, d, e, seen)
