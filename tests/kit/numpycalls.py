"""Defines one call with small host arrays for each NumPy function that accepts arrays."""

import numpy as np

V, M = np.array([3.0, 1, 2, 5]), np.arange(6.0).reshape(2, 3)
S, Q = np.array([[2.0, 1], [1, 3]]), np.eye(4).reshape(2, 2, 2, 2)
I, B = np.array([2, 0, 1]), np.array([True, False, True, True])
ONE = """all amax any argmax argmin argpartition argsort argwhere around average clip compress corrcoef
    count_nonzero cov cumprod cumsum cumulative_prod cumulative_sum diag diagflat diagonal diff ediff1d fix
    flatnonzero flip fliplr flipud gradient histogram i0 imag max mean median min nan_to_num nanargmax nanargmin
    nancumprod nancumsum nanmax nanmean nanmedian nanmin nanprod nanstd nansum nanvar nonzero ones_like partition
    prod ptp ravel real repeat reshape resize roll rollaxis rot90 round sinc sort sort_complex squeeze std sum swapaxes
    take tile trace transpose trapezoid trim_zeros tril triu unique unstack unwrap var zeros_like
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
    "unravel_index": (I, (3, 3)), "vander": (V,), "vdot": (V, V), "vstack": ([M, M],), "where": (B, V, V),
    "linalg.lstsq": (S, S), "linalg.matmul": (S, S), "linalg.matrix_power": (S, 2),
    "linalg.multi_dot": ([S, S, S],), "linalg.outer": (V, V), "linalg.solve": (S, S),
    "linalg.tensorinv": (Q,), "linalg.tensorsolve": (Q, S), "linalg.vecdot": (V, V),
}  # fmt: skip
NEEDED = {"cumulative_sum": {"axis": 0}, "cumulative_prod": {"axis": 0}}
"""Keywords without which NumPy refuses the call."""
