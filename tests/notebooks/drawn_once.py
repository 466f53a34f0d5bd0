"""Loads modules before kernels are forked: the judge, modules for figures, and fonts (by drawing a
first figure)."""

import io

import matplotlib.pyplot as plt
import matplotlib_inline.backend_inline  # noqa: F401

from numbalite.course import check, size, stamp, timed, where  # noqa: F401

figure, axes = plt.subplots(layout="constrained")
axes.set_title("$x^2$")
figure.savefig(io.BytesIO(), format="png")
plt.close(figure)
