"""Measures the errors of reductions on data with cancellation and large means, compared with NumPy's.

    NUMBALITE_DRIVER=sim python tests/bench/accuracy.py [--only sum,var] [--seed 1] [--small]
    python tests/bench/accuracy.py --write docs/accuracy.md      (writes the table of that page, for this device)

The error of a call is the largest relative error of its results, in roundings: 1 rounding is half a unit in the last
place, the error of an exact result that is rounded. Exact results are computed by math.fsum, or in numpy.longdouble if
it represents all terms exactly. The exit status is 1 if an error is larger than the limit of its function:

- in general, one rounding or NumPy's error, whichever is larger.
- var and std in float64: three roundings, or 1.5 times NumPy's error. The squares are rounded, as NumPy does, but
  are added in another order.
- scans: four times NumPy's error, because the partial sums are of other parts of the array. The errors are relative
  to the sum of absolute values: where a sum cancels, the error relative to the result depends on chance.
- float16: four times NumPy's error. NumPy and numbalite add in float32, in a different order.
- average: two roundings, because it is a quotient of two sums.
- cov: 32 roundings, relative to the largest element of the matrix. cov is a matrix product, by cuBLAS on a GPU.
- trapezoid: two roundings, relative to the largest result. trapezoid adds `left + right` in float64, or in two numbers.
"""

import argparse
import math
import pathlib
import re
import sys

import numpy as np

wide = np.longdouble
LARGE = {"e": 300.0, "f": 1e4, "d": 1e9}
BEGIN, END = "<!-- table of tests/bench/accuracy.py -->", "<!-- end of the table -->"


# --- data


def _random_normal(rng, shape):
    return rng.normal(size=shape)


def _near_1(rng, shape):
    return 1 + rng.normal(size=shape) * 1e-3


def _cancelling_pairs(rng, shape):
    """Returns pairs of numbers that cancel, except for a small remainder each."""
    x = rng.normal(size=shape) * 100
    flat = x.reshape(-1)
    half = flat.size // 2
    flat[half : 2 * half] = -flat[:half]
    return rng.permuted(x, axis=-1) + rng.random(shape)


def _alternating_signs(rng, shape):
    index = np.arange(math.prod(shape)).reshape(shape)
    return np.where(index % 2, -1, 1) * (1 + rng.random(shape) / 100)


DATA = {
    "0 to 1": lambda rng, shape, code: rng.random(shape),
    "normal": lambda rng, shape, code: _random_normal(rng, shape),
    "large mean": lambda rng, shape, code: _random_normal(rng, shape) + LARGE[code],
    "cancellation": lambda rng, shape, code: _cancelling_pairs(rng, shape),
    "alternating signs": lambda rng, shape, code: _alternating_signs(rng, shape),
    "wide range": lambda rng, shape, code: (
        _random_normal(rng, shape)
        * 10.0 ** rng.integers(-4 if code == "e" else -12, 2 if code == "e" else 12, shape)
    ),
    "denormals": lambda rng, shape, code: (
        rng.integers(-9, 10, shape) * float(np.finfo(code).smallest_subnormal)
    ),
    "near 1": lambda rng, shape, code: _near_1(rng, shape),
}


def random_numbers(name, rng, shape, code):
    """Returns random numbers of a dtype; real and imaginary parts are drawn separately."""
    real = code.lower()
    x = DATA[name](rng, shape, real).astype(real)
    if code in "FD":
        x = (x + 1j * DATA[name](rng, shape, real).astype(real)).astype(code)
    return x


# --- exact results


def _exact_sum(parts):
    """Returns the sum of float64 numbers, as a longdouble."""
    parts = list(map(float, parts))
    total = math.fsum(parts)
    return wide(total) + wide(math.fsum([*parts, -total])) if math.isfinite(total) else wide(total)


def _exact_complex_sum(x):
    if np.iscomplexobj(x):
        return _exact_complex_sum(x.real) + np.clongdouble(1j) * _exact_complex_sum(x.imag)
    return _exact_sum(np.asarray(x, np.float64).ravel())


def _split_products(x, y):
    """Returns numbers whose sum is the exact sum of products of float64 numbers (Veltkamp's and
    Dekker's parts)."""
    x, y = np.asarray(x, np.float64).ravel(), np.asarray(y, np.float64).ravel()
    product = x * y

    def split_in_halves(a):
        scaled = a * (2.0**27 + 1)
        high = scaled - (scaled - a)
        return high, a - high

    (a, b), (c, d) = split_in_halves(x), split_in_halves(y)
    rest = ((a * c - product) + a * d + b * c) + b * d
    return np.concatenate([product, rest])


