"""Implements the methods of NumPy's Generator, each of which launches a kernel that fills a device
array."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from numbalite.random import integers, multivariate, parameters, shuffling
from numbalite.random.kernels import DistributionKernels
from numbalite.random.parameters import NUMBERS, check_scalar
from numbalite.random.philox import Philox4x32

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import DTypeLike

    from numbalite.arguments import StreamLike
    from numbalite.ndarray.arrays import DeviceNDArray

_REAL, _FINITE = parameters.REAL, parameters.FINITE
_POSITIVE, _NOT_NEGATIVE = parameters.POSITIVE, parameters.NOT_NEGATIVE
_LONG, _DOUBLE, _WHOLE = np.int64, np.float64, (np.int64,)
# method name -> (distribution, range of each parameter that the kernel accepts)
_METHODS: dict[str, tuple[DistributionKernels, dict[str, parameters.Interval]]] = {
    "random": (DistributionKernels("uniform"), {}),
    "uniform": (
        DistributionKernels("uniform", None, None),
        {"low": _FINITE, "high - low": _NOT_NEGATIVE},
    ),
    "standard_normal": (DistributionKernels("normal"), {}),
    "normal": (DistributionKernels("normal", None, None), {"loc": _REAL, "scale": _NOT_NEGATIVE}),
    "lognormal": (
        DistributionKernels("lognormal", None, None),
        {"mean": _REAL, "sigma": _NOT_NEGATIVE},
    ),
    "standard_exponential": (DistributionKernels("exponential"), {}),
    "exponential": (DistributionKernels("exponential", None), {"scale": _NOT_NEGATIVE}),
    "laplace": (DistributionKernels("laplace", None, None), {"loc": _REAL, "scale": _NOT_NEGATIVE}),
    "gumbel": (DistributionKernels("gumbel", None, None), {"loc": _REAL, "scale": _NOT_NEGATIVE}),
    "logistic": (
        DistributionKernels("logistic", None, None),
        {"loc": _REAL, "scale": _NOT_NEGATIVE},
    ),
    "standard_cauchy": (DistributionKernels("cauchy"), {}),
    "rayleigh": (DistributionKernels("rayleigh", None), {"scale": _NOT_NEGATIVE}),
    "weibull": (DistributionKernels("weibull", None), {"a": _NOT_NEGATIVE}),
    "pareto": (DistributionKernels("pareto", None), {"a": _POSITIVE}),
    "power": (DistributionKernels("power", None), {"a": _POSITIVE}),
    "triangular": (
        DistributionKernels("triangular", None, None, None),
        {"left": _FINITE, "mode": _FINITE, "right": _FINITE},
    ),
    "geometric": (
        DistributionKernels("geometric", _DOUBLE, dtypes=_WHOLE),
        {"p": parameters.CHANCE},
    ),
    "standard_gamma": (DistributionKernels("gamma", None, draws=True), {"shape": _NOT_NEGATIVE}),
    "gamma": (
        DistributionKernels("gamma", None, None, draws=True),
        {"shape": _NOT_NEGATIVE, "scale": _NOT_NEGATIVE},
    ),
    "beta": (DistributionKernels("beta", None, None, draws=True), {"a": _POSITIVE, "b": _POSITIVE}),
    "chisquare": (DistributionKernels("chisquare", None, draws=True), {"df": _POSITIVE}),
    "noncentral_chisquare": (
        DistributionKernels("noncentral_chisquare", None, None, draws=True),
        {"df": _POSITIVE, "nonc": parameters.MEAN},
    ),
    "f": (
        DistributionKernels("f", None, None, draws=True),
        {"dfnum": _POSITIVE, "dfden": _POSITIVE},
    ),
    "noncentral_f": (
        DistributionKernels("noncentral_f", None, None, None, draws=True),
        {"dfnum": _POSITIVE, "dfden": _POSITIVE, "nonc": parameters.MEAN},
    ),
    "standard_t": (DistributionKernels("standard_t", None, draws=True), {"df": _POSITIVE}),
    "wald": (
        DistributionKernels("wald", None, None, draws=True),
        {"mean": _POSITIVE, "scale": _POSITIVE},
    ),
    "vonmises": (
        DistributionKernels("vonmises", None, None, draws=True),
        {"mu": _FINITE, "kappa": _NOT_NEGATIVE},
    ),
    "poisson": (
        DistributionKernels("poisson", _DOUBLE, draws=True, dtypes=_WHOLE),
        {"lam": parameters.MEAN},
    ),
    "binomial": (
        DistributionKernels("binomial", _LONG, _DOUBLE, draws=True, dtypes=_WHOLE),
        {"n": parameters.COUNT, "p": parameters.PROBABILITY},
    ),
    "negative_binomial": (
        DistributionKernels("negative_binomial", _DOUBLE, _DOUBLE, draws=True, dtypes=_WHOLE),
        {"n": _POSITIVE, "p": parameters.CHANCE},
    ),
    "hypergeometric": (
        DistributionKernels("hypergeometric", _LONG, _LONG, _LONG, draws=True, dtypes=_WHOLE),
        {"ngood": parameters.MANY, "nbad": parameters.MANY, "nsample": parameters.MANY},
    ),
    "zipf": (
        DistributionKernels("zipf", _DOUBLE, draws=True, dtypes=_WHOLE),
        {"a": parameters.ABOVE_ONE},
    ),
    "logseries": (
        DistributionKernels("logseries", _DOUBLE, draws=True, dtypes=_WHOLE),
        {"p": parameters.BELOW_ONE},
    ),
}


class Generator:
    """Generates random numbers in device arrays, with the methods of numpy.random.Generator. `default_rng`
    returns a Generator.

    The numbers depend only on the seed and on the earlier calls: they are equal on every GPU and on
    the simulator, for any launch configuration. Each call begins with a new block of the random stream. For
    example, ``random(5)`` and ``random(3)`` differ from ``random(8)``. With ``size=None``, the output has the
    broadcast shape of the parameters. ``out=`` is a device array, C-contiguous; ``stream=`` is the stream in
    which the kernel runs. Parameters are numbers or arrays in host or device memory. A call with parameters
    in device memory waits for a kernel that checks their values.

    The position in the random stream is advanced on the host: a captured call generates the same numbers at
    every launch of the graph.
    """

    def __init__(self, bit_generator: Philox4x32) -> None:
        if not isinstance(bit_generator, Philox4x32):
            raise TypeError(
                f"Generator: bit_generator must be a Philox4x32, not {type(bit_generator).__name__}"
            )
        self._bits = bit_generator

    @property
    def bit_generator(self) -> Philox4x32:
        """The bit generator: `state`, `advance`, `jumped`."""
        return self._bits

    def spawn(self, n_children: int) -> list[Generator]:
        """Returns independent generators, from the children of the seed.

        Parameters
        ----------
        n_children : int
            The number of generators.

        Returns
        -------
        list of Generator
            The generators.

        Raises
        ------
        TypeError
            The generator has no seed.
        """
        return [Generator(bits) for bits in self._bits.spawn(n_children)]

    def __repr__(self) -> str:
        return "Generator(Philox4x32)"

    def __reduce__(self) -> tuple[Any, ...]:
        return Generator, (self._bits,)

    # ---- how

    def _draw_variates(self, what, size, dtype, out, stream, *values):
        """Returns random numbers from the distribution of a method in the table."""
        distribution, ranges = _METHODS[what]
        given = [(name, value, ranges[name]) for name, value in zip(ranges, values, strict=True)]
        arrays = ()
        for value in values:
            if not isinstance(value, NUMBERS):
                arrays = tuple(not isinstance(value, NUMBERS) for value in values)
                break
        fill = distribution.fill(what, dtype if out is None else _dtype(dtype, out), arrays)
        if arrays:
            size, numbers = parameters.broadcast_parameters(
                what, size, out, given, fill.kinds, stream
            )
        else:
            numbers = [
                check_scalar(what, name, value, inside, kind)
                for (name, value, inside), kind in zip(given, fill.kinds, strict=True)
            ]
        made = parameters.checked_or_new_output(what, size, fill.dtype, out, stream)
        fill(made, self._bits, stream, numbers)
        return made if out is None else out

    # ---- uniform

    def random(
        self, size: Any = None, dtype: DTypeLike | None = None, out: Any = None, *,
        stream: StreamLike = 0,
    ) -> DeviceNDArray:  # fmt: skip
        """Returns numbers that are uniformly distributed in [0, 1).

        Parameters
        ----------
        size : int or tuple of int
        dtype : dtype
            The dtype of the numbers.
        out : DeviceNDArray
            A C-contiguous array for the numbers.
        stream : Stream
            The stream of the kernel.

        Returns
        -------
        DeviceNDArray
            The numbers, or ``out``.

        Examples
        --------
        >>> rng = cuda.random.default_rng(1)
        >>> rng.random(3, dtype=np.float32)
        DeviceNDArray([0.75244844, 0.48536515, 0.78681004],
                      dtype=float32, device=0)
        """
        return self._draw_variates("random", size, dtype, out, stream)

    def uniform(
        self, low: Any = 0.0, high: Any = 1.0, size: Any = None, dtype: DTypeLike | None = None,
        out: Any = None, *, stream: StreamLike = 0,
    ) -> DeviceNDArray:  # fmt: skip
        """Returns numbers that are uniformly distributed from low up to high.

        Because of rounding, ``high`` itself is a possible result.

        Parameters
        ----------
        low, high : number or array
            The limits.
        size : int or tuple of int
            The shape; None: the shape of the limits if they are arrays, otherwise
            an array without dimensions.
        dtype, out, stream
            As in random.

        Returns
        -------
        DeviceNDArray
            The numbers, or ``out``.
        """
        width = _uniform_width(low, high)
        return self._draw_variates("uniform", size, dtype, out, stream, low, width)

    def integers(
        self, low: Any, high: Any = None, size: Any = None, dtype: DTypeLike | None = None,
        endpoint: bool = False, out: Any = None, *, stream: StreamLike = 0,
    ) -> DeviceNDArray:  # fmt: skip
        """Returns integers that are uniformly distributed from low up to high.

        The distribution has no bias.

        Parameters
        ----------
        low, high : int or array
            The limits; ``high`` is excluded. With one limit, integers from 0 up to
            this limit.
        size : int or tuple of int
            The shape; None: the shape of the limits if they are arrays, otherwise
            an array without dimensions.
        dtype : dtype
            Any integer type, or bool.
        endpoint : bool
            True: includes ``high``.
        out, stream
            As in random.

        Returns
        -------
        DeviceNDArray
            The integers, or ``out``.

        Notes
        -----
        If the size of the range does not divide the range of the generator, some
        values are rejected (Lemire 2019).
        """
        return integers.draw_integers(self._bits, low, high, size, dtype, endpoint, out, stream)

    def bytes(self, length: int) -> bytes:
        """Returns random bytes, on the host.

        Parameters
        ----------
        length : int
            The number of bytes.

        Returns
        -------
        bytes
            The bytes.
        """
        return self.integers(256, size=length, dtype=np.uint8).copy_to_host().tobytes()

    # ---- one word for each number

    def standard_normal(
        self, size: Any = None, dtype: DTypeLike | None = None, out: Any = None, *,
        stream: StreamLike = 0,
    ) -> DeviceNDArray:  # fmt: skip
        """Draws from the standard normal distribution.

        The mean is 0, the standard deviation 1.

        Parameters
        ----------
        size, dtype, out, stream
            As in random.

        Returns
        -------
        DeviceNDArray
            The numbers, or ``out``.

        Notes
        -----
        The method is the Box-Muller transform.
        """
        return self._draw_variates("standard_normal", size, dtype, out, stream)

    def normal(
        self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None, dtype: DTypeLike | None = None,
        out: Any = None, *, stream: StreamLike = 0,
    ) -> DeviceNDArray:  # fmt: skip
        """Draws from the normal distribution with mean ``loc`` and standard deviation ``scale``."""
        return self._draw_variates("normal", size, dtype, out, stream, loc, scale)

    def lognormal(
        self, mean: Any = 0.0, sigma: Any = 1.0, size: Any = None, dtype: DTypeLike | None = None,
        out: Any = None, *, stream: StreamLike = 0,
    ) -> DeviceNDArray:  # fmt: skip
        """Returns numbers whose logarithm is normally distributed."""
        return self._draw_variates("lognormal", size, dtype, out, stream, mean, sigma)

    def standard_exponential(
        self, size: Any = None, dtype: DTypeLike | None = None, out: Any = None, *,
        stream: StreamLike = 0,
    ) -> DeviceNDArray:  # fmt: skip
        """Exponential, with mean 1."""
        return self._draw_variates("standard_exponential", size, dtype, out, stream)

    def exponential(
        self, scale: Any = 1.0, size: Any = None, dtype: DTypeLike | None = None, out: Any = None,
        *, stream: StreamLike = 0,
    ) -> DeviceNDArray:  # fmt: skip
        """Exponential, with mean ``scale``."""
        return self._draw_variates("exponential", size, dtype, out, stream, scale)

    def laplace(
        self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None, dtype: DTypeLike | None = None,
        out: Any = None, *, stream: StreamLike = 0,
    ) -> DeviceNDArray:  # fmt: skip
        """Laplace's distribution about ``loc``."""
        return self._draw_variates("laplace", size, dtype, out, stream, loc, scale)

    def gumbel(
        self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None, dtype: DTypeLike | None = None,
        out: Any = None, *, stream: StreamLike = 0,
    ) -> DeviceNDArray:  # fmt: skip
        """Gumbel's distribution about ``loc``."""
        return self._draw_variates("gumbel", size, dtype, out, stream, loc, scale)

    def logistic(
        self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None, dtype: DTypeLike | None = None,
        out: Any = None, *, stream: StreamLike = 0,
    ) -> DeviceNDArray:  # fmt: skip
        """Draws from the logistic distribution about ``loc``."""
        return self._draw_variates("logistic", size, dtype, out, stream, loc, scale)

    def standard_cauchy(
        self, size: Any = None, dtype: DTypeLike | None = None, out: Any = None, *,
        stream: StreamLike = 0,
    ) -> DeviceNDArray:  # fmt: skip
        """Cauchy's distribution."""
        return self._draw_variates("standard_cauchy", size, dtype, out, stream)

    def rayleigh(
        self, scale: Any = 1.0, size: Any = None, dtype: DTypeLike | None = None, out: Any = None,
        *, stream: StreamLike = 0,
    ) -> DeviceNDArray:  # fmt: skip
        """Rayleigh's distribution."""
        return self._draw_variates("rayleigh", size, dtype, out, stream, scale)

    def weibull(
        self, a: Any, size: Any = None, dtype: DTypeLike | None = None, out: Any = None, *,
        stream: StreamLike = 0,
    ) -> DeviceNDArray:  # fmt: skip
        """Weibull's distribution with shape ``a``."""
        return self._draw_variates("weibull", size, dtype, out, stream, a)

    def pareto(
        self, a: Any, size: Any = None, dtype: DTypeLike | None = None, out: Any = None, *,
        stream: StreamLike = 0,
    ) -> DeviceNDArray:  # fmt: skip
        """Draws from the Pareto II (Lomax) distribution with shape ``a``."""
        return self._draw_variates("pareto", size, dtype, out, stream, a)

    def power(
        self, a: Any, size: Any = None, dtype: DTypeLike | None = None, out: Any = None, *,
        stream: StreamLike = 0,
    ) -> DeviceNDArray:  # fmt: skip
        """Draws numbers in [0, 1] with density a x**(a - 1)."""
        return self._draw_variates("power", size, dtype, out, stream, a)

    def triangular(
        self, left: Any, mode: Any, right: Any, size: Any = None, dtype: DTypeLike | None = None,
        out: Any = None, *, stream: StreamLike = 0,
    ) -> DeviceNDArray:  # fmt: skip
        """Draws from the triangular distribution between ``left`` and ``right`` with peak
        ``mode``."""
        _check_triangle_order(left, mode, right)
        return self._draw_variates("triangular", size, dtype, out, stream, left, mode, right)

    def geometric(
        self, p: Any, size: Any = None, out: Any = None, *, stream: StreamLike = 0
    ) -> DeviceNDArray:
        """Draws int64 numbers of trials up to the first success."""
        return self._draw_variates("geometric", size, None, out, stream, p)

    # ---- a variable number of values

    def standard_gamma(
        self, shape: Any, size: Any = None, dtype: DTypeLike | None = None, out: Any = None, *,
        stream: StreamLike = 0,
    ) -> DeviceNDArray:  # fmt: skip
        """Draws from the gamma distribution with scale 1."""
        return self._draw_variates("standard_gamma", size, dtype, out, stream, shape)

    def gamma(
        self, shape: Any, scale: Any = 1.0, size: Any = None, dtype: DTypeLike | None = None,
        out: Any = None, *, stream: StreamLike = 0,
    ) -> DeviceNDArray:  # fmt: skip
        """Draws from the gamma distribution."""
        return self._draw_variates("gamma", size, dtype, out, stream, shape, scale)

    def beta(
        self, a: Any, b: Any, size: Any = None, dtype: DTypeLike | None = None, out: Any = None, *,
        stream: StreamLike = 0,
    ) -> DeviceNDArray:  # fmt: skip
        """Draws from the beta distribution."""
        return self._draw_variates("beta", size, dtype, out, stream, a, b)

    def chisquare(
        self, df: Any, size: Any = None, dtype: DTypeLike | None = None, out: Any = None, *,
        stream: StreamLike = 0,
    ) -> DeviceNDArray:  # fmt: skip
        """Draws from the chi-square distribution, with ``df`` degrees of freedom."""
        return self._draw_variates("chisquare", size, dtype, out, stream, df)

    def noncentral_chisquare(
        self, df: Any, nonc: Any, size: Any = None, dtype: DTypeLike | None = None, out: Any = None,
        *, stream: StreamLike = 0,
    ) -> DeviceNDArray:  # fmt: skip
        """Chi-square about another place."""
        return self._draw_variates("noncentral_chisquare", size, dtype, out, stream, df, nonc)

    def f(
        self, dfnum: Any, dfden: Any, size: Any = None, dtype: DTypeLike | None = None,
        out: Any = None, *, stream: StreamLike = 0,
    ) -> DeviceNDArray:  # fmt: skip
        """Fisher's distribution."""
        return self._draw_variates("f", size, dtype, out, stream, dfnum, dfden)

    def noncentral_f(
        self, dfnum: Any, dfden: Any, nonc: Any, size: Any = None, dtype: DTypeLike | None = None,
        out: Any = None, *, stream: StreamLike = 0,
    ) -> DeviceNDArray:  # fmt: skip
        """Fisher's distribution about another place."""
        return self._draw_variates("noncentral_f", size, dtype, out, stream, dfnum, dfden, nonc)

    def standard_t(
        self, df: Any, size: Any = None, dtype: DTypeLike | None = None, out: Any = None, *,
        stream: StreamLike = 0,
    ) -> DeviceNDArray:  # fmt: skip
        """Student's distribution."""
        return self._draw_variates("standard_t", size, dtype, out, stream, df)

    def wald(
        self, mean: Any, scale: Any, size: Any = None, dtype: DTypeLike | None = None,
        out: Any = None, *, stream: StreamLike = 0,
    ) -> DeviceNDArray:  # fmt: skip
        """Wald's, the inverse Gaussian distribution."""
        return self._draw_variates("wald", size, dtype, out, stream, mean, scale)

    def vonmises(
        self, mu: Any, kappa: Any, size: Any = None, dtype: DTypeLike | None = None,
        out: Any = None, *, stream: StreamLike = 0,
    ) -> DeviceNDArray:  # fmt: skip
        """Von Mises's, on [-pi, pi]."""
        return self._draw_variates("vonmises", size, dtype, out, stream, mu, kappa)

    def poisson(
        self, lam: Any = 1.0, size: Any = None, out: Any = None, *, stream: StreamLike = 0
    ) -> DeviceNDArray:
        """Draws int64 numbers from Poisson's distribution with mean ``lam``."""
        return self._draw_variates("poisson", size, None, out, stream, lam)

    def binomial(
        self, n: Any, p: Any, size: Any = None, out: Any = None, *, stream: StreamLike = 0
    ) -> DeviceNDArray:
        """Draws int64 numbers of successes in ``n`` trials."""
        return self._draw_variates("binomial", size, None, out, stream, n, p)

    def negative_binomial(
        self, n: Any, p: Any, size: Any = None, out: Any = None, *, stream: StreamLike = 0
    ) -> DeviceNDArray:
        """Draws int64 numbers of failures before the n-th success."""
        return self._draw_variates("negative_binomial", size, None, out, stream, n, p)

    def hypergeometric(
        self, ngood: Any, nbad: Any, nsample: Any, size: Any = None, out: Any = None, *,
        stream: StreamLike = 0,
    ) -> DeviceNDArray:  # fmt: skip
        """Draws int64 numbers of good items in a sample without replacement."""
        _check_sample_size(ngood, nbad, nsample)
        return self._draw_variates("hypergeometric", size, None, out, stream, ngood, nbad, nsample)

    def zipf(
        self, a: Any, size: Any = None, out: Any = None, *, stream: StreamLike = 0
    ) -> DeviceNDArray:
        """Draws int64 numbers k with a probability proportional to k**-a: Zipf's distribution."""
        return self._draw_variates("zipf", size, None, out, stream, a)

    def logseries(
        self, p: Any, size: Any = None, out: Any = None, *, stream: StreamLike = 0
    ) -> DeviceNDArray:
        """Draws int64 numbers from the logarithmic distribution."""
        return self._draw_variates("logseries", size, None, out, stream, p)

    # ---- order

    # ---- vectors

    def multivariate_normal(
        self, mean: Any, cov: Any, size: Any = None, check_valid: str = "warn", tol: float = 1e-8, *,
        method: str = "svd", stream: StreamLike = 0,
    ) -> DeviceNDArray:  # fmt: skip
        """Draws normal vectors with a mean and a matrix of covariances, of shape ``size + (n,)``."""
        return multivariate.normal(self, mean, cov, size, check_valid, tol, method, stream)

    def multinomial(
        self, n: Any, pvals: Any, size: Any = None, *, stream: StreamLike = 0
    ) -> DeviceNDArray:
        """Draws int64 counts of each outcome in ``n`` trials, of shape ``size + (len(pvals),)``.
        The probability of the last outcome is 1 minus the sum of the others."""
        return multivariate.multinomial(self, n, pvals, size, stream)

    def dirichlet(self, alpha: Any, size: Any = None, *, stream: StreamLike = 0) -> DeviceNDArray:
        """Draws vectors of the Dirichlet distribution, whose sums are 1, of shape ``size +
        (len(alpha),)``."""
        return multivariate.dirichlet(self, alpha, size, stream)

    def permutation(self, x: Any, axis: int = 0, *, stream: StreamLike = 0) -> DeviceNDArray:
        """Returns ``range(x)`` in random order if ``x`` is an int, or else a copy of an array, shuffled along
        an axis."""
        return shuffling.permutation(self._bits, x, axis, stream)

    def shuffle(self, x: Any, axis: int = 0, *, stream: StreamLike = 0) -> None:
        """Shuffles the slices of a device array along an axis, in place."""
        shuffling.shuffle(self._bits, x, axis, stream)

    def permuted(
        self, x: Any, *, axis: int | None = None, out: Any = None, stream: StreamLike = 0
    ) -> DeviceNDArray:
        """Returns a copy (or ``out``, which may be ``x``) with each 1-D slice along an axis
        shuffled independently; without an axis, all elements in random order."""
        return shuffling.permuted(self._bits, x, axis, out, stream)

    def choice(
        self, a: Any, size: Any = None, replace: bool = True, p: Any = None, axis: int = 0,
        shuffle: bool = True, *, stream: StreamLike = 0,
    ) -> DeviceNDArray:  # fmt: skip
        """Draws elements of an array along an axis, or of ``range(a)``, at random.

        ``p`` contains their probabilities. With ``replace=False``, no element is drawn twice; the elements
        are then in random order, regardless of ``shuffle``.
        """
        return shuffling.choice(self, a, size, replace, p, axis, stream)


