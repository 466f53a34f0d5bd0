"""A sequence with a length of 2**62 is rejected as a shape, strides or axes before its items are
stored."""

import collections.abc

import numpy as np
import pytest

from numbalite import _core, cuda, sparse, types
from numbalite.runtime import shapes
from numbalite.runtime.ipchandles import IpcHandle

LIMIT = 200  # items that a function may read before it has to raise an error


class TooManyItems(BaseException):
    """Raised if a function reads more items than any shape has. `except Exception` does not catch this
    exception."""


class EndlessSequence(collections.abc.Sequence):
    def __init__(self):
        self.reads = 0

    def __len__(self):
        return 1 << 62

    def __getitem__(self, index):
        self.reads += 1
        if self.reads > LIMIT:
            raise TooManyItems
        return 1


class UnderstatedSequence(EndlessSequence):
    """Its length is wrong."""

    def __len__(self):
        return 2


X = np.arange(12.0).reshape(3, 4)
EXPRESSIONS = """
cuda.device_array(s)  cuda.device_array(3, strides=s)  cuda.zeros(s)  cuda.ones(s)  cuda.full(s, 1)  cuda.empty(s)
cuda.pinned_array(s)  cuda.mapped_array(s)  cuda.managed_array(s)  cuda.ipc_array(s)  cuda.ipc_array(3, strides=s)
cuda.linspace(0, 1, 5, axis=s)  d.reshape(s)  d.reshape(3, s)  d.transpose(s)  d.sum(axis=s)  d.mean(axis=s)
d.std(axis=s)  d.max(axis=s)  d.any(axis=s)  d.argmax(axis=s)  d.squeeze(s)  d.cumsum(axis=s)  d.sort(axis=s)
d.swapaxes(s, 0)  d.view(s)  np.expand_dims(d, s)  np.median(d, axis=s)  np.percentile(d, 50, axis=s)
np.cross(d, d, axis=s)  np.flip(d, s)  np.gradient(d, axis=s)  np.roll(d, s)  np.roll(d, 1, axis=s)
np.trim_zeros(d, axis=s)  np.vecdot(d, d, axis=s)  np.unstack(d, axis=s)  np.moveaxis(d, s, 0)  np.moveaxis(d, 0, s)
np.rollaxis(d, s)  np.pad(d, s)  np.resize(d, s)  np.broadcast_to(d, s)  np.tile(d, s)  np.apply_over_axes(np.sum, d, s)
np.lib.stride_tricks.sliding_window_view(d, s)  np.unravel_index(i, s)  np.ravel_multi_index((i, i), s)
np.tensordot(d, d, s)  np.tensordot(d, d, (s, s))  np.fft.fftn(d, axes=s)  np.fft.fftn(d, s=s)  np.fft.rfft2(d, axes=s)
np.fft.irfftn(d, s=s)  np.fft.fftshift(d, axes=s)  np.fft.fft(d, axis=s)  np.linalg.norm(d, axis=s)
np.indices(s, like=d) np.average(d, axis=s)  np.nanmean(d, axis=s)  np.count_nonzero(d, axis=s)  np.take(d, i, axis=s)
np.concatenate([d, d], axis=s)  np.stack([d, d], axis=s)  np.repeat(d, 2, axis=s)
np.split(d, 2, axis=s)  np.split(d, s)  np.hsplit(d, s)
np.insert(d, 0, 1, axis=s)  np.delete(d, 0, axis=s)  np.sort(d, axis=s)  np.lexsort((d, d), axis=s)  np.unique(d, axis=s)
np.empty_like(d, shape=s)  np.zeros_like(d, shape=s)  np.full_like(d, 1, shape=s)  np.rot90(d, axes=s)  np.ptp(d, axis=s)
rng.normal(size=s)  rng.random(s)  rng.integers(0, 5, s)  rng.choice(5, s)  rng.permuted(d, axis=s)
kernel[s, 1](1)  kernel[1, s](1)  kernel[(1, s), 1](1)
kernel.forall(s)  add.reduce(d, axis=s)  add.accumulate(d, axis=s)  add.reduceat(d, [0], axis=s)  cuda.reduce("a + b")(d, axis=s)
np.fft.fftfreq(s)  cuda.device_array_like(d).reshape(s, order="F")  vector(s)
sparse.csr_array(d, shape=s)  sparse.coo_array(d, shape=s)  sparse.dia_array((d, [0, 1, 2]), shape=s)
sparse.diags_array(d, offsets=[0, 1, 2], shape=s)  m.reshape(s)  m.sum(axis=s)  m.transpose(s)  m.resize(s)  m.max(axis=s)
cuda.random.default_rng(s)  cuda.random.Philox4x32(s)  IpcHandle(None, s, 8)  IpcHandle(None, handle=s, size=8)
sparse.block_diag(s)  d.argsort().choose(s)  cuda.choose(i, s)  cuda.histogramdd(s)  cuda.concatenate(s)  types.Tuple(s)
np.sort(records, order=s)  cuda.texture(d.astype("f4"), s)  cuda.surface(s, "f4")  cuda.texture(d.astype("f4"), border=s)
"""
CALLS = [
    one
    for line in EXPRESSIONS.strip().splitlines()
    for one in line.replace(") ", ")\0").split("\0")
    if one
]
CALLS = [one.strip() for one in CALLS]


