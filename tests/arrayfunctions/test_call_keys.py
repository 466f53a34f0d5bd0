"""Tests the keys of recorded calls (_core.Traced): a call can be reconstructed from its key, so two
different calls never have equal keys."""

import random
import struct

import numpy as np
import pytest

from numbalite import _core, cuda

SAME = 255
CONSTANTS = [None, True, False, Ellipsis, np._NoValue, int, float, str]
DTYPES = [np.dtype(code) for code in "?bBhHiIqQefdFD"]
BASE = cuda.to_device(np.zeros(4096, "u1"))


class CacheKeyDecoder:
    """Reads a key. The method `read` depends only on the bytes of the key."""

    def __init__(self, key):
        self.key, self.at = key, 0

    def read_values(self, form):
        values = struct.unpack_from("<" + form, self.key, self.at)
        self.at += struct.calcsize("<" + form)
        return values if len(values) > 1 else values[0]

    def read_text(self):
        size = self.read_values("q")
        self.at += size
        return self.key[self.at - size : self.at]

    def read_array(self):
        dtype, is_target, is_bound, low, ndim, device = self.read_values("6B")
        shape = self.read_values(f"{2 * ndim}q") if ndim else ()
        count = self.read_values("B")
        meets = ("same", self.read_values("B")) if count == SAME else None
        if meets is None:
            meets = tuple(self.read_values("Bq") for _ in range(count))
        return "a", dtype, is_target, is_bound, low, device, shape, meets

    def read_value(self):
        tag = self.read_values("c")
        if tag == b"a":
            return self.read_array()
        if tag == b"s":
            return "s", self.read_text()
        if tag in b"tl":
            return tag, tuple(self.read_value() for _ in range(self.read_values("q")))
        if tag == b":":
            return ":", self.read_value(), self.read_value(), self.read_value()
        if tag == b"n":
            return "n", self.read_values("q"), self.read_values("16s")
        assert tag in b"oifd", tag
        return tag, self.read_values("q")

    def read_call(self):
        items = []
        while self.key[self.at : self.at + 1] not in (b"|", b"="):
            items.append(self.read_value())
        while self.key[self.at : self.at + 1] == b"=":
            self.at += 1
            items.append(("=", self.read_text(), self.read_value()))
        items.append(self.read_values("cq"))
        assert self.at == len(self.key)
        return tuple(items)


def cache_key_of_call(*args, **keywords):
    """Returns the key that the first run of a call stores, or None if the call has no key."""
    function = _core.Traced(lambda *args, **keywords: None)
    function(*args, **keywords)
    return next(iter(function._traces), None)


def drawn_array(rng):
    dtype = rng.choice(DTYPES[:3])
    begin = rng.randrange(0, 200)
    part = BASE[begin : begin + rng.choice([1, 2, 17, 100])]
    if rng.random() < 0.3 and part.size % 2 == 0:
        part = part.reshape(2, -1)
    return part if dtype == np.uint8 else part.view(dtype)


def draw_value(rng, arrays, depth=0):
    """Returns a value; small integers are as likely as distances between arrays, and texts contain
    tags."""
    kind = rng.randrange(8 if depth == 3 else 10)
    if kind == 0:
        return rng.choice(CONSTANTS)
    if kind == 1:
        return rng.randrange(-4, 200)
    if kind == 2:
        return rng.choice([0.0, -0.0, 1.0, float("nan"), 5e-324])
    if kind == 3:
        return "".join(rng.choice("ais=|:t\0") for _ in range(rng.randrange(12)))
    if kind == 4:
        return rng.choice(DTYPES)
    if kind == 5:
        return rng.choice(DTYPES).type(rng.randrange(2))
    if kind in (6, 7):
        arrays.append(drawn_array(rng) if not arrays or rng.random() < 0.7 else rng.choice(arrays))
        return arrays[-1]
    if kind == 8:
        return slice(*(draw_value(rng, arrays, 3) for _ in range(3)))
    made = [draw_value(rng, arrays, depth + 1) for _ in range(rng.randrange(4))]
    return rng.choice([tuple, list])(made)


class DescribedCall:
    """Returns the properties that distinguish calls, computed only from the arguments."""

    def __init__(self):
        self.arrays = []

    def describe_array(self, a):
        same = [i for i, other in enumerate(self.arrays) if other is a]
        begin, meets = a._address, []
        for i, other in enumerate(self.arrays):
            if not (begin + a.nbytes <= other._address or other._address + other.nbytes <= begin):
                meets.append((i, begin - other._address))
        self.arrays.append(a)
        return (
            "a", a.dtype, a._address % 16, a.shape, a.strides,
            ("same", same[0]) if same else tuple(meets),
        )  # fmt: skip

    def describe_value(self, x):
        if isinstance(x, _core.DeviceArray):
            return self.describe_array(x)
        if isinstance(x, (tuple, list)):
            return type(x), tuple(map(self.describe_value, x))
        if isinstance(x, slice):
            return slice, *map(self.describe_value, (x.start, x.stop, x.step))
        if isinstance(x, np.generic):
            return type(x), x.tobytes()
        return type(x), struct.pack("d", x) if type(x) is float else x


def describe_call(args, keywords):
    one = DescribedCall()
    items = [one.describe_value(x) for x in args]
    return (*items, *(("=", name, one.describe_value(x)) for name, x in keywords.items()))


@pytest.mark.parametrize("part", range(4))
def test_equal_calls_have_equal_cache_keys(part):
    """Two random calls have equal keys if and only if the calls are equal, and each key can be decoded."""
    rng = random.Random(f"{part} of keys {random.randrange(10**6)}")
    found, read = {}, {}
    for _ in range(1500):
        arrays = []
        args = [draw_value(rng, arrays) for _ in range(rng.randrange(4))]
        keywords = {name: draw_value(rng, arrays) for name in "ab" if rng.random() < 0.3}
        call, key = describe_call(args, keywords), cache_key_of_call(*args, **keywords)
        assert key is not None, (args, keywords)
        assert found.setdefault(key, call) == call
        assert read.setdefault(CacheKeyDecoder(key).read_call(), key) == key
    assert len(set(map(repr, found.values()))) == len(found)


def test_cache_keys_distinguish_indices_from_type_tags():
    """With more than 97 arrays, the index of an overlapped array equals the tag of an argument."""
    parts = [BASE[2 * i : 2 * i + 1] for i in range(126)]
    seen = {}
    for index in range(126):
        before, other = parts[:index], parts[index]
        apart = BASE[2 * index + 32 : 2 * index + 33]
        onto = BASE[2 * index : 2 * index + 1]
        for tail in ([onto], [apart, 0], [apart, (0,)], [apart, ""], [other], [apart]):
            key = cache_key_of_call(*before, other, *tail)
            call = index, *(type(x) for x in tail), tail[0] is other, tail[0] is onto
            assert seen.setdefault(key, call) == call
            CacheKeyDecoder(key).read_call()


def test_traced_calls_may_return_an_argument():
    """The function may return one of its arguments."""
    second = _core.Traced(lambda a, b: b)
    d = cuda.to_device(np.arange(3))
    same = d[:]
    for _ in range(5):
        assert second(d, d) is d
        assert second(d, same) is same


def test_subclasses_of_numbers_have_no_cache_key():
    class FloatSubclass(np.float64):
        pass

    assert cache_key_of_call(np.float64(1)) is not None
    assert cache_key_of_call(FloatSubclass(1)) is None
