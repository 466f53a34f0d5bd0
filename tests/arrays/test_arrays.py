"""Compares indexing, views, assignment, copies and interchange of device arrays with NumPy's
arrays."""

import copy
import gc
import pickle
from array import array

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from kit.arrays import ForeignArray, assert_equal_arrays
from kit.calls import traced_calls

from numbalite import cuda

SETTINGS = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
DTYPES = ["?", "i1", "u2", "i4", "u8", "f2", "f4", "f8", "c8", "c16"]
SHAPES = [(), (1,), (0,), (7,), (3, 4), (2, 0, 3), (2, 3, 4), (1, 5, 1)]


def integer_array(shape, dtype="f4"):
    return np.arange(int(np.prod(shape))).reshape(shape).astype(dtype)


# ---- there and back ------------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.leaks
def test_to_device_and_back_keeps_shape_and_dtype(shape, dtype):
    x = integer_array(shape, dtype)
    d = cuda.to_device(x)
    assert (d.shape, d.dtype, d.ndim, d.size, d.nbytes, d.itemsize) == (
        x.shape,
        x.dtype,
        x.ndim,
        x.size,
        x.nbytes,
        x.itemsize,
    )
    assert_equal_arrays(d, x)
    del d


@pytest.mark.parametrize("order", ["C", "F"])
def test_to_device_keeps_memory_order(order):
    x = np.asarray(integer_array((4, 5)), order=order)
    d = cuda.to_device(x)
    assert d.strides == x.strides
    assert d.flags["C_CONTIGUOUS"] == x.flags.c_contiguous
    assert d.flags["F_CONTIGUOUS"] == x.flags.f_contiguous
    assert_equal_arrays(d, x)
    assert d.copy_to_host().flags.f_contiguous == x.flags.f_contiguous
    with pytest.raises(AttributeError, match="cannot be set: writeable"):
        d.flags.writeable = False
    with pytest.raises(TypeError, match="cannot be set: WRITEABLE"):
        d.flags["WRITEABLE"] = False


def test_get_and_set_behave_as_in_cupy():
    x = np.asarray(integer_array((4, 5)), order="F")
    d = cuda.to_device(x)
    assert d.get().flags.c_contiguous and d.get(order="A").flags.f_contiguous
    out = cuda.pinned_array_like(x)
    out[...] = 0
    assert d.get(cuda.stream(), out=out) is out
    np.testing.assert_array_equal(out, x)
    out[...] = 0
    assert d.get(cuda.stream(), out=out, blocking=False) is out
    cuda.synchronize()
    np.testing.assert_array_equal(out, x)
    d.set(x + 1)
    assert_equal_arrays(d, x + 1)


@pytest.mark.parametrize(
    "view",
    [
        np.s_[::2],
        np.s_[::-1],
        np.s_[1:3, ::-2],
        np.s_[..., 1],
        np.s_[:, None, 2],
        np.s_[::-1, ::-1],
    ],
    ids=str,
)
def test_strided_host_arrays_are_copied(view):
    x = integer_array((6, 8), "f8")
    assert_equal_arrays(cuda.to_device(x[view]), x[view])
    d = cuda.to_device(np.zeros_like(x[view]))
    d.copy_to_device(x[view])
    assert_equal_arrays(d, x[view])
    into = np.full((6, 8), -1.0)
    d.copy_to_host(into[view])
    np.testing.assert_array_equal(into[view], x[view])
    untouched = np.ones((6, 8), bool)
    untouched[view] = False
    assert (into[untouched] == -1).all()


def test_broadcast_host_array_is_copied():
    x = np.broadcast_to(integer_array(4), (3, 4))
    assert_equal_arrays(cuda.to_device(x), x)


def test_to_device_accepts_lists_and_scalars():
    assert_equal_arrays(cuda.to_device([1.5, 2.5]), np.array([1.5, 2.5]))
    assert_equal_arrays(cuda.to_device(3), np.array(3))


def test_copies_reject_other_shapes_and_dtypes():
    d = cuda.to_device(integer_array((3, 4)))
    with pytest.raises(TypeError, match="dtype"):
        d.copy_to_device(integer_array((3, 4), "f8"))
    with pytest.raises(ValueError, match="shape"):
        d.copy_to_device(integer_array((4, 3)))
    with pytest.raises(TypeError, match="dtype"):
        d.copy_to_host(np.zeros((3, 4)))
    with pytest.raises(ValueError, match="shape"):
        d.copy_to_host(np.zeros(12, "f4"))
    frozen = np.zeros((3, 4), "f4")
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="read-only|not writ"):
        d.copy_to_host(frozen)