@pytest.fixture(scope="module")
def callable_names():
    from numbalite import vectorize

    kernel = cuda.jit("__global__ void kernel(int n) {}")
    vector = cuda.jit("__global__ void vector(float4 x) {}")

    @vectorize(["float64(float64, float64)"], target="cuda")
    def add(a, b):
        "a + b"

    return {
        "np": np, "cuda": cuda, "kernel": kernel, "add": add, "vector": vector[1, 1],
        "sparse": sparse, "m": sparse.csr_array(cuda.to_device(X)),
        "records": cuda.to_device(np.zeros(3, [("a", "i4"), ("b", "f4")])),
        "IpcHandle": IpcHandle, "types": types,
        "d": cuda.to_device(X), "i": cuda.to_device(np.array([1, 2])), "rng": cuda.random.default_rng(1),
    }  # fmt: skip


@pytest.mark.parametrize("kind", (EndlessSequence, UnderstatedSequence))
def test_endless_sequences_are_read_to_a_limit(callable_names, kind):
    stored = []
    for call in CALLS:
        s = kind()
        try:
            eval(call, {**callable_names, "s": s})
        except TooManyItems:
            stored.append(call)
        except Exception as error:
            assert not isinstance(error, (MemoryError, SystemError)), (call, error)
    assert not stored, stored
    assert len(CALLS) > 90


def test_iterators_of_arrays_and_seeds_are_read_to_a_limit(monkeypatch):
    """A generator has no length; the limit is lower here, to save time."""
    monkeypatch.setattr(shapes, "_MAX_LISTED", 100)
    i = cuda.to_device(np.array([0, 1]))
    joins = sparse.block_diag, sparse.hstack, sparse.vstack, sparse.block_array
    for call in (*joins, cuda.random.default_rng, cuda.concatenate, i.choose):
        endless = EndlessSequence()
        with pytest.raises(ValueError, match="a sequence of more than 100 items"):
            call(iter(endless))
        assert endless.reads < LIMIT
    assert sparse.block_diag(iter([2, 3])).toarray().tolist() == [[2, 0], [0, 3]]
    assert i.choose(iter([[5, 6], [7, 8]])).tolist() == [5, 8]
    for seed in ([1, 2, 3], (1, 2, 3), np.array([1, 2, 3]), range(1, 4)):
        drawn = cuda.random.default_rng(seed).random(4).tolist()
        assert drawn == cuda.random.default_rng([1, 2, 3]).random(4).tolist()


def test_sequence_limit_is_in_the_message():
    with pytest.raises(ValueError, match="more than 64 items"):
        cuda.to_device(X).reshape(range(1 << 62))
    with pytest.raises(ValueError, match="4611686018427387904 items are more than the limit of 32"):
        cuda.device_array(range(1 << 62))
    assert _core.device_empty([2, 3], np.dtype("f4"), "C").shape == (2, 3)