def _exact_dot(x, y):
    """Returns the exact dot product of x and y, not conjugated."""
    if np.iscomplexobj(x) or np.iscomplexobj(y):
        x, y = np.asarray(x, complex), np.asarray(y, complex)
        real = np.concatenate([_split_products(x.real, y.real), -_split_products(x.imag, y.imag)])
        imag = np.concatenate([_split_products(x.real, y.imag), _split_products(x.imag, y.real)])
        return _exact_sum(real) + np.clongdouble(1j) * _exact_sum(imag)
    return _exact_sum(_split_products(x, y))


def _exact_mean(x):
    return _exact_complex_sum(x) / wide(x.size)


def _deviations(x):
    apart = x.astype(np.clongdouble if np.iscomplexobj(x) else wide) - x.ravel()[0]
    return apart - apart.mean()


def _var(x):
    apart = _deviations(x)
    return (apart.real**2 + apart.imag**2).sum() / wide(x.size)


def _exact_norm(x):
    return np.sqrt((x.real.astype(wide) ** 2 + x.imag.astype(wide) ** 2).sum())


def _apply_along_axis(function):
    """Returns the function of each 1-D slice along an axis, or of all elements."""

    def apply_to_rows(x, axis):
        if axis is None:
            return np.asarray(function(x))
        slices = np.moveaxis(x, axis, -1).reshape(-1, x.shape[axis])
        return np.array([function(one) for one in slices])

    return apply_to_rows


def _cumsum(x, axis):
    return np.cumsum(x, axis, dtype=np.clongdouble if np.iscomplexobj(x) else wide)


def _exact_product(x, axis):
    return np.prod(x, axis, dtype=np.clongdouble if np.iscomplexobj(x) else wide)


def _exact_trapezoid(x):
    x = x.astype(np.clongdouble if np.iscomplexobj(x) else wide)
    return ((x[1:] + x[:-1]) / 2).sum()


def _cov(x, axis):
    apart = np.array([_deviations(row) for row in x])
    return (apart[:, None] * apart[None].conj()).sum(-1) / wide(x.shape[1] - 1)


def _average_weights(x, axis):
    count = x.size if axis is None else x.shape[axis]
    return 1 + np.arange(count).astype(x.real.dtype) % 7


def _with_weights(x, axis):
    given = (
        _average_weights(x, axis).reshape(x.shape) if axis is None else _average_weights(x, axis)
    )
    return np.average(x, axis, given)


def _exact_average(x, axis):
    weights = _average_weights(x, axis)

    def weighted_mean(one):
        return _exact_dot(one.ravel(), weights) / wide(_exact_sum(weights))

    return _apply_along_axis(weighted_mean)(x, axis)


LIMIT = 1.02
"""Roundings that a result may have: after one in more precision there is a second one, rarely seen."""

SQUARES = {"double_limit": 3.0, "double_times": 1.5}
"""Of variances in float64: see above."""


class AccuracyCase:
    """A case: `call(xp_array, axis)` and the exact result."""

    def __init__(
        self,
        call,
        exact,
        axes=(None, 0, 1),
        codes="efdFD",
        data=None,
        limit=LIMIT,
        of_all=False,
        double_limit=None,
        times=1.0,
        double_times=None,
        magnitude=None,
    ):
        self.call, self.exact, self.axes, self.codes = call, exact, axes, codes
        self.data = data or tuple(name for name in DATA if name != "near 1")
        self._limit, self._times = limit, times  # roundings; multiples of NumPy's error
        self._double_limit = double_limit or limit  # of results in float64
        self._double_times = double_times or times
        self.of_all = of_all  # relative to the largest result
        self._magnitude = magnitude

    def magnitude(self, x, axis, exact):
        """Returns the numbers to which the errors of the results are relative."""
        if self._magnitude:
            return self._magnitude(abs(x), axis)
        return np.max(abs(exact), initial=0) if self.of_all else abs(exact)

    def allowed_error(self, code, theirs):
        """Returns the error that a result may have, if NumPy's is `theirs`."""
        if code == "e":
            return max(self._limit, 4 * self._times * theirs)
        if code in "dDbihq":
            return max(self._double_limit, self._double_times * theirs)
        return max(self._limit, self._times * theirs)