@pytest.mark.parametrize("bad", [-1, (3, -2), "x", 1.5, (2.0,), None, 1 << 62, (1 << 40, 1 << 40)])
def test_device_array_rejects_invalid_shapes(bad):
    with pytest.raises((TypeError, ValueError, OverflowError, MemoryError)):
        cuda.device_array(bad)


@pytest.mark.parametrize("dtype", [object, "U3", "M8[s]"])
def test_to_device_rejects_python_objects(dtype):
    """Python objects are rejected on a device; void bytes are copied unchanged."""
    x = np.zeros(3, dtype)
    if np.dtype(dtype) == object:
        with pytest.raises(TypeError):
            cuda.to_device(x)
    else:
        try:
            assert_equal_arrays(cuda.to_device(x), x)
        except TypeError:
            pass


def test_structured_arrays_are_copied():
    kind = np.dtype([("x", "f4"), ("n", "i4"), ("v", "f8", (2,))])
    x = np.zeros(4, kind)
    x["x"], x["n"], x["v"] = range(4), range(4, 8), [[1, 2]] * 4
    d = cuda.to_device(x)
    assert_equal_arrays(d, x)
    assert d[2] == x[2]


# ---- indexing ------------------------------------------------------------------------------------------
@SETTINGS
@given(data=st.data())
def test_basic_indexing_matches_numpy(data):
    x = integer_array(data.draw(hnp.array_shapes(max_dims=4, max_side=6)), "i4")
    d = cuda.to_device(x)
    for _ in range(3):
        key = data.draw(hnp.basic_indices(d.shape, allow_newaxis=True))
        expected = x[key]
        got = d[key]
        if isinstance(expected, np.ndarray):
            assert got.strides == expected.strides or expected.size == 0 or 1 in expected.shape
            assert_equal_arrays(got, expected)
            x, d = expected, got
            if x.ndim == 0:
                break
        else:
            assert type(got) is type(expected) and got == expected
            break


@pytest.mark.parametrize(
    "key",
    [
        *(7, -8, (0, 0), "a", 1.0, slice(None, None, 0), (Ellipsis, Ellipsis), [0, 7]),
        *(["a"], (["a"], 0), np.void(b"a")),
    ],
)
def test_invalid_indices_raise_numpys_exceptions(key):
    x = integer_array(7)
    d = cuda.to_device(x)
    with pytest.raises((IndexError, ValueError)) as error:
        x[key]
    with pytest.raises(error.type):
        d[key]
    with pytest.raises(error.type):
        d[key] = 0


class SequenceLikeObject:
    def __len__(self):
        return 2

    def __getitem__(self, i):
        return (1, 0)[i]


@pytest.mark.parametrize(
    "key",
    [
        bytearray(b"\1\0"),
        memoryview(b"\1"),
        array("i", [2, 0]),
        SequenceLikeObject(),
        (0, bytearray(b"\1")),
    ],
)
def test_any_sequence_of_integers_is_an_index(key):
    x = integer_array((4, 3))
    d = cuda.to_device(x)
    assert_equal_arrays(d[key], x[key])
    d[key] = x[key] = 7
    assert_equal_arrays(d, x)


def test_views_share_memory_and_keep_it_alive(count_live):
    before = count_live()
    d = cuda.to_device(integer_array((4, 5)))
    v = d[1:3, ::2]
    v.fill(-1)
    expected = integer_array((4, 5))
    expected[1:3, ::2] = -1
    assert_equal_arrays(d, expected)
    del d
    gc.collect()
    assert_equal_arrays(v, expected[1:3, ::2])
    del v
    assert count_live() == before


def test_len_and_iteration_match_numpy():
    d = cuda.to_device(integer_array((3, 2)))
    assert len(d) == 3
    assert [row.copy_to_host().tolist() for row in d] == [[0, 1], [2, 3], [4, 5]]
    assert [float(v) for v in cuda.to_device(integer_array(3))] == [0, 1, 2]
    with pytest.raises(TypeError):
        len(cuda.to_device(np.float32(1)))


