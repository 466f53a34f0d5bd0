"""Compares `d.flat` with numpy.ndarray.flat."""

import numpy as np
import pytest
from kit.likenumpy import assert_equal_results, assert_same_result, to_device

from numbalite import cuda

HOSTS = [
    np.arange(6).reshape(2, 3),
    np.arange(24.0).reshape(4, 6)[::2, ::2],
    np.arange(6).reshape(3, 2).T,
]
KEYS = [9, slice(None), slice(1, 5, 2), slice(None, None, -1), [0, 5], (1, 2), None, np.array([3, 1]),
        np.arange(6) % 2 == 0, ...]  # fmt: skip
VALUES = [9, [1, 2], np.arange(12), [], np.arange(6).reshape(2, 3) + 7, 1.7]


@pytest.mark.parametrize("host", HOSTS, ids=str)
def test_reading_flat_matches_numpy(host):
    for key in KEYS:
        assert_same_result(lambda a, key: a.flat[key], host, key)
    d = to_device(host)
    assert (d.flat[1], d.flat[-1]) == (host.flat[1], host.flat[-1])
    assert len(d.flat) == 6 and [int(x) for x in d.flat] == host.ravel().tolist()
    np.testing.assert_array_equal(np.asarray(d.flat), host.ravel())
    assert_equal_results(d.flat.copy(), host.flat.copy())
    assert d.flat.base is d
    d.flat[:][...] = 7  # a copy
    assert_equal_results(d, host)


@pytest.mark.parametrize("host", HOSTS, ids=str)
def test_comparing_and_iterating_flat_matches_numpy(host):
    assert_same_result(lambda a: a.flat == 3, host)
    assert_same_result(lambda a, b: a.flat < b, host, host.ravel()[::-1])
    elements = to_device(host).flat
    assert [next(elements), next(elements)] == host.ravel()[:2].tolist()
    assert [int(x) for x in elements] == host.ravel()[2:].tolist() and not list(elements)
    elements[0] = elements[0]
    assert len(list(elements)) == 6


@pytest.mark.parametrize("host", HOSTS, ids=str)
def test_assigning_to_flat_matches_numpy(host):
    def assign_flat(a, key, value):
        made = a.copy()
        made.flat[key] = value
        return made

    def replace_flat(a, value):
        made = a.copy()[:, ::-1]
        made.flat = value
        return made

    for value in VALUES:
        for key in (slice(0, 4), [0, 1], np.arange(6) > 2, np.array([5, 0, 2]), 0, ..., (0, 1)):
            if type(key) is int and np.size(value) == 0:
                continue  # NumPy reads past the end
            assert_same_result(assign_flat, host, key, value)
        assert_same_result(replace_flat, host, value)


def test_flat_with_a_step_sets_the_diagonal():
    d = cuda.zeros((3, 3))
    d.flat[::4] = 1
    assert_equal_results(d, np.eye(3))