def _with_row_pairs(function):
    """Returns two vectors for each product: every second row of the array, and the row above it."""
    return lambda x, axis: function(
        x.ravel()[: x.size // 2], x.ravel()[x.size // 2 :][: x.size // 2]
    )


def _is_on_device(x):
    return not isinstance(x, np.ndarray)


def _weighted_average(x, axis):
    if not _is_on_device(x):
        return _with_weights(x, axis)
    from numbalite import cuda

    host = _average_weights(np.empty(x.shape, x.dtype), axis)
    return np.average(x, axis, cuda.to_device(host.reshape(x.shape) if axis is None else host))


def _vecdot(x, y):
    function = getattr(np, "vecdot", np.linalg.vecdot)
    return function(x, y)


def _exact_vecdot(x, y):
    return np.array([_exact_dot(a.conj(), b) for a, b in zip(x, y, strict=True)])


CASES = {
    "sum": AccuracyCase(lambda x, axis: x.sum(axis), _apply_along_axis(_exact_complex_sum)),
    "mean": AccuracyCase(lambda x, axis: x.mean(axis), _apply_along_axis(_exact_mean)),
    "var": AccuracyCase(lambda x, axis: x.var(axis), _apply_along_axis(_var), **SQUARES),
    "std": AccuracyCase(
        lambda x, axis: x.std(axis), _apply_along_axis(lambda x: np.sqrt(_var(x))), **SQUARES
    ),
    "prod": AccuracyCase(
        lambda x, axis: x.prod(axis), _exact_product, axes=(0, 1), codes="fdFD", data=("near 1",)
    ),
    "norm": AccuracyCase(
        lambda x, axis: np.linalg.norm(x, axis=axis),
        _apply_along_axis(_exact_norm),
        axes=(0, 1),
        codes="fdFD",
    ),
    "nansum": AccuracyCase(
        lambda x, axis: np.nansum(x, axis), _apply_along_axis(_exact_complex_sum)
    ),
    "nanmean": AccuracyCase(lambda x, axis: np.nanmean(x, axis), _apply_along_axis(_exact_mean)),
    "nanvar": AccuracyCase(lambda x, axis: np.nanvar(x, axis), _apply_along_axis(_var), **SQUARES),
    "nanstd": AccuracyCase(
        lambda x, axis: np.nanstd(x, axis), _apply_along_axis(lambda x: np.sqrt(_var(x))), **SQUARES
    ),
    "nanprod": AccuracyCase(
        lambda x, axis: np.nanprod(x, axis),
        _exact_product,
        axes=(0, 1),
        codes="fdFD",
        data=("near 1",),
    ),
    "norm of order 1": AccuracyCase(
        lambda x, axis: np.linalg.norm(x, 1, axis=axis),
        _apply_along_axis(lambda x: _exact_complex_sum(abs(x))),
        axes=(0, 1),
        codes="fd",
    ),
    "inner": AccuracyCase(_with_row_pairs(np.inner), _with_row_pairs(_exact_dot), axes=(None,)),
    "einsum": AccuracyCase(
        _with_row_pairs(lambda x, y: np.einsum("i,i", x, y)),
        _with_row_pairs(_exact_dot),
        axes=(None,),
        codes="fdFD",
    ),
    "average": AccuracyCase(_weighted_average, _exact_average, limit=2),
    "cumsum": AccuracyCase(
        lambda x, axis: np.cumsum(x, axis), _cumsum, axes=(0, 1), times=4.0, magnitude=_cumsum
    ),
    "nancumsum": AccuracyCase(
        lambda x, axis: np.nancumsum(x, axis), _cumsum, axes=(0, 1), times=4.0, magnitude=_cumsum
    ),
    "cumprod": AccuracyCase(
        lambda x, axis: np.cumprod(x, axis),
        lambda x, axis: np.cumprod(x, axis, dtype=np.clongdouble if np.iscomplexobj(x) else wide),
        axes=(0, 1),
        codes="fdFD",
        data=("near 1",),
        times=4.0,
    ),
    "dot": AccuracyCase(
        _with_row_pairs(np.dot), _with_row_pairs(_exact_dot), axes=(None,), codes="efdFD"
    ),
    "vdot": AccuracyCase(
        _with_row_pairs(np.vdot),
        _with_row_pairs(lambda x, y: _exact_dot(x.conj(), y)),
        axes=(None,),
        codes="efdFD",
    ),
    "vecdot": AccuracyCase(
        lambda x, axis: _vecdot(x[: len(x) // 2], x[len(x) // 2 :][: len(x) // 2]),
        lambda x, axis: _exact_vecdot(x[: len(x) // 2], x[len(x) // 2 :][: len(x) // 2]),
        axes=(1,),
    ),
    "cov": AccuracyCase(
        lambda x, axis: np.cov(x[:6]),
        lambda x, axis: _cov(x[:6], axis),
        axes=(1,),
        codes="dD",
        of_all=True,
        limit=32,
    ),
    "trapezoid": AccuracyCase(
        lambda x, axis: np.trapezoid(x, axis=axis),
        _apply_along_axis(_exact_trapezoid),
        axes=(0, 1),
        limit=2,
        of_all=True,
    ),
    "mean of integers": AccuracyCase(
        lambda x, axis: x.mean(axis), _apply_along_axis(_exact_mean), codes="bihq"
    ),
    "var of integers": AccuracyCase(
        lambda x, axis: x.var(axis), _apply_along_axis(_var), codes="bihq", **SQUARES
    ),
}


# --- errors


def error_in_roundings(found, exact, magnitude):
    """Returns the largest error relative to `magnitude`, in halves of a unit in the last place; infinite if only
    one of the two results is finite."""
    dtype = found.real.dtype
    info = np.finfo(dtype)
    is_finite = np.isfinite(exact.real) & np.isfinite(exact.imag)
    with np.errstate(all="ignore"):
        rounded = exact.astype(found.dtype)
        overflows = is_finite & ~np.isfinite(rounded)
        good = is_finite & ~overflows & np.isfinite(found)
        if np.any(is_finite & ~overflows & ~np.isfinite(found)):
            return math.inf
        error = np.abs(found[good].astype(np.clongdouble) - exact[good])
        magnitude = np.broadcast_to(magnitude, exact.shape)[good]
        size = np.maximum(magnitude * info.eps / 2, wide(info.smallest_subnormal) / 2)
    return float(np.max(error / size, initial=0))


def measure_errors(name, code, rng, shape):
    """Returns {(axis, data): (ours, NumPy's)}"""
    from numbalite import cuda

    case, errors = CASES[name], {}
    for data in case.data:
        if code in "bihq":
            if data != "large mean":
                continue
            info = np.iinfo(code)
            x = rng.integers(info.max // 2, info.max, shape, dtype=code, endpoint=True)
        else:
            x = random_numbers(data, rng, shape, code)
        device = cuda.to_device(x)
        for axis in case.axes:
            with np.errstate(all="ignore"):
                exact = np.asarray(case.exact(x, axis))
                theirs = np.asarray(case.call(x, axis))
                ours = np.asarray(case.call(device, axis))
            assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype), (name, code, axis)
            assert ours.shape == exact.shape, (name, code, axis, exact.shape)
            magnitude = case.magnitude(x, axis, exact)
            errors[axis, data] = tuple(
                error_in_roundings(one, exact, magnitude) for one in (ours, theirs)
            )
    return errors


def cases_above_limit(name, code, errors):
    """Returns the cases with a larger error than allowed: one rounding or NumPy's error, unless the case
    defines another limit."""
    case = CASES[name]
    return {key: one for key, one in errors.items() if one[0] > case.allowed_error(code, one[1])}


def _format_three_digits(number):
    if number < 10:
        return f"{number:.1f}"
    return (
        f"{number:.0f}" if number < 1000 else f"{number:.0e}".replace("e+0", "e").replace("e+", "e")
    )


def format_table(results):
    codes = ["e", "f", "d", "F", "D", "b", "h", "i", "q"]
    names = [np.dtype(code).name for code in codes[:5]]
    lines = [f"| numbalite, NumPy | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|"]
    for name in CASES:
        row = []
        for code in codes[:5]:
            errors = results.get((name, code))
            if not errors:
                row.append("–")
                continue
            ours, theirs = (max(one[i] for one in errors.values()) for i in (0, 1))
            row.append(f"{_format_three_digits(ours)}, {_format_three_digits(theirs)}")
        if any(cell != "–" for cell in row):
            lines.append(f"| `{name}` | {' | '.join(row)} |")
    for name in CASES:
        found = [results[name, code] for code in codes[5:] if (name, code) in results]
        if found:
            ours, theirs = (
                max(one[i] for errors in found for one in errors.values()) for i in (0, 1)
            )
            lines.append(
                f"| {name} (float64) | – | – | {_format_three_digits(ours)}, {_format_three_digits(theirs)} | – | – |"
            )
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--only", default=",".join(CASES))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--write", type=pathlib.Path)
    given = parser.parse_args()
    shape = (60, 90) if given.small else (100, 400)
    results, worse = {}, 0
    for name in given.only.split(","):
        for code in CASES[name].codes:
            rng = np.random.default_rng(given.seed)
            errors = results[name, code] = measure_errors(name, code, rng, shape)
            for (axis, data), (ours, theirs) in cases_above_limit(name, code, errors).items():
                worse += 1
                print(
                    f"{name} {np.dtype(code)} axis={axis} {data}: {ours:.3g}, NumPy {theirs:.3g}",
                    flush=True,
                )
    made_table = format_table(results)
    print(made_table)
    if given.write:
        text = given.write.read_text()
        pattern = re.compile(f"{re.escape(BEGIN)}.*{re.escape(END)}", re.DOTALL)
        given.write.write_text(pattern.sub(lambda _: f"{BEGIN}\n{made_table}\n{END}", text))
    print(f"{worse} of {sum(map(len, results.values()))} have a larger error than allowed")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