# ---- assignment ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("where", ["host", "device"])
@pytest.mark.parametrize(
    "key, value",
    [
        (np.s_[:], integer_array((4, 6)) + 100),
        (np.s_[1], integer_array(6)),
        (np.s_[:, 2], integer_array(4)),
        (np.s_[::2, 1::2], integer_array((2, 3))),
        (np.s_[::-1], integer_array((4, 6))),
        (np.s_[:], integer_array(6)),
        (np.s_[:], integer_array((4, 1))),
        (np.s_[1:3, ...], integer_array((1, 6))),
        (np.s_[0, 0], np.float32(9)),
        (np.s_[:, :2], integer_array((4, 2), "f8") + 0.5),
        (np.s_[:, :2], integer_array((4, 2), "i8")),
        (np.s_[4:], integer_array((0, 6))),
    ],
    ids=lambda v: "" if isinstance(v, np.ndarray) else str(v),
)
def test_assignment_to_slices_matches_numpy(where, key, value):
    x = np.full((4, 6), -1, "f4")
    d = cuda.to_device(x)
    x[key] = value
    d[key] = cuda.to_device(value) if where == "device" else value
    assert_equal_arrays(d, x)


@pytest.mark.parametrize("value", [5, 2.75, True, np.int64(3), [1, 2, 3, 4, 5, 6], -0.0])
def test_assignment_of_python_values_matches_numpy(value):
    x = np.zeros((4, 6), "f4")
    d = cuda.to_device(x)
    x[1:3] = value
    d[1:3] = value
    assert_equal_arrays(d, x)


def test_mismatched_assignment_raises():
    d = cuda.to_device(integer_array((4, 6)))
    with pytest.raises(ValueError):
        d[:] = integer_array(5)
    with pytest.raises(ValueError):
        d[0] = integer_array((2, 6))
    with pytest.raises((TypeError, ValueError)):
        d[0] = "words"
    assert_equal_arrays(d, integer_array((4, 6)))


def test_overlapping_assignment_copies_first():
    """The result is as if the right-hand side had been copied first, as in NumPy."""
    x = integer_array(100)
    d = cuda.to_device(x)
    x[1:] = x[:-1].copy()
    d[1:] = d[:-1]
    assert_equal_arrays(d, x)
    x[::-1] = x.copy()
    d[::-1] = d
    assert_equal_arrays(d, x)


@pytest.mark.parametrize("dtype", ["?", "i1", "i2", "i4", "f4", "f8", "c16"])
@pytest.mark.parametrize("step", [1, 3, -2])
def test_fill_of_strided_views_matches_numpy(dtype, step):
    x = np.zeros(50, dtype)
    d = cuda.to_device(x)
    x[::step] = 3
    d[::step].fill(3)
    assert_equal_arrays(d, x)


# ---- other shapes ---------------------------------------------------------------------------------------
@pytest.mark.filterwarnings("ignore:reshape of")
@pytest.mark.parametrize("new", [(12,), (3, -1), (2, 2, 3), -1, (12, 1)], ids=str)
@pytest.mark.parametrize("key", [np.s_[:], np.s_[::-1], np.s_[:, ::-1]], ids=str)
def test_reshape_of_strided_views_matches_numpy(new, key):
    x = integer_array((4, 3))
    assert_equal_arrays(cuda.to_device(x)[key].reshape(new), x[key].reshape(new))


def test_invalid_reshape_raises():
    d = cuda.to_device(integer_array(12))
    for bad in [(5,), (-1, -1), (5, -1)]:
        with pytest.raises(ValueError):
            d.reshape(bad)


def test_transpose_squeeze_and_ravel_match_numpy():
    x = integer_array((2, 3, 4))
    d = cuda.to_device(x)
    assert_equal_arrays(d.T, x.T)
    assert_equal_arrays(d.transpose(1, 0, 2), x.transpose(1, 0, 2))
    assert_equal_arrays(d.transpose((2, 0, 1))[1], x.transpose((2, 0, 1))[1])
    assert_equal_arrays(d.ravel(), x.ravel())
    assert_equal_arrays(d.T.ravel(), x.T.ravel())
    assert_equal_arrays(d[:, None].squeeze(), x)
    assert_equal_arrays(d[:, None].squeeze(1), x)
    with pytest.raises(ValueError):
        d.squeeze(0)
    assert d.T.strides == x.T.strides  # a view, not a copy


def test_view_as_another_dtype_matches_numpy():
    x = integer_array((3, 4), "f8")
    d = cuda.to_device(x)
    assert_equal_arrays(d.view("i8"), x.view("i8"))
    assert_equal_arrays(d.view("f4"), x.view("f4"))
    with pytest.raises((ValueError, TypeError)):
        d.T.view("f4")


@pytest.mark.parametrize("dtype", ["f8", "i4", "c8", "?"])
def test_astype_of_strided_views_matches_numpy(dtype):
    x = integer_array((5, 3)) - 3
    assert_equal_arrays(cuda.to_device(x)[::2].astype(dtype), x[::2].astype(dtype))