def _dtype(dtype, out):
    """Returns the dtype of the numbers, which is by default the dtype of `out`."""
    return getattr(out, "dtype", None) if dtype is None else dtype


def _as_number_or_array(what, name, value):
    """Returns a number unchanged, and other values as an array."""
    return value if isinstance(value, NUMBERS) else parameters.as_array(what, name, value)


def _is_true_for_all(condition):
    """Returns whether a condition is true for all elements of an array."""
    if isinstance(condition, (bool, np.bool_)):
        return bool(condition)
    return bool(np.all(condition))


def _uniform_width(low, high):
    """Returns the difference between the bounds of `uniform`."""
    low, high = (
        _as_number_or_array("uniform", "low", low),
        _as_number_or_array("uniform", "high", high),
    )
    width = high - low
    if isinstance(width, NUMBERS) and abs(width) == float("inf"):
        raise OverflowError(f"uniform: high - low is infinite: {low}, {high}")
    return width


def _check_triangle_order(left, mode, right):
    left, mode, right = (
        _as_number_or_array("triangular", name, value)
        for name, value in (("left", left), ("mode", mode), ("right", right))
    )
    if not (_is_true_for_all(left <= mode) and _is_true_for_all(mode <= right)):
        raise ValueError("triangular: mode must be from left to right")
    if not _is_true_for_all(left < right):
        raise ValueError("triangular: left must be below right")


def _check_sample_size(good, bad, sample):
    good, bad, sample = (
        _as_number_or_array("hypergeometric", name, value)
        for name, value in (("ngood", good), ("nbad", bad), ("nsample", sample))
    )
    if not _is_true_for_all(sample <= good + bad):
        raise ValueError("hypergeometric: nsample must be at most ngood + nbad")


def default_rng(seed: Any = None) -> Generator:
    """Returns a Generator of Philox4x32-10.

    Parameters
    ----------
    seed : None, int, list of int, SeedSequence, Philox4x32 or Generator
        A seed of numpy.random.default_rng. A Philox4x32 is used as the bit
        generator, and a Generator is returned unchanged.

    Returns
    -------
    Generator
        The generator.

    Examples
    --------
    >>> rng = cuda.random.default_rng(7)
    >>> d = rng.normal(10, 2, size=(100, 100))
    >>> abs(float(np.add.reduce(d, axis=None)) / d.size - 10) < 0.1
    True
    """
    if isinstance(seed, Generator):
        return seed
    return Generator(seed if isinstance(seed, Philox4x32) else Philox4x32(seed))
