"""What NumPy's functions refuse is refused on device arrays, with the same kind of exception: wrong axes, shapes,
dtypes, and outputs."""

import inspect
import warnings

import numpy as np
import pytest
from kit.drawn import is_same_kind, outcome
from kit.likenumpy import moved

from numbalite import cuda
from numbalite.cuda.arrayfunctions import dispatch

V, M = np.array([3.0, 1, 2, 5]), np.arange(6.0).reshape(2, 3)
S, Q = np.array([[2.0, 1], [1, 3]]), np.eye(4).reshape(2, 2, 2, 2)
I, B = np.array([2, 0, 1]), np.array([True, False, True, True])
ONE = """all amax any argmax argmin argpartition argsort argwhere around average clip compress corrcoef
    count_nonzero cov cumprod cumsum cumulative_prod cumulative_sum diag diagflat diagonal diff ediff1d fix
    flatnonzero flip fliplr flipud gradient histogram i0 imag max mean median min nan_to_num nanargmax nanargmin
    nancumprod nancumsum nanmax nanmean nanmedian nanmin nanprod nanstd nansum nanvar nonzero ones_like partition
    prod ptp ravel real repeat reshape resize roll rollaxis rot90 round sinc sort sort_complex squeeze std sum swapaxes
    take tile trace transpose trapezoid trim_zeros tril triu unique unstack unwrap vander var zeros_like
    linalg.norm linalg.matrix_norm linalg.vector_norm linalg.diagonal linalg.trace fft.fft fft.ifft fft.rfft fft.irfft
    fft.hfft fft.ihfft fft.fft2 fft.fftn fft.fftshift""".split()
SQUARES = """cholesky cond det eig eigh eigvals eigvalsh inv matrix_rank pinv qr slogdet svd svdvals""".split()
MORE = {
    "argpartition": (1,), "clip": (1, 2), "compress": ([1, 0], M), "diff": (), "partition": (1,),
    "repeat": (2,), "reshape": ((3, 2),), "resize": ((2, 2),), "roll": (1,), "rollaxis": (1,),
    "swapaxes": (0, 1), "take": (I,), "tile": (2,),
}  # fmt: skip
CALLS = {name: (M, *MORE.get(name, ())) for name in ONE}
CALLS |= {f"linalg.{name}": (S,) for name in SQUARES}
CALLS |= {
    "allclose": (V, V), "append": (V, V), "array_split": (V, 2), "bincount": (I, np.ones(3)),
    "broadcast_to": (V, (2, 4)), "choose": (I, [I, I, I]), "column_stack": ([V, V],),
    "compress": (B, V), "concatenate": ([M, M],), "convolve": (V, V), "correlate": (V, V),
    "cross": (V[:3], V[1:]), "delete": (V, 1), "digitize": (V, np.array([0.0, 2, 4])),
    "dot": (M, M.T), "dstack": ([M, M],), "einsum": ("ij->i", M), "expand_dims": (V, 0),
    "extract": (B, V), "geomspace": (V, V, 3), "histogram2d": (V, V, 3), "histogramdd": (M, 3),
    "hstack": ([M, M],), "inner": (M, M), "insert": (V, 1, 7.0), "interp": (V, V[1:], V[1:]),
    "intersect1d": (V, V), "isclose": (V, V), "isin": (V, V), "ix_": (I, I), "kron": (M, V),
    "lexsort": ((V, V),), "linspace": (V, V, 3), "logspace": (V, V, 3), "meshgrid": (V, V),
    "moveaxis": (M, 0, 1), "nanpercentile": (M, 50), "nanquantile": (M, 0.5), "outer": (V, V),
    "packbits": (B,), "pad": (V, 1), "percentile": (M, 50), "place": (V, B, V), "putmask": (V, B, V),
    "polyadd": (V, V), "polyfit": (V, V, 1), "polyint": (V,), "polymul": (V, V), "polyval": (V, V),
    "put": (V, I, V[:3]), "put_along_axis": (V, I, V[:3], 0), "quantile": (M, 0.5),
    "ravel_multi_index": ((I, I), (3, 3)), "searchsorted": (V, V), "select": ([V < 2], [V]),
    "setdiff1d": (V, V), "split": (V, 2), "stack": ([M, M],), "take_along_axis": (V, I, 0),
    "tensordot": (M, M), "union1d": (V, V), "unpackbits": (np.array([3], "u1"),),
    "unravel_index": (I, (3, 3)), "vdot": (V, V), "vstack": ([M, M],), "where": (B, V, V),
    "linalg.lstsq": (S, S), "linalg.matmul": (S, S), "linalg.matrix_power": (S, 2),
    "linalg.multi_dot": ([S, S, S],), "linalg.outer": (V, V), "linalg.solve": (S, S),
    "linalg.tensorinv": (Q,), "linalg.tensorsolve": (Q, S), "linalg.vecdot": (V, V),
}  # fmt: skip
AXES = (7, -8, 1.5, "a")
DTYPES = ("nonsense", "i4", "c8")
ARRAYS = {
    "0-d": np.array(2.0), "empty": np.zeros((0, 3)), "3-d": np.ones((2, 3, 4)), "7": np.ones(7),
    "5 x 5": np.ones((5, 5)),
}  # fmt: skip
NEEDED = {"cumulative_sum": {"axis": 0}, "cumulative_prod": {"axis": 0}}
LISTS = {
    "ragged": [np.ones((2, 3)), np.ones((3, 2))], "dimensions": [V, M], "none": [],
    "0-d": [np.array(1.0)] * 2,
}  # fmt: skip
LESS_IS_REFUSED = {
    ("polyint", "argument 0: 3-d"),  # a matrix of polynomials, of which NumPy takes some
    ("tensordot", "argument 0: 0-d"), ("tensordot", "argument 1: 0-d"),
    ("linalg.tensorinv", "argument 0: 0-d"), ("fft.fftshift", "argument 0: 0-d"),
}  # fmt: skip


