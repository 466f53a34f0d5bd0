"""Tests random sizes, places and bounds."""

import numpy as np
import pytest

from numbalite import cuda

pytest.importorskip("hypothesis")
from hypothesis import given, settings
from hypothesis import strategies as st

default_rng, Philox4x32 = cuda.random.default_rng, cuda.random.Philox4x32
few = settings(max_examples=25, deadline=None, derandomize=True)
KEYS = st.integers(0, 2**64 - 1)
COUNTERS = st.one_of(st.integers(0, 2**128 - 1), st.sampled_from([2**64 - 1, 2**128 - 1]))


@few
@given(KEYS, COUNTERS, st.integers(0, 1100), st.integers(0, 9), st.integers(0, 300))
def test_partial_draws_equal_parts_of_one_draw(key, counter, n, offset, block):
    """A slice of random numbers equals the same slice of a longer array, for any size, memory offset,
    and position in the random stream."""
    whole = default_rng(Philox4x32(key=key, counter=counter)).random(2400, dtype=np.float32)
    rng = default_rng(Philox4x32(key=key, counter=counter))
    rng.bit_generator.advance(block)
    memory = cuda.to_device(np.full(n + offset + 4, -1, np.float32))
    rng.random(out=memory[offset : offset + n])
    made = memory.copy_to_host()
    expected = whole.copy_to_host()[4 * block : 4 * block + n]
    assert np.array_equal(made[offset : offset + n], expected)
    assert (made[:offset] == -1).all() and (made[offset + n :] == -1).all()
    assert rng.bit_generator.state["state"]["counter"] == (counter + block + -(-n // 4)) % 2**128


@few
@given(KEYS, st.sampled_from(["int8", "uint16", "int64", "uint64"]), st.data())
def test_integers_stay_within_their_bounds(key, name, data):
    """Bounds are numbers or arrays; the random words are those of Lemire's method, of its first attempt if it
    is accepted."""
    dtype = np.dtype(name)
    info = np.iinfo(dtype)
    bounds = st.integers(int(info.min), int(info.max))
    low, high = sorted([data.draw(bounds), data.draw(bounds)])
    made = default_rng(Philox4x32(key=key)).integers(low, high, 33, dtype, endpoint=True)
    made = made.copy_to_host()
    assert made.dtype == dtype and int(made.min()) >= low and int(made.max()) <= high
    limits = np.array([[low, low], [low, high]], dtype)
    pairs = default_rng(Philox4x32(key=key)).integers(*limits, (17, 2), dtype, endpoint=True)
    pairs = pairs.copy_to_host()
    assert (pairs[:, 0] == low).all()
    assert int(pairs[:, 1].min()) >= low and int(pairs[:, 1].max()) <= high
    bits = 64 if dtype.itemsize == 8 else 32
    kind = np.uint64 if bits == 64 else np.uint32
    words = default_rng(Philox4x32(key=key)).integers(0, 2**bits, 33, kind).copy_to_host()
    count = high - low + 1
    for word, number in zip(words.tolist(), made.tolist(), strict=True):
        product = word * count
        if product % 2**bits >= count:  # surely not rejected
            assert number == low + (product >> bits)


@few
@given(KEYS, st.integers(1, 3000), st.data())
def test_choice_without_replacement_has_no_duplicates(key, n, data):
    m = data.draw(st.integers(0, n))
    made = default_rng(Philox4x32(key=key)).choice(n, m, replace=False).copy_to_host()
    assert np.unique(made).size == m and ((made >= 0) & (made < n)).all()
    order = default_rng(Philox4x32(key=key)).permutation(n).copy_to_host()
    assert np.array_equal(made, order[:m])
