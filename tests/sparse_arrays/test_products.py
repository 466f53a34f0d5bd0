"""Tests sparse products of integers and booleans, with SciPy as the oracle."""

import pytest
from kit.likescipy import check_expressions

INTEGERS = """
A @ B.T
A.T @ B
A @ np.ones(A.shape[1], 'i2')
A @ np.ones((A.shape[1], 2), '?')
np.arange(A.shape[0]) @ A
np.ones((2, A.shape[0]), 'i4') @ A
A.dot(A[0])
"""


@pytest.mark.parametrize("dtype", ["i4", "u1", "?", "i8"])
def test_integer_products_match_scipy(dtype):
    check_expressions(INTEGERS, 1, [dtype])
