"""Lists the ufuncs of scipy.special that CUDA's functions compute: names, expressions and the dtype kinds of
the loops.

SciPy is never imported: a program that passes one of its ufuncs has imported it. j0 and j1 of infinity are 0,
as in CUDA; in SciPy, they are NaN.
"""

from __future__ import annotations

import sys
from typing import Any

_REAL = "f"
_SAME = ("erf erfc erfcx erfinv erfcinv j0 j1 y0 y1 cbrt exp2 exp10 expm1 log1p").split()
"""Functions that have the same name in CUDA."""
_TABLE = {
    **{name: f"{name}(x)" for name in _SAME},
    "gamma": "x == 0 ? copysign(decltype(x)(INFINITY), x) : tgamma(x)",
    "rgamma": "x <= 0 && x == floor(x) ? decltype(x)(0) : 1 / tgamma(x)",
    "gammaln": "x == -INFINITY ? x : lgamma(x)",
    "i0": "cyl_bessel_i0(x)",
    "i1": "cyl_bessel_i1(x)",
    "ndtr": "normcdf(x)",
    "ndtri": "normcdfinv(x)",
    "log_ndtr": "x < -1 ? log(erfcx(-x * decltype(x)(0.70710678118654752)) / 2) - x * x / 2 : "
    "log1p(-erfc(x * decltype(x)(0.70710678118654752)) / 2)",
    "expit": "1 / (1 + exp(-x))",
    "log_expit": "x < 0 ? x - log1p(exp(x)) : -log1p(exp(-x))",
    "logit": "x < decltype(x)(0.3) || x > decltype(x)(0.65) ? log(x / (1 - x)) : "
    "log1p(2 * (x - decltype(x)(0.5))) - log1p(-2 * (x - decltype(x)(0.5)))",
    "round": "rint(x)",
    "psi": "np_digamma(x)",
    "exprel": "x > 717 ? decltype(x)(INFINITY) : x == 0 ? decltype(x)(1) : expm1(x) / x",
    "cosm1": "-2 * sin(x / 2) * sin(x / 2)",
    "huber": "x < 0 ? decltype(x)(INFINITY) : fabs(y) <= x ? y * y / 2 : x * (fabs(y) - x / 2)",
    "boxcox": "y == 0 ? log(x) : expm1(y * log(x)) / y",
    "boxcox1p": "y == 0 ? log1p(x) : expm1(y * log1p(x)) / y",
    "inv_boxcox": "y == 0 ? exp(x) : decltype(x)(exp(log1p(double(y) * x) / y))",
    "inv_boxcox1p": "y == 0 ? expm1(x) : decltype(x)(expm1(log1p(double(y) * x) / y))",
    "xlogy": "x == 0 && !(y != y) ? decltype(x)(0) : x * log(y)",
    "xlog1py": "x == 0 && !(y != y) ? decltype(x)(0) : x * log1p(y)",
    "entr": "x > 0 ? -x * log(x) : x == 0 ? decltype(x)(0) : x != x ? x : -decltype(x)(INFINITY)",
    "rel_entr": "x != x || y != y ? x + y : x > 0 && y > 0 ? x * log(x / y) : "
    "x == 0 && y >= 0 ? decltype(x)(0) : decltype(x)(INFINITY)",
    "kl_div": "x != x || y != y ? x + y : x > 0 && y > 0 ? x * log(x / y) - x + y : "
    "x == 0 && y >= 0 ? y : decltype(x)(INFINITY)",
}
NAMES = tuple(_TABLE)


def is_scipy_ufunc(ufunc: Any) -> bool:
    """Returns whether the object is a ufunc of scipy.special."""
    scipy = sys.modules.get("scipy.special")
    return scipy is not None and getattr(scipy, ufunc.__name__, None) is ufunc


def find_expression(ufunc: Any) -> tuple[str, str] | None:
    """Returns the C++ expression and the dtype kinds of the loops of a ufunc of scipy.special, or None."""
    name = ufunc.__name__
    return (_TABLE[name], _REAL) if name in _TABLE and is_scipy_ufunc(ufunc) else None
