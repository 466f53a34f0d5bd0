"""A call reads the interface of each argument once, because libraries build a new dictionary or
capsule for every read."""

import numpy as np
import pytest

from numbalite import cuda, guvectorize, jit, vectorize


class ObjectWithInterface:
    """Counts the reads of its __cuda_array_interface__."""

    def __init__(self, array):
        self.array = array
        self.reads = 0

    @property
    def __cuda_array_interface__(self):
        self.reads += 1
        return self.array.__cuda_array_interface__


class ObjectWithDLPack:
    """Counts the exports through DLPack."""

    def __init__(self, array):
        self.array = array
        self.reads = 0

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __dlpack__(self, **keywords):
        self.reads += 1
        return self.array.__dlpack__(**keywords)


class NumberLikeObject:
    """Counts its conversions."""

    reads = 0

    def __index__(self):
        self.reads += 1
        return 3


@cuda.jit("void(float32[:], float32[:], int64)")
def add_typed(x, y, n):
    "if (grid<1>() == 0) y[0] += x[0] * n;"


@cuda.jit
def add_untyped(x, y, n):
    "if (grid<1>() == 0) y[0] += x[0] * n;"


add = vectorize(["float32(float32, float32)"], source="x + y", args="x, y", target="cuda")


@guvectorize(["void(float32[:], float32[:], float32[:])"], "(n),(n)->()", target="cuda")
def add_first(x, y, out):
    "out(0) = x(0) + y(0);"


total = cuda.reduce("a + b")


def numpy_add(x, y):
    return np.add(x, y)


@pytest.mark.parametrize("kind", [ObjectWithInterface, ObjectWithDLPack])
@pytest.mark.parametrize(
    "call",
    [
        lambda x, y: add_typed[1, 1](x, y, 3),
        lambda x, y: add_untyped[1, 1](x, y, 3),
        lambda x, y: add_untyped[1, 1](x, x, 3),
        add,
        add_first,
        numpy_add,
        add.reduce,
        add.accumulate,
        total,
    ],
    ids="signed unsigned twice ufunc gufunc numpy reduce accumulate cuda.reduce".split(),
)
def test_foreign_arrays_are_read_once_per_call(kind, call):
    """With several devices, a call without device arrays reads an interface once more, to find its device."""
    is_alone = call in (add.reduce, add.accumulate, total)
    most = 2 if len(cuda.gpus) > 1 and kind is ObjectWithInterface and is_alone else 1
    x, y = kind(cuda.to_device(np.ones(4, "f4"))), cuda.to_device(np.ones(4, "f4"))
    arguments = (x,) if is_alone else (x, y)
    call(*arguments)
    x.reads = 0
    call(*arguments)
    assert 1 <= x.reads <= most


def test_numeric_arguments_are_converted_once():
    """An object with __int__ or __float__ is converted once per call, also by functions on the
    host."""

    @jit
    def twice(x, n):
        "return x(0) * n;"

    x, y = cuda.to_device(np.ones(4, "f4")), cuda.to_device(np.ones(4, "f4"))
    for call in (
        lambda n: add_typed[1, 1](x, y, n),
        lambda n: add_untyped[1, 1](x, y, n),
        lambda n: twice(np.ones(2), n),
    ):
        call(NumberLikeObject())
        number = NumberLikeObject()
        call(number)
        assert number.reads == 1


def test_host_arrays_may_be_resized_during_conversion():
    """Cached properties of an array are discarded when Python code has run."""
    x = np.arange(4, dtype="f4")
    y = cuda.to_device(np.zeros(4, "f4"))

    class ResizingObject(ObjectWithInterface):
        @property
        def __cuda_array_interface__(self):
            x.resize(1 << 20, refcheck=False)
            x[0] = 7
            return self.array.__cuda_array_interface__

    add_untyped[1, 1](x, y, 1)
    add_untyped[1, 1](x, ResizingObject(y), 1)
    assert y.copy_to_host()[0] == 7


def test_host_output_exported_by_dlpack_is_written_in_place():
    """A host array that another object exports is written in place."""
    out = np.zeros(4, "f4")
    assert isinstance(
        add(np.ones(4, "f4"), np.ones(4, "f4"), out=ObjectWithDLPack(out)), ObjectWithDLPack
    )
    assert out.tolist() == [2, 2, 2, 2]