def outputs(result):
    """Arrays, or what is none, in which the result has no place."""
    shape, dtype = np.shape(result), np.asarray(result).dtype
    yield "wrong shape", np.zeros((*shape, 7), dtype)
    yield "other lengths", np.zeros([n + 1 for n in shape] or [2], dtype)
    for other in ("u1", "f4", "c16"):
        yield other, np.zeros(shape, other)
    yield "no array", [1, 2]


def variants(name, function, args):
    """(what is wrong, arguments, keywords)"""
    try:
        parameters = inspect.signature(function).parameters
    except ValueError:
        parameters = {}
    given = list(parameters)[: len(args)]
    if "axis" in parameters and "axis" not in given:
        yield from ((f"axis {axis!r}", args, {"axis": axis}) for axis in AXES)
    if "dtype" in parameters:
        yield from ((f"dtype {dtype}", args, {"dtype": dtype}) for dtype in DTYPES)
    if "out" in parameters or name in ("take", "dot", "concatenate", "einsum"):
        for what, out in outputs(function(*args, **NEEDED.get(name, {}))):
            yield f"out: {what}", args, NEEDED.get(name, {}) | {"out": out}
    for i, given in enumerate(args):
        if isinstance(given, np.ndarray):
            of_kinds = {"complex": given * 1j, "booleans": given.astype(bool)}
            for what, array in (ARRAYS | of_kinds).items():
                yield f"argument {i}: {what}", (*args[:i], array, *args[i + 1 :]), {}
        elif isinstance(given, list) and isinstance(given[0], np.ndarray):
            for what, arrays in LISTS.items():
                yield f"argument {i}: {what}", (*args[:i], arrays, *args[i + 1 :]), {}
    yield "keyword", args, {"nonsense": 1}


def is_of_indices(error):
    """Indices on the device are not waited for: they are taken modulo the length, or are a KernelError."""
    return str(error).startswith(("index ", "invalid entry in choice"))


@pytest.mark.parametrize("name", CALLS)
def test_refusals(name):
    function = dispatch.numpy_function(name)
    if function is None:
        pytest.skip("this NumPy has no such function")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for what, args, keywords in variants(name, function, CALLS[name]):
            on_device = moved(args), moved(keywords)  # NumPy may write to the arguments
            try:
                _, refused = outcome(function, *args, **keywords)
            except AttributeError as attribute:  # of lists where NumPy expects arrays
                refused = TypeError(attribute)
            if refused is None or (name, what) in LESS_IS_REFUSED or is_of_indices(refused):
                continue
            made, error = outcome(function, *on_device[0], **on_device[1])
            assert error is not None, f"{what}: {made!r}, NumPy {refused!r}"
            assert is_same_kind(error, refused), f"{what}: {error!r}, NumPy {refused!r}"


def test_outputs_are_named():
    d = cuda.to_device(M)
    for name, call in (
        ("mean", lambda: d.mean(out=d)), ("argmax", lambda: np.argmax(d, out=d)),
        ("compress", lambda: np.compress([True, False], d, 0, out=d)),
        ("nanstd", lambda: np.nanstd(d, out=d)), ("median", lambda: np.median(d, out=d)),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=rf"^{name}: out has shape \(2, 3\), the result \("):
            call()