def test_split_returns_pieces():
    pieces = [p.copy_to_host().tolist() for p in cuda.to_device(integer_array(7)).split(3)]
    assert pieces == [[0, 1, 2], [3, 4, 5], [6]]


# ---- copies ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("key", [np.s_[:], np.s_[::2, ::-1], np.s_[:, 3:4]], ids=str)
def test_copies_are_independent_of_the_original(key):
    x = integer_array((6, 8))
    d = cuda.to_device(x)[key]
    for made in (d.copy(), copy.copy(d), copy.deepcopy(d), pickle.loads(pickle.dumps(d))):
        assert_equal_arrays(made, x[key])
        made.fill(0)
    assert_equal_arrays(d, x[key])


def test_device_array_like_keeps_the_layout():
    for x in (
        integer_array((3, 4)),
        np.asfortranarray(integer_array((3, 4))),
        integer_array((2, 3, 4)).transpose(1, 0, 2),
    ):
        like = cuda.device_array_like(x)
        assert (like.shape, like.dtype, like.strides) == (
            x.shape,
            x.dtype,
            np.empty_like(x).strides,
        )


def test_asarray_copies_to_the_host():
    d = cuda.to_device(integer_array(5))
    np.testing.assert_array_equal(np.asarray(d), integer_array(5))
    assert np.asarray(d, dtype="f8").dtype == "f8"


def test_one_element_arrays_convert_to_float_and_int():
    assert float(cuda.to_device(np.array(2.5))) == 2.5
    assert int(cuda.to_device(np.array(7))) == 7
    with pytest.raises((TypeError, ValueError)):
        float(cuda.to_device(integer_array(2)))


# ---- interchange -------------------------------------------------------------------------------------------
def test_the_array_interface_describes_the_array():
    d = cuda.to_device(integer_array((3, 4), "i2"))
    says = d.__cuda_array_interface__
    assert says["shape"] == (3, 4) and says["typestr"] == "<i2" and says["version"] == 3
    assert says["data"] == (d.address, False)
    assert says.get("strides") is None
    assert d[:, ::2].__cuda_array_interface__["strides"] == (8, 4)
    assert cuda.to_device(np.zeros(0)).__cuda_array_interface__["data"][0] == 0


def test_foreign_memory_is_viewed_and_kept_alive(count_live):
    before = count_live()
    d = cuda.to_device(integer_array((3, 4)))
    foreign = ForeignArray(d[1:])
    view = cuda.as_cuda_array(foreign)
    view.fill(7)
    assert_equal_arrays(d[0], integer_array(4))
    assert d[1, 0] == 7
    del d, foreign
    gc.collect()
    assert view[0, 0] == 7
    del view
    assert count_live() == before


@pytest.mark.parametrize(
    "changes",
    [
        {"typestr": "<f99"},
        {"typestr": 3},
        {"shape": (-1, 2)},
        {"shape": "x"},
        {"shape": (1, 2), "strides": (1,)},
        {"data": None},
        {"data": (1,)},
        {"version": "three"},
        {"mask": 5},
    ],
    ids=str,
)
def test_broken_interfaces_are_refused(changes):
    foreign = ForeignArray(cuda.to_device(integer_array((3, 4))), **changes)
    with pytest.raises((TypeError, ValueError, NotImplementedError, OverflowError, AttributeError)):
        cuda.as_cuda_array(foreign)


@pytest.mark.parametrize("missing", ["shape", "typestr", "data"])
def test_incomplete_cuda_array_interfaces_raise(missing):
    foreign = ForeignArray(cuda.to_device(integer_array((3, 4))))
    del foreign.__cuda_array_interface__[missing]
    with pytest.raises((TypeError, ValueError, KeyError)):
        cuda.as_cuda_array(foreign)


def test_launch_rejects_an_invalid_cuda_array_interface():
    k = cuda.jit("__global__ void k(float* x) { x[0] = 1; }")
    with pytest.raises((TypeError, ValueError)):
        k[1, 1](ForeignArray(cuda.to_device(integer_array(4)), typestr="nonsense"))


def test_repr_copies_the_array_once():
    d = cuda.to_device(integer_array((3, 4)))
    text = repr(d)
    assert str(d).splitlines()[0][2:-1].split()[0] in text and "float32" in text
    assert len([call for call in traced_calls(lambda: repr(d)) if "Memcpy" in call]) == 1
